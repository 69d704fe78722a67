use std::collections::BTreeSet;

use flashloom_nand::BlockId;
use flashloom_units::{NO_INDEX, Prng};

use super::*;

/// 256 entries on two map pages of 128, 16 blocks of 32 pages.
fn shape() -> MapShape {
    MapShape::new(256, 128, 1).with_blocks(16, 32)
}

fn unmapped(shape: &MapShape) -> Vec<Ppn> {
    vec![Ppn::NONE; shape.entries() as usize]
}

/// Writes pages to consecutive places, from `first` on.
fn write(table: &mut UpdateTable, map: &mut [Ppn], first: u32, lpns: impl IntoIterator<Item = u32>) {
    for (page, lpn) in (first..).zip(lpns) {
        map[lpn as usize] = Ppn(page);
        table.mark_dirty(Lpn(lpn), map);
    }
}

fn written(table: &mut UpdateTable) -> Vec<u32> {
    std::iter::from_fn(|| table.overflow()).map(|write| write.page.0).collect()
}

#[test]
fn a_full_table_converts_the_oldest_block_with_one_write_for_each_map_page_of_its_entries() {
    let shape = shape();
    let (mut table, mut map) = (UpdateTable::with_capacity(shape, 64, 2, 1, 100), unmapped(&shape));
    // Block 0: pages of both map pages. Block 1: 31 of the first map page, and one of the second.
    write(&mut table, &mut map, 0, (0..16).chain(128..144));
    write(&mut table, &mut map, 32, (16..47).chain([144]));
    assert_eq!((table.held, written(&mut table)), (64, vec![]), "that is its room");
    write(&mut table, &mut map, 64, [200]);
    assert_eq!(written(&mut table), [0, 1]);
    assert_eq!((table.held, table.conversions), (33, 1), "the 32 of block 0 have left");
    assert!(!table.is_dirty(Lpn(20)) && table.touch(Lpn(20)).is_some(), "written with those of block 0, and kept");
    assert!(table.touch(Lpn(3)).is_none());
    assert_eq!(table.check(&map), Ok(()));
    // Block 1 has nothing left to write, and page 200 was written with the second map page.
    write(&mut table, &mut map, 65, 208..240);
    assert_eq!((table.held, written(&mut table)), (65, vec![]));
    assert_eq!((table.held, table.conversions), (33, 2));
    assert_eq!(table.check(&map), Ok(()));
}

#[test]
fn among_the_oldest_blocks_the_one_is_converted_that_takes_fewest_writes_for_each_entry() {
    let shape = shape();
    for (window, expected) in [(1, vec![0, 1]), (2, vec![0])] {
        let (mut table, mut map) = (UpdateTable::with_capacity(shape, 64, 2, window, 100), unmapped(&shape));
        write(&mut table, &mut map, 0, (0..16).chain(128..144));
        write(&mut table, &mut map, 32, 16..48);
        // The third block has a page: a write for an entry, where the second has one for 32.
        write(&mut table, &mut map, 64, [200]);
        assert_eq!(written(&mut table), expected, "of the {window} oldest");
    }
}

#[test]
fn a_block_of_many_map_pages_is_converted_at_last_when_so_many_others_have_come() {
    let shape = shape();
    let (mut table, mut map) = (UpdateTable::with_capacity(shape, 64, 2, 8, 3), unmapped(&shape));
    write(&mut table, &mut map, 0, (0..16).chain(128..144));
    // The same pages again and again, so that the table is never full.
    let writes = [1, 2, 3, 4].map(|block| {
        write(&mut table, &mut map, 32 * block, 16..32);
        written(&mut table)
    });
    assert_eq!(writes, [vec![], vec![], vec![0, 1], vec![]], "three have entered after it");
    assert!(table.touch(Lpn(0)).is_none() && table.held == 16);
}

/// A naive model: the entries of the table in a list of blocks, and a set of those that flash does not know.
#[derive(Default)]
struct Model {
    /// Each block that has entries with their order, and how many had entered before it; oldest first.
    areas: Vec<(u32, Vec<u32>, u64)>,
    entered: u64,
    newer: BTreeSet<u32>,
    cached: Vec<u32>,
}

impl Model {
    fn change(&mut self, lpn: u32, block: u32) {
        self.areas.iter_mut().for_each(|(_, lpns, _)| lpns.retain(|&other| other != lpn));
        self.areas.retain(|(_, lpns, _)| !lpns.is_empty());
        match self.areas.iter_mut().find(|(other, ..)| *other == block) {
            Some((_, lpns, _)) => lpns.push(lpn),
            None => {
                self.areas.push((block, vec![lpn], self.entered));
                self.entered += 1;
            }
        }
        self.newer.insert(lpn);
    }

    fn held(&self) -> usize {
        self.areas.iter().map(|(_, lpns, _)| lpns.len()).sum()
    }

    /// The map pages that conversions write.
    fn convert(&mut self, capacity: usize, window: usize, age: u64, entries_a_page: u32) -> Vec<u32> {
        let mut writes = Vec::new();
        let is_aged = |model: &Self| model.areas.first().is_some_and(|&(_, _, before)| model.entered - before > age);
        while is_aged(self) || self.held() > capacity {
            let cost = |(_, lpns, _): &(u32, Vec<u32>, u64)| {
                let of = lpns.iter().filter(|lpn| self.newer.contains(lpn)).map(|lpn| lpn / entries_a_page);
                of.collect::<BTreeSet<u32>>().len() as f64 / lpns.len() as f64
            };
            let mut at = 0;
            if !is_aged(self) {
                for other in 1..self.areas.len().min(window) {
                    if cost(&self.areas[other]) < cost(&self.areas[at]) {
                        at = other;
                    }
                }
            }
            let (_, lpns, _) = self.areas.remove(at);
            for lpn in lpns {
                if self.newer.contains(&lpn) {
                    writes.push(lpn / entries_a_page);
                    self.newer.retain(|other| other / entries_a_page != lpn / entries_a_page);
                }
            }
        }
        writes
    }
}

#[test]
fn entries_come_and_go_as_in_a_model_that_counts_everything_anew() {
    let (mut converted, mut cheaper) = (0, 0);
    for seed in 0..2_000 {
        let mut prng = Prng::new(seed);
        let (entries_a_page, pages) = (64, 8 << prng.below(2));
        let shape = MapShape::new(64 * 8 - prng.below(60) as u32, entries_a_page, 1).with_blocks(64, pages);
        let (capacity, most_pages) = (pages + prng.below(60) as u32, 1 + prng.below(4) as u32);
        let (window, age) = (1 + prng.below(6) as u32, 1 + prng.below(40) as u32);
        let mut table = UpdateTable::with_capacity(shape, capacity, most_pages, window, age);
        let (mut model, mut map, mut place) = (Model::default(), unmapped(&shape), 0);
        for step in 0..120 {
            let first = prng.below(shape.entries().into()) as u32;
            let length = if prng.chance(0.3) { 1 + prng.below(30) as u32 } else { 1 };
            let is_write = prng.chance(0.7);
            for lpn in first..(first + length).min(shape.entries()) {
                if is_write {
                    let is_removed = prng.chance(0.05);
                    map[lpn as usize] = if is_removed { Ppn(NO_INDEX) } else { Ppn(place % (64 * pages)) };
                    // What was there is written over: the page that had it is unmapped, as an erase would find it.
                    for other in 0..shape.entries() {
                        if other != lpn && !is_removed && map[other as usize] == map[lpn as usize] {
                            map[other as usize] = Ppn(NO_INDEX);
                            table.mark_dirty(Lpn(other), &map);
                            model.change(other, 64);
                        }
                    }
                    place += 1 + u32::from(prng.chance(0.02)) * pages;
                    table.mark_dirty(Lpn(lpn), &map);
                    let block = if is_removed { 64 } else { shape.block_of(map[lpn as usize]).0 };
                    model.change(lpn, block);
                    let before = table.conversions;
                    let expected = model.convert(capacity as usize, window as usize, age.into(), entries_a_page);
                    assert_eq!(written(&mut table), expected, "seed {seed}, step {step}");
                    converted += table.conversions - before;
                    cheaper += u64::from(table.conversions > before && expected.is_empty());
                } else {
                    let page = lpn / entries_a_page;
                    let in_table = model.areas.iter().any(|(_, lpns, _)| lpns.contains(&lpn));
                    let is_cached = model.cached.contains(&page);
                    assert_eq!(table.touch(Lpn(lpn)).is_some(), in_table || is_cached, "seed {seed}, step {step}");
                    if !in_table {
                        model.cached.retain(|&other| other != page);
                        if !is_cached {
                            table.make_room(Lpn(lpn), &map);
                            table.insert(Lpn(lpn), &map);
                            model.cached.truncate(model.cached.len().min(most_pages as usize));
                            if model.cached.len() == most_pages as usize {
                                model.cached.remove(0);
                            }
                        }
                        model.cached.push(page);
                    }
                }
                assert_eq!(table.is_dirty(Lpn(lpn)), model.newer.contains(&lpn), "seed {seed}, step {step}");
            }
            assert_eq!(table.held as usize, model.held(), "seed {seed}, step {step}");
            assert_eq!(table.check(&map), Ok(()), "seed {seed}, step {step}");
        }
    }
    assert_eq!(shape().block_of(Ppn(33)), BlockId(1));
    assert!(converted > 10_000 && cheaper > 1_000, "{converted} blocks, {cheaper} of them without a write");
}
