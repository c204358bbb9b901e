//! From a quotation to what a launch has to check, once for each kernel and types of arguments.

use std::any::TypeId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, RwLock};

use smallvec::SmallVec;
use tida_kernels::analysis::{Analysis, ArgUse, ArrayAccess, IndexForm, analyse, latency};
use tida_kernels::element::ScalarType;
use tida_kernels::ir::{
    self, Access, Binding, Coded, Kernel, LowerInput, Type, bounding, coded, lower, parts_of_value, specialised,
    unrolled,
};
use tida_kernels::plan::Plan;
use tida_kernels::plan::cache::{Sharing, sharing};
use tida_kernels::plan::fuse::{Steps, fusible, harmless, harmless_around};
use tida_kernels::plan::joint::joint;
use tida_kernels::plan::march::{Saving, saving};
use tida_kernels::plan::wide::{Beside, side};
use tida_kernels::scalar::{Fault, Value};

use super::capture::{CapturedValue, Captures, integers};
use super::fused::{Choices, Cycles};
use super::joined::Joins;
use super::quoted::{KernelId, Quoted};
use crate::backend::Facts;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::coding::Coding;

/// What was said of a kernel.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub checks: AtomicBool,
    pub alone: AtomicBool,
}

/// A kernel typed and analysed for the types of one launch.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub kernel: Kernel,
    pub analysis: Analysis,
    /// One entry per argument.
    pub args: Vec<ArgPlan>,
    /// Cycles that a cell waits for the one before it, where cells run in order.
    pub latency: u32,
    /// Some value is an `f64`.
    pub uses_f64: bool,
    /// What a march along axis 0 saves.
    pub saving: Saving,
    /// The cells that a marching thread has side by side.
    pub beside: Beside,
    /// Components are counted from one pointer, where positions fit.
    pub joint: bool,
    /// What the cells of a block share.
    pub sharing: Sharing,
    /// How several steps may run as one launch, if they may.
    pub steps: Option<Steps>,
    /// Why not, if they may not.
    pub no_steps: &'static str,
    /// The axes whose coordinates a cell computes with, as bits, if it may run where its values are of no use.
    pub harmless: Option<u8>,
    /// How far around it a cell reads what is written, along each of four axes, if it may run where its values are of
    /// no use but for that.
    pub around_writes: Option<[(i64, i64); 4]>,
    /// How, for boxes that were asked for.
    pub choices: Choices,
    /// Some arguments hold codes, which the kernel decodes, or values that it rounds.
    pub is_coded: bool,
    /// Where its arguments are from, if it is several kernels, that alternate or run one after the other in each cell:
    /// see [`Cycle::args`](ir::Cycle::args) and [`Joined::args`](ir::Joined::args).
    pub from: Option<Vec<(usize, usize)>>,
    /// Such kernels, by those that come after this one.
    pub cycles: Cycles,
    /// It and sweeps after it as one, by their kernels.
    pub joins: Joins,
    /// It and kernels that set ghosts beside what it leaves as one, by their kernels and on which sides.
    pub with_faces: Joins,
    /// It and kernels that set the ghosts that it reads as one, in the same way.
    pub with_ghosts: Joins,
    /// The same for launches of one step.
    pub with_ghosts_alone: Joins,
    /// The same for arguments that hold codes.
    coded: Mutex<ForCodes>,
    /// Its constant tables, as captured values.
    pub tables: Vec<CapturedValue>,
    /// Kernels that give the scalars of its value, if it gives several.
    parts: OnceLock<Result<Vec<Arc<Prepared>>, Error>>,
    /// What it may be specialised for.
    special: Special,
    /// What was said of it.
    pub said: Said,
}

/// What a launch has to know of one argument.
#[derive(Debug)]
pub(crate) struct ArgPlan {
    pub written: bool,
    /// Every written cell is overwritten before it is read.
    pub must_write: bool,
    /// Lowest and highest offset from `at` along each axis, over all reads that always happen and sit at `at` plus a
    /// constant.
    pub halo: Option<[(i64, i64); 4]>,
    /// The other reads, by number in the analysis; of an argument that is written, those of other cells than its own.
    pub others: Vec<usize>,
}

impl ArgPlan {
    /// Whether it is written, and other cells of it are read.
    pub fn reads_around_writes(&self) -> bool {
        self.written && !self.others.is_empty()
    }
}

/// Kernel, types of its views and captures, and the values that it is specialised for.
type Key = (KernelId, TypeId, u8, SmallVec<[Type; 4]>, SmallVec<[i64; 4]>);

/// Most values that a kernel is specialised for: what changes from launch to launch is not to be compiled anew each
/// time.
const SPECIAL: usize = 4;

/// The same kernel for arguments that hold codes, the failures too.
type ForCodes = HashMap<Vec<Option<Coded>>, Result<Arc<Prepared>, Error>>;

/// Kernels prepared so far, the failures too.
type Cache = HashMap<Key, Result<Arc<Prepared>, Error>, BuildHasherDefault<Mix>>;

/// Hashes keys, which each call looks up: identities of types, which are spread evenly already, and few small numbers.
/// Nobody else chooses them.
#[derive(Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

static CACHE: LazyLock<RwLock<Cache>> = LazyLock::new(RwLock::default);

/// Types and analyses a kernel, or finds it done. Its constant tables come to the captured values.
///
/// # Errors
/// A kernel that cannot be typed, and a write or a read that would race.
pub(crate) fn prepare(
    quoted: &mut Quoted,
    views: TypeId,
    rank: usize,
    bindings: &[Binding],
    result: fn() -> Option<Type>,
) -> Result<Arc<Prepared>, Error> {
    let captures: SmallVec<[Type; 4]> = quoted.held().iter().map(capture_type).collect();
    let mut key = (quoted.id, views, rank as u8, captures, SmallVec::new());
    let general = found_or(&key, &|key| {
        let input = LowerInput {
            kernel: quoted.kernel,
            methods: &quoted.methods,
            rank,
            args: bindings,
            captures: &key.3,
            result: result(),
        };
        lower(&input).map_err(Error::of_kernel).map(unrolled).and_then(Prepared::new).map(Arc::new)
    })?;
    quoted.take_tables(&general.tables);
    let Some(values) = general.special.values(&quoted.captures) else { return Ok(general) };
    key.4 = values.iter().map(|(_, value)| *value).collect();
    found_or(&key, &|_| {
        // What the values make no faster, or what cannot be prepared with them, runs as it is for all.
        let special = specialised(&general.kernel, &values).and_then(|kernel| Prepared::new(kernel).ok());
        Ok(special.map_or_else(|| general.clone(), Arc::new))
    })
}

/// A kernel that was prepared, or is now.
fn found_or(key: &Key, make: &dyn Fn(&Key) -> Result<Arc<Prepared>, Error>) -> Result<Arc<Prepared>, Error> {
    if let Some(done) = CACHE.read().unwrap_or_else(PoisonError::into_inner).get(key) {
        return done.clone();
    }
    let made = make(key);
    CACHE.write().unwrap_or_else(PoisonError::into_inner).entry(key.clone()).or_insert(made).clone()
}

/// The captured integers whose values make a kernel faster, and those that it was specialised for.
#[derive(Debug, Default)]
pub(crate) struct Special {
    captures: Vec<u32>,
    known: Mutex<Vec<Vec<i64>>>,
}

impl Special {
    /// The values to specialise a kernel for; none if it has no such captures, or had too many values before.
    fn values(&self, captures: &Captures) -> Option<Vec<(u32, i64)>> {
        if self.captures.is_empty() {
            return None;
        }
        let value = |&number: &u32| match captures.list.get(number as usize) {
            Some(CapturedValue::Scalar(Value::I64(value))) => Some((number, *value)),
            _ => None,
        };
        let values: Vec<(u32, i64)> = self.captures.iter().map(value).collect::<Option<_>>()?;
        let numbers: Vec<i64> = values.iter().map(|(_, value)| *value).collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&numbers) {
            if known.len() >= SPECIAL {
                return None;
            }
            known.push(numbers);
        }
        Some(values)
    }
}

/// All kernels prepared so far, as they are for all values.
pub(crate) fn prepared() -> Vec<Arc<Prepared>> {
    let cache = CACHE.read().unwrap_or_else(PoisonError::into_inner);
    let general = cache.iter().filter(|(key, _)| key.4.is_empty());
    general.filter_map(|(_, made)| made.as_ref().ok().cloned()).collect()
}

pub(crate) fn capture_type(value: &CapturedValue) -> Type {
    match value {
        CapturedValue::Scalar(v) => Type::Scalar(v.ty()),
        CapturedValue::Array(ty, _) => Type::of_element(ty),
        CapturedValue::Deferred(later) => Type::Scalar(later.ty),
    }
}

/// The constant tables of a kernel, as captured values.
fn tables(kernel: &Kernel) -> Vec<CapturedValue> {
    let table = |capture: &ir::Capture| {
        let (values, known) = (capture.values()?, capture.known.as_ref()?);
        Some(CapturedValue::Array(known.ty, values.collect()))
    };
    kernel.captures.iter().filter_map(table).collect()
}

impl Prepared {
    /// Analyses a kernel.
    ///
    /// # Errors
    /// A write or a read that would race.
    pub fn new(kernel: Kernel) -> Result<Prepared, Error> {
        Prepared::of(kernel, false)
    }

    /// The same of a kernel whose accesses were proven one by one before: it may write cells beside its own.
    ///
    /// # Errors
    /// As [`Prepared::new`].
    pub fn proven(kernel: Kernel) -> Result<Prepared, Error> {
        Prepared::of(kernel, true)
    }

    fn of(kernel: Kernel, is_proven: bool) -> Result<Prepared, Error> {
        let analysis = analyse(&kernel);
        if let Some(refused) = analysis.refused(&kernel) {
            let place = format!("{}:{}:{}", kernel.file, refused.span.line, refused.span.column);
            let kind = if refused.race { ErrorKind::Race } else { ErrorKind::OutOfRange };
            return Err(Error::new(kind, format!("compute the kernel at {place}"), refused.found, refused.advice));
        }
        let mut args = Vec::with_capacity(kernel.args.len());
        for (arg, found) in kernel.args.iter().zip(&analysis.args) {
            let mut plan =
                ArgPlan { written: found.may_write, must_write: found.must_write, halo: None, others: Vec::new() };
            // What a group shares was looked at just now.
            let of_launch = arg.access != Access::Shared;
            for (number, access) in found.accesses.iter().enumerate().filter(|_| of_launch) {
                let written = arg.access == Access::Write;
                // Cells that a launch reads of what it writes are looked at when its box is known. The typing refuses
                // other writes; kept so that none is ever unseen.
                let (here, in_group) = (written && access.at_cell, kernel.group.is_some());
                if !here && !is_proven && (access.write || (written && in_group)) {
                    return Err(race(&analysis, &kernel, arg, access));
                }
                if here {
                    continue;
                }
                // Reads around what is written are looked at one by one.
                let together = arg.access == Access::Read && !access.conditional;
                match offsets(access).filter(|_| together) {
                    Some(offsets) => {
                        let halo = plan.halo.get_or_insert(offsets.map(|o| (o, o)));
                        for ((lo, hi), o) in halo.iter_mut().zip(offsets) {
                            *lo = (*lo).min(o);
                            *hi = (*hi).max(o);
                        }
                    }
                    None => plan.others.push(number),
                }
            }
            args.push(plan);
        }
        let uses_f64 = uses_f64(&kernel);
        let special = Special { captures: bounding(&kernel), known: Mutex::default() };
        let (saving, sharing) = match kernel.group {
            None => (saving(&kernel, &analysis), sharing(&kernel, &analysis)),
            Some(_) => Default::default(),
        };
        let beside = side(&kernel, &analysis).map_or(Beside::ONE, |side| side.beside());
        let joint = joint(&kernel, &analysis);
        let latency = latency(&kernel);
        let steps = match kernel.group {
            None => fusible(&kernel, &analysis),
            Some(_) => Err("it runs over groups of cells"),
        };
        let harmless = harmless(&kernel, &analysis).filter(|_| kernel.group.is_none());
        let around_writes = harmless_around(&kernel, &analysis).filter(|_| kernel.group.is_none());
        let tables = tables(&kernel);
        Ok(Prepared {
            kernel,
            analysis,
            args,
            latency,
            uses_f64,
            saving,
            beside,
            joint,
            sharing,
            no_steps: steps.as_ref().err().copied().unwrap_or("it keeps codes of another form than it reads"),
            steps: steps.ok(),
            harmless,
            around_writes,
            choices: Choices::default(),
            is_coded: false,
            from: None,
            cycles: Cycles::default(),
            joins: Joins::default(),
            with_faces: Joins::default(),
            with_ghosts: Joins::default(),
            with_ghosts_alone: Joins::default(),
            coded: Mutex::default(),
            tables,
            parts: OnceLock::new(),
            special,
            said: Said::default(),
        })
    }

    /// The kernel for arguments of which some hold codes, or round what is stored; itself if none does.
    ///
    /// # Errors
    /// An argument that a kernel cannot have coded.
    pub fn for_codes<'a>(
        self: Arc<Self>,
        codings: impl Iterator<Item = Option<&'a Arc<Coding>>> + Clone,
    ) -> Result<Arc<Prepared>, Error> {
        let written = |n: usize| self.args.get(n).is_some_and(|arg| arg.written);
        let changes = |(n, coding): (usize, Option<&Arc<Coding>>)| coding.is_some_and(|c| c.changes(written(n)));
        if !codings.clone().enumerate().any(changes) {
            return Ok(self);
        }
        let key: Vec<Option<Coded>> =
            codings.enumerate().map(|(n, coding)| coding.and_then(|coding| coding.for_kernels(written(n)))).collect();
        let mut known = self.coded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = known.get(&key) {
            return made.clone();
        }
        let made = self.coded(&key).map(Arc::new);
        known.entry(key).or_insert(made).clone()
    }

    /// Kernels that give the scalars of its value, in order; itself if it gives one.
    ///
    /// # Errors
    /// As [`Prepared::new`].
    pub fn parts(self: &Arc<Self>) -> Result<Vec<Arc<Prepared>>, Error> {
        if self.kernel.result.scalar().is_some() {
            return Ok(vec![self.clone()]);
        }
        let part = |kernel| {
            let mut made = Prepared::new(kernel)?;
            made.is_coded = self.is_coded;
            Ok(Arc::new(made))
        };
        let make = || parts_of_value(&self.kernel).unwrap_or_default().into_iter().map(part).collect();
        self.parts.get_or_init(make).clone()
    }

    fn coded(&self, args: &[Option<Coded>]) -> Result<Prepared, Error> {
        let overwrites: Vec<bool> = self.args.iter().map(|arg| arg.must_write).collect();
        let elsewhere = |(plan, found): (&ArgPlan, &ArgUse)| {
            let accesses = found.accesses.iter().filter(|access| plan.written && !access.at_cell);
            accesses.filter_map(|access| access.expr).collect::<Vec<_>>()
        };
        let elsewhere: Vec<_> = self.args.iter().zip(&self.analysis.args).map(elsewhere).collect();
        let kernel = coded(&self.kernel, args, &overwrites, &elsewhere).map_err(|refused| {
            Error::new(
                ErrorKind::Kernel,
                format!("compute the kernel at {}", self.place()),
                refused.found,
                "copy the array into one without `.storage(..)` for this kernel, or keep the component in a local",
            )
        })?;
        let mut made = Prepared::new(kernel)?;
        made.is_coded = true;
        // What a step leaves for the next one are codes of the array written, or values that they have.
        let alike = |steps: &Steps| {
            let codecs = |n: usize| args.get(n).and_then(Option::as_ref).map(|coded| (&coded.codecs, coded.rounded));
            codecs(steps.pair.0) == codecs(steps.pair.1)
        };
        made.steps = made.steps.filter(alike);
        Ok(made)
    }

    /// Threads of a block that nothing else is asked of, over boxes of about this extent: those that its threads
    /// cover, counted as threads.
    pub fn usual_block(&self, facts: &Facts, extent: &[i64], beside: &Beside) -> [u32; 3] {
        // A CPU behind OpenCL gains nothing by other shapes, and compiles each anew.
        if !facts.gpu {
            return [64, 1, 1];
        }
        let tiled = self.kernel.args.iter().filter(|arg| matches!(arg.access, Access::Read | Access::Write));
        let widest = tiled.flat_map(|arg| arg.element.component_types()).map(|ty| ty.size()).max();
        Plan::mapping_beside(extent, widest.unwrap_or(1), beside)
    }

    /// Whether some cell of a box may raise a fault with these captured values, in a form that checks no reads.
    pub fn may_fault(&self, cells: &GridBox<4>, captures: &Captures) -> bool {
        let (lo, hi) = (&cells.lo[4 - self.kernel.rank..], &cells.hi[4 - self.kernel.rank..]);
        !self.analysis.complete
            || (self.analysis.may_fault && self.analysis.faults_with(lo, hi, &integers(&self.analysis, captures)))
    }

    /// Bytes of a cell in all arrays that have the tiles' cuts.
    pub fn cell_bytes(&self) -> usize {
        let tiled = self.kernel.args.iter().filter(|arg| matches!(arg.access, Access::Read | Access::Write));
        tiled.map(|arg| arg.element.bytes()).sum()
    }

    /// Whether it reads other cells than its own of what it writes.
    pub fn reads_around_writes(&self) -> bool {
        self.args.iter().any(ArgPlan::reads_around_writes)
    }

    /// The error of a read of what is written, or of a write of what is another cell's.
    pub fn race(&self, arg: usize, access: &ArrayAccess) -> Error {
        race(&self.analysis, &self.kernel, &self.kernel.args[arg], access)
    }

    /// Whether some read has an index that no launch can prove.
    pub fn may_check(&self) -> bool {
        let opaque = |access: &ArrayAccess| access.index.iter().any(|form| matches!(form, IndexForm::Opaque(_)));
        let mut others = self.args.iter().zip(&self.analysis.args);
        others.any(|(arg, usage)| arg.others.iter().any(|n| opaque(&usage.accesses[*n])))
    }

    /// Where the kernel stands in the user's source.
    pub fn place(&self) -> String {
        format!("{}:{}", self.kernel.file, self.kernel.line)
    }
}

/// Whether some value of the kernel is an `f64`.
fn uses_f64(kernel: &Kernel) -> bool {
    fn has(ty: &Type) -> bool {
        match ty {
            Type::Scalar(scalar) => *scalar == ScalarType::F64,
            Type::Array(of, _) => has(of),
            Type::Tuple(parts) => parts.iter().any(has),
            Type::Struct(_, fields) => fields.iter().any(|(_, ty)| has(ty)),
        }
    }
    let body =
        |body: &ir::Body| body.locals.iter().any(|local| has(&local.ty)) || body.exprs.iter().any(|expr| has(&expr.ty));
    kernel.args.iter().any(|arg| arg.element.component_types().contains(&ScalarType::F64))
        || kernel.captures.iter().any(|capture| has(&capture.ty))
        || body(&kernel.body)
        || kernel.functions.iter().any(|function| body(&function.body))
}

/// The constant offsets from `at`, if the index along each axis is that axis of `at` plus a constant.
fn offsets(access: &ArrayAccess) -> Option<[i64; 4]> {
    let mut offsets = [0; 4];
    for (axis, by) in access.offsets()?.into_iter().enumerate() {
        *offsets.get_mut(axis)? = by;
    }
    Some(offsets)
}

/// `u[at + [0, 1]]`, as a user writes it, in backquotes.
pub(crate) fn cell_text(analysis: &Analysis, kernel: &Kernel, name: &str, access: &ArrayAccess) -> String {
    if access.at_cell {
        return format!("`{name}[at]`");
    }
    // What people read easily: constants and loop variables beside `at`, or else sums of coordinates.
    let (offset, index) = (analysis.offset_text(access, kernel), analysis.index_text(access, kernel));
    match (offset.contains(['?', '(']) || offset.contains("at["), index.contains(['?', '('])) {
        (false, _) => format!("`{name}[at + {offset}]`"),
        (_, false) => format!("`{name}[{index}]`"),
        _ => format!("`{name}` at an index that is not `at` plus constants"),
    }
}

fn race(analysis: &Analysis, kernel: &Kernel, arg: &ir::Arg, access: &ArrayAccess) -> Error {
    let place = format!("{}:{}:{}", kernel.file, access.span.line, access.span.column);
    let (name, cell) = (&arg.name, cell_text(analysis, kernel, &arg.name, access));
    if access.write {
        Error::new(
            ErrorKind::Race,
            format!("compute the kernel at {place}"),
            format!("a write of {cell}, which is another cell's to write: a race"),
            format!("write `{name}[at]` alone; turn a scatter into a pull that reads its neighbours"),
        )
    } else {
        Error::new(
            ErrorKind::Race,
            format!("compute the kernel at {place}"),
            format!("a read of {cell} while the kernel writes `{name}`: a race with that cell's write"),
            format!(
                "read the old values from a second array, and write `{name}` from it; or say in which order cells run: in \
                 `sweep_along(axis, Forward, ..)` a cell may read those before it on its own line, and in \
                 `sweep_colour(Colour::red_black(0), ..)` those of another colour; a loop may also read cells of `{name}` \
                 that none of its tiles writes, as a loop over ghosts does that reads the cells inwards"
            ),
        )
    }
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
            // Below zero it has come here by wrapping.
            format!("entry {} of a fixed-size array of {len}", index as i64),
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
