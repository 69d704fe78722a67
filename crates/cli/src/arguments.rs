//! Command line arguments.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand};
use clap_complete::Shell;
use flashloom::experiment::fit::{HoldOut, JobTime};
use flashloom::experiment::probe::ProbeParams;
use flashloom::experiment::reference;
use flashloom::report::published::PAPERS;
use flashloom::units::{Choice, parse_ratio, parse_size};
use flashloom::workload::{ALL_DEVICES, Event, Format, OutFormat, SizeUnit, TimeUnit, TraceOptions};

use crate::command::reproduce::ALL;

/// Threads at most: more than the processors of any one machine.
const MOST_JOBS: i64 = 1_024;

/// A laboratory for the whole flash storage stack: I/O scheduler, write buffer, FTL and NAND in one checked simulator.
#[derive(Debug, Parser)]
#[command(name = "flashloom", version, about, propagate_version = true)]
pub struct Arguments {
    /// Command to execute.
    #[command(subcommand)]
    pub command: Command,
}

/// Command of the program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one experiment and show its result.
    Run(RunArguments),
    /// Run an experiment with every combination of the values of some keys, and show the results side by side.
    Compare(CompareArguments),
    /// Measure which regions a drive has, and how many requests one of them serves at once.
    Probe(ProbeArguments),
    /// Hold drives against measurements of real ones: recorded latencies, stalls and rates beside simulated ones, each
    /// with the error of a null model that knows the measurement's own mean.
    Validate(ValidateArguments),
    /// Look for the parameters of a drive that repeat measurements of a real one, and write the drive as a file that
    /// device.preset takes, with its errors on measurements that were held out.
    Fit(FitArguments),
    /// Run the experiments of published papers, and compare the results with the published figures.
    Reproduce(ReproduceArguments),
    /// Serve an experiment's drive, with data in it, to programs and systems as a block device, over NBD, until it is
    /// interrupted; then show its result.
    Serve(ServeArguments),
    /// Write a result, a comparison or the data set of a sweep as one HTML page with pictures, which works offline and
    /// prints.
    Report(ReportArguments),
    /// Run one experiment and write its requests as a trace: as they arrive, or as its scheduler issues them.
    Generate(GenerateArguments),
    /// Inspect and convert traces (recordings of block requests).
    Trace {
        /// Operation on the trace.
        #[command(subcommand)]
        command: TraceCommand,
    },
    /// List the choices: policies, devices, formats and more.
    List {
        /// Name of one list; all of them if it is left out.
        #[arg(value_parser = PossibleValuesParser::new(reference::list_names()))]
        list: Option<String>,
    },
    /// Explain a policy, a section, a key (host.queue_depth), a value (steady), a device, a format, a field (p99_9), a
    /// column or row (free_blocks, longest wait): any name that a configuration takes or an output prints.
    Explain {
        /// Name to explain; one of several words needs no quotes.
        #[arg(required = true)]
        name: Vec<String>,
    },
    /// List, measure or clear the cache: aged drives, and inputs that the package for Python has downloaded.
    Cache {
        /// What to do with it.
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Print the completions of a shell, to be stored where that shell looks for them.
    Completions {
        /// Shell to complete for.
        shell: Shell,
    },
    /// Write the manual pages, one for each command, into a folder.
    Man {
        /// Folder to write to, which exists: such as /usr/local/share/man/man1.
        folder: PathBuf,
    },
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Experiment, a TOML file.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Set a key to another value than in the file, such as host.scheduler=noop.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write the result as JSON to a file, or to standard output (-) instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Check every flash command against the rules of NAND, and every sector read against the data last written to it.
    #[arg(long)]
    pub verify: bool,
    /// Write the run's state over simulated time as CSV.
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<String>,
    /// Write a row for every completed request: the time at which it passed each stage, and its latency by cause. The
    /// name of the file ends in .csv, which can be replayed as a trace, or in .parquet.
    #[arg(long, value_name = "FILE")]
    pub log: Option<String>,
    /// Write the run as a trace for the Perfetto viewer (ui.perfetto.dev): requests, scheduler, buffer, channels, dies
    /// and collections as tracks, with arrows from a request to the flash operations that are done for it.
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<String>,
    /// Tell the story of the N slowest requests (1 to 1000) after the result: where their latency came from. With
    /// --json - it goes to standard error.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub slowest: Option<u16>,
    /// Save the drive's state after ageing, before the workload, for later runs with run.state.
    #[arg(long, value_name = "FILE")]
    pub save_state: Option<String>,
    /// Age the drive anew, without the cache of aged drives (FLASHLOOM_CACHE, or the user's cache folder).
    #[arg(long)]
    pub no_cache: bool,
    /// Leave out hints, in the JSON too: warnings that a figure means less than it seems.
    #[arg(long)]
    pub no_hints: bool,
    /// Show no progress on standard error.
    #[arg(long)]
    pub quiet: bool,
    /// Write the results of a fio job file as JSON in fio's format (--output-format=json).
    #[arg(long, value_name = "FILE")]
    pub fio_json: Option<String>,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("place").required(true).args(["unix", "tcp"]))]
pub struct ServeArguments {
    /// Experiment whose drive is served, a TOML file; its workload and its scheduler are not used.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Listen on a Unix socket of this name.
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// Listen on a TCP port of an address of this machine, such as 127.0.0.1:10809. NBD asks nobody who they are.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub tcp: Option<SocketAddr>,
    /// Take orders at a Unix socket of this name, one JSON object a line: {"do": "status"}, result, snapshot
    /// or end.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Show the drive on a page at an address of this machine alone, such as 127.0.0.1:8080.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub web: Option<SocketAddr>,
    /// Set a key to another value than in the file, such as ftl.mapping=fast.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// How time passes.
    #[arg(long, default_value = ServePace::FAST, value_parser = serve_pace())]
    pub pace: ServePace,
    /// Simulated seconds that pass in a second of the wall clock, with --pace real (0.001 to 1000).
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub speed: Option<f64>,
    /// Let requests in that clients have already sent before time jumps, with --pace fast: the drive sees the queue
    /// depth of its clients, and serves about half as many requests a second.
    #[arg(long)]
    pub gather: bool,
    /// Requests of a connection that are inside at a time; at least the drive's queue depth, and 16, if it is left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Most memory for data, such as 8GiB; further data lies in a file without a name in the folder for temporary
    /// files.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = size)]
    pub memory: u64,
    /// Keep drive and data in this file across services: loaded if it is there, and written at the end.
    #[arg(long, value_name = "FILE")]
    pub image: Option<String>,
    /// Write a line for every request: a trace in Flashloom's own CSV which, replayed, gives the same result.
    #[arg(long, value_name = "FILE.csv")]
    pub log: Option<String>,
    /// Write the result as JSON to a file, or to standard output (-) instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Age the drive anew, without the cache of aged drives (FLASHLOOM_CACHE, or the user's cache folder).
    #[arg(long)]
    pub no_cache: bool,
    /// Leave out hints, in the JSON too: warnings that a figure means less than it seems.
    #[arg(long)]
    pub no_hints: bool,
}

/// How time passes on a drive that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServePace {
    /// As fast as the simulation goes.
    Fast,
    /// By the wall clock.
    Real,
}

impl ServePace {
    const FAST: &str = "fast";
}

/// The paces.
fn serve_pace() -> impl TypedValueParser<Value = ServePace> {
    one_of([
        (ServePace::Fast, ServePace::FAST, "as fast as the simulation goes: time jumps from completion to completion"),
        (ServePace::Real, "real", "by the wall clock: a request takes as long as on the drive"),
    ])
}

/// A factor between the clocks.
fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok().filter(|speed| (0.001..=1_000.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.001 to 1000".to_owned())
}

/// An address and a port. Names are not looked up: one may have several addresses.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let expected = "expected an address and a port, such as 127.0.0.1:8080 or [::1]:8080";
        let name = text.rsplit_once(':').map_or(text, |(name, _)| name);
        let port = text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        match (name, port) {
            ("localhost", Some(port)) => format!("{expected}; names are not looked up: localhost is 127.0.0.1:{port}"),
            ("localhost", None) => format!("{expected}; names are not looked up: localhost is 127.0.0.1:PORT"),
            _ => expected.to_owned(),
        }
    })
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|refusal| refusal.to_string())
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Result, as `run --json`, `compare --json`, `compare --out` or `validate --json` wrote it; or the data set of a
    /// sweep, the folder that `flashloom.sweep` of the Python package wrote, or one of its files.
    #[arg(value_name = "RESULT.json|DATASET")]
    pub result: String,
    /// Page to write.
    #[arg(short, long, value_name = "FILE.html")]
    pub out: String,
    /// Report on one run of a comparison, by its number from 1.
    #[arg(long, value_name = "N")]
    pub run: Option<NonZeroUsize>,
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct GenerateArguments {
    /// Experiment, a TOML file.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Trace file to write, compressed if it ends in .gz or .zst.
    #[arg(long, value_name = "FILE")]
    pub out: String,
    /// Format to write; told from the name of the file if it is left out.
    #[arg(long, value_parser = choice(OutFormat::CHOICES, OutFormat::named))]
    pub to: Option<OutFormat>,
    /// Requests to write: those that the workload queues, or those that the scheduler issues to the drive, after
    /// merging.
    #[arg(long, default_value = Event::Queue.name(), value_parser = choice(Event::CHOICES, Event::named))]
    pub event: Event,
    /// Set a key to another value than in the file, such as host.scheduler=noop.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Leave out and count requests and marks that the output format cannot hold.
    #[arg(long)]
    pub drop_unsupported: bool,
}

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
    #[arg(long, value_name = "TIME", default_value = JobTime::FiveMinutes.name(), value_parser = job_time())]
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
    #[arg(long, value_name = "RULE", default_value = HoldOut::Second.name(), value_parser = hold_out())]
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

/// The rules by which cells are held out.
fn hold_out() -> impl TypedValueParser<Value = HoldOut> {
    one_of(HoldOut::ALL.map(|rule| (rule, rule.name(), rule.help())))
}

/// The times that fio jobs take.
fn job_time() -> impl TypedValueParser<Value = JobTime> {
    one_of(JobTime::ALL.map(|time| (time, time.name(), time.help())))
}

/// A parser for one of these values, each with its name and its help.
fn one_of<T, const N: usize>(values: [(T, &'static str, &'static str); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let named = values.map(|(_, name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(named).map(move |chosen| {
        let found = values.iter().find(|(_, name, _)| *name == chosen);
        found.expect("only these names are possible").0
    })
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Experiment, a TOML file; its section `vary` applies to keys that no --vary names.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Run with each of these values of a key; several keys make every combination, unless they vary together in one
    /// option: 'KEY=A,B; OTHER=C,D'. Counts have ranges: host.queue_depth=1..8, or 1..31..10 for 1, 11, 21 and 31.
    #[arg(long, value_name = "KEY=A,B,C")]
    pub vary: Vec<String>,
    /// Run each combination with N seeds (2 to 1000) from run.seed on, and show means, their 95 % confidence intervals
    /// and the paired differences to the first combination. Of a recording each seed is a replicate: begun at another
    /// request, with arrivals or queue depth that waver a little.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub seeds: Option<u32>,
    /// Set a key to another value than in the file, in every run.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Leave out and list combinations whose values cannot work together.
    #[arg(long)]
    pub skip_unfit: bool,
    /// Check every flash command against the rules of NAND, and every sector read against the data last written to it.
    #[arg(long)]
    pub verify: bool,
    /// Show these figures instead of the usual ones: fields of results by their path or its last parts, such as
    /// read.p99_9 or ftl.waf, names of columns, or `usual` for all the usual ones.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Show how far each row is from the best that is possible with the same accesses: page writes that miss the write
    /// buffer against Belady's order, erases against the fewest, write amplification beside that of a clairvoyant
    /// FTL; and of at most 8 requests, time and latency against every order of dispatch.
    #[arg(long)]
    pub bounds: bool,
    /// Show the statistics of the policies that vary, too.
    #[arg(long)]
    pub statistics: bool,
    /// Leave out hints, in the JSON too: warnings that a figure means less than it seems.
    #[arg(long)]
    pub no_hints: bool,
    /// Show no progress on standard error: neither the bar nor a line for each run that has ended.
    #[arg(long)]
    pub quiet: bool,
    /// Ignore the file's expectations (its `expect` tables), which may name runs that other options leave out.
    #[arg(long)]
    pub no_expect: bool,
    /// Age every drive anew, without the cache of aged drives (FLASHLOOM_CACHE, or the user's cache folder).
    #[arg(long)]
    pub no_cache: bool,
    /// Number of runs in parallel; as many as there are processors if it is left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    pub jobs: Option<u16>,
    /// Write the result of each run to this folder as it ends, and reuse results that are already there: a comparison
    /// that was stopped continues.
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Write the results as JSON to a file, or to standard output (-) instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Write every figure of every run as CSV, one line per run; with --seeds, means and intervals follow.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<String>,
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

/// Operation on the cache: the folder that FLASHLOOM_CACHE names, or the user's cache folder.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// List the files of the cache, the least recently used first: these make room when FLASHLOOM_CACHE_LIMIT is
    /// reached (8GiB if it is not set).
    List(CacheArguments),
    /// Show how much the cache takes, and how much it may take.
    Size(CacheArguments),
    /// Remove the files of the cache, and what killed runs have left there. Files of other names stay, and so do those
    /// that a run is reading.
    Clear(CacheArguments),
}

/// Arguments of the operations on the cache.
#[derive(Debug, Args)]
pub struct CacheArguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Operation on a trace.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Read a trace to its end, check every line, and summarise it.
    Info(InfoArguments),
    /// Write a trace in another format; the names of the files tell formats and compression.
    Convert(ConvertArguments),
}

/// Arguments of `trace info`.
#[derive(Debug, Args)]
pub struct InfoArguments {
    /// Trace file; for blktrace any of the per-CPU files, or their common prefix.
    pub file: String,
    /// Format of the trace; detected from the content if it is left out.
    #[arg(long, value_parser = choice(Format::CHOICES, Format::named))]
    pub format: Option<Format>,
    #[command(flatten)]
    reading: Reading,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `trace convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// Trace file to read; for blktrace any of the per-CPU files, or their common prefix.
    #[arg(value_name = "IN")]
    pub input: String,
    /// Trace file to write, compressed if it ends in .gz or .zst.
    #[arg(value_name = "OUT")]
    pub output: String,
    /// Format of the input; detected from the content if it is left out.
    #[arg(long, value_parser = choice(Format::CHOICES, Format::named))]
    pub from: Option<Format>,
    /// Format to write; told from the name of the file if it is left out.
    #[arg(long, value_parser = choice(OutFormat::CHOICES, OutFormat::named))]
    pub to: Option<OutFormat>,
    #[command(flatten)]
    reading: Reading,
    /// Leave out and count requests and marks that the output format cannot hold.
    #[arg(long)]
    pub drop_unsupported: bool,
}

/// Options for reading a trace.
#[derive(Debug, Args)]
struct Reading {
    /// Event of a blktrace or blkparse recording that counts as a request.
    #[arg(long, default_value = Event::Queue.name(), value_parser = choice(Event::CHOICES, Event::named))]
    event: Event,
    /// Sort the requests by time.
    #[arg(long)]
    sort: bool,
    /// Leave out and report lines that cannot be read.
    #[arg(long)]
    skip_bad_lines: bool,
    /// Read the requests of one device of a recording of several, by its name there.
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Unit of the addresses and sizes of a recording in five columns.
    #[arg(long, value_name = "UNIT", value_parser = choice(SizeUnit::CHOICES, SizeUnit::named))]
    size_unit: Option<SizeUnit>,
    /// Unit of the times of a recording in five columns.
    #[arg(long, value_name = "UNIT", value_parser = choice(TimeUnit::CHOICES, TimeUnit::named))]
    time_unit: Option<TimeUnit>,
}

impl Reading {
    fn options(&self, format: Option<Format>) -> TraceOptions {
        let Self { event, sort, skip_bad_lines, ref device, size_unit, time_unit } = *self;
        let device = device.clone().filter(|device| device != ALL_DEVICES);
        TraceOptions { format, event, completions: false, sort, skip_bad_lines, device, size_unit, time_unit }
    }
}

impl InfoArguments {
    /// Options for reading the trace.
    pub fn options(&self) -> TraceOptions {
        self.reading.options(self.format)
    }
}

impl ConvertArguments {
    /// Options for reading the trace.
    pub fn options(&self) -> TraceOptions {
        self.reading.options(self.from)
    }
}

/// Parses a share between a half and one: above half, so that two regions at once count as more than one.
fn share(text: &str) -> Result<f64, String> {
    let share = parse_ratio(text).map_err(|refusal| refusal.to_string())?;
    if (0.5..1.0).contains(&share) { Ok(share) } else { Err("expected at least 0.5 and less than 1".to_owned()) }
}

/// A parser for one of a closed set of names, with their help texts.
fn choice<T: Clone + Send + Sync + 'static>(
    choices: &'static [Choice],
    named: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    let values = choices.iter().map(|choice| PossibleValue::new(choice.name).help(choice.help));
    PossibleValuesParser::new(values).try_map(move |name| named(&name).ok_or("not one of the possible values"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
