//! How many planes of neighbours places should hold as cells, as measured.

use std::fmt;
use std::time::Instant;

use super::TileArrayBuilder;
use crate::acc::TileAcc;
use crate::error::Error;
use crate::memory::element::Element;

/// What a step took with each number of planes that places held of their neighbours: what
/// [`TileArrayBuilder::measure_overlap`] found. Printed, it has a line for each number.
#[derive(Clone, Debug, PartialEq)]
pub struct OverlapTimes {
    times: Vec<(usize, f64)>,
}

impl OverlapTimes {
    /// The number of planes with which a step was fastest, for [`overlap`](TileArrayBuilder::overlap); of equally fast
    /// ones the least. 0: ghosts alone.
    pub fn planes(&self) -> usize {
        let fastest = self.times.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        fastest.map_or(0, |(planes, _)| *planes)
    }

    /// Numbers of planes, in the order in which they were tried, and seconds a step with each.
    pub fn times(&self) -> &[(usize, f64)] {
        &self.times
    }

    /// Whether more planes are worth a try: one of the last few numbers was the fastest.
    fn goes_on(&self) -> bool {
        let best = self.times.iter().rposition(|(planes, _)| *planes == self.planes());
        best.is_none_or(|best| self.times.len() - best <= PATIENCE)
    }
}

impl fmt::Display for OverlapTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (planes, seconds)) in self.times.iter().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            let best = if *planes == self.planes() { " (fastest)" } else { "" };
            write!(f, "{end}{planes} planes: {:.4} ms a step{best}", seconds * 1e3)?;
        }
        Ok(())
    }
}

/// So many numbers that are slower than one before end the search.
const PATIENCE: usize = 4;

/// Fewest steps that are timed at once, and the least time that they take, where it is that of a real clock.
const STEPS: usize = 8;
const SECONDS: f64 = 0.02;

/// Runs that take so many seconds are timed once; others three times, of which the fastest counts.
const ONCE: f64 = 0.5;

/// Most steps that are timed at once because they are short.
const MOST: usize = 1 << 16;

/// Most times that steps run before they are timed, while kernels are compiled beside them.
const WARM_UPS: usize = 50;

/// Numbers of planes that are worth a try where kernels read so many planes beyond a cell, up to a number: all small
/// ones, since steps that fuse take as many as a launch has, or a multiple, and then four for each doubling.
pub(super) fn numbers(reach: usize, most: usize) -> Vec<usize> {
    let four = |doubled: u32| (4..8usize).map(move |n| n << doubled);
    let all = [0, 2, 3].into_iter().chain((0..usize::BITS - 3).flat_map(four));
    all.map_while(|n| n.checked_mul(reach.max(1)).filter(|planes| *planes <= most)).collect()
}

/// The clock by which steps are timed.
enum Clock {
    /// That of simulated devices.
    Virtual,
    Real(Instant),
}

impl Clock {
    fn of(acc: &TileAcc) -> Clock {
        if acc.simulated().is_some() { Clock::Virtual } else { Clock::Real(Instant::now()) }
    }

    /// Seconds, of work that was waited for.
    fn now(&self, acc: &TileAcc) -> f64 {
        match self {
            Clock::Virtual => acc.simulated().map_or(0.0, |report| report.makespan),
            Clock::Real(start) => start.elapsed().as_secs_f64(),
        }
    }
}

/// The largest number that a rank has; this one's own without ranks.
///
/// # Errors
/// That of the first rank that has one.
fn most(acc: &TileAcc, own: Result<f64, Error>) -> Result<f64, Error> {
    let all = acc.exchange(own.map(|own| own.to_ne_bytes().to_vec()))?;
    let number = |bytes: &Vec<u8>| bytes.as_slice().try_into().map_or(0.0, f64::from_ne_bytes);
    Ok(all.iter().map(number).fold(f64::NEG_INFINITY, f64::max))
}

/// Seconds a step, of steps that follow one another without a wait.
fn seconds(acc: &TileAcc, planes: usize, step: &mut dyn FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let clock = Clock::of(acc);
    let mut run = |steps: usize| {
        let start = clock.now(acc);
        let done = (0..steps).try_for_each(|_| step()).and_then(|()| acc.sync());
        most(acc, done.map(|()| clock.now(acc) - start))
    };
    // As many messages in each run as the planes last.
    let mut steps = STEPS.next_multiple_of(planes.max(1));
    run(steps)?;
    for _ in 0..WARM_UPS {
        if most(acc, acc.warm_up().map(|waits| waits as f64))? == 0.0 {
            break;
        }
        run(steps)?;
    }
    let runs = match clock {
        Clock::Virtual => 1,
        Clock::Real(_) => {
            let mut takes = run(steps)?;
            while takes < SECONDS && steps < MOST {
                steps *= 2;
                takes = run(steps)?;
            }
            if takes < ONCE { 3 } else { 1 }
        }
    };
    let mut best = |steps: usize| (0..runs).try_fold(f64::INFINITY, |best, _| Ok::<f64, Error>(best.min(run(steps)?)));
    // Work begins and ends once in each: what that takes is left out.
    let (few, many) = (best(steps)?, best(2 * steps)?);
    Ok(if many > few { (many - few) / steps as f64 } else { many / (2 * steps) as f64 })
}

impl<T: Element, const D: usize> TileArrayBuilder<T, D> {
    /// Measures with how many planes of its neighbours, held as cells ([`overlap`](Self::overlap)), the steps of a
    /// program are fastest. `trial` gets a number of planes, builds all arrays of a loop with it, and gives a closure
    /// that does one step. Steps that follow one another are timed with 0 planes (ghosts alone), then with 2 to 8,
    /// 10, 12, 14, 16, 20 times the ghosts along the first axis and so on, up to what the thinnest region of this
    /// builder's arrays has, or until four numbers that follow one another are slower than one before.
    /// Trials run one after the other, each until its arrays are gone; they need room beside what else there is.
    ///
    /// Simulated devices are timed by their clock. Of others it is the time until all places have done their steps: of
    /// runs of at least 20 ms, so that small steps are repeated a few hundred times. What beginning and ending take is
    /// left out: it is the difference between a run and one of twice as many steps. Results do not depend on what is
    /// chosen.
    ///
    /// ```
    /// use tida::prelude::*;
    /// use tida::{SimCluster, SimDevice, SimLink};
    /// # fn main() -> tida::Result<()> {
    /// let link = SimLink::new(1e9, 1e-4); // a step takes less time than a message
    /// let acc = TileAcc::builder().simulate_cluster(SimCluster::of(2, SimDevice::new()).links(link)).build()?;
    /// let builder = TileArray::<f64, 2>::builder([32, 64]).ghost(1).boundary(Boundary::ReflectEven);
    /// let found = builder.measure_overlap(&acc, |planes| {
    ///     let builder = builder.clone().overlap(planes);
    ///     let (mut u, mut next) = (builder.build(&acc)?, builder.build(&acc)?);
    ///     Ok(move || {
    ///         u.fill_ghosts()?;
    ///         for tile in next.tiles() {
    ///             compute(&tile, (&mut next, &u), kernel!(|next, u, at| {
    ///                 next[at] = 0.5 * (u[at - [1, 0]] + u[at + [1, 0]]);
    ///             }))?;
    ///         }
    ///         std::mem::swap(&mut u, &mut next);
    ///         Ok(())
    ///     })
    /// })?;
    /// println!("{found}"); // what a step takes with each number
    /// assert!(found.planes() >= 8, "{found}");
    /// let u = builder.overlap(found.planes()).build(&acc)?;
    /// # Ok(()) }
    /// ```
    ///
    /// On one place, and of arrays that hold no planes of neighbours, there is one trial, with 0. Several ranks all
    /// make the call; the slowest of them counts, and all find the same.
    ///
    /// # Errors
    /// What `trial` and its steps give, and failed work. What [`build`](Self::build) refuses of the shape.
    pub fn measure_overlap<S: FnMut() -> Result<(), Error>>(
        &self,
        acc: &TileAcc,
        mut trial: impl FnMut(usize) -> Result<S, Error>,
    ) -> Result<OverlapTimes, Error> {
        let mut found = OverlapTimes { times: Vec::new() };
        for planes in self.spec.overlaps(acc)? {
            acc.sync()?;
            let mut step = trial(planes)?;
            found.times.push((planes, seconds(acc, planes, &mut step)?));
            if !found.goes_on() {
                break;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::{OverlapTimes, numbers};

    #[test]
    fn numbers_are_those_of_the_reach() {
        assert_eq!(numbers(1, 21), [0, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20]);
        assert_eq!(numbers(3, 18), [0, 6, 9, 12, 15, 18]);
        assert_eq!(numbers(0, 4), [0, 2, 3, 4]);
        assert_eq!(numbers(2, 3), [0]);
        assert!(numbers(1, usize::MAX).len() > 100);
    }

    #[test]
    fn the_fastest_is_found_and_ends_the_search() {
        let of = |times: &[f64]| OverlapTimes { times: times.iter().copied().enumerate().collect() };
        assert_eq!(of(&[2.0, 1.0, 1.0, 3.0]).planes(), 1);
        assert!(of(&[]).goes_on() && of(&[1.0, 2.0, 2.0, 2.0]).goes_on());
        assert!(!of(&[1.0, 2.0, 2.0, 2.0, 2.0]).goes_on());
        assert!(of(&[2.0, 1.0, 2.0, 2.0, 2.0]).goes_on());
        assert_eq!(of(&[2e-3, 1e-3]).to_string(), "0 planes: 2.0000 ms a step\n1 planes: 1.0000 ms a step (fastest)");
    }
}
