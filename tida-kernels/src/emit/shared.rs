//! What all parts of a text share while it is written.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Field;
use super::ghosts::Way;
use super::helpers::{Helper, Helpers};
use super::names::{Names, legal};
use super::types::{Types, memory};
use crate::analysis::Analysis;
use crate::codec::Codec;
use crate::element::{ElementType, ScalarType};
use crate::ir::{Access, Arg, ExprId, ExprKind, Kernel, Span};
use crate::plan::cache::{Scope, sharing};
use crate::plan::coarse::Coarse;
use crate::plan::fuse::{Steps, steps, uniform};
use crate::plan::maps::{Map, maps};
use crate::plan::march::Queue;
use crate::plan::planes::{Planes, planes};
use crate::plan::registers::{Carried, kept};
use crate::plan::wide::{Read, Row, Side, Wide, side, wide};
use crate::plan::{Dialect, Goal, Plan};

/// A function that reads one component of an argument: with checks, or through the regions of a whole array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reader {
    pub arg: usize,
    /// First component.
    pub base: usize,
    /// Stride in components and number of entries of each run-time entry.
    pub entries: Vec<(u32, u32)>,
}

/// What the text uses. What is not used is not emitted.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    pub helpers: Helpers,
    pub fields: BTreeSet<Field>,
    pub args: BTreeSet<usize>,
    /// Words of whole arrays and lengths of tables.
    pub extra: BTreeSet<usize>,
    pub captures: BTreeSet<usize>,
    /// Groups whose position of the cell is used, and those whose strides are.
    pub positions: BTreeSet<u8>,
    pub strides: BTreeSet<(u8, usize)>,
    /// Pointers to planes: argument and component.
    pub planes: BTreeSet<(usize, usize)>,
    pub coordinates: BTreeSet<usize>,
    pub readers: BTreeMap<Reader, String>,
    /// Steps from the cell that may lead past a face.
    pub ways: BTreeSet<Way>,
    /// Queues of a march, by number.
    pub queues: BTreeSet<usize>,
    /// Whole arrays whose only region is known before the first cell.
    pub single: BTreeSet<usize>,
    /// Those of them that components after the first are read of.
    pub single_planes: BTreeSet<usize>,
    /// Functions that look into a tile before they read: their reader, the tile's steps, and how memory holds its
    /// values.
    pub lookups: BTreeMap<String, (Reader, Vec<i64>, Option<Codec>)>,
    /// Functions that look into tagged lines before they read: their reader.
    pub tags: BTreeMap<String, Reader>,
    /// Functions that check where a slot of a group is: the array, and whether they write.
    pub slots: BTreeSet<(usize, bool)>,
    /// Cells of a march end in loops of the user's.
    pub leaves: bool,
    /// The line of the body from which on it is for cells of some columns alone.
    pub ends: Option<usize>,
    /// Cells raise faults.
    pub raises: bool,
    /// Values that saturate are counted.
    pub counts: bool,
}

/// What writing changes.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    used: Used,
    names: Names,
    own: BTreeMap<String, String>,
}

/// What is fixed before a line is written.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    pub kernel: &'a Kernel,
    pub plan: &'a Plan,
    /// Some division or entry can fault.
    pub may_fault: bool,
    pub names: Names,
    pub types: Types,
    pub args: Vec<String>,
    pub captures: Vec<String>,
    pub functions: Vec<String>,
    /// How what memory holds of arguments is coded, in the order of use.
    codecs: Vec<Codec>,
    /// Functions that can fault.
    pub faulting: Vec<bool>,
    /// Offsets from `at` that every launch has proven, by argument.
    proven: Vec<BTreeSet<Vec<i64>>>,
    /// Offsets from `at` of reads, by their expressions, and the arguments that are written in that cell alone.
    pub nearby: HashMap<ExprId, Vec<i64>>,
    pub writes_own: Vec<bool>,
    /// What a marching thread keeps in registers.
    pub queues: Vec<Queue>,
    /// What loops carry in registers.
    pub carried: Vec<Carried>,
    /// What a thread of a reduction reads of several cells side by side at once.
    pub wide: Option<Wide>,
    /// What a marching thread with cells side by side keeps of them and of what is around.
    pub side: Option<Side>,
    /// The planes that its block shares.
    pub planes: Option<Planes>,
    /// What has tiles in shared memory.
    pub scopes: Vec<Scope>,
    /// How a thread has several cells, if it has.
    pub coarse: Option<Coarse>,
    /// What of that is fetched by tensor maps.
    pub maps: Vec<Map>,
    /// Arguments whose reads go through tagged lines.
    pub tagged: Vec<usize>,
    /// The reads that a step finds with threads of its block.
    pub fused: Option<Steps>,
    /// Accesses of slots that are checked as they happen: argument, whether it writes, the read, its place.
    pub unproven: Vec<(usize, bool, Option<ExprId>, Span)>,
    /// What is called that holds a group's cells along each axis.
    pub group_len: String,
    /// By argument: what its group is called in the text, with `_` before it.
    suffixes: Vec<String>,
    /// Variables of the emitter's own: the names users see in examples, if theirs leave them free.
    own: BTreeMap<String, String>,
    pub used: Used,
}

impl<'a> Shared<'a> {
    pub fn new(kernel: &'a Kernel, analysis: &Analysis, plan: &'a Plan) -> Shared<'a> {
        let mut names = Names::new();
        let types = Types::of(kernel, &mut names);
        let functions = kernel.functions.iter().map(|f| names.fresh(&format!("{}_fn", legal(&f.name)))).collect();
        let args = kernel.args.iter().map(|a| names.fresh(&a.name)).collect();
        let captures = kernel.captures.iter().map(|c| names.fresh(&c.name)).collect();
        let kept = kept(kernel, analysis, plan);
        let mut shared = Shared {
            kernel,
            plan,
            may_fault: analysis.may_fault || !analysis.complete,
            names,
            types,
            args,
            captures,
            functions,
            codecs: codecs(kernel),
            faulting: Vec::new(),
            proven: kernel.args.iter().enumerate().map(|(n, arg)| proven(analysis, n, arg)).collect(),
            nearby: nearby(analysis, kernel),
            writes_own: (0..kernel.args.len()).map(|n| writes_own(analysis, n)).collect(),
            queues: kept.queues,
            carried: kept.carried,
            wide: if matches!(plan.goal, Goal::Segments(_)) && !plan.checked { wide(kernel, analysis) } else { None },
            side: if plan.beside(kernel.rank) > 1 { side(kernel, analysis) } else { None },
            planes: None,
            scopes: Vec::new(),
            coarse: None,
            maps: Vec::new(),
            tagged: Vec::new(),
            fused: plan.fused.as_ref().and_then(|fused| {
                let steps = steps(kernel, analysis, (fused.out.into(), fused.inp.into())).ok()?;
                Some(steps.between(&fused.faces))
            }),
            unproven: super::group::unproven(kernel, analysis),
            group_len: String::new(),
            suffixes: Vec::new(),
            own: BTreeMap::new(),
            used: Used::default(),
        };
        if let (Some(side), Some(rows)) = (&shared.side, plan.shares(kernel.rank)) {
            shared.planes = planes(side, rows as usize).filter(|planes| planes.fits(side.cells, plan.block));
        }
        if plan.caches() {
            let sharing = sharing(kernel, analysis);
            (shared.scopes, shared.tagged) = (sharing.planned(kernel, plan), sharing.tagged(kernel, plan));
            shared.coarse = sharing.coarse.filter(|_| plan.cells_of_thread() != [1, 1]);
            shared.maps = maps(&shared.scopes, kernel, plan);
        }
        shared.suffixes = (0..kernel.args.len()).map(|n| shared.suffix_of(n)).collect();
        shared
    }

    /// Whether threads without a cell of their own stay.
    pub fn stay(&self) -> bool {
        !self.scopes.is_empty() || !self.tagged.is_empty()
    }

    /// Everything that writing changes.
    pub fn mark(&self) -> Mark {
        Mark { used: self.used.clone(), names: self.names.clone(), own: self.own.clone() }
    }

    /// Forgets what was written since.
    pub fn back_to(&mut self, mark: &Mark) {
        let Mark { used, names, own } = mark.clone();
        (self.used, self.names, self.own) = (used, names, own);
    }

    pub fn dialect(&self) -> Dialect {
        self.plan.dialect
    }

    fn tiled(&self, arg: usize) -> bool {
        matches!(self.kernel.args[arg].access, Access::Read | Access::Write)
    }

    /// The number of an argument's geometry.
    pub fn group(&self, arg: usize) -> u8 {
        self.plan.groups.get(arg).copied().unwrap_or(0)
    }

    /// Nothing if all arguments share one geometry, else `_` and the name of the first with this one.
    fn suffix_of(&self, arg: usize) -> String {
        let tiled: Vec<usize> = (0..self.kernel.args.len()).filter(|n| self.tiled(*n)).collect();
        if tiled.iter().all(|n| self.group(*n) == self.group(arg)) {
            return String::new();
        }
        let first = tiled.into_iter().find(|n| self.group(*n) == self.group(arg)).unwrap_or(arg);
        format!("_{}", self.args[first])
    }

    fn group_suffix(&self, group: u8) -> &str {
        let first = (0..self.kernel.args.len()).find(|n| self.tiled(*n) && self.group(*n) == group);
        first.map_or("", |n| &self.suffixes[n])
    }

    /// Whether a read at `at` plus constants needs no check.
    pub fn is_proven(&self, arg: usize, offsets: &[i64]) -> bool {
        // Of what they write other kernels read nothing that is not proven.
        let written = self.kernel.args[arg].access == Access::Write;
        let own = written && (!self.plan.is_in_place() || offsets.iter().all(|offset| *offset == 0));
        !self.plan.checked || own || self.proven[arg].contains(offsets)
    }

    /// A variable of the emitter's own.
    pub fn own(&mut self, name: &str) -> String {
        if let Some(known) = self.own.get(name) {
            return known.clone();
        }
        let fresh = self.names.fresh(name);
        self.own.insert(name.to_owned(), fresh.clone());
        fresh
    }

    // What is used from now on.

    pub fn helper(&mut self, helper: Helper) -> String {
        self.used.helpers.need(helper)
    }

    /// The function that gives the value of a code.
    pub fn decode(&mut self, codec: Codec) -> String {
        let number = self.number(&codec);
        self.helper(Helper::Decode(number, codec))
    }

    /// The value of what memory holds, if that is a code.
    pub fn value(&mut self, codec: Option<Codec>, held: String) -> String {
        match codec {
            Some(codec) => format!("{}({held})", self.decode(codec)),
            None => held,
        }
    }

    /// The type of such a value.
    pub fn value_type(&self, reader: &Reader, codec: Option<Codec>) -> ScalarType {
        codec.map_or_else(|| self.component_type(reader.arg, reader.base as u32), |codec| codec.value())
    }

    /// The function that gives the code of a value, and counts it if it saturates, or not.
    pub fn encode(&mut self, codec: Codec, counted: bool) -> String {
        let number = self.number(&codec);
        self.helper(Helper::Encode(number, codec, counted))
    }

    /// The place of what counts values of an argument that saturate. A step of several is told its own.
    pub fn counter(&mut self, arg: u32) -> String {
        if self.fused.is_some() { self.own("place") } else { arg.to_string() }
    }

    fn number(&self, codec: &Codec) -> u8 {
        self.codecs.iter().position(|known| known == codec).unwrap_or(self.codecs.len()) as u8
    }

    /// What a cell raises a fault with.
    pub fn fault(&mut self) -> String {
        self.used.raises = true;
        "fault".into()
    }

    /// The record of the launch, to count in.
    pub fn record(&mut self) -> String {
        self.used.counts = true;
        self.record_name().into()
    }

    pub fn record_name(&self) -> &'static str {
        "faults"
    }

    pub fn arg(&mut self, arg: usize) -> String {
        self.used.args.insert(arg);
        if self.tiled(arg) {
            self.used.fields.insert(Field::Base(arg as u32));
        }
        self.args[arg].clone()
    }

    /// Words of a whole array, or the length of a table.
    pub fn extra(&mut self, arg: usize) -> String {
        self.used.extra.insert(arg);
        let table = self.kernel.args[arg].access == Access::Table;
        let name = format!("{}_{}", self.args[arg], if table { "length" } else { "regions" });
        self.own(&name)
    }

    pub fn capture(&mut self, n: usize) -> String {
        self.used.captures.insert(n);
        self.captures[n].clone()
    }

    /// The coordinate of the cell along an axis.
    pub fn coordinate(&mut self, axis: usize) -> String {
        self.used.coordinates.insert(axis);
        self.used.fields.insert(Field::Lo(axis as u32));
        self.own(&format!("at{axis}"))
    }

    /// A word of the geometry: `box.extent0`.
    pub fn field(&mut self, field: Field) -> String {
        self.used.fields.insert(field);
        format!("box.{}", self.field_name(field))
    }

    pub fn field_name(&self, field: Field) -> String {
        let of = |g: u32| self.group_suffix(g as u8);
        let arg = |a: u32| self.args.get(a as usize).map_or("", String::as_str);
        match field {
            Field::Extent(d) => format!("extent{d}"),
            Field::Colour(d) => format!("colour{d}"),
            Field::Lo(d) => format!("lo{d}"),
            Field::Base(a) => format!("base_{}", arg(a)),
            Field::First(g) => format!("first{}", of(g)),
            Field::Stride(g, d) => format!("stride{d}{}", of(g)),
            Field::Origin(g, d) => format!("origin{d}{}", of(g)),
            Field::Plane(g) => format!("plane{}", of(g)),
            Field::BoundLo(a, d) => format!("from{d}_{}", arg(a)),
            Field::BoundHi(a, d) => format!("to{d}_{}", arg(a)),
            Field::FirstRow => "first_row".into(),
            Field::RowStep(d) => format!("row_step{d}"),
            Field::Segments => "segments".into(),
            Field::FirstSegment => "first_segment".into(),
            Field::LineLo => "line_lo".into(),
            Field::LineCells => "line_cells".into(),
            Field::PartLo => "part_lo".into(),
            Field::PartHi => "part_hi".into(),
        }
    }

    /// The position of the cell in a plane of the group.
    pub fn position(&mut self, group: u8) -> String {
        self.used.positions.insert(group);
        self.used.fields.insert(Field::First(group.into()));
        for axis in 0..self.kernel.rank.saturating_sub(1) {
            self.stride(group, axis);
        }
        let name = format!("p{}", self.group_suffix(group));
        self.own(&name)
    }

    /// The distance between neighbours along an axis.
    pub fn stride(&mut self, group: u8, axis: usize) -> String {
        self.used.strides.insert((group, axis));
        self.used.fields.insert(Field::Stride(group.into(), axis as u32));
        let name = format!("s{axis}{}", self.group_suffix(group));
        self.own(&name)
    }

    /// The pointer to the plane of a component.
    pub fn plane(&mut self, arg: usize, component: usize) -> String {
        let base = self.arg(arg);
        if self.kernel.args[arg].element.components() == 1 {
            return base;
        }
        self.used.planes.insert((arg, component));
        if component > 0 {
            let group = self.group(arg);
            self.used.fields.insert(Field::Plane(group.into()));
        }
        self.plane_name(arg, component)
    }

    pub fn plane_name(&mut self, arg: usize, component: usize) -> String {
        let path = component_path(&self.kernel.args[arg].element, component);
        let name = format!("{}{path}", self.args[arg]);
        self.own(&name)
    }

    /// The register of a queue that holds the value at an offset along axis 0: `u_m1_0_0`.
    pub fn register(&mut self, queue: usize, along: i64) -> String {
        let Queue { arg, component, across, .. } = self.queues[queue].clone();
        let path = component_path(&self.kernel.args[arg].element, component);
        let name = format!("{}{path}{}", self.args[arg], place(std::iter::once(along).chain(across)));
        self.own(&name)
    }

    /// What a step is given of the array that it continues from, at one of its offsets: `u_m1_0_0`.
    pub fn given(&mut self, inp: usize, offset: &[i64]) -> String {
        let name = format!("{}{}", self.args[inp], place(offset.iter().copied()));
        self.own(&name)
    }

    /// What holds a value that was read with those of cells side by side: `u_m1_0`.
    pub fn wide_name(&mut self, read: &Read) -> String {
        let path = component_path(&self.kernel.args[read.arg].element, read.component);
        let name = format!("{}{path}{}", self.args[read.arg], place(read.offsets.iter().copied()));
        self.own(&name)
    }

    /// The same for a read of the kernel, if there is one.
    pub fn side_by_side(&mut self, arg: usize, component: usize, offsets: &[i64]) -> Option<String> {
        let is = |read: &&Read| read.arg == arg && read.component == component && read.offsets == offsets;
        let read = self.wide.as_ref()?.reads.iter().find(is)?.clone();
        Some(self.wide_name(&read))
    }

    /// A row of values: `u_m1_0`.
    pub fn row_name(&mut self, row: &Row) -> String {
        let path = component_path(&self.kernel.args[row.arg].element, row.component);
        let name = format!("{}{path}{}", self.args[row.arg], place(row.before.iter().copied()));
        self.own(&name)
    }

    /// The values that are stored at once.
    pub fn stored_name(&mut self, arg: usize, component: usize) -> String {
        let path = component_path(&self.kernel.args[arg].element, component);
        let name = format!("{}{path}_row", self.args[arg]);
        self.own(&name)
    }

    /// The function that reads an argument in some way.
    pub fn reader(&mut self, reader: Reader) -> String {
        if let Some(name) = self.used.readers.get(&reader) {
            return name.clone();
        }
        let path = component_path(&self.kernel.args[reader.arg].element, reader.base);
        let entries: String = reader.entries.iter().map(|(stride, _)| format!("_by{stride}")).collect();
        let name = format!("read_{}{path}{entries}", self.args[reader.arg]);
        let name = self.own(&name);
        self.used.readers.insert(reader, name.clone());
        name
    }

    /// The type that a pointer to the argument points to.
    pub fn pointee(&self, arg: usize) -> &'static str {
        uniform(&self.kernel.args[arg].element).map_or("u8", memory)
    }
}

/// `_m1_0_p2`: an offset in a name.
fn place(offset: impl Iterator<Item = i64>) -> String {
    let part = |by: i64| match by {
        0 => "_0".to_owned(),
        ..0 => format!("_m{}", by.unsigned_abs()),
        _ => format!("_p{by}"),
    };
    offset.map(part).collect()
}

/// Where a component's plane starts, in planes of what the argument's pointer points to.
pub(super) fn planes_before(element: &ElementType, component: usize) -> usize {
    match uniform(element) {
        Some(_) => component,
        None => element.component_types().iter().take(component).map(|ty| ty.size()).sum(),
    }
}

/// The same for what lies between an entry and the next, `stride` components on.
pub(super) fn planes_between(element: &ElementType, base: usize, stride: usize) -> usize {
    match uniform(element) {
        Some(_) => stride,
        None => element.component_types().iter().skip(base).take(stride).map(|ty| ty.size()).sum(),
    }
}

/// `_v_0`: the fields and entries that lead to a component.
pub(super) fn component_path(element: &ElementType, component: usize) -> String {
    match element {
        ElementType::Scalar(_) => String::new(),
        ElementType::Array { element, .. } => {
            let size = element.components().max(1);
            format!("_{}{}", component / size, component_path(element, component % size))
        }
        ElementType::Struct { fields, .. } => {
            let mut rest = component;
            for (name, field) in fields.iter() {
                let size = field.components();
                if rest < size {
                    return format!("_{}{}", legal(name), component_path(field, rest));
                }
                rest -= size;
            }
            format!("_{component}")
        }
    }
}

/// The offsets from `at` of the reads that always happen: each launch proves them.
fn proven(analysis: &Analysis, number: usize, arg: &Arg) -> BTreeSet<Vec<i64>> {
    let mut all = BTreeSet::new();
    let tiled = matches!(arg.access, Access::Read | Access::Write);
    let Some(usage) = analysis.args.get(number).filter(|_| analysis.complete && tiled) else { return all };
    for access in usage.accesses.iter().filter(|a| !a.write && !a.conditional) {
        all.extend(access.offsets());
    }
    all
}

/// The constants that a read adds to the axes of `at`, as the analysis has found them, by its expression.
fn nearby(analysis: &Analysis, kernel: &Kernel) -> HashMap<ExprId, Vec<i64>> {
    let (mut all, mut others) = (HashMap::new(), Vec::new());
    let tiled = |arg: &Arg| arg.rank == kernel.rank && matches!(arg.access, Access::Read | Access::Write);
    let args = kernel.args.iter().zip(&analysis.args).filter(|(arg, _)| analysis.complete && tiled(arg));
    for access in args.flat_map(|(_, usage)| &usage.accesses) {
        let Some(expr) = access.expr else { continue };
        match access.offsets() {
            Some(offsets) if all.get(&expr).is_none_or(|known| *known == offsets) => {
                all.insert(expr, offsets);
            }
            _ => others.push(expr),
        }
    }
    all.retain(|expr, _| !others.contains(expr));
    all
}

/// Whether an argument is written in the cell `at` alone.
fn writes_own(analysis: &Analysis, number: usize) -> bool {
    let usage = analysis.args.get(number).filter(|usage| analysis.complete && usage.may_write);
    usage.is_some_and(|usage| usage.accesses.iter().filter(|access| access.write).all(|access| access.at_cell))
}

/// The codecs of a kernel, each once.
fn codecs(kernel: &Kernel) -> Vec<Codec> {
    let arrays = kernel.group.iter().flat_map(|group| &group.arrays);
    let mut codecs: Vec<Codec> = Vec::new();
    for codec in arrays.filter_map(|array| array.codec) {
        if !codecs.contains(&codec) {
            codecs.push(codec);
        }
    }
    for expr in &kernel.body.exprs {
        if let ExprKind::Decode(codec, _) | ExprKind::Encode { codec, .. } = &expr.kind
            && !codecs.contains(codec)
        {
            codecs.push(*codec);
        }
    }
    codecs
}
