//! Running a chain of planes: they come to windows on the device and leave them, as the schedule says.

use std::ops::Range;
use std::sync::Arc;

use super::arrive::told_host;
use super::execute::{Site, execute};
use super::files::Files;
use super::form::{Forms, Planned};
use super::link::{Packing, Packs};
use super::operations::{OpWork, merged, row_lanes};
use super::outcome::failed;
use super::ring::{Piece, Rolling, Through, Window};
use super::segments::{Segment, scaled, segments};
use super::streams::{DOWN, RUN, Streams, UP};
use super::{Chain, Link};
use crate::backend::{Lane, PACKS};
use crate::device::core::DeviceCore;
use crate::device::ledger::{Purpose, Reservation};
use crate::device::timeline::SpanKind;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::fused::enqueue_steps;
use crate::launch::rolling::Scratch;
use crate::memory::ghosts::Which;
use crate::memory::ghosts::planes::{FillPart, Planar};
use crate::memory::layout::WideLayout;
use crate::memory::node::{Queue, Ring};
use crate::memory::storage::Storage;
use crate::memory::tracker::Tracker;
use crate::program::place::Kind;
use crate::program::schedule::{Pass, PlaneOp, PlaneStep, Planes, Schedule, Write, unmoved};
use crate::program::steps::Move;

/// Runs a chain whose arrays are on the host.
///
/// # Errors
/// Arrays that have no planes. What fails later is among the results.
pub(super) fn run(device: &Arc<DeviceCore>, chain: &Chain, results: &mut [Result<(), Error>]) -> Result<(), Error> {
    let arrays = chain.arrays.iter();
    let planars = arrays.map(|tracker| tracker.planar().ok_or_else(|| not_planar(tracker.boxes().len())));
    let planars = planars.collect::<Result<Vec<_>, Error>>()?;
    let mut before: Vec<u64> = chain.arrays.iter().map(|tracker| written(tracker)).collect();
    let mut segments_run = || {
        let room = room(device, chain).0;
        for segment in segments(chain, &planars) {
            for part in fitting((device, room), chain, &planars, segment, results) {
                run_segment((device, chain, &planars), &part, &mut before, results)?;
            }
        }
        forget_ghosts(chain);
        Ok(())
    };
    let Err(error) = segments_run() else { return Ok(()) };
    // A fill that set nothing in a file has lost nothing there.
    let ended = failed(chain, results.to_vec(), &error);
    for ((link, ended), result) in chain.links.iter().zip(ended).zip(results) {
        if !is_whole(chain, link, &before) {
            *result = ended;
        }
    }
    Ok(())
}

/// Forgets the ghosts that the host is owed of arrays whose cells the chain has written since they were filled, and of
/// those that no one looks at afterwards.
fn forget_ghosts(chain: &Chain) {
    for (number, tracker) in chain.arrays.iter().enumerate() {
        let last = chain.links.iter().rev().find(|link| link.writes(number));
        if chain.is_discarded(number) || last.is_some_and(|link| link.filled().is_none()) {
            tracker.storage().owe_ghosts_on_host(None);
        }
    }
}

/// Writes to the file of an array so far; 0 without one.
fn written(tracker: &Tracker) -> u64 {
    tracker.storage().backing().map_or(0, |backing| backing.writes())
}

/// Whether a link fills ghosts of fixed value alone, of an array in a file that nothing was `written` to since: it is
/// as whole as before, whatever became of its chain.
fn is_whole(chain: &Chain, link: &Link, before: &[u64]) -> bool {
    let Some((array, _)) = link.filled() else { return false };
    let tracker = &chain.arrays[array];
    let is_fixed = |planar: &Arc<Planar>| !planar.facts().edges.filled && planar.ends().next().is_none();
    tracker.storage().backing().is_some()
        && tracker.storage().has_fixed_ghosts()
        && written(tracker) == before[array]
        && tracker.planar().is_some_and(is_fixed)
}

/// The parts of a segment that fit the device's memory: where arrays are of several resolutions, the fewer of them a
/// part has, the smaller its windows are.
fn fitting(
    (device, room): (&Arc<DeviceCore>, u64),
    chain: &Chain,
    planars: &[&Arc<Planar>],
    segment: Segment,
    results: &[Result<(), Error>],
) -> Vec<Segment> {
    let links = segment.links.clone();
    let fits = || {
        let boxes = boxes_of(chain, &segment);
        let forms = Forms { device, chain, planars, segment: &segment, boxes: &boxes, results };
        forms.form(None).is_none_or(|form| forms.bytes(form.window(form.least)) <= room)
    };
    if segment.scales.iter().all(|scale| *scale <= 1) || links.len() < 2 || fits() {
        return vec![segment];
    }
    let middle = links.start + links.len() / 2;
    let halves = [links.start..middle, middle..links.end].into_iter();
    let halves = halves.flat_map(|links| scaled(&chain.links, Segment { links, ..segment.clone() }, planars.len()));
    halves.flat_map(|half| fitting((device, room), chain, planars, half, results)).collect()
}

/// The boxes of the sweep of each link of a segment, merged across regions.
fn boxes_of(chain: &Chain, segment: &Segment) -> Vec<Vec<GridBox<4>>> {
    let boxes = |(number, link): (usize, &Link)| match segment.links.contains(&number) {
        true => merged(link),
        false => Vec::new(),
    };
    chain.links.iter().enumerate().map(boxes).collect()
}

/// Runs a segment to its end. `before` says of each array how many writes to its file left it whole.
fn run_segment(
    (device, chain, planars): (&Arc<DeviceCore>, &Chain, &[&Arc<Planar>]),
    segment: &Segment,
    before: &mut [u64],
    results: &mut [Result<(), Error>],
) -> Result<(), Error> {
    for number in segment.links.clone().filter(|number| results[*number].is_ok()) {
        let link = &chain.links[number];
        fix_ghosts(link, chain, planars)?;
        if let Some((array, _)) = link.filled() {
            let (tracker, regional) = (&chain.arrays[array], &planars[array].regional);
            before[array] = written(tracker);
            // Those between regions are of no use in a file.
            if tracker.storage().backing().is_none() && (tracker.boxes().len() > 1 || tracker.is_ring()) {
                tracker.storage().owe_ghosts_on_host(Some((regional, link.node.recorded)));
            }
        }
    }
    if segment.period.is_none() {
        // Ghosts between regions are cells here.
        chain.arrays.iter().filter(|tracker| tracker.is_ring()).for_each(|of| of.storage().fill_owed_on_host(device));
    }
    let windows = Windows::prepare(device, chain, planars, segment, results)?;
    windows.map_or(Ok(()), |windows| windows.run(device, results))
}

/// Sets the ghosts of fixed value on the host that a link is to set, before anything of its segment is in a stream.
///
/// # Errors
/// A file that cannot be read or written.
pub(super) fn fix_ghosts(link: &Link, chain: &Chain, planars: &[&Arc<Planar>]) -> Result<(), Error> {
    if let Some((array, true)) = link.filled() {
        let storage = chain.arrays[array].storage();
        if let Some(backing) = storage.backing() {
            if !storage.has_fixed_ghosts() {
                // SAFETY: as below.
                unsafe { planars[array].regional.fix_in_file(storage, backing, 0..storage.regions())? };
                storage.set_fixed_ghosts(true);
            }
            return Ok(());
        }
        let storage = touched(chain, planars, array);
        // Planes that are packed came from a window, where edges are set as on the host: they have their value since
        // the host set it.
        if storage.is_packed() && storage.has_fixed_ghosts() {
            return Ok(());
        }
        storage.unpack_all();
        // SAFETY: the graph runs this only when no work conflicts with any node of the chain, and no other segment
        // runs.
        unsafe { planars[array].regional.fill_on_host(storage, Which::Fixed) };
        storage.set_fixed_ghosts(true);
    }
    Ok(())
}

/// The memory of an array that the host is about to write.
fn touched<'a>(chain: &'a Chain, planars: &[&Arc<Planar>], array: usize) -> &'a Storage {
    let storage = chain.arrays[array].storage();
    (0..planars[array].facts().layout.regions.len()).for_each(|region| storage.touch_host(region));
    storage
}

/// Takes memory for the windows of a form, and for what packs arrays that move packed.
fn allocated(forms: &Forms<'_>, planned: Planned) -> Result<(Vec<Rolling>, Option<Packs>, Window, Planned), Error> {
    let Forms { device, chain, planars, segment, .. } = *forms;
    let window = planned.form.window(planned.planes);
    let links = &chain.links[segment.links.clone()];
    let rolling = |(number, (tracker, planar)): (usize, (_, &&Arc<Planar>))| {
        let writes_ghosts = links.iter().any(|link| link.use_of(number).is_some_and(|one| one.ghosts));
        let scale = segment.scales.get(number).copied().unwrap_or(1);
        let rolling = Rolling::new(device, tracker, planar, (window, scale, writes_ghosts))?;
        match chain.kind {
            Kind::Arriving => rolling.keep(device, told_host(chain, number)),
            _ => Ok(rolling),
        }
    };
    let arrays = || chain.arrays.iter().zip(planars);
    let mut made = arrays().enumerate().map(rolling).collect::<Result<Vec<_>, Error>>()?;
    let packs = planned.stage.map(|stage| Packs::new(device, stage)).transpose()?;
    if packs.is_some() {
        let one = |(tracker, planar): (&Arc<Tracker>, &&Arc<Planar>)| Packing::new(device, tracker.storage(), planar);
        let mut packing: Vec<Option<Packing>> = arrays().map(one).collect();
        Packing::learn(&mut packing);
        made = made.into_iter().zip(packing).map(|(rolling, packing)| rolling.packed(packing)).collect();
    }
    Ok((made, packs, window, planned))
}

/// Blocks whose planes are read while the one before them is put into streams.
const AHEAD: usize = 3;

/// The windows of a chain on its way.
pub(super) struct Windows<'a> {
    chain: &'a Chain,
    works: Vec<OpWork>,
    ops: Vec<PlaneOp>,
    schedule: Schedule,
    /// The boxes of the sweep of each link that runs, merged across regions.
    boxes: Vec<Vec<GridBox<4>>>,
    arrays: Vec<Rolling>,
    /// What packs those that move packed.
    packs: Option<Packs>,
    /// The form of all windows, in planes of the finest array.
    window: Window,
    /// What those pass through whose values lie in files.
    files: Option<Files>,
    /// The pass under way.
    now: UnderWay,
    _rest: Reservation,
}

/// What windows are in a pass.
#[derive(Default)]
struct UnderWay {
    /// How each operation may run together with others of a block.
    lanes: Vec<Option<Lane>>,
    /// Rings, and the pieces that are the regions of their layouts.
    rings: Vec<Ring>,
    pieces: Vec<Piece>,
    /// How much further than their numbers planes lie.
    shift: i64,
}

impl<'a> Windows<'a> {
    /// Orders a segment, and takes memory for the windows; nothing if no operation is left.
    pub fn prepare(
        device: &Arc<DeviceCore>,
        chain: &'a Chain,
        planars: &[&Arc<Planar>],
        segment: &Segment,
        results: &[Result<(), Error>],
    ) -> Result<Option<Windows<'a>>, Error> {
        let boxes = boxes_of(chain, segment);
        let forms = Forms { device, chain, planars, segment, boxes: &boxes, results };
        let Some(single) = forms.form(None) else { return Ok(None) };
        let lists = begin_folds(device, chain, segment.links.clone(), results)?;
        let (room, rest) = match chain.kind {
            // Others find the rest.
            Kind::Arriving => {
                let rest = device.reserve_rest(Purpose::Chains, forms.bytes(single.window(forms.most())));
                (rest.bytes(), rest)
            }
            _ => room(device, chain),
        };
        // What arrives leaves room for these as arrays do that are there.
        let lists = if chain.kind == Kind::Arriving { 0 } else { lists };
        let plan = |room| plan_beside(room, lists, |room| forms.planned(room));
        let (arrays, packs, window, planned) =
            device.allocate_planned(room, plan, |planned| allocated(&forms, planned))?;
        let Planned { form, schedule, .. } = planned;
        let in_files = chain.arrays.iter().any(|tracker| tracker.storage().backing().is_some());
        let files = in_files.then(|| Files::new(device, room)).transpose()?;
        Ok(Some(Windows {
            chain,
            works: form.works,
            ops: form.ops,
            schedule,
            boxes,
            arrays,
            packs,
            window,
            files,
            now: UnderWay::default(),
            _rest: rest,
        }))
    }

    /// Passes over the arrays.
    pub fn passes(&self) -> usize {
        self.schedule.passes.len()
    }

    /// Runs the segment, and waits until all is done.
    ///
    /// # Errors
    /// As [`execute`], and what a command says at its end.
    pub fn run(mut self, device: &Arc<DeviceCore>, results: &mut [Result<(), Error>]) -> Result<(), Error> {
        let mut streams = Streams::new(device);
        let put = self.put(&mut streams);
        let finished = streams.finish(self.chain, put, results);
        let Some(files) = self.files else { return finished };
        let backings = self.arrays.iter().filter_map(|array| array.storage().backing());
        finished.and(files.finish(backings))
    }

    /// Puts all commands into streams.
    fn put(&mut self, streams: &mut Streams<'_>) -> Result<(), Error> {
        for array in self.arrays.iter().filter(|array| array.scale > 0 && array.planar.facts().edges.fixed) {
            // SAFETY: no one writes the array on the host before the chain has loaded it, and nothing uses the window.
            unsafe { array.keep_edges(streams.device, (RUN, self.files.as_mut()))? };
        }
        let blocks = std::mem::take(&mut self.schedule.blocks);
        execute(streams, self.chain, self, &blocks)?;
        if self.chain.kind == Kind::Arriving { self.leave_whole(streams, &blocks) } else { Ok(()) }
    }

    /// Completes arrays that stay on the device, after all else: planes that no block moves, and ghosts between
    /// regions. The host gets what it lacks of those that it is told of.
    fn leave_whole(&self, streams: &mut Streams<'_>, blocks: &[PlaneStep]) -> Result<(), Error> {
        let (device, backend) = (streams.device, streams.device.backend());
        let (loads, stores) = (blocks.iter().flat_map(|block| &block.loads), blocks.iter().flat_map(|b| &b.stores));
        let grown = |array: usize| &self.arrays[array].planar.facts().grown;
        for (number, array) in self.arrays.iter().enumerate() {
            let planes = unmoved(grown(number), number, loads.clone().chain(stores.clone()));
            // SAFETY: no one uses the planes that did not come; the graph keeps all other work away.
            unsafe { array.upload_remaining(device, UP, &planes)? };
        }
        for stream in [UP, DOWN] {
            backend.wait(RUN, &*backend.mark(stream)?)?;
        }
        for (number, array) in self.arrays.iter().enumerate() {
            array.storage().filled(true);
            // SAFETY: the storage is that of this array; all that came before in the streams is done.
            let put = || unsafe { array.planar.regional.fill_on_device(device, RUN, array.storage(), true) };
            let copies = device.timed(SpanKind::Ghost, "ghosts between regions", RUN, 0, put)?;
            streams.hold(copies);
            let planes = unmoved(grown(number), number, stores.clone());
            // SAFETY: no one uses the array on the host; all that writes it on the device came before in this stream.
            unsafe { array.download_remaining(device, RUN, &planes)? };
        }
        Ok(())
    }

    /// Says which planes the next blocks of a pass will bring from files: those of which all is known by block `number`
    /// that they have to come after.
    fn announce(&self, blocks: &[PlaneStep], number: usize) {
        let Some(files) = &self.files else { return };
        let pass = self.schedule.passes.iter().find(|pass| pass.first_block > number);
        let end = pass.map_or(blocks.len(), |pass| pass.first_block).min(number + AHEAD);
        for block in &blocks[number..end] {
            if block.loads.iter().any(|load| load.after.run.is_some_and(|before| before >= number)) {
                break;
            }
            for Move { piece: Planes { array, planes }, .. } in &block.loads {
                self.arrays[*array].announce(files, planes, self.now.shift);
            }
        }
    }

    /// Counts a pass, and makes its rings.
    fn start_pass(&mut self, device: &DeviceCore, pass: &Pass) {
        let works = &self.works[pass.ops.clone()];
        device.counts.pass(works.iter().map(|work| u64::from(work.sweeps())).sum());
        for work in works {
            if let OpWork::Steps(_, together, _) = work {
                device.counts.fused(together.steps);
            }
        }
        self.now.shift = pass.shift;
        self.now.lanes = vec![None; self.ops.len()];
        if device.backend().facts().spreads {
            let lanes = row_lanes(self.chain, works, &self.boxes);
            self.now.lanes[pass.ops.clone()].copy_from_slice(&lanes);
        }
        self.now.pieces = self.window.pieces(&pass.planes, pass.shift).collect();
        let mut layouts: Vec<Arc<WideLayout>> = Vec::new();
        self.now.rings.clear();
        for array in &self.arrays {
            let layout = array.layout(array.shift(pass.shift), &self.now.pieces);
            // Arrays of one form share index arithmetic.
            let same = layouts.iter().find(|other| ***other == layout).cloned();
            let layout = same.unwrap_or_else(|| Arc::new(layout));
            layouts.push(layout.clone());
            self.now.rings.push(array.ring(layout));
        }
    }

    /// Advances one operation.
    fn advance(&mut self, streams: &mut Streams<'_>, op: usize, planes: &Range<i64>) -> Result<(), Error> {
        let (device, shift) = (streams.device, self.now.shift);
        let queue =
            Queue { device, stream: RUN, rings: &self.now.rings, refilled: &[], lane: self.now.lanes[op], notes: None };
        match self.works[op] {
            OpWork::Sweep(link) | OpWork::Fold(link) | OpWork::Steps(link, ..) => {
                let Some(sweep) = self.chain.links[link].op.kernel() else { return Ok(()) };
                for access in self.ops[op].accesses.iter().filter(|access| access.write == Some(Write::Whole)) {
                    let array = &mut self.arrays[access.array];
                    if array.planar.facts().edges.fixed {
                        // SAFETY: the schedule runs operations whose slots are free.
                        unsafe { array.restore_edges(device, RUN, planes, array.shift(shift))? };
                    }
                }
                let Some(first) = self.arrays.first() else { return Ok(()) };
                let (axis, scale) = (4 - first.planar.facts().rank, self.ops[op].scale);
                let from = self.now.pieces.partition_point(|piece| piece.planes.end <= planes.start * scale);
                let pieces = self.now.pieces.iter().map(|piece| piece.of_scale(scale)).enumerate().skip(from);
                for (region, piece) in pieces.take_while(|(_, piece)| piece.planes.start < planes.end) {
                    let part = piece.on_host(planes);
                    for cells in &self.boxes[link] {
                        let mut cells = *cells;
                        cells.lo[axis] = cells.lo[axis].max(part.start);
                        cells.hi[axis] = cells.hi[axis].min(part.end);
                        if cells.is_empty() {
                            continue;
                        }
                        // SAFETY: the schedule runs this when what it reads is there and what it writes is free; around
                        // these planes the window holds their neighbours, as far as all steps of a launch reach; the
                        // graph keeps all other work away.
                        let done = unsafe {
                            match &self.works[op] {
                                OpWork::Steps(_, together, launches) => {
                                    enqueue_steps(launches, &queue, (region, cells), together)?
                                }
                                _ => sweep.launch.clone().enqueue(&queue, &[(region, cells)])?,
                            }
                        };
                        streams.tells(link, done);
                    }
                    if sweep.order().is_some_and(|order| order.axis == axis) {
                        // The next piece reads these.
                        let part = piece.planes.start.max(planes.start)..piece.planes.end.min(planes.end);
                        for access in self.ops[op].accesses.iter().filter(|access| access.write.is_some()) {
                            // SAFETY: as above.
                            unsafe { self.arrays[access.array].mirror(device, RUN, part.clone(), shift)? };
                        }
                    }
                }
            }
            OpWork::Ghosts(_, array, part) => {
                let rolling = &mut self.arrays[array];
                let shift = rolling.shift(shift);
                for piece in rolling.window.pieces(planes, shift) {
                    let (planes, origin) = (piece.on_host(planes), rolling.window.origin(&piece, shift));
                    let copies = rolling.planar.fill((device, RUN), part, planes, origin, rolling.cells)?;
                    // SAFETY: the copies were made for this window, which holds what they read; the rest as above.
                    let put = unsafe { copies.run(RUN, &rolling.memory, &rolling.memory) };
                    streams.hold(copies);
                    put?;
                }
                if part == FillPart::Ends {
                    rolling.taint(planes, shift);
                }
            }
        }
        for access in self.ops[op].accesses.iter().filter(|access| access.write.is_some()) {
            // SAFETY: as above.
            unsafe {
                let array = &self.arrays[access.array];
                array.mirror(device, RUN, planes.clone(), array.shift(shift))?
            };
        }
        Ok(())
    }
}

impl Site<Planes, (usize, Range<i64>)> for Windows<'_> {
    fn begin(&mut self, streams: &mut Streams<'_>, number: usize, blocks: &[PlaneStep]) -> Result<(), Error> {
        if let Some(pass) = self.schedule.passes.iter().find(|pass| pass.first_block == number).cloned() {
            self.start_pass(streams.device, &pass);
        }
        self.announce(blocks, number);
        Ok(())
    }

    fn link(&self, (op, _): &(usize, Range<i64>)) -> usize {
        self.works[*op].link()
    }

    fn load(&mut self, streams: &mut Streams<'_>, load: &Move<Planes>) -> Result<bool, Error> {
        let (device, Planes { array, planes }) = (streams.device, &load.piece);
        let array = &mut self.arrays[*array];
        let planes = array.coming(planes);
        if planes.is_empty() {
            return Ok(false);
        }
        let (shown, bytes, shift) = (array.window.shown(&planes), array.bytes(&planes), array.shift(self.now.shift));
        let through = Through { packs: self.packs.as_mut(), files: self.files.as_mut() };
        // SAFETY: the schedule loads planes when their slots are free and the host has them; the graph keeps all other
        // work away.
        let upload = || unsafe { array.upload(device, (UP, through), planes, shift) };
        device.timed(SpanKind::H2d, format_args!("{shown:?}"), UP, bytes, upload)?;
        Ok(array.packs())
    }

    fn entered(&mut self, streams: &mut Streams<'_>, Planes { array, planes }: &Planes) -> Result<(), Error> {
        let array = &mut self.arrays[*array];
        // SAFETY: only operations look there, which come later in this stream; slots are free as for those.
        unsafe { array.entered(streams.device, RUN, planes.clone(), array.shift(self.now.shift)) }
    }

    fn run(&mut self, streams: &mut Streams<'_>, (op, planes): &(usize, Range<i64>), _: bool) -> Result<(), Error> {
        let work = &self.works[*op];
        let kind = if matches!(work, OpWork::Ghosts(..)) { SpanKind::Ghost } else { SpanKind::Kernel };
        let recorded = self.chain.links[work.link()].node.recorded;
        let shown = self.window.shown(planes);
        let name = format_args!("{}:{} {shown:?}", recorded.file(), recorded.line());
        streams.device.timed(kind, name, RUN, 0, || self.advance(streams, *op, planes))
    }

    fn store(&mut self, streams: &mut Streams<'_>, store: &Move<Planes>) -> Result<(), Error> {
        let (device, Planes { array, planes }) = (streams.device, &store.piece);
        if self.packs.is_some() {
            streams.wait(PACKS[1], store.after)?;
        }
        let array = &mut self.arrays[*array];
        let (shown, shift) = (array.window.shown(planes), array.shift(self.now.shift));
        let bytes = if array.goes_home() { array.bytes(planes) } else { 0 };
        let through = Through { packs: self.packs.as_mut(), files: self.files.as_mut() };
        // SAFETY: as for loads; the operations that write the planes are done.
        let download = || unsafe { array.download(device, (DOWN, through), planes.clone(), shift) };
        device.timed(SpanKind::D2h, format_args!("{shown:?}"), DOWN, bytes, download)
    }
}

/// Takes the memory of the reductions among these links, but for those that do not run, and says how much it is.
pub(super) fn begin_folds(
    device: &DeviceCore,
    chain: &Chain,
    links: Range<usize>,
    results: &[Result<(), Error>],
) -> Result<u64, Error> {
    let folds = links.filter(|number| results[*number].is_ok()).filter_map(|number| chain.links[number].op.fold());
    let (folds, by_planes): (Vec<_>, _) = (folds.collect(), chain.kind == Kind::Planes);
    let entries = folds.iter().filter_map(|fold| fold.scratch()).max().filter(|_| by_planes);
    let scratch = entries.map(|entries| Scratch::new(device, entries).map(Arc::new)).transpose()?;
    folds.iter().try_for_each(|fold| fold.begin(device, scratch.as_ref()))?;
    Ok(folds.iter().map(|fold| fold.bytes(by_planes)).sum::<u64>() + entries.map_or(0, Scratch::bytes))
}

/// Plans for so many bytes without the lists of reductions; for all of them where that is too little, since lists are
/// small, and take no room of arrays in core either.
pub(super) fn plan_beside<P>(bytes: u64, lists: u64, plan: impl Fn(u64) -> Result<P, Error>) -> Result<P, Error> {
    let beside = plan(bytes.saturating_sub(lists));
    if lists == 0 { beside } else { beside.or_else(|_| plan(bytes)) }
}

/// Bytes of the device's memory that a chain may take. It has what is promised to no one, until the reservation ends.
pub(super) fn room(device: &DeviceCore, chain: &Chain) -> (u64, Reservation) {
    let rest = device.reserve_rest(Purpose::Chains, u64::MAX);
    // What later work was promised for these arrays it takes when the chain is done with them.
    let promised = chain.arrays.iter().map(|tracker| tracker.storage()).filter(|storage| storage.is_reserved());
    let promised = promised.map(|storage| storage.device_bytes() as u64).sum::<u64>();
    (chain.room.iter().map(|room| room.bytes()).sum::<u64>() + rest.bytes() + promised, rest)
}

fn not_planar(regions: usize) -> Error {
    Error::new(
        ErrorKind::Memory,
        "run work on arrays larger than the device's memory",
        format!("an array of {regions} regions that is not cut along its first axis alone"),
        "cut it along its first axis, or raise the memory limit",
    )
}
