//! None: every read succeeds at the first attempt, whatever the wear of its block.

use flashloom_units::{Capability, PolicySpec};

use super::{PageCondition, Reading, Reliability};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "none",
    summary: "every read succeeds at the first try",
    details: "Nothing is asked, and nothing is kept for it.",
    source: "what most simulators do, and all of the papers here",
    example: "device.reliability=none",
    instead: "Reads of a worn drive have a tail that this leaves out: use `linear`, or a policy of your own with the \
              figures of your flash.",
    needs: &[],
    offers: &[Capability::SAVED_STATE],
    params: &[],
    statistics: &[],
};

pub(super) struct AlwaysReadable;

flashloom_units::state! { AlwaysReadable { } }

flashloom_units::component! { AlwaysReadable }

impl Reliability for AlwaysReadable {
    fn read(&mut self, _page: &PageCondition) -> Reading {
        Reading::AT_ONCE
    }

    fn is_asked(&self) -> bool {
        false
    }
}
