//! Trees as bytes: numbers in groups of seven bits, the lowest first; texts and lists after their lengths; what an enum
//! is, and whether there is a value, as a number before it.

use super::*;

/// How deep trees may nest: more would be deeper than typing allows, and reading it could exhaust the stack.
const MAX_DEPTH: usize = 256;

/// Bytes that are still to be read.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    depth: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    /// Reads what is no level by itself.
    fn flat<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        read(self)
    }

    /// Reads one level more of a tree.
    fn nests<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }
}

/// What a tree is made of.
pub(super) trait Coded: Sized {
    fn write(&self, to: &mut Vec<u8>);
    fn read(from: &mut Reader<'_>) -> Option<Self>;
}

impl Coded for u64 {
    fn write(&self, to: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            to.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        to.push(rest as u8);
    }

    fn read(from: &mut Reader<'_>) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = from.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Coded for $ty {
            fn write(&self, to: &mut Vec<u8>) {
                (*self as u64).write(to);
            }
            fn read(from: &mut Reader<'_>) -> Option<$ty> {
                <$ty>::try_from(u64::read(from)?).ok()
            }
        }
    )*};
}
numbers! { u32 usize }

impl Coded for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut Reader<'_>) -> Option<bool> {
        match from.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Coded for String {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Option<String> {
        let len = usize::read(from)?;
        let (text, rest) = from.bytes.split_at_checked(len)?;
        from.bytes = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }
}

impl<T: Coded> Coded for Box<T> {
    fn write(&self, to: &mut Vec<u8>) {
        (**self).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<Box<T>> {
        T::read(from).map(Box::new)
    }
}

impl<T: Coded> Coded for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Option<Option<T>> {
        Some(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

/// Room for values is made as they come: a length that is wrong costs nothing. Each value has a byte at least.
impl<T: Coded> Coded for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Option<Vec<T>> {
        let len = usize::read(from)?;
        (0..len).map(|_| T::read(from)).collect::<Option<_>>()
    }
}

impl<T: Coded> Coded for [T; 2] {
    fn write(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Option<[T; 2]> {
        Some([T::read(from)?, T::read(from)?])
    }
}

impl<A: Coded, B: Coded> Coded for (A, B) {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<(A, B)> {
        Some((A::read(from)?, B::read(from)?))
    }
}

/// Structs, field by field.
macro_rules! structs {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl Coded for $name {
            fn write(&self, to: &mut Vec<u8>) {
                let $name { $($field),* } = self;
                $($field.write(to);)*
            }
            fn read(from: &mut Reader<'_>) -> Option<$name> {
                $(let $field = Coded::read(from)?;)*
                Some($name { $($field),* })
            }
        }
    )*};
}

/// Enums: each variant has a number, and its values are named. One that `nests` is a level of the tree.
macro_rules! enums {
    ($($name:ident $level:ident { $($number:literal $variant:ident $(($($value:ident),*))? $({ $($field:ident),* })?;)* })*) => {$(
        impl Coded for $name {
            fn write(&self, to: &mut Vec<u8>) {
                match self {
                    $($name::$variant $(($($value),*))? $({ $($field),* })? => {
                        to.push($number);
                        $($($value.write(to);)*)?
                        $($($field.write(to);)*)?
                    })*
                }
            }
            fn read(from: &mut Reader<'_>) -> Option<$name> {
                from.$level(|from| match from.byte()? {
                    $($number => {
                        $($(let $value = Coded::read(from)?;)*)?
                        $($(let $field = Coded::read(from)?;)*)?
                        Some($name::$variant $(($($value),*))? $({ $($field),* })?)
                    })*
                    _ => None,
                })
            }
        }
    )*};
}

/// Enums without values, by their place among all.
macro_rules! plain {
    ($($name:ident [$($variant:ident)*])*) => {$(
        impl Coded for $name {
            fn write(&self, to: &mut Vec<u8>) {
                to.push(*self as u8);
            }
            fn read(from: &mut Reader<'_>) -> Option<$name> {
                // Names all, so that none is forgotten.
                let _ = |it: $name| match it { $($name::$variant)|* => () };
                let all = [$($name::$variant),*];
                all.get(usize::from(from.byte()?)).copied()
            }
        }
    )*};
}

structs! {
    Span { line, column }
    KernelTree { args, at, captures, code, group, native, native_if_few }
    NativeForm { block, alone }
    GroupTree { arrays, privates, len }
    GroupArray { name, span, kind }
    FunctionTree { name, params, result, code }
    Code { locals, functions, structs, constants, methods, numbers, body }
    Local { name, mutable, span }
    Block { stmts, value }
    Range { lo, hi, inclusive, by, order }
    Stmt { span, kind }
    Expr { span, kind }
}

enums! {
    GroupArrayKind flat {
        0 Fetch { arg, before, after };
        1 Channel { ty, before, after };
        2 Shared { ty, shape };
    }
    NumberType flat {
        0 Written(ty);
        1 Inferred(number);
        2 Of(number);
    }
    TypeTree nests {
        0 Scalar(ty);
        1 Array(of, len);
        2 Tuple(all);
        3 Struct(number);
        4 Infer;
        5 ArrayOf(of, constant);
    }
    StmtKind nests {
        0 Let { pattern, ty, init };
        1 Assign { place, op, value };
        2 Expr(value);
        3 For { local, range, body };
        4 While { cond, body };
        5 Phase { thread, before, after, body };
        6 Break(loops);
        7 Continue(loops);
        8 Return(value);
    }
    Pattern nests {
        0 Local(local);
        1 Ignore;
        2 Tuple(all);
        3 Array(all);
        4 Struct(number, fields);
    }
    Place flat {
        0 Local { local, path };
        1 Element { arg, index, path };
    }
    Projection flat {
        0 Field(name);
        1 Tuple(number);
        2 Index(index);
    }
    ExprKind nests {
        0 Int(digits, ty);
        1 Float(digits, ty);
        2 Bool(value);
        3 Local(local);
        4 Capture(number);
        5 At;
        6 Load { arg, index, path };
        7 Unary(op, value);
        8 Binary(op, left, right);
        9 Shift { minus, point, offset };
        10 Compare(op, left, right);
        11 And(left, right);
        12 Or(left, right);
        13 Cast(value, ty);
        14 If { cond, then, otherwise };
        15 Block(block);
        16 Method(method, args);
        17 Call(function, args);
        18 Tuple(all);
        19 Array(all);
        20 Repeat(value, len);
        21 Struct(number, fields);
        22 Project(value, part);
        23 Constant(number);
        24 Unit(axis);
        25 RepeatOf(value, constant);
        27 Length(array);
        26 Invoke(method, args);
    }
}

plain! {
    UnaryOp [Neg Not]
    BinaryOp [Add Sub Mul Div Rem BitAnd BitOr BitXor Shl Shr]
    CompareOp [Eq Ne Lt Le Gt Ge]
    Order [Up Down Back]
}

macro_rules! listed {
    ($($ty:ident)*) => {$(
        impl Coded for $ty {
            fn write(&self, to: &mut Vec<u8>) {
                to.push(*self as u8);
            }
            fn read(from: &mut Reader<'_>) -> Option<$ty> {
                $ty::ALL.get(usize::from(from.byte()?)).copied()
            }
        }
    )*};
}
listed! { Method ScalarType }

fn encode<T: Coded>(tree: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    tree.write(&mut bytes);
    bytes
}

fn decode<T: Coded>(bytes: &[u8]) -> Option<T> {
    let mut reader = Reader { bytes, depth: 0 };
    T::read(&mut reader).filter(|_| reader.bytes.is_empty())
}

impl KernelTree {
    /// The tree as bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// The tree from bytes made by [`KernelTree::encode`]; `None` for any other bytes, and for trees
    /// nested deeper than any kernel may be.
    pub fn decode(bytes: &[u8]) -> Option<KernelTree> {
        decode(bytes)
    }
}

impl FunctionTree {
    /// The tree as bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// The tree from bytes made by [`FunctionTree::encode`]; `None` for any other bytes, and for trees
    /// nested deeper than any kernel may be.
    pub fn decode(bytes: &[u8]) -> Option<FunctionTree> {
        decode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for n in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            assert_eq!(decode::<u64>(&encode(&n)), Some(n));
        }
        assert_eq!(encode(&300u32), [0xac, 2]);
        assert_eq!(decode::<u32>(&encode(&(1u64 << 32))), None);
        // More bits than there are, and an end that is missing.
        assert_eq!(decode::<u64>(&[0xff; 9]), None);
        assert_eq!(decode::<u64>(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), None);
        assert_eq!(decode::<u64>(&[0x80; 20]), None);
        assert_eq!(decode::<bool>(&[2]), None);
    }

    /// A kernel with something of everything.
    fn tree() -> KernelTree {
        use build::*;
        let all = Method::ALL.iter().map(|m| expr(ExprKind::Method(*m, vec![float(1.5), at()]))).collect();
        let mut tree = KernelTree {
            args: vec!["next".into(), "ü".into()],
            at: "at".into(),
            captures: vec!["self.alpha".into()],
            code: Code {
                locals: vec![Local { name: "x".into(), mutable: true, span: Span { line: 3, column: 700 } }],
                functions: vec!["f".into()],
                structs: vec![],
                constants: vec!["GAMMA".into()],
                methods: vec!["m".into()],
                numbers: 2,
                body: Block { stmts: vec![], value: Some(Box::new(expr(ExprKind::Tuple(all)))) },
            },
            group: Some(GroupTree {
                arrays: vec![GroupArray {
                    name: "s".into(),
                    span: Span::default(),
                    kind: GroupArrayKind::Shared { ty: NumberType::Of(1), shape: vec![256, 17] },
                }],
                privates: vec![0],
                len: Some(0),
            }),
            native: NativeForm { block: Some([8, 64]), alone: None },
            native_if_few: NativeForm::default(),
        };
        let ty = TypeTree::Array(Box::new(TypeTree::Tuple(vec![TypeTree::Infer, TypeTree::Struct(1)])), 4);
        let fields = Pattern::Struct(1, vec![("h".into(), Pattern::Local(0))]);
        let pattern = Pattern::Tuple(vec![Pattern::Ignore, fields]);
        tree.code.body.stmts.push(stmt(StmtKind::Let { pattern, ty: Some(ty), init: None }));
        tree.code.body.stmts.push(stmt(StmtKind::Return(Some(int_of(u64::MAX, ScalarType::U64)))));
        tree
    }

    #[test]
    fn trees_come_back_and_no_others() {
        let tree = tree();
        let bytes = tree.encode();
        assert_eq!(KernelTree::decode(&bytes).as_ref(), Some(&tree));
        for end in 0..bytes.len() {
            assert_eq!(KernelTree::decode(&bytes[..end]), None);
        }
        assert_eq!(KernelTree::decode(&[&bytes[..], &[0]].concat()), None);
        // Whatever the bytes are, reading ends.
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1] {
                let mut other = bytes.clone();
                other[at] = value;
                let _ = KernelTree::decode(&other);
            }
        }
    }

    #[test]
    fn trees_that_nest_too_deep_are_refused() {
        let nested = |levels: usize| {
            let mut ty = TypeTree::Infer;
            for _ in 0..levels {
                ty = TypeTree::Array(Box::new(ty), 1);
            }
            encode(&ty)
        };
        assert!(decode::<TypeTree>(&nested(MAX_DEPTH - 1)).is_some());
        assert!(decode::<TypeTree>(&nested(MAX_DEPTH)).is_none());
        assert!(decode::<TypeTree>(&vec![1; 100_000]).is_none());
    }
}
