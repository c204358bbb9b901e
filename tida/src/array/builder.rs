//! Building arrays: shape, cuts, ghosts, centring, boundaries, and what is wrong with them.

mod boundaries;
mod found;

use std::sync::Arc;

use tida_kernels::codec::{Codec, Format, Refused};
use tida_kernels::scalar::Value;

use super::TileArray;
use super::places::{block, share, share_as};
use super::strips::half_periodic;
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::memory::ages::Ages;
use crate::memory::coding::{Coding, Compress, Saturation, paths};
use crate::memory::element::Element;
use crate::memory::ghosts::planes::{Planar, planar};
use crate::memory::ghosts::regions::regional;
use crate::memory::layout::{Boundaries, Boundary, Centering, Cuts, Layout, LayoutError};
use crate::memory::row::Row;
use crate::memory::rows::Shared;
use crate::memory::storage::Storage;
use crate::parallel;
use crate::ranks::not_on_ranks;

/// Largest number of cells along an axis.
const LONGEST: usize = 1 << 40;
/// Cuts of the last axis fall on multiples of this many cells.
pub(super) const SEGMENT: usize = tida_kernels::plan::SEGMENT as usize;

/// What can be given as ghost widths, in cells: one number for all faces, one for each axis, or `[low, high]` for each
/// axis.
///
/// ```
/// use tida::array::IntoGhost;
/// assert_eq!(IntoGhost::<2>::into_ghost(1), [[1, 1], [1, 1]]);
/// assert_eq!([1, 2].into_ghost(), [[1, 1], [2, 2]]);
/// assert_eq!([[0, 1], [2, 2]].into_ghost(), [[0, 1], [2, 2]]);
/// ```
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
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([4]).ghost(1).boundary_face(0, Side::Low, Boundary::Fixed(1.0)).build(&acc)?;
/// assert_eq!(u.boundaries()[0][Side::Low as usize], Boundary::Fixed(1.0));
/// assert_eq!(u.boundaries()[0][Side::High as usize], Boundary::Open);
/// # Ok(()) }
/// ```
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
    /// So many, or one along axes where each would have fewer cells than this.
    UpTo([usize; D], [usize; D]),
}

/// Builds a [`TileArray`]; made by [`TileArray::builder`].
///
/// By default an array is one region without ghosts, cell-centred, with open boundaries, and each value as it is. A
/// builder can build several arrays.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let builder = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).ghost(1).boundary(Boundary::ReflectEven);
/// let (u, next) = (builder.build(&acc)?, builder.build(&acc)?);
/// assert_eq!((u.regions(), next.ghost()), (2, [[1, 1], [1, 1]]));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct TileArrayBuilder<T: Element, const D: usize> {
    cells: [usize; D],
    partition: Partition<D>,
    /// Where another array is cut, if this one is to be cut there.
    cut_at: Option<Arc<Cuts<D>>>,
    ghost: [[usize; 2]; D],
    centering: [Centering; D],
    boundaries: [[Boundary<T>; 2]; D],
    /// Those of some components: the field, the axis, the side.
    field_boundaries: Vec<(String, usize, Side, Boundary<T>)>,
    /// An axis that was given a boundary, and that the array does not have.
    no_axis: Option<usize>,
    /// The format of all components, and those of some fields.
    format: Format,
    fields: Vec<(String, Format)>,
    saturation: Saturation,
    compress: Compress,
    /// Cells of the first axis on each place, if that was said.
    distribution: Option<Vec<usize>>,
    everywhere: bool,
    overlap: usize,
}

impl<T: Element, const D: usize> TileArrayBuilder<T, D> {
    pub(super) fn new(cells: [usize; D]) -> Self {
        TileArrayBuilder {
            cells,
            partition: Partition::Count([1; D]),
            cut_at: None,
            ghost: [[0; 2]; D],
            centering: [Centering::Cell; D],
            boundaries: [[Boundary::Open; 2]; D],
            field_boundaries: Vec::new(),
            no_axis: None,
            format: Format::Raw,
            fields: Vec::new(),
            saturation: Saturation::default(),
            compress: Compress::default(),
            distribution: None,
            everywhere: false,
            overlap: 0,
        }
    }

    /// Cuts the domain where another array of the same cells is cut.
    pub(super) fn cut_at(mut self, cuts: &Arc<Cuts<D>>) -> Self {
        self.cut_at = Some(cuts.clone());
        self
    }

    /// Cuts the domain into so many regions along each axis, as evenly as possible. Cuts of the last axis fall on
    /// multiples of 64 cells.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([6, 200]).regions([2, 2]).build(&acc)?;
    /// assert_eq!(u.region_box(0), Some(GridBox::new([0, 0], [3, 128])));
    /// # Ok(()) }
    /// ```
    pub fn regions(mut self, regions: [usize; D]) -> Self {
        self.partition = Partition::Count(regions);
        self
    }

    /// Cuts the domain into regions of so many cells along each axis. The last region of an axis may be smaller. On the
    /// last axis the size is rounded up to a multiple of 64 cells.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([6, 100]).region_size([4, 100]).build(&acc)?;
    /// assert_eq!(u.region_box(1), Some(GridBox::new([4, 0], [6, 100])));
    /// # Ok(()) }
    /// ```
    pub fn region_size(mut self, size: [usize; D]) -> Self {
        self.partition = Partition::Size(size);
        self
    }

    /// Cuts the domain into so many regions along each axis, as [`regions`](Self::regions) does, but not along axes
    /// where a region would have fewer than `least` cells. So one builder serves grids of all resolutions: as long as
    /// regions are large enough, two of them have equally many, which [`coarse`](crate::coarse()) and
    /// [`fine`](crate::fine()) ask for, and small grids are not cut.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// for (n, regions) in [(32, 4), (16, 4), (8, 1)] {
    ///     let u = TileArray::<f64, 2>::builder([n, n]).regions_at_most([4, 1], [4, 4]).build(&acc)?;
    ///     assert_eq!(u.regions(), regions);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn regions_at_most(mut self, regions: [usize; D], least: [usize; D]) -> Self {
        self.partition = Partition::UpTo(regions, least);
        self
    }

    /// Width in cells of the ghosts around each region: `1` for all faces, `[1, 2, 3]` for each axis, or `[[0, 1], ..]`
    /// for each axis and side. At most as wide as the thinnest region.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).ghost([[0, 1], [2, 2]]).build(&acc)?;
    /// assert_eq!(u.grown_box(0), Some(GridBox::new([0, -2], [5, 10])));
    /// # Ok(()) }
    /// ```
    pub fn ghost(mut self, ghost: impl IntoGhost<D>) -> Self {
        self.ghost = ghost.into_ghost();
        self
    }

    /// Where values sit along each axis. Along a face-centred axis there is one more value than cells.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let flux = TileArray::<f64, 2>::builder([4, 8]).centering([Centering::Face, Centering::Cell]).build(&acc)?;
    /// assert_eq!(flux.shape(), [5, 8]);
    /// # Ok(()) }
    /// ```
    pub fn centering(mut self, centering: [Centering; D]) -> Self {
        self.centering = centering;
        self
    }

    /// Keeps all components in a [`Format`] of fewer bits: on the host, on devices and on the link between them (Salehi
    /// ch. 4). [`compress`](Self::compress) says whether on the link alone.
    ///
    /// The format defines what the array holds. When a kernel stores a cell, or the host sets it, the value is rounded
    /// to one that the format has. Device, cut and memory change nothing of that. Kernels compute with the element's
    /// own types. A new array holds the values nearest to 0. Formats are for `f32` and `f64`.
    ///
    /// [`Format::FoundRange`] and [`Format::FoundHalf`] are found from all values of an array that is built from them,
    /// as by [`build_slice`](Self::build_slice). Cuts, threads and devices do not change what is found.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([2]).storage(Format::Half).build(&acc)?;
    /// u.write_box(u.domain(), &[0.5, 0.1])?;
    /// assert_eq!(u.read_box(u.domain())?, [0.5, 0.0999755859375]); // the half nearest to 0.1
    /// assert_eq!(u.storage_report()?.stored_bytes, 2);
    /// # Ok(()) }
    /// ```
    pub fn storage(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// The format of one field of a struct, `"x"`, or of a field of a field, `"flow.x"`. If the field is a struct
    /// itself, that of all in it. A later call overrides an earlier one, and any call overrides
    /// [`storage`](Self::storage).
    ///
    /// ```
    /// use tida::prelude::*;
    /// #[derive(Clone, Copy, Debug, PartialEq, Element)]
    /// struct Flow {
    ///     density: f32,
    ///     speed: f32,
    /// }
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<Flow, 1>::builder([4]).field_storage("speed", Format::Half).build(&acc)?;
    /// assert_eq!(u.storage_report()?.stored_bytes, 4 + 2);
    /// # Ok(()) }
    /// ```
    pub fn field_storage(mut self, field: &str, format: Format) -> Self {
        self.fields.push((field.to_owned(), format));
        self
    }

    /// What becomes of values that the format cannot hold. [`Saturation::Error`] by default.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f32, 1>::builder([2]).storage(Format::Half).saturation(Saturation::Ignore);
    /// let mut u = u.build(&acc)?;
    /// u.fill_value(1e6)?;
    /// assert_eq!(u.read_box(u.domain())?, [65504.0; 2]); // the largest half
    /// # Ok(()) }
    /// ```
    pub fn saturation(mut self, saturation: Saturation) -> Self {
        self.saturation = saturation;
        self
    }

    /// Where the array takes fewer bits: in memory and on the link between host and device, or on the link alone.
    /// [`Compress::Device`] by default. With [`Compress::Link`] an array without formats is packed too, without loss.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f32, 1>::builder([4]).storage(Format::Half).compress(Compress::Link).build(&acc)?;
    /// let report = u.storage_report()?;
    /// assert_eq!((report.stored_bytes, report.link_bytes), (4, 2));
    /// # Ok(()) }
    /// ```
    pub fn compress(mut self, compress: Compress) -> Self {
        self.compress = compress;
        self
    }

    /// How many cells along the first axis each place has, in their order, for an accelerator of several
    /// [`devices`](crate::TileAccBuilder::devices): for places of different speeds. Regions are cut there too. Places
    /// at the end that are left out have none. Without it each has about as many as the others. Arrays that go together
    /// in one loop have to be distributed alike.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().devices(["cpu:2"]).build()?;
    /// let u = TileArray::<f64, 2>::builder([12, 64]).distribute([9, 3]).build(&acc)?;
    /// assert_eq!(u.region_box(1), Some(GridBox::new([9, 0], [12, 64])));
    /// let error = TileArray::<f64, 2>::builder([12, 64]).distribute([9, 4]).build(&acc).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Argument);
    /// # Ok(()) }
    /// ```
    pub fn distribute(mut self, cells: impl Into<Vec<usize>>) -> Self {
        self.distribution = Some(cells.into());
        self
    }

    /// Gives each place of an accelerator of several [`devices`](crate::TileAccBuilder::devices) all of the array: a
    /// table or a small field that kernels read as a whole ([`all`](crate::all())). The host and
    /// [`copy_from`](crate::TileArray::copy_from) write it on all places; kernels can only read it. On one place it
    /// changes nothing.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().devices(["cpu:2"]).build()?;
    /// let mut squares = TileArray::<f64, 1>::builder([12]).everywhere().build(&acc)?;
    /// squares.fill(|[n]| (n * n) as f64)?;
    /// let mut u = TileArray::<f64, 2>::builder([12, 64]).build(&acc)?;
    /// for tile in u.tiles() {
    ///     compute(&tile, (&mut u, all(&squares)), kernel!(|u, squares, at| u[at] = squares[[11 - at[0]]]))?;
    /// }
    /// assert_eq!(u.read_box(GridBox::new([2, 0], [3, 1]))?, [81.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// Of several ranks each has all of it, on each of its places, and reads it without the others. All ranks write it
    /// alike.
    ///
    /// # Errors
    /// Of `build`: a [distribution](TileArrayBuilder::distribute) too.
    pub fn everywhere(mut self) -> Self {
        self.everywhere = true;
        self
    }

    /// How many planes of its neighbours each place holds as cells, for an accelerator of several
    /// [`devices`](crate::TileAccBuilder::devices). The place computes these planes too, so a fill of ghosts sends
    /// planes only when too few of them still hold the right values. If a step reads one plane beyond the cell, 4
    /// planes are sent in one message every 4 steps. Steps fuse on devices, and arrays that have no room stream by
    /// planes. Without it each place computes its own planes alone, and each fill sends ghosts.
    ///
    /// Build all arrays of a loop with the same number. The planes are computed by loops over all tiles, where tiles
    /// are whole regions, and the kernel reads at constant distances and cannot fail. After any other loop that writes
    /// the array, the next fill sends planes. So it does
    ///
    /// - if the first axis is periodic, and the kernel computes with its coordinate (`at[0]`) or arrays are centred on
    ///   faces along it;
    /// - if arrays of the loop are centred in different ways along the first axis.
    ///
    /// Arrays of one axis, and those that are cut along other axes too, hold no such planes.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().devices(["sim:2"]).build()?;
    /// let builder = TileArray::<f64, 2>::builder([64, 64]).ghost(1).boundary(Boundary::ReflectEven).overlap(4);
    /// let (mut u, mut next) = (builder.build(&acc)?, builder.build(&acc)?);
    /// u.fill(|[row, _]| row as f64)?;
    /// for _ in 0..8 {
    ///     u.fill_ghosts()?; // sends planes twice
    ///     for tile in next.tiles() {
    ///         compute(&tile, (&mut next, &u), kernel!(|next, u, at| {
    ///             next[at] = 0.5 * (u[at - [1, 0]] + u[at + [1, 0]]);
    ///         }))?;
    ///     }
    ///     std::mem::swap(&mut u, &mut next);
    /// }
    /// assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at]))?, 64.0 * 2016.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Of `build`: fewer planes than ghosts along the first axis, or more than the thinnest region has; several ranks.
    pub fn overlap(mut self, planes: usize) -> Self {
        self.overlap = planes;
        self
    }

    /// Makes the array, all zeros. It takes no memory until it is touched; with [`Compress::Link`] and a range that
    /// does not have the value 0 it does at once.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 2>::builder([4, 8]).build(&acc)?;
    /// assert_eq!(u.read_box(u.domain())?, [0.0; 32]);
    /// let error = TileArray::<f64, 2>::builder([0, 8]).build(&acc).unwrap_err();
    /// assert_eq!(error.found(), "0 cells on axis 0");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A shape, cut, ghost width or boundary that cannot be; an element without components, such as `[f64; 0]`; memory
    /// that the system does not have.
    pub fn build(&self, acc: &TileAcc) -> Result<TileArray<T, D>, Error> {
        if T::TYPE.components() == 0 {
            let advice = "use an element that holds at least one scalar";
            return Err(self.error(ErrorKind::Shape, "an element without components", advice));
        }
        let mut cuts = match &self.cut_at {
            Some(cuts) => (**cuts).clone(),
            None => self.cuts()?,
        };
        let layers = if self.everywhere { None } else { self.shared(&mut cuts, acc)? };
        if let (true, Some(cells)) = (self.everywhere, &self.distribution) {
            let found = format!("{cells:?} cells for the places, and `.everywhere()`");
            return Err(self.error(ErrorKind::Argument, found, "leave out one of them"));
        }
        self.check_ghost(&cuts)?;
        let boundaries = self.boundaries()?;
        let coding = self.coding()?.map(Arc::new);
        if acc.folder().is_some() && coding.as_ref().is_some_and(|coding| coding.packs()) {
            let advice = "use `Compress::Device`, whose codes take less of the disk too, or keep arrays in memory";
            return Err(self.error(ErrorKind::Argument, "`Compress::Link`, where arrays lie in files", advice));
        }
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
        if self.everywhere && acc.all_places() > 1 {
            return TileArray::on_all_places(acc, layout, boundaries);
        }
        if let Some(layers) = layers {
            let is_periodic = |of: &(std::ops::Range<usize>, Boundary<T>)| matches!(of.1, Boundary::Periodic);
            let ends = boundaries.of(0, 0);
            if layers.len() > 1 && ends.iter().any(is_periodic) && !ends.iter().all(is_periodic) {
                let (kind, found, advice) = half_periodic();
                return Err(self.error(kind, found, advice));
            }
            let overlap = self.overlapping(&layout.cuts, layers.len())?;
            if overlap > 0 && acc.ranks() > 1 {
                return Err(not_on_ranks(self.tried(), "`.overlap(..)`"));
            }
            return TileArray::of_places(acc, layout, boundaries, (&layers, overlap));
        }
        let array = TileArray::here(acc, Arc::new(layout), Arc::new(boundaries), &Arc::default())?;
        self.check_backed(acc, &array.layout, array.tracker.planar().map(|planar| &**planar))?;
        Ok(array)
    }

    /// The planes that each of so many places has as cells of others.
    fn overlapping(&self, cuts: &Cuts<D>, places: usize) -> Result<usize, Error> {
        if places < 2 || D < 2 || cuts.regions()[1..].iter().any(|count| *count != 1) {
            return Ok(0);
        }
        let (planes, thinnest) = (self.overlap, cuts.thinnest(0));
        let ghosts = self.ghost[0][0].max(self.ghost[0][1]);
        if 0 < planes && planes < ghosts {
            let found = format!("an overlap of {planes} planes, and {ghosts} ghost cells on axis 0");
            return Err(self.error(ErrorKind::Argument, found, "hold at least as many planes as there are ghosts"));
        }
        if planes <= thinnest {
            return Ok(planes);
        }
        let found = format!("an overlap of {planes} planes, where the thinnest region has {thinnest}");
        Err(self.error(ErrorKind::Argument, found, "hold fewer planes, or cut the first axis into fewer regions"))
    }

    /// The layers of regions that each place has, if the accelerator has several; cuts finer where that is needed.
    fn shared(&self, cuts: &mut Cuts<D>, acc: &TileAcc) -> Result<Option<Vec<std::ops::Range<usize>>>, Error> {
        let (places, block) = (acc.all_places(), block::<D>());
        let Some(cells) = &self.distribution else {
            return Ok((places > 1).then(|| share(cuts, places, block)));
        };
        let layers = share_as(cuts, cells, places, block).ok_or_else(|| {
            let found = format!("{cells:?} cells of the first axis for the places, of which there are {places}");
            let multiples = if block > 1 { format!(", all but the last a multiple of {block}") } else { String::new() };
            let advice = format!("give each place some, {} in all{multiples}", self.cells[0]);
            self.error(ErrorKind::Argument, found, advice)
        })?;
        Ok((places > 1).then_some(layers))
    }

    /// Whether an array can lie in a file, if it is to.
    fn check_backed(&self, acc: &TileAcc, layout: &Layout<D>, planar: Option<&Planar>) -> Result<(), Error> {
        let (Some(_), Some(device)) = (acc.folder(), &acc.core().device) else { return Ok(()) };
        let refused = |found: String, advice: &str| Err(self.error(ErrorKind::Argument, found, advice));
        let counts = layout.cuts.regions();
        if counts[1..].iter().any(|count| *count != 1) {
            let found = format!("{counts:?} regions, where arrays lie in files (`backed_by`)");
            return refused(found, "cut it along its first axis alone, or keep arrays in memory");
        }
        if planar.is_some_and(|planar| planar.facts().period.is_some()) {
            let found = "a first axis that is periodic, where arrays lie in files (`backed_by`)";
            return refused(found.into(), "let another axis be the first, or keep arrays in memory");
        }
        let bytes: u64 = layout.regions.iter().map(|region| (region.cells * layout.element.bytes()) as u64).sum();
        if planar.is_none() && bytes > device.budget() {
            let found = format!("{bytes} bytes in one axis, with room for {} in memory", device.budget());
            return refused(found, "give it a second axis, along which its planes lie, or raise the memory limit");
        }
        Ok(())
    }

    fn error(&self, kind: ErrorKind, found: impl Into<String>, advice: impl Into<String>) -> Error {
        Error::new(kind, self.tried(), found, advice)
    }

    fn tried(&self) -> String {
        format!("build an array of {} with shape {:?}", T::TYPE, self.cells)
    }

    /// The format of each component, of which these are the paths.
    fn formats(&self, paths: &[String]) -> Result<Vec<Format>, Error> {
        let mut formats = vec![self.format; paths.len()];
        for (field, format) in &self.fields {
            let mut known = false;
            for (_, of) in paths.iter().zip(&mut formats).filter(|(path, _)| is_within(path, field)) {
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
            Partition::UpTo(most, least) => match most[axis] {
                many if many > blocks || (many > 1 && cells / many < least[axis]) => (1, None),
                few => (few, None),
            },
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
}

/// Whether the component of a path is a field of this path, or a part of it.
fn is_within(path: &str, field: &str) -> bool {
    !field.is_empty() && path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// An array, or a part of one, on one place.
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub(super) fn here(
        acc: &TileAcc,
        layout: Arc<Layout<D>>,
        boundaries: Arc<Boundaries<T, D>>,
        ages: &Arc<Ages>,
    ) -> Result<TileArray<T, D>, Error> {
        // Where both sides work, each has regions whose ghosts the other may not have.
        let one_side = acc.core().device.is_some() && !acc.is_hybrid();
        let row = if one_side { Row::new(&layout, &layout.element).map(Arc::new) } else { None };
        let regional = regional(&layout, &boundaries);
        let planar = planar(&layout, &boundaries, regional.as_ref());
        TileArray::with_memory(acc, (layout.clone(), boundaries), &layout, row, (ages, planar, regional))
    }
}

/// Memory for the regions of an array, which on a device lie in a row if there is one.
///
/// # Errors
/// Memory that the system does not have.
pub(super) fn allocate<const D: usize>(
    acc: &TileAcc,
    layout: &Layout<D>,
    row: Option<Arc<Row>>,
) -> Result<Storage, Error> {
    let sizes = layout.regions.iter().map(|r| r.cells * layout.element.bytes());
    let storage = match acc.folder() {
        Some(folder) => Storage::backed(folder, sizes)?,
        None => Storage::new(sizes)?,
    };
    let storage = storage.in_row(row).coded(layout.coding.clone());
    if let Some(coding) = layout.rounds() {
        acc.install(&|| set_zeros(&storage, layout, coding));
    }
    Ok(storage)
}

/// Sets memory that no one wrote to the values nearest to 0 that formats have, where 0 is none of them.
fn set_zeros<const D: usize>(storage: &Storage, layout: &Layout<D>, coding: &Coding) {
    const CHUNK: usize = 1 << 17;
    for (component, zero) in (0..coding.components()).filter_map(|n| Some((n, coding.zero(n)?))) {
        parallel::each(layout.regions.len(), 1, &|number| {
            storage.touch_host(number);
            let cells = layout.regions[number].cells;
            let plane = Shared::new(storage.base(number).wrapping_add(cells * coding.before(component).1));
            parallel::each(cells.div_ceil(CHUNK), 1, &|chunk| {
                let (first, count) = (chunk * CHUNK, CHUNK.min(cells - chunk * CHUNK));
                // SAFETY: a part of the component's plane, of memory that no one else knows yet; chunks do not overlap;
                // zeros are values of any float.
                unsafe {
                    match zero {
                        Value::F32(x) => {
                            std::slice::from_raw_parts_mut(plane.get().cast::<f32>().add(first), count).fill(x)
                        }
                        Value::F64(x) => {
                            std::slice::from_raw_parts_mut(plane.get().cast::<f64>().add(first), count).fill(x)
                        }
                        _ => {}
                    }
                }
            });
        });
    }
}
