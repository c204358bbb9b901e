//! Launches that go into a stream as one command: a graph, captured from a stream of its own.

use std::any::Any;
use std::ptr;
use std::sync::Arc;

use super::Context;
use super::probe::call;
use super::sys::{self, CUgraphExec, CUstream, Driver};
use crate::backend::Graph;
use crate::error::{Error, ErrorKind};

/// A graph that can be launched.
#[derive(Debug)]
pub(super) struct CudaGraph {
    context: Arc<Context>,
    raw: CUgraphExec,
}

// SAFETY: the driver's functions on graphs may be called from any thread; launches of one graph are put into streams
// one at a time, by who holds the lock of what was written down.
unsafe impl Send for CudaGraph {}
// SAFETY: as above.
unsafe impl Sync for CudaGraph {}

/// Calls a function that older drivers do not have.
macro_rules! newer {
    ($driver:expr, $function:ident($($arg:expr),*)) => {{
        let driver: &Driver = $driver;
        match driver.$function {
            Some(function) => driver.check(stringify!($function), function($($arg),*)),
            None => Err(Error::new(
                ErrorKind::Device,
                concat!("call ", stringify!($function)),
                "a driver that does not have it",
                "report this as a bug of tida",
            )),
        }
    }};
}

impl CudaGraph {
    /// What `put` puts into a stream; none where the driver has no graphs.
    ///
    /// # Errors
    /// What the driver refuses.
    pub fn of(
        context: &Arc<Context>,
        put: impl FnOnce(CUstream) -> Result<(), Error>,
    ) -> Result<Option<CudaGraph>, Error> {
        let driver = context.enter()?;
        if driver.cuGraphInstantiateWithFlags.is_none() || driver.cuStreamBeginCapture_v2.is_none() {
            return Ok(None);
        }
        let mut stream = ptr::null_mut();
        // SAFETY: the place for the answer is valid, and the context current.
        unsafe { call!(driver, cuStreamCreateWithPriority(&mut stream, sys::CU_STREAM_NON_BLOCKING, 0)) }?;
        let made = CudaGraph::captured(context, driver, stream, put);
        // SAFETY: made above, and used no more.
        let code = unsafe { (driver.cuStreamDestroy_v2)(stream) };
        context.ignore("cuStreamDestroy", code);
        made.map(Some)
    }

    fn captured(
        context: &Arc<Context>,
        driver: &Driver,
        stream: CUstream,
        put: impl FnOnce(CUstream) -> Result<(), Error>,
    ) -> Result<CudaGraph, Error> {
        let (mut graph, mut raw) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is alive and this thread's alone; the places for answers are valid. What is captured does
        // not run. The graph is destroyed once, and what was made of it goes on without.
        unsafe {
            newer!(driver, cuStreamBeginCapture_v2(stream, sys::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))?;
            let captured = put(stream);
            let ended = newer!(driver, cuStreamEndCapture(stream, &mut graph));
            let made =
                captured.and(ended).and_then(|()| newer!(driver, cuGraphInstantiateWithFlags(&mut raw, graph, 0)));
            if !graph.is_null() {
                newer!(driver, cuGraphDestroy(graph))?;
            }
            made?;
        }
        Ok(CudaGraph { context: context.clone(), raw })
    }

    /// Puts it into a stream of its context.
    ///
    /// # Errors
    /// What the driver refuses; a graph of another context.
    ///
    /// # Safety
    /// As [`Backend::put_graph`](crate::backend::Backend::put_graph).
    pub unsafe fn put(&self, context: &Arc<Context>, stream: CUstream) -> Result<(), Error> {
        if !Arc::ptr_eq(context, &self.context) {
            return Err(super::foreign("launch a graph", "graph"));
        }
        // SAFETY: the graph and the stream are alive and of the current context; the rest is the caller's promise.
        unsafe { newer!(self.context.enter()?, cuGraphLaunch(self.raw, stream)) }
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        if let (Ok(_), Some(destroy)) = (self.context.enter(), self.context.driver.cuGraphExecDestroy) {
            // SAFETY: made by `captured`, destroyed once; no launch of it is under way.
            let code = unsafe { destroy(self.raw) };
            self.context.ignore("cuGraphExecDestroy", code);
        }
    }
}

impl Graph for CudaGraph {
    fn as_any(&self) -> &dyn Any {
        self
    }
}
