//! Trees as bytes.

use super::{FunctionTree, KernelTree};

impl KernelTree {
    /// The tree as bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// The tree from bytes made by [`KernelTree::encode`]; `None` for any other bytes.
    pub fn decode(bytes: &[u8]) -> Option<KernelTree> {
        postcard::from_bytes(bytes).ok()
    }
}

impl FunctionTree {
    /// The tree as bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// The tree from bytes made by [`FunctionTree::encode`]; `None` for any other bytes.
    pub fn decode(bytes: &[u8]) -> Option<FunctionTree> {
        postcard::from_bytes(bytes).ok()
    }
}
