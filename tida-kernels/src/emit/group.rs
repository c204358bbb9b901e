//! Kernels over groups: a group is a block of threads, a phase ends in a barrier, what threads share is shared memory.
//!
//! Threads without a cell run no phase, but meet all barriers. Values of a thread are variables as they are anywhere.

use std::fmt::Write;

use super::Field;
use super::body::Writer;
use super::cache;
use super::expr::Binds;
use super::faults;
use super::helpers::Helper;
use super::kernel::top;
use super::shared::Shared;
use super::text::Text;
use super::types::memory;
use crate::analysis::{Analysis, ArrayAccess};
use crate::element::ScalarType;
use crate::ir::{Block, ExprId, Group, GroupArray, Kernel, LocalId, Span, Type};
use crate::plan::Dialect;

/// The arguments of a launch come before the arrays of a group.
fn launched(kernel: &Kernel, group: &Group) -> usize {
    kernel.args.len() - group.arrays.len()
}

/// The array of the group that an argument stands for.
fn array(kernel: &Kernel, arg: usize) -> Option<&GroupArray> {
    let group = kernel.group.as_ref()?;
    arg.checked_sub(launched(kernel, group)).and_then(|n| group.arrays.get(n))
}

/// The accesses whose slots may not exist: argument, whether it writes, the read, its place.
pub(super) fn unproven(kernel: &Kernel, analysis: &Analysis) -> Vec<(usize, bool, Option<ExprId>, Span)> {
    let mut missing = Vec::new();
    for (arg, usage) in analysis.args.iter().enumerate() {
        let Some(of) = array(kernel, arg) else { continue };
        let unproven = |access: &&ArrayAccess| !analysis.complete || !analysis.slots_exist(access, of);
        let note = |access: &ArrayAccess| (arg, access.write, access.expr, access.span);
        missing.extend(usage.accesses.iter().filter(unproven).map(note));
    }
    missing
}

impl Shared<'_> {
    /// Whether the slots of an access are known to exist.
    fn slot_exists(&self, arg: usize, read: Option<ExprId>, span: Span) -> bool {
        !self.unproven.iter().any(|(of, write, expr, place)| {
            *of == arg
                && *write == read.is_none()
                && (read.is_none() || *expr == read)
                && (read.is_some() || *place == span)
        })
    }
}

/// A pointer to shared memory.
fn pointer(dialect: Dialect, ty: ScalarType, written: bool) -> String {
    let space = if dialect == Dialect::OpenCl { "__local " } else { "" };
    format!("{space}{}{}*", if written { "" } else { "const " }, memory(ty))
}

/// `(i0 + 1) * 18 + (i1 + 1)`.
fn position(array: &GroupArray, index: &[String]) -> String {
    let mut text = String::new();
    for ((i, lo), n) in index.iter().zip(&array.lo).zip(&array.shape) {
        let i = if *lo == 0 { i.clone() } else { format!("({i} + {})", -lo) };
        text = if text.is_empty() { i } else { format!("({text}) * {n} + {i}") };
    }
    text
}

impl<'a> Writer<'_, 'a> {
    /// The index along each axis, where a sum may stand beside it.
    fn slot_index(&mut self, index: &[ExprId]) -> Vec<String> {
        index.iter().map(|i| self.expr(*i).within(Binds::Multiplies)).collect()
    }

    /// What a slot holds; nothing if the argument is none of a group's arrays.
    pub fn slot_read(&mut self, id: ExprId, arg: usize, index: &[ExprId]) -> Option<String> {
        let array = array(self.shared.kernel, arg)?;
        let index = self.slot_index(index);
        let name = self.shared.args[arg].clone();
        if self.shared.slot_exists(arg, Some(id), Span::default()) {
            return Some(format!("{name}[{}]", position(array, &index)));
        }
        let (reader, fault) = (self.slot_function(arg, false), self.shared.fault());
        Some(format!("{reader}({name}, {}, {fault})", index.join(", ")))
    }

    /// Writes a slot; `false` if the argument is none of a group's arrays.
    pub fn slot_write(&mut self, span: Span, arg: usize, index: &[ExprId], value: ExprId) -> bool {
        let Some(array) = array(self.shared.kernel, arg) else { return false };
        let value = self.text_of(value);
        let index = self.slot_index(index);
        let name = self.shared.args[arg].clone();
        if self.shared.slot_exists(arg, None, span) {
            self.put(span, format!("{name}[{}] = {value};", position(array, &index)));
            return true;
        }
        let (writer, fault) = (self.slot_function(arg, true), self.shared.fault());
        self.put(span, format!("{writer}({name}, {}, {value}, {fault});", index.join(", ")));
        true
    }

    fn slot_function(&mut self, arg: usize, write: bool) -> String {
        self.shared.helper(Helper::RaiseRange);
        self.shared.used.slots.insert((arg, write));
        function_name(self.shared, arg, write)
    }

    /// A phase.
    pub fn phase(&mut self, span: Span, thread: LocalId, around: &[[u32; 2]], body: &'a Block) {
        let Some(group) = &self.shared.kernel.group else { return };
        let beside = around.iter().any(|n| *n != [0, 0]);
        let (before, beyond) = around
            .iter()
            .zip(&group.extent)
            .fold((0, 0), |(before, beyond), (n, extent)| (before.max(n[0]), beyond.max(extent.saturating_add(n[1]))));
        self.known.ranges.insert(thread, (-i128::from(before), i128::from(beyond) - 1));
        let depth = self.text.depth + if beside { 2 } else { 1 };
        let outer = std::mem::replace(&mut self.text, Text { depth, ..Text::default() });
        let loops = std::mem::replace(&mut self.loops, 0);
        self.block(body);
        self.loops = loops;
        let inner = std::mem::replace(&mut self.text, outer);

        let (rank, extent) = (group.extent.len(), group.extent.clone());
        let point = self.shared.types.name(&self.ty(thread));
        let declared = |t: Vec<String>, name: String| format!("const {point} {name} = {{{{{}}}}};", t.join(", "));
        if beside {
            let n = self.shared.own("n");
            let sides: Vec<u32> = extent.iter().zip(around).map(|(n, [before, after])| n + before + after).collect();
            let head = every(self.shared, &sides, &n);
            self.put(span, format!("{head} {{"));
            self.text.depth += 1;
            let at = numbers(self.shared, &mut self.text, &sides, &n);
            let from: Vec<i64> = around.iter().map(|n| -i64::from(n[0])).collect();
            let there = existing(self.shared, &at, &from, &around.iter().map(|n| n[1].into()).collect::<Vec<_>>());
            self.text.line(format!("if ({there}) {{"));
            self.text.depth += 1;
            let t: Vec<String> = at.iter().zip(&from).map(|(n, from)| plus(n, *from)).collect();
            let raises = inner.has_word("fault");
            for (axis, t) in t.iter().enumerate() {
                let name = self.shared.own(&format!("at{axis}"));
                if inner.has_word(&name) || raises {
                    let lo = self.shared.field(Field::Lo(axis as u32));
                    let first = self.shared.own(&format!("first{axis}"));
                    self.text.line(format!("const i64 {name} = {lo} + {first} + {t};"));
                }
            }
            if raises {
                faults::of_cell(self.shared, &mut self.text);
            }
            if self.named.contains(&thread) {
                self.text.line(declared(t, self.name(thread)));
            }
            self.text.append(inner);
            self.text.depth -= 1;
            self.text.line("}");
            self.text.depth -= 1;
        } else {
            let inside = self.shared.own("inside");
            self.put(span, format!("if ({inside}) {{"));
            if self.named.contains(&thread) {
                let t = (0..rank).map(|axis| in_group(self.shared, axis)).collect();
                self.text.depth += 1;
                self.text.line(declared(t, self.name(thread)));
                self.text.depth -= 1;
            }
            self.text.append(inner);
        }
        self.text.line("}");
        self.text.line(self.shared.dialect().barrier());
    }
}

/// `n0 - 1`.
fn plus(text: &str, by: i64) -> String {
    match by {
        0 => text.to_owned(),
        ..0 => format!("{text} - {}", by.unsigned_abs()),
        _ => format!("{text} + {by}"),
    }
}

/// The coordinate of the thread in its group.
fn in_group(shared: &mut Shared<'_>, axis: usize) -> String {
    match extent(shared, axis) {
        1 => "0".into(),
        _ => shared.own(&format!("in{axis}")),
    }
}

/// The group's cells along an axis.
fn cells(shared: &mut Shared<'_>, axis: usize) -> String {
    match extent(shared, axis) {
        1 => "1".into(),
        _ => shared.own(&format!("cells{axis}")),
    }
}

fn extent(shared: &Shared<'_>, axis: usize) -> u32 {
    shared.kernel.group.as_ref().and_then(|group| group.extent.get(axis)).copied().unwrap_or(1)
}

/// The head of a loop in which the threads of the block take all numbers below a product.
fn every(shared: &mut Shared<'_>, sides: &[u32], n: &str) -> String {
    let all: u64 = sides.iter().map(|n| u64::from(*n)).product();
    let threads = cache::threads_of(shared);
    let thread = shared.own("thread");
    format!("for (i32 {n} = {thread}; {n} < {all}; {n} += {threads})")
}

/// Declares the number along each axis.
fn numbers(shared: &mut Shared<'_>, text: &mut Text, sides: &[u32], n: &str) -> Vec<String> {
    if sides.len() == 1 {
        return vec![n.to_owned()];
    }
    let names: Vec<String> = (0..sides.len()).map(|axis| shared.own(&format!("n{axis}"))).collect();
    for (axis, name) in names.iter().enumerate() {
        let rest: u64 = sides[axis + 1..].iter().map(|n| u64::from(*n)).product();
        let part = if axis == 0 { n.to_owned() } else { format!("{n} % {}", rest * u64::from(sides[axis])) };
        let part = if rest == 1 { part } else { format!("({part}) / {rest}") };
        text.line(format!("const i32 {name} = {part};"));
    }
    names
}

/// Whether the cell of a number along each axis is one of the group's or of those so many after.
fn existing(shared: &mut Shared<'_>, at: &[String], from: &[i64], after: &[i64]) -> String {
    let tests = at.iter().enumerate().map(|(axis, n)| {
        let (n, cells) = (plus(n, from[axis]), cells(shared, axis));
        format!("{n} < {}", plus(&cells, after[axis]))
    });
    tests.collect::<Vec<_>>().join(" && ")
}

fn function_name(shared: &mut Shared<'_>, arg: usize, write: bool) -> String {
    let name = format!("{}_{}", if write { "put" } else { "get" }, shared.args[arg]);
    shared.own(&name)
}

/// The functions that check where slots are.
pub(super) fn functions(shared: &mut Shared<'_>) -> Text {
    let mut text = Text::default();
    for (arg, write) in shared.used.slots.clone() {
        let Some(of) = array(shared.kernel, arg) else { continue };
        let (dialect, name) = (shared.dialect(), function_name(shared, arg, write));
        let index: Vec<String> = (0..of.shape.len()).map(|axis| format!("i{axis}")).collect();
        let mut params = vec![format!("{} data", pointer(dialect, of.ty, write))];
        params.extend(index.iter().map(|i| format!("const i64 {i}")));
        if write {
            params.push(format!("const {} value", memory(of.ty)));
        }
        params.push("Fault fault".into());
        let outside = index.iter().zip(&of.lo).zip(&of.shape);
        let outside = outside.map(|((i, lo), n)| format!("{i} < {lo} || {i} >= {}", lo + i64::from(*n)));
        let outside = outside.collect::<Vec<_>>().join(" || ");
        let (result, zero) = if write { ("void", "") } else { (memory(of.ty), " 0") };
        text.block(format!("{} {result} {name}({})", dialect.device(), params.join(", ")), |text| {
            let mut raised = format!("tida_raise_out_of_range(fault, {arg}");
            for axis in 0..4 {
                let _ = write!(raised, ", {}", index.get(axis).map_or("0", String::as_str));
            }
            text.block(format!("if ({outside})"), |text| {
                text.line(format!("{raised});"));
                text.line(format!("return{zero};"));
            });
            let place = format!("data[{}]", position(of, &index));
            text.line(if write { format!("{place} = value;") } else { format!("return {place};") });
        });
        text.line("");
    }
    text
}

/// The text of the entry: what threads share, who they are, what is in the arrays at the start, and the body.
pub(super) fn whole(shared: &mut Shared<'_>, main: &mut Text, body: Text) {
    let kernel = shared.kernel;
    let Some(group) = &kernel.group else { return };
    let first = launched(kernel, group);
    let dialect = shared.dialect();
    let mut start = Text { depth: main.depth, ..Text::default() };
    for (n, of) in group.arrays.iter().enumerate() {
        let name = shared.args[first + n].clone();
        main.line(format!("{} {} {name}[{}];", dialect.shared(), memory(of.ty), of.slots()));
        filled(shared, &mut start, group, of, &name);
    }
    if !group.arrays.is_empty() {
        start.line(dialect.barrier());
    }
    let mut len = Text { depth: main.depth, ..Text::default() };
    if let Some(local) = group.len {
        let cells: Vec<String> = (0..group.extent.len()).map(|axis| cells(shared, axis)).collect();
        let ty = kernel.body.locals.get(local as usize).map_or_else(Type::unit, |local| local.ty.clone());
        let (ty, name) = (shared.types.name(&ty), shared.group_len.clone());
        len.line(format!("const {ty} {name} = {{{{{}}}}};", cells.join(", ")));
    }
    cache::threads(shared, main);
    top(shared, main);
    cache::regions(shared, main);
    main.append(len);
    main.append(start);
    main.append(body);
}

/// Brings what an array of the group holds at the start.
fn filled(shared: &mut Shared<'_>, text: &mut Text, group: &Group, of: &GroupArray, name: &str) {
    let n = shared.own("n");
    let head = every(shared, &of.shape, &n);
    let Some(arg) = of.fetch.map(|arg| arg as usize) else {
        text.line(format!("{head} {name}[{n}] = 0;"));
        return;
    };
    let source = shared.plane(arg, 0);
    let decode = of.codec.map_or(String::new(), |codec| shared.decode(codec));
    let of_group = shared.group(arg);
    let mut place = shared.field(Field::First(of_group.into()));
    if shared.plan.narrow {
        place = format!("(i32){place}");
    }
    let rank = of.shape.len();
    text.line(format!("{head} {{"));
    text.depth += 1;
    let at = numbers(shared, text, &of.shape, &n);
    for (axis, at) in at.iter().enumerate() {
        let along = format!("({} + {})", shared.own(&format!("first{axis}")), plus(at, of.lo[axis]));
        let _ = match axis + 1 == rank {
            true => write!(place, " + {along}"),
            false => write!(place, " + {along} * {}", shared.stride(of_group, axis)),
        };
    }
    let after = of.shape.iter().zip(&group.extent).zip(&of.lo);
    let after: Vec<i64> = after.map(|((n, extent), lo)| i64::from(*n) - i64::from(*extent) + lo).collect();
    let there = existing(shared, &at, &of.lo, &after);
    let value = format!("{source}[{place}]");
    let value = if decode.is_empty() { value } else { format!("{decode}({value})") };
    text.line(format!("{name}[{n}] = {there} ? {value} : 0;"));
    text.depth -= 1;
    text.line("}");
}
