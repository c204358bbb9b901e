//! An OpenCL device that passes for a GPU whose compiler counts registers, and keeps nothing on disk.

use std::any::Any;
use std::sync::Arc;

use crate::backend::{Argument, Backend, Code, Event, Facts, Kernel, KernelFacts, Memory};
use crate::error::Error;

#[derive(Debug)]
pub(super) struct AsGpu {
    device: Arc<dyn Backend>,
    facts: Facts,
}

impl AsGpu {
    pub fn new(device: Arc<dyn Backend>) -> AsGpu {
        AsGpu { facts: Facts { gpu: true, ..device.facts().clone() }, device }
    }
}

/// A kernel of forty registers.
#[derive(Debug)]
struct Counted(Arc<dyn Kernel>);

impl Kernel for Counted {
    fn facts(&self) -> KernelFacts {
        KernelFacts { registers: Some(40), spilled: Some(0), ..self.0.facts() }
    }

    fn as_any(&self) -> &dyn Any {
        self.0.as_any()
    }
}

impl Backend for AsGpu {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn free_memory(&self) -> Option<u64> {
        self.device.free_memory()
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.device.allocate(bytes)
    }

    unsafe fn free(&self, raw: u64, bytes: usize) {
        // SAFETY: handed on, as below.
        unsafe { self.device.free(raw, bytes) }
    }

    unsafe fn pin(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    unsafe fn unpin(&self, _: *mut u8) {}

    fn compile(&self, code: &Code<'_>) -> Result<Arc<dyn Kernel>, Error> {
        Ok(Arc::new(Counted(self.device.compile(code)?)))
    }

    unsafe fn upload(&self, stream: usize, to: &Memory, at: usize, from: *const u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.device.upload(stream, to, at, from, bytes) }
    }

    unsafe fn download(&self, stream: usize, from: &Memory, at: usize, to: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.device.download(stream, from, at, to, bytes) }
    }

    unsafe fn copy(
        &self,
        stream: usize,
        from: (&Memory, usize),
        to: (&Memory, usize),
        bytes: usize,
    ) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.device.copy(stream, from, to, bytes) }
    }

    unsafe fn zero(&self, stream: usize, memory: &Memory, at: usize, bytes: usize) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.device.zero(stream, memory, at, bytes) }
    }

    unsafe fn launch(
        &self,
        stream: usize,
        kernel: &dyn Kernel,
        blocks: [u32; 3],
        threads: [u32; 3],
        arguments: &[Argument<'_>],
    ) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.device.launch(stream, kernel, blocks, threads, arguments) }
    }

    fn record(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        self.device.record(stream)
    }

    fn wait(&self, stream: usize, event: &dyn Event) -> Result<(), Error> {
        self.device.wait(stream, event)
    }

    fn flush(&self, stream: usize) -> Result<(), Error> {
        self.device.flush(stream)
    }
}
