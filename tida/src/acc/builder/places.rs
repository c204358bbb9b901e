//! Accelerators of several places.

use std::panic::Location;
use std::sync::Arc;

use super::super::{Handle, TileAcc, settings};
use super::ranks::{agree_on_mailboxes, share_among_ranks, threads_of};
use super::{Device, TileAccBuilder, on_both_sides};
use crate::backend::sim::{SimCluster, SimDevice};
use crate::device::core::{DeviceCore, Opened};
use crate::error::{Error, ErrorKind};
use crate::memory::transport::{Transport, Within};
use crate::ranks::World;
use crate::record::driver::{Core, start_threads};

/// What a place has together with those beside it.
pub(super) struct Beside {
    /// The threads that run recorded work.
    pub pool: Arc<rayon::ThreadPool>,
    /// A simulated device before it: all of them are on one clock.
    pub simulated: Option<Arc<Opened>>,
}

/// A device that is named, and which of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    device: Device,
    which: Option<String>,
}

/// Most places of an accelerator.
const MOST: usize = 64;

impl TileAccBuilder {
    /// Runs on several devices at once: each is a *place*, and arrays are parted among the places. A loop over an
    /// array runs on all of them, and ghosts travel between them. Results do not change.
    ///
    /// Devices are named `cpu`, `sim`, `cuda:0` or `opencl:1`: a kind, and of devices the number that
    /// [`cuda_device`](Self::cuda_device) or [`opencl_device`](Self::opencl_device) takes. A list of numbers names
    /// several of a kind (`cuda:0,1`); after `cpu` and `sim` comes how many there are to be (`sim:4`). A device that
    /// is named twice is two places, each with its part of the memory. Without it the environment variable
    /// `TIDA_DEVICES` decides, if neither a device is asked for nor one described: a list of such names, with spaces
    /// between them.
    ///
    /// The first axis of an array is parted, so that each place has as many planes as the others, but for one; an array
    /// of few planes has parts on the first places alone. The guide's chapter on several devices says what moves, and
    /// what such arrays cannot do yet.
    ///
    /// ```
    /// use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().devices(["cpu:2"]).build()?;
    /// let mut u = TileArray::<f64, 2>::builder([8, 64]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    /// u.fill(|[row, _]| row as f64)?;
    /// u.fill_ghosts()?; // the first place has the last plane of the second now
    /// let mut before = u.like()?;
    /// for tile in u.tiles() {
    ///     compute(&tile, (&mut before, &u), kernel!(|before, u, at| before[at] = u[at - [1, 0]]))?;
    /// }
    /// assert_eq!(before.read_box(GridBox::new([0, 0], [8, 1]))?, [7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// # Ok(()) }
    /// ```
    pub fn devices(mut self, devices: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.on.devices = Some(devices.into_iter().map(Into::into).collect());
        self
    }

    /// The places that are asked for, if they are several.
    ///
    /// # Errors
    /// What names no device; a device that is asked for too; settings that places do not have.
    pub(super) fn places(&self) -> Result<Option<Vec<Named>>, Error> {
        let by_variable = match (&self.on.devices, self.on.device, &self.on.simulated, &self.on.cluster) {
            (None, None, None, None) => settings::devices()?,
            _ => None,
        };
        let asked: Vec<String> = match (&self.on.devices, by_variable, &self.on.cluster) {
            (None, _, Some(cluster)) => vec![format!("sim:{}", cluster.devices())],
            (Some(devices), ..) => devices.clone(),
            (None, Some(text), None) => text.split_whitespace().map(str::to_owned).collect(),
            (None, None, None) => return Ok(None),
        };
        let refused = |found: String, advice: &str| Err(Error::new(ErrorKind::Argument, tried(&asked), found, advice));
        if let Some(device) = self.on.device {
            let found = format!("that the device `{}` is asked for too", device.name());
            return refused(found, "leave one of `devices`, `simulate_cluster` and `device` out");
        }
        if self.on.cluster.is_some() && (self.on.devices.is_some() || self.on.simulated.is_some()) {
            let found = "a cluster that is simulated too".to_owned();
            return refused(found, "leave `simulate_cluster` out, or both of `devices` and `simulate`");
        }
        let mut all = Vec::new();
        for name in &asked {
            let Some(named) = parse(name) else {
                let advice = "name devices as in cuda:0,1, opencl:0, sim:4 or cpu:2, with spaces between the kinds";
                return refused(format!("`{name}`"), advice);
            };
            all.extend(named);
        }
        if all.is_empty() || all.len() > MOST {
            return refused(format!("{} places", all.len()), "name 1 to 64");
        }
        if self.on.simulated.is_some() && all.iter().any(|named| named.device != Device::Sim) {
            let advice = "name `sim` alone, or leave `simulate` out";
            return refused("a description of a simulated device, and places of another kind".into(), advice);
        }
        if self.room.backed.is_some() {
            let advice = "use one device, or keep arrays in memory";
            return refused("arrays that lie in files (`backed_by`)".into(), advice);
        }
        Ok(Some(all))
    }

    /// Starts an accelerator of these places, or of one that is not named, on this rank.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub(super) fn start_places(&self, named: Option<&[Named]>, world: Option<Arc<World>>) -> Result<TileAcc, Error> {
        let asked = settings::check_threads(self.threads, |name| std::env::var_os(name))?;
        let places: Vec<Option<&Named>> = named.map_or_else(|| vec![None], |named| named.iter().map(Some).collect());
        let recorded = Location::caller();
        let shared = match &world {
            Some(world) => {
                let call = world.call(format_args!("an accelerator of {} places a rank", places.len()), recorded);
                let shared = threads_of(world, call, recorded)?;
                world.has_cores(shared > asked.unwrap_or(shared));
                Some(shared)
            }
            None => None,
        };
        let pool = match places.len() > 1 || world.is_some() {
            true => Some(start_threads(asked.or(shared))?),
            false => None,
        };
        let built = self.build_places(&places, pool, world.as_deref());
        let all = match &world {
            // A rank that has no such device ends all.
            Some(world) => {
                let places = share_among_ranks(world, built, recorded)?;
                agree_on_mailboxes(world, &places, (self.on.apart, !self.on.unopened), recorded)?;
                places
            }
            None => share(built?),
        };
        match (all.as_slice(), &world) {
            ([only], None) => Ok(only.clone()),
            ([], _) => Err(on_both_sides()),
            ([first, ..], _) => {
                let (core, device, missed) = (first.core().clone(), first.device(), first.handle.missed.clone());
                let strip_fault = self.strip_fault;
                let (hybrid, folder) = (false, None);
                let on = |place: &TileAcc| place.core().device.clone();
                let pairs = all.iter().flat_map(|from| all.iter().map(move |to| (on(from), on(to))));
                let within = |(from, to): (Option<Arc<DeviceCore>>, Option<Arc<DeviceCore>>)| -> Arc<dyn Transport> {
                    let reaches = |device: Option<Arc<DeviceCore>>| device.filter(|_| !self.on.apart);
                    Arc::new(Within::between(reaches(from).as_deref(), reaches(to).as_deref()))
                };
                let transports = pairs.map(within).collect();
                let handle =
                    Handle { core, places: all, world, device, hybrid, folder, strip_fault, transports, missed };
                Ok(TileAcc { handle: Arc::new(handle) })
            }
        }
    }

    /// Starts the places of this process.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    fn build_places(
        &self,
        places: &[Option<&Named>],
        pool: Option<Arc<rayon::ThreadPool>>,
        world: Option<&World>,
    ) -> Result<Vec<TileAcc>, Error> {
        let mut all: Vec<TileAcc> = Vec::with_capacity(places.len());
        let mut cluster = self.sims(places)?.into_iter();
        for place in places {
            let mut builder = self.clone();
            (builder.on.devices, builder.on.cluster) = (None, None);
            // Where nobody says which device, ranks of a host take turns.
            builder.on.choice.turn = world.map_or(0, |world| world.host().number);
            if let Some(named) = place {
                match named.device {
                    Device::Sim => builder.on.simulated = cluster.next(),
                    device => builder.on.device = Some(device),
                }
                if let Some(which) = &named.which {
                    builder = match named.device {
                        // `parse` has seen to it that it is a number.
                        Device::Cuda => builder.cuda_device(which.parse().unwrap_or(0)),
                        _ => builder.opencl_device(which),
                    };
                }
            }
            let simulated = all.iter().find(|place: &&TileAcc| place.device() == Device::Sim);
            let simulated = simulated.and_then(|place| Some(place.core().device.as_ref()?.opened().clone()));
            all.push(builder.start(pool.clone().map(|pool| Beside { pool, simulated }))?);
        }
        let cores: Vec<_> = all.iter().map(TileAcc::core).collect();
        Core::are_beside(&cores);
        Ok(all)
    }

    /// The simulated devices among places, in their order: those of the cluster, or all alike and joined as usual.
    ///
    /// # Errors
    /// A cluster that cannot be.
    fn sims(&self, places: &[Option<&Named>]) -> Result<Vec<SimDevice>, Error> {
        let count = places.iter().flatten().filter(|named| named.device == Device::Sim).count();
        let usual = || SimCluster::of(count, self.on.simulated.clone().unwrap_or_default());
        match (count, &self.on.cluster) {
            (0, None) => Ok(Vec::new()),
            (_, cluster) => cluster.clone().unwrap_or_else(usual).into_devices(self.on.cluster.is_some()),
        }
    }
}

/// Places of one process that are on one device share what is free there.
fn share(places: Vec<TileAcc>) -> Vec<TileAcc> {
    let device = |place: &TileAcc| place.core().device.clone();
    let ids: Vec<usize> = places.iter().filter_map(device).map(|device| device.id()).collect();
    for device in places.iter().filter_map(device) {
        let sharing = ids.iter().filter(|id| **id == device.id()).count();
        if sharing > 1 {
            device.share(device.free(), sharing as u64);
        }
    }
    places
}

fn tried(asked: &[String]) -> String {
    format!("run on the devices `{}`", asked.join(" "))
}

/// The devices of a name.
fn parse(name: &str) -> Option<Vec<Named>> {
    let (kind, which) = name.split_once(':').map_or((name, None), |(kind, which)| (kind, Some(which)));
    let device = Device::from_name(kind).filter(|device| *device != Device::Hybrid)?;
    let named = |which: Option<&str>| Named { device, which: which.map(str::to_owned) };
    match (device, which) {
        (_, None) => Some(vec![named(None)]),
        (Device::Cpu | Device::Sim, Some(count)) => {
            let count = count.parse().ok().filter(|count| (1..=MOST).contains(count))?;
            Some(vec![named(None); count])
        }
        (_, Some(list)) => list.split(',').map(|one| one.parse::<u32>().ok().map(|_| named(Some(one)))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kinds_with_numbers() {
        let all = |name: &str| {
            let named = parse(name)?.into_iter();
            Some(named.map(|of| format!("{} {}", of.device.name(), of.which.unwrap_or_default())).collect::<Vec<_>>())
        };
        assert_eq!(all("cuda:0,1").unwrap(), ["cuda 0", "cuda 1"]);
        assert_eq!(all("opencl:1").unwrap(), ["opencl 1"]);
        assert_eq!(all("sim:3").unwrap(), ["sim "; 3]);
        assert_eq!(all("cpu").unwrap(), ["cpu "]);
        for bad in ["", "gpu", "hybrid", "cuda:", "cuda:x", "cuda:0,", "sim:0", "sim:-1", "sim:1000", "cpu:1,2"] {
            assert!(all(bad).is_none(), "{bad}");
        }
    }
}
