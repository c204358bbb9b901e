//! The analysis as text.

use std::fmt::Write;

use super::{Analysis, ArrayAccess, IndexForm, NormalForm, Precalculability, Symbol, Why};
use crate::ir::{Access, Kernel};

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Why::Induction => "induction: it changes from iteration to iteration",
            Why::Indirect => "indirect: it depends on a value read from an array",
            Why::Control => "control: it depends on a value chosen by a condition",
            Why::Operator => "operator: it depends on an operator or a call that is not affine",
        })
    }
}

impl std::fmt::Display for Precalculability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Precalculability::Static => f.write_str("static"),
            Precalculability::QuasiStatic => f.write_str("quasi-static"),
            Precalculability::No(why) => write!(f, "not precalculable ({why})"),
        }
    }
}

impl Analysis {
    fn symbol(&self, symbol: Symbol, kernel: &Kernel) -> String {
        match symbol {
            Symbol::At(axis) => format!("at[{axis}]"),
            Symbol::Loop(n) => match self.loops.get(n as usize) {
                Some(l) if !l.name.is_empty() => l.name.clone(),
                _ => format!("loop{n}"),
            },
            Symbol::Capture(n) => match kernel.captures.get(n as usize) {
                Some(c) => c.name.clone(),
                None => format!("capture{n}"),
            },
            Symbol::Choice(n) => {
                let name = |capture| self.symbol(Symbol::Capture(capture), kernel);
                self.choice_text(n, |form| self.form(form, kernel), name)
            }
            Symbol::Thread(_, axis) => format!("t{axis}"),
        }
    }

    /// A form as text, such as `at1 + 2*q - 1`.
    pub fn form(&self, form: &NormalForm, kernel: &Kernel) -> String {
        let mut text = String::new();
        let sign = |text: &str, negative: bool| match (text.is_empty(), negative) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        for &(symbol, coefficient) in &form.terms {
            text += sign(&text, coefficient < 0);
            if coefficient.unsigned_abs() != 1 {
                let _ = write!(text, "{}*", coefficient.unsigned_abs());
            }
            text += &self.symbol(symbol, kernel);
        }
        if form.constant != 0 || text.is_empty() {
            text += sign(&text, form.constant < 0);
            let _ = write!(text, "{}", form.constant.unsigned_abs());
        }
        text
    }

    fn index_form(&self, form: &IndexForm, kernel: &Kernel) -> String {
        match form {
            IndexForm::Affine(form) => self.form(form, kernel),
            IndexForm::Opaque(_) => "?".into(),
        }
    }

    /// The index of an access as text, such as `[at[0], at[1] + 1]`; `?` where it is not affine.
    pub fn index_text(&self, access: &ArrayAccess, kernel: &Kernel) -> String {
        let forms: Vec<String> = access.index.iter().map(|form| self.index_form(form, kernel)).collect();
        format!("[{}]", forms.join(", "))
    }

    /// The offset of an access from `at` as text, such as `[0, 1]`; `?` where it is not affine.
    pub fn offset_text(&self, access: &ArrayAccess, kernel: &Kernel) -> String {
        let offset = |(axis, form): (usize, &IndexForm)| match form {
            IndexForm::Affine(f) => match f.sub(&NormalForm::symbol(Symbol::At(axis as u32))) {
                Some(f) => self.form(&f, kernel),
                None => "?".into(),
            },
            IndexForm::Opaque(_) => "?".into(),
        };
        let offsets: Vec<String> = access.index.iter().enumerate().map(offset).collect();
        format!("[{}]", offsets.join(", "))
    }

    /// Everything found, as a table with the kernel's names.
    pub fn report(&self, kernel: &Kernel) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "kernel at {}:{}, rank {}", kernel.file, kernel.line, kernel.rank);
        for (n, (arg, usage)) in kernel.args.iter().zip(&self.args).enumerate() {
            let access = match arg.access {
                Access::Read => "&",
                Access::Write => "&mut",
                Access::All => "all",
                Access::Table => "table",
                Access::Shared => "shared",
            };
            let mut words = Vec::new();
            if usage.read {
                words.push(if usage.reads_old { "read" } else { "read after its write" });
            }
            if usage.must_write {
                words.push("must-written");
            } else if usage.may_write {
                words.push("may be written");
            }
            if words.is_empty() {
                words.push("unused");
            }
            let _ = write!(text, "  {} ({access} {}, rank {}): {}", arg.name, arg.element, arg.rank, words.join(", "));
            match self.halo(n) {
                Some(halo) if usage.read => {
                    let halo: Vec<String> = halo.iter().map(|(lo, hi)| format!("{lo}..={hi}")).collect();
                    let _ = writeln!(text, "; halo [{}]", halo.join(", "));
                }
                _ => text.push('\n'),
            }
            for access in &usage.accesses {
                let kind = if access.write { "write" } else { "read" };
                let component = match access.component {
                    Some(0) if matches!(arg.element, crate::element::ElementType::Scalar(_)) => String::new(),
                    Some(c) => format!(" component {c}"),
                    None => " component ?".into(),
                };
                let _ = writeln!(
                    text,
                    "    {:>5}:{:<3} {kind:<5} {}{component}, {}{}",
                    access.span.line,
                    access.span.column,
                    self.index_text(access, kernel),
                    access.precalculable,
                    if access.conditional { ", conditional" } else { "" },
                );
            }
        }
        for info in &self.loops {
            let (lo, last) = (self.index_form(&info.lo, kernel), self.index_form(&info.last, kernel));
            let _ = writeln!(text, "  for {} in {lo}..={last}, {}", info.name, info.precalculable);
        }
        if self.uses_inexact {
            text += "  uses methods that differ between devices in the last bits\n";
        }
        if self.may_fault {
            text += "  a cell can raise a fault (division, entry of an array)\n";
        }
        if !self.complete {
            text += "  the analysis stopped early: every argument counts as used anywhere\n";
        }
        text
    }
}
