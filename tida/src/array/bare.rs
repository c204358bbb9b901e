//! New arrays, whatever their element: their memory, what is recorded of it, and their parts on several places.

use std::ops::Range;
use std::sync::Arc;

use tida_kernels::scalar::Value;

use super::TileArray;
use super::places::{PartOf, Placed};
use super::strips::Route;
use super::untyped::Untyped;
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::memory::ages::Ages;
use crate::memory::coding::Coding;
use crate::memory::copies::Copies;
use crate::memory::element::Element;
use crate::memory::ghosts::borders::StripFault;
use crate::memory::ghosts::planes::{Planar, planar};
use crate::memory::ghosts::regions::{Regional, regional};
use crate::memory::layout::{Boundaries, Boundary, Kinds, Layout};
use crate::memory::row::Row;
use crate::memory::rows::Shared;
use crate::memory::storage::Storage;
use crate::memory::tracker::Tracker;
use crate::parallel;

/// An array on one place, or one that lies on several without its parts.
pub(super) struct Bare<const D: usize> {
    acc: TileAcc,
    layout: Arc<Layout<D>>,
    storage: Arc<Storage>,
    tracker: Arc<Tracker>,
}

/// An array, and where it lies on several places its parts and how it lies.
pub(super) type Parted<const D: usize> = (Bare<D>, Vec<Bare<D>>, Option<Placed<D>>);

/// What is known of an array's ghosts as they are filled.
type Ghosts<'a> = (&'a Arc<Ages>, Option<Arc<Planar>>, Option<Arc<Regional>>);

impl<T: Element, const D: usize> TileArray<T, D> {
    /// An array of elements.
    pub(super) fn of_bare(bare: Bare<D>, boundaries: &Arc<Boundaries<T, D>>) -> TileArray<T, D> {
        let Bare { acc, layout, storage, tracker } = bare;
        let (parts, placed) = (Vec::new(), None);
        TileArray { acc, layout, boundaries: boundaries.clone(), storage, tracker, parts, placed }
    }

    /// An array of elements, perhaps on several places.
    pub(super) fn of_parted((bare, parts, placed): Parted<D>, boundaries: &Arc<Boundaries<T, D>>) -> TileArray<T, D> {
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            all.push(TileArray::of_bare(part, boundaries));
        }
        TileArray { parts: all, placed: placed.map(Arc::new), ..TileArray::of_bare(bare, boundaries) }
    }
}

impl<const D: usize> Bare<D> {
    /// An array whose regions have the memory that `memory` says.
    ///
    /// # Errors
    /// Memory that the system does not have.
    fn new(
        acc: &TileAcc,
        layout: &Arc<Layout<D>>,
        memory: &Layout<D>,
        row: Option<Arc<Row>>,
        (ages, planar, regional): Ghosts<'_>,
    ) -> Result<Bare<D>, Error> {
        let storage = Arc::new(allocate(acc, memory, row)?);
        let tracker = Tracker::new(memory, &storage, ages.clone(), planar, regional);
        Ok(Bare { acc: acc.clone(), layout: layout.clone(), storage, tracker })
    }

    /// An array, or a part of one, on one place.
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub fn here(
        acc: &TileAcc,
        layout: &Arc<Layout<D>>,
        boundaries: &Arc<Kinds<D>>,
        ages: &Arc<Ages>,
    ) -> Result<Bare<D>, Error> {
        // Where both sides work, each has regions whose ghosts the other may not have.
        let one_side = acc.core().device.is_some() && !acc.is_hybrid();
        let row = if one_side { Row::new(layout, &layout.element).map(Arc::new) } else { None };
        let regional = regional(layout, boundaries);
        let planar = planar(layout, boundaries, regional.as_ref());
        Bare::new(acc, layout, layout, row, (ages, planar, regional))
    }

    /// Its planes, if it is cut along its first axis alone.
    pub fn planar(&self) -> Option<&Planar> {
        self.tracker.planar().map(|planar| &**planar)
    }

    /// Puts parts on the places of an accelerator, of these layers of regions each.
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub fn of_places(
        acc: &TileAcc,
        layout: Layout<D>,
        boundaries: &Arc<Kinds<D>>,
        (layers, overlap): (&[Range<usize>], usize),
    ) -> Result<Parted<D>, Error> {
        let (layout, ages) = (Arc::new(layout), Arc::<Ages>::default());
        // Without ghosts there is nothing beyond faces, and other arrays of a loop may be periodic.
        let periodic = boundaries.any(0, 0, |boundary| matches!(boundary, Boundary::Periodic))
            || (overlap > 0 && layout.ghost[0] == [0, 0]);
        let of_layer = layout.regions.len() / layout.cuts.regions()[0].max(1);
        let nothing = Arc::new(layout.part(0..0, false));
        let (mut parts, mut places) = (Vec::new(), Vec::new());
        let (here, mut regions) = (acc.places_here(), None);
        for (place, layers) in layers.iter().enumerate() {
            let part = Layout { part: place, ..layout.part(layers.clone(), periodic) };
            let layout = Arc::new(part.overlapping(overlap).ok_or_else(too_large)?);
            let first = layers.start * of_layer;
            if here.contains(&place) {
                let acc = &acc.places()[place - here.start];
                parts.push(Bare::here(acc, &layout, boundaries, &ages)?);
                let start = regions.map_or(first, |regions: Range<usize>| regions.start);
                regions = Some(start..layers.end * of_layer);
            } else {
                parts.push(Bare::new(&acc.places()[0], &layout, &nothing, None, (&ages, None, None))?);
            }
            places.push(PartOf { place, layout, first });
        }
        let layouts: Vec<_> = places.iter().map(|part| part.layout.clone()).collect();
        if overlap > 0 {
            let borders = layouts.iter().map(|part| part.borders[0]).collect();
            let parts_here = here.start.min(layouts.len())..here.end.min(layouts.len());
            ages.hold_copies(Copies::new(borders, parts_here, overlap, acc.strip_fault() == Some(StripFault::Deep)));
        }
        let routes = Route::all(&layouts, boundaries, acc.strip_fault());
        let array = Bare::new(acc, &layout, &nothing, None, (&ages, None, None))?;
        let (here, is_on_ranks) = (regions.unwrap_or(0..0), acc.ranks() > 1);
        let placed = Placed { parts: places, everywhere: false, routes, here, is_on_ranks };
        Ok((array, parts, Some(placed)))
    }

    /// Puts all of an array on each place of an accelerator: of several ranks, on those of this one.
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub fn on_all_places(acc: &TileAcc, layout: Layout<D>, boundaries: &Arc<Kinds<D>>) -> Result<Parted<D>, Error> {
        let (layout, ages) = (Arc::new(layout), Arc::default());
        let here = |acc: &TileAcc| Bare::here(acc, &layout, boundaries, &ages);
        let parts = acc.places().iter().map(here).collect::<Result<Vec<_>, _>>()?;
        let place = |place: usize| PartOf { place, layout: layout.clone(), first: 0 };
        let placed = Placed {
            parts: acc.places_here().map(place).collect(),
            everywhere: true,
            routes: Vec::new(),
            here: 0..layout.regions.len(),
            is_on_ranks: false,
        };
        let nothing = Arc::new(layout.part(0..0, false));
        let array = Bare::new(acc, &layout, &nothing, None, (&ages, None, None))?;
        Ok((array, parts, Some(placed)))
    }
}

fn too_large() -> Error {
    let found = "more bytes than an address can count";
    Error::new(ErrorKind::Shape, "build an array on several places", found, "hold fewer planes (`.overlap(..)`)")
}

impl<const D: usize> Untyped<'_, D> {
    /// An array of zeros that lies as this one does, with these ages, without parts if this one has any.
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub fn like(&self, has_parts: bool, layout: &Arc<Layout<D>>, ages: &Arc<Ages>) -> Result<Bare<D>, Error> {
        let (planar, regional) = (self.tracker.planar().cloned(), self.tracker.regional().cloned());
        // What lies on several places, or on another rank, has no memory.
        let is_here = !has_parts && self.storage.regions() > 0;
        let memory = if is_here { layout.clone() } else { Arc::new(self.layout.part(0..0, false)) };
        Bare::new(self.acc, layout, &memory, self.storage.shared_row(), (ages, planar, regional))
    }
}

/// Memory for the regions of an array, which on a device lie in a row if there is one.
///
/// # Errors
/// Memory that the system does not have.
fn allocate<const D: usize>(acc: &TileAcc, layout: &Layout<D>, row: Option<Arc<Row>>) -> Result<Storage, Error> {
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
