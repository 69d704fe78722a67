//! Sections of the report on a comparison.

use flashloom_experiment::figures::{count, factor, rate, time};
use flashloom_experiment::result::{ComparedRun, Comparison, Distribution, RunResult};
use serde_json::Value;

use super::chart::{Table, head};
use super::facts;
use super::front::{Against, Candidate, front};
use super::page::{Part, Section};
use super::run::{Bars, Curve, anatomy_chart, percentile_chart};

/// Runs whose curves and bars are drawn, at most: more cannot be told apart. The tables have all of them.
const MAX_DRAWN: usize = 8;

/// The sections, in order.
pub(super) fn sections(comparison: &Comparison) -> Vec<Section> {
    let first = comparison.runs.first();
    let mut sections = vec![
        Section { id: "overview", title: "Runs", parts: vec![overview(comparison)] },
        Section { id: "front", title: "Pareto front", parts: front_of(comparison) },
        Section { id: "latency", title: "Latency", parts: latency(comparison) },
        Section { id: "anatomy", title: "Where the time went", parts: anatomy(comparison) },
        Section { id: "checks", title: "What was checked", parts: checks(comparison) },
    ];
    let of_first = first.map(|run| facts::configuration(&run.result.config));
    let note = Part::Text("That of the first run; the others differ in what varies.".to_owned());
    let configuration = [note].into_iter().chain(of_first).collect();
    sections.push(Section { id: "configuration", title: "Configuration", parts: configuration });
    let origin = first.map(|run| facts::origin(&run.result)).unwrap_or_default();
    sections.push(Section { id: "origin", title: "Origin", parts: origin });
    sections
}

/// The varied values of a run, after its number.
pub(super) fn label<'a>(number: usize, vary: impl IntoIterator<Item = (&'a String, &'a Value)>) -> String {
    let name = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let values = vary.into_iter().map(|(key, value)| format!("{} {}", name(key), facts::short(value)));
    format!("{number}: {}", values.collect::<Vec<_>>().join(", "))
}

fn labelled(comparison: &Comparison) -> impl Iterator<Item = (String, &RunResult)> {
    (1..).zip(&comparison.runs).map(|(number, run)| (label(number, &run.vary), &run.result))
}

fn p99_9(result: &RunResult) -> Option<f64> {
    let latency = result.host.latency_ns.as_ref()?;
    latency.all.as_ref().map(|all| all.p99_9 as f64)
}

fn overview(comparison: &Comparison) -> Part {
    let keys: Vec<&str> = comparison.runs.iter().take(1).flat_map(|run| run.vary.keys().map(String::as_str)).collect();
    let columns = ["requests/s", "throughput", "read p99", "write p99", "all p99.9", "WAF", "erases"];
    let row = |(number, run): (usize, &ComparedRun)| {
        let result = &run.result;
        let latency = result.host.latency_ns.as_ref();
        let p99 = |of: Option<&Distribution>| of.map(|of| time(of.p99 as f64));
        let figures = [
            result.host.iops.map(factor),
            result.host.throughput_bytes_per_s.map(rate),
            p99(latency.and_then(|latency| latency.read.as_ref())),
            p99(latency.and_then(|latency| latency.write.as_ref())),
            p99_9(result).map(time),
            result.ftl.waf.map(factor),
            Some(count(result.nand.erases.total)),
        ];
        let vary = keys.iter().map(|key| run.vary.get(*key).map_or_else(String::new, facts::text_of));
        let figures = figures.into_iter().map(|figure| figure.unwrap_or_else(|| "-".to_owned()));
        std::iter::once(number.to_string()).chain(vary).chain(figures).collect()
    };
    let rows = (1..).zip(&comparison.runs).map(row).collect();
    Part::Table(Table { head: head("run", keys.iter().copied().chain(columns)), rows })
}

/// Latency of the slowest in 1,000, or without time write amplification, against erases.
fn front_of(comparison: &Comparison) -> Vec<Part> {
    let is_timed = comparison.runs.iter().all(|run| p99_9(&run.result).is_some());
    let against = if is_timed { Against::Tail } else { Against::Amplification };
    let figure = |result: &RunResult| if is_timed { p99_9(result) } else { result.ftl.waf };
    let candidate = |(label, result): (String, &RunResult)| {
        Some(Candidate { label, erases: result.nand.erases.total as f64, other: figure(result)? })
    };
    vec![front(&labelled(comparison).filter_map(candidate).collect::<Vec<_>>(), against)]
}

/// A note that only some runs are drawn.
fn of_these(drawn: usize, all: usize) -> Option<Part> {
    (drawn < all)
        .then(|| Part::Text(format!("The first {drawn} of {all} runs; `--run N` reports on one of the others.")))
}

fn latency(comparison: &Comparison) -> Vec<Part> {
    let curves: Vec<_> = labelled(comparison)
        .filter_map(|(label, result)| {
            let all = result.host.latency_ns.as_ref()?.all.as_ref()?;
            let histogram = result.series.as_ref().and_then(|series| series.histograms.all.as_ref());
            Some(Curve::of(label, histogram, all))
        })
        .collect();
    if curves.is_empty() {
        return vec![Part::Missing("No latency: nothing took time. Set run.timing = \"timed\".".to_owned())];
    }
    let drawn = &curves[..curves.len().min(MAX_DRAWN)];
    let mut parts = vec![Part::Chart(percentile_chart("Latency of all requests by percentile", drawn))];
    parts.extend(of_these(drawn.len(), curves.len()));
    if comparison.runs.iter().any(|run| run.result.series.is_none()) {
        let lacks = "No histogram of some runs: their curves go through six percentiles. Set run.series.";
        parts.push(Part::Missing(lacks.to_owned()));
    }
    parts
}

fn anatomy(comparison: &Comparison) -> Vec<Part> {
    let bars: Bars<'_> = labelled(comparison)
        .filter_map(|(label, result)| Some((label, &result.host.anatomy.as_ref()?.read.as_ref()?.whole)))
        .collect();
    if bars.is_empty() {
        return vec![Part::Missing("No anatomy of reads: set run.anatomy = true.".to_owned())];
    }
    let all = bars.len();
    let drawn: Bars<'_> = bars.into_iter().take(MAX_DRAWN).collect();
    let mut parts = vec![Part::Chart(anatomy_chart("Mean latency of reads by cause", &drawn))];
    parts.extend(of_these(drawn.len(), all));
    parts
}

fn checks(comparison: &Comparison) -> Vec<Part> {
    let verified = comparison.runs.iter().filter(|run| run.result.integrity.verified).count();
    let all = comparison.runs.len();
    let mut parts = vec![if verified == all {
        Part::Text(format!("Commands and data of all {all} runs were verified (--verify)."))
    } else {
        Part::Missing(format!("Commands and data of {} runs were not verified: use --verify.", all - verified))
    }];
    let bound = |bound: Option<f64>| bound.map_or_else(String::new, factor);
    let rows: Vec<Vec<String>> = comparison
        .expectations
        .iter()
        .map(|expected| {
            let holds = if expected.holds { "holds" } else { "FAILS" };
            let value = expected.value.map_or_else(|| "-".to_owned(), factor);
            let bounds = [bound(expected.at_least), bound(expected.at_most)];
            [expected.claim.clone(), value].into_iter().chain(bounds).chain([holds.to_owned()]).collect()
        })
        .collect();
    if rows.is_empty() {
        parts.push(Part::Missing("No expectations: the experiment has no [[expect]] tables.".to_owned()));
    } else {
        let columns = ["value", "at least", "at most", ""];
        parts.push(Part::Table(Table { head: head("claim", columns.into_iter()), rows }));
    }
    for (label, result) in labelled(comparison) {
        parts.extend(result.hints.iter().map(|hint| Part::Text(format!("Hint, run {label}: {}", hint.text))));
    }
    let left_out = comparison.left_out.len();
    if left_out > 0 {
        parts.push(Part::Text(format!("{left_out} combinations were left out: their values cannot work together.")));
    }
    parts
}
