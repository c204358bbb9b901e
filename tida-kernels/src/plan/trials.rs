//! Plans that are worth a try beside the one that the model of costs chose, and which of those that were timed is
//! taken.
//!
//! Trials go in rounds, each around the best that was found so far: first what a thread does, then the shape of blocks.
//! A new kind of choice is a further field of [`Candidate`] and a further function in [`ROUNDS`].

use super::cache::Cache;

/// What a trial changes of the chosen plan; nothing for that plan itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Threads of a block along x, y and z.
    pub block: Option<[u32; 3]>,
    /// Cells along axis 0 that a thread takes.
    pub march: Option<u32>,
    /// How arguments are cached, by number.
    pub cache: Vec<(u8, Cache)>,
    /// Cells of a thread along x and y, where it has tiles.
    pub cells: Option<[u32; 2]>,
}

/// What trials depend on.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Cells of the largest box along each axis of the kernel.
    pub extent: &'a [i64],
    /// Whether the device is a GPU: others have caches and registers that no plan changes.
    pub gpu: bool,
    /// Whether it fetches by tensor maps.
    pub maps: bool,
    /// Most threads of a block.
    pub block_threads: u32,
    /// Threads along axis 0 would find something in registers, or have little to do.
    pub marches: bool,
    /// Arguments that can have tiles.
    pub tiled: &'a [u8],
    /// Some of them are walked by a loop.
    pub walks: bool,
    /// Cells beside one another and above one another share what is walked (see
    /// [`is_product`](super::cache::Sharing::is_product)).
    pub product: bool,
    /// Threads can have several cells (see [`coarse`](super::coarse)).
    pub coarse: bool,
    /// What was asked for by hand, and stays.
    pub fixed: Fixed,
}

/// What of a plan was asked for by hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// The threads of a block.
    pub block: bool,
    /// The march.
    pub march: bool,
    /// What is cached.
    pub cache: bool,
    /// How many cells a thread has.
    pub cells: bool,
}

/// Candidates of a round, given the best one so far. All rounds together have 15 at most.
pub type Round = fn(&Given<'_>, &Candidate) -> Vec<Candidate>;

/// The rounds, in order.
pub const ROUNDS: [Round; 2] = [ways, shapes];

/// Lengths of a march that are tried; 1 is none.
const MARCHES: [u32; 5] = [1, 4, 8, 16, 32];

/// How a thread reads: from registers as it marches, from tiles, or from memory.
fn ways(given: &Given<'_>, best: &Candidate) -> Vec<Candidate> {
    let mut all = Vec::new();
    if !given.gpu {
        return all;
    }
    let planes = given.extent.first().copied().unwrap_or(1);
    if given.marches && planes > 1 && !given.fixed.march {
        let fitting = MARCHES.into_iter().filter(|cells| i64::from(*cells) <= planes);
        all.extend(fitting.map(|cells| Candidate { march: Some(cells), ..best.clone() }));
    }
    if !given.tiled.is_empty() && !given.fixed.cache {
        let ahead = if given.maps { Cache::Tma } else { Cache::Preload };
        let hows = if given.walks { &[Cache::None, Cache::Tile, ahead][..] } else { &[Cache::Tile] };
        let with = |how: &Cache| given.tiled.iter().map(|arg| (*arg, *how)).collect();
        all.extend(hows.iter().map(|how| Candidate { cache: with(how), ..best.clone() }));
    }
    all
}

/// Shapes of blocks, those of a device that is no GPU as well.
fn shapes(given: &Given<'_>, best: &Candidate) -> Vec<Candidate> {
    if given.fixed.block {
        return Vec::new();
    }
    let tiles = best.cache.iter().all(|(_, how)| *how != Cache::None);
    let several = given.coarse && given.gpu && given.walks && tiles && !given.fixed.cells;
    let shapes: &[[u32; 3]] = match given.extent.len() {
        1 => &[[64, 1, 1], [128, 1, 1], [256, 1, 1], [512, 1, 1], [1024, 1, 1]],
        _ if !given.gpu => &[[16, 1, 1], [256, 1, 1], [32, 4, 1], [64, 4, 1]],
        2 if given.product && tiles => &[[16, 16, 1], [32, 32, 1], [32, 16, 1], [32, 8, 1], [64, 4, 1]],
        2 => &[[32, 8, 1], [64, 4, 1], [128, 2, 1], [256, 1, 1], [32, 4, 1], [64, 1, 1]],
        _ => &[[32, 8, 1], [64, 4, 1], [128, 2, 1], [256, 1, 1], [32, 4, 1], [64, 1, 1], [32, 4, 2]],
    };
    let along = |from_last: usize| {
        let cells = given.extent.len().checked_sub(from_last + 1).map_or(1, |axis| given.extent[axis]);
        cells.clamp(1, 1 << 30).unsigned_abs().next_power_of_two()
    };
    // Threads beyond the box have nothing to do.
    let fits = |shape: [u32; 3], [x, y]: [u32; 2]| {
        shape.iter().product::<u32>() <= given.block_threads
            && [shape[0] * x, shape[1] * y, shape[2]]
                .into_iter()
                .enumerate()
                .all(|(axis, cells)| u64::from(cells) <= along(axis))
    };
    let coarse: &[([u32; 3], [u32; 2])] = match given.extent.len() {
        _ if !several => &[],
        1 => &[([256, 1, 1], [2, 1]), ([128, 1, 1], [4, 1])],
        _ if !given.product => &[],
        _ => &SEVERAL,
    };
    let alone = if several && given.product { &[[32, 32, 1]][..] } else { shapes };
    let one = alone.iter().map(|shape| (*shape, [1, 1])).chain(coarse.iter().copied());
    let with = |(shape, cells): ([u32; 3], [u32; 2])| {
        let cells = if several { Some(cells) } else { best.cells };
        Candidate { block: Some(shape), cells, ..best.clone() }
    };
    one.filter(|(shape, cells)| fits(*shape, *cells)).map(with).collect()
}

/// Blocks of a product whose threads have several cells.
const SEVERAL: [([u32; 3], [u32; 2]); 6] = [
    ([16, 16, 1], [4, 8]),
    ([16, 8, 1], [4, 8]),
    ([32, 8, 1], [4, 8]),
    ([16, 16, 1], [8, 8]),
    ([16, 16, 1], [4, 4]),
    ([16, 16, 1], [2, 2]),
];

/// How many times as fast as the chosen plan another one has to be.
const GAIN: f64 = 1.02;

/// Times as long as the best that one run may take, to be run again.
const HOPELESS: f64 = 2.0;

/// The best of those that were timed, in seconds, and not dropped; the first one is the chosen plan.
pub fn best(seconds: &[Option<f64>]) -> usize {
    let timed = seconds.iter().enumerate().filter_map(|(n, seconds)| Some((n, (*seconds)?)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(n, _)| n)
}

/// Whether a plan is faster than the chosen one by more than noise.
pub fn gains(chosen: f64, other: f64) -> bool {
    other > 0.0 && chosen > other * GAIN
}

/// Whether a plan that took so long need not run again.
pub fn hopeless(seconds: f64, best: f64) -> bool {
    seconds > best * HOPELESS
}

/// Which of several kernels leave a device so idle that they need not run: those that hold fewer than a quarter of the
/// threads of the one that holds most. What is not known is not dropped.
pub fn idle(occupancy: &[Option<f32>]) -> Vec<bool> {
    let most = occupancy.iter().flatten().fold(0.0f32, |most, part| most.max(*part));
    occupancy.iter().map(|part| part.is_some_and(|part| part * 4.0 < most)).collect()
}

/// The extent that trials of a box hold for: each axis rounded up to a power of two.
pub fn bucket(cells: i64) -> u64 {
    cells.clamp(1, 1 << 62).unsigned_abs().next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Given<'static> = Given {
        extent: &[512, 512, 512],
        gpu: true,
        maps: false,
        block_threads: 1024,
        marches: true,
        tiled: &[],
        walks: false,
        product: false,
        coarse: false,
        fixed: Fixed { block: false, march: false, cache: false, cells: false },
    };

    fn all(given: &Given<'_>) -> Vec<Candidate> {
        ROUNDS.iter().flat_map(|round| round(given, &Candidate::default())).collect()
    }

    #[test]
    fn a_stencil_tries_marches_and_shapes() {
        let found = all(&GPU);
        let marches: Vec<u32> = found.iter().filter_map(|one| one.march).collect();
        assert_eq!(marches, [1, 4, 8, 16, 32]);
        let blocks: Vec<[u32; 3]> = found.iter().filter_map(|one| one.block).collect();
        assert_eq!(blocks.len(), 7);
        assert!(blocks.contains(&[32, 8, 1]) && blocks.contains(&[256, 1, 1]));
        assert!(found.iter().all(|one| one.cache.is_empty() && *one != Candidate::default()));
        // No longer than the box.
        let flat = all(&Given { extent: &[10, 512, 512], ..GPU });
        assert_eq!(flat.iter().filter_map(|one| one.march).collect::<Vec<_>>(), [1, 4, 8]);
    }

    #[test]
    fn a_product_tries_tiles() {
        let given = Given { extent: &[2048, 2048], marches: false, tiled: &[1, 2], walks: true, product: true, ..GPU };
        let found = all(&given);
        let hows: Vec<Vec<(u8, Cache)>> = found.iter().map(|one| one.cache.clone()).filter(|c| !c.is_empty()).collect();
        assert_eq!(hows, [Cache::None, Cache::Tile, Cache::Preload].map(|how| vec![(1, how), (2, how)]));
        let blocks: Vec<[u32; 3]> = found.iter().filter_map(|one| one.block).collect();
        assert!(blocks.contains(&[16, 16, 1]) && blocks.contains(&[32, 32, 1]), "{blocks:?}");
        let maps = all(&Given { maps: true, ..given });
        assert!(maps.len() == found.len() && maps.iter().any(|one| one.cache == [(1, Cache::Tma), (2, Cache::Tma)]));
        // With several cells a thread, and one.
        let several = ROUNDS[1](&Given { coarse: true, ..given }, &Candidate::default());
        assert_eq!(several.len(), 7);
        assert!(several.iter().any(|one| one.block == Some([16, 16, 1]) && one.cells == Some([4, 8])), "{several:?}");
        assert!(several.iter().any(|one| one.cells == Some([1, 1])), "{several:?}");
        // Shapes are those of the best way.
        let none = Candidate { cache: vec![(1, Cache::None), (2, Cache::None)], ..Candidate::default() };
        let shapes = ROUNDS[1](&given, &none);
        assert!(shapes.iter().all(|one| one.cache == none.cache && one.block != Some([32, 32, 1])));
        // What is read around the cell has tiles only if they gain.
        let around = all(&Given { tiled: &[1], ..GPU });
        assert_eq!(around.iter().filter(|one| !one.cache.is_empty()).count(), 1);
    }

    #[test]
    fn rounds_are_few_and_fit() {
        let tiles = Given { tiled: &[1, 2], walks: true, ..GPU };
        assert!(all(&tiles).len() <= 15, "{}", all(&tiles).len());
        assert!(all(&Given { coarse: true, product: true, ..tiles }).len() <= 15);
        for given in [Given { extent: &[8, 8], ..GPU }, Given { block_threads: 64, ..GPU }, Given { gpu: false, ..GPU }]
        {
            for one in all(&given) {
                let [x, y, z] = one.block.unwrap_or([1; 3]);
                assert!(x * y * z <= given.block_threads, "{one:?}");
                assert!(i64::from(x) <= given.extent[given.extent.len() - 1], "{one:?} of {given:?}");
                assert!(given.gpu || one.march.is_none(), "{one:?}");
            }
        }
        assert_eq!(all(&Given { extent: &[], ..GPU }), []);
        assert!(
            all(&Given { extent: &[1000], marches: false, ..GPU })
                .contains(&Candidate { block: Some([512, 1, 1]), ..Candidate::default() })
        );
    }

    #[test]
    fn what_was_asked_for_stays() {
        let tiles = Given { tiled: &[1, 2], walks: true, ..GPU };
        let fixed = |block, march, cache| all(&Given { fixed: Fixed { block, march, cache, cells: false }, ..tiles });
        assert!(fixed(true, false, false).iter().all(|one| one.block.is_none()));
        assert!(fixed(false, true, false).iter().all(|one| one.march.is_none()));
        assert!(fixed(false, false, true).iter().all(|one| one.cache.is_empty()));
        assert_eq!(fixed(true, true, true), []);
    }

    #[test]
    fn the_fastest_wins_by_more_than_noise() {
        assert_eq!(best(&[Some(3.0), None, Some(1.0), Some(2.0)]), 2);
        assert_eq!(best(&[None, None]), 0);
        assert_eq!(best(&[]), 0);
        assert!(gains(1.03, 1.0) && !gains(1.01, 1.0) && !gains(1.0, 2.0) && !gains(1.0, 0.0));
        assert!(hopeless(2.1, 1.0) && !hopeless(1.9, 1.0));
        assert_eq!(idle(&[Some(0.5), Some(0.1), None, Some(0.2)]), [false, true, false, false]);
        assert_eq!(idle(&[None]), [false]);
        assert_eq!([0, 1, 5, 512, 513].map(bucket), [1, 1, 8, 512, 1024]);
    }
}
