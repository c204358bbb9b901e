//! In which form a chain runs: how many steps a launch does, and how many planes a window holds.

use std::sync::Arc;

use tida_kernels::plan::fuse::LONGEST;

use super::Chain;
use super::files::Files;
use super::link::Packs;
use super::operations::{Depth, OpWork, operations, reach};
use super::ring::{Window, cells, constant_ghosts};
use super::segments::Segment;
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::ghosts::planes::Planar;
use crate::program::place::Kind;
use crate::program::schedule::{Kept, PlaneOp, Schedule, least_window, schedule, unit, up};

/// Bytes of the planes that a block of a schedule has of one array, at most: more keep no device busier.
const BLOCK: usize = 256 << 20;

/// Blocks that an array has at least, but for those of [`SMALL`] bytes: while the first is loaded and while the last is
/// stored nothing else runs, and where link and kernels take equally long that time is lost.
const BLOCKS: i64 = 64;

/// Bytes of a block whose kernels take about as long as launching them.
const SMALL: usize = 16 << 20;

/// What a form is made of.
pub(super) struct Forms<'a> {
    pub device: &'a Arc<DeviceCore>,
    pub chain: &'a Chain,
    pub planars: &'a [&'a Arc<Planar>],
    pub segment: &'a Segment,
    /// The boxes of the sweep of each link that runs, merged across regions.
    pub boxes: &'a [Vec<GridBox<4>>],
    pub results: &'a [Result<(), Error>],
}

/// Operations, and what their windows need.
pub(super) struct Form {
    pub works: Vec<OpWork>,
    pub ops: Vec<PlaneOp>,
    /// The fewest planes of a window.
    pub least: i64,
    margin: i64,
    /// Planes of the finest array that each of the coarsest one has: windows have whole ones.
    unit: i64,
    /// Ghost planes that stay in the window.
    ghosts: i64,
    period: Option<i64>,
}

/// A form, and how its windows are used.
pub(super) struct Planned {
    pub form: Form,
    pub schedule: Schedule,
    /// Planes of a window.
    pub planes: i64,
    /// Bytes of a stage, if what packs arrays is to pass through stages.
    pub stage: Option<usize>,
}

impl Forms<'_> {
    /// The form that is best with so many bytes.
    ///
    /// # Errors
    /// Too little room.
    pub fn planned(&self, room: u64) -> Result<Planned, Error> {
        let (chain, is_arriving) = (self.chain, self.chain.kind == Kind::Arriving);
        let arrays = chain.arrays.iter().zip(self.planars);
        let packed = arrays.map(|(tracker, planar)| (&**tracker.storage(), planar.facts()));
        let stage = if is_arriving { None } else { Packs::stage(room, packed) };
        if stage.is_none() {
            // Nothing could unpack on the device what came packed from it before.
            chain.arrays.iter().for_each(|tracker| tracker.storage().unpack_all());
        }
        let room = room - stage.map_or(0, Packs::bytes).min(room);
        // Where the device is the host, stages of files are memory of it.
        let is_host = self.device.backend().facts().spreads && self.in_files();
        let room = room - if is_host { Files::bytes(room).min(room / 4) } else { 0 };
        // Of arrays that arrive few planes come at a time.
        let together = if is_arriving { None } else { self.together(room) };
        let mut needed = 0;
        // Single steps do with less memory.
        for mut form in [together, self.form(None)].into_iter().flatten() {
            let planes = form.fit(self, room);
            if let Some(schedule) = form.schedule(self, planes) {
                return Ok(Planned { form, schedule, planes, stage });
            }
            needed = self.bytes(form.window(form.least));
        }
        Err(self.too_small(room, needed))
    }

    /// What someone looks at of each array after the segment.
    fn kept(&self) -> Vec<Kept> {
        let later = self.chain.links.iter().skip(self.segment.links.end);
        let used = |array: usize| later.clone().any(|link| link.use_of(array).is_some());
        let kept = |array: usize| if used(array) { Kept::ALL } else { self.chain.kept(array) };
        (0..self.planars.len()).map(kept).collect()
    }

    /// Whether planes come from files.
    fn in_files(&self) -> bool {
        self.chain.arrays.iter().any(|tracker| tracker.storage().backing().is_some())
    }

    /// The form in which steps run together as it is asked for, or by themselves; nothing without operations.
    pub fn form(&self, depth: Option<Depth<'_>>) -> Option<Form> {
        let Forms { chain, planars, segment, boxes, results, .. } = *self;
        let (works, ops) = operations(chain, planars, segment, boxes, results, depth);
        let margin = ops.iter().map(reach).max()?;
        let constant = planars.iter().map(|planar| constant_ghosts(planar).len() as i64);
        let ghosts = constant.filter(|_| segment.period.is_none()).max().unwrap_or(0);
        let unit = unit(&ops);
        let least = up(least_window(&ops, planars.len()).max(margin + unit), unit);
        Some(Form { works, ops, least, margin, unit, ghosts, period: segment.period })
    }

    /// The form in which steps run together, where that is of use and `room` bytes have room for it.
    ///
    /// How many steps are best depends on the planes that a launch leaves, and these on the steps: the planes around
    /// them that several steps read take room, and are computed again in the next launch.
    pub fn together(&self, room: u64) -> Option<Form> {
        for most in [LONGEST, 3] {
            let mut planes = (self.most() / 8).max(1);
            while let Some(mut form) = self.form(Some(Depth { device: self.device, planes, most })) {
                if !form.works.iter().any(|work| matches!(work, OpWork::Steps(..))) {
                    return None;
                }
                let fits = form.fit(self, room);
                let Some(schedule) = form.schedule(self, fits) else { break };
                let left = form.left(&schedule);
                if left * 4 >= planes * 3 {
                    form.leaves(left);
                    return Some(form);
                }
                planes = left;
            }
        }
        None
    }

    /// Bytes of all windows.
    pub fn bytes(&self, window: Window) -> u64 {
        let of = |(planar, scale): (&&Arc<Planar>, &i64)| {
            cells(planar.facts(), window.of_scale(*scale)) * planar.facts().element.bytes()
        };
        self.planars.iter().zip(&self.segment.scales).map(|one| of(one) as u64).sum()
    }

    /// Planes that a window has use for.
    pub fn most(&self) -> i64 {
        let planes = |(planar, scale): (&&Arc<Planar>, &i64)| {
            let grown = &planar.facts().grown;
            (grown.end - grown.start) * scale
        };
        let most = self.planars.iter().zip(&self.segment.scales).map(planes).max();
        self.segment.period.or(most).unwrap_or(0)
    }

    /// The error of too little room.
    pub fn too_small(&self, room: u64, needed: u64) -> Error {
        let name = |planar: &&Arc<Planar>| {
            let facts = planar.facts();
            let (planes, bytes) = (facts.grown.end - facts.grown.start, facts.stride * facts.element.bytes());
            let ends = facts.layout.regions.last().map_or([0; 4], |region| region.valid.hi);
            format!("{} of shape {:?}: {planes} planes of {bytes} bytes", facts.element, &ends[4 - facts.rank..])
        };
        let list: Vec<String> = self.planars.iter().map(name).collect();
        let place =
            self.chain.links.first().map_or(String::new(), |link| format!(" recorded at {}", link.node.recorded));
        let wholes: usize = self.chain.wholes.iter().map(|tracker| tracker.storage().device_bytes()).sum();
        let beside = match wholes {
            0 => String::new(),
            bytes => format!(" beside {bytes} bytes of arrays that are read as a whole (`all`)"),
        };
        Error::new(
            ErrorKind::Memory,
            format!("run work{place} with a window of planes of each of {} arrays ({})", list.len(), list.join("; ")),
            format!("room for {room} bytes of arrays on the device{beside}, where these windows need {needed}"),
            "raise the memory limit, or use smaller planes: a shape with a longer first axis",
        )
    }
}

impl Form {
    /// A window of so many planes.
    pub fn window(&self, planes: i64) -> Window {
        Window { planes, margin: self.margin, ghosts: self.ghosts, period: self.period }
    }

    /// The most planes that fit. Ghost planes stay in the window where there is room to spare.
    pub fn fit(&mut self, forms: &Forms<'_>, room: u64) -> i64 {
        let fits = self.most_of(forms, room);
        if self.ghosts == 0 || fits >= 2 * (self.least + self.ghosts) {
            return fits;
        }
        self.ghosts = 0;
        self.most_of(forms, room)
    }

    /// The same as things are, found by bisection.
    fn most_of(&self, forms: &Forms<'_>, room: u64) -> i64 {
        let (mut fits, mut too_many) = (0, up(forms.most(), self.unit) / self.unit + 1);
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            if forms.bytes(self.window(middle * self.unit)) <= room { fits = middle } else { too_many = middle }
        }
        fits * self.unit
    }

    /// The order in which a window of so many planes is used; nothing if there are too few.
    pub fn schedule(&self, forms: &Forms<'_>, planes: i64) -> Option<Schedule> {
        let of = forms.planars.iter().map(|planar| planar.facts().stride * planar.facts().element.bytes());
        let plane = of.max().unwrap_or(1);
        let mut thick = thickness(plane, forms.most(), planes);
        if forms.in_files() {
            // A block has its stages, so that one is read while another is computed and a third is written. Fewer
            // planes would keep threads of kernels waiting for one another.
            let room = forms.bytes(self.window(planes));
            thick = thick.min((Files::block(room) / plane.max(1)) as i64).max(1);
        }
        if self.ops.iter().any(|op| op.steps > 1) {
            // What the next launch computes again is to be a small part.
            thick = thick.max((AGAIN * self.margin).min(planes / 5));
        }
        let fits = planes >= self.least;
        fits.then(|| schedule(&self.ops, &forms.kept(), planes, thick, self.period).ok()).flatten()
    }

    /// The most planes that a launch of several steps leaves.
    fn left(&self, schedule: &Schedule) -> i64 {
        let runs = schedule.blocks.iter().flat_map(|block| &block.runs);
        let several = runs.filter(|(op, _)| matches!(self.works[*op], OpWork::Steps(..)));
        several.map(|(_, planes)| planes.end - planes.start).max().unwrap_or(1)
    }

    /// Launches of several steps leave about so many planes.
    fn leaves(&mut self, planes: i64) {
        for work in &mut self.works {
            if let OpWork::Steps(_, together, _) = work {
                together.planes = planes;
            }
        }
    }
}

/// Planes of a launch for each that its steps reach to one side: of those that they compute twice as many are computed
/// again by the next.
const AGAIN: i64 = 10;

/// Planes of `plane` bytes for a block, at most, of arrays of so many planes in windows of `window`.
fn thickness(plane: usize, planes: i64, window: i64) -> i64 {
    let of = |bytes: usize| (bytes / plane.max(1)) as i64;
    (planes / BLOCKS).max(of(SMALL)).min(of(BLOCK)).min(window / 8).max(1)
}
