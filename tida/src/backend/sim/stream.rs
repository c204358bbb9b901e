//! The clock: streams of commands, engines that serve them, events.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::memory::Pool;
use super::planted::{Planted, SimFault};
use super::probe::{SimDevice, SimReport, Ticks, seconds};
use super::work::{Stretch, Work};
use crate::backend::at_work::pieces;
use crate::backend::giver::Giver;
use crate::backend::{ALL_STREAMS, EDGES, Event, GIVES, STRIPS};
use crate::error::{Error, ErrorKind};

/// What serves commands, one at a time, in the order in which they become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Upload,
    Download,
    /// Kernels, and copies and fills within the device. Of streams that come first, they run at once, and the kernel
    /// that runs goes on after them.
    Kernels,
    /// What is taken from the memory of the device of this number.
    Link(usize),
    /// What takes no time waits for no engine.
    None,
}

impl Engine {
    /// Its number among those whose time is counted.
    fn counts(self) -> Option<usize> {
        match self {
            Engine::Upload => Some(0),
            Engine::Download => Some(1),
            Engine::Kernels => Some(2),
            Engine::Link(_) => Some(3),
            Engine::None => None,
        }
    }
}

/// What commands stand in line for: an engine of a device, or one that several share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Line {
    /// Data to the host if said so, else from it.
    Copies {
        device: usize,
        down: bool,
    },
    /// The same, of all devices.
    Host {
        down: bool,
    },
    Kernels {
        device: usize,
        first: bool,
    },
    /// A link of the cluster.
    Link(usize),
}

/// A command of a stream.
enum Command {
    Work {
        /// The order of the work that it is a part of, and its own: the first of two that become ready together is
        /// served first, whichever thread was quick to give it.
        number: (u64, u64),
        /// When the host gave it.
        given: Ticks,
        engine: Engine,
        /// The number of the line that it stands in, if it stands in one.
        line: Option<usize>,
        ticks: Ticks,
        /// Memory that has to be there.
        uses: [Stretch; 2],
        work: Work,
        giver: Giver,
    },
    Record {
        mark: Arc<Mark>,
        given: Ticks,
        /// Whose failures before it has.
        tells: Option<Giver>,
    },
    Wait(Arc<Mark>),
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Work { number, engine, .. } => write!(f, "command {number:?} for {engine:?}"),
            Command::Record { .. } => f.write_str("record"),
            Command::Wait(mark) => write!(f, "wait for {mark:?}"),
        }
    }
}

/// A point in a stream's work, as the streams know it.
#[derive(Debug)]
struct Mark {
    /// When all before it was done; [`NOT_YET`] until then.
    at: AtomicU64,
    /// The failure of a command before it, of who made the mark, if it tells.
    failure: OnceLock<Error>,
    /// Pieces of work that go on once it is reached.
    workers: AtomicUsize,
    /// Threads of the program that do.
    users: AtomicUsize,
    /// One of the pieces of work is that of the thread that will settle it.
    claimed: AtomicBool,
}

const NOT_YET: Ticks = Ticks::MAX;

impl Mark {
    fn new() -> Mark {
        let [workers, users] = [0; 2].map(AtomicUsize::new);
        let claimed = AtomicBool::new(false);
        Mark { at: AtomicU64::new(NOT_YET), failure: OnceLock::new(), workers, users, claimed }
    }

    fn reached(&self) -> Option<Ticks> {
        Some(self.at.load(Ordering::Acquire)).filter(|at| *at != NOT_YET)
    }
}

#[derive(Debug, Default)]
struct Stream {
    commands: VecDeque<Command>,
    /// When all that it has done so far was done.
    ready: Ticks,
    /// What it is doing, and when that ends.
    running: Option<Running>,
    /// What failed and was not told, with who gave it.
    failures: Vec<(Giver, Error)>,
}

/// A command that has started.
#[derive(Debug)]
struct Running {
    end: Ticks,
    line: Option<usize>,
    work: Work,
    giver: Giver,
}

/// Devices on one clock, and the host beside them.
#[derive(Debug, Default)]
pub(super) struct Machine {
    devices: Vec<OnClock>,
    /// The number of each line.
    lines: HashMap<Line, usize>,
    /// When what serves each line is free.
    free: Vec<Ticks>,
    /// The host has waited until then.
    host: Ticks,
    /// Others than the host have waited until then, for its books.
    settled: Ticks,
    given: u64,
    /// Pieces of work that may give commands, and threads of the program that wait.
    working: usize,
    waiting: usize,
    /// Counts whatever anybody does.
    changes: u64,
}

/// A machine, and who waits for it.
#[derive(Debug, Default)]
struct Clock {
    machine: Mutex<Machine>,
    changed: Condvar,
}

/// So long nobody does anything before the clock goes on while a thread of the program does something else.
const IDLE: Duration = Duration::from_millis(200);

/// The same while work may give commands: some thread may wait for what is not known here.
const STUCK: Duration = Duration::from_secs(1);

/// Streams of a device, and what it did.
#[derive(Debug)]
struct OnClock {
    spec: SimDevice,
    pool: Arc<Pool>,
    streams: Vec<Stream>,
    launched: u64,
    last: Ticks,
    /// How long each engine was busy.
    busy: [Ticks; 4],
    report: SimReport,
}

/// A device: its streams and engines in the machine, and its memory.
#[derive(Debug)]
pub(super) struct Shared {
    pub spec: SimDevice,
    pub pool: Arc<Pool>,
    pub planted: Planted,
    clock: Arc<Clock>,
    /// Its place among the devices of the machine.
    number: usize,
}

impl Shared {
    /// A device on the clock of another one, or on one of its own.
    pub fn new(spec: SimDevice, beside: Option<&Shared>) -> Shared {
        let (planted, pool) = (Planted::new(spec.planted()), Arc::new(Pool::new(&spec)));
        let device = OnClock {
            spec: spec.clone(),
            pool: pool.clone(),
            streams: (0..ALL_STREAMS).map(|_| Stream::default()).collect(),
            launched: 0,
            last: 0,
            busy: [0; 4],
            report: SimReport::default(),
        };
        let clock: Arc<Clock> = beside.map_or_else(Arc::default, |other| other.clock.clone());
        let mut all = clock.machine.lock().unwrap_or_else(PoisonError::into_inner);
        all.devices.push(device);
        let number = all.devices.len() - 1;
        drop(all);
        Shared { spec, pool, planted, clock, number }
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        let mut machine = self.clock.machine.lock().unwrap_or_else(PoisonError::into_inner);
        machine.changes += 1;
        machine
    }

    /// See [`Backend::works`](crate::backend::Backend::works).
    pub fn works(&self, pieces: usize, more: bool) {
        let mut machine = self.lock();
        machine.working = if more { machine.working + pieces } else { machine.working.saturating_sub(pieces) };
        self.clock.changed.notify_all();
    }

    /// See [`Backend::waits`](crate::backend::Backend::waits).
    pub fn waits(&self, begins: bool) {
        let mut machine = self.lock();
        machine.waiting = if begins { machine.waiting + 1 } else { machine.waiting.saturating_sub(1) };
        self.clock.changed.notify_all();
    }

    /// Whether both are on one clock.
    pub fn is_beside(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.clock, &other.clock)
    }

    /// Its place among the devices on its clock.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Gives a command to a stream.
    ///
    /// # Safety
    /// The work is sound to do at any time until the host has waited for it.
    pub unsafe fn give(
        &self,
        stream: usize,
        engine: Engine,
        ticks: Ticks,
        uses: [Stretch; 2],
        work: Work,
    ) -> Result<(), Error> {
        let mut machine = self.lock();
        let giver = Giver::current();
        let (number, given) = ((giver.order(), machine.given), machine.host);
        let line = machine.line(self.number, stream, engine);
        let commands = &mut machine.stream(self.number, stream)?.commands;
        commands.push_back(Command::Work { number, given, engine, line, ticks, uses, work, giver });
        if let [.., Command::Work { .. }, Command::Work { .. }] = commands.make_contiguous()
            && self.planted.happens(SimFault::Overtaken)
        {
            let last = commands.len() - 1;
            commands.swap(last - 1, last);
        }
        machine.given += 1;
        Ok(())
    }

    /// The number of the next kernel, from 1.
    pub fn next_kernel(&self, cells: u64) -> u64 {
        let device = &mut self.lock().devices[self.number];
        device.launched += 1;
        device.report.kernels += 1;
        device.report.cells += cells;
        device.launched
    }

    pub fn count(&self, uploaded: usize, downloaded: usize) {
        let report = &mut self.lock().devices[self.number].report;
        report.uploaded += uploaded as u64;
        report.downloaded += downloaded as u64;
    }

    pub fn count_taken(&self, bytes: u64) {
        self.lock().devices[self.number].report.taken += bytes;
    }

    /// A mark in a stream, which `tells` what failed since the last one that does.
    pub fn record(self: &Arc<Self>, stream: usize, tells: bool) -> Result<SimEvent, Error> {
        let mark = Arc::new(Mark::new());
        let tells = tells.then(Giver::current);
        let mut machine = self.lock();
        let given = machine.host;
        machine.stream(self.number, stream)?.commands.push_back(Command::Record { mark: mark.clone(), given, tells });
        Ok(SimEvent { shared: self.clone(), mark })
    }

    /// Lets a stream wait for an event of a device on the same clock.
    pub fn wait(self: &Arc<Self>, stream: usize, event: &SimEvent) -> Result<(), Error> {
        if !self.is_beside(&event.shared) {
            return Err(super::foreign("an event"));
        }
        self.lock().stream(self.number, stream)?.commands.push_back(Command::Wait(event.mark.clone()));
        Ok(())
    }

    /// The host goes on after what was settled.
    pub fn caught_up(&self) {
        let mut machine = self.lock();
        machine.host = machine.host.max(machine.settled);
    }

    /// What was done, once all is that was given.
    pub fn report(&self) -> SimReport {
        let mut machine = self.lock();
        while machine.step() {}
        let device = &machine.devices[self.number];
        let [upload, download, kernels, links] = device.busy.map(seconds);
        SimReport {
            makespan: seconds(device.last),
            upload_busy: upload,
            download_busy: download,
            kernel_busy: kernels,
            link_busy: links,
            ..device.report
        }
    }
}

impl Machine {
    fn stream(&mut self, device: usize, number: usize) -> Result<&mut Stream, Error> {
        let device = self.devices.get_mut(device);
        device.and_then(|device| device.streams.get_mut(number)).ok_or_else(|| {
            Error::new(
                ErrorKind::Argument,
                format!("use stream {number} of a simulated device"),
                format!("streams 0 to {}", ALL_STREAMS - 1),
                "report this as a bug of tida",
            )
        })
    }

    /// Marks that are reached, and waits for them, take no time: they go as far as they can.
    fn pass_marks(&mut self) {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for stream in self.devices.iter_mut().flat_map(|device| &mut device.streams) {
                while stream.running.is_none() {
                    match stream.commands.front() {
                        Some(Command::Record { mark, given, tells }) => {
                            let mut told = stream.failures.extract_if(.., |(giver, _)| *tells == Some(*giver));
                            if let Some((_, failure)) = told.next() {
                                let _ = mark.failure.set(failure);
                            }
                            told.for_each(drop);
                            mark.at.store(stream.ready.max(*given), Ordering::Release);
                            self.working += mark.workers.swap(0, Ordering::Relaxed);
                            self.waiting = self.waiting.saturating_sub(mark.users.swap(0, Ordering::Relaxed));
                        }
                        Some(Command::Wait(mark)) => match mark.reached() {
                            Some(at) => stream.ready = stream.ready.max(at),
                            None => break,
                        },
                        _ => break,
                    }
                    stream.commands.pop_front();
                    moved = true;
                }
            }
        }
    }

    /// The number of the line that a command of a stream stands in.
    fn line(&mut self, device: usize, stream: usize, engine: Engine) -> Option<usize> {
        let spec = &self.devices.get(device)?.spec;
        let copies = |down: bool| match (spec.shares_host(), down && !spec.one_copy_engine()) {
            (true, down) => Line::Host { down },
            (false, down) => Line::Copies { device, down },
        };
        let line = match engine {
            Engine::Upload => copies(false),
            Engine::Download => copies(true),
            Engine::Kernels => Line::Kernels { device, first: [STRIPS, EDGES, GIVES].contains(&stream) },
            Engine::Link(giver) => Line::Link(spec.reads(giver)?.link),
            Engine::None => return None,
        };
        let free = &mut self.free;
        Some(*self.lines.entry(line).or_insert_with(|| {
            free.push(0);
            free.len() - 1
        }))
    }

    /// Ends or starts one command of some device, whichever comes first; `false` if there is none.
    fn step(&mut self) -> bool {
        self.pass_marks();
        let each = self.devices.iter().enumerate();
        let end = each.filter_map(|(device, of)| of.next_end().map(|(end, stream)| (end, device, stream))).min();
        match (end, self.next_start()) {
            (Some((end, device, stream)), start) if start.is_none_or(|start| end <= start.at) => {
                self.devices[device].end(stream);
            }
            (_, Some(start)) => self.start(start),
            _ => return false,
        }
        self.pass_marks();
        true
    }

    /// The next command to start: of each line the one that is ready first, of those the one that starts first.
    fn next_start(&self) -> Option<Start> {
        // The last one is for those that stand in no line.
        let mut first: Vec<Option<(Ticks, Start)>> = vec![None; self.free.len() + 1];
        for (device, of) in self.devices.iter().enumerate() {
            for (stream, waits) in of.streams.iter().enumerate().filter(|(_, stream)| stream.running.is_none()) {
                let Some(Command::Work { number, given, line, .. }) = waits.commands.front() else { continue };
                let ready = waits.ready.max(*given);
                let at = line.map_or(ready, |line| ready.max(self.free[line]));
                let known = &mut first[line.unwrap_or(self.free.len())];
                if known.is_none_or(|(known, other)| (ready, *number) < (known, other.number)) {
                    *known = Some((ready, Start { at, number: *number, device, stream }));
                }
            }
        }
        first.into_iter().flatten().map(|(_, start)| start).min_by_key(|start| (start.at, start.number))
    }

    fn start(&mut self, Start { at, device, stream, .. }: Start) {
        let waits = self.devices.get_mut(device).and_then(|device| device.streams.get_mut(stream));
        let next = waits.and_then(|stream| stream.commands.pop_front());
        let Some(Command::Work { engine, line, ticks, uses, work, giver, .. }) = next else { return };
        // The clock's last tick.
        let end = at.saturating_add(ticks).min(NOT_YET - 1);
        // Commands may read the memory of devices beside theirs.
        let is_there = |used: &Stretch| self.devices.iter().any(|device| used.is_in(&device.pool));
        let gone = uses.iter().find(|used| !is_there(used)).map(Stretch::error);
        if let Some(line) = line {
            self.free[line] = end;
        }
        let Some(of) = self.devices.get_mut(device) else { return };
        // The kernel that runs, or the next one, comes after one that comes first.
        let others = self.lines.get(&Line::Kernels { device, first: false }).copied();
        let first = self.lines.get(&Line::Kernels { device, first: true }).copied();
        if let (true, Some(others)) = (line.is_some() && line == first, others) {
            let running = of.streams.iter_mut().filter_map(|stream| stream.running.as_mut());
            let later = |at: Ticks| at.saturating_add(ticks).min(NOT_YET - 1);
            running.filter(|running| running.line == Some(others)).for_each(|running| running.end = later(running.end));
            self.free[others] = later(self.free[others].max(at));
        }
        if let Some(number) = engine.counts() {
            of.busy[number] = of.busy[number].saturating_add(ticks);
        }
        of.start(stream, Running { end, line, work, giver }, gone);
    }
}

/// A command to start: when, its number, and where it waits.
#[derive(Clone, Copy, Debug)]
struct Start {
    at: Ticks,
    number: (u64, u64),
    device: usize,
    stream: usize,
}

impl OnClock {
    /// When the first of its streams ends what it is doing, and which.
    fn next_end(&self) -> Option<(Ticks, usize)> {
        let running = self.streams.iter().enumerate();
        running.filter_map(|(number, stream)| stream.running.as_ref().map(|running| (running.end, number))).min()
    }

    /// Starts a command of a stream, unless memory that it uses is gone.
    fn start(&mut self, number: usize, mut running: Running, gone: Option<Error>) {
        let Some(stream) = self.streams.get_mut(number) else { return };
        let (work, giver) = (&mut running.work, running.giver);
        if let Some(gone) = gone {
            stream.failures.push((giver, gone));
            *work = Work::Nothing;
        } else if !self.spec.is_null() {
            // SAFETY: `give` was promised that it is sound; the memory of the device is still there.
            let done = catch_unwind(AssertUnwindSafe(|| unsafe { work.start() }));
            if let Err(payload) = done {
                stream.failures.push((giver, crate::error::panicked("a command of a simulated device", payload)));
                *work = Work::Nothing;
            }
        }
        if let Some(failure) = work.failure() {
            stream.failures.push((giver, failure));
        }
        stream.running = Some(running);
    }

    fn end(&mut self, number: usize) {
        let Some(stream) = self.streams.get_mut(number) else { return };
        let Some(Running { end, mut work, giver, .. }) = stream.running.take() else { return };
        if !self.spec.is_null() {
            // SAFETY: `give` was promised that it is sound, and the memory was there when it started; who gives memory
            // back promises that no work uses it.
            let done = catch_unwind(AssertUnwindSafe(|| unsafe { work.end() }));
            if let Err(payload) = done {
                stream.failures.push((giver, crate::error::panicked("a command of a simulated device", payload)));
            }
        }
        stream.ready = end;
        self.last = self.last.max(end);
    }
}

/// A point in a stream's work. Who asks for it runs the simulation.
#[derive(Debug)]
pub(crate) struct SimEvent {
    shared: Arc<Shared>,
    mark: Arc<Mark>,
}

impl SimEvent {
    /// Whether its device is on the clock of this one.
    pub(super) fn is_beside(&self, shared: &Shared) -> bool {
        self.shared.is_beside(shared)
    }

    /// Runs the simulation until it is reached; when that was. Where there are several devices it runs on when nobody
    /// may give commands any more; who has waited is counted again when the mark is reached, before the next step.
    fn reach(&self, ends: bool) -> (MutexGuard<'_, Machine>, Result<Ticks, Error>) {
        let clock = &self.shared.clock;
        let mut machine = self.shared.lock();
        machine.pass_marks();
        if ends && self.mark.claimed.swap(false, Ordering::Relaxed) {
            self.shared.clock.changed.notify_all();
        } else if self.mark.reached().is_none() {
            self.begin(&mut machine, ends);
        } else if ends {
            machine.working += 1;
        }
        // Pieces of work that are counted, though for a while nobody did anything.
        let mut stuck = None;
        loop {
            if let Some(at) = self.mark.reached() {
                clock.changed.notify_all();
                return (machine, self.mark.failure.get().cloned().map_or(Ok(at), Err));
            }
            let stands = self.shared.spec.stands();
            if stands && (machine.working > 0 || machine.waiting == 0) && stuck != Some(machine.working) {
                let (known, patience) = (machine.changes, if machine.working > 0 { STUCK } else { IDLE });
                let waited = clock.changed.wait_timeout(machine, patience);
                let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                machine = guard;
                if !timeout.timed_out() || machine.changes != known {
                    continue;
                }
                stuck = Some(machine.working);
            }
            machine.changes += 1;
            if !machine.step() {
                self.give_up(&mut machine);
                let error = Error::new(
                    ErrorKind::Device,
                    "wait for an event of a simulated device",
                    "that nothing is left to run before it",
                    "report this as a bug of tida",
                );
                return (machine, Err(error));
            }
            clock.changed.notify_all();
        }
    }

    /// The calling thread waits: it gives no commands meanwhile. Who `ends` a node begins to work with that.
    fn begin(&self, machine: &mut Machine, ends: bool) {
        let pieces = pieces();
        machine.working = machine.working.saturating_sub(pieces);
        let goes_on = pieces + usize::from(ends);
        self.mark.workers.fetch_add(goes_on, Ordering::Relaxed);
        if goes_on == 0 {
            machine.waiting += 1;
            self.mark.users.fetch_add(1, Ordering::Relaxed);
        }
        self.shared.clock.changed.notify_all();
    }

    /// All that wait for it go on, though it will not be reached.
    fn give_up(&self, machine: &mut Machine) {
        machine.working += self.mark.workers.swap(0, Ordering::Relaxed);
        machine.waiting = machine.waiting.saturating_sub(self.mark.users.swap(0, Ordering::Relaxed));
    }
}

impl Event for SimEvent {
    /// Each question takes the simulation one step on, so that who asks again and again gets an answer at last.
    fn is_done(&self) -> bool {
        let mut machine = self.shared.lock();
        machine.pass_marks();
        if self.mark.reached().is_none() {
            machine.step();
        }
        let Some(at) = self.mark.reached() else { return false };
        machine.host = machine.host.max(at);
        true
    }

    fn finish(&self) -> Result<(), Error> {
        let (mut machine, reached) = self.reach(false);
        if let Some(at) = self.mark.reached() {
            machine.host = machine.host.max(at);
        }
        reached.map(|_| ())
    }

    fn settle(&self) -> Result<(), Error> {
        let (mut machine, at) = self.reach(true);
        let at = at?;
        machine.settled = machine.settled.max(at);
        Ok(())
    }

    fn claim(&self) {
        let mut machine = self.shared.lock();
        self.mark.claimed.store(true, Ordering::Relaxed);
        match self.mark.reached() {
            Some(_) => machine.working += 1,
            None => drop(self.mark.workers.fetch_add(1, Ordering::Relaxed)),
        }
    }

    fn time(&self) -> Option<f64> {
        self.mark.reached().map(seconds)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
