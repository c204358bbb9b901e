//! Building arrays: shape, cuts, ghosts, centring, boundaries, and what is wrong with them.

mod beside;
mod boundaries;
mod found;
mod overlap;
mod spec;

use std::sync::Arc;

use tida_kernels::codec::Format;

use super::TileArray;
use crate::acc::TileAcc;
use crate::error::Error;
use crate::memory::coding::{Compress, Saturation};
use crate::memory::element::Element;
use crate::memory::layout::{Boundary, Centering, Cuts};
use beside::Beside;
pub use overlap::OverlapTimes;
use spec::{Partition, Spec};

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
    boundaries: [[Boundary<T>; 2]; D],
    /// Those of some components, for each field that `spec` says has one.
    field_boundaries: Vec<Boundary<T>>,
    /// All else.
    spec: Spec<D>,
}

impl<T: Element, const D: usize> TileArrayBuilder<T, D> {
    pub(super) fn new(cells: [usize; D]) -> Self {
        let (boundaries, field_boundaries) = ([[Boundary::Open; 2]; D], Vec::new());
        TileArrayBuilder { boundaries, field_boundaries, spec: Spec::new(cells, T::TYPE) }
    }

    /// Cuts the domain where another array of the same cells is cut.
    pub(super) fn cut_at(mut self, cuts: &Arc<Cuts<D>>) -> Self {
        self.spec.cut_at = Some(cuts.clone());
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
        self.spec.partition = Partition::Count(regions);
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
        self.spec.partition = Partition::Size(size);
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
        self.spec.partition = Partition::UpTo(regions, least);
        self
    }

    /// Cuts the domain where another array is cut that has half or twice as many cells along some axes or all: at twice
    /// or half the places, and as it is along axes of as many cells. Of several
    /// [`devices`](crate::TileAccBuilder::devices) or ranks each has what lies beside its part of the other array. So
    /// [`coarse`](crate::coarse()) and [`fine`](crate::fine()) can read one beside the other, if ghosts reach as far as
    /// a kernel reads. It replaces [`regions`](Self::regions) and the like.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().devices(["cpu:3"]).build()?;
    /// let f = TileArray::<f64, 1>::builder([700]).cut_at_multiples([128]).build(&acc)?;
    /// let mut c = TileArray::<f64, 1>::builder([350]).cut_beside(&f).build(&acc)?;
    /// assert_eq!(f.region_box(1), Some(GridBox::new([256], [512])));
    /// assert_eq!(c.region_box(1), Some(GridBox::new([128], [256])));
    /// for tile in c.tiles() {
    ///     compute(&tile, (&mut c, fine(&f)), kernel!(|c, f, at| c[at] = f[[2 * at[0]]]))?;
    /// }
    /// # acc.sync()
    /// # }
    /// ```
    ///
    /// # Errors
    /// Of `build`: arrays of which none has half the cells of the other, give or take two; regions that would have no
    /// cells; cuts that are no multiples, as of 64 along the last axis; a [distribution](Self::distribute) too; ghosts
    /// wider than regions.
    pub fn cut_beside<U: Element>(mut self, other: &TileArray<U, D>) -> Self {
        self.spec.beside = Some(Beside::of(other));
        self
    }

    /// Lets the domain be cut at multiples of so many cells alone, along each axis: regions, and the parts of several
    /// [`devices`](crate::TileAccBuilder::devices) or ranks, end there, or at the array's end. For kernels over groups,
    /// which no cut may go through: give the extent of the groups. On the last axis these are multiples of 64 cells
    /// too.
    ///
    /// Where there are fewer such multiples than places, the last places have none of the array.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::builder().devices(["cpu:2"]).build()?;
    /// let mut u = TileArray::<i32, 2>::builder([40, 64]).cut_at_multiples([16, 16]).build(&acc)?;
    /// assert_eq!(u.region_box(0), Some(GridBox::new([0, 0], [16, 64])));
    /// for tile in u.tiles() {
    ///     compute_groups(&tile, [16, 16], &mut u, group_kernel!(|u, group| {
    ///         group.each(|t| u[t.at()] = t[0] as i32);
    ///     }))?;
    /// }
    /// assert_eq!(u.read_box(GridBox::new([17, 0], [18, 1]))?, [1]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Of `build`: a multiple of 0; more [`regions`](Self::regions) than there are such multiples; a
    /// [distribution](Self::distribute) that is cut elsewhere.
    pub fn cut_at_multiples(mut self, cells: [usize; D]) -> Self {
        self.spec.multiples = cells;
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
        self.spec.ghost = ghost.into_ghost();
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
        self.spec.centering = centering;
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
        self.spec.format = format;
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
        self.spec.fields.push((field.to_owned(), format));
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
        self.spec.saturation = saturation;
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
        self.spec.compress = compress;
        self
    }

    /// How many cells along the first axis each place has, in their order, for an accelerator of several
    /// [`devices`](crate::TileAccBuilder::devices): for places of different speeds. Regions are cut there too. Places
    /// at the end that are left out have none. Without it each has about as many as the others. Arrays that go together
    /// in one loop have to be distributed alike.
    ///
    /// Places that nobody says anything of have parts that end at multiples of the largest power of two of which each
    /// of them has 32 or more.
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
        self.spec.distribution = Some(cells.into());
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
        self.spec.everywhere = true;
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
    /// On several ranks each takes the others to compute what it computes itself: have one kernel with the same
    /// captured values compute all tiles of a loop. Ranks compare what they have made; if that differs, the program
    /// ends with an error that says so. Besides, fills send planes after a loop
    ///
    /// - over some of the cells alone (`within`, active blocks), or over tiles thinner than the planes;
    /// - that writes arrays which hold other planes than the array whose tiles these are.
    ///
    /// An array of fewer parts than there are places holds no planes there, and `with_region_mut` is refused.
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
    /// Of `build`: fewer planes than ghosts along the first axis, or more than the thinnest region has.
    pub fn overlap(mut self, planes: usize) -> Self {
        self.spec.overlap = planes;
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
        let cut = self.spec.cut(acc)?;
        let boundaries = Arc::new(self.boundaries()?);
        Ok(TileArray::of_parted(self.spec.made(acc, cut, &boundaries.kinds)?, &boundaries))
    }
}
