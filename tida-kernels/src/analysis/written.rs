//! Which components of the cell `at` a path has written.

use super::{Interval, NormalForm, Symbol};

/// Arguments with more components than this never count as written.
const MAX_COMPONENTS: usize = 1 << 16;
/// Beyond this many facts new ones are forgotten.
const MAX_FACTS: usize = 256;
/// Loops of more iterations are not unrolled.
const MAX_TRIPS: i64 = 4096;

/// Run-time entries of a component: index, stride in components, number of entries.
pub(super) type Dynamic = Vec<(NormalForm, u32, u32)>;

/// What every path to here has written at `at`.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// By argument and component.
    components: Vec<Vec<bool>>,
    /// Components that the variables of surrounding loops choose, such as `next[at][q]`.
    facts: Vec<Fact>,
}

#[derive(Clone, Debug, PartialEq)]
struct Fact {
    arg: usize,
    base: u32,
    dynamic: Dynamic,
}

impl Written {
    /// Nothing; takes the number of components of each argument, `None` where it is too large to count.
    pub fn nothing(counts: impl Iterator<Item = Option<usize>>) -> Written {
        let components = counts.map(|n| vec![false; n.filter(|n| *n <= MAX_COMPONENTS).unwrap_or(0)]).collect();
        Written { components, facts: Vec::new() }
    }

    /// Every component of the argument is written.
    pub fn all(&self, arg: usize) -> bool {
        self.components.get(arg).is_some_and(|c| !c.is_empty() && c.iter().all(|w| *w))
    }

    /// The component is written; `dynamic` is `None` if an entry is not in normal form.
    pub fn has(&self, arg: usize, base: u32, dynamic: Option<&Dynamic>) -> bool {
        if self.all(arg) {
            return true;
        }
        match dynamic {
            Some(d) if d.is_empty() => {
                self.components.get(arg).and_then(|c| c.get(base as usize)).copied().unwrap_or(false)
            }
            Some(d) => self.facts.iter().any(|f| f.arg == arg && f.base == base && f.dynamic == *d),
            None => false,
        }
    }

    /// Adds a write.
    pub fn add(&mut self, arg: usize, base: u32, dynamic: Dynamic) {
        let constant = dynamic.iter().try_fold(base as i64, |sum, (form, stride, len)| {
            let entry = form.as_constant().filter(|e| (0..*len as i64).contains(e))?;
            sum.checked_add(entry.checked_mul(*stride as i64)?)
        });
        if let Some(n) = constant {
            let components = self.components.get_mut(arg).map(Vec::as_mut_slice).unwrap_or_default();
            if let Some(written) = usize::try_from(n).ok().and_then(|n| components.get_mut(n)) {
                *written = true;
            }
            return;
        }
        let fact = Fact { arg, base, dynamic };
        if self.facts.len() < MAX_FACTS && !self.facts.contains(&fact) {
            self.facts.push(fact);
        }
    }

    /// What both have.
    pub fn meet(&mut self, other: &Written) {
        for (mine, theirs) in self.components.iter_mut().zip(&other.components) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a &= *b);
        }
        self.facts.retain(|f| other.facts.contains(f));
    }

    /// Leaves loop `n`: facts about its variable hold for each of `values` if given (all of them were run through to
    /// the end), else they are dropped.
    pub fn close_loop(&mut self, n: u32, values: Option<Interval>) {
        let symbol = Symbol::Loop(n);
        let (closing, open): (Vec<Fact>, Vec<Fact>) = std::mem::take(&mut self.facts)
            .into_iter()
            .partition(|f| f.dynamic.iter().any(|(form, ..)| form.coefficient(symbol) != 0));
        self.facts = open;
        let Some(values) = values.filter(|v| v.hi.checked_sub(v.lo).is_some_and(|d| d < MAX_TRIPS)) else { return };
        for fact in closing {
            for value in values.lo..=values.hi {
                let dynamic = fact.dynamic.iter().map(|(form, s, l)| Some((form.substitute(symbol, value)?, *s, *l)));
                if let Some(dynamic) = dynamic.collect() {
                    self.add(fact.arg, fact.base, dynamic);
                }
            }
        }
    }
}
