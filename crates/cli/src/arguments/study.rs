//! Arguments of the studies: `probe`, `validate`, `fit`, `reproduce`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use flashloom::study::fit::{HoldOut, JobTime};
use flashloom::study::probe::ProbeParams;
use flashloom::study::reproduce::published::PAPERS;
use flashloom::units::parse_ratio;

use super::{MOST_JOBS, choice};

/// Name that stands for every report.
pub const ALL: &str = "all";

/// Arguments of `probe`.
#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// Experiment whose drive is probed, a TOML file; its workload and its scheduler are not used.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Set a key to another value than in the file, such as ftl.static.layout=contiguous.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Size of a request, such as 4KiB; a page of the drive if it is left out.
    #[arg(long, value_name = "SIZE")]
    pub request_size: Option<String>,
    /// Maximum number of outstanding requests; host.queue_depth if it is left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub outstanding: Option<u32>,
    /// Number of requests to measure at each point on each drive.
    #[arg(long, value_name = "N", default_value_t = ProbeParams::DEFAULT.requests)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub requests: u32,
    /// Number of drives to measure, with consecutive seeds from run.seed on.
    #[arg(long, value_name = "N", default_value_t = ProbeParams::DEFAULT.seeds)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub seeds: u32,
    /// Share of a throughput that counts as reaching it.
    #[arg(long, value_name = "SHARE", default_value_t = ProbeParams::DEFAULT.reach, value_parser = share)]
    pub reach: f64,
    /// Write the result as JSON to a file, or to standard output (-) instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
}

/// Arguments of `validate`.
#[derive(Debug, Args)]
pub struct ValidateArguments {
    /// Experiments with the drives, TOML files. Without --against the workload of each is a recording with latencies.
    #[arg(value_name = "EXPERIMENT.toml", required = true)]
    pub experiments: Vec<String>,
    /// Measurement to hold every experiment against, in place of its workload: a recording with latencies, the JSON of
    /// fio, or a curve of the rate over the bytes written. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub against: Vec<String>,
    /// Set a key to another value than in the files, such as device.preset=nvme-tlc.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Number of requests to simulate at most of a load of which only figures were measured, such as a job of fio. As
    /// many are simulated as give p99.9 an interval of less than 5 %.
    #[arg(long, value_name = "N", default_value_t = 640_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    pub requests: u64,
    /// Age every drive anew, without the cache of aged drives (FLASHLOOM_CACHE, or the user's cache folder).
    #[arg(long)]
    pub no_cache: bool,
    /// Write the result as JSON to a file, or to standard output (-) instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
}

/// Arguments of `fit`.
#[derive(Debug, Args)]
pub struct FitArguments {
    /// Measurements of one drive: the JSON of fio, of which each job is a cell, recordings with latencies, of which
    /// each slice is, and curves of the rate over the bytes written, of which each stretch is.
    #[arg(value_name = "INPUT", required_unless_present = "write_jobs")]
    pub inputs: Vec<String>,
    /// Write fio jobs to a folder instead, whose results tell the parameters of a drive apart, with a page on how to
    /// run them. Jobs that only read and jobs that overwrite the drive have a folder each; none names a drive.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["inputs", "start", "output"])]
    pub write_jobs: Option<String>,
    /// Time that these jobs take.
    #[arg(long, value_name = "TIME", default_value = JobTime::FiveMinutes.name())]
    #[arg(value_parser = choice(JobTime::CHOICES, JobTime::named))]
    #[arg(requires = "write_jobs")]
    pub time: JobTime,
    /// Drive to start from: a preset, or an experiment, whose section `fit` has the parameters.
    #[arg(long, value_name = "PRESET-or-EXPERIMENT.toml", required_unless_present = "write_jobs")]
    pub start: Option<String>,
    /// File to write the fitted drive to, for device.preset.
    #[arg(short, long, value_name = "FILE.toml", required_unless_present = "write_jobs")]
    pub output: Option<String>,
    /// Parameter to fit: a quantity between two ends (device.read_time=20us..90us), or a key with the values to try
    /// (device.ways=1,2,4). Without any, here and in the start, the times, rates and ways of the start vary.
    #[arg(long, value_name = "KEY=FROM..TO")]
    pub vary: Vec<String>,
    /// Set a key to another value than the start's.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Cells to hold out: no search for the parameters that they judge sees them.
    #[arg(long, value_name = "RULE", default_value = HoldOut::Second.name())]
    #[arg(value_parser = choice(HoldOut::CHOICES, HoldOut::named))]
    pub hold_out: HoldOut,
    /// Number of requests to simulate of each job of fio, and at most of each slice of a recording.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    pub requests: u64,
    /// Number of slices to cut a recording into: its beginning, of that many times --requests requests at most.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub slices: u64,
    /// Number of searches from different points. More find more values that are as good.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub restarts: u64,
    /// Seed of the points from which the searches start. That of the simulations is run.seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// File that keeps every simulation as it ends, so that a fit that was stopped continues. Without it, a file beside
    /// the output, which is removed when the fit has ended.
    #[arg(long, value_name = "FILE")]
    pub journal: Option<String>,
    /// Number of simulations in parallel; as many as there are processors if it is left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    pub jobs: Option<u16>,
    /// Write the result as JSON to a file, or to standard output (-) instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
}

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// Name of a paper; `together` combines the papers' ideas, `all` makes every report.
    #[arg(value_parser = PossibleValuesParser::new(PAPERS.iter().copied().chain([ALL])))]
    pub paper: String,
    /// Reproduce one figure or table of the paper alone, by the id that its rows begin with (figure-3-oltp), and print
    /// its rows. The beginning of ids up to a hyphen takes all of these (figure-3, not figure-30). May be given several
    /// times.
    #[arg(long, value_name = "FIGURE", conflicts_with = "out")]
    pub only: Vec<String>,
    /// Shorten workloads and drives: a rehearsal of everything in a few minutes.
    #[arg(long)]
    pub quick: bool,
    /// Folder of recordings; generators replace those that are missing.
    #[arg(long, value_name = "DIR")]
    pub traces: Option<String>,
    /// Write the reports as Markdown and JSON, and every figure as CSV, to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Age every drive anew, without the cache of aged drives (FLASHLOOM_CACHE, or the user's cache folder).
    #[arg(long)]
    pub no_cache: bool,
    /// Number of runs in parallel; as many as there are processors if it is left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    pub jobs: Option<u16>,
}

/// Parses a share between a half and one: above half, so that two regions at once count as more than one.
fn share(text: &str) -> Result<f64, String> {
    let share = parse_ratio(text).map_err(|refusal| refusal.to_string())?;
    if (0.5..1.0).contains(&share) { Ok(share) } else { Err("expected at least 0.5 and less than 1".to_owned()) }
}
