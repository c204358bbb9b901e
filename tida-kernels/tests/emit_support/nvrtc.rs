//! Compiles emitted CUDA, where NVRTC is installed.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use libloading::{Library, Symbol};

type Create = unsafe extern "C" fn(
    *mut *mut c_void,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type Bytes = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut *mut c_void) -> c_int;

/// The library: the file or folder that `TIDA_NVRTC` names, else the system's.
fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let find = || {
        let names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
        let mut places: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        if let Some(path) = std::env::var_os("TIDA_NVRTC").map(PathBuf::from) {
            let named = if path.is_dir() { names.iter().map(|n| path.join(n)).collect() } else { vec![path] };
            places.splice(0..0, named);
        }
        // SAFETY: loading NVRTC runs nothing but its own initialisation.
        let found = places.into_iter().find_map(|place| unsafe { Library::new(place).ok() });
        if found.is_none() {
            assert!(std::env::var_os("TIDA_REQUIRE_NVRTC").is_none(), "NVRTC is required and was not found");
            eprintln!("NOT TESTED: NVRTC was not found; set TIDA_NVRTC to its file or folder");
        }
        found
    };
    LIBRARY.get_or_init(find).as_ref()
}

fn symbol<T>(library: &'static Library, name: &str) -> Symbol<'static, T> {
    // SAFETY: the types above are those of nvrtc.h.
    unsafe { library.get(name.as_bytes()).unwrap() }
}

/// Compiles to a cubin of sm_90; its size. `None` where there is no NVRTC.
pub fn compile(text: &str) -> Option<usize> {
    let library = library()?;
    let source = CString::new(text).unwrap();
    let name = c"kernel.cu";
    let options = [c"--gpu-architecture=sm_90", c"--fmad=false"].map(|o| o.as_ptr());
    let mut program = null_mut();
    // SAFETY: as nvrtc.h says: strings end in 0, the memory for the log has the size asked for.
    unsafe {
        let create: Symbol<'_, Create> = symbol(library, "nvrtcCreateProgram");
        assert_eq!(create(&mut program, source.as_ptr(), name.as_ptr(), 0, null(), null()), 0);
        let compile: Symbol<'_, Compile> = symbol(library, "nvrtcCompileProgram");
        let result = compile(program, options.len() as c_int, options.as_ptr());
        let mut size = 0;
        symbol::<Size>(library, "nvrtcGetProgramLogSize")(program, &mut size);
        let mut log = vec![0u8; size];
        symbol::<Bytes>(library, "nvrtcGetProgramLog")(program, log.as_mut_ptr().cast());
        let log = String::from_utf8_lossy(&log);
        assert_eq!(result, 0, "{log}\n{}", super::pocl::numbered(text));
        let mut cubin = 0;
        symbol::<Size>(library, "nvrtcGetCUBINSize")(program, &mut cubin);
        symbol::<Destroy>(library, "nvrtcDestroyProgram")(&mut program);
        assert!(cubin > 0, "no cubin");
        Some(cubin)
    }
}
