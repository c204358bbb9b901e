//! The expressions of random kernels.

use std::fmt::Write;

use super::Ty::{self, Bool, F32, F64, I8, I16, I32, I64, U16, U64};
use super::{Local, Maker, NUMBERS};

/// Functions that libraries only come near to.
const NEAR: [&str; 5] = ["sin", "exp", "tanh", "ln", "cbrt"];

/// Whether a value is made by one of them.
fn is_near(text: &str) -> bool {
    NEAR.iter().chain(&["hypot"]).any(|name| text.contains(&format!(".{name}(")))
}

impl Maker {
    /// An index of an array of four.
    pub fn entry(&mut self) -> String {
        let index = self.expr(U64, 1);
        format!("({index} & 3) as usize")
    }

    /// A cell at most 2 from `at`.
    fn cell(&mut self) -> String {
        if self.open {
            return self.open_cell();
        }
        let offsets: Vec<_> = self.visible().filter(|l| l.offset).map(|l| l.name.clone()).collect();
        let computed = self.below(12) == 0;
        let axis = self.below(self.rank);
        let one = |maker: &mut Maker, d: usize| match () {
            () if computed && d == axis => format!("{}.rem_euclid(5) - 2", maker.expr(I64, 1)),
            () if !offsets.is_empty() && maker.below(2) == 0 => match maker.below(4) {
                0 => format!("named::OFFSETS[({} + 2) as usize]", maker.pick(&offsets)),
                _ => maker.pick(&offsets),
            },
            () => (maker.below(5) as i64 - 2).to_string(),
        };
        let by: Vec<_> = (0..self.rank).map(|d| one(self, d)).collect();
        match self.below(6) {
            0 => "at".into(),
            1..=3 => format!("at + [{}]", by.join(", ")),
            4 => format!("at - [{}]", by.join(", ")),
            _ => {
                let axes: Vec<_> = by.iter().enumerate().map(|(d, by)| format!("at[{d}] + ({by})")).collect();
                format!("[{}]", axes.join(", "))
            }
        }
    }

    /// A cell that any number of axes has, at most 2 from `at`.
    fn open_cell(&mut self) -> String {
        let mut cell = String::from("at");
        for _ in 0..self.below(3) {
            let axis = self.axis();
            let _ = write!(cell, " {} unit({axis})", self.pick(&["+", "-"]));
        }
        cell
    }

    /// An axis.
    fn axis(&mut self) -> String {
        match self.axes.is_empty() {
            true if self.open => "0".into(),
            true => self.below(self.rank).to_string(),
            false => self.pick(&self.axes.clone()),
        }
    }

    fn literal(&mut self, ty: Ty) -> String {
        if self.below(5) == 0 {
            return match (ty, self.below(2)) {
                (Ty::Open, _) => self.pick(&["T::ONE", "T::ZERO"]).into(),
                (_, 0) => format!("named::{}", ty.name().to_uppercase()),
                _ => format!("named::{}_TABLE[{}]", ty.name().to_uppercase(), self.below(4)),
            };
        }
        match ty {
            Bool => self.pick(&["true", "false"]).into(),
            Ty::Open => {
                let digits = self.pick(&["0.5", "2", "0.1", "-1e3", "3.25", "-1e-3", "0.0", "16777217"]);
                format!("T::lit({digits})")
            }
            F64 | F32 => {
                let digits = self.pick(&["0.5", "2.0", "0.1", "1e3", "3.25", "1e-3", "0.0"]);
                self.signed(format!("{digits}{}", ty.name()))
            }
            U64 | U16 => format!("{}{}", self.below(9), ty.name()),
            _ => {
                let digits = format!("{}{}", self.below(9), ty.name());
                self.signed(digits)
            }
        }
    }

    /// A number without a suffix under minus signs, `!`, parentheses and blocks, cast: its type is the cast's, if that
    /// has such numbers.
    fn cast_number(&mut self, ty: Ty) -> String {
        let float = self.below(3) == 0;
        let of = match (float, ty.float()) {
            (true, true) | (false, false) => ty,
            (true, false) => F64,
            (false, true) => I32,
        };
        // The first float is rounded to another `f32` if it is an `f64` before.
        let most: &[&str] = match of {
            I64 => &["1099511627776", "9223372036854775807"],
            U64 => &["1099511627776", "18446744073709551615"],
            I8 => &["127", "83"],
            I16 => &["32767", "12345"],
            U16 => &["65535", "54321"],
            _ => &["2147483647", "305419896"],
        };
        let mut number: String = match float {
            true => self.pick(&["1.00000005960464477539062500001", "16777217.0", "0.1", "3.", "2e-3"]).into(),
            false if self.below(2) == 0 => self.below(9).to_string(),
            false => self.pick(most).into(),
        };
        for _ in 0..self.below(4) {
            number = match self.below(5) {
                0 | 1 if !of.unsigned() => format!("-({number})"),
                2 if !of.unsigned() && !number.starts_with('-') => format!("-{number}"),
                3 if !float => format!("!{number}"),
                4 => format!("({number})"),
                _ => format!("{{ {number} }}"),
            };
        }
        format!("({number} as {})", ty.name())
    }

    fn signed(&mut self, digits: String) -> String {
        if self.below(3) == 0 { format!("(-{digits})") } else { digits }
    }

    fn leaf(&mut self, ty: Ty) -> String {
        let locals: Vec<_> = self.visible().filter(|local| local.ty == ty).cloned().collect();
        let args: Vec<_> = self.args.iter().filter(|(_, arg, _)| *arg == ty).cloned().collect();
        match self.below(8) {
            0..=2 if !locals.is_empty() => {
                let local = self.pick(&locals);
                match local.array {
                    true => format!("{}[{}]", local.name, self.below(4)),
                    false => local.name,
                }
            }
            3..=5 if !args.is_empty() => self.load(&args),
            6 if ty == I64 => format!("at[{}]", self.axis()),
            7 if !matches!(ty, Bool | Ty::Open) && self.below(2) == 0 => self.cast_number(ty),
            7 => self.literal(ty),
            _ if ty == Bool => {
                let of = self.ty(&NUMBERS);
                let (a, b) = (self.leaf(of), self.literal(of));
                format!("({a} < {b})")
            }
            _ => {
                let args = self.args.clone();
                format!("({} as {})", self.load(&args), ty.name())
            }
        }
    }

    fn load(&mut self, args: &[(String, Ty, bool)]) -> String {
        let (name, _, output) = self.pick(args);
        let cell = if output { "at".into() } else { self.cell() };
        format!("{name}[{cell}]")
    }

    pub fn expr(&mut self, ty: Ty, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.below(12) {
            0..=1 => self.leaf(ty),
            2 => {
                let (cond, a, b) = (self.expr(Bool, depth - 1), self.expr(ty, depth - 1), self.expr(ty, depth - 1));
                format!("(if {cond} {{ {a} }} else {{ {b} }})")
            }
            3 if self.below(3) == 0 => self.matched(ty, depth - 1),
            3 if !matches!(ty, Bool | Ty::Open) && self.below(3) == 0 => self.cast_number(ty),
            3 if ty != Bool => {
                let from = self.ty(&NUMBERS);
                format!("({} as {})", self.expr(from, depth - 1), ty.name())
            }
            4 => {
                let bound = self.expr(ty, depth - 1);
                let name = self.name();
                self.locals.push(Local { name: name.clone(), ty, mutable: false, offset: false, array: false });
                let value = self.expr(ty, depth - 1);
                self.locals.pop();
                format!("{{ let {name} = {bound}; {value} }}")
            }
            5 => {
                let arrays: Vec<_> = self.locals.iter().filter(|l| l.ty == ty && l.array).cloned().collect();
                match arrays.is_empty() {
                    _ if ty != Ty::Open && self.below(3) == 0 => {
                        format!("named::{}_TABLE[{}]", ty.name().to_uppercase(), self.entry())
                    }
                    true => self.leaf(ty),
                    false => format!("{}[{}]", self.pick(&arrays).name, self.entry()),
                }
            }
            6..=7 if ty != Bool => self.method(ty, depth - 1),
            _ if ty == Bool => self.test(depth - 1),
            _ => self.arithmetic(ty, depth - 1),
        }
    }

    /// A `match` on a number or a `bool`.
    fn matched(&mut self, ty: Ty, depth: usize) -> String {
        let of = self.ty(&[F64, F32, I32, U64, I64, Bool]);
        let value = self.expr(of, depth);
        if of == Bool {
            return format!(
                "(match {value} {{ true => {}, false => {} }})",
                self.expr(ty, depth),
                self.expr(ty, depth)
            );
        }
        let name = self.name();
        let number = |maker: &mut Maker, n: i64| match of {
            F64 | F32 | Ty::Open => format!("{n}.0"),
            U64 => (n + 4).to_string(),
            _ if maker.below(4) == 0 => format!("{n}{}", of.name()),
            _ => n.to_string(),
        };
        let mut arms = String::new();
        for _ in 0..1 + self.below(3) {
            let low = self.below(5) as i64 - 4;
            let [a, b] = [low, low + 1 + self.below(4) as i64].map(|n| number(self, n));
            let pattern = match self.below(6) {
                0 => a,
                1 => format!("{a} | {b}"),
                2 => format!("{a}..={b}"),
                3 => format!("{a}..{b}"),
                4 => format!("..{a} | {b}.."),
                _ => "_".into(),
            };
            self.locals.push(Local { name: name.clone(), ty: of, mutable: false, offset: false, array: false });
            let guard = if pattern == "_" || self.below(3) == 0 {
                format!(" if {}", self.expr(Bool, depth))
            } else {
                String::new()
            };
            let given = self.expr(ty, depth);
            self.locals.pop();
            let _ = write!(arms, "{name} @ ({pattern}){guard} => {given}, ");
        }
        self.locals.push(Local { name: name.clone(), ty: of, mutable: false, offset: false, array: false });
        let rest = self.expr(ty, depth);
        self.locals.pop();
        format!("(match {value} {{ {arms}{name} => {rest} }})")
    }

    fn arithmetic(&mut self, ty: Ty, depth: usize) -> String {
        let a = self.expr(ty, depth);
        if self.below(8) == 0 {
            return match ty {
                U64 | U16 => format!("(!{a})"),
                I8 | I16 | I32 | I64 if self.below(2) == 0 => format!("(!{a})"),
                _ => format!("(-({a}))"),
            };
        }
        // A number without a suffix takes the type of the other operand.
        let b = match self.below(6) {
            0 if ty.float() => self.pick(&["0.25", "3.0", "1e-2", "{ -0.1 }", "(-(-0.1))"]).into(),
            0 if ty.unsigned() => self.pick(&["3", "1", "{ 12 }", "(!{ 12 })"]).into(),
            0 if matches!(ty, I8 | I16) => self.pick(&["3", "1", "12", "(-{ 3 })", "{ -(-100) }", "(!-1)"]).into(),
            0 => self.pick(&["3", "1", "12", "(-{ 3 })", "{ -(-2147483648) }", "(!-1)"]).into(),
            _ => self.expr(ty, depth),
        };
        if ty.float() {
            let op = match self.pick(&["+", "-", "*", "/", "+", "-", "*", "%"]) {
                // A remainder of what is only near may be far off.
                "%" if is_near(&a) || is_near(&b) => "+",
                op => op,
            };
            return format!("({a} {op} {b})");
        }
        let op = self.pick(&["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "+", "-"]);
        match op {
            "/" | "%" if self.below(10) > 0 => format!("({a} {op} (({b} & 6) | 1))"),
            _ => format!("({a} {op} {b})"),
        }
    }

    fn method(&mut self, ty: Ty, depth: usize) -> String {
        let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
        if self.below(2) == 0 {
            let number = self.pick(&["abs", "signum", "min", "max", "clamp"]);
            return match number {
                "abs" | "signum" => format!("({a}).{number}()"),
                "clamp" => format!("({a}).clamp({}, {b})", self.literal(ty)),
                _ => format!("({a}).{number}({b})"),
            };
        }
        if ty.float() {
            let exact = ["sqrt", "floor", "ceil", "round", "trunc", "fract", "recip"];
            let all = [&exact[..], &NEAR].concat();
            // Those of a generic function have the same bits on every device: what libraries make of `sin` and its
            // like is only near.
            let unary = if self.open { &exact[..] } else { &all[..] };
            return match self.below(8) {
                0 => format!("({a}).mul_add({b}, {})", self.leaf(ty)),
                1 => format!("({a}).powi({})", self.expr(I32, 1)),
                2 if !self.open => format!("({a}).hypot({b})"),
                3 => format!("({a}).copysign({})", self.literal(ty)),
                _ => format!("({a}).{}()", self.pick(unary)),
            };
        }
        match self.below(6) {
            0 => format!("({a}).rem_euclid(({b} & 6) | 1)"),
            1 => format!("({a}).div_euclid(({b} & 6) | 1)"),
            2 => format!("({a}).pow({})", self.below(5)),
            3 => format!("({a}).rotate_left(({b}) as u32)"),
            4 => {
                format!("(({a}).{}() as {})", self.pick(&["count_ones", "leading_zeros", "trailing_zeros"]), ty.name())
            }
            _ => format!("({a}).{}({b})", self.pick(&["wrapping_add", "wrapping_sub", "wrapping_mul"])),
        }
    }

    fn test(&mut self, depth: usize) -> String {
        match self.below(8) {
            0 => format!("(!{})", self.expr(Bool, depth)),
            1..=2 => {
                let op = self.pick(&["&&", "||", "&", "|", "^", "=="]);
                format!("({} {op} {})", self.expr(Bool, depth), self.expr(Bool, depth))
            }
            3 => {
                let ty = self.ty(&[F64, F32]);
                let test = self.pick(&["is_nan", "is_finite", "is_infinite"]);
                format!("({}).{test}()", self.expr(ty, depth))
            }
            _ => {
                let ty = self.ty(&NUMBERS);
                let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({} {op} {})", self.expr(ty, depth), self.expr(ty, depth))
            }
        }
    }
}
