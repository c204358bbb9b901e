//! What reads cost on a CUDA device, measured by chains of dependent reads (Lashgar 2017 §4.1 measures so; SAFARA
//! §III-B3 has the classes) and kept in the cache on disk.
//!
//! Measuring takes some 20 ms and the compiling of one kernel, once for a device. `TIDA_TUNE=1` asks for it; what was
//! measured is used from then on, with `TIDA_TUNE` or without. Where nothing was measured it is [`Latency::TYPICAL`].

use std::path::Path;
use std::sync::Arc;

use tida_kernels::plan::Math;
use tida_kernels::plan::auto::Latency;
use tracing::debug;

use super::{Argument, Backend, Code, Facts, Kernel, Memory, disk};
use crate::error::{Error, ErrorKind};

/// The latencies of a device: those kept, else those that `trial`, a backend to measure on, shows, else typical ones.
pub(super) fn latency(facts: &Facts, trial: Option<impl FnOnce() -> Result<Arc<dyn Backend>, Error>>) -> Latency {
    let measure = trial.map(|trial| move || measured(&trial()?));
    looked_up(disk::folder().as_deref(), facts, measure)
}

fn looked_up(
    folder: Option<&Path>,
    facts: &Facts,
    measure: Option<impl FnOnce() -> Result<Latency, Error>>,
) -> Latency {
    let key = disk::Key::new(&["latencies 1", &facts.name, &facts.target]);
    let kept = folder.and_then(|folder| read(&disk::load_from(folder, key)?));
    if let Some(kept) = kept {
        return kept;
    }
    let Some(measure) = measure else { return Latency::TYPICAL };
    match measure() {
        Ok(found) if plausible(&found) => {
            if let Some(folder) = folder {
                disk::store_in(folder, key, &bytes(&found));
            }
            found
        }
        Ok(found) => {
            debug!(?found, "latencies that were measured make no sense");
            Latency::TYPICAL
        }
        Err(error) => {
            debug!(%error, "latencies could not be measured");
            Latency::TYPICAL
        }
    }
}

fn bytes(latency: &Latency) -> [u8; 16] {
    let mut bytes = [0; 16];
    let values = [latency.shared, latency.cached, latency.coalesced, latency.scattered];
    for (place, value) in bytes.chunks_exact_mut(4).zip(values) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> Option<Latency> {
    let bytes: &[u8; 16] = bytes.try_into().ok()?;
    let value = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let latency = Latency { shared: value(0), cached: value(4), coalesced: value(8), scattered: value(12) };
    plausible(&latency).then_some(latency)
}

/// Near memory is faster than far, and nothing takes 100 us.
fn plausible(latency: &Latency) -> bool {
    let Latency { shared, cached, coalesced, scattered } = *latency;
    shared > 0 && cached > 0 && shared.max(cached) < coalesced && coalesced <= scattered && scattered < 100_000
}

/// What the kernel does: as `profile.cu` numbers it.
const LINK: u32 = 0;
const SHARED: u32 = 1;
const MEMORY: u32 = 2;

/// Reads of a chain that stays in fast memory: about 0.3 ms of them, since the clock of some GPUs ticks once a
/// microsecond.
const NEAR: u32 = 1 << 14;
/// Reads of a chain through memory, each of which is somewhere else.
const FAR: u32 = 1 << 10;
/// Bytes from one step of a chain through memory to the next one.
const PITCH: usize = 4096;
/// The stream that all of it runs in.
const STREAM: usize = 0;

/// Chains on one device.
struct Chains<'a> {
    backend: &'a Arc<dyn Backend>,
    kernel: Arc<dyn Kernel>,
    result: Memory,
    cells: Memory,
    /// More than the cache holds: where it was written, the cache holds nothing of `cells`.
    flush: Memory,
}

/// Where a warp reads.
#[derive(Clone, Copy)]
struct Way {
    /// Cells from a thread's to its neighbour's, and from a step to the next.
    apart: u32,
    pitch: u32,
    steps: u32,
}

fn measured(backend: &Arc<dyn Backend>) -> Result<Latency, Error> {
    let code = Code {
        text: include_str!("profile.cu"),
        entry: "tida_profile",
        math: Math::Exact,
        block: [32, 1, 1],
        shared: 0,
    };
    let cache = usize::try_from(backend.facts().machine.cache).unwrap_or(0).max(16 << 20);
    let chains = Chains {
        backend,
        kernel: backend.kept(&code).map_or_else(|| backend.compile(&code), Ok)?,
        result: Memory::new(backend, 16)?,
        cells: Memory::new(backend, FAR as usize * PITCH)?,
        flush: Memory::new(backend, 2 * cache)?,
    };
    // In units of 8 bytes. A cell a thread and 16 steps are 4 KiB, which every cache holds.
    let pitch = (PITCH / 8) as u32;
    let near = Way { apart: 1, pitch: 32, steps: 16 };
    let coalesced = Way { apart: 1, pitch, steps: FAR };
    let scattered = Way { apart: 16, pitch, steps: FAR };
    // Until the device runs at its speed.
    chains.nanoseconds(SHARED, near, 16 * NEAR)?;
    let shared = chains.median(|| chains.nanoseconds(SHARED, near, NEAR))?;
    chains.link(near)?;
    chains.nanoseconds(MEMORY, near, near.steps)?;
    let cached = chains.median(|| chains.nanoseconds(MEMORY, near, NEAR))?;
    let from_memory = |way| {
        chains.link(way)?;
        chains.median(|| {
            // SAFETY: the memory has the bytes; all that uses it is in this stream, and waited for below.
            unsafe { backend.zero(STREAM, &chains.flush, 0, chains.flush.bytes())? };
            chains.nanoseconds(MEMORY, way, FAR)
        })
    };
    Ok(Latency { shared, cached, coalesced: from_memory(coalesced)?, scattered: from_memory(scattered)? })
}

impl Chains<'_> {
    /// Writes a chain.
    fn link(&self, way: Way) -> Result<(), Error> {
        self.launch(LINK, way, way.steps, 0)
    }

    /// Of a read, rounded.
    fn nanoseconds(&self, what: u32, way: Way, reads: u32) -> Result<u32, Error> {
        self.launch(what, way, 1, reads)?;
        let mut found = [0u64; 2];
        // SAFETY: both have 16 bytes, and live until the copy is done, which is waited for.
        let copied =
            unsafe { self.backend.download(STREAM, &self.result, 0, found.as_mut_ptr().cast(), size_of_val(&found)) };
        // A copy that is under way is waited for whatever it said.
        self.backend.record(STREAM)?.finish()?;
        copied?;
        let [took, came_round] = found;
        if came_round != 1 {
            return Err(Error::new(
                ErrorKind::Device,
                "measure what reads cost",
                "a chain of reads that did not end where it began",
                "unset TIDA_TUNE, and report it as a bug of tida",
            ));
        }
        let reads = u64::from(reads.max(1));
        Ok(u32::try_from((took + reads / 2) / reads).unwrap_or(u32::MAX))
    }

    fn launch(&self, what: u32, way: Way, blocks: u32, reads: u32) -> Result<(), Error> {
        let values = [way.apart, way.pitch, way.steps, reads, what].map(u32::to_ne_bytes);
        let [apart, pitch, steps, reads, what] = &values;
        let arguments = [
            Argument::Memory(&self.result),
            Argument::Memory(&self.cells),
            Argument::Bytes(apart),
            Argument::Bytes(pitch),
            Argument::Bytes(steps),
            Argument::Bytes(reads),
            Argument::Bytes(what),
        ];
        // SAFETY: the arguments are those of the kernel. Steps are at most `FAR`, their cells within `PITCH` bytes, and
        // a chain that was linked stays among them. Memory is given back after `nanoseconds` has waited for all before.
        unsafe { self.backend.launch(STREAM, &*self.kernel, [blocks, 1, 1], [32, 1, 1], &arguments) }
    }

    /// Of three.
    fn median(&self, measure: impl Fn() -> Result<u32, Error>) -> Result<u32, Error> {
        let mut three = [measure()?, measure()?, measure()?];
        three.sort_unstable();
        Ok(three[1])
    }
}

impl Drop for Chains<'_> {
    fn drop(&mut self) {
        // After an error, work may be under way that uses the memory. If that fails too, the device is lost.
        let _ = self.backend.record(STREAM).and_then(|event| event.finish());
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::backend::cuda;

    /// A folder that is gone when dropped.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn folder(name: &str) -> Folder {
        Folder(std::env::temp_dir().join(format!("tida-profile-{name}-{}", std::process::id())))
    }

    const FOUND: Latency = Latency { shared: 11, cached: 12, coalesced: 400, scattered: 401 };
    type Measure = fn() -> Result<Latency, Error>;
    const NEVER: Option<Measure> = None;

    fn device(name: &str) -> Facts {
        Facts { name: name.into(), ..Facts::of_cuda() }
    }

    #[test]
    fn a_device_is_measured_once() {
        let folder = folder("once");
        let times = Cell::new(0);
        let measure = || {
            times.set(times.get() + 1);
            Ok(FOUND)
        };
        let at = Some(folder.0.as_path());
        assert_eq!(looked_up(at, &device("a"), NEVER), Latency::TYPICAL);
        assert_eq!(looked_up(at, &device("a"), Some(measure)), FOUND);
        // From then on it is known, whether it may be measured or not.
        assert_eq!(looked_up(at, &device("a"), Some(measure)), FOUND);
        assert_eq!(looked_up(at, &device("a"), NEVER), FOUND);
        assert_eq!(times.get(), 1);
        // Another device, and another compiler.
        assert_eq!(looked_up(at, &device("b"), NEVER), Latency::TYPICAL);
        assert_eq!(looked_up(at, &Facts { target: "sm_90".into(), ..device("a") }, NEVER), Latency::TYPICAL);
        // Without a cache it is measured each time.
        assert_eq!(looked_up(None, &device("a"), Some(measure)), FOUND);
        assert_eq!(times.get(), 2);
    }

    #[test]
    fn what_makes_no_sense_is_not_believed() {
        let folder = folder("sense");
        let at = Some(folder.0.as_path());
        let wrong = [
            Latency { shared: 0, ..FOUND },
            Latency { cached: 400, ..FOUND },
            Latency { scattered: 399, ..FOUND },
            Latency { scattered: 100_000, ..FOUND },
        ];
        for wrong in wrong {
            assert_eq!(looked_up(at, &device("a"), Some(|| Ok(wrong))), Latency::TYPICAL);
            assert_eq!(read(&bytes(&wrong)), None);
        }
        let failed: Measure = || Err(Error::new(ErrorKind::Device, "measure", "nothing", "do not"));
        assert_eq!(looked_up(at, &device("a"), Some(failed)), Latency::TYPICAL);
        assert!(!folder.0.exists());
        assert!(plausible(&Latency::TYPICAL));
    }

    #[test]
    fn files_of_another_form_are_measured_again() {
        let folder = folder("form");
        let facts = device("a");
        let key = disk::Key::new(&["latencies 1", &facts.name, &facts.target]);
        for content in [&b"short"[..], &[0; 16], &[1; 17], &[]] {
            disk::store_in(&folder.0, key, content);
            assert_eq!(looked_up(Some(&folder.0), &facts, NEVER), Latency::TYPICAL, "{content:?}");
        }
        assert_eq!(looked_up(Some(&folder.0), &facts, Some(|| Ok(FOUND))), FOUND);
        assert_eq!(looked_up(Some(&folder.0), &facts, NEVER), FOUND);
    }

    #[test]
    fn the_kernel_compiles() {
        match cuda::compile_only(include_str!("profile.cu"), "tida_profile", Math::Exact, "sm_90") {
            Ok((code, _)) => assert_eq!(code[..4], *b"\x7fELF"),
            Err(e) if e.kind() == ErrorKind::Device && std::env::var_os("TIDA_REQUIRE_NVRTC").is_none() => {
                eprintln!("SKIPPED: {e}");
            }
            Err(e) => panic!("{e}"),
        }
    }

    #[test]
    fn a_device_is_measured() {
        let Ok(device) = cuda::open(None) else { return eprintln!("SKIPPED: no CUDA device") };
        let found = measured(&device).unwrap();
        eprintln!("{}: {found:?}", device.facts().name);
        assert!(plausible(&found), "{found:?}");
        let start = std::time::Instant::now();
        measured(&device).unwrap();
        eprintln!("the second time in {:?}", start.elapsed());
    }
}
