//! The results of a run and of a comparison, as JSON: the types here are the format, and the checked-in JSON schemas
//! are generated from them.
//!
//! Units are in the names. A figure that does not apply is absent, never zero: there is no latency without time, no
//! write amplification without writes, no merge without log blocks.

use std::collections::BTreeMap;

use flashloom_units::{Figure, Latency};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::number::count;

/// Format identifier of [`RunResult`]; the number changes if programs that read it have to.
pub const RESULT_SCHEMA: &str = "flashloom/result/2";
/// Format identifier of [`Comparison`].
pub const COMPARE_SCHEMA: &str = "flashloom/compare/2";

/// Parts of a result that describe the run and its cost, not its findings.
pub const NOT_FOUND_OUT: [&str; 3] = ["config", "provenance", "run"];

/// The value at a path in a result as JSON, such as `host.iops`. Entries of a list go by their names:
/// `tenants.reader.host.iops`.
pub fn field<'a>(result: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(result, |value, name| match value {
        Value::Array(entries) => entries.iter().find(|entry| entry["name"] == name),
        _ => value.get(name),
    })
}

/// A value of JSON without the quotes of a text; `null` as it is.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Declares structs of a JSON format, with public fields. A field that may be absent is written `name?: type`: it is an
/// `Option`, and not written while it is `None`.
#[macro_export]
macro_rules! result_types {
    ($($(#[$about:meta])+ $name:ident {
        $($(#[$attribute:meta])+ $field:ident $(?: $some:ty)? $(: $type:ty)?,)+
    })+) => {$(
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(JsonSchema))]
        $(#[$about])+
        pub struct $name {$(
            $(#[$attribute])+
            $(#[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$some>,)?
            $(pub $field: $type,)?
        )+}
    )+};
}

mod anatomy;
mod bounds;
mod config;
mod contradiction;
mod energy;
mod ftl;
mod hints;
mod lifetime;
pub mod older;
mod provenance;
mod read;
mod repeated;
mod room;
mod series;

pub use anatomy::{AnatomyResult, PartsResult, SliceResult, TailResult, TotalNs};
pub use bounds::{BoundsResult, BufferBound, FtlBound, SchedulerBound};
pub use config::ConfigResult;
pub use energy::EnergyResult;
pub use ftl::{FtlResult, RetiredResult};
pub use hints::{ComparedHintResult, HintResult};
pub use lifetime::LifetimeResult;
pub use provenance::{EXPERIMENT, InputResult, ProvenanceResult, config_hash};
pub use read::{Unread, of_today, parse, schema_of};
pub use repeated::{KEPT_SCHEMA, KeptRun, LeftOutResult, RepeatedFigure, RepeatedResult};
pub use room::RoomResult;
pub use series::{BusySeries, EraseMap, HistogramResult, HistogramsResult, LatencySeries, SeriesResult};

/// Values of a policy's figures, by name.
pub type Statistics = BTreeMap<String, FigureResult>;

/// Value of a policy's statistic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum FigureResult {
    /// A count, bytes or nanoseconds.
    Whole(u64),
    /// A ratio.
    Ratio(f64),
    /// A distribution of durations in nanoseconds.
    Times(Box<Distribution>),
    /// A histogram of small whole numbers.
    Histogram(TallyResult),
}

impl FigureResult {
    /// Converts a figure; `None` for an absent one, a ratio without a denominator, or an empty distribution.
    pub fn of(figure: &Figure) -> Option<Self> {
        Some(match figure {
            Figure::Count(value) | Figure::Bytes(value) | Figure::Time(value) => Self::Whole(*value),
            Figure::Ratio(value) => Self::Ratio((*value).filter(|value| value.is_finite())?),
            Figure::Times(latency) => Self::Times(Box::new(Distribution::of(latency)?)),
            Figure::Histogram(histogram) => Self::Histogram(TallyResult::of(histogram)?),
            Figure::Absent => return None,
        })
    }
}

result_types! {
    /// Result of one run.
    RunResult {
        /// Format identifier of this object.
        schema: String,
        /// Effective configuration, with every default filled in; quantities carry their units.
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
        config: ConfigResult,
        /// Requests of the host and their latencies.
        host: HostResult,
        /// The requests of each of several workloads, in the order of the configuration; absent if there is one. Their
        /// sums are those of `host`.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        tenants: Vec<TenantResult>,
        /// The write buffer; absent for a drive without one.
        buffer?: BufferResult,
        /// The read cache; absent without one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        read_cache: Option<ReadCacheResult>,
        /// The flash translation layer.
        ftl: FtlResult,
        /// The flash array.
        nand: NandResult,
        /// Wear since the drive was new, preconditioning included.
        wear: WearResult,
        /// Statistics of the workload; absent if it has none.
        workload?: WorkloadResult,
        /// Operations of a Filebench personality; absent for other workloads.
        filebench?: FilebenchResult,
        /// Fit of a synthesised workload to its characterisation; absent for other workloads.
        synthesized?: SynthesizedResult,
        /// Writes to the drive before the workload; absent for a new drive.
        precondition?: PreconditionResult,
        /// End of the drive's life; absent if it did not end. A run that stops then has the figures until then.
        end_of_life?: EndOfLifeResult,
        /// Distance of the run from the best possible one; absent unless `compare --bounds` asks for it.
        bounds?: BoundsResult,
        /// Course of the run over time, and distributions in full; absent unless `run.series` asks for it.
        series?: Box<SeriesResult>,
        /// Extent of the data checks.
        integrity: IntegrityResult,
        /// Warnings that figures mean less than they seem, at most three; absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        hints: Vec<HintResult>,
        /// Origin of the result: program, configuration and files; absent for a drive that was driven by hand.
        provenance?: ProvenanceResult,
        /// Cost of the simulation itself; the only part that differs between identical runs.
        run?: RunCost,
    }

    /// One of several workloads that share a drive.
    TenantResult {
        /// Its name.
        name: String,
        /// Its requests. What only the block layer or the drive counts is absent.
        host: HostResult,
        /// Statistics of the workload; absent if it has none.
        workload?: WorkloadResult,
    }

    /// Requests of the host.
    #[serde(remote = "Self")]
    HostResult {
        /// Requests that arrived.
        requests: u64,
        /// Requests that completed; the others failed.
        completed: u64,
        /// Failed requests, by reason; absent if none failed. They count in no other figure but the duration.
        failed?: FailedResult,
        /// Reads among the requests.
        reads: u64,
        /// Writes among the requests.
        writes: u64,
        /// Discards among the requests.
        discards: u64,
        /// Flushes among the requests; a write preceded by a flush counts as a write.
        flushes: u64,
        /// Writes that are durable when they complete (FUA).
        fua_writes: u64,
        /// Writes preceded by a flush (PREFLUSH). One with both flags counts in both.
        preflush_writes: u64,
        /// Bytes that reads asked for.
        read_bytes: u64,
        /// Bytes that writes carried.
        write_bytes: u64,
        /// Sectors read that hold no data: never written, or discarded. No flash is read for them. Absent for one of
        /// several workloads.
        unmapped_read_sectors?: u64,
        /// Lines of the trace that could not be read and were skipped; absent unless `workload.skip_bad_lines` is set.
        skipped_lines?: u64,
        /// Simulated time from the start of the workload to the last completion or failure.
        duration_ns?: u64,
        /// Completed requests per second of simulated time.
        iops?: f64,
        /// Bytes read and written per second of simulated time.
        throughput_bytes_per_s?: f64,
        /// Latency, from arrival to completion.
        latency_ns?: LatencyResult,
        /// Latency of reads and writes by cause; absent unless `run.anatomy` asks for it.
        anatomy?: Box<AnatomyResult>,
        /// The I/O scheduler; absent in counting mode.
        scheduler?: PolicyResult,
    }

    /// Failed requests, by reason.
    FailedResult {
        /// Requests in the drive when its life ended; in a run that stops then, all that had not completed.
        end_of_life?: u64,
        /// Requests that would have changed a drive whose life had ended, or made durable what it could not store.
        read_only?: u64,
        /// Reads of data that the array could not read, or that was lost when its page was moved.
        unreadable?: u64,
    }

    /// Latency by kind of request; absent for kinds that no request had.
    LatencyResult {
        /// Latency of reads.
        read?: Distribution,
        /// Latency of writes.
        write?: Distribution,
        /// Latency of writes that are durable when they complete (FUA).
        fua_write?: Distribution,
        /// Latency of writes preceded by a flush (PREFLUSH). One with both flags counts in both.
        preflush_write?: Distribution,
        /// Latency of flushes.
        flush?: Distribution,
        /// Latency of discards.
        discard?: Distribution,
        /// Latency of all requests, discards and flushes included.
        all?: Distribution,
        /// Part of the latency from arrival to dispatch, in the host; without flushes, which do not queue.
        queue?: Distribution,
        /// Part of the latency of all requests from dispatch to completion, in the drive.
        device?: Distribution,
    }

    /// A distribution in nanoseconds: exact moments and extremes, percentiles to three digits.
    #[serde(remote = "Self")]
    Distribution {
        /// Number of samples.
        count: u64,
        /// The mean.
        mean: f64,
        /// The standard deviation.
        stddev: f64,
        /// The minimum.
        min: u64,
        /// The median: the value that half of the samples do not exceed.
        p50: u64,
        /// The 90th percentile: the value that 90 % of the samples do not exceed.
        p90: u64,
        /// The 95th percentile: the value that 95 % of the samples do not exceed.
        p95: u64,
        /// The 99th percentile: the value that 99 % of the samples do not exceed.
        p99: u64,
        /// The 99.9th percentile: the value that 99.9 % of the samples do not exceed.
        p99_9: u64,
        /// The 99.99th percentile: the value that 99.99 % of the samples do not exceed.
        p99_99: u64,
        /// The maximum.
        max: u64,
    }

    /// A policy, and its figures: what is counted for every policy of its kind, and what it counts itself.
    PolicyResult {
        /// Name of the policy.
        policy: String,
        /// Its figures, by name.
        #[serde(flatten)]
        figures: Statistics,
    }

    /// A histogram of small whole numbers.
    TallyResult {
        /// The mean.
        mean: f64,
        /// The maximum.
        max: u64,
        /// How often each number came, from 0 on.
        histogram: Vec<u64>,
    }

    /// The read cache: pages read ahead of sequential streams.
    ReadCacheResult {
        /// Pages of reads that were found in it, those that were still being read included.
        hits: u64,
        /// Pages of reads that were found in it and were still being read.
        late_hits: u64,
        /// Pages read ahead.
        pages_read: u64,
    }

    /// The write buffer.
    BufferResult {
        /// Replacement policy (the order of eviction).
        order: PolicyResult,
        /// Eviction batch size policy (the rate of eviction).
        rate: PolicyResult,
        /// Pages written by the host.
        page_writes: u64,
        /// Pages read by the host.
        page_reads: u64,
        /// Read pages that were found in the buffer.
        read_hits: u64,
        /// Written pages that were found in the buffer.
        write_hits: u64,
        /// Hit ratio of writes: write hits as a share of the pages written by the host.
        hit_ratio?: f64,
        /// Victims, pages or blocks, evicted to make room; not those of flushes, FUA writes and a drain.
        evictions: u64,
        /// Pages sent to flash by evictions, flushes, FUA writes and a drain, without those that only pad a block.
        evicted_pages: u64,
        /// Evicted pages that were dirty when the last request completed; absent unless the run ends with a drain.
        drained_pages?: u64,
        /// Writes that waited for room: the buffer was full, or an earlier write was waiting.
        stalled_writes: u64,
        /// Time that writes waited for room, summed over them.
        stall_ns?: u64,
        /// Occupancy of the buffer.
        occupancy: OccupancyResult,
    }

    /// Occupancy of the buffer over the whole run.
    OccupancyResult {
        /// Capacity in pages.
        capacity_pages: u64,
        /// Time-averaged number of occupied slots, including pages in transit to or from flash.
        held_pages_mean?: f64,
        /// Maximum number of occupied slots.
        held_pages_max: u32,
        /// Time-averaged number of dirty pages: those not in flash and not in transit to it.
        dirty_pages_mean?: f64,
        /// Maximum number of dirty pages.
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
        /// Failed programs; absent for a drive whose programs cannot fail.
        failed_programs?: ByOrigin,
        /// Failed erases; absent for a drive whose erases cannot fail.
        failed_erases?: ByOrigin,
        /// Share of the time that a channel was busy, averaged over all channels.
        channel_utilization?: f64,
        /// Share of the time that a die was busy, averaged over all dies.
        die_utilization?: f64,
        /// The channel that was busy for the longest time.
        busiest_channel?: BusiestChannel,
        /// The die that was busy for the longest time.
        busiest_die?: BusiestDie,
        /// Planes that took part in a program of a die, on average (multi-plane operation).
        planes_per_program?: f64,
        /// Planes that took part in an erase of a die, on average (multi-plane operation).
        planes_per_erase?: f64,
        /// Die time of programs for the host, over all dies.
        write_time_ns?: u64,
        /// Die time of garbage collection: its reads, programs and erases, over all dies.
        collection_time_ns?: u64,
        /// Energy of the array; absent in counting mode, or without `device.read_energy` and the other keys of energy.
        energy?: EnergyResult,
        /// Reads that were repeated at least once; absent for a drive whose reads always succeed at once.
        repeated_reads?: ByOrigin,
        /// Retries: how often reads were repeated.
        retries?: ByOrigin,
        /// Reads that failed. Of the host and of the map also those that asked for sectors lost earlier.
        unreadable_reads?: ByOrigin,
        /// Pages programmed with data of which all or part could not be read, copies of such pages among them.
        lost_pages?: u64,
        /// Policy of read reliability; absent for a drive whose reads always succeed at once.
        reliability?: PolicyResult,
    }

    /// The busiest channel; the first if several are equal.
    BusiestChannel {
        /// Number of the channel, from 0.
        channel: u32,
        /// Share of the time that the channel was busy.
        utilization: f64,
    }

    /// The busiest die; the first if several are equal.
    BusiestDie {
        /// Channel of the die, from 0.
        channel: u32,
        /// Number of the die in the drive, from 0, as in `--slowest`.
        die: u32,
        /// Share of the time that the die was busy.
        utilization: f64,
    }

    /// Flash operations by origin.
    #[serde(remote = "Self")]
    ByOrigin {
        /// All operations.
        total: u64,
        /// Operations for requests, and for evictions of the write buffer.
        host: u64,
        /// Operations of garbage collection.
        gc: u64,
        /// Operations of merges of log blocks.
        merge: u64,
        /// Operations on translation pages, for the mapping itself.
        map: u64,
        /// Operations of wear levelling.
        wear: u64,
        /// Operations of folding, by which pages leave an SLC cache; absent if there were none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        fold: Option<u64>,
    }

    /// Wear of the array.
    WearResult {
        /// Erases per block.
        erase_count: EraseCount,
        /// Those of them in SLC mode, over the blocks that were erased in it; absent if none was.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        slc_erase_count: Option<EraseCount>,
        /// Data that the host can write; absent if the run erased or wrote nothing, or without `device.rated_cycles`.
        lifetime?: LifetimeResult,
    }

    /// Distribution of erases over the blocks.
    #[serde(remote = "Self")]
    EraseCount {
        /// Erases of the least erased block.
        min: u32,
        /// Erases per block on average.
        mean: f64,
        /// Erases of the most erased block.
        max: u32,
        /// The standard deviation.
        stddev: f64,
    }

    /// Statistics of the workload.
    WorkloadResult {
        /// The workload, and what it counts.
        kind: PolicyResult,
    }

    /// Operations of the threads of a Filebench personality.
    FilebenchResult {
        /// Name of the personality.
        personality: String,
        /// Flow operations that ended, without those that only wait for other threads.
        operations: u64,
        /// Simulated time that the threads ran.
        duration_ns: u64,
        /// Flow operations per second of simulated time.
        operations_per_second?: f64,
        /// Processors that the threads kept busy on average.
        busy_processors?: f64,
        /// Each flow operation, in the order of the personality.
        flows: Vec<FlowResult>,
    }

    /// One flow operation.
    FlowResult {
        /// Name in the published personality.
        name: String,
        /// Number of operations that ended.
        operations: u64,
        /// Operations that ended per second of simulated time.
        operations_per_second?: f64,
        /// Latency from start to end, every wait included.
        latency_ns?: Distribution,
    }

    /// Fit of a synthesised workload to its characterisation.
    SynthesizedResult {
        /// The characterisation asked for.
        target: CharacterResult,
        /// The characterisation of the whole stream as generated.
        achieved: CharacterResult,
    }

    /// Characterisation of a stream of requests.
    CharacterResult {
        /// Share of the requests after the first that do not begin where the previous one ended.
        random_share: f64,
        /// Mean size of a request in bytes.
        mean_request_bytes: f64,
        /// Share of the requests that are reads.
        read_share: f64,
        /// Number of requests.
        requests: u64,
        /// Bytes of the distinct 4 KiB pages that are touched.
        footprint_bytes: u64,
        /// Bytes from the start of the device to the end of the last sector that is touched.
        span_bytes: u64,
    }

    /// Preconditioning: writes before the workload. They count in no other figure but wear.
    PreconditionResult {
        /// Pages written.
        page_writes: u64,
        /// Write amplification of the last window; absent if nothing was overwritten.
        waf?: f64,
        /// Hash of the aged drive, if it came from a file or was saved to one.
        state_sha256?: String,
    }

    /// End of the drive's life: the moment when a page could not be stored, because too many blocks had failed.
    EndOfLifeResult {
        /// Simulated time of the end.
        time_ns?: u64,
        /// Pages that the drive had stored for the host since it was new, preconditioning included.
        host_page_writes: u64,
        /// Requests that failed.
        unserved_requests: u64,
        /// Pages held or evicted by the write buffer that were not in flash at the end of the run.
        unwritten_pages: u32,
    }

    /// Extent of the data checks.
    IntegrityResult {
        /// True if every flash command and every sector read was checked.
        verified: bool,
        /// Sectors whose content was compared with the data that the host last wrote to them.
        sectors_checked?: u64,
    }

    /// Cost of the simulation itself.
    RunCost {
        /// Wall time in seconds from the start of preconditioning to the result.
        wall_seconds: f64,
        /// Completed requests per second of wall time.
        requests_per_second: f64,
        /// Peak memory of the program so far; absent if the system does not tell it.
        peak_rss_bytes?: u64,
        /// `in closed form` or `page by page`, with the same result; absent unless this run filled its drive.
        filled?: String,
    }

    /// Results of a comparison.
    Comparison {
        /// Format identifier of this object.
        schema: String,
        /// The runs, in the order of the cross product; the key that was given first varies slowest.
        runs: Vec<ComparedRun>,
        /// Statistics over the seeds of each combination; absent unless several seeds were asked for.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        repeated: Vec<RepeatedResult>,
        /// Combinations left out because their values cannot work together; absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        left_out: Vec<LeftOutResult>,
        /// Warnings that rows mean less than they seem, beside the hints of their runs; absent if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        hints: Vec<ComparedHintResult>,
        /// Expectations of the experiment, checked; absent if it has none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        expectations: Vec<ExpectationResult>,
    }

    /// An expectation and its outcome.
    ExpectationResult {
        /// The claim, in a sentence.
        claim: String,
        /// Formula of the number over the results.
        formula: String,
        /// Minimum of the number, if there is one.
        at_least?: f64,
        /// Maximum of the number, if there is one.
        at_most?: f64,
        /// The number; absent if a run lacks a figure.
        value?: f64,
        /// True if the number is within its bounds.
        holds: bool,
    }

    /// One run of a comparison.
    ComparedRun {
        /// The varied keys with the values of this run.
        vary: serde_json::Map<String, Value>,
        /// Result of the run.
        result: Box<RunResult>,
    }
}

impl PolicyResult {
    /// A figure that is a whole number; `None` if the policy has none of that name.
    pub fn whole(&self, name: &str) -> Option<u64> {
        match self.figures.get(name)? {
            FigureResult::Whole(value) => Some(*value),
            _ => None,
        }
    }
}

impl Comparison {
    /// Number of consecutive runs with different seeds for each combination.
    pub fn repetitions(&self) -> usize {
        self.repeated.first().map_or(1, |repeated| repeated.seeds.len())
    }
}

impl EndOfLifeResult {
    /// When it came, and what it left undone, in words.
    pub fn words(&self) -> String {
        let [pages, requests] = [self.host_page_writes, self.unserved_requests].map(count);
        format!(
            "the drive's life ended after {pages} pages written, because too many blocks failed; {requests} requests \
             were not served"
        )
    }
}

impl Distribution {
    /// Figures of a distribution; `None` of an empty one.
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

impl TallyResult {
    /// Figures of a histogram; `None` of an empty one.
    pub fn of(histogram: &[u64]) -> Option<Self> {
        let counted = || (0u64..).zip(histogram);
        let max = counted().filter(|(_, count)| **count > 0).map(|(number, _)| number).max()?;
        let sum: u64 = counted().map(|(number, count)| number * count).sum();
        Some(Self { mean: sum as f64 / histogram.iter().sum::<u64>() as f64, max, histogram: histogram.to_vec() })
    }
}

impl ByOrigin {
    /// Builds the counters of one kind of operation, in the order of the origins.
    pub fn of([host, gc, merge, map, wear, fold]: flashloom_nand::ByOrigin) -> Self {
        let total = host + gc + merge + map + wear + fold;
        Self { total, host, gc, merge, map, wear, fold: (fold > 0).then_some(fold) }
    }
}

impl EraseCount {
    /// Distribution of the erase counts of all blocks.
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
        assert_eq!((Distribution::of(&Latency::new()), TallyResult::of(&[0, 0])), (None, None));
    }

    #[test]
    fn a_histogram_is_summarised_over_all_that_was_counted() {
        let histogram = vec![1, 0, 2, 3];
        assert_eq!(TallyResult::of(&histogram), Some(TallyResult { mean: 13.0 / 6.0, max: 3, histogram }));
    }

    #[test]
    fn values_of_statistics_are_read_as_what_they_were() {
        let mut latency = Latency::new();
        latency.record(7);
        let figures = [
            Figure::Count(3),
            Figure::Ratio(Some(0.5)),
            Figure::Times(Box::new(latency)),
            Figure::Histogram(vec![0, 2]),
        ];
        for figure in figures.iter().filter_map(FigureResult::of) {
            let text = serde_json::to_string(&figure).expect("it is JSON");
            assert_eq!(serde_json::from_str::<FigureResult>(&text).expect("it is read back"), figure);
        }
    }

    #[test]
    fn operations_by_origin_add_up() {
        assert_eq!(ByOrigin::of([1, 2, 3, 4, 5, 6]).total, 21);
    }
}
