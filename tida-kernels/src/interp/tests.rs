//! The interpreter against plain Rust, and against trees that no macro makes.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::element::{ElementType, ScalarType};
use crate::ir::{Access, Binding, Kernel, LowerInput, Type, lower};
use crate::quote::build::*;
use crate::quote::{BinaryOp, Block, CompareOp, FunctionTree, Method, Projection, StaticFunction, TypeTree, UnaryOp};

/// Arrays of any rank: the cells that are there.
#[derive(Clone, Debug, Default)]
struct Cells(HashMap<(usize, usize, Vec<i64>), Value>);

impl Memory for Cells {
    fn load(&self, arg: usize, component: usize, index: &[i64]) -> Option<Value> {
        self.0.get(&(arg, component, index.to_vec())).copied()
    }

    fn store(&mut self, arg: usize, component: usize, index: &[i64], value: Value) -> bool {
        match self.0.get_mut(&(arg, component, index.to_vec())) {
            Some(cell) => {
                *cell = value;
                true
            }
            None => false,
        }
    }
}

const F64: ElementType = ElementType::Scalar(ScalarType::F64);
const I32: ElementType = ElementType::Scalar(ScalarType::I32);
const V3: ElementType = ElementType::Array { element: &F64, len: 3 };

fn one(access: Access, element: ElementType) -> Binding {
    Binding { access, element, rank: 1 }
}

fn typed(args: &[Binding], captures: &[Type], body: Block, functions: Vec<&'static StaticFunction>) -> Kernel {
    let names = ["u", "v", "w"];
    let held = ["c0", "c1", "c2"];
    let locals = ["a", "b", "c", "d"];
    let tree = kernel(&names[..args.len()], &held[..captures.len()], code(&locals, body));
    let kernel = leak_kernel(&tree, functions, vec![]);
    lower(&LowerInput { kernel, methods: &[], rank: 1, args, captures, result: None }).unwrap_or_else(|e| panic!("{e}"))
}

/// The value of a body without arguments, at cell 5.
fn value_of(captures: &[Value], body: Block) -> (Value, Option<Fault>) {
    let types: Vec<Type> = captures.iter().map(|v| Type::Scalar(v.ty())).collect();
    let kernel = typed(&[], &types, body, vec![]);
    let (values, fault) = run_cell(&kernel, captures, &[5], &mut Cells::default(), 10_000).unwrap();
    assert_eq!(values.len(), 1);
    (values[0], fault)
}

fn v(e: crate::quote::Expr) -> Block {
    value_block(vec![], e)
}

#[test]
fn loops_break_and_continue() {
    // The sum of the odd numbers below 10 that are not 5, up to 8.
    let odd = || compare(CompareOp::Eq, binary(BinaryOp::Rem, local(1), int(2)), int(0));
    let is = |n| compare(CompareOp::Eq, local(1), int(n));
    let skip = || block(vec![stmt(crate::quote::StmtKind::Continue(0))]);
    let stop = || block(vec![stmt(crate::quote::StmtKind::Break(0))]);
    let body = block(vec![
        eval(if_then(is(8), stop())),
        eval(if_then(or(odd(), is(5)), skip())),
        set_part(0, vec![], Some(BinaryOp::Add), local(1)),
    ]);
    let sum = value_block(vec![let_(0, int(0)), for_(1, int(0), int(10), body)], local(0));
    assert_eq!(value_of(&[], sum), (Value::I32(1 + 3 + 7), None));
}

#[test]
fn inclusive_ranges_reach_the_last_value() {
    let count = |lo: u64, hi: u64| {
        let body = block(vec![set_part(0, vec![], Some(BinaryOp::Add), int(1))]);
        let range = stmt(crate::quote::StmtKind::For {
            local: 1,
            range: crate::quote::Range::plain(int_of(lo, ScalarType::U8), int_of(hi, ScalarType::U8), true),
            body,
        });
        value_of(&[], value_block(vec![let_(0, int(0)), range], local(0))).0
    };
    assert_eq!(count(250, 255), Value::I32(6));
    assert_eq!(count(3, 2), Value::I32(0));
}

#[test]
fn a_loop_without_end_runs_out_of_fuel() {
    let kernel = typed(&[], &[], block(vec![while_(boolean(true), block(vec![]))]), vec![]);
    assert_eq!(run_cell(&kernel, &[], &[0], &mut Cells::default(), 1000), Err(1000));
    let turns = for_(0, int(0), int_of(u64::MAX, ScalarType::U64), block(vec![]));
    let kernel = typed(&[], &[], block(vec![turns]), vec![]);
    assert_eq!(run_cell(&kernel, &[], &[0], &mut Cells::default(), 1000), Err(1000));
}

#[test]
fn faults_come_back_and_do_not_stop_the_cell() {
    let quotient =
        |a: i32, b: i32| value_of(&[Value::I32(a), Value::I32(b)], v(add(div(capture(0), capture(1)), int(1))));
    assert_eq!(quotient(7, 2), (Value::I32(4), None));
    assert_eq!(quotient(7, 0), (Value::I32(1), Some(Fault::Division)));
    assert_eq!(quotient(i32::MIN, -1), (Value::I32(i32::MIN + 1), Some(Fault::Division)));
    let entry_of = |n| {
        let array = array(vec![int(10), int(11)]);
        let body = value_block(vec![let_(0, array)], project(local(0), entry(capture(0))));
        value_of(&[Value::U64(n)], body)
    };
    assert_eq!(entry_of(1), (Value::I32(11), None));
    assert_eq!(entry_of(2), (Value::I32(10), Some(Fault::Entry { index: 2, len: 2 })));
}

#[test]
fn a_fault_of_the_thread_stays_its_own() {
    crate::scalar::fault::raise(Fault::Division);
    assert_eq!(value_of(&[], v(int(1))), (Value::I32(1), None));
    assert_eq!(crate::scalar::fault::take(), Some(Fault::Division));
}

#[test]
fn reads_outside_are_zeros_with_a_fault_and_writes_outside_do_nothing() {
    let args = [one(Access::Write, F64), one(Access::Read, F64)];
    let kernel = typed(&args, &[], block(vec![store(0, at(), load(1, at_plus(&[1])))]), vec![]);
    let mut cells = Cells::default();
    for i in 0..4 {
        cells.0.insert((0, 0, vec![i]), Value::F64(-1.0));
        cells.0.insert((1, 0, vec![i]), Value::F64(i as f64));
    }
    let (values, fault) = run_box(&kernel, &[], &[0], &[4], &mut cells, 100).unwrap();
    assert_eq!(values, vec![Vec::new(); 4]);
    assert_eq!(fault, Some(Fault::OutOfRange { arg: 1, index: [4, 0, 0, 0] }));
    let row: Vec<_> = (0..4).map(|i| cells.0[&(0, 0, vec![i])]).collect();
    assert_eq!(row, [1.0, 2.0, 3.0, 0.0].map(Value::F64));
    let (_, fault) = run_cell(&kernel, &[], &[-7], &mut cells, 100).unwrap();
    assert_eq!(fault, Some(Fault::OutOfRange { arg: 1, index: [-6, 0, 0, 0] }));
    assert_eq!(cells.0.len(), 8);
}

#[test]
fn a_missing_cell_is_found_before_a_missing_entry() {
    let path = vec![entry(cast(project(at(), entry(int(0))), ScalarType::U64))];
    let kernel = typed(&[one(Access::Read, V3)], &[], v(load_part(0, at(), path)), vec![]);
    let mut cells = Cells::default();
    cells.0.extend((0..3).map(|c| ((0, c, vec![4]), Value::F64(c as f64))));
    let mut fault = |i| run_cell(&kernel, &[], &[i], &mut cells, 10).unwrap().1;
    assert_eq!(fault(4), Some(Fault::Entry { index: 4, len: 3 }));
    assert_eq!(fault(5), Some(Fault::OutOfRange { arg: 0, index: [5, 0, 0, 0] }));
}

#[test]
fn assignments_take_their_value_before_their_place() {
    // `let mut a = 0; let mut b = [1, 2]; b[a] += { a = 1; 10 }; b[1] * 100 + b[0]`
    let late = block_value(value_block(vec![set(0, int(1))], int(10)));
    let of = |n| project(local(1), entry(int(n)));
    let body = value_block(
        vec![
            let_(0, int(0)),
            let_(1, array(vec![int(1), int(2)])),
            set_part(1, vec![entry(local(0))], Some(BinaryOp::Add), late),
        ],
        add(mul(of(1), int(100)), of(0)),
    );
    assert_eq!(value_of(&[], body), (Value::I32(1201), None));
}

#[test]
fn a_box_runs_in_row_major_order() {
    let sum = |d: u64| cast(project(at(), entry(int(d))), ScalarType::F64);
    let tree = kernel(&[], &[], code(&[], v(add(mul(sum(0), float(10.0)), sum(1)))));
    let kernel = leak_kernel(&tree, vec![], vec![]);
    let kernel = lower(&LowerInput { kernel, methods: &[], rank: 2, args: &[], captures: &[], result: None }).unwrap();
    let run = |lo: [i64; 2], hi: [i64; 2]| run_box(&kernel, &[], &lo, &hi, &mut Cells::default(), 10).unwrap().0;
    let want = [11.0, 12.0, 13.0, 21.0, 22.0, 23.0].map(|x| vec![Value::F64(x)]);
    assert_eq!(run([1, 1], [3, 4]), want);
    assert!(run([1, 1], [3, 1]).is_empty());
}

#[test]
fn elements_swap_their_components() {
    // `u[at] = [u[at][2], u[at][0], u[at][1]]`
    let part = |n| load_part(0, at(), vec![entry(int(n))]);
    let body = block(vec![store(0, at(), array(vec![part(2), part(0), part(1)]))]);
    let kernel = typed(&[one(Access::Write, V3)], &[], body, vec![]);
    let mut cells = Cells::default();
    cells.0.extend((0..3).map(|c| ((0, c, vec![0]), Value::F64(c as f64))));
    assert_eq!(run_cell(&kernel, &[], &[0], &mut cells, 100), Ok((vec![], None)));
    let after: Vec<_> = (0..3).map(|c| cells.0[&(0, c, vec![0])]).collect();
    assert_eq!(after, [2.0, 0.0, 1.0].map(Value::F64));
}

#[test]
fn parts_of_locals_are_read_and_written() {
    // `let mut a = ([0, 1, 2], true); a.0[c0] += 40; a.0[c0] + if a.1 { a.0[2] } else { 0 }`
    let slot = || vec![Projection::Tuple(0), entry(capture(0))];
    let read = || project(project(local(0), Projection::Tuple(0)), entry(capture(0)));
    let last = project(project(local(0), Projection::Tuple(0)), entry(int(2)));
    let flag = project(local(0), Projection::Tuple(1));
    let body = value_block(
        vec![
            let_(0, tuple(vec![array(vec![int(0), int(1), int(2)]), boolean(true)])),
            set_part(0, slot(), Some(BinaryOp::Add), int(40)),
        ],
        add(read(), if_else(flag, v(last), v(int(0)))),
    );
    assert_eq!(value_of(&[Value::U64(1)], body), (Value::I32(43), None));
}

#[test]
fn functions_return_early() {
    // `fn half(a: i32) -> i32 { if a < 0 { return 0; } a / 2 }`
    let early = eval(if_then(compare(CompareOp::Lt, local(0), int(0)), block(vec![return_(Some(int(0)))])));
    let tree = FunctionTree {
        name: "half".into(),
        params: vec![(0, TypeTree::Scalar(ScalarType::I32))],
        result: Some(TypeTree::Scalar(ScalarType::I32)),
        code: code(&["a"], value_block(vec![early], div(local(0), int(2)))),
    };
    let half = leak_function(&tree, vec![], vec![]);
    let kernel = typed(&[one(Access::Read, I32)], &[], v(call(0, vec![load(0, at())])), vec![half]);
    let run = |x: i32| {
        let mut cells = Cells::default();
        cells.0.insert((0, 0, vec![0]), Value::I32(x));
        run_cell(&kernel, &[], &[0], &mut cells, 100).unwrap().0
    };
    assert_eq!(run(9), [Value::I32(4)]);
    assert_eq!(run(-9), [Value::I32(0)]);
}

/// A random expression and what plain Rust makes of it, for inputs `c0`, `c1`, `c2`.
#[derive(Clone, Debug)]
enum Sum {
    Input(usize),
    Literal(u8),
    Two(BinaryOp, Box<Sum>, Box<Sum>),
    Neg(Box<Sum>),
    /// `if a < b { c } else { d }`
    Choose(Box<[Sum; 4]>),
    /// `{ let x = a; x - x * b }`, each with a local of its own.
    Named(Box<Sum>, Box<Sum>),
    /// `a` while a block assigns a variable that `a` reads.
    Late(Box<Sum>, Box<Sum>),
}

fn sums(operators: &'static [BinaryOp]) -> impl Strategy<Value = Sum> {
    let leaf = prop_oneof![(0usize..3).prop_map(Sum::Input), (0u8..128).prop_map(Sum::Literal)];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            4 => (proptest::sample::select(operators), boxed.clone(), boxed.clone())
                .prop_map(|(op, a, b)| Sum::Two(op, a, b)),
            1 => boxed.clone().prop_map(Sum::Neg),
            1 => proptest::array::uniform4(inner).prop_map(|parts| Sum::Choose(Box::new(parts))),
            1 => (boxed.clone(), boxed.clone()).prop_map(|(a, b)| Sum::Named(a, b)),
            1 => (boxed.clone(), boxed).prop_map(|(a, b)| Sum::Late(a, b)),
        ]
    })
}

impl Sum {
    fn tree(&self, locals: &mut u32) -> crate::quote::Expr {
        match self {
            Sum::Input(n) => capture(*n as u32),
            // `x * 0 + literal` would change NaNs; a literal takes its type from its partner, or needs one.
            Sum::Literal(n) => typed_literal(*n),
            Sum::Two(op, a, b) => {
                let a = a.tree(locals);
                binary(*op, a, b.tree(locals))
            }
            // In a block: a number with its minus is none of an unsigned type.
            Sum::Neg(a) => unary(UnaryOp::Neg, block_value(v(a.tree(locals)))),
            Sum::Choose(parts) => {
                let [a, b, c, d] = &**parts;
                let cond = compare(CompareOp::Lt, a.tree(locals), b.tree(locals));
                let then = v(c.tree(locals));
                if_else(cond, then, v(d.tree(locals)))
            }
            Sum::Named(a, b) => {
                let a = a.tree(locals);
                let x = *locals;
                *locals += 1;
                let b = b.tree(locals);
                let value = binary(BinaryOp::Sub, local(x), binary(BinaryOp::Mul, local(x), b));
                block_value(value_block(vec![let_(x, a)], value))
            }
            Sum::Late(a, b) => {
                let a = a.tree(locals);
                let x = *locals;
                *locals += 1;
                let b = b.tree(locals);
                let changed = block_value(value_block(vec![set(x, b)], local(x)));
                block_value(value_block(vec![let_(x, a)], binary(BinaryOp::Sub, local(x), changed)))
            }
        }
    }
}

thread_local! {
    static LITERALS: std::cell::Cell<ScalarType> = const { std::cell::Cell::new(ScalarType::F64) };
}

fn typed_literal(n: u8) -> crate::quote::Expr {
    let ty = LITERALS.get();
    if ty.is_float() { float_of(&format!("{n}.25"), ty) } else { int_of(n as u64, ty) }
}

/// Plain Rust's value of a [`Sum`].
macro_rules! plain {
    ($name:ident, $t:ty, $literal:expr, $two:expr, $neg:expr) => {
        fn $name(sum: &Sum, inputs: &[$t; 3], fault: &mut bool) -> $t {
            let two: fn(BinaryOp, $t, $t, &mut bool) -> $t = $two;
            let neg: fn($t) -> $t = $neg;
            match sum {
                Sum::Input(n) => inputs[*n],
                Sum::Literal(n) => $literal(*n),
                Sum::Two(op, a, b) => {
                    let a = $name(a, inputs, fault);
                    let b = $name(b, inputs, fault);
                    two(*op, a, b, fault)
                }
                Sum::Neg(a) => neg($name(a, inputs, fault)),
                Sum::Choose(parts) => {
                    let [a, b, c, d] = &**parts;
                    let below = $name(a, inputs, fault) < $name(b, inputs, fault);
                    $name(if below { c } else { d }, inputs, fault)
                }
                Sum::Named(a, b) => {
                    let x = $name(a, inputs, fault);
                    let b = $name(b, inputs, fault);
                    two(BinaryOp::Sub, x, two(BinaryOp::Mul, x, b, fault), fault)
                }
                Sum::Late(a, b) => {
                    let a = $name(a, inputs, fault);
                    let b = $name(b, inputs, fault);
                    two(BinaryOp::Sub, a, b, fault)
                }
            }
        }
    };
}

macro_rules! plain_float {
    ($name:ident, $t:ty) => {
        plain!(
            $name,
            $t,
            |n: u8| n as $t + 0.25,
            |op, a, b, _| match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::Div => a / b,
                _ => a % b,
            },
            |a| -a
        );
    };
}

macro_rules! plain_int {
    ($name:ident, $t:ty) => {
        plain!(
            $name,
            $t,
            |n: u8| n as $t,
            |op, a, b, fault| match op {
                BinaryOp::Add => a.wrapping_add(b),
                BinaryOp::Sub => a.wrapping_sub(b),
                BinaryOp::Mul => a.wrapping_mul(b),
                BinaryOp::Div | BinaryOp::Rem if b == 0 => {
                    *fault = true;
                    0
                }
                BinaryOp::Div => {
                    *fault |= a.overflowing_div(b).1;
                    a.wrapping_div(b)
                }
                BinaryOp::Rem => {
                    *fault |= a.overflowing_rem(b).1;
                    a.wrapping_rem(b)
                }
                BinaryOp::BitAnd => a & b,
                BinaryOp::BitOr => a | b,
                BinaryOp::BitXor => a ^ b,
                BinaryOp::Shl => a.wrapping_shl(b as u32),
                BinaryOp::Shr => a.wrapping_shr(b as u32),
            },
            |a| a.wrapping_neg()
        );
    };
}

plain_float!(plain_f64, f64);
plain_float!(plain_f32, f32);
plain_int!(plain_i8, i8);
plain_int!(plain_u16, u16);
plain_int!(plain_i32, i32);
plain_int!(plain_u64, u64);

fn interpreted(sum: &Sum, inputs: [Value; 3]) -> (Value, Option<Fault>) {
    LITERALS.set(inputs[0].ty());
    let mut locals = 0;
    let tree = sum.tree(&mut locals);
    let names = vec!["x"; locals as usize];
    let tree = kernel(&[], &["c0", "c1", "c2"], code(&names, v(tree)));
    let kernel = leak_kernel(&tree, vec![], vec![]);
    let ty = Type::Scalar(inputs[0].ty());
    let captures = [ty.clone(), ty.clone(), ty.clone()];
    let input = LowerInput { kernel, methods: &[], rank: 1, args: &[], captures: &captures, result: Some(ty) };
    let kernel = lower(&input).unwrap_or_else(|e| panic!("{e}"));
    let (values, fault) = run_cell(&kernel, &inputs, &[0], &mut Cells::default(), 100_000).unwrap();
    (values[0], fault)
}

const FLOAT_OPS: &[BinaryOp] = &[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem];
const INT_OPS: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::Shl,
    BinaryOp::Shr,
];

fn same_bits(a: Value, b: Value) -> bool {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) if a.is_nan() && b.is_nan() => true,
        (Value::F32(a), Value::F32(b)) if a.is_nan() && b.is_nan() => true,
        _ => a.ty() == b.ty() && a.bits() == b.bits(),
    }
}

macro_rules! agrees {
    ($name:ident, $plain:ident, $variant:ident, $t:ty, $ops:expr) => {
        proptest! {
            #[test]
            fn $name(sum in sums($ops), inputs in any::<[$t; 3]>()) {
                let mut faulted = false;
                let want = Value::$variant($plain(&sum, &inputs, &mut faulted));
                let (have, fault) = interpreted(&sum, inputs.map(Value::$variant));
                prop_assert!(same_bits(have, want), "{have:?} for {want:?}");
                prop_assert_eq!(fault, faulted.then_some(Fault::Division));
            }
        }
    };
}

agrees!(f64_agrees_with_rust, plain_f64, F64, f64, FLOAT_OPS);
agrees!(f32_agrees_with_rust, plain_f32, F32, f32, FLOAT_OPS);
agrees!(i8_agrees_with_rust, plain_i8, I8, i8, INT_OPS);
agrees!(u16_agrees_with_rust, plain_u16, U16, u16, INT_OPS);
agrees!(i32_agrees_with_rust, plain_i32, I32, i32, INT_OPS);
agrees!(u64_agrees_with_rust, plain_u64, U64, u64, INT_OPS);

proptest! {
    #[test]
    fn casts_agree_with_rust(x in any::<f64>(), n in any::<i64>()) {
        let of = |v: Value, to| value_of(&[v], self::v(cast(capture(0), to))).0;
        prop_assert_eq!(of(Value::F64(x), ScalarType::I32), Value::I32(x as i32));
        prop_assert_eq!(of(Value::F64(x), ScalarType::U64), Value::U64(x as u64));
        prop_assert_eq!(of(Value::F64(x), ScalarType::I16), Value::I16(x as i16));
        prop_assert_eq!(of(Value::I64(n), ScalarType::I8), Value::I8(n as i8));
        prop_assert_eq!(of(Value::I8(n as i8), ScalarType::U16), Value::U16(n as i8 as u16));
        prop_assert!(same_bits(of(Value::F64(x), ScalarType::F32), Value::F32(x as f32)));
        prop_assert_eq!(of(Value::I64(n), ScalarType::U8), Value::U8(n as u8));
        prop_assert_eq!(of(Value::I64(n), ScalarType::F32), Value::F32(n as f32));
        prop_assert_eq!(of(Value::I64(n), ScalarType::U32), Value::U32(n as u32));
    }

    #[test]
    fn every_method_has_its_value(x in any::<f64>(), y in any::<f64>(), n in any::<i32>()) {
        let of = |m, args: &[Value]| {
            let e = (0..args.len() as u32).map(capture).collect();
            value_of(args, v(method(m, e))).0
        };
        let (a, b) = (Value::F64(x), Value::F64(y));
        prop_assert!(same_bits(of(Method::Sqrt, &[a]), Value::F64(x.sqrt())));
        prop_assert!(same_bits(of(Method::Hypot, &[a, b]), Value::F64(x.hypot(y))));
        prop_assert!(same_bits(of(Method::MulAdd, &[a, b, a]), Value::F64(x.mul_add(y, x))));
        prop_assert!(same_bits(of(Method::IsNan, &[a]), Value::Bool(x.is_nan())));
        prop_assert!(same_bits(of(Method::Abs, &[Value::I32(n)]), Value::I32(n.wrapping_abs())));
        prop_assert!(same_bits(of(Method::CountOnes, &[Value::I32(n)]), Value::U32(n.count_ones())));
        let turned = Value::I32(n.rotate_left(n as u32));
        prop_assert!(same_bits(of(Method::RotateLeft, &[Value::I32(n), Value::U32(n as u32)]), turned));
    }
}
