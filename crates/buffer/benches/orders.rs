//! Cost of a page in the write buffer, for each replacement policy.
//!
//! A buffer of 16 MiB with pages of 4 KiB, always full: four writes for each read, a quarter of them going on where the
//! one before ended, half of the rest within 32 MiB and half within 4 GiB; evicted pages are programmed at once. Prints
//! nanoseconds a page and a hash of the order of eviction, which must not change with the machine.
//! `cargo bench -p flashloom-buffer`, with names behind `--` to choose. `cargo test` does a fiftieth of the work, with
//! every assertion, so that it cannot rot.
// It measures the simulator, not the drive.
#![allow(clippy::disallowed_methods, missing_docs)]

use std::time::Instant;

use flashloom_buffer::order::{self, OrderSetup};
use flashloom_buffer::rate::{self, RateSetup};
use flashloom_buffer::{UnknownChips, WriteBuffer};
use flashloom_nand::Lpn;
use flashloom_units::{Prng, Value};

const PAGES: u32 = 4_096;
const PAGES_PER_BLOCK: u32 = 256;
const LPNS: u64 = 1 << 20;

/// Page accesses: true for a write, and the logical page.
fn accesses(count: u64) -> Vec<(bool, Lpn)> {
    let mut prng = Prng::new(1);
    let mut lpn = 0;
    let access = |_| {
        let spread = if prng.chance(0.5) { LPNS / 128 } else { LPNS };
        lpn = if prng.chance(0.25) { (lpn + 1) % LPNS } else { prng.below(spread) };
        (prng.chance(0.8), Lpn(lpn as u32))
    };
    (0..count).map(access).collect()
}

/// Applies the accesses; returns a hash (FNV-1a) of the evicted pages in order.
fn churn(buffer: &mut WriteBuffer, accesses: &[(bool, Lpn)]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut evicted = Vec::new();
    for &(is_write, lpn) in accesses {
        if !is_write {
            if buffer.read(lpn, 1).is_none()
                && buffer.keeps(lpn)
                && let Some(slot) = buffer.fill(0, lpn)
            {
                buffer.filled(0, slot, 0xff);
            }
            continue;
        }
        while buffer.write(0, lpn, 0xff).is_none() {
            buffer.evict(0, 1, &mut UnknownChips, &mut evicted);
            for page in evicted.drain(..) {
                hash = (hash ^ u64::from(page.lpn.0)).wrapping_mul(0x100_0000_01b3);
                page.slot.into_iter().for_each(|slot| buffer.programmed(0, slot));
            }
        }
    }
    hash
}

fn measure(label: &str, order: &str, set: &[(&str, Value)], accesses: &[(bool, Lpn)]) {
    let order = order::builtin().choose(order, set).expect("the order takes these parameters");
    let (pages_per_block, logical_pages) = (PAGES_PER_BLOCK, LPNS as u32);
    let on = OrderSetup { pages: PAGES, pages_per_block, page_bytes: 4_096, logical_pages };
    let order = order.build(&on);
    let rate =
        rate::builtin().choose("single", &[]).expect("the rate exists").build(&RateSetup { dies: 1, superpage: 1 });
    let mut buffer = WriteBuffer::new(PAGES, order.expect("it can be built"), rate.expect("it can be built"));
    let (warm_up, measured) = accesses.split_at(accesses.len() / 5);
    churn(&mut buffer, warm_up);
    let started = Instant::now();
    let hash = churn(&mut buffer, measured);
    let ns = started.elapsed().as_nanos() as f64 / measured.len() as f64;
    let report = buffer.report_at(0);
    let hits = 100.0 * report.write_hits as f64 / report.page_writes as f64;
    println!("{label:<12} {ns:>7.1} ns a page  {hits:>5.1} % write hits  hash {hash:016x}");
}

fn main() {
    // `cargo bench` says `--bench`, `cargo test` does not.
    let smoke = !std::env::args().any(|arg| arg == "--bench");
    if cfg!(debug_assertions) && !smoke {
        eprintln!("a debug build measures nothing: use cargo bench");
        std::process::exit(2);
    }
    let chosen: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let wanted = |name: &str| chosen.is_empty() || chosen.iter().any(|argument| name.contains(argument.as_str()));
    let accesses = accesses(if smoke { 100_000 } else { 5_000_000 });
    for spec in order::builtin().specs().filter(|spec| wanted(spec.name)) {
        measure(spec.name, spec.name, &[], &accesses);
    }
    if wanted("bplru") {
        let options = ["padding", "compensation"].map(|option| (option, Value::Flag(true)));
        measure("bplru", "block-lru", &options, &accesses);
    }
}
