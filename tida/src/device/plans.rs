//! What is asked for of plans, and what trials found: as data, which the device keeps and those who plan read.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use smallvec::SmallVec;
use tida_kernels::plan::cache::Cache;
use tida_kernels::plan::fuse::{Asked, Faces, Parts};
use tida_kernels::plan::{Math, Plan};

/// Most arguments that can be told of.
pub(crate) const MOST: usize = 16;

/// How a loop says that arguments are to be cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Hints {
    of: [Option<Cache>; MOST],
    /// An argument that no kernel has.
    beyond: Option<usize>,
}

impl Hints {
    /// Adds one.
    pub fn set(&mut self, arg: usize, how: Cache) {
        match self.of.get_mut(arg) {
            Some(place) => *place = Some(how),
            None => self.beyond = Some(arg),
        }
    }

    /// How an argument is to be cached.
    pub fn get(&self, arg: usize) -> Option<Cache> {
        self.of.get(arg).copied().flatten()
    }

    /// The arguments that are told of, and how.
    pub fn all(&self) -> impl Iterator<Item = (usize, Cache)> + '_ {
        self.of.iter().enumerate().filter_map(|(arg, how)| Some((arg, (*how)?)))
    }

    /// Whether some argument is to be fetched ahead.
    pub fn are_ahead(&self) -> bool {
        self.of.iter().flatten().any(|how| how.is_ahead())
    }

    /// The last argument that is told of.
    pub fn last(&self) -> Option<usize> {
        self.beyond.or_else(|| self.of.iter().rposition(Option::is_some))
    }

    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.last().is_none()
    }
}

/// What an accelerator asks of all its plans.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlansAsked {
    /// How kernels compute floats.
    pub math: Math,
    /// Cells along the first axis that a thread takes, where a loop does not say.
    pub march: Option<u32>,
    /// Plans are found by timed trials.
    pub tune: bool,
    /// What plans go without.
    pub without: Without,
    /// How many steps run as one launch.
    pub fuse: Asked,
}

/// What is asked for of a plan; the rest is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Wish {
    /// Threads of a block.
    pub block: Option<[u32; 3]>,
    /// Cells along the first axis that a thread takes.
    pub march: Option<u32>,
    /// What is to be cached.
    pub cache: Hints,
    /// Cells of a thread along x and y, where it has tiles.
    pub cells: Option<[u32; 2]>,
}

/// What plans go without, to see what it is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Without {
    /// Index arithmetic that arguments of one layout share (SAFARA's `dim`).
    pub dim: bool,
    /// Positions of 32 bits (SAFARA's `small`).
    pub small: bool,
    /// Values kept in registers.
    pub registers: bool,
    /// Cells of a thread along x and y where it has tiles, with [1, 1] one alone.
    pub cells: Option<[u32; 2]>,
    /// Threads of a block, of all kernels.
    pub block: Option<[u32; 3]>,
    /// Iterations of a strip where threads have several cells, and whether strips are fetched ahead.
    pub strip: Option<u32>,
    pub ahead: Option<bool>,
    /// Planes that blocks share.
    pub planes: bool,
    /// Single steps that compute the ghosts that kernels set.
    pub ghosts: bool,
    /// Whether what sweeps write goes past the caches.
    pub stream: Option<bool>,
    /// That the OpenCL device is no GPU: kernels are planned as on one.
    pub gpu: bool,
}

/// What a winner is found by in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TrialKey {
    /// Identity of what was analysed.
    pub analysed: usize,
    /// What the user asked for.
    pub asked: Wish,
    /// The plainest plan: how the arrays lie, how floats are computed.
    pub plain: Plan,
    pub bucket: Bucket,
}

/// About what size of work trials were for: powers of two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bucket {
    /// The largest box, along the axes of the kernel.
    pub extent: SmallVec<[u64; 4]>,
    /// Cells of all boxes.
    pub cells: u64,
    /// Iterations of the loops that walk along arguments; 0 where that is not known.
    pub trips: SmallVec<[u64; 2]>,
}

/// What trials found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Winner {
    pub wish: Wish,
    /// How many times as fast as the chosen plan; 1 for that plan itself.
    pub gain: f64,
}

/// What a winner is found by in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StepsKey {
    /// Identity of what was analysed.
    pub analysed: usize,
    /// The box, each axis rounded up to a power of two.
    pub extent: SmallVec<[u64; 4]>,
    pub faces: Faces,
    /// What was asked for by hand.
    pub asked: Parts,
    pub math: Math,
}

/// What trials found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepsWinner {
    /// What is asked for from now on; one step is what runs by itself.
    pub parts: Parts,
    /// How many times as fast as what was chosen; 1 for that itself.
    pub gain: f64,
}

/// What timed trials found.
#[derive(Debug)]
pub(crate) struct Found<K, W>(pub(super) Mutex<HashMap<K, Arc<OnceLock<W>>>>);

impl<K: Eq + Hash + Clone, W: Copy> Found<K, W> {
    /// What was found for this, or the place for it.
    pub fn of(&self, key: &K) -> Arc<OnceLock<W>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(key) {
            return known.clone();
        }
        all.entry(key.clone()).or_default().clone()
    }

    /// All that was found.
    pub fn all(&self) -> Vec<(K, W)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(|(key, winner)| Some((key.clone(), *winner.get()?))).collect()
    }
}
