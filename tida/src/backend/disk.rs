//! Compiled kernels on disk, so that a program's second run compiles nothing.
