//! The flash side of a drive: FTL and array, grouped writes, and events.

use flashloom_buffer::SlotId;
use flashloom_ftl::{Mapping, ObservedRead, PageHints, PageWrite, WantedStreams};
use flashloom_nand::{HostPage, Lpn, Nand, NandParams, PageContent, Refused};
use flashloom_units::{Ns, Violation, violation};
use flashloom_verify::Verifier;

use super::commands::CommandId;
use super::paging::Paging;
use super::read_cache::{ReadCache, ReadCacheParams};
use super::waiter::Waiter;
use crate::event::{DriveEvent, Event};

/// The FTL and the array beneath it, and the cache of what is read ahead from them.
pub(crate) struct Flash {
    pub(crate) nand: Nand,
    pub(crate) ftl: Box<dyn Mapping>,
    logical_pages: u32,
    /// The read cache. Saved by the drive.
    pub(super) cache: Option<Box<ReadCache>>,
    /// Pages to be written together by the next [`Self::write_added`].
    writes: Vec<PageWrite>,
    /// Sequence number of the next page written to the FTL.
    next_write: u32,
    /// Recorded events since the last call of [`Self::take_told`]; empty unless the array is watched.
    told: Vec<Event>,
    /// Whether the FTL observes read latencies.
    observes_reads: bool,
    /// The streams that the FTL wanted when it was new: what a write buffer begins with, also over flash that has
    /// served before and is yet to be rolled back.
    pub(super) wanted_when_new: Option<WantedStreams>,
}

flashloom_units::state! {
    Flash {
        nested nand;
        policy ftl;
        value next_write;
        scratch writes, told;
        fixed logical_pages, observes_reads, wanted_when_new, cache;
    }
}

impl Flash {
    pub(super) fn new(nand: Nand, ftl: Box<dyn Mapping>, logical_pages: u32) -> Self {
        let (observes_reads, wanted_when_new) = (ftl.traits().observes_reads, ftl.wanted_streams());
        Self {
            nand,
            ftl,
            logical_pages,
            cache: None,
            writes: Vec::new(),
            next_write: 0,
            told: Vec::new(),
            observes_reads,
            wanted_when_new,
        }
    }

    /// Capacity for the host in sectors.
    pub(crate) fn capacity_sectors(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.nand.geometry().sectors_per_page())
    }

    /// Resets the counters of array and FTL. Wear is kept.
    pub(crate) fn reset_counts(&mut self) {
        self.nand.reset_counts();
        self.ftl.reset_report();
    }

    /// Checks the counters and invariants of array and FTL. Call when the drive is idle.
    pub(crate) fn check(&self) -> Result<(), Violation> {
        self.nand.check()?;
        self.ftl.check()
    }

    /// The checks of a verified run beside [`Self::check`]: FTL and array say the same of every block, and out-of-band
    /// data names the page that is there.
    pub(crate) fn check_whole(&self) -> Result<(), Violation> {
        self.ftl.check_loaded(&self.nand)?;
        if !self.nand.keeps_out_of_band() {
            return Ok(());
        }
        for lpn in (0..self.logical_pages).map(Lpn) {
            let Some(ppn) = self.ftl.place_of(lpn) else { continue };
            let found = self.nand.out_of_band(ppn).map(|label| label.content);
            if found != Some(PageContent::Host(lpn)) {
                return Err(violation!(
                    "drive: page {} holds logical page {}, and its label says {found:?}",
                    ppn.0,
                    lpn.0
                ));
            }
        }
        Ok(())
    }

    /// Checks a loaded state.
    pub(crate) fn check_loaded(&self) -> Result<(), Violation> {
        self.nand.check_loaded()?;
        self.ftl.check_loaded(&self.nand)
    }

    /// Ends its time, whatever it does, and all observation, for a state that it is rolled back to next.
    pub(crate) fn broken_off(mut self) -> Self {
        self.nand.break_off();
        self.writes.clear();
        self.told.clear();
        Self { cache: None, ..self }
    }

    /// Takes one step of background work; returns false if none is left.
    pub(super) fn idle_step(&mut self, now: Ns) -> bool {
        self.nand.set_now(now);
        self.ftl.idle(&mut self.nand)
    }

    /// Takes one step of work that waits for a longer idle time; returns false if none is left.
    pub(crate) fn flush_step(&mut self, now: Ns) -> bool {
        self.nand.set_now(now);
        self.ftl.flush(&mut self.nand)
    }

    /// Takes an ended operation: returns its waiter.
    #[inline]
    pub(super) fn take_completed(&mut self) -> Option<Waiter> {
        self.nand.take_completed().map(Waiter::of)
    }

    /// The sectors that an ended read with a waiter lacks, if it did not return its data.
    #[inline(always)]
    pub(super) fn take_unreadable(&mut self, waiter: Waiter) -> Option<u32> {
        self.nand.take_unreadable(waiter.tag())
    }

    /// Takes a page that could not be stored: returns its address, sectors and waiter.
    pub(super) fn take_refused(&mut self) -> Option<(Lpn, u32, Waiter)> {
        self.nand.take_refused().map(|Refused { lpn, mask, tag }| (lpn, mask, Waiter::of(tag)))
    }
}

/// Reads and writes of pages.
impl Flash {
    /// Adds sectors of a page to the group to be written together; `event` describes where the page comes from.
    #[inline]
    pub(super) fn add_write(
        &mut self,
        lpn: Lpn,
        mask: u32,
        hints: PageHints,
        waiter: Waiter,
        event: impl FnOnce(HostPage) -> DriveEvent,
    ) {
        self.forget_cached(lpn);
        let page = HostPage { lpn, mask, write: self.next_write };
        self.next_write = page.write.wrapping_add(1);
        self.tell(|| event(page));
        self.writes.push(PageWrite::new(page, waiter.tag()).with(hints));
    }

    /// Called when a page goes to the host. Computes its link and controller time only if the FTL observes reads.
    #[inline]
    pub(super) fn delivers(&mut self, interface_ns: impl FnOnce() -> Ns) {
        if self.observes_reads {
            self.tell_read(interface_ns());
        }
    }

    /// Reports the service times of a read to the FTL.
    #[cold]
    fn tell_read(&mut self, interface_ns: Ns) {
        let array = self.nand.host_reads().unwrap_or_default();
        self.ftl.observe_read(ObservedRead { interface_ns, array });
    }

    /// Writes the added pages as one group.
    #[inline]
    pub(super) fn write_added(&mut self, now: Ns) {
        self.nand.set_now(now);
        self.ftl.write(&mut self.nand, &self.writes);
        self.writes.clear();
    }

    /// Writes the first pages of a new drive in order of address, `group` at a time, in fewer steps than pages; returns
    /// false, with nothing written, if the FTL or an observer needs every page.
    pub(crate) fn fill(&mut self, pages: u64, group: u64) -> bool {
        let is_filled = self.nand.only_counts() && self.ftl.fill(&mut self.nand, pages, group);
        if is_filled {
            self.next_write = self.next_write.wrapping_add(pages as u32);
        }
        is_filled
    }

    /// Writes the added pages one at a time, as if each came alone, until the drive is worn out.
    pub(super) fn write_added_apart(&mut self, now: Ns) {
        self.nand.set_now(now);
        let written = self.ftl.write_apart(&mut self.nand, &self.writes);
        // Pages that were not written take no sequence number.
        self.next_write = self.next_write.wrapping_sub((self.writes.len() - written) as u32);
        self.writes.clear();
    }

    /// Reads sectors of a page for a command, or the whole page into a buffer slot.
    #[inline]
    pub(super) fn read(&mut self, now: Ns, id: CommandId, lpn: Lpn, wanted: u32, slot: Option<SlotId>) {
        self.nand.set_now(now);
        let (mask, waiter) = match slot {
            Some(slot) => (self.nand.geometry().full_mask(), Waiter::Filled(slot)),
            None => (wanted, Waiter::Command(id)),
        };
        self.tell(|| DriveEvent::ReadFlash { command: id, lpn, mask, slot });
        self.ftl.read(&mut self.nand, lpn, mask, waiter.tag());
    }

    /// Unmaps a whole page.
    pub(super) fn discard(&mut self, now: Ns, lpn: Lpn) {
        self.nand.set_now(now);
        self.forget_cached(lpn);
        self.ftl.trim(&mut self.nand, lpn);
        self.tell(|| DriveEvent::Discarded { lpn });
    }

    /// Number of mapped pages.
    pub(crate) fn stored_pages(&self) -> u64 {
        (0..self.logical_pages).filter(|&lpn| self.stores(Lpn(lpn))).count() as u64
    }

    /// Whether a page is within the host's capacity and mapped. Padding may lie beyond the end of the drive.
    pub(super) fn stores(&self, lpn: Lpn) -> bool {
        lpn.0 < self.logical_pages && self.ftl.is_mapped(lpn)
    }
}

/// The read cache.
impl Flash {
    /// Adds a read cache, if the drive has one. Its slots are numbered after those of a buffer of so many pages.
    pub(super) fn with_read_cache(mut self, params: &ReadCacheParams, buffer_pages: u32, paging: Paging) -> Self {
        let page_bytes = self.nand.geometry().page_bytes.into();
        self.cache = ReadCache::new(params, page_bytes, paging, buffer_pages).map(Box::new);
        self
    }

    /// Drops a page that changes from the cache.
    #[inline]
    pub(super) fn forget_cached(&mut self, lpn: Lpn) {
        if let Some(cache) = &mut self.cache {
            cache.forget(lpn);
        }
    }

    /// Serves sectors of a page from the cache. Returns whether they are there already, or the command waits for them;
    /// `None` if the page is not read ahead.
    #[inline]
    pub(super) fn read_cached(&mut self, id: CommandId, lpn: Lpn, mask: u32) -> Option<bool> {
        let (slot, is_ready) = self.cache.as_mut()?.look_up(id, lpn, mask)?;
        self.tell(|| DriveEvent::ReadCached { command: id, lpn, mask, slot, is_ready });
        Some(is_ready)
    }

    /// The pages that a read should have read ahead.
    pub(super) fn pages_ahead(&mut self, lba: u64, sectors: u32) -> impl Iterator<Item = Lpn> + use<> {
        let pages = self.cache.as_mut().map_or(0..0, |cache| cache.follow(lba, sectors));
        (pages.start..pages.end.min(self.logical_pages)).map(Lpn)
    }

    /// Reads a whole page ahead, if it is mapped and the cache has a slot for it.
    pub(super) fn read_ahead(&mut self, now: Ns, lpn: Lpn) {
        if !self.ftl.is_mapped(lpn) {
            return;
        }
        let Some(slot) = self.cache.as_mut().and_then(|cache| cache.take_slot(lpn)) else { return };
        self.nand.set_now(now);
        self.tell(|| DriveEvent::ReadAhead { lpn, slot });
        let mask = self.nand.geometry().full_mask();
        self.ftl.read(&mut self.nand, lpn, mask, Waiter::Cached(slot).tag());
    }

    /// A page that was read ahead has arrived, wholly or not. Returns the page, and the commands that wait for it with
    /// their sectors.
    pub(super) fn page_cached(&mut self, slot: SlotId, is_whole: bool) -> (Lpn, Vec<(CommandId, u32)>) {
        self.cache.as_mut().map_or((Lpn::NONE, Vec::new()), |cache| cache.filled(slot, is_whole))
    }
}

/// Simulated time in the array.
impl Flash {
    /// Switches to timed mode: from now on flash operations take time.
    pub(crate) fn start_timing(&mut self, params: &NandParams) {
        self.nand.start_timing(params);
        if self.observes_reads {
            self.nand.observe_host_reads();
        }
    }

    /// Ends the time of a drive at rest. Only its flash can be used from then on.
    pub(crate) fn stop_timing(&mut self) {
        self.ftl.rest(&mut self.nand);
        self.nand.stop_timing();
    }
}

/// Events for observers, in order.
impl Flash {
    /// The checks of a verified run, for a new drive.
    pub(crate) fn verifier(&mut self) -> Verifier {
        Verifier::new(&mut self.nand, u64::from(self.logical_pages))
    }

    /// Records an event of the drive if somebody observes.
    #[inline]
    pub(super) fn tell(&mut self, event: impl FnOnce() -> DriveEvent) {
        if self.nand.is_watched() {
            self.tell_after_flash(event());
        }
    }

    /// Records an event of the drive behind all events that the array has recorded.
    #[cold]
    fn tell_after_flash(&mut self, event: DriveEvent) {
        self.told.extend(self.nand.events().map(Event::Flash));
        self.told.push(Event::Drive(event));
    }

    /// Appends the events since the last call to `to`, in order.
    pub(crate) fn take_told(&mut self, to: &mut Vec<Event>) {
        to.append(&mut self.told);
        to.extend(self.nand.events().map(Event::Flash));
    }
}
