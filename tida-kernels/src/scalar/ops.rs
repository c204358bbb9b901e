//! The operations as generic functions: what the native form of a kernel calls.
