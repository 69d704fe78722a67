//! Read reliability in Python.
//!
//! ```text
//! answers      a number of retries, or `Unreadable`
//! by itself    every page is read at once
//! ```

use flashloom::nand::reliability::{PageCondition, Reading, Reliability, ReliabilitySetup};
use flashloom::prelude::{Ns, Policy, PolicySpec};
use flashloom::units::Value;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::answer::{self, Wrong};
use super::class::{Site, make};
use super::collection::geometry_of;
use super::instance::{Instance, Method};

/// The entry of a class in the slot of read reliability.
pub(super) fn policy(spec: &'static PolicySpec, site: Site) -> Policy<dyn Reliability> {
    Policy::<dyn Reliability>::new(spec, move |values: Vec<Value>, setup: &ReliabilitySetup<'_>| {
        let (geometry, seed) = (*setup.geometry, setup.prng.branch(spec.name).bits());
        let wrap = |py: Python<'_>, instance: Instance| {
            let unreadable = py.import("flashloom.policy")?.getattr("Unreadable")?;
            let unreadable = unreadable.cast_into::<PyType>().map_err(PyErr::from)?.unbind();
            Ok(ScriptedReliability { read: instance.method(py, "read")?, unreadable, instance })
        };
        let begun =
            site.begin(&values, |py| make(py, "ReliabilitySetup", (geometry_of(py, &geometry)?, seed)).map(Some), wrap);
        Ok(Box::new(begun?))
    })
}

struct ScriptedReliability {
    read: Method,
    unreadable: Py<PyType>,
    instance: Instance,
}

/// Condition of a page.
#[pyclass(frozen, get_all, module = "flashloom.policy", name = "PageCondition")]
struct View {
    ppn: u32,
    block: u32,
    page: u32,
    erases: u32,
    age_ns: Ns,
    reads: u64,
}

#[pymethods]
impl View {
    fn __repr__(&self) -> String {
        let Self { ppn, block, page, erases, age_ns, reads } = self;
        format!("PageCondition(ppn={ppn}, block={block}, page={page}, erases={erases}, age_ns={age_ns}, reads={reads})")
    }
}

impl ScriptedReliability {
    fn reading(&self, answer: &Bound<'_, PyAny>) -> Result<Reading, Wrong> {
        const EXPECTED: &str = "a number of retries from 0 to 65535, or Unreadable(retries)";
        let retries = |value: &Bound<'_, PyAny>| answer::below_u32(value, 1 << 16, EXPECTED).map(|it| it as u16);
        if answer.is_instance(self.unreadable.bind(answer.py())).unwrap_or(false) {
            let found = answer.getattr("retries").map_err(|_| Wrong::value(answer, EXPECTED))?;
            return retries(&found).map(Reading::never);
        }
        retries(answer).map(Reading::after)
    }
}

figures_of_instance!(ScriptedReliability);

impl Reliability for ScriptedReliability {
    fn read(&mut self, page: &PageCondition) -> Reading {
        let PageCondition { ppn, block, page, erases, age_ns, reads, .. } = *page;
        let view = View { ppn: ppn.0, block: block.0, page, erases, age_ns, reads };
        self.instance.ask(&self.read, (view,), |answer| self.reading(answer)).unwrap_or(Reading::AT_ONCE)
    }
}
