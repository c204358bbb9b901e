//! Kernels made elsewhere: PTX from rustc's nvptx64 target, rust-cuda, nvcc or any other compiler.

use std::any::TypeId;
use std::cell::LazyCell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::ir::{
    Access, Arg, BinaryOp, Body, Component, Expr, ExprId, ExprKind, Kernel, Span, Stmt, StmtKind, Type,
};
use tida_kernels::quote::NativeForm;
use tida_kernels::scalar::Value;

use super::args::{ArgInfo, Args, HeldArgs, Views, separate};
use super::check::{Rule, Target, Touches, check};
use super::launch::launch_written;
use super::view::Proven;
use crate::acc::Device;
use crate::backend::Argument;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::capture::{CapturedValue, Captures, capture_bytes};
use crate::launch::device::{DeviceArg, DeviceArgs};
use crate::launch::geometry::base_bytes;
use crate::launch::needs::Needs;
use crate::launch::prepare::Prepared;
use crate::launch::quoted::KernelId;
use crate::launch::step::Launch;
use crate::memory::element::ScalarElement;
use crate::memory::node::{Done, Queue};
use crate::record::recording::{TileAccess, TileWork};
use crate::record::wait::outside_kernels;
use crate::tile::Tile;

/// A parameter of a foreign kernel, in the order that the kernel takes them: see [`PtxKernel`].
///
/// Axes count from 0, the slowest, as everywhere in tida.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PtxParam {
    /// The address of the first cell of the box that is launched in an array argument (its first component): a pointer.
    Array(usize),
    /// Elements between neighbours along an axis of an array argument: `i64`. 1 along the last axis.
    Stride(usize, usize),
    /// Cells of the box along an axis: `i64`.
    Extent(usize),
    /// Global coordinate of the first cell of the box along an axis: `i64`.
    Lo(usize),
    /// A scalar given at each launch, by its number, in its own type.
    Scalar(usize),
}

/// A kernel compiled elsewhere, to run over tiles under the same scheduler as others.
///
/// Threads are laid over a box as tida's own: x over the last axis, y over the axis before, z over the axis before
/// that; the grid covers the box, so a thread outside it has to return. A box lies in one region; its neighbours within
/// the declared reach are in memory around it.
///
/// ```no_run
/// use tida::prelude::*;
/// use tida::compute::{PtxKernel, PtxParam::*};
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::builder().device(Device::Cuda).build()?;
/// let u = TileArray::<f64, 1>::builder([1 << 20]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc)?;
/// let mut next = u.like()?;
/// let ptx = std::fs::read_to_string("heat.ptx").unwrap_or_default();
/// let heat = PtxKernel::new(&ptx, "heat", &[Array(0), Array(1), Extent(0), Scalar(0)]).reach(1, &[[1, 1]]);
/// for tile in TileIter::new(&u) {
///     // SAFETY: `heat` writes cells of the box in its first array, and reads the second one cell around them; both
///     // are of `f64`, and so is its scalar.
///     unsafe { heat.compute(&tile, (&mut next, &u), &[0.1f64.into()])? };
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct PtxKernel {
    /// Tells it from others, and from itself before something was said of it.
    id: u64,
    ptx: Arc<str>,
    entry: Arc<str>,
    params: Arc<[PtxParam]>,
    /// For each argument the cells that it is read at below and above a cell, on each axis.
    reach: Vec<(usize, SmallVec<[[usize; 2]; 4]>)>,
    block: Option<[usize; 3]>,
}

/// A scalar for a [`PtxKernel`], made from a number by `into()`.
///
/// ```
/// use tida::compute::PtxScalar;
/// let scalar: PtxScalar = 0.1f32.into();
/// assert_eq!(scalar, PtxScalar::from(0.1f32));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PtxScalar(Value);

impl<T: ScalarElement> From<T> for PtxScalar {
    fn from(value: T) -> Self {
        PtxScalar(Value::from_bits(T::SCALAR, value.bits()))
    }
}

impl PtxKernel {
    /// A kernel named `entry` in PTX text. Nothing is compiled before it runs.
    pub fn new(ptx: &str, entry: &str, params: &[PtxParam]) -> PtxKernel {
        PtxKernel {
            id: PtxKernel::next_id(),
            ptx: ptx.into(),
            entry: entry.into(),
            params: params.into(),
            reach: Vec::new(),
            block: None,
        }
    }

    fn next_id() -> u64 {
        static KERNELS: AtomicU64 = AtomicU64::new(0);
        KERNELS.fetch_add(1, Ordering::Relaxed)
    }

    /// Says how far around a cell array argument `arg` is read: `[below, above]` on each axis. Without it, at the cell
    /// alone.
    #[must_use]
    pub fn reach(mut self, arg: usize, cells: &[[usize; 2]]) -> PtxKernel {
        self.reach.retain(|(n, _)| *n != arg);
        self.reach.push((arg, cells.into()));
        PtxKernel { id: PtxKernel::next_id(), ..self }
    }

    /// Threads of a block along x, y and z; without it, what tida would choose for a kernel of its own.
    #[must_use]
    pub fn block(self, threads: [usize; 3]) -> PtxKernel {
        PtxKernel { id: PtxKernel::next_id(), block: Some(threads), ..self }
    }

    /// Records the kernel over the cells of a tile, and returns, as [`compute`](super::compute) does. Arrays passed as
    /// `&mut` are written at the box; others are read.
    ///
    /// # Safety
    /// The PTX has a kernel of that name with these parameters, for arrays of these element types and scalars of these
    /// types. It writes only cells of its box, in arrays passed as `&mut`, and reads arrays only there and within the
    /// declared [`reach`](PtxKernel::reach). No two threads write one cell. It does so for any box and any
    /// [`block`](PtxKernel::block) that it is launched with.
    ///
    /// # Errors
    /// As for [`compute`](super::compute); a parameter that names an argument, axis or scalar that there is not; an
    /// accelerator that is no CUDA device. PTX that the driver refuses comes out at the next host read.
    #[track_caller]
    pub unsafe fn compute<const D: usize, A: Args<D>>(
        &self,
        tile: &Tile<D>,
        args: A,
        scalars: &[PtxScalar],
    ) -> Result<(), Error> {
        let recorded = Location::caller();
        self.record(tile, args, scalars, recorded).map_err(|e| e.recorded_at(recorded))
    }

    fn record<const D: usize, A: Args<D>>(
        &self,
        tile: &Tile<D>,
        args: A,
        scalars: &[PtxScalar],
        recorded: &'static Location<'static>,
    ) -> Result<(), Error> {
        outside_kernels("compute a PTX kernel over a tile")?;
        tile.check()?;
        let bindings = <A::Held as HeldArgs<D>>::BINDINGS;
        let tried = || format!("compute the PTX kernel `{}`", self.entry);
        for param in &*self.params {
            let wrong = match *param {
                PtxParam::Array(arg) => !bindings.get(arg).is_some_and(|b| tiled(b.access)),
                PtxParam::Stride(arg, axis) => axis >= D || !bindings.get(arg).is_some_and(|b| tiled(b.access)),
                PtxParam::Extent(axis) | PtxParam::Lo(axis) => axis >= D,
                PtxParam::Scalar(number) => number >= scalars.len(),
            };
            if wrong {
                let found = format!("a parameter {param:?} for {} arguments of {D} axes", bindings.len());
                let found = format!("{found} and {} scalars", scalars.len());
                let advice = "name arrays with the tile's cuts, axes and scalars that are passed";
                return Err(Error::new(ErrorKind::Argument, tried(), found, advice));
            }
        }
        // As far as an analysis knows offsets.
        let far = |n: &usize| *n as u64 > 1 << 60;
        if let Some((arg, cells)) = self.reach.iter().find(|(_, cells)| cells.iter().flatten().any(far)) {
            let found = format!("a reach of {cells:?} cells of argument {arg}");
            return Err(Error::new(ErrorKind::Argument, tried(), found, "give the cells that it reads around each"));
        }
        if let Some((arg, _)) = self.reach.iter().find(|(arg, cells)| *arg >= bindings.len() || cells.len() != D) {
            let found = format!("a reach of argument {arg} for {} arguments of {D} axes", bindings.len());
            return Err(Error::new(ErrorKind::Argument, tried(), found, "give `[below, above]` for each axis"));
        }
        if tile.cells.is_empty() {
            return Ok(());
        }
        let prepared = Arc::new(Prepared::new(self.declared::<D>(bindings, recorded))?);
        let list = scalars.iter().map(|scalar| CapturedValue::Scalar(scalar.0)).collect();
        let captures = Captures { list };
        let views = TypeId::of::<Views<A, Proven, D>>();
        let infos = args.infos(tile.place);
        let written = |arg: usize| bindings.get(arg).is_some_and(|binding| binding.access == Access::Write);
        let changes = |(arg, info): (usize, &ArgInfo<'_, D>)| {
            info.coding().filter(|coding| coding.changes(written(arg))).map(|coding| (arg, coding.packs()))
        };
        if let Some((arg, packs)) = infos.iter().enumerate().find_map(changes) {
            let found = match packs {
                true => format!("argument {arg}, an array with a format, to which only tida's own kernels round"),
                false => format!("argument {arg}, an array kept in fewer bits, which only tida's own kernels decode"),
            };
            return Err(Error::new(ErrorKind::Argument, tried(), found, "build it without `.storage(..)`"));
        }
        tile.is_a_box(tried)?;
        separate(&infos, tile);
        let target = Target {
            layout: &tile.layout,
            region: tile.region,
            cells: tile.cells,
            all: tile.all,
            copies: [0; 2],
            rule: Rule::Cells,
            grown: tile.grown,
            holes: false,
            device: tile.device,
            block: tile.block,
            march: tile.march,
            cache: tile.cache,
        };
        if tile.device == Some(Device::Hybrid) {
            let found = "tiles that are to run on the CPU too";
            let advice = "leave out `.device(Device::Hybrid)`, or write the kernel with `kernel!`, which runs anywhere";
            return Err(Error::new(ErrorKind::Device, tried(), found, advice));
        }
        let mut touches = Touches::new();
        let checked = check(&prepared, KernelId::Foreign(self.id), &captures, views, &target, &infos, &mut touches)?;
        if !checked.key.on_device || checked.acc.device() != Device::Cuda {
            let found = format!("an accelerator or tile of `{}`", checked.acc.device().name());
            let advice = "build the arrays on a CUDA device, or write the kernel with `kernel!`, which runs anywhere";
            return Err(Error::new(ErrorKind::Device, tried(), found, advice));
        }
        let work = TileWork {
            key: Arc::new(checked.key),
            region: tile.region,
            cells: tile.cells.widen(),
            touches: &touches,
            after: &checked.after,
            name: "a PTX kernel",
            recorded,
            access: TileAccess { by_planes: checked.by_planes, grown: tile.grown, ..TileAccess::default() },
            listed: None,
            pace: None,
            known: None,
        };
        let block = work.key.asked.block;
        let launch = LazyCell::new(|| -> Arc<dyn Launch> {
            let needs = (prepared.clone(), tile.grown);
            Arc::new(Foreign::<A::Held, D> {
                kernel: self.clone(),
                captures,
                held: args.hold(tile.place),
                block,
                needs,
            })
        });
        let side = checked.acc.core().record_tile(work, &|| launch.clone());
        launch_written(&infos, &prepared, (tile, Rule::Cells), side);
        Ok(())
    }

    /// A kernel that reads and writes what was declared: what launches are checked against.
    fn declared<const D: usize>(
        &self,
        bindings: &[tida_kernels::ir::Binding],
        recorded: &'static Location<'static>,
    ) -> Kernel {
        let span = Span { line: recorded.line(), column: recorded.column() };
        let mut body = Body::default();
        let add = |body: &mut Body, scalar: ScalarType, kind: ExprKind| {
            body.exprs.push(Expr { ty: Type::Scalar(scalar), span, kind });
            ExprId(body.exprs.len() as u32 - 1)
        };
        for (number, binding) in bindings.iter().enumerate().filter(|(_, b)| tiled(b.access)) {
            let here = [[0; 2]; D];
            let reach = self.reach.iter().find(|(arg, _)| *arg == number);
            let reach = reach.map_or(&here[..], |(_, cells)| cells);
            let component = Component { base: 0, dynamic: Vec::new() };
            let scalar = binding.element.component_types().first().copied().unwrap_or(ScalarType::U8);
            let mut value = None;
            for (side, op) in [BinaryOp::Sub, BinaryOp::Add].into_iter().enumerate() {
                let index: Vec<ExprId> = (reach.iter().enumerate())
                    .map(|(axis, reach)| {
                        let at = add(&mut body, ScalarType::I64, ExprKind::Coordinate(axis as u32));
                        let distance = Value::I64(reach[side] as i64);
                        let distance = add(&mut body, ScalarType::I64, ExprKind::Literal(distance));
                        add(&mut body, ScalarType::I64, ExprKind::Binary(op, at, distance))
                    })
                    .collect();
                let load = ExprKind::Load { arg: number as u32, index, component: component.clone() };
                let load = add(&mut body, scalar, load);
                body.block.push(Stmt { span, kind: StmtKind::Eval(load) });
                value = Some(load);
            }
            if let (Access::Write, Some(value)) = (binding.access, value) {
                let index: Vec<ExprId> =
                    (0..D).map(|axis| add(&mut body, ScalarType::I64, ExprKind::Coordinate(axis as u32))).collect();
                let kind = StmtKind::Store { arg: number as u32, index, component, value };
                body.block.push(Stmt { span, kind });
            }
        }
        let arg = |(number, binding): (usize, &tida_kernels::ir::Binding)| Arg {
            name: format!("argument {number}"),
            access: binding.access,
            element: binding.element,
            rank: binding.rank,
        };
        Kernel {
            group: None,
            native: NativeForm::default(),
            file: recorded.file().into(),
            line: recorded.line(),
            rank: D,
            args: bindings.iter().enumerate().map(arg).collect(),
            captures: Vec::new(),
            numbers: Vec::new(),
            result: Type::unit(),
            body,
            functions: Vec::new(),
        }
    }
}

fn tiled(access: Access) -> bool {
    matches!(access, Access::Read | Access::Write)
}

/// A foreign kernel with what it holds of its arguments.
struct Foreign<H, const D: usize> {
    kernel: PtxKernel,
    captures: Captures,
    held: H,
    block: Option<[u32; 3]>,
    /// What was declared, and whether tiles are grown.
    needs: (Arc<Prepared>, bool),
}

impl<H: HeldArgs<D>, const D: usize> Launch for Foreign<H, D> {
    fn needs(&self) -> Option<Needs> {
        Needs::of(&self.needs.0, self.needs.1, None)
    }

    unsafe fn run(&self, _: usize, _: GridBox<4>) -> Result<(), Error> {
        let advice = "run these tiles on the CUDA device";
        Err(Error::new(ErrorKind::Device, "run a PTX kernel on the CPU", "no form of it for the CPU", advice))
    }

    unsafe fn enqueue(self: Arc<Self>, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error> {
        let backend = queue.device.backend();
        let compiled = queue.device.compiler().ptx(&self.kernel.ptx, &self.kernel.entry)?;
        let args: DeviceArgs<'_> = self.held.on_device().into_iter().map(|arg| arg.0.placed(queue)).collect();
        let scalars: Vec<_> = self.captures.list.iter().map(capture_bytes).collect();
        let limits = backend.facts().grid;
        for (region, cells) in boxes {
            let extent: Vec<i64> = (4 - D..4).map(|axis| cells.hi[axis] - cells.lo[axis]).collect();
            let asked = self.kernel.block.map(|block| block.map(|n| n as u32)).or(self.block);
            let block = asked.unwrap_or_else(|| tida_kernels::plan::Plan::mapping(&extent, 8));
            let grid = tida_kernels::plan::blocks(block, &extent);
            if block.contains(&0) || (0..3).any(|d| grid[d] > limits[d]) {
                let tried = format!("launch the PTX kernel `{}`", self.kernel.entry);
                let found = format!("{grid:?} blocks of {block:?} threads");
                let advice = "use blocks of more threads, or smaller tiles";
                return Err(Error::new(ErrorKind::Argument, tried, found, advice));
            }
            let array = |n: usize| match args.get(n) {
                Some(DeviceArg::Tiled(array)) => array.layout.regions.get(*region).map(|place| (array, place)),
                _ => None,
            };
            let mut words: Vec<[u8; 8]> = Vec::with_capacity(self.kernel.params.len());
            for param in &*self.kernel.params {
                let word = match *param {
                    PtxParam::Extent(axis) => extent[axis],
                    PtxParam::Lo(axis) => cells.lo[4 - D + axis],
                    PtxParam::Stride(n, axis) => array(n).map_or(0, |(_, place)| place.strides[4 - D + axis]),
                    PtxParam::Array(_) | PtxParam::Scalar(_) => 0,
                };
                words.push(word.to_ne_bytes());
            }
            let mut memories = Vec::new();
            for arg in &args {
                if let DeviceArg::Tiled(array) = arg {
                    array.storage.materialize_ghosts(queue.device, queue.stream)?;
                }
                memories.push(match arg {
                    DeviceArg::Tiled(array) => Some(array.memory(queue.device)?),
                    _ => None,
                });
            }
            let mut arguments: SmallVec<[Argument<'_>; 16]> = SmallVec::new();
            for (param, word) in self.kernel.params.iter().zip(&words) {
                arguments.push(match *param {
                    PtxParam::Array(n) => match (array(n), memories.get(n).and_then(|m| m.as_deref())) {
                        (Some((array, _)), Some(memory)) => Argument::At(memory, base_bytes(array, *region, cells)),
                        _ => continue,
                    },
                    PtxParam::Scalar(n) => Argument::Bytes(&scalars[n]),
                    _ => Argument::Bytes(word),
                });
            }
            // SAFETY: who recorded it promised its parameters and that it stays within what was declared, which was
            // checked for the tiles that these boxes are part of; the rest is the caller's promise.
            unsafe {
                let grid = grid.map(|n| n as u32);
                backend.launch(queue.stream, &*compiled, grid, block, &arguments)?
            };
        }
        drop(args);
        Ok(Box::new(move || {
            drop(self);
            Ok(())
        }))
    }
}
