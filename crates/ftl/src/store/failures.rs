//! What failed programs and erases lead to, as mappings count it.

use std::ops::AddAssign;

use flashloom_nand::Nand;
use serde::{Deserialize, Serialize};

/// The drive's life is over: a plane has fewer good blocks than its mapping needs. Nothing is programmed or erased from
/// now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WornOut;

/// What replacing blocks took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replaced {
    /// Programs that failed.
    pub(crate) failures: u32,
    /// Copies that followed from them.
    pub(crate) copies: u32,
}

impl AddAssign for Replaced {
    fn add_assign(&mut self, other: Self) {
        self.failures += other.failures;
        self.copies += other.copies;
    }
}

impl Replaced {
    /// Whether an array whose blocks have `pages` pages can have led to this: each block fails once at most, and each
    /// failure leads to `pages` - 1 copies at most.
    pub(crate) fn is_within(&self, pages: u32, nand: &Nand) -> bool {
        let most = if nand.can_fail() { nand.geometry().total_blocks() } else { 0 };
        u64::from(self.failures) <= most && u64::from(self.copies) <= u64::from(self.failures) * u64::from(pages - 1)
    }
}
