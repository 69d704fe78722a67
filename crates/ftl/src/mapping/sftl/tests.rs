use std::collections::BTreeMap;

use flashloom_units::{NO_INDEX, Prng};

use super::*;

/// Two translation pages of 128 entries, of a drive with one plane.
fn shape() -> MapShape {
    MapShape::new(256, 128, 1)
}

fn unmapped(shape: &MapShape) -> Vec<Ppn> {
    vec![Ppn::NONE; shape.entries() as usize]
}

fn loaded(cache: &mut CondensedPages, lpn: u32, map: &[Ppn]) {
    assert_eq!(cache.make_room(Lpn(lpn), map), None);
    cache.insert(Lpn(lpn), map);
}

/// 128 entries: 16 bytes of bitmap, 4 bytes a run, 8 besides; plain, 512 bytes and 8.
#[test]
fn a_page_takes_a_bitmap_and_four_bytes_a_run_and_never_more_than_a_plain_one() {
    let shape = shape();
    let mut map = unmapped(&shape);
    (0..128).for_each(|entry| map[entry as usize] = Ppn(1_000 + entry));
    let mut cache = CondensedPages::with_capacity(shape, 10_000, 0, 16);
    loaded(&mut cache, 5, &map);
    assert_eq!(cache.bytes, 8 + 16 + 4, "one run");
    map[40] = Ppn(7);
    cache.mark_dirty(Lpn(40), &map);
    assert_eq!(cache.bytes, 8 + 16 + 3 * 4, "the page in the middle is a run, and the rest behind it another");
    map[41] = Ppn(8);
    cache.mark_dirty(Lpn(41), &map);
    assert_eq!(cache.bytes, 8 + 16 + 3 * 4, "its neighbour goes on with it");
    for entry in 0..128 {
        map[entry as usize] = Ppn(2 * entry);
        cache.mark_dirty(Lpn(entry), &map);
    }
    assert_eq!(cache.bytes, 8 + 512, "as a bitmap and 128 runs it would be larger than plain");
    assert_eq!(cache.check(&map), Ok(()));
}

#[test]
fn a_page_with_few_dirty_entries_leaves_by_way_of_the_buffer_and_takes_them_out_again() {
    let shape = shape();
    let mut map = unmapped(&shape);
    // Room for one page at a time, and for three entries.
    let mut cache = CondensedPages::with_capacity(shape, 520, 3, 2);
    (0..256).for_each(|entry| map[entry as usize] = Ppn(2 * entry));
    loaded(&mut cache, 0, &map);
    assert!(cache.mark_dirty(Lpn(0), &map).is_some() && cache.mark_dirty(Lpn(9), &map).is_some());
    loaded(&mut cache, 128, &map);
    assert_eq!((cache.buffered, cache.spared), (2, 1));
    assert_eq!(cache.touch(Lpn(9)), Some(Frame(2)), "in the buffer");
    assert_eq!(cache.touch(Lpn(1)), None, "a clean neighbour is not");
    cache.mark_dirty(Lpn(130), &map);
    cache.mark_dirty(Lpn(131), &map);
    // Two more do not fit: the other page's are written back first.
    let page = TranslationPage(0);
    assert_eq!(cache.make_room(Lpn(0), &map), Some(WriteBack { page, whole: None }));
    loaded(&mut cache, 0, &map);
    assert_eq!((cache.buffered, cache.spared), (2, 2));
    (0..3).for_each(|entry| _ = cache.mark_dirty(Lpn(entry), &map));
    // Three are not few.
    assert_eq!(cache.make_room(Lpn(128), &map), Some(WriteBack { page, whole: Some(Frame(0)) }));
    loaded(&mut cache, 128, &map);
    assert_eq!((cache.buffered, cache.dirty[1], cache.spared), (0, 2, 2), "the page took its entries out");
    assert_eq!(cache.check(&map), Ok(()));
}

/// A naive model: the cached pages in a list, the dirty entries in a map, and every size counted anew.
struct Model {
    shape: MapShape,
    capacity: u64,
    buffer_entries: usize,
    sparse: usize,
    cached: Vec<u32>,
    /// Dirty entries of each page.
    dirty: BTreeMap<u32, Vec<u32>>,
    /// Pages in the buffer, oldest first.
    buffer: Vec<u32>,
}

impl Model {
    fn page(&self, lpn: u32) -> u32 {
        lpn / self.shape.entries_a_page()
    }

    fn size(&self, page: u32, map: &[Ppn]) -> u64 {
        let (entries, planes) = (self.shape.entries_a_page() as usize, self.shape.planes() as usize);
        let first = page as usize * entries;
        let own = &map[first..(first + entries).min(map.len())];
        let goes_on = |at: usize| {
            at >= planes
                && (own[at].0 == own[at - planes].0.wrapping_add(1) && own[at - planes].is_some()
                    || own[at].is_none() && own[at - planes].is_none())
        };
        let runs = (0..own.len()).filter(|&at| !goes_on(at)).count();
        (8 + entries / 8 + 4 * runs).min(8 + 4 * entries) as u64
    }

    fn dirty_of(&self, page: u32) -> usize {
        self.dirty.get(&page).map_or(0, Vec::len)
    }

    fn shrink(&mut self, room: u64, map: &[Ppn], writes: &mut Vec<(u32, bool)>) {
        while self.cached.iter().map(|&page| self.size(page, map)).sum::<u64>() > room {
            let victim = self.cached.remove(0);
            let dirty = self.dirty_of(victim);
            if dirty > self.sparse {
                self.dirty.remove(&victim);
                writes.push((victim, true));
            } else if dirty > 0 {
                while self.buffer.iter().map(|&page| self.dirty_of(page)).sum::<usize>() + dirty > self.buffer_entries {
                    let most = self.buffer.iter().map(|&page| self.dirty_of(page)).max().expect("one is there");
                    let at = self.buffer.iter().position(|&page| self.dirty_of(page) == most).expect("it is there");
                    let page = self.buffer.remove(at);
                    self.dirty.remove(&page);
                    writes.push((page, false));
                }
                self.buffer.push(victim);
            }
        }
    }
}

#[test]
fn pages_come_and_go_as_in_a_list_whose_sizes_are_counted_anew() {
    let mut writes_of_the_buffer = 0;
    for seed in 0..2_000 {
        let mut prng = Prng::new(seed);
        let planes = 1 << prng.below(3);
        let shape = MapShape::new(64 * 8 - prng.below(60) as u32, 64, planes);
        let (capacity, buffer_entries) = (264 + prng.below(800), prng.below(30) as u32);
        let sparse = (1 + prng.below(10) as u32).min(buffer_entries);
        let mut cache = CondensedPages::with_capacity(shape, capacity, buffer_entries, sparse);
        let (buffer_entries, sparse) = (buffer_entries as usize, sparse as usize);
        let (cached, dirty, buffer) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut model = Model { shape, capacity, buffer_entries, sparse, cached, dirty, buffer };
        let mut map = unmapped(&shape);
        let mut place = 0;
        for step in 0..300 {
            let first = prng.below(u64::from(shape.entries())) as u32;
            let length = if prng.chance(0.3) { 1 + prng.below(40) as u32 } else { 1 };
            let is_write = prng.chance(0.6);
            for lpn in first..(first + length).min(shape.entries()) {
                let (page, mut writes, mut expected) = (model.page(lpn), Vec::new(), Vec::new());
                let is_buffered = model.buffer.contains(&page) && model.dirty[&page].contains(&lpn);
                let is_cached = model.cached.contains(&page);
                assert_eq!(cache.touch(Lpn(lpn)).is_some(), is_cached || is_buffered, "seed {seed}, step {step}");
                if is_cached {
                    model.cached.retain(|&other| other != page);
                    model.cached.push(page);
                } else if !is_buffered {
                    while let Some(WriteBack { page, whole }) = cache.make_room(Lpn(lpn), &map) {
                        writes.push((page.0, whole.is_some()));
                        cache.clean(page);
                    }
                    cache.insert(Lpn(lpn), &map);
                    model.shrink(model.capacity - model.size(page, &map), &map, &mut expected);
                    model.buffer.retain(|&other| other != page);
                    model.cached.push(page);
                }
                if is_write {
                    map[lpn as usize] = if prng.chance(0.05) { Ppn(NO_INDEX) } else { Ppn(place) };
                    place += 1 + u32::from(prng.chance(0.05));
                    cache.mark_dirty(Lpn(lpn), &map);
                    while let Some(WriteBack { page, whole }) = cache.overflow() {
                        writes.push((page.0, whole.is_some()));
                        cache.clean(page);
                    }
                    let entries = model.dirty.entry(page).or_default();
                    if !entries.contains(&lpn) {
                        entries.push(lpn);
                    }
                    model.shrink(model.capacity, &map, &mut expected);
                }
                assert_eq!(writes, expected, "seed {seed}, step {step}");
                assert_eq!(cache.is_dirty(Lpn(lpn)), model.dirty.get(&page).is_some_and(|all| all.contains(&lpn)));
                writes_of_the_buffer += writes.iter().filter(|(_, is_whole)| !is_whole).count();
            }
            assert_eq!(cache.check(&map), Ok(()), "seed {seed}, step {step}");
        }
    }
    assert!(writes_of_the_buffer > 10_000, "the buffer was emptied {writes_of_the_buffer} times only");
}
