//! The map of a page-level mapping, beside that of its store.

use flashloom_nand::{Lpn, Nand, OpId};
use flashloom_units::{Figure, Refusal, State, Statistic, Value, Violation};

use super::page_store::{CollectionListener, Own, PageStore};
use crate::capacity::Space;
use crate::setup::Context;

/// The map of a page-level mapping, as far as it is not the store's: it says where pages are, this what it takes to
/// know.
pub(super) trait Map: CollectionListener + State + Send + Sized + 'static {
    /// What it counts; a mapping on it begins its statistics with these.
    const STATISTICS: &'static [Statistic];

    /// Refuses what of the parameters cannot work on a drive.
    fn suits(values: &[Value], space: &Space) -> Result<(), Refusal>;

    /// What the map keeps in the store.
    fn own(space: &Space) -> Own;

    /// The map of an empty drive.
    fn new(values: &[Value], on: &Context<'_>, store: &PageStore) -> Self;

    /// A hint that the entry of a page is about to be looked up.
    fn prepare(&self, lpn: Lpn);

    /// Makes sure that the entry of a page is in memory. Returns the operation that brings it there.
    fn translate(&mut self, store: &mut PageStore, nand: &mut Nand, lpn: Lpn) -> OpId;

    /// The entry of a page, which has been translated, has changed.
    fn changed(&mut self, lpn: Lpn);

    /// Does a share of the write-backs that collections have made due.
    fn write_back_due(&mut self, store: &mut PageStore, nand: &mut Nand);

    /// The values of its statistics.
    fn figures(&self) -> Vec<Figure>;

    /// Pages of the map that were programmed.
    fn writes(&self) -> u64;

    /// Starts the counters again at zero.
    fn reset_report(&mut self);

    /// Checks a state that was loaded.
    fn check_loaded(&self, store: &PageStore) -> Result<(), Violation>;

    /// Checks the invariants.
    fn check(&self, store: &PageStore) -> Result<(), Violation>;
}
