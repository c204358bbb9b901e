//! Kernels that are kept and launched many times: the same bits as in the call, one kernel of the process however often
//! it is launched, and the captures of when it was made.

use tida::prelude::*;
use tida::{GroupKernel, explain, keep_groups, kernels};
use tida_tests::{everywhere, on_a_device, unhurried};

type Field = TileArray<f64, 2>;
type Pair = (&'static mut Field, &'static Field);

const STEPS: usize = 7;

fn field(acc: &TileAcc, regions: usize) -> Field {
    let builder = Field::builder([24, 70]).regions([regions, 1]).ghost(1).boundary(Boundary::Periodic);
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| tida_tests::value(3, [0, at[0], at[1]])).unwrap();
    u
}

fn bits(u: &Field) -> Vec<u64> {
    u.read_box(u.domain()).unwrap().iter().map(|x| x.to_bits()).collect()
}

/// Plain loops.
fn plain(alpha: f64) -> Vec<u64> {
    let value = |j: usize, i: usize| tida_tests::value(3, [0, j, i]);
    let mut u: Vec<Vec<f64>> = (0..24).map(|j| (0..70).map(|i| value(j, i)).collect()).collect();
    for _ in 0..STEPS {
        let old = u.clone();
        for j in 0..24 {
            for i in 0..70 {
                let around =
                    old[j][(i + 69) % 70] + old[j][(i + 1) % 70] + old[(j + 23) % 24][i] + old[(j + 1) % 24][i];
                u[j][i] = old[j][i] + alpha * (around - 4.0 * old[j][i]);
            }
        }
    }
    u.into_iter().flatten().map(f64::to_bits).collect()
}

/// Steps of which each is recorded by `step`.
fn steps(u: &mut Field, mut step: impl FnMut(&Tile<2>, &mut Field, &Field)) -> Vec<u64> {
    let mut next = u.like().unwrap();
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(u) {
            step(&tile, &mut next, u);
        }
        std::mem::swap(u, &mut next);
    }
    bits(u)
}

fn diffusion(alpha: f64) -> impl Kernel<2, Pair> + Copy {
    kernel!(|next, u, at| {
        let around = u[at - [0, 1]] + u[at + [0, 1]] + u[at - [1, 0]] + u[at + [1, 0]];
        next[at] = u[at] + alpha * (around - 4.0 * u[at]);
    })
}

struct Model<K> {
    u: Field,
    step: K,
}

impl<K: Kernel<2, Pair>> Model<K> {
    fn run(&mut self) -> Vec<u64> {
        let step = &self.step;
        steps(&mut self.u, |tile, next, u| compute(tile, (next, u), step.clone()).unwrap())
    }
}

/// A model whose type has no parameter.
struct Boxed {
    u: Field,
    step: BoxedKernel<2, Pair>,
}

#[test]
fn kept_kernels_give_the_same_bits_as_plain_loops() {
    let alpha = 0.125;
    let wanted = plain(alpha);
    for acc in everywhere() {
        for regions in [1, 3] {
            let u = || field(&acc, regions);
            let mut v = u();
            let step = keep(
                (&mut u(), &v),
                kernel!(|next, u, at| {
                    let around = u[at - [0, 1]] + u[at + [0, 1]] + u[at - [1, 0]] + u[at + [1, 0]];
                    next[at] = u[at] + alpha * (around - 4.0 * u[at]);
                }),
            );
            assert_eq!(steps(&mut v, |tile, next, u| compute(tile, (next, u), step).unwrap()), wanted, "{acc}");
            assert_eq!(Model { u: u(), step: diffusion(alpha) }.run(), wanted, "{acc}");
            let mut boxed = Boxed { u: u(), step: BoxedKernel::<2, Pair>::new(diffusion(alpha)) };
            let step = boxed.step.clone();
            assert_eq!(
                steps(&mut boxed.u, |tile, next, u| step.compute(tile, (next, u)).unwrap()),
                wanted,
                "{acc}, {:?}",
                boxed.step
            );
        }
    }
}

/// The entries of [`kernels`] at a line of this file.
fn known(line: u32) -> usize {
    let place = format!("kept.rs:{line}");
    kernels().iter().filter(|kernel| kernel.place().ends_with(&place)).count()
}

#[test]
fn however_often_it_is_launched_it_is_one_kernel() {
    for acc in everywhere() {
        let mut u = field(&acc, 2);
        let mut next = u.like().unwrap();
        let add = 0.5;
        let line = line!() + 1;
        let step = keep((&mut next, &u), kernel!(|next, u, at| next[at] = u[at] + add));
        assert_eq!(known(line), if acc.device() == Device::Cpu { 0 } else { 1 }, "{acc}");
        steps(&mut u, |tile, next, u| compute(tile, (next, u), step).unwrap());
        steps(&mut u, |tile, next, u| compute(tile, (next, u), step).unwrap());
        let boxed = BoxedKernel::<2, Pair>::new(step);
        steps(&mut u, |tile, next, u| boxed.compute(tile, (next, u)).unwrap());
        assert_eq!(known(line), 1, "{acc}");
    }
}

/// Compilations of a device are those of the same kernel in the call.
#[test]
fn a_device_compiles_it_once() {
    let compiled = |kept: bool| {
        let acc = on_a_device(unhurried().fuse(Fuse::Off))?;
        let mut u = field(&acc, 1);
        let step = keep((&mut u.like().unwrap(), &u), kernel!(|next, u, at| next[at] = 0.5 * u[at] + 0.25));
        let run = |u: &mut Field| match kept {
            true => steps(u, |tile, next, u| compute(tile, (next, u), step).unwrap()),
            false => steps(u, |tile, next, u| {
                compute(tile, (next, u), kernel!(|next, u, at| next[at] = 0.5 * u[at] + 0.25)).unwrap();
            }),
        };
        let bits = [run(&mut u), run(&mut u)];
        let stats = acc.stats();
        Some((bits, stats.launches, stats.compiled))
    };
    let (Some(kept), Some(in_the_call)) = (compiled(true), compiled(false)) else { return };
    assert!(kept.1 > 0);
    assert_eq!(kept, in_the_call);
}

#[test]
fn captures_are_those_of_when_it_was_made() {
    for acc in everywhere() {
        let mut u = TileArray::<i64, 1>::builder([5]).build(&acc).unwrap();
        let (mut add, mut list) = (10i64, [1i64, 2]);
        let step = keep(&mut u, kernel!(|u, at| u[at] += add + list[1]));
        (add, list) = (1000, [1000; 2]);
        assert_eq!((add, list), (1000, [1000; 2]));
        for _ in 0..3 {
            for tile in TileIter::new(&u) {
                compute(&tile, &mut u, step).unwrap();
            }
        }
        assert_eq!(u.read_box(u.domain()).unwrap(), [36; 5], "{acc}");
        // A value that is not there yet is waited for, whatever it is by then.
        let total = reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        let minus = keep(&mut u, kernel!(|u, at| u[at] -= total));
        for _ in 0..2 {
            for tile in TileIter::new(&u) {
                compute(&tile, &mut u, minus.clone()).unwrap();
            }
        }
        assert_eq!(u.read_box(u.domain()).unwrap(), [36 - 2 * 5 * 36; 5], "{acc}");
    }
}

/// A reduction, for as many arrays as one likes.
fn square() -> impl Kernel<2, &'static Field, f64> + Copy {
    kernel!(|u, at| u[at] * u[at])
}

#[test]
fn reductions_and_explanations_take_kept_kernels() {
    for acc in everywhere() {
        let (u, v) = (field(&acc, 1), field(&acc, 3));
        let in_the_call = reduce(&u, Sum, kernel!(|u, at| u[at] * u[at])).unwrap();
        let kept = keep(&u, kernel!(|u, at| u[at] * u[at]));
        for array in [&u, &v] {
            assert_eq!(reduce(array, Sum, kept).unwrap().to_bits(), in_the_call.to_bits());
            assert_eq!(reduce(array, Sum, square()).unwrap().to_bits(), in_the_call.to_bits());
            assert_eq!(reduce_later(array, Max, kept).unwrap().get().unwrap(), reduce(array, Max, square()).unwrap());
        }
        assert!(explain(&u, kept).unwrap().to_string().contains("kept.rs"));
    }
}

fn neighbours(scale: f64) -> impl GroupKernel<1, (&'static mut TileArray<f64, 1>, &'static TileArray<f64, 1>)> + Copy {
    group_kernel!(|b, a, group| {
        let s = group.fetch(a, [1], [1]);
        group.each(|t| b[t.at()] = scale * (s[t - [1]] + s[t + [1]]));
    })
}

#[test]
fn kernels_over_groups_are_kept_too() {
    for acc in everywhere() {
        let builder = TileArray::<f64, 1>::builder([150]).regions([2]).ghost(1).boundary(Boundary::Periodic);
        let mut a = builder.build(&acc).unwrap();
        a.fill(|[i]| i as f64).unwrap();
        let mut b = a.like().unwrap();
        let scale = 0.5;
        let kept = keep_groups(
            (&mut b, &a),
            group_kernel!(|b, a, group| {
                let s = group.fetch(a, [1], [1]);
                group.each(|t| b[t.at()] = scale * (s[t - [1]] + s[t + [1]]));
            }),
        );
        let mut wanted: Vec<f64> = (0..150).map(f64::from).collect();
        for step in 0..4 {
            a.fill_ghosts().unwrap();
            for tile in TileIter::new(&a) {
                match step % 2 {
                    0 => compute_groups(&tile, [8], (&mut b, &a), kept).unwrap(),
                    _ => compute_groups(&tile, [8], (&mut b, &a), neighbours(scale)).unwrap(),
                }
            }
            std::mem::swap(&mut a, &mut b);
            wanted = (0..150).map(|i| 0.5 * (wanted[(i + 149) % 150] + wanted[(i + 1) % 150])).collect();
        }
        assert_eq!(a.read_box(a.domain()).unwrap(), wanted, "{acc}");
    }
}

/// Of several kernels, by what a program finds out as it runs.
#[test]
fn boxed_kernels_stand_in_lists_and_are_checked_as_any_other() {
    type Step = BoxedKernel<1, &'static mut TileArray<i64, 1>>;
    for acc in everywhere() {
        let by = 3i64;
        let list: Vec<Step> =
            vec![Step::new(kernel!(|u, at| u[at] += by)), Step::new(kernel!(|u, at| u[at] *= at[0] + 1))];
        let mut u = TileArray::<i64, 1>::builder([4]).build(&acc).unwrap();
        for step in [0, 1, 1, 0] {
            for tile in TileIter::new(&u) {
                list[step].compute(&tile, &mut u).unwrap();
            }
        }
        assert_eq!(u.read_box(u.domain()).unwrap(), [6, 15, 30, 51], "{acc}");
        let far = BoxedKernel::<2, Pair>::new(kernel!(|next, u, at| next[at] = u[at + [0, 2]]));
        let u = field(&acc, 1);
        let mut next = u.like().unwrap();
        let tile = TileIter::new(&u).next().unwrap();
        let (error, line) = (far.compute(&tile, (&mut next, &u)).unwrap_err(), line!());
        assert_eq!(error.kind(), ErrorKind::Ghost);
        let recorded = error.recorded().unwrap();
        assert!(recorded.file().ends_with("kept.rs") && recorded.line() == line, "{recorded}");
    }
}
