//! The direct path of a drive without a write buffer: each page of a command is one access to the FTL.

use flashloom_ftl::PageHints;
use flashloom_units::Ns;
use flashloom_workload::Op;

use super::commands::CommandId;
use super::flash::Flash;
use super::interface::HostInterface;
use super::waiter::Waiter;
use crate::event::DriveEvent;

/// Writes the pages of a command in one call of the FTL; the command completes when all are programmed.
#[inline(always)] // One hot caller, the arrival of a command.
pub(super) fn write(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    let hints = PageHints::of_request(interface.commands.page_count(id));
    for (lpn, mask) in interface.commands.await_pages(id) {
        let written = |page| DriveEvent::WrittenThrough { command: Some(id), page };
        flash.add_write(lpn, mask, hints, Waiter::Command(id), written);
    }
    flash.write_added(now);
}

/// Reads the pages of a command; unmapped pages are ready at once.
pub(super) fn read(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    let mut ready = 0;
    for (lpn, mask) in interface.commands.await_pages(id) {
        if let Some(is_ready) = flash.read_cached(id, lpn, mask) {
            ready += u32::from(is_ready);
        } else if flash.ftl.is_mapped(lpn) {
            flash.read(now, id, lpn, mask, None);
        } else {
            interface.read_unmapped(id, lpn, mask, flash);
            ready += 1;
        }
    }
    (0..ready).for_each(|_| interface.page_done(now, id, flash));
}

/// Completes a flush at once, because no page is buffered.
pub(super) fn flush(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    flash.tell(|| DriveEvent::Flushed { command: id });
    match interface.commands[id].op {
        Op::Write => write(now, id, interface, flash),
        _ => interface.finish(now, id, flash),
    }
}

/// Discards the pages that a command covers whole.
pub(super) fn discard(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    interface.commands.whole_pages(id).for_each(|lpn| flash.discard(now, lpn));
    interface.finish(now, id, flash);
}
