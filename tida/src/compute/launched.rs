//! What a launch leaves on the device: the record of its faults, and what saturated of each array.

use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::emit::{FaultRecord, Param};

use super::device::{Commands, DeviceLaunch, Held};
use super::launch::fault_error;
use super::prepare::Prepared;
use crate::acc::device::DeviceCore;
use crate::acc::node::Queue;
use crate::array::storage::Storage;
use crate::backend::Memory;
use crate::error::Error;

/// What a launch leaves: the record of its faults, if it can have any, and what must live until it is done.
#[derive(Debug, Default)]
pub(crate) struct Launched {
    fault: Option<Memory>,
    /// Arrays that count what saturates, by the place of their counter.
    counting: Counting,
    held: Held,
}

/// Arrays that count what saturates, by the place of their counter: see [`FaultRecord::saturated`].
pub(crate) type Counting = SmallVec<[(usize, Arc<Storage>); 2]>;

impl Launched {
    /// What must live until the launch is done.
    pub fn held(&mut self) -> &mut Held {
        &mut self.held
    }

    /// Has a record for launches of a kernel that has one, which are put into a stream after that.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn counts(
        &mut self,
        launch: &DeviceLaunch<'_>,
        queue: &Queue<'_>,
        commands: &Commands,
        counting: impl FnOnce() -> Counting,
    ) -> Result<(), Error> {
        if commands.ready.source.params.contains(&Param::Fault) {
            self.fault = Some(queue.device.fault_record(queue.stream)?);
            if launch.prepared.analysis.counts {
                self.counting = counting();
            }
        }
        Ok(())
    }

    /// The record, if it has one.
    pub fn record(&self) -> Option<&Memory> {
        self.fault.as_ref()
    }

    /// Once the launch is done: the error of a fault that a cell raised.
    pub fn finish(self, device: &DeviceCore, prepared: &Prepared) -> Result<(), Error> {
        let Some(memory) = self.fault else { return Ok(()) };
        let mut record = FaultRecord::default();
        // SAFETY: the record has as many bytes, any of which make one; the launch that wrote it is done.
        let read = unsafe {
            let to = (&raw mut record).cast();
            device.download_now(&memory, 0, to, size_of::<FaultRecord>())
        };
        device.give_fault_record(memory);
        read?;
        for (place, storage) in &self.counting {
            let values = record.saturated.get(*place).copied().unwrap_or(0);
            storage.saturate(values.into(), || format!("run the kernel at {}", prepared.place()))?;
        }
        record.fault().map_or(Ok(()), |fault| Err(fault_error(fault, prepared).at_cell(record.cell)))
    }
}
