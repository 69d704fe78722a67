//! Counters of the block layer.

use flashloom_units::{Best, Figure, Latency, Ns, Statistic, Unit};

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

/// What the block layer counts for every scheduler.
pub(crate) const COUNTED: &[Statistic] = &[
    Statistic::count("inserted", "Requests inserted into the scheduler."),
    Statistic::new("max_wait_ns", Unit::Time, "Longest time from arrival to dispatch.")
        .best(Best::Lowest)
        .as_column("max wait"),
    Statistic::count("merged", "Merges, each of which joins two requests into one.").as_column("merged"),
    Statistic::count("dispatched", "Requests dispatched to the device.").in_summary("dispatched"),
    Statistic::count(
        "direction_switches",
        "Dispatched requests whose direction (read or write) differs from that of the request before.",
    )
    .in_summary("switches of direction"),
    Statistic::count("expired", "Requests that were dispatched after their deadline.").in_summary("expired"),
    Statistic::count(
        "throttled",
        "Writes and discards that write-back throttling made wait; absent where nothing is throttled.",
    )
    .in_summary("throttled"),
];

impl SchedulerStats {
    /// The values of what is counted for every scheduler, in the order of the slot.
    pub fn figures(&self, is_throttled: bool) -> Vec<Figure> {
        vec![
            Figure::Count(self.inserted),
            Figure::Time(self.max_wait_ns()),
            Figure::Count(self.merged),
            Figure::Count(self.dispatched),
            Figure::Count(self.direction_switches),
            Figure::Count(self.expired),
            Figure::count_or_absent(is_throttled.then_some(self.throttled)),
        ]
    }

    /// Longest wait from arrival to dispatch, in nanoseconds.
    pub fn max_wait_ns(&self) -> Ns {
        self.wait[0].max().max(self.wait[1].max())
    }
}
