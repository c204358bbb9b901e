//! The loader, its platforms and their devices, looked for once; and the choice among them.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use opencl3::device as cl;
use opencl3::error_codes::DLOPEN_RUNTIME_LOAD_FAILED;
use opencl3::platform::platform;
use opencl3::types::{cl_device_id, cl_platform_id};
use tida_kernels::plan::Dialect;
use tida_kernels::plan::auto::{Latency, Machine};

use super::{failed, name_of};
use crate::backend::Facts;
use crate::backend::chosen::{Chosen, advice};
use crate::error::{Error, ErrorKind};

/// Code of the loader for "no platform" (`cl_khr_icd`).
const NO_PLATFORM: i32 = -1001;

/// A device of some platform, for as long as the program runs.
#[derive(Debug)]
pub(super) struct Device {
    id: cl_device_id,
    pub facts: Facts,
    /// Why tida cannot use it, if so.
    unfit: Option<String>,
    /// Bytes of the largest buffer.
    pub largest_buffer: u64,
    /// Most threads of a block along each axis.
    pub threads: [usize; 3],
    /// Whether `f32` division and root can be correctly rounded.
    pub rounds: bool,
    /// Whether the compiler tells of registers (`cl_nv_compiler_options`).
    pub verbose: bool,
    /// Whether kernels with barriers are compiled as they are written. PoCL (seen with 3.1) takes values over a barrier
    /// from a branch that the thread was not in.
    pub barriers_as_written: bool,
    /// Bytes that this program has allocated on it.
    used: AtomicU64,
}

// SAFETY: the id is a plain name of a device, never given back, and OpenCL takes it from any thread.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    pub fn id(&self) -> cl_device_id {
        self.id
    }

    /// Bytes that this program has not allocated. Other programs' bytes are not known.
    pub fn free(&self) -> u64 {
        self.facts.memory.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// Counts bytes as allocated, if there are as many; says whether.
    pub fn take(&self, bytes: u64) -> bool {
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= self.facts.memory);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Counts bytes as free again.
    pub fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn new(platform_version: &str, id: cl_device_id) -> Result<Device, i32> {
        let number = |what| Ok::<u64, i32>(as_number(&cl::get_device_data(id, what)?));
        let text = |what| Ok::<String, i32>(as_text(&cl::get_device_data(id, what)?));
        let extensions = text(cl::CL_DEVICE_EXTENSIONS)?;
        let has = |name: &str| extensions.split_whitespace().any(|found| found == name);
        let nvidia = has("cl_nv_device_attribute_query");
        let name = text(cl::CL_DEVICE_NAME)?;
        let version = text(cl::CL_DEVICE_VERSION)?;
        let gpu = number(cl::CL_DEVICE_TYPE)? & cl::CL_DEVICE_TYPE_GPU != 0;
        let block_threads = number(cl::CL_DEVICE_MAX_WORK_GROUP_SIZE)?.min(u64::from(u32::MAX)) as u32;
        let mut threads = [1; 3];
        let sizes = cl::get_device_data(id, cl::CL_DEVICE_MAX_WORK_ITEM_SIZES)?;
        for (most, size) in threads.iter_mut().zip(sizes.chunks_exact(size_of::<usize>())) {
            *most = as_number(size) as usize;
        }
        let unfit = if number(cl::CL_DEVICE_AVAILABLE)? == 0 {
            Some("is not available".to_owned())
        } else if number(cl::CL_DEVICE_COMPILER_AVAILABLE)? == 0 {
            Some("has no compiler".to_owned())
        } else if version_of(&version) < (1, 2) {
            Some(format!("has {version}, older than 1.2"))
        } else if number(cl::CL_DEVICE_ADDRESS_BITS)? != 64 || number(cl::CL_DEVICE_ENDIAN_LITTLE)? == 0 {
            Some("is not a little-endian device of 64 bits".to_owned())
        } else {
            None
        };
        let rounds = number(cl::CL_DEVICE_SINGLE_FP_CONFIG)? & cl::CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0;
        let facts = Facts {
            dialect: Dialect::OpenCl,
            target: format!("{name}, {version}, {platform_version}, driver {}", text(cl::CL_DRIVER_VERSION)?),
            memory: number(cl::CL_DEVICE_GLOBAL_MEM_SIZE)?,
            fp64: has("cl_khr_fp64"),
            block_threads,
            shared: number(cl::CL_DEVICE_LOCAL_MEM_SIZE)?,
            most_shared: number(cl::CL_DEVICE_LOCAL_MEM_SIZE)?,
            grid: match (nvidia, gpu) {
                (true, _) => [i32::MAX as u64, 65535, 65535],
                // Packets of HSA count threads in 32 bits.
                (_, true) => [u64::from(u32::MAX / block_threads.max(1)); 3],
                _ => [u64::from(u32::MAX); 3],
            },
            gpu,
            native: false,
            spreads: false,
            maps: false,
            machine: Machine {
                multiprocessors: number(cl::CL_DEVICE_MAX_COMPUTE_UNITS)? as u32,
                cache: number(cl::CL_DEVICE_GLOBAL_MEM_CACHE_SIZE)?,
                latency: Latency::TYPICAL,
            },
            name,
        };
        Ok(Device {
            id,
            facts,
            unfit,
            largest_buffer: number(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE)?,
            threads,
            rounds,
            verbose: has("cl_nv_compiler_options"),
            barriers_as_written: !gpu && (version.contains("pocl") || version.contains("PoCL")),
            used: AtomicU64::new(0),
        })
    }
}

/// All devices of all platforms, in the loader's order. Looked for once; a failure stays too.
///
/// # Errors
/// [`ErrorKind::Device`]: no loader, no platform, or no device at all.
pub(super) fn devices() -> Result<&'static [Device], Error> {
    static FOUND: OnceLock<Result<Vec<Device>, Error>> = OnceLock::new();
    // One thread at a time enters the drivers first.
    FOUND.get_or_init(find).as_ref().map(Vec::as_slice).map_err(Clone::clone)
}

const TRIED: &str = "find an OpenCL device";

fn find() -> Result<Vec<Device>, Error> {
    let platforms = platform::get_platform_ids().or_else(|code| match code {
        NO_PLATFORM => Ok(Vec::new()),
        DLOPEN_RUNTIME_LOAD_FAILED => Err(Error::new(
            ErrorKind::Device,
            TRIED,
            "no loader libOpenCL.so.1 that can be loaded",
            "install one (Debian: ocl-icd-libopencl1), or give its path in OPENCL_DYLIB_PATH",
        )),
        code => Err(failed(TRIED, code)),
    })?;
    if platforms.is_empty() {
        return Err(Error::new(
            ErrorKind::Device,
            TRIED,
            "the loader libOpenCL.so.1, but no platform",
            "install the device's driver, or PoCL for the CPU (Debian: pocl-opencl-icd); the loader looks in \
             /etc/OpenCL/vendors or OCL_ICD_VENDORS",
        ));
    }
    let mut devices = Vec::new();
    let mut silent = Vec::new();
    for id in platforms {
        match devices_of(id) {
            Ok(more) => devices.extend(more),
            // One broken driver must not hide the others.
            Err(code) => silent.push(format!("{} says {}", text_of(id, platform::CL_PLATFORM_NAME), name_of(code))),
        }
    }
    if devices.is_empty() {
        let why = if silent.is_empty() { "no device on any platform".to_owned() } else { silent.join(", ") };
        return Err(Error::new(
            ErrorKind::Device,
            TRIED,
            why,
            "see that the device and its driver are well (clinfo), or install PoCL for the CPU",
        ));
    }
    Ok(devices)
}

fn devices_of(platform: cl_platform_id) -> Result<Vec<Device>, i32> {
    let version = text_of(platform, platform::CL_PLATFORM_VERSION);
    let ids = cl::get_device_ids(platform, cl::CL_DEVICE_TYPE_ALL)?;
    ids.into_iter().map(|id| Device::new(&version, id)).collect()
}

fn text_of(platform: *mut c_void, what: u32) -> String {
    platform::get_platform_data(platform, what).map_or_else(name_of, |bytes| as_text(&bytes))
}

/// A GPU; with `any`, else another device; or the one that the user `chose`, by its number or a piece of its name. Of
/// several that would do, the one whose `turn` it is.
///
/// # Errors
/// [`ErrorKind::Device`]: there is none, with a list of those that are there. [`ErrorKind::Argument`]: none that was
/// chosen.
pub(super) fn choose<'a>(
    devices: &'a [Device],
    any: bool,
    chosen: Option<&Chosen<String>>,
    turn: usize,
) -> Result<&'a Device, Error> {
    let chosen = chosen.filter(|chosen| !chosen.which.trim().is_empty());
    let list = || {
        let one = |(number, device): (usize, &Device)| match &device.unfit {
            Some(why) => format!("{number}: {}, which {why}", device.facts.name),
            None if chosen.is_none() && !device.facts.gpu => {
                format!("{number}: {}, which is no GPU", device.facts.name)
            }
            None => format!("{number}: {}", device.facts.name),
        };
        devices.iter().enumerate().map(one).collect::<Vec<_>>().join("; ")
    };
    if let Some(chosen) = chosen {
        let which = chosen.which.trim();
        let device = match which.parse::<usize>() {
            Ok(number) => devices.get(number),
            Err(_) => {
                let wanted = which.to_lowercase();
                devices.iter().find(|device| device.facts.name.to_lowercase().contains(&wanted))
            }
        };
        return device.filter(|device| device.unfit.is_none()).ok_or_else(|| {
            Error::new(
                ErrorKind::Argument,
                format!("use the OpenCL device that {} names", chosen.by(METHOD, VARIABLE)),
                format!("the devices {}", list()),
                advice(Some(chosen), METHOD, VARIABLE, "the number of one, or a piece of its name"),
            )
        });
    }
    let fit = |gpu: bool| devices.iter().filter(move |of| of.unfit.is_none() && (of.facts.gpu || !gpu));
    let in_turn = |gpu: bool| fit(gpu).nth(turn % fit(gpu).count().max(1));
    in_turn(true).or_else(|| if any { in_turn(false) } else { None }).ok_or_else(|| {
        Error::new(
            ErrorKind::Device,
            if any { TRIED } else { "find an OpenCL GPU" },
            format!("only the devices {}", list()),
            "install the GPU's OpenCL driver, or choose a device by TIDA_OPENCL_DEVICE",
        )
    })
}

/// What chooses a device.
const METHOD: &str = "opencl_device";
const VARIABLE: &str = "TIDA_OPENCL_DEVICE";

/// A number as the driver gives it, in 4 or 8 bytes.
pub(super) fn as_number(bytes: &[u8]) -> u64 {
    if let Ok(bytes) = bytes.try_into() {
        u64::from_ne_bytes(bytes)
    } else if let Ok(bytes) = bytes.try_into() {
        u64::from(u32::from_ne_bytes(bytes))
    } else {
        0
    }
}

/// Text as the driver gives it, ended by a zero.
pub(super) fn as_text(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim().to_owned()
}

/// The version in text such as `OpenCL 3.0 PoCL`.
fn version_of(text: &str) -> (u32, u32) {
    let number = text.split_whitespace().nth(1).and_then(|number| number.split_once('.'));
    let parts = number.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parts.unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, gpu: bool, unfit: Option<&str>) -> Device {
        Device {
            id: std::ptr::null_mut(),
            facts: Facts {
                name: name.into(),
                dialect: Dialect::OpenCl,
                target: String::new(),
                memory: 1000,
                fp64: true,
                block_threads: 256,
                shared: 32 << 10,
                most_shared: 32 << 10,
                grid: [1; 3],
                gpu,
                native: false,
                spreads: false,
                maps: false,
                machine: Machine { multiprocessors: 1, cache: 0, latency: Latency::TYPICAL },
            },
            unfit: unfit.map(str::to_owned),
            largest_buffer: 500,
            threads: [256; 3],
            rounds: true,
            verbose: false,
            barriers_as_written: false,
            used: AtomicU64::new(0),
        }
    }

    #[test]
    fn a_gpu_comes_first_and_a_name_or_number_before_it() {
        let devices = [
            device("Slow CPU", false, None),
            device("Old GPU", true, Some("has no compiler")),
            device("Fast GPU", true, None),
        ];
        let by = |by_builder| move |which: &str| Chosen { which: which.into(), by_builder };
        let name = |any, chosen: Option<&str>| {
            choose(&devices, any, chosen.map(by(false)).as_ref(), 0).map(|device| device.facts.name.as_str())
        };
        assert_eq!(name(false, None).unwrap(), "Fast GPU");
        assert_eq!(name(true, None).unwrap(), "Fast GPU");
        assert_eq!(name(false, Some(" ")).unwrap(), "Fast GPU");
        // Those that would do take turns.
        let more = [device("First", true, None), device("Slow CPU", false, None), device("Second", true, None)];
        let turn = |turn| choose(&more, true, None, turn).unwrap().facts.name.as_str();
        assert_eq!([0, 1, 2, 3].map(turn), ["First", "Second", "First", "Second"]);
        assert_eq!(choose(&devices[..2], true, None, 3).unwrap().facts.name, "Slow CPU");
        assert_eq!(name(false, Some("0")).unwrap(), "Slow CPU");
        assert_eq!(name(false, Some("slow")).unwrap(), "Slow CPU");
        assert_eq!(choose(&devices[..2], true, None, 0).unwrap().facts.name, "Slow CPU");
        assert_eq!(
            choose(&devices[..2], false, None, 0).unwrap_err().to_string(),
            "tried to find an OpenCL GPU; found only the devices 0: Slow CPU, which is no GPU; 1: Old GPU, which has no compiler; \
             install the GPU's OpenCL driver, or choose a device by TIDA_OPENCL_DEVICE"
        );
        for wrong in ["3", "Old", "1", "none"] {
            assert_eq!(
                name(true, Some(wrong)).unwrap_err().to_string(),
                format!(
                    "tried to use the OpenCL device that TIDA_OPENCL_DEVICE={wrong} names; found the devices \
                     0: Slow CPU; 1: Old GPU, which has no compiler; 2: Fast GPU; set TIDA_OPENCL_DEVICE to the \
                     number of one, or a piece of its name, or unset it"
                )
            );
            let error = choose(&devices, true, Some(&by(true)(wrong)), 0).unwrap_err();
            assert!(error.tried().ends_with(&format!("`opencl_device({wrong})` names")), "{error}");
            assert!(error.advice().starts_with("give `opencl_device` the number of one"), "{error}");
        }
    }

    #[test]
    fn memory_is_counted() {
        let device = device("", true, None);
        assert!(device.take(600));
        assert!(!device.take(401));
        assert!(!device.take(u64::MAX));
        assert_eq!(device.free(), 400);
        device.give(600);
        assert!(device.take(1000));
        assert_eq!(device.free(), 0);
    }

    #[test]
    fn what_drivers_say_is_read() {
        assert_eq!(version_of("OpenCL 3.0 PoCL HSTR: pthread"), (3, 0));
        assert_eq!(version_of("OpenCL 1.1"), (1, 1));
        assert_eq!(version_of("nonsense"), (0, 0));
        assert_eq!(as_text(b" PoCL\0rubbish"), "PoCL");
        assert_eq!(as_number(&7_u32.to_ne_bytes()), 7);
        assert_eq!(as_number(&(1_u64 << 40).to_ne_bytes()), 1 << 40);
        assert_eq!(as_number(&[1]), 0);
    }
}
