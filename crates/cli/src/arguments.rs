//! Command line arguments. Every build has every command; those of features that it lacks take whatever is given.

#[cfg(not(feature = "full"))]
mod absent;
#[cfg(feature = "export")]
mod report;
#[cfg(feature = "live")]
mod serve;
#[cfg(feature = "study")]
mod study;

#[cfg(feature = "install")]
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
#[cfg(feature = "install")]
use clap_complete::Shell;
use flashloom::explain;
use flashloom::units::Choice;
use flashloom::workload::{ALL_DEVICES, Event, Format, OutFormat, SizeUnit, TimeUnit, TraceOptions};

#[cfg(not(feature = "full"))]
pub use absent::Absent;
#[cfg(feature = "export")]
pub use report::ReportArguments;
#[cfg(feature = "live")]
pub use serve::{ServeArguments, ServePace};
#[cfg(feature = "study")]
pub use study::{ALL, FitArguments, ProbeArguments, ReproduceArguments, ValidateArguments};

#[cfg(not(feature = "export"))]
pub use Absent as ReportArguments;
#[cfg(not(feature = "live"))]
pub use Absent as ServeArguments;
#[cfg(not(feature = "study"))]
pub use {Absent as FitArguments, Absent as ProbeArguments, Absent as ReproduceArguments, Absent as ValidateArguments};

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
        #[arg(value_parser = PossibleValuesParser::new(explain::list_names()))]
        list: Option<String>,
    },
    /// Explain a policy, a section, a key (host.queue_depth), a value (steady), a device, a format, a field (p99_9), a
    /// column or row (free_blocks, longest merge): any name that a configuration takes or an output prints.
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
    Completions(CompletionsArguments),
    /// Write the manual pages, one for each command, into a folder.
    Man(ManArguments),
}

#[cfg(not(feature = "full"))]
impl Command {
    /// Name of a command of which a build may lack the feature.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Probe(_) => "probe",
            Self::Validate(_) => "validate",
            Self::Fit(_) => "fit",
            Self::Reproduce(_) => "reproduce",
            Self::Serve(_) => "serve",
            Self::Report(_) => "report",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
            _ => "of every build",
        }
    }
}

#[cfg(not(feature = "install"))]
pub use {Absent as CompletionsArguments, Absent as ManArguments};

/// Arguments of `completions`.
#[cfg(feature = "install")]
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// Shell to complete for.
    pub shell: Shell,
}

/// Arguments of `man`.
#[cfg(feature = "install")]
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Folder to write to, which exists: such as /usr/local/share/man/man1.
    pub folder: PathBuf,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Experiment, a TOML file.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Set a key to another value than in the file, such as host.scheduler=noop; the last of several for a key counts.
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
    /// Set a key to another value than in the file, such as host.scheduler=noop; the last of several for a key counts.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Leave out and count requests and marks that the output format cannot hold.
    #[arg(long)]
    pub drop_unsupported: bool,
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
    /// Set a key to another value than in the file, in every run; the last of several for a key counts.
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
    pub reading: Reading,
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
    pub reading: Reading,
    /// Leave out and count requests and marks that the output format cannot hold.
    #[arg(long)]
    pub drop_unsupported: bool,
}

/// Options for reading a trace.
#[derive(Debug, Args)]
pub struct Reading {
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
    /// These, and a format.
    pub fn options(&self, format: Option<Format>) -> TraceOptions {
        let Self { event, sort, skip_bad_lines, ref device, size_unit, time_unit } = *self;
        let device = device.clone().filter(|device| device != ALL_DEVICES);
        TraceOptions { format, event, completions: false, sort, skip_bad_lines, device, size_unit, time_unit }
    }
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
