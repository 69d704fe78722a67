//! The NAND array: geometry, and two execution modes for the flash operations that an FTL emits.
//!
//! The FTL updates its own state first and then emits reads, programs, copies and erases to [`Nand`]. In *counting*
//! mode they are only counted (and checked). In *timed* mode they queue for planes, dies and channels and end in
//! simulated time, never before the operations that they depend on. Observers of the array, such as the checks of a
//! verified run, read its [`Event`]s; without observers none are recorded.

mod command;
mod emission;
mod event;
mod failures;
mod geometry;
mod id;
mod known;
mod labels;
mod operation;
mod params;
mod path;
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
use path::{Events, Path, Plain};
use reads::Reads;
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
    /// Whether operations take the plain path of the timed array ([`path`]).
    is_plain: bool,
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
            is_plain: false,
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
        self.assert_new();
        self.failures = Failures::new(params, prng).map(Box::new);
        self
    }

    /// Gives each block and page times of its own, as the parameters say, drawn from a branch of `prng`.
    #[must_use]
    pub fn with_spread(mut self, params: &NandParams, prng: &Prng) -> Self {
        self.assert_new();
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

    /// What decides the path of operations is known when time starts.
    fn assert_new(&self) {
        assert!(self.timed.is_none(), "an array has its parts before its time starts");
    }

    /// The optional data about pages, created on the first call. For an array under construction.
    fn known_anew(&mut self) -> &mut Known {
        self.assert_new();
        self.is_followed = true;
        self.known.0.get_or_insert_default()
    }

    /// The out-of-band data of a page as it is in the cells now. `None` if the page is erased, if its program failed,
    /// or if the array does not keep such data.
    pub fn out_of_band(&self, ppn: Ppn) -> Option<OutOfBand> {
        self.known().and_then(|known| known.labels.as_ref()).and_then(|labels| labels.get(ppn))
    }

    /// Whether it keeps out-of-band data ([`Self::out_of_band`]).
    pub fn keeps_out_of_band(&self) -> bool {
        self.known().is_some_and(|known| known.labels.is_some())
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
        self.choose_path();
    }

    /// Chooses the path of operations: called when something that decides it has changed.
    fn choose_path(&mut self) {
        let has_plain_blocks = self.failures.is_none() && self.cells.is_none() && self.spread.is_none();
        let is_timed_plainly = self.timed.as_ref().is_some_and(|timed| timed.is_plain());
        self.is_plain = is_timed_plainly && has_plain_blocks && !self.judges && !self.is_watched();
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
        self.choose_path();
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
        self.choose_path();
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

    /// Time of the array's next event; `None` if no operation is in flight. Call after everything at the current
    /// timestamp has been emitted: dies begin operations in this call.
    #[inline]
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        let Self { timed, events, is_plain, .. } = self;
        let timed = timed.as_mut()?;
        if *is_plain { timed.next_event_ns(&mut Plain) } else { timed.next_event_ns(events) }
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
        let Self { timed, events, completed, is_plain, .. } = self;
        match timed {
            None => now,
            Some(timed) if *is_plain => timed.step(until_ns, &mut Plain, completed),
            Some(timed) => timed.step(until_ns, events, completed),
        }
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
