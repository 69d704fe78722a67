//! The slots of the write buffer and the states of their pages. Nothing is allocated after construction.

mod evictions;

use std::ops::Range;

use flashloom_nand::Lpn;
use flashloom_units::{Figures, NO_INDEX, Ns, Violation, ensure};
use serde::{Deserialize, Serialize};

use crate::index::Index;
use crate::on_their_way::OnTheirWay;
use crate::streams::Streams;
use crate::{BufferReport, Order, Rate, SlotId, order, rate};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum SlotState {
    Free,
    /// Holds data that flash does not, and is known to the replacement policy.
    Dirty,
    /// Holds data that the host read and flash holds too, and is known to the replacement policy.
    Clean,
    /// Reserved for a page that is being read from flash; holds nothing yet.
    Filling,
    /// Being programmed; still readable, and replaced by another slot when the page is written again.
    Evicting,
}

const STATES: usize = 5;

/// Part of a dirty page in the victim that is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Departure {
    Stays,
    /// Part of the victim; the replacement policy has removed it.
    Leaves,
    /// Part of a stream around a page of the victim.
    InStream,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    lpn: Lpn,
    mask: u32,
    state: SlotState,
    departure: Departure,
    /// Pages of the request that wrote the page last ([`WriteBuffer::came_with`]).
    request_pages: u16,
    next_free: u32,
}

/// An evicted page, to be written to flash by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its slot, which is free again after [`WriteBuffer::programmed`]. None for padding, a page that the buffer does
    /// not hold: if it is in flash, the caller rewrites it from there and calls [`WriteBuffer::padded`].
    pub slot: Option<SlotId>,
    /// Logical page.
    pub lpn: Lpn,
    /// Mask of the sectors that the buffer holds.
    pub mask: u32,
    /// Size in pages of the request that wrote the page last ([`WriteBuffer::came_with`]); 1 if it is not known.
    pub request_pages: u16,
    /// Its stream among those that leave together, if these are found by time (`Gather::window_ns`); [`NO_INDEX`] if
    /// it is in none.
    pub stream: u32,
}

/// Result of [`WriteBuffer::write`]: the slot that a page was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Slot of the page.
    pub slot: SlotId,
    /// True if the write took a new slot, because the buffer did not hold the page or was evicting it.
    pub is_new: bool,
    /// Slot of the older copy that was being evicted, if there was one: the page's other sectors were copied from it.
    pub taken_over: Option<SlotId>,
}

/// A write buffer with its two policies. Methods that change it take the present time, which must not decrease.
pub struct WriteBuffer {
    slots: Vec<Slot>,
    free: u32,
    /// How often a page became dirty or ceased to be ([`Self::dirty_changes`]).
    dirty_changes: u32,
    /// Number of slots in each state.
    counts: [u32; STATES],
    index: Index,
    order: Box<dyn Order>,
    rate: Box<dyn Rate>,
    /// What the policies say of themselves, which does not change.
    traits: Traits,
    victims: Vec<SlotId>,
    streams: Streams,
    on_their_way: OnTheirWay,
    report: BufferReport,
    /// Time up to which the occupancies of the report have been added up.
    now: Ns,
}

flashloom_units::state! {
    WriteBuffer {
        array slots;
        value free, counts, report, now;
        nested index, streams, on_their_way;
        policy order, rate;
        scratch victims;
        fixed traits, dirty_changes;
    }
}

/// What the two policies of a buffer say of themselves.
#[derive(Clone, Copy, Debug)]
struct Traits {
    /// [`Order::keeps_reads`]: without it no page is ever clean.
    keeps_reads: bool,
    /// [`Order::looks_at_chips`].
    looks_at_chips: bool,
    /// [`Order::evicts_blocks`].
    evicts_blocks: bool,
    /// [`Order::padded_block`].
    padded_block: Option<u32>,
    /// [`Rate::waits_for_all`].
    waits_for_all: bool,
}

impl WriteBuffer {
    /// Makes an empty buffer of `pages` pages, at least one.
    pub fn new(pages: u32, order: Box<dyn Order>, rate: Box<dyn Rate>) -> Self {
        assert!(pages > 0, "a drive without a buffer has none, not an empty one");
        let slot = |at: u32| Slot {
            lpn: Lpn::NONE,
            mask: 0,
            state: SlotState::Free,
            departure: Departure::Stays,
            request_pages: 1,
            next_free: if at + 1 < pages { at + 1 } else { NO_INDEX },
        };
        let mut counts = [0; STATES];
        counts[SlotState::Free as usize] = pages;
        Self {
            slots: (0..pages).map(slot).collect(),
            free: 0,
            dirty_changes: 0,
            counts,
            index: Index::new(pages),
            traits: Traits {
                keeps_reads: order.keeps_reads(),
                looks_at_chips: order.looks_at_chips(),
                evicts_blocks: order.evicts_blocks(),
                padded_block: order.padded_block(),
                waits_for_all: rate.waits_for_all(),
            },
            order,
            rate,
            victims: Vec::with_capacity(pages as usize),
            streams: Streams::none(),
            on_their_way: OnTheirWay::new(pages),
            report: BufferReport::default(),
            now: 0,
        }
    }

    /// Adds up the occupancies of the report until now. Called before every change.
    #[inline]
    fn come_to(&mut self, now: Ns) {
        if now != self.now {
            let (held, dirty) = (self.held(), self.dirty());
            self.report.elapse(held, dirty, now - self.now);
            self.now = now;
        }
    }

    /// The slot of a page's newest copy. Older copies that are being programmed cannot be found by page any more.
    #[inline]
    fn slot_of(&self, lpn: Lpn) -> Option<SlotId> {
        self.index.get(lpn.0).map(SlotId)
    }

    #[inline]
    fn state(&self, slot: SlotId) -> SlotState {
        self.slots[slot.at()].state
    }

    #[inline]
    fn count(&self, state: SlotState) -> u32 {
        self.counts[state as usize]
    }

    #[inline]
    fn set_state(&mut self, slot: SlotId, state: SlotState) {
        let old = std::mem::replace(&mut self.slots[slot.at()].state, state);
        self.counts[old as usize] -= 1;
        self.counts[state as usize] += 1;
        if (old == SlotState::Dirty) != (state == SlotState::Dirty) {
            self.dirty_changes = self.dirty_changes.wrapping_add(1);
        }
        // More pages are held than before only where one enters, and more are dirty only where one becomes so.
        if matches!(state, SlotState::Dirty | SlotState::Filling) {
            let (held, dirty) = (self.held(), self.dirty());
            self.report.reach(held, dirty);
        }
    }

    /// Takes a free slot for a page, or that of a clean page that is dropped for it.
    #[inline]
    fn take_slot(&mut self, lpn: Lpn, state: SlotState) -> Option<SlotId> {
        if self.free == NO_INDEX {
            self.drop_clean()?;
        }
        let slot = SlotId(self.free);
        let entry = &mut self.slots[slot.at()];
        self.free = std::mem::replace(&mut entry.next_free, NO_INDEX);
        entry.lpn = lpn;
        self.set_state(slot, state);
        self.index.set(lpn.0, slot.0);
        Some(slot)
    }

    /// Drops a clean page, if there is one that may be.
    fn drop_clean(&mut self) -> Option<()> {
        if !self.traits.keeps_reads {
            return None;
        }
        let clean = self.order.clean_victim()?;
        debug_assert_eq!(self.state(clean), SlotState::Clean, "only clean pages are given up at no cost");
        self.index.remove(self.slots[clean.at()].lpn.0);
        self.release(clean);
        self.report.dropped_pages += 1;
        Some(())
    }

    #[inline]
    fn release(&mut self, slot: SlotId) {
        self.set_state(slot, SlotState::Free);
        let entry = &mut self.slots[slot.at()];
        (entry.lpn, entry.mask, entry.request_pages, entry.next_free) = (Lpn::NONE, 0, 1, self.free);
        self.free = slot.0;
    }
}

/// Requests of the host.
impl WriteBuffer {
    /// Writes the sectors in the mask; returns none, and changes nothing, if the page needs a slot and there is none.
    #[inline]
    pub fn write(&mut self, now: Ns, lpn: Lpn, mask: u32) -> Option<Stored> {
        self.come_to(now);
        let held = self.slot_of(lpn).map(|slot| (slot, self.state(slot)));
        let stored = match held {
            Some((slot, SlotState::Dirty)) => {
                self.order.touched(slot, lpn);
                self.report.write_hits += 1;
                Stored { slot, is_new: false, taken_over: None }
            }
            Some((slot, SlotState::Clean)) => {
                self.set_state(slot, SlotState::Dirty);
                self.order.removed(slot, lpn);
                self.order.inserted(slot, lpn);
                Stored { slot, is_new: false, taken_over: None }
            }
            _ => {
                let slot = self.take_slot(lpn, SlotState::Dirty)?;
                let taken_over = held.filter(|&(_, state)| state == SlotState::Evicting).map(|(old, _)| old);
                if let Some(old) = taken_over {
                    self.slots[slot.at()].mask = self.slots[old.at()].mask;
                }
                self.order.inserted(slot, lpn);
                Stored { slot, is_new: true, taken_over }
            }
        };
        self.slots[stored.slot.at()].mask |= mask;
        self.report.page_writes += 1;
        Some(stored)
    }

    /// Stores the size in pages of the request that has just written a slot; sizes above 65,535 are stored as 65,535.
    /// The caller leaves this out for mappings that ignore request sizes.
    #[inline]
    pub fn came_with(&mut self, slot: SlotId, pages: u32) {
        self.slots[slot.at()].request_pages = u16::try_from(pages).unwrap_or(u16::MAX);
    }

    /// True if a write of the page would need no new slot.
    #[inline]
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.slot_of(lpn).is_some_and(|slot| matches!(self.state(slot), SlotState::Dirty | SlotState::Clean))
    }

    /// Returns the slot of a page and the mask of those of the wanted sectors that it holds. Counts a read hit if it
    /// holds all of them.
    pub fn read(&mut self, lpn: Lpn, wanted: u32) -> Option<(SlotId, u32)> {
        self.report.page_reads += 1;
        let (slot, held) = self.holds_of(lpn, wanted)?;
        if matches!(self.state(slot), SlotState::Dirty | SlotState::Clean) {
            self.order.read(slot, lpn);
        }
        self.report.read_hits += u64::from(held == wanted);
        Some((slot, held))
    }

    /// The slot of a page, and the mask of those of the wanted sectors that it holds; nothing is counted.
    pub fn holds_of(&self, lpn: Lpn, wanted: u32) -> Option<(SlotId, u32)> {
        let slot = self.slot_of(lpn)?;
        Some((slot, self.slots[slot.at()].mask & wanted))
    }

    /// True if a page that is read from flash is to be cached: the replacement policy caches reads, and the buffer
    /// holds no part of the page.
    pub fn keeps(&self, lpn: Lpn) -> bool {
        self.traits.keeps_reads && self.slot_of(lpn).is_none()
    }

    /// Reserves a slot for a page that is being read from flash. Returns none if no slot is free and no clean page can
    /// be dropped, since a read never waits for a program.
    pub fn fill(&mut self, now: Ns, lpn: Lpn) -> Option<SlotId> {
        self.come_to(now);
        self.take_slot(lpn, SlotState::Filling)
    }

    /// Stores the sectors in the mask, which were read from flash into a slot that [`Self::fill`] reserved. They are
    /// discarded if the page has been written or discarded since.
    pub fn filled(&mut self, now: Ns, slot: SlotId, mask: u32) {
        self.come_to(now);
        let Slot { lpn, state, .. } = self.slots[slot.at()];
        assert_eq!(state, SlotState::Filling, "only pages that were asked for arrive");
        if self.slot_of(lpn) != Some(slot) {
            return self.release(slot);
        }
        self.set_state(slot, SlotState::Clean);
        self.slots[slot.at()].mask = mask;
        self.order.filled(slot, lpn);
        self.report.filled_pages += 1;
    }

    /// Frees a slot that [`Self::fill`] reserved for a page that could not be read; returns the page.
    pub fn not_filled(&mut self, now: Ns, slot: SlotId) -> Lpn {
        self.come_to(now);
        let Slot { lpn, state, .. } = self.slots[slot.at()];
        assert_eq!(state, SlotState::Filling, "only pages that were asked for fail to arrive");
        self.index.remove_from(lpn.0, slot.0);
        self.release(slot);
        lpn
    }

    /// Drops a whole page that the host discards. A program or read of it that is under way continues without effect.
    pub fn discard(&mut self, now: Ns, lpn: Lpn) {
        self.come_to(now);
        if let Some(slot) = self.slot_of(lpn) {
            self.index.remove(lpn.0);
            if matches!(self.state(slot), SlotState::Dirty | SlotState::Clean) {
                self.order.removed(slot, lpn);
                self.streams.forget(slot);
                self.release(slot);
            }
        }
    }

    /// Counts a write that waited `waited_ns` for a free slot.
    pub fn stalled(&mut self, waited_ns: Ns) {
        self.report.stalled_writes += 1;
        self.report.stall_ns += u128::from(waited_ns);
    }
}

/// Occupancy, counters and the check of its invariants.
impl WriteBuffer {
    /// Number of slots.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Number of slots that are not free, including those whose pages are being programmed or read from flash.
    #[inline]
    pub fn held(&self) -> u32 {
        self.pages() - self.count(SlotState::Free)
    }

    /// Whether a victim is a block ([`Order::evicts_blocks`]): `buffer.admission` = "auto" is then "whole".
    pub fn evicts_blocks(&self) -> bool {
        self.traits.evicts_blocks
    }

    /// Number of slots that new pages can take at once: the free ones and those of clean pages that can be dropped.
    #[inline]
    pub fn room(&self) -> u32 {
        self.count(SlotState::Free) + self.clean_room()
    }

    /// Number of clean pages that can be dropped.
    #[inline]
    fn clean_room(&self) -> u32 {
        if self.traits.keeps_reads { self.order.clean_room() } else { 0 }
    }

    /// Number of slots that a write of these pages fills beyond those that are dirty, at most all of the buffer's. A
    /// clean page counts: [`Self::room`] has it.
    pub fn fills(&self, pages: Range<u32>) -> u32 {
        let is_dirty = |lpn| self.slot_of(Lpn(lpn)).is_some_and(|slot| self.state(slot) == SlotState::Dirty);
        pages.filter(|&lpn| !is_dirty(lpn)).take(self.pages() as usize).count() as u32
    }

    /// Changes whenever [`Self::fills`] may: when a page becomes dirty or is no longer.
    pub fn dirty_changes(&self) -> u32 {
        self.dirty_changes
    }

    /// Tells the replacement policy that a waiting write will overwrite these pages: those that are dirty count as
    /// written again, so that they are not the next victims.
    pub fn awaits(&mut self, pages: Range<u32>) {
        for lpn in pages.map(Lpn) {
            if let Some(slot) = self.slot_of(lpn).filter(|&slot| self.state(slot) == SlotState::Dirty) {
                self.order.touched(slot, lpn);
            }
        }
    }

    /// True if a page that the buffer does not hold would find a slot.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room() > 0
    }

    /// True if writes that wait must go on waiting even if there is room, because the rate has them wait until all
    /// evicted pages are programmed.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.traits.waits_for_all && self.evicting() > 0
    }

    /// Number of dirty pages, without those that are being evicted.
    #[inline]
    pub fn dirty(&self) -> u32 {
        self.count(SlotState::Dirty)
    }

    /// Number of pages that are being evicted: sent to flash and not programmed yet.
    #[inline]
    pub fn evicting(&self) -> u32 {
        self.count(SlotState::Evicting)
    }

    /// The counters, with the occupancies added up until now.
    pub fn report_at(&self, now: Ns) -> BufferReport {
        let mut report = self.report;
        report.elapse(self.held(), self.dirty(), now - self.now);
        report
    }

    /// Values of the statistics of the buffer's two policies.
    pub fn figures(&self) -> Figures {
        let Traits { keeps_reads, padded_block, .. } = self.traits;
        // Of an allocation whose streams became shorter, too.
        let gathers = self.streams.pages() > 1 || self.report.gathered_pages > 0;
        let counted = self.report.figures(gathers, padded_block.is_some(), keeps_reads);
        let counted = counted.into_iter().chain(self.order.figures()).collect();
        Figures::default().with(&order::SLOT, counted).with(&rate::SLOT, self.rate.figures())
    }

    /// Checks the buffer's invariants in an idle drive: the counts are those of the slots' states, the free list holds
    /// every free slot, and no page is being read or evicted but `refused` pages that flash could not store.
    ///
    /// # Errors
    /// The first violation, in words.
    pub fn check(&self, refused: u32) -> Result<(), Violation> {
        let mut counts = [0; STATES];
        self.slots.iter().for_each(|slot| counts[slot.state as usize] += 1);
        ensure!(counts == self.counts, "buffer: {counts:?} slots in each state, but counted {:?}", self.counts);
        let (evicting, filling) = (self.evicting(), self.count(SlotState::Filling));
        ensure!(
            (evicting, filling) == (refused, 0),
            "buffer: {evicting} evicted pages were never programmed, of which {refused} were refused; {filling} never \
             filled"
        );
        let leaving = self.on_their_way.victims();
        let have_pages = leaving <= refused && (leaving == 0) == (refused == 0);
        ensure!(have_pages, "buffer: {leaving} victims are on their way to flash, and {refused} pages of them");
        let free = self.count(SlotState::Free);
        let chain = |slot: u32| (slot != NO_INDEX).then_some(slot);
        let chained = std::iter::successors(chain(self.free), |&slot| chain(self.slots[slot as usize].next_free));
        let chained = chained.take(free as usize + 1).count() as u32;
        ensure!(chained == free, "buffer: {free} free slots, but {chained} in the free list");
        self.order.check()?;
        self.rate.check()?;
        self.order.check_dirty(self.dirty())
    }
}
