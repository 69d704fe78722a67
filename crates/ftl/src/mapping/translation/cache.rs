//! The interface of a cache of a map on flash.

use flashloom_nand::{Lpn, Ppn};
use flashloom_units::{Figure, Parameters, Refusal, State, Violation};

use super::loads::Frame;
use super::shape::{MapShape, TranslationPage};

/// A translation page to write back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// The translation page.
    pub page: TranslationPage,
    /// The frame that holds all its entries, if there is one: the page then need not be read first.
    pub whole: Option<Frame>,
}

/// The cache of a map on flash: it decides which entries are in memory, tracks which are dirty, and chooses victims.
/// The mappings themselves are in the store: `map` is its map, the physical page of each logical page.
pub trait MapCache: State + Send + Sized + 'static {
    /// The parameters of its mapping.
    type Params: Parameters;

    /// Whether a frame holds several entries: one that changes then says nothing of the others.
    const ENTRIES_SHARE_FRAMES: bool = false;

    /// Whether the entry of a page can change without being in memory, so that a write of a whole page, and a trim,
    /// look nothing up.
    const CHANGES_UNSEEN: bool = false;

    /// Refuses parameters that cannot work on this drive.
    ///
    /// # Errors
    /// What was found, what is expected, and the keys that decide it.
    fn suits(_params: &Self::Params, _shape: MapShape) -> Result<(), Refusal> {
        Ok(())
    }

    /// Builds an empty cache from the parameters of its mapping.
    fn new(params: Self::Params, shape: MapShape) -> Self;

    /// Number of its frames, in use or not. An entry stays in its frame while it is cached.
    fn frames(&self) -> u32;

    /// Prefetch hint: the entry of a page is about to be looked up.
    fn prepare(&self, _lpn: Lpn) {}

    /// Looks up the entry of a page and counts the reference; returns its frame if it is cached. Called once for each
    /// translation.
    fn touch(&mut self, lpn: Lpn) -> Option<Frame>;

    /// Evicts a victim if there is no room for the entry of a page. Returns the victim's translation page if it was
    /// dirty: that page is then written back, with all its entries that are dirty in the cache. Called until it returns
    /// `None`.
    fn make_room(&mut self, lpn: Lpn, map: &[Ppn]) -> Option<WriteBack>;

    /// Inserts the entry of a page as clean, and returns its frame. Called after [`Self::make_room`].
    fn insert(&mut self, lpn: Lpn, map: &[Ppn]) -> Frame;

    /// Marks the entry of a page as dirty, and returns its frame. `None` if it is not cached.
    fn mark_dirty(&mut self, lpn: Lpn, map: &[Ppn]) -> Option<Frame>;

    /// The frame that holds all entries of a translation page, if there is one.
    fn whole(&self, _page: TranslationPage) -> Option<Frame> {
        None
    }

    /// Evicts a victim if changed entries take more memory than there is, as [`Self::make_room`] does. Called until it
    /// returns `None` after each page of the host and each step of background work: both may have changed entries.
    fn overflow(&mut self) -> Option<WriteBack> {
        None
    }

    /// Whether the entry of a page is cached and dirty: newer than in its translation page.
    fn is_dirty(&self, lpn: Lpn) -> bool;

    /// Whether a translation page has an entry that is cached and dirty.
    fn has_dirty(&self, page: TranslationPage) -> bool;

    /// Marks all entries of a translation page as clean, after its write-back.
    fn clean(&mut self, page: TranslationPage);

    /// Called with the host pages that a collection is about to move: their entries will change.
    fn collecting(&mut self, _lpns: impl Iterator<Item = Lpn>) {}

    /// Whether the cache predicts a wrong page for a translated entry, so that a second read has to find its data.
    /// Called for each read of the page, for the host or for a partial write, unless the translation has just
    /// read the translation page.
    fn mispredicts(&mut self, _lpn: Lpn, _map: &[Ppn]) -> bool {
        false
    }

    /// Values of the mapping's statistics that follow [`STATISTICS`](super::STATISTICS).
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Bytes of memory that the cache takes when it is full.
    fn memory_bytes(&self) -> u64;

    /// Resets the counters of [`Self::figures`], after preconditioning.
    fn reset_report(&mut self) {}

    /// Checks the cache's own invariants, in checked runs.
    fn check(&self, map: &[Ppn]) -> Result<(), Violation>;
}
