//! Every launch that cannot be is an error with three parts, on every backend alike.
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida::{Sum, all, reduce, reduce_later, reduce_over, table};

use tida_tests::expect;

fn acc() -> TileAcc {
    TileAcc::builder().threads(2).build().unwrap()
}

fn array(acc: &TileAcc, regions: usize, ghost: usize) -> TileArray<f64, 2> {
    TileArray::builder([16, 64]).regions([regions, 1]).ghost(ghost).boundary(Boundary::Fixed(0.0)).build(acc).unwrap()
}

fn first(array: &TileArray<f64, 2>) -> Tile<2> {
    TileIter::new(array).next().unwrap()
}

#[test]
fn a_read_past_the_ghosts() {
    let acc = acc();
    let mut u = array(&acc, 2, 1);
    let mut next = u.like().unwrap();
    u.fill_ghosts().unwrap();
    let result = compute(&first(&u), (&mut next, &u), kernel!(|next, u, at| next[at] = u[at + [0, 2]]));
    expect(result, ErrorKind::Ghost, &["`u[at + [0, 2]]`", "ghost width 1", ".ghost(2)", "compute_errors.rs"]);
}

/// Ghosts do not help who reads cells that lie ever further away.
#[test]
fn a_read_that_does_not_go_along_with_the_cell() {
    let acc = acc();
    let mut u = array(&acc, 2, 1);
    let mut next = u.like().unwrap();
    u.fill_ghosts().unwrap();
    macro_rules! refused {
        ($at:ident: $($index:expr),*) => {$(
            let result = compute(&first(&u), (&mut next, &u), kernel!(|next, u, $at| next[$at] = u[$index]));
            let text = result.as_ref().unwrap_err().to_string();
            assert!(!text.contains(".ghost("), "{text}");
            expect(result, ErrorKind::Ghost, &["`u[[", "pass it as `all(&u)`", "compute_errors.rs"]);
        )*};
    }
    refused!(at: [2 * at[0], at[1]], [at[0], 2 * at[1] + 1], [at[0], 70 - at[1]], [at[1], at[0]], [at[0], 70]);
    let by = all(&u);
    compute(&first(&u), (&mut next, by), kernel!(|next, u, at| next[at] = u[[at[0], at[1] * 2 / 3]])).unwrap();
    acc.sync().unwrap();
}

/// Offsets so far away that a sum with a coordinate wraps: none of them is a read of the array.
#[test]
fn a_read_at_the_end_of_numbers() {
    let acc = acc();
    macro_rules! refused {
        ($($offset:expr),*) => {$(
            let (u, mut v) = (array(&acc, 1, 1), array(&acc, 1, 1));
            let tile = first(&u);
            // At once, or as it runs.
            let recorded = compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at + $offset]));
            let error = recorded.and_then(|()| v.to_ndarray().map(drop)).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Ghost | ErrorKind::OutOfRange), "{error}");
            compute(&tile, (&mut v, all(&u)), kernel!(|v, u, at| v[at] = u[at + $offset])).unwrap();
            let error = v.to_ndarray().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        )*};
    }
    refused!([9223372036854775807, 3], [3, 9223372036854775807], [9223372036854775807, 1000000000000]);
    refused!([4611686018427387904, 0], [4611686018427387905, 0], [0, 4611686018427387904], [0, 4611686018427387905]);
    refused!([-4611686018427387904, 0], [-4611686018427387905, 0], [0, -9223372036854775807]);
    refused!([-9223372036854775807, 0] - [1, 0], [0, -9223372036854775807] - [0, 1], [1000000000000000, 0]);
}

#[test]
fn a_ptx_kernel_reaches_no_further_than_numbers() {
    use tida::compute::{PtxKernel, PtxParam};
    let acc = acc();
    let mut u = array(&acc, 1, 1);
    let tile = first(&u);
    for (far, kind) in [(usize::MAX, ErrorKind::Argument), (1 << 63, ErrorKind::Argument), (5, ErrorKind::Ghost)] {
        let v = u.like().unwrap();
        let kernel =
            PtxKernel::new("", "none", &[PtxParam::Array(0), PtxParam::Array(1)]).reach(1, &[[far, 0], [0, 0]]);
        // SAFETY: it is refused.
        let error = unsafe { kernel.compute(&tile, (&mut u, &v), &[]) }.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
}

/// Tiles of one loop that capture other arrays of as many numbers.
#[test]
fn tiles_have_the_captures_of_their_own_kernel() {
    fn record<const N: usize, const M: usize>(tile: &Tile<1>, v: &mut TileArray<f64, 1>, c: [f64; N], d: [f64; M]) {
        compute(tile, v, kernel!(|v, at| v[at] = d[0] + 0.0 * c[0])).unwrap();
    }
    let acc = TileAcc::auto().unwrap();
    let mut v = TileArray::<f64, 1>::builder([128]).regions([2]).build(&acc).unwrap();
    for (n, tile) in TileIter::new(&v).enumerate() {
        match n {
            0 => record(&tile, &mut v, [1.0, 2.0], [3.0]),
            _ => record(&tile, &mut v, [1.0], [2.0, 3.0]),
        }
    }
    let v = v.to_ndarray().unwrap();
    assert_eq!((v[[0]], v[[127]]), (3.0, 2.0));
}

#[test]
fn a_write_at_a_neighbour() {
    let acc = acc();
    let u = array(&acc, 1, 1);
    let mut next = u.like().unwrap();
    let result = compute(&first(&u), (&mut next, &u), kernel!(|next, u, at| next[at + [0, 1]] = u[at]));
    expect(result, ErrorKind::Race, &["write of `next[at + [0, 1]]`", "pull"]);
}

#[test]
fn a_read_of_a_written_array_at_an_offset() {
    let acc = acc();
    let mut u = array(&acc, 1, 1);
    u.fill_ghosts().unwrap();
    let result = compute(&first(&u), &mut u, kernel!(|u, at| u[at] = u[at - [1, 0]] + 1.0));
    expect(result, ErrorKind::Race, &["read of `u[at + [-1, 0]]`", "second array"]);
}

#[test]
fn arrays_of_different_cuts() {
    let acc = acc();
    let u = array(&acc, 2, 1);
    let mut next = array(&acc, 4, 1);
    let result = compute(&first(&u), (&mut next, &u), kernel!(|next, u, at| next[at] = u[at]));
    expect(result, ErrorKind::Cuts, &["`next`", "[4, 1] regions", "copy_from"]);
}

#[test]
fn a_stale_ghost() {
    let acc = acc();
    let mut u = array(&acc, 2, 1);
    let mut next = u.like().unwrap();
    let tile = first(&u);
    let stale = compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at + [1, 0]]));
    expect(stale, ErrorKind::StaleGhost, &["`u`", "fill_ghosts"]);
    u.fill_ghosts().unwrap();
    compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at + [1, 0]])).unwrap();
    compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0)).unwrap();
    let stale = compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at + [1, 0]]));
    expect(stale, ErrorKind::StaleGhost, &["older"]);
    u.allow_stale_ghosts();
    compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at + [1, 0]])).unwrap();
    u.fill_value(2.0).unwrap();
    let stale = compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at + [1, 0]]));
    expect(stale, ErrorKind::StaleGhost, &["older"]);
    // Away from the region's edge no ghost is read.
    for tile in TileIter::new(&u).within([0, 1], [4, 63]) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at + [1, 1]])).unwrap();
    }
}

#[test]
fn open_ghosts_are_the_users() {
    let acc = acc();
    let mut u = TileArray::<f64, 1>::builder([64]).ghost(1).boundary(Boundary::Open).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    for tile in TileIter::new(&u).grown(1) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64)).unwrap();
    }
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1]] + u[at + [1]])).unwrap();
    }
    assert!(next.to_ndarray().unwrap().indexed_iter().all(|(i, v)| *v == 2.0 * i as f64));
}

#[test]
fn a_division_by_zero_comes_out_at_the_host_read() {
    let acc = acc();
    let u = TileArray::<i32, 1>::builder([64]).build(&acc).unwrap();
    let mut q = u.like().unwrap();
    let mut other = u.like().unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut q, &u), kernel!(|q, u, at| q[at] = 7 / u[at])).unwrap();
        compute(&tile, (&mut other, &u), kernel!(|other, u, at| other[at] = u[at] + 3)).unwrap();
    }
    let error = q.to_ndarray().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Division);
    assert!(error.recorded().unwrap().file().ends_with("compute_errors.rs"), "{error}");
    // What does not depend on it is intact; the failure stays with what it wrote, and was told.
    assert!(other.to_ndarray().unwrap().iter().all(|v| *v == 3));
    acc.sync().unwrap();
    let mut after = u.like().unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut after, &q), kernel!(|after, q, at| after[at] = q[at])).unwrap();
    }
    assert_eq!(after.to_ndarray().unwrap_err().kind(), ErrorKind::Division);
    let total = reduce(&q, Sum, kernel!(|q, at| q[at]));
    assert_eq!(total.unwrap_err().kind(), ErrorKind::Division);
    // Overwriting all of it unread clears it.
    for tile in TileIter::new(&u) {
        compute(&tile, &mut q, kernel!(|q, at| q[at] = 5)).unwrap();
    }
    assert!(q.to_ndarray().unwrap().iter().all(|v| *v == 5));
}

#[test]
fn computed_indexes_are_checked_as_they_run() {
    let acc = acc();
    let mut index = TileArray::<i64, 1>::builder([64]).build(&acc).unwrap();
    let mut data = TileArray::<f64, 1>::builder([40]).build(&acc).unwrap();
    let mut out = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
    index.fill(|[i]| (i as i64 * 7) % 40).unwrap();
    data.fill(|[i]| i as f64).unwrap();
    let gather = |index: &TileArray<i64, 1>, out: &mut TileArray<f64, 1>| {
        for tile in TileIter::new(index) {
            compute(&tile, (&mut *out, index, all(&data)), kernel!(|out, index, data, at| out[at] = data[[index[at]]]))
                .unwrap();
        }
        out.to_ndarray()
    };
    let got = gather(&index, &mut out).unwrap();
    assert!(got.indexed_iter().all(|(i, v)| *v == ((i * 7) % 40) as f64));
    index.fill(|[i]| if i == 50 { 40 } else { 0 }).unwrap();
    let error = gather(&index, &mut out).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.found().contains("`data` at [40]"), "{error}");
}

#[test]
fn tables_are_checked_too() {
    let acc = acc();
    let mut out = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
    let weights = [1.0, 2.0, 4.0];
    for tile in TileIter::new(&out) {
        compute(&tile, (&mut out, table(&weights)), kernel!(|out, w, at| out[at] = w[0] + w[1] + w[2])).unwrap();
    }
    assert!(out.to_ndarray().unwrap().iter().all(|v| *v == 7.0));
    for tile in TileIter::new(&out) {
        compute(&tile, (&mut out, table(&weights)), kernel!(|out, w, at| out[at] = w[(at[0] % 3) as usize])).unwrap();
    }
    assert!(out.to_ndarray().unwrap().indexed_iter().all(|(i, v)| *v == weights[i % 3]));
    for tile in TileIter::new(&out) {
        compute(&tile, (&mut out, table(&weights)), kernel!(|out, w, at| out[at] = w[at[0] as usize])).unwrap();
    }
    let error = out.to_ndarray().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
}

#[test]
fn arrays_of_two_accelerators() {
    let (one, two) = (acc(), acc());
    let u = array(&one, 1, 0);
    let mut next = array(&two, 1, 0);
    let result = compute(&first(&u), (&mut next, &u), kernel!(|next, u, at| next[at] = u[at]));
    expect(result, ErrorKind::Argument, &["accelerator"]);
    expect(next.copy_from(&u), ErrorKind::Argument, &["accelerator"]);
}

#[test]
fn tiles_grown_past_the_ghosts() {
    let acc = acc();
    let mut u = array(&acc, 1, 1);
    let tile = TileIter::new(&u).grown(2).next().unwrap();
    expect(compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.0)), ErrorKind::Ghost, &["grown by 2"]);
}

#[test]
fn a_write_outside_the_region_it_is_in() {
    let acc = acc();
    let cells = TileArray::<f64, 1>::builder([128]).regions([2]).build(&acc).unwrap();
    let mut faces = TileArray::<f64, 1>::builder([128]).regions([2]).centering([Centering::Face]).build(&acc).unwrap();
    // Cell 64 is the second region's, face 64 the first's.
    let tile = TileIter::new(&cells).nth(1).unwrap();
    let result = compute(&tile, &mut faces, kernel!(|faces, at| faces[at] = 1.0));
    expect(result, ErrorKind::Ghost, &["write of `faces`", "centring"]);
}

#[test]
fn devices_that_are_not_there() {
    for device in [Device::Cuda, Device::OpenCl, Device::Sim] {
        // The machine may have it.
        let Err(error) = TileAcc::builder().device(device).build() else { continue };
        assert_eq!(error.kind(), ErrorKind::Device);
        assert!(error.to_string().to_lowercase().contains(device.name()), "{error}");
        assert!(!error.advice().is_empty());
    }
    let acc = TileAcc::builder().device(Device::Cpu).build().unwrap();
    let mut u = array(&acc, 1, 0);
    for device in [Device::Cuda, Device::OpenCl, Device::Sim] {
        let tile = TileIter::new(&u).device(device).next().unwrap();
        expect(compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.0)), ErrorKind::Device, &[device.name()]);
    }
    for block in [[0, 1, 1], [2048, 1, 1], [128, 1, 1]] {
        let u = TileArray::<f64, 3>::builder([8; 3]).build(&acc).unwrap();
        let (tile, mut v) = (TileIter::new(&u).thread_block(block).next().unwrap(), u.like().unwrap());
        let result = compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at]));
        expect(result, ErrorKind::Argument, &["threads"]);
    }
    assert_eq!(TileAcc::builder().threads(0).build().unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(TileAcc::builder().look_ahead(0).build().unwrap_err().kind(), ErrorKind::Argument);
}

#[test]
fn reductions_that_cannot_be() {
    let acc = acc();
    let mut u = array(&acc, 1, 0);
    let outside = reduce_over(GridBox::new([0, 0], [17, 1]), &u, Sum, kernel!(|u, at| u[at]));
    expect(outside.map(drop), ErrorKind::Shape, &["outside"]);
    let empty = GridBox::new([3, 3], [3, 9]);
    expect(reduce_over(empty, &u, tida::Max, kernel!(|u, at| u[at])).map(drop), ErrorKind::Shape, &["no cells"]);
    assert_eq!(reduce_over(empty, &u, Sum, kernel!(|u, at| u[at])).unwrap().to_bits(), 0.0f64.to_bits());
    let past = reduce(&u, Sum, kernel!(|u, at| u[at + [0, 1]]));
    expect(past.map(drop), ErrorKind::Ghost, &["`u`"]);
    let writes = reduce(
        &mut u,
        Sum,
        kernel!(|u, at| {
            u[at] = 1.0;
            2.0
        }),
    );
    expect(writes.map(drop), ErrorKind::Argument, &["writes `u`"]);
}

#[test]
fn a_deferred_failure_reaches_the_kernels_that_capture_it() {
    let acc = acc();
    let u = TileArray::<i32, 1>::builder([64]).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    let bad = reduce_later(&u, Sum, kernel!(|u, at| 1 / u[at])).unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] + bad)).unwrap();
    }
    assert_eq!(next.to_ndarray().unwrap_err().kind(), ErrorKind::Division);
    assert_eq!(bad.get().unwrap_err().kind(), ErrorKind::Division);
}
