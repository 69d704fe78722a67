//! Policies of read reliability: how often a read is repeated, and whether it fails.
//!
//! The array calls the policy for each page read with the condition of the page: wear, age, reads of the block. To add
//! a policy, add one file here and one line in the table below; from another crate, call [`Slot::add`].

use flashloom_units::{Parameters, Policy, PolicySpec, Slot, SlotSpec};

mod interface;
mod linear;
mod none;

pub use interface::{PageCondition, Reading, Reliability, ReliabilitySetup};

/// Slot of the policy.
pub static SLOT: SlotSpec = SlotSpec {
    name: "reliability",
    key: "device.reliability",
    role: "read reliability",
    help: "how often a read is repeated, and whether it fails",
    statistics: &[],
};

/// The built-in policies, in the order of `flashloom list`.
pub fn builtin() -> Slot<dyn Reliability> {
    Slot::new(
        &SLOT,
        [
            policy(&none::SPEC, |()| Box::new(none::AlwaysReadable)),
            policy(&linear::SPEC, |params| Box::new(linear::Linear::new(params))),
        ],
    )
}

fn policy<T: Parameters>(spec: &'static PolicySpec, build: fn(T) -> Box<dyn Reliability>) -> Policy<dyn Reliability> {
    Policy::<dyn Reliability>::new(spec, move |params, _| Ok(build(params)))
}
