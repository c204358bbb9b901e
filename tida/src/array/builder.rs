//! Building arrays: shape, cuts, ghosts, centring, boundaries, and what is wrong with them.

mod found;

use std::sync::{Arc, OnceLock};

use super::TileArray;
use super::coding::{Coding, Compress, Saturation, paths};
use super::element::Element;
use super::ghosts::{planar, regional};
use super::layout::{Boundaries, Boundary, Centering, Cuts, Layout, LayoutError};
use super::row::Row;
use super::storage::Storage;
use crate::acc::{TileAcc, Tracker};
use crate::error::{Error, ErrorKind};
use tida_kernels::codec::{Codec, Format, Refused};
use tida_kernels::element::ScalarType;
use tida_kernels::scalar::Value;

/// Largest number of cells along an axis.
const LONGEST: usize = 1 << 40;
/// Cuts of the last axis fall on multiples of this many cells.
const SEGMENT: usize = tida_kernels::plan::SEGMENT as usize;

/// What can be given as ghost widths: one number for all faces, one an axis, or `[low, high]` for each axis.
pub trait IntoGhost<const D: usize> {
    /// Ghost cells on each axis, low and high side.
    fn into_ghost(self) -> [[usize; 2]; D];
}

impl<const D: usize> IntoGhost<D> for usize {
    fn into_ghost(self) -> [[usize; 2]; D] {
        [[self; 2]; D]
    }
}

impl<const D: usize> IntoGhost<D> for [usize; D] {
    fn into_ghost(self) -> [[usize; 2]; D] {
        self.map(|g| [g; 2])
    }
}

impl<const D: usize> IntoGhost<D> for [[usize; 2]; D] {
    fn into_ghost(self) -> [[usize; 2]; D] {
        self
    }
}

/// One side of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Towards lower coordinates.
    Low,
    /// Towards higher coordinates.
    High,
}

/// How the domain is asked to be cut.
#[derive(Clone, Copy, Debug)]
enum Partition<const D: usize> {
    Count([usize; D]),
    Size([usize; D]),
}

/// Builds a [`TileArray`]; made by [`TileArray::builder`].
///
/// By default an array is one region without ghosts, cell-centred, with open boundaries.
#[derive(Clone, Debug)]
pub struct TileArrayBuilder<T: Element, const D: usize> {
    cells: [usize; D],
    partition: Partition<D>,
    ghost: [[usize; 2]; D],
    centering: [Centering; D],
    boundaries: Boundaries<T, D>,
    /// An axis that was given a boundary, and that the array does not have.
    no_axis: Option<usize>,
    /// The format of all components, and those of some fields.
    format: Format,
    fields: Vec<(String, Format)>,
    saturation: Saturation,
    compress: Compress,
}

impl<T: Element, const D: usize> TileArrayBuilder<T, D> {
    pub(super) fn new(cells: [usize; D]) -> Self {
        TileArrayBuilder {
            cells,
            partition: Partition::Count([1; D]),
            ghost: [[0; 2]; D],
            centering: [Centering::Cell; D],
            boundaries: [[Boundary::Open; 2]; D],
            no_axis: None,
            format: Format::Raw,
            fields: Vec::new(),
            saturation: Saturation::default(),
            compress: Compress::default(),
        }
    }

    /// Cuts the domain into so many regions along each axis, as even as can be; on the last axis the cuts fall on
    /// multiples of 64 cells.
    pub fn regions(mut self, regions: [usize; D]) -> Self {
        self.partition = Partition::Count(regions);
        self
    }

    /// Cuts the domain into regions of so many cells along each axis, the last one of an axis smaller if need be; on
    /// the last axis the size is rounded up to a multiple of 64 cells.
    pub fn region_size(mut self, size: [usize; D]) -> Self {
        self.partition = Partition::Size(size);
        self
    }

    /// Ghost cells around each region: `1`, `[1, 2, 3]` for each axis, or `[[0, 1], ..]` for each axis and side. At
    /// most as wide as the thinnest region.
    pub fn ghost(mut self, ghost: impl IntoGhost<D>) -> Self {
        self.ghost = ghost.into_ghost();
        self
    }

    /// Where values sit along each axis. Along a face-centred axis there is one more value than cells.
    pub fn centering(mut self, centering: [Centering; D]) -> Self {
        self.centering = centering;
        self
    }

    /// What the ghost cells outside every face of the domain hold after [`fill_ghosts`](TileArray::fill_ghosts).
    /// [`Boundary::Open`] by default, as AMReX's `FillBoundary` leaves what lies outside a domain that is not periodic.
    pub fn boundary(mut self, boundary: Boundary<T>) -> Self {
        self.boundaries = [[boundary; 2]; D];
        self
    }

    /// The boundary of both faces of one axis.
    pub fn boundary_axis(self, axis: usize, boundary: Boundary<T>) -> Self {
        self.boundary_face(axis, Side::Low, boundary).boundary_face(axis, Side::High, boundary)
    }

    /// The boundary of one face.
    pub fn boundary_face(mut self, axis: usize, side: Side, boundary: Boundary<T>) -> Self {
        match self.boundaries.get_mut(axis) {
            Some(faces) => faces[side as usize] = boundary,
            None => self.no_axis = Some(axis),
        }
        self
    }

    /// Keeps all components in a format of fewer bits, on the host, on devices and on the link between them (Salehi ch.
    /// 4), or on the link alone: see [`compress`](Self::compress).
    ///
    /// The format defines what the array holds: a cell is rounded to a value that the format has when a kernel is done
    /// with it, or the host sets it, whatever the device, the cut and the memory. Kernels still compute with the
    /// element's own types. A new array holds what is nearest to 0. Formats are for `f32` and `f64`.
    /// [`Format::FoundRange`] and [`Format::FoundHalf`] are found from all values of an array that is built from them,
    /// as by [`build_slice`](Self::build_slice): cuts, threads and devices change nothing of them.
    pub fn storage(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// The format of one field of a struct, `"x"`, or of a field of a field, `"flow.x"`; of all in it if it is a struct
    /// itself. A later call counts more than an earlier one, and any more than [`storage`](Self::storage).
    pub fn field_storage(mut self, field: &str, format: Format) -> Self {
        self.fields.push((field.to_owned(), format));
        self
    }

    /// What becomes of values that the format cannot hold. [`Saturation::Error`] by default.
    pub fn saturation(mut self, saturation: Saturation) -> Self {
        self.saturation = saturation;
        self
    }

    /// Where the array takes fewer bits: in memory and on the link between host and device, or on the link alone.
    /// [`Compress::Device`] by default. With [`Compress::Link`] an array without formats is packed too, without loss.
    pub fn compress(mut self, compress: Compress) -> Self {
        self.compress = compress;
        self
    }

    /// Makes the array, all zeros. Costs no memory until it is touched, but with [`Compress::Link`] and a range, of
    /// which 0 is no value.
    ///
    /// # Errors
    /// A shape, cut, ghost width or boundary that cannot be, an element without components as `[f64; 0]`, or memory
    /// that the system does not have.
    pub fn build(&self, acc: &TileAcc) -> Result<TileArray<T, D>, Error> {
        if T::TYPE.components() == 0 {
            let advice = "use an element that holds at least one scalar";
            return Err(self.error(ErrorKind::Shape, "an element without components", advice));
        }
        let cuts = self.cuts()?;
        self.check_ghost(&cuts)?;
        self.check_boundaries()?;
        let coding = self.coding()?.map(Arc::new);
        let element = coding.as_ref().map_or(T::TYPE, |coding| coding.element());
        let layout = Layout::new(Arc::new(cuts), self.centering, self.ghost, &element).map_err(|e| match e {
            LayoutError::Overflow => self.error(
                ErrorKind::Shape,
                "more bytes than an address can count",
                "use a smaller shape, fewer regions or narrower ghosts",
            ),
            LayoutError::Regions => self.error(
                ErrorKind::Memory,
                "more regions than fit in memory as a list",
                "cut the array into fewer regions",
            ),
        })?;
        let layout = layout.coded(coding);
        // Where both sides work, each has regions whose ghosts the other may not have.
        let one_side = acc.core().device.is_some() && !acc.is_hybrid();
        let row = if one_side { Row::new(&layout, &element).map(Arc::new) } else { None };
        let storage = Arc::new(acc.install(|| allocate(&layout, row))?);
        let (layout, boundaries) = (Arc::new(layout), Arc::new(self.boundaries));
        let ghost_plan = Arc::new(OnceLock::new());
        let regional = regional(&layout, &boundaries, &ghost_plan);
        Ok(TileArray {
            acc: acc.clone(),
            tracker: Tracker::new(&layout, &storage, planar(&layout, &boundaries, &ghost_plan), regional),
            layout,
            boundaries,
            storage,
            ghost_plan,
        })
    }

    fn error(&self, kind: ErrorKind, found: impl Into<String>, advice: impl Into<String>) -> Error {
        Error::new(kind, format!("build an array of {} with shape {:?}", T::TYPE, self.cells), found, advice)
    }

    /// The format of each component, of which these are the paths.
    fn formats(&self, paths: &[String]) -> Result<Vec<Format>, Error> {
        let mut formats = vec![self.format; paths.len()];
        for (field, format) in &self.fields {
            let within = |path: &String| {
                path.strip_prefix(field.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let mut known = false;
            for (_, of) in paths.iter().zip(&mut formats).filter(|(path, _)| !field.is_empty() && within(path)) {
                (*of, known) = (*format, true);
            }
            if !known {
                let found = format!("a format for the field `{field}`");
                let mut names: Vec<&str> = paths.iter().map(String::as_str).filter(|path| !path.is_empty()).collect();
                names.dedup();
                let advice = match names.is_empty() {
                    true => "use `.storage(..)`: it is no struct".to_owned(),
                    false => format!("name one of {}", names.join(", ")),
                };
                return Err(self.error(ErrorKind::Argument, found, advice));
            }
        }
        Ok(formats)
    }

    fn refused(&self, refused: Refused, path: &str) -> Error {
        let of = if path.is_empty() { String::new() } else { format!(" in the field `{path}`") };
        self.error(ErrorKind::Argument, refused.found + &of, refused.advice)
    }

    /// How components are kept, if some are not as they are, or packed for the link.
    fn coding(&self) -> Result<Option<Coding>, Error> {
        let (paths, types) = (paths(&T::TYPE), T::TYPE.component_types());
        let formats = self.formats(&paths)?;
        let mut codecs = Vec::with_capacity(types.len());
        for ((ty, format), path) in types.iter().zip(&formats).zip(&paths) {
            codecs.push(Codec::new(*ty, format).map_err(|refused| self.refused(refused, path))?);
        }
        let coded = self.compress == Compress::Link || codecs.iter().any(Option::is_some);
        Ok(coded.then(|| Coding::new(T::TYPE, formats, codecs, (self.saturation, self.compress))))
    }

    fn cuts(&self) -> Result<Cuts<D>, Error> {
        if !(1..=4).contains(&D) {
            return Err(self.error(ErrorKind::Shape, format!("{D} axes"), "use 1 to 4 axes"));
        }
        let mut at: [Vec<i64>; D] = std::array::from_fn(|_| Vec::new());
        for (axis, cuts) in at.iter_mut().enumerate() {
            *cuts = self.axis_cuts(axis)?;
        }
        Ok(Cuts { cells: self.cells, at })
    }

    /// Cut positions of one axis, from 0 to its cells.
    fn axis_cuts(&self, axis: usize) -> Result<Vec<i64>, Error> {
        let cells = self.cells[axis];
        if cells == 0 {
            let found = format!("0 cells on axis {axis}");
            return Err(self.error(ErrorKind::Shape, found, "give every axis at least one cell"));
        }
        if cells > LONGEST {
            let found = format!("{cells} cells on axis {axis}");
            return Err(self.error(ErrorKind::Shape, found, format!("use at most {LONGEST} (2^40) cells an axis")));
        }
        // The axis is a row of blocks that are not cut.
        let block = if axis + 1 == D { SEGMENT } else { 1 };
        let blocks = cells.div_ceil(block);
        let (regions, size) = match self.partition {
            Partition::Count(count) => (count[axis], None),
            Partition::Size(size) => {
                let size = size[axis].div_ceil(block);
                (if size == 0 { 0 } else { blocks.div_ceil(size) }, Some(size))
            }
        };
        if regions == 0 {
            let what = if size.is_some() { "a region size of 0" } else { "0 regions" };
            let found = format!("{what} on axis {axis}");
            return Err(self.error(ErrorKind::Shape, found, "give every axis at least 1"));
        }
        if regions > blocks {
            let found = format!("{regions} regions asked for on axis {axis}, where at most {blocks} are possible");
            let advice = if block == 1 {
                "use at most one region a cell"
            } else {
                "use at most one region every 64 cells of the last axis: its cuts fall on multiples of 64"
            };
            return Err(self.error(ErrorKind::Shape, found, advice));
        }
        let mut cuts = Vec::new();
        cuts.try_reserve_exact(regions + 1).map_err(|_| {
            let found = format!("{regions} regions on axis {axis}, more than fit in memory as a list");
            self.error(ErrorKind::Memory, found, "cut the array into fewer regions")
        })?;
        cuts.extend((0..=regions).map(|r| {
            let before = match size {
                Some(size) => (r as u128 * size as u128).min(blocks as u128),
                None => r as u128 * blocks as u128 / regions as u128,
            };
            (before as usize * block).min(cells) as i64
        }));
        Ok(cuts)
    }

    fn check_ghost(&self, cuts: &Cuts<D>) -> Result<(), Error> {
        for (axis, ghost) in self.ghost.iter().enumerate() {
            let (widest, thinnest) = (ghost[0].max(ghost[1]), cuts.thinnest(axis));
            if widest > thinnest {
                let found =
                    format!("{widest} ghost cells on axis {axis}, where the thinnest region has {thinnest} cells");
                let advice = "use narrower ghosts or fewer regions on that axis";
                return Err(self.error(ErrorKind::Ghost, found, advice));
            }
        }
        Ok(())
    }

    fn check_boundaries(&self) -> Result<(), Error> {
        if let Some(axis) = self.no_axis {
            let found = format!("a boundary for axis {axis} of an array of {D} axes");
            return Err(self.error(ErrorKind::Boundary, found, "count axes from 0, the slowest"));
        }
        let boolean = T::TYPE.component_types().contains(&ScalarType::Bool);
        for (axis, faces) in self.boundaries.iter().enumerate() {
            let error = |found: String, advice: &str| {
                Err(self.error(ErrorKind::Boundary, format!("{found} on axis {axis}"), advice))
            };
            let periodic = faces.map(|f| matches!(f, Boundary::Periodic));
            if periodic[0] != periodic[1] {
                return error("one periodic face".into(), "make both faces of the axis periodic, or neither");
            }
            for face in faces {
                match face {
                    Boundary::Extrapolate(order) if *order > 1 => {
                        return error(format!("extrapolation of order {order}"), "use order 0 or 1");
                    }
                    Boundary::Extrapolate(1) if boolean => {
                        return error("extrapolation of order 1 of bool".into(), "use order 0");
                    }
                    Boundary::ReflectOdd if boolean => {
                        return error("odd reflection of bool".into(), "use even reflection");
                    }
                    Boundary::Extrapolate(1) if self.cells[axis] == 1 && self.centering[axis] == Centering::Cell => {
                        return error("extrapolation of order 1 from one cell".into(), "use order 0 or two cells");
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Memory for the regions of an array, which on a device lie in a row if there is one.
///
/// # Errors
/// Memory that the system does not have.
pub(super) fn allocate<const D: usize>(layout: &Layout<D>, row: Option<Arc<Row>>) -> Result<Storage, Error> {
    let sizes = layout.regions.iter().map(|r| r.cells * layout.element.bytes());
    let storage = Storage::new(sizes)?.in_row(row).coded(layout.coding.clone());
    if let Some(coding) = layout.rounds() {
        set_zeros(&storage, layout, coding);
    }
    Ok(storage)
}

/// Sets memory that no one wrote to the values nearest to 0 that formats have, where 0 is none of them.
fn set_zeros<const D: usize>(storage: &Storage, layout: &Layout<D>, coding: &Coding) {
    use rayon::prelude::*;
    const CHUNK: usize = 1 << 17;
    for (component, zero) in (0..coding.components()).filter_map(|n| Some((n, coding.zero(n)?))) {
        layout.regions.par_iter().enumerate().for_each(|(number, region)| {
            storage.touch_host(number);
            let plane = storage.base(number).wrapping_add(region.cells * coding.before(component).1);
            // SAFETY: the plane of the component, of memory that no one else knows yet; zeros are values of any float.
            unsafe {
                match zero {
                    Value::F32(x) => std::slice::from_raw_parts_mut(plane.cast::<f32>(), region.cells)
                        .par_chunks_mut(CHUNK)
                        .for_each(|chunk| chunk.fill(x)),
                    Value::F64(x) => std::slice::from_raw_parts_mut(plane.cast::<f64>(), region.cells)
                        .par_chunks_mut(CHUNK)
                        .for_each(|chunk| chunk.fill(x)),
                    _ => {}
                }
            }
        });
    }
}
