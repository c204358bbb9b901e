//! Views of one region's memory.

use std::panic::Location;

use ndarray::{ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Dim, Dimension, IxDyn, ShapeBuilder};

use tida_kernels::element::ScalarType;

use super::TileArray;
use super::host::reserve;
use super::untyped::Untyped;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::coding::Coding;
use crate::memory::element::{Element, ScalarElement};
use crate::memory::tracker::Mode;

impl<T: ScalarElement, const D: usize> TileArray<T, D>
where
    Dim<[usize; D]>: Dimension,
{
    /// Calls `f` with the values that a region owns. `[0, ..]` of the view is the low corner of its
    /// [`region_box`](TileArray::region_box). Waits for recorded work that they need.
    ///
    /// The view is of the host's memory: where the newest values are on a device, all of the region comes, and where it
    /// is changed, all of it goes back. For a part of it see [`read_box`](TileArray::read_box),
    /// [`read_grown_box`](TileArray::read_grown_box) and [`write_box`](TileArray::write_box).
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).build(&acc)?;
    /// u.fill(|[row, _]| row as f64)?;
    /// assert_eq!(u.with_region(1, |view| (view.dim(), view[[0, 0]]))?, ((2, 8), 2.0));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A region that there is not, or failed work that the values need.
    #[track_caller]
    pub fn with_region<R>(
        &self,
        region: usize,
        f: impl FnOnce(ArrayView<'_, T, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view::<T, R>(region, 0, Part::Valid, f)
    }

    /// As [`with_region`](TileArray::with_region), with the ghosts: a view of the [`grown_box`](TileArray::grown_box).
    /// For a few ghosts, [`read_grown_box`](TileArray::read_grown_box) moves less.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([3]).ghost(1).boundary(Boundary::Fixed(9.0)).build(&acc)?;
    /// u.fill_ghosts()?;
    /// assert_eq!(u.with_grown_region(0, |view| view.to_vec())?, [9.0, 0.0, 0.0, 0.0, 9.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`with_region`](TileArray::with_region).
    #[track_caller]
    pub fn with_grown_region<R>(
        &self,
        region: usize,
        f: impl FnOnce(ArrayView<'_, T, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view::<T, R>(region, 0, Part::Grown, f)
    }

    /// Calls `f` with the values that a region owns, to change them.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([3]).build(&acc)?;
    /// u.with_region_mut(0, |mut view| view[1] = 5.0)?;
    /// assert_eq!(u.read_box(u.domain())?, [0.0, 5.0, 0.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`with_region`](TileArray::with_region).
    #[track_caller]
    pub fn with_region_mut<R>(
        &mut self,
        region: usize,
        f: impl FnOnce(ArrayViewMut<'_, T, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view_mut::<T, R>(region, 0, Part::Valid, f)
    }

    /// As [`with_region_mut`](TileArray::with_region_mut), with the ghosts. The next
    /// [`fill_ghosts`](TileArray::fill_ghosts) replaces ghosts that have a boundary, and those that another region
    /// owns. For a few ghosts, [`write_grown_box`](TileArray::write_grown_box) moves less.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([3]).ghost(1).build(&acc)?; // open: the user fills the ghosts
    /// u.with_grown_region_mut(0, |mut view| (view[0], view[4]) = (7.0, 8.0))?;
    /// assert_eq!(u.with_grown_region(0, |view| view.to_vec())?, [7.0, 0.0, 0.0, 0.0, 8.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`with_region`](TileArray::with_region).
    #[track_caller]
    pub fn with_grown_region_mut<R>(
        &mut self,
        region: usize,
        f: impl FnOnce(ArrayViewMut<'_, T, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view_mut::<T, R>(region, 0, Part::Grown, f)
    }
}

impl<T: Element, const D: usize> TileArray<T, D>
where
    Dim<[usize; D]>: Dimension,
{
    /// Calls `f` with one component of the values that a region owns. A component is a scalar that the element is made
    /// of, counted from 0 in the order of its fields.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<[f32; 3], 1>::builder([2]).build(&acc)?;
    /// u.fill(|[i]| [0.0, i as f32, 9.0])?;
    /// assert_eq!(u.with_component::<f32, _>(0, 1, |view| view.to_vec())?, [0.0, 1.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A region or component that there is not, a component of another type than `S`, or failed work that the values
    /// need.
    #[track_caller]
    pub fn with_component<S: ScalarElement, R>(
        &self,
        region: usize,
        component: usize,
        f: impl FnOnce(ArrayView<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view::<S, R>(region, component, Part::Valid, f)
    }

    /// As [`with_component`](TileArray::with_component), to be changed.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<[f32; 3], 1>::builder([2]).build(&acc)?;
    /// u.with_component_mut::<f32, _>(0, 2, |mut view| view[[1]] = 7.0)?;
    /// assert_eq!(u.read_box(u.domain())?[1], [0.0, 0.0, 7.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`with_component`](TileArray::with_component).
    #[track_caller]
    pub fn with_component_mut<S: ScalarElement, R>(
        &mut self,
        region: usize,
        component: usize,
        f: impl FnOnce(ArrayViewMut<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view_mut::<S, R>(region, component, Part::Valid, f)
    }

    /// As [`with_component`](TileArray::with_component), with the ghosts.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<[f32; 2], 1>::builder([2]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    /// u.fill(|[i]| [0.0, i as f32])?;
    /// u.fill_ghosts()?;
    /// assert_eq!(u.with_grown_component::<f32, _>(0, 1, |view| view.to_vec())?, [1.0, 0.0, 1.0, 0.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`with_component`](TileArray::with_component).
    #[track_caller]
    pub fn with_grown_component<S: ScalarElement, R>(
        &self,
        region: usize,
        component: usize,
        f: impl FnOnce(ArrayView<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view::<S, R>(region, component, Part::Grown, f)
    }

    /// As [`with_component_mut`](TileArray::with_component_mut), with the ghosts.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// // Ghosts behind an open face are the program's to set.
    /// let mut u = TileArray::<[f32; 2], 1>::builder([2]).ghost(1).build(&acc)?;
    /// u.with_grown_component_mut::<f32, _>(0, 0, |mut view| view[[0]] = 5.0)?;
    /// assert_eq!(u.with_grown_component::<f32, _>(0, 0, |view| view[[0]])?, 5.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`with_component`](TileArray::with_component).
    #[track_caller]
    pub fn with_grown_component_mut<S: ScalarElement, R>(
        &mut self,
        region: usize,
        component: usize,
        f: impl FnOnce(ArrayViewMut<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view_mut::<S, R>(region, component, Part::Grown, f)
    }

    #[track_caller]
    fn view<S: ScalarElement, R>(
        &self,
        region: usize,
        component: usize,
        part: Part,
        f: impl FnOnce(ArrayView<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        if let Some((number, of_part)) = self.part_of(region) {
            self.check_here(number, &|| format!("view region {region}"))?;
            self.start_all()?;
            return self.parts[number].view(of_part, component, part, f);
        }
        let array = self.untyped();
        let plane = array.plane(region, (component, S::SCALAR), part)?;
        array.wait_for_region(region, false)?;
        if let Some(coding) = self.layout.codes() {
            let values = decoded::<S>(&plane, coding)?;
            let view = ArrayViewD::from_shape(IxDyn(plane.extent()), &values).map_err(rank)?;
            return Ok(f(view.into_dimensionality().map_err(rank)?));
        }
        let shape = IxDyn(plane.extent()).strides(IxDyn(plane.strides()));
        // SAFETY: the box lies in the region's memory, of which `first` is the low corner; what was recorded to write
        // it has run, and nothing more can be recorded while `self` is borrowed.
        let view = unsafe { ArrayViewD::from_shape_ptr(shape, plane.first.cast::<S>()) };
        Ok(f(view.into_dimensionality().map_err(rank)?))
    }

    #[track_caller]
    fn view_mut<S: ScalarElement, R>(
        &mut self,
        region: usize,
        component: usize,
        part: Part,
        f: impl FnOnce(ArrayViewMut<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        if let Some((number, of_part)) = self.part_of(region) {
            self.check_here(number, &|| format!("view region {region}"))?;
            if self.is_everywhere() {
                self.shared_call("a view to change values", Location::caller());
            }
            if self.acc.ranks() > 1 && self.tracker.ages.copies().is_some() {
                let found = "planes that ranks hold of one another (`.overlap(..)`), where one rank alone writes";
                let advice = "use `write_box` or `write_grown_box`, which all ranks call, or leave `.overlap(..)` out";
                return Err(Error::new(ErrorKind::Ranks, format!("change region {region} by a view"), found, advice));
            }
            self.start_all()?;
            let given = self.parts[number].view_mut(of_part, component, part, f)?;
            self.spread(Some(region), part == Part::Grown)?;
            return Ok(given);
        }
        let array = self.untyped();
        let plane = array.plane(region, (component, S::SCALAR), part)?;
        array.wait_for_region(region, true)?;
        self.tracker.ages.cells_written();
        if part == Part::Grown {
            self.tracker.ages.ghosts_overwritten(true);
        }
        if let Some(coding) = self.layout.codes() {
            let mut values = decoded::<S>(&plane, coding)?;
            let view = ArrayViewMutD::from_shape(IxDyn(plane.extent()), &mut values).map_err(rank)?;
            let given = f(view.into_dimensionality().map_err(rank)?);
            // SAFETY: one value for each code of the plane, which no one else accesses.
            self.saturate(unsafe { plane.encode(coding, values.as_ptr().cast()) })?;
            return Ok(given);
        }
        let shape = IxDyn(plane.extent()).strides(IxDyn(plane.strides()));
        // SAFETY: as for `view`, and `self` is the only handle of the memory once recorded work has run.
        let view = unsafe { ArrayViewMutD::from_shape_ptr(shape, plane.first.cast::<S>()) };
        let given = f(view.into_dimensionality().map_err(rank)?);
        if let Some(coding) = self.layout.rounds() {
            // SAFETY: no one else accesses the plane.
            self.saturate(unsafe { plane.round(coding) })?;
        }
        Ok(given)
    }
}

impl<const D: usize> Untyped<'_, D> {
    /// Waits until the host may read, or write too, one region.
    #[track_caller]
    fn wait_for_region(&self, region: usize, write: bool) -> Result<(), Error> {
        let mode = if write { Mode::Update } else { Mode::Read };
        if self.storage.backing().is_some() {
            return Err(Error::new(
                ErrorKind::Argument,
                format!("view region {region} of an array of {}", self.element),
                "values that lie in a file (`backed_by`), not in memory",
                "use `read_box` and `write_box`, or for ghosts `read_grown_box` and `write_grown_box`",
            ));
        }
        self.acc.wait(&[self.touch(Some(region), mode)])?;
        self.storage.warn();
        Ok(())
    }

    /// Where a box of one component of a region lies.
    fn plane(&self, region: usize, (component, scalar): (usize, ScalarType), part: Part) -> Result<Plane, Error> {
        let tried = || format!("view component {component} of region {region} as {}", scalar.name());
        let Some(r) = self.layout.regions.get(region) else {
            let found = format!("{} regions", self.layout.regions.len());
            return Err(Error::new(ErrorKind::Argument, tried(), found, "count regions from 0"));
        };
        let types = self.element.component_types();
        if types.get(component) != Some(&scalar) {
            let names: Vec<_> = types.iter().map(|t| t.name()).collect();
            let found = format!("components [{}] of {}", names.join(", "), self.element);
            return Err(Error::new(ErrorKind::Argument, tried(), found, "name a component by its number and type"));
        }
        let cells: GridBox<D> = match part {
            Part::Valid => self.layout.own(region),
            Part::Grown => self.layout.own_grown(region),
        };
        let before: usize = types[..component].iter().map(|t| t.size()).sum();
        let (before, size) = match self.layout.codes() {
            Some(coding) => (coding.before(component).0, coding.code_size(component)),
            None => (before, scalar.size()),
        };
        let first = self.storage.base(region).wrapping_add(r.cells * before + r.position(cells.lo) * size);
        let mut strides = [0; 4];
        strides[4 - D..].copy_from_slice(&r.strides);
        let cells = cells.widen();
        Ok(Plane { first, axes: D, component, size: scalar.size(), extent: cells.extent(), strides })
    }
}

/// Which values of a region.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Valid,
    Grown,
}

/// A box of one component, whatever its type and the number of axes: of the four axes here, the last ones are the
/// array's.
struct Plane {
    /// Its first value, or code.
    first: *mut u8,
    axes: usize,
    component: usize,
    /// Bytes of a value.
    size: usize,
    extent: [usize; 4],
    strides: [usize; 4],
}

impl Plane {
    /// Cells along each axis of the array.
    fn extent(&self) -> &[usize] {
        &self.extent[4 - self.axes..]
    }

    /// Values from one cell to the next along each axis of the array.
    fn strides(&self) -> &[usize] {
        &self.strides[4 - self.axes..]
    }

    /// Calls `f` with where each row starts, of codes or values of so many bytes, the number of the row's first value,
    /// and the length of rows.
    fn rows(&self, size: usize, f: &mut dyn FnMut(*mut u8, usize, usize)) {
        let length = self.extent[3];
        let cells = GridBox { lo: [0; 4], hi: self.extent.map(|n| n as i64) };
        for (row, at) in cells.rows().enumerate() {
            let position: usize = (0..4).map(|d| at[d] as usize * self.strides[d]).sum();
            f(self.first.wrapping_add(position * size), row * length, length);
        }
    }

    /// Puts the values of its codes to `out`, row by row.
    ///
    /// # Safety
    /// No one writes the region's memory; `out` has room for one value of the component for each cell.
    unsafe fn decode(&self, coding: &Coding, out: *mut u8) {
        self.rows(coding.code_size(self.component), &mut |codes, first, length| {
            // SAFETY: the row lies in the region's memory; the rest is the caller's promise.
            unsafe { coding.decode(self.component, codes, out.add(first * self.size), length) };
        });
    }

    /// Sets its codes to those of values; gives how many saturated.
    ///
    /// # Safety
    /// No one else accesses the region's memory; `values` has one value of the component for each cell.
    unsafe fn encode(&self, coding: &Coding, values: *const u8) -> u64 {
        let mut saturated = 0;
        self.rows(coding.code_size(self.component), &mut |codes, first, length| {
            // SAFETY: the row lies in the region's memory; the rest is the caller's promise.
            saturated += unsafe { coding.encode(self.component, values.add(first * self.size), codes, length) };
        });
        saturated
    }

    /// Rounds its values; gives how many saturated.
    ///
    /// # Safety
    /// No one else accesses the region's memory.
    unsafe fn round(&self, coding: &Coding) -> u64 {
        let mut saturated = 0;
        self.rows(self.size, &mut |values, _, length| {
            // SAFETY: the row lies in the region's memory, which is the caller's.
            saturated += unsafe { coding.round(self.component, values, length) };
        });
        saturated
    }
}

/// The values of a plane's codes, row by row. `S` is the type of its component.
fn decoded<S: ScalarElement>(plane: &Plane, coding: &Coding) -> Result<Vec<S>, Error> {
    let count = plane.extent.iter().product();
    let mut values: Vec<S> = Vec::new();
    reserve(&mut values, count)?;
    // SAFETY: nothing recorded writes the region while its array is borrowed; there is room for all rows. Every one is
    // written, with values of a float or what the plane itself held.
    unsafe {
        plane.decode(coding, values.as_mut_ptr().cast());
        values.set_len(count);
    }
    Ok(values)
}

fn rank(e: ndarray::ShapeError) -> Error {
    Error::new(ErrorKind::Shape, "view a region", e.to_string(), "use an array of 1 to 4 axes")
}
