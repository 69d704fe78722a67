//! What an FTL emits: reads, programs, copies and erases, which are counted, judged and, in timed mode, queued.

use crate::known::Note;
use crate::operation::Operation;
use crate::path::{Path, Plain};
use crate::reads::PageOfLife;
use crate::region::CellModes;
use crate::{
    BlockId, Command, Data, Emitted, Erase, Event, HostPage, Nand, OpId, OperationKind, Origin, PageContent, PageCopy,
    Ppn, Program, Read, Reading, Status, Urgency,
};

impl Nand {
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
        if self.judges { self.emit_judged_read(read) } else { self.emit_read_as(read, Note::Nothing, false) }
    }

    #[cold]
    fn emit_judged_read(&mut self, read: Read) -> OpId {
        let (note, failed) = self.ask(&read);
        self.emit_read_as(read, note, failed)
    }

    /// Emits a read of which that is known, also whether it fails if the policy was asked.
    #[inline(always)]
    fn emit_read_as(&mut self, read: Read, note: Note, failed: bool) -> OpId {
        let Read { ppn, mask, origin, urgency, lpn, after, tag } = read;
        let block = self.geometry.block_of(ppn);
        // Built separately for each use, so that it is written directly to its destination.
        let read = |row| {
            let blank = Operation::new(OperationKind::Read, ppn, block, origin, tag);
            Operation { lpn, mask, urgency, failed, row, ..blank }
        };
        if let (true, Some(timed)) = (self.is_plain, &mut self.timed) {
            return timed.issue_read(read(0), Note::Nothing, after, &mut Plain);
        }
        let row = self.row_of(block, CellModes::reads);
        if let Some(timed) = &mut self.timed {
            return timed.issue_read(read(row), note, after, &mut self.events);
        }
        if after == OpId::UNREADABLE && lpn.is_some() {
            self.miss(&read(row));
        } else if self.do_at_once(read(row), note) && origin == Origin::Map {
            return OpId::UNREADABLE;
        }
        OpId::DONE
    }

    /// Decides a read when it is emitted: its retries, and whether it fails. Host reads and reads of the map are
    /// decided when they are executed.
    fn ask(&mut self, read: &Read) -> (Note, bool) {
        if read.lpn.is_some() || read.origin == Origin::Map {
            return (Note::NotAsked, false);
        }
        let Reading { retries, is_readable } = self.ask_copy(read.ppn, read.origin);
        (Note::Repeats(retries), !is_readable)
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
        // As in `read`.
        let program = |row| {
            let blank = Operation::new(OperationKind::Program, ppn, block, origin, tag);
            Operation { lpn, write, mask, from, urgency, failed, row, ..blank }
        };
        if let (true, Some(timed)) = (self.is_plain, &mut self.timed) {
            return Status::new(failed, timed.issue_program(program(0), Note::Nothing, after, &mut Plain));
        }
        if self.judges && from.is_some() && !matches!(data, Data::Map { .. }) {
            self.copy_lost(from, ppn, mask);
        }
        let row = self.row_of(block, CellModes::programs);
        self.note_first(block, page);
        let note = if let Data::Map { page, .. } = data { Note::Holds(PageContent::Map(page)) } else { Note::Nothing };
        if let Some(timed) = &mut self.timed {
            return Status::new(failed, timed.issue_program(program(row), note, after, &mut self.events));
        }
        self.do_at_once(program(row), note);
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
    fn do_at_once(&mut self, mut operation: Operation, note: Note) -> bool {
        if let Some(known) = &mut self.known.0 {
            known.do_at_once(&mut operation, note);
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
        if let (true, Some(timed)) = (self.is_plain, &mut self.timed) {
            let PageCopy { from, urgency, .. } = copy;
            let (source, to) = (self.geometry.block_of(from), self.geometry.page(block, page));
            let read = Operation::new(OperationKind::Read, from, source, origin, Self::NO_TAG);
            let read = Operation { mask: self.geometry.full_mask(), urgency, ..read };
            let after = timed.issue_read(read, Note::Nothing, OpId::DONE, &mut Plain);
            let program = Operation::new(OperationKind::Program, to, block, origin, Self::NO_TAG);
            let program = Operation { from, urgency, ..program };
            return Status::new(failed, timed.issue_program(program, Note::Nothing, after, &mut Plain));
        }
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
            return Status::new(failed, timed.issue_program(operation, Note::Nothing, OpId::DONE, events));
        }
        let read = Operation::new(OperationKind::Read, from, source, origin, Self::NO_TAG);
        let (mask, row_read) = (geometry.full_mask(), row_of_source);
        let read = Operation { mask, urgency, failed: !is_readable, row: row_read, ..read };
        let after = timed.issue_read(read, Note::Repeats(retries), OpId::DONE, events);
        let program = Operation::new(OperationKind::Program, to, block, origin, Self::NO_TAG);
        // A failed program stores nothing.
        let from = if failed { Ppn::NONE } else { from };
        let program = Operation { from, urgency, failed, row, ..program };
        Status::new(failed, timed.issue_program(program, Note::Nothing, after, events))
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
        self.do_at_once(erase, Note::Nothing);
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
                    self.do_at_once(erase, Note::Nothing);
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
}
