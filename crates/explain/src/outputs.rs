//! Names in outputs that no other table describes: files, columns, rows of tables.

use flashloom_config::{Catalog, statistics};
use flashloom_units::Shown;
use flashloom_workload::{LOG_COLUMNS, OutFormat};

use super::{Block, Described, Page, described, sentence};
use flashloom_run::log::LogFormat;

/// An output, with the names of its parts.
struct Output {
    /// Names of its page; the first is the heading.
    names: &'static [&'static str],
    /// Description, and the option that asks for it.
    help: &'static str,
    /// Heading of its parts.
    kind: &'static str,
    /// The parts: name as printed, and description.
    parts: Described,
}

const OUTPUTS: &[Output] = &[
    Output { names: &["summary", "table"], help: SUMMARY, kind: "Rows of the summary", parts: SUMMARY_ROWS },
    Output {
        names: &["latency table"],
        help: LATENCY,
        kind: "Rows and columns of the latency table",
        parts: LATENCY_NAMES,
    },
    Output { names: &["flash table"], help: FLASH, kind: "Rows and columns of the flash table", parts: FLASH_NAMES },
    Output { names: &["time went to"], help: ANATOMY, kind: "Rows and columns of the anatomy", parts: ANATOMY_NAMES },
    Output { names: &["fit table"], help: FIT, kind: "Rows and columns of the fit", parts: FIT_NAMES },
    Output {
        names: &["comparison", "side by side"],
        help: COMPARISON,
        kind: "Columns of a comparison",
        parts: COMPARISON_COLUMNS,
    },
    Output { names: &["trace info"], help: TRACE_INFO, kind: "Rows of `trace info`", parts: TRACE_INFO_ROWS },
    Output { names: &["verdict"], help: VERDICTS, kind: "Verdicts", parts: VERDICT_NAMES },
    Output { names: &["hints", "hint"], help: HINTS, kind: "Subjects of hints", parts: HINT_NAMES },
    Output { names: &["files", "outputs"], help: FILES, kind: "Files", parts: FILE_NAMES },
];

const HINTS: &str = "Up to three warnings after a run that its figures mean less than they seem, each with the key to \
                     change: `result.hints`. A comparison prints them on standard error, with the rows that they \
                     hold for, and has some of its own: `hints` of its JSON. `--no-hints` leaves them out.";
const HINT_NAMES: Described = described! {
    "overload":
        "Requests came faster than the drive served them, to the end or in bursts: latencies are those of the queue.",
    "never-collected": "No block was erased: these are the figures of a drive that never collects.",
    "unpaid":
        "The run lived on pages that were erased before its first request: write amplification is lower than it stays.",
    "kept-data": "Ageing wrote more of the drive than the workload does: what that leaves is no spare space.",
    "scaled-down":
        "A drive of fewer blocks than its preset keeps more of its spare space free and open than the whole one.",
    "wrapped": "Addresses were accessed again that the recording, or one pass of the workload, accesses once.",
    "buffered": "No write reached flash: all data stayed in the write buffer.",
    "die": "One die was the limit while the others were idle.",
    "channel": "One channel was the limit while the others were idle.",
    "buffer": "Writes waited for room in the write buffer while dies were idle.",
    "throttled": "Writes waited for Linux's write-back throttling while dies were idle: `host.wbt`.",
    "link": "The link to the host was the limit.",
    "queue-depth": "Commands waited in the host while the drive held `host.queue_depth` of them and was not busy.",
    "outstanding": "The workload asked for less than the drive can do.",
    "short-for-drive":
        "A recording overwrote little of an aged drive: write amplification is that of the ageing. A smaller drive \
         helps.",
    "lifetime": "The lifetime is computed from very few erases.",
    "no-allocator": "CAVE's batch of victims meets chips by address, without the paper's channel allocator.",
    "slc-cache-full":
        "The SLC cache was full of what had aged the drive, so that writes were slow which it would take.",
    "no-slc-cache":
        "The slowest writes waited for room in the buffer, where drives have an SLC cache and this one none.",
    "devices": "Where the devices of a recording or of fio jobs lie on the drive: each in a range of its own.",
    "handed-down": "Requests that a volume handed down to its disk were counted once, as those of the volume.",
    "priorities":
        "Requests have I/O priorities, and the scheduler follows none: their latencies by priority are alike.",
    "same-order":
        "A fio job writes the same random order in each of its loops, which is a sequential overwrite for the drive.",
    "without-effect": "Options of fio jobs that a simulation does not follow, and what has their place.",
    "few-samples": "Fewer than 10 samples lie beyond a percentile that is shown.",
    "no-read-retries": "Reads have hardly a tail, where read retries and the spread of blocks make that of drives.",
    "same-replicates": "In a comparison: every seed of a row gave the same figures, so that \u{b1}0 is no certainty.",
    "never-queued": "In a comparison: the drive took every request at once, so that no scheduler had a choice.",
    "own-rate": "In a comparison: requests/s is the rate at which the workload's requests come, whatever the row.",
};

const LOG: &str = "A row for every request that ended, in the order in which they ended: \
    `flashloom run EXPERIMENT.toml --log FILE.csv` or `FILE.parquet`. The CSV can be replayed as a trace. \
    Retries of a read count as time of its service.";
/// The columns before those of the causes; a cause's help is that of the result's field.
const LOG_LEADING: Described = described! {
    "timestamp_ns": "Arrival of the request, in nanoseconds of simulated time.",
    "op": "R for a read, W for a write, D for a discard, F for a flush.",
    "lba": "The first sector of 512 bytes.",
    "sectors": "Length in sectors of 512 bytes; 0 for a flush.",
    "task": "The task that issued the request; 0 where tasks are not known.",
    "sync": "1 for a write that a task waits for, else 0.",
    "flush": "1 for a write with a flush before it (preflush), else 0.",
    "fua": "1 for a write that has to be in flash when it completes (forced unit access), else 0.",
    "ioprio": "I/O priority: a class (rt, be or idle) and its level, such as be/4, or none.",
    "latency_ns": "Latency from arrival to the end of the request; the columns of the causes add up to it.",
    "admitted_ns": "Time at which the block layer took the request in, after `host.nr_requests` let it.",
    "dispatched_ns": "Time at which the scheduler dispatched the request to the drive.",
    "completed_ns": "Time at which the request completed or failed.",
    "status": "done, or why the request failed: end_of_life, read_only or unreadable, as in `result.host.failed`.",
};

const SUMMARY: &str = "The tables that `flashloom run` prints; every figure is a field of the result too (`--json`).";
const SUMMARY_ROWS: Described = described! {
    "requests": "Requests that completed, by kind: `result.host`.",
    "failed": "Requests that failed, by reason: `result.host.failed`.",
    "data": "Bytes that reads asked for and writes carried: `result.host.read_bytes`, `result.host.write_bytes`.",
    "throughput":
        "Completed requests and bytes per second of simulated time, and the time from the start of the workload to the \
         last completion. In a closed workload the queue depth and the drive set it, in a replay at recorded times the \
         recording does.",
    "filebench":
        "Flow operations per second of the personality, and the number of processors that its threads kept busy: \
         `result.filebench`.",
    "scheduler":
        "Work of the host's I/O scheduler: merges, requests dispatched, changes of direction between reads and writes, \
         requests dispatched after their deadline, the longest time from arrival to dispatch: `result.host.scheduler`.",
    "buffer":
        "Replacement policy and eviction batch size of the write buffer, its hit ratio of writes, and the pages that \
         it sent to flash: `result.buffer`.",
    "held":
        "Occupancy of the write buffer over time, and the number of writes that waited for room in it. If most writes \
         wait, a write takes as long as a flash program, buffer or not: see `flashloom explain buffer.rate`.",
    "ftl":
        "Mapping, allocation and garbage collection, the pages that were copied, and the write amplification in bytes \
         and of pages, `result.ftl.waf_bytes` and `result.ftl.waf`; of a run that lived on erased pages, what it is \
         once they are paid for: `result.ftl.steady_waf_bytes`.",
    "mapping": "Figures of the mapping, as it names them: `result.ftl.mapping`.",
    "allocation": "Figures of the page allocation: `result.ftl.allocation`.",
    "gc": "Figures of garbage collection: `result.ftl.gc`.",
    "placement": "Figures of the placement on chips: `result.ftl.placement`.",
    "of the writes":
        "Writes that are durable when they complete (FUA), and writes preceded by a flush (PREFLUSH): \
         `result.host.fua_writes`, `result.host.preflush_writes`.",
    "not stored":
        "Bytes read where nothing was ever written, or was discarded: they need no flash, so that their latency means \
         nothing: `result.host.unmapped_read_sectors`.",
    "spare":
        "Spare space that garbage collection can use, as a share of what is stored at the end: over-provisioning and \
         space that was never written or is discarded, without blocks that are bad, kept free or open: \
         `result.ftl.effective_over_provisioning`.",
    "busy":
        "Share of the time that channels and dies were busy, averaged over all of them, and for the busiest one. Dies \
         near 100 % limit the throughput; if they are far below, something else does. A die or channel far above the \
         mean gets more than its share of the data.",
    "energy":
        "Energy of the array, in all and per GB that the host read or wrote, and its parts: reads, programs, erases, \
         data on the channels, and dies that no operation occupied: `result.nand.energy`. It needs the keys of \
         energy, `device.read_energy` and so on.",
    "lifetime":
        "Bytes that the host can write until the mean block, and until the worst block, reach their rated \
         program/erase cycles at the erases per byte of this run; those bytes as drive writes a day for five years; \
         and the years until they are written at the write rate of this run: `result.wear.lifetime`. The rating is \
         `device.rated_cycles`, or an assumed one by the kind of cell. A run that lived on pages erased before its \
         first request has no lifetime: `result.ftl.room`.",
    "erases a block":
        "Least and most erases of any block since the drive was new, preconditioning included: \
         `result.wear.erase_count`.",
    "bad blocks": "Blocks that have failed and hold no data any more, by cause: `result.ftl.retired_blocks`.",
    "end of life": "Time at which a page could no longer be stored, and the losses: `result.end_of_life`.",
    "verified": "Extent of the checks of flash commands and of sectors read (`--verify`): `result.integrity`.",
    "simulated in":
        "Cost of the simulation itself on this machine: `result.run`, the only figures that differ between identical \
         runs.",
};

const LATENCY: &str = "Latency from arrival to completion, in `flashloom run`: `result.host.latency_ns`.";
const LATENCY_NAMES: Described = described! {
    "latency": "Time from arrival to completion of a request, every wait included.",
    "reads": "Latency of the reads.",
    "writes":
        "Latency of the writes: with a write buffer until it has taken the data, without one until the program ended.",
    "durable (FUA)": "Writes that are in flash when they complete.",
    "after a flush (PREFLUSH)": "Writes preceded by a flush, which they wait for.",
    "all": "Latency of all requests, discards and flushes included.",
    "in the host":
        "The part from arrival to dispatch: in the block layer and its scheduler. Flushes, which do not queue, are \
         left out.",
    "in the drive": "The part from dispatch to completion, which the drive adds.",
    "count": "Number of requests in the row.",
    "mean": "The mean latency.",
    "p50": "The median: the latency that half of the requests do not exceed.",
    "p95": "The latency that 95 % of the requests do not exceed.",
    "p99": "The latency that 99 % of the requests do not exceed.",
    "p99.9":
        "The latency that 99.9 % of the requests do not exceed. It rests on one request in a thousand: 20 of 20,000.",
    "max": "The longest latency of any request; it grows with the length of a run.",
};

const FLASH: &str = "Flash operations by origin, in `flashloom run`: `result.nand`.";
const FLASH_NAMES: Described = described! {
    "flash": "Operations of the flash array during the workload; preconditioning does not count.",
    "pages read": "Pages read from flash.",
    "pages programmed": "Pages programmed.",
    "blocks erased": "Blocks erased.",
    "total": "All operations, whatever their origin.",
    "host": "Operations for requests, and for evictions of the write buffer.",
    "collection": "Operations for garbage collection: `gc` in a result.",
    "merge": "Operations for merges of log blocks.",
    "map": "Operations for the mapping itself: translation pages.",
    "wear": "Operations for static wear levelling.",
};

const ANATOMY: &str = "Latency of reads and writes by cause, in `flashloom run` with `run.anatomy = true`; the causes \
                       are fields of `result.host.anatomy`, and `docs/anatomy.md` explains them.";
const ANATOMY_NAMES: Described = described! {
    "from p99": "The slowest requests: at least one in a hundred.",
    "from p99.9": "The slowest requests: at least one in a thousand.",
    "mean latency": "Mean latency of the requests in the column; the shares below are shares of it.",
};

const FIT: &str = "Fit of a synthesised workload to its characterisation, in `flashloom run`: `result.synthesized`.";
const FIT_NAMES: Described = described! {
    "fit": "Figures of the whole stream of requests, as asked for and as generated.",
    "target": "The characterisation asked for.",
    "achieved": "The characterisation of the whole stream as generated.",
    "random share": "Share of the requests after the first that do not begin where the previous one ended.",
    "mean request": "Mean size of a request in bytes.",
    "read share": "Share of the requests that are reads.",
    "footprint": "Bytes of the distinct 4 KiB pages that are touched.",
    "span": "Bytes from the start of the device to the end of the last sector that is touched.",
    "operations": "Flow operations of a Filebench personality that ended.",
    "a second": "Flow operations that ended per second of simulated time.",
};

const COMPARISON: &str = "The table that `flashloom compare` prints: one row per run, the keys that vary first. A star \
                          marks the best value of a column if the runs differ.";
const COMPARISON_COLUMNS: Described = described! {
    "operations/s": "Flow operations of a Filebench personality per second; higher is better.",
    "requests/s": "Completed requests per second of simulated time; higher is better.",
    "read p50": "Median latency of reads; lower is better.",
    "read p99": "99th percentile of the latency of reads; lower is better.",
    "write p50": "Median latency of writes; lower is better.",
    "write p99": "99th percentile of the latency of writes; lower is better.",
    "buffer hits": "Hit ratio: share of the pages written that were in the write buffer already; higher is better.",
    "erases": "Blocks erased during the workload; lower is better.",
    "energy/GB":
        "Energy of the array per GB that the host read or wrote; lower is better: `result.nand.energy.joules_per_gb`.",
    "life in pages": "Pages that the drive stored for the host before its life ended; higher is better.",
    "misses/OPT":
        "With `--bounds`: page writes that did not find their page in the write buffer, divided by the fewest that \
         any order and rate of eviction has for the same accesses (Belady's OPT); lower is better, 1 is the best: \
         `result.bounds.buffer`.",
    "erases/fewest":
        "With `--bounds`: blocks erased, divided by the fewest that any FTL erases for the pages that were written to \
         it, beyond those that were erased at the start; lower is better: `result.bounds.ftl`.",
    "clairvoyant WAF":
        "With `--bounds`: write amplification of a page map that knows when each page dies, for the pages that were \
         written to the FTL. A reference and no bound: what always knew the future would have between 1 and this.",
    "duration/best":
        "With `--bounds`, of at most 8 requests: the time until the last has completed, divided by the shortest of \
         every order of dispatch; lower is better: `result.bounds.scheduler`.",
    "latency/best":
        "With `--bounds`, of at most 8 requests: mean latency, divided by the least of every order of dispatch; \
         lower is better.",
    "expected": "Claim of the experiment, with the number found and its bounds: `[[expect]]`.",
};

const TRACE_INFO: &str = "Summary of a recording: `flashloom trace info FILE`.";
const TRACE_INFO_ROWS: Described = described! {
    "format": "The format of the recording; `flashloom list formats` has all of them.",
    "event": "Event of a blktrace or blkparse recording that was taken as a request.",
    "discards": "Requests that discard sectors (TRIM).",
    "flushes": "Flushes without data; a write with a flush before it counts as a write.",
    "durable writes (FUA)": "Writes that have to be durable when they complete.",
    "writes after a flush (PREFLUSH)": "Writes preceded by a flush.",
    "read": "Bytes that the reads transfer.",
    "written": "Bytes that the writes transfer.",
    "footprint (4 KiB pages touched)": "Bytes of the distinct 4 KiB pages that reads and writes touch.",
    "span (least device)":
        "Bytes from address zero to the end of the last sector: the smallest capacity that holds it.",
    "duration": "Time from the first arrival to the last.",
    "sequential": "Share of the reads and writes that begin where the previous one ended.",
    "task ids": "Presence of task ids in the requests, which some schedulers need.",
    "latencies": "Presence of the latencies on the recorded device.",
};

const VERDICTS: &str =
    "Verdict of a report of `flashloom reproduce` on a published figure; `docs/reproduction/README.md` has the rules.";
const VERDICT_NAMES: Described = described! {
    "reproduced": "The published effect, within the stated band.",
    "direction only": "An effect in the same direction, beyond the band.",
    "too small to tell": "No effect can be told from the published one, or none was published.",
    "not reproduced": "Another effect, none, or one that a policy which does nothing has too.",
};

const FILES: &str = "Files that the commands write. A file is written whole at the end, or left as it was.";
const FILE_NAMES: Described = described! {
    "--json":
        "The result of `run`, `compare`, `probe`, `validate` or `fit` as JSON, described by `schema/result.json`, \
         `schema/compare.json`, `schema/probe.json`, `schema/validation.json` and `schema/fit.json`; `-` is standard \
         output.",
    "--csv":
        "Every figure of every run of a comparison, one line per run; the columns are the varied keys and the fields \
         of the result, such as `ftl.waf`.",
    "--save-state": "State of the drive after ageing, before the workload; `run.state` names it in later runs.",
    "--slowest": "Story of the slowest requests, each with its latency by cause, after the result.",
    "--fio-json": "The results of a fio job file in fio's own format (`--output-format=json`).",
    "--out": "A folder for the reports of `reproduce`: Markdown, JSON, and every figure as CSV.",
};

/// A page for each output, and one for each of its parts; `cause` returns the help of a cause of latency by name.
pub(super) fn pages(catalog: &Catalog, cause: impl Fn(&str) -> String) -> Vec<Page> {
    let of_output = |output: &Output| {
        let mut parts: Vec<(String, String)> =
            output.parts.iter().map(|(name, help)| ((*name).to_owned(), (*help).to_owned())).collect();
        if output.parts == SUMMARY_ROWS {
            parts.extend(declared(catalog, |shown| Some(shown.label)));
        } else if output.parts == COMPARISON_COLUMNS {
            parts.extend(declared(catalog, |shown| shown.column));
        }
        pages_of(output.names, output.help, output.kind, parts)
    };
    let causes = LOG_COLUMNS[LOG_LEADING.len()..].iter().map(|column| {
        let name = column.trim_end_matches("_ns");
        ((*column).to_owned(), format!("Nanoseconds of the latency: {}", cause(name)))
    });
    let leading = LOG_LEADING.iter().map(|(name, help)| ((*name).to_owned(), (*help).to_owned()));
    let log = pages_of(&["log", "--log"], LOG, "Columns of the log", leading.chain(causes).collect());
    let choices = OutFormat::CHOICES.iter().map(|choice| ("trace convert --to", choice));
    let choices = choices.chain(LogFormat::CHOICES.iter().map(|choice| ("--log", choice)));
    let of_choice = |(option, choice): (&str, &flashloom_units::Choice)| {
        Page::part(format!("{} ({option})", choice.name), vec![choice.name.to_owned()], &sentence(choice.help))
    };
    OUTPUTS.iter().flat_map(of_output).chain(log).chain(choices.map(of_choice)).collect()
}

/// What the figures of policies are called in a table, each with what it is.
fn declared(catalog: &Catalog, name: impl Fn(&Shown) -> Option<&'static str>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (path, _, _, statistic) in statistics(catalog) {
        let Some((shown, name)) = statistic.shown.and_then(|shown| Some((shown, name(&shown)?))) else { continue };
        let part = if shown.part.is_empty() { String::new() } else { format!(".{}", shown.part) };
        let text = format!("{} `result.{path}{part}`.", sentence(statistic.help));
        match found.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) if !known.contains(&text) => *known = format!("{known} {text}"),
            Some(_) => {}
            None => found.push((name.to_owned(), text)),
        }
    }
    found
}

fn pages_of(names: &[&str], help: &str, kind: &str, parts: Vec<(String, String)>) -> Vec<Page> {
    let entries = Block::entries(kind, parts.iter().map(|(name, help)| described(name, help)));
    let whole = Page::section(&format!("Output: {}", names[0]), names, help, [entries]);
    let part = |(name, help): (String, String)| {
        Page::part(format!("{name} ({}{})", kind[..1].to_lowercase(), &kind[1..]), vec![name], &help)
    };
    std::iter::once(whole).chain(parts.into_iter().map(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_the_log_before_the_causes_are_described_in_order() {
        assert!(LOG_LEADING.iter().map(|(name, _)| *name).eq(LOG_COLUMNS[..LOG_LEADING.len()].iter().copied()));
        assert!(LOG_COLUMNS[LOG_LEADING.len()].starts_with("nr_requests"), "the causes follow");
    }
}
