//! An instance of a policy's class in one run: its methods, and what becomes of an exception.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use flashloom::units::{Figure, PolicySpec, Unit};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::answer::{self, Wrong};
use crate::locked;

/// The first exception that a policy of a run raised, shared with whoever drives the run and is to stop it.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Cell>);

#[derive(Default)]
struct Cell {
    has_policies: bool,
    is_set: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Raised {
    /// For a run with a number of policies in Python.
    pub(super) fn by(policies: usize) -> Self {
        Self(Arc::new(Cell { has_policies: policies > 0, ..Cell::default() }))
    }

    /// True if there are policies in Python that the run may call.
    pub(crate) fn has_policies(&self) -> bool {
        self.0.has_policies
    }

    /// True if both are of the same run.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// True once a policy has raised an exception or given a wrong answer: the run is to stop, and has no result.
    pub(crate) fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed)
    }

    /// Takes the exception, for whoever raises it; the next run begins anew.
    pub(crate) fn take(&self) -> Option<PyErr> {
        let error = locked(&self.0.error).take();
        self.0.is_set.store(false, Ordering::Relaxed);
        error
    }

    /// Keeps an exception, unless there is one.
    fn set(&self, error: PyErr) {
        let mut kept = locked(&self.0.error);
        if kept.is_none() {
            *kept = Some(error);
        }
        self.0.is_set.store(true, Ordering::Relaxed);
    }
}

/// A method of an instance.
pub(super) struct Method {
    name: &'static str,
    bound: Py<PyAny>,
}

/// An instance of a policy's class.
pub(super) struct Instance {
    spec: &'static PolicySpec,
    object: Py<PyAny>,
    /// The attributes that hold the figures of the specification, in its order.
    figures: Vec<String>,
    raised: Raised,
}

impl Instance {
    /// Wraps an object that its class has made.
    pub(super) fn new(spec: &'static PolicySpec, object: Py<PyAny>, raised: Raised) -> Self {
        let figures = spec.statistics.iter().map(|figure| figure.name.to_owned()).collect();
        Self { spec, object, figures, raised }
    }

    /// The policy's name.
    pub(super) fn name(&self) -> &'static str {
        self.spec.name
    }

    /// A method of the instance.
    pub(super) fn method(&self, py: Python<'_>, name: &'static str) -> PyResult<Method> {
        Ok(Method { name, bound: self.object.bind(py).getattr(name)?.unbind() })
    }

    /// True once a policy of the run has failed: from then on none is called, and each wrapper answers by itself.
    pub(super) fn has_failed(&self) -> bool {
        self.raised.is_set()
    }

    /// Calls a method and reads its answer. Returns none if the run has failed, now or before: the caller then answers
    /// by itself.
    pub(super) fn call<'py, T>(
        &self,
        py: Python<'py>,
        method: &Method,
        args: impl PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'py, PyAny>) -> Result<T, Wrong>,
    ) -> Option<T> {
        if self.has_failed() {
            return None;
        }
        match method.bound.bind(py).call1(args) {
            Err(error) => self.fail(py, method.name, error),
            Ok(answer) => match read(&answer) {
                Ok(answer) => return Some(answer),
                Err(wrong) => self.wrong(py, method, wrong),
            },
        }
        None
    }

    /// [`Self::call`] for the simulation, which takes the interpreter's lock only if the run has not failed.
    pub(super) fn ask<T>(
        &self,
        method: &Method,
        args: impl for<'py> PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, Wrong>,
    ) -> Option<T> {
        if self.has_failed() {
            return None;
        }
        Python::attach(|py| self.call(py, method, args, read))
    }

    /// [`Self::ask`] a method that only listens.
    pub(super) fn notify(&self, method: &Method, args: impl for<'py> PyCallArgs<'py>) {
        self.ask(method, args, answer::nothing);
    }

    /// Calls a method that only listens.
    pub(super) fn tell<'py>(&self, py: Python<'py>, method: &Method, args: impl PyCallArgs<'py>) {
        self.call(py, method, args, answer::nothing);
    }

    /// Fails the run because of an exception, which is given a note about its origin.
    pub(super) fn fail(&self, py: Python<'_>, method: &str, error: PyErr) {
        let note = format!("raised in `{method}` of policy `{}`; the run was stopped", self.name());
        // Python 3.10 has no notes; the exception is the same without.
        if error.is_instance_of::<PyException>(py) {
            let _ = error.value(py).call_method1("add_note", (note,));
        }
        self.raised.set(error);
    }

    /// Fails the run because of a wrong answer, which names the method's place in its file.
    pub(super) fn wrong(&self, py: Python<'_>, method: &Method, wrong: Wrong) {
        let error = answer::error(py, self.name(), method.name, wrong);
        if let Ok((file, line)) = place(method.bound.bind(py)) {
            let note = format!("  File \"{file}\", line {line}, in {}", method.name);
            let _ = error.value(py).call_method1("add_note", (note,));
        }
        self.raised.set(error);
    }

    /// Values of the statistics, read from the instance.
    pub(super) fn figures(&self) -> Vec<Figure> {
        if self.figures.is_empty() {
            return Vec::new();
        }
        Python::attach(|py| {
            let each = self.spec.statistics.iter().zip(&self.figures);
            each.map(|(statistic, name)| self.figure(py, name, statistic.unit)).collect()
        })
    }

    /// Sets the statistics to their values at the start of a run, after preconditioning.
    pub(super) fn reset_figures(&self) {
        if self.figures.is_empty() || self.has_failed() {
            return;
        }
        Python::attach(|py| {
            let object = self.object.bind(py);
            let reset = |name: &String| object.setattr(name, object.get_type().getattr(name)?.getattr("start")?);
            if let Err(error) = self.figures.iter().try_for_each(reset) {
                self.fail(py, "statistics", error);
            }
        });
    }

    fn figure(&self, py: Python<'_>, name: &str, unit: Unit) -> Figure {
        let read = |value: &Bound<'_, PyAny>| {
            let count = || answer::below(value, u64::MAX, "a whole number of at least 0");
            let ratio = || match value.extract::<f64>() {
                Ok(number) if number.is_finite() && !value.is_instance_of::<PyBool>() => Ok(number),
                _ => Err(Wrong::value(value, "a finite number")),
            };
            Ok(match unit {
                Unit::Bytes => Figure::Bytes(count()?),
                Unit::Time => Figure::Time(count()?),
                Unit::Ratio => Figure::Ratio(Some(ratio()?)),
                Unit::Count | Unit::Times | Unit::Histogram => Figure::Count(count()?),
            })
        };
        let figure = self.object.bind(py).getattr(name);
        match figure.map(|value| read(&value)) {
            Ok(Ok(figure)) => return figure,
            Ok(Err(wrong)) => self.raised.set(answer::error(py, self.name(), name, wrong)),
            Err(error) => self.fail(py, name, error),
        }
        match unit {
            Unit::Bytes => Figure::Bytes(0),
            Unit::Time => Figure::Time(0),
            Unit::Ratio => Figure::Ratio(None),
            Unit::Count | Unit::Times | Unit::Histogram => Figure::Count(0),
        }
    }
}

/// File and first line of a method that is written in Python.
fn place(method: &Bound<'_, PyAny>) -> PyResult<(String, u32)> {
    let code = method.getattr("__code__")?;
    Ok((code.getattr("co_filename")?.extract()?, code.getattr("co_firstlineno")?.extract()?))
}
