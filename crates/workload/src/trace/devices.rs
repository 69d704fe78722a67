//! Devices of a recording: which one is read, and requests that a volume hands down to its disks, which count once.
//!
//! ```text
//! remap    (device, sector) of a disk <- (device, sector) above it: the next event at the disk's sector, within
//!          [`HANDED_DOWN_NS`], is the request of the device above; the next flush, for a flush. A partition between
//!          the two is passed over
//! counted  at the highest device that has events of the chosen kind: for queued requests the volume, for issued ones
//!          of most volumes the disk, since a volume of bios issues none
//! chosen   a device by its name: all of its requests, handed down or not
//! ```
//! A device above is one that has such events anywhere in the recording, also behind: a recording may begin while
//! requests are on their way. Source: `block_bio_remap` and `block_rq_remap` of Linux, `drivers/md/dm.c`,
//! `drivers/md/raid1.c`, `block/blk-core.c`.

use std::collections::{BTreeMap, BTreeSet};

use flashloom_units::{Ns, Problem, Refusal, S, SECTOR_BYTES, nearest};
use schemars::JsonSchema;
use serde::Serialize;

use super::record::{Moment, Record, RecordSource};
use crate::Op;

/// `workload.device` that replays every device in a range of its own.
pub const ALL_DEVICES: &str = "all";

/// Names shown of a list of devices.
const SHOWN: usize = 8;

/// Sectors to a multiple of which the range of a device is rounded up: 1 MiB.
const RANGE_SECTORS: u64 = (1 << 20) / SECTOR_BYTES;

/// A device, by its number, and a sector of it.
type Place = (u32, u64);

/// Time after which a request that was handed down comes no more: md may leave it to a thread of its own.
const HANDED_DOWN_NS: Ns = S;
/// Requests on their way at which those that come no more are cleared.
const MOST_ON_THEIR_WAY: usize = 1 << 16;
/// The sector of a flush, which has none: one for all of them.
const OF_FLUSHES: u64 = u64::MAX;

/// Requests that were handed down and have not come yet, by the place that they go to.
#[derive(Debug, Default)]
pub(crate) struct Remaps(BTreeMap<Place, OnTheirWay>);

#[derive(Clone, Copy, Debug)]
struct OnTheirWay {
    /// The device that handed them down first.
    highest: u32,
    requests: u32,
    /// Time of the last remap.
    time_ns: Ns,
}

/// A remap: a request goes to a place below from one above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remap {
    pub below: Place,
    pub above: Place,
    /// Length; a flush has none.
    pub sectors: u64,
}

impl Remaps {
    /// Notes a remap. To be called in the order of time, as [`Self::above`].
    pub fn note(&mut self, time_ns: Ns, remap: Remap) {
        let (device, sector) = remap.below;
        let is_flush = remap.sectors == 0;
        // The remap of a partition follows that of the volume on it, at the sector that the volume has chosen.
        let between = (device, if is_flush { OF_FLUSHES } else { remap.above.1 });
        let chained = self.take(between, time_ns);
        if self.0.len() >= MOST_ON_THEIR_WAY {
            self.0.retain(|_, requests| time_ns - requests.time_ns <= HANDED_DOWN_NS);
        }
        let highest = chained.unwrap_or(remap.above.0);
        let place = (device, if is_flush { OF_FLUSHES } else { sector });
        let requests = self.0.entry(place).or_insert(OnTheirWay { highest, requests: 0, time_ns });
        *requests = OnTheirWay { highest, requests: requests.requests + 1, time_ns };
    }

    /// What [`Record::above`] says of the event of a record.
    #[inline]
    pub fn above(&mut self, record: &Record) -> u8 {
        if self.0.is_empty() || record.moment != Moment::Begins { 0 } else { self.above_of(record) }
    }

    #[cold]
    fn above_of(&mut self, record: &Record) -> u8 {
        let request = &record.request;
        let sector = if request.op == Op::Flush { OF_FLUSHES } else { request.lba };
        let highest = self.take((record.device, sector), request.arrival_ns);
        highest.and_then(|highest| u8::try_from(highest.saturating_add(1)).ok()).unwrap_or(0)
    }

    /// Takes one of the requests on their way to a place.
    fn take(&mut self, place: Place, time_ns: Ns) -> Option<u32> {
        let OnTheirWay { highest, requests, time_ns: last_ns } = *self.0.get(&place)?;
        let is_late = time_ns.saturating_sub(last_ns) > HANDED_DOWN_NS;
        if is_late || requests == 1 {
            self.0.remove(&place);
        } else {
            self.0.insert(place, OnTheirWay { highest, requests: requests - 1, time_ns: last_ns });
        }
        (!is_late).then_some(highest)
    }
}

/// One device of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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

/// Refuses to lay the devices of a recording over one another.
pub(crate) fn overlaid(devices: &[DeviceInfo]) -> Option<Refusal> {
    let mut busy: Vec<_> = devices.iter().filter(|device| device.requests > 0).collect();
    if busy.len() < 2 {
        return None;
    }
    busy.sort_by_key(|device| std::cmp::Reverse(device.requests));
    let shown: Vec<_> = busy.iter().take(SHOWN).map(|one| format!("`{}` ({})", one.name, one.requests)).collect();
    let more = if busy.len() > SHOWN { ", .." } else { "" };
    let found = format!("requests of {} devices: {}{more}", busy.len(), shown.join(", "));
    let expected = format!("`workload.device`, naming one of them, or \"{ALL_DEVICES}\": each in a range of its own");
    let help = format!("`--set workload.device={}` replays the busiest", busy[0].name);
    Some(Refusal::new(found, expected).at(["workload.device", "workload.path"]).help(help))
}

/// First sector of each device's range, by its number, if the ranges follow one another; and the end of the last.
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

    /// The devices, in the order of their numbers; `devices` has counted what was handed down.
    pub fn finish(&self, devices: &Devices, reader: &dyn RecordSource) -> Vec<DeviceInfo> {
        let numbers: BTreeSet<u32> = self.0.keys().chain(devices.handed_down.keys()).copied().collect();
        let info = |number: u32| {
            let (requests, end) = self.0.get(&number).copied().unwrap_or_default();
            let handed_down = devices.handed_down.get(&number).copied().unwrap_or_default();
            let name = reader.device_name(number);
            DeviceInfo { name, requests, handed_down, span_bytes: end * SECTOR_BYTES, number }
        };
        numbers.into_iter().map(info).collect()
    }
}

/// Chooses the records that are read.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    /// Name of the chosen device, and its number once it was seen.
    chosen: Option<(String, Option<u32>)>,
    /// Devices whose requests were left out because another one was chosen.
    left_out: BTreeSet<u32>,
    /// The device of the last record.
    last: Option<u32>,
    /// Devices that have had requests.
    seen: BTreeSet<u32>,
    /// Requests left out because the device above them has had them, by device.
    handed_down: BTreeMap<u32, u64>,
    /// Devices above requests that were read, because none of theirs had been seen.
    unseen: BTreeSet<u32>,
}

impl Devices {
    /// All devices, or one by its name. `seen` are devices of which it is known that they have requests.
    pub fn new(chosen: Option<&str>, seen: BTreeSet<u32>) -> Self {
        Self { chosen: chosen.map(|name| (name.to_owned(), None)), seen, ..Self::default() }
    }

    /// All devices that have had requests, if any of them is above a request that was read before it was seen.
    pub fn seen_too_late(&self) -> Option<BTreeSet<u32>> {
        self.unseen.iter().any(|device| self.seen.contains(device)).then(|| self.seen.clone())
    }

    /// True if a record is read.
    #[inline]
    pub fn admits(&mut self, record: &Record, reader: &dyn RecordSource) -> bool {
        if self.last == Some(record.device) && record.above == 0 && self.chosen.is_none() {
            return true;
        }
        self.admits_other(record, reader)
    }

    fn admits_other(&mut self, record: &Record, reader: &dyn RecordSource) -> bool {
        if let Some((name, number)) = &mut self.chosen {
            if *number == Some(record.device) {
                return true;
            }
            if number.is_none() && !self.left_out.contains(&record.device) && reader.device_name(record.device) == *name
            {
                *number = Some(record.device);
                return true;
            }
            self.left_out.insert(record.device);
            return false;
        }
        let begins = record.moment == Moment::Begins;
        if begins {
            self.seen.insert(record.device);
        }
        if record.above > 0 {
            let above = u32::from(record.above) - 1;
            if self.seen.contains(&above) {
                *self.handed_down.entry(record.device).or_default() += 1;
                return false;
            }
            self.unseen.insert(above);
        }
        if begins {
            self.last = Some(record.device);
        }
        true
    }

    /// Says that the recording has no request of the chosen device.
    pub fn missing(&self, file: &str, reader: &dyn RecordSource) -> Option<Problem> {
        let (name, _) = self.chosen.as_ref().filter(|_| !self.left_out.is_empty())?;
        let names: Vec<String> = self.left_out.iter().map(|&number| reader.device_name(number)).collect();
        let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
        let more = if names.len() > SHOWN { ", .." } else { "" };
        let expected = format!("a device of the recording that has such: {}{more}", shown.join(", "));
        let problem = Problem::file(file, format!("holds no request of device `{name}`"), expected);
        Some(match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => problem.with_help(format!("did you mean `{near}`?")),
            None => problem,
        })
    }
}
