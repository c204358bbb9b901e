//! The thread that sends and receives.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use super::bytes::Bytes;
use super::transport::{Parcel, Target, Transport};
use crate::error::{Error, ErrorKind};
use crate::memory::mailbox::Mailboxes;

/// What the thread is told.
pub(super) enum Command {
    /// This rank makes a call that all ranks make.
    Call(Call),
    /// It gives a rank something, in pieces.
    Send { to: usize, tag: u64, pieces: Vec<Box<dyn Parcel>> },
    /// It cannot give a rank something.
    Fail { to: usize, tag: u64, error: Error },
    /// It has read a mailbox of a rank.
    Read { of: usize, number: u64 },
    /// It waits for something of a rank.
    Expect(Expected),
    /// It has nothing more to do; ends all ranks if there is a reason.
    Leave { said: Option<String>, dies: Option<String> },
}

/// A call that all ranks make, as the others see it.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub number: u64,
    /// What it is, of which arrays, and in which line.
    pub text: String,
    /// What was made on both sides of the borders to the ranks before and after this one, if nothing is sent because
    /// each has made it itself.
    pub before: String,
    pub next: String,
}

/// What this rank waits for.
pub(super) struct Expected {
    pub from: usize,
    pub tag: u64,
    /// The bytes of each piece, where they are known.
    pub sizes: Vec<Option<usize>>,
    /// What the pieces go to, if they come from a device.
    pub into: Vec<Target>,
    /// What for.
    pub text: String,
    pub since: Instant,
    pub came: Vec<Bytes>,
    pub deliver: Deliver,
}

/// Takes what came, or why it does not come.
pub(super) type Deliver = Box<dyn FnOnce(Result<Vec<Bytes>, Error>) + Send>;

/// The tag of what ranks tell one another beside values.
const WORDS: u64 = 0;

/// Kinds of what they tell.
const CALL: u8 = 0;
const FAILED: u8 = 1;
const LEFT: u8 = 2;
const READ: u8 = 3;
const ENDS: u8 = 4;
const WORKS: u8 = 5;

/// How long a rank that found a mistake leaves it to the first rank to end all. Then it does so itself.
const LEAVES: Duration = Duration::from_secs(2);

/// How a rank took leave.
#[derive(Clone, Debug)]
struct Bye {
    calls: u64,
    said: String,
}

/// The thread's state.
pub(super) struct Post {
    transport: Box<dyn Transport>,
    commands: Receiver<Command>,
    mailboxes: Arc<Mailboxes>,
    timeout: Option<Duration>,
    expected: Vec<Expected>,
    /// Calls of this rank and of the one before it that the other has not made yet, and the last one of this rank.
    own: VecDeque<Call>,
    theirs: VecDeque<Call>,
    last: Option<Call>,
    calls: u64,
    failed: HashMap<(usize, u64), Error>,
    /// When each rank has last given anything, to anyone.
    heard: Vec<Instant>,
    /// This one has given something since it told the others so, and when that was.
    gave: bool,
    told: Instant,
    byes: Vec<Option<Bye>>,
    /// Pieces are on their way, which come along when the thread looks.
    under_way: bool,
    left: bool,
    dead: Option<Error>,
    closed: bool,
}

impl Post {
    pub fn new(
        transport: Box<dyn Transport>,
        (commands, mailboxes): (Receiver<Command>, Arc<Mailboxes>),
        timeout: Option<Duration>,
    ) -> Post {
        let (byes, heard) = (vec![None; transport.ranks()], vec![Instant::now(); transport.ranks()]);
        let (expected, own, theirs, failed) = Default::default();
        let (last, dead, calls) = (None, None, 0);
        let (under_way, left, closed) = (false, false, false);
        let (gave, told) = (false, Instant::now());
        Post {
            transport,
            commands,
            mailboxes,
            timeout,
            expected,
            own,
            theirs,
            last,
            calls,
            failed,
            heard,
            gave,
            told,
            byes,
            under_way,
            left,
            dead,
            closed,
        }
    }

    /// Serves until all ranks have taken leave.
    pub fn serve(mut self) {
        let mut idle = 0u32;
        while !self.is_done() {
            let mut moved = false;
            loop {
                match self.commands.try_recv() {
                    Ok(command) => {
                        self.obey(command);
                        moved = true;
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        self.closed = true;
                        break;
                    }
                }
            }
            match self.turn() {
                Ok(more) => moved |= more,
                Err(found) => self.die(found),
            }
            idle = if moved { 0 } else { idle.saturating_add(1) };
            self.rest(idle);
        }
        if self.dead.is_none() {
            self.transport.end();
        }
    }

    /// Waits a moment if nothing happens: the longer nothing has, the longer.
    fn rest(&mut self, idle: u32) {
        // While pieces are on their way they come along by looks: the other rank is at it too. So do notes of what lies
        // in mailboxes, for which devices wait.
        const LOOKS: [u32; 2] = [64, 4096];
        if idle == 0 {
            return;
        }
        let waits = self.under_way || !self.expected.is_empty() || self.left;
        let hurries = self.under_way || self.mailboxes.are_some();
        if waits && idle < LOOKS[usize::from(hurries)] {
            return std::thread::yield_now();
        }
        let most = if waits { 50 } else { 500 };
        let time = Duration::from_micros(u64::from(idle).min(most));
        if self.closed {
            return std::thread::sleep(time);
        }
        match self.commands.recv_timeout(time) {
            Ok(command) => self.obey(command),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.closed = true,
        }
    }

    fn is_done(&mut self) -> bool {
        if !self.left {
            return self.closed;
        }
        let me = self.transport.rank();
        let all = || self.byes.iter().enumerate().all(|(rank, bye)| rank == me || bye.is_some());
        self.dead.is_some() || (self.expected.is_empty() && all() && matches!(self.transport.under_way(), Ok(0)))
    }

    fn obey(&mut self, command: Command) {
        let done = match command {
            Command::Call(call) => self.call(call),
            Command::Send { to, tag, pieces } => {
                self.gave = true;
                pieces.into_iter().try_for_each(|piece| self.transport.send(to, tag, piece))
            }
            Command::Fail { to, tag, error } => {
                let text = [error.tried(), error.found(), error.advice(), &place_of(&error)].join("\0");
                self.tell(to, FAILED, &[tag, error.kind().number()], &text)
            }
            Command::Read { of, number } => self.tell(of, READ, &[number], ""),
            Command::Expect(mut expected) => match &self.dead {
                Some(error) => {
                    (expected.deliver)(Err(error.clone()));
                    Ok(())
                }
                None => {
                    let (from, tag, mut into) = (expected.from, expected.tag, expected.into.drain(..));
                    let begun = into.try_for_each(|into| self.transport.receive_into(from, tag, into));
                    drop(into);
                    self.expected.push(expected);
                    begun
                }
            },
            Command::Leave { said, dies } => {
                self.left = true;
                match dies {
                    Some(found) => Err(found),
                    None => self.tell_all(LEFT, &[self.calls], &said.unwrap_or_default()),
                }
            }
        };
        if let Err(found) = done {
            self.die(found);
        }
    }

    fn call(&mut self, call: Call) -> Result<(), String> {
        self.calls = call.number;
        if self.transport.ranks() > 1 {
            let next = (self.transport.rank() + 1) % self.transport.ranks();
            self.tell(next, CALL, &[call.number], &[&*call.text, &call.next].join("\0"))?;
            self.own.push_back(call.clone());
        }
        self.last = Some(call);
        Ok(())
    }

    fn tell(&mut self, to: usize, kind: u8, numbers: &[u64], text: &str) -> Result<(), String> {
        if self.dead.is_some() {
            return Ok(());
        }
        let mut bytes = vec![kind];
        bytes.extend((self.transport.rank() as u64).to_le_bytes());
        (0..2).for_each(|n| bytes.extend(numbers.get(n).copied().unwrap_or(0).to_le_bytes()));
        bytes.extend(text.as_bytes());
        self.transport.send(to, WORDS, Box::new(Bytes::of(&bytes)))
    }

    fn tell_all(&mut self, kind: u8, numbers: &[u64], text: &str) -> Result<(), String> {
        let me = self.transport.rank();
        (0..self.transport.ranks()).filter(|to| *to != me).try_for_each(|to| self.tell(to, kind, numbers, text))
    }

    /// Tells all now and then that this rank gives something to some: who waits for it may not be among these.
    fn tell_of_work(&mut self) -> Result<(), String> {
        let Some(most) = self.timeout.filter(|_| self.gave && !self.left) else { return Ok(()) };
        if self.told.elapsed() < most / 4 {
            return Ok(());
        }
        (self.gave, self.told) = (false, Instant::now());
        self.tell_all(WORKS, &[], "")
    }

    /// Looks at all that may have come; whether something has.
    fn turn(&mut self) -> Result<bool, String> {
        if self.dead.is_some() {
            return Ok(false);
        }
        if let Some(why) = self.transport.aborted() {
            self.fail_all(&why);
            return Ok(true);
        }
        self.tell_of_work()?;
        let mut moved = false;
        while let Some(words) = self.transport.receive(None, WORDS)? {
            self.heard(words.as_slice())?;
            moved = true;
        }
        self.compare()?;
        let mut n = 0;
        while n < self.expected.len() {
            match self.look(n)? {
                Some(result) => {
                    let Expected { deliver, .. } = self.expected.swap_remove(n);
                    deliver(result);
                    moved = true;
                }
                None => n += 1,
            }
        }
        self.under_way = self.transport.under_way()? > 0;
        Ok(moved)
    }

    /// What became of something that is waited for, if that is known.
    fn look(&mut self, n: usize) -> Result<Option<Result<Vec<Bytes>, Error>>, String> {
        let Expected { from, tag, sizes, text, since, came, .. } = &mut self.expected[n];
        if let Some(error) = self.failed.remove(&(*from, *tag)) {
            return Ok(Some(Err(error)));
        }
        while came.len() < sizes.len() {
            let Some(piece) = self.transport.receive(Some(*from), *tag)? else { break };
            let (found, wanted) = (piece.as_slice().len(), sizes[came.len()]);
            if wanted.is_some_and(|wanted| wanted != found) {
                let wanted = wanted.unwrap_or(0);
                return Err(format!("that rank {from} gives {found} bytes, where {wanted} are taken by {text}"));
            }
            self.heard[*from] = Instant::now();
            came.push(piece);
        }
        if came.len() == sizes.len() {
            return Ok(Some(Ok(std::mem::take(came))));
        }
        // What is recorded far ahead waits long, while the other rank gives what comes before.
        let silent = self.heard[*from].max(*since).elapsed();
        if self.timeout.is_some_and(|most| silent > most) {
            let seconds = silent.as_secs();
            return Err(format!("that rank {from} has given nothing for {seconds} s (TIDA_RANKS_TIMEOUT) for {text}"));
        }
        Ok(None)
    }

    fn heard(&mut self, words: &[u8]) -> Result<(), String> {
        let number = |n: usize| words.get(1 + 8 * n..9 + 8 * n).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
        let (Some(kind), Some(from), Some(first), Some(second)) = (words.first(), number(0), number(1), number(2))
        else {
            return Err("words of another rank that are cut off".into());
        };
        let text = String::from_utf8_lossy(words.get(25..).unwrap_or_default()).into_owned();
        let from = from as usize;
        if let Some(heard) = self.heard.get_mut(from) {
            *heard = Instant::now();
        }
        match *kind {
            CALL => {
                let (text, next) = text.split_once('\0').unwrap_or((&text, ""));
                let (text, next, before) = (text.to_owned(), next.to_owned(), String::new());
                self.theirs.push_back(Call { number: first, text, before, next });
            }
            FAILED => {
                let mut parts = text.split('\0').map(str::to_owned);
                let mut part = || parts.next().unwrap_or_default();
                let (tried, found, advice, place) = (part(), part(), part(), part());
                let error =
                    Error::new(ErrorKind::of_number(second), tried, format!("{found}, on rank {from}{place}"), advice);
                self.failed.insert((from, first), error);
            }
            LEFT => {
                if let Some(bye) = self.byes.get_mut(from) {
                    *bye = Some(Bye { calls: first, said: text });
                }
            }
            READ => self.mailboxes.read(first),
            // It was heard.
            WORKS => {}
            ENDS => self.end_with(&text),
            other => return Err(format!("a message of kind {other}, which this program does not know")),
        }
        Ok(())
    }

    /// Compares the calls of this rank with those of the one before it, and with how many all others made.
    fn compare(&mut self) -> Result<(), String> {
        let (me, all) = (self.transport.rank(), self.transport.ranks());
        let before = (me + all - 1) % all;
        while let (Some(own), Some(theirs)) = (self.own.front(), self.theirs.front()) {
            if (own.number, &own.text) != (theirs.number, &theirs.text) {
                let Call { number, text, .. } = own;
                return Err(format!(
                    "that ranks run different programs: call {number} of rank {me} is {text}, and call {} of rank \
                     {before} is {}",
                    theirs.number, theirs.text
                ));
            }
            if own.before != theirs.next {
                return Err(format!(
                    "that ranks {before} and {me} have computed other things beside the planes that they hold of one \
                     another (`.overlap(..)`), before call {} of both: {}; have all tiles of a loop computed by one \
                     kernel with the same captured values, or leave `.overlap(..)` out",
                    own.number, own.text
                ));
            }
            self.own.pop_front();
            self.theirs.pop_front();
        }
        for (rank, bye) in self.byes.iter().enumerate() {
            let Some(bye) = bye.as_ref().filter(|bye| bye.calls < self.calls) else { continue };
            let last = self.last.as_ref().map_or("none", |call| &call.text);
            let said = if bye.said.is_empty() { String::new() } else { format!(" Its last error: {}", bye.said) };
            return Err(format!(
                "that rank {rank} ended after {} calls, where rank {me} made call {}: {last}.{said}",
                bye.calls, self.calls
            ));
        }
        Ok(())
    }

    /// Ends all ranks. Launchers do not bear that several ask for that at once, so the first rank asks, and the others
    /// tell it; another one asks where that does not help.
    fn die(&mut self, found: String) {
        if self.dead.is_some() {
            return;
        }
        let me = self.transport.rank();
        let why = format!("rank {me} found {found}");
        // Nobody else may be left to say it.
        self.transport.say(&format!("{why}; all ranks end"));
        let told = self.tell_all(ENDS, &[], &why);
        // Those that wait are told, in case that this process goes on for a moment.
        self.fail_all(&why);
        if me != 0 && told.is_ok() {
            let since = Instant::now();
            // What was told comes along by looks.
            while since.elapsed() < LEAVES && self.transport.under_way().is_ok() && self.transport.aborted().is_none() {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        self.transport.abort(&why);
    }

    /// Another rank ends all: the first rank asks the launcher, the others wait for it.
    fn end_with(&mut self, why: &str) {
        if self.dead.is_some() {
            return;
        }
        self.fail_all(why);
        match self.transport.rank() {
            0 => self.transport.abort(why),
            _ => self.transport.await_end(),
        }
    }

    fn fail_all(&mut self, why: &str) {
        let advice = "have every rank make the same calls in the same order; what a rank found may not decide which";
        let error = Error::new(ErrorKind::Ranks, "run one program on several ranks", why, advice);
        self.dead = Some(error.clone());
        self.mailboxes.leave();
        self.expected.drain(..).for_each(|expected| (expected.deliver)(Err(error.clone())));
    }
}

/// Where failed work was recorded, in words.
fn place_of(error: &Error) -> String {
    error.recorded().map_or_else(String::new, |at| format!(" (recorded at {at})"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::super::FakeRank;
    use super::*;

    /// A rank over these, which waits for something of this rank since long ago.
    fn waiting(rank: FakeRank, from: usize) -> Post {
        let (_say, commands) = mpsc::channel();
        let timeout = Some(Duration::from_secs(60));
        let mut post = Post::new(Box::new(rank), (commands, Arc::default()), timeout);
        let (text, deliver) = ("fill_ghosts at heat.rs:7".to_owned(), Box::new(|_| {}));
        let (sizes, into, came) = (vec![Some(8)], Vec::new(), Vec::new());
        post.expected.push(Expected { from, tag: 9, sizes, into, text, since: long_ago(), came, deliver });
        post
    }

    fn long_ago() -> Instant {
        Instant::now().checked_sub(Duration::from_secs(100)).unwrap()
    }

    /// What was recorded far ahead may wait for long, if its rank gives what comes before.
    #[test]
    fn a_rank_is_given_up_once_it_gives_nothing_for_too_long() {
        let mut post = waiting(FakeRank::all(2, 1, 0).remove(0), 1);
        assert!(matches!(post.look(0), Ok(None)));
        post.heard[1] = long_ago();
        let found = post.look(0).map(|_| ()).unwrap_err();
        assert!(found.contains("rank 1 has given nothing for 100 s (TIDA_RANKS_TIMEOUT) for fill_ghosts"), "{found}");
    }

    /// The last rank waits for the first one, which gives something to the one between them alone.
    #[test]
    fn a_rank_that_gives_others_something_is_not_given_up() {
        let mut ranks = FakeRank::all(3, 1, 0).into_iter();
        let mut first = waiting(ranks.next().unwrap(), 1);
        let mut last = waiting(ranks.next_back().unwrap(), 0);
        (first.told, last.heard[0]) = (long_ago(), long_ago());
        first.turn().unwrap();
        assert!(last.turn().unwrap_err().contains("rank 0 has given nothing"));
        first.obey(Command::Send { to: 1, tag: 8, pieces: vec![Box::new(Bytes::of(&[0; 8]))] });
        first.turn().unwrap();
        last.turn().unwrap();
    }
}
