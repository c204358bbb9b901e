//! The memory of arrays: how they are cut, where their newest values are, how old their ghosts are, and which recorded
//! work touches them.

pub(crate) mod ages;
pub(crate) mod backing;
pub(crate) mod bridge;
pub(crate) mod coding;
mod coherence;
pub(crate) mod copies;
pub(crate) mod element;
pub(crate) mod ghosts;
pub(crate) mod layout;
pub(crate) mod mailbox;
pub(crate) mod node;
pub(crate) mod packed;
pub(crate) mod parts;
pub(crate) mod residence;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod slab;
mod staged;
pub(crate) mod storage;
pub(crate) mod touched;
pub(crate) mod tracker;
pub(crate) mod transport;
