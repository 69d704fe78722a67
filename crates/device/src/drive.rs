//! The drive: commands from the host become page accesses of the write buffer, the FTL and the array.
//!
//! ```text
//! host ── HostInterface ──────────────── DataPath ───────────────────── Flash
//!         command table, controller,     Buffered: write buffer,        FTL and array
//!         link                           stalled writes, durability
//!                                        or Direct: none of these
//! ```
//!
//! - A read takes sectors in the buffer from there and the rest from flash. Each page crosses the link as soon as it is
//!   available; the command completes when all have. If the order keeps read pages, a page that is not in the buffer is
//!   read whole, into a slot if one is free or clean.
//! - A write crosses the link, then each of its pages takes a buffer slot; it completes when all have one. If the
//!   buffer is full, writes wait in order of arrival, and the rate policy decides how much is evicted for them. Without
//!   a buffer, a write completes when its pages are programmed.
//! - If the order pads its victims, pages of a victim block that are not in the buffer are written with it, as writes
//!   of no sector: the FTL reads the old copy and programs it again, as for any partial write. Only pages stored on
//!   flash are used as padding, and nobody waits for them.
//! - A flush evicts all dirty pages and waits until these, and pages evicted before, are programmed. A FUA write evicts
//!   its pages and waits for them. A write with preflush is a flush followed by a write.
//! - A discard removes its whole pages from buffer and map. Pages that it covers in part keep their data, which the
//!   interface allows.
//! - A read that continues a sequential stream has the pages behind it read ahead (`drive/read_cache.rs`).
//! - A worn-out drive is read-only (`drive/end_of_life.rs`).

mod buffered;
mod commands;
mod controller;
mod data_path;
mod direct;
mod end_of_life;
mod flash;
mod front;
mod interface;
mod link;
mod paging;
mod read_cache;
mod setup;
mod state;
mod timers;
mod waiter;

use flashloom_buffer::BufferReport;
use flashloom_ftl::{Mapping, PageHints, mapping};
use flashloom_host::{Dispatched, RequestId};
use flashloom_nand::{Lpn, Nand, reliability};
use flashloom_units::{Figures, Ns, Refusal, Violation, violation};
use flashloom_workload::Op;

use crate::event::DriveEvent;
use crate::status::{Reason, Status};
use buffered::Buffered;
pub use commands::CommandId;
use commands::Stage;
use data_path::DataPath;
use flash::Flash;
use front::Front;
pub use front::{Arbitration, FrontParams};
use interface::HostInterface;
pub use interface::InterfaceParams;
use paging::Paging;
pub use read_cache::{ReadCacheParams, ReadCacheReport};
pub use setup::DriveSetup;
pub use state::SpentFlash;
pub use waiter::Waiter;

/// A drive: host interface, data path, FTL and array, stepped through simulated time.
pub struct Drive {
    interface: HostInterface,
    path: DataPath,
    pub(crate) flash: Flash,
    /// Whether the drive is worn out and [`Self::end_life`] has made it read-only.
    is_read_only: bool,
}

/// The path of a command, from top to bottom.
impl Drive {
    /// Takes a command from the host; the controller processes it first.
    #[inline]
    pub fn accept(&mut self, now: Ns, request: &Dispatched) {
        let id = self.interface.accept(request, &mut self.flash);
        if self.interface.front.is_some() {
            return self.fetch(now);
        }
        self.begin(now, id);
    }

    /// Begins the commands that the front has room for.
    #[inline(never)] // Most drives take every command at once.
    fn fetch(&mut self, now: Ns) {
        while let Some(id) = self.interface.fetch(&mut self.flash) {
            self.begin(now, id);
        }
    }

    #[inline]
    fn begin(&mut self, now: Ns, id: CommandId) {
        if (!self.flash.nand.is_timed() || !self.interface.enter_controller(now, id)) && self.commanded(now, id) {
            self.arrived(now, id);
            self.notify_waiters(now);
        }
    }

    /// Handles the end of the controller time of a command. Returns true if the command begins at once, false if the
    /// data of a write has to cross the link first.
    #[inline(always)] // From both places: it is short, and a call of its own costs as much.
    fn commanded(&mut self, now: Ns, id: CommandId) -> bool {
        self.flash.tell(|| DriveEvent::Commanded { command: id });
        if self.interface.commands[id].op != Op::Write || !self.flash.nand.is_timed() {
            return true;
        }
        // The map is looked up when the write's data has arrived. Prefetch the entry of its first page now.
        self.flash.ftl.prepare(self.interface.commands.first_page(id));
        self.interface.fetch_data(now, id);
        false
    }

    /// Begins a command whose data, if it is a write, has reached the drive.
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

    /// Gives each page of a write a buffer slot; the write completes with the last one. Without a buffer, programs each
    /// page at once, and the write completes with the last program: [`Self::notify_waiters`].
    #[inline]
    fn write(&mut self, now: Ns, id: CommandId) {
        let Self { interface, path, flash, .. } = self;
        match path {
            DataPath::Buffered(buffered) => buffered.write(now, id, interface, flash),
            DataPath::Direct => direct::write(now, id, interface, flash),
        }
    }

    /// Finds each page of a read in the buffer, or reads it from flash and continues in [`Self::notify_waiters`]. Each
    /// page then crosses the link; the read completes with the last one.
    fn read(&mut self, now: Ns, id: CommandId) {
        let Self { interface, path, flash, .. } = self;
        let (lba, sectors) = (interface.commands[id].lba, interface.commands[id].sectors);
        match path {
            DataPath::Buffered(buffered) => buffered.read(now, id, interface, flash),
            DataPath::Direct => direct::read(now, id, interface, flash),
        }
        for lpn in flash.pages_ahead(lba, sectors) {
            if !path.buffered().is_some_and(|buffered| buffered.buffer.holds(lpn)) {
                flash.read_ahead(now, lpn);
            }
        }
    }

    /// Handles ended flash operations: a page of a command is done, or a buffer slot is free or filled.
    #[inline]
    fn notify_waiters(&mut self, now: Ns) {
        while let Some(waiter) = self.flash.take_completed() {
            self.notify(now, waiter);
        }
    }

    fn notify(&mut self, now: Ns, waiter: Waiter) {
        let Self { interface, path, flash, .. } = self;
        match (waiter, path) {
            (Waiter::Command(id), _) => match flash.take_unreadable(waiter) {
                Some(_) => interface.page_unreadable(now, id, flash),
                None => interface.page_done(now, id, flash),
            },
            (Waiter::Programmed(slot), DataPath::Buffered(buffered)) => {
                buffered.programmed(now, slot, interface, flash);
            }
            (Waiter::Filled(slot), DataPath::Buffered(buffered)) => match flash.take_unreadable(waiter) {
                Some(missing) => buffered.not_filled(now, (slot, missing), interface, flash),
                None => buffered.filled(now, slot, interface, flash),
            },
            (Waiter::Cached(slot), path) => {
                let missing = flash.take_unreadable(waiter);
                let (lpn, readers) = flash.page_cached(slot, missing.is_none());
                for (reader, mask) in readers {
                    flash.tell(|| DriveEvent::CacheFilled { command: reader });
                    match missing {
                        Some(missing) if mask & missing != 0 => interface.page_unreadable(now, reader, flash),
                        Some(_) => {
                            let left = match path {
                                DataPath::Buffered(buffered) => buffered.not_written_since(reader, lpn, mask, flash),
                                DataPath::Direct => mask,
                            };
                            interface.read_again(now, reader, lpn, left, flash);
                        }
                        None => interface.page_done(now, reader, flash),
                    }
                }
            }
            (waiter, _) => unreachable!("{waiter:?} does not wait on this path"),
        }
    }

    /// Programs all earlier writes before the command continues. It continues at once if there is no buffer or nothing
    /// in it that flash lacks.
    fn flush(&mut self, now: Ns, id: CommandId) {
        let Self { interface, path, flash, .. } = self;
        match path {
            DataPath::Buffered(buffered) => buffered.flush(now, id, interface, flash),
            DataPath::Direct => direct::flush(now, id, interface, flash),
        }
    }

    /// Unmaps whole pages.
    fn discard(&mut self, now: Ns, id: CommandId) {
        let Self { interface, path, flash, .. } = self;
        match path {
            DataPath::Buffered(buffered) => buffered.discard(now, id, interface, flash),
            DataPath::Direct => direct::discard(now, id, interface, flash),
        }
    }

    /// Whether a command has ended and not been taken.
    #[inline]
    pub fn has_completed(&self) -> bool {
        !self.interface.completed.is_empty()
    }

    /// Takes an ended command and its status.
    #[inline]
    pub fn take_completed(&mut self) -> Option<(RequestId, Status)> {
        self.interface.completed.pop()
    }
}

/// Simulated time: the next event of the drive, and its processing.
impl Drive {
    /// Time of the next event of the drive.
    #[inline]
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        let flash_ns = self.flash.nand.next_event_ns().unwrap_or(Ns::MAX);
        Some(self.interface.timers.next_ns.min(flash_ns)).filter(|&at| at != Ns::MAX)
    }

    /// Processes the next event, which must be due at `now`, and the following events of the array up to `until_ns` as
    /// long as they affect only the array. Returns the time of the last one. The array goes first, so what it frees at
    /// a timestamp is available to commands that arrive at the same timestamp.
    #[inline]
    pub fn step(&mut self, mut now: Ns, until_ns: Ns) -> Ns {
        let own_ns = self.interface.timers.next_ns;
        // The array's next event was looked up before; look again only if the interface also has one now.
        if own_ns != now || self.flash.nand.next_event_ns() == Some(now) {
            now = self.flash.nand.step(now, own_ns.min(until_ns));
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
        if self.has_completed() && self.interface.front.is_some() {
            self.fetch(now);
        }
        now
    }

    /// Takes one step of background work; returns false if none is left.
    pub fn idle_step(&mut self, now: Ns) -> bool {
        self.flash.idle_step(now)
    }

    /// Programs all pages that only the buffer has. Returns their number, or 0 if the drive is read-only.
    pub(crate) fn drain_buffer(&mut self, now: Ns) -> u64 {
        let DataPath::Buffered(buffered) = &mut self.path else { return 0 };
        let pages = buffered.drain(now, &mut self.flash);
        self.notify_waiters(now);
        pages
    }
}

/// Construction of a drive, and its initial state.
impl Drive {
    /// A new drive, in counting mode until [`Engine::start_timing`](crate::Engine::start_timing).
    ///
    /// # Errors
    /// A policy cannot be built for this drive, or does not fit the others.
    pub fn new(setup: &DriveSetup) -> Result<Self, Refusal> {
        Self::with_flash(setup, setup.build_flash()?)
    }

    /// A drive of array and FTL that were those of another one with the same device and FTL. They have to be rolled
    /// back next ([`Engine::roll_back`](crate::Engine::roll_back)).
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn over(setup: &DriveSetup, flash: SpentFlash) -> Result<Self, Refusal> {
        Self::with_flash(setup, flash.0)
    }

    fn with_flash(setup: &DriveSetup, flash: Flash) -> Result<Self, Refusal> {
        let path = match setup.build_buffer()? {
            Some(buffer) => DataPath::Buffered(Buffered::new(buffer, setup.admission, &flash)),
            None => DataPath::Direct,
        };
        let paging = Paging::new(flash.nand.geometry().sectors_per_page());
        let flash = flash.with_read_cache(&setup.device.read_cache, setup.buffer_pages(), paging);
        let front = Front::new(&setup.device.front, &setup.queue_classes);
        let interface = HostInterface::new(&setup.device.interface, paging, front);
        Ok(Self { interface, path, flash, is_read_only: false })
    }

    /// Preconditioning: writes whole pages directly to the FTL, before time begins. `together` writes them as one
    /// group, else each alone, until the drive is worn out.
    pub(crate) fn write_past_buffer(&mut self, lpns: impl Iterator<Item = Lpn>, together: bool) {
        let mask = self.flash.nand.geometry().full_mask();
        for lpn in lpns {
            let written = |page| DriveEvent::WrittenThrough { command: None, page };
            self.flash.add_write(lpn, mask, PageHints::NONE, Waiter::Nobody, written);
        }
        if together { self.flash.write_added(0) } else { self.flash.write_added_apart(0) }
    }
}

/// Queries.
impl Drive {
    /// The array.
    pub fn nand(&self) -> &Nand {
        &self.flash.nand
    }

    /// The flash translation layer.
    pub fn ftl(&self) -> &dyn Mapping {
        self.flash.ftl.as_ref()
    }

    /// The buffer's counters and current levels; `None` without a buffer.
    pub fn buffer_report(&self, now: Ns) -> Option<BufferReport> {
        self.path.buffered().map(|buffered| buffered.buffer.report_at(now))
    }

    /// Counters of the read cache; `None` without one.
    pub fn read_cache_report(&self) -> Option<ReadCacheReport> {
        self.flash.cache.as_ref().map(|cache| cache.report)
    }

    /// Values of the statistics of all policies.
    pub fn figures(&self) -> Figures {
        let of_buffer = self.path.buffered().map(|buffered| buffered.buffer.figures()).unwrap_or_default();
        let of_reads = self.nand().reliability_figures();
        let of_mapping = self.ftl().report().figures().chain(self.ftl().figures()).collect();
        let of_ftl = of_buffer.with(&mapping::SLOT, of_mapping).and(self.ftl().figures_taken());
        of_ftl.with(&reliability::SLOT, of_reads)
    }

    /// Sectors read that were never written, or discarded since.
    pub fn unmapped_read_sectors(&self) -> u64 {
        self.interface.unmapped_read_sectors
    }

    /// Dirty pages in the buffer.
    pub fn dirty_pages(&self) -> u32 {
        self.path.buffered().map_or(0, |buffered| buffered.buffer.dirty())
    }

    /// Whether no command and no flash operation is outstanding.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.interface.commands.held == 0 && self.flash.nand.in_flight() == 0
    }

    /// Checks the counters and invariants of every layer. Call when the drive is idle.
    pub fn check(&self) -> Result<(), Violation> {
        self.flash.check()?;
        let (stalled, flushes) = match &self.path {
            DataPath::Buffered(buffered) => buffered.check()?,
            DataPath::Direct => (0, 0),
        };
        match (self.interface.commands.held, stalled, flushes) {
            (0, 0, 0) => Ok(()),
            left => Err(violation!("drive: (commands, stalled, flushes) left are {left:?}")),
        }
    }
}
