//! Runs a typed kernel cell by cell: the oracle.

use crate::ir::Kernel;
use crate::scalar::{Fault, Value};

/// The arrays a kernel runs over.
pub trait Memory {
    /// Component `component` of argument `arg` at `index` (one coordinate per axis of the argument);
    /// `None` outside what the argument holds.
    fn load(&self, arg: usize, component: usize, index: &[i64]) -> Option<Value>;

    /// Writes it; `false` outside what the argument holds.
    fn store(&mut self, arg: usize, component: usize, index: &[i64], value: Value) -> bool;
}

/// Runs the kernel at one cell. Captures are flattened: all scalars of the first capture, then of the second, ..
///
/// Gives the components of the cell's value (none for `compute`). A fault does not stop the cell: the operation gives
/// its defined value, an outside load gives zero, an outside store does nothing, and the first fault comes back beside
/// the value.
///
/// # Errors
/// `Err` if a cell runs more than `fuel` statements, with the number run.
pub fn run_cell(
    _kernel: &Kernel,
    _captures: &[Value],
    _at: &[i64],
    _memory: &mut dyn Memory,
    _fuel: u64,
) -> Result<(Vec<Value>, Option<Fault>), u64> {
    todo!()
}
