//! Kernels that are compiled beside a program, in processes of their own: from an empty folder of compiled kernels and
//! from a full one, and what becomes of a program that ends meanwhile.
#![cfg(feature = "ndarray")]

use std::process::{Command, Output};
use std::time::Duration;

use tida::acc::{Compile, Stats};
use tida::prelude::*;
use tida_tests::folder::Folder;
use tida_tests::{on_a_device, value};

/// Steps of two arrays in turn; their bits, and what was done until then.
fn steps(acc: &TileAcc, counts: &[usize]) -> (Vec<u64>, Stats) {
    let mut u = TileArray::<f64, 2>::builder([90, 130]).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
    u.fill(|[j, i]| value(1, [0, j, i])).unwrap();
    let mut next = u.like().unwrap();
    for (n, count) in counts.iter().enumerate() {
        if n > 0 {
            acc.warm_up().unwrap();
        }
        for _ in 0..*count {
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]);
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        acc.sync().unwrap();
    }
    (u.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect(), acc.stats())
}

fn acc(compile: Compile) -> Option<TileAcc> {
    let builder = TileAcc::builder().fuse(Fuse::Steps(3)).rounds(false);
    on_a_device(builder.pause(Duration::from_secs(600)).compile(compile))
}

/// What the processes below do.
#[test]
fn child() {
    let Ok(does) = std::env::var("TIDA_TEST_CHILD") else { return };
    let Some(acc) = acc(Compile::Beside) else { return println!("<no device>") };
    match does.as_str() {
        "steps, then steps" => {
            let (bits, stats) = steps(&acc, &[30, 30]);
            let plain = steps(&tida_tests::on_cpu(), &[60]).0;
            assert_eq!(bits, plain);
            println!("<{} fused, {} compiled>", stats.fused, stats.compiled);
        }
        "drop" => {
            steps(&acc, &[12]);
            drop(acc);
            println!("<dropped>");
        }
        "exit" => {
            steps(&acc, &[12]);
            println!("<exits>");
            std::process::exit(0);
        }
        other => panic!("{other}"),
    }
}

/// A process with this folder of compiled kernels. Drivers have theirs there too.
fn process(does: &str, folder: &Folder) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env("TIDA_TEST_CHILD", does);
    let place = folder.file("kernels");
    child.env("TIDA_CACHE_DIR", &place).env("POCL_CACHE_DIR", folder.file("pocl"));
    child.env("CUDA_CACHE_PATH", folder.file("cuda")).output().unwrap()
}

/// What it said between `<` and `>`, if it ended well.
#[track_caller]
fn said(output: &Output) -> String {
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}: {text}\n{errors}", output.status);
    match text.split_once('<').and_then(|(_, rest)| rest.split_once('>')) {
        Some((said, _)) => said.to_owned(),
        None => panic!("{text}\n{errors}"),
    }
}

#[test]
fn the_next_process_has_no_single_steps() {
    let Some(waits) = acc(Compile::Wait) else { return };
    let together = steps(&waits, &[30]).1.fused;
    assert!(together > 5);
    if waits.device() == Device::Sim {
        // What it runs has no text that could be kept.
        return;
    }
    let folder = Folder::new();
    // Nothing is as fast as the steps are recorded.
    let (single, both) = (format!("{together} fused, "), format!("{} fused, 0 compiled", 2 * together));
    let first = said(&process("steps, then steps", &folder));
    assert!(first.starts_with(&single) && !first.ends_with(" 0 compiled"), "{first}");
    assert_eq!(said(&process("steps, then steps", &folder)), both);
}

#[test]
fn a_program_may_end_while_its_kernels_are_compiled() {
    if acc(Compile::Wait).is_none() {
        return;
    }
    for (does, says) in [("drop", "dropped"), ("exit", "exits")] {
        for _ in 0..3 {
            assert_eq!(said(&process(does, &Folder::new())), says);
        }
    }
}
