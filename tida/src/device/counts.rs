//! What an accelerator has done on its device, as numbers.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::timeline::Stats;

/// Counts of what was done: those of [`Stats`].
#[derive(Debug, Default)]
pub(crate) struct Counts {
    uploaded: AtomicU64,
    downloaded: AtomicU64,
    strips: AtomicU64,
    launches: AtomicU64,
    evictions: AtomicU64,
    passes: AtomicU64,
    steps: AtomicU64,
    fused: AtomicU64,
    fused_steps: AtomicU64,
    joined: AtomicU64,
    rounds: AtomicU64,
    trials: AtomicU64,
}

/// What was done in some time by one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub launches: u64,
    pub joined: u64,
    pub uploaded: u64,
    pub downloaded: u64,
}

thread_local! {
    /// What this thread has done, on all devices.
    static TALLY: Cell<Tally> = const { Cell::new(Tally { launches: 0, joined: 0, uploaded: 0, downloaded: 0 }) };
}

impl Tally {
    /// What the calling thread has done so far.
    pub fn so_far() -> Tally {
        TALLY.get()
    }

    /// What it has done since.
    pub fn since(before: &Tally) -> Tally {
        let now = TALLY.get();
        Tally {
            launches: now.launches - before.launches,
            joined: now.joined - before.joined,
            uploaded: now.uploaded - before.uploaded,
            downloaded: now.downloaded - before.downloaded,
        }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Tally::default()
    }

    pub fn add(&mut self, more: &Tally) {
        self.launches += more.launches;
        self.joined += more.joined;
        self.uploaded += more.uploaded;
        self.downloaded += more.downloaded;
    }

    fn note(more: Tally) {
        let mut all = TALLY.get();
        all.add(&more);
        TALLY.set(all);
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Counts {
    /// So many bytes were copied to the device.
    pub fn upload(&self, bytes: usize) {
        add(&self.uploaded, bytes as u64);
        Tally::note(Tally { uploaded: bytes as u64, ..Tally::default() });
    }

    /// So many bytes were copied from it.
    pub fn download(&self, bytes: usize) {
        add(&self.downloaded, bytes as u64);
        Tally::note(Tally { downloaded: bytes as u64, ..Tally::default() });
    }

    /// So many bytes came from the device of another place.
    pub fn strips(&self, bytes: usize) {
        add(&self.strips, bytes as u64);
    }

    /// Bytes copied to the device and from it so far.
    pub fn copied(&self) -> (u64, u64) {
        (self.uploaded.load(Ordering::Relaxed), self.downloaded.load(Ordering::Relaxed))
    }

    /// Kernels were put into a stream for so many pieces of recorded work.
    pub fn launch(&self, pieces: u64) {
        add(&self.launches, pieces);
        Tally::note(Tally { launches: pieces, ..Tally::default() });
    }

    /// A run was timed to choose a plan.
    pub fn trial(&self) {
        add(&self.trials, 1);
    }

    /// Data left the device's memory to make room for arrays that do not fit.
    pub fn eviction(&self) {
        add(&self.evictions, 1);
    }

    /// A pass over arrays that do not fit, in which so many steps are done.
    pub fn pass(&self, steps: u64) {
        add(&self.passes, 1);
        add(&self.steps, steps);
    }

    /// A launch that does so many steps.
    pub fn fused(&self, steps: u32) {
        add(&self.fused, 1);
        add(&self.fused_steps, u64::from(steps));
    }

    /// Sweeps done in the launch of one before them.
    pub fn joined(&self, sweeps: u64) {
        add(&self.joined, sweeps);
        Tally::note(Tally { joined: sweeps, ..Tally::default() });
    }

    /// A round of a program that repeats itself.
    pub fn round(&self) {
        add(&self.rounds, 1);
    }

    /// All of them.
    pub fn stats(&self) -> Stats {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (h2d_bytes, d2h_bytes) = self.copied();
        Stats {
            h2d_bytes,
            d2h_bytes,
            strip_bytes: of(&self.strips),
            launches: of(&self.launches),
            evictions: of(&self.evictions),
            passes: of(&self.passes),
            steps: of(&self.steps),
            fused: of(&self.fused),
            fused_steps: of(&self.fused_steps),
            joined: of(&self.joined),
            rounds: of(&self.rounds),
            trials: of(&self.trials),
            ..Stats::default()
        }
    }
}
