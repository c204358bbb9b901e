//! The native form of a kernel and its quotation mean the same.
//!
//! Each kernel of the corpus runs twice from the same inputs: natively by `compute` over tiles, and cell by cell by
//! the interpreter of the typed quotation, over plain copies. The arrays must come out with the same bits, ghosts and
//! untouched cells included (NaN equal up to payload), or both must find the same kind of fault.

mod access;
mod arithmetic;
mod casts;
mod control;
mod data;
mod draw;
mod flow;
#[rustfmt::skip]
#[allow(unused, clippy::all)]
mod generated;
mod generic;
mod judge;
#[allow(dead_code)]
mod named;
mod scene;
