//! Trees by hand, and the typed form they give, as text.

use super::*;
use crate::element::ScalarType;
use crate::quote::build::*;
use crate::quote::{
    BinaryOp, Block, CompareOp, ExprKind, FunctionTree, Method, Pattern, Projection, StaticFunction, TypeTree, UnaryOp,
};

const F64: ElementType = ElementType::Scalar(ScalarType::F64);
const F32: ElementType = ElementType::Scalar(ScalarType::F32);
const I64: ElementType = ElementType::Scalar(ScalarType::I64);
const I32: ElementType = ElementType::Scalar(ScalarType::I32);
const V3: ElementType = ElementType::Array { element: &F64, len: 3 };
const CELL: ElementType = ElementType::Struct { name: "Cell", fields: &[("rho", F64), ("v", V3), ("kind", I32)] };

fn write(element: ElementType) -> Binding {
    Binding { access: Access::Write, element, rank: 2 }
}

fn read(element: ElementType) -> Binding {
    Binding { access: Access::Read, element, rank: 2 }
}

/// A kernel over arguments `u`, `v`, `w`.. with captures `c0`, `c1`.. and locals `a`, `b`, `c`, `d`.
struct Case {
    args: Vec<Binding>,
    captures: Vec<Type>,
    result: Option<Type>,
    functions: Vec<&'static StaticFunction>,
    structs: Vec<ElementType>,
}

fn case(args: &[Binding]) -> Case {
    Case { args: args.to_vec(), captures: vec![], result: Some(Type::unit()), functions: vec![], structs: vec![] }
}

impl Case {
    fn valued(mut self) -> Self {
        self.result = None;
        self
    }

    fn lower(&self, body: Block) -> Result<Kernel, KernelError> {
        let names = ["u", "v", "w", "x"];
        let held = ["c0", "c1", "c2"];
        let code = code(&["a", "b", "c", "d"], body);
        let tree = kernel(&names[..self.args.len()], &held[..self.captures.len()], code);
        let kernel = leak_kernel(&tree, self.functions.clone(), self.structs.clone());
        lower(&LowerInput {
            kernel,
            methods: &[],
            rank: 2,
            args: &self.args,
            captures: &self.captures,
            result: self.result.clone(),
        })
    }

    /// The statements of the typed form, a line each.
    #[track_caller]
    fn gives(&self, body: Block, want: &str) {
        let kernel = self.lower(body).unwrap_or_else(|e| panic!("{e}"));
        let text = kernel.to_string();
        let start = text.find("kernel(").unwrap();
        let lines: Vec<&str> = text[start..].lines().skip(1).collect();
        let have: Vec<&str> = lines[..lines.len() - 1].iter().map(|l| l.trim()).collect();
        let want: Vec<&str> = want.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        assert_eq!(have, want, "\n{text}");
    }

    #[track_caller]
    fn fails(&self, body: Block, parts: &[&str]) {
        let error = self.lower(body).expect_err("an error was wanted").to_string();
        for part in parts {
            assert!(error.contains(part), "{error:?} does not say {part:?}");
        }
    }
}

fn b(stmts: Vec<crate::quote::Stmt>) -> Block {
    block(stmts)
}

fn value(e: crate::quote::Expr) -> Block {
    value_block(vec![], e)
}

#[test]
fn a_stencil_becomes_loads_at_shifted_coordinates() {
    let mut case = case(&[write(F64), read(F64)]);
    case.captures = vec![Type::Scalar(ScalarType::F64)];
    case.gives(
        b(vec![
            let_(0, load(1, at())),
            store(
                0,
                at(),
                add(
                    local(0),
                    mul(capture(0), add(load(1, at_plus(&[0, -1])), load(1, shift(true, at(), point(&[1, 0]))))),
                ),
            ),
        ]),
        "let a: f64 = v[at.0, at.1];
         u[at.0, at.1] = (a + (c0 * (v[at.0, (at.1 + -1)] + v[(at.0 - 1), at.1])));",
    );
}

#[test]
fn literals_take_the_type_of_their_partners() {
    case(&[write(F32)]).gives(
        b(vec![store(0, at(), mul(float(0.1), method(Method::Max, vec![load(0, at()), float(2.0)])))]),
        "u[at.0, at.1] = (0.1f32 * max(u[at.0, at.1], 2.0f32));",
    );
    case(&[write(F64)]).gives(
        b(vec![let_(0, int(3)), let_(1, float(1.5)), store(0, at(), cast(float(0.1), ScalarType::F64))]),
        "let a: i32 = 3i32;
         let b: f64 = 1.5;
         u[at.0, at.1] = 0.1;",
    );
    // Shifts take any integer on the right.
    case(&[write(I32)]).gives(
        b(vec![store(0, at(), binary(BinaryOp::Shl, load(0, at()), int_of(3, ScalarType::U8)))]),
        "u[at.0, at.1] = (u[at.0, at.1] << 3u8);",
    );
    // A literal that is cast has the type that the macro has written, or its own.
    case(&[write(F32)]).gives(
        b(vec![store(0, at(), cast(unary(UnaryOp::Neg, float_of("0.1", ScalarType::F32)), ScalarType::F32))]),
        "u[at.0, at.1] = -0.1f32;",
    );
    case(&[write(F32)]).gives(
        b(vec![store(0, at(), cast(unary(UnaryOp::Neg, float(0.1)), ScalarType::F32))]),
        "u[at.0, at.1] = (-0.1 as f32);",
    );
}

#[test]
fn a_literal_that_its_type_does_not_have_is_an_error() {
    const U8: ElementType = ElementType::Scalar(ScalarType::U8);
    case(&[write(U8)]).gives(b(vec![store(0, at(), int(255))]), "u[at.0, at.1] = 255u8;");
    case(&[write(U8)]).fails(b(vec![store(0, at(), int(256))]), &["the number 256 for u8", "0 to 255", "256i64"]);
    let minus = |n| unary(UnaryOp::Neg, int(n));
    case(&[write(I32)]).gives(b(vec![store(0, at(), minus(1 << 31))]), "u[at.0, at.1] = -2147483648i32;");
    case(&[write(I32)]).fails(b(vec![store(0, at(), int(1 << 31))]), &["the number 2147483648 for i32"]);
    case(&[write(I32)]).fails(b(vec![store(0, at(), minus((1 << 31) + 1))]), &["the number -2147483649 for i32"]);
    case(&[write(I64)]).fails(b(vec![store(0, at(), int(1 << 63))]), &["9223372036854775808u64"]);
    case(&[write(F32)]).fails(b(vec![store(0, at(), float(1e39))]), &["numbers up to 3.4028235e38", "f64"]);
}

#[test]
fn a_later_use_gives_a_variable_its_type() {
    case(&[write(F32)]).gives(
        b(vec![
            let_(0, float(0.0)),
            let_pattern(Pattern::Local(1), None, None),
            set(1, local(0)),
            store(0, at(), local(1)),
        ]),
        "let a: f32 = 0.0f32;
         let b: f32;
         b = a;
         u[at.0, at.1] = b;",
    );
}

#[test]
fn only_the_components_used_are_loaded() {
    let path = || vec![field("v"), entry(int(2))];
    case(&[write(F64), read(CELL)])
        .gives(b(vec![store(0, at(), load_part(1, at(), path()))]), "u[at.0, at.1] = v[at.0, at.1]#3;");
    // The same through a projection of the whole element.
    let whole = project(project(load(1, at()), field("v")), entry(int(1)));
    case(&[write(F64), read(CELL)]).gives(b(vec![store(0, at(), whole)]), "u[at.0, at.1] = v[at.0, at.1]#2;");
    // Through a run-time entry; `usize` is u64.
    let mut dynamic = case(&[write(F64), read(CELL)]);
    dynamic.captures = vec![Type::Scalar(ScalarType::U64)];
    dynamic.gives(
        b(vec![store(0, at(), load_part(1, at(), vec![field("v"), entry(capture(0))]))]),
        "u[at.0, at.1] = v[at.0, at.1]#1+c0<3*1;",
    );
    case(&[write(F64), read(CELL)]).gives(
        b(vec![let_(0, load(1, at())), store(0, at(), project(local(0), field("rho")))]),
        "let a: Cell = Cell{v[at.0, at.1]#0, [v[at.0, at.1]#1, v[at.0, at.1]#2, v[at.0, at.1]#3], v[at.0, at.1]#4};
         u[at.0, at.1] = a.0;",
    );
}

#[test]
fn whole_elements_are_stored_component_by_component() {
    let mut case = case(&[write(CELL)]);
    case.structs = vec![CELL];
    case.gives(
        b(vec![store(
            0,
            at(),
            structure(0, vec![("kind", int(1)), ("v", repeat(float(0.0), 3)), ("rho", float(2.0))]),
        )]),
        "u[at.0, at.1]#0 = 2.0;
         u[at.0, at.1]#1 = 0.0;
         u[at.0, at.1]#2 = 0.0;
         u[at.0, at.1]#3 = 0.0;
         u[at.0, at.1]#4 = 1i32;",
    );
    // What is read from the cell is read before any of it is written.
    let part = |n| load_part(0, at(), vec![field("v"), entry(int(n))]);
    case.gives(
        b(vec![store_part(0, at(), vec![field("v")], None, array(vec![part(2), part(1), part(0)]))]),
        "let _value4: [f64; 3] = [u[at.0, at.1]#3, u[at.0, at.1]#2, u[at.0, at.1]#1];
         u[at.0, at.1]#1 = _value4.0;
         u[at.0, at.1]#2 = _value4.1;
         u[at.0, at.1]#3 = _value4.2;",
    );
}

#[test]
fn compound_assignment_evaluates_its_index_once() {
    let mut case = case(&[write(V3)]);
    case.functions = vec![double()];
    case.gives(
        b(vec![store_part(
            0,
            at(),
            vec![entry(cast(call(0, vec![float(0.5)]), ScalarType::U64))],
            Some(BinaryOp::Add),
            float(1.0),
        )]),
        "let _entry4: u64 = (double#0(0.5) as u64);
         u[at.0, at.1]#0+_entry4<3*1 = (u[at.0, at.1]#0+_entry4<3*1 + 1.0);",
    );
    case.gives(
        b(vec![
            let_(0, repeat(int(0), 4)),
            set_part(0, vec![entry(int(3))], Some(BinaryOp::Sub), int(1)),
            store_part(0, at(), vec![entry(int(0))], None, cast(project(local(0), entry(int(3))), ScalarType::F64)),
        ]),
        "let a: [i32; 4] = [0i32, 0i32, 0i32, 0i32];
         a.3 = (a.3 - 1i32);
         u[at.0, at.1]#0 = (a.3 as f64);",
    );
}

/// `fn double(a: f64) -> f64 { a + a }`
fn double() -> &'static StaticFunction {
    function("double", &[ScalarType::F64], ScalarType::F64, value(add(local(0), local(0))), vec![])
}

fn function(
    name: &str,
    params: &[ScalarType],
    result: ScalarType,
    body: Block,
    functions: Vec<&'static StaticFunction>,
) -> &'static StaticFunction {
    let tree = FunctionTree {
        name: name.to_owned(),
        params: params.iter().enumerate().map(|(n, s)| (n as u32, TypeTree::Scalar(*s))).collect(),
        result: Some(TypeTree::Scalar(result)),
        code: code(&["a", "b", "c"], body),
    };
    leak_function(&tree, functions, vec![])
}

#[test]
fn if_as_a_value_becomes_a_local() {
    let positive = || compare(CompareOp::Gt, load(0, at()), float(0.0));
    case(&[write(F64)]).gives(
        b(vec![store(0, at(), if_else(positive(), value(float(1.0)), value(unary(UnaryOp::Neg, float(1.0)))))]),
        "let _if4: f64;
         if (u[at.0, at.1] > 0.0) {
         _if4 = 1.0;
         } else {
         _if4 = -1.0;
         }
         u[at.0, at.1] = _if4;",
    );
    // A branch that leaves has any type.
    case(&[write(F64)]).gives(
        b(vec![let_(0, if_else(positive(), value(float(1.0)), b(vec![return_(None)]))), store(0, at(), local(0))]),
        "let _if4: f64;
         if (u[at.0, at.1] > 0.0) {
         _if4 = 1.0;
         } else {
         return;
         }
         let a: f64 = _if4;
         u[at.0, at.1] = a;",
    );
}

#[test]
fn rusts_order_of_evaluation_is_kept() {
    // `a + { a = 2.0; a }`: the first `a` is the old one.
    case(&[write(F64)]).gives(
        b(vec![
            let_(0, float(1.0)),
            store(0, at(), add(local(0), block_value(value_block(vec![set(0, float(2.0))], local(0))))),
        ]),
        "let a: f64 = 1.0;
         let _early4: f64 = a;
         a = 2.0;
         u[at.0, at.1] = (_early4 + a);",
    );
    // `b && { a = 2.0; true }` does not assign if `b` is false.
    case(&[write(F64)]).gives(
        b(vec![
            let_(0, float(1.0)),
            let_(1, and(boolean(false), block_value(value_block(vec![set(0, float(2.0))], boolean(true))))),
            store(0, at(), local(0)),
        ]),
        "let a: f64 = 1.0;
         let _lazy4: bool = false;
         if _lazy4 {
         a = 2.0;
         _lazy4 = true;
         }
         let b: bool = _lazy4;
         u[at.0, at.1] = a;",
    );
    // The statements of a condition run before each test.
    case(&[write(I32)]).gives(
        b(vec![
            let_(0, int(0)),
            while_(
                block_value(value_block(
                    vec![set_part(0, vec![], Some(BinaryOp::Add), int(1))],
                    compare(CompareOp::Lt, local(0), int(5)),
                )),
                b(vec![]),
            ),
            store(0, at(), local(0)),
        ]),
        "let a: i32 = 0i32;
         while {
         a = (a + 1i32);
         } (a < 5i32) {
         }
         u[at.0, at.1] = a;",
    );
}

#[test]
fn what_can_fault_or_reads_stays_when_its_value_is_dropped() {
    case(&[write(I32), read(I32)]).gives(
        b(vec![
            eval(add(int(1), int(2))),
            eval(div(load(0, at()), int(0))),
            let_pattern(Pattern::Ignore, None, Some(load(1, at_plus(&[0, 9])))),
            // `(v[at + [0, 8]], 7).1`
            store(0, at(), project(tuple(vec![load(1, at_plus(&[0, 8])), int(7)]), Projection::Tuple(1))),
        ]),
        "eval (u[at.0, at.1] / 0i32);
         eval v[at.0, (at.1 + 9)];
         eval v[at.0, (at.1 + 8)];
         u[at.0, at.1] = 7i32;",
    );
}

#[test]
fn patterns_take_points_and_tuples_apart() {
    case(&[write(F64)]).gives(
        b(vec![
            let_pattern(Pattern::Array(vec![Pattern::Local(0), Pattern::Ignore]), None, Some(at())),
            let_pattern(
                Pattern::Tuple(vec![Pattern::Local(1), Pattern::Local(2)]),
                None,
                Some(tuple(vec![local(0), float(0.5)])),
            ),
            store(0, at(), add(cast(local(1), ScalarType::F64), local(2))),
        ]),
        "let a: i64 = at.0;
         let b: i64 = a;
         let c: f64 = 0.5;
         u[at.0, at.1] = ((b as f64) + c);",
    );
}

/// `fn small(a: i64) -> i64 { 5 as i64 }`, whose number rustc took for `rust`.
fn small(rust: fn() -> Vec<ScalarType>) -> &'static StaticFunction {
    let number = cast(int(5), ScalarType::I64);
    let tree = FunctionTree {
        name: "small".to_owned(),
        params: vec![(0, TypeTree::Scalar(ScalarType::I64))],
        result: Some(TypeTree::Scalar(ScalarType::I64)),
        code: crate::quote::Code { numbers: 1, ..code(&["a"], value(number)) },
    };
    let leaked = leak_function(&tree, vec![], vec![]);
    let StaticFunction { file, tree, functions, structs, .. } = *leaked;
    Box::leak(Box::new(StaticFunction {
        file,
        tree,
        numbers: rust,
        methods: Vec::new,
        functions,
        structs,
        constants: &[],
    }))
}

#[test]
fn a_function_whose_numbers_rust_takes_for_others_is_an_error() {
    let mut case = case(&[write(I64)]);
    let body = || b(vec![store(0, at(), call(0, vec![int_of(1, ScalarType::I64)]))]);
    case.functions = vec![small(|| vec![ScalarType::I32])];
    case.lower(body()).unwrap();
    case.functions = vec![small(|| vec![ScalarType::U8])];
    case.fails(body(), &["`small`", "Rust takes for u8", "the analysis for i32"]);
    case.functions = vec![small(Vec::new)];
    case.fails(body(), &["1 numbers for 0"]);
}

#[test]
fn functions_come_once_and_callees_first() {
    let inner = double();
    let quadruple = function(
        "quadruple",
        &[ScalarType::F64],
        ScalarType::F64,
        value(call(0, vec![call(0, vec![local(0)])])),
        vec![inner],
    );
    let mut case = case(&[write(F64)]);
    case.functions = vec![quadruple, inner];
    let kernel =
        case.lower(b(vec![store(0, at(), add(call(0, vec![float(1.0)]), call(1, vec![float(2.0)])))])).unwrap();
    let names: Vec<_> = kernel.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["double", "quadruple"]);
    assert!(kernel.to_string().contains("quadruple#1(1.0) + double#0(2.0)"), "{kernel}");
}

/// The tables of trees made by hand have a pair of floats as constant 3, and one that is unlike its type as 4.
#[test]
fn constants_are_literals_of_their_types() {
    let constant = |n: u32| expr(ExprKind::Constant(n));
    case(&[write(F64)]).gives(
        b(vec![store(0, at(), project(constant(3), entry(int_of(0, ScalarType::U64))))]),
        "u[at.0, at.1] = 0.5;",
    );
    case(&[write(F64)]).fails(b(vec![let_(0, constant(4))]), &["a constant of type [f64; 2] with 0 values"]);
    case(&[write(F64)]).fails(b(vec![let_(0, constant(5))]), &["constant 5 where there are 5"]);
    let length = expr(ExprKind::RepeatOf(Box::new(float(1.0)), 3));
    case(&[write(F64)]).fails(b(vec![let_(0, length)]), &["constant 3, which is no `usize`, as a length"]);
}

/// Methods come after the functions that are called by their paths.
#[test]
fn methods_are_called_as_functions() {
    let body = b(vec![store(0, at(), expr(ExprKind::Invoke(0, vec![call(0, vec![float(1.0)])])))]);
    let tree = kernel(&["u"], &[], code(&[], body));
    let half = function("half", &[ScalarType::F64], ScalarType::F64, value(mul(local(0), float(0.5))), vec![]);
    let kernel = leak_kernel(&tree, vec![double()], vec![]);
    let with = |methods: &[&'static StaticFunction]| {
        lower(&LowerInput { kernel, methods, rank: 2, args: &[write(F64)], captures: &[], result: None })
    };
    assert!(with(&[half]).unwrap().to_string().contains("half#1(double#0(1.0))"));
    assert!(with(&[]).unwrap_err().to_string().contains("function 1 where there are 1"));
}

#[test]
fn a_circle_of_calls_is_named() {
    // Statics may point at each other. The bytes: name "spin", no parameters, no result, empty code.
    static BYTES: [u8; 15] = [4, b's', b'p', b'i', b'n', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let tree = FunctionTree { name: "spin".into(), params: vec![], result: None, code: code(&[], block(vec![])) };
    assert_eq!(tree.encode(), BYTES);
    static SPIN: StaticFunction = StaticFunction {
        file: "spin.rs",
        tree: &BYTES,
        numbers: Vec::new,
        methods: Vec::new,
        functions: &[&TWIRL],
        structs: &[],
        constants: &[],
    };
    static TWIRL: StaticFunction = StaticFunction {
        file: "spin.rs",
        tree: &BYTES,
        numbers: Vec::new,
        methods: Vec::new,
        functions: &[&SPIN],
        structs: &[],
        constants: &[],
    };
    let mut case = case(&[write(F64)]);
    case.functions = vec![&SPIN];
    case.fails(b(vec![]), &["in a circle", "spin -> spin -> spin", "as a loop"]);
}

#[test]
fn what_a_launch_can_get_wrong_is_said() {
    let store_to = |n| b(vec![store(n, at(), float(1.0))]);
    let all = Binding { access: Access::All, element: F64, rank: 2 };
    let table = Binding { access: Access::Table, element: F64, rank: 1 };
    case(&[write(F64), read(F64)]).fails(store_to(1), &["write to `v`", "passed as `&`", "pass it as `&mut`"]);
    case(&[write(F64), all]).fails(store_to(1), &["write to `v`", "`all(..)`"]);
    case(&[write(F64), table]).fails(b(vec![store(1, int(0), float(1.0))]), &["write to `v`", "`table(..)`"]);
    let wide = Binding { access: Access::All, element: F64, rank: 3 };
    case(&[write(F64), wide]).fails(b(vec![eval(load(1, at()))]), &["index `v`", "2 axes", "has 3"]);
    case(&[write(F64), table]).fails(b(vec![eval(load(1, at()))]), &["index the table `v` by a usize", "[i64; 2]"]);
    case(&[write(F32), read(F64)]).fails(b(vec![store(0, at(), load(1, at()))]), &["f32 and f64", "cast"]);
    case(&[write(F64)]).fails(value(float(1.0)), &["result of type ()", "{float}", "`;`"]);
    let mut valued = case(&[read(F64)]);
    valued.result = Some(Type::Scalar(ScalarType::F64));
    valued.fails(b(vec![]), &["result of type f64", "()"]);
    case(&[read(I32)]).fails(b(vec![eval(method(Method::Sqrt, vec![load(0, at())]))]), &["`sqrt`", "i32"]);
    case(&[read(CELL)]).fails(b(vec![eval(load_part(0, at(), vec![field("mass")]))]), &[".mass", "Cell"]);
    let whole = || load(0, at());
    case(&[read(CELL)]).fails(b(vec![eval(compare(CompareOp::Eq, whole(), whole()))]), &["a comparison", "Cell"]);
    case(&[read(V3)]).fails(b(vec![eval(load_part(0, at(), vec![entry(int(3))]))]), &["entry 3", "array of 3"]);
    case(&[read(F64)]).fails(b(vec![eval(cast(whole(), ScalarType::Bool))]), &["cast to bool", "f64"]);
    case(&[read(F64)]).fails(b(vec![eval(repeat(float(0.0), usize::MAX))]), &["parts"]);
}

#[test]
fn counts_are_compared() {
    let tree = kernel(&["u"], &["c"], code(&[], block(vec![])));
    let kernel = leak_kernel(&tree, vec![], vec![]);
    let bound = [read(F64)];
    let held = [Type::Scalar(ScalarType::F64)];
    let with = |args, captures| lower(&LowerInput { kernel, methods: &[], rank: 2, args, captures, result: None });
    assert!(with(&bound, &held).is_ok());
    let error = with(&[], &held).unwrap_err().to_string();
    assert!(error.contains("arguments") && error.contains("0 where the kernel names 1"), "{error}");
    let error = with(&bound, &[]).unwrap_err().to_string();
    assert!(error.contains("captured values"), "{error}");
}

#[test]
fn nesting_beyond_the_limit_is_an_error() {
    let nested = |n| (0..n).fold(float(1.0), |e, _| add(e, float(1.0)));
    let mut case = case(&[read(F64)]).valued();
    assert!(case.lower(value(nested(infer::MAX_NESTING - 1))).is_ok());
    case.result = None;
    case.fails(value(nested(infer::MAX_NESTING)), &["nested more than", "let"]);
    case.fails(value(nested(5000)), &["nested too deep"]);
}

#[test]
fn types_without_end_are_errors() {
    // `a = (a, a)`
    let looped = b(vec![let_pattern(Pattern::Local(0), None, None), set(0, tuple(vec![local(0), local(0)]))]);
    case(&[read(F64)]).fails(looped, &["no end"]);
    // 40 doublings.
    let mut stmts = vec![let_(0, float(1.0))];
    let names: Vec<String> = (0..41).map(|n| format!("t{n}")).collect();
    for n in 1..=40 {
        stmts.push(let_(n, tuple(vec![local(n - 1), local(n - 1)])));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let tree = kernel(&["u"], &[], code(&names, block(stmts)));
    let kernel = leak_kernel(&tree, vec![], vec![]);
    let input = LowerInput { kernel, methods: &[], rank: 2, args: &[read(F64)], captures: &[], result: None };
    assert!(lower(&input).unwrap_err().to_string().contains("more than"));
}

#[test]
fn a_loop_without_end_has_any_type() {
    let mut case = case(&[read(F64)]);
    case.result = Some(Type::Scalar(ScalarType::F64));
    case.gives(
        b(vec![while_(boolean(true), b(vec![return_(Some(load(0, at())))]))]),
        "while true {
         return u[at.0, at.1];
         }",
    );
}
