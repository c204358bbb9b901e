//! Which tiles have room in the memory that the threads of a block share.

use super::Plan;
use super::cache::{LINES, Scope, Sharing, Tile, Walk};
use super::coarse::SHORTEST;
use crate::ir::Kernel;

/// Fewest iterations of a strip.
pub const SHORT: u32 = 4;
/// Iterations of a strip below which an argument rather goes without a tile: shorter rows are fractions of a memory's
/// lines.
const NARROW: u32 = 16;

impl Tile {
    /// Accesses to memory that it saves a block: reads that it serves, less what is fetched.
    fn saved(&self, walk: Option<&Walk>, rank: usize, plan: &Plan) -> i64 {
        let fetched: i64 = self.extent(walk, rank, plan.span(), plan.width).iter().product();
        (self.served(walk, plan.span(), plan.width) - fetched).max(0)
    }
}

impl Sharing {
    /// A plan whose tiles take at most `room` bytes: strips become shorter, and then those arguments that need not be
    /// cached (`keep`) go without, first those whose tiles save the fewest accesses for each byte (Lashgar §7.3).
    ///
    /// # Errors
    /// The bytes of what is to be kept, at the shortest strips.
    pub fn fit(&self, kernel: &Kernel, mut plan: Plan, room: u64, keep: impl Fn(usize) -> bool) -> Result<Plan, u64> {
        let full = plan.width;
        loop {
            let scopes = self.planned(kernel, &plan);
            let tagged = 8 * LINES * self.tagged(kernel, &plan).len() as u64;
            let bytes = scopes.iter().map(|scope| scope.bytes(kernel, &plan)).fold(tagged, u64::saturating_add);
            if bytes <= room {
                return Ok(plan);
            }
            let walks = scopes.iter().any(|scope| scope.walk.is_some());
            let narrow = if plan.cells_of_thread() == [1, 1] { NARROW } else { SHORTEST };
            let least = least(kernel, &plan, &scopes, &keep).filter(|_| !walks || plan.width <= full.min(narrow));
            match least.filter(|_| plan.cache.len() > 1) {
                Some(arg) => {
                    plan.cache.retain(|cached| usize::from(cached.arg) != arg);
                    plan.width = full;
                }
                None if walks && plan.width > SHORT => plan.width /= 2,
                None => return Err(bytes),
            }
        }
    }
}

/// The argument that saves the fewest accesses for each byte, of those that need not be kept.
fn least(kernel: &Kernel, plan: &Plan, scopes: &[Scope], keep: impl Fn(usize) -> bool) -> Option<usize> {
    let worth = |arg: usize| {
        let tiles = scopes.iter().flat_map(|scope| scope.tiles.iter().map(move |tile| (scope.walk.as_ref(), tile)));
        let mine = tiles.filter(|(_, tile)| tile.arg == arg);
        mine.fold((0, 0), |(saved, bytes), (walk, tile)| {
            (
                saved + i128::from(tile.saved(walk, kernel.rank, plan)),
                bytes + i128::from(tile.bytes(walk, kernel, plan)),
            )
        })
    };
    let all = (0..kernel.args.len()).filter(|arg| !keep(*arg)).map(|arg| (arg, worth(arg)));
    let held = all.filter(|(_, (_, bytes))| *bytes > 0);
    held.min_by_key(|(_, (saved, bytes))| saved.saturating_mul(1 << 20) / bytes).map(|(arg, _)| arg)
}
