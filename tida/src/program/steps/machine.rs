//! A machine that runs steps, for tests: the values of cells on the device and on the host, and whether commands that
//! touch the same cell are ordered, however early or late streams come to them.

use super::{After, Move, Step};

/// What a cell holds, as a number.
pub(crate) type Value = u64;

/// A number made of others.
pub(crate) fn mix(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0xcbf2_9ce4_8422_2325, |h, v| (h ^ v).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17))
}

/// Of a row (loads, runs, stores) how many commands are done: counted by steps, but for stores.
type Clock = [usize; 3];

const LOADS: usize = 0;
const RUNS: usize = 1;
const STORES: usize = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    value: Value,
    /// Of each row the number of the last command that wrote it, and that read it, counted from 1.
    wrote: Clock,
    read: Clock,
}

/// A place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Device(usize),
    Host(usize),
}

/// What pieces and runs of a planner are to the machine.
pub(crate) trait Pieces<P, R> {
    /// Copies a piece to the device, for the step of this number.
    fn load(&mut self, machine: &mut Machine, step: usize, piece: &P) -> Result<(), String>;
    /// Runs, on the device or on the host.
    fn run(&mut self, machine: &mut Machine, step: usize, on_host: bool, run: &R) -> Result<(), String>;
    /// Copies a piece to the host.
    fn store(&mut self, machine: &mut Machine, step: usize, piece: &P) -> Result<(), String>;
}

/// See the module.
pub(crate) struct Machine {
    device: Vec<Cell>,
    pub host: Vec<Value>,
    /// Who touched those.
    cells: Vec<Cell>,
    /// The row of the command under way, if it is in one; its number in it; and what is done before it.
    row: Option<usize>,
    number: usize,
    before: Clock,
    /// What is done before what the host does now.
    host_before: Clock,
    /// Values that were copied to the device and to the host.
    pub moved: [usize; 2],
}

fn join(a: Clock, b: Clock) -> Clock {
    [a[0].max(b[0]), a[1].max(b[1]), a[2].max(b[2])]
}

impl Machine {
    /// A machine with so many cells on the device, and these values on the host.
    pub fn new(device: usize, host: Vec<Value>) -> Machine {
        let nothing = Cell { value: 0xdead, ..Cell::default() };
        let cells = vec![Cell::default(); host.len()];
        let (row, number, before, host_before, moved) = Default::default();
        Machine { device: vec![nothing; device], host, cells, row, number, before, host_before, moved }
    }

    fn touch(&mut self, at: At, writes: bool) -> Result<(), String> {
        let (row, number, before) = (self.row, self.number, self.before);
        let cell = match at {
            At::Device(at) => &mut self.device[at],
            At::Host(at) => &mut self.cells[at],
        };
        let last = if writes { join(cell.wrote, cell.read) } else { cell.wrote };
        if let Some(other) = (0..3).find(|other| row != Some(*other) && last[*other] > before[*other]) {
            return Err(format!("{at:?} is touched by row {row:?} at {number}, before row {other} at {}", last[other]));
        }
        let Some(row) = row else { return Ok(()) };
        let mine = if writes { &mut cell.wrote } else { &mut cell.read };
        mine[row] = mine[row].max(number);
        Ok(())
    }

    /// The value of a cell.
    pub fn get(&mut self, at: At) -> Result<Value, String> {
        self.touch(at, false)?;
        Ok(match at {
            At::Device(at) => self.device[at].value,
            At::Host(at) => self.host[at],
        })
    }

    /// The value of a cell, for what the host makes for a load.
    pub fn get_on_host(&mut self, at: At) -> Result<Value, String> {
        let command = (self.row, self.number, self.before);
        self.begin(None, 0, self.host_before);
        let value = self.get(at);
        (self.row, self.number, self.before) = command;
        value
    }

    /// Gives a cell a value.
    pub fn set(&mut self, at: At, value: Value) -> Result<(), String> {
        self.touch(at, true)?;
        match at {
            At::Device(at) => self.device[at].value = value,
            At::Host(at) => self.host[at] = value,
        }
        Ok(())
    }

    /// Copies a value from one side to the other.
    pub fn copy(&mut self, from: At, to: At) -> Result<(), String> {
        let value = self.get(from)?;
        self.moved[usize::from(matches!(to, At::Host(_)))] += 1;
        self.set(to, value)
    }

    /// Runs steps; says what is not ordered.
    pub fn run<P, R>(&mut self, steps: &[Step<P, R>], pieces: &mut impl Pieces<P, R>) -> Result<(), String> {
        // What is done before the next command of each row, and once a command is done.
        let mut rows = [Clock::default(); 3];
        let (mut loads, mut runs, mut stores) = (Vec::new(), Vec::new(), Vec::new());
        let known = |of: &[Clock], number: Option<usize>, step: usize| match number.map(|number| of.get(number)) {
            Some(None) => Err(format!("step {step} waits for {number:?} of {}", of.len())),
            Some(Some(clock)) => Ok(*clock),
            None => Ok(Clock::default()),
        };
        for (number, step) in steps.iter().enumerate() {
            let after = |after: &After, (loads, runs, stores): (&[Clock], &[Clock], &[Clock])| {
                let clocks = [
                    known(loads, after.load, number)?,
                    known(runs, after.run, number)?,
                    known(stores, after.store, number)?,
                ];
                Ok::<Clock, String>(clocks.into_iter().fold(Clock::default(), join))
            };
            for Move { piece, after: of } in &step.loads {
                let more = after(of, (&loads, &runs, &stores))?;
                rows[LOADS] = join(rows[LOADS], more);
                self.host_before = more;
                self.begin(Some(LOADS), number + 1, rows[LOADS]);
                pieces.load(self, number, piece)?;
                rows[LOADS][LOADS] = number + 1;
            }
            loads.push(rows[LOADS]);
            let more = after(&step.runs_after, (&loads, &runs, &stores))?;
            if step.on_host {
                self.begin(None, 0, more);
            } else {
                rows[RUNS] = join(rows[RUNS], join(more, rows[LOADS]));
                self.begin(Some(RUNS), number + 1, rows[RUNS]);
            }
            step.runs.iter().try_for_each(|run| pieces.run(self, number, step.on_host, run))?;
            if !step.on_host {
                rows[RUNS][RUNS] = number + 1;
            }
            runs.push(rows[RUNS]);
            for Move { piece, after: of } in &step.stores {
                rows[STORES] = join(rows[STORES], after(of, (&loads, &runs, &stores))?);
                self.begin(Some(STORES), stores.len() + 1, rows[STORES]);
                pieces.store(self, number, piece)?;
                rows[STORES][STORES] = stores.len() + 1;
                stores.push(rows[STORES]);
            }
        }
        Ok(())
    }

    fn begin(&mut self, row: Option<usize>, number: usize, before: Clock) {
        (self.row, self.number, self.before) = (row, number, before);
    }
}
