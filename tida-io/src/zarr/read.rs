//! Reading stores, those of other programs too.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tida::ErrorKind;

use super::codec::Chunks;
use super::layout::{Layout, is_in_time, read_json};
use super::meta;
use crate::arrays::{ArrayInfo, Cells};
use crate::sink::{RegionSource, Snapshot};
use crate::source::reading_methods;
use crate::{Error, Result};

/// A store that is read. See [`open`].
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    layout: Layout,
    snapshots: Vec<Snapshot>,
    /// tida wrote it: all files of a snapshot that counts are there.
    own: bool,
}

/// Opens a store of Zarr 3: a group, or the folder of one array, whose name is then empty.
///
/// Of a store that tida writes, this shows the snapshots that count now.
///
/// ```
/// use tida::prelude::*;
/// use tida_io::zarr;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("tida-io-open-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("map.zarr");
/// let acc = TileAcc::auto()?;
/// # let mut map = TileArray::<i16, 2>::builder([40, 60]).build(&acc)?;
/// # map.fill(|[j, i]| (100 * j + i) as i16)?;
/// # zarr::create(&path).save(&[("height", &map)])?;
/// let store = zarr::open(&path)?; // one state, without an axis of time
/// for name in store.arrays() {
///     println!("{name}: {:?}", store.shape(name)?);
/// }
/// let mut height = TileArray::<i16, 2>::builder([40, 60]).regions([2, 1]).build(&acc)?;
/// store.read_box(None, ("height", &mut height), &[5, 30], &[10, 20])?; // the other cells stay 0
/// assert_eq!(height.read_box(GridBox::new([4, 30], [6, 31]))?, [0, 530]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// No store, or one of an earlier Zarr; metadata that is damaged.
pub fn open(path: impl AsRef<Path>) -> Result<Store> {
    let path = path.as_ref().to_path_buf();
    let tried = format!("open the store {}", path.display());
    let root = read_json(&path.join("zarr.json"), &tried).map_err(|e| match path.join(".zgroup").exists() {
        true => Error::format(&*tried, "a store of Zarr 2", "write it as Zarr 3 (`zarr_format=3`)"),
        false => e,
    })?;
    let own = root["attributes"].get(meta::MARK).is_some();
    let layout = if own { Layout::open(&path)? } else { found(&path, root, &tried)? };
    let snapshots = match own && layout.snapshots().is_some() {
        true => {
            let pairs = layout.times(&path)?.into_iter().zip(layout.steps(&path)?);
            pairs.enumerate().map(|(index, (time, step))| Snapshot::new(index as u64, step, time)).collect()
        }
        false => Vec::new(),
    };
    Ok(Store { path, layout, snapshots, own })
}

/// The arrays below a folder.
fn found(path: &Path, root: Value, tried: &str) -> Result<Layout> {
    let mut layout = Layout { arrays: Default::default(), groups: Default::default() };
    let mut open = vec![(String::new(), root)];
    while let Some((name, said)) = open.pop() {
        if said["node_type"] == "array" {
            layout.arrays.insert(name, said);
            continue;
        }
        let folder = path.join(&name);
        layout.groups.insert(name.clone(), said["attributes"].as_object().cloned().unwrap_or_default());
        let listed = fs::read_dir(&folder).map_err(|e| Error::io(tried, e))?;
        for entry in listed {
            let entry = entry.map_err(|e| Error::io(tried, e))?;
            if entry.path().join("zarr.json").is_file() {
                let inside = super::plan::inside(&name, &entry.file_name().to_string_lossy());
                open.push((inside, read_json(&entry.path().join("zarr.json"), tried)?));
            }
        }
    }
    Ok(layout)
}

impl Store {
    /// The snapshots of a store of tida's, in their order; none of a store of one state or of another program.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// The last of them.
    pub fn last(&self) -> Option<Snapshot> {
        self.snapshots.last().copied()
    }

    /// The paths of all arrays, coordinates too.
    pub fn arrays(&self) -> impl Iterator<Item = &str> {
        self.layout.arrays.keys().map(String::as_str)
    }

    /// Number of values on each axis of an array, the slowest first; an axis of snapshots is left out.
    ///
    /// # Errors
    /// No such array.
    pub fn shape(&self, path: &str) -> Result<Vec<usize>> {
        let tried = format!("read the shape of {path:?} in {}", self.path.display());
        let said = self.layout.array(path, &tried)?;
        let all = said["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64).map(|n| n as usize);
        Ok(all.skip(usize::from(self.own && is_in_time(said))).collect())
    }

    /// An attribute of an array or, under the empty path, of the store.
    pub fn attribute(&self, path: &str, name: &str) -> Option<&Value> {
        match self.layout.groups.get(path) {
            Some(attributes) => attributes.get(name),
            None => self.layout.arrays.get(path)?["attributes"].get(name),
        }
    }

    fn chunks(&self, path: &str, tried: &str) -> Result<Chunks> {
        Chunks::open(&self.path, &self.layout, path, tried)
    }
}

reading_methods!(Store);

impl RegionSource for Store {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn check(&self, array: &ArrayInfo, snapshot: Option<u64>) -> Result<Vec<usize>> {
        let tried = format!("read {:?} of {}", array.name, self.path.display());
        let mut extent = array.region.clone();
        for field in &array.fields {
            let chunks = self.chunks(&meta::path(&array.name, field), &tried)?;
            chunks.check(array, field, snapshot.is_some(), &tried)?;
            let count = if snapshot.is_some() { chunks.shape()[0] } else { 1 };
            if let Some(index) = snapshot.filter(|index| *index >= count) {
                let found = format!("{count} snapshots, and none of number {index}");
                return Err(Error::new(ErrorKind::OutOfRange, tried, found, "count from 0, up to `Store::last`"));
            }
            extent = chunks.file(snapshot.is_some())[..array.shape.len()].to_vec();
        }
        Ok(extent)
    }

    fn read(&self, array: &ArrayInfo, field: usize, snapshot: Option<u64>, cells: &Cells) -> Result<Vec<u8>> {
        let field = &array.fields[field];
        let chunks = self.chunks(&meta::path(&array.name, field), "read a store")?;
        let wide = |cells: &[usize], own: &[usize], time: Option<u64>| {
            time.into_iter().chain(cells.iter().chain(own).map(|n| *n as u64)).collect::<Vec<u64>>()
        };
        let start = wide(&cells.start, &vec![0; field.shape().len()], snapshot);
        let extent = wide(&cells.extent, field.shape(), snapshot.map(|_| 1));
        chunks.read(&start, &extent, self.own)
    }
}
