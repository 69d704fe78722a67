//! Figures of a run that tables list, axes show and fronts weigh.

use flashloom_figures::estimate::Estimate;
use flashloom_figures::number::{factor, rate, time};
use flashloom_figures::result::{Distribution, RunResult};

use super::chart::Unit;

/// A figure of a run.
pub(super) struct Figure {
    /// Its name in the head of a table.
    pub(super) name: &'static str,
    /// Its name on an axis and in a sentence.
    pub(super) title: &'static str,
    /// Its path in a result, which is its column in a data set.
    pub(super) path: &'static str,
    pub(super) unit: Unit,
    pub(super) text: fn(f64) -> String,
    pub(super) is_more_better: bool,
    pub(super) of: fn(&RunResult) -> Option<f64>,
}

/// Index of p99.9 of all requests.
pub(super) const P99_9: usize = 6;
/// Index of write amplification in bytes.
pub(super) const WAF: usize = 7;
/// Index of the erases.
pub(super) const ERASES: usize = 9;

/// The figures, in the order of the tables' columns.
pub(super) const FIGURES: [Figure; 10] = [
    Figure {
        name: "requests/s",
        title: "requests a second",
        path: "host.iops",
        unit: Unit::Number,
        text: factor,
        is_more_better: true,
        of: |result| result.host.iops,
    },
    Figure {
        name: "throughput",
        title: "throughput",
        path: "host.throughput_bytes_per_s",
        unit: Unit::Rate,
        text: rate,
        is_more_better: true,
        of: |result| result.host.throughput_bytes_per_s,
    },
    Figure {
        name: "read p50",
        title: "p50 of reads",
        path: "host.latency_ns.read.p50",
        unit: Unit::Time,
        text: time,
        is_more_better: false,
        of: |result| latency(result, Requests::Reads).map(|of| of.p50 as f64),
    },
    Figure {
        name: "read p99",
        title: "p99 of reads",
        path: "host.latency_ns.read.p99",
        unit: Unit::Time,
        text: time,
        is_more_better: false,
        of: |result| latency(result, Requests::Reads).map(|of| of.p99 as f64),
    },
    Figure {
        name: "write p50",
        title: "p50 of writes",
        path: "host.latency_ns.write.p50",
        unit: Unit::Time,
        text: time,
        is_more_better: false,
        of: |result| latency(result, Requests::Writes).map(|of| of.p50 as f64),
    },
    Figure {
        name: "write p99",
        title: "p99 of writes",
        path: "host.latency_ns.write.p99",
        unit: Unit::Time,
        text: time,
        is_more_better: false,
        of: |result| latency(result, Requests::Writes).map(|of| of.p99 as f64),
    },
    Figure {
        name: "all p99.9",
        title: "p99.9 of all requests",
        path: "host.latency_ns.all.p99_9",
        unit: Unit::Time,
        text: time,
        is_more_better: false,
        of: |result| latency(result, Requests::All).map(|of| of.p99_9 as f64),
    },
    Figure {
        name: "WAF in bytes",
        title: "write amplification in bytes",
        path: "ftl.waf_bytes",
        unit: Unit::Number,
        text: factor,
        is_more_better: false,
        of: |result| result.ftl.waf_bytes,
    },
    Figure {
        name: "WAF of pages",
        title: "write amplification of pages",
        path: "ftl.waf",
        unit: Unit::Number,
        text: factor,
        is_more_better: false,
        of: |result| result.ftl.waf,
    },
    Figure {
        name: "erases",
        title: "blocks erased",
        path: "nand.erases.total",
        unit: Unit::Number,
        text: |value| Unit::Number.text(value),
        is_more_better: false,
        of: |result| Some(result.nand.erases.total as f64),
    },
];

/// The requests that a picture is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requests {
    Reads,
    Writes,
    All,
}

impl Requests {
    /// Its name among others.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::All => "all",
        }
    }

    /// Its name in a sentence.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::All => "all requests",
        }
    }
}

/// Latency of some requests of a run.
pub(super) fn latency(result: &RunResult, of: Requests) -> Option<&Distribution> {
    let latency = result.host.latency_ns.as_ref()?;
    match of {
        Requests::Reads => latency.read.as_ref(),
        Requests::Writes => latency.write.as_ref(),
        Requests::All => latency.all.as_ref(),
    }
}

/// A figure over some runs: its mean, and half the width of its interval if there are several.
pub(super) fn estimated(Estimate { mean, half_width }: Estimate, runs: usize, text: fn(f64) -> String) -> String {
    if runs > 1 { format!("{} ± {}", text(mean), text(half_width)) } else { text(mean) }
}
