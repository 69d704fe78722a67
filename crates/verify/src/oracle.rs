//! The integrity oracle: every read returns what was written.
//!
//! Every host write of a page gets a new stamp. The oracle keeps for each logical sector the stamp that a read must
//! return, moves stamps with the data through buffer and flash, and compares them when a read ends. A stamp belongs to
//! one logical page and one write, so data of another page or an older version is found.
//!
//! ```text
//! host write -> logical (what a read must return)
//!            -> slots (the buffer) -> sent (what the FTL was given, by the number of the write) -> carried -> flash
//! host read  <- slots, or flash, compared with what logical held when the read was asked for
//! ```
//!
//! The FTL's commands are checked against the calls to it: every page given to it is programmed once, with the same
//! logical page and sectors, and every read asked of it is emitted at once, for that page. A program that completes or
//! copies a page writes what the read before it has returned, from wherever that took it; what that could not read is
//! lost, and a read that returns it for the host is found, whatever the array knows of it.

use flashloom_units::{Violation, violation};
use std::collections::BTreeMap;

use flashloom_buffer::SlotId;
use flashloom_nand::{Command, Event, Geometry, HostPage, Lpn, OperationKind};

use serde::{Deserialize, Serialize};

use crate::contents::{Contents, Stamps};

/// The stamp of a sector whose last write failed, until it is read.
const IN_DOUBT: u32 = (1 << 31) - 1;
/// The stamp of a sector whose data could not be read when its page was moved: no read may return it.
const LOST: u32 = IN_DOUBT - 1;

/// Operations that may be under way: on any drive so many, and on a large one two for each of its pages.
fn most_operations(geometry: &Geometry) -> u64 {
    (1 << 16) + 2 * geometry.total_pages()
}

/// Stamps and sectors that a saved drive has counted at most, so that a run can go on from there.
const MOST_STAMPS: u32 = 1 << 30;
const MOST_SECTORS: u64 = 1 << 60;

/// A page that the FTL was given to write, or was asked to read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Given {
    lpn: Lpn,
    mask: u32,
    stamps: Stamps,
}

/// The integrity oracle: follows the contents of every sector.
#[derive(Debug)]
pub struct Oracle {
    geometry: Geometry,
    logical: Contents,
    /// Stamps by slot of the buffer, up to the greatest slot ever used.
    slots: Vec<Stamps>,
    /// Pages given to the FTL and not yet programmed, by the number of the write.
    sent: BTreeMap<u32, Given>,
    asked: Option<Given>,
    flash: Contents,
    /// Stamps that a running program writes, or that a running read must return, by the number of the operation.
    carried: Vec<Stamps>,
    /// The program that waits for an operation, by the number of that operation.
    successors: Vec<Option<u32>>,
    /// What the read before a program has returned, by the number of the program.
    beneath: Vec<Option<Stamps>>,
    last_stamp: u32,
    sectors_checked: u64,
    violation: Option<String>,
}

flashloom_units::state! {
    Oracle {
        value slots, sent, asked, carried;
        list successors [most_operations(geometry)], beneath [most_operations(geometry)];
        value last_stamp, sectors_checked, violation;
        nested logical, flash;
        fixed geometry;
    }
}

impl Oracle {
    /// Makes an oracle for an erased array, a logical space that was never written, and an empty buffer.
    pub fn new(geometry: Geometry, logical_pages: u64) -> Self {
        Self {
            geometry,
            logical: Contents::new(logical_pages as usize),
            slots: Vec::new(),
            sent: BTreeMap::new(),
            asked: None,
            flash: Contents::new(geometry.total_pages() as usize),
            carried: Vec::new(),
            successors: Vec::new(),
            beneath: Vec::new(),
            last_stamp: 0,
            sectors_checked: 0,
            violation: None,
        }
    }

    /// Checks what was loaded for a drive that has served no request: nothing is in its buffer, and no page's contents
    /// are those of another.
    pub(crate) fn check_loaded(&self) -> Result<(), Violation> {
        if !self.slots.is_empty() || self.asked.is_some() {
            return Err(Violation::new("verification: pages are in the buffer of a drive that has served nothing"));
        }
        // A page that a worn-out drive did not take is sent for ever; none of these is looked at again.
        let most = most_operations(&self.geometry);
        if let Some(program) = self.successors.iter().flatten().find(|&&program| u64::from(program) >= most) {
            return Err(violation!("verification: program {program} waits for a read, of {most} operations"));
        }
        if self.last_stamp > MOST_STAMPS || self.sectors_checked > MOST_SECTORS {
            return Err(violation!("verification: {} pages were written to age a drive", self.last_stamp));
        }
        self.logical.check()?;
        self.flash.check()
    }

    /// Number of sectors compared in reads so far.
    pub fn sectors_checked(&self) -> u64 {
        self.sectors_checked
    }

    /// Number of page writes by the host so far; a write of several pages counts once for each.
    pub fn writes(&self) -> u32 {
        self.last_stamp
    }

    /// The first violation, in words; none so far if there was none.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    fn reject(&mut self, what: impl FnOnce() -> String) {
        self.violation.get_or_insert_with(what);
    }

    fn slot(&mut self, slot: SlotId) -> &mut Stamps {
        at(&mut self.slots, slot.0)
    }

    /// Gives the sectors in the mask a new stamp, which reads of them must return from now on, and returns it.
    fn stamp(&mut self, lpn: Lpn, mask: u32) -> u32 {
        assert!(self.last_stamp < LOST - 1, "a verified run is limited to 2^31 page writes");
        self.last_stamp += 1;
        self.logical.stamp(lpn.at(), mask, self.last_stamp, self.geometry.sectors_per_page());
        self.last_stamp
    }

    fn compare(&mut self, lpn: Lpn, mask: u32, found: &Stamps, expected: &Stamps, place: impl FnOnce() -> String) {
        self.sectors_checked += u64::from(mask.count_ones());
        let masked = |sector: usize| mask >> sector & 1 == 1;
        let in_doubt = |sector: usize| found[sector] == IN_DOUBT || expected[sector] == IN_DOUBT;
        let wrong = (0..32).find(|&sector| masked(sector) && found[sector] != expected[sector] && !in_doubt(sector));
        for sector in (0..32).filter(|&sector| masked(sector) && expected[sector] == IN_DOUBT) {
            // Written again since the read was asked for, or read by another, it is in doubt no more.
            if self.logical.get(lpn.at())[sector] == IN_DOUBT {
                self.logical.stamp(lpn.at(), 1 << sector, found[sector], self.geometry.sectors_per_page());
            }
        }
        if let Some(sector) = wrong {
            let (found, expected) = (found[sector], expected[sector]);
            self.reject(|| format!("sector {sector} of {} holds version {found}, not {expected}", place()));
        }
    }
}

/// Reports of the host's requests and of the buffer's decisions.
impl Oracle {
    /// The host wrote sectors of a page, and they went to the FTL without a buffer.
    pub fn written_through(&mut self, page: HostPage) {
        let stamp = self.stamp(page.lpn, page.mask);
        self.send(page, [stamp; 32]);
    }

    fn send(&mut self, HostPage { lpn, mask, write }: HostPage, stamps: Stamps) {
        self.sent.insert(write, Given { lpn, mask, stamps });
    }

    /// The host wrote the sectors in the mask, and they went to a slot of the buffer. The page's other sectors are
    /// copied from the slot `taken_over`, if there is one.
    pub fn stored(&mut self, lpn: Lpn, mask: u32, slot: SlotId, taken_over: Option<SlotId>) {
        if let Some(old) = taken_over {
            *self.slot(slot) = *self.slot(old);
        }
        let stamp = self.stamp(lpn, mask);
        overlay(self.slot(slot), mask, &[stamp; 32]);
    }

    /// The FTL is asked for the sectors in the mask, or for the whole page if the buffer caches it in a slot. The data
    /// is checked when the read ends; the slot is taken to hold what the read must return.
    pub fn read_flash(&mut self, lpn: Lpn, mask: u32, slot: Option<SlotId>) {
        self.check_answered();
        let stamps = self.logical.get(lpn.at());
        if let Some(slot) = slot {
            *self.slot(slot) = stamps;
        }
        let mask = slot.map_or(mask, |_| self.geometry.full_mask());
        self.asked = Some(Given { lpn, mask, stamps });
    }

    /// Rejects a read that was asked of the FTL and that it never emitted.
    fn check_answered(&mut self) {
        if let Some(Given { lpn, .. }) = self.asked {
            self.reject(|| format!("logical page {} was asked for, and not read", lpn.0));
        }
    }

    /// The buffer evicted a slot to the FTL; without a slot, padding whose sectors the FTL all takes from the old page.
    pub fn evicted(&mut self, page: HostPage, slot: Option<SlotId>) {
        let stamps = slot.map_or([0; 32], |slot| *self.slot(slot));
        self.send(page, stamps);
    }

    /// The buffer served a read of the sectors in the mask from a slot.
    pub fn read_buffered(&mut self, lpn: Lpn, mask: u32, slot: SlotId) {
        let (found, expected) = (*self.slot(slot), self.logical.get(lpn.at()));
        self.compare(lpn, mask, &found, &expected, || format!("the write buffer, logical page {}", lpn.0));
    }

    /// The host read the sectors in the mask of an unmapped logical page: they must never have been written.
    pub fn read_unmapped(&mut self, lpn: Lpn, mask: u32) {
        let expected = self.logical.get(lpn.at());
        self.compare(lpn, mask, &[0; 32], &expected, || format!("logical page {}, which is not mapped", lpn.0));
    }

    /// The host discarded a whole page: reads return nothing until it is written again.
    pub fn discarded(&mut self, lpn: Lpn) {
        self.logical.clear(lpn.at());
    }

    /// A write of the sectors in the mask has failed: they hold the old data or the new. Whatever the next read of a
    /// sector returns, later reads must return too.
    pub fn write_failed(&mut self, lpn: Lpn, mask: u32) {
        self.logical.stamp(lpn.at(), mask, IN_DOUBT, self.geometry.sectors_per_page());
    }
}

/// Events of the flash array.
impl Oracle {
    /// Follows an event of the array.
    pub fn flash(&mut self, event: &Event) {
        match event {
            Event::Issued(command, after) => {
                if let (OperationKind::Program, Some(after)) = (command.kind, after) {
                    *at(&mut self.successors, *after) = Some(command.number);
                }
                if command.lpn.is_some() {
                    self.carry(command);
                }
            }
            Event::Ended { command, failed } => match command.kind {
                OperationKind::Read => self.end_read(command, *failed),
                OperationKind::Program | OperationKind::Copyback => self.end_program(command, *failed),
                OperationKind::Erase => self.end_erase(command),
                OperationKind::Hold => {}
            },
            _ => {}
        }
    }

    fn carry(&mut self, command: &Command) {
        let Command { number, kind, ppn, lpn, write, mask, .. } = *command;
        let is_read = kind == OperationKind::Read;
        let given = if is_read { self.asked.take() } else { self.sent.remove(&write) };
        let is_given = |given: &Given| given.lpn == lpn && given.mask & !mask == 0 && (is_read || given.mask == mask);
        let Some(Given { stamps, .. }) = given.filter(is_given) else {
            let what = if is_read { "read" } else { "program" };
            return self.reject(|| {
                format!("{what} of physical page {} for logical page {}, which was not asked for", ppn.0, lpn.0)
            });
        };
        *at(&mut self.carried, number) = stamps;
    }

    /// A read that fails returns nothing to the host, and nothing to the program behind it.
    fn end_read(&mut self, command: &Command, failed: bool) {
        let Command { number, ppn, lpn, mask, .. } = *command;
        let found = if failed { [LOST; 32] } else { self.flash.get(ppn.at()) };
        if lpn.is_some() && !failed {
            if let Some(sector) = (0..32).find(|&sector| mask >> sector & 1 == 1 && found[sector] == LOST) {
                self.reject(|| format!("sector {sector} of physical page {} was lost, and is returned", ppn.0));
            }
            let expected = *at(&mut self.carried, number);
            self.compare(lpn, mask, &found, &expected, || format!("physical page {}", ppn.0));
        }
        self.hand_on(number, Some(found));
    }

    /// What an operation has read, or could not write, goes into the program that waits for it.
    fn hand_on(&mut self, number: u32, stamps: Option<Stamps>) {
        if let Some(program) = at(&mut self.successors, number).take() {
            *at(&mut self.beneath, program) = stamps;
        }
    }

    fn end_program(&mut self, command: &Command, failed: bool) {
        let Command { number, ppn, from, lpn, mask, .. } = *command;
        let read = at(&mut self.beneath, number).take();
        if failed {
            self.hand_on(number, read);
            return self.flash.set(ppn.at(), &[0; 32], self.geometry.sectors_per_page());
        }
        let mut stamps = match read {
            _ if from.is_none() => [0; 32],
            Some(read) => read,
            None => self.flash.get(from.at()),
        };
        if lpn.is_some() {
            overlay(&mut stamps, mask, at(&mut self.carried, number));
        }
        self.flash.set(ppn.at(), &stamps, self.geometry.sectors_per_page());
    }

    fn end_erase(&mut self, command: &Command) {
        (0..self.geometry.pages).for_each(|page| self.flash.clear(self.geometry.page(command.block, page).at()));
    }
}

/// Entry of a table that grows to the greatest number ever used.
fn at<T: Clone + Default>(table: &mut Vec<T>, number: u32) -> &mut T {
    table.resize(table.len().max(number as usize + 1), T::default());
    &mut table[number as usize]
}

/// Replaces the stamps of the sectors in the mask.
fn overlay(stamps: &mut Stamps, mask: u32, by: &Stamps) {
    (0..32).filter(|sector| mask >> sector & 1 == 1).for_each(|sector| stamps[sector] = by[sector]);
}

#[cfg(test)]
mod tests {
    use flashloom_nand::{BlockId, DieId, Nand, Origin, Ppn, Shape, Urgency};

    use super::*;

    fn command(kind: OperationKind, number: u32, ppn: u32, from: Ppn, page: HostPage) -> Command {
        let (block, die, origin, urgency) = (BlockId(0), DieId(0), Origin::Host, Urgency::Needed);
        let HostPage { lpn, mask, write } = page;
        let (ppn, tag, in_other_mode) = (Ppn(ppn), Nand::NO_TAG, false);
        Command { number, kind, ppn, block, die, from, lpn, write, mask, origin, urgency, tag, in_other_mode }
    }

    /// A page of two sectors is written, and moved by a copy whose read fails or not; the host reads those sectors of
    /// the copy, and the array says whether that has failed.
    fn violation(is_source_lost: bool, mask: u32, has_failed: bool) -> Option<String> {
        let shape = Shape { channels: 1, ways: 1, dies: 1, planes: 1, blocks: 2, pages: 4, page_bytes: 1_024 };
        let mut oracle = Oracle::new(Geometry::new(shape), 1);
        let page = HostPage { lpn: Lpn(0), mask: 0b11, write: 0 };
        let nothing = HostPage { lpn: Lpn::NONE, ..page };
        let at_once = |oracle: &mut Oracle, command: Command, after, failed| {
            oracle.flash(&Event::Issued(command, after));
            oracle.flash(&Event::Ended { command, failed });
        };
        oracle.written_through(page);
        at_once(&mut oracle, command(OperationKind::Program, 0, 0, Ppn::NONE, page), None, false);
        let (read, copy) = (
            command(OperationKind::Read, 1, 0, Ppn::NONE, nothing),
            command(OperationKind::Program, 2, 1, Ppn(0), HostPage { mask: 0, ..nothing }),
        );
        oracle.flash(&Event::Issued(read, None));
        oracle.flash(&Event::Issued(copy, Some(1)));
        oracle.flash(&Event::Ended { command: read, failed: is_source_lost });
        oracle.flash(&Event::Ended { command: copy, failed: false });
        oracle.read_flash(Lpn(0), mask, None);
        let of_host = command(OperationKind::Read, 3, 1, Ppn::NONE, HostPage { mask, ..page });
        at_once(&mut oracle, of_host, None, has_failed);
        oracle.violation().map(str::to_owned)
    }

    #[test]
    fn a_read_that_returns_what_was_lost_when_it_was_moved_is_found() {
        assert_eq!(violation(false, 0b11, false), None);
        assert_eq!(violation(true, 0b11, true), None, "the array knows of it");
        for mask in [0b01, 0b11] {
            let found = violation(true, mask, false).expect("an array that forgets what it could not read");
            assert!(found.contains("sector 0 of physical page 1 was lost"), "{found}");
        }
    }
}
