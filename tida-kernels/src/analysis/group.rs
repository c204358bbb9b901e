//! Phases of kernels over groups: which slots their threads use, and whether two of them could meet.
//!
//! In a phase a thread writes the slots whose first coordinates are its own, and reads no slot that another thread may
//! write in the same phase. What is affine is compared as forms; what cannot be compared is refused.

use super::symbolic::Val;
use super::walk::{State, Walker, set};
use super::{Analysis, ArrayAccess, Choice, IndexForm, Interval, NormalForm, Precalculability, Symbol, Why};
use crate::ir::{Access, Block, GroupArray, Kernel, LocalId};
use crate::quote::Span;

/// A phase of a kernel over groups.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Coordinates of its threads along each axis, in a whole group.
    pub threads: Vec<Interval>,
    /// Threads beside the group's cells run too.
    pub around: bool,
    /// The loops around it: their variables are the same in all threads.
    pub loops: Vec<u32>,
    /// By axis the symbol of how far a thread may be from the group's cells, if threads beside them run too.
    beside: Vec<u32>,
    /// Accesses: argument, and number in [`ArgUse::accesses`](super::ArgUse).
    pub accesses: Vec<(u32, usize)>,
}

/// Why the threads of a group cannot run as they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsafe {
    /// Where.
    pub span: Span,
    /// What was found.
    pub found: String,
    /// What to do.
    pub advice: &'static str,
    /// Two threads would meet; else an index is outside what there is.
    pub race: bool,
}

impl<'k> Walker<'k> {
    /// Walks a phase as one of its threads.
    pub fn phase(&mut self, thread: LocalId, around: &[[u32; 2]], body: &'k Block, mut state: State) -> Option<State> {
        let Some(group) = self.kernel.group.as_ref().filter(|_| !self.in_function && self.in_phase.is_none()) else {
            self.out.complete = false;
            return Some(state);
        };
        let number = self.out.phases.len() as u32;
        let beside = around.iter().any(|n| *n != [0, 0]);
        let threads = group.extent.iter().zip(around);
        let threads = threads.map(|(extent, [before, after])| Interval {
            lo: -i64::from(*before),
            hi: i64::from(*extent) + i64::from(*after) - 1,
        });
        let mut phase = Phase {
            threads: threads.collect(),
            around: beside,
            loops: self.loop_stack.clone(),
            beside: Vec::new(),
            accesses: Vec::new(),
        };
        for [before, after] in around.iter().filter(|_| beside) {
            phase.beside.push(self.out.choices.len() as u32);
            let within = Interval { lo: -i64::from(*before), hi: i64::from(*after) };
            self.out.choices.push(Choice::Within(within));
        }
        self.out.phases.push(phase);
        let privates = group.privates.clone();
        let forget = |state: &mut State| {
            privates.iter().for_each(|local| set(&mut state.locals, *local, Val::Opaque(Why::Induction)));
        };
        forget(&mut state);
        let coordinates = (0..group.extent.len() as u32).map(|axis| Val::symbol(Symbol::Thread(number, axis)));
        set(&mut state.locals, thread, Val::parts(coordinates.collect()));
        let frames = std::mem::take(&mut self.frames);
        self.in_phase = Some(number);
        let end = self.block(body, state);
        self.in_phase = None;
        self.frames = frames;
        let mut state = end?;
        forget(&mut state);
        set(&mut state.locals, thread, Val::Opaque(Why::Operator));
        Some(state)
    }

    /// Coordinate of the cell along an axis; that of a thread beside the group's cells is that far from one of them.
    pub fn coordinate(&self, axis: u32) -> Val {
        let at = Val::symbol(Symbol::At(axis));
        if self.kernel.group.is_none() {
            return at;
        }
        let Some(phase) = self.in_phase.and_then(|n| self.out.phases.get(n as usize)) else {
            return Val::Opaque(Why::Operator);
        };
        let Some(beside) = phase.beside.get(axis as usize) else { return at };
        let form = NormalForm::symbol(Symbol::At(axis)).add(&NormalForm::symbol(Symbol::Choice(*beside)));
        Val::or_opaque(form.map(super::symbolic::Affine::new))
    }
}

/// Notes what fetches read: the cells of each group, and as many beside as the array has slots for.
pub(super) fn fetched(kernel: &Kernel, out: &mut Analysis) {
    let Some(group) = &kernel.group else { return };
    for array in &group.arrays {
        let Some(usage) = array.fetch.and_then(|arg| out.args.get_mut(arg as usize)) else { continue };
        usage.read = true;
        usage.reads_old = true;
        usage.reads_own = true;
        let after = array.shape.iter().zip(&group.extent).zip(&array.lo);
        let after: Vec<i64> = after.map(|((n, extent), lo)| i64::from(*n) - i64::from(*extent) + lo).collect();
        for corner in [&array.lo, &after] {
            let form = |(axis, by): (usize, &i64)| {
                IndexForm::Affine(NormalForm { constant: *by, terms: vec![(Symbol::At(axis as u32), 1)] })
            };
            usage.accesses.push(ArrayAccess {
                span: array.span,
                write: false,
                expr: None,
                component: Some(0),
                index: corner.iter().enumerate().map(form).collect(),
                at_cell: corner.iter().all(|by| *by == 0),
                fits: Vec::new(),
                loops: Vec::new(),
                conditional: false,
                precalculable: Precalculability::Static,
            });
        }
    }
}

/// The constants that an index adds to the thread's coordinates, if its first coordinates are those.
fn from_thread(access: &ArrayAccess, phase: u32, rank: usize) -> Option<Vec<i64>> {
    let first = access.index.get(..rank).filter(|_| access.fits.is_empty())?;
    let by = first.iter().enumerate().map(|(axis, form)| match form {
        IndexForm::Affine(form) => form.sub(&NormalForm::symbol(Symbol::Thread(phase, axis as u32)))?.as_constant(),
        IndexForm::Opaque(_) => None,
    });
    by.collect()
}

impl Analysis {
    /// Whether every slot that an access can touch is there.
    pub fn slots_exist(&self, access: &ArrayAccess, array: &GroupArray) -> bool {
        self.slots(access).is_some_and(|slots| slots.iter().any(Interval::is_empty) || fits(&slots, array))
    }

    /// The slots that an access can touch in any group, along each axis.
    fn slots(&self, access: &ArrayAccess) -> Option<Vec<Interval>> {
        self.range_of(access, &access.index, None, &[])
    }

    /// The first thing for which the threads of a group cannot run side by side, if there is one.
    pub fn refused(&self, kernel: &Kernel) -> Option<Unsafe> {
        let group = kernel.group.as_ref()?;
        if !self.complete {
            return Some(Unsafe {
                span: Span { line: kernel.line, column: 1 },
                found: "a kernel too deep to follow".into(),
                advice: "make it shorter",
                race: true,
            });
        }
        let launched = kernel.args.len() - group.arrays.len().min(kernel.args.len());
        for (number, phase) in self.phases.iter().enumerate() {
            for &(arg, n) in &phase.accesses {
                let Some(access) = self.args.get(arg as usize).and_then(|usage| usage.accesses.get(n)) else {
                    continue;
                };
                let found = match (arg as usize).checked_sub(launched).and_then(|n| group.arrays.get(n)) {
                    Some(array) => self.of_slot(kernel, number as u32, arg, access, array),
                    None => beside(kernel, phase, arg, access),
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// What is wrong with an access of a slot.
    fn of_slot(
        &self,
        kernel: &Kernel,
        number: u32,
        arg: u32,
        access: &ArrayAccess,
        array: &GroupArray,
    ) -> Option<Unsafe> {
        let name = &kernel.args.get(arg as usize)?.name;
        let index = self.index_text(access, kernel);
        let refuse = |found: String, advice, race| Some(Unsafe { span: access.span, found, advice, race });
        let verb = if access.write { "a write" } else { "a read" };
        if let Some(slots) = self.slots(access).filter(|slots| !slots.iter().any(Interval::is_empty)) {
            let ends = array.lo.iter().zip(&array.shape).map(|(lo, n)| (*lo, lo + i64::from(*n)));
            let never = ends.clone().zip(&slots).any(|((lo, hi), slot)| slot.hi < lo || slot.lo >= hi);
            if never || (!access.conditional && !fits(&slots, array)) {
                let reached: Vec<String> = slots.iter().map(|slot| format!("{}..={}", slot.lo, slot.hi)).collect();
                let held: Vec<String> = ends.map(|(lo, hi)| format!("{lo}..={}", hi - 1)).collect();
                let (reached, held) = (reached.join(", "), held.join(", "));
                return refuse(
                    format!("{verb} of `{name}` at {index}, which is [{reached}] in a group where it has [{held}]"),
                    "keep the index inside with `if`, or fetch or share more cells before and after",
                    false,
                );
            }
        }
        let rank = kernel.rank;
        let by = from_thread(access, number, rank);
        if access.write {
            let own = by.is_some_and(|by| by.iter().all(|by| *by == 0));
            return if own {
                None
            } else {
                refuse(
                    format!("a write of `{name}` at {index}, a slot that another thread of the phase may write too"),
                    "write at the thread's own slot, `c[t]` or `c[t[0], ..]`, and let others read it in a later phase",
                    true,
                )
            };
        }
        if by.as_ref().is_some_and(|by| by.iter().all(|by| *by == 0)) {
            return None;
        }
        let phase = self.phases.get(number as usize)?;
        let usage = self.args.get(arg as usize)?;
        let written = phase.accesses.iter().filter(|(of, _)| *of == arg).filter_map(|(_, n)| usage.accesses.get(*n));
        let mut written = written.filter(|other| other.write);
        let meets = |write: &ArrayAccess| !by.as_ref().is_some_and(|by| apart(access, write, by, number, phase, rank));
        let write = written.find(|write| meets(write))?;
        let other = self.index_text(write, kernel);
        refuse(
            format!(
                "a read of `{name}` at {index} in a phase that writes it at {other}: another thread may write that slot"
            ),
            "read it in a phase before, into a `group.private(..)`, and write it in a phase of its own",
            true,
        )
    }
}

fn fits(slots: &[Interval], array: &GroupArray) -> bool {
    let ends = array.lo.iter().zip(&array.shape).map(|(lo, n)| (*lo, lo + i64::from(*n)));
    slots.len() == array.shape.len() && slots.iter().zip(ends).all(|(slot, (lo, hi))| lo <= slot.lo && slot.hi < hi)
}

/// Whether what a thread reads `by` slots from its own differs from what the thread there writes, for a coordinate
/// after those of the thread.
fn apart(read: &ArrayAccess, write: &ArrayAccess, by: &[i64], number: u32, phase: &Phase, rank: usize) -> bool {
    let uniform = |form: &NormalForm| {
        form.terms.iter().all(|(symbol, _)| match symbol {
            Symbol::Loop(n) => phase.loops.contains(n),
            Symbol::Capture(_) | Symbol::Thread(..) => true,
            Symbol::At(_) | Symbol::Choice(_) => false,
        })
    };
    let apart = |read: &NormalForm, write: &NormalForm| {
        let moved = by.iter().enumerate().try_fold(write.clone(), |form, (axis, by)| {
            let steps = form.coefficient(Symbol::Thread(number, axis as u32)).checked_mul(*by)?;
            form.add(&NormalForm::constant(steps))
        });
        let difference = moved.and_then(|moved| read.sub(&moved)).and_then(|difference| difference.as_constant());
        uniform(read) && uniform(write) && difference.is_some_and(|n| n != 0)
    };
    if !write.fits.is_empty() {
        return false;
    }
    read.index.iter().zip(&write.index).skip(rank).any(|forms| match forms {
        (IndexForm::Affine(read), IndexForm::Affine(write)) => apart(read, write),
        _ => false,
    })
}

/// What is wrong with an access of an argument: threads beside the group's cells have none of their own.
fn beside(kernel: &Kernel, phase: &Phase, arg: u32, access: &ArrayAccess) -> Option<Unsafe> {
    let of = kernel.args.get(arg as usize)?;
    let tiled = matches!(of.access, Access::Read | Access::Write);
    (phase.around && tiled).then(|| Unsafe {
        span: access.span,
        found: format!("`{}` in a phase around the group, where threads have no cells of their own", of.name),
        advice: "fetch it with as many cells before and after, and read what was fetched; write in `group.each(..)`",
        race: true,
    })
}
