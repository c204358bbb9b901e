//! `explain`: what tida found out about a kernel.

use std::any::TypeId;
use std::fmt;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use tida_kernels::analysis::{Analysis, ArrayAccess};
use tida_kernels::emit::{Source, emit};
use tida_kernels::ir::{Kernel, Type};
use tida_kernels::plan::auto::Latency;
use tida_kernels::plan::{FoldOp, Goal, Math, Plan};
use tida_kernels::quote::Span;
use tida_kernels::scalar::Value;

use super::args::{ArgInfo, Args, HeldArgs, Views};
use super::ask::Ask;
use super::check::threads;
use super::launch::quote;
use super::view::{Checked, Proven};
use crate::acc::TileAcc;
use crate::backend::{Facts, KernelFacts, cpu, cuda};
use crate::device::core::DeviceCore;
use crate::device::plans::Hints;
use crate::error::{Error, ErrorKind};
use crate::launch::cache::describe;
use crate::launch::capture::Captures;
use crate::launch::device::{DeviceLaunch, OnDevice};
use crate::launch::native::NativeForm;
use crate::launch::prepare::{Prepared, prepare};
use crate::launch::registers::{Counted, Settled, describe as describe_kept, settle};
use crate::launch::tune;
use crate::tile::Tile;

/// What tida found out about a kernel: what it reads and writes and where, its typed form, and how it is laid out on a
/// device. Printed with `{}`.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([64]).build(&acc)?;
/// let factor = 2.0;
/// let explanation = tida::explain(&mut u, kernel!(|u, at| u[at] = factor * u[at]))?;
/// println!("{explanation}");
/// // In a build without `cuda` and `opencl` there is no source.
/// assert!(explanation.source().contains("factor"));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Explanation {
    prepared: Arc<Prepared>,
    captures: Vec<Value>,
    plan: Plan,
    source: Source,
    /// What timed trials found, a line each.
    tuned: Vec<String>,
    /// The accelerator of the arguments.
    acc: Option<TileAcc>,
    compiled: OnceLock<Compiled>,
}

/// What a kernel was compiled for, and how; or why it was not compiled.
type Compiled = Result<(String, Settled<Source>), Error>;

/// Types and analyses a kernel for these arguments, emits it for the device of their accelerator, and runs nothing. The
/// kernel is compiled when the explanation is printed. On an accelerator without a device it shows the CUDA form,
/// compiled if NVRTC is there.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([64]).ghost(1).build(&acc)?;
/// let mut next = u.like()?;
/// let text = tida::explain((&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1]] + u[at + [1]]))?.to_string();
/// assert!(text.contains("next") && text.contains("halo"));
/// # Ok(()) }
/// ```
///
/// # Errors
/// A kernel that cannot be typed for the arguments, or that would race.
pub fn explain<const D: usize, A, R, N>(args: A, kernel: N) -> Result<Explanation, Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    let mut quoted = quote(&kernel)?;
    let prepared =
        prepare(&mut quoted, TypeId::of::<Views<A, Proven, D>>(), D, <A::Held as HeldArgs<D>>::BINDINGS, || None)?;
    let infos = args.infos(0);
    let prepared = prepared.for_codes(infos.iter().map(ArgInfo::coding))?;
    let (acc, extent) = place(&infos)?;
    let asked = Layout { extent, block: None, march: None, cache: Hints::default() };
    Ok(explained(prepared, &quoted.captures, args.hold(0).on_device(), acc.as_ref(), asked))
}

/// As [`explain`], of the kernel as it runs over one tile: its cells, and what the loop asked for
/// ([`TileIter::thread_block`](crate::TileIter::thread_block), [`march`](crate::TileIter::march),
/// [`cache`](crate::TileIter::cache)).
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 2>::builder([8, 64]).build(&acc)?;
/// let tile = TileIter::new(&u).thread_block([4, 32]).next().unwrap();
/// let explanation = tida::explain_tile(&tile, &mut u, kernel!(|u, at| u[at] = 1.0))?;
/// assert_eq!(explanation.block(), [32, 4, 1]); // x follows the last axis
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of [`explain`]; a tile, or hints for it, that cannot be.
pub fn explain_tile<const D: usize, A, R, N>(tile: &Tile<D>, args: A, kernel: N) -> Result<Explanation, Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    tile.check()?;
    let mut quoted = quote(&kernel)?;
    let prepared =
        prepare(&mut quoted, TypeId::of::<Views<A, Proven, D>>(), D, <A::Held as HeldArgs<D>>::BINDINGS, || None)?;
    let infos = args.infos(tile.place);
    let prepared = prepared.for_codes(infos.iter().map(ArgInfo::coding))?;
    tile.cache.check(&prepared)?;
    let (acc, _) = place(&infos)?;
    let block = threads(&prepared, acc.as_ref(), tile.block)?;
    let extent = tile.cells.extent().iter().map(|n| *n as i64).collect();
    let march = tile.march.map(|cells| u32::try_from(cells).unwrap_or(u32::MAX));
    let asked = Layout { extent, block, march, cache: tile.cache };
    Ok(explained(prepared, &quoted.captures, args.hold(tile.place).on_device(), acc.as_ref(), asked))
}

/// What a kernel is laid out for.
struct Layout {
    extent: Vec<i64>,
    block: Option<[u32; 3]>,
    march: Option<u32>,
    cache: Hints,
}

/// The accelerator of the arguments, and the extent of the largest region.
///
/// # Errors
/// What cannot be an argument.
fn place<const D: usize>(infos: &[ArgInfo<'_, D>]) -> Result<(Option<TileAcc>, Vec<i64>), Error> {
    if let Some(ArgInfo::Refused { found, advice }) = infos.iter().find(|i| matches!(i, ArgInfo::Refused { .. })) {
        return Err(Error::new(ErrorKind::Argument, "explain a kernel", *found, *advice));
    }
    let acc = infos.iter().find_map(|info| match info {
        ArgInfo::Tiled(tiled) => Some(tiled.acc.clone()),
        ArgInfo::Whole { acc, .. } => Some((*acc).clone()),
        ArgInfo::Table { .. } | ArgInfo::Refused { .. } => None,
    });
    let largest = infos.iter().find_map(|info| match info {
        ArgInfo::Tiled(tiled) if tiled.level.is_none() => {
            tiled.layout.regions.iter().map(|r| r.valid).max_by_key(|valid| valid.cells())
        }
        _ => None,
    });
    let extent = largest.map_or(vec![64; D], |cells| cells.extent().iter().map(|n| *n as i64).collect());
    Ok((acc, extent))
}

/// Emits and compiles the kernel.
fn explained(
    prepared: Arc<Prepared>,
    captured: &Captures,
    args: SmallVec<[OnDevice<'_>; 8]>,
    acc: Option<&TileAcc>,
    asked: Layout,
) -> Explanation {
    // Of a complex number a device folds one part at a time: the first is told of.
    let part = prepared.parts().ok().and_then(|parts| parts.into_iter().next());
    let prepared = part.unwrap_or(prepared);
    let captures = captured.values();
    let launch = DeviceLaunch {
        prepared: &prepared,
        captures: captured,
        args: args.into_iter().map(|arg| arg.0).collect(),
        goal: if prepared.kernel.result == Type::unit() { Goal::Sweep } else { Goal::Segments(FoldOp::Sum) },
        checked: prepared.may_check(),
        valid_only: 0,
        block: asked.block,
        march: asked
            .march
            .or_else(|| acc.and_then(|acc| acc.core().device.as_ref()).and_then(|device| device.asked.march)),
        cache: asked.cache,
        order: None,
        colour: None,
        fold: None,
        within: None,
        varied: None,
        native: NativeForm::default(),
        list: None,
        without: acc.and_then(|acc| acc.core().device.as_ref()).map(|device| device.asked.without).unwrap_or_default(),
    };
    let device = acc.and_then(compiling);
    let boxes = (&*asked.extent, asked.extent.iter().product::<i64>().unsigned_abs());
    let plan = match device {
        Some(device) => {
            let winner = tune::known(&launch, device, (boxes.0, boxes.1, false));
            let wish = winner.map_or_else(|| launch.wish(), |winner| winner.wish);
            launch.plan_for(&wish, device.backend().facts(), device.asked.math, boxes, false)
        }
        None => launch.plan(&Facts::of_cuda(), Math::Exact, boxes, false),
    };
    drop(launch);
    let source = emit(&prepared.kernel, &prepared.analysis, &plan);
    let tuned = device.map_or_else(Vec::new, |device| tune::describe(&prepared, device));
    Explanation { prepared, captures, plan, source, tuned, acc: acc.cloned(), compiled: OnceLock::new() }
}

/// The device of an accelerator, if it compiles kernels.
fn compiling(acc: &TileAcc) -> Option<&Arc<DeviceCore>> {
    acc.core().device.as_ref().filter(|device| !device.backend().facts().native)
}

/// What kernels are compiled for where there is no device.
const ARCHITECTURE: &str = "sm_90";

impl Explanation {
    /// The typed kernel.
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.prepared.kernel
    }

    /// What it reads and writes.
    pub(crate) fn analysis(&self) -> &Analysis {
        &self.prepared.analysis
    }

    /// The captured scalars, arrays one entry after the other; a deferred scalar is 0.
    pub(crate) fn captures(&self) -> &[Value] {
        &self.captures
    }

    /// How it is laid out on the device. Once it is compiled, this includes how many registers that left for values
    /// read before.
    fn plan(&self) -> &Plan {
        match self.compiled.get() {
            Some(Ok((_, settled))) => &settled.plan,
            _ => &self.plan,
        }
    }

    /// Threads of a block on the device along x, y and z; x follows the last axis.
    pub fn block(&self) -> [u32; 3] {
        self.plan().block
    }

    /// Cells along the first axis that a thread takes one after the other, if it takes several.
    pub fn march(&self) -> Option<u32> {
        self.plan().marches(self.prepared.kernel.rank)
    }

    /// 32-bit registers of a thread for values that it read before in the kernel's loops. Once it is compiled, those
    /// that this left.
    pub fn registers(&self) -> u32 {
        self.plan().registers
    }

    /// The source text for the device; once it is compiled, the text that was found best. Empty in a build of tida
    /// without the features `cuda` and `opencl`.
    pub fn source(&self) -> &str {
        match self.compiled.get() {
            Some(Ok((_, settled))) => &settled.made.text,
            _ => &self.source.text,
        }
    }

    /// Compiles the source, if that was not done yet.
    ///
    /// # Errors
    /// No compiler, or source that it refuses.
    pub fn compile(&self) -> Result<(), Error> {
        self.compiled().as_ref().map(|_| ()).map_err(Error::clone)
    }

    /// Compiles the source, if that was not done yet, and tells what it takes of the device.
    ///
    /// # Errors
    /// Those of [`Explanation::compile`].
    pub fn resources(&self) -> Result<KernelFacts, Error> {
        self.compiled().as_ref().map(|(_, settled)| settled.facts).map_err(Error::clone)
    }

    fn compiled(&self) -> &Compiled {
        let Prepared { kernel, analysis, .. } = &*self.prepared;
        self.compiled.get_or_init(|| {
            let device = self.acc.as_ref().and_then(compiling);
            let (target, counted) = device.map_or((ARCHITECTURE.to_owned(), Counted::ToShow), |device| {
                let facts = device.backend().facts();
                (format!("{} ({})", facts.name, facts.target), Counted::on(facts, Counted::ToShow))
            });
            let settled = settle(&self.prepared, &self.plan, counted, |plan| {
                let source = emit(kernel, analysis, plan);
                let facts = match device {
                    Some(device) => device.compiler().kernel(&source.text, &source.entry, plan.block)?.facts(),
                    None => cuda::compile_only(&source.text, &source.entry, Math::Exact, ARCHITECTURE)?.1,
                };
                Ok((facts, source))
            })?;
            Ok((target, settled))
        })
    }

    /// How the native form runs.
    fn processor(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = &self.prepared.kernel;
        writeln!(f, "processor")?;
        let place = |span: Span| format!("{}:{}:{}", kernel.file, span.line, span.column);
        let widest = cpu::widest_vectors();
        match self.gathered().map(|access| place(access.span)) {
            _ if kernel.native.alone.is_some() || self.prepared.may_check() => {
                writeln!(f, "  vectors: none, cells run one after the other")?;
            }
            Some(place) => writeln!(
                f,
                "  vectors: {widest} where the compiler finds that they pay: the cells of the read at {place} do not lie evenly"
            )?,
            None => writeln!(f, "  vectors: {widest} of cells side by side")?,
        }
        if let Some([rows, columns]) = kernel.native.block {
            writeln!(f, "  blocks: {rows} x {columns} cells, which take the kernel's loops together")?;
        }
        if let Some(span) = kernel.native.alone {
            writeln!(f, "  alone: each cell takes the loop at {} by itself, not as part of a vector", place(span))?;
        }
        let checks = if self.prepared.may_check() { "reads that were not proven" } else { "none needed" };
        writeln!(f, "  checks: {checks}")
    }

    /// A read of cells that do not lie evenly along a row.
    fn gathered(&self) -> Option<&ArrayAccess> {
        let Prepared { kernel, analysis, .. } = &*self.prepared;
        let mut reads = analysis.args.iter().flat_map(|arg| &arg.accesses).filter(|access| !access.write);
        reads.find(|access| analysis.is_gathered(access, kernel.rank.saturating_sub(1)))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.prepared.analysis.report(&self.prepared.kernel))?;
        self.processor(f)?;
        let compiled = self.compiled();
        let [x, y, z] = self.plan.block;
        let width = if self.plan.narrow { 32 } else { 64 };
        writeln!(f, "device")?;
        writeln!(f, "  mapping: blocks of {x} x {y} x {z} threads along x, y and z; x follows the last axis")?;
        writeln!(
            f,
            "  index: {width}-bit positions, shared between arguments of one layout: groups {:?}",
            self.plan.groups
        )?;
        let saving = &self.prepared.saving;
        let rank = self.prepared.kernel.rank;
        match (self.plan.marches(rank), self.plan.beside(rank)) {
            (Some(cells), side @ 2..) if self.prepared.beside.alike => writeln!(
                f,
                "  march: {cells} cells along axis 0 a thread, {side} side by side, which are stored at once and share what they \
                 read of whole arrays"
            )?,
            (Some(cells), side @ 2..) if self.plan.shares(rank).is_some() => writeln!(
                f,
                "  march: {cells} cells along axis 0 a thread, {side} side by side in {} rows, whose block shares the planes around \
                 them",
                self.plan.rows
            )?,
            (Some(cells), side @ 2..) => writeln!(
                f,
                "  march: {cells} cells along axis 0 a thread, {side} side by side, which are read at once and stay decoded"
            )?,
            (Some(cells), _) => writeln!(
                f,
                "  march: {cells} cells along axis 0 a thread; {} of {} reads of a cell from {} registers",
                saving.saved, saving.reads, saving.registers
            )?,
            (None, _) if self.plan.cells_of_thread() != [1, 1] => writeln!(f, "  march: none")?,
            (None, _) => writeln!(f, "  march: none, each thread has one cell")?,
        }
        describe_kept(&self.prepared, self.plan(), f)?;
        describe(&self.prepared, &self.plan, f)?;
        for line in &self.tuned {
            writeln!(f, "  tuned: {line}")?;
        }
        if let Some(device) = self.acc.as_ref().and_then(compiling) {
            let latency = device.backend().facts().machine.latency;
            let Latency { shared, cached, coalesced, scattered } = latency;
            let typical = if latency == Latency::TYPICAL { "; typical ones" } else { "" };
            writeln!(
                f,
                "  reads: {shared} ns from shared memory, {cached} from the cache, {coalesced} from memory, {scattered} with a line \
                 for each thread{typical}"
            )?;
        }
        writeln!(f, "  checks: {}", if self.plan.checked { "reads that were not proven" } else { "none needed" })?;
        match compiled {
            Ok((target, settled)) => {
                let facts = &settled.facts;
                writeln!(f, "  compiled for {target}")?;
                for step in settled.steps.iter().filter(|_| settled.steps.len() > 1) {
                    let registers = step.registers.map_or("not known".into(), |n| format!("{n} a thread"));
                    writeln!(f, "    with {} registers of what was read: {registers}", step.kept)?;
                }
                let mut fact = |name: &str, value: Option<String>| match value {
                    Some(value) => writeln!(f, "    {name}: {value}"),
                    None => writeln!(f, "    {name}: not known"),
                };
                fact("registers", facts.registers.map(|n| format!("{n} a thread")))?;
                fact("spilled", facts.spilled.map(|n| format!("{n} bytes a thread")))?;
                fact("shared memory", facts.shared.map(|n| format!("{n} bytes a block")))?;
                fact("occupancy", facts.occupancy.map(|part| format!("{:.0} %", part * 100.0)))?;
            }
            Err(error) => writeln!(f, "  not compiled: {error}")?,
        }
        match self.source() {
            "" => Ok(()),
            source => writeln!(f, "source\n{source}"),
        }
    }
}

impl fmt::Debug for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
