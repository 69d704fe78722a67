//! What a run measured, as raw counters.

use flashloom_buffer::BufferReport;
use flashloom_ftl::FtlReport;
use flashloom_host::SchedulerStats;
use flashloom_nand::{Counts, ReadCounts, Utilization};
use flashloom_units::{Figures, Latency, Ns};
use flashloom_workload::Op;

use crate::anatomy::AnatomyReport;
use crate::precondition::Preconditioned;
use crate::status::Reason;

/// What the host saw. Requests are counted as the workload issued them, before merging.
#[derive(Clone, Debug, Default)]
pub struct HostReport {
    /// Requests that arrived.
    pub generated: u64,
    /// Arrival of the last of them, by the workload: one that found the host full entered it later.
    pub last_arrival_ns: Ns,
    /// Requests that completed, by operation in the order of [`Op`].
    pub completed: [u64; 4],
    /// Requests that failed, by reason in the order of [`Reason`].
    pub failed: [u64; Reason::COUNT],
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub write_bytes: u64,
    /// From time zero to the last completion or failure, or to the end of the drain where the run ends with one.
    pub duration_ns: Ns,
    /// From arrival to completion, as all latencies here without requests that failed.
    pub read_latency: Latency,
    /// From arrival to completion.
    pub write_latency: Latency,
    /// From arrival to completion, of flushes; a write that a flush goes before is not one.
    pub flush_latency: Latency,
    /// From arrival to completion.
    pub discard_latency: Latency,
    /// Of the writes, those that are durable when they complete (FUA).
    pub fua_latency: Latency,
    /// Of the writes, those that a flush goes before (PREFLUSH). One with both flags counts in both.
    pub preflush_latency: Latency,
    /// From dispatch to completion, of every completed request: the part that the drive adds. The part that the host
    /// adds is [`SchedulerStats::wait`].
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

    /// From arrival to completion, of every completed request.
    pub fn latency(&self) -> Latency {
        let mut all = self.read_latency.clone();
        all.merge(&self.write_latency);
        all.merge(&self.flush_latency);
        all.merge(&self.discard_latency);
        all
    }

    /// Latencies of all completed requests, summed.
    pub fn latency_sum_ns(&self) -> u128 {
        let [read, write] = [self.read_latency.sum(), self.write_latency.sum()];
        read + write + self.flush_latency.sum() + self.discard_latency.sum()
    }

    /// Completed requests of one operation.
    pub fn completed_of(&self, op: Op) -> u64 {
        self.completed[op as usize]
    }
}

/// Everything that a run measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the host saw.
    pub host: HostReport,
    /// What the block layer counted.
    pub scheduler: SchedulerStats,
    /// The values of the statistics that its policies describe.
    pub figures: Figures,
    /// What the buffer counted; nothing for a drive without one.
    pub buffer: Option<BufferReport>,
    /// Time that writes waited for room in the buffer, summed over them.
    pub stall_ns: u128,
    /// Pages that were still dirty in the buffer when the last request completed, and were written then; nothing for a
    /// run that leaves them there.
    pub drained_pages: Option<u64>,
    /// What the FTL counted.
    pub ftl: FtlReport,
    /// Flash operations by kind and origin.
    pub counts: Counts,
    /// Reads that did not succeed at once; nothing for a drive whose reads always do.
    pub reads: Option<ReadCounts>,
    /// How busy the array was; nothing in counting mode.
    pub utilization: Option<Utilization>,
    /// Erases of each block since the drive was new.
    pub erase_counts: Vec<u32>,
    /// Of these, the erases before the workload: those of preconditioning.
    pub erased_before: Vec<u32>,
    /// Sectors that reads asked for and that nothing was stored for: never written, or discarded since.
    pub unmapped_read_sectors: u64,
    /// Host sectors that were compared with what they must hold; nothing where verification is off.
    pub sectors_checked: Option<u64>,
    /// Where the time of the requests went; nothing where nobody asked.
    pub anatomy: Option<Box<AnatomyReport>>,
    /// What ageing the drive did, if it was aged.
    pub preconditioned: Option<Preconditioned>,
    /// How the drive's life ended, if it did.
    pub end_of_life: Option<EndOfLife>,
}

/// The moment when a page could not be stored, because too many blocks had failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOfLife {
    /// When.
    pub time_ns: Ns,
    /// Pages that the drive had stored for the host since it was new, preconditioning included.
    pub host_page_writes: u64,
    /// Requests that failed: then, or later.
    pub unserved_requests: u64,
    /// Pages that the write buffer held or had evicted, and flash did not have at the end of the run.
    pub unwritten_pages: u32,
}

/// What the requests waited for that completed since the sample before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampledLatency {
    /// The latency that half of them do not pass.
    pub p50_ns: Ns,
    /// The latency that 99 % of them do not pass.
    pub p99_ns: Ns,
    /// The longest latency.
    pub max_ns: Ns,
    /// The longest time from arrival to dispatch.
    pub wait_max_ns: Ns,
}

/// The state of a run at one moment; counters are cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Whether requests take time; in counting mode there is no latency, and `time_ns` is when the last one arrived.
    pub is_timed: bool,
    /// When.
    pub time_ns: Ns,
    /// Requests that have completed.
    pub completed: u64,
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub write_bytes: u64,
    /// Latencies of completed requests, summed.
    pub latency_sum_ns: u128,
    /// Latencies since the sample before; nothing where no request completed, or none takes time.
    pub latency: Option<SampledLatency>,
    /// Requests that have arrived, and neither completed nor failed.
    pub outstanding: u64,
    /// Pages in the buffer that flash does not have yet.
    pub dirty_pages: u32,
    /// Pages that the FTL stored for the host, without those that only pad a block: what `programs` amplify.
    pub host_page_writes: u64,
    /// Pages programmed, by origin in the order of [`Origin`](flashloom_nand::Origin).
    pub programs: [u64; 5],
    /// Blocks erased.
    pub erases: u64,
    /// Free blocks of the drive.
    pub free_blocks: u64,
}
