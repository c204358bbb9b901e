//! Where recorded work finds its arrays: what is tried, in order, as a function of sizes and of what streams already.

use std::fmt;

use smallvec::SmallVec;

/// How a chain moves arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As planes of their first axis, along which alone they are cut.
    #[default]
    Planes,
    /// As regions.
    Regions,
    /// They come from the host to stay on the device as a whole: as planes if the host wants results back.
    Arriving,
}

/// Sweeps recorded since its last use after which an array on the device gives way to arrays that could stream.
pub(crate) const IDLE: u64 = 64;

/// What is known of work before its place is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// It runs on the device.
    pub on_device: bool,
    /// Whether it may be a part of a chain: by planes, by regions, of arrays that arrive.
    pub can: [bool; 3],
    /// The open chain that works on one of its arrays.
    pub held: Option<Kind>,
    /// Bytes of its arrays on the device, and of those among them that it reads as a whole.
    pub bytes: u64,
    pub wholes: u64,
    /// Bytes that arrays may take there.
    pub budget: u64,
}

/// One way to place work. The first that finds room is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It joins the open chain, whose arrays stay where they are.
    Join(Kind),
    /// The open chain ends.
    End,
    /// It finds its arrays on the host.
    Host,
    /// Its arrays have room on the device as a whole, or get what is free.
    Whole,
    /// As [`Attempt::Whole`], after arrays have left that were not used for so many sweeps.
    After(u64),
    /// It opens a chain, or joins the open one. What it reads as a whole gets room beside.
    Stream(Kind),
    /// As [`Attempt::Whole`], after all other arrays have left and what is under way has ended.
    AfterOthers,
}

impl Facts {
    fn can(&self, kind: Kind) -> bool {
        self.on_device && self.can[kind as usize]
    }

    /// What is tried, in order. If nothing finds room, the work may find it when it runs.
    pub fn attempts(&self) -> SmallVec<[Attempt; 6]> {
        let mut attempts = SmallVec::new();
        match self.held {
            Some(Kind::Arriving) => {
                attempts.extend(self.can(Kind::Arriving).then_some(Attempt::Join(Kind::Arriving)));
                attempts.push(Attempt::End);
            }
            Some(kind) if self.can(kind) => attempts.push(Attempt::Join(kind)),
            _ => {}
        }
        if !self.on_device {
            attempts.push(Attempt::Host);
            return attempts;
        }
        attempts.push(Attempt::Whole);
        let kind = [Kind::Planes, Kind::Regions].into_iter().find(|kind| self.can(*kind));
        let fits = self.bytes <= self.budget;
        if fits {
            attempts.push(Attempt::After(if kind == Some(Kind::Planes) { IDLE } else { 0 }));
        }
        // Whole regions come and go only where arrays would never fit.
        let streams = kind.filter(|kind| *kind == Kind::Planes || !fits);
        // A chain has half of the memory at least.
        attempts.extend(streams.filter(|_| self.wholes <= self.budget / 2).map(Attempt::Stream));
        if fits {
            attempts.push(Attempt::AfterOthers);
        }
        attempts
    }
}

/// The kind of the chain that a fill of ghosts joins or opens, if it does: planes if the array can stream so, where the
/// open chain on it has no regions; regions if it can have them.
pub(crate) fn of_fill(held: Option<Kind>, by_planes: bool, by_regions: bool) -> Option<Kind> {
    match held {
        Some(Kind::Regions) => Some(Kind::Regions),
        _ if by_planes => Some(Kind::Planes),
        None if by_regions => Some(Kind::Regions),
        _ => None,
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Planes => "planes",
            Kind::Regions => "regions",
            Kind::Arriving => "arrays that arrive",
        })
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attempt::Join(kind) => write!(f, "in the open chain of {kind}"),
            Attempt::End => f.write_str("after the open chain has ended"),
            Attempt::Host => f.write_str("on the host"),
            Attempt::Whole => f.write_str("as a whole"),
            Attempt::After(0) => f.write_str("as a whole, after others have left"),
            Attempt::After(idle) => write!(f, "as a whole, after others have left that {idle} sweeps did not use"),
            Attempt::Stream(kind) => write!(f, "in a chain of {kind}"),
            Attempt::AfterOthers => f.write_str("as a whole, after all others have left"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Attempt, Facts, Kind, of_fill};

    /// Work on arrays of so many bytes in all and as a whole, of 100; `how` says whether it can go by planes (`p`),
    /// regions (`r`), arrive (`a`), runs on the host (`h`), and which chain is open (`P`, `R`, `A`).
    fn attempts(how: &str, bytes: u64, wholes: u64) -> String {
        let has = |letter: char| how.contains(letter);
        let open = [('P', Kind::Planes), ('R', Kind::Regions), ('A', Kind::Arriving)];
        let held = open.into_iter().find(|(letter, _)| has(*letter)).map(|(_, kind)| kind);
        let can = [has('p'), has('r'), has('a')];
        let facts = Facts { on_device: !has('h'), can, held, bytes, wholes, budget: 100 };
        facts.attempts().iter().map(Attempt::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn places_are_tried_in_order() {
        for (how, bytes, wholes, tried) in [
            // It fits: arrays that are idle give way, then all others, if it cannot stream meanwhile.
            (
                "pra",
                60,
                0,
                "as a whole; as a whole, after others have left that 64 sweeps did not use; in a chain of planes; \
                 as a whole, after all others have left",
            ),
            ("r", 60, 0, "as a whole; as a whole, after others have left; as a whole, after all others have left"),
            ("", 60, 0, "as a whole; as a whole, after others have left; as a whole, after all others have left"),
            // It does not fit.
            ("pr", 160, 0, "as a whole; in a chain of planes"),
            ("r", 160, 0, "as a whole; in a chain of regions"),
            ("", 160, 0, "as a whole"),
            // What is read as a whole takes at most half.
            ("p", 160, 50, "as a whole; in a chain of planes"),
            ("p", 160, 51, "as a whole"),
            // Chains that are open.
            ("pP", 160, 0, "in the open chain of planes; as a whole; in a chain of planes"),
            ("rP", 160, 0, "as a whole; in a chain of regions"),
            ("prR", 160, 0, "in the open chain of regions; as a whole; in a chain of planes"),
            ("aA", 160, 0, "in the open chain of arrays that arrive; after the open chain has ended; as a whole"),
            ("A", 160, 0, "after the open chain has ended; as a whole"),
            // On the host.
            ("hpr", 160, 0, "on the host"),
            ("hpA", 60, 0, "after the open chain has ended; on the host"),
        ] {
            assert_eq!(attempts(how, bytes, wholes), tried, "{how} {bytes} {wholes}");
        }
    }

    #[test]
    fn fills_join_what_streams() {
        use Kind::{Planes, Regions};
        for (held, planes, regions, kind) in [
            (Some(Regions), true, true, Some(Regions)),
            (Some(Planes), true, true, Some(Planes)),
            (Some(Planes), false, true, None),
            (None, true, true, Some(Planes)),
            (None, false, true, Some(Regions)),
            (None, false, false, None),
        ] {
            assert_eq!(of_fill(held, planes, regions), kind, "{held:?} {planes} {regions}");
        }
    }
}
