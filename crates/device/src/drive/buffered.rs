//! The buffered path: host pages take slots of the write buffer and are evicted to flash.
//!
//! ```text
//! a write arrives        its pages take slots; with the last one it is complete, or, if it is durable (FUA), stored.
//!                        Without a free slot, or one for each page (`buffer.admission`), it stalls, behind the writes
//!                        that stall already
//! a slot was taken       the rate policy decides how many victims are evicted, the order which; they are written
//!                        together
//! a page is programmed   its slot is free: stalled writes take slots, and the rate policy is called again
//! a read arrives         sectors in the buffer are ready; the rest is read from flash, into a slot if the order keeps
//!                        read pages and one is free or clean
//! a flush arrives        all dirty pages are evicted, and it waits until these, and those evicted before, are
//!                        programmed
//! ```

mod durability;
mod end_of_life;
mod idle_chips;
mod stalls;

use std::ops::Range;

use flashloom_buffer::{Admission, Evicted, Gather, SlotId, Stored, WriteBuffer};
use flashloom_ftl::{PageHints, WantedStreams};
use flashloom_nand::{DieId, Lpn};
use flashloom_units::{Ns, Violation};
use flashloom_workload::Op;

use super::commands::{Command, CommandId, Commands, Stage};
use super::flash::Flash;
use super::interface::HostInterface;
use super::waiter::Waiter;
use crate::event::DriveEvent;
use crate::status::Reason;
use durability::Durability;
use idle_chips::IdleChips;
use stalls::Stalls;

/// A write buffer, and the commands that wait for its slots.
pub(super) struct Buffered {
    pub(super) buffer: WriteBuffer,
    /// Whether a write takes its slots all at once ([`Admission::Whole`]).
    admits_whole: bool,
    stalls: Stalls,
    durability: Durability,
    /// For each slot, the command that waits for its flash operation: a durable write, or a read that fills the slot.
    slot_waiter: Vec<CommandId>,
    /// For each slot that a read fills, the sectors that the read asked for; of others the mask of their last fill.
    fill_mask: Vec<u32>,
    /// Pages evicted from the buffer, to be written to the FTL next.
    evicted: Vec<Evicted>,
    /// Dies that pages take which are chosen now.
    taken: Vec<DieId>,
    /// Whether the buffer gathers streams for the allocation, and whether it gathers them by time.
    gathers: bool,
    gathers_by_time: bool,
    /// Whether evictions have stopped because flash cannot store more pages.
    is_frozen: bool,
    /// Number of evicted pages that flash could not store.
    refused_pages: u32,
}

flashloom_units::state! {
    Buffered {
        nested buffer, stalls, durability, slot_waiter;
        array fill_mask;
        value is_frozen, refused_pages;
        scratch evicted, taken;
        fixed admits_whole, gathers, gathers_by_time;
    }
}

impl Buffered {
    pub(super) fn new(buffer: WriteBuffer, admission: Admission, flash: &Flash) -> Self {
        let slots = buffer.pages();
        let wanted = flash.wanted_when_new.filter(|wanted| wanted.in_buffer);
        let mut buffered = Self {
            admits_whole: admission == Admission::Whole || admission == Admission::Auto && buffer.evicts_blocks(),
            buffer,
            stalls: Stalls::default(),
            durability: Durability::new(slots),
            slot_waiter: vec![CommandId::NONE; slots as usize],
            fill_mask: vec![0; slots as usize],
            evicted: Vec::with_capacity(slots as usize),
            taken: Vec::new(),
            gathers: wanted.is_some(),
            gathers_by_time: wanted.is_some_and(|wanted| wanted.window_ns.is_some()),
            is_frozen: false,
            refused_pages: 0,
        };
        buffered.gather(wanted);
        buffered
    }

    /// Has the buffer gather the streams that the FTL wants now.
    fn gather(&mut self, wanted: Option<WantedStreams>) {
        if let Some(WantedStreams { pages, block_pages, window_ns, .. }) = wanted {
            self.buffer.gather(Gather { pages, block_pages, window_ns });
        }
    }

    /// Takes the command that waits for the flash operation on a slot.
    #[inline]
    fn take_waiter(&mut self, slot: SlotId) -> Option<CommandId> {
        let waiter = std::mem::replace(&mut self.slot_waiter[slot.0 as usize], CommandId::NONE);
        (waiter != CommandId::NONE).then_some(waiter)
    }
}

/// Writes.
impl Buffered {
    /// Stores a write that has arrived, or queues it behind stalled writes.
    pub(super) fn write(&mut self, now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
        let may_begin = self.stalls.is_empty() && self.has_room_for(interface.commands.unstored_pages(id));
        if may_begin && self.store(now, now, id, &mut interface.commands, flash) {
            stored(now, id, interface, flash);
        } else {
            let pages = interface.commands.unstored_pages(id);
            if self.admits_whole {
                self.buffer.awaits(pages.clone());
            }
            self.stalls.push(now, id, pages, &self.buffer);
        }
        self.evict_and_store(now, interface, flash);
    }

    /// True if a write of these pages may begin to take slots now.
    #[inline]
    fn has_room_for(&self, pages: Range<u32>) -> bool {
        !self.admits_whole || {
            let room = self.buffer.room();
            pages.len() as u32 <= room || self.buffer.fills(pages) <= room
        }
    }

    /// True if the first write that stalls, the next page of which is given, has to wait on.
    #[inline]
    fn first_waits(&mut self, page: Lpn) -> bool {
        self.buffer.is_blocked()
            || if self.admits_whole {
                self.stalls.first_needs(&self.buffer) > self.buffer.room()
            } else {
                !(self.buffer.has_room() || self.buffer.holds(page))
            }
    }

    /// Gives slots to pages of a write that arrived at `since`, as far as there are any. Returns true when all have
    /// one.
    fn store(&mut self, now: Ns, since: Ns, id: CommandId, commands: &mut Commands, flash: &mut Flash) -> bool {
        let is_durable = commands[id].is_durable();
        let request_pages = commands.page_count(id);
        let mut has_all = true;
        for (lpn, mask) in commands.pages_from(id, commands[id].moved) {
            let Some(Stored { slot, is_new, taken_over }) = self.buffer.write(now, lpn, mask) else {
                has_all = false;
                break;
            };
            flash.forget_cached(lpn);
            flash.tell(|| DriveEvent::Stored { command: id, lpn, mask, slot, taken_over, is_durable });
            commands[id].moved += 1;
            if self.gathers_by_time {
                self.buffer.arrived(slot, since);
            }
            self.buffer.came_with(slot, request_pages);
            self.stalls.page_stored(is_new);
            if is_durable {
                self.slot_waiter[slot.0 as usize] = id;
                commands[id].pending += 1;
                self.buffer.evict_slot(now, slot, &mut self.evicted);
            }
        }
        self.send_evicted(now, flash);
        debug_assert!(
            has_all || !self.admits_whole || request_pages > self.buffer.pages(),
            "a write that the buffer can hold gets in whole"
        );
        if has_all {
            flash.tell(|| DriveEvent::StoredAll { command: id });
        }
        has_all
    }

    /// Stores stalled writes, in order of arrival, as far as there is room.
    fn store_stalled(&mut self, now: Ns, interface: &mut HostInterface, flash: &mut Flash) {
        while let Some((id, since, page)) = self.stalls.first() {
            if self.first_waits(page) || !self.store(now, since, id, &mut interface.commands, flash) {
                break;
            }
            self.stalls.pop();
            let waited_ns = now - since;
            // In counting mode every wait has length zero. In timed mode a zero wait means that clean pages were
            // dropped to make room.
            if waited_ns > 0 || !flash.nand.is_timed() {
                self.buffer.stalled(waited_ns);
            }
            stored(now, id, interface, flash);
        }
    }

    /// Handles a slot that may be free: stores stalled writes as far as there is room, and calls the rate policy.
    #[inline]
    fn use_room(&mut self, now: Ns, interface: &mut HostInterface, flash: &mut Flash) {
        self.store_stalled(now, interface, flash);
        self.evict_and_store(now, interface, flash);
    }
}

/// All pages of a write have slots: completes it, unless it has to be durable first.
#[inline]
fn stored(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    if interface.commands[id].pending == 0 {
        interface.finish(now, id, flash);
    }
}

/// Evictions.
impl Buffered {
    /// Evicts the victims that the rate policy asks for. If this drops clean pages, stalled writes take their slots at
    /// once.
    #[inline]
    fn evict_and_store(&mut self, now: Ns, interface: &mut HostInterface, flash: &mut Flash) {
        self.make_room(now, 0, flash);
        while let Some((.., page)) = self.stalls.first()
            && self.buffer.has_room()
            && !self.first_waits(page)
        {
            self.store_stalled(now, interface, flash);
            self.make_room(now, 0, flash);
        }
    }

    /// Evicts the victims that the rate policy asks for; `unkept` is the number of read pages that were not cached
    /// because the buffer was full.
    fn make_room(&mut self, now: Ns, unkept: u32, flash: &mut Flash) {
        if self.is_frozen {
            return;
        }
        let of_writes = self.awaited_slots();
        let waiting = of_writes + u64::from(unkept);
        let chips = &mut IdleChips { flash, taken: &mut self.taken };
        self.buffer.evict(now, waiting.min(u64::from(u32::MAX)) as u32, chips, &mut self.evicted);
        self.taken.clear();
        self.send_evicted(now, flash);
    }

    /// Slots that stalled writes wait for, as far as victims may leave for them now. Where writes get in whole, none
    /// leave for them once half of the buffer is free or on its way, unless the first of them needs more: the rest
    /// gathers what belongs together.
    fn awaited_slots(&mut self) -> u64 {
        let waiting = self.stalls.waiting_pages();
        if !self.admits_whole || waiting == 0 {
            return waiting;
        }
        let half = u64::from(self.buffer.pages() / 2);
        waiting.min(half).max(u64::from(self.stalls.first_needs(&self.buffer)))
    }

    /// Writes the evicted pages, if any, to flash as one group.
    #[inline]
    fn send_evicted(&mut self, now: Ns, flash: &mut Flash) {
        if !self.evicted.is_empty() {
            self.write_evicted(now, flash);
        }
    }

    fn write_evicted(&mut self, now: Ns, flash: &mut Flash) {
        for &Evicted { slot, lpn, mask, request_pages, stream } in &self.evicted {
            let waiter = if let Some(slot) = slot {
                self.durability.eviction_began(slot);
                Waiter::Programmed(slot)
            } else if flash.stores(lpn) {
                self.buffer.padded();
                Waiter::Nobody
            } else {
                continue;
            };
            let hints = PageHints { request_pages: request_pages.into(), stream };
            flash.add_write(lpn, mask, hints, waiter, |page| DriveEvent::Evicted { slot, page });
        }
        self.evicted.clear();
        flash.write_added(now);
        if self.gathers {
            self.gather(flash.ftl.wanted_streams());
        }
    }

    fn evict_all(&mut self, now: Ns, flash: &mut Flash) {
        self.buffer.evict_all(now, &mut self.evicted);
        self.send_evicted(now, flash);
    }

    /// Programs all pages that only the buffer has. Returns their number, or 0 if flash cannot store more pages.
    pub(super) fn drain(&mut self, now: Ns, flash: &mut Flash) -> u64 {
        if self.is_frozen {
            return 0;
        }
        let pages = u64::from(self.buffer.dirty());
        self.evict_all(now, flash);
        pages
    }

    /// Frees the slot of an evicted page that has been programmed, and continues the command that waits for its
    /// durability.
    #[inline]
    pub(super) fn programmed(&mut self, now: Ns, slot: SlotId, interface: &mut HostInterface, flash: &mut Flash) {
        self.buffer.programmed(now, slot);
        self.durability.eviction_ended(slot);
        if let Some(writer) = self.take_waiter(slot) {
            let commands = &mut interface.commands;
            let is_last = commands.page_ended(writer);
            let Command { moved, status, .. } = commands[writer];
            if is_last && (moved == commands.page_count(writer) || !status.is_done()) {
                interface.finish(now, writer, flash);
            }
        }
        while let Some(id) = self.durability.take_flushed() {
            self.flushed(now, id, interface, flash);
        }
        self.use_room(now, interface, flash);
    }
}

/// Reads and discards.
impl Buffered {
    /// Serves sectors of a command's pages from the buffer, and reads the rest from flash.
    pub(super) fn read(&mut self, now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
        let (mut ready, mut unkept) = (0, 0);
        for (lpn, wanted) in interface.commands.await_pages(id) {
            let mask = wanted & !self.read_held(id, lpn, wanted, flash);
            if mask == 0 {
                ready += 1;
            } else if let Some(is_ready) = flash.read_cached(id, lpn, mask) {
                ready += u32::from(is_ready);
            } else if flash.ftl.is_mapped(lpn) {
                unkept += u32::from(!self.read_flash(now, id, lpn, mask, flash));
            } else {
                interface.read_unmapped(id, lpn, mask, flash);
                ready += 1;
            }
        }
        (0..ready).for_each(|_| interface.page_done(now, id, flash));
        if unkept > 0 {
            self.make_room(now, unkept, flash);
        }
    }

    /// Returns the mask of a page's sectors that the buffer holds.
    fn read_held(&mut self, id: CommandId, lpn: Lpn, wanted: u32, flash: &mut Flash) -> u32 {
        let Some((slot, held)) = self.buffer.read(lpn, wanted) else { return 0 };
        flash.tell(|| DriveEvent::ReadBuffered { command: id, lpn, mask: held, slot });
        held
    }

    /// Reads sectors of a page from flash, or, if the order keeps read pages, the whole page into a slot. Returns false
    /// if the page should be kept but no slot was free. Pages read while writes stall are not kept.
    fn read_flash(&mut self, now: Ns, id: CommandId, lpn: Lpn, mask: u32, flash: &mut Flash) -> bool {
        let keeps = self.stalls.is_empty() && self.buffer.keeps(lpn);
        let slot = if keeps { self.buffer.fill(now, lpn) } else { None };
        if let Some(slot) = slot {
            self.slot_waiter[slot.0 as usize] = id;
            self.fill_mask[slot.0 as usize] = mask;
        }
        flash.read(now, id, lpn, mask, slot);
        slot.is_some() || !keeps
    }

    /// A page read into a slot has arrived: serves the read that asked for it.
    pub(super) fn filled(&mut self, now: Ns, slot: SlotId, interface: &mut HostInterface, flash: &mut Flash) {
        self.buffer.filled(now, slot, flash.nand.geometry().full_mask());
        let reader = self.take_waiter(slot).expect("a read waits for the page that fills a slot");
        interface.page_done(now, reader, flash);
        self.use_room(now, interface, flash);
    }

    /// The sectors of a page that a command reads from flash once more: the others were written since it asked for
    /// them, and are in the buffer.
    #[cold]
    pub(super) fn not_written_since(&self, id: CommandId, lpn: Lpn, wanted: u32, flash: &mut Flash) -> u32 {
        let Some((slot, mask)) = self.buffer.holds_of(lpn, wanted) else { return wanted };
        flash.tell(|| DriveEvent::ReadBuffered { command: id, lpn, mask, slot });
        wanted & !mask
    }

    /// A page could not be read into a slot as a whole: frees the slot. Reads the sectors that its command asked for,
    /// if it is others that are missing.
    #[cold]
    pub(super) fn not_filled(
        &mut self,
        now: Ns,
        (slot, missing): (SlotId, u32),
        interface: &mut HostInterface,
        flash: &mut Flash,
    ) {
        let lpn = self.buffer.not_filled(now, slot);
        let reader = self.take_waiter(slot).expect("a read waits for the page that fills a slot");
        let wanted = self.fill_mask[slot.0 as usize];
        if wanted & missing != 0 {
            interface.page_unreadable(now, reader, flash);
        } else {
            let left = self.not_written_since(reader, lpn, wanted, flash);
            interface.read_again(now, reader, lpn, left, flash);
        }
        self.use_room(now, interface, flash);
    }

    /// Removes the whole pages of a discard.
    pub(super) fn discard(&mut self, now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
        for lpn in interface.commands.whole_pages(id) {
            self.buffer.discard(now, lpn);
            flash.discard(now, lpn);
        }
        interface.finish(now, id, flash);
        self.use_room(now, interface, flash);
    }
}

/// Flushes.
impl Buffered {
    /// Evicts all dirty pages. The command continues when these, and pages evicted before, are programmed.
    pub(super) fn flush(&mut self, now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
        self.evict_all(now, flash);
        if self.durability.is_all_in_flash() {
            return self.flushed(now, id, interface, flash);
        }
        interface.commands[id].stage = Stage::Flushing;
        self.durability.wait(id);
    }

    /// Continues a command for which all earlier writes have become durable.
    fn flushed(&mut self, now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
        flash.tell(|| DriveEvent::Flushed { command: id });
        interface.commands[id].stage = Stage::Transferring;
        match interface.commands[id].op {
            Op::Write if self.is_frozen => interface.fail(now, id, Reason::EndOfLife, flash),
            Op::Write => self.write(now, id, interface, flash),
            _ => interface.finish(now, id, flash),
        }
    }
}

/// Levels and counters of the buffer.
impl Buffered {
    /// Pages, in the buffer or evicted, that are not on flash.
    pub(super) fn unwritten(&self) -> u32 {
        self.buffer.dirty() + self.buffer.evicting()
    }

    /// Checks the buffer's invariants; returns the numbers of waiting writes and flushes. Call when the drive is idle.
    pub(super) fn check(&self) -> Result<(usize, usize), Violation> {
        self.buffer.check(self.refused_pages)?;
        Ok((self.stalls.len(), self.durability.waiting()))
    }
}
