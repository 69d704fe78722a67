//! The buffer as the drive uses it: evicted pages, cached pages, and counters.
#![allow(missing_docs)]

mod support;

use std::collections::VecDeque;

use flashloom_buffer::{Evicted, Gather, Order, SlotId, UnknownChips, WriteBuffer, order};
use flashloom_nand::Lpn;
use flashloom_units::{Component, NO_INDEX, Value};
use support::{buffer, rate};

const WHOLE: u32 = 0xff;

fn write(buffer: &mut WriteBuffer, lpns: impl IntoIterator<Item = u32>) {
    lpns.into_iter().for_each(|lpn| assert!(buffer.write(0, Lpn(lpn), WHOLE).is_some(), "page {lpn} finds no room"));
}

/// Evicted pages and their slots; a page of padding has `None` in place of the slot.
fn evict(buffer: &mut WriteBuffer, waiting: u32) -> Vec<Evicted> {
    let mut evicted = Vec::new();
    buffer.evict(0, waiting, &mut UnknownChips, &mut evicted);
    evicted
}

fn lpns(evicted: &[Evicted]) -> Vec<u32> {
    evicted.iter().map(|page| page.lpn.0).collect()
}

fn read_from_flash(buffer: &mut WriteBuffer, lpn: u32) -> bool {
    assert!(buffer.keeps(Lpn(lpn)));
    let slot = buffer.fill(0, Lpn(lpn));
    slot.into_iter().for_each(|slot| buffer.filled(0, slot, WHOLE));
    slot.is_some()
}

/// CAVE, Figure 3: block-level LRU over four chips, with four pages a block. Blocks 0 to 5 are full, 0 the oldest. And
/// section 4.2: "if a victim unit is a page", four pages leave, which are one for each chip.
#[test]
fn conventional_eviction_sends_one_block_and_cave_a_block_or_page_for_each_chip() {
    for (order, rate, victims, pages) in
        [("block-lru", "single", 1, 4), ("block-lru", "cave", 4, 16), ("page-lru", "cave", 4, 4)]
    {
        let mut buffer = buffer(order, &[], rate, 24);
        write(&mut buffer, 0..24);
        assert!(buffer.write(0, Lpn(24), WHOLE).is_none(), "the buffer is full");
        let oldest: Vec<u32> = (0..pages).collect();
        assert_eq!(lpns(&evict(&mut buffer, 1)), oldest, "{order}, {rate}: oldest first, pages in order of address");
        assert_eq!(buffer.report_at(0).evictions, victims);
        assert_eq!(evict(&mut buffer, 1), [], "{order}, {rate}: slots are about to be free, so nothing else leaves");
    }
}

/// A replacement policy of single pages that panics when it is asked for a victim and has none.
struct Strict(VecDeque<SlotId>);

impl Component for Strict {}

impl Order for Strict {
    fn inserted(&mut self, slot: SlotId, _lpn: Lpn) {
        self.0.push_back(slot);
    }

    fn touched(&mut self, _slot: SlotId, _lpn: Lpn) {}

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        self.0.retain(|&other| other != slot);
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        pages.push(self.0.pop_front().expect("no victim is asked for that is not there"));
    }
}

#[test]
fn a_rate_that_wants_more_victims_than_there_are_pages_gets_them_all_and_asks_no_further() {
    let mut buffer =
        WriteBuffer::new(4, Box::new(Strict(VecDeque::new())), rate("cave", &[("victims", Value::Count(65_536))]));
    write(&mut buffer, 0..4);
    assert_eq!(lpns(&evict(&mut buffer, 1)), [0, 1, 2, 3]);
}

#[test]
fn padding_makes_each_victim_a_whole_block_in_order_of_address() {
    let mut buffer = buffer("block-lru", &[("padding", Value::Flag(true))], "cave", 7);
    write(&mut buffer, [6, 4, 17, 9, 8, 10, 11]);
    let evicted = evict(&mut buffer, 1);
    assert_eq!(lpns(&evicted), [4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11]);
    let held: Vec<bool> = evicted.iter().map(|page| page.slot.is_some()).collect();
    let (yes, no) = (true, false);
    assert_eq!(held, [yes, no, yes, no, no, yes, no, no, yes, yes, yes, yes], "what the buffer lacks is padding");
    assert!(evicted.iter().all(|page| page.mask == if page.slot.is_some() { WHOLE } else { 0 }));
    assert_eq!(buffer.report_at(0).evicted_pages, 7, "padding is counted when it is read and written");
}

#[test]
fn a_page_that_leaves_out_of_turn_is_not_padded() {
    let mut buffer = buffer("block-lru", &[("padding", Value::Flag(true))], "single", 8);
    write(&mut buffer, [4, 5]);
    let slot = buffer.write(0, Lpn(4), 1).unwrap().slot;
    let mut evicted = Vec::new();
    buffer.evict_slot(0, slot, &mut evicted);
    assert_eq!(lpns(&evicted), [4]);
}

#[test]
fn only_an_order_for_clean_pages_keeps_what_is_read() {
    for spec in order::builtin().specs() {
        let buffer = buffer(spec.name, &[], "single", 8);
        assert_eq!(buffer.keeps(Lpn(3)), spec.name == "cflru");
    }
}

#[test]
fn a_clean_page_in_the_window_gives_its_slot_to_a_write_at_no_cost() {
    let mut buffer = buffer("cflru", &[("window", Value::Ratio(0.5))], "single", 4);
    assert!(read_from_flash(&mut buffer, 1));
    assert!(read_from_flash(&mut buffer, 2));
    write(&mut buffer, [8, 9]);
    assert_eq!(buffer.read(Lpn(1), 1).map(|(_, held)| held), Some(1), "a hit, which makes page 1 the youngest");
    write(&mut buffer, [10]);
    assert!(buffer.read(Lpn(2), 1).is_none(), "the oldest clean page of the window was given up");
    assert!(buffer.read(Lpn(1), 1).is_some());
    assert!(buffer.write(0, Lpn(11), 1).is_none(), "page 1 is clean but outside the window");
    assert_eq!(lpns(&evict(&mut buffer, 1)), [8]);
    let report = buffer.report_at(0);
    assert_eq!((report.filled_pages, report.dropped_pages, report.evictions), (2, 1, 1));
}

/// CFLRU, section 3: a dirty page is evicted only if no clean one is in the window. Each page that leaves lets another
/// one into the window.
#[test]
fn one_dirty_page_leaves_for_a_long_write_if_clean_pages_come_into_the_window_behind_it() {
    for (rate, victims) in [("single", 1), ("cave", 4), ("linear-threshold", 1)] {
        let mut buffer = buffer("cflru", &[("window", Value::Ratio(0.25))], rate, 64);
        write(&mut buffer, 0..16);
        assert!((100..148).all(|lpn| read_from_flash(&mut buffer, lpn)));
        assert!(buffer.write(0, Lpn(16), WHOLE).is_none(), "the window is full of dirty pages");
        let evicted = evict(&mut buffer, 16);
        assert_eq!(lpns(&evicted), (0..victims).collect::<Vec<_>>(), "{rate}");
        assert!(buffer.has_room(), "a clean page is in the window now");
        evicted.iter().for_each(|page| buffer.programmed(0, page.slot.unwrap()));
        write(&mut buffer, 16..32);
        let report = buffer.report_at(0);
        assert_eq!((report.evicted_pages, report.dropped_pages), (victims.into(), u64::from(16 - victims)), "{rate}");
    }
}

/// Only one in four pages is dirty, less than the low mark; but no clean page can be dropped.
#[test]
fn linear_threshold_makes_room_where_clean_pages_are_none() {
    let mut buffer = buffer("cflru", &[("window", Value::Ratio(0.25))], "linear-threshold", 64);
    write(&mut buffer, 0..16);
    assert!((100..148).all(|lpn| read_from_flash(&mut buffer, lpn)));
    assert_eq!(lpns(&evict(&mut buffer, 0)), [0], "then every clean page can be, one after another");
    assert_eq!(evict(&mut buffer, 0), []);
    write(&mut buffer, 16..32);
}

/// Four dies: at the high mark four blocks are being programmed, however many pages they have, and three at 0.8.
#[test]
fn linear_threshold_keeps_as_many_victims_on_their_way_with_blocks_as_with_pages() {
    for (order, pages_a_victim) in [("page-lru", 1), ("block-lru", 4), ("fab", 4), ("clc", 4)] {
        let mut buffer = buffer(order, &[], "linear-threshold", 40 * pages_a_victim);
        write(&mut buffer, 0..36 * pages_a_victim);
        let evicted = evict(&mut buffer, 0);
        assert_eq!(lpns(&evicted), (0..4 * pages_a_victim).collect::<Vec<_>>(), "{order}");
        evicted[1..].iter().for_each(|page| buffer.programmed(0, page.slot.unwrap()));
        assert_eq!(evict(&mut buffer, 0).len() as u32, 2 * pages_a_victim, "{order}: one is still on its way");
    }
}

#[test]
fn a_clean_page_that_is_written_is_dirty_whole_and_no_hit() {
    let mut buffer = buffer("cflru", &[], "single", 4);
    assert!(read_from_flash(&mut buffer, 1));
    assert!(buffer.holds(Lpn(1)), "a write of it needs no other slot");
    let stored = buffer.write(0, Lpn(1), 0b10).unwrap();
    assert!(!stored.is_new);
    assert_eq!((buffer.dirty(), buffer.report_at(0).write_hits), (1, 0), "it saves no program");
    let mut evicted = Vec::new();
    buffer.evict_all(0, &mut evicted);
    assert_eq!(
        evicted,
        [Evicted { slot: Some(stored.slot), lpn: Lpn(1), mask: WHOLE, request_pages: 1, stream: NO_INDEX }],
        "no page has to be read again"
    );
}

#[test]
fn what_is_written_or_discarded_while_it_is_read_is_not_overtaken() {
    let mut buffer = buffer("cflru", &[], "single", 4);
    let [written, discarded] = [1, 2].map(|lpn| buffer.fill(0, Lpn(lpn)).unwrap());
    assert_eq!(buffer.read(Lpn(1), 1).map(|(_, held)| held), Some(0), "it is not here yet");
    assert!(!buffer.keeps(Lpn(1)), "and not asked for twice");
    let stored = buffer.write(0, Lpn(1), 1).unwrap();
    assert_eq!((stored.is_new, stored.taken_over), (true, None));
    buffer.discard(0, Lpn(2));
    buffer.filled(0, written, WHOLE);
    buffer.filled(0, discarded, WHOLE);
    assert_eq!(buffer.read(Lpn(1), WHOLE), Some((stored.slot, 1)));
    assert_eq!((buffer.read(Lpn(2), 1), buffer.held()), (None, 1));
    assert_eq!(buffer.report_at(0).filled_pages, 0);
    buffer.check(0).unwrap();
}

#[test]
fn no_read_is_kept_while_every_slot_holds_what_flash_does_not() {
    let mut buffer = buffer("cflru", &[], "single", 2);
    write(&mut buffer, [1, 2]);
    assert!(!read_from_flash(&mut buffer, 3));
    assert_eq!(lpns(&evict(&mut buffer, 1)), [1], "but room is made for the next");
}

#[test]
fn a_flush_takes_dirty_pages_and_leaves_clean_ones() {
    let mut buffer = buffer("cflru", &[], "single", 4);
    assert!(read_from_flash(&mut buffer, 1));
    write(&mut buffer, [2, 3]);
    let mut evicted = Vec::new();
    buffer.evict_all(0, &mut evicted);
    assert_eq!((lpns(&evicted), buffer.dirty()), (vec![2, 3], 0));
    assert!(buffer.read(Lpn(1), 1).is_some());
}

#[test]
fn levels_are_weighted_by_time() {
    let mut buffer = buffer("page-lru", &[], "single", 4);
    write(&mut buffer, [1, 2]);
    assert!(buffer.write(10, Lpn(3), WHOLE).is_some());
    let mut evicted = Vec::new();
    buffer.evict(30, 3, &mut UnknownChips, &mut evicted);
    evicted.iter().for_each(|page| buffer.programmed(60, page.slot.unwrap()));
    let report = buffer.report_at(100);
    assert_eq!((report.held.page_ns, report.held.max_pages), (2 * 10 + 3 * 20 + 3 * 30 + 40, 3));
    assert_eq!((report.dirty.page_ns, report.dirty.max_pages), (2 * 10 + 3 * 20 + 30 + 40, 3));
    assert_eq!((report.held.mean_pages(100), report.held.mean_pages(0)), (Some(2.1), None));
}

#[test]
fn waits_for_room_are_counted_and_summed() {
    let mut buffer = buffer("page-lru", &[], "single", 4);
    buffer.stalled(7);
    buffer.stalled(0);
    let report = buffer.report_at(0);
    assert_eq!((report.stalled_writes, report.stall_ns), (2, 7));
}

/// Pages evicted for one page that waits, from a buffer that is full of the given pages and gathers streams of four.
fn leave_in_streams(order: &str, held: &[u32]) -> Vec<u32> {
    let mut buffer = buffer(order, &[], "single", held.len() as u32);
    buffer.gather(Gather::consecutive(4));
    write(&mut buffer, held.iter().copied());
    let evicted = evict(&mut buffer, 1);
    assert_eq!((buffer.report_at(0).evictions, buffer.report_at(0).evicted_pages), (1, evicted.len() as u64));
    evicted.iter().for_each(|page| buffer.programmed(0, page.slot.unwrap()));
    buffer.check(0).unwrap();
    lpns(&evicted)
}

/// SLAP, section 2: of D7 to D15 the streams are D7-D10 and D11-D14, and D15 is left over.
#[test]
fn a_victim_leaves_with_its_stream_and_a_run_is_cut_into_streams_from_its_lowest_page_on() {
    let run = [7, 8, 9, 10, 11, 12, 13, 14, 15];
    let oldest_is = |victim: u32| [vec![victim], run.into_iter().filter(|&lpn| lpn != victim).collect()].concat();
    for (victim, left) in [(7, vec![7, 8, 9, 10]), (9, vec![9, 7, 8, 10]), (14, vec![14, 11, 12, 13]), (15, vec![15])] {
        assert_eq!(leave_in_streams("page-lru", &oldest_is(victim)), left);
    }
    assert_eq!(
        leave_in_streams("page-lru", &[7, 30, 8, 31, 9, 32, 10, 33]),
        [7, 8, 9, 10],
        "whatever was written between"
    );
    assert_eq!(leave_in_streams("page-lru", &[7, 8, 9, 30]), [7], "three pages make no stream of four");
    assert_eq!(leave_in_streams("page-lru", &[7, 8, 10, 11, 12]), [7], "nor do four with a gap");
    assert_eq!(leave_in_streams("page-lru", &[2, 1, 0]), [2], "there is nothing before page 0");
}

/// The lowest page of the run is 47 pages before the victim, beyond the search: the stream is one around the victim.
#[test]
fn a_run_that_begins_far_before_a_victim_is_cut_at_the_victim() {
    let downwards: Vec<u32> = (3..50).rev().collect();
    assert_eq!(leave_in_streams("page-lru", &downwards), [49, 46, 47, 48]);
    let in_the_middle = [&[45], &downwards[..4], &downwards[5..]].concat();
    assert_eq!(leave_in_streams("page-lru", &in_the_middle), [45, 46, 47, 48]);
}

/// Blocks of four pages: two pages of block 1 and two of block 2 are a stream, though block 1 alone is the victim.
#[test]
fn a_block_leaves_with_the_pages_of_its_neighbours_that_make_streams_with_its_own() {
    assert_eq!(leave_in_streams("block-lru", &[6, 7, 8, 9, 30]), [6, 7, 8, 9]);
    assert_eq!(leave_in_streams("block-lru", &[4, 5, 6, 7, 8, 9, 30]), [4, 5, 6, 7], "a block is a stream by itself");
    assert_eq!(leave_in_streams("block-lru", &[4, 7, 8, 9, 10, 30]), [4, 7, 8, 9, 10], "a page may leave alone");
}

#[test]
fn pages_that_are_clean_or_on_their_way_are_no_part_of_a_stream() {
    let mut buffer = buffer("cflru", &[], "single", 5);
    buffer.gather(Gather::consecutive(4));
    assert!(read_from_flash(&mut buffer, 3));
    write(&mut buffer, [0, 1, 2, 4]);
    let mut evicted = Vec::new();
    let slot = buffer.write(0, Lpn(4), WHOLE).unwrap().slot;
    buffer.evict_slot(0, slot, &mut evicted);
    assert_eq!(lpns(&evicted), [4], "a page that the host wants durable leaves alone");
    evicted.clear();
    buffer.evict(0, 2, &mut UnknownChips, &mut evicted);
    assert!(lpns(&evicted).iter().all(|&lpn| lpn < 3) && evicted.len() < 4, "{evicted:?}");
    assert_eq!(buffer.report_at(0).gathered_pages, 0);
}

#[test]
fn a_padded_block_gathers_nothing() {
    let mut buffer = buffer("block-lru", &[("padding", Value::Flag(true))], "single", 5);
    buffer.gather(Gather::consecutive(4));
    write(&mut buffer, [6, 7, 8, 9, 30]);
    assert_eq!(lpns(&evict(&mut buffer, 1)), [4, 5, 6, 7]);
    assert_eq!(buffer.report_at(0).gathered_pages, 0);
}

/// KAST's sequential log blocks: only the first pages of a logical block, here of eight pages, are a stream.
#[test]
fn streams_of_blocks_are_their_first_pages_and_leave_the_neighbours_theirs() {
    let leave = |held: &[u32]| {
        let mut buffer = buffer("page-lru", &[], "single", held.len() as u32);
        buffer.gather(Gather { block_pages: Some(8), ..Gather::consecutive(4) });
        write(&mut buffer, held.iter().copied());
        lpns(&evict(&mut buffer, 1))
    };
    assert_eq!(leave(&[10, 8, 9, 11, 12]), [10, 8, 9, 11]);
    assert_eq!(leave(&[12, 8, 9, 10, 11]), [12], "beyond the first four");
    assert_eq!(leave(&[8, 9, 10, 12]), [8], "with a gap");
    assert_eq!(leave(&[6, 7, 8, 9, 10, 11]), [6], "a run that goes on in the next block leaves that block's alone");
}
