//! What a launch leaves on the device: the record of its faults, and what saturated of each array.

use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::emit::{FaultRecord, Param};

use super::device::{Commands, DeviceArg, DeviceLaunch, Held};
use super::prepare::{Prepared, fault_error};
use crate::backend::{Memory, Outcome};
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::memory::node::Queue;
use crate::memory::storage::Storage;

/// What a launch leaves: the record of its faults, if it can have any, and what must live until it is done.
#[derive(Debug, Default)]
pub(crate) struct Launched {
    fault: Option<Memory>,
    /// Arrays that count what saturates, by the place of their counter.
    counting: Counting,
    held: Held,
    /// How it ended in its native form.
    native: Option<Arc<Outcome>>,
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

    /// Where its native form says how it ended.
    pub fn natively(&mut self) -> Arc<Outcome> {
        self.native.get_or_insert_default().clone()
    }

    /// The record, if it has one.
    pub fn record(&self) -> Option<&Memory> {
        self.fault.as_ref()
    }

    /// Once the launch is done: the error of a fault that a cell raised.
    pub fn finish(self, device: &DeviceCore, prepared: &Prepared) -> Result<(), Error> {
        if let Some(native) = &self.native {
            native.take()?;
        }
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

impl DeviceLaunch<'_> {
    /// The arrays written that have formats.
    pub(crate) fn counting(&self) -> Counting {
        let written = self.args.iter().zip(&self.prepared.args).enumerate().filter(|(_, (_, plan))| plan.written);
        let coded = written.filter_map(|(n, (arg, _))| match arg {
            DeviceArg::Tiled(array) => {
                let coding = array.storage.coding().filter(|coding| coding.any());
                coding.map(|_| (n, array.storage.clone()))
            }
            _ => None,
        });
        coded.collect()
    }

    /// The same of so many steps in one launch, by step: they write the two arrays in turn.
    pub(crate) fn counting_steps(&self, steps: usize) -> Counting {
        let Some(of) = &self.prepared.steps else { return Counting::new() };
        let pair = [of.pair.0, of.pair.1].map(|arg| match self.args.get(arg) {
            Some(DeviceArg::Tiled(array)) => Some(array.storage.clone()),
            _ => None,
        });
        (0..steps).filter_map(|step| Some((step, pair[step % 2].clone()?))).collect()
    }
}
