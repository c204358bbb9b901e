//! The one closure that a `kernel!` is: asked for its quotation, or to run over a box.
//!
//! Native form and quotation cannot come apart. To answer with a quotation and to run a body both take an `unsafe` call
//! that only the macro makes, and both carry the kernel's marker: what runs has to have the marker of what was
//! analysed.

use std::cell::Cell;
use std::hint::{assert_unchecked, black_box};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use tida_kernels::element::ScalarType;
use tida_kernels::quote::{StaticFunction, StaticKernel};
use tida_kernels::scalar::{Fault, fault};

use super::segments::{Combine, segments};
use super::stage::{Buffer, Copied, Reads, STRETCH, StagedViews, has_room, is_staged, pairs};
use super::view::Way;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::capture::{CapturedParam, Captures};
use crate::launch::prepare::{Prepared, fault_error};
use crate::launch::quoted::{KernelId, Quoted};
use crate::program::colour::CellColour;
use crate::program::order::Order;

/// What a kernel is asked.
///
/// `P` and `C` are the views of the arguments, proven and checked; `R` is what a cell gives.
#[derive(Debug)]
pub enum Ask<'b, P, C, R, const D: usize> {
    /// Say what you are.
    Quote(Answer<'b>),
    /// Run over a box in which every access was proven in range.
    Proven(Run<'b, P, R, D>),
    /// Run over a box, checking each access.
    Checked(Run<'b, C, R, D>),
}

/// Where a kernel puts its quotation.
#[derive(Debug)]
pub struct Answer<'b> {
    pub(crate) quote: &'b mut Option<Quoted>,
}

/// Answers.
///
/// # Safety
/// `kernel` and `methods` describe exactly what those bodies do that run with a marker of type `M`, and `captures` are
/// the values they use, in the order of the tree's captures.
pub unsafe fn give<M: 'static>(
    answer: Answer<'_>,
    _marker: M,
    kernel: &'static StaticKernel,
    captures: &[&dyn CapturedParam],
    methods: &[&'static StaticFunction],
) {
    let (methods, list) = (methods.into(), Captures::default());
    let quoted = answer.quote.insert(Quoted { id: KernelId::of::<M>(), kernel, methods, captures: list, tables: 0 });
    captures.iter().for_each(|capture| capture.describe(&mut quoted.captures));
}

/// Cells that one comparison of two addresses takes as long as, about.
const PAIR: i64 = 8;

/// Cells of a row, below which those of a colour run one by one.
const SHORT: i64 = 16;

/// The lowest and the highest offset from a cell along each of four axes.
pub(crate) type Around = [(i64, i64); 4];

/// What may run: the kernel that was analysed, with the values captured then.
#[derive(Debug)]
pub(crate) struct Pass<'b> {
    quoted: &'b Quoted,
    /// What its numbers were taken for.
    numbers: &'b [ScalarType],
    /// Rust took one of them for the first of these types, and the analysis for the second.
    differs: Cell<Option<[ScalarType; 2]>>,
    /// It has run since this was last asked.
    ran: Cell<bool>,
    /// It has folded its segments since this was last asked.
    folded: Cell<bool>,
    /// Some cell may raise a fault.
    may_fault: bool,
    /// Each cell gives a value to all that it writes, and reads none of it before.
    overwrites: bool,
    /// Cells read others of what they write, from where these are.
    in_place: bool,
    /// The axis along which cells run in order, and whether from the last to the first.
    along: Option<(usize, bool)>,
    /// The colour of the cells that run, if not all do.
    colour: Option<CellColour>,
    /// How far around it a cell reads what is written, along each axis, if cells of other colours may run for nothing.
    around: Option<Around>,
    /// A cell then waits long for the one before it.
    waits: bool,
    /// The fault of the first cell in row-major order, and that cell, or the first of the stretch of its row.
    fault: Cell<Option<(Fault, [i64; 4])>>,
}

impl<'b> Pass<'b> {
    /// Faults that the thread has raised before are forgotten.
    pub fn new(quoted: &'b Quoted, numbers: &'b [ScalarType], may_fault: bool) -> Self {
        fault::take();
        let (differs, ran, folded, fault) = Default::default();
        let (overwrites, in_place, along, colour, around, waits) = Default::default();
        Pass {
            quoted,
            numbers,
            differs,
            ran,
            folded,
            may_fault,
            overwrites,
            in_place,
            along,
            colour,
            around,
            waits,
            fault,
        }
    }

    /// The same of a kernel that reads other cells of what it writes, if it does, over cells that run in this order, if
    /// they do.
    pub fn in_place(self, in_place: bool, order: Option<Order>, rank: usize) -> Self {
        let along = order.and_then(|order| Some(((order.axis + rank).checked_sub(4)?, order.backward)));
        Pass { in_place, along, ..self }
    }

    /// The same over cells of a colour. Where that is given, other cells may run for nothing, which read so far around
    /// them of what is written.
    pub fn coloured(self, colour: Option<CellColour>, around: Option<Around>) -> Self {
        Pass { colour, around, ..self }
    }

    /// Whether all cells of a row between these may run, though every second one alone has the colour and writes: they
    /// read nothing that another thread may write, which is what is written beyond the box.
    #[inline(always)]
    pub fn may_run_all<const D: usize>(&self, at: [i64; D], [begins, end]: [i64; 2], cells: &GridBox<D>) -> bool {
        let Some(around) = &self.around else { return false };
        (0..D).all(|d| {
            let (lo, hi) = (d + 4).checked_sub(D).map_or((0, 0), |axis| around[axis]);
            // The first and the last one have the colour.
            let (first, last) = if d + 1 == D { (begins + 1, end - 2) } else { (at[d], at[d]) };
            cells.lo[d] <= first + lo && last + hi < cells.hi[d]
        })
    }

    /// Of the cells of a row from this one on, how many come before the first that runs, and how far those that run
    /// are apart; none of rows in which none does.
    #[inline(always)]
    pub fn of_row<const D: usize>(&self, at: [i64; D]) -> Option<(i64, i64)> {
        let Some(colour) = &self.colour else { return Some((0, 1)) };
        let at = std::array::from_fn(|d| (d + D).checked_sub(4).map_or(0, |axis| at[axis]));
        colour.has_row(at).then(|| (colour.begins(at), colour.every[3]))
    }

    /// Whether a cell runs.
    #[inline(always)]
    pub fn runs<const D: usize>(&self, at: [i64; D]) -> bool {
        self.of_row(at).is_some_and(|(before, _)| before == 0)
    }

    /// Whether not all cells run.
    #[inline(always)]
    pub fn is_coloured(&self) -> bool {
        self.colour.is_some()
    }

    /// The same of cells that wait long for the one before them, if they do.
    pub fn waiting(self, waits: bool) -> Self {
        Pass { waits, ..self }
    }

    /// The axis along which cells run in order, if they do.
    #[inline(always)]
    pub fn axis(&self) -> Option<usize> {
        self.along.map(|(axis, _)| axis)
    }

    /// Whether lines that have an order had best run together.
    #[inline(always)]
    pub fn waits(&self) -> bool {
        self.waits && !self.may_fault
    }

    /// Whether rows of a box follow one another in order, and are so long that it pays to compare addresses for each:
    /// the loop over their cells has vectors then.
    #[inline(always)]
    pub fn compares<W: Reads, V: StagedViews<D>, const D: usize>(&self, cells: &GridBox<D>) -> bool {
        let pairs = const { pairs(&V::SIZES, W::COUNTS) } as i64;
        D > 1 && self.axis() == Some(D - 2) && cells.hi[D - 1] - cells.lo[D - 1] >= PAIR.saturating_mul(pairs)
    }

    /// The cell of a box whose turn it is when that of `at` would be, did cells run from the first to the last.
    #[inline(always)]
    pub fn turned<const D: usize>(&self, at: [i64; D], cells: &GridBox<D>) -> [i64; D] {
        // (No axis by its number, which the compiler does not know.)
        std::array::from_fn(|d| match self.along {
            Some((axis, true)) if axis == d => cells.lo[d] + cells.hi[d] - 1 - at[d],
            _ => at[d],
        })
    }

    /// The same of a kernel of which each cell gives a value to all that it writes, and reads none of it before, if it
    /// does.
    pub fn overwriting(self, overwrites: bool) -> Self {
        Pass { overwrites, ..self }
    }

    /// Whether some cell may raise a fault.
    #[inline(always)]
    pub fn may_fault(&self) -> bool {
        self.may_fault
    }

    /// Takes what was raised since this was last called by a cell, or in a stretch of a row that starts with it.
    #[inline(always)]
    pub fn watch<const D: usize>(&self, cell: [i64; D]) {
        if self.may_fault && fault::is_raised() {
            self.keep(std::array::from_fn(|d| (d + D).checked_sub(4).map_or(0, |axis| cell[axis])));
        }
    }

    #[cold]
    fn keep(&self, cell: [i64; 4]) {
        if let Some(fault) = fault::take()
            && self.fault.get().is_none_or(|(_, known)| cell < known)
        {
            self.fault.set(Some((fault, cell)));
        }
    }

    /// The error of the first fault, if one was raised.
    pub fn fault(&self, prepared: &Prepared) -> Result<(), Error> {
        match self.fault.take() {
            Some((fault, cell)) => Err(fault_error(fault, prepared).at_cell(cell)),
            None => Ok(()),
        }
    }

    /// Whether the kernel of marker `M` with these values, and these types of its numbers, is what was analysed.
    #[inline(never)]
    pub fn admits<M: 'static>(&self, captures: &[&dyn CapturedParam], numbers: &[ScalarType]) -> bool {
        let known = self.quoted.held();
        let same = captures.len() == known.len() && captures.iter().zip(known).all(|(held, known)| held.is(known));
        if KernelId::of::<M>() != self.quoted.id || !same {
            return false;
        }
        let differs = numbers.iter().zip(self.numbers).find(|(rust, here)| rust != here);
        self.differs.set(differs.map(|(rust, here)| [*rust, *here]));
        numbers == self.numbers
    }

    /// Says that it has run over the whole box.
    pub fn has_run(&self) {
        self.ran.set(true);
    }

    /// Whether a kernel that has run has folded its segments ([`Run::folding`]), and has given no values.
    #[inline(always)]
    pub fn has_folded(&self) -> bool {
        self.folded.replace(false)
    }

    /// The error of a closure that has not run what it quoted. To be asked after each time that the closure was called.
    #[inline(always)]
    pub fn check(&self) -> Result<(), Error> {
        match self.ran.replace(false) {
            true => Ok(()),
            false => Err(self.refused()),
        }
    }

    #[cold]
    fn refused(&self) -> Error {
        let tried = format!("run the kernel at {}:{}", self.quoted.kernel.file, self.quoted.kernel.line);
        if let Some([rust, here]) = self.differs.get() {
            return Error::new(
                ErrorKind::Kernel,
                tried,
                format!("a number in it that Rust takes for {} and the analysis for {}", rust.name(), here.name()),
                "write the types of its numbers, such as `0i64..n`; a bound on the function around it may decide them",
            );
        }
        Error::new(
            ErrorKind::Kernel,
            tried,
            "a closure that does not run the kernel it answered with",
            "pass `kernel!(|u, at| ..)` itself, not a closure around it",
        )
    }
}

/// A box of cells to run over.
#[derive(Debug)]
pub struct Run<'b, V, R, const D: usize> {
    views: &'b V,
    cells: GridBox<D>,
    out: *mut R,
    /// How segments may be folded at once.
    combine: Option<Combine<R>>,
    /// Where to, if they are; else null. (The two are apart so that the compiler knows the function.)
    to: *mut R,
    pass: &'b Pass<'b>,
    marker: PhantomData<&'b mut [R]>,
}

/// A box of cells with the native form of the kernel that is to run over it.
pub struct RunCells<'b, V, R, const D: usize, F> {
    run: Run<'b, V, R, D>,
    cell: F,
}

impl<'b, V, R, const D: usize> Run<'b, V, R, D> {
    /// A run over `cells` whose values go to `out`, in row-major order.
    ///
    /// # Safety
    /// `out` is valid for writes of as many values as there are cells (any pointer will do for a zero-sized `R`).
    pub(crate) unsafe fn new(views: &'b V, cells: GridBox<D>, out: *mut R, pass: &'b Pass<'b>) -> Self {
        Run { views, cells, out, combine: None, to: std::ptr::null_mut(), pass, marker: PhantomData }
    }

    /// The same, which may fold each segment while its values are at hand, instead of giving values: `to` takes what
    /// they fold to, one after the other. Then the pass says that it [has folded](Pass::has_folded). Nothing is folded
    /// if `to` is null. There is no room for values if it `has_to`: a kernel that does not fold does not run then.
    ///
    /// # Safety
    /// If `to` is not null, each row consists of whole segments, and it is valid for writes of as many values as there
    /// are segments.
    #[inline(always)]
    pub(crate) unsafe fn folding(self, combine: Combine<R>, to: *mut R, has_to: bool) -> Self {
        let out = if has_to { std::ptr::null_mut() } else { self.out };
        Run { combine: Some(combine), to, out, ..self }
    }

    /// Its views, cells, where their values go (null if there is no room for any), and what may run.
    #[inline(always)]
    pub(super) fn parts(self) -> (&'b V, GridBox<D>, *mut R, &'b Pass<'b>) {
        (self.views, self.cells, self.out, self.pass)
    }
}

/// The views, where the compiler sees that no write of a cell changes them.
#[inline(always)]
pub(super) fn copied<V>(views: &V) -> ManuallyDrop<V> {
    // SAFETY: what it holds is not dropped with it, and is there as long as the views are, which nothing changes.
    ManuallyDrop::new(unsafe { std::ptr::read(views) })
}

/// Takes the body of a kernel. Nothing runs yet, so that the user's tokens stand in no `unsafe` block.
#[inline(always)]
pub fn body<'b, V, R, const D: usize, F: Fn(&V, [i64; D]) -> R>(
    run: Run<'b, V, R, D>,
    cell: F,
) -> RunCells<'b, V, R, D, F> {
    RunCells { run, cell }
}

/// Runs the body at each cell of the box, last axis innermost; does nothing if the kernel of marker `M` with
/// `captures`, its numbers taken for `numbers`, is not what was analysed. (A closure could hold two kernels, answer
/// with one and run the other.) `W` says what a cell reads.
///
/// # Safety
/// The quotation that is given with a marker of type `M` describes exactly what the body does, with these values of
/// its captures, if its numbers are taken for these types.
#[inline(always)]
pub unsafe fn each<M: 'static, W: Reads, V: StagedViews<D>, R, const D: usize, F: Fn(&V, [i64; D]) -> R>(
    body: RunCells<'_, V, R, D, F>,
    _marker: M,
    captures: &[&dyn CapturedParam],
    numbers: &[ScalarType],
    _reads: W,
) {
    body.each::<M, W>(captures, numbers);
}

impl<V: StagedViews<D>, R, const D: usize, F: Fn(&V, [i64; D]) -> R> RunCells<'_, V, R, D, F> {
    #[inline(always)]
    fn each<M: 'static, W: Reads>(self, captures: &[&dyn CapturedParam], numbers: &[ScalarType]) {
        let RunCells { run: Run { views, cells, out, combine, to, pass, .. }, cell } = self;
        if !pass.admits::<M>(captures, numbers) {
            return;
        }
        // (The copy is for the compiler to take apart: it would not if another function saw it.)
        let copy = &*copied(views);
        // (Asked of a constant, so that other kernels have no such loop, not even one that never runs.)
        if const { V::WHOLE } && !copy.are_alone() {
            if !out.is_null() {
                // (What another function sees, the compiler takes for changed by each write of a cell.)
                let cell = &*copied(&cell);
                // SAFETY: `Run::new` asked for room for every cell of the box.
                unsafe { rows_of_regions::<W, _, _, D>(views, cell, cells, out, pass) };
                pass.has_run();
            }
            return;
        }
        if let Some(combine) = combine
            // (Known as the kernel is built: others have no loop over segments, of which none would run.)
            && const { size_of::<R>() > 0 && matches!(V::WAY, Way::Any) && W::PLAIN && !V::CHECKED }
            && !to.is_null()
        {
            // SAFETY: `Run::folding` asked for room for every segment.
            unsafe { segments(copy, &cell, cells, combine, to) };
            pass.folded.set(true);
            return pass.has_run();
        }
        if out.is_null() {
            return;
        }
        // SAFETY: `Run::new` asked for room for every cell of the box.
        unsafe {
            // A row may read the row before it: compared for all rows at once, addresses overlap.
            if const { V::WAY.is_ordered() } && pass.compares::<W, V, D>(&cells) {
                rows::<W, _, _, D, true>(copy, &cell, cells, out, pass)
            } else {
                rows::<W, _, _, D, false>(copy, &cell, cells, out, pass)
            }
        }
        pass.has_run();
    }
}

/// [`rows`] of whole arrays of which a cell may read several regions: each read looks for its own, and there are no
/// vectors. It stands apart, once for all instruction sets.
///
/// # Safety
/// As [`rows`].
#[cold]
#[inline(never)]
unsafe fn rows_of_regions<W: Reads, V: StagedViews<D>, R, const D: usize>(
    views: &V,
    cell: &impl Fn(&V, [i64; D]) -> R,
    cells: GridBox<D>,
    out: *mut R,
    pass: &Pass<'_>,
) {
    // SAFETY: handed on.
    unsafe { rows::<W, _, _, D, false>(views, cell, cells, out, pass) };
}

/// Runs the cells of a box, row by row. With `APART` the compiler sees one row at a time, and compares addresses for
/// each.
///
/// # Safety
/// `out` has room for the values of all cells, one after the other.
#[inline(always)]
unsafe fn rows<W: Reads, V: StagedViews<D>, R, const D: usize, const APART: bool>(
    views: &V,
    cell: &impl Fn(&V, [i64; D]) -> R,
    cells: GridBox<D>,
    mut out: *mut R,
    pass: &Pass<'_>,
) {
    let GridBox { lo, hi } = cells;
    if (0..D).any(|d| hi[d] <= lo[d]) {
        return;
    }
    if const { V::WAY.is_ordered() && !APART } && pass.axis() == Some(D - 1) {
        // SAFETY: handed on.
        return unsafe { lines(views, cell, cells, out, pass) };
    }
    let (first, last) = (lo[D - 1], hi[D - 1]);
    let mut next = lo;
    loop {
        let mut at = if const { matches!(V::WAY, Way::Backward) } { pass.turned(next, &cells) } else { next };
        if APART && D > 1 {
            at[D - 2] = black_box(at[D - 2]);
        }
        // SAFETY: at most as many values as cells are written, one after the other: the caller's promise.
        out = unsafe {
            if const { matches!(V::WAY, Way::Coloured) } {
                row_of_colour::<W, _, _, D>(views, cell, at, &cells, out, pass)
            } else if const { is_staged(&V::SIZES, W::COUNTS) } && !pass.in_place {
                let (mut from, mut out) = (first, out);
                while from < last {
                    let to = last.min(from + STRETCH as i64);
                    out = stretch(views, cell, at, [from, to], out, (!pass.overwrites, Copied::Back));
                    from = to;
                }
                out
            } else if const { D > 0 && (W::HALVED >> (D - 1)) & 1 == 1 } {
                row_of_pairs(views, cell, at, [first, last], out)
            } else {
                row(views, cell, at, [first, last], out)
            }
        };
        pass.watch(at);
        let mut axis = D - 1;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            next[axis] += 1;
            if next[axis] < hi[axis] {
                break;
            }
            next[axis] = lo[axis];
        }
    }
}

/// Runs the cells of a row that lie between two, and says where the next value goes.
///
/// # Safety
/// `out` has room for their values.
#[inline(always)]
unsafe fn row<V, R, const D: usize>(
    views: &V,
    cell: &impl Fn(&V, [i64; D]) -> R,
    at: [i64; D],
    [first, last]: [i64; 2],
    mut out: *mut R,
) -> *mut R {
    for i in first..last {
        let mut here = at;
        here[D - 1] = i;
        let value = cell(views, here);
        // SAFETY: the caller's promise.
        unsafe {
            out.write(value);
            out = out.add(1);
        }
    }
    out
}

/// As [`row`], two neighbours at a time. Where a cell reads at half of its own place, the compiler knows of a pair that
/// its cells read the same, and that the next pair reads the next: without pairs it gathers.
///
/// # Safety
/// As [`row`].
#[inline(always)]
unsafe fn row_of_pairs<V, R, const D: usize>(
    views: &V,
    cell: &impl Fn(&V, [i64; D]) -> R,
    at: [i64; D],
    [first, last]: [i64; 2],
    mut out: *mut R,
) -> *mut R {
    let mut i = first;
    while i < last {
        let (pair, end) = (i / 2, last / 2);
        if i % 2 != 0 || pair < 0 || pair >= end || end > 1 << 40 {
            // SAFETY: the caller's promise: each cell of the row comes once, in order.
            out = unsafe { row(views, cell, at, [i, i + 1], out) };
            i += 1;
            continue;
        }
        for pair in pair..end {
            // SAFETY: as above; the pair lies between two numbers that were looked at.
            unsafe {
                assert_unchecked((0..1 << 40).contains(&pair));
                out = row(views, cell, at, [2 * pair, 2 * pair + 1], out);
                out = row(views, cell, at, [2 * pair + 1, 2 * pair + 2], out);
            }
        }
        i = 2 * end;
    }
    out
}

/// The same of the cells of a colour. If that is every second cell, all cells run that may, and those of the colour
/// alone write: vectors are made of cells that follow one another.
///
/// # Safety
/// As [`row`].
#[inline(always)]
unsafe fn row_of_colour<W: Reads, V: StagedViews<D>, R, const D: usize>(
    views: &V,
    cell: &impl Fn(&V, [i64; D]) -> R,
    at: [i64; D],
    cells: &GridBox<D>,
    out: *mut R,
    pass: &Pass<'_>,
) -> *mut R {
    let (first, last) = (cells.lo[D - 1], cells.hi[D - 1]);
    // SAFETY: the caller's promise.
    let next = unsafe { out.add((last - first) as usize) };
    let Some((before, every)) = pass.of_row(at) else { return next };
    let begins = first + before;
    // The cell after the last one of the colour, if that is every second cell.
    let end = last - (last - begins + 1).rem_euclid(2);
    let all = const { W::BLIND && !V::CHECKED && has_room(&V::SIZES) }
        && every == 2
        && end - begins >= SHORT
        && pass.may_run_all(at, [begins, end], cells);
    if !all {
        // SAFETY: the caller's promise. (The compiler knows how far they are apart, mostly.)
        unsafe {
            match every {
                2 => row_every(views, cell, at, [first, begins, last], out, 2),
                _ => row_every(views, cell, at, [first, begins, last], out, every),
            }
        }
        return next;
    }
    let mut from = begins;
    while from < end {
        let to = end.min(from + STRETCH as i64);
        // SAFETY: the caller's promise; no other thread writes the cells between, or accesses those of the colour. (A
        // stretch has an even number of cells: each begins with one of the colour.)
        unsafe {
            let out = out.add((from - first) as usize);
            stretch(views, cell, at, [from, to], out, (!pass.overwrites, Copied::HalfBack));
        }
        from = to;
    }
    next
}

/// Runs the cells of a row between `begins` and `last` that are so far apart. The values go where those of all cells
/// from `first` on would.
///
/// # Safety
/// As [`row`].
#[inline(always)]
unsafe fn row_every<V, R, const D: usize>(
    views: &V,
    cell: &impl Fn(&V, [i64; D]) -> R,
    at: [i64; D],
    [first, begins, last]: [i64; 3],
    out: *mut R,
    every: i64,
) {
    let mut here = at;
    here[D - 1] = begins;
    while here[D - 1] < last {
        let value = cell(views, here);
        // SAFETY: the caller's promise.
        unsafe { out.add((here[D - 1] - first) as usize).write(value) };
        here[D - 1] += every;
    }
}

/// Lines along the last axis that run together: each cell waits for the one before it on its own line alone.
pub(super) const LINES: usize = 8;

/// Runs the cells of a box whose lines lie along the last axis and have an order. Where a cell waits long for the one
/// before it, several lines run together, so that the processor has work meanwhile.
///
/// # Safety
/// As [`rows`].
#[inline(always)]
unsafe fn lines<V: StagedViews<D>, R, const D: usize>(
    views: &V,
    cell: &impl Fn(&V, [i64; D]) -> R,
    cells: GridBox<D>,
    out: *mut R,
    pass: &Pass<'_>,
) {
    let [lo, hi] = [cells.lo, cells.hi];
    let length = hi[D - 1] - lo[D - 1];
    let (mut next, mut done) = (lo, 0);
    loop {
        let left = if D > 1 { hi[D - 2] - next[D - 2] } else { 1 };
        let together = left >= LINES as i64 && pass.waits();
        let count = if together { LINES } else { 1 };
        // SAFETY: the caller's promise: there is room for the values of these lines after those of the lines before.
        let from = unsafe { out.add(done) };
        for n in 0..length {
            let mut here = next;
            here[D - 1] = if const { matches!(V::WAY, Way::Backward) } { hi[D - 1] - 1 - n } else { lo[D - 1] + n };
            let place = (here[D - 1] - lo[D - 1]) as usize;
            if together {
                for line in 0..LINES {
                    let mut here = here;
                    if D > 1 {
                        here[D - 2] += line as i64;
                    }
                    let value = cell(views, here);
                    // SAFETY: as above.
                    unsafe { from.add(line * length as usize + place).write(value) };
                }
            } else {
                let value = cell(views, here);
                // SAFETY: as above.
                unsafe { from.add(place).write(value) };
                if const { matches!(V::WAY, Way::Backward) } {
                    pass.watch(here);
                }
            }
        }
        pass.watch(next);
        done += count * length as usize;
        if D == 1 {
            return;
        }
        next[D - 2] += count as i64;
        let mut axis = D - 2;
        while next[axis] >= hi[axis] {
            if axis == 0 {
                return;
            }
            next[axis] = lo[axis];
            axis -= 1;
            next[axis] += 1;
        }
    }
}

/// As [`row`] by way of a buffer, into which what is there is copied first if they `fetch`, and of which `back` says
/// what is copied to the arrays.
///
/// # Safety
/// As [`row`]; the cells are in the arrays that are written, and at most [`STRETCH`]. No one else accesses those that
/// are copied back, or writes the others.
#[inline(always)]
unsafe fn stretch<V: StagedViews<D>, R, const D: usize>(
    views: &V,
    cell: &impl Fn(&V, [i64; D]) -> R,
    at: [i64; D],
    [first, last]: [i64; 2],
    out: *mut R,
    (fetch, back): (bool, Copied),
) -> *mut R {
    let mut buffer = Buffer::new();
    let memory = buffer.start();
    let (mut start, n) = (at, (last - first) as usize);
    start[D - 1] = first;
    let mut staged = copied(views);
    staged.stage(memory, start);
    // SAFETY: the caller's promise; `is_staged` has said that the bytes of a stretch fit.
    unsafe {
        if fetch {
            views.copy(memory, start, n, Copied::There);
        }
        let out = row(&*staged, cell, at, [first, last], out);
        views.copy(memory, start, n, back);
        out
    }
}

impl<V, R, const D: usize, F> std::fmt::Debug for RunCells<'_, V, R, D, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunCells").field("cells", &self.run.cells).finish_non_exhaustive()
    }
}
