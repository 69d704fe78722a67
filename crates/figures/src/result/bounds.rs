//! The part of a result about its bounds: its distance from the best possible run.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

result_types! {
    /// Distance of the run from the best possible one: with equal accesses to its write buffer, equal writes to its
    /// FTL, equal requests.
    BoundsResult {
        /// The write buffer, compared with Belady's replacement policy.
        buffer?: BufferBound,
        /// Garbage collection, compared with the fewest erases and with a clairvoyant FTL.
        ftl?: FtlBound,
        /// The scheduler, compared with every order of dispatch.
        scheduler?: SchedulerBound,
        /// Reasons why bounds are missing, by the part of the stack without one: buffer, ftl, scheduler.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        left_out: BTreeMap<String, String>,
    }

    /// Best result of any replacement policy and eviction batch size with the accesses that the write buffer saw. Exact
    /// for pages that are evicted one by one, on demand and at once; a bound for every buffer.
    BufferBound {
        /// Maximum number of page writes that can find their page dirty in the buffer.
        most_write_hits: u64,
        /// Maximum write hits as a share of the page writes.
        most_write_hits_share: f64,
        /// Minimum number of pages that the buffer can send to flash.
        fewest_evicted_pages: u64,
        /// Write misses of the run divided by the minimum.
        misses_over_fewest: f64,
    }

    /// Fewest erases of any FTL for the pages written to it, and the write amplification of a clairvoyant one.
    FtlBound {
        /// Minimum number of blocks to erase for the pages written beyond those erased at the start. A bound.
        fewest_block_erases: u64,
        /// Erases of the run divided by the minimum; absent if none is necessary.
        erases_over_fewest?: f64,
        /// Write amplification of a page map that always knew when each page becomes invalid. A reference, not a bound.
        clairvoyant_waf?: f64,
    }

    /// Best result of every order in which the requests can be dispatched to an equal drive, none held back and none
    /// merged.
    SchedulerBound {
        /// Number of possible orders of dispatch.
        orders: u64,
        /// Shortest time from the start of the workload to the last completion.
        shortest_duration_ns: u64,
        /// Duration of this run divided by the shortest.
        duration_over_shortest: f64,
        /// Lowest mean latency, possibly of another order than the shortest duration.
        least_mean_latency_ns: f64,
        /// Mean latency of this run divided by the lowest.
        mean_latency_over_least: f64,
    }
}
