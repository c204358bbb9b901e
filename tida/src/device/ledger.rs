//! One ledger of a device's memory: who holds how many bytes, and for what.
//!
//! Bytes are reserved first and allocated later, by work that may wait until then. What is reserved can be allocated:
//!
//! - Recorded work reserves bytes that no one has, or that are about to be left ([`Ledger::try_reserve`]). It waits for
//!   all that was leaving when it was recorded (`Core::after_evictions`).
//! - Work that runs waits for nobody, so it reserves only bytes that no one has
//!   ([`Ledger::try_reserve_now`], [`Ledger::reserve_rest`]).
//! - Who is about to leave holds its bytes until its memory is free ([`Reservation::leave`]). So does memory that
//!   outlives its array.
//!
//! So at any time, what is allocated was reserved at one time, together: the holder that reserved last among those that
//! have memory found room beside all others, or waited until they had left.

use std::fmt::{self, Display};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What bytes are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Arrays that are on the device as a whole.
    Arrays,
    /// Windows and regions of chains.
    Chains,
    /// Arrays written in timed trials.
    Trials,
    /// Arrays that are about to leave: their bytes are promised to others already.
    Leaving,
    /// Tables beside arrays, which are not reserved.
    Tables,
}

/// All purposes.
const PURPOSES: [Purpose; 5] = [Purpose::Arrays, Purpose::Chains, Purpose::Trials, Purpose::Leaving, Purpose::Tables];

/// Bytes of one purpose.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// How many hold some, and how many bytes these may allocate.
    holders: u64,
    reserved: u64,
    /// Bytes that are allocated.
    allocated: u64,
}

/// The accounts of an accelerator's part of a device's memory.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    accounts: Mutex<[Account; PURPOSES.len()]>,
    /// Something was given back.
    given: Condvar,
}

/// Bytes that somebody may allocate. Given back when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    ledger: Arc<Ledger>,
    purpose: Purpose,
    bytes: u64,
    /// They are promised to others too. Changed with the accounts locked.
    leaves: AtomicBool,
}

/// Bytes that are allocated. Dropped once they are free.
#[derive(Debug)]
pub(crate) struct Allocated {
    ledger: Arc<Ledger>,
    purpose: Purpose,
    bytes: u64,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, [Account; PURPOSES.len()]> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve(self: &Arc<Ledger>, accounts: &mut [Account], purpose: Purpose, bytes: u64) -> Reservation {
        take(accounts, purpose, bytes);
        Reservation { ledger: self.clone(), purpose, bytes, leaves: AtomicBool::new(false) }
    }

    /// Reserves bytes of `budget`, which may be those that are about to be left: for recorded work that waits for that.
    pub fn try_reserve(self: &Arc<Ledger>, purpose: Purpose, bytes: u64, budget: u64) -> Option<Reservation> {
        let mut accounts = self.lock();
        (bytes <= room(&*accounts, budget)).then(|| self.reserve(&mut *accounts, purpose, bytes))
    }

    /// Reserves bytes of `budget` that nobody has: for work that runs.
    pub fn try_reserve_now(self: &Arc<Ledger>, purpose: Purpose, bytes: u64, budget: u64) -> Option<Reservation> {
        let mut accounts = self.lock();
        (bytes <= room_now(&*accounts, budget)).then(|| self.reserve(&mut *accounts, purpose, bytes))
    }

    /// Reserves all bytes of `budget` that nobody has, or `most` of them: for work that runs.
    pub fn reserve_rest(self: &Arc<Ledger>, purpose: Purpose, most: u64, budget: u64) -> Reservation {
        let mut accounts = self.lock();
        let bytes = room_now(&*accounts, budget).min(most);
        self.reserve(&mut *accounts, purpose, bytes)
    }

    /// Waits until as many bytes of `budget` are promised to nobody, for 50 ms at most; whether they are. What has
    /// ended may be dropped by another thread.
    pub fn wait_for_room(&self, bytes: u64, budget: u64) -> bool {
        let lacks = |accounts: &mut [Account; PURPOSES.len()]| room(&*accounts, budget) < bytes;
        let waited = self.given.wait_timeout_while(self.lock(), Duration::from_millis(50), lacks);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Bytes of `budget` that are promised to nobody.
    pub fn room(&self, budget: u64) -> u64 {
        room(&*self.lock(), budget)
    }

    /// Bytes that are held for a purpose.
    pub fn held(&self, purpose: Purpose) -> u64 {
        self.lock()[purpose as usize].reserved
    }

    /// Says that bytes are allocated, of arrays within `limit` if there is one; or nothing, if they would be more.
    pub fn allocate(self: &Arc<Ledger>, purpose: Purpose, bytes: u64, limit: Option<u64>) -> Option<Allocated> {
        let mut accounts = self.lock();
        if purpose != Purpose::Tables {
            let limited = PURPOSES.iter().filter(|purpose| **purpose != Purpose::Tables);
            let allocated: u64 = limited.map(|purpose| accounts[*purpose as usize].allocated).sum();
            if limit.is_some_and(|limit| allocated.saturating_add(bytes) > limit) {
                return None;
            }
        }
        accounts[purpose as usize].allocated += bytes;
        Some(Allocated { ledger: self.clone(), purpose, bytes })
    }
}

/// Bytes that are promised to nobody. What leaves is promised to others, or to nobody.
fn room(accounts: &[Account], budget: u64) -> u64 {
    let promised = accounts.iter().map(|account| account.reserved).sum::<u64>();
    budget.saturating_sub(promised - accounts[Purpose::Leaving as usize].reserved)
}

/// Bytes that are promised to nobody, and that nobody has who is about to leave.
fn room_now(accounts: &[Account], budget: u64) -> u64 {
    room(accounts, budget).saturating_sub(accounts[Purpose::Leaving as usize].reserved)
}

impl Reservation {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Others may be promised the bytes, which are held until this is dropped.
    pub fn leave(&self) {
        let mut accounts = self.ledger.lock();
        if !self.leaves.swap(true, Ordering::Relaxed) {
            give_back(&mut *accounts, self.purpose, self.bytes);
            take(&mut *accounts, Purpose::Leaving, self.bytes);
            self.ledger.given.notify_all();
        }
    }
}

fn take(accounts: &mut [Account], purpose: Purpose, bytes: u64) {
    let account = &mut accounts[purpose as usize];
    account.holders += 1;
    account.reserved += bytes;
}

fn give_back(accounts: &mut [Account], purpose: Purpose, bytes: u64) {
    let account = &mut accounts[purpose as usize];
    account.holders -= 1;
    account.reserved -= bytes;
}

/// Who holds how much.
impl Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accounts = *self.lock();
        let mut told = false;
        for purpose in PURPOSES {
            let Account { holders, reserved, allocated } = accounts[purpose as usize];
            if reserved == 0 && allocated == 0 {
                continue;
            }
            f.write_str(if told { ", " } else { "" })?;
            told = true;
            let s = if holders == 1 { "" } else { "s" };
            match purpose {
                Purpose::Arrays => write!(f, "{holders} array{s} on it hold {reserved} ({allocated} allocated)")?,
                Purpose::Chains => write!(f, "work that streams holds {reserved} ({allocated} allocated)")?,
                Purpose::Trials => write!(f, "timed trials hold {reserved} ({allocated} allocated)")?,
                Purpose::Leaving => write!(f, "{holders} array{s} about to leave hold {reserved}")?,
                Purpose::Tables => write!(f, "tables beside arrays take {allocated}")?,
            }
        }
        if told { Ok(()) } else { f.write_str("nobody holds any") }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let leaves = *self.leaves.get_mut();
        let purpose = if leaves { Purpose::Leaving } else { self.purpose };
        give_back(&mut *self.ledger.lock(), purpose, self.bytes);
        self.ledger.given.notify_all();
    }
}

impl Drop for Allocated {
    fn drop(&mut self) {
        self.ledger.lock()[self.purpose as usize].allocated -= self.bytes;
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::backend::Memory;
    use crate::device::core::{DeviceCore, Opened};
    use crate::device::plans::PlansAsked;
    use crate::error::{Error, ErrorKind};

    const BUDGET: u64 = 100;

    fn arrays(ledger: &Arc<Ledger>, bytes: u64) -> Option<Reservation> {
        ledger.try_reserve(Purpose::Arrays, bytes, BUDGET)
    }

    #[test]
    fn no_more_is_promised_than_there_is() {
        let ledger = Arc::new(Ledger::default());
        let (first, second) = (arrays(&ledger, 60), arrays(&ledger, 40));
        assert!(first.is_some() && second.is_some() && arrays(&ledger, 1).is_none());
        assert!(arrays(&ledger, 0).is_some(), "nothing has room everywhere");
        drop(first);
        assert_eq!(ledger.room(BUDGET), 60);
        assert!(arrays(&ledger, 61).is_none() && arrays(&ledger, u64::MAX).is_none());
        assert!(arrays(&ledger, 60).is_some());
    }

    #[test]
    fn what_leaves_is_promised_to_recorded_work_and_not_to_work_that_runs() {
        let ledger = Arc::new(Ledger::default());
        let stays = arrays(&ledger, 30).unwrap();
        let leaves = arrays(&ledger, 50).unwrap();
        leaves.leave();
        assert_eq!(ledger.room(BUDGET), 70);
        assert!(ledger.try_reserve_now(Purpose::Trials, 21, BUDGET).is_none());
        let rest = ledger.reserve_rest(Purpose::Chains, u64::MAX, BUDGET);
        assert_eq!((rest.bytes(), ledger.room(BUDGET)), (20, 50));
        // Promised twice: to who leaves, and to who comes then.
        let next = arrays(&ledger, 50).unwrap();
        assert_eq!(ledger.room(BUDGET), 0);
        drop(leaves);
        assert_eq!(ledger.room(BUDGET), 0);
        assert!(ledger.try_reserve_now(Purpose::Trials, 1, BUDGET).is_none());
        drop((stays, next));
        assert_eq!(ledger.reserve_rest(Purpose::Chains, 25, BUDGET).bytes(), 25);
        drop(rest);
        assert_eq!(ledger.room(BUDGET), BUDGET);
    }

    #[test]
    fn no_more_is_allocated_than_the_limit_but_for_tables() {
        let ledger = Arc::new(Ledger::default());
        let limit = Some(BUDGET);
        let array = ledger.allocate(Purpose::Arrays, 70, limit);
        let window = ledger.allocate(Purpose::Chains, 30, limit);
        assert!(array.is_some() && window.is_some());
        assert!(ledger.allocate(Purpose::Trials, 1, limit).is_none());
        assert!(ledger.allocate(Purpose::Trials, 1, None).is_some());
        assert!(ledger.allocate(Purpose::Tables, 500, limit).is_some());
        drop(window);
        assert!(ledger.allocate(Purpose::Arrays, 30, limit).is_some());
    }

    #[test]
    fn it_says_who_holds_how_much() {
        let ledger = Arc::new(Ledger::default());
        assert_eq!(ledger.to_string(), "nobody holds any");
        let two = [arrays(&ledger, 30).unwrap(), arrays(&ledger, 20).unwrap()];
        let _table = ledger.allocate(Purpose::Tables, 7, None);
        let _memory = ledger.allocate(Purpose::Arrays, 30, None);
        assert_eq!(ledger.to_string(), "2 arrays on it hold 50 (30 allocated), tables beside arrays take 7");
        let [first, second] = two;
        first.leave();
        drop(second);
        let _chain = ledger.reserve_rest(Purpose::Chains, 10, BUDGET);
        assert_eq!(
            ledger.to_string(),
            "0 arrays on it hold 0 (30 allocated), work that streams holds 10 (0 allocated), 1 array about to leave \
             hold 30, tables beside arrays take 7"
        );
    }

    #[test]
    fn room_is_waited_for() {
        let ledger = Arc::new(Ledger::default());
        let held = arrays(&ledger, 80).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                drop(held);
            });
            assert!(ledger.wait_for_room(90, BUDGET));
        });
        let _held = arrays(&ledger, 80).unwrap();
        assert!(ledger.wait_for_room(20, BUDGET) && !ledger.wait_for_room(21, BUDGET));
    }

    /// Threads that reserve and give back at once are never promised more than there is, and all comes back.
    #[test]
    fn threads_share_it() {
        let ledger = Arc::new(Ledger::default());
        std::thread::scope(|scope| {
            for n in 0..4u64 {
                let ledger = &ledger;
                scope.spawn(move || {
                    for round in 0..2000 {
                        let bytes = (n * 13 + round) % 60;
                        let Some(held) = arrays(ledger, bytes) else { continue };
                        if round % 3 == 0 {
                            held.leave();
                        }
                        let rest = ledger.reserve_rest(Purpose::Chains, 10, BUDGET);
                        assert!(rest.bytes() + held.bytes() <= BUDGET);
                    }
                });
            }
        });
        assert_eq!((ledger.room(BUDGET), ledger.to_string()), (BUDGET, "nobody holds any".to_owned()));
    }

    /// Where another accelerator has taken memory of the device, work is planned again with what is free.
    #[test]
    fn work_that_streams_does_with_what_others_leave() {
        let spec = crate::backend::sim::SimDevice::new().memory(1 << 20);
        let opened = Arc::new(Opened::new(crate::backend::sim::open(spec, None).unwrap()));
        let device = DeviceCore::new(opened.clone(), PlansAsked::default(), None);
        let room = device.reserve_rest(Purpose::Chains, u64::MAX);
        assert_eq!(room.bytes(), device.budget());
        let plan = |least: u64| {
            move |bytes: u64| match bytes < least {
                true => Err(Error::new(ErrorKind::Memory, "plan", "too little", "ask for less")),
                false => Ok(bytes),
            }
        };
        let make = |bytes: u64| Ok((bytes, device.allocate(Purpose::Chains, bytes as usize, None)?));
        let (bytes, memory) = device.allocate_planned(room.bytes(), plan(1), make).unwrap();
        assert_eq!(bytes, room.bytes());
        drop(memory);
        let _others = Memory::new(device.backend(), 700_000).unwrap();
        let free = device.backend().free_memory().unwrap();
        let (bytes, memory) = device.allocate_planned(room.bytes(), plan(1), make).unwrap();
        assert_eq!(bytes, free);
        drop(memory);
        let error = device.allocate_planned(room.bytes(), plan(free + 1), make).unwrap_err();
        assert_ne!(error.tried(), "plan", "the driver's own words are told");
        let error = device.allocate_planned(room.bytes(), plan(u64::MAX), make).unwrap_err();
        assert_eq!(error.tried(), "plan");
    }
}
