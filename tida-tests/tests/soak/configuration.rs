//! How a program runs: what changes no bit of it.

use std::time::Duration;

use tida::acc::Compile;
use tida::{Device, Fuse, SimDevice, TileAcc, TileAccBuilder};

/// A place to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Cpu,
    Sim,
    OpenCl,
    Cuda,
}

impl Place {
    pub const ALL: [(Place, &str); 4] =
        [(Place::Cpu, "cpu"), (Place::Sim, "sim"), (Place::OpenCl, "opencl"), (Place::Cuda, "cuda")];

    pub fn name(self) -> &'static str {
        Place::ALL.iter().find(|(place, _)| *place == self).map_or("?", |(_, name)| name)
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    pub place: Place,
    pub threads: usize,
    pub look_ahead: usize,
    /// What part of the arrays' bytes there is room for on the device: all, or one in so many.
    pub room: usize,
    /// Arrays lie in files.
    pub files: bool,
    /// Steps in one launch: as tida likes (0), none (1), so many.
    pub fuse: u32,
    pub join: bool,
    /// Arrays that come from the host stream in, however small they are.
    pub streams: bool,
    pub beside: bool,
    /// The recorder is never silent for long enough.
    pub unhurried: bool,
    pub timeline: bool,
    /// A simulated device is slower than the CPU.
    pub slow: bool,
    /// A simulated device copies both ways with one engine.
    pub one_engine: bool,
    /// The caches of the CPU hold little, so that sweeps on it run in lanes.
    pub lanes: bool,
    /// So many places of the kind share the arrays, of programs for which that can be.
    pub parts: usize,
    /// Planes that these have of one another as cells, of arrays that can have them.
    pub overlap: usize,
    /// What they give one another goes by way of the host's memory.
    pub apart: bool,
    /// Sweeps compute what other places wait for first, however small their arrays are.
    pub edges: bool,
    /// An OpenCL device is planned for as a GPU.
    pub gpu: bool,
}

impl Default for Configuration {
    fn default() -> Self {
        Configuration {
            place: Place::Cpu,
            threads: 2,
            look_ahead: 256,
            room: 1,
            files: false,
            fuse: 1,
            join: false,
            streams: false,
            beside: false,
            unhurried: false,
            timeline: false,
            slow: false,
            one_engine: false,
            lanes: false,
            parts: 1,
            overlap: 0,
            apart: false,
            edges: false,
            gpu: false,
        }
    }
}

impl Configuration {
    /// The devices of all places, as `devices` names them: `TIDA_SOAK_DEVICES` says of how many they are.
    fn names(&self) -> String {
        let devices = std::env::var("TIDA_SOAK_DEVICES").ok().and_then(|count| count.parse().ok()).unwrap_or(1);
        let numbers: Vec<String> = (0..self.parts).map(|n| (n % devices).to_string()).collect();
        match self.place {
            Place::Cpu | Place::Sim => format!("{}:{}", self.place.name(), self.parts),
            Place::OpenCl | Place::Cuda => format!("{}:{}", self.place.name(), numbers.join(",")),
        }
    }

    /// An accelerator, with room for so many bytes of arrays where there is not room for all.
    ///
    /// # Errors
    /// Those of [`TileAccBuilder::build`].
    pub fn build(&self, limit: u64, device: &SimDevice) -> tida::Result<TileAcc> {
        let mut builder: TileAccBuilder = TileAcc::builder()
            .threads(self.threads)
            .look_ahead(self.look_ahead)
            .join(self.join)
            .timeline(self.timeline)
            .compile(if self.beside { Compile::Beside } else { Compile::Wait })
            .fuse(match self.fuse {
                0 => Fuse::Auto,
                1 => Fuse::Off,
                n => Fuse::Steps(n),
            });
        let simulated = || {
            let device = if self.slow { device.clone().kernels(1e5, 0.0) } else { device.clone() };
            if self.one_engine { device.copy_engines(1) } else { device }
        };
        builder = match self.place {
            _ if self.parts > 1 => builder.devices([self.names()]),
            Place::Cpu => builder.device(Device::Cpu),
            Place::Sim => builder,
            Place::OpenCl => builder.device(Device::OpenCl),
            Place::Cuda => builder.device(Device::Cuda),
        };
        if self.gpu && self.place == Place::OpenCl {
            builder = builder.plan("gpu", None);
        }
        if self.apart {
            builder = builder.apart();
        }
        if self.edges {
            builder = builder.edges_from(0);
        }
        if self.files {
            builder = builder.backed_by(std::env::temp_dir());
        }
        if self.place == Place::Sim {
            builder = builder.simulate(simulated());
        }
        if self.room > 1 {
            builder = builder.memory_limit(limit);
        }
        if self.lanes {
            builder = builder.caches(16 << 10, 1);
        }
        if self.streams {
            builder = builder.stream_from(0);
        }
        if self.unhurried {
            builder = builder.pause(Duration::from_secs(600));
        }
        builder.build()
    }
}
