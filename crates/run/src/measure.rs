//! From raw counters to a result: ratios where they are defined, absent otherwise.

mod anatomy;
mod buffer;
mod energy;
mod ftl;
mod lifetime;
mod room;
mod spare;

use std::time::Instant;

use flashloom_device::{EndOfLife, Filled, HostReport, Outcome, Reason};
use flashloom_host::scheduler;
use flashloom_nand::{DieId, Utilization, reliability};
use flashloom_units::{Figures, Ns, S, SlotSpec};
use flashloom_workload::{Op, TraceInfo};

use flashloom_config::{Config, Timing};
use flashloom_figures::result::{
    BusiestChannel, BusiestDie, ByOrigin, Distribution, EndOfLifeResult, EraseCount, FailedResult, FigureResult,
    HostResult, IntegrityResult, LatencyResult, NandResult, PolicyResult, PreconditionResult, RESULT_SCHEMA,
    ReadCacheResult, RunCost, RunResult, WearResult,
};

/// Wall clock, used only for the `run` section of a result.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts the stopwatch.
    #[allow(clippy::disallowed_methods, reason = "what a run cost is measured here and nowhere else")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Cost of a run that began with the stopwatch, filled its drive in that way, and completed `completed` requests.
    pub fn cost(&self, completed: u64, filled: Option<Filled>) -> RunCost {
        let wall_seconds = self.0.elapsed().as_secs_f64();
        let requests_per_second = completed as f64 / wall_seconds;
        let in_words = |filled| match filled {
            Filled::InClosedForm => "in closed form".to_owned(),
            Filled::PageByPage => "page by page".to_owned(),
        };
        let filled = filled.map(in_words);
        RunCost { wall_seconds, requests_per_second, peak_rss_bytes: peak_rss_bytes(), filled }
    }
}

/// Inputs of a result.
pub struct Measured<'a> {
    /// The run's configuration.
    pub config: &'a Config,
    /// Its raw counters.
    pub outcome: &'a Outcome,
    /// Summary of its recording, if it replays one.
    pub info: Option<&'a TraceInfo>,
    /// Hash of its aged drive, if that came from a file or was saved to one.
    pub state_sha256: Option<&'a str>,
    /// Time at which the drive became idle for good.
    pub end_ns: Ns,
}

/// A share; `None` if the whole is zero.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// A policy with its figures.
pub fn policy(config: &Config, slot: &SlotSpec, figures: &Figures) -> PolicyResult {
    let policy = config.policy(slot.key).0;
    let named = slot.statistics_of(policy).zip(figures.of(slot));
    let figures = named.filter_map(|(one, value)| Some((one.name.to_owned(), FigureResult::of(value)?)));
    PolicyResult { policy: policy.name.to_owned(), figures: figures.collect() }
}

impl Measured<'_> {
    /// The result of the run, without its cost.
    pub fn result(&self) -> RunResult {
        let timed = self.config.run.timing == Timing::Timed;
        let erase_count = EraseCount::of(&self.outcome.erase_counts);
        let of_slc: Vec<u32> = self.outcome.slc_erase_counts.iter().copied().filter(|&erases| erases > 0).collect();
        let slc_erase_count = (!of_slc.is_empty()).then(|| EraseCount::of(&of_slc));
        let sectors_checked = self.outcome.sectors_checked;
        let host = self.host(timed);
        // In counting mode nothing takes time, but requests may have times of their own.
        let arrivals_ns =
            Some(self.outcome.host.last_arrival_ns).filter(|&ns| ns > 0 && self.config.has_arrival_times());
        let mut lifetime = lifetime::lifetime(&self.config.device, self.outcome, host.duration_ns.or(arrivals_ns));
        if let Some(lifetime) = lifetime.as_mut().filter(|_| !self.config.has_its_own_sheet()) {
            lifetime.sheet_bytes = None;
        }
        RunResult {
            schema: RESULT_SCHEMA.to_owned(),
            config: self.config.to_json().into(),
            host,
            tenants: Vec::new(),
            buffer: self.buffer(timed),
            read_cache: self.outcome.read_cache.map(|report| ReadCacheResult {
                hits: report.hits,
                late_hits: report.late_hits,
                pages_read: report.pages_read,
            }),
            ftl: self.ftl(),
            nand: self.nand(),
            wear: WearResult { erase_count, slc_erase_count, lifetime },
            workload: None,
            filebench: None,
            synthesized: None,
            precondition: self.outcome.preconditioned.map(|aged| PreconditionResult {
                page_writes: aged.pages,
                waf: aged.waf,
                state_sha256: self.state_sha256.map(str::to_owned),
            }),
            end_of_life: self.outcome.end_of_life.map(|end| end_of_life(end, timed)),
            bounds: None,
            series: None,
            integrity: IntegrityResult { verified: sectors_checked.is_some(), sectors_checked },
            hints: Vec::new(),
            provenance: None,
            run: None,
        }
    }

    fn host(&self, timed: bool) -> HostResult {
        let host = &self.outcome.host;
        let [of_reads, of_writes] = &self.outcome.scheduler.wait;
        let mut queue = of_reads.clone();
        queue.merge(of_writes);
        let mut result = of_requests(host, timed);
        if let Some(latencies) = &mut result.latency_ns {
            (latencies.queue, latencies.device) = (Distribution::of(&queue), Distribution::of(&host.device_latency));
        }
        HostResult {
            unmapped_read_sectors: Some(self.outcome.unmapped_read_sectors),
            skipped_lines: self.info.filter(|_| self.config.workload.skip_bad_lines).map(|info| info.skipped_lines),
            anatomy: self.outcome.anatomy.as_deref().map(|anatomy| Box::new(anatomy::anatomy(anatomy))),
            scheduler: timed.then(|| self.policy(&scheduler::SLOT)),
            ..result
        }
    }

    fn policy(&self, slot: &SlotSpec) -> PolicyResult {
        policy(self.config, slot, &self.outcome.figures)
    }

    fn nand(&self) -> NandResult {
        let counts = &self.outcome.counts;
        let device = &self.config.device.nand;
        let (utilization, reads) = (self.outcome.utilization, self.outcome.reads);
        let busy = |busy_ns: u128, parts: u32| share(busy_ns as f64, self.end_ns as f64 * f64::from(parts));
        let dies = device.channels * device.ways * device.dies;
        NandResult {
            reads: ByOrigin::of(counts.reads),
            programs: ByOrigin::of(counts.programs),
            erases: ByOrigin::of(counts.erases),
            failed_programs: (device.program_failures > 0.0).then(|| ByOrigin::of(counts.failed_programs)),
            failed_erases: (device.erase_failures > 0.0).then(|| ByOrigin::of(counts.failed_erases)),
            channel_utilization: utilization.and_then(|used| busy(used.channel_busy_ns, device.channels)),
            die_utilization: utilization.and_then(|used| busy(used.die_busy_ns, dies)),
            busiest_channel: utilization.and_then(|Utilization { busiest_channel: busiest, .. }| {
                let utilization = busy(busiest.busy_ns.into(), 1)?;
                Some(BusiestChannel { channel: busiest.number, utilization })
            }),
            busiest_die: utilization.and_then(|Utilization { busiest_die: busiest, .. }| {
                let utilization = busy(busiest.busy_ns.into(), 1)?;
                let channel = device.geometry().channel_of(DieId(busiest.number));
                Some(BusiestDie { channel, die: busiest.number, utilization })
            }),
            planes_per_program: utilization.and_then(|used| used.programs.mean()),
            planes_per_erase: utilization.and_then(|used| used.erases.mean()),
            write_time_ns: utilization.map(|used| used.write_ns as u64),
            collection_time_ns: utilization.map(|used| used.collection_ns as u64),
            energy: energy::energy(&self.config.device, self.outcome, self.end_ns),
            repeated_reads: reads.map(|reads| ByOrigin::of(reads.repeated)),
            retries: reads.map(|reads| ByOrigin::of(reads.retries)),
            unreadable_reads: reads.map(|reads| ByOrigin::of(reads.unreadable)),
            lost_pages: reads.map(|reads| reads.lost_pages),
            reliability: reads.map(|_| self.policy(&reliability::SLOT)),
        }
    }
}

/// What the requests of a report came to, without what only block layer and drive know.
pub fn of_requests(host: &HostReport, timed: bool) -> HostResult {
    let duration_ns = (timed && host.duration_ns > 0).then_some(host.duration_ns);
    let per_second = |count: u64| duration_ns.map(|duration| count as f64 * S as f64 / duration as f64);
    HostResult {
        requests: host.generated,
        completed: host.total_completed(),
        failed: failures(host.failed),
        reads: host.completed_of(Op::Read),
        writes: host.completed_of(Op::Write),
        discards: host.completed_of(Op::Discard),
        flushes: host.completed_of(Op::Flush),
        fua_writes: host.fua_latency.count(),
        preflush_writes: host.preflush_latency.count(),
        read_bytes: host.read_bytes,
        write_bytes: host.write_bytes,
        unmapped_read_sectors: None,
        skipped_lines: None,
        duration_ns,
        iops: per_second(host.total_completed()),
        throughput_bytes_per_s: per_second(host.read_bytes + host.write_bytes),
        latency_ns: timed.then(|| LatencyResult {
            read: Distribution::of(&host.read_latency),
            write: Distribution::of(&host.write_latency),
            fua_write: Distribution::of(&host.fua_latency),
            preflush_write: Distribution::of(&host.preflush_latency),
            flush: Distribution::of(&host.flush_latency),
            discard: Distribution::of(&host.discard_latency),
            all: Distribution::of(&host.latency()),
            queue: None,
            device: None,
        }),
        anatomy: None,
        scheduler: None,
    }
}

/// Failures by reason; `None` if no request failed.
fn failures(failed: [u64; Reason::COUNT]) -> Option<FailedResult> {
    let of = |reason: Reason| Some(failed[reason.at()]).filter(|&failed| failed > 0);
    let (end_of_life, read_only) = (of(Reason::EndOfLife), of(Reason::ReadOnly));
    let result = FailedResult { end_of_life, read_only, unreadable: of(Reason::Unreadable) };
    failed.iter().any(|&failed| failed > 0).then_some(result)
}

fn end_of_life(end: EndOfLife, timed: bool) -> EndOfLifeResult {
    EndOfLifeResult {
        time_ns: timed.then_some(end.time_ns),
        host_page_writes: end.host_page_writes,
        unserved_requests: end.unserved_requests,
        unwritten_pages: end.unwritten_pages,
    }
}

/// Peak memory of this process, if the system tells it.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1_024)
}
