//! Policies in Python: classes of `flashloom.policy` made into entries of the registry.
//!
//! ```text
//! catalog   each class is read once: name, help, parameters, statistics, needs; its entry goes into its slot
//! build     a run makes an instance of the class and tells it the facts of the stack (`begin`)
//! call      the wrapper attaches to the interpreter, calls the method, and checks the answer before it is used
//! fault     an exception or a wrong answer is kept, the run is told to stop, and the wrapper answers by itself until
//!           it does: first in first out, the oldest page, the block with the fewest valid pages
//! ```
//!
//! The wrappers keep what they need to judge an answer (the requests that wait, the pages in the buffer, the candidates
//! for collection), so no answer reaches the stack that it could stumble over. What a method is given is a copy, or a
//! view that is closed when the call ends.

/// Has the figures of a policy be those of its instance.
macro_rules! figures_of_instance {
    ($policy:ident) => {
        impl flashloom::prelude::Component for $policy {
            fn figures(&self) -> Vec<flashloom::prelude::Figure> {
                self.instance.figures()
            }
        }
    };
}

mod allocation;
mod answer;
mod class;
mod collection;
mod flash;
mod instance;
mod mapping;
mod order;
mod placement;
mod queue;
mod rate;
mod reliability;
mod scheduler;
pub(crate) mod threads;
mod workload;

use std::sync::Arc;

use flashloom::config::Catalog;
use flashloom::config::registry::Registry;
use flashloom::of_this_build;
use flashloom::units::Refusal;
use pyo3::prelude::*;

use class::{Class, Site};
pub(crate) use instance::Raised;

/// The built-in policies and those of some classes, and what the classes raise in a run.
pub(crate) struct Policies {
    /// What a configuration can contain with them.
    pub(crate) catalog: Arc<Catalog>,
    /// The first exception that one of them raised.
    pub(crate) raised: Raised,
}

/// Makes the catalog of the built-in policies and of these classes. Each run, or comparison, needs one of its own, so
/// that what its policies raise is told from what those of another do.
///
/// # Errors
/// `PolicyError`: something that is no policy, or one that a slot refuses.
pub(crate) fn catalog(policies: &[Bound<'_, PyAny>]) -> PyResult<Policies> {
    let (mut registry, raised) = (of_this_build(Registry::builtin()), Raised::by(policies.len()));
    for policy in policies {
        let class = Class::of(policy)?;
        let (py, spec) = (policy.py(), class.spec);
        let site = Site { class: Arc::new(class), raised: raised.clone() };
        let added = match &*site.class.slot {
            "scheduler" => registry.schedulers.add(scheduler::policy(spec, site)),
            "order" => registry.orders.add(order::policy(spec, site)),
            "rate" => registry.rates.add(rate::policy(spec, site)),
            "collection" => registry.collections.add(collection::policy(spec, site)),
            "allocation" => registry.allocations.add(allocation::policy(spec, site)),
            "placement" => registry.placements.add(placement::policy(spec, site)),
            "workload" => registry.workloads.add(workload::policy(spec, site)),
            "reliability" => registry.reliabilities.add(reliability::policy(spec, site)),
            "mapping" => registry.mappings.add(mapping::policy(spec, site)),
            slot => unreachable!("`flashloom.policy` has no slot {slot}"),
        };
        added.map_err(|refusal| refused(py, spec.name, &refusal))?;
    }
    match registry.catalog() {
        Ok(catalog) => Ok(Policies { catalog, raised }),
        Err(refusal) => Err(match policies.first() {
            Some(policy) => refused(policy.py(), "policies", &refusal),
            None => unreachable!("the built-in tables are in order: {refusal}"),
        }),
    }
}

/// A refusal of a class, as an exception.
fn refused(py: Python<'_>, policy: &str, refusal: &Refusal) -> PyErr {
    answer::error(py, policy, "name", answer::Wrong::new(refusal.found.clone(), refusal.expected.clone()))
}
