//! Random operations on whole FTLs against a model: every mapping on small drives that force every kind of merge and
//! collection, with the checker of commands and the oracle of contents on.
//!
//! Strategy: a case is a drive of a few dozen blocks under random parameters, filled or not, and some thousand
//! operations on all of its pages or on a few logical blocks: writes of one page or many (powers of two and odd
//! numbers, in order or scattered, whole pages or some sectors), reads, trims and idle steps. A flush asks nothing of
//! an FTL, which keeps no page in memory. Reads return what the model holds; what is mapped, and every account, is
//! compared in between and at the end.
//!
//! `FLASHLOOM_CASES` sets the cases a mapping, 2,000 operations each, and `FLASHLOOM_SEED` the seed of the first.

use std::collections::BTreeSet;

use crate::support::{Ftl, pick, seeds};
use flashloom_ftl::{
    CapacityParams, FtlSetup, GcBlocks, GcPace, HotCold, Mapping, Preemption, Space, StripeOrder, Superblock,
    WearLevelling, allocation, collection, mapping, placement,
};
use flashloom_nand::{NandParams, Origin};
use flashloom_units::{Chosen, Kind, Param, ParamSet, Policy, Prng, Role, Slot, Value};

/// Operations of a case.
const OPERATIONS: u32 = 2_000;
/// Default number of cases for each mapping; the environment may set another.
const CASES: u64 = 400;
/// The number for a mapping whose checks take ten times as long.
const FEW_CASES: u64 = 100;

fn random_space(prng: &mut Prng) -> Space {
    let nand = NandParams {
        channels: pick(prng, &[1, 1, 2, 3]),
        ways: pick(prng, &[1, 2]),
        dies: pick(prng, &[1, 2]),
        planes: pick(prng, &[1, 2]),
        blocks: pick(prng, &[8, 9, 16, 24]),
        pages: pick(prng, &[3, 4, 8, 13]),
        page_bytes: pick(prng, &[512, 2_048]),
        ..NandParams::defaults()
    };
    Space::new(nand, &CapacityParams::of(pick(prng, &[0.5, 1.5, 3.0])))
}

/// A random policy of a slot.
fn random_policy<P: Role + ?Sized>(prng: &mut Prng, slot: &Slot<P>) -> Chosen<P> {
    let policies: Vec<_> = slot.policies().iter().collect();
    let policy = pick(prng, &policies);
    with_random_values(prng, policy)
}

/// A policy with random parameters; counts are small.
fn with_random_values<P: Role + ?Sized>(prng: &mut Prng, policy: &Policy<P>) -> Chosen<P> {
    let value = |param: &Param| match param.kind {
        Kind::Flag => Value::Flag(prng.chance(0.5)),
        Kind::Choice(choices) => Value::Name(choices[prng.below(choices.len() as u64) as usize].name),
        Kind::Ratio { min, max } => Value::Ratio(pick(prng, &[min, 0.3, 0.7, max])),
        Kind::Count { min, max } | Kind::CountOr { min, max, .. } if prng.chance(0.9) => {
            Value::Count((min + pick(prng, &[0, 1, 2, 3, 50])).min(max))
        }
        Kind::Size { min, max } if prng.chance(0.7) => Value::Size((min * pick(prng, &[1, 3, 40])).min(max)),
        _ => param.default.clone(),
    };
    policy.with_values(policy.spec.params.iter().map(value).collect())
}

pub fn random_setup(prng: &mut Prng, mapping: &Policy<dyn Mapping>) -> FtlSetup {
    let mut setup = FtlSetup::with_defaults();
    setup.mapping = with_random_values(prng, mapping);
    setup.allocation = random_policy(prng, &allocation::builtin());
    setup.collection = random_policy(prng, &collection::builtin());
    setup.placement = random_policy(prng, &placement::builtin());
    setup.params.preemption = pick(prng, &[Preemption::Page, Preemption::None]);
    setup.params.gc_pace = pick(prng, &[GcPace::Deadline, GcPace::Share]);
    setup.params.hot_cold = pick(prng, &[HotCold::None, HotCold::MultiHash, HotCold::Known]);
    setup.params.hot_decay = pick(prng, &[0.1, 2.0]);
    setup.params.hot_threshold = pick(prng, &[1, 2, 8]);
    setup.params.wear_threshold = pick(prng, &[1, 2, 5]);
    setup.params.gc_blocks = pick(prng, &[GcBlocks::Separate, GcBlocks::Shared]);
    setup.params.superblock = pick(prng, &[Superblock::None, Superblock::Die]);
    setup.params.stripe_order = pick(prng, &[StripeOrder::Cwdp, StripeOrder::Pdwc]);
    setup.params.wear_levelling = pick(prng, &[WearLevelling::None, WearLevelling::Dynamic, WearLevelling::Static]);
    setup.params.background_threshold = pick(prng, &[0, 4, 6]);
    setup
}

/// Distinct pages of `span` that are written together, each with some or all of its sectors.
pub fn random_batch(prng: &mut Prng, span: u32, full_mask: u32) -> Vec<(u32, u32)> {
    let count = pick(prng, &[1, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17]).min(span);
    let first = prng.below(span.into()) as u32;
    let in_order = prng.chance(0.6);
    let lpns: BTreeSet<u32> = (0..count)
        .map(|index| if in_order { (first + index) % span } else { prng.below(span.into()) as u32 })
        .collect();
    let mut mask = || if prng.chance(0.8) { full_mask } else { (prng.bits() as u32 & full_mask).max(1) };
    lpns.into_iter().map(|lpn| (lpn, mask())).collect()
}

/// Shares of operations that are no writes; reads, trims and idle steps are left out of some cases.
pub struct Mix {
    pub reads: f64,
    pub trims: f64,
    pub idles: f64,
    pub flushes: f64,
    /// The chance that each of the first three is in a case.
    pub chance: f64,
}

/// Random operations on a drive, which is checked after every `checked` of them, and read at the end.
pub fn operate(ftl: &mut Ftl, prng: &mut Prng, mix: &Mix, checked: u32, also: impl Fn(&Ftl)) {
    let (pages, full_mask) = (ftl.logical_pages(), ftl.nand.geometry().full_mask());
    let span = pick(prng, &[pages, pages, pages.div_ceil(2), pages.div_ceil(8)]);
    let [reads, trims, idles] =
        [mix.reads, mix.trims, mix.idles].map(|share| if prng.chance(mix.chance) { share } else { 0.0 });
    for operation in 1..=OPERATIONS {
        let lpn = prng.below(span.into()) as u32;
        let draw = prng.unit();
        if draw < reads {
            ftl.read(lpn);
        } else if draw < reads + trims {
            let end = (lpn + pick(prng, &[1, 1, 2, 9])).min(pages);
            (lpn..end).for_each(|lpn| ftl.trim(lpn));
        } else if draw < reads + trims + idles {
            ftl.idle();
        } else if draw < reads + trims + idles + mix.flushes {
            ftl.flush();
        } else {
            ftl.write(&random_batch(prng, span, full_mask));
        }
        if operation % checked == 0 {
            ftl.check();
            also(ftl);
        }
    }
    (0..pages).for_each(|lpn| ftl.read(lpn));
    ftl.check();
}

/// A drive that a setup fits, of random ones, filled or not.
pub fn random_ftl(
    prng: &mut Prng,
    filled: f64,
    mut drive: impl FnMut(&mut Prng) -> (Space, FtlSetup),
) -> (Ftl, FtlSetup) {
    let mut drives = std::iter::repeat_with(|| drive(prng));
    let (space, setup) = drives.find(|(space, setup)| setup.profile(space).is_ok()).expect("some drive fits");
    let ftl = if prng.chance(filled) { Ftl::filled(&space, &setup, true) } else { Ftl::new(&space, &setup, true) };
    (ftl, setup)
}

/// Coverage of a mapping's cases. A check of it fails if the cases exercised nothing.
#[derive(Debug, Default)]
struct Seen {
    collected: u64,
    rewritten: u64,
    merges: [u64; 3],
    fillers: u64,
    moved: u64,
    /// Blocks whose data moved because they were little worn.
    levelled: u64,
    /// Fusions, defusions and collections of Janus-FTL.
    work: [u64; 3],
}

fn run(mapping: &str, in_units: bool) -> Seen {
    let mappings = mapping::builtin();
    let mapping = mappings.find(mapping).expect("a mapping of the table");
    let mix = Mix { reads: 0.2, trims: 0.05, idles: 0.1, flushes: 0.0, chance: 0.8 };
    let mut seen = Seen::default();
    let is_slow = mapping.spec.name == "leaftl";
    for seed in seeds(if is_slow { FEW_CASES } else { CASES }) {
        println!("{}, seed {seed}", mapping.spec.name);
        let mut prng = Prng::new(seed).branch(mapping.spec.name);
        let (mut ftl, _) = random_ftl(&mut prng, 0.7, |prng| {
            let (space, mut setup) = (random_space(prng), random_setup(prng, mapping));
            if in_units {
                setup.params.mapping_unit_bytes = pick(prng, &[2, 3, 4, 8, 13]) * space.nand.page_bytes;
            }
            (space, setup)
        });
        operate(&mut ftl, &mut prng, &mix, 250, |_| ());
        seen.collected += ftl.nand.counts().erases[Origin::Gc as usize];
        seen.levelled += ftl.report().wear_moves.unwrap_or(0);
        seen.rewritten += ftl.report().unit_rewrites.unwrap_or(0);
        let counts = |name: &str| mapping.spec.statistics.iter().any(|one| one.name == name);
        if counts("full_merges") {
            let kinds = ["switch_merges", "partial_merges", "full_merges"].iter().map(|name| ftl.count(name));
            seen.merges.iter_mut().zip(kinds).for_each(|(seen, merges)| *seen += merges);
        }
        if counts("fusions") {
            let kinds = ["fusions", "defusions", "collections"].map(|name| ftl.count(name));
            seen.work.iter_mut().zip(kinds).for_each(|(seen, jobs)| *seen += jobs);
        }
        if counts("associativity") {
            let merges = ftl.merges();
            seen.fillers += merges.filler_pages;
            seen.moved += merges.migrated_pages;
            assert!(merges.blocking_ns.max() <= merges.blocking_bound_ns);
        }
    }
    println!("{}: {seen:?}", mapping.spec.name);
    assert!(seen.levelled > 0, "little-worn blocks were used again: {seen:?}");
    seen
}

fn run_page_level(mapping: &str) {
    assert!(run(mapping, false).collected > 0, "blocks were collected");
}

fn run_log_block(mapping: &str) {
    let seen = run(mapping, false);
    assert!(seen.merges.iter().all(|&merges| merges > 0), "all kinds of merge were made: {seen:?}");
    assert!(seen.fillers > 0 && seen.moved > 0, "pages that nobody wrote were filled, and data was moved: {seen:?}");
}

fn run_in_units(mapping: &str) {
    let seen = run(mapping, true);
    assert!(seen.collected > 0 && seen.rewritten > 0, "blocks were collected, and units written in part: {seen:?}");
}

fn run_superblocks(mapping: &str) {
    let seen = run(mapping, false);
    assert!(seen.merges.iter().all(|&merges| merges > 0), "all kinds of collection were made: {seen:?}");
}

fn run_areas(mapping: &str) {
    let seen = run(mapping, false);
    assert!(seen.work.iter().all(|&jobs| jobs > 0), "data moved both ways, and was collected: {seen:?}");
}

/// A test for each mapping, so that they run in parallel.
macro_rules! tests {
    ($($name:ident: $run:ident($mapping:literal),)+) => {$(
        #[test]
        fn $name() {
            $run($mapping);
        }
    )+};
}
pub(crate) use tests;

tests! {
    page_holds_what_was_written_in_units: run_in_units("page"),
    dftl_holds_what_was_written_in_units: run_in_units("dftl"),
    page_holds_what_was_written: run_page_level("page"),
    dftl_holds_what_was_written: run_page_level("dftl"),
    sftl_holds_what_was_written: run_page_level("sftl"),
    leaftl_holds_what_was_written: run_page_level("leaftl"),
    lazyftl_holds_what_was_written: run_page_level("lazyftl"),
    u_ftl_holds_what_was_written: run_page_level("u-ftl"),
    bast_holds_what_was_written: run_log_block("bast"),
    fast_holds_what_was_written: run_log_block("fast"),
    last_holds_what_was_written: run_log_block("last"),
    sast_holds_what_was_written: run_log_block("sast"),
    kast_holds_what_was_written: run_log_block("kast"),
    mcsplit_holds_what_was_written: run_log_block("mcsplit"),
    superblock_ftl_holds_what_was_written: run_superblocks("superblock-ftl"),
    janus_ftl_holds_what_was_written: run_areas("janus-ftl"),
}
