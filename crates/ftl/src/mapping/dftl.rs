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

use flashloom_units::{Capability, PolicySpec};

use super::translation;
use crate::capability::{MAPPING_UNITS, PAGE_MAPPING, TRANSLATION_PAGES};
use cache::DftlParams;
pub(super) use cache::MappingTable;

pub(super) static SPEC: PolicySpec = PolicySpec {
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

#[cfg(test)]
mod tests {
    use flashloom_nand::{Lpn, PlaneId};
    use flashloom_units::Component;

    use super::cache::CACHED_ENTRY_BYTES;
    use super::*;
    use crate::mapping::cached::tests::Lab;
    use crate::mapping::map::Map;
    use crate::mapping::page_store::CollectionListener;
    use crate::mapping::translation::{MapCache, MapReport, Translation, TranslationPage};

    /// A drive with a cache of four entries.
    fn lab() -> Lab<Translation<MappingTable>> {
        Lab::new("dftl", 32, |_| 4 * CACHED_ENTRY_BYTES)
    }

    fn write(lab: &mut Lab<Translation<MappingTable>>, lpns: &[u32]) -> MapReport {
        lab.write(lpns.iter().copied()).report
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
        let Lab { mut nand, mut state, .. } = lab;
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
        let Lab { mut nand, mut state, .. } = lab;
        let page = state.map.lpn(TranslationPage(0));
        state.map.moved(PlaneId(0), page, state.store.map());
        state.map.ended(PlaneId(0));
        state.map.write_back_due(&mut state.store, &mut nand);
        assert_eq!(state.map.report, before);
    }
}
