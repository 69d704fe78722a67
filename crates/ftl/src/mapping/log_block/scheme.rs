//! The interface of a log-block scheme.

use flashloom_units::{Parameters, Refusal, State, Violation};

use super::job::MergeKind;
use super::log_blocks::LogSlot;
use super::store::{Chip, Store};
use crate::PageWrite;
use crate::setup::Site;
use crate::store::WornOut;

/// A log-block scheme, with its state for all groups.
pub(in crate::mapping) trait Scheme: Send + Sized + State {
    /// Whether it reads [`Store::run`].
    const LOOKS_AT_RUNS: bool = false;

    /// Its parameters.
    type Params: Parameters;

    /// Bytes of memory that it takes for each page of the log, besides the address that the store keeps.
    const BYTES_A_LOG_PAGE: u64 = 0;

    /// Log blocks of each group that only ever take pages in order of their place in a data block: no table has to say
    /// which these are.
    fn in_place_log_blocks(&self) -> u32 {
        0
    }

    /// The layout that it needs, and its guarantees on this drive.
    fn layout(params: &Self::Params, site: &Site<'_>) -> Layout;

    /// Refuses parameters of its own that cannot work on this device.
    fn check(_params: &Self::Params, _site: &Site<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Minimum length in pages of a stream: consecutive pages, from the first page of a logical block, that are written
    /// together ([`Store::begins_stream`]). `None` if the scheme looks at each page alone.
    fn stream_pages(_params: &Self::Params) -> Option<u32> {
        None
    }

    /// Builds the scheme on a store of the layout that it asked for.
    fn new(params: Self::Params, site: &Site<'_>, store: &Store) -> Self;

    /// Writes a page to a log block and makes room first if none is free. Called for every page that is not written to
    /// its data block.
    ///
    /// # Errors
    /// The drive is worn out.
    fn write(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut>;

    /// Chooses the log block of a group to merge when a free one is needed, and the kind of merge. Never `opened`,
    /// which was just opened and is empty. The returned log block takes no more pages.
    fn victim(&mut self, store: &Store, group: u32, opened: LogSlot) -> (LogSlot, MergeKind);

    /// Checks a loaded state against the store, which was checked before.
    fn check_loaded(&self, store: &Store) -> Result<(), Violation>;
}

/// The layout that a scheme needs, and its guarantees: the bounds on merges and waits follow from them.
#[derive(Clone, Copy, Debug)]
pub(in crate::mapping) struct Layout {
    /// Chips that share a superblock.
    pub(in crate::mapping) width: u32,
    /// Log blocks of a group.
    pub(in crate::mapping) log_blocks: u32,
    /// Upper bound of k(L).
    pub(in crate::mapping) associativity: u32,
    /// Pages that a log block takes at least before another one is needed.
    pub(in crate::mapping) pages_a_log_block: u32,
    /// Maximum copies and erases that writing one page can cause at once, beyond the merge that makes room for it.
    pub(in crate::mapping) besides: (u32, u32),
}

/// Upper bound of loaded write clocks: no drive writes that many pages, and later additions cannot overflow.
pub(in crate::mapping) const LATEST: u64 = 1 << 60;

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
