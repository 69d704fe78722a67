//! The eviction batch size: the number of victims that the buffer evicts at a time.
//!
//! Adding a rate is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Component, Role, Slot, SlotSpec, policy};

/// Occupancy of the buffer, by which a rate decides; in pages, but for `leaving`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Capacity of the buffer.
    pub pages: u32,
    /// Dirty pages, which cannot be dropped without a program, and clean pages that cannot be dropped before some of
    /// the dirty ones are evicted.
    pub occupied: u32,
    /// Pages sent to flash and not programmed yet; their slots will be free.
    pub evicting: u32,
    /// Number of victims that are being programmed: pages or blocks, depending on the replacement policy, each until
    /// its last page is programmed. A page that leaves out of turn (FUA) counts as one.
    pub leaving: u32,
    /// Pages that wait for a slot, beyond those that would find one now. Where writes get in whole (`buffer.admission`)
    /// no more than half of the buffer, or than the first of them needs.
    pub waiting: u32,
}

/// A policy of the eviction batch size.
pub trait Rate: Component {
    /// Returns the number of victims to evict now. Called after each host write, each page that has been programmed,
    /// and each read that could not be cached for want of a slot; and again after each eviction, until it returns zero.
    fn victims(&mut self, occupancy: &Occupancy) -> u32;

    /// True if a write that found the buffer full waits until all evicted pages are programmed, even if slots are free
    /// before.
    fn waits_for_all(&self) -> bool {
        false
    }
}

mod cave;
mod linear_threshold;
mod single;

/// Facts of the drive that a rate is built with.
#[derive(Clone, Copy, Debug)]
pub struct RateSetup {
    /// Number of dies of the drive.
    pub dies: u32,
    /// Number of pages that a die programs at once, if the FTL writes whole superpages; else 1.
    pub superpage: u32,
}

impl Role for dyn Rate {
    type Site<'a> = RateSetup;
    type Profile = ();
    type Context<'a> = RateSetup;
}

/// The slot of the eviction batch size.
pub static SLOT: SlotSpec = SlotSpec {
    name: "rates",
    key: "buffer.rate",
    role: "eviction batch size",
    help: "the number of victims that the write buffer evicts at a time",
    statistics: &[],
};

/// The built-in policies, in the order in which they are listed.
pub fn builtin() -> Slot<dyn Rate> {
    Slot::new(
        &SLOT,
        [
            policy!(dyn Rate: single::Single),
            policy!(dyn Rate: cave::Cave),
            policy!(dyn Rate: linear_threshold::LinearThreshold).with_profile(linear_threshold::check),
        ],
    )
}
