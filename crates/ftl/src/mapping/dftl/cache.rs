//! The cached mapping table: the entries of the map that are in memory, and which of them are dirty.
//!
//! Segmented LRU (Karedla, Love and Wherry, IEEE Computer 27(3), 1994): a new entry enters the probationary segment and
//! moves to the protected one when it is used again. An entry that overflows the protected segment returns to the most
//! recent end of the probationary segment, whose least recent entry is the victim. Dirty entries are also in a list of
//! their translation page, so that they are written back together. Flat arrays, O(1) an operation, no allocation after
//! construction.

use flashloom_nand::{Lpn, Ppn};
use flashloom_units::{KIB, Kind, Lists, NO_INDEX, Value, Violation, ensure, params, prefetch, violation};
use serde::{Deserialize, Serialize};

use crate::mapping::translation::{Frame, MapCache, MapShape, TranslationPage, WriteBack};

/// Bytes of an entry in the cache: a logical and a physical page number.
pub(super) const CACHED_ENTRY_BYTES: u64 = 8;

params! {
    /// Parameters of DFTL.
    pub struct DftlParams {
        /// Memory for cached entries of the map, 8 bytes each.
        cache_bytes: u64 => "cache", Kind::Size { min: CACHED_ENTRY_BYTES, max: 1 << 36 }, Value::Size(512 * KIB),
            "A larger cache reads and writes the map on flash less often.";
        /// Share of the cache for entries that were used again while cached: the protected segment.
        protected: f64 => "protected", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.5),
            "A larger share keeps what was used twice longer, against entries that are used once.";
    }
}

/// A cached entry: its logical page, and its segment.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Entry {
    lpn: Lpn,
    segment: Segment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Segment {
    Probationary,
    Protected,
}

/// The cached mapping table.
pub(in crate::mapping) struct MappingTable {
    entries: Vec<Entry>,
    shape: MapShape,
    capacity: u32,
    protected_capacity: u32,
    /// Slot of each page's entry, or none if it is not cached.
    slots: Vec<u32>,
    /// Slots of each segment, least recently used first, and their number.
    segments: Lists<u32>,
    lengths: [u32; 2],
    /// Slots of the dirty entries of each translation page.
    dirty: Lists<u32>,
    /// Slot of the entry that was evicted last.
    free: u32,
}

flashloom_units::state! {
    MappingTable {
        list entries [*capacity];
        value lengths, free;
        ids slots [entries.len()];
        nested segments, dirty;
        fixed shape, capacity, protected_capacity;
    }
}

impl MapCache for MappingTable {
    type Params = DftlParams;

    fn new(params: DftlParams, shape: MapShape) -> Self {
        let capacity = (params.cache_bytes / CACHED_ENTRY_BYTES).min(u64::from(shape.entries())) as u32;
        Self::with_capacity(capacity, params.protected, shape)
    }

    fn frames(&self) -> u32 {
        self.capacity
    }

    fn memory_bytes(&self) -> u64 {
        CACHED_ENTRY_BYTES * u64::from(self.capacity)
    }

    fn prepare(&self, lpn: Lpn) {
        prefetch(&self.slots, lpn.at());
    }

    fn touch(&mut self, lpn: Lpn) -> Option<Frame> {
        let slot = self.slots[lpn.at()];
        if slot == NO_INDEX {
            return None;
        }
        self.unlink(slot);
        self.link(slot, Segment::Protected);
        if self.lengths[Segment::Protected as usize] > self.protected_capacity
            && let Some(oldest) = self.segments.front(Segment::Protected as usize)
        {
            self.unlink(oldest);
            self.link(oldest, Segment::Probationary);
        }
        Some(Frame(slot))
    }

    fn make_room(&mut self, _lpn: Lpn, _map: &[Ppn]) -> Option<WriteBack> {
        if self.entries.len() < self.capacity as usize || self.free != NO_INDEX {
            return None;
        }
        let oldest = |segment| self.segments.front(segment as usize);
        let victim = oldest(Segment::Probationary).or_else(|| oldest(Segment::Protected))?;
        let Entry { lpn, .. } = self.entries[victim as usize];
        let is_dirty = self.dirty.contains(victim);
        if is_dirty {
            self.dirty.remove(victim);
        }
        self.unlink(victim);
        self.slots[lpn.at()] = NO_INDEX;
        self.free = victim;
        is_dirty.then(|| WriteBack { page: self.shape.page_of(lpn), whole: None })
    }

    fn insert(&mut self, lpn: Lpn, _map: &[Ppn]) -> Frame {
        debug_assert_eq!(self.slots[lpn.at()], NO_INDEX, "a page has one entry");
        let entry = Entry { lpn, segment: Segment::Probationary };
        let mut slot = std::mem::replace(&mut self.free, NO_INDEX);
        if slot == NO_INDEX {
            debug_assert!(self.entries.len() < self.capacity as usize, "room was made before");
            slot = self.entries.len() as u32;
            self.entries.push(entry);
        } else {
            self.entries[slot as usize] = entry;
        }
        self.slots[lpn.at()] = slot;
        self.link(slot, Segment::Probationary);
        Frame(slot)
    }

    fn mark_dirty(&mut self, lpn: Lpn, _map: &[Ppn]) -> Option<Frame> {
        let slot = self.slots[lpn.at()];
        if slot == NO_INDEX {
            return None;
        }
        if !self.dirty.contains(slot) {
            self.dirty.push_back(self.shape.page_of(lpn).at(), slot);
        }
        Some(Frame(slot))
    }

    fn is_dirty(&self, lpn: Lpn) -> bool {
        let slot = self.slots[lpn.at()];
        slot != NO_INDEX && self.dirty.contains(slot)
    }

    fn has_dirty(&self, page: TranslationPage) -> bool {
        !self.dirty.is_empty(page.at())
    }

    fn clean(&mut self, page: TranslationPage) {
        while self.dirty.pop_front(page.at()).is_some() {}
    }

    /// Checks that the segments hold all entries, that each is found by its page, and that dirty ones are in the list
    /// of their translation page.
    fn check(&self, _map: &[Ppn]) -> Result<(), Violation> {
        ensure!(self.free == NO_INDEX, "map cache: room was made in entry {}, and no entry came", self.free);
        for (slot, &Entry { lpn, .. }) in (0..).zip(&self.entries) {
            if self.slots.get(lpn.at()) != Some(&slot) {
                return Err(violation!("map cache: entry {slot} is not where logical page {} looks for it", lpn.0));
            }
        }
        for (segment, &length) in [Segment::Probationary, Segment::Protected].into_iter().zip(&self.lengths) {
            let mut members = self.segments.iter(segment as usize);
            let is_of = |slot: u32| self.entries.get(slot as usize).is_some_and(|entry| entry.segment == segment);
            if !members.all(is_of) || self.segments.iter(segment as usize).count() != length as usize {
                return Err(violation!(
                    "map cache: the {segment:?} segment has not the {length} entries that it counts"
                ));
            }
        }
        for page in 0..self.shape.translation_pages() {
            let is_of = |slot: u32| {
                self.entries.get(slot as usize).is_some_and(|entry| self.shape.page_of(entry.lpn).at() == page as usize)
            };
            if !self.dirty.iter(page as usize).all(is_of) {
                return Err(violation!("map cache: translation page {page} has dirty entries of another"));
            }
        }
        let (mut held, mut dirty) = (0, 0);
        for (lpn, &slot) in self.slots.iter().enumerate().filter(|(_, slot)| **slot != NO_INDEX) {
            held += 1;
            dirty += u32::from(self.dirty.contains(slot));
            if self.entries[slot as usize].lpn.at() != lpn {
                return Err(violation!("map cache: the entry of logical page {lpn} is that of another"));
            }
        }
        let pages = 0..self.shape.translation_pages() as usize;
        let listed: u32 = pages.map(|page| self.dirty.iter(page).count() as u32).sum();
        let segments: u32 = self.lengths.iter().sum();
        if (held, dirty) != (segments, listed) || held > self.capacity {
            return Err(violation!(
                "map cache: {held} entries, {segments} in segments, {} of capacity; {dirty} dirty, {listed} listed",
                self.capacity
            ));
        }
        Ok(())
    }
}

impl MappingTable {
    /// A table of `capacity` entries; `protected` is the share of the protected segment.
    fn with_capacity(capacity: u32, protected: f64, shape: MapShape) -> Self {
        Self {
            entries: Vec::with_capacity(capacity as usize),
            shape,
            capacity,
            protected_capacity: (f64::from(capacity) * protected) as u32,
            slots: vec![NO_INDEX; shape.entries() as usize],
            segments: Lists::new(capacity, 2),
            lengths: [0; 2],
            dirty: Lists::new(capacity, shape.translation_pages()),
            free: NO_INDEX,
        }
    }

    /// Makes an entry the most recent of a segment.
    fn link(&mut self, slot: u32, segment: Segment) {
        self.lengths[segment as usize] += 1;
        self.segments.push_back(segment as usize, slot);
        self.entries[slot as usize].segment = segment;
    }

    fn unlink(&mut self, slot: u32) {
        self.lengths[self.entries[slot as usize].segment as usize] -= 1;
        self.segments.remove(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::Prng;
    use std::collections::BTreeSet;

    /// Eight translation pages of eight entries.
    const SHAPE: MapShape = MapShape::new(64, 8, 1);

    fn written_back(lpn: u32) -> WriteBack {
        WriteBack { page: SHAPE.page_of(Lpn(lpn)), whole: None }
    }

    /// A naive model of the same rules: lists with the most recent entry last.
    struct Model {
        probationary: Vec<u32>,
        protected: Vec<u32>,
        capacity: usize,
        protected_capacity: usize,
        dirty: BTreeSet<u32>,
    }

    impl Model {
        fn touch(&mut self, lpn: u32) -> bool {
            let before = self.probationary.len() + self.protected.len();
            self.probationary.retain(|&held| held != lpn);
            self.protected.retain(|&held| held != lpn);
            if before == self.probationary.len() + self.protected.len() {
                return false;
            }
            self.protected.push(lpn);
            if self.protected.len() > self.protected_capacity {
                self.probationary.push(self.protected.remove(0));
            }
            true
        }

        fn make_room(&mut self) -> Option<u32> {
            if self.probationary.len() + self.protected.len() < self.capacity {
                return None;
            }
            let from = if self.probationary.is_empty() { &mut self.protected } else { &mut self.probationary };
            let victim = from.remove(0);
            self.dirty.remove(&victim).then_some(victim)
        }
    }

    #[test]
    fn entries_come_and_go_as_in_two_lists() {
        for (capacity, protected, seed) in [(1, 0.5, 1), (1, 1.0, 2), (7, 0.0, 3), (10, 0.5, 4), (10, 1.0, 5)] {
            let mut cache = MappingTable::with_capacity(capacity, protected, SHAPE);
            let mut model = Model {
                probationary: Vec::new(),
                protected: Vec::new(),
                capacity: capacity as usize,
                protected_capacity: (f64::from(capacity) * protected) as usize,
                dirty: BTreeSet::new(),
            };
            let mut prng = Prng::new(seed);
            for step in 0..5_000 {
                let span = if prng.chance(0.5) { 8 } else { 64 };
                let lpn = prng.below(span) as u32;
                let hit = cache.touch(Lpn(lpn)).is_some();
                assert_eq!(hit, model.touch(lpn), "capacity {capacity}, step {step}");
                if !hit {
                    assert_eq!(
                        cache.make_room(Lpn(lpn), &[]),
                        model.make_room().map(written_back),
                        "capacity {capacity}, step {step}"
                    );
                    cache.insert(Lpn(lpn), &[]);
                    model.probationary.push(lpn);
                }
                if prng.chance(0.3) {
                    assert!(cache.mark_dirty(Lpn(lpn), &[]).is_some());
                    model.dirty.insert(lpn);
                }
                if prng.chance(0.05) {
                    let translation_page = prng.below(8) as u32;
                    cache.clean(TranslationPage(translation_page));
                    model.dirty.retain(|lpn| lpn / 8 != translation_page);
                }
                assert_eq!(cache.is_dirty(Lpn(lpn)), model.dirty.contains(&lpn));
                assert_eq!(cache.check(&[]), Ok(()));
            }
        }
    }

    #[test]
    fn an_entry_that_is_not_here_cannot_become_dirty() {
        let mut cache = MappingTable::with_capacity(4, 0.5, SHAPE);
        assert_eq!(cache.mark_dirty(Lpn(3), &[]), None);
        let frame = cache.insert(Lpn(3), &[]);
        assert_eq!((cache.mark_dirty(Lpn(3), &[]), cache.touch(Lpn(3))), (Some(frame), Some(frame)));
        assert!(cache.is_dirty(Lpn(3)) && !cache.is_dirty(Lpn(4)));
    }
}
