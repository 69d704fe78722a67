//! SAST: set-associative sector translation, N log blocks for a set of K data blocks (Park et al., Rapid System
//! Prototyping 2007; KAST, section II).
//!
//! ```text
//! set                K consecutive logical blocks of a chip
//! page               append to the open log block of its set
//! it is full         open another one if the set has fewer than N, else merge the set's oldest first
//! none is free       merge the oldest log block of the least recently written set, full or not
//! merge              switch or partial if it holds one logical block in place, else full
//! ```
//!
//! k(L) is at most K, so a merge takes at most N_pages K C_copy + (K + 1) C_erase. If the sets written to change often,
//! log blocks are merged while they still have free pages: thrashing as in BAST, with sets in the place of logical
//! blocks. Neither paper says which set gives up a log block: LRU here. A page costs O(log blocks of a chip).

use flashloom_nand::Lbn;
use flashloom_units::{Capability, Kind, PolicySpec, Refusal, Value, Violation, params};
use serde::{Deserialize, Serialize};

use super::Site;
use super::log_block::{
    Chip, LATEST, Layout, LogSlot, MERGES, MergeKind, Scheme, Store, check_associativity, mistaken,
};
use crate::capability::{FIXED_HOMES, SINGLE_CHIP};
use crate::store::WornOut;
use crate::{BLOCK_EXCHANGE, DIE_SUPERBLOCKS, PageWrite, Preemption};

params! {
    /// Parameters of SAST.
    pub struct SastParams {
        /// Log blocks of a chip.
        log_blocks: u32 => "log_blocks", Kind::Count { min: 2, max: 1 << 16 }, Value::Count(16),
            "More log blocks put merges off and leave less for data.";
        /// Maximum number of log blocks of a set: the N of the N:K mapping.
        set_log_blocks: u32 => "n", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(4),
            "More let a busy set put merges off and starve the others.";
        /// Data blocks in a set: the K of the N:K mapping, which bounds the associativity.
        set_data_blocks: u32 => "k", Kind::Count { min: 1, max: 1 << 16 }, Value::Count(4),
            "More share log blocks better and make merges longer.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "sast",
    summary: "N log blocks for each set of K data blocks",
    details: "One FTL a chip. The set written least recently gives a log block when none is free.",
    source: "Park et al., Rapid System Prototyping 2007; KAST, section II",
    example: "ftl.mapping=sast ftl.sast.n=8 ftl.sast.k=4 buffer.order=block-lru",
    instead: "Sets are fixed by address: where writes go to many sets, log blocks are merged before they are full. \
              `kast` has the same bound K and no sets.",
    needs: &[],
    offers: &[BLOCK_EXCHANGE, DIE_SUPERBLOCKS, SINGLE_CHIP, Capability::SAVED_STATE],
    params: SastParams::PARAMS,
    statistics: MERGES,
};

pub(super) struct Sast {
    set_log_blocks: usize,
    set_data_blocks: u32,
    /// Difference between the numbers of consecutive logical blocks of a chip; the placement determines it.
    neighbours: u32,
    logs: Vec<Log>,
    clock: u64,
}

flashloom_units::state! { Sast { array logs; value clock; fixed set_log_blocks, set_data_blocks, neighbours; } }

/// Set of a log block, time of its opening, and last write to its set.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Log {
    set: u32,
    opened: u64,
    written: u64,
}

impl Sast {
    /// Log blocks of a set, except one being merged.
    fn of_set<'a>(&'a self, chip: &'a Chip, set: u32) -> impl Iterator<Item = LogSlot> + 'a {
        let store = &*chip.store;
        let in_use = store.log.in_use(chip.group);
        in_use.filter(move |&slot| self.logs[slot.at()].set == set && !store.is_merging(chip.group, slot))
    }

    fn set_of(&self, lbn: Lbn) -> u32 {
        lbn.0 / self.neighbours / self.set_data_blocks
    }

    fn merge_of(store: &Store, slot: LogSlot) -> MergeKind {
        match store.log.associations(slot) {
            [only] => store.sequential_merge(slot, only.lbn),
            _ => MergeKind::Full,
        }
    }

    /// Opens a log block for a set whose log blocks are all full.
    fn open(&mut self, chip: &mut Chip, set: u32) -> Result<LogSlot, WornOut> {
        if self.of_set(chip, set).count() >= self.set_log_blocks {
            let oldest = self.of_set(chip, set).min_by_key(|slot| self.logs[slot.at()].opened);
            let oldest = oldest.expect("the set has log blocks");
            chip.merge(oldest, Self::merge_of(chip.store, oldest))?;
        }
        let slot = chip.open_log_block(self, 0)?;
        self.logs[slot.at()] = Log { set, opened: self.clock, written: self.clock };
        Ok(slot)
    }
}

impl Scheme for Sast {
    type Params = SastParams;

    fn layout(params: &SastParams, site: &Site<'_>) -> Layout {
        let SastParams { log_blocks, set_data_blocks: k, .. } = *params;
        // With preemption, a set may have to merge its oldest log block while another merge is under way.
        let besides = match site.ftl.params.preemption {
            Preemption::None => (0, 0),
            Preemption::Page => (site.geometry().pages * k, k + 1),
        };
        Layout { width: 1, log_blocks, associativity: k, pages_a_log_block: 1, besides }
    }

    fn check(params: &SastParams, site: &Site<'_>) -> Result<(), Refusal> {
        check_associativity("ftl.sast.k", params.set_data_blocks, site.geometry().pages)
    }

    fn new(params: SastParams, site: &Site<'_>, store: &Store) -> Self {
        Self {
            set_log_blocks: params.set_log_blocks as usize,
            set_data_blocks: params.set_data_blocks,
            neighbours: if site.ftl.placement.offers(FIXED_HOMES) { store.groups() } else { 1 },
            logs: vec![Log { set: 0, opened: 0, written: 0 }; store.log.slots()],
            clock: 0,
        }
    }

    fn write(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        self.clock += 1;
        let set = self.set_of(chip.store.lbn(write.lpn));
        let open = self.of_set(chip, set).find(|&slot| !chip.store.log_is_full(slot));
        let slot = open.map_or_else(|| self.open(chip, set), Ok)?;
        for own in chip.store.log.in_use(chip.group) {
            if self.logs[own.at()].set == set {
                self.logs[own.at()].written = self.clock;
            }
        }
        chip.append_to_log(slot, write)
    }

    fn victim(&mut self, store: &Store, group: u32, opened: LogSlot) -> (LogSlot, MergeKind) {
        let candidates = store.log.in_use(group).filter(|&slot| slot != opened);
        let oldest = candidates.min_by_key(|slot| (self.logs[slot.at()].written, self.logs[slot.at()].opened));
        let slot = oldest.expect("there is another log block");
        (slot, Self::merge_of(store, slot))
    }

    fn check_loaded(&self, store: &Store) -> Result<(), Violation> {
        let is_sound = |&slot: &LogSlot| {
            let Log { set, opened, written } = self.logs[slot.at()];
            let mut associations = store.log.associations(slot).iter();
            associations.all(|association| self.set_of(association.lbn) == set) && opened.max(written) <= self.clock
        };
        match store.log.all_in_use().find(|slot| !is_sound(slot)) {
            None if self.clock < LATEST => Ok(()),
            slot => Err(mistaken(slot.unwrap_or(LogSlot::NONE))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::log_block::lab::{Cost, Lab, SEQUENCE, setup, space};

    fn lab(log_blocks: u32, n: u64, k: u64) -> Lab<Sast> {
        let values = [("log_blocks", Value::Count(log_blocks.into())), ("n", Value::Count(n)), ("k", Value::Count(k))];
        Lab::filled(&space(1, 6, log_blocks), &setup("sast", &values))
    }

    #[test]
    fn kast_figure_1c_two_log_blocks_for_three_data_blocks_take_all_writes() {
        let mut lab = lab(4, 2, 3);
        assert_eq!(lab.write(SEQUENCE), Cost::default());
        assert_eq!(SEQUENCE.map(|lpn| lab.log_block_of(lpn).unwrap()), [0, 0, 0, 1, 1, 1, 0, 2]);
        assert_eq!(lab.associativity(), [3, 3, 1, 0]);
    }

    #[test]
    fn a_set_with_n_full_log_blocks_merges_its_oldest_though_others_are_free() {
        let mut lab = lab(4, 1, 3);
        assert_eq!(lab.write([1, 5, 9, 2]), Cost::default());
        assert_eq!(lab.write([3]), Cost { full: 1, copies: 12, erases: 4, ..Cost::default() });
    }

    #[test]
    fn sets_that_take_turns_thrash_as_the_set_written_least_recently_gives_its_log_block() {
        let mut lab = lab(2, 2, 2);
        assert_eq!(lab.write([1, 9]), Cost::default());
        let one_page = Cost { full: 1, copies: 4, erases: 2, ..Cost::default() };
        assert_eq!([17, 2, 10, 18].map(|lpn| lab.write([lpn])), [one_page; 4]);
    }

    #[test]
    fn a_log_block_of_one_data_block_in_place_is_switched() {
        let mut lab = lab(2, 1, 2);
        lab.write(0..4);
        assert_eq!(lab.write([1]), Cost { switch: 1, erases: 1, ..Cost::default() });
    }
}
