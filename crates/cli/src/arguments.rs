//! What the command line takes.

use std::num::NonZeroUsize;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use flashloom::experiment::probe::ProbeParams;
use flashloom::experiment::reference;
use flashloom::report::published::PAPERS;
use flashloom::units::{Choice, parse_ratio};
use flashloom::workload::{Event, Format, OutFormat, TraceOptions};

use crate::command::reproduce::ALL;

/// A laboratory for the whole flash storage stack: I/O scheduler, write buffer, FTL and NAND in one checked simulator.
#[derive(Debug, Parser)]
#[command(name = "flashloom", version, about, propagate_version = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one experiment and show its result.
    Run(RunArguments),
    /// Run an experiment with every combination of the values of some keys, and show the results side by side.
    Compare(CompareArguments),
    /// Measure which regions a drive has, and how many requests one of them serves at once.
    Probe(ProbeArguments),
    /// Run the experiments of published papers, and hold what comes out against what was published.
    Reproduce(ReproduceArguments),
    /// Run one experiment and write its requests, as they arrive or as its scheduler issues them, as a recording.
    Generate(GenerateArguments),
    /// Look at recordings of block requests, and convert them.
    Trace {
        /// What to do with it.
        #[command(subcommand)]
        command: TraceCommand,
    },
    /// List what there is to choose from.
    List {
        /// One list; all of them if it is left out.
        #[arg(value_parser = PossibleValuesParser::new(reference::list_names()))]
        list: Option<String>,
    },
    /// Explain a policy, a section, a key (host.queue_depth), a value (steady), a device, a format, a field (p99_9), a
    /// column or row (free_blocks, longest wait): any name that a configuration takes or an output prints.
    Explain {
        /// Its name; one of several words needs no quotes.
        #[arg(required = true)]
        name: Vec<String>,
    },
}

/// What `run` takes.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The experiment, a TOML file.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Give a key another value than the file does, such as host.scheduler=noop.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write the result as JSON to a file, or to standard output (-) in place of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Check every flash command, and every sector read against what was last written there.
    #[arg(long)]
    pub verify: bool,
    /// Write the course of the run over simulated time as CSV.
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<String>,
    /// Write a row for every request that has ended: when it went where, and where its time went. The name of the file
    /// ends in .csv, which can be replayed as a trace, or in .parquet.
    #[arg(long, value_name = "FILE")]
    pub log: Option<String>,
    /// Tell where the time of the N slowest requests (1 to 1000) went, after the result; on standard error with --json
    /// -.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub slowest: Option<u16>,
    /// Write the drive as it is after ageing, before the workload, for later runs with run.state.
    #[arg(long, value_name = "FILE")]
    pub save_state: Option<String>,
    /// Age the drive anew, and leave the folder of aged drives alone (FLASHLOOM_CACHE, or the user's cache folder).
    #[arg(long)]
    pub no_cache: bool,
    /// Leave out the hints on what makes the figures mean less than they seem, in the JSON too.
    #[arg(long, visible_alias = "quiet")]
    pub no_hints: bool,
    /// Write the results of a fio job file as fio does (--output-format=json).
    #[arg(long, value_name = "FILE")]
    pub fio_json: Option<String>,
}

/// What `generate` takes.
#[derive(Debug, Args)]
pub struct GenerateArguments {
    /// The experiment, a TOML file.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// The file to write, compressed if it ends in .gz or .zst.
    #[arg(long, value_name = "FILE")]
    pub out: String,
    /// The format to write; told from the name of the file if it is left out.
    #[arg(long, value_parser = choice(OutFormat::CHOICES, OutFormat::named))]
    pub to: Option<OutFormat>,
    /// Which requests: those that the workload queues, or what the scheduler made of them and issued to the drive.
    #[arg(long, default_value = Event::Queue.name(), value_parser = choice(Event::CHOICES, Event::named))]
    pub event: Event,
    /// Give a key another value than the file does, such as host.scheduler=noop.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Leave out what the format to write cannot hold, and count it.
    #[arg(long)]
    pub drop_unsupported: bool,
}

/// What `probe` takes.
#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// The experiment whose drive is probed, a TOML file; its workload and its scheduler take no part.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Give a key another value than the file does, such as ftl.static.layout=contiguous.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Length of a request, such as 4KiB; a page of the drive if it is left out.
    #[arg(long, value_name = "SIZE")]
    pub request_size: Option<String>,
    /// The most requests outstanding; host.queue_depth if it is left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub outstanding: Option<u32>,
    /// Requests to measure at each point on each drive.
    #[arg(long, value_name = "N", default_value_t = ProbeParams::DEFAULT.requests)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub requests: u32,
    /// Drives to measure, each with a seed of its own from run.seed on.
    #[arg(long, value_name = "N", default_value_t = ProbeParams::DEFAULT.seeds)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub seeds: u32,
    /// The share of a throughput that counts as reaching it.
    #[arg(long, value_name = "SHARE", default_value_t = ProbeParams::DEFAULT.reach, value_parser = share)]
    pub reach: f64,
    /// Write the result as JSON to a file, or to standard output (-) in place of the tables.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
}

/// What `compare` takes.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The experiment, a TOML file; its section `vary` counts for keys that no --vary names.
    #[arg(value_name = "EXPERIMENT.toml")]
    pub experiment: String,
    /// Run with each of these values of a key; several keys make every combination. Counts have ranges:
    /// host.queue_depth=1..8, or 1..31..10 for 1, 11, 21 and 31.
    #[arg(long, value_name = "KEY=A,B,C")]
    pub vary: Vec<String>,
    /// Run each combination with N seeds (2 to 1000) from run.seed on, and show means, their 95 % intervals and the
    /// paired differences to the first combination.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub seeds: Option<u32>,
    /// Give a key another value than the file does, in every run.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Leave out combinations whose values do not go together, and list them.
    #[arg(long)]
    pub skip_unfit: bool,
    /// Check every flash command, and every sector read against what was last written there.
    #[arg(long)]
    pub verify: bool,
    /// Show these figures in place of the usual ones: fields of results by their path or its last parts, such as
    /// read.p99_9 or ftl.waf, names of columns, or `usual` for all of those.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Show how far each row is from the best that is possible with the same accesses: page writes that miss the write
    /// buffer against Belady's order, erases against the fewest, write amplification beside that of a clairvoyant
    /// FTL; and of at most 8 requests, time and latency against every order of dispatch.
    #[arg(long)]
    pub bounds: bool,
    /// Show what the policies that vary count themselves, too.
    #[arg(long)]
    pub statistics: bool,
    /// Leave out the hints on what makes the figures mean less than they seem, in the JSON too.
    #[arg(long, visible_alias = "quiet")]
    pub no_hints: bool,
    /// Run without what the file expects (its `expect` tables), which may name runs that options leave out.
    #[arg(long)]
    pub no_expect: bool,
    /// Age every drive anew, and leave the folder of aged drives alone (FLASHLOOM_CACHE, or the user's cache folder).
    #[arg(long)]
    pub no_cache: bool,
    /// How many runs go on at the same time; as many as there are processors if it is left out.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Write the result of each run to this folder as it comes, and take those that are there already in place of
    /// running again: a comparison that was stopped goes on where it was.
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Write the results as JSON to a file, or to standard output (-) in place of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Write every figure of every run as CSV, one line a run; of --seeds, the means and intervals below.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<String>,
}

/// What `reproduce` takes.
#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// A paper; `together` combines their ideas, `all` makes every report.
    #[arg(value_parser = PossibleValuesParser::new(PAPERS.iter().copied().chain([ALL])))]
    pub paper: String,
    /// Make one figure or table of the paper alone, by the beginning of its rows' ids (figure-4), and print its rows;
    /// may be given several times.
    #[arg(long, value_name = "FIGURE", conflicts_with = "out")]
    pub only: Vec<String>,
    /// Shorten workloads and drives: a rehearsal of everything in a few minutes.
    #[arg(long)]
    pub quick: bool,
    /// Where recordings are; generators take the place of those that are not there.
    #[arg(long, value_name = "DIR")]
    pub traces: Option<String>,
    /// Write the reports as Markdown and JSON, and every figure as CSV, to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// How many runs go on at the same time; as many as there are processors if it is left out.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// What to do with a recording.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Read a recording to its end, check every line, and say what it holds.
    Info(InfoArguments),
    /// Write a recording in another format; the names of the files tell formats and compression.
    Convert(ConvertArguments),
}

/// What `trace info` takes.
#[derive(Debug, Args)]
pub struct InfoArguments {
    /// The recording; for blktrace any of the per-CPU files, or their common prefix.
    pub file: String,
    /// Its format; told from the content if it is left out.
    #[arg(long, value_parser = choice(Format::CHOICES, Format::named))]
    pub format: Option<Format>,
    #[command(flatten)]
    reading: Reading,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What `trace convert` takes.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// The recording; for blktrace any of the per-CPU files, or their common prefix.
    #[arg(value_name = "IN")]
    pub input: String,
    /// The file to write, compressed if it ends in .gz or .zst.
    #[arg(value_name = "OUT")]
    pub output: String,
    /// The format of the recording; told from the content if it is left out.
    #[arg(long, value_parser = choice(Format::CHOICES, Format::named))]
    pub from: Option<Format>,
    /// The format to write; told from the name of the file if it is left out.
    #[arg(long, value_parser = choice(OutFormat::CHOICES, OutFormat::named))]
    pub to: Option<OutFormat>,
    #[command(flatten)]
    reading: Reading,
    /// Leave out what the format to write cannot hold, and count it.
    #[arg(long)]
    pub drop_unsupported: bool,
}

/// How a recording is read.
#[derive(Debug, Args)]
struct Reading {
    /// Which event of a blktrace or blkparse recording is a request.
    #[arg(long, default_value = Event::Queue.name(), value_parser = choice(Event::CHOICES, Event::named))]
    event: Event,
    /// Order the requests by time.
    #[arg(long)]
    sort: bool,
    /// Leave out lines that cannot be read, and report them.
    #[arg(long)]
    skip_bad_lines: bool,
}

impl Reading {
    fn options(&self, format: Option<Format>) -> TraceOptions {
        TraceOptions { format, event: self.event, sort: self.sort, skip_bad_lines: self.skip_bad_lines }
    }
}

impl InfoArguments {
    /// How the recording is to be read.
    pub fn options(&self) -> TraceOptions {
        self.reading.options(self.format)
    }
}

impl ConvertArguments {
    /// How the recording is to be read.
    pub fn options(&self) -> TraceOptions {
        self.reading.options(self.from)
    }
}

/// A share between a half and one: above half, so that two regions at once are more than one.
fn share(text: &str) -> Result<f64, String> {
    let share = parse_ratio(text).map_err(|refusal| refusal.to_string())?;
    if (0.5..1.0).contains(&share) { Ok(share) } else { Err("expected at least 0.5 and less than 1".to_owned()) }
}

/// A parser for one of a closed set of names, with their help.
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
