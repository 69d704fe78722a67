//! The direct path, of a drive without a write buffer: every page of a command is one access to the FTL.

use flashloom_units::Ns;
use flashloom_workload::Op;

use super::commands::CommandId;
use super::flash::Flash;
use super::interface::HostInterface;
use super::waiter::Waiter;
use crate::event::DriveEvent;

/// Writes the pages of a command together; it is complete when all are programmed.
#[inline(always)] // The command that arrives is the only place where it is often called.
pub(super) fn write(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    for (lpn, mask) in interface.commands.await_pages(id) {
        flash.add_write(lpn, mask, Waiter::Command(id), |page| DriveEvent::WrittenThrough { command: Some(id), page });
    }
    flash.write_added(now);
}

/// Reads the pages of a command; those that nothing is stored for are ready at once.
pub(super) fn read(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    let mut ready = 0;
    for (lpn, mask) in interface.commands.await_pages(id) {
        if flash.ftl().is_mapped(lpn) {
            flash.read(now, id, lpn, mask, None);
        } else {
            interface.read_unmapped(lpn, mask, flash);
            ready += 1;
        }
    }
    (0..ready).for_each(|_| interface.page_done(now, id, flash));
}

/// Goes on at once: no page is kept back from flash.
pub(super) fn flush(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    flash.tell(|| DriveEvent::Flushed { command: id });
    match interface.commands[id].op {
        Op::Write => write(now, id, interface, flash),
        _ => interface.finish(now, id, flash),
    }
}

/// Forgets the whole pages of a command.
pub(super) fn discard(now: Ns, id: CommandId, interface: &mut HostInterface, flash: &mut Flash) {
    interface.commands.whole_pages(id).for_each(|lpn| flash.discard(now, lpn));
    interface.finish(now, id, flash);
}
