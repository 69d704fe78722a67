//! Belady's bound against real buffers: no order with any rate beats it, and an order that knows the future reaches it.
//!
//! Random accesses, with pages that are written often and seldom, discards, durable writes and flushes; each kind is
//! left out of half of the cases. What is evicted is in flash at once, as in counting mode.
#![allow(missing_docs)]

mod support;

use std::collections::BTreeMap;

use flashloom_buffer::order::belady::{self, Access};
use flashloom_buffer::{BufferReport, Evicted, Order, SlotId, UnknownChips, WriteBuffer, order, rate};
use flashloom_nand::Lpn;
use flashloom_units::{Component, Prng};
use support::{buffer, rate};

const WHOLE: u32 = 0xff;

fn program(buffer: &mut WriteBuffer, evicted: Vec<Evicted>) {
    evicted.iter().filter_map(|page| page.slot).for_each(|slot| buffer.programmed(0, slot));
}

/// What a buffer that is full evicts until the page has a slot; an order may keep room only for pages that it knows.
fn write(buffer: &mut WriteBuffer, lpn: Lpn) -> SlotId {
    loop {
        if let Some(stored) = buffer.write(0, lpn, WHOLE) {
            return stored.slot;
        }
        let mut evicted = Vec::new();
        buffer.evict(0, 1, &mut UnknownChips, &mut evicted);
        assert!(!evicted.is_empty(), "a full buffer evicts");
        program(buffer, evicted);
    }
}

fn run(mut buffer: WriteBuffer, accesses: &[Access]) -> BufferReport {
    for access in accesses {
        let mut evicted = Vec::new();
        match *access {
            Access::Write { lpn, is_durable } => {
                let slot = write(&mut buffer, Lpn(lpn));
                if is_durable {
                    buffer.evict_slot(0, slot, &mut evicted);
                }
                // What leaves before a page waits for its room leaves here.
                buffer.evict(0, 0, &mut UnknownChips, &mut evicted);
            }
            Access::Discard { lpn } => buffer.discard(0, Lpn(lpn)),
            Access::Flush => buffer.evict_all(0, &mut evicted),
        }
        program(&mut buffer, evicted);
    }
    buffer.report_at(0)
}

fn accesses(prng: &mut Prng) -> Vec<Access> {
    let [discards, durable, flushes] = [(); 3].map(|()| if prng.chance(0.5) { 0.08 } else { 0.0 });
    let access = |prng: &mut Prng| {
        let hot = prng.chance(0.6);
        let lpn = prng.below(if hot { 6 } else { 40 }) as u32;
        match prng.unit() {
            chance if chance < flushes / 4.0 => Access::Flush,
            chance if chance < flushes + discards => Access::Discard { lpn },
            _ => Access::Write { lpn, is_durable: prng.chance(durable) },
        }
    };
    (0..300).map(|_| access(prng)).collect()
}

#[test]
fn no_order_and_no_rate_beats_the_bound() {
    let mut prng = Prng::new(11).branch("belady");
    for case in 0..60 {
        let accesses = accesses(&mut prng);
        let pages = 1 + prng.below(16) as u32;
        let best = belady::best(&accesses, pages);
        for order in order::builtin().specs() {
            for rate in rate::builtin().specs() {
                let report = run(buffer(order.name, &[], rate.name, pages), &accesses);
                let what = format!("case {case}: {} with {}, {pages} pages", order.name, rate.name);
                assert_eq!(report.page_writes, best.page_writes, "{what}");
                assert!(report.write_hits <= best.write_hits, "{what}: {} of {best:?}", report.write_hits);
                assert!(report.evicted_pages >= best.evicted_pages, "{what}: {} of {best:?}", report.evicted_pages);
            }
        }
    }
}

/// An order that was told the future: the page written farthest in the future leaves.
struct Clairvoyant {
    /// When the page of each write is written next.
    next: Vec<usize>,
    written: usize,
    pages: BTreeMap<u32, usize>,
}

impl Clairvoyant {
    fn of(lpns: &[u32]) -> Self {
        let next =
            |at: usize| lpns[at + 1..].iter().position(|&lpn| lpn == lpns[at]).map_or(usize::MAX, |after| at + after);
        Self { next: (0..lpns.len()).map(next).collect(), written: 0, pages: BTreeMap::new() }
    }
}

impl Component for Clairvoyant {}

impl Order for Clairvoyant {
    fn inserted(&mut self, slot: SlotId, _lpn: Lpn) {
        self.pages.insert(slot.0, self.next[self.written]);
        self.written += 1;
    }

    fn touched(&mut self, slot: SlotId, lpn: Lpn) {
        self.inserted(slot, lpn);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        self.pages.remove(&slot.0);
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        if let Some((&slot, _)) = self.pages.iter().max_by_key(|(_, next)| **next) {
            self.pages.remove(&slot);
            pages.push(SlotId(slot));
        }
    }
}

#[test]
fn a_real_buffer_whose_order_knows_the_future_reaches_the_bound() {
    let mut prng = Prng::new(12).branch("belady");
    let (mut hits_of_lru, mut hits_of_best) = (0, 0);
    for pages in 1..20 {
        let lpns: Vec<u32> = (0..400).map(|_| prng.below(30) as u32).collect();
        let accesses: Vec<Access> = lpns.iter().map(|&lpn| Access::Write { lpn, is_durable: false }).collect();
        let best = belady::best(&accesses, pages);
        let clairvoyant = WriteBuffer::new(pages, Box::new(Clairvoyant::of(&lpns)), rate("single", &[]));
        assert_eq!(run(clairvoyant, &accesses).write_hits, best.write_hits, "{pages} pages");
        hits_of_lru += run(buffer("page-lru", &[], "single", pages), &accesses).write_hits;
        hits_of_best += best.write_hits;
    }
    assert!(hits_of_best > hits_of_lru * 3 / 2, "{hits_of_best} against {hits_of_lru} hits of LRU");
}
