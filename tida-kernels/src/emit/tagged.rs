//! Lines in shared memory with a tag each: a cache for reads whose cells nothing decides before (Lashgar §5.2.1).
//!
//! Threads of a block fill lines as they go. A line is one word of 64 bits, a value below and the tag of its cell
//! above, which is read and written at once: whoever finds a tag finds its value, and values of arrays that are read
//! alone do not change. So no order between threads is needed.

use super::access::{outside, position, reader_params};
use super::body::Writer;
use super::helpers::Helper;
use super::shared::{Reader, Shared};
use super::text::Text;
use super::types::memory;
use crate::codec::Codec;
use crate::element::ScalarType;
use crate::ir::{Access, Component, ExprId};
use crate::plan::Dialect;
use crate::plan::cache::{LINES, TAGGED, codecs};

/// The lines of an argument.
fn lines(shared: &mut Shared<'_>, arg: usize) -> String {
    let name = format!("{}_lines", shared.args[arg]);
    shared.own(&name)
}

/// How memory holds a component whose lines hold its values.
fn held(shared: &Shared<'_>, arg: usize, component: u32) -> Option<Codec> {
    let codec = shared.tagged.contains(&arg).then(|| codecs(shared.kernel, arg).get(&component).copied()).flatten()?;
    (codec.value().size() <= TAGGED).then_some(codec)
}

/// A pointer to lines.
fn pointer(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Cuda => "volatile u64*",
        Dialect::OpenCl => "volatile __local u64*",
    }
}

/// Declares the lines.
pub(super) fn declare(shared: &mut Shared<'_>, text: &mut Text) {
    for arg in shared.tagged.clone() {
        let name = lines(shared, arg);
        text.line(format!("{} u64 {name}[{LINES}];", shared.dialect().shared()));
    }
}

/// Empties them.
pub(super) fn clear(shared: &mut Shared<'_>, text: &mut Text) {
    if shared.tagged.is_empty() {
        return;
    }
    let threads: u32 = shared.plan.block.iter().product();
    let (thread, line) = (shared.own("thread"), shared.own("line"));
    text.block(format!("for (i32 {line} = {thread}; {line} < {LINES}; {line} += {threads})"), |text| {
        for arg in shared.tagged.clone() {
            let name = lines(shared, arg);
            text.line(format!("{name}[{line}] = 0;"));
        }
    });
    text.line(shared.dialect().barrier());
}

impl Writer<'_, '_> {
    /// A read of what memory holds through the lines of an argument, if it has some that hold that.
    pub fn tagged_read(&mut self, arg: usize, index: &[ExprId], component: &Component) -> Option<String> {
        match held(self.shared, arg, component.base) {
            Some(_) => None,
            None => self.find(arg, index, component),
        }
    }

    /// A read of a value of which memory holds a code, if lines hold values.
    pub fn tagged_value(&mut self, arg: usize, index: &[ExprId], component: &Component) -> Option<String> {
        held(self.shared, arg, component.base)?;
        self.find(arg, index, component)
    }

    fn find(&mut self, arg: usize, index: &[ExprId], component: &Component) -> Option<String> {
        let ty = self.shared.component_type(arg, component.base);
        if !self.shared.tagged.contains(&arg) || ty.size() > TAGGED || !component.dynamic.is_empty() {
            return None;
        }
        let (reader, mut values) = self.reading(arg, index, component);
        values.insert(0, lines(self.shared, arg));
        let name = self.shared.reader(reader.clone()).replacen("read_", "find_", 1);
        let name = self.shared.own(&name);
        self.shared.used.tags.insert(name.clone(), reader);
        Some(format!("{name}({})", values.join(", ")))
    }
}

/// The functions that look into lines.
pub(super) fn functions(shared: &mut Shared<'_>) -> Text {
    let mut text = Text::default();
    let all = shared.used.tags.clone();
    if !all.is_empty() && shared.dialect() == Dialect::OpenCl {
        // Words of 64 bits are read and written at once where the device has operations that are; else nothing is kept.
        text.line("#ifdef cl_khr_int64_base_atomics");
        text.line("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable");
        text.line("#endif");
        text.line("");
    }
    for (name, reader) in all {
        function(shared, &mut text, &name, &reader);
        text.line("");
    }
    text
}

fn function(shared: &mut Shared<'_>, text: &mut Text, name: &str, reader: &Reader) {
    let dialect = shared.dialect();
    let of = &shared.kernel.args[reader.arg];
    let codec = held(shared, reader.arg, reader.base as u32);
    let ty = shared.value_type(reader, codec);
    let (more, names) = reader_params(shared, reader);
    let params: Vec<String> = std::iter::once(format!("{} lines", pointer(dialect))).chain(more).collect();
    let read = format!("{}({})", shared.reader(reader.clone()), names.join(", "));
    let read = shared.value(codec, read);
    let index: Vec<String> = (0..of.rank).map(|axis| format!("i{axis}")).collect();
    let cell = match of.access {
        Access::Table => "i0".to_owned(),
        Access::All => {
            let inner = |sum: String, axis: usize| format!("({sum}) * regions[{}] + i{axis}", of.rank + axis);
            (1..of.rank).fold("i0".to_owned(), inner)
        }
        Access::Read | Access::Write | Access::Shared => position(shared, reader.arg, &index),
    };
    let (to_bits, of_bits) = match ty {
        ScalarType::F32 => (shared.helper(Helper::Bits(ty)), shared.helper(Helper::OfBits(ty))),
        _ => ("(u32)".into(), format!("({})", memory(ty))),
    };
    let components = of.element.components();
    let outside = shared.plan.checked.then(|| outside(shared, reader.arg));
    let ty = memory(ty);
    text.block(format!("{} {ty} {name}({})", dialect.device(), params.join(", ")), |text| {
        if let Some(outside) = outside {
            text.line(format!("if ({outside}) return {read};"));
        }
        text.line(format!("const u64 tag = (u64)({cell}) * {components} + {};", reader.base + 1));
        text.line(format!("if ((tag >> 32) != 0) return {read};"));
        let line = format!("lines[tag & {}]", LINES - 1);
        let keep = format!("(tag << 32) | {to_bits}(value)");
        match dialect {
            Dialect::Cuda => text.line(format!("const u64 held = {line};")),
            Dialect::OpenCl => {
                text.line("#ifdef cl_khr_int64_base_atomics");
                text.line(format!("const u64 held = atom_add(&{line}, 0);"));
                text.line("#else");
                text.line("const u64 held = 0;");
                text.line("#endif");
            }
        }
        text.line(format!("if ((held >> 32) == tag) return {of_bits}((u32)held);"));
        text.line(format!("const {ty} value = {read};"));
        match dialect {
            Dialect::Cuda => text.line(format!("{line} = {keep};")),
            Dialect::OpenCl => {
                text.line("#ifdef cl_khr_int64_base_atomics");
                text.line(format!("atom_xchg(&{line}, {keep});"));
                text.line("#endif");
            }
        }
        text.line("return value;");
    });
}
