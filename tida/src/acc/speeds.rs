//! How fast places compute, as measured, and how many planes each should have.

use std::sync::Arc;

use super::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::record::hybrid::Pace;

/// How fast each place of an accelerator computes: what [`TileAcc::measure_places`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceSpeeds {
    cells_per_second: Vec<f64>,
}

/// Fewest planes of a place, where there are enough.
const FEWEST: usize = 4;

impl PlaceSpeeds {
    /// Cells a second of each place, in their order: those of all sweeps that were measured there, divided by the time
    /// that they took.
    pub fn cells_per_second(&self) -> &[f64] {
        &self.cells_per_second
    }

    /// How to share so many planes of the first axis, for
    /// [`distribute`](crate::array::TileArrayBuilder::distribute): how many each place has, in their order, so that all
    /// are done as early as possible. Each place has at least 4, if there are enough. If there are fewer planes than
    /// places, the first places have one each.
    pub fn share(&self, planes: usize) -> Vec<usize> {
        let places = self.cells_per_second.len().min(planes);
        let speeds = self.cells_per_second.get(..places).unwrap_or_default();
        let mut shares = vec![FEWEST.min(planes.checked_div(places).unwrap_or(0)); places];
        for _ in shares.iter().sum()..planes {
            let then = |place: &usize| (shares[*place] + 1) as f64 / speeds[*place];
            let first = (0..places).min_by(|a, b| then(a).total_cmp(&then(b)));
            first.into_iter().for_each(|place| shares[place] += 1);
        }
        shares
    }
}

/// Sweeps of places are measured until it is dropped.
struct Measures<'a>(&'a TileAcc);

impl Drop for Measures<'_> {
    fn drop(&mut self) {
        self.0.places().iter().for_each(|place| place.core().measure(None));
    }
}

impl TileAcc {
    /// Measures how fast each [place](TileAcc::places) runs the loops of `f`, for arrays that are
    /// [distributed](crate::array::TileArrayBuilder::distribute) by that. Give it a few steps of the program, over
    /// arrays of which each place has a part. Waits for all work before and after it.
    ///
    /// Meanwhile each sweep is a launch of its own, in one part, and its device takes the time: all cells of the sweeps
    /// of a place, divided by all the time that these take there. The first sweep of each place is not counted, since
    /// it compiles and brings arrays. What places wait for one another, ghosts and reductions are not in it.
    ///
    /// ```
    /// use tida::prelude::*;
    /// use tida::{SimCluster, SimDevice};
    /// # fn main() -> tida::Result<()> {
    /// let devices = [1e9, 3e9].map(|cells_per_second| SimDevice::new().kernels(cells_per_second, 0.0));
    /// let acc = TileAcc::builder().simulate_cluster(SimCluster::new(devices)).build()?;
    /// let builder = TileArray::<f64, 2>::builder([64, 64]).ghost(1).boundary(Boundary::Periodic);
    /// let step = |u: &mut TileArray<f64, 2>, next: &mut TileArray<f64, 2>| -> tida::Result<()> {
    ///     u.fill_ghosts()?;
    ///     for tile in next.tiles() {
    ///         compute(&tile, (&mut *next, &*u), kernel!(|next, u, at| {
    ///             next[at] = 0.5 * (u[at - [1, 0]] + u[at + [1, 0]]);
    ///         }))?;
    ///     }
    ///     std::mem::swap(u, next);
    ///     Ok(())
    /// };
    /// let (mut u, mut next) = (builder.build(&acc)?, builder.build(&acc)?);
    /// u.fill(|[row, _]| row as f64)?;
    /// let speeds = acc.measure_places(|| (0..3).try_for_each(|_| step(&mut u, &mut next)))?;
    /// assert_eq!(speeds.share(64), [16, 48]);
    ///
    /// let builder = builder.distribute(speeds.share(64));
    /// let (mut balanced, mut next) = (builder.build(&acc)?, builder.build(&acc)?);
    /// balanced.copy_from(&u)?; // goes on from there
    /// step(&mut balanced, &mut next)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// What `f` gives, and failed work. [`ErrorKind::Argument`]: several ranks, which measure each its own places; a
    /// place of which nothing could be measured.
    pub fn measure_places(&self, f: impl FnOnce() -> Result<(), Error>) -> Result<PlaceSpeeds, Error> {
        let wrong = |found: String, advice: &str| {
            Err(Error::new(ErrorKind::Argument, "measure how fast places compute", found, advice))
        };
        if self.ranks() > 1 {
            let advice = "measure with one rank that has all devices, and give each rank's places their planes \
                          (`TileArrayBuilder::distribute`)";
            return wrong(format!("{} ranks", self.ranks()), advice);
        }
        self.sync()?;
        let paces: Vec<Arc<Pace>> = self.places().iter().map(|_| Arc::default()).collect();
        self.places().iter().zip(&paces).for_each(|(place, pace)| place.core().measure(Some(pace.clone())));
        let measures = Measures(self);
        let ran = f();
        let ended = self.sync();
        drop(measures);
        ran.and(ended)?;
        let mut cells_per_second = Vec::with_capacity(paces.len());
        for (number, (cells, seconds)) in paces.iter().map(|pace| pace.total()).enumerate() {
            if cells == 0 || seconds <= 0.0 {
                let found = format!("no time of place {number}, which ran fewer than two sweeps over arrays with room");
                return wrong(found, "run some steps over all tiles of arrays of which each place has a part");
            }
            cells_per_second.push(cells as f64 / seconds);
        }
        Ok(PlaceSpeeds { cells_per_second })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_share_of_planes_ends_sooner() {
        let shared = |speeds: &[f64], planes| PlaceSpeeds { cells_per_second: speeds.to_vec() }.share(planes);
        assert_eq!(shared(&[1.0, 1.0], 9), [5, 4]);
        assert_eq!(shared(&[1.0, 3.0], 64), [16, 48]);
        assert_eq!(shared(&[1.0, 1000.0], 64), [4, 60]);
        assert_eq!(shared(&[1.0, 2.0, 3.0], 2), [1, 1]);
        assert_eq!(shared(&[1.0; 3], 0), [0; 0]);
        // Against all shares.
        let (speeds, planes) = ([1.0, 1.7, 2.9], 40usize);
        let end = |shares: &[usize]| shares.iter().zip(speeds).map(|(n, speed)| *n as f64 / speed).fold(0.0, f64::max);
        let all = (4..planes).flat_map(|a| (4..planes).map(move |b| [a, b, planes.saturating_sub(a + b)]));
        let best = all.filter(|shares| shares[2] >= 4).map(|shares| end(&shares)).fold(f64::INFINITY, f64::min);
        assert_eq!(end(&shared(&speeds, planes)), best);
    }
}
