//! `.npy` files, NumPy's format, read and written line by line: no second copy of an array is held.

mod header;
pub(super) mod stream;

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::TileArray;
use super::builder::TileArrayBuilder;
use super::element::Element;
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use header::{Header, HeaderError};
use stream::{Component, Values, components};
use tida_kernels::element::ElementType;

/// Bytes read or written at once.
const BUFFER: usize = 1 << 20;

impl<T: Element, const D: usize> TileArrayBuilder<T, D> {
    /// Builds the array and sets its values from a `.npy` file; see [`TileArray::load_npy`].
    /// [`TileArray::npy_shape`] gives the shape to start the builder with. Formats that depend on the values are found first,
    /// as by [`build_copy`](TileArrayBuilder::build_copy).
    ///
    /// # Errors
    /// Those of [`build`](TileArrayBuilder::build) and [`load_npy`](TileArray::load_npy).
    pub fn build_npy(&self, acc: &TileAcc, path: impl AsRef<Path>) -> Result<TileArray<T, D>, Error> {
        if self.is_found() {
            let mut raw = self.raw().build(acc)?;
            raw.load_npy(path)?;
            return self.build_copy(acc, &raw);
        }
        let mut array = self.build(acc)?;
        array.load_npy(path)?;
        Ok(array)
    }
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// The number of values on each axis of a `.npy` file with elements `T`; the axis of the components, if any, left
    /// out.
    ///
    /// # Errors
    /// A file that cannot be read, is no `.npy` file, or holds another type or number of axes.
    pub fn npy_shape(path: impl AsRef<Path>) -> Result<[usize; D], Error> {
        let path = path.as_ref();
        let (header, _, _) = open(path)?;
        let tried = format!("read {} as {} of {D} axes", path.display(), T::TYPE);
        let trailing = trailing::<T>(&tried)?;
        check_type::<T>(&header, &tried)?;
        let grid = header.shape.get(..D).filter(|grid| header.shape[grid.len()..] == trailing[..]);
        grid.and_then(|grid| grid.try_into().ok()).ok_or_else(|| {
            let found = format!("the shape {:?}", header.shape);
            let advice = format!("give {D} axes, and one of {trailing:?} for components if there are any");
            Error::new(ErrorKind::Format, tried, found, advice)
        })
    }

    /// Sets all valid values from a `.npy` file of the same shape and scalar type, of either byte order, with the
    /// first or the last axis contiguous. Elements of several components of one type take a last axis for them.
    ///
    /// The file is checked before the first value is set; if reading it fails later, some values are set.
    ///
    /// # Errors
    /// A file that cannot be read, is no `.npy` file, holds another type or shape, is cut short or has data left over;
    /// elements of components of several types.
    pub fn load_npy(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let tried = format!("load {} into an array of {} and shape {:?}", path.display(), T::TYPE, self.shape());
        let (header, mut file, length) = open(path)?;
        let mut shape = self.shape().to_vec();
        shape.extend(trailing::<T>(&tried)?);
        check_type::<T>(&header, &tried)?;
        check_shape(&header, &shape, &tried)?;
        if let Some(length) = length {
            check_length(&header, length, &tried)?;
        }
        self.wait_to_replace()?;
        self.tracker.cells_written();
        let all = components(&T::TYPE);
        let values = Values { layout: &self.layout, storage: &self.storage, components: &all };
        // SAFETY: these are the components of `T`; recorded work on the array, of which `self` is the only handle, has
        // run.
        let saturated = unsafe { values.read(&mut file, header.fortran, header.swapped) };
        let saturated = saturated.map_err(|e| failed(&tried, &e))?;
        match file.read(&mut [0]) {
            Ok(0) => self.saturate(saturated),
            Ok(_) => Err(Error::new(
                ErrorKind::Format,
                tried,
                "data left over after the last value",
                "give a file that holds one array",
            )),
            Err(e) => Err(failed(&tried, &e)),
        }
    }

    /// Writes all valid values to a `.npy` file, last axis contiguous, in this machine's byte order. Elements of several
    /// components of one type take a last axis for them. The file appears whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written, elements of components of several types, or failed work that the values need.
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let tried = format!("save an array of {} to {}", T::TYPE, path.display());
        let mut shape = self.shape().to_vec();
        shape.extend(trailing::<T>(&tried)?);
        let all = components(&T::TYPE);
        self.wait_to_read()?;
        write_whole(path, &tried, |file| self.write_components(&all, shape, file).map_err(|e| failed(&tried, &e)))
    }

    /// Writes some components, all of one type, as the contents of a `.npy` file of that shape.
    pub(super) fn write_components(
        &self,
        components: &[Component],
        shape: Vec<usize>,
        file: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(first) = components.first() else { return Ok(()) };
        Header::native(first.scalar, shape).write(file)?;
        let values = Values { layout: &self.layout, storage: &self.storage, components };
        // SAFETY: these are components of `T`; the caller has waited for recorded work, and none can be recorded while
        // `self` is borrowed.
        unsafe { values.write(file) }
    }

    /// Sets some components, all of one type, from the contents of a `.npy` file, whose header was checked.
    pub(super) fn read_components(
        &mut self,
        components: &[Component],
        mut file: impl Read,
        tried: &str,
    ) -> Result<(), Error> {
        let (header, _) = Header::read(&mut file).map_err(|e| header_failed(tried, e))?;
        let values = Values { layout: &self.layout, storage: &self.storage, components };
        // SAFETY: these are components of `T`; the caller has waited for recorded work.
        let saturated = unsafe { values.read(&mut file, header.fortran, header.swapped) };
        self.saturate(saturated.map_err(|e| failed(tried, &e))?)
    }
}

/// Checks that a `.npy` file of `length` bytes holds these components of these shape.
pub(super) fn check_components(
    components: &[Component],
    shape: &[usize],
    file: &mut impl Read,
    length: u64,
    tried: &str,
) -> Result<(), Error> {
    let (header, before) = Header::read(file).map_err(|e| header_failed(tried, e))?;
    if let Some(component) = components.iter().find(|c| c.scalar != header.scalar) {
        return Err(wrong_type(tried, &header, component.scalar.name()));
    }
    check_shape(&header, shape, tried)?;
    check_length(&header, length.saturating_sub(before), tried)
}

/// Opens a file: its header, its data, and the length of the data in bytes where that is known.
fn open(path: &Path) -> Result<(Header, impl Read, Option<u64>), Error> {
    let tried = format!("open {}", path.display());
    let file = File::open(path).map_err(|e| failed(&tried, &e))?;
    let length = file.metadata().ok().filter(|m| m.is_file()).map(|m| m.len());
    let mut file = BufReader::with_capacity(BUFFER, file);
    let (header, before) = Header::read(&mut file).map_err(|e| header_failed(&tried, e))?;
    Ok((header, file, length.map(|length| length.saturating_sub(before))))
}

/// The axis that a file has for the components of an element: none for a scalar.
fn trailing<T: Element>(tried: &str) -> Result<Vec<usize>, Error> {
    if let ElementType::Scalar(_) = T::TYPE {
        return Ok(Vec::new());
    }
    let types = T::TYPE.component_types();
    match types.first() {
        Some(first) if types.iter().all(|ty| ty == first) => Ok(vec![types.len()]),
        _ => Err(Error::new(
            ErrorKind::Format,
            tried,
            format!("the element {}, whose components are not all of one type", T::TYPE),
            "use `save` and `restore`, which keep each component apart",
        )),
    }
}

fn check_type<T: Element>(header: &Header, tried: &str) -> Result<(), Error> {
    match T::TYPE.component_types().first() {
        Some(scalar) if *scalar != header.scalar => Err(wrong_type(tried, header, scalar.name())),
        _ => Ok(()),
    }
}

fn wrong_type(tried: &str, header: &Header, wanted: &str) -> Error {
    Error::new(
        ErrorKind::Format,
        tried,
        format!("values of type {}", header.scalar.name()),
        format!("give a file of {wanted}, or use an array of that type"),
    )
}

fn check_shape(header: &Header, shape: &[usize], tried: &str) -> Result<(), Error> {
    if header.shape == shape {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Format,
        tried,
        format!("the shape {:?}", header.shape),
        format!("give a file of shape {shape:?}, or build an array of the file's shape"),
    ))
}

/// Checks that as many bytes as the header says follow it.
fn check_length(header: &Header, length: u64, tried: &str) -> Result<(), Error> {
    match header.data_bytes() {
        Some(bytes) if bytes == length => Ok(()),
        bytes => Err(Error::new(
            ErrorKind::Format,
            tried,
            format!(
                "{length} bytes of data where the header says {}",
                bytes.map_or("too many".into(), |b| b.to_string())
            ),
            "give a whole file that holds one array",
        )),
    }
}

/// The error of a failed system call, or of a file cut short.
pub(super) fn failed(tried: &str, e: &io::Error) -> Error {
    match e.kind() {
        io::ErrorKind::UnexpectedEof => {
            Error::new(ErrorKind::Format, tried, "a file that ends before its last value", "give a whole file")
        }
        io::ErrorKind::InvalidData => Error::new(ErrorKind::Format, tried, e.to_string(), "give a whole file"),
        _ => Error::new(ErrorKind::Io, tried, e.to_string(), "check the path, its permissions and the space left"),
    }
}

fn header_failed(tried: &str, e: HeaderError) -> Error {
    match e {
        HeaderError::Io(e) => failed(tried, &e),
        HeaderError::Format(found, advice) => Error::new(ErrorKind::Format, tried, found, advice),
    }
}

/// Writes a file under another name first, so that it appears whole or not at all.
pub(super) fn write_whole(
    path: &Path,
    tried: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>,
) -> Result<(), Error> {
    let part = Part::beside(path);
    let io = |e: io::Error| failed(tried, &e);
    let mut file = BufWriter::with_capacity(BUFFER, File::create_new(&part.path).map_err(io)?);
    write(&mut file)?;
    let file = file.into_inner().map_err(|e| failed(tried, e.error()))?;
    file.sync_all().map_err(io)?;
    drop(file);
    fs::rename(&part.path, path).map_err(io)
}

/// A file being written, removed if that fails.
struct Part {
    path: PathBuf,
}

impl Part {
    fn beside(path: &Path) -> Part {
        use std::sync::atomic::{AtomicU32, Ordering};
        static PARTS: AtomicU32 = AtomicU32::new(0);
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.{}.tmp", std::process::id(), PARTS.fetch_add(1, Ordering::Relaxed)));
        Part { path: path.with_file_name(name) }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After the rename there is nothing left to remove.
        let _ = fs::remove_file(&self.path);
    }
}
