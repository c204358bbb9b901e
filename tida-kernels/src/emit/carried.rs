//! Loops that hand values on from one iteration to the next.

use super::body::Writer;
use super::cache::{in_memory, sum};
use super::shared::{Reader, component_path};
use super::types::memory;
use crate::analysis::Symbol;
use crate::element::ScalarType;
use crate::ir::{Access, Block, ExprId, ExprKind, LocalId, Span, has_loop};
use crate::plan::reads::expressions;

/// Iterations that the compiler is asked to take at once, so that registers need no moves. A power of two, as for a
/// march.
const UNROLL: u32 = 4;

/// Expressions in the text of an iteration that is not written out more than once.
const LARGE: usize = 512;

/// A row while its loop is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Its registers, the oldest first.
    names: Vec<String>,
    /// Some read comes from it.
    used: bool,
    /// The lines that are for it alone.
    lines: Vec<usize>,
}

impl<'a> Writer<'_, 'a> {
    /// The rows that a loop carries, by number.
    pub fn rows_of(&self, stmt: (LocalId, ExprId, ExprId)) -> Vec<usize> {
        let rows = self.shared.carried.iter().enumerate();
        let here = rows.filter(|(_, row)| row.stmt == stmt && row.outer.iter().all(|(_, local)| self.is_const(*local)));
        here.map(|(n, _)| n).filter(|_| self.in_kernel).collect()
    }

    /// What stands before a loop: the values that its first iteration finds read, if there is one (`test` of its first
    /// value). Gives the text of that value.
    pub fn enter(
        &mut self,
        span: Span,
        rows: &[usize],
        (local, lo, from): (LocalId, ExprId, String),
        test: Option<String>,
    ) -> String {
        let constant = self.known.constant(self.body, lo).and_then(|first| i64::try_from(first).ok());
        let stays = match &self.body[lo].kind {
            _ if constant.is_some() => true,
            ExprKind::Capture(_) => true,
            ExprKind::Local(of) => self.is_const(*of),
            _ => false,
        };
        let (name, ty) = (self.name(local), self.shared.types.name(&self.ty(local)));
        let from = if stays {
            from
        } else {
            let first = self.shared.names.fresh(&format!("{name}_from"));
            self.put(span, format!("const {ty} {first} = {from};"));
            first
        };
        // Without a test, too: a scope of its own.
        let head = test.map_or_else(|| "{".to_owned(), |test| format!("if ({from}{test}) {{"));
        self.put(span, head);
        self.text.depth += 1;
        for &n in rows {
            let row = self.shared.carried[n].clone();
            let path = component_path(&self.shared.kernel.args[row.arg].element, row.component);
            let base = format!("{}{path}_{name}", self.shared.args[row.arg]);
            let (oldest, newest) = row.along;
            let place = |by: i64| match by {
                ..0 => format!("_m{}", by.unsigned_abs()),
                0 => String::new(),
                _ => format!("_p{by}"),
            };
            let names: Vec<String> =
                (oldest..=newest).map(|by| self.shared.names.fresh(&format!("{base}{}", place(by)))).collect();
            let ty = self.row_type(n);
            let mut lines = Vec::new();
            for (name, by) in names[1..].iter().zip(oldest..) {
                let value = self.value(n, by - newest, &from, constant);
                lines.push(self.text.lines.len());
                self.text.line(format!("{ty} {name} = {value};"));
            }
            self.carried.insert(n, Row { names, used: false, lines });
        }
        from
    }

    /// What stands right before the head of a loop that carries rows.
    pub fn unrolled(&mut self, rows: &[usize], body: &Block) {
        if !rows.is_empty() && !has_loop(body) && expressions(self.body, body).len() <= LARGE {
            self.text.line(format!("#pragma unroll {UNROLL}"));
        }
    }

    /// What an iteration starts with: each value moves on, and a new one is read.
    pub fn hand_on(&mut self, rows: &[usize], counter: &str) {
        self.text.depth += 1;
        for &n in rows {
            let Some(names) = self.carried.get(&n).map(|row| row.names.clone()) else { continue };
            let ty = self.row_type(n);
            let mut lines = Vec::new();
            for (k, pair) in names.windows(2).enumerate() {
                let declared = if k == 0 { format!("const {ty} ") } else { String::new() };
                lines.push(self.text.lines.len());
                self.text.line(format!("{declared}{} = {};", pair[0], pair[1]));
            }
            let value = self.value(n, 0, counter, None);
            lines.push(self.text.lines.len());
            self.text.line(format!("{} = {value};", names[names.len() - 1]));
            if let Some(row) = self.carried.get_mut(&n) {
                row.lines.extend(lines);
            }
        }
        self.text.depth -= 1;
    }

    /// What stands after a loop.
    pub fn leave(&mut self, rows: &[usize]) {
        if rows.is_empty() {
            return;
        }
        self.text.depth -= 1;
        self.text.line("}");
        let left = rows.iter().filter_map(|n| self.carried.remove(n)).filter(|row| !row.used);
        // What read them was left out.
        let mut lines: Vec<usize> = left.flat_map(|row| row.lines).collect();
        lines.sort_unstable();
        lines.into_iter().rev().for_each(|line| drop(self.text.lines.remove(line)));
    }

    /// The register that a read comes from, if a loop around carries its value.
    pub fn carried_read(&mut self, id: ExprId) -> Option<String> {
        let of = |n: &usize| self.shared.carried[*n].reads.get(&id).map(|ahead| (*n, *ahead));
        let (n, ahead) = self.carried.keys().find_map(of)?;
        let oldest = self.shared.carried[n].along.0;
        let row = self.carried.get_mut(&n)?;
        row.used = true;
        row.names.get(usize::try_from(ahead - oldest).ok()?).cloned()
    }

    /// The type of what a row holds.
    fn row_type(&self, n: usize) -> &'static str {
        let row = &self.shared.carried[n];
        let types = self.shared.kernel.args[row.arg].element.component_types();
        memory(types.get(row.component).copied().unwrap_or(ScalarType::U8))
    }

    /// What memory holds so many iterations ahead of the newest value where the loop's variable is `counter`, a
    /// `constant` if it is known.
    fn value(&mut self, n: usize, ahead: i64, counter: &str, constant: Option<i64>) -> String {
        let row = self.shared.carried[n].clone();
        let dialect = self.shared.dialect();
        let variable = self.ty(row.stmt.0).scalar();
        let wide = |text: String, ty: Option<ScalarType>| match ty {
            Some(ScalarType::I64) => text,
            _ if text.contains(' ') => format!("(i64)({text})"),
            _ => format!("(i64){text}"),
        };
        let index: Vec<String> = row
            .index
            .iter()
            .map(|form| {
                let by = form.coefficient(Symbol::Loop(row.number));
                let fixed = constant.map_or(0, |first| by.wrapping_mul(first));
                let mut terms = Vec::new();
                for (symbol, times) in &form.terms {
                    let text = match symbol {
                        Symbol::At(axis) => self.shared.coordinate(*axis as usize),
                        Symbol::Capture(n) => {
                            wide(self.shared.capture(*n as usize), self.shared.kernel.captures[*n as usize].ty.scalar())
                        }
                        Symbol::Loop(number) if *number == row.number && constant.is_some() => continue,
                        Symbol::Loop(number) if *number == row.number => wide(counter.to_owned(), variable),
                        Symbol::Loop(number) => {
                            let around = row.outer.iter().find(|(of, _)| of == number);
                            let Some((_, local)) = around else { continue };
                            self.named.insert(*local);
                            wide(self.name(*local), self.ty(*local).scalar())
                        }
                        Symbol::Choice(_) | Symbol::Thread(..) => continue,
                    };
                    terms.push((*times, text));
                }
                sum(
                    dialect,
                    ScalarType::I64,
                    &terms,
                    form.constant.wrapping_add(by.wrapping_mul(ahead)).wrapping_add(fixed),
                )
            })
            .collect();
        if self.shared.kernel.args[row.arg].access == Access::All && !self.is_plain(row.arg) {
            let reader = Reader { arg: row.arg, base: row.component, entries: Vec::new() };
            let mut values = vec![self.shared.arg(row.arg), self.shared.extra(row.arg)];
            values.extend(index);
            return format!("{}({})", self.shared.reader(reader), values.join(", "));
        }
        in_memory(self.shared, row.arg, row.component as u32, &index).0
    }
}
