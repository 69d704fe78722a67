//! Garbage collection policies: the closed block of a plane that is collected next.
//!
//! Adding a collection policy is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Policy, PolicySpec, Slot, Value};

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
            policy(&greedy::SPEC, |values, on| Box::new(greedy::Greedy::new(values, on.geometry, on.prng))),
            policy(&cost_benefit::SPEC, |values, on| {
                Box::new(cost_benefit::CostBenefit::new(values, on.geometry, on.prng))
            }),
            policy(&d_choices::SPEC, |values, on| Box::new(d_choices::DChoices::new(values, on.geometry, on.prng))),
            policy(&fifo::SPEC, |values, on| Box::new(fifo::Fifo::new(values, on.geometry, on.prng))),
            policy(&windowed_greedy::SPEC, |values, on| {
                Box::new(windowed_greedy::WindowedGreedy::new(values, on.geometry, on.prng))
            }),
        ],
    )
}

fn policy(
    spec: &'static PolicySpec,
    build: fn(&[Value], &CollectionSetup<'_>) -> Box<dyn Collection>,
) -> Policy<dyn Collection> {
    Policy::<dyn Collection>::new(spec, move |values, on| Ok(build(values, on)))
}
