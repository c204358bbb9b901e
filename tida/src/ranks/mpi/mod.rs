//! Messages by MPI. The library is looked for when a program asks for ranks: nothing of MPI is needed to build.
//!
//! One thread calls MPI, from its start to its end.

mod sys;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use self::sys::{ANY_TAG, FUNNELED, Handle, Mpi, Status};
use super::bytes::Bytes;
use super::cannot_start;
use super::transport::{Host, Parcel, Stretch, Target, Transport};
use crate::error::Error;
use crate::variables::text_of;

/// Libraries that are looked for, where `TIDA_MPI` names none: Open MPI 4 and 5, MPICH, MPICH of Debian, any.
const NAMES: [&str; 4] = ["libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi.so"];

/// Tags below this are enough that no two messages under way have the same.
const TAGS: i64 = 1 << 24;

/// How long a rank waits for the launcher to end it, once one has asked for that.
const LONGEST: Duration = Duration::from_secs(5);

/// Ends this process. What the program and its libraries left for its end does not run: they may wait for other ranks.
fn end_after(time: Duration) -> ! {
    std::thread::sleep(time);
    // SAFETY: it takes any number, and does not return.
    unsafe { libc::_exit(1) }
}

static STARTED: AtomicBool = AtomicBool::new(false);

/// Says that MPI is about to start, which it does once in a process.
///
/// # Errors
/// That it has started before.
pub(super) fn check() -> Result<(), Error> {
    if STARTED.swap(true, Ordering::SeqCst) {
        let advice = "use one accelerator for all arrays; others say `.ranks(Ranks::Off)`";
        return Err(cannot_start("a second accelerator of ranks in this process, where MPI starts once", advice));
    }
    Ok(())
}

/// A receive that has begun.
struct Receiving {
    from: c_int,
    tag: c_int,
    request: Handle,
    into: Bytes,
}

/// A receive of a piece that is on a device of another rank: begun before it is there, so that MPI puts it where it
/// goes to.
struct Posted {
    from: c_int,
    tag: c_int,
    request: Handle,
    into: Target,
}

/// MPI, between its start and its end.
pub(super) struct OverMpi {
    mpi: Mpi,
    rank: usize,
    ranks: usize,
    host: Host,
    /// All ranks, for pieces that are on devices.
    devices: Handle,
    /// Tags from 0 to here.
    most: u64,
    sends: Vec<(Handle, Box<dyn Parcel>)>,
    /// What comes, in the order in which it was found.
    receives: Vec<Receiving>,
    posted: Vec<Posted>,
    /// What has come, by rank and tag.
    inbox: HashMap<(c_int, c_int), VecDeque<Bytes>>,
}

/// Finds a library and starts it.
///
/// # Errors
/// No library; one that is not what started the program.
pub(super) fn open() -> Result<OverMpi, Error> {
    let mut found = Vec::new();
    let named = text_of("TIDA_MPI");
    let ordered = |is_mpich: bool| if is_mpich { [1, 2, 0, 3] } else { [0, 1, 2, 3] }.map(|n| NAMES[n].to_owned());
    let of_mpich = text_of("PMI_RANK").is_some() && text_of("OMPI_COMM_WORLD_SIZE").is_none();
    let names = named.clone().map_or_else(|| ordered(of_mpich).to_vec(), |name| vec![name]);
    for name in &names {
        // SAFETY: these are names of libraries of MPI, or what the user says is one.
        match unsafe { Mpi::open(name) } {
            Ok(mpi) => return OverMpi::start(mpi, name),
            Err(why) => found.push(why),
        }
    }
    let advice = "install Open MPI or MPICH, or name its library with the environment variable TIDA_MPI";
    Err(cannot_start(found.join("; "), advice))
}

impl OverMpi {
    fn start(mut mpi: Mpi, name: &str) -> Result<OverMpi, Error> {
        let failed = |found: String| cannot_start(format!("{found} ({name})"), "see what MPI says");
        let (world, mut provided) = (mpi.constants.world, 0);
        let none = std::ptr::null_mut();
        // SAFETY: it has not been started (`check`); the arguments may be missing; this thread makes all calls.
        let code = unsafe { (mpi.MPI_Init_thread)(none, std::ptr::null_mut(), FUNNELED, &mut provided) };
        said(&mpi, "MPI_Init_thread", code).map_err(failed)?;
        mpi.ask_for_devices();
        let (mut rank, mut ranks, mut near, mut on_host, mut number) = (0, 0, 0, 1, 0);
        let (mut most, mut known): (*const c_int, c_int) = (std::ptr::null(), 0);
        let (of, mut first, mut devices): (_, c_int, Handle) = (mpi.constants, 0, 0);
        // SAFETY: MPI has started; the places for the answers are valid.
        let most = unsafe {
            said(&mpi, "MPI_Comm_set_errhandler", (mpi.MPI_Comm_set_errhandler)(world, of.errors_return))
                .and_then(|()| said(&mpi, "MPI_Comm_dup", (mpi.MPI_Comm_dup)(world, &mut devices)))
                .and_then(|()| said(&mpi, "MPI_Comm_rank", (mpi.MPI_Comm_rank)(world, &mut rank)))
                .and_then(|()| said(&mpi, "MPI_Comm_size", (mpi.MPI_Comm_size)(world, &mut ranks)))
                .and_then(|()| {
                    let code = (mpi.MPI_Comm_split_type)(world, of.shared, 0, of.info_null, &mut near);
                    said(&mpi, "MPI_Comm_split_type", code)
                })
                .and_then(|()| said(&mpi, "MPI_Comm_size", (mpi.MPI_Comm_size)(near, &mut on_host)))
                .and_then(|()| said(&mpi, "MPI_Comm_rank", (mpi.MPI_Comm_rank)(near, &mut number)))
                .and_then(|()| {
                    first = rank;
                    said(&mpi, "MPI_Bcast", (mpi.MPI_Bcast)((&raw mut first).cast(), 4, of.byte, 0, near))
                })
                .and_then(|()| {
                    let code = (mpi.MPI_Comm_get_attr)(world, of.tag_ub, (&raw mut most).cast(), &mut known);
                    said(&mpi, "MPI_Comm_get_attr", code)
                })
                .map_err(failed)?;
            // What it gives is an address that stays.
            if known != 0 && !most.is_null() { i64::from(*most) } else { 32767 }
        };
        if most < TAGS {
            return Err(failed(format!("tags up to {most}, of which tida needs {TAGS}")));
        }
        let launched =
            ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].into_iter().find_map(|name| text_of(name)?.parse::<c_int>().ok());
        if let Some(launched) = launched.filter(|launched| *launched != ranks) {
            let found = format!("{ranks} rank by the library {name}, where {launched} were launched");
            return Err(cannot_start(found, "name the library of the launcher with the environment variable TIDA_MPI"));
        }
        let [rank, ranks, on_host, number, first] = [rank, ranks, on_host, number, first].map(|n| n.max(0) as usize);
        let host = Host { first, number, ranks: on_host };
        let (sends, receives, posted, inbox) = Default::default();
        Ok(OverMpi { mpi, rank, ranks, host, devices, most: most as u64, sends, receives, posted, inbox })
    }

    fn said(&self, call: &str, code: c_int) -> Result<(), String> {
        said(&self.mpi, call, code)
    }

    /// A tag of MPI: the first is that of words, the others follow one another in a circle.
    fn tag(&self, tag: u64) -> c_int {
        if tag == 0 { 0 } else { (1 + (tag - 1) % (self.most - 1)) as c_int }
    }

    /// Takes all that has come. One question for all messages: each may take long, as MPI may give the processor away.
    fn look(&mut self) -> Result<(), String> {
        while let Some(begun) = self.begin()? {
            self.receives.push(begun);
        }
        let mut n = 0;
        while n < self.receives.len() {
            let key = |of: &Receiving| (of.from, of.tag);
            let is_next = self.receives[..n].iter().all(|before| key(before) != key(&self.receives[n]));
            let mut request = self.receives[n].request;
            if is_next && self.has_ended(&mut request)?.is_some() {
                let Receiving { from, tag, into, .. } = self.receives.remove(n);
                self.inbox.entry((from, tag)).or_default().push_back(into);
            } else {
                self.receives[n].request = request;
                n += 1;
            }
        }
        self.look_for_posted()
    }

    /// The same of pieces that come from devices.
    fn look_for_posted(&mut self) -> Result<(), String> {
        let mut n = 0;
        while n < self.posted.len() {
            let mut request = self.posted[n].request;
            let Some(status) = self.has_ended(&mut request)? else {
                self.posted[n].request = request;
                n += 1;
                continue;
            };
            let Posted { from, tag, into, .. } = self.posted.remove(n);
            let mut count = 0;
            // SAFETY: the status is that of the message.
            let code = unsafe { (self.mpi.MPI_Get_count)(&status, self.mpi.constants.byte, &mut count) };
            self.said("MPI_Get_count", code)?;
            if count.max(0) as usize != into.bytes() {
                let wanted = into.bytes();
                return Err(format!("{count} bytes from a device of rank {from}, where {wanted} are taken"));
            }
            self.inbox.entry((from, tag)).or_default().push_back(into.into_host());
        }
        Ok(())
    }

    /// Looks for a message, and begins to receive it.
    fn begin(&mut self) -> Result<Option<Receiving>, String> {
        let (mut flag, mut message, mut status): (c_int, Handle, Status) = (0, 0, Status::default());
        let of = self.mpi.constants;
        // SAFETY: the places for the answers are valid, and large enough for what either library writes.
        let code =
            unsafe { (self.mpi.MPI_Improbe)(of.any_source, ANY_TAG, of.world, &mut flag, &mut message, &mut status) };
        self.said("MPI_Improbe", code)?;
        if flag == 0 {
            return Ok(None);
        }
        let mut count = 0;
        // SAFETY: the status is that of the message.
        self.said("MPI_Get_count", unsafe { (self.mpi.MPI_Get_count)(&status, of.byte, &mut count) })?;
        let (mut into, mut request) = (Bytes::new(count.max(0) as usize), 0);
        let start = into.start().cast();
        // SAFETY: there is room for so many bytes, which stay where they are until the request has ended.
        let code = unsafe { (self.mpi.MPI_Imrecv)(start, count, of.byte, &mut message, &mut request) };
        self.said("MPI_Imrecv", code)?;
        let (from, tag) = of.source_and_tag(&status);
        Ok(Some(Receiving { from, tag, request, into }))
    }

    /// How a request has ended, if it has.
    fn has_ended(&self, request: &mut Handle) -> Result<Option<Status>, String> {
        let (mut flag, mut status): (c_int, Status) = (0, Status::default());
        // SAFETY: the request is one that has begun, and the places for the answers are valid.
        let code = unsafe { (self.mpi.MPI_Test)(request, &mut flag, &mut status) };
        self.said("MPI_Test", code)?;
        Ok((flag != 0).then_some(status))
    }
}

/// What MPI says of a call that failed.
fn said(mpi: &Mpi, call: &str, code: c_int) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    let (mut text, mut length) = ([0; 1024], 0);
    // SAFETY: the text has more room than any library takes (256 to 1024 characters, with a 0 at the end).
    let known = unsafe { (mpi.MPI_Error_string)(code, text.as_mut_ptr(), &mut length) };
    text[1023] = 0;
    // SAFETY: there is a 0 at the end.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
    Err(if known == 0 { format!("{text} ({call})") } else { format!("result {code} of {call}") })
}

/// So many bytes, for MPI.
fn count(bytes: usize) -> Result<c_int, String> {
    let most = |_| format!("a message of {bytes} bytes, where MPI takes 2 GiB at most: read smaller boxes");
    c_int::try_from(bytes).map_err(most)
}

/// Where MPI finds memory of a device.
fn address(of: &Stretch) -> Result<*mut c_void, String> {
    let address = of.address().ok_or("a message in memory of a device that has no addresses")?;
    // Of no object of this program: only MPI and the driver use it.
    Ok(std::ptr::without_provenance_mut(address as usize))
}

impl Transport for OverMpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn host(&self) -> Host {
        self.host
    }

    fn takes_devices(&self) -> bool {
        self.mpi.takes_devices
    }

    fn send(&mut self, to: usize, tag: u64, mut parcel: Box<dyn Parcel>) -> Result<(), String> {
        let (of, tag, mut request) = (self.mpi.constants, self.tag(tag), 0);
        let (start, bytes, all) = match parcel.on_device() {
            Some(stretch) => (address(stretch)?.cast_const(), stretch.bytes(), self.devices),
            None => {
                let bytes = parcel.bytes();
                (bytes.as_ptr().cast(), bytes.len(), of.world)
            }
        };
        let count = count(bytes)?;
        // SAFETY: the memory stays as it is until the request has ended: the parcel is kept until then. This library
        // takes memory of devices, if it is such.
        let code = unsafe { (self.mpi.MPI_Isend)(start, count, of.byte, to as c_int, tag, all, &mut request) };
        self.said("MPI_Isend", code)?;
        self.sends.push((request, parcel));
        Ok(())
    }

    fn receive(&mut self, from: Option<usize>, tag: u64) -> Result<Option<Bytes>, String> {
        let tag = self.tag(tag);
        let found = match from {
            Some(from) => Some((from as c_int, tag)),
            // Words of any rank, for which the thread asks first in each turn.
            None => {
                self.look()?;
                self.inbox.keys().copied().find(|(_, of)| *of == tag)
            }
        };
        let Some(Entry::Occupied(mut of)) = found.map(|key| self.inbox.entry(key)) else { return Ok(None) };
        let piece = of.get_mut().pop_front();
        if of.get().is_empty() {
            of.remove();
        }
        Ok(piece)
    }

    fn receive_into(&mut self, from: usize, tag: u64, mut into: Target) -> Result<(), String> {
        let (of, tag, mut request) = (self.mpi.constants, self.tag(tag), 0);
        let (from, count) = (from as c_int, count(into.bytes())?);
        let start = match &mut into {
            Target::Device(stretch) => address(stretch)?,
            Target::Host(bytes) => bytes.start().cast(),
        };
        // SAFETY: there is room for so many bytes, which is kept until the request has ended. As in `send`.
        let code = unsafe { (self.mpi.MPI_Irecv)(start, count, of.byte, from, tag, self.devices, &mut request) };
        self.said("MPI_Irecv", code)?;
        self.posted.push(Posted { from, tag, request, into });
        Ok(())
    }

    fn under_way(&mut self) -> Result<usize, String> {
        let mut n = 0;
        while n < self.sends.len() {
            let mut request = self.sends[n].0;
            if self.has_ended(&mut request)?.is_some() {
                drop(self.sends.swap_remove(n));
            } else {
                self.sends[n].0 = request;
                n += 1;
            }
        }
        Ok(self.sends.len() + self.receives.len())
    }

    fn say(&self, text: &str) {
        eprintln!("tida: {text}");
    }

    fn abort(&mut self, _: &str) {
        // The library waits for the launcher, which may hang.
        let _ = std::thread::Builder::new().spawn(|| end_after(LONGEST));
        // SAFETY: MPI has started. It ends the process.
        unsafe { (self.mpi.MPI_Abort)(self.mpi.constants.world, 1) };
        end_after(Duration::ZERO);
    }

    fn await_end(&mut self) {
        end_after(LONGEST);
    }

    fn aborted(&self) -> Option<String> {
        None
    }

    fn end(&mut self) {
        // SAFETY: all that was sent has been received; this thread has started MPI.
        unsafe { (self.mpi.MPI_Finalize)() };
    }
}
