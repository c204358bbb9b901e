//! Which of several devices of a kind was chosen, and by what.

#[cfg(any(feature = "cuda", feature = "opencl"))]
use std::fmt::Display;

/// How an OpenCL device is to be opened.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(not(feature = "opencl"), expect(dead_code))]
pub(crate) struct Opening {
    /// Its queues take the time of every command: only there do events know theirs.
    pub timed: bool,
    /// Kernels are planned as on a GPU, whatever the device is: so the texts of GPUs run on devices such as PoCL's.
    pub as_gpu: bool,
}

/// A device that was chosen among several of its kind.
#[derive(Clone, Debug)]
pub(crate) struct Chosen<T> {
    /// Its number, or what stands for it.
    pub which: T,
    /// By the builder, and not by a variable of the environment.
    #[cfg_attr(not(any(feature = "cuda", feature = "opencl")), expect(dead_code))]
    pub by_builder: bool,
}

#[cfg(any(feature = "cuda", feature = "opencl"))]
impl<T: Display> Chosen<T> {
    /// By what it was chosen: this method of the builder, or this variable.
    pub fn by(&self, method: &str, variable: &str) -> String {
        match self.by_builder {
            true => format!("`{method}({})`", self.which),
            false => format!("{variable}={}", self.which),
        }
    }
}

/// What to do about a device that was chosen and is not there.
#[cfg(any(feature = "cuda", feature = "opencl"))]
pub(crate) fn advice<T>(chosen: Option<&Chosen<T>>, method: &str, variable: &str, what: &str) -> String {
    match chosen {
        Some(chosen) if chosen.by_builder => format!("give `{method}` {what}, or leave it out"),
        _ => format!("set {variable} to {what}, or unset it"),
    }
}
