//! Kernels that are kept, and launched many times.
//!
//! A kernel takes its types from the call that it stands in. What keeps it is such a call, which gives it back.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use super::along::AtOnce;
use super::args::{Args, Infos, Views};
use super::ask::Ask;
use super::check::Rule;
use super::groups::native::AskGroups;
use super::launch::record;
use super::view::{Checked, Proven};
use crate::error::Error;
use crate::tile::Tile;

/// A [`kernel!`](crate::kernel!) for arguments `A` over cells of `D` axes, which gives `R` in each cell: a bound for
/// functions and structs that hold one, and the type of a function that returns one.
///
/// `A` are the arguments as [`compute`](crate::compute()) takes them, such as `(&'static mut TileArray<f64, 2>,
/// &'static TileArray<f64, 2>)`. Their lifetimes say nothing: the kernel runs on arrays that live as long as they like.
/// `R` is the type of a cell's value for [`reduce`](crate::reduce()).
///
/// ```
/// use tida::prelude::*;
/// type Field = TileArray<f64, 1>;
///
/// /// What a cell loses in a step.
/// fn decay(rate: f64) -> impl Kernel<1, (&'static mut Field, &'static Field)> {
///     kernel!(|next, u, at| next[at] = u[at] - rate * u[at])
/// }
///
/// struct Model<K> {
///     u: Field,
///     next: Field,
///     step: K,
/// }
///
/// impl<K: Kernel<1, (&'static mut Field, &'static Field)>> Model<K> {
///     fn steps(&mut self, n: usize) -> tida::Result<()> {
///         for _ in 0..n {
///             for tile in TileIter::new(&self.u) {
///                 compute(&tile, (&mut self.next, &self.u), self.step.clone())?;
///             }
///             std::mem::swap(&mut self.u, &mut self.next);
///         }
///         Ok(())
///     }
/// }
///
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let u = Field::builder([3]).build_slice(&acc, &[1.0, 2.0, 3.0])?;
/// let mut model = Model { next: u.like()?, u, step: decay(0.5) };
/// model.steps(2)?;
/// assert_eq!(model.u.read_box(model.u.domain())?, [0.25, 0.5, 0.75]);
/// # Ok(()) }
/// ```
pub trait Kernel<const D: usize, A: Args<D>, R = ()>:
    for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Clone + Send + Sync + 'static
{
}

impl<const D: usize, A, R, N> Kernel<D, A, R> for N
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Clone + Send + Sync + 'static,
{
}

/// A [`group_kernel!`](crate::group_kernel!) for arguments `A` over cells of `D` axes, as [`Kernel`] is a `kernel!`.
///
/// ```
/// use tida::prelude::*;
/// use tida::GroupKernel;
/// type Field = TileArray<f64, 1>;
/// fn backwards(scale: f64) -> impl GroupKernel<1, (&'static mut Field, &'static Field)> {
///     group_kernel!(|b, a, group| {
///         let s = group.fetch(a, [0], [0]);
///         group.each(|t| b[t.at()] = scale * s[[3 - t[0]]]);
///     })
/// }
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let a = Field::builder([4]).build_slice(&acc, &[1.0, 2.0, 3.0, 4.0])?;
/// let mut b = a.like()?;
/// let backwards = backwards(10.0);
/// for tile in TileIter::new(&a) {
///     compute_groups(&tile, [4], (&mut b, &a), backwards.clone())?;
/// }
/// assert_eq!(b.read_box(b.domain())?, [40.0, 30.0, 20.0, 10.0]);
/// # Ok(()) }
/// ```
pub trait GroupKernel<const D: usize, A: Args<D>>:
    for<'b> Fn(AskGroups<'b, Views<A, Proven, D>, Views<A, Checked, D>, D>) + Clone + Send + Sync + 'static
{
}

impl<const D: usize, A, N> GroupKernel<D, A> for N
where
    A: Args<D>,
    N: for<'b> Fn(AskGroups<'b, Views<A, Proven, D>, Views<A, Checked, D>, D>) + Clone + Send + Sync + 'static,
{
}

/// Keeps a kernel, to launch it many times: gives it back, typed for arguments like these.
///
/// A kernel takes its types from the call that it stands in, so `let step = kernel!(..)` alone does not compile. The
/// arguments are looked at for their types alone; the kernel then runs on all arrays of these types. Its captures are
/// those of when it was made. If they are numbers, it is `Copy`, and goes by its name into
/// [`compute`](crate::compute()), [`reduce`](crate::reduce()) and [`explain`](crate::explain()); else (a
/// [`Scalar`](crate::Scalar)) write `step.clone()`.
///
/// Where there are no arrays yet, write a function that returns an `impl` [`Kernel`], or name the type:
/// [`BoxedKernel`].
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([2]).build_slice(&acc, &[1.0, 3.0])?;
/// let mut next = u.like()?;
/// let rate = 0.5;
/// let step = keep((&mut next, &u), kernel!(|next, u, at| next[at] = u[at] + rate));
/// let square = keep(&u, kernel!(|u, at| u[at] * u[at]));
/// for _ in 0..4 {
///     for tile in TileIter::new(&u) {
///         compute(&tile, (&mut next, &u), step)?;
///     }
///     std::mem::swap(&mut u, &mut next);
/// }
/// assert_eq!(reduce(&u, Sum, square)?, 9.0 + 25.0);
/// # Ok(()) }
/// ```
pub fn keep<const D: usize, A, R, N>(args: A, kernel: N) -> N
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Clone + Send + Sync + 'static,
{
    let _ = args;
    kernel
}

/// As [`keep`], of a kernel over groups.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut a = TileArray::<f64, 1>::builder([4]).build_slice(&acc, &[1.0, 2.0, 3.0, 4.0])?;
/// let swap = tida::keep_groups(&mut a, group_kernel!(|a, group| {
///     let s = group.fetch(a, [0], [0]);
///     group.each(|t| a[t.at()] = s[[1 - t[0]]]);
/// }));
/// for tile in TileIter::new(&a) {
///     compute_groups(&tile, [2], &mut a, swap)?;
/// }
/// assert_eq!(a.read_box(a.domain())?, [2.0, 1.0, 4.0, 3.0]);
/// # Ok(()) }
/// ```
pub fn keep_groups<const D: usize, A, N>(args: A, kernel: N) -> N
where
    A: Args<D>,
    N: for<'b> Fn(AskGroups<'b, Views<A, Proven, D>, Views<A, Checked, D>, D>) + Clone + Send + Sync + 'static,
{
    let _ = args;
    kernel
}

/// Records a kernel over a tile, for arguments of which this is known and that are held so, called from there.
type Recorder<const D: usize, H> =
    dyn Fn(&Tile<D>, &Infos<'_, D>, &dyn Fn() -> H, &'static Location<'static>) -> Result<(), Error> + Send + Sync;

/// A kept kernel whose type can be named: for a field of a struct, a list of kernels, or one of several that is chosen
/// as the program runs.
///
/// `A` are the arguments as [`compute`](crate::compute()) takes them; the lifetimes of references among them say
/// nothing. It is called once for a tile, not once for a cell.
///
/// ```
/// use tida::prelude::*;
/// type Field = TileArray<f64, 1>;
/// type Step = BoxedKernel<1, (&'static mut Field, &'static Field)>;
///
/// struct Model {
///     u: Field,
///     next: Field,
///     step: Step,
/// }
///
/// fn step(grows: bool, rate: f64) -> Step {
///     match grows {
///         true => Step::new(kernel!(|next, u, at| next[at] = u[at] + rate)),
///         false => Step::new(kernel!(|next, u, at| next[at] = u[at] * rate)),
///     }
/// }
///
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let u = Field::builder([2]).build_slice(&acc, &[1.0, 3.0])?;
/// let mut model = Model { next: u.like()?, u, step: step(false, 0.5) };
/// for tile in TileIter::new(&model.u) {
///     model.step.compute(&tile, (&mut model.next, &model.u))?;
/// }
/// assert_eq!(model.next.read_box(model.next.domain())?, [0.5, 1.5]);
/// # Ok(()) }
/// ```
pub struct BoxedKernel<const D: usize, A: Args<D>> {
    record: Arc<Recorder<D, A::Held>>,
    args: PhantomData<fn(A)>,
}

impl<const D: usize, A: Args<D>> BoxedKernel<D, A> {
    /// Keeps a kernel. Its captures are those of when it was made.
    pub fn new<N>(kernel: N) -> Self
    where
        N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, (), D>) + Clone + Send + Sync + 'static,
    {
        let record = move |tile: &Tile<D>, infos: &Infos<'_, D>, hold: &dyn Fn() -> A::Held, recorded| {
            record::<AtOnce, D, _, _>(tile, Rule::Cells, infos, hold, kernel.clone(), recorded)
        };
        BoxedKernel { record: Arc::new(record), args: PhantomData }
    }

    /// Records it over the cells of a tile, as [`compute`](crate::compute()) does. `args` are of the types `A`,
    /// whatever their lifetimes.
    ///
    /// # Errors
    /// As `compute`.
    #[track_caller]
    pub fn compute<B>(&self, tile: &Tile<D>, args: B) -> Result<(), Error>
    where
        B: Args<D, Held = A::Held>,
    {
        let recorded = Location::caller();
        (self.record)(tile, &args.infos(tile.place), &|| args.hold(tile.place), recorded)
            .map_err(|e| e.recorded_at(recorded))
    }
}

impl<const D: usize, A: Args<D>> Clone for BoxedKernel<D, A> {
    fn clone(&self) -> Self {
        BoxedKernel { record: self.record.clone(), args: PhantomData }
    }
}

impl<const D: usize, A: Args<D>> fmt::Debug for BoxedKernel<D, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxedKernel").field("args", &std::any::type_name::<A>()).finish_non_exhaustive()
    }
}
