//! A page allocation in Python.
//!
//! ```text
//! answers      a plane for each page
//! by itself    one plane after the other
//! ```

use flashloom::ftl::Lane;
use flashloom::ftl::allocation::{AllocationSetup, PagePlace};
use flashloom::prelude::{Allocation, PageWrite, PlaneId, Policy, PolicySpec};
use flashloom::units::Value;
use pyo3::prelude::*;

use super::answer::{self, Wrong};
use super::class::{Site, make};
use super::collection::geometry_of;
use super::instance::{Instance, Method};

/// The entry of a class in the slot of page allocations.
pub(super) fn policy(spec: &'static PolicySpec, site: Site) -> Policy<dyn Allocation> {
    Policy::<dyn Allocation>::new(spec, move |values: Vec<Value>, setup: &AllocationSetup<'_>| {
        let AllocationSetup { space, geometry, superpage, .. } = *setup;
        let planes = geometry.total_planes();
        let wrap = |py: Python<'_>, instance: Instance| {
            Ok(ScriptedAllocation { place: instance.method(py, "place")?, instance, planes, next: 0 })
        };
        let begun = site.begin(
            &values,
            |py| {
                let fields = (geometry_of(py, &geometry)?, superpage, space.logical_pages);
                make(py, "AllocationSetup", fields).map(Some)
            },
            wrap,
        );
        Ok(Box::new(begun?))
    })
}

struct ScriptedAllocation {
    place: Method,
    instance: Instance,
    planes: u32,
    /// The plane that is next when the policy has failed.
    next: u32,
}

impl ScriptedAllocation {
    fn answered(&self, answer: &Bound<'_, PyAny>, pages: usize) -> Result<Vec<u32>, Wrong> {
        let expected = format!("a sequence of {pages} planes, each from 0 to {}", self.planes - 1);
        let items = answer::items(answer, &expected)?;
        if items.len() != pages {
            return Err(Wrong::remark(answer, &format!("{} planes", items.len()), expected));
        }
        items.iter().map(|item| answer::below_u32(item, self.planes, &expected)).collect()
    }
}

figures_of_instance!(ScriptedAllocation);

impl Allocation for ScriptedAllocation {
    fn place(&mut self, writes: &[PageWrite], copies: u64, places: &mut Vec<PagePlace>) {
        let lpns: Vec<u32> = writes.iter().map(|write| write.lpn.0).collect();
        let answer = self.instance.ask(&self.place, (lpns, copies), |answer| self.answered(answer, writes.len()));
        let (first, count) = (self.next, self.planes);
        let planes = answer.unwrap_or_else(|| {
            let planes = (0..writes.len() as u32).map(|at| first.wrapping_add(at) % count).collect();
            self.next = first.wrapping_add(writes.len() as u32) % count;
            planes
        });
        places.extend(planes.into_iter().map(|plane| PagePlace { plane: PlaneId(plane), lane: Lane::HOST }));
    }

    fn reset_report(&mut self) {
        self.instance.reset_figures();
    }
}
