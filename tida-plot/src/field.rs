//! Values on the host: what pictures are drawn of.

use tida::{Element, GridBox, TileArray};

use crate::{Error, Result};

/// A scalar that tida's arrays hold.
pub trait Number: Element {
    /// The nearest `f64`; of `bool` 0 or 1.
    fn to_f64(self) -> f64;
}

macro_rules! number {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

number!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl Number for bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
}

/// What a projection makes of the values along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Projection {
    /// The largest that is a number.
    Max,
    /// The smallest that is a number.
    Min,
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
}

/// Values of 0 to 4 axes on the host, row-major, which can be cut and projected until a picture can be drawn of them.
///
/// ```
/// use tida_plot::{Field, Picture, Projection};
///
/// // Of four axes a picture shows two.
/// let field = Field::new(&[2, 3, 4, 5], (0..120).map(f64::from).collect())?;
/// let plane = field.project(0, Projection::Mean)?.slice(0, 2)?;
/// assert_eq!(plane.shape(), [4, 5]);
/// assert_eq!(plane.values()[0], 70.0);
/// let picture = Picture::of(plane)?;
/// # Ok::<(), tida_plot::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    shape: Vec<usize>,
    /// Which axes of the array these are.
    axes: Vec<usize>,
    values: Vec<f64>,
}

impl Field {
    /// A field of these cells along each axis, slowest first.
    ///
    /// # Errors
    /// More than four axes, or values of another number than cells.
    ///
    /// ```
    /// let error = tida_plot::Field::new(&[2, 2], vec![0.0; 3]).unwrap_err();
    /// assert!(error.to_string().contains("found 3 values for 4 cells"));
    /// ```
    pub fn new(shape: &[usize], values: Vec<f64>) -> Result<Field> {
        let tried = || format!("make a field of shape {shape:?}");
        if shape.len() > 4 {
            return Err(Error::new(tried(), format!("{} axes", shape.len()), "give four at most"));
        }
        let cells = shape.iter().try_fold(1usize, |product, n| product.checked_mul(*n));
        if cells != Some(values.len()) {
            let cells = cells.map_or_else(|| "more than can be".into(), |n| n.to_string());
            let found = format!("{} values for {cells} cells", values.len());
            return Err(Error::new(tried(), found, "give one value a cell"));
        }
        Ok(Field { shape: shape.to_vec(), axes: (0..shape.len()).collect(), values })
    }

    /// All cells of an array of scalars.
    ///
    /// # Errors
    /// As [`read_box`](TileArray::read_box).
    ///
    /// ```
    /// use tida::prelude::*;
    ///
    /// let mut u = TileArray::<bool, 2>::builder([4, 6]).build(&TileAcc::auto()?)?;
    /// u.fill(|[j, i]| i > j)?;
    /// assert_eq!(tida_plot::Field::of(&u)?.values()[..2], [0.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of<T: Number, const D: usize>(array: &TileArray<T, D>) -> Result<Field> {
        Field::of_by(array, T::to_f64)
    }

    /// All cells of an array of any elements, of which `value` says what to show.
    ///
    /// # Errors
    /// As [`read_box`](TileArray::read_box).
    ///
    /// ```
    /// use tida::prelude::*;
    ///
    /// let mut u = TileArray::<[f32; 2], 1>::builder([5]).build(&TileAcc::auto()?)?;
    /// u.fill(|[i]| [0.0, i as f32])?;
    /// assert_eq!(tida_plot::Field::of_by(&u, |[_, second]| second.into())?.values()[3], 3.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_by<T: Element, const D: usize>(array: &TileArray<T, D>, value: impl Fn(T) -> f64) -> Result<Field> {
        Field::new(&array.shape(), array.read_box(array.domain())?.into_iter().map(value).collect())
    }

    /// The cells of an array at `index` of an axis; only these are read. What is left has one axis less.
    ///
    /// # Errors
    /// An axis or an index that the array does not have; as [`read_box`](TileArray::read_box).
    ///
    /// ```
    /// use tida::prelude::*;
    ///
    /// let mut u = TileArray::<[f32; 2], 3>::builder([4, 5, 6]).build(&TileAcc::auto()?)?;
    /// u.fill(|[k, j, _]| [k as f32, j as f32])?;
    /// let plane = tida_plot::Field::slice_of(&u, 1, 2, |[k, j]| (k + 10.0 * j).into())?;
    /// assert_eq!((plane.shape(), plane.values()[6]), (&[4, 6][..], 21.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice_of<T: Element, const D: usize>(
        array: &TileArray<T, D>,
        axis: usize,
        index: usize,
        value: impl Fn(T) -> f64,
    ) -> Result<Field> {
        check_place(&array.shape(), axis, index)?;
        let GridBox { mut lo, mut hi } = array.domain();
        (lo[axis], hi[axis]) = (index as i64, index as i64 + 1);
        let cells = GridBox::new(lo, hi);
        let values = array.read_box(cells)?.into_iter().map(value).collect();
        Field::new(&cells.extent(), values)?.slice(axis, 0)
    }

    /// Cells along each axis, slowest first.
    ///
    /// ```
    /// assert_eq!(tida_plot::Field::new(&[1, 2], vec![0.0; 2])?.shape(), [1, 2]);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The values, row-major.
    ///
    /// ```
    /// assert_eq!(tida_plot::Field::new(&[2], vec![3.0, 4.0])?.values(), [3.0, 4.0]);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// What lies at `index` of an axis, with one axis less.
    ///
    /// # Errors
    /// An axis or an index that is not there.
    ///
    /// ```
    /// let field = tida_plot::Field::new(&[2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
    /// assert_eq!(field.slice(1, 2)?.values(), [2.0, 5.0]);
    /// assert!(field.slice(1, 3).is_err());
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn slice(&self, axis: usize, index: usize) -> Result<Field> {
        check_place(&self.shape, axis, index)?;
        Ok(self.fold(axis, |line| line.nth(index).unwrap_or(f64::NAN)))
    }

    /// What a projection makes of the values along an axis, with one axis less. NaN counts in sums and means, and in
    /// the largest and smallest only where there is nothing else.
    ///
    /// # Errors
    /// An axis that is not there.
    ///
    /// ```
    /// use tida_plot::{Field, Projection};
    ///
    /// let field = Field::new(&[2, 2], vec![0.0, 1.0, f64::NAN, 3.0])?;
    /// assert_eq!(field.project(0, Projection::Max)?.values(), [0.0, 3.0]);
    /// assert_eq!(field.project(1, Projection::Sum)?.values()[0], 1.0);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn project(&self, axis: usize, projection: Projection) -> Result<Field> {
        let Some(&cells) = self.shape.get(axis) else {
            return Err(no_axis("project a field", &self.shape, axis));
        };
        Ok(match projection {
            Projection::Max => self.fold(axis, |line| line.fold(f64::NAN, f64::max)),
            Projection::Min => self.fold(axis, |line| line.fold(f64::NAN, f64::min)),
            Projection::Sum => self.fold(axis, |line| line.sum()),
            Projection::Mean => self.fold(axis, |line| line.sum::<f64>() / cells as f64),
        })
    }

    /// The field cut in the middle of its slowest axes until two are left at most.
    ///
    /// ```
    /// let field = tida_plot::Field::new(&[4, 1, 2], (0..8).map(f64::from).collect())?;
    /// assert_eq!(field.middle().values(), [4.0, 5.0]);
    /// # Ok::<(), tida_plot::Error>(())
    /// ```
    pub fn middle(mut self) -> Field {
        while self.shape.len() > 2 {
            let middle = self.shape[0] / 2;
            self = self.fold(0, |line| line.nth(middle).unwrap_or(f64::NAN));
        }
        self
    }

    /// Which axes of the array these are.
    pub(crate) fn axes(&self) -> &[usize] {
        &self.axes
    }

    /// The same with one axis folded. The axis has to be there.
    fn fold(&self, axis: usize, value: impl Fn(&mut dyn Iterator<Item = f64>) -> f64) -> Field {
        let (outer, inner) = (&self.shape[..axis], &self.shape[axis + 1..]);
        let (cells, stride) = (self.shape[axis], inner.iter().product::<usize>());
        let lines = (0..outer.iter().product()).flat_map(|block| (0..stride).map(move |i| block * cells * stride + i));
        let values = lines.map(|first| value(&mut (0..cells).map(|n| self.values[first + n * stride]))).collect();
        let without = |numbers: &[usize]| [&numbers[..axis], &numbers[axis + 1..]].concat();
        Field { shape: without(&self.shape), axes: without(&self.axes), values }
    }

    /// The same with blocks of so many cells along each of the two axes for one: the mean of those that are numbers.
    pub(crate) fn coarse(&self, [down, across]: [usize; 2]) -> Field {
        let [height, width] = [self.shape[0], self.shape[1]];
        let mut values = Vec::new();
        for top in (0..height).step_by(down.max(1)) {
            for left in (0..width).step_by(across.max(1)) {
                let rows = top..(top + down).min(height);
                let cells = rows.flat_map(|j| &self.values[j * width + left..j * width + (left + across).min(width)]);
                let numbers = cells.filter(|v| !v.is_nan());
                let (sum, count) = numbers.fold((0.0, 0usize), |(sum, count), v| (sum + v, count + 1));
                values.push(if count == 0 { f64::NAN } else { sum / count as f64 });
            }
        }
        let shape = vec![height.div_ceil(down.max(1)), width.div_ceil(across.max(1))];
        Field { shape, axes: self.axes.clone(), values }
    }

    /// The smallest and the largest finite value.
    pub(crate) fn limits(&self) -> Option<[f64; 2]> {
        limits(self.values.iter().copied())
    }
}

/// The smallest and the largest of these that is finite.
pub(crate) fn limits(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.filter(|v| v.is_finite()).fold(None, |found, v| match found {
        None => Some([v, v]),
        Some([lo, hi]) => Some([lo.min(v), hi.max(v)]),
    })
}

/// Whether an axis has such an index.
fn check_place(shape: &[usize], axis: usize, index: usize) -> Result<()> {
    let tried = || format!("take the slice at {index} of axis {axis}");
    match shape.get(axis) {
        None => Err(no_axis(&tried(), shape, axis)),
        Some(&cells) if index >= cells => {
            let found = format!("{cells} cells along this axis");
            Err(Error::new(tried(), found, "give an index below that"))
        }
        Some(_) => Ok(()),
    }
}

fn no_axis(tried: &str, shape: &[usize], axis: usize) -> Error {
    let found = format!("no axis {axis}: the shape is {shape:?}");
    Error::new(tried, found, "axes are counted from 0, slowest first")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(shape: &[usize]) -> Field {
        let cells: usize = shape.iter().product();
        Field::new(shape, (0..cells).map(|n| n as f64).collect()).unwrap()
    }

    #[test]
    fn every_axis_can_be_cut_and_projected() {
        let field = counted(&[2, 3, 4]);
        for (axis, first, last) in [(0, 12.0, 23.0), (1, 8.0, 23.0), (2, 3.0, 23.0)] {
            let index = field.shape()[axis] - 1;
            let cut = field.slice(axis, index).unwrap();
            assert_eq!((cut.values()[0], *cut.values().last().unwrap()), (first, last), "axis {axis}");
            assert_eq!(field.project(axis, Projection::Max).unwrap(), cut);
            assert_eq!(field.project(axis, Projection::Min).unwrap(), field.slice(axis, 0).unwrap());
        }
        assert_eq!(field.project(2, Projection::Sum).unwrap().values()[0], 6.0);
        assert_eq!(field.project(2, Projection::Mean).unwrap().values()[1], 5.5);
        assert_eq!(field.slice(1, 0).unwrap().axes(), [0, 2]);
        let cell = counted(&[3]).slice(0, 1).unwrap();
        assert_eq!((cell.shape(), cell.values()), (&[][..], &[1.0][..]));
    }

    #[test]
    fn fields_without_cells_stay_so() {
        let field = counted(&[0, 3]);
        assert_eq!(field.project(0, Projection::Sum).unwrap().values(), [0.0; 3]);
        assert!(field.project(0, Projection::Max).unwrap().values().iter().all(|v| v.is_nan()));
        assert!(field.slice(1, 0).unwrap().values().is_empty());
        assert_eq!((field.limits(), counted(&[0, 0, 0]).middle().shape()), (None, &[0, 0][..]));
    }

    #[test]
    fn what_is_not_there_is_said() {
        let says = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
        let field = counted(&[2, 3]);
        says(field.slice(2, 0).unwrap_err(), "tried to take the slice at 0 of axis 2; found no axis 2");
        says(field.slice(0, 2).unwrap_err(), "found 2 cells along this axis");
        says(field.project(5, Projection::Max).unwrap_err(), "the shape is [2, 3]");
        says(Field::new(&[1; 5], vec![0.0]).unwrap_err(), "found 5 axes");
        says(Field::new(&[usize::MAX, 2], vec![0.0]).unwrap_err(), "more than can be");
    }

    #[test]
    fn blocks_of_cells_have_their_mean() {
        let field = counted(&[3, 5]).coarse([2, 2]);
        assert_eq!((field.shape(), field.values()), (&[2, 3][..], &[3.0, 5.0, 6.5, 10.5, 12.5, 14.0][..]));
        let holes = Field::new(&[1, 4], vec![f64::NAN, 2.0, f64::NAN, f64::NAN]).unwrap().coarse([1, 2]);
        assert!(holes.values()[0] == 2.0 && holes.values()[1].is_nan());
    }
}
