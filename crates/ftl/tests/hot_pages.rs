//! Separation of hot pages on its ideal workload: uniform random writes, most of them to a small set of pages.
//!
//! Expected result. Greedy collection takes the block with the fewest valid pages, hot or cold, so both kinds are
//! collected with equally many valid pages. If no block holds both, each set behaves like a drive of its own under
//! uniform writes. Both then have the same share of spare space, that of the whole drive, and the same write
//! amplification: that of uniform writes. Mixed, it is higher, because cold pages are copied again and again for the
//! space that dead hot pages leave. A policy that considers age leaves hot blocks longer, which gains more: with s
//! spare pages for each page, hot and cold sets of l_i pages that take t_i of the writes amplify them by (sum sqrt(l_i
//! t_i))^2 (1 + s) / 2s at best (Desnoyers, "Analytic Models of SSD Write Performance", ACM Transactions on Storage
//! 10(2), 2014); for 90/10 that is 0.36 of the amplification of uniform writes.

use crate::support::{Ftl, chip};
use flashloom_ftl::{CapacityParams, FtlSetup, GcBlocks, HotCold, Space, collection};
use flashloom_units::Prng;

/// The way in which hot and cold pages are told apart.
#[derive(Clone, Copy)]
struct Told {
    hot_cold: HotCold,
    /// Threshold of the sketch.
    threshold: u32,
    decay: f64,
    /// Share of pages that are known to be hot.
    share: f64,
}

const NONE: Told = Told { hot_cold: HotCold::None, threshold: 8, decay: 2.0, share: 0.0 };
const SKETCH: Told = Told { hot_cold: HotCold::MultiHash, ..NONE };

/// The first `share` of the pages is known to be hot.
const fn known(share: f64) -> Told {
    Told { hot_cold: HotCold::Known, share, ..NONE }
}

fn space() -> Space {
    Space::new(chip(8, 248, 64).nand, &CapacityParams::of(0.15))
}

/// Write amplification of a full drive on which `traffic` of the writes goes to the first `share` of the pages.
fn waf(told: Told, gc: &str, gc_blocks: GcBlocks, (traffic, share): (f64, f64)) -> f64 {
    let space = space();
    let mut setup = FtlSetup::with_defaults();
    let params = &mut setup.params;
    (params.hot_cold, params.gc_blocks) = (told.hot_cold, gc_blocks);
    (params.hot_threshold, params.hot_decay, params.hot_share) = (told.threshold, told.decay, told.share);
    setup.collection = collection::builtin().choose(gc, &[]).expect("it is built in");
    let mut ftl = Ftl::filled(&space, &setup, false);
    let (mask, pages) = (ftl.nand.geometry().full_mask(), u64::from(ftl.logical_pages()));
    let hot = (pages as f64 * share).round() as u64;
    let mut prng = Prng::new(1).branch("hot pages");
    let mut copies_of = |writes: u64| {
        for _ in 0..writes {
            let lpn = if prng.chance(traffic) { prng.below(hot) } else { hot + prng.below(pages - hot) };
            ftl.write(&[(lpn as u32, mask)]);
        }
        ftl.check();
        ftl.report().page_copies
    };
    let before = copies_of(8 * pages);
    1.0 + (copies_of(6 * pages) - before) as f64 / (6 * pages) as f64
}

const UNIFORM: (f64, f64) = (0.0, 0.0);
/// Nine writes in ten go to a tenth of the pages, and four in five to a fiftieth.
const HOT: [(f64, f64); 2] = [(0.9, 0.1), (0.8, 0.02)];

#[test]
fn hot_pages_apart_amplify_a_skewed_load_no_more_than_a_uniform_one() {
    for gc_blocks in [GcBlocks::Separate, GcBlocks::Shared] {
        let uniform = waf(NONE, "greedy", gc_blocks, UNIFORM);
        for load in HOT {
            let of = |told| waf(told, "greedy", gc_blocks, load);
            let (none, sketch, known) = (of(NONE), of(SKETCH), of(known(load.1)));
            let which = format!("{load:?}, {gc_blocks:?}: uniform {uniform:.3}, {none:.3}, {sketch:.3}, {known:.3}");
            assert!(none > 1.03 * uniform, "mixed, it is more: {which}");
            assert!(known < 1.01 * uniform && sketch < 1.01 * uniform, "apart, it is not: {which}");
            assert!(none - sketch > 0.8 * (none - known), "the sketch finds most of them: {which}");
        }
    }
}

#[test]
fn a_collection_that_knows_age_gains_more_from_hot_pages_apart() {
    for gc_blocks in [GcBlocks::Separate, GcBlocks::Shared] {
        for load in HOT {
            let of = |told| waf(told, "cost-benefit", gc_blocks, load);
            let (none, sketch, known) = (of(NONE), of(SKETCH), of(known(load.1)));
            let which = format!("{load:?}, {gc_blocks:?}: {none:.3}, {sketch:.3}, {known:.3}");
            assert!(sketch < 0.88 * none, "{which}");
            assert!(none - sketch > 0.7 * (none - known), "the sketch finds most of them: {which}");
        }
    }
}

/// A sketch that calls every page hot, or none, fails the tests above.
#[test]
fn a_sketch_that_tells_nothing_apart_gains_nothing() {
    let nothing = Told { threshold: 15, decay: 0.01, ..SKETCH };
    for load in HOT {
        let of = |told| waf(told, "greedy", GcBlocks::Separate, load);
        let none = of(NONE);
        assert_eq!(of(nothing), none, "{load:?}");
        for told in [known(0.0), known(1.0)] {
            assert!(of(told) > 0.97 * none, "{load:?}: {:.3}, not {none:.3}", of(told));
        }
    }
}

#[test]
fn uniform_writes_cost_no_more_with_hot_pages_apart() {
    for gc in ["greedy", "cost-benefit"] {
        for gc_blocks in [GcBlocks::Separate, GcBlocks::Shared] {
            let of = |told| waf(told, gc, gc_blocks, UNIFORM);
            let (none, sketch) = (of(NONE), of(SKETCH));
            assert!(sketch <= 1.01 * none, "{gc}, {gc_blocks:?}: {sketch:.3}, not {none:.3}");
        }
    }
}
