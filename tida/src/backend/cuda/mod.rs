//! NVIDIA GPUs, by the CUDA driver and NVRTC, both found when the program runs.

use std::sync::Arc;

use super::Backend;
use crate::error::{Error, ErrorKind};

/// The first CUDA device.
///
/// # Errors
/// No driver, no device, or no NVRTC: what was looked for and what to do.
pub(crate) fn open() -> Result<Arc<dyn Backend>, Error> {
    Err(Error::new(ErrorKind::Device, "use CUDA", "nothing", "wait"))
}
