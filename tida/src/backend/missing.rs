//! What stands for backends that are not in this build: errors that name the feature.

use std::sync::Arc;

use super::Backend;
use crate::error::{Error, ErrorKind};

fn not_built(tried: &str, feature: &str) -> Error {
    Error::new(
        ErrorKind::Device,
        tried,
        format!("a build of tida without its feature `{feature}`"),
        format!("add \"{feature}\" to the features of tida in Cargo.toml, or use TIDA_DEVICE=cpu"),
    )
}

#[cfg(not(feature = "cuda"))]
pub(crate) mod cuda {
    //! Instead of `backend/cuda`.

    use tida_kernels::plan::Math;

    use super::{Arc, Backend, Error, not_built};
    use crate::backend::KernelFacts;
    use crate::backend::chosen::Chosen;

    /// # Errors
    /// Always.
    pub(crate) fn open(_: Option<Chosen<u32>>) -> Result<Arc<dyn Backend>, Error> {
        Err(not_built("open a CUDA device", "cuda"))
    }

    /// # Errors
    /// Always.
    pub(crate) fn count() -> Result<u32, Error> {
        Err(not_built("count CUDA devices", "cuda"))
    }

    /// # Errors
    /// Always.
    pub(crate) fn compile_only(_: &str, entry: &str, _: Math, arch: &str) -> Result<(Vec<u8>, KernelFacts), Error> {
        Err(not_built(&format!("compile the kernel `{entry}` for {arch}"), "cuda"))
    }
}

#[cfg(not(feature = "opencl"))]
pub(crate) mod opencl {
    //! Instead of `backend/opencl`.

    use super::{Arc, Backend, Error, not_built};
    use crate::backend::chosen::{Chosen, Opening};

    /// # Errors
    /// Always.
    pub(crate) fn open(
        _any: bool,
        _: Opening,
        _: Option<&Chosen<String>>,
        _turn: usize,
    ) -> Result<Arc<dyn Backend>, Error> {
        Err(not_built("open an OpenCL device", "opencl"))
    }
}
