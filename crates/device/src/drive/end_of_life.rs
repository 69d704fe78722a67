//! The drive's end of life: outstanding commands that cannot be finished fail, and the drive becomes read-only.
//!
//! ```text
//! outstanding commands:  a write fails if one of its pages was refused, or still waits for a slot;
//!                        a flush fails if a page that it waits for was refused; all others go on
//! later commands:        reads are served from buffer and flash; writes and discards fail; a flush fails while the
//!                        buffer holds a page that will never be on flash
//! ```
//!
//! A refused page stays in the buffer, in the state of a page on its way to flash, and is read from there. Evictions
//! stop, so no other page is refused.

use flashloom_units::Ns;
use flashloom_workload::Op;

use super::Drive;
use super::buffered::Buffered;
use super::data_path::DataPath;
use super::waiter::Waiter;
use crate::event::DriveEvent;

impl Drive {
    /// True if flash refused a page because too many blocks have failed. The caller must then call [`Self::end_life`]
    /// before the next command.
    #[inline]
    pub(crate) fn is_worn_out(&self) -> bool {
        self.flash.nand.can_fail() && self.flash.ftl.is_worn_out()
    }

    /// Makes the worn-out drive read-only, and fails outstanding commands that it cannot finish.
    #[cold]
    pub(crate) fn end_life(&mut self, now: Ns) {
        let Self { interface, path, flash, is_read_only } = self;
        *is_read_only = true;
        flash.cache.iter_mut().for_each(|cache| cache.switch_off());
        let mut first_refused = u64::MAX;
        while let Some((lpn, mask, waiter)) = flash.take_refused() {
            if let (Waiter::Programmed(slot), DataPath::Buffered(buffered)) = (waiter, &mut *path) {
                first_refused = first_refused.min(buffered.page_refused(now, slot, interface, flash));
                continue;
            }
            // Without a buffer, or while the drive is aged, no slot holds the refused page.
            flash.tell(|| DriveEvent::WriteFailed { lpn, mask });
            if let Waiter::Command(id) = waiter {
                interface.page_refused(now, id, false, flash);
            }
        }
        if let DataPath::Buffered(buffered) = path {
            buffered.freeze(now, first_refused, interface, flash);
        }
        self.fetch(now);
    }

    /// True if a read-only drive refuses the command.
    pub(super) fn refuses(&self, op: Op) -> bool {
        match op {
            Op::Read => false,
            Op::Flush => self.path.buffered().is_some_and(Buffered::holds_unstorable),
            _ => true,
        }
    }

    /// Pages in the buffer, or evicted from it, that flash does not have.
    pub(crate) fn unwritten_pages(&self) -> u32 {
        self.path.buffered().map_or(0, Buffered::unwritten)
    }
}
