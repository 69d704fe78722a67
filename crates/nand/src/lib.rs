//! The NAND array: geometry, and two execution modes for the flash operations that an FTL emits.
//!
//! The FTL updates its own state first and then emits reads, programs, copies and erases to [`Nand`]. In *counting*
//! mode they are only counted (and checked). In *timed* mode they queue for planes, dies and channels and end in
//! simulated time, never before the operations that they depend on. Observers of the array, such as the checks of a
//! verified run, read its [`Event`]s; without observers none are recorded.

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
pub use operation::{ByOrigin, Counts, Emitted, OpId, Origin, Status, Urgency};
pub use params::{DieOrder, Energy, MultiPlane, NandParams, Rating, Suspend, Timing};
pub use reads::ReadCounts;
pub use region::{CellMode, OtherPages, Region};
pub use reliability::{PageCondition, Reading, Reliability};
pub use timed::{Busiest, PageReads, Together, Utilization};

use flashloom_units::{Figure, NO_INDEX, Ns, Prng, Reader, State, StateError, Writer};
use serde::{Deserialize, Serialize};

use failures::Failures;
use known::{Known, MaybeKnown};
use labels::Labels;
use operation::Operation;
use reads::{PageOfLife, Reads};
use region::CellModes;
use spread::Spread;
use timed::Timed;

/// The array, in counting or timed mode.
pub struct Nand {
    geometry: Geometry,
    counts: Counts,
    /// Write pointer of each block: pages programmed since its last erase, as emitted.
    written: Vec<u32>,
    /// Successful erases of each block since the array was new.
    erase_counts: Vec<u32>,
    timed: Option<Box<Timed>>,
    /// Events since they were last taken, if they are recorded.
    events: Events,
    failures: Option<Box<Failures>>,
    /// Optional data about pages, until [`Self::start_timing`] passes it on.
    known: MaybeKnown,
    /// Whether operations are more than counted: in timed mode, or with an observer.
    is_followed: bool,
    /// Whether the policy of read reliability is called.
    judges: bool,
    /// The other cell mode, if some blocks are or can be used in another one than the array's.
    cells: Option<Box<CellModes>>,
    /// The times of each block and page, if they differ.
    spread: Option<Spread>,
    completed: Vec<u32>,
    refused: Vec<Refused>,
}

/// A page whose write the FTL refused, because it has no place to store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The logical page.
    pub lpn: Lpn,
    /// Mask of the sectors to be written; the others keep their data.
    pub mask: u32,
    /// Tag of its program, or [`Nand::NO_TAG`].
    pub tag: u32,
}

// A state saved in timed mode can be loaded in timed mode only, and one saved in counting mode in counting mode only.
// The part about another cell mode is last, and only there if the array has one, so that other states stay as they are.
impl State for Nand {
    fn save(&self, to: &mut Writer) {
        let Self { counts, completed, refused, written, erase_counts, timed, failures, known, cells, .. } = self;
        let Self { geometry: _, events: _, spread: _, is_followed: _, judges: _, .. } = self;
        counts.save(to);
        to.value(completed);
        to.value(refused);
        written.save(to);
        erase_counts.save(to);
        timed.save(to);
        failures.save(to);
        known.save(to);
        if let Some(cells) = cells {
            counts.save_folds(to);
            cells.save(to);
            timed.iter().for_each(|timed| timed.in_other.save(to));
            timed.iter().for_each(|timed| to.value(&timed.moved_to_other));
            self.known().and_then(|known| known.reads.as_ref()).iter().for_each(|reads| reads.save_folds(to));
        }
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let Self { counts, completed, refused, written, erase_counts, timed, failures, known, .. } = self;
        let within = |field: &'static str| move |error: StateError| error.within(field);
        counts.load(from).map_err(within("counts"))?;
        *completed = from.value().map_err(within("completed"))?;
        *refused = from.value().map_err(within("refused"))?;
        written.load(from).map_err(within("written"))?;
        erase_counts.load(from).map_err(within("erase_counts"))?;
        timed.load(from).map_err(within("timed"))?;
        failures.load(from).map_err(within("failures"))?;
        known.load(from).map_err(within("known"))?;
        if let Some(cells) = &mut self.cells {
            counts.load_folds(from).map_err(within("counts"))?;
            cells.load(from).map_err(within("cells"))?;
            if let Some(timed) = timed {
                timed.in_other.load(from).map_err(within("in_other"))?;
                timed.moved_to_other = from.value().map_err(within("moved_to_other"))?;
            }
            if let Some(reads) = self.known_mut().and_then(|known| known.reads.as_mut()) {
                reads.load_folds(from).map_err(within("known"))?;
            }
        }
        Ok(())
    }
}

/// Events of the array, if they are recorded.
#[derive(Default)]
struct Events(Option<Box<Recorded>>);

impl Events {
    /// Records an event, if events are recorded.
    #[inline(always)]
    fn tell(&mut self, event: impl FnOnce() -> Event) {
        if let Some(recorded) = &mut self.0 {
            recorded.push(event());
        }
    }
}

/// Behind a pointer, and filled in a cold function, because events are rarely recorded.
#[derive(Default)]
struct Recorded(Vec<Event>);

impl Recorded {
    #[cold]
    fn push(&mut self, event: Event) {
        self.0.push(event);
    }
}

impl Nand {
    /// Upper bound of the erases of a block in a saved drive, so that 32-bit counters cannot overflow.
    const MOST_ERASES: u32 = u32::MAX / 2;

    /// A tag of operations whose end is not reported.
    pub const NO_TAG: u32 = NO_INDEX;

    /// An array of erased blocks in counting mode, without bad or failing blocks.
    pub fn new(params: &NandParams) -> Self {
        let geometry = params.geometry();
        Self {
            geometry,
            counts: Counts::default(),
            written: vec![0; geometry.total_blocks() as usize],
            erase_counts: vec![0; geometry.total_blocks() as usize],
            timed: None,
            events: Events::default(),
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

    /// Adds bad and failing blocks according to the parameters, drawn from branches of `prng`.
    #[must_use]
    pub fn with_failures(mut self, params: &NandParams, prng: &Prng) -> Self {
        self.failures = Failures::new(params, prng).map(Box::new);
        self
    }

    /// Gives each block and page times of its own, as the parameters say, drawn from a branch of `prng`.
    #[must_use]
    pub fn with_spread(mut self, params: &NandParams, prng: &Prng) -> Self {
        self.spread = Spread::new(params, prng);
        self
    }

    /// Keeps the out-of-band data of all pages ([`Self::out_of_band`]), for a drive that has to find its data again
    /// after a loss of power or that holds real data. Without this call it costs nothing.
    #[must_use]
    pub fn with_out_of_band(mut self) -> Self {
        self.known_anew().labels = Some(Labels::new(&self.geometry));
        self
    }

    /// Sets the policy of read reliability.
    #[must_use]
    pub fn with_reliability(mut self, policy: Box<dyn Reliability>) -> Self {
        if policy.is_asked() {
            self.known_anew().reads = Some(Reads::new(&self.geometry, policy));
            self.judges = true;
        }
        self
    }

    /// The optional data about pages, created on the first call. For an array under construction.
    fn known_anew(&mut self) -> &mut Known {
        self.is_followed = true;
        self.known.0.get_or_insert_default()
    }

    /// The out-of-band data of a page as it is in the cells now. `None` if the page is erased, if its program failed,
    /// or if the array does not keep such data.
    pub fn out_of_band(&self, ppn: Ppn) -> Option<OutOfBand> {
        self.known().and_then(|known| known.labels.as_ref()).and_then(|labels| labels.get(ppn))
    }

    /// Counters of reads that did not succeed at once; `None` for an array whose reads always do.
    pub fn read_counts(&self) -> Option<ReadCounts> {
        self.known().and_then(|known| known.reads.as_ref()).map(|reads| reads.counts)
    }

    /// Values of the statistics of the policy of read reliability.
    pub fn reliability_figures(&self) -> Vec<Figure> {
        self.known().and_then(|known| known.reads.as_ref()).map(|reads| reads.policy.figures()).unwrap_or_default()
    }

    /// The sectors that the read of a tag returned by [`Self::take_completed`] lacks, if it ended without its data.
    /// Call once for each.
    #[inline(always)]
    pub fn take_unreadable(&mut self, tag: u32) -> Option<u32> {
        if self.judges { self.find_unreadable(tag) } else { None }
    }

    #[cold]
    fn find_unreadable(&mut self, tag: u32) -> Option<u32> {
        self.known_mut().and_then(|known| known.take_unreadable(tag))
    }

    fn known(&self) -> Option<&Known> {
        self.timed.as_ref().map_or(&self.known, |timed| &timed.known).0.as_deref()
    }

    #[inline]
    fn known_mut(&mut self) -> Option<&mut Known> {
        self.timed.as_mut().map_or(&mut self.known, |timed| &mut timed.known).0.as_deref_mut()
    }

    /// Number of pages in a block.
    pub fn pages_of(&self, block: BlockId) -> u32 {
        let cells = self.cells.as_ref().filter(|cells| cells.has(block));
        cells.map_or(self.geometry.pages, |cells| cells.other.pages)
    }

    /// Whether a block is bad: from the factory, or since an operation on it failed.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.is_bad(block))
    }

    /// Write pointer of a block: pages programmed since its last erase, as emitted.
    pub fn written(&self, block: BlockId) -> u32 {
        self.written[block.at()]
    }

    /// Whether blocks can fail in use.
    pub fn can_fail(&self) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.can_grow())
    }

    /// Switches to timed mode. All operations emitted before have ended.
    pub fn start_timing(&mut self, params: &NandParams) {
        assert!(self.timed.is_none(), "an array is put into timed mode once");
        let known = std::mem::take(&mut self.known);
        let uneven = (self.cells.as_deref(), self.spread);
        self.timed = Some(Box::new(Timed::new(params, &self.written, uneven, known)));
        self.is_followed = true;
    }

    /// Ends the time of an array at rest: it only counts again, as if all operations had been counted. Pages lose their
    /// age.
    ///
    /// # Panics
    /// Operations are in flight.
    pub fn stop_timing(&mut self) {
        assert_eq!(self.in_flight(), 0, "an array whose time ends is at rest");
        self.begin_anew();
    }

    /// Ends the time of an array whatever it does, and all observation, for a state in counting mode that is loaded
    /// next.
    pub fn break_off(&mut self) {
        self.events = Events::default();
        self.begin_anew();
        self.known.0.iter_mut().for_each(|known| known.unreadable.clear());
    }

    fn begin_anew(&mut self) {
        if let Some(timed) = self.timed.take() {
            self.known = timed.into_known();
        }
        self.is_followed = self.is_watched() || self.known.0.is_some();
    }

    /// Geometry of the array.
    #[inline(always)]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Operations so far, by kind and origin.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Erase count of each block since the array was new.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erase_counts
    }

    /// Resets all counters after preconditioning. Wear is kept.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
        self.cells.iter_mut().for_each(|cells| cells.reset_counts());
        if let Some(reads) = self.known_mut().and_then(|known| known.reads.as_mut()) {
            reads.counts = ReadCounts::default();
        }
    }

    /// Records [`Self::events`] from now on.
    pub fn watch(&mut self) {
        self.events.0.get_or_insert_default();
        self.is_followed = true;
    }

    /// Whether [`Self::watch`] was called.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.events.0.is_some()
    }

    /// Events since the last call, in order. Their time is the last one given to the array.
    pub fn events(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.events.0.iter_mut().flat_map(|recorded| recorded.0.drain(..))
    }

    /// Records that the FTL begins a job, which will free this block.
    #[inline]
    pub fn begin_job(&mut self, origin: Origin, block: BlockId) {
        self.events.tell(|| Event::JobBegan { origin, block });
    }

    /// Records that a job of the FTL has ended.
    #[inline]
    pub fn end_job(&mut self, origin: Origin, block: BlockId) {
        self.events.tell(|| Event::JobEnded { origin, block });
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
        // Built only here: in counting mode the read never has to be in memory.
        self.emit_read(Read { ppn, mask, origin, urgency, lpn, after, tag })
    }

    /// Whether operations are only counted: counting mode without observers.
    #[inline]
    pub fn only_counts(&self) -> bool {
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

    /// Emits a read with known retries, or [`Operation::NOT_ASKED`], and known success.
    #[inline(always)]
    fn emit_read_as(&mut self, read: Read, write: u32, failed: bool) -> OpId {
        let Read { ppn, mask, origin, urgency, lpn, after, tag } = read;
        let block = self.geometry.block_of(ppn);
        let row = self.row_of(block, CellModes::reads);
        // Built separately for each use, so that it is written directly to its destination.
        let read = || {
            let blank = Operation::new(OperationKind::Read, ppn, block, origin, tag);
            Operation { lpn, mask, urgency, write, failed, row, ..blank }
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

    /// Decides a read when it is emitted: its retries, and whether it fails. Host reads and reads of the map are
    /// decided when they are executed.
    fn ask(&mut self, read: &Read) -> (u32, bool) {
        if read.lpn.is_some() || read.origin == Origin::Map {
            return (Operation::NOT_ASKED, false);
        }
        let Reading { retries, is_readable } = self.ask_copy(read.ppn, read.origin);
        (retries.into(), !is_readable)
    }

    /// Decides the read of a page that provides data for a program.
    fn ask_copy(&mut self, from: Ppn, origin: Origin) -> Reading {
        let (source, is_in_other) = (self.of_life(from), self.has_other_cells(self.geometry.block_of(from)));
        let (now, is_programmed) = self.timed.as_ref().map_or((0, true), |timed| timed.sees(from));
        match self.known_mut().and_then(|known| known.reads.as_mut()) {
            Some(reads) => reads.ask(now, source, is_programmed, origin, is_in_other),
            None => Reading::AT_ONCE,
        }
    }

    /// A page in the current life of its block, as the FTL sees it.
    fn of_life(&self, ppn: Ppn) -> PageOfLife {
        (ppn, self.erase_counts[self.geometry.block_of(ppn).at()])
    }

    /// Passes lost sectors on to a program that takes data from another page, except for the sectors that it writes
    /// itself.
    #[cold]
    fn copy_lost(&mut self, from: Ppn, to: Ppn, own: u32) {
        let (from, to) = (self.of_life(from), self.of_life(to));
        if let Some(reads) = self.known_mut().and_then(|known| known.reads.as_mut()) {
            reads.copy(from, to, own);
        }
    }

    /// The identity of an operation just emitted; `None` if it has ended, as all have in counting mode.
    pub fn emitted(&self, operation: OpId) -> Option<Emitted> {
        let Operation { sequence, .. } = *self.timed.as_ref()?.operations.get(operation.0 as usize)?;
        (sequence != Operation::ENDED).then_some(Emitted { number: operation.0, sequence })
    }

    /// The operation with this identity, to order others after it; [`OpId::DONE`] if it has ended.
    pub fn in_flight_of(&self, emitted: Emitted) -> OpId {
        let operation = self.timed.as_ref().and_then(|timed| timed.operations.get(emitted.number as usize));
        let is_it = operation.is_some_and(|operation| operation.sequence == emitted.sequence);
        if is_it { OpId(emitted.number) } else { OpId::DONE }
    }

    /// Whether the program of a page has ended, as all have in counting mode.
    pub fn is_programmed(&self, ppn: Ppn) -> bool {
        self.timed.as_ref().is_none_or(|timed| timed.sees(ppn).1)
    }

    /// Takes a read of the map that has ended without its data, the latest first. A mapping that reads pages of its own
    /// takes them all before it uses what it has read.
    #[inline]
    pub fn take_unreadable_map(&mut self) -> Option<Emitted> {
        self.timed.as_mut().filter(|_| self.judges).and_then(|timed| timed.unreadable_map.pop())
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
        // As in `read`.
        self.emit_program(Program { block, page, data, origin, urgency, after, tag }, failed)
    }

    #[inline(always)]
    fn emit_program(&mut self, program: Program, failed: bool) -> Status {
        let Program { block, page, data, origin, urgency, after, tag } = program;
        // A failed program stores nothing; its data still has to be written elsewhere.
        let nothing = (HostPage::NONE, Ppn::NONE, Self::NO_TAG);
        let (page_of_host, from) = data.parts();
        let (HostPage { lpn, mask, write }, from, tag) = if failed { nothing } else { (page_of_host, from, tag) };
        let ppn = self.geometry.page(block, page);
        if self.judges && from.is_some() && !matches!(data, Data::Map { .. }) {
            self.copy_lost(from, ppn, mask);
        }
        let row = self.row_of(block, CellModes::programs);
        self.note_first(block, page);
        // As in `read`.
        let program = || {
            let blank = Operation::new(OperationKind::Program, ppn, block, origin, tag);
            Operation { lpn, write, mask, from, urgency, failed, row, ..blank }
        };
        if let Some(timed) = &mut self.timed {
            return Status::new(failed, timed.issue_program(program(), after, &mut self.events));
        }
        self.do_at_once(program());
        Status::new(failed, OpId::DONE)
    }

    /// Tells the array's timed part, if it has another cell mode, when a life of a block begins.
    #[inline(always)]
    fn note_first(&mut self, block: BlockId, page: u32) {
        if let (0, Some(cells), Some(timed)) = (page, &self.cells, &mut self.timed) {
            timed.program_first(block, cells.has(block));
        }
    }

    /// Counting mode: ends an operation when it is emitted, and reports it to observers. Returns whether it failed.
    fn do_at_once(&mut self, mut operation: Operation) -> bool {
        if let Some(known) = &mut self.known.0 {
            known.do_at_once(&mut operation);
        }
        if self.is_watched() {
            let command = self.command_at_once(&operation);
            self.events.tell(|| Event::Issued(command, None));
            self.events.tell(|| Event::Started { command, array_from: 0, transfer_ns: 0, is_staged: false });
            self.events.tell(|| Event::Ended { command, failed: operation.failed });
        }
        self.notify(operation.tag);
        operation.failed
    }

    /// An operation without time as observers see it. It keeps only the row of its block's first page.
    fn command_at_once(&self, operation: &Operation) -> Command {
        let die = self.geometry.die_of(self.geometry.plane_of(operation.block));
        operation.command(0, die, self.geometry.pages)
    }

    /// Ends a host read that is given up because the map page with its address could not be read.
    #[cold]
    fn miss(&mut self, read: &Operation) {
        if let Some(known) = &mut self.known.0 {
            known.missed(read);
        }
        let command = self.command_at_once(read);
        self.events.tell(|| Event::Issued(command, None));
        self.events.tell(|| Event::Missed { command });
        self.notify(read.tag);
    }

    /// Counts a program; returns whether it fails.
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

    /// Copies a page to the next page of a block; counts as a read and a program. If the drive has copyback and both
    /// pages are in one plane, the copy stays within the die. To emit the reads of several pages before their programs,
    /// so that the programs can run together, emit a [`Read`] for each and then a [`Program`] of [`Data::Copy`] ordered
    /// after it.
    pub fn copy(&mut self, copy: PageCopy) -> Status {
        let PageCopy { from, block, page, origin, urgency } = copy;
        if self.timed.is_some() {
            return self.emit_copy(copy);
        }
        let after = self.read(Read { urgency, ..Read::new(from, self.geometry.full_mask(), origin) });
        self.program(Program { urgency, after, ..Program::new(block, page, Data::Copy(from), origin) })
    }

    /// Emits a copy in timed mode. A single function, because collections copy all the time.
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

    /// Emits a copy whose read has this outcome.
    #[inline(always)]
    fn emit_copy_as(&mut self, copy: PageCopy, failed: bool, reading: Reading) -> Status {
        let PageCopy { from, block, page, origin, urgency } = copy;
        let Reading { retries, is_readable } = reading;
        let source = self.geometry.block_of(from);
        let row_of_source = self.row_of(source, CellModes::reads);
        let row = self.row_of(block, CellModes::programs);
        self.note_first(block, page);
        let Some(timed) = &mut self.timed else { return Status::new(failed, OpId::DONE) };
        let (geometry, events) = (&self.geometry, &mut self.events);
        let to = geometry.page(block, page);
        // A page that needs correction, or that is stored in another cell mode, has to go through the controller.
        let is_as_it_is = row == row_of_source && is_readable && retries == 0;
        if is_as_it_is && timed.can_copy_back(from, source, block) {
            let copyback = Operation::new(OperationKind::Copyback, to, block, origin, Self::NO_TAG);
            let operation = Operation { from, urgency, failed, row, ..copyback };
            return Status::new(failed, timed.issue_program(operation, OpId::DONE, events));
        }
        let read = Operation::new(OperationKind::Read, from, source, origin, Self::NO_TAG);
        let (mask, write, row_read) = (geometry.full_mask(), retries.into(), row_of_source);
        let read = Operation { mask, urgency, write, failed: !is_readable, row: row_read, ..read };
        let after = timed.issue_read(read, OpId::DONE, events);
        let program = Operation::new(OperationKind::Program, to, block, origin, Self::NO_TAG);
        // A failed program stores nothing.
        let from = if failed { Ppn::NONE } else { from };
        Status::new(failed, timed.issue_program(Operation { from, urgency, failed, row, ..program }, after, events))
    }

    /// Counts copies to the pages `first` and following of a block at once. Returns false, and counts nothing, if
    /// copies have to be emitted one at a time: in timed mode, with observers, or if programs can fail.
    #[inline]
    pub fn count_copies(&mut self, block: BlockId, first: u32, pages: u32, origin: Origin) -> bool {
        let can_count = self.only_counts() && !self.can_fail();
        if can_count {
            self.counts.reads[origin as usize] += u64::from(pages);
            self.count_programs(block, first, pages, origin);
        }
        can_count
    }

    /// Counts programs of the pages `first` and following of a block at once, in an array that only counts
    /// ([`Self::only_counts`]) and whose programs do not fail.
    #[inline]
    pub fn count_programs(&mut self, block: BlockId, first: u32, pages: u32, origin: Origin) {
        debug_assert!(self.only_counts() && !self.can_fail(), "programs are counted where they are nothing else");
        debug_assert_eq!(self.written[block.at()], first, "pages of a block are programmed in order");
        self.written[block.at()] = first + pages;
        self.counts.programs[origin as usize] += u64::from(pages);
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

    /// Erases blocks on several planes of a die. Each erase waits for everything that was emitted for any of the
    /// blocks, so all become ready at the same time and, if the drive has multi-plane commands, run as one. Returns the
    /// number of failed erases.
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

    /// Counts an erase; returns whether it fails, and the operation.
    fn count_erase(&mut self, erase: Erase) -> (bool, Operation) {
        let Erase { block, origin, urgency } = erase;
        self.written[block.at()] = 0;
        self.counts.erases[origin as usize] += 1;
        let failed = self.failures.as_mut().is_some_and(|failures| failures.erase_fails(block));
        self.counts.failed_erases[origin as usize] += u64::from(failed);
        self.erase_counts[block.at()] += u32::from(!failed);
        let blank = Operation::new(OperationKind::Erase, self.geometry.page(block, 0), block, origin, Self::NO_TAG);
        let row = self.row_of(block, |cells, block| cells.has(block));
        self.cells.iter_mut().for_each(|cells| cells.erased(block, failed));
        (failed, Operation { urgency, failed, row, ..blank })
    }

    /// Time of the array's next event; `None` if no operation is in flight. Call after everything at the current
    /// timestamp has been emitted: dies begin operations in this call.
    #[inline]
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        self.timed.as_mut().and_then(|timed| timed.next_event_ns(&mut self.events))
    }

    /// Sets the array's time. Call before operations are emitted at that time.
    #[inline]
    pub fn set_now(&mut self, now: Ns) {
        if let Some(timed) = &mut self.timed {
            timed.set_now(now);
        }
    }

    /// Processes the next event, which must be due at `now`, and the following events up to `until_ns`, as long as none
    /// ends an operation with a tag, operations are in flight, and events are not recorded. Returns the time of the
    /// last one.
    #[inline]
    pub fn step(&mut self, now: Ns, until_ns: Ns) -> Ns {
        self.timed.as_mut().map_or(now, |timed| timed.step(until_ns, &mut self.events, &mut self.completed))
    }

    /// Takes the tag of one ended operation, the latest first.
    #[inline]
    pub fn take_completed(&mut self) -> Option<u32> {
        self.completed.pop()
    }

    /// Refuses a page that cannot be stored because too many blocks have failed; called in place of its program. The
    /// tag is returned by [`Self::take_refused`] instead of [`Self::take_completed`].
    #[cold]
    pub fn refuse(&mut self, lpn: Lpn, mask: u32, tag: u32) {
        self.refused.push(Refused { lpn, mask, tag });
    }

    /// Takes a refused page, the latest first.
    pub fn take_refused(&mut self) -> Option<Refused> {
        self.refused.pop()
    }

    /// Whether the array is in timed mode.
    pub fn is_timed(&self) -> bool {
        self.timed.is_some()
    }

    /// Number of operations in flight.
    pub fn in_flight(&self) -> u64 {
        self.timed.as_ref().map_or(0, |timed| timed.in_flight.into())
    }

    /// Checks a loaded state of a drive that had served nothing: no block has more pages or erases than possible, and
    /// there are no ended or refused operations to take.
    ///
    /// # Errors
    /// The first impossible entry, with its place.
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
        let (of_other, before) = self.erase_counts_of_other_cells();
        let is_fewer = |(few, many): (&[u32], &[u32])| few.iter().zip(many).all(|(few, many)| few <= many);
        if ![(before, of_other), (of_other, &self.erase_counts[..])].into_iter().all(is_fewer) {
            return Err("NAND: a block has more erases in one cell mode than in all".to_owned());
        }
        if let Some(known) = self.known() {
            known.check_loaded(&self.written, &self.erase_counts)?;
        }
        match self.completed.len() {
            0 => self.check(),
            left => Err(format!("NAND: {left} operations have ended, and nobody was told")),
        }
    }

    /// Checks the array at the end of a run: nothing is in flight, and every refused page was taken.
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
