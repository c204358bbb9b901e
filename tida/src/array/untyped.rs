//! What is done with arrays whatever their element: compiled once for a number of axes, and not for each element.
//!
//! Who knows the element gives what reads or writes the cells of one row.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tida_kernels::element::ElementType;

use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::grid::{GridBox, narrow};
use crate::memory::layout::Layout;
use crate::memory::parts::{OfRegion, PackedBox};
use crate::memory::rows::{Row, Shared, each_owned_row, each_row};
use crate::memory::slab::each_slab;
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Touch, Tracker};

/// Cells that are copied on the calling thread: another one takes as long to wake.
const FEW: usize = 1 << 14;

/// An array that lies on one place, or a part of one.
#[derive(Clone, Copy)]
pub(super) struct Untyped<'a, const D: usize> {
    pub acc: &'a TileAcc,
    pub layout: &'a Layout<D>,
    pub storage: &'a Storage,
    pub tracker: &'a Arc<Tracker>,
    /// What it is of, which is not what memory holds where that is codes.
    pub element: &'static ElementType,
}

/// Takes the values of a row that starts at a cell.
pub(super) type Take<'a, const D: usize> = &'a (dyn Fn(Row<'_>, [i64; D]) + Sync);

/// Sets the values of a row that starts at a cell; gives how many saturated.
pub(super) type Set<'a, const D: usize> = &'a (dyn Fn(Row<'_>, [i64; D]) -> u64 + Sync);

/// Is given the number of a box, and the start and length of one of its rows.
type OfPart<'a, const D: usize> = &'a (dyn Fn(usize, [i64; D], usize) + Sync);

impl<const D: usize> Untyped<'_, D> {
    /// A touch of one region, or of all.
    pub fn touch(&self, region: Option<usize>, mode: Mode) -> Touch {
        Touch::new(self.tracker, region, mode)
    }

    /// Touches of the regions of parts.
    pub fn touches(&self, parts: &[OfRegion], mode: &dyn Fn(&OfRegion) -> Mode) -> Vec<Touch> {
        parts.iter().map(|part| self.touch(Some(part.0), mode(part))).collect()
    }

    /// Whether it is all that a region owns.
    pub fn is_all(&self, (region, cells): &OfRegion) -> bool {
        self.layout.wide.regions[*region].valid == *cells
    }

    /// Whether the region comes to the host for it: where it is all of that, or has ghosts between regions that have no
    /// memory of their own on the device.
    fn comes_whole(&self, part: &OfRegion) -> bool {
        let realm = || self.layout.realm(part.0).widen();
        self.is_all(part) || (self.storage.stays_in_row() && !realm().contains_box(&part.1))
    }

    /// The parts whose regions come to the host, and those that are read or written where they are.
    fn parted(&self, parts: &[OfRegion]) -> [Vec<OfRegion>; 2] {
        let (whole, boxes) = parts.iter().partition(|part| self.comes_whole(part));
        [whole, boxes]
    }

    /// Waits until parts of regions may be read; tells them apart by how they come.
    ///
    /// # Errors
    /// Failed work that their values need.
    #[track_caller]
    pub fn wait_for_parts(&self, parts: &[OfRegion]) -> Result<[Vec<OfRegion>; 2], Error> {
        let owns = |part: &OfRegion| self.layout.wide.regions[part.0].valid.contains_box(&part.1);
        let touches = self.touches(parts, &|part| if owns(part) { Mode::Look } else { Mode::Read });
        let [whole, boxes] = self.parted(parts);
        self.acc.wait_in_place(&touches, boxes.is_empty())?;
        self.storage.warn();
        Ok([whole, boxes])
    }

    /// Reads parts of regions that were [waited](Self::wait_for_parts) for, row by row.
    ///
    /// # Errors
    /// What the device or the disk refuses.
    pub fn take_parts(&self, [whole, boxes]: [Vec<OfRegion>; 2], take: Take<'_, D>) -> Result<(), Error> {
        let (layout, mut here) = (self.layout, whole);
        if let Some(device) = &self.acc.core().device {
            if !here.is_empty() {
                self.acc.bring(&self.touches(&here, &|_| Mode::Read))?;
            }
            let array = (&*layout.wide, &layout.element);
            let mut packed = |parts: &[PackedBox], passage: *mut u8| {
                let passage = Shared::new(passage);
                self.each_part(parts.iter().map(|part| part.cells).collect(), &|number, at, length| {
                    // SAFETY: all of the part is in the passage.
                    take(unsafe { Row::packed(layout, &parts[number], passage.get(), at, length) }, at);
                });
            };
            if !boxes.is_empty() {
                device.backend().caught_up();
                // SAFETY: the array has this layout; as for rows.
                let fetch = || unsafe { self.storage.fetch_boxes(device, array, &boxes, &mut packed) };
                here.extend(self.acc.core().for_host(fetch)?);
            }
        } else {
            here.extend(boxes);
        }
        if let Some(backing) = self.storage.backing() {
            let mut take = |slab: &Layout<D>, memory: &Storage, _: usize, cells: GridBox<4>| {
                self.each_part(vec![cells], &|_, at, length| {
                    // SAFETY: the row is in the slab.
                    take(unsafe { Row::new(slab, memory, 0, at, length) }, at);
                });
                Ok(())
            };
            // SAFETY: the array has this layout; as for rows.
            return unsafe { each_slab((layout, self.storage, backing), &here, false, &mut take) };
        }
        here.iter().for_each(|(region, _)| self.storage.unpack(*region));
        self.each_part(here.iter().map(|(_, cells)| *cells).collect(), &|number, at, length| {
            // SAFETY: the row is in the region.
            take(unsafe { Row::new(layout, self.storage, here[number].0, at, length) }, at);
        });
        Ok(())
    }

    /// Sets parts of regions, row by row, once recorded work on them has run.
    ///
    /// # Errors
    /// Failed work that touches the parts, what the device or the disk refuses, or values that saturate.
    #[track_caller]
    pub fn set_parts(&self, parts: &[OfRegion], set: Set<'_, D>) -> Result<(), Error> {
        let how = |part: &OfRegion| if self.is_all(part) { Mode::Overwrite } else { Mode::Update };
        self.acc.wait_in_place(&self.touches(parts, &how), false)?;
        self.tracker.ages.cells_written();
        let [whole, boxes] = self.parted(parts);
        let (layout, saturated) = (self.layout, AtomicU64::new(0));
        let set = |row: Row<'_>, at: [i64; D], again: bool| {
            let beyond = set(row, at);
            if beyond > 0 && !again {
                saturated.fetch_add(beyond, Ordering::Relaxed);
            }
        };
        // Of each, whether the device was given the same.
        let mut here: Vec<(OfRegion, bool)> = whole.iter().map(|part| (*part, false)).collect();
        if let Some(device) = &self.acc.core().device {
            if !whole.is_empty() {
                self.acc.bring(&self.touches(&whole, &how))?;
            }
            let array = (&*layout.wide, &layout.element);
            let mut packed = |parts: &[PackedBox], passage: *mut u8| {
                let passage = Shared::new(passage);
                self.each_part(parts.iter().map(|part| part.cells).collect(), &|number, at, length| {
                    // SAFETY: all of the part is in the passage.
                    set(unsafe { Row::packed(layout, &parts[number], passage.get(), at, length) }, at, false);
                });
            };
            if !boxes.is_empty() {
                device.backend().caught_up();
                // SAFETY: the array has this layout; as for rows.
                here.extend(unsafe { self.storage.store_boxes(device, array, &boxes, &mut packed)? });
            }
        } else {
            here.extend(boxes.into_iter().map(|part| (part, false)));
        }
        if let Some(backing) = self.storage.backing() {
            let parts: Vec<OfRegion> = here.iter().map(|(part, _)| *part).collect();
            let mut set = |slab: &Layout<D>, memory: &Storage, number: usize, cells: GridBox<4>| {
                self.each_part(vec![cells], &|_, at, length| {
                    // SAFETY: the row is in the slab.
                    set(unsafe { Row::new(slab, memory, 0, at, length) }, at, here[number].1);
                });
                Ok(())
            };
            // SAFETY: the array has this layout; as for rows.
            unsafe { each_slab((layout, self.storage, backing), &parts, true, &mut set)? };
            here.clear();
        }
        self.each_part(here.iter().map(|((_, cells), _)| *cells).collect(), &|number, at, length| {
            let ((region, _), again) = here[number];
            // SAFETY: the row is in the region.
            set(unsafe { Row::new(layout, self.storage, region, at, length) }, at, again);
        });
        self.saturate(saturated.into_inner())
    }

    /// Sets a box inside the domain, row by row, by threads that may call closures of the user's. The caller has waited
    /// until it may be replaced.
    ///
    /// # Errors
    /// Threads that cannot be started, what the disk refuses, or values that saturate.
    pub fn set_rows(&self, cells: &GridBox<D>, set: Set<'_, D>) -> Result<(), Error> {
        let saturated = AtomicU64::new(0);
        let set = |row: Row<'_>, at: [i64; D]| {
            let beyond = set(row, at);
            if beyond > 0 {
                saturated.fetch_add(beyond, Ordering::Relaxed);
            }
        };
        match self.storage.backing() {
            Some(backing) => {
                let mut set = |slab: &Layout<D>, memory: &Storage, _: usize, part: GridBox<4>| {
                    self.acc.install_user(&|| {
                        // SAFETY: the row is in the slab.
                        let set = |at, length| set(unsafe { Row::new(slab, memory, 0, at, length) }, at);
                        each_row(&narrow::<D>(&part), &set);
                    })
                };
                let parts = self.layout.parts(cells);
                // SAFETY: the array has this layout; recorded work on it has run.
                unsafe { each_slab((self.layout, self.storage, backing), &parts, true, &mut set)? };
            }
            None => self.acc.install_user(&|| {
                each_owned_row(self.layout, cells, &|region, at, length| {
                    // SAFETY: the row is in the region.
                    set(unsafe { Row::new(self.layout, self.storage, region, at, length) }, at);
                });
            })?,
        }
        self.saturate(saturated.into_inner())
    }

    /// Counts values that the host wrote and the formats cannot hold.
    ///
    /// # Errors
    /// As the array's [`Saturation`](crate::Saturation) says.
    pub fn saturate(&self, values: u64) -> Result<(), Error> {
        let counted = self.storage.saturate(values, || format!("write values into an array of {}", self.element));
        self.storage.warn();
        counted
    }

    /// Calls `f` with the number of each box, and the start and length of each of its rows, on several threads if there
    /// are many cells.
    fn each_part(&self, boxes: Vec<GridBox<4>>, f: OfPart<'_, D>) {
        let cells = boxes.iter().map(GridBox::cells).fold(0, usize::saturating_add);
        let all = || {
            for (number, cells) in boxes.iter().enumerate() {
                each_row(&narrow::<D>(cells), &|at, length| f(number, at, length));
            }
        };
        if cells <= FEW { all() } else { self.acc.install(&all) }
    }

    /// Number of cells of a box inside a region's memory.
    ///
    /// # Errors
    /// A region that there is not, or a box outside of it.
    pub fn check_grown(&self, what: &str, region: usize, cells: &GridBox<D>) -> Result<usize, Error> {
        let tried = || format!("{what} the box {:?}..{:?} of region {region}", cells.lo, cells.hi);
        let regions = &self.layout.regions;
        let Some(grown) = regions.get(region).map(|region| region.grown) else {
            let found = format!("{} regions", regions.len());
            return Err(Error::new(ErrorKind::Argument, tried(), found, "count regions from 0"));
        };
        if !grown.contains_box(cells) {
            let found = format!("cells and ghosts {:?}..{:?} in it", grown.lo, grown.hi);
            return Err(Error::new(ErrorKind::OutOfRange, tried(), found, "keep the box inside `grown_box(region)`"));
        }
        if !self.has_ghosts_between() && !self.layout.realm(region).contains_box(cells) {
            let found = "ghosts between regions, which have no values where the array lies in a file (`backed_by`)";
            let advice = "keep the box inside the cells that the region owns and ghosts outside the domain";
            return Err(Error::new(ErrorKind::Ghost, tried(), found, advice));
        }
        Ok(if cells.is_empty() { 0 } else { cells.cells() })
    }

    /// Whether ghosts between its regions have values: not where it lies in a file. True of one region.
    pub fn has_ghosts_between(&self) -> bool {
        self.storage.backing().is_none() || self.layout.regions.len() == 1
    }
}

impl<const D: usize> Layout<D> {
    /// Number of cells of a box inside the domain.
    ///
    /// # Errors
    /// A box that reaches outside.
    pub(super) fn check_box(&self, what: &str, cells: &GridBox<D>) -> Result<usize, Error> {
        if self.domain().contains_box(cells) {
            return Ok(if cells.is_empty() { 0 } else { cells.cells() });
        }
        Err(Error::new(
            ErrorKind::OutOfRange,
            format!("{what} the box {:?}..{:?} of an array", cells.lo, cells.hi),
            format!("a domain of 0..{:?}", self.shape),
            "keep the box inside the domain; ghost cells are reached by `read_grown_box` and `with_grown_region`",
        ))
    }
}
