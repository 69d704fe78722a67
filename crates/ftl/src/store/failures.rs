//! What blocks that fail or wear lead to, as mappings count it.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The drive's life is over: a plane has fewer good blocks than its mapping needs. Nothing is programmed or erased from
/// now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WornOut;

/// What blocks took beside what the mapping asked of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Upkeep {
    /// Programs that failed.
    pub(crate) failures: u32,
    /// Blocks whose data moved because they were little worn; each was erased.
    pub(crate) exchanges: u32,
    /// Copies that followed from either.
    pub(crate) copies: u32,
}

impl AddAssign for Upkeep {
    fn add_assign(&mut self, other: Self) {
        self.failures += other.failures;
        self.exchanges += other.exchanges;
        self.copies += other.copies;
    }
}
