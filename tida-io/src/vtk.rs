//! VTK image data, which ParaView, VisIt and PyVista open.
//!
//! A series is a file `name.pvd`, which lists the files of its snapshots in the folder `name` beside it: each is a
//! `.vti` file that holds all arrays. ParaView opens the `.pvd`. Numbers are not packed (appended raw data), so that a
//! file is as large as its values.
//!
//! Arrays have 1 to 3 axes; the last is VTK's x. Cell-centred arrays are cell data. Arrays that are face-centred on all
//! axes are point data. `[T; N]` has N components, a complex number two; a struct has an array for each field, `bool`
//! is `UInt8`.
//!
//! ```
//! use tida::prelude::*;
//! use tida_io::vtk;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("tida-io-vtk-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let acc = TileAcc::auto()?;
//! let mut u = TileArray::<f32, 3>::builder([8, 8, 16]).build(&acc)?;
//! let mut snapshots = vtk::create(folder.join("u.pvd")).spacing(&[0.1, 0.1, 0.1]).snapshot_every(1)?;
//! for step in 0..3 {
//!     u.fill_value(step as f32)?;
//!     snapshots.step(step, step as f64, &[("u", &u)])?;
//! }
//! snapshots.finish()?;
//! assert!(folder.join("u/00000002.vti").exists());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(()) }
//! ```

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tida::ErrorKind;
use tida::array::Field;

use crate::arrays::{ArrayInfo, Cells};
use crate::sink::{Part, RegionSink, Snapshot};
use crate::snapshots::Snapshots;
use crate::writer::lock;
use crate::{Error, Result, disk};

/// Bytes of a part that is put onto the disk at once, and not when its snapshot is whole.
const LARGE: usize = 1 << 20;

/// A series that is to be written, and how. See [`create`] and [`append`].
#[derive(Clone, Debug)]
#[must_use = "nothing is written before `snapshot_every`"]
pub struct Writer {
    path: PathBuf,
    append: bool,
    spacing: Option<Vec<f64>>,
    origin: Option<Vec<f64>>,
}

/// A new series, by the path of its `.pvd` file. Nothing may be there yet.
pub fn create(path: impl AsRef<Path>) -> Writer {
    Writer { path: path.as_ref().to_owned(), append: false, spacing: None, origin: None }
}

/// A series that snapshots are added to, by the path of its `.pvd` file: a program that was started again goes on with
/// it.
///
/// ```
/// use tida::prelude::*;
/// use tida_io::vtk;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("tida-io-vtk-append-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("u.pvd");
/// let acc = TileAcc::auto()?;
/// let u = TileArray::<f32, 2>::builder([8, 16]).build(&acc)?;
/// let mut snapshots = vtk::create(&path).snapshot_every(1)?;
/// snapshots.step(0, 0.0, &[("u", &u)])?;
/// snapshots.finish()?;
///
/// let mut snapshots = vtk::append(&path).snapshot_every(1)?;
/// snapshots.step(1, 0.5, &[("u", &u)])?;
/// assert_eq!(snapshots.finish()?.unwrap().index, 1); // the second one
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(()) }
/// ```
pub fn append(path: impl AsRef<Path>) -> Writer {
    Writer { append: true, ..create(path) }
}

impl Writer {
    /// Sets the distance of neighbouring cells on each axis, the slowest first: 1 otherwise.
    pub fn spacing(mut self, spacing: &[f64]) -> Writer {
        self.spacing = Some(spacing.to_vec());
        self
    }

    /// Sets where the low corner of the domain lies: at 0 otherwise.
    pub fn origin(mut self, origin: &[f64]) -> Writer {
        self.origin = Some(origin.to_vec());
        self
    }

    /// Snapshots of steps whose numbers are multiples of `every`.
    ///
    /// # Errors
    /// `every` is 0.
    pub fn snapshot_every(self, every: u64) -> Result<Snapshots> {
        Snapshots::every(every, Sink { writer: self, state: None })
    }
}

struct Sink {
    writer: Writer,
    state: Option<State>,
}

struct State {
    /// The folder of the snapshots.
    folder: PathBuf,
    head: Head,
    /// The process of the first rank, or this one.
    process: u32,
    /// Snapshots that count.
    done: Mutex<Vec<Snapshot>>,
    /// Files of snapshots that do not count yet.
    open: Mutex<BTreeMap<u64, Arc<File>>>,
    /// No other program writes the series while this one is there.
    _lock: Option<File>,
}

/// What every file begins with, and where in it the values of each field of each array start.
struct Head {
    text: String,
    places: Vec<Vec<Place>>,
    bytes: u64,
    /// Number of values on each axis, of each array.
    shapes: Vec<Vec<usize>>,
}

struct Place {
    start: u64,
    /// Bytes of a value.
    size: usize,
    bytes: u64,
}

impl RegionSink for Sink {
    fn begin(&mut self, arrays: &[ArrayInfo]) -> Result<Vec<Vec<usize>>> {
        let path = self.writer.path.clone();
        let tried = format!("write the series {}", path.display());
        if path.extension().is_none_or(|e| e != "pvd") {
            let found = "a path that does not end in `.pvd`";
            return Err(Error::new(ErrorKind::Argument, tried, found, "give the path of the list of the series"));
        }
        let folder = path.with_extension("");
        let there = [&path, &folder].into_iter().any(|path| fs::symlink_metadata(path).is_ok());
        if !self.writer.append && there {
            let advice = "remove the list and its folder, give another path, or add to them by `vtk::append`";
            return Err(Error::new(ErrorKind::Io, tried, "that something is there already", advice));
        }
        let head = Head::new(arrays, &self.writer, &tried)?;
        let done = if self.writer.append { listed(&path, &tried)? } else { Vec::new() };
        if !self.writer.append {
            disk::replace(&[(path.clone(), list(&path, &[]).into_bytes())])?;
        }
        fs::create_dir_all(&folder).map_err(|e| Error::io(&*tried, e))?;
        let lock = disk::locked(&folder, &tried)?;
        disk::clean([folder.clone()].into_iter());
        let (done, open) = (Mutex::new(done), Mutex::default());
        self.state = Some(State { folder, head, process: std::process::id(), done, open, _lock: lock });
        // Whole regions: rows of them lie one after the other in the file.
        Ok(arrays.iter().map(|array| array.region.clone()).collect())
    }

    fn last(&self) -> Option<Snapshot> {
        lock(&self.state.as_ref()?.done).last().copied()
    }

    fn write(&self, snapshot: &Snapshot, part: &Part) -> Result<()> {
        let state = self.state()?;
        let path = state.part(snapshot);
        let failed = |e| Error::io(format!("write {}", path.display()), e);
        let file = match lock(&state.open).entry(snapshot.index) {
            Entry::Occupied(open) => open.get().clone(),
            Entry::Vacant(new) => new.insert(Arc::new(state.head.make(&path).map_err(failed)?)).clone(),
        };
        let shape = &state.head.shapes[part.array];
        for (place, bytes) in state.head.places[part.array].iter().zip(&part.fields) {
            put(&file, place, shape, &part.cells, bytes).map_err(failed)?;
        }
        // The disk has something to do while the next part is made.
        if part.fields.iter().map(|values| values.len()).sum::<usize>() >= LARGE {
            file.sync_data().map_err(failed)
        } else {
            Ok(())
        }
    }

    fn commit(&self, snapshot: &Snapshot) -> Result<()> {
        let path = &self.writer.path;
        self.settle(snapshot)?;
        let state = self.state()?;
        let part = state.part(snapshot);
        disk::place(&part, &state.folder.join(name(snapshot)))?;
        let mut counted = lock(&state.done);
        let done = [&counted[..], &[*snapshot]].concat();
        // From here on it counts.
        disk::replace(&[(path.clone(), list(path, &done).into_bytes())])?;
        *counted = done;
        Ok(())
    }

    fn abandon(&self, snapshot: &Snapshot) {
        if let Some(state) = &self.state {
            lock(&state.open).remove(&snapshot.index);
            let _ = fs::remove_file(state.part(snapshot));
        }
    }
    fn shared(&self) -> Option<String> {
        self.state.as_ref().map(|state| state.process.to_string())
    }

    fn join(&mut self, arrays: &[ArrayInfo], told: &str) -> Result<()> {
        let path = &self.writer.path;
        let tried = format!("write the series {}", path.display());
        let head = Head::new(arrays, &self.writer, &tried)?;
        let folder = path.with_extension("");
        fs::metadata(&folder).map_err(|e| Error::io(&*tried, e))?;
        let no_process = |_| {
            Error::format(&*tried, format!("the process {told:?} of the first rank"), "report this as a bug of tida")
        };
        let process = told.parse().map_err(no_process)?;
        let (done, open) = (Mutex::default(), Mutex::default());
        self.state = Some(State { folder, head, process, done, open, _lock: None });
        Ok(())
    }

    fn settle(&self, snapshot: &Snapshot) -> Result<()> {
        let state = self.state()?;
        let file = lock(&state.open).remove(&snapshot.index);
        let synced = file.map_or(Ok(()), |file| file.sync_all());
        synced.map_err(|e| Error::io(format!("write {}", state.part(snapshot).display()), e))
    }
}

impl Sink {
    fn state(&self) -> Result<&State> {
        self.state.as_ref().ok_or_else(|| {
            let tried = format!("write to {}", self.writer.path.display());
            Error::new(ErrorKind::Argument, tried, "a series that has not begun", "call `begin` first")
        })
    }
}

impl State {
    /// Where a snapshot lies that does not count yet.
    fn part(&self, snapshot: &Snapshot) -> PathBuf {
        disk::beside_of(&self.folder.join(name(snapshot)), self.process)
    }
}

/// The file of a snapshot: its step, so that it is known again.
fn name(snapshot: &Snapshot) -> String {
    format!("{:08}.vti", snapshot.step)
}

/// The list of a series.
fn list(path: &Path, snapshots: &[Snapshot]) -> String {
    let folder = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n  \
         <Collection>\n",
    );
    for snapshot in snapshots {
        // (Writing to a string does not fail.)
        let _ = writeln!(
            text,
            "    <DataSet timestep=\"{:?}\" part=\"0\" file=\"{}/{}\"/>",
            snapshot.time,
            escaped(&folder),
            name(snapshot)
        );
    }
    text + "  </Collection>\n</VTKFile>\n"
}

/// The snapshots of a list that tida wrote.
fn listed(path: &Path, tried: &str) -> Result<Vec<Snapshot>> {
    let text = fs::read_to_string(path).map_err(|e| Error::io(tried, e))?;
    let value = |line: &str, key: &str| Some(line.split_once(&format!("{key}=\""))?.1.split('"').next()?.to_owned());
    let snapshot = |(index, line): (usize, &str)| {
        let step = value(line, "file")?.rsplit('/').next()?.strip_suffix(".vti")?.parse().ok()?;
        Some(Snapshot::new(index as u64, step, value(line, "timestep")?.parse().ok()?))
    };
    let lines = text.lines().filter(|line| line.contains("<DataSet ")).enumerate();
    let found = if text.contains("</VTKFile>") { lines.map(snapshot).collect() } else { None };
    found.ok_or_else(|| {
        let found = format!("that {} is no list as tida writes it", path.display());
        Error::format(tried, found, "write a new series by `vtk::create`")
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The name that VTK has for a type of numbers.
fn type_name(number: &str) -> String {
    match (&number[..1], &number[1..]) {
        ("f", bits) => format!("Float{bits}"),
        ("i", bits) => format!("Int{bits}"),
        ("u", bits) => format!("UInt{bits}"),
        // `bool`
        _ => "UInt8".into(),
    }
}

impl Head {
    fn new(arrays: &[ArrayInfo], writer: &Writer, tried: &str) -> Result<Head> {
        let refuse = |found: String, advice| Err(Error::new(ErrorKind::Argument, tried, found, advice));
        let mut cells: Option<Vec<usize>> = None;
        let (mut places, mut start) = (Vec::new(), 0);
        // Points first, as VTK lists them.
        let mut lists = [String::new(), String::new()];
        for array in arrays {
            let points = array.faces.iter().all(|faces| *faces);
            if array.shape.len() > 3 {
                return refuse(format!("{:?} with {} axes", array.name, array.shape.len()), "write it as Zarr");
            }
            if !points && array.faces.iter().any(|faces| *faces) {
                let found = format!("{:?}, which is face-centred on some axes and not on others", array.name);
                return refuse(found, "write averages over cells, or write it as Zarr");
            }
            let of_cells: Vec<usize> = array.shape.iter().map(|n| n - usize::from(points)).collect();
            if cells.get_or_insert_with(|| of_cells.clone()) != &of_cells {
                let found = format!("{:?} on a grid of {of_cells:?} cells beside one of {cells:?}", array.name);
                return refuse(found, "write arrays of other grids as a series of their own");
            }
            let mut of_array = Vec::new();
            for field in &array.fields {
                let components = field.shape().iter().product::<usize>() * if field.is_complex() { 2 } else { 1 };
                let bytes = (array.shape.iter().product::<usize>() * field.bytes()) as u64;
                let _ = writeln!(
                    lists[usize::from(!points)],
                    "        <DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{components}\" \
                     format=\"appended\" offset=\"{start}\"/>",
                    type_name(field.number()),
                    escaped(&field_name(array, field)),
                );
                of_array.push(Place { start: start + 8, size: field.bytes(), bytes });
                start += 8 + bytes;
            }
            places.push(of_array);
        }
        let cells = cells.unwrap_or_default();
        let (extent, [spacing, origin]) = (extent(&cells), [(&writer.spacing, 1.0), (&writer.origin, 0.0)].map(triple));
        let order = if cfg!(target_endian = "little") { "LittleEndian" } else { "BigEndian" };
        let [points, of_cells] = lists;
        let text = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"{order}\" \
             header_type=\"UInt64\">\n  <ImageData WholeExtent=\"{extent}\" Origin=\"{origin}\" \
             Spacing=\"{spacing}\">\n    <Piece Extent=\"{extent}\">\n      <PointData>\n{points}      \
             </PointData>\n      <CellData>\n{of_cells}      </CellData>\n    </Piece>\n  </ImageData>\n  \
             <AppendedData encoding=\"raw\">\n_"
        );
        let first = text.len() as u64;
        places.iter_mut().flatten().for_each(|place| place.start += first);
        let shapes = arrays.iter().map(|array| array.shape.clone()).collect();
        Ok(Head { text, places, bytes: first + start, shapes })
    }

    /// A file of zeros, or the one that another rank has made.
    fn make(&self, path: &Path) -> std::io::Result<File> {
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        disk::write_at(&file, self.text.as_bytes(), 0)?;
        for place in self.places.iter().flatten() {
            disk::write_at(&file, &place.bytes.to_ne_bytes(), place.start - 8)?;
        }
        disk::write_at(&file, b"\n  </AppendedData>\n</VTKFile>\n", self.bytes)?;
        Ok(file)
    }
}

/// The name of a field's array.
fn field_name(array: &ArrayInfo, field: &Field) -> String {
    match field.name() {
        "" => array.name.clone(),
        name => format!("{}.{name}", array.name),
    }
}

/// The extent of so many cells, x first.
fn extent(cells: &[usize]) -> String {
    let ends = (0..3).map(|d| cells.iter().rev().nth(d).copied().unwrap_or(0));
    ends.map(|end| format!("0 {end}")).collect::<Vec<_>>().join(" ")
}

/// Three numbers, x first.
fn triple((given, other): (&Option<Vec<f64>>, f64)) -> String {
    let all = given.as_deref().unwrap_or_default();
    let numbers = (0..3).map(|d| all.iter().rev().nth(d).copied().unwrap_or(other));
    numbers.map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" ")
}

/// Writes a box of values to its place, in the longest stretches that lie together there.
fn put(file: &File, place: &Place, shape: &[usize], cells: &Cells, bytes: &[u8]) -> std::io::Result<()> {
    // Axes behind this one are whole.
    let whole = (0..shape.len()).rev().take_while(|d| cells.extent[*d] == shape[*d]).count();
    let axis = (shape.len() - whole).saturating_sub(1);
    let stretch = cells.extent[axis..].iter().product::<usize>() * place.size;
    for (number, from) in bytes.chunks_exact(stretch.max(1)).enumerate() {
        let (mut rest, mut at, mut stride) = (number, 0, shape[axis..].iter().product::<usize>());
        at += cells.start[axis] * shape[axis + 1..].iter().product::<usize>();
        for d in (0..axis).rev() {
            at += (cells.start[d] + rest % cells.extent[d]) * stride;
            rest /= cells.extent[d];
            stride *= shape[d];
        }
        // Axes behind `axis` start at 0.
        disk::write_at(file, from, place.start + (at * place.size) as u64)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_they_are_written() {
        let path = std::env::temp_dir().join(format!("tida-io-list-{}.pvd", std::process::id()));
        let snapshots = [Snapshot::new(0, 0, 0.0), Snapshot::new(1, 250, 1e-9), Snapshot::new(2, 1 << 40, 3.0)];
        for count in 0..=3 {
            fs::write(&path, list(&path, &snapshots[..count])).unwrap();
            assert_eq!(listed(&path, "try").unwrap(), snapshots[..count]);
        }
        let text = list(&path, &snapshots);
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert_eq!(listed(&path, "try").unwrap_err().kind(), ErrorKind::Format);
        fs::remove_file(&path).unwrap();
    }
}
