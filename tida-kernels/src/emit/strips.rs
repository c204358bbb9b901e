//! Loops that are cut into strips, each with its tiles.

use super::body::Writer;
use super::cache::{Strip, fetch};
use super::helpers::Helper;
use super::maps::{self, by_map};
use super::moving::{self, Moving, at_once, begin, next};
use super::rows::{self, by_rows};
use crate::element::ScalarType;
use crate::ir::{Block, ExprId, LocalId, Span, has_loop};
use crate::plan::Dialect;
use crate::plan::cache::Scope;
use crate::plan::reads::expressions;

/// Expressions in the text of a strip that is written out in full.
const UNROLLED: usize = 512;

/// A tile, and the places of its cells where they move on.
type Known = ((usize, usize), Option<Moving>);

/// Whether what is fetched waits in registers.
fn is_staged((_, moving): &Known) -> bool {
    moving.as_ref().is_some_and(Moving::is_staged)
}

impl<'a> Writer<'_, 'a> {
    /// The scope whose walk this loop is.
    pub fn walked(&self, stmt: (LocalId, ExprId, ExprId)) -> Option<usize> {
        let is = |scope: &Scope| scope.walk.as_ref().is_some_and(|walk| walk.stmt == stmt);
        self.shared.scopes.iter().position(is).filter(|_| self.in_kernel)
    }

    /// A loop in strips: a tile each, fetched by all threads, between barriers.
    pub fn strips(&mut self, span: Span, scope: usize, [from, hi]: [String; 2], inclusive: bool, body: &'a Block) {
        let Some(walk) = self.shared.scopes[scope].walk.clone() else { return };
        let (local, width, barrier) = (walk.stmt.0, self.shared.plan.width, self.shared.dialect().barrier());
        let [first, end, count] = ["tile", "end", "count"].map(|word| self.shared.of_walk(scope, word));
        let more = if inclusive { " + 1" } else { "" };
        self.put(span, format!("const i64 {end} = {hi}{more};"));
        let all: Vec<(usize, usize)> = (0..self.shared.scopes[scope].tiles.len()).map(|tile| (scope, tile)).collect();
        let cells = self.shared.several().iter().map(|along| along.cells as usize).product::<usize>();
        let size = expressions(self.body, body).len().max(1) * cells;
        let times = match has_loop(body) {
            true => 1,
            false => (UNROLLED / size).clamp(4, 64).next_power_of_two().min(width as usize),
        };
        if all.iter().any(|at| self.shared.is_ahead(*at)) {
            return self.fetched_ahead(span, scope, (&from, &end, times), body);
        }
        let kept = self.text.lines.len();
        self.text.line(format!("i64 {first} = {from};"));
        let full = self.strip_at(scope, &first, &width.to_string(), None);
        let moving = all.iter().map(|at| begin(self.shared, &mut self.text, *at, &full, 1)).collect();
        let rest = self.strip_at(scope, &first, &count, None);
        if let Some(moving) = moving {
            return self.moved_on(span, scope, (&end, times), (moving, &rest), body);
        }
        self.text.lines.truncate(kept);
        let head = format!("for (i64 {first} = {from}; {first} < {end}; {first} += {width}) {{");
        self.put(span, head);
        self.text.depth += 1;
        let long = format!("{end} - {first} < {width} ? (i32)({end} - {first}) : {width}");
        self.text.line(format!("const i32 {count} = {long};"));
        for at in &all {
            fetch(self.shared, &mut self.text, *at, &rest);
        }
        self.text.line(barrier);
        self.text.line(format!("if ({count} == {width}) {{"));
        self.text.depth += 1;
        self.text.line(format!("#pragma unroll {times}"));
        self.strip(scope, local, &width.to_string(), body);
        self.text.depth -= 1;
        self.text.line("} else {");
        self.text.depth += 1;
        self.text.line("#pragma unroll 1");
        self.strip(scope, local, &count, body);
        self.text.depth -= 1;
        self.text.line("}");
        self.text.line(barrier);
        self.text.depth -= 1;
        self.text.line("}");
    }

    /// The strip of a walk that starts here, with the loops around it.
    fn strip_at(&mut self, scope: usize, start: &str, count: &str, half: Option<&str>) -> Strip {
        let walk = self.shared.scopes[scope].walk.clone();
        let outer = walk.iter().flat_map(|walk| &walk.outer);
        let outer: Vec<_> = outer.map(|(number, local)| (*number, format!("(i64){}", self.name(*local)))).collect();
        let own = walk.iter().map(|walk| (walk.number, start.to_owned()));
        Strip { loops: outer.into_iter().chain(own).collect(), count: count.into(), half: half.map(str::to_owned) }
    }

    /// Strips of which the next is fetched into one half of its tiles while the other half is worked on. A strip has
    /// one barrier: behind it all threads have what they fetched for it, and none still reads the half that is filled
    /// next.
    fn fetched_ahead(&mut self, span: Span, scope: usize, (from, end, times): (&str, &str, usize), body: &'a Block) {
        let Some(walk) = self.shared.scopes[scope].walk.clone() else { return };
        let (local, width, barrier) = (walk.stmt.0, self.shared.plan.width, self.shared.dialect().barrier());
        let [first, count, half, next_one] =
            ["tile", "count", "half", "next"].map(|word| self.shared.of_walk(scope, word));
        let full = width.to_string();
        self.text.line(format!("i64 {first} = {from};"));
        self.text.line(format!("i32 {half} = 0;"));
        let tiles = 0..self.shared.scopes[scope].tiles.len();
        // Places that move on, for the tiles that have some.
        let mut of_first = self.strip_at(scope, &first, &full, None);
        let places = |tile: usize| {
            let (at, each) = ((scope, tile), at_once(self.shared, (scope, tile)));
            if by_rows(self.shared, at) || by_map(self.shared, at) {
                return (at, None);
            }
            let found = begin(self.shared, &mut self.text, at, &of_first, each);
            (at, found.or_else(|| begin(self.shared, &mut self.text, at, &of_first, 1)))
        };
        let known: Vec<Known> = tiles.map(places).collect();
        let (ahead, now): (Vec<_>, Vec<_>) = known.into_iter().partition(|(at, _)| self.shared.is_ahead(*at));
        if ahead.iter().any(|(at, _)| by_rows(self.shared, *at)) {
            rows::declare(self.shared, &mut self.text, scope);
        }
        self.text.line(format!("if ({end} - {first} >= {width}) {{"));
        self.text.depth += 1;
        of_first.half = Some("0".into());
        self.bring_all(scope, &ahead, &of_first);
        self.text.depth -= 1;
        self.text.line("}");

        self.put(span, format!("for (; {end} - {first} >= {width}; {first} += {width}) {{"));
        self.text.depth += 1;
        self.text.line(format!("const i32 {count} = {width};"));
        self.wait(scope);
        self.text.line(barrier);
        of_first.half = None;
        now.iter().for_each(|known| self.bring(known, &of_first));
        let (staged, ahead): (Vec<_>, Vec<_>) = ahead.into_iter().partition(is_staged);
        for (_, moving) in &staged {
            moving.iter().for_each(|moving| moving::registers(self.shared, &mut self.text, moving));
        }
        self.text.line(format!("if ({end} - {first} >= {}) {{", 2 * u64::from(width)));
        self.text.depth += 1;
        if ahead.iter().any(|(_, moving)| moving.as_ref().is_none_or(|moving| moving.wide().is_some())) {
            self.text.line(format!("const i64 {next_one} = {first} + {width};"));
        }
        let of_next = self.strip_at(scope, &next_one, &full, Some(&format!("(1 - {half})")));
        self.bring_all(scope, &ahead, &of_next);
        for (_, moving) in &staged {
            moving.iter().for_each(|moving| self.load_codes(moving));
        }
        self.text.depth -= 1;
        self.text.line("}");
        if !now.is_empty() {
            self.text.line(barrier);
        }
        maps::wait(self.shared, &mut self.text, scope);
        self.text.line(format!("#pragma unroll {times}"));
        self.strip(scope, local, &full, body);
        if !staged.is_empty() {
            self.text.line(format!("if ({end} - {first} >= {}) {{", 2 * u64::from(width)));
            self.text.depth += 1;
            if staged.iter().any(|(_, moving)| moving.as_ref().is_some_and(|moving| moving.wide().is_some())) {
                self.text.line(format!("const i64 {next_one} = {first} + {width};"));
            }
            staged.iter().for_each(|known| self.leave_codes(known, &of_next));
            self.text.depth -= 1;
            self.text.line("}");
        }
        self.text.line(format!("{half} = 1 - {half};"));
        self.text.depth -= 1;
        self.text.line("}");

        self.text.line(format!("if ({first} < {end}) {{"));
        self.text.depth += 1;
        self.text.line(format!("const i32 {count} = (i32)({end} - {first});"));
        if !now.is_empty() {
            self.text.line(barrier);
        }
        let rest = self.strip_at(scope, &first, &count, Some(&half));
        let whole: Vec<Known> = ahead.into_iter().chain(staged).map(|(at, _)| (at, None)).collect();
        self.bring_all(scope, &whole, &rest);
        let rest = Strip { half: None, ..rest };
        now.iter().for_each(|(at, _)| fetch(self.shared, &mut self.text, *at, &rest));
        self.wait(scope);
        self.text.line(barrier);
        maps::wait(self.shared, &mut self.text, scope);
        self.text.line("#pragma unroll 1");
        self.strip(scope, local, &count, body);
        self.text.depth -= 1;
        self.text.line("}");
        // What comes next time round goes into the half that was read last.
        if !walk.outer.is_empty() {
            self.text.line(barrier);
        }
    }

    /// Brings a strip of those tiles that are fetched ahead.
    fn bring_all(&mut self, scope: usize, ahead: &[Known], strip: &Strip) {
        maps::order(self.shared, &mut self.text, scope, strip);
        for known in ahead {
            if !by_map(self.shared, known.0) {
                self.bring(known, strip);
            }
        }
        self.commit(scope);
    }

    /// Brings a full strip of a tile.
    fn bring(&mut self, known: &Known, strip: &Strip) {
        let (at, moving) = known;
        if let Some(moving) = moving.as_ref().filter(|moving| moving.is_staged()) {
            self.text.line("{");
            self.text.depth += 1;
            moving::registers(self.shared, &mut self.text, moving);
            self.load_codes(moving);
            self.leave_codes(known, strip);
            self.text.depth -= 1;
            return self.text.line("}");
        }
        let (shared, text) = (&mut *self.shared, &mut self.text);
        let half = strip.half.as_deref();
        match moving {
            Some(moving) => match moving.wide() {
                Some(wide) => {
                    text.block(format!("if ({wide})"), |text| {
                        next(shared, text, moving, half, true);
                        text.depth -= 1;
                        text.line("} else {");
                        text.depth += 1;
                        match begin(shared, text, *at, strip, 1) {
                            Some(moving) => next(shared, text, &moving, half, false),
                            None => fetch(shared, text, *at, strip),
                        }
                    });
                }
                None => next(shared, text, moving, half, true),
            },
            None if half.is_some() => self.anew(*at, strip),
            // Reads that look whether the tile has their cell need to know where it starts.
            None => fetch(shared, text, *at, strip),
        }
    }

    /// Reads the codes of a strip, to wait in registers.
    fn load_codes(&mut self, moving: &Moving) {
        let (shared, text) = (&mut *self.shared, &mut self.text);
        match moving.wide() {
            Some(wide) => text.block(format!("if ({wide})"), |text| moving::load(shared, text, moving)),
            None => moving::load(shared, text, moving),
        }
    }

    /// Decodes them, or fetches one by one what could not be read at once.
    fn leave_codes(&mut self, (at, moving): &Known, strip: &Strip) {
        let (shared, text) = (&mut *self.shared, &mut self.text);
        let (Some(moving), Some(half)) = (moving, strip.half.as_deref()) else { return };
        let Some(wide) = moving.wide() else { return moving::leave(shared, text, moving, half) };
        text.block(format!("if ({wide})"), |text| {
            moving::leave(shared, text, moving, half);
            text.depth -= 1;
            text.line("} else {");
            text.depth += 1;
            match begin(shared, text, *at, strip, 1) {
                Some(moving) => next(shared, text, &moving, Some(half), false),
                None => fetch(shared, text, *at, strip),
            }
        });
    }

    /// Fetches a tile of which no places are known, into a half of it.
    fn anew(&mut self, at: (usize, usize), strip: &Strip) {
        let (shared, text) = (&mut *self.shared, &mut self.text);
        match by_rows(shared, at) {
            true => text.block("", |text| rows::copy(shared, text, at, strip)),
            false => text.block("", |text| fetch(shared, text, at, strip)),
        }
    }

    /// Whether threads fetch some tile of a walk ahead, each its cells.
    fn by_threads(&self, scope: usize) -> bool {
        let mut tiles = (0..self.shared.scopes[scope].tiles.len()).map(|tile| (scope, tile));
        let copied = |at: (usize, usize)| {
            self.shared.is_ahead(at) && !by_map(self.shared, at) && self.shared.tile(at).codecs.is_empty()
        };
        self.shared.dialect() == Dialect::Cuda && tiles.any(copied)
    }

    /// Ends a group of copies that go on by themselves.
    fn commit(&mut self, scope: usize) {
        if self.by_threads(scope) {
            let line = format!("{}();", self.shared.helper(Helper::Commit));
            self.text.line(line);
        }
    }

    /// Waits for the copies that go on by themselves.
    fn wait(&mut self, scope: usize) {
        let mut tiles = 0..self.shared.scopes[scope].tiles.len();
        if self.by_threads(scope) {
            let line = format!("{}();", self.shared.helper(Helper::Wait));
            self.text.line(line);
        } else if tiles.any(|tile| by_rows(self.shared, (scope, tile))) {
            rows::wait(self.shared, &mut self.text, scope);
        }
    }

    /// Full strips, whose cells are found once, and what is left over (`rest`) in a strip of its own: as fast as by
    /// hand where that fetches from places that move on.
    fn moved_on(
        &mut self,
        span: Span,
        scope: usize,
        (end, times): (&str, usize),
        (moving, rest): (Vec<Moving>, &Strip),
        body: &'a Block,
    ) {
        let Some(local) = self.shared.scopes[scope].walk.as_ref().map(|walk| walk.stmt.0) else { return };
        let (width, barrier) = (self.shared.plan.width, self.shared.dialect().barrier());
        let [first, count] = ["tile", "count"].map(|word| self.shared.of_walk(scope, word));
        self.put(span, format!("for (; {end} - {first} >= {width}; {first} += {width}) {{"));
        self.text.depth += 1;
        self.text.line(format!("const i32 {count} = {width};"));
        moving.iter().for_each(|moving| next(self.shared, &mut self.text, moving, None, true));
        self.text.line(barrier);
        self.text.line(format!("#pragma unroll {times}"));
        self.strip(scope, local, &width.to_string(), body);
        self.text.line(barrier);
        self.text.depth -= 1;
        self.text.line("}");
        self.text.line(format!("if ({first} < {end}) {{"));
        self.text.depth += 1;
        self.text.line(format!("const i32 {count} = (i32)({end} - {first});"));
        for tile in 0..self.shared.scopes[scope].tiles.len() {
            fetch(self.shared, &mut self.text, (scope, tile), rest);
        }
        self.text.line(barrier);
        self.text.line("#pragma unroll 1");
        self.strip(scope, local, &count, body);
        self.text.line(barrier);
        self.text.depth -= 1;
        self.text.line("}");
    }

    /// The iterations of a strip.
    fn strip(&mut self, scope: usize, local: LocalId, count: &str, body: &'a Block) {
        let (turn, first) = (self.shared.of_walk(scope, "in"), self.shared.of_walk(scope, "tile"));
        self.text.line(format!("for (i32 {turn} = 0; {turn} < {count}; {turn}++) {{"));
        self.text.depth += 1;
        let line = self.text.lines.len();
        let (ty, name) = (self.ty(local), self.name(local));
        let (type_name, scalar) = (self.shared.types.name(&ty), ty.scalar().unwrap_or(ScalarType::I64));
        let value = format!("{first} + {turn}");
        let value = if scalar == ScalarType::I64 { value } else { format!("({type_name})({value})") };
        let word = match (self.is_hoisted(local), self.is_const(local)) {
            (true, _) => String::new(),
            (_, true) => format!("const {type_name} "),
            _ => format!("{type_name} "),
        };
        self.text.line(format!("{word}{name} = {value};"));
        let known = self.named.remove(&local);
        self.text.depth -= 1;
        self.loops += 1;
        self.turn(body, true);
        self.loops -= 1;
        if !self.named.contains(&local) && !self.is_hoisted(local) && self.is_const(local) {
            self.text.lines.remove(line);
        }
        if known {
            self.named.insert(local);
        }
        self.text.line("}");
    }
}
