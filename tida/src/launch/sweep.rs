//! A sweep to launch, with its arrays where the commands of a stream find them.

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::plan::Goal;

use super::blocks::BlockList;
use super::capture::Captures;
use super::device::{DeviceArg, DeviceArgs, DeviceLaunch, OnDevice};
use super::native::NativeForm;
use super::prepare::Prepared;
use crate::device::core::DeviceCore;
use crate::device::plans::Hints;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::{Done, Queue};
use crate::program::colour::CellColour;
use crate::program::order::Order;

/// A sweep to launch: what is not its arguments.
pub(crate) struct SweepLaunch<'a> {
    pub prepared: &'a Arc<Prepared>,
    pub captures: &'a Captures,
    pub checked: bool,
    pub valid_only: u16,
    pub block: Option<[u32; 3]>,
    pub march: Option<u32>,
    pub cache: Hints,
    pub order: Option<Order>,
    pub colour: Option<CellColour>,
    pub native: NativeForm<'a>,
    /// The list that all its boxes are of.
    pub list: Option<&'a Arc<BlockList>>,
}

impl SweepLaunch<'_> {
    /// Puts the launches into a stream. `held` is kept until they are done.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    pub unsafe fn enqueue(
        self,
        queue: &Queue<'_>,
        args: SmallVec<[OnDevice<'_>; 8]>,
        boxes: &[(usize, GridBox<4>)],
        held: Arc<dyn Any + Send + Sync>,
    ) -> Result<Done, Error> {
        let (device, prepared) = (queue.device.clone(), self.prepared.clone());
        // SAFETY: handed on.
        let launched = unsafe { self.at(queue, args).enqueue(queue, boxes)? };
        Ok(Box::new(move || {
            let finished = launched.finish(&device, &prepared);
            drop(held);
            finished
        }))
    }
}

impl<'a> SweepLaunch<'a> {
    /// One of which nothing was asked but the kernel, which is proven.
    pub fn usual(prepared: &'a Arc<Prepared>, captures: &'a Captures, native: NativeForm<'a>) -> SweepLaunch<'a> {
        SweepLaunch {
            prepared,
            captures,
            checked: false,
            valid_only: 0,
            block: None,
            march: None,
            cache: Hints::default(),
            order: None,
            colour: None,
            native,
            list: None,
        }
    }

    /// The launch as the commands of `queue` find its arrays.
    pub fn at<'b: 'a>(self, queue: &'a Queue<'_>, args: SmallVec<[OnDevice<'b>; 8]>) -> DeviceLaunch<'a> {
        let placed = |arg: OnDevice<'b>| -> DeviceArg<'a> {
            let arg: DeviceArg<'a> = arg.0;
            arg.placed(queue)
        };
        self.on(queue.device, args.into_iter().map(placed).collect())
    }

    /// The launch with its arrays where they are.
    pub fn on(self, device: &DeviceCore, args: DeviceArgs<'a>) -> DeviceLaunch<'a> {
        DeviceLaunch {
            prepared: self.prepared,
            captures: self.captures,
            args,
            goal: Goal::Sweep,
            checked: self.checked,
            valid_only: self.valid_only,
            block: self.block,
            march: self.march.or(device.asked.march),
            cache: self.cache,
            order: self.order,
            colour: self.colour,
            fold: None,
            within: None,
            varied: None,
            without: device.asked.without,
            native: self.native,
            list: self.list,
        }
    }
}
