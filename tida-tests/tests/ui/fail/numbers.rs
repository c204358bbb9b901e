#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next, u, at| {
        next[at] = 300u8 as f64 + { 300 } as u8 as f64 - -129i32 as f64 + -1u32 as f64;
        next[at] += 4294967296 as i32 as f64 + (-2147483649 as i32) as f64 + 1e39f32 as f64 + 1e39 as f32 as f64;
        next[at] -= u[at] * (-(2147483648) as i32 as f64);
        let x: u8 = 256;
        next[at] = x as f64 + 18446744073709551616;
    }));
}
