//! HDF5 prints what goes wrong in it, on each thread that has not asked it not to; libnetcdf tries things that do.
//! Failures are errors here.

use std::cell::Cell;
use std::ptr;

use hdf5_metno_sys::LOCK;
use hdf5_metno_sys::h5e::{H5E_DEFAULT, H5Eset_auto2};

thread_local! {
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Asks HDF5 to print nothing on this thread.
pub(super) fn quiet() {
    if ASKED.replace(true) {
        return;
    }
    let _lock = LOCK.lock();
    // SAFETY: calls of the library are made under its lock; no function stands for "print nothing".
    unsafe { H5Eset_auto2(H5E_DEFAULT, None, ptr::null_mut()) };
}
