//! The page store: a map from logical pages to any place on the drive, the basis of all page-level mappings.
//!
//! ```text
//! write:      plane = allocation's choice, or the next of the stripe that has room
//!             page  = next page of the plane's open block of that lane; when it is full, collect until two blocks are
//!                     free, then open the one that wear levelling prefers
//!             while fewer than gc_threshold blocks are free, continue the plane's collection, at its pace
//! collect:    victim = collection's choice; copy its valid pages to the plane's open block for survivors; erase
//! pace:       a victim with v of b pages valid costs v copies and an erase and gains b - v pages, so each page written
//!             takes (v + 1) / (b - v) steps of the collection: the free space then stays constant
//! idle:       one step of a collection in a plane with less than background_threshold free blocks
//! watermarks: from gc_low_watermark to gc_high_watermark of the drive every plane is collected, by writes and in idle
//!             time (`watermarks`)
//! ```
//!
//! A collection is a *job* that advances in steps of one copy or erase. A page that is written to the plane *pays* for
//! some steps: they are taken before its program. Progress: a block is opened only while two are free, which leaves one
//! for the collector, and a job needs at most one, because all survivors of a victim go to one lane, or to two that can
//! replace each other. So a job can always end. With `gc_blocks = "shared"` that would not hold for an unfinished job,
//! because the host may fill the shared block meanwhile: there a collection runs to its end at once. A plane takes a
//! page only while its valid pages leave room for the blocks of collection and open lanes, so a victim with a dead page
//! always exists. Map blocks are collected by rules of their own (`map_block`). O(1) per page besides collection.
//!
//! Waits of the host. With `preemption = "page"` a page written pays for `ceil((v + 1) / (b - v))` steps, and its
//! program waits for no more than these; a read waits for the operation that its die executes, at most an erase. With
//! `preemption = "none"` a collection that a write begins, or finds unfinished, runs to its end at once, and no host
//! operation overtakes it on its die: a request waits for the collections of pages written to its die just before, each
//! at most `(b - 1) C_copy + C_erase`, as in KAST for merges.
//!
//! Page numbers are the mapping's: the host's logical pages, and above them the mapping's own (translation pages).
//! Memory: 8 bytes (both directions of the map) and one bit per page; a byte per block, and four more if reads are
//! counted.
//!
//! With mapping units (`crate::mapping_unit`) page here means unit, except where operations are emitted
//! (`unit_writes`). With superblocks (`crate::superblock`) plane and block here mean die and superblock; a step copies
//! a superpage, and each superpage written pays once. A store over a region of the array has the planes and blocks of
//! the region.
//!
//! [`PageStore`] (`store`) consists of parts: pages, planes (`plane`), allocator, collector (with its `strategy`),
//! failures, and an SLC cache (`slc_cache`) if there is one. All that writes, copies or erases is a method of
//! [`Cursor`]: `cursor` chooses the place of a page, `collect` collects, `rows` copies many pages at once, `failure`
//! moves pages out of failed blocks, `map_block` collects map blocks, `fold` fills and empties the SLC cache. A new
//! drive is filled without a cursor (`fill`).

mod collect;
mod cursor;
mod failure;
mod fill;
mod fold;
mod frontier;
mod heat;
mod loaded;
mod map_block;
mod pace;
mod plane;
mod profile;
mod rows;
mod saved;
mod slc_cache;
mod spreading;
mod store;
mod strategy;
#[cfg(test)]
mod tests;
mod unit_writes;
mod units;
mod watermarks;
mod wear;

pub use cursor::{CollectionListener, Cursor};
pub use profile::{Own, profile};
pub use store::PageStore;
