//! How an array is cut: shape, regions, ghosts, centring.

use std::ops::Range;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use tida_kernels::element::ElementType;

use super::coding::Coding;
use super::parts::OfRegion;
use super::storage::Storage;
use crate::grid::GridBox;

/// Where values sit along one axis. An array centred on faces along every axis is centred on nodes.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let nodes = TileArray::<f64, 2>::builder([4, 8]).centering([Centering::Face; 2]).build(&acc)?;
/// assert_eq!(nodes.shape(), [5, 9]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Centering {
    /// In the middle of cells.
    #[default]
    Cell,
    /// On the faces between cells: one more value than cells. A face shared by two regions belongs to the lower one.
    Face,
}

/// What the ghost cells outside one face of the domain hold after [`fill_ghosts`](crate::fill_ghosts()).
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([3])
///     .ghost(1)
///     .boundary_face(0, Side::Low, Boundary::Fixed(9.0))
///     .boundary_face(0, Side::High, Boundary::ReflectOdd)
///     .build(&acc)?;
/// u.write_box(u.domain(), &[1.0, 2.0, 3.0])?;
/// u.fill_ghosts()?;
/// let (mut left, mut right) = (u.like()?, u.like()?);
/// for tile in TileIter::new(&u) {
///     compute(&tile, (&mut left, &mut right, &u), kernel!(|left, right, u, at| {
///         left[at] = u[at - [1]];
///         right[at] = u[at + [1]];
///     }))?;
/// }
/// assert_eq!(left.read_box(u.domain())?, [9.0, 1.0, 2.0]);
/// assert_eq!(right.read_box(u.domain())?, [2.0, 3.0, -3.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Boundary<T> {
    /// The cells of the opposite side; both faces of an axis must be periodic.
    Periodic,
    /// One value.
    Fixed(T),
    /// Mirrored about the face.
    ReflectEven,
    /// Mirrored about the face, negated.
    ReflectOdd,
    /// Extrapolated: order 0 copies the nearest value, order 1 continues the line through the nearest two.
    Extrapolate(u8),
    /// Left as it is: the user fills it, as by [`fill_ghosts_with`](crate::fill_ghosts_with()).
    Open,
}

impl<T> Boundary<T> {
    /// The same of another element, for which `fixed` gives what stands for a fixed value.
    pub(crate) fn map<U>(&self, fixed: impl FnOnce(&T) -> U) -> Boundary<U> {
        match self {
            Boundary::Periodic => Boundary::Periodic,
            Boundary::Fixed(value) => Boundary::Fixed(fixed(value)),
            Boundary::ReflectEven => Boundary::ReflectEven,
            Boundary::ReflectOdd => Boundary::ReflectOdd,
            Boundary::Extrapolate(order) => Boundary::Extrapolate(*order),
            Boundary::Open => Boundary::Open,
        }
    }
}

/// Boundaries of all faces, as the user gave them.
#[derive(Clone, Debug)]
pub(crate) struct Boundaries<T, const D: usize> {
    /// Those of components that have no others: `[axis][0]` is the low face.
    pub faces: [[Boundary<T>; 2]; D],
    /// Those of some components, one for each entry of `kinds.others`.
    pub others: Vec<Boundary<T>>,
    /// The same whatever the element.
    pub kinds: Arc<Kinds<D>>,
}

/// Boundaries of all faces, whatever the element: a fixed value is its number.
#[derive(Clone, Debug)]
pub(crate) struct Kinds<const D: usize> {
    /// As in [`Boundaries`].
    pub faces: [[Boundary<usize>; 2]; D],
    /// Those of some components.
    pub others: Vec<OfComponents>,
    /// Components of an element.
    pub components: usize,
    /// The fixed values: the bits of each component.
    pub fixed: Vec<Vec<u64>>,
}

/// What lies beyond a face for some components of an element. A later one overrides those before it.
#[derive(Clone, Debug)]
pub(crate) struct OfComponents {
    pub axis: usize,
    pub side: usize,
    pub components: Range<usize>,
    pub boundary: Boundary<usize>,
}

impl<const D: usize> Kinds<D> {
    /// What lies beyond a face: neighbouring components of one boundary together.
    pub fn of(&self, axis: usize, side: usize) -> SmallVec<[(Range<usize>, Boundary<usize>); 1]> {
        let mut here = self.others.iter().filter(|other| (other.axis, other.side) == (axis, side)).peekable();
        if here.peek().is_none() {
            return smallvec![(0..self.components, self.faces[axis][side])];
        }
        let mut all = vec![self.faces[axis][side]; self.components];
        here.for_each(|other| all[other.components.clone()].fill(other.boundary));
        let mut runs: SmallVec<[(Range<usize>, Boundary<usize>); 1]> = SmallVec::new();
        for (number, boundary) in all.into_iter().enumerate() {
            match runs.last_mut() {
                Some((run, of)) if *of == boundary => run.end = number + 1,
                _ => runs.push((number..number + 1, boundary)),
            }
        }
        runs
    }

    /// Whether this is so of the boundary of some component at a face.
    pub fn any(&self, axis: usize, side: usize, is: impl Fn(&Boundary<usize>) -> bool) -> bool {
        // Each call of a kernel asks.
        match self.others.is_empty() {
            true => is(&self.faces[axis][side]),
            false => self.of(axis, side).iter().any(|(_, boundary)| is(boundary)),
        }
    }

    /// Whether all components are left to the user beyond a face.
    pub fn is_open(&self, axis: usize, side: usize) -> bool {
        !self.any(axis, side, |boundary| !matches!(boundary, Boundary::Open))
    }

    /// The same of all faces.
    pub fn open(&self) -> [[bool; 2]; D] {
        std::array::from_fn(|axis| [0, 1].map(|side| self.is_open(axis, side)))
    }
}

/// How a domain of cells is cut into regions. Arrays of equal cuts go together in one `compute`, whatever their
/// ghosts and centring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cuts<const D: usize> {
    /// Cells on each axis.
    pub cells: [usize; D],
    /// Cut positions on each axis, from 0 to `cells`, both included.
    pub at: [Vec<i64>; D],
}

/// One region of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region<const D: usize> {
    /// The cells (faces, nodes) it owns.
    pub valid: GridBox<D>,
    /// `valid` and its ghosts: what its memory holds.
    pub grown: GridBox<D>,
    /// Global coordinate of position 0 of its planes. `grown.lo` on all axes but the last, where padding comes first.
    pub origin: [i64; D],
    /// Elements from one coordinate to the next along each axis; the last is 1.
    pub strides: [usize; D],
    /// Elements in a plane, a multiple of 128.
    pub cells: usize,
}

/// Geometry of one array.
#[derive(Clone, Debug)]
pub(crate) struct Layout<const D: usize> {
    /// The cuts of its cells.
    pub cuts: Arc<Cuts<D>>,
    /// Values on each axis: cells, or cells + 1 where face-centred.
    pub shape: [usize; D],
    /// Where values sit.
    pub centering: [Centering; D],
    /// Ghost cells on each axis, low and high side.
    pub ghost: [[usize; 2]; D],
    /// All values that its regions have as cells: the domain, or a run of its planes along the first axis.
    pub held: GridBox<D>,
    /// Those of them that are its own. Others are copies of what other parts own ([`Layout::overlapping`]).
    pub owned: GridBox<D>,
    /// The number of this part of an array.
    pub part: usize,
    /// Where `held` ends and the domain goes on, low and high side of each axis: what lies beyond is no face.
    pub borders: [[bool; 2]; D],
    /// Regions, row-major.
    pub regions: Vec<Region<D>>,
    /// The same as boxes of four axes.
    pub wide: Arc<WideLayout>,
    /// What memory holds of an element.
    pub element: ElementType,
    /// How that is coded, if it is.
    pub coding: Option<Arc<Coding>>,
}

/// The regions of an array of any number of axes, as four: axes of one cell are put in front.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WideLayout {
    pub regions: Vec<WideRegion>,
    /// Elements in a plane of the largest region.
    pub largest: usize,
}

/// As [`Region`]. The axes put in front have origin and stride 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WideRegion {
    pub valid: GridBox<4>,
    pub grown: GridBox<4>,
    pub origin: [i64; 4],
    pub strides: [i64; 4],
    pub cells: i64,
}

impl WideRegion {
    /// Position of a cell in a plane.
    pub(crate) fn position(&self, at: [i64; 4]) -> usize {
        (0..4).map(|d| (at[d] - self.origin[d]) * self.strides[d]).sum::<i64>() as usize
    }
}

impl WideLayout {
    pub(super) fn new<const D: usize>(regions: &[Region<D>]) -> Arc<WideLayout> {
        let wide = |r: &Region<D>| {
            let (mut origin, mut strides) = ([0; 4], [0; 4]);
            origin[4 - D..].copy_from_slice(&r.origin);
            (0..D).for_each(|d| strides[4 - D + d] = r.strides[d] as i64);
            WideRegion { valid: r.valid.widen(), grown: r.grown.widen(), origin, strides, cells: r.cells as i64 }
        };
        let largest = regions.iter().map(|r| r.cells).max().unwrap_or(0);
        Arc::new(WideLayout { regions: regions.iter().map(wide).collect(), largest })
    }

    /// Whether positions are the same in both. Large lists are not compared.
    pub(crate) fn same(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        const FEW: usize = 16;
        Arc::ptr_eq(self, other) || (self.regions.len() <= FEW && self == other)
    }
}

/// Why a layout cannot be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LayoutError {
    /// More bytes than an address can count.
    Overflow,
    /// The list of regions alone does not fit in memory.
    Regions,
}

/// Bytes that every row and plane is aligned to: two cache lines, and one line of a GPU.
pub(crate) const ALIGN: usize = 128;
/// Addresses that differ by a multiple of this fall into the same set of a first-level cache.
const CACHE_WAY: usize = 4096;

impl<const D: usize> Cuts<D> {
    /// Number of regions on each axis.
    pub(crate) fn regions(&self) -> [usize; D] {
        std::array::from_fn(|d| self.at[d].len() - 1)
    }

    /// Cells of the thinnest region on an axis.
    pub(crate) fn thinnest(&self, axis: usize) -> usize {
        self.at[axis].windows(2).map(|w| (w[1] - w[0]) as usize).min().unwrap_or(0)
    }
}

/// The values that region `part` of an axis owns.
fn owned(cuts: &[i64], centering: Centering, part: usize) -> (i64, i64) {
    match centering {
        Centering::Cell => (cuts[part], cuts[part + 1]),
        Centering::Face => (if part == 0 { 0 } else { cuts[part] + 1 }, cuts[part + 1] + 1),
    }
}

/// The region of an axis that owns the value nearest to `at`.
fn owner(cuts: &[i64], centering: Centering, at: i64) -> usize {
    let cell = match centering {
        Centering::Cell => at,
        Centering::Face => at - 1,
    };
    cuts.partition_point(|c| *c <= cell).saturating_sub(1).min(cuts.len() - 2)
}

impl<const D: usize> Layout<D> {
    /// The geometry of an array of elements `element`. Ghosts are at most as wide as the thinnest region.
    pub(crate) fn new(
        cuts: Arc<Cuts<D>>,
        centering: [Centering; D],
        ghost: [[usize; 2]; D],
        element: &ElementType,
    ) -> Result<Layout<D>, LayoutError> {
        let shape = std::array::from_fn(|d| match centering[d] {
            Centering::Cell => cuts.cells[d],
            Centering::Face => cuts.cells[d] + 1,
        });
        let counts = cuts.regions();
        let count = counts.iter().try_fold(1usize, |n, c| n.checked_mul(*c)).ok_or(LayoutError::Regions)?;
        let mut regions = Vec::new();
        regions.try_reserve_exact(count).map_err(|_| LayoutError::Regions)?;
        let mut total = 0usize;
        for number in 0..count {
            let mut rest = number;
            let mut valid = GridBox { lo: [0; D], hi: [0; D] };
            for d in (0..D).rev() {
                (valid.lo[d], valid.hi[d]) = owned(&cuts.at[d], centering[d], rest % counts[d]);
                rest /= counts[d];
            }
            let region = Region::new(valid, ghost, element).ok_or(LayoutError::Overflow)?;
            total = region
                .bytes(element)
                .and_then(|bytes| total.checked_add(bytes))
                .filter(|total| *total <= isize::MAX as usize)
                .ok_or(LayoutError::Overflow)?;
            regions.push(region);
        }
        let wide = WideLayout::new(&regions);
        let held = GridBox { lo: [0; D], hi: shape.map(|n| n as i64) };
        let borders = [[false; 2]; D];
        let (owned, part, element) = (held, 0, *element);
        Ok(Layout { cuts, shape, centering, ghost, held, owned, part, borders, regions, wide, element, coding: None })
    }

    /// The part of it that has these layers of regions along the first axis, with the same coordinates. It ends in
    /// borders: where the domain goes on, and on both sides if the axis is `periodic`.
    pub(crate) fn part(&self, layers: Range<usize>, periodic: bool) -> Layout<D> {
        let counts = self.cuts.regions();
        if layers == (0..counts[0]) {
            return self.clone();
        }
        let of_layer = self.regions.len() / counts[0].max(1);
        let regions = self.regions[layers.start * of_layer..layers.end * of_layer].to_vec();
        let mut cuts = (*self.cuts).clone();
        cuts.at[0] = cuts.at[0][layers.start..=layers.end].to_vec();
        let mut held = self.held;
        (held.lo[0], held.hi[0]) = match (regions.first(), regions.last()) {
            (Some(first), Some(last)) => (first.valid.lo[0], last.valid.hi[0]),
            _ => (0, 0),
        };
        let mut borders = self.borders;
        borders[0] = [periodic || layers.start > 0, periodic || layers.end < counts[0]];
        let wide = WideLayout::new(&regions);
        Layout { cuts: Arc::new(cuts), held, owned: held, borders, regions, wide, ..self.clone() }
    }

    /// The same part, which has so many planes beyond each border as cells. Nothing if they are too many bytes.
    pub(crate) fn overlapping(mut self, planes: usize) -> Option<Layout<D>> {
        let [low, high] = self.borders[0].map(|border| if border { planes as i64 } else { 0 });
        if let Some(first) = self.regions.first_mut() {
            first.valid.lo[0] -= low;
        }
        if let Some(last) = self.regions.last_mut() {
            last.valid.hi[0] += high;
        }
        for region in &mut self.regions {
            *region = Region::new(region.valid, self.ghost, &self.element)?;
        }
        (self.held.lo[0], self.held.hi[0]) = (self.held.lo[0] - low, self.held.hi[0] + high);
        self.wide = WideLayout::new(&self.regions);
        Some(self)
    }

    /// How many planes it has as cells that others own, below its own and above.
    pub(crate) fn overlap(&self) -> [i64; 2] {
        [self.owned.lo[0] - self.held.lo[0], self.held.hi[0] - self.owned.hi[0]]
    }

    /// Whether what lies beyond its borders are ghosts alone.
    pub(crate) fn has_bare_borders(&self) -> bool {
        self.is_part() && self.overlap() == [0, 0]
    }

    /// The cells of a region that are the part's own.
    pub(crate) fn own(&self, region: usize) -> GridBox<D> {
        self.regions[region].valid.intersect(&self.owned)
    }

    /// The same with the ghosts around them, which may be copies of cells.
    pub(crate) fn own_grown(&self, region: usize) -> GridBox<D> {
        self.own(region).grown(self.ghost.map(|g| g[0] as i64), self.ghost.map(|g| g[1] as i64))
    }

    /// Whether the planes beyond the borders of one side are those of the other end of the domain.
    pub(crate) fn wraps(&self, side: usize) -> bool {
        let end = if side == 0 { self.owned.lo[0] <= 0 } else { self.owned.hi[0] >= self.shape[0] as i64 };
        self.borders[0][side] && end
    }

    /// Whether some of its ends are no faces of the domain.
    pub(crate) fn is_part(&self) -> bool {
        self.borders.iter().flatten().any(|border| *border)
    }

    /// Whether what a region owns ends where all regions end, at a face of the domain or at a border.
    fn is_at_end(&self, valid: &GridBox<D>, axis: usize, side: usize) -> bool {
        match side {
            0 => valid.lo[axis] == self.held.lo[axis],
            _ => valid.hi[axis] == self.held.hi[axis],
        }
    }

    /// Whether what a region owns ends at a face of the domain.
    pub(crate) fn is_at_face(&self, valid: &GridBox<D>, axis: usize, side: usize) -> bool {
        self.is_at_end(valid, axis, side) && !self.borders[axis][side]
    }

    /// Whether what a region owns ends at a border.
    pub(crate) fn is_at_border(&self, valid: &GridBox<D>, axis: usize, side: usize) -> bool {
        self.is_at_end(valid, axis, side) && self.borders[axis][side]
    }

    /// A region's box, with the ghosts beyond those of its ends that `take` says.
    fn grown_at_ends(&self, number: usize, take: impl Fn(usize, usize) -> bool) -> GridBox<D> {
        let valid = self.regions[number].valid;
        let mut grown = valid;
        for axis in 0..D {
            let takes = |side| take(axis, side) && self.is_at_end(&valid, axis, side);
            if takes(0) {
                grown.lo[axis] -= self.ghost[axis][0] as i64;
            }
            if takes(1) {
                grown.hi[axis] += self.ghost[axis][1] as i64;
            }
        }
        grown
    }

    /// All values that are no ghosts beyond faces: those that regions own, and ghosts beyond borders.
    pub(crate) fn inside(&self) -> GridBox<D> {
        let mut inside = self.held;
        for axis in 0..D {
            if self.borders[axis][0] {
                inside.lo[axis] -= self.ghost[axis][0] as i64;
            }
            if self.borders[axis][1] {
                inside.hi[axis] += self.ghost[axis][1] as i64;
            }
        }
        inside
    }

    /// What region `number` owns, together with the ghosts beyond borders nearest to its values: these boxes of all
    /// regions cover [`Layout::inside`], each value once.
    pub(crate) fn inner(&self, number: usize) -> GridBox<D> {
        self.grown_at_ends(number, |axis, side| self.borders[axis][side])
    }

    /// What region `number` owns, together with the ghosts beyond faces nearest to its values.
    pub(crate) fn outer(&self, number: usize) -> GridBox<D> {
        self.grown_at_ends(number, |axis, side| !self.borders[axis][side])
    }

    /// The same of an array that is coded.
    pub(crate) fn coded(mut self, coding: Option<Arc<Coding>>) -> Self {
        self.coding = coding;
        self
    }

    /// How it is coded, if memory holds codes.
    pub(crate) fn codes(&self) -> Option<&Coding> {
        self.coding.as_deref().filter(|coding| !coding.packs())
    }

    /// How it is coded, if memory holds values that a store rounds.
    pub(crate) fn rounds(&self) -> Option<&Coding> {
        self.coding.as_deref().filter(|coding| coding.rounds())
    }

    /// All values of the domain, without ghosts.
    pub(crate) fn domain(&self) -> GridBox<D> {
        GridBox { lo: [0; D], hi: self.shape.map(|n| n as i64) }
    }

    /// Numbers of the regions whose own values (or the outer ghosts nearest to them) meet `cells`.
    pub(crate) fn owners(&self, cells: &GridBox<D>) -> impl Iterator<Item = usize> + use<D> {
        let counts = self.cuts.regions();
        let ranges: [Range<usize>; D] = std::array::from_fn(|d| {
            let owner = |at| owner(&self.cuts.at[d], self.centering[d], at);
            if cells.is_empty() { 0..0 } else { owner(cells.lo[d])..owner(cells.hi[d] - 1) + 1 }
        });
        let wide = GridBox { lo: std::array::from_fn(|d| ranges[d].start as i64), hi: ranges.map(|r| r.end as i64) };
        wide.points().map(move |at| (0..D).fold(0, |n, d| n * counts[d] + at[d] as usize))
    }

    /// The parts of a box inside the domain, each with the region that owns it.
    pub(crate) fn parts(&self, cells: &GridBox<D>) -> Vec<OfRegion> {
        let part = |region: usize| (region, self.regions[region].valid.intersect(cells).widen());
        self.owners(cells).map(part).collect()
    }

    /// What region `number` owns, together with the ghosts nearest to its values beyond faces and borders: these boxes
    /// of all regions cover everything, each cell once.
    pub(crate) fn realm(&self, number: usize) -> GridBox<D> {
        self.grown_at_ends(number, |_, _| true)
    }

    /// Memory of a region, as views see it; all of it, ghosts included, may be accessed.
    pub(crate) fn raw(&self, storage: &Storage, region: usize) -> Raw<D> {
        let Region { grown, origin, strides, cells, .. } = self.regions[region];
        Raw { base: storage.base(region), cells, origin, strides, bounds: grown }
    }
}

impl<const D: usize> Region<D> {
    /// The memory layout of a region that owns `valid`; nothing if it has too many bytes.
    ///
    /// The first valid value of each row starts at a multiple of 128 bytes. The high ghosts of a row and the low ones
    /// of the next share the padding between them.
    pub(super) fn new(valid: GridBox<D>, ghost: [[usize; 2]; D], element: &ElementType) -> Option<Region<D>> {
        let grown = valid.grown(ghost.map(|g| g[0] as i64), ghost.map(|g| g[1] as i64));
        let line = ALIGN / element.smallest_component();
        let largest = element.component_types().iter().map(|s| s.size()).max().unwrap_or(1);
        let extent = grown.extent();
        let lead = ghost[D - 1][0].checked_next_multiple_of(line)?;
        let mut strides = [1; D];
        let mut stride = 1usize;
        for d in (0..D).rev() {
            strides[d] = stride;
            let next = stride.checked_mul(extent[d])?.checked_next_multiple_of(line)?;
            // Rows (planes) that all fall into the same sets of the cache would push each other out.
            stride = if next.checked_mul(largest)? % CACHE_WAY == 0 { next.checked_add(line)? } else { next };
        }
        let reach = (0..D).try_fold(0usize, |n, d| n.checked_add((extent[d] - 1).checked_mul(strides[d])?))?;
        let skip = lead - ghost[D - 1][0];
        let mut cells = reach.checked_add(skip)?.checked_add(1)?.checked_next_multiple_of(ALIGN)?;
        if element.components() > 1 && cells.checked_mul(largest)? % CACHE_WAY == 0 {
            cells = cells.checked_add(ALIGN)?;
        }
        let mut origin = grown.lo;
        origin[D - 1] = valid.lo[D - 1] - lead as i64;
        Some(Region { valid, grown, origin, strides, cells })
    }

    /// Bytes of all planes.
    pub(crate) fn bytes(&self, element: &ElementType) -> Option<usize> {
        self.cells.checked_mul(element.bytes()).filter(|bytes| *bytes <= isize::MAX as usize)
    }

    /// Position of a coordinate of `grown` inside a plane.
    #[inline(always)]
    pub(crate) fn position(&self, at: [i64; D]) -> usize {
        (0..D).map(|d| (at[d] - self.origin[d]) as usize * self.strides[d]).sum()
    }
}

/// Memory of one region: where it starts, and how a global coordinate becomes a position.
#[derive(Clone, Copy, Debug)]
pub struct Raw<const D: usize> {
    /// First byte of the first component's plane.
    pub base: *mut u8,
    /// Elements in a plane.
    pub cells: usize,
    /// Global coordinate of position 0.
    pub origin: [i64; D],
    /// Elements from one coordinate to the next; the last is 1.
    pub strides: [usize; D],
    /// The coordinates that may be accessed.
    pub bounds: GridBox<D>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::element::Element;

    fn cuts<const D: usize>(at: [Vec<i64>; D]) -> Arc<Cuts<D>> {
        Arc::new(Cuts { cells: std::array::from_fn(|d| *at[d].last().unwrap() as usize), at })
    }

    #[test]
    fn rows_are_aligned_and_apart() {
        let at = [vec![0, 3, 5], vec![0, 4], vec![0, 64, 512]];
        for (element, sizes) in
            [(f64::TYPE, vec![8]), (u8::TYPE, vec![1]), (f32::TYPE, vec![4]), (<[f32; 3]>::TYPE, vec![4, 4, 4])]
        {
            for last in [[0, 0], [1, 1], [3, 0], [0, 2]] {
                let ghost = [[1, 2], [0, 1], last];
                let layout = Layout::new(cuts(at.clone()), [Centering::Cell; 3], ghost, &element).unwrap();
                for r in &layout.regions {
                    assert_eq!(r.cells % 128, 0);
                    let mut seen = std::collections::HashSet::new();
                    for at in r.grown.points() {
                        let position = r.position(at);
                        assert!(position < r.cells && seen.insert(position), "{at:?} {r:?}");
                    }
                    for size in &sizes {
                        let mut at = r.valid.lo;
                        for k in r.grown.lo[0]..r.grown.hi[0] {
                            at[0] = k;
                            assert_eq!(r.position(at) * size % 128, 0);
                        }
                        assert_eq!(r.strides[1] * size % 128, 0);
                        assert_ne!(r.strides[1] * size % 4096, 0);
                    }
                }
            }
        }
    }

    #[test]
    fn every_value_has_one_owner() {
        for centering in [Centering::Cell, Centering::Face] {
            let layout = Layout::new(cuts([vec![0, 1, 2, 5]]), [centering], [[1, 1]], &f64::TYPE).unwrap();
            for at in -1..layout.shape[0] as i64 + 1 {
                let one = GridBox::new([at], [at + 1]);
                let owners: Vec<_> = layout.owners(&one).collect();
                let realms: Vec<_> = (0..3).filter(|r| layout.realm(*r).contains([at])).collect();
                assert_eq!(owners, realms);
                assert_eq!(owners.len(), 1);
            }
        }
    }

    #[test]
    fn too_large_is_an_error() {
        let n = 1i64 << 40;
        let e = Layout::new(cuts([vec![0, n], vec![0, n]]), [Centering::Cell; 2], [[0; 2]; 2], &u8::TYPE);
        assert_eq!(e.unwrap_err(), LayoutError::Overflow);
        let e = Layout::new(cuts([vec![0, n], vec![0, 1 << 21]]), [Centering::Cell; 2], [[0; 2]; 2], &f64::TYPE);
        assert_eq!(e.unwrap_err(), LayoutError::Overflow);
    }

    /// Parts of an array own what the array owns, at the same coordinates, and know faces from borders.
    #[test]
    fn parts_end_in_faces_and_borders() {
        let cut = Cuts { cells: [10, 64], at: [vec![0, 3, 5, 10], vec![0, 64]] };
        let ghost = [[1, 2], [1, 1]];
        let whole = Layout::new(Arc::new(cut), [Centering::Face, Centering::Cell], ghost, &f64::TYPE).unwrap();
        assert!(!whole.is_part() && whole.inside() == whole.domain());
        for periodic in [false, true] {
            let parts = [whole.part(0..2, periodic), whole.part(2..3, periodic)];
            let regions: Vec<_> = parts.iter().flat_map(|part| part.regions.clone()).collect();
            assert_eq!(regions, whole.regions);
            let [low, high] = parts;
            assert_eq!((low.held.lo[0]..low.held.hi[0], high.held.lo[0]..high.held.hi[0]), (0..6, 6..11));
            assert_eq!((low.domain(), low.shape), (whole.domain(), whole.shape));
            let wide = high.clone().overlapping(2).unwrap();
            assert_eq!(
                (wide.overlap(), wide.held.lo[0], wide.owned),
                ([2, if periodic { 2 } else { 0 }], 4, high.owned)
            );
            assert_eq!((wide.own(0), wide.regions[0].grown.lo[0]), (high.regions[0].valid, 3));
            assert!(high.has_bare_borders() && !wide.has_bare_borders() && !wide.wraps(0) && wide.wraps(1) == periodic);
            assert_eq!((low.borders[0], high.borders[0]), ([periodic, true], [true, periodic]));
            assert_eq!(low.is_at_face(&low.regions[0].valid, 0, 0), !periodic);
            assert!(!low.is_at_face(&low.regions[1].valid, 0, 1) && low.is_at_face(&low.regions[1].valid, 1, 1));
            assert_eq!(low.inside().lo[0]..low.inside().hi[0], if periodic { -1..8 } else { 0..8 });
            assert_eq!((low.inner(1).hi[0], low.realm(1).lo[1], high.realm(0).lo[0]), (8, -1, 5));
            assert_eq!(low.owners(&GridBox { lo: [4, 0], hi: [8, 1] }).collect::<Vec<_>>(), [1]);
            assert_eq!(high.owners(&GridBox { lo: [5, 0], hi: [9, 1] }).collect::<Vec<_>>(), [0]);
        }
        assert!(!whole.part(0..3, true).is_part());
    }
}
