//! Arrays whose memory holds values, and which are packed for the link alone: their bits are those of arrays that hold
//! codes, on every device, cut and memory limit.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one; a simulated one is tested beside it.
#![cfg(all(feature = "ndarray", feature = "npz"))]

use proptest::prelude::*;
use tida::prelude::*;

use tida_tests::{on_a_device, on_cpu, value};

#[derive(Clone, Copy, Debug)]
struct Case {
    shape: [usize; 3],
    regions: [usize; 3],
    /// 0 to 5, of each face of each axis.
    faces: [[u8; 2]; 3],
    steps: usize,
    seed: u64,
    /// Planes of one array that fit in the device's memory; all without.
    planes: Option<usize>,
    /// Steps leave cells of the second array as they are: at first what memory holds that no one wrote.
    sparse: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let face = || [0..6u8, 0..6u8];
    let faces = [face(), face(), face()].prop_map(|mut faces| {
        for [low, high] in &mut faces {
            if (*low == 0) != (*high == 0) {
                *high = *low;
            }
        }
        faces
    });
    let shape = (4..10usize, 2..8usize, 2..140usize).prop_map(|(z, y, x)| [z, y, x]);
    let cuts = (1..4usize, 1..3usize, 1..3usize);
    (shape, cuts, faces, 1..5usize, any::<u64>(), prop::option::of(5..9usize), any::<bool>()).prop_map(
        |(shape, (z, y, x), faces, steps, seed, planes, sparse)| {
            // A region of one cell is too thin to extrapolate from.
            let x = if shape[2] % 64 == 1 { 1 } else { x.min(shape[2].div_ceil(64)) };
            let regions = [z.min(shape[0] / 2), y.min(shape[1] / 2), x];
            Case { shape, regions, faces, steps, seed, planes, sparse }
        },
    )
}

/// Values, their sum, and how many saturated.
type Outcome = (Vec<u64>, u64, u64);

fn boundary<T: Real>(face: u8) -> Boundary<T> {
    match face {
        0 => Boundary::Periodic,
        1 => Boundary::Fixed(lit!(T, 0.37)),
        2 => Boundary::ReflectEven,
        3 => Boundary::ReflectOdd,
        4 => Boundary::Extrapolate(1),
        _ => Boundary::Open,
    }
}

fn run<T: Real>(acc: &TileAcc, case: &Case, format: Format, compress: Compress) -> Outcome {
    let builder = TileArray::<T, 3>::builder(case.shape).regions(case.regions).ghost(1);
    let mut builder = builder.storage(format).compress(compress).saturation(Saturation::Warn);
    for (axis, faces) in case.faces.iter().enumerate() {
        builder = builder.boundary_face(axis, Side::Low, boundary(faces[0]));
        builder = builder.boundary_face(axis, Side::High, boundary(faces[1]));
    }
    let mut u = builder.build(acc).unwrap();
    let mut next = u.like().unwrap();
    u.fill(|at| T::of(value(case.seed, at) - 0.6)).unwrap();
    let least = if case.sparse { lit!(T, 0.1) } else { lit!(T, -1e9) };
    for _ in 0..case.steps {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(T; |next, u, at| {
                    let side = u[at - [0, 0, 1]] + u[at + [0, 0, 1]];
                    let sum = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + side + u[at + [0, -1, 1]];
                    if u[at] > least {
                        next[at] = 0.5 * u[at] + 0.13 * (sum + u[at + [0, 1, 0]]);
                    }
                }),
            )
            .unwrap();
        }
        for tile in TileIter::new(&next) {
            compute(
                &tile,
                &mut next,
                kernel!(T; |u, at| {
                    u[at] = u[at] * 0.875;
                    if u[at] > 0.1 {
                        u[at] = u[at] - 0.01;
                    }
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let sum: T = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    let all = u.read_box(u.domain()).unwrap();
    let saturated = u.storage_report().unwrap().saturated + next.storage_report().unwrap().saturated;
    (all.iter().map(|x| x.bits()).collect(), sum.bits(), saturated)
}

fn check<T: Real>(case: &Case, format: Format, on_device: bool) {
    let expected = run::<T>(&on_cpu(), case, format, Compress::Device);
    let bytes = size_of::<T>();
    let plane = (case.shape[1] + 2) * (case.shape[2] + 2).next_multiple_of(128 / bytes) * bytes;
    // Where regions come and go, two that go together have to fit.
    let region = (case.shape[0] + 3) * plane;
    let least = if case.regions[1..] == [1, 1] { 20 << 10 } else { 2 * region + (8 << 10) };
    let limit = case.planes.map(|planes| (planes * 4 * plane).max(least) as u64);
    let limited = |builder: tida::TileAccBuilder| match limit {
        Some(limit) => builder.memory_limit(limit),
        None => builder,
    };
    let sim = limited(TileAcc::builder().threads(2).simulate(tida::SimDevice::new())).build().unwrap();
    let both = TileAcc::builder().device(Device::Hybrid).threads(2).simulate(tida::SimDevice::new());
    let both = (both.build().unwrap(), "both sides");
    let mut accs = vec![(on_cpu(), "the CPU"), (sim, "the simulated device"), both];
    if on_device {
        accs.extend(on_a_device(limited(TileAcc::builder())).map(|acc| (acc, "the device")));
    }
    for (acc, name) in accs {
        let found = run::<T>(&acc, case, format, Compress::Link);
        let first = found.0.iter().zip(&expected.0).position(|(a, b)| a != b);
        assert_eq!(first, None, "the first cell that differs on {name}, of {case:?} in {format}");
        assert_eq!(found.1, expected.1, "the sum on {name}, of {case:?} in {format}");
        assert_eq!(found.2, expected.2, "what saturated on {name}, of {case:?} in {format}");
        let streams = on_device && limit.is_some() && name.contains("device");
        assert!(!streams || acc.stats().passes > 0, "{:?}", acc.stats());
    }
}

fn range(bits: u32) -> Format {
    Format::Range { bits, min: -0.7, max: 0.9 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn steps_of_f32_have_the_bits_of_codes(
        case in case(),
        format in prop::sample::select(vec![range(8), range(16), Format::Half, Format::ScaledHalf { scale: 0.3 }, Format::Raw])
    ) {
        check::<f32>(&case, format, false);
    }

    #[test]
    fn steps_of_f64_have_the_bits_of_codes(
        case in case(),
        format in prop::sample::select(vec![range(16), range(32), Format::F32, Format::Bfloat, Format::Half])
    ) {
        check::<f64>(&case, format, false);
    }
}

/// Planes, and regions that are cut along two axes, stream through a device that has no room for all.
#[test]
fn a_device_has_the_bits_of_codes() {
    let faces = [[1, 4], [3, 3], [3, 2]];
    let case =
        Case { shape: [12, 6, 70], regions: [3, 1, 1], faces, steps: 3, seed: 5, planes: Some(5), sparse: false };
    check::<f32>(&case, range(16), true);
    check::<f64>(&Case { regions: [3, 2, 1], sparse: true, ..case }, range(32), true);
    check::<f64>(&Case { planes: None, faces: [[0, 0], [4, 3], [1, 4]], ..case }, range(32), true);
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
struct Raw {
    single: f32,
    double: f64,
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
struct Many {
    id: i32,
    singles: [f32; 2],
    words: f32,
    half: f32,
    bfloat: f32,
    doubles: f64,
    words_of_doubles: f64,
    longs: f64,
    halves_of_doubles: f64,
    bfloat_of_doubles: f64,
    singles_of_doubles: f64,
}

/// Every codec on wild values that a kernel stores: those of the same array that holds codes.
#[test]
fn fields_of_every_format_have_the_bits_of_codes() {
    const CELLS: usize = 6000;
    let wild = |[n]: [usize; 1]| {
        let bits = value(n as u64, [n, 3, 1]).to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let double = match n % 3 {
            0 => f64::from_bits(bits),
            1 => value(1, [n, 0, 0]) * 2.2 - 2.1,
            _ => (value(1, [n, 0, 0]) - 1.0) * f64::exp2((n / 4 % 60) as f64 - 40.0),
        };
        Raw { single: double as f32, double }
    };
    let run = |acc: &TileAcc, compress| {
        let mut raw = TileArray::<Raw, 1>::builder([CELLS]).build(acc).unwrap();
        raw.fill(wild).unwrap();
        let formats = [
            ("singles", range(8)),
            ("words", range(16)),
            ("half", Format::ScaledHalf { scale: 1.0 / 3000.0 }),
            ("bfloat", Format::Bfloat),
            ("words_of_doubles", range(16)),
            ("longs", range(32)),
            ("halves_of_doubles", Format::Half),
            ("bfloat_of_doubles", Format::Bfloat),
            ("singles_of_doubles", Format::F32),
        ];
        let builder = TileArray::<Many, 1>::builder([CELLS]).saturation(Saturation::Warn).compress(compress);
        let builder = formats.into_iter().fold(builder, |b, (field, format)| b.field_storage(field, format));
        let mut many = builder.build(acc).unwrap();
        let mut back = TileArray::<[f64; 12], 1>::builder([CELLS]).build(acc).unwrap();
        for tile in TileIter::new(&raw) {
            compute(
                &tile,
                (&mut many, &raw),
                kernel!(|many, raw, at| {
                    let (x, y) = (raw[at].single, raw[at].double);
                    many[at].id = at[0] as i32;
                    many[at].singles[0] = x;
                    many[at].singles[1] = 0.5 * x;
                    many[at].words = x;
                    many[at].half = x;
                    many[at].bfloat = x;
                    many[at].doubles = y;
                    many[at].words_of_doubles = y;
                    many[at].longs = y;
                    many[at].halves_of_doubles = y;
                    many[at].bfloat_of_doubles = y;
                    many[at].singles_of_doubles = y;
                }),
            )
            .unwrap();
            compute(
                &tile,
                (&mut back, &many, all(&many)),
                kernel!(|back, many, whole, at| {
                    let there = whole[[5999 - at[0]]];
                    back[at][0] = many[at].singles[0] as f64;
                    back[at][1] = many[at].singles[1] as f64;
                    back[at][2] = many[at].words as f64;
                    back[at][3] = many[at].half as f64;
                    back[at][4] = many[at].bfloat as f64;
                    back[at][5] = there.words_of_doubles;
                    back[at][6] = there.longs;
                    back[at][7] = many[at].halves_of_doubles;
                    back[at][8] = many[at].bfloat_of_doubles;
                    back[at][9] = many[at].singles_of_doubles;
                    back[at][10] = many[at].id as f64;
                    back[at][11] = many[at].doubles;
                }),
            )
            .unwrap();
        }
        let bits = |x: f64| if x.is_nan() { 1 } else { x.to_bits() };
        let back: Vec<_> = back.read_box(back.domain()).unwrap().into_iter().map(|cell| cell.map(bits)).collect();
        (back, many.storage_report().unwrap())
    };
    let expected = run(&on_cpu(), Compress::Device);
    assert!(expected.1.saturated > 1000);
    assert_eq!((expected.1.compress, expected.1.stored_bytes, expected.1.link_bytes), (Compress::Device, 34, 34));
    let sim = TileAcc::builder().threads(2).simulate(tida::SimDevice::new()).build().unwrap();
    for acc in [on_cpu(), sim].into_iter().chain(on_a_device(TileAcc::builder())) {
        let found = run(&acc, Compress::Link);
        for (n, (found, expected)) in found.0.iter().zip(&expected.0).enumerate() {
            assert_eq!(found, expected, "of {:?} on {}", wild([n]), acc.device().name());
        }
        let (report, held) = (found.1, 4 + 5 * 4 + 6 * 8);
        assert_eq!(report.saturated, expected.1.saturated, "on {}", acc.device().name());
        assert_eq!((report.compress, report.stored_bytes), (Compress::Link, held));
        assert_eq!((report.link_bytes, report.raw_bytes), (34, held));
    }
}

/// The host's ways to set values round as they do where memory holds codes.
#[test]
fn the_host_sets_what_it_would_of_codes() {
    let acc = on_cpu();
    let folder = std::env::temp_dir().join(format!("tida-storage-link-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let raw = ndarray::Array2::from_shape_fn([5, 70], |(y, x)| (value(3, [0, y, x]) - 0.9) as f32);
    let mut wide = TileArray::<f32, 2>::builder([5, 70]).regions([3, 1]).build(&acc).unwrap();
    wide.copy_from_ndarray(&raw.view()).unwrap();
    wide.save_npy(folder.join("raw.npy")).unwrap();
    let mut seen: Vec<Vec<ndarray::Array2<f32>>> = Vec::new();
    for compress in [Compress::Device, Compress::Link] {
        let builder = TileArray::<f32, 2>::builder([5, 70]).regions([2, 1]).ghost(1).compress(compress);
        let given = builder.clone().storage(range(8));
        let mut all = Vec::new();
        let mut u = given.build(&acc).unwrap();
        all.push(u.to_ndarray().unwrap());
        u.copy_from_ndarray(&raw.view()).unwrap();
        all.push(u.to_ndarray().unwrap());
        u.with_region_mut(1, |mut view| view[[0, 3]] = 0.123).unwrap();
        u.with_grown_component_mut::<f32, _>(0, 0, |mut view| view[[1, 4]] = 0.321).unwrap();
        let corner = GridBox::new([2, 60], [4, 70]);
        u.write_box(corner, &[0.4567; 20]).unwrap();
        all.push(u.to_ndarray().unwrap());
        all.push(u.like().unwrap().to_ndarray().unwrap());
        all.push(u.try_clone().unwrap().to_ndarray().unwrap());
        all.push(given.build_npy(&acc, folder.join("raw.npy")).unwrap().to_ndarray().unwrap());
        // Formats that are found, in every way.
        let found = builder.clone().storage(Format::FoundRange { bits: 16 });
        all.push(found.build_npy(&acc, folder.join("raw.npy")).unwrap().to_ndarray().unwrap());
        all.push(found.build_copy(&acc, &wide).unwrap().to_ndarray().unwrap());
        let half = builder.clone().storage(Format::FoundHalf).build_ndarray(&acc, &raw.view()).unwrap();
        all.push(half.to_ndarray().unwrap());
        // Between formats, and to where codes or values are kept.
        let mut other = given.build(&acc).unwrap();
        other.copy_from(&wide).unwrap();
        all.push(other.to_ndarray().unwrap());
        other.copy_from(&half).unwrap();
        all.push(other.to_ndarray().unwrap());
        let mut back = TileArray::<f32, 2>::builder([5, 70]).build(&acc).unwrap();
        back.copy_from(&other).unwrap();
        all.push(back.to_ndarray().unwrap());
        for compress in [Compress::Device, Compress::Link] {
            let mut same = given.clone().regions([3, 1]).compress(compress).build(&acc).unwrap();
            same.copy_from(&u).unwrap();
            all.push(same.to_ndarray().unwrap());
            // What was saved of one is that of the other.
            let path = folder.join("saved.npz");
            tida::save(&path, &[("u", &u)]).unwrap();
            same.fill_value(0.0).unwrap();
            tida::restore(&path, &mut [("u", &mut same)]).unwrap();
            all.push(same.to_ndarray().unwrap());
        }
        // A file of other values is rounded.
        tida::save(folder.join("raw.npz"), &[("u", &wide)]).unwrap();
        tida::restore(folder.join("raw.npz"), &mut [("u", &mut u)]).unwrap();
        all.push(u.to_ndarray().unwrap());
        let errors = u.storage_report_against(&wide).unwrap();
        assert!(errors.max > 0.0 && errors.max_absolute <= u.storage_report().unwrap().components[0].absolute * 1.001);
        let error = u.fill_value(7.0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        seen.push(all);
    }
    std::fs::remove_dir_all(&folder).unwrap();
    for (n, (codes, values)) in seen[0].iter().zip(&seen[1]).enumerate() {
        assert_eq!(codes, values, "number {n}");
    }
    assert!(seen[1][1] != raw && seen[1][2] != seen[1][1]);
}

#[test]
fn kernels_take_arrays_of_both_kinds() {
    let run = |acc: &TileAcc, kinds: [Compress; 2]| {
        let build = |format, compress| {
            let builder = TileArray::<f64, 2>::builder([7, 90]).regions([2, 2]).ghost(1).boundary(Boundary::Periodic);
            builder.storage(format).compress(compress).saturation(Saturation::Warn).build(acc).unwrap()
        };
        let (mut a, mut b) = (build(range(32), kinds[0]), build(Format::F32, kinds[1]));
        a.fill(|[y, x]| value(2, [0, y, x]) - 0.9).unwrap();
        for _ in 0..3 {
            a.fill_ghosts().unwrap();
            for tile in TileIter::new(&a) {
                compute(
                    &tile,
                    (&mut b, &a),
                    kernel!(|b, a, at| b[at] = 0.7 * b[at] + 0.3 * (a[at - [1, 0]] + a[at + [0, 1]])),
                )
                .unwrap();
            }
            b.fill_ghosts().unwrap();
            for tile in TileIter::new(&a) {
                compute(&tile, (&mut a, &b), kernel!(|a, b, at| a[at] = b[at] - 0.1 * b[at + [1, 0]])).unwrap();
            }
        }
        let sum = reduce((&a, &b), Sum, kernel!(|a, b, at| a[at] * b[at])).unwrap();
        let bits =
            |u: &TileArray<f64, 2>| -> Vec<u64> { u.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect() };
        (bits(&a), bits(&b), sum.to_bits())
    };
    let sim = TileAcc::builder().threads(2).simulate(tida::SimDevice::new()).build().unwrap();
    let expected = run(&on_cpu(), [Compress::Device; 2]);
    let kinds = [[Compress::Device, Compress::Link], [Compress::Link, Compress::Device]];
    for (n, acc) in [on_cpu(), sim].into_iter().chain(on_a_device(TileAcc::builder())).enumerate() {
        // A device compiles each kernel anew.
        for kinds in kinds.iter().take(if n < 2 { 2 } else { 1 }) {
            assert!(run(&acc, *kinds) == expected, "{kinds:?} on {}", acc.device().name());
        }
    }
}

#[test]
fn arrays_without_formats_are_packed_too() {
    for acc in [on_cpu()].into_iter().chain(on_a_device(TileAcc::builder())) {
        let builder = TileArray::<[f32; 2], 2>::builder([6, 70]).regions([2, 1]).compress(Compress::Link);
        let mut u = builder.build(&acc).unwrap();
        let report = u.storage_report().unwrap();
        assert_eq!((report.compress, report.link_bytes, report.raw_bytes), (Compress::Link, 8, 8));
        let start = |[y, x]: [usize; 2]| [y as f32 / 3.0, x as f32 / 7.0];
        u.fill(start).unwrap();
        for tile in TileIter::new(&u) {
            // A component that is chosen at run time and read back needs no rounding here.
            compute(
                &tile,
                &mut u,
                kernel!(|u, at| {
                    for q in 0..2 {
                        u[at][q] = u[at][q] * 0.7;
                    }
                }),
            )
            .unwrap();
        }
        let expected: Vec<[f32; 2]> =
            (0..6).flat_map(|y| (0..70).map(move |x| start([y, x]).map(|v| v * 0.7))).collect();
        assert_eq!(u.read_box(u.domain()).unwrap(), expected);
    }
}

#[test]
fn values_that_saturate_are_errors_where_they_were_computed() {
    let mut accs = vec![on_cpu(), TileAcc::builder().threads(2).simulate(tida::SimDevice::new()).build().unwrap()];
    accs.extend(on_a_device(TileAcc::builder()));
    for acc in accs {
        let builder = TileArray::<f64, 1>::builder([100]).regions([2]).storage(range(16)).compress(Compress::Link);
        let mut u = builder.build(&acc).unwrap();
        u.fill_value(0.5).unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 2.0 * u[at])).unwrap();
        }
        let error = u.read_box(u.domain()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        let text = error.to_string();
        assert!(text.contains("values that the format of an array, `16 bits over -0.7..0.9`, cannot hold"), "{text}");
        assert!(text.contains("storage_link.rs:"), "{text}");
    }
}

#[test]
fn steps_of_one_launch_round_in_between() {
    let run = |acc: &TileAcc, compress| {
        let builder = TileArray::<f32, 2>::builder([40, 100]).ghost(1).boundary(Boundary::Periodic);
        let builder = builder.storage(range(16)).saturation(Saturation::Ignore).compress(compress);
        let mut u = builder.build(acc).unwrap();
        u.fill(|[y, x]| (value(5, [0, y, x]) - 0.6) as f32).unwrap();
        let mut next = u.like().unwrap();
        for _ in 0..12 {
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        let side = u[at - [0, 1]] + u[at + [0, 1]];
                        next[at] = 0.6 * u[at] + 0.1 * (u[at - [1, 0]] + u[at + [1, 0]] + side);
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        u.read_box(u.domain()).unwrap()
    };
    let expected = run(&on_cpu(), Compress::Device);
    let Some(acc) = on_a_device(TileAcc::builder().fuse(tida::Fuse::Steps(3)).compile(tida::Compile::Wait)) else {
        return;
    };
    assert!(run(&acc, Compress::Link) == expected);
    assert!(acc.stats().fused_steps >= 6 || acc.device() == Device::Sim, "{:?}", acc.stats());
}
