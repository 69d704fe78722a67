//! Hint about CAVE without its channel allocator.

use flashloom_ftl::{FIXED_HOMES, SINGLE_CHIP};

use super::{Run, hint};
use flashloom_config::Precondition;
use flashloom_figures::result::HintResult;

impl Run<'_> {
    /// Hint if CAVE evicts a victim for each chip and the addresses choose the chips.
    pub(super) fn no_allocator(&self) -> Option<HintResult> {
        let (config, buffer) = (self.config, self.result.buffer.as_ref()?);
        let placement = config.policy("ftl.placement").0;
        let is_paper = buffer.rate.policy != "cave" || !config.mapping_offers(SINGLE_CHIP);
        if is_paper || !placement.offers.contains(&FIXED_HOMES) {
            return None;
        }
        let is_filled = config.run.precondition != Precondition::None && config.run.fill >= 1.0;
        let then = if is_filled {
            "is the same on this drive, which was filled in order, and \"round-robin\" moves blocks at every eviction"
        } else {
            "sends blocks that leave together to different chips"
        };
        let text = format!(
            "`buffer.rate` = \"cave\" evicts a victim for each chip, but `ftl.placement` = \"{}\" has their addresses \
             choose the chips: the paper's channel allocator, \"first-touch\", {then}.",
            placement.name
        );
        hint("no-allocator", "ftl.placement", text)
    }
}
