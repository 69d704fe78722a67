//! Hints about rows of a comparison that look different, or certain, and are not.
//!
//! ```text
//! same-replicates   every seed of a row gave the same figures
//! never-queued      a key of the host varies, and in rows that differ in it requests spent less than a thousandth of
//!                   their latency in the host
//! own-rate          requests came at times of their own and the drive kept up: at the same rate in several rows, or
//!                   with an interval over seeds, which is that of the requests
//! ```

use flashloom_config::{Config, Experiment};
use flashloom_figures::result::{ComparedHintResult, ComparedRun, RunResult};

use super::total_ns;

/// Share of the latency below which requests did not wait in the host.
const NO_WAIT: f64 = 0.001;
/// Relative difference below which two rates are the same.
const SAME_RATE: f64 = 0.01;

/// A row of a comparison: the configuration of its first seed, and the runs of all.
struct Row<'a> {
    config: &'a Config,
    runs: &'a [ComparedRun],
}

/// The hints about the rows of a comparison, the most misleading first.
pub fn compared(experiment: &Experiment, runs: &[ComparedRun]) -> Vec<ComparedHintResult> {
    let seeds = experiment.repetitions();
    let configs = experiment.variants.iter().step_by(seeds).map(|variant| &variant.config);
    let rows: Vec<Row<'_>> = configs.zip(runs.chunks(seeds)).map(|(config, runs)| Row { config, runs }).collect();
    let varies_scheduler = experiment.axes.iter().any(|axis| axis.path().starts_with("host."));
    let never_queued = if varies_scheduler { never_queued(&rows) } else { None };
    [same_replicates(&rows), never_queued, own_rate(&rows)].into_iter().flatten().collect()
}

/// A hint about the rows of these indices.
fn hint(about: &str, key: &str, text: String, rows: &[usize]) -> Option<ComparedHintResult> {
    let rows = rows.iter().map(|&row| row as u32 + 1).collect();
    Some(ComparedHintResult { about: about.to_owned(), text, key: key.to_owned(), rows })
}

/// Indices of the rows that a condition holds for.
fn chosen(rows: &[Row<'_>], holds: impl Fn(&Row<'_>) -> bool) -> Vec<usize> {
    rows.iter().enumerate().filter(|(_, row)| holds(row)).map(|(index, _)| index).collect()
}

fn same_replicates(rows: &[Row<'_>]) -> Option<ComparedHintResult> {
    let same = |one: &RunResult, other: &RunResult| {
        let parts = (&one.host, &one.buffer, &one.ftl, &one.nand);
        parts == (&other.host, &other.buffer, &other.ftl, &other.nand)
    };
    let is_one =
        |row: &Row<'_>| row.runs.len() > 1 && row.runs.iter().all(|run| same(&run.result, &row.runs[0].result));
    let found = chosen(rows, is_one);
    let seeds = rows.get(*found.first()?)?.runs.len();
    let text = format!(
        "All {seeds} seeds gave the same figures, because nothing in these runs depends on the seed: \u{b1}0 is one \
         run counted {seeds} times, and no certainty; compare over other recordings, speeds or generated workloads too."
    );
    hint("same-replicates", "run.seed", text, &found)
}

fn never_queued(rows: &[Row<'_>]) -> Option<ComparedHintResult> {
    let waited = |result: &RunResult| {
        let latency = result.host.latency_ns.as_ref()?;
        Some(total_ns(latency.queue.as_ref()?) / total_ns(latency.all.as_ref()?))
    };
    let found = chosen(rows, |row| row.runs.iter().all(|run| waited(&run.result).is_some_and(|share| share < NO_WAIT)));
    let of_host =
        |row: usize| -> Vec<_> { rows[row].runs[0].vary.iter().filter(|(key, _)| key.starts_with("host.")).collect() };
    let &first = found.first()?;
    if found.iter().all(|&row| of_host(row) == of_host(first)) {
        return None;
    }
    let config = rows[first].config;
    let depth = config.host.device_depth();
    let (key, advice) = match config.is_closed() {
        true => ("workload.queue_depth", format!("keep more than {depth} outstanding")),
        false => ("host.queue_depth", "load the drive more, or let it take fewer at once".to_owned()),
    };
    let text = format!(
        "Requests hardly waited in the host, because the drive takes {depth} at once: no scheduler had a choice, and \
         what differs between these rows is not better or worse scheduling; {advice}."
    );
    hint("never-queued", key, text, &found)
}

fn own_rate(rows: &[Row<'_>]) -> Option<ComparedHintResult> {
    let own = |row: &Row<'_>| {
        let result = &row.runs[0].result;
        let keeps_up = result.hints.iter().all(|hint| hint.about != "overload");
        result.host.iops.filter(|_| row.config.has_arrival_times() && keeps_up)
    };
    let rates: Vec<Option<f64>> = rows.iter().map(own).collect();
    let is_shared = |row: usize| {
        let others = rates.iter().enumerate().filter(|(other, _)| *other != row);
        let same = |rate: f64, other: &Option<f64>| other.is_some_and(|other| (rate / other - 1.0).abs() < SAME_RATE);
        let has_interval = rows[row].runs.len() > 1;
        rates[row].is_some_and(|rate| has_interval || others.clone().any(|(_, other)| same(rate, other)))
    };
    let found: Vec<usize> = (0..rows.len()).filter(|&row| is_shared(row)).collect();
    if found.is_empty() {
        return None;
    }
    let text = "Requests came at times of their own and the drive kept up, so that requests/s and throughput, and \
                their intervals, are the workload's and say nothing about these rows: compare latencies, or replay \
                with \"closed\", which asks for as much as the drive gives.";
    hint("own-rate", "workload.replay", text.to_owned(), &found)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::{Prepared, Quiet};
    use flashloom_config::{Catalog, Source, Sweep};

    #[test]
    fn a_thousandth_of_the_latency_is_a_wait() {
        let workload = "workload.synthetic = { requests = 50 }\nworkload.replay = \"closed\"\n";
        let source = Source::text("small.toml", &format!("{workload}device.blocks = 64\n"));
        let sweep = Sweep { varies: &["host.scheduler=noop,deadline".to_owned()], ..Sweep::default() };
        let experiment = Experiment::comparison_from_source(&Catalog::builtin(), source, &sweep).expect("it is sound");
        let prepared = Prepared::new(&experiment).expect("it needs no file");
        let mut runs = prepared.compare(false, &Quiet).expect("it runs").runs;
        let mut is_told = |queue: f64| {
            for run in &mut runs {
                let latency = run.result.host.latency_ns.as_mut().expect("requests were completed");
                let (all, waits) = (latency.all.as_mut(), latency.queue.as_mut());
                let (all, waits) = all.zip(waits).expect("requests were completed");
                (all.mean, waits.mean, waits.count) = (1000.0, queue, all.count);
            }
            compared(&experiment, &runs).iter().any(|hint| hint.about == "never-queued")
        };
        assert_eq!([0.0, 0.999, 1.0].map(&mut is_told), [true, true, false]);
    }

    #[test]
    fn seeds_that_change_nothing_are_no_certainty() {
        let workload = "workload.synthetic = { requests = 50, pattern = \"random\", read_share = 0.5 }\n";
        let source = Source::text("small.toml", &format!("{workload}device.blocks = 64\n"));
        let varies = ["ftl.gc=greedy,fifo".to_owned()];
        let sweep = Sweep { varies: &varies, seeds: NonZeroU32::new(3), ..Sweep::default() };
        let experiment = Experiment::comparison_from_source(&Catalog::builtin(), source, &sweep).expect("it is sound");
        let prepared = Prepared::new(&experiment).expect("it needs no file");
        let comparison = prepared.compare(false, &Quiet).expect("it runs");
        let about = |runs: &[ComparedRun]| {
            let hints = compared(&experiment, runs).into_iter();
            hints.filter(|hint| hint.about == "same-replicates").map(|hint| hint.rows).collect::<Vec<_>>()
        };
        assert!(about(&comparison.runs).is_empty(), "the requests are drawn");
        let mut runs = comparison.runs;
        runs[4].result = runs[3].result.clone();
        assert!(about(&runs).is_empty(), "one of three seeds differs");
        runs[5].result = runs[3].result.clone();
        assert_eq!(about(&runs), [[2]]);
    }
}
