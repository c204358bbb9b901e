//! What a launch has tiles in shared memory for, and how large they are.

use std::fmt;

use smallvec::SmallVec;
use tida_kernels::analysis::Interval;
use tida_kernels::ir::{Access, Arg, Kernel};
use tida_kernels::plan::cache::{Cache, Cached, LINES, Scope, Sharing, Walk};
use tida_kernels::plan::coarse::{STRIP, Shape};
use tida_kernels::plan::maps::maps;
use tida_kernels::plan::room::SHORT;
use tida_kernels::plan::{Dialect, Goal, Math, Plan};

use super::prepare::Prepared;
use crate::backend::Facts;
use crate::device::plans::{Hints, MOST};
use crate::error::{Error, ErrorKind};

impl Hints {
    /// Whether a kernel can be cached so.
    ///
    /// # Errors
    /// No such argument, or one that is written.
    pub fn check(&self, prepared: &Prepared) -> Result<(), Error> {
        let Some(last) = self.last() else { return Ok(()) };
        let args = &prepared.kernel.args;
        if last >= args.len() {
            return Err(Error::new(
                ErrorKind::Argument,
                format!("cache argument {last} of the kernel at {}", prepared.place()),
                format!("a kernel of {} arguments", args.len()),
                "count the arguments that `compute` is given from 0",
            ));
        }
        let written =
            |n: &usize| self.get(*n).is_some_and(|how| how != Cache::None) && args[*n].access == Access::Write;
        match (0..args.len()).find(written) {
            Some(n) => Err(Error::new(
                ErrorKind::Argument,
                format!("cache argument {n} of the kernel at {}", prepared.place()),
                format!("that `{}` is written", args[n].name),
                "cache arguments that are read alone",
            )),
            None => Ok(()),
        }
    }
}

/// What a launch asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub hints: &'a Hints,
    /// Threads of a block, if asked for.
    pub block: Option<[u32; 3]>,
    /// Those that the launch would have without tiles.
    pub usual: [u32; 3],
    /// Cells of the largest box along each axis, and of all boxes.
    pub extent: &'a [i64],
    pub all: u64,
    /// Cells of a thread along x and y, iterations of a strip and whether strips are fetched ahead, if asked for.
    pub cells: Option<[u32; 2]>,
    pub strip: Option<u32>,
    pub ahead: Option<bool>,
    pub checked: bool,
    /// Captured integers.
    pub captures: &'a [Option<Interval>],
}

/// Tiles of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    pub cache: Vec<Cached>,
    pub block: [u32; 3],
    pub width: u32,
    pub cells: [u32; 2],
}

/// Tiles that do not fit: for so many threads, so many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooLarge {
    block: [u32; 3],
    bytes: u64,
    limit: u64,
}

impl TooLarge {
    /// The error of a launch that asked for them.
    pub fn error(&self, prepared: &Prepared) -> Error {
        let [x, y, z] = self.block;
        Error::new(
            ErrorKind::Argument,
            format!("cache arguments of the kernel at {}", prepared.place()),
            format!(
                "tiles of {} bytes for blocks of {x} x {y} x {z} threads, where a block has {} bytes of shared memory",
                self.bytes, self.limit
            ),
            "cache fewer arguments, or ask for smaller blocks with `.thread_block(..)`",
        )
    }
}

/// Threads along x and y of a block whose cells share rows and columns, and iterations of a strip.
const SQUARE: u32 = 32;
/// The same where threads have several cells, and nobody asked for others.
const SIDE: u32 = 16;
/// Threads of a block each of which goes along a row of its own, and iterations of a strip.
const ROWS: u32 = 64;
/// Most iterations of a strip whose tile is the same for all cells.
const LONG: u32 = 256;
/// Fewest iterations of a loop that has a tile without being asked.
const WALK: i64 = 64;
/// Reads that a fetched value serves, for a walk to have a tile without being asked.
const WORTH: i64 = 8;

/// What of a sweep is cached, with the blocks and strips for it; none if nothing is. `cut` says which whole arrays have
/// several regions.
///
/// # Errors
/// Tiles that do not fit where they were asked for.
pub(crate) fn tiles(
    prepared: &Prepared,
    facts: &Facts,
    asked: Asked<'_>,
    cut: &dyn Fn(usize) -> bool,
) -> Result<Option<Tiles>, TooLarge> {
    let sharing = &prepared.sharing;
    // Stencils are cached where that is asked for alone.
    let walks = sharing.scopes.iter().any(|scope| scope.walk.is_some());
    if asked.hints.is_empty() && (!facts.gpu || asked.checked || !walks) {
        return Ok(None);
    }
    let choice = Choice { prepared, facts, asked, cut, product: sharing.is_product(prepared.kernel.rank) };
    // The first shape that leaves no argument without its tile.
    for shape in choice.shapes() {
        let (plan, full) = choice.plan(Some(shape));
        if let Ok(Some(tiles)) =
            choice.fit(plan).map(|tiles| tiles.filter(|tiles| tiles.cache.len() == full && choice.walks(tiles)))
        {
            return Ok(Some(tiles));
        }
    }
    choice.fit(choice.plan(None).0)
}

/// What is to be cached, while it is chosen.
struct Choice<'a> {
    prepared: &'a Prepared,
    facts: &'a Facts,
    asked: Asked<'a>,
    cut: &'a dyn Fn(usize) -> bool,
    /// Cells beside one another and above one another share what is walked.
    product: bool,
}

impl Choice<'_> {
    /// Iterations of a walk.
    fn trips(&self, walk: &Walk) -> i64 {
        walk.trips(&self.prepared.analysis, self.asked.captures).unwrap_or(i64::MAX)
    }

    /// Blocks whose threads have several cells, in the order in which they are to be tried.
    fn shapes(&self) -> Vec<Shape> {
        let (asked, sharing) = (&self.asked, &self.prepared.sharing);
        let Some(coarse) = sharing.coarse.as_ref().filter(|_| !asked.checked) else { return Vec::new() };
        if let Some(cells) = asked.cells {
            let axes = |[x, y]: [u32; 2]| if self.prepared.kernel.rank > 1 { [x, y] } else { [x, 1] };
            let block = axes(asked.block.map_or([SIDE, SIDE], |[x, y, _]| [x, y]));
            let cells = axes(cells);
            return if cells == [1, 1] { Vec::new() } else { vec![Shape { block, cells, strip: STRIP }] };
        }
        let shared = |how: Cache| matches!(how, Cache::Tile | Cache::Preload | Cache::Tma);
        let apart = asked.hints.all().any(|(arg, how)| sharing.walked(arg) && !shared(how));
        if !self.facts.gpu || !self.product || apart || asked.block.is_some() {
            return Vec::new();
        }
        coarse.shapes(self.facts.machine.multiprocessors, asked.extent, asked.all)
    }

    /// Whether some walk has tiles.
    fn walks(&self, tiles: &Tiles) -> bool {
        tiles.cache.iter().any(|cached| self.prepared.sharing.walked(cached.arg.into()))
    }

    /// The threads of a block, and whether strips are fetched ahead.
    fn block(&self, shape: Option<Shape>, exchanged: bool) -> ([u32; 3], bool) {
        let (facts, asked, kernel) = (self.facts, &self.asked, &self.prepared.kernel);
        let on_cuda = facts.dialect == Dialect::Cuda;
        if let Some(Shape { block: [x, y], .. }) = shape {
            return ([x, y, 1], asked.ahead.unwrap_or(on_cuda));
        }
        let mut side = SQUARE;
        while side * side > facts.block_threads {
            side /= 2;
        }
        // So it is faster by 4 %; of longer values nothing is known.
        let short = |arg: &Arg| arg.element.component_types().iter().all(|ty| ty.size() <= 4);
        let ahead = self.product && on_cuda && asked.hints.is_empty() && kernel.args.iter().all(short);
        let mut block = match asked.block {
            Some(block) => block,
            // Fetching ahead takes registers: blocks of half as many threads leave room for another beside them.
            None if self.product && (ahead || asked.hints.are_ahead()) => [side, (side / 2).max(1), 1],
            None if self.product => [side, side, 1],
            None if exchanged => [ROWS.min(facts.block_threads), 1, 1],
            None => asked.usual,
        };
        if kernel.rank > 3 && asked.block.is_none() {
            block[2] = 1;
        }
        // Rows of one's own take as much from memory with tiles as it has to give: then nothing should wait for it.
        (block, ahead || exchanged && on_cuda)
    }

    /// Iterations of a strip.
    fn width(&self, shape: Option<Shape>, block: [u32; 3], exchanged: bool) -> u32 {
        let walked = || self.prepared.sharing.scopes.iter().filter(|scope| scope.walk.is_some());
        let moved =
            |scope: &Scope| scope.tiles.iter().any(|tile| tile.sides.iter().any(|side| side.rates().next().is_some()));
        let threads: u32 = block.iter().product();
        let width = match walked().any(moved) {
            _ if self.asked.strip.is_some() && shape.is_some() => self.asked.strip.unwrap_or(STRIP),
            true => {
                shape.map_or_else(|| block[0].clamp(SHORT, if exchanged { ROWS } else { SQUARE }), |shape| shape.strip)
            }
            false => threads.clamp(SHORT, LONG),
        };
        // Strips are no longer than what is walked.
        let longest = walked().filter_map(|scope| scope.walk.as_ref()).map(|walk| self.trips(walk)).max().unwrap_or(1);
        u32::try_from(longest).map_or(width, |longest| width.min(longest.max(1)))
    }

    /// The plan with all tiles, whether there is room for them or not, and how many arguments have some.
    fn plan(&self, shape: Option<Shape>) -> (Plan, usize) {
        let (facts, asked, kernel, sharing) = (self.facts, &self.asked, &self.prepared.kernel, &self.prepared.sharing);
        let long = |walk: &Walk| self.trips(walk) >= WALK;
        let mut exchanged = sharing.exchanged(kernel, long);
        exchanged.retain(|arg| !self.product && asked.hints.get(*arg) != Some(Cache::None));
        let (block, ahead) = self.block(shape, !exchanged.is_empty());
        let width = self.width(shape, block, !exchanged.is_empty());
        let cells = shape.map_or([1, 1], |shape| shape.cells);
        let span = [block[0] * cells[0], block[1] * cells[1], block[2]];
        let mut worth = sharing.worth(kernel, (span, width), WORTH, long);
        worth.extend(exchanged);
        let how = |arg: usize| match asked.hints.get(arg) {
            Some(how) => how,
            None if facts.gpu && !asked.checked && worth.contains(&arg) => {
                if ahead {
                    Cache::Preload
                } else {
                    Cache::Tile
                }
            }
            None => Cache::None,
        };
        let cached = |arg: usize| Cached { arg: arg as u8, how: how(arg), cut: (self.cut)(arg) };
        let all = (0..kernel.args.len().min(MOST)).map(cached).filter(|cached| cached.how != Cache::None);
        let mut plan = Plan {
            dialect: facts.dialect,
            math: Math::Exact,
            goal: Goal::Sweep,
            block,
            many: false,
            by_value: 0,
            narrow: true,
            joint: false,
            stream: false,
            checked: asked.checked,
            groups: Vec::new(),
            march: None,
            side: 1,
            rows: 0,
            fused: None,
            cache: all.collect(),
            width,
            cells,
            registers: 0,
            latency: facts.machine.latency,
            ghosts: Vec::new(),
            along: None,
            colours: None,
        };
        let scopes = sharing.planned(kernel, &plan);
        let tagged = sharing.tagged(kernel, &plan);
        let tiled = |arg: usize| scopes.iter().any(|scope| scope.tiles.iter().any(|tile| tile.arg == arg));
        plan.cache.retain(|cached| tiled(cached.arg.into()) || tagged.contains(&cached.arg.into()));
        let full = plan.cache.len();
        (plan, full)
    }

    /// What of a plan's tiles has room.
    fn fit(&self, plan: Plan) -> Result<Option<Tiles>, TooLarge> {
        let (prepared, hints, block) = (self.prepared, self.asked.hints, plan.block);
        if plan.cache.is_empty() {
            return Ok(None);
        }
        match prepared.sharing.fit(&prepared.kernel, plan, self.facts.shared, |arg| hints.get(arg).is_some()) {
            Ok(plan) => Ok(Some(Tiles { cache: plan.cache, block, width: plan.width, cells: plan.cells })),
            Err(bytes) => Err(TooLarge { block, bytes, limit: self.facts.shared }),
        }
    }
}

/// A line for each argument that is read alone: its tile, or why it has none.
pub(crate) fn describe(prepared: &Prepared, plan: &Plan, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (kernel, sharing) = (&prepared.kernel, &prepared.sharing);
    let scopes = sharing.planned(kernel, plan);
    let maps = maps(&scopes, kernel, plan);
    let refused = sharing.refusal(kernel, plan);
    if scopes.iter().any(|scope| scope.walk.is_some()) {
        writeln!(f, "  cells: {}", cells(sharing, plan))?;
    }
    for (n, arg) in kernel.args.iter().enumerate().filter(|(_, arg)| arg.access != Access::Write) {
        let name = &arg.name;
        let by_map = maps.iter().any(|map| map.arg == n);
        let mine: SmallVec<[Scope; 2]> = scopes.iter().filter_map(|scope| only(scope, n)).collect();
        for scope in &mine {
            writeln!(f, "  cache: {}", of_scope(kernel, plan, scope, name, by_map))?;
        }
        if sharing.tagged(kernel, plan).contains(&n) {
            writeln!(f, "  cache: `{name}`: {LINES} lines of a value, {} bytes (TaggedLines)", 8 * LINES)?;
        } else if mine.is_empty() {
            writeln!(f, "  cache: `{name}`: {}", why_not(sharing, plan, refused, n))?;
        }
    }
    Ok(())
}

/// How many cells a thread has, and why.
fn cells(sharing: &Sharing, plan: &Plan) -> String {
    let ([x, y], [span_x, span_y, _]) = (plan.cells_of_thread(), plan.span());
    match sharing.single {
        _ if [x, y] != [1, 1] => {
            format!("{y} x {x} a thread, {span_y} x {span_x} a block: a value of a tile is read once for several")
        }
        Some(why) => format!("one a thread: {why}"),
        None => {
            "one a thread: rows and columns are not shared, there would be too few blocks, or it was asked for".into()
        }
    }
}

/// Why an argument has no tile.
fn why_not(sharing: &Sharing, plan: &Plan, refused: Option<&'static str>, arg: usize) -> &'static str {
    match refused {
        Some(why) => why,
        None if plan.checked => "no: some read is checked as it happens",
        None if sharing.walked(arg) => "no: too few reads would find what was fetched, or it was not asked for",
        None if sharing.has(arg) => "no: reads around the cell are left to the device's own caches",
        None => "no: the block alone does not decide which cells are read",
    }
}

/// The scope with the tiles of one argument alone.
fn only(scope: &Scope, arg: usize) -> Option<Scope> {
    let tiles: Vec<_> = scope.tiles.iter().filter(|tile| tile.arg == arg).cloned().collect();
    (!tiles.is_empty()).then(|| Scope { walk: scope.walk.clone(), tiles })
}

/// `` `a`: 32 x 32 cells, 4096 bytes, for 32 iterations of `k` (Tile) ``.
fn of_scope(kernel: &Kernel, plan: &Plan, scope: &Scope, name: &str, by_map: bool) -> String {
    let extent = |tile: &tida_kernels::plan::cache::Tile| {
        let extent = tile.extent(scope.walk.as_ref(), kernel.rank, plan.span(), plan.width);
        extent.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ")
    };
    let cells: Vec<String> = scope.tiles.iter().map(extent).collect();
    let bytes = scope.bytes(kernel, plan);
    let how = scope.tiles.first().map_or(Cache::None, |tile| plan.cached(tile.arg));
    let when = match &scope.walk {
        Some(walk) => format!("for {} iterations of `{}`", plan.width, walk.name),
        None => "for the cells of a block".into(),
    };
    let exchanged = scope.tiles.iter().any(|tile| tile.is_exchanged(scope.walk.as_ref(), kernel.rank));
    let along = if exchanged { ", fetched along the rows that threads go down" } else { "" };
    let by_map = if by_map { ", by tensor maps" } else { "" };
    format!("`{name}`: {} cells, {bytes} bytes, {when} ({how:?}{by_map}){along}", cells.join(" and "))
}
