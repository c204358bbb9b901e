//! A cell that ghosts hold too (see [`crate::plan::ghosts`]).

use super::Field;
use super::access::placed;
use super::kernel;
use super::segments;
use super::shared::Shared;
use super::text::Text;
use super::types::memory;
use crate::plan::Dialect;
use crate::plan::ghosts::{Beyond, Ghosts};

/// Most 32-bit registers for values on their way to ghosts. A thread of D3Q19 in halves needs 32 with it as without; with 12 it needs 40.
const REGISTERS: usize = 10;

/// What a thread does with a cell that may be the value of ghosts.
#[derive(Debug)]
pub(super) struct Edge {
    /// Before the cell: whether it is. In the middle of the domain that is all.
    pub before: Text,
    /// After the cell: what it has left there goes to the ghosts too.
    pub after: Text,
}

/// At the depth of statements.
pub(super) fn edge(shared: &mut Shared<'_>) -> Edge {
    let mut edge = Edge { before: Text { depth: 1, ..Text::default() }, after: Text { depth: 1, ..Text::default() } };
    for ghosts in shared.plan.ghosts.clone() {
        of(shared, &mut edge, &ghosts);
    }
    edge
}

fn of(shared: &mut Shared<'_>, whole: &mut Edge, ghosts: &Ghosts) {
    let axes: Vec<Along> = (0..shared.kernel.rank).filter_map(|axis| Along::new(shared, axis, ghosts)).collect();
    let types = shared.kernel.args[usize::from(ghosts.arg)].element.component_types();
    let widest = types.iter().map(|ty| ty.size().div_ceil(4)).max().unwrap_or(1);
    let components: Vec<usize> = (0..types.len()).collect();
    let edge = shared.own(&format!("edge_{}", shared.args[usize::from(ghosts.arg)]));
    let tests: Vec<String> = axes.iter().map(Along::test).collect();
    whole.before.line(format!("const bool {edge} = {};", tests.join(" || ")));
    whole.after.block(format!("if ({edge})"), |text| {
        again(shared, text);
        for along in &axes {
            text.line(format!("const i32 {} = {};", along.over, along.distance()));
        }
        for part in components.chunks((REGISTERS / widest).max(1)) {
            text.block("", |text| copies(shared, text, (ghosts.arg.into(), part), &axes));
        }
    });
}

/// Finds the cell of the thread again. CUDA's compiler would keep its numbers, and the addresses of its components, in registers from
/// the first time on: of all threads, though few need them.
fn again(shared: &mut Shared<'_>, text: &mut Text) {
    if shared.dialect() != Dialect::Cuda {
        return;
    }
    let block = shared.plan.block;
    let places = ["x", "y", "z"].map(|axis| [("ctaid", axis), ("tid", axis)]);
    let mut along = places.iter().zip(block).take(shared.kernel.rank).map(|(names, size)| {
        let [block, thread] = names.map(|(of, axis)| {
            let name = shared.own(&format!("{of}_{axis}"));
            if of == "ctaid" || size > 1 {
                text.line(format!("u32 {name};"));
                text.line(format!("asm volatile(\"mov.u32 %0, %%{of}.{axis};\" : \"=r\"({name}));"));
            }
            name
        });
        if size > 1 { format!("{block} * {size} + {thread}") } else { block }
    });
    let along = std::array::from_fn(|_| along.next().unwrap_or_default());
    segments::cell(shared, text, &along);
    let first = shared.own("t0");
    kernel::positions(shared, text, "const ", &first);
}

/// Some components of the cell to the ghosts beyond each of its faces, and beyond several of them.
fn copies(shared: &mut Shared<'_>, text: &mut Text, (arg, part): (usize, &[usize]), axes: &[Along]) {
    let group = shared.group(arg);
    let types = shared.kernel.args[arg].element.component_types();
    let (own, word) = (shared.position(group), if shared.plan.narrow { "i32" } else { "i64" });
    let [ghost, way, beyond] = ["ghost", "way", "beyond"].map(|name| shared.own(name));
    // All of them are under way together.
    for &component in part {
        let (ty, value) = (memory(types[component]), shared.own(&format!("own{component}")));
        let from = placed(shared, arg, component, &own);
        text.line(format!("const {ty} {value} = {from};"));
    }
    let faces: Vec<String> =
        axes.iter().enumerate().map(|(n, along)| format!("({} != 0 ? {}u : 0u)", along.over, 1 << n)).collect();
    text.line(format!("const u32 {beyond} = {};", faces.join(" | ")));
    text.line("#pragma unroll 1");
    text.block(format!("for (u32 {way} = {beyond}; {way} != 0; {way} = ({way} - 1) & {beyond})"), |text| {
        let mut place = own;
        for (n, Along { axis, over, .. }) in axes.iter().enumerate() {
            let step = match axis + 1 == shared.kernel.rank {
                true => over.clone(),
                false => format!("{over} * {}", shared.stride(group, *axis)),
            };
            place += &format!(" + ({way} & {} ? {step} : 0)", 1 << n);
        }
        text.line(format!("const {word} {ghost} = {place};"));
        for &component in part {
            let value = shared.own(&format!("own{component}"));
            let to = placed(shared, arg, component, &ghost);
            text.line(format!("{to} = {value};"));
        }
    });
}

/// The cells along an axis that are values of ghosts: the first ones and the last ones, how many, and how far from those.
#[derive(Debug)]
struct Along {
    axis: usize,
    /// What is called how far the ghost is.
    over: String,
    /// Number of the cell, and of all.
    t: String,
    n: String,
    first: Option<(u32, String)>,
    last: Option<(u32, String)>,
}

impl Along {
    /// Nothing if no cell is.
    fn new(shared: &mut Shared<'_>, axis: usize, ghosts: &Ghosts) -> Option<Along> {
        let [low, high] = ghosts.faces.get(axis)?;
        let (t, n) = (shared.own(&format!("t{axis}")), format!("(i32){}", shared.field(Field::Extent(axis as u32))));
        let layers = |face: &Beyond, wraps| (face.layers > 0 && face.wraps == wraps).then_some(face.layers);
        let first = layers(low, false).map(|layers| (layers, format!("-2 * {t} - 1")));
        let last = layers(high, false).map(|layers| (layers, format!("2 * ({n} - {t}) - 1")));
        let first = first.or_else(|| Some((layers(high, true)?, n.clone())));
        let last = last.or_else(|| Some((layers(low, true)?, format!("-{n}"))));
        let over = shared.own(&format!("over{axis}"));
        (first.is_some() || last.is_some()).then_some(Along { axis, over, t, n, first, last })
    }

    /// Whether the cell is the value of a ghost.
    fn test(&self) -> String {
        let Along { t, n, first, last, .. } = self;
        let [first, last] = [first, last].map(|end| end.as_ref().map_or(0, |(layers, _)| *layers));
        match (first, last) {
            (_, 0) => format!("{t} < {first}"),
            (0, _) => format!("{t} >= {n} - {last}"),
            _ => format!("(u32)({t} - {first}) >= (u32)({n} - {})", first + last),
        }
    }

    /// How far that ghost is; 0 if there is none.
    fn distance(&self) -> String {
        let Along { t, n, first, last, .. } = self;
        let last = last.as_ref().map_or("0".into(), |(layers, by)| format!("{t} >= {n} - {layers} ? {by} : 0"));
        first.as_ref().map_or(last.clone(), |(layers, by)| format!("{t} < {layers} ? {by} : {last}"))
    }
}
