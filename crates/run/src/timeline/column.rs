//! The columns of a timeline: description, and computation from two samples.

use flashloom_device::{Sample, SampledLatency};
use flashloom_nand::Origin;
use flashloom_units::{Ns, S};

/// A column of a timeline.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name in the header of the file.
    pub name: &'static str,
    /// Description.
    pub help: &'static str,
    /// Text of the column in the line between two samples; `None`, an empty field, if it does not apply.
    pub(super) value: fn(&Sample, &Sample) -> Option<String>,
}

macro_rules! columns {
    ($($name:literal, $help:literal, $value:expr;)+) => {
        /// The columns in order: the end of the interval, the events in it, the state at its end, then what only a
        /// drive with an SLC cache has.
        pub const COLUMNS: [Column; [$($name),+].len()] =
            [$(Column { name: $name, help: $help, value: $value },)+];
    };
}

columns! {
    "time_ns", "Simulated time at the end of the interval; empty in counting mode.",
        |_, now| now.is_timed.then(|| now.time_ns.to_string());
    "pages_written", "Pages that the FTL stored for the host from the start of the run to the end of the interval, \
                      without those that only pad a block.",
        |_, now| Some(now.host_page_writes.to_string());
    "completed", "Requests that completed in the interval.",
        |last, now| Some((now.completed - last.completed).to_string());
    "iops", "Requests that completed, per second of the interval; empty in counting mode.", iops;
    "read_bytes", "Bytes of the reads that completed in the interval.",
        |last, now| Some((now.read_bytes - last.read_bytes).to_string());
    "write_bytes", "Bytes of the writes that completed in the interval.",
        |last, now| Some((now.write_bytes - last.write_bytes).to_string());
    "latency_ns_mean", "Mean latency, from arrival to completion, of all requests that completed in the interval; \
                        empty where none did.",
        latency_mean;
    "latency_ns_p50", "Median latency of the requests that completed in the interval.",
        |_, now| latency(now, |latency| latency.p50_ns);
    "latency_ns_p99", "99th percentile of the latency of the requests that completed in the interval.",
        |_, now| latency(now, |latency| latency.p99_ns);
    "latency_ns_max", "Longest latency of the requests that completed in the interval.",
        |_, now| latency(now, |latency| latency.max_ns);
    "wait_ns_max", "Longest wait in the host (arrival to dispatch) of the requests that completed in the interval.",
        |_, now| latency(now, |latency| latency.wait_max_ns);
    "waf", "Write amplification of pages of the interval: pages programmed per page that the FTL stored for the host; \
            empty if it stored none.",
        write_amplification;
    "programs", "Pages programmed in the interval.",
        |last, now| Some(Origin::ALL.iter().map(|&origin| programs(last, now, origin)).sum::<u64>().to_string());
    "programs_host", "Pages programmed for requests and for evictions of the write buffer.",
        |last, now| Some(programs(last, now, Origin::Host).to_string());
    "programs_gc", "Pages programmed for garbage collection.",
        |last, now| Some(programs(last, now, Origin::Gc).to_string());
    "programs_merge", "Pages programmed for merges of log blocks.",
        |last, now| Some(programs(last, now, Origin::Merge).to_string());
    "programs_map", "Pages programmed for the mapping itself.",
        |last, now| Some(programs(last, now, Origin::Map).to_string());
    "programs_wear", "Pages programmed for wear levelling.",
        |last, now| Some(programs(last, now, Origin::Wear).to_string());
    "erases", "Blocks erased in the interval.", |last, now| Some((now.erases - last.erases).to_string());
    "outstanding", "Outstanding requests (arrived and not ended) at the end of the interval.",
        |_, now| Some(now.outstanding.to_string());
    "dirty_pages", "Dirty pages in the write buffer, which are not in flash, at the end of the interval.",
        |_, now| Some(now.dirty_pages.to_string());
    "free_blocks", "Free blocks of the drive at the end of the interval.", |_, now| Some(now.free_blocks.to_string());
    "programs_fold", "Pages programmed for folding, by which pages leave an SLC cache; only of a drive with \
                      `ftl.slc_cache`.",
        |last, now| Some(programs(last, now, Origin::Fold).to_string());
}

/// The columns that a timeline has, of a drive with or without an SLC cache.
pub fn columns(has_cache: bool) -> &'static [Column] {
    const ALL: &[Column] = &COLUMNS;
    if has_cache { ALL } else { &ALL[..ALL.len() - 1] }
}

fn iops(last: &Sample, now: &Sample) -> Option<String> {
    let interval_ns = now.time_ns - last.time_ns;
    let is_defined = now.is_timed && interval_ns > 0;
    is_defined.then(|| format!("{:.1}", (now.completed - last.completed) as f64 * S as f64 / interval_ns as f64))
}

fn latency_mean(last: &Sample, now: &Sample) -> Option<String> {
    let sum_ns = now.latency_sum_ns - last.latency_sum_ns;
    let mean_ns = sum_ns.checked_div(u128::from(now.completed - last.completed))?;
    now.is_timed.then(|| mean_ns.to_string())
}

fn latency(now: &Sample, of: fn(&SampledLatency) -> Ns) -> Option<String> {
    now.latency.as_ref().map(|latency| of(latency).to_string())
}

fn programs(last: &Sample, now: &Sample, origin: Origin) -> u64 {
    now.programs[origin as usize] - last.programs[origin as usize]
}

fn write_amplification(last: &Sample, now: &Sample) -> Option<String> {
    let all: u64 = Origin::ALL.iter().map(|&origin| programs(last, now, origin)).sum();
    // Padding that the mapping has not stored yet can make it less than before.
    let host = now.host_page_writes.checked_sub(last.host_page_writes).filter(|&pages| pages > 0)?;
    Some(format!("{:.3}", all as f64 / host as f64))
}
