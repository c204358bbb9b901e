//! What an element of an array is made of.
//!
//! An element is a tree of scalars. Its leaves, in order, are its *components*; an array keeps each component in a
//! plane of its own (struct of arrays; Salehi §6).

/// A scalar that kernels compute with and arrays store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarType {
    /// `bool`, stored as one byte, 0 or 1.
    Bool,
    /// `u8`.
    U8,
    /// `i32`.
    I32,
    /// `u32`.
    U32,
    /// `i64`; `isize` in a kernel is this type too.
    I64,
    /// `u64`; `usize` in a kernel is this type too.
    U64,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// Codes of 16 bits (`tida_kernels::codec`): no kernel computes with them.
    U16,
}

impl ScalarType {
    /// Size of one stored value, in bytes.
    pub const fn size(self) -> usize {
        match self {
            ScalarType::Bool | ScalarType::U8 => 1,
            ScalarType::U16 => 2,
            ScalarType::I32 | ScalarType::U32 | ScalarType::F32 => 4,
            ScalarType::I64 | ScalarType::U64 | ScalarType::F64 => 8,
        }
    }

    /// Whether this is `f32` or `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self, ScalarType::F32 | ScalarType::F64)
    }

    /// Whether this is an integer type.
    pub const fn is_int(self) -> bool {
        !self.is_float() && !matches!(self, ScalarType::Bool)
    }

    /// Whether this is a signed integer type.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, ScalarType::I32 | ScalarType::I64)
    }

    /// The largest value of an integer type.
    const fn largest(self) -> u64 {
        match self {
            ScalarType::U8 => u8::MAX as u64,
            ScalarType::U16 => u16::MAX as u64,
            ScalarType::U32 => u32::MAX as u64,
            ScalarType::U64 => u64::MAX,
            ScalarType::I32 => i32::MAX as u64,
            ScalarType::I64 => i64::MAX as u64,
            ScalarType::Bool | ScalarType::F32 | ScalarType::F64 => 0,
        }
    }

    /// Whether an integer type has the number written so, `-n` if `negative`.
    pub const fn has(self, n: u64, negative: bool) -> bool {
        match (negative, self.is_signed_int()) {
            (false, _) => self.is_int() && n <= self.largest(),
            (true, true) => n <= self.largest() + 1,
            (true, false) => self.is_int() && n == 0,
        }
    }

    /// The numbers of an integer type: `0 to 255`.
    pub fn range_text(self) -> String {
        match self.is_signed_int() {
            true => format!("-{} to {}", self.largest() + 1, self.largest()),
            false => format!("0 to {}", self.largest()),
        }
    }

    /// The Rust name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::Bool => "bool",
            ScalarType::U8 => "u8",
            ScalarType::I32 => "i32",
            ScalarType::U32 => "u32",
            ScalarType::I64 => "i64",
            ScalarType::U64 => "u64",
            ScalarType::F32 => "f32",
            ScalarType::F64 => "f64",
            ScalarType::U16 => "u16",
        }
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
