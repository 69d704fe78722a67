//! How logical pages are mapped to physical ones.
//!
//! Adding a mapping is one file here and one line in the table below.

use flashloom_nand::{DeviceParams, Expect, Nand};
use flashloom_units::{Lpn, Need, Slot};

use crate::{FtlReport, FtlSetup, Misfit, PageWrite, WantedStreams};

/// A flash translation layer, driven by the layer above and emitting operations to the array.
pub trait Mapping: Send {
    /// Writes pages that the layer above writes together, or refuses them.
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]);

    /// The streams that the layer above is to write together, where it can; nothing where the mapping, or its
    /// allocation, looks for none.
    fn wanted_streams(&self) -> Option<WantedStreams> {
        None
    }

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

    /// Whether so many blocks have gone bad that a page could not be stored: the drive's life is over, and from that
    /// page on all that is to be written is refused ([`Nand::refuse`]). What was stored can still be read.
    fn is_worn_out(&self) -> bool {
        false
    }

    /// Checks the invariants: valid pages = mapped pages, and every mapped page is the valid copy of its address.
    fn check(&self) -> Result<(), String>;
}

macro_rules! mappings {
    ($($module:ident: $offer:expr),+ $(,)?) => {
        $(mod $module;)+

        /// All mappings.
        pub static SLOT: Slot = Slot {
            name: "mappings",
            key: "ftl.mapping",
            help: "how logical pages are mapped to physical ones",
            policies: &[$(&$module::SPEC),+],
        };

        /// The mapping of that name, if there is one, offers this to policies that need it.
        pub fn offers(name: &str, need: Need) -> bool {
            $((name == $module::SPEC.name && $offer == Some(need)) ||)+ false
        }

        /// What keeps the chosen mapping from working on a device, if anything does.
        pub(crate) fn misfit(setup: &FtlSetup, device: &DeviceParams) -> Option<Misfit> {
            $(if setup.params.mapping == $module::SPEC.name {
                return $module::State::misfit(setup, device);
            })+
            unreachable!("the configuration accepts only names of the table")
        }

        /// Pages of the streams that the chosen mapping, or its allocation, wants written together; 1 for none.
        pub(crate) fn stream_pages(setup: &FtlSetup, device: &DeviceParams) -> u32 {
            $(if setup.params.mapping == $module::SPEC.name {
                return $module::State::stream_pages(setup, device);
            })+
            unreachable!("the configuration accepts only names of the table")
        }

        pub(crate) fn build(setup: &FtlSetup, device: &DeviceParams, nand: &Nand) -> Box<dyn Mapping> {
            $(if setup.params.mapping == $module::SPEC.name {
                return Box::new($module::State::new(setup, device, nand));
            })+
            unreachable!("the configuration accepts only names of the table")
        }
    };
}

mod page_store;

mod log_block;

// Each with what other policies find in it: page-level mappings take an allocation and a collection policy, those of one
// FTL a chip a placement.
mappings! {
    page: Some(Need::PageMapping),
    dftl: Some(Need::PageMapping),
    bast: Some(Need::SingleChannelFtl),
    fast: Some(Need::SingleChannelFtl),
    sast: Some(Need::SingleChannelFtl),
    kast: Some(Need::SingleChannelFtl),
    mcsplit: None,
}

/// The mappings that offer what a policy needs.
pub fn offering(need: Need) -> Vec<&'static str> {
    SLOT.policies.iter().map(|policy| policy.name).filter(|name| offers(name, need)).collect()
}

/// Whether a mapping writes translation pages.
pub(crate) fn has_translation_pages(name: &str) -> bool {
    name == dftl::SPEC.name
}
