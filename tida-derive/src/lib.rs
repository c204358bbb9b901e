//! The macros of tida.
