//! Placements: the chip that the pages of a logical block go to, if every chip has an FTL of its own.
//!
//! The write buffer decides which pages are evicted together; the placement chooses a chip for each of their logical
//! blocks (the channel allocator of CAVE, section 4.2). Pages that a logical block has on another chip are moved, which
//! is counted and timed. Adding a placement is one file here and one line in the table below; or, from another crate,
//! [`Slot::add`].

use flashloom_units::{Policy, PolicySpec, Slot, Value};

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
            policy(&r#static::SPEC, |values, on| Box::new(r#static::Static::new(values, on.chips))),
            policy(&first_touch::SPEC, |values, on| Box::new(first_touch::FirstTouch::new(values, on.chips))),
            policy(&round_robin::SPEC, |values, on| Box::new(round_robin::RoundRobin::new(values, on.chips))),
            policy(&adaptive::SPEC, |values, on| Box::new(adaptive::Adaptive::new(values, on.chips)))
                .with_profile(|values, on| Ok(adaptive::profile(values, on.chips))),
        ],
    )
}

fn policy(
    spec: &'static PolicySpec,
    build: fn(&[Value], &PlacementSetup) -> Box<dyn Placement>,
) -> Policy<dyn Placement> {
    Policy::<dyn Placement>::new(spec, move |values, on| Ok(build(values, on)))
}
