//! The replacement policy: which page or block the buffer evicts next.
//!
//! Adding an order is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_nand::Lpn;
use flashloom_units::{Component, Role, Slot, SlotSpec, Violation, policy};

use crate::SlotId;

/// What a replacement policy may know of the chips when it chooses a victim; by default nothing.
pub trait Chips {
    /// Whether the chip that a page would be programmed on has nothing to do. True if the address of the page does not
    /// decide on which chip that is.
    fn is_idle(&self, _lpn: Lpn) -> bool {
        true
    }

    /// Whether these sectors are a whole page, which is programmed without a read of the rest.
    fn is_whole(&self, _mask: u32) -> bool {
        true
    }

    /// A page leaves the buffer: its chip is no longer idle.
    fn send(&mut self, _lpn: Lpn) {}
}

/// Chips of which nothing is known: all are idle, and every page is whole.
pub struct UnknownChips;

impl Chips for UnknownChips {}

/// A replacement policy. The buffer calls it for every page that enters, is written or read again, or leaves out of
/// turn.
pub trait Order: Component {
    /// A dirty page entered the buffer.
    fn inserted(&mut self, slot: SlotId, lpn: Lpn);

    /// A dirty page in the buffer was written again.
    fn touched(&mut self, slot: SlotId, lpn: Lpn);

    /// A page in the buffer was read.
    fn read(&mut self, _slot: SlotId, _lpn: Lpn) {}

    /// A page leaves out of turn: it was discarded, is flushed by FUA, or leaves with another victim's stream. A clean
    /// page that is written is also removed, and then inserted as a dirty one.
    fn removed(&mut self, slot: SlotId, lpn: Lpn);

    /// Removes the next victim, a dirty page or all pages of a block, and appends its pages in the order in which they
    /// are to be written; none if there is no dirty page.
    fn victim(&mut self, pages: &mut Vec<SlotId>);

    /// True if victims are to be chosen by [`Self::victim_for`]; called once.
    fn looks_at_chips(&self) -> bool {
        false
    }

    /// As [`Self::victim`], for a policy that looks at chips; `held` is the mask of the sectors that a slot has. Not
    /// called where the whole buffer leaves.
    fn victim_for(&mut self, _chips: &dyn Chips, _held: &dyn Fn(SlotId) -> u32, pages: &mut Vec<SlotId>) {
        self.victim(pages);
    }

    /// True if a victim is what the buffer holds of a logical block, so that by default writes are admitted whole
    /// ([`Admission`](crate::Admission)); called once.
    fn evicts_blocks(&self) -> bool {
        false
    }

    /// Number of pages of a logical block, if each victim is to be padded to a whole block with the pages that the
    /// buffer lacks; none if victims are not padded.
    fn padded_block(&self) -> Option<u32> {
        None
    }

    /// True if the buffer is to cache pages that the host reads, as clean pages. Only such a policy is called for
    /// [`Self::filled`] and has clean victims.
    fn keeps_reads(&self) -> bool {
        false
    }

    /// A clean page entered the buffer, because the host read it.
    fn filled(&mut self, _slot: SlotId, _lpn: Lpn) {}

    /// Removes the clean page to drop next and returns it, if one may be dropped before a dirty page is evicted. If the
    /// buffer holds any page, this or [`Self::victim`] must return one.
    fn clean_victim(&mut self) -> Option<SlotId> {
        None
    }

    /// Number of clean pages that [`Self::clean_victim`] would return one after another.
    fn clean_room(&self) -> u32 {
        0
    }

    /// Checks the policy's invariants while the buffer holds that many dirty pages that are not on their way to flash.
    ///
    /// # Errors
    /// The first violation, in words.
    fn check_dirty(&self, _dirty: u32) -> Result<(), Violation> {
        Ok(())
    }
}

/// What the policies import.
mod prelude {
    pub(super) use flashloom_nand::{Lbn, Lpn};
    pub(super) use flashloom_units::{
        Capability, Kind, Lists, PolicySpec, Statistic, Value, Violation, ensure, params,
    };

    pub(super) use super::{Order, OrderSetup};
    pub(super) use crate::SlotId;
    pub(super) use crate::groups::Groups;
    pub(super) use crate::index::Index;
    pub(super) use crate::sizes::Sizes;
}

pub mod belady;
mod block_lru;
mod bpac;
mod cflru;
mod chip_aware;
mod clc;
mod fab;
mod page_lru;
mod r#ref;
mod region;

/// Facts of the buffer that a replacement policy is built with.
#[derive(Clone, Copy, Debug)]
pub struct OrderSetup {
    /// Capacity of the buffer, in pages.
    pub pages: u32,
    /// Number of pages of a logical block, the same as of an erase block.
    pub pages_per_block: u32,
    /// Size of a page.
    pub page_bytes: u64,
    /// Number of pages of the drive that the host sees.
    pub logical_pages: u32,
}

impl Role for dyn Order {
    type Site<'a> = OrderSetup;
    type Profile = ();
    type Context<'a> = OrderSetup;
}

/// The slot of the replacement policy.
pub static SLOT: SlotSpec = SlotSpec {
    name: "buffers",
    key: "buffer.order",
    role: "replacement policy",
    help: "which page or block the write buffer evicts next",
    statistics: crate::report::COUNTED,
};

/// The built-in policies, in the order in which they are listed.
pub fn builtin() -> Slot<dyn Order> {
    Slot::new(
        &SLOT,
        [
            policy!(dyn Order: page_lru::PageLru),
            policy!(dyn Order: chip_aware::ChipAware),
            policy!(dyn Order: block_lru::BlockLru),
            policy!(dyn Order: fab::Fab),
            policy!(dyn Order: clc::Clc),
            policy!(dyn Order: r#ref::Ref),
            policy!(dyn Order: bpac::Bpac),
            policy!(dyn Order: cflru::Cflru),
            policy!(dyn Order: region::Region?).with_profile(region::check),
        ],
    )
}

#[cfg(test)]
mod model;
