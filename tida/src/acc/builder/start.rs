//! Starts an accelerator of what a builder was asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tida_kernels::plan::Math;

use super::super::{Handle, TileAcc, settings};
use super::choice::Choice;
use super::places::Beside;
use super::{Compile, Device, Found, Fuse, Ranks, TileAccBuilder, best, on_both_sides, simulated};
use crate::backend::cpu::Caches;
use crate::backend::host;
use crate::backend::sim::{SimCluster, SimDevice};
use crate::bytes::bytes_from;
use crate::device::core::{DeviceCore, Opened};
use crate::device::plans::PlansAsked;
use crate::device::timeline::Recorder;
use crate::error::{Error, ErrorKind};
use crate::memory::backing::{FailAfter, Folder};
use crate::ranks::FakeRank;
use crate::record::driver::{Core, EDGES_FROM, PATIENCE, PAUSE, Rules, start_threads};
use crate::run::chain::wave::Host;

/// Sweeps that may wait to run before the recorder waits for one to finish.
const LOOK_AHEAD: usize = 4096;

/// Bytes over the link that take longer than a few launches.
const STREAM_FROM: u64 = 32 << 20;

/// The devices and processes that were asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct On {
    pub device: Option<Device>,
    pub simulated: Option<SimDevice>,
    pub cluster: Option<SimCluster>,
    /// Those of several places, as they were named.
    pub devices: Option<Vec<String>>,
    /// What they give one another goes by way of the host's memory.
    pub apart: bool,
    /// No rank opens memory of another one.
    pub unopened: bool,
    pub choice: Choice,
    pub ranks: Option<Ranks>,
    pub fake_ranks: Option<FakeRank>,
    #[cfg(test)]
    pub opened: Option<Arc<Opened>>,
}

/// When recorded work is to start, and what may run together.
#[derive(Clone, Debug, Default)]
pub(super) struct RulesAsked {
    pub look_ahead: Option<usize>,
    pub pause: Option<Duration>,
    pub patience: Option<Duration>,
    pub stream_from: Option<Result<u64, Error>>,
    pub join: Option<bool>,
    pub edges_from: Option<u64>,
    pub rounds: Option<bool>,
    pub hybrid_share: Option<f64>,
}

/// How kernels are to become launches.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelsAsked {
    pub math: Math,
    pub tune: Option<bool>,
    pub without: Option<String>,
    pub march: Option<u32>,
    pub fuse: Option<Fuse>,
    pub compile: Option<Compile>,
}

/// Where arrays are to be, and how much of them on the device.
#[derive(Clone, Debug, Default)]
pub(super) struct RoomAsked {
    pub memory_limit: Option<Result<u64, Error>>,
    pub backed: Option<PathBuf>,
    pub fails: FailAfter,
}

impl On {
    /// The one device that is asked for, and whether loops run on the CPU too.
    fn asked(&self) -> Result<(Option<Device>, bool), Error> {
        let asked = match (self.device, &self.simulated) {
            (None, Some(_)) => Some(Device::Sim),
            (None, None) => settings::device()?,
            (device, _) => device,
        };
        let hybrid = asked == Some(Device::Hybrid);
        let asked = match &self.simulated {
            Some(_) if hybrid => Some(Device::Sim),
            None if hybrid => settings::device()?.filter(|device| *device != Device::Hybrid),
            _ => asked,
        };
        Ok((asked, hybrid))
    }

    /// Opens the device that is `asked` for, else the best one. A simulated one is on the clock of one `beside` it.
    fn open(self, asked: Option<Device>, timeline: bool, beside: Option<&Opened>) -> Result<Found, Error> {
        let found = |device, opened| Found { device, opened, missed: Vec::new() };
        #[cfg(test)]
        if let Some(opened) = self.opened {
            return Ok(found(Device::OpenCl, Some(opened)));
        }
        match asked.map(|device| (device, self.simulated)) {
            Some((Device::Sim, Some(spec))) => Ok(found(Device::Sim, Some(simulated(spec, beside)?))),
            Some((device, Some(_))) => Err(Error::new(
                ErrorKind::Argument,
                "simulate a device",
                format!("that the device `{}` is asked for too", device.name()),
                "leave one of `simulate` and `device` out",
            )),
            Some((device, None)) => Ok(found(device, device.open(timeline, &self.choice, beside)?)),
            None => best(timeline, &self.choice),
        }
    }
}

impl RulesAsked {
    /// The rules, of one of several places if it `is_place`; what is left out is by the environment, else by default.
    fn rules(self, (hybrid, is_place): (bool, bool)) -> Result<Rules, Error> {
        let stream_from = settings::stream_from(self.stream_from)?;
        Ok(Rules {
            look_ahead: settings::check_look_ahead(self.look_ahead)?.unwrap_or(LOOK_AHEAD),
            pause: self.pause.unwrap_or(PAUSE),
            patience: self.patience.unwrap_or(PATIENCE),
            // Loops on both sides bring parts of arrays there and back.
            stream_from: if hybrid { u64::MAX } else { stream_from.unwrap_or(STREAM_FROM) },
            joins: settings::join(self.join)?,
            edges_from: self.edges_from.unwrap_or(EDGES_FROM),
            rounds: settings::rounds(self.rounds)?,
            share: settings::hybrid_share(self.hybrid_share)?,
            is_place,
        })
    }
}

impl KernelsAsked {
    /// What is asked of plans, and whether a program waits for the compiler.
    fn plans(self) -> Result<(PlansAsked, Compile), Error> {
        let plans = PlansAsked {
            math: self.math,
            march: settings::march(self.march)?,
            tune: settings::tune(self.tune)?,
            without: settings::without(self.without)?,
            fuse: settings::fuse(self.fuse)?,
        };
        Ok((plans, settings::compile(self.compile)?))
    }
}

impl TileAccBuilder {
    /// Starts it, as one of several places if those beside it are given.
    pub(super) fn start(mut self, others_here: Option<Beside>) -> Result<TileAcc, Error> {
        let threads = settings::check_threads(self.threads, |name| std::env::var_os(name))?;
        let limit = settings::memory_limit(self.room.memory_limit)?;
        let (mut plans, compile) = self.kernels.plans()?;
        self.on.choice.as_gpu = plans.without.gpu;
        // Who opens a CUDA device reads them again.
        settings::cuda_device(None)?;
        bytes_from("TIDA_PINNED_LIMIT")?;
        let (asked, hybrid) = self.on.asked()?;
        let rules = self.rules.rules((hybrid, others_here.is_some()))?;
        let beside = others_here.as_ref().and_then(|others| others.simulated.as_deref());
        let Found { device, opened, missed } = self.on.open(asked, self.timeline, beside)?;
        let folder = self.room.backed.as_deref().map(|path| Folder::new(path, self.room.fails)).transpose()?;
        let opened = match (opened, &folder) {
            (Some(_), Some(_)) if hybrid => return Err(on_both_sides()),
            (None, Some(_)) => {
                let memory = limit.unwrap_or_else(|| host::available() / 2);
                Some(Arc::new(Opened::new(host::open(memory.saturating_add(memory / 16), threads)?)))
            }
            (opened, _) => opened,
        };
        let core = opened.map(|opened| {
            let facts = opened.backend().facts();
            // Loops on both sides are parted by the times that they take; native forms have no plans.
            plans.tune &= !hybrid && !facts.native;
            // What has no text is compiled at once.
            let beside = compile == Compile::Beside || compile == Compile::Auto && facts.gpu && !facts.native;
            DeviceCore::new(opened, plans, limit).with_compiler(self.timeline, beside)
        });
        let timeline = match &core {
            Some(device) => device.timeline.clone(),
            None => self.timeline.then(|| Arc::new(Recorder::new(None))),
        };
        let pool = match others_here {
            Some(others) => others.pool,
            None => start_threads(threads)?,
        };
        let host = Host::new(self.caches.unwrap_or_else(Caches::of_this_machine));
        let core = Core::start(pool, rules, core, host, timeline)?;
        Ok(TileAcc {
            handle: Arc::new(Handle {
                core,
                places: Vec::new(),
                world: None,
                device,
                hybrid,
                folder,
                strip_fault: None,
                transports: Vec::new(),
                missed,
            }),
        })
    }
}
