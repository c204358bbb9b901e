//! Jobs that threads of their own do beside all else, each once, in the order in which they were begun.
//!
//! A thread is there as long as there are jobs. Nothing that the schedule waits for is done here, and no job waits for
//! the schedule.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::exit::Running;

/// What a thread does.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Jobs, by what each is known by.
pub(super) struct Beside<K> {
    state: Mutex<State<K>>,
    /// A thread has nothing more to do.
    rests: Condvar,
    /// Most threads.
    threads: usize,
    /// While a test holds it no job begins.
    #[cfg(test)]
    pub gate: Mutex<()>,
}

struct State<K> {
    /// All that was begun, done or not.
    begun: HashSet<K>,
    jobs: VecDeque<Job>,
    /// Threads that look for jobs. There is one at least while there are jobs.
    at_work: usize,
    threads: Vec<JoinHandle<()>>,
    /// Jobs that were done.
    done: u64,
    ended: bool,
}

impl<K: Eq + Hash + Send + 'static> Beside<K> {
    pub fn new(threads: usize) -> Beside<K> {
        Beside {
            state: Mutex::new(State {
                begun: HashSet::new(),
                jobs: VecDeque::new(),
                at_work: 0,
                threads: Vec::new(),
                done: 0,
                ended: false,
            }),
            rests: Condvar::new(),
            threads,
            #[cfg(test)]
            gate: Mutex::new(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there was a job of this.
    pub fn has_begun(&self, key: &K) -> bool {
        self.lock().begun.contains(key)
    }

    /// Has a thread do a job, unless there was one of this key, or all has ended. Gives it back where no thread can be
    /// started.
    pub fn begin(self: &Arc<Self>, key: K, job: Job) -> Result<(), Job> {
        let mut state = self.lock();
        if state.ended || !state.begun.insert(key) {
            return Ok(());
        }
        if state.at_work < self.threads {
            let this = self.clone();
            match std::thread::Builder::new().name("tida-compiler".into()).spawn(move || this.work()) {
                Ok(thread) => {
                    state.at_work += 1;
                    state.threads.retain(|thread| !thread.is_finished());
                    state.threads.push(thread);
                }
                Err(_) if state.at_work > 0 => {}
                Err(error) => {
                    tracing::warn!(%error, "no thread to compile beside the program: it waits for the compiler");
                    return Err(job);
                }
            }
        }
        state.jobs.push_back(job);
        Ok(())
    }

    /// Does jobs until there are none.
    fn work(&self) {
        let mut state = self.lock();
        while let Some(job) = state.jobs.pop_front() {
            drop(state);
            #[cfg(test)]
            drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
            if let Some(_running) = Running::begin()
                && catch_unwind(AssertUnwindSafe(job)).is_err()
            {
                tracing::warn!("a panic while a kernel was compiled beside the program");
            }
            state = self.lock();
            state.done += 1;
        }
        state.at_work -= 1;
        drop(state);
        self.rests.notify_all();
    }

    /// Whether jobs are not done.
    pub fn is_busy(&self) -> bool {
        self.lock().at_work > 0
    }

    /// Waits until all are done that were begun; gives how many those are.
    pub fn wait(&self) -> u64 {
        let mut state = self.lock();
        while state.at_work > 0 {
            state = self.rests.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.done
    }

    /// Lets go of the jobs that no thread has begun, and waits for the others. Nothing is begun from then on.
    pub fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        let (jobs, threads) = (std::mem::take(&mut state.jobs), std::mem::take(&mut state.threads));
        drop(state);
        drop(jobs);
        for thread in threads {
            // It catches what panics.
            let _ = thread.join();
        }
    }
}

impl<K> fmt::Debug for Beside<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside").field("threads", &self.threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use super::*;

    fn of(threads: usize) -> Arc<Beside<u32>> {
        Arc::new(Beside::new(threads))
    }

    fn begin(beside: &Arc<Beside<u32>>, key: u32, job: impl FnOnce() + Send + 'static) {
        assert!(beside.begin(key, Box::new(job)).is_ok());
    }

    /// What adds to a sum.
    fn add(to: &Arc<AtomicUsize>, some: usize) -> impl FnOnce() + Send + 'static {
        let to = to.clone();
        move || {
            to.fetch_add(some, Ordering::SeqCst);
        }
    }

    #[test]
    fn each_is_done_once_and_beside() {
        let (beside, count) = (of(1), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = channel::<()>();
        begin(&beside, 1, move || wait.recv().unwrap());
        for _ in 0..2 {
            begin(&beside, 2, add(&count, 1));
        }
        assert!(beside.is_busy() && beside.has_begun(&2) && !beside.has_begun(&3));
        assert_eq!(count.load(Ordering::SeqCst), 0);
        go.send(()).unwrap();
        assert_eq!(beside.wait(), 2);
        assert!(!beside.is_busy());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        // The thread has gone; the next job has another.
        begin(&beside, 3, || {});
        assert_eq!(beside.wait(), 3);
    }

    #[test]
    fn several_threads_work_at_once() {
        let beside = of(2);
        let ((to_other, from_one), (to_one, from_other)) = (channel::<()>(), channel::<()>());
        // Each waits for the other.
        begin(&beside, 1, move || {
            to_other.send(()).unwrap();
            from_other.recv().unwrap();
        });
        begin(&beside, 2, move || {
            from_one.recv().unwrap();
            to_one.send(()).unwrap();
        });
        assert_eq!(beside.wait(), 2);
    }

    #[test]
    fn a_panic_keeps_nothing_from_being_done() {
        let beside = of(1);
        begin(&beside, 1, || panic!("a fault in a job"));
        begin(&beside, 2, || {});
        assert_eq!(beside.wait(), 2);
    }

    #[test]
    fn the_end_waits_for_what_runs_and_lets_the_rest_go() {
        let (beside, count) = (of(1), Arc::new(AtomicUsize::new(0)));
        let ((begun, has_begun), (go, wait)) = (channel::<()>(), channel::<()>());
        let adds = add(&count, 1);
        begin(&beside, 1, move || {
            begun.send(()).unwrap();
            wait.recv().unwrap();
            adds();
        });
        begin(&beside, 2, add(&count, 10));
        has_begun.recv().unwrap();
        let ends = std::thread::spawn({
            let beside = beside.clone();
            move || beside.end()
        });
        while !beside.lock().ended {
            std::thread::yield_now();
        }
        go.send(()).unwrap();
        ends.join().unwrap();
        begin(&beside, 3, add(&count, 100));
        assert_eq!(beside.wait(), 1);
        assert_eq!(count.load(Ordering::SeqCst), 1);
        // Both jobs that were not done are gone with what they held.
        assert_eq!(Arc::strong_count(&count), 1);
        beside.end();
    }
}
