//! The drive: commands from the host become page accesses of the write buffer, the FTL and the array.
//!
//! - A read takes from the buffer what it holds and the rest from flash; each page crosses the link when it is there,
//!   and the command is complete when all have. With an order that keeps what is read, a page of which the buffer holds
//!   nothing is read whole, into a slot if one is free or clean.
//! - A write crosses the link, then each of its pages takes a slot of the buffer; it is complete when all have one.
//!   Writes that find the buffer full wait in order of arrival, and the rate policy decides what is evicted for them.
//!   Without a buffer a write is complete when its pages are programmed.
//! - With an order that pads its victims, the pages of a victim block that the buffer lacks are written with it, as
//!   writes of no sector at all: the FTL reads the page and writes it again, as it does beneath any partial write. Only
//!   pages that flash holds are padding; nobody waits for them.
//! - A flush evicts all dirty pages and waits until they, and those that were on their way before, are programmed. FUA
//!   evicts the pages of its write and waits for them. A write with preflush is a flush and then a write.
//! - A discard takes its whole pages out of buffer and map; sectors of pages that it covers in part keep their data,
//!   which the interface allows.
//! - A drive that is worn out can only be read (`drive/end_of_life.rs`).

mod end_of_life;
mod setup;
mod state;
mod told;

use std::collections::VecDeque;
use std::ops::Range;

use flashloom_buffer::{BufferFigures, BufferReport, Evicted, SlotId, Stored, WriteBuffer};
use flashloom_ftl::{Mapping, PageWrite};
use flashloom_host::{Dispatched, RequestId};
use flashloom_nand::{DeviceParams, HostPage, Nand};
use flashloom_units::{EventQueue, Lpn, NO_INDEX, Ns, Refusal, SECTOR_BYTES};
use flashloom_workload::{Op, Request};
use serde::{Deserialize, Serialize};

use crate::event::{DriveEvent, Event};
use crate::link::{Link, Way};
use crate::status::{Reason, Status};
use end_of_life::End;
pub use setup::DriveSetup;

/// A command that the drive holds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Command {
    id: RequestId,
    op: Op,
    flags: u8,
    stage: Stage,
    /// Set as soon as it is known that it fails; it ends when nothing is under way for it.
    failed: Option<Reason>,
    lba: u64,
    sectors: u32,
    /// Pages of a write that have a slot already, or sectors of a read that are on the link.
    moved: u32,
    /// Page operations that it still waits for.
    pending: u32,
    /// Pages of a stalled write that were not in the buffer when it stalled, nor waited for, and have no slot yet.
    lacking: u32,
    /// When its last data crosses the link, or when it began to stall.
    at: Ns,
    next_free: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// The controller has its command, and is at it.
    Commanded,
    /// The data of a write is on the way to the drive.
    Arriving,
    /// Waits for evicted pages to be programmed before its data is taken.
    Flushing,
    /// Takes or delivers data.
    Transferring,
    /// All done but the last transfer.
    Completing,
}

/// Tags of flash operations: a slot of the buffer that is programmed, one that is filled, or a command.
const SLOT_TAG: u32 = 1 << 31;
const FILL_TAG: u32 = 1 << 30;

/// The slot of the buffer that a flash operation with that tag is for; none where it is for a command, or nobody.
pub(crate) fn waiting_slot(tag: u32) -> Option<u32> {
    (tag != Nand::NO_TAG && tag & (SLOT_TAG | FILL_TAG) != 0).then_some(tag & !(SLOT_TAG | FILL_TAG))
}

/// A drive in time: link, buffer, FTL and array.
pub struct Drive {
    nand: Nand,
    ftl: Box<dyn Mapping>,
    buffer: Option<WriteBuffer>,
    /// Whether the buffer gathers streams for the allocation.
    gathers: bool,
    link: Link,
    timed: bool,
    controller_ns: Ns,
    logical_pages: u32,
    sectors_per_page: u32,
    /// Pages are a power of two of sectors: their numbers are shifted, not divided.
    page_shift: u32,
    commands: Vec<Command>,
    free: u32,
    held: u32,
    /// When commands arrive and transfers end; the codes are commands.
    events: EventQueue,
    /// Writes that wait for slots, and how many pages they still need one for.
    stalled: VecDeque<u32>,
    waiting_pages: u64,
    /// Flushes that wait until all evictions before the given one have ended.
    flushes: VecDeque<(u64, u32)>,
    evictions: Evictions,
    /// The eviction that each slot is part of, and the FUA write or the read that waits for it.
    slot_eviction: Vec<u64>,
    slot_waiter: Vec<u32>,
    evicted: Vec<Evicted>,
    writes: Vec<PageWrite>,
    completed: Vec<(RequestId, Status)>,
    end: End,
    /// The number of the next write of a page to the FTL.
    next_write: u32,
    /// Sectors that reads asked for and that nothing is stored for.
    unmapped_read_sectors: u64,
    /// What happened since it was looked at last, where anybody looks.
    told: Vec<Event>,
}

/// Which evictions have ended, as a window over their numbers.
#[derive(Default)]
struct Evictions {
    first: u64,
    ended: VecDeque<bool>,
}

impl Evictions {
    fn begin(&mut self) -> u64 {
        self.ended.push_back(false);
        self.next() - 1
    }

    fn next(&self) -> u64 {
        self.first + self.ended.len() as u64
    }

    fn end(&mut self, number: u64) {
        self.ended[(number - self.first) as usize] = true;
        while self.ended.front() == Some(&true) {
            self.ended.pop_front();
            self.first += 1;
        }
    }
}

impl Drive {
    /// A new drive, in counting mode until [`Self::start_timing`].
    ///
    /// # Errors
    /// A policy cannot be built for the drive, or does not go with the others.
    pub fn new(setup: &DriveSetup) -> Result<Self, Refusal> {
        let mut nand = Nand::new(&setup.device).with_failures(&setup.device, &setup.ftl.prng);
        if setup.verify {
            nand.watch();
        }
        let ftl = setup.ftl.build(&setup.device, &nand)?;
        let pages = setup.buffer_pages();
        let buffer = setup.build_buffer()?;
        let mut drive = Self {
            gathers: ftl.wanted_streams().is_some_and(|wanted| wanted.in_buffer),
            link: Link::new(&setup.device),
            timed: false,
            controller_ns: setup.device.controller_ns,
            logical_pages: setup.device.logical_pages() as u32,
            sectors_per_page: nand.geometry().sectors_per_page(),
            page_shift: nand.geometry().sectors_per_page().trailing_zeros(),
            commands: Vec::new(),
            free: NO_INDEX,
            held: 0,
            events: EventQueue::default(),
            stalled: VecDeque::new(),
            waiting_pages: 0,
            flushes: VecDeque::new(),
            evictions: Evictions::default(),
            slot_eviction: vec![0; pages as usize],
            slot_waiter: vec![NO_INDEX; pages as usize],
            evicted: Vec::with_capacity(pages as usize),
            writes: Vec::new(),
            completed: Vec::new(),
            end: End::default(),
            next_write: 0,
            unmapped_read_sectors: 0,
            told: Vec::new(),
            nand,
            ftl,
            buffer,
        };
        if drive.gathers {
            drive.gather_streams();
        }
        Ok(drive)
    }

    /// Has the buffer gather streams of the length that the allocation wants now.
    fn gather_streams(&mut self) {
        if let (Some(buffer), Some(wanted)) = (&mut self.buffer, self.ftl.wanted_streams()) {
            buffer.gather_streams(wanted.pages);
            wanted.block_pages.iter().for_each(|&pages| buffer.gather_from_blocks(pages));
        }
    }

    /// From now on commands and flash operations take time.
    pub fn start_timing(&mut self, params: &DeviceParams) {
        self.nand.start_timing(params);
        self.timed = true;
    }

    /// The array.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// The flash translation layer.
    pub fn ftl(&self) -> &dyn Mapping {
        self.ftl.as_ref()
    }

    /// Writes whole pages to the FTL together, past the buffer, when the drive is aged.
    pub(crate) fn write_past_buffer(&mut self, lpns: impl Iterator<Item = Lpn>) {
        let mask = self.nand.geometry().full_mask();
        for lpn in lpns {
            let page = self.next_write(lpn, mask);
            self.tell(|| DriveEvent::WrittenThrough { command: DriveEvent::AGEING, page });
            self.writes.push(PageWrite::new(page, Nand::NO_TAG));
        }
        self.ftl.write(&mut self.nand, &self.writes);
        self.writes.clear();
    }

    /// The next write of a page.
    fn next_write(&mut self, lpn: Lpn, mask: u32) -> HostPage {
        let write = self.next_write;
        self.next_write = write.wrapping_add(1);
        HostPage { lpn, mask, write }
    }

    /// Starts the counters of array and FTL again at zero; wear is kept.
    pub(crate) fn reset_flash_counts(&mut self) {
        self.nand.reset_counts();
        self.ftl.reset_report();
    }

    /// The buffer's counters and its levels until now; nothing for a drive without a buffer.
    pub fn buffer_report(&self, now: Ns) -> Option<BufferReport> {
        self.buffer.as_ref().map(|buffer| buffer.report_at(now))
    }

    /// The values of the statistics of the buffer's policies.
    pub fn buffer_figures(&self) -> BufferFigures {
        self.buffer.as_ref().map(WriteBuffer::figures).unwrap_or_default()
    }

    /// Sectors that reads asked for and that nothing was stored for: never written, or discarded since.
    pub fn unmapped_read_sectors(&self) -> u64 {
        self.unmapped_read_sectors
    }

    /// Pages in the buffer that flash does not have yet.
    pub fn dirty_pages(&self) -> u32 {
        self.buffer.as_ref().map_or(0, WriteBuffer::dirty)
    }

    /// Sectors that the drive offers.
    pub fn capacity_sectors(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.sectors_per_page)
    }

    /// Whether the drive holds no command and no flash operation.
    pub fn is_idle(&self) -> bool {
        self.held == 0 && self.nand.in_flight() == 0
    }

    /// One step of background work; false if nothing is left to do after it.
    pub fn idle_step(&mut self, now: Ns) -> bool {
        self.nand.set_now(now);
        self.ftl.idle(&mut self.nand)
    }

    /// Whether there are commands that have ended.
    pub fn has_completed(&self) -> bool {
        !self.completed.is_empty()
    }

    /// Takes a command that has ended, and how.
    pub fn take_completed(&mut self) -> Option<(RequestId, Status)> {
        self.completed.pop()
    }

    /// Checks every layer's accounts. Call when the drive is idle.
    pub fn check(&self) -> Result<(), String> {
        self.nand.check()?;
        self.ftl.check()?;
        if let Some(buffer) = &self.buffer {
            buffer.check(self.end.refused_pages)?;
        }
        match (self.held, self.stalled.len(), self.flushes.len()) {
            (0, 0, 0) => Ok(()),
            left => Err(format!("drive: (commands, stalled, flushes) left are {left:?}")),
        }
    }
}

/// Time: when the next thing happens in the drive, and making it happen.
impl Drive {
    /// When the next event of the drive is due.
    #[inline]
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        let own = self.events.next_ns();
        match (own, self.nand.next_event_ns()) {
            (Some(own), Some(nand)) => Some(own.min(nand)),
            (own, nand) => own.or(nand),
        }
    }

    /// Processes the next event, which must be due at `now`. The array goes first, so that what it frees at a moment
    /// serves what arrives at that moment.
    pub fn step(&mut self, now: Ns) {
        if self.nand.next_event_ns() == Some(now) {
            self.nand.step(now);
            self.drain(now);
        } else if let Some((at, _, command)) = self.events.pop() {
            debug_assert_eq!(at, now, "events are processed when they are due");
            self.nand.set_now(now);
            match self.commands[command as usize].stage {
                Stage::Commanded => self.commanded(now, command),
                Stage::Arriving => self.arrived(now, command),
                Stage::Flushing | Stage::Transferring | Stage::Completing => self.complete(command),
            }
            self.drain(now);
        }
    }

    /// The host sends a command.
    pub fn accept(&mut self, now: Ns, request: &Dispatched) {
        let command = Command {
            id: request.id,
            op: request.op,
            flags: request.flags,
            stage: Stage::Commanded,
            failed: None,
            lba: request.lba,
            sectors: request.sectors,
            moved: 0,
            pending: 0,
            lacking: 0,
            at: now,
            next_free: NO_INDEX,
        };
        let index = self.free;
        let index = if index == NO_INDEX {
            self.commands.push(command);
            self.commands.len() as u32 - 1
        } else {
            self.free = self.commands[index as usize].next_free;
            self.commands[index as usize] = command;
            index
        };
        self.held += 1;
        self.tell(|| DriveEvent::Accepted { command: index, id: request.id });
        if self.timed && self.controller_ns > 0 {
            self.events.schedule(now + self.controller_ns, index);
        } else {
            self.nand.set_now(now);
            self.commanded(now, index);
            self.drain(now);
        }
    }

    /// The controller is done with a command: the data of a write crosses the link, everything else begins.
    fn commanded(&mut self, now: Ns, index: u32) {
        self.tell(|| DriveEvent::Commanded { command: index });
        let command = &mut self.commands[index as usize];
        command.stage = Stage::Arriving;
        let (lba, bytes) = (command.lba, u64::from(command.sectors) * SECTOR_BYTES);
        if command.op != Op::Write || !self.timed {
            return self.arrived(now, index);
        }
        // The map is looked up when the data is in the drive; until then the entry of its first page can be fetched.
        self.ftl.prepare(Lpn((lba >> self.page_shift) as u32));
        let arrives = self.link.transfer(now, bytes, Way::ToDevice);
        self.events.schedule(arrives, index);
    }

    /// A command, with the data of a write, is in the drive.
    fn arrived(&mut self, now: Ns, index: u32) {
        self.tell(|| DriveEvent::Arrived { command: index });
        let command = &mut self.commands[index as usize];
        command.stage = Stage::Transferring;
        command.at = now;
        let Command { op, flags, .. } = *command;
        self.buffer.iter_mut().for_each(|buffer| buffer.set_now(now));
        if self.end.is_read_only && self.refuses(op) {
            return self.fail(now, index, Reason::ReadOnly);
        }
        match op {
            Op::Read => self.read(now, index),
            Op::Discard => self.discard(now, index),
            Op::Flush => self.flush(now, index),
            Op::Write if flags & Request::PREFLUSH != 0 => self.flush(now, index),
            Op::Write => self.write(now, index),
        }
    }

    /// Handles all flash operations that have ended.
    fn drain(&mut self, now: Ns) {
        while let Some(tag) = self.nand.take_completed() {
            if tag & (SLOT_TAG | FILL_TAG) == 0 {
                self.page_done(now, tag);
                continue;
            }
            self.buffer.iter_mut().for_each(|buffer| buffer.set_now(now));
            let slot = SlotId(tag & !(SLOT_TAG | FILL_TAG));
            if tag & SLOT_TAG != 0 {
                self.programmed(now, slot);
            } else {
                self.filled(now, slot);
            }
            self.use_room(now);
        }
    }

    /// A page of a read is in the controller, or a page of a write is in flash.
    fn page_done(&mut self, now: Ns, tag: u32) {
        let command = &mut self.commands[tag as usize];
        command.pending -= 1;
        if command.op == Op::Read && self.timed {
            // Pages cross the link as they become ready, in equal shares: a page does not know its place in the command.
            let share = (command.sectors - command.moved).div_ceil(command.pending + 1);
            command.moved += share;
            let at = self.link.transfer(now, u64::from(share) * SECTOR_BYTES, Way::ToHost);
            command.at = command.at.max(at);
        }
        if command.pending == 0 {
            self.finish(now, tag);
        }
    }

    /// Everything is done but the last transfer, if that has not ended.
    fn finish(&mut self, now: Ns, index: u32) {
        let command = &mut self.commands[index as usize];
        command.stage = Stage::Completing;
        if command.op == Op::Read && command.at > now {
            let at = command.at;
            self.events.schedule(at, index);
        } else {
            self.complete(index);
        }
    }

    fn complete(&mut self, index: u32) {
        self.tell(|| DriveEvent::Completed { command: index });
        let command = &mut self.commands[index as usize];
        self.completed.push((command.id, command.failed.map_or(Status::Done, Status::Failed)));
        command.next_free = self.free;
        self.free = index;
        self.held -= 1;
    }
}

/// Data: pages to and from buffer and flash.
impl Drive {
    /// Pages that a command touches, whole or in part.
    fn pages_of(&self, command: &Command) -> u32 {
        let last = command.lba + u64::from(command.sectors) - 1;
        ((last >> self.page_shift) - (command.lba >> self.page_shift) + 1) as u32
    }

    /// The page of that index among those that a command touches, and which of its sectors.
    fn page_at(&self, command: &Command, index: u32) -> (Lpn, u32) {
        let lpn = (command.lba >> self.page_shift) + u64::from(index);
        let start = lpn << self.page_shift;
        let first = command.lba.saturating_sub(start);
        let last = (command.lba + u64::from(command.sectors) - start).min(u64::from(self.sectors_per_page));
        let mask = (u64::MAX >> (64 - (last - first))) << first;
        (Lpn(lpn as u32), mask as u32)
    }

    fn read(&mut self, now: Ns, index: u32) {
        let command = self.commands[index as usize];
        let pages = self.pages_of(&command);
        self.commands[index as usize].pending = pages;
        let (mut ready, mut unkept) = (0, 0);
        for page in 0..pages {
            let (lpn, mut mask) = self.page_at(&command, page);
            mask &= !self.read_buffered(lpn, mask);
            if mask == 0 {
                ready += 1;
            } else if self.ftl.is_mapped(lpn) {
                unkept += u32::from(!self.read_flash(lpn, mask, index));
            } else {
                self.unmapped_read_sectors += u64::from(mask.count_ones());
                self.tell(|| DriveEvent::ReadUnmapped { lpn, mask });
                ready += 1;
            }
        }
        (0..ready).for_each(|_| self.page_done(now, index));
        if unkept > 0 {
            self.make_room(unkept);
        }
    }

    /// Reads sectors of a page from flash, or the whole page if it is to be kept; false if it is but found no room. What
    /// is read while writes wait for room is not kept.
    fn read_flash(&mut self, lpn: Lpn, mask: u32, index: u32) -> bool {
        let keeper = self.buffer.as_mut().filter(|buffer| self.stalled.is_empty() && buffer.keeps(lpn));
        let keeps = keeper.is_some();
        let slot = keeper.and_then(|buffer| buffer.fill(lpn));
        let (mask, tag) = slot.map_or((mask, index), |slot| {
            self.slot_waiter[slot.0 as usize] = index;
            (self.nand.geometry().full_mask(), FILL_TAG | slot.0)
        });
        self.tell(|| DriveEvent::ReadFlash { command: index, lpn, mask, slot });
        self.ftl.read(&mut self.nand, lpn, mask, tag);
        slot.is_some() || !keeps
    }

    /// A page that is kept is here: the read that asked for it has it.
    fn filled(&mut self, now: Ns, slot: SlotId) {
        let mask = self.nand.geometry().full_mask();
        self.buffer.iter_mut().for_each(|buffer| buffer.filled(slot, mask));
        let reader = std::mem::replace(&mut self.slot_waiter[slot.0 as usize], NO_INDEX);
        self.page_done(now, reader);
    }

    /// The sectors of a page that the buffer holds.
    fn read_buffered(&mut self, lpn: Lpn, wanted: u32) -> u32 {
        let Some((slot, held)) = self.buffer.as_mut().and_then(|buffer| buffer.read(lpn, wanted)) else { return 0 };
        self.tell(|| DriveEvent::ReadBuffered { lpn, mask: held, slot });
        held
    }

    fn write(&mut self, now: Ns, index: u32) {
        if self.buffer.is_none() {
            return self.write_through(index);
        }
        self.commands[index as usize].at = now;
        if self.stalled.is_empty() && self.store(index) {
            self.stored(now, index);
        } else {
            self.stall(index);
        }
        self.evict_and_store(now);
    }

    /// A write waits for slots: for each of its pages that the buffer does not hold, and no write before it waits for.
    fn stall(&mut self, index: u32) {
        let pages = self.unstored(index);
        let others = || self.stalled.iter().map(|&other| self.unstored(other));
        let is_alone = others().all(|other| other.end <= pages.start || pages.end <= other.start);
        let lacks = |&lpn: &u32| {
            self.buffer.as_ref().is_some_and(|buffer| !buffer.holds(Lpn(lpn)))
                && (is_alone || !others().any(|other| other.contains(&lpn)))
        };
        let lacking = pages.clone().filter(lacks).count() as u32;
        self.commands[index as usize].lacking = lacking;
        self.waiting_pages += u64::from(lacking);
        self.stalled.push_back(index);
    }

    fn write_through(&mut self, index: u32) {
        let command = self.commands[index as usize];
        let pages = self.pages_of(&command);
        self.commands[index as usize].pending = pages;
        for page in 0..pages {
            let (lpn, mask) = self.page_at(&command, page);
            let page = self.next_write(lpn, mask);
            self.tell(|| DriveEvent::WrittenThrough { command: index, page });
            self.writes.push(PageWrite::new(page, index));
        }
        self.ftl.write(&mut self.nand, &self.writes);
        self.writes.clear();
    }

    /// The pages of a write that have no slot yet.
    fn unstored(&self, index: u32) -> Range<u32> {
        let command = &self.commands[index as usize];
        let first = (command.lba >> self.page_shift) as u32;
        first + command.moved..first + self.pages_of(command)
    }

    /// A slot may be free: stores what the buffer has room for, and lets the rate policy decide anew.
    fn use_room(&mut self, now: Ns) {
        self.store_stalled(now);
        self.evict_and_store(now);
    }

    /// Evicts what the rate policy wants evicted. A victim may let clean pages be given up: for these, writes that wait
    /// are stored at once.
    fn evict_and_store(&mut self, now: Ns) {
        self.make_room(0);
        while !self.stalled.is_empty()
            && self.buffer.as_ref().is_some_and(|buffer| buffer.has_room() && !buffer.is_blocked())
        {
            self.store_stalled(now);
            self.make_room(0);
        }
    }

    /// Stores writes that wait, in order of arrival, as far as there is room.
    fn store_stalled(&mut self, now: Ns) {
        while let Some(&index) = self.stalled.front() {
            if self.buffer.as_ref().is_some_and(WriteBuffer::is_blocked) || !self.store(index) {
                break;
            }
            self.stalled.pop_front();
            let waited_ns = now - self.commands[index as usize].at;
            // Without time every wait is over at once; with it, one that is had clean pages given up for it.
            if waited_ns > 0 || !self.timed {
                self.buffer.iter_mut().for_each(|buffer| buffer.stalled(waited_ns));
            }
            self.stored(now, index);
        }
    }

    /// All pages of a write are in the buffer: it is complete, unless they are to be durable.
    fn stored(&mut self, now: Ns, index: u32) {
        if self.commands[index as usize].pending == 0 {
            self.finish(now, index);
        }
    }

    /// Evicts what the rate policy wants evicted, when so many pages that were read are not kept for want of room.
    fn make_room(&mut self, unkept: u32) {
        if let Some(buffer) = self.buffer.as_mut().filter(|_| !self.end.is_read_only) {
            // A page that was in the buffer when its write stalled may have left since, so the first always counts.
            let waiting = self.waiting_pages.max(u64::from(!self.stalled.is_empty())) + u64::from(unkept);
            buffer.evict(waiting.min(u64::from(u32::MAX)) as u32, &mut self.evicted);
            self.send_evicted();
        }
    }

    /// Gives pages of a write slots while there are any; true when all of them have one.
    fn store(&mut self, index: u32) -> bool {
        let command = self.commands[index as usize];
        let pages = self.pages_of(&command);
        for page in command.moved..pages {
            let (lpn, mask) = self.page_at(&command, page);
            let stored = self.buffer.as_mut().and_then(|buffer| buffer.write(lpn, mask));
            let Some(Stored { slot, is_new, taken_over }) = stored else { break };
            let is_durable = command.flags & Request::FUA != 0;
            self.tell(|| DriveEvent::Stored { command: index, lpn, mask, slot, taken_over, is_durable });
            let stored = &mut self.commands[index as usize];
            stored.moved += 1;
            if is_new && stored.lacking > 0 {
                stored.lacking -= 1;
                self.waiting_pages -= 1;
            }
            if is_durable {
                self.slot_waiter[slot.0 as usize] = index;
                self.commands[index as usize].pending += 1;
                self.buffer.iter_mut().for_each(|buffer| buffer.evict_slot(slot, &mut self.evicted));
            }
        }
        self.send_evicted();
        let stored = &mut self.commands[index as usize];
        let has_all = stored.moved == pages;
        if has_all {
            self.waiting_pages -= u64::from(std::mem::take(&mut stored.lacking));
            self.tell(|| DriveEvent::StoredAll { command: index });
        }
        has_all
    }

    /// Writes what was evicted together to flash together.
    fn send_evicted(&mut self) {
        if self.evicted.is_empty() {
            return;
        }
        for &Evicted { slot, lpn, mask } in &self.evicted {
            let tag = if let Some(slot) = slot {
                self.slot_eviction[slot.0 as usize] = self.evictions.begin();
                SLOT_TAG | slot.0
            } else if lpn.0 < self.logical_pages && self.ftl.is_mapped(lpn) {
                self.buffer.iter_mut().for_each(WriteBuffer::padded);
                Nand::NO_TAG
            } else {
                continue;
            };
            let page = HostPage { lpn, mask, write: self.next_write };
            self.next_write = page.write.wrapping_add(1);
            self.writes.push(PageWrite::new(page, tag));
            if self.nand.is_watched() {
                told::tell(&mut self.told, &mut self.nand, DriveEvent::Evicted { slot, page });
            }
        }
        self.evicted.clear();
        self.ftl.write(&mut self.nand, &self.writes);
        self.writes.clear();
        if self.gathers {
            self.gather_streams();
        }
    }

    /// An evicted page is in flash.
    fn programmed(&mut self, now: Ns, slot: SlotId) {
        self.buffer.iter_mut().for_each(|buffer| buffer.programmed(slot));
        self.evictions.end(self.slot_eviction[slot.0 as usize]);
        let waiter = std::mem::replace(&mut self.slot_waiter[slot.0 as usize], NO_INDEX);
        if waiter != NO_INDEX {
            let command = &mut self.commands[waiter as usize];
            command.pending -= 1;
            let command = *command;
            let is_stored = command.moved == self.pages_of(&command) || command.failed.is_some();
            if command.pending == 0 && is_stored {
                self.finish(now, waiter);
            }
        }
        while let Some(&(upto, index)) = self.flushes.front()
            && upto <= self.evictions.first
        {
            self.flushes.pop_front();
            self.flushed(now, index);
        }
    }

    /// Sends everything to flash that only the buffer holds; returns how many pages that is, none where the drive can
    /// only be read.
    pub(crate) fn drain_buffer(&mut self, now: Ns) -> u64 {
        self.nand.set_now(now);
        let Some(buffer) = self.buffer.as_mut().filter(|_| !self.end.is_read_only) else { return 0 };
        buffer.set_now(now);
        let pages = u64::from(buffer.dirty());
        self.evict_all();
        self.drain(now);
        pages
    }

    fn evict_all(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.evict_all(&mut self.evicted);
            self.send_evicted();
        }
    }

    fn flush(&mut self, now: Ns, index: u32) {
        self.evict_all();
        if self.evictions.ended.is_empty() {
            return self.flushed(now, index);
        }
        self.commands[index as usize].stage = Stage::Flushing;
        self.flushes.push_back((self.evictions.next(), index));
    }

    /// What was to be durable before a command is durable.
    fn flushed(&mut self, now: Ns, index: u32) {
        self.tell(|| DriveEvent::Flushed { command: index });
        let command = &mut self.commands[index as usize];
        command.stage = Stage::Transferring;
        match command.op {
            Op::Write if self.end.is_read_only => self.fail(now, index, Reason::EndOfLife),
            Op::Write => self.write(now, index),
            _ => self.finish(now, index),
        }
    }

    fn discard(&mut self, now: Ns, index: u32) {
        let command = self.commands[index as usize];
        let spp = u64::from(self.sectors_per_page);
        for lpn in command.lba.div_ceil(spp)..(command.lba + u64::from(command.sectors)) / spp {
            let lpn = Lpn(lpn as u32);
            self.buffer.iter_mut().for_each(|buffer| buffer.discard(lpn));
            self.ftl.trim(&mut self.nand, lpn);
            self.tell(|| DriveEvent::Discarded { lpn });
        }
        self.finish(now, index);
        self.use_room(now);
    }
}
