//! `.npy` files, NumPy's format, read and written line by line: no second copy of an array is held.

mod header;
pub(super) mod stream;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::panic::Location;
use std::path::Path;

#[cfg(feature = "npz")]
pub(super) use header::MAGIC;
use header::{Header, HeaderError};
use stream::{Component, Values, components};
use tida_kernels::element::{ElementType, ScalarType};

use super::TileArray;
use super::builder::TileArrayBuilder;
use super::files::{self, BUFFER, reading_failed, write_whole, writing_failed};
use super::ranks::write_shared;
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::grid::{GridBox, narrow};
use crate::memory::element::Element;
use crate::memory::layout::Layout;
use crate::memory::slab::each_slab;
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Touch};

impl<T: Element, const D: usize> TileArrayBuilder<T, D> {
    /// Builds the array and sets its values from a `.npy` file, as [`TileArray::load_npy`] does.
    /// [`TileArray::npy_shape`] gives the shape to start the builder with. Formats that depend on the values are found
    /// first, as by [`build_copy`](TileArrayBuilder::build_copy).
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// # let path = std::env::temp_dir().join(format!("tida-doc-build-{}.npy", std::process::id()));
    /// # let mut u = TileArray::<f64, 1>::builder([3]).build(&acc)?;
    /// # u.fill(|[i]| i as f64)?;
    /// # u.save_npy(&path)?;
    /// let shape = TileArray::<f64, 1>::npy_shape(&path)?;
    /// let u = TileArray::<f64, 1>::builder(shape).ghost(1).build_npy(&acc, &path)?;
    /// assert_eq!(u.read_box(u.domain())?, [0.0, 1.0, 2.0]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok(()) }
    /// ```
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
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// # let path = std::env::temp_dir().join(format!("shape-{}.npy", std::process::id()));
    /// TileArray::<[f32; 3], 2>::builder([4, 8]).build(&acc)?.save_npy(&path)?;
    /// assert_eq!(TileArray::<[f32; 3], 2>::npy_shape(&path)?, [4, 8]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A file that cannot be read, is no regular file or no `.npy` file, holds another type or number of axes, or does
    /// not hold as many values as it says.
    pub fn npy_shape(path: impl AsRef<Path>) -> Result<[usize; D], Error> {
        let path = path.as_ref();
        let tried = format!("read {} as {} of {D} axes", path.display(), T::TYPE);
        let part = NpyPart::only::<T>(&tried)?;
        let (mut file, length) = files::open(path, &tried)?;
        let (header, data) = Header::read(&mut file).map_err(|e| header_failed(&tried, e))?;
        part.check_type(&header, &tried)?;
        let cells = header.shape.get(..D).and_then(|cells| <[usize; D]>::try_from(cells).ok());
        match cells.filter(|cells| header.shape == part.shape(cells)) {
            Some(cells) => check_length(&header, length.saturating_sub(data), &tried).map(|()| cells),
            None => {
                let found = format!("the shape {:?}", header.shape);
                let trailing = part.shape(&[]);
                let advice = format!("give {D} axes, and one of {trailing:?} for components if there are any");
                Err(Error::new(ErrorKind::Format, tried, found, advice))
            }
        }
    }

    /// Sets all valid values from a `.npy` file of the same shape and scalar type, of either byte order, with the first
    /// or the last axis contiguous. If elements have several components of one type, the file has a last axis for them.
    /// Complex numbers are numpy's `c8` and `c16`, with the last axis contiguous.
    ///
    /// The file is checked before the first value is set. If reading it fails later, some values are set. A `.npy` file
    /// has no checksum: values that were damaged in it are not noticed.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// # let path = std::env::temp_dir().join(format!("tida-doc-load-{}.npy", std::process::id()));
    /// let mut u = TileArray::<f64, 1>::builder([3]).build(&acc)?;
    /// u.fill(|[i]| i as f64)?;
    /// u.save_npy(&path)?;
    /// u.fill_value(0.0)?;
    /// u.load_npy(&path)?;
    /// assert_eq!(u.read_box(u.domain())?, [0.0, 1.0, 2.0]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A file that cannot be read, is no regular file or no `.npy` file, holds another type or shape, is cut short or
    /// has data left over; elements of components of several types; values that the array's format cannot hold, as for
    /// [`fill`](TileArray::fill).
    #[track_caller]
    pub fn load_npy(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let tried = format!("load {} into an array of {} and shape {:?}", path.display(), T::TYPE, self.shape());
        let (file, length) = files::open(path, &tried)?;
        NpyPart::only::<T>(&tried)?;
        self.shared_call("load_npy", Location::caller());
        self.read_npy_part(0, &mut BufReader::with_capacity(BUFFER, file), length, &tried)
    }

    /// Writes all valid values to a `.npy` file, last axis contiguous, in this machine's byte order. If elements have
    /// several components of one type, the file has a last axis for them. Complex numbers are numpy's `c8` and `c16`.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// # let path = std::env::temp_dir().join(format!("tida-doc-save-{}.npy", std::process::id()));
    /// let u = TileArray::<f32, 2>::builder([4, 8]).build(&acc)?;
    /// u.save_npy(&path)?;
    /// assert_eq!(TileArray::<f32, 2>::npy_shape(&path)?, [4, 8]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok(()) }
    /// ```
    ///
    /// The file appears whole or not at all. It is first written beside its destination under a name that ends in
    /// `.tmp`, put onto the disk, and then renamed. If that fails, what was there before stays. Only a regular file is
    /// replaced. The new one has its permissions, and its owner and group where the system allows; lists of access
    /// rights and other names of the file (hard links) are not kept. Symbolic links are followed, and stay. If a
    /// program was killed during a save, the next save to the same file on the same machine removes what it left, if
    /// the file system has locks.
    ///
    /// # Errors
    /// A destination that is no regular file, such as a folder, a device or a pipe; one that may not be written; no
    /// room for the new file beside the old one; elements of components of several types; failed work that the values
    /// need.
    #[track_caller]
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let tried = format!("save an array of {} to {}", T::TYPE, path.display());
        NpyPart::only::<T>(&tried)?;
        let shared = self.shared_call("save_npy", Location::caller());
        let waited = self.wait_to_read();
        if let Some((world, _)) = shared {
            let write = |file: &mut BufWriter<&File>| self.write_npy_part(0, file, &tried);
            let no_file = || self.write_npy_part(0, &mut io::sink(), &tried);
            return write_shared(world, waited, (path, &tried), (write, no_file), Location::caller());
        }
        waited?;
        write_whole(path, &tried, |file| self.write_npy_part(0, file, &tried))
    }

    /// Writes the contents of one of the array's `.npy` files.
    #[track_caller]
    pub(super) fn write_npy_part(&self, part: usize, file: &mut dyn Write, tried: &str) -> Result<(), Error> {
        let part = NpyPart::number::<T>(part, tried)?;
        self.wait_to_read()?;
        let header = Header::native(part.scalar, part.complex, part.shape(&self.shape()));
        let headed = header.write(file).map_err(|e| writing_failed(tried, &e));
        if let Some(world) = self.acc.world().filter(|_| self.is_parted()) {
            let write = |array: &TileArray<T, D>, cells: &GridBox<D>, file: &mut dyn Write| {
                let values = Values { layout: &array.layout, storage: &array.storage, components: &part.components };
                // SAFETY: as in `write_npy_values`.
                unsafe { values.write(file, cells) }
            };
            return self.write_ranks(world, headed, (file, tried), write, Location::caller());
        }
        headed?;
        if !self.is_parted() {
            return self.write_npy_values(&part, file, tried);
        }
        // What they have follows one another in the file.
        self.owners().iter().try_for_each(|array| array.write_npy_values(&part, file, tried))
    }

    /// Writes the values of an array, or of a part of one, on one place.
    fn write_npy_values(&self, part: &NpyPart, file: &mut dyn Write, tried: &str) -> Result<(), Error> {
        let values = Values { layout: &self.layout, storage: &self.storage, components: &part.components };
        let failed = |e: io::Error| writing_failed(tried, &e);
        let domain = self.layout.owned;
        let Some(backing) = self.storage.backing() else {
            // SAFETY: these are components of `T`; recorded work on the array has run, and none can be recorded while
            // `self` is borrowed.
            return unsafe { values.write(file, &domain) }.map_err(failed);
        };
        let mut write = |slab: &Layout<D>, storage: &Storage, _: usize, cells: GridBox<4>| {
            let values = Values { layout: slab, storage, components: &part.components };
            // SAFETY: as above, of the slab.
            unsafe { values.write(file, &narrow(&cells)) }.map_err(failed)
        };
        // Slabs come in the order of the file.
        // SAFETY: as above.
        unsafe { each_slab((&self.layout, &self.storage, backing), &self.owned(&domain), false, &mut write) }
    }

    /// Checks that `length` bytes that start with these can be one of the array's `.npy` files.
    #[cfg(feature = "npz")]
    pub(super) fn check_npy_part(
        &self,
        part: usize,
        file: &mut dyn Read,
        length: u64,
        tried: &str,
    ) -> Result<(), Error> {
        self.checked_header(part, file, length, tried).map(|_| ())
    }

    /// One of the array's `.npy` files, and its header, if `length` bytes that start with these can be that file.
    fn checked_header(
        &self,
        part: usize,
        mut file: &mut dyn Read,
        length: u64,
        tried: &str,
    ) -> Result<(NpyPart, Header), Error> {
        let part = NpyPart::number::<T>(part, tried)?;
        let (header, data) = Header::read(&mut file).map_err(|e| header_failed(tried, e))?;
        part.check_type(&header, tried)?;
        let shape = part.shape(&self.shape());
        if header.shape != shape {
            return Err(Error::new(
                ErrorKind::Format,
                tried,
                format!("the shape {:?}", header.shape),
                format!("give a file of shape {shape:?}, or build an array of the file's shape"),
            ));
        }
        check_length(&header, length.saturating_sub(data), tried)?;
        if header.fortran && D > 1 && (self.storage.backing().is_some() || self.is_parted()) {
            let advice = "save `numpy.ascontiguousarray(a)`";
            let found = match self.is_parted() {
                true => "the first axis contiguous, where the array lies on several places",
                false => "the first axis contiguous, where the array lies in a file (`backed_by`)",
            };
            return Err(Error::new(ErrorKind::Format, tried, found, advice));
        }
        Ok((part, header))
    }

    /// Sets values from one of the array's `.npy` files, of `length` bytes.
    #[track_caller]
    pub(super) fn read_npy_part(
        &mut self,
        part: usize,
        file: &mut dyn Read,
        length: u64,
        tried: &str,
    ) -> Result<(), Error> {
        let (part, header) = self.checked_header(part, file, length, tried)?;
        self.make_way()?;
        if !self.is_parted() {
            return self.read_npy_values(&part, &header, file, tried);
        }
        let owners = self.owners().len();
        self.parts[..owners].iter_mut().try_for_each(|array| {
            if array.storage.regions() == 0 {
                // Another rank reads it.
                let values = array.layout.owned.cells() * part.components.len();
                return skip(file, values * part.scalar.size()).map_err(|e| reading_failed(tried, &e));
            }
            array.read_npy_values(&part, &header, file, tried)
        })?;
        self.spread(None, false)
    }

    /// Sets the values of an array, or of a part of one, on one place.
    fn read_npy_values(
        &mut self,
        part: &NpyPart,
        header: &Header,
        file: &mut dyn Read,
        tried: &str,
    ) -> Result<(), Error> {
        let values = Values { layout: &self.layout, storage: &self.storage, components: &part.components };
        let (order, domain) = ((header.fortran, header.swapped), self.layout.owned);
        let failed = |e: io::Error| reading_failed(tried, &e);
        let Some(backing) = self.storage.backing() else {
            // SAFETY: these are components of `T`; recorded work on the array, of which `self` is the only handle, has
            // run.
            let saturated = unsafe { values.read(file, &domain, order) };
            return self.saturate(saturated.map_err(failed)?);
        };
        let mut saturated = 0;
        let mut read = |slab: &Layout<D>, storage: &Storage, _: usize, cells: GridBox<4>| {
            let values = Values { layout: slab, storage, components: &part.components };
            // SAFETY: as above, of the slab.
            saturated += unsafe { values.read(file, &narrow(&cells), order) }.map_err(failed)?;
            Ok(())
        };
        // SAFETY: as above.
        unsafe { each_slab((&self.layout, &self.storage, backing), &self.owned(&domain), true, &mut read)? };
        self.saturate(saturated)
    }

    /// Waits until the host may replace all values of some components, and says that it does.
    #[track_caller]
    pub(super) fn make_way(&mut self) -> Result<(), Error> {
        self.start_all()?;
        let domain = self.domain();
        self.each_part_mut(&domain, &mut |part, _| part.make_way())?;
        self.acc.wait(&[Touch { keeps: true, ..self.touch(None, Mode::Overwrite) }])?;
        self.tracker.ages.cells_written();
        Ok(())
    }
}

/// Reads so many bytes that are not wanted.
fn skip(file: &mut dyn Read, bytes: usize) -> io::Result<()> {
    match io::copy(&mut file.take(bytes as u64), &mut io::sink())? {
        copied if copied == bytes as u64 => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// What one of an array's `.npy` files holds: components that are all of one type.
#[derive(Debug)]
pub(super) struct NpyPart {
    components: Vec<Component>,
    scalar: ScalarType,
    /// They are pairs of parts of complex numbers.
    complex: bool,
    /// Values are a last axis of its shape.
    axis: bool,
}

impl NpyPart {
    /// The files of an array: one, or one a component where these are of several types.
    pub(super) fn all<T: Element>() -> Vec<NpyPart> {
        let all = components(&T::TYPE);
        let Some(Component { scalar, .. }) = all.first().copied() else { return Vec::new() };
        if all.iter().all(|c| c.scalar == scalar) {
            let complex = is_of_complex(&T::TYPE);
            let axis = !(complex || matches!(T::TYPE, ElementType::Scalar(_)));
            let axis = axis || matches!(T::TYPE, ElementType::Array { .. });
            return vec![NpyPart { components: all, scalar, complex, axis }];
        }
        let part = |c: Component| NpyPart { components: vec![c], scalar: c.scalar, complex: false, axis: false };
        all.into_iter().map(part).collect()
    }

    fn number<T: Element>(part: usize, tried: &str) -> Result<NpyPart, Error> {
        Self::all::<T>().into_iter().nth(part).ok_or_else(|| {
            let found = format!("no component {part} of {}", T::TYPE);
            Error::new(ErrorKind::Argument, tried, found, "use elements that have components")
        })
    }

    /// The one file of an array.
    fn only<T: Element>(tried: &str) -> Result<NpyPart, Error> {
        let mut all = Self::all::<T>();
        match (all.pop(), all.is_empty()) {
            (Some(part), true) => Ok(part),
            (Some(_), false) => Err(Error::new(
                ErrorKind::Format,
                tried,
                format!("the element {}, whose components are not all of one type", T::TYPE),
                "use `save` and `restore`, which keep each component apart",
            )),
            (None, _) => Self::number::<T>(0, tried),
        }
    }

    /// The shape of the file of an array with so many cells.
    fn shape(&self, cells: &[usize]) -> Vec<usize> {
        let mut shape = cells.to_vec();
        let values = self.components.len() / if self.complex { 2 } else { 1 };
        shape.extend(self.axis.then_some(values));
        shape
    }

    fn check_type(&self, header: &Header, tried: &str) -> Result<(), Error> {
        if header.scalar == self.scalar && header.complex == self.complex {
            // (The parts of a value lie together in either order, which those of no other element do.)
            if header.complex && header.fortran && header.shape.len() > 1 {
                let advice = "save `numpy.ascontiguousarray(a)`";
                return Err(Error::new(
                    ErrorKind::Format,
                    tried,
                    "complex numbers with the first axis contiguous",
                    advice,
                ));
            }
            return Ok(());
        }
        let name = |scalar: ScalarType, complex| match complex {
            true => format!("complex numbers of two {}", scalar.name()),
            false => scalar.name().to_owned(),
        };
        let found = format!("values of type {}", name(header.scalar, header.complex));
        let advice = format!("give a file of {}, or use an array of that type", name(self.scalar, self.complex));
        Err(Error::new(ErrorKind::Format, tried, found, advice))
    }
}

/// Whether an element is a complex number, or an array of them.
pub(super) fn is_of_complex(element: &ElementType) -> bool {
    match element {
        ElementType::Scalar(_) => false,
        ElementType::Array { element, .. } => is_of_complex(element),
        ElementType::Struct { name, fields } => {
            let parts =
                matches!(fields, [("re", ElementType::Scalar(re)), ("im", ElementType::Scalar(im))] if re == im);
            parts && matches!(*name, "Complex32" | "Complex64")
        }
    }
}

/// Checks that as many bytes as the header says follow it.
fn check_length(header: &Header, length: u64, tried: &str) -> Result<(), Error> {
    let found = match header.data_bytes() {
        Some(bytes) if bytes == length => return Ok(()),
        Some(bytes) if bytes < length => {
            format!("{length} bytes of data where the header says {bytes}: {} left over", length - bytes)
        }
        Some(bytes) => format!("{length} bytes of data where the header says {bytes}: {} are missing", bytes - length),
        None => format!(
            "{length} bytes of data where the header says {} values, more than any file holds",
            header.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
        ),
    };
    Err(Error::new(ErrorKind::Format, tried, found, "give a whole file that holds one array"))
}

fn header_failed(tried: &str, e: HeaderError) -> Error {
    match e {
        HeaderError::Io(e) => reading_failed(tried, &e),
        HeaderError::Format(found, advice) => Error::new(ErrorKind::Format, tried, found, advice),
    }
}
