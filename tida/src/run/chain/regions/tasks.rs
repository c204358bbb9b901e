//! The links of a chain as tasks of one region each.

use std::sync::Arc;

use smallvec::smallvec;

use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::ghosts::regions::Regional;
use crate::memory::storage::Storage;
use crate::program::deps::Seen;
use crate::program::regions::{ItemNeed, Task};
use crate::run::chain::{Chain, Use};
use crate::run::op::{Op, Sweep};

/// An array of a chain.
#[derive(Debug)]
pub(super) struct Array {
    pub storage: Arc<Storage>,
    pub regional: Arc<Regional>,
    /// The item that its first region is; the others follow.
    pub first: usize,
}

/// What a task does.
#[derive(Debug)]
pub(super) enum Work {
    /// Runs the kernel of a link over boxes of a region.
    Sweep { link: usize, region: usize, boxes: Vec<(usize, GridBox<4>)> },
    /// Does a part of the ghost fill of a link.
    Fill { link: usize, array: usize, part: usize },
    /// Sets the ghosts of fixed value of a region, for the ghost fill of a link.
    Fix { link: usize, array: usize, region: usize },
}

/// The other region of an array that a sweep with an order reads, as it runs over boxes of a region: the one before.
pub(super) fn other_of(sweep: &Sweep, array: &Array, boxes: &[(usize, GridBox<4>)]) -> Option<usize> {
    let (order, carry) = sweep.order().zip(sweep.launch.carry())?;
    let other = carry.before(boxes.first()?.0)?;
    let valid = array.regional.layout.regions.get(other)?.valid;
    let written = sweep.arrays.iter().any(|of| of.write && Arc::ptr_eq(of.tracker.storage(), &array.storage));
    let reads = boxes.iter().any(|(_, cells)| order.before(cells, carry.planes).overlaps(&valid));
    (written && reads).then_some(other)
}

impl Work {
    pub fn link(&self) -> usize {
        match self {
            Work::Sweep { link, .. } | Work::Fill { link, .. } | Work::Fix { link, .. } => *link,
        }
    }

    /// The region that it works on.
    pub fn region(&self, arrays: &[Array]) -> usize {
        match self {
            Work::Sweep { region, .. } | Work::Fix { region, .. } => *region,
            Work::Fill { array, part, .. } => arrays[*array].regional.parts().get(*part).map_or(0, |part| part.region),
        }
    }
}

/// All tasks of a chain, in the order of its links.
#[derive(Debug)]
pub(super) struct Tasks {
    pub arrays: Vec<Array>,
    pub list: Vec<Task>,
    /// What each does.
    pub works: Vec<Work>,
    /// For each item whether any task needs it.
    pub used: Vec<bool>,
    /// Bytes of the strips of a task, at most.
    pub strip: usize,
    /// Number of sweeps.
    pub sweeps: usize,
}

impl Array {
    /// The arrays of a chain.
    ///
    /// # Errors
    /// One that has no memory: no chain has such.
    pub fn all(chain: &Chain) -> Result<Vec<Array>, Error> {
        let mut first = 0;
        let array = |tracker: &Arc<crate::memory::tracker::Tracker>| {
            let Some(regional) = tracker.regional().cloned() else {
                return Err(Error::new(
                    ErrorKind::Memory,
                    "run work on arrays larger than the device's memory",
                    "an array without memory",
                    "report this as a bug of tida: such an array has room anywhere",
                ));
            };
            let array = Array { storage: tracker.storage().clone(), regional, first };
            first += array.regional.layout.regions.len();
            Ok(array)
        };
        chain.arrays.iter().map(array).collect()
    }

    /// Bytes of a region.
    pub fn bytes(&self, region: usize) -> usize {
        self.regional.layout.regions[region].cells as usize * self.regional.element.bytes()
    }

    /// What it is, for messages.
    pub fn describe(&self) -> String {
        let (layout, rank) = (&self.regional.layout, self.regional.rank);
        let ends = layout.regions.last().map_or([0; 4], |region| region.valid.hi);
        let largest = (0..layout.regions.len()).map(|region| self.bytes(region)).max().unwrap_or(0);
        let (element, count) = (self.regional.element, layout.regions.len());
        format!("{element} of shape {:?}: {count} regions of up to {largest} bytes", &ends[4 - rank..])
    }
}

impl Tasks {
    /// The tasks of the links that run.
    pub fn new(chain: &Chain, arrays: Vec<Array>, results: &[Result<(), Error>]) -> Tasks {
        let items = arrays.iter().map(|array| array.regional.layout.regions.len()).sum();
        let strip = 0;
        let mut tasks =
            Tasks { arrays, list: Vec::new(), works: Vec::new(), used: vec![false; items], strip, sweeps: 0 };
        // Of each item its cells, and its ghosts.
        let mut seen: Vec<[Seen; 2]> = vec![Default::default(); items];
        let links = || chain.links.iter().zip(results).enumerate().filter(|(_, (_, result))| result.is_ok());
        // The last link that fills each array's ghosts.
        let mut filled: Vec<Option<usize>> = vec![None; tasks.arrays.len()];
        for (number, (link, _)) in links() {
            if let Some((array, _)) = link.filled() {
                filled[array] = Some(number);
            }
        }
        for (number, (link, _)) in links() {
            match (&link.op, link.filled()) {
                (Op::Sweep(sweep) | Op::Fold(sweep, _), _) => {
                    tasks.sweeps += usize::from(link.op.is_sweep());
                    let mut sorted = sweep.boxes().to_vec();
                    // Of a sweep with an order in that.
                    let order = sweep.order();
                    sorted.sort_by_key(|(region, cells)| (order.map(|order| order.start(cells)), *region));
                    for boxes in sorted.chunk_by(|(one, _), (other, _)| one == other) {
                        let ghosts_come = |array: usize| filled[array].is_some_and(|fill| fill > number);
                        tasks.sweep((number, sweep), boxes, &link.uses, ghosts_come, &mut seen);
                    }
                }
                (Op::Fill { fixed, .. }, Some((array, _))) => {
                    if *fixed {
                        tasks.fix(number, array, &mut seen);
                    }
                    for part in 0..tasks.arrays[array].regional.parts().len() {
                        tasks.fill(number, array, part, &mut seen);
                    }
                }
                (Op::Fill { .. }, None) => {}
            }
        }
        tasks
    }

    /// An item's array and region.
    pub fn region(&self, item: usize) -> (&Array, usize) {
        let array = self.arrays.partition_point(|array| array.first <= item).saturating_sub(1);
        (&self.arrays[array], item - self.arrays[array].first)
    }

    /// Bytes of each item, as places on the device are cut.
    pub fn sizes(&self) -> Vec<usize> {
        let of = |array: &Array| -> Vec<usize> {
            (0..array.regional.layout.regions.len()).map(|r| array.bytes(r).next_multiple_of(256)).collect()
        };
        self.arrays.iter().flat_map(of).collect()
    }

    /// Adds the boxes of a sweep in one region.
    fn sweep(
        &mut self,
        (link, sweep): (usize, &Sweep),
        boxes: &[(usize, GridBox<4>)],
        uses: &[Use],
        ghosts_come: impl Fn(usize) -> bool,
        seen: &mut [[Seen; 2]],
    ) {
        let Some((region, _)) = boxes.first() else { return };
        let (number, mut task) = (self.list.len(), Task::default());
        for one in uses {
            let array = &self.arrays[one.array];
            let item = array.first + region;
            let [cells, ghosts] = &mut seen[item];
            // Boxes do not overlap.
            let covers = || {
                let valid = &array.regional.layout.regions[*region].valid;
                boxes.iter().map(|(_, cells)| cells.intersect(valid).cells()).sum::<usize>() == valid.cells()
            };
            // Ghosts of fixed value are put back; others have no value before they are filled.
            let ghosts_lost = || {
                !(one.keeps || array.regional.has_open(*region))
                    && (ghosts_come(one.array) || !array.regional.has_moving_faces(*region))
            };
            let load = one.read.is_some() || !one.write || !covers() || !ghosts_lost();
            if one.read.is_some() {
                task.after.extend(cells.read(number));
                task.after.extend(ghosts.read(number));
            }
            if one.write {
                task.after.extend(cells.write(number));
            }
            if !load || one.ghosts {
                task.after.extend(ghosts.write(number));
            }
            task.needs.push(ItemNeed { item, load, write: one.write });
            if let Some(other) = other_of(sweep, array, boxes) {
                let item = array.first + other;
                task.after.extend(seen[item][0].read(number));
                task.needs.push(ItemNeed { item, load: true, write: false });
            }
        }
        self.add(task, Work::Sweep { link, region: *region, boxes: boxes.to_vec() });
    }

    /// Adds the setting of an array's ghosts of fixed value.
    fn fix(&mut self, link: usize, array: usize, seen: &mut [[Seen; 2]]) {
        let (regional, first) = (self.arrays[array].regional.clone(), self.arrays[array].first);
        for region in (0..regional.layout.regions.len()).filter(|region| regional.has_fixed(*region)) {
            let (number, mut task) = (self.list.len(), Task { anywhere: true, ..Task::default() });
            task.after.extend(seen[first + region][1].write(number));
            task.needs = smallvec![ItemNeed { item: first + region, load: true, write: true }];
            self.add(task, Work::Fix { link, array, region });
        }
    }

    /// Adds a part of a ghost fill.
    fn fill(&mut self, link: usize, array: usize, part: usize, seen: &mut [[Seen; 2]]) {
        let Array { regional, first, .. } = &self.arrays[array];
        let (regional, first) = (regional.clone(), *first);
        let Some(of) = regional.parts().get(part) else { return };
        let (number, mut task) = (self.list.len(), Task { anywhere: true, ..Task::default() });
        of.cells.iter().for_each(|region| task.after.extend(seen[first + region][0].read(number)));
        of.ghosts.iter().for_each(|region| task.after.extend(seen[first + region][1].read(number)));
        task.after.extend(seen[first + of.region][1].write(number));
        task.needs = smallvec![ItemNeed { item: first + of.region, load: true, write: true }];
        task.strips = of.strips.iter().map(|(region, bytes)| (first + region, *bytes)).collect();
        self.strip = self.strip.max(of.strips.iter().map(|(_, bytes)| bytes).sum());
        self.add(task, Work::Fill { link, array, part });
    }

    fn add(&mut self, mut task: Task, work: Work) {
        let number = self.list.len();
        task.after.sort_unstable();
        task.after.dedup();
        task.after.retain(|before| *before != number);
        task.needs.iter().for_each(|need| self.used[need.item] = true);
        self.list.push(task);
        self.works.push(work);
    }
}
