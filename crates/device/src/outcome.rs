//! The measurements of a run, as raw counters.

use flashloom_buffer::BufferReport;
use flashloom_ftl::FtlReport;
use flashloom_host::SchedulerStats;
use flashloom_nand::{ByOrigin, Counts, OtherPages, ReadCounts, Utilization};
use flashloom_units::{Figures, Latency, Ns};
use flashloom_workload::Op;

use crate::anatomy::AnatomyReport;
use crate::drive::ReadCacheReport;
use crate::precondition::{Filled, Preconditioned};
use crate::status::Reason;

/// Measurements at the host. Requests are counted as the workload issued them, before merging.
#[derive(Clone, Debug, Default)]
pub struct HostReport {
    /// Requests that arrived.
    pub generated: u64,
    /// Arrival time of the last request. A request that found the host full entered it later.
    pub last_arrival_ns: Ns,
    /// Completed requests by operation, in the order of [`Op`].
    pub completed: [u64; 4],
    /// Failed requests by reason, in the order of [`Reason`].
    pub failed: [u64; Reason::COUNT],
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub write_bytes: u64,
    /// Time from zero to the last completion or failure, or to the end of the drain if the run ends with one.
    pub duration_ns: Ns,
    /// Latency of reads, from arrival to completion. No latency in this struct includes failed requests.
    pub read_latency: Latency,
    /// Latency of writes.
    pub write_latency: Latency,
    /// Latency of flushes. A write with preflush is not counted here.
    pub flush_latency: Latency,
    /// Latency of discards.
    pub discard_latency: Latency,
    /// Latency of FUA writes, which are durable when they complete.
    pub fua_latency: Latency,
    /// Latency of writes with PREFLUSH. A write with both flags is counted in both.
    pub preflush_latency: Latency,
    /// Time from dispatch to completion of all completed requests: the part of latency spent in the drive.
    /// [`SchedulerStats::wait`] has the part spent in the host.
    pub device_latency: Latency,
}

impl HostReport {
    /// Requests that completed.
    pub fn total_completed(&self) -> u64 {
        self.completed.iter().sum()
    }

    /// Requests that failed.
    pub fn total_failed(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Requests that arrived and have neither completed nor failed.
    pub fn outstanding(&self) -> u64 {
        self.generated - self.total_completed() - self.total_failed()
    }

    /// Latency of all completed requests, from arrival to completion.
    pub fn latency(&self) -> Latency {
        let mut all = self.read_latency.clone();
        all.merge(&self.write_latency);
        all.merge(&self.flush_latency);
        all.merge(&self.discard_latency);
        all
    }

    /// Sum of the latencies of all completed requests.
    pub fn latency_sum_ns(&self) -> u128 {
        let [read, write] = [self.read_latency.sum(), self.write_latency.sum()];
        read + write + self.flush_latency.sum() + self.discard_latency.sum()
    }

    /// Completed requests of one operation.
    pub fn completed_of(&self, op: Op) -> u64 {
        self.completed[op as usize]
    }
}

/// All measurements of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Measurements at the host.
    pub host: HostReport,
    /// Counters of the block layer.
    pub scheduler: SchedulerStats,
    /// Values of the statistics that the policies declare.
    pub figures: Figures,
    /// Counters of the buffer; `None` for a drive without one.
    pub buffer: Option<BufferReport>,
    /// Counters of the read cache; `None` for a drive without one.
    pub read_cache: Option<ReadCacheReport>,
    /// Time that writes waited for room in the buffer, summed over all writes.
    pub stall_ns: u128,
    /// Pages still dirty in the buffer when the last request completed, which were then written; `None` for a run that
    /// does not drain the buffer.
    pub drained_pages: Option<u64>,
    /// Counters of the FTL.
    pub ftl: FtlReport,
    /// Flash operations by kind and origin.
    pub counts: Counts,
    /// Reads that did not succeed at once; `None` for a drive whose reads always do.
    pub reads: Option<ReadCounts>,
    /// Utilization of the array; `None` in counting mode.
    pub utilization: Option<Utilization>,
    /// Erases of each block since the drive was new.
    pub erase_counts: Vec<u32>,
    /// Erases of each block by preconditioning, which `erase_counts` includes.
    pub erased_before: Vec<u32>,
    /// Erases of each block in the array's other cell mode, SLC mode; empty without one.
    pub slc_erase_counts: Vec<u32>,
    /// Those of them before the workload.
    pub slc_erased_before: Vec<u32>,
    /// Pages read and programmed in that mode; `None` without one.
    pub slc_pages: Option<OtherPages>,
    /// Pages that could be programmed before an erase when the workload began ([`flashloom_nand::Nand::free_room`]).
    pub room_before: u64,
    /// Pages that can be programmed before an erase now.
    pub room: u64,
    /// Pages of the array that hold valid data or map; `None` if the mapping does not count them.
    pub valid_pages: Option<u64>,
    /// Pages that flash lacks.
    pub unwritten: Unwritten,
    /// Sectors read that were never written, or discarded since.
    pub unmapped_read_sectors: u64,
    /// Host sectors whose contents were verified; `None` if verification is off.
    pub sectors_checked: Option<u64>,
    /// Latency by cause; `None` if it was not requested.
    pub anatomy: Option<Box<AnatomyReport>>,
    /// What preconditioning did; `None` for a new drive.
    pub preconditioned: Option<Preconditioned>,
    /// How the drive was filled; `None` for a drive that was not, or that was loaded. No other figure depends on it.
    pub filled: Option<Filled>,
    /// The end of the drive's life; `None` if it did not end.
    pub end_of_life: Option<EndOfLife>,
}

/// Pages that are in the controller's memory and have still to be programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// Dirty pages in the write buffer. It is empty when a workload begins.
    pub buffered_pages: u32,
    /// Changed pages of a map on flash when the workload began.
    pub map_pages_before: u64,
    /// Changed pages of a map on flash now.
    pub map_pages: u64,
}

/// The end of a drive's life: the first time that a page could not be stored because too many blocks had failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOfLife {
    /// Time of the end.
    pub time_ns: Ns,
    /// Pages stored for the host since the drive was new, including preconditioning.
    pub host_page_writes: u64,
    /// Requests that failed at the end of life or afterwards.
    pub unserved_requests: u64,
    /// Pages, in the write buffer or evicted from it, that were not on flash at the end of the run.
    pub unwritten_pages: u32,
}

/// Latencies of the requests that completed since the previous sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampledLatency {
    /// Median latency.
    pub p50_ns: Ns,
    /// 99th percentile of latency.
    pub p99_ns: Ns,
    /// Maximum latency.
    pub max_ns: Ns,
    /// Maximum time from arrival to dispatch.
    pub wait_max_ns: Ns,
}

/// The state of a run at one time. Counters are cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Whether the run is timed. In counting mode there are no latencies, and `time_ns` is the arrival time of the last
    /// request.
    pub is_timed: bool,
    /// Time of the sample.
    pub time_ns: Ns,
    /// Requests that have completed.
    pub completed: u64,
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub write_bytes: u64,
    /// Sum of the latencies of completed requests.
    pub latency_sum_ns: u128,
    /// Latencies since the previous sample; `None` if no request completed, or in counting mode.
    pub latency: Option<SampledLatency>,
    /// Requests that have arrived and have neither completed nor failed.
    pub outstanding: u64,
    /// Dirty pages in the buffer.
    pub dirty_pages: u32,
    /// Pages stored for the host, without padding. Write amplification is the sum of `programs` divided by this.
    pub host_page_writes: u64,
    /// Pages programmed, by origin in the order of [`Origin`](flashloom_nand::Origin).
    pub programs: ByOrigin,
    /// Blocks erased.
    pub erases: u64,
    /// Free blocks of the drive.
    pub free_blocks: u64,
}
