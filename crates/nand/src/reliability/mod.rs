//! How often a read is repeated, and whether it fails.
//!
//! The array asks the policy for each read of a page, with what it knows of it: wear, age, reads of the block. Adding a
//! policy is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Policy, PolicySpec, Slot, SlotSpec, Value};

mod interface;
mod linear;
mod none;

pub use interface::{PageCondition, Reading, Reliability, ReliabilitySetup};

/// The place of the policy.
pub static SLOT: SlotSpec = SlotSpec {
    name: "reliability",
    key: "device.reliability",
    role: "read reliability",
    help: "how often a read is repeated, and whether it fails",
    statistics: &[],
};

/// The policies that are built in, in the order in which they are listed.
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
