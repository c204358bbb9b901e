//! Boxes that the host reads and writes, where the arrays are on a device: the values are those of plain loops, and the
//! bytes that cross the link are those of the box.

#![cfg(feature = "ndarray")]

use tida::SimDevice;
use tida::prelude::*;

type Array<T> = TileArray<T, 3>;

const SHAPE: [usize; 3] = [12, 8, 128];

/// Where an array is once a sweep has written it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Whole on the device, cut so.
    InCore([usize; 3]),
    /// The same, of which three quarters are on the device.
    Both([usize; 3]),
    /// On the host: it went through the device plane by plane, or region by region.
    Planes,
    Regions,
    /// On the host, there is no device.
    Host,
}

const PLACES: [Place; 8] = [
    Place::InCore([1, 1, 1]),
    Place::InCore([4, 1, 1]),
    Place::InCore([2, 2, 1]),
    Place::InCore([3, 1, 2]),
    Place::Both([4, 1, 1]),
    Place::Planes,
    Place::Regions,
    Place::Host,
];

impl Place {
    fn regions(self) -> [usize; 3] {
        match self {
            Place::InCore(regions) | Place::Both(regions) => regions,
            Place::Planes => [2, 1, 1],
            Place::Regions => [2, 2, 1],
            Place::Host => [2, 2, 1],
        }
    }

    fn acc(self, bytes: u64) -> TileAcc {
        let builder = TileAcc::builder().threads(2);
        let sim = builder.clone().simulate(SimDevice::new()).stream_from(u64::MAX);
        match self {
            Place::InCore(_) => sim.build(),
            Place::Both(_) => sim.hybrid_share(0.75).build(),
            Place::Planes | Place::Regions => sim.memory_limit(bytes * 3 / 4).build(),
            Place::Host => builder.device(Device::Cpu).build(),
        }
        .unwrap()
    }

    fn tiles<T: Element>(self, u: &Array<T>) -> TileIter<3> {
        match self {
            Place::Both(_) => TileIter::new(u).device(Device::Hybrid),
            _ => TileIter::new(u),
        }
    }

    /// Whether the device alone has a cell's newest value after a sweep.
    fn is_away(self, at: [i64; 3]) -> bool {
        match self {
            Place::InCore(_) => true,
            Place::Both(_) => at[0] < SHAPE[0] as i64 * 3 / 4,
            _ => false,
        }
    }
}

/// What arrays are made of here.
trait Kind: Element {
    const COMPONENTS: usize;
    const SIZE: usize;
    fn value(x: i64) -> Self;
    fn sweep(u: &mut Array<Self>, place: Place);
    fn builder() -> tida::array::TileArrayBuilder<Self, 3> {
        TileArray::builder(SHAPE)
    }
}

impl Kind for f64 {
    const COMPONENTS: usize = 1;
    const SIZE: usize = 8;
    fn value(x: i64) -> f64 {
        x as f64
    }
    fn sweep(u: &mut Array<f64>, place: Place) {
        for tile in place.tiles(u) {
            compute(&tile, &mut *u, kernel!(|u, at| u[at] = u[at] + 1.0)).unwrap();
        }
    }
}

impl Kind for [f32; 3] {
    const COMPONENTS: usize = 3;
    const SIZE: usize = 4;
    fn value(x: i64) -> [f32; 3] {
        [x as f32, -x as f32, 0.5 * x as f32]
    }
    fn sweep(u: &mut Array<[f32; 3]>, place: Place) {
        for tile in place.tiles(u) {
            compute(
                &tile,
                &mut *u,
                kernel!(|u, at| {
                    let x = u[at];
                    u[at] = [x[0] + 1.0, x[1] - 1.0, x[2] + 0.5];
                }),
            )
            .unwrap();
        }
    }
}

/// An `f64` that memory keeps in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Coded {
    x: f64,
}

impl Kind for Coded {
    const COMPONENTS: usize = 1;
    const SIZE: usize = 4;
    fn value(x: i64) -> Coded {
        Coded { x: x as f64 }
    }
    fn sweep(u: &mut Array<Coded>, place: Place) {
        for tile in place.tiles(u) {
            compute(&tile, &mut *u, kernel!(|u, at| u[at].x = u[at].x + 1.0)).unwrap();
        }
    }
    fn builder() -> tida::array::TileArrayBuilder<Coded, 3> {
        TileArray::builder(SHAPE).storage(Format::F32)
    }
}

/// The cells of a box, row by row.
fn points(cells: GridBox<3>) -> Vec<[i64; 3]> {
    let mut all = Vec::new();
    for k in cells.lo[0]..cells.hi[0] {
        for j in cells.lo[1]..cells.hi[1] {
            (cells.lo[2]..cells.hi[2]).for_each(|i| all.push([k, j, i]));
        }
    }
    all
}

fn index(at: [i64; 3]) -> usize {
    (at[0] as usize * SHAPE[1] + at[1] as usize) * SHAPE[2] + at[2] as usize
}

/// A cell, a few of a row, planes across each axis, boxes that lie in several regions, all of one region, and nothing.
fn boxes() -> Vec<GridBox<3>> {
    let [p, r, c] = SHAPE.map(|n| n as i64);
    vec![
        GridBox::new([5, 3, 7], [6, 4, 8]),
        GridBox::new([5, 3, 7], [6, 4, 20]),
        GridBox::new([7, 0, 0], [8, r, c]),
        GridBox::new([0, 5, 0], [p, 6, c]),
        GridBox::new([0, 0, 47], [p, r, 48]),
        GridBox::new([1, 2, 1], [11, 7, 90]),
        GridBox::new([0, 0, 0], [7, 5, c]),
        GridBox::new([4, 4, 4], [4, 9, 9]),
    ]
}

/// Bytes of a box that the device has: those of its parts in regions that do not lie in it as a whole, packed one after
/// the other at multiples of 16 bytes, components in 16 values each if there are several. Regions that lie in it come
/// whole: their bytes are not in it.
fn packed<T: Kind>(u: &Array<T>, place: Place, cells: &GridBox<3>) -> (u64, Vec<usize>) {
    let (mut bytes, mut whole) = (0, Vec::new());
    for region in 0..u.regions() {
        let valid = u.region_box(region).unwrap();
        let part = valid.intersect(cells);
        if part.is_empty() || !place.is_away(part.lo) {
            continue;
        }
        if part == valid {
            whole.push(region);
            continue;
        }
        let count = part.cells();
        let values = if T::COMPONENTS > 1 { count.next_multiple_of(16) } else { count };
        bytes = usize::next_multiple_of(bytes, 16) + (values * (T::COMPONENTS - 1) + count) * T::SIZE;
    }
    (bytes as u64, whole)
}

fn moved(acc: &TileAcc, work: impl FnOnce()) -> (u64, u64) {
    let before = acc.stats();
    work();
    let after = acc.stats();
    (after.h2d_bytes - before.h2d_bytes, after.d2h_bytes - before.d2h_bytes)
}

fn array<T: Kind>(acc: &TileAcc, place: Place) -> (Array<T>, Vec<T>) {
    let mut u = T::builder().regions(place.regions()).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
    u.fill(|at| T::value(index(at.map(|x| x as i64)) as i64)).unwrap();
    T::sweep(&mut u, place);
    let values = (0..SHAPE.iter().product::<usize>()).map(|n| T::value(n as i64 + 1)).collect();
    acc.sync().unwrap();
    (u, values)
}

fn bytes_of<T: Kind>() -> u64 {
    (SHAPE.iter().product::<usize>() * T::COMPONENTS * T::SIZE) as u64
}

/// Reads every box where nothing else was read, then again; then sweeps, which must find all where it was.
fn reads_move_their_own_bytes<T: Kind>() {
    for place in PLACES {
        let acc = place.acc(bytes_of::<T>());
        let (mut u, mut expected) = array::<T>(&acc, place);
        for cells in boxes() {
            let (bytes, whole) = packed(&u, place, &cells);
            if !whole.is_empty() {
                continue;
            }
            for _ in 0..2 {
                let mut found = Vec::new();
                let (up, down) = moved(&acc, || found = u.read_box(cells).unwrap());
                assert!(found == points(cells).iter().map(|at| expected[index(*at)]).collect::<Vec<_>>());
                assert_eq!((up, down), (0, bytes), "{place:?}, {cells:?}");
            }
        }
        let (up, _) = moved(&acc, || {
            T::sweep(&mut u, place);
            acc.sync().unwrap();
        });
        if matches!(place, Place::InCore(_) | Place::Both(_)) {
            assert_eq!(up, 0, "{place:?}");
        }
        expected = (0..expected.len()).map(|n| T::value(n as i64 + 2)).collect();
        assert!(u.read_box(u.domain()).unwrap() == expected, "{place:?}");
        // Now the host has all too.
        for cells in boxes() {
            assert_eq!(moved(&acc, || drop(u.read_box(cells).unwrap())), (0, 0), "{place:?}, {cells:?}");
        }
    }
}

/// Writes every box, on arrays that the device alone has, and on such that the host has too.
fn writes_move_their_own_bytes<T: Kind>() {
    for place in PLACES {
        for on_both in [false, true] {
            for (number, cells) in boxes().into_iter().enumerate() {
                let acc = place.acc(bytes_of::<T>());
                let (mut u, mut expected) = array::<T>(&acc, place);
                if on_both {
                    u.read_box(u.domain()).unwrap();
                }
                let (bytes, whole) = packed(&u, place, &cells);
                let at = points(cells);
                let values: Vec<T> = (0..at.len()).map(|n| T::value(((n + number) % 1000) as i64)).collect();
                at.iter().zip(&values).for_each(|(at, value)| expected[index(*at)] = *value);
                let crossed = moved(&acc, || u.write_box(cells, &values).unwrap());
                assert_eq!(crossed, (bytes, 0), "{place:?}, {cells:?}, {on_both}");
                // What it wrote is there, for the host and for a kernel.
                let read = u.read_box(cells).unwrap();
                assert!(read == values, "{place:?}, {cells:?}, {on_both}");
                let (up, _) = moved(&acc, || {
                    T::sweep(&mut u, place);
                    acc.sync().unwrap();
                });
                if matches!(place, Place::InCore(_) | Place::Both(_)) {
                    let all = whole.iter().map(|region| held(&u, *region)).sum::<u64>();
                    assert!(if whole.is_empty() { up == 0 } else { up >= all }, "{place:?}, {cells:?}: {up}");
                }
                let mut grown = Array::<T>::builder(SHAPE).build(&acc).unwrap();
                grown.write_box(grown.domain(), &expected).unwrap();
                T::sweep(&mut grown, Place::Host);
                let all = [&u, &grown].map(|array| array.read_box(array.domain()).unwrap());
                assert!(all[0] == all[1], "{place:?}, {cells:?}, {on_both}");
            }
        }
    }
}

/// Bytes of the cells of a region.
fn held<T: Kind>(u: &Array<T>, region: usize) -> u64 {
    (u.region_box(region).unwrap().cells() * T::COMPONENTS * T::SIZE) as u64
}

#[test]
fn boxes_of_scalars_are_read_where_they_are() {
    reads_move_their_own_bytes::<f64>();
}

#[test]
fn boxes_of_several_components_are_read_where_they_are() {
    reads_move_their_own_bytes::<[f32; 3]>();
}

#[test]
fn boxes_of_codes_are_read_where_they_are() {
    reads_move_their_own_bytes::<Coded>();
}

#[test]
fn boxes_of_scalars_are_written_where_they_are() {
    writes_move_their_own_bytes::<f64>();
}

#[test]
fn boxes_of_several_components_are_written_where_they_are() {
    writes_move_their_own_bytes::<[f32; 3]>();
}

#[test]
fn boxes_of_codes_are_written_where_they_are() {
    writes_move_their_own_bytes::<Coded>();
}

/// The values alone, on the device that there is.
fn on_a_device<T: Kind>() {
    let Some(acc) = tida_tests::on_a_device(TileAcc::builder()) else { return };
    for place in PLACES.into_iter().filter(|place| matches!(place, Place::InCore(_) | Place::Both(_))) {
        let (mut u, mut expected) = array::<T>(&acc, place);
        for (number, cells) in boxes().into_iter().enumerate() {
            let at = points(cells);
            let known: Vec<T> = at.iter().map(|at| expected[index(*at)]).collect();
            let (_, down) = moved(&acc, || assert!(u.read_box(cells).unwrap() == known, "{place:?}, {cells:?}"));
            if let (Place::InCore(_), (bytes, [])) =
                (place, (packed(&u, place, &cells).0, &packed(&u, place, &cells).1[..]))
            {
                assert!(down == bytes || down == 0, "{place:?}, {cells:?}: {down}, {bytes}");
            }
            let values: Vec<T> = (0..at.len()).map(|n| T::value(((n * 7 + number) % 1000) as i64)).collect();
            u.write_box(cells, &values).unwrap();
            at.iter().zip(&values).for_each(|(at, value)| expected[index(*at)] = *value);
            assert!(u.read_box(cells).unwrap() == values, "{place:?}, {cells:?}");
        }
        assert!(u.read_box(u.domain()).unwrap() == expected, "{place:?}");
    }
}

#[test]
fn boxes_on_a_device_have_their_values() {
    on_a_device::<f64>();
    on_a_device::<[f32; 3]>();
    on_a_device::<Coded>();
}

/// The accelerators that boxes are read and written on: each place of a simulated device, and the device that there is.
fn accelerators() -> Vec<(Place, TileAcc)> {
    // Room for windows of two arrays, and not for all of both.
    let simulated = PLACES.map(|place| (place, place.acc(bytes_of::<f64>() * 5 / 2)));
    let of_device = |place: Place| Some((place, tida_tests::on_a_device(TileAcc::builder())?));
    let in_core = PLACES.into_iter().filter(|place| matches!(place, Place::InCore(_)));
    simulated.into_iter().chain(in_core.filter_map(of_device)).collect()
}

/// Boxes that are read between steps, by those who wait and by those who do not, have the values of their step.
#[test]
fn boxes_are_read_between_steps() {
    for (place, acc) in accelerators() {
        for every in [1, 4, 7] {
            let (mut u, _) = array::<f64>(&acc, place);
            let mut next = u.like().unwrap();
            let (mut later, mut now) = (Vec::new(), Vec::new());
            let all = boxes();
            for step in 0..14usize {
                u.fill_ghosts().unwrap();
                for tile in place.tiles(&u) {
                    compute(
                        &tile,
                        (&mut next, &u),
                        kernel!(|next, u, at| next[at] = 0.5 * (u[at] + u[at - [1, 0, 0]])),
                    )
                    .unwrap();
                }
                std::mem::swap(&mut u, &mut next);
                let cells = all[step % all.len()];
                if step % every == 0 {
                    later.push((step, cells, u.read_box_later(cells).unwrap()));
                }
                if step == 9 {
                    now = u.read_box(all[4]).unwrap();
                }
            }
            let mut expected: Vec<f64> = (0..SHAPE.iter().product::<usize>()).map(|n| n as f64 + 1.0).collect();
            let mut later = later.into_iter().peekable();
            for step in 0..14usize {
                let old = expected.clone();
                for at in points(GridBox::new([0; 3], SHAPE.map(|n| n as i64))) {
                    let below = [(at[0] - 1).rem_euclid(SHAPE[0] as i64), at[1], at[2]];
                    expected[index(at)] = 0.5 * (old[index(at)] + old[index(below)]);
                }
                let of = |cells: GridBox<3>| points(cells).iter().map(|at| expected[index(*at)]).collect::<Vec<_>>();
                if let Some((_, cells, values)) = later.next_if(|(of, ..)| *of == step) {
                    assert!(values.get().unwrap() == of(cells), "{place:?}, step {step}, {cells:?}");
                    assert!(values.try_get().is_some());
                }
                if step == 9 {
                    assert!(now == of(all[4]), "{place:?}");
                }
            }
            assert!(u.read_box(u.domain()).unwrap() == expected, "{place:?}");
        }
    }
}

/// A box that is read later crosses the link as it is, and the array stays where it is.
#[test]
fn boxes_read_later_move_their_own_bytes() {
    for place in PLACES {
        let acc = place.acc(bytes_of::<f64>());
        let (u, expected) = array::<f64>(&acc, place);
        for cells in boxes().into_iter().filter(|cells| packed(&u, place, cells).1.is_empty()) {
            let known: Vec<f64> = points(cells).iter().map(|at| expected[index(*at)]).collect();
            let (up, down) = moved(&acc, || assert!(u.read_box_later(cells).unwrap().get().unwrap() == known));
            assert_eq!((up, down), (0, packed(&u, place, &cells).0), "{place:?}, {cells:?}");
        }
    }
}

/// A read of what failed work left fails, and so does one that is taken later.
#[test]
fn boxes_of_failed_work_are_errors() {
    for acc in tida_tests::everywhere() {
        let mut u = TileArray::<i32, 1>::builder([100]).build(&acc).unwrap();
        u.fill(|[i]| i as i32 - 50).unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 100 / u[at])).unwrap();
        }
        let cells = GridBox::new([3], [5]);
        let later = u.read_box_later(cells).unwrap();
        let errors =
            [later.get().unwrap_err(), u.read_box(cells).unwrap_err(), u.write_box(cells, &[1, 2]).unwrap_err()];
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::Division), "{errors:?}");
        let outside = u.read_box_later(GridBox::new([99], [101])).unwrap_err();
        assert_eq!(outside.kind(), ErrorKind::OutOfRange);
    }
}

/// Boxes of ghosts are those of a view of all of a region, and what is written to them is there for kernels.
#[test]
fn boxes_of_ghosts_are_those_of_the_region() {
    let faces = [Boundary::Open, Boundary::Fixed(4.0), Boundary::ReflectOdd];
    for (place, acc) in accelerators() {
        for face in faces {
            let builder = TileArray::<f64, 3>::builder(SHAPE).regions(place.regions()).ghost([1, 1, 2]).boundary(face);
            let program = |acc: &TileAcc, place: Place, by_boxes: bool| {
                let mut u = builder.build(acc).unwrap();
                let mut seen = Vec::new();
                u.fill(|[k, j, i]| (k * 7 + j * 3 + i) as f64).unwrap();
                for round in 0..2 {
                    f64::sweep(&mut u, place);
                    u.fill_ghosts().unwrap();
                    for region in 0..u.regions() {
                        let grown = u.grown_box(region).unwrap();
                        let (lo, hi) = (grown.lo, grown.hi);
                        let corner = GridBox::new(lo, lo.map(|x| x + 3));
                        let side = GridBox::new([lo[0], lo[1], hi[2] - 3], [hi[0], hi[1], hi[2] - 1]);
                        let top = GridBox::new([hi[0] - 1, lo[1], lo[2]], hi);
                        for (number, cells) in [corner, side, top].into_iter().enumerate() {
                            let within =
                                |at: [i64; 3]| std::array::from_fn::<usize, 3, _>(|d| (at[d] - lo[d]) as usize);
                            seen.push(match by_boxes {
                                true => u.read_grown_box(region, cells).unwrap(),
                                false => u
                                    .with_grown_region(region, |view| {
                                        points(cells).iter().map(|at| view[within(*at)]).collect::<Vec<f64>>()
                                    })
                                    .unwrap(),
                            });
                            if number == round && face == Boundary::Open {
                                let values: Vec<f64> = (0..cells.cells()).map(|n| n as f64 * 0.5).collect();
                                match by_boxes {
                                    true => u.write_grown_box(region, cells, &values).unwrap(),
                                    false => u
                                        .with_grown_region_mut(region, |mut view| {
                                            let all = points(cells).into_iter().zip(&values);
                                            all.for_each(|(at, value)| view[within(at)] = *value);
                                        })
                                        .unwrap(),
                                }
                            }
                        }
                    }
                    u.fill_ghosts().unwrap();
                    let mut sum = u.like().unwrap();
                    for tile in place.tiles(&u) {
                        let (sum, u) = (&mut sum, &u);
                        compute(
                            &tile,
                            (sum, u),
                            kernel!(|sum, u, at| sum[at] = u[at - [1, 1, 1]] + 2.0 * u[at + [1, 0, 1]] + u[at]),
                        )
                        .unwrap();
                    }
                    seen.push(sum.read_box(sum.domain()).unwrap());
                }
                seen
            };
            let expected = program(&tida_tests::on_cpu(), Place::Host, false);
            let found = program(&acc, place, true);
            if place.regions() == Place::Host.regions() {
                let first = found.iter().zip(&expected).position(|(a, b)| a != b);
                assert_eq!(first, None, "{place:?}, {face:?}, {:?}", acc.device());
            }
            let same = program(&acc, place, false);
            let first = found.iter().zip(&same).position(|(a, b)| a != b);
            assert_eq!(first, None, "{place:?}, {face:?}, {:?}", acc.device());
        }
    }
}

/// Ghosts that a device has cross the link alone.
#[test]
fn boxes_of_ghosts_move_their_own_bytes() {
    for regions in [[1, 1, 1], [2, 2, 1], [4, 1, 1]] {
        let place = Place::InCore(regions);
        let acc = place.acc(0);
        let (mut u, _) = array::<f64>(&acc, place);
        u.fill_ghosts().unwrap();
        acc.sync().unwrap();
        let [lo, hi] = u.grown_box(0).map(|grown| [grown.lo, grown.hi]).unwrap();
        // Beyond the face of the domain: also in a row, where ghosts between regions are the neighbours' cells.
        let face = GridBox::new([lo[0], lo[1], lo[2]], [lo[0] + 1, hi[1], hi[2]]);
        let bytes = face.cells() as u64 * 8;
        let values = vec![2.5; face.cells()];
        assert_eq!(moved(&acc, || drop(u.read_grown_box(0, face).unwrap())), (0, bytes), "{regions:?}");
        assert_eq!(moved(&acc, || u.write_grown_box(0, face, &values).unwrap()), (bytes, 0), "{regions:?}");
        assert_eq!(u.read_grown_box(0, face).unwrap(), values);
    }
}

/// Parts of one array go into another: where both are on the device, nothing crosses the link.
#[test]
fn boxes_are_copied_where_they_are() {
    for (place, acc) in accelerators() {
        for target in [[1, 1, 1], [3, 1, 1], [2, 2, 1]] {
            let (u, values) = array::<f64>(&acc, place);
            let mut to = TileArray::<f64, 3>::builder(SHAPE).regions(target).ghost(2).build(&acc).unwrap();
            let mut expected = vec![0.0; values.len()];
            let in_core = matches!(place, Place::InCore(_));
            for cells in boxes() {
                let crossed = moved(&acc, || {
                    to.copy_box_from(&u, cells).unwrap();
                    acc.sync().unwrap();
                });
                points(cells).iter().for_each(|at| expected[index(*at)] = values[index(*at)]);
                // Tables of copies go to a device that runs kernels.
                assert!(!in_core || (crossed.1 == 0 && crossed.0 < 20_000), "{place:?}, {cells:?}, {crossed:?}");
                assert!(
                    !in_core || acc.simulated().is_none() || crossed == (0, 0),
                    "{place:?}, {cells:?}, {crossed:?}"
                );
            }
            assert!(to.read_box(to.domain()).unwrap() == expected, "{place:?}, {target:?}");
            // Into an array of the host, and of another format.
            let mut host =
                TileArray::<f64, 3>::builder(SHAPE).regions(target).storage(Format::F32).build(&acc).unwrap();
            host.fill_value(1.0).unwrap();
            let cells = boxes()[3];
            host.copy_box_from(&u, cells).unwrap();
            let known: Vec<f64> = points(cells).iter().map(|at| values[index(*at)]).collect();
            assert!(host.read_box(cells).unwrap() == known, "{place:?}");
            assert_eq!(host.read_box(GridBox::new([0, 0, 0], [1, 1, 1])).unwrap(), [1.0]);
        }
    }
}

/// Values that codes change: the same bits in a box as in all of the array, whoever encodes and decodes them.
#[test]
fn boxes_of_ranges_have_the_bits_of_the_whole() {
    let run = |acc: &TileAcc, compress: Compress| {
        let range = Format::Range { bits: 16, min: -3.0, max: 5.0 };
        let builder = TileArray::<[f32; 2], 2>::builder([20, 96]).regions([2, 1]).storage(range).compress(compress);
        let mut u = builder.saturation(Saturation::Warn).build(acc).unwrap();
        u.fill(|[j, i]| [(j as f32).sin(), (i as f32).cos() * 4.0]).unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = [u[at][1] * 0.7, u[at][0] * 0.3])).unwrap();
        }
        let box_of = GridBox::new([3, 5], [17, 77]);
        let first = u.read_box(box_of).unwrap();
        // One of them is out of range.
        let values: Vec<[f32; 2]> =
            (0..box_of.cells()).map(|n| [(n % 70) as f32 * 0.11, -1.0 / (n + 1) as f32]).collect();
        u.write_box(box_of, &values).unwrap();
        let bits = |values: Vec<[f32; 2]>| values.into_iter().map(|v| v.map(f32::to_bits)).collect::<Vec<_>>();
        let saturated = u.storage_report().unwrap().saturated;
        let second = u.read_box(GridBox::new([2, 2], [18, 95])).unwrap();
        (bits(first), bits(second), bits(u.read_box(u.domain()).unwrap()), saturated)
    };
    for compress in [Compress::Device, Compress::Link] {
        let expected = run(&tida_tests::on_cpu(), compress);
        assert!(expected.3 > 0);
        for acc in tida_tests::everywhere() {
            assert!(run(&acc, compress) == expected, "{compress:?}, {:?}", acc.device());
        }
        let sim = TileAcc::builder().threads(2).simulate(SimDevice::new()).memory_limit(9000).build().unwrap();
        assert!(run(&sim, compress) == expected, "{compress:?}, streaming");
    }
}
