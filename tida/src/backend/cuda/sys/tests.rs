//! Types, constants and functions against the headers of CUDA 13.0, by a C compiler.
//!
//! `TIDA_CUDA_INCLUDE` lists the folders of `cuda.h` and `nvrtc.h`, as `cargo xtask test` does. Without it the test
//! skips and says so.

use std::fmt::Write;
use std::fs;
use std::mem::{align_of, offset_of, size_of};
use std::path::PathBuf;
use std::process::Command;

use super::*;

/// A type of this module as the headers have it.
fn in_c(ty: &str) -> String {
    let ty = ty.trim();
    if let Some(to) = ty.strip_prefix("*mut ") {
        return format!("{} *", in_c(to));
    }
    if let Some(to) = ty.strip_prefix("*const ") {
        return format!("{} const *", in_c(to));
    }
    let known = match ty {
        "c_char" => "char",
        "c_int" => "int",
        "c_uchar" => "unsigned char",
        "c_uint" => "unsigned int",
        "c_ulonglong" => "unsigned long long",
        "c_void" => "void",
        "f32" => "float",
        "u64" => "cuuint64_t",
        "usize" => "size_t",
        named => named,
    };
    known.to_owned()
}

/// A C program that compiles if all is as this module says.
fn program() -> String {
    let mut text = String::from("#include <stddef.h>\n#include <cuda.h>\n#include <nvrtc.h>\n");
    let mut same = |what: String, number: usize| {
        _ = writeln!(text, "_Static_assert({what} == {number}, \"{what} is not {number}\");");
    };
    for (name, value) in CONSTANTS {
        same((*name).to_owned(), *value as usize);
    }
    macro_rules! sizes {
        ($($ty:ident)*) => {$(
            same(format!("sizeof({})", stringify!($ty)), size_of::<$ty>());
            same(format!("_Alignof({})", stringify!($ty)), align_of::<$ty>());
        )*};
    }
    sizes! {
        CUdevice CUdeviceptr CUipcMemHandle CUuuid CUresult CUdevice_attribute CUfunction_attribute CUjit_option CUmemorytype CUDA_MEMCPY2D
        CUtensorMap CUtensorMapDataType CUtensorMapInterleave CUtensorMapSwizzle CUtensorMapL2promotion
        CUtensorMapFloatOOBfill CUhostFn nvrtcResult CUcontext CUevent CUfunction CUmodule CUstream CUarray nvrtcProgram
    }
    macro_rules! offsets {
        ($($field:ident)*) => {$(
            same(format!("offsetof(CUDA_MEMCPY2D, {})", stringify!($field)), offset_of!(CUDA_MEMCPY2D, $field));
        )*};
    }
    offsets! {
        srcXInBytes srcY srcMemoryType srcHost srcDevice srcArray srcPitch
        dstXInBytes dstY dstMemoryType dstHost dstDevice dstArray dstPitch WidthInBytes Height
    }
    for (name, parameters, result) in Driver::SIGNATURES.iter().chain(Nvrtc::SIGNATURES) {
        let mut all = parameters.iter().map(|ty| in_c(ty)).collect::<Vec<_>>().join(", ");
        if all.is_empty() {
            all = "void".into();
        }
        _ = writeln!(text, "{} (*of_{name})({all}) = {name};", in_c(result));
    }
    text
}

/// What the compiler says of a program; `None` without headers.
fn compiled(name: &str, text: &str) -> Option<Result<(), String>> {
    let folders = std::env::var_os("TIDA_CUDA_INCLUDE")?;
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/tmp");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Werror", "-Wno-unused", "-fsyntax-only"]);
    cc.args(std::env::split_paths(&folders).map(|path| format!("-I{}", path.display())));
    let output = cc.arg(file).output().unwrap();
    Some(if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) })
}

#[test]
fn all_is_as_the_headers_say() {
    match compiled("tida_cuda_header.c", &program()) {
        Some(said) => said.unwrap(),
        None => return eprintln!("SKIPPED: no TIDA_CUDA_INCLUDE"),
    }
    // And that the comparison sees what is wrong.
    for (right, wrong) in [
        ("CUDA_ERROR_NOT_READY == 600", "CUDA_ERROR_NOT_READY == 601"),
        ("offsetof(CUDA_MEMCPY2D, dstHost) == 80", "offsetof(CUDA_MEMCPY2D, dstHost) == 88"),
        ("(*of_cuMemAlloc_v2)(CUdeviceptr *, size_t)", "(*of_cuMemAlloc_v2)(CUdeviceptr *, unsigned int)"),
        ("(*of_cuStreamWaitEvent)(CUstream, CUevent,", "(*of_cuStreamWaitEvent)(CUevent, CUstream,"),
    ] {
        let text = program();
        assert!(text.contains(right), "{text}");
        assert!(compiled("tida_cuda_wrong.c", &text.replace(right, wrong)).unwrap().is_err(), "{wrong}");
    }
}
