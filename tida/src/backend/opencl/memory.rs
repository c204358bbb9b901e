//! Buffers, and the count of what is allocated.

use std::ffi::c_void;
use std::sync::Arc;
use std::{mem, ptr};

use opencl3::error_codes::{
    CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES,
};
use opencl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use opencl3::types::cl_int;

use super::probe::Device;
use super::stream::Queue;
use super::{Handle, failed, name_of};
use crate::error::{Error, ErrorKind};

/// Where buffers come from.
///
/// Drivers may promise memory that they find missing only at its first use. So what is allocated is counted, for all
/// contexts of this program on the device, and the first byte of each buffer is touched at once.
#[derive(Debug)]
pub(super) struct Pool {
    context: Arc<Handle>,
    device: &'static Device,
    /// For the first touch alone, so that it waits for no other work.
    queue: Queue,
}

impl Pool {
    pub fn new(context: &Arc<Handle>, device: &'static Device) -> Result<Pool, Error> {
        Ok(Pool { context: context.clone(), device, queue: Queue::new(context, device, false)? })
    }

    /// A buffer of any content; its `cl_mem` as a number.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`]: more than the largest buffer, or than what is free.
    pub fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        let Device { facts, largest_buffer, .. } = self.device;
        let tried = format!("allocate {bytes} bytes on the device {}", facts.name);
        if bytes as u64 > *largest_buffer {
            return Err(Error::new(
                ErrorKind::Memory,
                tried,
                format!("that its largest buffer has {largest_buffer} bytes ({} bytes are free)", self.device.free()),
                "cut the array into more regions",
            ));
        }
        let little = |free: String| {
            let advice = "use smaller arrays, drop arrays that are done, or close other programs that use the device";
            Error::new(ErrorKind::Memory, &tried, free, advice)
        };
        if !self.device.take(bytes as u64) {
            return Err(little(format!("{} of {} bytes free", self.device.free(), facts.memory)));
        }
        self.create(bytes).map_err(|code| {
            self.device.give(bytes as u64);
            match code {
                // What too little memory is called. The share of other programs is not known.
                CL_MEM_OBJECT_ALLOCATION_FAILURE
                | CL_OUT_OF_RESOURCES
                | CL_OUT_OF_HOST_MEMORY
                | CL_INVALID_BUFFER_SIZE => little(format!(
                    "{}, with {} of {} bytes not taken by this program",
                    name_of(code),
                    self.device.free(),
                    facts.memory
                )),
                code => failed(&tried, code),
            }
        })
    }

    /// A buffer that is really there.
    fn create(&self, bytes: usize) -> Result<u64, cl_int> {
        // SAFETY: the context is alive, and no host memory is given.
        let raw = unsafe { create_buffer(self.context.raw, CL_MEM_READ_WRITE, bytes, ptr::null_mut())? };
        // SAFETY: just made, and given back by this handle alone, unless its number goes out.
        let buffer = unsafe { Handle::new(raw, release_mem_object) };
        self.queue.touch(&buffer)?;
        mem::forget(buffer);
        Ok(raw as u64)
    }

    /// # Safety
    /// It came from `allocate` with this size, and no work uses it.
    pub unsafe fn free(&self, raw: u64, bytes: usize) {
        // SAFETY: the caller's promise.
        drop(unsafe { Handle::new(raw as *mut c_void, release_mem_object) });
        self.device.give(bytes as u64);
    }
}
