//! Counters of the block layer.

use flashloom_units::{Latency, Ns};

use crate::requests::Direction;

/// Counters of the block layer over one run. Flushes count as inserted, dispatched and completed, and nowhere else.
#[derive(Clone, Debug, Default)]
pub struct SchedulerStats {
    /// Requests admitted, including merged ones.
    pub inserted: u64,
    /// Merges, each of which makes one request of two.
    pub merged: u64,
    /// Requests sent to the device.
    pub dispatched: u64,
    /// Admitted requests that the device has completed or failed; each member of a merged request counts.
    pub completed: u64,
    /// Direction switches: dispatches whose direction differs from that of the dispatch before.
    pub direction_switches: u64,
    /// Requests dispatched after the deadline that the scheduler gave them.
    pub expired: u64,
    /// Requests that waited for a token of write-back throttling.
    pub throttled: u64,
    /// Wait from arrival to dispatch of every original request that has completed, by direction.
    pub wait: [Latency; 2],
}

flashloom_units::state! {
    SchedulerStats {
        value inserted, merged, dispatched, completed, direction_switches, expired, throttled;
        each wait;
    }
}

impl SchedulerStats {
    /// Longest wait from arrival to dispatch, in nanoseconds.
    pub fn max_wait_ns(&self) -> Ns {
        self.wait[0].max().max(self.wait[1].max())
    }

    /// Longest wait from arrival to dispatch of one direction, in nanoseconds.
    pub fn max_wait_ns_of(&self, direction: Direction) -> Ns {
        self.wait[direction.at()].max()
    }
}
