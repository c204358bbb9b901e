//! Copies between arrays.

use std::alloc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::TileArray;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::element::Element;
use crate::memory::ghosts::device::DeviceCopies;
use crate::memory::parts::OfRegion;
use crate::memory::rows::{Row, each_owned_row};
use crate::memory::tracker::{Mode, Side, Touch};
use crate::parallel;
use crate::record::wait::outside_kernels;

/// Bytes that are copied at once between arrays that lie in files.
const BAND: usize = 16 << 20;

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Copies all valid values of `source`, which may have other cuts, ghosts and formats. Recorded: returns at once,
    /// but for arrays that lie in files ([`backed_by`](crate::TileAccBuilder::backed_by)) and have no room in memory.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).build(&acc)?;
    /// u.fill(|[row, _]| row as f64)?;
    /// let mut other = TileArray::<f64, 2>::builder([4, 8]).ghost(2).build(&acc)?;
    /// other.copy_from(&u)?;
    /// assert_eq!(other.read_box(u.domain())?, u.read_box(u.domain())?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Arrays of different shapes, centrings or accelerators.
    #[track_caller]
    pub fn copy_from(&mut self, source: &TileArray<T, D>) -> Result<(), Error> {
        outside_kernels("copy an array")?;
        let alike = self.check_source(source)?;
        if self.is_parted() || source.is_parted() {
            return self.copy_parts(source, self.layout.domain());
        }
        let touches = vec![self.touch(None, Mode::Overwrite), source.touch(None, Mode::Read)];
        if alike
            && source.tracker.side() == Side::Device
            && let Some(_kept) = self.acc.core().try_reserve(&[&self.tracker, &source.tracker])
        {
            self.copy_there(source, self.layout.held, touches);
            return Ok(());
        }
        if self.storage.backing().is_some() {
            return self.copy_by_bands(source);
        }
        let (to, from) = (self.layout.clone(), source.layout.clone());
        let (target, memory) = (self.storage.clone(), source.storage.clone());
        self.acc.record("copy_from", touches, move || {
            let saturated = AtomicU64::new(0);
            parallel::each(to.regions.len(), 1, &|region| {
                let valid = to.regions[region].valid;
                each_owned_row(&from, &valid, &|owner, at, length| {
                    // SAFETY: the row is in both regions' memory, of elements `T`. The recorded touches keep others
                    // away, and each row of the target is handed to one thread.
                    unsafe {
                        let row = Row::new(&to, &target, region, at, length);
                        let from = Row::new(&from, &memory, owner, at, length);
                        match alike {
                            true => from.copy_to(&row),
                            false => {
                                saturated.fetch_add(row.set_from::<T>(&from), Ordering::Relaxed);
                            }
                        }
                    }
                });
            });
            target.saturate(saturated.into_inner(), || "copy into an array of another format".into())
        });
        self.tracker.ages.cells_written();
        Ok(())
    }

    /// Copies the valid values of a box of `source`, as [`copy_from`](TileArray::copy_from) does of all.
    ///
    /// Where the device has the newest values of both arrays' parts, the copy is recorded there, and nothing crosses
    /// the link. Otherwise, and between formats, the box is read and written as by [`read_box`](TileArray::read_box)
    /// and [`write_box`](TileArray::write_box): the call waits, and the box alone crosses the link.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([4]).build_slice(&acc, &[1.0, 2.0, 3.0, 4.0])?;
    /// let mut other = u.like()?;
    /// other.copy_box_from(&u, GridBox::new([1], [3]))?;
    /// assert_eq!(other.read_box(u.domain())?, [0.0, 2.0, 3.0, 0.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`copy_from`](TileArray::copy_from); a box that reaches outside the domain. Where the call waits, also
    /// those of `read_box` and `write_box`.
    #[track_caller]
    pub fn copy_box_from(&mut self, source: &TileArray<T, D>, cells: GridBox<D>) -> Result<(), Error> {
        outside_kernels("copy a box")?;
        let alike = self.check_source(source)?;
        self.check_box("copy", &cells)?;
        if cells == self.layout.domain() {
            return self.copy_from(source);
        }
        if self.is_parted() || source.is_parted() {
            return self.copy_parts(source, cells);
        }
        let (to, from) = (self.owned(&cells), source.owned(&cells));
        if alike
            && [(&*self, &to), (source, &from)].into_iter().all(|(array, parts)| array.is_there(parts))
            && let Some(_kept) = self.acc.core().try_reserve(&[&self.tracker, &source.tracker])
        {
            let mut touches =
                self.touches(&to, &|part| if self.untyped().is_all(part) { Mode::Overwrite } else { Mode::Update });
            touches.extend(source.touches(&from, &|_| Mode::Read));
            self.copy_there(source, cells, touches);
            return Ok(());
        }
        let values = source.read_box(cells)?;
        self.write_box(cells, &values)
    }

    /// Copies a box between arrays of which one lies on several places: each place copies its own where both are
    /// distributed alike; else the host does, and waits.
    #[track_caller]
    fn copy_parts(&mut self, source: &TileArray<T, D>, cells: GridBox<D>) -> Result<(), Error> {
        if !self.lies_as(source) {
            return self.copy_bands(source, cells);
        }
        self.written_on_ranks(&cells);
        let all = cells == self.layout.domain();
        for (number, of) in self.changed_parts(&cells) {
            let (to, from) = (&mut self.parts[number], &source.parts[number]);
            if all || of == to.layout.owned { to.copy_from(from)? } else { to.copy_box_from(from, of)? }
        }
        Ok(())
    }

    /// Copies all valid values of an array that lies in a file, some planes at a time; waits.
    #[track_caller]
    fn copy_by_bands(&mut self, source: &TileArray<T, D>) -> Result<(), Error> {
        self.copy_bands(source, self.layout.domain())
    }

    /// Copies a box by the host, some planes at a time.
    #[track_caller]
    fn copy_bands(&mut self, source: &TileArray<T, D>, cells: GridBox<D>) -> Result<(), Error> {
        if cells.is_empty() {
            return Ok(());
        }
        let mut band = cells;
        let end = band.hi[0];
        let plane = (band.cells() / band.extent()[0].max(1)).saturating_mul(size_of::<T>()).max(1);
        let thick = (BAND / plane).max(1) as i64;
        while band.lo[0] < end {
            band.hi[0] = end.min(band.lo[0] + thick);
            let values = source.read_box(band)?;
            self.write_box(band, &values)?;
            band.lo[0] = band.hi[0];
        }
        Ok(())
    }

    /// Records that a box is copied on the device.
    #[track_caller]
    fn copy_there(&self, source: &TileArray<T, D>, cells: GridBox<D>, touches: Vec<Touch>) {
        let (to, from) = (self.layout.clone(), source.layout.clone());
        let (target, memory) = (self.storage.clone(), source.storage.clone());
        self.acc.record_on_device("copy_from", touches, move |queue| {
            let rows = (target.row(), memory.row());
            let copies = DeviceCopies::between(queue.device, (&to, rows.0), (&from, rows.1), &to.element, &cells)?;
            let (into, out_of) = (target.device_memory(queue.device)?, memory.device_memory(queue.device)?);
            // SAFETY: regions lie where the layouts say, of elements `T`; the recorded touches keep others away, and
            // the node holds the tables and both arrays.
            unsafe { copies.run(queue.stream, &into, &out_of)? };
            Ok(Box::new(move || {
                drop((copies, target, memory));
                Ok(())
            }))
        });
        self.tracker.ages.cells_written();
        self.tracker.written_at(Side::Device);
    }

    /// Whether the device need not be brought any values for these parts, once recorded work has run.
    fn is_there(&self, parts: &[OfRegion]) -> bool {
        let is_made_there = |(region, _): &OfRegion| {
            let mut writers = Vec::new();
            self.tracker.pending(Some(*region), false, &mut writers);
            writers.iter().any(|node| node.on_device && node.chain.is_none() && !node.is_finished())
        };
        let made: Vec<bool> = parts.iter().map(is_made_there).collect();
        let there = self.storage.is_there();
        self.tracker.side() == Side::Device && parts.iter().zip(made).all(|((region, _), made)| made || there[*region])
    }

    /// Whether a source's values lie in memory as this array's do.
    ///
    /// # Errors
    /// A source that cannot be copied from.
    fn check_source(&self, source: &TileArray<T, D>) -> Result<bool, Error> {
        let (to, from) = (&self.layout, &source.layout);
        if to.shape != from.shape || to.centering != from.centering {
            return Err(Error::new(
                ErrorKind::Shape,
                format!("copy into an array of shape {:?} centred on {:?}", to.shape, to.centering),
                format!("a source of shape {:?} centred on {:?}", from.shape, from.centering),
                "copy between arrays of one shape and centring",
            ));
        }
        if !self.acc.is(&source.acc) {
            return Err(Error::new(
                ErrorKind::Argument,
                "copy between arrays",
                "arrays of different accelerators",
                "copy by `read_box` and `write_box`, or use one accelerator",
            ));
        }
        Ok(match (to.coding.as_deref().filter(|coding| coding.any()), from.codes()) {
            (None, None) => true,
            (Some(to), _) => from.coding.as_deref().is_some_and(|from| to.same(from)),
            _ => false,
        })
    }

    /// A copy of all values, ghosts included. The copying is recorded. If work on the source fails, reads of the copy
    /// fail too.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([3]).build(&acc)?;
    /// u.fill_value(1.0)?;
    /// let copy = u.try_clone()?;
    /// u.fill_value(2.0)?;
    /// assert_eq!(copy.read_box(u.domain())?, [1.0; 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Memory that the system does not have.
    #[track_caller]
    pub fn try_clone(&self) -> Result<TileArray<T, D>, Error> {
        let copy = self.like()?;
        if !self.is_parted() {
            self.copy_into(&copy);
        }
        self.parts_here().for_each(|number| self.parts[number].copy_into(&copy.parts[number]));
        Ok(copy)
    }

    /// Records that all values of an array, or of a part of one, on one place are copied to one like it, ghosts
    /// included.
    #[track_caller]
    fn copy_into(&self, copy: &TileArray<T, D>) {
        if !self.storage.stays_in_row() {
            copy.storage.take_apart();
        }
        let (layout, target, memory) = (self.layout.clone(), copy.storage.clone(), self.storage.clone());
        let touches = vec![copy.touch(None, Mode::Overwrite), self.touch(None, Mode::Read)];
        if self.tracker.side() == Side::Device
            && let Some(_kept) = self.acc.core().try_reserve(&[&self.tracker, &copy.tracker])
        {
            self.acc.record_on_device("clone", touches, move |queue| {
                let (into, out_of) = (target.device_memory(queue.device)?, memory.device_memory(queue.device)?);
                target.filled(true);
                // SAFETY: arrays of one layout have equal memory; the recorded touches keep others away, and the node
                // holds both arrays.
                unsafe { queue.device.backend().copy(queue.stream, (&out_of, 0), (&into, 0), into.bytes())? };
                Ok(Box::new(move || {
                    drop((target, memory));
                    Ok(())
                }))
            });
            copy.tracker.copied_from(&self.tracker);
            return;
        }
        self.acc.record("clone", touches, move || {
            if let (Some(from), Some(to)) = (memory.backing(), target.backing()) {
                let mut regions = (0..memory.regions()).filter(|region| memory.host_touched(*region));
                return regions.try_for_each(|region| {
                    target.touch_host(region);
                    to.copy_from(from, region, memory.bytes(region))
                });
            }
            const CHUNK: usize = 1 << 20;
            parallel::each(layout.regions.len(), 1, &|region| {
                let bytes = layout.regions[region].cells * layout.element.bytes();
                let from = crate::memory::rows::Shared::new(memory.base(region));
                let to = crate::memory::rows::Shared::new(target.base(region));
                parallel::each(bytes.div_ceil(CHUNK), 1, &|n| {
                    let length = CHUNK.min(bytes - n * CHUNK);
                    // SAFETY: both regions have as many bytes, and the chunks do not overlap. The recorded touches keep
                    // others away.
                    unsafe {
                        std::ptr::copy_nonoverlapping(from.get().add(n * CHUNK), to.get().add(n * CHUNK), length)
                    };
                });
            });
            Ok(())
        });
        copy.tracker.copied_from(&self.tracker);
    }
}

impl<T: Element, const D: usize> Clone for TileArray<T, D> {
    #[track_caller]
    fn clone(&self) -> Self {
        match self.try_clone() {
            Ok(copy) => copy,
            // Only memory can be missing.
            Err(_) => {
                let bytes = self.layout.regions.iter().map(|r| r.cells * self.layout.element.bytes()).sum();
                let layout = alloc::Layout::from_size_align(bytes, 1);
                alloc::handle_alloc_error(layout.unwrap_or(alloc::Layout::new::<T>()))
            }
        }
    }
}
