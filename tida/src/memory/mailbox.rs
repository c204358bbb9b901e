//! Mailboxes: memory of a device, for what a place gives a place of another rank.
//!
//! Who gives packs into one of its mailboxes for that pair of places, and says in a note which one it is. Who takes
//! opens it, unpacks there, on its own device, and then says that it has: only then the mailbox is used again. Where
//! devices do not reach each other, or are of two hosts, what is in the mailbox goes by a message into one of who
//! takes, if MPI takes memory of devices. Nobody waits for a mailbox: if none is free there is a new one, or the values
//! go by way of the host. Which pairs of places have mailboxes all ranks know from the start.
//! (docs/decisions/0096-mailboxes.md, 0118-ranks-on-one-gpu.md)

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::backend::{Backend, COPIES, Memory};
use crate::device::core::DeviceCore;
use crate::error::Error;

/// Bytes of the smallest one: drivers give stretches of this size, and processes open whole stretches.
pub(crate) const LEAST: usize = 2 << 20;

/// Mailboxes of one size that a pair of places has, at most: who gives may be so many messages ahead.
const MOST: usize = 8;

/// Places, the first of which gives.
pub(crate) type Pair = (usize, usize);

/// A letter's memory on a device, for who gives or who takes.
pub(crate) struct Mailbox {
    pub memory: Arc<Memory>,
    number: u64,
    /// What others open it by; nothing of one whose contents go by a message.
    exported: Option<Arc<[u8]>>,
    /// What is done once it is read, or not used.
    end: Option<Box<dyn FnOnce() + Send>>,
}

impl Mailbox {
    /// What tells who takes where the letter is.
    pub fn note(&self) -> Note {
        match self.exported.clone() {
            Some(exported) => Note::Mailbox { number: self.number, bytes: self.memory.bytes(), exported },
            None => Note::Message,
        }
    }

    /// Its note is on its way: it is in use until it is read.
    pub fn sent(mut self) {
        self.end = None;
    }

    /// What lies in it, brought to the host's memory.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn bring(&self, bytes: usize) -> Result<Vec<u128>, Error> {
        let backend = self.memory.backend();
        let mut values = vec![0u128; bytes.div_ceil(size_of::<u128>())];
        // SAFETY: both memories have the bytes, and live until the copy is done; nobody writes the mailbox until it is
        // read.
        unsafe { backend.download(COPIES, &self.memory, 0, values.as_mut_ptr().cast(), bytes) }
            .and_then(|()| backend.record(COPIES)?.finish())
            .inspect_err(|_| drop(backend.record(COPIES).and_then(|event| event.finish())))?;
        Ok(values)
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.end.take().into_iter().for_each(|end| end());
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("number", &self.number).field("memory", &self.memory).finish_non_exhaustive()
    }
}

/// How a letter comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// In a message of its own.
    Values,
    /// In one that is in memory of the device.
    Message,
    /// In this mailbox of who gives.
    Mailbox { number: u64, bytes: usize, exported: Arc<[u8]> },
}

impl Note {
    /// Notes as bytes.
    pub fn encode(notes: &[Note]) -> Vec<u8> {
        let mut all = Vec::new();
        for note in notes {
            let (number, bytes, exported): (_, _, &[u8]) = match note {
                Note::Values => (0, 0, &[]),
                Note::Message => (1, 0, &[]),
                Note::Mailbox { number, bytes, exported } => (number + 2, *bytes, exported),
            };
            [number, bytes as u64, exported.len() as u64].iter().for_each(|n| all.extend(n.to_le_bytes()));
            all.extend(exported);
        }
        all
    }

    /// So many notes; none if these are not their bytes.
    pub fn decode(mut bytes: &[u8], count: usize) -> Option<Vec<Note>> {
        let number = |bytes: &mut &[u8]| bytes.split_off(..8)?.try_into().ok().map(u64::from_le_bytes);
        let mut notes = Vec::new();
        for _ in 0..count {
            let [number, size, length] = [number(&mut bytes)?, number(&mut bytes)?, number(&mut bytes)?];
            let exported = bytes.split_off(..usize::try_from(length).ok()?)?;
            notes.push(match number {
                0 => Note::Values,
                1 => Note::Message,
                _ => {
                    let (number, bytes) = (number - 2, usize::try_from(size).ok()?);
                    Note::Mailbox { number, bytes, exported: exported.into() }
                }
            });
        }
        bytes.is_empty().then_some(notes)
    }
}

/// A mailbox of this rank.
#[derive(Debug)]
struct Own {
    pair: Pair,
    memory: Arc<Memory>,
    exported: Option<Arc<[u8]>>,
    is_free: bool,
}

/// Mailboxes of other ranks that are open here: by pair and number.
type Opened = HashMap<(Pair, u64), Arc<Memory>>;

/// Which places have mailboxes, as all ranks know.
#[derive(Debug)]
pub(crate) struct Agreed {
    /// Pairs of places of two ranks, of which the second one opens those of the first one.
    pub opened: Vec<Pair>,
    /// Places whose devices' memory may be in messages.
    pub in_messages: HashSet<usize>,
}

/// The mailboxes of a rank.
#[derive(Debug, Default)]
pub(crate) struct Mailboxes {
    own: Mutex<Vec<Own>>,
    opened: Mutex<Opened>,
    agreed: OnceLock<Agreed>,
    /// Other ranks may read those of this one after it has ended.
    are_left: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mailboxes {
    /// Says which places have mailboxes. Once.
    pub fn agree(&self, agreed: Agreed) {
        let _ = self.agreed.set(agreed);
    }

    /// Whether a pair of places of two ranks has mailboxes.
    pub fn has(&self, pair: Pair) -> bool {
        self.agreed.get().is_some_and(|agreed| {
            let sends = |place: usize| agreed.in_messages.contains(&place);
            agreed.opened.contains(&pair) || sends(pair.0) && sends(pair.1)
        })
    }

    /// Whether the second of them opens those of the first one.
    fn opens(&self, pair: Pair) -> bool {
        self.agreed.get().is_none_or(|agreed| agreed.opened.contains(&pair))
    }

    /// Whether any pair of places has.
    pub fn are_some(&self) -> bool {
        self.agreed.get().is_some_and(|agreed| !agreed.opened.is_empty() || agreed.in_messages.len() > 1)
    }

    /// A mailbox for so many bytes that a place gives a place of another rank, for the one of them that has this
    /// device. None if too many are on their way, or the device has no room: then the letter goes by way of the host.
    pub fn take(self: &Arc<Mailboxes>, device: &DeviceCore, pair: Pair, bytes: usize) -> Option<Mailbox> {
        let bytes = bytes.max(LEAST).checked_next_power_of_two()?;
        let mut own = lock(&self.own);
        let fits = |of: &Own| of.pair == pair && of.memory.bytes() == bytes;
        let number = match own.iter().position(|of| of.is_free && fits(of)) {
            Some(number) => number,
            None if own.iter().filter(|of| fits(of)).count() >= MOST => return None,
            None => {
                let memory = Memory::new(device.backend(), bytes).ok()?;
                let exported = match self.opens(pair) {
                    true => Some(memory.export().ok().flatten()?.into()),
                    false => None,
                };
                own.push(Own { pair, memory: Arc::new(memory), exported, is_free: true });
                own.len() - 1
            }
        };
        let of = &mut own[number];
        of.is_free = false;
        let (all, number) = (self.clone(), number as u64);
        let end: Box<dyn FnOnce() + Send> = Box::new(move || all.read(number));
        Some(Mailbox { memory: of.memory.clone(), number, exported: of.exported.clone(), end: Some(end) })
    }

    /// A mailbox of this rank was read: it may be used again.
    pub fn read(&self, number: u64) {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        lock(&self.own).get_mut(number).into_iter().for_each(|of| of.is_free = true);
    }

    /// Opens a mailbox of another rank for a place with this device, if it is not open. `read` tells the other rank
    /// that it may be used again.
    ///
    /// # Errors
    /// What the driver reports.
    pub fn open(
        &self,
        backend: &Arc<dyn Backend>,
        (pair, number): (Pair, u64),
        (bytes, exported): (usize, Arc<[u8]>),
        read: Box<dyn FnOnce() + Send>,
    ) -> Result<Mailbox, Error> {
        let mut opened = lock(&self.opened);
        let memory = match opened.get(&(pair, number)) {
            Some(memory) => memory.clone(),
            None => {
                // SAFETY: the other rank has exported so many bytes, and keeps them until all ranks have taken leave;
                // this one lets go of them before it does.
                let memory = Arc::new(unsafe { Memory::of_other(backend, &exported, bytes)? });
                opened.insert((pair, number), memory.clone());
                memory
            }
        };
        Ok(Mailbox { memory, number, exported: Some(exported), end: Some(read) })
    }

    /// This rank ends before others have taken leave: what they may still read stays.
    pub fn leave(&self) {
        self.are_left.store(true, Ordering::Release);
    }

    /// Lets go of the mailboxes of other ranks. All work that reads them has ended.
    pub fn close(&self) {
        lock(&self.opened).clear();
    }
}

impl Drop for Mailboxes {
    fn drop(&mut self) {
        if self.are_left.load(Ordering::Acquire) {
            std::mem::forget(std::mem::take(&mut *lock(&self.own)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acc::TileAcc;

    #[test]
    fn notes_are_read_as_they_were_written() {
        let boxed = |number: u64, of: &[u8]| Note::Mailbox { number, bytes: 3 << 20, exported: of.into() };
        let notes = [boxed(0, &[1, 2, 3]), Note::Values, boxed(7, &[9; 64]), Note::Message];
        let bytes = Note::encode(&notes);
        assert_eq!(Note::decode(&bytes, 4).unwrap(), notes);
        assert!(Note::decode(&bytes, 3).is_none() && Note::decode(&bytes, 5).is_none());
        assert!((0..bytes.len()).all(|n| Note::decode(&bytes[..n], 4).is_none()));
        assert_eq!(Note::decode(&[], 0).unwrap(), []);
    }

    /// A mailbox is used again once it was read, or was not used; there are few of each size.
    #[test]
    fn mailboxes_are_used_again_once_they_are_read() {
        let acc = TileAcc::builder().simulate(crate::SimDevice::new()).threads(1).build().unwrap();
        let device = acc.core().device.clone().unwrap();
        let all = Arc::new(Mailboxes::default());
        let take = |pair: Pair, bytes: usize| all.take(&device, pair, bytes);
        let first = take((0, 1), 100).unwrap();
        let number = first.number;
        assert_eq!(first.memory.bytes(), LEAST);
        first.sent();
        let second = take((0, 1), LEAST).unwrap();
        assert_ne!(second.number, number);
        all.read(number);
        assert_eq!(take((0, 1), 100).unwrap().number, number);
        assert!(![number, second.number].contains(&take((0, 2), 100).unwrap().number));
        assert_eq!(take((0, 1), LEAST + 1).unwrap().memory.bytes(), 2 * LEAST);
        let ahead: Vec<Mailbox> = std::iter::from_fn(|| take((0, 1), 1)).collect();
        assert_eq!(ahead.len(), MOST - 1);
        drop(ahead);
        assert!(take((0, 1), 1).is_some());
    }
}
