//! Arrays that are built from their values: formats found from all of them, structs from slices and `ndarray` and back,
//! and checkpoints of arrays in fewer bits.
#![cfg(all(feature = "ndarray", feature = "npz"))]

use ndarray::{Array2, ArrayView2};
use tida::prelude::*;

use tida_tests::{on_cpu, value};

const SHAPE: [usize; 2] = [23, 150];

fn values() -> Vec<f32> {
    let at = |n: usize| [0, n / SHAPE[1], n % SHAPE[1]];
    (0..SHAPE[0] * SHAPE[1]).map(|n| (value(7, at(n)) * 3.0 - 4.0) as f32).collect()
}

/// The lowest and the highest.
fn ends(values: &[f32]) -> (f64, f64) {
    let (low, high) = values.iter().fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    (low.into(), high.into())
}

#[test]
fn formats_are_those_of_all_values_whatever_the_cut() {
    let values = values();
    let (min, max) = ends(&values);
    let largest = min.abs().max(max.abs());
    assert!((2.0..8.0).contains(&largest));
    let scale = if largest < 4.0 { f64::exp2(-13.0) } else { f64::exp2(-12.0) };
    let wanted = [
        (Format::FoundRange { bits: 8 }, Format::Range { bits: 8, min, max }),
        (Format::FoundRange { bits: 16 }, Format::Range { bits: 16, min, max }),
        (Format::FoundHalf, Format::ScaledHalf { scale }),
    ];
    let accs = [on_cpu(), TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap()];
    let path = std::env::temp_dir().join(format!("tida-found-{}.npy", std::process::id()));
    for (asked, found) in wanted {
        let given = TileArray::<f32, 2>::builder(SHAPE).storage(found).build_slice(&accs[0], &values).unwrap();
        let expected = given.read_box(given.domain()).unwrap();
        let bound = given.storage_report().unwrap().components[0].clone();
        for (kept, x) in expected.iter().zip(&values) {
            let error = f64::from((kept - x).abs());
            // What rounds on the way there and back is not in the bound.
            assert!(error <= (bound.absolute + bound.relative * f64::from(x.abs())) * 1.02, "{x} {kept} in {found}");
        }
        let (rows, columns) = (SHAPE[0], SHAPE[1]);
        let turned = Array2::from_shape_fn([columns, rows], |(x, y)| values[y * columns + x]);
        for (acc, regions) in accs.iter().zip([[1, 1], [5, 2]]) {
            let builder = TileArray::<f32, 2>::builder(SHAPE).regions(regions).ghost(2).storage(asked);
            let slice = builder.build_slice(acc, &values).unwrap();
            let view: ArrayView2<'_, f32> = turned.t();
            let raw = TileArray::<f32, 2>::builder(SHAPE).regions([4, 1]).build_slice(acc, &values).unwrap();
            raw.save_npy(&path).unwrap();
            let others = [
                ("a slice", slice),
                ("an ndarray", builder.build_ndarray(acc, &view).unwrap()),
                ("an array", builder.build_copy(acc, &raw).unwrap()),
                ("a file", builder.build_npy(acc, &path).unwrap()),
            ];
            for (from, array) in others {
                let report = array.storage_report().unwrap();
                assert_eq!((report.components[0].format, report.saturated), (found, 0), "{from}, {regions:?}");
                assert!(array.read_box(array.domain()).unwrap() == expected, "{from}, {regions:?} in {found}");
            }
        }
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn narrow_ranges_are_widened() {
    let acc = on_cpu();
    let next = |x: f32| f32::from_bits(x.to_bits() + 1);
    for [a, b] in
        [[3.7e6, 3.7e6], [0.0, 0.0], [-2.5, -2.5], [1.0, next(1.0)], [1e-40, 2e-40], [-1e38, 1e38], [5.0, 9.0]]
    {
        let builder = TileArray::<f32, 1>::builder([3]).storage(Format::FoundRange { bits: 16 });
        let array = builder.build_slice(&acc, &[a, b, a]).unwrap();
        let bound = (f64::from(a.abs().max(b.abs())) * 2e-6).max(f64::from(b - a) / 65536.0).max(1e-25);
        for (kept, x) in array.read_box(array.domain()).unwrap().iter().zip([a, b, a]) {
            assert!(f64::from((kept - x).abs()) <= bound, "{kept} for {x} of {a} and {b}");
        }
        let (a, b) = (f64::from(a), f64::from(b));
        let builder = TileArray::<f64, 1>::builder([2]).storage(Format::FoundRange { bits: 32 });
        let array = builder.build_slice(&acc, &[a, b]).unwrap();
        let bound = (a.abs().max(b.abs()) * 1e-14).max((b - a) / 4294967296.0).max(1e-200);
        for (kept, x) in array.read_box(array.domain()).unwrap().iter().zip([a, b]) {
            assert!((kept - x).abs() <= bound, "{kept} for {x} of {a} and {b}");
        }
    }
    // Halves of tiny and of zero values.
    for x in [0.0, 3e-12f32, 1e4] {
        let half = TileArray::<f32, 1>::builder([2]).storage(Format::FoundHalf).build_slice(&acc, &[x, -x]).unwrap();
        assert!(half.read_box(half.domain()).unwrap().iter().all(|kept| (kept.abs() - x).abs() <= x / 2048.0));
    }
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
struct Flow {
    speed: [f32; 2],
    heat: f64,
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
struct Cell {
    flow: Flow,
    id: i32,
    seen: [[bool; 2]; 2],
}

fn cell(n: usize) -> Cell {
    let speed = [n as f32 / 7.0, -(n as f32) * 0.375];
    let seen = [[n.is_multiple_of(2), n.is_multiple_of(3)], [n.is_multiple_of(5), false]];
    Cell { flow: Flow { speed, heat: 20.0 + (n as f64).sin() }, id: n as i32 - 9, seen }
}

#[test]
fn what_has_no_format_is_an_error() {
    let acc = on_cpu();
    let error = |built: Result<TileArray<f32, 2>, Error>| built.unwrap_err().to_string();
    let builder = TileArray::<f32, 2>::builder(SHAPE).storage(Format::FoundRange { bits: 16 });
    let text = error(builder.build(&acc));
    assert!(text.contains("the format `16 bits over the range of the values` of an array without values"), "{text}");
    assert!(text.contains("build_slice"), "{text}");
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values = values();
        values[1234] = wrong;
        for format in [Format::FoundRange { bits: 16 }, Format::FoundHalf] {
            let text = error(builder.clone().storage(format).build_slice(&acc, &values));
            assert!(text.contains("which have no range; give finite values alone"), "{text}");
        }
    }
    let text = error(builder.build_slice(&acc, &[1.0; 9]));
    assert!(text.contains("9 values; give one value for each of [23, 150], row-major"), "{text}");
    let text = error(builder.build_slice(&acc, &[]));
    assert!(text.contains("0 values"), "{text}");
    let text = error(builder.clone().storage(Format::FoundRange { bits: 12 }).build_slice(&acc, &values()));
    assert!(text.contains("a range in 12 bits; use 8, 16 or 32 bits"), "{text}");
    let cells: Vec<Cell> = (0..6).map(cell).collect();
    let of_cells = TileArray::<Cell, 1>::builder([6]).storage(Format::FoundHalf).build_slice(&acc, &cells);
    let text = of_cells.unwrap_err().to_string();
    assert!(text.contains("for i32 in the field `id`; give formats to f32 and f64 alone"), "{text}");
}

#[test]
fn structs_come_from_slices_and_ndarrays_and_go_back() {
    let acc = on_cpu();
    let cells: Vec<Cell> = (0..4 * 70).map(cell).collect();
    let of_cells = Array2::from_shape_vec([4, 70], cells.clone()).unwrap();
    let builder = TileArray::<Cell, 2>::builder([4, 70]).regions([2, 2]).ghost(1);
    let raw = builder.build_ndarray(&acc, &of_cells.view()).unwrap();
    assert_eq!(raw.read_box(raw.domain()).unwrap(), cells);
    assert_eq!(raw.to_ndarray().unwrap(), of_cells);
    assert_eq!(TileArray::from_ndarray(&acc, &of_cells.view()).unwrap().to_ndarray().unwrap(), of_cells);
    // A view that is turned.
    let turned = TileArray::<Cell, 2>::builder([70, 4]).build_ndarray(&acc, &of_cells.t()).unwrap();
    assert_eq!(turned.to_ndarray().unwrap(), of_cells.t());

    // Fields in formats of their own, found or given; both entries of `speed` share one.
    let coded = builder
        .field_storage("flow", Format::FoundRange { bits: 16 })
        .field_storage("flow.heat", Format::F32)
        .build_slice(&acc, &cells)
        .unwrap();
    let report = coded.storage_report().unwrap();
    let (min, max) = (f64::from(-279.0f32 * 0.375), f64::from(279.0f32 / 7.0));
    let range = Format::Range { bits: 16, min, max };
    assert_eq!(report.components.iter().map(|c| c.format).take(3).collect::<Vec<_>>(), [range, range, Format::F32]);
    assert_eq!((report.stored_bytes, report.raw_bytes), (2 + 2 + 4 + 4 + 4, 4 + 4 + 8 + 4 + 4));
    let near = |kept: &Cell, cell: &Cell| {
        let bound = report.components[0].absolute as f32 * 1.02;
        let speeds = kept.flow.speed.iter().zip(cell.flow.speed).all(|(a, b)| (a - b).abs() <= bound);
        speeds && kept.flow.heat == f64::from(cell.flow.heat as f32) && (kept.id, kept.seen) == (cell.id, cell.seen)
    };
    let kept = coded.to_ndarray().unwrap();
    assert!(kept.iter().zip(&cells).all(|(kept, cell)| near(kept, cell)));
    // What a format holds stays as it is on every way back in.
    let mut again = coded.like().unwrap();
    again.copy_from_ndarray(&kept.view()).unwrap();
    assert_eq!(again.to_ndarray().unwrap(), kept);
    again.fill_value(cell(0)).unwrap();
    again.write_box(again.domain(), kept.as_slice().unwrap()).unwrap();
    assert_eq!(again.to_ndarray().unwrap(), kept);
}

#[test]
fn checkpoints_keep_what_arrays_in_fewer_bits_hold() {
    let acc = on_cpu();
    let path = std::env::temp_dir().join(format!("tida-found-{}.npz", std::process::id()));
    let cells: Vec<Cell> = (0..4 * 70).map(cell).collect();
    let formats = |builder: tida::array::TileArrayBuilder<Cell, 2>| {
        builder.field_storage("flow.speed", Format::Half).field_storage("flow.heat", Format::FoundRange { bits: 32 })
    };
    let builder = TileArray::<Cell, 2>::builder([4, 70]).regions([2, 1]);
    let mut u = formats(builder.clone()).build_slice(&acc, &cells).unwrap();
    let builder_v = TileArray::<f32, 2>::builder(SHAPE).storage(Format::FoundRange { bits: 8 });
    let mut v = builder_v.regions([3, 1]).build_slice(&acc, &values()).unwrap();
    // Recorded work on them is waited for.
    for tile in TileIter::new(&u) {
        compute(&tile, &mut u, kernel!(|u, at| u[at].flow.speed[1] = u[at].flow.speed[1] * 0.7)).unwrap();
    }
    tida::save(&path, &[("u", &u), ("v", &v)]).unwrap();
    let kept = (u.to_ndarray().unwrap(), v.to_ndarray().unwrap());
    // To the same formats in other cuts, and to arrays as they are: the same values.
    let report = u.storage_report().unwrap();
    let mut other = builder
        .clone()
        .regions([1, 2])
        .field_storage("flow.speed", Format::Half)
        .field_storage("flow.heat", report.components[2].format)
        .build(&acc)
        .unwrap();
    let format = v.storage_report().unwrap().components[0].format;
    let mut other_v = TileArray::<f32, 2>::builder(SHAPE).storage(format).build(&acc).unwrap();
    tida::restore(&path, &mut [("u", &mut other), ("v", &mut other_v)]).unwrap();
    assert!((other.to_ndarray().unwrap(), other_v.to_ndarray().unwrap()) == kept);
    let mut raw = builder.build(&acc).unwrap();
    let mut raw_v = TileArray::<f32, 2>::builder(SHAPE).build(&acc).unwrap();
    tida::restore(&path, &mut [("u", &mut raw), ("v", &mut raw_v)]).unwrap();
    assert!((raw.to_ndarray().unwrap(), raw_v.to_ndarray().unwrap()) == kept);
    // What a format cannot hold is said.
    let narrow = Format::Range { bits: 16, min: 0.0, max: 0.5 };
    v = TileArray::<f32, 2>::builder(SHAPE).storage(narrow).build(&acc).unwrap();
    let error = tida::restore(&path, &mut [("v", &mut v)]).unwrap_err().to_string();
    assert!(error.contains("cannot hold"), "{error}");
    std::fs::remove_file(&path).unwrap();
}
