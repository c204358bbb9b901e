//! The heat sweep as plain Rust for rustc's own nvptx64 target.
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]

use core::arch::nvptx::{
    _block_dim_x, _block_dim_y, _block_dim_z, _block_idx_x, _block_idx_y, _block_idx_z, _thread_idx_x, _thread_idx_y,
    _thread_idx_z,
};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

/// One explicit step of the heat equation on a box of `n0 × n1 × n2` cells.
///
/// `next` and `u` point to the first cell of the box; neighbours along the axes are `s` and `t` elements away.
///
/// # Safety
/// The cells of the box are writable in `next`; in `u` they and their neighbours are readable.
#[no_mangle]
pub unsafe extern "ptx-kernel" fn heat(
    next: *mut f64,
    u: *const f64,
    n0: i64,
    n1: i64,
    n2: i64,
    s0: i64,
    s1: i64,
    t0: i64,
    t1: i64,
    alpha: f64,
) {
    let i = _block_idx_x() as i64 * _block_dim_x() as i64 + _thread_idx_x() as i64;
    let j = _block_idx_y() as i64 * _block_dim_y() as i64 + _thread_idx_y() as i64;
    let k = _block_idx_z() as i64 * _block_dim_z() as i64 + _thread_idx_z() as i64;
    if i >= n2 || j >= n1 || k >= n0 {
        return;
    }
    let at = (k * t0 + j * t1 + i) as isize;
    let u = |distance: i64| *u.offset(at + distance as isize);
    let c = u(0);
    *next.offset((k * s0 + j * s1 + i) as isize) =
        c + alpha * (u(1) + u(-1) + u(t1) + u(-t1) + u(t0) + u(-t0) - 6.0 * c);
}
