//! Text to machine code by NVRTC, modules of the driver, and what is known of a kernel.

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use tida_kernels::plan::Math;

use super::Context;
use super::probe::{call, nvrtc};
use super::sys::{self, CUfunction, CUmodule, Nvrtc, nvrtcProgram, nvrtcResult};
use crate::backend::{Argument, Code, Kernel, KernelFacts, disk};
use crate::error::{Error, ErrorKind};

/// What kernels are compiled for.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// `sm_90`: machine code of that architecture. `compute_90`: PTX, which the driver compiles further.
    arch: String,
    /// NVRTC's version.
    version: [u32; 2],
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, NVRTC {}.{}", self.arch, self.version[0], self.version[1])
    }
}

impl Target {
    /// For a device of a compute capability, such as 90: its machine code if NVRTC knows it, else PTX of the newest
    /// older architecture that NVRTC knows.
    ///
    /// # Errors
    /// No NVRTC, or one that is too new for the device.
    pub fn of_device(capability: u32) -> Result<Target, Error> {
        let (nvrtc, version) = nvrtc()?;
        let known = known_archs(nvrtc);
        let arch = if known.contains(&capability) {
            format!("sm_{capability}")
        } else if let Some(older) = known.iter().filter(|arch| **arch < capability).max() {
            format!("compute_{older}")
        } else {
            return Err(Error::new(
                ErrorKind::Device,
                format!("compile kernels for a device of compute capability {}.{}", capability / 10, capability % 10),
                format!("NVRTC {}.{}, which makes code for {known:?}", version[0], version[1]),
                "install an older NVRTC (CUDA 12 knows devices from 5.0 on) and put its folder in LD_LIBRARY_PATH",
            ));
        };
        Ok(Target { arch, version: *version })
    }

    /// Whether its code can fetch by tensor maps.
    pub fn has_maps(&self) -> bool {
        self.arch.split_once('_').and_then(|(_, number)| number.parse().ok()).is_some_and(|number: u32| number >= 90)
    }
}

/// The architectures that NVRTC makes code for, such as 90.
fn known_archs(nvrtc: &Nvrtc) -> Vec<u32> {
    let mut count = 0;
    // SAFETY: the place for the answer is valid.
    let code = unsafe { (nvrtc.nvrtcGetNumSupportedArchs)(&mut count) };
    let mut archs: Vec<c_int> = vec![0; if code == 0 { count.max(0) as usize } else { 0 }];
    // SAFETY: there is room for as many as NVRTC said.
    if archs.is_empty() || unsafe { (nvrtc.nvrtcGetSupportedArchs)(archs.as_mut_ptr()) } != 0 {
        return Vec::new();
    }
    archs.into_iter().map(|arch| arch.max(0) as u32).collect()
}

/// NVRTC's options. The exact ones are its defaults but for contraction; they are said all the same, since the bits
/// depend on them.
fn options(arch: &str, math: Math) -> Vec<String> {
    let math = match math.is_exact() {
        true => &["--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"][..],
        false => &["--use_fast_math"],
    };
    let fixed = ["--std=c++17", "--device-as-default-execution-space"];
    let arch = format!("--gpu-architecture={arch}");
    [arch].into_iter().chain(fixed.iter().chain(math).map(|option| option.to_string())).collect()
}

/// A program of NVRTC.
struct Program {
    nvrtc: &'static Nvrtc,
    raw: nvrtcProgram,
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created by `compile_text`, and destroyed once.
        unsafe { (self.nvrtc.nvrtcDestroyProgram)(&mut self.raw) };
    }
}

type Size = unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult;
type Content = unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult;

impl Program {
    /// One of the results, by its pair of functions.
    fn get(&self, size: Size, content: Content) -> Option<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program is alive, and the place for the answer valid.
        if unsafe { size(self.raw, &mut bytes) } != 0 {
            return None;
        }
        let mut all = vec![0u8; bytes];
        // SAFETY: there is room for as many bytes as NVRTC said.
        (bytes == 0 || unsafe { content(self.raw, all.as_mut_ptr().cast()) } == 0).then_some(all)
    }

    fn log(&self) -> String {
        let mut log = self.get(self.nvrtc.nvrtcGetProgramLogSize, self.nvrtc.nvrtcGetProgramLog).unwrap_or_default();
        log.truncate(log.iter().position(|byte| *byte == 0).unwrap_or(log.len()));
        String::from_utf8_lossy(&log).trim_end().to_owned()
    }
}

/// Machine code, or PTX with its final zero, and the compiler's messages.
///
/// # Errors
/// The compiler's messages as `found`; a text that it cannot take; an NVRTC that does not work.
fn compile_text(text: &str, entry: &str, target: &Target, options: &[String]) -> Result<(Vec<u8>, String), Error> {
    let nvrtc = &nvrtc()?.0;
    let tried = format!("compile the kernel `{entry}` for {target}");
    let source = CString::new(text).map_err(|e| {
        let found = format!("a byte of value 0 at {} of its text", e.nul_position());
        Error::new(ErrorKind::Kernel, &tried, found, "take the byte out of the text")
    })?;
    let options: Vec<CString> = options.iter().filter_map(|option| CString::new(option.as_str()).ok()).collect();
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let failed = |code: u32, log: String| {
        // SAFETY: gives a text of NVRTC's own for any number.
        let text = unsafe { (nvrtc.nvrtcGetErrorString)(code) };
        // SAFETY: a text that is never freed, unless it is null.
        let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy());
        let text = text.unwrap_or_default();
        if code == sys::NVRTC_ERROR_COMPILATION {
            let found = if log.is_empty() { text.into() } else { log };
            let advice = "write the kernel another way, or report it as a bug of tida if it came from `kernel!`";
            return Error::new(ErrorKind::Kernel, &tried, found, advice);
        }
        let advice = if code == sys::NVRTC_ERROR_INVALID_OPTION {
            "choose an architecture that this NVRTC knows, or install another NVRTC"
        } else {
            "see whether NVRTC is installed as a whole: libnvrtc-builtins of the same version has to lie beside it, in \
             LD_LIBRARY_PATH"
        };
        Error::new(ErrorKind::Device, &tried, format!("{text} ({code}): {log}"), advice)
    };

    let mut raw = ptr::null_mut();
    // SAFETY: both texts end in 0 and live until the call returns; there are no headers.
    let code = unsafe {
        let name = c"kernel.cu".as_ptr();
        (nvrtc.nvrtcCreateProgram)(&mut raw, source.as_ptr(), name, 0, ptr::null(), ptr::null())
    };
    if code != 0 {
        return Err(failed(code, String::new()));
    }
    let program = Program { nvrtc, raw };
    // SAFETY: the options' texts live until the call returns, in `options` before it was shadowed.
    let code = unsafe { (nvrtc.nvrtcCompileProgram)(raw, options.len() as c_int, options.as_ptr()) };
    let log = program.log();
    if code != 0 {
        return Err(failed(code, log));
    }
    let made = match target.arch.starts_with("sm_") {
        true => program.get(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN),
        false => program.get(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX),
    };
    match made.filter(|made| !made.is_empty()) {
        Some(made) => Ok((made, log)),
        None => Err(failed(sys::NVRTC_ERROR_INTERNAL_ERROR, log)),
    }
}

/// Compiles without a device, for an architecture such as `sm_90`: the machine code, and what the assembler says that
/// the kernel uses.
///
/// # Errors
/// As [`Backend::compile`](crate::backend::Backend::compile); no such kernel in the text.
pub(crate) fn compile_only(text: &str, entry: &str, math: Math, arch: &str) -> Result<(Vec<u8>, KernelFacts), Error> {
    let target = Target { arch: arch.to_owned(), version: nvrtc()?.1 };
    let mut options = options(arch, math);
    // Its report is in the log.
    options.push("--ptxas-options=-v".into());
    // Code from the compiler's own cache comes without a report. Older compilers have none.
    if target.version[0] >= 13 {
        options.push("--no-cache".into());
    }
    let (made, log) = compile_text(text, entry, &target, &options)?;
    let facts = reported(&log, entry);
    if facts.is_none() && log.contains("Compiling entry function") {
        return Err(no_entry(entry, "the compiled text has no kernel of that name"));
    }
    Ok((made, facts.unwrap_or_default()))
}

/// What the assembler's report says of a kernel.
fn reported(log: &str, entry: &str) -> Option<KernelFacts> {
    let start = log.find(&format!("Compiling entry function '{entry}'"))?;
    let report = &log[start..];
    // Up to the next kernel's.
    let report = &report[..report[1..].find("Compiling entry function").map_or(report.len(), |next| next + 1)];
    // The number before some words.
    let before = |words: &str| -> Option<u32> { report[..report.find(words)?].rsplit(' ').next()?.parse().ok() };
    let used = report.contains(" registers");
    Some(KernelFacts {
        registers: before(" registers"),
        // What functions that were not inlined need is only in the cumulative size, which is left out if it is 0.
        spilled: before(" bytes cumulative stack size").or_else(|| before(" bytes stack frame")),
        // Left out if there is none.
        shared: before(" bytes smem").or(used.then_some(0)),
        occupancy: None,
    })
}

fn no_entry(entry: &str, found: impl Into<String>) -> Error {
    let advice = "give the name as it stands in the compiled text; in CUDA C++ the kernel has to be extern \"C\"";
    Error::new(ErrorKind::Kernel, format!("find the kernel `{entry}`"), found, advice)
}

/// A kernel in a loaded module.
#[derive(Debug)]
pub(super) struct CudaKernel {
    context: Arc<Context>,
    module: CUmodule,
    function: CUfunction,
    entry: String,
    facts: KernelFacts,
    /// Bytes of each parameter, where the driver says.
    params: Option<Vec<usize>>,
    /// Bytes of shared memory that launches ask for.
    shared: u32,
}

// SAFETY: the driver's functions on modules and functions are thread-safe.
unsafe impl Send for CudaKernel {}
// SAFETY: as above.
unsafe impl Sync for CudaKernel {}

impl Drop for CudaKernel {
    fn drop(&mut self) {
        let Ok(driver) = self.context.enter() else { return };
        // Launches of it may be under way. Kernels are dropped seldom.
        // SAFETY: the context is current.
        let code = unsafe { (driver.cuCtxSynchronize)() };
        self.context.ignore("cuCtxSynchronize", code);
        // SAFETY: loaded by `load`, unloaded once, and no work uses it.
        let code = unsafe { (driver.cuModuleUnload)(self.module) };
        self.context.ignore("cuModuleUnload", code);
    }
}

impl Kernel for CudaKernel {
    fn facts(&self) -> KernelFacts {
        self.facts
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl CudaKernel {
    /// Whether it is loaded in this context.
    pub fn is_of(&self, context: &Arc<Context>) -> bool {
        Arc::ptr_eq(&self.context, context)
    }

    pub fn raw(&self) -> CUfunction {
        self.function
    }

    /// Bytes of shared memory that launches ask for.
    pub fn shared(&self) -> u32 {
        self.shared
    }

    /// Whether the arguments have the number and the sizes of the parameters, where the driver says these.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, arguments: &[Argument<'_>]) -> Result<(), Error> {
        let sizes = || {
            arguments.iter().map(|argument| match argument {
                Argument::Memory(_) | Argument::At(..) => size_of::<u64>(),
                Argument::Bytes(bytes) => bytes.len(),
            })
        };
        match &self.params {
            Some(params) if !params.iter().copied().eq(sizes()) => Err(Error::new(
                ErrorKind::Argument,
                format!("launch the kernel `{}` with arguments of {:?} bytes", self.entry, sizes().collect::<Vec<_>>()),
                format!("parameters of {params:?} bytes"),
                "give each parameter an argument of its size",
            )),
            _ => Ok(()),
        }
    }

    /// Loads machine code or PTX (which ends in 0), and asks what there is to know; occupancy and the limit of threads
    /// for blocks of that many. `advice` is for an image that the driver refuses, where the result's own is not it.
    ///
    /// # Errors
    /// What the driver says of the image; no such kernel; too many registers for so many threads.
    fn load(
        context: &Arc<Context>,
        image: &[u8],
        entry: &str,
        threads: Option<u32>,
        shared: u32,
        advice: Option<&str>,
    ) -> Result<CudaKernel, Error> {
        let driver = context.enter()?;
        let mut module = ptr::null_mut();
        let mut log = vec![0u8; 16 << 10];
        let mut asked = [sys::CU_JIT_ERROR_LOG_BUFFER, sys::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // A size is given as if it were a pointer; the last byte stays 0.
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len() - 1)];
        // SAFETY: the context is current; the image is whole machine code, or text that ends in 0; both options have
        // values of their kind, and the buffer outlives the call.
        let code = unsafe {
            let (options, values) = (asked.as_mut_ptr(), values.as_mut_ptr());
            (driver.cuModuleLoadDataEx)(&mut module, image.as_ptr().cast(), asked.len() as u32, options, values)
        };
        if code != 0 {
            let e = driver.error("cuModuleLoadDataEx", code);
            let log = String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default());
            let found = if log.trim().is_empty() { e.found().into() } else { format!("{}: {}", e.found(), log.trim()) };
            return Err(Error::new(
                ErrorKind::Kernel,
                format!("load the kernel `{entry}`"),
                found,
                advice.unwrap_or(e.advice()),
            ));
        }
        // From here on dropping it unloads the module.
        let mut kernel = CudaKernel {
            context: context.clone(),
            module,
            function: ptr::null_mut(),
            entry: entry.to_owned(),
            facts: KernelFacts::default(),
            params: None,
            shared,
        };
        let name = CString::new(entry).map_err(|_| no_entry(entry, "a byte of value 0 in the name"))?;
        // SAFETY: the place for the answer is valid, the module loaded, and the name ends in 0.
        unsafe { call!(driver, cuModuleGetFunction(&mut kernel.function, module, name.as_ptr())) }
            .map_err(|e| no_entry(entry, e.found()))?;
        kernel.ask(threads)?;
        Ok(kernel)
    }

    /// Asks for as much memory of a multiprocessor to be shared as so many blocks take: left to itself the driver may
    /// leave what it was, and fewer blocks find room.
    fn share(&self, blocks: u32) -> Result<(), Error> {
        let (driver, device) = (self.context.driver, self.context.device);
        let Some(own) = self.facts.shared.filter(|own| *own > 0) else { return Ok(()) };
        let reserved = driver.attribute(device, sys::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?;
        let most = driver.attribute(device, sys::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?;
        let all = u64::from(blocks) * (u64::from(own) + u64::from(reserved));
        let percent = (all * 100).div_ceil(u64::from(most.max(1))).min(100);
        let carveout = sys::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        // SAFETY: the function is alive.
        unsafe { call!(driver, cuFuncSetAttribute(self.function, carveout, percent as c_int)) }
    }

    /// Asks the driver what the kernel uses. Its context is current.
    fn ask(&mut self, threads: Option<u32>) -> Result<(), Error> {
        let (driver, function) = (self.context.driver, self.function);
        let attribute = |attribute| {
            let mut value = 0;
            // SAFETY: the place for the answer is valid, and the function alive.
            unsafe { call!(driver, cuFuncGetAttribute(&mut value, attribute, function)) }.map(|()| value.max(0) as u32)
        };
        if self.shared > 0 {
            let most = sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is alive.
            unsafe { call!(driver, cuFuncSetAttribute(function, most, self.shared as c_int)) }?;
        }
        let registers = attribute(sys::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        let most_threads = attribute(sys::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        self.facts = KernelFacts {
            registers: Some(registers),
            spilled: Some(attribute(sys::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?),
            shared: Some(attribute(sys::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? + self.shared),
            occupancy: None,
        };
        if let Some(threads) = threads.filter(|threads| *threads > 0) {
            if threads > most_threads {
                return Err(Error::new(
                    ErrorKind::Kernel,
                    format!("load the kernel `{}` for blocks of {threads} threads", self.entry),
                    format!("that a block of it has at most {most_threads}, of {registers} registers each"),
                    "use fewer threads a block, or a shorter kernel",
                ));
            }
            let held = sys::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
            let held = driver.attribute(self.context.device, held)?.max(1);
            let mut blocks = 0;
            // SAFETY: the place for the answer is valid, and the function alive.
            unsafe {
                let (threads, shared) = (threads as c_int, self.shared as usize);
                call!(driver, cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, threads, shared))
            }?;
            self.facts.occupancy = Some(blocks.max(0) as f32 * threads as f32 / held as f32);
            self.share(blocks.max(0).cast_unsigned())?;
        }
        self.params = driver.cuFuncGetParamInfo.and_then(|info| {
            let mut params = Vec::new();
            loop {
                let (mut offset, mut size) = (0, 0);
                // SAFETY: the places for the answer are valid, and the function alive.
                match unsafe { info(function, params.len(), &mut offset, &mut size) } {
                    0 => params.push(size),
                    // Past the last.
                    code if code == sys::CUDA_ERROR_INVALID_VALUE => return Some(params),
                    _ => return None,
                }
            }
        });
        Ok(())
    }
}

/// What the code of a kernel is found by on disk.
fn key(target: &Target, options: &[String], text: &str) -> disk::Key {
    disk::Key::new(&["cuda", &target.to_string(), &options.join(" "), text])
}

/// Threads of a block that a kernel is launched with.
fn threads(code: &Code<'_>) -> u32 {
    code.block.iter().try_fold(1u32, |all, threads| all.checked_mul(*threads)).unwrap_or(u32::MAX)
}

/// A kernel from the cache on disk.
pub(super) fn kept(context: &Arc<Context>, target: &Target, code: &Code<'_>) -> Option<CudaKernel> {
    let image = disk::load(key(target, &options(&target.arch, code.math), code.text))?;
    match CudaKernel::load(context, &image, code.entry, Some(threads(code)), code.shared, None) {
        Ok(kernel) => Some(kernel),
        // Such as one that an older driver does not take. If it is not the image that is wrong, it comes out as it is
        // compiled.
        Err(error) => {
            tracing::debug!(%error, "a kernel from disk could not be loaded");
            None
        }
    }
}

/// Compiles a kernel.
///
/// # Errors
/// As [`Backend::compile`](crate::backend::Backend::compile).
pub(super) fn compile(context: &Arc<Context>, target: &Target, code: &Code<'_>) -> Result<CudaKernel, Error> {
    let options = options(&target.arch, code.math);
    let (image, _) = compile_text(code.text, code.entry, target, &options)?;
    let kernel = CudaKernel::load(context, &image, code.entry, Some(threads(code)), code.shared, None)?;
    disk::store(key(target, &options, code.text), &image);
    Ok(kernel)
}

/// Loads PTX that another compiler has made.
///
/// # Errors
/// As [`Backend::load_ptx`](crate::backend::Backend::load_ptx).
pub(super) fn load_ptx(context: &Arc<Context>, ptx: &str, entry: &str) -> Result<CudaKernel, Error> {
    // The driver would take other things too, and trust them.
    let found = match ptx {
        _ if ptx.contains('\0') => Some("a byte of value 0 in it"),
        _ if !ptx.contains(".version") => Some("no `.version` in it, which PTX has at its head"),
        _ => None,
    };
    if let Some(found) = found {
        let tried = format!("load the kernel `{entry}` from PTX");
        return Err(Error::new(ErrorKind::Kernel, tried, found, "give the text that the compiler made"));
    }
    let mut image = ptx.as_bytes().to_vec();
    image.push(0);
    let advice = "compile it again, for this device or an older one, by a compiler that is no newer than the driver";
    CudaKernel::load(context, &image, entry, None, 0, Some(advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assemblers_report_is_read() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'g' for 'sm_90'
ptxas info    : Function properties for g
ptxas         .     72 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 28 registers, used 1 barriers, 96 bytes cumulative stack size, 72 bytes smem
ptxas info    : Compile time = 49.762 ms
ptxas info    : Compiling entry function 'f' for 'sm_90'
ptxas info    : Function properties for f
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
";
        let of = |entry| reported(log, entry).map(|facts| [facts.registers, facts.spilled, facts.shared]);
        assert_eq!(of("g"), Some([Some(28), Some(96), Some(72)]));
        assert_eq!(of("f"), Some([Some(12), Some(0), Some(0)]));
        assert_eq!(of("h"), None);
        assert!(reported("something else", "f").is_none());
    }

    #[test]
    fn exact_options_forbid_contraction() {
        let exact = options("sm_90", Math::Exact).join(" ");
        assert!(exact.contains("--gpu-architecture=sm_90") && exact.contains("--fmad=false"), "{exact}");
        assert!(!exact.contains("fast"), "{exact}");
        assert!(options("sm_90", Math::Fast).join(" ").contains("--use_fast_math"));
    }
}
