//! Locks and atomics of nodes, of gates, and of who waits: std's, or loom's where models of them are checked.

#[cfg(not(tida_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, fence};
#[cfg(not(tida_loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};

#[cfg(tida_loom)]
pub use checked::Fault;
#[cfg(tida_loom)]
pub(crate) use checked::with_fault;
#[cfg(tida_loom)]
pub(crate) use checked::{AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, OnceLock, fence};

use std::sync::PoisonError;

/// The value of a lock. A panic elsewhere leaves it as it was.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Goes through a lock: whoever held it has let it go.
pub(crate) fn pass(mutex: &Mutex<()>) {
    #[cfg(tida_loom)]
    if checked::has(Fault::NoPassing) {
        return;
    }
    drop(lock(mutex));
}

/// Lets another thread go on, which is at work, after so many looks at what it does.
pub(crate) fn pause(tries: u32) {
    #[cfg(tida_loom)]
    {
        let _ = tries;
        loom::thread::yield_now();
    }
    #[cfg(not(tida_loom))]
    if tries < 256 { std::hint::spin_loop() } else { std::thread::yield_now() }
}

/// What loom has none of, or has otherwise; and faults, which a model has to find.
#[cfg(tida_loom)]
mod checked {
    use std::cell::Cell;
    use std::sync::atomic::Ordering;

    use loom::sync::atomic;
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    /// What is wrong, to see that a model finds it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fault {
        /// Nothing keeps a store from being seen after a later load of the same thread.
        NoFences,
        /// Counting up and down orders nothing else.
        Relaxed,
        /// Counting up and down is a load and a store.
        Torn,
        /// What was stored, or the value of a `OnceLock`, may be seen before what was done before.
        EarlyValue,
        /// Who is about to sleep is not waited for.
        NoPassing,
        /// Nobody is woken.
        NoWaking,
    }

    thread_local! {
        // All threads of a model run in the thread that checks it.
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    pub(crate) fn has(fault: Fault) -> bool {
        FAULT.get() == Some(fault)
    }

    /// Runs `f` with a fault.
    pub(crate) fn with_fault<T>(fault: Fault, f: impl FnOnce() -> T) -> T {
        struct Until;
        impl Drop for Until {
            fn drop(&mut self) {
                FAULT.set(None);
            }
        }
        FAULT.set(Some(fault));
        let _until = Until;
        f()
    }

    pub(crate) fn fence(order: Ordering) {
        if !has(Fault::NoFences) {
            atomic::fence(order);
        }
    }

    /// Loom takes `SeqCst` accesses as `AcqRel` ones: a fence beside each makes of them what they are on every machine.
    fn fence_for(order: Ordering) {
        if order == Ordering::SeqCst {
            fence(order);
        }
    }

    fn counted(order: Ordering) -> Ordering {
        if has(Fault::Relaxed) { Ordering::Relaxed } else { order }
    }

    #[derive(Debug)]
    pub(crate) struct AtomicBool(atomic::AtomicBool);

    impl AtomicBool {
        pub fn new(value: bool) -> Self {
            AtomicBool(atomic::AtomicBool::new(value))
        }

        pub fn load(&self, order: Ordering) -> bool {
            fence_for(order);
            let acquires = matches!(order, Ordering::SeqCst);
            self.0.load(if acquires { Ordering::Acquire } else { order })
        }

        pub fn store(&self, value: bool, order: Ordering) {
            let releases = matches!(order, Ordering::SeqCst);
            self.0.store(value, if releases { Ordering::Release } else { order });
            fence_for(order);
        }
    }

    fn released(order: Ordering) -> Ordering {
        if has(Fault::EarlyValue) { Ordering::Relaxed } else { order }
    }

    #[derive(Debug)]
    pub(crate) struct AtomicUsize(atomic::AtomicUsize);

    impl AtomicUsize {
        pub fn new(value: usize) -> Self {
            AtomicUsize(atomic::AtomicUsize::new(value))
        }

        pub fn load(&self, order: Ordering) -> usize {
            fence_for(order);
            let acquires = matches!(order, Ordering::SeqCst);
            self.0.load(if acquires { Ordering::Acquire } else { order })
        }

        pub fn store(&self, value: usize, order: Ordering) {
            self.0.store(value, released(order));
        }

        pub fn fetch_add(&self, value: usize, order: Ordering) -> usize {
            self.change(order, |old| old.wrapping_add(value))
        }

        pub fn fetch_sub(&self, value: usize, order: Ordering) -> usize {
            self.change(order, |old| old.wrapping_sub(value))
        }

        fn change(&self, order: Ordering, new: impl Fn(usize) -> usize) -> usize {
            let old = if has(Fault::Torn) {
                let old = self.0.load(Ordering::Acquire);
                self.0.store(new(old), Ordering::Release);
                old
            } else {
                let inside = counted(if order == Ordering::SeqCst { Ordering::AcqRel } else { order });
                match self.0.fetch_update(inside, Ordering::Relaxed, |old| Some(new(old))) {
                    Ok(old) | Err(old) => old,
                }
            };
            fence_for(order);
            old
        }
    }

    /// Its value is kept by std's, and loom knows who may see that it is there.
    #[derive(Debug)]
    pub(crate) struct OnceLock<T> {
        there: atomic::AtomicBool,
        value: std::sync::OnceLock<T>,
    }

    impl<T> OnceLock<T> {
        pub fn new() -> Self {
            OnceLock { there: atomic::AtomicBool::new(false), value: std::sync::OnceLock::new() }
        }

        pub fn get(&self) -> Option<&T> {
            let order = if has(Fault::EarlyValue) { Ordering::Relaxed } else { Ordering::Acquire };
            if self.there.load(order) { self.value.get() } else { None }
        }

        pub fn set(&self, value: T) -> Result<(), T> {
            self.value.set(value)?;
            self.there.store(true, released(Ordering::Release));
            Ok(())
        }
    }

    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub fn new() -> Self {
            Condvar(loom::sync::Condvar::new())
        }

        pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> std::sync::LockResult<MutexGuard<'a, T>> {
            self.0.wait(guard)
        }

        pub fn notify_all(&self) {
            if !has(Fault::NoWaking) {
                self.0.notify_all();
            }
        }
    }
}
