//! The `[host]` section of a configuration.

use flashloom_units::{GIB, KIB, Kind, Used, Value, params};

use crate::scheduler::SLOT;

params! {
    /// What bounds the block layer, and which scheduler it has.
    pub struct HostParams {
        /// The I/O scheduler of the host's block layer.
        scheduler: &'static str => "scheduler", Kind::Policy(&SLOT), Value::Name("noop"),
            "noop adds nothing of its own; the others trade the order of arrival for locality, fairness or deadlines.";
        /// How many requests the device holds at once; a device.preset may say what is usual for its drive.
        queue_depth: u32 => "queue_depth", Kind::Count { min: 1, max: 65_536 }, Value::Count(31),
            "A deeper queue keeps more chips busy, but what the device holds the scheduler can no longer order.";
        /// How many synchronous requests (reads, writes that a task waits for) the block layer holds at most, and how
        /// many asynchronous ones: from queueing to completion, what the device holds included.
        nr_requests: u32 => "nr_requests", Kind::Count { min: 1, max: 1_048_576 }, Value::Count(128),
            "A longer queue gives merging and sorting more to work with, and lets the last in it wait longer; one \
             shorter than queue_depth keeps the device from being filled.";
        /// How large a request may become by merging; one that arrives larger goes to the device as it is.
        max_request_bytes: u64 => "max_request", Kind::Size { min: 4 * KIB, max: GIB }, Value::Size(512 * KIB),
            "Larger requests cost less each and occupy more chips at once, but delay whatever waits behind them.",
            Used::with("merging", &["true"]);
        /// Whether requests that touch are merged.
        merging: bool => "merging", Kind::Flag, Value::Flag(true),
            "Merging saves commands on sequential work; without it every request reaches the device as it was issued.";
    }
}
