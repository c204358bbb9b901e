//! What several tests need.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use tida::num_complex::Complex32;
use tida::prelude::*;

/// A folder of one test, which is removed in the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        // Stores wait for the disk at each snapshot; in memory that takes no time.
        let memory = Some(PathBuf::from("/dev/shm")).filter(|folder| folder.is_dir());
        let path = memory.unwrap_or_else(std::env::temp_dir).join(format!("tida-io-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a script of `tests/python`; whether there is a Python to run it.
pub fn python(script: &str, folder: &Path) -> bool {
    let Some(packages) = std::env::var_os("TIDA_PYTHON") else {
        assert!(std::env::var_os("TIDA_REQUIRE_PYTHON").is_none(), "no packages of Python: set TIDA_PYTHON");
        return false;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let mut python = Command::new("python3");
    python.arg(&script).arg(folder).env("PYTHONPATH", packages);
    let output = python.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} ended with {}:\n{text}", script.display(), output.status);
    true
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
pub struct Flow {
    pub density: f64,
    pub speed: [f32; 2],
    pub kind: u8,
}

/// Arrays of several types on one grid.
pub struct Arrays {
    pub u: TileArray<f64, 2>,
    pub next: TileArray<f64, 2>,
    pub count: TileArray<i16, 2>,
    pub wet: TileArray<bool, 2>,
    pub wave: TileArray<Complex32, 2>,
    pub speed: TileArray<[f32; 3], 2>,
    pub flow: TileArray<Flow, 2>,
}

pub const SHAPE: [usize; 2] = [23, 136];

impl Arrays {
    pub fn new(acc: &TileAcc, regions: [usize; 2]) -> tida::Result<Arrays> {
        fn of<T: Element>(acc: &TileAcc, regions: [usize; 2]) -> tida::Result<TileArray<T, 2>> {
            TileArray::builder(SHAPE).regions(regions).ghost(1).build(acc)
        }
        let u = TileArray::builder(SHAPE).regions(regions).ghost(1).boundary(Boundary::Periodic).build(acc)?;
        Ok(Arrays {
            next: u.like()?,
            u,
            count: of(acc, regions)?,
            wet: of(acc, regions)?,
            wave: of(acc, regions)?,
            speed: of(acc, regions)?,
            flow: of(acc, regions)?,
        })
    }

    pub fn fill(&mut self) -> tida::Result<()> {
        self.u.fill(|[j, i]| ((7 * j + 3 * i) as f64).sin())?;
        self.count.fill(|[j, i]| (j as i16 - 5) * 100 + i as i16)?;
        self.wet.fill(|[j, i]| (j * i) % 3 == 1)?;
        self.wave.fill(|[j, i]| Complex32::new(j as f32 + 0.5, -(i as f32)))?;
        self.speed.fill(|[j, i]| [j as f32, i as f32, (j ^ i) as f32])?;
        self.flow.fill(|[j, i]| Flow {
            density: (j * 140 + i) as f64 / 3.0,
            speed: [i as f32, -(j as f32)],
            kind: (i % 5) as u8,
        })
    }

    /// One step of `u`, and something with the others.
    pub fn step(&mut self) -> tida::Result<()> {
        self.u.fill_ghosts()?;
        for tile in self.u.tiles() {
            compute(
                &tile,
                (&mut self.next, &self.u),
                kernel!(|next, u, at| {
                    next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]);
                }),
            )?;
            compute(&tile, &mut self.count, kernel!(|count, at| count[at] = count[at] + 1))?;
            compute(
                &tile,
                (&mut self.flow, &self.u),
                kernel!(|flow, u, at| {
                    flow[at].density = flow[at].density + u[at];
                }),
            )?;
        }
        std::mem::swap(&mut self.u, &mut self.next);
        Ok(())
    }

    pub fn list(&self) -> [(&str, &dyn tida_io::Stored); 6] {
        [
            ("u", &self.u),
            ("count", &self.count),
            ("wet", &self.wet),
            ("wave", &self.wave),
            ("speed", &self.speed),
            ("flow", &self.flow),
        ]
    }

    pub fn list_mut(&mut self) -> [(&str, &mut dyn tida_io::Stored); 6] {
        [
            ("u", &mut self.u),
            ("count", &mut self.count),
            ("wet", &mut self.wet),
            ("wave", &mut self.wave),
            ("speed", &mut self.speed),
            ("flow", &mut self.flow),
        ]
    }

    /// All values as text, bit for bit.
    pub fn bits(&self) -> tida::Result<String> {
        let all = self.u.domain();
        let u: Vec<u64> = self.u.read_box(all)?.into_iter().map(f64::to_bits).collect();
        let flow = self.flow.read_box(all)?;
        let rest = (self.count.read_box(all)?, self.wet.read_box(all)?, self.wave.read_box(all)?);
        Ok(format!("{u:?} {flow:?} {rest:?} {:?}", self.speed.read_box(all)?))
    }

    /// Writes each array as NumPy's file of its name.
    pub fn save_npy(&self, folder: &Path) -> tida::Result<()> {
        std::fs::create_dir_all(folder).unwrap();
        self.u.save_npy(folder.join("u.npy"))?;
        self.count.save_npy(folder.join("count.npy"))?;
        self.wet.save_npy(folder.join("wet.npy"))?;
        self.wave.save_npy(folder.join("wave.npy"))?;
        self.speed.save_npy(folder.join("speed.npy"))?;
        // A struct has no file of its own.
        let acc = self.flow.acc();
        let values = self.flow.read_box(self.flow.domain())?;
        let density: Vec<f64> = values.iter().map(|flow| flow.density).collect();
        let speed: Vec<[f32; 2]> = values.iter().map(|flow| flow.speed).collect();
        TileArray::<f64, 2>::builder(SHAPE).build_slice(acc, &density)?.save_npy(folder.join("flow.density.npy"))?;
        TileArray::<[f32; 2], 2>::builder(SHAPE).build_slice(acc, &speed)?.save_npy(folder.join("flow.speed.npy"))
    }
}
