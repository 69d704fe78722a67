//! The pages of the buffer and their states; nothing is allocated once it is built.

use flashloom_units::{Lpn, NO_INDEX, Ns};
use serde::{Deserialize, Serialize};

use crate::index::Index;
use crate::on_their_way::OnTheirWay;
use crate::{BufferFigures, BufferReport, Occupancy, Order, Rate};

flashloom_units::ids! {
    /// A place for one page in the buffer.
    SlotId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum SlotState {
    Free,
    /// Holds data that flash does not, and is in the order of eviction.
    Dirty,
    /// Holds what flash holds too, because the host read it, and is in the order of eviction.
    Clean,
    /// Waits for what the host reads from flash; holds nothing yet.
    Filling,
    /// On its way to flash; still readable, and replaced by another slot when the page is written again.
    Evicting,
}

const STATES: usize = 5;

/// How many streams before a page its run is followed.
const REACH: u32 = 8;

/// What the victim that is being sent is to a dirty page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Departure {
    Stays,
    /// Part of the victim, out of the order already.
    Leaves,
    /// Part of a stream of it.
    InStream,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    lpn: Lpn,
    mask: u32,
    state: SlotState,
    departure: Departure,
    next_free: u32,
}

/// A page that leaves the buffer and has to be written to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its slot, which is free again after [`WriteBuffer::programmed`]; none for padding, a page that the buffer does
    /// not hold: where flash does, it is to be read and written again, and [`WriteBuffer::padded`] to be called.
    pub slot: Option<SlotId>,
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

/// A write buffer with its two policies. What changes it is told when, in order of time.
pub struct WriteBuffer {
    slots: Vec<Slot>,
    free: u32,
    /// Slots in each state.
    counts: [u32; STATES],
    index: Index,
    order: Box<dyn Order>,
    rate: Box<dyn Rate>,
    victims: Vec<SlotId>,
    /// Consecutive pages that leave together where the buffer holds them; 1 if victims leave alone.
    stream_pages: u32,
    /// Pages of a logical block, where streams are the first pages of one.
    stream_blocks: Option<u32>,
    on_their_way: OnTheirWay,
    report: BufferReport,
    /// Until when the levels of the report are complete.
    now: Ns,
}

flashloom_units::state! {
    WriteBuffer {
        array slots;
        value free, counts, stream_pages, stream_blocks, report, now;
        nested index, on_their_way;
        policy order, rate;
        scratch victims;
    }
}

impl WriteBuffer {
    /// An empty buffer of that many pages, at least one.
    pub fn new(pages: u32, order: Box<dyn Order>, rate: Box<dyn Rate>) -> Self {
        assert!(pages > 0, "a drive without a buffer has none, not an empty one");
        let slot = |at: u32| Slot {
            lpn: Lpn::NONE,
            mask: 0,
            state: SlotState::Free,
            departure: Departure::Stays,
            next_free: if at + 1 < pages { at + 1 } else { NO_INDEX },
        };
        let mut counts = [0; STATES];
        counts[SlotState::Free as usize] = pages;
        Self {
            slots: (0..pages).map(slot).collect(),
            free: 0,
            counts,
            index: Index::new(pages),
            order,
            rate,
            victims: Vec::with_capacity(pages as usize),
            stream_pages: 1,
            stream_blocks: None,
            on_their_way: OnTheirWay::new(pages),
            report: BufferReport::default(),
            now: 0,
        }
    }

    /// Something changes now: the levels of the report are complete until then.
    fn come_to(&mut self, now: Ns) {
        if now != self.now {
            let (held, dirty) = (self.held(), self.dirty());
            self.report.elapse(held, dirty, now - self.now);
            self.now = now;
        }
    }

    /// The slot of a page; its older copies that are on their way to flash have no name any more.
    fn slot_of(&self, lpn: Lpn) -> Option<SlotId> {
        self.index.get(lpn.0).map(SlotId)
    }

    fn state(&self, slot: SlotId) -> SlotState {
        self.slots[slot.at()].state
    }

    fn count(&self, state: SlotState) -> u32 {
        self.counts[state as usize]
    }

    fn set_state(&mut self, slot: SlotId, state: SlotState) {
        let old = std::mem::replace(&mut self.slots[slot.at()].state, state);
        self.counts[old as usize] -= 1;
        self.counts[state as usize] += 1;
        let (held, dirty) = (self.held(), self.dirty());
        self.report.reach(held, dirty);
    }

    /// Takes a free slot for a page, or that of a clean page that leaves for it.
    fn take_slot(&mut self, lpn: Lpn, state: SlotState) -> Option<SlotId> {
        if self.free == NO_INDEX {
            let clean = self.order.clean_victim()?;
            debug_assert_eq!(self.state(clean), SlotState::Clean, "only clean pages are given up at no cost");
            self.index.remove(self.slots[clean.at()].lpn.0);
            self.release(clean);
            self.report.dropped_pages += 1;
        }
        let slot = SlotId(self.free);
        self.free = std::mem::replace(&mut self.slots[slot.at()].next_free, NO_INDEX);
        self.slots[slot.at()].lpn = lpn;
        self.set_state(slot, state);
        self.index.set(lpn.0, slot.0);
        Some(slot)
    }

    fn release(&mut self, slot: SlotId) {
        self.set_state(slot, SlotState::Free);
        let entry = &mut self.slots[slot.at()];
        (entry.lpn, entry.mask, entry.next_free) = (Lpn::NONE, 0, self.free);
        self.free = slot.0;
    }
}

/// Requests of the host.
impl WriteBuffer {
    /// Writes sectors of a page; nothing if there is no slot for it.
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
                self.slots[slot.at()].mask = taken_over.map_or(0, |old| self.slots[old.at()].mask);
                self.order.inserted(slot, lpn);
                Stored { slot, is_new: true, taken_over }
            }
        };
        self.slots[stored.slot.at()].mask |= mask;
        self.report.page_writes += 1;
        Some(stored)
    }

    /// Whether a write of the page would need no other slot.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.slot_of(lpn).is_some_and(|slot| matches!(self.state(slot), SlotState::Dirty | SlotState::Clean))
    }

    /// Which of the wanted sectors the buffer holds, and where; counts a hit if it is all of them.
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

    /// Whether a page that is read from flash is to be kept: the order keeps such pages, and nothing of it is here.
    pub fn keeps(&self, lpn: Lpn) -> bool {
        self.order.keeps_reads() && self.slot_of(lpn).is_none()
    }

    /// Takes a slot for a page that is on its way from flash; nothing if none is free or clean, since no read waits for
    /// a program.
    pub fn fill(&mut self, now: Ns, lpn: Lpn) -> Option<SlotId> {
        self.come_to(now);
        self.take_slot(lpn, SlotState::Filling)
    }

    /// The sectors in the mask of the page of a slot are here. They are forgotten if the page was written or discarded
    /// since they were asked for.
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

    /// Forgets a whole page that the host discards. What is on its way to or from flash goes on, and nobody will read
    /// it.
    pub fn discard(&mut self, now: Ns, lpn: Lpn) {
        self.come_to(now);
        if let Some(slot) = self.slot_of(lpn) {
            self.index.remove(lpn.0);
            if matches!(self.state(slot), SlotState::Dirty | SlotState::Clean) {
                self.order.removed(slot, lpn);
                self.release(slot);
            }
        }
    }

    /// A write waited that long for room.
    pub fn stalled(&mut self, waited_ns: Ns) {
        self.report.stalled_writes += 1;
        self.report.stall_ns += u128::from(waited_ns);
    }
}

/// Pages on their way to flash.
impl WriteBuffer {
    /// Takes the victims that rate and order choose now, while `waiting` pages wait for a slot; appends their pages. A
    /// victim may let clean pages be given up: while there [is room](Self::has_room) the pages that wait are to be
    /// written, and this is to be called again for those that are left.
    pub fn evict(&mut self, now: Ns, waiting: u32, evicted: &mut Vec<Evicted>) {
        self.come_to(now);
        loop {
            let occupancy = Occupancy {
                pages: self.pages(),
                occupied: self.dirty() + self.count(SlotState::Clean) - self.order.clean_room(),
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
                self.order.victim(&mut self.victims);
                self.report.evictions += u64::from(!self.victims.is_empty());
                self.send_victims(evicted);
            }
        }
    }

    /// Takes the page of a slot out of its turn, because the host wants it durable now; appends it unless it is on its
    /// way already.
    pub fn evict_slot(&mut self, now: Ns, slot: SlotId, evicted: &mut Vec<Evicted>) {
        self.come_to(now);
        if self.state(slot) == SlotState::Dirty {
            self.order.removed(slot, self.slots[slot.at()].lpn);
            self.on_their_way.depart(&[slot]);
            self.send(slot, evicted);
        }
    }

    /// Takes every dirty page, in the order of eviction.
    pub fn evict_all(&mut self, now: Ns, evicted: &mut Vec<Evicted>) {
        self.come_to(now);
        while self.dirty() > 0 {
            self.order.victim(&mut self.victims);
            self.send_victims(evicted);
        }
    }

    /// From now on a page of a victim that is part of a stream of that many consecutive dirty pages leaves with the
    /// rest of it. With 1, victims leave alone. A padded victim is a whole block, and gathers nothing.
    pub fn gather_streams(&mut self, pages: u32) {
        self.stream_pages = pages;
    }

    /// From now on streams are the first pages of logical blocks of that many pages; others leave as victims do.
    pub fn gather_from_blocks(&mut self, block_pages: u32) {
        self.stream_blocks = Some(block_pages);
    }

    fn send_victims(&mut self, evicted: &mut Vec<Evicted>) {
        let mut victims = std::mem::take(&mut self.victims);
        if let Some(first) = victims.first() {
            let lpn = self.slots[first.at()].lpn.0;
            let padded_block = self.order.padded_block();
            if self.stream_pages > 1 && padded_block.is_none() {
                self.gather(&mut victims);
            }
            self.on_their_way.depart(&victims);
            match padded_block {
                Some(pages) => self.send_padded(lpn - lpn % pages, pages, &mut victims, evicted),
                None => victims.drain(..).for_each(|slot| self.send(slot, evicted)),
            }
        }
        self.victims = victims;
    }

    /// Adds to a victim the pages that make streams with its pages, and takes them out of the order.
    fn gather(&mut self, victims: &mut Vec<SlotId>) {
        victims.iter().for_each(|slot| self.slots[slot.at()].departure = Departure::Leaves);
        for at in 0..victims.len() {
            let Slot { lpn, departure, .. } = self.slots[victims[at].at()];
            let first = if departure == Departure::Leaves { self.stream_around(lpn.0) } else { None };
            for lpn in first.map_or(0..0, |first| first..first + self.stream_pages).map(Lpn) {
                let slot = self.slot_of(lpn).expect("a stream is made of pages that the buffer holds");
                let departure = std::mem::replace(&mut self.slots[slot.at()].departure, Departure::InStream);
                if departure == Departure::Stays {
                    self.order.removed(slot, lpn);
                    victims.push(slot);
                    self.report.gathered_pages += 1;
                }
            }
        }
    }

    /// The first page of the stream that a page leaves in: runs of consecutive dirty pages are cut from their lowest
    /// page on. A run that begins more than [`REACH`] streams before the page is cut at the page instead, or at its end
    /// if that is less than a stream behind it. So a victim costs O(stream) look-ups.
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

    /// Sends a block from its first page on, whole: the victims, which are in order of address, and padding between.
    fn send_padded(&mut self, start: u32, pages: u32, victims: &mut Vec<SlotId>, evicted: &mut Vec<Evicted>) {
        let mut victims = victims.drain(..).peekable();
        for lpn in (start..start + pages).map(Lpn) {
            match victims.next_if(|slot| self.slots[slot.at()].lpn == lpn) {
                Some(slot) => self.send(slot, evicted),
                None => evicted.push(Evicted { slot: None, lpn, mask: 0 }),
            }
        }
    }

    fn send(&mut self, slot: SlotId, evicted: &mut Vec<Evicted>) {
        let Slot { lpn, mask, state, .. } = self.slots[slot.at()];
        assert_eq!(state, SlotState::Dirty, "only dirty pages are victims");
        self.set_state(slot, SlotState::Evicting);
        self.slots[slot.at()].departure = Departure::Stays;
        self.report.evicted_pages += 1;
        evicted.push(Evicted { slot: Some(slot), lpn, mask });
    }

    /// The page of a slot is in flash: the slot is free.
    pub fn programmed(&mut self, now: Ns, slot: SlotId) {
        self.come_to(now);
        let Slot { lpn, state, .. } = self.slots[slot.at()];
        assert_eq!(state, SlotState::Evicting, "only pages on their way arrive");
        if self.slot_of(lpn) == Some(slot) {
            self.index.remove(lpn.0);
        }
        self.on_their_way.arrive(slot);
        self.release(slot);
    }

    /// A page was read from flash and written again with the victim that it pads.
    pub fn padded(&mut self) {
        self.report.padding_pages += 1;
    }
}

/// What the buffer holds, and its accounts.
impl WriteBuffer {
    /// How many pages the buffer has room for.
    pub fn pages(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Pages that the buffer holds or waits for.
    pub fn held(&self) -> u32 {
        self.pages() - self.count(SlotState::Free)
    }

    /// Slots that a page can have at once: the free ones and those of clean pages.
    fn room(&self) -> u32 {
        self.count(SlotState::Free) + self.order.clean_room()
    }

    /// Whether a page that the buffer does not hold finds a slot.
    pub fn has_room(&self) -> bool {
        self.room() > 0
    }

    /// Whether writes that wait have to go on waiting, even if there is room: their rate has them wait until all that
    /// was evicted is in flash.
    pub fn is_blocked(&self) -> bool {
        self.rate.waits_for_all() && self.evicting() > 0
    }

    /// Pages that flash does not have yet and that are not on their way there.
    pub fn dirty(&self) -> u32 {
        self.count(SlotState::Dirty)
    }

    /// Pages on their way to flash.
    pub fn evicting(&self) -> u32 {
        self.count(SlotState::Evicting)
    }

    /// The counters, and the levels until now.
    pub fn report_at(&self, now: Ns) -> BufferReport {
        let (pads, keeps_reads) = (self.order.padded_block().is_some(), self.order.keeps_reads());
        let mut report = BufferReport { pads, keeps_reads, ..self.report };
        report.elapse(self.held(), self.dirty(), now - self.now);
        report
    }

    /// The values of the statistics of its order and of its rate.
    pub fn figures(&self) -> BufferFigures {
        BufferFigures { order: self.order.figures(), rate: self.rate.figures() }
    }

    /// Checks that every slot is in one state and the counts are those of the states, and that none is on its way to or
    /// from flash but `refused` pages that flash could not store. Call when the drive is idle.
    pub fn check(&self, refused: u32) -> Result<(), String> {
        let mut counts = [0; STATES];
        self.slots.iter().for_each(|slot| counts[slot.state as usize] += 1);
        if counts != self.counts {
            return Err(format!("buffer: {counts:?} slots in each state, but counted {:?}", self.counts));
        }
        let (evicting, filling) = (self.evicting(), self.count(SlotState::Filling));
        if (evicting, filling) != (refused, 0) {
            return Err(format!(
                "buffer: {evicting} evicted pages were never programmed, of which {refused} were refused; {filling} \
                 never filled"
            ));
        }
        let leaving = self.on_their_way.victims();
        if leaving > refused || (leaving == 0) != (refused == 0) {
            return Err(format!("buffer: {leaving} victims are on their way to flash, and {refused} pages of them"));
        }
        let free = self.count(SlotState::Free);
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
