//! `flashloom trace info` and `flashloom trace convert`.

use flashloom::run::doubt_of_pairs;
use flashloom::units::{Problem, visible_line};
use flashloom::workload::{
    ConvertReport, DeviceInfo, Footprint, OutFormat, SkippedLines, TraceInfo, Unconverted, convert_trace, scan_trace,
};

use super::json_text;
use crate::arguments::{ConvertArguments, InfoArguments};
use crate::figures::{count, percent, size, table, time};
use crate::output::{Stop, print, say};

/// Prints the summary of a recording.
pub fn info(arguments: &InfoArguments) -> Result<(), Stop> {
    let info = scan_trace(&arguments.file, &arguments.reading.options(arguments.format), Footprint::Count)?;
    report_skipped(&arguments.file, &info.skipped);
    if let Some(doubt) = info.pairs.as_ref().and_then(doubt_of_pairs) {
        say(format!("{}: {doubt}", visible_line(&arguments.file)));
    }
    print(&if arguments.json { json_text(&info) } else { summary(&info) })
}

/// Converts a recording to another format.
pub fn convert(arguments: &ConvertArguments) -> Result<(), Stop> {
    let to = format_of(arguments.to, &arguments.output)?;
    let options = arguments.reading.options(arguments.from);
    let report = convert_trace(&arguments.input, &options, &arguments.output, to, arguments.drop_unsupported);
    let report = report.map_err(|unconverted| match unconverted {
        Unconverted::Refused(problem) => problem.into(),
        Unconverted::Unwritten(problem) => Stop::Failed(problem.to_string()),
    })?;
    print(&report_text(&report))
}

/// The format to write: the one asked for, or the one that the file's name implies.
pub fn format_of(asked: Option<OutFormat>, output: &str) -> Result<OutFormat, Problem> {
    if output == "-" {
        let expected = "the name of a file, in .csv, .iolog or .ssdsim (and .gz or .zst)";
        return Err(Problem::file(output, "a trace is not written to standard output", expected));
    }
    asked.or_else(|| OutFormat::of_path(output)).ok_or_else(|| {
        let names = OutFormat::CHOICES.iter().map(|choice| choice.name).collect::<Vec<_>>().join(", ");
        let expected = "a name in .csv, .iolog or .ssdsim (and .gz or .zst)";
        let problem = Problem::file(output, "the name does not tell the format", expected);
        problem.with_help(format!("`--to` names the format: one of {names}"))
    })
}

/// Formats the report of a conversion.
pub fn report_text(report: &ConvertReport) -> String {
    let mut text = format!("{} requests from {} to {}\n", count(report.requests), report.from, report.to);
    let losses = [
        (report.dropped_requests, "requests left out, which the format cannot hold"),
        (report.stripped_requests, "requests without their task or flags, which the format cannot hold"),
        (report.rounded_times, "times cut to microseconds"),
        (report.capped_latencies, "latencies of 4.294967295 s or longer written as that"),
        (report.skipped_lines, "bad lines left out"),
    ];
    for (lost, what) in losses.into_iter().filter(|(lost, _)| *lost > 0) {
        text.push_str(&format!("{} {what}\n", count(lost)));
    }
    text
}

/// Reports on standard error the lines that were left out of a recording.
pub fn report_skipped(path: &str, skipped: &SkippedLines) {
    if skipped.count == 0 {
        return;
    }
    for problem in &skipped.first {
        say(format_args!("{problem}\n"));
    }
    let shown = skipped.first.len() as u64;
    let others = if skipped.count > shown { format!(", of which the first {shown} are above") } else { String::new() };
    say(format_args!("note: {} bad lines of {} were left out{others}", count(skipped.count), visible_line(path)));
}

fn summary(info: &TraceInfo) -> String {
    let operations =
        [("reads", info.reads), ("writes", info.writes), ("discards", info.discards), ("flushes", info.flushes)];
    let mut rows = vec![("format", info.format.to_owned())];
    rows.extend(info.event.map(|event| ("event", event.to_owned())));
    rows.push(("requests", count(info.requests)));
    rows.extend(operations.map(|(name, number)| (name, count(number))));
    rows.push(("durable writes (FUA)", count(info.fua_writes)));
    rows.push(("writes after a flush (PREFLUSH)", count(info.preflush_writes)));
    rows.push(("read", size(info.read_bytes as f64)));
    rows.push(("written", size(info.write_bytes as f64)));
    rows.extend(info.footprint_bytes.map(|bytes| ("footprint (4 KiB pages touched)", size(bytes as f64))));
    rows.push(("span (least device)", size(info.span_bytes as f64)));
    rows.push(("duration", time(info.duration_ns as f64)));
    rows.push(("sequential", percent(info.sequential_share)));
    rows.push(("task ids", yes_or_no(info.has_task_ids)));
    rows.push(("latencies", latencies(info)));
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]);
    table(&["", ""], 2, rows.chain(devices(&info.devices)).collect())
}

fn yes_or_no(has: bool) -> String {
    if has { "yes" } else { "no" }.to_owned()
}

fn latencies(info: &TraceInfo) -> String {
    let Some(pairs) = info.pairs else { return yes_or_no(info.has_latencies) };
    let counts = [
        (pairs.unpaired, "without completion"),
        (pairs.void, "void"),
        (pairs.failed, "failed"),
        (pairs.reissued, "issued again"),
    ];
    let others: String = counts
        .into_iter()
        .filter(|(requests, _)| *requests > 0)
        .map(|(requests, what)| format!(", {} {what}", count(requests)))
        .collect();
    format!("of {} issued requests, by their completions{others}", count(pairs.paired))
}

/// Rows of the devices of a recording, unless it has only one and nothing was handed down to another.
fn devices(devices: &[DeviceInfo]) -> Vec<Vec<String>> {
    const SHOWN: usize = 24;
    if devices.len() < 2 {
        return Vec::new();
    }
    let row = |device: &DeviceInfo| {
        let mut parts = Vec::new();
        if device.requests > 0 {
            let end = size(device.span_bytes as f64);
            parts.push(format!("{} requests, up to {end}", count(device.requests)));
        }
        if device.handed_down > 0 {
            parts.push(format!("{} handed down, counted at the device above", count(device.handed_down)));
        }
        vec![format!("device {}", visible_line(&device.name)), parts.join("; ")]
    };
    let more = devices.len().saturating_sub(SHOWN);
    let rest =
        (more > 0).then(|| vec!["devices".to_owned(), format!("{} more, which --json lists", count(more as u64))]);
    devices.iter().take(SHOWN).map(row).chain(rest).collect()
}
