//! Programs and kernels.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use opencl3::error_codes::{CL_BUILD_PROGRAM_FAILURE, CL_COMPILER_NOT_AVAILABLE};
use opencl3::kernel::{
    CL_KERNEL_LOCAL_MEM_SIZE, CL_KERNEL_NUM_ARGS, CL_KERNEL_PRIVATE_MEM_SIZE, CL_KERNEL_WORK_GROUP_SIZE, create_kernel,
    get_kernel_data, get_kernel_work_group_data, release_kernel,
};
use opencl3::program::{
    CL_PROGRAM_BINARIES, CL_PROGRAM_BUILD_LOG, build_program, create_program_with_binary, create_program_with_source,
    get_program_build_data, get_program_info, release_program,
};
use opencl3::types::cl_int;
use tida_kernels::plan::Math;
use tracing::{debug, warn};

use super::probe::{Device, as_number, as_text};
use super::{Handle, failed, name_of};
use crate::backend::{Code, Kernel, KernelFacts, disk};
use crate::error::{Error, ErrorKind};

/// Compiles for one device.
#[derive(Debug)]
pub(super) struct Compiler {
    context: Arc<Handle>,
    device: &'static Device,
}

impl Compiler {
    pub fn new(context: Arc<Handle>, device: &'static Device) -> Compiler {
        Compiler { context, device }
    }

    /// A kernel from the cache on disk.
    pub fn kept(&self, code: &Code<'_>) -> Option<Compiled> {
        let options = &*self.options(code);
        let binary = disk::load(self.key(code, options))?;
        match self.load_binary(&binary, options).and_then(|program| self.finish(&program, code, None)) {
            Ok(kernel) => Some(kernel),
            Err(error) => {
                debug!(%error, entry = code.entry, "a kept kernel is no good; compiling it again");
                None
            }
        }
    }

    /// # Errors
    /// [`ErrorKind::Kernel`]: text that does not compile, or a block that is too large for the kernel.
    pub fn compile(&self, code: &Code<'_>) -> Result<Compiled, Error> {
        let options = &*self.options(code);
        let key = self.key(code, options);
        let program = self.build_source(code, options)?;
        let kernel = self.finish(&program, code, self.log(&program))?;
        // Some drivers compile a kernel for the sake of its binary: PoCL does, a second time.
        if disk::folder().is_some()
            && let Some(binary) = binary_of(&program)
        {
            disk::store(key, &binary);
        }
        Ok(kernel)
    }

    fn key(&self, code: &Code<'_>, options: &CStr) -> disk::Key {
        disk::Key::new(&["opencl", &self.device.facts.target, &options.to_string_lossy(), code.text])
    }

    fn options(&self, code: &Code<'_>) -> Cow<'static, CStr> {
        let usual = self.usual_options(code.math);
        if !(self.device.barriers_as_written && code.text.contains("barrier(")) {
            return usual.into();
        }
        let mut all = usual.to_bytes().to_vec();
        all.extend_from_slice(b" -cl-opt-disable");
        // Neither of them has a zero in it.
        CString::new(all).map_or(usual.into(), Cow::Owned)
    }

    fn usual_options(&self, math: Math) -> &'static CStr {
        match (math.is_exact(), self.device.rounds, self.device.verbose) {
            (true, true, false) => c"-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt",
            (true, true, true) => c"-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt -cl-nv-verbose",
            (true, false, _) => {
                static ONCE: Once = Once::new();
                ONCE.call_once(|| {
                    warn!(
                        device = self.device.facts.name,
                        "the device does not round f32 division and root correctly: results may differ from the CPU's"
                    );
                });
                c"-cl-std=CL1.2"
            }
            (false, _, false) => c"-cl-std=CL1.2 -cl-fast-relaxed-math -cl-mad-enable",
            (false, _, true) => c"-cl-std=CL1.2 -cl-fast-relaxed-math -cl-mad-enable -cl-nv-verbose",
        }
    }

    fn tried(&self, entry: &str) -> String {
        format!("compile the kernel {entry} for the OpenCL device {}", self.device.facts.name)
    }

    fn build_source(&self, code: &Code<'_>, options: &CStr) -> Result<Handle, Error> {
        let program = create_program_with_source(self.context.raw, &[code.text]);
        let program = program.map_err(|code_of| failed(self.tried(code.entry), code_of))?;
        // SAFETY: just made, and given back by this handle alone.
        let program = unsafe { Handle::new(program, release_program) };
        match self.build(&program, options) {
            Ok(()) => Ok(program),
            Err(CL_BUILD_PROGRAM_FAILURE) => Err(Error::new(
                ErrorKind::Kernel,
                self.tried(code.entry),
                self.log(&program).unwrap_or_else(|| name_of(CL_BUILD_PROGRAM_FAILURE)),
                "report this as a bug of tida, with the kernel's text, unless the device's compiler is at fault",
            )),
            Err(CL_COMPILER_NOT_AVAILABLE) => Err(Error::new(
                ErrorKind::Device,
                self.tried(code.entry),
                "a driver without a compiler",
                "install the whole driver, or choose another device with TIDA_OPENCL_DEVICE",
            )),
            Err(code_of) => Err(failed(self.tried(code.entry), code_of)),
        }
    }

    fn load_binary(&self, binary: &[u8], options: &CStr) -> Result<Handle, Error> {
        let refused = |code| failed("load a compiled program", code);
        // SAFETY: the device is the context's. The bytes are as this driver gave them: they are found by its name and
        // version, their hash is checked, and no one else can write to the folder that they come from.
        let program = unsafe { create_program_with_binary(self.context.raw, &[self.device.id()], &[binary]) };
        // SAFETY: just made, and given back by this handle alone.
        let program = unsafe { Handle::new(program.map_err(refused)?, release_program) };
        self.build(&program, options).map_err(refused)?;
        Ok(program)
    }

    fn build(&self, program: &Handle, options: &CStr) -> Result<(), cl_int> {
        build_program(program.raw, &[self.device.id()], options, None, ptr::null_mut())
    }

    /// What the compiler says, if anything.
    fn log(&self, program: &Handle) -> Option<String> {
        let log = get_program_build_data(program.raw, self.device.id(), CL_PROGRAM_BUILD_LOG).ok()?;
        Some(as_text(&log)).filter(|log| !log.is_empty())
    }

    fn finish(&self, program: &Handle, code: &Code<'_>, log: Option<String>) -> Result<Compiled, Error> {
        let tried = || self.tried(code.entry);
        let no_entry = |found: String| {
            Error::new(ErrorKind::Kernel, tried(), found, "report this as a bug of tida, with the kernel's text")
        };
        let name = CString::new(code.entry).map_err(|_| no_entry("a name with a zero in it".into()))?;
        let raw = create_kernel(program.raw, &name)
            .map_err(|code_of| no_entry(format!("{} for its name", name_of(code_of))))?;
        // SAFETY: just made, and given back by this handle alone.
        let kernel = unsafe { Handle::new(raw, release_kernel) };
        let number = |what| {
            let bytes = get_kernel_work_group_data(kernel.raw, self.device.id(), what).ok()?;
            Some(as_number(&bytes))
        };
        let narrow = |what| number(what).and_then(|bytes| u32::try_from(bytes).ok());
        let threads = code.block.iter().map(|&n| u64::from(n)).product::<u64>();
        let most = number(CL_KERNEL_WORK_GROUP_SIZE).unwrap_or(u64::from(self.device.facts.block_threads));
        let axes = self.device.threads;
        if threads > most || code.block.iter().zip(axes).any(|(&n, most)| n as usize > most) {
            return Err(Error::new(
                ErrorKind::Kernel,
                format!("{} in blocks of {:?} threads", tried(), code.block),
                format!("that it runs with at most {most} threads in a block, {axes:?} along its axes"),
                "use smaller blocks",
            ));
        }
        let arguments = get_kernel_data(kernel.raw, CL_KERNEL_NUM_ARGS);
        let arguments = as_number(&arguments.map_err(|code_of| failed(tried(), code_of))?) as u32;
        let facts = KernelFacts {
            registers: log.as_deref().and_then(registers_in),
            // On a CPU it is stack, and says nothing of registers.
            spilled: narrow(CL_KERNEL_PRIVATE_MEM_SIZE).filter(|_| self.device.facts.gpu),
            shared: narrow(CL_KERNEL_LOCAL_MEM_SIZE),
            occupancy: None,
        };
        Ok(Compiled { entry: code.entry.to_owned(), kernel: Mutex::new(kernel), arguments, facts })
    }
}

/// The program as the driver compiled it.
fn binary_of(program: &Handle) -> Option<Vec<u8>> {
    let binaries: Vec<Vec<u8>> = get_program_info(program.raw, CL_PROGRAM_BINARIES).ok()?.into();
    binaries.into_iter().next().filter(|binary| !binary.is_empty())
}

/// The count in a log of NVIDIA's compiler, such as `ptxas info : Used 18 registers, 376 bytes cmem[0]`.
fn registers_in(log: &str) -> Option<u32> {
    let (_, after) = log.rsplit_once("Used ")?;
    let (count, _) = after.split_once(" registers")?;
    count.parse().ok()
}

/// A compiled kernel.
#[derive(Debug)]
pub(super) struct Compiled {
    entry: String,
    /// Its arguments are state of the object: set and launched under one lock. It keeps its program alive.
    kernel: Mutex<Handle>,
    arguments: u32,
    facts: KernelFacts,
}

impl Compiled {
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// How many arguments it takes.
    pub fn arguments(&self) -> u32 {
        self.arguments
    }

    pub fn lock(&self) -> MutexGuard<'_, Handle> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kernel for Compiled {
    fn facts(&self) -> KernelFacts {
        self.facts
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use opencl3::context::context::{create_context, release_context};

    use super::*;
    use crate::backend::opencl::probe;

    #[test]
    fn a_kept_binary_that_the_driver_refuses_is_compiled_again() {
        let device = match probe::devices().and_then(|devices| probe::choose(devices, true, None, 0)) {
            Ok(device) => device,
            Err(e) if std::env::var_os("TIDA_REQUIRE_OPENCL").is_some() => panic!("{e}"),
            Err(e) => return eprintln!("SKIPPED: OpenCL is not tested: {e}"),
        };
        if disk::folder().is_none() {
            return eprintln!("SKIPPED: no folder for compiled kernels");
        }
        let context = create_context(&[device.id()], ptr::null(), None, ptr::null_mut()).unwrap();
        // SAFETY: just made, and given back by this handle alone.
        let context = Arc::new(unsafe { Handle::new(context, release_context) });
        let compiler = Compiler::new(context, device);
        let text = "__kernel void refused(__global int* out) { out[0] = 7; }";
        let code = Code { text, entry: "refused", math: Math::Exact, block: [1; 3], shared: 0 };
        let key = compiler.key(&code, &compiler.options(&code));
        disk::store(key, b"not a program");
        assert!(compiler.kept(&code).is_none());
        assert_eq!(compiler.compile(&code).unwrap().arguments(), 1);
        let kept = disk::load(key).unwrap();
        assert_ne!(kept, b"not a program");
        assert!(compiler.kept(&code).is_some());
    }

    #[test]
    fn registers_are_read_from_a_log() {
        let log = "ptxas info    : 0 bytes gmem\nptxas info    : Used 18 registers, 376 bytes cmem[0]\n";
        assert_eq!(registers_in(log), Some(18));
        assert_eq!(registers_in("Used up"), None);
        assert_eq!(registers_in(""), None);
    }
}
