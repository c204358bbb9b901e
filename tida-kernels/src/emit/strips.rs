//! Loops that are cut into strips, each with its tiles.

use super::body::Writer;
use super::cache::{Moving, Strip, begin, fetch, next};
use super::helpers::Helper;
use crate::element::ScalarType;
use crate::ir::{Block, ExprId, LocalId, Span};
use crate::plan::Dialect;
use crate::plan::cache::{Scope, expressions};
use crate::plan::march::has_loop;

/// Expressions in the text of a strip that is written out in full.
const UNROLLED: usize = 512;

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
        let [first, end, count, half] = ["tile", "end", "count", "half"].map(|word| self.shared.of_walk(scope, word));
        let more = if inclusive { " + 1" } else { "" };
        self.put(span, format!("const i64 {end} = {hi}{more};"));
        let all: Vec<(usize, usize)> = (0..self.shared.scopes[scope].tiles.len()).map(|tile| (scope, tile)).collect();
        let (ahead, now): (Vec<_>, Vec<_>) = all.into_iter().partition(|at| self.shared.is_ahead(*at));
        let outer: Vec<(u32, String)> =
            walk.outer.iter().map(|(number, local)| (*number, format!("(i64){}", self.name(*local)))).collect();
        let strip = |start: &str, count: &str, half: Option<String>| {
            let loops = outer.iter().cloned().chain([(walk.number, start.to_owned())]).collect();
            Strip { loops, count: count.to_owned(), half }
        };
        let long = |start: &str| format!("{end} - {start} < {width} ? (i32)({end} - {start}) : {width}");
        let size = expressions(self.body, body).len().max(1);
        let times = match has_loop(body) {
            true => 1,
            false => (UNROLLED / size).clamp(4, 64).next_power_of_two().min(width as usize),
        };
        if ahead.is_empty() {
            let kept = self.text.lines.len();
            self.text.line(format!("i64 {first} = {from};"));
            let full = strip(&first, &width.to_string(), None);
            let moving = now.iter().map(|at| begin(self.shared, &mut self.text, *at, &full)).collect();
            if let Some(moving) = moving {
                let rest = strip(&first, &count, None);
                return self.moved_on(span, scope, (&end, times), (moving, &rest), body);
            }
            self.text.lines.truncate(kept);
        }
        let asynchronous = !ahead.is_empty() && self.shared.dialect() == Dialect::Cuda;
        if !ahead.is_empty() {
            self.text.line(format!("i32 {half} = 0;"));
            self.text.block(format!("if ({from} < {end})"), |text| {
                text.line(format!("const i64 {first} = {from};"));
                text.line(format!("const i32 {count} = {};", long(&first)));
                for at in &ahead {
                    text.block("", |text| fetch(self.shared, text, *at, &strip(&first, &count, Some("0".into()))));
                }
            });
            if asynchronous {
                let line = format!("{}();", self.shared.helper(Helper::Commit));
                self.text.line(line);
            }
        }
        let head = format!("for (i64 {first} = {from}; {first} < {end}; {first} += {width}) {{");
        self.put(span, head);
        self.text.depth += 1;
        self.text.line(format!("const i32 {count} = {};", long(&first)));
        for at in &now {
            fetch(self.shared, &mut self.text, *at, &strip(&first, &count, None));
        }
        if !ahead.is_empty() {
            let [next, then] = ["next", "then"].map(|word| self.shared.of_walk(scope, word));
            self.text.line(format!("const i64 {next} = {first} + {width};"));
            self.text.block(format!("if ({next} < {end})"), |text| {
                text.line(format!("const i32 {then} = {};", long(&next)));
                for at in &ahead {
                    let other = Some(format!("(1 - {half})"));
                    text.block("", |text| fetch(self.shared, text, *at, &strip(&next, &then, other)));
                }
            });
            if asynchronous {
                let (commit, wait) = (self.shared.helper(Helper::Commit), self.shared.helper(Helper::Wait));
                self.text.line(format!("{commit}();"));
                self.text.line(format!("{wait}();"));
            }
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
        if !ahead.is_empty() {
            self.text.line(format!("{half} = 1 - {half};"));
        }
        self.text.depth -= 1;
        self.text.line("}");
    }

    /// Full strips, whose cells are found once, and what is left over (`rest`) in a strip of its own: as fast as by hand where
    /// that fetches from places that move on.
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
        moving.iter().for_each(|moving| next(&mut self.text, moving));
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
        self.nested(body);
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
