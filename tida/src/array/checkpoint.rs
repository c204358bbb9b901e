//! Saving and restoring sets of arrays.
//!
//! A checkpoint is an uncompressed `.npz` file, which `numpy.load` reads: one `.npy` file an array, or one a component
//! (`name.0.npy`, `name.1.npy`, ..) where the components of its elements are of several types. Zip keeps a checksum of
//! each.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::TileArray;
use super::element::Element;
use super::npy::stream::{Component, components};
use super::npy::{check_components, failed, write_whole};
use crate::error::{Error, ErrorKind};
use tida_kernels::element::ElementType;

/// An array of any element type and number of axes, to be saved or restored with others.
pub trait Saved {
    /// The files that it is kept as.
    #[doc(hidden)]
    fn parts(&self) -> Vec<SavedPart>;
    /// Waits until its values can be read.
    #[doc(hidden)]
    fn ready(&self) -> Result<(), Error>;
    /// Waits until its values can be replaced.
    #[doc(hidden)]
    fn make_way(&mut self) -> Result<(), Error>;
    /// Writes one of its files.
    #[doc(hidden)]
    fn write_part(&self, part: &SavedPart, file: &mut dyn Write) -> io::Result<()>;
    /// Sets the values of one of its files.
    #[doc(hidden)]
    fn read_part(&mut self, part: &SavedPart, file: &mut dyn Read, tried: &str) -> Result<(), Error>;
}

/// One file of an array.
#[doc(hidden)]
#[derive(Debug)]
pub struct SavedPart {
    /// What follows the array's name.
    suffix: String,
    components: Vec<Component>,
    shape: Vec<usize>,
}

impl<T: Element, const D: usize> Saved for TileArray<T, D> {
    fn parts(&self) -> Vec<SavedPart> {
        let all = components(&T::TYPE);
        let shape = self.shape().to_vec();
        if let ElementType::Scalar(_) = T::TYPE {
            return vec![SavedPart { suffix: ".npy".into(), components: all, shape }];
        }
        if all.iter().all(|c| c.scalar == all[0].scalar) {
            let shape = [&shape[..], &[all.len()]].concat();
            return vec![SavedPart { suffix: ".npy".into(), components: all, shape }];
        }
        let part = |(n, c)| SavedPart { suffix: format!(".{n}.npy"), components: vec![c], shape: shape.clone() };
        all.into_iter().enumerate().map(part).collect()
    }

    fn ready(&self) -> Result<(), Error> {
        self.wait_to_read()
    }

    fn make_way(&mut self) -> Result<(), Error> {
        self.wait_to_replace()?;
        self.tracker.cells_written();
        Ok(())
    }

    fn write_part(&self, part: &SavedPart, file: &mut dyn Write) -> io::Result<()> {
        self.write_components(&part.components, part.shape.clone(), file)
    }

    fn read_part(&mut self, part: &SavedPart, file: &mut dyn Read, tried: &str) -> Result<(), Error> {
        self.read_components(&part.components, file, tried)
    }
}

/// Saves the valid values of a set of arrays to one file, each under a name. Cuts and ghosts are not kept: the arrays
/// restored may be cut otherwise.
///
/// The file is a `.npz` of NumPy, whatever its name, and appears whole or not at all.
///
/// ```
/// # use tida::prelude::*;
/// # let dir = std::env::temp_dir().join(format!("tida-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let path = dir.join("step.npz");
/// # let acc = TileAcc::auto()?;
/// # let mut u = TileArray::<f64, 2>::builder([4, 4]).build(&acc)?;
/// # let mut age = TileArray::<u32, 1>::builder([9]).build(&acc)?;
/// tida::save(&path, &[("u", &u), ("age", &age)])?;
/// tida::restore(&path, &mut [("u", &mut u), ("age", &mut age)])?;
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), tida::Error>(())
/// ```
///
/// # Errors
/// Names that are empty, not unique, or hold `/`, `\` or a control character; a file that cannot be written; failed work
/// that the values need.
pub fn save(path: impl AsRef<Path>, arrays: &[(&str, &dyn Saved)]) -> Result<(), Error> {
    let path = path.as_ref();
    let tried = format!("save {} arrays to {}", arrays.len(), path.display());
    let mut names = HashSet::new();
    for (name, array) in arrays {
        check_name(name, &tried)?;
        array.ready()?;
        for file in array.parts().iter().map(|part| format!("{name}{}", part.suffix)) {
            if !names.insert(file.clone()) {
                let found = format!("{file:?} twice");
                return Err(Error::new(ErrorKind::Argument, tried, found, "give each array a name of its own"));
            }
        }
    }
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    write_whole(path, &tried, |file| {
        let mut zip = ZipWriter::new(file);
        for (name, array) in arrays {
            for part in array.parts() {
                let entry = format!("{name}{}", part.suffix);
                zip.start_file(entry, options).map_err(|e| zip_failed(&tried, e))?;
                array.write_part(&part, &mut zip).map_err(|e| failed(&tried, &e))?;
            }
        }
        zip.finish().map_err(|e| zip_failed(&tried, e))?;
        Ok(())
    })
}

/// Sets the valid values of a set of arrays from a file written by [`save`], each from its name. Ghosts have to be
/// filled afterwards.
///
/// Everything is checked before the first value is set: names, shapes, types and checksums. So a file that is not
/// right leaves all arrays as they are. Arrays in the file that are not asked for are left out.
///
/// # Errors
/// A file that cannot be read, is no such file, is damaged, lacks a name, or holds another shape or type.
pub fn restore(path: impl AsRef<Path>, arrays: &mut [(&str, &mut dyn Saved)]) -> Result<(), Error> {
    let path = path.as_ref();
    let tried = format!("restore {} arrays from {}", arrays.len(), path.display());
    let file = File::open(path).map_err(|e| failed(&tried, &e))?;
    let mut zip = ZipArchive::new(BufReader::with_capacity(1 << 20, file)).map_err(|e| zip_failed(&tried, e))?;
    for (name, array) in arrays.iter() {
        let tried = format!("restore {name:?} from {}", path.display());
        for part in array.parts() {
            let mut entry = zip.by_name(&format!("{name}{}", part.suffix)).map_err(|e| zip_failed(&tried, e))?;
            let length = entry.size();
            check_components(&part.components, &part.shape, &mut entry, length, &tried)?;
            // The checksum is compared at the end.
            io::copy(&mut entry, &mut io::sink()).map_err(|e| failed(&tried, &e))?;
        }
    }
    for (_, array) in arrays.iter_mut() {
        array.make_way()?;
    }
    for (name, array) in arrays.iter_mut() {
        for part in array.parts() {
            let entry = zip.by_name(&format!("{name}{}", part.suffix)).map_err(|e| zip_failed(&tried, e))?;
            array.read_part(&part, &mut BufReader::with_capacity(1 << 16, entry), &tried)?;
        }
    }
    Ok(())
}

fn check_name(name: &str, tried: &str) -> Result<(), Error> {
    if !name.is_empty() && !name.contains(|c: char| c == '/' || c == '\\' || c.is_control()) {
        return Ok(());
    }
    let advice = "use names without slashes and control characters";
    Err(Error::new(ErrorKind::Argument, tried, format!("the array name {name:?}"), advice))
}

fn zip_failed(tried: &str, e: ZipError) -> Error {
    match e {
        ZipError::Io(e) => failed(tried, &e),
        ZipError::FileNotFound => {
            Error::new(ErrorKind::Format, tried, "no array of that name", "restore the names that were saved")
        }
        e => Error::new(ErrorKind::Format, tried, e.to_string(), "give a file written by `save`"),
    }
}
