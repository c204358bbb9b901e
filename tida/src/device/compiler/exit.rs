//! The end of the process: a compiler that runs then would find its own library torn down.
//!
//! Accelerators wait for their compilers when they go. A program that ends without dropping them (`std::process::exit`,
//! one that is kept in a `static`) waits here, before any library that was loaded earlier is torn down.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
#[cfg(unix)]
use std::time::Duration;

/// The longest that the end of a process is kept waiting.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(60);

struct State {
    /// Compilers that run.
    running: usize,
    /// The process ends.
    ends: bool,
    /// The system knows whom to call.
    registered: bool,
}

static STATE: Mutex<State> = Mutex::new(State { running: 0, ends: false, registered: false });
static CHANGED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// That a compiler runs, until it is dropped.
pub(super) struct Running(());

impl Running {
    /// Nothing once the process ends: then no compiler begins.
    pub fn begin() -> Option<Running> {
        let mut state = lock();
        if state.ends {
            return None;
        }
        if !state.registered {
            state.registered = true;
            #[cfg(unix)]
            // SAFETY: a function that takes nothing and does not unwind: it only locks and waits. If it is not taken
            // down the process ends without it.
            unsafe {
                libc::atexit(at_exit);
            }
        }
        state.running += 1;
        Some(Running(()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock().running -= 1;
        CHANGED.notify_all();
    }
}

/// Lets no compiler begin, and waits for those that run.
#[cfg(unix)]
extern "C" fn at_exit() {
    let mut state = lock();
    state.ends = true;
    // Either they are done, or it has waited long enough.
    let _ = CHANGED.wait_timeout_while(state, PATIENCE, |state| state.running > 0);
}
