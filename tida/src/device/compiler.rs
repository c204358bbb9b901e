//! Compiles the kernels of a device, in the loop that needs them or beside it
//! ([decision 0026](../../../docs/decisions/0026-compiling-beside.md)).
//!
//! Who has nothing else to run asks for a kernel with [`Compiler::ready`] and waits. Who has asks with
//! [`Compiler::beside`], which gives the kernel if it is there, here or on disk, else begins to compile it beside and
//! says "not yet".

mod beside;
mod exit;

use std::collections::HashMap;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tida_kernels::codec::Codec;
use tida_kernels::element::ScalarType;
use tida_kernels::emit::{Source, copies, fold, link, scan};
use tida_kernels::plan::{FoldOp, Math, Plan};

use super::core::Opened;
use super::timeline::{Recorder, restart};
use crate::backend::{Code, Kernel};
use crate::error::Error;
use beside::Beside;

/// Most threads of an accelerator that compile beside.
const THREADS: usize = 4;

/// What was made so far, the failures too.
type Made<K, V> = HashMap<K, Arc<OnceLock<Result<Arc<V>, Error>>>>;

/// Text, name, threads of a block, math.
type KernelKey = (String, String, [u32; 3], Math);

/// Identity of what was analysed, and plan.
pub(crate) type ReadyKey = (usize, Plan);

/// Kernels of a device, for all accelerators on it.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    by_text: Mutex<Made<KernelKey, dyn Kernel>>,
    own: Mutex<Made<(Own, Math), dyn Kernel>>,
    ready: Mutex<Made<ReadyKey, Ready>>,
}

/// An emitted kernel, compiled.
#[derive(Debug)]
pub(crate) struct Ready {
    pub source: Source,
    pub kernel: Arc<dyn Kernel>,
}

/// A kernel that has nothing of the user's in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Own {
    /// [`fold::fold_values`].
    FoldValues(ScalarType, FoldOp),
    /// [`fold::fold_tree_twice`].
    FoldTree(ScalarType, FoldOp),
    /// [`scan::scan_sums`].
    ScanSums(ScalarType),
    /// [`scan::scan_cells`].
    ScanCells(ScalarType),
    /// [`scan::scan_lines`].
    ScanLines(ScalarType),
    /// [`copies::copies`].
    Copies(copies::Kind),
    /// [`link::codes`], to pack or not.
    Codes(Codec, bool),
    /// [`link::frames`] of values of so many bytes, to pack or not.
    Frames(usize, bool),
}

/// The compiler of one accelerator.
#[derive(Debug)]
pub(crate) struct Compiler {
    opened: Arc<Opened>,
    math: Math,
    timeline: Option<Arc<Recorder>>,
    /// What can wait is compiled beside.
    is_beside: bool,
    beside: Arc<Beside<ReadyKey>>,
    /// Jobs that [`Compiler::settle`] has told of.
    told: AtomicU64,
    compiled: AtomicU64,
    nanoseconds: AtomicU64,
    /// Rows of the timeline in which something is compiled now, a bit each.
    rows: Mutex<u64>,
    /// What a test has in the place of what is made beside.
    #[cfg(test)]
    fault: OnceLock<fn() -> Result<Ready, Error>>,
}

/// The place of a key, and what was made there.
fn place<K: Eq + Hash, V: ?Sized>(table: &Mutex<Made<K, V>>, key: K) -> Arc<OnceLock<Result<Arc<V>, Error>>> {
    table.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone()
}

/// What was made under this key, or is made now. Whoever asks for the same meanwhile waits, others do not.
fn made<K: Eq + Hash, V: ?Sized>(
    table: &Mutex<Made<K, V>>,
    key: K,
    make: impl FnOnce() -> Result<Arc<V>, Error>,
) -> Result<Arc<V>, Error> {
    place(table, key).get_or_init(make).clone()
}

impl Compiler {
    pub fn new(opened: Arc<Opened>, math: Math) -> Compiler {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Compiler {
            opened,
            math,
            timeline: None,
            is_beside: false,
            beside: Arc::new(Beside::new((cores / 4).clamp(1, THREADS))),
            told: AtomicU64::new(0),
            compiled: AtomicU64::new(0),
            nanoseconds: AtomicU64::new(0),
            rows: Mutex::new(0),
            #[cfg(test)]
            fault: OnceLock::new(),
        }
    }

    /// Compiles beside what can wait.
    pub fn with_beside(mut self, on: bool) -> Compiler {
        self.is_beside = on;
        self
    }

    /// Records what is compiled when.
    pub fn with_timeline(mut self, timeline: Option<Arc<Recorder>>) -> Compiler {
        self.timeline = timeline;
        self
    }

    /// Whether the device runs native forms: then what is compiled has no text.
    pub fn is_native(&self) -> bool {
        self.opened.backend().facts().native
    }

    /// Whether what can wait is compiled beside.
    pub fn is_beside(&self) -> bool {
        self.is_beside
    }

    /// Whether something is compiled beside now.
    pub fn is_busy(&self) -> bool {
        self.is_beside && self.beside.is_busy()
    }

    /// Waits until all is compiled that was begun beside; gives how many kernels that are since it was last called.
    pub fn settle(&self) -> u64 {
        let done = self.beside.wait();
        done.saturating_sub(self.told.swap(done, Ordering::Relaxed))
    }

    /// Waits for what is compiled now, and lets go of the rest: for the end of an accelerator.
    pub fn end(&self) {
        self.beside.end();
    }

    /// Kernels compiled so far, and seconds that took.
    pub fn counted(&self) -> (u64, f64) {
        let spent = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
        (self.compiled.load(Ordering::Relaxed), spent.as_secs_f64())
    }

    /// Keeps what is begun beside from being compiled, and from being found on disk, until what this gives is dropped.
    #[cfg(test)]
    pub fn hold(&self) -> std::sync::MutexGuard<'_, ()> {
        self.beside.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes so what is begun beside from now on.
    #[cfg(test)]
    pub fn fail(&self, fault: fn() -> Result<Ready, Error>) {
        let _ = self.fault.set(fault);
    }

    /// The kernel of a plan, if it was made, or could not be.
    pub fn known(&self, key: &ReadyKey) -> Option<Result<Arc<Ready>, Error>> {
        let table = self.opened.kernels.ready.lock().unwrap_or_else(PoisonError::into_inner);
        table.get(key)?.get().cloned()
    }

    /// The kernel of a plan: made once for what was analysed. Waits for it.
    ///
    /// # Errors
    /// As `make`.
    pub fn ready(&self, key: ReadyKey, make: impl FnOnce() -> Result<Ready, Error>) -> Result<Arc<Ready>, Error> {
        made(&self.opened.kernels.ready, key, || {
            let made = make().map(Arc::new);
            self.host_waited();
            made
        })
    }

    /// Whether the kernel of a plan is made beside, or was.
    pub fn has_begun(&self, key: &ReadyKey) -> bool {
        self.beside.has_begun(key)
    }

    /// The same where someone else can do its work meanwhile: nothing while it is not there. `kept` makes it of what is
    /// known or on disk, if all is; `make` is run beside.
    pub fn beside(
        self: &Arc<Compiler>,
        key: ReadyKey,
        kept: impl FnOnce() -> Option<Result<Ready, Error>>,
        make: impl FnOnce(&Compiler) -> Result<Ready, Error> + Send + 'static,
    ) -> Option<Result<Arc<Ready>, Error>> {
        let known = self.known(&key);
        if known.is_some() || self.has_begun(&key) {
            return known;
        }
        if let Some(found) = kept() {
            return Some(self.ready(key, || found));
        }
        let job = {
            let (compiler, key) = (self.clone(), key.clone());
            move || {
                #[cfg(test)]
                let make = |of: &Compiler| of.fault.get().map_or_else(|| make(of), |fault| fault());
                let make = || {
                    catch_unwind(AssertUnwindSafe(|| make(&compiler)))
                        .unwrap_or_else(|payload| Err(crate::error::panicked("the compiler of a kernel", payload)))
                };
                if let Err(error) = compiler.ready(key, make) {
                    tracing::warn!(%error, "a kernel could not be compiled beside the program: it goes without");
                }
            }
        };
        match self.beside.begin(key.clone(), Box::new(job)) {
            Ok(()) => None,
            // No thread: then the program waits.
            Err(job) => {
                job();
                self.known(&key)
            }
        }
    }

    /// Compiles a kernel, or finds it compiled.
    ///
    /// # Errors
    /// As [`Backend::compile`](crate::backend::Backend::compile).
    pub fn kernel(&self, text: &str, entry: &str, block: [u32; 3]) -> Result<Arc<dyn Kernel>, Error> {
        self.kernel_sharing(text, entry, block, 0)
    }

    /// The same for a kernel whose launches ask for so many bytes of shared memory.
    ///
    /// # Errors
    /// As [`Backend::compile`](crate::backend::Backend::compile).
    pub fn kernel_sharing(
        &self,
        text: &str,
        entry: &str,
        block: [u32; 3],
        shared: u32,
    ) -> Result<Arc<dyn Kernel>, Error> {
        let code = Code { text, entry, math: self.math, block, shared };
        made(&self.opened.kernels.by_text, self.key(&code), || {
            let made = self.opened.backend().kept(&code).map_or_else(|| self.compile(&code), Ok);
            self.host_waited();
            made
        })
    }

    /// The same kernel if it was compiled before, by this process or another one.
    pub fn kept(&self, source: &Source, block: [u32; 3]) -> Option<Result<Arc<dyn Kernel>, Error>> {
        let Source { text, entry, shared, .. } = source;
        let code = Code { text, entry, math: self.math, block, shared: *shared };
        let place = place(&self.opened.kernels.by_text, self.key(&code));
        if place.get().is_none() {
            #[cfg(test)]
            if self.beside.gate.try_lock().is_err() {
                return None;
            }
            let kernel = self.opened.backend().kept(&code)?;
            self.host_waited();
            // Who was first has the same.
            let _ = place.set(Ok(kernel));
        }
        place.get().cloned()
    }

    fn key(&self, code: &Code<'_>) -> KernelKey {
        (code.text.to_owned(), code.entry.to_owned(), code.block, self.math)
    }

    /// Compiles, counts that, and records when it was.
    fn compile(&self, code: &Code<'_>) -> Result<Arc<dyn Kernel>, Error> {
        if self.is_native() {
            // There is nothing to compile.
            return self.opened.backend().compile(code);
        }
        let row = Row::take(&self.rows);
        let start = Instant::now();
        let made = self.opened.backend().compile(code);
        let end = Instant::now();
        let spent = u64::try_from((end - start).as_nanos()).unwrap_or(u64::MAX);
        self.compiled.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(spent, Ordering::Relaxed);
        if let Some(recorder) = &self.timeline {
            recorder.compile_span(code.entry.to_owned(), row.number, start, end);
        }
        made
    }

    /// The kernel of tida's own, compiled once.
    ///
    /// # Errors
    /// As [`Backend::compile`](crate::backend::Backend::compile).
    pub fn own(&self, own: Own) -> Result<Arc<dyn Kernel>, Error> {
        made(&self.opened.kernels.own, (own, self.math), || {
            let dialect = self.opened.backend().facts().dialect;
            let folds = |source: Source| self.kernel(&source.text, &source.entry, [fold::FOLD_THREADS, 1, 1]);
            let scans = |source: Source, threads| self.kernel(&source.text, &source.entry, [threads, 1, 1]);
            match own {
                Own::FoldValues(scalar, op) => folds(fold::fold_values(dialect, scalar, op)),
                Own::FoldTree(scalar, op) => folds(fold::fold_tree_twice(dialect, scalar, op)),
                Own::ScanSums(scalar) => scans(scan::scan_sums(dialect, scalar), scan::THREADS),
                Own::ScanCells(scalar) => scans(scan::scan_cells(dialect, scalar), scan::THREADS),
                Own::ScanLines(scalar) => scans(scan::scan_lines(dialect, scalar), scan::LINE_THREADS),
                Own::Copies(kind) => {
                    let source = copies::copies(dialect, &kind);
                    self.kernel(&source.text, source.entry, [copies::THREADS, 1, 1])
                }
                Own::Codes(codec, pack) => self.packing(&link::codes(dialect, &codec), pack),
                Own::Frames(bytes, pack) => self.packing(&link::frames(bytes), pack),
            }
        })
    }

    fn packing(&self, source: &link::LinkSource, pack: bool) -> Result<Arc<dyn Kernel>, Error> {
        self.kernel(&source.text, if pack { link::PACK } else { link::UNPACK }, [link::THREADS, 1, 1])
    }

    /// Loads a kernel from PTX, or finds it loaded.
    ///
    /// # Errors
    /// As [`Backend::load_ptx`](crate::backend::Backend::load_ptx).
    pub fn ptx(&self, ptx: &str, entry: &str) -> Result<Arc<dyn Kernel>, Error> {
        let key = (ptx.to_owned(), entry.to_owned(), [0; 3], self.math);
        made(&self.opened.kernels.by_text, key, || {
            let made = self.opened.backend().load_ptx(ptx, entry);
            self.host_waited();
            made
        })
    }

    /// The span that this thread is in begins when the compiler is done.
    fn host_waited(&self) {
        if self.timeline.is_some() {
            restart(&**self.opened.backend());
        }
    }
}

/// A row of the timeline, until it is dropped.
struct Row<'a> {
    rows: &'a Mutex<u64>,
    number: usize,
}

impl Row<'_> {
    /// The first that is free; the last one is for all that find none.
    fn take(rows: &Mutex<u64>) -> Row<'_> {
        let mut taken = rows.lock().unwrap_or_else(PoisonError::into_inner);
        let number = taken.trailing_ones().min(u64::BITS - 1);
        *taken |= 1 << number;
        Row { rows, number: number as usize }
    }
}

impl Drop for Row<'_> {
    fn drop(&mut self) {
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) &= !(1 << self.number);
    }
}

#[cfg(test)]
mod tests;
