//! `compute`, `reduce` and what they are made of.

pub(crate) mod args;
pub(crate) mod ask;
pub(crate) mod capture;
pub(crate) mod view;

#[cfg(test)]
mod macro_tests;
