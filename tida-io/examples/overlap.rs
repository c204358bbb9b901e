//! What snapshots cost a program that computes: heat in a cube, with and without them.
//!
//! ```text
//! cargo run --release -p tida-io --example overlap -- 256 20 10 /tmp/overlap [FORMS [ROUNDS [THREADS]]]
//! ```
//!
//! The numbers are cells of an edge, snapshots, and steps between two of them; the forms are some of
//! `taken,zstd,unpacked,vtk,busy`. What is written there is removed in the
//! end. All are timed in turn, in so many rounds, without a timeline; the medians are printed. `taken` has the values
//! taken and dropped. `busy` is one more run with a timeline, packed, which says how much of the writing lay beside
//! computing.

use std::path::{Path, PathBuf};
use std::time::Instant;

use tida::prelude::*;
use tida_io::{ArrayInfo, Part, RegionSink, Result, Snapshot, Snapshots, vtk, zarr};

struct Run {
    edge: usize,
    every: u64,
    threads: Option<usize>,
}

impl Run {
    /// Computes as many steps as so many snapshots have between them, and takes them if there is something to write
    /// them; gives the seconds of the steps and until all is on the disk.
    fn seconds(
        &self,
        acc: &TileAcc,
        snapshots: u64,
        out: Option<Snapshots>,
    ) -> std::result::Result<(f64, f64), Box<dyn std::error::Error>> {
        let shape = [self.edge; 3];
        let cubes = TileArray::<f64, 3>::builder(shape).regions([4, 1, 1]).ghost(1).boundary(Boundary::Periodic);
        let mut u = cubes.build(acc)?;
        u.fill(|[k, j, i]| ((k * k + 3 * j + 7 * i) as f64).sin())?;
        let mut next = u.like()?;
        // The budget holds two cubes.
        let mut out = out.map(|out| out.budget(2 * 8 * self.edge.pow(3)));
        out = match self.threads {
            Some(threads) => out.map(|out| out.threads(threads)),
            None => out,
        };
        acc.sync()?;
        let start = Instant::now();
        for step in 1..=snapshots * self.every {
            u.fill_ghosts()?;
            for tile in u.tiles() {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        next[at] = u[at]
                            + 0.1
                                * (u[at - [1, 0, 0]]
                                    + u[at + [1, 0, 0]]
                                    + u[at - [0, 1, 0]]
                                    + u[at + [0, 1, 0]]
                                    + u[at - [0, 0, 1]]
                                    + u[at + [0, 0, 1]]
                                    - 6.0 * u[at]);
                    }),
                )?;
            }
            std::mem::swap(&mut u, &mut next);
            if let Some(out) = &mut out {
                out.step(step, step as f64, &[("u", &u)])?;
            }
        }
        acc.sync()?;
        let steps = start.elapsed().as_secs_f64();
        out.map_or(Ok(None), |out| out.finish())?;
        Ok((steps, start.elapsed().as_secs_f64()))
    }
}

fn bytes(folder: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        sum += if entry.file_type()?.is_dir() { bytes(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(sum)
}

/// Takes values and drops them: what remains is the program, and the copies of its values.
struct Taken;

impl RegionSink for Taken {
    fn begin(&mut self, arrays: &[ArrayInfo]) -> Result<Vec<Vec<usize>>> {
        Ok(arrays.iter().map(|array| array.region.clone()).collect())
    }

    fn last(&self) -> Option<Snapshot> {
        None
    }

    fn write(&self, _: &Snapshot, _: &Part) -> Result<()> {
        Ok(())
    }

    fn commit(&self, _: &Snapshot) -> Result<()> {
        Ok(())
    }

    fn abandon(&self, _: &Snapshot) {}
}

/// What writes snapshots in a form of files to a folder.
fn writer(name: &str, folder: &Path, every: u64) -> Result<Option<Snapshots>> {
    let zarr = || zarr::create(folder.join("u.zarr"));
    match name {
        "without" => Ok(None),
        "taken" => Snapshots::every(every, Taken).map(Some),
        "vtk" => vtk::create(folder.join("u.pvd")).snapshot_every(every).map(Some),
        "unpacked" => zarr().unpacked().snapshot_every(every).map(Some),
        _ => zarr().snapshot_every(every).map(Some),
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |other: u64| arguments.next().map_or(Ok(other), |text| text.parse());
    let (edge, snapshots, every) = (number(64)? as usize, number(4)?, number(5)?);
    let path = arguments.next().map_or_else(|| std::env::temp_dir().join("tida-overlap"), PathBuf::from);
    let kinds = arguments.next().unwrap_or_else(|| "taken,zstd,unpacked,vtk,busy".into());
    let rounds: usize = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let threads = arguments.next().map(|text| text.parse()).transpose()?;
    let run = Run { edge, every, threads };
    let acc = TileAcc::auto()?;
    let raw = snapshots as f64 * 8.0 * edge.pow(3) as f64 / 1e6;
    println!("{snapshots} snapshots of {edge}^3 cells, {raw:.0} MB, one after {every} steps each");
    run.seconds(&acc, snapshots.min(2), None)?;
    std::fs::create_dir_all(&path)?;
    let names: Vec<&str> = ["without"].into_iter().chain(kinds.split(',').filter(|name| *name != "busy")).collect();
    let mut times = vec![Vec::new(); names.len()];
    let mut sizes = vec![0.0; names.len()];
    for _ in 0..rounds {
        for (number, name) in names.iter().enumerate() {
            let (_, all) = run.seconds(&acc, snapshots, writer(name, &path, every)?)?;
            times[number].push(all);
            sizes[number] = bytes(&path)? as f64 / 1e6;
            std::fs::remove_dir_all(&path)?;
            std::fs::create_dir_all(&path)?;
        }
    }
    let medians: Vec<f64> = times.iter().map(|times| median(times.clone())).collect();
    for (number, name) in names.iter().enumerate() {
        let (all, size) = (medians[number], sizes[number]);
        println!(
            "{name}: {all:.2} s until all is on the disk ({:.2} of the speed without), {size:.0} MB in files, {:.0} \
             MB/s; {:.2?}",
            medians[0] / all,
            size / all,
            times[number]
        );
    }
    if kinds.split(',').any(|name| name == "busy") {
        // Its spans take a little time.
        let acc = TileAcc::builder().timeline(true).build()?;
        run.seconds(&acc, snapshots, writer("zstd", &path, every)?)?;
        if let Some(busy) = acc.timeline()?.busy() {
            let beside = 100.0 * busy.files_overlap.unwrap_or(0.0);
            println!(
                "files were written in {:.0} % of the time, {beside:.0} % of that beside computing",
                100.0 * busy.files
            );
        }
    }
    std::fs::remove_dir_all(&path)?;
    Ok(())
}
