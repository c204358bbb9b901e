//! What an element of an array is made of.
//!
//! An element is a tree of scalars. Its leaves, in order, are its *components*; an array keeps each component in a
//! plane of its own (struct of arrays; Salehi §6).

/// Gives the scalar types of a class to a macro: `each_scalar!(integers then!(a b))` is
/// `then! { (a b) u8 U8 i32 I32 .. }`, with the Rust name and the name in [`ScalarType`] of each.
///
/// The classes are `all`, `numbers`, `bits` (integers and `bool`), `integers`, `signed` and `floats`. A type is added
/// here, at the end: the bytes of quotations count from the first.
#[macro_export]
macro_rules! each_scalar {
    (all $then:ident!$args:tt) => {
        $then! { $args bool Bool u8 U8 i32 I32 u32 U32 i64 I64 u64 U64 f32 F32 f64 F64 u16 U16 i8 I8 i16 I16 }
    };
    (numbers $then:ident!$args:tt) => {
        $then! { $args u8 U8 i32 I32 u32 U32 i64 I64 u64 U64 f32 F32 f64 F64 u16 U16 i8 I8 i16 I16 }
    };
    (bits $then:ident!$args:tt) => {
        $then! { $args bool Bool u8 U8 i32 I32 u32 U32 i64 I64 u64 U64 u16 U16 i8 I8 i16 I16 }
    };
    (integers $then:ident!$args:tt) => {
        $then! { $args u8 U8 i32 I32 u32 U32 i64 I64 u64 U64 u16 U16 i8 I8 i16 I16 }
    };
    (signed $then:ident!$args:tt) => {
        $then! { $args i32 I32 i64 I64 i8 I8 i16 I16 }
    };
    (floats $then:ident!$args:tt) => {
        $then! { $args f32 F32 f64 F64 }
    };
}

macro_rules! scalar_type {
    (() $($t:ident $variant:ident)*) => {
        /// A scalar that kernels compute with and arrays store.
        ///
        /// `bool` is stored as one byte, 0 or 1. In a kernel `isize` is `i64`, and `usize` is `u64`. Codes
        /// (`tida_kernels::codec`) are unsigned integers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ScalarType {
            $(#[doc = concat!("`", stringify!($t), "`.")] $variant,)*
        }

        impl ScalarType {
            /// Every scalar type, in the order of their declaration.
            pub const ALL: &[ScalarType] = &[$(ScalarType::$variant,)*];

            /// Size of one stored value, in bytes.
            pub const fn size(self) -> usize {
                match self { $(ScalarType::$variant => size_of::<$t>(),)* }
            }

            /// The Rust name of the type.
            pub const fn name(self) -> &'static str {
                match self { $(ScalarType::$variant => stringify!($t),)* }
            }
        }
    };
}

each_scalar!(all scalar_type!());

/// Whether a scalar type is one of these.
macro_rules! is_one {
    (($ty:expr) $($t:ident $variant:ident)*) => { matches!($ty, $(ScalarType::$variant)|*) };
}

/// The lowest and the highest value, if a scalar type is one of these.
macro_rules! bounds {
    (($ty:expr) $($t:ident $variant:ident)*) => {
        match $ty {
            $(ScalarType::$variant => Some(($t::MIN as i128, $t::MAX as i128)),)*
            _ => None,
        }
    };
}

impl ScalarType {
    /// Whether this is `f32` or `f64`.
    pub const fn is_float(self) -> bool {
        each_scalar!(floats is_one!(self))
    }

    /// Whether this is an integer type.
    pub const fn is_int(self) -> bool {
        each_scalar!(integers is_one!(self))
    }

    /// Whether this is a signed integer type.
    pub const fn is_signed_int(self) -> bool {
        each_scalar!(signed is_one!(self))
    }

    /// The lowest and the highest value of an integer type.
    pub const fn bounds(self) -> Option<(i128, i128)> {
        each_scalar!(integers bounds!(self))
    }

    /// Whether an integer type has the number written so, `-n` if `negative`.
    pub fn has(self, n: u64, negative: bool) -> bool {
        let n = if negative { -i128::from(n) } else { n.into() };
        self.bounds().is_some_and(|(lowest, highest)| lowest <= n && n <= highest)
    }

    /// The numbers of an integer type: `0 to 255`.
    pub fn range_text(self) -> String {
        self.bounds().map_or_else(String::new, |(lowest, highest)| format!("{lowest} to {highest}"))
    }
}

/// The type of an element: a scalar, a fixed-size array, or a struct of named fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// One scalar.
    Scalar(ScalarType),
    /// `[element; len]`.
    Array {
        /// Type of each entry.
        element: &'static ElementType,
        /// Number of entries.
        len: usize,
    },
    /// A struct made by `#[derive(Element)]`; field order is declaration order.
    Struct {
        /// Name of the struct, for messages and emitted source.
        name: &'static str,
        /// Names and types of the fields.
        fields: &'static [(&'static str, ElementType)],
    },
}

impl ElementType {
    /// Number of components (scalar leaves).
    pub const fn components(&self) -> usize {
        match self {
            ElementType::Scalar(_) => 1,
            ElementType::Array { element, len } => element.components() * *len,
            ElementType::Struct { fields, .. } => {
                let mut n = 0;
                let mut i = 0;
                while i < fields.len() {
                    n += fields[i].1.components();
                    i += 1;
                }
                n
            }
        }
    }

    /// Sum of the sizes of all components, in bytes.
    pub const fn bytes(&self) -> usize {
        match self {
            ElementType::Scalar(s) => s.size(),
            ElementType::Array { element, len } => element.bytes() * *len,
            ElementType::Struct { fields, .. } => {
                let mut n = 0;
                let mut i = 0;
                while i < fields.len() {
                    n += fields[i].1.bytes();
                    i += 1;
                }
                n
            }
        }
    }

    /// The scalar that an array is of, or an array of arrays; a scalar itself.
    pub const fn innermost(&self) -> Option<ScalarType> {
        match self {
            ElementType::Scalar(scalar) => Some(*scalar),
            ElementType::Array { element, .. } => element.innermost(),
            ElementType::Struct { .. } => None,
        }
    }

    /// Size of the smallest component, in bytes; rows are padded so that even its rows stay aligned.
    pub const fn smallest_component(&self) -> usize {
        match self {
            ElementType::Scalar(s) => s.size(),
            ElementType::Array { element, .. } => element.smallest_component(),
            ElementType::Struct { fields, .. } => {
                let mut n = 8;
                let mut i = 0;
                while i < fields.len() {
                    let m = fields[i].1.smallest_component();
                    if m < n {
                        n = m;
                    }
                    i += 1;
                }
                n
            }
        }
    }

    /// The scalar types of the components, in order.
    pub fn component_types(&self) -> Vec<ScalarType> {
        fn walk(t: &ElementType, out: &mut Vec<ScalarType>) {
            match t {
                ElementType::Scalar(s) => out.push(*s),
                // However many entries there are.
                ElementType::Array { element, .. } if element.components() == 0 => {}
                ElementType::Array { element, len } => (0..*len).for_each(|_| walk(element, out)),
                ElementType::Struct { fields, .. } => fields.iter().for_each(|(_, f)| walk(f, out)),
            }
        }
        let mut out = Vec::with_capacity(self.components());
        walk(self, &mut out);
        out
    }

    /// The scalar type of each component, and the bytes of those before it.
    pub fn placed_components(&self) -> impl Iterator<Item = (ScalarType, usize)> + use<> {
        let mut end = 0;
        self.component_types().into_iter().map(move |ty| {
            end += ty.size();
            (ty, end - ty.size())
        })
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ElementType::Scalar(s) => f.write_str(s.name()),
            ElementType::Array { element, len } => write!(f, "[{element}; {len}]"),
            ElementType::Struct { name, .. } => f.write_str(name),
        }
    }
}
