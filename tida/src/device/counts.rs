//! What an accelerator has done on its device, as numbers.

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

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Counts {
    /// So many bytes were copied to the device.
    pub fn upload(&self, bytes: usize) {
        add(&self.uploaded, bytes as u64);
    }

    /// So many bytes were copied from it.
    pub fn download(&self, bytes: usize) {
        add(&self.downloaded, bytes as u64);
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
