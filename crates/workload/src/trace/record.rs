//! What a reader of any format gives: a request with its recorded time, and where it came from.

use flashloom_units::{Ns, Problem};

use crate::{Op, Request};

/// A request as it was recorded. 48 bytes; a sorted trace holds one of them for each request in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its `arrival_ns` is on the recording's own clock.
    pub request: Request,
    /// Which device of the recording; the simulated device does not see it, a conversion keeps it.
    pub device: u32,
    /// Where it came from, in terms that only its reader understands: a line, or a stream and a record.
    pub origin: u64,
}

const _: () = assert!(size_of::<Record>() == 48);

impl Record {
    /// A request without task, flags and latency, of device zero.
    #[inline]
    pub fn new(arrival_ns: Ns, op: Op, lba: u64, sectors: u32) -> Self {
        let request = Request { arrival_ns, lba, sectors, task: 0, recorded_latency_ns: 0, op, flags: 0 };
        Self { request, device: 0, origin: 0 }
    }

    /// The same of another device.
    #[inline]
    pub fn on_device(mut self, device: u32) -> Self {
        self.device = device;
        self
    }

    /// The same with the latency that the recorded device had, up to what 32 bits hold.
    #[inline]
    pub fn with_latency(mut self, latency_ns: Ns) -> Self {
        self.request.recorded_latency_ns = u32::try_from(latency_ns).unwrap_or(u32::MAX);
        self
    }

    /// Whether the latency may have been longer than what 32 bits hold.
    #[inline]
    pub fn has_capped_latency(&self) -> bool {
        self.request.recorded_latency_ns == u32::MAX
    }
}

/// The part of a record that a problem found later points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Time,
    Address,
}

/// Lines or records that were left out because they are bad, as asked for by `skip_bad_lines`.
#[derive(Clone, Debug, Default)]
pub struct SkippedLines {
    /// How many.
    pub count: u64,
    /// What is wrong with the first few of them.
    pub first: Vec<Problem>,
}

impl SkippedLines {
    const KEPT: usize = 8;

    pub(crate) fn add(&mut self, problem: Problem) {
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(problem);
        }
    }
}

/// A reader of one format.
pub(crate) trait RecordSource: Send {
    /// The next request of the recording, in the recording's order.
    fn next_record(&mut self) -> Result<Option<Record>, Problem>;

    /// What was left out so far.
    fn skipped(&self) -> &SkippedLines;

    /// What the recording says of a request beside time, operation and address.
    fn columns(&self) -> Columns;

    /// A problem with a part of the record that came from `origin`. Reads the recording again to find the place.
    fn problem_at(&self, origin: u64, part: Part, found: String, expected: String) -> Problem;
}

/// What may be said of a request beside time, operation and address; the optional columns of Flashloom's own CSV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    pub task: bool,
    pub sync: bool,
    pub flush: bool,
    pub fua: bool,
    pub device: bool,
    pub latency: bool,
}

impl Columns {
    /// Takes note of what a record says.
    pub fn see(&mut self, record: &Record) {
        let request = &record.request;
        self.task |= request.task != 0;
        self.sync |= request.has(Request::SYNC);
        self.flush |= request.has(Request::PREFLUSH);
        self.fua |= request.has(Request::FUA);
        self.device |= record.device != 0;
        self.latency |= request.recorded_latency_ns != 0;
    }
}

/// Numbers things in order of appearance: devices of a recording that are known by name or by a sparse number.
#[derive(Debug)]
pub(crate) struct Numbering<K>(Vec<K>);

impl<K> Default for Numbering<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K> Numbering<K> {
    /// The number of `key`; `make` builds what is kept of one that is new. Recordings have few of them.
    pub fn number<Q: ?Sized + PartialEq>(&mut self, key: &Q, make: impl FnOnce() -> K) -> u32
    where
        K: std::borrow::Borrow<Q>,
    {
        let found = self.0.iter().position(|known| known.borrow() == key);
        found.unwrap_or_else(|| {
            self.0.push(make());
            self.0.len() - 1
        }) as u32
    }
}
