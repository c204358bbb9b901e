//! The one closure that a `kernel!` is: asked for its quotation, or to run over a box.
//!
//! Native form and quotation cannot come apart, since they are two arms of one closure, and answering with a
//! quotation takes an `unsafe` call that only the macro makes.

use std::cell::Cell;
use std::marker::PhantomData;

use tida_kernels::quote::StaticKernel;

use super::capture::{CapturedParam, Captures};
use crate::array::GridBox;
use crate::error::{Error, ErrorKind};

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

/// A quotation with the values captured.
#[derive(Debug)]
pub(crate) struct Quoted {
    pub kernel: &'static StaticKernel,
    pub captures: Captures,
}

impl Quoted {
    /// Tells its kernel from others.
    pub fn identity(&self) -> usize {
        self.kernel as *const StaticKernel as usize
    }
}

impl Answer<'_> {
    /// Answers.
    ///
    /// # Safety
    /// `kernel` describes exactly what the closure's other arms do, and `captures` are the values they use, in the
    /// order of the tree's captures.
    pub unsafe fn give(self, kernel: &'static StaticKernel, captures: &[&dyn CapturedParam]) {
        let mut list = Captures::default();
        for capture in captures {
            capture.describe(&mut list);
        }
        *self.quote = Some(Quoted { kernel, captures: list });
    }
}

/// What may run: the kernel that was analysed, with the values captured then.
#[derive(Debug)]
pub(crate) struct Pass<'b> {
    quoted: &'b Quoted,
    admitted: Cell<bool>,
}

impl<'b> Pass<'b> {
    pub fn new(quoted: &'b Quoted) -> Self {
        Pass { quoted, admitted: Cell::new(false) }
    }

    /// Whether it is that kernel, with those values.
    #[inline(never)]
    pub fn admits(&self, kernel: &'static StaticKernel, captures: &[&dyn CapturedParam]) -> bool {
        let same = std::ptr::eq(kernel, self.quoted.kernel) && {
            let mut list = Captures::default();
            for capture in captures {
                capture.describe(&mut list);
            }
            list.same(&self.quoted.captures)
        };
        self.admitted.set(same);
        same
    }

    /// The error of a closure that has not run what it quoted; asked after each run.
    pub fn check(&self) -> Result<(), Error> {
        match self.admitted.replace(false) {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Kernel,
                format!("run the kernel at {}:{}", self.quoted.kernel.file, self.quoted.kernel.line),
                "a closure that does not run the kernel it answered with",
                "pass `kernel!(|u, at| ..)` itself, not a closure around it",
            )),
        }
    }
}

/// A box of cells to run over.
#[derive(Debug)]
pub struct Run<'b, V, R, const D: usize> {
    views: &'b V,
    cells: GridBox<D>,
    out: *mut R,
    pass: &'b Pass<'b>,
    marker: PhantomData<&'b mut [R]>,
}

impl<'b, V, R, const D: usize> Run<'b, V, R, D> {
    /// A run over `cells` whose values go to `out`, in row-major order.
    ///
    /// # Safety
    /// `out` is valid for writes of as many values as there are cells (any pointer will do for a zero-sized `R`).
    pub(crate) unsafe fn new(views: &'b V, cells: GridBox<D>, out: *mut R, pass: &'b Pass<'b>) -> Self {
        Run { views, cells, out, pass, marker: PhantomData }
    }

    /// Runs `cell` at each cell of the box, last axis innermost; does nothing if `kernel` with `captures` is not what
    /// was analysed.
    ///
    /// A closure could hold two kernels, answer with the quotation of one and run the other. No safe code outside the
    /// macro has the static of a kernel, so it cannot pass here what does not belong to `cell`.
    #[inline(always)]
    pub fn each(
        self,
        kernel: &'static StaticKernel,
        captures: &[&dyn CapturedParam],
        cell: impl Fn(&V, [i64; D]) -> R,
    ) {
        if !self.pass.admits(kernel, captures) {
            return;
        }
        let GridBox { lo, hi } = self.cells;
        if (0..D).any(|d| hi[d] <= lo[d]) {
            return;
        }
        let views = self.views;
        let (first, last) = (lo[D - 1], hi[D - 1]);
        let mut out = self.out;
        let mut at = lo;
        loop {
            for i in first..last {
                let mut here = at;
                here[D - 1] = i;
                let value = cell(views, here);
                // SAFETY: at most as many values as cells are written, one after the other; `new` asked for that room.
                unsafe {
                    out.write(value);
                    out = out.add(1);
                }
            }
            let mut axis = D - 1;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                at[axis] += 1;
                if at[axis] < hi[axis] {
                    break;
                }
                at[axis] = lo[axis];
            }
        }
    }
}
