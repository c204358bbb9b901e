//! Models of nodes, gates and of who waits: small programs of a few threads that loom runs in every order, with every
//! value that a load may give. They use the types of the library itself (`sync.rs`). `tests/models.rs` runs them.
//!
//! Where a thread runs what it was given, it reads cells that others wrote with no other order than that of the nodes:
//! loom finds whoever reads too early.

use std::panic::Location;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::unfinished::Unfinished;
use crate::error::{Error, ErrorKind};
use crate::memory::node::{Launched, Next, Node, Work};
use crate::parallel::lanes::Lanes;
use crate::program::deps::Need;
use crate::run::chain::Chain;
use crate::run::gate::{Gate, Ready};
pub use crate::sync::Fault;
use crate::sync::with_fault;

/// Checks every run of a model; gives what it says if one fails.
fn check(model: fn()) -> Result<(), String> {
    let checked = std::panic::catch_unwind(|| {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    });
    checked.map_err(|payload| match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().copied().unwrap_or_default().to_owned(),
    })
}

/// Every model, with its name.
pub const MODELS: &[(&str, fn())] = &[
    ("predecessors", predecessors),
    ("failures", failures),
    ("launches", launches),
    ("a_node_is_waited_for", a_node_is_waited_for),
    ("all_are_waited_for", all_are_waited_for),
    ("room_is_waited_for", room_is_waited_for),
    ("a_chain_starts_once", a_chain_starts_once),
    ("lanes_follow_each_other", lanes_follow_each_other),
];

/// Checks a model, as the library is or with a fault; gives what loom says if it fails.
///
/// # Errors
/// What went wrong in some run of the model.
pub fn run(name: &str, fault: Option<Fault>) -> Result<(), String> {
    let (_, model) = MODELS.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("no model {name}"))?;
    match fault {
        None => check(*model),
        Some(fault) => with_fault(fault, || check(*model)),
    }
}

fn host(name: &'static str) -> Arc<Node> {
    Node::new(name, Location::caller(), false, None)
}

fn device(name: &'static str) -> Arc<Node> {
    Node::new(name, Location::caller(), true, None)
}

fn failure(node: &Node) -> Error {
    node.failed(Error::new(ErrorKind::Panic, "run a model", "a failure", "expect it"))
}

/// Data of a node's, which only the order of nodes protects.
struct Data(UnsafeCell<u32>);

// SAFETY: loom fails the model if two threads get at it and nothing orders them.
unsafe impl Sync for Data {}

impl Data {
    fn new() -> Arc<Data> {
        Arc::new(Data(UnsafeCell::new(0)))
    }

    fn write(&self) {
        // SAFETY: loom checks that no other thread is there.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    fn read(&self) -> u32 {
        // SAFETY: loom checks that no other thread writes.
        self.0.with(|value| unsafe { *value })
    }
}

/// A node that waits for two others, which end while it is recorded: it is given to one thread, which sees what both
/// did.
fn predecessors() {
    let (first, second, last) = (host("first"), host("second"), host("last"));
    let data = [Data::new(), Data::new()];
    let run = {
        let (data, last) = (data.clone(), last.clone());
        move |ready: Next| {
            for node in ready {
                assert!(Arc::ptr_eq(&node, &last));
                assert_eq!(data.each_ref().map(|data| data.read()), [1, 1]);
                // Who runs it takes its work, which is there once.
                let (work, failure) = node.take_work();
                assert!(matches!(work, Some(Work::Host(_))) && failure.is_none());
            }
        }
    };
    let threads = [(first.clone(), 0), (second.clone(), 1)].map(|(node, number)| {
        let (data, run) = (data[number].clone(), run.clone());
        thread::spawn(move || {
            data.write();
            run(node.finish(Ok(())));
        })
    });
    last.set_work(Work::Host(Box::new(|| Ok(()))));
    last.wait_for(&first, Need::Data);
    last.wait_for(&second, Need::Order);
    if last.release() {
        run(Next::from_iter([last.clone()]));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|_| panic!("a thread failed")));
    assert!(last.take_work().0.is_none(), "nobody ran the last node");
}

/// A failure comes to who needs the data, however late that is recorded, and not to who only comes later.
fn failures() {
    let (first, reader, writer) = (host("first"), host("reader"), host("writer"));
    let ended = {
        let first = first.clone();
        thread::spawn(move || {
            let error = failure(&first);
            first.finish(Err(error)).len()
        })
    };
    reader.wait_for(&first, Need::Data);
    writer.wait_for(&first, Need::Order);
    let here = [&reader, &writer].into_iter().filter(|node| node.release()).count();
    let there = ended.join().unwrap_or_else(|_| panic!("a thread failed"));
    assert_eq!(here + there, 2, "not each was given to one thread");
    assert!(reader.take_work().1.is_some(), "who needs the data was not told of the failure");
    assert!(writer.take_work().1.is_none(), "who only comes later was told of the failure");
}

/// Nodes on the device wait until the commands before them are in a stream, those on the host for their end.
fn launches() {
    let (first, beside, after) = (device("first"), device("beside"), host("after"));
    let data = [Data::new(), Data::new()];
    let runs = {
        let (data, beside, after) = (data.clone(), beside.clone(), after.clone());
        move |node: &Arc<Node>| {
            if Arc::ptr_eq(node, &beside) {
                assert_eq!(data[0].read(), 1);
                // It finds in which stream to wait for what is not done.
                assert!(beside.take_before().iter().all(|node| node.launched().is_some()));
            } else {
                assert!(Arc::ptr_eq(node, &after));
                assert_eq!(data[1].read(), 1);
            }
        }
    };
    let ended = {
        let (first, data, runs) = (first.clone(), data.clone(), runs.clone());
        thread::spawn(move || {
            data[0].write();
            let launched = first.set_launched(Launched { device: 0, stream: 0, event: None, early: None });
            data[1].write();
            let ended = first.finish(Ok(()));
            launched.iter().chain(&ended).for_each(&runs);
            launched.len() + ended.len()
        })
    };
    beside.wait_for(&first, Need::Data);
    after.wait_for(&first, Need::Data);
    let here: Vec<_> = [&beside, &after].into_iter().filter(|node| node.release()).collect();
    here.iter().for_each(|node| runs(node));
    let there = ended.join().unwrap_or_else(|_| panic!("a thread failed"));
    assert_eq!(here.len() + there, 2, "not each was given to one thread");
}

/// Records nodes and ends each in a thread of its own, while `wait` waits in this one. The result of each is in its
/// data.
fn wait_while(nodes: usize, look_ahead: usize, wait: impl FnOnce(&Unfinished, &[(Arc<Node>, Arc<Data>)])) {
    let unfinished = Arc::new(Unfinished::new(look_ahead));
    let nodes: Vec<_> = (0..nodes).map(|_| (host("node"), Data::new())).collect();
    nodes.iter().for_each(|_| unfinished.add());
    let threads: Vec<_> = nodes
        .iter()
        .map(|(node, data)| {
            let (node, data, unfinished) = (node.clone(), data.clone(), unfinished.clone());
            thread::spawn(move || {
                data.write();
                node.finish(Ok(()));
                unfinished.ended(&node);
            })
        })
        .collect();
    wait(&unfinished, &nodes);
    threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|_| panic!("a thread failed")));
    assert_eq!(unfinished.count(), 0);
}

/// Who waits for a node sees its end or is woken by it, while others end too.
fn a_node_is_waited_for() {
    wait_while(2, 100, |unfinished, nodes| {
        let (node, data) = &nodes[0];
        unfinished.wait_for(node, |done| unfinished.sleep_until(done));
        assert!(node.is_finished() && data.read() == 1);
    });
}

/// Who waits for all is woken by the last.
fn all_are_waited_for() {
    wait_while(2, 100, |unfinished, nodes| {
        unfinished.wait_for_all(|done| unfinished.sleep_until(done));
        assert!(nodes.iter().all(|(node, data)| node.is_finished() && data.read() == 1));
    });
}

/// Who waits for room is woken once half of the look-ahead is done.
fn room_is_waited_for() {
    wait_while(2, 2, |unfinished, nodes| {
        if unfinished.is_full() {
            unfinished.wait_for_room(|done| unfinished.sleep_until(done));
        }
        let ended = |(node, data): &(Arc<Node>, Arc<Data>)| node.is_finished() && data.read() == 1;
        assert!(nodes.iter().any(ended));
    });
}

/// A chain of two nodes, which stop waiting while it is closed, one of them with a failure: it is given once, with
/// that.
fn a_chain_starts_once() {
    let gate = Gate::new();
    let nodes = [host("first"), host("second")];
    nodes.iter().for_each(|_| gate.add());
    let threads = [(0, false), (1, true)].map(|(number, fails)| {
        let (gate, node) = (gate.clone(), nodes[number].clone());
        thread::spawn(move || gate.arrive(&node, fails.then(|| failure(&node))))
    });
    let mut given: Vec<Ready<Chain>> = gate.close(Chain::default()).into_iter().collect();
    for thread in threads {
        given.extend(thread.join().unwrap_or_else(|_| panic!("a thread failed")));
    }
    assert_eq!(given.len(), 1, "the chain was given {} times", given.len());
    assert_eq!(given[0].failed.len(), 1, "a failure was lost");
}

/// Two threads go along three lanes of two steps. Each step reads what the lane before wrote in it, and nobody else
/// writes there.
fn lanes_follow_each_other() {
    let lanes = Arc::new(Lanes::new(3));
    let data: Arc<[[Arc<Data>; 2]; 3]> = Arc::new([(); 3].map(|()| [Data::new(), Data::new()]));
    let work = {
        let (lanes, data) = (lanes.clone(), data.clone());
        move || {
            lanes.work(2, |lane, step| {
                data[lane][step].write();
                if let Some(before) = lane.checked_sub(1) {
                    assert_eq!(data[before][step].read(), 1);
                }
            });
        }
    };
    let other = thread::spawn(work.clone());
    work();
    other.join().unwrap_or_else(|_| panic!("a thread failed"));
    assert!(data.iter().flatten().all(|data| data.read() == 1), "a step was not taken once");
}
