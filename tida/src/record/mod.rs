//! Recording work and starting it. `README.md` beside this file is its page.
//!
//! `compute`, `fill_ghosts`, `copy_from` and `reduce_later` record a node (`memory/node.rs`) and return. A node waits
//! for the nodes it conflicts with, found from the boxes it touches (`memory/tracker.rs`). Computes of one loop merge
//! into a sweep while it is open (`sweep.rs`); a driver thread starts open sweeps when the recorder pauses
//! (`driver.rs`).

pub(crate) mod chains;
pub(crate) mod closing;
pub(crate) mod driver;
pub(crate) mod ends;
mod faces;
pub(crate) mod folds;
pub(crate) mod fuse;
pub(crate) mod hybrid;
mod in_core;
pub(crate) mod join;
pub(crate) mod known;
#[cfg(tida_loom)]
#[doc(hidden)]
pub mod models;
pub(crate) mod place;
pub(crate) mod recording;
mod residents;
pub(crate) mod rounds;
pub(crate) mod running;
pub(crate) mod strips;
pub(crate) mod sweep;
pub(crate) mod unfinished;
pub(crate) mod wait;
