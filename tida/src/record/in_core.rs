//! What nodes do on the device whose arrays have room there as a whole: each brings its arrays and puts one operation
//! into its stream, or several steps as one launch. Rounds and chains whose arrays do not stream are made of the same.

use std::panic::Location;
use std::sync::Arc;

use super::hybrid::Pace;
use super::strips::split;
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::faces::{FaceLaunch, before_faces};
use crate::launch::fused::enqueue_steps;
use crate::launch::ghosted::enqueue_alone;
use crate::launch::step::{Launch, Together};
use crate::memory::ghosts::owed::filling;
use crate::memory::node::{DeviceWork, Done, Queue, SplitWork, Work, all_ended};
use crate::memory::touched::ArrayTouch;
use crate::run::op::{Edges, Op, Sweep};

/// The name of recorded work, and the line that recorded it.
pub(super) type Label = (&'static str, &'static Location<'static>);

/// Steps that run as one launch.
pub(super) struct Several {
    /// From which region on.
    pub region: usize,
    pub together: Together,
    /// What each of them launches.
    pub launches: Arc<[Arc<dyn Launch>]>,
    /// They are counted as steps that share a launch: once, where parts of their box are done apart.
    pub counts: bool,
}

/// Does an operation.
pub(super) fn in_core(label: Label, op: Op) -> DeviceWork {
    match op {
        // SAFETY: the graph keeps all work that conflicts away until this node has finished; the boxes do not overlap.
        Op::Sweep(sweep) => on_device(label, sweep, None, |sweep, queue| unsafe { sweep.enqueue(queue) }),
        Op::Fold(sweep, fold) => on_device(label, sweep, None, move |sweep, queue| {
            fold.begin(queue.device, None)?;
            // SAFETY: as above; its boxes come before its end in this stream, and so does what they give.
            let ends = unsafe { vec![sweep.enqueue(queue)?, fold.clone().end(queue)?] };
            Ok(Box::new(|| all_ended(ends)))
        }),
        Op::Fill { tracker, fixed } => filling(vec![(tracker, fixed)], label.1),
    }
}

/// Does several steps as one launch over each of these parts of their box, one by one, and then sets these ghosts.
/// `first` touches what they all touch.
pub(super) fn together(
    label: Label,
    first: Arc<Sweep>,
    Several { region, together, launches, counts }: Several,
    parts: Vec<GridBox<4>>,
    faces: Arc<[Arc<FaceLaunch>]>,
) -> DeviceWork {
    on_device(label, first, None, move |_, queue| {
        if counts {
            queue.device.counts.fused(together.steps);
        }
        // SAFETY: the graph keeps all work that conflicts away until these nodes have finished. The box is that of each
        // of the steps, and the first of them reads all that they read of other arrays. What a part leaves is read by
        // none of the others.
        let steps = |part: &GridBox<4>| unsafe { enqueue_steps(&launches, queue, (region, *part), &together) };
        let mut begun = Vec::with_capacity(parts.len());
        queue.enqueue(|| {
            parts.iter().try_for_each(|part| {
                begun.push(steps(part)?);
                Ok(())
            })
        })?;
        // SAFETY: as above.
        unsafe { before_faces(|| Ok(begun), &faces, queue) }
    })
}

/// Does a step by itself that computes ghosts, and then sets these ghosts.
pub(super) fn alone(label: Label, step: Arc<Sweep>, faces: Arc<[Arc<FaceLaunch>]>) -> DeviceWork {
    on_device(label, step, None, move |step, queue| {
        // SAFETY: the graph keeps all work that conflicts away until this node has finished; the boxes do not overlap.
        // What sets ghosts comes after the step in this stream.
        unsafe { before_faces(|| Ok(vec![enqueue_alone(step.as_step(), queue, step.boxes())?]), &faces, queue) }
    })
}

/// What the node of a sweep does on the device: brings its arrays there, and has `run` put kernels into a stream.
pub(super) fn on_device(
    (name, recorded): Label,
    sweep: Arc<Sweep>,
    pace: Option<Arc<Pace>>,
    run: impl Fn(&Sweep, &Queue<'_>) -> Result<Done, Error> + Send + 'static,
) -> DeviceWork {
    let cells = sweep.cells();
    Box::new(move |queue| {
        let queue = Queue { refilled: &sweep.refilled, ..*queue };
        let (bring, run) = (|| sweep.bring(&queue), || queue.put(name, recorded, || run(&sweep, &queue)));
        let swept = queue.enqueue(|| match pace {
            Some(pace) => pace.on_device(&queue, cells, bring, run),
            None => bring().and_then(|()| run()),
        });
        swept.map_err(|error| without_room(error, &sweep, queue.device))
    })
}

/// What the node of a sweep does that computes some planes first.
pub(super) fn split_in_two(label: Label, sweep: Arc<Sweep>, edges: Edges) -> Work {
    let [first, others] = split(&sweep, &edges);
    let over = |boxes: Vec<(usize, GridBox<4>)>, apart: bool| {
        on_device(label, sweep.clone(), None, move |sweep, queue| {
            // One by one: a launch over a box alone may read cells in place of ghosts.
            let each = boxes.chunks(if apart { 1 } else { boxes.len().max(1) });
            let mut begun = Vec::new();
            queue.enqueue(|| {
                for boxes in each {
                    // SAFETY: the graph keeps all work that conflicts away until this node has finished.
                    begun.push(unsafe { sweep.enqueue_boxes(queue, boxes)? });
                }
                Ok(())
            })?;
            Ok(Box::new(move || {
                let failed = begun.into_iter().filter_map(|done: Done| done().err());
                Error::earliest(failed).map_or(Ok(()), Err)
            }))
        })
    };
    let (edges_work, inside) = (over(first, true), over(others, false));
    Work::Split(Box::new(SplitWork { edges: edges_work, planes: edges.planes, inside }))
}

/// The failure of a sweep: where its arrays had no room as a whole, with what keeps them from streaming.
fn without_room(error: Error, sweep: &Sweep, device: &DeviceCore) -> Error {
    let Some(needs) = sweep.launch.needs().filter(|needs| needs.whole && error.kind() == ErrorKind::Memory) else {
        return error;
    };
    let wholes = || sweep.arrays.iter().filter(|of| of.whole);
    let twice =
        |whole: &ArrayTouch| sweep.arrays.iter().any(|of| !of.whole && Arc::ptr_eq(&of.tracker, &whole.tracker));
    let bytes: usize = wholes().map(|of| of.tracker.storage().device_bytes()).sum();
    let could = bytes as u64 <= device.budget() / 2 && !wholes().any(twice);
    let windows = could.then(|| device.held_by_chains());
    error.because(&needs.found(windows), &needs.advice)
}
