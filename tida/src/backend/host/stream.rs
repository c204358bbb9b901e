//! Streams: threads that do commands one after the other.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::backend::Event;
use crate::backend::giver::Giver;
use crate::error::Error;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A point in a stream's work.
#[derive(Debug, Default)]
pub(super) struct Mark {
    /// How all went before it, once that is done.
    reached: Mutex<Option<Result<(), Error>>>,
    told: Condvar,
}

impl Mark {
    fn reach(&self, result: Result<(), Error>) {
        *lock(&self.reached) = Some(result);
        self.told.notify_all();
    }

    fn wait(&self) -> Result<(), Error> {
        let mut reached = lock(&self.reached);
        loop {
            if let Some(result) = &*reached {
                return result.clone();
            }
            reached = self.told.wait(reached).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

type Work = Box<dyn FnOnce() -> Result<(), Error> + Send>;

enum Command {
    Work(Work, Giver),
    /// A mark, and whose failures before it has.
    Record(Arc<Mark>, Option<Giver>),
    Wait(Arc<Mark>),
    End,
}

#[derive(Default)]
struct Queue {
    commands: Mutex<VecDeque<Command>>,
    some: Condvar,
}

/// See the module.
pub(super) struct Stream {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stream with {} commands", lock(&self.queue.commands).len())
    }
}

impl Stream {
    /// # Errors
    /// A thread that the system does not have.
    pub fn start(number: usize) -> io::Result<Stream> {
        let queue = Arc::new(Queue::default());
        let here = queue.clone();
        let thread = std::thread::Builder::new().name(format!("tida-stream-{number}"));
        Ok(Stream { queue, thread: Some(thread.spawn(move || here.serve())?) })
    }

    fn put(&self, command: Command) {
        lock(&self.queue.commands).push_back(command);
        self.queue.some.notify_one();
    }

    /// Adds work.
    pub fn give(&self, work: impl FnOnce() -> Result<(), Error> + Send + 'static) {
        self.put(Command::Work(Box::new(work), Giver::current()));
    }

    /// Adds a mark, which `tells` what failed since the last one that does.
    pub fn mark(&self, tells: bool) -> Arc<Mark> {
        let mark = Arc::new(Mark::default());
        self.put(Command::Record(mark.clone(), tells.then(Giver::current)));
        mark
    }

    /// Lets what comes later wait for a mark.
    pub fn wait(&self, mark: Arc<Mark>) {
        self.put(Command::Wait(mark));
    }
}

impl Queue {
    fn next(&self) -> Command {
        let mut commands = lock(&self.commands);
        loop {
            if let Some(command) = commands.pop_front() {
                return command;
            }
            commands = self.some.wait(commands).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn serve(&self) {
        let mut failures: Vec<(Giver, Error)> = Vec::new();
        loop {
            match self.next() {
                Command::Work(work, giver) => {
                    let done = catch_unwind(AssertUnwindSafe(work))
                        .unwrap_or_else(|payload| Err(crate::error::panicked("a command of the host", payload)));
                    failures.extend(done.err().map(|error| (giver, error)));
                }
                Command::Record(mark, tells) => {
                    let mut told = failures.extract_if(.., |(giver, _)| tells == Some(*giver));
                    let first = told.next();
                    told.for_each(drop);
                    mark.reach(first.map_or(Ok(()), |(_, error)| Err(error)));
                }
                // Its failure is told to who waits for it on the host.
                Command::Wait(mark) => drop(mark.wait()),
                Command::End => return,
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.put(Command::End);
        // The last memory of a device may be dropped by one of its own streams.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// A point in a stream's work, as the library knows it.
#[derive(Debug)]
pub(super) struct HostEvent(pub Arc<Mark>);

impl Event for HostEvent {
    fn is_done(&self) -> bool {
        lock(&self.0.reached).is_some()
    }

    fn finish(&self) -> Result<(), Error> {
        self.0.wait()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
