//! In which order the regions of a chain are worked on, and which of them are on the device meanwhile.
//!
//! The work of a chain is a list of tasks, each of one region of some arrays. An *item* is a region of an array: its
//! memory on the device, ghosts included. [`order`] chooses the order of tasks: what is on the device is worked on as
//! long as what it needs is there, step after step. [`place`] then knows the future: it keeps what is needed soonest,
//! and gives each item its place in one block of memory.
//!
//! Nothing here knows of devices.

use std::collections::{BTreeSet, VecDeque};

use smallvec::SmallVec;

use super::steps::{After, Move, Step};

/// A piece of work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    /// Items that are on the device while it runs, each once.
    pub needs: SmallVec<[ItemNeed; 4]>,
    /// Other items that it reads a part of, wherever they are, and bytes of that part.
    pub strips: SmallVec<[(usize, usize); 8]>,
    /// Tasks that have to run before; all of them come before it in the list.
    pub after: SmallVec<[usize; 8]>,
    /// It may run on the host instead, where the newest values are there.
    pub anywhere: bool,
}

/// An item that a task needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemNeed {
    pub item: usize,
    /// What it holds is needed; otherwise the task overwrites all of it that counts.
    pub load: bool,
    pub write: bool,
}

/// What comes to the device, or goes to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RegionPiece {
    /// An item in its place, from this byte on. It comes from the host if `load` says so; otherwise it may hold
    /// anything.
    Item { item: usize, at: usize, load: bool },
    /// The strips of these items, for a task. The host packs them, after the same stores.
    Strips { task: usize, items: Vec<usize> },
}

/// A step of the plan, with the number of the task that runs.
pub(crate) type RegionStep = Step<RegionPiece, usize>;

/// All steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub steps: Vec<RegionStep>,
    /// Items that leave the device before the end, so that others have room.
    pub evictions: usize,
}

/// The memory is too small for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooSmall {
    pub task: usize,
    /// Bytes of its items.
    pub needed: usize,
}

/// Tasks that are looked at for the next one: the oldest that may run, and those that may run since last.
const SCAN: usize = 256;

/// Items that one of so many steps before has used stay where they are, if others can leave that are needed not much
/// sooner: then what follows is loaded while they are worked on.
const RECENT: usize = 2;

/// Orders tasks: next is one whose items are on the device, else the one that needs the fewest bytes to come there,
/// less those that it finds there.
pub(crate) fn order(tasks: &[Task], sizes: &[usize], room: usize) -> Vec<usize> {
    let mut chooser = Chooser::new(tasks, sizes, room);
    let mut chosen = Vec::with_capacity(tasks.len());
    while let Some(task) = chooser.next() {
        chooser.run(task);
        chosen.push(task);
    }
    chosen
}

/// A guess of what is on the device while tasks are chosen.
struct Chooser<'a> {
    tasks: &'a [Task],
    sizes: &'a [usize],
    room: usize,
    used: usize,
    there: Vec<bool>,
    residents: Vec<usize>,
    /// For each item the tasks that need it and have not run, in the order of the list.
    waiting: Vec<VecDeque<usize>>,
    done: Vec<bool>,
    /// For each task how many it waits for, and who waits for it.
    waits: Vec<usize>,
    followers: Vec<SmallVec<[usize; 8]>>,
    ready: BTreeSet<usize>,
    recent: VecDeque<usize>,
}

impl<'a> Chooser<'a> {
    fn new(tasks: &'a [Task], sizes: &'a [usize], room: usize) -> Chooser<'a> {
        let mut waiting = vec![VecDeque::new(); sizes.len()];
        let mut followers = vec![SmallVec::new(); tasks.len()];
        for (number, task) in tasks.iter().enumerate() {
            task.needs.iter().for_each(|need| waiting[need.item].push_back(number));
            task.after.iter().for_each(|before: &usize| followers[*before].push(number));
        }
        let waits: Vec<usize> = tasks.iter().map(|task| task.after.len()).collect();
        let ready = (0..tasks.len()).filter(|task| waits[*task] == 0).collect();
        Chooser {
            tasks,
            sizes,
            room,
            used: 0,
            there: vec![false; sizes.len()],
            residents: Vec::new(),
            waiting,
            done: vec![false; tasks.len()],
            waits,
            followers,
            ready,
            recent: VecDeque::new(),
        }
    }

    fn next(&mut self) -> Option<usize> {
        let recent = self.recent.iter().filter(|task| self.ready.contains(task));
        self.ready.iter().take(SCAN).chain(recent).copied().min_by_key(|task| (self.cost(*task), *task))
    }

    /// Bytes that it brings to the device, or moves away, less those that it finds there. Least if it brings none.
    fn cost(&self, task: usize) -> i64 {
        let task = &self.tasks[task];
        let (mut brings, mut finds) = (0, 0);
        for need in &task.needs {
            match self.there[need.item] {
                true => finds += self.sizes[need.item],
                false => brings += self.sizes[need.item] * if need.load { 3 } else { 1 },
            }
        }
        if brings == 0 {
            return i64::MIN;
        }
        let strips = task.strips.iter().filter(|(item, _)| !self.there[*item]).map(|(_, bytes)| bytes);
        (brings + 2 * strips.sum::<usize>()) as i64 - 2 * finds as i64
    }

    fn run(&mut self, task: usize) {
        self.ready.remove(&task);
        self.done[task] = true;
        for follower in std::mem::take(&mut self.followers[task]) {
            self.waits[follower] -= 1;
            if self.waits[follower] == 0 {
                self.ready.insert(follower);
                self.recent.push_back(follower);
            }
        }
        while self.recent.len() > SCAN {
            self.recent.pop_front();
        }
        let needs = &self.tasks[task].needs;
        for need in needs {
            if std::mem::replace(&mut self.there[need.item], true) {
                continue;
            }
            self.used += self.sizes[need.item];
            while self.used > self.room && self.evict(|item| needs.iter().any(|need| need.item == item)) {}
            self.residents.push(need.item);
        }
    }

    /// Lets the item go that the list needs last; whether there was one.
    fn evict(&mut self, keep: impl Fn(usize) -> bool) -> bool {
        let (waiting, done) = (&mut self.waiting, &self.done);
        let mut last = |item: usize| {
            while waiting[item].front().is_some_and(|task| done[*task]) {
                waiting[item].pop_front();
            }
            waiting[item].front().copied().unwrap_or(usize::MAX)
        };
        let others = self.residents.iter().enumerate().filter(|(_, item)| !keep(**item));
        let Some((position, item)) = others.map(|(at, item)| (at, *item)).max_by_key(|(_, item)| last(*item)) else {
            return false;
        };
        self.residents.swap_remove(position);
        self.there[item] = false;
        self.used -= self.sizes[item];
        true
    }
}

/// Says for tasks in an order which items are in a memory of `room` bytes, and where.
///
/// # Errors
/// A task whose items have no room together.
pub(crate) fn place(tasks: &[Task], order: &[usize], sizes: &[usize], room: usize) -> Result<Plan, TooSmall> {
    let mut placer = Placer::new(tasks, order, sizes, room);
    for (step, task) in order.iter().enumerate() {
        placer.step(step, *task)?;
    }
    let evictions = placer.evictions;
    let mut last: Vec<usize> = placer.blocks.iter().map(|block| block.item).collect();
    // What was ready first goes first.
    last.sort_unstable_by_key(|item| (placer.items[*item].used, *item));
    last.into_iter().for_each(|item| placer.leave(order.len(), item));
    Ok(Plan { steps: placer.made, evictions })
}

/// A use of an item by a step.
#[derive(Clone, Copy, Debug)]
struct ItemUse {
    step: usize,
    /// It needs what the item holds.
    value: bool,
    /// It needs it on the device.
    there: bool,
}

/// What is known of an item at a step.
#[derive(Clone, Debug, Default)]
struct Item {
    uses: Vec<ItemUse>,
    there: bool,
    dirty: bool,
    /// The last step that used it on the device, and the last that loaded it.
    used: usize,
    loaded: Option<usize>,
    /// Number of its last store.
    stored: Option<usize>,
}

/// An item in memory.
#[derive(Clone, Copy, Debug)]
struct ItemPlace {
    at: usize,
    end: usize,
    item: usize,
}

/// A stretch of memory that items have left.
#[derive(Clone, Copy, Debug)]
struct Left {
    at: usize,
    end: usize,
    run: usize,
    store: Option<usize>,
}

struct Placer<'a> {
    tasks: &'a [Task],
    sizes: &'a [usize],
    room: usize,
    items: Vec<Item>,
    /// By their place.
    blocks: Vec<ItemPlace>,
    left: Vec<Left>,
    stores: usize,
    /// Number of steps, and those made so far.
    steps: usize,
    made: Vec<RegionStep>,
    evictions: usize,
}

impl<'a> Placer<'a> {
    fn new(tasks: &'a [Task], order: &[usize], sizes: &'a [usize], room: usize) -> Placer<'a> {
        let mut items = vec![Item::default(); sizes.len()];
        for (step, task) in order.iter().enumerate() {
            let task = &tasks[*task];
            for need in &task.needs {
                items[need.item].uses.push(ItemUse { step, value: need.load, there: true });
            }
            for (item, _) in &task.strips {
                items[*item].uses.push(ItemUse { step, value: true, there: false });
            }
        }
        let (blocks, left, made) = (Vec::new(), Vec::new(), Vec::new());
        Placer { tasks, sizes, room, items, blocks, left, stores: 0, steps: order.len(), made, evictions: 0 }
    }

    fn step(&mut self, step: usize, number: usize) -> Result<(), TooSmall> {
        let task = &self.tasks[number];
        let mut made = RegionStep { runs: vec![number], ..RegionStep::default() };
        let touched = || task.needs.iter().map(|need| need.item).chain(task.strips.iter().map(|(item, _)| *item));
        let on_host = |item: usize| !self.items[item].there || !self.items[item].dirty;
        if task.anywhere && task.needs.iter().all(|need| !self.items[need.item].there) && touched().all(on_host) {
            made.on_host = true;
            made.runs_after = After {
                load: task.needs.iter().filter_map(|need| self.items[need.item].loaded).max(),
                run: None,
                store: touched().filter_map(|item| self.items[item].stored).max(),
            };
            self.made.push(made);
            return Ok(());
        }
        self.make_room(step, number, &mut made)?;
        for need in &task.needs {
            let item = &mut self.items[need.item];
            item.used = step;
            item.dirty |= need.write;
        }
        let (there, strips): (Vec<usize>, Vec<usize>) =
            task.strips.iter().map(|(item, _)| *item).partition(|item| self.items[*item].there);
        there.into_iter().for_each(|item| self.items[item].used = step);
        if !strips.is_empty() {
            let store = strips.iter().filter_map(|item| self.items[*item].stored).max();
            let piece = RegionPiece::Strips { task: number, items: strips };
            made.loads.push(Move { piece, after: After { store, ..After::default() } });
        }
        self.made.push(made);
        Ok(())
    }

    /// Brings the items of a task to the device.
    fn make_room(&mut self, step: usize, number: usize, made: &mut RegionStep) -> Result<(), TooSmall> {
        let task = &self.tasks[number];
        let absent: SmallVec<[ItemNeed; 4]> =
            task.needs.iter().filter(|n| !self.items[n.item].there).copied().collect();
        if absent.is_empty() {
            return Ok(());
        }
        let needed = task.needs.iter().map(|need| self.sizes[need.item]).sum();
        if needed > self.room {
            return Err(TooSmall { task: number, needed });
        }
        let own = |item: usize| task.needs.iter().any(|need| need.item == item);
        let recent = |item: usize, items: &[Item]| {
            items[item].used + RECENT >= step || task.strips.iter().any(|(strip, _)| *strip == item)
        };
        let mut taken: SmallVec<[(ItemNeed, usize); 4]> = SmallVec::new();
        for need in &absent {
            let size = self.sizes[need.item];
            let best = self.find(step, size, &taken, own);
            let calm = self.find(step, size, &taken, |item| own(item) || recent(item, &self.items));
            let ahead = |found: Option<(usize, usize)>| found.map(|(soonest, _)| soonest.min(self.steps) - step);
            let chosen = if ahead(calm).map(|steps| 2 * steps) >= ahead(best) { calm.or(best) } else { best };
            match chosen {
                Some((_, at)) => taken.push((*need, at)),
                None => break,
            }
        }
        if taken.len() < absent.len() {
            // There is room, but not in one piece: all leaves, and comes back side by side.
            taken.clear();
            let mut at = 0;
            for need in &task.needs {
                taken.push((*need, at));
                at += self.sizes[need.item];
            }
            let all: Vec<usize> = self.blocks.iter().map(|block| block.item).collect();
            all.into_iter().for_each(|item| self.evict(step, item));
        }
        for (need, at) in taken {
            self.enter(step, need, at, made);
        }
        Ok(())
    }

    /// Where `size` bytes fit for which nothing leaves that stays, and what leaves is needed last: the step that needs
    /// it, and the place.
    fn find(
        &self,
        step: usize,
        size: usize,
        taken: &[(ItemNeed, usize)],
        stays: impl Fn(usize) -> bool,
    ) -> Option<(usize, usize)> {
        let free_of_taken =
            |at: usize| taken.iter().all(|(need, other)| at + size <= *other || other + self.sizes[need.item] <= at);
        let ends = self.blocks.iter().flat_map(|block| [block.at, block.end]);
        let others = taken.iter().map(|(need, at)| at + self.sizes[need.item]);
        let places = std::iter::once(0).chain(ends).chain(others);
        let mut best: Option<((usize, usize, usize), usize)> = None;
        for at in places.filter(|at| at + size <= self.room && free_of_taken(*at)) {
            let first = self.blocks.partition_point(|block| block.end <= at);
            let over = self.blocks[first..].iter().take_while(|block| block.at < at + size);
            let (mut soonest, mut used, mut bytes, mut free) = (usize::MAX, 0, 0, true);
            for block in over {
                free &= !stays(block.item);
                soonest = soonest.min(self.needed_at(block.item, step));
                used = used.max(self.items[block.item].used);
                bytes += block.end - block.at;
                if !free {
                    break;
                }
            }
            // Later is better, then longer ago, then fewer bytes.
            let score = (soonest, usize::MAX - used, usize::MAX - bytes);
            if free && best.is_none_or(|(known, _)| score > known) {
                best = Some((score, at));
            }
        }
        best.map(|((soonest, ..), at)| (soonest, at))
    }

    /// The step that needs an item on the device, from `step` on; never, if what it holds is not needed any more.
    fn needed_at(&self, item: usize, step: usize) -> usize {
        if !self.has_value(item, step) {
            return usize::MAX;
        }
        let next = self.uses_from(item, step).iter().find(|one| one.there);
        next.map_or(usize::MAX, |one| one.step)
    }

    /// Whether what an item holds is needed, from `step` on: the host needs it in the end.
    fn has_value(&self, item: usize, step: usize) -> bool {
        self.uses_from(item, step).first().is_none_or(|one| one.value)
    }

    fn uses_from(&self, item: usize, step: usize) -> &[ItemUse] {
        let uses = &self.items[item].uses;
        &uses[uses.partition_point(|one| one.step < step)..]
    }

    /// Lets an item leave before a step, so that another has room.
    fn evict(&mut self, step: usize, item: usize) {
        self.evictions += 1;
        self.leave(step, item);
    }

    /// Lets an item leave before a step, so after the one before: stored, if the host needs what it holds.
    fn leave(&mut self, step: usize, item: usize) {
        let Some(position) = self.blocks.iter().position(|block| block.item == item) else { return };
        let ItemPlace { at, end, .. } = self.blocks.remove(position);
        let store = self.items[item].dirty && self.has_value(item, step);
        let known = &mut self.items[item];
        (known.there, known.dirty) = (false, false);
        let run = known.used;
        self.left.push(Left { at, end, run, store: store.then_some(self.stores) });
        if store && let Some(before) = self.made.last_mut() {
            known.stored = Some(self.stores);
            self.stores += 1;
            let after = After { run: Some(run), ..After::default() };
            before.stores.push(Move { piece: RegionPiece::Item { item, at, load: false }, after });
        }
    }

    fn enter(&mut self, step: usize, need: ItemNeed, at: usize, made: &mut RegionStep) {
        let end = at + self.sizes[need.item];
        let over: Vec<usize> = self.blocks.iter().filter(|b| b.at < end && at < b.end).map(|b| b.item).collect();
        over.into_iter().for_each(|item| self.evict(step, item));
        let before = self.left.iter().filter(|left| left.at < end && at < left.end);
        let (mut after_run, mut after_store) = (None, None);
        for left in before {
            after_run = after_run.max(Some(left.run));
            after_store = after_store.max(left.store);
        }
        self.left.retain(|left| !(at <= left.at && left.end <= end));
        let item = &mut self.items[need.item];
        after_store = after_store.max(item.stored);
        item.there = true;
        if need.load {
            item.loaded = Some(step);
        }
        let position = self.blocks.partition_point(|block| block.at < at);
        self.blocks.insert(position, ItemPlace { at, end, item: need.item });
        let after = After { load: None, run: after_run, store: after_store };
        made.loads.push(Move { piece: RegionPiece::Item { item: need.item, at, load: need.load }, after });
    }
}

#[cfg(test)]
mod tests;
