//! What a configuration can contain, and help on everything that has a name.

use std::sync::Arc;

use flashloom::config::{self, check_set, json_value};
use flashloom::explain;
use flashloom::report::text::columns;
use flashloom::units::{Param, Value};
use pyo3::prelude::*;

use crate::errors::Fault;
use crate::{policy, text};

/// The keys of a configuration with some policies, beside those that are built in.
#[pyclass(frozen, module = "flashloom._flashloom")]
pub(crate) struct Catalog(Arc<config::Catalog>);

/// A value as JSON; quantities as a text with their unit.
fn shown(value: &Value) -> Option<String> {
    json_value(value).map(|value| value.to_string())
}

/// A key's name, default (JSON), valid values in words, help, and names if its values are names.
type KeyParts = (String, Option<String>, String, String, Vec<&'static str>);

/// A list's name, its description, and its members with a sentence each.
type ListParts = (&'static str, String, Vec<(&'static str, String)>);

#[pymethods]
impl Catalog {
    #[new]
    fn new(policies: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self(policy::catalog(&policies)?.catalog))
    }

    /// Paths of the tables, such as `host` and `host.deadline`.
    fn tables(&self) -> Vec<String> {
        let with_keys = self.0.tables.iter().filter(|table| !table.params().is_empty());
        with_keys.map(|table| table.path()).collect()
    }

    /// The keys of a table.
    fn keys(&self, path: &str) -> Vec<KeyParts> {
        let named = self.0.tables.iter().filter(|table| table.path() == path && !table.params().is_empty());
        let params = named.flat_map(|table| table.params());
        let parts = |param: &Param| {
            let (default, help) = (shown(&param.default), param.help.to_owned());
            (param.name.to_owned(), default, self.0.expected(param), help, self.0.names(param))
        };
        params.map(parts).collect()
    }

    /// Checks `KEY=VALUE`, and returns the key's path and the value as JSON.
    fn check(&self, option: &str) -> PyResult<(String, Option<String>)> {
        let (key, value) = check_set(&self.0, option).map_err(Fault::Config)?;
        Ok((key.path(), shown(&value)))
    }

    /// The pages about a name, as the program prints them.
    fn explain(&self, name: &str) -> PyResult<String> {
        let pages = explain::explain(&self.0, name).map_err(|problem| Fault::Config(problem.into()))?;
        Ok(pages.iter().map(explain::Page::to_text).collect::<Vec<_>>().join("\n"))
    }

    /// A comparison, as the program prints it with these columns: texts, with their cells where they are tables.
    fn comparison(&self, json: &str, columns: Vec<String>) -> PyResult<text::TextParts> {
        Ok(text::of_comparison(&self.0, json, &columns).map_err(Fault::Config)?)
    }

    /// Checks the names of columns of a comparison that varies these keys.
    fn check_columns(&self, names: Vec<String>, keys: Vec<String>, bounds: bool) -> PyResult<()> {
        let columns = columns::chosen(&self.0, &names, keys.iter().map(String::as_str), bounds);
        Ok(columns.map(drop).map_err(Fault::Config)?)
    }

    /// Every list of names.
    fn lists(&self) -> Vec<ListParts> {
        explain::lists(&self.0).into_iter().map(|list| (list.name, list.help, list.members)).collect()
    }
}
