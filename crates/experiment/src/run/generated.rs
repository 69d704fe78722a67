//! Filebench personalities and synthesised workloads: how they are made, and what a result says of them.

use flashloom_units::{Ns, Prng, Problem, S};
use flashloom_workload::{Character, Filebench, FilebenchReport, FlowReport, Source, Synthesized};

use crate::config::Config;
use crate::result::{CharacterResult, Distribution, FilebenchResult, FlowResult, RunResult, SynthesizedResult};

/// The personality of a configuration, if it runs one.
pub fn filebench(config: &Config, root: &Prng) -> Result<Option<Box<Filebench>>, Problem> {
    let Some(params) = config.filebench() else { return Ok(None) };
    let prng = root.branch("workload");
    Filebench::new(&params, config.device.capacity_sectors(), config.workload.requests, &prng).map(Box::new).map(Some)
}

/// The stream of a configuration that synthesises one.
pub fn synthesized(config: &Config, root: &Prng) -> Result<Option<Box<dyn Source>>, Problem> {
    let Some(params) = config.synthesized() else { return Ok(None) };
    let source = Synthesized::new(&params, config.device.capacity_sectors(), &root.branch("workload"))?;
    Ok(Some(Box::new(source)))
}

/// Adds what only these workloads have to a result.
pub fn describe(
    result: &mut RunResult,
    config: &Config,
    report: Option<&FilebenchReport>,
    root: &Prng,
) -> Result<(), Problem> {
    result.filebench = report.map(filebench_result);
    if let Some(params) = config.synthesized() {
        let achieved = Synthesized::measure(&params, config.device.capacity_sectors(), &root.branch("workload"))?;
        result.synthesized =
            Some(SynthesizedResult { target: character(&params.target()), achieved: character(&achieved) });
    }
    Ok(())
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
