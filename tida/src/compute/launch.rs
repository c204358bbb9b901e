//! `compute`, and how a recorded kernel runs natively.

use std::any::TypeId;
use std::panic::Location;
use std::sync::Arc;

use tida_kernels::ir::Type;
use tida_kernels::scalar::{Fault, fault};

use super::args::Args;
use super::ask::{Answer, Ask, Pass, Quoted, Run};
use super::check::{Target, check};
use super::prepare::{Prepared, prepare};
use super::view::{Checked, Proven};
use crate::acc::sweep::Launch;
use crate::array::GridBox;
use crate::backend::cpu;
use crate::error::{Error, ErrorKind};
use crate::tile::Tile;

/// Asks a kernel for its quotation.
pub(crate) fn quote<P, C, R, N, const D: usize>(kernel: &N) -> Result<Quoted, Error>
where
    N: for<'b> Fn(Ask<'b, P, C, R, D>),
{
    let mut quote = None;
    kernel(Ask::Quote(Answer { quote: &mut quote }));
    quote.ok_or_else(|| {
        Error::new(
            ErrorKind::Kernel,
            "ask a kernel what it does",
            "a closure that does not answer",
            "write it with `kernel!(|u, at| ..)`",
        )
    })
}

/// Records a kernel over the cells of a tile, and returns.
///
/// `args` is one argument or a tuple of up to 8: `&u`, `&mut u`, [`all`](super::all)`(&a)`,
/// [`table`](super::table)`(&s)`. The kernel writes `&mut` arguments at `at` alone; it reads the others around `at`,
/// as far as their ghosts reach. Arrays have the cuts of the tile's array; their ghosts and centring are their own.
///
/// # Errors
/// What can be known now is reported now: a kernel that cannot be typed, a read past the ghosts, ghosts that are older
/// than the cells beside them, a race, arrays of other cuts. What only running shows (a division by zero, a computed
/// index out of range) comes out at the next host read of what it wrote and at [`TileAcc::sync`](crate::TileAcc::sync).
#[track_caller]
pub fn compute<const D: usize, A, N>(tile: &Tile<D>, args: A, kernel: N) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, A::Views<Proven>, A::Views<Checked>, (), D>) + Send + Sync + 'static,
{
    let recorded = Location::caller();
    record(tile, args, kernel).map_err(|e| e.recorded_at(recorded))
}

#[track_caller]
fn record<const D: usize, A, N>(tile: &Tile<D>, args: A, kernel: N) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, A::Views<Proven>, A::Views<Checked>, (), D>) + Send + Sync + 'static,
{
    tile.check()?;
    let quoted = quote(&kernel)?;
    let views = TypeId::of::<A::Views<Proven>>();
    let prepared = prepare(&quoted, views, D, A::BINDINGS, Some(Type::unit()))?;
    if tile.cells.is_empty() {
        return Ok(());
    }
    let infos = args.infos();
    let target = Target { layout: &tile.layout, region: tile.region, cells: tile.cells, grown: tile.grown };
    let checked = check(&prepared, &quoted, views, &target, &infos)?;
    let work = crate::acc::TileWork {
        key: checked.key,
        region: tile.region,
        cells: tile.cells.widen(),
        touches: &checked.touches,
        after: &checked.after,
        name: "a kernel",
        recorded: Location::caller(),
    };
    let (run_checked, valid_only) = (checked.run_checked, checked.valid_only);
    checked.acc.core().record_tile(work, || {
        Arc::new(Native {
            kernel,
            quoted,
            held: args.hold(),
            proven: A::views::<Proven>,
            checked: A::views::<Checked>,
            run_checked,
            valid_only,
            prepared: prepared.clone(),
        })
    });
    for (info, plan) in infos.iter().zip(&prepared.args) {
        if let (super::args::ArgInfo::Tiled(tiled), true) = (info, plan.written) {
            tiled.tracker.cells_written();
            if tile.grown {
                tiled.tracker.ghosts_overwritten();
            }
        }
    }
    Ok(())
}

/// A kernel in its native form, with its arguments.
///
/// `H` is what it holds of them; `P` and `C` are their views, proven and checked.
struct Native<H, P, C, N, const D: usize> {
    kernel: N,
    quoted: Quoted,
    held: H,
    proven: unsafe fn(&H, usize, u16) -> P,
    checked: unsafe fn(&H, usize, u16) -> C,
    run_checked: bool,
    valid_only: u16,
    prepared: Arc<Prepared>,
}

impl<H, P, C, N, const D: usize> Launch for Native<H, P, C, N, D>
where
    H: Send + Sync,
    N: for<'b> Fn(Ask<'b, P, C, (), D>) + Send + Sync,
{
    unsafe fn run(&self, region: usize, cells: GridBox<4>) -> Result<(), Error> {
        let cells = narrow(&cells);
        let mut nothing = ();
        let pass = Pass::new(&self.quoted);
        fault::take();
        if self.run_checked {
            // SAFETY: the caller's promise; the views check themselves.
            let views = unsafe { (self.checked)(&self.held, region, self.valid_only) };
            // SAFETY: `()` takes no room.
            let run = Ask::Checked(unsafe { Run::new(&views, cells, &mut nothing, &pass) });
            cpu::vectorised(
                #[inline(always)]
                || (self.kernel)(run),
            );
        } else {
            // SAFETY: the caller's promise; `check` has proven every access in range, for the tiles that these cells
            // are part of.
            let views = unsafe { (self.proven)(&self.held, region, self.valid_only) };
            // SAFETY: `()` takes no room.
            let run = Ask::Proven(unsafe { Run::new(&views, cells, &mut nothing, &pass) });
            cpu::vectorised(
                #[inline(always)]
                || (self.kernel)(run),
            );
        }
        pass.check()?;
        fault::take().map_or(Ok(()), |fault| Err(fault_error(fault, &self.prepared)))
    }
}

/// The last `D` axes of a box of four.
pub(crate) fn narrow<const D: usize>(cells: &GridBox<4>) -> GridBox<D> {
    GridBox::new(std::array::from_fn(|d| cells.lo[4 - D + d]), std::array::from_fn(|d| cells.hi[4 - D + d]))
}

/// The error of a fault that a cell raised.
pub(crate) fn fault_error(fault: Fault, prepared: &Prepared) -> Error {
    let tried = format!("run the kernel at {}", prepared.place());
    match fault {
        Fault::Division => Error::new(
            ErrorKind::Division,
            tried,
            "an integer division by zero, or of the lowest value by -1",
            "test the divisor in the kernel; what it wrote is not used",
        ),
        Fault::Entry { index, len } => Error::new(
            ErrorKind::OutOfRange,
            tried,
            format!("entry {index} of a fixed-size array of {len}"),
            "keep the index below the length; what the kernel wrote is not used",
        ),
        Fault::OutOfRange { arg, index } => {
            let declared = prepared.kernel.args.get(arg as usize);
            let rank = declared.map_or(4, |a| a.rank);
            let name = declared.map_or("?", |a| a.name.as_str());
            Error::new(
                ErrorKind::OutOfRange,
                tried,
                format!("a read of `{name}` at {:?}, outside what it holds there", &index[..rank.min(4)]),
                "keep computed indexes inside the array; what the kernel wrote is not used",
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[test]
    fn a_native_panic_is_an_error_of_what_it_would_have_written() {
        let acc = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
        let mut u = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
        let v = u.like().unwrap();
        let touch = |write| crate::acc::Touch { tracker: u.tracker.clone(), region: None, read: true, write };
        // No kernel can panic by itself; the same path runs ghost fills, copies and kernels.
        acc.record("a kernel that panics", vec![touch(true)], || panic!("on purpose"));
        let error = u.to_ndarray().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panic);
        assert!(error.found().contains("on purpose") && error.recorded().is_some(), "{error}");
        assert!(v.to_ndarray().is_ok());
        u.fill_value(1.0).unwrap();
        assert!(u.to_ndarray().unwrap().iter().all(|x| *x == 1.0));
    }
}
