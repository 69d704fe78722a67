//! The `[host]` section of a configuration.

use flashloom_units::{GIB, KIB, Kind, Used, Value, params};

use crate::scheduler::SLOT;

params! {
    /// Parameters of the host's block layer: its scheduler and its limits.
    pub struct HostParams {
        /// The I/O scheduler of the host's block layer.
        scheduler: &'static str => "scheduler", Kind::Policy(&SLOT), Value::Name("noop"),
            "noop keeps the order of arrival; the others give it up for locality, fairness or deadlines.";
        /// Queue depth: the maximum number of requests at the device at once. A device.preset may set the usual one of
        /// its drive.
        queue_depth: u32 => "queue_depth", Kind::Count { min: 1, max: 65_536 }, Value::Count(31),
            "A deeper queue keeps more chips busy, but the scheduler cannot reorder requests that are at the device.";
        /// Maximum number of synchronous requests (reads, and writes that a task waits for) in the block layer, and
        /// also of asynchronous ones; counted from queueing to completion, so requests at the device are included.
        nr_requests: u32 => "nr_requests", Kind::Count { min: 1, max: 1_048_576 }, Value::Count(128),
            "A longer queue gives merging and sorting more requests to work with, and makes the last one wait longer; \
             one shorter than queue_depth keeps the device from being filled.";
        /// Maximum size that a request may reach by merging. A request that is larger on arrival is not split.
        max_request_bytes: u64 => "max_request", Kind::Size { min: 4 * KIB, max: GIB }, Value::Size(512 * KIB),
            "Larger requests have less overhead and occupy more chips at once, but delay the requests behind them.",
            Used::with("merging", &["true"]);
        /// True to merge adjacent requests.
        merging: bool => "merging", Kind::Flag, Value::Flag(true),
            "Merging saves commands in sequential workloads; without it every request reaches the device as issued.";
    }
}
