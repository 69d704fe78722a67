//! The drive: commands from the host become page accesses of the write buffer, the FTL and the array.
//!
//! ```text
//! host ── HostInterface ──────────────── DataPath ───────────────────── Flash
//!         command table, controller,     Buffered: write buffer,        FTL and array
//!         link                           stalled writes, durability
//!                                        or Direct: none of these
//! ```
//!
//! - A read takes from the buffer what it holds and the rest from flash; each page crosses the link when it is there,
//!   and the command is complete when all have. With an order that keeps what is read, a page of which the buffer holds
//!   nothing is read whole, into a slot if one is free or clean.
//! - A write crosses the link, then each of its pages takes a slot of the buffer; it is complete when all have one.
//!   Writes that find the buffer full wait in order of arrival, and the rate policy decides what is evicted for them.
//!   Without a buffer a write is complete when its pages are programmed.
//! - With an order that pads its victims, the pages of a victim block that the buffer lacks are written with it, as
//!   writes of no sector at all: the FTL reads the page and writes it again, as it does beneath any partial write. Only
//!   pages that flash holds are padding; nobody waits for them.
//! - A flush evicts all dirty pages and waits until they, and those that were on their way before, are programmed. FUA
//!   evicts the pages of its write and waits for them. A write with preflush is a flush and then a write.
//! - A discard takes its whole pages out of buffer and map; sectors of pages that it covers in part keep their data,
//!   which the interface allows.
//! - A drive that is worn out can only be read (`drive/end_of_life.rs`).

mod buffered;
mod commands;
mod controller;
mod data_path;
mod direct;
mod end_of_life;
mod flash;
mod interface;
mod link;
mod paging;
mod setup;
mod state;
mod timers;
mod waiter;

use flashloom_buffer::BufferReport;
use flashloom_ftl::{Mapping, mapping};
use flashloom_host::{Dispatched, RequestId};
use flashloom_nand::{Lpn, Nand, NandParams, reliability};
use flashloom_units::{Figures, Ns, Refusal, Violation, violation};
use flashloom_verify::Verifier;
use flashloom_workload::Op;

use crate::event::{DriveEvent, Event};
use crate::status::{Reason, Status};
use buffered::Buffered;
pub use commands::CommandId;
use commands::Stage;
use data_path::DataPath;
use flash::Flash;
use interface::HostInterface;
pub use interface::InterfaceParams;
use paging::Paging;
pub use setup::DriveSetup;
pub use waiter::Waiter;

/// A drive in time: host interface, buffer, FTL and array.
pub struct Drive {
    interface: HostInterface,
    path: DataPath,
    flash: Flash,
    /// Whether its life was ended, after it was worn out: [`Self::end_life`].
    is_read_only: bool,
}

/// The way of a command, from top to bottom.
impl Drive {
    /// The host sends a command, which the controller takes its time for.
    #[inline]
    pub fn accept(&mut self, now: Ns, request: &Dispatched) {
        let id = self.interface.accept(request, &mut self.flash);
        if (!self.flash.is_timed() || !self.interface.enter_controller(now, id)) && self.commanded(now, id) {
            self.arrived(now, id);
            self.notify_waiters(now);
        }
    }

    /// The controller is done with a command: true if it begins at once, false while the data of a write crosses the
    /// link.
    #[inline(always)] // From both places: it is short, and a call of its own costs as much.
    fn commanded(&mut self, now: Ns, id: CommandId) -> bool {
        self.flash.tell(|| DriveEvent::Commanded { command: id });
        if self.interface.commands[id].op != Op::Write || !self.flash.is_timed() {
            return true;
        }
        // The map is looked up when the data is in the drive; until then the entry of its first page can be fetched.
        self.flash.ftl().prepare(self.interface.commands.first_page(id));
        self.interface.fetch_data(now, id);
        false
    }

    /// A command, with the data of a write, is in the drive.
    fn arrived(&mut self, now: Ns, id: CommandId) {
        self.flash.tell(|| DriveEvent::Arrived { command: id });
        let command = &mut self.interface.commands[id];
        command.stage = Stage::Transferring;
        let (op, has_preflush) = (command.op, command.has_preflush());
        if self.is_read_only && self.refuses(op) {
            return self.interface.fail(now, id, Reason::ReadOnly, &mut self.flash);
        }
        match op {
            Op::Read => self.read(now, id),
            Op::Discard => self.discard(now, id),
            Op::Flush => self.flush(now, id),
            Op::Write if has_preflush => self.flush(now, id),
            Op::Write => self.write(now, id),
        }
    }

    /// Each page of a write takes a slot of the buffer; with the last of them the write is complete. Without a buffer
    /// each is programmed at once, and the write is complete when all are: [`Self::notify_waiters`].
    #[inline]
    fn write(&mut self, now: Ns, id: CommandId) {
        let Self { interface, path, flash, .. } = self;
        match path {
            DataPath::Buffered(buffered) => buffered.write(now, id, interface, flash),
            DataPath::Direct => direct::write(now, id, interface, flash),
        }
    }

    /// Each page of a read is in the buffer, or is read from flash and goes on in [`Self::notify_waiters`]. Then it
    /// crosses the link; with the last of them the read is complete.
    fn read(&mut self, now: Ns, id: CommandId) {
        let Self { interface, path, flash, .. } = self;
        match path {
            DataPath::Buffered(buffered) => buffered.read(now, id, interface, flash),
            DataPath::Direct => direct::read(now, id, interface, flash),
        }
    }

    /// Flash operations have ended: a page of a command is done, or a slot of the buffer is free or filled.
    #[inline]
    fn notify_waiters(&mut self, now: Ns) {
        while let Some(waiter) = self.flash.take_completed() {
            self.notify(now, waiter);
        }
    }

    fn notify(&mut self, now: Ns, waiter: Waiter) {
        let Self { interface, path, flash, .. } = self;
        match (waiter, path) {
            (Waiter::Command(id), _) if flash.take_unreadable(waiter) => interface.page_unreadable(now, id, flash),
            (Waiter::Command(id), _) => interface.page_done(now, id, flash),
            (Waiter::Programmed(slot), DataPath::Buffered(buffered)) => {
                buffered.programmed(now, slot, interface, flash);
            }
            (Waiter::Filled(slot), DataPath::Buffered(buffered)) if flash.take_unreadable(waiter) => {
                buffered.not_filled(now, slot, interface, flash);
            }
            (Waiter::Filled(slot), DataPath::Buffered(buffered)) => buffered.filled(now, slot, interface, flash),
            (waiter, _) => unreachable!("{waiter:?} does not wait on this path"),
        }
    }

    /// All that was written before goes to flash, and then the command goes on; it goes on at once where there is no
    /// buffer, or flash has all that it held.
    fn flush(&mut self, now: Ns, id: CommandId) {
        let Self { interface, path, flash, .. } = self;
        match path {
            DataPath::Buffered(buffered) => buffered.flush(now, id, interface, flash),
            DataPath::Direct => direct::flush(now, id, interface, flash),
        }
    }

    /// Whole pages are forgotten.
    fn discard(&mut self, now: Ns, id: CommandId) {
        let Self { interface, path, flash, .. } = self;
        match path {
            DataPath::Buffered(buffered) => buffered.discard(now, id, interface, flash),
            DataPath::Direct => direct::discard(now, id, interface, flash),
        }
    }

    /// Whether there are commands that have ended.
    #[inline]
    pub fn has_completed(&self) -> bool {
        self.interface.has_completed()
    }

    /// Takes a command that has ended, and how.
    #[inline]
    pub fn take_completed(&mut self) -> Option<(RequestId, Status)> {
        self.interface.take_completed()
    }
}

/// Time: when the next thing happens in the drive, and making it happen.
impl Drive {
    /// From now on commands and flash operations take time.
    pub fn start_timing(&mut self, params: &NandParams) {
        self.flash.start_timing(params);
    }

    /// When the next event of the drive is due.
    #[inline]
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        let flash_ns = self.flash.next_event_ns().unwrap_or(Ns::MAX);
        Some(self.interface.next_event_ns().min(flash_ns)).filter(|&at| at != Ns::MAX)
    }

    /// Processes the next event, which must be due at `now`, and those that follow in the array until `until_ns`, as
    /// long as nobody but the array knows of them. Returns the time of the last one. The array goes first, so that what
    /// it frees at a moment serves what arrives at that moment.
    #[inline]
    pub fn step(&mut self, mut now: Ns, until_ns: Ns) -> Ns {
        let own_ns = self.interface.next_event_ns();
        // The array has been asked when its next event is due: only where the interface has one now is it asked again.
        if own_ns != now || self.flash.next_event_ns() == Some(now) {
            now = self.flash.step(now, own_ns.min(until_ns));
        } else if let Some(id) = self.interface.take_due(now) {
            match self.interface.commands[id].stage {
                Stage::Commanded => {
                    if self.commanded(now, id) {
                        self.arrived(now, id);
                    }
                }
                Stage::Arriving => self.arrived(now, id),
                Stage::Flushing | Stage::Transferring | Stage::Completing => {
                    self.interface.complete(id, &mut self.flash);
                }
            }
        }
        self.notify_waiters(now);
        now
    }

    /// One step of background work; false if nothing is left to do after it.
    pub fn idle_step(&mut self, now: Ns) -> bool {
        self.flash.idle_step(now)
    }

    /// Sends everything to flash that only the buffer holds; returns how many pages that is, none where the drive can
    /// only be read.
    pub(crate) fn drain_buffer(&mut self, now: Ns) -> u64 {
        let DataPath::Buffered(buffered) = &mut self.path else { return 0 };
        let pages = buffered.drain(now, &mut self.flash);
        self.notify_waiters(now);
        pages
    }
}

/// Making a drive, and bringing it into the state that it starts in.
impl Drive {
    /// A new drive, in counting mode until [`Self::start_timing`].
    ///
    /// # Errors
    /// A policy cannot be built for the drive, or does not go with the others.
    pub fn new(setup: &DriveSetup) -> Result<Self, Refusal> {
        let flash = setup.build_flash()?;
        let path = match setup.build_buffer()? {
            Some(buffer) => DataPath::Buffered(Buffered::new(buffer, &flash)),
            None => DataPath::Direct,
        };
        let paging = Paging::new(flash.nand().geometry().sectors_per_page());
        Ok(Self { interface: HostInterface::new(&setup.device.interface, paging), path, flash, is_read_only: false })
    }

    /// Writes whole pages to the FTL past the buffer, when the drive is aged, before time begins: together, or each as
    /// if it came alone, until the drive is worn out.
    pub(crate) fn write_past_buffer(&mut self, lpns: impl Iterator<Item = Lpn>, together: bool) {
        let mask = self.flash.nand().geometry().full_mask();
        for lpn in lpns {
            let written = |page| DriveEvent::WrittenThrough { command: None, page };
            self.flash.add_write(lpn, mask, Waiter::Nobody, written);
        }
        if together { self.flash.write_added(0) } else { self.flash.write_added_apart(0) }
    }

    /// Starts the counters of array and FTL again at zero; wear is kept.
    pub(crate) fn reset_flash_counts(&mut self) {
        self.flash.reset_counts();
    }

    /// Records events for [`Self::take_told`] from now on.
    pub(crate) fn watch(&mut self) {
        self.flash.watch();
    }

    /// The checks of a new drive.
    pub(crate) fn verifier(&mut self) -> Verifier {
        self.flash.verifier()
    }
}

/// What can be asked of a drive.
impl Drive {
    /// The array.
    pub fn nand(&self) -> &Nand {
        self.flash.nand()
    }

    /// The flash translation layer.
    pub fn ftl(&self) -> &dyn Mapping {
        self.flash.ftl()
    }

    /// The buffer's counters and its levels until now; nothing for a drive without a buffer.
    pub fn buffer_report(&self, now: Ns) -> Option<BufferReport> {
        self.path.buffered().map(|buffered| buffered.report(now))
    }

    /// The values of the statistics of all its policies.
    pub fn figures(&self) -> Figures {
        let of_buffer = self.path.buffered().map(Buffered::figures).unwrap_or_default();
        let of_reads = self.nand().reliability_figures();
        let of_ftl = of_buffer.with(&mapping::SLOT, self.ftl().figures()).and(self.ftl().figures_taken());
        of_ftl.with(&reliability::SLOT, of_reads)
    }

    /// Sectors that reads asked for and that nothing was stored for: never written, or discarded since.
    pub fn unmapped_read_sectors(&self) -> u64 {
        self.interface.unmapped_read_sectors()
    }

    /// Pages in the buffer that flash does not have yet.
    pub fn dirty_pages(&self) -> u32 {
        self.path.buffered().map_or(0, Buffered::dirty)
    }

    /// Sectors that the drive offers.
    pub fn capacity_sectors(&self) -> u64 {
        self.flash.capacity_sectors()
    }

    /// Whether the drive holds no command and no flash operation.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.interface.commands.held() == 0 && self.flash.nand().in_flight() == 0
    }

    /// Whether events are recorded.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.flash.is_watched()
    }

    /// Appends the events since the last call to `to`, in order.
    pub(crate) fn take_told(&mut self, to: &mut Vec<Event>) {
        self.flash.take_told(to);
    }

    /// Checks every layer's accounts. Call when the drive is idle.
    pub fn check(&self) -> Result<(), Violation> {
        self.flash.check()?;
        let (stalled, flushes) = match &self.path {
            DataPath::Buffered(buffered) => buffered.check()?,
            DataPath::Direct => (0, 0),
        };
        match (self.interface.commands.held(), stalled, flushes) {
            (0, 0, 0) => Ok(()),
            left => Err(violation!("drive: (commands, stalled, flushes) left are {left:?}")),
        }
    }
}
