//! The data of a drive, as an observer of its events: what each slot of the buffer and each physical page holds.
//!
//! ```text
//! host write -> pages of the request -> slot of the buffer -> write that the FTL was given -> program -> physical page
//! host read  <- slot of the buffer, or physical page, at the moment at which it is read
//! copy       physical page -> physical page;   erase  physical page -> nothing
//! ```
//!
//! A read gets what slot or page holds, and no table of logical pages knows better: what a policy loses or mixes up
//! is lost. A physical page that was never programmed, or that the host did not write, holds zeros. As in the integrity
//! oracle, whose way through the events this is, a program that completes or copies a page writes what the read before
//! it has returned.

use std::collections::BTreeMap;

use flashloom_buffer::SlotId;
use flashloom_device::{CommandId, DriveEvent, Event};
use flashloom_host::Dispatched;
use flashloom_nand::{Command, Event as FlashEvent, Geometry, HostPage, Lpn, OperationKind, Ppn};
use flashloom_workload::{Op, Request};

use crate::frames::{Frame, Frames, Memory, SECTOR, mask_of};

/// Data of a request of the host.
#[derive(Debug)]
struct Moving {
    first: Lpn,
    /// Pages of a write; none of a write of zeros.
    written: Vec<Frame>,
    /// Sectors that a read has found so far.
    found: Vec<Found>,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    lpn: Lpn,
    mask: u32,
    frame: Frame,
}

/// A slot of the write buffer or of the read cache.
#[derive(Clone, Debug)]
struct Slot {
    lpn: Lpn,
    frame: Frame,
    /// Commands that wait until the page has been read into the read cache, and their sectors.
    waiting: Vec<(CommandId, u32)>,
}

/// A read that the FTL was asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    command: Option<CommandId>,
    lpn: Lpn,
    mask: u32,
    slot: Option<SlotId>,
}

pub(crate) struct Contents {
    geometry: Geometry,
    frames: Frames,
    /// The physical pages.
    pages: Vec<Frame>,
    slots: Vec<Slot>,
    /// The requests by their cookies.
    requests: Vec<Moving>,
    /// Requests with data that the host has not dispatched, in order.
    queued: Vec<(u32, Request)>,
    /// The request that was dispatched last, and those of commands.
    dispatched: u32,
    cookies: Vec<u32>,
    asked: Option<Asked>,
    /// Pages given to the FTL and not yet programmed, by the number of the write.
    sent: BTreeMap<u32, Frame>,
    /// Reads and programs for the host that run, by the number of the operation.
    reads: Vec<Option<Asked>>,
    programs: Vec<Option<Frame>>,
    /// The program that waits for an operation, by the number of that operation.
    successors: Vec<Option<u32>>,
    /// What the read before a program has returned, by the number of the program.
    beneath: Vec<Option<Frame>>,
    /// The mutant of the tests: it leaves the data of a copied page behind.
    #[cfg(test)]
    pub(crate) forgets_copies: bool,
}

impl Contents {
    /// The contents of a drive on which nothing was written since it was aged.
    pub(crate) fn new(geometry: Geometry, memory: Memory) -> Self {
        Self {
            geometry,
            frames: Frames::new(geometry.page_bytes, memory),
            pages: vec![Frame::ZEROS; geometry.total_pages() as usize],
            slots: Vec::new(),
            requests: Vec::new(),
            queued: Vec::new(),
            dispatched: 0,
            cookies: Vec::new(),
            asked: None,
            sent: BTreeMap::new(),
            reads: Vec::new(),
            programs: Vec::new(),
            successors: Vec::new(),
            beneath: Vec::new(),
            #[cfg(test)]
            forgets_copies: false,
        }
    }

    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Passes the data of each of these logical pages that has any but zeros, in their order.
    pub(crate) fn each_page<E>(
        &mut self,
        places: impl Iterator<Item = (Lpn, Ppn)>,
        mut each: impl FnMut(Lpn, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let full = self.geometry.full_mask();
        let mut data = vec![0; self.geometry.page_bytes as usize];
        for (lpn, ppn) in places {
            let frame = self.pages[ppn.at()];
            if frame == Frame::ZEROS {
                continue;
            }
            self.frames.read(frame, full, 0, &mut data);
            if data.iter().any(|&byte| byte != 0) {
                each(lpn, &data)?;
            }
        }
        Ok(())
    }

    /// Forgets what buffer and read cache of a drive that was switched off have held.
    pub(crate) fn forget_slots(&mut self) {
        self.slots.drain(..).for_each(|slot| self.frames.release(slot.frame));
    }

    /// Gives a physical page its data.
    pub(crate) fn set_page(&mut self, ppn: Ppn, data: &[u8]) {
        let frame = self.frames.filled(0, data);
        self.set(ppn.at(), frame);
    }
}

/// Requests of the host.
impl Contents {
    /// A request is being submitted, and its events follow. The data of a write of zeros is empty.
    pub(crate) fn submit(&mut self, cookie: u32, request: &Request, data: &[u8]) {
        if !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        self.queued.push((cookie, *request));
        let (lba, sectors) = (request.lba, u64::from(self.geometry.sectors_per_page()));
        let page_bytes = self.geometry.page_bytes as usize;
        let moving = at(&mut self.requests, cookie);
        debug_assert!(moving.written.is_empty() && moving.found.is_empty(), "a cookie of a request that has ended");
        moving.first = Lpn((lba / sectors) as u32);
        let (first_sector, mut rest) = (lba % sectors, data);
        let mut offset = first_sector as usize * SECTOR;
        while !rest.is_empty() {
            let (page, others) = rest.split_at(rest.len().min(page_bytes - offset));
            moving.written.push(self.frames.filled((offset / SECTOR) as u32, page));
            (offset, rest) = (0, others);
        }
    }

    /// Copies what a read that has completed found, from its first sector on. Returns the number of sectors.
    pub(crate) fn take(&mut self, cookie: u32, lba: u64, data: &mut [u8]) -> u64 {
        let sectors = u64::from(self.geometry.sectors_per_page());
        let end = lba + (data.len() / SECTOR) as u64;
        let mut found = 0;
        for &Found { lpn, mask, frame } in &self.requests[cookie as usize].found {
            // The part of the page that the read asked for: a page that is cached is read whole.
            let page = u64::from(lpn.0) * sectors;
            let (from, to) = (page.max(lba), (page + sectors).min(end));
            let [start, stop] = [from, to].map(|sector| (sector - lba) as usize * SECTOR);
            let wanted = mask & mask_of((from - page) as usize..(to - page) as usize);
            self.frames.read(frame, wanted, (from - page) as u32, &mut data[start..stop]);
            found += u64::from(wanted.count_ones());
        }
        found
    }

    /// The request was not accepted.
    pub(crate) fn refuse(&mut self, cookie: u32) {
        self.queued.retain(|(queued, _)| *queued != cookie);
        self.end(cookie);
    }

    /// The host dispatches a request, unmerged: of equal ones the one that came first.
    fn dispatch(&mut self, command: &Dispatched) {
        let is_of = |request: &Request| {
            (request.op, request.lba, request.sectors) == (command.op, command.lba, command.sectors)
        };
        if let Some(at) = self.queued.iter().position(|(_, request)| is_of(request)) {
            self.dispatched = self.queued.remove(at).0;
        }
    }

    /// The request has ended: what was kept for it is released.
    pub(crate) fn end(&mut self, cookie: u32) {
        let Some(Moving { written, found, .. }) = self.requests.get_mut(cookie as usize) else { return };
        written.drain(..).for_each(|frame| self.frames.release(frame));
        found.drain(..).for_each(|found| self.frames.release(found.frame));
    }

    /// The page of a write that the command is of.
    fn written(&self, command: CommandId, lpn: Lpn) -> Frame {
        let moving = &self.requests[self.cookies[command.at()] as usize];
        moving.written.get((lpn.0 - moving.first.0) as usize).copied().unwrap_or(Frame::ZEROS)
    }

    fn found(&mut self, command: CommandId, lpn: Lpn, mask: u32, frame: Frame) {
        if mask != 0 {
            let frame = self.frames.keep(frame);
            self.requests[self.cookies[command.at()] as usize].found.push(Found { lpn, mask, frame });
        }
    }
}

/// Events of the drive.
impl Contents {
    /// Follows an event.
    pub(crate) fn see(&mut self, event: &Event) {
        match *event {
            Event::Flash(ref event) => self.flash(event),
            Event::Drive(event) => self.drive(event),
            Event::Dispatched(ref command) => self.dispatch(command),
            _ => {}
        }
    }

    fn drive(&mut self, event: DriveEvent) {
        match event {
            DriveEvent::Accepted { command, .. } => *at(&mut self.cookies, command.0) = self.dispatched,
            DriveEvent::ReadBuffered { command, lpn, mask, slot } => {
                let frame = self.slot(slot).frame;
                self.found(command, lpn, mask, frame);
            }
            DriveEvent::ReadUnmapped { command, lpn, mask } => self.found(command, lpn, mask, Frame::ZEROS),
            DriveEvent::ReadFlash { command, lpn, mask, slot } => {
                self.asked = Some(Asked { command: Some(command), lpn, mask, slot });
            }
            DriveEvent::ReadAhead { lpn, slot } => {
                self.asked = Some(Asked { command: None, lpn, mask: 0, slot: Some(slot) });
            }
            DriveEvent::ReadCached { command, lpn, mask, slot, is_ready } => {
                let of_slot = self.slot(slot);
                if is_ready {
                    let frame = of_slot.frame;
                    self.found(command, lpn, mask, frame);
                } else {
                    of_slot.waiting.push((command, mask));
                }
            }
            DriveEvent::Stored { command, lpn, mask, slot, taken_over, .. } => {
                self.stored(command, (lpn, mask), slot, taken_over);
            }
            DriveEvent::WrittenThrough { command: Some(command), page } => {
                let frame = self.written(command, page.lpn);
                self.send(page, frame);
            }
            DriveEvent::Evicted { page, slot } => {
                let frame = slot.map_or(Frame::ZEROS, |slot| self.slot(slot).frame);
                self.send(page, frame);
            }
            _ => {}
        }
    }

    fn slot(&mut self, slot: SlotId) -> &mut Slot {
        at(&mut self.slots, slot.0)
    }

    /// Sectors of a page were written to a slot; its others come from the slot `taken_over`, if there is one.
    fn stored(&mut self, command: CommandId, (lpn, mask): (Lpn, u32), slot: SlotId, taken_over: Option<SlotId>) {
        let data = self.written(command, lpn);
        let other = taken_over.map(|other| self.slot(other).frame);
        let Slot { lpn: of_slot, frame, .. } = self.slot(slot);
        let is_same = *of_slot == lpn;
        let old = std::mem::take(frame);
        let base = match other {
            None if is_same => old,
            _ => {
                self.frames.release(old);
                self.frames.keep(other.unwrap_or_default())
            }
        };
        let frame = self.frames.overlaid(base, mask, data);
        let slot = self.slot(slot);
        (slot.lpn, slot.frame) = (lpn, frame);
    }

    fn send(&mut self, page: HostPage, frame: Frame) {
        let frame = self.frames.keep(frame);
        self.sent.insert(page.write, frame);
    }

    /// A page has been read into a slot.
    fn fill(&mut self, slot: SlotId, lpn: Lpn, frame: Frame) {
        let frame = self.frames.keep(frame);
        let of_slot = self.slot(slot);
        of_slot.lpn = lpn;
        let old = std::mem::replace(&mut of_slot.frame, frame);
        self.frames.release(old);
    }
}

/// Events of the flash array.
impl Contents {
    fn flash(&mut self, event: &FlashEvent) {
        match event {
            FlashEvent::Issued(command, after) => {
                if let (OperationKind::Program, Some(after)) = (command.kind, after) {
                    *at(&mut self.successors, *after) = Some(command.number);
                }
                if command.lpn.is_some() {
                    self.issue(command);
                }
            }
            FlashEvent::Ended { command, failed } => match command.kind {
                OperationKind::Read => self.end_read(command, *failed),
                OperationKind::Program | OperationKind::Copyback => self.end_program(command, *failed),
                OperationKind::Erase => self.end_erase(command),
                OperationKind::Hold => {}
            },
            FlashEvent::Missed { command } => drop(self.take_read(command.number, true)),
            _ => {}
        }
    }

    fn issue(&mut self, command: &Command) {
        if command.kind == OperationKind::Read {
            *at(&mut self.reads, command.number) = self.asked.take();
        } else {
            *at(&mut self.programs, command.number) = self.sent.remove(&command.write);
        }
    }

    /// The request that a read was for. If the read has failed, nobody waits for its slot any more.
    fn take_read(&mut self, number: u32, failed: bool) -> Option<Asked> {
        let asked = at(&mut self.reads, number).take()?;
        if let Some(slot) = asked.slot.filter(|_| failed) {
            self.slot(slot).waiting.clear();
        }
        Some(asked)
    }

    fn end_read(&mut self, command: &Command, failed: bool) {
        let Command { number, ppn, .. } = *command;
        let frame = self.pages[ppn.at()];
        if let Some(asked) = self.take_read(number, failed).filter(|_| !failed) {
            if let Some(command) = asked.command {
                self.found(command, asked.lpn, asked.mask, frame);
            }
            if let Some(slot) = asked.slot {
                self.fill(slot, asked.lpn, frame);
                let waiting = std::mem::take(&mut self.slot(slot).waiting);
                waiting.into_iter().for_each(|(command, mask)| self.found(command, asked.lpn, mask, frame));
            }
        }
        let frame = if failed { Frame::ZEROS } else { self.frames.keep(frame) };
        self.hand_on(number, Some(frame));
    }

    /// What an operation has read, or could not write, goes into the program that waits for it.
    fn hand_on(&mut self, number: u32, frame: Option<Frame>) {
        let unused = match at(&mut self.successors, number).take() {
            Some(program) => std::mem::replace(at(&mut self.beneath, program), frame),
            None => frame,
        };
        self.frames.release(unused.unwrap_or_default());
    }

    fn end_program(&mut self, command: &Command, failed: bool) {
        let Command { number, ppn, from, mask, .. } = *command;
        let read = at(&mut self.beneath, number).take();
        let written = at(&mut self.programs, number).take();
        if failed {
            self.hand_on(number, read);
            self.frames.release(written.unwrap_or_default());
            return self.set(ppn.at(), Frame::ZEROS);
        }
        let base = match read {
            Some(read) if from.is_some() => read,
            read => {
                self.frames.release(read.unwrap_or_default());
                let from = if from.is_some() { self.pages[from.at()] } else { Frame::ZEROS };
                self.frames.keep(from)
            }
        };
        let frame = match written {
            Some(written) => {
                let frame = self.frames.overlaid(base, mask, written);
                self.frames.release(written);
                frame
            }
            None => base,
        };
        #[cfg(test)]
        if self.forgets_copies && written.is_none() {
            self.frames.release(frame);
            return self.set(ppn.at(), Frame::ZEROS);
        }
        self.set(ppn.at(), frame);
    }

    fn end_erase(&mut self, command: &Command) {
        for page in 0..self.geometry.pages {
            self.set(self.geometry.page(command.block, page).at(), Frame::ZEROS);
        }
    }

    fn set(&mut self, page: usize, frame: Frame) {
        let old = std::mem::replace(&mut self.pages[page], frame);
        self.frames.release(old);
    }
}

impl Default for Moving {
    fn default() -> Self {
        Self { first: Lpn::NONE, written: Vec::new(), found: Vec::new() }
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self { lpn: Lpn::NONE, frame: Frame::ZEROS, waiting: Vec::new() }
    }
}

/// Entry of a table that grows to the greatest number ever used.
fn at<T: Default>(table: &mut Vec<T>, number: u32) -> &mut T {
    if number as usize >= table.len() {
        table.resize_with(number as usize + 1, T::default);
    }
    &mut table[number as usize]
}
