//! Placements: the chip that the pages of a logical block go to, if every chip has an FTL of its own.
//!
//! The write buffer decides which pages are evicted together; the placement chooses a chip for each of their logical
//! blocks (the channel allocator of CAVE, section 4.2). Pages that a logical block has on another chip are moved, which
//! is counted and timed. Adding a placement is one file here and one line in the table below; or, from another crate,
//! [`Slot::add`].

use flashloom_units::{Parameters, Policy, PolicySpec, Slot};

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
            policy(&r#static::SPEC, |params, on| Box::new(r#static::Static::new(params, on.chips))),
            policy(&first_touch::SPEC, |params, on| Box::new(first_touch::FirstTouch::new(params, on.chips))),
            policy(&round_robin::SPEC, |params, on| Box::new(round_robin::RoundRobin::new(params, on.chips))),
            policy(&adaptive::SPEC, |params, on| Box::new(adaptive::Adaptive::new(params, on.chips)))
                .with_profile(|params, on| Ok(adaptive::profile(&params, on.chips))),
        ],
    )
}

fn policy<T: Parameters>(
    spec: &'static PolicySpec,
    build: fn(T, &PlacementSetup) -> Box<dyn Placement>,
) -> Policy<dyn Placement> {
    Policy::<dyn Placement>::new(spec, move |params, on| Ok(build(params, on)))
}
