//! How the nodes of a chain end.

use super::Chain;
use crate::error::Error;
use crate::memory::node::Done;

/// All that has not failed yet fails with the chain.
pub(super) fn failed(chain: &Chain, results: Vec<Result<(), Error>>, error: &Error) -> Vec<Result<(), Error>> {
    // It is one failure, of the first of them.
    let mut ended = chain.links.iter().zip(&results).filter(|(_, result)| result.is_ok());
    let error = error.clone().failed_by(ended.next().map_or(0, |(link, _)| link.node.number));
    let with = chain.links.iter().zip(results);
    with.map(|(link, result)| result.and_then(|()| Err(error.clone().recorded_at(link.node.recorded)))).collect()
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
