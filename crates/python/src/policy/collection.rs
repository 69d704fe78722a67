//! A garbage collection policy in Python.
//!
//! ```text
//! answers      a candidate of the plane with an invalid page
//! by itself    the candidate with the fewest valid pages
//! ```

use flashloom::ftl::collection::CollectionSetup;
use flashloom::prelude::{BlockId, Collection, Geometry, PlaneId, Policy, PolicySpec};
use flashloom::units::Value;
use pyo3::prelude::*;

use super::answer::{self, Wrong};
use super::class::{Site, make};
use super::instance::{Instance, Method};

/// The entry of a class in the slot of garbage collection policies.
pub(super) fn policy(spec: &'static PolicySpec, site: Site) -> Policy<dyn Collection> {
    Policy::<dyn Collection>::new(spec, move |values: Vec<Value>, setup: &CollectionSetup<'_>| {
        let geometry = *setup.geometry;
        let seed = setup.prng.branch(spec.name).bits();
        let begun = site.begin(
            &values,
            |py| make(py, "CollectionSetup", (geometry_of(py, &geometry)?, seed)).map(Some),
            |py, instance| ScriptedCollection::new(py, &site, instance, geometry),
        );
        Ok(Box::new(begun?))
    })
}

/// A geometry for Python.
pub(super) fn geometry_of<'py>(py: Python<'py>, geometry: &Geometry) -> PyResult<Bound<'py, PyAny>> {
    let Geometry { channels, ways, dies, planes, blocks, pages, page_bytes, .. } = *geometry;
    make(py, "Geometry", (channels, ways, dies, planes, blocks, pages, page_bytes))
}

struct ScriptedCollection {
    closed: Method,
    invalidated: Method,
    victim: Method,
    withdraw: Method,
    written: Option<Method>,
    instance: Instance,
    geometry: Geometry,
    /// Valid pages of each candidate; none for a block that is no candidate.
    valid: Vec<Option<u32>>,
    /// Number of candidates of each plane that have an invalid page.
    with_invalid: Vec<u32>,
}

impl ScriptedCollection {
    fn new(py: Python<'_>, site: &Site, instance: Instance, geometry: Geometry) -> PyResult<Self> {
        Ok(Self {
            closed: instance.method(py, "closed")?,
            invalidated: instance.method(py, "invalidated")?,
            victim: instance.method(py, "victim")?,
            withdraw: instance.method(py, "withdraw")?,
            written: site.own(py, &instance, "written")?,
            instance,
            geometry,
            valid: vec![None; geometry.total_blocks() as usize],
            with_invalid: vec![0; geometry.total_planes() as usize],
        })
    }

    /// Sets the valid pages of a block, none if it is no candidate any more.
    fn set(&mut self, block: BlockId, valid: Option<u32>) {
        let plane = self.geometry.plane_of(block).at();
        let has_invalid = |valid: Option<u32>| u32::from(valid.is_some_and(|valid| valid < self.geometry.pages));
        self.with_invalid[plane] -= has_invalid(self.valid[block.at()]);
        self.with_invalid[plane] += has_invalid(valid);
        self.valid[block.at()] = valid;
    }

    /// The victim that an answer names.
    fn answered(&self, answer: &Bound<'_, PyAny>, plane: PlaneId) -> Result<BlockId, Wrong> {
        let expected = format!("a candidate of plane {} with an invalid page", plane.0);
        let block = BlockId(answer::below_u32(answer, self.valid.len() as u32, &expected)?);
        let remark = match self.valid[block.at()] {
            _ if self.geometry.plane_of(block) != plane => "a block of another plane",
            None => "a block that is open, free or collected already",
            Some(valid) if valid == self.geometry.pages => "a block whose pages are all valid",
            Some(_) => return Ok(block),
        };
        Err(Wrong::remark(answer, remark, expected))
    }

    fn fewest_valid(&self, plane: PlaneId) -> Option<BlockId> {
        let first = self.geometry.first_block(plane).0;
        let candidates = (first..first + self.geometry.blocks).filter_map(|block| {
            let valid = self.valid[block as usize]?;
            (valid < self.geometry.pages).then_some((valid, BlockId(block)))
        });
        candidates.min().map(|(_, block)| block)
    }
}

figures_of_instance!(ScriptedCollection);

impl Collection for ScriptedCollection {
    fn written(&mut self, pages: u32) {
        if let Some(method) = &self.written {
            self.instance.notify(method, (pages,));
        }
    }

    fn closed(&mut self, block: BlockId, valid: u32) {
        self.set(block, Some(valid));
        self.instance.notify(&self.closed, (block.0, valid));
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        self.set(block, Some(valid));
        self.instance.notify(&self.invalidated, (block.0, valid));
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        if self.with_invalid[plane.at()] == 0 {
            return None;
        }
        let answer = self.instance.ask(&self.victim, (plane.0,), |answer| self.answered(answer, plane));
        let victim = answer.or_else(|| self.fewest_valid(plane))?;
        self.set(victim, None);
        Some(victim)
    }

    fn withdraw(&mut self, block: BlockId) {
        self.set(block, None);
        self.instance.notify(&self.withdraw, (block.0,));
    }
}
