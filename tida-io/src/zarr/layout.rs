//! What a store consists of: the metadata of its arrays and groups, read and written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::codec::Chunks;
use super::meta::{self, STEP, TIME};
use super::plan::mark;
use crate::{Error, Result, disk};

/// The file that every array and group has.
const FILE: &str = "zarr.json";

/// The metadata of a store.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// What each array's `zarr.json` says, by its path.
    pub arrays: BTreeMap<String, Value>,
    /// The attributes of the groups; the root is the empty path.
    pub groups: BTreeMap<String, Map<String, Value>>,
}

impl Layout {
    /// Reads that of a store that tida wrote, as its root says it: all of one snapshot.
    pub fn open(folder: &Path) -> Result<Layout> {
        let tried = format!("open the store {}", folder.display());
        let root = read_json(&folder.join(FILE), &tried)?;
        let attributes = root["attributes"].as_object().cloned().unwrap_or_default();
        match attributes.get(meta::MARK).map(|mark| mark["version"].as_u64()) {
            Some(Some(version)) if version <= meta::VERSION => {}
            Some(version) => {
                let found = format!("a store of version {version:?}, and this tida knows {}", meta::VERSION);
                return Err(Error::format(tried, found, "use the tida that wrote it, or a later one"));
            }
            None => {
                let found = "a group that tida did not write";
                let advice = "read it by `zarr::open`, which takes stores of other programs; write to a new store";
                return Err(Error::format(tried, found, advice));
            }
        }
        let mut layout = Layout { arrays: BTreeMap::new(), groups: BTreeMap::from([(String::new(), attributes)]) };
        let Some(members) = root["consolidated_metadata"]["metadata"].as_object() else {
            let found = "no `consolidated_metadata` in the root's zarr.json";
            return Err(Error::format(tried, found, "take the store from a copy: another program has changed it"));
        };
        for (path, said) in members {
            match said["node_type"].as_str() {
                Some("group") => {
                    let attributes = said["attributes"].as_object().cloned().unwrap_or_default();
                    layout.groups.insert(path.clone(), attributes);
                }
                _ => {
                    layout.arrays.insert(path.clone(), said.clone());
                }
            }
        }
        Ok(layout)
    }

    /// The number of snapshots that count, if the store has any.
    pub fn snapshots(&self) -> Option<u64> {
        self.groups.get("")?.get(meta::MARK)?["snapshots"].as_u64()
    }

    /// Sets the number of snapshots that count.
    pub fn set_snapshots(&mut self, count: u64) {
        for array in self.arrays.values_mut().filter(|array| is_in_time(array)) {
            if let Some(length) = array.pointer_mut("/shape/0") {
                *length = count.into();
            }
        }
        if let Some(root) = self.groups.get_mut("") {
            root.insert(meta::MARK.into(), mark(Some(count)));
        }
    }

    /// Arrays that have a value for each snapshot, the times and steps left out.
    pub fn arrays_in_time(&self) -> impl Iterator<Item = &str> {
        let is_value = |path: &str| !matches!(path.rsplit('/').next(), Some(TIME | STEP));
        self.arrays.iter().filter(move |(path, said)| is_in_time(said) && is_value(path)).map(|(path, _)| path.as_str())
    }

    /// The times of all snapshots that count.
    pub fn times(&self, folder: &Path) -> Result<Vec<f64>> {
        Ok(self.in_time(folder, TIME)?.into_iter().map(f64::from_ne_bytes).collect())
    }

    /// Their steps.
    pub fn steps(&self, folder: &Path) -> Result<Vec<u64>> {
        Ok(self.in_time(folder, STEP)?.into_iter().map(u64::from_ne_bytes).collect())
    }

    fn in_time(&self, folder: &Path, name: &str) -> Result<Vec<[u8; 8]>> {
        let tried = format!("read the times of {}", folder.display());
        let count = self.snapshots().unwrap_or(0);
        if count == 0 {
            return Ok(Vec::new());
        }
        let chunks = Chunks::open(folder, self, name, &tried)?;
        let bytes = chunks.read(&[0], &[count], true)?;
        Ok(bytes.chunks_exact(8).filter_map(|value| value.try_into().ok()).collect())
    }

    /// The arrays and groups below a group, by their paths from it.
    fn below(&self, group: &str) -> BTreeMap<String, Value> {
        let from = |path: &str| match group.is_empty() {
            true => (!path.is_empty()).then(|| path.to_owned()),
            false => path.strip_prefix(group)?.strip_prefix('/').map(str::to_owned),
        };
        let arrays = self.arrays.iter().filter_map(|(path, said)| Some((from(path)?, said.clone())));
        let groups = self.groups.iter().filter_map(|(path, attributes)| {
            let mut group = meta::group(attributes, &BTreeMap::new());
            // Those inside it are listed beside it.
            group.as_object_mut()?.remove("consolidated_metadata");
            Some((from(path)?, group))
        });
        arrays.chain(groups).collect()
    }

    /// Writes what the root says: which snapshots count.
    pub fn write_root(&self, folder: &Path) -> Result<()> {
        replace([(folder.join(FILE), self.group(""))])
    }

    /// Writes what groups and arrays say, for those that do not ask the root.
    pub fn write_members(&self, folder: &Path) -> Result<()> {
        let arrays = self.arrays.iter().map(|(path, said)| (folder.join(path).join(FILE), said.clone()));
        let groups = self.groups.keys().filter(|path| !path.is_empty());
        replace(arrays.chain(groups.map(|path| (folder.join(path).join(FILE), self.group(path)))))
    }

    fn group(&self, path: &str) -> Value {
        let attributes = self.groups.get(path).cloned().unwrap_or_default();
        meta::group(&attributes, &self.below(path))
    }

    /// The path of a field's array, as messages name it, and what its `zarr.json` says.
    pub fn array(&self, path: &str, tried: &str) -> Result<&Value> {
        self.arrays.get(path).ok_or_else(|| {
            let known: Vec<&str> = self.arrays.keys().map(String::as_str).collect();
            let found =
                format!("no array {path:?}, but {}", if known.is_empty() { "none".into() } else { known.join(", ") });
            Error::format(tried, found, "give the name of an array of the store")
        })
    }
}

/// Whether the first axis of an array is that of the snapshots.
pub(super) fn is_in_time(said: &Value) -> bool {
    said["dimension_names"][0] == TIME
}

/// Reads a file of metadata.
pub(super) fn read_json(path: &Path, tried: &str) -> Result<Value> {
    let text = fs::read(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let found = format!("no file {}", path.display());
            Error::new(tida::ErrorKind::Io, tried, found, "give the folder of a Zarr store of version 3")
        }
        _ => Error::io(tried, e),
    })?;
    serde_json::from_slice(&text).map_err(|e| {
        let found = format!("that {} is no JSON: {e}", path.display());
        Error::format(tried, found, "take the store from a copy")
    })
}

/// Replaces files of metadata, but for those that say the same already.
fn replace(files: impl IntoIterator<Item = (PathBuf, Value)>) -> Result<()> {
    let mut new = Vec::new();
    for (path, said) in files {
        let text = serde_json::to_vec_pretty(&said)
            .map_err(|e| Error::format(format!("write {}", path.display()), e.to_string(), "use plain attributes"))?;
        if !fs::read(&path).is_ok_and(|known| known == text) {
            new.push((path, text));
        }
    }
    disk::replace(&new)
}
