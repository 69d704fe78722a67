//! Random operations on FTLs with an SLC cache against a model, with the checker of commands and the oracle of contents
//! on; a form of what a dynamic cache may take.
//!
//! Strategy: drives of a few blocks a plane with little space to spare, of which most are full, so that folding and
//! collection compete for the last free blocks. Between writes, reads and trims the cache is folded a single step at a
//! time, which leaves a fold unfinished while the host goes on.
//!
//! `FLASHLOOM_CASES` sets the cases a mapping, 2,000 operations each, and `FLASHLOOM_SEED` the seed of the first.

use crate::random_operations::{Mix, operate, random_ftl, random_setup, tests};
use crate::support::{Ftl, pick, seeds};
use flashloom_ftl::{
    CapacityParams, FtlSetup, HotCold, Mapping, SlcCacheKind, SlcReport, Space, WhenFull, allocation, mapping,
};
use flashloom_nand::{BlockId, NandParams, Origin};
use flashloom_units::{ParamSet, Policy, Prng, US};

const CASES: u64 = 200;

fn random_space(prng: &mut Prng) -> Space {
    let nand = NandParams {
        channels: pick(prng, &[1, 1, 2]),
        ways: 1,
        dies: 1,
        planes: pick(prng, &[1, 2]),
        blocks: pick(prng, &[12, 16, 24, 40]),
        pages: pick(prng, &[4, 8, 13, 24]),
        page_bytes: 512,
        bits_per_cell: pick(prng, &[2, 3, 4]),
        slc_read_ns: Some(20 * US),
        slc_program_ns: Some(50 * US),
        ..NandParams::defaults()
    };
    Space::new(nand, &CapacityParams::of(pick(prng, &[0.2, 0.3, 0.5, 1.5])))
}

fn random_cached(prng: &mut Prng, mapping: &Policy<dyn Mapping>) -> FtlSetup {
    let mut setup = random_setup(prng, mapping);
    let allocation = pick(prng, &["interleave", "static"]);
    setup.allocation = allocation::builtin().choose(allocation, &[]).expect("it has defaults");
    let params = &mut setup.params;
    params.hot_cold = HotCold::None;
    params.slc_cache = pick(prng, &[SlcCacheKind::Static, SlcCacheKind::Dynamic]);
    params.slc_static_share = pick(prng, &[0.01, 0.1, 0.2]);
    params.slc_dynamic_share = pick(prng, &[0.2, 1.0]);
    params.slc_when_full = pick(prng, &[WhenFull::Beside, WhenFull::Fold]);
    params.slc_fold_threshold = pick(&mut prng.branch("fold"), &[0.0, 0.2, 0.5]);
    setup
}

fn cache(ftl: &Ftl) -> SlcReport {
    ftl.report().slc_cache.expect("it has a cache")
}

/// Every page of the host went to the cache or past it, and every fold is a program of its origin.
fn counts_add_up(ftl: &Ftl) {
    let (report, counts) = (ftl.report(), ftl.nand.counts());
    let SlcReport { cached_writes, writes_beside, folded_pages, folded_blocks } = cache(ftl);
    assert_eq!(cached_writes + writes_beside, report.host_page_writes);
    assert_eq!(folded_pages, counts.programs[Origin::Fold as usize]);
    let width = counts.erases[Origin::Fold as usize].checked_div(folded_blocks).unwrap_or(1);
    assert_eq!(folded_blocks * width, counts.erases[Origin::Fold as usize]);
}

fn run(mapping: &str) {
    let mappings = mapping::builtin();
    let mapping = mappings.find(mapping).expect("a mapping of the table");
    let (mut folded, mut collected) = ([0; 2], 0);
    for seed in seeds(CASES) {
        println!("{}, seed {seed}", mapping.spec.name);
        let mut prng = Prng::new(seed).branch(mapping.spec.name).branch("cache");
        let (mut ftl, setup) = random_ftl(&mut prng, 0.8, |prng| (random_space(prng), random_cached(prng, mapping)));
        let flushes = pick(&mut prng, &[0.02, 0.2, 0.5]);
        let mix = Mix { reads: 0.1, trims: 0.02, idles: 0.05, flushes, chance: 0.6 };
        operate(&mut ftl, &mut prng, &mix, 100, counts_add_up);
        while ftl.flush() {}
        ftl.check();
        (0..ftl.logical_pages()).for_each(|lpn| ftl.read(lpn));
        let in_cache = (0..ftl.nand.geometry().total_blocks() as u32).find(|&id| ftl.nand.has_other_cells(BlockId(id)));
        assert_eq!(in_cache, None, "a block is in SLC mode after the cache was folded");
        folded[usize::from(setup.params.slc_cache == SlcCacheKind::Static)] += cache(&ftl).folded_pages;
        collected += ftl.nand.counts().erases[Origin::Gc as usize];
    }
    assert!(folded.iter().all(|&pages| pages > 0) && collected > 0, "{folded:?} pages folded, {collected} collected");
}

tests! {
    page_with_a_cache_holds_what_was_written: run("page"),
    dftl_with_a_cache_holds_what_was_written: run("dftl"),
}
