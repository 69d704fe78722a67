//! The `[host]` section of a configuration.

use flashloom_units::{GIB, KIB, Kind, Used, Value, choice, params};

use crate::scheduler::SLOT;

choice! {
    /// Version of Linux that `none`, `mq-deadline` and `kyber` are taken from, where they differ. The older schedulers
    /// are those of 2.6.32.
    pub enum Linux {
        /// The long-term series of 2022.
        V6_1 = "6.1",
        /// The long-term series of 2024.
        V6_12 = "6.12",
    }
}

/// The schedulers of blk-mq, which know tags, software queues and hardware queues.
const OF_BLK_MQ: &[&str] = &["none", "mq-deadline", "kyber"];

/// The schedulers to which a plug makes no difference: those of before blk-mq, and none, which always has one.
const UNPLUGGED: &[&str] = &["noop", "deadline", "anticipatory", "cfq", "fios", "pardispatcher", "none"];

params! {
    /// Parameters of the host's block layer: its scheduler and its limits.
    pub struct HostParams {
        /// The I/O scheduler of the host's block layer.
        scheduler: &'static str => "scheduler", Kind::Policy(&SLOT), Value::Name("noop"),
            "noop keeps the order of arrival; the others give it up for locality, fairness or deadlines.";
        /// Queue depth: the maximum number of requests at the device at once, in each of its hardware queues. A
        /// device.preset may set the usual one of its drive.
        queue_depth: u32 => "queue_depth", Kind::Count { min: 1, max: 65_536 }, Value::Count(31),
            "A deeper queue keeps more chips busy, but the scheduler cannot reorder requests that are at the device.";
        /// Maximum number of synchronous requests (reads, and writes that a task waits for) in the block layer, and
        /// also of asynchronous ones; with mq-deadline and kyber of both together. Counted from queueing to completion,
        /// so requests at the device are included. With none, `queue_depth` is the limit.
        nr_requests: u32 => "nr_requests", Kind::Count { min: 1, max: 1_048_576 }, Value::Count(128),
            "A longer queue gives merging and sorting more requests to work with, and makes the last one wait longer; \
             one shorter than queue_depth keeps the device from being filled.", Used::without("scheduler", &["none"]);
        /// Maximum size that a request may reach by merging. A request that is larger on arrival is not split.
        max_request_bytes: u64 => "max_request", Kind::Size { min: 4 * KIB, max: GIB }, Value::Size(512 * KIB),
            "Larger requests have less overhead and occupy more chips at once, but delay the requests behind them.",
            Used::with("merging", &["true"]);
        /// True to merge adjacent requests.
        merging: bool => "merging", Kind::Flag, Value::Flag(true),
            "Merging saves commands in sequential workloads; without it every request reaches the device as issued.";
        /// True to plug, as blk-mq does: what a task submits at one moment is collected, merged with the one before it
        /// and given to mq-deadline or kyber 32 requests at a time, which the device then takes from. `none` always
        /// does.
        plug: bool => "plug", Kind::Flag, Value::Flag(false),
            "With it the order is Linux's where a task submits much at once: more than 32 requests are sorted in \
             parts, and in a part only neighbours merge at once.", Used::without("scheduler", UNPLUGGED);
        /// Version of Linux that `none`, `mq-deadline` and `kyber` are taken from.
        linux: Linux => "linux", Kind::Choice(Linux::CHOICES), Value::Name("6.12"),
            "Take that of the host: the two differ in what a batch continues with, in the limits on asynchronous \
             requests, and in the order in which `none` sends what was submitted together.",
            Used::with("scheduler", OF_BLK_MQ);
        /// Ticks of the kernel's clock a second, in which mq-deadline and kyber measure time (Linux has 100, 250, 300
        /// or 1000).
        hz: u32 => "hz", Kind::Count { min: 100, max: 1_000 }, Value::Count(250),
            "Take that of the host: with fewer ticks deadlines and timers are coarser.",
            Used::with("scheduler", &["mq-deadline", "kyber"]);
        /// Processors of the host: a task runs on its number modulo this. Each has a software queue.
        processors: u32 => "processors", Kind::Count { min: 1, max: 1_024 }, Value::Count(1),
            "More processors give the device more hardware queues to be fed from; with kyber requests of different \
             processors do not merge.", Used::with("scheduler", OF_BLK_MQ);
        /// Hardware queues of the device, at most one a processor, each with `queue_depth` tags of its own and, with
        /// mq-deadline and kyber, `nr_requests`. SATA drives have one.
        hardware_queues: u32 => "hardware_queues", Kind::Count { min: 1, max: 1_024 }, Value::Count(1),
            "With more of them the device takes more requests at once, and leaves a scheduler fewer to choose from.",
            Used::with("scheduler", OF_BLK_MQ);
    }
}

impl HostParams {
    /// Maximum number of requests at the device, in all of the hardware queues that the scheduler serves.
    pub fn device_depth(&self) -> u32 {
        if OF_BLK_MQ.contains(&self.scheduler) { self.queue_depth * self.hardware_queues } else { self.queue_depth }
    }
}
