//! Observers of a run, as options of `flashloom run` ask for.

use std::io;

use flashloom::config::{Experiment, Timing};
use flashloom::device::Observer;
#[cfg(feature = "export")]
use flashloom::export::{parquet_log::ParquetLog, perfetto::Perfetto};
use flashloom::run::log::{Log, LogFormat};
use flashloom::run::slowest::Slowest;
use flashloom::run::timeline::Timeline;
use flashloom::units::{Problem, Problems, Refusal};

use crate::arguments::RunArguments;
#[cfg(not(feature = "export"))]
use crate::command::absent;
use crate::output::{OutputFile, Stop, all, failed};

/// The observers that were asked for.
pub struct Watchers {
    slowest: Option<Slowest>,
    files: Vec<Written>,
}

/// An observer that writes a file.
struct Written {
    /// Name of the file, as it was given.
    name: String,
    observer: Box<dyn Writer>,
}

trait Writer: Observer {
    /// Writes what is left, and returns the file.
    fn finish(self: Box<Self>) -> io::Result<OutputFile>;
}

macro_rules! writers {
    ($($observer:ident),+) => {$(
        impl Writer for $observer<OutputFile> {
            fn finish(self: Box<Self>) -> io::Result<OutputFile> {
                $observer::finish(*self)
            }
        }
    )+};
}

writers!(Timeline, Log);
#[cfg(feature = "export")]
writers!(ParquetLog, Perfetto);

impl Watchers {
    /// Opens the files that the observers write, once every requested observer is known to work.
    ///
    /// # Errors
    /// A file that cannot be written, a request for latencies or a trace where no time passes, or a format that this
    /// build does not have.
    pub fn new(experiment: &Experiment, arguments: &RunArguments) -> Result<Self, Problems> {
        let RunArguments { timeline, log, perfetto, slowest, .. } = arguments;
        let format = log.as_ref().map(|path| LogFormat::of_path(path).ok_or_else(|| unknown_ending(path)));
        let (format, mut problems) = match format.transpose() {
            Ok(format) => (format, Vec::new()),
            Err(problem) => (None, vec![problem]),
        };
        let of_time = [("--log", log.is_some()), ("--slowest", slowest.is_some()), ("--perfetto", perfetto.is_some())];
        let asked = of_time.into_iter().filter(|(_, is_asked)| *is_asked).map(|(option, _)| option);
        problems.extend(problems_without_time(experiment, asked));
        problems.extend(problems_of_build(format, perfetto.is_some()));
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let config = &experiment.variants[0].config;
        let (geometry, has_cache) = (config.device.geometry(), config.has_slc_cache());
        let mut watchers =
            Self { slowest: slowest.map(|count| Slowest::new(count.into()).on(geometry)), files: Vec::new() };
        watchers.write(timeline, |file| Box::new(Timeline::new(file, has_cache)))?;
        watchers.write(log, |file| match format {
            #[cfg(feature = "export")]
            Some(LogFormat::Parquet) => Box::new(ParquetLog::new(file)),
            // Without the feature `problems_of_build` has refused it.
            #[cfg(not(feature = "export"))]
            Some(LogFormat::Parquet) => unreachable!("no build without exports writes Parquet"),
            Some(LogFormat::Csv) | None => Box::new(Log::new(file)),
        })?;
        #[cfg(feature = "export")]
        watchers.write(perfetto, |file| Box::new(Perfetto::new(file)))?;
        Ok(watchers)
    }

    /// Adds an observer that writes a file, if one is named.
    fn write(
        &mut self,
        name: &Option<String>,
        observer: impl FnOnce(OutputFile) -> Box<dyn Writer>,
    ) -> Result<(), Problem> {
        let Some(name) = name else { return Ok(()) };
        self.files.push(Written { name: name.clone(), observer: observer(OutputFile::create(name)?) });
        Ok(())
    }

    /// The observers that were asked for.
    pub fn observers(&mut self) -> Vec<&mut dyn Observer> {
        let slowest = self.slowest.iter_mut().map(|slowest| slowest as &mut dyn Observer);
        let files = self.files.iter_mut().map(|written| &mut *written.observer as &mut dyn Observer);
        slowest.chain(files).collect()
    }

    /// The story of the slowest requests.
    pub fn story(&self) -> Option<String> {
        self.slowest.as_ref().map(Slowest::story)
    }

    /// Moves the files to their places: every one that could be written, even if another failed.
    ///
    /// # Errors
    /// Every file that could not be written.
    pub fn commit(self) -> Result<(), Stop> {
        all(self.files.into_iter().map(Written::commit))
    }
}

impl Written {
    fn commit(self) -> Result<(), Stop> {
        let Self { name, observer } = self;
        let file = observer.finish();
        file.map_err(|error| failed(format_args!("{name} cannot be written: {error}")))?.finish()
    }
}

fn unknown_ending(path: &str) -> Problem {
    let problem = Problem::file(path, "the name does not tell how to write the log", "a name in .csv or .parquet");
    problem.with_help("a log in .csv can be replayed as a trace; .parquet is smaller, for tools that read columns")
}

/// Refuses what needs a feature.
#[cfg(not(feature = "export"))]
fn problems_of_build(log: Option<LogFormat>, is_traced: bool) -> impl Iterator<Item = Problem> {
    let parquet = (log == Some(LogFormat::Parquet)).then_some(("--log", "a log as Parquet"));
    let traced = is_traced.then_some(("--perfetto", "`--perfetto`"));
    parquet.into_iter().chain(traced).map(|(place, what)| absent::of(place, what))
}

#[cfg(feature = "export")]
fn problems_of_build(_: Option<LogFormat>, _: bool) -> [Problem; 0] {
    []
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
