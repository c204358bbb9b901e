//! Breadth-first search: Lashgar §3.3.1 (Rodinia's BFS).
//!
//! There the nodes of one depth push into their children; here each node that has no level yet pulls: it looks for a
//! parent that has the level before. So a cell writes itself alone, and nothing races. Whether any node found a parent
//! is a reduction, as in the paper, but the host looks at it one level late and so holds nothing up: a level too many
//! changes nothing.

use tida::prelude::*;
use tida_plot::Lines;
use tida_suite::Result;
use tida_suite::flags::{Edge, Example, Look, Settings};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "bfs",
        about: "The depth of every node of a random graph below node 0; a step is a level",
        dims: &[1],
        size: [1 << 17, 0, 0],
        steps: 1000,
        ghost: 0,
        dtypes: &[],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("depth"),
    },
    small: "--size 3000",
    input: false,
    run,
};

/// Children of a node.
const CHILDREN: usize = 4;

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(3)?;
    let n = settings.shape[0];
    // Parents of node `i` are `parents[first[i]..first[i + 1]]`.
    let (offsets, numbers) = parents(n);
    let mut first = TileArray::<i32, 1>::builder([n + 1]).everywhere().build(&acc)?;
    first.write_box(first.domain(), &offsets)?;
    let mut parents = TileArray::<i32, 1>::builder([numbers.len()]).everywhere().build(&acc)?;
    parents.write_box(parents.domain(), &numbers)?;
    // Not reached yet is -1.
    let mut level = settings.array::<i32, 1>(&acc, Boundary::Open)?;
    level.fill(|[i]| if i == 0 { 0 } else { -1 })?;
    let mut next = level.like()?;
    // What each node reads of the others.
    let mut known = settings.builder::<i32, 1>(Boundary::Open)?.everywhere().build(&acc)?;
    let tile_size = settings.tile()?;

    let mut reached: Option<Scalar<i32>> = None;
    let mut steps = 0;
    let mut clock = settings.clock()?;
    while steps < settings.steps {
        let depth = steps as i32;
        known.copy_from(&level)?;
        for tile in TileIter::new(&next).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next, all(&known), all(&first), all(&parents)),
                kernel!(|next, level, first, parents, at| {
                    let mut found = level[at];
                    if found < 0 {
                        let end = first[at + [1]];
                        let mut edge = first[at];
                        while found < 0 && edge < end {
                            if level[[parents[[edge as i64]] as i64]] == depth {
                                found = depth + 1;
                            }
                            edge += 1;
                        }
                    }
                    next[at] = found;
                }),
            )?;
        }
        std::mem::swap(&mut level, &mut next);
        steps += 1;
        clock.step_of(&level)?;
        let new = reduce_later((&level, &next), Max, kernel!(|level, next, at| level[at] - next[at]))?;
        if let Some(old) = reached.replace(new)
            && old.get()? == 0
        {
            break;
        }
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    let levels = || Ok(level.read_box(level.domain())?);
    settings.draw(steps, || levels().map(|levels| at_each_depth(&levels)))?;
    settings.finish_with(&level, steps, seconds, levels, || depths(n, settings.steps))
}

/// How many nodes lie at each depth.
fn at_each_depth(levels: &[i32]) -> Lines {
    let deepest = levels.iter().copied().max().unwrap_or(0);
    let count = |depth| levels.iter().filter(|level| **level == depth).count() as f64;
    Lines::new().series("", &(0..=deepest).map(count).collect::<Vec<f64>>()).axes("depth", "nodes")
}

/// The `k`-th child of a node. Most are near it, so that the search takes many levels.
fn child(n: usize, node: usize, k: usize) -> usize {
    let draw = plain::hash(node * CHILDREN + k) as usize;
    let width = if draw.is_multiple_of(997) { n } else { n.min(200) };
    (node + n + draw / 997 % width - width / 4) % n
}

/// The edges by the node that they lead to: where each node's parents start, and the parents.
fn parents(n: usize) -> (Vec<i32>, Vec<i32>) {
    let mut edges: Vec<(usize, usize)> =
        (0..n * CHILDREN).map(|e| (child(n, e / CHILDREN, e % CHILDREN), e / CHILDREN)).collect();
    edges.sort_unstable();
    let mut first = vec![0; n + 1];
    for (to, _) in &edges {
        first[to + 1] += 1;
    }
    for i in 0..n {
        first[i + 1] += first[i];
    }
    (first, edges.iter().map(|(_, from)| *from as i32).collect())
}

/// The same by plain loops: a frontier that pushes, down to a depth of `steps`.
fn depths(n: usize, steps: u64) -> Vec<i32> {
    let mut level = vec![-1; n];
    level[0] = 0;
    let mut frontier = vec![0];
    for depth in 0..steps as i32 {
        let mut reached = Vec::new();
        for node in frontier {
            for k in 0..CHILDREN {
                let to = child(n, node, k);
                if level[to] < 0 {
                    level[to] = depth + 1;
                    reached.push(to);
                }
            }
        }
        frontier = reached;
    }
    level
}
