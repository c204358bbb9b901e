//! Which sweeps had best run as one launch ([`join`](crate::ir::join())).

use std::collections::HashSet;

use super::march::Saving;
use crate::analysis::Analysis;
use crate::ir::{Access, Kernel, has_loop};

/// Most arguments: their pointers, and what says where each lies, are parameters of the kernel, with room for 4 KiB.
const ARGUMENTS: usize = 32;

/// Most 32-bit registers of different values that a cell reads: a compiler may have all of them under way, and a
/// quarter of the registers that a thread can have leaves a multiprocessor the threads that hide how long memory takes.
const REGISTERS: usize = 64;

/// Most values that a cell of a kernel reads which a reduction ends: threads that fold take several cells one after the
/// other, and do not march.
const READS: usize = 10;

/// 32-bit registers of different values that a cell reads, and how many these are.
fn read(kernel: &Kernel, analysis: &Analysis) -> (usize, usize) {
    let mut seen = HashSet::new();
    let mut registers = 0;
    for (number, (arg, usage)) in kernel.args.iter().zip(&analysis.args).enumerate() {
        let types = arg.element.component_types();
        for access in usage.accesses.iter().filter(|access| !access.write && arg.access != Access::Table) {
            if seen.insert((number, access.component, format!("{:?}", access.index))) {
                let of = access.component.and_then(|component| types.get(component as usize));
                registers += of.map_or(2, |ty| ty.size().div_ceil(4));
            }
        }
    }
    (registers, seen.len())
}

fn loops(kernel: &Kernel) -> bool {
    let mut bodies = kernel.functions.iter().map(|function| &function.body).chain([&kernel.body]);
    bodies.any(|body| has_loop(&body.block))
}

/// Whether a launch of kernels joined may be better than launches of `each`: it reads something once that they read
/// twice (`shared`: arguments that are one), keeps little, and marches if one of them would.
pub fn joins(kernel: &Kernel, analysis: &Analysis, shared: usize, (saving, each): (&Saving, &[&Saving])) -> bool {
    let marches = |saving: &Saving| saving.suits && saving.saved > 0 && saving.saved * 8 >= saving.reads;
    let fits = kernel.args.len() <= ARGUMENTS && read(kernel, analysis).0 <= REGISTERS && !loops(kernel);
    analysis.complete && shared > 0 && fits && (marches(saving) || !each.iter().any(|saving| marches(saving)))
}

/// Whether a launch of a kernel that also gives the values of a reduction ([`join_value`](crate::ir::join_value)) may
/// be better than a launch of each.
pub fn ends(kernel: &Kernel, analysis: &Analysis) -> bool {
    let fits = kernel.args.len() <= ARGUMENTS && read(kernel, analysis).1 <= READS && !loops(kernel);
    analysis.complete && !analysis.may_fault && fits
}
