//! The clock: streams of commands, engines that serve them, events.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::memory::Pool;
use super::planted::{Planted, SimFault};
use super::probe::{SimDevice, SimReport, Ticks, seconds};
use super::work::{Stretch, Work};
use crate::backend::giver::Giver;
use crate::backend::{ALL_STREAMS, Event};
use crate::error::{Error, ErrorKind};

/// What serves commands, one at a time, in the order in which they become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Upload,
    Download,
    /// Kernels, and copies and fills within the device.
    Kernels,
    /// What takes no time waits for no engine.
    None,
}

/// A command of a stream.
enum Command {
    Work {
        /// Counts commands: the first of two that become ready together is served first.
        number: u64,
        /// When the host gave it.
        given: Ticks,
        engine: Engine,
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
            Command::Work { number, engine, .. } => write!(f, "command {number} of {engine:?}"),
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
}

const NOT_YET: Ticks = Ticks::MAX;

impl Mark {
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
    running: Option<(Ticks, Work, Giver)>,
    /// What failed and was not told, with who gave it.
    failures: Vec<(Giver, Error)>,
}

/// Devices on one clock, and the host beside them.
#[derive(Debug, Default)]
pub(super) struct Machine {
    devices: Vec<Lines>,
    /// The host has waited until then.
    host: Ticks,
    /// Others than the host have waited until then, for its books.
    settled: Ticks,
    given: u64,
}

/// Streams and engines of a device.
#[derive(Debug)]
struct Lines {
    spec: SimDevice,
    pool: Arc<Pool>,
    streams: Vec<Stream>,
    /// When each line's engine is free.
    lines: [Ticks; 3],
    launched: u64,
    last: Ticks,
    busy: [Ticks; 3],
    report: SimReport,
}

/// A device: its streams and engines in the machine, and its memory.
#[derive(Debug)]
pub(super) struct Shared {
    pub spec: SimDevice,
    pub pool: Arc<Pool>,
    pub planted: Planted,
    machine: Arc<Mutex<Machine>>,
    /// Its place among the devices of the machine.
    number: usize,
}

impl Shared {
    /// A device on the clock of another one, or on one of its own.
    pub fn new(spec: SimDevice, beside: Option<&Shared>) -> Shared {
        let (planted, pool) = (Planted::new(spec.planted()), Arc::new(Pool::new(&spec)));
        let lines = Lines {
            spec: spec.clone(),
            pool: pool.clone(),
            streams: (0..ALL_STREAMS).map(|_| Stream::default()).collect(),
            lines: [0; 3],
            launched: 0,
            last: 0,
            busy: [0; 3],
            report: SimReport::default(),
        };
        let machine: Arc<Mutex<Machine>> = beside.map_or_else(Arc::default, |other| other.machine.clone());
        let mut all = machine.lock().unwrap_or_else(PoisonError::into_inner);
        all.devices.push(lines);
        let number = all.devices.len() - 1;
        drop(all);
        Shared { spec, pool, planted, machine, number }
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both are on one clock.
    pub fn is_beside(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.machine, &other.machine)
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
        let (number, given) = (machine.given, machine.host);
        let commands = &mut machine.stream(self.number, stream)?.commands;
        commands.push_back(Command::Work { number, given, engine, ticks, uses, work, giver: Giver::current() });
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

    /// A mark in a stream, which `tells` what failed since the last one that does.
    pub fn record(self: &Arc<Self>, stream: usize, tells: bool) -> Result<SimEvent, Error> {
        let mark = Arc::new(Mark { at: AtomicU64::new(NOT_YET), failure: OnceLock::new() });
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
        let [upload, download, kernels] = device.busy.map(seconds);
        SimReport {
            makespan: seconds(device.last),
            upload_busy: upload,
            download_busy: download,
            kernel_busy: kernels,
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

    /// Ends or starts one command of some device, whichever comes first; `false` if there is none.
    fn step(&mut self) -> bool {
        self.pass_marks();
        let each = || self.devices.iter().enumerate();
        let end = each().filter_map(|(device, of)| of.next_end().map(|(end, stream)| (end, device, stream))).min();
        let start = each().filter_map(|(device, of)| of.next_start().map(|start| (start, device))).min();
        match (end, start) {
            (Some((end, device, stream)), start) if start.is_none_or(|((start, ..), _)| end <= start) => {
                self.devices[device].end(stream);
            }
            (_, Some(((start, _, stream), device))) => self.start(device, stream, start),
            _ => return false,
        }
        self.pass_marks();
        true
    }

    fn start(&mut self, device: usize, number: usize, start: Ticks) {
        let Some(stream) = self.devices[device].streams.get_mut(number) else { return };
        let Some(Command::Work { engine, ticks, uses, work, giver, .. }) = stream.commands.pop_front() else {
            return;
        };
        // The clock's last tick.
        let end = start.saturating_add(ticks).min(NOT_YET - 1);
        // Commands may read the memory of devices beside theirs.
        let is_there = |used: &Stretch| self.devices.iter().any(|device| used.is_in(&device.pool));
        let gone = uses.iter().find(|used| !is_there(used)).map(Stretch::error);
        if let Some(of) = self.devices.get_mut(device) {
            of.start((number, giver), (end, ticks, engine), work, gone);
        }
    }
}

impl Lines {
    /// The line that an engine's commands stand in: one engine may serve both directions.
    fn line(&self, engine: Engine) -> Option<usize> {
        match engine {
            Engine::Download if self.spec.one_copy_engine() => Some(Engine::Upload as usize),
            Engine::None => None,
            engine => Some(engine as usize),
        }
    }

    /// The next command to start: time, number and stream.
    fn next_start(&self) -> Option<(Ticks, u64, usize)> {
        // Of each line the one that is ready first, of those the one that starts first.
        let mut first: [Option<(Ticks, u64, usize, Ticks)>; 4] = [None; 4];
        for (number, stream) in self.streams.iter().enumerate().filter(|(_, stream)| stream.running.is_none()) {
            if let Some(Command::Work { number: order, given, engine, .. }) = stream.commands.front() {
                let ready = stream.ready.max(*given);
                let line = self.line(*engine);
                let start = line.map_or(ready, |line| ready.max(self.lines[line]));
                let first = &mut first[line.unwrap_or(3)];
                if first.is_none_or(|(known, other, ..)| (ready, *order) < (known, other)) {
                    *first = Some((ready, *order, number, start));
                }
            }
        }
        let next = first.into_iter().flatten().min_by_key(|(_, order, _, start)| (*start, *order))?;
        Some((next.3, next.1, next.2))
    }

    /// When the first of its streams ends what it is doing, and which.
    fn next_end(&self) -> Option<(Ticks, usize)> {
        let running = self.streams.iter().enumerate();
        running.filter_map(|(number, stream)| stream.running.as_ref().map(|(end, ..)| (*end, number))).min()
    }

    /// Starts a command of a stream, unless memory that it uses is gone.
    fn start(
        &mut self,
        (number, giver): (usize, Giver),
        (end, ticks, engine): (Ticks, Ticks, Engine),
        mut work: Work,
        gone: Option<Error>,
    ) {
        let line = self.line(engine);
        let Some(stream) = self.streams.get_mut(number) else { return };
        if let Some(gone) = gone {
            stream.failures.push((giver, gone));
            work = Work::Nothing;
        } else if !self.spec.is_null() {
            // SAFETY: `give` was promised that it is sound; the memory of the device is still there.
            let done = catch_unwind(AssertUnwindSafe(|| unsafe { work.start() }));
            if let Err(payload) = done {
                stream.failures.push((giver, crate::error::panicked("a command of a simulated device", payload)));
                work = Work::Nothing;
            }
        }
        if let Some(failure) = work.failure() {
            stream.failures.push((giver, failure));
        }
        stream.running = Some((end, work, giver));
        if engine != Engine::None {
            self.busy[engine as usize] = self.busy[engine as usize].saturating_add(ticks);
        }
        if let Some(line) = line {
            self.lines[line] = end;
        }
    }

    fn end(&mut self, number: usize) {
        let Some(stream) = self.streams.get_mut(number) else { return };
        let Some((end, mut work, giver)) = stream.running.take() else { return };
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
    /// Runs the simulation until it is reached; when that was.
    fn reach(&self, machine: &mut Machine) -> Result<Ticks, Error> {
        loop {
            machine.pass_marks();
            if let Some(at) = self.mark.reached() {
                return self.mark.failure.get().cloned().map_or(Ok(at), Err);
            }
            if !machine.step() {
                return Err(Error::new(
                    ErrorKind::Device,
                    "wait for an event of a simulated device",
                    "that nothing is left to run before it",
                    "report this as a bug of tida",
                ));
            }
        }
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
        let mut machine = self.shared.lock();
        let reached = self.reach(&mut machine);
        if let Some(at) = self.mark.reached() {
            machine.host = machine.host.max(at);
        }
        reached.map(|_| ())
    }

    fn settle(&self) -> Result<(), Error> {
        let mut machine = self.shared.lock();
        let at = self.reach(&mut machine)?;
        machine.settled = machine.settled.max(at);
        Ok(())
    }

    fn time(&self) -> Option<f64> {
        self.mark.reached().map(seconds)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
