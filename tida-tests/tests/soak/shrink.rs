//! Makes a program that fails shorter, as long as it fails.

use crate::configuration::Configuration;
use crate::program::{Array, Face, Op, Program, Storage, Tiles};

/// The shortest program that was found for which `fails`, and how many were tried.
pub fn shrink(program: &Program, most: usize, fails: &mut dyn FnMut(&Program) -> bool) -> (Program, usize) {
    let (mut best, mut tried) = (program.clone(), 0);
    loop {
        let next = candidates(&best).into_iter().filter(Program::fits).find(|candidate| {
            tried += 1;
            tried <= most && fails(candidate)
        });
        match next {
            Some(next) => best = next,
            None => return (best, tried),
        }
    }
}

/// Programs that are simpler by one thing, those that are simpler by much first.
fn candidates(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Program)| {
        let mut changed = program.clone();
        change(&mut changed);
        if changed != *program {
            all.push(changed);
        }
    };
    let of_ops = shorter(&program.ops);
    for ops in &of_ops {
        with(&|p| p.ops.clone_from(ops));
    }
    let used: Vec<usize> = program.ops.iter().flat_map(Op::arrays).collect();
    let last = program.arrays.len() - 1;
    if last > 0 && !used.contains(&last) {
        with(&|p| p.arrays.truncate(last));
    }
    for n in 0..program.arrays.len() {
        with(&|p| p.arrays[n].storage = Storage::Raw);
        with(&|p| p.arrays[n].packed = false);
        with(&|p| p.arrays[n].nodes.fill(false));
        with(&|p| p.arrays[n] = p.arrays[0].clone());
        for d in 0..program.axes() {
            with(&|p| p.arrays[n].faces[d] = [Face::Fixed; 2]);
            for side in 0..2 {
                with(&|p| p.arrays[n].ghost[d][side] = p.arrays[n].ghost[d][side].saturating_sub(1));
            }
        }
    }
    for d in 0..program.axes() {
        let (cells, regions) = (program.shape[d], program.regions[d]);
        for less in [cells / 2, cells - cells / 4, cells.saturating_sub(1)] {
            with(&|p| p.shape[d] = less.max(1));
        }
        for less in [1, regions - 1] {
            with(&|p| p.regions[d] = less.max(1));
        }
        if program.axes() > 1 {
            with(&|p| without_axis(p, d));
        }
    }
    configurations(program, &mut with);
    all
}

/// Without an axis; what kernels read along it they read along others.
fn without_axis(program: &mut Program, d: usize) {
    program.shape.remove(d);
    program.regions.remove(d);
    for Array { ghost, faces, nodes, .. } in &mut program.arrays {
        ghost.remove(d);
        faces.remove(d);
        nodes.remove(d);
    }
    fn of_ops(ops: &mut [Op], d: usize) {
        for op in ops {
            match op {
                Op::Sweep { tiles, .. } | Op::Two { tiles, .. } | Op::Line { tiles, .. } | Op::Colour { tiles, .. } => {
                    tiles.size.as_mut().map(|size| size.remove(d));
                    tiles.within.as_mut().map(|part| part.remove(d));
                }
                Op::Read { part, .. } | Op::Write { part, .. } => drop(part.remove(d)),
                Op::Repeat { ops, .. } => of_ops(ops, d),
                _ => {}
            }
        }
    }
    of_ops(&mut program.ops, d);
}

/// Takes a change of a program.
type With<'a> = dyn FnMut(&dyn Fn(&mut Program)) + 'a;

fn configurations(program: &Program, with: &mut With<'_>) {
    let place = program.configuration.place;
    let plain = Configuration { place, ..Configuration::default() };
    with(&|p| p.configuration = plain.clone());
    let Configuration { parts, overlap, apart, edges, gpu, .. } = program.configuration;
    let parted = Configuration { parts, overlap, apart, edges, gpu, ..plain.clone() };
    with(&|p| p.configuration = parted.clone());
    with(&|p| p.configuration.threads = 1);
    with(&|p| p.configuration.look_ahead = plain.look_ahead);
    with(&|p| p.configuration.room = 1);
    with(&|p| p.configuration.files = false);
    with(&|p| p.configuration.fuse = plain.fuse);
    with(&|p| p.configuration.join = false);
    with(&|p| p.configuration.streams = false);
    with(&|p| p.configuration.beside = false);
    with(&|p| p.configuration.unhurried = false);
    with(&|p| p.configuration.timeline = false);
    with(&|p| p.configuration.slow = false);
    with(&|p| p.configuration.one_engine = false);
    with(&|p| p.configuration.lanes = false);
    with(&|p| p.configuration.parts = 1);
    with(&|p| p.configuration.parts = 2);
    with(&|p| p.configuration.overlap = 0);
    with(&|p| p.configuration.apart = false);
    with(&|p| p.configuration.edges = false);
    with(&|p| p.configuration.gpu = false);
    with(&|p| p.seed = 1);
}

/// Lists that are shorter, or have one simpler operation.
fn shorter(ops: &[Op]) -> Vec<Vec<Op>> {
    let mut all = Vec::new();
    let mut size = ops.len();
    while size > 0 {
        for start in (0..ops.len()).step_by(size) {
            let end = (start + size).min(ops.len());
            all.push([&ops[..start], &ops[end..]].concat());
        }
        size /= 2;
    }
    for (n, op) in ops.iter().enumerate() {
        for simpler in simpler(op) {
            let mut changed = ops.to_vec();
            changed.splice(n..=n, simpler);
            all.push(changed);
        }
    }
    all
}

/// What may stand for an operation.
fn simpler(op: &Op) -> Vec<Vec<Op>> {
    match op {
        Op::Repeat { times, ops } => {
            let mut all = vec![ops.clone()];
            let repeats = [times / 2, times - 1].into_iter().filter(|less| *less > 1);
            all.extend(repeats.map(|times| vec![Op::Repeat { times, ops: ops.clone() }]));
            all.extend(shorter(ops).into_iter().map(|ops| vec![Op::Repeat { times: *times, ops }]));
            all
        }
        Op::Sweep { kernel, arrays, value, tiles, discard } => {
            let with = |tiles: Tiles, value: [u8; 2], discard: bool| {
                vec![Op::Sweep { kernel: *kernel, arrays: arrays.clone(), value, tiles, discard }]
            };
            let mut all = Vec::new();
            if *tiles != Tiles::default() {
                all.push(with(Tiles::default(), *value, *discard));
                all.push(with(Tiles { size: None, ..tiles.clone() }, *value, *discard));
                all.push(with(Tiles { within: None, ..tiles.clone() }, *value, *discard));
                all.push(with(Tiles { march: None, ..tiles.clone() }, *value, *discard));
                all.push(with(Tiles { side: Default::default(), ..tiles.clone() }, *value, *discard));
            }
            if *discard {
                all.push(with(tiles.clone(), *value, false));
            }
            all.extend([[0, value[1]], [value[0], 0]].map(|value| with(tiles.clone(), value, *discard)));
            all.retain(|ops| ops[0] != *op);
            all
        }
        Op::Line { tiles, .. } | Op::Colour { tiles, .. } if *tiles != Tiles::default() => {
            let with = |less: Tiles| {
                let mut op = op.clone();
                if let Op::Line { tiles, .. } | Op::Colour { tiles, .. } = &mut op {
                    *tiles = less;
                }
                vec![op]
            };
            let less = [
                Tiles::default(),
                Tiles { size: None, ..tiles.clone() },
                Tiles { within: None, ..tiles.clone() },
                Tiles { side: Default::default(), ..tiles.clone() },
            ];
            less.into_iter().filter(|less| less != tiles).map(with).collect()
        }
        Op::Recut { of, regions } if *regions > 1 => vec![vec![Op::Recut { of: *of, regions: 1 }]],
        Op::Read { of, .. } => vec![vec![Op::Look { of: *of }]],
        _ => Vec::new(),
    }
}
