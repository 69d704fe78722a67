//! The flash translation layer: mapping, page allocation, garbage collection, wear levelling.
//!
//! An FTL updates its state as soon as it is called, and emits flash operations to the array
//! ([`Nand`](flashloom_nand::Nand)) with their dependencies. The same code therefore runs in counting mode and in timed
//! mode. It has four slots, in which every policy is one file: the [`mapping`], the [`allocation`] of pages to planes,
//! the [`collection`] victim, and the [`placement`] of logical blocks on chips.

pub mod allocation;
mod capability;
mod capacity;
pub mod collection;
mod defaults;
mod lane;
pub mod mapping;
pub mod mapping_unit;
mod of_page_mappings;
mod page_write;
mod params;
pub mod placement;
mod report;
mod setup;
mod slots;
mod store;
mod streams;

pub use allocation::{ObservedRead, WantedStreams};
pub use capability::{
    BLOCK_EXCHANGE, DIE_SUPERBLOCKS, FIXED_HOMES, PAGE_MAPPING, RANDOM_CHOICES, SINGLE_CHIP, TRANSLATION_PAGES,
    WRITE_BUFFER,
};
pub use capacity::{CapacityParams, Counts, Space};
pub use lane::{DeclaredLane, Demands, Lane};
pub use mapping::{Mapping, MappingExtras};
pub use of_page_mappings::{OF_PAGE_MAPPINGS, is_of_page_mappings, other_mappings_offer};
pub use page_write::{PageHints, PageWrite};
pub use params::{FtlParams, GcBlocks, GcPace, HotCold, Preemption, SlcCacheKind, StripeOrder, Superblock};
pub use params::{WearLevelling, WhenFull};
pub use report::{ADDRESS_BYTES, FtlReport, RetiredBlocks, SlcReport};
pub use setup::FtlSetup;
pub use streams::STREAMS;
