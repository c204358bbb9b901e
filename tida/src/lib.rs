//! Data-parallel computing on structured grids: arrays cut into regions, loops over tiles, kernels that are closures.
//!
//! # The model
//!
//! - **Arrays.** A [`TileArray`] holds a value for each cell of a grid of 1 to 4 axes. It is cut into **regions**.
//!   Around each region lie **ghost cells**: copies of its neighbours' cells, and beyond the faces of the domain what a
//!   [`Boundary`] says. [`fill_ghosts`] fills them.
//! - **Tiles.** A [`TileIter`] goes over the [`Tile`]s of an array: boxes of cells, each inside one region. A tile is a
//!   region, unless the loop asks for smaller ones.
//! - **Kernels.** [`compute()`] runs a [`kernel!`] over the cells of a tile. A kernel is a closure that says what
//!   happens in one cell `at`: it writes arrays at `at`, and reads them there and around it. It is compiled Rust, and
//!   tida also sees its source. So tida knows what a kernel reads before it runs, and can run it on a GPU too.
//!   [`reduce()`] makes one value from all cells.
//! - **Accelerators.** A [`TileAcc`] runs the work: on all cores, on an NVIDIA GPU, on an OpenCL device, on the CPU and
//!   a device at once, or on several devices. Data moves by itself, when and where it is needed; arrays that do not fit
//!   the device stream through it.
//! - **Recorded work.** [`compute()`], [`fill_ghosts`] and copies record work and return. It runs once what it depends
//!   on has run.
//! - **Results.** A result is there when the host reads it: [`TileArray::read_box`], [`reduce()`], [`Scalar::get`] and
//!   the like wait for the work that they need. [`TileAcc::sync`] waits for all of it.
//! - **Errors.** What would go wrong is an error of the call, before a cell is computed: a read beyond the ghosts, a
//!   race, ghosts older than the cells beside them. What shows only when a kernel runs, such as a division by zero, is
//!   an error of the host's read that needs the result.
//! - **Same bits.** Regions, tiles, threads and devices change no bit of a result. The only exceptions are functions
//!   such as `sin` and `exp`, which are each device's own.
//!
//! Coordinates are global, in cells, and count from 0. Axis 0 is the slowest, and the last axis is contiguous. There
//! are no physical units: spacings and times are the program's own. Sizes of memory are in bytes, times in seconds.
//!
//! # A first program
//!
//! Heat spreads over a torus of 128² cells from one hot quarter.
//!
//! ```
//! use tida::prelude::*;
//!
//! fn main() -> tida::Result<()> {
//!     // The best device there is; TIDA_DEVICE=cpu takes another.
//!     let acc = TileAcc::auto()?;
//!     // Four regions of 32 rows, with one ghost cell on each side.
//!     let mut u = TileArray::<f64, 2>::builder([128, 128])
//!         .regions([4, 1])
//!         .ghost(1)
//!         .boundary(Boundary::Periodic)
//!         .build(&acc)?;
//!     let mut next = u.like()?;
//!     u.fill(|[row, column]| if row < 64 && column < 64 { 1.0 } else { 0.0 })?;
//!
//!     let alpha = 0.125; // captured by the kernel
//!     for _ in 0..10 {
//!         u.fill_ghosts()?;
//!         for tile in TileIter::new(&u) {
//!             compute(&tile, (&mut next, &u), kernel!(|next, u, at| {
//!                 let around = u[at - [0, 1]] + u[at + [0, 1]] + u[at - [1, 0]] + u[at + [1, 0]];
//!                 next[at] = u[at] + alpha * (around - 4.0 * u[at]);
//!             }))?;
//!         }
//!         std::mem::swap(&mut u, &mut next);
//!     }
//!     // Ten steps are recorded. This waits for them.
//!     let heat = reduce(&u, Sum, kernel!(|u, at| u[at]))?;
//!     assert_eq!(heat, 64.0 * 64.0);
//!     Ok(())
//! }
//! ```
//!
//! # Where to go next
//!
//! | for | see |
//! |---|---|
//! | shapes, cuts, ghosts, boundaries, values on faces | [`array::TileArrayBuilder`] |
//! | values in and out | [`TileArray::fill`], [`read_box`](TileArray::read_box), [`write_box`](TileArray::write_box), [`save_npy`](TileArray::save_npy) |
//! | boxes that no one waits for, boxes of ghosts and of other arrays | [`TileArray::read_box_later`], [`read_grown_box`](TileArray::read_grown_box), [`copy_box_from`](TileArray::copy_box_from) |
//! | what a kernel may say | [`kernel!`], [`kernel_fn`], `#[derive(Element)]` |
//! | a kernel kept and launched many times | [`keep`], [`Kernel`], [`BoxedKernel`] |
//! | arguments: arrays, whole arrays, tables | [`compute::Arg`], [`all`], [`table`] |
//! | grids of half and double the resolution | [`coarse`], [`fine`] |
//! | loops over what a mask leaves | [`ActiveBlocks`], [`TileIter::active`] |
//! | sums, extremes, scalars that no one waits for | [`reduce()`], [`reduce_later`], [`dot`], [`norm`], [`axpy`] |
//! | cells in an order along an axis, relaxation in place | [`sweep_along`], [`sweep_colour`] |
//! | sums up to each cell, sums of the values of a list | [`scan`], [`accumulate`] |
//! | boundaries by kernels | [`fill_ghosts_with`] |
//! | cells that exchange values through shared memory | [`compute_groups`], [`group_kernel!`] |
//! | choosing a device, threads and limits | [`TileAcc::builder`], [`Device`] |
//! | several devices, several processes | [`TileAccBuilder::devices`], [`TileAccBuilder::ranks`] |
//! | arrays in fewer bits | [`Format`], [`array::TileArrayBuilder::storage`] |
//! | what tida made of a kernel, what ran when | [`explain`], [`explain_tile`], [`kernels`], [`Stats`], [`Timeline`] |
//! | kernels made elsewhere, devices that are not there | [`compute::PtxKernel`], [`SimDevice`], [`SimCluster`] |
//! | checkpoints | `save` and `restore`, with the feature `npz` |
//!
//! The repository has whole programs in `examples/`, and pages on speed, kernels, the environment and decisions in
//! `docs/`.
//!
//! # Features
//!
//! All but `mpi` are on by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `cuda` | NVIDIA's GPUs. Nothing of CUDA is needed to build |
//! | `opencl` | OpenCL devices. Nothing of OpenCL is needed to build |
//! | `ndarray` | arrays to and from `ndarray`, and views of regions; the crate is re-exported as `tida::ndarray` |
//! | `npz` | checkpoints of several arrays: `save` and `restore` |
//! | `num-complex` | complex numbers as elements; the crate is re-exported as `tida::num_complex` |
//! | `mpi` | one program on several ranks: [`TileAccBuilder::ranks`]. Nothing of MPI is needed to build |
//! | `avx2`, `avx512` | kernels for these vectors, beside those for every processor |
//!
//! # Where it comes from
//!
//! The model is that of TiDA and TiDA-acc (Unat, Zhang, Almgren, Shalf, Bastem). The words valid box, grown box and
//! ghost cells are AMReX's. Kernels on GPUs take much from IPMACC (Lashgar's thesis), formats of fewer bits from
//! Salehi's. Items that come from a paper name the section.
#![cfg_attr(not(all(feature = "ndarray", feature = "npz")), allow(rustdoc::broken_intra_doc_links))]

extern crate self as tida;

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "tida needs a target whose pointers have 64 bits: `usize` and `isize` are taken for u64 and i64 in kernels"
);

pub mod acc;
pub mod array;
mod backend;
mod bytes;
pub mod compute;
mod device;
mod error;
mod grid;
mod launch;
mod macros;
mod memory;
mod parallel;
mod program;
mod ranks;
mod record;
mod run;
mod sealed;
mod sync;
pub mod tile;
mod variables;

#[doc(hidden)]
pub mod __private;

pub use acc::{
    Batch, BatchPart, Compile, Device, Fuse, PlaceSpeeds, Ranks, Stats, Streamed, StreamedBy, TileAcc, TileAccBuilder,
    Timeline,
};
/// The format of an array's values. See [`array::TileArrayBuilder::storage`] and
/// [`field_storage`](array::TileArrayBuilder::field_storage).
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let range = TileArray::<f64, 1>::builder([3]).storage(Format::Range { bits: 8, min: 0.0, max: 256.0 });
/// let u = range.build_slice(&acc, &[0.1, 7.2, 200.9])?;
/// // 2^8 intervals of width 1. The centre of an interval is kept: 8 bits instead of 64.
/// assert_eq!(u.read_box(u.domain())?, [0.5, 7.5, 200.5]);
/// assert_eq!(u.storage_report()?.stored_bytes, 1);
/// # Ok(()) }
/// ```
#[doc(inline)]
pub use array::Format;
pub use array::{Boundary, Centering, Compress, Element, GridBox, Saturation, Side, TileArray, fill_ghosts};
#[cfg(feature = "npz")]
pub use array::{restore, save};
pub use backend::KernelFacts;
#[doc(hidden)]
pub use backend::sim::SimFault;
pub use backend::sim::{SimCluster, SimDevice, SimLink, SimReport};
pub use compute::{
    All, ArgMax, ArgMin, Backward, BoxedKernel, CellLists, Coarse, Colour, Direction, Explanation, Fine, Forward,
    GroupKernel, Kernel, KernelReport, Max, Min, Number, Product, ReadCounts, Real, RealOrComplex, Scalar, Scan, Sum,
    Summable, Table, accumulate, all, axpy, coarse, compute, compute_groups, dot, explain, explain_tile,
    fill_ghosts_with, fine, keep, keep_groups, kernels, norm, reduce, reduce_later, reduce_over, reduce_over_later,
    scan, sweep_along, sweep_colour, table,
};
pub use error::{Error, ErrorKind};
#[cfg(feature = "ndarray")]
pub use ndarray;
/// Complex numbers: `Complex32` and `Complex64` are elements.
///
/// In a kernel they have
///
/// - the fields `re` and `im`; `+ - * /` among them and with real numbers of their parts' type; `-z`, `==` and `!=`;
/// - `Complex64::new(re, im)`, `Complex64 { re: .., im: .. }`, `i`, `cis`, `from_polar`, and the constants `ZERO`,
///   `ONE` and `I`;
/// - `conj`, `norm`, `norm_sqr`, `l1_norm`, `arg`, `to_polar`, `scale`, `unscale`, `inv`, `finv`, `fdiv` and `powu`.
///
/// The formulas are those of `num-complex`, and so are the bits on every device, with two exceptions:
///
/// - `arg`, `to_polar`, `cis` and `from_polar` take functions of the device's library, as `sin` does.
/// - `norm` is `(re * re + im * im).sqrt()` on every device; where squares would be too large or too small for the
///   type, the parts are multiplied by a power of two before, and the root by its inverse after. `num-complex` has the
///   `hypot` of the C library here, which may differ in the last bits. `finv` and `fdiv` take this norm.
///
/// Most other methods would have other bits on each device. Write what they are made of:
///
/// | instead of | write |
/// |---|---|
/// | `z.exp()` | `Complex64::from_polar(z.re.exp(), z.im)` |
/// | `z.ln()` | `Complex64::new(z.norm().ln(), z.arg())` |
/// | `z.sqrt()` | `Complex64::from_polar(z.norm().sqrt(), 0.5 * z.arg())` |
/// | `z.powf(x)` | `Complex64::from_polar(z.norm().powf(x), x * z.arg())` |
/// | `z.powi(3)`, `z.powi(-3)` | `z.powu(3)`, `z.powu(3).inv()` |
/// | `z.sin()` | `Complex64::new(z.re.sin() * z.im.cosh(), z.re.cos() * z.im.sinh())` |
/// | `z.cos()` | `Complex64::new(z.re.cos() * z.im.cosh(), -z.re.sin() * z.im.sinh())` |
/// | `z.is_nan()` | <code>z.re.is_nan() \|\| z.im.is_nan()</code> |
///
/// Generic functions have `Complex<T>` for `T: Real`. Kernels capture complex numbers and arrays of them. [`Sum`] and
/// [`Product`] reduce them (a product on the host). [`dot`] conjugates its first argument, [`norm()`] is real, and
/// [`axpy`] takes a complex factor. On a device several steps of complex arrays run in one launch if
/// [`TileAccBuilder::fuse`] asks for it, and else one by one.
///
/// ```
/// use tida::num_complex::Complex64;
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut z = TileArray::<Complex64, 1>::builder([3]).build(&acc)?;
/// z.fill(|[i]| Complex64::new(i as f64, 1.0))?;
/// for tile in z.tiles() {
///     compute(&tile, &mut z, kernel!(|z, at| {
///         z[at] = z[at] * z[at] + 0.5;
///     }))?;
/// }
/// assert_eq!(z.read_box(z.domain())?[2], Complex64::new(3.5, 4.0));
/// # Ok(()) }
/// ```
#[cfg(feature = "num-complex")]
pub use num_complex;
/// Derives the trait [`Element`](trait@Element).
///
/// ```
/// use tida::prelude::*;
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// struct Body {
///     place: [f32; 2],
///     mass: f32,
/// }
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut bodies = TileArray::<Body, 1>::builder([3]).build(&acc)?;
/// bodies.fill(|[i]| Body { place: [i as f32, 0.0], mass: 2.0 })?;
/// let moment = reduce(&bodies, Sum, kernel!(|bodies, at| bodies[at].mass * bodies[at].place[0]))?;
/// assert_eq!(moment, 6.0);
/// # Ok(()) }
/// ```
#[doc(inline)]
pub use tida_derive::Element;
/// Marks a function that kernels call.
///
/// ```
/// use tida::prelude::*;
/// #[kernel_fn]
/// fn upwind(speed: f64, left: f64, right: f64) -> f64 {
///     if speed > 0.0 { left } else { right }
/// }
/// # fn main() -> tida::Result<()> {
/// assert_eq!(upwind(-1.0, 3.0, 4.0), 4.0); // a plain function too
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([3]).build(&acc)?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = upwind(1.0, at[0] as f64, 9.0)))?;
/// }
/// assert_eq!(u.read_box(u.domain())?, [0.0, 1.0, 2.0]);
/// # Ok(()) }
/// ```
///
/// It may have type parameters over [`Real`] or [`Number`], and `const` parameters of type `usize`. A kernel gives them
/// in the call: `upwind::<T>(..)`. Parameters may be taken apart: `fn f((a, b): (f64, f64), Wave { h, .. }: Wave)`.
///
/// # Constants
///
/// The body sees its parameters, and constants by plain paths in upper case: `GAMMA`, `gas::GAMMA`,
/// `std::f64::consts::PI`, `f64::EPSILON`, `T::ONE`. They are numbers, `bool`, fixed-size arrays of these, and structs
/// with `#[derive(Element)]`. Their values are known when the kernel is analysed and compiled.
///
/// # Methods
///
/// On the `impl` of a struct with `#[derive(Element)]` it makes all functions in it callable in kernels: `w.energy()`
/// and `Wave::of(1.0)`. They stay plain methods too. `self` and `&self` are the same in a kernel: values are copied.
///
/// ```
/// use tida::prelude::*;
/// const GRAVITY: f64 = 9.81;
///
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// struct Wave {
///     h: f64,
///     speed: f64,
/// }
///
/// #[kernel_fn]
/// impl Wave {
///     const REST: f64 = 0.0;
///
///     fn of(h: f64) -> Self {
///         Self { h, speed: Self::REST }
///     }
///
///     fn energy(&self) -> f64 {
///         0.5 * self.h * (GRAVITY * self.h + self.speed * self.speed)
///     }
/// }
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let mut u = TileArray::<Wave, 1>::builder([4]).build(&acc)?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = Wave::of(at[0] as f64)))?;
/// }
/// let energy = reduce(&u, Max, kernel!(|u, at| u[at].energy()))?;
/// assert_eq!(energy, Wave::of(3.0).energy());
/// # Ok(()) }
/// ```
///
/// A method with a name that numbers have, such as `min`, or with the name `len`, `clone`, `iter`, `map`, `into` or
/// `from`, is called by its path: `Wave::min(a, b)`. The struct has no parameters, and neither have its methods.
#[doc(inline)]
pub use tida_derive::kernel_fn;
/// The floats of a device: exact, or fast. See [`TileAccBuilder::math`].
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::builder().math(tida::Math::Fast).build()?;
/// # drop(acc);
/// # Ok(()) }
/// ```
#[doc(inline)]
pub use tida_kernels::plan::Math;
/// What a device reads an argument through. See [`TileIter::cache`].
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut a = TileArray::<f64, 1>::builder([100]).build(&acc)?;
/// a.fill_value(0.5)?;
/// let mut sums = a.like()?;
/// for tile in TileIter::new(&sums).cache(1, Cache::Tile) {
///     compute(&tile, (&mut sums, all(&a)), kernel!(|sums, a, at| {
///         let mut sum = 0.0;
///         for k in 0..100 {
///             sum += a[[k]];
///         }
///         sums[at] = sum;
///     }))?;
/// }
/// assert_eq!(sums.read_box(sums.domain())?, [50.0; 100]);
/// # Ok(()) }
/// ```
#[doc(inline)]
pub use tida_kernels::plan::cache::Cache;
pub use tile::{ActiveBlocks, Tile, TileIter};

/// The README's program, which is tested with those of these pages.
#[cfg(all(doctest, feature = "ndarray"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The result of most calls.
///
/// ```
/// use tida::prelude::*;
/// fn norm_of_ones(cells: usize) -> tida::Result<f64> {
///     let acc = TileAcc::auto()?;
///     let mut u = TileArray::<f64, 1>::builder([cells]).build(&acc)?;
///     u.fill_value(1.0)?;
///     norm(&u)
/// }
/// assert_eq!(norm_of_ones(4).unwrap(), 2.0);
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

pub mod prelude {
    //! What most programs need: `use tida::prelude::*`.
    pub use crate::{
        ActiveBlocks, ArgMax, ArgMin, Backward, Boundary, BoxedKernel, Cache, CellLists, Centering, Colour, Compress,
        Device, Element, Error, ErrorKind, Format, Forward, Fuse, GridBox, Kernel, Max, Min, Number, Product, Real,
        Saturation, Scalar, Scan, Side, Sum, Tile, TileAcc, TileArray, TileIter, accumulate, all, axpy, coarse,
        compute, compute_groups, dot, fill_ghosts, fill_ghosts_with, fine, group_kernel, keep, kernel, kernel_fn, lit,
        norm, reduce, reduce_later, reduce_over, reduce_over_later, scan, sweep_along, sweep_colour, table,
    };
}
