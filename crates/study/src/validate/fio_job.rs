//! A job of fio: its own load, kept closed, for as many requests as its tail takes.
//!
//! The job's pattern, block size, share of reads, and `iodepth` times `numjobs` outstanding requests become a synthetic
//! workload on the whole drive. Its runtime does not: of a run of [`FIRST_REQUESTS`], then of twice as many, and so on,
//! the first counts whose p99.9 has a 95 % interval of less than [`ENOUGH`] on either side, or else the longest that is
//! allowed.

use flashloom_config::Experiment;
use flashloom_figures::number::{count, factor, percent};
use flashloom_run::{Failure, Finished, Prepared, Progress};
use flashloom_units::{Latency, Problems, format_size};
use flashloom_workload::Op;

use super::cells::result;
use super::distribution::{likeness_of_percentiles, uncertainty_of_p99_9};
use super::fio_output::{JobOrder, MeasuredDirection, MeasuredJob};
use super::result::{Compared, RateResult, ValidatedInput};

/// Requests of the shortest run.
const FIRST_REQUESTS: u64 = 20_000;
/// Half the width of the interval of p99.9 that is narrow enough, as a share of it.
const ENOUGH: f64 = 0.05;
/// Share of its queue that a job should keep outstanding for its load to be a closed one.
const NEARLY_FULL: f64 = 0.8;

/// A job to be simulated.
pub struct ClosedLoad {
    path: String,
    job: MeasuredJob,
}

impl ClosedLoad {
    /// The load of a job in a file.
    pub fn new(path: &str, job: MeasuredJob) -> Self {
        Self { path: path.to_owned(), job }
    }

    /// The options that make a workload of it.
    pub fn sets(&self) -> Vec<String> {
        let MeasuredJob { order, read_share, block_bytes, outstanding, .. } = &self.job;
        let mut sets = vec![
            "workload.kind=synthetic".to_owned(),
            "workload.replay=closed".to_owned(),
            format!("workload.queue_depth={outstanding}"),
            format!("workload.synthetic.requests={FIRST_REQUESTS}"),
            format!("workload.synthetic.pattern={}", order.name()),
            format!("workload.synthetic.read_share={read_share}"),
            format!("workload.synthetic.request_size={block_bytes}B"),
        ];
        sets.extend(self.submission_ns().map(|submission_ns| format!("workload.submit_time={submission_ns}ns")));
        sets
    }

    /// Mean time of a submission by the one process of the job, if that is known and not nothing: several submit at
    /// once.
    fn submission_ns(&self) -> Option<u64> {
        let submission_ns = self.job.submission_ns().round() as u64;
        (self.job.processes == 1 && submission_ns > 0).then_some(submission_ns)
    }

    /// Makes the runs of an experiment those of this load: ever longer, of at most `limit` requests.
    ///
    /// # Errors
    /// A problem with the number of requests.
    pub fn lay_out(experiment: &mut Experiment, limit: u64) -> Result<(), Problems> {
        let lengths = std::iter::successors(Some(FIRST_REQUESTS), |requests| requests.checked_mul(2));
        let lengths = lengths.take_while(|requests| *requests < limit).chain([limit]);
        let first = experiment.variants[0].clone();
        let of = |requests| experiment.replaced(&first, &[format!("workload.synthetic.requests={requests}")]);
        experiment.variants = lengths.map(of).collect::<Result<_, Problems>>()?;
        Ok(())
    }

    /// Runs the load on the prepared drive.
    ///
    /// # Errors
    /// A check that failed.
    pub fn compare(&self, prepared: &Prepared<'_>, progress: &dyn Progress) -> Result<ValidatedInput, Failure> {
        let variants = prepared.experiment().variants.len();
        let of_job = format!("{}, job {:?}", self.path, self.job.name);
        let run = |index: usize| prepared.run_whole(index, progress)?.lived(&of_job);
        let mut finished = run(0)?;
        for index in 1..variants {
            if self.uncertainty(&finished) < ENOUGH {
                break;
            }
            finished = run(index)?;
        }
        let mut warnings = Vec::new();
        let uncertainty = self.uncertainty(&finished);
        if uncertainty >= ENOUGH {
            let interval =
                if uncertainty.is_finite() { format!("+-{}", percent(uncertainty)) } else { "no bound".to_owned() };
            warnings.push(format!(
                "p99.9 of {} simulated requests has an interval of {interval}, not {}: --requests allows more",
                count(finished.host.generated),
                percent(ENOUGH)
            ));
        }
        warnings.extend(finished.unread());
        warnings.extend(self.doubts(prepared.experiment()));
        Ok(ValidatedInput {
            experiment: prepared.experiment().name.clone(),
            input: self.path.clone(),
            job: Some(self.job.name.clone()),
            kind: "JSON of fio".to_owned(),
            interval: Some(
                "from submission to completion (clat); simulated: from arrival at the host to completion".to_owned(),
            ),
            load: self.load(),
            requests: finished.host.generated,
            cells: self
                .directions(&finished)
                .map(|(op, measured, simulated)| {
                    let likeness =
                        likeness_of_percentiles(measured.mean_ns, &measured.percentiles, measured.requests, simulated);
                    result(op, None, [measured.requests, simulated.count()], likeness)
                })
                .collect(),
            rates: self.rates(&finished),
            rate_distance: None,
            not_compared: self.left_out(),
            warnings,
            config: finished.result.config.to_json(),
        })
    }

    /// Measured directions, each with its simulated latencies.
    fn directions<'a>(
        &'a self,
        finished: &'a Finished,
    ) -> impl Iterator<Item = (Op, &'a MeasuredDirection, &'a Latency)> {
        let host = &finished.host;
        let both = [(Op::Read, &self.job.read, &host.read_latency), (Op::Write, &self.job.write, &host.write_latency)];
        both.into_iter().filter_map(|(op, measured, simulated)| {
            measured.as_ref().filter(|_| simulated.count() > 0).map(|measured| (op, measured, simulated))
        })
    }

    /// The widest interval of p99.9.
    fn uncertainty(&self, finished: &Finished) -> f64 {
        self.directions(finished).map(|(_, _, simulated)| uncertainty_of_p99_9(simulated)).fold(0.0, f64::max)
    }

    fn rates(&self, finished: &Finished) -> Vec<RateResult> {
        let rate = |(op, measured, simulated): (Op, &MeasuredDirection, &Latency)| {
            let per_second = simulated.count() as f64 * 1e9 / finished.host.duration_ns.max(1) as f64;
            RateResult { quantity: format!("{}s/s", op.name()), rate: Compared::of(measured.iops, per_second) }
        };
        self.directions(finished).map(rate).collect()
    }

    fn left_out(&self) -> Vec<String> {
        let mut left_out = vec!["stalls and the ends of the distribution: fio gives percentiles".to_owned()];
        if let Some(size) = &self.job.size {
            left_out.push(format!("the space of the job (`size` = {size}): the simulated one has the whole drive"));
        }
        if self.job.processes > 1 && self.job.order == JobOrder::Sequential {
            let processes = self.job.processes;
            left_out.push(format!("the {processes} streams of the processes: the simulated load is one stream"));
        }
        left_out
    }

    /// The load in words.
    pub fn load(&self) -> String {
        let MeasuredJob { order, read_share, block_bytes, outstanding, .. } = &self.job;
        let (order, reads, size) = (order.name(), percent(*read_share), format_size(*block_bytes));
        format!("{order}, {reads} reads, {size}, {outstanding} outstanding")
    }

    /// Reasons to doubt a comparison with a run of an experiment.
    pub fn doubts(&self, experiment: &Experiment) -> Vec<String> {
        let outstanding = self.job.outstanding;
        let submitting = self.submission_ns().map_or(0.0, |_| self.job.submitting_on_average());
        let average = self.job.outstanding_on_average() + submitting;
        let mut doubts = Vec::new();
        if average < NEARLY_FULL * f64::from(outstanding) {
            doubts.push(format!(
                "only {} of {outstanding} requests were in the recorded drive or being submitted on average (Little's \
                 law): the host held the others, and the simulation has no such host",
                factor(average)
            ));
        }
        let is_file = |name: &&str| !name.starts_with("/dev/") && !name.contains("traddr");
        if let Some(name) = self.job.filename.as_deref().filter(is_file) {
            doubts.push(format!("it ran on files ({name:?}): a file system lies between, which is not simulated"));
        }
        let depth = experiment.variants[0].config.host.device_depth();
        if depth < outstanding {
            doubts.push(format!(
                "the simulated drive holds {depth} requests (`host.queue_depth`), and the others of the {outstanding} \
                 wait in the host"
            ));
        }
        doubts
    }
}
