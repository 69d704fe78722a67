//! The replacement policy: which page or block the buffer evicts next.
//!
//! Adding an order is one file here and one line in the table below; or, from another crate, [`Slot::add`].

use flashloom_units::{Figure, Lpn, Policy, PolicySpec, Role, Slot, SlotSpec, Value};

use crate::SlotId;

/// A replacement policy. It is told of every page that enters, is written again, or leaves out of turn.
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

    /// The values of the policy's `statistics`, in that order.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
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

pub mod belady;
mod block_lru;
mod cflru;
mod clc;
mod fab;
mod page_lru;
mod r#ref;

/// What an order is built for.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Pages that the buffer holds.
    pub pages: u32,
    /// Pages of a logical block, which are those of a flash block.
    pub pages_per_block: u32,
}

impl Role for dyn Order {
    type Site<'a> = Setup;
    type Profile = ();
    type Context<'a> = Setup;
}

/// The slot of the replacement policy.
pub static SLOT: SlotSpec = SlotSpec {
    name: "buffers",
    key: "buffer.order",
    role: "replacement policy",
    help: "which page or block the write buffer evicts next",
};

/// The eviction orders that are built in, in the order in which they are listed.
pub fn builtin() -> Slot<dyn Order> {
    Slot::new(
        &SLOT,
        [
            policy(&page_lru::SPEC, |values, on| {
                Box::new(page_lru::PageLru::new(values, on.pages, on.pages_per_block))
            }),
            policy(&block_lru::SPEC, |values, on| {
                Box::new(block_lru::BlockLru::new(values, on.pages, on.pages_per_block))
            }),
            policy(&fab::SPEC, |values, on| Box::new(fab::Fab::new(values, on.pages, on.pages_per_block))),
            policy(&clc::SPEC, |values, on| Box::new(clc::Clc::new(values, on.pages, on.pages_per_block))),
            policy(&r#ref::SPEC, |values, on| Box::new(r#ref::Ref::new(values, on.pages, on.pages_per_block))),
            policy(&cflru::SPEC, |values, on| Box::new(cflru::Cflru::new(values, on.pages, on.pages_per_block))),
        ],
    )
}

fn policy(spec: &'static PolicySpec, build: fn(&[Value], &Setup) -> Box<dyn Order>) -> Policy<dyn Order> {
    Policy::<dyn Order>::new(spec, move |values, on| Ok(build(values, on)))
}

#[cfg(test)]
mod model;
