//! Arrays kept in fewer bits: the codec defines their values, so plain loops that round through it after each step give
//! the same bits as any cut, device and memory limit.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one; a simulated one is tested beside it.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::array::StorageErrors;
use tida::prelude::*;
use tida_kernels::codec::Codec;
use tida_kernels::element::ScalarType;
use tida_kernels::scalar::Value;

use tida_tests::{on_a_device, on_cpu, value};

#[derive(Clone, Copy, Debug)]
struct Case {
    shape: [usize; 2],
    regions: [usize; 2],
    /// 0 to 5, of each face of both axes.
    faces: [[u8; 2]; 2],
    steps: usize,
    seed: u64,
    /// Rows of one array that fit in the device's memory; all without.
    rows: Option<usize>,
    /// Cells along the first axis that a thread of a device takes.
    march: Option<usize>,
}

fn case() -> impl Strategy<Value = Case> {
    let face = || [0..5u8, 0..5u8];
    let faces = [face(), face()].prop_map(|mut faces| {
        for [low, high] in &mut faces {
            if (*low == 0) != (*high == 0) {
                *high = *low;
            }
        }
        faces
    });
    let shape = (4..14usize, 2..140usize).prop_map(|(y, x)| [y, x]);
    (shape, 1..4usize, 1..3usize, faces, 1..6usize, any::<u64>(), prop::option::of(5..12usize)).prop_map(
        |(shape, y, x, faces, steps, seed, rows)| {
            let regions = [y.min(shape[0]), x.min(shape[1].div_ceil(64))];
            // A region of one cell is too thin to extrapolate from.
            let regions = if shape[1] % 64 == 1 { [regions[0], 1] } else { regions };
            Case { shape, regions, faces, steps, seed, rows, march: None }
        },
    )
}

/// A float that is kept in fewer bits, as the codecs know it.
trait Kept: Real {
    const SCALAR_TYPE: ScalarType;

    fn value(self) -> Value;
    fn of_value(value: Value) -> Self;
}

macro_rules! kept {
    ($t:ident, $variant:ident) => {
        impl Kept for $t {
            const SCALAR_TYPE: ScalarType = ScalarType::$variant;

            fn value(self) -> Value {
                Value::$variant(self)
            }

            fn of_value(value: Value) -> $t {
                match value {
                    Value::$variant(x) => x,
                    _ => $t::NAN,
                }
            }
        }
    };
}

kept!(f32, F32);
kept!(f64, F64);

fn boundary<T: Kept>(face: u8) -> Boundary<T> {
    match face {
        0 => Boundary::Periodic,
        1 => Boundary::Fixed(lit!(T, 0.37)),
        2 => Boundary::ReflectEven,
        3 => Boundary::ReflectOdd,
        _ => Boundary::Extrapolate(1),
    }
}

fn codec<T: Kept>(format: Format) -> Option<Codec> {
    Codec::new(T::SCALAR_TYPE, &format).unwrap()
}

fn round<T: Kept>(codec: &Option<Codec>, x: T) -> T {
    codec.as_ref().map_or(x, |codec| T::of_value(codec.decode(codec.encode(x.value()).0)))
}

fn start<T: Kept>(case: &Case, at: [usize; 2]) -> T {
    T::of(value(case.seed, [0, at[0], at[1]]) - 0.6)
}

/// Cells with one ghost around, row by row.
struct Plain<T> {
    shape: [usize; 2],
    cells: Vec<T>,
}

impl<T: Kept> Plain<T> {
    fn at(&self, y: i64, x: i64) -> usize {
        (y + 1) as usize * (self.shape[1] + 2) + (x + 1) as usize
    }

    fn get(&self, y: i64, x: i64) -> T {
        self.cells[self.at(y, x)]
    }

    fn fill(&mut self, faces: &[[u8; 2]; 2], codec: &Option<Codec>) {
        let [ny, nx] = self.shape.map(|n| n as i64);
        for axis in [1, 0] {
            let (n, across) = if axis == 1 { (nx, 0..ny) } else { (ny, -1..nx + 1) };
            for other in across {
                let line: Vec<T> =
                    (0..n).map(|k| if axis == 1 { self.get(other, k) } else { self.get(k, other) }).collect();
                for (side, face) in faces[axis].iter().enumerate() {
                    let far = if n > 1 { 1 } else { 0 };
                    let (at, near, next, wrap) = match side {
                        0 => (-1, line[0], line[far], line[n as usize - 1]),
                        _ => (n, line[n as usize - 1], line[n as usize - 1 - far], line[0]),
                    };
                    let ghost = match face {
                        0 => wrap,
                        1 => round(codec, lit!(T, 0.37)),
                        2 => near,
                        3 => round(codec, -near),
                        _ => round(codec, near + T::ONE * (near - next)),
                    };
                    let cell = if axis == 1 { self.at(other, at) } else { self.at(at, other) };
                    self.cells[cell] = ghost;
                }
            }
        }
    }
}

/// Plain loops.
fn expected<T: Kept>(case: &Case, format: Format) -> Vec<u64> {
    let codec = codec::<T>(format);
    let [ny, nx] = case.shape;
    let mut u = Plain { shape: case.shape, cells: vec![T::ZERO; (ny + 2) * (nx + 2)] };
    for (y, x) in (0..ny).flat_map(|y| (0..nx).map(move |x| (y, x))) {
        let cell = u.at(y as i64, x as i64);
        u.cells[cell] = round(&codec, start(case, [y, x]));
    }
    for _ in 0..case.steps {
        u.fill(&case.faces, &codec);
        let mut next = Plain { shape: case.shape, cells: u.cells.clone() };
        for (y, x) in (0..ny as i64).flat_map(|y| (0..nx as i64).map(move |x| (y, x))) {
            let side = u.get(y, x - 1) + u.get(y, x + 1);
            let sum = u.get(y - 1, x) + u.get(y + 1, x) + side + u.get(y - 1, x + 1);
            let first = round(&codec, lit!(T, 0.5) * u.get(y, x) + lit!(T, 0.09) * sum);
            // In place: rounded once, though it is written twice.
            let second = first * lit!(T, 0.875);
            let last = if second > lit!(T, 0.1) { second - lit!(T, 0.01) } else { second };
            let cell = next.at(y, x);
            next.cells[cell] = round(&codec, last);
        }
        u = next;
    }
    let cells = (0..ny as i64).flat_map(|y| (0..nx as i64).map(move |x| (y, x)));
    cells.map(|(y, x)| u.get(y, x).to_f64().to_bits()).collect()
}

/// The same by tida, and the sum of all.
fn found<T: Kept>(acc: &TileAcc, case: &Case, format: Format) -> (Vec<u64>, u64) {
    let mut builder = TileArray::<T, 2>::builder(case.shape).regions(case.regions).ghost(1).storage(format);
    for (axis, faces) in case.faces.iter().enumerate() {
        builder = builder.boundary_face(axis, Side::Low, boundary(faces[0]));
        builder = builder.boundary_face(axis, Side::High, boundary(faces[1]));
    }
    let mut u = builder.saturation(Saturation::Warn).build(acc).unwrap();
    let mut next = u.like().unwrap();
    u.fill(|at| start(case, at)).unwrap();
    for _ in 0..case.steps {
        u.fill_ghosts().unwrap();
        let tiles = TileIter::new(&u);
        for tile in if let Some(cells) = case.march { tiles.march(cells) } else { tiles } {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(T; |next, u, at| {
                    let side = u[at - [0, 1]] + u[at + [0, 1]];
                    let sum = u[at - [1, 0]] + u[at + [1, 0]] + side + u[at + [-1, 1]];
                    next[at] = 0.5 * u[at] + 0.09 * sum;
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
    let sum: T = reduce(&u, Sum, kernel!(T; |u, at| u[at])).unwrap();
    let all = u.to_ndarray().unwrap();
    (all.iter().map(|x| x.to_f64().to_bits()).collect(), sum.to_f64().to_bits())
}

fn check<T: Kept>(case: &Case, format: Format, on_device: bool) {
    let expected = expected::<T>(case, format);
    let cpu = found::<T>(&on_cpu(), case, format);
    let first = cpu.0.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(first, None, "the first cell that differs on the CPU, of {case:?} in {format}");
    let bytes = codec::<T>(format).map_or(T::SCALAR_TYPE, |codec| codec.code()).size();
    let row = (case.shape[1] + 2).next_multiple_of(128 / bytes) * bytes;
    // Room for two regions of each array at least.
    let limit = case.rows.map(|rows| ((rows * 4 * row) as u64).max(20 << 10));
    let limited = |builder: tida::TileAccBuilder| match limit {
        Some(limit) => builder.memory_limit(limit),
        None => builder,
    };
    let sim = limited(TileAcc::builder().threads(2).simulate(tida::SimDevice::new())).build().unwrap();
    let mut devices = vec![(sim, "the simulated device")];
    if on_device {
        devices.extend(on_a_device(limited(TileAcc::builder())).map(|acc| (acc, "the device")));
    }
    for (acc, name) in devices {
        let device = found::<T>(&acc, case, format);
        let first = device.0.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!(first, None, "the first cell that differs on {name}, of {case:?} in {format}");
        assert_eq!(device.1, cpu.1, "the sum on {name}, of {case:?} in {format}");
    }
}

fn range(bits: u32) -> Format {
    Format::Range { bits, min: -0.9, max: 1.1 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn steps_of_f32_round_through_the_codec(
        case in case(), format in prop::sample::select(vec![range(8), range(16), Format::Half, Format::ScaledHalf { scale: 0.3 }])
    ) {
        check::<f32>(&case, format, false);
    }

    #[test]
    fn steps_of_f64_round_through_the_codec(
        case in case(), format in prop::sample::select(vec![range(16), range(32), Format::F32, Format::Bfloat])
    ) {
        check::<f64>(&case, format, false);
    }
}

proptest! {
    // A device compiles each format anew.
    #![proptest_config(ProptestConfig::with_cases(1))]

    #[test]
    fn a_device_rounds_through_the_codec(case in case()) {
        check::<f32>(&case, Format::ScaledHalf { scale: 0.3 }, true);
        check::<f64>(&case, range(16), true);
    }
}

/// Threads that march have several cells side by side, and keep what they read decoded.
#[test]
fn cells_side_by_side_round_through_the_codec() {
    let faces = [[1, 4], [3, 2]];
    let case = Case { shape: [13, 71], regions: [2, 1], faces, steps: 3, seed: 5, rows: Some(8), march: Some(4) };
    check::<f64>(&case, range(32), true);
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
struct Raw {
    single: f32,
    double: f64,
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
struct Many {
    bytes: f32,
    words: f32,
    half: f32,
    scaled: f32,
    bfloat: f32,
    wide_words: f64,
    wide_longs: f64,
    wide_half: f64,
    wide_scaled: f64,
    wide_bfloat: f64,
    wide_single: f64,
}

/// Every codec on wild values: codes on the device are those of the host, and so are the values that they stand for.
#[test]
fn every_format_has_the_same_bits_on_a_device() {
    const CELLS: usize = 20000;
    let wild = |[n]: [usize; 1]| {
        let bits = value(n as u64, [n, 3, 1]).to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let double = match n % 4 {
            0 => f64::from_bits(bits),
            1 => f64::from(f32::from_bits((bits >> 32) as u32)),
            2 => value(1, [n, 0, 0]) * 2.2 - 2.1,
            _ => (value(1, [n, 0, 0]) - 1.0) * f64::exp2((n / 4 % 60) as f64 - 40.0),
        };
        Raw { single: if n % 4 == 1 { f32::from_bits((bits >> 32) as u32) } else { double as f32 }, double }
    };
    let run = |acc: &TileAcc| {
        let mut raw = TileArray::<Raw, 1>::builder([CELLS]).build(acc).unwrap();
        raw.fill(wild).unwrap();
        let scaled = Format::ScaledHalf { scale: 1.0 / 3000.0 };
        let formats = [
            ("bytes", range(8)),
            ("words", range(16)),
            ("half", Format::Half),
            ("scaled", scaled),
            ("bfloat", Format::Bfloat),
            ("wide_words", range(16)),
            ("wide_longs", range(32)),
            ("wide_half", Format::Half),
            ("wide_scaled", scaled),
            ("wide_bfloat", Format::Bfloat),
            ("wide_single", Format::F32),
        ];
        let builder = TileArray::<Many, 1>::builder([CELLS]).saturation(Saturation::Warn);
        let builder = formats.into_iter().fold(builder, |b, (field, format)| b.field_storage(field, format));
        let mut many = builder.build(acc).unwrap();
        let mut back = TileArray::<[f64; 11], 1>::builder([CELLS]).build(acc).unwrap();
        for tile in TileIter::new(&raw) {
            compute(
                &tile,
                (&mut many, &raw),
                kernel!(|many, raw, at| {
                    let (x, y) = (raw[at].single, raw[at].double);
                    many[at].bytes = x;
                    many[at].words = x;
                    many[at].half = x;
                    many[at].scaled = x;
                    many[at].bfloat = x;
                    many[at].wide_words = y;
                    many[at].wide_longs = y;
                    many[at].wide_half = y;
                    many[at].wide_scaled = y;
                    many[at].wide_bfloat = y;
                    many[at].wide_single = y;
                }),
            )
            .unwrap();
            compute(
                &tile,
                (&mut back, &many),
                kernel!(|back, many, at| {
                    back[at][0] = many[at].bytes as f64;
                    back[at][1] = many[at].words as f64;
                    back[at][2] = many[at].half as f64;
                    back[at][3] = many[at].scaled as f64;
                    back[at][4] = many[at].bfloat as f64;
                    back[at][5] = many[at].wide_words;
                    back[at][6] = many[at].wide_longs;
                    back[at][7] = many[at].wide_half;
                    back[at][8] = many[at].wide_scaled;
                    back[at][9] = many[at].wide_bfloat;
                    back[at][10] = many[at].wide_single;
                }),
            )
            .unwrap();
        }
        let bits = |x: f64| if x.is_nan() { 1 } else { x.to_bits() };
        let back = back.read_box(back.domain()).unwrap();
        let saturated = many.storage_report().unwrap().saturated;
        (back.into_iter().map(|cell| cell.map(bits)).collect::<Vec<_>>(), saturated)
    };
    let expected = run(&on_cpu());
    assert!(expected.1 > 1000);
    if let Some(acc) = on_a_device(TileAcc::builder()) {
        let found = run(&acc);
        for (n, (found, expected)) in found.0.iter().zip(&expected.0).enumerate() {
            assert_eq!(found, expected, "of {:?}", wild([n]));
        }
        assert_eq!(found.1, expected.1);
    }
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
struct Flow {
    speed: [f32; 2],
    heat: f64,
    id: i32,
}

#[test]
fn fields_of_structs_have_formats_of_their_own() {
    let run = |acc: &TileAcc| {
        let mut flow = TileArray::<Flow, 2>::builder([9, 70])
            .regions([2, 1])
            .ghost(1)
            .boundary(Boundary::ReflectEven)
            .field_storage("speed", Format::Half)
            .field_storage("heat", range(16))
            .build(acc)
            .unwrap();
        let report = flow.storage_report().unwrap();
        assert_eq!((report.stored_bytes, report.raw_bytes), (2 + 2 + 2 + 4, 4 + 4 + 8 + 4));
        let names: Vec<_> = report.components.iter().map(|c| (c.name.as_str(), c.format)).collect();
        let half = ("speed", Format::Half);
        assert_eq!(names, [half, half, ("heat", range(16)), ("id", Format::Raw)]);
        flow.fill(|[y, x]| Flow {
            speed: [y as f32 + 0.1, x as f32 / 7.0],
            heat: (x as f64 / 70.0) - (y as f64) / 10.0,
            id: (y * 1000 + x) as i32,
        })
        .unwrap();
        let mut next = flow.like().unwrap();
        for _ in 0..3 {
            flow.fill_ghosts().unwrap();
            for tile in TileIter::new(&flow) {
                compute(
                    &tile,
                    (&mut next, &flow),
                    kernel!(|next, flow, at| {
                        let east = flow[at + [0, 1]];
                        for q in 0..2 {
                            next[at].speed[q] = 0.5 * (flow[at].speed[q] + east.speed[1 - q]);
                        }
                        next[at].heat =
                            0.75 * flow[at].heat + 0.125 * (flow[at - [1, 0]].heat + flow[at + [1, 0]].heat);
                        next[at].id = flow[at].id + 1;
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut flow, &mut next);
        }
        flow.read_box(flow.domain()).unwrap()
    };
    let expected = run(&on_cpu());
    assert_eq!(expected[1000 % 70].id, 1000 % 70 + 3);
    for flow in &expected {
        for speed in flow.speed {
            let mut kept = [0u32];
            codec::<f32>(Format::Half).unwrap().encode_f32(&[speed], &mut kept);
            assert_eq!(codec::<f32>(Format::Half).unwrap().decode(kept[0]), Value::F32(speed));
        }
    }
    let sim = TileAcc::builder().threads(2).simulate(tida::SimDevice::new()).build().unwrap();
    assert!(run(&sim) == expected, "on the simulated device");
    if let Some(acc) = on_a_device(TileAcc::builder()) {
        assert!(run(&acc) == expected, "on the device");
    }
}

#[test]
fn whole_arrays_and_checked_reads_are_decoded() {
    let run = |acc: &TileAcc| {
        let builder = TileArray::<f32, 1>::builder([500]).storage(range(16));
        let (mut a, mut index) = (builder.clone().regions([3]).build(acc).unwrap(), builder.build(acc).unwrap());
        let mut out = TileArray::<f64, 1>::builder([500]).regions([2]).build(acc).unwrap();
        a.fill(|[n]| n as f32 / 600.0).unwrap();
        index.fill(|[n]| ((n * 7919) % 500) as f32 / 500.0).unwrap();
        for tile in TileIter::new(&out) {
            compute(
                &tile,
                (&mut out, all(&index), all(&a)),
                kernel!(|out, index, a, at| {
                    let n = (index[at] * 499.0) as i64;
                    out[at] = a[[n]] as f64 + index[[499 - at[0]]] as f64;
                }),
            )
            .unwrap();
        }
        out.read_box(out.domain()).unwrap()
    };
    let expected = run(&on_cpu());
    let sim = TileAcc::builder().threads(2).simulate(tida::SimDevice::new()).build().unwrap();
    assert_eq!(run(&sim), expected);
    if let Some(acc) = on_a_device(TileAcc::builder()) {
        assert_eq!(run(&acc), expected);
    }
}

#[test]
fn values_that_saturate_are_counted_and_told() {
    let mut accs = vec![on_cpu(), TileAcc::builder().threads(2).simulate(tida::SimDevice::new()).build().unwrap()];
    accs.extend(on_a_device(TileAcc::builder()));
    for acc in accs {
        let build = |saturation| {
            let builder = TileArray::<f64, 1>::builder([100]).regions([2]).storage(range(16));
            builder.saturation(saturation).build(&acc).unwrap()
        };
        let double = |u: &mut TileArray<f64, 1>| {
            for tile in TileIter::new(u) {
                compute(&tile, &mut *u, kernel!(|u, at| u[at] = 2.0 * u[at])).unwrap();
            }
        };
        let mut u = build(Saturation::Warn);
        u.fill(|[n]| (n as f64 + 0.3) / 100.0).unwrap();
        double(&mut u);
        let kept = u.read_box(u.domain()).unwrap();
        // From 0.553 on twice the value is beyond 1.1, and becomes the highest that there is.
        let beyond = kept.iter().filter(|x| **x > 1.0999).count();
        assert_eq!((u.storage_report().unwrap().saturated, beyond), (45, 45), "{}", acc.device().name());
        let mut u = build(Saturation::Error);
        u.fill(|[n]| (n as f64 + 0.3) / 100.0).unwrap();
        double(&mut u);
        let error = u.read_box(u.domain()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        let text = error.to_string();
        assert!(text.contains("values that the format of an array, `16 bits over -0.9..1.1`, cannot hold"), "{text}");
        assert!(text.contains("storage.rs:"), "{text}");
        // What is written again is right again.
        u.fill_value(0.5).unwrap();
        assert!(u.read_box(u.domain()).unwrap().iter().all(|x| (x - 0.5).abs() < 2e-5));
        let error = u.fill_value(7.0).unwrap_err();
        assert!(error.to_string().contains("write values into an array of f64"), "{error}");
        let mut u = build(Saturation::Ignore);
        u.fill_value(0.9).unwrap();
        double(&mut u);
        assert!(u.read_box(u.domain()).unwrap().iter().all(|x| *x > 1.0999));
    }
}

#[test]
fn the_host_sees_decoded_values() {
    let acc = on_cpu();
    let format = range(8);
    let mut u = TileArray::<f32, 2>::builder([5, 70]).regions([2, 1]).ghost(1).storage(format).build(&acc).unwrap();
    // A new array holds what is nearest to 0.
    let zero = u.read_box(u.domain()).unwrap()[0];
    assert!(zero.abs() <= 2.0 / 256.0 / 2.0 * 1.001, "{zero}");
    let raw = ndarray::Array2::from_shape_fn([5, 70], |(y, x)| (y as f32 + x as f32 / 70.0) / 5.0 - 0.2);
    u.copy_from_ndarray(&raw.view()).unwrap();
    let kept = u.to_ndarray().unwrap();
    let bound = u.storage_report().unwrap().components[0].absolute as f32 * 1.001;
    assert!(kept.iter().zip(&raw).all(|(a, b)| (a - b).abs() <= bound));
    assert!(kept != raw);
    u.with_region(1, |view| assert_eq!(view[[0, 3]], kept[[2, 3]])).unwrap();
    u.with_region_mut(1, |mut view| view[[0, 3]] = 0.123).unwrap();
    let changed = u.to_ndarray().unwrap();
    assert!((changed[[2, 3]] - 0.123).abs() <= bound);
    assert_eq!(changed.iter().zip(&kept).filter(|(a, b)| a != b).count(), 1);
    // Values that the format has stay as they are, through files and other cuts.
    let path = std::env::temp_dir().join(format!("tida-storage-{}.npy", std::process::id()));
    u.save_npy(&path).unwrap();
    let mut other = TileArray::<f32, 2>::builder([5, 70]).storage(format).build_npy(&acc, &path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(other.to_ndarray().unwrap(), changed);
    let mut wide = TileArray::<f32, 2>::builder([5, 70]).regions([3, 1]).build(&acc).unwrap();
    wide.copy_from(&u).unwrap();
    assert_eq!(wide.to_ndarray().unwrap(), changed);
    other.fill_value(0.0).unwrap();
    other.copy_from(&wide).unwrap();
    assert_eq!(other.try_clone().unwrap().to_ndarray().unwrap(), changed);
    let errors: StorageErrors = other.storage_report_against(&wide).unwrap();
    assert_eq!((errors.max, errors.values), (0.0, 350));
    wide.copy_from_ndarray(&raw.view()).unwrap();
    u.copy_from_ndarray(&raw.view()).unwrap();
    let errors = u.storage_report_against(&wide).unwrap();
    assert!(errors.max_absolute <= f64::from(bound) && errors.mean > 0.0 && errors.geometric_mean < errors.max);
}

#[test]
fn formats_that_cannot_be_are_errors() {
    let acc = on_cpu();
    let text = |built: Result<TileArray<Flow, 1>, Error>| built.unwrap_err().to_string();
    let builder = TileArray::<Flow, 1>::builder([8]);
    let error = text(builder.clone().storage(Format::Half).build(&acc));
    assert!(error.contains("the format `f16` for i32 in the field `id`; give formats to f32 and f64 alone"), "{error}");
    let error = text(builder.clone().field_storage("hat", Format::Half).build(&acc));
    assert!(error.contains("a format for the field `hat`; name one of speed, heat, id"), "{error}");
    let error = text(builder.clone().field_storage("heat", Format::Range { bits: 16, min: 3.0, max: 1.0 }).build(&acc));
    assert!(error.contains("a range from 3.0 to 1.0 in the field `heat`; give two finite numbers"), "{error}");
    assert!(builder.storage(Format::Half).field_storage("id", Format::Raw).build(&acc).is_ok());
    let mut u = TileArray::<[f32; 3], 1>::builder([8]).storage(Format::Half).build(&acc).unwrap();
    let tile = TileIter::new(&u).next().unwrap();
    let error = compute(
        &tile,
        &mut u,
        kernel!(|u, at| {
            for q in 0..3 {
                u[at][q] = u[at][q] * 2.0;
            }
        }),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("a component of `u`, kept in fewer bits, that is chosen at run time and read back"),
        "{error}"
    );
}

#[test]
fn steps_of_one_launch_round_in_between() {
    let run = |acc: &TileAcc| {
        let builder = TileArray::<f32, 2>::builder([40, 100]).ghost(1).boundary(Boundary::Periodic);
        let mut u = builder.storage(range(16)).saturation(Saturation::Ignore).build(acc).unwrap();
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
    let Some(acc) = on_a_device(TileAcc::builder().fuse(tida::Fuse::Steps(3)).compile(tida::Compile::Wait)) else {
        return;
    };
    assert!(run(&acc) == run(&on_cpu()));
    assert!(acc.stats().fused_steps >= 6 || acc.device() == Device::Sim, "{:?}", acc.stats());
}
