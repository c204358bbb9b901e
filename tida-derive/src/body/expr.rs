//! Expressions.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use tida_quote::element::ScalarType;
use tida_quote::quote::{BinaryOp, Block, CompareOp, Expr as Quoted, ExprKind, Method, TypeTree, UnaryOp};

use super::method::is_type_name;
use super::number::{as_point, give_type, literal_of};
use super::reads::{are_cheap, is_cheap};
use super::scope::Named;
use super::types::{SCALARS, scalar};
use super::{Body, Both, BothBlock, expr_at, text_of};
use crate::expand::{function, own, own_at};

/// The name of what says whether all reads were proven in range where the native form runs.
pub fn proven() -> Ident {
    Ident::new("__TIDA_PROVEN", own())
}

/// The name of what keeps reads apart where the native form runs.
pub fn nothing() -> Ident {
    Ident::new("__tida_nothing", own())
}

/// What an operator is in both forms.
enum Operator {
    Binary(BinaryOp),
    Compare(CompareOp),
    And,
    Or,
}

impl Body {
    /// Both forms of an expression.
    pub fn expr(&mut self, expr: &syn::Expr) -> Both {
        use syn::Expr as E;
        let span = expr.span();
        match expr {
            E::Paren(inner) => self.expr(&inner.expr),
            E::Group(inner) => self.expr(&inner.expr),
            E::Path(_) | E::Field(_) | E::Index(_) => self.chain(expr),
            E::Lit(lit) => self.literal(&lit.lit, None),
            E::Unary(unary) => self.unary(unary),
            E::Binary(binary) => self.binary(binary),
            E::Cast(cast) => self.cast(cast),
            E::MethodCall(call) => self.method(call),
            E::Call(call) => self.call(call),
            E::If(branch) => self.branch(branch),
            E::Match(each) => self.matching(each),
            E::Block(block) => {
                if let Some(label) = &block.label {
                    self.error(label, "a block has no label in a kernel: label a loop, or use a `let mut` flag");
                }
                let block = self.block(&block.block);
                Both { native: block.native, quoted: expr_at(span, ExprKind::Block(block.quoted)), point: block.point }
            }
            E::Tuple(tuple) => {
                let (native, quoted) = self.list(&tuple.elems);
                let own = own_at(span);
                let native = quote_spanned!(own=> (#(#native,)*));
                Both { native, quoted: expr_at(span, ExprKind::Tuple(quoted)), point: false }
            }
            E::Array(array) => {
                let (native, quoted) = self.list(&array.elems);
                let own = own_at(span);
                let native = quote_spanned!(own=> [#(#native),*]);
                Both { native, quoted: expr_at(span, ExprKind::Array(quoted)), point: true }
            }
            E::Repeat(repeat) => {
                let value = self.expr(&repeat.expr);
                if let Some(number) = self.constant_length(&repeat.len) {
                    let (own, native, len) = (own_at(span), value.native, &repeat.len);
                    let quoted = expr_at(span, ExprKind::RepeatOf(Box::new(value.quoted), number));
                    return Both { native: quote_spanned!(own=> [#native; #len]), quoted, point: true };
                }
                let len = self.length(&repeat.len);
                let (own, native) = (own_at(span), value.native);
                let native = quote_spanned!(own=> [#native; #len]);
                Both { native, quoted: expr_at(span, ExprKind::Repeat(Box::new(value.quoted), len)), point: true }
            }
            E::Struct(literal) => self.struct_literal(literal),
            // (Of the macro's own: see `spread`.)
            E::Verbatim(array) => self.length_of(array),
            other => self.hole(other, unsupported(other)),
        }
    }

    pub fn list<'a>(&mut self, exprs: impl IntoIterator<Item = &'a syn::Expr>) -> (Vec<TokenStream>, Vec<Quoted>) {
        exprs.into_iter().map(|e| self.expr(e)).map(|both| (both.native, both.quoted)).unzip()
    }

    fn unary(&mut self, unary: &syn::ExprUnary) -> Both {
        let (span, sign) = (unary.span(), unary.op.span());
        let name = match unary.op {
            syn::UnOp::Neg(_) => UnaryOp::Neg,
            syn::UnOp::Not(_) => UnaryOp::Not,
            _ => return self.hole(unary, "there are no references in a kernel: use the value itself"),
        };
        if let Some(both) = self.negative(unary) {
            return both;
        }
        let operand = self.expr(&unary.expr);
        if operand.point {
            return self.hole(unary, by_coordinates(&unary.expr, |axis| format!("-{axis}")));
        }
        let native = operand.native;
        let function = self.op(if name == UnaryOp::Neg { "neg" } else { "not" }, sign);
        let native = quote_spanned!(own()=> #function(#native));
        Both { native, quoted: expr_at(span, ExprKind::Unary(name, Box::new(operand.quoted))), point: false }
    }

    fn binary(&mut self, binary: &syn::ExprBinary) -> Both {
        let Some((operator, false)) = operator(&binary.op) else {
            return self.hole(binary, "an assignment has no value: write it as a statement, with `;`");
        };
        let (left, right) = match operator {
            // A list that is added or taken away is a point in both forms.
            Operator::Binary(BinaryOp::Add | BinaryOp::Sub) => {
                (self.expr(&as_point(&binary.left)), self.expr(&as_point(&binary.right)))
            }
            _ => (self.expr(&binary.left), self.expr(&binary.right)),
        };
        if let Some(message) = on_a_point(binary, &operator, left.point, right.point) {
            return self.hole(binary, message);
        }
        let (span, sign) = (binary.span(), binary.op.span());
        let numbers = self.is_number(&left.quoted) && self.is_number(&right.quoted);
        let (a, b) = (Box::new(left.quoted), Box::new(right.quoted));
        let (x, y) = (&left.native, &right.native);
        let (name, kind, point) = match operator {
            Operator::And => {
                let native = self.lazily("and", x, y, &b).unwrap_or_else(|| quote_spanned!(own()=> (#x && #y)));
                return Both { native, quoted: expr_at(span, ExprKind::And(a, b)), point: false };
            }
            Operator::Or => {
                let native = self.lazily("or", x, y, &b).unwrap_or_else(|| quote_spanned!(own()=> (#x || #y)));
                return Both { native, quoted: expr_at(span, ExprKind::Or(a, b)), point: false };
            }
            Operator::Compare(compare) => (compare_name(compare), ExprKind::Compare(compare, a, b), false),
            Operator::Binary(arithmetic) => match point_name(arithmetic, left.point || right.point) {
                Some(name) => {
                    let minus = arithmetic == BinaryOp::Sub;
                    (name, ExprKind::Shift { minus, point: a, offset: b }, true)
                }
                None => (binary_name(arithmetic, numbers), ExprKind::Binary(arithmetic, a, b), false),
            },
        };
        let function = self.op(name, sign);
        let own = own_at(span);
        let native = quote_spanned!(own=> #function(#x, #y));
        Both { native, quoted: expr_at(span, kind), point }
    }

    /// `x && y` or `x || y`, where both are computed if all reads are proven: then the compiler makes vectors of cells.
    fn lazily(&mut self, name: &str, x: &TokenStream, y: &TokenStream, quoted: &Quoted) -> Option<TokenStream> {
        let both = self.groups.is_none() && is_cheap(quoted);
        self.asks_if_proven |= both;
        let (function, proven) = (self.private(name, own()), proven());
        both.then(|| quote_spanned!(own()=> #function(#proven, #x, #[inline(always)] || #y)))
    }

    fn cast(&mut self, cast: &syn::ExprCast) -> Both {
        let (native_type, ty) = self.ty(&cast.ty);
        let mut operand = (*cast.expr).clone();
        match ty {
            TypeTree::Scalar(ScalarType::Bool) => {
                self.error(&cast.ty, "a number cannot be cast to `bool`: write `x != 0`");
            }
            TypeTree::Scalar(_) => give_type(&mut operand, &text_of(&cast.ty)),
            // A type parameter, or rustc says what it is not.
            TypeTree::Struct(_) => {}
            _ => self.error(&cast.ty, format!("a kernel casts between scalars alone: {SCALARS}")),
        }
        let value = self.expr(&operand);
        if value.point {
            return self.hole(cast, by_coordinates(&cast.expr, |axis| format!("{axis} as {}", text_of(&cast.ty))));
        }
        let native = self.open_cast(&ty, &native_type, &value.native, cast);
        Both { native, quoted: expr_at(cast.span(), ExprKind::Cast(Box::new(value.quoted), ty)), point: false }
    }

    fn method(&mut self, call: &syn::ExprMethodCall) -> Both {
        if let Some(both) = self.group_value(call) {
            return both;
        }
        let name = call.method.unraw().to_string();
        if name == "wide" && call.args.is_empty() {
            return self.wide(call);
        }
        let Some(method) = Method::from_name(&name) else {
            return match no_method(&name) {
                Some(message) => self.hole(&call.method, message),
                None => self.invoke(call),
            };
        };
        if let Some(turbofish) = &call.turbofish {
            self.error(turbofish, "methods in a kernel take no type parameters");
        }
        if call.args.len() != method.args() {
            let count = match method.args() {
                0 => "no argument".to_owned(),
                1 => "1 argument".to_owned(),
                n => format!("{n} arguments"),
            };
            return self.hole(&call.method, format!("`{name}` takes {count}, found {}", call.args.len()));
        }
        let (native, quoted) = self.list(std::iter::once(&*call.receiver).chain(&call.args));
        let function = self.op(method.name(), call.method.span());
        let own = own_at(call.span());
        let native = quote_spanned!(own=> #function(#(#native),*));
        Both { native, quoted: expr_at(call.span(), ExprKind::Method(method, quoted)), point: false }
    }

    fn call(&mut self, call: &syn::ExprCall) -> Both {
        let mut callee = &*call.func;
        while let syn::Expr::Paren(syn::ExprParen { expr, .. }) | syn::Expr::Group(syn::ExprGroup { expr, .. }) = callee
        {
            callee = expr;
        }
        let syn::Expr::Path(path) = callee else {
            return self.hole(callee, "only `#[kernel_fn]` functions can be called in a kernel, by their path");
        };
        if let Some((_, name)) = path.path.get_ident().and_then(|name| self.scope.find(name)) {
            return self.hole(callee, format!("`{name}` is a variable: only `#[kernel_fn]` functions can be called"));
        }
        if let Some(both) = self.lit(path, call).or_else(|| self.unit_point(path, call)) {
            return both;
        }
        // (`Complex::<f64>::new(..)` is a method of a type.)
        let of_type = path.path.segments.iter().rev().nth(1).is_some_and(|of| is_type_name(&of.ident));
        let last = path.path.segments.len().saturating_sub(if of_type { 2 } else { 1 });
        let inner = path.path.segments.iter().take(last).any(|segment| !segment.arguments.is_none());
        if path.qself.is_some() || inner {
            return self.hole(callee, "a `#[kernel_fn]` is called by its plain path: `flux(a, b)`, `flux::<T>(a, b)`");
        }
        if path.path.segments.first().is_some_and(|segment| segment.ident == "Self") && !self.of_method {
            return self.hole(callee, "`Self` is not supported in a kernel: call a `#[kernel_fn]` outside the `impl`");
        }
        if let Some(message) = of_a_scalar(&path.path, &call.args) {
            return self.hole(callee, message);
        }
        if let Some(both) = self.method_by_path(path, call) {
            return both;
        }
        let number = Named::number_in(&mut self.tables.functions, path.path.to_token_stream());
        let (native, quoted) = self.list(&call.args);
        let (mut function, run, span) =
            (function(number, path.span()), self.private("call", path.span()), self.library.span(path.span()));
        function.set_span(span);
        let parameters = path.path.segments.last().map(|last| &last.arguments);
        let (own, run) = (own_at(call.span()), quote_spanned!(span=> #run::<#function #parameters>));
        let native = quote_spanned!(own=> #run((#(#native,)*)));
        Both { native, quoted: expr_at(call.span(), ExprKind::Call(number as u32, quoted)), point: false }
    }

    fn branch(&mut self, branch: &syn::ExprIf) -> Both {
        let span = branch.span();
        let cond = match &*branch.cond {
            syn::Expr::Let(pattern) => {
                self.hole(pattern, "`if let` is not supported in a kernel: compare with `==`, then `let`")
            }
            cond => self.expr(cond),
        };
        let then = self.block(&branch.then_branch);
        let otherwise = branch.else_branch.as_ref().map(|(_, otherwise)| match &**otherwise {
            syn::Expr::Block(block) if block.label.is_none() => self.block(&block.block),
            other => {
                let value = self.expr(other);
                let native = super::braces(other.span(), value.native);
                let quoted = Block { stmts: Vec::new(), value: Some(Box::new(value.quoted)) };
                BothBlock { native, quoted, point: value.point, steps: Vec::new(), value: None }
            }
        });
        let (own, test, yes) = (own_at(span), cond.native, then.native);
        let arms = otherwise.as_ref().map(|no| [&then.quoted, &no.quoted]);
        let apart = arms.is_some_and(|arms| self.is_choice_of_reads(&cond.quoted, arms));
        let no = otherwise.as_ref().map(|block| &block.native);
        if let (Some(arms), Some(no)) = (arms, no)
            && self.may_take_both(arms, apart)
        {
            self.asks_if_proven = true;
            let (function, proven) = (self.private("choose", span), proven());
            let native =
                quote_spanned!(own=> #function(#proven, #test, #[inline(always)] || #yes, #[inline(always)] || #no));
            let otherwise = otherwise.map(|block| block.quoted);
            let kind = ExprKind::If { cond: Box::new(cond.quoted), then: then.quoted, otherwise };
            return Both { native, quoted: expr_at(span, kind), point: then.point };
        }
        let no = no.map(|no| match apart {
            false => quote_spanned!(own=> else #no),
            true => {
                self.keeps_apart = true;
                let (apart, nothing) = (self.private("apart", span), nothing());
                quote_spanned!(own=> else { #apart(#no, #nothing) })
            }
        });
        let native = quote_spanned!(own=> if #test #yes #no);
        let kind = ExprKind::If {
            cond: Box::new(cond.quoted),
            then: then.quoted,
            otherwise: otherwise.map(|block| block.quoted),
        };
        Both { native, quoted: expr_at(span, kind), point: then.point }
    }

    /// Whether an `if` may compute both of its values: they cost little. Two mere reads between which no read decides,
    /// as told by `apart`, are left alone: the cell's place often decides the same along a row, where one is enough.
    fn may_take_both(&self, arms: [&Block; 2], apart: bool) -> bool {
        let mere = |arm: &Block| arm.value.as_ref().is_some_and(|value| matches!(value.kind, ExprKind::Load { .. }));
        self.groups.is_none() && (apart || !arms.into_iter().all(mere)) && are_cheap(arms)
    }

    /// Whether what is read decides which of two reads is the value. The compiler would make one read of the two, whose
    /// address is chosen in each cell: vectors of these are gathers, or there are none.
    fn is_choice_of_reads(&self, cond: &Quoted, arms: [&Block; 2]) -> bool {
        let reads =
            |block: &Block| block.value.as_ref().is_some_and(|value| matches!(value.kind, ExprKind::Load { .. }));
        self.groups.is_none() && arms.into_iter().all(reads) && self.scope.is_read(cond)
    }

    fn struct_literal(&mut self, literal: &syn::ExprStruct) -> Both {
        if let Some(rest) = &literal.rest {
            self.error(rest, "`..base` is not supported in a kernel: name every field");
        } else if let Some(dots) = &literal.dot2_token {
            self.error(dots, "`..` is not supported in a kernel: name every field");
        }
        if let Some(qself) = &literal.qself {
            self.error(&qself.ty, "name the struct by its plain path");
        }
        let number = self.structure(&literal.path);
        let path = self.tables.structs.get(number as usize).map(|named| named.path.clone()).unwrap_or_default();
        let mut natives = Vec::new();
        let mut fields = Vec::new();
        for field in &literal.fields {
            let syn::Member::Named(name) = &field.member else {
                self.error(&field.member, "an element has named fields");
                continue;
            };
            let value = self.expr(&field.expr);
            let native = value.native;
            natives.push(quote_spanned!(own()=> #name: #native));
            fields.push((name.unraw().to_string(), value.quoted));
        }
        let own = own_at(literal.span());
        let native = quote_spanned!(own=> (#path { #(#natives),* }));
        Both { native, quoted: expr_at(literal.span(), ExprKind::Struct(number, fields)), point: false }
    }

    /// The value of `place op= value`, with the place as left operand: Rust and data. Both may be `numbers` for sure.
    pub fn compound(
        &self,
        token: &syn::BinOp,
        (point, numbers): (bool, bool),
        left: &TokenStream,
        right: &TokenStream,
    ) -> Option<(TokenStream, BinaryOp)> {
        let Some((Operator::Binary(arithmetic), true)) = operator(token) else {
            return None;
        };
        let name = point_name(arithmetic, point).unwrap_or(binary_name(arithmetic, numbers));
        let function = self.op(name, token.span());
        Some((quote_spanned!(own()=> #function(#left, #right)), arithmetic))
    }
}

/// What to write instead of an operation that points do not have, if this is one.
fn on_a_point(binary: &syn::ExprBinary, operator: &Operator, left: bool, right: bool) -> Option<String> {
    let moves = matches!(operator, Operator::Binary(BinaryOp::Add | BinaryOp::Sub));
    let symbol = text_of(&binary.op);
    let (a, b) = (&*binary.left, &*binary.right);
    match (left, right) {
        _ if matches!(operator, Operator::And | Operator::Or) => None,
        (false, false) => None,
        (true, true) if moves => None,
        (true, false) if moves && literal_of(b).is_none() => None,
        (false, true) if moves && literal_of(a).is_none() => None,
        (true, false) if moves => {
            let (a, b) = (text_of(a), text_of(b));
            Some(format!(
                "a point moves by a point: name each axis, `{a} {symbol} [{b}]` on one axis, `{a} {symbol} [{b}, 0]` on two"
            ))
        }
        (true, false) => Some(by_coordinates(a, |axis| format!("{axis} {symbol} {}", text_of(b)))),
        (false, true) => Some(by_coordinates(b, |axis| format!("{} {symbol} {axis}", text_of(a)))),
        (true, true) if matches!(operator, Operator::Compare(_)) => Some(format!(
            "points are compared by coordinates, such as `{}[0] {symbol} {}[0]`",
            short(a, "p"),
            short(b, "q")
        )),
        (true, true) => Some(by_coordinates(a, |axis| {
            format!("{axis} {symbol} {}", axis.replacen(short(a, "p").as_str(), &short(b, "q"), 1))
        })),
    }
}

/// A name, or this one in place of what is longer.
fn short(expr: &syn::Expr, otherwise: &str) -> String {
    match expr {
        syn::Expr::Path(_) => text_of(expr),
        syn::Expr::Paren(inner) => short(&inner.expr, otherwise),
        syn::Expr::Group(inner) => short(&inner.expr, otherwise),
        _ => otherwise.to_owned(),
    }
}

/// An operation on a point as an operation on each of its coordinates.
fn by_coordinates(point: &syn::Expr, axis: impl Fn(String) -> String) -> String {
    let name = short(point, "p");
    let (first, second) = (axis(format!("{name}[0]")), axis(format!("{name}[1]")));
    format!("a point is an array of coordinates: `[{first}, {second}]`")
}

/// What to write in place of a function of a scalar type, if this is one.
fn of_a_scalar<'a>(path: &syn::Path, args: impl IntoIterator<Item = &'a syn::Expr>) -> Option<String> {
    let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
    let (ty, name) = match names.as_slice() {
        [.., ty, name] => (ty, name),
        _ => return None,
    };
    let foreign = ["i8", "i16", "u16", "i128", "u128"].contains(&ty.as_str());
    if scalar(ty).is_none() && !foreign {
        return None;
    }
    if Method::from_name(name).is_none() {
        return Some(unknown_method(name));
    }
    let simple = |expr: &syn::Expr| matches!(expr, syn::Expr::Path(_) | syn::Expr::Index(_) | syn::Expr::Field(_));
    let args: Vec<(bool, String)> = args.into_iter().map(|arg| (simple(arg), text_of(arg))).collect();
    let (receiver, rest) = args.split_first()?;
    let receiver = if receiver.0 { receiver.1.clone() } else { format!("({})", receiver.1) };
    let rest: Vec<&str> = rest.iter().map(|(_, text)| text.as_str()).collect();
    Some(format!("numbers have methods in a kernel: write `{receiver}.{name}({})`", rest.join(", ")))
}

/// The operation on points, where there is one.
fn point_name(op: BinaryOp, point: bool) -> Option<&'static str> {
    match op {
        BinaryOp::Add if point => Some("plus"),
        BinaryOp::Sub if point => Some("minus"),
        _ => None,
    }
}

/// The operation on scalars; on what may be a complex and a real number, if the operands are not `numbers` for sure.
fn binary_name(op: BinaryOp, numbers: bool) -> &'static str {
    match op {
        BinaryOp::Add if !numbers => "sum",
        BinaryOp::Sub if !numbers => "difference",
        BinaryOp::Mul if !numbers => "product",
        BinaryOp::Div if !numbers => "quotient",
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::Rem => "rem",
        BinaryOp::BitAnd => "bitand",
        BinaryOp::BitOr => "bitor",
        BinaryOp::BitXor => "bitxor",
        BinaryOp::Shl => "shl",
        BinaryOp::Shr => "shr",
    }
}

fn compare_name(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "eq",
        CompareOp::Ne => "ne",
        CompareOp::Lt => "lt",
        CompareOp::Le => "le",
        CompareOp::Gt => "gt",
        CompareOp::Ge => "ge",
    }
}

/// The operator, and whether it assigns.
fn operator(op: &syn::BinOp) -> Option<(Operator, bool)> {
    use syn::BinOp as B;
    let binary = |op| Some((Operator::Binary(op), false));
    let assign = |op| Some((Operator::Binary(op), true));
    let compare = |op| Some((Operator::Compare(op), false));
    match op {
        B::Add(_) => binary(BinaryOp::Add),
        B::Sub(_) => binary(BinaryOp::Sub),
        B::Mul(_) => binary(BinaryOp::Mul),
        B::Div(_) => binary(BinaryOp::Div),
        B::Rem(_) => binary(BinaryOp::Rem),
        B::BitAnd(_) => binary(BinaryOp::BitAnd),
        B::BitOr(_) => binary(BinaryOp::BitOr),
        B::BitXor(_) => binary(BinaryOp::BitXor),
        B::Shl(_) => binary(BinaryOp::Shl),
        B::Shr(_) => binary(BinaryOp::Shr),
        B::AddAssign(_) => assign(BinaryOp::Add),
        B::SubAssign(_) => assign(BinaryOp::Sub),
        B::MulAssign(_) => assign(BinaryOp::Mul),
        B::DivAssign(_) => assign(BinaryOp::Div),
        B::RemAssign(_) => assign(BinaryOp::Rem),
        B::BitAndAssign(_) => assign(BinaryOp::BitAnd),
        B::BitOrAssign(_) => assign(BinaryOp::BitOr),
        B::BitXorAssign(_) => assign(BinaryOp::BitXor),
        B::ShlAssign(_) => assign(BinaryOp::Shl),
        B::ShrAssign(_) => assign(BinaryOp::Shr),
        B::Eq(_) => compare(CompareOp::Eq),
        B::Ne(_) => compare(CompareOp::Ne),
        B::Lt(_) => compare(CompareOp::Lt),
        B::Le(_) => compare(CompareOp::Le),
        B::Gt(_) => compare(CompareOp::Gt),
        B::Ge(_) => compare(CompareOp::Ge),
        B::And(_) => Some((Operator::And, false)),
        B::Or(_) => Some((Operator::Or, false)),
        _ => None,
    }
}

/// What to write instead of an expression that kernels do not have.
fn unsupported(expr: &syn::Expr) -> &'static str {
    use syn::Expr as E;
    match expr {
        E::Macro(_) => "macros are not supported in a kernel: there is nothing to print to on a device",
        E::Closure(_) => "closures are not supported in a kernel: make it a `#[kernel_fn]` and call that",
        E::Reference(_) => "references are not supported in a kernel: use the value itself",
        E::Let(_) => "`let` in a condition is not supported in a kernel: compare with `==`, then `let`",
        E::Try(_) => "`?` is not supported in a kernel: a cell cannot fail; write a value that says so",
        E::Await(_) | E::Async(_) => "`async` is not supported in a kernel",
        E::Unsafe(_) => "`unsafe` is not supported in a kernel",
        E::Const(_) => "`const` blocks are not supported in a kernel: capture a constant by its name",
        E::Range(_) => "a range is only supported as `for i in lo..hi` in a kernel",
        E::Assign(_) => "an assignment has no value: write it as a statement, with `;`",
        E::Return(_) | E::Break(_) | E::Continue(_) => {
            "this is only supported as a statement in a kernel: put it in a block of its own, with `;`"
        }
        E::ForLoop(_) | E::While(_) | E::Loop(_) => "a loop has no value in a kernel: write it as a statement",
        E::Infer(_) => "`_` is not a value",
        _ => "this is not supported in a kernel: see the documentation of `kernel!` for what is",
    }
}

/// What to write instead of a method that no value of a kernel has by its receiver.
fn no_method(name: &str) -> Option<String> {
    match name {
        "len" => Some("arrays have no length in a kernel: pass it in as a captured value".to_owned()),
        "clone" | "to_owned" => Some(format!("`{name}` is not needed in a kernel: every value is copied")),
        "iter" | "into_iter" | "iter_mut" | "map" => {
            Some("iterators are not supported in a kernel: write `for i in 0..n`".to_owned())
        }
        "abs_diff" => Some("`abs_diff` is not a method of a kernel: write `a.max(b) - a.min(b)`".to_owned()),
        "to_radians" => Some("`to_radians` is not a method of a kernel: write `x * (PI / 180.0)`".to_owned()),
        "to_degrees" => Some("`to_degrees` is not a method of a kernel: write `x * (180.0 / PI)`".to_owned()),
        "into" | "from" | "try_into" => Some(format!("`{name}` is not supported in a kernel: cast, `x as f64`")),
        _ => None,
    }
}

/// The message for a method that numbers do not have, with the nearest that they do.
pub(super) fn unknown_method(name: &str) -> String {
    if let Some(message) = no_method(name) {
        return message;
    }
    let names: Vec<String> = match name {
        "to_bits" | "from_bits" => Vec::new(),
        _ => near_methods(name).map(|near| format!("`{near}`")).collect(),
    };
    match names.is_empty() {
        true => format!("`{name}` is not a method of a kernel: write a `#[kernel_fn]` for it"),
        false => format!("`{name}` is not a method of a kernel: near it: {}", names.join(", ")),
    }
}

/// The methods of numbers whose names are nearest to one.
pub(super) fn near_methods(name: &str) -> impl Iterator<Item = &'static str> {
    let most = 1 + name.chars().count() / 2;
    let mut near: Vec<(usize, &str)> =
        Method::ALL.iter().map(|method| (distance(name, method.name()), method.name())).collect();
    near.sort();
    near.into_iter().filter(move |(d, _)| *d <= most).take(3).map(|(_, near)| near)
}

/// Edits from one word to another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        let mut left = i + 1;
        for (entry, y) in row.iter_mut().skip(1).zip(&b) {
            let best = (diagonal + usize::from(x != *y)).min(*entry + 1).min(left + 1);
            diagonal = *entry;
            *entry = best;
            left = best;
        }
    }
    row.last().copied().unwrap_or(0)
}
