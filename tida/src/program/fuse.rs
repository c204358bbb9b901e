//! Which recorded steps follow one another on two arrays that alternate, so that several may run as one launch.

use tida_kernels::plan::fuse::LONGEST;

/// Sweeps each of which is like the one so many before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// Which one, of all that were.
    pub number: u64,
    /// Alternating kernels; 0 if the last sweep was like none before it.
    pub kernels: usize,
}

/// The two arrays that alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The array that is written, by what it is known by.
    pub out: usize,
    /// The one that is read around each cell.
    pub inp: usize,
    /// How far, along each of four axes.
    pub halo: [i64; 4],
    /// The sweeps that it is one of.
    pub cycle: Cycle,
}

impl Pair {
    /// Whether it is of the same arrays, with their parts exchanged.
    pub fn follows(&self, before: &Pair) -> bool {
        self.out == before.inp && self.inp == before.out
    }

    /// Whether an array is one of the two.
    pub fn has(&self, array: usize) -> bool {
        [self.out, self.inp].contains(&array)
    }
}

/// Faces beyond which ghosts are set by kernels, as bits: those of axis `n` of four are `2 n` and `2 n + 1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sides(u8);

impl Sides {
    /// One of them.
    pub fn one(side: usize) -> Sides {
        Sides(1 << side)
    }

    /// Those of both.
    pub fn and(self, other: Sides) -> Sides {
        Sides(self.0 | other.0)
    }

    /// Whether none is.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether one is among them.
    pub fn has(self, side: usize) -> bool {
        self.0 >> side & 1 == 1
    }

    /// As a number.
    pub fn bits(self) -> usize {
        self.0.into()
    }

    /// Whether all of others are among them.
    fn has_all(self, others: Sides) -> bool {
        self.0 & others.0 == others.0
    }
}

impl FromIterator<usize> for Sides {
    fn from_iter<I: IntoIterator<Item = usize>>(sides: I) -> Sides {
        sides.into_iter().fold(Sides::default(), |all, side| all.and(Sides::one(side)))
    }
}

/// What was recorded, for the question which steps follow one another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recorded<'a, B> {
    /// A sweep of alternating arrays, of this kernel (none if it is no step), over these boxes; the faces beyond which
    /// it computes ghosts of what it reads, and those beyond which it has ghosts set of what it leaves.
    Sweep { pair: Pair, kernel: Option<usize>, boxes: &'a B, set: [Sides; 2] },
    /// Ghosts of an array are set by kernels.
    Set(usize, Sides),
    /// A fill of an array's ghosts but for those of fixed value, which are there.
    Ghosts(usize),
    /// Anything else.
    Other,
}

/// Steps that follow one another, on the same boxes of alternating arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Following {
    /// Where each of them is.
    pub steps: Vec<usize>,
    /// Alternating kernels, as far as they are there.
    pub kernels: usize,
    /// The arrays of the first one, and how far any of them reads.
    pub pair: Pair,
    /// The ghosts of the array that a step leaves are filled before a next one that reads around its cells.
    pub filled: bool,
    /// So they are before every one, or before none.
    pub alike: bool,
    /// Beyond these faces kernels set the ghosts of what each of them leaves, and the step after it computes them.
    pub computed: Sides,
}

/// The steps that follow one another from the first on of what was recorded; nothing if that is none.
pub(crate) fn following<'a, B: PartialEq + 'a>(
    mut recorded: impl Iterator<Item = Recorded<'a, B>>,
) -> Option<Following> {
    let Some(Recorded::Sweep { pair: first, kernel, boxes, set: [computed, left] }) = recorded.next() else {
        return None;
    };
    let (mut steps, mut kernels, mut last) = (vec![0], vec![kernel], first);
    let (mut filled, mut between, mut halo, mut seen) = (None, false, first.halo, [false; 2]);
    let mut set = vec![left];
    for (number, one) in recorded.enumerate() {
        // No launch has more, and one step has to follow.
        if steps.len() > LONGEST as usize {
            break;
        }
        match one {
            Recorded::Ghosts(array) if array == last.out => between = true,
            Recorded::Set(array, sides) if array == last.out => {
                set.last_mut().into_iter().for_each(|of| *of = of.and(sides));
            }
            Recorded::Sweep { pair: next, kernel, boxes: others, set: [reads, leaves] } => {
                let same = next.halo == [0; 4] || *filled.get_or_insert(between) == between;
                let before = kernels.len().checked_sub(first.cycle.kernels).and_then(|n| kernels.get(n));
                let repeats = before.is_none_or(|before| before.is_some() && *before == kernel);
                if !same
                    || !next.follows(&last)
                    || next.cycle != first.cycle
                    || !repeats
                    || others != boxes
                    || reads != computed
                {
                    break;
                }
                seen[usize::from(between)] = true;
                (last, between) = (next, false);
                halo.iter_mut().zip(next.halo).for_each(|(most, halo)| *most = halo.max(*most));
                steps.push(number + 1);
                kernels.push(kernel);
                set.push(leaves);
            }
            _ => break,
        }
    }
    // What a launch leaves out of the ghosts of an array is set again after the step that follows it.
    while steps.len() > 1 && !set.last().is_none_or(|set| set.has_all(computed)) {
        (_, _, _) = (steps.pop(), kernels.pop(), set.pop());
    }
    let kernels = first.cycle.kernels.clamp(1, kernels.len());
    let (filled, alike) = (filled.unwrap_or(false), seen != [true; 2]);
    Some(Following { steps, kernels, pair: Pair { halo, ..first }, filled, alike, computed })
}

impl Following {
    /// Where the sweeps of the first steps are.
    pub fn sweeps(&self, steps: u32) -> &[usize] {
        self.steps.get(..self.kernels.max(steps as usize)).unwrap_or_default()
    }

    /// How many of what was recorded are the first steps and what lies between them; nothing of fewer than two.
    pub fn first(&self, steps: u32) -> Option<usize> {
        let last = self.steps.get((steps as usize).checked_sub(1)?)?;
        (steps > 1).then_some(last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cycle, Pair, Recorded, Sides, following};

    /// Recorded work as words: `ab` a sweep from `a` to `b`, `ab1` one of another kernel, `ab/` over other boxes, `ab.`
    /// one that reads its own cell alone, `ab<` one that computes ghosts, `ab>` one that has them set of what it
    /// leaves, `+b` a kernel that sets those of `b`, `=b` a fill of the ghosts of `b`, `x` anything else.
    /// `kernels` alternate.
    fn steps(kernels: usize, words: &str) -> String {
        let boxes = [0, 1];
        let sweep = |word: &str| {
            let [inp, out, rest @ ..] = word.as_bytes() else { return Recorded::Other };
            let halo = if rest.contains(&b'.') { [0; 4] } else { [0, 1, 1, 1] };
            let pair = Pair { out: (*out).into(), inp: (*inp).into(), halo, cycle: Cycle { number: 1, kernels } };
            let kernel = rest.iter().find(|byte| byte.is_ascii_digit()).map_or(0, |byte| usize::from(*byte));
            let boxes = &boxes[usize::from(rest.contains(&b'/'))];
            let set = [b'<', b'>'].map(|side| if rest.contains(&side) { Sides::one(7) } else { Sides::default() });
            Recorded::Sweep { pair, kernel: Some(kernel), boxes, set }
        };
        let recorded = words.split(' ').map(|word| match word.as_bytes() {
            [b'=', array] => Recorded::Ghosts((*array).into()),
            [b'+', array] => Recorded::Set((*array).into(), Sides::one(7)),
            _ => sweep(word),
        });
        following(recorded).map_or("none".into(), |found| {
            let how = match (found.filled, found.alike) {
                (true, true) => "filled",
                (false, true) => "plain",
                (true, false) => "filled at times",
                (false, false) => "plain at times",
            };
            format!("{:?} of {}, {how}", found.steps, found.kernels)
        })
    }

    #[test]
    fn steps_follow_one_another() {
        for (kernels, words, found) in [
            (1, "ab ba ab", "[0, 1, 2] of 1, plain"),
            (1, "ab =b ba =a ab", "[0, 2, 4] of 1, filled"),
            // A fill before some steps and not before others ends them; not if those read their own cells alone.
            (1, "ab =b ba ab", "[0, 2] of 1, filled"),
            (2, "ab =b ba1. =a ab", "[0, 2, 4] of 2, filled"),
            (2, "ab ba1. =a ab", "[0, 1, 3] of 2, filled at times"),
            // Of other arrays, over other boxes, of another kernel.
            (1, "ab bc", "[0] of 1, plain"),
            (1, "ab ab", "[0] of 1, plain"),
            (1, "ab ba/", "[0] of 1, plain"),
            (1, "ab ba1", "[0] of 1, plain"),
            // Alternating kernels.
            (2, "ab ba1 ab ba1 ab", "[0, 1, 2, 3, 4] of 2, plain"),
            (2, "ab ba1 ab1", "[0, 1] of 2, plain"),
            (3, "ab ba1", "[0, 1] of 2, plain"),
            // Ghosts that kernels set: after each step that counts, also after the one that follows a launch.
            (1, "ab<> ba<> ab<> ba<", "[0, 1, 2] of 1, plain"),
            (1, "ab< +b ba< +a ab< +b", "[0, 2, 4] of 1, plain"),
            (1, "ab< +b ba< +a ab<", "[0, 2] of 1, plain"),
            (1, "ab< +a ba< +a ab<", "[0] of 1, plain"),
            (1, "ab> ba<> ab<>", "[0] of 1, plain"),
            (1, "ab<> ba> ab<>", "[0] of 1, plain"),
            // Other work between, and a fill of the array that is overwritten next.
            (1, "ab x ba", "[0] of 1, plain"),
            (1, "ab =a ba", "[0] of 1, plain"),
            (1, "=b ba", "none"),
            (1, "x ab", "none"),
        ] {
            assert_eq!(steps(kernels, words), found, "{words}");
        }
    }

    #[test]
    fn no_launch_has_more_than_the_longest() {
        let words = vec!["ab ba"; 100].join(" ");
        let all = steps(1, &words);
        assert!(all.starts_with("[0, 1, 2") && all.len() < 300, "{all}");
    }
}
