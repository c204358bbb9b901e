//! Values and arrays compared.

use tida_kernels::interp::Memory;
use tida_kernels::scalar::Value;

use super::host::Grids;

/// Equal bits, or two NaNs.
pub fn same(a: Value, b: Value) -> bool {
    let nan = |v: Value| match v {
        Value::F32(x) => x.is_nan(),
        Value::F64(x) => x.is_nan(),
        _ => false,
    };
    a.ty() == b.ty() && (a.bits() == b.bits() || nan(a) && nan(b))
}

/// Every component of every cell that an argument holds.
pub fn contents(grids: &Grids, arg: usize) -> Vec<(Vec<i64>, usize, Value)> {
    let grid = &grids.0[arg];
    let mut all = Vec::new();
    let mut at = grid.lo.clone();
    loop {
        for component in 0..grid.element.components() {
            all.push((at.clone(), component, grids.load(arg, component, &at).unwrap()));
        }
        let mut axis = at.len();
        loop {
            if axis == 0 {
                return all;
            }
            axis -= 1;
            at[axis] += 1;
            if at[axis] < grid.hi[axis] {
                break;
            }
            at[axis] = grid.lo[axis];
        }
    }
}
