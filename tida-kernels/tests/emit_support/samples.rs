//! Kernels as users write them.

use std::sync::Arc;

use tida_kernels::codec::{Codec, Format};
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::ir::{self, Access, Arg, Binding, Coded, Kernel, LowerInput, Type, coded, lower, lower_group};
use tida_kernels::plan::{FoldOp, Goal};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;

pub const F64: ElementType = ElementType::Scalar(ScalarType::F64);
pub const F32: ElementType = ElementType::Scalar(ScalarType::F32);
pub const U8: ElementType = ElementType::Scalar(ScalarType::U8);
pub const I32: ElementType = ElementType::Scalar(ScalarType::I32);
pub const I64: ElementType = ElementType::Scalar(ScalarType::I64);
pub const BOOL: ElementType = ElementType::Scalar(ScalarType::Bool);
pub const V3: ElementType = ElementType::Array { element: &F64, len: 3 };
pub const NINE: ElementType = ElementType::Array { element: &F32, len: 9 };
pub const CELL: ElementType =
    ElementType::Struct { name: "Cell", fields: &[("rho", F64), ("v", V3), ("kind", I32), ("solid", BOOL)] };

/// A kernel and how it is launched.
pub struct Sample {
    pub name: &'static str,
    pub kernel: Kernel,
    pub goal: Goal,
    pub checked: bool,
}

pub fn bind(access: Access, element: ElementType, rank: usize) -> Binding {
    Binding { access, element, rank }
}

fn scalar(ty: ScalarType) -> Type {
    Type::Scalar(ty)
}

/// Statements get lines of their own, from 11.
pub fn number(kernel: &mut Kernel) {
    fn block(block: &mut ir::Block, line: &mut u32) {
        for stmt in block {
            if !matches!(stmt.kind, ir::StmtKind::Let(_, Some(_)) if stmt.span.line == *line) {
                *line += 1;
            }
            stmt.span.line = *line;
            match &mut stmt.kind {
                ir::StmtKind::If(_, a, b) => {
                    block_(a, line);
                    block_(b, line);
                }
                ir::StmtKind::For { body, .. } | ir::StmtKind::Phase { body, .. } => block_(body, line),
                ir::StmtKind::While { head, body, .. } => {
                    block_(head, line);
                    block_(body, line);
                }
                _ => {}
            }
        }
    }
    fn block_(b: &mut ir::Block, line: &mut u32) {
        block(b, line);
    }
    kernel.line = 10;
    let mut line = 10;
    block(&mut kernel.body.block, &mut line);
}

#[allow(clippy::too_many_arguments)]
pub fn typed(
    file: &str,
    rank: usize,
    args: &[(&str, Binding)],
    captures: &[(&str, Type)],
    locals: &[&str],
    body: Block,
    functions: Vec<&'static StaticFunction>,
    result: Option<Type>,
) -> Kernel {
    let names: Vec<&str> = args.iter().map(|a| a.0).collect();
    let held: Vec<&str> = captures.iter().map(|c| c.0).collect();
    let tree = kernel(&names, &held, code(locals, body));
    let quoted = leak_kernel(&tree, functions, vec![CELL]);
    let bindings: Vec<Binding> = args.iter().map(|a| a.1).collect();
    let types: Vec<Type> = captures.iter().map(|c| c.1.clone()).collect();
    let input = LowerInput { kernel: quoted, methods: &[], rank, args: &bindings, captures: &types, result };
    let mut kernel = lower(&input).unwrap_or_else(|e| panic!("{file}: {e}"));
    kernel.file = format!("examples/{file}");
    number(&mut kernel);
    kernel
}

fn heat(rank: usize) -> Kernel {
    let mut sum: Option<Expr> = None;
    for axis in 0..rank {
        for by in [-1, 1] {
            let mut offset = vec![0; rank];
            offset[axis] = by;
            let value = load(1, at_plus(&offset));
            sum = Some(match sum {
                None => value,
                Some(sum) => add(sum, value),
            });
        }
    }
    let lap = sub(sum.unwrap(), mul(float(2.0 * rank as f64), load(1, at())));
    let body = block(vec![let_(0, lap), store(0, at(), add(load(1, at()), mul(capture(0), local(0))))]);
    let args = [("next", bind(Access::Write, F64, rank)), ("u", bind(Access::Read, F64, rank))];
    typed("heat.rs", rank, &args, &[("self.alpha", scalar(ScalarType::F64))], &["lap"], body, vec![], None)
}

/// Temperatures of a chip, with what heats it: another array that every step reads.
pub fn chip() -> Kernel {
    let u = |offset: [i64; 2]| load(1, at_plus(&offset));
    let twice = || mul(float(2.0), local(0));
    let along = mul(sub(add(u([1, 0]), u([-1, 0])), twice()), capture(1));
    let across = mul(sub(add(u([0, 1]), u([0, -1])), twice()), capture(2));
    let air = mul(sub(capture(4), local(0)), capture(3));
    let sum = add(add(add(load(2, at()), along), across), air);
    let body = block(vec![let_(0, load(1, at())), store(0, at(), add(local(0), mul(capture(0), sum)))]);
    let read = |name| (name, bind(Access::Read, F32, 2));
    let captures = ["step", "y", "x", "loss", "ambient"].map(|name| (name, scalar(ScalarType::F32)));
    typed(
        "chip.rs",
        2,
        &[("next", bind(Access::Write, F32, 2)), read("u"), read("power")],
        &captures,
        &["own"],
        body,
        vec![],
        None,
    )
}

fn sincos() -> Kernel {
    let x = || load(0, at());
    let body = block(vec![
        let_(0, add(method(Method::Sin, vec![x()]), mul(float(0.1), method(Method::Cos, vec![x()])))),
        store(0, at(), local(0)),
    ]);
    typed("sincos.rs", 1, &[("u", bind(Access::Write, F32, 1))], &[], &["x"], body, vec![], None)
}

fn life() -> Kernel {
    let mut sum = int_of(0, ScalarType::I32);
    for dy in -1..=1 {
        for dx in -1..=1 {
            if (dy, dx) != (0, 0) {
                sum = add(sum, cast(load(1, at_plus(&[dy, dx])), ScalarType::I32));
            }
        }
    }
    let is = |n| compare(CompareOp::Eq, local(0), int(n));
    let alive = or(is(3), and(is(2), compare(CompareOp::Eq, load(1, at()), int(1))));
    let value = if_else(alive, value_block(vec![], int(1)), value_block(vec![], int(0)));
    let body = block(vec![let_(0, sum), store(0, at(), value)]);
    let args = [("next", bind(Access::Write, U8, 2)), ("u", bind(Access::Read, U8, 2))];
    typed("life.rs", 2, &args, &[], &["n"], body, vec![], None)
}

fn wave() -> Kernel {
    let u = |o: &[i64]| load(1, at_plus(o));
    let lap = sub(add(add(u(&[-1, 0]), u(&[1, 0])), add(u(&[0, -1]), u(&[0, 1]))), mul(float(4.0), load(1, at())));
    let moved = sub(mul(float(2.0), load(1, at())), load(0, at()));
    let body = block(vec![
        let_pattern(Pattern::Array(vec![Pattern::Local(0), Pattern::Local(1)]), None, Some(at())),
        let_(2, add(moved, mul(capture(0), lap))),
        eval(if_then(
            or(compare(CompareOp::Eq, local(0), capture(1)), compare(CompareOp::Lt, local(1), int(2))),
            block(vec![set(2, float(0.0))]),
        )),
        store(0, at(), local(2)),
    ]);
    let args = [("u", bind(Access::Write, F64, 2)), ("now", bind(Access::Read, F64, 2))];
    let captures = [("c2", scalar(ScalarType::F64)), ("wall", scalar(ScalarType::I64))];
    typed("wave.rs", 2, &args, &captures, &["y", "x", "new"], body, vec![], None)
}

fn jacobi() -> Kernel {
    let index = |dy, dx| {
        let plus = |local_, by: i64| if by == 0 { local(local_) } else { add(local(local_), signed(by)) };
        array(vec![plus(0, dy), plus(1, dx)])
    };
    let sum = add(add(load(1, index(-1, 0)), load(1, index(1, 0))), add(load(1, index(0, -1)), load(1, index(0, 1))));
    let body = block(vec![
        let_pattern(Pattern::Array(vec![Pattern::Local(0), Pattern::Local(1)]), None, Some(at())),
        store(0, at(), mul(float_of("0.25", ScalarType::F32), sub(sum, load(2, at())))),
    ]);
    let args =
        [("next", bind(Access::Write, F32, 2)), ("u", bind(Access::Read, F32, 2)), ("f", bind(Access::Read, F32, 2))];
    typed("jacobi.rs", 2, &args, &[], &["i", "j"], body, vec![], None)
}

fn structs() -> Kernel {
    let v = |n: u64| vec![field("v"), entry(int(n))];
    let speed = add(mul(load_part(1, at(), v(0)), load_part(1, at_plus(&[0, 1]), v(0))), load_part(1, at(), v(2)));
    let made = structure(
        0,
        vec![
            ("rho", add(load_part(1, at_plus(&[-1, 0]), vec![field("rho")]), local(0))),
            ("v", array(vec![local(0), float(0.1), load_part(1, at(), v(1))])),
            ("kind", add(load_part(1, at(), vec![field("kind")]), int(1))),
            ("solid", unary(UnaryOp::Not, load_part(1, at(), vec![field("solid")]))),
        ],
    );
    let body = block(vec![let_(0, speed), let_(1, made), store(0, at(), local(1))]);
    let args = [("next", bind(Access::Write, CELL, 2)), ("cells", bind(Access::Read, CELL, 2))];
    typed("cells.rs", 2, &args, &[], &["speed", "made"], body, vec![], None)
}

fn gather() -> Kernel {
    let i = cast(load(1, at()), ScalarType::I64);
    let body = block(vec![let_(0, i), store(0, at(), load(2, array(vec![local(0), add(local(0), int(1))])))]);
    let args = [
        ("out", bind(Access::Write, F64, 1)),
        ("parent", bind(Access::Read, I32, 1)),
        ("a", bind(Access::All, F64, 2)),
    ];
    typed("gather.rs", 1, &args, &[], &["i"], body, vec![], None)
}

fn lookup() -> Kernel {
    let at1 = project(at(), entry(int(1)));
    let index = cast(binary(BinaryOp::BitAnd, at1, int(3)), ScalarType::U64);
    let body = block(vec![store(0, at(), mul(load(0, at()), load(1, index)))]);
    let args = [("u", bind(Access::Write, F64, 2)), ("weights", bind(Access::Table, F64, 1))];
    typed("lookup.rs", 2, &args, &[], &[], body, vec![], None)
}

fn shifted() -> Kernel {
    let point = array(vec![project(at(), entry(int(0))), add(project(at(), entry(int(1))), load(2, at()))]);
    let far = if_else(
        compare(CompareOp::Gt, local(0), float(0.0)),
        value_block(vec![], load(1, at_plus(&[0, 3]))),
        value_block(vec![], load(1, at())),
    );
    let body = block(vec![let_(0, load(1, point)), store(0, at(), add(local(0), far))]);
    let args =
        [("next", bind(Access::Write, F64, 2)), ("u", bind(Access::Read, F64, 2)), ("by", bind(Access::Read, I64, 2))];
    typed("shifted.rs", 2, &args, &[], &["x"], body, vec![], None)
}

fn lattice() -> Kernel {
    let q = || vec![entry(local(1))];
    let body = block(vec![
        let_(0, float_of("0.0", ScalarType::F32)),
        for_(
            1,
            int_of(0, ScalarType::U64),
            int_of(9, ScalarType::U64),
            block(vec![set_part(
                0,
                vec![],
                Some(BinaryOp::Add),
                mul(project(capture(0), entry(local(1))), load_part(1, at(), q())),
            )]),
        ),
        for_(
            1,
            int_of(0, ScalarType::U64),
            int_of(9, ScalarType::U64),
            block(vec![store_part(0, at(), q(), None, sub(load_part(1, at(), q()), local(0)))]),
        ),
        store_part(0, at(), vec![entry(capture(1))], None, local(0)),
    ]);
    let args = [("next", bind(Access::Write, NINE, 3)), ("f", bind(Access::Read, NINE, 3))];
    let weights = Type::Array(Arc::new(scalar(ScalarType::F32)), 9);
    let captures = [("w", weights), ("rest", scalar(ScalarType::U64))];
    typed("lattice.rs", 3, &args, &captures, &["mean", "q"], body, vec![], None)
}

/// `fn orbit(re, im, most) -> i32`: turns until the point escapes.
fn orbit() -> &'static StaticFunction {
    let (re, im, most, x, y, n) = (0, 1, 2, 3, 4, 5);
    let double = TypeTree::Scalar(ScalarType::F64);
    let square = |v| mul(local(v), local(v));
    let inside = compare(CompareOp::Le, add(square(x), square(y)), float(4.0));
    let body = value_block(
        vec![
            let_(x, float(0.0)),
            let_(y, float(0.0)),
            let_(n, int(0)),
            while_(
                and(inside, compare(CompareOp::Lt, local(n), local(most))),
                block(vec![
                    let_(6, add(sub(square(x), square(y)), local(re))),
                    set(y, add(mul(mul(float(2.0), local(x)), local(y)), local(im))),
                    set(x, local(6)),
                    set_part(n, vec![], Some(BinaryOp::Add), int(1)),
                ]),
            ),
        ],
        local(n),
    );
    let tree = FunctionTree {
        name: "orbit".into(),
        params: vec![(re, double.clone()), (im, double), (most, TypeTree::Scalar(ScalarType::I32))],
        result: Some(TypeTree::Scalar(ScalarType::I32)),
        code: code(&["re", "im", "most", "x", "y", "n", "t"], body),
    };
    leak_function(&tree, vec![], vec![])
}

fn mandelbrot() -> Kernel {
    let axis = |n: u64| cast(project(at(), entry(int(n))), ScalarType::F64);
    let scaled = |n| sub(mul(axis(n), capture(0)), float(1.5));
    let body = block(vec![store(0, at(), call(0, vec![scaled(1), scaled(0), int(50)]))]);
    let mut kernel_code = code(&[], body);
    kernel_code.functions = vec!["orbit".into()];
    let args = [("count", bind(Access::Write, I32, 2))];
    let tree = kernel(&["count"], &["step"], kernel_code);
    let quoted = leak_kernel(&tree, vec![orbit()], vec![]);
    let types = [scalar(ScalarType::F64)];
    let input =
        LowerInput { kernel: quoted, methods: &[], rank: 2, args: &[args[0].1], captures: &types, result: None };
    let mut typed = lower(&input).unwrap_or_else(|e| panic!("{e}"));
    typed.file = "examples/mandelbrot.rs".into();
    number(&mut typed);
    typed
}

fn square_sum(rank: usize) -> Kernel {
    let body = value_block(vec![], mul(load(0, at()), load(0, at())));
    let result = Some(scalar(ScalarType::F64));
    typed("norm.rs", rank, &[("u", bind(Access::Read, F64, rank))], &[], &[], body, vec![], result)
}

/// A sweep with a reduction of what it has just left.
fn ended() -> Kernel {
    let body = value_block(vec![], mul(load(0, at()), load(1, at())));
    let args = [("a", bind(Access::Read, F64, 3)), ("b", bind(Access::Read, F64, 3))];
    let value = typed("dot.rs", 3, &args, &[], &[], body, vec![], Some(scalar(ScalarType::F64)));
    ir::join_value(&heat(3), &value, [&[7, 3], &[3, 7]]).expect("kernels that can be one").kernel
}

fn best() -> Kernel {
    let body = value_block(vec![], sub(load(0, at_plus(&[0, 1])), load(0, at())));
    let result = Some(scalar(ScalarType::F32));
    typed("best.rs", 2, &[("u", bind(Access::Read, F32, 2))], &[], &[], body, vec![], result)
}

fn divides() -> Kernel {
    let body = block(vec![
        let_(0, div(load(1, at()), capture(0))),
        store(0, at(), add(local(0), method(Method::RemEuclid, vec![load(1, at()), int(7)]))),
    ]);
    let args = [("next", bind(Access::Write, I64, 1)), ("k", bind(Access::Read, I64, 1))];
    typed("divides.rs", 1, &args, &[("n", scalar(ScalarType::I64))], &["q"], body, vec![], None)
}

/// The kernels of the snapshots.
/// Groups of 4 x 8 cells: what is fetched, a channel around the group, a value of each thread, and indexes that only
/// run time decides, which stay inside for a captured `far` of at most 3.
pub fn groups() -> Kernel {
    let sides = |before: [u32; 2], after: [u32; 2]| (before.to_vec(), after.to_vec());
    let phase = |thread, (before, after), body| stmt(StmtKind::Phase { thread, before, after, body });
    let named = |name: &str, kind| GroupArray { name: name.to_owned(), span: Span::default(), kind };
    let t = |id, offset: &[i64]| shift(false, local(id), point(offset));
    let (all, one) = ((vec![], vec![]), sides([1, 1], [1, 1]));
    let near = add(add(load(2, t(0, &[-1, 0])), load(2, t(0, &[1, 1]))), load(2, local(0)));
    let row = |id, by| {
        array(vec![
            add(project(local(id), entry(int_of(0, ScalarType::U64))), by),
            project(local(id), entry(int_of(1, ScalarType::U64))),
        ])
    };
    let body = block(vec![
        let_(1, float(0.5)),
        phase(0, one.clone(), block(vec![store(3, local(0), near)])),
        phase(2, all.clone(), block(vec![set(1, sub(load(3, t(2, &[0, 1])), load(1, at())))])),
        for_(
            3,
            int_of(0, ScalarType::I64),
            int_of(2, ScalarType::I64),
            block(vec![
                phase(4, all.clone(), block(vec![store(4, row(4, signed(0)), add(local(1), load(2, local(4))))])),
                phase(5, all.clone(), block(vec![set(1, add(local(1), load(4, row(5, mul(capture(0), local(3))))))])),
            ]),
        ),
        phase(
            6,
            all,
            block(vec![store(
                0,
                at(),
                mul(local(1), cast(project(local(7), entry(int_of(1, ScalarType::U64))), ScalarType::F64)),
            )]),
        ),
    ]);
    let locals = ["t", "x", "t", "turn", "t", "t", "t", "cells"];
    let mut tree = kernel(&["next", "u"], &["far"], code(&locals, body));
    let (before, after) = sides([2, 1], [2, 2]);
    let slots = sides([1, 1], [1, 1]);
    tree.group = Some(GroupTree {
        arrays: vec![
            named("s", GroupArrayKind::Fetch { arg: 1, before, after }),
            named(
                "c",
                GroupArrayKind::Channel { ty: NumberType::Written(ScalarType::F64), before: slots.0, after: slots.1 },
            ),
            named("d", GroupArrayKind::Shared { ty: NumberType::Written(ScalarType::F64), shape: vec![7, 8] }),
        ],
        privates: vec![1],
        len: Some(7),
    });
    let bindings = [bind(Access::Write, F64, 2), bind(Access::Read, F64, 2)];
    let captures = [scalar(ScalarType::I64)];
    let quoted = leak_kernel(&tree, vec![], vec![]);
    let input = LowerInput {
        kernel: quoted,
        methods: &[],
        rank: 2,
        args: &bindings,
        captures: &captures,
        result: Some(Type::unit()),
    };
    let mut kernel = lower_group(&input, &[4, 8]).unwrap_or_else(|e| panic!("groups.rs: {e}"));
    kernel.file = "examples/groups.rs".to_owned();
    number(&mut kernel);
    kernel
}

pub fn all() -> Vec<Sample> {
    let sweep = |name, kernel, checked| Sample { name, kernel, goal: Goal::Sweep, checked };
    vec![
        sweep("heat_3d", heat(3), false),
        sweep("heat_2d", heat(2), false),
        sweep("heat_4d", heat(4), false),
        sweep("sincos", sincos(), false),
        sweep("life", life(), false),
        sweep("wave", wave(), false),
        sweep("jacobi", jacobi(), false),
        sweep("cells", structs(), false),
        sweep("gather", gather(), false),
        sweep("gather_checked", gather(), true),
        sweep("lookup", lookup(), false),
        sweep("lookup_checked", lookup(), true),
        sweep("shifted_checked", shifted(), true),
        sweep("lattice", lattice(), false),
        sweep("mandelbrot", mandelbrot(), false),
        sweep("divides", divides(), false),
        Sample { name: "norm", kernel: square_sum(3), goal: Goal::Segments(FoldOp::Sum), checked: false },
        Sample { name: "norm_1d", kernel: square_sum(1), goal: Goal::Segments(FoldOp::Sum), checked: false },
        Sample { name: "ended", kernel: ended(), goal: Goal::Segments(FoldOp::Sum), checked: false },
        Sample { name: "best", kernel: best(), goal: Goal::Segments(FoldOp::ArgMin), checked: false },
        Sample { name: "values", kernel: best(), goal: Goal::Values, checked: false },
    ]
}

/// The kernel with all floats of its arrays in a format.
pub fn in_format(kernel: &Kernel, format: &Format) -> Kernel {
    first_in_format(kernel, format, kernel.args.len())
}

/// The same of the first arguments alone.
pub fn first_in_format(kernel: &Kernel, format: &Format, many: usize) -> Kernel {
    let of = |arg: &Arg| {
        let ElementType::Scalar(ty) = arg.element else { return None };
        let codec = Some(Codec::new(ty, format).ok()??);
        let element = ElementType::Scalar(codec.map_or(ty, |codec| codec.code()));
        (!matches!(arg.access, Access::Table | Access::Shared)).then(|| Coded {
            element,
            codecs: vec![codec],
            counted: arg.access == Access::Write,
            rounded: false,
        })
    };
    let args: Vec<Option<Coded>> =
        kernel.args.iter().enumerate().map(|(n, arg)| of(arg).filter(|_| n < many)).collect();
    coded(kernel, &args, &vec![true; args.len()], &[]).unwrap()
}
