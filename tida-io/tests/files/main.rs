//! Files that others read and write, on several ranks, of programs that are killed, and on disks that fail. They are
//! one program, since what they have in common takes longest to be compiled.

#[path = "../support/mod.rs"]
mod support;

mod failures;
mod killed;
mod netcdf;
mod python;
mod ranks;
