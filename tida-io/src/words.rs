//! What files say beside the values: axes, units, where values lie.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tida::array::Field;

use crate::arrays::ArrayInfo;

/// Coordinates of values in time.
pub(crate) const TIME: &str = "time";
pub(crate) const STEP: &str = "step";

/// What a store says beside the values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    pub spacing: Option<Vec<f64>>,
    pub origin: Option<Vec<f64>>,
    pub axes: Option<Vec<String>>,
    pub length_unit: Option<String>,
    pub time_unit: Option<String>,
    /// Units of arrays, by their names; of a field `array/field`.
    pub units: BTreeMap<String, String>,
    pub attributes: Map<String, Value>,
}

/// The names of the axes of arrays that lie in one group: those of equal length share them.
pub(crate) struct Axes {
    names: Vec<(String, usize, bool)>,
}

impl Axes {
    pub fn new() -> Axes {
        Axes { names: Vec::new() }
    }

    /// The name of one axis of an array.
    pub fn name(&mut self, words: &Words, array: &ArrayInfo, axis: usize) -> String {
        let (count, faces) = (array.shape[axis], array.faces[axis]);
        let plain = match &words.axes {
            Some(names) if axis + names.len() >= array.shape.len() => {
                names[axis + names.len() - array.shape.len()].clone()
            }
            _ => ["x", "y", "z", "w"].get(array.shape.len() - 1 - axis).copied().unwrap_or("x").to_owned(),
        };
        let plain = if faces { format!("{plain}_face") } else { plain };
        let of_array = format!("{}_{plain}", array.name);
        let fits = |name: &&String| self.names.iter().all(|(n, c, f)| n != *name || (*c, *f) == (count, faces));
        let name = [&plain, &of_array].into_iter().find(fits).unwrap_or(&of_array).clone();
        if !self.names.iter().any(|(known, ..)| *known == name) {
            self.names.push((name.clone(), count, faces));
        }
        name
    }
}

/// Where the values of an axis lie, if the spacing is known.
pub(crate) fn coordinates(words: &Words, array: &ArrayInfo, axis: usize) -> Option<Vec<f64>> {
    let spacing = *words.spacing.as_ref()?.get(axis)?;
    let origin = words.origin.as_ref().and_then(|origin| origin.get(axis)).copied().unwrap_or(0.0);
    let shift = if array.faces[axis] { 0.0 } else { 0.5 };
    Some((0..array.shape[axis]).map(|n| origin + (n as f64 + shift) * spacing).collect())
}

/// The name of a field's array inside that of its array.
pub(crate) fn path(array: &str, field: &Field) -> String {
    match field.name() {
        "" => array.to_owned(),
        name => format!("{array}/{name}"),
    }
}

/// The methods of a `Writer` that set its `words`.
macro_rules! word_setters {
    () => {
        impl Writer {
            /// Sets the distance of neighbouring cells on each axis, the slowest first. Coordinates of the values are
            /// written beside them, under the names of the axes.
            pub fn spacing(mut self, spacing: &[f64]) -> Writer {
                self.words.spacing = Some(spacing.to_vec());
                self
            }

            /// Sets where the low corner of the domain lies; at 0 otherwise.
            pub fn origin(mut self, origin: &[f64]) -> Writer {
                self.words.origin = Some(origin.to_vec());
                self
            }

            /// Sets the names of the axes, the slowest first. Otherwise they are `["z", "y", "x"]`, of which arrays of
            /// fewer axes take the last.
            pub fn axes(mut self, names: &[&str]) -> Writer {
                self.words.axes = Some(names.iter().map(|name| (*name).to_owned()).collect());
                self
            }

            /// Sets the unit of lengths.
            pub fn length_unit(mut self, unit: &str) -> Writer {
                self.words.length_unit = Some(unit.to_owned());
                self
            }

            /// Sets the unit of times.
            pub fn time_unit(mut self, unit: &str) -> Writer {
                self.words.time_unit = Some(unit.to_owned());
                self
            }

            /// Sets the unit of an array's values, or of a field's: `"flow/density"`.
            pub fn unit(mut self, array: &str, unit: &str) -> Writer {
                self.words.units.insert(array.to_owned(), unit.to_owned());
                self
            }

            /// Adds an attribute of the store.
            pub fn attribute(mut self, name: &str, value: impl Into<serde_json::Value>) -> Writer {
                self.words.attributes.insert(name.to_owned(), value.into());
                self
            }
        }
    };
}
pub(crate) use word_setters;
