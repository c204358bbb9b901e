//! Tensor maps, by which blocks fetch boxes of an array (TMA).

use std::ptr;

use super::{Context, address, sys};
use crate::backend::{MapShape, Memory, TensorMap};

impl Context {
    /// See [`Backend::tensor_map`](crate::backend::Backend::tensor_map).
    pub fn tensor_map(&self, memory: &Memory, at: usize, shape: &MapShape) -> Option<TensorMap> {
        let encode = self.enter().ok()?.cuTensorMapEncodeTiled?;
        // The bits as they are, whatever they mean.
        let ty = match shape.size {
            4 => sys::CU_TENSOR_MAP_DATA_TYPE_UINT32,
            8 => sys::CU_TENSOR_MAP_DATA_TYPE_UINT64,
            _ => return None,
        };
        let MapShape { cells, strides, held, .. } = shape;
        let axes = cells.len();
        let last = cells
            .iter()
            .skip(1)
            .zip(strides)
            .try_fold(cells.first()?.checked_mul(shape.size as u64)?, |end, (n, step)| {
                end.checked_add(n.checked_sub(1)?.checked_mul(*step)?)
            })?;
        let room = memory.bytes().checked_sub(at)? as u64;
        if !(1..=5).contains(&axes) || strides.len() + 1 != axes || held.len() != axes || last > room {
            return None;
        }
        let (steps, mut map) = ([1u32; 5], TensorMap([0; 128]));
        // SAFETY: the map has 128 bytes at a multiple of 128; there are as many extents, boxes and steps as axes, and a
        // stride less. The driver looks at nothing behind the address, and says so where it takes no such map.
        let code = unsafe {
            encode(
                (&raw mut map).cast(),
                ty,
                axes as u32,
                ptr::without_provenance_mut(address(memory, at) as usize),
                cells.as_ptr(),
                strides.as_ptr(),
                held.as_ptr(),
                steps.as_ptr(),
                sys::CU_TENSOR_MAP_INTERLEAVE_NONE,
                sys::CU_TENSOR_MAP_SWIZZLE_NONE,
                sys::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                sys::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        self.ignore("cuTensorMapEncodeTiled", code);
        (code == 0).then_some(map)
    }
}
