//! The macros that hold kernels. They tell the expansion by which path it finds this crate, whatever it is called where
//! they are used.

/// A kernel: what happens in one cell. It is real Rust that runs natively, and data that tida analyses.
///
/// `kernel!(|u, v, .., at| body)` names the arrays (1 to 16) and the cell. `u[e]` reads and `u[at] = value` writes.
/// Other names in lower case are captured by value: numbers, `bool`, arrays of them and arrays of arrays, fields such
/// as `self.alpha`. A captured number has its type before the kernel: write `let dt = 0.1f32` for an `f32` kernel.
/// Paths whose last name is in upper case are constants (see below). Write the kernel inside the call that takes it:
/// its types come from there.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([4]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc)?;
/// u.fill_value(1.0)?;
/// u.fill_ghosts()?;
/// let mut next = u.like()?;
/// let weight = 0.5;
/// for tile in TileIter::new(&u) {
///     compute(&tile, (&mut next, &u), kernel!(|next, u, at| {
///         let around = u[at - [1]] + u[at + [1]];
///         next[at] = if around > 1.5 { weight * around } else { -around };
///     }))?;
/// }
/// assert_eq!(next.read_box(next.domain())?, [-1.0, 1.0, 1.0, -1.0]);
/// # Ok(()) }
/// ```
///
/// The body may have `let` (names, `_`, tuples, arrays, structs), assignments, `+ - * / % & | ^ << >> !`, comparisons,
/// `&&`, `||`, casts between numbers, the methods of numbers, `if`/`else`, `match`, `for`, `while`, `loop`, `break`,
/// `continue`, labels of loops, `return`, blocks, tuples, fixed-size arrays, `#[derive(Element)]` structs and calls of
/// [`#[kernel_fn]`](crate::kernel_fn) functions and methods. Anything else is an error on the tokens themselves. The
/// scalars are `i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64 bool`. Integers wrap at the width of their own type,
/// in debug builds too: `a * b` of two `u16` is a `u16` on every device. A number that its type does not have is an
/// error. With the feature `num-complex`, complex numbers have `+ - * /`, also with real numbers, `-z`, `==`, `!=`, and
/// methods: `tida::num_complex` lists them.
///
/// | for | a kernel may have |
/// |---|---|
/// | patterns of `match` | numbers, `true`, `false`, ranges, paths such as `i32::MAX`, <code>a \| b</code>, tuples, names, `name @ ..`, `_`; guards |
/// | the last arm | `_` or a name without a guard, or the second of `true` and `false` |
/// | what `for` runs over | `a..b`, `a..=b`, `(a..b).rev()`, `(a..b).step_by(n)`, both in either order, lists `[x, y, z]`, fixed-size arrays `w`, `&w`, `w.iter()`, and either with `.enumerate()` |
/// | labels | `'outer:` before `for`, `while` and `loop`; `break 'outer`, `continue 'outer` |
///
/// Each means what it means in Rust. A step of 0 is a division by zero, which ends the launch with an error. A constant
/// in a pattern is written as a guard, `x if x == LIMIT`. Short loops between numbers and constants, and loops over
/// lists of numbers, are as fast as what they do written out.
///
/// The values that a cell keeps while it runs take at most 64 KiB: its variables, captured arrays, and arrays and
/// structs that it makes on the way, those of the functions that it calls included. A cell runs on the stack of a
/// thread.
///
/// Names are told apart as in plain Rust, also where the kernel comes out of `macro_rules!`: a macro's own `a` is not
/// that of its caller. (Of tokens that other procedural macros make, only equal spans make equal names.)
///
/// A sum or difference is a point, that is a cell's coordinates, if one of its operands is taken for one. These are:
/// `at`, an array literal, such a sum, a local or parameter of type `[i64; n]`, and a local first set to one of these.
///
/// # Constants
///
/// A path whose last name is in upper case is a constant: `RADIUS`, `lattice::WEIGHTS`, `T::W[k]`, `Self::N`,
/// `std::f64::consts::PI`, a const parameter, a `static` without interior mutability, a field of a constant. It is what
/// a kernel captures, or a struct by `#[derive(Element)]`. Its value is part of the kernel: a GPU compiles it in. A
/// loop that constants bound, such as `1..=R as i64`, is as fast as with the numbers; so is one over the entries of
/// constant tables. A table of which entries are taken whose place is not known until the kernel runs is no part of the
/// text of a kernel, whatever its length.
///
/// A local variable is no constant. Give it a name in lower case, `let n = ..`: then it is captured.
///
/// # Generic functions
///
/// A kernel may stand in a function over `T:` [`Real`](crate::Real) or `T:` [`Number`](crate::Number), and over the
/// number of axes.
///
/// - `T::lit(0.1)` is the number of type `T` nearest to this text. The header of `kernel!(T; |next, u, at| ..)` makes
///   each number with a point, and without a type of its own, a `T`.
/// - `x.wide()` is `x` as `f64`, so that sums of `f32` are folded in `f64`.
/// - `unit(d)` is the point with 1 along axis `d` and 0 along the others. `for d in 0..D`, with `D` a constant of the
///   function, is written out, as if its body stood there once for each axis. The axis may be such a constant too,
///   `unit(AXIS)` and `at[AXIS]`.
///
/// ```
/// use tida::prelude::*;
/// fn around<T: Real, const D: usize>(sum: &mut TileArray<T, D>, u: &TileArray<T, D>) -> tida::Result<()> {
///     for tile in u.tiles() {
///         compute(&tile, (&mut *sum, u), kernel!(T; |sum, u, at| {
///             let mut s = 0.0;
///             for d in 0..D {
///                 s += u[at + unit(d)] + u[at - unit(d)];
///             }
///             sum[at] = s;
///         }))?;
///     }
///     Ok(())
/// }
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f32, 2>::builder([4, 4]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc)?;
/// u.fill_value(1.0)?;
/// u.fill_ghosts()?;
/// let mut sum = u.like()?;
/// around(&mut sum, &u)?;
/// assert_eq!(sum.read_box(GridBox::new([0, 0], [1, 4]))?, [2.0, 3.0, 3.0, 2.0]);
/// # Ok(()) }
/// ```
///
/// # What the compiler says
///
/// Where a body is no kernel, the macro says what to write instead. Some words are rustc's own:
///
/// | it says | because | write |
/// |---|---|---|
/// | implementation of `Fn` is not general enough | the kernel stands in a variable, not in the call | `let k = `[`keep`](crate::keep)`((&mut next, &u), kernel!(..));` |
/// | a kernel cannot do arithmetic on `f64` and `i64` | a coordinate is an `i64` | `at[0] as f64` |
/// | a kernel cannot do arithmetic on `{integer}` and `f64` | `2` is an integer | `2.0 * u[at]` |
/// | a kernel cannot do arithmetic on `f64` and `i32` | a captured number is of another type than what it is used with | its type where it is made, `let half = 0.5f64;`, or a cast, `half as f64` |
/// | expected `i64`, found `usize` | coordinates and offsets are `i64` | `u[at - [1]]`, `u[[at[0] - 1]]` |
/// | expected an array with a size of 2, found one with a size of 3 | an offset has a number for each axis | `u[at + [0, 1]]` |
/// | missing generics for enum `mean` | a generic `#[kernel_fn]` is called without its parameters | all of them, `mean::<T, 2>(..)` |
/// | `f64` has no method of this name that kernels can call | numbers have fewer methods in a kernel than in Rust | what numbers have: `x.sqrt()`, `x.abs()`, `x.min(y)`, .. |
/// | `Wave` has no method of this name that kernels can call | a kernel does not call plain methods | `#[kernel_fn]` above the `impl` |
/// | a kernel cannot do arithmetic on `T` and `_` | nothing says that `T` is a number | the bound `T: tida::Real` on the function |
///
/// A write at another cell than `at`, such as `u[at + [1]] = 0.0`, compiles: the call that takes the kernel returns an
/// error of kind [`Race`](crate::ErrorKind::Race). So does a read of `u` there that a tile of the same loop writes.
/// What the loop does not write may be read: cells inwards of ghosts, of which
/// [`fill_ghosts_with`](crate::fill_ghosts_with()) makes boundaries, and cells beside a face that a loop sets.
#[macro_export]
macro_rules! kernel {
    ($($kernel:tt)*) => {
        $crate::__private::kernel! { $crate; $($kernel)* }
    };
}

/// The number of type `T` that is nearest to this text, for `T: Real`.
///
/// ```
/// use tida::prelude::*;
/// fn tenth<T: Real>() -> T {
///     lit!(T, 0.1)
/// }
/// assert_eq!((tenth::<f32>(), tenth::<f64>()), (0.1, 0.1));
/// ```
///
/// In a kernel write `T::lit(0.1)`.
#[macro_export]
macro_rules! lit {
    ($t:ty, $number:literal) => {
        <$t as $crate::Real>::of_text($number, $number)
    };
}

/// A kernel over groups of cells, whose threads exchange values through shared memory: see
/// [`compute_groups`](crate::compute_groups).
///
/// `group_kernel!(|b, a, group| body)` names the arrays (1 to 16) and the group. The body declares what the group
/// shares and what each thread keeps, and then has phases. Loops and `if` around phases are the same for all threads.
///
/// | | |
/// |---|---|
/// | `let s = group.fetch(a, [1], [2]);` | `s[t]` holds `a` at the thread's cell; 1 cell before the group and 2 after it too |
/// | `let c = group.channel::<f64>([1], [1]);` | zeros: a slot for each cell of the group, 1 before and 1 after |
/// | `let c = group.shared::<f64>([256, 17]);` | zeros of any shape: slots from 0 on |
/// | `let x = group.private(0.0);` | a value that each thread has for itself and keeps from phase to phase |
/// | `group.len()` | the group's cells along each axis, `[i64; D]`: fewer at an array's end |
/// | <code>group.each(&#124;t&#124; ..);</code> | a phase: runs for the thread of each cell; all have ended before the next begins |
/// | <code>group.each_around(&#91;1&#93;, &#91;1&#93;, &#124;t&#124; ..);</code> | a phase for the cells beside the group too; it touches what is shared alone |
///
/// In a phase `t` is the thread's coordinate in its group, `[i64; D]` from 0, and `t.at()` its cell. A thread writes
/// arrays at `t.at()`, and shared arrays at slots whose first coordinates are `t`. It reads no slot that another thread
/// may write in the same phase. Sizes are numbers as written. The rest is as in [`kernel!`], generic functions
/// included: `group_kernel!(T; |b, a, group| ..)` has the header of `kernel!`, and slots may be of `T`.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut a = TileArray::<f64, 1>::builder([6]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
/// a.fill(|[i]| i as f64)?;
/// a.fill_ghosts()?;
/// let mut b = a.like()?;
/// for tile in TileIter::new(&a) {
///     compute_groups(&tile, [4], (&mut b, &a), group_kernel!(|b, a, group| {
///         let s = group.fetch(a, [1], [1]);
///         let x = group.private(0.0);
///         group.each(|t| x = s[t - [1]] + s[t + [1]]);
///         group.each(|t| b[t.at()] = 0.5 * x);
///     }))?;
/// }
/// assert_eq!(b.read_box(b.domain())?, [3.0, 1.0, 2.0, 3.0, 4.0, 2.0]);
/// # Ok(()) }
/// ```
#[macro_export]
macro_rules! group_kernel {
    ($($kernel:tt)*) => {
        $crate::__private::group_kernel! { $crate; $($kernel)* }
    };
}
