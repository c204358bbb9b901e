//! Kernels that run several steps in one launch, against the interpreter run step by step, bit for bit.

mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::faces::{around, by_itself, each, face, one_step};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::{F32, F64, I32, V3, bind, in_format, typed};
use emit_support::{nvrtc, pocl, samples};
use tida_kernels::analysis::analyse;
use tida_kernels::codec::Format;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::Param;
use tida_kernels::interp::{Memory, run_box};
use tida_kernels::ir::{Access, Beside, GhostKernel, Kernel, Type, cycle, with_ghosts, with_ghosts_alone};
use tida_kernels::plan::auto::{Latency, Machine};
use tida_kernels::plan::fuse::{
    Asked, Face, Faces, Fused, Parts, Steps, Target, choose, fusible, single, worth_a_trial,
};
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;
use tida_kernels::scalar::Value;

/// A box, arrays around it, and how steps run over it.
struct Case {
    launch: Launch,
    plan: Plan,
}

/// The faces of a box, by the axes of the kernel.
fn faces(sides: &[[Face; 2]]) -> Faces {
    let mut faces = Faces::default();
    faces[4 - sides.len()..].copy_from_slice(sides);
    faces
}

/// The cell that stands for one beyond a face, along an axis of `n` cells; itself where memory says what it is.
fn stands_for(at: i64, n: i64, sides: [Face; 2]) -> i64 {
    let face = sides[usize::from(at >= n)];
    match face {
        _ if (0..n).contains(&at) => at,
        Face::Memory | Face::Constant => at,
        Face::Wrap | Face::Follow => at.rem_euclid(n),
        Face::Even => {
            if at < 0 {
                -1 - at
            } else {
                2 * n - 1 - at
            }
        }
        Face::Nearest => at.clamp(0, n - 1),
    }
}

/// Ghosts along the axes, the last first.
fn fill(grids: &mut Grids, arg: usize, (lo, hi): (&[i64], &[i64]), faces: &Faces) {
    let rank = lo.len();
    for axis in (0..rank).rev() {
        let (from, to) = (grids.0[arg].lo.clone(), grids.0[arg].hi.clone());
        let mut all = Vec::new();
        each(&from, &to, |at| {
            let mut other = at.to_vec();
            let stands = stands_for(at[axis] - lo[axis], hi[axis] - lo[axis], faces[4 - rank + axis]);
            other[axis] = (lo[axis] + stands).clamp(from[axis], to[axis] - 1);
            all.push((at.to_vec(), other));
        });
        for (at, other) in all.into_iter().filter(|(at, other)| at != other) {
            for part in 0..grids.0[arg].element.components() {
                let value = grids.load(arg, part, &other).unwrap();
                assert!(grids.store(arg, part, &at, value));
            }
        }
    }
}

/// A case of random numbers.
fn case(kernel: &Kernel, steps: &Steps, extent: &[i64], fused: Fused, rng: &mut Rng) -> Case {
    let lo: Vec<i64> = (0..kernel.rank).map(|d| 3 * d as i64 - 2).collect();
    let hi: Vec<i64> = lo.iter().zip(extent).map(|(lo, n)| lo + n).collect();
    let one_layout = rng.below(2) == 0;
    let mut grids = Vec::new();
    for (n, arg) in kernel.args.iter().enumerate() {
        let reach = |d: usize| steps.reach()[4 - kernel.rank + d].map(i64::from);
        let more = if one_layout { 1 } else { rng.below(2) as i64 };
        let alternates = n == steps.pair.0 || n == steps.pair.1;
        let far = |d: usize| if fused.faces[4 - kernel.rank + d][0] == Face::Follow { fused.depth.into() } else { 1 };
        let by = |d: usize, side: usize| if alternates { far(d) * reach(d)[side] + more } else { 0 };
        let held_lo: Vec<i64> = (0..kernel.rank).map(|d| lo[d] - by(d, 0)).collect();
        let held_hi: Vec<i64> = (0..kernel.rank).map(|d| hi[d] + by(d, 1)).collect();
        grids.push(Grid::tiled(arg.access, arg.element, &held_lo, &held_hi, rng));
    }
    let mut grids = Grids(grids);
    if one_layout {
        let like = grids.0[steps.pair.1].clone();
        let (from, to) = (like.lo.clone(), like.hi.clone());
        grids.0[steps.pair.0] = Grid { access: Access::Write, ..like };
        for part in 0..steps.components() {
            each(&from, &to, |at| assert!(grids.store(steps.pair.0, part, at, rng.value(steps.scalar))));
        }
    }
    for arg in [steps.pair.0, steps.pair.1] {
        fill(&mut grids, arg, (&lo, &hi), &fused.faces);
    }
    if fused.faces.as_flattened().contains(&Face::Constant) {
        // Beyond the box both arrays have the same.
        let (from, to) = (grids.0[steps.pair.0].lo.clone(), grids.0[steps.pair.0].hi.clone());
        let held = grids.0[steps.pair.1].clone();
        each(&from, &to, |at| {
            if at.iter().zip(lo.iter().zip(&hi)).any(|(at, (lo, hi))| at < lo || at >= hi) {
                let near: Vec<i64> = at
                    .iter()
                    .zip(held.lo.iter().zip(&held.hi))
                    .map(|(at, (lo, hi))| *at.clamp(lo, &(hi - 1)))
                    .collect();
                for part in 0..steps.components() {
                    let value = grids.load(steps.pair.1, part, &near).unwrap();
                    assert!(grids.store(steps.pair.0, part, at, value));
                }
            }
        });
    }
    let sets = if fused.varied { fused.depth } else { 1 };
    let captures = (0..sets).flat_map(|_| rng.captures(kernel)).collect();
    let plain = plan(kernel, &grids, Dialect::OpenCl, Goal::Sweep, false, false);
    let planes = 1 + rng.below(extent[0] as u64 + 2) as u32;
    let plan = Plan { fused: Some(fused), march: Some(planes), ..plain };
    // Some of the planes, every other time.
    let (mut from, mut to) = (lo.clone(), hi.clone());
    if rng.below(2) == 0 {
        from[0] += rng.below(extent[0] as u64) as i64;
        to[0] = from[0] + 1 + rng.below((hi[0] - from[0]) as u64) as i64;
    }
    Case { launch: Launch { captures, grids, whole: (lo, hi), boxes: vec![(from, to)] }, plan }
}

/// What a step is given.
fn captured(kernel: &Kernel, case: &Case, step: u8) -> Vec<Value> {
    let fused = case.plan.fused.as_ref().unwrap();
    let one: usize = kernel.captures.iter().map(|capture| capture.ty.components()).sum();
    let first = if fused.varied { usize::from(step) * one } else { 0 };
    let mut values = case.launch.captures[first..first + one].to_vec();
    if fused.kernels > 1 {
        values[one - 1] = Value::I32((step % fused.kernels).into());
    }
    values
}

/// The launch leaves what the interpreter leaves, step by step.
fn check(kernel: &Kernel, steps: &Steps, case: &Case, label: &str) {
    let (lo, hi) = &case.launch.whole;
    let (from, to) = &case.launch.boxes[0];
    let (out, inp) = steps.pair;
    let fused = case.plan.fused.clone().unwrap();
    let mut expected = case.launch.grids.clone();
    // What the cells of the box hold that the launch writes does not matter.
    let mut found = case.launch.clone();
    each(lo, hi, |at| {
        let value = Rng(7).value(steps.scalar);
        assert!((0..steps.components()).all(|part| found.grids.store(out, part, at, value)));
    });
    // Nor does what lies beyond the planes that all steps need together.
    let [below, above] = steps.reach()[4 - kernel.rank].map(|reach| i64::from(reach) * i64::from(fused.depth));
    let window = from[0] - below..to[0] + above;
    if fused.faces[4 - kernel.rank][0] != Face::Wrap {
        for arg in [out, inp] {
            let grid = found.grids.0[arg].clone();
            each(&grid.lo, &grid.hi, |at| {
                if !window.contains(&at[0]) {
                    let value = Rng(at[0].unsigned_abs()).value(steps.scalar);
                    assert!((0..steps.components()).all(|part| found.grids.store(arg, part, at, value)));
                }
            });
        }
    }
    let swap = |grids: &mut Grids| {
        let (a, b) = (grids.0[out].access, grids.0[inp].access);
        grids.0.swap(out, inp);
        (grids.0[out].access, grids.0[inp].access) = (a, b);
    };
    for step in 0..fused.depth {
        if step > 0 {
            swap(&mut expected);
            fill(&mut expected, inp, (lo, hi), &fused.faces);
        }
        one_step((kernel, &fused), &captured(kernel, case, step), (lo, hi), &mut expected, label);
    }
    let source = source(kernel, &case.plan);
    assert!(source.params.contains(&Param::March), "{}", source.text);
    let before = found.grids.clone();
    let (_, raised) = pocl::run(kernel, &case.plan, &source, &mut found, 0);
    assert!(raised.is_none(), "{}", source.text);
    each(from, to, |at| {
        for part in 0..steps.components() {
            let (a, b) = (expected.load(out, part, at).unwrap(), found.grids.load(out, part, at).unwrap());
            assert!(same(a, b), "{label}\n{:?}\nat {at:?}, {part}: {b:?}, not {a:?}\n{}", case.plan, source.text);
        }
    });
    // Nothing else was written.
    for arg in 0..before.0.len() {
        for (a, b) in contents(&before, arg).into_iter().zip(contents(&found.grids, arg)) {
            let inside = a.0.iter().zip(from).all(|(i, lo)| i >= lo) && a.0.iter().zip(to).all(|(i, hi)| i < hi);
            assert!(arg == out && inside || a.2.bits() == b.2.bits(), "{label}: {arg} at {:?} was written", a.0);
        }
    }
}

fn sample(name: &str) -> Kernel {
    samples::all().into_iter().find(|sample| sample.name == name).unwrap().kernel
}

fn fused(steps: &Steps, depth: u8, [y, x]: [u8; 2], faces: Faces) -> Fused {
    Fused {
        out: steps.pair.0 as u8,
        inp: steps.pair.1 as u8,
        depth,
        cells: [y, x],
        shuffled: false,
        faces,
        reach: steps.reach(),
        unrolled: false,
        held: 1,
        varied: false,
        kernels: 1,
        computes: 0,
    }
}

/// A step that reads around its cell of an array, and at the cell of another one; some in branches, some in a loop. Or
/// several that alternate.
fn random(rng: &mut Rng, (several, components): (usize, bool)) -> Kernel {
    let elements = if components { [TWO, V3, THREE] } else { [F32, F64, I32] };
    let (rank, element) = (2 + rng.below(2) as usize, elements[rng.below(3) as usize]);
    let kernels: Vec<Kernel> = (0..several).map(|_| one(rng, rank, element)).collect();
    match kernels.as_slice() {
        [kernel] => kernel.clone(),
        kernels => cycle(&kernels.iter().collect::<Vec<_>>(), &vec![(0, 1); several]).unwrap().kernel,
    }
}

const TWO: ElementType = ElementType::Array { element: &F32, len: 2 };
const THREE: ElementType = ElementType::Array { element: &I32, len: 3 };

/// Such a step.
fn one(rng: &mut Rng, rank: usize, element: ElementType) -> Kernel {
    let (ty, components) = (element.innermost().unwrap(), element.components());
    let of = |part: u64| if components > 1 { vec![entry(int(part))] } else { Vec::new() };
    let some = |rng: &mut Rng| of(rng.below(components as u64));
    let star = rng.below(2) == 0;
    let radius = 1 + rng.below(2) as i64;
    let mut args = vec![("next", bind(Access::Write, element, rank)), ("u", bind(Access::Read, element, rank))];
    // Of another type, so that it cannot be the one that alternates, or of the same.
    let other = [None, Some(F32), Some(element)][rng.below(3) as usize];
    args.extend(other.map(|of| ("force", bind(Access::Read, of, rank))));
    let near = |rng: &mut Rng| {
        let wide = |rng: &mut Rng| rng.below(2 * radius as u64 + 1) as i64 - radius;
        let mut offset: Vec<i64> = (0..rank).map(|_| if star { 0 } else { wide(rng) }).collect();
        offset[rng.below(rank as u64) as usize] = wide(rng);
        load_part(1, at_plus(&offset), some(rng))
    };
    let mut corner = vec![0; rank];
    corner[rng.below(rank as u64) as usize] = if rng.below(2) == 0 { radius } else { -radius };
    let first = load_part(1, at_plus(&corner), some(rng));
    let mut sum = (0..2 + rng.below(5)).fold(first, |sum, n| match n % 3 {
        2 => sub(sum, mul(capture(0), near(rng))),
        _ => add(sum, near(rng)),
    });
    if rng.below(2) == 0 {
        // All of them, so that faces may mirror.
        each(&vec![-radius; rank], &vec![radius + 1; rank], |offset| {
            let few = offset.iter().filter(|by| **by != 0).count() <= 1 || (!star && rank == 2 && radius == 1);
            if few {
                sum = add(std::mem::replace(&mut sum, int(0)), load_part(1, at_plus(offset), some(rng)));
            }
        });
    }
    let axis = |n: usize| project(at(), entry(int(n as u64)));
    let mut body = vec![let_(0, sum)];
    if let Some(other) = other {
        let path = if other == element { some(rng) } else { Vec::new() };
        body.push(set(0, add(local(0), cast(load_part(2, at(), path), ty))));
    }
    if rng.below(2) == 0 {
        let odd =
            compare(CompareOp::Eq, binary(BinaryOp::BitAnd, axis(rng.below(rank as u64) as usize), int(1)), int(1));
        body.push(eval(if_then(odd, block(vec![set(0, add(local(0), near(rng)))]))));
    }
    if rng.below(3) == 0 {
        let turn = block(vec![set(0, add(local(0), near(rng)))]);
        body.push(for_(1, int_of(0, ScalarType::I32), int_of(2, ScalarType::I32), turn));
    }
    if rng.below(3) == 0 {
        // A cell that ends early.
        let edge = compare(CompareOp::Lt, axis(0), int(1));
        body.push(eval(if_then(edge, block(vec![store(0, at(), load(1, at())), return_(None)]))));
    }
    if components > 1 {
        body.push(store(0, at(), load(1, at_plus(&corner))));
    }
    for part in 0..components as u64 {
        let more = if part > 0 { load_part(1, at(), of(part - 1)) } else { capture(0) };
        body.push(store_part(0, at(), of(part), None, add(mul(local(0), capture(0)), more)));
    }
    let captures = [("self.c", Type::Scalar(ty))];
    typed("random.rs", rank, &args, &captures, &["sum", "turn"], block(body), vec![], None)
}

#[test]
fn random_kernels_take_several_steps() {
    let wanted = std::env::var("TIDA_RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let first = std::env::var("TIDA_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut mirrored = 0;
    for seed in first..first + wanted {
        let mut rng = Rng(seed * 77 + 3);
        let kernels = [1, 1, 2, 3][(seed / 2 % 4) as usize];
        let kernel = random(&mut rng, (kernels, seed % 2 == 0 && seed % 8 != 4));
        // Of every other one the arrays hold codes, if they are of floats, and count what saturates.
        let kernel = match seed % 4 {
            1 => in_format(&kernel, &Format::Range { bits: 32, min: -3.0, max: 5.0 }),
            2 => in_format(&kernel, &Format::Range { bits: 8, min: -3.0, max: 5.0 }),
            _ => kernel,
        };
        let label = format!("seed {seed}\n{kernel}");
        let Ok(steps) = fusible(&kernel, &analyse(&kernel)) else { panic!("{label}") };
        let rank = kernel.rank;
        let extent: Vec<i64> = (0..rank).map(|_| 1 + rng.below(if rank == 2 { 30 } else { 12 }) as i64).collect();
        let memory = [Face::Memory, Face::Constant][rng.below(2) as usize];
        let side = |rng: &mut Rng| [memory, Face::Even, Face::Nearest][rng.below(3) as usize];
        let sides = (0..rank).map(|axis| match rng.below(3) {
            0 => [[Face::Wrap, Face::Follow][usize::from(axis == 0 && rng.below(2) == 0)]; 2],
            _ => [side(&mut rng), side(&mut rng)],
        });
        let mut around = faces(&sides.collect::<Vec<_>>());
        if !steps.knows(&around, &extent) {
            around.iter_mut().flatten().filter(|face| !face.wraps()).for_each(|face| *face = memory);
        }
        let steps = steps.between(&around);
        mirrored += u64::from(around.iter().flatten().any(|face| face.mirrors()));
        let (depth, shuffled) = (2 + rng.below(3) as u8, seed % 2 == 1);
        let x = if shuffled { 1 << rng.below(3) } else { 1 + rng.below(4) as u8 };
        let cells = if rank == 2 { [1, x] } else { [1 + rng.below(3) as u8, x.min(2)] };
        let mut fused = Fused { shuffled, ..fused(&steps, depth, cells, around) };
        fused.unrolled = !shuffled && rng.below(3) == 0;
        (fused.varied, fused.kernels) = (rng.below(2) == 0, kernels as u8);
        // Blocks whose tiles have a core of some cells.
        let reach = |axis: usize| fused.margin(axis, 0) + fused.margin(axis, 1);
        let more = 1 + rng.below(6) as i64;
        let threads = |axis: usize| (reach(axis) + more).unsigned_abs().div_ceil(cells[axis - 2].into()) as u32;
        // Of a multiple of the cells: threads that stage.
        let staged = if rank == 2 && seed % 3 != 0 { u32::from(cells[1]) } else { 1 };
        let block = match shuffled {
            true => {
                [if rank == 2 { 32 * (1 + rng.below(2) as u32) } else { 32 }, if rank == 2 { 1 } else { threads(2) }]
            }
            false => [threads(3).next_multiple_of(staged), if rank == 2 { 1 } else { threads(2) }],
        };
        assert!(fused.suits(rank, [block[0], block[1], 1]), "{label}");
        let mut case = case(&kernel, &steps, &extent, fused, &mut rng);
        case.plan.block = [block[0], block[1], 1];
        case.plan.narrow = rng.below(3) != 0;
        check(&kernel, &steps, &case, &label);
        if seed % 4 < 2 {
            let cuda = Plan {
                dialect: Dialect::Cuda,
                fused: case.plan.fused.clone().map(|fused| Fused { unrolled: true, ..fused }),
                ..case.plan
            };
            nvrtc::compile(&source(&kernel, &cuda).text);
        }
    }
    assert!(mirrored * 8 >= wanted, "{mirrored} of {wanted}");
}

/// The texts of heat sweeps of three steps: by way of shared memory in both languages, and by shuffles.
#[test]
fn texts_stay_as_they_are() {
    let mut rng = Rng(5);
    let mut text = |name: &str, dialect: Dialect, shuffled: bool, block: [u32; 3]| {
        let kernel = sample(name);
        let steps = fusible(&kernel, &analyse(&kernel)).unwrap();
        let sides = [[Face::Wrap; 2], [Face::Memory; 2], [Face::Even; 2]];
        let cells = if kernel.rank == 2 { [1, 4] } else { [2, 1] };
        let around = faces(&sides[3 - kernel.rank..]);
        let unrolled = dialect == Dialect::Cuda;
        let fused = Fused { shuffled, unrolled, ..fused(&steps, 3, cells, around) };
        let case = case(&kernel, &steps, &vec![9; kernel.rank], fused, &mut rng);
        source(&kernel, &Plan { dialect, block, groups: vec![0; 2], narrow: true, ..case.plan }).text
    };
    insta::assert_snapshot!("heat_3d.cuda", text("heat_3d", Dialect::Cuda, false, [32, 8, 1]));
    insta::assert_snapshot!("heat_3d.opencl", text("heat_3d", Dialect::OpenCl, false, [32, 8, 1]));
    insta::assert_snapshot!("heat_2d.shuffled", text("heat_2d", Dialect::Cuda, true, [64, 1, 1]));
}

/// The text of two alternating kernels, each step with captured values of its own.
#[test]
fn kernels_take_turns_in_a_text() {
    let kernel = |axis: usize| {
        let mut by = [0; 2];
        by[axis] = 1;
        let back = by.map(|n: i64| -n);
        let body = add(load(1, at()), mul(capture(0), add(load(1, at_plus(&by)), load(1, at_plus(&back)))));
        let args = [("next", bind(Access::Write, F64, 2)), ("u", bind(Access::Read, F64, 2))];
        let captures = [("c", Type::Scalar(ScalarType::F64))];
        typed("turns.rs", 2, &args, &captures, &[], block(vec![store(0, at(), body)]), vec![], None)
    };
    let both = cycle(&[&kernel(1), &kernel(0)], &[(0, 1); 2]).unwrap();
    assert_eq!(both.args, [(0, 0), (0, 1)]);
    let steps = fusible(&both.kernel, &analyse(&both.kernel)).unwrap();
    let around = faces(&[[Face::Wrap; 2]; 2]);
    let fused = Fused { varied: true, kernels: 2, unrolled: true, ..fused(&steps, 3, [1, 1], around) };
    let case = case(&both.kernel, &steps, &[9, 9], fused, &mut Rng(5));
    let (dialect, block) = (Dialect::Cuda, [64, 1, 1]);
    let text = source(&both.kernel, &Plan { dialect, block, groups: vec![0; 2], narrow: true, ..case.plan }).text;
    nvrtc::compile(&text);
    insta::assert_snapshot!("turns.cuda", text);
    // Of other types, or the same two arrays the other way around.
    let life = sample("life");
    assert!(cycle(&[&both.kernel, &life], &[(0, 1); 2]).is_none());
    assert!(cycle(&[&kernel(0), &kernel(1)], &[(0, 1), (1, 0)]).is_none());
}

#[test]
fn only_some_kernels_take_several_steps() {
    let pair = |name: &str| {
        let kernel = sample(name);
        fusible(&kernel, &analyse(&kernel)).ok().map(|steps| steps.pair)
    };
    assert_eq!([pair("heat_2d"), pair("heat_3d"), pair("life"), pair("jacobi")], [Some((0, 1)); 4]);
    // Reads what it writes, components of several types, four axes, one axis, an array that alternates with nothing,
    // components that a loop counts.
    for name in ["wave", "cells", "heat_4d", "divides", "lookup", "gather", "lattice"] {
        assert_eq!(pair(name), None, "{name}");
    }
}

#[test]
fn what_is_asked_for_is_read() {
    assert_eq!("auto".parse(), Ok(Asked::Auto));
    assert_eq!("off".parse(), Ok(Asked::Off));
    assert_eq!("5".parse(), Ok(Asked::Parts(Parts { depth: Some(5), ..Parts::default() })));
    let (depth, block) = (Some(3), Some([32, 8]));
    let all = Parts { depth, block, cells: Some((2, None)), planes: Some(64), held: Some(2), shuffled: Some(true) };
    assert_eq!("depth=3, block=32x8,cells=2,planes=64,held=2,shuffle=on".parse(), Ok(Asked::Parts(all)));
    assert_eq!("cells=2x4".parse(), Ok(Asked::Parts(Parts { cells: Some((2, Some(4))), ..Parts::default() })));
    let refused = |text: &str| text.parse::<Asked>().unwrap_err();
    assert_eq!(refused("depth=many"), "`many` as steps, which is a number from 1 to 31");
    assert_eq!(refused("block=64x64"), "a block of 64 x 64 threads, which has at most 1024");
    assert!(refused("width=3").starts_with("`width`; `auto`, `off`, a number of steps or"), "{}", refused("width=3"));
}

/// What the model of costs says on an H200.
#[test]
fn choices_are_made_for_a_machine() {
    let machine = Machine { multiprocessors: 132, cache: 60 << 20, latency: Latency::TYPICAL };
    let of = |name: &str, extent: &[i64], sides: [Face; 2]| {
        let kernel = if name == "chip" { samples::chip() } else { sample(name) };
        let steps = fusible(&kernel, &analyse(&kernel)).unwrap();
        let faces = faces(&vec![sides; kernel.rank]);
        let target = Target {
            extent,
            faces: &faces,
            machine: &machine,
            shared: 227 << 10,
            threads: 1024,
            work: steps.work,
            others: steps.others,
            unrolled: true,
            launch: 0.0,
            shuffles: true,
        };
        let chosen = choose(&steps, &target, &Parts::default(), u32::MAX, true);
        let ways = worth_a_trial(&steps, &target, &Parts::default(), u32::MAX);
        assert!(ways.len() > 3 && ways.first() == chosen.as_ref(), "{name}: {ways:?}");
        chosen.map(|chosen| (chosen.fused.depth, chosen.cycles < single(&steps, &target)))
    };
    let large = of("heat_3d", &[512, 512, 512], [Face::Wrap; 2]).unwrap();
    assert!(large.0 >= 3 && large.1, "{large:?}");
    let rows = of("heat_2d", &[8192, 8192], [Face::Memory; 2]).unwrap();
    assert!(rows.0 >= 5 && rows.1, "{rows:?}");
    // Of what a step reads of other arrays little comes from memory again: 7 steps ran 1.07 as fast as 5 (4096^2,
    // 2026-11-23).
    assert_eq!(of("chip", &[4096, 4096], [Face::Follow; 2]), Some((7, true)));
    // Bytes move faster than a cell's steps are computed.
    assert!(of("life", &[8192, 8192], [Face::Wrap; 2]).is_none_or(|(_, gains)| !gains));
}

#[test]
fn samples_take_several_steps() {
    let mut rng = Rng(5);
    let (memory, wrap) = ([Face::Memory; 2], [Face::Wrap; 2]);
    for (name, extent, sides, depth, cells, block) in [
        ("heat_3d", vec![9, 10, 14], vec![memory; 3], 3, [2, 1], [16, 5, 1]),
        ("heat_3d", vec![9, 10, 14], vec![[Face::Constant; 2]; 3], 5, [1, 1], [16, 12, 1]),
        ("heat_2d", vec![17, 23], vec![[Face::Follow; 2], wrap], 4, [1, 3], [8, 1, 1]),
        ("heat_2d", vec![9, 25], vec![[Face::Even, Face::Nearest], [Face::Nearest, Face::Even]], 3, [1, 2], [9, 1, 1]),
    ] {
        let kernel = sample(name);
        let steps = fusible(&kernel, &analyse(&kernel)).unwrap();
        let fused = fused(&steps, depth, cells, faces(&sides));
        let mut case = case(&kernel, &steps, &extent, fused, &mut rng);
        case.plan.block = block;
        let cuda = Plan { dialect: Dialect::Cuda, ..case.plan.clone() };
        nvrtc::compile(&source(&kernel, &cuda).text);
        check(&kernel, &steps, &case, name);
    }
}

/// Where kernels set ghosts, and what is beyond the other faces.
struct Set {
    sides: Vec<[Face; 2]>,
    set: Vec<(usize, bool)>,
}

impl Set {
    fn filled(&self) -> Vec<[bool; 2]> {
        let is_set = |axis: usize, high: bool| self.set.contains(&(axis, high));
        let moves = |face: Face| !face.is_held();
        let of = |(axis, sides): (usize, &[Face; 2])| [0, 1].map(|n| moves(sides[n]) && !is_set(axis, n == 1));
        self.sides.iter().enumerate().map(of).collect()
    }

    fn others(&self) -> Vec<[Beside; 2]> {
        let of = |filled: bool, face| if filled { Beside::Filled(face) } else { Beside::Unknown };
        self.filled().iter().zip(&self.sides).map(|([a, b], [c, d])| [of(*a, *c), of(*b, *d)]).collect()
    }

    /// The array with the ghosts that a fill and the kernels set, the last axis first; what lies beyond both along an
    /// axis before as a fill takes it then.
    fn fill(&self, kernels: &[Kernel], captured: &[Value], grids: &mut Grids, (lo, hi): (&[i64], &[i64])) {
        let others = |axes: usize| {
            let kept = |(axis, sides): (usize, &[Face; 2])| {
                let of = |n: usize| if axis < axes && self.filled()[axis][n] { sides[n] } else { Face::Memory };
                [of(0), of(1)]
            };
            faces(&self.sides.iter().enumerate().map(kept).collect::<Vec<_>>())
        };
        fill(grids, 1, (lo, hi), &others(lo.len()));
        for (n, ((axis, high), kernel)) in self.set.iter().zip(kernels).enumerate() {
            let (mut from, mut to) = (lo.to_vec(), hi.to_vec());
            (axis + 1..lo.len()).for_each(|d| (from[d], to[d]) = (lo[d] - 1, hi[d] + 1));
            (from[*axis], to[*axis]) = if *high { (hi[*axis], hi[*axis] + 1) } else { (lo[*axis] - 1, lo[*axis]) };
            let mut u = Grids(vec![Grid { access: Access::Write, ..grids.0[1].clone() }]);
            let (_, fault) = run_box(kernel, &captured[n..=n], &from, &to, &mut u, 1_000_000).unwrap();
            assert!(fault.is_none());
            grids.0[1] = Grid { access: Access::Read, ..u.0.remove(0) };
            fill(grids, 1, (lo, hi), &others(*axis));
        }
    }
}

/// Kernels that compute the ghosts that they read: what the interpreter finds where kernels set them, and several steps
/// of them in a launch.
#[test]
fn ghosts_that_kernels_set_are_computed() {
    use Face::{Even, Nearest, Wrap};
    let mut rng = Rng(31);
    let all = |rank: usize| (0..rank).rev().flat_map(|axis| [(axis, false), (axis, true)]).collect::<Vec<_>>();
    for (sides, set, far, element) in [
        (vec![[Nearest; 2]; 2], all(2), false),
        (vec![[Nearest; 2]; 2], all(2), true),
        (vec![[Nearest; 2]; 3], all(3), true),
        (vec![[Wrap; 2], [Nearest; 2]], vec![(1, false), (1, true)], true),
        (vec![[Nearest; 2], [Wrap; 2]], vec![(0, false), (0, true)], false),
        (vec![[Nearest, Even], [Even, Nearest]], vec![(1, true), (0, false)], true),
        (vec![[Nearest; 2], [Wrap; 2], [Nearest; 2]], vec![(2, true), (2, false), (0, true), (0, false)], false),
    ]
    .into_iter()
    .map(|(sides, set, far)| (sides, set, far, F64))
    .chain([(vec![[Nearest; 2]; 2], all(2), true, V3), (vec![[Wrap; 2], [Nearest, Even]], vec![(1, false)], false, V3)])
    {
        let rank = sides.len();
        let (plain, case_of) = (around(rank, element), Set { sides, set });
        let steps = fusible(&plain, &analyse(&plain)).unwrap();
        let kernels: Vec<Kernel> = case_of.set.iter().map(|side| face(rank, *side, far, element)).collect();
        let analyses: Vec<_> = kernels.iter().map(analyse).collect();
        let of = |n: usize| {
            let (axis, high) = case_of.set[n];
            GhostKernel { kernel: &kernels[n], analysis: &analyses[n], axis, high, layers: 1 }
        };
        let ghosts: Vec<GhostKernel<'_>> = (0..kernels.len()).map(of).collect();
        let made = with_ghosts(&plain, &steps, &ghosts, &case_of.others()).unwrap();
        let alone = with_ghosts_alone(&plain, &steps, &ghosts, &case_of.others());
        let label = format!("{:?} far {far} {element}", case_of.sides);
        let computes = case_of.set.iter().map(|(axis, high)| 1 << (2 * axis + usize::from(*high))).sum();
        let steps = Steps { computes, ..fusible(&made, &analyse(&made)).unwrap() };
        let (extent, cells) =
            (if rank == 2 { vec![7, 19] } else { vec![4, 5, 9] }, if rank == 2 { [1, 2] } else { [2, 1] });
        let fused = Fused { computes, ..fused(&steps, 3, cells, faces(&case_of.sides)) };
        let mut case = case(&made, &steps, &extent, fused.clone(), &mut rng);
        // Where the faces are.
        let (lo, hi) = case.launch.whole.clone();
        let filled = case_of.filled();
        let filled = filled.as_flattened().iter().enumerate().filter(|(_, filled)| **filled);
        let sides = case_of.set.iter().copied().chain(filled.map(|(side, _)| (side / 2, side % 2 == 1)));
        let edges = sides.map(|(axis, high)| Value::I64(if high { hi[axis] } else { lo[axis] })).collect::<Vec<_>>();
        let values = &mut case.launch.captures;
        let first = values.len() - edges.len() - fused.beyond(rank).len();
        values.splice(first..first + edges.len(), edges);
        let captured = case.launch.captures.clone();
        // One step, against kernels that set ghosts.
        let (mut one, mut other) = (case.launch.grids.clone(), case.launch.grids.clone());
        fill(&mut one, 1, (&lo, &hi), &faces(&case_of.sides));
        case_of.fill(&kernels, &captured[1..=kernels.len()], &mut other, (&lo, &hi));
        one_step((&made, &fused), &captured, (&lo, &hi), &mut one, &label);
        run_box(&plain, &captured[..1], &lo, &hi, &mut other, 1_000_000).unwrap();
        each(&lo, &hi, |at| {
            for part in 0..element.components() {
                let (a, b) = (other.load(0, part, at).unwrap(), one.load(0, part, at).unwrap());
                assert!(same(a, b), "{label}\nat {at:?}, {part}: {b:?}, not {a:?}\n{made}");
            }
        });
        // The same by itself, in memory that has no such ghosts.
        let one_axis = case_of.set.iter().all(|(axis, _)| *axis == case_of.set[0].0);
        assert_eq!(alone.is_some(), one_axis, "{label}");
        if let Some(alone) = &alone {
            let boxes = vec![(lo.clone(), hi.clone())];
            let mut launch = Launch { captures: captured.clone(), boxes, ..case.launch.clone() };
            case_of.fill(&[], &[], &mut launch.grids, (&lo, &hi));
            by_itself((alone, &fused), &launch, &other, &label);
        }
        // Several, on a device.
        case.plan.block = if rank == 2 { [9, 1, 1] } else { [14, 6, 1] };
        for block in [case.plan.block, if rank == 2 { [64, 1, 1] } else { [32, 8, 1] }] {
            let cuda = Plan { dialect: Dialect::Cuda, block, ..case.plan.clone() };
            nvrtc::compile(&source(&made, &cuda).text);
        }
        check(&made, &steps, &case, &label);
    }
    // A coordinate along an axis beyond whose faces nobody knows what there is; a second cell that the step does not
    // reach.
    let along = |axis: usize| {
        let place = cast(project(at(), entry(int(axis as u64))), ScalarType::F64);
        let (args, value) = ([("u", bind(Access::Write, F64, 2))], mul(load(0, at_plus(&[0, 1])), place));
        typed("along.rs", 2, &args, &[], &[], block(vec![store(0, at(), value)]), vec![], None)
    };
    let made = |beside: Beside, step: &Kernel, kernel: &Kernel| {
        let steps = fusible(step, &analyse(step)).unwrap();
        let ghosts = [GhostKernel { kernel, analysis: &analyse(kernel), axis: 1, high: false, layers: 1 }];
        with_ghosts(step, &steps, &ghosts, &[[beside; 2], [Beside::Unknown; 2]]).is_some()
    };
    let (wraps, step) = (Beside::Filled(Wrap), around(2, F64));
    assert!(made(wraps, &step, &along(1)) && made(wraps, &step, &along(0)));
    assert!(!made(Beside::Unknown, &step, &along(0)));
    let upwind = {
        let args = [("next", bind(Access::Write, F64, 2)), ("u", bind(Access::Read, F64, 2))];
        let value = sub(load(1, at()), load(1, at_plus(&[0, -1])));
        typed("upwind.rs", 2, &args, &[], &[], block(vec![store(0, at(), value)]), vec![], None)
    };
    let upwind = |far: bool| made(wraps, &upwind, &face(2, (1, false), far, F64));
    assert!(upwind(false) && !upwind(true));
}
