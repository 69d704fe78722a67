//! Policies of a run: those that are built in.

use std::sync::Arc;

use flashloom::experiment::config::Catalog;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;

/// The first exception that a policy of a run raised.
#[derive(Clone, Default)]
pub(crate) struct Raised(());

impl Raised {
    /// True once a policy has raised an exception: the run is to stop, and has no result.
    pub(crate) fn is_set(&self) -> bool {
        false
    }

    /// Takes the exception, for whoever raises it.
    pub(crate) fn take(&self) -> Option<PyErr> {
        None
    }
}

/// The policies of a run, and what they raise.
pub(crate) struct Policies {
    /// What a configuration can contain with them.
    pub(crate) catalog: Arc<Catalog>,
    /// The first exception that one of them raised.
    pub(crate) raised: Raised,
}

/// Makes the catalog of the built-in policies and of these classes.
pub(crate) fn catalog(policies: &[Bound<'_, PyAny>]) -> PyResult<Policies> {
    if !policies.is_empty() {
        return Err(PyNotImplementedError::new_err("this build has no policies in Python"));
    }
    Ok(Policies { catalog: Catalog::builtin(), raised: Raised::default() })
}
