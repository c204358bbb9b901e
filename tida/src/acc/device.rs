//! A device of an accelerator: its backend, compiled kernels, small constant memory, and what was copied.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tida_kernels::plan::Math;

use crate::backend::{Backend, COPIES, Code, Kernel, Memory, STREAMS};
use crate::error::Error;

/// A device, and what all work on it shares.
#[derive(Debug)]
pub(crate) struct DeviceCore {
    backend: Arc<dyn Backend>,
    math: Math,
    /// Kernels by text, name and block; the failures too.
    kernels: Mutex<HashMap<(String, [u32; 3]), Result<Arc<dyn Kernel>, Error>>>,
    /// Tables by content.
    constants: Mutex<HashMap<Box<[u8]>, Arc<Memory>>>,
    next_stream: AtomicUsize,
    uploaded: AtomicU64,
    downloaded: AtomicU64,
}

/// Tables kept for the next launch that needs the same.
const MOST_CONSTANTS: usize = 1024;

impl DeviceCore {
    pub fn new(backend: Arc<dyn Backend>, math: Math) -> DeviceCore {
        DeviceCore {
            backend,
            math,
            kernels: Mutex::default(),
            constants: Mutex::default(),
            next_stream: AtomicUsize::new(0),
            uploaded: AtomicU64::new(0),
            downloaded: AtomicU64::new(0),
        }
    }

    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// How kernels compute floats.
    pub fn math(&self) -> Math {
        self.math
    }

    /// The next stream in turn.
    pub fn any_stream(&self) -> usize {
        self.next_stream.fetch_add(1, Ordering::Relaxed) % STREAMS
    }

    /// Compiles a kernel, or finds it compiled.
    ///
    /// # Errors
    /// As [`Backend::compile`].
    pub fn kernel(&self, text: &str, entry: &str, block: [u32; 3]) -> Result<Arc<dyn Kernel>, Error> {
        // The text starts with nothing that names the kernel, but holds its name.
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(done) = kernels.get(&(text.to_owned(), block)) {
            return done.clone();
        }
        let made = self.backend.compile(&Code { text, entry, math: self.math, block });
        kernels.insert((text.to_owned(), block), made.clone());
        made
    }

    /// Memory that holds these bytes and is never written.
    ///
    /// # Errors
    /// Memory that the device does not have, or a copy that failed.
    pub fn constants(&self, bytes: &[u8]) -> Result<Arc<Memory>, Error> {
        if let Some(memory) = self.constants.lock().unwrap_or_else(PoisonError::into_inner).get(bytes) {
            return Ok(memory.clone());
        }
        let memory = Arc::new(Memory::new(&self.backend, bytes.len())?);
        // SAFETY: the new memory has as many bytes, no one else knows it, and the copy is done before `bytes` ends.
        unsafe { self.upload_now(&memory, 0, bytes.as_ptr(), bytes.len())? };
        let mut constants = self.constants.lock().unwrap_or_else(PoisonError::into_inner);
        if constants.len() >= MOST_CONSTANTS {
            // Launches under way hold theirs.
            constants.clear();
        }
        Ok(constants.entry(bytes.into()).or_insert(memory).clone())
    }

    /// Copies to the device and waits for the end.
    ///
    /// # Safety
    /// As [`Backend::upload`], until this returns.
    pub unsafe fn upload_now(&self, to: &Memory, at: usize, from: *const u8, bytes: usize) -> Result<(), Error> {
        self.count_upload(bytes);
        // SAFETY: the caller's promise.
        unsafe { self.backend.upload(COPIES, to, at, from, bytes)? };
        self.backend.record(COPIES)?.finish()
    }

    /// Copies to the host and waits for the end.
    ///
    /// # Safety
    /// As [`Backend::download`], until this returns.
    pub unsafe fn download_now(&self, from: &Memory, at: usize, to: *mut u8, bytes: usize) -> Result<(), Error> {
        self.count_download(bytes);
        // SAFETY: the caller's promise.
        unsafe { self.backend.download(COPIES, from, at, to, bytes)? };
        self.backend.record(COPIES)?.finish()
    }

    pub fn count_upload(&self, bytes: usize) {
        self.uploaded.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn count_download(&self, bytes: usize) {
        self.downloaded.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes copied to the device and from it so far.
    pub fn copied(&self) -> (u64, u64) {
        (self.uploaded.load(Ordering::Relaxed), self.downloaded.load(Ordering::Relaxed))
    }
}
