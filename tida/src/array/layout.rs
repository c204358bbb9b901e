//! How an array is cut: shape, regions, ghosts, centring.

use std::sync::Arc;

use super::element::Element;
use super::grid_box::GridBox;

/// Where values sit along one axis. An array centred on faces along every axis is centred on nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Centering {
    /// In the middle of cells.
    #[default]
    Cell,
    /// On the faces between cells: one more value than cells. A face shared by two regions belongs to the lower one.
    Face,
}

/// What the ghost cells outside one face of the domain hold after `fill_ghosts`.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Left as it is: the user fills it.
    Open,
}

/// Boundaries of all faces: `[axis][0]` is the low one.
pub(crate) type Boundaries<T, const D: usize> = [[Boundary<T>; 2]; D];

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
    /// Regions, row-major.
    pub regions: Vec<Region<D>>,
}

/// Keeps `Element` in use until boundaries are built here.
#[allow(dead_code)]
fn marker<T: Element>() {}
