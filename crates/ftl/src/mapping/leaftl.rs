//! LeaFTL: a page-level map on flash whose cached part is learned, as linear segments with a bounded error (Sun et al.,
//! "LeaFTL: A Learning-based Flash Translation Layer for Solid-State Drives", ASPLOS 2023).
//!
//! ```text
//! learn         entries that changed wait in a buffer. When it is full, those whose physical pages are consecutive in
//!               a block are sorted by address; in each group of 256 entries a segment takes the next entry as long as
//!               some line of a slope between 0 and 1 predicts all its pages with an error of `gamma` at most (greedy)
//! segment       8 bytes: first entry, length, slope, first page. Accurate, if its entries and pages are evenly spaced.
//!               Otherwise approximate: its entries are listed in the group's conflict resolution buffer, a byte each
//!               and one behind the last
//! levels        segments of a group are in levels and do not overlap within one. A new one goes on top and takes its
//!               entries from those that it meets there; who still overlaps it moves to the next level, or a new one
//! lookup        the buffer, then the levels from the top: the first segment that has the entry
//! misprediction the spare areas of the pages around name their addresses, so one more read finds the page
//! compaction    each `compaction` learned entries: what lies under newer segments is dropped, the rest lifted
//! ```
//!
//! Without an error (`gamma` 0) all segments are accurate. An approximate segment keeps its first entry, and an
//! accurate one gives up entries at its ends only, so that both stay 8 bytes; a newer segment above has the entries in
//! between.
//!
//! Choices of ours where the kit of cached maps differs from the paper's drive:
//!
//! - The paper learns what its write buffer flushes, a block at a time and sorted. Here pages are written as they come,
//!   over all planes; the buffer of changed entries stands for it, and a run of consecutive physical pages for a block.
//!   A stream over P planes becomes P segments of stride P.
//! - The cache holds whole translation pages, by LRU: each takes 8 bytes and what the segments of its groups take. Its
//!   copy on flash is a page as in `dftl`. The buffer takes 8 bytes an entry of the same memory.
//! - Segments of a group that take more than 10 bytes an entry are compacted at once, which leaves no more than that.
//! - A list takes a byte an entry, so that a long one costs more than segments of what is evenly spaced in it. A
//!   segment therefore ends with its evenly spaced entries, if these take fewer bytes each.
//! - Writes of whole pages and collections need no page of the data: which pages are valid is in memory. A write loads
//!   its translation page, as with `dftl`. A lookup that has just read the translation page is never mispredicted: all
//!   entries are there. The page read in vain is not followed to its neighbour in the block; reading the right page
//!   twice takes as long.
//! - A slope has 15 bits of fixed point, where the paper has a float of 16 bits whose last bit is the kind.
//!
//! O(levels) a lookup; a learned segment O(segments of its group). Memory beyond the store's: that of all segments.

mod segments;

use std::ops::Range;

use flashloom_nand::{Lpn, Ppn};
use flashloom_units::{Capability, Figure, KIB, Kind, Lists, PolicySpec, Refusal, Statistic, Unit, ensure};
use flashloom_units::{Value, Violation, params, violation};

use super::translation::{self, EntryBits, Frame, MapCache, MapShape, TranslationPage, WriteBack};
use crate::capability::{PAGE_MAPPING, TRANSLATION_PAGES};
use segments::{GROUP, Group, learn};

/// Bytes that a cached translation page takes besides its segments: its number and its neighbours in the list.
const HEADER_BYTES: u64 = 8;
/// Bytes of a changed entry that waits to be learned: a logical and a physical page number.
const WAITING_BYTES: u64 = 8;
/// Most bytes of a compacted group for each of its entries: an approximate segment of one.
const WORST_BYTES: u64 = 10;

params! {
    /// Parameters of LeaFTL.
    pub struct LeaftlParams {
        /// Memory for the segments of cached translation pages, and for changed entries.
        cache_bytes: u64 => "cache", Kind::Size { min: 512, max: 1 << 36 }, Value::Size(512 * KIB),
            "A larger cache reads and writes the map on flash less often.";
        /// Most pages between a prediction and the page: the error bound.
        gamma: u32 => "gamma", Kind::Count { min: 0, max: 64 }, Value::Count(4),
            "A larger error makes fewer segments where entries are unevenly spaced, and more reads that find the page \
             at the second attempt.";
        /// Changed entries that are learned together, 8 bytes each.
        buffer: u32 => "buffer", Kind::Count { min: 1, max: 4_096 }, Value::Count(256),
            "More entries at a time make longer segments, and leave less memory for them.";
        /// Learned entries after which all groups are compacted.
        compaction: u32 => "compaction", Kind::Count { min: 1, max: 1 << 30 }, Value::Count(1_000_000),
            "Frequent compaction keeps the map small; here it takes no time.";
    }
}

const STATISTICS: &[Statistic] = &Statistic::joined::<{ translation::STATISTICS.len() + 5 }>(&[
    translation::STATISTICS,
    &[
        Statistic::count("cached_pages", "Translation pages in the cache at the end."),
        Statistic::count("segments", "Learned segments of the whole map at the end."),
        Statistic::count("approximate_segments", "Those of them that are approximate."),
        Statistic::new(
            "segment_bytes",
            Unit::Bytes,
            "What all segments take at the end; a page map takes 4 bytes a page.",
        ),
        Statistic::count("mispredictions", "Lookups of data that read another page first."),
    ],
]);

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "leaftl",
    summary: "a page-level map on flash, cached as learned linear segments",
    details: "LRU of translation pages as small as their segments, which are learned from changed entries in batches. \
              Takes an allocation (ftl.allocation) and a collection policy (ftl.gc).",
    source: "Sun et al., ASPLOS 2023",
    example: "ftl.mapping=leaftl ftl.leaftl.cache=64KiB ftl.leaftl.gamma=1 workload.synthetic.pattern=sequential",
    instead: "Single pages at random are segments of one page, which take twice the bytes of a page map: `dftl` then \
              holds more of what is used. For a drive with memory for the whole map use `page`.",
    needs: &[],
    offers: &[PAGE_MAPPING, TRANSLATION_PAGES, Capability::SAVED_STATE],
    params: LeaftlParams::PARAMS,
    statistics: STATISTICS,
};

/// Translation pages as learned segments.
pub(super) struct LearnedPages {
    shape: MapShape,
    gamma: u32,
    /// Bytes for pages, and changed entries that wait at most.
    capacity: u64,
    most_waiting: u32,
    compaction: u32,
    /// The cached pages, least recently used first.
    recency: Lists<u32>,
    /// The segments of all groups, cached or not, and their bytes for each translation page.
    groups: Vec<Group>,
    bytes_of: Vec<u64>,
    /// Bytes of all cached pages.
    bytes: u64,
    is_dirty: Vec<bool>,
    /// Changed entries that are not learned, in the order of their changes.
    waiting: Vec<(Lpn, Ppn)>,
    waits: EntryBits,
    /// Entries learned since the last compaction.
    learned: u32,
    mispredictions: u64,
}

flashloom_units::state! {
    LearnedPages {
        nested recency;
        array groups;
        nested bytes_of;
        value bytes;
        nested is_dirty;
        list waiting [*most_waiting];
        nested waits;
        value learned, mispredictions;
        fixed shape, gamma, capacity, most_waiting, compaction;
    }
}

impl LearnedPages {
    fn with_capacity(shape: MapShape, params: &LeaftlParams) -> Self {
        let pages = shape.translation_pages() as usize;
        let groups = pages * shape.entries_a_page().div_ceil(GROUP) as usize;
        Self {
            shape,
            gamma: params.gamma,
            capacity: for_pages(params),
            most_waiting: params.buffer,
            compaction: params.compaction,
            recency: Lists::new(pages as u32, 1),
            groups: vec![Group::default(); groups],
            bytes_of: vec![0; pages],
            bytes: 0,
            is_dirty: vec![false; pages],
            waiting: Vec::with_capacity(params.buffer as usize),
            waits: shape.bits(),
            learned: 0,
            mispredictions: 0,
        }
    }

    /// The groups of a translation page.
    fn groups_of(&self, page: TranslationPage) -> Range<usize> {
        let groups = self.shape.entries_a_page().div_ceil(GROUP) as usize;
        page.at() * groups..(page.at() + 1) * groups
    }

    /// The group of an entry, and its place there.
    fn place(&self, lpn: Lpn) -> (usize, u8) {
        let page = self.shape.page_of(lpn);
        let entry = lpn.0 - page.0 * self.shape.entries_a_page();
        (self.groups_of(page).start + (entry / GROUP) as usize, (entry % GROUP) as u8)
    }

    fn is_cached(&self, page: TranslationPage) -> bool {
        self.recency.contains(page.0)
    }

    fn size(&self, page: TranslationPage) -> u64 {
        HEADER_BYTES + self.bytes_of[page.at()]
    }

    /// Evicts the page used least recently until the others take at most so many bytes. Returns what has to be written;
    /// to be called again then.
    fn shrink_to(&mut self, bytes: u64) -> Option<WriteBack> {
        while self.bytes > bytes {
            let page = TranslationPage(self.recency.pop_front(0)?);
            self.bytes -= self.size(page);
            if std::mem::take(&mut self.is_dirty[page.at()]) {
                return Some(WriteBack { page, whole: Some(Frame(page.0)) });
            }
        }
        None
    }

    /// The page that a lookup of an entry predicts, if it was ever learned.
    fn predict(&self, lpn: Lpn) -> Option<Ppn> {
        let waiting = self.waits.get(lpn.0).then(|| self.waiting.iter().rev().find(|(other, _)| *other == lpn));
        waiting.flatten().map(|&(_, page)| page).or_else(|| {
            let (group, entry) = self.place(lpn);
            self.groups[group].find(entry).map(|segment| segment.predict(entry))
        })
    }

    /// Learns the entries that wait.
    fn learn(&mut self) {
        let mut points = std::mem::take(&mut self.waiting);
        self.learned += points.len() as u32;
        // Of an entry that changed several times the last change.
        points.reverse();
        points.sort_by_key(|&(lpn, _)| lpn);
        points.dedup_by_key(|&mut (lpn, _)| lpn);
        points.sort_by_key(|&(_, page)| page);
        points.iter().for_each(|&(lpn, _)| _ = self.waits.replace(lpn.0, false));
        let shape = self.shape;
        let goes_on = |before: &(Lpn, Ppn), after: &(Lpn, Ppn)| {
            before.1.0.wrapping_add(1) == after.1.0 && shape.block_of(before.1) == shape.block_of(after.1)
        };
        for run in points.chunk_by_mut(goes_on) {
            run.sort_by_key(|&(lpn, _)| lpn);
            let placed: Vec<_> = run.iter().map(|&(lpn, page)| (self.place(lpn), page)).collect();
            for of_group in placed.chunk_by(|before, after| before.0.0 == after.0.0) {
                let group = of_group[0].0.0;
                let points: Vec<(u8, Ppn)> = of_group.iter().map(|&((_, entry), page)| (entry, page)).collect();
                let segments = learn(&points, self.gamma);
                self.change(group, |group| segments.into_iter().for_each(|segment| group.insert(segment)));
            }
        }
        points.clear();
        self.waiting = points;
        if self.learned >= self.compaction {
            self.learned = 0;
            (0..self.groups.len()).for_each(|group| self.change(group, Group::compact));
        }
    }

    /// Changes the segments of a group, and counts their bytes.
    fn change(&mut self, at: usize, change: impl FnOnce(&mut Group)) {
        let group = &mut self.groups[at];
        let before = group.bytes();
        change(group);
        if group.bytes() > WORST_BYTES * u64::from(GROUP.min(self.shape.entries_a_page())) {
            group.compact();
        }
        let after = group.bytes();
        let page = at / self.shape.entries_a_page().div_ceil(GROUP) as usize;
        self.bytes_of[page] = self.bytes_of[page] + after - before;
        if self.is_cached(TranslationPage(page as u32)) {
            self.bytes = self.bytes + after - before;
        }
    }
}

/// Bytes for pages.
fn for_pages(params: &LeaftlParams) -> u64 {
    params.cache_bytes.saturating_sub(u64::from(params.buffer) * WAITING_BYTES)
}

impl MapCache for LearnedPages {
    type Params = LeaftlParams;

    const ENTRIES_SHARE_FRAMES: bool = true;

    fn suits(params: &LeaftlParams, shape: MapShape) -> Result<(), Refusal> {
        let groups = u64::from(shape.entries_a_page().div_ceil(GROUP) * GROUP.min(shape.entries_a_page()));
        let (has, worst) = (for_pages(params), HEADER_BYTES + WORST_BYTES * groups);
        if has >= worst {
            return Ok(());
        }
        let found = format!(
            "{has} bytes for translation pages: `ftl.leaftl.cache` = {} less 8 bytes for each of `ftl.leaftl.buffer` = \
             {}",
            params.cache_bytes, params.buffer
        );
        let refusal = Refusal::new(found, format!("room for a translation page of single entries, {worst} bytes"));
        let refusal = refusal.at(["ftl.leaftl.cache", "ftl.leaftl.buffer", "device.page_size", "device.preset"]);
        Err(refusal.help("raise ftl.leaftl.cache, or lower ftl.leaftl.buffer"))
    }

    fn new(params: LeaftlParams, shape: MapShape) -> Self {
        Self::with_capacity(shape, &params)
    }

    fn frames(&self) -> u32 {
        self.shape.translation_pages()
    }

    fn memory_bytes(&self) -> u64 {
        self.capacity + WAITING_BYTES * u64::from(self.most_waiting)
    }

    fn touch(&mut self, lpn: Lpn) -> Option<Frame> {
        let page = self.shape.page_of(lpn);
        if !self.is_cached(page) {
            return None;
        }
        self.recency.remove(page.0);
        self.recency.push_back(0, page.0);
        Some(Frame(page.0))
    }

    fn make_room(&mut self, lpn: Lpn, _map: &[Ppn]) -> Option<WriteBack> {
        self.shrink_to(self.capacity - self.size(self.shape.page_of(lpn)))
    }

    fn insert(&mut self, lpn: Lpn, _map: &[Ppn]) -> Frame {
        let page = self.shape.page_of(lpn);
        self.bytes += self.size(page);
        self.recency.push_back(0, page.0);
        Frame(page.0)
    }

    fn mark_dirty(&mut self, lpn: Lpn, map: &[Ppn]) -> Option<Frame> {
        let (page, to) = (self.shape.page_of(lpn), map[lpn.at()]);
        if to.is_some() {
            self.waiting.push((lpn, to));
            self.waits.replace(lpn.0, true);
            if self.waiting.len() == self.most_waiting as usize {
                self.learn();
            }
        }
        self.is_cached(page).then(|| {
            self.is_dirty[page.at()] = true;
            Frame(page.0)
        })
    }

    fn whole(&self, page: TranslationPage) -> Option<Frame> {
        self.is_cached(page).then_some(Frame(page.0))
    }

    fn overflow(&mut self) -> Option<WriteBack> {
        self.shrink_to(self.capacity)
    }

    fn is_dirty(&self, lpn: Lpn) -> bool {
        self.is_dirty[self.shape.page_of(lpn).at()]
    }

    fn has_dirty(&self, page: TranslationPage) -> bool {
        self.is_dirty[page.at()]
    }

    fn clean(&mut self, page: TranslationPage) {
        self.is_dirty[page.at()] = false;
    }

    fn mispredicts(&mut self, lpn: Lpn, map: &[Ppn]) -> bool {
        let is_wrong = self.predict(lpn) != Some(map[lpn.at()]);
        self.mispredictions += u64::from(is_wrong);
        is_wrong
    }

    fn figures(&self) -> Vec<Figure> {
        let segments = || self.groups.iter().flat_map(Group::segments);
        let approximate = segments().filter(|segment| segment.is_approximate()).count();
        let counts = [self.recency.iter(0).count() as u64, segments().count() as u64, approximate as u64];
        let bytes = Figure::Bytes(self.bytes_of.iter().sum());
        counts.map(Figure::Count).into_iter().chain([bytes, Figure::Count(self.mispredictions)]).collect()
    }

    fn reset_report(&mut self) {
        self.mispredictions = 0;
    }

    /// Checks that every prediction is within its error, and every count against a recount.
    fn check(&self, map: &[Ppn]) -> Result<(), Violation> {
        let mut waiting: Vec<u32> = self.waiting.iter().map(|(lpn, _)| lpn.0).collect();
        waiting.sort_unstable();
        waiting.dedup();
        let is_full = self.waiting.len() >= self.most_waiting as usize;
        let marked = (0..self.shape.entries()).filter(|&lpn| self.waits.get(lpn));
        ensure!(!is_full && marked.eq(waiting), "learned map: the entries that wait are not those that are marked");
        for (lpn, &page) in (0..self.shape.entries()).map(Lpn).zip(map).filter(|(_, page)| page.is_some()) {
            let is_near = |predicted: Ppn| predicted.0.abs_diff(page.0) <= self.gamma;
            if !self.predict(lpn).is_some_and(is_near) {
                return Err(violation!("learned map: logical page {} is not near its predicted page", lpn.0));
            }
        }
        let mut cached = 0;
        for page in (0..self.shape.translation_pages()).map(TranslationPage) {
            let groups = &self.groups[self.groups_of(page)];
            let bytes = groups.iter().map(Group::bytes).sum::<u64>();
            if bytes != self.bytes_of[page.at()] || !groups.iter().all(Group::is_sound) {
                return Err(violation!("learned map: translation page {} has not the segments counted", page.0));
            }
            cached += if self.is_cached(page) { self.size(page) } else { 0 };
        }
        if cached != self.bytes || cached > self.capacity || self.learned >= self.compaction {
            let (counted, most) = (self.bytes, self.capacity);
            return Err(violation!("learned map: {cached} bytes where {counted} are counted, of {most}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
