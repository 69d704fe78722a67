//! A chip placement in Python.
//!
//! ```text
//! answers      a chip
//! by itself    the chip of the block's pages, else one that its number gives
//! ```

use flashloom::ftl::placement::PlacementSetup;
use flashloom::nand::Lbn;
use flashloom::prelude::{Placement, Policy, PolicySpec};
use flashloom::units::Value;
use pyo3::prelude::*;

use super::answer;
use super::class::{Site, make};
use super::instance::{Instance, Method};

/// The entry of a class in the slot of chip placements.
pub(super) fn policy(spec: &'static PolicySpec, site: Site) -> Policy<dyn Placement> {
    Policy::<dyn Placement>::new(spec, move |values: Vec<Value>, setup| {
        let PlacementSetup { chips } = *setup;
        let moves = site.class.flag("moves");
        let wrap = |py: Python<'_>, instance: Instance| {
            Ok(ScriptedPlacement { place: instance.method(py, "place")?, moves, instance, chips })
        };
        Ok(Box::new(site.begin(&values, |py| make(py, "PlacementSetup", (chips,)).map(Some), wrap)?))
    })
}

struct ScriptedPlacement {
    place: Method,
    moves: bool,
    instance: Instance,
    chips: u32,
}

figures_of_instance!(ScriptedPlacement);

impl Placement for ScriptedPlacement {
    fn place(&mut self, lbn: Lbn, home: Option<u32>) -> u32 {
        let read = |answer: &Bound<'_, PyAny>| {
            answer::below_u32(answer, self.chips, &format!("a chip from 0 to {}", self.chips - 1))
        };
        let by_itself = || home.unwrap_or(lbn.0 % self.chips);
        self.instance.ask(&self.place, (lbn.0, home), read).unwrap_or_else(by_itself)
    }

    fn moves(&self) -> bool {
        self.moves
    }
}
