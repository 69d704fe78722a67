//! Observers of a run, as options of `flashloom run` ask for.

use std::io;

use flashloom::device::Observer;
use flashloom::experiment::config::{Experiment, Timing};
use flashloom::experiment::log::{Log, LogFormat};
use flashloom::experiment::perfetto::Perfetto;
use flashloom::experiment::slowest::Slowest;
use flashloom::experiment::timeline::Timeline;
use flashloom::units::{Problem, Problems, Refusal};

use crate::arguments::RunArguments;
use crate::output::{OutputFile, Stop, all};

/// The observers; those not asked for are `None`.
pub struct Watchers {
    timeline: Option<Timeline<OutputFile>>,
    log: Option<Log<OutputFile>>,
    slowest: Option<Slowest>,
    perfetto: Option<Perfetto<OutputFile>>,
}

impl Watchers {
    /// Opens the files that the observers write, once every requested observer is known to work.
    ///
    /// # Errors
    /// A file that cannot be written, or a request for latencies or a trace where no time passes.
    pub fn new(experiment: &Experiment, arguments: &RunArguments) -> Result<Self, Problems> {
        let (log_format, mut problems) = match &arguments.log {
            Some(path) => match LogFormat::of_path(path) {
                Some(format) => (Some((path, format)), Vec::new()),
                None => (None, vec![unknown_ending(path)]),
            },
            None => (None, Vec::new()),
        };
        let of_time = [
            ("--log", arguments.log.is_some()),
            ("--slowest", arguments.slowest.is_some()),
            ("--perfetto", arguments.perfetto.is_some()),
        ];
        let asked = of_time.into_iter().filter(|(_, is_asked)| *is_asked).map(|(option, _)| option);
        problems.extend(problems_without_time(experiment, asked));
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let config = &experiment.variants[0].config;
        let (geometry, has_cache) = (config.device.geometry(), config.has_slc_cache());
        let create =
            |(path, format): (&String, LogFormat)| Ok::<_, Problem>(Log::new(OutputFile::create(path)?, format));
        Ok(Self {
            timeline: OutputFile::optional(arguments.timeline.as_deref())?
                .map(|output| Timeline::new(output, has_cache)),
            log: log_format.map(create).transpose()?,
            slowest: arguments.slowest.map(|count| Slowest::new(count.into()).on(geometry)),
            perfetto: OutputFile::optional(arguments.perfetto.as_deref())?.map(Perfetto::new),
        })
    }

    /// The observers that were asked for.
    pub fn observers(&mut self) -> Vec<&mut dyn Observer> {
        let Self { timeline, log, slowest, perfetto } = self;
        let timeline = timeline.iter_mut().map(|timeline| timeline as &mut dyn Observer);
        let log = log.iter_mut().map(|log| log as &mut dyn Observer);
        let slowest = slowest.iter_mut().map(|slowest| slowest as &mut dyn Observer);
        let perfetto = perfetto.iter_mut().map(|perfetto| perfetto as &mut dyn Observer);
        timeline.chain(log).chain(slowest).chain(perfetto).collect()
    }

    /// The story of the slowest requests.
    pub fn story(&self) -> Option<String> {
        self.slowest.as_ref().map(Slowest::story)
    }

    /// Moves the files to their places, whose names the arguments have: every one that could be written, even if
    /// another failed.
    ///
    /// # Errors
    /// Every file that could not be written.
    pub fn commit(self, arguments: &RunArguments) -> Result<(), Stop> {
        let timeline = commit(arguments.timeline.as_deref(), self.timeline.map(Timeline::finish));
        let log = commit(arguments.log.as_deref(), self.log.map(Log::finish));
        let perfetto = commit(arguments.perfetto.as_deref(), self.perfetto.map(Perfetto::finish));
        all([timeline, log, perfetto])
    }
}

fn commit(name: Option<&str>, file: Option<io::Result<OutputFile>>) -> Result<(), Stop> {
    let (Some(name), Some(file)) = (name, file) else { return Ok(()) };
    file.map_err(|error| Stop::Failed(format!("error: {name} cannot be written: {error}")))?.finish()
}

fn unknown_ending(path: &str) -> Problem {
    let problem = Problem::file(path, "the name does not tell how to write the log", "a name in .csv or .parquet");
    problem.with_help("a log in .csv can be replayed as a trace; .parquet is smaller, for tools that read columns")
}

/// Refuses options that need time in counting mode, where nothing takes time.
fn problems_without_time<'a>(
    experiment: &Experiment,
    options: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = Problem> {
    let config = &experiment.variants[0].config;
    let is_counting = config.run.timing == Timing::Counting;
    options.filter(move |_| is_counting).map(|option| {
        let expected = "\"timed\": requests take no time in counting mode";
        let refusal = Refusal::new(format!("`{option}` of a run without time"), expected);
        experiment.problem(config, refusal.at(["run.timing"]))
    })
}
