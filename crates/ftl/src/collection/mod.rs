//! Garbage collection policies: the closed block of a plane that is collected next.
//!
//! Adding a collection policy is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Parameters, Policy, PolicySpec, Slot};

mod by_valid;
pub mod clairvoyant;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod held;
mod interface;
#[cfg(test)]
mod model;
mod windowed_greedy;

pub use crate::slots::COLLECTION as SLOT;
pub use interface::{Collection, CollectionSetup};

/// The built-in collection policies, in the order of `flashloom list`.
pub fn builtin() -> Slot<dyn Collection> {
    Slot::new(
        &SLOT,
        [
            policy(&greedy::SPEC, |params, on| Box::new(greedy::Greedy::new(params, on.geometry, on.prng))),
            policy(&cost_benefit::SPEC, |params, on| {
                Box::new(cost_benefit::CostBenefit::new(params, on.geometry, on.prng))
            }),
            policy(&d_choices::SPEC, |params, on| Box::new(d_choices::DChoices::new(params, on.geometry, on.prng))),
            policy(&fifo::SPEC, |params, on| Box::new(fifo::Fifo::new(params, on.geometry, on.prng))),
            policy(&windowed_greedy::SPEC, |params, on| {
                Box::new(windowed_greedy::WindowedGreedy::new(params, on.geometry, on.prng))
            }),
        ],
    )
}

fn policy<T: Parameters>(
    spec: &'static PolicySpec,
    build: fn(T, &CollectionSetup<'_>) -> Box<dyn Collection>,
) -> Policy<dyn Collection> {
    Policy::<dyn Collection>::new(spec, move |params, on| Ok(build(params, on)))
}
