//! Steps in any order that lanes allow against program order; chains on the host against single sweeps.

use proptest::prelude::*;

use super::*;
use crate::prelude::*;

/// An operation over a plane of cells: along both axes.
type Both = [PlaneOp; 2];

fn mix(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0xcbf2_9ce4_8422_2325, |h, v| (h ^ v).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17))
}

/// Cells that an access reads along one axis.
fn read(access: &Access, at: i64) -> Option<Range<i64>> {
    match access.read.as_ref()? {
        Reach::Around(lo, hi) => Some(at + lo..at + hi + 1),
        Reach::Within(lo, hi, all) => Some((at + lo).max(all.start)..(at + hi + 1).min(all.end)),
        Reach::Planes(planes) => Some(planes.clone()),
    }
}

/// Runs an operation over some cells of arrays of `side` × `side` cells, the first of which is `-ghost`.
fn apply(ops: &Both, number: usize, planes: &Range<i64>, rows: &Range<i64>, memory: &mut [Vec<u64>], grid: (i64, i64)) {
    let (side, ghost) = grid;
    let place = |k: i64, j: i64| ((k + ghost) * side + j + ghost) as usize;
    let mut results = Vec::new();
    for (k, j) in planes.clone().flat_map(|k| rows.clone().map(move |j| (k, j))) {
        let mut seen = vec![number as u64, k as u64, j as u64];
        for (along, across) in ops[0].accesses.iter().zip(&ops[1].accesses) {
            if let (Some(planes), Some(rows)) = (read(along, k), read(across, j)) {
                let cells = planes.flat_map(|k| rows.clone().map(move |j| (k, j)));
                seen.extend(cells.map(|(k, j)| memory[along.array][place(k, j)]));
            }
            if along.write.is_some() {
                seen.push(memory[along.array][place(k, j)]);
            }
        }
        let value = mix(seen);
        let written = ops[0].accesses.iter().filter(|access| access.write.is_some());
        results.extend(written.map(|access| (access.array, place(k, j), value)));
    }
    results.into_iter().for_each(|(array, at, value)| memory[array][at] = value);
}

prop_compose! {
    fn sweep(n: i64)(
        from in prop::option::of(0usize..3),
        to in 0usize..3,
        reach in [(-3i64..=1, 0i64..=3), (-3i64..=1, 0i64..=3)],
        start in [0..n / 2, 0..n / 2],
        end in [n / 2..=n, n / 2..=n],
    ) -> Vec<Both> {
        let op = |axis: usize| {
            let (lo, hi) = (reach[axis].0.min(reach[axis].1), reach[axis].1);
            let write = |read| Access { array: to, read, write: Some(Write::Part), scale: 1 };
            let accesses = match from.filter(|from| *from != to) {
                Some(array) => {
                    smallvec![Access { array, read: Some(Reach::Around(lo, hi)), write: None, scale: 1 }, write(None)]
                }
                None => smallvec![write(Some(Reach::Around(0, 0)))],
            };
            PlaneOp { planes: start[axis]..end[axis], accesses, steps: 1, scale: 1 }
        };
        vec![[op(0), op(1)]]
    }
}

/// Ghosts at both ends of one axis, over all of the other or its inner part.
fn fill(array: usize, n: i64, g: i64, axis: usize) -> Vec<Both> {
    let op = |cells: Range<i64>, read: Reach| PlaneOp {
        planes: cells,
        accesses: smallvec![Access { array, read: Some(read), write: Some(Write::Part), scale: 1 }],
        steps: 1,
        scale: 1,
    };
    let sides = [(-g..0, 0..g), (n..n + g, n - g..n)];
    let ops = sides.map(|(cells, from)| {
        let along = op(cells, Reach::Planes(from));
        let other = op(if axis == 0 { -g..n + g } else { 0..n }, Reach::Around(0, 0));
        if axis == 0 { [along, other] } else { [other, along] }
    });
    ops.to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn lanes_in_any_order_give_program_order(
        (n, ops) in (8i64..20).prop_flat_map(|n| {
            let one = prop_oneof![
                5 => sweep(n),
                1 => (0usize..3, 1i64..=3, 0usize..2).prop_map(move |(array, g, axis)| fill(array, n, g, axis)),
            ];
            (Just(n), prop::collection::vec(one, 1..10))
        }),
        thick in [1i64..5, 1i64..9],
        picks in prop::collection::vec(any::<u16>(), 64),
    ) {
        let ops: Vec<Both> = ops.into_iter().flatten().collect();
        let grid = (n + 6, 3);
        let cells = (grid.0 * grid.0) as u64;
        let start: Vec<Vec<u64>> = (0..3).map(|a| (0..cells).map(|c| mix([a, c])).collect()).collect();
        let (mut expected, mut got) = (start.clone(), start);
        for (number, op) in ops.iter().enumerate() {
            apply(op, number, &op[0].planes, &op[1].planes, &mut expected, grid);
        }
        let [planes, lanes] = [0, 1].map(|axis| {
            let along: Vec<PlaneOp> = ops.iter().map(|op| op[axis].clone()).collect();
            steps(&along, 3, thick[axis])
        });
        let mut done = vec![0; lanes.len()];
        let mut picks = picks.into_iter().cycle();
        loop {
            let free = |lane: usize| done[lane] < planes.len() && (lane == 0 || done[lane - 1] > done[lane]);
            let free: Vec<usize> = (0..lanes.len()).filter(|lane| free(*lane)).collect();
            if free.is_empty() {
                break;
            }
            let lane = free[picks.next().unwrap_or(0) as usize % free.len()];
            for (number, op) in ops.iter().enumerate() {
                apply(op, number, &planes[done[lane]][number], &lanes[lane][number], &mut got, grid);
            }
            done[lane] += 1;
        }
        prop_assert!(done.iter().all(|steps| *steps == planes.len()));
        prop_assert_eq!(got, expected);
    }
}

/// A processor with caches of which nothing fits the last.
fn acc(threads: usize, look_ahead: usize, cache: usize) -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(threads).look_ahead(look_ahead).caches(cache, 1).build().unwrap()
}

fn array<const D: usize>(acc: &TileAcc, shape: [usize; D], edge: Boundary<f64>, seed: usize) -> TileArray<f64, D> {
    let mut array = TileArray::<f64, D>::builder(shape).ghost(1).boundary(edge).build(acc).unwrap();
    array.fill(|at| (at.iter().fold(seed, |h, x| h * 31 + x * 17 + 7) % 97) as f64 / 97.0).unwrap();
    array
}

/// The heat equation by plain loops, with 0.25 around the domain.
fn plain_heat([n, m, l]: [usize; 3], start: &[f64], steps: usize) -> Vec<f64> {
    let mut u = start.to_vec();
    for _ in 0..steps {
        let old = u.clone();
        let at = |k: usize, j: usize, i: usize| {
            let inside = (1..=n).contains(&k) && (1..=m).contains(&j) && (1..=l).contains(&i);
            if inside { old[((k - 1) * m + j - 1) * l + i - 1] } else { 0.25 }
        };
        for (k, j, i) in (1..=n).flat_map(|k| (1..=m).flat_map(move |j| (1..=l).map(move |i| (k, j, i)))) {
            let c = at(k, j, i);
            u[((k - 1) * m + j - 1) * l + i - 1] = c + 0.1
                * (at(k + 1, j, i)
                    + at(k - 1, j, i)
                    + at(k, j + 1, i)
                    + at(k, j - 1, i)
                    + at(k, j, i + 1)
                    + at(k, j, i - 1)
                    - 6.0 * c);
        }
    }
    u
}

fn heat(u: &TileArray<f64, 3>, next: &mut TileArray<f64, 3>) {
    for tile in TileIter::new(u).tile_size([16, 16, 512]) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                let c = u[at];
                next[at] = c + 0.1
                    * (u[at + [1, 0, 0]]
                        + u[at - [1, 0, 0]]
                        + u[at + [0, 1, 0]]
                        + u[at - [0, 1, 0]]
                        + u[at + [0, 0, 1]]
                        + u[at - [0, 0, 1]]
                        - 6.0 * c);
            }),
        )
        .unwrap();
    }
}

#[test]
fn several_steps_go_over_the_arrays_at_once() {
    let (shape, steps) = ([20, 48, 70], 11);
    for threads in 1..4 {
        let acc = acc(threads, 4096, 256 << 10);
        let mut u = array(&acc, shape, Boundary::Fixed(0.25), 3);
        let start = u.read_box(u.domain()).unwrap();
        let mut next = u.like().unwrap();
        for _ in 0..steps {
            u.fill_ghosts().unwrap();
            heat(&u, &mut next);
            std::mem::swap(&mut u, &mut next);
        }
        let got = u.read_box(u.domain()).unwrap();
        assert!(got == plain_heat(shape, &start, steps));
        let stats = acc.stats();
        assert!(stats.passes > 0 && stats.steps_per_residency() >= Some(2.0), "{stats:?}");
    }
}

/// Kernels that set ghosts between the steps are parts of the passes: beyond one face, beyond all.
#[test]
fn kernels_that_set_ghosts_go_with_the_steps() {
    let ([n, m, l], steps) = ([20, 48, 70], 11);
    for all in [false, true] {
        let run = |acc: &TileAcc| {
            let mut u = TileArray::<f64, 3>::builder([n, m, l]).ghost(1).boundary(match all {
                true => Boundary::Open,
                false => Boundary::Fixed(0.25),
            });
            if !all {
                u = u.boundary_face(2, Side::High, Boundary::Open);
            }
            let mut u = u.build(acc).unwrap();
            u.fill(|at| (at.iter().fold(3, |h, x| h * 31 + x * 17 + 7) % 97) as f64 / 97.0).unwrap();
            let mut next = u.like().unwrap();
            for step in 0..steps {
                let time = 0.125 * step as f64;
                u.fill_ghosts().unwrap();
                for axis in (0..3).rev().filter(|axis| all || *axis == 2) {
                    for (side, inwards) in [(Side::Low, 1), (Side::High, -1)] {
                        if all || side == Side::High {
                            let by = std::array::from_fn(|d| if d == axis { inwards } else { 0i64 });
                            fill_ghosts_with(
                                (axis, side),
                                &mut u,
                                kernel!(|u, at| u[at] = 0.5 * u[at + by] + 0.25 * time),
                            )
                            .unwrap();
                        }
                    }
                }
                heat(&u, &mut next);
                std::mem::swap(&mut u, &mut next);
            }
            u.read_box(u.domain()).unwrap()
        };
        let expected = run(&acc(1, 1, 256 << 10));
        for threads in 1..4 {
            let acc = acc(threads, 4096, 256 << 10);
            assert!(run(&acc) == expected, "{threads} threads");
            let stats = acc.stats();
            assert!(stats.passes > 0 && stats.steps_per_residency() >= Some(2.0), "{stats:?}");
        }
    }
}

#[test]
fn arrays_that_fit_the_caches_form_no_chain() {
    let acc = TileAcc::builder().device(Device::Cpu).caches(256 << 10, 8 << 20).build().unwrap();
    let mut u = array(&acc, [20, 48, 70], Boundary::Fixed(0.25), 3);
    let mut next = u.like().unwrap();
    for _ in 0..4 {
        u.fill_ghosts().unwrap();
        heat(&u, &mut next);
        std::mem::swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap();
    assert_eq!(acc.stats().passes, 0);
}

#[test]
fn a_fault_fails_what_needs_its_data_and_nothing_else() {
    // On a busy machine the recorder may be interrupted, and each sweep run by itself.
    assert!((0..20).any(|_| passes_with_a_fault() > 0));
}

/// Checks what fails and what does not; gives how many passes over blocks there were.
fn passes_with_a_fault() -> u64 {
    let acc = acc(2, 4096, 256 << 10);
    let shape = [24, 48, 64];
    let integers = |value: i64| {
        let mut array = TileArray::<i64, 3>::builder(shape).build(&acc).unwrap();
        array.fill_value(value).unwrap();
        array
    };
    let (mut a, mut b, mut c, mut d) = (integers(8), integers(0), integers(3), integers(1));
    for tile in TileIter::new(&a) {
        compute(&tile, &mut c, kernel!(|c, at| c[at] += 2)).unwrap();
        // Divides by zero at one cell.
        compute(&tile, (&mut a, &c), kernel!(|a, c, at| a[at] = a[at] / (at[0] + at[1] - 20 + 0 * c[at]))).unwrap();
        compute(&tile, (&mut b, &a), kernel!(|b, a, at| b[at] = a[at] + 1)).unwrap();
        compute(&tile, (&mut d, &c), kernel!(|d, c, at| d[at] = d[at] + c[at])).unwrap();
        compute(&tile, (&mut d, &c), kernel!(|d, c, at| d[at] = d[at] * 2 + c[at])).unwrap();
    }
    for failed in [&a, &b] {
        let error = failed.read_box(failed.domain()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Division, "{error}");
        assert!(error.recorded().is_some_and(|place| place.file().ends_with("tests.rs")), "{error}");
    }
    assert!(d.read_box(d.domain()).unwrap().iter().all(|x| *x == 17));
    assert!(c.read_box(c.domain()).unwrap().iter().all(|x| *x == 5));
    let passes = acc.stats().passes;
    // Overwritten unread, it is whole again.
    for tile in TileIter::new(&a) {
        compute(&tile, (&mut a, &c), kernel!(|a, c, at| a[at] = c[at])).unwrap();
        compute(&tile, &mut a, kernel!(|a, at| a[at] += 1)).unwrap();
    }
    assert!(a.read_box(a.domain()).unwrap().iter().all(|x| *x == 6));
    passes
}

/// A step of a random program over three arrays.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// From all neighbours.
    Blur(usize, usize),
    /// From some, further to one side.
    Aside(usize, usize),
    Add(usize, usize),
    /// In place.
    Scale(usize),
    Part(usize, usize),
    Sum(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let two = || (0..3usize, 1..3usize).prop_map(|(a, d)| (a, (a + d) % 3));
    prop_oneof![
        4 => two().prop_map(|(a, b)| Step::Blur(a, b)),
        2 => two().prop_map(|(a, b)| Step::Aside(a, b)),
        2 => two().prop_map(|(a, b)| Step::Add(a, b)),
        1 => (0..3usize).prop_map(Step::Scale),
        1 => two().prop_map(|(a, b)| Step::Part(a, b)),
        1 => (0..3usize).prop_map(Step::Sum),
    ]
}

/// Has kernels set the ghosts beyond all faces, of which the first axis reads mirrored cells, if it is of two.
fn set_faces(u: &mut TileArray<f64, 2>, time: f64) {
    let last = u.domain().hi[1];
    fill_ghosts_with((1, Side::Low), &mut *u, kernel!(|u, at| u[at] = time - u[[at[0], -1 - at[1]]])).unwrap();
    fill_ghosts_with(
        (1, Side::High),
        &mut *u,
        kernel!(|u, at| u[at] = 0.5 * u[[at[0], 2 * last - 1 - at[1]]] + 0.01 * at[0] as f64),
    )
    .unwrap();
    fill_ghosts_with((0, Side::Low), &mut *u, kernel!(|u, at| u[at] = 1.5 * u[at + [1, 0]] - 0.5 * u[at + [2, 0]]))
        .unwrap();
    fill_ghosts_with((0, Side::High), &mut *u, kernel!(|u, at| u[at] = 0.25 * time + 0.5 * u[at - [1, 0]])).unwrap();
}

/// Runs a program; gives the bits of all arrays and of the sums. Beyond open faces kernels set the ghosts.
fn run(acc: &TileAcc, shape: [usize; 2], edge: Boundary<f64>, program: &[Step]) -> Vec<u64> {
    let mut arrays = [1, 2, 3].map(|seed| array(acc, shape, edge, seed));
    let mut sums = Vec::new();
    for (number, step) in program.iter().enumerate() {
        if let Step::Blur(_, from) | Step::Aside(_, from) = step {
            arrays[*from].fill_ghosts().unwrap();
            if edge == Boundary::Open {
                set_faces(&mut arrays[*from], 0.125 * number as f64);
            }
        }
        let (to, from) = match *step {
            Step::Blur(to, from) | Step::Aside(to, from) | Step::Add(to, from) | Step::Part(to, from) => (to, from),
            Step::Scale(to) | Step::Sum(to) => (to, (to + 1) % 3),
        };
        let [a, b] = arrays.get_disjoint_mut([to, from]).unwrap();
        let b = &*b;
        if let Step::Sum(_) = step {
            sums.push(reduce_later(&*a, Sum, kernel!(|a, at| a[at])).unwrap());
            continue;
        }
        for tile in TileIter::new(b).tile_size([13, 4096]) {
            match step {
                Step::Blur(..) => compute(
                    &tile,
                    (&mut *a, b),
                    kernel!(|a, u, at| a[at] =
                        0.5 * u[at] + 0.125 * (u[at + [1, 0]] + u[at - [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]])),
                ),
                Step::Aside(..) => compute(
                    &tile,
                    (&mut *a, b),
                    kernel!(|a, u, at| a[at] = 0.5 * a[at] + 0.25 * u[at - [1, 1]] + 0.125 * u[at + [0, 1]]),
                ),
                Step::Add(..) => compute(&tile, (&mut *a, b), kernel!(|a, u, at| a[at] = 0.5 * a[at] + 0.5 * u[at])),
                Step::Scale(_) => compute(&tile, &mut *a, kernel!(|a, at| a[at] = 0.75 * a[at] + 0.125)),
                _ => compute(
                    &tile,
                    (&mut *a, b),
                    kernel!(|a, u, at| {
                        if (at[0] + at[1]) % 3 == 0 {
                            a[at] = u[at];
                        }
                    }),
                ),
            }
            .unwrap();
        }
    }
    let arrays = arrays.iter().flat_map(|array| array.read_box(array.domain()).unwrap());
    let mut bits: Vec<u64> = arrays.map(f64::to_bits).collect();
    bits.extend(sums.iter().map(|sum| sum.get().unwrap().to_bits()));
    bits
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn random_chains_give_the_bits_of_single_sweeps(
        program in prop::collection::vec(step(), 2..20),
        planes in 3usize..50,
        rows in 400usize..2000,
        edge in prop_oneof![
            Just(Boundary::Fixed(0.25)),
            Just(Boundary::ReflectEven),
            Just(Boundary::ReflectOdd),
            Just(Boundary::Extrapolate(1)),
            Just(Boundary::Periodic),
            Just(Boundary::Open),
            Just(Boundary::Open),
        ],
        threads in 1usize..4,
        cache in prop_oneof![Just(64usize << 10), Just(256 << 10), Just(1 << 20)],
    ) {
        let shape = [planes, rows];
        let single = run(&acc(threads, 1, cache), shape, edge, &program);
        let chains = run(&acc(threads, 4096, cache), shape, edge, &program);
        prop_assert!(single == chains);
    }
}
