//! Tiles: what they cover.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use std::collections::HashMap;
use tida::prelude::*;

fn acc() -> TileAcc {
    TileAcc::builder().threads(1).build().unwrap()
}

fn cells<const D: usize>(b: GridBox<D>) -> Vec<[i64; D]> {
    let mut all = vec![[0; D]];
    for d in 0..D {
        all = all
            .into_iter()
            .flat_map(|at| {
                (b.lo[d]..b.hi[d]).map(move |x| {
                    let mut at = at;
                    at[d] = x;
                    at
                })
            })
            .collect();
    }
    all
}

#[test]
fn tiles_are_regions_by_default() {
    let u = TileArray::<f64, 3>::builder([4, 3, 130]).regions([2, 1, 2]).ghost(1).build(&acc()).unwrap();
    let tiles: Vec<_> = TileIter::new(&u).collect();
    assert_eq!(tiles.len(), 4);
    for (r, tile) in tiles.iter().enumerate() {
        assert_eq!((tile.region(), Some(tile.cells()), tile.device()), (r, u.region_box(r), None));
    }
    assert!(u.tiles().device(Device::Cpu).all(|t| t.device() == Some(Device::Cpu)));
}

#[test]
fn tiles_hold_no_borrow() {
    let mut u = TileArray::<f64, 1>::builder([10]).build(&acc()).unwrap();
    for tile in u.tiles().tile_size([3]) {
        u.write_box(tile.cells(), &vec![1.0; tile.cells().cells()]).unwrap();
    }
    assert_eq!(u.to_ndarray().unwrap().sum(), 10.0);
}

#[test]
fn ghosts_alone_can_be_asked_for() {
    let u = TileArray::<f64, 2>::builder([4, 70]).regions([2, 2]).ghost(2).build(&acc()).unwrap();
    let tiles: Vec<_> = u.tiles().grown(1).within([-1, 0], [0, 70]).map(|t| (t.region(), t.cells())).collect();
    let wanted = [(0, GridBox::new([-1, 0], [0, 65])), (1, GridBox::new([-1, 63], [0, 70]))];
    assert_eq!(tiles, wanted);
}

#[test]
fn extreme_asks_do_not_overflow() {
    let u = TileArray::<f64, 2>::builder([4, 70]).regions([2, 2]).ghost(2).build(&acc()).unwrap();
    assert_eq!(u.tiles().tile_size([usize::MAX, 0]).grown(usize::MAX).count(), u.tiles().tile_size([4, 1]).count());
    assert_eq!(u.tiles().within([i64::MIN; 2], [i64::MAX; 2]).count(), 4);
    assert_eq!(u.tiles().within([i64::MAX; 2], [i64::MIN; 2]).count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_cell_wanted_is_in_one_tile_of_its_region(
        shape in [1usize..6, 1usize..6, 1usize..140],
        regions in [1usize..4, 1usize..4, 1usize..4],
        faces in any::<[bool; 3]>(),
        size in prop::option::of([1usize..4, 1usize..7, 1usize..80]),
        within in prop::option::of([[-3i64..8, -3i64..8], [-3i64..8, -3i64..8], [-3i64..145, -3i64..145]]),
        grown in 0usize..3,
    ) {
        let regions = [regions[0].min(shape[0]), regions[1].min(shape[1]), regions[2].min(shape[2].div_ceil(64))];
        let build = || TileArray::<u8, 3>::builder(shape).regions(regions)
            .centering(faces.map(|f| if f { Centering::Face } else { Centering::Cell }));
        let acc = acc();
        let plain = build().build(&acc).unwrap();
        let ghost: [usize; 3] = std::array::from_fn(|d| {
            let cells = |r| plain.region_box(r).unwrap().extent()[d] - (faces[d] && plain.region_box(r).unwrap().lo[d] == 0) as usize;
            (0..plain.regions()).map(cells).min().unwrap().min(2)
        });
        let u = build().ghost(ghost).build(&acc).unwrap();
        let mut tiles = u.tiles().grown(grown);
        if let Some(size) = size {
            tiles = tiles.tile_size(size);
        }
        let within = within.map(|w| GridBox::new(w.map(|w| w[0]), w.map(|w| w[1])));
        if let Some(w) = within {
            tiles = tiles.within(w.lo, w.hi);
        }
        let mut count = tiles.len();
        let mut seen: HashMap<(usize, [i64; 3]), usize> = HashMap::new();
        for tile in tiles.clone() {
            count -= 1;
            prop_assert!(!tile.cells().is_empty());
            for at in cells(tile.cells()) {
                *seen.entry((tile.region(), at)).or_default() += 1;
            }
            if let (Some(size), 0) = (size, grown) {
                let low = u.region_box(tile.region()).unwrap().lo;
                for d in 0..3 {
                    prop_assert!(tile.cells().extent()[d] <= size[d]);
                    let (first, last) = (tile.cells().lo[d] - low[d], tile.cells().hi[d] - 1 - low[d]);
                    prop_assert_eq!(first / size[d] as i64, last / size[d] as i64, "tiles count from the low corner");
                }
            }
        }
        prop_assert_eq!(count, 0);
        let mut wanted = HashMap::new();
        for r in 0..u.regions() {
            let g = ghost.map(|g| g.min(grown) as i64);
            let all = u.region_box(r).unwrap().grown(g, g);
            for at in cells(all).into_iter().filter(|at| within.is_none_or(|w| w.contains(*at))) {
                wanted.insert((r, at), 1);
            }
        }
        prop_assert_eq!(seen, wanted);
    }
}
