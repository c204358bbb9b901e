//! Arrays with formats: in which each component is kept, where as codes, and what is said of values that saturate.
//!
//! Memory holds codes on the host and on devices alike, so that what moves bytes (transfers, ghosts copied from other
//! cells, windows of chains) moves fewer of them and knows nothing of formats. What gives values a meaning decodes and
//! encodes: kernels, host access, ghosts that are computed. See [decision
//! 0020](../../../docs/decisions/0020-storage.md).

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use tida_kernels::codec::{Codec, Format};
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::ir::Coded;
use tida_kernels::scalar::Value;

use super::element::{Element, Place};

/// What happens when a value is written that the array's [`Format`] cannot hold: one outside its range, or a finite one
/// beyond the largest of a float format. The array then holds the nearest value that the format has, in any case.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let builder = TileArray::<f32, 1>::builder([2]).storage(Format::Range { bits: 8, min: 0.0, max: 1.0 });
/// let mut strict = builder.build(&acc)?;
/// assert_eq!(strict.fill_value(3.0).unwrap_err().kind(), ErrorKind::OutOfRange);
/// let mut counting = builder.saturation(Saturation::Warn).build(&acc)?;
/// counting.fill_value(3.0)?;
/// assert_eq!(counting.storage_report()?.saturated, 2);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Saturation {
    /// What wrote it fails: an error at the next host access, as of a kernel that divides by zero.
    #[default]
    Error,
    /// It is counted, and a warning (by `tracing`) says so at the next host access.
    Warn,
    /// It is not even counted. Kernels then have no counter.
    Ignore,
}

/// Where an array takes fewer bits. Its values are the same either way, bit for bit: those that its formats have.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let builder = TileArray::<f64, 1>::builder([4]).storage(Format::F32);
/// let (everywhere, link) = (builder.build(&acc)?, builder.compress(Compress::Link).build(&acc)?);
/// assert_eq!(everywhere.storage_report()?.stored_bytes, 4);
/// assert_eq!(link.storage_report()?.stored_bytes, 8);
/// assert_eq!(link.storage_report()?.link_bytes, 4);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Compress {
    /// Memory of the host and of devices holds codes, and so does what moves between them. Kernels decode what they
    /// load and encode what they store. For arrays that should take less memory, and kernels that wait for it.
    #[default]
    Device,
    /// Memory holds values, and only what moves between host and device is packed: as codes, where components have a
    /// format, and without loss otherwise. Kernels load values as they are, and round what they store. For arrays that
    /// fit, but stream through the link, and kernels that read each value often.
    Link,
}

/// What an array's formats cost and what they change (see
/// [`TileArray::storage_report`](crate::TileArray::storage_report)). Sizes are in bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StorageReport {
    /// By component: its format's name, and the most that a value in range changes by.
    pub components: Vec<ComponentReport>,
    /// Values written that the formats cannot hold, so far. Kernels count those of [`Saturation::Ignore`] not at all.
    pub saturated: u64,
    /// Where it takes fewer bits.
    pub compress: Compress,
    /// Bytes of a cell in memory.
    pub stored_bytes: usize,
    /// Bytes of a cell on the link between host and device; of [`Compress::Link`] those of its formats, where values
    /// without one may take fewer.
    pub link_bytes: usize,
    /// Bytes of a cell as it is computed with.
    pub raw_bytes: usize,
}

/// One component of a [`StorageReport`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComponentReport {
    /// The path of fields that leads to it; empty for a scalar.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// The most that a value in range changes by: half a cell of a range; 0 otherwise.
    pub absolute: f64,
    /// The same, relative to the value (of normal numbers): half a unit in the last place of a float format; 0
    /// otherwise.
    pub relative: f64,
}

/// Relative errors of one array against another (see
/// [`TileArray::storage_report_against`](crate::TileArray::storage_report_against)).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct StorageErrors {
    /// The largest difference.
    pub max_absolute: f64,
    /// The largest relative error.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
    /// The geometric mean of those that are not 0.
    pub geometric_mean: f64,
    /// Values compared: those of the reference that are neither 0 nor NaN nor infinite.
    pub values: u64,
}

/// How the components of an array are kept.
#[derive(Debug)]
pub(crate) struct Coding {
    /// The element with the types of codes.
    pub codes: ElementType,
    /// The element.
    pub value: ElementType,
    pub formats: Vec<Format>,
    pub codecs: Vec<Option<Codec>>,
    pub saturation: Saturation,
    pub compress: Compress,
    /// By component: bytes of those before it, as kept and as values.
    before: Vec<(usize, usize)>,
}

/// Values of a row that are decoded at once.
pub(crate) const CHUNK: usize = 64;

impl Coding {
    pub fn new(
        value: ElementType,
        formats: Vec<Format>,
        codecs: Vec<Option<Codec>>,
        (saturation, compress): (Saturation, Compress),
    ) -> Coding {
        let types = value.component_types();
        let kept: Vec<ScalarType> =
            types.iter().zip(&codecs).map(|(ty, codec)| codec.map_or(*ty, |codec| codec.code())).collect();
        let mut ends = (0, 0);
        let mut before = Vec::with_capacity(kept.len());
        for (code, ty) in kept.iter().zip(&types) {
            before.push(ends);
            ends = (ends.0 + code.size(), ends.1 + ty.size());
        }
        Coding { codes: stored(&value, &kept), value, formats, codecs, saturation, compress, before }
    }

    /// What memory holds of an element.
    pub fn element(&self) -> ElementType {
        if self.packs() { self.value } else { self.codes }
    }

    /// Whether memory holds values, and what moves between host and device is packed.
    pub fn packs(&self) -> bool {
        self.compress == Compress::Link
    }

    /// Whether some component has a format.
    pub fn any(&self) -> bool {
        self.codecs.iter().any(Option::is_some)
    }

    /// Whether memory holds values that a store rounds.
    pub fn rounds(&self) -> bool {
        self.packs() && self.any()
    }

    /// Whether memory of both holds the same for the same values.
    pub fn same(&self, other: &Coding) -> bool {
        self.codecs == other.codecs && self.packs() == other.packs()
    }

    /// The same for the kernel compiler, if some component has a format.
    pub fn for_kernels(&self, written: bool) -> Option<Coded> {
        let (counted, rounded) = (written && self.saturation != Saturation::Ignore, self.packs());
        self.any().then(|| Coded { element: self.element(), codecs: self.codecs.clone(), counted, rounded })
    }

    /// Whether a kernel does more to such an argument than to one without formats.
    pub fn changes(&self, written: bool) -> bool {
        self.any() && (written || !self.packs())
    }

    pub fn components(&self) -> usize {
        self.codecs.len()
    }

    /// The codec of a component.
    pub fn codec(&self, component: usize) -> Option<&Codec> {
        self.codecs.get(component).and_then(Option::as_ref)
    }

    /// Bytes of the components before one, as kept and as values.
    pub fn before(&self, component: usize) -> (usize, usize) {
        self.before[component]
    }

    /// Decodes `n` codes of a component that lie side by side.
    ///
    /// # Safety
    /// `codes` and `values` are valid for so many of the component's codes and values, aligned for them.
    #[inline(always)]
    pub unsafe fn decode(&self, component: usize, codes: *const u8, values: *mut u8, n: usize) {
        let Some(codec) = self.codec(component) else {
            let (from, to) = (codes, values);
            let size = self.size(component);
            // SAFETY: the caller's promise; a component without a codec is as large kept as it is as a value.
            return unsafe { std::ptr::copy_nonoverlapping(from, to, n * size) };
        };
        // SAFETY: the caller's promise, for the types that the codec says.
        unsafe {
            match (codec.value(), codec.code()) {
                (ScalarType::F32, ScalarType::U8) => codec.decode_f32(list::<u8>(codes, n), list_mut(values, n)),
                (ScalarType::F32, ScalarType::U16) => codec.decode_f32(list::<u16>(codes, n), list_mut(values, n)),
                (ScalarType::F32, _) => codec.decode_f32(list::<u32>(codes, n), list_mut(values, n)),
                (_, ScalarType::U8) => codec.decode_f64(list::<u8>(codes, n), list_mut(values, n)),
                (_, ScalarType::U16) => codec.decode_f64(list::<u16>(codes, n), list_mut(values, n)),
                (_, _) => codec.decode_f64(list::<u32>(codes, n), list_mut(values, n)),
            }
        }
    }

    /// Encodes `n` values of a component; gives how many saturated.
    ///
    /// # Safety
    /// As [`Coding::decode`].
    #[inline(always)]
    pub unsafe fn encode(&self, component: usize, values: *const u8, codes: *mut u8, n: usize) -> u64 {
        let Some(codec) = self.codec(component) else {
            let (from, to) = (values, codes);
            let size = self.size(component);
            // SAFETY: as in `decode`.
            unsafe { std::ptr::copy_nonoverlapping(from, to, n * size) };
            return 0;
        };
        // SAFETY: the caller's promise, for the types that the codec says.
        unsafe {
            match (codec.value(), codec.code()) {
                (ScalarType::F32, ScalarType::U8) => codec.encode_f32(list(values, n), list_mut::<u8>(codes, n)),
                (ScalarType::F32, ScalarType::U16) => codec.encode_f32(list(values, n), list_mut::<u16>(codes, n)),
                (ScalarType::F32, _) => codec.encode_f32(list(values, n), list_mut::<u32>(codes, n)),
                (_, ScalarType::U8) => codec.encode_f64(list(values, n), list_mut::<u8>(codes, n)),
                (_, ScalarType::U16) => codec.encode_f64(list(values, n), list_mut::<u16>(codes, n)),
                (_, _) => codec.encode_f64(list(values, n), list_mut::<u32>(codes, n)),
            }
        }
    }

    /// Rounds `n` values of a component that lie side by side to those that its format has; gives how many saturated.
    ///
    /// # Safety
    /// `values` are so many of the component's values, aligned for them.
    #[inline(always)]
    pub unsafe fn round(&self, component: usize, values: *mut u8, n: usize) -> u64 {
        if self.codec(component).is_none() {
            return 0;
        }
        let (mut codes, mut saturated) = ([0u64; CHUNK / 2], 0);
        let (codes, size) = (codes.as_mut_ptr().cast::<u8>(), self.size(component));
        for first in (0..n).step_by(CHUNK) {
            let (at, n) = (values.wrapping_add(first * size), CHUNK.min(n - first));
            // SAFETY: the caller's promise; there is room for CHUNK codes of 4 bytes, the largest.
            unsafe {
                saturated += self.encode(component, at, codes, n);
                self.decode(component, codes, at, n);
            }
        }
        saturated
    }

    /// The value nearest to 0 of a component, if that is another one: what memory that no one wrote is to hold.
    pub fn zero(&self, component: usize) -> Option<Value> {
        let zero = self.codec(component)?.decode(0);
        (zero.bits() != 0).then_some(zero)
    }

    /// Bytes of a value of a component.
    pub fn size(&self, component: usize) -> usize {
        let end = self.before.get(component + 1).map_or(self.value.bytes(), |(_, values)| *values);
        end - self.before[component].1
    }

    /// Bytes of a code of a component.
    pub fn code_size(&self, component: usize) -> usize {
        let end = self.before.get(component + 1).map_or(self.codes.bytes(), |(codes, _)| *codes);
        end - self.before[component].0
    }

    /// The bits of each component of a value, as memory holds them, from those that it [has](component_bits).
    pub fn bits(&self, value: &[u64]) -> Vec<u64> {
        let of = |(component, bits): (usize, &u64)| {
            let mut value = 0u64;
            // SAFETY: there is room for one value of the component, of 8 bytes at most, which is then there.
            unsafe {
                let value: *mut u8 = (&raw mut value).cast();
                put_low_bits(value, self.size(component), *bits);
                self.bits_of(component, value)
            }
        };
        value.iter().enumerate().map(of).collect()
    }

    /// The bits of one value of a component, as memory holds them. It may change the value.
    ///
    /// # Safety
    /// `value` is one of the component's values, aligned for it.
    unsafe fn bits_of(&self, component: usize, value: *mut u8) -> u64 {
        let mut code = 0u64;
        // SAFETY: one value, and room for one of 8 bytes at most.
        unsafe {
            if self.packs() {
                self.round(component, value, 1);
                return low_bits(value, self.size(component));
            }
            let code: *mut u8 = (&raw mut code).cast();
            let _ = self.encode(component, value, code, 1);
            low_bits(code, self.code_size(component))
        }
    }
}

/// # Safety
/// As `slice::from_raw_parts`.
#[inline(always)]
unsafe fn list<'a, S>(first: *const u8, n: usize) -> &'a [S] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first.cast(), n) }
}

/// # Safety
/// As `slice::from_raw_parts_mut`.
#[inline(always)]
unsafe fn list_mut<'a, S>(first: *mut u8, n: usize) -> &'a mut [S] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(first.cast(), n) }
}

/// The bits of each component of a value that is kept as it is.
pub(crate) fn component_bits<T: Element>(value: T) -> Vec<u64> {
    let mut values = Values::<T>::new();
    values.put(0, value);
    // SAFETY: the planes are those of `T`.
    unsafe { first_bits(&const { T::TYPE }, values.plane(0)) }
}

/// The bits of each component of the first of up to [`CHUNK`] elements.
///
/// # Safety
/// `planes` are the planes of [`Values`] of this element.
unsafe fn first_bits(element: &ElementType, planes: *const u8) -> Vec<u64> {
    let first = |before: usize| planes.wrapping_add(before * CHUNK);
    // SAFETY: the plane of each component starts with its value, aligned for it.
    element.placed_components().map(|(ty, before)| unsafe { low_bits(first(before), ty.size()) }).collect()
}

/// The bits of a value of 1, 2, 4 or 8 bytes, zero-extended.
///
/// # Safety
/// There is such a value, aligned for its type.
unsafe fn low_bits(value: *const u8, size: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => value.read().into(),
            2 => value.cast::<u16>().read().into(),
            4 => value.cast::<u32>().read().into(),
            _ => value.cast::<u64>().read(),
        }
    }
}

/// Writes a value of 1, 2, 4 or 8 bytes that has these bits.
///
/// # Safety
/// There is room for it, aligned for its type.
unsafe fn put_low_bits(value: *mut u8, size: usize, bits: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => value.write(bits as u8),
            2 => value.cast::<u16>().write(bits as u16),
            4 => value.cast::<u32>().write(bits as u32),
            _ => value.cast::<u64>().write(bits),
        }
    }
}

/// Up to [`CHUNK`] decoded elements.
pub(crate) struct Values<T> {
    memory: Vec<u64>,
    marker: std::marker::PhantomData<T>,
}

impl<T: Element> Values<T> {
    pub fn new() -> Values<T> {
        let memory = vec![0; (T::TYPE.bytes() * CHUNK).div_ceil(8).max(1)];
        Values { memory, marker: std::marker::PhantomData }
    }

    /// The plane of the component that so many bytes of an element come before.
    pub fn plane(&mut self, before: usize) -> *mut u8 {
        self.memory.as_mut_ptr().cast::<u8>().wrapping_add(before * CHUNK)
    }

    /// The first `n` values of a component of type `f32` or `f64` that so many bytes of an element come before.
    pub fn each_float(&mut self, ty: ScalarType, before: usize, n: usize, mut take: impl FnMut(f64)) {
        let (plane, n) = (self.plane(before), n.min(CHUNK));
        // SAFETY: planes of CHUNK values each lie at a multiple of 64 times their size; all bits are numbers.
        unsafe {
            match ty {
                ScalarType::F32 => list::<f32>(plane, n).iter().for_each(|x| take((*x).into())),
                ScalarType::F64 => list::<f64>(plane, n).iter().for_each(|x| take(*x)),
                _ => {}
            }
        }
    }

    pub fn put(&mut self, n: usize, value: T) {
        let n = n.min(CHUNK - 1);
        // SAFETY: planes of CHUNK elements of every component, each at a multiple of 64 times its size.
        unsafe { T::place(self.memory.as_mut_ptr().cast(), CHUNK, n).store(value) };
    }

    pub fn get(&mut self, n: usize) -> T {
        let n = n.min(CHUNK - 1);
        // SAFETY: as for `put`; all zeros are valid values.
        unsafe { T::place(self.memory.as_mut_ptr().cast(), CHUNK, n).load() }
    }
}

/// The element whose components have these types. Made once for each, since types of elements live as long as the
/// program.
fn stored(element: &ElementType, types: &[ScalarType]) -> ElementType {
    type Known = HashMap<(ElementType, Vec<ScalarType>), ElementType>;
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    fn with(element: &ElementType, types: &mut &[ScalarType]) -> ElementType {
        match element {
            ElementType::Scalar(scalar) => match types.split_first() {
                Some((first, rest)) => {
                    *types = rest;
                    ElementType::Scalar(*first)
                }
                None => ElementType::Scalar(*scalar),
            },
            ElementType::Array { element: of, len } => {
                let (all, mut first) = (*types, *types);
                let made = with(of, &mut first);
                // All entries have the same formats.
                *types = all.get(element.components()..).unwrap_or_default();
                ElementType::Array { element: Box::leak(Box::new(made)), len: *len }
            }
            ElementType::Struct { name, fields } => {
                let fields: Vec<_> = fields.iter().map(|(name, field)| (*name, with(field, types))).collect();
                ElementType::Struct { name, fields: Vec::leak(fields) }
            }
        }
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut rest = types;
    *known.entry((*element, types.to_vec())).or_insert_with(|| with(element, &mut rest))
}

/// The path of fields to each component of an element.
pub(crate) fn paths(element: &ElementType) -> Vec<String> {
    walk_paths(element, false)
}

/// The same, with the numbers of entries of arrays as names: `speed.1`.
pub(crate) fn paths_of_entries(element: &ElementType) -> Vec<String> {
    walk_paths(element, true)
}

fn walk_paths(element: &ElementType, entries: bool) -> Vec<String> {
    fn walk(element: &ElementType, path: &str, entries: bool, out: &mut Vec<String>) {
        let part = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match element {
            ElementType::Scalar(_) => out.push(path.to_owned()),
            ElementType::Array { element, len } => (0..*len).for_each(|entry| {
                let of_entry = if entries { part(&entry.to_string()) } else { path.to_owned() };
                walk(element, &of_entry, entries, out);
            }),
            ElementType::Struct { fields, .. } => {
                fields.iter().for_each(|(name, field)| walk(field, &part(name), entries, out));
            }
        }
    }
    let mut out = Vec::new();
    walk(element, "", entries, &mut out);
    out
}
