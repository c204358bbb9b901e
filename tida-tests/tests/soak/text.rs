//! Programs as text: a line for each thing, of a word and of `key=value`.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};
use std::str::FromStr;

use crate::configuration::{Configuration, Place};
use crate::kernels::Kernel;
use crate::program::{Array, Face, Op, Part, Program, Scalar, Side, Storage, Tiles};

/// Words for a few values.
pub trait Named: Copy + PartialEq + 'static {
    const NAMES: &'static [(Self, &'static str)];

    fn word(self) -> &'static str {
        Self::NAMES.iter().find(|(value, _)| *value == self).map_or("?", |(_, name)| name)
    }

    fn of(word: &str) -> Result<Self, String> {
        let known = Self::NAMES.iter().find(|(_, name)| *name == word);
        known.map(|(value, _)| *value).ok_or_else(|| {
            let names: Vec<_> = Self::NAMES.iter().map(|(_, name)| *name).collect();
            format!("`{word}` is none of {}", names.join(", "))
        })
    }
}

macro_rules! names {
    ($($type:ident { $($value:ident $name:literal)* })*) => {$(
        impl Named for $type {
            const NAMES: &'static [(Self, &'static str)] = &[$(($type::$value, $name)),*];
        }
    )*};
}

names! {
    Scalar { F64 "f64" F32 "f32" I32 "i32" U8 "u8" I16 "i16" Pair "pair" Wave "wave" }
    Face { Periodic "periodic" Fixed "fixed" Even "even" Odd "odd" Near "near" Line "line" Open "open" Inward "inward" }
    Storage {
        Raw "raw" Half "half" F32 "f32" Bfloat "bfloat" Range8 "range8" Range16 "range16" Range32 "range32"
        Scaled "scaled"
    }
    Side { Unsaid "unsaid" Cpu "cpu" Both "both" }
    Place { Cpu "cpu" Sim "sim" OpenCl "opencl" Cuda "cuda" }
}

fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|x| x.to_string()).collect::<Vec<_>>().join(",")
}

fn pairs<T: Display>(values: &[[T; 2]]) -> String {
    list(values.iter().map(|[a, b]| format!("{a}:{b}")))
}

impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = &self.configuration;
        write!(f, "program of={} shape={} regions={}", self.scalar.word(), list(&self.shape), list(&self.regions))?;
        writeln!(f, " seed={}", self.seed)?;
        write!(
            f,
            "on place={} threads={} ahead={} room={} fuse={}",
            c.place.name(),
            c.threads,
            c.look_ahead,
            c.room,
            c.fuse
        )?;
        let flags = [
            ("files", c.files),
            ("join", c.join),
            ("streams", c.streams),
            ("beside", c.beside),
            ("unhurried", c.unhurried),
            ("timeline", c.timeline),
            ("slow", c.slow),
            ("one_engine", c.one_engine),
            ("lanes", c.lanes),
            ("apart", c.apart),
            ("edges", c.edges),
            ("gpu", c.gpu),
        ];
        for (name, _) in flags.iter().filter(|(_, on)| *on) {
            write!(f, " {name}=1")?;
        }
        if c.parts > 1 || c.overlap > 0 {
            write!(f, " parts={} overlap={}", c.parts, c.overlap)?;
        }
        writeln!(f)?;
        for array in &self.arrays {
            let faces = list(array.faces.iter().map(|[low, high]| format!("{}:{}", low.word(), high.word())));
            write!(f, "array ghost={} faces={faces}", pairs(&array.ghost))?;
            if array.storage != Storage::Raw {
                write!(f, " storage={}", array.storage.word())?;
            }
            if array.nodes.contains(&true) {
                write!(f, " nodes={}", list(array.nodes.iter().map(|on| u8::from(*on))))?;
            }
            if array.packed {
                write!(f, " packed=1")?;
            }
            writeln!(f)?;
        }
        write_ops(f, &self.ops, 0)
    }
}

fn write_tiles(f: &mut impl Write, tiles: &Tiles) -> fmt::Result {
    if let Some(size) = &tiles.size {
        write!(f, " tile={}", list(size))?;
    }
    if let Some(within) = &tiles.within {
        write!(f, " within={}", pairs(within))?;
    }
    if let Some(march) = tiles.march {
        write!(f, " march={march}")?;
    }
    if tiles.side != Side::Unsaid {
        write!(f, " side={}", tiles.side.word())?;
    }
    Ok(())
}

fn write_ops(f: &mut impl Write, ops: &[Op], depth: usize) -> fmt::Result {
    for op in ops {
        write!(f, "{:1$}", "", depth * 2)?;
        match op {
            Op::Sweep { kernel, arrays, value, tiles, discard } => {
                write!(f, "{} arrays={} value={}:{}", kernel.name(), list(arrays), value[0], value[1])?;
                write_tiles(f, tiles)?;
                if *discard {
                    write!(f, " discard=1")?;
                }
                writeln!(f)?;
            }
            Op::Grown { to, from } => writeln!(f, "grown to={to} from={from}")?,
            Op::Line { to, from, axis, backward, named, tiles } => {
                write!(f, "line to={to} from={from} axis={axis}")?;
                if *backward {
                    write!(f, " backward=1")?;
                }
                if *named {
                    write!(f, " named=1")?;
                }
                write_tiles(f, tiles)?;
                writeln!(f)?;
            }
            Op::Colour { to, from, colour, colours, axes, tiles } => {
                write!(f, "colour to={to} from={from} colour={colour} colours={colours}")?;
                if *axes {
                    write!(f, " axes=1")?;
                }
                write_tiles(f, tiles)?;
                writeln!(f)?;
            }
            Op::Two { to, via, from, tiles } => {
                write!(f, "two to={to} via={via} from={from}")?;
                write_tiles(f, tiles)?;
                writeln!(f)?;
            }
            Op::BothGhosts { a, b } => writeln!(f, "bothghosts a={a} b={b}")?,
            Op::Ghosts { of } => writeln!(f, "ghosts of={of}")?,
            Op::Swap { a, b } => writeln!(f, "swap a={a} b={b}")?,
            Op::Copy { to, from } => writeln!(f, "copy to={to} from={from}")?,
            Op::Clone { to, from } => writeln!(f, "clone to={to} from={from}")?,
            Op::New { of } => writeln!(f, "new of={of}")?,
            Op::Recut { of, regions } => writeln!(f, "recut of={of} regions={regions}")?,
            Op::Read { of, part } => writeln!(f, "read of={of} part={}", pairs(part))?,
            Op::Look { of } => writeln!(f, "look of={of}")?,
            Op::Write { to, part } => writeln!(f, "write to={to} part={}", pairs(part))?,
            Op::Touch { to, region } => writeln!(f, "touch to={to} region={region}")?,
            Op::Max { of } => writeln!(f, "max of={of}")?,
            Op::Sum { of } => writeln!(f, "sum of={of}")?,
            Op::Later { to, from } => writeln!(f, "later to={to} from={from}")?,
            Op::Sync => writeln!(f, "sync")?,
            Op::Flush => writeln!(f, "flush")?,
            Op::Repeat { times, ops } => {
                writeln!(f, "repeat times={times}")?;
                write_ops(f, ops, depth + 1)?;
                writeln!(f, "{:1$}end", "", depth * 2)?;
            }
        }
    }
    Ok(())
}

/// The words of a line.
struct Words<'a> {
    line: &'a str,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Words<'a> {
    fn new(line: &'a str) -> Result<(&'a str, Words<'a>), String> {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let values = words.map(|word| word.split_once('=').ok_or_else(|| format!("`{word}` has no `=` in: {line}")));
        Ok((first, Words { line, values: values.collect::<Result<_, _>>()? }))
    }

    fn find(&self, key: &str) -> Option<&'a str> {
        self.values.get(key).copied()
    }

    fn text(&self, key: &str) -> Result<&'a str, String> {
        self.find(key).ok_or_else(|| format!("no `{key}=` in: {}", self.line))
    }

    fn number<T: FromStr>(&self, key: &str) -> Result<T, String> {
        self.text(key)?.parse().map_err(|_| format!("no number at `{key}=` in: {}", self.line))
    }

    /// Such as `5:3`; `5` is `5:1`.
    fn value(&self) -> Result<[u8; 2], String> {
        match self.text("value")?.contains(':') {
            true => Ok(self.pairs("value", |word| word.parse().map_err(|_| format!("`{word}` is no number")))?[0]),
            false => Ok([self.number("value")?, 1]),
        }
    }

    fn flag(&self, key: &str) -> bool {
        self.find(key) == Some("1")
    }

    fn named<T: Named>(&self, key: &str) -> Result<T, String> {
        T::of(self.text(key)?)
    }

    fn list<T>(&self, key: &str, of: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
        self.text(key)?.split(',').map(of).collect()
    }

    fn numbers<T: FromStr>(&self, key: &str) -> Result<Vec<T>, String> {
        self.list(key, |word| word.parse().map_err(|_| format!("`{word}` is no number in: {}", self.line)))
    }

    fn pairs<T>(&self, key: &str, of: impl Fn(&str) -> Result<T, String>) -> Result<Vec<[T; 2]>, String> {
        self.list(key, |word| {
            let (low, high) = word.split_once(':').ok_or_else(|| format!("`{word}` is no pair in: {}", self.line))?;
            Ok([of(low)?, of(high)?])
        })
    }

    fn tiles(&self) -> Result<Tiles, String> {
        Ok(Tiles {
            size: self.find("tile").map(|_| self.numbers("tile")).transpose()?,
            within: self.find("within").map(|_| self.part("within")).transpose()?,
            march: self.find("march").map(|_| self.number("march")).transpose()?,
            side: self.find("side").map_or(Ok(Side::Unsaid), Side::of)?,
        })
    }

    fn part(&self, key: &str) -> Result<Part, String> {
        self.pairs(key, |word| word.parse().map_err(|_| format!("`{word}` is no number in: {}", self.line)))
    }
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Program, String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut lines = lines.map(Words::new).collect::<Result<Vec<_>, _>>()?.into_iter().peekable();
        let Some(("program", words)) = lines.next() else { return Err("the first line is not `program ..`".into()) };
        let shape: Vec<usize> = words.numbers("shape")?;
        let Some(("on", on)) = lines.next() else { return Err("the second line is not `on ..`".into()) };
        let configuration = Configuration {
            place: on.named("place")?,
            threads: on.number("threads")?,
            look_ahead: on.number("ahead")?,
            room: on.number("room")?,
            fuse: on.number("fuse")?,
            files: on.flag("files"),
            join: on.flag("join"),
            streams: on.flag("streams"),
            beside: on.flag("beside"),
            unhurried: on.flag("unhurried"),
            timeline: on.flag("timeline"),
            slow: on.flag("slow"),
            one_engine: on.flag("one_engine"),
            lanes: on.flag("lanes"),
            apart: on.flag("apart"),
            edges: on.flag("edges"),
            gpu: on.flag("gpu"),
            parts: if on.find("parts").is_some() { on.number("parts")? } else { 1 },
            overlap: if on.find("overlap").is_some() { on.number("overlap")? } else { 0 },
        };
        let (regions, scalar, seed) = (words.numbers("regions")?, words.named("of")?, words.number("seed")?);
        let mut arrays = Vec::new();
        while let Some((_, words)) = lines.next_if(|(first, _)| *first == "array") {
            arrays.push(Array {
                ghost: words.pairs("ghost", |word| word.parse().map_err(|_| format!("`{word}` is no number")))?,
                faces: words.pairs("faces", Face::of)?,
                storage: words.find("storage").map_or(Ok(Storage::Raw), Storage::of)?,
                nodes: match words.find("nodes") {
                    Some(_) => words.list("nodes", |word| Ok(word == "1"))?,
                    None => vec![false; shape.len()],
                },
                packed: words.flag("packed"),
            });
        }
        let ops = read_ops(&mut lines)?;
        if let Some((first, _)) = lines.next() {
            return Err(format!("`{first}` where nothing is left to end"));
        }
        let program = Program { scalar, shape, regions, arrays, configuration, seed, ops };
        program.check().map(|()| program)
    }
}

type Lines<'a> = dyn Iterator<Item = (&'a str, Words<'a>)> + 'a;

fn read_ops<'a>(lines: &mut Lines<'a>) -> Result<Vec<Op>, String> {
    let mut ops = Vec::new();
    while let Some((first, words)) = lines.next() {
        let of = |key: &str| words.number::<usize>(key);
        ops.push(match first {
            "end" => break,
            "grown" => Op::Grown { to: of("to")?, from: of("from")? },
            "two" => Op::Two { to: of("to")?, via: of("via")?, from: of("from")?, tiles: words.tiles()? },
            "line" => Op::Line {
                to: of("to")?,
                from: of("from")?,
                axis: of("axis")?,
                backward: words.flag("backward"),
                named: words.flag("named"),
                tiles: words.tiles()?,
            },
            "colour" => Op::Colour {
                to: of("to")?,
                from: of("from")?,
                colour: of("colour")?,
                colours: of("colours")?,
                axes: words.flag("axes"),
                tiles: words.tiles()?,
            },
            "bothghosts" => Op::BothGhosts { a: of("a")?, b: of("b")? },
            "ghosts" => Op::Ghosts { of: of("of")? },
            "swap" => Op::Swap { a: of("a")?, b: of("b")? },
            "copy" => Op::Copy { to: of("to")?, from: of("from")? },
            "clone" => Op::Clone { to: of("to")?, from: of("from")? },
            "new" => Op::New { of: of("of")? },
            "recut" => Op::Recut { of: of("of")?, regions: of("regions")? },
            "read" => Op::Read { of: of("of")?, part: words.part("part")? },
            "look" => Op::Look { of: of("of")? },
            "write" => Op::Write { to: of("to")?, part: words.part("part")? },
            "touch" => Op::Touch { to: of("to")?, region: of("region")? },
            "max" => Op::Max { of: of("of")? },
            "sum" => Op::Sum { of: of("of")? },
            "later" => Op::Later { to: of("to")?, from: of("from")? },
            "sync" => Op::Sync,
            "flush" => Op::Flush,
            "repeat" => Op::Repeat { times: of("times")?, ops: read_ops(lines)? },
            name => Op::Sweep {
                kernel: *Kernel::ALL
                    .iter()
                    .find(|k| k.name() == name)
                    .ok_or_else(|| format!("no operation `{name}`"))?,
                arrays: words.numbers("arrays")?,
                value: words.value()?,
                tiles: words.tiles()?,
                discard: words.flag("discard"),
            },
        });
    }
    Ok(ops)
}
