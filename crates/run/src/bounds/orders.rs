//! The scheduler's bound: a short workload is run in every order in which it can be dispatched.

use flashloom_device::{Engine, Outcome};
use flashloom_host::Orders;
use flashloom_units::Ns;
use flashloom_workload::Op;

use super::super::aged::{to_be_saved, unsaved_policy};
use super::super::engines::{Aged, Preparation, unmerged};
use super::super::{Failure, Input, Quiet, Watched, simulation_of};
use super::{Bound, Record};
use flashloom_config::{Config, Precondition, Timing};
use flashloom_figures::result::{RunResult, SchedulerBound};

/// Maximum number of requests whose orders are all tried: 8! = 40,320 runs if all are queued at once.
const MOST_REQUESTS: u64 = 8;
/// Maximum number of orders times pages of the drive. Each order begins with a drive of its own, and making one takes
/// longer than the few requests: about 6 ns a page, or 10 minutes for all.
const MOST_PAGES: u64 = 100_000_000_000;

/// Finds the best of every order of dispatch; the run itself is one of them.
///
/// # Errors
/// The errors of running it.
pub(super) fn scheduler(
    input: Input<'_>,
    record: &Record,
    result: &RunResult,
) -> Result<Bound<SchedulerBound>, Failure> {
    let with = Preparation { progress: &Quiet, ..input.with };
    let config = with.config;
    if let Some(why) = unsuited(input, record, result) {
        return Ok(Err(why));
    }
    let Some(run) = figures(result) else { return Ok(Err("no request took time".to_owned())) };
    // Drives are aged once, not for each order.
    let own = match config.run.precondition {
        Precondition::None => None,
        _ if with.aged.drive.is_some() => None,
        _ => Some(to_be_saved(with)?),
    };
    let aged = Aged { drive: with.aged.drive.or(own.as_ref()), ..with.aged };
    let (orders, mut count) = (Orders::default(), 0);
    let mut best: Option<(u64, f64)> = None;
    loop {
        let engine = unmerged(Preparation { aged, ..with }, &|| Ok(orders.scheduler()))?;
        let outcome = outcome(input, engine)?;
        if outcome.end_of_life.is_some() {
            return Ok(Err("the drive's life ends in another order".to_owned()));
        }
        if is_other_workload(&outcome, result) {
            return Ok(Err("the workload issues other requests in another order".to_owned()));
        }
        count += 1;
        // Another order may have more requests to choose from than the run had.
        if let Some(why) = too_long(count, config) {
            return Ok(Err(why));
        }
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
fn unsuited(input: Input<'_>, record: &Record, result: &RunResult) -> Option<String> {
    let Preparation { config, aged, .. } = input.with;
    let requests = result.host.requests.max(input.workload.expected_requests());
    let is_aged_anew = config.run.precondition != Precondition::None && aged.drive.is_none();
    let merged = result.host.scheduler.as_ref().and_then(|scheduler| scheduler.whole("merged")).unwrap_or(0);
    if config.run.timing == Timing::Counting {
        Some("in counting mode nothing takes time".to_owned())
    } else if !config.workloads.is_empty() {
        Some("several workloads take turns, and an order is that of one".to_owned())
    } else if result.end_of_life.is_some() {
        Some("the drive's life ended".to_owned())
    } else if requests > MOST_REQUESTS {
        Some(format!("every order is tried of at most {MOST_REQUESTS} requests"))
    } else if merged > 0 {
        Some("requests were merged, and orders are those of requests as they are".to_owned())
    } else if record.queue.was_held_back {
        Some("the scheduler held requests back, and every order has the drive take what it has room for".to_owned())
    } else if is_aged_anew && let Some(policy) = unsaved_policy(config) {
        Some(format!("the state of `{policy}` cannot be saved, and the drive would be aged for every order"))
    } else {
        too_long(record.queue.orders, config)
    }
}

/// Reason why so many orders are not tried.
fn too_long(orders: u64, config: &Config) -> Option<String> {
    let pages = config.device.geometry().total_pages();
    (orders.saturating_mul(pages) > MOST_PAGES).then(|| {
        format!(
            "{orders} orders or more, each on a drive of {pages} pages, would take too long: {} orders of such a \
             drive are tried at most; fewer requests or a smaller drive have a bound",
            MOST_PAGES / pages
        )
    })
}

/// True if the requests of a run in another order are not those of the run that is bounded.
fn is_other_workload(outcome: &Outcome, result: &RunResult) -> bool {
    let (host, run) = (&outcome.host, &result.host);
    let ops = [(Op::Read, run.reads), (Op::Write, run.writes), (Op::Discard, run.discards), (Op::Flush, run.flushes)];
    (host.generated, host.read_bytes, host.write_bytes) != (run.requests, run.read_bytes, run.write_bytes)
        || ops.iter().any(|&(op, count)| host.completed_of(op) != count)
}

/// Runs the workload on an engine. The accounts are not checked, because that takes longer than a few requests; those
/// of the run that is bounded were.
fn outcome(input: Input<'_>, engine: Engine) -> Result<Outcome, Failure> {
    let config = input.with.config;
    let mut simulation = simulation_of(config, engine, config.run.drain);
    let mut running = input.workload.start(config)?;
    Watched::default().run(&mut simulation, &mut running, Ns::MAX, None, &Quiet)?;
    Ok(simulation.outcome())
}

/// Duration and mean latency of a run.
fn figures(result: &RunResult) -> Option<(u64, f64)> {
    let all = result.host.latency_ns.as_ref()?.all.as_ref()?;
    Some((result.host.duration_ns?, all.mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_config::{Catalog, Experiment, Source};

    #[test]
    fn orders_that_would_take_hours_are_refused() {
        let too_long = |preset: &str, orders| {
            let source = Source::text("orders.toml", &format!("device.preset = \"{preset}\""));
            let experiment = Experiment::from_source(&Catalog::builtin(), source, &[], None).expect("it is sound");
            too_long(orders, &experiment.variants[0].config)
        };
        assert_eq!(too_long("mlc-16g", 40_320), None, "8 requests");
        assert_eq!(too_long("nvme-qlc-1t", 720), None, "6 requests");
        let why = too_long("nvme-qlc-1t", 40_320).expect("half a day");
        assert!(why.starts_with("40320 orders or more, each on a drive of"), "{why}");
        assert!(too_long("mlc-16g", u64::MAX).is_some(), "a product that overflows");
    }
}
