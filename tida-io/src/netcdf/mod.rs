//! NetCDF-4 files, which are HDF5 files: with the feature `netcdf`, by the system's library.
//!
//! A series is a folder that holds a file for each snapshot, `00000250.nc` after step 250. Each has an axis `time` of
//! one value, so that `xarray.open_mfdataset("heat/*.nc")` opens the whole series; `h5py` and `netCDF4` open each file.
//! An array of numbers is a variable, a struct a group with a variable for each of its fields. `[T; N]` takes one axis
//! more, and so do complex numbers, for their two parts. `bool` is a number of 0 or 1.
//!
//! - [`create`] and [`append`] write snapshots while the program computes ([`Writer::snapshot_every`]), or one state
//!   into one file ([`Writer::save`]).
//! - [`open`] reads series and files, those of other programs too, also plain HDF5.
//!
//! A snapshot is written under another name and then renamed: a file that is there is whole.
//!
//! ```
//! use tida::prelude::*;
//! use tida_io::netcdf;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("tida-io-netcdf-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let acc = TileAcc::auto()?;
//! let mut u = TileArray::<f64, 2>::builder([40, 60]).regions([2, 1]).build(&acc)?;
//! let mut snapshots = netcdf::create(folder.join("decay")).spacing(&[0.1, 0.1]).snapshot_every(10)?;
//! u.fill_value(1.0)?;
//! for step in 0..=50 {
//!     snapshots.step(step, step as f64 * 0.001, &[("u", &u)])?;
//!     for tile in u.tiles() {
//!         compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.99 * u[at]))?;
//!     }
//! }
//! snapshots.finish()?;
//! assert!(folder.join("decay/00000050.nc").exists());
//!
//! let series = netcdf::open(folder.join("decay"))?;
//! let last = series.last().unwrap();
//! series.read(last.index, &mut [("u", &mut u)])?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(()) }
//! ```

mod quiet;
mod read;
mod sink;

use std::path::{Path, PathBuf};

use ::netcdf::types::{FloatType, IntType, NcVariableType};
use tida::ErrorKind;
use tida::array::Field;

use crate::arrays::Stored;
use crate::snapshots::Snapshots;
use crate::words::{Words, word_setters};
use crate::{Error, Result};
pub use read::{Files, open};
use sink::Sink;

/// Files that are to be written, and how. See [`create`] and [`append`].
#[derive(Clone, Debug)]
#[must_use = "nothing is written before `snapshot_every` or `save`"]
pub struct Writer {
    path: PathBuf,
    append: bool,
    words: Words,
    deflate: Option<u8>,
}

/// A new series, by its folder; or one file, for [`Writer::save`]. Nothing may be there yet.
pub fn create(path: impl AsRef<Path>) -> Writer {
    Writer { path: path.as_ref().to_owned(), append: false, words: Words::default(), deflate: None }
}

/// A series that snapshots are added to, by its folder: a program that was started again goes on with it.
pub fn append(path: impl AsRef<Path>) -> Writer {
    Writer { append: true, ..create(path) }
}

word_setters!();

impl Writer {
    /// Packs values by deflate at this level, from 1 to 9, after their bytes were shuffled. Otherwise they are not
    /// packed.
    pub fn deflate(mut self, level: u8) -> Writer {
        self.deflate = Some(level);
        self
    }

    /// Snapshots of steps whose numbers are multiples of `every`. The first makes or opens the folder.
    ///
    /// # Errors
    /// `every` is 0.
    pub fn snapshot_every(self, every: u64) -> Result<Snapshots> {
        Snapshots::every(every, Sink::new(self, true))
    }

    /// Writes arrays as they are here in the program into one file, without an axis of time; waits until that is done.
    /// The file is there whole or not at all.
    ///
    /// ```
    /// use tida::prelude::*;
    /// use tida_io::netcdf;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("tida-io-nc-save-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("u.nc");
    /// let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f32, 1>::builder([3]).build_slice(&acc, &[1.0, 2.0, 3.0])?;
    /// netcdf::create(&path).save(&[("u", &u)])?;
    /// netcdf::open(&path)?.load(&mut [("u", &mut u)])?;
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Something that is there already; what the disk says; failed work that the values need.
    #[track_caller]
    pub fn save(self, arrays: &[(&str, &dyn Stored)]) -> Result<()> {
        let mut snapshots = Snapshots::every(1, Sink::new(Writer { append: false, ..self }, false))?;
        snapshots.step(0, 0.0, arrays)?;
        snapshots.finish().map(|_| ())
    }
}

/// What the library said.
fn failed(tried: impl Into<String>, e: ::netcdf::Error) -> Error {
    let advice = "see that the path is right, the disk has room, and the file is NetCDF-4 or HDF5";
    Error::of(ErrorKind::Io, [tried.into(), e.to_string(), advice.into()], e)
}

/// The type of a variable of numbers; `bool` is kept as `u8`.
fn type_of(number: &str) -> Option<NcVariableType> {
    Some(match number {
        "bool" | "u8" => NcVariableType::Int(IntType::U8),
        "u16" => NcVariableType::Int(IntType::U16),
        "u32" => NcVariableType::Int(IntType::U32),
        "u64" => NcVariableType::Int(IntType::U64),
        "i8" => NcVariableType::Int(IntType::I8),
        "i16" => NcVariableType::Int(IntType::I16),
        "i32" => NcVariableType::Int(IntType::I32),
        "i64" => NcVariableType::Int(IntType::I64),
        "f32" => NcVariableType::Float(FloatType::F32),
        "f64" => NcVariableType::Float(FloatType::F64),
        _ => return None,
    })
}

/// The axes that a field has beside those of the array: the last is that of the parts of complex numbers.
fn own_axes(field: &Field) -> Vec<usize> {
    field.shape().iter().copied().chain(field.is_complex().then_some(2)).collect()
}
