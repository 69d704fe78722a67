//! What page mappings and allocations must do as a whole drive: limits in which two of them are the same, closed forms,
//! and how long the host waits for a collection.

use crate::support::{
    Run, allocated, buffered, count, dftl, link_ns, plain, plain_device, plain_nand, plain_with, request, unbuffered,
};
use flashloom_device::{DeviceParams, DriveSetup, Outcome};
use flashloom_ftl::{GcBlocks, HotCold, Preemption};
use flashloom_nand::{NandParams, Origin};
use flashloom_units::{Latency, MS, Ns, Prng, US, Value};
use flashloom_workload::{Op, Request};
use proptest::prelude::*;

/// Writes, reads and discards of up to `longest` pages of four KiB, dense enough that collections overlap with them.
fn mixed(seed: u64, device: &DeviceParams, count: u64, longest: u64) -> Vec<Request> {
    let mut prng = Prng::new(seed);
    let pages = device.logical_pages();
    (0..count)
        .map(|at| {
            let length = 1 + prng.below(longest);
            let first = prng.below(pages - length);
            let op = [Op::Write, Op::Write, Op::Write, Op::Read, Op::Discard][prng.below(5) as usize];
            request(at * 300 * US, op, first * 8, length as u32 * 8)
        })
        .collect()
}

/// All results of a run except the statistics of the allocation.
fn seen(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let (host, ftl) = (&outcome.host, &outcome.ftl);
    let latency = [&host.read_latency, &host.write_latency, &host.flush_latency, &host.discard_latency];
    let ftl = (ftl.host_page_writes, ftl.page_copies, ftl.block_erases, ftl.foreground_collections);
    (latency.map(Latency::sum), host.duration_ns, ftl, outcome.counts, outcome.erase_counts.clone())
}

/// A drive that evicts as many pages together as it has chips.
fn evicting_together() -> DriveSetup {
    buffered(plain_with(NandParams { blocks: 16, pages: 16, ..plain_nand() }, 0.5), 64, "page-lru", "cave")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slap_with_threshold_1_is_interleave(seed: u64) {
        let requests = mixed(seed, &evicting_together().device, 1_500, 20);
        let run = |name, set: &[(&str, Value)]| {
            let outcome = Run::new(allocated(evicting_together(), name, set)).run(requests.clone());
            prop_assert!(outcome.ftl.page_copies > 100, "collections have happened");
            Ok(outcome)
        };
        let slap = run("slap", &[("stream_threshold", Value::Count(1)), ("gc_isolation", Value::Flag(true))])?;
        prop_assert_eq!(seen(&slap), seen(&run("interleave", &[])?));
        prop_assert_eq!(count(&slap, "streams"), 0);
    }

    #[test]
    fn slap_without_a_stream_is_interleave(seed: u64) {
        // No write is as long as the threshold, and without a buffer only the pages of one write come together.
        let mut device = evicting_together().device;
        device.capacity.over_provisioning = 1.0;
        let requests = mixed(seed, &device, 2_500, 7);
        let run = |name, set: &[(&str, Value)]| {
            let setup = allocated(unbuffered(device.clone()), name, set);
            Run { fill: false, ..Run::new(setup) }.run(requests.clone())
        };
        let slap = run("slap", &[("stream_threshold", Value::Count(8)), ("gc_isolation", Value::Flag(true))]);
        let interleave = run("interleave", &[]);
        prop_assert!(interleave.ftl.page_copies > 100, "collections have happened");
        prop_assert_eq!(seen(&slap), seen(&interleave));
    }
}

/// Eight reads at once of eight dies: tR once if each is for another die, eight times if all are for one.
#[test]
fn static_striped_reads_neighbours_at_once_and_contiguous_one_page_of_each_range() {
    let device = plain_device();
    let pages = device.logical_pages();
    let duration_ns = |layout, step: u64| {
        let setup = allocated(unbuffered(device.clone()), "static", &[("layout", Value::Name(layout))]);
        Run::new(setup).run((0..8).map(|at| request(0, Op::Read, at * step * 8, 8))).host.duration_ns
    };
    let (one_tr, eight_tr) =
        (device.nand.read_ns..2 * device.nand.read_ns, 8 * device.nand.read_ns..16 * device.nand.read_ns);
    assert!(one_tr.contains(&duration_ns("striped", 1)));
    assert!(eight_tr.contains(&duration_ns("striped", 8)));
    assert!(eight_tr.contains(&duration_ns("contiguous", 1)));
    assert!(one_tr.contains(&duration_ns("contiguous", pages.div_ceil(8))));
}

/// Files of 16 pages, each rewritten as a whole: its pages die together, and SLAP keeps them together.
#[test]
fn slap_copies_less_where_runs_die_together() {
    let device = plain(NandParams { blocks: 32, pages: 32, ..plain_nand() });
    let copies = |name, set: &[(&str, Value)]| {
        let mut prng = Prng::new(4);
        let files = device.logical_pages() / 16;
        let rewrites = (0..6_000).map(|at| request(at * MS, Op::Write, prng.below(files) * 16 * 8, 16 * 8));
        let setup = allocated(unbuffered(device.clone()), name, set);
        Run::new(setup).run(rewrites).ftl.page_copies
    };
    let slap = copies("slap", &[("stream_threshold", Value::Count(16))]);
    let interleave = copies("interleave", &[]);
    assert!(slap * 3 < interleave * 2, "{slap} copies with streams, {interleave} without");
}

/// Under uniform accesses every entry is as likely to be asked for next as any other, whatever the cache holds: the hit
/// ratio is the share of the map that is cached.
#[test]
fn dftl_hits_as_often_as_its_cache_is_large_under_a_uniform_load() {
    let device = plain_with(NandParams { blocks: 32, pages: 32, ..plain_nand() }, 0.5);
    let pages = device.logical_pages();
    for share in [16, 4, 2] {
        let entries = pages / share;
        let mut prng = Prng::new(share);
        let accesses = 40_000;
        let requests = (0..accesses).map(|_| {
            let op = if prng.chance(0.5) { Op::Read } else { Op::Write };
            request(0, op, prng.below(pages) * 8, 8)
        });
        let run = Run { timed: false, ..Run::new(dftl(unbuffered(device.clone()), entries)) };
        let outcome = run.run(requests);
        let hits = count(&outcome, "map_hits");
        assert_eq!(hits + count(&outcome, "map_misses"), accesses);
        let (ratio, expected) = (hits as f64 / accesses as f64, 1.0 / share as f64);
        let sigma = (expected * (1.0 - expected) / accesses as f64).sqrt();
        assert!((ratio - expected).abs() < 5.0 * sigma, "{ratio}, not {expected} +- {sigma}");
    }
}

/// An idle drive that misses reads the translation page, and then the page that it names.
#[test]
fn dftl_reads_and_writes_wait_for_the_translation_page_that_they_need() {
    let device = plain(NandParams { command_ns: 300, ..plain_nand() });
    let timing = device.nand.timing();
    let page = 300 + timing.transfer_ns(8);
    let (map_read, link) = (device.nand.read_ns + page, link_ns(&device));
    let parts_of_a_read = map_read + device.nand.read_ns + page + link;
    let parts_of_a_write = link + map_read + page + device.nand.program_ns;
    // One entry: each of these accesses misses. The first one writes back what filling the drive has left; behind it
    // the entry that has to go is clean.
    let setup = dftl(unbuffered(device), 1);
    let reads = [5, 77, 78].map(|page| request(page * 20 * MS, Op::Read, page * 8, 8));
    let first = Run::new(setup.clone()).run([reads[0]]).host.read_latency.sum();
    let all = Run::new(setup.clone()).run(reads).host.read_latency.sum();
    assert_eq!(all - first, 2 * u128::from(parts_of_a_read));
    let outcome = Run::new(setup).run([request(MS, Op::Read, 0, 8), request(20 * MS, Op::Write, 8 * 77, 8)]);
    assert_eq!(outcome.host.write_latency.max(), parts_of_a_write);
}

/// With the whole map in the cache nothing is ever fetched or written back: what is left is the page mapping.
#[test]
fn dftl_with_room_for_the_whole_map_copies_what_a_page_map_copies() {
    let device = plain_with(NandParams { blocks: 32, pages: 16, ..plain_nand() }, 0.5);
    let requests = mixed(3, &device, 4_000, 4);
    let with_cache = Run::new(dftl(unbuffered(device.clone()), device.logical_pages())).run(requests.clone());
    let in_memory = Run::new(unbuffered(device)).run(requests);
    assert!(in_memory.ftl.page_copies > 500);
    assert_eq!(seen(&with_cache), seen(&in_memory));
    let counted = ["map_misses", "map_reads", "map_writes"].map(|name| count(&with_cache, name));
    assert_eq!(counted, [0, 0, 0], "since the drive was filled");
}

/// The smallest cache there is: every translation but a repeated one costs a read, nearly every write a write-back.
#[test]
fn dftl_with_one_entry_of_cache_still_serves_everything() {
    let device = plain_with(NandParams { blocks: 24, pages: 16, ..plain_nand() }, 0.6);
    let outcome = Run::new(dftl(unbuffered(device.clone()), 1)).run(mixed(8, &device, 3_000, 6));
    let [reads, writes] = ["map_reads", "map_writes"].map(|name| count(&outcome, name));
    assert_eq!((outcome.counts.programs[Origin::Map as usize], outcome.ftl.map_writes), (writes, writes));
    assert_eq!(outcome.counts.reads[Origin::Map as usize], reads);
    assert!(writes > 1_000 && reads > writes && outcome.ftl.page_copies > 1_000, "{reads} reads, {writes} writes");
}

/// A larger cache never fetches more under the same uniform load, and more entries of a page share a write-back.
#[test]
fn dftl_writes_the_map_less_often_the_larger_its_cache_is() {
    let device = plain_with(NandParams { blocks: 24, pages: 16, ..plain_nand() }, 0.6);
    let requests = mixed(8, &device, 3_000, 6);
    let writes = [1, 64, 1_024].map(|entries| {
        let run = Run { timed: false, ..Run::new(dftl(unbuffered(device.clone()), entries)) };
        count(&run.run(requests.clone()), "map_writes")
    });
    assert!(writes[0] > writes[1] && writes[1] > writes[2], "{writes:?}");
}

/// Nine writes in ten go to a tenth of the pages: blocks of hot pages die as a whole. Collected pages share the block
/// of what is not hot, so that nothing else keeps hot and cold apart.
#[test]
fn separating_hot_pages_lowers_write_amplification_of_a_skewed_load() {
    let device = plain_with(NandParams { channels: 2, ways: 1, blocks: 192, pages: 32, ..plain_nand() }, 0.3);
    let copies = |hot_cold| {
        let mut prng = Prng::new(12);
        let pages = device.logical_pages();
        let writes = (0..60_000).map(|_| {
            let span = if prng.chance(0.9) { pages / 10 } else { pages };
            request(0, Op::Write, prng.below(span) * 8, 8)
        });
        let mut setup = unbuffered(device.clone());
        setup.ftl.params.hot_cold = hot_cold;
        setup.ftl.params.gc_blocks = GcBlocks::Shared;
        Run { timed: false, ..Run::new(setup) }.run(writes).ftl.page_copies
    };
    let (mixed, separated) = (copies(HotCold::None), copies(HotCold::MultiHash));
    assert!(separated * 10 < mixed * 9, "{separated} copies with hot pages apart, {mixed} without");
}

/// A read that comes when a write has just begun a collection on its chip. Without preemption it waits for all of the
/// collection, at most (b - 1) C_copy + C_erase; with it, for the step that runs.
#[test]
fn a_read_behind_a_collection_waits_as_long_as_preemption_says() {
    let device = plain_with(NandParams { channels: 1, ways: 1, ..plain_nand() }, 0.25);
    let timing = device.nand.timing();
    let transfer = timing.transfer_ns(8);
    let copy = device.nand.read_ns + transfer + transfer + device.nand.program_ns;
    let read = device.nand.read_ns + transfer + link_ns(&device);
    let longest_read = |preemption| -> Ns {
        let mut prng = Prng::new(2);
        let half = device.logical_pages() / 2;
        let requests: Vec<_> = (0..2_000)
            .flat_map(|at| {
                // Reads keep to the half that is never written, so that no read waits for the program of its page.
                let (written, read) = (half + prng.below(half), prng.below(half));
                let (write_at, read_at) = (at * 100 * MS, at * 100 * MS + 200 * US);
                [request(write_at, Op::Write, written * 8, 8), request(read_at, Op::Read, read * 8, 8)]
            })
            .collect();
        let mut setup = unbuffered(device.clone());
        setup.ftl.params.preemption = preemption;
        let outcome = Run::new(setup).run(requests);
        assert!(outcome.ftl.page_copies > 1_000);
        outcome.host.read_latency.max()
    };
    let blocking = longest_read(Preemption::None);
    let bound = u64::from(device.nand.pages - 1) * copy + device.nand.erase_ns;
    assert!(blocking > 8 * copy && blocking <= bound + read, "{blocking} ns, bound {bound}");
    let preempted = longest_read(Preemption::Page);
    let step = copy.max(device.nand.erase_ns);
    assert!(preempted <= step + read, "{preempted} ns, a step takes {step}");
}
