//! Runs a kernel over groups: thread by thread, phase by phase.

use super::Memory;
use super::run::{OutOfFuel, Program};
use crate::ir::{Group, GroupArray, Kernel};
use crate::scalar::{Fault, Value};

/// The arrays of a launch, and behind them those of a group.
pub(super) struct Shared<'m> {
    launched: usize,
    memory: &'m mut dyn Memory,
    arrays: Vec<(&'m GroupArray, Vec<Value>)>,
}

impl Memory for Shared<'_> {
    fn load(&self, arg: usize, component: usize, index: &[i64]) -> Option<Value> {
        let Some((array, values)) = arg.checked_sub(self.launched).and_then(|n| self.arrays.get(n)) else {
            return self.memory.load(arg, component, index);
        };
        array.slot(index).and_then(|slot| values.get(slot)).copied()
    }

    fn store(&mut self, arg: usize, component: usize, index: &[i64], value: Value) -> bool {
        let Some((array, values)) = arg.checked_sub(self.launched).and_then(|n| self.arrays.get_mut(n)) else {
            return self.memory.store(arg, component, index, value);
        };
        let slot = array.slot(index).and_then(|slot| values.get_mut(slot));
        slot.map(|slot| *slot = value).is_some()
    }
}

impl<'m> Shared<'m> {
    /// The arrays of the group whose cells are `lo..lo + len`, as they are at its start.
    fn new(kernel: &'m Kernel, group: &'m Group, memory: &'m mut dyn Memory, lo: &[i64], len: &[i64]) -> Shared<'m> {
        let launched = kernel.args.len().saturating_sub(group.arrays.len());
        let mut arrays = Vec::with_capacity(group.arrays.len());
        for array in &group.arrays {
            let mut values = vec![Value::from_bits(array.ty, 0); array.slots() as usize];
            if let Some(arg) = array.fetch {
                // The cells of the group, so many before and so many after.
                let after = |axis: usize| {
                    i64::from(array.shape[axis]) + array.lo[axis]
                        - i64::from(group.extent.get(axis).copied().unwrap_or(0))
                };
                let hi: Vec<i64> = (0..array.shape.len()).map(|axis| len[axis] + after(axis)).collect();
                each_point(&array.lo, &hi, |t| {
                    let cell: Vec<i64> = t.iter().zip(lo).map(|(t, lo)| t + lo).collect();
                    let value = memory.load(arg as usize, 0, &cell);
                    let value = value.map(|value| array.codec.map_or(value, |codec| codec.decode(value.bits() as u32)));
                    if let (Some(value), Some(slot)) = (value, array.slot(t).and_then(|slot| values.get_mut(slot))) {
                        *slot = value;
                    }
                    Ok::<(), OutOfFuel>(())
                })
                .unwrap_or_default();
            }
            arrays.push((array, values));
        }
        Shared { launched, memory, arrays }
    }
}

/// Calls `f` at each point of the box, last axis innermost.
pub(super) fn each_point<E>(lo: &[i64], hi: &[i64], mut f: impl FnMut(&[i64]) -> Result<(), E>) -> Result<(), E> {
    if lo.iter().zip(hi).any(|(lo, hi)| hi <= lo) {
        return Ok(());
    }
    let mut at = lo.to_vec();
    loop {
        f(&at)?;
        let mut axis = at.len();
        loop {
            if axis == 0 {
                return Ok(());
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

/// Runs the kernel over the groups of the box `lo..hi`: groups start at multiples of their extent. The first fault.
///
/// # Errors
/// `Err` if a group runs more than `fuel` statements, with the number run.
pub fn run_groups(
    kernel: &Kernel,
    captures: &[Value],
    lo: &[i64],
    hi: &[i64],
    memory: &mut dyn Memory,
    fuel: u64,
) -> Result<Option<Fault>, u64> {
    let Some(group) = &kernel.group else { return Ok(None) };
    let (program, captures) = (Program::new(kernel), &*kernel.with_tables(captures));
    let extent: Vec<i64> = group.extent.iter().map(|n| i64::from(*n)).collect();
    let number = |at: &i64, extent: &i64| at.div_euclid(*extent);
    let first: Vec<i64> = lo.iter().zip(&extent).map(|(lo, n)| number(lo, n)).collect();
    let last: Vec<i64> = hi.iter().zip(&extent).map(|(hi, n)| number(&(hi - 1), n) + 1).collect();
    let mut fault = None;
    each_point(&first, &last, |numbers| {
        let start = numbers.iter().zip(&extent).zip(lo).map(|((n, extent), lo)| (n * extent).max(*lo));
        let start: Vec<i64> = start.collect();
        let end = numbers.iter().zip(&extent).zip(hi).map(|((n, extent), hi)| ((n + 1) * extent).min(*hi));
        let len: Vec<i64> = end.zip(&start).map(|(end, start)| end - start).collect();
        let mut shared = Shared::new(kernel, group, memory, &start, &len);
        let found = program.group(group, captures, (&start, &len), &mut shared, fuel)?;
        fault = fault.or(found);
        Ok(())
    })
    .map_err(|OutOfFuel { run }| run)?;
    Ok(fault)
}
