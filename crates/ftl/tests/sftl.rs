//! S-FTL's memory: whatever changes entries, what is cached fits.

use crate::support::{Ftl, with_mapping};
use flashloom_ftl::{CapacityParams, Space, collection};
use flashloom_nand::NandParams;
use flashloom_units::{ParamSet, Prng, Value};

/// Reads, and collections in idle time that split the runs of cached pages, with room for two or three of these.
#[test]
fn collections_in_idle_time_leave_the_cache_within_its_memory() {
    let plane = NandParams { channels: 1, ways: 1, dies: 1, planes: 1, ..NandParams::defaults() };
    let nand = NandParams { blocks: 512, pages: 2, page_bytes: 512, ..plane };
    let space = Space::new(nand, &CapacityParams::of(0.3));
    for (seed, cache) in (0..40).zip((560..).step_by(23)) {
        let mut setup = with_mapping("sftl", &[("cache", Value::Size(cache)), ("dirty_buffer", Value::Ratio(0.0))]);
        setup.collection = collection::builtin().choose("fifo", &[]).unwrap();
        setup.params.background_threshold = 80;
        let mut ftl = Ftl::filled(&space, &setup, true);
        let mut prng = Prng::new(seed).branch("sftl");
        for _ in 0..600 {
            let lpn = prng.below(ftl.logical_pages().into()) as u32;
            if prng.chance(0.3) {
                ftl.write(&[(lpn, 1)]);
            } else {
                ftl.read(lpn);
            }
            ftl.idle();
            ftl.check();
        }
    }
}
