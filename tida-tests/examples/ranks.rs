//! What `cargo xtask test` runs on several ranks (`mpirun -n 3 ranks bits 6`): random programs, compared with one
//! process, and failures, which have to end all ranks.

use std::process::ExitCode;
use std::time::Duration;

use tida::prelude::*;
use tida::{Ranks, Result};
use tida_tests::calls::calls;
use tida_tests::ranks::{alone, program};
use tida_tests::several::{Dice, value};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["bits", programs] => bits(programs.parse().unwrap_or(1), TileAcc::builder()),
        ["bits", programs, "unopened"] => bits(programs.parse().unwrap_or(1), TileAcc::builder().unopened()),
        ["fails", how] => fails(how),
        ["save", path] => checkpoint(path, true),
        ["restore", path] => checkpoint(path, false),
        _ => {
            eprintln!("usage: ranks bits PROGRAMS [unopened] | ranks save FILE | ranks restore FILE | ranks fails HOW");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares so many programs with one process, on ranks that are built so.
fn bits(programs: u64, builder: tida::TileAccBuilder) -> Result<()> {
    let acc = builder.ranks(Ranks::Mpi).threads(1).build()?;
    let one = TileAcc::builder().ranks(Ranks::Off).device(Device::Cpu).threads(1).build()?;
    for seed in 0..programs {
        let (got, expected) = (program(&acc, seed)?, alone(acc.ranks(), seed)?);
        let off = got.shared.iter().zip(&expected.shared).position(|(got, expected)| got != expected);
        let values = off.map(|n| [&got, &expected].map(|seen| f64::from_bits(seen.shared[n])));
        let all = [&got, &expected].map(|seen| seen.shared.len());
        let rank = acc.rank();
        assert!(
            got.shared == expected.shared,
            "program {seed}: other values on rank {rank}: number {off:?} of {all:?} is {values:?}"
        );
        let same = got.regions.iter().all(|region| expected.regions.contains(region));
        assert!(same, "program {seed}: other cells or ghosts on rank {}", acc.rank());
        let dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (got, expected) = (calls(&acc, acc.ranks(), dice.clone())?, calls(&one, acc.ranks(), dice)?);
        assert!(got == expected, "program {seed} of calls: other values on rank {}", acc.rank());
    }
    if acc.rank() == 0 {
        let (ranks, bytes) = (acc.ranks(), acc.stats().strip_bytes);
        println!("{programs} programs on {ranks} ranks give the bits of one process; {bytes} bytes in mailboxes");
    }
    Ok(())
}

/// Saves a checkpoint, or restores it and compares it with what was saved.
fn checkpoint(path: &str, saves: bool) -> Result<()> {
    let acc = TileAcc::builder().ranks(Ranks::Mpi).threads(1).build()?;
    let value = |at: [usize; 3]| value(at, 5);
    let mut u = TileArray::<f64, 3>::builder([26, 11, 70]).regions([2, 1, 2]).ghost(1).build(&acc)?;
    let mut near = TileArray::<f64, 3>::builder([9, 4, 3]).everywhere().build(&acc)?;
    if saves {
        u.fill(value)?;
        near.fill(value)?;
        return tida::save(path, &[("u", &u), ("near", &near)]);
    }
    tida::restore(path, &mut [("u", &mut u), ("near", &mut near)])?;
    for u in [&u, &near] {
        let [_, rows, columns] = u.shape();
        let expected = (0..u.domain().cells()).map(|n| value([n / columns / rows, n / columns % rows, n % columns]));
        assert!(u.read_box(u.domain())?.into_iter().eq(expected), "other values on rank {}", acc.rank());
    }
    Ok(())
}

/// Steps of which the second rank makes one that fails; all ranks at once for what begins with `all-`.
fn fails(how: &str) -> Result<()> {
    let (all, how) = how.strip_prefix("all-").map_or((false, how), |how| (true, how));
    let acc = TileAcc::builder().ranks(Ranks::Mpi).threads(1).build()?;
    let mut u = TileArray::<i32, 2>::builder([24, 64]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    if how == "early" && acc.rank() == 0 {
        u.read_box(GridBox::new([0, 0], [100, 100]))?; // before the first message with values
    }
    let mut next = u.like()?;
    u.fill(|[i, j]| (i + j) as i32)?;
    for step in 0..40 {
        let fails = step == 7 && (all || acc.rank() == 1);
        let divisor = i32::from(!fails);
        if fails && how == "error" {
            u.read_box(GridBox::new([0, 0], [100, 100]))?; // which is not in the domain
        } else if fails && how == "panic" {
            panic!("on purpose");
        } else if fails && how == "kill" {
            std::process::abort();
        } else if fails && how == "exit" {
            std::process::exit(3);
        } else if fails && how == "differ" {
            // Each rank makes another call than the one before it.
            match acc.rank() % 3 {
                0 => u.fill_ghosts()?,
                1 => drop(reduce(&u, Sum, kernel!(|u, at| u[at]))?),
                _ => drop(u.read_box(u.domain())?),
            }
        }
        if !(fails && how == "skip") {
            u.fill_ghosts()?;
        }
        if how == "slow" {
            std::thread::sleep(Duration::from_millis(if fails { 60_000 } else { 1 }));
        }
        for tile in u.tiles() {
            if fails && how == "check" {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at + [2, 0]]))?; // past the ghosts
            } else if how == "fault" {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1, 0]] / divisor))?;
            } else {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1, 0]]))?;
            }
        }
        std::mem::swap(&mut u, &mut next);
    }
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at]))?;
    println!("rank {} has not failed: {sum}", acc.rank());
    Ok(())
}
