//! The read cache: controller memory for pages that are read ahead of sequential streams.
//!
//! ```text
//! a read begins where a stream ended:  it continues the stream; any other read begins one, in place of the stream that
//!                                      was continued longest ago if there are readahead_streams
//! the second read of a stream on:      the readahead_pages behind its end are read whole, but for those that the cache
//!                                      or the write buffer holds, and those that are not mapped
//! a read finds a page here:            it crosses the link at once, or as soon as it has arrived
//! a page is written or discarded:      it is dropped; if it is still being read, only earlier reads are served with it
//! no slot is free:                     the page used longest ago makes room; pages that are being read do not
//! ```
//!
//! Reads ahead are host reads to FTL and array: of their priority, and counted with them. A page that could not be
//! read whole is dropped, and reads that wait for it go to flash. A worn-out drive reads nothing ahead. O(log slots)
//! per page, O(streams) per read.

use std::collections::BTreeMap;
use std::ops::Range;

use flashloom_buffer::SlotId;
use flashloom_nand::Lpn;
use flashloom_units::{GIB, Kind, Used, Value, params};
use serde::{Deserialize, Serialize};

use super::commands::CommandId;
use super::paging::Paging;

params! {
    /// Parameters of the read cache: keys of the `[device]` section.
    pub struct ReadCacheParams {
        /// Memory of the controller for pages that are read ahead of sequential streams; "0B" for none.
        capacity_bytes: u64 => "read_cache", Kind::Size { min: 0, max: 64 * GIB }, Value::Size(0),
            "Sequential reads find their pages in memory; pages that nobody asks for keep dies busy in vain." => Never;
        /// Pages that are read ahead of a stream.
        pages: u32 => "readahead_pages", Kind::Count { min: 1, max: 1 << 20 }, Value::Count(32),
            "More of them keep more dies busy for one stream, and are read in vain where it ends.",
            Used::without("read_cache", &["0B"]) => Never;
        /// Sequential streams that are told apart.
        streams: u32 => "readahead_streams", Kind::Count { min: 1, max: 1_024 }, Value::Count(4),
            "Among more streams than these, and among random reads, none is found.",
            Used::without("read_cache", &["0B"]) => Never;
    }
}

/// Counters of a read cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadCacheReport {
    /// Pages of reads that were found here.
    pub hits: u64,
    /// Those of them that were still being read.
    pub late_hits: u64,
    /// Pages read ahead.
    pub pages_read: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Empty,
    Filling,
    Ready,
    /// Being read, and dropped since.
    Stale,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Slot {
    lpn: Lpn,
    stage: Stage,
    /// Time of last use, for a page that is ready.
    used: u64,
    /// Reads that wait for the page, and the sectors that they asked for.
    waiting: Vec<(CommandId, u32)>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stream {
    /// Sector behind its last read.
    next: u64,
    used: u64,
}

/// The read cache.
pub(super) struct ReadCache {
    /// Conversion of sectors to pages.
    paging: Paging,
    /// Number of its first slot; those of the write buffer come before.
    first: u32,
    ahead: u32,
    most_streams: usize,
    slots: Vec<Slot>,
    /// The slot of each page that is ready or being read.
    by_page: BTreeMap<Lpn, u32>,
    /// Slots that are ready, by their last use.
    by_use: BTreeMap<u64, u32>,
    empty: Vec<u32>,
    streams: Vec<Stream>,
    /// Counts uses.
    clock: u64,
    is_off: bool,
    pub(super) report: ReadCacheReport,
}

flashloom_units::state! {
    ReadCache {
        array slots;
        value by_page, by_use, empty, streams, clock, is_off, report;
        fixed paging, first, ahead, most_streams;
    }
}

impl ReadCache {
    /// The cache of a drive with such pages, whose slots are numbered from `first`; `None` without one.
    pub(super) fn new(params: &ReadCacheParams, page_bytes: u64, paging: Paging, first: u32) -> Option<Self> {
        let slots = (params.capacity_bytes / page_bytes) as u32;
        (slots > 0).then(|| Self {
            paging,
            first,
            ahead: params.pages,
            most_streams: params.streams as usize,
            slots: vec![Slot { lpn: Lpn::NONE, stage: Stage::Empty, used: 0, waiting: Vec::new() }; slots as usize],
            by_page: BTreeMap::new(),
            by_use: BTreeMap::new(),
            empty: (0..slots).rev().collect(),
            streams: Vec::new(),
            clock: 0,
            is_off: false,
            report: ReadCacheReport::default(),
        })
    }

    /// Notes a read. Returns the pages that are to be read ahead of it, if it continues a stream.
    pub(super) fn follow(&mut self, lba: u64, sectors: u32) -> Range<u32> {
        self.clock += 1;
        let (used, next) = (self.clock, lba + u64::from(sectors));
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.next == lba) {
            *stream = Stream { next, used };
            let first = self.paging.page_of(next).0;
            return if self.is_off { 0..0 } else { first..first.saturating_add(self.ahead) };
        }
        if self.streams.len() == self.most_streams
            && let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.used)
        {
            *oldest = Stream { next, used };
        } else {
            self.streams.push(Stream { next, used });
        }
        0..0
    }

    /// Looks for a page that a command reads. Returns its slot, and whether it is ready; the command waits for it if
    /// not.
    pub(super) fn look_up(&mut self, id: CommandId, lpn: Lpn, mask: u32) -> Option<(SlotId, bool)> {
        let &at = self.by_page.get(&lpn)?;
        let slot = &mut self.slots[at as usize];
        let is_ready = slot.stage == Stage::Ready;
        self.report.hits += 1;
        if is_ready {
            self.clock += 1;
            self.by_use.remove(&slot.used);
            slot.used = self.clock;
            self.by_use.insert(slot.used, at);
        } else {
            self.report.late_hits += 1;
            slot.waiting.push((id, mask));
        }
        Some((SlotId(self.first + at), is_ready))
    }

    /// Takes a slot for a page that is read ahead; `None` if the page has one, or none can make room.
    pub(super) fn take_slot(&mut self, lpn: Lpn) -> Option<SlotId> {
        if self.by_page.contains_key(&lpn) {
            return None;
        }
        if self.empty.is_empty()
            && let Some((_, at)) = self.by_use.pop_first()
        {
            self.by_page.remove(&self.slots[at as usize].lpn);
            self.empty.push(at);
        }
        let at = self.empty.pop()?;
        self.report.pages_read += 1;
        let slot = &mut self.slots[at as usize];
        (slot.lpn, slot.stage) = (lpn, Stage::Filling);
        self.by_page.insert(lpn, at);
        Some(SlotId(self.first + at))
    }

    /// Drops a page, because it changes.
    pub(super) fn forget(&mut self, lpn: Lpn) {
        let Some(at) = self.by_page.remove(&lpn) else { return };
        let slot = &mut self.slots[at as usize];
        if slot.stage == Stage::Ready {
            slot.stage = Stage::Empty;
            self.by_use.remove(&slot.used);
            self.empty.push(at);
        } else {
            slot.stage = Stage::Stale;
        }
    }

    /// A page has been read into its slot, wholly or not. Returns the page, and the reads that wait for it.
    pub(super) fn filled(&mut self, slot: SlotId, is_whole: bool) -> (Lpn, Vec<(CommandId, u32)>) {
        let at = slot.0 - self.first;
        self.clock += 1;
        let slot = &mut self.slots[at as usize];
        if slot.stage == Stage::Filling && is_whole {
            (slot.stage, slot.used) = (Stage::Ready, self.clock);
            self.by_use.insert(self.clock, at);
        } else {
            if slot.stage == Stage::Filling {
                self.by_page.remove(&slot.lpn);
            }
            slot.stage = Stage::Empty;
            self.empty.push(at);
        }
        (slot.lpn, std::mem::take(&mut slot.waiting))
    }

    /// Drops all pages for good, at the end of the drive's life.
    pub(super) fn switch_off(&mut self) {
        self.is_off = true;
        let pages: Vec<Lpn> = self.by_page.keys().copied().collect();
        pages.into_iter().for_each(|lpn| self.forget(lpn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(pages: u64, streams: u32) -> ReadCache {
        let params = ReadCacheParams { capacity_bytes: 4_096 * pages, pages: 2, streams };
        ReadCache::new(&params, 4_096, Paging::new(8), 10).expect("it has slots")
    }

    #[test]
    fn the_second_read_of_a_stream_is_followed_by_pages_behind_its_end() {
        let mut cache = cache(8, 1);
        assert!(cache.follow(0, 4).is_empty());
        assert_eq!(cache.follow(4, 4), 1..3, "it ends with its page");
        assert_eq!(cache.follow(8, 4), 1..3, "half of its page is left");
        assert!(cache.follow(80, 4).is_empty() && cache.follow(12, 4).is_empty(), "one stream");
    }

    #[test]
    fn among_as_many_streams_as_it_has_the_oldest_is_forgotten() {
        let mut cache = cache(8, 2);
        for lba in [0, 800, 1_600] {
            assert!(cache.follow(lba, 8).is_empty());
        }
        assert_eq!(cache.follow(808, 8), 102..104);
        assert!(cache.follow(8, 8).is_empty());
    }

    #[test]
    fn the_page_used_longest_ago_makes_room_and_one_that_is_being_read_does_not() {
        let mut cache = cache(2, 1);
        let slots = [0, 1].map(|page| cache.take_slot(Lpn(page)).expect("two are empty"));
        assert_eq!(slots, [SlotId(10), SlotId(11)]);
        assert_eq!((cache.take_slot(Lpn(2)), cache.take_slot(Lpn(0))), (None, None));
        slots.into_iter().for_each(|slot| drop(cache.filled(slot, true)));
        assert_eq!(cache.look_up(CommandId(7), Lpn(0), 1), Some((slots[0], true)));
        assert_eq!(cache.take_slot(Lpn(2)), Some(slots[1]), "page 1 was not asked for");
        assert_eq!(cache.look_up(CommandId(7), Lpn(1), 1), None);
    }

    #[test]
    fn a_page_that_changes_while_it_is_read_serves_the_reads_that_came_before() {
        let mut cache = cache(1, 1);
        let slot = cache.take_slot(Lpn(3)).expect("it is empty");
        assert_eq!(cache.look_up(CommandId(7), Lpn(3), 1), Some((slot, false)));
        cache.forget(Lpn(3));
        assert_eq!(cache.look_up(CommandId(8), Lpn(3), 1), None);
        assert_eq!(cache.take_slot(Lpn(3)), None, "its slot is in use until the read has ended");
        assert_eq!(cache.filled(slot, true), (Lpn(3), vec![(CommandId(7), 1)]));
        assert_eq!((cache.look_up(CommandId(9), Lpn(3), 1), cache.take_slot(Lpn(3))), (None, Some(slot)));
    }
}
