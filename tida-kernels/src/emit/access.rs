//! Reads and writes of arguments.

use super::Field;
use super::body::Writer;
use super::expr::{Binds, Piece};
use super::ghosts;
use super::helpers::Helper;
use super::shared::{Reader, Shared, planes_before, planes_between};
use super::text::Text;
use super::types::memory;
use crate::element::ScalarType;
use crate::ir::{Access, Component, ExprId};
use crate::plan::fuse::uniform;
use crate::plan::march::Queue;
use crate::plan::wide::Row;

impl Writer<'_, '_> {
    /// A read of a component of a cell.
    pub fn load(&mut self, id: ExprId, arg: usize, index: &[ExprId], component: &Component) -> Piece {
        let of = &self.shared.kernel.args[arg];
        let ty = of.element.component_types().get(component.base as usize).copied().unwrap_or(ScalarType::U8);
        if let Some(name) = self.step_value(id, arg, component) {
            return self.truth(ty, name);
        }
        if let Some(text) = self.row_read((id, arg), index, component) {
            return self.truth(ty, text);
        }
        if let Some(text) = self.slot_read(id, arg, index) {
            return self.truth(ty, text);
        }
        if let Some(text) = self.tile_read(id, arg, index, component) {
            return self.truth(ty, text);
        }
        if let Some(text) = self.tagged_read(arg, index, component) {
            return self.truth(ty, text);
        }
        if let Some(name) = self.carried_read(id) {
            return self.truth(ty, name);
        }
        let text = match of.access {
            Access::Table if !self.shared.plan.checked => {
                let index = self.text_of(index[0]);
                format!("{}[{index}]", self.shared.arg(arg))
            }
            Access::All if self.is_plain(arg) && component.dynamic.is_empty() => {
                let index: Vec<String> = index.iter().map(|i| self.expr(*i).within(Binds::Adds)).collect();
                super::cache::in_memory(self.shared, arg, component.base, &index).0
            }
            Access::Table | Access::All => self.read(arg, index, component),
            Access::Read | Access::Write | Access::Shared => match self.offsets_of(id, index) {
                Some(offsets) if self.shared.is_proven(arg, &offsets) => {
                    if let Some(given) = self.shared.side_by_side(arg, component.base as usize, &offsets) {
                        return self.truth(ty, given);
                    }
                    if let Some(kept) = self.kept(arg, &offsets, component) {
                        return self.truth(ty, kept);
                    }
                    self.near(arg, component, &offsets)
                }
                _ if self.shared.plan.checked
                    && (of.access == Access::Read
                        || (of.access == Access::Write && self.shared.plan.is_in_place())) =>
                {
                    self.read(arg, index, component)
                }
                _ => {
                    let position = self.anywhere(arg, index);
                    self.at(arg, component, &position)
                }
            },
        };
        if of.access == Access::Write && self.shared.stay() {
            // A thread without a cell of its own goes along: another one may be writing this.
            let inside = self.shared.own("inside");
            return self.truth(ty, format!("({inside} ? {text} : 0)"));
        }
        self.truth(ty, text)
    }

    /// What the function of a step is given for a read.
    fn step_value(&mut self, id: ExprId, arg: usize, component: &Component) -> Option<String> {
        let steps = self.shared.fused.as_ref().filter(|steps| self.in_kernel && steps.pair.1 == arg)?;
        let offset = steps.offsets[*steps.reads.get(&id)?];
        let given = self.shared.given(arg, &offset[3 - self.shared.kernel.rank..]);
        Some(self.of_cell(given, component))
    }

    /// A component of a cell of a step: the cell itself, if it has no other.
    pub(super) fn of_cell(&self, cell: String, component: &Component) -> String {
        match &self.shared.fused {
            Some(steps) if steps.components() > 1 => format!("{cell}.of[{}]", component.base),
            _ => cell,
        }
    }

    /// The register of a marching thread that holds a component of a cell, if one does.
    fn kept(&mut self, arg: usize, offsets: &[i64], component: &Component) -> Option<String> {
        let (along, across) = offsets.split_first()?;
        let holds = |queue: &Queue| {
            let (lo, hi) = queue.along;
            queue.arg == arg
                && queue.component == component.base as usize
                && queue.across == across
                && (lo..=hi).contains(along)
        };
        let number = self.shared.queues.iter().position(holds).filter(|_| component.dynamic.is_empty())?;
        self.shared.used.queues.insert(number);
        // What fills it.
        self.shared.plane(arg, component.base as usize);
        self.nearby(arg, offsets);
        Some(self.shared.register(number, *along))
    }

    /// A value in memory, as what it is in an expression.
    fn truth(&self, ty: ScalarType, text: String) -> Piece {
        match ty {
            ScalarType::Bool => Piece::whole(format!("({text} != 0)")),
            _ => Piece::whole(text),
        }
    }

    /// The value of a row that a read is of, if the cells of a thread are side by side.
    pub fn row_read(&mut self, (id, arg): (ExprId, usize), index: &[ExprId], component: &Component) -> Option<String> {
        self.shared.side.as_ref()?;
        let offsets = self.offsets_of(id, index)?;
        let e = self.shared.own("e");
        if self.shared.side.as_ref()?.kept.contains(&arg) {
            return Some(format!("{}.at[{e}]", self.shared.stored_name(arg, component.base as usize)));
        }
        let (along, before) = offsets.split_last()?;
        let is = |row: &&Row| row.arg == arg && row.component == component.base as usize && row.before == before;
        let row = self.shared.side.as_ref()?.rows.iter().find(is)?.clone();
        let name = self.shared.row_name(&row);
        Some(match along - row.along.0 {
            0 => format!("{name}[{e}]"),
            by => format!("{name}[{e} + {by}]"),
        })
    }

    /// The place of a component of a cell that is written.
    pub fn store_place(&mut self, arg: usize, index: &[ExprId], component: &Component) -> String {
        if self.shared.side.is_some() {
            let (name, e) = (self.shared.stored_name(arg, component.base as usize), self.shared.own("e"));
            return format!("{name}.at[{e}]");
        }
        let own = || (self.in_kernel && self.shared.writes_own[arg]).then(|| vec![0; index.len()]);
        match self.offsets(index).or_else(own) {
            Some(offsets) => self.near(arg, component, &offsets),
            None => {
                let position = self.anywhere(arg, index);
                self.at(arg, component, &position)
            }
        }
    }

    /// The constants that the index of a read adds to the axes of `at`: what plans rely on is what the analysis found,
    /// which may be more than the index shows.
    fn offsets_of(&self, id: ExprId, index: &[ExprId]) -> Option<Vec<i64>> {
        let found = || self.shared.nearby.get(&id).filter(|_| self.in_kernel).cloned();
        self.offsets(index).or_else(found)
    }

    /// The constants that an index adds to the axes of `at`, as it is written.
    fn offsets(&self, index: &[ExprId]) -> Option<Vec<i64>> {
        let offset = |(axis, id): (usize, &ExprId)| {
            let offset = self.known.offset(self.body, *id)?;
            (offset.axis == Some(axis as u32)).then_some(offset.by)
        };
        let of_cell = index.len() == self.shared.kernel.rank;
        index.iter().enumerate().map(offset).collect::<Option<Vec<i64>>>().filter(|_| of_cell)
    }

    /// `p + s0 - 1`.
    fn nearby(&mut self, arg: usize, offsets: &[i64]) -> String {
        let group = self.shared.group(arg);
        let (mut rest, mut past) = (offsets.to_vec(), String::new());
        for (axis, by) in rest.iter_mut().enumerate() {
            if let Some(step) = ghosts::step(self.shared, arg, axis, *by) {
                past += &step;
                *by = 0;
            }
        }
        around(self.shared, group, &rest) + &past
    }

    /// The position of any cell that the region holds.
    fn anywhere(&mut self, arg: usize, index: &[ExprId]) -> String {
        let mut coordinates = Vec::with_capacity(index.len());
        for (axis, i) in index.iter().enumerate() {
            let index = self.expr(*i).within(Binds::Adds);
            coordinates.push(ghosts::coordinate(self.shared, arg, axis, index));
        }
        position(self.shared, arg, &coordinates)
    }

    /// A component of a cell at constants from this one.
    fn near(&mut self, arg: usize, component: &Component, offsets: &[i64]) -> String {
        let position = self.nearby(arg, offsets);
        match component.dynamic.is_empty() {
            true => placed(self.shared, arg, component.base as usize, &position),
            false => self.at(arg, component, &position),
        }
    }

    /// A component at a position of its plane.
    fn at(&mut self, arg: usize, component: &Component, position: &str) -> String {
        if component.dynamic.is_empty() {
            return format!("{}[{position}]", self.shared.plane(arg, component.base as usize));
        }
        let entries: Vec<String> = component
            .dynamic
            .iter()
            // Sums of entries fit any integer.
            .map(|(index, _, len)| self.entry(*index, u64::from(*len)).within(Binds::Multiplies))
            .collect();
        let steps: Vec<(u32, u32)> = component.dynamic.iter().map(|(_, stride, len)| (*stride, *len)).collect();
        let reader = Reader { arg, base: component.base as usize, entries: steps };
        let pointer = self.shared.arg(arg);
        let group = u32::from(self.shared.group(arg));
        let plane = self.shared.field(Field::Plane(group));
        component_at(self.shared, &reader, &pointer, &entries, &plane, position)
    }

    /// A call of the function that reads this component.
    fn read(&mut self, arg: usize, index: &[ExprId], component: &Component) -> String {
        let (reader, values) = self.reading(arg, index, component);
        format!("{}({})", self.shared.reader(reader), values.join(", "))
    }

    /// What reads this component, and what it is given.
    pub fn reading(&mut self, arg: usize, index: &[ExprId], component: &Component) -> (Reader, Vec<String>) {
        let of = &self.shared.kernel.args[arg];
        let checked = self.shared.plan.checked;
        let entries: Vec<(u32, u32)> = component.dynamic.iter().map(|(_, stride, len)| (*stride, *len)).collect();
        let reader = Reader { arg, base: component.base as usize, entries };
        let mut values = Vec::new();
        match of.access {
            Access::Read | Access::Write | Access::Shared => {
                values.push("box".to_owned());
                values.push(match component.dynamic.is_empty() {
                    true => self.shared.plane(arg, component.base as usize),
                    false => self.shared.arg(arg),
                });
            }
            Access::All | Access::Table => {
                values.push(self.shared.arg(arg));
                values.push(self.shared.extra(arg));
            }
        }
        values.extend(index.iter().map(|i| self.text_of(*i)));
        values.extend(component.dynamic.iter().map(|d| self.text_of(d.0)));
        if checked || (!component.dynamic.is_empty() && self.shared.may_fault) {
            values.push(self.shared.fault());
        }
        mention(self.shared, &reader);
        self.shared.reader(reader.clone());
        (reader, values)
    }
}

/// Whether the components of an argument are counted from one pointer.
pub(super) fn is_joint(shared: &Shared<'_>, arg: usize) -> bool {
    let of = &shared.kernel.args[arg];
    let scalars = of.element.components() > 1 && uniform(&of.element).is_some();
    scalars && shared.plan.joins(shared.kernel.rank) && matches!(of.access, Access::Read | Access::Write)
}

/// A component of a tiled argument at a position: of its plane, or where planes are counted from one pointer so many
/// planes further.
pub(super) fn placed(shared: &mut Shared<'_>, arg: usize, component: usize, position: &str) -> String {
    if !is_joint(shared, arg) {
        return format!("{}[{position}]", shared.plane(arg, component));
    }
    let (pointer, group) = (shared.arg(arg), shared.group(arg));
    match component {
        0 => format!("{pointer}[{position}]"),
        1 => format!("{pointer}[{position} + {}]", plane_cells(shared, group)),
        planes => format!("{pointer}[{position} + {planes} * {}]", plane_cells(shared, group)),
    }
}

/// The cells of a plane of such an argument: `plane`.
pub(super) fn plane_cells(shared: &mut Shared<'_>, group: u8) -> String {
    let field = Field::Plane(group.into());
    shared.used.fields.insert(field);
    let name = shared.field_name(field);
    shared.own(&name)
}

/// `p + s0 - 1`.
pub(super) fn around(shared: &mut Shared<'_>, group: u8, offsets: &[i64]) -> String {
    let mut text = shared.position(group);
    for (axis, by) in offsets.iter().enumerate().filter(|(_, by)| **by != 0) {
        let sign = if *by < 0 { '-' } else { '+' };
        let by = by.unsigned_abs();
        text += &match (axis + 1 == offsets.len(), by) {
            (true, _) => format!(" {sign} {by}"),
            (false, 1) => format!(" {sign} {}", shared.stride(group, axis)),
            (false, _) => format!(" {sign} {by} * {}", shared.stride(group, axis)),
        };
    }
    text
}

/// Notes what the function will use.
pub(super) fn mention(shared: &mut Shared<'_>, reader: &Reader) {
    let (arg, checked) = (reader.arg, shared.plan.checked);
    let of = &shared.kernel.args[arg];
    if checked {
        shared.helper(Helper::RaiseRange);
    }
    if !reader.entries.is_empty() && shared.may_fault {
        shared.helper(Helper::Entry);
    }
    if of.access == Access::Read {
        for axis in 0..of.rank as u32 {
            shared.field(Field::BoundLo(arg as u32, axis));
            shared.field(Field::BoundHi(arg as u32, axis));
        }
        let index = vec![String::new(); of.rank];
        position(shared, arg, &index);
        if !reader.entries.is_empty() {
            let group = u32::from(shared.group(arg));
            shared.field(Field::Plane(group));
        }
    }
}

/// `(i - box.origin0) * box.stride0 + (j - box.origin1)`.
pub(super) fn position(shared: &mut Shared<'_>, arg: usize, index: &[String]) -> String {
    let group = u32::from(shared.group(arg));
    let mut terms = Vec::new();
    for (axis, i) in index.iter().enumerate() {
        let origin = shared.field(Field::Origin(group, axis as u32));
        let mut term = format!("({i} - {origin})");
        if axis + 1 < index.len() {
            term += &format!(" * {}", shared.field(Field::Stride(group, axis as u32)));
        }
        terms.push(term);
    }
    terms.join(" + ")
}

/// A component without run-time entries at a position of its plane.
pub(super) fn value_at(shared: &Shared<'_>, reader: &Reader, pointer: &str, plane: &str, position: &str) -> String {
    component_at(shared, reader, pointer, &[], plane, position)
}

/// A component behind run-time entries, at a position of its plane.
fn component_at(
    shared: &Shared<'_>,
    reader: &Reader,
    pointer: &str,
    entries: &[String],
    plane: &str,
    position: &str,
) -> String {
    let of = &shared.kernel.args[reader.arg];
    let mut first = planes_before(&of.element, reader.base).to_string();
    if first == "0" {
        first.clear();
    }
    for (entry, (stride, _)) in entries.iter().zip(&reader.entries) {
        let between = planes_between(&of.element, reader.base, *stride as usize);
        let plus = if first.is_empty() { "" } else { " + " };
        first += &if between == 1 { format!("{plus}{entry}") } else { format!("{plus}{between} * {entry}") };
    }
    let planes = match first.as_str() {
        "" => String::new(),
        plain if plain.bytes().all(|b| b.is_ascii_alphanumeric()) => format!("(i64){plain} * {plane}"),
        _ => format!("(i64)({first}) * {plane}"),
    };
    if uniform(&of.element).is_some() {
        return if planes.is_empty() {
            format!("{pointer}[{position}]")
        } else {
            format!("{pointer}[{planes} + {position}]")
        };
    }
    let ty = of.element.component_types().get(reader.base).copied().unwrap_or(ScalarType::U8);
    let cast = shared.dialect().pointer(memory(ty), of.access == Access::Write);
    let start = if planes.is_empty() { pointer.to_owned() } else { format!("({pointer} + {planes})") };
    format!("(({cast}){start})[{position}]")
}

/// The functions that read.
pub(super) fn readers(shared: &mut Shared<'_>) -> Text {
    let mut text = Text::default();
    for (reader, name) in shared.used.readers.clone() {
        write_reader(shared, &mut text, &reader, &name);
        text.line("");
    }
    text
}

/// The parameters of the function that reads, and their names.
pub(super) fn reader_params(shared: &Shared<'_>, reader: &Reader) -> (Vec<String>, Vec<String>) {
    let dialect = shared.dialect();
    let (arg, checked) = (reader.arg, shared.plan.checked);
    let of = &shared.kernel.args[arg];
    let ty = of.element.component_types().get(reader.base).copied().unwrap_or(ScalarType::U8);
    // With entries the function finds the plane; else the caller has given it, but for whole arrays.
    let plain = reader.entries.is_empty() && matches!(of.access, Access::Read | Access::Write);
    let pointee = if plain { memory(ty) } else { shared.pointee(arg) };
    let data = dialect.pointer(pointee, false);
    let mut params = Vec::new();
    match of.access {
        Access::All => params.extend([format!("{data} data"), format!("{} regions", dialect.pointer("i64", false))]),
        Access::Table => params.extend([format!("{data} data"), "u64 length".to_owned()]),
        Access::Read | Access::Write | Access::Shared => {
            params.extend(["const Geometry box".to_owned(), format!("{data} data")])
        }
    }
    let index_type = if of.access == Access::Table { "u64" } else { "i64" };
    params.extend((0..of.rank).map(|axis| format!("{index_type} i{axis}")));
    params.extend((0..reader.entries.len()).map(|n| format!("u64 e{n}")));
    if checked || (!reader.entries.is_empty() && shared.may_fault) {
        params.push("Fault fault".into());
    }
    let name = |param: &String| param.rsplit(' ').next().unwrap_or_default().to_owned();
    let names = params.iter().map(name).collect();
    (params, names)
}

fn write_reader(shared: &mut Shared<'_>, text: &mut Text, reader: &Reader, name: &str) {
    let dialect = shared.dialect();
    let (arg, checked) = (reader.arg, shared.plan.checked);
    let of = &shared.kernel.args[arg];
    let ty = of.element.component_types().get(reader.base).copied().unwrap_or(ScalarType::U8);
    let (params, _) = reader_params(shared, reader);
    let entries_checked = !reader.entries.is_empty() && shared.may_fault;
    let entries: Vec<String> = reader
        .entries
        .iter()
        .enumerate()
        .map(|(n, (_, len))| if entries_checked { format!("tida_entry(e{n}, {len}, fault)") } else { format!("e{n}") })
        .collect();
    let result = memory(ty);
    text.block(format!("{} {result} {name}({})", dialect.device(), params.join(", ")), |text| {
        if checked {
            let outside = outside(shared, arg);
            let cast = if of.access == Access::Table { "(i64)" } else { "" };
            let index: String =
                (0..4).map(|d| if d < of.rank { format!(", {cast}i{d}") } else { ", 0".into() }).collect();
            text.block(format!("if ({outside})"), |text| {
                text.line(format!("tida_raise_out_of_range(fault, {arg}{index});"));
                text.line("return 0;");
            });
        }
        let index: Vec<String> = (0..of.rank).map(|axis| format!("i{axis}")).collect();
        let value = match of.access {
            Access::Table => "data[i0]".into(),
            Access::All => {
                whole(text, of.rank, dialect.pointer("i64", false));
                let plane = format!("region[{}]", 2 * of.rank);
                let place: Vec<String> = (0..of.rank)
                    .map(|d| {
                        let stride =
                            if d + 1 == of.rank { String::new() } else { format!(" * region[{}]", 1 + of.rank + d) };
                        format!("(i{d} - region[{}]){stride}", 1 + d)
                    })
                    .collect();
                component_at(shared, reader, "(data + region[0])", &entries, &plane, &place.join(" + "))
            }
            Access::Read | Access::Write | Access::Shared => {
                let place = position(shared, arg, &index);
                if reader.entries.is_empty() {
                    format!("data[{place}]")
                } else {
                    let group = u32::from(shared.group(arg));
                    let plane = shared.field(Field::Plane(group));
                    component_at(shared, reader, "data", &entries, &plane, &place)
                }
            }
        };
        text.line(format!("return {value};"));
    });
}

/// The condition that a cell is not one that the argument holds.
pub(super) fn outside(shared: &mut Shared<'_>, arg: usize) -> String {
    let of = &shared.kernel.args[arg];
    let axes = 0..of.rank;
    let tests: Vec<String> = match of.access {
        Access::Table => vec!["i0 >= length".into()],
        // The shape follows the numbers of regions.
        Access::All => axes.map(|d| format!("i{d} < 0 || i{d} >= regions[{}]", of.rank + d)).collect(),
        Access::Read | Access::Write | Access::Shared => axes
            .map(|d| {
                let lo = shared.field(Field::BoundLo(arg as u32, d as u32));
                let hi = shared.field(Field::BoundHi(arg as u32, d as u32));
                format!("i{d} < {lo} || i{d} >= {hi}")
            })
            .collect(),
    };
    tests.join(" || ")
}

/// Finds the region that holds a cell of a whole array: `region` points to its words.
fn whole(text: &mut Text, rank: usize, words: String) {
    text.line(format!("{words} ends = regions + {};", 2 * rank));
    text.line("i64 number = 0;");
    for axis in 0..rank {
        text.block("", |text| {
            text.line("i64 n = 0;");
            text.line(format!("while (n + 1 < regions[{axis}] && ends[n] <= i{axis}) n++;"));
            text.line(format!("number = number * regions[{axis}] + n;"));
            text.line(format!("ends += regions[{axis}];"));
        });
    }
    text.line(format!("{words} region = ends + number * {};", 2 * rank + 1));
}
