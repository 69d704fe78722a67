//! The compiled part of the Python package `flashloom`: checked experiments, jobs that run them, tables and streams of
//! Arrow's columns. What its users see is in `python/flashloom/`, and made of these.

mod catalog;
mod engine;
mod errors;
mod experiment;
mod job;
mod live;
mod measured;
mod policy;
mod rows;
mod stream;
mod table;
mod text;
mod trace;

use std::sync::{Mutex, MutexGuard, PoisonError};

use flashloom::figures::result::{self, RESULT_SCHEMA, older};
use flashloom::run::SERVED_HOST;
use pyo3::prelude::*;

/// Locks a value, whose threads have panicked only where that does no harm.
fn locked<T: ?Sized>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the package `flashloom` is made of; nothing here is meant for its users. Interpreters without a global lock
/// are not served: one that loads it all the same takes its lock back.
#[pymodule(gil_used = true)]
mod _flashloom {
    use super::*;

    #[pymodule_export]
    use super::catalog::Catalog;
    #[pymodule_export]
    use super::engine::Engine;
    #[pymodule_export]
    use super::experiment::{Loaded, read_source, trim_cache};

    /// A text as it may be shown, as the program shows it.
    #[pyfunction]
    fn visible(text: &str) -> String {
        flashloom::units::visible_message(text).into_owned()
    }

    /// Where a figure is now that had a path in results of schema 1; `None` of one that has not moved.
    #[pyfunction]
    fn moved(path: &str) -> Option<String> {
        older::moved(path)
    }

    /// The text of a result as this version writes it; others are as they were.
    #[pyfunction]
    fn of_today(text: &str) -> String {
        let today = result::of_today(text.as_bytes()).ok();
        today.and_then(|(_, today)| String::from_utf8(today.into_owned()).ok()).unwrap_or_else(|| text.to_owned())
    }

    /// A result, as the program prints it: texts, with their cells where they are tables.
    #[pyfunction]
    fn summary(json: &str) -> PyResult<super::text::TextParts> {
        Ok(super::text::of_result(json).map_err(super::errors::Fault::Config)?)
    }

    /// A validation or a fit, as the program prints it.
    #[pyfunction]
    fn measured(json: &str) -> PyResult<super::text::TextParts> {
        Ok(super::text::of_measured(json).map_err(super::errors::Fault::Config)?)
    }

    #[pymodule_export]
    use super::job::BackgroundJob;
    #[pymodule_export]
    use super::live::LiveDrive;
    #[pymodule_export]
    use super::measured::{LoadedFit, Questions, load_fit, validate};
    #[pymodule_export]
    use super::policy::threads::end_runs;
    #[pymodule_export]
    use super::stream::Stream;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::trace::Recording;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("RESULT_SCHEMA", RESULT_SCHEMA)?;
        module.add("SERVED_HOST", SERVED_HOST)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
