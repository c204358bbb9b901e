//! Settings that an accelerator is built with, by its builder or by variables of the environment, and what cannot be
//! among them. `docs/ENVIRONMENT.md` lists the variables.
//!
//! All are looked at before anything starts, whatever the device: who sets one that is not understood hears of it. A
//! variable that is set to nothing is one that is not set. Text that is no Unicode is read with marks in the place of
//! what is none, which no setting understands.

use std::ffi::OsString;
use std::time::Duration;

use tida_kernels::plan::fuse::Asked;

use super::builder::ranks::seconds;
use super::builder::{Compile, Device, Fuse, Ranks};
use crate::backend::chosen::Chosen;
use crate::bytes::bytes_from;
use crate::device::plans::Without;
use crate::error::{Error, ErrorKind};
use crate::variables::{not_understood, text_of};

fn wrong(tried: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, tried, found, advice)
}

/// Most threads of an accelerator: 1024, or four for each processor where that is more, and no more than rayon can
/// have.
fn most_threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.saturating_mul(4).max(1024).min(rayon::max_num_threads())
}

/// The threads to start: those asked for, else by `TIDA_THREADS`. Nothing asked for is what rayon chooses, by
/// `variable`s of its own or one for each processor.
///
/// # Errors
/// [`ErrorKind::Argument`]: none, or more than any machine has a use for; a variable that is no number.
pub(super) fn check_threads(
    asked: Option<usize>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<usize>, Error> {
    let most = most_threads();
    if let Some(threads) = asked {
        return match (1..=most).contains(&threads) {
            true => Ok(asked),
            false => Err(wrong(
                "start the threads of an accelerator (`threads`)",
                threads.to_string(),
                format!("ask for 1 to {most} threads, or leave `threads` out for one a processor"),
            )),
        };
    }
    const VARIABLE: &str = "TIDA_THREADS";
    let text = variable(VARIABLE).map(|text| text.to_string_lossy().into_owned()).filter(|text| !text.is_empty());
    if let Some(text) = text {
        let threads = text.trim().parse().ok().filter(|threads| (1..=most).contains(threads));
        let advice = || format!("set it to a number of threads, from 1 to {most}, or unset it for one a processor");
        return threads.map(Some).ok_or_else(|| not_understood(VARIABLE, &text, advice()));
    }
    // As rayon reads them: the first of them that is a number counts.
    let number = |name| Some((name, variable(name)?.to_str()?.parse::<usize>().ok()?));
    match ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"].into_iter().find_map(number) {
        Some((name, threads)) if threads > most => Err(wrong(
            format!("start as many threads as the environment variable {name} says"),
            threads.to_string(),
            format!("set it to at most {most}, or unset it"),
        )),
        _ => Ok(None),
    }
}

/// Sweeps that may wait.
///
/// # Errors
/// [`ErrorKind::Argument`]: none.
pub(super) fn check_look_ahead(asked: Option<usize>) -> Result<Option<usize>, Error> {
    match asked {
        Some(0) => Err(wrong("set the look-ahead (`look_ahead`)", "0", "let at least 1 sweep wait")),
        _ => Ok(asked),
    }
}

/// Bytes that arrays may take on a device, by the builder, else by `TIDA_MEMORY_LIMIT`.
///
/// # Errors
/// [`ErrorKind::Argument`]: none, or what is no number.
pub(super) fn memory_limit(asked: Option<Result<u64, Error>>) -> Result<Option<u64>, Error> {
    const VARIABLE: &str = "TIDA_MEMORY_LIMIT";
    const METHOD: &str = "limit the bytes of arrays on a device (`memory_limit`)";
    let (limit, tried) = match asked {
        Some(_) => (bytes_of(asked, METHOD)?, METHOD.to_owned()),
        None => (bytes_from(VARIABLE)?, format!("read the environment variable {VARIABLE}")),
    };
    match limit {
        Some(0) => Err(wrong(tried, "0 bytes", "give at least 1, or leave it out for what is free there")),
        _ => Ok(limit),
    }
}

/// The part of the cells that the device takes of loops on both sides, by the builder, else by `TIDA_HYBRID_SHARE`.
///
/// # Errors
/// [`ErrorKind::Argument`]: no number from 0 to 1.
pub(super) fn hybrid_share(asked: Option<f64>) -> Result<Option<f64>, Error> {
    const VARIABLE: &str = "TIDA_HYBRID_SHARE";
    let advice = "give a number from 0 (all on the CPU) to 1 (all on the device), or leave it out to have it measured";
    let is_share = |share: &f64| (0.0..=1.0).contains(share);
    if let Some(share) = asked {
        let tried = "set the device's share of loops on both sides (`hybrid_share`)";
        return Some(share).filter(is_share).map(Some).ok_or_else(|| wrong(tried, share.to_string(), advice));
    }
    let Some(text) = text_of(VARIABLE) else { return Ok(None) };
    let share = text.trim().parse().ok().filter(is_share);
    share.map(Some).ok_or_else(|| not_understood(VARIABLE, &text, advice))
}

/// From how many bytes on work streams, by the builder.
///
/// # Errors
/// [`ErrorKind::Argument`]: text that is no number of bytes.
pub(super) fn stream_from(asked: Option<Result<u64, Error>>) -> Result<Option<u64>, Error> {
    bytes_of(asked, "say from how many bytes on work streams to a device (`stream_from`)")
}

/// The bytes that the builder was given, to do this.
fn bytes_of(asked: Option<Result<u64, Error>>, tried: &str) -> Result<Option<u64>, Error> {
    asked.transpose().map_err(|error| wrong(tried, error.found(), error.advice()))
}

/// The number of the CUDA device, by the builder, else by `TIDA_CUDA_DEVICE`, if one of them says it.
///
/// # Errors
/// [`ErrorKind::Argument`]: the variable is no number.
pub(crate) fn cuda_device(asked: Option<Chosen<u32>>) -> Result<Option<Chosen<u32>>, Error> {
    const VARIABLE: &str = "TIDA_CUDA_DEVICE";
    if asked.is_some() {
        return Ok(asked);
    }
    let Some(text) = text_of(VARIABLE) else { return Ok(None) };
    let advice = "set it to the number of a CUDA device, from 0 on as nvidia-smi counts them, or unset it";
    let chosen = |which| Some(Chosen { which, by_builder: false });
    text.trim().parse().map(chosen).map_err(|_| not_understood(VARIABLE, &text, advice))
}

/// The OpenCL device, by the builder, else by `TIDA_OPENCL_DEVICE`, if one of them says it.
pub(crate) fn opencl_device(asked: Option<Chosen<String>>) -> Option<Chosen<String>> {
    // What is no Unicode is a piece of no name.
    let variable = || Some(Chosen { which: text_of("TIDA_OPENCL_DEVICE")?, by_builder: false });
    asked.or_else(variable)
}

/// The devices of several places, by `TIDA_DEVICES`.
///
/// # Errors
/// [`ErrorKind::Argument`]: `TIDA_DEVICE` says another.
pub(super) fn devices() -> Result<Option<String>, Error> {
    let devices = text_of("TIDA_DEVICES").filter(|text| !text.is_empty());
    match (devices, text_of("TIDA_DEVICE")) {
        (Some(devices), Some(device)) if device != "auto" => Err(wrong(
            "choose devices from the environment",
            format!("TIDA_DEVICES=`{devices}` and TIDA_DEVICE=`{device}`"),
            "unset one of them",
        )),
        (devices, _) => Ok(devices),
    }
}

/// The length of a march, by the builder, else by `TIDA_MARCH`.
///
/// # Errors
/// [`ErrorKind::Argument`]: none, or what is not a number of cells.
pub(super) fn march(asked: Option<u32>) -> Result<Option<u32>, Error> {
    if asked == Some(0) {
        let tried = "let threads take cells along the first axis (`plan`, in the place of TIDA_MARCH)";
        return Err(wrong(tried, "0 cells", "give at least 1, or leave it out"));
    }
    asked.map_or_else(|| march_from(text_of("TIDA_MARCH").as_deref()), |cells| Ok(Some(cells)))
}

fn march_from(text: Option<&str>) -> Result<Option<u32>, Error> {
    let Some(text) = text.filter(|text| *text != "auto") else { return Ok(None) };
    let advice = format!(
        "set it to the number of cells that a thread takes along the first axis, from 1 to {}, to auto, or unset it",
        u32::MAX
    );
    let cells = text.parse().ok().filter(|cells| *cells > 0);
    cells.map(Some).ok_or_else(|| not_understood("TIDA_MARCH", text, advice))
}

/// Whether plans are found by timed trials, by the builder, else by `TIDA_TUNE`.
///
/// # Errors
/// [`ErrorKind::Argument`]: the variable says something else.
pub(super) fn tune(asked: Option<bool>) -> Result<bool, Error> {
    asked.map_or_else(|| tune_from(text_of("TIDA_TUNE").as_deref()), Ok)
}

fn tune_from(text: Option<&str>) -> Result<bool, Error> {
    match text {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => {
            let advice = "set it to 1 for timed trials of plans, to 0, or unset it";
            Err(not_understood("TIDA_TUNE", other, advice))
        }
    }
}

/// What plans go without, by the builder, else by `TIDA_PLAN`.
///
/// # Errors
/// [`ErrorKind::Argument`]: a word that says nothing.
pub(super) fn without(asked: Option<String>) -> Result<Without, Error> {
    Without::from_list(asked.or_else(|| text_of("TIDA_PLAN")).as_deref().unwrap_or_default())
}

/// How many steps run as one launch, by the builder, else by `TIDA_FUSE`.
///
/// # Errors
/// [`ErrorKind::Argument`]: none, too many, or what is not understood.
pub(super) fn fuse(asked: Option<Fuse>) -> Result<Asked, Error> {
    let text = match asked {
        Some(Fuse::Auto) => return Ok(Asked::Auto),
        Some(Fuse::Off) => return Ok(Asked::Off),
        Some(Fuse::Steps(steps)) => steps.to_string(),
        None => text_of("TIDA_FUSE").unwrap_or_default(),
    };
    text.parse().map_err(|found: String| {
        wrong(
            "read how many steps are to run as one launch (`fuse`, or the environment variable TIDA_FUSE)",
            found,
            "give a number of steps, `auto` or `off`, or unset it",
        )
    })
}

/// Whether sweeps that read the same arrays run as one, by the builder, else by `TIDA_JOIN`.
///
/// # Errors
/// [`ErrorKind::Argument`]: the variable says something else.
pub(super) fn join(asked: Option<bool>) -> Result<bool, Error> {
    asked.map_or_else(|| join_from(text_of("TIDA_JOIN").as_deref()), Ok)
}

fn join_from(text: Option<&str>) -> Result<bool, Error> {
    match text {
        None | Some("auto") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(not_understood("TIDA_JOIN", other, "set it to auto or off, or unset it")),
    }
}

/// Whether programs that repeat themselves run in rounds, by the builder, else by `TIDA_ROUNDS`.
///
/// # Errors
/// [`ErrorKind::Argument`]: the variable says something else.
pub(super) fn rounds(asked: Option<bool>) -> Result<bool, Error> {
    asked.map_or_else(|| rounds_from(text_of("TIDA_ROUNDS").as_deref()), Ok)
}

fn rounds_from(text: Option<&str>) -> Result<bool, Error> {
    match text {
        None | Some("auto") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(not_understood("TIDA_ROUNDS", other, "set it to auto or off, or unset it")),
    }
}

/// Whether programs wait for the compiler, by the builder, else by `TIDA_COMPILE`.
///
/// # Errors
/// [`ErrorKind::Argument`]: the variable says something else.
pub(super) fn compile(asked: Option<Compile>) -> Result<Compile, Error> {
    asked.map_or_else(|| compile_from(text_of("TIDA_COMPILE").as_deref()), Ok)
}

fn compile_from(text: Option<&str>) -> Result<Compile, Error> {
    match text {
        None | Some("auto") => Ok(Compile::Auto),
        Some("wait") => Ok(Compile::Wait),
        Some("beside") => Ok(Compile::Beside),
        Some(other) => Err(not_understood("TIDA_COMPILE", other, "set it to auto, wait or beside, or unset it")),
    }
}

/// The device that `TIDA_DEVICE` names; `None` for `auto` or nothing.
///
/// # Errors
/// [`ErrorKind::Device`]: it names none that tida knows.
pub(super) fn device() -> Result<Option<Device>, Error> {
    let Some(name) = text_of("TIDA_DEVICE").filter(|name| name != "auto") else { return Ok(None) };
    Device::from_name(&name).map(Some).ok_or_else(|| {
        Error::new(
            ErrorKind::Device,
            "choose a device from the environment variable TIDA_DEVICE",
            format!("`{name}`"),
            "set it to auto, cpu, cuda, opencl, sim or hybrid, or unset it",
        )
    })
}

/// Whether the program runs on several ranks, as the environment variable `TIDA_RANKS` says.
///
/// # Errors
/// A variable that is not understood.
pub(super) fn ranks() -> Result<Ranks, Error> {
    ranks_from(text_of("TIDA_RANKS").as_deref())
}

fn ranks_from(text: Option<&str>) -> Result<Ranks, Error> {
    match text {
        None | Some("off") => Ok(Ranks::Off),
        Some("mpi") => Ok(Ranks::Mpi),
        Some(other) => Err(not_understood("TIDA_RANKS", other, "set it to mpi or off, or unset it")),
    }
}

/// How long a rank waits for another one, as the environment variable `TIDA_RANKS_TIMEOUT` says.
///
/// # Errors
/// A variable that is not understood.
pub(super) fn ranks_timeout() -> Result<Option<Duration>, Error> {
    let Some(text) = text_of("TIDA_RANKS_TIMEOUT") else { return Ok(None) };
    let advice = "set it to a number of seconds, or unset it to wait for ever";
    seconds(&text).map(Some).ok_or_else(|| not_understood("TIDA_RANKS_TIMEOUT", &text, advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_march_is_a_number_or_auto() {
        assert_eq!(march_from(None).unwrap(), None);
        assert_eq!(march_from(Some("auto")).unwrap(), None);
        assert_eq!(march_from(Some("12")).unwrap(), Some(12));
        for bad in ["far", "0", "-1", "4294967296", " "] {
            let error = march_from(Some(bad)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument);
            assert!(error.to_string().contains("TIDA_MARCH") && error.found() == format!("`{bad}`"), "{error}");
        }
    }

    #[test]
    fn trials_are_asked_for_by_1() {
        assert_eq!([None, Some("0"), Some("1")].map(|text| tune_from(text).unwrap()), [false, false, true]);
        let error = tune_from(Some("yes")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("TIDA_TUNE") && error.found().contains("`yes`"), "{error}");
    }

    #[test]
    fn sweeps_run_as_one_unless_that_is_off() {
        assert_eq!([None, Some("auto"), Some("off")].map(|text| join_from(text).unwrap()), [true, true, false]);
        let error = join_from(Some("no")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("TIDA_JOIN") && error.found().contains("`no`"), "{error}");
    }

    #[test]
    fn programs_run_in_rounds_unless_that_is_off() {
        assert_eq!([None, Some("auto"), Some("off")].map(|text| rounds_from(text).unwrap()), [true, true, false]);
        let error = rounds_from(Some("3")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("TIDA_ROUNDS") && error.found().contains("`3`"), "{error}");
    }

    #[test]
    fn programs_wait_for_the_compiler_or_do_not() {
        let all = [None, Some("auto"), Some("wait"), Some("beside")].map(|text| compile_from(text).unwrap());
        assert_eq!(all, [Compile::Auto, Compile::Auto, Compile::Wait, Compile::Beside]);
        let error = compile_from(Some("later")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("TIDA_COMPILE") && error.found().contains("`later`"), "{error}");
    }

    #[test]
    fn ranks_are_those_of_mpi_or_off() {
        assert_eq!(
            [None, Some("off"), Some("mpi")].map(|t| ranks_from(t).unwrap()),
            [Ranks::Off, Ranks::Off, Ranks::Mpi]
        );
        let error = ranks_from(Some("4")).unwrap_err();
        assert!(error.tried().ends_with("TIDA_RANKS") && error.found() == "`4`", "{error}");
        assert_eq!(seconds("2.5"), Some(Duration::from_millis(2500)));
        assert_eq!(["0", "-1", "soon", "inf", "1e300"].map(seconds), [None; 5]);
    }

    #[test]
    fn threads_are_as_many_as_a_machine_may_have() {
        let most = most_threads();
        assert!((1024..=rayon::max_num_threads()).contains(&most));
        let none = |_: &str| None;
        for (asked, fine) in [(0, false), (1, true), (most, true), (most + 1, false), (usize::MAX, false)] {
            assert_eq!(check_threads(Some(asked), none).is_ok(), fine, "{asked}");
        }
        let with = |list: &[(&str, &str)]| {
            let found = |name: &str| list.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            check_threads(None, found).map_err(|error| error.tried().to_owned())
        };
        assert_eq!(with(&[]), Ok(None));
        assert_eq!(with(&[("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "99999999")]), Ok(None));
        assert!(with(&[("RAYON_NUM_THREADS", "many"), ("RAYON_RS_NUM_CPUS", "99999999")]).is_err());
        let of = |tida: &str| {
            let set =
                [("TIDA_THREADS", tida), ("RAYON_NUM_THREADS", "99999999")].map(|(n, v)| (n.to_owned(), v.to_owned()));
            let found = |name: &str| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.into());
            check_threads(None, found)
        };
        assert_eq!(of("3").unwrap(), Some(3));
        assert!(of("").is_err());
        for bad in ["0", "-1", "many", "1.5", "99999999"] {
            let error = of(bad).unwrap_err();
            assert!(error.tried().ends_with("TIDA_THREADS") && error.found() == format!("`{bad}`"), "{error}");
        }
        assert!(with(&[("RAYON_NUM_THREADS", "99999999")]).unwrap_err().contains("RAYON_NUM_THREADS"));
    }
}
