//! Ranks that are threads of one process, for tests: their messages are late, and overtake one another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bytes::Bytes;
use super::transport::{Host, Parcel, Transport};

/// A rank for tests. See [`FakeRank::all`].
#[derive(Clone, Debug)]
pub struct FakeRank {
    rank: usize,
    all: Arc<Vec<Mutex<Inbox>>>,
    aborted: Arc<Mutex<Option<String>>>,
    /// Turns by which messages are late, at most.
    late: u64,
    seed: u64,
    /// Ranks of a host.
    a_host: usize,
}

#[derive(Debug, Default)]
struct Inbox {
    letters: Vec<Letter>,
}

#[derive(Debug)]
struct Letter {
    from: usize,
    tag: u64,
    /// How often it is still not there.
    late: u64,
    bytes: Vec<u8>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeRank {
    /// So many ranks. A message comes up to `late` looks too late, as the seed says.
    pub fn all(ranks: usize, seed: u64, late: u64) -> Vec<FakeRank> {
        let all: Arc<Vec<Mutex<Inbox>>> = Arc::new((0..ranks).map(|_| Mutex::default()).collect());
        let aborted = Arc::default();
        let of = |rank: usize| FakeRank {
            rank,
            all: all.clone(),
            aborted: Arc::clone(&aborted),
            late,
            a_host: ranks.max(1),
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(rank as u64),
        };
        (0..ranks).map(of).collect()
    }

    /// As one of hosts that have so many ranks each, but for the last one.
    pub fn hosts_of(mut self, ranks: usize) -> FakeRank {
        self.a_host = ranks.max(1);
        self
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) % sides.max(1)
    }
}

impl Transport for FakeRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.all.len()
    }

    fn host(&self) -> Host {
        let number = self.rank % self.a_host;
        let first = self.rank - number;
        Host { first, number, ranks: self.a_host.min(self.all.len() - first) }
    }

    fn send(&mut self, to: usize, tag: u64, mut parcel: Box<dyn Parcel>) -> Result<(), String> {
        let late = self.late + 1;
        let letter = Letter { from: self.rank, tag, late: self.roll(late), bytes: parcel.bytes().to_vec() };
        lock(&self.all[to]).letters.push(letter);
        Ok(())
    }

    fn receive(&mut self, from: Option<usize>, tag: u64) -> Result<Option<Bytes>, String> {
        let mut inbox = lock(&self.all[self.rank]);
        let fits = |letter: &Letter| letter.tag == tag && from.is_none_or(|from| letter.from == from);
        let Some(first) = inbox.letters.iter().position(fits) else { return Ok(None) };
        if inbox.letters[first].late > 0 {
            inbox.letters[first].late -= 1;
            return Ok(None);
        }
        Ok(Some(Bytes::of(&inbox.letters.remove(first).bytes)))
    }

    fn sending(&mut self) -> Result<usize, String> {
        Ok(0)
    }

    fn abort(&mut self, why: &str) {
        lock(&self.aborted).get_or_insert_with(|| why.to_owned());
    }

    fn aborted(&self) -> Option<String> {
        lock(&self.aborted).clone()
    }

    fn end(&mut self) {}
}
