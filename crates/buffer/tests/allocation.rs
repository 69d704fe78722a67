//! No operation of a buffer allocates once it is warm: a counting allocator around random operations.
//!
//! The allocator counts each thread separately, because the thread that runs the tests allocates too.
#![allow(missing_docs)]
// An allocator is unsafe by its signature; this one hands everything on to the system's.
#![allow(unsafe_code)]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use flashloom_buffer::{Evicted, SlotId, UnknownChips, WriteBuffer, order, rate};
use flashloom_nand::Lpn;
use flashloom_units::{Prng, Value};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const STEPS: u64 = 20_000;

/// Random operations of every kind that the buffer has, with a flush every thousand.
fn churn(buffer: &mut WriteBuffer, start: u64, prng: &mut Prng, evicted: &mut Vec<Evicted>, filling: &mut Vec<SlotId>) {
    for step in start..start + STEPS {
        let lpn = Lpn(prng.below(1_000) as u32);
        match prng.below(10) {
            0..6 => {
                if buffer.write(step, lpn, 1).is_none() {
                    buffer.evict(step, 1, &mut UnknownChips, evicted);
                }
            }
            6..8 => {
                if buffer.read(lpn, 1).is_none() && buffer.keeps(lpn) {
                    filling.extend(buffer.fill(step, lpn));
                }
            }
            8 => buffer.discard(step, lpn),
            _ => {
                if let Some(stored) = buffer.write(step, lpn, 3) {
                    buffer.evict_slot(step, stored.slot, evicted);
                }
            }
        }
        if step % 1_000 == 0 {
            buffer.evict_all(step, evicted);
        }
        filling.drain(..).for_each(|slot| buffer.filled(step, slot, 0xff));
        evicted.drain(..).filter_map(|page| page.slot).for_each(|slot| buffer.programmed(step, slot));
    }
    buffer.check(0).unwrap();
}

#[test]
fn no_operation_allocates_once_the_buffer_is_warm() {
    let pages = 200;
    let padded = ("block-lru", vec![("padding", Value::Flag(true)), ("compensation", Value::Flag(true))]);
    let (orders, rates) = (order::builtin(), rate::builtin());
    let orders = orders.specs().map(|spec| (spec.name, Vec::new())).chain([padded]);
    for (order, set) in orders {
        for rate in rates.specs() {
            let mut buffer = support::buffer(order, &set, rate.name, pages);
            // A padded flush is the longest list of pages that can leave together: a whole block for each page.
            let mut evicted = Vec::with_capacity((pages * support::PAGES_PER_BLOCK) as usize);
            let (mut prng, mut filling) = (Prng::new(3), Vec::with_capacity(1));
            churn(&mut buffer, 0, &mut prng, &mut evicted, &mut filling);
            let before = ALLOCATIONS.get();
            churn(&mut buffer, STEPS, &mut prng, &mut evicted, &mut filling);
            let allocations = ALLOCATIONS.get() - before;
            assert_eq!(allocations, 0, "{order} with {}", rate.name);
        }
    }
}
