//! Kernels whose cells run in order along an axis, against the interpreter, bit for bit, and as CUDA compiles them.

mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::{F32, F64, V3, bind, typed};
use emit_support::{nvrtc, pocl};
use tida_kernels::analysis::analyse;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::scan;
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, Kernel};
use tida_kernels::plan::lines::{ahead, chunk, ring};
use tida_kernels::plan::{Along, Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;

/// How far back cells read.
const BACK: i64 = 2;

/// A recurrence along an axis with two cells before, which leaves some cells early, from a loop or not.
fn recurrence(rank: usize, along: Along, element: ElementType, leaves: Option<bool>) -> Kernel {
    let args = [("u", bind(Access::Write, element, rank)), ("f", bind(Access::Read, F64, rank))];
    let back = |n: i64| {
        let mut by = vec![0; rank];
        by[along.axis as usize] = if along.backward { n } else { -n };
        match n {
            // A point that the index does not show: only the analysis does.
            1 => shift(
                !along.backward,
                at(),
                expr(ExprKind::Unit(Box::new(sub(int(u64::from(along.axis) + 1), int(1))))),
            ),
            _ => at_plus(&by),
        }
    };
    let path = |n: u64| if element == V3 { vec![entry(int(n))] } else { vec![] };
    let before = |n: i64, part: u64| cast(load_part(0, back(n), path(part)), ScalarType::F64);
    let own = cast(load_part(0, at(), path(0)), ScalarType::F64);
    let mut body =
        vec![let_(0, add(mul(float(0.5), before(1, 1)), sub(load(1, at()), mul(float(0.25), before(2, 0)))))];
    body.push(set(0, add(local(0), own)));
    let ty = if element == F32 { ScalarType::F32 } else { ScalarType::F64 };
    let give = |value: Expr| store_part(0, at(), path(0), None, cast(value, ty));
    let third = {
        let axis = project(at(), entry(int(along.axis.into())));
        compare(CompareOp::Eq, method(Method::RemEuclid, vec![axis, int(3)]), int(1))
    };
    match leaves {
        Some(false) => body.push(eval(if_then(third, block(vec![give(float(0.75)), return_(None)])))),
        Some(true) => {
            let leave = block(vec![give(local(0)), return_(None)]);
            let turn = block(vec![eval(if_then(third, leave)), set(0, mul(local(0), float(0.5)))]);
            let bound = |n| int_of(n, ScalarType::I32);
            body.push(for_(1, bound(0), bound(3), turn));
        }
        None => {}
    }
    body.push(give(local(0)));
    typed("line.rs", rank, &args, &[], &["sum", "turn"], block(body), vec![], None)
}

/// A launch over a box, with what is read before it, cut across the lines at some place.
fn launch(kernel: &Kernel, extent: &[i64], along: Along, cut: bool, rng: &mut Rng) -> Launch {
    let axis = along.axis as usize;
    let lo: Vec<i64> = (0..kernel.rank).map(|d| 3 * d as i64 - 2).collect();
    let hi: Vec<i64> = lo.iter().zip(extent).map(|(lo, n)| lo + n).collect();
    let grids = kernel.args.iter().map(|arg| {
        let (mut from, mut to) = (lo.clone(), hi.clone());
        match along.backward {
            false => from[axis] -= BACK,
            true => to[axis] += BACK,
        }
        Grid::tiled(arg.access, arg.element, &from, &to, rng)
    });
    let grids = Grids(grids.collect());
    let mut boxes = vec![(lo.clone(), hi.clone())];
    if let Some(across) = (0..kernel.rank).find(|d| *d != axis).filter(|_| cut) {
        let mut second = boxes[0].clone();
        boxes[0].1[across] = lo[across] + 1;
        second.0[across] = lo[across] + 1;
        boxes.push(second);
    }
    Launch { captures: Vec::new(), grids, whole: (lo, hi), boxes }
}

/// What the interpreter leaves, plane by plane.
fn expected(kernel: &Kernel, launch: &Launch, along: Along) -> Grids {
    let mut grids = launch.grids.clone();
    let (lo, hi) = &launch.whole;
    let axis = along.axis as usize;
    let mut planes: Vec<i64> = (lo[axis]..hi[axis]).collect();
    if along.backward {
        planes.reverse();
    }
    for plane in planes {
        let (mut from, mut to) = (lo.clone(), hi.clone());
        (from[axis], to[axis]) = (plane, plane + 1);
        let (_, fault) = run_box(kernel, &[], &from, &to, &mut grids, 100_000).unwrap();
        assert!(fault.is_none());
    }
    grids
}

/// The text that is compiled.
fn emitted(kernel: &Kernel, plan: &Plan) -> String {
    source(kernel, plan).text
}

/// All axes of all ranks, both ways.
fn each(mut run: impl FnMut(usize, Along)) {
    for rank in 1..=4 {
        for axis in 0..rank as u32 {
            [false, true].into_iter().for_each(|backward| run(rank, Along::new(axis, backward)));
        }
    }
}

fn planned(kernel: &Kernel, launch: &Launch, dialect: Dialect, along: Along, checked: bool) -> Plan {
    let plain = plan(kernel, &launch.grids, dialect, Goal::Sweep, checked, launch.boxes.len() > 1);
    Plan { along: Some(along), march: Some(4), ..plain }
}

#[test]
fn lines_have_the_bits_of_the_interpreter() {
    let mut rng = Rng(17);
    let mut turn = 0;
    let mut texts = String::new();
    each(|rank, along| {
        turn += 1;
        let element = [F64, V3, F32][turn % 3];
        let leaves = [None, Some(false), Some(true)][turn % 3];
        let kernel = recurrence(rank, along, element, leaves);
        let extent = [vec![3, 2, 5, 7], vec![4, 5, 9], vec![7, 11], vec![23]][4 - rank].clone();
        let launch = launch(&kernel, &extent, along, turn % 2 == 0, &mut rng);
        let wanted = expected(&kernel, &launch, along);
        for (narrow, checked) in [(true, false), (false, turn % 4 == 0)] {
            let plan = Plan { narrow, ..planned(&kernel, &launch, Dialect::OpenCl, along, checked) };
            let source = source(&kernel, &plan);
            let mut found = launch.clone();
            let (_, raised) = pocl::run(&kernel, &plan, &source, &mut found, 0);
            assert!(raised.is_none(), "{}", source.text);
            for (a, b) in contents(&wanted, 0).into_iter().zip(contents(&found.grids, 0)) {
                assert!(same(a.2, b.2), "{along:?} at {:?}: {:?}, not {:?}\n{}", a.0, b.2, a.2, source.text);
            }
            texts += &source.text;
        }
    });
    assert!(texts.contains("continue;") && texts.contains("goto "));
}

#[test]
fn cuda_takes_lines() {
    let mut rng = Rng(18);
    each(|rank, along| {
        let kernel = recurrence(rank, along, V3, Some(true));
        let launch = launch(&kernel, &vec![4; rank], along, rank > 1, &mut rng);
        for checked in [false, true] {
            let plan = planned(&kernel, &launch, Dialect::Cuda, along, checked);
            nvrtc::compile(&source(&kernel, &Plan { by_value: if plan.many { 4 } else { 0 }, ..plan }).text);
        }
    });
}

/// One text, in both languages.
#[test]
fn texts_stay_as_they_are() {
    let along = Along::new(1, true);
    let kernel = recurrence(3, along, F64, None);
    let launch = launch(&kernel, &[2, 2, 2], along, false, &mut Rng(5));
    for (dialect, name) in [(Dialect::Cuda, "cuda"), (Dialect::OpenCl, "opencl")] {
        let plan = planned(&kernel, &launch, dialect, along, false);
        insta::assert_snapshot!(format!("line.{name}"), source(&kernel, &plan).text);
    }
}

/// Lines along the last axis through shared memory: more lines than a block has, more columns than a chunk has.
#[test]
fn chunks_have_the_bits_of_the_interpreter() {
    let mut rng = Rng(19);
    let mut turn = 0;
    for rank in 2..=4 {
        for (backward, leaves) in [false, true].into_iter().flat_map(|b| [(b, None), (b, Some(false)), (b, Some(true))])
        {
            turn += 1;
            let along = Along::new(rank as u32 - 1, backward);
            let kernel = recurrence(rank, along, if turn % 2 == 0 { F32 } else { F64 }, leaves);
            assert_eq!(chunk(&kernel, &analyse(&kernel), &along, 1 << 20), [32, 32]);
            assert_eq!(chunk(&kernel, &analyse(&kernel), &along, 10_000), [16, 32]);
            assert_eq!(chunk(&kernel, &analyse(&kernel), &along, 1000), [16, 64]);
            let along = Along { rows: 32, columns: 32, ..along };
            assert_eq!(ring(&kernel, &analyse(&kernel), &along, Dialect::OpenCl), 2);
            assert!([8, 16].contains(&ahead(&kernel, &analyse(&kernel), &along, 1 << 20)));
            let extent = [vec![2, 3, 33, 9], vec![2, 35, 65], vec![40, 71]][4 - rank].clone();
            let launch = launch(&kernel, &extent, along, turn % 2 == 0, &mut rng);
            let wanted = expected(&kernel, &launch, along);
            // Some cells are left by every number at once, of all that there are and of chunks.
            let all = [(true, 32, 2, 16), (false, 8, 3, 4), (true, 16, 4, 0), (false, 32, 2, 5), (true, 64, 2, 16)];
            let some = all.into_iter().filter(|(_, columns, ..)| turn % 3 > 0 || *columns == 16);
            for (narrow, columns, rings, ahead) in some {
                let along = Along {
                    columns,
                    rows: if [8, 64].contains(&columns) { 16 } else { 32 },
                    ring: rings,
                    ahead,
                    ..along
                };
                let plain = Plan { narrow, ..planned(&kernel, &launch, Dialect::OpenCl, along, false) };
                let plan = Plan { block: Plan::mapping_of_lines(&along), ..plain };
                let source = source(&kernel, &plan);
                assert!(source.text.contains("tile_u"), "{}", source.text);
                let held = ahead > 0 && leaves != Some(true);
                assert_eq!(source.text.contains("held_u"), held, "{}", source.text);
                let mut found = launch.clone();
                let (_, raised) = pocl::run(&kernel, &plan, &source, &mut found, 0);
                assert!(raised.is_none(), "{}", source.text);
                for (a, b) in contents(&wanted, 0).into_iter().zip(contents(&found.grids, 0)) {
                    assert!(same(a.2, b.2), "{along:?} at {:?}: {:?}, not {:?}\n{}", a.0, b.2, a.2, source.text);
                }
                let along = Along { columns: 32, rows: 32, ..along };
                let along = Along { ring: ring(&kernel, &analyse(&kernel), &along, Dialect::Cuda), ..along };
                assert_eq!(along.ring, if turn % 2 == 0 { 3 } else { 2 });
                let cuda = Plan { block: plan.block, ..planned(&kernel, &launch, Dialect::Cuda, along, false) };
                assert!(emitted(&kernel, &cuda).contains("tida_commit"));
                nvrtc::compile(&emitted(&kernel, &Plan { by_value: if cuda.many { 4 } else { 0 }, ..cuda }));
            }
        }
    }
}

/// What comes next is fetched ahead: lines of fewer cells than that, of as many, and of more.
#[test]
fn cells_ahead_have_the_bits_of_the_interpreter() {
    let mut rng = Rng(21);
    let mut turn = 0;
    each(|rank, along| {
        for (cells, leaves) in [(3, None), (4, Some(false)), (22, None), (37, Some(false)), (9, Some(true))] {
            turn += 1;
            if turn % 3 > 0 {
                continue;
            }
            let kernel = recurrence(rank, along, if turn % 2 == 0 { F32 } else { F64 }, leaves);
            assert!(ahead(&kernel, &analyse(&kernel), &along, 1000) >= 4);
            assert_eq!(ahead(&kernel, &analyse(&kernel), &along, 1 << 20), 0);
            let along = Along { ahead: [4, 1, 8, 16][turn / 3 % 4], ring: [2, 3, 5][turn / 3 % 3], ..along };
            let mut extent = vec![2, 3, 2, 5][4 - rank..].to_vec();
            extent[along.axis as usize] = cells;
            let launch = launch(&kernel, &extent, along, turn % 2 == 0, &mut rng);
            let wanted = expected(&kernel, &launch, along);
            let plain = planned(&kernel, &launch, Dialect::OpenCl, along, false);
            let plan = Plan { narrow: turn % 4 < 2, block: Plan::mapping_of_lines(&along), ..plain };
            let source = source(&kernel, &plan);
            assert_eq!(source.text.contains("tile_f"), leaves != Some(true), "{}", source.text);
            let mut found = launch.clone();
            let (_, raised) = pocl::run(&kernel, &plan, &source, &mut found, 0);
            assert!(raised.is_none(), "{}", source.text);
            for (a, b) in contents(&wanted, 0).into_iter().zip(contents(&found.grids, 0)) {
                assert!(same(a.2, b.2), "{along:?} at {:?}: {:?}, not {:?}\n{}", a.0, b.2, a.2, source.text);
            }
            if turn % 4 == 0 {
                let along = Along { ring: ring(&kernel, &analyse(&kernel), &along, Dialect::Cuda), ..along };
                assert_eq!(along.ring, 8);
                let cuda = Plan { block: plan.block, ..planned(&kernel, &launch, Dialect::Cuda, along, false) };
                nvrtc::compile(&emitted(&kernel, &Plan { by_value: if cuda.many { 4 } else { 0 }, ..cuda }));
            }
        }
    });
}

/// Scans have kernels of their own.
#[test]
fn cuda_takes_scans() {
    for scalar in ScalarType::ALL.iter().filter(|scalar| **scalar != ScalarType::Bool) {
        nvrtc::compile(&scan::scan_sums(Dialect::Cuda, *scalar).text);
        nvrtc::compile(&scan::scan_cells(Dialect::Cuda, *scalar).text);
        nvrtc::compile(&scan::scan_lines(Dialect::Cuda, *scalar).text);
    }
}

/// Lines along other axes, of one axis, of elements of several components, and of what is read under a condition alone
/// go cell by cell.
#[test]
fn other_lines_go_cell_by_cell() {
    let of = |rank: usize, axis: u32, element: ElementType| {
        let along = Along::new(axis, false);
        let kernel = recurrence(rank, along, element, None);
        let [_, columns] = chunk(&kernel, &analyse(&kernel), &along, 1 << 20);
        columns
    };
    assert_eq!([of(3, 1, F64), of(1, 0, F64), of(3, 2, V3), of(3, 2, F64)], [0, 0, 0, 32]);
}

/// A thread takes a line: there are as many threads as lines.
#[test]
fn threads_cover_lines() {
    let kernel = recurrence(3, Along::new(2, false), F64, None);
    let along = Along::new(2, false);
    let launch = launch(&kernel, &[2, 2, 2], along, false, &mut Rng(5));
    let plan = Plan { block: [64, 1, 1], ..planned(&kernel, &launch, Dialect::Cuda, along, false) };
    assert_eq!(plan.blocks(&[5, 130, 1000]), [3, 5, 1]);
    let along = Some(Along::new(0, false));
    assert_eq!(Plan { along, ..plan.clone() }.blocks(&[5, 130, 1000]), [16, 130, 1]);
    assert_eq!(Plan { along, ..plan.clone() }.blocks(&[5]), [1, 1, 1]);
    assert_eq!(Plan { along, ..plan }.blocks(&[0, 3, 3]), [0, 0, 0]);
}
