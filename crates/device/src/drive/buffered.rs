//! The buffered path: pages of the host take slots of the write buffer and leave them for flash.
//!
//! ```text
//! a write comes          its pages take slots; with the last of them it is complete, or stored if it is durable (FUA)
//!                        no slot is left: it stalls, behind those that have
//! a slot was taken       the rate policy says how many victims leave, the order which; they go to the FTL together
//! a page is programmed   its slot is free: writes that stalled take slots, and the rate policy is asked again
//! a read comes           sectors that the buffer holds are ready; the rest comes from flash, into a slot if the order
//!                        keeps what is read and one is free or clean
//! a flush comes          everything dirty leaves, and the flush waits until what has left is programmed
//! ```

mod durability;
mod end_of_life;
mod stalls;

use flashloom_buffer::{BufferReport, Evicted, SlotId, Stored, WriteBuffer};
use flashloom_nand::Lpn;
use flashloom_units::{Figures, Ns, Violation};
use flashloom_workload::Op;

use super::commands::{Command, CommandId, Commands, Stage};
use super::flash::Flash;
use super::interface::HostInterface;
use super::waiter::Waiter;
use crate::event::DriveEvent;
use crate::status::Reason;
use durability::Durability;
use stalls::Stalls;

/// A write buffer, and what waits for its slots.
pub(super) struct Buffered {
    buffer: WriteBuffer,
    stalls: Stalls,
    durability: Durability,
    /// The command that waits for the flash operation on each slot: a durable write, or a read that fills it.
    slot_waiter: Vec<CommandId>,
    /// Pages that have left the buffer and go to the FTL next.
    evicted: Vec<Evicted>,
    /// Whether the buffer gathers streams for the allocation, and whether by the time of their pages.
    gathers: bool,
    gathers_by_time: bool,
    /// The streams of the pages that go to the FTL next.
    streams: Vec<u32>,
    /// Whether nothing is evicted any more, because flash can store no page.
    is_frozen: bool,
    /// Evicted pages that flash could not store.
    refused_pages: u32,
}

flashloom_units::state! {
    Buffered {
        nested buffer, stalls, durability, slot_waiter;
        value is_frozen, refused_pages;
        scratch evicted, streams;
        fixed gathers, gathers_by_time;
    }
}

impl Buffered {
    pub(super) fn new(buffer: WriteBuffer, flash: &Flash) -> Self {
        let slots = buffer.pages();
        let wanted = flash.ftl().wanted_streams().filter(|wanted| wanted.in_buffer);
        let mut buffered = Self {
            buffer,
            stalls: Stalls::default(),
            durability: Durability::new(slots),
            slot_waiter: vec![CommandId::NONE; slots as usize],
            evicted: Vec::with_capacity(slots as usize),
            gathers: wanted.is_some(),
            gathers_by_time: wanted.is_some_and(|wanted| wanted.window_ns.is_some()),
            streams: Vec::new(),
            is_frozen: false,
            refused_pages: 0,
        };
        if buffered.gathers {
            buffered.gather_streams(flash);
        }
        buffered
    }

    /// Has the buffer gather streams of the length that the allocation wants now.
    fn gather_streams(&mut self, flash: &Flash) {
        if let Some(wanted) = flash.ftl().wanted_streams() {
            self.buffer.gather_streams(wanted.pages);
            if let Some(pages) = wanted.block_pages {
                self.buffer.gather_from_blocks(pages);
            }
            if let Some(window_ns) = wanted.window_ns {
                self.buffer.gather_windows(window_ns);
            }
        }
    }

    /// The command that waits for the operation on a slot, which waits no more.
    #[inline]
    fn take_waiter(&mut self, slot: SlotId) -> Option<CommandId> {
        let waiter = std::mem::replace(&mut self.slot_waiter[slot.0 as usize], CommandId::NONE);
        (waiter != CommandId::NONE).then_some(waiter)
    }
}

/// Writes.
impl Buffered {
    /// Stores a write that has arrived, or has it wait behind those that have stalled.
    pub(super) fn write(&mut self, now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
        if self.stalls.is_empty() && self.store(now, now, id, &mut interface.commands, flash) {
            stored(now, id, interface, flash);
        } else {
            self.stalls.push(now, id, interface.commands.unstored_pages(id), &self.buffer);
        }
        self.evict_and_store(now, interface, flash);
    }

    /// Gives pages of a write that arrived at `since` slots while there are any; true when all of them have one.
    fn store(&mut self, now: Ns, since: Ns, id: CommandId, commands: &mut Commands, flash: &mut Flash) -> bool {
        let is_durable = commands[id].is_durable();
        let mut has_all = true;
        for (lpn, mask) in commands.pages_from(id, commands[id].moved) {
            let Some(Stored { slot, is_new, taken_over }) = self.buffer.write(now, lpn, mask) else {
                has_all = false;
                break;
            };
            flash.tell(|| DriveEvent::Stored { command: id, lpn, mask, slot, taken_over, is_durable });
            commands[id].moved += 1;
            if self.gathers_by_time {
                self.buffer.arrived(slot, since);
            }
            self.stalls.page_stored(is_new);
            if is_durable {
                self.slot_waiter[slot.0 as usize] = id;
                commands[id].pending += 1;
                self.buffer.evict_slot(now, slot, &mut self.evicted);
            }
        }
        self.send_evicted(now, flash);
        if has_all {
            flash.tell(|| DriveEvent::StoredAll { command: id });
        }
        has_all
    }

    /// Stores writes that wait, in order of arrival, as far as there is room.
    fn store_stalled(&mut self, now: Ns, interface: &mut HostInterface, flash: &mut Flash) {
        while let Some((id, since, page)) = self.stalls.first() {
            let waits_on = self.buffer.is_blocked() || !(self.buffer.has_room() || self.buffer.holds(page));
            if waits_on || !self.store(now, since, id, &mut interface.commands, flash) {
                break;
            }
            self.stalls.pop();
            let waited_ns = now - since;
            // Without time every wait is over at once; with it, one that is had clean pages given up for it.
            if waited_ns > 0 || !flash.is_timed() {
                self.buffer.stalled(waited_ns);
            }
            stored(now, id, interface, flash);
        }
    }

    /// A slot may be free: stores what the buffer has room for, and lets the rate policy decide anew.
    #[inline]
    fn use_room(&mut self, now: Ns, interface: &mut HostInterface, flash: &mut Flash) {
        self.store_stalled(now, interface, flash);
        self.evict_and_store(now, interface, flash);
    }
}

/// All pages of a write are in the buffer: it is complete, unless they are to be durable.
#[inline]
fn stored(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    if interface.commands[id].pending == 0 {
        interface.finish(now, id, flash);
    }
}

/// Evictions.
impl Buffered {
    /// Evicts what the rate policy wants evicted. A victim may let clean pages be given up: for these, writes that wait
    /// are stored at once.
    #[inline]
    fn evict_and_store(&mut self, now: Ns, interface: &mut HostInterface, flash: &mut Flash) {
        self.make_room(now, 0, flash);
        while !self.stalls.is_empty() && self.buffer.has_room() && !self.buffer.is_blocked() {
            self.store_stalled(now, interface, flash);
            self.make_room(now, 0, flash);
        }
    }

    /// Evicts what the rate policy wants evicted, where `unkept` read pages were not kept because the buffer was full.
    fn make_room(&mut self, now: Ns, unkept: u32, flash: &mut Flash) {
        if self.is_frozen {
            return;
        }
        let waiting = self.stalls.waiting_pages() + u64::from(unkept);
        self.buffer.evict(now, waiting.min(u64::from(u32::MAX)) as u32, &mut self.evicted);
        self.send_evicted(now, flash);
    }

    /// Writes what was evicted together, if anything, to flash together.
    #[inline]
    fn send_evicted(&mut self, now: Ns, flash: &mut Flash) {
        if !self.evicted.is_empty() {
            self.write_evicted(now, flash);
        }
    }

    fn write_evicted(&mut self, now: Ns, flash: &mut Flash) {
        for &Evicted { slot, lpn, mask } in &self.evicted {
            let waiter = if let Some(slot) = slot {
                self.durability.eviction_began(slot);
                Waiter::Programmed(slot)
            } else if flash.stores(lpn) {
                self.buffer.padded();
                Waiter::Nobody
            } else {
                continue;
            };
            flash.add_write(lpn, mask, waiter, |page| DriveEvent::Evicted { slot, page });
        }
        self.evicted.clear();
        if self.gathers_by_time {
            self.buffer.take_streams(&mut self.streams);
            flash.write_streams(now, &self.streams);
            self.streams.clear();
        } else {
            flash.write_added(now);
        }
        if self.gathers {
            self.gather_streams(flash);
        }
    }

    fn evict_all(&mut self, now: Ns, flash: &mut Flash) {
        self.buffer.evict_all(now, &mut self.evicted);
        self.send_evicted(now, flash);
    }

    /// Sends everything to flash that only the buffer holds; returns how many pages that is, none where flash can store
    /// no page.
    pub(super) fn drain(&mut self, now: Ns, flash: &mut Flash) -> u64 {
        if self.is_frozen {
            return 0;
        }
        let pages = u64::from(self.buffer.dirty());
        self.evict_all(now, flash);
        pages
    }

    /// An evicted page is in flash: its slot is free, and so is whoever waits for the page to be durable.
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
    /// Takes from the buffer what it holds of a command's pages, and asks flash for the rest.
    pub(super) fn read(&mut self, now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
        let (mut ready, mut unkept) = (0, 0);
        for (lpn, wanted) in interface.commands.await_pages(id) {
            let mask = wanted & !self.read_held(lpn, wanted, flash);
            if mask == 0 {
                ready += 1;
            } else if flash.ftl().is_mapped(lpn) {
                unkept += u32::from(!self.read_flash(now, id, lpn, mask, flash));
            } else {
                interface.read_unmapped(lpn, mask, flash);
                ready += 1;
            }
        }
        (0..ready).for_each(|_| interface.page_done(now, id, flash));
        if unkept > 0 {
            self.make_room(now, unkept, flash);
        }
    }

    /// The sectors of a page that the buffer holds.
    fn read_held(&mut self, lpn: Lpn, wanted: u32, flash: &mut Flash) -> u32 {
        let Some((slot, held)) = self.buffer.read(lpn, wanted) else { return 0 };
        flash.tell(|| DriveEvent::ReadBuffered { lpn, mask: held, slot });
        held
    }

    /// Reads sectors of a page from flash, or the whole page into a slot if the order keeps it; false if no slot was
    /// free for that. What is read while writes wait for slots is not kept.
    fn read_flash(&mut self, now: Ns, id: CommandId, lpn: Lpn, mask: u32, flash: &mut Flash) -> bool {
        let keeps = self.stalls.is_empty() && self.buffer.keeps(lpn);
        let slot = if keeps { self.buffer.fill(now, lpn) } else { None };
        if let Some(slot) = slot {
            self.slot_waiter[slot.0 as usize] = id;
        }
        flash.read(now, id, lpn, mask, slot);
        slot.is_some() || !keeps
    }

    /// A page that is kept is here: the read that asked for it has it.
    pub(super) fn filled(&mut self, now: Ns, slot: SlotId, interface: &mut HostInterface, flash: &mut Flash) {
        self.buffer.filled(now, slot, flash.nand().geometry().full_mask());
        let reader = self.take_waiter(slot).expect("a read waits for the page that fills a slot");
        interface.page_done(now, reader, flash);
        self.use_room(now, interface, flash);
    }

    /// A page that was to be kept could not be read: the read that asked for it fails, and its slot is free.
    #[cold]
    pub(super) fn not_filled(&mut self, now: Ns, slot: SlotId, interface: &mut HostInterface, flash: &mut Flash) {
        self.buffer.not_filled(now, slot);
        let reader = self.take_waiter(slot).expect("a read waits for the page that fills a slot");
        interface.page_unreadable(now, reader, flash);
        self.use_room(now, interface, flash);
    }

    /// Forgets the whole pages of a command.
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
    /// Evicts all dirty pages; the command goes on when these, and those that were on their way before, are programmed.
    pub(super) fn flush(&mut self, now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
        self.evict_all(now, flash);
        if self.durability.is_all_in_flash() {
            return self.flushed(now, id, interface, flash);
        }
        interface.commands[id].stage = Stage::Flushing;
        self.durability.wait(id);
    }

    /// What was to be durable before a command is durable.
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

/// What the buffer holds, and its accounts.
impl Buffered {
    /// Pages that flash does not have yet and that are not on their way there.
    pub(super) fn dirty(&self) -> u32 {
        self.buffer.dirty()
    }

    /// Pages that the buffer holds or has evicted, and flash does not have.
    pub(super) fn unwritten(&self) -> u32 {
        self.buffer.dirty() + self.buffer.evicting()
    }

    /// The counters, and the levels until now.
    pub(super) fn report(&self, now: Ns) -> BufferReport {
        self.buffer.report_at(now)
    }

    /// The values of the statistics of the buffer's policies.
    pub(super) fn figures(&self) -> Figures {
        self.buffer.figures()
    }

    /// Checks the buffer's accounts; returns how many writes and how many flushes wait. Call when the drive is idle.
    pub(super) fn check(&self) -> Result<(usize, usize), Violation> {
        self.buffer.check(self.refused_pages)?;
        Ok((self.stalls.len(), self.durability.waiting()))
    }
}
