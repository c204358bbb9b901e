//! How launches are cut of kernels that have nothing of the user's in them, and what those are called.

/// Of reductions.
pub mod fold {
    /// Threads along x of a block of `fold_values` and `fold_tree_twice`.
    pub const FOLD_THREADS: u32 = 128;

    /// Groups of 64 that such a block folds: the grid has `groups.div_ceil(FOLD_GROUPS)` blocks along x.
    pub const FOLD_GROUPS: u64 = 32;
}

/// Of scans.
pub mod scan {
    /// Threads along x of a block of `scan_sums` and `scan_cells`.
    pub const THREADS: u32 = 32;

    /// Cells of a row that such a block has.
    pub const TILE: u32 = THREADS * 64;

    /// Threads along x of a block of `scan_lines`: one for each sum of a block of 64 such sums.
    pub const LINE_THREADS: u32 = 64;

    /// Most cells of a row that such a block takes.
    pub const LONGEST: i64 = 64 * 64 * 64;
}

/// Of what packs for the link.
pub mod link {
    /// Threads of a block.
    pub const THREADS: u32 = 256;
    /// Values that a thread codes.
    const CODES: u32 = 8;
    /// Values that a block codes.
    pub const BLOCK_CODES: u32 = THREADS * CODES;
    /// Frames, or ends of planes, that a block packs: one a warp.
    pub const BLOCK_FRAMES: u32 = THREADS / 32;

    /// Source text of two kernels, [`PACK`] and [`UNPACK`], which take the same arguments.
    ///
    /// Of codes: `(values, stage, first, step, stage_first, stage_step, count)`: memory of values and of codes;
    /// position of the first value, from a plane to the next; the same in codes; values of a plane. A block for each
    /// [`BLOCK_CODES`] of a plane along x, planes along y.
    ///
    /// Of frames:
    /// `(values, stage, first, step, stage_first, stage_step, tail, frames, rate, rest, rest_step, apart, apart_at)`:
    /// as before, in the stage in bytes; values before the first frame of a plane, which come first; frames; bytes of a
    /// slot, a multiple of 128; addresses of the memory of the host for what has no room (`rest` of the first plane's
    /// first frame, and the next plane's so many bytes further), and for the first four bytes of such frames: those of
    /// a plane that starts at byte `at` of its region lie from `at / 4096 * 4` on. A block for each [`BLOCK_FRAMES`] of
    /// `frames`, and one more item where there is a tail.
    #[derive(Clone, Debug)]
    pub struct LinkSource {
        /// The whole text.
        pub text: String,
    }

    /// From values to the stage.
    pub const PACK: &str = "tida_pack";
    /// From the stage to values.
    pub const UNPACK: &str = "tida_unpack";
}
