//! Reading files of NetCDF and HDF5.

use std::fs;
use std::path::{Path, PathBuf};

use ::netcdf::{Extent, File, Variable};
use tida::ErrorKind;

use super::quiet::quiet;
use super::{failed, own_axes, type_of};
use crate::arrays::{ArrayInfo, Cells};
use crate::sink::{RegionSource, Snapshot};
use crate::source::reading_methods;
use crate::words::{self, STEP, TIME};
use crate::{Error, Result};

/// A series or a file that is read. See [`open`].
#[derive(Debug)]
pub struct Files {
    path: PathBuf,
    /// Of a series the snapshots and their files.
    series: Option<Vec<(Snapshot, PathBuf)>>,
}

/// Opens the folder of a series that tida wrote, or a file: NetCDF-4 of any program, or HDF5.
///
/// # Errors
/// No such folder or file; a file that the library does not know.
pub fn open(path: impl AsRef<Path>) -> Result<Files> {
    quiet();
    let path = path.as_ref().to_path_buf();
    let tried = format!("open {}", path.display());
    let kind = fs::metadata(&path).map_err(|e| Error::io(&*tried, e))?;
    if !kind.is_dir() {
        ::netcdf::open(&path).map_err(|e| failed(&*tried, e))?;
        return Ok(Files { path, series: None });
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&path).map_err(|e| Error::io(&*tried, e))? {
        let file = entry.map_err(|e| Error::io(&*tried, e))?.path();
        let steps = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.parse::<u64>().is_ok());
        if file.extension().is_some_and(|e| e == "nc") && file.file_stem().is_some_and(steps) {
            files.push(file);
        }
    }
    let mut series = Vec::new();
    for file in files {
        let said = |e| failed(format!("read the time of {}", file.display()), e);
        let opened = ::netcdf::open(&file).map_err(said)?;
        let missing = |name: &str| said(::netcdf::Error::NotFound(name.to_owned()));
        let time = opened.variable(TIME).ok_or_else(|| missing(TIME))?.get_value::<f64, _>(0).map_err(said)?;
        let step = opened.variable(STEP).ok_or_else(|| missing(STEP))?.get_value::<u64, _>(0).map_err(said)?;
        series.push((Snapshot::new(0, step, time), file));
    }
    series.sort_by_key(|(snapshot, _)| snapshot.step);
    series.iter_mut().enumerate().for_each(|(index, (snapshot, _))| snapshot.index = index as u64);
    Ok(Files { path, series: Some(series) })
}

impl Files {
    /// The snapshots of a series, in their order; none of a single file.
    pub fn snapshots(&self) -> impl Iterator<Item = Snapshot> {
        self.series.iter().flatten().map(|(snapshot, _)| *snapshot)
    }

    /// The last of them.
    pub fn last(&self) -> Option<Snapshot> {
        self.series.as_ref()?.last().map(|(snapshot, _)| *snapshot)
    }

    /// The file of a snapshot, and its place on the first axis there.
    fn file(&self, snapshot: Option<u64>, tried: &str) -> Result<(File, Option<usize>)> {
        quiet();
        let opened = |path: &Path| ::netcdf::open(path).map_err(|e| failed(tried, e));
        match (&self.series, snapshot) {
            (None, snapshot) => Ok((opened(&self.path)?, snapshot.map(|index| index as usize))),
            (Some(series), Some(index)) if index < series.len() as u64 => {
                Ok((opened(&series[index as usize].1)?, Some(0)))
            }
            (Some(series), _) => {
                let found = format!("a series of {} snapshots, and none of number {snapshot:?}", series.len());
                Err(Error::new(ErrorKind::OutOfRange, tried, found, "count from 0, up to `Files::last`"))
            }
        }
    }
}

reading_methods!(Files);

impl RegionSource for Files {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn check(&self, array: &ArrayInfo, snapshot: Option<u64>) -> Result<Vec<usize>> {
        let tried = format!("read {:?} of {}", array.name, self.path.display());
        let (file, place) = self.file(snapshot, &tried)?;
        let mut extent = array.region.clone();
        for field in &array.fields {
            let path = words::path(&array.name, field);
            let variable = found(&file, &path, &tried)?;
            let has: Vec<usize> = variable.dimensions().iter().map(|axis| axis.len()).collect();
            let wanted = [&array.shape[..], &own_axes(field)].concat();
            let (before, own) = has.split_at(has.len().min(usize::from(place.is_some())));
            if own != wanted {
                let of = if place.is_some() { " behind its first axis" } else { "" };
                let found = format!("{path:?} of shape {has:?}, where the array needs {wanted:?}{of}");
                return Err(Error::format(tried, found, "read into an array of the variable's shape"));
            }
            if let Some((place, count)) = place.zip(before.first()).filter(|(place, count)| place >= count) {
                let found = format!("{count} places on the first axis of {path:?}, and none of number {place}");
                return Err(Error::new(ErrorKind::OutOfRange, tried, found, "count from 0"));
            }
            if Some(variable.vartype()) != type_of(field.number()) {
                let found = format!("{path:?} of {:?}, where the array has {}", variable.vartype(), field.number());
                return Err(Error::format(tried, found, "read into an array of the variable's type"));
            }
            if let Ok(Some(chunk)) = variable.chunking() {
                extent = chunk[before.len()..before.len() + array.shape.len()].to_vec();
            }
        }
        Ok(extent)
    }

    fn read(&self, array: &ArrayInfo, field: usize, snapshot: Option<u64>, cells: &Cells) -> Result<Vec<u8>> {
        let field = &array.fields[field];
        let path = words::path(&array.name, field);
        let tried = format!("read {path:?} of {}", self.path.display());
        let (file, place) = self.file(snapshot, &tried)?;
        let variable = found(&file, &path, &tried)?;
        let own = own_axes(field).into_iter().map(|n| (0, n));
        let cells = cells.start.iter().copied().zip(cells.extent.iter().copied());
        let all = place.map(|place| (place, 1)).into_iter().chain(cells).chain(own);
        let stretches: Vec<Extent> = all.map(|(start, count)| Extent::SliceCount { start, count, stride: 1 }).collect();
        let values = variable.get_raw_values(stretches).map_err(|e| failed(&*tried, e))?;
        match values.iter().position(|byte| field.number() == "bool" && *byte > 1) {
            None => Ok(values),
            Some(at) => {
                let found = format!("a {} where `bool` is 0 or 1", values[at]);
                Err(Error::format(tried, found, "read it into an array of `u8`"))
            }
        }
    }
}

/// A variable, by its path.
fn found<'f>(file: &'f File, path: &str, tried: &str) -> Result<Variable<'f>> {
    file.variable(path).ok_or_else(|| {
        let names: Vec<String> = file.variables().map(|variable| variable.name()).collect();
        let found = format!("no variable {path:?}; the root has {}", names.join(", "));
        Error::format(tried, found, "give the name that the file has")
    })
}
