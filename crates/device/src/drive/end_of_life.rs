//! A drive that is worn out: what it was at fails, and from then on it can only be read.
//!
//! ```text
//! held at that moment:  a write fails if one of its pages was refused, or still waited for room in the buffer;
//!                       a flush fails if a page that it waits for was refused; everything else goes on
//! from then on:         reads are served, from buffer and flash; writes and discards fail; a flush fails while the
//!                       buffer holds a page that flash does not have and that is not on its way there
//! ```
//!
//! A page that was refused stays in the buffer, on its way to flash for ever, and is read from there. Nothing is
//! evicted any more, so that no other page is ever refused.

use flashloom_buffer::SlotId;
use flashloom_nand::{Nand, Refused};
use flashloom_units::{NO_INDEX, Ns};
use flashloom_workload::Op;
use serde::{Deserialize, Serialize};

use super::{Drive, SLOT_TAG};
use crate::event::DriveEvent;
use crate::status::Reason;

/// What the drive knows of its end.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct End {
    /// Whether it can only be read.
    pub(super) is_read_only: bool,
    /// Pages of the buffer whose program was refused.
    pub(super) refused_pages: u32,
}

impl Drive {
    /// Whether a page could not be stored because too many blocks have failed. The drive is then to be told so, by
    /// [`Self::end_life`], before it gets another command.
    #[inline]
    pub(crate) fn is_worn_out(&self) -> bool {
        self.nand.can_fail() && self.ftl.is_worn_out()
    }

    /// The drive is worn out: from now on it can only be read. Fails what it was at and cannot do any more.
    #[cold]
    pub(crate) fn end_life(&mut self, now: Ns) {
        self.end.is_read_only = true;
        self.nand.set_now(now);
        let mut first_refused = u64::MAX;
        while let Some(Refused { lpn, mask, tag }) = self.nand.take_refused() {
            if tag != Nand::NO_TAG && tag & SLOT_TAG != 0 {
                let slot = SlotId(tag & !SLOT_TAG);
                first_refused = first_refused.min(self.slot_eviction[slot.0 as usize]);
                self.end.refused_pages += 1;
                let waiter = std::mem::replace(&mut self.slot_waiter[slot.0 as usize], NO_INDEX);
                if waiter != NO_INDEX {
                    self.page_refused(now, waiter);
                }
                continue;
            }
            // Nothing but flash could hold the page: there is no buffer, or the drive was only being aged.
            self.tell(|| DriveEvent::WriteFailed { lpn, mask });
            if tag != Nand::NO_TAG {
                self.page_refused(now, tag);
            }
        }
        self.fail_stalled(now);
        self.fail_flushes(now, first_refused);
    }

    /// A page that a write waits for will never be in flash.
    fn page_refused(&mut self, now: Ns, index: u32) {
        let command = &mut self.commands[index as usize];
        command.failed = Some(Reason::EndOfLife);
        command.pending -= 1;
        // One that waits for room besides fails with the others that do.
        if command.pending == 0 && !self.stalled.contains(&index) {
            self.finish(now, index);
        }
    }

    /// No slot becomes free for the writes that wait for one: they fail when those of their pages that are on their way
    /// to flash are there.
    fn fail_stalled(&mut self, now: Ns) {
        while let Some(index) = self.stalled.pop_front() {
            let command = &mut self.commands[index as usize];
            (command.failed, command.lacking) = (Some(Reason::EndOfLife), 0);
            if command.pending == 0 {
                self.finish(now, index);
            }
        }
        self.waiting_pages = 0;
    }

    /// Flushes that wait for an eviction that was refused fail; the others wait on.
    fn fail_flushes(&mut self, now: Ns, first_refused: u64) {
        while let Some(&(upto, index)) = self.flushes.back()
            && upto > first_refused
        {
            self.flushes.pop_back();
            self.fail(now, index, Reason::EndOfLife);
        }
    }

    /// Whether there are pages that flash does not have and never will.
    fn holds_unstorable(&self) -> bool {
        self.end.refused_pages > 0 || self.buffer.as_ref().is_some_and(|buffer| buffer.dirty() > 0)
    }

    /// Whether a drive that can only be read refuses a command.
    pub(super) fn refuses(&self, op: Op) -> bool {
        match op {
            Op::Read => false,
            Op::Write | Op::Discard => true,
            Op::Flush => self.holds_unstorable(),
        }
    }

    /// Ends a command that nothing is under way for.
    pub(super) fn fail(&mut self, now: Ns, index: u32, reason: Reason) {
        self.commands[index as usize].failed = Some(reason);
        self.finish(now, index);
    }

    /// Pages that the buffer holds or has evicted, and flash does not have.
    pub(crate) fn unwritten_pages(&self) -> u32 {
        self.buffer.as_ref().map_or(0, |buffer| buffer.dirty() + buffer.evicting())
    }
}
