//! `cargo xtask corpus`: random kernels, as Rust source with the glue that checks them.

mod expressions;

use std::fmt::Write;
use std::path::Path;

use crate::Result;

/// Where the kernels go.
const FILE: &str = "tests/corpus/generated.rs";
/// What the checked-in file is made from.
const SEED: u64 = 1;
const COUNT: usize = 16;
/// One in so many kernels more is of a generic function.
const OPEN: usize = 4;

#[derive(clap::Args)]
pub struct Options {
    /// Seed of the generator
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Number of kernels
    #[arg(long, default_value_t = COUNT)]
    count: usize,
}

/// Rewrites the file of random kernels.
pub fn write(options: &Options) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let path = root.join(FILE);
    std::fs::write(&path, source(options.seed, options.count)).map_err(|e| format!("{}: {e}", path.display()))
}

fn source(seed: u64, count: usize) -> String {
    let mut text = format!(
        "//! Random kernels. Made by `cargo xtask corpus --seed {seed} --count {count}`; do not edit.\n\n\
         use ndarray::{{Dim, Dimension}};\nuse tida::prelude::*;\n\nuse crate::generic::everywhere;\n\
         use crate::judge::check;\nuse crate::named;\nuse crate::scene::{{FromScalars, Scene, over}};\n"
    );
    let maker = |n: usize| Maker::new(seed.wrapping_mul(1_000_003).wrapping_add(n as u64));
    for n in 0..count {
        maker(n).kernel(n, &mut text);
    }
    let open = count.div_ceil(OPEN);
    for n in 0..open {
        Maker { open: true, indent: 2, ..maker(count + n) }.kernel(n, &mut text);
    }
    let names: Vec<_> = (0..open).map(|n| format!("open_{n}")).collect();
    let _ = writeln!(text, "\neverywhere! {{ {} }}", names.join(" "));
    text
}

/// Types of the kernels' values.
#[derive(Clone, Copy, PartialEq)]
enum Ty {
    F64,
    F32,
    I32,
    U64,
    I64,
    I8,
    I16,
    U16,
    Bool,
    /// The type parameter of a generic function.
    Open,
}

use Ty::{Bool, F32, F64, I8, I16, I32, I64, U16, U64};

const NUMBERS: [Ty; 8] = [F64, F32, I32, U64, I64, I8, I16, U16];
const ALL: [Ty; 9] = [F64, F32, I32, U64, I64, I8, I16, U16, Bool];

impl Ty {
    fn name(self) -> &'static str {
        match self {
            F64 => "f64",
            F32 => "f32",
            I32 => "i32",
            U64 => "u64",
            I64 => "i64",
            I8 => "i8",
            I16 => "i16",
            U16 => "u16",
            Bool => "bool",
            Ty::Open => "T",
        }
    }

    fn float(self) -> bool {
        matches!(self, F64 | F32 | Ty::Open)
    }

    fn unsigned(self) -> bool {
        matches!(self, U64 | U16)
    }
}

#[derive(Clone)]
struct Local {
    name: String,
    ty: Ty,
    mutable: bool,
    /// A loop variable of at most 2 on either side of 0.
    offset: bool,
    /// An array of four.
    array: bool,
}

/// Writes one kernel.
struct Maker {
    state: u64,
    text: String,
    /// Whether it is of a function with a type parameter `T` for `f32` and `f64`, and a parameter `D` for the axes.
    open: bool,
    rank: usize,
    /// Outputs, then inputs.
    args: Vec<(String, Ty, bool)>,
    locals: Vec<Local>,
    names: usize,
    /// Loops around the statement, with the labels of those that have one.
    loops: Vec<Option<String>>,
    /// Variables of loops over the axes.
    axes: Vec<String>,
    indent: usize,
}

impl Maker {
    fn new(seed: u64) -> Maker {
        Maker {
            state: seed,
            text: String::new(),
            open: false,
            rank: 2,
            args: Vec::new(),
            locals: Vec::new(),
            names: 0,
            loops: Vec::new(),
            axes: Vec::new(),
            indent: 3,
        }
    }

    /// A number below `n` (splitmix64).
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// One of these types; what has a point is of the type parameter, if there is one.
    fn ty(&mut self, from: &[Ty]) -> Ty {
        match self.pick(from) {
            F32 | F64 if self.open => Ty::Open,
            I8 | I16 | U16 if self.open && self.below(2) == 0 => Ty::Open,
            ty => ty,
        }
    }

    /// The locals that no later one of the same name hides.
    fn visible(&self) -> impl Iterator<Item = &Local> {
        let hidden = |n: usize, local: &Local| self.locals[n + 1..].iter().any(|later| later.name == local.name);
        self.locals.iter().enumerate().filter(move |(n, local)| !hidden(*n, local)).map(|(_, local)| local)
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 4 * self.indent);
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// A test of one kernel.
    fn kernel(&mut self, number: usize, out: &mut String) {
        self.rank = if self.open { 1 } else { 1 + self.below(3) };
        let (outputs, inputs) = (1 + self.below(2), 1 + self.below(3));
        for n in 0..outputs + inputs {
            let name = if n < outputs { format!("r{n}") } else { format!("a{}", n - outputs) };
            let ty = match self.open && (n == 0 || n == outputs) {
                true => Ty::Open,
                false => self.ty(&NUMBERS),
            };
            self.args.push((name, ty, n < outputs));
        }
        for n in 0..2 + self.below(2) {
            let ty = self.ty(&ALL);
            self.locals.push(Local { name: format!("c{n}"), ty, mutable: false, offset: false, array: false });
        }
        let captures = self.locals.clone();
        if self.open {
            self.sum();
        }
        for _ in 0..1 + self.below(4) {
            self.statement(2);
        }
        for n in 0..outputs {
            self.store(n);
        }
        self.write(number, &captures, out);
    }

    /// The test of the kernel, or the function that tests call.
    fn write(&self, number: usize, captures: &[Local], out: &mut String) {
        let names: Vec<_> = self.args.iter().map(|(name, ..)| name.as_str()).collect();
        let refs: Vec<_> =
            self.args.iter().map(|(n, _, out)| format!("{}{n}", if *out { "&mut " } else { "&" })).collect();
        let (start, tab, header, end) = match self.open {
            false => (
                format!("\n#[test]\nfn random_{number}() {{\n    over::<{}>(|scene| {{", self.rank),
                "        ",
                "",
                "    });\n}",
            ),
            true => (
                format!(
                    "\nfn open_{number}<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)\nwhere\n    \
                     Dim<[usize; D]>: Dimension,\n{{"
                ),
                "    ",
                "T; ",
                "}",
            ),
        };
        let _ = writeln!(out, "{start}");
        for (name, ty, output) in &self.args {
            let binding = if *output { "let mut" } else { "let" };
            let _ = writeln!(out, "{tab}{binding} {name} = scene.array::<{}>();", ty.name());
        }
        for capture in captures {
            let _ = writeln!(out, "{tab}let {}: {} = scene.scalar();", capture.name, capture.ty.name());
        }
        let (list, args) = (names.join(", "), refs.join(", "));
        let _ = writeln!(out, "{tab}check!(scene, [{list}], ({args}), kernel!({header}|{list}, at| {{");
        out.push_str(&self.text);
        let _ = writeln!(out, "{tab}}}));\n{end}");
    }

    fn block(&mut self, depth: usize) {
        let locals = self.locals.len();
        self.indent += 1;
        for _ in 0..1 + self.below(2) {
            self.statement(depth);
        }
        self.indent -= 1;
        self.locals.truncate(locals);
    }

    fn statement(&mut self, depth: usize) {
        match self.below(if depth == 0 { 8 } else { 13 }) {
            0..=2 => self.declare(),
            3..=4 => self.assign(),
            5..=6 => {
                let outputs = self.args.iter().filter(|(.., out)| *out).count();
                let n = self.below(outputs);
                self.store(n);
            }
            7 if !self.loops.is_empty() => self.leave(&["break", "continue", "break", "return"]),
            7 if self.below(3) == 0 => self.leave(&["return"]),
            7 => self.declare(),
            8..=9 => {
                let cond = self.expr(Bool, 2);
                self.line(&format!("if {cond} {{"));
                self.block(depth - 1);
                if self.below(2) == 0 {
                    self.line("} else {");
                    self.block(depth - 1);
                }
                self.line("}");
            }
            10..=11 if self.below(4) > 0 => self.for_loop(depth),
            10..=11 => self.list_loop(depth),
            _ => self.while_loop(depth),
        }
    }

    fn leave(&mut self, how: &[&str]) {
        let (cond, how) = (self.expr(Bool, 1), self.pick(how));
        let labels: Vec<String> = self.loops.iter().flatten().cloned().collect();
        let label = match how {
            "break" | "continue" if !labels.is_empty() && self.below(2) == 0 => format!(" {}", self.pick(&labels)),
            _ => String::new(),
        };
        self.line(&format!("if {cond} {{ {how}{label}; }}"));
    }

    /// The body of a loop, whose head is written. It may have a label.
    fn turns(&mut self, head: &str, first: &str, depth: usize) {
        let label = (self.below(3) == 0).then(|| format!("'{}", self.name()));
        let start = label.as_ref().map_or(String::new(), |label| format!("{label}: "));
        self.line(&format!("{start}{head} {{"));
        if !first.is_empty() {
            self.line(&format!("    {first}"));
        }
        self.loops.push(label);
        self.block(depth - 1);
        self.loops.pop();
        self.line("}");
    }

    fn list_loop(&mut self, depth: usize) {
        let ty = self.ty(&[F64, F32, I32, U64, I64, Bool]);
        let offset = ty == I64 && self.below(2) == 0 && !self.open;
        let entries: Vec<String> = (0..2 + self.below(3))
            .map(|_| if offset { (self.below(5) as i64 - 2).to_string() } else { self.expr(ty, 1) })
            .collect();
        let (name, list) = (self.name(), entries.join(", "));
        self.locals.push(Local { name: name.clone(), ty, mutable: false, offset, array: false });
        let list = if offset { list.replacen(", ", "i64, ", 1) } else { list };
        self.turns(&format!("for {name} in [{list}]"), "", depth);
        self.locals.pop();
    }

    fn declare(&mut self) {
        let ty = self.ty(&ALL);
        let mutable = self.below(2) == 0;
        let word = if mutable { "mut " } else { "" };
        if self.below(6) == 0 {
            let entries: Vec<_> = (0..4).map(|_| self.expr(ty, 1)).collect();
            let name = self.name();
            self.line(&format!("let {word}{name} = [{}];", entries.join(", ")));
            self.locals.push(Local { name, ty, mutable, offset: false, array: true });
            return;
        }
        let value = self.expr(ty, 2);
        // A name that hides another is another variable.
        let hidden: Vec<_> = self.visible().filter(|local| local.name.starts_with('v')).cloned().collect();
        let name = if hidden.is_empty() || self.below(6) != 0 { self.name() } else { self.pick(&hidden).name };
        let written = if self.below(2) == 0 { format!(": {}", ty.name()) } else { String::new() };
        self.line(&format!("let {word}{name}{written} = {value};"));
        self.locals.push(Local { name, ty, mutable, offset: false, array: false });
    }

    fn assign(&mut self) {
        let places: Vec<_> = self.visible().filter(|local| local.mutable).cloned().collect();
        if places.is_empty() {
            return self.declare();
        }
        let local = self.pick(&places);
        let place = match local.array {
            true => format!("{}[{}]", local.name, self.entry()),
            false => local.name,
        };
        self.assign_to(&place, local.ty);
    }

    fn store(&mut self, output: usize) {
        let (name, ty, _) = self.args[output].clone();
        self.assign_to(&format!("{name}[at]"), ty);
    }

    fn assign_to(&mut self, place: &str, ty: Ty) {
        let ops: &[&str] = match ty {
            Bool => &["=", "&=", "|=", "^="],
            F64 | F32 | Ty::Open => &["=", "=", "+=", "-=", "*=", "/=", "%="],
            _ => &["=", "=", "+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>="],
        };
        let (op, value) = (self.pick(ops), self.expr(ty, 2));
        self.line(&format!("{place} {op} {value};"));
    }

    /// A sum over the axes.
    fn sum(&mut self) {
        let (start, sum) = (self.expr(Ty::Open, 1), self.name());
        self.line(&format!("let mut {sum} = {start};"));
        self.locals.push(Local { name: sum.clone(), ty: Ty::Open, mutable: true, offset: false, array: false });
        self.axes_loop(1, |maker| format!("{sum} += {};", maker.expr(Ty::Open, 2)));
        self.line(&format!("r0[at] = {sum};"));
    }

    fn axes_loop(&mut self, depth: usize, first: impl FnOnce(&mut Maker) -> String) {
        let (axis, range) = (self.name(), self.pick(&["0..D", "(0..D).rev()", "0..D"]));
        self.axes.push(axis.clone());
        let first = first(self);
        self.turns(&format!("for {axis} in {range}"), &first, depth);
        self.axes.pop();
    }

    fn for_loop(&mut self, depth: usize) {
        if self.open && self.below(2) == 0 {
            return self.axes_loop(depth, |_| String::new());
        }
        let name = self.name();
        let captures: Vec<_> = self.visible().filter(|l| l.name.starts_with('c') && l.ty != Bool).cloned().collect();
        let (range, ty, offset) = match self.below(13) {
            9 => ("-named::REACH..=named::REACH", I64, true),
            10 => ("-1..named::REACH - 1", I64, true),
            11 => ("0..named::TURNS as u64", U64, false),
            12 => ("1..=2 * named::TURNS as i32", I32, false),
            0 => ("-2..=2", I64, true),
            1 => ("-1..2", I64, true),
            2 => ("0u64..3", U64, false),
            3 => ("-1i32..=1", I32, false),
            4 => ("0..(c_ & 3)", I64, false),
            // The same turns for all cells.
            5 => ("0u64..=(c_ as u64 & 7)", U64, false),
            _ => ("-2..=(c_ as i64 & 3) - 1", I64, true),
        };
        let bound = match (range.contains(" as "), captures.as_slice()) {
            (true, []) => "5i32".into(),
            (true, captures) => self.pick(captures).name,
            (false, _) if range.contains("c_") => self.expr(I64, 1),
            _ => String::new(),
        };
        let range = range.replace("c_", &bound);
        let range = match self.below(8) {
            0 => format!("({range}).rev()"),
            1 => format!("({range}).step_by({})", 1 + self.below(3)),
            2 => format!("({range}).rev().step_by({})", 1 + self.below(3)),
            3 => format!("({range}).step_by({}).rev()", 1 + self.below(3)),
            4 if bound.starts_with('c') => format!("({range}).step_by(({bound} as usize & 1) + 1)"),
            _ => range,
        };
        self.locals.push(Local { name: name.clone(), ty, mutable: false, offset, array: false });
        self.turns(&format!("for {name} in {range}"), "", depth);
        self.locals.pop();
    }

    fn while_loop(&mut self, depth: usize) {
        // The counter is not among the locals, so that every loop ends.
        let name = self.name();
        let cond = self.expr(Bool, 1);
        self.line(&format!("let mut {name} = 0;"));
        self.turns(&format!("while {name} < 4 && {cond}"), &format!("{name} += 1;"), depth);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checked_in_kernels_are_what_the_seed_gives() {
        let file = include_str!("../../tests/corpus/generated.rs");
        assert!(file == super::source(super::SEED, super::COUNT), "run `cargo xtask corpus`");
    }
}
