//! What the macros' expansions name. Not part of the API.

pub use std::{assert, file, line, unreachable};

pub use tida_derive::{group_kernel, kernel};
pub use tida_kernels::element::{ElementType, ScalarType};
pub use tida_kernels::quote::{StaticFunction, StaticKernel};
pub use tida_kernels::scalar::ops;

pub use crate::compute::apart::{apart, nothing};
pub use crate::compute::args::Views;
pub use crate::compute::ask::{Answer, Ask, Run, body, each, give};
pub use crate::compute::block::{
    blocks, cell, columns, each_block, lane, lanes, near_block, near_row, near_turns, put, put_lane, rows, turns,
};
pub use crate::compute::both::{and, choose, or};
pub use crate::compute::function::{KernelFn, call, methods_of, numbers_of};
pub use crate::compute::groups::native::{
    AskGroups, Group, RunGroups, each_group, group_body, group_channel, group_fetch, group_len, group_shared, keep,
    kept_of, phase, phase_around, private,
};
pub use crate::compute::method::{HasMethod, KernelMethod, Method, invoke, method, names, quotation, receiver};
pub use crate::compute::number::{literal, type_of, typed};
pub use crate::compute::real::wide;
pub use crate::compute::stage::{NoReads, Reads};
pub use crate::compute::view::{Checked, Proven, ReadView, WriteView, get, read, set, write};
pub use crate::launch::capture::{PlainValue, capture, constant, described, value};
pub use crate::memory::element::bytes;
pub use crate::memory::element::{Derefs, Element, NotDeref, Place, Values, component, field, load, store};

/// The scalar types, whatever their names mean where a kernel stands.
pub mod primitive {
    pub use std::primitive::{bool, f32, f64, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize};
}

/// What the tests of the suite compare kernels by.
pub mod inner {
    use tida_kernels::analysis::Analysis;
    use tida_kernels::ir::Kernel;
    use tida_kernels::scalar::Value;

    use crate::Explanation;

    /// The typed kernel.
    pub fn kernel(of: &Explanation) -> &Kernel {
        of.kernel()
    }

    /// What it reads and writes.
    pub fn analysis(of: &Explanation) -> &Analysis {
        of.analysis()
    }

    /// The captured scalars, arrays one entry after the other; a deferred scalar is 0.
    pub fn captures(of: &Explanation) -> &[Value] {
        of.captures()
    }
}

macro_rules! plain {
    ($($name:ident)*) => {
        /// What the names of functions called stand for where these are no `#[kernel_fn]`s.
        #[allow(non_camel_case_types)]
        pub mod plain {$(
            /// A plain function.
            #[derive(Debug)]
            pub struct $name;
        )*}
    };
}

plain! {
    __tida_fn0 __tida_fn1 __tida_fn2 __tida_fn3 __tida_fn4 __tida_fn5 __tida_fn6 __tida_fn7
    __tida_fn8 __tida_fn9 __tida_fn10 __tida_fn11 __tida_fn12 __tida_fn13 __tida_fn14 __tida_fn15
}
