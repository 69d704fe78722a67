//! The controller's write buffer: pages that the host has written and flash has not, and with some orders pages that
//! the host has read.
//!
//! Two independent choices, as CAVE (section 3.1) separates them, each a slot with one file a policy: the [`order`] in
//! which pages are evicted, and the [`rate`], how many victims leave at a time. [`WriteBuffer`] holds the pages; the
//! device moves them, because it knows the time.

mod groups;
mod index;
mod on_their_way;
pub mod order;
mod params;
pub mod rate;
mod report;
mod sizes;
mod window;
mod write_buffer;

pub use order::Order;
pub use params::BufferParams;
pub use rate::{Occupancy, Rate};
pub use report::{BufferFigures, BufferReport, Level};
pub use write_buffer::{Evicted, SlotId, Stored, WriteBuffer};
