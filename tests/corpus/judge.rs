//! Native against interpreted.

use std::collections::BTreeSet;
use std::sync::Mutex;

use tida::__private::{Ask, Checked, Proven, Views, inner};
use tida::compute::Args;
use tida::{Device, Error, ErrorKind, Explanation, GridBox};
use tida_kernels::interp::{Memory, run_cell};
use tida_kernels::ir::{Access, Kernel};
use tida_kernels::scalar::{Fault, Value};

use crate::scene::Copied;

/// Runs a kernel natively and interpreted, and compares: `check!(scene, [lists], (arguments), kernel)`.
///
/// `lists` names what the arguments are made from, the array whose tiles are run over first.
macro_rules! check {
    ($scene:expr, [$first:ident $(, $rest:ident)*], $args:expr, $kernel:expr) => {{
        let kernel = $crate::judge::pinned(&$args, $kernel);
        let explanation = tida::explain($args, kernel).unwrap();
        let before = vec![
            $crate::scene::Copies::copied(&$first).unwrap(),
            $($crate::scene::Copies::copied(&$rest).unwrap()),*
        ];
        let tiles = $scene.tiles(&$first);
        let recorded = tiles.iter().try_for_each(|tile| tida::compute(tile, $args, kernel));
        let native = recorded.and_then(|()| $scene.acc.sync()).and_then(|()| Ok(vec![
            $crate::scene::Copies::copied(&$first)?,
            $($crate::scene::Copies::copied(&$rest)?),*
        ]));
        let boxes: Vec<_> = tiles.iter().map(|tile| (tile.region(), tile.cells())).collect();
        $crate::judge::judge(&explanation, before, &boxes, native, $scene.acc.device());
    }};
}

pub(crate) use check;

/// Gives a kernel its type before it is used twice.
pub fn pinned<const D: usize, A, N>(_: &A, kernel: N) -> N
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, (), D>) + Copy + Send + Sync + 'static,
{
    kernel
}

/// Plain copies of every argument, seen from one region.
struct Plain<'a> {
    kernel: &'a Kernel,
    args: Vec<Copied>,
    region: usize,
}

fn inside(index: &[i64], [lo, hi]: &[Vec<i64>; 2]) -> bool {
    index.len() == lo.len() && index.iter().zip(lo).zip(hi).all(|((i, lo), hi)| lo <= i && i < hi)
}

fn position(index: &[i64], [lo, hi]: &[Vec<i64>; 2]) -> usize {
    (0..index.len()).fold(0, |n, d| n * (hi[d] - lo[d]) as usize + (index[d] - lo[d]) as usize)
}

impl Memory for Plain<'_> {
    fn load(&self, arg: usize, component: usize, index: &[i64]) -> Option<Value> {
        let parts = &self.args[arg];
        let part = match self.kernel.args[arg].access {
            Access::Read | Access::Write => Some(&parts[self.region]).filter(|part| inside(index, &part.held)),
            Access::All | Access::Table => parts.iter().find(|part| inside(index, &part.valid)),
            Access::Shared => None,
        }?;
        Some(part.values[component][position(index, &part.held)])
    }

    fn store(&mut self, arg: usize, component: usize, index: &[i64], value: Value) -> bool {
        assert_eq!(self.kernel.args[arg].access, Access::Write, "a write of a read-only argument");
        let part = &mut self.args[arg][self.region];
        if !inside(index, &part.held) {
            return false;
        }
        let old = &mut part.values[component][position(index, &part.held)];
        assert_eq!(old.ty(), value.ty(), "a value of the wrong type");
        *old = value;
        true
    }
}

fn kind(fault: Fault) -> ErrorKind {
    match fault {
        Fault::Division => ErrorKind::Division,
        Fault::Entry { .. } | Fault::OutOfRange { .. } => ErrorKind::OutOfRange,
    }
}

/// Equal bits; NaN up to payload.
fn same(a: Value, b: Value) -> bool {
    match (a, b) {
        (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        _ => a == b,
    }
}

/// Equal up to what libraries of different devices make of a few functions in a row; NaN up to payload.
fn close(a: Value, b: Value) -> bool {
    // What a function of infinities and NaN gives (`hypot`, `powf`) is the library's own, too.
    let wild = |a: f64, b: f64| !a.is_finite() && !b.is_finite();
    let near =
        |a: f64, b: f64, relative: f64| wild(a, b) || (a - b).abs() <= relative * a.abs().max(b.abs()).max(1e-30);
    match (a, b) {
        (Value::F32(x), Value::F32(y)) => same(a, b) || near(x.into(), y.into(), 1e-4),
        (Value::F64(x), Value::F64(y)) => same(a, b) || near(x, y, 1e-12),
        _ => same(a, b),
    }
}

/// The emitted CUDA form of each kernel compiles, with 32-bit and with checked reads as this launch has them: in one
/// shape of blocks, since shapes differ in a few numbers.
fn compiles_for_cuda(explanation: &Explanation) {
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let of_shape = |line: &str| line.contains("__launch_bounds__") || line.contains("blockIdx");
    let digit = |c: char| c.is_ascii_digit();
    let lines = explanation.source().lines();
    let alike = lines.map(|line| if of_shape(line) { line.replace(digit, "") } else { line.to_owned() });
    if SEEN.lock().unwrap().insert(alike.collect::<Vec<_>>().join("\n")) {
        explanation.compile().unwrap_or_else(|error| panic!("{error}\n{}", explanation.source()));
    }
}

/// Runs the interpreter over the same boxes and compares all that there is.
pub fn judge<const D: usize>(
    explanation: &Explanation,
    before: Vec<Copied>,
    boxes: &[(usize, GridBox<D>)],
    native: Result<Vec<Copied>, Error>,
    device: Device,
) {
    let kernel = inner::kernel(explanation);
    if std::env::var_os("TIDA_REQUIRE_NVRTC").is_some() && device == Device::Cpu {
        compiles_for_cuda(explanation);
    }
    // `sin` and its like are the device's own: equal to stated ulps only.
    let same = if device != Device::Cpu && inner::analysis(explanation).uses_inexact { close } else { same };
    let mut memory = Plain { kernel, args: before, region: 0 };
    let mut faults = BTreeSet::new();
    for (region, cells) in boxes {
        memory.region = *region;
        for at in cells_of(cells) {
            let (value, fault) = run_cell(kernel, inner::captures(explanation), &at, &mut memory, 100_000)
                .unwrap_or_else(|run| panic!("no end after {run} statements"));
            assert!(value.is_empty(), "a value from a kernel without one");
            faults.extend(fault.map(|fault| format!("{:?}", kind(fault))));
        }
    }
    let native = match native {
        Ok(native) => native,
        Err(error) => {
            let found = format!("{:?}", error.kind());
            assert!(faults.contains(&found), "native: {error}; interpreter: {faults:?}");
            return;
        }
    };
    assert!(faults.is_empty(), "the native form ran through; interpreter: {faults:?}");
    for (number, (seen, wanted)) in native.iter().zip(&memory.args).enumerate() {
        for (region, (seen, wanted)) in seen.iter().zip(wanted).enumerate() {
            for (component, (seen, wanted)) in seen.values.iter().zip(&wanted.values).enumerate() {
                for (n, (seen, wanted)) in seen.iter().zip(wanted).enumerate() {
                    assert!(
                        same(*seen, *wanted),
                        "argument {number}, region {region}, component {component}, value {n}: {device:?} {seen:?}, \
                         interpreted {wanted:?}\n{}",
                        explanation.source()
                    );
                }
            }
        }
    }
}

fn cells_of<const D: usize>(cells: &GridBox<D>) -> Vec<[i64; D]> {
    let mut all = vec![[0; D]];
    for d in 0..D {
        let step = |at: [i64; D]| {
            (cells.lo[d]..cells.hi[d]).map(move |x| {
                let mut at = at;
                at[d] = x;
                at
            })
        };
        all = all.into_iter().flat_map(step).collect();
    }
    all
}
