//! A small verified run of every example.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::Result;
use crate::shell::{command, fails, read, root, run, target};

/// Examples and their flags; `--device`, `--verify` and `--json` come on top. Every example has a line at least, and so
/// has every program of the gallery.
pub const RUNS: &[(&str, &str)] = &[
    ("heat", "--dims 1 --size 1000 --steps 20 --regions 3 --boundary reflect"),
    ("heat", "--dims 1 --size 1000 --steps 20 --regions 2 --boundary fixed --dtype f32"),
    ("heat", "--dims 2 --size 96 --steps 20 --regions 3x1 --boundary periodic --dtype f32"),
    ("heat", "--dims 2 --size 130 --steps 20 --regions 2x2 --tile 16x64 --boundary fixed"),
    ("heat", "--dims 3 --size 40 --steps 10 --regions 4 --boundary periodic --look-ahead 3"),
    ("heat", "--dims 3 --size 70 --steps 10 --regions 2x3x2 --boundary reflect --threads 1 --dtype f32"),
    ("heat", "--dims 3 --size 40 --steps 20 --regions 5 --boundary fixed --memory-limit 600000"),
    ("heat", "--dims 2 --size 200 --steps 30 --regions 4x1 --boundary reflect --memory-limit 200000"),
    ("sincos", "--size 16 --steps 4 --regions 4"),
    ("life", "--size 100 --steps 30 --regions 3"),
    ("jacobi", "--size 24 --steps 5000 --regions 2"),
    ("jacobi", "--size 24 --steps 5000 --regions 3 --dtype f32"),
    ("wave", "--size 64 --steps 40 --regions 3"),
    ("wave", "--size 100 --steps 40 --regions 2x1 --boundary periodic --dtype f32"),
    ("lbm", "--size 12 --steps 10 --regions 2"),
    ("lbm", "--size 12 --steps 10 --regions 3 --dtype f64"),
    ("lbm", "--size 12 --steps 10 --regions 3 --storage scaled --memory-limit 700000"),
    ("gallery", "adi --small --regions 3x2"),
    ("gallery", "adi --small --regions 4 --memory-limit 300000 --dtype f32"),
    ("gallery", "adi3d --small --regions 3x2x1"),
    ("gallery", "adi3d --small --regions 8 --memory-limit 800000"),
    ("gallery", "backprop --small --regions 3"),
    ("gallery", "bfs --small --regions 3"),
    // As many steps as Ghia's table takes; the others are for the bits.
    ("gallery", "cavity --size 24 --steps 4800"),
    ("gallery", "cavity --small --regions 3"),
    ("gallery", "cavity --small --regions 4 --memory-limit 60000"),
    ("gallery", "cg --small --regions 3x2x1"),
    ("gallery", "cg --small --regions 6 --memory-limit 300000"),
    ("gallery", "cylinder --small --regions 3"),
    ("gallery", "cylinder --small --regions 6 --memory-limit 900000"),
    ("gallery", "dam_break --small --regions 2"),
    ("gallery", "dyadic --small --regions 3"),
    ("gallery", "dyadic --small --regions 3 --dtype f64"),
    ("gallery", "euler --small --regions 3x2"),
    ("gallery", "euler --small --regions 5 --memory-limit 250000"),
    ("gallery", "fdtd2d --small --regions 3"),
    ("gallery", "fdtd2d --small --regions 3 --dtype f64"),
    ("gallery", "gemm --small --regions 3x2"),
    ("gallery", "gemm --small --regions 3x2 --dtype f64"),
    ("gallery", "gemm_groups --small --regions 3x2"),
    ("gallery", "hotspot --small --regions 3"),
    ("gallery", "hotspot --small --regions 3 --dtype f64"),
    ("gallery", "jacobi9 --small --regions 2x2 --boundary periodic"),
    ("gallery", "jacobi9 --small --regions 2x2 --boundary periodic --dtype f64"),
    ("gallery", "lbm2d --small --regions 3 --tile 8x32"),
    ("gallery", "lbm2d --small --regions 4 --memory-limit 150000"),
    ("gallery", "matrix_add --small --regions 4"),
    ("gallery", "matrix_add --small --regions 4 --dtype f64"),
    ("gallery", "multigrid --small --regions 2x3x1"),
    ("gallery", "multigrid --small --regions 4 --memory-limit 250000"),
    ("gallery", "multigrid_injection --small --regions 2x3x1"),
    ("gallery", "multigrid_injection --small --regions 4 --memory-limit 250000"),
    ("gallery", "multigrid_red_black --small --regions 2x3x1"),
    ("gallery", "multigrid_red_black --small --regions 4 --memory-limit 250000"),
    ("gallery", "nbody --small --regions 2"),
    ("gallery", "nbody_groups --small --regions 2"),
    ("gallery", "nearest_neighbour --small --regions 3"),
    ("gallery", "needleman_wunsch --small --regions 3x2"),
    ("gallery", "particles --small --regions 3x2"),
    ("gallery", "pathfinder --small --regions 3"),
    ("gallery", "poisson --small --regions 3"),
    ("gallery", "poisson --small --regions 6 --memory-limit 400000"),
    // Until the flow is a parabola.
    ("gallery", "poiseuille --size 16 --steps 4000"),
    ("gallery", "poiseuille --small --regions 3"),
    ("gallery", "ring --small --regions 2x2"),
    ("gallery", "ring --small --regions 5 --memory-limit 150000"),
    ("gallery", "seismic --small --regions 2"),
    ("gallery", "shallow_water --small --regions 2x2 --tile 16x30"),
    ("gallery", "shallow_water --small --regions 5 --memory-limit 80000"),
    ("gallery", "sobel --small --regions 3"),
    ("gallery", "sod --small --regions 2"),
    ("gallery", "sor --small --regions 2x2 --boundary reflect"),
    ("gallery", "sor --small --regions 3 --dtype f32"),
    ("gallery", "sor --small --regions 5 --memory-limit 100000"),
    ("gallery", "srad --small --regions 2x2"),
    ("gallery", "srad --small --regions 5 --memory-limit 30000"),
    ("gallery", "stencil1d --small --regions 3"),
    ("gallery", "stencil1d --small --regions 3 --dtype f64"),
    ("gallery", "summed_area --small --regions 3x2"),
    ("gallery", "summed_area --small --regions 5 --memory-limit 100000"),
    ("gallery", "tree_reduction --small --regions 3 --tile 1024"),
    ("gallery", "tree_reduction --small --regions 3 --tile 1024 --dtype f64"),
    ("gallery", "vector_product --small --regions 3 --tile 1000"),
    ("gallery", "vector_product --small --regions 3 --tile 1000 --dtype f64"),
];

/// The one example that holds many programs: the first of its words names one.
const GALLERY: &str = "gallery";

/// Its files that are no programs.
const NO_PROGRAMS: [&str; 7] =
    ["main", "plain", "euler_plain", "lattice", "lattice_plain", "multigrid_plain", "seismic_plain"];

/// Programs that share a file with another one.
const BESIDE_OTHERS: [&str; 2] = ["multigrid_injection", "multigrid_red_black"];

/// Devices that every example runs on; PoCL makes OpenCL run on any machine.
const DEVICES: [&str; 2] = ["cpu", "opencl"];

/// The largest difference from plain loops that is right.
///
/// Every device gives the bits of plain loops, except in functions that are the device's own library: the sine and
/// cosine of `sincos` differ in the last bits there, and so does the exponential of `backprop`, in `f32`, whose results
/// lie below 1.
fn largest_error(example: &str, device: &str) -> f64 {
    match example {
        _ if device == "cpu" => 0.0,
        "sincos" => 1e-12,
        "backprop" => 1e-6,
        _ => 0.0,
    }
}

/// Keys of the object that `--json` prints.
const KEYS: [&str; 12] = [
    "example",
    "device",
    "dtype",
    "size",
    "dims",
    "steps",
    "regions",
    "cells_per_second",
    "seconds",
    "max_abs_error",
    "h2d_bytes",
    "d2h_bytes",
];

/// Builds the examples and runs each.
pub fn examples(features: &str) -> Result<()> {
    every_example_has_a_run()?;
    // With what the tests were built with: anything else would be compiled anew.
    run(command("cargo build --workspace --examples --quiet --features").arg(features))?;
    let explained = read(&mut Command::new(target().join("debug/examples/explain")))?;
    if explained.matches("registers:").count() + explained.matches("not compiled:").count() < 7 {
        return Err(format!("the example explain does not show its seven kernels: {explained}"));
    }
    let mut jobs: Vec<Job> = Vec::new();
    // The longest first. (PoCL keeps what it has compiled, so what runs on both comes when that is there.)
    jobs.push(Box::new(|| whole_gallery("opencl", "opencl")));
    for device in DEVICES {
        for (example, flags) in RUNS.iter().filter(|(example, _)| device == "cpu" || *example != GALLERY) {
            jobs.push(Box::new(move || verified(example, flags, device, device)));
        }
        jobs.push(Box::new(move || timelines(device)));
    }
    // On the CPU and PoCL at once. `sincos` and `backprop` cannot: they run on PoCL alone.
    jobs.push(Box::new(|| whole_gallery("hybrid", "opencl")));
    for (example, flags) in RUNS.iter().filter(|(example, _)| *example != GALLERY) {
        if flags.contains("--regions") && !flags.contains("memory") {
            jobs.push(Box::new(move || verified(example, flags, "hybrid", "opencl")));
        }
    }
    jobs.push(Box::new(pictures));
    jobs.push(Box::new(says_where));
    side_by_side(&jobs)
}

/// A run, or a few; it gives what is said of it.
type Job = Box<dyn Fn() -> Result<String> + Sync>;

/// That a run says in one line on standard error what it runs on, and where the best was asked for, why not on more;
/// and that what it is told beside that is checked.
fn says_where() -> Result<String> {
    let run = |words: &str| -> Result<(bool, String, String)> {
        let mut program = Command::new(target().join("debug/examples/heat"));
        program.args("--dims 1 --size 8 --steps 1 --json".split_whitespace()).args(words.split_whitespace());
        program.env_remove("TIDA_DEVICE");
        let output = program.output().map_err(|e| format!("tried to run heat; found: {e}"))?;
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok((output.status.success(), out, err))
    };
    let wrong = |words: &str, said: &str| Err(format!("heat {words} does not say what it should, but: {said}"));
    for (words, start, fallback) in
        [("--device cpu", "heat runs on CPU, ", false), ("--device sim", "heat runs on a simulated device, ", false)]
            .into_iter()
            .chain([("--device auto", "heat runs on ", true)])
    {
        let (_, out, err) = run(words)?;
        let on_cpu = err.starts_with("heat runs on CPU, ");
        let reason = !fallback || !on_cpu || err.contains(" (no CUDA: tried to ");
        if err.lines().count() != 1 || !err.starts_with(start) || !reason || !out.starts_with('{') {
            return wrong(words, &(err + &out));
        }
    }
    let words = "--device cpu --threads 1099511627776";
    let (well, _, err) = run(words)?;
    if well || !err.contains("`threads`") || !err.contains("found 1099511627776;") {
        return wrong(words, &err);
    }
    Ok("heat says what it runs on".into())
}

/// The gallery as one run on a device: a report of each program. On PoCL, which compiles for most of the time, one
/// process takes less than half of what one a program takes.
fn whole_gallery(device: &str, reported: &str) -> Result<String> {
    let mut program = Command::new(target().join("debug/examples").join(GALLERY));
    program.args(["all", "--small", "--regions", "2", "--device", device, "--verify", "--json"]).current_dir(root());
    // Each draws over the one before.
    program.arg("--png").arg(target().join(format!("gallery-{device}.png")));
    on_pocl(&mut program, reported);
    let text = read(&mut program)?;
    let names = rust_files(&root().join("examples").join(GALLERY))?;
    let mut programs: Vec<&str> = names.iter().map(String::as_str).filter(|n| !NO_PROGRAMS.contains(n)).collect();
    programs.extend(BESIDE_OTHERS);
    programs.sort_unstable();
    if text.lines().count() != programs.len() {
        return Err(format!("gallery all does not report {}; it says: {text}", programs.join(", ")));
    }
    for (name, line) in programs.iter().zip(text.lines()) {
        max_abs_error(name, reported, line).map_err(|e| format!("gallery {name} --device {device}: {e}"))?;
    }
    Ok(format!("gallery all --small --regions 2 --device {device}: {} programs", programs.len()))
}

/// Does jobs side by side, as many as there are processors: most of them wait for a compiler, which uses one.
fn side_by_side(jobs: &[Job]) -> Result<()> {
    let next = AtomicUsize::new(0);
    let worker = || -> Result<()> {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            // After a failure nothing more is started.
            let said = job().inspect_err(|_| next.store(jobs.len(), Ordering::Relaxed))?;
            println!("   {said}");
        }
        Ok(())
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a run panicked".to_owned())?)
    })
}

/// What PoCL needs. It keeps what it compiled; for a cache of ours it would compile each kernel a second time.
fn on_pocl(program: &mut Command, reported: &str) {
    if reported == "opencl" {
        program.env("TIDA_DEVICE", reported).env("TIDA_CACHE_DIR", "");
    }
}

/// One run on a device, compared with plain loops; `reported` is the device that it names.
fn verified(example: &str, flags: &str, device: &str, reported: &str) -> Result<String> {
    let mut program = Command::new(target().join("debug/examples").join(example));
    program.args(flags.split_whitespace()).args(["--device", device, "--verify", "--json"]).current_dir(root());
    on_pocl(&mut program, reported);
    let said = format!("{example} {flags} --device {device}");
    let error = read(&mut program)
        .and_then(|text| max_abs_error(program_of(example, flags), reported, &text))
        .map_err(|e| format!("{said}: {e}"))?;
    Ok(format!("{said}: max_abs_error {error:e}"))
}

/// A run that writes what ran when, as a trace and as a picture.
fn timelines(device: &str) -> Result<String> {
    for (ending, has) in [("json", &is_trace as &dyn Fn(&str) -> bool), ("svg", &is_picture)] {
        let file = target().join(format!("timeline-{device}.{ending}"));
        let mut program = Command::new(target().join("debug/examples/heat"));
        program.args(["--size", "48", "--steps", "6", "--regions", "3", "--device", device, "--timeline"]).arg(&file);
        let told = read(program.current_dir(root()))?;
        let text = std::fs::read_to_string(&file).map_err(|e| format!("heat wrote no {}: {e}", file.display()))?;
        if !has(&text) || !told.contains("busy in ") {
            return Err(format!("heat --timeline {} --device {device} has no spans; it says: {told}", file.display()));
        }
    }
    Ok(format!("heat --timeline --device {device}"))
}

/// A run that draws its result and its steps, and one of a program without steps to show.
fn pictures() -> Result<String> {
    let [still, film] = ["picture.png", "animation.png"].map(|name| target().join(name));
    let mut heat = Command::new(target().join("debug/examples/heat"));
    heat.args("--dims 2 --size 48 --steps 5 --png".split(' ')).arg(&still).arg("--animate").arg(&film);
    read(heat.current_dir(root()))?;
    for (file, animated) in [(still, false), (film.clone(), true)] {
        let bytes = std::fs::read(&file).map_err(|e| format!("heat wrote no {}: {e}", file.display()))?;
        let has_frames = bytes.windows(4).any(|chunk| chunk == b"acTL");
        if !bytes.starts_with(b"\x89PNG") || has_frames != animated {
            return Err(format!("{} is not what heat should have drawn", file.display()));
        }
    }
    let mut gemm = Command::new(target().join("debug/examples").join(GALLERY));
    fails(gemm.args(["gemm", "--small", "--animate"]).arg(&film), "a program without steps to show")?;
    Ok("heat --png --animate".into())
}

fn is_trace(text: &str) -> bool {
    let trace: Value = serde_json::from_str(text).unwrap_or_default();
    trace["traceEvents"].as_array().is_some_and(|events| events.iter().any(|event| event["ph"] == "X"))
}

fn is_picture(text: &str) -> bool {
    text.starts_with("<svg ") && text.trim_end().ends_with("</svg>") && text.contains("<title>")
}

/// The name that a run reports.
pub fn program_of<'a>(example: &'a str, flags: &'a str) -> &'a str {
    if example == GALLERY { flags.split_whitespace().next().unwrap_or_default() } else { example }
}

fn every_example_has_a_run() -> Result<()> {
    let folder = root().join("examples");
    let with_no_run = ["explain"];
    for (folder, left_out) in [(folder.clone(), &with_no_run[..]), (folder.join(GALLERY), &NO_PROGRAMS[..])] {
        for name in rust_files(&folder)? {
            if !left_out.contains(&name.as_str()) && !RUNS.iter().any(|(run, flags)| program_of(run, flags) == name) {
                let file = folder.join(name);
                return Err(format!(
                    "{}.rs is not run; add a line for it to RUNS in xtask/src/smoke.rs",
                    file.display()
                ));
            }
        }
    }
    Ok(())
}

/// The names of the Rust files in a folder, without their ending.
fn rust_files(folder: &Path) -> Result<Vec<String>> {
    let problem = |e: std::io::Error| format!("tried to list {}; found: {e}", folder.display());
    let mut names = Vec::new();
    for file in std::fs::read_dir(folder).map_err(problem)? {
        let path = file.map_err(problem)?.path();
        if path.extension().is_some_and(|e| e == "rs") {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    Ok(names)
}

/// The error in the object that an example printed, checked.
fn max_abs_error(example: &str, device: &str, text: &str) -> Result<f64> {
    let object: Value = serde_json::from_str(text).map_err(|e| format!("--json printed no object ({e}): {text}"))?;
    if let Some(key) = KEYS.iter().find(|key| object.get(key).is_none()) {
        return Err(format!("the object of --json has no {key}: {text}"));
    }
    if object["example"] != *example {
        return Err(format!("the object of --json is not of {example}: {text}"));
    }
    if object["device"] != *device {
        return Err(format!("the object of --json is not of a run on {device}: {text}"));
    }
    let largest = largest_error(example, device);
    match object["max_abs_error"].as_f64() {
        Some(error) if error <= largest => Ok(error),
        _ => Err(format!("max_abs_error is {}, above {largest}", object["max_abs_error"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(example: &str, device: &str, error: &str) -> String {
        let fields = KEYS.map(|key| match key {
            "example" => format!(r#""example": "{example}""#),
            "device" => format!(r#""device": "{device}""#),
            "max_abs_error" => format!(r#""max_abs_error": {error}"#),
            key => format!(r#""{key}": 1"#),
        });
        format!("{{{}}}", fields.join(", "))
    }

    #[test]
    fn a_wrong_result_is_caught() {
        let heat = |error: &str| object("heat", "cpu", error);
        let check = |text: &str| max_abs_error("heat", "cpu", text);
        assert_eq!(check(&heat("0.0")), Ok(0.0));
        assert!(check(&heat("1e-13")).is_err());
        assert!(check(&heat("null")).is_err());
        assert!(check(&heat("0.0").replace("d2h_bytes", "x")).is_err());
        assert!(check("done").is_err());
        assert!(max_abs_error("wave", "cpu", &heat("0.0")).is_err());
        assert!(max_abs_error("heat", "opencl", &heat("0.0")).is_err());
    }

    /// The programs compare themselves with plain loops and with what is published.
    #[test]
    #[ignore = "takes minutes, and builds the gallery with optimisation"]
    fn long_flows_are_those_of_the_literature() {
        run(&mut command("cargo build --release --example gallery --quiet")).unwrap();
        for words in ["cavity --reynolds 1000 --size 128 --steps 64000", "cylinder --size 320 --steps 12000"] {
            let mut program = Command::new(target().join("release/examples").join(GALLERY));
            let said = read(program.args(words.split_whitespace()).args(["--device", "cpu", "--verify"])).unwrap();
            println!("{said}");
            assert!(said.contains("from Ghia's table") || said.contains("Strouhal number"), "{said}");
        }
    }

    #[test]
    fn all_runs_are_done_and_a_failure_is_told() {
        let done = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let jobs = |names: &[&'static str]| -> Vec<Job> {
            let job = |name: &'static str| {
                let done = done.clone();
                Box::new(move || {
                    done.lock().unwrap().push(name);
                    if name == "f" { Err("no f".to_owned()) } else { Ok(String::new()) }
                }) as Job
            };
            names.iter().map(|name| job(name)).collect()
        };
        assert_eq!(side_by_side(&jobs(&["a", "b", "c", "d", "e"])), Ok(()));
        done.lock().unwrap().sort_unstable();
        assert_eq!(*done.lock().unwrap(), ["a", "b", "c", "d", "e"]);
        assert_eq!(side_by_side(&jobs(&["a", "f", "c"])), Err("no f".to_owned()));
    }

    #[test]
    fn programs_of_the_gallery_report_their_own_names() {
        assert_eq!(program_of("gallery", "gemm --small"), "gemm");
        assert_eq!(program_of("heat", "--dims 1"), "heat");
        assert_eq!(every_example_has_a_run(), Ok(()));
    }

    #[test]
    fn timelines_without_spans_are_caught() {
        assert!(is_trace(r#"{"traceEvents":[{"ph":"M"},{"ph":"X"}]}"#));
        assert!(!is_trace(r#"{"traceEvents":[{"ph":"M"}]}"#) && !is_trace("{"));
        assert!(is_picture("<svg ><rect><title>a</title></rect></svg>\n"));
        assert!(!is_picture("<svg ></svg>\n") && !is_picture("<svg ><title>"));
    }

    #[test]
    fn only_library_functions_of_other_devices_may_differ() {
        let check = |example, device| max_abs_error(example, device, &object(example, device, "1e-13"));
        assert_eq!(check("sincos", "opencl"), Ok(1e-13));
        assert!(check("sincos", "cpu").is_err());
        assert_eq!(check("backprop", "opencl"), Ok(1e-13));
        assert!(check("backprop", "cpu").is_err());
        assert!(check("heat", "opencl").is_err());
        assert!(max_abs_error("sincos", "opencl", &object("sincos", "opencl", "1e-11")).is_err());
    }
}
