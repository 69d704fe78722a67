//! The NAND array: geometry, and two back ends for the flash operations that an FTL emits.
//!
//! The FTL decides and updates its state first, then emits reads, programs, copies and erases to [`Nand`]. In
//! *counting* mode they are only counted (and checked); in *timed* mode they queue for planes, dies and channels and
//! complete in simulated time, never before what they depend on. With verification on, a [`Verifier`] that knows
//! nothing of the FTL follows every command and every sector's contents.

mod contents;
mod event;
mod failures;
mod geometry;
mod operation;
mod params;
mod preset;
mod timed;
mod verify;

pub use contents::Contents;
pub use event::{Command, Event, OperationKind};
pub use geometry::{Geometry, Shape};
pub use operation::{Counts, Data, Expect, OpId, Origin, Status, Urgency};
pub use params::{DeviceParams, DieOrder, MultiPlane, Suspend, Timing};
pub use preset::{Figure, PRESETS, Preset, preset};
pub use timed::Utilization;
pub use verify::{Payload, Verifier};

use flashloom_units::{BlockId, Lpn, NO_INDEX, Ns, Ppn, Prng};
use serde::{Deserialize, Serialize};

use failures::Failures;
use operation::{Kind, Operation};
use timed::Timed;

/// The array with its back end.
pub struct Nand {
    geometry: Geometry,
    counts: Counts,
    /// Pages programmed in each block since its last erase, as emitted.
    written: Vec<u32>,
    /// Erases of each block that passed, since the array was new.
    erase_counts: Vec<u32>,
    timed: Option<Box<Timed>>,
    verifier: Option<Box<Verifier>>,
    failures: Option<Box<Failures>>,
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
        nested written, erase_counts, timed, verifier, failures;
        fixed geometry;
    }
}

impl Nand {
    /// A tag that asks for no notice of completion.
    pub const NO_TAG: u32 = NO_INDEX;

    /// An array of erased blocks in counting mode, none of which is bad or fails. With `verify`, every command and sector
    /// is followed.
    pub fn new(params: &DeviceParams, verify: bool) -> Self {
        let geometry = params.geometry();
        Self {
            geometry,
            counts: Counts::default(),
            written: vec![0; geometry.total_blocks() as usize],
            erase_counts: vec![0; geometry.total_blocks() as usize],
            timed: None,
            verifier: verify.then(|| Box::new(Verifier::new(geometry, params.logical_pages()))),
            failures: None,
            completed: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// The same array with the blocks that the parameters make bad or let fail, drawn from branches of `prng`.
    #[must_use]
    pub fn with_failures(mut self, params: &DeviceParams, prng: &Prng) -> Self {
        self.failures = Failures::new(params, prng).map(Box::new);
        if let (Some(verifier), Some(failures)) = (&mut self.verifier, &self.failures) {
            let blocks = (0..self.geometry.total_blocks() as u32).map(BlockId);
            blocks.filter(|&block| failures.is_bad(block)).for_each(|block| verifier.mark_bad(block));
        }
        self
    }

    /// Whether a block is marked as bad: from birth, or since an operation on it failed.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.is_bad(block))
    }

    /// Whether blocks can go bad in use.
    pub fn can_fail(&self) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.can_grow())
    }

    /// From now on operations take time; what was emitted before is done.
    pub fn start_timing(&mut self, params: &DeviceParams) {
        assert!(self.timed.is_none(), "an array is put into timed mode once");
        self.timed = Some(Box::new(Timed::new(params, &self.written)));
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
    }

    /// The checks of a verified run.
    pub fn verifier(&mut self) -> Option<&mut Verifier> {
        self.verifier.as_deref_mut()
    }

    /// Host sectors compared so far; nothing where verification is off.
    pub fn sectors_checked(&self) -> Option<u64> {
        self.verifier.as_ref().map(|verifier| verifier.sectors_checked())
    }

    /// How busy the array was; nothing in counting mode.
    pub fn utilization(&self) -> Option<Utilization> {
        self.timed.as_ref().map(|timed| timed.utilization())
    }

    /// Reads the sectors in the mask of a page. `tag` is handed back when the data is there.
    pub fn read(&mut self, ppn: Ppn, mask: u32, origin: Origin, expect: Expect, tag: u32) -> OpId {
        self.read_with(ppn, mask, origin, Urgency::Needed, expect, OpId::DONE, tag)
    }

    /// As [`Self::read`], but starts after `after`: where a page is must be known before it is read.
    pub fn read_after(&mut self, ppn: Ppn, mask: u32, origin: Origin, expect: Expect, after: OpId, tag: u32) -> OpId {
        self.read_with(ppn, mask, origin, Urgency::Needed, expect, after, tag)
    }

    /// Whether operations are only counted: they take no time, and nobody follows them.
    #[inline]
    fn only_counts(&self) -> bool {
        self.timed.is_none() && self.verifier.is_none()
    }

    #[allow(clippy::too_many_arguments)] // As below.
    #[inline(always)] // Counting is a few instructions.
    fn read_with(
        &mut self,
        ppn: Ppn,
        mask: u32,
        origin: Origin,
        urgency: Urgency,
        expect: Expect,
        after: OpId,
        tag: u32,
    ) -> OpId {
        self.counts.reads[origin as usize] += 1;
        if self.only_counts() {
            self.notify(tag);
            return OpId::DONE;
        }
        self.emit_read(ppn, mask, origin, urgency, expect, after, tag)
    }

    #[allow(clippy::too_many_arguments)] // As below.
    fn emit_read(
        &mut self,
        ppn: Ppn,
        mask: u32,
        origin: Origin,
        urgency: Urgency,
        expect: Expect,
        after: OpId,
        tag: u32,
    ) -> OpId {
        let Some(timed) = &mut self.timed else {
            if let Some(verifier) = &mut self.verifier {
                verifier.start(Kind::Read, ppn, Ppn::NONE, self.geometry.block_of(ppn));
                verifier.end_read(ppn, mask, expect);
            }
            self.notify(tag);
            return OpId::DONE;
        };
        let payload = match expect {
            Expect::Stamps(payload) => payload,
            Expect::Anything => Payload::NONE,
        };
        let block = self.geometry.block_of(ppn);
        let operation = Operation { payload, mask, urgency, ..Operation::new(Kind::Read, ppn, block, origin, tag) };
        timed.issue_read(operation, after)
    }

    /// Programs the next page of a block. It starts after `after`, after every page below it, and after a pending
    /// erase of the block; `tag` is handed back when it ends, unless it fails.
    #[inline]
    pub fn program(&mut self, block: BlockId, page: u32, origin: Origin, data: Data, after: OpId, tag: u32) -> Status {
        self.program_with(block, page, origin, Urgency::Needed, data, after, tag)
    }

    #[allow(clippy::too_many_arguments)] // Each says one thing of the command; the public forms are its only callers.
    #[inline(always)] // Counting is a few instructions.
    fn program_with(
        &mut self,
        block: BlockId,
        page: u32,
        origin: Origin,
        urgency: Urgency,
        data: Data,
        after: OpId,
        tag: u32,
    ) -> Status {
        let failed = self.count_program(block, page, origin);
        if self.only_counts() {
            self.notify(if failed { Self::NO_TAG } else { tag });
            return Status::new(failed, OpId::DONE);
        }
        self.emit_program(block, page, origin, urgency, data, after, tag, failed)
    }

    #[allow(clippy::too_many_arguments)] // As above.
    fn emit_program(
        &mut self,
        block: BlockId,
        page: u32,
        origin: Origin,
        urgency: Urgency,
        data: Data,
        after: OpId,
        tag: u32,
        failed: bool,
    ) -> Status {
        // A program that fails leaves nothing, and its data is still to be written.
        let (data, tag) = if failed { (Data::Map, Self::NO_TAG) } else { (data, tag) };
        let ppn = self.geometry.page(block, page);
        let Some(timed) = &mut self.timed else {
            if let Some(verifier) = &mut self.verifier {
                verifier.start(Kind::Program, ppn, Ppn::NONE, block);
                verifier.end_program(ppn, data, false, failed);
            }
            self.notify(tag);
            return Status::new(failed, OpId::DONE);
        };
        let (payload, mask, from) = match data {
            Data::Host { payload, mask, base } => (payload, mask, base),
            Data::Copy(from) => (Payload::NONE, 0, from),
            Data::Map => (Payload::NONE, 0, Ppn::NONE),
        };
        let operation = Operation {
            payload,
            mask,
            from,
            urgency,
            failed,
            ..Operation::new(Kind::Program, ppn, block, origin, tag)
        };
        Status::new(failed, timed.issue_program(operation, after))
    }

    /// Accounts for a program; whether it fails.
    #[inline]
    fn count_program(&mut self, block: BlockId, page: u32, origin: Origin) -> bool {
        debug_assert_eq!(self.written[block.at()], page, "pages of a block are programmed in order");
        self.written[block.at()] = page + 1;
        self.counts.programs[origin as usize] += 1;
        let Some(failures) = &mut self.failures else { return false };
        let failed = failures.program_fails(block);
        self.counts.failed_programs[origin as usize] += u64::from(failed);
        failed
    }

    /// Programs the next page of a block with nothing that is ever read, because pages above it are needed.
    pub fn fill(&mut self, block: BlockId, page: u32, origin: Origin, urgency: Urgency) {
        self.program_with(block, page, origin, urgency, Data::Map, OpId::DONE, Self::NO_TAG);
    }

    /// Copies a page to the next page of a block: within the die where the drive can (copyback) and both are in one
    /// plane, else by a read and a program. Counts as both.
    pub fn copy(&mut self, from: Ppn, to: BlockId, page: u32, origin: Origin, urgency: Urgency) -> Status {
        let source = self.geometry.block_of(from);
        if self.timed.as_ref().is_some_and(|timed| timed.can_copy_back(&self.geometry, from, source, to)) {
            self.counts.reads[origin as usize] += 1;
            let failed = self.count_program(to, page, origin);
            let copyback = Operation::new(Kind::Copyback, self.geometry.page(to, page), to, origin, Self::NO_TAG);
            let operation = Operation { from, urgency, failed, ..copyback };
            let issued = self.timed.as_mut().map(|timed| timed.issue_program(operation, OpId::DONE));
            return Status::new(failed, issued.unwrap_or(OpId::DONE));
        }
        let mask = self.geometry.full_mask();
        let read = self.read_with(from, mask, origin, urgency, Expect::Anything, OpId::DONE, Self::NO_TAG);
        self.program_with(to, page, origin, urgency, Data::Copy(from), read, Self::NO_TAG)
    }

    /// Programs the page of a copy that failed to another block, after the failed one: its data is in the controller.
    pub fn copy_again(
        &mut self,
        from: Ppn,
        to: BlockId,
        page: u32,
        origin: Origin,
        urgency: Urgency,
        failed: OpId,
    ) -> Status {
        self.program_with(to, page, origin, urgency, Data::Copy(from), failed, Self::NO_TAG)
    }

    /// Erases a block after everything that was emitted for it, the programs of its copies included.
    pub fn erase(&mut self, block: BlockId, origin: Origin, urgency: Urgency) -> Status {
        self.written[block.at()] = 0;
        self.counts.erases[origin as usize] += 1;
        let failed = self.failures.as_mut().is_some_and(|failures| failures.erase_fails(block));
        self.counts.failed_erases[origin as usize] += u64::from(failed);
        self.erase_counts[block.at()] += u32::from(!failed);
        let first = self.geometry.page(block, 0);
        match (&mut self.timed, &mut self.verifier) {
            (Some(timed), _) => {
                let operation =
                    Operation { urgency, failed, ..Operation::new(Kind::Erase, first, block, origin, Self::NO_TAG) };
                return Status::new(failed, timed.issue_erase(operation));
            }
            (None, Some(verifier)) => {
                verifier.start(Kind::Erase, first, Ppn::NONE, block);
                verifier.end_erase(block, failed);
            }
            (None, None) => {}
        }
        Status::new(failed, OpId::DONE)
    }

    /// When the next event of the array is due; nothing while no operation is in flight. Asked after everything that is
    /// emitted at a moment has been, because dies begin what they can when this is asked.
    #[inline]
    pub fn next_event_ns(&mut self) -> Option<Ns> {
        self.timed.as_mut().and_then(|timed| timed.next_event_ns(&mut self.verifier))
    }

    /// Tells the array what time it is, before operations are emitted at that time.
    #[inline]
    pub fn set_now(&mut self, now: Ns) {
        if let Some(timed) = &mut self.timed {
            timed.set_now(now);
        }
    }

    /// Processes the next event, which must be due at `now`.
    pub fn step(&mut self, now: Ns) {
        if let Some(timed) = &mut self.timed {
            timed.set_now(now);
            timed.step(&mut self.verifier, &mut self.completed);
        }
    }

    /// Takes one of the tags whose operations have ended, oldest last.
    #[inline]
    pub fn take_completed(&mut self) -> Option<u32> {
        self.completed.pop()
    }

    /// Takes the place of the program of a page that cannot be stored, because too many blocks have failed. The tag
    /// comes back by [`Self::take_refused`] instead of [`Self::take_completed`], and the payload is dropped.
    #[cold]
    pub fn refuse(&mut self, lpn: Lpn, mask: u32, payload: Payload, tag: u32) {
        self.verifier.iter_mut().for_each(|verifier| verifier.drop_payload(payload));
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

    /// Checks that a verified run has found no violation so far.
    pub fn check_verified(&self) -> Result<(), String> {
        match self.verifier.as_ref().and_then(|verifier| verifier.violation()) {
            Some(violation) => Err(format!("verification: {violation}")),
            None => Ok(()),
        }
    }

    /// Checks the accounts at the end of a run: nothing in flight, every refused page taken, no violation found.
    pub fn check(&self) -> Result<(), String> {
        self.check_verified()?;
        match (self.in_flight(), self.refused.len()) {
            (0, 0) => Ok(()),
            (0, left) => Err(format!("NAND: {left} pages were refused, and nobody was told")),
            (left, _) => Err(format!("NAND: {left} operations never ended")),
        }
    }

    fn notify(&mut self, tag: u32) {
        if tag != Self::NO_TAG {
            self.completed.push(tag);
        }
    }
}
