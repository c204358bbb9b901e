//! The metadata of stores: what `zarr.json` says of arrays and groups.

use std::collections::BTreeMap;

pub(super) use crate::words::{Axes, STEP, TIME, Words, coordinates, path};
use serde_json::{Map, Value, json};

/// The attribute of the root by which tida knows its stores, and the version of what it says.
pub(super) const MARK: &str = "tida";
pub(super) const VERSION: u64 = 1;

/// Values of a coordinate in time that lie in one chunk.
pub(super) const TIMES: u64 = 256;

/// How values are packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Packing {
    Zstd(i32),
    Raw,
}

/// The name that Zarr has for numbers of a field.
pub(super) fn data_type(number: &str, complex: bool) -> Option<String> {
    Some(match (number, complex) {
        ("bool", false) => "bool".into(),
        ("f32", true) => "complex64".into(),
        ("f64", true) => "complex128".into(),
        (_, true) => return None,
        (number, false) => {
            let kind = match &number[..1] {
                "f" => "float",
                "i" => "int",
                _ => "uint",
            };
            format!("{kind}{}", &number[1..])
        }
    })
}

fn fill_value(number: &str, complex: bool) -> Value {
    match (number, complex) {
        ("bool", _) => json!(false),
        (_, true) => json!([0.0, 0.0]),
        ("f32" | "f64", false) => json!(0.0),
        _ => json!(0),
    }
}

/// An array of a store.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub number: &'static str,
    pub complex: bool,
    /// Number of values on each axis, that of time left out.
    pub shape: Vec<usize>,
    pub in_time: bool,
    /// The extent of what one file holds, and of the chunks in it if it is a shard.
    pub file: Vec<usize>,
    pub chunk: Option<Vec<usize>>,
    pub axes: Vec<String>,
    pub packing: Packing,
    pub attributes: Map<String, Value>,
}

impl Stored {
    /// What its `zarr.json` says if it has so many snapshots.
    pub fn metadata(&self, snapshots: u64) -> Value {
        let with_time = |extent: &[usize], time: u64| {
            let extent = extent.iter().map(|n| *n as u64);
            self.in_time.then_some(time).into_iter().chain(extent).collect::<Vec<u64>>()
        };
        // A coordinate in time has several values in a file.
        let (shape, times) = match self.shape.is_empty() {
            true => (vec![snapshots], TIMES),
            false => (with_time(&self.shape, snapshots), 1),
        };
        let file = if self.shape.is_empty() { vec![times] } else { with_time(&self.file, times) };
        let axes = self.in_time.then_some(TIME).into_iter().chain(self.axes.iter().map(String::as_str));
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": data_type(self.number, self.complex),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": file}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill_value(self.number, self.complex),
            "codecs": self.codecs(&with_time),
            "attributes": self.attributes,
            "dimension_names": axes.collect::<Vec<_>>(),
        })
    }

    fn codecs(&self, with_time: &dyn Fn(&[usize], u64) -> Vec<u64>) -> Value {
        let inner = match self.packing {
            // Its own checksum finds damage; a file that is not packed has one behind its bytes.
            Packing::Zstd(level) => {
                json!([little(), {"name": "zstd", "configuration": {"level": level, "checksum": true}}])
            }
            Packing::Raw => checked(),
        };
        match &self.chunk {
            None => inner,
            Some(chunk) => json!([{"name": "sharding_indexed", "configuration": {
                "chunk_shape": with_time(chunk, 1),
                "codecs": inner,
                "index_codecs": checked(),
                "index_location": "end",
            }}]),
        }
    }
}

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

/// The codecs of values that are not packed: as they are, and their checksum behind them.
pub(super) fn checked() -> Value {
    json!([little(), {"name": "crc32c"}])
}

/// What the `zarr.json` of a group says. `inside` are the arrays and groups in it, by their paths from it: readers find
/// them there, all of one snapshot.
pub(super) fn group(attributes: &Map<String, Value>, inside: &BTreeMap<String, Value>) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": attributes,
        "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": inside},
    })
}
