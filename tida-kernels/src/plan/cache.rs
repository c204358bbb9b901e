//! Reads that the threads of a block serve from a tile in the memory they share (Lashgar ch. 5).
//!
//! *Sharing extraction* (Listing 5.5): an index that is constants plus multiples of `at`, captured integers and
//! counters of loops that all threads run alike says which box of an argument the cells of a block read. Two kinds of
//! **scopes** have such boxes: a **walk**, where a uniform loop is cut into strips of `width` iterations and each strip
//! has its tile (rows and columns of a product, bodies of an N-body sum); and the body as a whole, for reads around the
//! cell. A tile has `length + rate · (width − 1)` cells along an axis (§5.3.2).

use std::collections::{BTreeMap, BTreeSet};

use super::coarse::{Coarse, coarse};
use super::maps::BESIDE;
use super::reads::{Reads, assigns, loads};
use super::{Goal, Plan};
use crate::analysis::{Analysis, ArrayAccess, IndexForm, Interval, NormalForm, Symbol};
use crate::codec::Codec;
use crate::element::ScalarType;
use crate::ir::{Access, Arg, Block, ExprId, ExprKind, Kernel, LocalId, StmtKind, has_while};

/// How the threads of a block on a device serve the reads of an argument. The bits are the same by all of them.
///
/// A **tile** is a box of the argument's cells that a block fetches into the memory that its threads share. The forms
/// are those of Lashgar's thesis (IPMACC), ch. 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cache {
    /// From memory, whatever would be chosen.
    None,
    /// From the tile, unchecked, for reads that are proven to be in it: range-based intelligent caching (RBI, Lashgar
    /// §5.2.3).
    Tile,
    /// Every read of the argument looks whether its cell is in the tile, else it goes to memory: range-based
    /// conservative caching (RBC, §5.2.2). Also for reads whose index is not known before.
    CheckedTile,
    /// Lines of one value with a tag, for reads at any index of values of at most 4 bytes: an emulated hardware cache
    /// (EHC, §5.2.1).
    TaggedLines,
    /// As [`Cache::Tile`], and the tile of the next strip is fetched while one is worked on (ch. 7): by `cp.async` on
    /// CUDA.
    Preload,
    /// As [`Cache::Preload`], where one thread orders the box of a strip by a tensor map (NVIDIA's Tensor Memory
    /// Accelerator, TMA). On CUDA from sm_90 on, for whole arrays with one region (see [`maps`](super::maps)). Where
    /// that cannot be it is [`Cache::Preload`].
    Tma,
}

impl Cache {
    /// Whether the tile of the next strip is fetched while one is worked on.
    pub fn is_ahead(self) -> bool {
        matches!(self, Cache::Preload | Cache::Tma)
    }
}

/// An argument that is cached, or a whole array whose reads go to the only region that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cached {
    /// Its number.
    pub arg: u8,
    /// How.
    pub how: Cache,
    /// A whole array of several regions, which are looked up for each cell.
    pub cut: bool,
}

/// What the cells of a block share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sharing {
    /// Where tiles are fetched.
    pub scopes: Vec<Scope>,
    /// Why nothing of this kernel is cached, whoever asks.
    pub refused: Option<&'static str>,
    /// How a thread can have several cells.
    pub coarse: Option<Coarse>,
    /// Why it can have one alone.
    pub single: Option<&'static str>,
}

/// A part of the kernel with the tiles that are fetched for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The loop that is cut into strips; none where tiles are fetched once, before the body.
    pub walk: Option<Walk>,
    /// The tiles.
    pub tiles: Vec<Tile>,
}

/// A loop that all threads of a block run alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Its number in [`Analysis::loops`].
    pub number: u32,
    /// The statement: variable and bounds.
    pub stmt: (LocalId, ExprId, ExprId),
    /// Name of the variable.
    pub name: String,
    /// The loops around, by number, with their variables.
    pub outer: Vec<(u32, LocalId)>,
}

/// A box of an argument that the cells of a block read.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// The argument.
    pub arg: usize,
    /// The components that are read.
    pub components: BTreeSet<u32>,
    /// Those of which memory holds codes: the tile holds their values, which were decoded as they were fetched.
    pub codecs: BTreeMap<u32, Codec>,
    /// The box, along each axis of the argument.
    pub sides: Vec<Side>,
    /// The reads that are proven to be in it: cells from the low end of each side's own range.
    pub reads: BTreeMap<ExprId, Vec<i64>>,
    /// Reads that may be in it.
    pub others: BTreeSet<ExprId>,
    /// Values in 16 bytes.
    pub quad: i64,
}

/// One axis of a tile: `form` to `form + spread`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The lowest index of a cell.
    pub form: NormalForm,
    /// How much higher the highest is.
    pub spread: i64,
}

/// Lines of an argument whose reads go through tags: one value each, 8 bytes with its tag. Where memory holds codes of
/// values of at most [`TAGGED`] bytes, lines hold the values.
pub const LINES: u64 = 256;
/// Most bytes of such a value.
pub const TAGGED: usize = 4;

/// The multiples of `at` or of a counter that are worth a tile.
const STEEPEST: i64 = 8;

impl Side {
    /// Its multiples of the coordinates of the cell: axis of the kernel and coefficient.
    pub fn rates(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.form.terms.iter().filter_map(|(symbol, by)| match symbol {
            Symbol::At(axis) => Some((*axis as usize, *by)),
            _ => None,
        })
    }

    /// Its multiple of a loop's counter.
    pub fn along(&self, walk: Option<&Walk>) -> i64 {
        walk.map_or(0, |walk| self.form.coefficient(Symbol::Loop(walk.number)))
    }
}

impl Tile {
    /// Whether each thread goes along a row of its own while the threads beside it go along others. From memory each
    /// read of a warp would touch as many lines as it has threads; neighbouring threads fetch the tile along its rows
    /// instead, which is the loop exchange of MESI-CUDA (§4.4.2) where the order of a sum has to stay.
    pub fn is_exchanged(&self, walk: Option<&Walk>, rank: usize) -> bool {
        let Some((last, outer)) = self.sides.split_last() else { return false };
        let x = rank.saturating_sub(1);
        let moves = |side: &Side| side.rates().any(|(axis, _)| axis == x);
        last.along(walk) != 0 && !moves(last) && outer.iter().any(moves)
    }

    /// Cells along each axis (§5.3.2), for blocks of these threads and strips of `width` iterations.
    pub fn extent(&self, walk: Option<&Walk>, rank: usize, block: [u32; 3], width: u32) -> Vec<i64> {
        let side = |side: &Side| {
            let at: i64 = side.rates().map(|(axis, by)| by.abs() * (threads(rank, block, axis) - 1)).sum();
            side.spread + 1 + at + side.along(walk).abs() * (i64::from(width) - 1)
        };
        self.sides.iter().map(side).collect()
    }

    /// Cells of a row in shared memory: one more where neighbouring threads would find theirs in one bank. Where each
    /// thread goes along a row, it takes 16 bytes at once: then an odd number of those.
    pub fn row(&self, walk: Option<&Walk>, (rank, block): (usize, [u32; 3]), extent: &[i64]) -> i64 {
        let cells = extent.last().copied().unwrap_or(1);
        if self.is_exchanged(walk, rank) && self.sides.last().is_some_and(|last| last.along(walk) == 1) {
            return (((cells + self.quad - 1) / self.quad) | 1) * self.quad;
        }
        let outer = self.sides.split_last().map_or(&[][..], |(_, outer)| outer);
        let x = rank.saturating_sub(1);
        let across = block[0] > 1 && outer.iter().any(|side| side.rates().any(|(axis, _)| axis == x));
        if across { cells | 1 } else { cells }
    }

    /// Values of one component in shared memory.
    pub fn cells(&self, walk: Option<&Walk>, rank: usize, block: [u32; 3], width: u32) -> i64 {
        let extent = self.extent(walk, rank, block, width);
        let rows: i64 = extent.split_last().map_or(1, |(_, outer)| outer.iter().product());
        rows.saturating_mul(self.row(walk, (rank, block), &extent))
    }

    /// Reads of a block that it serves.
    pub(crate) fn served(&self, walk: Option<&Walk>, block: [u32; 3], width: u32) -> i64 {
        let iterations = if walk.is_some() { i64::from(width) } else { 1 };
        let threads: i64 = block.iter().map(|n| i64::from(*n)).product();
        let offsets: BTreeSet<&Vec<i64>> = self.reads.values().collect();
        threads * iterations * offsets.len() as i64
    }

    /// Reads from the tile for each value that is fetched.
    fn reuse(&self, walk: Option<&Walk>, rank: usize, block: [u32; 3], width: u32) -> i64 {
        self.served(walk, block, width) / self.extent(walk, rank, block, width).iter().product::<i64>().max(1)
    }

    /// What it holds of a component.
    pub fn scalar(&self, kernel: &Kernel, component: u32) -> Option<ScalarType> {
        let codec = self.codecs.get(&component).map(Codec::value);
        codec.or_else(|| kernel.args.get(self.arg)?.element.component_types().get(component as usize).copied())
    }

    /// Bytes of shared memory in a plan.
    pub fn bytes(&self, walk: Option<&Walk>, kernel: &Kernel, plan: &Plan) -> u64 {
        let cells = self.cells(walk, kernel.rank, plan.span(), plan.width).max(0).unsigned_abs();
        let bytes = |n: &u32| self.scalar(kernel, *n).map_or(8, |ty| ty.size() as u64);
        // Each starts at a multiple of 16.
        let once: u64 = self.components.iter().map(|n| cells.saturating_mul(bytes(n)).next_multiple_of(16)).sum();
        let how = plan.cached(self.arg);
        let halves = if walk.is_some() && how.is_ahead() { 2 } else { 1 };
        once.saturating_mul(halves).saturating_add(if how == Cache::Tma { BESIDE } else { 0 })
    }
}

/// Threads, or cells, of a block along an axis of the kernel.
pub fn threads(rank: usize, block: [u32; 3], axis: usize) -> i64 {
    match rank.checked_sub(axis + 1) {
        Some(n @ 0..3) => i64::from(block[n]),
        _ => 1,
    }
}

impl Walk {
    /// Its iterations, if constants and these captured integers decide them.
    pub fn trips(&self, analysis: &Analysis, captures: &[Option<Interval>]) -> Option<i64> {
        let info = analysis.loops.get(self.number as usize)?;
        let (IndexForm::Affine(lo), IndexForm::Affine(last)) = (&info.lo, &info.last) else { return None };
        let mut form = last.sub(lo)?;
        for (symbol, _) in form.terms.clone() {
            let Symbol::Capture(n) = symbol else { return None };
            form = form.substitute(symbol, captures.get(n as usize).copied().flatten()?.as_point()?)?;
        }
        form.as_constant()?.checked_add(1)
    }
}

impl Scope {
    /// Bytes of shared memory.
    pub fn bytes(&self, kernel: &Kernel, plan: &Plan) -> u64 {
        let of = |tile: &Tile| tile.bytes(self.walk.as_ref(), kernel, plan);
        self.tiles.iter().map(of).fold(0, u64::saturating_add)
    }
}

impl Plan {
    /// How the reads of an argument are served.
    pub fn cached(&self, arg: usize) -> Cache {
        self.cache.iter().find(|cached| cached.arg as usize == arg).map_or(Cache::None, |cached| cached.how)
    }

    /// Whether the kernel has tiles: all threads of a block then stay until its end.
    pub fn caches(&self) -> bool {
        self.cache.iter().any(|cached| cached.how != Cache::None)
    }
}

impl Sharing {
    /// The scopes that a plan has tiles for. An argument that is walked has its tiles there alone.
    pub fn planned(&self, kernel: &Kernel, plan: &Plan) -> Vec<Scope> {
        if self.refusal(kernel, plan).is_some() {
            return Vec::new();
        }
        let mut scopes = self.scopes.clone();
        for scope in &mut scopes {
            let walks = scope.walk.is_some();
            scope.tiles.retain(|tile| match plan.cached(tile.arg) {
                Cache::None | Cache::TaggedLines => false,
                Cache::Tile | Cache::Preload | Cache::Tma => {
                    !plan.checked && (walks || !self.walked(tile.arg)) && !tile.reads.is_empty()
                }
                // Where reads are checked as they happen, a loop's bounds are not proven.
                Cache::CheckedTile if plan.checked => !walks && local(tile),
                Cache::CheckedTile => walks || !self.walked(tile.arg),
            });
        }
        scopes.retain(|scope| !scope.tiles.is_empty());
        scopes
    }

    /// The arguments whose reads go through tagged lines in a plan.
    pub fn tagged(&self, kernel: &Kernel, plan: &Plan) -> Vec<usize> {
        if self.refusal(kernel, plan).is_some() {
            return Vec::new();
        }
        let small = |arg: &Arg| arg.element.component_types().iter().any(|ty| ty.size() <= TAGGED);
        let is = |n: &usize| {
            kernel.args[*n].access != Access::Write && plan.cached(*n) == Cache::TaggedLines && small(&kernel.args[*n])
        };
        (0..kernel.args.len()).filter(is).collect()
    }

    /// Why a plan has no tiles at all.
    pub fn refusal(&self, kernel: &Kernel, plan: &Plan) -> Option<&'static str> {
        match self.refused {
            Some(why) => Some(why),
            None if plan.goal != Goal::Sweep => Some("reductions read each cell once"),
            None if kernel.rank > 3 && plan.block[2] > 1 => Some("a block over four axes is no box"),
            None => None,
        }
    }

    /// Whether a loop walks an argument.
    pub fn walked(&self, arg: usize) -> bool {
        self.scopes.iter().any(|scope| scope.walk.is_some() && scope.tiles.iter().any(|tile| tile.arg == arg))
    }

    /// Whether some scope has a tile of an argument.
    pub fn has(&self, arg: usize) -> bool {
        self.scopes.iter().any(|scope| scope.tiles.iter().any(|tile| tile.arg == arg))
    }

    /// Whether walks have cells beside one another and cells above one another share what they read, as the rows and
    /// columns of a product do.
    pub fn is_product(&self, rank: usize) -> bool {
        let Some((y, x)) = rank.checked_sub(2).map(|y| (y, y + 1)) else { return false };
        let tiles = || self.scopes.iter().filter(|scope| scope.walk.is_some()).flat_map(|scope| &scope.tiles);
        let moves = |tile: &Tile, with: usize| tile.sides.iter().any(|side| side.rates().any(|(axis, _)| axis == with));
        tiles().any(|tile| moves(tile, y) && !moves(tile, x)) && tiles().any(|tile| moves(tile, x) && !moves(tile, y))
    }

    /// The arguments that some walk, of those that are `long`, reads along a row for each thread.
    pub fn exchanged(&self, kernel: &Kernel, long: impl Fn(&Walk) -> bool) -> BTreeSet<usize> {
        let of = |scope: &Scope| {
            let is = |tile: &&Tile| tile.is_exchanged(scope.walk.as_ref(), kernel.rank) && !tile.reads.is_empty();
            scope.tiles.iter().filter(is).map(|tile| tile.arg).collect::<Vec<_>>()
        };
        self.scopes.iter().filter(|scope| scope.walk.as_ref().is_some_and(&long)).flat_map(of).collect()
    }

    /// The arguments whose walks, of those that are `long`, serve so many reads with each value that they fetch.
    pub fn worth(
        &self,
        kernel: &Kernel,
        (block, width): ([u32; 3], u32),
        least: i64,
        long: impl Fn(&Walk) -> bool,
    ) -> BTreeSet<usize> {
        let of = |scope: &Scope| {
            let walk = scope.walk.clone();
            let worth = |tile: &&Tile| tile.reuse(walk.as_ref(), kernel.rank, block, width) >= least;
            scope.tiles.iter().filter(worth).map(|tile| tile.arg).collect::<Vec<_>>()
        };
        self.scopes.iter().filter(|scope| scope.walk.as_ref().is_some_and(&long)).flat_map(of).collect()
    }
}

/// Reads around the cell, at nothing but `at` and constants.
fn local(tile: &Tile) -> bool {
    let at = |side: &Side| side.form.terms.iter().all(|(symbol, _)| matches!(symbol, Symbol::At(_)));
    let near = |side: &Side| side.form.constant.unsigned_abs() < 1 << 31;
    tile.sides.iter().all(|side| at(side) && near(side))
}

/// Finds what the cells of a block share.
pub fn sharing(kernel: &Kernel, analysis: &Analysis) -> Sharing {
    let refused = refused(kernel, analysis);
    if refused.is_some() {
        return Sharing { refused, ..Sharing::default() };
    }
    let known = Reads::of(analysis);
    let mut finder = Finder { kernel, analysis, known, scopes: Vec::new(), stmts: BTreeMap::new() };
    finder.walks(&kernel.body.block, &mut Vec::new());
    let once = |key: &(LocalId, ExprId, ExprId)| finder.stmts.get(key).is_some_and(|count| *count == 1);
    finder.scopes.retain(|scope| scope.walk.as_ref().is_none_or(|walk| once(&walk.stmt)));
    let around = finder.around();
    finder.scopes.extend(around);
    for tile in finder.scopes.iter_mut().flat_map(|scope| &mut scope.tiles) {
        tile.codecs = codecs(kernel, tile.arg);
        tile.codecs.retain(|component, _| tile.components.contains(component));
        let types = tile.components.iter().filter_map(|component| tile.scalar(kernel, *component));
        tile.quad = 16 / types.map(|ty| ty.size() as i64).max().unwrap_or(16).clamp(1, 16);
    }
    let scopes = finder.scopes;
    let (coarse, single) = match coarse(kernel, analysis, &scopes) {
        Ok(coarse) => (Some(coarse), None),
        Err(why) => (None, Some(why)),
    };
    Sharing { scopes, refused: None, coarse, single }
}

/// How memory holds the components of an argument that are read and of which it holds codes.
pub(crate) fn codecs(kernel: &Kernel, arg: usize) -> BTreeMap<u32, Codec> {
    let of = |kind: &ExprKind| match kind {
        ExprKind::Decode(codec, code) => match &kernel.body[*code].kind {
            ExprKind::Load { arg: of, component, .. } if *of as usize == arg => Some((component.base, *codec)),
            _ => None,
        },
        _ => None,
    };
    kernel.body.exprs.iter().filter_map(|expr| of(&expr.kind)).collect()
}

/// Why threads that have no cell could not go along with a neighbour's. They compute what the last cell of the box
/// computes and store nothing; what they read of an array that is written may be from before or after.
fn refused(kernel: &Kernel, analysis: &Analysis) -> Option<&'static str> {
    if !analysis.complete {
        return Some("the analysis had to stop");
    }
    let reads_written = |n: usize| kernel.args[n].access == Access::Write && analysis.args[n].read;
    let open = analysis.loops.iter().any(|l| !matches!((&l.lo, &l.last), (IndexForm::Affine(_), IndexForm::Affine(_))));
    let risky = analysis.may_fault || open || has_while(&kernel.body.block);
    let reads = analysis.args.len() == kernel.args.len() && (0..kernel.args.len()).any(reads_written);
    (risky && reads).then_some("it reads what it writes, and may fault or loop for long on what it reads")
}

struct Finder<'k> {
    kernel: &'k Kernel,
    analysis: &'k Analysis,
    known: Reads<'k>,
    scopes: Vec<Scope>,
    /// How often a loop of these bounds stands in the body.
    stmts: BTreeMap<(LocalId, ExprId, ExprId), usize>,
}

impl<'k> Finder<'k> {
    /// Finds the innermost uniform loops of a block that every thread runs through; says whether there are any.
    fn walks(&mut self, block: &'k Block, outer: &mut Vec<(u32, LocalId)>) -> bool {
        let mut found = false;
        for stmt in block {
            // Threads may have left from here on.
            if stmt.holds(&|kind| matches!(kind, StmtKind::Return(_))) {
                break;
            }
            let StmtKind::For { local, lo, hi, body, .. } = &stmt.kind else { continue };
            *self.stmts.entry((*local, *lo, *hi)).or_default() += 1;
            let Some(number) = self.known.number(self.kernel, body, outer.len()).filter(|n| self.uniform(*n, outer))
            else {
                continue;
            };
            let assigned = assigns(body, *local);
            let mut inner = false;
            if !leaves(body, true) && !assigned {
                outer.push((number, *local));
                inner = self.walks(body, outer);
                outer.pop();
            }
            if inner || leaves(body, false) {
                found |= inner;
                continue;
            }
            let name = self.analysis.loops.get(number as usize).map_or("", |info| info.name.as_str());
            let stmt = (*local, *lo, *hi);
            let walk = Walk { number, stmt, name: name.to_owned(), outer: outer.clone() };
            let tiles = self.tiles(&walk, body);
            if !tiles.is_empty() {
                self.scopes.push(Scope { walk: Some(walk), tiles });
                found = true;
            }
        }
        found
    }

    /// Whether a loop's bounds are the same in all threads.
    fn uniform(&self, number: u32, outer: &[(u32, LocalId)]) -> bool {
        let same = |form: &IndexForm| match form {
            IndexForm::Affine(form) => form.terms.iter().all(|(symbol, _)| match symbol {
                Symbol::Capture(_) => true,
                Symbol::Loop(n) => outer.iter().any(|(number, _)| number == n),
                Symbol::At(_) | Symbol::Choice(_) | Symbol::Thread(..) => false,
            }),
            IndexForm::Opaque(_) => false,
        };
        self.analysis.loops.get(number as usize).is_some_and(|info| same(&info.lo) && same(&info.last))
    }

    /// The tiles of a walk: of reads that its counter moves.
    fn tiles(&self, walk: &Walk, body: &Block) -> Vec<Tile> {
        let numbers: Vec<u32> = walk.outer.iter().map(|(n, _)| *n).chain([walk.number]).collect();
        let mut tiles = Tiles::default();
        let ids = loads(&self.kernel.body, body);
        for id in &ids {
            let Some((arg, access)) = self.known.get(*id) else { continue };
            let moved = |form: &NormalForm| form.coefficient(Symbol::Loop(walk.number)) != 0;
            let forms = self.forms(arg, access, &numbers);
            // A loop around the read that may not run would leave its box unproven.
            if let Some(forms) = forms.filter(|forms| access.loops == numbers && forms.iter().any(moved)) {
                tiles.add(arg, *id, access, forms);
            }
        }
        tiles.finish(&ids, &self.known)
    }

    /// The tiles of reads around the cell.
    fn around(&self) -> Option<Scope> {
        let mut tiles = Tiles::default();
        for (id, arg, access) in self.known.all() {
            let forms = self.forms(arg, access, &[]);
            let Some(forms) = forms.filter(|forms| forms.iter().any(|form| !form.terms.is_empty())) else { continue };
            // A loop that may not run would leave the box of what it reads unproven.
            if access.loops.is_empty() || !access.conditional {
                tiles.add(arg, id, access, forms);
            }
        }
        let ids: Vec<ExprId> = self.known.all().map(|(id, ..)| id).collect();
        let tiles = tiles.finish(&ids, &self.known);
        (!tiles.is_empty()).then_some(Scope { walk: None, tiles })
    }

    /// The index of a read, if the block and counters of these loops decide it.
    fn forms(&self, arg: usize, access: &ArrayAccess, loops: &[u32]) -> Option<Vec<NormalForm>> {
        let of = self.kernel.args.get(arg)?;
        if of.access == Access::Write || access.index.len() != of.rank {
            return None;
        }
        access.component?;
        let form = |form: &IndexForm| match form {
            IndexForm::Affine(form) => {
                let taken = form.terms.iter().all(|(symbol, by)| match symbol {
                    Symbol::At(axis) => (*axis as usize) < self.kernel.rank && by.abs() <= STEEPEST,
                    Symbol::Loop(n) => loops.contains(n) && by.abs() <= STEEPEST,
                    Symbol::Capture(_) => true,
                    Symbol::Choice(_) | Symbol::Thread(..) => false,
                });
                taken.then(|| form.clone())
            }
            IndexForm::Opaque(_) => None,
        };
        access.index.iter().map(form).collect()
    }
}

/// What moves an index, along each axis.
type Terms = Vec<Vec<(Symbol, i64)>>;
/// The component that a read takes, and the constants of its index.
type Places = BTreeMap<ExprId, (u32, Vec<i64>)>;

/// Tiles while they are found, by argument and what moves them.
#[derive(Default)]
struct Tiles {
    all: BTreeMap<(usize, Terms), Places>,
}

impl Tiles {
    fn add(&mut self, arg: usize, id: ExprId, access: &ArrayAccess, forms: Vec<NormalForm>) {
        let constants = forms.iter().map(|form| form.constant).collect();
        let terms = forms.into_iter().map(|form| form.terms).collect();
        self.all.entry((arg, terms)).or_default().insert(id, (access.component.unwrap_or(0), constants));
    }

    /// The tiles, the most read ones of an argument first; `ids` are all reads of the scope.
    fn finish(self, ids: &[ExprId], known: &Reads<'_>) -> Vec<Tile> {
        let mut tiles = Vec::new();
        for ((arg, terms), reads) in self.all {
            let side = |(axis, terms): (usize, Vec<(Symbol, i64)>)| {
                let constants = || reads.values().map(move |(_, constants)| constants[axis]);
                let (lo, hi) = (constants().min()?, constants().max()?);
                Some(Side { form: NormalForm { constant: lo, terms }, spread: hi.checked_sub(lo)? })
            };
            let Some(sides) = terms.into_iter().enumerate().map(side).collect::<Option<Vec<Side>>>() else { continue };
            if sides.iter().any(|side| side.spread > 1 << 12) {
                continue;
            }
            let components = reads.values().map(|(component, _)| *component).collect();
            let from =
                |constants: Vec<i64>| constants.iter().zip(&sides).map(|(c, side)| c - side.form.constant).collect();
            let reads = reads.into_iter().map(|(id, (_, constants))| (id, from(constants))).collect();
            let (codecs, others) = Default::default();
            tiles.push(Tile { arg, components, codecs, sides, reads, others, quad: 1 });
        }
        // Reads of no tile of their own may be in the first of their argument's.
        for id in ids {
            let Some((arg, access)) = known.get(*id) else { continue };
            let mine = |tile: &&mut Tile| tile.arg == arg;
            if tiles.iter().any(|tile| tile.arg == arg && tile.reads.contains_key(id)) {
                continue;
            }
            if let (Some(tile), Some(component)) = (tiles.iter_mut().find(mine), access.component)
                && tile.components.contains(&component)
            {
                tile.others.insert(*id);
            }
        }
        tiles
    }
}

/// Whether a loop of this body can end early, or with `turns` one of its iterations.
fn leaves(body: &Block, turns: bool) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::Continue => turns,
        StmtKind::If(_, then, otherwise) => leaves(then, turns) || leaves(otherwise, turns),
        _ => false,
    })
}
