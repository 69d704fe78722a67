//! The result of a run and of a comparison, as JSON: the types here are the format, and the JSON schemas that are
//! checked in are generated from them.
//!
//! Units are in the names. What does not apply is absent, never zero: there is no latency without time, and no write
//! amplification without writes, no merge without log blocks.

use std::collections::BTreeMap;

use flashloom_units::{Figure, Latency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The format of [`RunResult`]; the number changes when a program that reads it would have to.
pub const RESULT_SCHEMA: &str = "flashloom/result/1";
/// The format of [`Comparison`].
pub const COMPARE_SCHEMA: &str = "flashloom/compare/1";

/// The parts of a result that say what was run and what that cost, and not what it found out.
pub const NOT_FOUND_OUT: [&str; 3] = ["config", "provenance", "run"];

macro_rules! result_types {
    ($($(#[doc = $doc:literal])+ $name:ident {
        $($(#[doc = $help:literal])+ $(#[$attribute:meta])* $field:ident: $type:ty,)+
    })+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            $($(#[doc = $help])+ $(#[$attribute])* pub $field: $type,)+
        }
    )+};
}

mod anatomy;
mod bounds;
mod ftl;
mod hints;
mod lifetime;
mod provenance;
mod repeated;

pub use anatomy::{AnatomyResult, PartsResult, SliceResult, TailResult, TotalNs};
pub use bounds::{BoundsResult, BufferBound, FtlBound, SchedulerBound};
pub use ftl::{
    AssociativityResult, BlockingResult, FtlResult, MapCacheResult, MergesResult, RetiredResult, StreamsResult,
    WaitResult,
};
pub use hints::HintResult;
pub use lifetime::LifetimeResult;
pub(crate) use provenance::config_hash;
pub use provenance::{EXPERIMENT, InputResult, ProvenanceResult};
pub use repeated::{KEPT_SCHEMA, KeptRun, LeftOutResult, RepeatedFigure, RepeatedResult};

/// The values of the statistics that a policy describes, by name.
pub type Statistics = BTreeMap<String, FigureResult>;

/// The value of a policy's statistic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FigureResult {
    /// A count, bytes or nanoseconds.
    Whole(u64),
    /// A ratio.
    Ratio(f64),
    /// A distribution of nanoseconds.
    Times(Box<Distribution>),
}

impl FigureResult {
    /// Nothing for a ratio without a whole, or a distribution of nothing.
    pub(crate) fn of(figure: &Figure) -> Option<Self> {
        Some(match figure {
            Figure::Count(value) | Figure::Bytes(value) | Figure::Time(value) => Self::Whole(*value),
            Figure::Ratio(value) => Self::Ratio((*value).filter(|value| value.is_finite())?),
            Figure::Times(latency) => Self::Times(Box::new(Distribution::of(latency)?)),
        })
    }
}

result_types! {
    /// Everything that one run found out.
    RunResult {
        /// The format of this object.
        schema: String,
        /// The effective configuration, every default filled in; quantities carry their units.
        config: serde_json::Value,
        /// What the host asked for and how long it waited.
        host: HostResult,
        /// The host's I/O scheduler.
        #[serde(skip_serializing_if = "Option::is_none")]
        scheduler: Option<SchedulerResult>,
        /// The write buffer; absent for a drive without one.
        #[serde(skip_serializing_if = "Option::is_none")]
        buffer: Option<BufferResult>,
        /// The flash translation layer.
        ftl: FtlResult,
        /// The flash array.
        nand: NandResult,
        /// Wear since the drive was new, preconditioning included.
        wear: WearResult,
        /// What the workload counts besides; absent where it counts nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        workload: Option<WorkloadResult>,
        /// What the threads of a Filebench personality did; absent for other workloads.
        #[serde(skip_serializing_if = "Option::is_none")]
        filebench: Option<FilebenchResult>,
        /// How well a synthesised workload fits its characterisation; absent for other workloads.
        #[serde(skip_serializing_if = "Option::is_none")]
        synthesized: Option<SynthesizedResult>,
        /// What was written to the drive before the workload; absent for a new drive.
        #[serde(skip_serializing_if = "Option::is_none")]
        precondition: Option<PreconditionResult>,
        /// How the drive's life ended; absent if it did not. A run that stops then has the figures until then.
        #[serde(skip_serializing_if = "Option::is_none")]
        end_of_life: Option<EndOfLifeResult>,
        /// How far the run is from the best that is possible; absent unless `compare --bounds` asks for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        bounds: Option<BoundsResult>,
        /// Whether the data was checked.
        integrity: IntegrityResult,
        /// What makes the figures mean less than they seem, at most three remarks; absent where nothing does.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        hints: Vec<HintResult>,
        /// What the result came from; absent for a drive that was driven by hand.
        #[serde(skip_serializing_if = "Option::is_none")]
        provenance: Option<ProvenanceResult>,
        /// What the simulation itself took; the only part that differs from one time to the next.
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunCost>,
    }

    /// What the host asked for.
    HostResult {
        /// Requests that arrived.
        requests: u64,
        /// Requests that completed; those that did not have failed.
        completed: u64,
        /// Requests that failed, by reason; absent if none did. They count in no other figure but the duration.
        #[serde(skip_serializing_if = "Option::is_none")]
        failed: Option<FailedResult>,
        /// Reads among the requests.
        reads: u64,
        /// Writes among the requests.
        writes: u64,
        /// Discards among the requests.
        discards: u64,
        /// Flushes among the requests; a write that a flush goes before is a write.
        flushes: u64,
        /// Of the writes, those that are durable when they complete (FUA).
        fua_writes: u64,
        /// Of the writes, those that a flush goes before (PREFLUSH). One with both flags counts in both.
        preflush_writes: u64,
        /// Bytes that the reads asked for.
        read_bytes: u64,
        /// Bytes that the writes carried.
        write_bytes: u64,
        /// Sectors that were read and are not stored: never written, or discarded. No flash is read for them.
        unmapped_read_sectors: u64,
        /// Lines of the trace that could not be read and were skipped; absent unless that was asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        skipped_lines: Option<u64>,
        /// Simulated time from the start of the workload to the last completion or failure.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ns: Option<u64>,
        /// Completed requests per second of simulated time.
        #[serde(skip_serializing_if = "Option::is_none")]
        iops: Option<f64>,
        /// Bytes read and written per second of simulated time.
        #[serde(skip_serializing_if = "Option::is_none")]
        throughput_bytes_per_s: Option<f64>,
        /// From arrival to completion.
        #[serde(skip_serializing_if = "Option::is_none")]
        latency_ns: Option<LatencyResult>,
        /// Where the time of reads and writes went; absent unless `run.anatomy` asks for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        anatomy: Option<AnatomyResult>,
    }

    /// Requests that failed, by reason.
    FailedResult {
        /// The drive held them when its life ended; in a run that stops then, all that had arrived and not completed.
        #[serde(skip_serializing_if = "Option::is_none")]
        end_of_life: Option<u64>,
        /// They were to change a drive whose life had ended, or to make durable what it could not store.
        #[serde(skip_serializing_if = "Option::is_none")]
        read_only: Option<u64>,
    }

    /// Latency by what was asked; absent for what no request asked.
    LatencyResult {
        /// Of reads.
        #[serde(skip_serializing_if = "Option::is_none")]
        read: Option<Distribution>,
        /// Of writes.
        #[serde(skip_serializing_if = "Option::is_none")]
        write: Option<Distribution>,
        /// Of the writes, those that are durable when they complete (FUA).
        #[serde(skip_serializing_if = "Option::is_none")]
        fua_write: Option<Distribution>,
        /// Of the writes, those that a flush goes before (PREFLUSH). One with both flags counts in both.
        #[serde(skip_serializing_if = "Option::is_none")]
        preflush_write: Option<Distribution>,
        /// Of flushes.
        #[serde(skip_serializing_if = "Option::is_none")]
        flush: Option<Distribution>,
        /// Of discards.
        #[serde(skip_serializing_if = "Option::is_none")]
        discard: Option<Distribution>,
        /// Of all requests, discards and flushes included.
        #[serde(skip_serializing_if = "Option::is_none")]
        all: Option<Distribution>,
        /// The part from arrival to dispatch, which the host adds; flushes, which do not queue, are left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        queue: Option<Distribution>,
        /// The part of all requests from dispatch to completion, which the drive adds.
        #[serde(skip_serializing_if = "Option::is_none")]
        device: Option<Distribution>,
    }

    /// A distribution in nanoseconds: exact moments and extremes, percentiles to three digits.
    Distribution {
        /// How many there were.
        count: u64,
        /// The mean.
        mean: f64,
        /// The standard deviation.
        stddev: f64,
        /// The least.
        min: u64,
        /// What half of them do not pass.
        p50: u64,
        /// What 90 % do not pass.
        p90: u64,
        /// What 95 % do not pass.
        p95: u64,
        /// What 99 % do not pass.
        p99: u64,
        /// What 99.9 % do not pass.
        p99_9: u64,
        /// What 99.99 % do not pass.
        p99_99: u64,
        /// The greatest.
        max: u64,
    }

    /// The host's I/O scheduler.
    SchedulerResult {
        /// Which one.
        name: String,
        /// Requests that it took in.
        inserted: u64,
        /// Merges, each of which makes two requests one.
        merged: u64,
        /// Requests that it sent to the device.
        dispatched: u64,
        /// How often a dispatched request had the other direction than the one before it.
        direction_switches: u64,
        /// Requests that were dispatched after their deadline.
        expired: u64,
        /// The longest time from arrival to dispatch.
        max_wait_ns: u64,
        /// What this scheduler counts besides.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        statistics: Statistics,
    }

    /// The write buffer.
    BufferResult {
        /// The order of eviction.
        order: String,
        /// The rate of eviction.
        rate: String,
        /// The placement of evicted logical blocks on chips; absent unless every chip has an FTL of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        placement: Option<String>,
        /// Pages that the host wrote.
        page_writes: u64,
        /// Pages that the host read.
        page_reads: u64,
        /// Pages that a read found in the buffer.
        read_hits: u64,
        /// Pages that a write found in the buffer.
        write_hits: u64,
        /// Write hits as a share of the pages that the host wrote.
        #[serde(skip_serializing_if = "Option::is_none")]
        hit_ratio: Option<f64>,
        /// Victims evicted because room was needed.
        evictions: u64,
        /// Pages sent to flash by evictions, flushes and FUA, without those that only pad a block.
        evicted_pages: u64,
        /// Pages of these that left early, in a stream with a victim; absent for an allocation without streams.
        #[serde(skip_serializing_if = "Option::is_none")]
        gathered_pages: Option<u64>,
        /// Evicted pages that were dirty when the last request completed; absent unless the run ends with a drain.
        #[serde(skip_serializing_if = "Option::is_none")]
        drained_pages: Option<u64>,
        /// Pages read from flash and written again to make evicted blocks whole; absent for an order that does not pad.
        #[serde(skip_serializing_if = "Option::is_none")]
        padding_pages: Option<u64>,
        /// Pages moved because their logical block was placed on another chip; absent without a placement.
        #[serde(skip_serializing_if = "Option::is_none")]
        migrated_pages: Option<u64>,
        /// Pages kept because the host read them; absent for an order that keeps none.
        #[serde(skip_serializing_if = "Option::is_none")]
        filled_pages: Option<u64>,
        /// Of these, pages given up at no cost because flash held them too.
        #[serde(skip_serializing_if = "Option::is_none")]
        dropped_pages: Option<u64>,
        /// Writes that waited for room: they found the buffer full, or an earlier write waiting.
        stalled_writes: u64,
        /// Time that they waited, summed over them.
        #[serde(skip_serializing_if = "Option::is_none")]
        stall_ns: Option<u64>,
        /// How full the buffer was.
        occupancy: OccupancyResult,
        /// What its policies count besides, by the key that chose them: order, rate.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        statistics: BTreeMap<String, Statistics>,
    }

    /// How full the buffer was, over the whole run.
    OccupancyResult {
        /// Pages that it has room for.
        capacity_pages: u64,
        /// Pages that it held on average over time, those on their way to and from flash among them.
        #[serde(skip_serializing_if = "Option::is_none")]
        held_pages_mean: Option<f64>,
        /// The most pages that it held.
        held_pages_max: u32,
        /// Pages on average over time that flash did not hold, and that were not on their way there.
        #[serde(skip_serializing_if = "Option::is_none")]
        dirty_pages_mean: Option<f64>,
        /// The most of these.
        dirty_pages_max: u32,
    }

    /// The flash array.
    NandResult {
        /// Pages read.
        reads: ByOrigin,
        /// Pages programmed.
        programs: ByOrigin,
        /// Blocks erased.
        erases: ByOrigin,
        /// Programs among these that failed; absent for a drive whose programs cannot fail.
        #[serde(skip_serializing_if = "Option::is_none")]
        failed_programs: Option<ByOrigin>,
        /// Erases among these that failed; absent for a drive whose erases cannot fail.
        #[serde(skip_serializing_if = "Option::is_none")]
        failed_erases: Option<ByOrigin>,
        /// Share of the time that the channels carried something, on average over them.
        #[serde(skip_serializing_if = "Option::is_none")]
        channel_utilization: Option<f64>,
        /// Share of the time that the dies were occupied, on average over them.
        #[serde(skip_serializing_if = "Option::is_none")]
        die_utilization: Option<f64>,
        /// The channel that carried something for the longest time.
        #[serde(skip_serializing_if = "Option::is_none")]
        busiest_channel: Option<BusiestChannel>,
        /// The die that was occupied for the longest time.
        #[serde(skip_serializing_if = "Option::is_none")]
        busiest_die: Option<BusiestDie>,
        /// Planes that took part in a program of a die, on average.
        #[serde(skip_serializing_if = "Option::is_none")]
        planes_per_program: Option<f64>,
        /// Planes that took part in an erase of a die, on average.
        #[serde(skip_serializing_if = "Option::is_none")]
        planes_per_erase: Option<f64>,
        /// Die time of programs for the host, over all dies.
        #[serde(skip_serializing_if = "Option::is_none")]
        write_time_ns: Option<u64>,
        /// Die time of collection: its reads, programs and erases, over all dies.
        #[serde(skip_serializing_if = "Option::is_none")]
        collection_time_ns: Option<u64>,
    }

    /// The busiest channel; of several the first.
    BusiestChannel {
        /// Its number, from 0.
        channel: u32,
        /// Share of the time that it carried something.
        utilization: f64,
    }

    /// The busiest die; of several the first.
    BusiestDie {
        /// Its channel, from 0.
        channel: u32,
        /// Its number in the drive, from 0, as `--slowest` has it.
        die: u32,
        /// Share of the time that it was occupied.
        utilization: f64,
    }

    /// Flash operations by what they were for.
    ByOrigin {
        /// All of them.
        total: u64,
        /// For requests, and for what the write buffer evicts.
        host: u64,
        /// For garbage collection.
        gc: u64,
        /// For merges of log blocks.
        merge: u64,
        /// For the mapping itself.
        map: u64,
        /// For wear levelling.
        wear: u64,
    }

    /// Wear of the array.
    WearResult {
        /// How often each block was erased.
        erase_count: EraseCount,
        /// How much the host can write; absent where the run erased or wrote nothing, or without `device.rated_cycles`.
        #[serde(skip_serializing_if = "Option::is_none")]
        lifetime: Option<LifetimeResult>,
    }

    /// Erases of each block.
    EraseCount {
        /// Of the block erased least.
        min: u32,
        /// On average.
        mean: f64,
        /// Of the block erased most.
        max: u32,
        /// The standard deviation.
        stddev: f64,
    }

    /// The workload.
    WorkloadResult {
        /// What it counts, by the key that chose it: kind.
        statistics: BTreeMap<String, Statistics>,
    }

    /// What the threads of a Filebench personality did.
    FilebenchResult {
        /// Which personality.
        personality: String,
        /// Flow operations that ended, without those that only wait for other threads.
        operations: u64,
        /// Simulated time for which the threads ran.
        duration_ns: u64,
        /// Flow operations per second of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        operations_per_second: Option<f64>,
        /// Processors that the threads kept busy on average.
        #[serde(skip_serializing_if = "Option::is_none")]
        busy_processors: Option<f64>,
        /// Each flow operation, in the order of the personality.
        flows: Vec<FlowResult>,
    }

    /// One flow operation.
    FlowResult {
        /// As in the published personality.
        name: String,
        /// How many ended.
        operations: u64,
        /// How many ended per second.
        #[serde(skip_serializing_if = "Option::is_none")]
        operations_per_second: Option<f64>,
        /// From begin to end, every wait included.
        #[serde(skip_serializing_if = "Option::is_none")]
        latency_ns: Option<Distribution>,
    }

    /// How well a synthesised workload fits its characterisation.
    SynthesizedResult {
        /// What it should look like.
        target: CharacterResult,
        /// What the whole stream looks like.
        achieved: CharacterResult,
    }

    /// The figures of a stream of requests.
    CharacterResult {
        /// Share of the requests after the first that do not begin where the one before ended.
        random_share: f64,
        /// Mean bytes of a request.
        mean_request_bytes: f64,
        /// Share of the requests that are reads.
        read_share: f64,
        /// How many requests there are.
        requests: u64,
        /// Bytes of the distinct 4 KiB pages that are touched.
        footprint_bytes: u64,
        /// Bytes from the start of the device to the last sector that is touched.
        span_bytes: u64,
    }

    /// What preconditioning did. It counts in no other figure but wear.
    PreconditionResult {
        /// Pages written.
        page_writes: u64,
        /// Write amplification of the last window; absent where nothing was overwritten.
        #[serde(skip_serializing_if = "Option::is_none")]
        waf: Option<f64>,
        /// The hash of the aged drive, if it came from a file or was saved to one.
        #[serde(skip_serializing_if = "Option::is_none")]
        state_sha256: Option<String>,
    }

    /// The moment when a page could not be stored, because too many blocks had failed.
    EndOfLifeResult {
        /// When, in simulated time.
        #[serde(skip_serializing_if = "Option::is_none")]
        time_ns: Option<u64>,
        /// Pages that the drive had stored for the layer above since it was new, preconditioning included.
        host_page_writes: u64,
        /// Requests that failed.
        unserved_requests: u64,
        /// Pages that the write buffer held or had evicted, and flash did not have at the end of the run.
        unwritten_pages: u32,
    }

    /// Whether the data was checked.
    IntegrityResult {
        /// Whether every flash command and every sector read was checked.
        verified: bool,
        /// Sectors whose content was compared with what the host last wrote there.
        #[serde(skip_serializing_if = "Option::is_none")]
        sectors_checked: Option<u64>,
    }

    /// What the simulation itself took.
    RunCost {
        /// Seconds from the start of preconditioning to the result.
        wall_seconds: f64,
        /// Completed requests per second of these.
        requests_per_second: f64,
        /// Most memory that the program held so far; absent where the system does not say.
        #[serde(skip_serializing_if = "Option::is_none")]
        peak_rss_bytes: Option<u64>,
    }

    /// Every run of a comparison.
    Comparison {
        /// The format of this object.
        schema: String,
        /// The runs, in the order of the cross product; the key that was given first varies slowest.
        runs: Vec<ComparedRun>,
        /// What the seeds of each combination say together; absent unless several seeds were asked for.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        repeated: Vec<RepeatedResult>,
        /// Combinations that were left out because their values do not go together; absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        left_out: Vec<LeftOutResult>,
        /// What the experiment expects of them; absent where it expects nothing.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        expectations: Vec<ExpectationResult>,
    }

    /// What an experiment expects, and what came out.
    ExpectationResult {
        /// What is expected, in a sentence.
        claim: String,
        /// How the number is worked out from the results.
        formula: String,
        /// The least that it may be, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_least: Option<f64>,
        /// The most that it may be, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
        /// The number; absent where a figure does not apply to a run.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<f64>,
        /// Whether it is within its bounds.
        holds: bool,
    }

    /// One run of a comparison.
    ComparedRun {
        /// The varied keys with the values of this run.
        vary: serde_json::Map<String, serde_json::Value>,
        /// What the run found out.
        result: RunResult,
    }
}

impl Distribution {
    /// The figures of a distribution; nothing of an empty one.
    pub fn of(latency: &Latency) -> Option<Self> {
        (latency.count() > 0).then(|| Self {
            count: latency.count(),
            mean: latency.mean(),
            stddev: latency.stddev(),
            min: latency.min(),
            p50: latency.percentile(50.0),
            p90: latency.percentile(90.0),
            p95: latency.percentile(95.0),
            p99: latency.percentile(99.0),
            p99_9: latency.percentile(99.9),
            p99_99: latency.percentile(99.99),
            max: latency.max(),
        })
    }
}

impl ByOrigin {
    /// The counters of one kind of operation, in the order of the origins.
    pub fn of([host, gc, merge, map, wear]: [u64; 5]) -> Self {
        Self { total: host + gc + merge + map + wear, host, gc, merge, map, wear }
    }
}

impl EraseCount {
    /// The figures of the erase counts of all blocks.
    pub fn of(counts: &[u32]) -> Self {
        let blocks = counts.len().max(1) as f64;
        let mean = counts.iter().map(|&count| f64::from(count)).sum::<f64>() / blocks;
        let variance = counts.iter().map(|&count| (f64::from(count) - mean).powi(2)).sum::<f64>() / blocks;
        Self {
            min: counts.iter().copied().min().unwrap_or(0),
            mean,
            max: counts.iter().copied().max().unwrap_or(0),
            stddev: variance.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erase_counts_are_summarised_over_all_blocks() {
        let wear = EraseCount::of(&[1, 2, 3, 6]);
        assert_eq!((wear.min, wear.mean, wear.max), (1, 3.0, 6));
        assert!((wear.stddev - 3.5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn an_empty_distribution_is_absent() {
        assert_eq!(Distribution::of(&Latency::new()), None);
    }

    #[test]
    fn operations_by_origin_add_up() {
        assert_eq!(ByOrigin::of([1, 2, 3, 4, 5]).total, 15);
    }
}
