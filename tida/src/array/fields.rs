//! What elements are made of, as files keep them.

use tida_kernels::element::{ElementType, ScalarType};

use super::TileArray;
use super::npy::is_of_complex;
use crate::memory::element::Element;

/// A part of an array's elements that files keep as one array: a number or an array of numbers. See
/// [`TileArray::fields`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    scalar: ScalarType,
    complex: bool,
    shape: Vec<usize>,
    /// The numbers of its components, row-major; of a complex number the real part first.
    components: Vec<usize>,
}

impl Field {
    /// The path of fields that leads to it, with dots between; empty where the element is no struct.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Rust name of its numbers, or of the two parts of its complex numbers: `"f64"`.
    pub fn number(&self) -> &'static str {
        self.scalar.name()
    }

    /// Whether its values are complex numbers.
    pub fn is_complex(&self) -> bool {
        self.complex
    }

    /// The axes that it has beside those of the array: `[3]` of a `[f64; 3]`, none of an `f64`.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Bytes of it in one element.
    pub fn bytes(&self) -> usize {
        self.components.len() * self.scalar.size()
    }

    /// The numbers of its components.
    pub(super) fn components(&self) -> &[usize] {
        &self.components
    }

    /// The type of each.
    pub(super) fn scalar(&self) -> ScalarType {
        self.scalar
    }
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// The fields that files keep its elements as: one of a number, a complex number, or an array of those; of a struct
    /// those of each of its fields. An array of structs gives each of their fields one axis more.
    ///
    /// ```
    /// use tida::prelude::*;
    /// #[derive(Clone, Copy, Debug, PartialEq, Element)]
    /// struct Flow {
    ///     density: f64,
    ///     speed: [f32; 2],
    /// }
    /// let fields = TileArray::<Flow, 3>::fields();
    /// assert_eq!((fields[0].name(), fields[0].number(), fields[0].bytes()), ("density", "f64", 8));
    /// assert_eq!((fields[1].name(), fields[1].number(), fields[1].shape()), ("speed", "f32", &[2][..]));
    /// assert_eq!(TileArray::<f64, 3>::fields()[0].name(), "");
    /// ```
    pub fn fields() -> Vec<Field> {
        fields_of(&T::TYPE)
    }
}

/// See [`TileArray::fields`].
pub(super) fn fields_of(element: &ElementType) -> Vec<Field> {
    let (mut fields, mut next) = (Vec::new(), 0);
    walk(element, "", &[], &mut next, &mut fields);
    fields
}

/// Adds the components of an element, which lies at `name` and in arrays of such `shape`, to its fields.
fn walk(element: &ElementType, name: &str, shape: &[usize], next: &mut usize, fields: &mut Vec<Field>) {
    let mut add = |scalar, complex| {
        let count = if complex { 2 } else { 1 };
        let components = *next..*next + count;
        *next += count;
        match fields.iter_mut().find(|field| field.name == name) {
            Some(field) => field.components.extend(components),
            None => {
                let (name, shape, components) = (name.to_owned(), shape.to_vec(), components.collect());
                fields.push(Field { name, scalar, complex, shape, components });
            }
        }
    };
    match element {
        ElementType::Scalar(scalar) => add(*scalar, false),
        ElementType::Struct { fields: [(_, ElementType::Scalar(part)), _], .. } if is_of_complex(element) => {
            add(*part, true);
        }
        ElementType::Array { element, len } => {
            let shape = [shape, &[*len]].concat();
            (0..*len).for_each(|_| walk(element, name, &shape, next, fields));
        }
        ElementType::Struct { fields: parts, .. } => {
            for (part, element) in *parts {
                let path = if name.is_empty() { (*part).to_owned() } else { format!("{name}.{part}") };
                walk(element, &path, shape, next, fields);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_go_to_the_field_that_they_belong_to() {
        const PART: &[(&str, ElementType)] = &[
            ("mass", ElementType::Scalar(ScalarType::F64)),
            ("place", ElementType::Array { element: &ElementType::Scalar(ScalarType::F32), len: 2 }),
        ];
        const TWO: ElementType =
            ElementType::Array { element: &ElementType::Struct { name: "Part", fields: PART }, len: 2 };
        let whole = ElementType::Struct {
            name: "Whole",
            fields: &[("step", ElementType::Scalar(ScalarType::U8)), ("parts", TWO)],
        };
        let (mut fields, mut next) = (Vec::new(), 0);
        walk(&whole, "", &[], &mut next, &mut fields);
        let all: Vec<_> = fields.iter().map(|f| (f.name(), f.number(), f.shape(), f.components())).collect();
        assert_eq!(next, whole.components());
        assert_eq!(
            all,
            [
                ("step", "u8", &[][..], &[0][..]),
                ("parts.mass", "f64", &[2], &[1, 4]),
                ("parts.place", "f32", &[2, 2], &[2, 3, 5, 6]),
            ]
        );
    }

    #[cfg(feature = "num-complex")]
    #[test]
    fn complex_numbers_are_one_field() {
        let fields = TileArray::<[num_complex::Complex32; 3], 1>::fields();
        let [field] = &fields[..] else { panic!("{fields:?}") };
        assert!(field.is_complex() && field.number() == "f32" && field.bytes() == 24);
        assert_eq!((field.shape(), field.components()), (&[3][..], &[0, 1, 2, 3, 4, 5][..]));
    }
}
