//! Arrays on the host: build, fill, copy, convert.
#![cfg(feature = "ndarray")]

use ndarray::{Array2, Array3, Array4};
use proptest::prelude::*;
use tida::prelude::*;

fn acc() -> TileAcc {
    TileAcc::builder().threads(2).build().unwrap()
}

#[test]
fn arrays_go_between_threads() {
    fn both<T: Send + Sync>() {}
    both::<TileArray<f64, 3>>();
    both::<Tile<3>>();
}

#[test]
fn a_new_array_is_zeros_and_like_has_its_geometry() {
    let acc = acc();
    let u = TileArray::<f32, 2>::builder([5, 130]).regions([2, 2]).ghost([1, 2]).build(&acc).unwrap();
    assert_eq!(u.shape(), [5, 130]);
    assert_eq!(u.regions(), 4);
    assert_eq!(u.region_box(1), Some(GridBox::new([0, 64], [2, 130])));
    assert_eq!(u.grown_box(1), Some(GridBox::new([-1, 62], [3, 132])));
    assert_eq!(u.region_box(4), None);
    assert_eq!(u.to_ndarray().unwrap(), Array2::<f32>::zeros((5, 130)));
    let mut v = u.like().unwrap();
    v.fill_value(3.0).unwrap();
    assert_eq!(v.grown_box(3), u.grown_box(3));
    assert_eq!(v.to_ndarray().unwrap(), Array2::from_elem((5, 130), 3.0f32));
    assert_eq!(u.to_ndarray().unwrap(), Array2::<f32>::zeros((5, 130)));
}

#[test]
fn even_cuts_and_cuts_by_size() {
    let acc = acc();
    let boxes = |u: &TileArray<u8, 1>| -> Vec<_> {
        (0..u.regions()).map(|r| u.region_box(r).unwrap()).map(|b| (b.lo[0], b.hi[0])).collect()
    };
    let build = |n: usize| TileArray::<u8, 1>::builder([n]);
    assert_eq!(boxes(&build(200).regions([3]).build(&acc).unwrap()), [(0, 64), (64, 128), (128, 200)]);
    assert_eq!(boxes(&build(200).region_size([65]).build(&acc).unwrap()), [(0, 128), (128, 200)]);
    assert_eq!(boxes(&build(200).region_size([usize::MAX]).build(&acc).unwrap()), [(0, 200)]);
    let faces = build(200).regions([2]).centering([Centering::Face]).build(&acc).unwrap();
    assert_eq!(boxes(&faces), [(0, 129), (129, 201)]);
    assert_eq!(faces.shape(), [201]);
    assert_eq!(faces.domain_cells(), [200]);
}

#[test]
fn fill_may_borrow_and_sees_every_index() {
    let acc = acc();
    let weights = [1u64, 1000, 1_000_000];
    let mut u = TileArray::<u64, 3>::builder([7, 5, 140]).regions([3, 2, 2]).ghost(2).build(&acc).unwrap();
    let value = |[k, j, i]: [usize; 3]| weights[0] * i as u64 + weights[1] * j as u64 + weights[2] * k as u64;
    u.fill(value).unwrap();
    assert_eq!(u.to_ndarray().unwrap(), Array3::from_shape_fn((7, 5, 140), |(k, j, i)| value([k, j, i])));
}

#[test]
fn elements_of_several_components_keep_their_parts() {
    let acc = acc();
    let mut u = TileArray::<[f32; 3], 2>::builder([4, 70]).regions([2, 2]).ghost(1).build(&acc).unwrap();
    let value = |j: usize, i: usize| [j as f32, i as f32, (i + j) as f32 / 2.0];
    u.fill(|[j, i]| value(j, i)).unwrap();
    assert_eq!(u.to_ndarray().unwrap(), Array2::from_shape_fn((4, 70), |(j, i)| value(j, i)));
    let seen = u.with_component::<f32, _>(3, 1, |v| (v.shape().to_vec(), v[[1, 3]])).unwrap();
    assert_eq!(seen, (vec![2, 6], 67.0));
    u.with_component_mut::<f32, _>(0, 2, |mut v| v[[0, 5]] = -1.0).unwrap();
    assert_eq!(u.to_ndarray().unwrap()[[0, 5]], [0.0, 5.0, -1.0]);
    assert_eq!(u.with_component::<f64, _>(0, 0, |_| ()).unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(u.with_component::<f32, _>(0, 3, |_| ()).unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(u.with_component::<f32, _>(4, 0, |_| ()).unwrap_err().kind(), ErrorKind::Argument);
}

#[test]
fn regions_are_seen_with_and_without_ghosts() {
    let acc = acc();
    let mut u = TileArray::<i32, 2>::builder([6, 10]).regions([3, 1]).ghost([[1, 2], [0, 3]]).build(&acc).unwrap();
    u.fill(|[j, i]| (10 * j + i) as i32).unwrap();
    assert_eq!(u.with_region(1, |v| (v.dim(), v[[0, 0]], v[[1, 9]])).unwrap(), ((2, 10), 20, 39));
    u.with_region_mut(1, |mut v| v[[1, 9]] = 7).unwrap();
    u.with_grown_region_mut(1, |mut v| {
        assert_eq!(v.dim(), (5, 13));
        assert_eq!(v[[2, 9]], 7);
        v[[0, 0]] = -5;
    })
    .unwrap();
    assert_eq!(u.with_grown_region(1, |v| v[[0, 0]]).unwrap(), -5);
    assert_eq!(u.read_box(GridBox::new([1, 0], [2, 1])).unwrap(), [10], "a ghost is not the value it stands for");
    assert_eq!(u.with_region(3, |_| ()).unwrap_err().kind(), ErrorKind::Argument);
}

#[test]
fn clones_and_copies_are_deep() {
    let acc = acc();
    let mut u = TileArray::<f64, 2>::builder([9, 100]).regions([3, 1]).ghost(1).build(&acc).unwrap();
    u.fill(|[j, i]| (j * 100 + i) as f64).unwrap();
    let copy = u.clone();
    let mut other = TileArray::<f64, 2>::builder([9, 100]).regions([2, 2]).ghost(2).build(&acc).unwrap();
    other.copy_from(&u).unwrap();
    let before = u.to_ndarray().unwrap();
    u.fill_value(0.0).unwrap();
    assert_eq!(copy.to_ndarray().unwrap(), before);
    assert_eq!(other.to_ndarray().unwrap(), before);
    let mut faces =
        TileArray::<f64, 2>::builder([8, 99]).centering([Centering::Face; 2]).regions([4, 2]).build(&acc).unwrap();
    assert_eq!(faces.copy_from(&u).unwrap_err().kind(), ErrorKind::Shape);
    let mut target = faces.like().unwrap();
    faces.fill(|[j, i]| (j * 100 + i) as f64).unwrap();
    target.copy_from(&faces).unwrap();
    assert_eq!(target.to_ndarray().unwrap(), before);
}

#[test]
fn ndarrays_of_any_strides_go_in() {
    let acc = acc();
    let values = Array4::from_shape_fn((2, 3, 4, 5), |(a, b, c, d)| (a * 1000 + b * 100 + c * 10 + d) as i64);
    let u = TileArray::from_ndarray(&acc, &values.view()).unwrap();
    assert_eq!(u.to_ndarray().unwrap(), values);
    let mut flipped = values.view();
    flipped.invert_axis(ndarray::Axis(3));
    let flipped = flipped.permuted_axes([3, 1, 0, 2]);
    let mut v = TileArray::<i64, 4>::builder([5, 3, 2, 4]).regions([2, 3, 1, 1]).ghost(1).build(&acc).unwrap();
    v.copy_from_ndarray(&flipped).unwrap();
    assert_eq!(v.to_ndarray().unwrap(), flipped);
    assert_eq!(v.copy_from_ndarray(&values.view()).unwrap_err().kind(), ErrorKind::Shape);
}

#[test]
fn bools_are_stored_and_read() {
    let acc = acc();
    let mut u = TileArray::<bool, 1>::builder([300]).regions([3]).ghost(3).build(&acc).unwrap();
    u.fill(|[i]| i % 3 == 0).unwrap();
    let read = u.read_box(GridBox::new([10], [200])).unwrap();
    assert!(read.iter().enumerate().all(|(n, v)| *v == ((n + 10) % 3 == 0)));
}

#[test]
fn what_cannot_be_built_is_an_error_of_three_parts() {
    let acc = acc();
    let build = |shape: [usize; 2]| TileArray::<f64, 2>::builder(shape);
    let check = |builder: tida::array::TileArrayBuilder<f64, 2>, kind: ErrorKind| {
        let e = builder.build(&acc).unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        assert!(!e.tried().is_empty() && !e.found().is_empty() && !e.advice().is_empty());
        e.to_string()
    };
    check(build([0, 4]), ErrorKind::Shape);
    check(build([4, 0]), ErrorKind::Shape);
    check(build([1 << 40, 1 << 40]), ErrorKind::Shape);
    check(build([usize::MAX, usize::MAX]), ErrorKind::Shape);
    check(build([1, (1 << 40) + 1]), ErrorKind::Shape);
    check(build([4, 4]).regions([0, 1]), ErrorKind::Shape);
    check(build([4, 4]).regions([5, 1]), ErrorKind::Shape);
    let text = check(build([4, 128]).regions([1, 3]), ErrorKind::Shape);
    assert!(text.contains("64"), "{text}");
    check(build([4, 4]).region_size([0, 4]), ErrorKind::Shape);
    let text = check(build([4, 4]).regions([4, 1]).ghost([2, 0]), ErrorKind::Ghost);
    assert!(text.contains("thinnest region has 1 cells"), "{text}");
    check(build([4, 4]).ghost(usize::MAX), ErrorKind::Ghost);
    check(build([4, 4]).boundary_face(1, Side::High, Boundary::Periodic), ErrorKind::Boundary);
    check(build([4, 4]).boundary_axis(2, Boundary::Open), ErrorKind::Boundary);
    check(build([4, 4]).boundary(Boundary::Extrapolate(2)), ErrorKind::Boundary);
    check(build([1, 4]).boundary(Boundary::Extrapolate(1)), ErrorKind::Boundary);
    let e = build([1 << 29, 1 << 29]).build(&acc).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Memory);
    assert!(e.tried().contains("23058430"), "says how much was asked: {e}");
    let bools = |b| TileArray::<[bool; 2], 1>::builder([8]).ghost(1).boundary(b).build(&acc).map(|_| ());
    assert_eq!(bools(Boundary::ReflectOdd).unwrap_err().kind(), ErrorKind::Boundary);
    assert_eq!(bools(Boundary::Extrapolate(1)).unwrap_err().kind(), ErrorKind::Boundary);
    bools(Boundary::Extrapolate(0)).unwrap();
    let five = TileArray::<f64, 5>::builder([2; 5]).build(&acc).unwrap_err();
    assert_eq!(five.kind(), ErrorKind::Shape);
}

#[test]
fn boxes_outside_the_domain_and_wrong_counts_are_errors() {
    let acc = acc();
    let mut u = TileArray::<f64, 2>::builder([4, 4]).ghost(1).build(&acc).unwrap();
    assert_eq!(u.read_box(GridBox::new([-1, 0], [2, 2])).unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(u.read_box(GridBox::new([0, 0], [i64::MAX, 2])).unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(u.write_box(GridBox::new([0, 0], [4, 5]), &[0.0; 20]).unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(u.write_box(GridBox::new([0, 0], [4, 4]), &[0.0; 15]).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(u.read_box(GridBox::new([2, 2], [2, 4])).unwrap(), []);
    assert_eq!(u.read_box(GridBox::new([i64::MAX, 2], [i64::MIN, 4])).unwrap(), []);
}

#[test]
fn a_huge_array_costs_nothing_until_touched() {
    let acc = acc();
    let mut u = TileArray::<u8, 2>::builder([1 << 20, 1 << 14]).regions([1 << 10, 1]).build(&acc).unwrap();
    let corner = GridBox::new([(1 << 20) - 1, (1 << 14) - 2], [1 << 20, 1 << 14]);
    u.write_box(corner, &[3, 4]).unwrap();
    assert_eq!(u.read_box(corner).unwrap(), [3, 4]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn boxes_written_are_boxes_read(
        shape in (1usize..7, 1usize..7, 1usize..200),
        regions in (1usize..4, 1usize..4, 1usize..4),
        faces in any::<[bool; 3]>(),
        corners in any::<[[prop::sample::Index; 2]; 3]>(),
        seed in any::<u32>(),
    ) {
        let acc = acc();
        let shape = [shape.0, shape.1, shape.2];
        let regions = [regions.0.min(shape[0]), regions.1.min(shape[1]), regions.2.min(shape[2].div_ceil(64))];
        let mut u = TileArray::<u32, 3>::builder(shape).regions(regions).ghost([1, 0, 1])
            .centering(faces.map(|f| if f { Centering::Face } else { Centering::Cell })).build(&acc).unwrap();
        let s = u.shape();
        let mut model = Array3::from_shape_fn(s, |(k, j, i)| seed.wrapping_mul((k * 7919 + j * 611 + i + 1) as u32));
        u.copy_from_ndarray(&model.view()).unwrap();
        let mut cells = GridBox::new([0; 3], [0; 3]);
        for d in 0..3 {
            let (a, b) = (corners[d][0].index(s[d] + 1) as i64, corners[d][1].index(s[d] + 1) as i64);
            (cells.lo[d], cells.hi[d]) = (a.min(b), a.max(b));
        }
        let [k, j, i]: [_; 3] = std::array::from_fn(|d| cells.lo[d] as usize..cells.hi[d] as usize);
        let mut part = model.slice_mut(ndarray::s![k, j, i]);
        let read: Vec<u32> = part.iter().copied().collect();
        prop_assert_eq!(u.read_box(cells).unwrap(), &read[..]);
        part.mapv_inplace(|v| v ^ 0x5555);
        let written: Vec<u32> = part.iter().copied().collect();
        u.write_box(cells, &written).unwrap();
        prop_assert_eq!(u.to_ndarray().unwrap(), model);
    }
}

#[test]
fn elements_without_components_are_refused() {
    #[derive(Clone, Copy, Debug, PartialEq, Element)]
    struct Nothing {
        a: [f64; 0],
        b: [[u8; 2]; 0],
    }
    fn check<T: Element>(name: &str) {
        let (acc, arrays) = (acc(), TileArray::<T, 1>::builder([4]));
        let e = arrays.build(&acc).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Shape);
        assert_eq!(
            e.to_string(),
            format!(
                "tried to build an array of {name} with shape [4]; found an element without components; use an element \
                 that holds at least one scalar"
            )
        );
        let e = TileArray::<T, 1>::npy_shape(std::env::current_exe().unwrap()).unwrap_err();
        assert!(e.found().contains("component") && e.found().contains(name), "{e}");
    }
    check::<[f64; 0]>("[f64; 0]");
    check::<[[f64; 3]; 0]>("[[f64; 3]; 0]");
    check::<[[f64; 0]; 3]>("[[f64; 0]; 3]");
    // However many entries: they take no memory.
    check::<[[f64; 0]; usize::MAX]>("[[f64; 0]; 18446744073709551615]");
    check::<Nothing>("Nothing");
    assert!(TileArray::builder([4]).build_slice(&acc(), &[[0.0f32; 0]; 4]).is_err());
}
