//! The controller's write buffer: dirty pages that are not programmed yet, and with some replacement policies clean
//! pages that the host has read.
//!
//! Two independent choices, as CAVE (section 3.1) separates them, each a slot with one file a policy: the replacement
//! policy (module [`order`]) and the eviction batch size (module [`rate`]). [`WriteBuffer`] holds the pages; the device
//! moves them, because it knows the time.

mod groups;
mod id;
mod index;
mod on_their_way;
pub mod order;
mod params;
pub mod rate;
mod recent;
mod report;
mod sizes;
mod streams;
mod window;
mod write_buffer;

pub use id::SlotId;
pub use order::{Chips, Order, UnknownChips};
pub use params::{Admission, BufferParams};
pub use rate::{Occupancy, Rate};
pub use report::{BufferReport, Level};
pub use streams::Gather;
pub use write_buffer::{Evicted, Stored, WriteBuffer};
