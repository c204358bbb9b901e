//! What is there: the driver and NVRTC, found once when first asked for, and the device to use.
//!
//! Functions are asked for by name: a library that lacks one is an error and no panic.

use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use super::sys::{self, CUdevice, CUdevice_attribute, Driver, Nvrtc};
use crate::backend::chosen::{Chosen, advice as advice_of};
use crate::error::{Error, ErrorKind};

/// Calls a function of the driver and makes an error of its result.
macro_rules! call {
    ($driver:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $driver.check(stringify!($function), ($driver.$function)($($argument),*))
    };
}
pub(super) use call;

impl Driver {
    /// The error of a call that did not succeed.
    pub fn check(&self, call: &str, code: u32) -> Result<(), Error> {
        if code == 0 { Ok(()) } else { Err(self.error(call, code)) }
    }

    pub fn error(&self, call: &str, code: u32) -> Error {
        Error::new(ErrorKind::Device, format!("call {call} of the CUDA driver"), self.text(code), advice(code))
    }

    /// What the driver says of a result: text, name and number.
    pub fn text(&self, code: u32) -> String {
        let ask = |function: unsafe extern "C" fn(u32, *mut *const c_char) -> u32| {
            let mut text = ptr::null();
            // SAFETY: the place for the answer is valid; the driver knows any code, or says that it does not.
            let result = unsafe { function(code, &mut text) };
            // SAFETY: on success it is a text of the driver's own, which is never freed.
            (result == 0 && !text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
        };
        match (ask(self.cuGetErrorString), ask(self.cuGetErrorName)) {
            (Some(text), Some(name)) => format!("{text} ({name}, {code})"),
            _ => format!("result {code}, which the driver has no text for"),
        }
    }

    /// An attribute of a device.
    pub fn attribute(&self, device: CUdevice, attribute: CUdevice_attribute) -> Result<u32, Error> {
        let mut value = 0;
        // SAFETY: the place for the answer is valid.
        unsafe { call!(self, cuDeviceGetAttribute(&mut value, attribute, device)) }?;
        Ok(value.max(0) as u32)
    }
}

/// What to do about a result of the driver.
fn advice(code: u32) -> &'static str {
    const NO_DEVICE: u32 = sys::CUDA_ERROR_NO_DEVICE;
    const UNKNOWN: u32 = sys::CUDA_ERROR_UNKNOWN;
    const DRIVER_MISMATCH: u32 = sys::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    const NOT_READY: u32 = sys::CUDA_ERROR_SYSTEM_NOT_READY;
    const STUB: u32 = sys::CUDA_ERROR_STUB_LIBRARY;
    const BUSY: u32 = sys::CUDA_ERROR_DEVICE_UNAVAILABLE;
    const NO_MEMORY: u32 = sys::CUDA_ERROR_OUT_OF_MEMORY;
    const RESOURCES: u32 = sys::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    const TIMEOUT: u32 = sys::CUDA_ERROR_LAUNCH_TIMEOUT;
    const ADDRESS: u32 = sys::CUDA_ERROR_ILLEGAL_ADDRESS;
    // Stack, instruction, alignment, address space, program counter.
    const FIRST_FAULT: u32 = sys::CUDA_ERROR_HARDWARE_STACK_ERROR;
    const FAILED: u32 = sys::CUDA_ERROR_LAUNCH_FAILED;
    const ECC: u32 = sys::CUDA_ERROR_ECC_UNCORRECTABLE;
    const OLD_DRIVER: u32 = sys::CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    const NO_BINARY: u32 = sys::CUDA_ERROR_NO_BINARY_FOR_GPU;
    const IMAGE: u32 = sys::CUDA_ERROR_INVALID_IMAGE;
    const BAD_PTX: u32 = sys::CUDA_ERROR_INVALID_PTX;
    const DEINITIALIZED: u32 = sys::CUDA_ERROR_DEINITIALIZED;
    match code {
        NO_DEVICE => "see whether nvidia-smi lists a GPU and CUDA_VISIBLE_DEVICES hides none, or use TIDA_DEVICE=cpu",
        UNKNOWN | DRIVER_MISMATCH | NOT_READY => {
            "see whether nvidia-smi works: after an update of the driver the machine has to start again"
        }
        STUB => "take the folder `stubs` of the CUDA toolkit out of the library path: it is for linking alone",
        BUSY => "another program has the device for itself: end it, or choose another one with TIDA_CUDA_DEVICE",
        NO_MEMORY => "use smaller regions or tiles, or end other programs that use the device (nvidia-smi lists them)",
        RESOURCES => "use a shorter kernel or fewer threads a block: the registers of a block do not suffice",
        TIMEOUT => "use smaller tiles: the system ends kernels that hold up a display",
        ADDRESS | FIRST_FAULT..=FAILED => {
            "start the program again, the device is lost to this process; if a kernel came in as PTX, run it under \
             compute-sanitizer, else report it as a bug of tida"
        }
        ECC => "start the program again; if it comes back, the device's memory is failing",
        OLD_DRIVER | NO_BINARY | IMAGE | BAD_PTX => {
            "install a driver at least as new as NVRTC (nvidia-smi shows the CUDA version it takes), or an older NVRTC"
        }
        DEINITIALIZED => "drop arrays and accelerators before the program ends",
        _ => "see whether nvidia-smi still shows the device, and report it as a bug of tida if it does",
    }
}

/// The driver, ready to be called. Looked for once.
///
/// # Errors
/// No library of that name, one that lacks a function, or a driver that cannot start.
pub(super) fn driver() -> Result<&'static Driver, Error> {
    static DRIVER: OnceLock<Result<Driver, Error>> = OnceLock::new();
    DRIVER.get_or_init(find_driver).as_ref().map_err(Error::clone)
}

fn find_driver() -> Result<Driver, Error> {
    let names: &[&str] = if cfg!(windows) {
        &["nvcuda.dll"]
    } else {
        // The folders are those of containers and of WSL, where the loader may not know them.
        &["libcuda.so.1", "libcuda.so", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]
    };
    let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let advice = "install NVIDIA's driver, in a container start it with the GPU (--gpus all), or use TIDA_DEVICE=cpu";
    // SAFETY: libraries of these names are the driver.
    let driver = unsafe { first_of(&paths, |library| Driver::of(library)) }
        .map_err(|found| Error::new(ErrorKind::Device, "load the CUDA driver", found, advice))?;
    // SAFETY: takes no pointers, and may be called any number of times.
    let started = unsafe { call!(driver, cuInit(0)) };
    match started {
        Ok(()) => Ok(driver),
        Err(e) => {
            // What a driver has begun may need it loaded.
            std::mem::forget(driver);
            Err(e)
        }
    }
}

/// NVRTC and its version. Looked for once.
///
/// # Errors
/// No library of that name, or one that lacks a function.
pub(super) fn nvrtc() -> Result<&'static (Nvrtc, [u32; 2]), Error> {
    static NVRTC: OnceLock<Result<(Nvrtc, [u32; 2]), Error>> = OnceLock::new();
    NVRTC.get_or_init(find_nvrtc).as_ref().map_err(Error::clone)
}

fn find_nvrtc() -> Result<(Nvrtc, [u32; 2]), Error> {
    let paths = nvrtc_paths(driver().ok().and_then(driver_version));
    let failed = |found: String| {
        let advice = "install NVRTC (it comes with the CUDA toolkit, and alone as the Python package \
                      nvidia-cuda-nvrtc) and put its folder in LD_LIBRARY_PATH, or name the toolkit's in CUDA_HOME";
        Error::new(ErrorKind::Device, "load NVRTC, the compiler of CUDA kernels", found, advice)
    };
    // SAFETY: libraries of these names are NVRTC.
    let nvrtc = unsafe { first_of(&paths, |library| Nvrtc::of(library)) }.map_err(failed)?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both places are valid.
    let code = unsafe { (nvrtc.nvrtcVersion)(&mut major, &mut minor) };
    if code != 0 {
        return Err(failed(format!("that nvrtcVersion gave {code}")));
    }
    Ok((nvrtc, [major.max(0) as u32, minor.max(0) as u32]))
}

/// The version of CUDA that a driver takes, such as 13.
fn driver_version(driver: &Driver) -> Option<u32> {
    let mut version = 0;
    // SAFETY: the place for the answer is valid.
    let code = unsafe { (driver.cuDriverGetVersion)(&mut version) };
    (code == 0 && version > 0).then_some(version as u32 / 1000)
}

/// Where NVRTC may be, best first: a version that the driver takes what it makes; what the loader finds before the
/// usual folders.
fn nvrtc_paths(driver: Option<u32>) -> Vec<PathBuf> {
    let mut majors = [13, 12, 11];
    // Stable: what the driver takes first, else from the newest on.
    majors.sort_by_key(|major| driver.is_some_and(|driver| *major > driver));
    let named = |major: u32| match (cfg!(windows), major) {
        (true, 11) => "nvrtc64_112_0.dll".to_owned(),
        (true, _) => format!("nvrtc64_{major}0_0.dll"),
        (false, 11) => "libnvrtc.so.11.2".to_owned(),
        (false, _) => format!("libnvrtc.so.{major}"),
    };
    let mut names: Vec<String> = majors.map(named).into();
    if !cfg!(windows) {
        names.push("libnvrtc.so".into());
    }
    let mut folders = vec![PathBuf::new()];
    let inside = if cfg!(windows) { &["bin/x64", "bin"][..] } else { &["lib64", "lib"] };
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).filter(|home| !home.is_empty());
    for home in homes.map(PathBuf::from).chain((!cfg!(windows)).then(|| "/usr/local/cuda".into())) {
        folders.extend(inside.iter().map(|folder| home.join(folder)));
    }
    folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
}

/// The first library that loads and has all functions; else what was found instead.
///
/// # Safety
/// Loading libraries of these names is sound.
unsafe fn first_of<T>(paths: &[PathBuf], of: impl Fn(Library) -> Result<T, String>) -> Result<T, String> {
    let mut broken = String::new();
    for path in paths {
        // SAFETY: of the named folder, which the next library is loaded from; the caller's promise.
        unsafe { load_builtins(path) };
        // SAFETY: the caller's promise.
        let Ok(library) = (unsafe { Library::new(path) }) else { continue };
        match of(library) {
            Ok(found) => return Ok(found),
            Err(lacks) => broken += &format!("; {} has {lacks}", path.display()),
        }
    }
    let (mut names, mut folders) = (Vec::new(), vec!["the library path".to_owned()]);
    let list = |all: &mut Vec<String>, path: &Path| {
        let text = path.display().to_string();
        if !text.is_empty() && !all.contains(&text) {
            all.push(text);
        }
    };
    for path in paths {
        list(&mut names, path.file_name().unwrap_or_default().as_ref());
        list(&mut folders, path.parent().unwrap_or(Path::new("")));
    }
    Err(format!("none of {} in {}{broken}", names.join(", "), folders.join(", ")))
}

/// NVRTC looks for a second library by name alone when it compiles. Where NVRTC was found by its folder, the loader
/// may not find that one, unless it is loaded already.
///
/// # Safety
/// Loading NVRTC's libraries from the folder of `path` is sound.
unsafe fn load_builtins(path: &Path) {
    let Some(folder) = path.parent().filter(|folder| folder.is_absolute() && path.exists()) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("libnvrtc-builtins.so") {
            // SAFETY: the caller's promise.
            if let Ok(library) = unsafe { Library::new(entry.path()) } {
                // Never unloaded.
                std::mem::forget(library);
            }
        }
    }
}

/// The device to use: the one that was chosen, else 0.
///
/// # Errors
/// No such device: those that there are.
pub(super) fn device(driver: &Driver, chosen: Option<&Chosen<u32>>) -> Result<CUdevice, Error> {
    let count = c_int::try_from(count(driver)?).unwrap_or(c_int::MAX);
    let name = |number| handle(driver, number).and_then(|device| name_of(driver, device));
    handle(driver, choose(chosen, count, |number| name(number).unwrap_or_else(|_| "a device without a name".into()))?)
}

/// How many devices there are.
///
/// # Errors
/// What the driver says.
pub(super) fn count(driver: &Driver) -> Result<u32, Error> {
    let mut count = 0;
    // SAFETY: the place for the answer is valid.
    unsafe { call!(driver, cuDeviceGetCount(&mut count)) }?;
    Ok(u32::try_from(count).unwrap_or(0))
}

/// What tells a device, or a part of one that is given to programs, from all others. Older drivers have numbers alone.
pub(super) fn identity_of(driver: &Driver, device: CUdevice) -> String {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: the place for the answer is valid.
    let known = driver.cuDeviceGetUuid_v2.is_some_and(|ask| unsafe { ask(&mut uuid, device) } == 0);
    match known {
        true => format!("cuda {}", uuid.bytes.map(|byte| format!("{byte:02x}")).concat()),
        false => format!("cuda {device}"),
    }
}

/// The device of a number.
fn handle(driver: &Driver, number: c_int) -> Result<CUdevice, Error> {
    let mut device = 0;
    // SAFETY: the place for the answer is valid.
    unsafe { call!(driver, cuDeviceGet(&mut device, number)) }?;
    Ok(device)
}

/// What the driver calls a device.
pub(super) fn name_of(driver: &Driver, device: CUdevice) -> Result<String, Error> {
    let mut name = [0u8; 256];
    // SAFETY: the place for the name has 256 bytes, and the driver is told 255 of them: the last stays 0.
    unsafe { call!(driver, cuDeviceGetName(name.as_mut_ptr().cast(), 255, device)) }?;
    Ok(String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned())
}

/// # Errors
/// [`ErrorKind::Device`]: no device at all; [`ErrorKind::Argument`]: not the one that was chosen.
fn choose(chosen: Option<&Chosen<u32>>, count: c_int, name: impl Fn(c_int) -> String) -> Result<c_int, Error> {
    const VARIABLE: &str = "TIDA_CUDA_DEVICE";
    match c_int::try_from(chosen.map_or(0, |chosen| chosen.which)) {
        Ok(number) if (0..count).contains(&number) => Ok(number),
        _ => {
            let kind = if count > 0 { ErrorKind::Argument } else { ErrorKind::Device };
            let tried = match chosen {
                Some(chosen) => format!("use the CUDA device that {} names", chosen.by("cuda_device", VARIABLE)),
                None => "use the first CUDA device".to_owned(),
            };
            let list: Vec<_> = (0..count).map(|number| format!("{number}: {}", name(number))).collect();
            let found = match count > 0 {
                true => format!("the devices {}", list.join("; ")),
                false => "no CUDA device".to_owned(),
            };
            let advice = advice_of(chosen, "cuda_device", VARIABLE, "one of their numbers");
            Err(Error::new(kind, tried, found, advice + "; CUDA_VISIBLE_DEVICES may hide some"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_chosen_by_its_number() {
        let name = |number| format!("GPU {}", ["A", "B"][number as usize]);
        let chosen = |which, by_builder| Chosen { which, by_builder };
        assert_eq!(choose(None, 1, name).unwrap(), 0);
        assert_eq!(choose(Some(&chosen(1, true)), 2, name).unwrap(), 1);
        for bad in [2, u32::MAX] {
            let e = choose(Some(&chosen(bad, false)), 2, name).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Argument);
            assert_eq!(
                e.to_string(),
                format!(
                    "tried to use the CUDA device that TIDA_CUDA_DEVICE={bad} names; found the devices 0: GPU A; 1: GPU B; \
                     set TIDA_CUDA_DEVICE to one of their numbers, or unset it; CUDA_VISIBLE_DEVICES may hide some"
                )
            );
            let e = choose(Some(&chosen(bad, true)), 2, name).unwrap_err();
            assert!(e.tried().ends_with(&format!("`cuda_device({bad})` names")), "{e}");
            assert!(e.advice().starts_with("give `cuda_device` one of their numbers, or leave it out"), "{e}");
        }
        for e in [choose(None, 0, name).unwrap_err(), choose(Some(&chosen(0, true)), 0, name).unwrap_err()] {
            assert_eq!((e.kind(), e.found()), (ErrorKind::Device, "no CUDA device"));
        }
    }

    #[test]
    fn nvrtc_is_looked_for_in_the_drivers_version_first() {
        let first = |driver| nvrtc_paths(driver)[0].display().to_string();
        assert!(first(None).contains("13"));
        assert!(first(Some(13)).contains("13"));
        assert!(first(Some(14)).contains("13"));
        assert!(first(Some(12)).contains("12"));
        assert!(nvrtc_paths(Some(12)).len() == nvrtc_paths(None).len());
    }

    #[test]
    fn libraries_that_are_not_there_are_named() {
        let paths = ["libtida-not-there.so.1".into(), "/nowhere/libtida-not-there.so".into()];
        // SAFETY: there is nothing to load.
        let found = unsafe { first_of(&paths, |library| Driver::of(library)) }.err().unwrap();
        assert_eq!(found, "none of libtida-not-there.so.1, libtida-not-there.so in the library path, /nowhere");
    }

    /// A library that is there and is not the driver.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_without_the_functions_is_an_error() {
        // SAFETY: every program on Linux has it loaded.
        let found = unsafe { first_of(&["libc.so.6".into()], |library| Driver::of(library)) }.err().unwrap();
        assert!(found.ends_with("; libc.so.6 has no function cuInit"), "{found}");
    }

    #[test]
    fn advice_is_for_the_code() {
        assert!(advice(700).contains("start the program again"));
        assert!(advice(719).contains("start the program again"));
        assert!(advice(2).contains("smaller"));
        assert!(advice(100).contains("TIDA_DEVICE=cpu"));
        assert!(advice(99_999).contains("nvidia-smi"));
    }
}
