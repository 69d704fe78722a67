//! Sections over time and by place: what `run.series` adds to a result.

use flashloom_figures::number::{Format, factor, percent, size, small, time};
use flashloom_figures::result::{BusySeries, LatencySeries, RunResult, SeriesResult};
use serde_json::{Value, json};

use super::chart::{Chart, Kind, Line, Table, head, over_time};
use super::section::{Part, Section};

/// The sections, in order.
pub(super) fn sections(result: &RunResult) -> Vec<Section> {
    let drawn = |of: fn(&RunResult, &SeriesResult) -> Vec<Part>| match &result.series {
        Some(series) if !series.end_ns.is_empty() => of(result, series),
        Some(_) => vec![Part::Missing("No interval: the run took no time.".to_owned())],
        None => vec![Part::Missing("No series: set run.series, to 100ms for example.".to_owned())],
    };
    vec![
        Section { id: "course", title: "Over time", parts: drawn(course) },
        Section { id: "busy", title: "Channels and dies", parts: drawn(busy) },
        Section { id: "wear", title: "Wear", parts: [wear_table(result), drawn(wear)].into_iter().flatten().collect() },
    ]
}

/// Length of each interval.
fn lengths(series: &SeriesResult) -> impl Iterator<Item = f64> + '_ {
    let begins = std::iter::once(0).chain(series.end_ns.iter().copied());
    series.end_ns.iter().zip(begins).map(|(&end, begin)| end.saturating_sub(begin).max(1) as f64)
}

fn course(result: &RunResult, series: &SeriesResult) -> Vec<Part> {
    let per_second = |counts: &[u64]| -> Vec<f64> {
        counts.iter().zip(lengths(series)).map(|(&count, ns)| count as f64 * 1e9 / ns).collect()
    };
    let rate = |name, counts: &[u64]| Line::of(name, per_second(counts).into_iter());
    let number = |name, values: &[u64]| Line::of(name, values.iter().map(|&value| value as f64));
    let percentiles = |of: &Option<LatencySeries>, names: [&'static str; 3]| -> Vec<Line> {
        let lists = of.iter().flat_map(|of| [&of.p50, &of.p99, &of.p99_9]);
        let line = |(name, list): (_, &Vec<Option<u64>>)| Line {
            name,
            values: list.iter().map(|value| value.map(|ns| ns as f64)).collect(),
        };
        names.into_iter().zip(lists).map(line).collect()
    };
    let mut latencies = percentiles(&series.read_latency_ns, ["read p50", "read p99", "read p99.9"]);
    latencies.extend(percentiles(&series.write_latency_ns, ["write p50", "write p99", "write p99.9"]));
    let amplification = series.programs.iter().zip(&series.host_page_writes);
    let amplification = amplification.map(|(&all, &host)| (host > 0).then(|| all as f64 / host as f64)).collect();
    let throughput = [rate("reads", &series.read_bytes), rate("writes", &series.write_bytes)];
    let outstanding = [number("outstanding requests", &series.outstanding)];
    let dirty = [Line::of("dirty pages", series.dirty_pages.iter().map(|&pages| f64::from(pages)))];
    let ends = &series.end_ns;
    let mut charts = vec![over_time("Throughput", Format::Rate, ends, &throughput)];
    if !latencies.is_empty() {
        charts.push(over_time("Latency by interval", Format::Time, ends, &latencies));
    }
    let waf = [Line { name: "write amplification of pages", values: amplification }];
    charts.push(over_time("Write amplification of pages", Format::Count, ends, &waf));
    let free = [number("free blocks", &series.free_blocks)];
    charts.push(over_time("Free blocks", Format::Count, ends, &free));
    charts.push(over_time("Outstanding requests", Format::Count, ends, &outstanding));
    if result.buffer.is_some() {
        charts.push(over_time("Dirty pages in the write buffer", Format::Count, ends, &dirty));
    }
    let interval = Part::Text(format!("Each point is an interval of {}.", time(series.interval_ns as f64)));
    std::iter::once(interval).chain(charts.into_iter().map(Part::Chart)).collect()
}

/// Neighbours that share the rows of a map: how many there are, and how many share a row.
#[derive(Clone, Copy)]
struct Rows {
    all: usize,
    per_row: usize,
}

impl Rows {
    fn of(all: usize, per_row: u32) -> Self {
        Self { all, per_row: per_row.max(1) as usize }
    }

    /// How many share a row; the last may have fewer.
    fn in_row(self, row: usize) -> usize {
        self.all.saturating_sub(row.saturating_mul(self.per_row)).clamp(1, self.per_row)
    }

    fn name(self, part: &str, row: usize) -> String {
        let first = row.saturating_mul(self.per_row);
        match self.in_row(row) {
            1 => format!("{part} {first}"),
            some => format!("{part} {first}-{}", first + some - 1),
        }
    }
}

/// A map of busy shares: rows over time.
fn busy_chart(part: &str, all: usize, series: &SeriesResult, busy: &BusySeries) -> Chart {
    let shared = Rows::of(all, busy.parts_per_row);
    let ends: Vec<f64> = series.end_ns.iter().map(|&ns| ns as f64 / 1e9).collect();
    let cells = |(row, busy_ns): (usize, &Vec<u64>)| -> Vec<f64> {
        let share = |(&busy_ns, ns): (&u64, f64)| busy_ns as f64 / (ns * shared.in_row(row) as f64);
        busy_ns.iter().zip(lengths(series)).map(share).collect()
    };
    let rows: Vec<Vec<f64>> = busy.rows.iter().enumerate().map(cells).collect();
    let names: Vec<String> = (0..rows.len()).map(|row| shared.name(part, row)).collect();
    let whole_ns: f64 = lengths(series).sum();
    let of_run =
        |cells: &Vec<f64>| cells.iter().zip(lengths(series)).map(|(share, ns)| share * ns).sum::<f64>() / whole_ns;
    let shares: Vec<f64> = rows.iter().map(of_run).collect();
    let highest = |cells: &[f64]| percent(cells.iter().copied().fold(0.0, f64::max));
    let table = names.iter().zip(&shares).zip(&rows);
    let table = table.map(|((name, &share), cells)| vec![name.clone(), percent(share), highest(cells)]).collect();
    let most = names.iter().zip(&shares).max_by(|a, b| a.1.total_cmp(b.1));
    let most = most.map(|(name, &share)| format!("{name} was the busiest, {} of the time.", percent(share)));
    Chart {
        title: format!("Busy share of each {part}"),
        summary: most.unwrap_or_default(),
        kind: Kind::Heat,
        spec: heat(&ends, &names, &rows, "share"),
        table: Table { head: head(part, ["of the whole run", "busiest interval"].into_iter()), rows: table },
    }
}

/// What `charts.js` draws of a map: a row for each name, a cell for each column.
fn heat(columns: &[f64], names: &[String], rows: &[Vec<f64>], unit: &str) -> Value {
    json!({ "columns": columns, "names": names, "rows": rows, "unit": unit })
}

/// Number of a part of the device, from the configuration of a result.
fn device(result: &RunResult, key: &str) -> usize {
    result.config.get(&format!("/device/{key}")).as_u64().unwrap_or(1).max(1) as usize
}

fn dies(result: &RunResult) -> usize {
    ["channels", "ways", "dies"].iter().fold(1, |dies: usize, key| dies.saturating_mul(device(result, key)))
}

fn busy(result: &RunResult, series: &SeriesResult) -> Vec<Part> {
    let channels = device(result, "channels");
    let dies = dies(result);
    vec![
        Part::Chart(busy_chart("channel", channels, series, &series.channel_busy)),
        Part::Chart(busy_chart("die", dies, series, &series.die_busy)),
    ]
}

fn wear_table(result: &RunResult) -> Vec<Part> {
    let erases = &result.wear.erase_count;
    let mut rows = vec![
        ("erases of a block, on average", factor(erases.mean)),
        ("least erased block", erases.min.to_string()),
        ("most erased block", erases.max.to_string()),
        ("standard deviation", factor(erases.stddev)),
    ];
    if let Some(lifetime) = &result.wear.lifetime {
        let rated =
            if lifetime.is_assumed_rating { "rated cycles of a block (assumed)" } else { "rated cycles of a block" };
        rows.extend(lifetime.rated_cycles.map(|cycles| (rated, cycles.to_string())));
        rows.extend([
            ("written until the mean block is worn", size(lifetime.mean_bytes)),
            ("drive writes per day for five years, mean block", small(lifetime.mean_drive_writes_per_day)),
            ("drive writes per day for five years, worst block", small(lifetime.worst_drive_writes_per_day)),
        ]);
    }
    vec![Part::Table(Table::pairs(rows))]
}

fn wear(result: &RunResult, series: &SeriesResult) -> Vec<Part> {
    let map = &series.erase_map;
    let per_column = map.blocks_per_column;
    let planes = Rows::of(dies(result).saturating_mul(device(result, "planes")), map.planes_per_row);
    let blocks = Rows::of(device(result, "blocks"), per_column);
    let cell = |row, column, erases: u64| erases as f64 / (planes.in_row(row) as f64 * blocks.in_row(column) as f64);
    let rows: Vec<Vec<f64>> = (0..)
        .zip(&map.rows)
        .map(|(row, erases)| (0..).zip(erases).map(|(column, &erases)| cell(row, column, erases)).collect())
        .collect();
    let names: Vec<String> = (0..rows.len()).map(|row| planes.name("plane", row)).collect();
    let columns: Vec<f64> =
        (0..map.rows.first().map_or(0, Vec::len)).map(|at| at as f64 * f64::from(per_column)).collect();
    let range = |cells: &[f64]| {
        let (least, most) =
            (cells.iter().copied().fold(f64::INFINITY, f64::min), cells.iter().copied().fold(0.0, f64::max));
        [least, cells.iter().sum::<f64>() / cells.len().max(1) as f64, most].map(|erases| Format::Count.text(erases))
    };
    let all: Vec<f64> = rows.iter().flatten().copied().collect();
    let [least, _, most] = range(&all);
    let table =
        names.iter().zip(&rows).map(|(name, cells)| std::iter::once(name.clone()).chain(range(cells)).collect());
    vec![Part::Chart(Chart {
        title: "Erases of a block since the drive was new, by plane and place in the plane".to_owned(),
        summary: format!("From {least} to {most} erases of a block, on average over {per_column} neighbours."),
        kind: Kind::Heat,
        spec: heat(&columns, &names, &rows, "erases"),
        table: Table { head: head("plane", ["least", "mean", "most"].into_iter()), rows: table.collect() },
    })]
}
