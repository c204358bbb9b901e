//! What concerns CUDA alone. What every backend has to do is in `backend::contract`.
//!
//! Without NVRTC the tests of compiling skip and say so; `TIDA_REQUIRE_NVRTC` in the environment makes that a failure.

use std::process::Command;

use tida_kernels::plan::Math;

use super::*;

/// Whether there is a compiler.
fn nvrtc() -> bool {
    match probe::nvrtc() {
        Ok(_) => true,
        Err(e) if std::env::var_os("TIDA_REQUIRE_NVRTC").is_some() => panic!("TIDA_REQUIRE_NVRTC is set: {e}"),
        Err(e) => {
            eprintln!("SKIPPED: {e}");
            assert_eq!(e.kind(), ErrorKind::Device);
            assert!(e.found().contains("nvrtc") && e.advice().contains("CUDA_HOME"), "{e}");
            false
        }
    }
}

const STENCIL: &str = "
extern \"C\" __global__ void stencil(double* out, const double* in, unsigned long long n, double weight) {
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i + 1 < n) out[i] = in[i] + weight * (in[i - 1] - 2.0 * in[i] + in[i + 1]);
}
extern \"C\" __global__ void shared(int* out) {
    __shared__ int line[64];
    line[threadIdx.x & 63] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = line[63 - (threadIdx.x & 63)];
}
";

#[test]
fn opening_without_a_device_says_what_is_missing() {
    match open(None) {
        Ok(device) => eprintln!("SKIPPED: there is a device: {:?}", device.facts()),
        Err(e) => {
            eprintln!("{e}");
            assert_eq!(e.kind(), ErrorKind::Device);
            assert!(["CUDA", "cuInit", "NVRTC"].iter().any(|word| e.tried().contains(word)), "{e}");
            assert!(!e.found().is_empty() && !e.advice().is_empty());
            // The same again: it is looked for once.
            assert_eq!(open(None).unwrap_err().to_string(), e.to_string());
        }
    }
}

#[test]
fn kernels_compile_without_a_device() {
    if !nvrtc() {
        return;
    }
    let (code, facts) = compile_only(STENCIL, "stencil", Math::Exact, "sm_90").unwrap();
    assert_eq!(code[..4], *b"\x7fELF");
    assert!(facts.registers.is_some_and(|n| (4..=255).contains(&n)), "{facts:?}");
    assert_eq!(facts.spilled, Some(0));
    let (_, facts) = compile_only(STENCIL, "shared", Math::Exact, "sm_90").unwrap();
    // The assembler's report does not always name it.
    assert!(facts.shared.is_none_or(|bytes| bytes == 256), "{facts:?}");
}

/// That exact math has no fused multiply-add is seen in PTX, where each operation says its rounding.
#[test]
fn math_decides_about_contraction() {
    if !nvrtc() {
        return;
    }
    let ptx = |math| {
        let (ptx, _) = compile_only(STENCIL, "stencil", math, "compute_90").unwrap();
        String::from_utf8(ptx).unwrap()
    };
    assert!(!ptx(Math::Exact).contains("fma.rn.f64") && ptx(Math::Exact).contains("mul.rn.f64"));
    assert!(ptx(Math::Fast).contains("fma.rn.f64"));
}

#[test]
fn bad_kernels_come_back_with_the_compilers_words() {
    if !nvrtc() {
        return;
    }
    let e = compile_only(&STENCIL.replace("weight *", "wait *"), "stencil", Math::Exact, "sm_90").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Kernel);
    assert!(e.found().contains("kernel.cu(4): error: identifier \"wait\" is undefined"), "{e}");
    let e = compile_only(STENCIL, "stensil", Math::Exact, "sm_90").unwrap_err();
    assert!(e.kind() == ErrorKind::Kernel && e.tried().contains("`stensil`"), "{e}");
    let e = compile_only("a\0b", "a", Math::Exact, "sm_90").unwrap_err();
    assert!(e.kind() == ErrorKind::Kernel && e.found().contains("value 0 at 1"), "{e}");
    let e = compile_only(STENCIL, "stencil", Math::Exact, "sm_7").unwrap_err();
    assert!(e.kind() == ErrorKind::Device && e.found().contains("architecture"), "{e}");
}

#[test]
fn a_target_is_code_or_else_ptx() {
    if !nvrtc() {
        return;
    }
    assert!(Target::of_device(90).unwrap().to_string().starts_with("sm_90, NVRTC "));
    assert!(Target::of_device(999).unwrap().to_string().starts_with("compute_"));
    let e = Target::of_device(10).unwrap_err();
    assert!(e.kind() == ErrorKind::Device && e.tried().contains("1.0") && e.found().contains("90"), "{e}");
}

/// The device, if there is one.
fn device() -> Option<Arc<dyn Backend>> {
    open(None).map_err(|e| eprintln!("SKIPPED: {e}")).ok()
}

fn compiled(device: &Arc<dyn Backend>, text: &str, entry: &str) -> Arc<dyn Kernel> {
    device.compile(&Code { text, entry, math: Math::Exact, block: [32, 1, 1], shared: 0 }).unwrap()
}

#[test]
fn arguments_that_do_not_fit_are_an_error() {
    let Some(device) = device() else { return };
    if probe::driver().unwrap().cuFuncGetParamInfo.is_none() {
        return eprintln!("SKIPPED: the driver does not say the sizes of parameters");
    }
    let kernel = compiled(&device, STENCIL, "stencil");
    let memory = Memory::new(&device, 800).unwrap();
    let all =
        [Argument::Memory(&memory), Argument::Memory(&memory), Argument::Bytes(&[0; 8]), Argument::Bytes(&[0; 4])];
    for arguments in [&all[..], &all[..3], &[]] {
        // SAFETY: nothing is launched, since the arguments are refused.
        let e = unsafe { device.launch(0, &*kernel, [1; 3], [32, 1, 1], arguments) }.unwrap_err();
        assert!(e.kind() == ErrorKind::Argument && e.found() == "parameters of [8, 8, 8, 8] bytes", "{e}");
    }
}

#[test]
fn too_many_threads_for_the_registers_are_an_error() {
    let Some(device) = device() else { return };
    let text = "extern \"C\" __global__ void __launch_bounds__(64) few(int* x) { x[threadIdx.x] = 1; }";
    let e = device.compile(&Code { text, entry: "few", math: Math::Exact, block: [65, 1, 1], shared: 0 }).unwrap_err();
    assert!(e.kind() == ErrorKind::Kernel && e.found().contains("at most 64"), "{e}");
}

/// A fault ends all use of the device in the process, so it is raised in another one.
#[test]
fn a_fault_of_the_device_is_an_error() {
    if device().is_none() {
        return;
    }
    let child = ["--exact", "backend::cuda::tests::raises_a_fault", "--ignored", "--nocapture"];
    let child = Command::new(std::env::current_exe().unwrap()).args(child).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "loses the device; a_fault_of_the_device_is_an_error runs it in a process of its own"]
fn raises_a_fault() {
    let device = open(None).unwrap();
    let kernel = compiled(&device, "extern \"C\" __global__ void bad(int* x) { *(int*)8 = *x; }", "bad");
    let memory = Memory::new(&device, 16).unwrap();
    // SAFETY: the arguments are right. The write goes to an address that is never mapped, which the device refuses.
    unsafe { device.launch(0, &*kernel, [1; 3], [1; 3], &[Argument::Memory(&memory)]) }.unwrap();
    let event = device.record(0);
    let e = event.and_then(|event| event.finish()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Device);
    assert!(e.advice().contains("start the program again"), "{e}");
    // From now on everything is an error and nothing a panic.
    assert!(Memory::new(&device, 1 << 20).is_err());
    assert!(device.record(1).and_then(|event| event.finish()).is_err());
    // SAFETY: both have the bytes, and the error comes at once.
    let copied = unsafe { device.zero(0, &memory, 0, 16) };
    assert!(copied.is_err());
    drop((memory, kernel, device));
}
