//! What an array is asked to be, whatever its element; and what is wrong with it.

use std::ops::Range;
use std::sync::Arc;

use tida_kernels::codec::{Codec, Format, Refused};
use tida_kernels::element::ElementType;

use super::Side;
use super::beside::Beside;
use super::overlap::numbers;
use crate::acc::TileAcc;
use crate::array::bare::{Bare, Parted};
use crate::array::places::{share, share_as};
use crate::array::strips::half_periodic;
use crate::error::{Error, ErrorKind};
use crate::memory::coding::{Coding, Compress, Saturation, paths};
use crate::memory::ghosts::planes::Planar;
use crate::memory::layout::{Boundary, Centering, Cuts, Kinds, Layout, LayoutError};

/// Largest number of cells along an axis.
const LONGEST: usize = 1 << 40;
/// Cuts of the last axis fall on multiples of this many cells.
const SEGMENT: usize = tida_kernels::plan::SEGMENT as usize;

/// How the domain is asked to be cut.
#[derive(Clone, Copy, Debug)]
pub(super) enum Partition<const D: usize> {
    Count([usize; D]),
    Size([usize; D]),
    /// So many, or one along axes where each would have fewer cells than this.
    UpTo([usize; D], [usize; D]),
}

/// All that an array is asked to be but what has its element's type.
#[derive(Clone, Debug)]
pub(super) struct Spec<const D: usize> {
    pub element: ElementType,
    pub cells: [usize; D],
    pub partition: Partition<D>,
    /// Where another array is cut, if this one is to be cut there.
    pub cut_at: Option<Arc<Cuts<D>>>,
    /// What it is to lie beside.
    pub beside: Option<Beside<D>>,
    /// Cells at whose multiples the domain is cut, along each axis.
    pub multiples: [usize; D],
    pub ghost: [[usize; 2]; D],
    pub centering: [Centering; D],
    /// Where some components have boundaries of their own: the field, the axis, the side.
    pub bounded: Vec<(String, usize, Side)>,
    /// An axis that was given a boundary, and that the array does not have.
    pub no_axis: Option<usize>,
    /// The format of all components, and those of some fields.
    pub format: Format,
    pub fields: Vec<(String, Format)>,
    pub saturation: Saturation,
    pub compress: Compress,
    /// Cells of the first axis on each place, if that was said.
    pub distribution: Option<Vec<usize>>,
    pub everywhere: bool,
    pub overlap: usize,
}

/// Where an array is cut, and the layers of regions that each place has, if there are several.
type CutFor<const D: usize> = (Cuts<D>, Option<Vec<Range<usize>>>);

impl<const D: usize> Spec<D> {
    pub fn new(cells: [usize; D], element: ElementType) -> Self {
        Spec {
            element,
            cells,
            partition: Partition::Count([1; D]),
            cut_at: None,
            beside: None,
            multiples: [1; D],
            ghost: [[0; 2]; D],
            centering: [Centering::Cell; D],
            bounded: Vec::new(),
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

    /// Values on each axis.
    pub fn shape(&self) -> [usize; D] {
        std::array::from_fn(|d| self.cells[d] + usize::from(self.centering[d] == Centering::Face))
    }

    /// Whether a range or a scale is to be found from the values.
    pub fn is_found(&self) -> bool {
        self.format.is_found() || self.fields.iter().any(|(_, format)| format.is_found())
    }

    /// Where the array is cut.
    ///
    /// # Errors
    /// Cuts that cannot be, and ghosts that are wider than regions.
    pub fn cut(&self, acc: &TileAcc) -> Result<CutFor<D>, Error> {
        if self.element.components() == 0 {
            let advice = "use an element that holds at least one scalar";
            return Err(self.error(ErrorKind::Shape, "an element without components", advice));
        }
        let (mut cuts, distribution) = match (&self.cut_at, &self.beside) {
            (Some(cuts), _) => ((**cuts).clone(), self.distribution.clone()),
            (None, Some(_)) if self.distribution.is_some() => {
                let found = "`.cut_beside(..)`, and a distribution";
                return Err(self.error(ErrorKind::Argument, found, "leave out one of them"));
            }
            (None, Some(beside)) => self.cuts_beside(beside)?,
            (None, None) => (self.cuts()?, self.distribution.clone()),
        };
        let layers = if self.everywhere { None } else { self.shared(&mut cuts, distribution.as_deref(), acc)? };
        if let (true, Some(cells)) = (self.everywhere, &self.distribution) {
            let found = format!("{cells:?} cells for the places, and `.everywhere()`");
            return Err(self.error(ErrorKind::Argument, found, "leave out one of them"));
        }
        self.check_ghost(&cuts)?;
        Ok((cuts, layers))
    }

    /// The array, cut so.
    ///
    /// # Errors
    /// Formats that cannot be; what several places, or files, cannot have; memory that the system does not have.
    pub fn made(&self, acc: &TileAcc, cut: CutFor<D>, boundaries: &Arc<Kinds<D>>) -> Result<Parted<D>, Error> {
        let (cuts, layers) = cut;
        let layout = self.layout(acc, cuts)?;
        if self.everywhere && acc.all_places() > 1 {
            return Bare::on_all_places(acc, layout, boundaries);
        }
        let Some(layers) = layers else {
            let layout = Arc::new(layout);
            let array = Bare::here(acc, &layout, boundaries, &Arc::default())?;
            self.check_backed(acc, &layout, array.planar())?;
            return Ok((array, Vec::new(), None));
        };
        let is_periodic = |of: &(Range<usize>, Boundary<usize>)| matches!(of.1, Boundary::Periodic);
        let ends = boundaries.of(0, 0);
        if layers.len() > 1 && ends.iter().any(is_periodic) && !ends.iter().all(is_periodic) {
            let (kind, found, advice) = half_periodic();
            return Err(self.error(kind, found, advice));
        }
        let overlap = self.overlapping(acc, &layout.cuts, layers.len())?;
        Bare::of_places(acc, layout, boundaries, (&layers, overlap))
    }

    /// The geometry of the array.
    ///
    /// # Errors
    /// Formats that cannot be, or more memory than there are addresses.
    fn layout(&self, acc: &TileAcc, cuts: Cuts<D>) -> Result<Layout<D>, Error> {
        let coding = self.coding()?.map(Arc::new);
        if acc.folder().is_some() && coding.as_ref().is_some_and(|coding| coding.packs()) {
            let advice = "use `Compress::Device`, whose codes take less of the disk too, or keep arrays in memory";
            return Err(self.error(ErrorKind::Argument, "`Compress::Link`, where arrays lie in files", advice));
        }
        let element = coding.as_ref().map_or(self.element, |coding| coding.element());
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
        Ok(layout.coded(coding))
    }

    /// The planes that each of so many places has as cells of others.
    fn overlapping(&self, acc: &TileAcc, cuts: &Cuts<D>, places: usize) -> Result<usize, Error> {
        if !holds_planes(acc, cuts, places) {
            return Ok(0);
        }
        let (planes, thinnest, ghosts) = (self.overlap, cuts.thinnest(0), self.ghosts_along());
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

    /// Numbers of planes of others that places may hold as cells and that are worth a try.
    ///
    /// # Errors
    /// As [`Spec::cut`].
    pub fn overlaps(&self, acc: &TileAcc) -> Result<Vec<usize>, Error> {
        let (cuts, layers) = self.cut(acc)?;
        let holds = layers.is_some_and(|layers| holds_planes(acc, &cuts, layers.len()));
        Ok(numbers(self.ghosts_along(), if holds { cuts.thinnest(0) } else { 0 }))
    }

    /// Ghosts along the first axis, of the side that has more.
    fn ghosts_along(&self) -> usize {
        self.ghost.first().map_or(0, |[low, high]| *low.max(high))
    }

    /// The layers of regions that each place has, if the accelerator has several; cuts finer where that is needed.
    fn shared(
        &self,
        cuts: &mut Cuts<D>,
        distribution: Option<&[usize]>,
        acc: &TileAcc,
    ) -> Result<Option<Vec<Range<usize>>>, Error> {
        let (places, unit) = (acc.all_places(), self.unit(0));
        let Some(cells) = distribution else {
            return Ok((places > 1).then(|| share(cuts, places, unit)));
        };
        let layers = share_as(cuts, cells, places, unit).ok_or_else(|| {
            let found = format!("{cells:?} cells of the first axis for the places, of which there are {places}");
            let multiples = if unit > 1 { format!(", all but the last a multiple of {unit}") } else { String::new() };
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

    pub(super) fn error(&self, kind: ErrorKind, found: impl Into<String>, advice: impl Into<String>) -> Error {
        Error::new(kind, self.tried(), found, advice)
    }

    fn tried(&self) -> String {
        format!("build an array of {} with shape {:?}", self.element, self.cells)
    }

    /// The format of each component, of which these are the paths.
    pub(super) fn formats(&self, paths: &[String]) -> Result<Vec<Format>, Error> {
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

    pub(super) fn refused(&self, refused: Refused, path: &str) -> Error {
        let of = if path.is_empty() { String::new() } else { format!(" in the field `{path}`") };
        self.error(ErrorKind::Argument, refused.found + &of, refused.advice)
    }

    /// How components are kept, if some are not as they are, or packed for the link.
    fn coding(&self) -> Result<Option<Coding>, Error> {
        let (paths, types) = (paths(&self.element), self.element.component_types());
        let formats = self.formats(&paths)?;
        let mut codecs = Vec::with_capacity(types.len());
        for ((ty, format), path) in types.iter().zip(&formats).zip(&paths) {
            codecs.push(Codec::new(*ty, format).map_err(|refused| self.refused(refused, path))?);
        }
        let coded = self.compress == Compress::Link || codecs.iter().any(Option::is_some);
        Ok(coded.then(|| Coding::new(self.element, formats, codecs, (self.saturation, self.compress))))
    }

    pub(super) fn cuts(&self) -> Result<Cuts<D>, Error> {
        if !(1..=4).contains(&D) {
            return Err(self.error(ErrorKind::Shape, format!("{D} axes"), "use 1 to 4 axes"));
        }
        let mut at: [Vec<i64>; D] = std::array::from_fn(|_| Vec::new());
        for (axis, cuts) in at.iter_mut().enumerate() {
            *cuts = self.axis_cuts(axis)?;
        }
        Ok(Cuts { cells: self.cells, at })
    }

    /// Cells at whose multiples an axis is cut.
    pub(super) fn unit(&self, axis: usize) -> usize {
        let own = if axis + 1 == self.cells.len() { SEGMENT } else { 1 };
        let asked = self.multiples[axis].clamp(1, LONGEST);
        asked * (own >> asked.trailing_zeros().min(own.trailing_zeros()))
    }

    /// Cut positions of one axis, from 0 to its cells.
    fn axis_cuts(&self, axis: usize) -> Result<Vec<i64>, Error> {
        let cells = self.cells[axis];
        if self.multiples[axis] == 0 {
            let found = format!("cuts at multiples of 0 cells on axis {axis}");
            return Err(self.error(ErrorKind::Shape, found, "give every axis at least 1"));
        }
        if cells == 0 {
            let found = format!("0 cells on axis {axis}");
            return Err(self.error(ErrorKind::Shape, found, "give every axis at least one cell"));
        }
        if cells > LONGEST {
            let found = format!("{cells} cells on axis {axis}");
            return Err(self.error(ErrorKind::Shape, found, format!("use at most {LONGEST} (2^40) cells an axis")));
        }
        // The axis is a row of blocks that are not cut.
        let block = self.unit(axis);
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
            let of = if axis + 1 == D { "of the last axis" } else { "of this axis" };
            let advice = match block {
                1 => "use at most one region a cell".to_owned(),
                _ => {
                    format!("use at most one region every {block} cells {of}: its cuts fall on multiples of {block}")
                }
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

/// Whether places may hold planes of their neighbours as cells, of an array that is cut so and lies on so many.
fn holds_planes<const D: usize>(acc: &TileAcc, cuts: &Cuts<D>, places: usize) -> bool {
    // A rank that has no part would not know of what the others do.
    let has_all = acc.ranks() == 1 || places == acc.all_places();
    has_all && places > 1 && D > 1 && cuts.regions()[1..].iter().all(|count| *count == 1)
}

/// Whether the component of a path is a field of this path, or a part of it.
pub(super) fn is_within(path: &str, field: &str) -> bool {
    !field.is_empty() && path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
