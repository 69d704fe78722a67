//! The threads of a personality: position in the program, reason to wait, and the effect of each flow operation.

use std::collections::VecDeque;

use flashloom_units::{NO_INDEX, Ns};

use super::file_system::Full;
use super::personality::{
    Action, DATABASE_WRITER, Figures, Flow, LOG_WRITE_BYTES, LOG_WRITER, Personality, WRITES_A_ROUND,
};
use super::{Filebench, FilebenchParams, Io, Issuer, TRANSACTIONS_A_LOG_WRITE, TRANSACTIONS_A_ROUND, refuse};

/// Continuation of a thread once its requests have completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// Begin the next operation.
    Begin,
    /// End the operation, unless writers are throttled.
    End,
    /// Make the file durable.
    Durable { file: u32 },
    /// Wait for the commit of this transaction.
    Commit { transaction: u32 },
    /// Wait for the rest of the group.
    Group,
}

/// A thread.
pub struct Thread {
    pub program: &'static [Flow],
    at: usize,
    /// Remaining repetitions of the current operation.
    repeats: u32,
    repeat: u32,
    /// The file that the thread has open, or the one data file that it writes.
    file: u32,
    group: u32,
    began_ns: Ns,
    requests: VecDeque<Io>,
    then: Then,
}

/// Threads that wait for one another: the asynchronous writes of one database writer.
pub struct Group {
    members: u32,
    arrived: Vec<u32>,
    transactions: u64,
    needed: u64,
}

impl Flow {
    /// True if it counts as an operation; waiting for other threads does not.
    pub fn is_operation(&self) -> bool {
        !matches!(self.action, Action::Post | Action::Await)
    }
}

impl Thread {
    fn new(program: &'static [Flow], repeat: u32, file: u32, group: u32) -> Self {
        let requests = VecDeque::new();
        Self { program, at: 0, repeats: repeat, repeat, file, group, began_ns: 0, requests, then: Then::Begin }
    }

    /// True if the commit of transactions up to `committed` lets the thread continue.
    pub fn waits_for_commit(&self, committed: u32) -> bool {
        self.requests.is_empty() && matches!(self.then, Then::Commit { transaction } if transaction <= committed)
    }
}

/// Creates the threads of a personality. A database writer is one thread per data file, because the C library serves
/// asynchronous writes to one descriptor one after another, and those to several at once.
pub fn crew(params: &FilebenchParams, figures: &Figures) -> (Vec<Thread>, Vec<Group>) {
    let program = params.personality.program();
    let mut threads: Vec<Thread> = (0..figures.threads).map(|_| Thread::new(program, 1, NO_INDEX, NO_INDEX)).collect();
    let mut groups = Vec::new();
    if params.personality == Personality::Oltp {
        let mut group = |members: u32, needed| {
            groups.push(Group { members, arrived: Vec::new(), transactions: 0, needed });
            groups.len() as u32 - 1
        };
        let files = figures.files.min(WRITES_A_ROUND);
        for _ in 0..params.writers {
            let group = group(files, TRANSACTIONS_A_ROUND);
            // The first files of the set take one more where the writes of a round do not divide evenly.
            let writes = |file| WRITES_A_ROUND / files + u32::from(file < WRITES_A_ROUND % files);
            threads.extend((0..files).map(|file| Thread::new(DATABASE_WRITER, writes(file), file, group)));
        }
        threads.push(Thread::new(LOG_WRITER, 1, figures.files, group(1, TRANSACTIONS_A_LOG_WRITE)));
    }
    (threads, groups)
}

impl Filebench {
    /// Runs a thread until it waits for something.
    pub(super) fn advance(&mut self, id: u32, now: Ns) {
        while !self.ended {
            let thread = &mut self.threads[id as usize];
            if let Some(io) = thread.requests.pop_front() {
                let file = thread.file;
                return self.issue(now, io, Issuer::Thread(id), file);
            }
            match thread.then {
                Then::Begin => {
                    if self.is_time_up(now) {
                        return;
                    }
                    self.begin(id, now);
                }
                Then::Durable { file } => self.make_durable(id, file),
                Then::Commit { transaction } => {
                    if !self.fs.journal.is_committed(transaction) {
                        self.fs.journal.want(transaction);
                        return;
                    }
                    self.threads[id as usize].then = Then::End;
                }
                Then::End => {
                    return if self.must_wait() { self.throttled.push(id) } else { self.finish(id, now) };
                }
                Then::Group => return self.gather(id, now),
            }
        }
    }

    /// Waits for the commit of the transaction with the file's changes, or issues a flush if it is already committed.
    fn make_durable(&mut self, id: u32, file: u32) {
        let transaction = self.fs.transaction_of(file);
        let is_committed = self.fs.journal.is_committed(transaction);
        let thread = &mut self.threads[id as usize];
        if is_committed {
            thread.requests.push_back(Io::flush());
            thread.then = Then::End;
        } else {
            thread.then = Then::Commit { transaction };
        }
    }

    fn finish(&mut self, id: u32, now: Ns) {
        let thread = &mut self.threads[id as usize];
        let flow = &thread.program[thread.at];
        self.report.add(flow, now - thread.began_ns);
        thread.repeats -= 1;
        if thread.repeats == 0 {
            thread.at = (thread.at + 1) % thread.program.len();
            // Only the first operation of a program is repeated.
            thread.repeats = if thread.at == 0 { thread.repeat } else { 1 };
        }
        thread.then = Then::Begin;
        let computes = thread.program[thread.at].action == Action::Post;
        let cpu_ns = if computes { self.params.transaction_ns } else { self.params.cpu_ns };
        self.compute(now, id, cpu_ns);
    }

    /// Adds a thread to the waiting ones of its group; when all are there and enough transactions have been counted,
    /// all continue.
    fn gather(&mut self, id: u32, now: Ns) {
        let group = &mut self.groups[self.threads[id as usize].group as usize];
        if !group.arrived.contains(&id) {
            group.arrived.push(id);
        }
        if group.arrived.len() as u32 == group.members && group.transactions >= group.needed {
            group.transactions -= group.needed;
            for id in std::mem::take(&mut group.arrived) {
                self.finish(id, now);
            }
        }
    }

    /// Counts a database transaction for every group of writers.
    fn post(&mut self, now: Ns) {
        for group in 0..self.groups.len() {
            self.groups[group].transactions += 1;
            if let Some(&first) = self.groups[group].arrived.first() {
                self.gather(first, now);
            }
        }
    }

    fn begin(&mut self, id: u32, now: Ns) {
        let thread = &mut self.threads[id as usize];
        thread.began_ns = now;
        thread.then = Then::End;
        let (action, held) = (thread.program[thread.at].action, thread.file);
        let mut requests = std::mem::take(&mut thread.requests);
        let outcome = self.perform(id, action, held, now, &mut requests);
        self.threads[id as usize].requests = requests;
        if outcome.is_err() {
            let found = format!("no block is free after {} operations", self.report.operations);
            let expected = "a file system with room for what is appended".to_owned();
            self.failed = Some(refuse("file_system_size", found, expected).into());
            self.end(now);
        }
    }

    fn perform(&mut self, id: u32, action: Action, held: u32, now: Ns, out: &mut VecDeque<Io>) -> Result<(), Full> {
        match action {
            Action::Create => {
                let file = self.set.missing.take();
                self.fs.create(file, out);
                self.threads[id as usize].file = file;
            }
            Action::Open => {
                let file = self.set.idle.take();
                self.fs.look_up(file, out);
                self.threads[id as usize].file = file;
            }
            Action::Close => self.set.idle.put(held),
            Action::Delete => {
                let file = self.set.idle.take();
                self.fs.delete(file, out);
                self.set.missing.put(file);
            }
            Action::Stat => {
                let file = self.set.idle.take();
                self.fs.look_up(file, out);
                self.set.idle.put(file);
            }
            Action::WriteWhole => self.fs.write(held, 0, self.fs.planned_bytes(held), now, out)?,
            Action::ReadWhole => self.fs.read(held, 0, self.fs.bytes(held), self.figures.io_bytes, out),
            Action::Append => self.append(held, now, out)?,
            Action::AppendLog => self.append(self.figures.files, now, out)?,
            Action::Fsync => self.sync(id, held, out),
            Action::ReadRandom => {
                let file = self.draws.below(u64::from(self.figures.files)) as u32;
                let (offset, bytes) = self.place(file, self.figures.io_bytes);
                self.fs.read(file, offset, bytes, bytes, out);
            }
            Action::WriteRandom | Action::WriteLog => {
                let most = if action == Action::WriteLog { LOG_WRITE_BYTES } else { self.figures.io_bytes };
                let (offset, bytes) = self.place(held, most);
                self.fs.write(held, offset, bytes, now, out)?;
                self.sync(id, held, out);
            }
            Action::Post => self.post(now),
            Action::Await => self.threads[id as usize].then = Then::Group,
        }
        Ok(())
    }

    /// Draws an offset in a file, a multiple of the call's size. Returns offset and bytes.
    fn place(&mut self, file: u32, most: u64) -> (u64, u64) {
        let size = self.fs.bytes(file);
        let bytes = most.min(size);
        (self.draws.below((size / bytes).max(1)) * bytes, bytes)
    }

    fn append(&mut self, file: u32, now: Ns, out: &mut VecDeque<Io>) -> Result<(), Full> {
        let bytes = 1 + self.draws.below(self.params.append_bytes);
        self.fs.write(file, self.fs.bytes(file), bytes, now, out)
    }

    fn sync(&mut self, id: u32, file: u32, out: &mut VecDeque<Io>) {
        self.fs.write_durably(file, out);
        self.threads[id as usize].then = Then::Durable { file };
    }
}
