//! What policies need of each other, in words.

use flashloom_units::Need;

/// Completes "needs ...".
pub fn need_in_words(need: Need) -> &'static str {
    match need {
        Capability::TaskIds => "requests that carry task ids",
        Capability::WriteBuffer => "a write buffer of at least one page",
        Capability::SingleChannelFtl => "a mapping that works on one chip",
        Capability::PageMapping => "a page-level mapping that takes an allocation policy",
    }
}
