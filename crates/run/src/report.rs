//! Adds a workload's report to the result of its run.

use flashloom_units::{Figure, Figures, Ns, S};
use flashloom_workload::workload::Report;
use flashloom_workload::{Character, FilebenchReport, FlowReport, WORKLOADS};

use super::fio;
use super::measure::policy;
use flashloom_config::Config;
use flashloom_figures::result::{
    CharacterResult, Distribution, FilebenchResult, FlowResult, RunResult, SynthesizedResult, WorkloadResult,
};

/// The figures that a workload counts itself; `None` if it has none.
pub fn counted(config: &Config, figures: Vec<Figure>) -> Option<WorkloadResult> {
    let kind = policy(config, &WORKLOADS, &Figures::default().with(&WORKLOADS, figures));
    (!kind.figures.is_empty()).then_some(WorkloadResult { kind })
}

/// Adds the report of a workload and what it counts itself; in fio's own format too, if it is a fio job file.
pub fn add(
    result: &mut RunResult,
    config: &Config,
    report: &Report,
    figures: Vec<Figure>,
) -> Option<serde_json::Value> {
    result.workload = counted(config, figures);
    let mut fio_json = None;
    match report {
        Report::Plain => {}
        Report::Filebench(report) => result.filebench = Some(filebench_result(report)),
        Report::Fio { global_options, jobs } => fio_json = Some(fio::json(global_options, jobs)),
        Report::Character { target, achieved } => {
            let (target, achieved) = (character(target), character(achieved));
            result.synthesized = Some(SynthesizedResult { target, achieved });
        }
    }
    fio_json
}

fn filebench_result(report: &FilebenchReport) -> FilebenchResult {
    FilebenchResult {
        personality: report.personality.name().to_owned(),
        operations: report.operations,
        duration_ns: report.duration_ns,
        operations_per_second: per_second(report.operations, report.duration_ns),
        busy_processors: (report.duration_ns > 0).then(|| report.cpu_ns as f64 / report.duration_ns as f64),
        flows: report.flows.iter().map(|flow| flow_result(flow, report.duration_ns)).collect(),
    }
}

fn flow_result(flow: &FlowReport, duration_ns: Ns) -> FlowResult {
    FlowResult {
        name: flow.name.to_owned(),
        operations: flow.latency.count(),
        operations_per_second: per_second(flow.latency.count(), duration_ns),
        latency_ns: Distribution::of(&flow.latency),
    }
}

fn per_second(count: u64, duration_ns: Ns) -> Option<f64> {
    (duration_ns > 0).then(|| count as f64 * S as f64 / duration_ns as f64)
}

fn character(of: &Character) -> CharacterResult {
    CharacterResult {
        random_share: of.random_share,
        mean_request_bytes: of.mean_bytes,
        read_share: of.read_share,
        requests: of.requests,
        footprint_bytes: of.footprint_bytes,
        span_bytes: of.span_bytes,
    }
}
