//! Tensor maps of what a kernel walks: whether an argument can have one, and the map that a launch is given.

use smallvec::SmallVec;
use tida_kernels::plan::Plan;
use tida_kernels::plan::cache::Cache;
use tida_kernels::plan::maps::Map;

use super::device::{DeviceArg, DeviceLaunch};
use crate::backend::{Facts, MapShape, TensorMap};
use crate::device::core::DeviceCore;
use crate::error::Error;

/// Bytes of which strides and starts are multiples.
const STEP: u64 = 16;

/// The maps of a launch, by argument.
pub(super) type Maps = SmallVec<[(u32, TensorMap); 2]>;

impl DeviceLaunch<'_> {
    /// How an argument is cached where it is asked to be by a tensor map.
    pub(super) fn by_map(&self, facts: &Facts, arg: usize) -> Cache {
        // Of any box: whether the tile can be one is found from the plan.
        let any = |rank: usize, components: usize, size: usize| Map {
            arg,
            components,
            size,
            extent: vec![1; rank],
            boxes: 1,
        };
        let held = match self.args.get(arg) {
            Some(DeviceArg::Whole(array, rank)) if facts.maps => {
                let types = array.element.component_types();
                types.first().is_some_and(|ty| self.map_shape(&any(*rank, types.len(), ty.size())).is_some())
            }
            _ => false,
        };
        if held { Cache::Tma } else { Cache::Preload }
    }

    /// Where an argument's only region starts in its memory, and its shape to a map; none if it cannot have one.
    fn map_shape(&self, map: &Map) -> Option<(usize, MapShape)> {
        let Some(DeviceArg::Whole(array, rank)) = self.args.get(map.arg) else { return None };
        let [region] = array.as_whole().regions.as_slice() else { return None };
        if array.ring.is_some() || map.extent.len() != *rank || !(array.start(0) as u64).is_multiple_of(STEP) {
            return None;
        }
        let bytes = |values: i64| u64::try_from(values).ok()?.checked_mul(map.size as u64);
        let mut shape = MapShape { size: map.size, ..MapShape::default() };
        let mut last = 0;
        for axis in (4 - rank..4).rev() {
            let cells = region.grown.hi[axis].checked_sub(region.origin[axis]).filter(|cells| *cells > 0)?;
            // Coordinates have 32 bits.
            shape.cells.push(i32::try_from(cells).ok()?.unsigned_abs().into());
            last += (cells - 1).checked_mul(region.strides[axis])?;
            if axis < 3 {
                shape.strides.push(bytes(region.strides[axis])?);
            }
        }
        shape.held.extend(map.extent.iter().rev().map(|cells| *cells as u32));
        if map.components > 1 {
            shape.cells.push(map.components as u64);
            shape.strides.push(bytes(region.cells)?);
            shape.held.push(1);
        }
        let fits =
            last < region.cells && region.strides[3] == 1 && shape.strides.iter().all(|step| step.is_multiple_of(STEP));
        fits.then(|| (array.start(0), shape))
    }

    /// The maps that a plan asks for. What the driver gives none for is fetched by threads from then on.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub(super) fn maps(&self, device: &DeviceCore, plan: &mut Plan) -> Result<Maps, Error> {
        let mut maps = Maps::new();
        if !plan.cache.iter().any(|cached| cached.how == Cache::Tma) {
            return Ok(maps);
        }
        for map in self.prepared.sharing.maps(&self.prepared.kernel, plan) {
            let Some(DeviceArg::Whole(array, _)) = self.args.get(map.arg) else { continue };
            let memory = array.storage.device_memory(device)?;
            let found = self.map_shape(&map).and_then(|(at, shape)| device.backend().tensor_map(&memory, at, &shape));
            match found {
                Some(found) => maps.push((map.arg as u32, found)),
                None => {
                    let mine = plan.cache.iter_mut().filter(|cached| usize::from(cached.arg) == map.arg);
                    mine.for_each(|cached| cached.how = Cache::Preload);
                }
            }
        }
        Ok(maps)
    }
}
