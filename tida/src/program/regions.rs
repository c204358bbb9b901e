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

/// A task in its turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegionStep {
    pub task: usize,
    /// It runs on the host.
    pub on_host: bool,
    /// Items that leave the device before it.
    pub leaves: Vec<Leave>,
    /// Items that come to the device for it.
    pub enters: Vec<Enter>,
    /// Items whose strips come from the host.
    pub strips: Vec<usize>,
    /// What the host does for it (the task itself, or reading the strips) comes after the store of this number.
    pub after_store: Option<usize>,
    /// The same for the loads of the step of this number.
    pub after_load: Option<usize>,
}

/// An item that leaves the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leave {
    pub item: usize,
    /// The host needs what it holds. Such stores are numbered from 0.
    pub store: bool,
    /// The last step that used it.
    pub after_run: usize,
}

/// An item that comes to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Enter {
    pub item: usize,
    /// Where it starts, in bytes.
    pub at: usize,
    /// It is copied from the host; otherwise it may hold anything.
    pub load: bool,
    /// Its place is free, and the host's copy newest, after the run of this step and the store of this number.
    pub after_run: Option<usize>,
    pub after_store: Option<usize>,
}

/// All steps, and what leaves the device after the last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub steps: Vec<RegionStep>,
    pub last: Vec<Leave>,
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
    let steps = order.iter().enumerate().map(|(step, task)| placer.step(step, *task));
    let steps = steps.collect::<Result<Vec<RegionStep>, TooSmall>>()?;
    let mut last: Vec<(usize, Leave)> = Vec::new();
    for ItemPlace { item, .. } in std::mem::take(&mut placer.blocks) {
        let known = &placer.items[item];
        let leave = Leave { item, store: known.dirty, after_run: known.used };
        last.push((known.used, leave));
    }
    // What was ready first goes first.
    last.sort_unstable_by_key(|(used, leave)| (*used, leave.item));
    Ok(Plan { steps, last: last.into_iter().map(|(_, leave)| leave).collect() })
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
    /// Number of steps.
    steps: usize,
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
        let (blocks, left) = (Vec::new(), Vec::new());
        Placer { tasks, sizes, room, items, blocks, left, stores: 0, steps: order.len() }
    }

    fn step(&mut self, step: usize, number: usize) -> Result<RegionStep, TooSmall> {
        let task = &self.tasks[number];
        let mut made = RegionStep { task: number, ..RegionStep::default() };
        let touched = || task.needs.iter().map(|need| need.item).chain(task.strips.iter().map(|(item, _)| *item));
        let on_host = |item: usize| !self.items[item].there || !self.items[item].dirty;
        if task.anywhere && task.needs.iter().all(|need| !self.items[need.item].there) && touched().all(on_host) {
            made.on_host = true;
            made.after_store = touched().filter_map(|item| self.items[item].stored).max();
            made.after_load = task.needs.iter().filter_map(|need| self.items[need.item].loaded).max();
            return Ok(made);
        }
        self.make_room(step, number, &mut made)?;
        for need in &task.needs {
            let item = &mut self.items[need.item];
            item.used = step;
            item.dirty |= need.write;
        }
        for (item, _) in &task.strips {
            let item_now = &mut self.items[*item];
            if item_now.there {
                item_now.used = step;
            } else {
                made.strips.push(*item);
                made.after_store = made.after_store.max(item_now.stored);
            }
        }
        Ok(made)
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
            all.into_iter().for_each(|item| self.leave(step, item, made));
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

    fn leave(&mut self, step: usize, item: usize, made: &mut RegionStep) {
        let store = self.items[item].dirty && self.has_value(item, step);
        let number = store.then_some(self.stores);
        self.stores += usize::from(store);
        let known = &mut self.items[item];
        (known.there, known.dirty) = (false, false);
        known.stored = number.or(known.stored);
        made.leaves.push(Leave { item, store, after_run: known.used });
        if let Some(position) = self.blocks.iter().position(|block| block.item == item) {
            let ItemPlace { at, end, .. } = self.blocks.remove(position);
            self.left.push(Left { at, end, run: known.used, store: number });
        }
    }

    fn enter(&mut self, step: usize, need: ItemNeed, at: usize, made: &mut RegionStep) {
        let end = at + self.sizes[need.item];
        let over: Vec<usize> = self.blocks.iter().filter(|b| b.at < end && at < b.end).map(|b| b.item).collect();
        over.into_iter().for_each(|item| self.leave(step, item, made));
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
        made.enters.push(Enter { item: need.item, at, load: need.load, after_run, after_store });
    }
}

#[cfg(test)]
mod tests;
