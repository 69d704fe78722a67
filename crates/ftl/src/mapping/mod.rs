//! How logical pages are mapped to physical ones.
//!
//! Adding a mapping is one file here and one line in the table below.

use flashloom_nand::{DeviceParams, Expect, Nand};
use flashloom_units::{Lpn, Slot};

use crate::{FtlSetup, PageWrite};

/// What an FTL reports; what does not apply to a mapping is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FtlReport {
    /// Pages written by the layer above.
    pub host_page_writes: u64,
    /// Pages read for the layer above, from flash.
    pub host_page_reads: u64,
    /// Valid pages copied by collections and merges.
    pub page_copies: u64,
    /// Blocks erased.
    pub block_erases: u64,
    /// Partial writes that first had to read the page beneath.
    pub read_modify_writes: u64,
    /// Pages whose mapping a discard removed.
    pub trimmed_pages: u64,
    /// Collections begun because a write found too few free blocks.
    pub foreground_collections: u64,
    /// Collections begun while the drive was idle.
    pub background_collections: u64,
}

/// A flash translation layer, driven by the layer above and emitting operations to the array.
pub trait Mapping: Send {
    /// Writes pages that the layer above writes together.
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]);

    /// The page will be written or read soon: its part of the map can be fetched into the cache. Changes nothing.
    fn prepare(&self, lpn: Lpn);

    /// Reads sectors of a page; false if nothing is mapped there, and then nothing was emitted.
    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, expect: Expect, tag: u32) -> bool;

    /// Whether a read of the page would find anything.
    fn is_mapped(&self, lpn: Lpn) -> bool;

    /// Forgets a whole page.
    fn trim(&mut self, nand: &mut Nand, lpn: Lpn);

    /// One step of work that need not be done now; false if there is none. Called while the drive is idle.
    fn idle(&mut self, nand: &mut Nand) -> bool;

    /// The counters, from the last reset.
    fn report(&self) -> FtlReport;

    /// Starts the counters again at zero, after preconditioning; wear is kept.
    fn reset_report(&mut self);

    /// How often each block was erased since the drive was new.
    fn erase_counts(&self) -> &[u32];

    /// Free blocks of the whole drive.
    fn free_blocks(&self) -> u64;

    /// Checks the invariants: valid pages = mapped pages, and every mapped page is the valid copy of its address.
    fn check(&self) -> Result<(), String>;
}

macro_rules! mappings {
    ($($module:ident),+ $(,)?) => {
        $(mod $module;)+

        /// All mappings.
        pub static SLOT: Slot = Slot {
            name: "mappings",
            key: "ftl.mapping",
            help: "how logical pages are mapped to physical ones",
            policies: &[$(&$module::SPEC),+],
        };

        pub(crate) fn build(setup: &FtlSetup, device: &DeviceParams, nand: &Nand) -> Box<dyn Mapping> {
            $(if setup.params.mapping == $module::SPEC.name {
                return Box::new($module::State::new(setup, device, nand));
            })+
            unreachable!("the configuration accepts only names of the table")
        }
    };
}

mappings! { page }
