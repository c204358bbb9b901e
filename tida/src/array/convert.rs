//! To and from `ndarray`.

use ndarray::{Array, ArrayD, ArrayView, Dim, Dimension, IxDyn};

use super::TileArray;
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::memory::element::Element;

impl<T: Element, const D: usize> TileArray<T, D>
where
    Dim<[usize; D]>: Dimension,
{
    /// The valid values as an `ndarray` array (`Array1` to `Array4`). Waits for recorded work that they need.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 2>::builder([2, 3]).build(&acc)?;
    /// u.fill(|[row, column]| (10 * row + column) as f64)?;
    /// assert_eq!(u.to_ndarray()?[[1, 2]], 12.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Memory for the result, or failed work that the values need.
    #[track_caller]
    pub fn to_ndarray(&self) -> Result<Array<T, Dim<[usize; D]>>, Error> {
        let values = self.read_box(self.domain())?;
        ArrayD::from_shape_vec(IxDyn(&self.shape()), values)
            .and_then(|array| array.into_dimensionality())
            .map_err(|e| Error::new(ErrorKind::Shape, "make an ndarray array", e.to_string(), "use a smaller array"))
    }

    /// A cell-centred array of one region without ghosts with the values of `values`. For cuts, ghosts or another
    /// centring use a builder and [`copy_from_ndarray`](TileArray::copy_from_ndarray).
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let values = tida::ndarray::array![1.0, 2.0, 3.0];
    /// let u = TileArray::<f64, 1>::from_ndarray(&acc, &values.view())?;
    /// assert_eq!(u.read_box(u.domain())?, [1.0, 2.0, 3.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As the builder's.
    pub fn from_ndarray(acc: &TileAcc, values: &ArrayView<'_, T, Dim<[usize; D]>>) -> Result<Self, Error> {
        let mut shape = [0; D];
        shape.copy_from_slice(values.shape());
        let mut array = TileArray::builder(shape).build(acc)?;
        array.copy_from_ndarray(values)?;
        Ok(array)
    }

    /// Sets all valid values from those of an `ndarray` array; waits for recorded work on the array.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([3]).ghost(1).build(&acc)?;
    /// u.copy_from_ndarray(&tida::ndarray::array![1.0, 2.0, 3.0].view())?;
    /// assert_eq!(u.read_box(u.domain())?, [1.0, 2.0, 3.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Values of another shape.
    #[track_caller]
    pub fn copy_from_ndarray(&mut self, values: &ArrayView<'_, T, Dim<[usize; D]>>) -> Result<(), Error> {
        if values.shape() != self.shape() {
            return Err(Error::new(
                ErrorKind::Shape,
                format!("copy into an array of shape {:?}", self.shape()),
                format!("an ndarray of shape {:?}", values.shape()),
                "give one value for each cell (cells + 1 on face-centred axes)",
            ));
        }
        let domain = self.domain();
        self.write_rows(&domain, &value_of(values))
    }
}

/// The values of a view: `value(start of a row, position in it)`, for rows inside its shape.
pub(super) fn value_of<T: Element, const D: usize>(
    values: &ArrayView<'_, T, Dim<[usize; D]>>,
) -> impl Fn([i64; D], usize) -> T + Sync
where
    Dim<[usize; D]>: Dimension,
{
    let mut strides = [0; D];
    strides.copy_from_slice(values.strides());
    let first = crate::memory::rows::Shared::new(values.as_ptr().cast_mut());
    move |at, n| {
        let offset: isize = (0..D).map(|d| at[d] as isize * strides[d]).sum();
        // SAFETY: the index is inside the view, whose shape is that of the domain.
        unsafe { first.get().offset(offset + n as isize * strides[D - 1]).read() }
    }
}
