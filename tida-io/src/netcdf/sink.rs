//! Writing files of NetCDF.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ::netcdf::{Extent, FileMut, VariableMut};
use serde_json::Value;
use tida::ErrorKind;

use super::quiet::quiet;
use super::read::Files;
use super::{Writer, failed, open, own_axes, type_of};
use crate::arrays::{ArrayInfo, fitting};
use crate::sink::{Part, RegionSink, RegionSource, Snapshot};
use crate::words::{self, Axes, STEP, TIME};
use crate::writer::lock;
use crate::{Error, Result, disk};

/// Most bytes of a chunk.
const CHUNK: usize = 4 << 20;

/// The version of what tida says in the attribute `tida` of its files.
const VERSION: i32 = 1;

pub(super) struct Sink {
    writer: Writer,
    /// A series; otherwise one file of one state.
    in_time: bool,
    state: Option<State>,
}

struct State {
    arrays: Vec<ArrayInfo>,
    /// The extent of the chunks of each.
    chunks: Vec<Vec<usize>>,
    /// The last snapshot that was there before.
    last: Option<Snapshot>,
    /// Files of snapshots that do not count yet, by their numbers. Who calls the library has them all: it does one
    /// thing at a time.
    open: Mutex<BTreeMap<u64, FileMut>>,
    /// No other program writes the series while this one is there.
    _lock: Option<fs::File>,
}

impl Sink {
    pub fn new(writer: Writer, in_time: bool) -> Sink {
        Sink { writer, in_time, state: None }
    }

    fn state(&self) -> Result<&State> {
        self.state.as_ref().ok_or_else(|| {
            let tried = format!("write to {}", self.writer.path.display());
            Error::new(ErrorKind::Argument, tried, "files that have not begun", "call `begin` first")
        })
    }

    /// Where a snapshot lies that counts.
    fn place(&self, snapshot: &Snapshot) -> PathBuf {
        match self.in_time {
            true => self.writer.path.join(format!("{:08}.nc", snapshot.step)),
            false => self.writer.path.clone(),
        }
    }
}

impl RegionSink for Sink {
    fn begin(&mut self, arrays: &[ArrayInfo]) -> Result<Vec<Vec<usize>>> {
        let path = self.writer.path.clone();
        let tried = format!("write {}", path.display());
        if !self.writer.append && fs::symlink_metadata(&path).is_ok() {
            let advice = "remove it, give another path, or add to a series by `netcdf::append`";
            return Err(Error::new(ErrorKind::Io, tried, "that something is there already", advice));
        }
        if let Some(level) = self.writer.deflate.filter(|level| !(1..=9).contains(level)) {
            let found = format!("level {level} of deflate");
            return Err(Error::new(ErrorKind::Argument, tried, found, "give a level from 1 to 9"));
        }
        let mut lock = None;
        if self.in_time {
            fs::create_dir_all(&path).map_err(|e| Error::io(&*tried, e))?;
            lock = disk::locked(&path, &tried)?;
            disk::clean([path.clone()].into_iter());
        }
        let last = if self.writer.append { checked(&open(&path)?, arrays)? } else { None };
        let bytes = |array: &ArrayInfo| array.fields.iter().map(|field| field.bytes()).max().unwrap_or(1);
        let chunks: Vec<_> = arrays.iter().map(|array| fitting(&array.region, bytes(array), CHUNK)).collect();
        let (arrays, open) = (arrays.to_vec(), Mutex::default());
        self.state = Some(State { arrays, chunks: chunks.clone(), last, open, _lock: lock });
        Ok(chunks)
    }

    fn last(&self) -> Option<Snapshot> {
        self.state.as_ref()?.last
    }

    fn write(&self, snapshot: &Snapshot, part: &Part) -> Result<()> {
        quiet();
        let path = disk::beside(&self.place(snapshot));
        let state = self.state()?;
        let failed = |e| failed(format!("write {}", path.display()), e);
        let mut open = lock(&state.open);
        let file = match open.entry(snapshot.index) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(place) => {
                let new = New { writer: &self.writer, snapshot: self.in_time.then_some(snapshot) };
                place.insert(new.file(&path, &state.arrays, &state.chunks).map_err(failed)?)
            }
        };
        let array = &state.arrays[part.array];
        for (field, bytes) in array.fields.iter().zip(&part.fields) {
            let time = self.in_time.then_some((0, 1));
            let cells = part.cells.start.iter().copied().zip(part.cells.extent.iter().copied());
            let own = own_axes(field).into_iter().map(|n| (0, n));
            let stretches: Vec<Extent> = time.into_iter().chain(cells).chain(own).map(stretch).collect();
            let name = words::path(&array.name, field);
            let Some(mut variable) = file.variable_mut(&name) else {
                return Err(failed(::netcdf::Error::NotFound(name)));
            };
            put(&mut variable, field.number(), bytes, stretches).map_err(failed)?;
        }
        Ok(())
    }

    fn commit(&self, snapshot: &Snapshot) -> Result<()> {
        let path = self.place(snapshot);
        let part = disk::beside(&path);
        let state = self.state()?;
        let mut open = lock(&state.open);
        if let Some(file) = open.remove(&snapshot.index) {
            file.close().map_err(|e| failed(format!("write {}", part.display()), e))?;
        }
        drop(open);
        disk::sync(std::slice::from_ref(&part))?;
        // From here on it counts.
        disk::place(&part, &path)
    }

    fn abandon(&self, snapshot: &Snapshot) {
        let part = disk::beside(&self.place(snapshot));
        if let Some(state) = &self.state {
            lock(&state.open).remove(&snapshot.index);
            let _ = fs::remove_file(part);
        }
    }
}

/// The last snapshot of a series, if its files hold such arrays.
fn checked(series: &Files, arrays: &[ArrayInfo]) -> Result<Option<Snapshot>> {
    let last = series.last();
    if let Some(last) = last {
        arrays.iter().try_for_each(|array| series.check(array, Some(last.index)).map(drop))?;
    }
    Ok(last)
}

fn stretch((start, count): (usize, usize)) -> Extent {
    Extent::SliceCount { start, count, stride: 1 }
}

/// A file that is to be made.
struct New<'a> {
    writer: &'a Writer,
    /// None of a file of one state.
    snapshot: Option<&'a Snapshot>,
}

impl New<'_> {
    /// A file of zeros.
    fn file(
        &self,
        path: &Path,
        arrays: &[ArrayInfo],
        chunks: &[Vec<usize>],
    ) -> std::result::Result<FileMut, ::netcdf::Error> {
        let words = &self.writer.words;
        let mut file = ::netcdf::create(path)?;
        file.add_attribute("Conventions", "CF-1.11")?;
        file.add_attribute("tida", VERSION)?;
        for (name, value) in &words.attributes {
            match value {
                Value::String(text) => file.add_attribute(name, text.as_str())?,
                Value::Number(number) if number.is_i64() => {
                    file.add_attribute(name, number.as_i64().unwrap_or_default())?
                }
                Value::Number(number) => file.add_attribute(name, number.as_f64().unwrap_or_default())?,
                other => file.add_attribute(name, other.to_string())?,
            };
        }
        if let Some(snapshot) = self.snapshot {
            file.add_unlimited_dimension(TIME)?;
            let mut time = file.add_variable::<f64>(TIME, &[TIME])?;
            time.put_value(snapshot.time, 0)?;
            if let Some(unit) = &words.time_unit {
                // Under `units` xarray takes it for a calendar's, which would need a date to count from.
                time.put_attribute("unit", unit.as_str())?;
            }
            file.add_variable::<u64>(STEP, &[TIME])?.put_value(snapshot.step, 0)?;
        }
        let mut axes = Axes::new();
        for (array, chunk) in arrays.iter().zip(chunks) {
            let named: Vec<String> = (0..array.shape.len()).map(|axis| axes.name(words, array, axis)).collect();
            for (axis, name) in named.iter().enumerate() {
                if file.dimension(name).is_none() {
                    file.add_dimension(name, array.shape[axis])?;
                    self.add_coordinate(&mut file, name, array, axis)?;
                }
            }
            self.add_array(&mut file, array, (&named, chunk))?;
        }
        Ok(file)
    }

    fn add_coordinate(
        &self,
        file: &mut FileMut,
        name: &str,
        array: &ArrayInfo,
        axis: usize,
    ) -> std::result::Result<(), ::netcdf::Error> {
        let Some(values) = words::coordinates(&self.writer.words, array, axis) else { return Ok(()) };
        let mut variable = file.add_variable::<f64>(name, &[name])?;
        if let Some(unit) = &self.writer.words.length_unit {
            variable.put_attribute("units", unit.as_str())?;
        }
        variable.put_values(&values, ..)
    }

    /// Adds the fields of an array.
    fn add_array(
        &self,
        file: &mut FileMut,
        array: &ArrayInfo,
        (axes, chunk): (&[String], &[usize]),
    ) -> std::result::Result<(), ::netcdf::Error> {
        if array.is_group() {
            file.add_group(&array.name)?;
        }
        for field in &array.fields {
            let path = words::path(&array.name, field);
            let mut names: Vec<String> = self.snapshot.map(|_| TIME.to_owned()).into_iter().collect();
            names.extend_from_slice(axes);
            for (n, count) in own_axes(field).into_iter().enumerate() {
                let name = format!("{}_{n}", path.replace('/', "_"));
                file.add_dimension(&name, count)?;
                names.push(name);
            }
            let ty = type_of(field.number()).ok_or(::netcdf::Error::TypeMismatch)?;
            let (group, name) = match array.is_group() {
                true => (file.group_mut(&array.name)?, field.name()),
                false => (file.root_mut(), array.name.as_str()),
            };
            let mut group = group.ok_or_else(|| ::netcdf::Error::NotFound(array.name.clone()))?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut variable = group.add_variable_with_type(name, &names, &ty)?;
            let time = self.snapshot.map(|_| 1);
            let extent: Vec<usize> = time.into_iter().chain(chunk.iter().copied()).chain(own_axes(field)).collect();
            variable.set_chunking(&extent)?;
            if let Some(level) = self.writer.deflate {
                variable.set_compression(level.into(), true)?;
            }
            let units = &self.writer.words.units;
            if let Some(unit) = units.get(&path).or_else(|| units.get(&array.name)) {
                variable.put_attribute("units", unit.as_str())?;
            }
        }
        Ok(())
    }
}

/// Writes a box of a variable.
fn put(
    variable: &mut VariableMut<'_>,
    number: &str,
    bytes: &[u8],
    cells: Vec<Extent>,
) -> std::result::Result<(), ::netcdf::Error> {
    macro_rules! of {
        ($T:ty) => {{
            let values = bytes.chunks_exact(size_of::<$T>()).filter_map(|bytes| bytes.try_into().ok());
            let values: Vec<$T> = values.map(<$T>::from_ne_bytes).collect();
            variable.put_values(&values, cells)
        }};
    }
    match number {
        "bool" | "u8" => variable.put_values(bytes, cells),
        "u16" => of!(u16),
        "u32" => of!(u32),
        "u64" => of!(u64),
        "i8" => of!(i8),
        "i16" => of!(i16),
        "i32" => of!(i32),
        "i64" => of!(i64),
        "f32" => of!(f32),
        "f64" => of!(f64),
        _ => Err(::netcdf::Error::TypeMismatch),
    }
}
