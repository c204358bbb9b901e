//! Sweeps that set ghosts: what is emitted compiles. Their bits are tested in `tida/tests/ghosts_by_sweeps.rs`.

mod emit_support;

use emit_support::host::{Grids, plan, source};
use emit_support::{nvrtc, pocl, samples};
use tida_kernels::ir::Access;
use tida_kernels::plan::ghosts::{Beyond, Ghosts};
use tida_kernels::plan::{Dialect, Goal, Plan};

#[test]
fn sweeps_that_set_ghosts_compile() {
    let around = [Beyond { layers: 2, wraps: true }, Beyond { layers: 1, wraps: true }];
    let mirrored = [Beyond { layers: 1, wraps: false }, Beyond::default()];
    for sample in samples::all().into_iter().filter(|sample| sample.goal == Goal::Sweep && !sample.checked) {
        let kernel = &sample.kernel;
        let faces: Vec<[Beyond; 2]> = [around, mirrored, around].into_iter().cycle().take(kernel.rank).collect();
        let written = kernel.args.iter().position(|arg| arg.access == Access::Write).unwrap();
        let ghosts = vec![Ghosts { arg: written as u8, faces }];
        for (dialect, joint) in [(Dialect::Cuda, true), (Dialect::Cuda, false), (Dialect::OpenCl, true)] {
            let groups = vec![0; kernel.args.len()];
            let plain = Plan { groups, joint, ..plan(kernel, &Grids(Vec::new()), dialect, Goal::Sweep, false, false) };
            assert!(plain.may_set_ghosts(kernel));
            assert!(!Plan { many: true, ..plain.clone() }.may_set_ghosts(kernel));
            assert!(kernel.rank < 2 || !Plan { march: Some(4), ..plain.clone() }.may_set_ghosts(kernel));
            let text = source(kernel, &Plan { ghosts: ghosts.clone(), narrow: joint, ..plain }).text;
            assert!(text.contains("for (u32 way = beyond;"), "{text}");
            match dialect {
                Dialect::Cuda => drop(nvrtc::compile(&text)),
                Dialect::OpenCl => drop(pocl::MACHINE.build(&text)),
            }
            if joint && dialect == Dialect::Cuda && ["heat_3d", "lattice"].contains(&sample.name) {
                insta::assert_snapshot!(sample.name, text);
            }
        }
    }
}
