//! Latency by cause, as a part of the result.
//!
//! A cause that took no time is zero, not absent: a formula can read it in any run that has an anatomy. Only retries
//! and folds, which came later, are absent then: results without them are as they were.

use flashloom_device::Cause;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nanoseconds summed over requests: exact up to 2^64, which is 584 years summed over all of them, and the nearest
/// floating-point number beyond.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
#[cfg_attr(feature = "schema", schemars(with = "u64", inline))]
pub enum TotalNs {
    /// Exact to the nanosecond.
    Exact(u64),
    /// Rounded to 15 digits.
    Rounded(f64),
}

impl Default for TotalNs {
    fn default() -> Self {
        Self::Exact(0)
    }
}

impl TotalNs {
    fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl From<u128> for TotalNs {
    fn from(ns: u128) -> Self {
        u64::try_from(ns).map_or(Self::Rounded(ns as f64), Self::Exact)
    }
}

impl From<TotalNs> for f64 {
    fn from(total: TotalNs) -> Self {
        match total {
            TotalNs::Exact(ns) => ns as Self,
            TotalNs::Rounded(ns) => ns,
        }
    }
}

result_types! {
    /// Latency of requests by cause. Only completed requests count, as in `latency_ns`.
    AnatomyResult {
        /// Latency of reads by cause; absent if none completed.
        read?: TailResult,
        /// Latency of writes by cause; absent if none completed.
        write?: TailResult,
    }

    /// The requests of one kind: all of them, and the slowest.
    TailResult {
        /// All requests.
        whole: SliceResult,
        /// The slowest requests: at least one in 100.
        p99: SliceResult,
        /// The slowest requests: at least one in 1,000.
        p99_9: SliceResult,
    }

    /// Some requests of one kind, and their latency by cause.
    SliceResult {
        /// Number of requests.
        requests: u64,
        /// Latency above which requests are counted, to one part in 128; absent for all requests.
        from_ns?: u64,
        /// Sum of their latencies.
        latency_ns: TotalNs,
        /// Latency by cause; the parts add up to `latency_ns`.
        parts_ns: PartsResult,
    }
}

macro_rules! parts {
    ($($(#[doc = $help:literal])+ $(#[serde($($serde:tt)+)])? $cause:ident,)+) => {
        result_types! {
            /// Time by cause, summed over requests, in the order of the I/O path.
            PartsResult { $($(#[doc = $help])+ $(#[serde($($serde)+)])? $cause: TotalNs,)+ }
        }

        impl PartsResult {
            /// Builds the parts from the time of each cause, in the order of [`Cause::ALL`].
            pub fn of([$($cause),+]: [TotalNs; Cause::COUNT]) -> Self {
                Self { $($cause),+ }
            }

            /// Iterates over each cause with its time, in the order of [`Cause::ALL`].
            pub fn iter(&self) -> impl Iterator<Item = (Cause, TotalNs)> {
                Cause::ALL.into_iter().zip([$(self.$cause),+])
            }
        }
    };
}

parts! {
    /// Held in front of the block layer, because `nr_requests` of their class were in it, or throttled (`host.wbt`).
    nr_requests,
    /// In the scheduler, while the drive held `queue_depth` commands.
    tag,
    /// In the scheduler, which could have sent a command and chose to wait.
    scheduler,
    /// While the controller took the command.
    controller,
    /// Waiting for the host link, and crossing it.
    link,
    /// Until what a flush has to make durable was in flash.
    flush,
    /// Waiting for slots of the write buffer.
    slot,
    /// Behind reads for the host on the die, the request's own other pages among them.
    host_read,
    /// Behind programs for the host on the die, the request's own other pages among them.
    host_program,
    /// Behind reads and programs of garbage collection.
    collection,
    /// Behind reads and programs of merges.
    merge,
    /// Behind reads and programs of the map, the request's own map entries among them.
    map,
    /// Behind reads and programs of wear levelling.
    wear,
    /// Behind erases.
    erase,
    /// While a die suspended an operation, or resumed it.
    suspension,
    /// Waiting for the bus of the channel.
    channel,
    /// Being served: command, array and data transfer of the last page's own operation.
    served,
    /// While the array repeated the read of the last page, or of one read by the same command; absent if it did not.
    #[serde(default, skip_serializing_if = "TotalNs::is_zero")]
    retry,
    /// Behind reads and programs of folding, by which pages leave an SLC cache; absent if there were none.
    #[serde(default, skip_serializing_if = "TotalNs::is_zero")]
    fold,
    /// In a submission queue of the drive; absent if it fetched every command at once.
    #[serde(default, skip_serializing_if = "TotalNs::is_zero")]
    front,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[test]
    fn a_total_is_exact_as_long_as_it_has_64_bits_and_a_number_beyond() {
        for (ns, text) in [(0, "0"), (u64::MAX.into(), "18446744073709551615"), (1 << 64, "1.8446744073709552e+19")] {
            let total = TotalNs::from(ns);
            assert_eq!(serde_json::to_string(&total).unwrap(), text);
            assert_eq!(serde_json::from_str::<TotalNs>(text).unwrap(), total);
        }
    }

    #[test]
    fn a_formula_reaches_every_part_of_every_slice() {
        let numbers: Vec<String> =
            schema::fields().into_iter().filter(|field| field.is_number).map(|field| field.path).collect();
        for (op, slice) in ["read", "write"].iter().flat_map(|op| ["whole", "p99", "p99_9"].map(|slice| (op, slice))) {
            let parts = Cause::ALL.map(|cause| format!("parts_ns.{}", cause.name()));
            for field in parts.iter().map(String::as_str).chain(["requests", "from_ns", "latency_ns"]) {
                let path = format!("host.anatomy.{op}.{slice}.{field}");
                assert!(numbers.contains(&path), "{path}");
            }
        }
    }
}
