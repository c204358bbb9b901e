//! What the two languages say differently.

use super::text::Text;
use crate::element::ScalarType;
use crate::plan::{Dialect, Math};

impl Dialect {
    /// What stands before a function that kernels call.
    pub(super) fn device(self) -> &'static str {
        match self {
            Dialect::Cuda => "static __device__",
            Dialect::OpenCl => "static",
        }
    }

    /// A pointer to memory of the device: `const f64*`.
    pub(super) fn pointer(self, to: &str, written: bool) -> String {
        let space = if self == Dialect::OpenCl { "__global " } else { "" };
        format!("{space}{}{to}*", if written { "" } else { "const " })
    }

    /// The same where no other pointer reaches what it points to.
    pub(super) fn restricted(self, to: &str, written: bool) -> String {
        let word = if self == Dialect::OpenCl { "restrict" } else { "__restrict__" };
        format!("{} {word}", self.pointer(to, written))
    }

    /// What stands before the name of the entry, of which a processor should have room for so many blocks.
    pub(super) fn entry(self, block: [u32; 3], blocks: u32) -> String {
        let [x, y, z] = block;
        let blocks = if blocks > 1 { format!(", {blocks}") } else { String::new() };
        match self {
            Dialect::Cuda => format!("extern \"C\" __global__ void __launch_bounds__({}{blocks})", x * y * z),
            Dialect::OpenCl => format!("__kernel __attribute__((reqd_work_group_size({x}, {y}, {z}))) void"),
        }
    }

    /// Number of the block along an axis of the grid.
    pub(super) fn block(self, axis: usize) -> String {
        match self {
            Dialect::Cuda => format!("blockIdx.{}", ["x", "y", "z"][axis]),
            Dialect::OpenCl => format!("get_group_id({axis})"),
        }
    }

    /// Number of the thread in its block along an axis.
    pub(super) fn thread(self, axis: usize) -> String {
        match self {
            Dialect::Cuda => format!("threadIdx.{}", ["x", "y", "z"][axis]),
            Dialect::OpenCl => format!("get_local_id({axis})"),
        }
    }

    /// Number of the thread in the grid along an axis where blocks have `size` threads.
    pub(super) fn place(self, axis: usize, size: u32) -> String {
        match (self, size) {
            (Dialect::OpenCl, _) => format!("get_global_id({axis})"),
            (Dialect::Cuda, 1) => self.block(axis),
            (Dialect::Cuda, _) => format!("{} * {size} + {}", self.block(axis), self.thread(axis)),
        }
    }

    /// Memory that the threads of a block share.
    pub(super) fn shared(self) -> &'static str {
        match self {
            Dialect::Cuda => "__shared__",
            Dialect::OpenCl => "__local",
        }
    }

    /// Waits for the threads of the block.
    pub(super) fn barrier(self) -> &'static str {
        match self {
            Dialect::Cuda => "__syncthreads();",
            Dialect::OpenCl => "barrier(CLK_LOCAL_MEM_FENCE);",
        }
    }

    fn scalar(self, ty: ScalarType) -> &'static str {
        match (self, ty) {
            (_, ScalarType::Bool) => "bool",
            // A plain `char` of CUDA may be unsigned.
            (_, ScalarType::I8) => "signed char",
            (_, ScalarType::U8) => "unsigned char",
            (_, ScalarType::I16) => "short",
            (_, ScalarType::U16) => "unsigned short",
            (_, ScalarType::I32) => "int",
            (_, ScalarType::U32) => "unsigned int",
            (Dialect::Cuda, ScalarType::I64) => "long long",
            (Dialect::Cuda, ScalarType::U64) => "unsigned long long",
            (Dialect::OpenCl, ScalarType::I64) => "long",
            (Dialect::OpenCl, ScalarType::U64) => "unsigned long",
            (_, ScalarType::F32) => "float",
            (_, ScalarType::F64) => "double",
        }
    }

    /// What has to stand before `rest`: pragmas, and the types it names.
    pub(super) fn prelude(self, math: Math, rest: &Text) -> Text {
        let mut text = Text::default();
        if self == Dialect::OpenCl {
            if rest.has_word("f64") {
                text.line("#pragma OPENCL EXTENSION cl_khr_fp64 : enable");
            }
            let contract = if math == Math::Exact { "OFF" } else { "ON" };
            text.line(format!("#pragma OPENCL FP_CONTRACT {contract}"));
        }
        // `bool` has this name in both languages.
        let named = |ty: &&ScalarType| **ty != ScalarType::Bool && rest.has_word(ty.name());
        for ty in ScalarType::ALL.iter().filter(named) {
            text.line(format!("typedef {} {};", self.scalar(*ty), ty.name()));
        }
        text.line("");
        text
    }
}
