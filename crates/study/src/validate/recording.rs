//! A recording that has the latencies of its own device: replayed at its recorded times.
//!
//! ```text
//! blktrace, blkparse   the requests that were issued (D) go to the drive past merging and scheduler; a latency is the
//!                      time in the drive, on both sides: D to C, dispatch to completion
//! all others           the requests arrive at the host of the experiment; a latency is the whole time, from arrival
//!                      to completion
//! ```

use flashloom_config::{Config, Experiment, Timing};
use flashloom_figures::number::{count, percent, time};
use flashloom_run::{Failure, Prepared, Progress, doubt_of_pairs};
use flashloom_units::{Ns, Problem, Refusal, US};
use flashloom_workload::{FORMATS, LatencySource, RecordedLatencies, Replay, TraceOptions, scan_latencies};

use super::cells::{Cells, Interval, LEAST};
use super::result::ValidatedInput;

/// Share of the requests that may be said to complete before they are issued: a few are requests of before the
/// recording.
const MOST_BEFORE_ISSUE: f64 = 0.01;
/// Mean number of outstanding requests that no device has: more than a queue of NVMe holds.
const MOST_OUTSTANDING: f64 = 65_536.0;
/// Lone reads of which hardly any is faster are those of a disk: a revolution of 15,000 a minute takes 4 ms, a read of
/// flash a tenth of one.
const DISK_READ_NS: Ns = 2_000 * US;

/// A recording whose latencies have been checked.
pub struct Recording {
    path: String,
    scan: RecordedLatencies,
}

impl Recording {
    /// Reads the recording of an experiment, and checks that its latencies can be those of a device.
    ///
    /// # Errors
    /// A workload that is not a recording at its own pace, or a recording without sound latencies.
    pub fn read(experiment: &Experiment) -> Result<Self, Problem> {
        let config = &experiment.variants[0].config;
        check_timed(experiment)?;
        if let Some(refusal) = unfit(config) {
            return Err(experiment.problem(config, refusal));
        }
        let workload = &config.workload;
        let path = workload.path.as_deref().map(|path| experiment.located(config, "workload.path", path));
        let path = path.expect("checked with the configuration").to_string_lossy().into_owned();
        let scan = scan_latencies(&path, &Self::options(config), workload.requests)?;
        match unsound(&scan) {
            Some(refusal) => Err(refusal.in_file(&path)),
            None => Ok(Self { path, scan }),
        }
    }

    /// Its file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Name of its format.
    pub fn format_name(&self) -> &'static str {
        self.scan.format.name()
    }

    /// Number of its requests, as far as `workload.requests` lets them pass.
    pub fn requests(&self) -> u64 {
        self.scan.requests
    }

    /// Where its latencies are.
    pub fn source(&self) -> LatencySource {
        self.scan.format.spec().latencies
    }

    /// What a latency of it is.
    pub fn interval(&self) -> Interval {
        if self.source() == LatencySource::Events { Interval::InDrive } else { Interval::Whole }
    }

    /// Options that read a recording with its latencies, of the configuration of its replay.
    pub fn options(config: &Config) -> TraceOptions {
        TraceOptions { completions: true, ..config.workload.trace_options() }
    }

    /// Replays it on the prepared drive of the experiment.
    ///
    /// # Errors
    /// A check that failed.
    pub fn compare(&self, prepared: &Prepared<'_>, progress: &dyn Progress) -> Result<ValidatedInput, Failure> {
        let interval = self.interval();
        let mut cells = Cells::new(self.source(), interval);
        let finished = match interval {
            Interval::InDrive => prepared.run_issued(progress, &mut [&mut cells])?,
            Interval::Whole => prepared.run(false, progress, &mut [&mut cells])?,
        };
        let finished = finished.lived(&self.path)?;
        let (interval, load) = match interval {
            Interval::InDrive => (
                "from issue (D) to completion (C); simulated: from dispatch to completion",
                "issued requests at their recorded times, past merging and scheduler",
            ),
            Interval::Whole => (
                "from arrival to completion, as the recording's response time; simulated: likewise, with the host",
                "requests at their recorded times",
            ),
        };
        let mut not_compared = self.left_out();
        let compared = cells.compared(&mut not_compared);
        let mut warnings = self.doubts();
        warnings.extend(finished.unread());
        if cells.waits.count() > 0 {
            let all = finished.host.generated;
            warnings.push(format!(
                "{} of the simulated requests waited for the drive, which held `host.queue_depth` already, {} on \
                 average: it falls behind the recording, and its latencies leave that wait out",
                percent(cells.waits.count() as f64 / all as f64),
                time(cells.waits.mean())
            ));
        }
        Ok(ValidatedInput {
            experiment: prepared.experiment().name.clone(),
            input: self.path.clone(),
            job: None,
            kind: format!("recording ({})", self.scan.format.name()),
            interval: Some(interval.to_owned()),
            load: load.to_owned(),
            requests: finished.host.generated,
            config: finished.result.config.to_json(),
            cells: compared,
            rates: cells.rates(),
            rate_distance: None,
            not_compared,
            warnings,
        })
    }

    /// What the recording itself leaves out.
    pub fn left_out(&self) -> Vec<String> {
        let pairs = self.scan.pairs.unwrap_or_default();
        let counts = [
            (pairs.unpaired, "issued requests whose completion is missing"),
            (pairs.void, "issued requests whose pair is void: two of one place were outstanding at once"),
            (pairs.reissued, "issues of requests that were issued again"),
            (pairs.failed, "issued requests that ended with an error"),
            (pairs.strays, "completions of requests that were not seen to be issued"),
            (self.scan.capped, "recorded latencies of 4.29 s and longer count as 4.29 s"),
        ];
        let counts = counts.into_iter().filter(|(requests, _)| *requests > 0);
        counts.map(|(requests, what)| format!("{} {what}", count(requests))).collect()
    }

    /// What says that it may be that of a disk: a slow network volume has the same latencies.
    pub fn disk(&self) -> Option<String> {
        let lone_reads = &self.scan.lone_reads;
        let fast_ns = lone_reads.percentile(10.0);
        (lone_reads.count() >= LEAST && fast_ns >= DISK_READ_NS).then(|| {
            format!(
                "this may be a disk: of {} reads elsewhere than the request before, with nothing else outstanding, \
                 nine in ten took {} or longer; a read of flash takes a tenth of a millisecond",
                count(lone_reads.count()),
                time(fast_ns as f64)
            )
        })
    }

    /// Reasons to doubt the comparison that are not certain enough to refuse it.
    pub fn doubts(&self) -> Vec<String> {
        let latencies = &self.scan.latencies;
        let lost = self.scan.pairs.as_ref().and_then(doubt_of_pairs);
        let mut doubts: Vec<String> = self.disk().into_iter().chain(lost).collect();
        let (low, high) = (latencies.percentile(1.0), latencies.percentile(99.0));
        if latencies.count() >= 10 * LEAST && low == high {
            doubts.push(format!(
                "nearly every recorded latency is {}, from p1 to p99: few real devices are so even",
                time(low as f64)
            ));
        }
        doubts
    }
}

/// The first key by which a run does not replay a recording as it was.
fn unfit(config: &Config) -> Option<Refusal> {
    let workload = &config.workload;
    if workload.kind != "trace" {
        let refusal = Refusal::new(format!("a workload of kind {:?}", workload.kind), "a recording: \"trace\"");
        let help = "`--against FILE` names a measurement: a recording, or the JSON of fio";
        return Some(refusal.at(["workload.kind"]).help(help));
    }
    if workload.replay_or_default(true) != Replay::Timestamps {
        let found = format!("`replay` = {:?}", workload.replay_or_default(true).name());
        let expected = "\"timestamps\": recorded latencies are those of the recorded times";
        return Some(Refusal::new(found, expected).at(["workload.replay"]));
    }
    if workload.speed != 1.0 {
        let expected = "1: recorded latencies are those of the recorded times";
        return Some(Refusal::new(format!("`speed` = {}", workload.speed), expected).at(["workload.speed"]));
    }
    if workload.replicate == Some(true) {
        let expected = "the recording itself: a replicate has other moments";
        return Some(Refusal::new("`replicate` = true", expected).at(["workload.replicate"]));
    }
    None
}

/// Refuses an experiment without time, or with several workloads.
///
/// # Errors
/// It is one.
pub fn check_timed(experiment: &Experiment) -> Result<(), Problem> {
    experiment.check_one_workload()?;
    let config = &experiment.variants[0].config;
    if config.run.timing != Timing::Counting {
        return Ok(());
    }
    let expected = "\"timed\": a validation compares latencies";
    Err(experiment.problem(config, Refusal::new("a validation without time", expected).at(["run.timing"])))
}

/// The reason why the latencies of a recording cannot be compared.
fn unsound(scan: &RecordedLatencies) -> Option<Refusal> {
    let RecordedLatencies { requests, latencies, .. } = scan;
    let format = scan.format.name();
    if scan.format.spec().latencies == LatencySource::None {
        let with = FORMATS.iter().filter(|spec| spec.latencies != LatencySource::None);
        let with: Vec<_> = with.map(|spec| spec.name()).collect();
        let expected = format!("a recording with completions: one in {}", with.join(", "));
        return Some(Refusal::new(format!("the format `{format}` has no latencies"), expected));
    }
    if let Some(overlaid) = scan.overlaid() {
        let help = "one device is compared: `--set workload.device=NAME` chooses it";
        return Some(Refusal { expected: "the requests of one device".to_owned(), ..overlaid.help(help) });
    }
    if let Some(pairs) = scan.pairs {
        if pairs.completed_before_issue as f64 > MOST_BEFORE_ISSUE * *requests as f64 {
            let found = format!(
                "{} of {} requests complete before they are issued: the clock goes backwards between their events",
                count(pairs.completed_before_issue),
                count(*requests)
            );
            return Some(Refusal::new(found, "completions after their issue"));
        }
        if pairs.paired == 0 {
            let found = format!("none of {} issued requests (D) has a completion (C)", count(*requests));
            let help = "blktrace records completions unless a mask (-a) leaves them out";
            return Some(Refusal::new(found, "a recording with completions").help(help));
        }
    }
    if latencies.count() < LEAST {
        let found = format!("{} of {} requests have a latency", count(latencies.count()), count(*requests));
        let expected = format!("at least {LEAST} latencies: fewer are no distribution");
        let help = match scan.format.spec().latencies {
            LatencySource::Column => Some("a latency of 0 is one that is not known"),
            _ => None,
        };
        let refusal = Refusal::new(found, expected);
        return Some(Refusal { help: help.map(str::to_owned), ..refusal });
    }
    let median_ns = latencies.percentile(50.0);
    if median_ns >= Ns::from(u32::MAX) {
        let found = format!(
            "every other latency is {} or longer (p1 {}, p99 {}), which a broken clock writes and no working device \
             takes",
            time(median_ns as f64),
            time(latencies.percentile(1.0) as f64),
            time(latencies.percentile(99.0) as f64)
        );
        return Some(Refusal::new(found, "latencies of which most are shorter than 4.29 s"));
    }
    let outstanding = latencies.sum() as f64 / scan.duration_ns.max(1) as f64;
    if outstanding > MOST_OUTSTANDING {
        let found = format!(
            "the latencies add up to {} in a recording of {}: {} requests outstanding on average, by Little's law",
            time(latencies.sum() as f64),
            time(scan.duration_ns as f64),
            count(outstanding as u64)
        );
        return Some(Refusal::new(found, "at most 65,536, which a queue of NVMe holds"));
    }
    None
}
