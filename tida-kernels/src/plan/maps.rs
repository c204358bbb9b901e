//! Tiles that one thread orders as boxes of a tensor map (TMA of sm_90), for [`Cache::Tma`].

use std::collections::BTreeSet;

use super::cache::{Cache, Scope, Sharing, Tile, Walk};
use super::{Dialect, Plan};
use crate::element::ScalarType;
use crate::ir::{Access, Kernel};

/// Most cells of a box along an axis.
const LONGEST: i64 = 256;
/// Bytes at whose multiples boxes start in shared memory.
const PLACE: i64 = 128;
/// Bytes of which the rows of a box have whole ones.
const ROW: i64 = 16;
/// Shared memory beside the tiles of an argument: to start at multiples of [`PLACE`], and two barriers of 8 bytes.
pub(super) const BESIDE: u64 = 128;

/// An argument whose strips are boxes of a tensor map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// The argument: a whole array with one region. A map of an element of several components has one axis more, before
    /// the others, along which their planes lie.
    pub arg: usize,
    /// Components of an element.
    pub components: usize,
    /// Bytes of a component.
    pub size: usize,
    /// Cells of a box along each axis of the argument.
    pub extent: Vec<i64>,
    /// Boxes of a strip.
    pub boxes: usize,
}

impl Map {
    /// Bytes that a strip brings.
    pub fn bytes(&self) -> i64 {
        self.extent.iter().product::<i64>() * (self.size * self.boxes) as i64
    }

    /// Axes of the map.
    pub fn rank(&self) -> usize {
        self.extent.len() + usize::from(self.components > 1)
    }
}

impl Sharing {
    /// The arguments that a plan fetches by tensor maps.
    pub fn maps(&self, kernel: &Kernel, plan: &Plan) -> Vec<Map> {
        maps(&self.planned(kernel, plan), kernel, plan)
    }
}

/// As [`Sharing::maps`], of scopes that a plan has tiles for.
pub fn maps(scopes: &[Scope], kernel: &Kernel, plan: &Plan) -> Vec<Map> {
    let mut found = Vec::new();
    for cached in plan.cache.iter().filter(|cached| cached.how == Cache::Tma && !cached.cut) {
        let tiles = scopes.iter().flat_map(|scope| scope.tiles.iter().map(move |tile| (scope.walk.as_ref(), tile)));
        let mut mine = tiles.filter(|(_, tile)| tile.arg == usize::from(cached.arg));
        // A map is for boxes of one shape.
        if let (Some((Some(walk), tile)), None) = (mine.next(), mine.next()) {
            found.extend(map(walk, tile, kernel, plan));
        }
    }
    found
}

/// The map of a tile, if it can have one: boxes bring bytes as they lie in memory.
fn map(walk: &Walk, tile: &Tile, kernel: &Kernel, plan: &Plan) -> Option<Map> {
    let arg = kernel.args.get(tile.arg).filter(|arg| arg.access == Access::All && plan.dialect == Dialect::Cuda)?;
    let types = arg.element.component_types();
    let alike: BTreeSet<ScalarType> = types.iter().copied().collect();
    let size = alike.first().filter(|ty| alike.len() == 1 && matches!(ty.size(), 4 | 8))?.size();
    let extent = tile.extent(Some(walk), kernel.rank, plan.span(), plan.width);
    let row = *extent.last()?;
    let bytes = size as i64 * extent.iter().product::<i64>();
    let dense = tile.row(Some(walk), (kernel.rank, plan.span()), &extent) == row;
    let whole = row * size as i64 % ROW == 0 && bytes % PLACE == 0;
    let short = extent.iter().all(|cells| (1..=LONGEST).contains(cells));
    let map = Map { arg: tile.arg, components: types.len(), size, extent, boxes: tile.components.len() };
    (dense && whole && short && tile.codecs.is_empty()).then_some(map)
}
