//! A kernel's quotation with the values that it captured, and what tells kernels apart.

use std::any::TypeId;

use smallvec::SmallVec;
use tida_kernels::quote::{StaticFunction, StaticKernel};

use super::capture::{CapturedValue, Captures};

/// Tells kernels apart.
///
/// Each `kernel!` makes a closure of its own that does nothing, its marker. A closure's type is unlike every other, and
/// unlike itself in another instance of the generic function around it: the types and constants of that function are
/// part of it. An address would not do: what is equal may be merged, and a generic function's instances share their
/// statics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KernelId {
    /// A `kernel!` or a `group_kernel!`, by the type of its marker.
    Quoted(TypeId),
    /// A kernel made elsewhere, by its number.
    Foreign(u64),
}

impl KernelId {
    pub fn of<M: 'static>() -> KernelId {
        KernelId::Quoted(TypeId::of::<M>())
    }
}

/// A quotation with the values captured.
#[derive(Debug)]
pub(crate) struct Quoted {
    pub id: KernelId,
    pub kernel: &'static StaticKernel,
    /// Quotations of the methods that it calls.
    pub methods: SmallVec<[&'static StaticFunction; 2]>,
    pub captures: Captures,
    /// How many of them are constant tables, the last ones: no closure holds these.
    pub tables: usize,
}

impl Quoted {
    /// Adds the constant tables of the kernel that was made of it.
    pub fn take_tables(&mut self, tables: &[CapturedValue]) {
        self.captures.list.truncate(self.captures.list.len() - self.tables);
        self.captures.list.extend(tables.iter().cloned());
        self.tables = tables.len();
    }

    /// The values that the closure holds.
    pub fn held(&self) -> &[CapturedValue] {
        &self.captures.list[..self.captures.list.len() - self.tables]
    }
}
