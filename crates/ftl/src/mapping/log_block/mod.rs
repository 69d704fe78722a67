//! The log-block family: block maps whose updates go to a few log blocks, which are merged with the data blocks.
//!
//! - [`superblocks`]: blocks, or blocks of several chips that are used as one.
//! - [`log_blocks`]: the log blocks and the data blocks that each is associated with.
//! - [`streams`]: runs of pages that are written together, for schemes that treat them apart.
//! - [`store`]: data blocks, log blocks and map; reads, writes and copies of pages.
//! - [`merge`]: switch, partial and full merges, a step at a time.
//!
//! A [`Scheme`] decides which log block a page goes to and which is merged; it is one file beside this folder. Each
//! group of chips runs a scheme of its own ("one FTL a chip"), and logical blocks are placed on groups.
//!
//! ```text
//! preemption = "none"   a merge is done at once, and its chip does nothing else meanwhile (Urgency::Blocking)
//! preemption = "page"   the last free log block is kept for the time that a merge takes: when it is taken, a merge
//!                       begins, and each page of the host pays for so many of its steps that it is over before another
//!                       log block can be needed:
//!                           steps = ceil(((k + 1)(N + 1) + 1) / W)
//!                       with k the largest associativity, N the pages of a block and W the pages that a log block
//!                       takes at least; one partial merge that was under way is included
//! ```
//!
//! So without preemption a page of the host waits for one such merge at most, N k C_copy + (k + 1) C_erase, and with it
//! for `steps` of one, each time with what the scheme does at once beside it (`Guarantees::besides`). KAST's W is its
//! K, so its bound falls from N K to about 2 N copies. Where W is one (BAST, SAST) every page may need a log block of
//! its own, and preemption does not help writes. Reads wait for one operation.

mod batch;
mod ftl;
mod homes;
mod job;
#[cfg(test)]
pub(crate) mod lab;
mod log_blocks;
mod merge;
mod report;
mod scheme;
mod spans;
mod store;
mod streams;
mod superblocks;

pub(super) use ftl::policy;
pub(crate) use job::MergeKind;
pub(crate) use log_blocks::LogSlot;
pub(super) use report::MERGES;
pub(super) use scheme::{Guarantees, LATEST, Layout, Scheme, check_associativity, mistaken};
pub(crate) use store::{Chip, Store};
