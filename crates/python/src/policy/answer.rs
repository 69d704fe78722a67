//! Answers of methods, read strictly: what is not exactly what was asked for is a wrong answer.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PySequence, PyString};

/// An answer that cannot be used: what was found, and what was expected.
pub(super) struct Wrong {
    found: String,
    expected: String,
}

impl Wrong {
    /// A wrong answer in words.
    pub(super) fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into() }
    }

    /// A value that is not what was expected.
    pub(super) fn value(found: &Bound<'_, PyAny>, expected: impl Into<String>) -> Self {
        Self::new(shown(found), expected)
    }

    /// A value with a remark on what is wrong with it.
    pub(super) fn remark(found: &Bound<'_, PyAny>, remark: &str, expected: impl Into<String>) -> Self {
        Self::new(format!("{}, {remark}", shown(found)), expected)
    }
}

/// A `flashloom.policy.PolicyError`.
pub(super) fn error(py: Python<'_>, policy: &str, method: &str, wrong: Wrong) -> PyErr {
    let class = py.import("flashloom.policy").and_then(|module| module.getattr("PolicyError"));
    match class.and_then(|class| class.call1((policy, method, wrong.found, wrong.expected))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// A value in words: its representation, shortened, and its type.
pub(super) fn shown(value: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 60;
    if value.is_none() {
        return "None".to_owned();
    }
    let kind = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    let Ok(text) = value.repr() else { return format!("a value of type {kind} that cannot be shown") };
    let text = text.to_string_lossy();
    let short: String = text.chars().take(LONGEST).collect();
    let dots = if short.len() < text.len() { "..." } else { "" };
    format!("`{short}{dots}` of type {kind}")
}

/// A whole number below a bound: an int or what has `__index__`, but no bool.
pub(super) fn below(value: &Bound<'_, PyAny>, bound: u64, expected: &str) -> Result<u64, Wrong> {
    let is_number = !value.is_instance_of::<PyBool>();
    match value.extract::<u64>() {
        Ok(number) if is_number && number < bound => Ok(number),
        _ => Err(Wrong::value(value, expected)),
    }
}

/// A 32-bit number below a bound.
pub(super) fn below_u32(value: &Bound<'_, PyAny>, bound: u32, expected: &str) -> Result<u32, Wrong> {
    below(value, u64::from(bound), expected).map(|number| number as u32)
}

/// True or false, and nothing that counts as it.
pub(super) fn flag(value: &Bound<'_, PyAny>) -> Result<bool, Wrong> {
    match value.cast::<PyBool>() {
        Ok(flag) => Ok(flag.is_true()),
        Err(_) => Err(Wrong::value(value, "True or False")),
    }
}

/// Nothing at all: a method that only listens.
pub(super) fn nothing(value: &Bound<'_, PyAny>) -> Result<(), Wrong> {
    if value.is_none() { Ok(()) } else { Err(Wrong::value(value, "no answer")) }
}

/// The items of a list, a tuple or another sequence that is no text.
pub(super) fn items<'py>(value: &Bound<'py, PyAny>, expected: &str) -> Result<Vec<Bound<'py, PyAny>>, Wrong> {
    let wrong = || Wrong::value(value, expected);
    if value.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let sequence = value.cast::<PySequence>().map_err(|_| wrong())?;
    sequence.try_iter().and_then(Iterator::collect).map_err(|_| wrong())
}
