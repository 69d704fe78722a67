//! The log-block family: block maps whose updates go to a few log blocks, which are then merged with the data blocks.
//!
//! - [`log_blocks`]: the log blocks and the data blocks that each is associated with.
//! - [`runs`]: consecutive pages written together, for schemes that go by the size of a request.
//! - [`streams`]: runs of consecutive pages written together, for schemes that treat them differently.
//! - [`store`]: data blocks, log blocks and map; reads, writes and copies of pages.
//! - [`merge`]: switch, partial and full merges, a step at a time.
//!
//! A [`Scheme`] chooses the log block for each page and the one to merge. Every scheme is one file beside this folder.
//! Each group of chips has its own data and log blocks ("one FTL a chip"), and logical blocks are placed on groups.
//!
//! ```text
//! preemption = "none"   a merge runs to its end at once and blocks its chip (Urgency::Blocking)
//! preemption = "page"   one log block is kept free. Opening it begins a merge, and each host page then pays for so
//!                       many steps of the merge that it ends before another log block can be needed:
//!                           steps = ceil(((k + 1)(N + 1) + 1) / W)
//!                       k: largest associativity, N: pages of a block, W: pages that a log block takes at least; this
//!                       includes one partial merge that may be under way
//! ```
//!
//! Without preemption a host page waits for at most one such merge, N k C_copy + (k + 1) C_erase; with it, for `steps`
//! of one. What the scheme does at once for a page comes on top (`Layout::besides`). In KAST W is K, so its bound
//! falls from N K to about 2 N copies. In BAST and SAST W is one: every page may need a log block of its own, and
//! preemption does not help writes. Reads wait for one operation.

mod batch;
mod costs;
mod ftl;
mod homes;
mod job;
#[cfg(test)]
pub(crate) mod lab;
mod log_blocks;
mod merge;
mod report;
mod runs;
mod scheme;
mod spans;
mod store;
mod streams;

pub(super) use costs::Costs;
pub(super) use ftl::policy;
pub(crate) use job::MergeKind;
pub(crate) use log_blocks::LogSlot;
pub(super) use log_blocks::mistaken;
pub(super) use report::{LongestWait, MERGES, merges, time_figures, times};
pub(super) use scheme::{LATEST, Layout, Scheme, check_associativity};
pub(crate) use store::{Chip, Store};
