//! A policy's class, read once: its specification, and the making of instances.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use flashloom::prelude::{
    FIXED_HOMES, IO_PRIORITIES, PAGE_MAPPING, SINGLE_CHIP, TASK_IDS, TRANSLATION_PAGES, WRITE_BUFFER,
};
use flashloom::units::{Ageing, Capability, Choice, Kind, Param, PolicySpec, Refusal, Statistic, Unit, Value, nearest};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyString, PyType};

use super::answer::{self, Wrong};
use super::instance::{Instance, Method, Raised};
use crate::locked;

/// The names of capabilities in Python.
const CAPABILITIES: [(&str, Capability); 7] = [
    ("task-ids", TASK_IDS),
    ("io-priorities", IO_PRIORITIES),
    ("write-buffer", WRITE_BUFFER),
    ("page-mapping", PAGE_MAPPING),
    ("single-chip", SINGLE_CHIP),
    ("translation-pages", TRANSLATION_PAGES),
    ("fixed-homes", FIXED_HOMES),
];

/// A policy's class.
pub(super) struct Class {
    /// The policy's specification.
    pub(super) spec: &'static PolicySpec,
    /// The policy's slot, as `flashloom.policy` calls it.
    pub(super) slot: String,
    class: Py<PyType>,
    /// Names of the attributes that hold the parameters, in the order of the specification.
    params: Vec<String>,
    /// Methods of the slot that the class has a version of its own of.
    overrides: Vec<String>,
    /// Flags of the slot that are true.
    flags: Vec<String>,
}

/// A class in the catalog of a run.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) class: Arc<Class>,
    pub(super) raised: Raised,
}

impl Class {
    /// Reads a class.
    ///
    /// # Errors
    /// `PolicyError`: it is no policy of a slot, or its description cannot be read.
    pub(super) fn of(policy: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = policy.py();
        let module = py.import("flashloom.policy")?;
        let no_policy = || {
            let wrong = Wrong::value(policy, "a class derived from that of a slot, such as flashloom.policy.Scheduler");
            answer::error(py, "policies", "policies", wrong)
        };
        let class = policy.cast::<PyType>().map_err(|_| no_policy())?;
        if !class.is_subclass(&module.getattr("Policy")?)? || class.getattr("_slot")?.extract::<String>()?.is_empty() {
            return Err(no_policy());
        }
        let described = module.getattr("_describe")?.call1((class,))?.cast_into::<PyDict>().map_err(PyErr::from)?;
        let name: String = get(&described, "name")?;
        let describe = Description { of: &described, name: &name };
        let params: Vec<Bound<'_, PyAny>> = get(&described, "params")?;
        let attributes = params.iter().map(|param| param.getattr("name")?.extract()).collect::<PyResult<_>>()?;
        let overrides: Vec<String> = describe.sorted("overrides")?;
        if overrides.iter().any(|method| method == "former" || method == "latter")
            && !overrides.iter().any(|method| method == "absorb")
        {
            let wrong = Wrong::new("no such method", "one, beside `former` or `latter`: joined requests leave by it");
            return Err(answer::error(py, &name, "absorb", wrong));
        }
        Ok(Self {
            spec: describe.spec()?,
            slot: get(&described, "slot")?,
            class: class.clone().unbind(),
            params: attributes,
            overrides,
            flags: describe.sorted("flags")?,
        })
    }

    /// A flag that the class declares, such as `keeps_reads`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }

    fn instance(&self, py: Python<'_>, values: &[Value], raised: &Raised) -> PyResult<Instance> {
        let keywords = PyDict::new(py);
        for (name, value) in self.params.iter().zip(values) {
            match value {
                Value::Count(n)
                | Value::Size(n)
                | Value::Time(n)
                | Value::Rate(n)
                | Value::Energy(n)
                | Value::Power(n) => keywords.set_item(name, n)?,
                Value::Ratio(number) => keywords.set_item(name, number)?,
                Value::Flag(flag) => keywords.set_item(name, flag)?,
                Value::Name(text) => keywords.set_item(name, text)?,
                Value::Text(text) => keywords.set_item(name, text.as_ref())?,
                Value::Absent => {}
            }
        }
        let object = self.class.bind(py).call((), Some(&keywords))?;
        Ok(Instance::new(self.spec, object.unbind(), raised.clone()))
    }
}

impl Site {
    /// Makes the instance of a run and calls its `begin`, with what `setup` makes.
    ///
    /// # Errors
    /// The class raised an exception, which is kept for the run to raise.
    pub(super) fn begin<T>(
        &self,
        values: &[Value],
        setup: impl for<'py> FnOnce(Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>>,
        wrap: impl FnOnce(Python<'_>, Instance) -> PyResult<T>,
    ) -> Result<T, Refusal> {
        Python::attach(|py| {
            let make = || {
                let instance = self.class.instance(py, values, &self.raised)?;
                if let (Some(setup), false) = (setup(py)?, self.raised.is_set()) {
                    instance.tell(py, &instance.method(py, "begin")?, (setup,));
                }
                wrap(py, instance)
            };
            let fail = |error| {
                Instance::new(self.class.spec, py.None(), self.raised.clone()).fail(py, "__init__", error);
            };
            let made = make().map_err(fail).ok().filter(|_| !self.raised.is_set());
            // It stands for the exception, where only a refusal can be returned.
            let found = || format!("policy `{}`, which raised an exception", self.class.spec.name);
            made.ok_or_else(|| Refusal::new(found(), "one that raises none"))
        })
    }

    /// A method that the class has a version of its own of; none if it is the slot's, which does nothing.
    pub(super) fn own(&self, py: Python<'_>, instance: &Instance, name: &'static str) -> PyResult<Option<Method>> {
        let is_own = self.class.overrides.iter().any(|method| method == name);
        is_own.then(|| instance.method(py, name)).transpose()
    }
}

/// Makes an object of `flashloom.policy` from its fields, in order.
pub(super) fn make<'py>(py: Python<'py>, class: &str, fields: impl PyCallArgs<'py>) -> PyResult<Bound<'py, PyAny>> {
    py.import("flashloom.policy")?.getattr(class)?.call1(fields)
}

fn get<'py, T>(described: &Bound<'py, PyDict>, field: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let value = described.get_item(field)?;
    let Some(value) = value else { unreachable!("`_describe` gives {field}") };
    value.extract().map_err(Into::into)
}

/// What `_describe` says of a class.
struct Description<'a, 'py> {
    of: &'a Bound<'py, PyDict>,
    name: &'a str,
}

impl Description<'_, '_> {
    /// The specification. Its memory is never freed: one for each description that there ever was.
    fn spec(&self) -> PyResult<&'static PolicySpec> {
        static LEAKED: Mutex<BTreeMap<String, &'static PolicySpec>> = Mutex::new(BTreeMap::new());
        let texts = ["summary", "details", "source", "example", "instead"].map(|field| get::<String>(self.of, field));
        let params = get::<Vec<Bound<'_, PyAny>>>(self.of, "params")?;
        let params = params.iter().map(|param| self.param(param)).collect::<PyResult<Vec<_>>>()?;
        let statistics = get::<Vec<Bound<'_, PyAny>>>(self.of, "statistics")?;
        let statistics = statistics.iter().map(statistic).collect::<PyResult<Vec<_>>>()?;
        let (needs, offers) = (self.capabilities("needs")?, self.capabilities("offers")?);
        let written: Vec<String> = texts.into_iter().collect::<PyResult<_>>()?;
        let whole = format!("{}{written:?}{params:?}{statistics:?}{needs:?}{offers:?}", self.name);
        let mut leaked = locked(&LEAKED);
        if let Some(spec) = leaked.get(&whole) {
            return Ok(spec);
        }
        let mut written = written.into_iter().map(leak);
        let mut text = || written.next().unwrap_or_default();
        let spec = PolicySpec {
            name: leak(self.name.to_owned()),
            summary: text(),
            details: text(),
            source: text(),
            example: text(),
            instead: text(),
            needs: needs.leak(),
            offers: offers.leak(),
            params: params.into_iter().map(Written::leak).collect::<Vec<_>>().leak(),
            statistics: statistics
                .into_iter()
                .map(|(name, unit, help)| Statistic::new(leak(name), unit, leak(help)))
                .collect::<Vec<_>>()
                .leak(),
        };
        let spec = spec.leak();
        leaked.insert(whole, spec);
        Ok(spec)
    }

    fn sorted(&self, field: &str) -> PyResult<Vec<String>> {
        let Some(names) = self.of.get_item(field)? else { return Ok(Vec::new()) };
        let mut names = names.try_iter()?.map(|name| name?.extract()).collect::<PyResult<Vec<String>>>()?;
        names.sort();
        Ok(names)
    }

    fn capabilities(&self, field: &str) -> PyResult<Vec<Capability>> {
        let py = self.of.py();
        let names: Vec<Bound<'_, PyAny>> = get(self.of, field)?;
        let known = || CAPABILITIES.iter().map(|(name, _)| *name);
        let read = |name: &Bound<'_, PyAny>| {
            let text: Option<String> = name.extract().ok();
            let found = CAPABILITIES.iter().find(|(known, _)| text.as_deref() == Some(known));
            found.map(|(_, capability)| *capability).ok_or_else(|| {
                let near = nearest(text.as_deref().unwrap_or_default(), known());
                let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
                let expected = format!("one of {}{near}", known().collect::<Vec<_>>().join(", "));
                answer::error(py, self.name, field, Wrong::value(name, expected))
            })
        };
        names.iter().map(read).collect()
    }

    fn param(&self, param: &Bound<'_, PyAny>) -> PyResult<Written> {
        let text = |field: &str| -> PyResult<String> { param.getattr(field)?.extract() };
        let whole = |field: &str| -> PyResult<u64> { param.getattr(field)?.extract() };
        let number = |field: &str| -> PyResult<f64> { param.getattr(field)?.extract() };
        let default = param.getattr("default")?;
        let choices: Vec<String> = param.getattr("choices")?.extract()?;
        let unit = text("unit")?;
        let (kind, value) = if default.is_instance_of::<PyBool>() {
            (Kind::Flag, Value::Flag(default.extract()?))
        } else if default.is_instance_of::<PyString>() {
            (Kind::Text, Value::Text(Cow::Owned(default.extract()?)))
        } else if default.is_instance_of::<PyFloat>() {
            let max = number("max")?;
            (Kind::Ratio { min: number("min")?, max }, Value::Ratio(default.extract()?))
        } else {
            let (min, max, value) = (whole("min")?, whole("max")?, default.extract()?);
            match unit.as_str() {
                "ns" => (Kind::Time { min, max }, Value::Time(value)),
                "bytes" => (Kind::Size { min, max }, Value::Size(value)),
                "bytes/s" => (Kind::Rate { min, max }, Value::Rate(value)),
                _ => (Kind::Count { min, max }, Value::Count(value)),
            }
        };
        let name = text("key")?;
        Ok(Written { name, kind, value, choices, help: text("help")?, tradeoff: text("tradeoff")? })
    }
}

/// A parameter as it is written in a class.
#[derive(Debug)]
struct Written {
    name: String,
    kind: Kind,
    value: Value,
    choices: Vec<String>,
    help: String,
    tradeoff: String,
}

impl Written {
    fn leak(self) -> Param {
        let Self { name, mut kind, mut value, choices, help, tradeoff } = self;
        if let (Value::Text(default), false) = (&value, choices.is_empty()) {
            let choices: Vec<Choice> =
                choices.into_iter().map(|choice| Choice { name: leak(choice), help: "" }).collect();
            let chosen = choices.iter().find(|choice| choice.name == default);
            value = Value::Name(chosen.map_or("", |choice| choice.name));
            kind = Kind::Choice(choices.leak());
        }
        Param {
            name: leak(name),
            kind,
            default: value,
            help: leak(help),
            tradeoff: leak(tradeoff),
            used: None,
            ageing: Ageing::OfSection,
        }
    }
}

fn statistic(statistic: &Bound<'_, PyAny>) -> PyResult<(String, Unit, String)> {
    let text = |field: &str| -> PyResult<String> { statistic.getattr(field)?.extract() };
    let unit = match text("unit")?.as_str() {
        "ns" => Unit::Time,
        "bytes" => Unit::Bytes,
        "ratio" => Unit::Ratio,
        _ => Unit::Count,
    };
    Ok((text("name")?, unit, text("help")?))
}

fn leak(text: String) -> &'static str {
    text.leak()
}
