//! Memory of the device that other processes of the host open.

use super::Context;
use super::sys::{self, CUipcMemHandle};
use crate::error::{Error, ErrorKind};

impl Context {
    /// What another process opens memory by, which starts where the driver has allocated it; none if this driver has
    /// no such thing, or does not share memory here.
    pub(super) fn export(&self, raw: u64) -> Result<Option<Vec<u8>>, Error> {
        let driver = self.enter()?;
        let Some(get) = driver.cuIpcGetMemHandle else { return Ok(None) };
        let mut handle = CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: the place for the answer is valid, and the memory is of this context, which is current.
        let code = unsafe { get(&mut handle, raw) };
        if code != 0 {
            tracing::debug!(result = driver.text(code), "memory of the CUDA device cannot be shared with other ranks");
        }
        Ok((code == 0).then(|| handle.reserved.to_vec()))
    }

    /// Opens memory of another process; gives its address here.
    ///
    /// # Safety
    /// It is what `export` gave there, of memory that is there until this is let go.
    ///
    /// # Errors
    /// What the driver reports, such as that this device does not reach the other one.
    pub(super) unsafe fn import(&self, exported: &[u8]) -> Result<u64, Error> {
        let driver = self.enter()?;
        let refused = |found: &str| {
            let advice = "let ranks exchange by the host's memory";
            Error::new(ErrorKind::Device, "open memory of another rank on the CUDA device", found, advice)
        };
        let open = driver.cuIpcOpenMemHandle_v2.ok_or_else(|| refused("a driver that does not share memory"))?;
        let reserved = exported.try_into().map_err(|_| refused("what is no handle of CUDA memory"))?;
        let (mut raw, flags) = (0, sys::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        // SAFETY: the place for the answer is valid, the context current; the rest is the caller's promise.
        let code = unsafe { open(&mut raw, CUipcMemHandle { reserved }, flags) };
        driver.check("cuIpcOpenMemHandle", code).map(|()| raw)
    }

    /// # Safety
    /// It came from `import`, is let go once, and no work uses it.
    pub(super) unsafe fn let_go(&self, raw: u64) {
        let Some(close) = self.enter().ok().and_then(|driver| driver.cuIpcCloseMemHandle) else { return };
        // SAFETY: the caller's promise.
        let code = unsafe { close(raw) };
        self.ignore("cuIpcCloseMemHandle", code);
    }
}
