//! What becomes of the buffered path when flash can store no page any more.

use flashloom_buffer::SlotId;
use flashloom_units::Ns;

use super::Buffered;
use crate::drive::flash::Flash;
use crate::drive::interface::HostInterface;
use crate::status::{Reason, Status};

impl Buffered {
    /// The page of a slot was refused: it stays in the buffer, and a write that waits for it fails. Returns the
    /// eviction that never ends.
    pub(in crate::drive) fn page_refused(
        &mut self,
        now: Ns,
        slot: SlotId,
        interface: &mut HostInterface,
        flash: &mut Flash,
    ) -> u64 {
        self.refused_pages += 1;
        if let Some(writer) = self.take_waiter(slot) {
            interface.page_refused(now, writer, self.stalls.contains(writer), flash);
        }
        self.durability.refused_eviction(slot)
    }

    /// Nothing is evicted any more. Writes that wait for slots fail, and so do flushes that wait for an eviction that
    /// was refused, of which the given one is the first; the others wait on.
    pub(in crate::drive) fn freeze(
        &mut self,
        now: Ns,
        first_refused: u64,
        interface: &mut HostInterface,
        flash: &mut Flash,
    ) {
        self.is_frozen = true;
        // A write that stalled ends when those of its pages that are on their way to flash are there.
        while let Some(id) = self.stalls.pop() {
            let command = &mut interface.commands[id];
            command.status = Status::Failed(Reason::EndOfLife);
            if command.pending == 0 {
                interface.finish(now, id, flash);
            }
        }
        while let Some(id) = self.durability.take_waiting_for(first_refused) {
            interface.fail(now, id, Reason::EndOfLife, flash);
        }
    }

    /// Whether there are pages that flash does not have and never will, once the path is frozen.
    pub(in crate::drive) fn holds_unstorable(&self) -> bool {
        self.refused_pages > 0 || self.buffer.dirty() > 0
    }
}
