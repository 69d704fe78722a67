//! Sections of the report on one run.

use flashloom_device::Cause;
use flashloom_figures::number::{count, energy, factor, percent, rate, time};
use flashloom_figures::result::{Distribution, HistogramResult, RunResult, SliceResult, TailResult, TotalNs};
use serde_json::json;

use super::chart::{Chart, Kind, Table, head};
use super::figure::Requests;
use super::section::{Part, Section};
use super::{course, facts};

/// The sections, in order.
pub(super) fn sections(result: &RunResult) -> Vec<Section> {
    let mut sections = vec![
        Section { id: "overview", title: "Overview", parts: overview(result) },
        Section { id: "latency", title: "Latency", parts: latency(result) },
        Section { id: "anatomy", title: "Where the time went", parts: anatomy(result) },
    ];
    sections.extend(course::sections(result));
    sections.extend(facts::sections(result));
    sections
}

/// Names of the policies of the FTL.
fn ftl_policies(result: &RunResult) -> String {
    let ftl = &result.ftl;
    let names = [Some(&ftl.mapping), ftl.allocation.as_ref(), ftl.gc.as_ref()];
    names.into_iter().flatten().map(|of| of.policy.as_str()).collect::<Vec<_>>().join(" x ")
}

fn overview(result: &RunResult) -> Vec<Part> {
    let host = &result.host;
    let rows = [
        ("requests", Some(count(host.requests))),
        ("completed", Some(count(host.completed))),
        ("requests per second", host.iops.map(factor)),
        ("throughput", host.throughput_bytes_per_s.map(rate)),
        ("duration", host.duration_ns.map(|ns| time(ns as f64))),
        ("scheduler", host.scheduler.as_ref().map(|scheduler| scheduler.policy.clone())),
        (
            "write buffer",
            result.buffer.as_ref().map(|buffer| format!("{} x {}", buffer.order.policy, buffer.rate.policy)),
        ),
        ("FTL", Some(ftl_policies(result))),
        ("write amplification in bytes", result.ftl.waf_bytes.map(factor)),
        ("write amplification of pages", result.ftl.waf.map(factor)),
        ("blocks erased", Some(count(result.nand.erases.total))),
        ("channels busy", result.nand.channel_utilization.map(percent)),
        ("dies busy", result.nand.die_utilization.map(percent)),
        ("energy per GB", result.nand.energy.as_ref().and_then(|found| found.joules_per_gb).map(energy)),
    ];
    vec![Part::Table(Table::pairs(rows.into_iter().filter_map(|(name, value)| Some((name, value?)))))]
}

/// Percentiles of a distribution, as shares of requests.
fn percentiles(of: &Distribution) -> [(f64, u64); 6] {
    [(0.5, of.p50), (0.9, of.p90), (0.95, of.p95), (0.99, of.p99), (0.999, of.p99_9), (0.9999, of.p99_99)]
}

/// Points of a curve in steps: shares of requests as nines, each with the latency that these do not exceed, up to
/// p99.99.
fn from_histogram(histogram: &HistogramResult) -> Vec<(f64, f64)> {
    let all: f64 = histogram.counts.iter().map(|&requests| requests as f64).sum();
    let (mut up_to, mut drawn) = (0.0, 0.0);
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (&from_ns, &requests) in histogram.from_ns.iter().zip(&histogram.counts) {
        up_to += requests as f64;
        let nines = (-(1.0 - up_to / all).max(1e-9).log10()).clamp(0.0, MOST_NINES);
        // Neighbours that a picture cannot tell apart.
        if nines - drawn > 0.005 || points.is_empty() {
            points.extend([(drawn, from_ns as f64), (nines, from_ns as f64)]);
            drawn = nines;
        }
        if nines >= MOST_NINES {
            break;
        }
    }
    points
}

/// p99.99.
const MOST_NINES: f64 = 4.0;

/// A named curve of latencies by percentile.
pub(super) struct Curve<'a> {
    name: &'a str,
    points: Vec<(f64, f64)>,
    distribution: &'a Distribution,
}

impl<'a> Curve<'a> {
    /// The curve of some requests of a run: from their histogram if there is one, else through their percentiles.
    pub(super) fn of(name: &'a str, result: &'a RunResult, of: Requests) -> Option<Self> {
        let latency = result.host.latency_ns.as_ref()?;
        let distribution = of.among([&latency.read, &latency.write, &latency.all])?;
        let histograms = result.series.as_ref().map(|series| &series.histograms);
        let histogram = histograms.and_then(|kinds| of.among([&kinds.read, &kinds.write, &kinds.all]));
        let through = |(share, ns): (f64, u64)| (-(1.0 - share).log10(), ns as f64);
        let least = (0.0, distribution.min as f64);
        let points = || std::iter::once(least).chain(percentiles(distribution).map(through)).collect();
        Some(Self { name, points: histogram.map_or_else(points, from_histogram), distribution })
    }
}

/// A chart of latency by percentile.
pub(super) fn percentile_chart(title: &str, curves: &[Curve<'_>]) -> Chart {
    let figures = |of: &Distribution| {
        let percentiles = percentiles(of).map(|(_, ns)| time(ns as f64));
        [count(of.count), time(of.mean)].into_iter().chain(percentiles).chain([time(of.max as f64)])
    };
    let row = |Curve { name, distribution, .. }: &Curve<'_>| {
        std::iter::once((*name).to_owned()).chain(figures(distribution)).collect()
    };
    let rows = curves.iter().map(row).collect();
    let lines = curves.iter().map(|Curve { name, points, .. }| json!({ "name": name, "points": points }));
    let tail = |Curve { name, distribution: of, .. }: &Curve<'_>| {
        format!("{name}: half within {}, 99.9 % within {}", time(of.p50 as f64), time(of.p99_9 as f64))
    };
    let columns = ["requests", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
    Chart {
        title: title.to_owned(),
        summary: format!("{}.", curves.iter().map(tail).collect::<Vec<_>>().join("; ")),
        kind: Kind::Percentiles,
        spec: json!({ "lines": lines.collect::<Vec<_>>() }),
        table: Table { head: head("", columns.into_iter()), rows },
    }
}

fn latency(result: &RunResult) -> Vec<Part> {
    if result.host.latency_ns.is_none() {
        return vec![Part::Missing("No latency: nothing took time. Set run.timing = \"timed\".".to_owned())];
    }
    let curves: Vec<_> = Requests::KINDS.iter().filter_map(|of| Curve::of(of.name(), result, *of)).collect();
    if curves.is_empty() {
        return vec![Part::Missing("No latency: no request completed.".to_owned())];
    }
    let mut parts = vec![Part::Chart(percentile_chart("Latency by percentile", &curves))];
    if result.series.is_none() {
        let lacks = "No histogram: the curves go through six percentiles. Set run.series for all of them.";
        parts.push(Part::Missing(lacks.to_owned()));
    }
    parts
}

/// Bars of mean latency by cause: the name of each, and the slice that it shows.
pub(super) type Bars<'a> = Vec<(String, &'a SliceResult)>;

/// The bars of the requests of one kind.
fn bars<'a>(kind: &str, tail: &'a TailResult) -> Bars<'a> {
    vec![
        (format!("{kind}: all"), &tail.whole),
        (format!("{kind}: slowest in 100"), &tail.p99),
        (format!("{kind}: slowest in 1,000"), &tail.p99_9),
    ]
}

/// The mean over the requests of a slice.
fn mean_of(slice: &SliceResult, total: TotalNs) -> f64 {
    f64::from(total) / slice.requests.max(1) as f64
}

/// Causes that took time in any bar, with their mean in each.
fn causes(bars: &Bars<'_>) -> Vec<(&'static str, Vec<f64>)> {
    let mut causes: Vec<(&'static str, Vec<f64>)> = Cause::ALL.iter().map(|cause| (cause.name(), Vec::new())).collect();
    for (_, slice) in bars {
        causes.iter_mut().zip(slice.parts_ns.iter()).for_each(|((_, means), (_, total))| {
            means.push(mean_of(slice, total));
        });
    }
    causes.retain(|(_, means)| means.iter().any(|&ns| ns > 0.0));
    causes
}

/// A chart of mean latency by cause.
pub(super) fn anatomy_chart(title: &str, bars: &Bars<'_>) -> Chart {
    let causes = causes(bars);
    let names: Vec<&str> = bars.iter().map(|(name, _)| name.as_str()).collect();
    let mostly = |(at, (name, slice)): (usize, &(String, &SliceResult))| {
        let (cause, means) = causes.iter().max_by(|a, b| a.1[at].total_cmp(&b.1[at]))?;
        let mean = time(mean_of(slice, slice.latency_ns));
        Some(format!("{name}: mostly {cause}, {} of {mean}", time(means[at])))
    };
    let summary = bars.iter().enumerate().filter_map(mostly);
    let row = |(cause, means): &(&str, Vec<f64>)| {
        std::iter::once((*cause).to_owned()).chain(means.iter().map(|&ns| time(ns))).collect()
    };
    Chart {
        title: title.to_owned(),
        summary: format!("{}.", summary.collect::<Vec<_>>().join("; ")),
        kind: Kind::Stack,
        spec: json!({
            "bars": names,
            "causes": causes.iter().map(|(name, means)| json!({ "name": name, "values": means })).collect::<Vec<_>>(),
        }),
        table: Table { head: head("cause", names.iter().copied()), rows: causes.iter().map(row).collect() },
    }
}

fn anatomy(result: &RunResult) -> Vec<Part> {
    let Some(anatomy) = &result.host.anatomy else {
        return vec![Part::Missing("No anatomy: set run.anatomy = true.".to_owned())];
    };
    let kinds = [("reads", &anatomy.read), ("writes", &anatomy.write)];
    let bars: Bars<'_> = kinds.iter().filter_map(|(kind, tail)| Some(bars(kind, tail.as_ref()?))).flatten().collect();
    if bars.is_empty() {
        return vec![Part::Missing("No anatomy: neither a read nor a write completed.".to_owned())];
    }
    vec![Part::Chart(anatomy_chart("Mean latency by cause", &bars))]
}
