//! The part of a result about the course of the run: what pictures need.

use flashloom_units::Histogram;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

result_types! {
    /// Course of the run over simulated time, and distributions in full. Lists have an entry for each interval.
    SeriesResult {
        /// Length of an interval, of which the last may be shorter: `run.series`, doubled until there are at most 512.
        interval_ns: u64,
        /// End of each interval in simulated time.
        end_ns: Vec<u64>,
        /// Requests that completed in the interval.
        completed: Vec<u64>,
        /// Bytes of the reads that completed in the interval.
        read_bytes: Vec<u64>,
        /// Bytes of the writes that completed in the interval.
        write_bytes: Vec<u64>,
        /// Latency of the reads that completed in the interval; absent if the run had none.
        read_latency_ns?: LatencySeries,
        /// Latency of the writes that completed in the interval; absent if the run had none.
        write_latency_ns?: LatencySeries,
        /// Outstanding requests (arrived and not ended) at the end of the interval.
        outstanding: Vec<u64>,
        /// Dirty pages in the write buffer at the end of the interval.
        dirty_pages: Vec<u32>,
        /// Pages that the FTL stored for the host in the interval, without those that only pad a block.
        host_page_writes: Vec<u64>,
        /// Pages programmed in the interval; over `host_page_writes` they are the write amplification.
        programs: Vec<u64>,
        /// Blocks erased in the interval.
        erases: Vec<u64>,
        /// Free blocks of the drive at the end of the interval.
        free_blocks: Vec<u64>,
        /// Busy time of the channels.
        channel_busy: BusySeries,
        /// Busy time of the dies.
        die_busy: BusySeries,
        /// Erases by place, since the drive was new.
        erase_map: EraseMap,
        /// Latency of all requests of the run, by kind.
        histograms: HistogramsResult,
    }

    /// Percentiles of the latency in each interval, to one part in 128; null where no request completed.
    LatencySeries {
        /// The median.
        p50: Vec<Option<u64>>,
        /// The 99th percentile.
        p99: Vec<Option<u64>>,
        /// The 99.9th percentile.
        p99_9: Vec<Option<u64>>,
    }

    /// Busy time of channels or dies. Neighbours share a row where there are more than 64.
    BusySeries {
        /// Channels or dies in a row; the last row may have fewer.
        parts_per_row: u32,
        /// Busy nanoseconds of each row in each interval, summed over its channels or dies.
        rows: Vec<Vec<u64>>,
    }

    /// Erases of the blocks by plane and place in the plane.
    EraseMap {
        /// Planes in a row; the last row may have fewer.
        planes_per_row: u32,
        /// Blocks of a plane in a column; the last column may have fewer.
        blocks_per_column: u32,
        /// Erases of each row in each column, summed over its blocks.
        rows: Vec<Vec<u64>>,
    }

    /// Histograms of latency, by kind of request; absent for kinds that no request had.
    HistogramsResult {
        /// Reads.
        read?: HistogramResult,
        /// Writes.
        write?: HistogramResult,
        /// All requests, discards and flushes included.
        all?: HistogramResult,
    }

    /// A histogram; a bucket is no wider than one part in 128 of its values, or 8 ns.
    HistogramResult {
        /// Lowest latency of each bucket that holds any request.
        from_ns: Vec<u64>,
        /// Requests in each of these buckets.
        counts: Vec<u64>,
    }
}

impl HistogramResult {
    /// Buckets of a histogram; `None` of an empty one.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        let (from_ns, counts): (Vec<u64>, Vec<u64>) = histogram.recorded().unzip();
        (!counts.is_empty()).then_some(Self { from_ns, counts })
    }
}
