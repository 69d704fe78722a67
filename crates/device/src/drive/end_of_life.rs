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

use flashloom_units::Ns;
use flashloom_workload::Op;

use super::Drive;
use super::buffered::Buffered;
use super::data_path::DataPath;
use super::waiter::Waiter;
use crate::event::DriveEvent;

impl Drive {
    /// Whether a page could not be stored because too many blocks have failed. The drive is then to be told so, by
    /// [`Self::end_life`], before it gets another command.
    #[inline]
    pub(crate) fn is_worn_out(&self) -> bool {
        self.flash.nand().can_fail() && self.flash.ftl().is_worn_out()
    }

    /// The drive is worn out: from now on it can only be read. Fails what it was at and cannot do any more.
    #[cold]
    pub(crate) fn end_life(&mut self, now: Ns) {
        let Self { interface, path, flash, is_read_only } = self;
        *is_read_only = true;
        let mut first_refused = u64::MAX;
        while let Some((lpn, mask, waiter)) = flash.take_refused() {
            if let (Waiter::Programmed(slot), DataPath::Buffered(buffered)) = (waiter, &mut *path) {
                first_refused = first_refused.min(buffered.page_refused(now, slot, interface, flash));
                continue;
            }
            // Nothing but flash could hold the page: there is no buffer, or the drive was only being aged.
            flash.tell(|| DriveEvent::WriteFailed { lpn, mask });
            if let Waiter::Command(id) = waiter {
                interface.page_refused(now, id, false, flash);
            }
        }
        if let DataPath::Buffered(buffered) = path {
            buffered.freeze(now, first_refused, interface, flash);
        }
    }

    /// Whether a drive that can only be read refuses a command.
    pub(super) fn refuses(&self, op: Op) -> bool {
        match op {
            Op::Read => false,
            Op::Flush => self.path.buffered().is_some_and(Buffered::holds_unstorable),
            _ => true,
        }
    }

    /// Pages that the buffer holds or has evicted, and flash does not have.
    pub(crate) fn unwritten_pages(&self) -> u32 {
        self.path.buffered().map_or(0, Buffered::unwritten)
    }
}
