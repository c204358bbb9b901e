//! Writing stores.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tida::ErrorKind;

use super::codec::Chunks;
use super::layout::Layout;
use super::meta::{STEP, TIME, TIMES, Words};
use super::plan::{Cutting, Plan, inside};
use crate::arrays::ArrayInfo;
use crate::sink::{Part, RegionSink, Snapshot};
use crate::writer::lock;
use crate::{Error, Result, disk};

/// What becomes of what is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    /// Nothing may be there.
    Create,
    /// Snapshots are added to a store.
    Append,
}

/// A store that is written.
pub(super) struct Sink {
    pub path: PathBuf,
    pub words: Words,
    pub cutting: Cutting,
    pub mode: Mode,
    /// It has snapshots; otherwise it holds one state.
    pub in_time: bool,
    pub state: Option<State>,
}

/// A store that is there.
pub(super) struct State {
    /// Where it is written.
    folder: PathBuf,
    /// How the fields of each array are cut and packed.
    fields: Vec<Vec<Chunks>>,
    /// What counts; who makes a snapshot count has it to the end.
    counted: Mutex<Counted>,
    /// New files of snapshots that do not count yet.
    files: Mutex<BTreeMap<u64, Vec<PathBuf>>>,
    /// No other program writes the store while this one is there.
    _lock: Option<File>,
}

/// What counts in a store.
struct Counted {
    layout: Layout,
    /// The times and steps of the snapshots.
    times: Vec<f64>,
    steps: Vec<u64>,
}

impl RegionSink for Sink {
    fn begin(&mut self, arrays: &[ArrayInfo]) -> Result<Vec<Vec<usize>>> {
        let (folder, layout) = match self.mode {
            Mode::Create => self.create(arrays)?,
            Mode::Append => (self.path.clone(), Layout::open(&self.path)?),
        };
        let lock = disk::locked(&folder, &self.tried())?;
        // A program that was killed may have left these behind, and parts of files.
        layout.write_members(&folder)?;
        let members = layout.arrays.keys().flat_map(|path| [folder.join(path), folder.join(path).join("c")]);
        disk::clean(members.chain(layout.groups.keys().map(|path| folder.join(path))));
        self.open(arrays, folder, layout, lock)
    }

    fn last(&self) -> Option<Snapshot> {
        let counted = lock(&self.state.as_ref()?.counted);
        let (time, step) = (*counted.times.last()?, *counted.steps.last()?);
        Some(Snapshot::new(counted.times.len() as u64 - 1, step, time))
    }

    fn write(&self, snapshot: &Snapshot, part: &Part) -> Result<()> {
        let state = self.state()?;
        for (chunks, bytes) in state.fields[part.array].iter().zip(&part.fields) {
            let path = match chunks.plain(snapshot.index, &part.cells) {
                Some(path) => {
                    disk::write(&path, bytes, &crc32c::crc32c(bytes).to_le_bytes())?;
                    path
                }
                None => {
                    let (path, packed) = chunks.pack(snapshot.index, &part.cells, bytes)?;
                    disk::write(&path, &packed, &[])?;
                    path
                }
            };
            lock(&state.files).entry(snapshot.index).or_default().push(path);
        }
        Ok(())
    }

    fn commit(&self, snapshot: &Snapshot) -> Result<()> {
        self.settle(snapshot)?;
        let state = self.state()?;
        if !self.in_time {
            return disk::place(&state.folder, &self.path);
        }
        let counted = &mut *lock(&state.counted);
        counted.write_times(&state.folder, snapshot)?;
        let count = snapshot.index + 1;
        let mut layout = counted.layout.clone();
        layout.set_snapshots(count);
        // From here on it counts.
        layout.write_root(&state.folder)?;
        counted.times.push(snapshot.time);
        counted.steps.push(snapshot.step);
        counted.layout = layout;
        counted.layout.write_members(&state.folder)
    }

    fn abandon(&self, snapshot: &Snapshot) {
        let Some(state) = &self.state else { return };
        if !self.in_time {
            let _ = fs::remove_dir_all(&state.folder);
        } else if snapshot.index >= lock(&state.counted).times.len() as u64 {
            for chunks in state.fields.iter().flatten() {
                let _ = fs::remove_dir_all(chunks.folder_of(snapshot.index));
            }
        }
    }
    fn shared(&self) -> Option<String> {
        // (Where the path is no text, the first rank writes all.)
        Some(self.state.as_ref()?.folder.to_str()?.to_owned())
    }

    fn join(&mut self, arrays: &[ArrayInfo], told: &str) -> Result<()> {
        let folder = PathBuf::from(told);
        let layout = Layout::open(&folder)?;
        self.open(arrays, folder, layout, None).map(drop)
    }

    fn settle(&self, snapshot: &Snapshot) -> Result<()> {
        let state = self.state()?;
        let files = lock(&state.files).remove(&snapshot.index).unwrap_or_default();
        // Folders above new files may be new as well.
        let above = |file: &PathBuf| {
            let folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(&state.folder));
            folders.map(Path::to_path_buf).collect::<Vec<_>>()
        };
        let folders: BTreeSet<PathBuf> = files.iter().flat_map(above).collect();
        disk::sync(&files.into_iter().chain(folders).collect::<Vec<_>>())
    }
}

impl Sink {
    fn tried(&self) -> String {
        format!("write snapshots to {}", self.path.display())
    }

    /// Checks that a store goes with the arrays; gives the extents of its files.
    fn open(
        &mut self,
        arrays: &[ArrayInfo],
        folder: PathBuf,
        layout: Layout,
        lock: Option<File>,
    ) -> Result<Vec<Vec<usize>>> {
        let tried = self.tried();
        let mut fields = Vec::new();
        for array in arrays {
            let in_time = self.in_time;
            let of = |field| Chunks::of(&folder, &layout, array, field, in_time, &tried);
            fields.push(array.fields.iter().map(of).collect::<Result<Vec<_>>>()?);
        }
        let listed: usize = arrays.iter().map(|array| array.fields.len()).sum();
        let known = layout.arrays_in_time().count();
        if self.in_time && listed != known {
            let found = format!("a store with {known} arrays in time, and {listed} in a snapshot");
            return Err(Error::new(ErrorKind::Argument, tried, found, "write all arrays of the store, and no other"));
        }
        let (times, steps) = match self.in_time {
            true => (layout.times(&folder)?, layout.steps(&folder)?),
            false => (Vec::new(), Vec::new()),
        };
        let extents = fields.iter().map(|fields| fields[0].cells().to_vec()).collect();
        let counted = Mutex::new(Counted { layout, times, steps });
        self.state = Some(State { folder, fields, counted, files: Mutex::default(), _lock: lock });
        Ok(extents)
    }

    fn state(&self) -> Result<&State> {
        self.state.as_ref().ok_or_else(|| {
            let tried = format!("write to {}", self.path.display());
            Error::new(ErrorKind::Argument, tried, "a store that has not begun", "call `begin` first")
        })
    }

    /// Makes a store, whole or not at all. One that holds one state gets its name when its values are there.
    fn create(&self, arrays: &[ArrayInfo]) -> Result<(PathBuf, Layout)> {
        let tried = || format!("make the store {}", self.path.display());
        if fs::symlink_metadata(&self.path).is_ok() {
            let advice = "remove it, give another path, or add to it by `zarr::append`";
            return Err(Error::new(ErrorKind::Io, tried(), "that something is there already", advice));
        }
        let plan = Plan::new(arrays, &self.words, &self.cutting, self.in_time)?;
        let part = disk::beside(&self.path);
        // A process of this number may have left it.
        let _ = fs::remove_dir_all(&part);
        let layout = Layout { arrays: plan.arrays, groups: plan.groups };
        let made = fs::create_dir(&part).map_err(|e| Error::io(tried(), e)).and_then(|()| {
            for (path, values) in &plan.coordinates {
                let chunks = Chunks::open(&part, &layout, path, &tried())?;
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
                disk::replace(&[chunks.pack_at(&[0], &bytes)?])?;
            }
            layout.write_members(&part)?;
            layout.write_root(&part)?;
            if self.in_time { disk::place(&part, &self.path) } else { Ok(()) }
        });
        match made {
            Ok(()) => Ok((if self.in_time { self.path.clone() } else { part }, layout)),
            Err(e) => {
                let _ = fs::remove_dir_all(&part);
                Err(e)
            }
        }
    }
}

impl Counted {
    /// Writes the time and the step of a snapshot. Readers look no further than to the last one that counts.
    fn write_times(&self, folder: &Path, snapshot: &Snapshot) -> Result<()> {
        let first = (snapshot.index / TIMES * TIMES) as usize;
        let of = |values: &mut dyn Iterator<Item = [u8; 8]>| {
            let mut bytes: Vec<u8> = values.flatten().collect();
            bytes.resize(TIMES as usize * 8, 0);
            bytes
        };
        let times = of(&mut self.times[first..].iter().chain([&snapshot.time]).map(|time| time.to_ne_bytes()));
        let steps = of(&mut self.steps[first..].iter().chain([&snapshot.step]).map(|step| step.to_ne_bytes()));
        let mut files = Vec::new();
        for group in self.layout.groups.keys() {
            for (name, bytes) in [(TIME, &times), (STEP, &steps)] {
                let chunks = Chunks::open(folder, &self.layout, &inside(group, name), "write a snapshot")?;
                files.push(chunks.pack_at(&[snapshot.index / TIMES], bytes)?);
            }
        }
        disk::replace(&files)
    }
}
