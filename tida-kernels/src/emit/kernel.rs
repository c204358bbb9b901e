//! The whole text of a kernel.

use std::collections::BTreeSet;

use super::access::{is_joint, plane_cells, readers};
use super::body::{Writer, file_name};
use super::cache;
use super::faults;
use super::fused;
use super::ghosts;
use super::group;
use super::line;
use super::maps;
use super::march;
use super::names::legal;
use super::planes;
use super::segments;
use super::shared::{Shared, planes_before};
use super::side;
use super::tagged;
use super::text::Text;
use super::types::memory;
use super::wide;
use super::{Field, Param, Source};
use crate::analysis::Analysis;
use crate::element::ScalarType;
use crate::ir::{Access, Kernel, Type};
use crate::plan::fuse::uniform;
use crate::plan::{Goal, Plan};

/// A parameter with its declaration and its name.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub param: Param,
    pub text: String,
    pub name: String,
}

/// See [`super::emit`].
pub(super) fn emit(kernel: &Kernel, analysis: &Analysis, plan: &Plan) -> Source {
    let mut shared = Shared::new(kernel, analysis, plan);
    let functions = functions(&mut shared);
    let entry = entry_name(&mut shared);
    let locals: Vec<String> = kernel.body.locals.iter().map(|l| shared.names.fresh(&l.name)).collect();
    let sweep = plan.goal == Goal::Sweep;
    let result = (!sweep).then_some(&kernel.result);
    let given = kernel.group.as_ref().and_then(|group| group.len);
    shared.group_len = given.and_then(|len| locals.get(len as usize)).cloned().unwrap_or_default();
    let body = Writer::write(&mut shared, &kernel.body, &kernel.file, result, &locals, given.as_slice());

    let mut main = Text::default();
    let dialect = plan.dialect;
    for axis in 0..kernel.rank as u32 {
        shared.field(Field::Extent(axis));
    }
    let cell = if shared.fused.is_some() {
        main.depth = 1;
        fused::steps(&mut shared, &mut main, body)
    } else if sweep {
        main.depth = 1;
        match plan.marches(kernel.rank) {
            _ if kernel.group.is_some() => group::whole(&mut shared, &mut main, body),
            _ if shared.stay() => {
                let around = cache::around(&mut shared);
                cache::declare(&mut shared, &mut main);
                tagged::declare(&mut shared, &mut main);
                cache::threads(&mut shared, &mut main);
                maps::ready(&mut shared, &mut main);
                tagged::clear(&mut shared, &mut main);
                match shared.coarse {
                    Some(_) => pointers(&mut shared, &mut main),
                    None => top(&mut shared, &mut main),
                }
                cache::regions(&mut shared, &mut main);
                main.append(around);
                main.append(body);
            }
            Some(_) if shared.planes.is_some() => planes::along(&mut shared, &mut main, &body),
            Some(_) if shared.side.is_some() => {
                segments::threads(&mut shared, &mut main);
                cache::regions(&mut shared, &mut main);
                side::along(&mut shared, &mut main, &body);
            }
            Some(_) => {
                segments::threads(&mut shared, &mut main);
                cache::regions(&mut shared, &mut main);
                march::along(&mut shared, &mut main, body);
            }
            None if plan.along.is_some() => {
                segments::threads(&mut shared, &mut main);
                cache::regions(&mut shared, &mut main);
                line::along(&mut shared, &mut main, body, analysis);
            }
            None => {
                segments::threads(&mut shared, &mut main);
                top(&mut shared, &mut main);
                ghosts::ways(&mut shared, &mut main);
                cache::regions(&mut shared, &mut main);
                main.append(body);
            }
        }
        Text::default()
    } else {
        cell_function(&mut shared, body)
    };
    let mut folding = Text::default();
    if let Goal::Segments(op) = plan.goal {
        folding = super::fold::combining(dialect, result_type(kernel), op, &mut shared.used.helpers);
    }
    main.depth = 1;
    match plan.goal {
        Goal::Sweep => {}
        Goal::Values => segments::values(&mut shared, &mut main),
        Goal::Segments(op) => segments::segments(&mut shared, &mut main, op),
    }
    let mut readers = readers(&mut shared);
    readers.append(cache::lookups(&mut shared));
    readers.append(tagged::functions(&mut shared));
    readers.append(group::functions(&mut shared));
    let params = params(&mut shared, true);
    let held = match (&plan.fused, &shared.side, &shared.planes) {
        (Some(fused), ..) => fused.held.into(),
        (None, Some(side), Some(planes)) => planes.blocks(side.cells, plan.block),
        (None, Some(side), None) => side::blocks(plan, side),
        (None, None, _) => cache::blocks(&shared).max(segments::blocks(&shared)),
    };
    let head = format!("{} {entry}(", dialect.entry(plan.block, held));

    let mut rest = Text::default();
    rest.append(shared.used.helpers.text(dialect));
    rest.append(functions);
    let own = |field: &Field| !(shared.plan.points_to_regions() && matches!(field, Field::Base(_)));
    let fields: Vec<Field> = shared.used.fields.iter().copied().filter(own).collect();
    rest.append(geometry(&shared, &fields));
    rest.append(wide::types(&mut shared));
    rest.append(readers);
    rest.append(cell);
    rest.append(folding);
    rest.line(head);
    let last = params.len().saturating_sub(1);
    for (n, param) in params.iter().enumerate() {
        rest.line(format!("    {}{}", param.text, if n == last { ") {" } else { "," }));
    }
    rest.append(main);
    rest.line("}");
    let mut defined = shared.types.definitions(dialect, &rest);
    defined.append(rest);
    let mut text = dialect.prelude(plan.math, &defined);
    text.append(defined);

    let lines = text.lines.iter().map(|(_, place)| place.clone()).collect();
    let mut all: String = text.lines.into_iter().map(|(line, _)| line + "\n").collect();
    all.truncate(all.trim_end().len());
    all.push('\n');
    let shared = fused::asked(&shared);
    Source { text: all, entry, params: params.iter().map(|p| p.param).collect(), geometry: fields, shared, lines }
}

/// The type of the values that a reduction folds.
pub(super) fn result_type(kernel: &Kernel) -> ScalarType {
    kernel.result.scalar().unwrap_or(ScalarType::U8)
}

/// `heat_rs_42`.
fn entry_name(shared: &mut Shared<'_>) -> String {
    let name = format!("{}_{}", legal(file_name(&shared.kernel.file)), shared.kernel.line);
    shared.names.fresh(&name)
}

fn functions(shared: &mut Shared<'_>) -> Text {
    let mut text = Text::default();
    let dialect = shared.dialect();
    let kernel = shared.kernel;
    for (n, function) in kernel.functions.iter().enumerate() {
        // Names of a function's locals are its own.
        let names = shared.names.clone();
        let locals: Vec<String> = function.body.locals.iter().map(|l| shared.names.fresh(&l.name)).collect();
        let raised = std::mem::take(&mut shared.used.raises);
        let body =
            Writer::write(shared, &function.body, &function.file, Some(&function.result), &locals, &function.params);
        let raises = std::mem::replace(&mut shared.used.raises, raised);
        shared.faulting.push(raises);
        shared.names = names;
        let mut params: Vec<String> = function
            .params
            .iter()
            .map(|p| {
                let ty = function.body.locals.get(*p as usize).map_or_else(Type::unit, |l| l.ty.clone());
                format!("{} {}", shared.types.name(&ty), locals.get(*p as usize).map_or("missing", String::as_str))
            })
            .collect();
        if raises {
            params.push("Fault fault".into());
        }
        let params = if params.is_empty() { "void".into() } else { params.join(", ") };
        let result = shared.types.name(&function.result);
        text.line(format!("{} {result} {}({params}) {{", dialect.device(), shared.functions[n]));
        text.append(body);
        text.line("}");
        text.line("");
    }
    text
}

/// What the body names but does not declare: pointers, positions, coordinates.
pub(super) fn top(shared: &mut Shared<'_>, text: &mut Text) {
    let t = shared.own("t0");
    pointers(shared, text);
    positions(shared, text, "const ", &t);
    coordinates(shared, text);
}

/// Pointers and strides: the same for all cells of a box.
pub(super) fn pointers(shared: &mut Shared<'_>, text: &mut Text) {
    let dialect = shared.dialect();
    let narrow = shared.plan.narrow;
    let (word, cast) = if narrow { ("i32", "(i32)") } else { ("i64", "") };
    let used = shared.used.clone();
    for &arg in &used.args {
        if used.fields.contains(&Field::Base(arg as u32)) && !shared.plan.points_to_regions() {
            let base = shared.field(Field::Base(arg as u32));
            text.line(format!("{} += {base};", shared.args[arg]));
        }
    }
    for &(arg, component) in &used.planes {
        let of = &shared.kernel.args[arg];
        let ty = of.element.component_types().get(component).copied().unwrap_or(ScalarType::U8);
        let pointer = dialect.pointer(memory(ty), of.access == Access::Write);
        let name = shared.plane_name(arg, component);
        let before = planes_before(&of.element, component);
        let start = match before {
            0 => shared.args[arg].clone(),
            _ => {
                let plane = shared.field(Field::Plane(shared.group(arg).into()));
                let times = if before == 1 { String::new() } else { format!("{before} * ") };
                format!("{} + {times}{plane}", shared.args[arg])
            }
        };
        let start = if uniform(&of.element).is_some() { start } else { format!("({pointer})({start})") };
        text.line(format!("{pointer} {name} = {start};"));
    }
    let joint: BTreeSet<u8> = used.args.iter().filter(|n| is_joint(shared, **n)).map(|n| shared.group(*n)).collect();
    for group in joint.into_iter().filter(|group| used.fields.contains(&Field::Plane((*group).into()))) {
        let (name, cells) = (plane_cells(shared, group), shared.field(Field::Plane(group.into())));
        text.line(format!("const i32 {name} = (i32){cells};"));
    }
    for &(group, axis) in &used.strides {
        let stride = shared.field(Field::Stride(group.into(), axis as u32));
        let name = shared.stride(group, axis);
        text.line(format!("const {word} {name} = {cast}{stride};"));
    }
}

/// Positions of the cell whose number along axis 0 is `first`.
pub(super) fn positions(shared: &mut Shared<'_>, text: &mut Text, word_before: &str, first: &str) {
    let (word, cast) = if shared.plan.narrow { ("i32", "(i32)") } else { ("i64", "") };
    let rank = shared.kernel.rank;
    for group in shared.used.positions.clone() {
        let mut place = format!("{cast}{}", shared.field(Field::First(group.into())));
        for axis in 0..rank {
            let t = if axis == 0 { first.to_owned() } else { shared.own(&format!("t{axis}")) };
            place +=
                &if axis + 1 == rank { format!(" + {t}") } else { format!(" + {t} * {}", shared.stride(group, axis)) };
        }
        let name = shared.position(group);
        text.line(format!("{word_before}{word} {name} = {place};"));
    }
}

/// Coordinates of the cell, and what its faults are raised with.
pub(super) fn coordinates(shared: &mut Shared<'_>, text: &mut Text) {
    if shared.used.raises {
        (0..shared.kernel.rank).for_each(|axis| drop(shared.coordinate(axis)));
    }
    for axis in shared.used.coordinates.clone() {
        let (name, lo) = (shared.coordinate(axis), shared.field(Field::Lo(axis as u32)));
        let t = shared.own(&format!("t{axis}"));
        text.line(match &shared.side {
            Some(side) if axis + 1 == shared.kernel.rank => match side.alike {
                true => format!("const i64 {name} = {};", shared.own("column")),
                false => format!("const i64 {name} = {lo} + {t} + {};", shared.own("e")),
            },
            _ => format!("const i64 {name} = {lo} + {t};"),
        });
    }
    ghosts::beyond(shared, text);
    if shared.used.raises {
        faults::of_cell(shared, text);
    }
}

/// The kernel as a function of the cell, for reductions.
fn cell_function(shared: &mut Shared<'_>, body: Text) -> Text {
    let mut text = Text { depth: 1, ..Text::default() };
    top(shared, &mut text);
    text.append(body);
    let mut all = Text::default();
    let (name, result) = (shared.own("cell"), shared.types.name(&shared.kernel.result));
    let mut params: Vec<String> = params(shared, false).into_iter().map(|p| p.text).collect();
    params.extend((0..shared.kernel.rank).map(|axis| format!("const i32 {}", shared.own(&format!("t{axis}")))));
    params.extend(wide::given(shared));
    all.line(format!("{} {result} {name}({}) {{", shared.dialect().device(), params.join(", ")));
    all.append(text);
    all.line("}");
    all.line("");
    all
}

/// A call of [`cell_function`] at these numbers of cells.
pub(super) fn cell_call(shared: &mut Shared<'_>, at: &[String]) -> String {
    let mut values: Vec<String> = params(shared, false).into_iter().map(|p| p.name).collect();
    values.extend(at.iter().cloned());
    format!("{}({})", shared.own("cell"), values.join(", "))
}

/// The type of a captured value as it is passed.
pub(super) fn capture_type(shared: &Shared<'_>, ty: &Type) -> String {
    ty.scalar().map_or_else(|| shared.types.name(ty), |scalar| memory(scalar).into())
}

/// The parameters of the entry, or of the function of a cell.
pub(super) fn params(shared: &mut Shared<'_>, entry: bool) -> Vec<Declared> {
    let dialect = shared.dialect();
    let mut all: Vec<Declared> = Vec::new();
    let mut add = |param, text: String, name: &str| {
        all.push(Declared { param, text: format!("{text} {name}"), name: name.to_owned() });
    };
    let kernel = shared.kernel;
    for (n, arg) in kernel.args.iter().enumerate() {
        if shared.used.args.contains(&n) {
            let written = arg.access == Access::Write;
            add(Param::Array(n as u32), dialect.restricted(shared.pointee(n), written), &shared.args[n]);
        }
        if shared.used.extra.contains(&n) {
            let name = shared.extra(n);
            match arg.access {
                Access::Table => add(Param::Length(n as u32), "const u64".into(), &name),
                _ => add(Param::Whole(n as u32), dialect.restricted("i64", false), &name),
            }
        }
        if shared.maps.iter().any(|map| map.arg == n) {
            let name = maps::name(shared, n);
            add(Param::Map(n as u32), "const __grid_constant__ TensorMap".into(), &name);
        }
    }
    for (n, capture) in kernel.captures.iter().enumerate() {
        if !shared.used.captures.contains(&n) || (entry && fused::is_known(shared, n)) {
            continue;
        }
        let ty = match fused::by_step(shared, n).filter(|_| entry) {
            Some(of_steps) => of_steps,
            None => capture_type(shared, &capture.ty),
        };
        add(Param::Capture(n as u32), format!("const {ty}"), &shared.captures[n]);
    }
    match (entry, shared.plan.many) {
        (true, true) => {
            let boxes = shared.own("boxes");
            match shared.plan.by_value {
                0 => add(Param::Boxes, dialect.restricted("Geometry", false), &boxes),
                _ => add(Param::Geometry, "const __grid_constant__ Boxes".into(), &boxes),
            }
            let tiles = shared.own("log_tiles");
            add(Param::LogTiles, "const u32".into(), &tiles);
        }
        _ => add(Param::Geometry, "const Geometry".into(), "box"),
    }
    if entry && (shared.fused.is_some() || shared.plan.marches(kernel.rank).is_some()) {
        let march = shared.own("march");
        add(Param::March, "const i32".into(), &march);
    }
    if entry && shared.plan.goal != Goal::Sweep {
        let name = shared.own("out");
        let ty = match shared.plan.goal {
            Goal::Segments(op) => super::fold::partial(result_type(kernel), op),
            _ => memory(result_type(kernel)),
        };
        add(Param::Out, dialect.restricted(ty, true), &name);
    }
    if shared.used.raises || shared.used.counts {
        add(Param::Fault, dialect.pointer("FaultRecord", true), shared.record_name());
    }
    all
}

/// The struct of a box's words.
fn geometry(shared: &Shared<'_>, fields: &[Field]) -> Text {
    let mut text = Text::default();
    text.line("typedef struct {");
    for field in fields {
        text.line(format!("    i64 {};", shared.field_name(*field)));
    }
    text.line("} Geometry;");
    text.line("");
    if shared.plan.many && shared.plan.by_value > 0 {
        text.line(format!("typedef struct {{ Geometry of[{}]; }} Boxes;", shared.plan.by_value));
        text.line("");
    }
    text
}
