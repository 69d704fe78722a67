//! The page store: pages anywhere on the drive, found through a map; what every page-mapped FTL stands on.
//!
//! ```text
//! write:      plane = allocation's choice, or the next of the stripe that has room
//!             page  = next page of the plane's open block of that lane; when it is full, collect until two blocks are
//!                     free, then open the one that wear levelling prefers
//!             while less than gc_threshold blocks are free, go on with the plane's collection, at its pace
//! collect:    victim = collection's choice; copy its valid pages to the plane's open block for survivors; erase
//! pace:       a victim with v of b pages valid costs v copies and an erase and gains b - v pages, so every page that
//!             is written pays for (v + 1) / (b - v) steps: free space then holds its level
//! idle:       one step of a collection in a plane with less than background_threshold free blocks
//! ```
//!
//! A collection is a job that goes on a step at a time, whoever pays for the step. Two free blocks before one is opened
//! leave a block for the collector, and a job needs at most one: all pages of a victim go to one lane, or to two that
//! stand in for each other. So it can always be brought to its end. Where collected pages share the host's block that
//! does not hold for a job that is left half done, because the host may fill the block meanwhile: there a collection
//! runs to its end at once. A page may be placed in a plane only while its valid pages leave room for the blocks that
//! collection and the open lanes need, so a victim with a dead page always exists. Blocks of a map that lies on flash
//! are won back on the side (`map_block`). O(1) a page besides collection.
//!
//! What the host waits for. With `preemption = "page"` a page that is written pays for `ceil((v + 1) / (b - v))` steps,
//! and its program waits for no more of them; a read waits for the one that its die is at, at most an erase. With
//! `preemption = "none"` a collection that a write begins, or finds half done, runs to its end at once and nothing of
//! the host goes before it on its die: a request waits for the collections of the pages that were written to its die
//! just before, each at most `(b - 1) C_copy + C_erase`, as KAST has it for merges.
//!
//! Pages are numbered as the mapping above likes: the host's by their logical number, its own (translation pages) above
//! them. Memory: 8 bytes a page (both directions of the map) and one bit; a byte a block, and four more where reads are
//! counted.
//!
//! With superblocks (`crate::superblock`) what is called plane and block here is a die and its superblock; a step
//! copies what fills a superpage, and is paid for by a superpage. A store can be over a region of the array; then these
//! are the region's.
//!
//! [`PageStore`] (`store`) is made of parts: pages, planes (`plane`), allocator, collector (with its `strategy`),
//! failures. Whatever writes, copies or erases is a method of [`Cursor`]: `cursor` finds the place of a page, `collect`
//! collects, `rows` copies many pages at once, `failure` moves pages out of blocks that failed, `map_block` sees to the
//! blocks of a map.

mod collect;
mod cursor;
mod failure;
mod frontier;
mod heat;
mod loaded;
mod map_block;
mod pace;
mod plane;
mod profile;
mod rows;
mod saved;
mod spreading;
mod store;
mod strategy;
#[cfg(test)]
mod tests;
mod valid_pages;
mod wear;

pub use cursor::{CollectionListener, Cursor};
pub use profile::{Own, profile};
pub use store::PageStore;
