//! What policies need of each other, in words.

use flashloom_units::Need;

/// Completes "needs ...".
pub fn need_in_words(need: Need) -> &'static str {
    match need {
        Need::TaskIds => "requests that carry task ids",
        Need::WriteBuffer => "a write buffer of at least one page",
        Need::SingleChannelFtl => "a mapping that works on one chip",
        Need::PageMapping => "a page-level mapping that takes an allocation policy",
    }
}
