//! `flashloom probe`.

use std::sync::Arc;

use flashloom::config::{Catalog, Experiment};
use flashloom::figures::number::factor;
use flashloom::study::probe::{PointResult, Probe, ProbeParams, ProbeResult, SpanEffect};
use flashloom::units::{Problem, format_size, parse_size};

use super::{json_text, report_unused_of};
use crate::arguments::ProbeArguments;
use crate::figures::{count, percent, table};
use crate::output::{OutputFile, Stop, all, commit, keep_apart, print};
use crate::progress::Bar;

/// Measures a drive by span and by outstanding requests, and reports the regions found.
pub fn probe(catalog: &Arc<Catalog>, arguments: &ProbeArguments) -> Result<(), Stop> {
    let experiment = Experiment::load_run(catalog, &arguments.experiment, &arguments.set)?;
    // Workload and scheduler take no part, and the probe sets time and seed itself.
    report_unused_of(&experiment, &["device.", "buffer.", "ftl."]);
    let params = params(arguments)?;
    let probe = Probe::new(&experiment, &params)?;
    keep_apart(&[], &[arguments.json.as_deref()])?;
    let to_stdout = arguments.json.as_deref() == Some("-");
    let json = OutputFile::optional(arguments.json.as_deref().filter(|_| !to_stdout))?;
    let result = Bar::new(probe.total_requests(), u64::from(params.seeds)).over(|bar| probe.run(bar))?;
    all([commit(json, || json_text(&result)), print(&if to_stdout { json_text(&result) } else { summary(&result) })])
}

fn params(arguments: &ProbeArguments) -> Result<ProbeParams, Problem> {
    let request_bytes = arguments.request_size.as_deref().map(parse_size).transpose();
    Ok(ProbeParams {
        request_bytes: request_bytes.map_err(|refusal| refusal.in_file("--request-size"))?,
        requests: arguments.requests,
        seeds: arguments.seeds,
        outstanding: arguments.outstanding,
        reach: arguments.reach,
    })
}

/// The search for regions, one table per direction, and the conclusion.
fn summary(result: &ProbeResult) -> String {
    let request = size(result.request_bytes);
    let tables = [
        ("reads/s of 512 B by span, with".to_owned(), &result.search.points),
        (format!("reads/s of {request} by span, with"), &result.read.points),
        (format!("writes/s of {request} by span, with"), &result.write.points),
    ];
    let tables: String = tables.iter().map(|(title, points)| curves(title, points) + "\n").collect();
    format!("{tables}{}\n{}", effect(result), verdict(result))
}

/// Requests per second: one row per span, one column per number of outstanding requests.
fn curves(title: &str, points: &[PointResult]) -> String {
    let columns = points.iter().take_while(|point| point.span_bytes == points[0].span_bytes).count();
    let outstanding: Vec<String> = points[..columns].iter().map(|point| point.outstanding.to_string()).collect();
    let header: Vec<&str> = std::iter::once(title).chain(outstanding.iter().map(String::as_str)).collect();
    let row = |of_span: &[PointResult]| {
        let span = std::iter::once(size(of_span[0].span_bytes));
        span.chain(of_span.iter().map(|point| factor(point.iops.mean))).collect()
    };
    table(&header, 1, points.chunks(columns).map(row).collect())
}

/// Formats a size in binary units, to three digits.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let (power, unit) = units.into_iter().find(|(power, _)| bytes >> power > 0).unwrap_or((0, "B"));
    format!("{} {unit}", factor(bytes as f64 / (1_u64 << power) as f64))
}

/// The effect of the span, with the figures that show it.
fn effect(result: &ProbeResult) -> String {
    let points = &result.search.points;
    let iops = |iops: f64| format!("{}/s", count(iops.round() as u64));
    let at = |bytes: u64| points.iter().find(|point| point.span_bytes == bytes).map_or(0.0, |point| point.iops.mean);
    let slowest = points.iter().map(|point| point.iops.mean).fold(f64::INFINITY, f64::min);
    let fastest = points.iter().map(|point| point.iops.mean).fold(0.0, f64::max);
    let whole = points.last().map_or(0.0, |point| point.iops.mean);
    let reach = percent(result.reach);
    match result.search.effect {
        SpanEffect::None => format!(
            "span has no effect: from {} to {}, and every span has at least {reach} of the next one\n",
            iops(slowest),
            iops(fastest)
        ),
        SpanEffect::Parallel { span_bytes } => format!(
            "span matters: {} within {}, less than {reach} of the next one, and {} over the whole drive: {} times as \
             many\n",
            iops(at(span_bytes)),
            size(span_bytes),
            iops(whole),
            factor(whole / at(span_bytes))
        ),
        SpanEffect::Cached { span_bytes } => format!(
            "no span is slower than the next one; spans up to {} are faster, {} against {} over the whole drive: the \
             drive keeps their data or their map at hand\n",
            size(span_bytes),
            iops(fastest),
            iops(whole)
        ),
    }
}

/// The resulting parameters in the form of a configuration, or the statement that there are none.
fn verdict(result: &ProbeResult) -> String {
    let Some(region) = &result.region else {
        return "no region size and no batches follow: no part of this drive is slower than the whole\n".to_owned();
    };
    let size = format_size(region.region_size_bytes);
    let at_most = if region.at_most { "  # at most: the smallest span that was measured" } else { "" };
    let (reads, writes) = (region.read_batch, region.write_batch);
    format!("[host.pardispatcher]\nregion_size = \"{size}\"{at_most}\nread_batch = {reads}\nwrite_batch = {writes}\n")
}
