//! The choice of a plan, as far as a model of costs can make it.
//!
//! The numbers here were measured on one H200: docs/decisions/0012-march.md.

use super::march::Saving;
use super::wide::Beside;

/// What the choice depends on of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of the cache that all of them share.
    pub cache: u64,
    /// What reads cost.
    pub latency: Latency,
}

/// What a read costs the thread that waits for it, by the class of its access (SAFARA §III-B3), in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Latency {
    /// From memory that the threads of a block share.
    pub shared: u32,
    /// From the cache next to the threads.
    pub cached: u32,
    /// From memory, where the threads of a warp read neighbouring values.
    pub coalesced: u32,
    /// From memory, where each thread of a warp reads a line of its own.
    pub scattered: u32,
}

impl Latency {
    /// Where nothing was measured: those of one H100 (docs/papers/ipmacc.md).
    pub const TYPICAL: Latency = Latency { shared: 12, cached: 17, coalesced: 365, scattered: 431 };
}

/// The boxes of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Boxes<'a> {
    /// Cells of the largest one, along each axis of the kernel.
    pub extent: &'a [i64],
    /// Cells of all of them.
    pub cells: u64,
    /// Bytes of a cell in all arrays.
    pub bytes: u64,
}

/// Threads that a multiprocessor holds at once.
const HELD: u64 = 2048;

/// Cells of the shortest march: what a loop unrolled by 4 takes at once.
const SHORTEST: i64 = 4;

/// Cells of a march where nothing speaks for more: more leave blocks that end together.
const SHORT: i64 = 8;

/// Cells of a march with several cells side by side, where what is read before the first one is decoded too, or is
/// much.
const DECODED: i64 = 16;

/// Cells of a march where the planes at the ends of a stretch come from memory a second time.
const LONG: i64 = 32;

/// Cells of the longest march.
const LONGEST: i64 = 64;

/// Cells of a march whose threads have cells side by side that read alike.
const ALIKE: u32 = 2;

/// Of so many reads a march has to save more than one: it lost 4 % where it saved one in five, of four arrays of `f64`
/// (docs/decisions/0012-march.md).
const READS: u32 = 5;

/// Most bytes of a cell that leave a thread without enough loads under way. Those of four cells are enough, of eight
/// where a cell has this many at most.
const LIGHT: u64 = 12;
const LIGHTEST: u64 = 4;

/// How many cells along axis 0 a thread should take, and how many side by side, if a march is worth it: over two or
/// three axes, if it saves more than one read in five or a cell moves few bytes, and leaves threads enough to fill
/// the device.
/// Side by side a thread has those that it may have, or 1 where too few threads would be left.
pub fn march(machine: &Machine, saving: &Saving, boxes: &Boxes<'_>, beside: &Beside) -> Option<(u32, u32)> {
    if beside.alike && has_room(machine, boxes, ALIKE, beside) {
        return Some((ALIKE, beside.cells));
    }
    if beside.cells > 1
        && !beside.alike
        && let Some(cells) = stretch(machine, saving, boxes, beside)
        && has_room(machine, boxes, cells, beside)
    {
        return Some((cells, beside.cells));
    }
    Some((stretch(machine, saving, boxes, &Beside::ONE)?, 1))
}

/// Whether what a sweep writes should go past the cache that all multiprocessors share: where that cannot hold what the
/// sweep moves, so that nobody finds there what was written, and what is read needs the room.
pub fn streams(machine: &Machine, boxes: &Boxes<'_>) -> bool {
    boxes.cells.saturating_mul(boxes.bytes) > machine.cache
}

/// How many cells along axis 0 a thread should take, if a march is worth it, where it has so many cells beside each.
fn stretch(machine: &Machine, saving: &Saving, boxes: &Boxes<'_>, beside: &Beside) -> Option<u32> {
    let (&planes, across) = boxes.extent.split_first()?;
    let keeps = saving.suits && saving.saved * READS > saving.reads;
    let light = saving.light && boxes.bytes <= LIGHT;
    if !(keeps || light) || !(1..=2).contains(&across.len()) || planes < SHORTEST {
        return None;
    }
    let mut cells = if keeps || boxes.bytes <= LIGHTEST { SHORT } else { SHORTEST };
    // What is read before the first cell is little beside what is read on the way.
    let on_the_way = i64::from((saving.reads - saving.saved).max(1));
    while keeps && cells < LONGEST && i64::from(saving.first) * 6 > cells * on_the_way {
        cells *= 2;
    }
    // A stretch starts with planes that the stretch before it ended with: are they in the cache still?
    let plane = across.iter().map(|n| (*n).max(0).unsigned_abs()).product::<u64>() * boxes.bytes;
    if keeps && beside.stencil.is_none() && plane * cells.unsigned_abs() > machine.cache / 4 * 3 {
        cells = cells.max(LONG);
    }
    let decodes = beside.handed && beside.stencil.is_none();
    // Of a wide stencil the planes before the first cell are to be few beside all that a cell moves.
    let far = beside.stencil.is_some_and(|stencil| u64::from(stencil.before) >= 4 * boxes.bytes);
    if keeps && (decodes || far) {
        cells = cells.max(DECODED);
    }
    let wave = u64::from(machine.multiprocessors) * held(beside);
    let threads = |cells: i64| {
        let stretches = planes.unsigned_abs().div_ceil(cells.unsigned_abs());
        boxes.cells * stretches / planes.unsigned_abs().max(1) / u64::from(beside.cells.max(1))
    };
    while cells > SHORT && threads(cells) < 3 * wave {
        cells /= 2;
    }
    while cells > SHORTEST && threads(cells) * 10 < 9 * wave {
        cells /= 2;
    }
    if threads(cells) * 10 < 9 * wave {
        return None;
    }
    // Stretches of about one length, a multiple of what is taken at once.
    let stretches = ((planes + cells / 2) / cells).max(1);
    let even = (planes + stretches - 1) / stretches;
    u32::try_from((even + SHORTEST - 1) / SHORTEST * SHORTEST).ok()
}

/// Whether threads are left to fill the device three times where each takes `march` cells, and so many beside each.
pub fn has_room(machine: &Machine, boxes: &Boxes<'_>, march: u32, beside: &Beside) -> bool {
    let wave = u64::from(machine.multiprocessors) * held(beside);
    boxes.cells / (u64::from(march) * u64::from(beside.cells)).max(1) >= 3 * wave
}

/// Threads that a multiprocessor holds at once: of wide stencils few, which have many registers.
fn held(beside: &Beside) -> u64 {
    let stencil = beside.stencil.filter(|_| beside.cells > 1);
    stencil.map_or(HELD, |stencil| stencil.threads.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Machine = Machine { multiprocessors: 132, cache: 60 << 20, latency: Latency::TYPICAL };
    const HEAT: Saving = Saving { reads: 7, saved: 2, first: 2, registers: 6, suits: true, light: true };

    fn chosen(saving: Saving, extent: &[i64], boxes: u64, bytes: u64) -> Option<u32> {
        let cells = boxes * extent.iter().product::<i64>().unsigned_abs();
        let boxes = Boxes { extent, cells, bytes };
        march(&H200, &saving, &boxes, &Beside::ONE).map(|(march, side)| {
            assert_eq!(side, 1);
            march
        })
    }

    #[test]
    fn cells_side_by_side_march_further() {
        let chosen = |saving: Saving, beside: Beside, extent: &[i64], bytes: u64| {
            let cells = extent.iter().product::<i64>().unsigned_abs();
            march(&H200, &saving, &Boxes { extent, cells, bytes }, &beside)
        };
        let two = Beside { cells: 2, handed: true, shared: true, ..Beside::ONE };
        assert_eq!(chosen(HEAT, two, &[512, 512, 512], 8), Some((16, 2)));
        assert_eq!(chosen(HEAT, two, &[512, 512, 512], 4), Some((16, 2)));
        assert_eq!(chosen(HEAT, two, &[256, 1024, 1024], 8), Some((32, 2)));
        // As far as threads are left, else one cell each.
        assert_eq!(chosen(HEAT, two, &[256, 256, 256], 8), Some((8, 2)));
        assert_eq!(chosen(HEAT, two, &[128, 128, 128], 8), Some((8, 1)));
        assert_eq!(chosen(HEAT, two, &[64, 64, 64], 8), None);
        // Where nothing is handed on a march is for the loads under way.
        let sum = Saving { reads: 2, saved: 0, first: 0, registers: 0, suits: true, light: true };
        let four = Beside { cells: 4, ..Beside::ONE };
        assert_eq!(chosen(sum, four, &[16384, 16384], 6), Some((4, 4)));
    }

    #[test]
    fn cells_that_read_alike_are_side_by_side() {
        let alike = |cells| Beside { cells, alike: true, ..Beside::ONE };
        let prolong = Saving { reads: 1, saved: 0, first: 0, registers: 0, suits: true, light: true };
        let chosen = |saving: Saving, cells: u32, extent: &[i64], bytes: u64| {
            let all = extent.iter().product::<i64>().unsigned_abs();
            march(&H200, &saving, &Boxes { extent, cells: all, bytes }, &alike(cells))
        };
        assert_eq!(chosen(prolong, 2, &[256, 256, 256], 8), Some((2, 2)));
        // Whatever else the cell moves.
        assert_eq!(chosen(Saving { reads: 9, light: false, ..prolong }, 4, &[4096, 4096], 80), Some((2, 4)));
        // Few cells are as without.
        assert_eq!(chosen(prolong, 2, &[128, 128, 128], 8), Some((4, 1)));
        assert_eq!(chosen(prolong, 2, &[64, 64, 64], 16), None);
    }

    #[test]
    fn lengths_are_those_that_were_fastest() {
        assert_eq!(chosen(HEAT, &[512, 512, 512], 1, 16), Some(8));
        assert_eq!(chosen(HEAT, &[512, 512, 512], 1, 8), Some(8));
        assert_eq!(chosen(HEAT, &[32, 512, 512], 16, 16), Some(8));
        assert_eq!(chosen(HEAT, &[128, 128, 128], 1, 16), Some(8));
        // Planes that no cache holds.
        assert_eq!(chosen(HEAT, &[256, 1024, 1024], 1, 16), Some(32));
        assert_eq!(chosen(HEAT, &[16, 1024, 1024], 1, 16), Some(16));
        assert_eq!(chosen(HEAT, &[8, 1024, 1024], 1, 16), Some(8));
        // Nine columns of three values.
        let cube = Saving { reads: 27, saved: 18, first: 18, registers: 54, suits: true, light: true };
        assert_eq!(chosen(cube, &[512, 512, 512], 1, 16), Some(32));
        assert_eq!(chosen(cube, &[384, 384, 384], 1, 16), Some(16));
        assert_eq!(chosen(Saving { reads: 5, ..HEAT }, &[16384, 16384], 1, 16), Some(8));
    }

    #[test]
    fn cells_of_few_bytes_march_without_registers() {
        let sum = Saving { reads: 2, saved: 0, first: 0, registers: 0, suits: true, light: true };
        assert_eq!(chosen(sum, &[4096, 4096], 1, 12), Some(4));
        assert_eq!(chosen(Saving { suits: false, ..sum }, &[4096, 4096], 1, 2), Some(8));
        assert_eq!(chosen(sum, &[4096, 4096], 1, 24), None);
        assert_eq!(chosen(Saving { light: false, ..sum }, &[4096, 4096], 1, 12), None);
        // Too few threads would be left.
        assert_eq!(chosen(sum, &[512, 512], 1, 12), None);
    }

    #[test]
    fn stretches_are_even() {
        assert_eq!(chosen(HEAT, &[9, 1024, 1024], 8, 16), Some(12));
        assert_eq!(chosen(HEAT, &[5, 1024, 1024], 8, 16), Some(8));
        assert_eq!(chosen(HEAT, &[70, 1024, 1024], 8, 16), Some(36));
    }

    #[test]
    fn what_gains_nothing_does_not_march() {
        // Nothing saved, little saved.
        let none = Saving { saved: 0, first: 0, registers: 0, ..HEAT };
        assert_eq!(chosen(none, &[512, 512, 512], 1, 16), None);
        assert_eq!(chosen(Saving { reads: 17, ..HEAT }, &[512, 512, 512], 1, 16), None);
        assert_eq!(chosen(Saving { reads: 5, saved: 1, first: 1, ..HEAT }, &[8191, 8191], 1, 24), None);
        assert!(chosen(Saving { reads: 13, saved: 3, first: 3, ..HEAT }, &[512, 512, 512], 1, 40).is_some());
        // Kernels and shapes that were slower.
        assert_eq!(chosen(Saving { suits: false, ..HEAT }, &[512, 512, 512], 1, 16), None);
        assert_eq!(chosen(HEAT, &[64, 64, 96, 128], 1, 16), None);
        // Too few planes, too few cells.
        assert_eq!(chosen(HEAT, &[3, 1024, 1024], 1, 16), None);
        assert_eq!(chosen(HEAT, &[64, 64, 64], 1, 16), None);
        assert_eq!(chosen(HEAT, &[64, 64, 64], 64, 16), Some(8));
        assert_eq!(chosen(HEAT, &[1 << 20], 1, 16), None);
        assert_eq!(chosen(HEAT, &[0, 0, 0], 1, 16), None);
        assert_eq!(chosen(HEAT, &[], 1, 16), None);
    }
}
