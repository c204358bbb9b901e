//! How many registers a kernel's plan may spend on what it read before: the compiler's own answer, step by step (SAFARA
//! §III-B2).
//!
//! A kernel is compiled without replacement first, unless its few candidates fit at once. What it leaves of a thread's
//! registers goes to the candidates, those that are worth most first, and the kernel is compiled again; until no
//! candidate is left, or none fits. A step whose values spill, or leave too few threads, is taken back by half.

use std::fmt;

use tida_kernels::plan::Plan;
use tida_kernels::plan::registers::{Class, USUAL, kept};

use super::prepare::Prepared;
use crate::backend::{Facts, KernelFacts};
use crate::device::plans::Without;
use crate::error::{Error, ErrorKind};

/// Most registers of a thread: with them, a multiprocessor of 65536 registers still holds a quarter of its 2048
/// threads. The machine's own limit is 255.
const MOST: u32 = 128;

/// Times that a kernel is compiled at most.
const COMPILES: usize = 4;

impl Without {
    /// From a list such as `no-dim,no-small`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`]: another word.
    pub fn from_list(list: &str) -> Result<Without, Error> {
        let mut without = Without::default();
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "no-dim" => without.dim = true,
                "no-small" => without.small = true,
                "no-registers" => without.registers = true,
                "no-cells" => without.cells = Some([1, 1]),
                "ahead" => without.ahead = Some(true),
                "no-ahead" => without.ahead = Some(false),
                "no-planes" => without.planes = true,
                "no-ghosts" => without.ghosts = true,
                "stream" => without.stream = Some(true),
                "no-stream" => without.stream = Some(false),
                "gpu" => without.gpu = true,
                other => without.numbers(other).ok_or_else(|| {
                    Error::new(
                        ErrorKind::Argument,
                        "read what plans go without (the environment variable TIDA_PLAN)",
                        format!("`{other}`"),
                        "name no-dim, no-small, no-registers, no-cells, no-ahead, ahead, no-planes, no-ghosts, no-stream, stream, gpu, cells=8x4, \
                         block=16x16 or strip=16, with commas between, or unset it",
                    )
                })?,
            }
        }
        Ok(without)
    }

    /// Takes a word such as `cells=8x4`: numbers of at most 1024, the last one along x. `None` if it is none.
    fn numbers(&mut self, word: &str) -> Option<()> {
        let (name, numbers) = word.split_once('=')?;
        let number = |text: &str| text.parse().ok().filter(|n| (1..=1024).contains(n));
        let numbers: Vec<u32> = numbers.split('x').map(number).collect::<Option<_>>()?;
        match (name, numbers.as_slice()) {
            ("cells", &[y, x]) if x * y <= 64 => self.cells = Some([x, y]),
            ("cells", &[x]) if x <= 64 => self.cells = Some([x, 1]),
            ("block", &[y, x]) => self.block = Some([x, y, 1]),
            ("block", &[x]) => self.block = Some([x, 1, 1]),
            ("strip", &[n]) => self.strip = Some(n),
            _ => return None,
        }
        Some(())
    }
}

/// A compilation, and what the compiler said of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// Registers that the plan could spend.
    pub budget: u32,
    /// Those that its candidates take.
    pub kept: u32,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of a thread for values that found no register.
    pub spilled: Option<u32>,
}

/// Who counts the registers of a compiled kernel, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Nobody.
    No,
    /// The compiler: to find the best plan, with as few compilations as that needs.
    ToRun,
    /// The compiler: to show them, without replacement too.
    ToShow,
}

impl Counted {
    /// On a device: what runs on a CPU has no registers to speak of, and native forms have none of the device's.
    pub fn on(facts: &Facts, counted: Counted) -> Counted {
        if facts.gpu && !facts.native { counted } else { Counted::No }
    }
}

/// A kernel, and how it was found.
#[derive(Clone, Debug)]
pub(crate) struct Settled<T> {
    pub made: T,
    pub plan: Plan,
    pub facts: KernelFacts,
    /// All compilations, in order; what was made is not always the last.
    pub steps: Vec<Step>,
}

/// Registers that a budget's candidates take: as [`kept`] chooses them.
fn taken(wanted: &[u32], budget: u32) -> u32 {
    let take = |sum: u32, next: &u32| if next.saturating_add(sum) <= budget { sum + next } else { sum };
    wanted.iter().fold(0, take)
}

/// Whether a compilation has room for what it keeps, beside the one without replacement.
fn fits(step: &Step, plain: &Step) -> bool {
    let most = plain.registers.unwrap_or(0).max(MOST);
    step.spilled.unwrap_or(0) <= plain.spilled.unwrap_or(0) && step.registers.is_none_or(|n| n <= most)
}

/// The number of the compilation that is kept: of those that fit the one with most values in registers.
fn best(steps: &[Step]) -> usize {
    let Some(plain) = steps.first() else { return 0 };
    let fitting = (1..steps.len()).filter(|n| fits(&steps[*n], plain));
    fitting.max_by_key(|n| steps[*n].kept).unwrap_or(0)
}

/// The budget of the next compilation, if there is to be one. `wanted` are the registers of the candidates, in their
/// order.
fn next_budget(steps: &[Step], wanted: &[u32]) -> Option<u32> {
    let (Some(plain), Some(last)) = (steps.first(), steps.last()) else { return Some(0) };
    if steps.len() >= COMPILES {
        return None;
    }
    let good = &steps[best(steps)];
    let budget = match (plain.registers, last.registers) {
        // Nothing to go by.
        (None, _) => USUAL,
        // Values that are kept often take registers that reads had: the usual is tried at least.
        (Some(registers), _) if steps.len() == 1 => MOST.saturating_sub(registers).max(USUAL),
        (_, Some(registers)) if fits(last, plain) => last.kept + MOST.checked_sub(registers)?,
        _ => good.kept + last.kept.checked_sub(good.kept)? / 2,
    };
    // Something new.
    let kept = taken(wanted, budget);
    steps.iter().all(|step| step.kept != kept).then_some(budget)
}

/// Whether to [`settle`] a kernel may take several compilations.
pub(crate) fn searches(prepared: &Prepared, plan: &Plan, counted: Counted) -> bool {
    plan.registers > 0
        && counted != Counted::No
        && kept(&prepared.kernel, &prepared.analysis, plan).wanted.iter().copied().fold(0, u32::saturating_add) > USUAL
}

/// Compiles a kernel for a plan with as many values in registers as are worth it; with the plan's own budget where that
/// is nothing, where there are no candidates, and where nobody counts registers.
///
/// # Errors
/// What `compile` says of the kernel without replacement, or of the only one.
pub(crate) fn settle<T>(
    prepared: &Prepared,
    plan: &Plan,
    counted: Counted,
    mut compile: impl FnMut(&Plan) -> Result<(KernelFacts, T), Error>,
) -> Result<Settled<T>, Error> {
    let wanted = kept(&prepared.kernel, &prepared.analysis, plan).wanted;
    if plan.registers == 0 || wanted.is_empty() || counted == Counted::No {
        let (facts, made) = compile(plan)?;
        let step = step(plan.registers, &wanted, &facts);
        return Ok(Settled { made, plan: plan.clone(), facts, steps: vec![step] });
    }
    let (steps, facts, (plan, made)) = search(&wanted, counted, |budget| {
        let plan = Plan { registers: budget, ..plan.clone() };
        let (facts, made) = compile(&plan)?;
        Ok((facts, (plan, made)))
    })?;
    Ok(Settled { made, plan, facts, steps })
}

fn step(budget: u32, wanted: &[u32], facts: &KernelFacts) -> Step {
    Step { budget, kept: taken(wanted, budget), registers: facts.registers, spilled: facts.spilled }
}

/// Compiles with one budget after the other; gives all steps, and the best one's facts and what it made.
fn search<T>(
    wanted: &[u32],
    counted: Counted,
    mut compile: impl FnMut(u32) -> Result<(KernelFacts, T), Error>,
) -> Result<(Vec<Step>, KernelFacts, T), Error> {
    // A few that fit at once would also fit beside what was found without them.
    let all = wanted.iter().copied().fold(0, u32::saturating_add);
    if all <= USUAL
        && counted == Counted::ToRun
        && let Ok((facts, made)) = compile(all)
        && facts.spilled == Some(0)
        && facts.registers.is_some_and(|registers| registers <= MOST)
    {
        return Ok((vec![step(all, wanted, &facts)], facts, made));
    }
    let mut found = compile(0)?;
    let mut steps = vec![step(0, wanted, &found.0)];
    while let Some(budget) = next_budget(&steps, wanted) {
        // A block of so many threads may not have so many registers: what is made stays.
        let Ok(next) = compile(budget) else { break };
        steps.push(step(budget, wanted, &next.0));
        if best(&steps) + 1 == steps.len() {
            found = next;
        }
    }
    Ok((steps, found.0, found.1))
}

/// Says what a plan keeps in registers, and in which loop.
pub(crate) fn describe(prepared: &Prepared, plan: &Plan, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (kernel, analysis) = (&prepared.kernel, &prepared.analysis);
    let kept = kept(kernel, analysis, plan);
    for queue in &kept.queues {
        let name = kernel.args.get(queue.arg).map_or("", |arg| &arg.name);
        let (values, registers) = (queue.along.1 - queue.along.0 + 1, queue.registers());
        writeln!(f, "  registers: `{name}` as a thread marches: {values} values, {registers} registers")?;
    }
    for row in &kept.carried {
        let name = kernel.args.get(row.arg).map_or("", |arg| &arg.name);
        let counter = analysis.loops.get(row.number as usize).map_or("", |info| &info.name);
        let (values, registers) = (row.along.1 - row.along.0 + 1, row.registers());
        let class = match Class::of(&row.index, kernel.rank) {
            Class::Uniform => "the same for neighbours",
            Class::Coalesced => "side by side",
            Class::Scattered => "scattered",
        };
        writeln!(
            f,
            "  registers: `{name}` in the loop over `{counter}`: {values} values, {registers} registers, {} reads an iteration \
             saved, {class}",
            row.saved
        )?;
    }
    let left = kept.wanted.len() - kept.queues.len() - kept.carried.len();
    match (kept.wanted.len(), left) {
        (0, _) => writeln!(f, "  registers: nothing that was read is kept"),
        (_, 0) => Ok(()),
        _ => writeln!(f, "  registers: {left} more candidates were left out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The budgets that are tried where the compiler answers so, and the number of the one that is kept.
    fn tried(wanted: &[u32], answer: impl Fn(u32) -> (Option<u32>, u32)) -> (Vec<u32>, usize) {
        let mut steps: Vec<Step> = Vec::new();
        while let Some(budget) = next_budget(&steps, wanted) {
            let kept = taken(wanted, budget);
            let (registers, spilled) = answer(kept);
            steps.push(Step { budget, kept, registers, spilled: Some(spilled) });
            assert!(steps.len() <= COMPILES);
        }
        (steps.iter().map(|step| step.kept).collect(), best(&steps))
    }

    #[test]
    fn all_candidates_are_taken_if_they_fit() {
        assert_eq!(tried(&[6, 6], |kept| (Some(30 + kept), 0)), (vec![0, 12], 1));
        // Nothing to keep: once without.
        assert_eq!(tried(&[], |_| (Some(30), 0)), (vec![0], 0));
    }

    #[test]
    fn what_is_left_goes_to_more_candidates() {
        // Every second register is one that the kernel had anyway, so that there is room for more than it seemed.
        let wanted = [20, 20, 20, 20, 20, 20];
        assert_eq!(tried(&wanted, |kept| (Some(70 + kept / 2), 0)), (vec![0, 60, 80], 2));
        // More than half of the registers to begin with, and no more with what is kept.
        assert_eq!(tried(&[30, 30, 30], |_| (Some(140), 0)), (vec![0, 60], 1));
    }

    #[test]
    fn too_many_are_taken_back() {
        // Each value takes more than it should.
        assert_eq!(tried(&[10; 8], |kept| (Some(60 + 2 * kept), 0)), (vec![0, 60, 30], 2));
        // Spills from 40 on.
        assert_eq!(tried(&[10; 8], |kept| (Some(50 + kept), kept.saturating_sub(30))), (vec![0, 70, 30], 2));
        // Spills whatever is kept.
        assert_eq!(tried(&[10; 8], |kept| (Some(50 + kept), kept)), (vec![0, 70, 30, 10], 0));
        // The kernel has no room by itself.
        assert_eq!(tried(&[2; 8], |kept| (Some(168 + kept), 0)), (vec![0, 16, 8, 4], 0));
        // It spills by itself, and no more with what it keeps.
        assert_eq!(tried(&[2, 2], |kept| (Some(100 + kept), 16)), (vec![0, 4], 1));
    }

    #[test]
    fn without_an_answer_the_usual_is_taken() {
        assert_eq!(tried(&[40, 20, 20, 4], |_| (None, 0)), (vec![0, 64], 1));
    }

    #[test]
    fn a_compilation_that_fails_ends_the_search() {
        let fails = |budget: u32| {
            let facts = KernelFacts { registers: Some(20), ..KernelFacts::default() };
            let error = Error::new(ErrorKind::Kernel, "load", "too many registers", "use fewer");
            if budget == 0 { Ok((facts, budget)) } else { Err(error) }
        };
        let (steps, facts, made) = search(&[6], Counted::ToRun, fails).unwrap();
        assert_eq!((steps.len(), facts.registers, made), (1, Some(20), 0));
    }

    #[test]
    fn a_few_candidates_that_fit_are_compiled_once() {
        let answer = |registers: u32, spilled: u32, counted: Counted| {
            let facts = KernelFacts { registers: Some(registers), spilled: Some(spilled), ..KernelFacts::default() };
            let mut budgets = Vec::new();
            let (steps, _, made) = search(&[6, 6], counted, |budget| {
                budgets.push(budget);
                Ok((facts, budget))
            })
            .unwrap();
            (budgets, steps.len(), made)
        };
        assert_eq!(answer(40, 0, Counted::ToRun), (vec![12], 1, 12));
        // To show what it took, and where it may not have fitted.
        assert_eq!(answer(40, 0, Counted::ToShow), (vec![0, 88], 2, 88));
        assert_eq!(answer(40, 8, Counted::ToRun), (vec![12, 0, 88], 2, 88));
        assert_eq!(answer(160, 0, Counted::ToRun), (vec![12, 0, 64], 2, 64));
    }

    #[test]
    fn what_plans_go_without_is_a_list() {
        let all = Without { dim: true, small: true, registers: true, ..Without::default() };
        assert_eq!(Without::from_list("no-dim, no-small,no-registers").unwrap(), all);
        assert_eq!(Without::from_list("").unwrap(), Without::default());
        let shape = Without::from_list("cells=8x4,block=8x32,strip=8,no-ahead").unwrap();
        let (cells, block, strip) = (Some([4, 8]), Some([32, 8, 1]), Some(8));
        assert_eq!(shape, Without { cells, block, strip, ahead: Some(false), ..Without::default() });
        let without = Without::from_list("no-planes,no-stream").unwrap();
        assert_eq!(without, Without { planes: true, stream: Some(false), ..Without::default() });
        assert_eq!(Without::from_list("no-ghosts").unwrap(), Without { ghosts: true, ..Without::default() });
        assert_eq!(Without::from_list("gpu").unwrap(), Without { gpu: true, ..Without::default() });
        for wrong in ["cells=16x16", "cells=0x1", "block=4x4x4x4", "strip=", "strip=x", "cells"] {
            assert!(Without::from_list(wrong).is_err(), "{wrong}");
        }
        let error = Without::from_list("no-dims").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("TIDA_PLAN") && error.found().contains("`no-dims`"), "{error}");
    }
}
