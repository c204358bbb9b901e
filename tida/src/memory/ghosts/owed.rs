//! Ghosts that are filled once someone reads them. On a device, a sweep that can reads the cells instead whose values
//! they are to have. On the host, chains of planes leave ghosts to who touches the array next.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tida_kernels::plan::fuse::Face;
use tida_kernels::plan::ghosts::Beyond;

use super::super::layout::WideRegion;
use super::super::storage::Storage;
use super::device::DeviceCopies;
use super::planes::{FaceKinds, Planar};
use super::regions::Regional;
use crate::backend::Event;
use crate::device::core::DeviceCore;
use crate::device::timeline::{Label, SpanKind, host_span};
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::{DeviceWork, Done, Queue};
use crate::memory::tracker::{Mode, Tracker};

/// A fill of the ghosts of an array on the device that no one has needed so far.
#[derive(Debug)]
pub(crate) struct Owed {
    /// The cells that they take their values from: all of the array.
    pub domain: GridBox<4>,
    /// Beyond the faces along four axes.
    pub faces: [[Beyond; 2]; 4],
    ghosts: Arc<Regional>,
    recorded: &'static Location<'static>,
}

/// What is known of the ghosts of an array that no one has needed so far. On the device it changes in the order in
/// which commands are put into streams.
#[derive(Debug, Default)]
pub(crate) struct OwedGhosts {
    state: Mutex<State>,
    /// The host lacks ghosts too; others look here first.
    on_host: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    owed: Option<Arc<Owed>>,
    /// What brings strips that the fill reads, and its stream.
    strips: Option<(usize, Arc<dyn Event>)>,
    /// A fill, and its stream, while it may be under way: work that reads the array alone is not ordered with it.
    coming: Option<(usize, Arc<dyn Event>)>,
    /// A fill on the host: a chain of planes has filled the ghosts that it needed, in its windows.
    on_host: Option<(Arc<Regional>, &'static Location<'static>)>,
    /// What the fills use: as long as the array's memory is there.
    #[allow(dead_code)] // held
    copies: Option<Arc<DeviceCopies>>,
}

impl Owed {
    /// Those of an array, if each ghost that changes has the value of one cell.
    pub(crate) fn of(planar: &Planar, recorded: &'static Location<'static>) -> Option<Owed> {
        let (domain, regional) = (planar.facts().domain(), &planar.regional);
        let faces = faces(&regional.layout.regions, &planar.facts().faces, &domain)?;
        let owed = Owed { domain, faces, ghosts: regional.clone(), recorded };
        owed.has_some().then_some(owed)
    }

    /// The same of a part of an array: its cells, and what lies beyond its borders, are in memory. There may
    /// be nothing to fill.
    pub(crate) fn of_part(regional: &Arc<Regional>, recorded: &'static Location<'static>) -> Option<Owed> {
        let [region] = regional.layout.regions.as_slice() else { return None };
        let domain = region.valid;
        let faces = faces(&regional.layout.regions, regional.part.as_ref()?, &domain)?;
        Some(Owed { domain, faces, ghosts: regional.clone(), recorded })
    }
}

impl Owed {
    /// Whether the array has one region.
    pub(crate) fn is_of_one_region(&self) -> bool {
        self.ghosts.layout.regions.len() == 1
    }

    /// All ghosts of a part, with its region.
    pub(crate) fn ghosts_around(&self) -> Arc<[(usize, GridBox<4>)]> {
        let beyond = |(number, region): (usize, &WideRegion)| {
            let (valid, grown) = (region.valid, region.grown);
            (0..4).flat_map(move |axis| {
                let (mut low, mut high) = (grown, grown);
                (low.hi[axis], high.lo[axis]) = (valid.lo[axis], valid.hi[axis]);
                [(number, low), (number, high)]
            })
        };
        let all = self.ghosts.layout.regions.iter().enumerate().flat_map(beyond);
        all.filter(|(_, cells)| !cells.is_empty()).collect()
    }

    /// Whether there is a ghost to fill.
    pub(crate) fn has_some(&self) -> bool {
        self.faces.iter().flatten().any(|beyond| beyond.layers > 0)
    }
}

impl OwedGhosts {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage {
    /// Leaves a fill of the array's ghosts on the device to who reads them. The caller keeps other work away until its
    /// place in the order of commands.
    pub(crate) fn owe_ghosts(&self, owed: &Arc<Owed>) {
        let mut state = self.owed().lock();
        (state.owed, state.strips, state.coming) = (Some(owed.clone()), None, None);
    }

    /// The same of a fill that reads strips: the last command of this stream brings them.
    ///
    /// # Errors
    /// What the device refuses.
    pub(crate) fn owe_ghosts_after(&self, owed: &Arc<Owed>, queue: &Queue<'_>) -> Result<(), Error> {
        let event = queue.device.backend().mark(queue.stream)?;
        queue.device.backend().flush(queue.stream)?;
        self.owe_ghosts(owed);
        self.owed().lock().strips = Some((queue.stream, event));
        Ok(())
    }

    /// Leaves a fill of the array's ghosts on the host, which has the newest values of all regions, to who touches the
    /// array next; or to nobody. The caller keeps other work away.
    pub(crate) fn owe_ghosts_on_host(&self, fill: Option<(&Arc<Regional>, &'static Location<'static>)>) {
        let mut state = self.owed().lock();
        state.on_host = fill.map(|(ghosts, recorded)| (ghosts.clone(), recorded));
        self.owed().on_host.store(fill.is_some(), Ordering::Release);
    }

    /// Whether the host's ghosts are owed.
    pub(crate) fn owes_on_host(&self) -> bool {
        self.owed().on_host.load(Ordering::Acquire)
    }

    /// Does the fill that is owed on the host. All that touch the array come after this, but for chains of planes and
    /// those that read its cells where they are.
    pub(crate) fn fill_owed_on_host(&self, device: &DeviceCore) {
        if !self.owes_on_host() {
            return;
        }
        // Who comes meanwhile waits until it is done.
        let mut state = self.owed().lock();
        if let Some((ghosts, recorded)) = state.on_host.take() {
            let label = Label { name: "fill_ghosts", recorded };
            host_span(device.timeline.as_deref(), label, || {
                self.unpack_all();
                (0..self.regions()).for_each(|region| self.touch_host(region));
                // SAFETY: it is the fill of this array. Whoever writes it has been here before, so nobody does.
                unsafe { ghosts.fill_apart(self) };
            });
        }
        self.owed().on_host.store(false, Ordering::Release);
    }

    /// The ghosts that are owed.
    pub(crate) fn owed_ghosts(&self) -> Option<Arc<Owed>> {
        self.owed().lock().owed.clone()
    }

    /// The ghosts that are owed, if any are; nothing while a fill may be under way.
    pub(crate) fn settled_ghosts(&self) -> Option<Option<Arc<Owed>>> {
        let mut state = self.owed().lock();
        if state.coming.as_ref().is_some_and(|(_, event)| event.is_done()) {
            state.coming = None;
        }
        state.coming.is_none().then(|| state.owed.clone())
    }

    /// No one is to read the array's ghosts before all of them are filled again. The caller keeps other work away.
    pub(crate) fn forget_ghosts(&self) {
        let mut state = self.owed().lock();
        (state.owed, state.coming) = (None, None);
    }

    /// Puts the fill that is owed into a stream, for commands there that follow. Any that touch the array on the device
    /// come after this, but for those that read its cells alone.
    ///
    /// # Errors
    /// Memory that the device does not have, no compiler, or a launch that failed.
    pub(crate) fn materialize_ghosts(&self, device: &DeviceCore, stream: usize) -> Result<(), Error> {
        let mut state = self.owed().lock();
        let backend = device.backend();
        if let Some(owed) = state.owed.clone() {
            // Who launches may have been told of cells alone, which do not wait for strips.
            if let Some((_, event)) = state.strips.take().filter(|(other, _)| *other != stream) {
                device.wait(stream, &*event)?;
            }
            device.counts.launch(1);
            let label = Label { name: "fill_ghosts", recorded: owed.recorded };
            // SAFETY: it is the fill of this array; the touches of who reads the ghosts keep all others away.
            let fill = || unsafe { owed.ghosts.fill_on_device(device, stream, self, false) };
            state.copies = Some(device.timed(SpanKind::Ghost, label, stream, 0, fill)?);
            // What else is timed now starts here.
            device.host_waited();
            state.coming = Some((stream, backend.mark(stream)?));
            state.owed = None;
        } else if let Some((other, event)) = &state.coming
            && *other != stream
            && !event.is_done()
        {
            device.wait(stream, &**event)?;
        }
        Ok(())
    }

    /// The same, and waits for it.
    ///
    /// # Errors
    /// As [`Storage::materialize_ghosts`], and what the device says of it.
    pub(crate) fn materialize_ghosts_now(&self, device: &DeviceCore) -> Result<(), Error> {
        if self.owed().lock().owed.is_some() {
            let stream = device.any_stream();
            self.materialize_ghosts(device, stream)?;
            return device.backend().record(stream)?.finish();
        }
        let coming = self.owed().lock().coming.clone();
        coming.map_or(Ok(()), |(_, event)| event.finish())
    }
}

/// Fills the ghosts of arrays on the device, for each those of fixed value too if that is said: brings the arrays
/// there, and leaves to who reads the ghosts what may wait. Only as the work of a node that touches them.
pub(crate) fn filling(fills: Vec<(Arc<Tracker>, bool)>, recorded: &'static Location<'static>) -> DeviceWork {
    Box::new(move |queue| {
        queue
            .enqueue(|| {
                for (tracker, region) in fills.iter().flat_map(|(of, _)| (0..of.boxes().len()).map(move |n| (of, n))) {
                    // SAFETY: the graph keeps all work that conflicts away until this node has finished.
                    unsafe { tracker.to_device(queue, region, Mode::Update)? };
                }
                let mut now = Vec::new();
                for (tracker, fixed) in &fills {
                    tracker.storage().filled(true);
                    let planar = tracker.planar().filter(|_| !fixed);
                    match planar.and_then(|planar| Owed::of(planar, recorded)) {
                        Some(owed) => tracker.storage().owe_ghosts(&Arc::new(owed)),
                        None => now.extend(tracker.regional().map(|ghosts| (ghosts, tracker.storage(), *fixed))),
                    }
                }
                let mut held = Vec::new();
                if !now.is_empty() {
                    queue.notes.iter().for_each(|notes| notes.leaves_out());
                    queue.put("fill_ghosts", recorded, || {
                        for (ghosts, storage, fixed) in now {
                            storage.forget_ghosts();
                            // SAFETY: the storage is that of the ghosts' array; the rest as above.
                            held.push(unsafe { ghosts.fill_on_device(queue.device, queue.stream, storage, fixed)? });
                        }
                        Ok(())
                    })?;
                }
                Ok(held)
            })
            .map(|held| {
                // The array and what the fill uses are held until it is done.
                let done: Done = Box::new(move || {
                    drop((fills, held));
                    Ok(())
                });
                done
            })
    })
}

fn faces(regions: &[WideRegion], kinds: &FaceKinds, domain: &GridBox<4>) -> Option<[[Beyond; 2]; 4]> {
    let (first, last) = (regions.first()?, regions.last()?);
    let mut faces = [[Beyond::default(); 2]; 4];
    for (axis, sides) in faces.iter_mut().enumerate() {
        let layers = [first.valid.lo[axis] - first.grown.lo[axis], last.grown.hi[axis] - last.valid.hi[axis]];
        for (side, beyond) in sides.iter_mut().enumerate().filter(|(side, _)| layers[*side] > 0) {
            let layers = u32::try_from(layers[side]).ok()?;
            *beyond = match kinds[axis][side]? {
                Face::Wrap => Beyond { layers, wraps: true },
                Face::Even => Beyond { layers, wraps: false },
                // One layer of the nearest cell is that cell as far inside.
                Face::Nearest if layers == 1 => Beyond { layers, wraps: false },
                Face::Nearest | Face::Follow => return None,
                // They hold what they are to hold.
                Face::Memory | Face::Constant => Beyond::default(),
            };
        }
        let layers: u32 = sides.iter().map(|beyond| beyond.layers).sum();
        if i64::from(layers) > domain.hi[axis] - domain.lo[axis] {
            return None;
        }
    }
    Some(faces)
}
