//! Which of several devices of a kind, by the builder.

use std::fmt::Display;

use super::TileAccBuilder;
use crate::backend::chosen::Chosen;
use crate::backend::cuda;

/// The devices that a builder chose.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub cuda: Option<Chosen<u32>>,
    pub opencl: Option<Chosen<String>>,
    /// Where none was chosen and there are several: whose turn it is.
    pub turn: usize,
    /// Kernels are planned as on a GPU, whatever the OpenCL device is.
    pub as_gpu: bool,
}

impl Choice {
    /// The CUDA device whose turn it is, where there are several.
    pub fn cuda_in_turn(&self) -> Option<Chosen<u32>> {
        let turn = u32::try_from(self.turn).ok().filter(|turn| *turn > 0)?;
        let count = cuda::count().ok().filter(|count| *count > 1)?;
        Some(Chosen { which: turn % count, by_builder: true })
    }
}

impl TileAccBuilder {
    /// Which of several CUDA devices, from 0 on, where one is used: [`device`](Self::device) says whether. Without it
    /// the environment variable `TIDA_CUDA_DEVICE` decides, else it is 0. If there are CUDA devices and no such one,
    /// [`build`](Self::build) returns an error that lists them.
    ///
    /// The numbers are the driver's, which `CUDA_VISIBLE_DEVICES` changes.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).cuda_device(1).build()?; // no CUDA device is used
    /// assert_eq!(acc.device(), Device::Cpu);
    /// # Ok(()) }
    /// ```
    pub fn cuda_device(mut self, number: u32) -> Self {
        self.on.choice.cuda = Some(Chosen { which: number, by_builder: true });
        self
    }

    /// Which of all OpenCL devices, whatever their kind, where one is used: its number, from 0 on over all platforms,
    /// or a part of its name. Without it the environment variable `TIDA_OPENCL_DEVICE` decides, else it is the first
    /// GPU; if OpenCL is asked for and there is no GPU, any device. If there are OpenCL devices and none is meant,
    /// [`build`](Self::build) returns an error that lists them.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().device(Device::Cpu).opencl_device("Radeon").build()?; // no OpenCL device is used
    /// let other = TileAcc::builder().device(Device::Cpu).opencl_device(1).build()?;
    /// # drop((acc, other));
    /// # Ok(()) }
    /// ```
    pub fn opencl_device(mut self, which: impl Display) -> Self {
        self.on.choice.opencl = Some(Chosen { which: which.to_string(), by_builder: true });
        self
    }
}
