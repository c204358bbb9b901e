//! Folding: how values become one, and the kernels of a reduction that have nothing of the user's in them.
//!
//! The order is that of `tida::compute::reduce`: groups of 64 folded by halves, what is missing being the identity.

use super::Source;
use super::helpers::{Helper, Helpers, Op, bounds};
use super::text::Text;
use super::types::{integer, literal, memory, widened};
use crate::element::ScalarType;
use crate::plan::{Dialect, FoldOp, Math};
use crate::scalar::Value;

pub use super::sizes::fold::*;

/// Groups that a thread reads two values of.
const PER_THREAD: usize = 8;

fn is_arg(op: FoldOp) -> bool {
    matches!(op, FoldOp::ArgMin | FoldOp::ArgMax)
}

/// The type of what is folded.
pub(super) fn partial(scalar: ScalarType, op: FoldOp) -> &'static str {
    if is_arg(op) { "Partial" } else { memory(scalar) }
}

/// What changes nothing that it is folded with.
pub(super) fn identity(dialect: Dialect, scalar: ScalarType, op: FoldOp) -> String {
    let float = |x: f64| match scalar {
        ScalarType::F32 => Value::F32(x as f32),
        _ => Value::F64(x),
    };
    let (lowest, highest) = bounds(scalar);
    let value = match (op, scalar.is_float()) {
        (FoldOp::Sum, true) => literal(dialect, float(-0.0)).0,
        (FoldOp::Product, true) => literal(dialect, float(1.0)).0,
        (FoldOp::Min | FoldOp::ArgMin, true) => literal(dialect, float(f64::INFINITY)).0,
        (FoldOp::Max | FoldOp::ArgMax, true) => literal(dialect, float(f64::NEG_INFINITY)).0,
        (FoldOp::Sum, false) => integer(dialect, scalar, 0),
        (FoldOp::Product, false) => integer(dialect, scalar, 1),
        (FoldOp::Min | FoldOp::ArgMin, false) => integer(dialect, scalar, highest),
        (FoldOp::Max | FoldOp::ArgMax, false) => integer(dialect, scalar, lowest),
    };
    match is_arg(op) {
        true => format!("tida_partial({value}, {})", integer(dialect, ScalarType::U64, u64::MAX.into())),
        false => value,
    }
}

/// The function that folds two values, and the type of partials.
pub(super) fn combining(dialect: Dialect, scalar: ScalarType, op: FoldOp, helpers: &mut Helpers) -> Text {
    let (device, t, float) = (dialect.device(), memory(scalar), scalar.is_float());
    let mut text = Text::default();
    if is_arg(op) {
        text.line(format!("typedef struct {{ {t} value; u64 index; }} Partial;"));
        text.line("");
        text.block(format!("{device} Partial tida_partial({t} value, u64 index)"), |text| {
            text.line("const Partial made = {value, index};");
            text.line("return made;");
        });
        text.line("");
    }
    let ty = partial(scalar, op);
    let mut join = |symbol: &str, op: Op| match widened(scalar, symbol) {
        Some(cast) => format!("return ({t})({cast}a {symbol} b);"),
        None if scalar.is_signed_int() => format!("return {}(a, b);", helpers.need(Helper::Op(op, scalar))),
        None => format!("return a {symbol} b;"),
    };
    let lines = match op {
        FoldOp::Sum => join("+", Op::Add),
        FoldOp::Product => join("*", Op::Mul),
        FoldOp::Min | FoldOp::Max => {
            let choose = if op == FoldOp::Min { Op::Min } else { Op::Max };
            let name = helpers.need(Helper::Op(choose, scalar));
            let nan = if float { "if (a != a) return a;\nif (b != b) return b;\n" } else { "" };
            format!("{nan}return {name}(a, b);")
        }
        FoldOp::ArgMin | FoldOp::ArgMax => {
            let than = if op == FoldOp::ArgMin { "<" } else { ">" };
            // The first NaN, else the best value, else the first cell.
            let nan = "const bool a_is_nan = a.value != a.value;\nconst bool b_is_nan = b.value != b.value;\n\
                       if (a_is_nan && !b_is_nan) return a;\nif (b_is_nan && !a_is_nan) return b;\n";
            let nan = if float { nan } else { "" };
            format!(
                "{nan}if (a.value {than} b.value) return a;\nif (b.value {than} a.value) return b;\n\
                 return a.index <= b.index ? a : b;"
            )
        }
    };
    text.block(format!("{device} {ty} tida_fold({ty} a, {ty} b)"), |text| text.all(&lines));
    text.line("");
    text
}

/// Declares the memory in which the threads of a block fold: so many values a group.
pub(super) fn declare(
    dialect: Dialect,
    text: &mut Text,
    ty: &str,
    name: &str,
    [groups, values]: [usize; 2],
    arg: bool,
) {
    // One more a row keeps rows in different banks. Pairs of a value and an index would then not fit 32 KiB.
    let row = if arg { values } else { values + 1 };
    text.line(format!("{} {ty} {name}[{groups}][{row}];", dialect.shared()));
}

/// Folds the values of each group, 8, 16 or 32, down to four, four threads a group, and gives the thread's group.
pub(super) fn tail(dialect: Dialect, text: &mut Text, ty: &str, (name, values): (&str, usize), thread: &str) -> String {
    let (group, quarter) = (format!("{name}_group"), format!("{name}_quarter"));
    text.line(dialect.barrier());
    text.line(format!("const i32 {group} = {thread} >> 2;"));
    text.line(format!("const i32 {quarter} = {thread} & 3;"));
    let at = |n: usize| format!("{name}[{group}][{quarter} + {n}]");
    let pair = |n: usize| format!("tida_fold({}, {})", at(n), at(n + values / 2));
    let mut left = values / 8;
    for n in 0..left {
        text.line(format!("{ty} {name}_{n} = {};", pair(n * 4)));
    }
    while left > 1 {
        left /= 2;
        for n in 0..left {
            text.line(format!("{name}_{n} = tida_fold({name}_{n}, {name}_{});", n + left));
        }
    }
    text.line(dialect.barrier());
    text.line(format!("{name}[{group}][{quarter}] = {name}_0;"));
    text.line(dialect.barrier());
    group
}

/// The one value of a group of which [`tail`] has left four.
pub(super) fn last(name: &str, group: &str) -> String {
    let at = |n: usize| format!("{name}[{group}][{n}]");
    format!("tida_fold(tida_fold({}, {}), tida_fold({}, {}))", at(0), at(2), at(1), at(3))
}

/// A kernel over groups of 64: `head` says what a group is, `value` is the value at `at` where `condition` holds.
struct Groups<'a> {
    entry: &'a str,
    params: &'a [String],
    /// Number of groups.
    count: &'a str,
    head: &'a [&'a str],
    condition: &'a str,
    value: String,
    /// Folds the values of 64 groups once more: a block gives one value.
    twice: bool,
}

fn groups(dialect: Dialect, scalar: ScalarType, op: FoldOp, kernel: &Groups<'_>) -> Source {
    let ty = partial(scalar, op);
    let mut helpers = Helpers::default();
    let folding = combining(dialect, scalar, op, &mut helpers);
    let mut rest = helpers.text(dialect);
    rest.append(folding);
    rest.line(format!("{} {}(", dialect.entry([FOLD_THREADS, 1, 1], 1), kernel.entry));
    let params = kernel.params.join(",\n    ");
    rest.all(&format!("    {params}) {{"));
    rest.depth = 1;
    declare(dialect, &mut rest, ty, "folded", [FOLD_GROUPS as usize, 32], is_arg(op));
    rest.line(format!("const i32 thread = (i32){};", dialect.thread(0)));
    rest.line("const i32 lane = thread & 31;");
    rest.line("const i32 warp = thread >> 5;");
    for line in kernel.head {
        rest.line(line);
    }
    if kernel.twice {
        rest.line(format!("{} {ty} level[64];", dialect.shared()));
        rest.line(format!("for (i32 round = 0; round < {}; round++) {{", 64 / FOLD_GROUPS));
        rest.depth += 1;
        rest.line(format!("const u64 first = (u64){} * 64 + (u64)(round * {FOLD_GROUPS});", dialect.block(0)));
    } else {
        rest.line(format!("const u64 first = (u64){} * {FOLD_GROUPS};", dialect.block(0)));
    }
    rest.line(format!("{ty} a[{PER_THREAD}], b[{PER_THREAD}];"));
    rest.line("#pragma unroll");
    rest.block(format!("for (i32 k = 0; k < {PER_THREAD}; k++)"), |text| {
        text.line(format!("const u64 group = first + (u64)(warp * {PER_THREAD} + k);"));
        for (name, more) in [("a", ""), ("b", " + 32")] {
            text.line(format!("{name}[k] = {};", identity(dialect, scalar, op)));
            text.block(format!("if (group < {})", kernel.count), |text| {
                text.line(format!("const i32 place = lane{more};"));
                text.all(&format!("{}{name}[k] = {};", kernel.condition, kernel.value));
            });
        }
    });
    rest.line("#pragma unroll");
    rest.block(format!("for (i32 k = 0; k < {PER_THREAD}; k++)"), |text| {
        text.line(format!("folded[warp * {PER_THREAD} + k][lane] = tida_fold(a[k], b[k]);"));
    });
    let group = tail(dialect, &mut rest, ty, ("folded", 32), "thread");
    let value = last("folded", &group);
    if kernel.twice {
        // Groups past the end are identities.
        rest.line(format!("if ((thread & 3) == 0) level[round * {FOLD_GROUPS} + {group}] = {value};"));
        rest.line(dialect.barrier());
        rest.depth -= 1;
        rest.line("}");
        rest.line("for (i32 step = 32; step > 0; step >>= 1) {");
        rest.line("    if (thread < step) level[thread] = tida_fold(level[thread], level[thread + step]);");
        rest.line(format!("    {}", dialect.barrier()));
        rest.line("}");
        rest.line(format!("if (thread == 0) out[{}] = level[0];", dialect.block(0)));
    } else {
        rest.line(format!(
            "if ((thread & 3) == 0 && first + (u64){group} < {}) out[first + (u64){group}] = {value};",
            kernel.count
        ));
    }
    rest.depth = 0;
    rest.line("}");
    let mut text = dialect.prelude(Math::Exact, &rest);
    text.append(rest);
    Source {
        lines: vec![None; text.lines.len()],
        text: text.lines.into_iter().map(|(line, _)| line + "\n").collect(),
        entry: kernel.entry.into(),
        params: Vec::new(),
        geometry: Vec::new(),
        shared: 0,
    }
}

/// A kernel that folds the segments of dense rows of values, for cuts that split segments.
///
/// Its parameters, in order: the values (`rows * cells` of them, row-major), the list to write (one entry a segment,
/// row by row), the number of rows (`u64`), the cells of a row (`u64`, at least 1), the global coordinate of a row's
/// first cell (`i64`). A row of `cells` from `lo` has `(lo + cells - 1).div_euclid(64) - lo.div_euclid(64) + 1`
/// segments. An arg-reduction's index is the place in the values. `params`, `geometry` of the source are empty.
pub fn fold_values(dialect: Dialect, scalar: ScalarType, op: FoldOp) -> Source {
    let value = "values[row * cells + (u64)at]";
    let value = match is_arg(op) {
        true => format!("tida_partial({value}, row * cells + (u64)at)"),
        false => value.into(),
    };
    let params = [
        format!("{} values", dialect.restricted(memory(scalar), false)),
        format!("{} out", dialect.restricted(partial(scalar, op), true)),
        "const u64 rows".into(),
        "const u64 cells".into(),
        "const i64 lo".into(),
    ];
    let head = [
        "const u64 segments = (u64)(((lo + (i64)cells - 1) >> 6) - (lo >> 6) + 1);",
        "const u64 count = rows * segments;",
    ];
    let condition = "const u64 row = group / segments;\n\
                     const i64 at = (((lo >> 6) + (i64)(group % segments)) << 6) + place - lo;\n\
                     if (at >= 0 && at < (i64)cells) ";
    let entry = "tida_fold_values";
    groups(
        dialect,
        scalar,
        op,
        &Groups { entry, params: &params, count: "count", head: &head, condition, value, twice: false },
    )
}

/// A kernel that folds a list 64 at a time, and what comes out 64 at a time again.
///
/// Its parameters, in order: the list of `n` partials, the list to write, of `n.div_ceil(4096)` partials, one a block,
/// and `n` (`u64`). `params`, `geometry` of the source are empty.
pub fn fold_tree_twice(dialect: Dialect, scalar: ScalarType, op: FoldOp) -> Source {
    let ty = partial(scalar, op);
    let params = [
        format!("{} list", dialect.restricted(ty, false)),
        format!("{} out", dialect.restricted(ty, true)),
        "const u64 n".into(),
    ];
    let head = ["const u64 count = (n + 63) / 64;"];
    let condition = "const u64 at = group * 64 + (u64)place;\nif (at < n) ";
    let value = "list[at]".into();
    groups(
        dialect,
        scalar,
        op,
        &Groups {
            entry: "tida_fold_tree_twice",
            params: &params,
            count: "count",
            head: &head,
            condition,
            value,
            twice: true,
        },
    )
}
