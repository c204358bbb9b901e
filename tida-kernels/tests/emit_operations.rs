//! Every exact operation on edge values: emitted OpenCL against the interpreter, bit for bit.

mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::{pocl, samples};
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::interp::{Memory, run_box};
use tida_kernels::ir::Access;
use tida_kernels::plan::{Dialect, Goal};
use tida_kernels::quote::build::*;
use tida_kernels::quote::{BinaryOp, CompareOp, Expr, Method, MethodClass, Stmt, UnaryOp};
use tida_kernels::scalar::Value;

/// Values at the edges of a type.
fn edges(ty: ScalarType) -> Vec<Value> {
    let ints: [i128; 20] = [
        0,
        1,
        -1,
        2,
        3,
        7,
        -7,
        31,
        33,
        100,
        127,
        200,
        i8::MIN as i128,
        i16::MAX as i128,
        i16::MIN as i128,
        u16::MAX as i128 - 7,
        i32::MAX as i128,
        i32::MIN as i128,
        i64::MAX as i128,
        i64::MIN as i128,
    ];
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        0.499_999_999_999_999_94,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        5e-324,
        -2.2e-308,
        f64::MAX,
        1e-40,
        3.3e38,
        255.7,
        127.5,
        -128.9,
        32768.0,
        -32769.5,
        65535.5,
        -0.3,
        2147483647.5,
        -2147483648.5,
        4294967295.9,
        9.3e18,
        1.9e19,
        8388607.5,
        -4503599627370495.5,
        1e300,
        0.1,
    ];
    match ty {
        ScalarType::F64 => floats.map(Value::F64).to_vec(),
        ScalarType::F32 => floats.map(|x| Value::F32(x as f32)).to_vec(),
        ScalarType::Bool => vec![Value::Bool(false), Value::Bool(true)],
        ty => {
            let mut edges: Vec<Value> = Vec::new();
            for edge in ints.map(|n| Value::from_bits(ty, n as u64)) {
                if !edges.contains(&edge) {
                    edges.push(edge);
                }
            }
            edges
        }
    }
}

fn leak(element: ElementType) -> &'static ElementType {
    Box::leak(Box::new(element))
}

/// One kernel with every exact operation of a type, on every pair of edge values.
fn check_operations(ty: ScalarType) {
    let (x, y, z) = (|| load(0, at()), || load(1, at()), || load(2, at()));
    let number = || load(3, at());
    let mut same_type: Vec<(String, Expr)> = Vec::new();
    let mut tests: Vec<(String, Expr)> = Vec::new();
    let mut counts: Vec<(String, Expr)> = Vec::new();
    use BinaryOp::*;
    let bool_ = ty == ScalarType::Bool;
    let binaries: &[BinaryOp] = match ty {
        ScalarType::Bool => &[BitAnd, BitOr, BitXor],
        ty if ty.is_float() => &[Add, Sub, Mul, Div, Rem],
        _ => &[Add, Sub, Mul, Div, Rem, BitAnd, BitOr, BitXor],
    };
    for op in binaries {
        same_type.push((format!("{op:?}"), binary(*op, x(), y())));
    }
    if ty.is_int() {
        same_type.push(("shl".into(), binary(Shl, x(), y())));
        same_type.push(("shr".into(), binary(Shr, x(), number())));
        same_type.push(("shl 5".into(), binary(Shl, x(), int(5))));
        same_type.push(("shr 70".into(), binary(Shr, x(), int(70))));
        same_type.push(("mixed".into(), binary(BitOr, binary(Add, x(), y()), binary(Mul, x(), sub(y(), z())))));
    }
    if !bool_ {
        same_type.push(("neg".into(), unary(UnaryOp::Neg, x())));
        same_type.push(("nested".into(), sub(sub(x(), sub(y(), z())), unary(UnaryOp::Neg, unary(UnaryOp::Neg, x())))));
    }
    if !ty.is_float() {
        same_type.push(("not".into(), unary(UnaryOp::Not, x())));
    }
    for op in [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge] {
        tests.push((format!("{op:?}"), compare(op, x(), y())));
    }
    for m in Method::ALL.iter().copied().filter(|m| m.is_exact()) {
        let takes = match m.class() {
            MethodClass::Float | MethodClass::FloatTest | MethodClass::FloatInt => ty.is_float(),
            MethodClass::Number => !bool_,
            MethodClass::Int | MethodClass::IntU32 | MethodClass::IntCount => ty.is_int(),
        };
        if !takes {
            continue;
        }
        let mut args = vec![x()];
        args.extend([y(), z()].into_iter().take(m.args()));
        match m.class() {
            MethodClass::FloatInt => args[1] = number(),
            MethodClass::IntU32 => args[1] = cast(number(), ScalarType::U32),
            _ => {}
        }
        let list = match m.class() {
            MethodClass::FloatTest => &mut tests,
            MethodClass::IntCount => &mut counts,
            _ => &mut same_type,
        };
        list.push((m.name().to_owned(), method(m, args)));
    }
    let numbers = ScalarType::ALL.iter().copied().filter(|to| *to != ScalarType::Bool);
    let targets = numbers.filter(|to| !(bool_ && to.is_float()));
    let one = samples::bind(Access::Read, ElementType::Scalar(ty), 1);
    let mut args = vec![("x", one), ("y", one), ("z", one), ("n", samples::bind(Access::Read, samples::I32, 1))];
    let lists = [(ty, same_type), (ScalarType::Bool, tests), (ScalarType::U32, counts)];
    let mut stmts: Vec<Stmt> = Vec::new();
    let mut names: Vec<Vec<String>> = vec![Vec::new(); 4];
    for (of, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        let element = ElementType::Array { element: leak(ElementType::Scalar(of)), len: list.len() };
        args.push(("out", samples::bind(Access::Write, element, 1)));
        let arg = args.len() as u32 - 1;
        names.push(list.iter().map(|(name, _)| name.clone()).collect());
        for (n, (_, e)) in list.into_iter().enumerate() {
            stmts.push(store_part(arg, at(), vec![entry(int(n as u64))], None, e));
        }
    }
    for to in targets {
        args.push(("cast", samples::bind(Access::Write, ElementType::Scalar(to), 1)));
        names.push(vec![format!("as {}", to.name())]);
        stmts.push(store(args.len() as u32 - 1, at(), cast(x(), to)));
    }
    let kernel = samples::typed("ops.rs", 1, &args, &[], &[], block(stmts), vec![], None);

    let table = edges(ty);
    let count = table.len() * table.len();
    let mut rng = Rng(1);
    let mut grids =
        Grids(kernel.args.iter().map(|a| Grid::tiled(a.access, a.element, &[0], &[count as i64], &mut rng)).collect());
    let powers = [0, 1, 2, 3, -1, -5, 13, 64, i32::MAX, i32::MIN, 40];
    for n in 0..count {
        let (a, b) = (table[n / table.len()], table[n % table.len()]);
        grids.store(0, 0, &[n as i64], a);
        grids.store(1, 0, &[n as i64], b);
        grids.store(2, 0, &[n as i64], table[(n * 7 + n / table.len()) % table.len()]);
        grids.store(3, 0, &[n as i64], Value::I32(powers[n % powers.len()]));
    }
    let whole = (vec![0], vec![count as i64]);
    let launch = Launch { captures: vec![], grids, boxes: vec![whole.clone()], whole };
    let plan = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
    let source = source(&kernel, &plan);
    let mut expected = launch.grids.clone();
    let (_, fault) = run_box(&kernel, &[], &launch.whole.0, &launch.whole.1, &mut expected, 10_000).unwrap();
    let mut found = launch.clone();
    let (_, raised) = pocl::run(&kernel, &plan, &source, &mut found, 0);
    let mut wrong = Vec::new();
    for (arg, names) in names.iter().enumerate().skip(4) {
        for (a, b) in contents(&expected, arg).into_iter().zip(contents(&found.grids, arg)) {
            if !same(a.2, b.2) {
                let operands: Vec<Value> = (0..4).map(|n| launch.grids.load(n, 0, &a.0).unwrap()).collect();
                wrong.push(format!("{} of {operands:?}: {:?}, not {:?}", names[a.1], b.2, a.2));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}: {} wrong\n{}\n{}",
        ty.name(),
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n"),
        source.text
    );
    assert_eq!(raised, fault);
    assert_eq!(fault.is_some(), ty.is_int());
    emit_support::nvrtc::compile(
        &emit_support::host::source(&kernel, &tida_kernels::plan::Plan { dialect: Dialect::Cuda, ..plan }).text,
    );
}

#[test]
fn every_operation_is_that_of_the_interpreter() {
    let mut failures = Vec::new();
    for &ty in ScalarType::ALL {
        if let Err(failure) = std::panic::catch_unwind(|| check_operations(ty)) {
            failures.push(failure.downcast_ref::<String>().cloned().unwrap_or_default());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
