//! BAST: block-associative sector translation, a log block for one data block at a time (Kim et al., IEEE Transactions
//! on Consumer Electronics 48(2), 2002).
//!
//! ```text
//! the logical block has a log block  append to it; if it is full, merge it first
//! it has none                        open a free log block; if none is free, merge the least recently written one
//! merge                              switch or partial if its pages are in place, else full
//! ```
//!
//! k(L) is at most one, so no merge exceeds N C_copy + 2 C_erase. Random writes to more logical blocks than there are
//! log blocks cause a merge at every write, which KAST calls thrashing. The paper does not say which log block is
//! replaced: LRU here. A page costs O(log blocks of a chip).

use flashloom_nand::Lbn;
use flashloom_units::{Capability, Kind, PolicySpec, Value, Violation, params};
use serde::{Deserialize, Serialize};

use super::Site;
use super::log_block::{Chip, LATEST, Layout, LogSlot, MERGES, MergeKind, Scheme, Store, mistaken};
use crate::capability::SINGLE_CHIP;
use crate::store::WornOut;
use crate::{BLOCK_EXCHANGE, DIE_SUPERBLOCKS, PageWrite, Preemption};

params! {
    /// Parameters of BAST.
    pub struct BastParams {
        /// Log blocks of a chip.
        log_blocks: u32 => "log_blocks", Kind::Count { min: 2, max: 1 << 16 }, Value::Count(16),
            "More log blocks put merges off and leave less for data.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "bast",
    summary: "a log block for each data block that is being written",
    details: "One FTL a chip. The log block written least recently is merged when none is free; a merge is a switch or \
              partial one where the pages are in place.",
    source: "Kim et al., IEEE Transactions on Consumer Electronics 48(2), 2002",
    example: "ftl.mapping=bast ftl.bast.log_blocks=32 buffer.order=block-lru",
    instead: "Random writes over more blocks than there are log blocks merge one at nearly every write: `fast` and \
              `kast` share log blocks. With memory for a page map use `page` or `dftl`.",
    needs: &[],
    offers: &[BLOCK_EXCHANGE, DIE_SUPERBLOCKS, SINGLE_CHIP, Capability::SAVED_STATE],
    params: BastParams::PARAMS,
    statistics: MERGES,
};

/// Logical block and last write of each log block.
pub(super) struct Bast {
    logs: Vec<Log>,
    clock: u64,
}

flashloom_units::state! { Bast { array logs; value clock; } }

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Log {
    lbn: Lbn,
    written: u64,
}

impl Bast {
    /// With every log block of the store free.
    pub(super) fn on(store: &Store) -> Self {
        Self { logs: vec![Log { lbn: Lbn::NONE, written: 0 }; store.log.slots()], clock: 0 }
    }

    /// Layout of BAST with this many log blocks in each group. In the worst case a log block takes a single page before
    /// it is merged. With preemption, a full log block may have to be merged while another merge is under way.
    pub(super) fn with_width(site: &Site<'_>, width: u32, log_blocks: u32) -> Layout {
        let besides = match site.ftl.params.preemption {
            Preemption::None => (0, 0),
            Preemption::Page => (site.geometry().pages * width, 2),
        };
        Layout { width, log_blocks, associativity: 1, pages_a_log_block: 1, besides }
    }

    fn merge_of(&self, store: &Store, slot: LogSlot) -> MergeKind {
        store.sequential_merge(slot, self.logs[slot.at()].lbn)
    }
}

impl Scheme for Bast {
    type Params = BastParams;

    fn layout(params: &BastParams, site: &Site<'_>) -> Layout {
        Self::with_width(site, 1, params.log_blocks)
    }

    fn new(_params: BastParams, _site: &Site<'_>, store: &Store) -> Self {
        Self::on(store)
    }

    fn write(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        let (group, lbn) = (chip.group, chip.store.lbn(write.lpn));
        let own = chip
            .store
            .log
            .in_use(group)
            .find(|&slot| self.logs[slot.at()].lbn == lbn && !chip.store.is_merging(group, slot));
        let slot = match own {
            Some(slot) if !chip.store.log_is_full(slot) => slot,
            _ => {
                if let Some(full) = own {
                    chip.merge(full, self.merge_of(chip.store, full))?;
                }
                chip.open_log_block(self, 0)?
            }
        };
        self.clock += 1;
        self.logs[slot.at()] = Log { lbn, written: self.clock };
        chip.append_to_log(slot, write)
    }

    fn victim(&mut self, store: &Store, group: u32, opened: LogSlot) -> (LogSlot, MergeKind) {
        let candidates = store.log.in_use(group).filter(|&slot| slot != opened);
        let slot = candidates.min_by_key(|slot| self.logs[slot.at()].written).expect("there is another log block");
        (slot, self.merge_of(store, slot))
    }

    fn check_loaded(&self, store: &Store) -> Result<(), Violation> {
        let is_sound = |&slot: &LogSlot| {
            let Log { lbn, written } = self.logs[slot.at()];
            lbn.0 < store.logical_blocks() && store.log.is_only_of(slot, lbn) && written <= self.clock
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

    fn lab(data_blocks: u32, log_blocks: u32) -> Lab<Bast> {
        let setup = setup("bast", &[("log_blocks", Value::Count(log_blocks.into()))]);
        Lab::filled(&space(1, data_blocks, log_blocks), &setup)
    }

    /// The paper calls these merges expensive. Each log block holds page 0 of its data block in place, so here they are
    /// partial. The text lists the log blocks in the order B0, B1, B4, B5 and then says that L0 holds p16, of B4;
    /// replacing the least recently written one gives the latter.
    #[test]
    fn kast_figure_1a_a_merge_at_every_write_from_p16_on() {
        let mut lab = lab(6, 4);
        assert_eq!(lab.write(SEQUENCE[..4].iter().copied()), Cost::default());
        for lpn in &SEQUENCE[4..] {
            assert_eq!(lab.write([*lpn]), Cost { partial: 1, copies: 3, erases: 1, ..Cost::default() }, "p{lpn}");
        }
        assert_eq!([16, 20, 1, 5].map(|lpn| lab.log_block_of(lpn)), [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(lab.associativity(), [1, 1, 1, 1]);
    }

    #[test]
    fn a_log_block_takes_pages_of_its_data_block_in_any_order_and_again() {
        let mut lab = lab(6, 4);
        assert_eq!(lab.write([2, 1, 2, 3]), Cost::default());
        assert_eq!([1, 2, 3].map(|lpn| lab.log_block_of(lpn)), [Some(0); 3]);
    }

    #[test]
    fn a_full_log_block_is_merged_before_its_data_block_gets_another() {
        let mut lab = lab(6, 4);
        lab.write([2, 1, 2, 3]);
        assert_eq!(lab.write([2]), Cost { full: 1, copies: 4, erases: 2, ..Cost::default() });
        assert_eq!(lab.log_block_of(2), Some(0));
    }

    #[test]
    fn the_log_block_written_least_recently_is_replaced() {
        let mut lab = lab(6, 2);
        assert_eq!(lab.write([1, 5, 2]), Cost::default());
        assert_eq!(lab.write([9]), Cost { full: 1, copies: 4, erases: 2, ..Cost::default() });
        assert_eq!([1, 5, 9].map(|lpn| lab.log_block_of(lpn)), [Some(0), None, Some(1)]);
    }

    #[test]
    fn a_log_block_with_all_pages_in_place_is_switched_for_one_erase() {
        let mut lab = lab(6, 2);
        lab.write([0, 1, 2, 3]);
        assert_eq!(lab.write([5, 9]), Cost { switch: 1, erases: 1, ..Cost::default() });
    }
}
