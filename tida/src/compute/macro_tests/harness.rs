//! Buffers that kernels run over, natively and by the interpreter.

use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::interp::{Memory, run_cell};
use tida_kernels::ir::{Access, Binding, Kernel, LowerInput, Type, lower};
use tida_kernels::quote::KernelTree;
use tida_kernels::scalar::Value;

use crate::compute::ask::{Answer, Ask, Pass, Run};
use crate::compute::view::{Checked, Proven, View, ViewMut};
use crate::grid::GridBox;
use crate::launch::capture::CapturedValue;
use crate::launch::quoted::Quoted;
use crate::memory::element::Element;
use crate::memory::layout::Raw;

/// A buffer of elements, one plane a component.
pub(super) struct Buffer<const D: usize> {
    pub(super) bytes: Vec<u64>,
    pub(super) cells: GridBox<D>,
}

impl<const D: usize> Buffer<D> {
    pub(super) fn new<T: Element>(cells: GridBox<D>) -> Self {
        Buffer { bytes: vec![0; cells.cells() * T::TYPE.bytes() / 8 + 1], cells }
    }

    pub(super) fn raw(&mut self) -> Raw<D> {
        let extent = self.cells.extent();
        let mut strides = [1; D];
        for d in (0..D - 1).rev() {
            strides[d] = strides[d + 1] * extent[d + 1];
        }
        Raw {
            base: self.bytes.as_mut_ptr().cast(),
            cells: self.cells.cells(),
            origin: self.cells.lo,
            strides,
            bounds: self.cells,
        }
    }

    pub(super) fn set<T: Element>(&mut self, values: &[T]) {
        use crate::memory::element::Place;
        let raw = self.raw();
        for (i, value) in values.iter().enumerate() {
            // SAFETY: the buffer has this many elements.
            unsafe { T::place(raw.base, raw.cells, i).store(*value) };
        }
    }

    pub(super) fn get<T: Element>(&mut self) -> Vec<T> {
        use crate::memory::element::Place;
        let raw = self.raw();
        // SAFETY: the buffer has this many elements.
        (0..raw.cells).map(|i| unsafe { T::place(raw.base, raw.cells, i).load() }).collect()
    }
}

pub(super) type Views2<A, B, const D: usize, M> = (ViewMut<A, D, M>, View<B, D, M>);

pub(super) fn quote_of<P, C, R, N, const D: usize>(kernel: &N) -> Quoted
where
    N: for<'b> Fn(Ask<'b, P, C, R, D>),
{
    let mut quote = None;
    kernel(Ask::Quote(Answer { quote: &mut quote }));
    quote.expect("a kernel answers")
}

/// The kernel as it is typed for these arguments.
pub(super) fn typed(quoted: &Quoted, rank: usize, args: &[(Access, ElementType)], result: Type) -> Kernel {
    let types = quoted.captures.list.iter().map(|c| match c {
        CapturedValue::Scalar(v) => Type::Scalar(v.ty()),
        CapturedValue::Array(ty, _) => Type::of_element(ty),
        CapturedValue::Deferred(later) => Type::Scalar(later.ty),
    });
    let args: Vec<_> =
        args.iter().map(|(access, element)| Binding { access: *access, element: *element, rank }).collect();
    let kernel = lower(&LowerInput {
        kernel: quoted.kernel,
        methods: &quoted.methods,
        rank,
        args: &args,
        captures: &types.collect::<Vec<_>>(),
        result: Some(result),
    });
    kernel.unwrap_or_else(|e| panic!("{e}"))
}

/// Runs over `cells`, proven and checked, and gives the quotation.
pub(super) fn run<A: Element, B: Element, N, const D: usize>(
    next: &mut Buffer<D>,
    u: &mut Buffer<D>,
    cells: GridBox<D>,
    kernel: N,
) -> Quoted
where
    N: for<'b> Fn(Ask<'b, Views2<A, B, D, Proven>, Views2<A, B, D, Checked>, (), D>) + Send + Sync + 'static,
{
    let quoted = quote_of(&kernel);
    let typed = typed(&quoted, D, &[(Access::Write, A::TYPE), (Access::Read, B::TYPE)], Type::unit());
    let pass = Pass::new(&quoted, &typed.numbers, false);
    let (a, b) = (next.raw(), u.raw());
    let before = next.bytes.clone();
    let before_run = before.clone();
    // SAFETY: the buffers are live and the tests index inside them.
    unsafe {
        let views: Views2<A, B, D, Proven> = (ViewMut::new(a, 0), View::new(b, 1));
        kernel(Ask::Proven(Run::new(&views, cells, std::ptr::NonNull::dangling().as_ptr(), &pass)));
    }
    let proven = std::mem::replace(&mut next.bytes, before);
    let a = next.raw();
    // SAFETY: as above.
    unsafe {
        let views: Views2<A, B, D, Checked> = (ViewMut::new(a, 0), View::new(b, 1));
        kernel(Ask::Checked(Run::new(&views, cells, std::ptr::NonNull::dangling().as_ptr(), &pass)));
    }
    assert_eq!(proven, next.bytes, "proven and checked forms differ");
    assert!(pass.check().is_ok());
    let native = std::mem::replace(&mut next.bytes, interpreted::<A, B, D>(&typed, &quoted, before_run, u, cells));
    assert_eq!(native, next.bytes, "native and quoted forms differ");
    quoted
}

/// The bytes of `next` after the interpreter has run the quotation over `cells`.
pub(super) fn interpreted<A: Element, B: Element, const D: usize>(
    kernel: &Kernel,
    quoted: &Quoted,
    next: Vec<u64>,
    u: &Buffer<D>,
    cells: GridBox<D>,
) -> Vec<u64> {
    let mut planes = Planes { args: vec![(next, A::TYPE), (u.bytes.clone(), B::TYPE)], cells: u.cells };
    let GridBox { lo, hi } = cells;
    let mut at = lo;
    'cells: loop {
        let outcome = run_cell(kernel, &scalars(quoted), &at, &mut planes, 100_000);
        assert!(matches!(outcome, Ok((ref values, None)) if values.is_empty()), "{outcome:?}");
        for d in (0..D).rev() {
            at[d] += 1;
            if at[d] < hi[d] {
                continue 'cells;
            }
            at[d] = lo[d];
        }
        return planes.args.swap_remove(0).0;
    }
}

/// Buffers as the interpreter's memory.
pub(super) struct Planes<const D: usize> {
    args: Vec<(Vec<u64>, ElementType)>,
    cells: GridBox<D>,
}

impl<const D: usize> Planes<D> {
    /// First byte and type of a component.
    fn place(&self, arg: usize, component: usize, index: &[i64]) -> Option<(usize, ScalarType)> {
        let index: [i64; D] = index.try_into().ok()?;
        if !self.cells.contains(index) {
            return None;
        }
        let types = self.args[arg].1.component_types();
        let before: usize = types[..component].iter().map(|t| t.size()).sum();
        let extent = self.cells.extent();
        let position = (0..D).fold(0, |p, d| p * extent[d] + (index[d] - self.cells.lo[d]) as usize);
        let ty = types[component];
        Some((before * self.cells.cells() + position * ty.size(), ty))
    }
}

impl<const D: usize> Memory for Planes<D> {
    fn load(&self, arg: usize, component: usize, index: &[i64]) -> Option<Value> {
        let (at, ty) = self.place(arg, component, index)?;
        let bytes = self.args[arg].0.iter().flat_map(|word| word.to_ne_bytes()).skip(at).take(ty.size());
        let mut word = [0; 8];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        Some(Value::from_bits(ty, u64::from_le_bytes(word)))
    }

    fn store(&mut self, arg: usize, component: usize, index: &[i64], value: Value) -> bool {
        let Some((at, ty)) = self.place(arg, component, index) else { return false };
        assert_eq!(value.ty(), ty);
        for (n, byte) in value.bits().to_le_bytes().iter().take(ty.size()).enumerate() {
            let word = &mut self.args[arg].0[(at + n) / 8];
            let mut bytes = word.to_ne_bytes();
            bytes[(at + n) % 8] = *byte;
            *word = u64::from_ne_bytes(bytes);
        }
        true
    }
}

pub(super) fn tree(quoted: &Quoted) -> KernelTree {
    KernelTree::decode(quoted.kernel.tree).expect("a tree")
}

pub(super) fn scalars(quoted: &Quoted) -> Vec<Value> {
    quoted.captures.values()
}
