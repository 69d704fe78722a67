//! The interface between a page-level mapping and its map.

use flashloom_nand::{Lpn, Nand, OpId};
use flashloom_units::{Figure, Parameters, Refusal, State, Statistic, Violation};

use super::page_store::{CollectionListener, Own, PageStore};
use crate::capacity::Space;
use crate::setup::Context;

/// The map of a page-level mapping. The store knows where each page is; the map says what a lookup costs: entries
/// cached in memory, and map pages on flash. What is only reported or checked has the default of a map in memory.
pub(super) trait Map: CollectionListener + State + Send + Sized + 'static {
    /// Statistics of the map. The mapping's statistics begin with these.
    const STATISTICS: &'static [Statistic] = &[];

    /// Whether the whole map is in memory, so that a lookup changes nothing.
    const IS_IN_MEMORY: bool;

    /// Whether writes of whole pages, and trims, change an entry without a lookup.
    const CHANGES_UNSEEN: bool = false;

    /// The parameters of its mapping.
    type Params: Parameters;

    /// Refuses parameters that cannot work on this drive.
    fn suits(_params: &Self::Params, _space: &Space) -> Result<(), Refusal> {
        Ok(())
    }

    /// Space that the map itself needs in the store.
    fn own(_space: &Space) -> Own {
        Own::default()
    }

    /// Builds the map of an empty drive.
    fn new(params: Self::Params, on: &Context<'_>, store: &PageStore) -> Self;

    /// Prefetch hint: the entry of a page is about to be looked up.
    fn prepare(&self, _lpn: Lpn) {}

    /// Brings the entry of a page into memory; returns the flash operation to wait for.
    fn translate(&mut self, store: &mut PageStore, nand: &mut Nand, lpn: Lpn) -> OpId;

    /// Finds the data of a translated page, after `after`, for a read of it; returns the operation to wait for then.
    fn locate(&mut self, _store: &PageStore, _nand: &mut Nand, _lpn: Lpn, after: OpId) -> OpId {
        after
    }

    /// Called when the entry of a translated page has changed.
    fn changed(&mut self, store: &PageStore, lpn: Lpn);

    /// Takes a share of the map write-backs that garbage collection has made due.
    fn write_back_due(&mut self, store: &mut PageStore, nand: &mut Nand);

    /// See [`MappingExtras::rest`](crate::mapping::MappingExtras::rest).
    fn rest(&mut self, _nand: &mut Nand) {}

    /// The values of [`Self::STATISTICS`].
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Map pages programmed.
    fn writes(&self) -> u64 {
        0
    }

    /// See [`MappingExtras::unwritten_map_pages`](crate::mapping::MappingExtras::unwritten_map_pages).
    fn unwritten_pages(&self) -> u64 {
        0
    }

    /// Bytes that it takes in a controller's memory ([`FtlReport::memory_bytes`](crate::FtlReport)).
    fn memory_bytes(&self, store: &PageStore) -> u64;

    /// Resets the counters.
    fn reset_report(&mut self) {}

    /// Checks a loaded state.
    fn check_loaded(&self, store: &PageStore) -> Result<(), Violation> {
        self.check(store)
    }

    /// Checks the invariants.
    fn check(&self, _store: &PageStore) -> Result<(), Violation> {
        Ok(())
    }
}
