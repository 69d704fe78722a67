//! Timers of commands: when controller and link finish them.
//!
//! The controller takes the same time for each command, and a link carries one transfer after the other, so nearly
//! every new timer is the latest. A sorted queue is cheaper for that than a general
//! [`EventQueue`](flashloom_units::EventQueue).

use std::collections::VecDeque;

use flashloom_units::Ns;

use super::commands::CommandId;

/// Commands sorted by the time of their timer; equal times in the order in which they were set.
pub(super) struct Timers {
    queue: VecDeque<(Ns, CommandId)>,
    /// The earliest time, or [`Ns::MAX`] if no timer is set; cached because it is read several times per event.
    pub(super) next_ns: Ns,
}

flashloom_units::state! { Timers { value queue, next_ns; } }

impl Default for Timers {
    fn default() -> Self {
        Self { queue: VecDeque::new(), next_ns: Ns::MAX }
    }
}

impl Timers {
    #[inline]
    pub(super) fn set(&mut self, at: Ns, id: CommandId) {
        self.next_ns = self.next_ns.min(at);
        match self.queue.back() {
            Some(&(last, _)) if last > at => self.set_between(at, id),
            _ => self.queue.push_back((at, id)),
        }
    }

    /// Inserts a timer that is not the latest: a short transfer that ends before the controller time of earlier
    /// commands, or before a transfer of the other direction.
    #[cold]
    fn set_between(&mut self, at: Ns, id: CommandId) {
        let place = self.queue.partition_point(|&(other, _)| other <= at);
        self.queue.insert(place, (at, id));
    }

    /// Removes and returns the command with the earliest time.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(Ns, CommandId)> {
        let first = self.queue.pop_front();
        self.next_ns = self.queue.front().map_or(Ns::MAX, |&(at, _)| at);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_by_time_and_then_as_they_were_set() {
        let mut timers = Timers::default();
        for (id, at) in [40, 70, 40, 10, 70, 55].into_iter().enumerate() {
            timers.set(at, CommandId(id as u32));
        }
        assert_eq!(timers.next_ns, 10);
        let taken: Vec<u32> = std::iter::from_fn(|| timers.take()).map(|(_, id)| id.0).collect();
        assert_eq!((taken, timers.next_ns), (vec![3, 0, 2, 5, 1, 4], Ns::MAX));
    }
}
