//! Running the steps of a chain, whatever planned them: loads, runs and stores become commands in three streams,
//! ordered by events alone (TiDA-acc §IV-B).
//!
//! Where pieces of arrays are on the device, and how they get there, a [`Site`] knows: windows of planes
//! (`planes.rs`), or slots of regions (`regions.rs`).

use super::Chain;
use super::streams::{DOWN, RUN, Streams, UP};
use crate::error::Error;
use crate::program::steps::{Move, Step, marked};

/// Where pieces are while steps run. Each method puts commands into a stream that comes by then after all that they
/// have to come after, or has the host do something that does.
pub(super) trait Site<P, R> {
    /// Begins a step.
    ///
    /// # Errors
    /// What the driver reports. So do the others.
    fn begin(&mut self, streams: &mut Streams<'_>, number: usize, steps: &[Step<P, R>]) -> Result<(), Error>;

    /// Brings a piece to the device, in the stream of loads. Says whether kernels have to unpack it.
    fn load(&mut self, streams: &mut Streams<'_>, load: &Move<P>) -> Result<bool, Error>;

    /// Makes ready what has come, in the stream of runs.
    fn entered(&mut self, streams: &mut Streams<'_>, piece: &P) -> Result<(), Error>;

    /// The link that something is run for.
    fn link(&self, run: &R) -> usize;

    /// Runs something: in the stream of runs, or at once where it is to run on the host.
    fn run(&mut self, streams: &mut Streams<'_>, run: &R, on_host: bool) -> Result<(), Error>;

    /// Brings a piece home, in the stream of stores.
    fn store(&mut self, streams: &mut Streams<'_>, store: &Move<P>) -> Result<(), Error>;
}

/// Puts the commands of steps into streams.
///
/// # Errors
/// What the driver reports, and what a site has no means for.
pub(super) fn execute<P, R>(
    streams: &mut Streams<'_>,
    chain: &Chain,
    site: &mut impl Site<P, R>,
    steps: &[Step<P, R>],
) -> Result<(), Error> {
    let mut marked = marked(steps).into_iter();
    // How often each link has still to run.
    let mut left = vec![0; chain.links.len()];
    steps.iter().flat_map(|step| &step.runs).for_each(|run| left[site.link(run)] += 1);
    for (number, step) in steps.iter().enumerate() {
        site.begin(streams, number, steps)?;
        let mut unpacks = false;
        for load in &step.loads {
            streams.wait(UP, load.after)?;
            unpacks |= site.load(streams, load)?;
        }
        streams.loaded(!step.loads.is_empty(), unpacks)?;
        if step.on_host {
            streams.wait_on_host(step.runs_after)?;
        } else {
            streams.wait(RUN, step.runs_after)?;
            // Not where loads are, so that the link does not wait for kernels.
            step.loads.iter().try_for_each(|load| site.entered(streams, &load.piece))?;
        }
        for run in &step.runs {
            let link = site.link(run);
            streams.device.counts.launch(u64::from(!step.on_host));
            site.run(streams, run, step.on_host)?;
            left[link] -= 1;
            if left[link] == 0 {
                streams.end_fold(link, &chain.links[link])?;
            }
        }
        streams.ran(step.on_host)?;
        for store in &step.stores {
            streams.wait(DOWN, store.after)?;
            site.store(streams, store)?;
            streams.stored(marked.next().unwrap_or(true))?;
        }
    }
    Ok(())
}
