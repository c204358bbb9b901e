#[path = "../support/mod.rs"]
mod support;
use support::sweep64;
use tida::kernel;

fn main() {
    sweep64(kernel!(|next, u, at| {
        let double = |x: f64| 2.0 * x;
        let name = "wave";
        let borrowed = &u[at];
        let value = match 3 { 3 => 1.0, Some(_) => 2.0, _ => 3.0 };
        let fallible = f(1.0)?;
        let raw = unsafe { g() };
        let later = async { 1.0 };
        let deref = *borrowed;
        let range = 0..3;
        let both = next[at] = 1.0;
        next[at] = value + { return; 1.0 };
        next[at] = 'c' as u32;
        next[at] = 1.0 + return;
    }));
}
