//! Views of one region's memory.

use ndarray::{ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Dim, Dimension, IxDyn, ShapeBuilder};

use super::element::{Element, Scalar};
use super::{GridBox, TileArray};
use crate::error::{Error, ErrorKind};

impl<T: Scalar, const D: usize> TileArray<T, D>
where
    Dim<[usize; D]>: Dimension,
{
    /// Calls `f` with the values that a region owns; `[0, ..]` of the view is the low corner of its
    /// [`region_box`](TileArray::region_box). Waits for recorded work that they need.
    ///
    /// # Errors
    /// A region that there is not, or failed work that the values need.
    pub fn with_region<R>(
        &self,
        region: usize,
        f: impl FnOnce(ArrayView<'_, T, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view::<T, R>(region, 0, Part::Valid, f)
    }

    /// As [`with_region`](TileArray::with_region), with the ghosts: a view of the
    /// [`grown_box`](TileArray::grown_box).
    ///
    /// # Errors
    /// As [`with_region`](TileArray::with_region).
    pub fn with_grown_region<R>(
        &self,
        region: usize,
        f: impl FnOnce(ArrayView<'_, T, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view::<T, R>(region, 0, Part::Grown, f)
    }

    /// Calls `f` with the values that a region owns, to be changed.
    ///
    /// # Errors
    /// As [`with_region`](TileArray::with_region).
    pub fn with_region_mut<R>(
        &mut self,
        region: usize,
        f: impl FnOnce(ArrayViewMut<'_, T, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view_mut::<T, R>(region, 0, Part::Valid, f)
    }

    /// As [`with_region_mut`](TileArray::with_region_mut), with the ghosts. Ghosts that have a boundary, or are valid
    /// in another region, are replaced by the next [`fill_ghosts`](TileArray::fill_ghosts).
    ///
    /// # Errors
    /// As [`with_region`](TileArray::with_region).
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
    /// Calls `f` with one component (scalar leaf, counted from 0) of the values that a region owns.
    ///
    /// # Errors
    /// A region or component that there is not, a component of another type than `S`, or failed work that the values
    /// need.
    pub fn with_component<S: Scalar, R>(
        &self,
        region: usize,
        component: usize,
        f: impl FnOnce(ArrayView<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view::<S, R>(region, component, Part::Valid, f)
    }

    /// As [`with_component`](TileArray::with_component), to be changed.
    ///
    /// # Errors
    /// As [`with_component`](TileArray::with_component).
    pub fn with_component_mut<S: Scalar, R>(
        &mut self,
        region: usize,
        component: usize,
        f: impl FnOnce(ArrayViewMut<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view_mut::<S, R>(region, component, Part::Valid, f)
    }

    /// As [`with_component`](TileArray::with_component), with the ghosts.
    ///
    /// # Errors
    /// As [`with_component`](TileArray::with_component).
    pub fn with_grown_component<S: Scalar, R>(
        &self,
        region: usize,
        component: usize,
        f: impl FnOnce(ArrayView<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view::<S, R>(region, component, Part::Grown, f)
    }

    /// As [`with_component_mut`](TileArray::with_component_mut), with the ghosts.
    ///
    /// # Errors
    /// As [`with_component`](TileArray::with_component).
    pub fn with_grown_component_mut<S: Scalar, R>(
        &mut self,
        region: usize,
        component: usize,
        f: impl FnOnce(ArrayViewMut<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        self.view_mut::<S, R>(region, component, Part::Grown, f)
    }

    fn view<S: Scalar, R>(
        &self,
        region: usize,
        component: usize,
        part: Part,
        f: impl FnOnce(ArrayView<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        let plane = self.plane::<S>(region, component, part)?;
        self.wait_for_region(region, false)?;
        let shape = IxDyn(&plane.extent).strides(IxDyn(&plane.strides));
        // SAFETY: the box lies in the region's memory, of which `first` is the low corner; what was recorded to write
        // it has run, and nothing more can be recorded while `self` is borrowed.
        let view = unsafe { ArrayViewD::from_shape_ptr(shape, plane.first) };
        Ok(f(view.into_dimensionality().map_err(rank)?))
    }

    fn view_mut<S: Scalar, R>(
        &mut self,
        region: usize,
        component: usize,
        part: Part,
        f: impl FnOnce(ArrayViewMut<'_, S, Dim<[usize; D]>>) -> R,
    ) -> Result<R, Error> {
        let plane = self.plane::<S>(region, component, part)?;
        self.wait_for_region(region, true)?;
        self.tracker.cells_written();
        if part == Part::Grown {
            self.tracker.ghosts_overwritten();
        }
        let shape = IxDyn(&plane.extent).strides(IxDyn(&plane.strides));
        // SAFETY: as for `view`, and `self` is the only handle of the memory once recorded work has run.
        let view = unsafe { ArrayViewMutD::from_shape_ptr(shape, plane.first) };
        Ok(f(view.into_dimensionality().map_err(rank)?))
    }

    /// Where a box of one component of a region lies.
    fn plane<S: Scalar>(&self, region: usize, component: usize, part: Part) -> Result<Plane<S, D>, Error> {
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
            Part::Valid => r.valid,
            Part::Grown => r.grown,
        };
        let before: usize = types[..component].iter().map(|t| t.size()).sum();
        // SAFETY: the plane of the component starts there, and `cells.lo` has a position in it.
        let first = unsafe { self.storage.base(region).add(r.cells * before).cast::<S>().add(r.position(cells.lo)) };
        Ok(Plane { first, extent: cells.extent(), strides: r.strides })
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
    first: *mut S,
    extent: [usize; D],
    strides: [usize; D],
}

fn rank(e: ndarray::ShapeError) -> Error {
    Error::new(ErrorKind::Shape, "view a region", e.to_string(), "use an array of 1 to 4 axes")
}
