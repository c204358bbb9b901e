//! Arrays that are cut along their first axis alone, on a device: one row of planes.
//!
//! Each region's memory on the host has its own ghosts. On a device the planes of all regions lie one after the other,
//! and a region's ghosts between regions are the planes of its neighbours: nothing has to be copied there when ghosts
//! are filled, and boxes of neighbouring regions go in one launch. Where such ghosts must differ from the cells beside
//! them, the array is taken apart: see `Core::separate`.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::element::ElementType;

use super::layout::{Cuts, Layout, Region, WideLayout, WideRegion};

/// How an array's regions lie in one row.
#[derive(Debug)]
pub(crate) struct Row {
    /// The regions as kernels see them: a component's values are as far apart as in the whole row.
    pub layout: Arc<WideLayout>,
    /// The row as one region.
    pub whole: Arc<WideLayout>,
    /// Values of each component.
    pub cells: usize,
    /// Bytes of a component's value, and of the components before it.
    components: SmallVec<[(usize, usize); 4]>,
    regions: Vec<Member>,
}

/// A region of a row.
#[derive(Debug)]
struct Member {
    /// Values before its first one.
    start: usize,
    /// Values of each component on the host.
    cells: usize,
    /// Those of them that are no ghosts between regions.
    own: Range<usize>,
}

/// Bytes that lie together on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// From the start of the region's block.
    pub host: usize,
    /// From the start of the device's memory.
    pub device: usize,
    pub bytes: usize,
}

/// The layout of the same array as one region.
pub(super) fn whole<const D: usize>(layout: &Layout<D>, element: &ElementType) -> Option<Layout<D>> {
    let ends = |at: &Vec<i64>| at.first().into_iter().chain(at.last()).copied().collect();
    let cuts = Arc::new(Cuts { cells: layout.cuts.cells, at: layout.cuts.at.each_ref().map(ends) });
    let regions = vec![Region::new(layout.held, layout.ghost, element)?];
    let wide = WideLayout::new(&regions);
    Some(Layout { cuts, regions, wide, element: *element, ..layout.clone() })
}

impl Row {
    /// The row of an array, if it is cut along its first axis alone, has another, and components of one size.
    pub fn new<const D: usize>(layout: &Layout<D>, element: &ElementType) -> Option<Row> {
        let counts = layout.cuts.regions();
        let size = element.component_types().first()?.size();
        if D < 2
            || layout.has_bare_borders()
            || counts[0] < 2
            || counts[1..].iter().any(|n| *n != 1)
            || element.component_types().iter().any(|ty| ty.size() != size)
        {
            return None;
        }
        let whole = whole(layout, element)?;
        let row = whole.regions.first()?;
        let last = layout.regions.len() - 1;
        let mut regions = Vec::with_capacity(layout.regions.len());
        for (number, region) in layout.regions.iter().enumerate() {
            if region.strides != row.strides || region.origin[1..] != row.origin[1..] {
                return None;
            }
            let stride = region.strides[0];
            let skip = (region.grown.lo[D - 1] - region.origin[D - 1]) as usize;
            let at = |plane: i64| (plane - region.origin[0]) as usize * stride + skip;
            let start = (region.origin[0] - row.origin[0]) as usize * stride;
            let cells = region.cells.min(row.cells - start);
            let first = if number == 0 { 0 } else { at(region.valid.lo[0]) };
            let end = if number == last { cells } else { at(region.valid.hi[0]).min(cells) };
            regions.push(Member { start, cells: region.cells, own: first..end });
        }
        let widened = layout.wide.regions.iter().map(|region| WideRegion {
            valid: region.valid,
            grown: region.grown,
            origin: region.origin,
            strides: region.strides,
            cells: row.cells as i64,
        });
        let wide = WideLayout { regions: widened.collect(), largest: layout.wide.largest };
        let components = element.placed_components().map(|(ty, before)| (ty.size(), before)).collect();
        Some(Row { layout: Arc::new(wide), whole: whole.wide.clone(), cells: row.cells, components, regions })
    }

    /// Bytes of the row.
    pub fn bytes(&self) -> usize {
        self.cells * self.components.iter().map(|(size, _)| size).sum::<usize>()
    }

    /// Where a region's first component starts, in bytes.
    pub fn offset(&self, region: usize) -> usize {
        self.place(region, 0, self.components.first().map_or(1, |(size, _)| *size), 0)
    }

    /// Where a value of a region is, in bytes: number `value` of the component of `size` bytes after `before` others.
    pub fn place(&self, region: usize, before: usize, size: usize, value: usize) -> usize {
        self.cells * before + (self.regions[region].start + value) * size
    }

    /// Values of a component from where a region starts, of those that its memory on the host has: the row may end
    /// before.
    pub fn cells_of(&self, region: usize) -> usize {
        let of = &self.regions[region];
        of.cells.min(self.cells - of.start)
    }

    /// A region's bytes on both sides: of the planes that are its own, and of its ghosts between regions too if these
    /// are asked for. Those are pieces of their own: who writes the neighbours may tear them.
    pub(crate) fn pieces(&self, region: usize, ghosts: bool) -> SmallVec<[Piece; 4]> {
        let of = &self.regions[region];
        let end = self.cells_of(region);
        let values = match ghosts {
            true => [0..of.own.start, of.own.clone(), of.own.end..end],
            false => [0..0, of.own.clone(), 0..0],
        };
        let piece = |(size, before): (usize, usize), values: &Range<usize>| Piece {
            host: of.cells * before + values.start * size,
            device: self.place(region, before, size, values.start),
            bytes: values.len() * size,
        };
        let all = self.components.iter().flat_map(|component| values.iter().map(|values| piece(*component, values)));
        all.filter(|piece| piece.bytes > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::GridBox;
    use crate::memory::element::Element;
    use crate::memory::layout::Centering;

    fn layout(element: &ElementType, planes: i64, regions: i64, ghost: [[usize; 2]; 3]) -> Layout<3> {
        let at = [(0..=regions).map(|r| r * planes / regions).collect(), vec![0, 5], vec![0, 70]];
        let cuts = Arc::new(Cuts { cells: [planes as usize, 5, 70], at });
        Layout::new(cuts, [Centering::Cell; 3], ghost, element).unwrap()
    }

    #[test]
    fn a_cell_has_one_place_in_whatever_region_it_is_seen() {
        for element in [f64::TYPE, f32::TYPE, <[f32; 3]>::TYPE] {
            for ghost in [[[1, 2], [0, 1], [1, 1]], [[0, 0], [1, 1], [2, 0]], [[2, 2], [2, 2], [2, 2]]] {
                let layout = layout(&element, 13, 4, ghost);
                let (row, whole) = (Row::new(&layout, &element).unwrap(), whole(&layout, &element).unwrap());
                assert_eq!(row.bytes(), whole.regions[0].cells * element.bytes());
                for (number, region) in layout.regions.iter().enumerate() {
                    for at in region.grown.points() {
                        for (ty, before) in element.placed_components() {
                            let place = row.place(number, before, ty.size(), region.position(at));
                            let position = whole.regions[0].position(at);
                            assert_eq!(place, whole.regions[0].cells * before + position * ty.size());
                        }
                    }
                    assert_eq!(row.layout.regions[number].cells as usize, whole.regions[0].cells);
                }
            }
        }
    }

    #[test]
    fn own_pieces_make_the_row_and_hold_their_planes() {
        let element = <[f32; 3]>::TYPE;
        let layout = layout(&element, 13, 4, [[2, 1], [0, 1], [1, 1]]);
        let row = Row::new(&layout, &element).unwrap();
        let mut taken = vec![0; row.bytes()];
        for (number, region) in layout.regions.iter().enumerate() {
            let (own, all) = (row.pieces(number, false), row.pieces(number, true));
            assert_eq!(own.len(), 3);
            for piece in &own {
                taken[piece.device..piece.device + piece.bytes].iter_mut().for_each(|times| *times += 1);
            }
            let mut host = vec![0; region.cells * element.bytes()];
            for piece in &all {
                host[piece.host..piece.host + piece.bytes].iter_mut().for_each(|times| *times += 1);
                assert!(piece.device + piece.bytes <= row.bytes());
            }
            assert!(own.iter().all(|piece| all.contains(piece)) && host.iter().all(|times| *times < 2));
            let holds = |pieces: &[Piece], cells: &GridBox<3>| {
                cells.points().all(|at| {
                    let host = region.cells * 4 + region.position(at) * 4;
                    pieces.iter().any(|piece| (piece.host..piece.host + piece.bytes).contains(&host))
                })
            };
            assert!(holds(&own, &layout.realm(number)) && holds(&all, &region.grown));
        }
        // What no piece has is padding at the end.
        assert!(taken.iter().all(|times| *times < 2));
        let ends: Vec<usize> = (0..3).map(|n| row.pieces(3, false)[n]).map(|p| p.device + p.bytes).collect();
        assert!(ends.iter().zip(1..).all(|(end, n)| row.cells * 4 * n - end < 128 * 4));
    }

    #[test]
    fn arrays_alike_share_their_row() {
        let acc = crate::acc::TileAcc::builder().simulate(crate::SimDevice::new()).threads(1).build().unwrap();
        let u = crate::array::TileArray::<f64, 2>::builder([64, 8]).regions([32, 1]).ghost(1).build(&acc).unwrap();
        let v = u.like().unwrap();
        let layouts = [&u, &v].map(|array| &array.storage.row().unwrap().layout);
        // Kernels then have one position for both: lists of regions so long are not compared.
        assert!(layouts[0].same(layouts[1]));
    }

    #[test]
    fn other_arrays_have_no_row() {
        let ghost = [[1, 1]; 3];
        assert!(Row::new(&layout(&f64::TYPE, 13, 1, ghost), &f64::TYPE).is_none());
        let cuts = Arc::new(Cuts { cells: [8, 8], at: [vec![0, 8], vec![0, 4, 8]] });
        let across = Layout::new(cuts, [Centering::Cell; 2], [[1, 1]; 2], &f64::TYPE).unwrap();
        assert!(Row::new(&across, &f64::TYPE).is_none());
        let cuts = Arc::new(Cuts { cells: [128], at: [vec![0, 64, 128]] });
        let line = Layout::new(cuts, [Centering::Cell], [[1, 1]], &f64::TYPE).unwrap();
        assert!(Row::new(&line, &f64::TYPE).is_none());
    }
}
