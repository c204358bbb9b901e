//! Clusters of simulated devices: the bits of one place, mistakes that are found, and the time that a model says.

use tida::array::{OverlapTimes, TileArrayBuilder};
use tida::prelude::*;
use tida::{Fuse, SimCluster, SimDevice, SimFault, SimLink};
use tida_tests::several::{bits, step, value};
use tida_tests::{on_cpu, unhurried};

type Field = TileArray<f64, 3>;

/// Seconds a step of heat over cells that are periodic.
fn seconds(cluster: SimCluster, cells: [usize; 3], shares: &[usize]) -> f64 {
    let acc = unhurried().simulate_cluster(cluster).fuse(Fuse::Off).threads(2).build().unwrap();
    let mut builder = Field::builder(cells).ghost(1).boundary(Boundary::Periodic);
    if !shares.is_empty() {
        builder = builder.distribute(shares);
    }
    seconds_of(&acc, &builder, STEPS)
}

/// The same, of arrays that are built so: of so many steps, after a few.
fn seconds_of(acc: &TileAcc, builder: &TileArrayBuilder<f64, 3>, steps: usize) -> f64 {
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    for tile in u.tiles() {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64)).unwrap();
    }
    let mut time = |steps: usize| {
        (0..steps).for_each(|_| step(&mut u, &mut next));
        acc.sync().unwrap();
        acc.simulated().unwrap().makespan
    };
    let before = time(FIRST);
    let after = time(steps);
    (after - before) / steps as f64
}

/// Steps that are timed, after others: one exchange more than steps under which it is hidden.
const STEPS: usize = 20;

/// Steps before.
const FIRST: usize = 8;

fn bits_of(acc: &TileAcc) -> Vec<u64> {
    let builder = Field::builder([24, 8, 64]).ghost(1).boundary(Boundary::Periodic);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| value(at, 3)).unwrap();
    (0..5).for_each(|_| step(&mut u, &mut next));
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    [bits(&u.read_box(u.domain()).unwrap()), vec![sum.to_bits()]].concat()
}

/// Clusters that are joined in all ways.
fn clusters() -> Vec<(&'static str, SimCluster)> {
    let (device, link) = (SimDevice::new, SimLink::default());
    let different = (1..=4).map(|n| device().kernels(n as f64 * 1e8, 1e-6));
    vec![
        ("own links", SimCluster::of(3, device())),
        ("a bus", SimCluster::of(4, device()).links(SimLink::new(1e9, 1e-5).shared())),
        ("no links", SimCluster::of(3, device()).no_links()),
        ("no links and a shared host", SimCluster::of(3, device()).no_links().shared_host()),
        ("some links", SimCluster::of(4, device()).no_links().link([0, 1], link).link([2, 3], link.shared())),
        ("speeds", SimCluster::new(different)),
        ("one", SimCluster::of(1, device())),
    ]
}

#[test]
fn clusters_have_the_bits_of_one_place() {
    let expected = bits_of(&on_cpu());
    for (name, cluster) in clusters() {
        for from in [0, u64::MAX] {
            let acc = TileAcc::builder().simulate_cluster(cluster.clone()).edges_from(from).threads(2).build().unwrap();
            assert!(bits_of(&acc) == expected, "{name}, edges from {from}");
            let report = acc.simulated().unwrap();
            assert_eq!(report.taken, acc.stats().strip_bytes, "{name}");
            assert_eq!(report.taken > 0, !["no links", "no links and a shared host", "one"].contains(&name), "{name}");
        }
    }
}

/// A wait that is missing on one device of a cluster leaves poison where its ghosts should be.
#[test]
fn missing_waits_are_found() {
    let expected = bits_of(&on_cpu());
    let found = |waits: bool| {
        let device = |n: usize| match n {
            1 if !waits => SimDevice::new().plant(SimFault::MissingWait, 1),
            _ => SimDevice::new(),
        };
        let cluster = SimCluster::new((0..3).map(device));
        bits_of(&TileAcc::builder().simulate_cluster(cluster).edges_from(0).threads(2).build().unwrap())
    };
    assert!(found(true) == expected);
    let poison = found(false).iter().filter(|bits| f64::from_bits(**bits).is_nan()).count();
    assert!(poison > 0);
}

/// What cannot be is an error, and so is a cluster beside other devices.
#[test]
fn clusters_that_cannot_be_are_refused() {
    let two = || SimCluster::of(2, SimDevice::new());
    let builders = [
        TileAcc::builder().simulate_cluster(SimCluster::new([])),
        TileAcc::builder().simulate_cluster(SimCluster::of(65, SimDevice::new())),
        TileAcc::builder().simulate_cluster(two().links(SimLink::new(-1.0, 0.0))),
        TileAcc::builder().simulate_cluster(two().link([0, 2], SimLink::default())),
        TileAcc::builder().simulate_cluster(two()).device(Device::Sim),
        TileAcc::builder().simulate_cluster(two()).devices(["sim:2"]),
        TileAcc::builder().simulate_cluster(two()).simulate(SimDevice::new()),
    ];
    for (number, builder) in builders.into_iter().enumerate() {
        assert_eq!(builder.build().unwrap_err().kind(), ErrorKind::Argument, "{number}");
    }
    let acc = TileAcc::builder().devices(["sim", "cpu"]).build().unwrap();
    assert_eq!(acc.simulated(), None);
}

/// What a kernel takes at once, in seconds.
const LATENCY: f64 = 2.5e-6;

/// A device of so many cells a second, of which nothing but the clock runs.
fn device_of(cells_per_second: f64) -> SimDevice {
    let device = SimDevice::new().memory("100 GiB").kernels(cells_per_second, LATENCY);
    device.upload(22e9, 8e-6).download(22e9, 8e-6).null()
}

/// One as fast as an H200.
fn large() -> SimDevice {
    device_of(200e9)
}

/// The speed of each of so many devices beside that of one alone.
fn weak_scaling(of: impl Fn(usize) -> SimCluster, places: usize) -> f64 {
    let [one, all] = [1, places].map(|count| seconds(of(count), [count * 512, 512, 512], &[]));
    eprintln!("{places} places: {:.2} us a step, one {:.2}: {:.4}", all * 1e6, one * 1e6, one / all);
    one / all
}

#[test]
fn eight_places_scale_over_fast_links_and_slow_ones() {
    let joined = |link: SimLink| move |count: usize| SimCluster::of(count, large()).links(link);
    for places in [2, 8] {
        let fast = weak_scaling(joined(SimLink::new(450e9, 5e-6)), places);
        assert!(fast >= 0.95, "NVLink: {fast}");
        let slow = weak_scaling(joined(SimLink::new(22e9, 10e-6)), places);
        assert!(slow >= 0.9, "22 GB/s: {slow}");
    }
}

/// By way of the host's memory too: edges come first whatever joins the places.
#[test]
fn eight_places_scale_by_way_of_the_host() {
    for places in [2, 8] {
        let scaling = weak_scaling(|count| SimCluster::of(count, large()).no_links(), places);
        assert!(scaling >= 0.9, "{places} places: {scaling}");
    }
}

/// How two places are joined, for the model.
enum By {
    /// One reads the other's memory: bytes a second after seconds.
    Link(f64, f64),
    /// The host's memory, at such a speed each way.
    Host(f64, f64),
}

/// Seconds a step of heat in a ring of at least three places, by the model of the guide's chapter on several devices:
/// `planes` of `side * side` numbers of 8 bytes on each, at so many cells a second.
fn model(cells_per_second: f64, planes: usize, side: usize, by: &By) -> f64 {
    let cells = (side * side) as f64;
    let kernel = |cells: f64| LATENCY + cells / cells_per_second;
    let (edges, inside) = (2.0 * kernel(cells), kernel((planes - 2) as f64 * cells));
    // Ghosts of the other axes are filled by a launch for each.
    let around = (side + 2) as f64 * (side + 2) as f64 - cells;
    let fills = 2.0 * LATENCY + (planes + 2) as f64 * around / cells_per_second;
    let (travels, packs) = match by {
        By::Link(speed, latency) => (2.0 * (latency + 8.0 * cells / speed), 0.0),
        By::Host(speed, latency) => {
            // Down one after the other, while the one before goes up; each is packed and unpacked by a launch.
            let copy = latency + 8.0 * cells / speed;
            (2.0 * (kernel(cells) + copy) + copy + kernel(cells), 4.0 * kernel(cells))
        }
    };
    // Before the first step nothing hides what travels, and nothing travels under the end of the last one.
    let steps = STEPS as f64;
    f64::max(edges + inside + fills + packs + travels / steps, edges + travels + (inside + fills) / steps)
}

/// Seconds that planes of neighbours take on their way.
fn exchange(cells_per_second: f64, planes: usize, side: usize, by: &By) -> f64 {
    let cells = (planes * side * side) as f64;
    match by {
        By::Link(speed, latency) => 2.0 * (latency + 8.0 * cells / speed),
        By::Host(speed, latency) => 3.0 * (LATENCY + cells / cells_per_second + latency + 8.0 * cells / speed),
    }
}

/// Seconds a step with `overlap` planes of each neighbour as cells: of what one place takes for all planes that it has,
/// a step and a launch of three, if steps fuse; and of what such a launch takes for its own planes. What travels does
/// so under the inside of the launch before it, which leaves no other planes, and computes both ends first; nothing
/// hides it after a single step.
fn overlapping(overlap: usize, exchange: f64, (single, three): (f64, Option<[f64; 2]>)) -> f64 {
    let singles = |launches: usize| (overlap - 3 * launches) as f64 * single;
    let steps = match three {
        None => singles(0) + exchange,
        Some([several, last]) if overlap.is_multiple_of(3) => {
            (overlap / 3 - 1) as f64 * several + last + 2.0 * LATENCY + (exchange - last).max(0.0)
        }
        Some([several, _]) => (overlap / 3) as f64 * several + singles(overlap / 3) + exchange,
    };
    steps / overlap as f64
}

/// What a step takes is within 3 % of the model: where sweeps take longer than what travels, and where they do not.
#[test]
fn a_step_takes_what_the_model_says() {
    for by in [By::Link(450e9, 5e-6), By::Link(22e9, 10e-6), By::Host(22e9, 8e-6)] {
        for planes in [32, 64, 128, 512] {
            let (cluster, name) = ring(8, &by);
            let takes = seconds(cluster, [8 * planes, 512, 512], &[]);
            let said = model(200e9, planes, 512, &by);
            eprintln!("{name}, {planes} planes: {:.2} us a step, model {:.2}", takes * 1e6, said * 1e6);
            assert!((takes / said - 1.0).abs() <= 0.03, "{name}, {planes} planes: {takes}, model {said}");
        }
    }
}

/// The least time in which places of these speeds compute so many planes: whole planes, each place at least 4.
fn best_split(speeds: &[f64], planes: usize, cells: usize) -> f64 {
    let share = |time: f64, speed: &f64| ((time - LATENCY) * speed / cells as f64).max(0.0) as usize;
    let fits = |time: f64| speeds.iter().map(|speed| share(time, speed)).sum::<usize>() >= planes;
    let (mut low, mut high) = (0.0, LATENCY + (planes * cells) as f64 / speeds[0]);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if fits(middle) { high = middle } else { low = middle }
    }
    high
}

/// Sixteen places of different speeds, which the library measures: within 5 % of the best split.
#[test]
fn places_of_different_speeds_share_by_what_was_measured() {
    let speeds: Vec<f64> = (0..16).map(|n| 40e9 * [1.0, 1.5, 2.0, 3.0, 1.2, 2.7, 3.6][n % 7]).collect();
    let (planes, cells) = (16 * 256, 512 * 512);
    let cluster = || SimCluster::new(speeds.iter().map(|speed| device_of(*speed))).links(SimLink::new(450e9, 5e-6));
    let acc = unhurried().simulate_cluster(cluster()).threads(2).build().unwrap();
    let builder = Field::builder([planes, 512, 512]).ghost(1).boundary(Boundary::Periodic);
    let (mut u, mut next) = (builder.build(&acc).unwrap(), builder.build(&acc).unwrap());
    let steps = || {
        (0..4).for_each(|_| step(&mut u, &mut next));
        Ok(())
    };
    let measured = acc.measure_places(steps).unwrap();
    let shares = measured.share(planes);
    assert_eq!(shares.iter().sum::<usize>(), planes);
    let even = vec![planes / 16; 16];
    let [balanced, even] = [shares, even].map(|shares| seconds(cluster(), [planes, 512, 512], &shares));
    let best = best_split(&speeds, planes, cells);
    eprintln!("best {:.1} us a step, measured {:.1}, even {:.1}", best * 1e6, balanced * 1e6, even * 1e6);
    assert!(balanced <= 1.05 * best, "{balanced}, best {best}");
    assert!(even > 1.5 * best, "{even}, best {best}");
}

/// Kernels over groups are measured as other loops are.
#[test]
fn kernels_over_groups_are_measured() {
    let devices = [1e9, 3e9].map(|speed| SimDevice::new().kernels(speed, 0.0));
    let acc = unhurried().simulate_cluster(SimCluster::new(devices)).threads(2).build().unwrap();
    let mut u = TileArray::<f64, 2>::builder([64, 64]).build(&acc).unwrap();
    let mut v = u.like().unwrap();
    u.fill_value(1.0).unwrap();
    let mut copies = || {
        for tile in v.tiles() {
            compute_groups(
                &tile,
                [1, 64],
                (&mut v, &u),
                group_kernel!(|v, u, group| group.each(|t| v[t.at()] = u[t.at()])),
            )?;
        }
        Ok(())
    };
    let speeds = acc.measure_places(|| (0..3).try_for_each(|_| copies())).unwrap();
    assert_eq!(speeds.share(64), [16, 48]);
}

/// What cannot be measured is an error, and nothing is measured afterwards.
#[test]
fn places_that_run_nothing_are_not_measured() {
    let acc = unhurried().simulate_cluster(SimCluster::of(2, large())).build().unwrap();
    assert_eq!(acc.measure_places(|| Ok(())).unwrap_err().kind(), ErrorKind::Argument);
    let refused = acc.measure_places(|| Err(acc.measure_places(|| Ok(())).unwrap_err())).unwrap_err();
    assert!(refused.found().contains("place 0"), "{refused}");
}

/// Virtual time does not depend on threads, unless the host is so busy that a thread gets no processor for long: the
/// clock does not wait for ever. So most runs have to agree.
#[test]
fn time_is_the_same_each_time() {
    let link = SimLink::new(22e9, 1e-5);
    let clusters = [
        (SimCluster::of(8, large()).links(link), 1e-9),
        (SimCluster::of(8, large()).links(link.shared()), 1e-9),
        (SimCluster::of(8, large()).no_links(), 1e-9),
    ];
    for (cluster, part) in clusters {
        let mut times: [f64; 5] = std::array::from_fn(|_| seconds(cluster.clone(), [8 * 64, 512, 512], &[]));
        times.sort_by(f64::total_cmp);
        assert!(times[3] - times[1] <= part * times[2], "{times:?}: {cluster:?}");
    }
}

/// The cluster, and its name.
fn ring(count: usize, by: &By) -> (SimCluster, &'static str) {
    let cluster = SimCluster::of(count, large());
    match by {
        By::Link(speed, latency) => (cluster.links(SimLink::new(*speed, *latency)), "link"),
        By::Host(..) => (cluster.no_links(), "host"),
    }
}

/// What a place takes for so many planes of 512 times 512 cells, of which those at the ends are copies: a step, and
/// three that are one launch. Measured on one place, which fills ghosts along the first axis too.
fn alone(planes: usize) -> (f64, f64) {
    let builder = Field::builder([planes, 512, 512]).ghost(1).boundary(Boundary::Periodic);
    let more = LATENCY + (2 * 512 * 512) as f64 / 200e9;
    let [single, three] = [(Fuse::Off, 1), (Fuse::Steps(3), 3)].map(|(fuse, steps)| {
        let acc = unhurried().simulate_cluster(SimCluster::of(1, large())).fuse(fuse).threads(2).build().unwrap();
        difference(&acc, &builder) * steps as f64 - more
    });
    (single, three)
}

/// Seconds a step, without what the first steps and the last ones take.
fn difference(acc: &TileAcc, builder: &TileArrayBuilder<f64, 3>) -> f64 {
    let [few, many] = [24, 48].map(|steps| seconds_of(acc, builder, steps) * steps as f64);
    (many - few) / 24.0
}

/// The same with planes of neighbours as cells: they are computed twice, and given all at once. Of slow links, what is
/// not hidden is more than the model says: the planes at the borders are computed before anything travels.
#[test]
fn a_step_with_planes_of_neighbours_takes_what_the_model_says() {
    let all = [1, 2, 3, 4, 6, 8];
    for (planes, overlap) in [64, 512].into_iter().flat_map(|planes| all.map(|overlap| (planes, overlap))) {
        let (single, several) = alone(planes + 2 * overlap);
        let three = [several, alone(planes).1];
        let fast = By::Link(450e9, 5e-6);
        let slow = [By::Link(22e9, 10e-6), By::Host(22e9, 8e-6)];
        for by in [fast].into_iter().chain(slow.into_iter().filter(|_| !overlap.is_multiple_of(3))) {
            for (fuse, three) in [(Fuse::Off, None), (Fuse::Steps(3), Some(three))] {
                let (cluster, name) = ring(8, &by);
                let acc = unhurried().simulate_cluster(cluster).fuse(fuse).threads(2).build().unwrap();
                let builder = Field::builder([8 * planes, 512, 512]).ghost(1).boundary(Boundary::Periodic);
                let takes = difference(&acc, &builder.overlap(overlap));
                let said = overlapping(overlap, exchange(200e9, overlap, 512, &by), (single, three));
                let what = format!("{name}, {planes} and {overlap} planes, fused: {}", three.is_some());
                eprintln!("{what}: {:.2} us a step, model {:.2}", takes * 1e6, said * 1e6);
                assert!((takes / said - 1.0).abs() <= 0.03, "{what}: {takes}, model {said}");
            }
        }
    }
}

/// Steps that share launches, with as many planes as a launch has steps: strips travel under the inside.
#[test]
fn fused_steps_scale() {
    // One place fills ghosts along the first axis too.
    let one = alone(512).1 / 3.0 + (LATENCY + (2 * 512 * 512) as f64 / 200e9) / 3.0;
    for (by, goal) in [(By::Link(450e9, 5e-6), 0.98), (By::Link(22e9, 10e-6), 0.95), (By::Host(22e9, 8e-6), 0.9)] {
        for overlap in [3, 4, 6] {
            let (cluster, name) = ring(8, &by);
            let acc = unhurried().simulate_cluster(cluster).fuse(Fuse::Steps(3)).threads(2).build().unwrap();
            let builder = Field::builder([8 * 512, 512, 512]).ghost(1).boundary(Boundary::Periodic);
            let takes = difference(&acc, &builder.overlap(overlap));
            eprintln!("{name}, fused, {overlap} planes: {:.2} us a step, one place {:.4}", takes * 1e6, one / takes);
            assert!(overlap != 3 || one / takes >= goal, "{name}: {takes}, one place {one}");
        }
    }
}

/// What a step takes with each number of planes: of so many on each of four places.
fn measured(by: &By, fuse: Fuse, planes: usize) -> OverlapTimes {
    let acc = unhurried().simulate_cluster(ring(4, by).0).fuse(fuse).threads(2).build().unwrap();
    let builder = Field::builder([4 * planes, 512, 512]).ghost(1).boundary(Boundary::Periodic);
    let trial = |planes: usize| {
        let builder = builder.clone().overlap(planes);
        let (mut u, mut next) = (builder.build(&acc)?, builder.build(&acc)?);
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64))?;
        }
        Ok(move || {
            step(&mut u, &mut next);
            Ok(())
        })
    };
    let found = builder.measure_overlap(&acc, trial).unwrap();
    eprintln!("{found}");
    found
}

/// The number of planes that the library finds by trials is the one that the model says: ghosts alone where messages
/// hide under a step, planes where they take longer than it, and planes where steps fuse.
#[test]
fn the_best_number_of_planes_is_measured() {
    let (fast, late) = (By::Link(450e9, 5e-6), By::Link(450e9, 100e-6));
    let best = |found: &OverlapTimes, by: &By, planes: usize, fused: bool| {
        let said = |overlap: usize| {
            let (single, several) = alone(planes + 2 * overlap);
            let three = fused.then(|| [several, alone(planes).1]);
            let with = || overlapping(overlap, exchange(200e9, overlap, 512, by), (single, three));
            if overlap == 0 { model(200e9, planes, 512, by) } else { with() }
        };
        let all: Vec<(usize, f64)> = found.times().iter().map(|(overlap, _)| (*overlap, said(*overlap))).collect();
        all.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0
    };
    for (by, fuse, planes, expected) in [
        (&fast, Fuse::Off, 512, 0),
        (&late, Fuse::Off, 32, 8),
        (&fast, Fuse::Steps(3), 512, 3),
        (&late, Fuse::Steps(3), 32, 6),
    ] {
        let found = measured(by, fuse, planes);
        assert_eq!((found.planes(), best(&found, by, planes, fuse != Fuse::Off)), (expected, expected), "{found}");
    }
}

/// What cannot be measured is an error, and one place has nothing to choose.
#[test]
fn planes_that_cannot_be_held_are_not_tried() {
    let tried = |acc: &TileAcc, builder: &TileArrayBuilder<f64, 3>| {
        let mut tried = Vec::new();
        let found = builder.measure_overlap(acc, |planes| {
            tried.push(planes);
            let u = builder.clone().overlap(planes).build(acc)?;
            Ok(move || u.acc().flush())
        });
        found.map(|found| (tried, found.times().iter().map(|(planes, _)| *planes).collect::<Vec<_>>()))
    };
    let acc = unhurried().simulate_cluster(SimCluster::of(2, large())).build().unwrap();
    let builder = Field::builder([14, 64, 64]).ghost(2);
    assert_eq!(tried(&acc, &builder).unwrap(), (vec![0, 4, 6], vec![0, 4, 6]));
    assert_eq!(tried(&on_cpu(), &builder).unwrap().0, [0]);
    assert_eq!(tried(&acc, &builder.clone().regions([1, 2, 1])).unwrap().0, [0]);
    assert_eq!(tried(&acc, &builder.clone().regions([15, 1, 1])).unwrap_err().kind(), ErrorKind::Shape);
    let refused = builder.measure_overlap(&acc, |planes| {
        let u = builder.clone().overlap(planes + 3).build(&acc)?;
        Ok(move || u.acc().flush())
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Argument);
}
