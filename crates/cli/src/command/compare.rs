//! `flashloom compare`.

use std::num::NonZeroUsize;
use std::sync::Arc;

use flashloom::experiment::config::{Bounds, Catalog, Experiment};
use flashloom::experiment::formula::Run;
use flashloom::experiment::result::{Comparison, Distribution, ExpectationResult, RunResult};
use flashloom::experiment::run::Prepared;
use flashloom::experiment::schema;
use flashloom::report::csv;
use flashloom::units::{PolicySpec, SlotSpec, Statistic, Unit};
use rayon::ThreadPoolBuilder;
use serde_json::Value;

use super::{json_text, report_skipped};
use crate::arguments::CompareArguments;
use crate::cache;
use crate::figures::{count, factor, percent, rate, size, table, time};
use crate::output::{OutputFile, Stop, keep_apart, print};
use crate::progress::Bar;

/// Runs every combination and shows the results side by side.
pub fn compare(catalog: &Arc<Catalog>, arguments: &CompareArguments) -> Result<(), Stop> {
    let mut experiment = Experiment::load_comparison(catalog, &arguments.experiment, &arguments.set, &arguments.vary)?;
    if arguments.no_expect {
        experiment.expectations.clear();
        experiment.expects_end_of_life = false;
    }
    keep_apart(&experiment.inputs(), &[arguments.json.as_deref(), arguments.csv.as_deref()])?;
    let to_stdout = arguments.json.as_deref() == Some("-");
    let json = OutputFile::optional(arguments.json.as_deref().filter(|_| !to_stdout))?;
    let csv_file = OutputFile::optional(arguments.csv.as_deref())?;
    let threads = arguments.jobs.map_or(0, NonZeroUsize::get);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Stop::Failed(format!("error: the threads cannot be started: {error}")))?;
    let prepared = pool.install(|| Prepared::new(&experiment))?.with_cache(cache::of_user(arguments.no_cache));
    report_skipped(&prepared);
    let bar = Bar::new(prepared.total_requests(), experiment.variants.len() as u64);
    let comparison = pool.install(|| prepared.compare(arguments.verify, &bar));
    bar.clear();
    let comparison = comparison?;
    if let Some(file) = csv_file {
        file.commit(csv::comparison(&comparison))?;
    }
    if let Some(file) = json {
        file.commit(json_text(&comparison))?;
    }
    print(&if to_stdout { json_text(&comparison) } else { side_by_side(catalog, &comparison, arguments.statistics) })?;
    let ended = comparison.runs.iter().filter(|run| run.result.end_of_life.is_some()).count();
    if ended > 0 && !experiment.expects_end_of_life {
        return Err(Stop::Failed(format!(
            "error: the drive's life ended in {ended} of {} runs, because too many blocks failed",
            comparison.runs.len()
        )));
    }
    let failed = comparison.expectations.iter().filter(|expected| !expected.holds).count();
    if failed > 0 {
        let all = comparison.expectations.len();
        return Err(Stop::Failed(format!("error: {failed} of {all} expectations do not hold")));
    }
    Ok(())
}

/// One row an expectation: whether it holds, the number, its bounds.
fn expectations(comparison: &Comparison) -> String {
    let row = |expected: &ExpectationResult| {
        let bounds = Bounds { at_least: expected.at_least, at_most: expected.at_most };
        let value = expected.value.map_or("-".to_owned(), significant);
        let verdict = if expected.holds { "holds" } else { "FAILS" };
        vec![expected.claim.clone(), verdict.to_owned(), value, bounds.to_string()]
    };
    let rows = comparison.expectations.iter().map(row).collect();
    format!("\n{}", table(&["expected", "", "found", "bounds"], 2, rows))
}

/// Four digits that count.
fn significant(value: f64) -> String {
    let before = if value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
    format!("{value:.*}", (4 - before).clamp(0, 9) as usize)
}

/// Which values of a column are good.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Best {
    Highest,
    Lowest,
    /// Neither is better in itself.
    Neither,
}

/// A figure of every run. It is shown where any run has it, and, if it is about one section, a key of that one varies.
struct Column {
    name: &'static str,
    section: Option<&'static str>,
    best: Best,
    show: fn(f64) -> String,
    value: fn(&RunResult) -> Option<f64>,
}

const fn column(
    name: &'static str,
    best: Best,
    show: fn(f64) -> String,
    value: fn(&RunResult) -> Option<f64>,
) -> Column {
    Column { name, section: None, best, show, value }
}

fn whole(value: f64) -> String {
    count(value as u64)
}

fn read(result: &RunResult) -> Option<&Distribution> {
    result.host.latency_ns.as_ref()?.read.as_ref()
}

fn write(result: &RunResult) -> Option<&Distribution> {
    result.host.latency_ns.as_ref()?.write.as_ref()
}

fn merges(result: &RunResult) -> Option<u64> {
    result.ftl.merges.as_ref().map(|merges| merges.switch + merges.partial + merges.full)
}

const COLUMNS: &[Column] = &[
    column("operations/s", Best::Highest, factor, |result| result.filebench.as_ref()?.operations_per_second),
    column("requests/s", Best::Highest, factor, |result| result.host.iops),
    column("throughput", Best::Highest, rate, |result| result.host.throughput_bytes_per_s),
    column("read p50", Best::Lowest, time, |result| Some(read(result)?.p50 as f64)),
    column("read p99", Best::Lowest, time, |result| Some(read(result)?.p99 as f64)),
    column("write p50", Best::Lowest, time, |result| Some(write(result)?.p50 as f64)),
    column("write p99", Best::Lowest, time, |result| Some(write(result)?.p99 as f64)),
    column("max wait", Best::Lowest, time, |result| Some(result.scheduler.as_ref()?.max_wait_ns as f64)),
    column("merged", Best::Neither, whole, |result| Some(result.scheduler.as_ref()?.merged as f64)),
    Column {
        section: Some("buffer."),
        ..column("buffer hits", Best::Highest, percent, |result| result.buffer.as_ref()?.hit_ratio)
    },
    column("map hits", Best::Highest, percent, |result| result.ftl.map_cache.as_ref()?.hit_ratio),
    column("merges", Best::Lowest, whole, |result| Some(merges(result)? as f64)),
    column("largest k", Best::Lowest, whole, |result| Some(result.ftl.associativity.as_ref()?.max as f64)),
    column("longest merge", Best::Lowest, time, |result| Some(result.ftl.blocking_ns.as_ref()?.max? as f64)),
    column("WAF", Best::Lowest, factor, |result| result.ftl.waf),
    column("erases", Best::Lowest, whole, |result| Some(result.ftl.block_erases as f64)),
    column("life in pages", Best::Highest, whole, |result| Some(result.end_of_life.as_ref()?.host_page_writes as f64)),
];

/// A column of the table: its name, which values are good, how one is shown, and the value of each run.
type Figures = (&'static str, Best, fn(f64) -> String, Vec<Option<f64>>);

/// One row a run, the varied keys first; the best of each column is marked where the runs differ.
fn side_by_side(catalog: &Catalog, comparison: &Comparison, with_statistics: bool) -> String {
    let keys: Vec<&String> = comparison.runs.first().map_or(Vec::new(), |run| run.vary.keys().collect());
    let mut rows: Vec<Vec<String>> = comparison.runs.iter().map(|run| run.vary.values().map(plain).collect()).collect();
    let mut header: Vec<&str> =
        keys.iter().map(|key| key.rsplit_once('.').map_or(key.as_str(), |(_, name)| name)).collect();
    let of_columns = COLUMNS.iter().filter_map(|column| {
        let is_off = column.section.is_some_and(|section| !keys.iter().any(|key| key.starts_with(section)));
        let values = comparison.runs.iter().map(|run| (column.value)(&run.result)).collect();
        (!is_off).then_some((column.name, column.best, column.show, values))
    });
    let counted = if with_statistics { statistics(catalog, comparison, &keys) } else { Vec::new() };
    for (name, order, show, values) in of_columns.chain(counted) {
        let values: Vec<Option<f64>> = values;
        if values.iter().all(Option::is_none) {
            continue;
        }
        header.push(name);
        let shown: Vec<String> = values.iter().map(|value| value.map_or("-".to_owned(), show)).collect();
        for ((row, shown_value), is_best) in rows.iter_mut().zip(&shown).zip(best(order, &values, &shown)) {
            row.push(format!("{shown_value}{}", if is_best { " *" } else { "  " }));
        }
    }
    let table = table(&header, keys.len(), rows);
    let verified: u64 = comparison.runs.iter().filter_map(|run| run.result.integrity.sectors_checked).sum();
    let mut text = format!("{table}\n* best of its column\n");
    if comparison.runs.iter().all(|run| run.result.integrity.verified) {
        text.push_str(&format!("verified: every flash command, and {} sectors read\n", count(verified)));
    }
    if !comparison.expectations.is_empty() {
        text.push_str(&expectations(comparison));
    }
    text
}

/// A column for every statistic of the policies that vary, with the value of each run; distributions are left to the
/// results.
fn statistics(catalog: &Catalog, comparison: &Comparison, keys: &[&String]) -> Vec<Figures> {
    let varies = |slot: &SlotSpec| keys.iter().any(|key| *key == slot.key);
    let is_chosen = |policy: &PolicySpec| {
        let names = comparison.runs.iter().flat_map(|run| run.vary.values());
        names.filter_map(Value::as_str).any(|name| name == policy.name)
    };
    let runs: Vec<Run> = comparison.runs.iter().map(Run::from).collect();
    let found = schema::statistics(catalog).filter(|(_, slot, policy, _)| varies(slot) && is_chosen(policy));
    let column = |(path, _, _, statistic): (String, _, _, &'static Statistic)| {
        let show: fn(f64) -> String = match statistic.unit {
            Unit::Count => whole,
            Unit::Bytes => size,
            Unit::Time => time,
            Unit::Ratio => factor,
            Unit::Times => return None,
        };
        let value = |run: &Run| path.split('.').try_fold(&*run.result, |value, part| value.get(part))?.as_f64();
        Some((statistic.name, Best::Neither, show, runs.iter().map(value).collect()))
    };
    let mut columns: Vec<Figures> = Vec::new();
    for column in found.filter_map(column) {
        // Two policies of a slot may count the same: it is one field of the result.
        if columns.iter().all(|(name, ..)| *name != column.0) {
            columns.push(column);
        }
    }
    columns
}

/// Which rows hold the best value as it is shown; none where all rows look the same.
fn best(best: Best, values: &[Option<f64>], shown: &[String]) -> Vec<bool> {
    let given = || values.iter().zip(shown).filter_map(|(value, shown)| Some(((*value)?, shown)));
    let winner = match best {
        Best::Highest => given().max_by(|(a, _), (b, _)| a.total_cmp(b)),
        Best::Lowest => given().min_by(|(a, _), (b, _)| a.total_cmp(b)),
        Best::Neither => None,
    };
    let Some((_, winner)) = winner.filter(|(_, winner)| given().any(|(_, shown)| shown != *winner)) else {
        return vec![false; values.len()];
    };
    shown.iter().map(|shown| shown == winner).collect()
}

/// A value without the quotes of JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_marked_only_where_the_runs_differ_as_shown() {
        let values = [Some(2.0), None, Some(1.0), Some(1.0)];
        let shown: Vec<String> = values.iter().map(|value| value.map_or("-".into(), |v| v.to_string())).collect();
        assert_eq!(best(Best::Lowest, &values, &shown), [false, false, true, true]);
        assert_eq!(best(Best::Highest, &values, &shown), [true, false, false, false]);
        assert_eq!(best(Best::Neither, &values, &shown), [false; 4]);
        assert_eq!(best(Best::Lowest, &values[2..], &shown[2..]), [false; 2]);
    }
}
