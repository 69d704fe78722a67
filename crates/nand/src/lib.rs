//! The NAND array: geometry, and two back ends for the flash operations that an FTL emits.
//!
//! The FTL decides and updates its state first, then emits reads, programs, copies and erases to [`Nand`]. In
//! *counting* mode they are only counted (and checked); in *timed* mode they queue for planes, dies and channels and
//! complete in simulated time, never before what they depend on. Who looks at the array, the checks of a verified run
//! among them, reads its [`Event`]s; where nobody does, there are none.

mod command;
mod event;
mod failures;
mod geometry;
mod id;
mod known;
mod labels;
mod operation;
mod params;
mod reads;
mod region;
pub mod reliability;
mod spread;
mod timed;

pub use command::{Data, Erase, HostPage, PageCopy, Program, Read};
pub use event::{Command, Event, OperationKind};
pub use geometry::{Geometry, Shape};
pub use id::{BlockId, DieId, Lbn, Lpn, PlaneId, Ppn};
pub use labels::{OutOfBand, PageContent};
pub use operation::{Counts, OpId, Origin, Status, Urgency};
pub use params::{DieOrder, Energy, MultiPlane, NandParams, Suspend, Timing};
pub use reads::ReadCounts;
pub use region::{CellMode, Region};
pub use reliability::{PageCondition, Reading, Reliability};
pub use timed::{Busiest, PageReads, Together, Utilization};

use flashloom_units::{Figure, NO_INDEX, Ns, Prng};
use serde::{Deserialize, Serialize};

use failures::Failures;
use known::{Known, MaybeKnown};
use labels::Labels;
use operation::Operation;
use reads::{PageOfLife, Reads};
use region::CellModes;
use spread::Spread;
use timed::{Timed, Uneven};

/// The array with its back end.
pub struct Nand {
    geometry: Geometry,
    counts: Counts,
    /// Pages programmed in each block since its last erase, as emitted.
    written: Vec<u32>,
    /// Erases of each block that passed, since the array was new.
    erase_counts: Vec<u32>,
    timed: Option<Box<Timed>>,
    /// Events since they were taken last, where they are recorded.
    events: Events,
    failures: Option<Box<Failures>>,
    /// What is known of pages, until [`Self::start_timing`] hands it on.
    known: MaybeKnown,
    /// Whether operations are more than counted: they take time, or somebody follows them.
    is_followed: bool,
    /// Whether a policy of reliability is asked.
    judges: bool,
    /// Where some blocks are used in another cell mode.
    cells: Option<Box<CellModes>>,
    /// Where each block and page has times of its own.
    spread: Option<Spread>,
    completed: Vec<u32>,
    refused: Vec<Refused>,
}

/// A page that was to be written and that the FTL can store nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Which page.
    pub lpn: Lpn,
    /// Which of its sectors were to be written; the others keep what they hold.
    pub mask: u32,
    /// The tag of its program, or [`Nand::NO_TAG`].
    pub tag: u32,
}

// A state that was saved in timed mode is loaded into an array in timed mode, and the reverse.
flashloom_units::state! {
    Nand {
        value counts, completed, refused;
        nested written, erase_counts, timed, failures, known;
        fixed geometry, events, cells, spread, is_followed, judges;
    }
}

/// Events of the array, where they are recorded.
type Events = Option<Box<Recorded>>;

/// Behind a pointer, and added to out of the way, because nearly always there is nothing.
#[derive(Default)]
struct Recorded(Vec<Event>);

impl Recorded {
    #[cold]
    fn push(&mut self, event: Event) {
        self.0.push(event);
    }
}

impl Nand {
    /// Erases that no block of a saved drive exceeds: counters of 32 bits go on from there.
    const MOST_ERASES: u32 = u32::MAX / 2;

    /// A tag that asks for no notice of completion.
    pub const NO_TAG: u32 = NO_INDEX;

    /// An array of erased blocks in counting mode, none of which is bad or fails.
    pub fn new(params: &NandParams) -> Self {
        let geometry = params.geometry();
        Self {
            geometry,
            counts: Counts::default(),
            written: vec![0; geometry.total_blocks() as usize],
            erase_counts: vec![0; geometry.total_blocks() as usize],
            timed: None,
            events: None,
            failures: None,
            known: MaybeKnown::default(),
            is_followed: false,
            judges: false,
            cells: None,
            spread: None,
            completed: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// The same array with the blocks that the parameters make bad or let fail, drawn from branches of `prng`.
    #[must_use]
    pub fn with_failures(mut self, params: &NandParams, prng: &Prng) -> Self {
        self.failures = Failures::new(params, prng).map(Box::new);
        self
    }

    /// The same array, whose blocks and pages differ in their times as the parameters say, drawn from a branch of
    /// `prng`.
    #[must_use]
    pub fn with_spread(mut self, params: &NandParams, prng: &Prng) -> Self {
        self.spread = Spread::new(params, prng);
        self
    }

    /// The same array with the blocks of a region used in its cell mode. Nothing was programmed before.
    ///
    /// # Panics
    /// The region is not within the array.
    #[must_use]
    pub fn with_region(mut self, region: &Region) -> Self {
        assert!(region.is_within(&self.geometry), "a region of the array: {region:?}");
        if region.cells.is_some() {
            let geometry = &self.geometry;
            self.cells.get_or_insert_with(|| Box::new(CellModes::new(geometry))).set(geometry, region);
        }
        self
    }

    /// The same array, which keeps the out-of-band data of its pages ([`Self::out_of_band`]): what a drive needs that
    /// finds its data again after a loss of power, or that holds real data. Nobody else pays for it.
    #[must_use]
    pub fn with_out_of_band(mut self) -> Self {
        self.known_anew().labels = Some(Labels::new(&self.geometry));
        self
    }

    /// The same array, whose reads go as a policy says.
    #[must_use]
    pub fn with_reliability(mut self, policy: Box<dyn Reliability>) -> Self {
        if policy.is_asked() {
            self.known_anew().reads = Some(Reads::new(&self.geometry, policy));
            self.judges = true;
        }
        self
    }

    /// What is known of the pages of an array that is being made.
    fn known_anew(&mut self) -> &mut Known {
        self.is_followed = true;
        self.known.0.get_or_insert_default()
    }

    /// The out-of-band data of a page, as its cells have it now; nothing where the page is erased, where its program
    /// has failed, and in an array that does not keep it.
    pub fn out_of_band(&self, ppn: Ppn) -> Option<OutOfBand> {
        self.known().and_then(|known| known.labels.as_ref()).and_then(|labels| labels.get(ppn))
    }

    /// Reads that did not succeed at once; nothing in an array whose reads always do.
    pub fn read_counts(&self) -> Option<ReadCounts> {
        self.known().and_then(|known| known.reads.as_ref()).map(Reads::counts)
    }

    /// The values of the statistics of the policy of reliability.
    pub fn reliability_figures(&self) -> Vec<Figure> {
        self.known().and_then(|known| known.reads.as_ref()).map(Reads::figures).unwrap_or_default()
    }

    /// Whether a read whose tag has come back by [`Self::take_completed`] did so without its data. Asked once for each.
    #[inline(always)]
    pub fn take_unreadable(&mut self, tag: u32) -> bool {
        self.judges && self.find_unreadable(tag)
    }

    #[cold]
    fn find_unreadable(&mut self, tag: u32) -> bool {
        self.known_mut().is_some_and(|known| known.take_unreadable(tag))
    }

    fn known(&self) -> Option<&Known> {
        self.timed.as_ref().map_or(self.known.0.as_deref(), |timed| timed.known())
    }

    #[inline]
    fn known_mut(&mut self) -> Option<&mut Known> {
        match &mut self.timed {
            Some(timed) => timed.known_mut(),
            None => self.known.0.as_deref_mut(),
        }
    }

    /// Pages that a block holds.
    pub fn pages_of(&self, block: BlockId) -> u32 {
        let cells = self.cells.as_ref().and_then(|cells| cells.of(block));
        cells.map_or(self.geometry.pages, |cells| cells.pages)
    }

    /// Whether a block is marked as bad: from birth, or since an operation on it failed.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.is_bad(block))
    }

    /// Pages that can be programmed before anything is erased: those of blocks that are not bad which were not
    /// programmed since their last erase. In timed mode what was emitted counts as done.
    pub fn erased_pages(&self) -> u64 {
        let usable = (0..self.written.len() as u32).map(BlockId);
        usable.filter(|&block| !self.is_bad(block)).map(|block| u64::from(self.left_in(block))).sum()
    }

    /// Pages of a block that were programmed since its last erase, as emitted.
    pub fn written(&self, block: BlockId) -> u32 {
        self.written[block.at()]
    }

    fn left_in(&self, block: BlockId) -> u32 {
        self.pages_of(block) - self.written[block.at()]
    }

    /// Whether blocks can go bad in use.
    pub fn can_fail(&self) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.can_grow())
    }

    /// From now on operations take time; what was emitted before is done.
    pub fn start_timing(&mut self, params: &NandParams) {
        assert!(self.timed.is_none(), "an array is put into timed mode once");
        let known = std::mem::take(&mut self.known);
        let uneven = Uneven { cells: self.cells.as_deref().cloned(), spread: self.spread };
        self.timed = Some(Box::new(Timed::new(params, &self.written, uneven, known)));
        self.is_followed = true;
    }

    /// The shape of the array.
    #[inline(always)]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Operations so far, by kind and origin.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How often each block was erased since the array was new.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erase_counts
    }

    /// Starts all counters again at zero, after preconditioning; wear is kept.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
        if let Some(reads) = self.known_mut().and_then(|known| known.reads.as_mut()) {
            reads.reset_counts();
        }
    }

    /// Records [`Self::events`] from now on.
    pub fn watch(&mut self) {
        self.events.get_or_insert_default();
        self.is_followed = true;
    }

    /// Whether [`Self::watch`] was called.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.events.is_some()
    }

    /// Events since this was called last, in order; their time is the one that the array was told last.
    pub fn events(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.events.iter_mut().flat_map(|events| events.0.drain(..))
    }

    /// Records that a job of the FTL begins: it is to free a block.
    #[inline]
    pub fn begin_job(&mut self, origin: Origin, block: BlockId) {
        if let Some(events) = &mut self.events {
            events.push(Event::JobBegan { origin, block });
        }
    }

    /// Records that a job of the FTL is over.
    #[inline]
    pub fn end_job(&mut self, origin: Origin, block: BlockId) {
        if let Some(events) = &mut self.events {
            events.push(Event::JobEnded { origin, block });
        }
    }

    /// Busy time of channels and dies; nothing in counting mode.
    pub fn utilization(&self) -> Option<Utilization> {
        self.timed.as_ref().map(|timed| timed.utilization())
    }

    /// Counts what reads of the host take from now on, in timed mode: nobody else pays for it.
    pub fn observe_host_reads(&mut self) {
        self.timed.iter_mut().for_each(|timed| timed.observe_host_reads());
    }

    /// Service times of the pages that were read for the host; nothing in counting mode, or where nobody observes them.
    pub fn host_reads(&self) -> Option<PageReads> {
        self.timed.as_ref().and_then(|timed| timed.host_reads())
    }

    /// Time that each die was occupied until `now`, in order of their numbers; nothing in counting mode. `now` is not
    /// before the array's own time, and no event of the array is due before it.
    pub fn die_busy_ns(&self, now: Ns) -> impl Iterator<Item = Ns> + '_ {
        self.timed.iter().flat_map(move |timed| timed.die_busy_ns(now))
    }

    /// Time that each channel carried something until `now`, as [`Self::die_busy_ns`].
    pub fn channel_busy_ns(&self, now: Ns) -> impl Iterator<Item = Ns> + '_ {
        self.timed.iter().flat_map(move |timed| timed.channel_busy_ns(now))
    }

    /// Reads sectors of a page.
    #[inline(always)] // Counting is a few instructions.
    pub fn read(&mut self, read: Read) -> OpId {
        let Read { ppn, mask, origin, urgency, lpn, after, tag } = read;
        self.counts.reads[origin as usize] += 1;
        if self.only_counts() {
            self.notify(tag);
            return OpId::DONE;
        }
        // Put together only here: what is counted never has to be in memory.
        self.emit_read(Read { ppn, mask, origin, urgency, lpn, after, tag })
    }

    /// Whether operations are only counted: they take no time, and nobody follows them.
    #[inline]
    fn only_counts(&self) -> bool {
        !self.is_followed
    }

    fn emit_read(&mut self, read: Read) -> OpId {
        if self.judges { self.emit_judged_read(read) } else { self.emit_read_as(read, 0, false) }
    }

    #[cold]
    fn emit_judged_read(&mut self, read: Read) -> OpId {
        let (write, failed) = self.ask(&read);
        self.emit_read_as(read, write, failed)
    }

    /// With its retries, or [`Operation::NOT_ASKED`], and whether it fails.
    #[inline(always)]
    fn emit_read_as(&mut self, read: Read, write: u32, failed: bool) -> OpId {
        let Read { ppn, mask, origin, urgency, lpn, after, tag } = read;
        let block = self.geometry.block_of(ppn);
        // Put together once for each use, so that it is written only where it is to be.
        let read = || {
            let blank = Operation::new(OperationKind::Read, ppn, block, origin, tag);
            Operation { lpn, mask, urgency, write, failed, ..blank }
        };
        if let Some(timed) = &mut self.timed {
            return timed.issue_read(read(), after, &mut self.events);
        }
        if after == OpId::UNREADABLE && lpn.is_some() {
            self.miss(&read());
        } else if self.do_at_once(read()) && origin == Origin::Map {
            return OpId::UNREADABLE;
        }
        OpId::DONE
    }

    /// What is known of a read when it is asked for: its retries, and whether it fails. A read for the host or of the
    /// map is asked about when it is done.
    fn ask(&mut self, read: &Read) -> (u32, bool) {
        if read.lpn.is_some() || read.origin == Origin::Map {
            return (Operation::NOT_ASKED, false);
        }
        let Reading { retries, is_readable } = self.ask_copy(read.ppn, read.origin);
        (retries.into(), !is_readable)
    }

    /// How a page is read that a program takes its data from.
    fn ask_copy(&mut self, from: Ppn, origin: Origin) -> Reading {
        let source = self.of_life(from);
        let (now, is_programmed) = self.timed.as_ref().map_or((0, true), |timed| timed.sees(from));
        match self.known_mut().and_then(|known| known.reads.as_mut()) {
            Some(reads) => reads.ask(now, source, is_programmed, origin),
            None => Reading::AT_ONCE,
        }
    }

    /// A page in the life of its block that the FTL is at.
    fn of_life(&self, ppn: Ppn) -> PageOfLife {
        (ppn, self.erase_counts[self.geometry.block_of(ppn).at()])
    }

    /// A program takes data from another page, but for sectors that it writes itself.
    #[cold]
    fn copy_lost(&mut self, from: Ppn, to: Ppn, own: u32) {
        let (from, to) = (self.of_life(from), self.of_life(to));
        if let Some(reads) = self.known_mut().and_then(|known| known.reads.as_mut()) {
            reads.copy(from, to, own);
        }
    }

    /// Programs the next page of a block.
    #[inline(always)] // Counting is a few instructions.
    pub fn program(&mut self, program: Program) -> Status {
        let Program { block, page, data, origin, urgency, after, tag } = program;
        let failed = self.count_program(block, page, origin);
        if self.only_counts() {
            self.notify(if failed { Self::NO_TAG } else { tag });
            return Status::new(failed, OpId::DONE);
        }
        // As above.
        self.emit_program(Program { block, page, data, origin, urgency, after, tag }, failed)
    }

    #[inline(always)]
    fn emit_program(&mut self, program: Program, failed: bool) -> Status {
        let Program { block, page, data, origin, urgency, after, tag } = program;
        // A program that fails leaves nothing, and its data is still to be written.
        let nothing = (HostPage::NONE, Ppn::NONE, Self::NO_TAG);
        let (page_of_host, from) = data.parts();
        let (HostPage { lpn, mask, write }, from, tag) = if failed { nothing } else { (page_of_host, from, tag) };
        let ppn = self.geometry.page(block, page);
        if self.judges && from.is_some() && !matches!(data, Data::Map { .. }) {
            self.copy_lost(from, ppn, mask);
        }
        // As above.
        let program = || {
            let blank = Operation::new(OperationKind::Program, ppn, block, origin, tag);
            Operation { lpn, write, mask, from, urgency, failed, ..blank }
        };
        if let Some(timed) = &mut self.timed {
            return Status::new(failed, timed.issue_program(program(), after, &mut self.events));
        }
        self.do_at_once(program());
        Status::new(failed, OpId::DONE)
    }

    /// Without time an operation ends as soon as it is emitted; told where anybody looks. Returns whether it failed.
    fn do_at_once(&mut self, mut operation: Operation) -> bool {
        if let Some(known) = &mut self.known.0 {
            known.do_at_once(&mut operation);
        }
        if let Some(events) = &mut self.events {
            let command = operation.command(0, self.geometry.die_of(self.geometry.plane_of(operation.block)));
            events.push(Event::Issued(command, None));
            events.push(Event::Started { command, array_from: 0, transfer_ns: 0, is_staged: false });
            events.push(Event::Ended { command, failed: operation.failed });
        }
        self.notify(operation.tag);
        operation.failed
    }

    /// A read for the host is given up, because the page of the map that says where its page is could not be read.
    #[cold]
    fn miss(&mut self, read: &Operation) {
        if let Some(known) = &mut self.known.0 {
            known.missed(read);
        }
        if let Some(events) = &mut self.events {
            let command = read.command(0, self.geometry.die_of(self.geometry.plane_of(read.block)));
            events.push(Event::Issued(command, None));
            events.push(Event::Missed { command });
        }
        self.notify(read.tag);
    }

    /// Counts a program. Returns whether it fails.
    #[inline]
    fn count_program(&mut self, block: BlockId, page: u32, origin: Origin) -> bool {
        debug_assert_eq!(self.written[block.at()], page, "pages of a block are programmed in order");
        debug_assert!(page < self.pages_of(block), "a block holds no more pages than its cell mode has");
        self.written[block.at()] = page + 1;
        self.counts.programs[origin as usize] += 1;
        let Some(failures) = &mut self.failures else { return false };
        let failed = failures.program_fails(block);
        self.counts.failed_programs[origin as usize] += u64::from(failed);
        failed
    }

    /// Copies a page to the next page of a block: within the die where the drive can (copyback) and both are in one
    /// plane, else by a read and a program. Counts as both. To have the reads of several pages emitted before their
    /// programs, which can then run together, emit a [`Read`] and a [`Program`] of [`Data::Copy`] after it for each.
    pub fn copy(&mut self, copy: PageCopy) -> Status {
        let PageCopy { from, block, page, origin, urgency } = copy;
        if self.timed.is_some() {
            return self.emit_copy(copy);
        }
        let after = self.read(Read { urgency, ..Read::new(from, self.geometry.full_mask(), origin) });
        self.program(Program { urgency, after, ..Program::new(block, page, Data::Copy(from), origin) })
    }

    /// As a read and a program are emitted; in one place, because a collection copies all the time.
    fn emit_copy(&mut self, copy: PageCopy) -> Status {
        let PageCopy { block, page, origin, .. } = copy;
        self.counts.reads[origin as usize] += 1;
        let failed = self.count_program(block, page, origin);
        if self.judges {
            return self.emit_judged_copy(copy, failed);
        }
        self.emit_copy_as(copy, failed, Reading::AT_ONCE)
    }

    #[cold]
    fn emit_judged_copy(&mut self, copy: PageCopy, failed: bool) -> Status {
        let PageCopy { from, block, page, origin, .. } = copy;
        let reading = self.ask_copy(from, origin);
        if !failed {
            self.copy_lost(from, self.geometry.page(block, page), 0);
        }
        self.emit_copy_as(copy, failed, reading)
    }

    /// A copy whose page is read like that.
    #[inline(always)]
    fn emit_copy_as(&mut self, copy: PageCopy, failed: bool, reading: Reading) -> Status {
        let PageCopy { from, block, page, origin, urgency } = copy;
        let Reading { retries, is_readable } = reading;
        let Some(timed) = &mut self.timed else { return Status::new(failed, OpId::DONE) };
        let (geometry, events) = (&self.geometry, &mut self.events);
        let (source, to) = (geometry.block_of(from), geometry.page(block, page));
        // What has to be corrected goes through the controller.
        if timed.can_copy_back(from, source, block) && is_readable && retries == 0 {
            let copyback = Operation::new(OperationKind::Copyback, to, block, origin, Self::NO_TAG);
            let operation = Operation { from, urgency, failed, ..copyback };
            return Status::new(failed, timed.issue_program(operation, OpId::DONE, events));
        }
        let read = Operation::new(OperationKind::Read, from, source, origin, Self::NO_TAG);
        let read =
            Operation { mask: geometry.full_mask(), urgency, write: retries.into(), failed: !is_readable, ..read };
        let after = timed.issue_read(read, OpId::DONE, events);
        let program = Operation::new(OperationKind::Program, to, block, origin, Self::NO_TAG);
        // One that fails leaves nothing.
        let from = if failed { Ppn::NONE } else { from };
        Status::new(failed, timed.issue_program(Operation { from, urgency, failed, ..program }, after, events))
    }

    /// Counts copies of pages to the next pages of a block, `first` and those after it, where they need not be emitted
    /// one at a time: false in timed mode, where somebody looks or where programs fail, and then nothing is counted.
    #[inline]
    pub fn count_copies(&mut self, block: BlockId, first: u32, pages: u32, origin: Origin) -> bool {
        let can_count = self.only_counts() && !self.can_fail();
        if can_count {
            debug_assert_eq!(self.written[block.at()], first, "pages of a block are programmed in order");
            self.written[block.at()] = first + pages;
            self.counts.reads[origin as usize] += u64::from(pages);
            self.counts.programs[origin as usize] += u64::from(pages);
        }
        can_count
    }

    /// Erases a block.
    pub fn erase(&mut self, erase: Erase) -> Status {
        let (failed, erase) = self.count_erase(erase);
        if let Some(timed) = &mut self.timed {
            return Status::new(failed, timed.issue_erase(erase, &mut self.events));
        }
        self.do_at_once(erase);
        Status::new(failed, OpId::DONE)
    }

    /// Erases blocks of several planes of a die, each after everything that was emitted for any of them: so they are
    /// ready at the same time, and one multi-plane command where the drive has it. Returns how many erases failed.
    pub fn erase_together(&mut self, blocks: &[BlockId], origin: Origin, urgency: Urgency) -> u32 {
        let (mut failures, mut last) = (0, None);
        for &block in blocks {
            let (failed, erase) = self.count_erase(Erase { urgency, ..Erase::new(block, origin) });
            failures += u32::from(failed);
            match &mut self.timed {
                Some(timed) => last = Some(timed.admit_erase(erase, last, &mut self.events)),
                None => {
                    self.do_at_once(erase);
                }
            }
        }
        if let (Some(timed), Some(last)) = (&mut self.timed, last) {
            timed.enter_erases(last, &mut self.events);
        }
        failures
    }

    /// Counts an erase. Returns whether it fails, and the operation.
    fn count_erase(&mut self, erase: Erase) -> (bool, Operation) {
        let Erase { block, origin, urgency } = erase;
        self.written[block.at()] = 0;
        self.counts.erases[origin as usize] += 1;
        let failed = self.failures.as_mut().is_some_and(|failures| failures.erase_fails(block));
        self.counts.failed_erases[origin as usize] += u64::from(failed);
        self.erase_counts[block.at()] += u32::from(!failed);
        let blank = Operation::new(OperationKind::Erase, self.geometry.page(block, 0), block, origin, Self::NO_TAG);
        (failed, Operation { urgency, failed, ..blank })
    }

    /// When the next event of the array is due; nothing while no operation is in flight. Asked after everything that is
    /// emitted at a moment has been, because dies begin what they can when this is asked.
    #[inline]
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        self.timed.as_mut().and_then(|timed| timed.next_event_ns(&mut self.events))
    }

    /// Tells the array what time it is, before operations are emitted at that time.
    #[inline]
    pub fn set_now(&mut self, now: Ns) {
        if let Some(timed) = &mut self.timed {
            timed.set_now(now);
        }
    }

    /// Processes the next event, which must be due at `now`, and those that follow until `until_ns`, as long as none of
    /// them ends what somebody waits for, operations are in flight, and events are not recorded. Returns the time of
    /// the last one.
    #[inline]
    pub fn step(&mut self, now: Ns, until_ns: Ns) -> Ns {
        self.timed.as_mut().map_or(now, |timed| timed.step(until_ns, &mut self.events, &mut self.completed))
    }

    /// Takes one of the tags whose operations have ended, oldest last.
    #[inline]
    pub fn take_completed(&mut self) -> Option<u32> {
        self.completed.pop()
    }

    /// Takes the place of the program of a page that cannot be stored, because too many blocks have failed. The tag
    /// comes back by [`Self::take_refused`] instead of [`Self::take_completed`].
    #[cold]
    pub fn refuse(&mut self, lpn: Lpn, mask: u32, tag: u32) {
        self.refused.push(Refused { lpn, mask, tag });
    }

    /// Takes a page whose program was refused, the latest first.
    pub fn take_refused(&mut self) -> Option<Refused> {
        self.refused.pop()
    }

    /// Whether operations take time.
    pub fn is_timed(&self) -> bool {
        self.timed.is_some()
    }

    /// Operations that were emitted and have not ended.
    pub fn in_flight(&self) -> u64 {
        self.timed.as_ref().map_or(0, |timed| timed.in_flight())
    }

    /// Checks a state that was loaded into a drive that had done nothing: no block has more pages or erases than it can
    /// have, and nothing is left for others to take.
    ///
    /// # Errors
    /// The first entry that cannot be, with its place.
    pub fn check_loaded(&self) -> Result<(), String> {
        let beyond = |(&written, block): (&u32, BlockId)| written > self.pages_of(block);
        let blocks = (0..).map(BlockId);
        if let Some((written, block)) = self.written.iter().zip(blocks).find(|&each| beyond(each)) {
            let (block, pages) = (block.0, self.pages_of(block));
            return Err(format!("NAND: {written} pages were written to block {block}, which has {pages}"));
        }
        if let Some(block) = self.erase_counts.iter().position(|&erases| erases > Self::MOST_ERASES) {
            return Err(format!("NAND: block {block} was erased more than {} times", Self::MOST_ERASES));
        }
        if let Some(known) = self.known() {
            known.check_loaded(&self.written, &self.erase_counts)?;
        }
        match self.completed.len() {
            0 => self.check(),
            left => Err(format!("NAND: {left} operations have ended, and nobody was told")),
        }
    }

    /// Checks the accounts at the end of a run: nothing in flight, every refused page taken.
    pub fn check(&self) -> Result<(), String> {
        match (self.in_flight(), self.refused.len()) {
            (0, 0) => self.timed.as_ref().map_or(Ok(()), |timed| timed.check()),
            (0, left) => Err(format!("NAND: {left} pages were refused, and nobody was told")),
            (left, _) => Err(format!("NAND: {left} operations never ended")),
        }
    }

    #[inline]
    fn notify(&mut self, tag: u32) {
        if tag != Self::NO_TAG {
            self.completed.push(tag);
        }
    }
}
