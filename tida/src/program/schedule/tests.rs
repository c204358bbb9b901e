//! Random chains in the chosen order against program order, on a machine that sees what streams may do too early.

use proptest::prelude::*;
use smallvec::smallvec;

use super::*;
use crate::program::steps::machine::{At, Machine, Pieces, Value, mix};

/// All of two arrays.
const ALL: [Kept; 2] = [Kept::ALL; 2];

/// An array that no one looks at.
const NONE: Kept = Kept { stored: false, ..Kept::ALL };

/// The plane of an array that lies beside a plane of an operation, both by their own numbers.
fn beside(op: &PlaneOp, access: &Access, k: i64) -> i64 {
    if access.scale >= op.scale { k.div_euclid(access.scale / op.scale) } else { k * (op.scale / access.scale) }
}

/// The scale of each array.
fn scales_of(ops: &[PlaneOp], arrays: usize) -> Vec<i64> {
    let of = |array: usize| ops.iter().flat_map(|op| &op.accesses).find(|a| a.array == array).map_or(1, |a| a.scale);
    (0..arrays).map(of).collect()
}

/// Where the values of planes are.
trait PlaneValues {
    fn get(&mut self, array: usize, k: i64) -> Result<Value, String>;
    fn set(&mut self, array: usize, k: i64, value: Value) -> Result<(), String>;
}

fn values(of: &mut impl PlaneValues, array: usize, planes: Range<i64>) -> Result<Vec<Value>, String> {
    planes.map(|k| of.get(array, k)).collect()
}

/// Runs an operation, given in its own planes, over some of them. Plane `k` is plane `k + period` too.
fn run(
    op: &PlaneOp,
    number: usize,
    planes: &Range<i64>,
    period: Option<i64>,
    planes_of: &mut impl PlaneValues,
) -> Result<(), String> {
    let at_once = op.trigger().is_some();
    let mut results = Vec::new();
    for k in planes.clone() {
        let mut seen = vec![number as u64, period.map_or(k, |period| k.rem_euclid(period)) as u64];
        for access in &op.accesses {
            match &access.read {
                Some(Reach::Around(lo, hi)) => {
                    let k = beside(op, access, k);
                    seen.extend(values(planes_of, access.array, k + lo..k + hi + 1)?);
                }
                Some(Reach::Within(lo, hi, all)) => {
                    let k = beside(op, access, k);
                    let near = (k + lo).max(all.start)..(k + hi + 1).min(all.end);
                    seen.extend(values(planes_of, access.array, near)?);
                }
                Some(Reach::Planes(range)) => seen.extend(values(planes_of, access.array, range.clone())?),
                None => {}
            }
            if access.write == Some(Write::Part) {
                seen.push(planes_of.get(access.array, k)?);
            }
        }
        for access in op.accesses.iter().filter(|access| access.write.is_some()) {
            let value = mix(seen.iter().copied().chain([access.array as u64]));
            if at_once { results.push((access.array, k, value)) } else { planes_of.set(access.array, k, value)? }
        }
    }
    results.into_iter().try_for_each(|(array, k, value)| planes_of.set(array, k, value))
}

/// Arrays of planes on the host: of each its ghosts, and its first cell.
#[derive(Clone, Debug)]
struct Host {
    ghost: i64,
    period: Option<i64>,
    starts: Vec<usize>,
}

impl Host {
    /// The cell of a plane.
    fn at(&self, array: usize, k: i64) -> usize {
        self.starts[array] + (self.period.map_or(k, |period| k.rem_euclid(period)) + self.ghost) as usize
    }
}

/// Program order: all on the host.
struct InOrder<'a>(&'a Host, &'a mut [Value]);

impl PlaneValues for InOrder<'_> {
    fn get(&mut self, array: usize, k: i64) -> Result<Value, String> {
        Ok(self.1[self.0.at(array, k)])
    }

    fn set(&mut self, array: usize, k: i64, value: Value) -> Result<(), String> {
        self.1[self.0.at(array, k)] = value;
        Ok(())
    }
}

/// Windows of planes.
struct Windows<'a> {
    ops: &'a [PlaneOp],
    schedule: &'a Schedule,
    scales: &'a [i64],
    window: i64,
    host: &'a Host,
}

impl Windows<'_> {
    /// The cell of a plane in a block.
    fn slot(&self, block: usize, array: usize, k: i64) -> At {
        let pass = self.schedule.passes.iter().rev().find(|pass| pass.first_block <= block).unwrap();
        let scale = self.scales[array];
        At::Device(array * self.window as usize + (k + pass.shift / scale).rem_euclid(self.window / scale) as usize)
    }
}

/// Windows in a block.
struct InBlock<'a, 'b>(&'a Windows<'b>, usize, &'a mut Machine);

impl PlaneValues for InBlock<'_, '_> {
    fn get(&mut self, array: usize, k: i64) -> Result<Value, String> {
        self.2.get(self.0.slot(self.1, array, k))
    }

    fn set(&mut self, array: usize, k: i64, value: Value) -> Result<(), String> {
        self.2.set(self.0.slot(self.1, array, k), value)
    }
}

impl Pieces<Planes, (usize, Range<i64>)> for Windows<'_> {
    fn load(&mut self, machine: &mut Machine, step: usize, Planes { array, planes }: &Planes) -> Result<(), String> {
        let mut each = planes.clone();
        each.try_for_each(|k| machine.copy(At::Host(self.host.at(*array, k)), self.slot(step, *array, k)))
    }

    fn run(
        &mut self,
        machine: &mut Machine,
        step: usize,
        _: bool,
        (op, planes): &(usize, Range<i64>),
    ) -> Result<(), String> {
        run(&self.ops[*op], *op, planes, self.host.period, &mut InBlock(self, step, machine))
    }

    fn store(&mut self, machine: &mut Machine, step: usize, Planes { array, planes }: &Planes) -> Result<(), String> {
        let mut each = planes.clone();
        each.try_for_each(|k| machine.copy(self.slot(step, *array, k), At::Host(self.host.at(*array, k))))
    }
}

fn check(ops: &[PlaneOp], arrays: usize, n: i64, ghost: i64, window: i64, thick: i64) -> Option<[i64; 2]> {
    check_ends(ops, &vec![Kept::ALL; arrays], (n, ghost, None), window, thick)
}

/// Of `n` planes and ghosts beyond them (of arrays of scale `s`, `n / s` rounded up), or of planes whose ends belong
/// together; how many moved. Of arrays that are not kept no one looks at the values.
fn check_ends(
    ops: &[PlaneOp],
    kept: &[Kept],
    (n, ghost, period): (i64, i64, Option<i64>),
    window: i64,
    thick: i64,
) -> Option<[i64; 2]> {
    check_with(ops, kept, (n, ghost, period), (window, thick), |_| {}).map(|moved| moved.unwrap())
}

/// The same for blocks that have a fault.
fn check_with(
    ops: &[PlaneOp],
    kept: &[Kept],
    (n, ghost, period): (i64, i64, Option<i64>),
    (window, thick): (i64, i64),
    fault: fn(&mut PlaneStep),
) -> Option<Result<[i64; 2], String>> {
    let arrays = kept.len();
    let scales = scales_of(ops, arrays);
    let planes = |array: usize| up(n, scales[array]) / scales[array];
    let cells = |a: usize| (planes(a) + 2 * ghost) as usize;
    let starts = (0..arrays).map(|a| (0..a).map(cells).sum()).collect();
    let host = Host { ghost, period, starts };
    let start: Vec<Value> =
        (0..arrays).flat_map(|a| (0..cells(a)).map(move |k| mix([a as u64, k as u64, 77]))).collect();
    let mut expected = start.clone();
    for (number, op) in ops.iter().enumerate() {
        run(op, number, &op.planes, period, &mut InOrder(&host, &mut expected)).unwrap();
    }
    let finest: Vec<PlaneOp> = ops.iter().map(|op| op.clone().in_finest(op.scale, &scales)).collect();
    let window = down(window, unit(&finest));
    let mut schedule = schedule(&finest, kept, window, thick, period).ok()?;
    schedule.blocks.iter_mut().for_each(fault);
    assert_eq!(schedule.passes.iter().map(|pass| pass.ops.len()).sum::<usize>(), ops.len());
    let mut machine = Machine::new(arrays * window as usize, start);
    let mut windows = Windows { ops, schedule: &schedule, scales: &scales, window, host: &host };
    if let Err(error) = machine.run(&schedule.blocks, &mut windows) {
        return Some(Err(format!("{error}: {schedule:?}")));
    }
    for array in (0..arrays).filter(|array| kept[*array].stored) {
        // Planes of the finest array.
        let Range { start, end } = &kept[array].planes;
        let (first, end) = (start.div_euclid(scales[array]), up(*end, scales[array]) / scales[array]);
        for k in first.max(-ghost)..end.min(planes(array) + ghost) {
            let at = host.at(array, k);
            if machine.host[at] != expected[at] {
                return Some(Err(format!("array {array} plane {k}: {schedule:?}")));
            }
        }
    }
    Some(Ok(machine.moved.map(|moved| moved as i64)))
}

/// What is wrong with blocks, and how it is made so.
type Fault = (&'static str, fn(&mut PlaneStep));

#[test]
fn planted_faults_are_seen() {
    fn shift(planes: &mut Range<i64>, by: i64) {
        (planes.start, planes.end) = (planes.start + by, planes.end + by);
    }
    let faults: [Fault; 9] = [
        ("slots that are still in use", |block| block.loads.iter_mut().for_each(|load| load.after.run = None)),
        ("planes that are not home", |block| block.loads.iter_mut().for_each(|load| load.after.store = None)),
        ("slots that are not stored", |block| block.runs_after = After::default()),
        ("planes that are not done", |block| block.stores.iter_mut().for_each(|store| store.after.run = None)),
        ("a frontier too far", |block| block.runs.iter_mut().skip(1).for_each(|(_, planes)| shift(planes, 1))),
        ("a frontier too near", |block| block.runs.iter_mut().skip(1).for_each(|(_, planes)| shift(planes, -1))),
        ("a stale plane", |block| block.loads.iter_mut().for_each(|load| load.piece.planes.end -= 1)),
        ("a plane that stays away", |block| block.stores.iter_mut().for_each(|store| store.piece.planes.end -= 1)),
        ("an operation that is left out", |block| block.runs.truncate(block.runs.len().saturating_sub(1))),
    ];
    // What is read alone leaves its slots without a store, and what is overwritten takes slots without a load.
    let mut steps = heat(60, 12);
    steps.iter_mut().for_each(|op| op.accesses.push(access(2, Some((0, 0)), None)));
    let set = PlaneOp { accesses: smallvec![access(0, None, Some(Write::Whole))], ..steps[0].clone() };
    for (name, fault) in faults {
        let check =
            |ops: &[PlaneOp], fault| check_with(ops, &[const { Kept::ALL }; 3], (60, 1, None), (12, 1), fault).unwrap();
        let both = [check(&steps, |_| {}), check(std::slice::from_ref(&set), |_| {})];
        assert!(both.iter().all(Result::is_ok));
        let both = [check(&steps, fault), check(std::slice::from_ref(&set), fault)];
        assert!(both.iter().any(Result::is_err), "{name}");
    }
}

fn access(array: usize, read: Option<(i64, i64)>, write: Option<Write>) -> Access {
    Access { array, read: read.map(|(lo, hi)| Reach::Around(lo, hi)), write, scale: 1 }
}

/// `steps` sweeps between two arrays, each reading one plane to both sides.
fn heat(n: i64, steps: usize) -> Vec<PlaneOp> {
    let sweep = |step: usize| PlaneOp {
        planes: 0..n,
        accesses: smallvec![access(step % 2, Some((-1, 1)), None), access((step + 1) % 2, None, Some(Write::Whole)),],
        steps: 1,
        scale: 1,
    };
    (0..steps).map(sweep).collect()
}

#[test]
fn sweeps_share_one_pass_over_the_link() {
    let (n, window) = (256, 64);
    let schedule = schedule(&heat(n, 50), &ALL, window, 4, None).unwrap();
    assert_eq!(schedule.passes.len(), 1, "{:?}", schedule.passes);
    // All of `u` up once, and the ghosts of `next`; both arrays down once.
    let [up, down] = check(&heat(n, 50), 2, n, 1, window, 4).unwrap();
    assert_eq!([up, down], [n + 4, 2 * n]);
    // One more pass stores one array alone: the other is overwritten unread.
    let [up, down] = check(&heat(n, 100), 2, n, 1, window, 4).unwrap();
    assert_eq!([up, down], [2 * (n + 4), 3 * n]);
    // What no one looks at any more is not stored; steps in one pass then move as much as one.
    let [up, down] = check_ends(&heat(n, 50), &[Kept::ALL, NONE], (n, 1, None), window, 4).unwrap();
    assert_eq!([up, down], [n + 4, n]);
}

#[test]
fn what_no_one_looks_at_is_not_done() {
    let (n, k, window) = (256, 50, 64);
    // Of 50 planes at each end others give the values next. Each step needs one plane less than the one before.
    let some = Kept { planes: k..n - k, stored: true };
    let kept = [some.clone(), Kept { stored: false, ..some }];
    let made = schedule(&heat(n, 50), &kept, window, 4, None).unwrap();
    let mut done = [0; 50];
    made.blocks.iter().flat_map(|block| &block.runs).for_each(|(op, planes)| done[*op] += planes.end - planes.start);
    assert_eq!(done, std::array::from_fn(|step| n - 2 * (step as i64 + 1)));
    assert_eq!(check_ends(&heat(n, 50), &kept, (n, 1, None), window, 4).unwrap(), [n, n - 2 * k]);
    // All of one array is looked at: the step before the last one leaves all of it.
    let kept = [kept[0].clone(), Kept::ALL];
    let [up, down] = check_ends(&heat(n, 50), &kept, (n, 1, None), window, 4).unwrap();
    assert_eq!([up, down], [n + 4, 2 * n - 2 * k]);
}

#[test]
fn a_single_sweep_streams() {
    let n = 100;
    let [up, down] = check(&heat(n, 1), 2, n, 1, 8, 1).unwrap();
    assert_eq!([up, down], [n + 2, n]);
    assert!(check(&heat(n, 1), 2, n, 1, 2, 1).is_none());
    let double =
        PlaneOp { planes: 0..n, accesses: smallvec![access(0, Some((0, 0)), Some(Write::Whole))], steps: 1, scale: 1 };
    assert_eq!(check(&[double.clone(), double], 1, n, 0, 4, 1).unwrap(), [n, n]);
}

#[test]
fn the_last_pass_is_no_shorter_than_the_window_allows() {
    // 58 steps fit at most: four passes, and not the last of them cut in two for thicker blocks.
    let made = schedule(&heat(256, 200), &ALL, 61, 7, None).unwrap();
    assert_eq!(made.passes.iter().map(|pass| pass.ops.len()).collect::<Vec<_>>(), [50; 4]);
}

/// Launches of several steps compute planes at both ends twice.
#[test]
fn several_steps_have_thick_blocks() {
    let (n, window) = (1024, 243);
    let far = |access: Access| Access { read: access.read.map(|_| Reach::Within(-3, 3, -1..n + 1)), ..access };
    let launch = |op: PlaneOp| PlaneOp { accesses: op.accesses.into_iter().map(far).collect(), steps: 3, ..op };
    let ops: Vec<PlaneOp> = heat(n, 66).into_iter().map(launch).collect();
    let made = schedule(&ops, &ALL, window, 30, None).unwrap();
    assert_eq!(made.passes.iter().map(|pass| pass.ops.len()).collect::<Vec<_>>(), [33; 2]);
    let blocks = made.passes[1].first_block as i64;
    assert!(n / blocks >= 36, "{blocks} blocks");
}

#[test]
fn passes_that_are_long_anyway_have_thick_blocks() {
    let (n, window) = (1024, 126);
    let made = schedule(&heat(n, 200), &ALL, window, 15, None).unwrap();
    assert_eq!(made.passes.iter().map(|pass| pass.ops.len()).collect::<Vec<_>>(), [67, 67, 66]);
    // As thick as three of them beside 67 operations can be.
    let blocks = made.passes[1].first_block as i64;
    assert!(n / blocks >= 12, "{blocks} blocks");
}

/// Ghost planes at both ends set from planes `depth` inwards, or from the other end.
fn ghosts(array: usize, n: i64, g: i64, periodic: bool) -> [PlaneOp; 2] {
    let end = |planes: Range<i64>, from: Range<i64>| PlaneOp {
        planes,
        accesses: smallvec![Access { array, read: Some(Reach::Planes(from)), write: Some(Write::Part), scale: 1 }],
        steps: 1,
        scale: 1,
    };
    match periodic {
        false => [end(-g..0, 0..g), end(n..n + g, n - g..n)],
        true => [end(-g..0, n - g..n), end(n..n + g, 0..g)],
    }
}

#[test]
fn reflecting_ends_cost_no_depth() {
    let (n, window) = (64, 24);
    let mut ops = Vec::new();
    for sweep in heat(n, 15) {
        ops.extend(ghosts(sweep.accesses[0].array, n, 1, false));
        ops.push(sweep);
    }
    check(&ops, 2, n, 1, window, 2).unwrap();
    let reflecting = schedule(&ops, &ALL, window, 2, None).unwrap();
    let fixed = schedule(&heat(n, 15), &ALL, window, 2, None).unwrap();
    assert_eq!(reflecting.passes.len(), fixed.passes.len());
}

#[test]
fn periodic_ends_need_the_whole_array() {
    let n = 40;
    let mut ops = Vec::new();
    for sweep in heat(n, 4) {
        ops.extend(ghosts(sweep.accesses[0].array, n, 1, true));
        ops.push(sweep);
    }
    assert!(check(&ops, 2, n, 1, n / 2, 2).is_none());
    check(&ops, 2, n, 1, 2 * n, 2).unwrap();
}

prop_compose! {
    fn any_access(arrays: usize)(array in 0..arrays, read in prop::option::of((-3i64..=1, 0i64..=3)), write in 0usize..3)
        -> Access {
        let write = [None, Some(Write::Whole), Some(Write::Part)][write];
        // A kernel reads what it writes at its own cell alone.
        let read = match (read, write) {
            (Some(_), Some(_)) => Some((0, 0)),
            (None, None) => Some((-1, 1)),
            (read, _) => read.map(|(lo, hi)| (lo.min(hi), hi)),
        };
        access(array, read, write)
    }
}

/// What is looked at of an array: all of it, some planes, or nothing, where others need some planes of it, or all.
fn any_kept(n: i64) -> impl Strategy<Value = Kept> {
    let planes = prop_oneof![Just(Kept::ALL.planes), (-3..n / 2, n / 2 + 1..n + 3).prop_map(|(lo, hi)| lo..hi)];
    (planes, prop::bool::weighted(0.8)).prop_map(|(planes, stored)| Kept { planes, stored })
}

/// Operations; several steps at once touch what they write in one of the first so many ways.
fn any_op(arrays: usize, n: i64, hows: usize) -> impl Strategy<Value = Vec<PlaneOp>> {
    let sweep =
        (prop::collection::vec(any_access(arrays), 1..4), 0..n / 2, n / 2..=n).prop_map(move |(list, lo, hi)| {
            let mut accesses: SmallVec<[Access; 4]> = SmallVec::new();
            for access in list {
                if accesses.iter().all(|other| other.array != access.array) {
                    accesses.push(access);
                }
            }
            let part = lo < n / 8;
            let planes = if part { 0..n } else { lo..hi };
            vec![PlaneOp { planes, accesses, steps: 1, scale: 1 }]
        });
    prop_oneof![
        6 => sweep,
        1 => (0..arrays, 1i64..=3).prop_map(move |(array, g)| ghosts(array, n, g, false).to_vec()),
        2 => (0..arrays, 1..arrays, 1i64..=6, 0..hows).prop_map(move |(array, by, far, how)| {
            vec![several(array, (array + by) % arrays, n, far, how)]
        }),
    ]
}

/// Several steps at once: what they read of one array reaches further than it has planes; of the array that they write
/// they may read what no step changes.
fn several(inp: usize, out: usize, n: i64, far: i64, how: usize) -> PlaneOp {
    let read = || Some(Reach::Within(-far, far, -3..n + 3));
    let (held, write) = [(None, Write::Whole), (None, Write::Part), (read(), Write::Part)][how].clone();
    let out = Access { array: out, read: held, write: Some(write), scale: 1 };
    PlaneOp {
        planes: 0..n,
        accesses: smallvec![Access { array: inp, read: read(), write: None, scale: 1 }, out],
        steps: 3,
        scale: 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn the_chosen_order_gives_the_same_values(
        (n, ops) in (8i64..40).prop_flat_map(|n| (Just(n), prop::collection::vec(any_op(3, n, 3), 1..12))),
        window in 6i64..60,
        thick in 1i64..9,
        kept in prop::array::uniform3(prop::bool::weighted(0.8)),
    ) {
        let ops: Vec<PlaneOp> = ops.into_iter().flatten().collect();
        check_ends(&ops, &kept.map(|stored| Kept { stored, ..Kept::ALL }), (n, 3, None), window, thick);
    }

    /// Here several steps read nothing of what they write: the machine cannot tell ghosts, which no step changes, from
    /// planes of an order.
    #[test]
    fn planes_that_are_kept_have_the_same_values(
        (n, ops, kept) in (8i64..40).prop_flat_map(|n| {
            (Just(n), prop::collection::vec(any_op(3, n, 2), 1..12), prop::array::uniform3(any_kept(n)))
        }),
        window in 6i64..60,
        thick in 1i64..9,
    ) {
        let ops: Vec<PlaneOp> = ops.into_iter().flatten().collect();
        check_ends(&ops, &kept, (n, 3, None), window, thick);
    }

    #[test]
    fn the_chosen_order_gives_the_same_values_where_ends_belong_together(
        (n, ops) in (6i64..40).prop_flat_map(|n| (Just(n), prop::collection::vec(any_round(3, n), 1..14))),
        window in 4i64..60,
        thick in 1i64..9,
        kept in prop::array::uniform3(prop::bool::weighted(0.8)),
    ) {
        let kept = kept.map(|stored| Kept { stored, ..Kept::ALL });
        check_ends(&ops, &kept, (n, 0, Some(n)), window, thick);
    }
}

/// An operation on arrays of several levels, two of each: from one of a level to the other, or to one of the next.
fn any_level_op(levels: usize, n: i64) -> impl Strategy<Value = Vec<PlaneOp>> {
    let of = move |array: usize| 1i64 << (array / 2);
    let planes = move |array: usize| up(n, of(array)) / of(array);
    let between = (0..2 * levels, 0..2 * levels, (-2i64..=1, 0i64..=2), 1usize..3, 0i64..3);
    let sweep = between.prop_map(move |(from, to, (lo, hi), how, less)| {
        let near = if (from / 2).abs_diff(to / 2) <= 1 { from } else { to ^ 1 };
        let write = [Write::Whole, Write::Part][how - 1];
        let range = -3..planes(near) + 3;
        let read = Some(Reach::Within(lo.min(hi), hi, range));
        let left = Access { array: to, read: None, write: Some(write), scale: of(to) };
        let accesses = match near == to {
            true => smallvec![Access { read: Some(Reach::Around(0, 0)), ..left }],
            false => smallvec![Access { array: near, read, write: None, scale: of(near) }, left],
        };
        vec![PlaneOp { planes: less.min(planes(to) / 2)..planes(to), accesses, steps: 1, scale: of(to) }]
    });
    let ends = (0..2 * levels).prop_map(move |array| {
        let scaled = |op: PlaneOp| PlaneOp {
            accesses: op.accesses.into_iter().map(|access| Access { scale: of(array), ..access }).collect(),
            scale: of(array),
            ..op
        };
        ghosts(array, planes(array), 1, false).map(scaled).to_vec()
    });
    prop_oneof![4 => sweep, 1 => ends]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn arrays_of_several_levels_have_the_same_values(
        (n, ops) in (8i64..60).prop_flat_map(|n| (Just(n), prop::collection::vec(any_level_op(3, n), 1..12))),
        window in 12i64..120,
        thick in 1i64..9,
    ) {
        let ops: Vec<PlaneOp> = ops.into_iter().flatten().collect();
        check(&ops, 6, n, 3, window, thick);
    }
}

#[test]
fn a_cycle_of_two_levels_is_one_pass() {
    let n = 256;
    let around = |array: usize, lo: i64, hi: i64, scale: i64| Access {
        array,
        read: Some(Reach::Within(lo, hi, -1..n / scale + 1)),
        write: None,
        scale,
    };
    let left = |array: usize, write: Write, scale: i64| Access { array, read: None, write: Some(write), scale };
    let op = |scale: i64, accesses: [Access; 2]| PlaneOp {
        planes: 0..n / scale,
        accesses: accesses.into_iter().collect(),
        steps: 1,
        scale,
    };
    // A sweep, down, a sweep there, up, a sweep.
    let ops = [
        op(1, [around(0, -1, 1, 1), left(1, Write::Whole, 1)]),
        op(2, [around(1, 0, 1, 1), left(2, Write::Whole, 2)]),
        op(2, [around(2, -1, 1, 2), left(3, Write::Whole, 2)]),
        op(1, [around(3, -1, 1, 2), Access { read: Some(Reach::Around(0, 0)), ..left(1, Write::Part, 1) }]),
        op(1, [around(1, -1, 1, 1), left(0, Write::Whole, 1)]),
    ];
    let scales = scales_of(&ops, 4);
    let finest: Vec<PlaneOp> = ops.iter().map(|op| op.clone().in_finest(op.scale, &scales)).collect();
    assert_eq!(schedule(&finest, &[const { Kept::ALL }; 4], 64, 4, None).unwrap().passes.len(), 1);
    // What is overwritten whole does not come, but for its ghosts; all that is written leaves.
    let [up, down] = check(&ops, 4, n, 1, 64, 4).unwrap();
    assert_eq!([up, down], [n + 2 + 2 + 2 + 2, 2 * n + n]);
}

/// An operation of all planes.
fn any_round(arrays: usize, n: i64) -> impl Strategy<Value = PlaneOp> {
    let several = (0..arrays, 1..arrays, 1i64..=6).prop_map(move |(array, by, far)| {
        let left = access((array + by) % arrays, None, Some(Write::Whole));
        PlaneOp { planes: 0..n, accesses: smallvec![access(array, Some((-far, far)), None), left], steps: 3, scale: 1 }
    });
    let sweep = prop::collection::vec(any_access(arrays), 1..4).prop_map(move |list| {
        let mut accesses: SmallVec<[Access; 4]> = SmallVec::new();
        for access in list {
            if accesses.iter().all(|other| other.array != access.array) {
                accesses.push(access);
            }
        }
        PlaneOp { planes: 0..n, accesses, steps: 1, scale: 1 }
    });
    prop_oneof![4 => sweep, 1 => several]
}

#[test]
fn ends_that_belong_together_cost_the_skew() {
    let (n, window) = (256, 64);
    let made = schedule(&heat(n, 50), &ALL, window, 4, Some(n)).unwrap();
    assert_eq!(made.passes.len(), 1, "{:?}", made.passes);
    // The last step starts 50 planes above the first plane: the planes below come twice, of both arrays. Each is
    // written by 25 steps, of which the last starts 48 planes above the first.
    let [up, down] = check_ends(&heat(n, 50), &ALL, (n, 0, Some(n)), window, 4).unwrap();
    assert_eq!([up, down], [n + 50 + 50, 2 * n + 48 + 48]);
    // The next pass does not wait for the last planes of the one before.
    let made = schedule(&heat(n, 100), &ALL, window, 4, Some(n)).unwrap();
    let blocks = &made.blocks[made.passes[1].first_block..];
    let lag = made.passes[1].first_block - blocks[0].loads.iter().filter_map(|load| load.after.run).max().unwrap();
    assert!(lag > 10, "the second pass waits for the {lag}th block before it");
}

#[test]
fn a_single_sweep_of_ends_that_belong_together_streams() {
    let n = 100;
    // Plane 0 is read before the first plane that is written, and after the last.
    assert_eq!(check_ends(&heat(n, 1), &ALL, (n, 0, Some(n)), 8, 1).unwrap(), [n + 2, n]);
    let double =
        PlaneOp { planes: 0..n, accesses: smallvec![access(0, Some((0, 0)), Some(Write::Whole))], steps: 1, scale: 1 };
    assert_eq!(check_ends(&[double.clone(), double], &ALL[..1], (n, 0, Some(n)), 4, 1).unwrap(), [n, n]);
    // No window is of use that holds more than all planes.
    assert!(check_ends(&heat(4, 3), &ALL, (4, 0, Some(4)), 40, 2).is_some());
    assert!(check_ends(&heat(2, 3), &ALL, (2, 0, Some(2)), 40, 2).is_none());
}
