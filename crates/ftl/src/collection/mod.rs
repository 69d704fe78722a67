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
            policy(&greedy::SPEC, greedy::Greedy::new),
            policy(&cost_benefit::SPEC, cost_benefit::CostBenefit::new),
            policy(&d_choices::SPEC, d_choices::DChoices::new),
            policy(&fifo::SPEC, fifo::Fifo::new),
            policy(&windowed_greedy::SPEC, windowed_greedy::WindowedGreedy::new),
        ],
    )
}

fn policy<T: Parameters, P: Collection + 'static>(
    spec: &'static PolicySpec,
    new: fn(T, &CollectionSetup<'_>) -> P,
) -> Policy<dyn Collection> {
    Policy::<dyn Collection>::new(spec, move |params, on| Ok(Box::new(new(params, on))))
}
