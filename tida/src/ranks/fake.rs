//! Ranks that are threads of one process, for tests: their messages are late, and overtake one another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bytes::Bytes;
use super::transport::{Host, Parcel, Target, Transport};

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
    /// Looks that a message takes to be sent, and those that are.
    slow: u64,
    sends: Sends,
    /// Whether pieces may be on devices, and what those that are due go to.
    devices: bool,
    targets: Targets,
    /// Messages with values that it has sent, and their bytes.
    sent: Arc<Mutex<[u64; 2]>>,
}

/// A message that is being sent: its tag, the looks that it still takes, and what is held until then.
type Sending = (u64, u64, Box<dyn Parcel>);

/// Messages that are being sent.
#[derive(Clone, Default)]
struct Sends(Arc<Mutex<Vec<Sending>>>);

impl std::fmt::Debug for Sends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(lock(&self.0).iter().map(|(tag, looks, _)| (tag, looks))).finish()
    }
}

/// What pieces are received into: of these ranks, with these tags.
type Targets = Arc<Mutex<Vec<(usize, u64, Target)>>>;

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
            slow: 0,
            sends: Sends::default(),
            devices: false,
            targets: Arc::default(),
            sent: Arc::default(),
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(rank as u64),
        };
        (0..ranks).map(of).collect()
    }

    /// As one of hosts that have so many ranks each, but for the last one.
    pub fn hosts_of(mut self, ranks: usize) -> FakeRank {
        self.a_host = ranks.max(1);
        self
    }

    /// As one whose messages take so many looks to be sent, though they are there before.
    pub fn slow_sends(mut self, looks: u64) -> FakeRank {
        self.slow = looks;
        self
    }

    /// As one whose messages may be in memory of devices.
    pub fn with_devices(mut self) -> FakeRank {
        self.devices = true;
        self
    }

    /// How many messages with values it has sent, and how many bytes.
    pub fn sent(&self) -> [u64; 2] {
        *lock(&self.sent)
    }

    /// How many messages with values are being sent.
    pub fn being_sent(&self) -> usize {
        lock(&self.sends.0).iter().filter(|(tag, ..)| *tag > 0).count()
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

    fn takes_devices(&self) -> bool {
        self.devices
    }

    fn send(&mut self, to: usize, tag: u64, mut parcel: Box<dyn Parcel>) -> Result<(), String> {
        let late = self.late + 1;
        let there = parcel.on_device().map(|stretch| stretch.read().map_err(|error| error.to_string())).transpose()?;
        let bytes = there.as_ref().map_or_else(|| parcel.bytes(), Bytes::as_slice).to_vec();
        let letter = Letter { from: self.rank, tag, late: self.roll(late), bytes };
        if tag > 0 {
            let mut sent = lock(&self.sent);
            *sent = [sent[0] + 1, sent[1] + letter.bytes.len() as u64];
        }
        lock(&self.all[to]).letters.push(letter);
        if self.slow > 0 {
            lock(&self.sends.0).push((tag, self.slow, parcel));
        }
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
        let letter = inbox.letters.remove(first);
        let mut targets = lock(&self.targets);
        let Some(place) = targets.iter().position(|(from, of, _)| (*from, *of) == (letter.from, tag)) else {
            return Ok(Some(Bytes::of(&letter.bytes)));
        };
        let (.., mut target) = targets.remove(place);
        match &mut target {
            Target::Device(stretch) => stretch.write(&letter.bytes).map_err(|error| error.to_string())?,
            Target::Host(bytes) => *bytes = Bytes::of(&letter.bytes),
        }
        Ok(Some(target.into_host()))
    }

    fn receive_into(&mut self, from: usize, tag: u64, into: Target) -> Result<(), String> {
        lock(&self.targets).push((from, tag, into));
        Ok(())
    }

    fn under_way(&mut self) -> Result<usize, String> {
        let mut sends = lock(&self.sends.0);
        sends.iter_mut().for_each(|(_, looks, _)| *looks -= 1);
        let (under_way, sent): (Vec<_>, Vec<_>) = sends.drain(..).partition(|(_, looks, _)| *looks > 0);
        *sends = under_way;
        let count = sends.len();
        drop(sends);
        // Work may begin by this.
        drop(sent);
        Ok(count)
    }

    fn say(&self, _: &str) {}

    fn await_end(&mut self) {}

    fn abort(&mut self, why: &str) {
        lock(&self.aborted).get_or_insert_with(|| why.to_owned());
    }

    fn aborted(&self) -> Option<String> {
        lock(&self.aborted).clone()
    }

    fn end(&mut self) {}
}
