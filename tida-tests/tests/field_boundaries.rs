//! Boundaries of single components, on every road that ghosts are filled on, against plain loops, all bits.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.

use tida::prelude::*;
use tida::{SimDevice, TileAccBuilder};
use tida_tests::{expect, on_a_device, on_cpu, value};

const ROWS: usize = 24;
const COLUMNS: usize = 256;
const GHOST: usize = 2;
const STEPS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Gas {
    mass: f64,
    momentum: [f64; 2],
    mark: i32,
}

type Array = TileArray<Gas, 2>;

/// What lies beyond a face, for one component.
type One = Boundary<f64>;

const NAMES: [&str; 4] = ["mass", "momentum.0", "momentum.1", "mark"];

/// By component, axis and side.
fn programs() -> Vec<[[[One; 2]; 2]; 4]> {
    use Boundary::{Extrapolate, Fixed, Open, Periodic, ReflectEven as Even, ReflectOdd as Odd};
    vec![
        // Walls.
        [[[Even; 2]; 2], [[Odd; 2], [Even; 2]], [[Even; 2], [Odd; 2]], [[Even; 2]; 2]],
        // All kinds.
        [
            [[Extrapolate(1), Extrapolate(0)], [Even; 2]],
            [[Fixed(0.5), Extrapolate(0)], [Fixed(2.0), Even]],
            [[Fixed(0.25), Fixed(3.0)], [Even, Extrapolate(1)]],
            [[Fixed(7.0), Odd], [Odd, Open]],
        ],
        // Along a channel.
        [
            [[Periodic; 2], [Even; 2]],
            [[Periodic; 2], [Odd; 2]],
            [[Periodic; 2], [Odd, Even]],
            [[Periodic; 2], [Odd; 2]],
        ],
        // Values that stay, some of which the user sets.
        [
            [[Fixed(1.0); 2], [Fixed(2.0); 2]],
            [[Fixed(1.0); 2], [Open, Fixed(2.0)]],
            [[Fixed(1.0), Open], [Fixed(2.0); 2]],
            [[Open; 2]; 2],
        ],
    ]
}

/// The same for whole elements, of which one component counts.
fn whole(of: One) -> Boundary<Gas> {
    let gas = |x: f64| Gas { mass: x, momentum: [x; 2], mark: x as i32 };
    match of {
        Boundary::Periodic => Boundary::Periodic,
        Boundary::Fixed(x) => Boundary::Fixed(gas(x)),
        Boundary::ReflectEven => Boundary::ReflectEven,
        Boundary::ReflectOdd => Boundary::ReflectOdd,
        Boundary::Extrapolate(order) => Boundary::Extrapolate(order),
        _ => Boundary::Open,
    }
}

fn first(at: [usize; 2]) -> Gas {
    let of = |seed: u64| value(seed, [at[0], at[1], 0]);
    Gas { mass: of(1), momentum: [of(2) - 1.0, of(3)], mark: (100.0 * of(4)) as i32 }
}

/// All kinds of faces for a component are those of mass, and other components have their own where they differ.
fn builder(program: &[[[One; 2]; 2]; 4]) -> tida::array::TileArrayBuilder<Gas, 2> {
    let mut builder = Array::builder([ROWS, COLUMNS]).ghost(GHOST);
    let faces = [0, 1].into_iter().flat_map(|axis| [(axis, 0, Side::Low), (axis, 1, Side::High)]);
    for (axis, n, side) in faces {
        let of = |component: usize| program[component][axis][n];
        for (component, name) in NAMES.iter().enumerate().filter(|(component, _)| of(*component) != of(0)) {
            builder = builder.field_boundary(name, axis, side, whole(of(component)));
        }
        builder = builder.boundary_face(axis, side, whole(of(0)));
    }
    builder
}

fn run(acc: &TileAcc, program: &[[[One; 2]; 2]; 4], regions: [usize; 2], on: Option<Device>, half: bool) -> Vec<Gas> {
    let mut builder = builder(program).regions(regions);
    if half {
        builder = builder
            .field_storage("momentum", Format::Half)
            .field_storage("mass", Format::Range { bits: 16, min: -8.0, max: 8.0 });
    }
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(first).unwrap();
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        let tiles = TileIter::new(&u);
        let tiles = if let Some(device) = on { tiles.device(device) } else { tiles };
        for tile in tiles {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    next[at].mass =
                        0.2 * (u[at].mass + u[at + [2, 0]].mass + u[at - [2, 1]].mass + u[at + [1, 2]].mass);
                    for n in 0..2 {
                        next[at].momentum[n] = 0.3
                            * (u[at - [1, 0]].momentum[n] + u[at + [1, 1]].momentum[n] - u[at - [0, 2]].momentum[n]);
                    }
                    next[at].mark = (u[at - [1, 1]].mark + 3 * u[at + [0, 2]].mark - u[at + [2, -1]].mark) % 97;
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap()
}

/// The same by plain loops, over rows with ghosts at each side.
fn plain(program: &[[[One; 2]; 2]; 4]) -> Vec<Gas> {
    let (ghost, width) = (GHOST as i64, COLUMNS + 2 * GHOST);
    let shape = [ROWS as i64, COLUMNS as i64];
    let place = |at: [i64; 2]| (at[0] + ghost) as usize * width + (at[1] + ghost) as usize;
    let mut u = vec![vec![0.0; (ROWS + 2 * GHOST) * width]; 4];
    let mut next = u.clone();
    let cells = || (0..shape[0]).flat_map(move |row| (0..shape[1]).map(move |column| [row, column]));
    for at in cells() {
        let Gas { mass, momentum, mark } = first(at.map(|n| n as usize));
        for (of, x) in u.iter_mut().zip([mass, momentum[0], momentum[1], f64::from(mark)]) {
            of[place(at)] = x;
        }
    }
    for _ in 0..STEPS {
        for (u, faces) in u.iter_mut().zip(program) {
            fill(u, faces, shape, &place);
        }
        for at in cells() {
            let read = |of: usize, by: [i64; 2]| u[of][place([at[0] + by[0], at[1] + by[1]])];
            next[0][place(at)] = 0.2 * (read(0, [0, 0]) + read(0, [2, 0]) + read(0, [-2, -1]) + read(0, [1, 2]));
            let flow = |of: usize| 0.3 * (read(of, [-1, 0]) + read(of, [1, 1]) - read(of, [0, -2]));
            (next[1][place(at)], next[2][place(at)]) = (flow(1), flow(2));
            next[3][place(at)] = (read(3, [-1, -1]) + 3.0 * read(3, [0, 2]) - read(3, [2, -1])) % 97.0;
        }
        std::mem::swap(&mut u, &mut next);
    }
    let gas = |at| {
        let [mass, a, b, mark] = [0, 1, 2, 3].map(|of| u[of][place(at)]);
        Gas { mass, momentum: [a, b], mark: mark as i32 }
    };
    cells().map(gas).collect()
}

/// Sets the ghosts of one component: the last axis first, then the first, with the ghosts of the last.
fn fill(u: &mut [f64], faces: &[[One; 2]; 2], shape: [i64; 2], place: &dyn Fn([i64; 2]) -> usize) {
    let ghost = GHOST as i64;
    for axis in [1, 0] {
        let other = 1 - axis;
        let along = if axis == 1 { 0..shape[0] } else { -ghost..shape[1] + ghost };
        for (along, layer, side) in along.flat_map(|n| (1..=ghost).flat_map(move |l| [(n, l, 0), (n, l, 1)])) {
            let at = |inwards: i64| {
                let mut at = [0; 2];
                at[other] = along;
                at[axis] = if side == 0 { inwards } else { shape[axis] - 1 - inwards };
                place(at)
            };
            let to = at(-layer);
            match faces[axis][side] {
                Boundary::Periodic => u[to] = u[at(shape[axis] - layer)],
                Boundary::Fixed(x) => u[to] = x,
                Boundary::ReflectEven => u[to] = u[at(layer - 1)],
                Boundary::ReflectOdd => u[to] = -u[at(layer - 1)],
                Boundary::Extrapolate(0) => u[to] = u[at(0)],
                Boundary::Extrapolate(_) => u[to] = u[at(0)] + layer as f64 * (u[at(0)] - u[at(1)]),
                _ => {}
            }
        }
    }
}

const CUTS: [[usize; 2]; 4] = [[1, 1], [6, 1], [3, 2], [1, 4]];

/// Bytes of one array.
const BYTES: u64 = ((ROWS + 2 * GHOST) * (COLUMNS + 2 * GHOST) * 28) as u64;

fn bits(gas: &Gas) -> ([u64; 3], i32) {
    ([gas.mass, gas.momentum[0], gas.momentum[1]].map(f64::to_bits), gas.mark)
}

fn same(acc: &TileAcc, on: Option<Device>, what: &str) {
    for (number, program) in programs().iter().enumerate() {
        for regions in CUTS {
            let (found, wanted) = (run(acc, program, regions, on, false), plain(program));
            let wrong = (0..wanted.len()).find(|n| bits(&found[*n]) != bits(&wanted[*n]));
            let at = wrong.map(|n| ([n / COLUMNS, n % COLUMNS], found[n], wanted[n]));
            assert_eq!(at, None, "program {number} {regions:?} {what}");
        }
    }
}

fn simulated() -> TileAccBuilder {
    TileAcc::builder().threads(2).simulate(SimDevice::new())
}

/// With room for all, and for less than both arrays.
fn devices() -> Vec<(TileAcc, String)> {
    let limits = [None, Some(BYTES * 3 / 2), Some(BYTES)];
    let limited = |builder: TileAccBuilder, limit: Option<u64>| match limit {
        Some(bytes) => builder.memory_limit(bytes),
        None => builder,
    };
    let named = |acc: TileAcc, limit| (acc, format!("limit {limit:?}"));
    let there = limits.map(|limit| Some(named(on_a_device(limited(TileAcc::builder(), limit))?, limit)));
    let simulated = limits.map(|limit| named(limited(simulated(), limit).build().unwrap(), limit));
    there.into_iter().flatten().chain(simulated).collect()
}

#[test]
fn on_the_cpu() {
    same(&on_cpu(), None, "on the CPU");
}

#[test]
fn on_devices_and_out_of_core() {
    for (acc, what) in devices() {
        same(&acc, None, &format!("{:?}, {what}", acc.device()));
    }
}

#[test]
fn on_both_sides() {
    for acc in on_a_device(TileAcc::builder()).into_iter().chain([simulated().build().unwrap()]) {
        same(&acc, Some(Device::Hybrid), "on both sides");
    }
}

#[test]
fn in_fewer_bits() {
    for program in programs() {
        let wanted = run(&on_cpu(), &program, [1, 1], None, true);
        for (acc, what) in devices() {
            for regions in CUTS {
                let found = run(&acc, &program, regions, None, true);
                let wrong = (0..wanted.len()).find(|n| bits(&found[*n]) != bits(&wanted[*n]));
                assert_eq!(wrong, None, "{regions:?} {:?}, {what}", acc.device());
            }
        }
    }
}

#[test]
fn what_cannot_be_is_said() {
    let acc = on_cpu();
    let build = |field: &str, boundary| {
        let builder = Array::builder([4, 64]).ghost(1).boundary(Boundary::ReflectEven);
        builder.field_boundary(field, 0, Side::Low, boundary).build(&acc).map(drop)
    };
    expect(build("speed", Boundary::ReflectOdd), ErrorKind::Boundary, &["`speed`", "momentum.0, momentum.1, mark"]);
    expect(build("mass", Boundary::Periodic), ErrorKind::Boundary, &["one periodic face"]);
    let builder = Array::builder([4, 64]).ghost(1).boundary(Boundary::Periodic);
    let some = builder.field_boundary("mass", 1, Side::Low, Boundary::ReflectOdd);
    let both = some.field_boundary("mass", 1, Side::High, Boundary::ReflectOdd);
    let all_but_one =
        |field: &str| both.clone().field_boundary(field, 0, Side::Low, Boundary::Open).build(&acc).map(drop);
    expect(all_but_one("mark"), ErrorKind::Boundary, &["some components alone", "axis 0"]);
    expect(both.build(&acc).map(drop), ErrorKind::Boundary, &["some components alone", "axis 1"]);
    let builder = TileArray::<f64, 1>::builder([4]).ghost(1);
    expect(
        builder.field_boundary("0", 0, Side::Low, Boundary::ReflectOdd).build(&acc).map(drop),
        ErrorKind::Boundary,
        &["boundary_face"],
    );
    let flags = TileArray::<[bool; 2], 1>::builder([4]).ghost(1);
    expect(
        flags.field_boundary("1", 0, Side::Low, Boundary::ReflectOdd).build(&acc).map(drop),
        ErrorKind::Boundary,
        &["`1`", "field_boundary"],
    );
}

#[test]
fn entries_of_arrays_and_later_calls_count() {
    let acc = on_cpu();
    let builder =
        TileArray::<[f64; 3], 1>::builder([4]).ghost(1).field_boundary("1", 0, Side::Low, Boundary::ReflectOdd);
    let mut u = builder.boundary(Boundary::Fixed([1.0, 2.0, 3.0])).build(&acc).unwrap();
    assert_eq!(u.field_boundaries("1").unwrap()[0], [Boundary::ReflectOdd, Boundary::Fixed([1.0, 2.0, 3.0])]);
    u.fill_value([7.0; 3]).unwrap();
    u.fill_ghosts().unwrap();
    let mut left = u.like().unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut left, &u), kernel!(|left, u, at| left[at] = u[at - [1]])).unwrap();
    }
    assert_eq!(left.read_box(left.domain()).unwrap()[0], [1.0, -7.0, 3.0]);
    let gas = builder_of_gas().field_boundary("momentum", 0, Side::Low, Boundary::ReflectEven).build(&acc).unwrap();
    let low = |field: &str| gas.field_boundaries(field).unwrap()[0][0];
    assert_eq!(
        ["momentum.0", "momentum.1", "mass"].map(low),
        [Boundary::ReflectEven, Boundary::ReflectEven, Boundary::Open]
    );
}

fn builder_of_gas() -> tida::array::TileArrayBuilder<Gas, 2> {
    Array::builder([4, 64]).ghost(1).field_boundary("momentum.0", 0, Side::Low, Boundary::ReflectOdd)
}
