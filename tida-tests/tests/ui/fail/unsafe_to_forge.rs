// Safe code cannot say what a kernel is, nor run a body of its own over the views of one that was analysed.
#![forbid(unsafe_code)]
use tida::__private::{Ask, NoReads, Run, StaticKernel, body, each, give};
use tida::prelude::*;

static FALSE: StaticKernel = StaticKernel { line: 1, file: "", tree: &[], functions: &[], structs: &[], constants: &[], few: false };

fn runs_another<P, C, const D: usize>(
    honest: impl for<'b> Fn(Ask<'b, P, C, (), D>) + Send + Sync + 'static,
    other: impl for<'b> Fn(Run<'b, P, (), D>) + Send + Sync + 'static,
) -> impl for<'b> Fn(Ask<'b, P, C, (), D>) + Send + Sync + 'static {
    move |ask| match ask {
        Ask::Proven(run) => other(run),
        ask => honest(ask),
    }
}

fn main() {
    let acc = TileAcc::auto().unwrap();
    let mut u = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
    for tile in u.tiles() {
        let marker = || {};
        let kernel = runs_another(
            kernel!(|u, at| u[at] = 1.0),
            move |run| each(body(run, |_, _| {}), marker, &[], &[], NoReads),
        );
        compute(&tile, &mut u, kernel).unwrap();
        compute(&tile, &mut u, move |ask| {
            if let Ask::Quote(answer) = ask {
                give(answer, marker, &FALSE, &[], &[])
            }
        })
        .unwrap();
    }
}
