//! Settings that cannot be come back at once, with an error that names them, says what was found and what is allowed.

use std::ffi::{OsStr, OsString};
use std::process::Command;
use std::time::Duration;

use tida::acc::TileAccBuilder;
use tida::prelude::*;
use tida::{Cache, Fuse, SimDevice};

use tida_apart::expect;

/// What a setting that cannot be leads to: an error with all of these in its text, before anything starts.
#[track_caller]
fn refused(builder: TileAccBuilder, parts: &[&str]) {
    expect(builder.build().map(drop), ErrorKind::Argument, parts);
}

/// A few steps of a small program.
fn program(acc: &TileAcc) -> tida::Result<Vec<f64>> {
    let mut u = TileArray::<f64, 2>::builder([12, 70]).regions([3, 1]).ghost(1).build(acc)?;
    u.fill(|[j, i]| (j * 100 + i) as f64)?;
    let mut next = u.like()?;
    for _ in 0..3 {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 0.5 * u[at] + 1.0))?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    acc.sync()?;
    u.read_box(u.domain())
}

/// That a program runs with a setting as it does without.
#[track_caller]
fn runs(builder: TileAccBuilder) {
    let wanted = program(&tida_apart::on_cpu()).unwrap();
    assert_eq!(program(&builder.threads(2).build().unwrap()).unwrap(), wanted);
}

fn on(device: Device) -> TileAccBuilder {
    TileAcc::builder().device(device)
}

#[test]
fn threads_that_no_machine_has() {
    for device in [Device::Cpu, Device::Sim, Device::Hybrid] {
        for threads in [0, 1 << 40, usize::MAX] {
            refused(on(device).threads(threads), &["`threads`", &format!("found {threads};"), "ask for 1 to "]);
        }
    }
    let error = on(Device::Cpu).threads(usize::MAX).build().unwrap_err();
    let most: usize = error.advice().split("1 to ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(most >= 1024, "{error}");
    refused(on(Device::Cpu).threads(most + 1), &["`threads`"]);
    assert_eq!(on(Device::Cpu).threads(100).build().unwrap().threads(), 100);
}

#[test]
fn a_look_ahead_and_a_limit_of_nothing() {
    refused(on(Device::Cpu).look_ahead(0), &["`look_ahead`", "found 0;", "at least 1"]);
    refused(on(Device::Sim).memory_limit(0), &["`memory_limit`", "found 0 bytes;", "at least 1"]);
    for device in [Device::Cpu, Device::Sim] {
        runs(on(device).look_ahead(usize::MAX));
        runs(on(device).look_ahead(1));
        runs(on(device).memory_limit(u64::MAX));
    }
    // That a limit is too small for some work, that work says.
    let error = program(&on(Device::Sim).memory_limit(1).build().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    assert!(error.to_string().contains("limit"), "{error}");
}

#[test]
fn a_share_of_loops_on_both_sides() {
    for device in [Device::Cpu, Device::Sim] {
        refused(on(device).hybrid_share(1.5), &["`hybrid_share`", "found 1.5;", "from 0"]);
        refused(on(device).hybrid_share(f64::NAN), &["`hybrid_share`", "found NaN;"]);
        runs(on(device).hybrid_share(0.0));
        runs(on(device).hybrid_share(1.0));
    }
}

#[test]
fn times_and_bytes_of_any_size() {
    for device in [Device::Cpu, Device::Sim] {
        runs(on(device).patience(Duration::ZERO));
        runs(on(device).patience(Duration::MAX));
        runs(on(device).stream_from(0));
        runs(on(device).stream_from(u64::MAX));
    }
}

#[test]
fn bytes_with_units() {
    let wrong = ["found `2 gigs`;", "such as `2GiB`, `512 MiB` or `1.5GB`"];
    refused(on(Device::Sim).memory_limit("2 gigs"), &["limit the bytes", "`memory_limit`", wrong[0], wrong[1]]);
    refused(on(Device::Cpu).stream_from("2 gigs"), &["`stream_from`", wrong[0], wrong[1]]);
    refused(TileAcc::builder().simulate(SimDevice::new().memory("2 gigs")), &["found memory of `2 gigs`;", wrong[1]]);
    runs(TileAcc::builder().simulate(SimDevice::new().memory("2 gigs").memory("64 MiB")));
    let memory = |bytes: SimDevice| {
        let acc = TileAcc::builder().simulate(bytes).build().unwrap();
        acc.device_memory().unwrap().0
    };
    assert_eq!(memory(SimDevice::new().memory("1.5 MiB")), 3 << 19);
    assert_eq!(memory(SimDevice::new().memory(3 << 19)), 3 << 19);
    for device in [Device::Cpu, Device::Sim] {
        runs(on(device).memory_limit("2GiB").stream_from(String::from("1 kB")));
    }
    // A limit in text limits as one in bytes does.
    let error = program(&on(Device::Sim).memory_limit("0.5KiB").build().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    assert!(error.to_string().contains("512"), "{error}");
}

/// A builder builds several accelerators, as one of arrays builds several arrays.
#[test]
fn a_builder_builds_several() {
    let builder = TileAcc::builder().simulate(SimDevice::new().memory("1 MiB")).threads(2);
    let (a, b) = (builder.build().unwrap(), builder.build().unwrap());
    program(&a).unwrap();
    assert!(a.stats().launches > 0);
    assert_eq!(b.stats().launches, 0);
    assert_eq!(b.device_memory().map(|(all, _)| all), Some(1 << 20));
    let mut u = TileArray::<f64, 1>::builder([4]).build(&a).unwrap();
    let v = TileArray::<f64, 1>::builder([4]).build(&b).unwrap();
    let tile = TileIter::new(&u).next().unwrap();
    assert!(compute(&tile, (&mut u, &v), kernel!(|u, v, at| u[at] = v[at])).is_err(), "they are two");
}

#[test]
fn steps_and_marches_of_nothing() {
    for steps in [0, u32::MAX] {
        let found = format!("found `{steps}` as steps, which is a number from 1 to ");
        refused(on(Device::Cpu).fuse(Fuse::Steps(steps)), &["`fuse`", "TIDA_FUSE", &found]);
    }
    refused(on(Device::Cpu).plan("", Some(0)), &["`plan`", "TIDA_MARCH", "found 0", "at least 1"]);
    refused(on(Device::Cpu).plan("no-\u{fffd}", None), &["TIDA_PLAN", "`no-\u{fffd}`"]);
    runs(on(Device::Sim).plan("", Some(u32::MAX)));
}

#[test]
fn devices_that_cannot_be_simulated() {
    let sim = SimDevice::new;
    let wrong = |device: SimDevice, parts: &[&str]| refused(TileAcc::builder().simulate(device), parts);
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        wrong(sim().upload(speed, 0.0), &["upload", "above 0"]);
        wrong(sim().download(speed, 0.0), &["download", "above 0"]);
        wrong(sim().kernels(speed, 0.0), &["kernels", "above 0"]);
        wrong(sim().memory_speed(speed), &["memory", "above 0"]);
    }
    for latency in [-1.0, f64::NAN, f64::INFINITY] {
        wrong(sim().upload(1e9, latency), &["upload", "0 or more"]);
    }
    for engines in [0, 3, usize::MAX] {
        wrong(sim().copy_engines(engines), &[&format!("{engines} copy engines"), "1 or 2"]);
    }
    wrong(sim().fail_kernel(0), &["kernel 0", "from 1"]);
    wrong(sim().fail_allocation(0), &["allocation 0", "from 1"]);
    wrong(sim().memory(0), &["0 bytes of memory", "at least 1"]);
    runs(TileAcc::builder().simulate(sim().memory(u64::MAX)));
    runs(TileAcc::builder().simulate(sim().fail_kernel(u64::MAX).fail_allocation(u64::MAX)));
    // A clock that stands still at its end counts no further, and nothing else happens.
    for slow in [1e-300, 1e-9, 1.0] {
        runs(TileAcc::builder().simulate(sim().upload(slow, 0.0).download(slow, 1e300)));
        runs(TileAcc::builder().simulate(sim().kernels(slow, 1e12).memory_speed(slow)));
    }
}

#[test]
fn tiles_that_cannot_be() {
    for acc in [tida_apart::on_cpu(), on(Device::Sim).threads(2).build().unwrap()] {
        let u = TileArray::<f64, 2>::builder([12, 70]).ghost(1).build(&acc).unwrap();
        let mut next = u.like().unwrap();
        let mut over = |tiles: TileIter<2>| -> tida::Result<()> {
            for tile in tiles {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at]))?;
            }
            acc.sync()
        };
        let tiles = || TileIter::new(&u);
        expect(over(tiles().march(0)), ErrorKind::Argument, &["march", "found 0 cells", "at least 1"]);
        expect(over(tiles().march(0).tile_size([4, 64])), ErrorKind::Argument, &["march"]);
        expect(over(tiles().tile_size([0, 4])), ErrorKind::Argument, &["tile size of 0 on axis 0"]);
        expect(over(tiles().grown(usize::MAX)), ErrorKind::Ghost, &["grown by 18446744073709551615", "1 ghost"]);
        for block in [[0, 1], [usize::MAX, 2], [usize::MAX; 2], [1, 1025]] {
            expect(over(tiles().thread_block(block)), ErrorKind::Argument, &["threads", "at least 1", "at most"]);
        }
        expect(over(tiles().cache(usize::MAX, Cache::Tile)), ErrorKind::Argument, &["argument 18446744073709551615"]);
        over(tiles().march(usize::MAX)).unwrap();
        over(tiles().tile_size([usize::MAX; 2])).unwrap();
        over(tiles().within([i64::MIN; 2], [i64::MAX; 2])).unwrap();
        over(tiles().within([i64::MAX; 2], [i64::MIN; 2])).unwrap();
        let explained = |tile: &Tile<2>| {
            let next = u.like().unwrap();
            tida::explain_tile(tile, (&next, &u), kernel!(|next, u, at| next[at] + u[at])).map(drop)
        };
        expect(explained(&tiles().march(0).next().unwrap()), ErrorKind::Argument, &["march"]);
    }
}

#[test]
fn arrays_that_cannot_be() {
    let acc = tida_apart::on_cpu();
    let builder = |cells: [usize; 2]| TileArray::<f64, 2>::builder(cells);
    let wrong = |found: tida::Result<TileArray<f64, 2>>, kind: ErrorKind, part: &str| {
        expect(found.map(drop), kind, &["build an array of f64 with shape", part]);
    };
    wrong(builder([0, 4]).build(&acc), ErrorKind::Shape, "0 cells on axis 0");
    wrong(builder([4, usize::MAX]).build(&acc), ErrorKind::Shape, "cells on axis 1; use at most 1099511627776");
    wrong(builder([1 << 40, 1 << 40]).build(&acc), ErrorKind::Shape, "more bytes than an address can count");
    wrong(builder([4, 4]).regions([0, 1]).build(&acc), ErrorKind::Shape, "0 regions on axis 0");
    wrong(builder([4, 4]).regions([usize::MAX, 1]).build(&acc), ErrorKind::Shape, "at most 4 are possible");
    wrong(builder([4, 4]).region_size([0, 1]).build(&acc), ErrorKind::Shape, "a region size of 0");
    wrong(builder([4, 4]).ghost(usize::MAX).build(&acc), ErrorKind::Ghost, "the thinnest region has 4 cells");
    builder([4, 4]).region_size([usize::MAX; 2]).build(&acc).unwrap();
}

/// A process of [`said_with`].
#[test]
#[ignore = "runs as a child"]
fn child_builds() {
    match TileAcc::auto() {
        Ok(acc) => println!("<built on {}, {} threads: {acc}>", acc.device().name(), acc.threads()),
        Err(error) => println!("<{:?} {error}>", error.kind()),
    }
}

/// What `TileAcc::auto` says in a process with these in its environment and no other such setting.
fn said_with(set: &[(&str, &OsStr)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child_builds", "--ignored", "--nocapture"]);
    let settings = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDA_"));
    settings.for_each(|(name, _)| {
        child.env_remove(name);
    });
    let output = child.env("TIDA_CACHE_DIR", "").envs(set.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.split_once('<').and_then(|(_, rest)| rest.rsplit_once('>')).map(|(said, _)| said.to_owned());
    said.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Values that mean nothing to anyone, and text that is none.
fn garbage() -> Vec<OsString> {
    let mut all: Vec<OsString> =
        ["-1", "x", "1.5", "99999999999999999999999999", "1 2", "0x10"].map(OsString::from).into();
    #[cfg(unix)]
    all.push(std::os::unix::ffi::OsStringExt::from_vec(vec![b'1', 0xff]));
    all
}

#[test]
fn variables_that_mean_nothing() {
    // Whatever the device: who sets one that is not understood hears of it.
    let numbers = ["TIDA_MEMORY_LIMIT", "TIDA_PINNED_LIMIT", "TIDA_MARCH", "TIDA_CUDA_DEVICE", "TIDA_THREADS"];
    let others = ["TIDA_TUNE", "TIDA_FUSE", "TIDA_PLAN", "TIDA_DEVICE"];
    for device in ["cpu", "sim"] {
        for name in numbers.into_iter().chain(others) {
            for value in garbage() {
                let device = if name == "TIDA_DEVICE" { None } else { Some(("TIDA_DEVICE", OsStr::new(device))) };
                let set: Vec<_> = device.into_iter().chain([(name, value.as_os_str())]).collect();
                let said = said_with(&set);
                let kind = if name == "TIDA_DEVICE" { "Device" } else { "Argument" };
                assert!(said.starts_with(&format!("{kind} tried to ")), "{set:?}: {said}");
                let shown = value.to_string_lossy();
                assert!(said.contains(name) && said.contains(&format!("`{shown}`")), "{set:?}: {said}");
            }
            // Nothing means what it means not to be set.
            let said = said_with(&[("TIDA_DEVICE", OsStr::new(device)), (name, OsStr::new(""))]);
            assert!(said.starts_with("built on "), "{name}: {said}");
        }
    }
}

#[test]
fn variables_out_of_range() {
    let said = |set: &[(&str, &str)]| {
        let set: Vec<_> = set.iter().map(|(name, value)| (*name, OsStr::new(*value))).collect();
        said_with(&set)
    };
    let cpu = ("TIDA_DEVICE", "cpu");
    for (name, value, parts) in [
        ("TIDA_MARCH", "0", ["found `0`", "from 1 to 4294967295"]),
        ("TIDA_MEMORY_LIMIT", "0", ["found 0 bytes", "at least 1"]),
        ("TIDA_MEMORY_LIMIT", "2 gigs", ["found `2 gigs`", "such as `2GiB`, `512 MiB` or `1.5GB`"]),
        ("TIDA_PINNED_LIMIT", "16777216TiB", ["found `16777216TiB`", "2000000"]),
        ("TIDA_THREADS", "0", ["found `0`", "from 1 to "]),
        ("TIDA_THREADS", "1099511627776", ["found `1099511627776`", "from 1 to "]),
        ("TIDA_FUSE", "0", ["found `0` as steps", "from 1 to"]),
        ("TIDA_FUSE", "depth=3,block=1024x1024", ["block of 1024 x 1024 threads", "at most 1024"]),
        ("RAYON_NUM_THREADS", "1099511627776", ["found 1099511627776", "at most"]),
        ("RAYON_RS_NUM_CPUS", "1099511627776", ["found 1099511627776", "at most"]),
    ] {
        let text = said(&[cpu, (name, value)]);
        assert!(text.starts_with("Argument tried to ") && text.contains(name), "{name}={value}: {text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{name}={value}: {text}");
    }
    assert!(
        said(&[cpu, ("TIDA_PINNED_LIMIT", "0"), ("RAYON_NUM_THREADS", "3")]).starts_with("built on cpu, 3 threads")
    );
    let threads = [("TIDA_THREADS", "2"), ("RAYON_NUM_THREADS", "3"), ("TIDA_PINNED_LIMIT", "1.5 GiB")];
    assert!(said(&[&[cpu], &threads[..]].concat()).starts_with("built on cpu, 2 threads"));
    let limited = said(&[("TIDA_DEVICE", "sim"), ("TIDA_MEMORY_LIMIT", "0.5 MiB")]);
    assert!(limited.starts_with("built on sim, "), "{limited}");
    assert!(said(&[cpu, ("RAYON_NUM_THREADS", "many")]).starts_with("built on cpu, "));
    assert!(said(&[cpu, ("TIDA_MARCH", "4294967295")]).starts_with("built on cpu, "));
}

/// Which of several devices, by the builder: before the variable, and with an error that lists them.
#[test]
fn a_device_by_its_number() {
    let named = |builder: TileAccBuilder| builder.build().map(|acc| acc.to_string());
    // Of another kind than the one that is used: nothing to choose.
    runs(on(Device::Cpu).cuda_device(7).opencl_device("no such device"));
    runs(on(Device::Sim).cuda_device(7).opencl_device("no such device"));
    match named(on(Device::Cuda)) {
        Ok(_) => {
            let error = named(on(Device::Cuda).cuda_device(999)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument);
            assert!(error.tried().contains("`cuda_device(999)` names"), "{error}");
            assert!(error.found().starts_with("the devices 0: "), "{error}");
            assert!(named(on(Device::Cuda).cuda_device(0)).is_ok());
        }
        Err(error) => assert_eq!(named(on(Device::Cuda).cuda_device(1)).unwrap_err().kind(), error.kind()),
    }
    let Ok(opencl) = named(on(Device::OpenCl)) else { return eprintln!("SKIPPED: no OpenCL device") };
    for builder in [on(Device::OpenCl).opencl_device(999), on(Device::OpenCl).opencl_device("no such device")] {
        let error = named(builder).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.tried().contains("`opencl_device(") && error.found().starts_with("the devices 0: "), "{error}");
        assert!(error.advice().contains("`opencl_device` the number of one"), "{error}");
    }
    // Each that the error lists is there by its number, or says why not.
    let error = named(on(Device::OpenCl).opencl_device(999)).unwrap_err();
    let list: Vec<&str> = error.found().strip_prefix("the devices ").unwrap().split("; ").collect();
    assert!(list.iter().enumerate().all(|(n, one)| one.starts_with(&format!("{n}: "))), "{error}");
    let opened = (0..list.len()).map(|n| (list[n], named(on(Device::OpenCl).opencl_device(n))));
    let mut opened: Vec<_> = opened.filter_map(|(listed, opened)| Some((listed, opened.ok()?))).collect();
    assert!(!opened.is_empty());
    for (listed, opened) in &opened {
        let name = listed.split_once(": ").unwrap().1;
        assert!(opened.contains(name), "{opened}: {name}");
    }
    opened.retain(|(_, opened)| *opened == opencl);
    assert!(!opened.is_empty(), "the one that is taken if nothing is said is one of them");
}

/// A device that is named is replaced by no other.
#[test]
fn a_named_device_that_is_not_there() {
    if said_with(&[("TIDA_DEVICE", OsStr::new("opencl"))]).starts_with("Device") {
        return eprintln!("SKIPPED: no OpenCL device");
    }
    if said_with(&[]).starts_with("built on cuda") {
        return eprintln!("SKIPPED: a CUDA device comes first");
    }
    for value in ["no such device", "999", "-1"].map(OsString::from).into_iter().chain(garbage().pop()) {
        let said = said_with(&[("TIDA_OPENCL_DEVICE", &value)]);
        let wanted = format!("TIDA_OPENCL_DEVICE={} names; found the devices 0: ", value.to_string_lossy());
        assert!(said.starts_with("Argument ") && said.contains(&wanted), "{value:?}: {said}");
    }
}

#[test]
fn an_accelerator_says_what_it_runs_on_and_why_not_on_more() {
    let said = |device: &str| {
        let said = said_with(&[("TIDA_DEVICE", OsStr::new(device)), ("RAYON_NUM_THREADS", OsStr::new("3"))]);
        assert!(!said.contains('\n'), "{said}");
        said
    };
    let cpu = said("cpu");
    let cpu = cpu.strip_prefix("built on cpu, 3 threads: ").unwrap();
    // Nothing else was looked for.
    assert!(cpu.starts_with("CPU, 3 threads, ") && !cpu.contains('('), "{cpu}");
    assert_eq!(said("sim"), "built on sim, 3 threads: a simulated device, 1 GiB of 1 GiB free, 3 threads beside it");
    let auto = said("auto");
    if auto.starts_with("built on cpu, ") {
        assert!(auto.contains(&format!("{cpu} (no CUDA: tried to ")), "{auto}");
        assert!(auto.contains("; no OpenCL GPU: tried to ") && auto.ends_with(')'), "{auto}");
        let hybrid = said("hybrid");
        assert_eq!(hybrid, auto);
    } else {
        assert!(auto.ends_with("3 threads beside it") || auto.contains("(no CUDA: tried to "), "{auto}");
    }
    let opencl = said("opencl");
    assert!(opencl.starts_with("Device ") || opencl.contains(" of memory, 3 threads beside it"), "{opencl}");
    let builder = on(Device::Hybrid).threads(1).simulate(SimDevice::new().memory(3 << 19));
    let both = builder.build().unwrap().to_string();
    let start = cpu.replace("3 threads", "1 thread");
    assert_eq!(both, format!("{start}, and at once a simulated device, 1.5 MiB of 1.5 MiB free"));
}
