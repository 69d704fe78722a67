//! The `[host]` section of a configuration.

use flashloom_units::{Choice, GIB, KIB, Kind, MIB, MS, Ns, OrName, S, US, Used, Value, choice, params};

use crate::linux::Linux;
use crate::scheduler::SLOT;
use crate::tags::TagSet;

choice! {
    /// What limits on asynchronous requests are a part of where `nr_requests` is set.
    pub enum AsyncLimits {
        /// In Linux 6.1 and 6.12 the tags that the scheduler had when it was selected, as they keep them when
        /// `nr_requests` is written afterwards; in 6.18 `nr_requests`.
        Selected = "selected",
        /// `nr_requests`, as when it is written twice.
        NrRequests = "nr_requests",
    }
}

choice! {
    /// Write-back throttling of blk-mq (blk-wbt).
    pub enum Throttling {
        /// As Linux has it by default: on in blk-mq, under every scheduler but bfq, which turns it off. Not where
        /// nothing is known of which writes a task waits for, as in recordings of formats without such marks.
        Auto = "auto",
        /// Writes that no task waits for, and discards, wait while many of them are under way.
        On = "on",
        /// No request waits for another one but for want of a tag.
        Off = "off",
    }
}

choice! {
    /// The write cache that the device reports.
    pub enum WriteCache {
        /// `back` if the drive has a write buffer (`buffer.capacity`).
        Auto = "auto",
        /// Volatile: writes are done before they are on flash.
        Back = "back",
        /// None, or one that loses nothing.
        Through = "through",
    }
}

choice! {
    /// What synchronous writes are, which requests do not say.
    pub enum SyncWrites {
        /// `fsync` where the workload is Filebench's, which writes by way of the page cache; otherwise `direct`.
        Auto = "auto",
        /// Direct writes, which are not throttled.
        Direct = "direct",
        /// Writes of the page cache that `fsync` waits for.
        Fsync = "fsync",
    }
}

choice! {
    /// What asynchronous writes are, which requests do not say.
    pub enum Writeback {
        /// Written back for want of memory, by `sync`, or because there is much of it.
        Normal = "normal",
        /// Written back for its age, or because some of it is to be kept free: by the least limit.
        Background = "background",
        /// Written back while tasks that write are held up for it, because there is too much: by the most.
        HeldUp = "held-up",
    }
}

const REQUESTS: Choice = Choice {
    name: "auto",
    help: "Linux's: twice the queue depth, and at most 256; in 2.6.32 128, or the queue depth if that is more.",
};
const REQUEST_SIZE: Choice =
    Choice { name: "auto", help: "Linux's: 4 MiB in 6.18, 1,280 KiB in 6.1 and 6.12, and 512 KiB in 2.6.32." };
/// Requests of a class in the block layer by default: Linux's BLKDEV_MAX_RQ, and BLKDEV_DEFAULT_RQ of today.
const DEFAULT_REQUESTS: u32 = 128;

/// A page of the host's memory.
const HOST_PAGE: u64 = 4 * KIB;

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
        /// device.preset may set the usual one of its drive. SATA has 32, of which Linux before 4.18 used 31.
        queue_depth: u32 => "queue_depth", Kind::Count { min: 1, max: 65_536 }, Value::Count(31),
            "A deeper queue keeps more chips busy, but the scheduler cannot reorder requests that are at the device.";
        /// Maximum number of synchronous requests (reads, and writes that a task waits for) in the block layer, and
        /// also of asynchronous ones; with blk-mq (`linux`) of both together. Counted from queueing to completion, so
        /// requests at the device are included. With none, `queue_depth` is the limit.
        nr_requests: OrName<u32> => "nr_requests", Kind::CountOr { min: 1, max: 1_048_576, or: REQUESTS },
            Value::Name("auto"),
            "A longer queue gives merging and sorting more requests to work with, and makes the last one wait longer; \
             one shorter than queue_depth keeps the device from being filled.", Used::without("scheduler", &["none"]);
        /// With `nr_requests` set: what the limits on writes (mq-deadline) and on asynchronous requests (kyber) are a
        /// part of.
        async_limits: AsyncLimits => "async_limits", Kind::Choice(AsyncLimits::CHOICES),
            Value::Name("selected"),
            "Limits of the tags that were there leave the tags that are added to reads; limits of all give a flood of \
             writes as many.", Used::with("scheduler", &["mq-deadline", "kyber", "pardispatcher"]);
        /// Maximum size that a request may reach by merging. With blk-mq (`linux`) one that is larger when it comes is
        /// split; in 2.6.32, and a discard, it stays whole.
        max_request_bytes: OrName<u64> => "max_request",
            Kind::SizeOr { min: 4 * KIB, max: GIB, or: REQUEST_SIZE }, Value::Name("auto"),
            "Larger requests have less overhead and occupy more chips at once, but delay the requests behind them.";
        /// Maximum number of segments of a request, each of which is a page of 4 KiB of the host's memory. Limits its
        /// size as `max_request` does. Without it pages lie side by side in memory, so that they are one segment.
        max_segments: Option<u32> => "max_segments", Kind::Count { min: 1, max: 65_536 }, Value::Absent,
            "Linux sets what the controller takes, 168 for AHCI: where memory is scattered, that is 672 KiB.";
        /// True to merge adjacent requests.
        merging: bool => "merging", Kind::Flag, Value::Flag(true),
            "Merging saves commands in sequential workloads; without it every request reaches the device as issued.";
        /// True to plug, as blk-mq does: what a task submits at one moment is collected, merged with the one before it
        /// and given to mq-deadline or kyber 32 requests at a time, which the device then takes from. `none` always
        /// does.
        plug: bool => "plug", Kind::Flag, Value::Flag(false),
            "With it the order is Linux's where a task submits much at once: more than 32 requests are sorted in \
             parts, and in a part only neighbours merge at once.", Used::without("scheduler", UNPLUGGED);
        /// Version of Linux whose block layer the scheduler stands in, and that `none`, `mq-deadline` and `kyber` are
        /// taken from. An older one in blk-mq shares one set of tags among reads and writes.
        linux: Linux => "linux", Kind::Choice(Linux::CHOICES), Value::Name("auto"),
            "Take that of the host: versions differ in what a batch continues with, in the limits on asynchronous \
             requests, and in the order in which `none` sends what was submitted together.";
        /// Ticks of the kernel's clock a second, in which mq-deadline and kyber measure time (Linux has 100, 250, 300
        /// or 1000).
        hz: u32 => "hz", Kind::Count { min: 100, max: 1_000 }, Value::Count(250),
            "Take that of the host: with fewer ticks deadlines and timers are coarser.",
            Used::with("scheduler", OF_BLK_MQ);
        /// Whether writes that no task waits for, and discards, are throttled.
        wbt: Throttling => "wbt", Kind::Choice(Throttling::CHOICES), Value::Name("auto"),
            "With it reads hardly wait behind a flood of writes, which takes longer.",
            Used::without("linux", &["2.6.32"]);
        /// Least latency of the reads of a tenth of a second above which fewer writes are let in. Linux sets 2 ms, and
        /// 75 ms for disks.
        wbt_latency_ns: Ns => "wbt_latency", Kind::Time { min: US, max: 3_600 * S }, Value::Time(2 * MS),
            "A lower target favours reads.", Used::without("wbt", &["off"]);
        /// Write cache that the device reports.
        write_cache: WriteCache => "write_cache", Kind::Choice(WriteCache::CHOICES), Value::Name("auto"),
            "Writes to a volatile cache are let in again when all that were under way have completed.",
            Used::without("wbt", &["off"]);
        /// What synchronous writes are, to which limits differ: neither a recording nor a model says so.
        sync_writes: SyncWrites => "sync_writes", Kind::Choice(SyncWrites::CHOICES), Value::Name("auto"),
            "Databases mostly write directly; `fsync` after a write is what file systems and mail servers do.",
            Used::without("wbt", &["off"]);
        /// What asynchronous writes are.
        writeback: Writeback => "writeback", Kind::Choice(Writeback::CHOICES), Value::Name("normal"),
            "Writes of the background may be 4 at a time, others 8 where no read is near, 16 while tasks are held up.",
            Used::without("wbt", &["off"]);
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
    /// The version of Linux, never [`Linux::Auto`].
    pub fn linux(&self) -> Linux {
        match self.linux {
            Linux::Auto if self.is_of_blk_mq() => Linux::V6_12,
            Linux::Auto => Linux::V2_6_32,
            version => version,
        }
    }

    /// Maximum number of requests of a class, for schedulers that count synchronous and asynchronous ones apart.
    pub fn class_requests(&self) -> u32 {
        self.nr_requests.number_or(DEFAULT_REQUESTS.max(self.queue_depth))
    }

    /// The tags of a scheduler of blk-mq (docs/linux-schedulers.md, "Tags and `nr_requests`").
    pub fn tag_set(&self) -> TagSet {
        let selected = 2 * self.queue_depth.min(DEFAULT_REQUESTS);
        let tags = self.nr_requests.number_or(selected);
        match self.async_limits {
            AsyncLimits::NrRequests => TagSet::of(tags),
            AsyncLimits::Selected => TagSet::resized(selected, tags, self.linux()),
        }
    }

    /// Size of the pool of requests. Each hardware queue has room for two classes of requests or for its tags, by what
    /// is more, and for as many flushes as the device takes.
    pub fn requests(&self) -> u64 {
        let [of_class, tags, depth] = [self.class_requests(), self.tag_set().tags, self.queue_depth].map(u64::from);
        u64::from(self.hardware_queues) * ((2 * of_class).max(tags).max(depth) + depth)
    }

    /// Maximum size that a request may reach by merging, in bytes.
    pub fn max_request_bytes(&self) -> u64 {
        let most = match self.linux() {
            Linux::V6_18 => 4 * MIB,
            Linux::V6_1 | Linux::V6_12 => 1_280 * KIB,
            Linux::V2_6_32 | Linux::Auto => 512 * KIB,
        };
        let of_segments = self.max_segments.map_or(u64::MAX, |segments| u64::from(segments) * HOST_PAGE);
        self.max_request_bytes.number_or(most).min(of_segments)
    }

    /// Maximum number of requests at the device, in all of the hardware queues that the scheduler serves.
    pub fn device_depth(&self) -> u32 {
        if self.is_of_blk_mq() { self.queue_depth * self.hardware_queues } else { self.queue_depth }
    }

    /// True if writes are throttled, unless the scheduler turns that off ([`crate::Scheduler::is_throttled`]).
    pub fn throttles(&self) -> bool {
        self.linux() > Linux::V2_6_32 && self.wbt != Throttling::Off
    }

    /// Depth of the device by which writes are throttled: its tags behind the SCSI layer, and without a scheduler; the
    /// scheduler's, but no more, for other drives.
    pub fn throttled_depth(&self) -> u32 {
        if self.scheduler == "none" { self.queue_depth } else { self.queue_depth.min(2 * DEFAULT_REQUESTS) }
    }

    /// True for a scheduler of Linux that knows tags, software queues and hardware queues.
    pub fn is_of_blk_mq(&self) -> bool {
        OF_BLK_MQ.contains(&self.scheduler)
    }
}
