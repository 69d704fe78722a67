//! The scheduler's bound: a short workload is run in every order in which it can be dispatched.

use flashloom_device::{Engine, Outcome};
use flashloom_host::Orders;
use flashloom_units::Ns;

use super::super::aged;
use super::super::engines::{Aged, unmerged};
use super::super::{Failure, Input, Quiet, simulation_of, started};
use super::{Bound, Record};
use crate::config::{Config, Precondition, Timing};
use crate::result::{RunResult, SchedulerBound};

/// Maximum number of requests whose orders are all tried: 8! = 40,320 runs if all are queued at once.
const MOST_REQUESTS: u64 = 8;

/// Finds the best of every order of dispatch; the run itself is one of them.
///
/// # Errors
/// The errors of running it.
pub(super) fn scheduler(
    config: &Config,
    input: Input<'_>,
    verify: bool,
    record: &Record,
    result: &RunResult,
) -> Result<Bound<SchedulerBound>, Failure> {
    if let Some(why) = unsuited(config, input, record, result) {
        return Ok(Err(why));
    }
    let Some(run) = figures(result) else { return Ok(Err("no request took time".to_owned())) };
    // Drives are aged once, not for each order.
    let own = match config.run.precondition {
        Precondition::None => None,
        _ if input.aged.drive.is_some() => None,
        _ => Some(aged::to_be_saved(config, verify, input.aged.cache, &Quiet)?),
    };
    let aged = Aged { drive: input.aged.drive.or(own.as_ref()), ..input.aged };
    let (orders, mut count) = (Orders::default(), 0);
    let mut best: Option<(u64, f64)> = None;
    loop {
        let engine = unmerged(config, orders.scheduler(), verify, aged, &Quiet)?;
        let outcome = outcome(config, input, engine)?;
        if outcome.host.generated != result.host.requests {
            return Ok(Err("the workload issues other requests in another order".to_owned()));
        }
        count += 1;
        let (duration, latency) = (outcome.host.duration_ns, outcome.host.latency().mean());
        let (shortest, least) = best.unwrap_or((duration, latency));
        best = Some((shortest.min(duration), least.min(latency)));
        if !orders.advance() {
            break;
        }
    }
    let bound = best.map(|(shortest_duration_ns, least_mean_latency_ns)| SchedulerBound {
        orders: count,
        shortest_duration_ns,
        duration_over_shortest: run.0 as f64 / shortest_duration_ns as f64,
        least_mean_latency_ns,
        mean_latency_over_least: run.1 / least_mean_latency_ns,
    });
    Ok(bound.ok_or_else(|| "no order was tried".to_owned()))
}

/// Reason why a run has no bound of its scheduler.
fn unsuited(config: &Config, input: Input<'_>, record: &Record, result: &RunResult) -> Option<String> {
    let requests = result.host.requests.max(input.workload.expected_requests());
    let is_aged_anew = config.run.precondition != Precondition::None && input.aged.drive.is_none();
    let merged = result.scheduler.as_ref().map_or(0, |scheduler| scheduler.merged);
    if config.run.timing == Timing::Counting {
        Some("in counting mode nothing takes time".to_owned())
    } else if result.end_of_life.is_some() {
        Some("the drive's life ended".to_owned())
    } else if requests > MOST_REQUESTS {
        Some(format!("every order is tried of at most {MOST_REQUESTS} requests"))
    } else if merged > 0 {
        Some("requests were merged, and orders are those of requests as they are".to_owned())
    } else if record.was_held_back() {
        Some("the scheduler held requests back, and every order has the drive take what it has room for".to_owned())
    } else if is_aged_anew {
        let policy = aged::unsaved_policy(config)?;
        Some(format!("the state of `{policy}` cannot be saved, and the drive would be aged for every order"))
    } else {
        None
    }
}

/// Runs the workload on an engine. The accounts are not checked, because that takes longer than a few requests; those
/// of the run that is bounded were.
fn outcome(config: &Config, input: Input<'_>, engine: Engine) -> Result<Outcome, Failure> {
    let mut simulation = simulation_of(config, engine, config.run.drain);
    let mut running = started(input.workload)?;
    simulation.run(&mut *running, Ns::MAX, &mut []).map_err(Failure::Input)?;
    Ok(simulation.outcome())
}

/// Duration and mean latency of a run.
fn figures(result: &RunResult) -> Option<(u64, f64)> {
    let all = result.host.latency_ns.as_ref()?.all.as_ref()?;
    Some((result.host.duration_ns?, all.mean))
}
