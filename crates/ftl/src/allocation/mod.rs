//! Allocation policies: the plane, and the lane in it, that a page is written to.
//!
//! Adding an allocation is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Parameters, Policy, PolicySpec, Slot};

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
            policy(&interleave::SPEC, |params, on| Box::new(interleave::Interleave::new(params, on))),
            policy(&r#static::SPEC, |params, on| Box::new(r#static::Static::new(params, on)))
                .with_profile(|params, on| r#static::profile(params, &on.space.nand)),
            policy(&slap::SPEC, |params, on| Box::new(slap::Slap::new(params, on))).with_profile(slap::profile),
        ],
    )
}

fn policy<T: Parameters>(
    spec: &'static PolicySpec,
    build: fn(T, &AllocationSetup<'_>) -> Box<dyn Allocation>,
) -> Policy<dyn Allocation> {
    Policy::<dyn Allocation>::new(spec, move |params, on| Ok(build(params, on)))
}
