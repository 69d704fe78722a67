//! The integrity oracle: every read returns what was written.
//!
//! It gives every host write of a page a new stamp, keeps for each logical sector the stamp that a read must return,
//! carries stamps with the data through buffer and flash, and compares them when a read ends. A stamp belongs to one
//! logical page and one write, so data of another page or an older version is found.
//!
//! ```text
//! host write -> logical (what a read must return)
//!            -> slots (the buffer) -> sent (what the FTL was given, by the number of the write) -> carried -> flash
//! host read  <- slots, or flash, compared with what logical held when the read was asked for
//! ```
//!
//! What the FTL does with what it is given is held against that: every write is programmed once, as the page and the
//! sectors that it was given as, and a read that it was asked for is emitted at once, for that page.

use std::collections::BTreeMap;

use flashloom_buffer::SlotId;
use flashloom_nand::{Command, Event, Geometry, HostPage, OperationKind};
use flashloom_units::{Lpn, Ppn};

use serde::{Deserialize, Serialize};

use crate::contents::{Contents, Stamps};

/// The stamp of a sector whose last write failed, until it is read.
const IN_DOUBT: u32 = (1 << 31) - 1;

/// A page that the FTL was given to write, or was asked to read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Given {
    lpn: Lpn,
    mask: u32,
    stamps: Stamps,
}

/// Follows every sector's contents.
#[derive(Debug)]
pub struct Oracle {
    geometry: Geometry,
    logical: Contents,
    /// By slot of the buffer, up to the greatest that was ever used.
    slots: Vec<Stamps>,
    /// By the number of the write, until it is programmed.
    sent: BTreeMap<u32, Given>,
    asked: Option<Given>,
    flash: Contents,
    /// By the number of an operation that runs: what its program writes, or what its read must return.
    carried: Vec<Stamps>,
    last_stamp: u32,
    sectors_checked: u64,
    violation: Option<String>,
}

flashloom_units::state! {
    Oracle {
        value slots, sent, asked, carried, last_stamp, sectors_checked, violation;
        nested logical, flash;
        fixed geometry;
    }
}

impl Oracle {
    /// For an erased array under a logical space that was never written, and an empty buffer.
    pub fn new(geometry: Geometry, logical_pages: u64) -> Self {
        Self {
            geometry,
            logical: Contents::new(logical_pages as usize),
            slots: Vec::new(),
            sent: BTreeMap::new(),
            asked: None,
            flash: Contents::new(geometry.total_pages() as usize),
            carried: Vec::new(),
            last_stamp: 0,
            sectors_checked: 0,
            violation: None,
        }
    }

    /// Host sectors compared so far.
    pub fn sectors_checked(&self) -> u64 {
        self.sectors_checked
    }

    /// Writes of a page by the host so far.
    pub fn writes(&self) -> u32 {
        self.last_stamp
    }

    /// The first violation, in words.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    fn reject(&mut self, what: impl FnOnce() -> String) {
        if self.violation.is_none() {
            self.violation = Some(what());
        }
    }

    fn slot(&mut self, slot: SlotId) -> &mut Stamps {
        at(&mut self.slots, slot.0)
    }

    /// The sectors in the mask get a new stamp, which reads of them must return from now on.
    fn stamp(&mut self, lpn: Lpn, mask: u32) -> u32 {
        assert!(self.last_stamp < IN_DOUBT - 1, "a verified run is limited to 2^31 page writes");
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

/// The host and the buffer.
impl Oracle {
    /// The host writes sectors of a page, and they go to the FTL.
    pub fn written_through(&mut self, page: HostPage) {
        let stamp = self.stamp(page.lpn, page.mask);
        self.send(page, [stamp; 32]);
    }

    fn send(&mut self, HostPage { lpn, mask, write }: HostPage, stamps: Stamps) {
        self.sent.insert(write, Given { lpn, mask, stamps });
    }

    /// The host writes the sectors in the mask of a page, and they go to a slot of the buffer; the others of the page
    /// are taken over from another slot, if there is one.
    pub fn stored(&mut self, lpn: Lpn, mask: u32, slot: SlotId, taken_over: Option<SlotId>) {
        if let Some(old) = taken_over {
            *self.slot(slot) = *self.slot(old);
        }
        let stamp = self.stamp(lpn, mask);
        overlay(self.slot(slot), mask, &[stamp; 32]);
    }

    /// The FTL is asked for sectors of a page, or for all of it where it is kept in a slot: the slot will hold what the
    /// read must return, and that is checked when it ends.
    pub fn read_flash(&mut self, lpn: Lpn, mask: u32, slot: Option<SlotId>) {
        self.check_answered();
        let stamps = self.logical.get(lpn.at());
        if let Some(slot) = slot {
            *self.slot(slot) = stamps;
        }
        let mask = slot.map_or(mask, |_| self.geometry.full_mask());
        self.asked = Some(Given { lpn, mask, stamps });
    }

    /// Nothing that the FTL was asked for is left.
    fn check_answered(&mut self) {
        if let Some(Given { lpn, .. }) = self.asked {
            self.reject(|| format!("logical page {} was asked for, and not read", lpn.0));
        }
    }

    /// What a slot holds goes to the FTL, or padding, of which the FTL has every sector.
    pub fn evicted(&mut self, page: HostPage, slot: Option<SlotId>) {
        let stamps = slot.map_or([0; 32], |slot| *self.slot(slot));
        self.send(page, stamps);
    }

    /// The buffer returns the sectors in the mask.
    pub fn read_buffered(&mut self, lpn: Lpn, mask: u32, slot: SlotId) {
        let (found, expected) = (*self.slot(slot), self.logical.get(lpn.at()));
        self.compare(lpn, mask, &found, &expected, || format!("the write buffer, logical page {}", lpn.0));
    }

    /// The sectors in the mask of a logical page that nothing is mapped to: they must never have been written.
    pub fn read_unmapped(&mut self, lpn: Lpn, mask: u32) {
        let expected = self.logical.get(lpn.at());
        self.compare(lpn, mask, &[0; 32], &expected, || format!("logical page {}, which is not mapped", lpn.0));
    }

    /// The host discards a whole page: reads return nothing until it is written again.
    pub fn discarded(&mut self, lpn: Lpn) {
        self.logical.clear(lpn.at());
    }

    /// A write of the sectors in the mask has failed: they hold what they held before, or what was to be written. What
    /// the next read of a sector returns is what it holds from then on.
    pub fn write_failed(&mut self, lpn: Lpn, mask: u32) {
        self.logical.stamp(lpn.at(), mask, IN_DOUBT, self.geometry.sectors_per_page());
    }
}

/// Flash.
impl Oracle {
    /// Something happened in the array.
    pub fn flash(&mut self, event: &Event) {
        match event {
            Event::Issued(command, _) if command.lpn.is_some() => self.carry(command),
            Event::Ended { command, failed } => match command.kind {
                OperationKind::Read => self.end_read(command),
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

    fn end_read(&mut self, command: &Command) {
        let Command { number, ppn, lpn, mask, .. } = *command;
        if lpn.is_some() {
            let (found, expected) = (self.flash.get(ppn.at()), *at(&mut self.carried, number));
            self.compare(lpn, mask, &found, &expected, || format!("physical page {}", ppn.0));
        }
    }

    fn end_program(&mut self, command: &Command, failed: bool) {
        let Command { number, ppn, from, lpn, mask, .. } = *command;
        let beneath = |from: Ppn| if from.is_some() { self.flash.get(from.at()) } else { [0; 32] };
        let mut stamps = if failed { [0; 32] } else { beneath(from) };
        if lpn.is_some() && !failed {
            overlay(&mut stamps, mask, at(&mut self.carried, number));
        }
        self.flash.set(ppn.at(), &stamps, self.geometry.sectors_per_page());
    }

    fn end_erase(&mut self, command: &Command) {
        (0..self.geometry.pages).for_each(|page| self.flash.clear(self.geometry.page(command.block, page).at()));
    }
}

/// An entry of a table that grows to the greatest number ever used.
fn at(table: &mut Vec<Stamps>, number: u32) -> &mut Stamps {
    table.resize(table.len().max(number as usize + 1), [0; 32]);
    &mut table[number as usize]
}

/// Replaces the stamps of the sectors in the mask.
fn overlay(stamps: &mut Stamps, mask: u32, by: &Stamps) {
    (0..32).filter(|sector| mask >> sector & 1 == 1).for_each(|sector| stamps[sector] = by[sector]);
}
