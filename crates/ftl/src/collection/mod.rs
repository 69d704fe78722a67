//! Garbage collection policies: the closed block of a plane that is collected next.
//!
//! Adding a collection policy is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Slot, policy};

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
            policy!(dyn Collection: greedy::Greedy),
            policy!(dyn Collection: cost_benefit::CostBenefit),
            policy!(dyn Collection: d_choices::DChoices),
            policy!(dyn Collection: fifo::Fifo),
            policy!(dyn Collection: windowed_greedy::WindowedGreedy),
        ],
    )
}
