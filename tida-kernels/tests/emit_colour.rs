//! Kernels over the cells of one colour, against the interpreter, bit for bit, and as CUDA compiles them.

mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::{F32, F64, V3, bind, typed};
use emit_support::{nvrtc, pocl};
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, Kernel};
use tida_kernels::plan::{Colours, Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;

/// A cell takes from those beside it along each axis, at a distance of one, where these have another colour; some cells
/// leave early.
fn relaxation(rank: usize, element: ElementType, leaves: bool, colours: &Colours) -> Kernel {
    let args = [("u", bind(Access::Write, element, rank)), ("f", bind(Access::Read, F64, rank))];
    let path = |n: u64| if element == V3 { vec![entry(int(n))] } else { vec![] };
    let near = |axis: usize, by: i64| {
        let mut to = vec![0; rank];
        to[axis] = by;
        cast(load_part(0, at_plus(&to), path(1)), ScalarType::F64)
    };
    let mut sum = load(1, at());
    for axis in (0..rank).filter(|axis| colours.slanted || colours.every(*axis) > 1) {
        sum = add(sum, sub(near(axis, 1), mul(float(0.5), near(axis, -1))));
    }
    let ty = if element == F32 { ScalarType::F32 } else { ScalarType::F64 };
    let give = |n: u64, value: Expr| store_part(0, at(), path(n), None, cast(value, ty));
    let mut body = vec![let_(0, sum)];
    if leaves {
        let last = project(at(), entry(int(rank as u64 - 1)));
        let third = compare(CompareOp::Eq, method(Method::RemEuclid, vec![last, int(3)]), int(1));
        body.push(eval(if_then(third, block(vec![give(1, float(0.75)), return_(None)]))));
    }
    body.push(give(0, mul(float(0.25), local(0))));
    body.push(give(1, add(cast(load_part(0, at(), path(1)), ScalarType::F64), local(0))));
    typed("colour.rs", rank, &args, &[], &["sum"], block(body), vec![], None)
}

/// A launch over a box that starts at `lo`, with what is around it, in two parts or in one.
fn launch(kernel: &Kernel, lo: i64, extent: &[i64], cut: bool, rng: &mut Rng) -> Launch {
    let lo: Vec<i64> = (0..kernel.rank).map(|d| lo + 3 * d as i64).collect();
    let hi: Vec<i64> = lo.iter().zip(extent).map(|(lo, n)| lo + n).collect();
    let [from, to] = [(&lo, -1), (&hi, 1)].map(|(of, by)| of.iter().map(|n| n + by).collect::<Vec<i64>>());
    let grids = Grids(kernel.args.iter().map(|arg| Grid::tiled(arg.access, arg.element, &from, &to, rng)).collect());
    let mut boxes = vec![(lo.clone(), hi.clone())];
    if cut {
        let mut second = boxes[0].clone();
        boxes[0].1[0] = lo[0] + 1;
        second.0[0] = lo[0] + 1;
        boxes.push(second);
    }
    Launch { captures: Vec::new(), grids, whole: (lo, hi), boxes }
}

/// What the interpreter leaves, cell by cell of the colour 0.
fn expected(kernel: &Kernel, launch: &Launch, colours: &Colours) -> Grids {
    let mut grids = launch.grids.clone();
    let (lo, hi) = &launch.whole;
    let mut at = lo.clone();
    'cells: loop {
        let rest = |d: usize, n: i64| n.rem_euclid(colours.every(d));
        let last = at.len() - 1;
        let runs = match colours.slanted {
            true => rest(last, at.iter().sum()) == 0,
            false => (0..at.len()).all(|d| rest(d, at[d]) == 0),
        };
        if runs {
            let end: Vec<i64> = at.iter().map(|n| n + 1).collect();
            let (_, fault) = run_box(kernel, &[], &at, &end, &mut grids, 100_000).unwrap();
            assert!(fault.is_none());
        }
        for d in (0..at.len()).rev() {
            at[d] += 1;
            if at[d] < hi[d] {
                continue 'cells;
            }
            at[d] = lo[d];
        }
        return grids;
    }
}

/// Slanted ones of two and three colours, and those of each axis, for all ranks.
fn each(mut run: impl FnMut(usize, Colours)) {
    for rank in 1..=4 {
        for n in [2, 3] {
            let mut every = [1; 4];
            every[rank - 1] = n;
            run(rank, Colours { every, slanted: true });
        }
        let mut every = [2, 3, 2, 4];
        every[rank..].fill(1);
        run(rank, Colours { every, slanted: false });
        every[..rank - 1].fill(1);
        run(rank, Colours { every: if rank > 2 { [1, 2, 1, 2] } else { every }, slanted: false });
    }
}

fn planned(kernel: &Kernel, launch: &Launch, dialect: Dialect, colours: Colours, checked: bool) -> Plan {
    let plain = plan(kernel, &launch.grids, dialect, Goal::Sweep, checked, launch.boxes.len() > 1);
    Plan { colours: Some(colours), march: Some(4), ..plain }
}

#[test]
fn colours_have_the_bits_of_the_interpreter() {
    let mut rng = Rng(19);
    let mut turn = 0;
    each(|rank, colours| {
        turn += 1;
        let element = [F64, V3, F32][turn % 3];
        let kernel = relaxation(rank, element, turn % 2 == 0, &colours);
        let extent = [vec![3, 2, 5, 7], vec![4, 5, 9], vec![7, 11], vec![23]][4 - rank].clone();
        for (lo, narrow, checked) in [(0, true, false), (-5, false, turn % 4 == 0)] {
            let launch = launch(&kernel, lo, &extent, (turn % 2 == 0) != narrow, &mut rng);
            let wanted = expected(&kernel, &launch, &colours);
            let plan = Plan { narrow, ..planned(&kernel, &launch, Dialect::OpenCl, colours, checked) };
            let source = source(&kernel, &plan);
            let mut found = launch.clone();
            let (_, raised) = pocl::run(&kernel, &plan, &source, &mut found, 0);
            assert!(raised.is_none(), "{}", source.text);
            for (a, b) in contents(&wanted, 0).into_iter().zip(contents(&found.grids, 0)) {
                assert!(same(a.2, b.2), "{colours:?} at {:?}: {:?}, not {:?}\n{}", a.0, b.2, a.2, source.text);
            }
        }
    });
}

#[test]
fn cuda_takes_colours() {
    let mut rng = Rng(20);
    each(|rank, colours| {
        let kernel = relaxation(rank, V3, true, &colours);
        let launch = launch(&kernel, 0, &vec![4; rank], rank > 1, &mut rng);
        for checked in [false, true] {
            let plan = planned(&kernel, &launch, Dialect::Cuda, colours, checked);
            nvrtc::compile(&source(&kernel, &Plan { by_value: if plan.many { 4 } else { 0 }, ..plan }).text);
        }
    });
}

/// One text of each kind of colours, in both languages.
#[test]
fn texts_stay_as_they_are() {
    let all = Colours { every: [2; 4], slanted: true };
    let kernel = relaxation(3, F64, false, &all);
    let launch = launch(&kernel, 0, &[2, 2, 2], false, &mut Rng(5));
    let (sum, axes) = (Colours { every: [1, 1, 2, 1], slanted: true }, Colours { every: [2, 1, 3, 1], slanted: false });
    for (colours, kind) in [(sum, "sum"), (axes, "axes")] {
        for (dialect, name) in [(Dialect::Cuda, "cuda"), (Dialect::OpenCl, "opencl")] {
            let plan = planned(&kernel, &launch, dialect, colours, false);
            insta::assert_snapshot!(format!("colour.{kind}.{name}"), source(&kernel, &plan).text);
        }
    }
}

/// There are threads for the cells of one colour.
#[test]
fn threads_cover_a_colour() {
    let colours = Colours { every: [1, 1, 2, 1], slanted: true };
    let kernel = relaxation(3, F64, false, &colours);
    let launch = launch(&kernel, 0, &[2, 2, 2], false, &mut Rng(5));
    let plan = Plan { block: [64, 2, 1], ..planned(&kernel, &launch, Dialect::Cuda, colours, false) };
    assert_eq!(plan.blocks(&[5, 130, 1000]), [8, 65, 5]);
    let colours = Some(Colours { every: [2, 3, 1, 1], slanted: false });
    assert_eq!(Plan { colours, ..plan.clone() }.blocks(&[5, 130, 1000]), [16, 22, 3]);
    assert_eq!(Plan { colours, ..plan }.blocks(&[0, 3, 3]), [0, 0, 0]);
}
