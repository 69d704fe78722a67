//! Table of the tasks that a scheduler remembers, and the decaying averages that it keeps of them.
//!
//! Tasks with requests in the block layer are held; of the others, the most recently seen are remembered and the rest
//! forgotten, so memory does not grow with the number of tasks. A look-up is O(1).

use flashloom_units::{Lists, NO_INDEX};
use serde::{Deserialize, Serialize};

use crate::id::TaskSlot;

/// Minimum number of tasks without requests that are remembered.
const REMEMBERED: u32 = 1_024;

/// Table of tasks.
pub struct Tasks {
    tasks: Vec<u32>,
    held: Vec<u32>,
    heads: Vec<u32>,
    next: Vec<u32>,
    shift: u32,
    /// Tasks that nothing holds, the least recently seen first.
    idle: Lists<TaskSlot>,
    used: u32,
}

flashloom_units::state! { Tasks { nested tasks, held, heads, next, idle; value used; fixed shift; } }

const IDLE: usize = 0;

impl Tasks {
    /// Makes a table in which at most `holders` holds exist at a time.
    pub fn new(holders: u32) -> Self {
        let slots = holders + REMEMBERED;
        let chains = slots.next_power_of_two();
        Self {
            tasks: vec![0; slots as usize],
            held: vec![0; slots as usize],
            heads: vec![NO_INDEX; chains as usize],
            next: vec![NO_INDEX; slots as usize],
            shift: 32 - chains.trailing_zeros(),
            idle: Lists::new(slots, 1),
            used: 0,
        }
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        self.tasks.len() as u32
    }

    fn chain(&self, task: u32) -> usize {
        (task.wrapping_mul(0x9e37_79b9) >> self.shift) as usize
    }

    /// The slot of a task; none if it is not remembered.
    pub fn find(&self, task: u32) -> Option<TaskSlot> {
        let known = |at: u32| (at != NO_INDEX).then_some(at);
        std::iter::successors(known(self.heads[self.chain(task)]), |&at| known(self.next[at as usize]))
            .find(|&at| self.tasks[at as usize] == task)
            .map(TaskSlot)
    }

    /// Returns the slot of a task, and true if the task is new to the table. A new task takes an unused slot, or that
    /// of the least recently seen task without requests.
    pub fn enter(&mut self, task: u32) -> (TaskSlot, bool) {
        if let Some(slot) = self.find(task) {
            if self.idle.contains(slot) {
                self.idle.remove(slot);
                self.idle.push_back(IDLE, slot);
            }
            return (slot, false);
        }
        let slot = if self.used < self.slots() {
            self.used += 1;
            TaskSlot(self.used - 1)
        } else {
            let slot = self.idle.pop_front(IDLE).expect("there are more slots than holders");
            self.unchain(slot);
            slot
        };
        let chain = self.chain(task);
        self.tasks[slot.at()] = task;
        self.next[slot.at()] = std::mem::replace(&mut self.heads[chain], slot.0);
        self.idle.push_back(IDLE, slot);
        (slot, true)
    }

    fn unchain(&mut self, slot: TaskSlot) {
        let chain = self.chain(self.tasks[slot.at()]);
        let after = self.next[slot.at()];
        let mut link = &mut self.heads[chain];
        while *link != slot.0 {
            let at = *link as usize;
            link = &mut self.next[at];
        }
        *link = after;
    }

    /// Keeps a task from being forgotten until [`Self::release`] was called as often.
    pub fn hold(&mut self, slot: TaskSlot) {
        if self.held[slot.at()] == 0 {
            self.idle.remove(slot);
        }
        self.held[slot.at()] += 1;
    }

    /// Undoes one hold.
    pub fn release(&mut self, slot: TaskSlot) {
        self.held[slot.at()] -= 1;
        if self.held[slot.at()] == 0 {
            self.idle.push_back(IDLE, slot);
        }
    }
}

/// Exponentially decaying mean: each new value has a weight of one eighth, in 8-bit fixed point as in Linux.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct DecayingMean {
    samples: u64,
    total: u64,
    mean: u64,
}

impl DecayingMean {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * value) / 8;
        self.mean = (self.total + self.samples / 2) / self.samples;
    }

    /// Adds a seek distance in sectors, limited so that a single long seek does not outweigh many short ones.
    pub fn add_seek(&mut self, distance: u64) {
        // The second and third seek may be far off, later ones not so much.
        let allowance = if self.samples <= 60 { 2 * 1024 * 1024 } else { 2 * 1024 * 64 };
        self.add(distance.min(self.mean * 4 + allowance));
    }

    /// The mean; zero before the first value.
    pub fn mean(&self) -> u64 {
        self.mean
    }

    /// True if no value was added yet.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// True if the mean is over enough values to be relied on: at least three, as in Linux's `sample_valid`.
    pub fn is_settled(&self) -> bool {
        self.samples > 80
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_held_task_is_never_forgotten_and_the_longest_unseen_goes_first() {
        let mut tasks = Tasks::new(2);
        let (held, new) = tasks.enter(7);
        assert!(new);
        tasks.hold(held);
        let last_seen = |round: u32| 1_000 + round;
        let rounds = 3 * tasks.slots();
        let mut slots = BTreeMap::new();
        for round in 0..rounds {
            let (slot, new) = tasks.enter(last_seen(round));
            assert!(new, "task {} was never seen", last_seen(round));
            slots.insert(slot.0, round);
        }
        assert_eq!(tasks.enter(7), (held, false));
        assert_eq!(tasks.find(1_000), None, "the first of them is forgotten");
        let idle = tasks.slots() - 1;
        for round in rounds - idle..rounds {
            assert_eq!(tasks.find(last_seen(round)).map(|slot| slots[&slot.0]), Some(round));
        }
        assert_eq!(tasks.find(last_seen(rounds - idle - 1)), None);
        tasks.release(held);
        (0..idle).for_each(|round| assert!(tasks.enter(1_000_000 + round).1));
        assert_eq!(tasks.find(7), Some(held), "released last, forgotten last");
        tasks.enter(2_000_000);
        assert_eq!(tasks.find(7), None);
    }

    #[test]
    fn a_decaying_mean_starts_at_the_first_value_and_settles_after_three() {
        let mut mean = DecayingMean::default();
        mean.add(800);
        assert_eq!((mean.mean(), mean.is_settled()), (800, false));
        mean.add(0);
        mean.add(0);
        // samples 32, 60, 84; total 25600, 22400, 19600.
        assert_eq!((mean.mean(), mean.is_settled()), (233, true));
    }

    #[test]
    fn one_far_seek_counts_for_no_more_than_the_allowance() {
        let mut mean = DecayingMean::default();
        (0..9).for_each(|_| mean.add_seek(0));
        mean.add_seek(1 << 40);
        assert!(mean.mean() < 2 * 1024 * 64, "{}", mean.mean());
    }
}
