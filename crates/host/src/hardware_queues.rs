//! The hardware queues of a device: what each of them holds, and which of them is to be run
//! (docs/linux-schedulers.md, "Software and hardware queues").

use std::collections::VecDeque;

use flashloom_units::Ns;
use serde::{Deserialize, Serialize};

use crate::id::RequestId;
use crate::queue_map::QueueMap;
use crate::scheduler::{Choice, Serves};

/// A hardware queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct HardwareQueue {
    /// Requests with one of its tags of the block layer, from queueing to completion; flushes have none.
    held: u32,
    /// Requests at the device.
    in_flight: u32,
    /// Requests that the scheduler gave and that found no tag of the device, in order.
    taken: VecDeque<RequestId>,
    /// True if it is to be run: a request was submitted to it, or one of its own completed that was waited for.
    is_due: bool,
    /// True if a request waits for one of its tags of the device, so that a completion runs it.
    is_awaited: bool,
    /// How often requests found no tag of the device of late: an average that goes to 0 while they find one.
    busy: u8,
    /// Requests of it that the scheduler gave in the present batch, and that are sent.
    given: u32,
    /// Where its run is.
    phase: Phase,
    /// When it is to be run although nothing happens, because the scheduler has work and gave nothing; `Ns::MAX` for
    /// never.
    wakes_ns: Ns,
}

impl HardwareQueue {
    const EMPTY: Self = Self {
        held: 0,
        in_flight: 0,
        taken: VecDeque::new(),
        is_due: false,
        is_awaited: false,
        busy: 0,
        given: 0,
        phase: Phase::Before,
        wakes_ns: Ns::MAX,
    };

    /// Follows an attempt to send requests of it; `is_left` if one found no tag.
    fn tried(&mut self, is_left: bool) {
        self.busy = ((u32::from(self.busy) * 7 + if is_left { 16 } else { 0 }) / 8) as u8;
        self.is_awaited |= is_left;
    }
}

/// Where the run of a hardware queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// It has not begun.
    Before,
    /// It sends what the scheduler gave before.
    Taken,
    /// It asks the scheduler.
    Asks,
}

/// What a hardware queue can do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send this request, which was taken from the scheduler before.
    Send(RequestId),
    /// Ask the scheduler for a request.
    Ask,
    /// Nothing now.
    Nothing,
}

/// The hardware queues of a device, with a set of tags each.
#[derive(Debug)]
pub(crate) struct HardwareQueues {
    map: QueueMap,
    serves: Serves,
    queue_depth: u32,
    queues: Vec<HardwareQueue>,
    /// The queue that is run.
    turn: u32,
}

flashloom_units::state! {
    HardwareQueues {
        array queues;
        below turn [map.queues()];
        fixed map, serves, queue_depth;
    }
}

impl HardwareQueues {
    /// Makes empty queues for a scheduler that serves several.
    pub fn new(map: QueueMap, serves: Serves, queue_depth: u32) -> Self {
        let queues = vec![HardwareQueue::EMPTY; map.queues() as usize];
        Self { map, serves, queue_depth, queues, turn: 0 }
    }

    /// The queue that a task submits to.
    pub fn queue_of(&self, task: u32) -> u32 {
        self.map.queue_of(task)
    }

    /// Number of queues.
    pub fn count(&self) -> u32 {
        self.map.queues()
    }

    fn of(&mut self, task: u32) -> &mut HardwareQueue {
        let at = self.map.queue_of(task);
        &mut self.queues[at as usize]
    }

    /// Number of tags of the block layer that the requests of a task's queue hold.
    pub fn held(&self, task: u32) -> u32 {
        self.queues[self.map.queue_of(task) as usize].held
    }

    /// True if the device takes one more request of a task's queue.
    pub fn has_room(&self, task: u32) -> bool {
        self.queues[self.map.queue_of(task) as usize].in_flight < self.queue_depth
    }

    /// Follows a request that took a tag of the block layer.
    pub fn admitted(&mut self, task: u32) {
        self.of(task).held += 1;
    }

    /// Follows a request that came to the scheduler, which runs its queue.
    pub fn queued(&mut self, task: u32) {
        self.of(task).is_due = true;
    }

    /// Follows the end of a request that was joined to another one.
    pub fn joined(&mut self, task: u32) {
        self.of(task).held -= 1;
    }

    /// Follows a request on its way to the device.
    pub fn sent(&mut self, task: u32) {
        self.of(task).in_flight += 1;
    }

    /// Follows a request that leaves the device. Its queue is run if its tag was waited for, and so is what waits for
    /// something that only a completion can bring. A flush has no tag of the block layer.
    pub fn returned(&mut self, task: u32, frees_a_tag: bool) {
        let queue = self.of(task);
        queue.in_flight -= 1;
        queue.held -= u32::from(frees_a_tag);
        queue.is_due |= std::mem::take(&mut queue.is_awaited);
        self.queues.iter_mut().for_each(|queue| queue.is_due |= queue.wakes_ns < Ns::MAX);
    }

    /// What the queue that is run can do at `now`; nothing, if it is not to be run or cannot go on.
    pub fn step(&mut self, now: Ns) -> Step {
        let queue = &mut self.queues[self.turn as usize];
        if queue.phase == Phase::Before {
            let wakes = queue.wakes_ns <= now;
            if !std::mem::take(&mut queue.is_due) && !wakes {
                return Step::Nothing;
            }
            if wakes {
                queue.wakes_ns = Ns::MAX;
            }
            queue.is_awaited |= !queue.taken.is_empty();
            queue.phase = if queue.taken.is_empty() { Phase::Asks } else { Phase::Taken };
        }
        if queue.phase == Phase::Taken {
            let is_open = queue.in_flight < self.queue_depth;
            if is_open && let Some(first) = queue.taken.pop_front() {
                return Step::Send(first);
            }
            let is_left = !queue.taken.is_empty();
            queue.tried(is_left);
            if is_left {
                return Step::Nothing;
            }
            queue.phase = Phase::Asks;
        }
        Step::Ask
    }

    /// The queue that is run.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Turns to a queue that is run now: to ask the scheduler in its run, or else to send what it was given before,
    /// which begins another run if it had come to asking.
    pub fn turn_to(&mut self, queue: u32, asks: bool) {
        self.turn = queue;
        let queue = &mut self.queues[queue as usize];
        if asks {
            queue.phase = Phase::Asks;
        } else if queue.phase != Phase::Taken {
            queue.phase = Phase::Before;
            queue.is_due = true;
        }
    }

    /// True if the run of a queue has begun and not ended.
    pub fn is_run(&self, queue: u32) -> bool {
        self.queues[queue as usize].phase != Phase::Before
    }

    /// Ends the run of the queue.
    pub fn end(&mut self) {
        self.queues[self.turn as usize].phase = Phase::Before;
    }

    /// Ends the run of the queue, and turns to the next.
    pub fn pass(&mut self) {
        self.end();
        self.turn = (self.turn + 1) % self.map.queues();
    }

    /// True if the device takes a request that the scheduler gave, which is then sent. A queue that was busy asks for
    /// one at a time.
    pub fn takes(&mut self, task: u32) -> bool {
        let takes = self.has_room(task);
        if takes {
            self.of(task).given += 1;
            if self.queues[self.turn as usize].busy > 0 {
                self.end_batch(None);
            }
        }
        takes
    }

    /// Keeps a request that the scheduler gave and that finds no tag of the device, which ends the batch. Returns true
    /// if the queue that is run goes on: all that another queue was given went, and this one has nothing left.
    pub fn keep(&mut self, task: u32, id: RequestId, has_work: bool) -> bool {
        let at = self.map.queue_of(task);
        self.queues[at as usize].taken.push_back(id);
        let has_sent = self.end_batch(Some(at));
        if has_sent && at == self.turn && has_work {
            // It is run once more for what is left, in vain.
            self.queues[at as usize].tried(true);
        }
        has_sent && at != self.turn
    }

    /// Ends a batch of requests that the scheduler gave, of which one may be left at its queue. Returns true if all of
    /// another queue's were sent.
    fn end_batch(&mut self, left: Option<u32>) -> bool {
        let mut has_sent = false;
        for (at, queue) in self.queues.iter_mut().enumerate() {
            let is_left = left == Some(at as u32);
            if std::mem::take(&mut queue.given) > 0 || is_left {
                queue.tried(is_left);
                has_sent |= !is_left;
            }
        }
        has_sent
    }

    /// Follows a scheduler that gave nothing. Returns true if it is asked once more, as it gave something before. One
    /// that serves all queues together would give none to another either.
    pub fn gave_nothing(&mut self, choice: Choice) -> bool {
        if self.end_batch(None) {
            return true;
        }
        let (turn, serves) = (self.turn as usize, self.serves);
        for (at, queue) in self.queues.iter_mut().enumerate() {
            if at == turn || (serves == Serves::Any && queue.taken.is_empty()) {
                queue.is_due = false;
                queue.wakes_ns = Ns::MAX;
            }
        }
        if let Choice::NotBefore(time) = choice {
            self.queues[turn].wakes_ns = time;
        }
        false
    }

    /// When a queue is to be run although nothing happens; `Ns::MAX` for never.
    pub fn wakes_ns(&self) -> Ns {
        self.queues.iter().map(|queue| queue.wakes_ns).min().unwrap_or(Ns::MAX)
    }

    /// Number of requests that the scheduler gave and that found no tag of the device.
    pub fn taken(&self) -> u32 {
        self.queues.iter().map(|queue| queue.taken.len() as u32).sum()
    }

    /// Requests of a queue with tags of the block layer, requests of it at the device, and those between.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u32, usize)> + '_ {
        self.queues.iter().map(|queue| (queue.held, queue.in_flight, queue.taken.len()))
    }
}
