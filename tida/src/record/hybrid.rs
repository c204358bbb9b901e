//! Loops on both sides: which regions the device sweeps and which the host, both at once (TiDA-acc §III, Fig. 3).
//!
//! Arrays of the same cuts share one border: the regions before it are the device's, the others the host's. So what one
//! loop has left on a side is there for the next one, whatever its kernel. Each kernel's speed is measured on both
//! sides, as its first sweeps run, and the border moves if that is worth the copies of the regions that change sides.
//! Then it stays, until a loop runs another kernel.

use std::any::TypeId;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::driver::{Core, lock};
use super::sweep::SweepKey;
use crate::error::Error;
use crate::launch::quoted::KernelId;
use crate::memory::layout::Layout;
use crate::memory::node::{Done, Queue};
use crate::memory::tracker::{BoxTouch, Side, distinct};

/// Loops of a kernel with the first border: one to warm up, one to be measured.
const FIRST: u64 = 2;

/// How often the recorder waits for a kernel's first speeds.
const WAITS: u32 = 3;

/// A kernel counts if it was among so many last loops over arrays of its cuts.
const RECENT: u64 = 16;

/// A border moves if a loop then takes less than this part of the time; and both sides have regions if a loop then
/// takes less than this part of the time that one of them alone takes.
const WORTH: f64 = 0.95;

/// By so many measurements of both sides a kernel's speeds are sure. The border of such kernels stays where it is.
const MANY: u64 = 4;

/// Within so many loops the copies of regions that change sides have to pay.
const PAYS: f64 = 50.0;

/// Bytes a second that such copies are taken to move: about what PCIe reaches from memory that is not pinned.
const LINK: f64 = 10e9;

/// Part of a new measurement in what is known.
const NEW: f64 = 0.25;

/// Where a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Device,
    Host,
}

/// How fast a kernel's sweeps ran on both sides.
#[derive(Debug, Default)]
pub(crate) struct Pace([Mutex<Speed>; 2]);

#[derive(Clone, Copy, Debug, Default)]
struct Speed {
    sweeps: u64,
    measured: u64,
    /// Seconds for each cell.
    cost: f64,
    /// All that was measured.
    cells: u64,
    seconds: f64,
}

impl Pace {
    fn speed(&self, on: On) -> Speed {
        *lock(&self.0[on as usize])
    }

    /// A sweep of so many cells has ended; without seconds it cannot be said what it took. The first one is not
    /// counted: it has compiled, copied and touched memory for the first time.
    fn swept(&self, on: On, cells: u64, seconds: Option<f64>) {
        let mut speed = lock(&self.0[on as usize]);
        speed.sweeps += 1;
        let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0 && cells > 0 && speed.sweeps > 1) else { return };
        let cost = seconds / cells as f64;
        speed.measured += 1;
        speed.cells += cells;
        speed.seconds += seconds;
        speed.cost = if speed.measured == 1 { cost } else { speed.cost + NEW * (cost - speed.cost) };
    }

    /// Cells and seconds of all that was measured, on whichever side it ran.
    pub fn total(&self) -> (u64, f64) {
        let both = [On::Device, On::Host].map(|on| self.speed(on));
        both.iter().fold((0, 0.0), |(cells, seconds), speed| (cells + speed.cells, seconds + speed.seconds))
    }

    /// Runs a sweep on the host, and measures it.
    pub fn on_host<T>(&self, cells: u64, sweep: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = sweep();
        self.swept(On::Host, cells, Some(start.elapsed().as_secs_f64()));
        result
    }

    /// Puts a sweep into a stream of the device, where `bring` puts its data first, and measures it: by the device's
    /// clock, else from when it was there and the work before it had ended. In the latter way uploads would count: then
    /// it is not measured.
    pub fn on_device(
        self: Arc<Self>,
        queue: &Queue<'_>,
        cells: u64,
        bring: impl FnOnce() -> Result<(), Error>,
        sweep: impl FnOnce() -> Result<Done, Error>,
    ) -> Result<Done, Error> {
        let device = queue.device.clone();
        let mark = || device.backend().record_timed(queue.stream).ok();
        let uploaded = device.counts.copied().0;
        bring()?;
        let came = device.counts.copied().0 != uploaded;
        let start = mark();
        let done = sweep()?;
        let (end, there) = (mark(), Instant::now());
        Ok(Box::new(move || {
            done()?;
            let by_device = start.zip(end).and_then(|(start, end)| Some(end.time()? - start.time()?));
            let by_host = (!came).then(|| device.last_end().max(there).elapsed().as_secs_f64());
            self.swept(On::Device, cells, by_device.or(by_host));
            Ok(())
        }))
    }
}

/// Where a tile goes of a loop that may run on both sides.
#[derive(Debug)]
pub(crate) struct LoopPart {
    pub on_device: bool,
    /// The loop has regions on both sides.
    pub both: bool,
    /// Measures the sweep, if the loop may be parted.
    pub pace: Option<Arc<Pace>>,
}

/// The borders of an accelerator.
#[derive(Debug, Default)]
pub(crate) struct Borders {
    all: Mutex<Vec<Border>>,
    /// The part of the cells that the device takes, if that is not to be found by measurements.
    share: Option<f64>,
}

impl Borders {
    pub fn new(share: Option<f64>) -> Borders {
        Borders { all: Mutex::default(), share }
    }
}

/// Where arrays of the same cuts are parted.
#[derive(Debug)]
struct Border {
    /// The cuts, axis by axis.
    cuts: Box<[i64]>,
    /// Cells of the regions before each, and of all.
    before: Vec<u64>,
    /// Number of the first region of the host.
    at: usize,
    /// It stays there.
    is_fixed: bool,
    /// The kernels, by number, for which it stays there.
    settled: Vec<usize>,
    /// Loops so far.
    loops: u64,
    kernels: Vec<Known>,
}

/// A kernel that loops over such arrays run.
#[derive(Debug)]
struct Known {
    kernel: (KernelId, TypeId),
    pace: Arc<Pace>,
    /// Region of its last tile.
    last: usize,
    loops: u64,
    /// Number of the last one among all loops.
    seen: u64,
    waits: u32,
}

/// Which sides have regions, of a border among so many.
fn sides_of(at: usize, borders: usize) -> [(On, bool); 2] {
    [(On::Device, at > 0), (On::Host, at + 1 < borders)]
}

impl Border {
    fn new(cuts: Box<[i64]>, regions: impl Iterator<Item = u64>, share: Option<f64>) -> Border {
        let mut before = vec![0];
        before.extend(regions.scan(0, |sum, cells| {
            *sum += cells;
            Some(*sum)
        }));
        let at = match share {
            Some(share) => {
                let wanted = before.last().map_or(0.0, |all| share * *all as f64);
                let far = |at: &usize| (before[*at] as f64 - wanted).abs();
                (0..before.len()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0)
            }
            // One region shows how fast the host is; most likely it is slower.
            None => before.len().saturating_sub(2),
        };
        Border { cuts, before, at, is_fixed: share.is_some(), settled: Vec::new(), loops: 0, kernels: Vec::new() }
    }

    /// Where a tile of a region goes, of a loop over arrays of so many bytes. `None` if the kernel's first speeds
    /// should be waited for: then this is to be asked again.
    fn place(&mut self, kernel: (KernelId, TypeId), region: usize, bytes: u64) -> Option<LoopPart> {
        let pace = if self.is_fixed { None } else { Some(self.pace(kernel, region, bytes)?) };
        Some(self.part(region, pace))
    }

    /// The same, measured by this.
    fn part(&self, region: usize, pace: Option<Arc<Pace>>) -> LoopPart {
        let both = sides_of(self.at, self.before.len()).into_iter().all(|(_, used)| used);
        LoopPart { on_device: region < self.at, both, pace }
    }

    /// What measures a tile of a region; the border may move before it. `None` as [`Border::place`] says.
    fn pace(&mut self, kernel: (KernelId, TypeId), region: usize, bytes: u64) -> Option<Arc<Pace>> {
        let found = self.kernels.iter().position(|known| known.kernel == kernel);
        let number = found.unwrap_or_else(|| {
            let pace = Arc::default();
            self.kernels.push(Known { kernel, pace, last: 0, loops: 0, seen: 0, waits: 0 });
            self.kernels.len() - 1
        });
        let sides = sides_of(self.at, self.before.len());
        let known = &mut self.kernels[number];
        if known.loops == 0 || region < known.last {
            let unknown = |(on, used): (On, bool)| used && known.pace.speed(on).measured == 0;
            if known.loops >= FIRST && known.waits < WAITS && sides.into_iter().any(unknown) {
                known.waits += 1;
                return None;
            }
            self.loops += 1;
            known.loops += 1;
            known.seen = self.loops;
            if known.loops > FIRST {
                self.move_border(bytes);
            }
        }
        let known = &mut self.kernels[number];
        known.last = region;
        Some(known.pace.clone())
    }

    /// Moves the border to where both sides end together, if that pays. `bytes` are those of the arrays of a loop.
    fn move_border(&mut self, bytes: u64) {
        let recent = self.kernels.iter().enumerate().filter(|(_, known)| known.seen + RECENT > self.loops);
        let of = |(number, known): (usize, &Known)| (number, [On::Device, On::Host].map(|on| known.pace.speed(on)));
        let measured = recent.map(of).filter(|(_, both)| both.iter().all(|speed| speed.measured > 0));
        let (kernels, speeds): (Vec<usize>, Vec<[Speed; 2]>) = measured.unzip();
        if kernels.iter().all(|kernel| self.settled.contains(kernel)) {
            return;
        }
        let (Some(all), false) = (self.before.last().copied(), speeds.is_empty()) else { return };
        let seconds = |at: usize| -> f64 {
            let (device, host) = (self.before[at] as f64, (all - self.before[at]) as f64);
            speeds.iter().map(|[d, h]| (device * d.cost).max(host * h.cost)).sum()
        };
        let regions = self.before.len() - 1;
        let near = |at: usize| (at.abs_diff(self.at), at);
        let best = |a: &usize, b: &usize| seconds(*a).total_cmp(&seconds(*b)).then(near(*a).cmp(&near(*b)));
        let Some(mut to) = (1..regions).min_by(best) else { return };
        let sure = speeds.iter().flatten().all(|speed| speed.measured >= MANY);
        let alone = [0, regions].into_iter().min_by(best);
        let alone = alone.filter(|alone| sure && WORTH * seconds(*alone) <= seconds(to));
        to = alone.unwrap_or(to);
        if sure {
            self.settled = kernels;
        }
        let (now, then) = (seconds(self.at), seconds(to));
        let moved = self.before[to].abs_diff(self.before[self.at]) as f64 / all.max(1) as f64 * bytes as f64;
        if alone.is_some() || then < WORTH * now && (now - then) * PAYS > moved / LINK {
            tracing::debug!(from = self.at, to, regions, now, then, "a loop on both sides moves its border");
            self.at = to;
        }
    }
}

impl Core {
    /// Has all sweeps that are recorded from now on measured by this, each as a launch of its own; or none any more.
    pub fn measure(&self, by: Option<Arc<Pace>>) {
        lock(&self.recorder).measured = by;
    }

    /// Where a tile goes of a loop that is to run on both sides. May wait for the kernel's first speeds, unless it goes
    /// over too few cells to be measured.
    pub fn part<const D: usize>(
        self: &Arc<Core>,
        key: &SweepKey,
        layout: &Layout<D>,
        region: usize,
        (touches, measured): (&[BoxTouch], bool),
    ) -> LoopPart {
        let alone = |on_device: bool| LoopPart { on_device, both: false, pace: None };
        let Some(device) = &self.device else { return alone(false) };
        let arrays = distinct(touches.iter().map(|touch| &touch.tracker));
        let bytes: u64 = arrays.iter().map(|array| array.storage().device_bytes() as u64).sum();
        // Where they have no room as a whole, planes stream.
        let streams = bytes > device.budget() || arrays.iter().any(|array| array.side() == Side::Chain);
        if streams || layout.regions.len() < 2 {
            return alone(true);
        }
        let kernel = (key.kernel, key.views);
        let cuts = || layout.cuts.at.iter().flatten().copied();
        loop {
            let mut borders = lock(&self.parted.sides.all);
            let found = borders.iter().position(|border| border.cuts.iter().copied().eq(cuts()));
            let number = found.unwrap_or_else(|| {
                let regions = layout.regions.iter().map(|region| region.valid.cells() as u64);
                borders.push(Border::new(cuts().collect(), regions, self.parted.sides.share));
                borders.len() - 1
            });
            if !measured {
                return borders[number].part(region, None);
            }
            if let Some(part) = borders[number].place(kernel, region, bytes) {
                return part;
            }
            drop(borders);
            self.wait_for_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(number: usize) -> (KernelId, TypeId) {
        (KernelId::Foreign(number as u64), TypeId::of::<()>())
    }

    /// Runs a loop over all regions: each side takes its part of the time that `costs` say. Gives the border.
    fn run(border: &mut Border, number: usize, costs: [f64; 2]) -> usize {
        let regions = border.before.len() - 1;
        let mut cells = [0; 2];
        let mut pace = None;
        for region in 0..regions {
            let part = border.place(kernel(number), region, 1 << 20).expect("the speeds are known");
            cells[usize::from(!part.on_device)] += border.before[region + 1] - border.before[region];
            pace = part.pace;
        }
        for (on, cells, cost) in [(On::Device, cells[0], costs[0]), (On::Host, cells[1], costs[1])] {
            if cells > 0 {
                pace.as_ref().unwrap().swept(on, cells, Some(cost * cells as f64));
            }
        }
        border.at
    }

    fn border(regions: usize) -> Border {
        Border::new([0].into(), std::iter::repeat_n(1000, regions), None)
    }

    #[test]
    fn both_sides_end_together() {
        for (costs, at) in [([1e-3, 1e-3], 8), ([1e-3, 3e-3], 12), ([3e-3, 1e-3], 4), ([1e-3, 7e-3], 14)] {
            let mut border = border(16);
            let first: Vec<usize> = (0..2).map(|_| run(&mut border, 0, costs)).collect();
            assert_eq!(first, [15, 15]);
            for _ in 0..10 {
                assert_eq!(run(&mut border, 0, costs), at, "{costs:?}");
            }
        }
    }

    #[test]
    fn a_side_that_is_no_help_is_left_out_once_that_is_sure() {
        for (costs, one, at) in [([1e-3, 1.0], 15, 16), ([1.0, 1e-3], 1, 0)] {
            let mut border = border(16);
            let seen: Vec<usize> = (0..12).map(|_| run(&mut border, 0, costs)).collect();
            assert_eq!((seen[2], seen[11]), (one, at), "{seen:?}");
        }
    }

    #[test]
    fn a_border_stays_where_moving_it_does_not_pay() {
        let mut border = border(16);
        (0..4).for_each(|_| _ = run(&mut border, 0, [1e-3, 1e-3]));
        // A little slower, then a lot: it was measured often enough. But there is another kernel.
        (0..20).for_each(|_| assert_eq!(run(&mut border, 0, [1.04e-3, 1e-3]), 8));
        (0..20).for_each(|_| assert_eq!(run(&mut border, 0, [3e-3, 1e-3]), 8));
        (0..20).for_each(|_| _ = run(&mut border, 1, [3e-3, 1e-3]));
        assert_eq!(border.at, 4);
        // So fast that the copies would take longer than all loops.
        let mut fast = Border::new([0].into(), std::iter::repeat_n(1000, 16), None);
        (0..20).for_each(|_| assert_eq!(run(&mut fast, 0, [1e-15, 1e-15]), 15));
    }

    #[test]
    fn a_share_is_kept() {
        for (share, at) in [(0.0, 0), (0.03, 0), (0.04, 1), (0.5, 8), (0.99, 16), (1.0, 16)] {
            let mut border = Border::new([0].into(), std::iter::repeat_n(1000, 16), Some(share));
            for _ in 0..6 {
                (0..16)
                    .for_each(|region| assert_eq!(border.place(kernel(0), region, 1).unwrap().on_device, region < at));
            }
        }
    }

    #[test]
    fn kernels_over_the_same_arrays_share_the_border() {
        let mut border = border(16);
        for _ in 0..30 {
            run(&mut border, 0, [1e-3, 1e-3]);
            run(&mut border, 1, [1e-3, 7e-3]);
        }
        // 8 and 14 would be best for one of them each.
        assert!((8..=14).contains(&border.at), "{}", border.at);
        let at = border.at;
        assert_eq!((run(&mut border, 0, [1e-3, 1e-3]), run(&mut border, 1, [1e-3, 7e-3])), (at, at));
    }

    #[test]
    fn the_recorder_waits_for_the_first_speeds_and_not_forever() {
        let mut border = border(4);
        for _ in 0..2 {
            (0..4).for_each(|region| assert!(border.place(kernel(0), region, 1).is_some()));
        }
        // Nothing was measured: as if all sweeps had failed.
        (0..WAITS).for_each(|_| assert!(border.place(kernel(0), 0, 1).is_none()));
        (0..4).for_each(|region| assert_eq!(border.place(kernel(0), region, 1).unwrap().on_device, region < 3));
    }
}
