//! What a result says of how far a run is from the best that is possible.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

result_types! {
    /// How far the run is from the best that is possible: with the same accesses to its write buffer, the same writes
    /// to its FTL, the same requests.
    BoundsResult {
        /// The write buffer, against Belady's order of eviction.
        #[serde(skip_serializing_if = "Option::is_none")]
        buffer: Option<BufferBound>,
        /// Collection, against the fewest erases and against a clairvoyant FTL.
        #[serde(skip_serializing_if = "Option::is_none")]
        ftl: Option<FtlBound>,
        /// The scheduler, against every order of dispatch.
        #[serde(skip_serializing_if = "Option::is_none")]
        scheduler: Option<SchedulerBound>,
        /// Why there is no bound, by the part of the drive that has none: buffer, ftl, scheduler.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        left_out: BTreeMap<String, String>,
    }

    /// The best that any order and rate of eviction does with the accesses that the write buffer saw. Exact for pages
    /// that leave one by one, on demand and at once; a bound for every buffer.
    BufferBound {
        /// The most page writes that can find their page dirty in the buffer.
        most_write_hits: u64,
        /// These as a share of the page writes.
        most_write_hits_share: f64,
        /// The fewest pages that the buffer can send to flash.
        fewest_evicted_pages: u64,
        /// Page writes that did not find their page, divided by the fewest that can be.
        misses_over_fewest: f64,
    }

    /// The fewest erases of any FTL for the pages that were written to it, and what a clairvoyant one does with them.
    FtlBound {
        /// The fewest blocks that have to be erased for the pages written, whatever is copied. A bound.
        fewest_block_erases: u64,
        /// Erases divided by the fewest; absent where none is necessary.
        #[serde(skip_serializing_if = "Option::is_none")]
        erases_over_fewest: Option<f64>,
        /// Write amplification of a page map that knows, and always knew, when pages die. A reference, and not a bound.
        #[serde(skip_serializing_if = "Option::is_none")]
        clairvoyant_waf: Option<f64>,
    }

    /// The best of every order in which the requests can be dispatched to the same drive, none held back and none
    /// merged.
    SchedulerBound {
        /// How many orders there are.
        orders: u64,
        /// The shortest time from the start of the workload to the last completion.
        shortest_duration_ns: u64,
        /// The time of this run divided by it.
        duration_over_shortest: f64,
        /// The least mean latency. It may be of another order.
        least_mean_latency_ns: f64,
        /// The mean latency of this run divided by it.
        mean_latency_over_least: f64,
    }
}
