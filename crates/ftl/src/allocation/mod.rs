//! Allocation policies: the plane, and the lane in it, that a page is written to.
//!
//! Adding an allocation is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Slot, policy};

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
            policy!(dyn Allocation: interleave::Interleave),
            policy!(dyn Allocation: r#static::Static)
                .with_profile(|params, on| r#static::profile(params, &on.space.nand)),
            policy!(dyn Allocation: slap::Slap).with_profile(slap::profile),
        ],
    )
}
