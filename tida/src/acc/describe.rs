//! What an accelerator runs on, in words.

use std::fmt;
use std::path::Path;

use super::TileAcc;
use super::builder::Device;
use crate::backend::cpu::widest_vectors;
use crate::error::Error;

/// A device that was looked for, and why there is none.
#[derive(Clone, Debug)]
pub(super) struct Missed {
    /// What it would have been: `CUDA`.
    pub what: &'static str,
    pub why: Error,
}

/// What work runs on.
#[derive(Clone, Debug)]
struct Place<'a> {
    device: Device,
    /// On the CPU and the device at once.
    hybrid: bool,
    threads: usize,
    /// What native loops are compiled for.
    vectors: &'a str,
    /// The device's name; none where work runs on the CPU alone.
    name: Option<&'a str>,
    /// Where the values of arrays lie, if not in memory.
    folder: Option<&'a Path>,
    /// Bytes of the device's memory, and those that are free by its driver.
    memory: Option<(u64, Option<u64>)>,
    missed: &'a [Missed],
}

/// One line: what work runs on, and why not on more.
///
/// Such as `CUDA: NVIDIA H200, 139 GiB of 140 GiB free, 8 threads beside it`, or where a device was looked for and none
/// was found, `CPU, 8 threads, AVX-512 (no CUDA: tried to load the CUDA driver, found none of ..; no OpenCL GPU: ..)`.
impl fmt::Display for TileAcc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ranks() > 1 {
            write!(f, "rank {} of {}: ", self.rank(), self.ranks())?;
        }
        if let places @ [_, _, ..] = self.places() {
            write!(f, "{} places: ", places.len())?;
            return places.iter().enumerate().try_for_each(|(number, place)| {
                let before = if number == 0 { "" } else { "; " };
                write!(f, "{before}{place}")
            });
        }
        let memory = match (self.device(), &self.core().device) {
            (Device::Cpu, Some(device)) => Some((device.budget(), None)),
            _ => self.device_memory(),
        };
        // Of other programs' memory OpenCL does not know.
        let known = self.device() != Device::OpenCl;
        let place = Place {
            device: self.device(),
            hybrid: self.is_hybrid(),
            threads: self.threads(),
            vectors: widest_vectors(),
            name: self.device_name(),
            folder: self.folder().map(|folder| folder.path()),
            memory: memory.map(|(all, free)| (all, free.filter(|_| known))),
            missed: &self.handle.missed,
        };
        place.fmt(f)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { device, hybrid, threads, vectors, name, folder, memory, missed } = self;
        let threads = format!("{threads} thread{}", if *threads == 1 { "" } else { "s" });
        let Some(name) = name else {
            write!(f, "CPU, {threads}, {vectors}")?;
            if let (Some(folder), Some((all, _))) = (folder, memory) {
                write!(f, ", arrays in files of {}, {} of them in memory", folder.display(), Bytes(*all))?;
            }
            return self.why_not_more(f, missed);
        };
        if *hybrid {
            write!(f, "CPU, {threads}, {vectors}, and at once ")?;
        }
        match device {
            Device::Cuda => write!(f, "CUDA: {name}")?,
            Device::OpenCl => write!(f, "OpenCL: {name}")?,
            _ => write!(f, "{name}")?,
        }
        match memory {
            Some((all, Some(free))) => write!(f, ", {} of {} free", Bytes(*free), Bytes(*all))?,
            Some((all, None)) => write!(f, ", {} of memory", Bytes(*all))?,
            None => {}
        }
        if !*hybrid {
            write!(f, ", {threads} beside it")?;
        }
        if let Some(folder) = folder {
            write!(f, ", arrays in files of {}", folder.display())?;
        }
        self.why_not_more(f, missed)
    }
}

impl Place<'_> {
    fn why_not_more(&self, f: &mut fmt::Formatter<'_>, missed: &[Missed]) -> fmt::Result {
        let reason =
            |Missed { what, why }: &Missed| format!("no {what}: tried to {}, found {}", why.tried(), why.found());
        let reasons: Vec<String> = missed.iter().map(reason).collect();
        if reasons.is_empty() {
            return Ok(());
        }
        // What a driver says may have lines.
        let reasons = reasons.join("; ");
        write!(f, " ({})", reasons.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Bytes in the largest unit of which there is one at least, in two or three figures.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = match self.0 {
            n if n >= 1 << 30 => ("GiB", 1u64 << 30),
            n if n >= 1 << 20 => ("MiB", 1 << 20),
            n if n >= 1 << 10 => ("KiB", 1 << 10),
            n => return write!(f, "{n} bytes"),
        };
        let count = self.0 as f64 / size as f64;
        let figures = if count < 9.95 && !self.0.is_multiple_of(size) { 1 } else { 0 };
        write!(f, "{count:.figures$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn missed(what: &'static str, tried: &str, found: &str) -> Missed {
        Missed { what, why: Error::new(ErrorKind::Device, tried, found, "do something") }
    }

    const CPU: Place<'_> = Place {
        device: Device::Cpu,
        hybrid: false,
        threads: 8,
        vectors: "AVX-512",
        name: None,
        folder: None,
        memory: None,
        missed: &[],
    };

    const H200: Place<'_> =
        Place { device: Device::Cuda, name: Some("NVIDIA H200"), memory: Some((140 << 30, Some(139 << 30))), ..CPU };

    #[test]
    fn one_line_says_where_and_why_not_on_more() {
        let no_cuda = missed("CUDA", "load the CUDA driver", "none of libcuda.so.1 in the library path");
        let no_gpu = missed("OpenCL GPU", "find an OpenCL GPU", "only the devices 0: a CPU,\n which is no GPU");
        let both = [no_cuda.clone(), no_gpu];
        let said = |place: Place<'_>| place.to_string();
        assert_eq!(said(CPU), "CPU, 8 threads, AVX-512");
        assert_eq!(said(Place { threads: 1, vectors: "NEON", ..CPU }), "CPU, 1 thread, NEON");
        let fell_back = "CPU, 8 threads, AVX-512 (no CUDA: tried to load the CUDA driver, found none of libcuda.so.1 in the \
                         library path; no OpenCL GPU: tried to find an OpenCL GPU, found only the devices 0: a CPU, which is no GPU)";
        assert_eq!(said(Place { missed: &both, ..CPU }), fell_back);
        // Both at once was asked for, and there is no device.
        assert_eq!(said(Place { missed: &both, hybrid: true, ..CPU }), fell_back);
        assert_eq!(said(H200), "CUDA: NVIDIA H200, 139 GiB of 140 GiB free, 8 threads beside it");
        assert_eq!(
            said(Place { hybrid: true, ..H200.clone() }),
            "CPU, 8 threads, AVX-512, and at once CUDA: NVIDIA H200, 139 GiB of 140 GiB free"
        );
        let folder = Some(Path::new("/scratch"));
        assert_eq!(
            said(Place { folder, memory: Some((1 << 30, None)), ..CPU }),
            "CPU, 8 threads, AVX-512, arrays in files of /scratch, 1 GiB of them in memory"
        );
        assert_eq!(
            said(Place { folder, ..H200 }),
            "CUDA: NVIDIA H200, 139 GiB of 140 GiB free, 8 threads beside it, arrays in files of /scratch"
        );
        let gpu = Place { device: Device::OpenCl, name: Some("A GPU"), memory: Some((24 << 30, None)), ..CPU };
        assert_eq!(said(gpu.clone()), "OpenCL: A GPU, 24 GiB of memory, 8 threads beside it");
        assert_eq!(
            said(Place { missed: &[no_cuda], ..gpu }),
            "OpenCL: A GPU, 24 GiB of memory, 8 threads beside it (no CUDA: tried to load the CUDA driver, found none of \
             libcuda.so.1 in the library path)"
        );
        let sim = Place { device: Device::Sim, name: Some("a simulated device"), ..H200 };
        assert_eq!(said(sim), "a simulated device, 139 GiB of 140 GiB free, 8 threads beside it");
    }

    #[test]
    fn bytes_have_two_or_three_figures() {
        let said = |bytes| Bytes(bytes).to_string();
        assert_eq!([0, 1023, 1024, 1536].map(said), ["0 bytes", "1023 bytes", "1 KiB", "1.5 KiB"]);
        assert_eq!([(1 << 20) + 1, 10 << 20, 2000 << 20].map(said), ["1.0 MiB", "10 MiB", "2.0 GiB"]);
        assert_eq!([(140 << 30) + (200 << 20), 139_900 << 20].map(said), ["140 GiB", "137 GiB"]);
    }
}
