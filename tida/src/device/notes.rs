//! Launches that are written down as they are made, so that they can be put into a stream again without being made
//! anew: their kernels, blocks, and all that they are given.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use smallvec::SmallVec;

use super::compiler::Ready;
use super::core::DeviceCore;
use crate::backend::{Argument, Graph, GraphLaunch, Memory};
use crate::error::Error;

/// What is written down.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Noting>);

#[derive(Debug, Default)]
struct Noting {
    launches: Vec<Noted>,
    memories: Vec<Arc<Memory>>,
    /// Something else went into the stream.
    incomplete: bool,
    /// Pieces of recorded work that the launches are of.
    pieces: u64,
}

/// One launch.
#[derive(Debug)]
struct Noted {
    ready: Arc<Ready>,
    blocks: [u32; 3],
    threads: [u32; 3],
    given: Vec<Given>,
}

#[derive(Debug)]
enum Given {
    /// Memory, by its number, and from which byte on if that is said.
    Memory(usize, Option<usize>),
    Bytes(SmallVec<[u8; 16]>),
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Noting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something went into the stream that cannot be written down.
    pub fn leaves_out(&self) {
        self.lock().incomplete = true;
    }

    /// The launches of one more piece of recorded work follow.
    pub fn counts(&self) {
        self.lock().pieces += 1;
    }

    /// Writes a launch down; `memories` are those that its arguments may be of.
    pub fn add<'m>(
        &self,
        ready: &Arc<Ready>,
        (blocks, threads): ([u32; 3], [u32; 3]),
        arguments: &[Argument<'_>],
        memories: impl Iterator<Item = &'m Arc<Memory>> + Clone,
    ) {
        let mut noting = self.lock();
        let noting = &mut *noting;
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let (memory, at) = match argument {
                Argument::Memory(memory) => (memory, None),
                Argument::At(memory, at) => (memory, Some(*at)),
                Argument::Bytes(bytes) => {
                    given.push(Given::Bytes(SmallVec::from_slice(bytes)));
                    continue;
                }
            };
            let is_it = |other: &&Arc<Memory>| std::ptr::eq(Arc::as_ptr(other), *memory);
            let Some(memory) = memories.clone().find(is_it) else {
                noting.incomplete = true;
                return;
            };
            let number = noting.memories.iter().position(|known| Arc::ptr_eq(known, memory)).unwrap_or_else(|| {
                noting.memories.push(memory.clone());
                noting.memories.len() - 1
            });
            given.push(Given::Memory(number, at));
        }
        noting.launches.push(Noted { ready: ready.clone(), blocks, threads, given });
    }

    /// The launches, if nothing is left out.
    pub fn complete(self) -> Option<Launches> {
        let Noting { launches, memories, incomplete, pieces } =
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let memories = memories.iter().map(Arc::downgrade).collect();
        (!incomplete).then_some(Launches { launches, memories, pieces, again: false, graph: None })
    }
}

/// Launches that were written down. They keep no memory alive.
#[derive(Debug)]
pub(crate) struct Launches {
    launches: Vec<Noted>,
    memories: Vec<Weak<Memory>>,
    pieces: u64,
    /// They were put into a stream again before.
    again: bool,
    /// The same as one command, if the driver has such commands, once it was asked.
    graph: Option<Option<Arc<dyn Graph>>>,
}

/// What launches use, while they are under way.
pub(crate) type Uses = (Vec<Arc<Memory>>, Option<Arc<dyn Graph>>);

impl Launches {
    /// How many pieces of recorded work they are of.
    pub fn pieces(&self) -> u64 {
        self.pieces
    }

    /// Puts the same launches into a stream again; nothing if some memory that they use is gone. What this gives is to
    /// live until they are done.
    ///
    /// # Errors
    /// What the driver refuses.
    ///
    /// # Safety
    /// As for the launches when they were written down: the arrays are where they were.
    pub unsafe fn put(&mut self, device: &DeviceCore, stream: usize) -> Result<Option<Uses>, Error> {
        let memories: Option<Vec<Arc<Memory>>> = self.memories.iter().map(Weak::upgrade).collect();
        let Some(memories) = memories else { return Ok(None) };
        let backend = device.backend();
        // To make one takes longer than to do without it once.
        if self.graph.is_none() && std::mem::replace(&mut self.again, true) {
            let arguments: Vec<_> = self.launches.iter().map(|launch| launch.arguments(&memories)).collect();
            let launches = self.launches.iter().zip(&arguments);
            let launches: Vec<_> = launches.map(|(launch, arguments)| launch.given(arguments)).collect();
            // SAFETY: the arguments are those that the kernels were launched with.
            self.graph = Some(unsafe { backend.graph(&launches)? });
        }
        let graph = self.graph.clone().flatten();
        // SAFETY: the caller's promise.
        unsafe {
            match &graph {
                Some(graph) => backend.put_graph(stream, &**graph)?,
                None => {
                    for launch in &self.launches {
                        let arguments = launch.arguments(&memories);
                        let GraphLaunch { kernel, blocks, threads, arguments } = launch.given(&arguments);
                        backend.launch(stream, kernel, blocks, threads, arguments)?;
                    }
                }
            }
        }
        Ok(Some((memories, graph)))
    }
}

impl Noted {
    fn given<'a>(&'a self, arguments: &'a [Argument<'a>]) -> GraphLaunch<'a> {
        GraphLaunch { kernel: &*self.ready.kernel, blocks: self.blocks, threads: self.threads, arguments }
    }

    fn arguments<'a>(&'a self, memories: &'a [Arc<Memory>]) -> SmallVec<[Argument<'a>; 16]> {
        let of = |given: &'a Given| match given {
            Given::Memory(number, None) => Argument::Memory(&memories[*number]),
            Given::Memory(number, Some(at)) => Argument::At(&memories[*number], *at),
            Given::Bytes(bytes) => Argument::Bytes(bytes),
        };
        self.given.iter().map(of).collect()
    }
}
