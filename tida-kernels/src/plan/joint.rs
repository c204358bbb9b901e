//! Components that are counted from one pointer.
//!
//! A pointer to the plane of each component takes 64-bit arithmetic. It pays where a cell reads a plane several times,
//! or a loop does. Of many planes that are read once each, as in lattice Boltzmann methods, positions within all of
//! them take one 32-bit addition each.

use std::collections::BTreeSet;

use crate::analysis::Analysis;
use crate::ir::{Access, Kernel, has_loop};

/// Fewest planes that are worth it.
const MANY: usize = 8;

/// Whether a kernel has many planes of components that are of one type in an array, and touches each of them about once
/// in a cell.
///
/// Lattice Boltzmann D3Q19, machine code of NVRTC 13.0 for sm_90: 437 instructions with a pointer to each of 38 planes
/// of `f32`, 355 with one to each array; 576 and 511 for halves over a scale.
pub fn joint(kernel: &Kernel, analysis: &Analysis) -> bool {
    if !analysis.complete || kernel.group.is_some() || has_loop(&kernel.body.block) {
        return false;
    }
    let (mut planes, mut touched) = (BTreeSet::new(), Vec::new());
    for (arg, usage) in analysis.args.iter().enumerate() {
        let Some(of) = kernel.args.get(arg) else { continue };
        let types = of.element.component_types();
        let alike = types.len() > 1 && types.windows(2).all(|pair| pair[0] == pair[1]);
        if !matches!(of.access, Access::Read | Access::Write) || !alike {
            continue;
        }
        for access in &usage.accesses {
            let Some(component) = access.component else { return false };
            planes.insert((arg, component));
            let known = (arg, component, &access.index);
            if !touched.contains(&known) {
                touched.push(known);
            }
        }
    }
    planes.len() >= MANY && touched.len() < 2 * planes.len()
}
