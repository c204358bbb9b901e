//! Arrays of complex numbers in all that arrays can be: larger than the memory, cut along two axes, several steps at
//! once, in fewer bits, over groups, in files.
#![cfg(feature = "num-complex")]
#![forbid(unsafe_code)]

use tida::num_complex::{Complex, Complex32, Complex64};
use tida::prelude::*;
use tida::{Fuse, SimDevice};
use tida_tests::folder::Folder;
use tida_tests::{everywhere, on_a_device, on_cpu, unhurried, value};

const SHAPE: [usize; 2] = [32, 130];

/// Steps of a wave that turns: neighbours on both axes, periodic ghosts, products with real numbers.
fn turned<T: Real>(acc: &TileAcc, regions: [usize; 2], format: Format, steps: usize) -> Vec<Complex<T>> {
    let builder = TileArray::<Complex<T>, 2>::builder(SHAPE).regions(regions).ghost(1).boundary(Boundary::Periodic);
    let mut u = builder.storage(format).build(acc).unwrap();
    let part = |seed, at: [usize; 2]| T::of(value(seed, [at[0], at[1], 0]) - 1.0);
    u.fill(|at| Complex { re: part(1, at), im: part(2, at) }).unwrap();
    let mut next = u.like().unwrap();
    let turn = Complex { re: T::of(0.6), im: T::of(0.8) };
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(T; |next, u, at| {
                    let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                    let w = (around * 0.2 + u[at] * turn) / (1.0 + u[at].norm_sqr());
                    next[at] = if w.re < w.im { w } else { w.conj().scale(0.9) };
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap()
}

/// The same by plain loops.
fn plain(steps: usize) -> Vec<Complex64> {
    let part = |seed, n: usize| value(seed, [n / SHAPE[1], n % SHAPE[1], 0]) - 1.0;
    let mut u: Vec<Complex64> = (0..SHAPE[0] * SHAPE[1]).map(|n| Complex64::new(part(1, n), part(2, n))).collect();
    for _ in 0..steps {
        let at = |j: usize, i: usize| u[j % SHAPE[0] * SHAPE[1] + i % SHAPE[1]];
        let cell = |n: usize| {
            let (j, i) = (n / SHAPE[1] + SHAPE[0], n % SHAPE[1] + SHAPE[1]);
            let around = at(j - 1, i) + at(j + 1, i) + at(j, i - 1) + at(j, i + 1);
            let w = (around * 0.2 + at(j, i) * Complex64::new(0.6, 0.8)) / (1.0 + at(j, i).norm_sqr());
            if w.re < w.im { w } else { w.conj().scale(0.9) }
        };
        u = (0..u.len()).map(cell).collect();
    }
    u
}

/// Devices with a quarter of the memory that both arrays take.
fn of_a_quarter(value: usize) -> Vec<TileAcc> {
    let limit = (2 * SHAPE[0] * 192 * 2 * value / 4) as u64;
    let limited = |builder: tida::acc::TileAccBuilder| builder.memory_limit(limit).look_ahead(100);
    let sim = limited(TileAcc::builder().simulate(SimDevice::new()).threads(2)).build().unwrap();
    [sim].into_iter().chain(on_a_device(limited(TileAcc::builder()))).collect()
}

#[test]
fn every_cut_and_every_device() {
    let want = plain(5);
    for acc in everywhere() {
        for regions in [[1, 1], [4, 1], [2, 2]] {
            assert_eq!(turned::<f64>(&acc, regions, Format::Raw, 5), want, "{regions:?} on {acc}");
        }
    }
    let single = turned::<f32>(&on_cpu(), [1, 1], Format::Raw, 5);
    for acc in everywhere() {
        assert_eq!(turned::<f32>(&acc, [2, 2], Format::Raw, 5), single, "on {acc}");
    }
}

#[test]
fn larger_than_the_memory() {
    let want = plain(5);
    for acc in of_a_quarter(8) {
        for regions in [[16, 1], [8, 2]] {
            assert_eq!(turned::<f64>(&acc, regions, Format::Raw, 5), want, "{regions:?} on {acc}");
        }
    }
}

/// (Steps of elements of several parts run one by one, also where they are asked to run together.)
#[test]
fn several_steps_in_a_row() {
    let want = plain(12);
    let Some(acc) = on_a_device(unhurried().fuse(Fuse::Steps(3))) else { return };
    assert_eq!(turned::<f64>(&acc, [1, 1], Format::Raw, 12), want, "on {acc}");
}

/// Each part is kept in the format.
#[test]
fn in_fewer_bits() {
    for format in [Format::Half, Format::Bfloat, Format::F32, Format::Range { bits: 16, min: -2.0, max: 2.0 }] {
        let want = turned::<f64>(&on_cpu(), [1, 1], format, 3);
        assert_ne!(want, plain(3), "{format:?} rounds");
        for acc in everywhere() {
            assert_eq!(turned::<f64>(&acc, [2, 2], format, 3), want, "{format:?} on {acc}");
        }
        for acc in of_a_quarter(4) {
            assert_eq!(turned::<f64>(&acc, [16, 1], format, 3), want, "{format:?} on {acc}");
        }
    }
}

/// Threads of a group share scalars: parts by themselves.
#[test]
fn over_groups() {
    for acc in everywhere() {
        let mut a = TileArray::<Complex64, 1>::builder([150]).build(&acc).unwrap();
        let number = |i: usize| Complex64::new(value(1, [i, 0, 0]), value(2, [i, 0, 0]));
        a.fill(|[i]| number(i)).unwrap();
        let mut b = a.like().unwrap();
        let c = Complex64::I;
        for tile in TileIter::new(&a) {
            compute_groups(
                &tile,
                [64],
                (&mut b, &a),
                group_kernel!(|b, a, group| {
                    let re = group.channel::<f64>([0], [0]);
                    let im = group.channel::<f64>([0], [0]);
                    let len = group.len();
                    let x = group.private(0.0);
                    group.each(|t| {
                        let z = a[t.at()] * c;
                        re[t] = z.re;
                        im[t] = z.im;
                        x = z.norm_sqr();
                    });
                    group.each(|t| {
                        let other = [len[0] - 1 - t[0]];
                        b[t.at()] = Complex64::new(re[other], im[other]) * x;
                    });
                }),
            )
            .unwrap();
        }
        for (i, found) in b.read_box(b.domain()).unwrap().into_iter().enumerate() {
            let group = i / 64 * 64;
            let other = group + (150 - group).min(64) - 1 - (i - group);
            assert_eq!(found, number(other) * c * (number(i) * c).norm_sqr(), "{i} on {acc}");
        }
    }
}

/// Scalar products, norms and sums of arrays, by the accelerator's cuts.
fn linear<T: Real>(acc: &TileAcc, regions: [usize; 2]) -> (Complex<T>, Complex<T>, T, Vec<Complex<T>>) {
    let array = |seed| {
        let mut z = TileArray::<Complex<T>, 2>::builder(SHAPE).regions(regions).build(acc).unwrap();
        let part = |seed, at: [usize; 2]| T::of(value(seed, [at[0], at[1], 0]) - 1.0);
        z.fill(|at| Complex { re: part(seed, at), im: part(seed + 1, at) }).unwrap();
        z
    };
    let (x, mut y) = (array(1), array(3));
    for k in 0..3 {
        axpy(Complex { re: T::of(0.5), im: T::of(-0.25 * k as f64) }, &x, &mut y).unwrap();
    }
    let (xy, yx) = (dot(&x, &y).unwrap(), dot(&y, &x).unwrap());
    (xy, yx, norm(&y).unwrap(), y.read_box(y.domain()).unwrap())
}

/// The same of plain complex numbers, in the order of a plain loop.
fn plain_linear() -> (Complex64, f64, Vec<Complex64>) {
    let part = |seed, n: usize| value(seed, [n / SHAPE[1], n % SHAPE[1], 0]) - 1.0;
    let array = |seed| (0..SHAPE[0] * SHAPE[1]).map(move |n| Complex64::new(part(seed, n), part(seed + 1, n)));
    let (x, mut y): (Vec<Complex64>, Vec<Complex64>) = (array(1).collect(), array(3).collect());
    for k in 0..3 {
        let alpha = Complex64::new(0.5, -0.25 * k as f64);
        y = x.iter().zip(&y).map(|(x, y)| alpha * x + y).collect();
    }
    let product = x.iter().zip(&y).map(|(x, y)| x.conj() * y).sum();
    (product, y.iter().map(|y| y.norm_sqr()).sum::<f64>().sqrt(), y)
}

#[test]
fn scalar_products_norms_and_sums_of_arrays() {
    let (product, length, sums) = plain_linear();
    let want = linear::<f64>(&on_cpu(), [1, 1]);
    assert!((want.0 - product).norm() < 1e-10 && (want.2 - length).abs() < 1e-10, "{want:?}, {product}, {length}");
    assert!(product.im.abs() > 0.1 && want.1 == want.0.conj(), "the first is conjugated, not the second: {want:?}");
    assert_eq!(want.3, sums);
    let single = linear::<f32>(&on_cpu(), [1, 1]);
    for acc in everywhere() {
        for regions in [[4, 1], [2, 2]] {
            assert_eq!(linear::<f64>(&acc, regions), want, "{regions:?} on {acc}");
            assert_eq!(linear::<f32>(&acc, regions), single, "{regions:?} on {acc}");
        }
    }
    for acc in of_a_quarter(8) {
        for regions in [[16, 1], [8, 2]] {
            assert_eq!(linear::<f64>(&acc, regions), want, "{regions:?} on {acc}");
        }
    }
}

/// Zeros of both signs, infinities, NaN, and the ends of what floats hold, in every place of every operator.
#[test]
fn special_values() {
    let parts = [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, f64::MAX];
    let number = |n: usize| Complex64::new(parts[n / 9], parts[n % 9]);
    // NaN is NaN: which one differs between devices.
    let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    for acc in everywhere() {
        let mut r = TileArray::<[Complex64; 10], 2>::builder([81, 81]).regions([3, 1]).build(&acc).unwrap();
        let mut z = TileArray::<[Complex64; 2], 2>::builder([81, 81]).regions([3, 1]).build(&acc).unwrap();
        let mut same = TileArray::<[bool; 2], 2>::builder([81, 81]).regions([3, 1]).build(&acc).unwrap();
        z.fill(|[j, i]| [number(j), number(i)]).unwrap();
        for tile in TileIter::new(&r) {
            compute(
                &tile,
                (&mut r, &mut same, &z),
                kernel!(|r, same, z, at| {
                    let (a, b) = (z[at][0], z[at][1]);
                    let x = b.im;
                    r[at] = [a + b, a - b, a * b, a / b, a * x, a / x, x - a, x * a, x / a, a.inv() + -b.conj()];
                    same[at] = [a == b, a != b];
                }),
            )
            .unwrap();
        }
        let (r, same) = (r.read_box(r.domain()).unwrap(), same.read_box(same.domain()).unwrap());
        for n in 0..81 * 81 {
            let (a, b) = (number(n / 81), number(n % 81));
            let x = b.im;
            let want = [a + b, a - b, a * b, a / b, a * x, a / x, x - a, x * a, x / a, a.inv() + -b.conj()];
            let all = |values: [Complex64; 10]| values.map(|z| [bits(z.re), bits(z.im)]);
            assert_eq!(all(r[n]), all(want), "{a:?} and {b:?} on {acc}");
            assert_eq!(same[n], [a == b, a != b], "{a:?} and {b:?} on {acc}");
        }
    }
}

/// Files are those that numpy writes.
#[test]
fn files_of_numpy() {
    let folder = Folder::new();
    let acc = on_cpu();
    let mut u = TileArray::<Complex32, 2>::builder([3, 70]).regions([2, 1]).build(&acc).unwrap();
    u.fill(|[j, i]| Complex32::new(j as f32, i as f32 + 0.5)).unwrap();
    let path = folder.file("u.npy");
    u.save_npy(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let header = String::from_utf8_lossy(&bytes[10..128]);
    assert!(header.starts_with("{'descr': '<c8', 'fortran_order': False, 'shape': (3, 70), }"), "{header}");
    assert_eq!(bytes.len(), 128 + 3 * 70 * 8);
    let second: Vec<f32> = bytes[136..144].chunks(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect();
    assert_eq!(second, [0.0, 1.5]);
    assert_eq!(TileArray::<Complex32, 2>::npy_shape(&path).unwrap(), [3, 70]);
    let v = TileArray::<Complex32, 2>::builder([3, 70]).build_npy(&acc, &path).unwrap();
    assert_eq!(v.read_box(v.domain()).unwrap(), u.read_box(u.domain()).unwrap());
    let mut pairs = TileArray::<[Complex64; 2], 1>::builder([5]).build(&acc).unwrap();
    pairs.fill(|[i]| [Complex64::new(i as f64, 1.0), Complex64::I]).unwrap();
    pairs.save_npy(&path).unwrap();
    assert_eq!(TileArray::<Complex64, 2>::npy_shape(&path).unwrap(), [5, 2]);
    let flat = TileArray::<Complex64, 2>::builder([5, 2]).build_npy(&acc, &path).unwrap();
    assert_eq!(flat.read_box(flat.domain()).unwrap()[8..], [Complex64::new(4.0, 1.0), Complex64::I]);
    let of_reals = TileArray::<f64, 2>::npy_shape(&path).unwrap_err().to_string();
    assert!(of_reals.contains("complex numbers of two f64"), "{of_reals}");
    // With the first axis contiguous, parts would lie apart.
    let mut fortran = std::fs::read(&path).unwrap();
    let at = fortran.windows(5).position(|word| word == b"False").unwrap();
    fortran[at..at + 5].copy_from_slice(b"True ");
    std::fs::write(&path, fortran).unwrap();
    let refused = TileArray::<Complex64, 2>::npy_shape(&path).unwrap_err().to_string();
    assert!(refused.contains("ascontiguousarray"), "{refused}");
}
