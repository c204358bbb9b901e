//! Several ranks write files together, and read what other numbers of ranks wrote.
//!
//! ```text
//! mpirun -n 3 ranks_files write FOLDER 10          ten snapshots, as Zarr and for ParaView, after those that are there
//! mpirun -n 3 ranks_files write FOLDER 1000 1 300  the second rank ends after 300 ms
//! mpirun -n 5 ranks_files read FOLDER              all that counts has the values that were written
//! ```

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use tida::Ranks;
use tida::prelude::*;
use tida_io::{vtk, zarr};

const SHAPE: [usize; 3] = [26, 20, 64];

fn value([k, j, i]: [usize; 3], step: u64) -> f64 {
    ((k * 10_000 + j * 100 + i) as f64 + step as f64 * 1e6).sin()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let acc = TileAcc::builder().ranks(Ranks::Mpi).device(Device::Cpu).threads(1).build()?;
    match arguments.as_slice() {
        ["write", folder, steps] => write(&acc, Path::new(folder), steps.parse()?),
        ["write", folder, steps, rank, time] => {
            if acc.rank() == rank.parse::<usize>()? {
                let time = Duration::from_millis(time.parse()?);
                std::thread::spawn(move || {
                    std::thread::sleep(time);
                    std::process::abort();
                });
            }
            write(&acc, Path::new(folder), steps.parse()?)
        }
        ["read", folder] => read(&acc, Path::new(folder)),
        _ => Err("usage: ranks_files write FOLDER STEPS [RANK MILLISECONDS] | read FOLDER".into()),
    }
}

fn array(acc: &TileAcc) -> tida::Result<TileArray<f64, 3>> {
    TileArray::<f64, 3>::builder(SHAPE).regions([4, 1, 1]).build(acc)
}

/// Takes so many snapshots after those that are there.
fn write(acc: &TileAcc, folder: &Path, steps: u64) -> Result<(), Box<dyn Error>> {
    let (store, list) = (folder.join("u.zarr"), folder.join("u.pvd"));
    let is_there = store.exists();
    let first = if is_there { zarr::open(&store)?.snapshots().len() as u64 } else { 0 };
    // All ranks have looked.
    acc.exchange(Ok(Vec::new()))?;
    // Chunks of seven planes, of which ranks have 6 to 13.
    let writer = if is_there { zarr::append(&store) } else { zarr::create(&store).chunks(&[7, 10, 64]) };
    let mut snapshots = writer.snapshot_every(1)?.budget(200_000);
    let writer = if is_there { vtk::append(&list) } else { vtk::create(&list) };
    let mut images = writer.snapshot_every(3)?;
    let mut u = array(acc)?;
    for step in first..first + steps {
        u.fill(|at| value(at, step))?;
        images.step(step, step as f64, &[("u", &u)])?;
        snapshots.step(step, step as f64, &[("u", &u)])?;
    }
    images.finish()?;
    snapshots.finish()?;
    Ok(())
}

/// Checks that what counts is whole.
fn read(acc: &TileAcc, folder: &Path) -> Result<(), Box<dyn Error>> {
    let (store, mut u) = (folder.join("u.zarr"), array(acc)?);
    let store = zarr::open(store)?;
    for snapshot in store.snapshots() {
        u.fill_value(0.0)?;
        store.read(snapshot.index, &mut [("u", &mut u)])?;
        let step = snapshot.step;
        let is_right = (0..u.regions()).all(|region| {
            // Regions of other ranks are theirs to check.
            let checked = u.with_region(region, |view| {
                let first = u.region_box(region).map_or(0, |cells| cells.lo[0] as usize);
                view.indexed_iter().all(|((k, j, i), found)| *found == value([first + k, j, i], step))
            });
            checked.unwrap_or(true)
        });
        if snapshot.index != step || !is_right {
            return Err(
                format!("snapshot {} of step {step} has other values on rank {}", snapshot.index, acc.rank()).into()
            );
        }
    }
    if acc.rank() == 0 {
        let images = check_images(folder)?;
        println!("{} snapshots and {images} images are whole", store.snapshots().len());
    }
    Ok(())
}

/// Checks the images that a list names; gives their number.
fn check_images(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let text = std::fs::read_to_string(folder.join("u.pvd"))?;
    let names: Vec<&str> = text.split("file=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for name in &names {
        let step: u64 = name.trim_start_matches("u/").trim_end_matches(".vti").parse()?;
        let image = std::fs::read(folder.join(name))?;
        let values = image.strip_suffix(b"\n  </AppendedData>\n</VTKFile>\n").ok_or("an image without its end")?;
        let values = &values[values.len() - SHAPE.iter().product::<usize>() * 8..];
        let [_, rows, row] = SHAPE;
        let at = |n: usize| [n / (rows * row), n / row % rows, n % row];
        if !values.chunks_exact(8).enumerate().all(|(n, found)| *found == value(at(n), step).to_ne_bytes()) {
            return Err(format!("{name} has other values").into());
        }
    }
    Ok(names.len())
}
