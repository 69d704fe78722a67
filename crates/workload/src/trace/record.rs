//! Output of every format's reader: a request with its recorded time and its origin.

use std::collections::BTreeMap;

use flashloom_units::{Ns, Problem, S};

use crate::{Op, Request};

/// A device, by its number, and a sector of it.
pub(crate) type Place = (u32, u64);

/// Device, operation and first sector: what identifies a request whose next sector to complete is known.
pub(crate) type Key = (u32, Op, u64);

/// Bounds a map of events that are awaited and may never come: at `most` entries it drops those that are not recent, or
/// all if most are. An entry takes constant time on average.
pub(crate) fn make_room<K: Ord, V>(map: &mut BTreeMap<K, V>, most: usize, is_recent: impl Fn(&V) -> bool) {
    if map.len() < most {
        return;
    }
    map.retain(|_, value| is_recent(value));
    if map.len() > most / 2 {
        map.clear();
    }
}

/// A request as recorded. 48 bytes; a sorted trace holds one for each request in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The request; its `arrival_ns` is on the recording's own clock.
    pub request: Request,
    /// Device number in the recording; the simulated device does not see it, a conversion keeps it.
    pub device: u32,
    /// Place of the request in the recording, encoded by its reader: a line, or a stream and a record.
    pub origin: u64,
    /// Whole seconds of the recorded latency, which may be longer than the request can hold; 65,535 for all above.
    pub latency_s: u16,
    /// What the record says of the request.
    pub moment: Moment,
}

/// Moment in the life of a request that a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// It begins: it arrives, or is issued.
    Begins,
    /// A request that began before completes, as a whole or in part.
    Completes,
    /// A request that began before ends with an error.
    Fails,
    /// The driver gives a request back that was issued to it: it has not begun, and will be issued again.
    Requeued,
    /// A device above hands a request down to this one ([`Record::above`]).
    HandedDown,
}

const _: () = assert!(size_of::<Record>() == 48);

impl Record {
    /// A request without task, flags and latency, of device zero.
    #[inline]
    pub fn new(arrival_ns: Ns, op: Op, lba: u64, sectors: u32) -> Self {
        Self::of(Request::new(op, lba, sectors).arriving_at(arrival_ns))
    }

    /// A request as it begins, of device zero.
    #[inline]
    pub fn of(request: Request) -> Self {
        Self { request, device: 0, origin: 0, latency_s: 0, moment: Moment::Begins }
    }

    /// A remap: a device above, such as a volume, hands the request at this place down from one of its own. The fields
    /// of task, length and latency hold the place above, because a remap has none of the three.
    pub fn handed_down_from(mut self, (device, sector): Place) -> Self {
        self.moment = Moment::HandedDown;
        self.request.task = device;
        self.request.sectors = (sector >> 32) as u32;
        self.request.recorded_latency_ns = sector as u32;
        self
    }

    /// The place above, of a remap.
    pub fn above(&self) -> Place {
        let [high, low] = [self.request.sectors, self.request.recorded_latency_ns].map(u64::from);
        (self.request.task, high << 32 | low)
    }

    /// Sets the device.
    #[inline]
    pub fn on_device(mut self, device: u32) -> Self {
        self.device = device;
        self
    }

    /// Sets the recorded latency: capped at 32 bits of nanoseconds in the request, beside it whole seconds.
    #[inline]
    pub fn with_latency(mut self, latency_ns: Ns) -> Self {
        self.request.recorded_latency_ns = u32::try_from(latency_ns).unwrap_or(u32::MAX);
        self.latency_s = u16::try_from(latency_ns / S).unwrap_or(u16::MAX);
        self
    }

    /// What identifies it, if its next sector to complete is `lba`.
    pub fn key(&self, lba: u64) -> Key {
        (self.device, self.request.op, lba)
    }

    /// The recorded latency, in nanoseconds up to 4.2 s and in whole seconds above; zero if there is none.
    #[inline]
    pub fn latency_ns(&self) -> Ns {
        let request_ns = Ns::from(self.request.recorded_latency_ns);
        if self.has_capped_latency() { request_ns.max(Ns::from(self.latency_s) * S) } else { request_ns }
    }

    /// True if the latency may have been capped.
    #[inline]
    pub fn has_capped_latency(&self) -> bool {
        self.request.recorded_latency_ns == u32::MAX
    }
}

/// Part of a record that a later problem points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Time,
    Address,
}

/// Lines or records left out because they are bad, as asked for by `skip_bad_lines`.
#[derive(Clone, Debug, Default)]
pub struct SkippedLines {
    /// Number of lines or records.
    pub count: u64,
    /// Problems of the first few.
    pub first: Vec<Problem>,
    /// True if bad lines are left out; an error otherwise.
    are_left_out: bool,
}

impl SkippedLines {
    const KEPT: usize = 8;

    pub(crate) fn new(are_left_out: bool) -> Self {
        Self { are_left_out, ..Self::default() }
    }

    /// Keeps a problem if bad lines are left out, else returns it as an error.
    #[cold]
    pub(crate) fn refuse(&mut self, problem: Problem) -> Result<(), Problem> {
        if !self.are_left_out {
            return Err(problem);
        }
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(problem);
        }
        Ok(())
    }
}

/// A reader of one format.
pub(crate) trait RecordSource: Send {
    /// Returns the next request of the recording, in the recording's order.
    fn next_record(&mut self) -> Result<Option<Record>, Problem>;

    /// Bad lines left out so far.
    fn skipped(&self) -> &SkippedLines;

    /// Optional columns of the requests, beside time, operation and address.
    fn columns(&self) -> Columns {
        Columns::default()
    }

    /// Name of a device in the recording, by its number in the records read so far.
    fn device_name(&self, device: u32) -> String {
        device.to_string()
    }

    /// Builds a problem with a part of the record at `origin`. Reads the recording again to find the place.
    fn problem_at(&self, origin: u64, part: Part, found: String, expected: String) -> Problem;
}

/// Optional column of a request, beside time, operation and address: those of Flashloom's own CSV, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Task,
    Sync,
    Flush,
    Fua,
    Ioprio,
    Device,
    Latency,
}

impl Column {
    /// All of them, with their names in a header.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Task, "task"),
        (Self::Sync, "sync"),
        (Self::Flush, "flush"),
        (Self::Fua, "fua"),
        (Self::Ioprio, "ioprio"),
        (Self::Device, "device"),
        (Self::Latency, "latency_ns"),
    ];

    /// The number that a record has in the column, for a priority its index; zero if the record does without.
    #[inline]
    pub fn value(self, record: &Record) -> u64 {
        let request = &record.request;
        match self {
            Self::Task => u64::from(request.task),
            Self::Sync => u64::from(request.has(Request::SYNC)),
            Self::Flush => u64::from(request.has(Request::PREFLUSH)),
            Self::Fua => u64::from(request.has(Request::FUA)),
            Self::Ioprio => request.priority().index() as u64,
            Self::Device => u64::from(record.device),
            Self::Latency => u64::from(request.recorded_latency_ns),
        }
    }
}

/// Set of optional columns, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns(u8);

impl Columns {
    /// The set of these columns.
    pub fn of(columns: impl IntoIterator<Item = Column>) -> Self {
        Self(columns.into_iter().fold(0, |bits, column| bits | 1 << column as u8))
    }

    /// True if a column is among them.
    #[inline]
    pub fn has(self, column: Column) -> bool {
        self.0 >> column as u8 & 1 == 1
    }

    /// The columns of both sets.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds the columns that a record uses.
    #[inline]
    pub fn see(&mut self, record: &Record) {
        for (column, _) in Column::ALL {
            self.0 |= u8::from(column.value(record) != 0) << column as u8;
        }
    }
}

/// Numbers keys in order of appearance: devices of a recording that are known by name or by a sparse number.
#[derive(Debug, Default)]
pub(crate) struct Numbering<K> {
    numbers: BTreeMap<K, u32>,
    keys: Vec<K>,
    /// Number of the last key: most lines are of the device of the line before.
    last: u32,
}

impl<K: Ord + Clone> Numbering<K> {
    /// The number of `key`, which is added with `make` if it is new.
    pub fn number<Q: ?Sized + Ord>(&mut self, key: &Q, make: impl FnOnce() -> K) -> u32
    where
        K: std::borrow::Borrow<Q>,
    {
        if self.key(self.last).is_some_and(|last| last.borrow() == key) {
            return self.last;
        }
        self.last = self.known(key).unwrap_or_else(|| {
            let (number, key) = (self.keys.len() as u32, make());
            self.keys.push(key.clone());
            self.numbers.insert(key, number);
            number
        });
        self.last
    }

    /// The number of `key`, if it has one.
    pub fn known<Q: ?Sized + Ord>(&self, key: &Q) -> Option<u32>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.numbers.get(key).copied()
    }

    /// The key of a number.
    pub fn key(&self, number: u32) -> Option<&K> {
        self.keys.get(number as usize)
    }
}

impl Numbering<Box<[u8]>> {
    /// The key of a number as text; empty if there is none.
    pub fn text(&self, number: u32) -> String {
        String::from_utf8_lossy(self.key(number).map_or(&[], |key| key)).into_owned()
    }
}

/// Bytes of a binary record from `at` on.
#[inline]
pub(crate) fn bytes_at<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    record[at..at + N].try_into().expect("the slice has this length")
}
