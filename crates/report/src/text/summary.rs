//! A run's result as tables for people.

use flashloom_config::{Catalog, statistics};
use flashloom_figures::number::{count, energy, factor, percent, rate, size, small, time};
use flashloom_figures::result::{
    BufferResult, ByOrigin, CharacterResult, Distribution, EnergyResult, FlowResult, FtlResult, LatencyResult,
    LifetimeResult, PolicyResult, RunResult, SynthesizedResult, TenantResult,
};

use flashloom_units::{SECTOR_BYTES, Shown};

use super::columns::of_field;
use super::{Part, Table, anatomy, hints};

/// A result as tables, and its hints.
pub fn summary(catalog: &Catalog, result: &RunResult) -> Vec<Part> {
    let facts: Vec<Vec<String>> =
        facts(catalog, result).into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    let first = Table::new(&["", ""], 2, facts);
    let anatomy = result.host.anatomy.as_deref().and_then(anatomy::of);
    let tables = tenants(result)
        .into_iter()
        .chain(latencies(result))
        .chain(anatomy)
        .chain(generated(result))
        .chain([flash(result)]);
    let further = tables.flat_map(|table| [Part::blank(), Part::Table(table)]);
    let hints: String = result.hints.iter().map(|hint| hints::paragraph("", hint)).collect();
    let hints = (!hints.is_empty()).then_some(Part::Lines(hints));
    [Part::Table(first)].into_iter().chain(further).chain(hints).collect()
}

/// The requests of each of several workloads; `None` if there is one.
fn tenants(result: &RunResult) -> Option<Table> {
    let dash = || "-".to_owned();
    let row = |tenant: &TenantResult| {
        let TenantResult { name, host, .. } = tenant;
        let latency = host.latency_ns.as_ref();
        let of = |kind: fn(&LatencyResult) -> &Option<Distribution>| latency.and_then(|all| kind(all).as_ref());
        let percentiles = [of(|all| &all.read), of(|all| &all.write)].into_iter().flat_map(|kind| {
            [kind.map(|kind| kind.p50), kind.map(|kind| kind.p99)].map(|ns| ns.map_or_else(dash, |ns| time(ns as f64)))
        });
        let rates =
            [host.iops.map(factor), host.throughput_bytes_per_s.map(rate)].map(|shown| shown.unwrap_or_else(dash));
        [name.clone(), count(host.completed)].into_iter().chain(rates).chain(percentiles).collect()
    };
    let header = ["workload", "requests", "requests/s", "throughput", "read p50", "read p99", "write p50", "write p99"];
    (!result.tenants.is_empty()).then(|| Table::new(&header, 1, result.tenants.iter().map(row).collect()))
}

/// Latency by kind of request; `None` without any.
fn latencies(result: &RunResult) -> Option<Table> {
    let latency = result.host.latency_ns.as_ref()?;
    let named = [
        ("reads", &latency.read),
        ("writes", &latency.write),
        ("  durable (FUA)", &latency.fua_write),
        ("  after a flush (PREFLUSH)", &latency.preflush_write),
        ("flushes", &latency.flush),
        ("discards", &latency.discard),
        ("all", &latency.all),
        ("  in the host", &latency.queue),
        ("  in the drive", &latency.device),
    ];
    let row = |(name, distribution): (&str, &Option<Distribution>)| {
        let d = distribution.as_ref()?;
        let figures = [d.mean, d.p50 as f64, d.p95 as f64, d.p99 as f64, d.p99_9 as f64, d.max as f64];
        Some([name.to_owned(), count(d.count)].into_iter().chain(figures.map(time)).collect())
    };
    let rows: Vec<_> = named.into_iter().filter_map(row).collect();
    let header = ["latency", "count", "mean", "p50", "p95", "p99", "p99.9", "max"];
    (!rows.is_empty()).then(|| Table::new(&header, 1, rows))
}

/// Flash operations by origin.
fn flash(result: &RunResult) -> Table {
    let nand = &result.nand;
    let has_folds = [&nand.reads, &nand.programs, &nand.erases].iter().any(|by| by.fold.is_some());
    let header = ["flash", "total", "host", "collection", "merge", "map", "wear", "fold"];
    let header = &header[..header.len() - usize::from(!has_folds)];
    let row = |name: &str, by: &ByOrigin| {
        let counts = [by.total, by.host, by.gc, by.merge, by.map, by.wear].map(count);
        let folds = has_folds.then(|| count(by.fold.unwrap_or(0)));
        [name.to_owned()].into_iter().chain(counts).chain(folds).collect::<Vec<_>>()
    };
    let rows = vec![
        row("pages read", &nand.reads),
        row("pages programmed", &nand.programs),
        row("blocks erased", &nand.erases),
    ];
    Table::new(header, 1, rows)
}

/// Tables of a Filebench personality or a synthesised workload; none for other workloads.
fn generated(result: &RunResult) -> Vec<Table> {
    let mut tables = Vec::new();
    if let Some(filebench) = &result.filebench {
        let row = |flow: &FlowResult| {
            let latency = flow.latency_ns.as_ref()?;
            let figures = [latency.mean, latency.p99 as f64, latency.max as f64].map(time);
            let counts = [flow.name.clone(), count(flow.operations), factor(flow.operations_per_second?)];
            Some(counts.into_iter().chain(figures).collect())
        };
        let rows = filebench.flows.iter().filter_map(row).collect();
        let header = [filebench.personality.as_str(), "operations", "a second", "mean", "p99", "max"];
        tables.push(Table::new(&header, 1, rows));
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
        tables.push(Table::new(&["fit", "target", "achieved"], 1, rows));
    }
    tables
}

/// A line of the first table: its label and its text.
type Fact = (&'static str, String);

fn facts(catalog: &Catalog, result: &RunResult) -> Vec<Fact> {
    let mut facts = host_facts(catalog, result);
    facts.extend(result.buffer.iter().flat_map(|buffer| buffer_facts(catalog, buffer)));
    facts.extend(ftl_facts(catalog, &result.ftl));
    facts.extend(drive_facts(result));
    facts.push(match result.integrity.sectors_checked {
        Some(sectors) => ("verified", format!("every flash command, and {} sectors read", count(sectors))),
        None => ("verified", "no (--verify)".to_owned()),
    });
    if let Some(cost) = &result.run {
        let memory = cost.peak_rss_bytes.map_or(String::new(), |bytes| format!(", {} of memory", size(bytes as f64)));
        let filled = cost.filled.as_ref().map_or(String::new(), |filled| format!(", filled {filled}"));
        let (seconds, rate) = (factor(cost.wall_seconds), factor(cost.requests_per_second));
        let text = format!("{seconds} s, {rate} requests/s{memory}{filled}");
        facts.push(("simulated in", text));
    }
    facts
}

fn host_facts(catalog: &Catalog, result: &RunResult) -> Vec<Fact> {
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
    if let Some(failed) = &host.failed {
        let reasons = [
            (failed.end_of_life, "with the drive's life"),
            (failed.read_only, "on a read-only drive"),
            (failed.unreadable, "without their data"),
        ];
        let of = |(number, when): (Option<u64>, &str)| number.map(|number| format!("{} {when}", count(number)));
        facts.push(("failed", reasons.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")));
    }
    if host.fua_writes > 0 || host.preflush_writes > 0 {
        let text = format!("{} durable (FUA), {} after a flush", count(host.fua_writes), count(host.preflush_writes));
        facts.push(("of the writes", text));
    }
    let bytes = (size(host.read_bytes as f64), size(host.write_bytes as f64));
    facts.push(("data", format!("{} read, {} written", bytes.0, bytes.1)));
    if let Some(sectors) = host.unmapped_read_sectors.filter(|&sectors| sectors > 0) {
        let bytes = (sectors * SECTOR_BYTES) as f64;
        facts.push(("not stored", format!("{} of what was read: no flash was read for it", size(bytes))));
    }
    if let (Some(duration), Some(iops), Some(throughput)) = (host.duration_ns, host.iops, host.throughput_bytes_per_s) {
        let text = format!("{} requests/s, {}, over {}", factor(iops), rate(throughput), time(duration as f64));
        facts.push(("throughput", text));
    }
    if let Some(filebench) = &result.filebench
        && let Some(per_second) = filebench.operations_per_second
    {
        let busy =
            filebench.busy_processors.map_or(String::new(), |busy| format!(", {} processors busy", factor(busy)));
        let text = format!("{} operations/s of {}{busy}", factor(per_second), filebench.personality);
        facts.push(("filebench", text));
    }
    if let Some(scheduler) = &result.host.scheduler {
        facts.push(("scheduler", scheduler.policy.clone() + &shown(catalog, ": ", "host.scheduler", scheduler)));
    }
    facts
}

/// The figures of a policy that it declares for the summary, behind a lead; empty without any.
fn shown(catalog: &Catalog, lead: &str, key: &str, result: &PolicyResult) -> String {
    let known = statistics(catalog).filter(|(_, slot, policy, _)| slot.key == key && policy.name == result.policy);
    let texts = known.filter_map(|(path, _, _, statistic)| {
        let Shown { part, label, .. } = statistic.shown?;
        let figure = serde_json::to_value(result.figures.get(statistic.name)?).ok()?;
        let (value, path) = match part {
            "" => (figure.as_f64()?, path),
            part => (figure[part].as_f64()?, format!("{path}.{part}")),
        };
        Some(format!("{label} {}", of_field(catalog, label, &path).show(value)))
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { String::new() } else { format!("{lead}{}", texts.join(", ")) }
}

fn buffer_facts(catalog: &Catalog, buffer: &BufferResult) -> Vec<Fact> {
    let hits = buffer.hit_ratio.map_or(String::new(), |ratio| format!("{} of the pages written hit, ", percent(ratio)));
    let (order, rate) = (&buffer.order, &buffer.rate);
    let evicted = format!("{hits}{} pages evicted", count(buffer.evicted_pages));
    let more = [("buffer.order", order), ("buffer.rate", rate)].map(|(key, of)| shown(catalog, ", ", key, of)).concat();
    let text = format!("{} x {}: {evicted}{more}", order.policy, rate.policy);
    let mut facts = vec![("buffer", text)];
    let occupancy = &buffer.occupancy;
    if let (Some(mean), Some(stall)) = (occupancy.held_pages_mean, buffer.stall_ns) {
        let text = format!(
            "{} of {} pages on average; {} writes waited for room, {} in all",
            factor(mean),
            count(occupancy.capacity_pages),
            count(buffer.stalled_writes),
            time(stall as f64)
        );
        facts.push(("held", text));
    }
    facts
}

fn ftl_facts(catalog: &Catalog, ftl: &FtlResult) -> Vec<Fact> {
    let policies = [Some(&ftl.mapping), ftl.allocation.as_ref(), ftl.gc.as_ref()];
    let policies = policies.into_iter().flatten().map(|of| of.policy.as_str()).collect::<Vec<_>>().join(" x ");
    let waf = amplification_text(ftl);
    let mut facts = vec![("ftl", format!("{policies}: {} pages copied{waf}", count(ftl.page_copies)))];
    if let Some(effective) = ftl.effective_over_provisioning {
        let text = format!("{} over what is stored, without blocks kept free, open or bad", percent(effective));
        facts.push(("spare", text));
    }
    let policies = [
        ("mapping", "ftl.mapping", Some(&ftl.mapping)),
        ("allocation", "ftl.allocation", ftl.allocation.as_ref()),
        ("gc", "ftl.gc", ftl.gc.as_ref()),
        ("placement", "ftl.placement", ftl.placement.as_ref()),
    ];
    for (name, key, policy) in policies {
        let text = policy.map_or(String::new(), |policy| shown(catalog, "", key, policy));
        facts.extend((!text.is_empty()).then_some((name, text)));
    }
    facts
}

/// Write amplification in bytes and of pages, and in steady state if that differs as it is shown.
fn amplification_text(ftl: &FtlResult) -> String {
    let Some(bytes) = ftl.waf_bytes.map(factor) else { return String::new() };
    let pages = ftl.waf.map_or(String::new(), |waf| format!(" ({} of pages)", factor(waf)));
    let steady = ftl.steady_waf_bytes.map(factor).filter(|steady| *steady != bytes);
    let steady = steady.map_or(String::new(), |steady| format!(", {steady} once erased pages are paid for"));
    format!(", write amplification {bytes} in bytes{pages}{steady}")
}

fn drive_facts(result: &RunResult) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let (Some(channels), Some(dies)) = (result.nand.channel_utilization, result.nand.die_utilization) {
        let busiest = |(part, number, share): (&str, u32, f64)| format!(" ({part} {number} {})", percent(share));
        let channel = result.nand.busiest_channel.as_ref().map(|of| busiest(("channel", of.channel, of.utilization)));
        let die = result.nand.busiest_die.as_ref().map(|of| busiest(("die", of.die, of.utilization)));
        let [channel, die] = [channel, die].map(Option::unwrap_or_default);
        facts.push(("busy", format!("channels {}{channel}, dies {}{die}", percent(channels), percent(dies))));
    }
    if let Some(energy) = &result.nand.energy {
        facts.push(("energy", energy_text(energy)));
    }
    let wear = &result.wear.erase_count;
    facts.push(("erases a block", format!("{} to {}, {} on average", wear.min, wear.max, factor(wear.mean))));
    if let Some(lifetime) = &result.wear.lifetime {
        facts.push(("lifetime", lifetime_text(lifetime)));
    }
    if let Some(bad) = &result.ftl.retired_blocks {
        let [factory, program, erase] = [bad.factory, bad.program, bad.erase].map(count);
        let text = format!("{factory} from the factory, {program} by a program that failed, {erase} by an erase");
        facts.push(("bad blocks", text));
    }
    if let Some(end) = &result.end_of_life {
        let when = end.time_ns.map_or(String::new(), |ns| format!(", at {}", time(ns as f64)));
        let text = format!(
            "after {} pages written{when}: {} requests not served, {} pages of the buffer lost",
            count(end.host_page_writes),
            count(end.unserved_requests),
            count(end.unwritten_pages.into())
        );
        facts.push(("end of life", text));
    }
    facts
}

/// Energy of the array by what it was for.
fn energy_text(found: &EnergyResult) -> String {
    let [total, reads, programs, erases, bus, idle] = [
        found.total_joules,
        found.read_joules,
        found.program_joules,
        found.erase_joules,
        found.bus_joules,
        found.idle_joules,
    ]
    .map(energy);
    let per_gb = found.joules_per_gb.map_or(String::new(), |joules| format!("{} a GB of the host; ", energy(joules)));
    format!("{total}: {per_gb}reads {reads}, programs {programs}, erases {erases}, channels {bus}, idle dies {idle}")
}

/// Host writes possible until blocks reach their rated program/erase cycles.
fn lifetime_text(lifetime: &LifetimeResult) -> String {
    let mut text = format!(
        "{} written until the mean block is worn ({} drive writes a day for five years), {} until the worst ({})",
        size(lifetime.mean_bytes),
        small(lifetime.mean_drive_writes_per_day),
        size(lifetime.worst_bytes),
        small(lifetime.worst_drive_writes_per_day)
    );
    let rating = if lifetime.is_assumed_rating { ", assumed" } else { "" };
    if let Some(cycles) = lifetime.rated_cycles {
        text.push_str(&format!("; {} cycles a block{rating}", count(cycles.into())));
    }
    if let Some(sheet) = lifetime.sheet_bytes {
        text.push_str(&format!("; its data sheet says {}", size(sheet as f64)));
    }
    if let (Some(mean), Some(worst)) = (lifetime.mean_years, lifetime.worst_years) {
        let [mean, worst] = [mean, worst].map(small);
        text.push_str(&format!("; at the rate of this run after {mean} and {worst} years"));
    }
    text
}
