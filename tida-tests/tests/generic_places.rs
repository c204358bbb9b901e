//! Kernels of generic functions wherever they may run: cut along any axes, larger than the device's memory, several
//! steps as one launch, on both sides at once, in fewer bits, over groups, kept. The bits of the CPU, where one region
//! is not cut.
#![cfg(feature = "ndarray")]
#![forbid(unsafe_code)]

use tida::acc::TileAccBuilder;
use tida::prelude::*;
use tida_tests::{on_a_device, on_cpu, unhurried, value};

const STEPS: usize = 7;

/// How the arrays of a run lie.
#[derive(Clone, Copy, Debug)]
struct Lie<const D: usize> {
    cells: [usize; D],
    regions: [usize; D],
    fewer_bits: bool,
}

/// How a step is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Call,
    Kept,
    Boxed,
}

fn diffusion<T: Real, const D: usize>(dt: T) -> impl for<'a> Kernel<D, Pair<'a, T, D>> + Copy {
    kernel!(T; |next, u, at| {
        let mut sum = -2.0 * D as T * u[at];
        for d in 0..D {
            sum += u[at + unit(d)] + u[at - unit(d)];
        }
        next[at] = u[at] + dt * (T::lit(0.7) * sum);
    })
}

type Pair<'a, T, const D: usize> = (&'a mut TileArray<T, D>, &'a TileArray<T, D>);

fn array<T: Real, const D: usize>(acc: &TileAcc, lie: Lie<D>) -> TileArray<T, D> {
    let builder = TileArray::<T, D>::builder(lie.cells).regions(lie.regions).ghost(1).boundary(Boundary::Periodic);
    let builder = match lie.fewer_bits {
        true => builder.storage(Format::Range { bits: 16, min: 0.0, max: 2.0 }),
        false => builder,
    };
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| T::of(value(7, std::array::from_fn(|d| at.get(d).map_or(0, |x| *x))))).unwrap();
    u
}

/// Steps, and what they leave: all cells and a sum.
fn steps<T: Real, const D: usize>(acc: &TileAcc, lie: Lie<D>, way: Way, device: Option<Device>) -> Vec<u64> {
    let dt = T::of(0.0625);
    let mut u = array::<T, D>(acc, lie);
    let mut next = u.like().unwrap();
    let boxed = BoxedKernel::<D, Pair<'static, T, D>>::new(diffusion::<T, D>(dt));
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        let tiles = TileIter::new(&u);
        for tile in device.map_or(tiles.clone(), |device| tiles.device(device)) {
            let args = (&mut next, &u);
            match way {
                Way::Call => compute(
                    &tile,
                    args,
                    kernel!(T; |next, u, at| {
                        let mut sum = -2.0 * D as T * u[at];
                        for d in 0..D {
                            sum += u[at + unit(d)] + u[at - unit(d)];
                        }
                        next[at] = u[at] + dt * (T::lit(0.7) * sum);
                    }),
                ),
                Way::Kept => compute(&tile, args, diffusion::<T, D>(dt)),
                Way::Boxed => boxed.compute(&tile, args),
            }
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at].wide())).unwrap();
    let cells = u.read_box(u.domain()).unwrap();
    let bits = |x: f64| x.to_bits();
    cells.into_iter().map(|x| bits(x.to_f64())).chain([bits(sum.to_f64())]).collect()
}

/// Compares one run with that of the CPU; what the accelerator counted.
fn same<T: Real, const D: usize>(acc: &TileAcc, lie: Lie<D>, way: Way, device: Option<Device>) -> tida::acc::Stats {
    let one = Lie { regions: [1; D], ..lie };
    let wanted = steps::<T, D>(&on_cpu(), one, Way::Call, None);
    let before = acc.stats();
    let found = steps::<T, D>(acc, lie, way, device);
    // Sums of other cuts have other bits.
    let cells = wanted.len() - 1;
    assert!(found[..cells] == wanted[..cells], "{acc}, {lie:?}, {way:?}, {device:?}");
    let stats = acc.stats();
    assert!(stats.launches > before.launches || acc.device() == Device::Cpu, "{acc}, {lie:?}: {stats}");
    stats
}

const IN_1D: Lie<1> = Lie { cells: [500], regions: [3], fewer_bits: false };
const IN_2D: Lie<2> = Lie { cells: [30, 200], regions: [3, 2], fewer_bits: false };
const IN_3D: Lie<3> = Lie { cells: [8, 12, 130], regions: [2, 2, 2], fewer_bits: false };

/// On the CPU, on a simulated device, and on the device that there is, each as this says.
fn places(builder: impl Fn() -> TileAccBuilder) -> Vec<TileAcc> {
    let sim = builder().simulate(tida::SimDevice::new()).threads(2).build().unwrap();
    [sim].into_iter().chain(on_a_device(builder())).collect()
}

#[test]
fn cut_along_any_axes() {
    for acc in places(TileAcc::builder).iter().chain([&on_cpu()]) {
        for way in [Way::Call, Way::Kept, Way::Boxed] {
            same::<f32, 1>(acc, IN_1D, way, None);
            same::<f64, 2>(acc, IN_2D, way, None);
            same::<f32, 2>(acc, Lie { regions: [1, 3], ..IN_2D }, way, None);
            same::<f64, 3>(acc, IN_3D, way, None);
            same::<f32, 3>(acc, Lie { regions: [1, 3, 1], ..IN_3D }, way, None);
        }
    }
}

type Case = fn(&TileAcc, Way) -> tida::acc::Stats;

#[test]
fn larger_than_the_memory_of_the_device() {
    // Two arrays take 24 KiB in one dimension, 130 KiB and more in the others.
    let cases: [(u64, Case); 4] = [
        (100 << 10, |acc, way| same::<f64, 2>(acc, Lie { regions: [3, 1], ..IN_2D }, way, None)),
        (100 << 10, |acc, way| same::<f64, 2>(acc, IN_2D, way, None)),
        (200 << 10, |acc, way| same::<f64, 3>(acc, Lie { regions: [2, 1, 1], ..IN_3D }, way, None)),
        (200 << 10, |acc, way| same::<f64, 3>(acc, IN_3D, way, None)),
    ];
    for (limit, case) in cases {
        for way in [Way::Call, Way::Kept, Way::Boxed] {
            for acc in places(|| TileAcc::builder().memory_limit(limit)) {
                let stats = case(&acc, way);
                assert!(stats.passes > 0, "{acc}: nothing went through chains: {stats}");
            }
        }
    }
}

#[test]
fn several_steps_as_one_launch() {
    for way in [Way::Call, Way::Kept, Way::Boxed] {
        // Simulated devices run each step by itself.
        let Some(acc) = on_a_device(unhurried().fuse(Fuse::Steps(3))) else { return };
        let before = same::<f32, 2>(&acc, Lie { regions: [1, 1], ..IN_2D }, way, None);
        let stats = same::<f64, 3>(&acc, Lie { regions: [1, 1, 1], ..IN_3D }, way, None);
        assert!(before.fused > 0 && stats.fused > before.fused, "{acc}: nothing was fused: {stats}");
    }
}

#[test]
fn on_both_sides_at_once() {
    for way in [Way::Call, Way::Kept, Way::Boxed] {
        for acc in places(TileAcc::builder) {
            same::<f64, 2>(&acc, Lie { regions: [1, 1], ..IN_2D }, way, Some(Device::Hybrid));
            same::<f32, 3>(&acc, Lie { regions: [2, 1, 1], ..IN_3D }, way, Some(Device::Hybrid));
        }
    }
}

#[test]
fn in_fewer_bits() {
    for way in [Way::Call, Way::Kept, Way::Boxed] {
        for acc in places(TileAcc::builder).iter().chain([&on_cpu()]) {
            same::<f32, 1>(acc, Lie { fewer_bits: true, ..IN_1D }, way, None);
            same::<f64, 2>(acc, Lie { fewer_bits: true, ..IN_2D }, way, None);
            same::<f32, 3>(acc, Lie { fewer_bits: true, ..IN_3D }, way, None);
        }
    }
}

/// Cells of a group take their neighbours from shared memory, along both axes.
fn blurred<T: Real>(acc: &TileAcc, regions: [usize; 2]) -> Vec<T> {
    let mut u = array::<T, 2>(acc, Lie { cells: [32, 192], regions, ..IN_2D });
    u.fill_ghosts().unwrap();
    let mut next = u.like().unwrap();
    let weight = T::of(0.3);
    for tile in TileIter::new(&u) {
        compute_groups(
            &tile,
            [4, 16],
            (&mut next, &u),
            group_kernel!(T; |next, u, group| {
                let s = group.fetch(u, [1, 1], [1, 1]);
                group.each(|t| next[t.at()] = weight * (s[t - [1, 0]] + s[t + [0, 1]]) + 0.1 * s[t]);
            }),
        )
        .unwrap();
    }
    next.read_box(next.domain()).unwrap()
}

#[test]
fn over_groups() {
    fn of<T: Real>() {
        let wanted = blurred::<T>(&on_cpu(), [1, 1]);
        let plain = |j: usize, i: usize| T::of(value(7, [j % 32, i % 192, 0]));
        for (n, found) in wanted.iter().enumerate() {
            let (j, i) = (n / 192, n % 192);
            let sum = T::of(0.3) * (plain(j + 31, i) + plain(j, i + 1)) + lit!(T, 0.1) * plain(j, i);
            assert!(*found == sum, "{j} {i}");
        }
        for acc in places(TileAcc::builder) {
            for regions in [[1, 1], [2, 2]] {
                assert!(blurred::<T>(&acc, regions) == wanted, "{acc}, {regions:?}");
            }
        }
    }
    of::<f32>();
    of::<f64>();
}
