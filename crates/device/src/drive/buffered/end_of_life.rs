//! The buffered path at the drive's end of life, when flash refuses pages.

use flashloom_buffer::SlotId;
use flashloom_units::Ns;

use super::Buffered;
use crate::drive::flash::Flash;
use crate::drive::interface::HostInterface;
use crate::status::{Reason, Status};

impl Buffered {
    /// Called when flash refuses the page of a slot. The page stays in the buffer, and a write that waits for it fails.
    /// Returns its eviction, which never ends.
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

    /// Stops evictions. Fails writes that wait for slots, and flushes that wait for a refused eviction, of which
    /// the given one is the first; other flushes keep waiting.
    pub(in crate::drive) fn freeze(
        &mut self,
        now: Ns,
        first_refused: u64,
        interface: &mut HostInterface,
        flash: &mut Flash,
    ) {
        self.is_frozen = true;
        // A stalled write ends when its pages that are on their way to flash are programmed.
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

    /// True if the buffer has pages that will never be on flash, once evictions have stopped.
    pub(in crate::drive) fn holds_unstorable(&self) -> bool {
        self.refused_pages > 0 || self.buffer.dirty() > 0
    }
}
