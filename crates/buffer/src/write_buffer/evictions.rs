//! Evictions: the pages that leave the buffer, and those that leave with them.

use flashloom_nand::Lpn;
use flashloom_units::{NO_INDEX, Ns};

use super::{Departure, Evicted, Slot, SlotState, WriteBuffer};
use crate::streams::Gather;
use crate::{Chips, Occupancy, SlotId};

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

    /// From now on a page of a victim that is part of a stream is evicted together with the rest of it. A padded victim
    /// is a whole block, and gathers nothing.
    pub fn gather(&mut self, streams: Gather) {
        self.streams.set(streams, self.pages());
    }

    /// The write that stored a page arrived at `since`, which is not before that of any page stored earlier. Called for
    /// every page where streams are gathered by time.
    pub fn arrived(&mut self, slot: SlotId, since: Ns) {
        self.streams.by_time.iter_mut().for_each(|recent| recent.written(slot, since));
    }

    fn send_victims(&mut self, evicted: &mut Vec<Evicted>) {
        if let ([slot], 1, None) = (&self.victims[..], self.streams.pages(), self.traits.padded_block) {
            let slot = *slot;
            self.victims.clear();
            self.on_their_way.depart(&[slot]);
            return self.send(slot, evicted);
        }
        let mut victims = std::mem::take(&mut self.victims);
        if let Some(first) = victims.first() {
            let lpn = self.slots[first.at()].lpn.0;
            let padded_block = self.traits.padded_block;
            if self.streams.pages() > 1 && padded_block.is_none() {
                self.gather_around(&mut victims);
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

    /// Adds to a victim the pages that form streams with its pages, and removes them from the replacement policy.
    fn gather_around(&mut self, victims: &mut Vec<SlotId>) {
        victims.iter().for_each(|slot| self.slots[slot.at()].departure = Departure::Leaves);
        let mut by_time = self.streams.by_time.take();
        for at in 0..victims.len() {
            if let Some(recent) = &mut by_time {
                let gathered = recent.gather(victims[at], self.streams.pages());
                gathered.iter().for_each(|&slot| self.send_in_stream(slot, victims));
                continue;
            }
            let Slot { lpn, departure, .. } = self.slots[victims[at].at()];
            if departure == Departure::Leaves {
                for lpn in self.streams.run_around(lpn.0, |lpn| self.is_free(lpn)).map(Lpn) {
                    let slot = self.slot_of(lpn).expect("a stream is made of pages that the buffer holds");
                    self.send_in_stream(slot, victims);
                }
            }
        }
        self.streams.by_time = by_time;
    }

    /// Whether the buffer holds a page as a dirty one that is in no stream yet.
    fn is_free(&self, lpn: u32) -> bool {
        self.slot_of(Lpn(lpn)).is_some_and(|slot| {
            let Slot { state, departure, .. } = self.slots[slot.at()];
            state == SlotState::Dirty && departure != Departure::InStream
        })
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

    /// Sends a whole block from its first page on: the victim's pages, which are in order of address, and padding
    /// between.
    fn send_padded(&mut self, start: u32, pages: u32, victims: &[SlotId], evicted: &mut Vec<Evicted>) {
        let mut victims = victims.iter().peekable();
        for lpn in (start..start + pages).map(Lpn) {
            match victims.next_if(|slot| self.slots[slot.at()].lpn == lpn) {
                Some(&slot) => self.send(slot, evicted),
                None => evicted.push(Evicted { slot: None, lpn, mask: 0, request_pages: 1, stream: NO_INDEX }),
            }
        }
    }

    #[inline]
    fn send(&mut self, slot: SlotId, evicted: &mut Vec<Evicted>) {
        let entry = &mut self.slots[slot.at()];
        assert_eq!(entry.state, SlotState::Dirty, "only dirty pages are victims");
        entry.departure = Departure::Stays;
        let Slot { lpn, mask, request_pages, .. } = *entry;
        self.set_state(slot, SlotState::Evicting);
        self.report.evicted_pages += 1;
        let stream = self.streams.leaves(slot);
        evicted.push(Evicted { slot: Some(slot), lpn, mask, request_pages, stream });
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
