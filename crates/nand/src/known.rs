//! Optional data about physical pages, behind one pointer that is null if nobody needs it.

use serde::{Deserialize, Serialize};

use flashloom_units::{Ns, Reader, State, StateError, Writer};

use crate::event::OperationKind;
use crate::labels::{Labels, PageContent};
use crate::operation::Operation;
use crate::reads::{MOST_COUNTED, Reads};

/// What is known of one operation, beside what every array knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Note {
    /// Nothing.
    Nothing,
    /// A program of a page with these contents.
    Holds(PageContent),
    /// A read that will be repeated so often.
    Repeats(u16),
    /// A read whose repetitions are decided when it is begun, by the policy of read reliability.
    NotAsked,
}

impl Note {
    /// The contents of a page that is programmed.
    pub(crate) fn content(self) -> PageContent {
        if let Self::Holds(content) = self { content } else { PageContent::Filler }
    }

    /// How often a read is repeated, as far as that is decided.
    pub(crate) fn repeats(self) -> u16 {
        if let Self::Repeats(times) = self { times } else { 0 }
    }
}

/// Optional data about pages.
#[derive(Default)]
pub(crate) struct Known {
    /// Out-of-band data.
    pub(crate) labels: Option<Labels>,
    /// Data for a policy of read reliability.
    pub(crate) reads: Option<Reads>,
    /// Notes of the operations in flight, by number.
    pub(crate) notes: Vec<Note>,
    /// Number of operations before time began.
    pub(crate) sequence: u64,
    /// Tags of reads that have ended without their data and have not been taken, and the sectors that they lack.
    pub(crate) unreadable: Vec<(u32, u32)>,
}

/// Whether it exists follows from the configuration. If it does not, there is nothing to save.
#[derive(Default)]
pub(crate) struct MaybeKnown(pub(crate) Option<Box<Known>>);

impl State for MaybeKnown {
    fn save(&self, to: &mut Writer) {
        if let Some(Known { labels, reads, notes, sequence, unreadable }) = self.0.as_deref() {
            debug_assert!(unreadable.is_empty(), "they are taken as soon as they are told of");
            labels.save(to);
            reads.save(to);
            to.value(notes);
            to.value(sequence);
        }
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        if let Some(Known { labels, reads, notes, sequence, .. }) = self.0.as_deref_mut() {
            labels.load(from)?;
            reads.load(from)?;
            *notes = from.value()?;
            *sequence = from.value()?;
        }
        Ok(())
    }
}

impl Known {
    /// What a program writes, as the FTL sees it when it emits the program: a copy may end before its source has, whose
    /// data then comes from where the source is copied from. `writer` is the program of the source, if it is in flight.
    pub(crate) fn written(&self, program: &Operation, note: Note, writer: Option<u32>) -> Note {
        let Some(labels) = &self.labels else { return Note::Nothing };
        match writer {
            _ if note != Note::Nothing => note,
            _ if program.lpn.is_some() => Note::Holds(PageContent::Host(program.lpn)),
            _ if program.from.is_none() => Note::Holds(PageContent::Filler),
            Some(number) => self.notes[number as usize],
            None => Note::Holds(labels.get(program.from).map_or(PageContent::Filler, |label| label.content)),
        }
    }

    /// Notes what is known of an operation in flight.
    #[cold]
    pub(crate) fn note(&mut self, number: u32, note: Note) {
        let notes = self.notes.len().max(number as usize + 1);
        self.notes.resize(notes, Note::Nothing);
        self.notes[number as usize] = note;
    }

    /// Decides an operation that ends at once or that a die begins, which may be a read that the policy was not asked
    /// about. Returns what is known of it then.
    pub(crate) fn begin(&mut self, operation: &mut Operation, note: Note, now: Ns) -> Note {
        let Some(reads) = self.reads.as_mut().filter(|_| operation.is_read()) else { return note };
        if note != Note::NotAsked {
            reads.count_read(operation.block);
            return note;
        }
        let reading = reads.take(now, operation);
        operation.failed = !reading.is_readable;
        Note::Repeats(reading.retries)
    }

    /// Handles the end of an operation; `sequence` is its number in order of emission.
    #[cold]
    pub(crate) fn ended(&mut self, operation: &Operation, note: Note, sequence: u64, now: Ns) {
        if let Some(labels) = &mut self.labels {
            labels.ended(operation, note.content(), sequence);
        }
        if let Some(reads) = &mut self.reads {
            reads.ended(operation, now);
        }
        let is_lost = operation.is_read() && operation.failed;
        if is_lost && operation.tag != crate::Nand::NO_TAG {
            let missing = self.reads.as_ref().map_or(operation.mask, |reads| reads.missing(operation));
            self.unreadable.push((operation.tag, missing));
        }
    }

    /// Time ends after this number of operations.
    pub(crate) fn stop_timing(&mut self, operations: u64) {
        self.sequence += operations;
        self.notes.clear();
        if let Some(reads) = &mut self.reads {
            reads.forget_ages();
        }
    }

    /// Checks a loaded state of an array that has served nothing.
    pub(crate) fn check_loaded(&self, written: &[u32], erase_counts: &[u32]) -> Result<(), String> {
        if self.sequence > MOST_COUNTED {
            return Err(format!("NAND: more than {MOST_COUNTED} operations were counted to age a drive"));
        }
        self.labels.as_ref().map_or(Ok(()), |labels| labels.check_loaded(written, self.sequence))?;
        self.reads.as_ref().map_or(Ok(()), |reads| reads.check_loaded(erase_counts))
    }

    /// Handles an operation in counting mode, where it ends when it is emitted.
    #[cold]
    pub(crate) fn do_at_once(&mut self, operation: &mut Operation, note: Note) {
        let note = match operation.kind {
            OperationKind::Program | OperationKind::Copyback => self.written(operation, note, None),
            _ => self.begin(operation, note, 0),
        };
        self.ended(operation, note, self.sequence, 0);
        self.sequence += 1;
    }

    /// Handles a host read that is given up because its map entry could not be read.
    #[cold]
    pub(crate) fn missed(&mut self, read: &Operation) {
        if let Some(reads) = &mut self.reads {
            reads.count_missed(read.origin);
        }
        if read.tag != crate::Nand::NO_TAG {
            self.unreadable.push((read.tag, read.mask));
        }
    }

    /// The sectors that a read with this tag lacks, if it has ended without its data. Removes the tag.
    pub(crate) fn take_unreadable(&mut self, tag: u32) -> Option<u32> {
        let at = self.unreadable.iter().position(|&(unreadable, _)| unreadable == tag);
        at.map(|at| self.unreadable.swap_remove(at).1)
    }
}
