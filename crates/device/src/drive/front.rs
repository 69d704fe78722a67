//! The front of the drive (`device.front_commands`): submission queues, and the arbiter that decides whose command the
//! drive fetches when one that it had has ended.

mod arbiter;
mod params;

use std::collections::VecDeque;

use flashloom_workload::QueueClass;

use super::commands::CommandId;
use arbiter::Arbiter;
pub use params::{Arbitration, FrontParams};

/// Submission queues before a drive that fetches so many commands at once.
pub(super) struct Front {
    arbiter: Arbiter,
    /// Commands that wait, by queue, in the order in which they came.
    queues: Vec<VecDeque<CommandId>>,
    /// Number of commands that were fetched and have not ended.
    inside: u32,
    most: u32,
}

flashloom_units::state! { Front { nested arbiter; value queues, inside; fixed most; } }

impl Front {
    /// The front of a drive; `None` if it fetches every command at once. The first queues are of these classes.
    pub(super) fn new(params: &FrontParams, classes: &[QueueClass]) -> Option<Self> {
        let front = |most| Self { arbiter: Arbiter::new(params, classes), queues: Vec::new(), inside: 0, most };
        params.commands.map(front)
    }

    /// Appends a command to its queue.
    pub(super) fn submit(&mut self, queue: u8, id: CommandId) {
        let queue = usize::from(queue);
        if self.queues.len() <= queue {
            self.queues.resize_with(queue + 1, VecDeque::new);
        }
        self.queues[queue].push_back(id);
    }

    /// Takes the command that is next, if there is room for it.
    pub(super) fn fetch(&mut self) -> Option<CommandId> {
        if self.inside >= self.most {
            return None;
        }
        let Self { arbiter, queues, inside, .. } = self;
        let queue = arbiter.choose(queues.len(), |queue| !queues[queue].is_empty())?;
        *inside += 1;
        queues[queue].pop_front()
    }

    /// Follows the end of a command that was fetched.
    pub(super) fn ended(&mut self) {
        self.inside -= 1;
    }
}
