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
    /// True if it is to be run: a request was submitted to it, or one of its own completed.
    is_due: bool,
    /// When it is to be run although nothing happens, because the scheduler has work and gave nothing; `Ns::MAX` for
    /// never.
    wakes_ns: Ns,
}

impl HardwareQueue {
    const EMPTY: Self = Self { held: 0, in_flight: 0, taken: VecDeque::new(), is_due: false, wakes_ns: Ns::MAX };
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
    /// True if the run has sent a request that the scheduler gave since it last was given one without a tag.
    has_sent: bool,
}

flashloom_units::state! {
    HardwareQueues {
        array queues;
        below turn [map.queues()];
        value has_sent;
        fixed map, serves, queue_depth;
    }
}

impl HardwareQueues {
    /// Makes empty queues for a scheduler that serves several.
    pub fn new(map: QueueMap, serves: Serves, queue_depth: u32) -> Self {
        let queues = vec![HardwareQueue::EMPTY; map.queues() as usize];
        Self { map, serves, queue_depth, queues, turn: 0, has_sent: false }
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

    /// Follows a request that leaves the device. Its queue is run, and what waits for something that only a completion
    /// can bring. A flush has no tag of the block layer.
    pub fn returned(&mut self, task: u32, frees_a_tag: bool) {
        let queue = self.of(task);
        queue.in_flight -= 1;
        queue.held -= u32::from(frees_a_tag);
        queue.is_due = true;
        self.queues.iter_mut().for_each(|queue| queue.is_due |= queue.wakes_ns < Ns::MAX);
    }

    /// What a queue can do at `now`. The scheduler is not asked while a request that it gave waits.
    pub fn step(&mut self, now: Ns) -> Step {
        let queue = &mut self.queues[self.turn as usize];
        if !queue.taken.is_empty() {
            let is_open = queue.in_flight < self.queue_depth;
            queue.is_due &= is_open;
            let first = if is_open { queue.taken.pop_front() } else { None };
            return first.map_or(Step::Nothing, Step::Send);
        }
        if queue.is_due || queue.wakes_ns <= now { Step::Ask } else { Step::Nothing }
    }

    /// The queue that is run.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Ends the run of a queue, and begins that of the next.
    pub fn pass(&mut self) {
        self.turn = (self.turn + 1) % self.map.queues();
        self.has_sent = false;
    }

    /// True if the device takes a request that the scheduler gave, which is then sent.
    pub fn takes(&mut self, task: u32) -> bool {
        self.has_sent |= self.has_room(task);
        self.has_room(task)
    }

    /// Keeps a request that the scheduler gave and that finds no tag of the device. Returns true if the queue that is
    /// run goes on: it has sent something, and can send more.
    pub fn keep(&mut self, task: u32, id: RequestId) -> bool {
        let at = self.map.queue_of(task);
        self.queues[at as usize].taken.push_back(id);
        let goes_on = std::mem::take(&mut self.has_sent) && at != self.turn;
        self.queues[self.turn as usize].is_due = goes_on;
        goes_on
    }

    /// Follows a scheduler that gave nothing. One that serves all queues together would give none to another either.
    pub fn gave_nothing(&mut self, choice: Choice) {
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
    }

    /// When a queue is to be run although nothing happens; `Ns::MAX` for never.
    pub fn wakes_ns(&self) -> Ns {
        self.queues.iter().map(|queue| queue.wakes_ns).min().unwrap_or(Ns::MAX)
    }

    /// Requests of a queue with tags of the block layer, requests of it at the device, and those between.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u32, usize)> + '_ {
        self.queues.iter().map(|queue| (queue.held, queue.in_flight, queue.taken.len()))
    }
}
