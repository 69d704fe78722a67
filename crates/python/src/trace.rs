//! Recordings: their summary, their requests as batches, their conversion.

use flashloom::units::{Choice, Problem};
use flashloom::workload::{
    Event, Footprint, Format, OutFormat, SizeUnit, Source, TimeUnit, TraceOptions, Unconverted, convert_trace,
    open_trace, scan_trace,
};
use pyo3::prelude::*;

use crate::errors::{Fault, error};
use crate::job::{BackgroundJob, answer};
use crate::policy::Raised;
use crate::rows::{Requests, trace_schema};
use crate::stream::Stream;
use crate::text::json;

/// A recording by its path and the options to read it with.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct Recording {
    path: String,
    options: TraceOptions,
}

fn input(problem: Problem) -> Fault {
    Fault::Input(problem.into())
}

fn named<T>(py: Python<'_>, what: &str, name: &str, found: Option<T>, choices: &[Choice]) -> PyResult<T> {
    found.ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
        error(py, "Error", format!("unknown {what} `{name}`: expected one of {}", names.join(", ")))
    })
}

#[pymethods]
impl Recording {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the options of a recording, each with its name in Python")]
    fn new(
        py: Python<'_>,
        path: String,
        format: Option<&str>,
        event: &str,
        sort: bool,
        skip_bad_lines: bool,
        device: Option<String>,
        size_unit: Option<&str>,
        time_unit: Option<&str>,
    ) -> PyResult<Self> {
        let format = format.map(|name| named(py, "format", name, Format::named(name), Format::CHOICES)).transpose()?;
        let event = named(py, "event", event, Event::named(event), Event::CHOICES)?;
        let unit = |name: &str| named(py, "unit of sizes", name, SizeUnit::named(name), SizeUnit::CHOICES);
        let size_unit = size_unit.map(unit).transpose()?;
        let unit = |name: &str| named(py, "unit of times", name, TimeUnit::named(name), TimeUnit::CHOICES);
        let time_unit = time_unit.map(unit).transpose()?;
        let completions = false;
        let options = TraceOptions { format, event, completions, sort, skip_bad_lines, device, size_unit, time_unit };
        Ok(Self { path, options })
    }

    /// Summarises it, as JSON.
    fn info(&self) -> PyResult<BackgroundJob> {
        let (path, options) = (self.path.clone(), self.options.clone());
        BackgroundJob::spawn(Raised::default(), move |_| {
            let info = scan_trace(&path, &options, Footprint::Count).map_err(input)?;
            Ok(answer(json(&info)))
        })
    }

    /// Its requests, in batches.
    fn read(&self, rows: usize) -> PyResult<Stream> {
        let (path, options) = (self.path.clone(), self.options.clone());
        Stream::spawn(Raised::default(), trace_schema(), rows.max(1), move |counts, outlet| {
            let mut trace = open_trace(&path, &options).map_err(input)?;
            let mut requests = Requests::of_trace(outlet);
            while let Some(request) = trace.next_request().map_err(input)? {
                requests.push_request(&request, trace.device());
                if counts.interrupt.is_raised() {
                    break;
                }
            }
            requests.flush();
            Ok(Box::new(|py| Ok(py.None())))
        })
    }

    /// Converts it, and reports what was lost.
    fn convert(
        &self,
        py: Python<'_>,
        output: String,
        to: Option<&str>,
        drop_unsupported: bool,
    ) -> PyResult<BackgroundJob> {
        let asked = match to {
            Some(name) => OutFormat::named(name),
            None => OutFormat::of_path(&output),
        };
        let to = named(py, "format to write", to.unwrap_or(&output), asked, OutFormat::CHOICES)?;
        let (path, options) = (self.path.clone(), self.options.clone());
        BackgroundJob::spawn(Raised::default(), move |_| {
            let report = convert_trace(&path, &options, &output, to, drop_unsupported);
            let report = report.map_err(|unconverted| match unconverted {
                Unconverted::Refused(problem) => input(problem),
                Unconverted::Unwritten(problem) => Fault::Other(problem.to_string()),
            })?;
            Ok(answer(json(&report)))
        })
    }
}
