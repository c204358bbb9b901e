//! Kernels that run one after the other in each cell, as one kernel: what they all read is read once.

use super::merge::{append, empty};
use super::{Access, Arg, Kernel, StmtKind, Type, holds};

/// Kernels as one.
#[derive(Clone, Debug)]
pub struct Joined {
    /// All of them. Its captured values are theirs, one kernel after the other.
    pub kernel: Kernel,
    /// Where its arguments are from: the kernel and the number there.
    pub args: Vec<(usize, usize)>,
}

/// Kernels over the same cells as one that does in each cell what they do, in this order; nothing if they cannot be
/// one. `arrays` has for each kernel a number for each argument: those of one number are one array, which is an
/// argument once where it is read in the same way.
///
/// That is what the kernels do one after the other if none writes an array that another one reads or writes.
pub fn join(kernels: &[&Kernel], arrays: &[&[usize]]) -> Option<Joined> {
    let (first, last) = (*kernels.first()?, kernels.len() - 1);
    // A cell that ends early would end for the kernels after it too.
    let ends = |kernel: &Kernel| holds(&kernel.body.block, &|kind| matches!(kind, StmtKind::Return(_)));
    let fits = |(n, kernel): (usize, &&Kernel)| {
        let alike = kernel.rank == first.rank && kernel.result == Type::unit() && kernel.group.is_none();
        alike && (n == last || !ends(kernel)) && arrays.get(n).is_some_and(|of| of.len() == kernel.args.len())
    };
    if !kernels.iter().enumerate().all(fits) {
        return None;
    }
    let mut made = empty(first);
    let mut args: Vec<(usize, usize)> = Vec::new();
    for (number, (kernel, arrays_of)) in kernels.iter().zip(arrays).enumerate() {
        let mut moved = Vec::with_capacity(kernel.args.len());
        for (n, (arg, array)) in kernel.args.iter().zip(*arrays_of).enumerate() {
            let same = |(from, other): (&(usize, usize), &Arg)| {
                arrays.get(from.0).and_then(|of| of.get(from.1)) == Some(array) && is_one(arg, other)
            };
            let known = args.iter().zip(&made.args).position(same);
            moved.push(known.unwrap_or(args.len()) as u32);
            if known.is_none() {
                made.args.push(arg.clone());
                args.push((number, n));
            }
        }
        let block = append(&mut made, kernel, moved);
        made.body.block.extend(block);
    }
    Some(Joined { kernel: made, args })
}

/// A kernel, and one that gives a value of each cell which the first one has left, as one kernel that does both: what
/// the first one wrote or read is not read again. `arrays` as in [`join`].
///
/// Nothing if they cannot be one: all arrays of the second are arrays of the first, which writes one of them.
pub fn join_value(kernel: &Kernel, value: &Kernel, arrays: [&[usize]; 2]) -> Option<Joined> {
    let alike = kernel.rank == value.rank && kernel.group.is_none() && value.group.is_none();
    let sorts = kernel.result == Type::unit() && value.result != Type::unit();
    let known = arrays[0].len() == kernel.args.len() && arrays[1].len() == value.args.len();
    if !(alike && sorts && known) || holds(&kernel.body.block, &|kind| matches!(kind, StmtKind::Return(_))) {
        return None;
    }
    let mut moved = Vec::with_capacity(value.args.len());
    let mut written = false;
    for (arg, array) in value.args.iter().zip(arrays[1]) {
        let place = arrays[0].iter().position(|one| one == array)?;
        let of = kernel.args.get(place)?;
        let own = of.access == Access::Write && arg.access == Access::Read;
        if !(is_one(arg, of) || own && arg.element == of.element && arg.rank == of.rank) {
            return None;
        }
        written |= own;
        moved.push(place as u32);
    }
    let mut made = empty(kernel);
    made.args = kernel.args.clone();
    made.result = value.result.clone();
    for (of, args) in [(kernel, (0..kernel.args.len() as u32).collect()), (value, moved)] {
        let block = append(&mut made, of, args);
        made.body.block.extend(block);
    }
    let args = (0..made.args.len()).map(|n| (0, n)).collect();
    written.then_some(Joined { kernel: made, args })
}

/// Whether two arguments that are one array are read in the same way.
fn is_one(arg: &Arg, other: &Arg) -> bool {
    let read = matches!(arg.access, Access::Read | Access::All);
    read && arg.access == other.access && arg.element == other.element && arg.rank == other.rank
}
