//! An eviction batch size in Python.
//!
//! ```text
//! answers      a number of victims; not 0 while pages wait and nothing is on its way to flash
//! by itself    one victim for each page that finds the buffer full
//! ```

use flashloom::buffer::rate::Occupancy;
use flashloom::prelude::{Policy, PolicySpec, Rate};
use flashloom::units::Value;
use pyo3::prelude::*;

use super::answer::{self, Wrong};
use super::class::{Site, make};
use super::instance::{Instance, Method};

/// The entry of a class in the slot of eviction batch sizes.
pub(super) fn policy(spec: &'static PolicySpec, site: Site) -> Policy<dyn Rate> {
    Policy::<dyn Rate>::new(spec, move |values: Vec<Value>, setup| {
        let waits_for_all = site.class.flag("waits_for_all");
        let wrap = |py: Python<'_>, instance: Instance| {
            Ok(ScriptedRate { victims: instance.method(py, "victims")?, waits_for_all, instance })
        };
        let (dies, superpage) = (setup.dies, setup.superpage);
        Ok(Box::new(site.begin(&values, |py| make(py, "RateSetup", (dies, superpage)).map(Some), wrap)?))
    })
}

struct ScriptedRate {
    victims: Method,
    waits_for_all: bool,
    instance: Instance,
}

/// How full the buffer is.
#[pyclass(frozen, get_all, module = "flashloom.policy", name = "Occupancy")]
struct View {
    pages: u32,
    occupied: u32,
    evicting: u32,
    leaving: u32,
    waiting: u32,
}

#[pymethods]
impl View {
    fn __repr__(&self) -> String {
        let Self { pages, occupied, evicting, leaving, waiting } = self;
        format!(
            "Occupancy(pages={pages}, occupied={occupied}, evicting={evicting}, leaving={leaving}, waiting={waiting})"
        )
    }
}

figures_of_instance!(ScriptedRate);

impl Rate for ScriptedRate {
    fn victims(&mut self, occupancy: &Occupancy) -> u32 {
        let Occupancy { pages, occupied, evicting, leaving, waiting } = *occupancy;
        let must_evict = waiting > 0 && evicting == 0 && occupied > 0;
        let read = |answer: &Bound<'_, PyAny>| {
            let victims = answer::below_u32(answer, u32::MAX, "a number of victims, at least 0")?;
            if victims == 0 && must_evict {
                let found = format!("0 while {waiting} pages wait and none is being evicted");
                return Err(Wrong::new(found, "a number of at least 1: they would wait for ever"));
            }
            Ok(victims)
        };
        let view = View { pages, occupied, evicting, leaving, waiting };
        self.instance.ask(&self.victims, (view,), read).unwrap_or(u32::from(waiting > evicting))
    }

    fn waits_for_all(&self) -> bool {
        self.waits_for_all
    }
}
