//! The pages of the buffer and their states; nothing is allocated once it is built.

use flashloom_units::{Lpn, NO_INDEX};

use crate::index::Index;
use crate::{Occupancy, Order, Rate};

/// A place for one page in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotId(pub u32);

impl SlotId {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// Holds data that flash does not, and is in the order of eviction.
    Dirty,
    /// On its way to flash; still readable, and replaced by another slot when the page is written again.
    Evicting,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    lpn: Lpn,
    mask: u32,
    state: State,
    next_free: u32,
}

/// A page that leaves the buffer and has to be written to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its slot, which is free again after [`WriteBuffer::programmed`].
    pub slot: SlotId,
    /// Which page.
    pub lpn: Lpn,
    /// Which of its sectors the buffer holds.
    pub mask: u32,
}

/// Where a written page is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its slot.
    pub slot: SlotId,
    /// Whether the slot was free before: the page was not in the buffer, or on its way to flash.
    pub is_new: bool,
    /// Where the page was on its way to flash, the slot that its other sectors were taken over from.
    pub taken_over: Option<SlotId>,
}

/// What a buffer counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BufferReport {
    /// Pages written by the host.
    pub page_writes: u64,
    /// Pages read by the host.
    pub page_reads: u64,
    /// Page writes that found the page in the buffer and not on its way to flash: each saves a program.
    pub write_hits: u64,
    /// Page reads that found all their sectors in the buffer.
    pub read_hits: u64,
    /// Victims chosen because room was needed: pages or blocks, as the order has it.
    pub evictions: u64,
    /// Pages sent to flash, by evictions, flushes and FUA.
    pub evicted_pages: u64,
}

/// A write buffer with its two policies.
pub struct WriteBuffer {
    slots: Vec<Slot>,
    free: u32,
    dirty: u32,
    evicting: u32,
    index: Index,
    order: Box<dyn Order>,
    rate: Box<dyn Rate>,
    victims: Vec<SlotId>,
    report: BufferReport,
}

impl WriteBuffer {
    /// An empty buffer of that many pages, at least one.
    pub fn new(pages: u32, order: Box<dyn Order>, rate: Box<dyn Rate>) -> Self {
        assert!(pages > 0, "a drive without a buffer has none, not an empty one");
        let slot = |at: u32| Slot {
            lpn: Lpn::NONE,
            mask: 0,
            state: State::Free,
            next_free: if at + 1 < pages { at + 1 } else { NO_INDEX },
        };
        Self {
            slots: (0..pages).map(slot).collect(),
            free: 0,
            dirty: 0,
            evicting: 0,
            index: Index::new(pages),
            order,
            rate,
            victims: Vec::with_capacity(pages as usize),
            report: BufferReport::default(),
        }
    }

    /// Writes sectors of a page; nothing if there is no free slot for it.
    pub fn write(&mut self, lpn: Lpn, mask: u32) -> Option<Stored> {
        let held = self.index.get(lpn);
        if let Some(slot) = held
            && self.slots[slot.at()].state == State::Dirty
        {
            self.slots[slot.at()].mask |= mask;
            self.order.touched(slot, lpn);
            self.report.page_writes += 1;
            self.report.write_hits += 1;
            return Some(Stored { slot, is_new: false, taken_over: None });
        }
        if self.free == NO_INDEX {
            return None;
        }
        let slot = SlotId(self.free);
        let taken_over = held.map_or(0, |old| self.slots[old.at()].mask);
        let entry = &mut self.slots[slot.at()];
        self.free = entry.next_free;
        *entry = Slot { lpn, mask: mask | taken_over, state: State::Dirty, next_free: NO_INDEX };
        self.index.set(lpn, slot);
        self.dirty += 1;
        self.order.inserted(slot, lpn);
        self.report.page_writes += 1;
        Some(Stored { slot, is_new: true, taken_over: held })
    }

    /// Whether a write of the page would find it in the buffer.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.index.get(lpn).is_some_and(|slot| self.slots[slot.at()].state == State::Dirty)
    }

    /// Which of the wanted sectors the buffer holds, and where; counts a hit if it is all of them.
    pub fn read(&mut self, lpn: Lpn, wanted: u32) -> Option<(SlotId, u32)> {
        self.report.page_reads += 1;
        let slot = self.index.get(lpn)?;
        let held = self.slots[slot.at()].mask & wanted;
        self.report.read_hits += u64::from(held == wanted);
        Some((slot, held))
    }

    /// Forgets a whole page that the host discards; a copy on its way to flash goes on, and nobody will read it.
    pub fn discard(&mut self, lpn: Lpn) {
        if let Some(slot) = self.index.get(lpn) {
            self.index.remove(lpn);
            if self.slots[slot.at()].state == State::Dirty {
                self.order.removed(slot, lpn);
                self.dirty -= 1;
                self.release(slot);
            }
        }
    }

    /// Takes the victims that rate and order choose now, while `waiting` pages wait for a slot; appends their pages.
    pub fn evict(&mut self, waiting: u32, evicted: &mut Vec<Evicted>) {
        loop {
            let pages = self.slots.len() as u32;
            let occupancy = Occupancy { pages, dirty: self.dirty, evicting: self.evicting, waiting };
            let victims = self.rate.victims(&occupancy);
            if victims == 0 || self.dirty == 0 {
                return;
            }
            for _ in 0..victims {
                self.order.victim(&mut self.victims);
                self.report.evictions += u64::from(!self.victims.is_empty());
                self.send_victims(evicted);
            }
        }
    }

    /// Takes the page of a slot out of its turn, because the host wants it durable now; appends it unless it is on its
    /// way already.
    pub fn evict_slot(&mut self, slot: SlotId, evicted: &mut Vec<Evicted>) {
        let Slot { lpn, state, .. } = self.slots[slot.at()];
        if state == State::Dirty {
            self.order.removed(slot, lpn);
            self.send(slot, evicted);
        }
    }

    /// Takes every dirty page, in the order of eviction.
    pub fn evict_all(&mut self, evicted: &mut Vec<Evicted>) {
        while self.dirty > 0 {
            self.order.victim(&mut self.victims);
            self.send_victims(evicted);
        }
    }

    fn send_victims(&mut self, evicted: &mut Vec<Evicted>) {
        let mut victims = std::mem::take(&mut self.victims);
        victims.drain(..).for_each(|slot| self.send(slot, evicted));
        self.victims = victims;
    }

    fn send(&mut self, slot: SlotId, evicted: &mut Vec<Evicted>) {
        let entry = &mut self.slots[slot.at()];
        assert_eq!(entry.state, State::Dirty, "only dirty pages are victims");
        entry.state = State::Evicting;
        self.dirty -= 1;
        self.evicting += 1;
        self.report.evicted_pages += 1;
        evicted.push(Evicted { slot, lpn: entry.lpn, mask: entry.mask });
    }

    /// The page of a slot is in flash: the slot is free.
    pub fn programmed(&mut self, slot: SlotId) {
        let Slot { lpn, state, .. } = self.slots[slot.at()];
        assert_eq!(state, State::Evicting, "only pages on their way arrive");
        if self.index.get(lpn) == Some(slot) {
            self.index.remove(lpn);
        }
        self.evicting -= 1;
        self.release(slot);
    }

    fn release(&mut self, slot: SlotId) {
        self.slots[slot.at()] = Slot { lpn: Lpn::NONE, mask: 0, state: State::Free, next_free: self.free };
        self.free = slot.0;
    }

    /// Pages that flash does not have yet.
    pub fn dirty(&self) -> u32 {
        self.dirty
    }

    /// Pages on their way to flash.
    pub fn evicting(&self) -> u32 {
        self.evicting
    }

    /// How many pages the buffer has room for.
    pub fn pages(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The counters.
    pub fn report(&self) -> &BufferReport {
        &self.report
    }

    /// Checks that every slot is in one state and the counts are those of the states.
    pub fn check(&self) -> Result<(), String> {
        let count = |state| self.slots.iter().filter(|slot| slot.state == state).count() as u32;
        let (dirty, evicting, free) = (count(State::Dirty), count(State::Evicting), count(State::Free));
        if (dirty, evicting) != (self.dirty, self.evicting) {
            let counted = (self.dirty, self.evicting);
            return Err(format!("buffer: {dirty} dirty and {evicting} leaving pages, but counted {counted:?}"));
        }
        let mut chained = 0;
        let mut slot = self.free;
        while slot != NO_INDEX && chained <= free {
            chained += 1;
            slot = self.slots[slot as usize].next_free;
        }
        if chained != free {
            return Err(format!("buffer: {free} free slots, but {chained} in the free list"));
        }
        Ok(())
    }
}
