//! Allocation policies: the plane, and the lane in it, that a page is written to.
//!
//! Adding an allocation is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Policy, PolicySpec, Slot, Value};

mod interface;
mod interleave;
mod slap;
mod r#static;
mod stripe;

pub use crate::slots::ALLOCATION as SLOT;
pub use interface::{Allocation, AllocationSetup, ObservedRead, PagePlace, Profile, Turns, WantedStreams};
pub(crate) use stripe::{stripe, stripe_of_superpages};

/// The built-in allocations, in the order of `flashloom list`.
pub fn builtin() -> Slot<dyn Allocation> {
    Slot::new(
        &SLOT,
        [
            policy(&interleave::SPEC, |values, on| Box::new(interleave::Interleave::new(values, on))),
            policy(&r#static::SPEC, |values, on| Box::new(r#static::Static::new(values, on)))
                .with_profile(|values, on| r#static::profile(values, &on.space.nand)),
            policy(&slap::SPEC, |values, on| Box::new(slap::Slap::new(values, on))).with_profile(slap::profile),
        ],
    )
}

fn policy(
    spec: &'static PolicySpec,
    build: fn(&[Value], &AllocationSetup<'_>) -> Box<dyn Allocation>,
) -> Policy<dyn Allocation> {
    Policy::<dyn Allocation>::new(spec, move |values, on| Ok(build(values, on)))
}
