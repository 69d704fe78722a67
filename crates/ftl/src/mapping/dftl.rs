//! DFTL: a page-level map on flash with a cache of the entries in use (Gupta, Kim and Urgaonkar, "DFTL: A Flash
//! Translation Layer Employing Demand-based Selective Caching of Page-level Address Mappings", ASPLOS 2009).
//!
//! ```text
//! cached mapping table:    single entries, in a segmented LRU
//! miss with a full table:  evict a victim; if it is dirty, write back all dirty entries of its translation page
//!                          (batched write-back)
//! ```
//!
//! Translation pages, their directory, lazy copying and batch updates are those of [`translation`](super::translation).
//! A cached entry takes 8 bytes.
//!
//! O(1) a translation. Memory beyond the store's: 4 bytes a host page to find cached entries, 24 bytes an entry.

mod cache;
mod params;

use flashloom_units::{Capability, Policy, PolicySpec};

use super::{Mapping, cached, translation};
use crate::capability::{MAPPING_UNITS, PAGE_MAPPING, TRANSLATION_PAGES};
use cache::MappingTable;
use params::DftlParams;

static SPEC: PolicySpec = PolicySpec {
    name: "dftl",
    summary: "a page-level map on flash, of which the part in use is cached",
    details: "Segmented LRU of entries, batched write-back of a translation page's dirty entries, lazy copying. Takes \
              an allocation (ftl.allocation) and a collection policy (ftl.gc).",
    source: "Gupta et al., ASPLOS 2009",
    example: "ftl.mapping=dftl ftl.dftl.cache=1MiB workload.synthetic.pattern=zipf",
    instead: "Where random requests cover far more than the cache maps, most of them wait for a translation page: \
              enlarge `cache`. For a drive with memory for the whole map use `page`.",
    needs: &[],
    offers: &[PAGE_MAPPING, MAPPING_UNITS, TRANSLATION_PAGES, Capability::SAVED_STATE],
    params: DftlParams::PARAMS,
    statistics: translation::STATISTICS,
};

/// The policy of this mapping.
pub(super) fn policy() -> Policy<dyn Mapping> {
    cached::policy::<MappingTable>(&SPEC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::cached::PageLevel;
    use crate::mapping::map::Map;
    use crate::mapping::page_store::CollectionListener;
    use crate::mapping::translation::{MapCache, MapReport, Translation, TranslationPage};
    use crate::mapping::{Context, builtin};
    use crate::{CapacityParams, FtlSetup, PageWrite, Space};
    use flashloom_nand::{HostPage, Lpn, Nand, NandParams, PlaneId};
    use flashloom_units::Parameters;
    use flashloom_units::{Component, ParamSet, Value};
    use flashloom_verify::Verifier;
    use params::CACHED_ENTRY_BYTES;

    /// A drive with pages of 512 bytes, so that a translation page has 128 entries, and a cache of four entries.
    fn lab() -> (Nand, Verifier, PageLevel<Translation<MappingTable>>) {
        let shape = NandParams { channels: 2, ways: 1, dies: 1, planes: 1, ..NandParams::defaults() };
        let params = NandParams { blocks: 32, pages: 16, page_bytes: 512, ..shape };
        let space = Space::new(params, &CapacityParams::of(0.5));
        let mut nand = Nand::new(&space.nand);
        let verifier = Verifier::new(&mut nand, space.logical_pages);
        let set = [("cache", Value::Size(4 * CACHED_ENTRY_BYTES))];
        let mapping = builtin().choose("dftl", &set).expect("a parameter of dftl");
        let ftl = FtlSetup { mapping, ..FtlSetup::with_defaults() };
        let state =
            PageLevel::new(Parameters::of(ftl.mapping.values()), &Context { space: &space, ftl: &ftl, nand: &nand });
        (nand, verifier, state.expect("it can be built"))
    }

    fn write(
        (nand, verifier, state): &mut (Nand, Verifier, PageLevel<Translation<MappingTable>>),
        lpns: &[u32],
    ) -> MapReport {
        for &lpn in lpns {
            let page = HostPage { lpn: Lpn(lpn), mask: 1, write: verifier.oracle.writes() };
            verifier.oracle.written_through(page);
            state.write(nand, &[PageWrite::new(page, Nand::NO_TAG)]);
            verifier.follow(nand);
        }
        assert_eq!((state.check(), nand.check(), verifier.check()), (Ok(()), Ok(()), Ok(())));
        state.map.report
    }

    #[test]
    fn a_write_back_takes_all_dirty_entries_of_its_translation_page_along() {
        let mut lab = lab();
        let report = write(&mut lab, &[0, 1, 2, 3]);
        assert_eq!((report.misses, report.reads, report.writes), (4, 0, 0), "room for four, and nothing stored yet");
        let report = write(&mut lab, &[200, 201, 202, 203]);
        assert_eq!((report.misses, report.reads, report.writes), (8, 0, 1), "the first victim cleans the other three");
        let report = write(&mut lab, &[5]);
        assert_eq!((report.reads, report.writes), (1, 2), "the entry of page 5 is read from what was written back");
        let report = write(&mut lab, &[5, 5]);
        assert_eq!((report.hits, report.reads, report.writes), (2, 1, 2));
    }

    #[test]
    fn a_moved_page_changes_its_cached_entry_or_shares_a_write_with_others_of_its_translation_page() {
        let mut lab = lab();
        write(&mut lab, &[0, 1, 2, 3, 130, 131, 260, 261, 262, 263]);
        let before = write(&mut lab, &[263]);
        let (mut nand, _, mut state) = lab;
        // Entries 260 to 263 are cached. Pages 0 to 127 are on one translation page, 128 to 255 on the next.
        let plane = PlaneId(1);
        [262, 0, 1, 130, 3, 131].into_iter().for_each(|lpn| state.map.moved(plane, Lpn(lpn), state.store.map()));
        assert!(state.map.cache.is_dirty(Lpn(262)));
        state.map.write_back_due(&mut state.store, &mut nand);
        assert_eq!(state.map.report.writes, before.writes, "nothing is written before the victim is erased");
        state.map.ended(plane);
        for share in 1..=3 {
            state.map.write_back_due(&mut state.store, &mut nand);
            assert_eq!(state.map.report.writes, before.writes + share.min(2), "one at a time, and each once");
        }
        assert_eq!(state.check(), Ok(()));
    }

    #[test]
    fn a_moved_translation_page_is_found_through_the_directory() {
        let mut lab = lab();
        let before = write(&mut lab, &[0, 1, 2, 3, 200]);
        let (mut nand, _, mut state) = lab;
        let page = state.map.lpn(TranslationPage(0));
        state.map.moved(PlaneId(0), page, state.store.map());
        state.map.ended(PlaneId(0));
        state.map.write_back_due(&mut state.store, &mut nand);
        assert_eq!(state.map.report, before);
    }
}
