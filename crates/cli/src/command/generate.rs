//! `flashloom generate`.

use std::sync::Arc;

use flashloom::config::{Catalog, Experiment};
use flashloom::run::Prepared;
use flashloom::units::Problem;
use flashloom::workload::{Request, TraceWriter};

use super::trace::{format_of, report_text};
use super::{lived, report_skipped, report_unused};
use crate::arguments::GenerateArguments;
use crate::output::{Stop, keep_apart, print};
use crate::progress::Bar;

/// Runs an experiment, and writes its requests as they arrive or as its scheduler issues them. The drive influences
/// both: in a closed loop a request arrives when another completes.
pub fn generate(catalog: &Arc<Catalog>, arguments: &GenerateArguments) -> Result<(), Stop> {
    let experiment = Experiment::load_run(catalog, &arguments.experiment, &arguments.set)?;
    let to = format_of(arguments.to, &arguments.out)?;
    let prepared = Prepared::new(&experiment)?;
    keep_apart(&[], &[Some(&arguments.out)])?;
    report_skipped(&prepared);
    report_unused(&experiment);
    let mut writer = TraceWriter::create(&arguments.out, to, prepared.has_priorities())?;
    let mut problem = None;
    let mut write = |request: &Request| {
        if problem.is_none() {
            problem = writer.write(request).err();
        }
    };
    let bar = Bar::new(prepared.total_requests(), 1);
    let finished = bar.over(|bar| prepared.requests(arguments.event, bar, &mut write))?;
    let unwritten = |problem: Problem| Stop::Failed(problem.to_string());
    problem.map_or(Ok(()), |problem| Err(unwritten(problem)))?;
    if !arguments.drop_unsupported {
        writer.check()?;
    }
    let config = &experiment.variants[0].config;
    let from = if config.workloads.is_empty() { config.workload.kind } else { "several workloads" };
    let report = writer.finish(from).map_err(unwritten)?;
    print(&report_text(&report))?;
    // A trace that breaks off there is no trace of the workload.
    lived(&experiment, &finished.result)
}
