//! In which order pages leave the buffer.
//!
//! Adding an order is one file here and one line in the table below.

use flashloom_units::{Lpn, Slot, Value};

use crate::SlotId;

/// A policy of eviction order. It is told of every page that enters, is written again, or leaves out of turn.
pub trait Order: Send {
    /// A page entered.
    fn inserted(&mut self, slot: SlotId, lpn: Lpn);

    /// A page that is in the buffer was written again.
    fn touched(&mut self, slot: SlotId, lpn: Lpn);

    /// A page that is in the buffer was read.
    fn read(&mut self, _slot: SlotId, _lpn: Lpn) {}

    /// A page leaves out of turn: it was discarded, or the host wants it durable.
    fn removed(&mut self, slot: SlotId, lpn: Lpn);

    /// Takes the next victim, a page or all pages of a block; appends its pages in the order in which they are to be
    /// written, none if the order is empty.
    fn victim(&mut self, pages: &mut Vec<SlotId>);

    /// Pages of a logical block, if each victim is to be made whole by those of its block that the buffer lacks.
    fn padded_block(&self) -> Option<u32> {
        None
    }

    /// Whether the buffer keeps pages that the host reads, too: clean ones, which flash holds as well. Only such an
    /// order is told of them, by [`Self::filled`], and asked for them, by [`Self::clean_victim`]; a clean page that is
    /// written is removed and inserted.
    fn keeps_reads(&self) -> bool {
        false
    }

    /// A clean page entered.
    fn filled(&mut self, _slot: SlotId, _lpn: Lpn) {}

    /// Takes the clean page that leaves before any other, if there is one; giving it up costs nothing. Then
    /// [`Self::victim`] takes what has to be written. One of the two has a victim if any page is in the order.
    fn clean_victim(&mut self) -> Option<SlotId> {
        None
    }

    /// How many clean pages [`Self::clean_victim`] would give up one after another.
    fn clean_room(&self) -> u32 {
        0
    }

    /// Its state, to be saved; none if it cannot be saved, and then a drive that uses it cannot be saved either.
    /// [`stateful!`](flashloom_units::stateful!) writes this and the next method.
    fn state(&self) -> Option<&dyn flashloom_units::State> {
        None
    }

    /// The same, to be loaded.
    fn state_mut(&mut self) -> Option<&mut dyn flashloom_units::State> {
        None
    }
}

macro_rules! orders {
    ($($module:ident),+ $(,)?) => {
        $(mod $module;)+

        /// All eviction orders.
        pub static SLOT: Slot = Slot {
            name: "buffers",
            key: "buffer.order",
            help: "which page or block the write buffer evicts next",
            policies: &[$(&$module::SPEC),+],
        };

        /// Builds the order of that name, which the configuration has checked, for a buffer of that many pages over
        /// logical blocks of `pages_per_block`.
        pub fn build(name: &str, values: &[Value], pages: u32, pages_per_block: u32) -> Box<dyn Order> {
            $(if name == $module::SPEC.name {
                return Box::new($module::State::new(values, pages, pages_per_block));
            })+
            unreachable!("the configuration accepts only names of the table")
        }
    };
}

orders! { page_lru, block_lru, fab, clc, r#ref, cflru }

#[cfg(test)]
mod model;
