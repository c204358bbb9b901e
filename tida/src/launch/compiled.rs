//! The compiled kernel of a plan: waited for, or begun beside the program while something else does its work.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tida_kernels::emit::{Source, emit};
use tida_kernels::plan::Plan;

use super::device::DeviceLaunch;
use super::prepare::Prepared;
use super::registers::{Counted, searches, settle};
use super::tune;
use crate::backend::Kernel;
use crate::device::compiler::{Compiler, Ready, ReadyKey};
use crate::device::core::DeviceCore;
use crate::device::plans::Wish;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;

/// A kernel, and the plan that it is compiled for.
#[derive(Clone)]
struct Recipe {
    prepared: Arc<Prepared>,
    plan: Plan,
}

impl Recipe {
    fn key(&self) -> ReadyKey {
        (Arc::as_ptr(&self.prepared) as usize, self.plan.clone())
    }

    /// Emits and compiles it, with as many values in registers as are worth it. A device that runs native forms has no
    /// use for a text.
    fn make(
        &self,
        (counted, native): (Counted, bool),
        compile: impl Fn(&Source, [u32; 3]) -> Result<Arc<dyn Kernel>, Error>,
    ) -> Result<Ready, Error> {
        let Recipe { prepared, plan } = self;
        let settled = settle(prepared, plan, counted, |plan| {
            let source = match native {
                true => Source { entry: named(prepared, plan), ..Source::default() },
                false => emit(&prepared.kernel, &prepared.analysis, plan),
            };
            match compile(&source, plan.block) {
                Ok(kernel) => Ok((kernel.facts(), Ready { source, kernel })),
                Err(error) if error.kind() == ErrorKind::Kernel => Err(not_compiled(prepared, &source, &error)),
                Err(error) => Err(error),
            }
        });
        settled.map(|settled| settled.made)
    }

    /// Waits for it.
    fn now(&self, compiler: &Compiler, counted: Counted) -> Result<Arc<Ready>, Error> {
        compiler.ready(self.key(), || self.compiled(compiler, counted))
    }

    fn compiled(&self, compiler: &Compiler, counted: Counted) -> Result<Ready, Error> {
        let how = (counted, compiler.is_native());
        self.make(how, |source, block| compiler.kernel_sharing(&source.text, &source.entry, block, source.shared))
    }

    /// Gives it if it is there, or can be had without compiling; else it is compiled beside.
    fn beside(&self, compiler: &Arc<Compiler>, counted: Counted) -> Option<Result<Arc<Ready>, Error>> {
        let kept = || {
            let missing = Cell::new(false);
            let found = self.make((counted, compiler.is_native()), |source, block| {
                compiler.kept(source, block).unwrap_or_else(|| {
                    missing.set(true);
                    Err(Error::new(ErrorKind::Kernel, "find a compiled kernel", "none", "compile it"))
                })
            });
            (!missing.get()).then_some(found)
        };
        let recipe = self.clone();
        compiler.beside(self.key(), kept, move |compiler| recipe.compiled(compiler, counted))
    }
}

/// What tells apart what is compiled without a text.
fn named(prepared: &Prepared, plan: &Plan) -> String {
    let mut hash = DefaultHasher::new();
    (std::ptr::from_ref(prepared).addr(), plan).hash(&mut hash);
    format!("{} {:x}", prepared.place(), hash.finish())
}

impl DeviceLaunch<'_> {
    fn recipe(&self, plan: &Plan) -> Recipe {
        // The text does not say how long a march is.
        Recipe { prepared: self.prepared.clone(), plan: Plan { march: plan.march.map(|_| 1), ..plan.clone() } }
    }

    /// The compiled kernel of a plan: waits for it. Where the search for registers may take several compilations and
    /// these can go on beside, what is compiled without values in registers runs meanwhile.
    ///
    /// # Errors
    /// A kernel that the device's compiler refuses.
    pub fn ready(&self, device: &DeviceCore, plan: &Plan) -> Result<Arc<Ready>, Error> {
        let (recipe, compiler) = (self.recipe(plan), device.compiler());
        let key = recipe.key();
        if let Some(known) = compiler.known(&key) {
            return known;
        }
        let counted = Counted::on(device.backend().facts(), Counted::ToRun);
        let waits = || compiler.has_begun(&key) || searches(self.prepared, &recipe.plan, counted);
        if !(compiler.is_beside() && waits()) {
            return recipe.now(compiler, counted);
        }
        recipe.beside(compiler, counted).unwrap_or_else(|| {
            let plain = Recipe { plan: Plan { registers: 0, ..recipe.plan }, ..recipe };
            plain.now(compiler, counted)
        })
    }

    /// The compiled kernel of a plan, if it is there: else it is compiled beside, and someone else has to do its work.
    pub fn ready_beside(&self, device: &DeviceCore, plan: &Plan) -> Option<Result<Arc<Ready>, Error>> {
        self.recipe(plan).beside(device.compiler(), Counted::on(device.backend().facts(), Counted::ToRun))
    }

    /// Whether a launch that does the work of several runs now. Else, where its kernel can be compiled beside, that is
    /// begun if it was not, and each of them runs by itself meanwhile. So they do if the device's compiler refuses it.
    pub fn runs_now(&self, device: &DeviceCore, boxes: &[(usize, GridBox<4>)]) -> bool {
        let boxes = &*self.joined(boxes);
        let compiled = || self.is_compiled(device, boxes, &tune::wish(self, device, boxes));
        !device.compiler().is_beside() || compiled().unwrap_or(false)
    }

    /// As [`DeviceLaunch::ready_beside`], of the plan for boxes that were [`DeviceLaunch::joined`]; `true` where it is
    /// there or was refused.
    ///
    /// # Errors
    /// Memory that the device does not have, and kernels that its compiler refuses.
    pub fn is_compiled(&self, device: &DeviceCore, boxes: &[(usize, GridBox<4>)], wish: &Wish) -> Result<bool, Error> {
        let Some((mut plan, _)) = self.plan_over(device, boxes, wish) else { return Ok(true) };
        self.maps(device, &mut plan)?;
        self.ready_beside(device, &plan).map_or(Ok(false), |ready| ready.map(|_| true))
    }
}

/// The error of emitted source that a device's compiler refuses, with the user's line.
fn not_compiled(prepared: &Prepared, source: &Source, error: &Error) -> Error {
    let log = error.found();
    // `file(12): error: ..` and `file:12:7: error: ..`
    let line_of = |line: &str| -> Option<usize> {
        let before = &line[..line.find("error")?];
        before.split(['(', ')', ':']).filter_map(|part| part.trim().parse().ok()).find(|n: &usize| *n > 0)
    };
    let first = log.lines().find(|line| line.contains("error")).unwrap_or(log);
    let place = line_of(first).and_then(|n| source.lines.get(n - 1).cloned().flatten());
    let place = place.map_or_else(|| prepared.place(), |(file, span)| format!("{file}:{}:{}", span.line, span.column));
    let tried = format!("compile the kernel at {place} for the device");
    if log.to_lowercase().contains("parameter space overflow") {
        return Error::new(
            ErrorKind::Kernel,
            tried,
            format!("captured arrays or constant tables that are too large for it: {}", first.trim()),
            "pass the larger ones as `table(&values)`",
        );
    }
    Error::new(
        ErrorKind::Kernel,
        tried,
        format!("that its compiler refused the emitted source: {}", first.trim()),
        "report this as a bug of tida, with the output of `tida::explain`; until then run these tiles with \
         `.device(Device::Cpu)`",
    )
}
