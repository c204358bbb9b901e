//! Calls that came before: the next call like it takes over what was found of one.
//!
//! Programs record the same few calls again and again. What decides how a call runs is written down as words. If all
//! of them are those of a call before, so is what was checked, what it touches, and the kernel with its values and
//! arrays. Where calls run and what they wait for is found anew each time.
//!
//! What is known holds its arrays. It is forgotten whenever all that was recorded has started: when the program waits,
//! pauses, or has as much under way as the look-ahead allows. So it holds none for longer than an open sweep does.

use std::any::{Any, TypeId};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use super::driver::{Core, lock};
use super::recording::TileAccess;
use super::sweep::SweepKey;
use crate::launch::prepare::{Mix, Prepared};
use crate::launch::quoted::KernelId;
use crate::memory::tracker::BoxTouch;
use crate::run::op::Sweep;

/// Words that a call has at most: one with more is not looked up.
const WORDS: usize = 80;

/// Calls that are known at most, each at its own place.
const PLACES: usize = 256;

/// All that decides how a call runs, but for where and when.
pub(crate) struct Call {
    /// The types of the kernel and its arguments.
    form: TypeId,
    kernel: KernelId,
    words: [u64; WORDS],
    count: usize,
}

impl Call {
    /// One of a kernel, and of these types.
    pub fn new(form: TypeId, kernel: KernelId) -> Call {
        Call { form, kernel, words: [0; WORDS], count: 0 }
    }

    /// Adds a word; says whether there was room for it.
    pub fn add(&mut self, word: u64) -> bool {
        let Some(place) = self.words.get_mut(self.count) else { return false };
        (*place, self.count) = (word, self.count + 1);
        true
    }

    /// Adds words; says whether there was room for them.
    pub fn add_all(&mut self, words: impl IntoIterator<Item = u64>) -> bool {
        words.into_iter().all(|word| self.add(word))
    }

    fn words(&self) -> &[u64] {
        &self.words[..self.count]
    }

    /// A number for it, which others may have too.
    fn number(&self) -> u64 {
        let mut hasher = Mix::default();
        self.form.hash(&mut hasher);
        self.words().iter().for_each(|word| hasher.write_u64(*word));
        hasher.finish()
    }

    fn is(&self, other: &Call) -> bool {
        self.form == other.form && self.kernel == other.kernel && self.words() == other.words()
    }
}

/// What was found of a call.
pub(crate) struct Found {
    pub prepared: Arc<Prepared>,
    pub key: Arc<SweepKey>,
    pub touches: Box<[BoxTouch]>,
    pub access: TileAccess,
    /// The sweep that has its tile alone.
    pub sweep: Arc<Sweep>,
    /// What words are addresses of, besides what is touched: as long as these are here, nothing else is there.
    pub _held: SmallVec<[Arc<dyn Any + Send + Sync>; 4]>,
}

/// A place of the table: the last call that was looked up there, by number, and when; and a call that is known.
#[derive(Default)]
struct Place {
    seen: (u64, u64),
    found: Option<(Box<Call>, Arc<Found>)>,
}

/// Whether a call is known.
pub(crate) enum Look {
    Known(Arc<Found>),
    /// It came before: to be [kept](Core::keep) once it is recorded.
    Seen,
    /// It did not, since all was forgotten.
    New,
}

/// Calls that came before.
#[derive(Default)]
pub(super) struct Known {
    /// Nothing, or as many as there are places.
    places: Vec<Place>,
    /// Some call is known.
    some: bool,
    /// How often all was forgotten.
    turn: u64,
}

impl Known {
    /// Whether no call is known.
    pub fn is_empty(&self) -> bool {
        !self.some
    }

    /// No call is known any more, or came before: where a program waits each time, keeping what is found would cost
    /// more than it saves.
    pub fn forget(&mut self) {
        self.turn += 1;
        if std::mem::take(&mut self.some) {
            self.places.iter_mut().for_each(|place| place.found = None);
        }
    }

    fn place(&mut self, number: u64) -> &mut Place {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, Place::default);
        }
        &mut self.places[number as usize % PLACES]
    }
}

impl Core {
    /// What is known of a call.
    pub fn look_up(&self, call: &Call) -> Look {
        let number = call.number();
        let mut recorder = lock(&self.recorder);
        let seen = (number, recorder.known.turn);
        let place = recorder.known.place(number);
        if let Some((known, found)) = &place.found
            && known.is(call)
        {
            return Look::Known(found.clone());
        }
        match std::mem::replace(&mut place.seen, seen) == seen {
            true => Look::Seen,
            false => Look::New,
        }
    }

    /// The next call like this one takes this over.
    pub fn keep(&self, call: Call, found: Found) {
        let number = call.number();
        let mut recorder = lock(&self.recorder);
        recorder.known.some = true;
        let place = recorder.known.place(number);
        place.found = Some((Box::new(call), Arc::new(found)));
        // It forgets once the program pauses.
        self.wake_driver(&mut recorder);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::lock;
    use crate::prelude::*;

    /// One that a program never pauses.
    fn acc() -> TileAcc {
        TileAcc::builder().device(Device::Cpu).threads(2).pause(Duration::from_secs(600)).build().unwrap()
    }

    /// Calls that are known now.
    fn known(acc: &TileAcc) -> usize {
        lock(&acc.core().recorder).known.places.iter().filter(|place| place.found.is_some()).count()
    }

    /// A call is known from the third time on that it comes without a wait in between, whatever comes in turn with it.
    #[test]
    fn calls_that_come_again_are_known() {
        let acc = acc();
        let build = || TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
        let (mut u, mut v) = (build(), build());
        let step = |to: &mut TileArray<f64, 1>, from: &TileArray<f64, 1>, factor: f64| {
            let mut tiles = TileIter::new(from);
            tiles.try_for_each(|tile| {
                compute(&tile, (&mut *to, from), kernel!(|to, from, at| to[at] = factor * from[at]))
            })
        };
        for turn in 0..6 {
            step(&mut u, &v, 0.5).unwrap();
            std::mem::swap(&mut u, &mut v);
            // (Both may have one place in the table.)
            let most = [0, 0, 1, 2, 2, 2][turn];
            assert!((most.min(1)..=most).contains(&known(&acc)), "after {turn}");
        }
        let before = known(&acc);
        // Others each time.
        (0..4).for_each(|n| step(&mut u, &v, f64::from(n)).unwrap());
        assert_eq!(known(&acc), before);
        acc.sync().unwrap();
        assert_eq!(known(&acc), 0);
        // Who waits each time keeps nothing.
        for _ in 0..4 {
            step(&mut u, &v, 0.5).unwrap();
            acc.sync().unwrap();
            assert_eq!(known(&acc), 0);
        }
    }

    /// What is known of calls holds no array once the program waits, or pauses.
    #[test]
    fn arrays_go_when_the_program_waits_or_pauses() {
        for waits in [true, false] {
            let acc = match waits {
                true => acc(),
                false => TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap(),
            };
            let mut u = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
            for _ in 0..4 {
                TileIter::new(&u).for_each(|tile| compute(&tile, &mut u, kernel!(|u, at| u[at] += 1.0)).unwrap());
            }
            assert!(!waits || known(&acc) > 0);
            let storage = Arc::downgrade(&u.storage);
            drop(u);
            if waits {
                acc.sync().unwrap();
            }
            let begin = Instant::now();
            while storage.strong_count() > 0 && begin.elapsed().as_secs() < 20 {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!((storage.strong_count(), known(&acc)), (0, 0), "waits: {waits}");
        }
    }
}
