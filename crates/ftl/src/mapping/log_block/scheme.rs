//! What a scheme of log blocks is.

use flashloom_units::{Refusal, State, Value, Violation, violation};

use super::job::MergeKind;
use super::log_blocks::LogSlot;
use super::store::{Chip, Store};
use crate::PageWrite;
use crate::setup::Site;

/// What a scheme guarantees about its log blocks.
#[derive(Clone, Copy, Debug)]
pub(in crate::mapping) struct Guarantees {
    /// k(L) of no log block is above this.
    pub(in crate::mapping) associativity: u32,
    /// Pages that a log block takes at least before another one is needed.
    pub(in crate::mapping) pages_a_log_block: u32,
    /// Copies and erases that writing one page can take at once, besides the merge that makes room.
    pub(in crate::mapping) besides: (u32, u32),
}

/// A scheme of log blocks: the state of all groups.
pub(in crate::mapping) trait Scheme: Send + Sized + State {
    /// The shape it wants, and what it guarantees on this drive.
    fn layout(values: &[Value], site: &Site<'_>) -> Layout;

    /// Refuses what of its own parameters cannot work on a device.
    fn check(_values: &[Value], _site: &Site<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Consecutive pages from the first one of a logical block on that it treats as a stream where they are written
    /// together ([`Store::begins_stream`]); nothing where it looks at each page alone.
    fn stream_pages(_values: &[Value]) -> Option<u32> {
        None
    }

    /// Builds it; the store has the layout that it asked for.
    fn new(values: &[Value], site: &Site<'_>, store: &Store) -> Self;

    /// Writes a page that does not go into its data block to a log block, and makes room first if there is none.
    fn write(&mut self, chip: &mut Chip, write: &PageWrite);

    /// Which log block of a group to merge when a free one is needed, and how; not the one just opened, which holds
    /// nothing yet. It takes no page from then on.
    fn victim(&mut self, store: &Store, group: u32, opened: LogSlot) -> (LogSlot, MergeKind);

    /// Checks a state that was loaded: what it knows of log blocks is so in the store, which was checked before.
    fn check_loaded(&self, store: &Store) -> Result<(), Violation>;
}

/// What a scheme needs of the drive.
#[derive(Clone, Copy, Debug)]
pub(in crate::mapping) struct Layout {
    /// Chips that share a superblock.
    pub(in crate::mapping) width: u32,
    /// Log blocks of a group.
    pub(in crate::mapping) log_blocks: u32,
    pub(in crate::mapping) guarantees: Guarantees,
}

/// Clocks of log blocks go on from there: no drive writes as many pages.
pub(in crate::mapping) const LATEST: u64 = 1 << 60;

/// The error of a scheme that takes a log block for what it is not.
pub(in crate::mapping) fn mistaken(slot: LogSlot) -> Violation {
    violation!("log blocks: slot {} holds other pages, or another time, than its scheme says", slot.0)
}

/// Refuses an associativity above the pages of a block, which no log block can reach.
pub(in crate::mapping) fn check_associativity(key: &str, k: u32, pages: u32) -> Result<(), Refusal> {
    if k <= pages {
        return Ok(());
    }
    let found = format!("`{key}` = {k} with blocks of {pages} pages (device.pages)");
    let expected = format!("at most {pages}: a log block is associated with no more data blocks than it has pages");
    let refusal = Refusal::new(found, expected).at([key, "device.pages", "device.preset"]);
    Err(refusal.help("lower it, or choose fast, which has no limit"))
}
