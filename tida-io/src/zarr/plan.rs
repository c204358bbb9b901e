//! What a new store consists of.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tida::ErrorKind;

use super::meta::{self, Axes, Packing, STEP, Stored, TIME, Words};
use crate::arrays::{ArrayInfo, fitting};
use crate::{Error, Result};

/// Most bytes of a chunk that has a file of its own, and of one in a shard, where the program says no extent.
const FILE: usize = 16 << 20;
const IN_SHARD: usize = 1 << 20;

/// How arrays are cut into files.
#[derive(Clone, Debug)]
pub(super) struct Cutting {
    pub chunk: Option<Vec<usize>>,
    /// Chunks lie in shards, of this extent or of a region's.
    pub shard: Option<Option<Vec<usize>>>,
    pub packing: Packing,
}

/// A store that is to be made: the metadata of its arrays and the attributes of its groups by their paths, and the
/// values of its coordinates.
pub(super) struct Plan {
    pub arrays: BTreeMap<String, Value>,
    /// The root is the empty path.
    pub groups: BTreeMap<String, Map<String, Value>>,
    pub coordinates: Vec<(String, Vec<f64>)>,
}

impl Plan {
    pub fn new(arrays: &[ArrayInfo], words: &Words, cutting: &Cutting, in_time: bool) -> Result<Plan> {
        let mut attributes = words.attributes.clone();
        attributes.insert(meta::MARK.into(), mark(in_time.then_some(0)));
        if let Some(spacing) = &words.spacing {
            attributes.insert("spacing".into(), json!(spacing));
            let origin = words.origin.clone().unwrap_or_else(|| vec![0.0; spacing.len()]);
            attributes.insert("origin".into(), json!(origin));
        }
        let groups = BTreeMap::from([(String::new(), attributes)]);
        let mut plan = Plan { arrays: BTreeMap::new(), groups, coordinates: Vec::new() };
        let mut root = Axes::new();
        for array in arrays {
            match array.is_group() {
                false => plan.add(array, "", &mut root, (words, cutting, in_time))?,
                true => {
                    plan.groups.insert(array.name.clone(), Map::new());
                    plan.add(array, &array.name, &mut Axes::new(), (words, cutting, in_time))?;
                }
            }
        }
        if in_time {
            for group in plan.groups.clone().into_keys() {
                plan.add_times(&group, words);
            }
        }
        Ok(plan)
    }

    /// Adds the fields of an array, and coordinates of its axes.
    fn add(
        &mut self,
        array: &ArrayInfo,
        group: &str,
        axes: &mut Axes,
        (words, cutting, in_time): (&Words, &Cutting, bool),
    ) -> Result<()> {
        let named: Vec<String> = (0..array.shape.len()).map(|axis| axes.name(words, array, axis)).collect();
        let (file, chunk) = cut(array, cutting)?;
        for field in &array.fields {
            let path = meta::path(&array.name, field);
            if meta::data_type(field.number(), field.is_complex()).is_none() {
                let found = format!("complex numbers of two {}, which Zarr has no type for", field.number());
                return Err(Error::new(ErrorKind::Argument, format!("write {path}"), found, "write their parts"));
            }
            let own = (0..field.shape().len()).map(|n| format!("{}_{n}", path.replace('/', "_")));
            let extent = |cells: &[usize]| [cells, field.shape()].concat();
            let mut attributes = Map::new();
            let unit = words.units.get(&path).or_else(|| words.units.get(&array.name));
            unit.map(|unit| attributes.insert("units".into(), json!(unit)));
            let stored = Stored {
                number: field.number(),
                complex: field.is_complex(),
                shape: extent(&array.shape),
                in_time,
                file: extent(&file),
                chunk: chunk.as_deref().map(extent),
                axes: named.iter().cloned().chain(own).collect(),
                packing: cutting.packing,
                attributes,
            };
            self.arrays.insert(path, stored.metadata(0));
        }
        for (axis, name) in named.iter().enumerate() {
            if let Some(values) = meta::coordinates(words, array, axis) {
                self.add_coordinate(&inside(group, name), name, values, words);
            }
        }
        Ok(())
    }

    fn add_coordinate(&mut self, path: &str, name: &str, values: Vec<f64>, words: &Words) {
        let mut attributes = Map::new();
        words.length_unit.iter().for_each(|unit| {
            attributes.insert("units".into(), json!(unit));
        });
        let stored = Stored {
            number: "f64",
            complex: false,
            shape: vec![values.len()],
            in_time: false,
            file: vec![values.len()],
            chunk: None,
            axes: vec![name.to_owned()],
            packing: Packing::Raw,
            attributes,
        };
        self.arrays.insert(path.to_owned(), stored.metadata(0));
        self.coordinates.push((path.to_owned(), values));
    }

    /// Adds the time and the step of each snapshot.
    fn add_times(&mut self, group: &str, words: &Words) {
        for (name, number) in [(TIME, "f64"), (STEP, "u64")] {
            let mut attributes = Map::new();
            words.time_unit.iter().filter(|_| name == TIME).for_each(|unit| {
                // Under `units` xarray takes it for a calendar's, which would need a date to count from.
                attributes.insert("unit".into(), json!(unit));
            });
            let path = inside(group, name);
            let stored = Stored {
                number,
                complex: false,
                shape: Vec::new(),
                in_time: true,
                file: Vec::new(),
                chunk: None,
                axes: Vec::new(),
                packing: Packing::Raw,
                attributes,
            };
            self.arrays.insert(path, stored.metadata(0));
        }
    }
}

/// What the root says of a store of so many snapshots, or of one state.
pub(super) fn mark(snapshots: Option<u64>) -> Value {
    match snapshots {
        Some(count) => json!({"version": meta::VERSION, "snapshots": count}),
        None => json!({"version": meta::VERSION}),
    }
}

/// The path of something in a group.
pub(super) fn inside(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}

/// The extent of files and, if they are shards, of chunks.
fn cut(array: &ArrayInfo, cutting: &Cutting) -> Result<(Vec<usize>, Option<Vec<usize>>)> {
    // An extent is for arrays of as many axes; no part is larger than the array.
    let given = |extent: &Option<Vec<usize>>| {
        let extent = extent.as_ref().filter(|extent| extent.len() == array.shape.len())?;
        Some(extent.iter().zip(&array.shape).map(|(n, most)| (*n).min(*most)).collect::<Vec<usize>>())
    };
    let refuse = |found: String, advice| {
        Err(Error::new(ErrorKind::Argument, format!("cut {:?} into chunks", array.name), found, advice))
    };
    let field = array.fields.iter().map(|field| field.bytes()).max().unwrap_or(1);
    let (file, chunk) = match &cutting.shard {
        None => (given(&cutting.chunk).unwrap_or_else(|| fitting(&array.region, field, FILE)), None),
        Some(shard) => {
            let shard = given(shard).unwrap_or_else(|| array.region.clone());
            let chunk = given(&cutting.chunk).unwrap_or_else(|| fitting(&shard, field, IN_SHARD));
            (shard, Some(chunk))
        }
    };
    if file.contains(&0) || chunk.as_ref().is_some_and(|chunk| chunk.contains(&0)) {
        return refuse("an extent of 0 on an axis".into(), "give 1 or more");
    }
    if let Some(chunk) = &chunk
        && file.iter().zip(chunk).any(|(shard, chunk)| !shard.is_multiple_of(*chunk))
    {
        let found = format!("shards of {file:?}, which are no multiples of chunks of {chunk:?}");
        return refuse(found, "give shards that hold whole chunks on each axis");
    }
    Ok((file, chunk))
}
