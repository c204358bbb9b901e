//! Programs on several places give the bits that they give on one: cells, ghosts, reductions and files.

use tida::fill_ghosts;
use tida::prelude::*;
use tida_tests::on_cpu as one;
use tida_tests::several::{Dice, accelerators, bits, everything, step, value};

/// What an array looks like.
#[derive(Clone, Debug)]
struct Shape<const D: usize> {
    cells: [usize; D],
    regions: [usize; D],
    ghost: [[usize; 2]; D],
    centering: [Centering; D],
    faces: [[Boundary<f64>; 2]; D],
    /// Planes that places have of one another as cells.
    overlap: usize,
}

impl<const D: usize> Shape<D> {
    fn draw(dice: &mut Dice, places: usize) -> Self {
        let block = |d: usize| if d + 1 == D { 64 } else { 1 };
        let mut regions = [1; D];
        regions[0] = places * (1 + dice.roll(2));
        (1..D).for_each(|d| regions[d] = 1 + dice.roll(2));
        let cells = std::array::from_fn(|d| match block(d) {
            1 => 4 * regions[d] + dice.roll(5),
            _ => 64 * (regions[d] - 1) + 3 + dice.roll(61),
        });
        let ghost = std::array::from_fn(|_| [1 + dice.roll(2), 1 + dice.roll(2)]);
        let centering = std::array::from_fn(|_| dice.pick(&[Centering::Cell, Centering::Cell, Centering::Face]));
        let faces = std::array::from_fn(|_| {
            let kinds = [
                Boundary::Fixed(2.5),
                Boundary::ReflectEven,
                Boundary::ReflectOdd,
                Boundary::Extrapolate(0),
                Boundary::Extrapolate(1),
                Boundary::Open,
            ];
            if dice.roll(3) == 0 { [Boundary::Periodic; 2] } else { [dice.pick(&kinds), dice.pick(&kinds)] }
        });
        let overlap = if D > 1 && dice.roll(2) == 0 { 2 + dice.roll(3) } else { 0 };
        Shape { cells, regions, ghost, centering, faces, overlap }
    }

    fn build(&self, acc: &TileAcc, format: Option<tida::array::Format>) -> TileArray<f64, D> {
        let mut builder =
            TileArray::<f64, D>::builder(self.cells).regions(self.regions).ghost(self.ghost).centering(self.centering);
        for (axis, faces) in self.faces.iter().enumerate() {
            builder = builder.boundary_face(axis, Side::Low, faces[0]).boundary_face(axis, Side::High, faces[1]);
        }
        if let Some(format) = format {
            builder = builder.storage(format);
        }
        builder.overlap(self.overlap).build(acc).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Sets what lies beyond open faces, which no fill does.
fn set_users<const D: usize>(u: &mut TileArray<f64, D>, salt: usize) {
    for region in 0..u.regions() {
        let grown = u.grown_box(region).unwrap();
        let at = |n: usize| value([region, n], salt);
        let values: Vec<f64> = (0..grown.cells()).map(at).collect();
        let cells = u.region_box(region).unwrap();
        let kept = u.read_box(cells).unwrap();
        u.write_grown_box(region, grown, &values).unwrap();
        u.write_box(cells, &kept).unwrap();
    }
}

macro_rules! programs {
    ($name:ident, $d:literal, |$next:ident, $u:ident, $at:ident| $star:expr, $corners:expr) => {
        /// Runs a random program; gives all that it sees.
        fn $name(shape: &Shape<$d>, acc: &TileAcc, mut dice: Dice) -> Vec<u64> {
            let format = (dice.roll(4) == 0).then_some(tida::array::Format::Range { bits: 16, min: -1e4, max: 1e4 });
            let (mut u, mut v) = (shape.build(acc, format), shape.build(acc, format));
            let salt = dice.roll(1000);
            u.fill(|at| value(at, salt)).unwrap();
            v.fill(|at| value(at, salt + 1)).unwrap();
            set_users(&mut u, salt);
            set_users(&mut v, salt + 5);
            let mut seen = Vec::new();
            for step in 0..4 + dice.roll(6) {
                match dice.roll(8) {
                    0..4 => {
                        if dice.roll(2) == 0 {
                            u.fill_ghosts().unwrap()
                        } else {
                            fill_ghosts((&mut u, &mut v)).unwrap()
                        }
                        let device = acc.places().iter().any(|place| place.device() != Device::Cpu);
                        let mut tiles = v.tiles();
                        if dice.roll(5) == 0 && device {
                            tiles = tiles.device(Device::Cpu);
                        }
                        if dice.roll(4) == 0 {
                            let domain = v.domain();
                            tiles = tiles.within(domain.lo.map(|x| x + 1), domain.hi.map(|x| x - 1));
                        }
                        if dice.roll(2) == 0 {
                            for tile in tiles {
                                compute(&tile, (&mut v, &u), kernel!(|$next, $u, $at| $next[$at] = $star)).unwrap();
                            }
                        } else {
                            for tile in tiles {
                                compute(&tile, (&mut v, &u), kernel!(|$next, $u, $at| $next[$at] = $corners)).unwrap();
                            }
                        }
                        std::mem::swap(&mut u, &mut v);
                    }
                    4 => {
                        let sum = reduce(&u, Sum, kernel!(|u, at| u[at] * 0.37)).unwrap();
                        let (at, most) = reduce(&u, ArgMax, kernel!(|u, at| u[at])).unwrap();
                        let mut inner = u.domain();
                        (inner.lo, inner.hi) = (inner.lo.map(|x| x + 1), inner.hi.map(|x| x - 1));
                        let part = reduce_over(inner, (&u, &v), Sum, kernel!(|u, v, at| u[at] - v[at])).unwrap();
                        seen.extend([sum.to_bits(), most.to_bits(), part.to_bits()]);
                        seen.extend(at.map(|x| x as u64));
                    }
                    5 => {
                        let mut cells = u.domain();
                        for d in 0..$d {
                            cells.lo[d] = dice.roll(cells.hi[d] as usize) as i64;
                            cells.hi[d] = cells.lo[d] + 1 + dice.roll((cells.hi[d] - cells.lo[d]) as usize) as i64;
                        }
                        let values: Vec<f64> = (0..cells.cells()).map(|n| value([n], step)).collect();
                        u.write_box(cells, &values).unwrap();
                        seen.extend(bits(&u.read_box(cells).unwrap()));
                        v.copy_box_from(&u, cells).unwrap();
                    }
                    6 => {
                        let later = reduce_later(&u, Max, kernel!(|u, at| u[at])).unwrap();
                        for tile in u.tiles() {
                            compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] - later * 0.5)).unwrap();
                        }
                        v = u.clone();
                    }
                    _ => {
                        v.copy_from(&u).unwrap();
                        u.fill_ghosts().unwrap();
                    }
                }
            }
            acc.sync().unwrap();
            fill_ghosts([&mut u, &mut v]).unwrap();
            seen.extend(everything(&u));
            seen.extend(everything(&v));
            seen
        }
    };
}

programs!(lines, 1, |next, u, at| u[at - [1]] + 0.5 * u[at] - u[at + [1]], u[at + [1]] * 0.25 - u[at - [1]]);
programs!(
    planes,
    2,
    |next, u, at| 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]) - u[at],
    u[at + [1, 1]] - 0.5 * u[at + [-1, 1]] + 0.125 * u[at + [1, -1]] - 0.3 * u[at - [1, 1]]
);
programs!(
    solids,
    3,
    |next, u, at| u[at - [1, 0, 0]] + u[at + [1, 0, 0]] - 0.5 * (u[at - [0, 1, 0]] + u[at + [0, 1, 0]])
        + u[at + [0, 0, 1]],
    u[at + [1, 1, 1]] - 0.5 * u[at + [-1, 1, -1]] + 0.125 * u[at + [1, -1, 1]] - 0.3 * u[at - [1, 1, 1]]
);

/// Draws programs of so many axes and compares all kinds of places with one.
fn compare<const D: usize>(seeds: std::ops::Range<u64>, run: fn(&Shape<D>, &TileAcc, Dice) -> Vec<u64>) {
    for seed in seeds {
        let mut dice = Dice(seed.wrapping_mul(0x9e3779b97f4a7c15) + D as u64);
        let places = 1 + dice.roll(8);
        let mut shape = Shape::draw(&mut dice, places);
        if D == 1 {
            // Segments of a reduction are not parted.
            shape.centering = [Centering::Cell; D];
        }
        let program = dice.roll(1 << 20) as u64;
        let expected = run(&shape, &one(), Dice(program));
        for (name, acc) in accelerators(places, D) {
            let got = run(&shape, &acc, Dice(program));
            let at = got.iter().zip(&expected).position(|(got, expected)| got != expected);
            assert!(
                got == expected,
                "seed {seed}: {places} places of {name} give other bits at {at:?} of {}: {shape:?}",
                expected.len()
            );
        }
    }
}

/// How many programs of each kind: `TIDA_PLACES_PROGRAMS` says more.
fn programs() -> u64 {
    std::env::var("TIDA_PLACES_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
}

#[test]
fn programs_over_lines_give_the_bits_of_one_place() {
    compare(0..programs(), lines);
}

#[test]
fn programs_over_planes_give_the_bits_of_one_place() {
    compare(0..programs(), planes);
}

#[test]
fn programs_over_solids_give_the_bits_of_one_place() {
    compare(0..programs() / 2, solids);
}

/// Steps of heat over cells that are periodic or not along the first axis.
fn heat(
    acc: &TileAcc,
    (cells, overlap): ([usize; 3], usize),
    periodic: bool,
) -> (TileArray<f64, 3>, TileArray<f64, 3>) {
    let first = if periodic { Boundary::Periodic } else { Boundary::Fixed(1.0) };
    let mut builder = TileArray::<f64, 3>::builder(cells).ghost(1).boundary(Boundary::Periodic).overlap(overlap);
    builder = builder.boundary_face(0, Side::Low, first).boundary_face(0, Side::High, first);
    let mut u = builder.build(acc).unwrap();
    u.fill_value(1.0).unwrap();
    let next = u.like().unwrap();
    (u, next)
}

/// A step on 4 places moves 6 planes of 256^2 numbers of 8 bytes, 512 KiB each, 8 if the axis is periodic, and no more.
#[test]
fn a_step_moves_strips_and_nothing_else() {
    // A sweep and a fill of the ghosts of other axes; where edges come first, they have a launch of their own.
    let all = [(false, 6), (true, 8)].into_iter().flat_map(|(p, strips)| [(p, strips, 0, 3), (p, strips, u64::MAX, 2)]);
    for (periodic, strips, edges_from, launches) in all {
        let acc = TileAcc::builder().devices(["sim:4"]).edges_from(edges_from).build().unwrap();
        let (mut u, mut next) = heat(&acc, ([16, 256, 256], 0), periodic);
        // All is on the devices after two; after three, strips of both arrays were given.
        (0..3).for_each(|_| step(&mut u, &mut next));
        acc.sync().unwrap();
        let before = acc.stats();
        step(&mut u, &mut next);
        acc.sync().unwrap();
        let after = acc.stats();
        assert_eq!(after.strip_bytes - before.strip_bytes, strips * (512 << 10), "periodic: {periodic}");
        assert_eq!((after.h2d_bytes, after.d2h_bytes), (before.h2d_bytes, before.d2h_bytes), "by way of the host");
        assert_eq!(after.launches - before.launches, launches * 4, "periodic: {periodic}, edges from {edges_from}");
    }
}

/// What is wrong with strips is seen in the values.
#[test]
fn mistakes_in_strips_are_found() {
    use tida::array::StripFault;
    let run = |acc: &TileAcc| {
        let (mut u, mut next) = heat(acc, ([24, 8, 64], 0), true);
        u.fill(|at| value(at, 3)).unwrap();
        (0..3).for_each(|_| step(&mut u, &mut next));
        bits(&u.read_box(u.domain()).unwrap())
    };
    let expected = run(&one());
    for (kind, apart) in [("cpu:3", false), ("sim:3", false), ("sim:3", true)] {
        let builder = || {
            let builder = TileAcc::builder().devices([kind]).threads(2).edges_from(0);
            if apart { builder.apart() } else { builder }
        };
        assert!(run(&builder().build().unwrap()) == expected, "{kind}");
        for fault in [StripFault::Shallow, StripFault::Lost, StripFault::MissingWait] {
            // Who does not wait may come late by chance.
            let is_seen = |_| run(&builder().plant_strips(fault).build().unwrap()) != expected;
            assert!((0..20).any(is_seen), "{fault:?} on {kind}, apart: {apart}, changed nothing");
        }
    }
}

/// Places and strips are on one axis of time.
#[test]
fn a_timeline_has_all_places() {
    use tida::acc::SpanKind;
    let acc = TileAcc::builder().devices(["sim:3"]).threads(2).timeline(true).edges_from(0).build().unwrap();
    let (mut u, mut next) = heat(&acc, ([24, 8, 64], 0), true);
    (0..5).for_each(|_| step(&mut u, &mut next));
    let timeline = acc.timeline().unwrap();
    let of = |kind: SpanKind, place: usize| {
        let spans = timeline.spans().iter().filter(move |span| (span.kind, span.place) == (kind, place));
        spans.map(|span| (span.start, span.end)).collect::<Vec<_>>()
    };
    for place in 0..3 {
        // From each neighbour one a step, between the sweeps of this step and of the next.
        assert_eq!(of(SpanKind::Strips, place).len(), 2 * 5, "{timeline:?}");
        // The last two sweeps compute their edges first: strips of what they write were given before, when ghosts of
        // fixed value were no more due. However long the recorder paused, it is so.
        assert_eq!(of(SpanKind::Kernel, place).len(), 3 + 2 * 2, "{timeline:?}");
    }
    assert!(timeline.spans().windows(2).all(|pair| pair[0].start <= pair[1].start));
    let picture = timeline.svg();
    assert!(picture.contains(">0: stream") && picture.contains(">2: stream"), "{picture}");
    let chrome = timeline.chrome();
    assert!(chrome.contains(r#""pid":4"#) && chrome.contains(r#""cat":"strips""#), "{chrome}");
    assert!(TileAcc::builder().devices(["sim:2"]).build().unwrap().timeline().is_err());
}

/// Work that fails on one place fails what needs it on others, and is told by its kernel and line.
#[test]
fn a_failure_on_one_place_is_that_of_what_needs_it() {
    for kind in ["cpu:3", "sim:3"] {
        let acc = TileAcc::builder().devices([kind]).threads(2).build().unwrap();
        let mut u = TileArray::<i32, 2>::builder([12, 64]).ghost(1).boundary(Boundary::Fixed(1)).build(&acc).unwrap();
        let mut next = u.like().unwrap();
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 12 / (at[0] as i32 - 1))).unwrap(); // of the first place
        }
        let line = line!() - 2;
        u.fill_ghosts().unwrap();
        for tile in next.tiles() {
            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1, 0]])).unwrap();
        }
        let rows = |lo, hi| GridBox::new([lo, 0], [hi, 64]);
        // The second place has read the first one's cells, the third one has not.
        let error = next.read_box(rows(4, 8)).unwrap_err();
        assert_eq!((error.kind(), error.recorded().map(|at| at.line())), (ErrorKind::Division, Some(line)), "{error}");
        assert!(next.read_box(rows(8, 12)).is_ok(), "{kind}");
        assert!(acc.sync().is_ok(), "it was told");
        let error = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Division);
    }
}

/// Host access, files, views and copies are those of one array.
#[test]
fn the_host_sees_one_array() {
    let folder = std::env::temp_dir().join(format!("tida-places-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let make = |acc: &TileAcc| {
        let builder =
            TileArray::<[f32; 2], 2>::builder([9, 70]).regions([3, 2]).ghost(1).boundary(Boundary::ReflectEven);
        let mut u = builder.build(acc).unwrap();
        u.fill(|[row, column]| [row as f32, column as f32]).unwrap();
        u
    };
    let one = make(&one());
    one.save_npy(folder.join("one.npy")).unwrap();
    for (number, kind) in ["cpu:3", "sim:2", "cpu:2"].into_iter().enumerate() {
        let acc = TileAcc::builder().devices([kind]).threads(2).build().unwrap();
        let mut u = make(&acc);
        let mut filled = one.clone();
        filled.fill_ghosts().unwrap();
        u.fill_ghosts().unwrap();
        for region in 0..u.regions() {
            let grown = u.grown_box(region).unwrap();
            let ghosts = [&u, &filled].map(|u| u.read_grown_box(region, grown).unwrap());
            assert!(ghosts[0] == ghosts[1], "{kind}: ghosts of region {region}");
        }
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = [u[at][0] + 0.0, u[at][1]])).unwrap();
        }
        let name = format!("{number}.npy");
        u.save_npy(folder.join(&name)).unwrap();
        assert!(read(&name) == read("one.npy"), "{kind}");
        let npz = folder.join("all.npz");
        tida::save(&npz, &[("u", &u)]).unwrap();
        u.fill_value([0.0; 2]).unwrap();
        tida::restore(&npz, &mut [("u", &mut u)]).unwrap();
        let mut loaded = u.like().unwrap();
        loaded.load_npy(folder.join("one.npy")).unwrap();
        assert!(loaded.read_box(u.domain()).unwrap() == one.read_box(u.domain()).unwrap());
        assert!(u.read_box(u.domain()).unwrap() == one.read_box(u.domain()).unwrap());
        for region in 0..u.regions() {
            assert_eq!(u.region_box(region), one.region_box(region));
            let view =
                |u: &TileArray<[f32; 2], 2>| u.with_component::<f32, _>(region, 1, |view| view.to_owned()).unwrap();
            assert_eq!(view(&u), view(&one));
            u.with_component_mut::<f32, _>(region, 0, |mut view| view.fill(region as f32)).unwrap();
        }
        let regions: Vec<usize> = u.tiles().map(|tile| tile.region()).collect();
        assert_eq!(regions, (0..6).collect::<Vec<_>>());
        let column: Vec<f32> = u.read_box(GridBox::new([0, 0], [9, 1])).unwrap().iter().map(|x| x[0]).collect();
        assert_eq!(column, [0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0]);
        assert_eq!(u.to_ndarray().unwrap()[[8, 69]][0], 5.0);
        // Between distributions, by the host.
        let mut other = TileArray::<[f32; 2], 2>::builder([9, 70]).distribute([9]).build(&acc).unwrap();
        other.copy_from(&u).unwrap();
        fill_ghosts((&mut other, &mut u)).unwrap();
        let sums = [&u, &other].map(|u| reduce(u, Sum, kernel!(|u, at| u[at][0])).unwrap());
        assert_eq!(sums[0].to_bits(), sums[1].to_bits());
        assert!(other.read_box(u.domain()).unwrap() == u.read_box(u.domain()).unwrap());
        u.discard();
        u.copy_from(&other).unwrap();
        let part = GridBox::new([2, 5], [8, 9]);
        assert!(u.read_box(part).unwrap() == other.read_box(part).unwrap());
        let later = u.read_box_later(GridBox::new([0, 0], [2, 3])).unwrap();
        assert_eq!(later.get().unwrap()[5], [0.0, 2.0]);
        assert_eq!(u.storage_report().unwrap().saturated, 0);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Red-black relaxation in place, and sums along the lines of the second axis.
fn relaxed(acc: &TileAcc, periodic: bool) -> Vec<u64> {
    let faces = if periodic { Boundary::Periodic } else { Boundary::ReflectEven };
    let builder = TileArray::<f64, 2>::builder([23, 70]).ghost(1).boundary(faces);
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| value(at, 3)).unwrap();
    for step in 0..6 {
        u.fill_ghosts().unwrap();
        sweep_colour(
            Colour::red_black(step % 2),
            u.tiles(),
            &mut u,
            kernel!(|u, at| {
                let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                u[at] += 0.3 * (around - 4.0 * u[at]) + 0.01 * at[0] as f64;
            }),
        )
        .unwrap();
    }
    let mut sums = u.like().unwrap();
    sums.fill_ghosts().unwrap();
    sweep_along(
        1,
        Forward,
        u.tiles(),
        (&mut sums, &u),
        kernel!(|sums, u, at| sums[at] = if at[1] == 0 { u[at] } else { 0.5 * sums[at - [0, 1]] + u[at] }),
    )
    .unwrap();
    [bits(&u.read_box(u.domain()).unwrap()), bits(&sums.read_box(u.domain()).unwrap())].concat()
}

#[test]
fn colours_and_lines_have_the_bits_of_one_place() {
    for periodic in [false, true] {
        let wanted = relaxed(&one(), periodic);
        for places in [2, 3, 5] {
            for (name, acc) in accelerators(places, 2) {
                assert!(relaxed(&acc, periodic) == wanted, "{places} places of {name}, periodic: {periodic}");
            }
        }
    }
}

/// What arrays on several places cannot do is refused with advice, before anything is touched.
#[test]
fn what_is_not_there_is_refused() {
    let acc = TileAcc::builder().devices(["cpu:2"]).threads(2).build().unwrap();
    let builder = TileArray::<f64, 2>::builder([16, 64]).ghost(1);
    let (mut u, mut v) = (builder.build(&acc).unwrap(), builder.build(&acc).unwrap());
    u.fill_value(1.0).unwrap();
    let refused = |error: tida::Error| {
        assert!(error.advice().contains("place"), "{error}");
        assert!(error.to_string().contains("place"), "{error}");
    };
    let tile = v.tiles().next().unwrap();
    refused(compute(&tile, (&mut v, all(&u)), kernel!(|v, u, at| v[at] = u[[0, 0]])).unwrap_err());
    refused(tida::explain((&mut v, all(&u)), kernel!(|v, u, at| v[at] = u[[0, 0]])).unwrap_err());
    let faces = TileArray::<f64, 1>::builder([256]).centering([Centering::Face]).build(&acc).unwrap();
    refused(reduce(&faces, Sum, kernel!(|u, at| u[at])).unwrap_err());
    assert_eq!(v.read_box(v.domain()).unwrap(), [0.0; 16 * 64]);
    // Arrays that are distributed in another way.
    let other = builder.clone().distribute([12, 4]).build(&acc).unwrap();
    assert!(compute(&tile, (&mut v, &other), kernel!(|v, o, at| v[at] = o[at])).is_err());
    // A loop on a part makes ghosts of all parts old.
    u.fill_ghosts().unwrap();
    for tile in u.tiles().within([0, 0], [2, 64]) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = 3.0)).unwrap();
    }
    let last = v.tiles().last().unwrap();
    let error = compute(&last, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at - [1, 0]])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleGhost);
    // Devices that cannot be named.
    for names in [&["gpu"][..], &[], &["cpu:0"], &["hybrid"]] {
        let names = names.iter().copied();
        assert_eq!(TileAcc::builder().devices(names).build().unwrap_err().kind(), ErrorKind::Argument);
    }
    assert!(TileAcc::builder().devices(["cpu:2"]).device(Device::Cpu).build().is_err());
    assert!(TileAcc::builder().devices(["cpu:2"]).backed_by(std::env::temp_dir()).build().is_err());
    assert_eq!(acc.places().len(), 2);
    assert!(acc.to_string().starts_with("2 places: CPU, 2 threads"), "{acc}");
}

/// The places and shares that a user asks for change no bit.
#[test]
fn shares_change_no_bit() {
    let run = |acc: &TileAcc, shares: &[usize]| {
        let mut builder = TileArray::<f64, 2>::builder([40, 70]).ghost([2, 1]).boundary(Boundary::Periodic);
        if !shares.is_empty() {
            builder = builder.distribute(shares);
        }
        let mut u = builder.build(acc).unwrap();
        u.fill(|at| value(at, 9)).unwrap();
        let mut next = u.like().unwrap();
        for _ in 0..5 {
            u.fill_ghosts().unwrap();
            for tile in next.tiles() {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| next[at] = u[at - [2, 0]] * 0.5 + u[at + [1, 1]]),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        (bits(&u.read_box(u.domain()).unwrap()), sum.to_bits())
    };
    let expected = run(&one(), &[]);
    let acc = TileAcc::builder().devices(["cpu:3", "sim"]).threads(2).build().unwrap();
    for shares in [&[][..], &[10, 10, 10, 10], &[2, 3, 33, 2], &[38, 2], &[40]] {
        assert!(run(&acc, shares) == expected, "{shares:?}");
    }
}

/// What `TIDA_DEVICES` says, in a process of its own.
#[test]
fn a_variable_names_the_places() {
    if std::env::var_os("TIDA_TEST_CHILD").is_some() {
        match TileAcc::auto() {
            Ok(acc) => println!("places: {}", acc.places().len()),
            Err(error) => println!("error: {error}"),
        }
        // Whoever asks for a device has it.
        assert_eq!(TileAcc::builder().device(Device::Cpu).build().map_or(0, |acc| acc.places().len()), 1);
        return;
    }
    let says = |variables: &[(&str, &str)]| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["a_variable_names_the_places", "--exact", "--nocapture"]).env("TIDA_TEST_CHILD", "");
        child.env_remove("TIDA_DEVICE").envs(variables.iter().copied());
        String::from_utf8(child.output().unwrap().stdout).unwrap()
    };
    assert!(says(&[("TIDA_DEVICES", "cpu:2 sim")]).contains("places: 3"));
    assert!(says(&[("TIDA_DEVICES", ""), ("TIDA_DEVICE", "cpu")]).contains("places: 1"));
    assert!(says(&[("TIDA_DEVICES", "gpus")]).contains("found `gpus`"));
    assert!(says(&[("TIDA_DEVICES", "cpu:2"), ("TIDA_DEVICE", "sim")]).contains("unset one of them"));
}
