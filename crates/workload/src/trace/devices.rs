//! Devices of a recording: which one is read, and requests that a volume hands down to its disks, which count once.
//!
//! ```text
//! remap    a place of a disk <- a place above it: the next request of the same operation there, within
//!          [`HANDED_DOWN_NS`], is that of the device above. A partition between the two is passed over
//! counted  at the highest device that has events of the chosen kind: for queued requests the volume, for issued ones
//!          of most volumes the disk, since a volume of bios issues none
//! chosen   a device by its name: all of its requests, handed down or not
//! ```
//! The device above must have such events somewhere in the recording, before or after: a recording may begin while
//! requests are on their way. Source: `block_bio_remap` and `block_rq_remap` of Linux, `drivers/md/dm.c`,
//! `drivers/md/raid1.c`, `block/blk-core.c`.

use std::collections::{BTreeMap, BTreeSet};

use flashloom_units::{Ns, Problem, Refusal, S, SECTOR_BYTES};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use super::record::{Key, Moment, Record, RecordSource, make_room};
use crate::Op;

/// `workload.device` that replays every device in a range of its own.
pub const ALL_DEVICES: &str = "all";

/// Names shown of a list of devices.
const SHOWN: usize = 8;

/// Sectors to a multiple of which the range of a device is rounded up: 1 MiB.
const RANGE_SECTORS: u64 = (1 << 20) / SECTOR_BYTES;

/// Longest time from a remap to its request below. md submits some requests from a thread of its own.
const HANDED_DOWN_NS: Ns = S;
/// Requests on their way at most.
const MOST_ON_THEIR_WAY: usize = 1 << 16;

/// One device of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DeviceInfo {
    /// Name in the recording, as `workload.device` chooses it.
    pub name: String,
    /// Number of its requests.
    pub requests: u64,
    /// Number of requests that devices above it handed down. They count as requests of those, unless the device is
    /// chosen by its name.
    pub handed_down: u64,
    /// End of the highest address that any of its requests names, in bytes.
    pub span_bytes: u64,
    /// Number in the recording, by which a conversion names it.
    pub number: u32,
}

/// A list of names, of which the first `most` are shown.
pub(crate) fn listed(names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = if names.len() > most { ", .." } else { "" };
    names.take(most).collect::<Vec<_>>().join(", ") + more
}

/// Refusal of a recording with requests of several devices, which would share the addresses of one drive.
pub(crate) fn overlaid(devices: &[DeviceInfo]) -> Option<Refusal> {
    let mut busy: Vec<_> = devices.iter().filter(|device| device.requests > 0).collect();
    if busy.len() < 2 {
        return None;
    }
    busy.sort_by_key(|device| std::cmp::Reverse(device.requests));
    let shown = listed(busy.iter().map(|one| format!("`{}` ({})", one.name, one.requests)), SHOWN);
    let found = format!("requests of {} devices: {shown}", busy.len());
    let expected = format!("`workload.device`, naming one of them, or \"{ALL_DEVICES}\": each in a range of its own");
    let help = format!("`--set workload.device={}` replays the busiest", busy[0].name);
    Some(Refusal::new(found, expected).at(["workload.device", "workload.path"]).help(help))
}

/// First sector of each device's range, by the device's number, and the end of the last range. Ranges lie one behind
/// the other.
pub(crate) fn ranges(devices: &[DeviceInfo]) -> (BTreeMap<u32, u64>, u64) {
    let mut end = 0;
    let range = |device: &DeviceInfo| {
        let start = end;
        end += (device.span_bytes / SECTOR_BYTES).next_multiple_of(RANGE_SECTORS);
        (device.number, start)
    };
    (devices.iter().filter(|device| device.requests > 0).map(range).collect(), end)
}

/// Sums over the requests of each device.
#[derive(Debug, Default)]
pub(crate) struct Tally(BTreeMap<u32, (u64, u64)>);

impl Tally {
    /// Adds a request.
    pub fn add(&mut self, record: &Record) {
        let (requests, end) = self.0.entry(record.device).or_default();
        *requests += 1;
        *end = (*end).max(record.request.end());
    }

    /// The devices, in the order of their numbers. `handed_down` are the requests that were left out.
    pub fn finish(&self, handed_down: &BTreeMap<u32, u64>, reader: &dyn RecordSource) -> Vec<DeviceInfo> {
        let numbers: BTreeSet<u32> = self.0.keys().chain(handed_down.keys()).copied().collect();
        let info = |number: u32| {
            let (requests, end) = self.0.get(&number).copied().unwrap_or_default();
            let handed_down = handed_down.get(&number).copied().unwrap_or_default();
            let name = reader.device_name(number);
            DeviceInfo { name, requests, handed_down, span_bytes: end * SECTOR_BYTES, number }
        };
        numbers.into_iter().map(info).collect()
    }
}

/// Leaves out the records of all devices but one.
#[derive(Debug)]
pub(crate) struct Chosen {
    name: String,
    /// Its number, once it was seen.
    number: Option<u32>,
    /// The other devices.
    left_out: BTreeSet<u32>,
}

impl Chosen {
    /// Chooses a device by its name.
    pub fn new(name: String) -> Self {
        Self { name, number: None, left_out: BTreeSet::new() }
    }

    /// True for a record of the device.
    #[inline]
    pub fn admits(&mut self, record: &Record, reader: &dyn RecordSource) -> bool {
        self.number == Some(record.device) || self.finds(record.device, reader)
    }

    fn finds(&mut self, device: u32, reader: &dyn RecordSource) -> bool {
        if self.number.is_none() && !self.left_out.contains(&device) && reader.device_name(device) == self.name {
            self.number = Some(device);
            return true;
        }
        self.left_out.insert(device);
        false
    }

    /// The problem of a recording without a request of the device.
    pub fn missing(&self, file: &str, reader: &dyn RecordSource) -> Problem {
        let names: Vec<String> = self.left_out.iter().map(|&number| reader.device_name(number)).collect();
        let shown = listed(names.iter().map(|name| format!("`{name}`")), SHOWN);
        let expected = format!("a device that has such: {shown}");
        let refusal = Refusal::new(format!("holds no request of device `{}`", self.name), expected);
        refusal.suggesting(&self.name, names.iter().map(String::as_str)).in_file(file)
    }

    /// True if the recording has other devices.
    pub fn has_others(&self) -> bool {
        !self.left_out.is_empty()
    }
}

/// Requests that were remapped to one place and have not appeared there yet.
#[derive(Clone, Copy, Debug)]
struct OnTheirWay {
    /// The highest device that handed them down.
    highest: u32,
    requests: u32,
    /// Time of the last remap.
    time_ns: Ns,
}

/// Counts each request once, at the highest device that has it. Takes the records of all devices in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    /// Requests on their way, by the place below.
    on_their_way: BTreeMap<Key, OnTheirWay>,
    /// Devices that have requests.
    seen: BTreeSet<u32>,
    /// The device of the last request.
    last: Option<u32>,
    /// Number of requests left out at each device, because a device above has them.
    handed_down: BTreeMap<u32, u64>,
    /// Devices above requests that were counted, because no request of the device above had been seen.
    unseen: BTreeSet<u32>,
}

impl Volumes {
    /// `seen` are devices of which it is known that they have requests.
    pub fn new(seen: BTreeSet<u32>) -> Self {
        Self { seen, ..Self::default() }
    }

    /// True unless the record is a remap, or a request that a device above has.
    #[inline]
    pub fn admits(&mut self, record: &Record) -> bool {
        match record.moment {
            Moment::Begins if self.on_their_way.is_empty() && self.last == Some(record.device) => true,
            Moment::Begins => self.counts(record),
            Moment::HandedDown => {
                self.note(record);
                false
            }
            Moment::Completes | Moment::Fails | Moment::Requeued => true,
        }
    }

    /// True for a request that counts at its device.
    fn counts(&mut self, record: &Record) -> bool {
        let request = &record.request;
        self.seen.insert(record.device);
        self.last = Some(record.device);
        let Some(above) = self.take(record.key(request.lba), request.arrival_ns) else { return true };
        if !self.seen.contains(&above) {
            self.unseen.insert(above);
            return true;
        }
        *self.handed_down.entry(record.device).or_default() += 1;
        false
    }

    fn note(&mut self, remap: &Record) {
        let now_ns = remap.request.arrival_ns;
        let (above, above_sector) = remap.above();
        // The remap of a partition follows that of the volume on it, at the sector that the volume has chosen. A flush
        // has the same sector everywhere.
        let between = if remap.request.op == Op::Flush { 0 } else { above_sector };
        let highest = self.take(remap.key(between), now_ns).unwrap_or(above);
        make_room(&mut self.on_their_way, MOST_ON_THEIR_WAY, |way| now_ns - way.time_ns <= HANDED_DOWN_NS);
        let way = self.on_their_way.entry(remap.key(remap.request.lba));
        let way = way.or_insert(OnTheirWay { highest, requests: 0, time_ns: now_ns });
        *way = OnTheirWay { highest, requests: way.requests + 1, time_ns: now_ns };
    }

    /// Removes one of the requests on their way to a place. Returns the highest device that handed it down.
    fn take(&mut self, place: Key, now_ns: Ns) -> Option<u32> {
        let way = self.on_their_way.get_mut(&place)?;
        let (highest, is_late) = (way.highest, now_ns - way.time_ns > HANDED_DOWN_NS);
        way.requests -= 1;
        if is_late || way.requests == 0 {
            self.on_their_way.remove(&place);
        }
        (!is_late).then_some(highest)
    }

    /// Number of requests left out, by device.
    pub fn handed_down(&self) -> &BTreeMap<u32, u64> {
        &self.handed_down
    }

    /// All devices that have requests, if any of them is above a request that was counted before it was seen.
    pub fn seen_too_late(&self) -> Option<BTreeSet<u32>> {
        self.unseen.iter().any(|device| self.seen.contains(device)).then(|| self.seen.clone())
    }
}
