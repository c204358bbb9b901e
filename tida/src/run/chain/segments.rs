//! Cutting a chain into parts that run one after the other, for arrays whose first axis is periodic.
//!
//! On the unwrapped axis such arrays need no ghosts at their ends, and all operations share passes. Where one of them
//! cannot run there (it reads ghosts at ends that do not belong together, or an array of another length), what lies
//! between two ghost fills runs as it is recorded, and the host fills the ghosts before it.

use std::ops::Range;
use std::sync::Arc;

use super::{Chain, Link};
use crate::memory::ghosts::planes::Planar;
use crate::program::schedule::scales;

/// Links of a chain that run together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub links: Range<usize>,
    /// The period of the axis, where it is unwrapped.
    pub period: Option<i64>,
    /// Of each array of the chain, planes of the finest one that each of its own has; 0 if no link uses it.
    pub scales: Vec<i64>,
}

/// The array whose ghosts a link fills, if the ends of its first axis belong together.
pub(super) fn ring_fill(link: &Link, planars: &[&Arc<Planar>]) -> Option<usize> {
    link.filled().map(|(array, _)| array).filter(|array| planars[*array].facts().is_ring())
}

/// The segments of a chain, in order. In one whose axis is not unwrapped such ghost fills come before all sweeps.
pub(super) fn segments(chain: &Chain, planars: &[&Arc<Planar>]) -> Vec<Segment> {
    let segments = stretches(&chain.links).into_iter().flat_map(|stretch| unwrapped(&chain.links, stretch, planars));
    segments.flat_map(|segment| scaled(&chain.links, segment, planars.len())).collect()
}

/// A segment with the scales of its arrays: cut before a link that ties two arrays otherwise than those before it do.
pub(super) fn scaled(links: &[Link], segment: Segment, arrays: usize) -> Vec<Segment> {
    let (mut segments, mut ties): (Vec<Segment>, Vec<_>) = (Vec::new(), Vec::new());
    let mut now = Segment { links: segment.links.start..segment.links.start, scales: vec![1; arrays], ..segment };
    for (number, link) in links.iter().enumerate().take(segment.links.end).skip(segment.links.start) {
        let before = ties.len();
        ties.extend(link.ties());
        let all = scales(arrays, &ties).unwrap_or_else(|| {
            segments.push(Segment { links: now.links.start..number, ..now.clone() });
            now.links.start = number;
            ties.drain(..before);
            scales(arrays, &ties).unwrap_or_else(|| vec![1; arrays])
        });
        now = Segment { links: now.links.start..number + 1, scales: all, ..now.clone() };
    }
    segments.push(now);
    for segment in &mut segments {
        let uses = |array: usize| links[segment.links.clone()].iter().any(|link| link.use_of(array).is_some());
        for array in (0..arrays).filter(|array| !uses(*array)) {
            segment.scales[array] = 0;
        }
    }
    segments
}

/// Stretches of a chain of which each starts with all its ghosts of fixed value set: one ends before a fill sets those
/// anew that a link of it reads or sets otherwise.
fn stretches(links: &[Link]) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = 0;
    for (number, link) in links.iter().enumerate() {
        let Some((array, true)) = link.filled() else { continue };
        if links[start..number].iter().any(|before| before.has_ghosts_of_the_user(array)) {
            stretches.push(start..number);
            start = number;
        }
    }
    stretches.push(start..links.len());
    stretches
}

/// The segments of a stretch.
fn unwrapped(links: &[Link], stretch: Range<usize>, planars: &[&Arc<Planar>]) -> Vec<Segment> {
    let filled = links[stretch.clone()].iter().find_map(|link| ring_fill(link, planars));
    let Some(period) = filled.and_then(|array| planars[array].facts().period) else {
        return vec![Segment { links: stretch, ..Segment::default() }];
    };
    let mut segments: Vec<Segment> = Vec::new();
    let (mut start, mut swept) = (stretch.start, false);
    for (number, link) in links.iter().enumerate().take(stretch.end).skip(stretch.start) {
        let fills = ring_fill(link, planars).is_some();
        if fills && swept {
            add(&mut segments, start..number, links, planars, period);
            (start, swept) = (number, false);
        }
        swept |= !fills;
    }
    add(&mut segments, start..stretch.end, links, planars, period);
    for segment in &mut segments {
        // Where nothing is filled, there is nothing to be gained.
        let fills = links[segment.links.clone()].iter().any(|link| ring_fill(link, planars).is_some());
        segment.period = segment.period.filter(|_| fills);
    }
    segments
}

fn add(segments: &mut Vec<Segment>, new: Range<usize>, links: &[Link], planars: &[&Arc<Planar>], period: i64) {
    let unwraps = links[new.clone()].iter().all(|link| unwraps(link, planars, period));
    match segments.last_mut() {
        Some(last) if unwraps && last.period.is_some() => last.links.end = new.end,
        _ => segments.push(Segment { links: new, period: unwraps.then_some(period), scales: Vec::new() }),
    }
}

/// Whether a link can run over the unwrapped axis.
pub(super) fn unwraps(link: &Link, planars: &[&Arc<Planar>], period: i64) -> bool {
    let as_long = |array: usize| planars[array].facts().valid == (0..period);
    // What a fill sets beyond the ends is there only if they belong together.
    let has_ends = link
        .filled()
        .is_some_and(|(array, _)| !planars[array].facts().is_ring() && planars[array].ends().next().is_some());
    // Cells that run in order along the axis do so from its first plane.
    let in_order = link
        .op
        .kernel()
        .and_then(|sweep| sweep.order())
        .is_some_and(|order| link.uses.iter().any(|one| order.axis + planars[one.array].facts().rank == 4));
    // Beyond the ends may lie cells of the colour that runs: what is read there are ghosts, as they were before.
    let is_coloured = link.op.kernel().is_some_and(|sweep| sweep.launch.colour().is_some());
    !(has_ends || in_order || is_coloured)
        && link.uses.iter().all(|one| {
            // A plane and those around it are different ones.
            let around = |(lo, hi): (i64, i64)| hi.max(0) - lo.min(0) < period && planars[one.array].facts().is_ring();
            as_long(one.array) && one.read.is_none_or(|read| read == (0, 0) || around(read))
        })
}
