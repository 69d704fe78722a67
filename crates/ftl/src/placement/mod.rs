//! Placements: the chip that the pages of a logical block go to, if every chip has an FTL of its own.
//!
//! The write buffer decides which pages are evicted together; the placement chooses a chip for each of their logical
//! blocks (the channel allocator of CAVE, section 4.2). Pages that a logical block has on another chip are moved, which
//! is counted and timed. Adding a placement is one file here and one line in the table below; or, from another crate,
//! [`Slot::add`].

use flashloom_units::{Slot, policy};

mod adaptive;
mod first_touch;
mod interface;
mod round_robin;
mod r#static;

pub use crate::slots::PLACEMENT as SLOT;
pub use interface::{Ledger, Placement, PlacementSetup, Profile, Region, Run, Times};

/// The built-in placements, in the order of `flashloom list`.
pub fn builtin() -> Slot<dyn Placement> {
    Slot::new(
        &SLOT,
        [
            policy!(dyn Placement: r#static::Static),
            policy!(dyn Placement: first_touch::FirstTouch),
            policy!(dyn Placement: round_robin::RoundRobin),
            policy!(dyn Placement: adaptive::Adaptive)
                .with_profile(|params, on| Ok(adaptive::profile(&params, on.chips))),
        ],
    )
}
