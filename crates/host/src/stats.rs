//! What the block layer counts.

use flashloom_units::{Latency, Ns};

use crate::requests::Direction;

/// Counters over one run. Flushes count as inserted, dispatched and completed, and nowhere else.
#[derive(Clone, Debug, Default)]
pub struct SchedulerStats {
    /// Requests taken in, merged ones included.
    pub inserted: u64,
    /// Merges, each of which makes two requests one.
    pub merged: u64,
    /// Requests sent to the device.
    pub dispatched: u64,
    /// Requests taken in that the device has completed or failed, each member of a merged request counted.
    pub completed: u64,
    /// How often a dispatched request had the other direction than the one before it.
    pub direction_switches: u64,
    /// Requests that were dispatched after the deadline that the scheduler gave them.
    pub expired: u64,
    /// From arrival to dispatch, by direction, of every original request that has completed.
    pub wait: [Latency; 2],
}

flashloom_units::state! {
    SchedulerStats {
        value inserted, merged, dispatched, completed, direction_switches, expired;
        each wait;
    }
}

impl SchedulerStats {
    /// The longest time from arrival to dispatch, in nanoseconds.
    pub fn max_wait_ns(&self) -> Ns {
        self.wait[0].max().max(self.wait[1].max())
    }

    /// The longest time from arrival to dispatch in one direction, in nanoseconds.
    pub fn max_wait_ns_of(&self, direction: Direction) -> Ns {
        self.wait[direction.at()].max()
    }
}
