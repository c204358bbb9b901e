//! What a chain of recorded work becomes, whatever planned it: steps, each of what comes to the device, what runs, and
//! what goes to the host.
//!
//! Loads, runs and stores are three rows of commands, each in the order of the steps. Nothing but [`After`] orders one
//! row with another, and that the runs of a step come after its loads.
//!
//! A planner says which pieces of arrays move (`P`) and what runs (`R`): windows of planes
//! ([`schedule`](super::schedule::schedule)), or regions ([`regions`](super::regions::place)).

/// A step.
#[derive(Clone, Debug)]
pub(crate) struct Step<P, R> {
    /// What comes to the device, before what runs.
    pub loads: Vec<Move<P>>,
    /// What runs, in order.
    pub runs: Vec<R>,
    /// What that comes after, besides the loads of this step.
    pub runs_after: After,
    /// It runs on the host, and is waited for there.
    pub on_host: bool,
    /// What goes to the host. Stores are numbered from 0, through all steps.
    pub stores: Vec<Move<P>>,
}

/// A piece of an array that is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move<P> {
    pub piece: P,
    pub after: After,
}

/// Commands that come before another: those of these numbers, and all before them in their rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct After {
    /// The loads of the step of this number.
    pub load: Option<usize>,
    /// The runs of the step of this number.
    pub run: Option<usize>,
    /// The store of this number.
    pub store: Option<usize>,
}

impl After {
    /// What it is besides what something comes after anyway.
    pub fn besides(self, known: After) -> After {
        let more = |mine: Option<usize>, known: Option<usize>| mine.filter(|_| mine > known);
        let (load, run, store) =
            (more(self.load, known.load), more(self.run, known.run), more(self.store, known.store));
        After { load, run, store }
    }

    /// Both.
    pub fn and(self, other: After) -> After {
        let (load, run, store) = (self.load.max(other.load), self.run.max(other.run), self.store.max(other.store));
        After { load, run, store }
    }
}

impl<P, R> Default for Step<P, R> {
    fn default() -> Step<P, R> {
        let (loads, runs, stores) = Default::default();
        Step { loads, runs, runs_after: After::default(), on_host: false, stores }
    }
}

/// Marks of stores are at most so many steps apart.
const APART: usize = 8;

/// The stores whose ends are marked. A mark holds the link up for some microseconds, so not all are; but there is one
/// long before a store is waited for.
pub(crate) fn marked<P, R>(steps: &[Step<P, R>]) -> Vec<bool> {
    let of = |(number, step): (usize, &Step<P, R>)| step.stores.iter().map(move |_| number).collect::<Vec<_>>();
    let steps_of: Vec<usize> = steps.iter().enumerate().flat_map(of).collect();
    let waits = steps.iter().enumerate().flat_map(|(number, step)| {
        let afters = step.loads.iter().map(|load| load.after).chain([step.runs_after]);
        afters.filter_map(move |after| Some((number, after.store?)))
    });
    let nearest = waits.clone().map(|(number, store)| number.saturating_sub(steps_of[store])).min();
    let apart = nearest.map_or(APART, |nearest| (nearest / 4).clamp(1, APART));
    let is_last = |store: usize| steps_of.get(store + 1).is_none_or(|next| next / apart != steps_of[store] / apart);
    let mut marked: Vec<bool> = (0..steps_of.len()).map(is_last).collect();
    if apart == 1 {
        waits.for_each(|(_, store)| marked[store] = true);
    }
    marked
}

#[cfg(test)]
pub(super) mod machine;

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps as text, a word each: `2` stores, of which the last step has this number of the store that it waits for
    /// after `<`.
    fn steps(text: &str) -> Vec<Step<(), ()>> {
        let step = |word: &str| {
            let (stores, after) = word.split_once('<').unwrap_or((word, ""));
            let after = After { store: after.parse().ok(), ..After::default() };
            let stores = vec![Move { piece: (), after: After::default() }; stores.parse().unwrap()];
            Step { loads: vec![Move { piece: (), after }], stores, ..Step::default() }
        };
        text.split_whitespace().map(step).collect()
    }

    #[test]
    fn stores_are_marked_long_before_they_are_waited_for() {
        let check = |text: &str, expected: &str| {
            let marks: String = marked(&steps(text)).into_iter().map(|is| if is { '|' } else { '.' }).collect();
            assert_eq!(marks, expected, "{text}");
        };
        // Nobody waits: one mark for eight steps, and the last.
        check("1 1 1 1 1 1 1 1 1 1", ".......|.|");
        // Somebody waits in the next step: all steps end with one, and it comes after the store itself.
        check("2 0<0 3 1<4", "||..||");
        // Eight steps later: two steps have one.
        check("1 1 1 1 1 1 1 1 0<0", ".|.|.|.|");
        check("", "");
    }
}
