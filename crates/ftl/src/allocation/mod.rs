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
            policy(&interleave::SPEC, interleave::Interleave::new),
            policy(&r#static::SPEC, r#static::Static::new)
                .with_profile(|params, on| r#static::profile(params, &on.space.nand)),
            policy(&slap::SPEC, slap::Slap::new).with_profile(slap::profile),
        ],
    )
}

fn policy<T: Parameters, P: Allocation + 'static>(
    spec: &'static PolicySpec,
    new: fn(T, &AllocationSetup<'_>) -> P,
) -> Policy<dyn Allocation> {
    Policy::<dyn Allocation>::new(spec, move |params, on| Ok(Box::new(new(params, on))))
}
