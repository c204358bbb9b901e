//! Draws random programs: program `n` of a seed is the same each time.

use crate::configuration::{Configuration, Place};
use crate::kernels::Kernel;
use crate::program::{Array, Face, Op, Part, Program, Scalar, Side, Storage, Tiles};
use crate::value::random;

/// Random numbers.
pub struct Dice {
    seed: u64,
    thrown: i64,
}

impl Dice {
    pub fn new(seed: u64, program: u64) -> Dice {
        Dice { seed: random(1, 0, [seed as i64, program as i64, 2, 3]), thrown: 0 }
    }

    pub fn number(&mut self) -> u64 {
        self.thrown += 1;
        random(self.seed, 1, [self.thrown, 0, 0, 0])
    }

    /// Below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    /// Of `lo..=hi`.
    fn between(&mut self, lo: usize, hi: usize) -> usize {
        lo + self.below(hi - lo + 1)
    }

    /// True once in `n`.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Program `number` of a seed, on one of these places.
pub fn program(seed: u64, number: u64, places: &[Place]) -> Program {
    let dice = &mut Dice::new(seed, number);
    loop {
        let program = any_program(dice, places);
        if program.fits() {
            return program;
        }
    }
}

fn any_program(dice: &mut Dice, places: &[Place]) -> Program {
    // Of arrays alike, whose steps may run together and whose sweeps may be joined.
    let plain = dice.once_in(4);
    let axes = if plain { dice.one_of(&[2, 2, 3]) } else { dice.one_of(&[1, 2, 2, 2, 3, 3, 4]) };
    let scalar = match plain {
        true => dice.one_of(&[Scalar::F64, Scalar::F64, Scalar::F32, Scalar::I32]),
        false => dice.one_of(&[
            Scalar::F64,
            Scalar::F64,
            Scalar::F32,
            Scalar::I32,
            Scalar::U8,
            Scalar::I16,
            Scalar::Pair,
            Scalar::Wave,
        ]),
    };
    let mut shape: Vec<usize> = (0..axes).map(|_| dice.between(1, [1, 1, 20, 9, 5][axes])).collect();
    let configuration = configuration(dice, places);
    // Of many regions little room holds few, so that work streams.
    let streams = axes > 1 && configuration.room > 1 && dice.once_in(2);
    if streams {
        shape[0] = dice.between(8, 40);
    }
    // Regions along the last axis are of 64 cells.
    shape[axes - 1] = match dice.below(4) {
        0 => dice.between(65, [0, 400, 200, 140, 80][axes]),
        _ => dice.between(1, [0, 90, 40, 20, 10][axes]),
    };
    // Most are cut along the first axis alone, or not at all.
    let alone = dice.once_in(2);
    let regions = (0..axes)
        .map(|d| match (d, alone) {
            (0, _) if streams => dice.between(4, shape[0].min(12)),
            (0, _) if axes > 1 => dice.between(1, shape[0].min(4)),
            (_, true) if d > 0 => 1,
            _ if d + 1 == axes => dice.between(1, shape[d].div_ceil(64)),
            _ => dice.between(1, shape[d].min(3)),
        })
        .collect();
    let mut first = array(dice, axes, scalar);
    if plain {
        first.faces = (0..axes).map(|_| knowable(dice)).collect();
    }
    // Most arrays of a program are alike.
    let alike = dice.once_in(2) || plain;
    let count = dice.between(2, 4);
    let inwards = scalar.is_number() && dice.once_in(4);
    if inwards {
        set_inwards(dice, &mut first);
    }
    let mut other = |n: usize| {
        let mut array = if n == 0 || alike { first.clone() } else { array(dice, axes, scalar) };
        if inwards && n > 0 && !alike {
            set_inwards(dice, &mut array);
        }
        array
    };
    let arrays: Vec<Array> = (0..count).map(&mut other).collect();
    let most = dice.between(1, 14);
    let ops = match plain {
        true => plain_ops(dice, axes, arrays.len(), most),
        false => ops(dice, axes, arrays.len(), most, true),
    };
    let mut program = Program { scalar, shape, regions, arrays, configuration, seed: dice.number() >> 32, ops };
    if program.configuration.files {
        program.lie_in_files();
    }
    program
}

/// Faces beyond which a block of threads can know what lies there.
fn knowable(dice: &mut Dice) -> [Face; 2] {
    match dice.below(3) {
        0 => [Face::Periodic; 2],
        _ => [0; 2].map(|_| dice.one_of(&[Face::Fixed, Face::Even, Face::Near])),
    }
}

fn array(dice: &mut Dice, axes: usize, scalar: Scalar) -> Array {
    let width = dice.one_of(&[0, 1, 1, 2, 2, 3]);
    let ghost = (0..axes).map(|_| [0; 2].map(|_| if dice.once_in(8) { dice.below(4) } else { width })).collect();
    let plain = dice.one_of(&[Face::Periodic, Face::Fixed, Face::Near]);
    let plain_faces = dice.once_in(3);
    let faces = (0..axes)
        .map(|_| match dice.below(3) {
            _ if plain_faces => [plain; 2],
            0 => [Face::Periodic; 2],
            _ => [0; 2].map(|_| {
                dice.one_of(&[
                    Face::Fixed,
                    Face::Even,
                    Face::Odd,
                    Face::Near,
                    Face::Line,
                    Face::Fixed,
                    Face::Near,
                    Face::Open,
                ])
            }),
        })
        .collect();
    let storage = match scalar {
        _ if dice.below(3) > 0 => Storage::Raw,
        Scalar::F64 | Scalar::Pair => {
            dice.one_of(&[Storage::Half, Storage::F32, Storage::Bfloat, Storage::Range16, Storage::Range32])
        }
        Scalar::F32 => {
            dice.one_of(&[Storage::Half, Storage::Scaled, Storage::Bfloat, Storage::Range8, Storage::Range16])
        }
        _ => Storage::Raw,
    };
    let nodes = match dice.below(5) {
        0 => (0..axes).map(|_| dice.once_in(2)).collect(),
        _ => vec![false; axes],
    };
    Array { ghost, faces, storage, nodes, packed: dice.once_in(6) }
}

/// Has kernels set the ghosts beyond some faces, of which none is open then.
fn set_inwards(dice: &mut Dice, array: &mut Array) {
    for face in array.faces.iter_mut().flatten() {
        if *face == Face::Open || (*face != Face::Periodic && dice.once_in(2)) {
            *face = Face::Inward;
        }
    }
}

fn configuration(dice: &mut Dice, places: &[Place]) -> Configuration {
    Configuration {
        place: place(dice, places),
        threads: dice.between(1, 4),
        look_ahead: match dice.below(3) {
            0 => dice.between(1, 6),
            _ => 256,
        },
        room: dice.one_of(&[1, 1, 2, 4, 8]),
        files: dice.once_in(5),
        fuse: dice.one_of(&[0, 1, 2, 3, 5]),
        join: dice.once_in(2),
        streams: dice.once_in(3),
        beside: dice.once_in(2),
        unhurried: dice.once_in(2),
        timeline: dice.once_in(8),
        slow: dice.once_in(4),
        one_engine: dice.once_in(4),
        lanes: dice.once_in(2),
        parts: if dice.once_in(2) { dice.between(2, 8) } else { 1 },
        overlap: dice.one_of(&[0, 0, 2, 3, 6]),
        apart: dice.once_in(2),
        edges: dice.once_in(2),
        gpu: dice.once_in(2),
    }
}

/// Devices that compile kernels take most of the time: they have fewer programs.
fn place(dice: &mut Dice, places: &[Place]) -> Place {
    let weight = |place: &Place| match place {
        Place::Cpu | Place::Cuda => 4,
        Place::Sim => 14,
        Place::OpenCl => 1,
    };
    let mut n = dice.below(places.iter().map(weight).sum());
    let found = places.iter().find(|place| {
        let here = n < weight(place);
        n = n.saturating_sub(weight(place));
        here
    });
    found.copied().unwrap_or(places[0])
}

fn part(dice: &mut Dice, axes: usize) -> Part {
    (0..axes)
        .map(|_| match dice.below(3) {
            0 => [0, 16],
            _ => {
                let ends = [0; 2].map(|_| dice.below(17) as u8);
                [ends[0].min(ends[1]), ends[0].max(ends[1])]
            }
        })
        .collect()
}

fn side(dice: &mut Dice) -> Side {
    dice.one_of(&[Side::Unsaid, Side::Unsaid, Side::Unsaid, Side::Unsaid, Side::Cpu, Side::Both])
}

fn tiles(dice: &mut Dice, axes: usize) -> Tiles {
    let size = |dice: &mut Dice| (0..axes).map(|d| dice.between(1, if d + 1 == axes { 80 } else { 6 })).collect();
    Tiles {
        size: if dice.once_in(3) { Some(size(dice)) } else { None },
        within: dice.once_in(4).then(|| part(dice, axes)),
        march: dice.once_in(8).then(|| dice.between(1, 4)),
        side: side(dice),
    }
}

fn sweep(dice: &mut Dice, axes: usize, arrays: usize) -> Op {
    let kernel = dice.one_of(Kernel::ALL);
    let mut places: Vec<usize> = (0..arrays).collect();
    for n in 0..arrays {
        let other = dice.between(n, arrays - 1);
        places.swap(n, other);
    }
    let (writes, reads) = (kernel.writes().min(arrays), kernel.reads());
    let read = |dice: &mut Dice| if writes < arrays { places[dice.between(writes, arrays - 1)] } else { places[0] };
    let more: Vec<usize> = (0..reads).map(|_| read(dice)).collect();
    let mut of = places[..writes].to_vec();
    of.extend(std::iter::repeat_n(0, kernel.writes() - writes));
    of.extend(more);
    let tiles = tiles(dice, axes);
    let tiles = if kernel == Kernel::Group { Tiles { side: tiles.side, ..Tiles::default() } } else { tiles };
    Op::Sweep { kernel, arrays: of, value: value(dice), tiles, discard: dice.once_in(6) }
}

fn ops(dice: &mut Dice, axes: usize, arrays: usize, count: usize, outer: bool) -> Vec<Op> {
    (0..count).map(|_| op(dice, axes, arrays, outer)).collect()
}

/// Operations of which many are steps, or sweeps of the same arrays one after the other.
fn plain_ops(dice: &mut Dice, axes: usize, arrays: usize, count: usize) -> Vec<Op> {
    let one = |dice: &mut Dice| match dice.below(3) {
        0 => vec![steps(dice, arrays)],
        1 => joined(dice, arrays),
        _ => vec![op(dice, axes, arrays, true)],
    };
    (0..count).flat_map(|_| one(dice)).collect()
}

/// What a kernel captures: the same in all turns, or another one after every one, or two, or three.
fn value(dice: &mut Dice) -> [u8; 2] {
    [dice.below(64) as u8, dice.one_of(&[0, 1, 1, 2, 3])]
}

/// Steps, which may run together.
fn steps(dice: &mut Dice, arrays: usize) -> Op {
    let kernels = [Kernel::Star, Kernel::Star, Kernel::Tilt, Kernel::Corners, Kernel::Wide, Kernel::Choose];
    let of = dice.below(arrays);
    let (kernel, to) = (dice.one_of(&kernels), (of + 1) % arrays);
    let tiles = Tiles { side: side(dice), ..Tiles::default() };
    let step = Op::Sweep { kernel, arrays: vec![to, of], value: value(dice), tiles, discard: false };
    Op::Repeat { times: dice.between(3, 16), ops: vec![step, Op::Swap { a: of, b: to }] }
}

/// Sweeps that read one array and write others, and now and then a sum of what the last of them wrote.
fn joined(dice: &mut Dice, arrays: usize) -> Vec<Op> {
    let of = dice.below(arrays);
    let mut ops: Vec<Op> = (0..arrays)
        .filter(|to| *to != of)
        .map(|to| {
            let kernel = dice.one_of(&[Kernel::Star, Kernel::Tilt, Kernel::Choose, Kernel::Corners]);
            let (value, tiles) = (value(dice), Tiles::default());
            Op::Sweep { kernel, arrays: vec![to, of], value, tiles, discard: false }
        })
        .collect();
    if dice.once_in(2) {
        ops.push(Op::Sum { of: if of + 1 == arrays { arrays.saturating_sub(2) } else { arrays - 1 } });
    }
    ops
}

fn op(dice: &mut Dice, axes: usize, arrays: usize, outer: bool) -> Op {
    let (of, from) = (dice.below(arrays), dice.below(arrays));
    match dice.below(if outer { 37 } else { 28 }) {
        0..=10 => sweep(dice, axes, arrays),
        12 => Op::Colour {
            to: of,
            from: (of + 1 + dice.below(arrays)) % arrays,
            colour: dice.below(12),
            colours: dice.between(2, 3),
            axes: dice.once_in(2),
            tiles: Tiles { march: None, ..tiles(dice, axes) },
        },
        11 => Op::Line {
            to: of,
            from: (of + 1 + dice.below(arrays)) % arrays,
            axis: dice.below(axes),
            backward: dice.once_in(2),
            named: dice.once_in(2),
            tiles: Tiles { march: None, ..tiles(dice, axes) },
        },
        13..=14 => Op::Ghosts { of },
        15..=17 => Op::Swap { a: of, b: from },
        18 => Op::Copy { to: of, from },
        19 => Op::Later { to: of, from },
        20 => Op::Write { to: of, part: part(dice, axes) },
        21 => Op::Grown { to: of, from },
        22 => Op::Clone { to: of, from },
        23 => Op::Max { of },
        24 => Op::Touch { to: of, region: dice.below(12) },
        25 => Op::Read { of, part: part(dice, axes) },
        26 => Op::Two { to: of, via: dice.below(arrays), from, tiles: tiles(dice, axes) },
        27 => Op::BothGhosts { a: of, b: from },
        28 => Op::Look { of },
        29 => Op::Sum { of },
        30 => Op::Recut { of, regions: dice.between(1, 4) },
        31 => match dice.once_in(2) {
            true => Op::Sync,
            false => Op::Flush,
        },
        32 => Op::New { of },
        33..=34 => steps(dice, arrays),
        _ => {
            let count = dice.between(1, 3);
            let most = if dice.once_in(6) { 40 } else { 12 };
            Op::Repeat { times: dice.between(2, most), ops: ops(dice, axes, arrays, count, false) }
        }
    }
}
