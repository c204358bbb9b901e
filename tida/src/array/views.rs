//! Views of one region's memory.

use std::panic::Location;

use ndarray::{ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Dim, Dimension, IxDyn, ShapeBuilder};

use super::TileArray;
use super::host::reserve;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::coding::Coding;
use crate::memory::element::{Element, ScalarElement};

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
            self.check_here(number, || format!("view region {region}"))?;
            self.start_all()?;
            return self.parts[number].view(of_part, component, part, f);
        }
        let plane = self.plane::<S>(region, component, part)?;
        self.wait_for_region(region, false)?;
        if let Some(coding) = self.layout.codes() {
            let values = plane.decoded(coding)?;
            let view = ArrayViewD::from_shape(IxDyn(&plane.extent), &values).map_err(rank)?;
            return Ok(f(view.into_dimensionality().map_err(rank)?));
        }
        let shape = IxDyn(&plane.extent).strides(IxDyn(&plane.strides));
        // SAFETY: the box lies in the region's memory, of which `first` is the low corner; what was recorded to write
        // it has run, and nothing more can be recorded while `self` is borrowed.
        let view = unsafe { ArrayViewD::from_shape_ptr(shape, plane.first) };
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
            self.check_here(number, || format!("view region {region}"))?;
            if self.is_everywhere() {
                self.shared_call("a view to change values", Location::caller());
            }
            self.start_all()?;
            let given = self.parts[number].view_mut(of_part, component, part, f)?;
            self.spread(Some(region), part == Part::Grown)?;
            return Ok(given);
        }
        let plane = self.plane::<S>(region, component, part)?;
        self.wait_for_region(region, true)?;
        self.tracker.ages.cells_written();
        if part == Part::Grown {
            self.tracker.ages.ghosts_overwritten(true);
        }
        if let Some(coding) = self.layout.codes() {
            let mut values = plane.decoded(coding)?;
            let view = ArrayViewMutD::from_shape(IxDyn(&plane.extent), &mut values).map_err(rank)?;
            let given = f(view.into_dimensionality().map_err(rank)?);
            self.saturate(plane.encode(coding, &values))?;
            return Ok(given);
        }
        let shape = IxDyn(&plane.extent).strides(IxDyn(&plane.strides));
        // SAFETY: as for `view`, and `self` is the only handle of the memory once recorded work has run.
        let view = unsafe { ArrayViewMutD::from_shape_ptr(shape, plane.first) };
        let given = f(view.into_dimensionality().map_err(rank)?);
        if let Some(coding) = self.layout.rounds() {
            self.saturate(plane.round(coding))?;
        }
        Ok(given)
    }

    /// Where a box of one component of a region lies.
    fn plane<S: ScalarElement>(&self, region: usize, component: usize, part: Part) -> Result<Plane<S, D>, Error> {
        let tried = || format!("view component {component} of region {region} as {}", S::SCALAR.name());
        let Some(r) = self.layout.regions.get(region) else {
            let found = format!("{} regions", self.layout.regions.len());
            return Err(Error::new(ErrorKind::Argument, tried(), found, "count regions from 0"));
        };
        let types = T::TYPE.component_types();
        if types.get(component) != Some(&S::SCALAR) {
            let names: Vec<_> = types.iter().map(|t| t.name()).collect();
            let found = format!("components [{}] of {}", names.join(", "), T::TYPE);
            return Err(Error::new(ErrorKind::Argument, tried(), found, "name a component by its number and type"));
        }
        let cells: GridBox<D> = match part {
            Part::Valid => self.layout.own(region),
            Part::Grown => self.layout.own_grown(region),
        };
        let before: usize = types[..component].iter().map(|t| t.size()).sum();
        let (before, size) = match self.layout.codes() {
            Some(coding) => (coding.before(component).0, coding.code_size(component)),
            None => (before, size_of::<S>()),
        };
        let first = self.storage.base(region).wrapping_add(r.cells * before + r.position(cells.lo) * size).cast();
        Ok(Plane { first, component, extent: cells.extent(), strides: r.strides })
    }
}

/// Which values of a region.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Valid,
    Grown,
}

/// A box of one component.
struct Plane<S, const D: usize> {
    /// Its first value, or code.
    first: *mut S,
    component: usize,
    extent: [usize; D],
    strides: [usize; D],
}

impl<S: ScalarElement, const D: usize> Plane<S, D> {
    /// Calls `f` with where each row starts, of codes or values of so many bytes, the number of the row's first value,
    /// and the length of rows.
    fn rows(&self, size: usize, mut f: impl FnMut(*mut u8, usize, usize)) {
        let length = self.extent[D - 1];
        let cells = GridBox { lo: [0; D], hi: self.extent.map(|n| n as i64) };
        for (row, at) in cells.rows().enumerate() {
            let position: usize = (0..D).map(|d| at[d] as usize * self.strides[d]).sum();
            f(self.first.cast::<u8>().wrapping_add(position * size), row * length, length);
        }
    }

    /// The values of its codes, row by row.
    fn decoded(&self, coding: &Coding) -> Result<Vec<S>, Error> {
        let count = self.extent.iter().product();
        let mut values: Vec<S> = Vec::new();
        reserve(&mut values, count)?;
        let out = values.as_mut_ptr();
        self.rows(coding.code_size(self.component), |codes, first, length| {
            // SAFETY: the row lies in the region's memory, which no one writes; there is room for all rows.
            unsafe { coding.decode(self.component, codes, out.add(first).cast(), length) };
        });
        // SAFETY: every row was written, with values of a float or what the plane itself held.
        unsafe { values.set_len(count) };
        Ok(values)
    }

    /// Sets its codes to those of values; gives how many saturated.
    fn encode(&self, coding: &Coding, values: &[S]) -> u64 {
        let mut saturated = 0;
        self.rows(coding.code_size(self.component), |codes, first, length| {
            if let Some(row) = values.get(first..first + length) {
                // SAFETY: the row lies in the region's memory, which no one else accesses.
                saturated += unsafe { coding.encode(self.component, row.as_ptr().cast(), codes, length) };
            }
        });
        saturated
    }

    /// Rounds its values; gives how many saturated.
    fn round(&self, coding: &Coding) -> u64 {
        let mut saturated = 0;
        self.rows(size_of::<S>(), |values, _, length| {
            // SAFETY: the row lies in the region's memory, which no one else accesses.
            saturated += unsafe { coding.round(self.component, values, length) };
        });
        saturated
    }
}

fn rank(e: ndarray::ShapeError) -> Error {
    Error::new(ErrorKind::Shape, "view a region", e.to_string(), "use an array of 1 to 4 axes")
}
