//! Runs a typed kernel cell by cell: the oracle.

mod group;
mod run;

use crate::ir::Kernel;
use crate::scalar::{Fault, Value};

pub use self::group::run_groups;

use self::run::{OutOfFuel, Program};

/// The arrays a kernel runs over.
pub trait Memory {
    /// Component `component` of argument `arg` at `index` (one coordinate per axis of the argument);
    /// `None` outside what the argument holds.
    fn load(&self, arg: usize, component: usize, index: &[i64]) -> Option<Value>;

    /// Writes it; `false` outside what the argument holds.
    fn store(&mut self, arg: usize, component: usize, index: &[i64], value: Value) -> bool;
}

/// Runs the kernel at one cell. Captures are flattened: all scalars of the first capture, then of the second, ..
/// Those of constant tables need not be there.
///
/// Gives the components of the cell's value (none for `compute`). A fault does not stop the cell: the operation gives
/// its defined value, an outside load gives zero, an outside store does nothing, and the first fault comes back beside
/// the value.
///
/// # Errors
/// `Err` if a cell runs more than `fuel` statements, with the number run. Each turn of a loop counts as one too.
pub fn run_cell(
    kernel: &Kernel,
    captures: &[Value],
    at: &[i64],
    memory: &mut dyn Memory,
    fuel: u64,
) -> Result<(Vec<Value>, Option<Fault>), u64> {
    Program::new(kernel).cell(&kernel.with_tables(captures), at, memory, fuel).map_err(|OutOfFuel { run }| run)
}

/// What a box of cells gave: the values of its cells in row-major order, and the first fault.
pub type BoxResult = (Vec<Vec<Value>>, Option<Fault>);

/// Runs the kernel at each cell of the box `lo..hi`, last axis innermost, as [`run_cell`] does at one.
///
/// A box with `hi <= lo` along an axis has no cells.
///
/// # Errors
/// `Err` if a cell runs more than `fuel_per_cell` statements, with the number run.
pub fn run_box(
    kernel: &Kernel,
    captures: &[Value],
    lo: &[i64],
    hi: &[i64],
    memory: &mut dyn Memory,
    fuel_per_cell: u64,
) -> Result<BoxResult, u64> {
    let (program, captures) = (Program::new(kernel), &*kernel.with_tables(captures));
    let (mut values, mut first) = (Vec::new(), None);
    if lo.len() != hi.len() || lo.iter().zip(hi).any(|(lo, hi)| hi <= lo) {
        return Ok((values, first));
    }
    let mut at = lo.to_vec();
    loop {
        let (value, fault) = program.cell(captures, &at, memory, fuel_per_cell).map_err(|OutOfFuel { run }| run)?;
        values.push(value);
        first = first.or(fault);
        let mut axis = at.len();
        loop {
            if axis == 0 {
                return Ok((values, first));
            }
            axis -= 1;
            at[axis] += 1;
            if at[axis] < hi[axis] {
                break;
            }
            at[axis] = lo[axis];
        }
    }
}

#[cfg(test)]
mod tests;
