//! Policies of read reliability: how often a read is repeated, and whether it fails.
//!
//! The array calls the policy for each page read with the condition of the page: wear, age, reads of the block. To add
//! a policy, add one file here and one line in the table below; from another crate, call [`Slot::add`].

use flashloom_units::{Policy, PolicySpec, Slot, SlotSpec, Value};

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
            policy(&none::SPEC, |_| Box::new(none::AlwaysReadable)),
            policy(&linear::SPEC, |values| Box::new(linear::Linear::new(values))),
        ],
    )
}

fn policy(spec: &'static PolicySpec, build: fn(&[Value]) -> Box<dyn Reliability>) -> Policy<dyn Reliability> {
    Policy::<dyn Reliability>::new(spec, move |values, _| Ok(build(values)))
}
