//! What tida calls of NVIDIA's driver and of NVRTC: types, constants and tables of functions, by the names of `cuda.h`
//! and `nvrtc.h`. Nothing is linked: both libraries are loaded when a program runs, so that no toolkit matters to a
//! build.
//!
//! Results, attributes and options are numbers here and no enums: a newer library may give one that is not listed.
//! Functions are asked for by the name of their symbol, with its version (`_v2`), as the header of CUDA 13.0 does, and
//! older ones where these suffice. `tests.rs` compares all of it with the headers, where there are any.

// The names are those of the headers.
#![allow(non_camel_case_types, non_snake_case)]

#[cfg(test)]
mod tests;

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

use libloading::Library;

/// A device, by its number.
pub(super) type CUdevice = c_int;
/// An address in a device's memory.
pub(super) type CUdeviceptr = u64;

/// Results of the driver, 0 if all went well.
pub(super) type CUresult = c_uint;
/// Results of NVRTC, 0 if all went well.
pub(super) type nvrtcResult = c_uint;
pub(super) type CUdevice_attribute = c_uint;
pub(super) type CUfunction_attribute = c_uint;
pub(super) type CUjit_option = c_uint;
pub(super) type CUmemorytype = c_uint;
pub(super) type CUstreamCaptureMode = c_uint;
pub(super) type CUtensorMapDataType = c_uint;
pub(super) type CUtensorMapInterleave = c_uint;
pub(super) type CUtensorMapSwizzle = c_uint;
pub(super) type CUtensorMapL2promotion = c_uint;
pub(super) type CUtensorMapFloatOOBfill = c_uint;

/// What runs on the host in a stream's order.
pub(super) type CUhostFn = unsafe extern "C" fn(*mut c_void);

/// Things of a library's own, of which only pointers are known.
macro_rules! handles {
    ($($name:ident to $thing:ident;)*) => {$(
        #[derive(Debug)]
        #[repr(C)]
        pub(super) struct $thing([u8; 0]);
        pub(super) type $name = *mut $thing;
    )*};
}
handles! {
    CUcontext to CUctx_st;
    CUevent to CUevent_st;
    CUfunction to CUfunc_st;
    CUmodule to CUmod_st;
    CUstream to CUstream_st;
    CUgraph to CUgraph_st;
    CUgraphExec to CUgraphExec_st;
    CUarray to CUarray_st;
    nvrtcProgram to _nvrtcProgram;
}

/// What tells devices apart.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct CUuuid {
    pub bytes: [u8; 16],
}

/// What another process opens memory by.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct CUipcMemHandle {
    pub reserved: [u8; 64],
}

/// A copy of rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

/// How a device finds a box of an array.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct CUtensorMap([u64; 16]);

/// Numbers of the headers, and a list of them for the test.
macro_rules! constants {
    ($($name:ident: $ty:ident = $value:literal;)*) => {
        $(pub(super) const $name: $ty = $value;)*
        #[cfg(test)]
        const CONSTANTS: &[(&str, u32)] = &[$((stringify!($name), $name)),*];
    };
}
constants! {
    // Results of the driver.
    CUDA_ERROR_INVALID_VALUE: CUresult = 1;
    CUDA_ERROR_OUT_OF_MEMORY: CUresult = 2;
    CUDA_ERROR_DEINITIALIZED: CUresult = 4;
    CUDA_ERROR_STUB_LIBRARY: CUresult = 34;
    CUDA_ERROR_DEVICE_UNAVAILABLE: CUresult = 46;
    CUDA_ERROR_NO_DEVICE: CUresult = 100;
    CUDA_ERROR_INVALID_IMAGE: CUresult = 200;
    CUDA_ERROR_NO_BINARY_FOR_GPU: CUresult = 209;
    CUDA_ERROR_ECC_UNCORRECTABLE: CUresult = 214;
    CUDA_ERROR_INVALID_PTX: CUresult = 218;
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION: CUresult = 222;
    CUDA_ERROR_NOT_READY: CUresult = 600;
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED: CUresult = 704;
    CUDA_ERROR_ILLEGAL_ADDRESS: CUresult = 700;
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: CUresult = 701;
    CUDA_ERROR_LAUNCH_TIMEOUT: CUresult = 702;
    CUDA_ERROR_HARDWARE_STACK_ERROR: CUresult = 714;
    CUDA_ERROR_LAUNCH_FAILED: CUresult = 719;
    CUDA_ERROR_SYSTEM_NOT_READY: CUresult = 802;
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: CUresult = 803;
    CUDA_ERROR_UNKNOWN: CUresult = 999;
    // Questions about a device.
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: CUdevice_attribute = 1;
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: CUdevice_attribute = 5;
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: CUdevice_attribute = 6;
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: CUdevice_attribute = 7;
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: CUdevice_attribute = 8;
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: CUdevice_attribute = 16;
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: CUdevice_attribute = 38;
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: CUdevice_attribute = 39;
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: CUdevice_attribute = 75;
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: CUdevice_attribute = 76;
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: CUdevice_attribute = 81;
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: CUdevice_attribute = 97;
    CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: CUdevice_attribute = 111;
    CU_DEVICE_ATTRIBUTE_MPS_ENABLED: CUdevice_attribute = 133;
    // Questions about a function, and what may be set of it.
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: CUfunction_attribute = 0;
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: CUfunction_attribute = 1;
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: CUfunction_attribute = 3;
    CU_FUNC_ATTRIBUTE_NUM_REGS: CUfunction_attribute = 4;
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: CUfunction_attribute = 8;
    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: CUfunction_attribute = 9;
    // Options of loading a module.
    CU_JIT_ERROR_LOG_BUFFER: CUjit_option = 5;
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: CUjit_option = 6;
    // Where the ends of a copy lie.
    CU_MEMORYTYPE_HOST: CUmemorytype = 1;
    CU_MEMORYTYPE_DEVICE: CUmemorytype = 2;
    // Flags of streams and of events.
    CU_EVENT_BLOCKING_SYNC: c_uint = 1;
    CU_EVENT_DISABLE_TIMING: c_uint = 2;
    CU_STREAM_NON_BLOCKING: c_uint = 1;
    // How memory of another process is opened.
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS: c_uint = 1;
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: CUstreamCaptureMode = 1;
    // What a tensor map is made of.
    CU_TENSOR_MAP_DATA_TYPE_UINT32: CUtensorMapDataType = 2;
    CU_TENSOR_MAP_DATA_TYPE_UINT64: CUtensorMapDataType = 4;
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE: CUtensorMapFloatOOBfill = 0;
    CU_TENSOR_MAP_INTERLEAVE_NONE: CUtensorMapInterleave = 0;
    CU_TENSOR_MAP_L2_PROMOTION_L2_128B: CUtensorMapL2promotion = 2;
    CU_TENSOR_MAP_SWIZZLE_NONE: CUtensorMapSwizzle = 0;
    // Results of NVRTC.
    NVRTC_ERROR_INVALID_OPTION: nvrtcResult = 5;
    NVRTC_ERROR_COMPILATION: nvrtcResult = 6;
    NVRTC_ERROR_INTERNAL_ERROR: nvrtcResult = 11;
}

/// A struct of a library's functions, each by its own name. The library stays loaded.
macro_rules! functions {
    (
        $(#[$doc:meta])* $name:ident {
            $($symbol:ident($($arg:ty),*) -> $result:ty;)*
        }
        optional {
            $($newer:ident($($newer_arg:ty),*) -> $newer_result:ty;)*
        }
    ) => {
        $(#[$doc])*
        pub(super) struct $name {
            $(pub $symbol: unsafe extern "C" fn($($arg),*) -> $result,)*
            $(pub $newer: Option<unsafe extern "C" fn($($newer_arg),*) -> $newer_result>,)*
            _library: Library,
        }

        impl $name {
            /// Name, parameters and result of each function, for the test.
            #[cfg(test)]
            const SIGNATURES: &[(&str, &[&str], &str)] = &[
                $((stringify!($symbol), &[$(stringify!($arg)),*], stringify!($result)),)*
                $((stringify!($newer), &[$(stringify!($newer_arg)),*], stringify!($newer_result)),)*
            ];

            /// # Safety
            /// The library's functions are those of this struct.
            pub unsafe fn of(library: Library) -> Result<$name, String> {
                $(
                    // SAFETY: the signature is that of the library's documentation; the caller says that it is that
                    // library.
                    let $symbol = *unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) -> $result>(concat!(stringify!($symbol), "\0"))
                    }
                    .map_err(|_| format!("no function {}", stringify!($symbol)))?;
                )*
                $(
                    // SAFETY: as above.
                    let $newer = unsafe {
                        library.get::<unsafe extern "C" fn($($newer_arg),*) -> $newer_result>(
                            concat!(stringify!($newer), "\0"),
                        )
                    }
                    .ok()
                    .map(|function| *function);
                )*
                Ok($name { $($symbol,)* $($newer,)* _library: library })
            }
        }
    };
}

functions! {
    /// The functions of the driver that are used, by its own names.
    Driver {
        cuInit(c_uint) -> CUresult;
        cuDriverGetVersion(*mut c_int) -> CUresult;
        cuGetErrorName(CUresult, *mut *const c_char) -> CUresult;
        cuGetErrorString(CUresult, *mut *const c_char) -> CUresult;
        cuDeviceGetCount(*mut c_int) -> CUresult;
        cuDeviceGet(*mut CUdevice, c_int) -> CUresult;
        cuDeviceGetName(*mut c_char, c_int, CUdevice) -> CUresult;
        cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice) -> CUresult;
        cuDeviceTotalMem_v2(*mut usize, CUdevice) -> CUresult;
        cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice) -> CUresult;
        cuDevicePrimaryCtxRelease_v2(CUdevice) -> CUresult;
        cuCtxSetCurrent(CUcontext) -> CUresult;
        cuCtxSynchronize() -> CUresult;
        cuCtxGetStreamPriorityRange(*mut c_int, *mut c_int) -> CUresult;
        cuDeviceCanAccessPeer(*mut c_int, CUdevice, CUdevice) -> CUresult;
        cuCtxEnablePeerAccess(CUcontext, c_uint) -> CUresult;
        cuStreamCreateWithPriority(*mut CUstream, c_uint, c_int) -> CUresult;
        cuStreamDestroy_v2(CUstream) -> CUresult;
        cuStreamSynchronize(CUstream) -> CUresult;
        cuStreamWaitEvent(CUstream, CUevent, c_uint) -> CUresult;
        cuEventCreate(*mut CUevent, c_uint) -> CUresult;
        cuEventRecord(CUevent, CUstream) -> CUresult;
        cuEventQuery(CUevent) -> CUresult;
        cuEventSynchronize(CUevent) -> CUresult;
        cuEventDestroy_v2(CUevent) -> CUresult;
        cuMemAlloc_v2(*mut CUdeviceptr, usize) -> CUresult;
        cuMemFree_v2(CUdeviceptr) -> CUresult;
        cuMemGetInfo_v2(*mut usize, *mut usize) -> CUresult;
        cuMemHostRegister_v2(*mut c_void, usize, c_uint) -> CUresult;
        cuMemHostUnregister(*mut c_void) -> CUresult;
        cuMemHostAlloc(*mut *mut c_void, usize, c_uint) -> CUresult;
        cuMemFreeHost(*mut c_void) -> CUresult;
        cuLaunchHostFunc(CUstream, CUhostFn, *mut c_void) -> CUresult;
        cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream) -> CUresult;
        cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream) -> CUresult;
        cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, usize, CUstream) -> CUresult;
        cuMemcpy2DAsync_v2(*const CUDA_MEMCPY2D, CUstream) -> CUresult;
        cuMemHostGetDevicePointer_v2(*mut CUdeviceptr, *mut c_void, c_uint) -> CUresult;
        cuMemsetD8Async(CUdeviceptr, c_uchar, usize, CUstream) -> CUresult;
        cuModuleLoadDataEx(*mut CUmodule, *const c_void, c_uint, *mut CUjit_option, *mut *mut c_void) -> CUresult;
        cuModuleUnload(CUmodule) -> CUresult;
        cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char) -> CUresult;
        cuFuncGetAttribute(*mut c_int, CUfunction_attribute, CUfunction) -> CUresult;
        cuFuncSetAttribute(CUfunction, CUfunction_attribute, c_int) -> CUresult;
        cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, CUfunction, c_int, usize) -> CUresult;
        cuLaunchKernel(
            CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void,
            *mut *mut c_void
        ) -> CUresult;
    }
    optional {
        // Where processes share memory: not everywhere.
        cuIpcGetMemHandle(*mut CUipcMemHandle, CUdeviceptr) -> CUresult;
        cuIpcOpenMemHandle_v2(*mut CUdeviceptr, CUipcMemHandle, c_uint) -> CUresult;
        cuIpcCloseMemHandle(CUdeviceptr) -> CUresult;
        // Since CUDA 11.4.
        cuDeviceGetUuid_v2(*mut CUuuid, CUdevice) -> CUresult;
        // Later drivers have a second version beside it.
        cuEventElapsedTime(*mut f32, CUevent, CUevent) -> CUresult;
        // Since CUDA 11.4: what a stream is given becomes a graph.
        cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) -> CUresult;
        cuStreamEndCapture(CUstream, *mut CUgraph) -> CUresult;
        cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong) -> CUresult;
        cuGraphLaunch(CUgraphExec, CUstream) -> CUresult;
        cuGraphExecDestroy(CUgraphExec) -> CUresult;
        cuGraphDestroy(CUgraph) -> CUresult;
        // Since CUDA 12.4.
        cuFuncGetParamInfo(CUfunction, usize, *mut usize, *mut usize) -> CUresult;
        // Since CUDA 12.0. The map, type and number of axes of the values, their address, extents, strides, boxes and
        // steps; interleaving, swizzle, promotion in the cache, and what stands for values beyond the end.
        cuTensorMapEncodeTiled(
            *mut CUtensorMap, CUtensorMapDataType, c_uint, *mut c_void, *const u64, *const u64, *const c_uint, *const c_uint,
            CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill
        ) -> CUresult;
    }
}

functions! {
    /// The functions of NVRTC that are used, by its own names.
    Nvrtc {
        nvrtcVersion(*mut c_int, *mut c_int) -> nvrtcResult;
        nvrtcGetErrorString(nvrtcResult) -> *const c_char;
        nvrtcGetNumSupportedArchs(*mut c_int) -> nvrtcResult;
        nvrtcGetSupportedArchs(*mut c_int) -> nvrtcResult;
        nvrtcCreateProgram(
            *mut nvrtcProgram, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
        ) -> nvrtcResult;
        nvrtcDestroyProgram(*mut nvrtcProgram) -> nvrtcResult;
        nvrtcCompileProgram(nvrtcProgram, c_int, *const *const c_char) -> nvrtcResult;
        nvrtcGetProgramLogSize(nvrtcProgram, *mut usize) -> nvrtcResult;
        nvrtcGetProgramLog(nvrtcProgram, *mut c_char) -> nvrtcResult;
        nvrtcGetCUBINSize(nvrtcProgram, *mut usize) -> nvrtcResult;
        nvrtcGetCUBIN(nvrtcProgram, *mut c_char) -> nvrtcResult;
        nvrtcGetPTXSize(nvrtcProgram, *mut usize) -> nvrtcResult;
        nvrtcGetPTX(nvrtcProgram, *mut c_char) -> nvrtcResult;
    }
    optional {}
}
