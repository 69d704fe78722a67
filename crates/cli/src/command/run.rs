//! `flashloom run`.

use std::fmt::Write as _;

use flashloom_experiment::config::Experiment;
use flashloom_experiment::result::{ByOrigin, CharacterResult, Distribution, FlowResult, RunResult, SynthesizedResult};
use flashloom_experiment::run::{Finished, Prepared};
use flashloom_experiment::timeline::Timeline;
use flashloom_units::Problem;

use super::{json_text, report_skipped};
use crate::arguments::RunArguments;
use crate::figures::{count, factor, percent, rate, size, table, time};
use crate::output::{OutputFile, Stop, print};
use crate::progress::Bar;

/// Runs one experiment and shows its result.
pub fn run(arguments: &RunArguments) -> Result<(), Stop> {
    let experiment = Experiment::load_run(&arguments.experiment, &arguments.set)?;
    let to_stdout = arguments.json.as_deref() == Some("-");
    let json = OutputFile::optional(arguments.json.as_deref().filter(|_| !to_stdout))?;
    let mut timeline_file = OutputFile::optional(arguments.timeline.as_deref())?;
    let fio_json = OutputFile::optional(arguments.fio_json.as_deref())?;
    let prepared = Prepared::new(&experiment)?;
    if fio_json.is_some() && !prepared.runs_fio() {
        let expected = "`kind` = \"fio\" in [workload]";
        return Err(Problem::file("--fio-json", "the workload is not a fio job file", expected).into());
    }
    report_skipped(&prepared);
    for key in &experiment.left_out {
        eprintln!("note: [vary] lists values of `{}`; `flashloom compare` runs them all", key.path());
    }
    let bar = Bar::new(prepared.total_requests(), 1);
    let result = match &mut timeline_file {
        None => prepared.run(arguments.verify, &bar, &mut |_| {}, &mut |_| {}),
        Some(file) => {
            let mut timeline = Timeline::new(file.writer());
            let result = prepared.run(arguments.verify, &bar, &mut |sample| timeline.add(sample), &mut |_| {});
            let written = timeline.finish().map(drop);
            written.map_err(|error| Stop::Failed(format!("error: the timeline cannot be written: {error}")))?;
            result
        }
    };
    bar.clear();
    let Finished { result, fio_json: fio_result } = result?;
    if let Some(file) = timeline_file {
        file.commit("")?;
    }
    if let Some(file) = json {
        file.commit(&json_text(&result))?;
    }
    if let (Some(file), Some(result)) = (fio_json, &fio_result) {
        file.commit(&json_text(result))?;
    }
    print(&if to_stdout { json_text(&result) } else { summary(&result) })
}

/// The result as tables for a person.
fn summary(result: &RunResult) -> String {
    let mut text = String::new();
    let facts: Vec<Vec<String>> = facts(result).into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    text.push_str(&table(&["", ""], 2, facts));
    if let Some(latency) = &result.host.latency_ns {
        let named = [
            ("reads", &latency.read),
            ("writes", &latency.write),
            ("all", &latency.all),
            ("  in the host", &latency.queue),
            ("  in the drive", &latency.device),
        ];
        let row = |(name, distribution): (&str, &Option<Distribution>)| {
            let d = distribution.as_ref()?;
            let figures = [d.mean, d.p50 as f64, d.p95 as f64, d.p99 as f64, d.p99_9 as f64, d.max as f64];
            Some([name.to_owned(), count(d.count)].into_iter().chain(figures.map(time)).collect())
        };
        let rows = named.into_iter().filter_map(row).collect();
        let header = ["latency", "count", "mean", "p50", "p95", "p99", "p99.9", "max"];
        let _ = write!(text, "\n{}", table(&header, 1, rows));
    }
    text.push_str(&generated(result));
    let header = ["flash", "total", "host", "collection", "merge", "map", "wear"];
    let row = |name: &str, by: &ByOrigin| {
        let counts = [by.total, by.host, by.gc, by.merge, by.map, by.wear].map(count);
        [name.to_owned()].into_iter().chain(counts).collect::<Vec<_>>()
    };
    let nand = &result.nand;
    let rows = vec![
        row("pages read", &nand.reads),
        row("pages programmed", &nand.programs),
        row("blocks erased", &nand.erases),
    ];
    let _ = write!(text, "\n{}", table(&header, 1, rows));
    text
}

/// What only a Filebench personality or a synthesised workload has, as tables; empty for others.
fn generated(result: &RunResult) -> String {
    let mut text = String::new();
    if let Some(filebench) = &result.filebench {
        let row = |flow: &FlowResult| {
            let latency = flow.latency_ns.as_ref()?;
            let figures = [latency.mean, latency.p99 as f64, latency.max as f64].map(time);
            let counts = [flow.name.clone(), count(flow.operations), factor(flow.operations_per_second?)];
            Some(counts.into_iter().chain(figures).collect())
        };
        let rows = filebench.flows.iter().filter_map(row).collect();
        let header = [filebench.personality.as_str(), "operations", "a second", "mean", "p99", "max"];
        let _ = write!(text, "\n{}", table(&header, 1, rows));
    }
    if let Some(SynthesizedResult { target, achieved }) = &result.synthesized {
        let row =
            |name: &str, show: fn(&CharacterResult) -> String| vec![name.to_owned(), show(target), show(achieved)];
        let rows = vec![
            row("random share", |of| percent(of.random_share)),
            row("mean request", |of| size(of.mean_request_bytes)),
            row("read share", |of| percent(of.read_share)),
            row("requests", |of| count(of.requests)),
            row("footprint", |of| size(of.footprint_bytes as f64)),
            row("span", |of| size(of.span_bytes as f64)),
        ];
        let _ = write!(text, "\n{}", table(&["fit", "target", "achieved"], 1, rows));
    }
    text
}

fn facts(result: &RunResult) -> Vec<(&'static str, String)> {
    let host = &result.host;
    let requests = format!(
        "{} ({} reads, {} writes, {} discards, {} flushes)",
        count(host.completed),
        count(host.reads),
        count(host.writes),
        count(host.discards),
        count(host.flushes)
    );
    let mut facts = vec![("requests", requests)];
    let bytes = (size(host.read_bytes as f64), size(host.write_bytes as f64));
    facts.push(("data", format!("{} read, {} written", bytes.0, bytes.1)));
    if let (Some(duration), Some(iops), Some(throughput)) = (host.duration_ns, host.iops, host.throughput_bytes_per_s) {
        let text = format!("{} requests/s, {}, over {}", factor(iops), rate(throughput), time(duration as f64));
        facts.push(("throughput", text));
    }
    if let Some(filebench) = &result.filebench
        && let Some(per_second) = filebench.operations_per_second
    {
        let text = format!("{} operations/s of {}", factor(per_second), filebench.personality);
        facts.push(("filebench", text));
    }
    if let Some(scheduler) = &result.scheduler {
        let text = format!(
            "{}: {} merged, {} dispatched, {} switches of direction, {} expired, longest wait {}",
            scheduler.name,
            count(scheduler.merged),
            count(scheduler.dispatched),
            count(scheduler.direction_switches),
            count(scheduler.expired),
            time(scheduler.max_wait_ns as f64)
        );
        facts.push(("scheduler", text));
    }
    if let Some(buffer) = &result.buffer {
        let hits =
            buffer.hit_ratio.map_or(String::new(), |ratio| format!("{} of the pages written hit, ", percent(ratio)));
        let text = format!("{} x {}: {hits}{} pages evicted", buffer.order, buffer.rate, count(buffer.evicted_pages));
        facts.push(("buffer", text));
    }
    let ftl = &result.ftl;
    let policies = [Some(&ftl.mapping), ftl.allocation.as_ref(), ftl.gc.as_ref()];
    let policies = policies.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" x ");
    let waf = ftl.waf.map_or(String::new(), |waf| format!(", write amplification {}", factor(waf)));
    facts.push(("ftl", format!("{policies}: {} pages copied{waf}", count(ftl.page_copies))));
    if let (Some(channels), Some(dies)) = (result.nand.channel_utilization, result.nand.die_utilization) {
        facts.push(("busy", format!("channels {}, dies {}", percent(channels), percent(dies))));
    }
    let wear = &result.wear.erase_count;
    facts.push(("erases a block", format!("{} to {}, {} on average", wear.min, wear.max, factor(wear.mean))));
    facts.push(match result.integrity.sectors_checked {
        Some(sectors) => ("verified", format!("every flash command, and {} sectors read", count(sectors))),
        None => ("verified", "no (--verify)".to_owned()),
    });
    if let Some(cost) = &result.run {
        let memory = cost.peak_rss_bytes.map_or(String::new(), |bytes| format!(", {} of memory", size(bytes as f64)));
        let text = format!("{} s, {} requests/s{memory}", factor(cost.wall_seconds), factor(cost.requests_per_second));
        facts.push(("simulated in", text));
    }
    facts
}
