//! SLAP's streams from the write buffer to the blocks: what the paper promises on the workloads that suit it.

use std::collections::VecDeque;

use crate::support::{Run, allocated, count, pages, plain_device, plain_nand, plain_with, request, unbuffered};
use flashloom_buffer::{order, rate};
use flashloom_device::{DeviceParams, DriveSetup, Outcome};
use flashloom_nand::NandParams;
use flashloom_units::{MS, Prng, S, Value};
use flashloom_workload::{Op, Pace, Request};

/// A drive with a buffer of 1,024 pages under SLAP, with those parameters besides.
fn slap(device: DeviceParams, threshold: u32, set: &[(&str, Value)]) -> DriveSetup {
    let set = [&[("stream_threshold", Value::Count(threshold.into()))], set].concat();
    DriveSetup { buffer_bytes: 1_024 * 4_096, ..allocated(unbuffered(device), "slap", &set) }
}

fn evicting(mut setup: DriveSetup, order: &'static str, rate: &'static str) -> DriveSetup {
    setup.order = order::builtin().choose(order, &[]).unwrap();
    setup.rate = rate::builtin().choose(rate, &[]).unwrap();
    setup
}

/// One write of a page at a time, each when the one before is done.
fn one_at_a_time(setup: DriveSetup, lpns: impl IntoIterator<Item = u64>) -> Outcome {
    let run = Run { queue_depth: 1, pace: Pace::Closed(1), ..Run::new(setup) };
    run.run(pages(Op::Write, 0, lpns))
}

/// The buffer holds whole streams whatever leaves it at a time: pages of a sequential writer are all in one.
#[test]
fn every_page_of_a_sequential_writer_is_in_a_stream_whatever_leaves_the_buffer_at_a_time() {
    for rate in ["single", "cave", "linear-threshold"] {
        for threshold in [2, 16, 64] {
            let outcome = one_at_a_time(evicting(slap(plain_device(), threshold, &[]), "page-lru", rate), 0..8_192);
            let written = outcome.ftl.host_page_writes;
            assert!(written > 7_000);
            assert_eq!(count(&outcome, "stream_pages"), written, "{rate}, threshold {threshold}");
        }
    }
}

/// Streams of what leaves together: one page at a time makes none.
#[test]
fn with_search_batch_a_page_that_leaves_alone_is_in_no_stream() {
    let setup = |search| slap(plain_device(), 16, &[("search", Value::Name(search))]);
    let found = |search| {
        let outcome = one_at_a_time(evicting(setup(search), "page-lru", "single"), 0..8_192);
        (count(&outcome, "stream_pages"), outcome.buffer.unwrap().gathered_pages)
    };
    assert_eq!(found("batch"), (0, 0));
    let (pages, gathered) = found("buffer");
    assert_eq!(gathered, pages / 16 * 15, "a victim and fifteen that leave early make a stream");
}

/// Eight writers, a page of each in turn: each rewrites, page by page, one extent after another, chosen at random.
fn extents_interleaved(extent: u64, pages: u64, rewrites: usize, seed: u64) -> Vec<Request> {
    let mut prng = Prng::new(seed);
    let mut idle: Vec<u64> = (0..pages / extent).collect();
    let mut writers: VecDeque<(u64, u64)> = VecDeque::new();
    let mut requests = Vec::new();
    let mut begun = 0;
    loop {
        while writers.len() < 8 && begun < rewrites {
            writers.push_back((idle.swap_remove(prng.below(idle.len() as u64) as usize), 0));
            begun += 1;
        }
        let Some((at, done)) = writers.pop_front() else { return requests };
        requests.push(request(0, Op::Write, 8 * (at * extent + done), 8));
        if done + 1 < extent { writers.push_back((at, done + 1)) } else { idle.push(at) }
    }
}

/// The paper's promise, section 2: "invalidated pages bounded in the block". Extents of a block's pages, each in a
/// block of its own, die as wholes, so no block that is collected holds a valid page; interleaved, every block does.
#[test]
fn extents_that_die_together_cost_no_copy_with_streams_of_their_length_and_many_without() {
    // Twice the space: by chance alone, no plane gets so many extents that live that it has no dead block to collect.
    let device = plain_with(NandParams { blocks: 48, pages: 64, ..plain_nand() }, 1.0);
    let (pages, extent) = (device.logical_pages() / 64 * 64, u64::from(device.nand.pages));
    for seed in 1..=3 {
        let copies = |threshold| {
            let setup = evicting(slap(device.clone(), threshold, &[]), "page-lru", "single");
            let run = Run { timed: false, ..Run::new(setup) };
            run.run(extents_interleaved(extent, pages, 6_000, seed)).ftl.page_copies
        };
        assert_eq!(copies(64), 0, "seed {seed}");
        let without = copies(1);
        assert!(without > 5_000, "seed {seed}: {without}");
    }
}

/// A full drive whose extents are rewritten once, in random order: a block that was filled with one extent dies whole.
/// A fill in shorter batches would interleave the streams that are longer.
#[test]
fn a_drive_is_filled_with_streams_whatever_the_threshold() {
    for pages in [64, 128] {
        let device = plain_with(NandParams { blocks: 48, pages, ..plain_nand() }, 0.25);
        let mut extents: Vec<u64> = (0..device.logical_pages() / u64::from(pages)).collect();
        let mut prng = Prng::new(5);
        (1..extents.len()).rev().for_each(|at| extents.swap(at, prng.below(at as u64 + 1) as usize));
        let rewrites = extents.iter().map(|at| request(0, Op::Write, 8 * at * u64::from(pages), 8 * pages));
        let run = Run { timed: false, ..Run::new(slap(device.clone(), pages, &[])) };
        let ftl = run.run(rewrites).ftl;
        assert!(ftl.block_erases > 100, "something was collected");
        assert_eq!(ftl.page_copies, 0, "blocks of {pages} pages");
    }
}

/// With `fill_streams` off, what is written afterwards finds the same drive under every threshold.
#[test]
fn a_drive_that_is_filled_without_streams_is_the_same_for_every_threshold() {
    let device = plain_with(NandParams { blocks: 48, pages: 64, ..plain_nand() }, 0.25);
    let rewritten = |threshold, fill_streams| {
        let mut prng = Prng::new(6);
        let pages = device.logical_pages();
        let writes = (0..20_000).map(|_| request(0, Op::Write, 8 * prng.below(pages), 8));
        let setup = DriveSetup { buffer_bytes: 0, ..slap(device.clone(), threshold, &[]) };
        let outcome = Run { timed: false, fill_streams, ..Run::new(setup) }.run(writes);
        (outcome.ftl.page_copies, outcome.erase_counts)
    };
    let without = rewritten(1, false);
    assert_eq!(rewritten(16, false), without);
    assert_eq!(rewritten(64, false), without);
    assert_ne!(rewritten(64, true), without, "streams would tell");
}

/// The paper's Delta, section 3: a stream of 16 pages lies on as many chips as it has substreams, and one request reads
/// that many pages at once: 16 / Delta times tR, and at the end the last pages over the channel and the link.
#[test]
fn a_stream_of_n_substreams_is_read_n_times_as_parallel() {
    let device = plain_device();
    let read_ns = |substreams: u64| {
        let setup = slap(device.clone(), 16, &[("substreams", Value::Count(substreams))]);
        let [write, read] = [(0, Op::Write), (2 * S, Op::Read)].map(|(at, op)| request(at, op, 8 * 64, 8 * 16));
        let outcome = Run::new(setup).run([write, request(S, Op::Flush, 0, 0), read]);
        assert_eq!(count(&outcome, "stream_pages"), 16);
        outcome.host.read_latency.max()
    };
    for substreams in [1, 2, 4] {
        let (serial, found) = (16 / substreams * device.nand.read_ns, read_ns(substreams));
        assert!((serial..serial + MS).contains(&found), "{substreams} substreams: {found} ns, {serial} of them tR");
    }
}
