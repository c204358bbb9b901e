//! Setting all values of an array: a sweep like any other where the values are on a device.

use std::any::Any;

use tida_kernels::each_scalar;

use super::launch::compute;
use super::real::Number;
use crate::array::TileArray;
use crate::error::Error;
use crate::kernel;
use crate::memory::element::Element;
use crate::tile::TileIter;

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Sets every valid value to `value`. Ghosts are older than the cells then.
    ///
    /// Where the values are on a device, numbers are set there: this is recorded like a kernel, and returns. Else it
    /// waits until done.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<i32, 1>::builder([3]).build(&acc)?;
    /// u.fill_value(7)?;
    /// assert_eq!(u.read_box(u.domain())?, [7; 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`fill`](TileArray::fill).
    #[track_caller]
    pub fn fill_value(&mut self, value: T) -> Result<(), Error> {
        match self.is_filled_there().then(|| as_number(self, value)).flatten() {
            Some(filled) => filled,
            None => self.fill_here(value),
        }
    }
}

/// Fills an array of numbers by a sweep; nothing if it has other elements.
#[track_caller]
fn as_number<T: Element, const D: usize>(array: &mut TileArray<T, D>, value: T) -> Option<Result<(), Error>> {
    macro_rules! number {
        (() $($t:ident $variant:ident)*) => {$(
            let values: (&mut dyn Any, &dyn Any) = (array, &value);
            if let (Some(array), Some(value)) = (values.0.downcast_mut(), values.1.downcast_ref()) {
                return Some(sweep::<$t, D>(array, *value));
            }
        )*};
    }
    each_scalar!(numbers number!());
    None
}

#[track_caller]
fn sweep<T: Number, const D: usize>(array: &mut TileArray<T, D>, value: T) -> Result<(), Error> {
    for tile in TileIter::new(array) {
        compute(&tile, &mut *array, kernel!(|array, at| array[at] = value))?;
    }
    Ok(())
}
