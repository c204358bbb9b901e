//! How the nodes of a chain end: what fails, and what fails with it.

use std::sync::Arc;

use super::{Chain, Link, Ready};
use crate::error::Error;
use crate::memory::node::Done;
use crate::program::deps::Seen;

/// The failure of what a node needs.
pub(super) fn failure(ready: &Ready, link: &Link) -> Result<(), Error> {
    let failed = ready.failed.iter().find(|(node, _)| Arc::ptr_eq(node, &link.node));
    failed.map_or(Ok(()), |(_, error)| Err(error.clone()))
}

/// All that has not failed yet fails with the chain.
pub(super) fn failed(chain: &Chain, results: Vec<Result<(), Error>>, error: &Error) -> Vec<Result<(), Error>> {
    // It is one failure, of the first of them.
    let mut ended = chain.links.iter().zip(&results).filter(|(_, result)| result.is_ok());
    let error = error.clone().failed_by(ended.next().map_or(0, |(link, _)| link.node.number));
    let with = chain.links.iter().zip(results);
    with.map(|(link, result)| result.and_then(|()| Err(error.clone().recorded_at(link.node.recorded)))).collect()
}

/// What reads data that a failed node should have left does not run.
pub(super) fn skip_dependents(chain: &Chain, results: &mut [Result<(), Error>]) {
    let mut seen = vec![Seen::default(); chain.arrays.len()];
    for (number, link) in chain.links.iter().enumerate() {
        let read = link.uses.iter().filter(|one| one.read.is_some());
        let data = read.filter_map(|one| seen[one.array].read(number));
        let lost = Error::earliest(data.filter_map(|writer| results[writer].as_ref().err().cloned()));
        if let (Ok(()), Some(error)) = (&results[number], lost) {
            results[number] = Err(error);
        }
        link.uses.iter().filter(|one| one.write).for_each(|one| drop(seen[one.array].write(number)));
    }
}

/// Gives the nodes of a chain what their launches tell, once all commands are done.
pub(super) fn told(chain: &Chain, results: &mut [Result<(), Error>], done: Vec<(usize, Done)>) {
    for (link, done) in done {
        let (Err(error), Some(result)) = (done(), results.get_mut(link)) else { continue };
        let error = chain.links[link].node.failed(error);
        if result.as_ref().err().is_none_or(|known| error.is_before(known)) {
            *result = Err(error);
        }
    }
}
