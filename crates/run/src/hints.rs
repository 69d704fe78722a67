//! Hints: warnings that the figures of a run mean less than they seem, the most misleading first, each with the key to
//! change.
//!
//! ```text
//! overload          requests came at times of their own, and more than the drive holds were left when the last came,
//!                   for a tenth of the time until then; or four times what it holds were there on average
//! never-collected   flash was programmed for the host, and no block was erased
//! wrapped           a sequential workload passed its footprint more than once, or a recording was wrapped on the drive
//! buffered          nothing of what was written reached flash
//! die, channel      one of them was 90 % busy, and all together less than 50 %
//! throttled         write-back throttling made 10 % of the writes wait, with no die 50 % busy
//! buffer            10 % of the writes waited for room in the buffer, with no die 50 % busy
//! link              the link carried 90 % of what it can
//! queue-depth       the drive held 90 % of host.queue_depth on average, 10 % of the latency passed before that, and
//!                   neither the link nor a die or a channel was 90 % busy
//! outstanding       a closed workload, with no die, no channel and not the link 50 % busy, and none of the above
//! short-for-drive   a recording wrote less than 10 % of an aged drive
//! unpaid            a tenth of what was written was not paid for by erases: it went to pages that were erased before
//!                   the first request, or has not reached flash
//! kept-data         a workload of a smaller footprint than what ageing wrote on the drive
//! scaled-down       a drive of fewer blocks than its preset, in which a fifth of the over-provisioning is kept free or
//!                   open
//! lifetime          a lifetime from less than one erase a block, where chance decides which is the worst
//! no-allocator      CAVE's rate of eviction over a mapping with a placement, and none of the paper's placements
//! slc-cache-full    a tenth of the pages written found no room in an SLC cache that was full of what aged the drive
//! no-slc-cache      one write in 1,000 waited for room in the buffer of a drive with 3 or 4 bits a cell, and p99.9 of
//!                   the writes is four medians
//! few-samples       fewer than 10 samples lie beyond a percentile that is shown: after a run, p99.9
//! no-read-retries   p99.9 of the reads is within four tR of their median, where one read in 1,000 that is repeated
//!                   would show
//! ```
//!
//! Remarks of a workload on its requests come before them, and then that on its priorities. Those that no run says by
//! itself, of the rows of a comparison, are in [`compared`](self::compared).
//!
//! The utilisation of the dies shows whether a figure is limited by something else than flash: below half, twice the
//! work would fit. Of n samples beyond a percentile, chance alone moves the count by the square root of n: 10 by a
//! third.

mod arrivals;
mod compared;
mod length;
mod pairs;
mod placement;
mod space;
mod tails;

use flashloom_device::{HostReport, InterfaceParams};
use flashloom_units::{Ns, S, SECTOR_BYTES};
use flashloom_workload::Remark;
use flashloom_workload::workload::Footprint;
use flashloom_workload::{Addresses, IO_PRIORITIES, TraceInfo};

use crate::load::Load;
use flashloom_config::{Config, Timing};
use flashloom_figures::number::{count, factor, percent, rate, size};
use flashloom_figures::result::{Distribution, HintResult, HostResult, LatencyResult, RunResult};

pub use compared::compared;
pub use length::length_key;
pub use pairs::doubt_of_pairs;

/// Maximum number of hints: more would not be read.
const MOST: usize = 3;
/// Utilisation below which a part of the drive was not the limit.
const IDLE: f64 = 0.5;
/// Utilisation from which on a part was the limit.
const LIMIT: f64 = 0.9;
/// Share of the writes, or of the latency, that is worth a hint.
const NOTABLE: f64 = 0.1;
/// Minimum number of samples beyond a percentile for it to be meaningful.
const SAMPLES: u64 = 10;
/// One request in this many lies beyond the last percentile shown.
const P99_9: u64 = 1_000;

/// The hints for a run; `scanned` is the summary of its recording, if it replays one.
pub fn of(config: &Config, scanned: Option<&TraceInfo>, host: &HostReport, result: &RunResult) -> Vec<HintResult> {
    let run = Run { config, scanned, last_arrival_ns: host.last_arrival_ns, result };
    let limits = [run.buffered(), run.link(), run.one_part(), run.throttled(), run.buffer(), run.queue_depth()];
    let is_limited = limits.iter().any(Option::is_some);
    let outstanding = if is_limited { None } else { run.outstanding() };
    let found = [run.overload(), run.never_collected(), run.wrapped()].into_iter().chain(limits).chain([
        outstanding,
        run.short_for_drive().or_else(|| run.unpaid()).or_else(|| run.lifetime(false)),
        run.kept_data().or_else(|| run.scaled_down()),
        run.no_allocator(),
        run.slc_cache_full().or_else(|| run.no_slc_cache()),
        run.few_samples(),
        run.no_read_retries(),
        run.lifetime(true),
    ]);
    found.flatten().take(MOST).collect()
}

/// The hint on requests whose I/O priorities the scheduler does not follow.
pub fn priorities(config: &Config, load: &Load<'_>) -> Option<HintResult> {
    let (scheduler, _) = config.policy("host.scheduler");
    if !load.has_priorities() || config.run.timing == Timing::Counting || scheduler.offers.contains(&IO_PRIORITIES) {
        return None;
    }
    let text = format!(
        "The requests have I/O priorities, which `{}` does not follow: `mq-deadline` follows their classes.",
        scheduler.name
    );
    hint("priorities", "host.scheduler", text)
}

/// The hint that shows a remark of the workload, before those at figures.
pub fn remarked(remark: Remark) -> HintResult {
    HintResult { about: remark.about.to_owned(), text: remark.text, key: remark.key.to_owned() }
}

fn hint(about: &str, key: &str, text: String) -> Option<HintResult> {
    Some(HintResult { about: about.to_owned(), text, key: key.to_owned() })
}

/// A run and everything known about it.
struct Run<'a> {
    config: &'a Config,
    scanned: Option<&'a TraceInfo>,
    last_arrival_ns: Ns,
    result: &'a RunResult,
}

impl Run<'_> {
    fn host(&self) -> &HostResult {
        &self.result.host
    }

    fn latency(&self) -> Option<&LatencyResult> {
        self.host().latency_ns.as_ref()
    }

    fn wrapped(&self) -> Option<HintResult> {
        let capacity = self.config.device.capacity_sectors() * SECTOR_BYTES;
        if let Some(info) = self.scanned {
            let first = self.config.workload.first_sector * SECTOR_BYTES;
            let span = info.span_bytes.saturating_sub(first);
            if self.config.workload.addresses != Addresses::Wrap || span <= capacity {
                return None;
            }
            let [span, capacity] = [span, capacity].map(|bytes| size(bytes as f64));
            let text = format!(
                "The recording reaches to {span} and the drive holds {capacity}, so that parts of it were laid over \
                 one another and overwrite more than was recorded: \"scale\" or a larger drive avoids that."
            );
            return hint("wrapped", "workload.addresses", text);
        }
        let rounds = self.config.workload_profile().rounds?;
        let host = self.host();
        let covered = (host.requests - host.flushes) as f64 * rounds.step_bytes as f64;
        let footprint = match rounds.footprint {
            Footprint::Bytes(bytes) => bytes as f64,
            Footprint::Share(share) => capacity as f64 * share,
        };
        let passes = covered / footprint;
        let text = format!(
            "The sequential workload went {} times over its footprint of {}, so that all but the first pass overwrites \
             in order what the one before wrote.",
            factor(passes),
            size(footprint)
        );
        if host.writes > 0 && passes > 1.0 { hint("wrapped", rounds.key, text) } else { None }
    }

    /// Mean utilisation of the dies; `None` if no time passed.
    fn dies_busy(&self) -> Option<f64> {
        self.result.nand.die_utilization
    }

    /// Utilisation of the busiest die or channel.
    fn busiest(&self) -> f64 {
        let nand = &self.result.nand;
        let die = nand.busiest_die.as_ref().map_or(0.0, |die| die.utilization);
        nand.busiest_channel.as_ref().map_or(die, |channel| die.max(channel.utilization))
    }

    /// Hint if one die or channel was the limit while the others were idle.
    fn one_part(&self) -> Option<HintResult> {
        let nand = &self.result.nand;
        let (die, channel) = (nand.busiest_die.as_ref()?, nand.busiest_channel.as_ref()?);
        let (dies, channels) = (self.dies_busy()?, nand.channel_utilization?);
        let parts = [
            ("die", format!("Die {}", die.die), die.utilization, dies),
            ("channel", format!("Channel {}", channel.channel), channel.utilization, channels),
        ];
        let (about, what, most, mean) = parts.into_iter().find(|(_, _, most, mean)| *most >= LIMIT && *mean < IDLE)?;
        let text = format!(
            "{what} was busy for {} of the time, and all of them for {} on average: it was the limit, because the \
             addresses of the workload fall on few of them.",
            percent(most),
            percent(mean)
        );
        hint(about, "ftl.allocation", text)
    }

    /// Hint if no write has reached flash.
    fn buffered(&self) -> Option<HintResult> {
        if self.host().writes == 0 || self.result.nand.programs.host > 0 || self.result.buffer.is_none() {
            return None;
        }
        let text = "All that was written is still in the write buffer: these are the figures of the link and the \
                    buffer, and none of flash (`run.drain` writes it out).";
        hint("buffered", &self.length_key(), text.to_owned())
    }

    fn throttled(&self) -> Option<HintResult> {
        let (throttled, busy) = (self.host().scheduler.as_ref()?.whole("throttled")? as f64, self.dies_busy()?);
        // The parts of a large request wait one by one.
        let waited = (throttled / (self.host().writes + self.host().discards).max(1) as f64).min(1.0);
        if waited < NOTABLE || busy >= IDLE {
            return None;
        }
        let text = format!(
            "{} of the writes waited for write-back throttling (blk-wbt), which lets in 16 writes that nobody waits \
             for, 8 or 4, and three quarters of the queue depth where no read is near: as Linux has it for what the \
             page cache writes. Direct writes are synchronous ones, which do not wait.",
            percent(waited)
        );
        hint("throttled", "host.wbt", text)
    }

    fn buffer(&self) -> Option<HintResult> {
        let (buffer, busy) = (self.result.buffer.as_ref()?, self.dies_busy()?);
        let writes = self.host().writes;
        let waited = (buffer.stalled_writes as f64 / writes as f64).min(1.0);
        if writes == 0 || waited < NOTABLE || self.busiest() >= IDLE {
            return None;
        }
        let found = format!(
            "{} of the writes waited for room in the write buffer while the dies were {} busy",
            percent(waited),
            percent(busy)
        );
        if buffer.rate.policy == "single" {
            let text = format!("{found}: `buffer.rate` = \"single\" evicts nothing before a page waits for its room.");
            return hint("buffer", "buffer.rate", text);
        }
        hint("buffer", "buffer.capacity", format!("{found}: bursts were larger than the buffer."))
    }

    /// Utilisation of the link.
    fn link_share(&self) -> Option<f64> {
        let InterfaceParams { link_rate, full_duplex, .. } = self.config.device.interface;
        let host = self.host();
        let bytes =
            if full_duplex { host.read_bytes.max(host.write_bytes) } else { host.read_bytes + host.write_bytes };
        let most = link_rate as f64 * host.duration_ns? as f64 / S as f64;
        (link_rate > 0 && most > 0.0).then(|| bytes as f64 / most)
    }

    fn link(&self) -> Option<HintResult> {
        let share = self.link_share().filter(|share| *share >= LIMIT && self.buffered().is_none())?;
        let text = format!(
            "The host link carried {} of its {}: it was the limit, and a faster drive behind it would look the same.",
            percent(share),
            rate(self.config.device.interface.link_rate as f64)
        );
        hint("link", "device.link_rate", text)
    }

    fn queue_depth(&self) -> Option<HintResult> {
        let latency = self.latency()?;
        let [queue, device, all] =
            [&latency.queue, &latency.device, &latency.all].map(|part| part.as_ref().map(total_ns));
        let depth = f64::from(self.config.host.device_depth());
        // Requests that were merged are one command. An estimate, because commands of many take longer than others.
        let scheduler = self.host().scheduler.as_ref()?;
        let (dispatched, merged) = (scheduler.whole("dispatched")?, scheduler.whole("merged")?);
        let commands = dispatched as f64 / (dispatched + merged).max(1) as f64;
        let held = device? * commands / self.host().duration_ns? as f64;
        if self.busiest() >= LIMIT || self.link_share().is_some_and(|share| share >= LIMIT) {
            return None;
        }
        let outside = queue? / all?;
        if held < LIMIT * depth || outside < NOTABLE {
            return None;
        }
        let text = format!(
            "The drive held the {depth} commands that `host.queue_depth` allows most of the time, and {} of the \
             latency passed in the host: the queue depth was the limit.",
            percent(outside)
        );
        hint("queue-depth", "host.queue_depth", text)
    }

    fn outstanding(&self) -> Option<HintResult> {
        let (busy, link) = (self.dies_busy()?, self.link_share().unwrap_or(0.0));
        let has_one = self.config.workloads.is_empty();
        if !has_one || !self.config.is_closed() || self.busiest() >= IDLE || link >= IDLE {
            return None;
        }
        let outstanding = self.config.workload.queue_depth;
        if self.host().requests <= u64::from(outstanding) {
            return None;
        }
        let text = format!(
            "The workload kept {outstanding} requests outstanding, and the dies were {} busy: the throughput is that \
             of the queue depth, not the most that the drive can do.",
            percent(busy)
        );
        hint("outstanding", "workload.queue_depth", text)
    }

    fn few_samples(&self) -> Option<HintResult> {
        let latency = self.latency()?;
        let shown = |name, of: &Option<Distribution>| {
            of.as_ref().map(|of| Percentile { name, samples: of.count, one_in: P99_9 })
        };
        let shown: Vec<Percentile<'_>> =
            [shown("read p99.9", &latency.read), shown("write p99.9", &latency.write)].into_iter().flatten().collect();
        few_samples(&self.length_key(), &shown)
    }
}

/// A percentile shown to the user.
#[derive(Clone, Copy, Debug)]
pub struct Percentile<'a> {
    /// Name as shown.
    pub name: &'a str,
    /// Number of samples of the distribution.
    pub samples: u64,
    /// One sample in this many lies beyond the percentile: 100 for p99.
    pub one_in: u64,
}

impl Percentile<'_> {
    fn beyond(&self) -> u64 {
        self.samples / self.one_in
    }
}

/// Hint if one of these percentiles rests on too few samples; `length_key` makes the workload longer.
pub fn few_samples(length_key: &str, shown: &[Percentile<'_>]) -> Option<HintResult> {
    let few: Vec<String> = shown
        .iter()
        .filter(|shown| shown.beyond() < SAMPLES)
        .map(|shown| format!("{} rests on {} of {}", shown.name, count(shown.beyond()), count(shown.samples)))
        .collect();
    let text = format!(
        "Fewer than {SAMPLES} samples lie beyond a percentile, so that it moves with chance: {}. A longer workload \
         helps.",
        few.join(", ")
    );
    if few.is_empty() { None } else { hint("few-samples", length_key, text) }
}

/// Sum of a distribution, in nanoseconds.
fn total_ns(of: &Distribution) -> f64 {
    of.mean * of.count as f64
}
