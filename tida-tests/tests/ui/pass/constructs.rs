//! What kernels may be made of.
#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

use tida::prelude::*;

const LIMIT: usize = 4;

macro_rules! shifted {
    ($u:ident, $at:expr) => {
        kernel!(|next, $u, at| next[at] = $u[at + $at])
    };
}

#[kernel_fn]
fn swap(pair: (f64, u32), mut flags: [bool; 2]) -> (u32, f64) {
    flags[0] = !flags[1];
    if flags[0] { (pair.1, pair.0) } else { (0, 0.0) }
}

fn main() {
    let (a, b, wide) = (1.0f64, 3i32, 1u64);
    sweep64(kernel!(|next, u, at| next[at] = u[at]));
    sweep64(kernel!(move |_, _u, _at| {}));
    sweep64(shifted!(u, [0, 1]));
    sweep64(kernel!(|next, u, at| {
        let [j, i] = at;
        let (p, _): (f64, _) = (a, b);
        let far = [1i64; 2];
        let q = at + far - [0, 1];
        let mut sum = 0.0;
        for k in 0..LIMIT {
            for _ in 1..=3 {
                sum += u[at - [k as i64, 0]];
            }
        }
        let mut n = b;
        while n > 0 && !(j == i) {
            n >>= 1;
            if n == 2 {
                break;
            }
            continue;
        }
        loop {
            break;
        }
        let (c, d) = swap((u[q], 3u32), [true, false]);
        let e = (wide << 3 | 1) as f64 + c as f64 + -d + -1.0 + j.rem_euclid(3) as f64;
        if e.is_nan() {
            return;
        } else if e < 0.0 || j != i {
            next[at] = e.max(p).mul_add(2.0, 1.0);
        } else {
            next[at] = {
                let sum = sum * 2.0;
                sum
            } + n as f64;
        }
        next[at] /= 2.0;
    }));
}
