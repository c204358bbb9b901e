//! Trees as bytes.

use std::cell::Cell;

use serde::de::{Deserialize, Deserializer, Error};

use super::{FunctionTree, KernelTree};

/// How deep trees may nest: more would be deeper than typing allows, and reading it could exhaust the stack.
const MAX_DEPTH: usize = 256;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Reads one level more of a tree.
pub(super) fn deeper<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    let depth = DEPTH.get();
    if depth >= MAX_DEPTH {
        return Err(D::Error::custom("nested too deep"));
    }
    DEPTH.set(depth + 1);
    let read = T::deserialize(from);
    DEPTH.set(depth);
    read
}

impl KernelTree {
    /// The tree as bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// The tree from bytes made by [`KernelTree::encode`]; `None` for any other bytes, and for trees
    /// nested deeper than any kernel may be.
    pub fn decode(bytes: &[u8]) -> Option<KernelTree> {
        postcard::from_bytes(bytes).ok()
    }
}

impl FunctionTree {
    /// The tree as bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// The tree from bytes made by [`FunctionTree::encode`]; `None` for any other bytes, and for trees
    /// nested deeper than any kernel may be.
    pub fn decode(bytes: &[u8]) -> Option<FunctionTree> {
        postcard::from_bytes(bytes).ok()
    }
}
