//! Ghosts that sweeps do not read, but the cells whose values they are to have: whoever reads ghosts finds what a fill
//! leaves, bit for bit, and a loop of sweeps and fills launches none.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::Fuse;
use tida::prelude::*;

use tida_tests::{on_a_device, on_cpu, unhurried, value};

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 3],
    regions: usize,
    ghost: [[usize; 2]; 3],
    faces: [bool; 3],
    kinds: [[u8; 2]; 3],
    march: Option<usize>,
    format: Format,
    steps: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let formats =
        vec![Format::Raw, Format::Raw, Format::Half, Format::F32, Format::Range { bits: 16, min: -9.0, max: 9.0 }];
    let shape = [1usize..9, 1usize..9, 1usize..40];
    // Most faces are of kinds that sweeps know.
    let kinds = any::<[[u8; 2]; 3]>().prop_map(|kinds| kinds.map(|sides| sides.map(|kind| kind % 16)));
    let ghost = any::<[[u8; 2]; 3]>().prop_map(|all| all.map(|sides| sides.map(|n| 1 + n as usize % 5 / 3)));
    let faces = any::<[u8; 3]>().prop_map(|faces| faces.map(|n| n % 8 == 0));
    let march = proptest::option::of(2usize..6);
    (shape, 1usize..4, ghost, faces, kinds, march, prop::sample::select(formats), 1usize..5).prop_map(
        |(shape, regions, ghost, faces, kinds, march, format, steps)| {
            let ghost: [[usize; 2]; 3] = std::array::from_fn(|d| ghost[d].map(|n| n.min(shape[d])));
            let thinnest = ghost[0][0].max(ghost[0][1]);
            let regions = regions.min(shape[0] / thinnest).max(1);
            Case { shape, regions, ghost, faces, kinds, march, format, steps }
        },
    )
}

impl Case {
    fn build<T: Element>(&self, acc: &TileAcc, fixed: T) -> TileArray<T, 3> {
        let centering = self.faces.map(|face| if face { Centering::Face } else { Centering::Cell });
        let mut builder = TileArray::<T, 3>::builder(self.shape)
            .regions([self.regions, 1, 1])
            .ghost(self.ghost)
            .centering(centering)
            .storage(self.format);
        for (d, kinds) in self.kinds.into_iter().enumerate() {
            let of = |kind: u8| match kind {
                0..=2 => Boundary::Fixed(fixed),
                3 => Boundary::ReflectOdd,
                4 if self.shape[d] > 1 => Boundary::Extrapolate(1),
                5 => Boundary::Open,
                4..=8 => Boundary::Extrapolate(0),
                _ => Boundary::ReflectEven,
            };
            let [low, high] = if kinds[0] % 2 == 0 { [Boundary::Periodic; 2] } else { kinds.map(of) };
            builder = builder.boundary_face(d, Side::Low, low).boundary_face(d, Side::High, high);
        }
        builder.build(acc).unwrap()
    }

    fn tiles<T: Element>(&self, u: &TileArray<T, 3>) -> TileIter<3> {
        let tiles = TileIter::new(u);
        if let Some(cells) = self.march { tiles.march(cells) } else { tiles }
    }
}

/// The bits of all that memory holds, ghosts too.
fn grown<T: Element, S: tida::array::ScalarElement + Into<f64>>(u: &TileArray<T, 3>, components: usize) -> Vec<u64> {
    let mut bits = Vec::new();
    for region in 0..u.regions() {
        for component in 0..components {
            let read = |view: ndarray::ArrayView3<'_, S>| {
                view.iter().map(|x| <S as Into<f64>>::into(*x).to_bits()).collect::<Vec<_>>()
            };
            bits.extend(u.with_grown_component::<S, _>(region, component, read).unwrap());
        }
    }
    bits
}

/// Steps with edges and corners, a way out of the cell, a loop, and a sweep in place.
fn scalars(acc: &TileAcc, case: &Case) -> Vec<u64> {
    let mut u = case.build::<f64>(acc, 0.75);
    u.fill(|at| value(3, at)).unwrap();
    let mut next = u.like().unwrap();
    next.fill(|at| value(4, at)).unwrap();
    for step in 0..case.steps {
        u.fill_ghosts().unwrap();
        for tile in case.tiles(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    if (at[0] + at[2]) % 5 == 1 {
                        return;
                    }
                    let mut sum = u[at] + u[at - [1, 1, 1]] + u[at + [1, 1, 1]] + u[at + [0, 1, -1]];
                    for n in 0..3 {
                        if sum > 3.9 + n as f64 * 0.1 {
                            next[at] = sum * 0.25;
                            return;
                        }
                        sum = sum * 0.5 + u[at - [0, 0, 1]] + u[at + [1, 0, 0]];
                    }
                    next[at] = sum * 0.375;
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
        if step % 2 == 1 {
            u.fill_ghosts().unwrap();
            for tile in case.tiles(&u) {
                compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + 0.25)).unwrap();
            }
        }
    }
    u.fill_ghosts().unwrap();
    grown::<f64, f64>(&u, 1)
}

/// Many components, each from another neighbour.
fn vectors(acc: &TileAcc, case: &Case) -> Vec<u64> {
    let mut f = case.build::<[f32; 13]>(acc, [0.5; 13]);
    f.fill(|at| std::array::from_fn(|n| value(n as u64, at) as f32)).unwrap();
    let mut next = f.like().unwrap();
    for _ in 0..case.steps {
        f.fill_ghosts().unwrap();
        for tile in case.tiles(&f) {
            compute(
                &tile,
                (&mut next, &f),
                kernel!(|next, f, at| {
                    next[at][0] = f[at][0] * 0.5 + 0.25;
                    next[at][1] = f[at - [1, 0, 0]][1];
                    next[at][2] = f[at + [1, 0, 0]][2];
                    next[at][3] = f[at - [0, 1, 0]][3];
                    next[at][4] = f[at + [0, 1, 0]][4];
                    next[at][5] = f[at - [0, 0, 1]][5];
                    next[at][6] = f[at + [0, 0, 1]][6] * 0.5;
                    next[at][7] = f[at + [1, 1, -1]][7];
                    next[at][8] = f[at - [1, -1, 1]][8];
                    next[at][12] = f[at + [0, -1, 0]][12];
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut f, &mut next);
    }
    f.fill_ghosts().unwrap();
    grown::<[f32; 13], f32>(&f, 13)
}

fn check(case: &Case) {
    for fuse in [Fuse::Off, Fuse::Auto, Fuse::Steps(3)] {
        let Some(acc) = on_a_device(TileAcc::builder().fuse(fuse)) else { return };
        let cpu = on_cpu();
        assert_eq!(scalars(&acc, case), scalars(&cpu, case), "{case:?}");
        let case = Case { format: if case.format == Format::F32 { Format::Half } else { case.format }, ..case.clone() };
        assert_eq!(vectors(&acc, &case), vectors(&cpu, &case), "{case:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn sweeps_that_read_inside_give_the_bits_of_a_fill(case in case()) {
        check(&case);
    }
}

/// Periodic, mirrored and fixed.
fn usual() -> Case {
    Case {
        shape: [6, 5, 20],
        regions: 1,
        ghost: [[1, 2], [1, 1], [2, 1]],
        faces: [false; 3],
        kinds: [[0; 2], [15, 6], [0; 2]],
        march: None,
        format: Format::Raw,
        steps: 4,
    }
}

#[test]
fn every_form_of_a_sweep_reads_inside() {
    for march in [None, Some(3)] {
        for (format, regions) in [(Format::Raw, 1), (Format::Half, 1), (Format::Raw, 3), (Format::Half, 3)] {
            check(&Case { march, format, regions, ..usual() });
        }
    }
    check(&Case { kinds: [[15, 1], [1, 15], [0; 2]], ..usual() });
    check(&Case { kinds: [[0; 2], [1, 1], [1, 1]], ..usual() });
}

/// Steps with a fill after each: launches, and what is left in both arrays, ghosts too.
fn counted(
    acc: &TileAcc,
    case: &Case,
    steps: u64,
    step: impl Fn(&Tile<3>, &mut TileArray<f64, 3>, &TileArray<f64, 3>) -> tida::Result<()>,
) -> (u64, Vec<u64>) {
    let mut u = case.build::<f64>(acc, 0.75);
    u.fill(|at| value(3, at)).unwrap();
    let mut next = u.like().unwrap();
    // Ghosts of fixed value are set once.
    next.fill_ghosts().unwrap();
    u.fill_ghosts().unwrap();
    acc.sync().unwrap();
    let before = acc.stats().launches;
    for _ in 0..steps {
        for tile in case.tiles(&u) {
            step(&tile, &mut next, &u).unwrap();
        }
        next.fill_ghosts().unwrap();
        std::mem::swap(&mut u, &mut next);
    }
    acc.sync().unwrap();
    let launches = acc.stats().launches - before;
    (launches, [grown::<f64, f64>(&u, 1), grown::<f64, f64>(&next, 1)].concat())
}

/// Launches of a number of steps.
fn launches(case: &Case, steps: u64) -> Option<u64> {
    let acc = on_a_device(unhurried().fuse(Fuse::Off))?;
    let step = |tile: &Tile<3>, next: &mut TileArray<f64, 3>, u: &TileArray<f64, 3>| {
        compute(tile, (next, u), kernel!(|next, u, at| next[at] = u[at - [1, 1, 1]] + u[at + [1, 0, 0]]))
    };
    Some(counted(&acc, case, steps, step).0)
}

#[test]
fn a_fill_before_a_sweep_launches_nothing() {
    let Some(found) = launches(&usual(), 8) else { return };
    assert_eq!(found, 8);
    assert_eq!(launches(&Case { regions: 3, ..usual() }, 8), Some(8));
    // Twice the distance to the next cell is no cell's value.
    let odd = Case { kinds: [[0; 2], [3, 3], [0; 2]], ..usual() };
    assert_eq!(launches(&odd, 8), Some(16));
    let line = Case { kinds: [[0; 2], [15, 15], [5, 15]], ..usual() };
    assert_eq!(launches(&line, 8), Some(16));
}

#[test]
fn sweeps_of_two_arrays_read_inside_of_both() {
    let run = |acc: &TileAcc| {
        let case = usual();
        let mut u = case.build::<f64>(acc, 0.75);
        let mut v = case.build::<f64>(acc, 0.5);
        u.fill(|at| value(5, at)).unwrap();
        v.fill(|at| value(6, at)).unwrap();
        let (mut next_u, mut next_v) = (u.like().unwrap(), v.like().unwrap());
        tida::fill_ghosts([&mut u, &mut v, &mut next_u, &mut next_v]).unwrap();
        acc.sync().unwrap();
        let before = acc.stats().launches;
        for _ in 0..4 {
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next_u, &u, &v),
                    kernel!(|next, u, v, at| next[at] = 0.5 * u[at + [1, 1, 0]] + 0.5 * v[at - [1, 0, 1]]),
                )
                .unwrap();
                compute(&tile, (&mut next_v, &u, &v), kernel!(|next, u, v, at| next[at] = u[at - [0, 1, 0]] * v[at]))
                    .unwrap();
            }
            tida::fill_ghosts((&mut next_u, &mut next_v)).unwrap();
            std::mem::swap(&mut u, &mut next_u);
            std::mem::swap(&mut v, &mut next_v);
        }
        acc.sync().unwrap();
        let launches = acc.stats().launches - before;
        (launches, [grown::<f64, f64>(&u, 1), grown::<f64, f64>(&v, 1)].concat())
    };
    // By themselves, and the two sweeps of a step as one.
    let expected = run(&on_cpu()).1;
    for (join, count) in [(false, 8), (true, 4)] {
        let Some(acc) = on_a_device(unhurried().fuse(Fuse::Off).join(join)) else { return };
        let (launches, found) = run(&acc);
        assert!(launches == count && found == expected, "{launches}");
    }
}

#[test]
fn a_sweep_over_a_part_has_ghosts_filled() {
    let run = |acc: &TileAcc| {
        let mut u = usual().build::<f64>(acc, 0.75);
        u.fill(|at| value(5, at)).unwrap();
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u).tile_size([2, 5, 20]).skip(1) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 2.0 * u[at])).unwrap();
        }
        u.fill_ghosts().unwrap();
        grown::<f64, f64>(&u, 1)
    };
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    assert_eq!(run(&acc), run(&on_cpu()));
}

/// Periodic, mirrored, the nearest cell, fixed, and some of each.
#[test]
fn steps_in_one_launch_read_inside() {
    let kinds = [[[0; 2]; 3], [[15; 2]; 3], [[7; 2]; 3], [[15; 2], [0; 2], [7; 2]], [[1; 2], [15, 7], [1, 15]]];
    for kinds in kinds {
        let case = Case { shape: [12, 20, 40], ghost: [[1; 2]; 3], kinds, ..usual() };
        // Steps before rounds are known, and those after that, would not run together.
        let Some(acc) = on_a_device(unhurried().fuse(Fuse::Steps(3)).rounds(false)) else { return };
        let run = |acc: &TileAcc| {
            counted(acc, &case, 32, |tile, next, u| {
                compute(
                    tile,
                    (next, u),
                    kernel!(|next, u, at| next[at] = 0.25
                        * (u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 0, 1]] + u[at + [0, 0, 1]])
                        + 0.125 * (u[at + [1, 0, 0]] - u[at - [0, 1, 0]])
                        + 0.0625 * u[at]),
                )
            })
        };
        let ((launches, found), (_, expected)) = (run(&acc), run(&on_cpu()));
        let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(differs, None, "{kinds:?}");
        // Ten of three steps, and two steps by themselves.
        assert_eq!((acc.stats().fused, launches), (10, 12), "{kinds:?}");
    }
}

/// The bits of an array. Ghosts between regions that are not filled are what any device makes of them.
fn all_of(case: &Case, u: &mut TileArray<f64, 3>) -> Vec<u64> {
    if case.regions > 1 {
        u.fill_ghosts().unwrap();
    }
    grown::<f64, f64>(u, 1)
}

/// Does something with three arrays; what is seen of them goes into `seen`. Bits of `op` say what: which arrays, what,
/// and whether ghosts are filled then.
fn act(case: &Case, arrays: &mut Vec<TileArray<f64, 3>>, op: u16, seen: &mut Vec<u64>) {
    let (to, by) = (usize::from(op % 3), usize::from(op / 3 % 2) + 1);
    let mut next = arrays.remove(to);
    let u = &mut arrays[by - 1];
    u.fill_ghosts().unwrap();
    match op / 6 % 13 {
        0 => {
            for tile in case.tiles(u) {
                compute(
                    &tile,
                    (&mut next, &*u),
                    kernel!(|next, u, at| next[at] = 0.5 * u[at - [1, 1, 1]] + 0.5 * u[at]),
                )
                .unwrap();
            }
        }
        1 => {
            for tile in TileIter::new(&*u) {
                let two = |next: &mut TileArray<f64, 3>, u: &TileArray<f64, 3>| {
                    compute(&tile, (next, u), kernel!(|next, u, at| next[at] = 0.75 * u[at + [1, 0, 1]] + 0.25 * u[at]))
                };
                two(&mut next, u).unwrap();
            }
        }
        // The place changes on its way.
        2 => {
            for tile in TileIter::new(&*u) {
                compute(
                    &tile,
                    (&mut next, &*u),
                    kernel!(|next, u, at| {
                        let mut k = at[2] + 1;
                        k -= 2;
                        if u[at] > 0.9 {
                            next[at] = 0.5 * u[[at[0] + 1, at[1], k]] + 0.5 * u[at];
                        }
                    }),
                )
                .unwrap();
            }
        }
        3 => {
            for tile in TileIter::new(&next) {
                compute(&tile, &mut next, kernel!(|u, at| u[at] = 0.5 * u[at] + 0.5)).unwrap();
            }
        }
        4 => {
            for tile in TileIter::new(&*u).tile_size([2, 3, 20]).skip(1) {
                compute(&tile, (&mut next, &*u), kernel!(|next, u, at| next[at] = u[at + [0, 1, 0]])).unwrap();
            }
        }
        5 => seen.push(reduce(&*u, Max, kernel!(|u, at| u[at - [1, 0, 1]] * u[at])).unwrap().to_bits()),
        6 => next = u.try_clone().unwrap(),
        7 => seen.extend(all_of(case, &mut next)),
        8 => {
            next.fill_ghosts().unwrap();
            for tile in TileIter::new(&next).grown(1) {
                compute(&tile, &mut next, kernel!(|u, at| u[at] = 0.25 * u[at] + 0.75)).unwrap();
            }
        }
        9 => {
            for tile in TileIter::new(&*u).within([1, 1, 1], [4, 4, 9]) {
                compute(&tile, (&mut next, &*u), kernel!(|next, u, at| next[at] = u[at - [1, 0, 1]])).unwrap();
            }
        }
        10 => {
            for tile in TileIter::new(&*u).march(2) {
                compute(&tile, (&mut next, &*u), kernel!(|next, u, at| next[at] = u[at - [1, 1, 1]])).unwrap();
            }
        }
        11 => next.copy_from(u).unwrap(),
        _ => next.with_region_mut(0, |mut view| view[[0, 0, 0]] = 1.25).unwrap(),
    }
    // Of what the host changed, a sweep that overwrites it would not bring the ghosts, which have no value then.
    if (op / 78).is_multiple_of(2) || op / 6 % 13 == 12 {
        next.fill_ghosts().unwrap();
    }
    arrays.insert(to, next);
}

fn program(acc: &TileAcc, case: &Case, ops: &[u16]) -> Vec<u64> {
    let array = |seed| {
        let mut u = case.build::<f64>(acc, 0.75);
        u.fill(|at| value(seed, at)).unwrap();
        u.fill_ghosts().unwrap();
        u
    };
    let (mut arrays, mut seen) = (vec![array(3), array(4), array(5)], Vec::new());
    for op in ops {
        act(case, &mut arrays, *op, &mut seen);
    }
    seen.extend(arrays.iter_mut().flat_map(|u| all_of(case, u)));
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whoever_reads_ghosts_finds_them(
        ops in proptest::collection::vec(any::<u16>(), 1..14),
        regions in prop::sample::select(vec![1usize, 1, 3]),
        format in prop::sample::select(vec![Format::Raw, Format::Half]),
        kinds in any::<[bool; 3]>(),
    ) {
        let kinds = kinds.map(|wraps| if wraps { [0; 2] } else { [15, 6] });
        let case = Case { regions, format, kinds: [kinds[0], [15, 6], kinds[2]], ..usual() };
        let expected = program(&on_cpu(), &case, &ops);
        for fuse in [Fuse::Off, Fuse::Auto, Fuse::Steps(3)] {
            let Some(acc) = on_a_device(TileAcc::builder().fuse(fuse)) else { return Ok(()) };
            let found = program(&acc, &case, &ops);
            let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            assert_eq!((found.len(), differs), (expected.len(), None), "{fuse:?} {case:?} {ops:?}");
        }
    }
}

#[test]
fn ghosts_are_there_for_a_sweep_over_them() {
    let run = |acc: &TileAcc| {
        let case = Case { ghost: [[1; 2]; 3], ..usual() };
        let mut u = case.build::<f64>(acc, 0.75);
        u.fill(|at| value(5, at)).unwrap();
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at])).unwrap();
        }
        u.fill_ghosts().unwrap();
        let mut seen = u.like().unwrap();
        // What it leaves elsewhere was in ghosts that are filled anew after it.
        for tile in TileIter::new(&u).grown(1) {
            compute(
                &tile,
                (&mut u, &mut seen),
                kernel!(|u, seen, at| {
                    seen[at] = u[at];
                    u[at] = 2.0 * u[at];
                }),
            )
            .unwrap();
        }
        u.fill_ghosts().unwrap();
        [grown::<f64, f64>(&u, 1), grown::<f64, f64>(&seen, 1)].concat()
    };
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    assert_eq!(run(&acc), run(&on_cpu()));
}
