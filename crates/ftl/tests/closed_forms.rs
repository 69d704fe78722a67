//! Log-block mappings against formulas: where a workload is simple enough to be solved on paper, the two must agree.
//!
//! All workloads are uniform random writes of whole pages over D data blocks of N pages, which are full.

use crate::support::{Ftl, Merges, chip, preempted, with_mapping};
use flashloom_ftl::{FtlSetup, Preemption};
use flashloom_units::{Prng, Value};

/// Random writes until steady state; then the cost of `writes` further ones.
fn uniform(setup: &FtlSetup, blocks: u32, pages: u32, offsets: std::ops::Range<u32>, writes: u32) -> Merges {
    let mut ftl = Ftl::filled(&chip(blocks, 40, pages), setup, false);
    let mut prng = Prng::new(5).branch("uniform");
    let mut write = |ftl: &mut Ftl| {
        let block = prng.below(blocks.into()) as u32;
        let offset = offsets.start + prng.below(offsets.len() as u64) as u32;
        ftl.write(&[(block * pages + offset, 1)]);
    };
    (0..writes / 4).for_each(|_| write(&mut ftl));
    let warm = ftl.merges();
    (0..writes).for_each(|_| write(&mut ftl));
    ftl.check();
    let mut merges = ftl.merges();
    for (now, then) in merges.associativity.iter_mut().zip(&warm.associativity) {
        *now -= then;
    }
    (merges.switch, merges.partial, merges.full) =
        (merges.switch - warm.switch, merges.partial - warm.partial, merges.full - warm.full);
    merges
}

fn mean_associativity(merges: &Merges) -> f64 {
    let weighted: u64 = merges.associativity.iter().enumerate().map(|(k, count)| k as u64 * count).sum();
    weighted as f64 / merges.associativity.iter().sum::<u64>() as f64
}

/// The expected k(L) of a FAST log block when it is merged, with R random log blocks.
///
/// A data block is among the N pages of a log block with probability q = 1 - (1 - 1/D)^N, so that D q data blocks are
/// associated with it when it is full. With R = 1 it is merged at once. With more, R - 1 others are merged before it is
/// its turn, and each merge gathers the newest pages of its data blocks from all log blocks. Seen from one data block:
/// after a merge has gathered it, its pages in the R - 1 log blocks that were filled by then are dead; from the next on
/// it is in each with probability q, and the first that it is in will gather it. So it is gathered once in R - 1 + 1/q
/// log blocks:
///
/// ```text
/// E[k] = D / (R - 1 + 1/q) = D q / (1 + (R - 1) q)
/// ```
///
/// Left out: a page that dies because it is written again while its log block waits. Its data block is gathered then by
/// the log block of the newer page; with R/D small it hardly matters (measured: below 1 %). Page 0 of each data block
/// is not written, because it would go to the sequential log block; that one is among `log_blocks`.
fn expected_associativity(data_blocks: u32, pages: u32, random: u32) -> f64 {
    let q = 1.0 - (1.0 - 1.0 / f64::from(data_blocks)).powi(pages as i32);
    f64::from(data_blocks) * q / (1.0 + f64::from(random - 1) * q)
}

#[test]
fn fast_associates_a_log_block_with_as_many_data_blocks_as_random_writes_hit() {
    for (data_blocks, pages, random) in [(16, 16, 1), (64, 16, 1), (512, 16, 1), (512, 16, 8), (512, 32, 4)] {
        let setup = preempted("fast", Preemption::None, &[("log_blocks", Value::Count(u64::from(random) + 1))]);
        let merges = uniform(&setup, data_blocks, pages, 1..pages, 400_000);
        assert_eq!((merges.switch, merges.partial), (0, 0), "page 0 is not written");
        let (measured, expected) = (mean_associativity(&merges), expected_associativity(data_blocks, pages, random));
        println!("FAST, D = {data_blocks}, N = {pages}, R = {random}: k = {measured:.4}, expected {expected:.4}");
        assert!((measured / expected - 1.0).abs() < 0.01, "{measured:.4}, not {expected:.4}");
    }
}

/// Merges a write of BAST with L log blocks for D > L data blocks.
///
/// The data blocks with a log block are the L written most recently, so a write finds one with probability h = L / D.
/// What is written between two writes of a data block does not depend on the past, so these are independent draws:
/// after the write that opened it, a log block takes j more pages with probability h^j. A write that finds none merges
/// the log block written least recently; one that finds its own full, at every N-th hit in a row, merges that. In the 1
/// / (1 - h) writes from miss to miss there are 1 + h^N + h^2N + ... merges, which makes
///
/// ```text
/// merges a write = (1 - h) / (1 - h^N)
/// ```
#[test]
fn bast_merges_as_often_as_random_writes_miss_or_fill_their_log_block() {
    for (log_blocks, data_blocks, pages) in [(4, 64, 8), (8, 16, 4), (12, 16, 4), (15, 16, 8)] {
        let setup = preempted("bast", Preemption::None, &[("log_blocks", Value::Count(log_blocks))]);
        let writes = 400_000;
        let merges = uniform(&setup, data_blocks, pages, 0..pages, writes);
        let measured = (merges.switch + merges.partial + merges.full) as f64 / f64::from(writes);
        let hit = log_blocks as f64 / f64::from(data_blocks);
        let expected = (1.0 - hit) / (1.0 - hit.powi(pages as i32));
        println!(
            "BAST, L = {log_blocks}, D = {data_blocks}, N = {pages}: {measured:.5} a write, expected {expected:.5}"
        );
        assert!((measured / expected - 1.0).abs() < 0.01, "{measured:.5}, not {expected:.5}");
    }
}

/// By hand, for one chip of 24 logical blocks of 16 pages: 384 pages, whose map fills three translation pages of 128.
#[test]
fn the_memory_of_tables_is_what_their_entries_take() {
    let memory = |mapping: &str, set: &[(&str, Value)]| {
        let ftl = Ftl::new(&chip(24, 40, 16), &with_mapping(mapping, set), false);
        ftl.report().memory_bytes
    };
    let (cache, logs) = (("cache", Value::Size(1_024)), [("log_blocks", Value::Count(8))]);
    assert_eq!(memory("page", &[]), Some(4 * 384));
    // The directory, and 128 entries of eight bytes; no more of them than there are.
    assert_eq!(memory("dftl", std::slice::from_ref(&cache)), Some(4 * 3 + 1_024));
    assert_eq!(memory("dftl", &[("cache", Value::Size(1 << 20))]), Some(4 * 3 + 8 * 384));
    assert_eq!(memory("sftl", &[cache]), Some(4 * 3 + 1_024));
    let learned = [("cache", Value::Size(8_192)), ("buffer", Value::Count(64))];
    assert_eq!(memory("leaftl", &learned), Some(4 * 3 + 8_192), "the buffer takes its share of the cache");
    // Half of it for 256 entries of eight bytes, and three map pages of 128 entries.
    assert_eq!(memory("lazyftl", &[("cache", Value::Size(4_096))]), Some(4 * 3 + 8 * 256 + 3 * (8 + 4 * 128)));
    // No directory. The tree has an extent of 12 bytes for each of 384 pages at most, in 384 / 11 leaves, which have
    // four nodes above them and a root: 8 bytes each, and 8 for each child.
    assert_eq!(memory("u-ftl", &[("cache", Value::Size(4_096))]), Some(4_096));
    let tree = 384 * 12 + (34 + 4 + 1) * 8 + (34 + 4) * 8;
    assert_eq!(memory("u-ftl", &[("cache", Value::Size(1 << 20))]), Some(tree));
    // Addresses of 24 data blocks, of eight log blocks, and of what each of their pages holds.
    let blocks = 4 * (24 + 8 + 8 * 16);
    for mapping in ["bast", "sast", "kast", "mcsplit"] {
        assert_eq!(memory(mapping, &logs), Some(blocks), "{mapping}");
    }
    // Sequential log blocks, one and four of the eight, hold pages in their places.
    assert_eq!(memory("fast", &logs), Some(blocks - 4 * 16));
    assert_eq!(memory("last", &logs), Some(blocks - 4 * 4 * 16 + 4 * 4 * 16), "and when each was written");
    // Of 64 physical blocks, and tables of four entries: six superblocks of 64 pages have three levels of two bits, a
    // root and four tables below it each, and 64 of their 96 page tables are in memory.
    let tables = 6 + 24 + 64;
    assert_eq!(memory("superblock-ftl", &[("tables", Value::Count(64))]), Some(4 * 64 + tables * 4 * 4));
    // Addresses of 24 logical blocks and of the four new homes, and tables of 16 pages and a counter: fourteen fit
    // 1,000 bytes, and there are no more than logical blocks.
    let janus = |map| memory("janus-ftl", &[("map", Value::Size(map))]);
    assert_eq!(janus(1_000), Some(4 * (24 + 4) + 14 * 4 * 17));
    assert_eq!(janus(1 << 20), Some(4 * (24 + 4) + 24 * 4 * 17));
}
