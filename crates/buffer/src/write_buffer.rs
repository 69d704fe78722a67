//! The slots of the write buffer and the states of their pages. Nothing is allocated after construction.

use std::ops::Range;

use flashloom_nand::Lpn;
use flashloom_units::{Figures, NO_INDEX, Ns, Violation, ensure};
use serde::{Deserialize, Serialize};

use crate::index::Index;
use crate::on_their_way::OnTheirWay;
use crate::recent::Recent;
use crate::{BufferReport, Chips, Occupancy, Order, Rate, SlotId, order, rate};

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

/// Longest search for the lowest page of a run of dirty pages, in streams.
const REACH: u32 = 8;

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
    /// Number of consecutive pages in a stream; 1 if victims leave without other pages.
    stream_pages: u32,
    /// Number of pages of a logical block, if only its first pages form a stream.
    stream_blocks: Option<u32>,
    /// When dirty pages were written, if streams are pages of one time.
    recent: Option<Box<Recent>>,
    on_their_way: OnTheirWay,
    report: BufferReport,
    /// Time up to which the occupancies of the report have been added up.
    now: Ns,
}

flashloom_units::state! {
    WriteBuffer {
        array slots;
        value free, counts, stream_pages, stream_blocks, report, now;
        nested index, recent, on_their_way;
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
            stream_pages: 1,
            stream_blocks: None,
            recent: None,
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
        (entry.lpn, entry.mask, entry.next_free) = (Lpn::NONE, 0, self.free);
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

    /// Size in pages of the request that wrote a slot last; 1 if [`Self::came_with`] was never called for it.
    pub fn request_pages(&self, slot: SlotId) -> u32 {
        u32::from(self.slots[slot.at()].request_pages)
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
        let slot = self.slot_of(lpn)?;
        let Slot { mask, state, .. } = self.slots[slot.at()];
        if matches!(state, SlotState::Dirty | SlotState::Clean) {
            self.order.read(slot, lpn);
        }
        let held = mask & wanted;
        self.report.read_hits += u64::from(held == wanted);
        Some((slot, held))
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
                self.forget(slot);
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

/// Evictions.
impl WriteBuffer {
    /// Evicts the victims that the two policies choose now, while `waiting` pages wait for a slot; appends their pages.
    /// Afterwards clean pages may have become free to drop: the caller writes pages that wait while there
    /// [is room](Self::has_room), and calls this again for the rest.
    #[inline]
    pub fn evict(&mut self, now: Ns, waiting: u32, chips: &mut dyn Chips, evicted: &mut Vec<Evicted>) {
        self.come_to(now);
        loop {
            let occupancy = Occupancy {
                pages: self.pages(),
                occupied: self.dirty() + self.count(SlotState::Clean) - self.clean_room(),
                evicting: self.evicting(),
                leaving: self.on_their_way.victims(),
                waiting: waiting.saturating_sub(self.room()),
            };
            let victims = self.rate.victims(&occupancy);
            if victims == 0 || self.dirty() == 0 {
                return;
            }
            // A victim is a page at least: asking for more would find none.
            for _ in 0..victims.min(self.dirty()) {
                if self.traits.looks_at_chips {
                    let held = |slot: SlotId| self.slots[slot.at()].mask;
                    self.order.victim_for(chips, &held, &mut self.victims);
                    self.victims.iter().for_each(|slot| chips.send(self.slots[slot.at()].lpn));
                } else {
                    self.order.victim(&mut self.victims);
                }
                self.report.evictions += u64::from(!self.victims.is_empty());
                self.send_victims(evicted);
            }
        }
    }

    /// Evicts one page out of turn, because the host wants it durable now (FUA); appends it unless it is being evicted
    /// already.
    pub fn evict_slot(&mut self, now: Ns, slot: SlotId, evicted: &mut Vec<Evicted>) {
        self.come_to(now);
        if self.state(slot) == SlotState::Dirty {
            self.order.removed(slot, self.slots[slot.at()].lpn);
            self.on_their_way.depart(&[slot]);
            self.send(slot, evicted);
        }
    }

    /// Evicts all dirty pages, in the order of the replacement policy.
    pub fn evict_all(&mut self, now: Ns, evicted: &mut Vec<Evicted>) {
        self.come_to(now);
        while self.dirty() > 0 {
            self.order.victim(&mut self.victims);
            self.send_victims(evicted);
        }
    }

    /// From now on a page of a victim that is part of a stream, `pages` consecutive dirty pages, is evicted together
    /// with the rest of the stream. With 1, victims are evicted alone. A padded victim is a whole block, and gathers
    /// nothing.
    pub fn gather_streams(&mut self, pages: u32) {
        self.stream_pages = pages;
    }

    /// From now on only the first pages of a logical block of `block_pages` pages form a stream.
    pub fn gather_from_blocks(&mut self, block_pages: u32) {
        self.stream_blocks = Some(block_pages);
    }

    /// From now on a page of a victim is evicted together with the dirty pages of its stream: as many as
    /// [`Self::gather_streams`] says, which arrived within `window_ns` of each other ([`Self::arrived`]).
    pub fn gather_windows(&mut self, window_ns: Ns) {
        let pages = self.pages();
        self.recent.get_or_insert_with(|| Box::new(Recent::new(pages, window_ns)));
    }

    /// The write that stored a page arrived at `since`, which is not before that of any page stored earlier. Called for
    /// every page where streams are gathered by time.
    pub fn arrived(&mut self, slot: SlotId, since: Ns) {
        self.recent.iter_mut().for_each(|recent| recent.written(slot, since));
    }

    /// Appends the stream of each page that was evicted since this was called last, in that order, or [`NO_INDEX`];
    /// nothing if streams are not gathered by time.
    pub fn take_streams(&mut self, streams: &mut Vec<u32>) {
        self.recent.iter_mut().for_each(|recent| recent.take_streams(streams));
    }

    /// A page is not dirty any more.
    #[inline]
    fn forget(&mut self, slot: SlotId) {
        self.recent.iter_mut().for_each(|recent| recent.forget(slot));
    }

    fn send_victims(&mut self, evicted: &mut Vec<Evicted>) {
        if let ([slot], 1, None) = (&self.victims[..], self.stream_pages, self.traits.padded_block) {
            let slot = *slot;
            self.victims.clear();
            self.on_their_way.depart(&[slot]);
            return self.send(slot, evicted);
        }
        let mut victims = std::mem::take(&mut self.victims);
        if let Some(first) = victims.first() {
            let lpn = self.slots[first.at()].lpn.0;
            let padded_block = self.traits.padded_block;
            if self.stream_pages > 1 && padded_block.is_none() {
                self.gather(&mut victims);
            }
            self.on_their_way.depart(&victims);
            match padded_block {
                Some(pages) => self.send_padded(lpn - lpn % pages, pages, &victims, evicted),
                None => victims.iter().for_each(|&slot| self.send(slot, evicted)),
            }
            victims.clear();
        }
        self.victims = victims;
    }

    /// Adds to a victim the pages that form streams with its pages, and removes them from the replacement policy. A
    /// stream is of consecutive pages, or of pages that were written at the same time.
    fn gather(&mut self, victims: &mut Vec<SlotId>) {
        victims.iter().for_each(|slot| self.slots[slot.at()].departure = Departure::Leaves);
        let mut recent = self.recent.take();
        for at in 0..victims.len() {
            if let Some(recent) = &mut recent {
                recent.gather(victims[at], self.stream_pages);
                recent.gathered().iter().for_each(|&slot| self.send_in_stream(slot, victims));
                continue;
            }
            let Slot { lpn, departure, .. } = self.slots[victims[at].at()];
            let first = if departure == Departure::Leaves { self.stream_around(lpn.0) } else { None };
            for lpn in first.map_or(0..0, |first| first..first + self.stream_pages).map(Lpn) {
                let slot = self.slot_of(lpn).expect("a stream is made of pages that the buffer holds");
                self.send_in_stream(slot, victims);
            }
        }
        recent.iter_mut().for_each(|recent| recent.end_gathering());
        self.recent = recent;
    }

    /// Adds a page of a stream to a victim, if it is not part of that.
    fn send_in_stream(&mut self, slot: SlotId, victims: &mut Vec<SlotId>) {
        let entry = &mut self.slots[slot.at()];
        if std::mem::replace(&mut entry.departure, Departure::InStream) == Departure::Stays {
            self.order.removed(slot, entry.lpn);
            victims.push(slot);
            self.report.gathered_pages += 1;
        }
    }

    /// Returns the first page of the stream that a page is evicted in; none if it is in no stream. A run of consecutive
    /// dirty pages is cut into streams from its lowest page on. If that is [`REACH`] streams or more before the page,
    /// the stream begins at the page instead, or ends with the run if that is too short. So a victim costs O(stream)
    /// look-ups.
    fn stream_around(&self, lpn: u32) -> Option<u32> {
        let is_free = |lpn: u32| {
            self.slot_of(Lpn(lpn)).is_some_and(|slot| {
                let Slot { state, departure, .. } = self.slots[slot.at()];
                state == SlotState::Dirty && departure != Departure::InStream
            })
        };
        let pages = self.stream_pages;
        if let Some(block) = self.stream_blocks {
            let first = lpn - lpn % block;
            let mut stream = first..first + pages;
            return (stream.contains(&lpn) && stream.all(is_free)).then_some(first);
        }
        let mut lowest = lpn;
        while lpn - lowest < REACH * pages && lowest > 0 && is_free(lowest - 1) {
            lowest -= 1;
        }
        let is_lowest = lpn - lowest < REACH * pages;
        let first = if is_lowest { lpn - (lpn - lowest) % pages } else { lpn };
        let mut end = lpn + 1;
        while end - first < pages && is_free(end) {
            end += 1;
        }
        if end - first == pages { Some(first) } else { (!is_lowest).then(|| end - pages) }
    }

    /// Sends a whole block from its first page on: the victim's pages, which are in order of address, and padding
    /// between.
    fn send_padded(&mut self, start: u32, pages: u32, victims: &[SlotId], evicted: &mut Vec<Evicted>) {
        let mut victims = victims.iter().peekable();
        for lpn in (start..start + pages).map(Lpn) {
            match victims.next_if(|slot| self.slots[slot.at()].lpn == lpn) {
                Some(&slot) => self.send(slot, evicted),
                None => evicted.push(Evicted { slot: None, lpn, mask: 0 }),
            }
        }
    }

    #[inline]
    fn send(&mut self, slot: SlotId, evicted: &mut Vec<Evicted>) {
        let entry = &mut self.slots[slot.at()];
        assert_eq!(entry.state, SlotState::Dirty, "only dirty pages are victims");
        entry.departure = Departure::Stays;
        let Slot { lpn, mask, .. } = *entry;
        self.set_state(slot, SlotState::Evicting);
        self.report.evicted_pages += 1;
        self.recent.iter_mut().for_each(|recent| recent.leaves(slot));
        evicted.push(Evicted { slot: Some(slot), lpn, mask });
    }

    /// Frees the slot of a page that has been programmed.
    #[inline]
    pub fn programmed(&mut self, now: Ns, slot: SlotId) {
        self.come_to(now);
        let Slot { lpn, state, .. } = self.slots[slot.at()];
        assert_eq!(state, SlotState::Evicting, "only pages on their way arrive");
        self.index.remove_from(lpn.0, slot.0);
        self.on_their_way.arrive(slot);
        self.release(slot);
    }

    /// Counts a page that was read from flash and written again to pad a victim.
    pub fn padded(&mut self) {
        self.report.padding_pages += 1;
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
        let gathers = self.stream_pages > 1 || self.report.gathered_pages > 0;
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
