//! Reductions of arrays on several places.
//!
//! The order of a reduction is fixed by its box: a list of segments, folded by 64. A part of an array has a run of that
//! list. Each place makes its own run, and one of them folds the whole list, so that no bit depends on the places.

use std::any::TypeId;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use super::fold::tree;
use super::job::Job;
use super::ops::{Foldable, Reduction};
use super::run::touched;
use crate::array::places::shares_segments;
use crate::compute::args::{ArgInfo, Args, Views};
use crate::compute::ask::Ask;
use crate::compute::deferred::Scalar;
use crate::compute::view::{Checked, Proven};
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::decoded::Wholes;
use crate::launch::prepare::Prepared;
use crate::launch::quoted::Quoted;
use crate::memory::node::Work;
use crate::memory::tracker::{Mode, Touch};

/// Records a reduction of parts of arrays, each on its place.
///
/// # Errors
/// What can be known now, as of any reduction; segments that two places have a part of.
pub(super) fn on_places<const D: usize, A, R, O, N>(
    args: &A,
    (cells, op): (GridBox<D>, O),
    (prepared, quoted, kernel): (&Arc<Prepared>, &Arc<Quoted>, &Arc<N>),
    recorded: &'static Location<'static>,
) -> Result<Scalar<O::Output<D>>, Error>
where
    A: Args<D>,
    R: Foldable,
    O: Reduction<R>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    let tried = || format!("reduce the kernel at {}", prepared.place());
    let views = TypeId::of::<Views<A, Proven, D>>();
    let (mut lists, mut nodes, mut first) = (Vec::new(), Vec::new(), None);
    for place in 0.. {
        let infos = args.infos(place);
        let layout = infos.iter().find_map(|info| match info {
            ArgInfo::Tiled(tiled) if tiled.level.is_none() && tiled.layout.is_part() => Some(tiled.layout.clone()),
            _ => None,
        });
        let Some(layout) = layout else { break };
        if shares_segments(&layout.centering) {
            let found = "an array of one axis, centred on faces, on several places";
            return Err(Error::new(
                ErrorKind::Argument,
                tried(),
                found,
                "build it on one place, such as `acc.places()[0]`",
            ));
        }
        let Some(touched) = touched(prepared, quoted, views, (&layout, &cells), &infos)? else { continue };
        let job = Job {
            kernel: kernel.clone(),
            quoted: quoted.clone(),
            held: args.hold(place),
            run_checked: touched.run_checked,
            valid_only: touched.valid_only,
            layout,
            cells,
            op,
            wholes: Wholes::default(),
            prepared: prepared.clone(),
        };
        let touch =
            |touch: &crate::memory::tracker::BoxTouch| Touch::new(&touch.tracker, Some(touch.region), Mode::Read);
        let touches: Vec<Touch> = touched.touches.iter().map(touch).collect();
        let list: Arc<OnceLock<Vec<O::Partial>>> = Arc::default();
        lists.push(list.clone());
        let work = Work::Host(Box::new(move || {
            let _ = list.set(job.run_part()?);
            Ok(())
        }));
        nodes.push(touched.acc.record_node("a reduction", recorded, &touches, &touched.after, work));
        first.get_or_insert(touched.acc);
    }
    let Some(acc) = first else {
        return Err(Error::new(ErrorKind::Argument, tried(), "no region to reduce", "pass an array with cells"));
    };
    let value = Arc::new(OnceLock::new());
    let result = value.clone();
    let work = Work::Host(Box::new(move || {
        let all: Vec<O::Partial> = lists.iter().filter_map(|list| list.get()).flatten().copied().collect();
        let _ = result.set(op.finish(tree(op, all, true), &cells));
        Ok(())
    }));
    let node = acc.record_node("a reduction", recorded, &[], &nodes, work);
    Ok(Scalar::new(acc, node, value))
}
