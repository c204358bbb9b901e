//! Sweeps that read cells instead of ghosts: what is emitted compiles. Their bits are tested in
//! `tida-tests/tests/ghosts_inside.rs`.

mod emit_support;

use emit_support::host::{Grids, plan, source};
use emit_support::{nvrtc, pocl, samples};
use tida_kernels::ir::Access;
use tida_kernels::plan::ghosts::{Beyond, Ghosts};
use tida_kernels::plan::{Dialect, Goal, Plan};

#[test]
fn sweeps_that_read_inside_compile() {
    let around = [Beyond { layers: 2, wraps: true }, Beyond { layers: 1, wraps: true }];
    let mirrored = [Beyond { layers: 1, wraps: false }, Beyond::default()];
    let mut stepped = 0;
    for sample in samples::all().into_iter().filter(|sample| sample.goal == Goal::Sweep && !sample.checked) {
        let kernel = &sample.kernel;
        let faces: Vec<[Beyond; 2]> = [around, mirrored, around].into_iter().cycle().take(kernel.rank).collect();
        let read = (0..).zip(&kernel.args).filter(|(_, arg)| arg.access == Access::Read).map(|(n, _)| n);
        let ghosts: Vec<Ghosts> = read.map(|arg| Ghosts { arg, faces: faces.clone() }).collect();
        for (dialect, narrow) in [(Dialect::Cuda, true), (Dialect::Cuda, false), (Dialect::OpenCl, true)] {
            let groups = vec![0; kernel.args.len()];
            let plain = Plan { groups, narrow, ..plan(kernel, &Grids(Vec::new()), dialect, Goal::Sweep, false, false) };
            let plain = Plan { joint: narrow, ..plain };
            assert!(plain.may_read_inside(kernel));
            assert!(!Plan { many: true, ..plain.clone() }.may_read_inside(kernel));
            assert!(kernel.rank < 2 || !Plan { march: Some(4), ..plain.clone() }.may_read_inside(kernel));
            let text = source(kernel, &Plan { ghosts: ghosts.clone(), ..plain }).text;
            stepped += u32::from(text.contains(" back") || text.contains("tida_inside("));
            match dialect {
                Dialect::Cuda => drop(nvrtc::compile(&text)),
                Dialect::OpenCl => drop(pocl::MACHINE.build(&text)),
            }
            if narrow && dialect == Dialect::Cuda && sample.name == "heat_3d" {
                insta::assert_snapshot!(sample.name, text);
            }
        }
    }
    assert!(stepped > 6, "{stepped}");
}
