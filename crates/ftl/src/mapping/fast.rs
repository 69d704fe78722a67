//! FAST: fully associative sector translation, log blocks shared by all data blocks (Lee et al., ACM TECS 6(3), 2007).
//!
//! ```text
//! page 0 of a logical block          merge the sequential log block (switch if complete, else partial), open a new one
//! next page of the sequential one    append to it
//! another page of its logical block  merge the sequential log block; write the page to the random ones
//! any other page                     the next page of the random log blocks, which are filled one after the other; if
//!                                    all are full, the oldest is merged: a full merge of every data block in A(L)
//! ```
//!
//! k(L) can reach the pages of a block, N, so a merge can take N N C_copy + (N + 1) C_erase. One log block of each chip
//! is sequential, the others are random. With `sequential_log_blocks` = 0, as in KAST's Figure 1, page 0 is written
//! like any other page. With preemption, a page 0 that arrives during a merge goes to the random log blocks, because
//! the sequential one could be merged only afterwards.

use std::collections::VecDeque;

use flashloom_nand::Lbn;
use flashloom_units::{Capability, Kind, PolicySpec, Value, Violation, params};
use serde::{Deserialize, Serialize};

use super::Site;
use super::log_block::{Chip, Layout, LogSlot, MERGES, MergeKind, Scheme, Store, mistaken};
use crate::capability::SINGLE_CHIP;
use crate::store::WornOut;
use crate::{BLOCK_EXCHANGE, DIE_SUPERBLOCKS, PageWrite};

params! {
    /// Parameters of FAST.
    pub struct FastParams {
        /// Log blocks of each chip, including the sequential one.
        log_blocks: u32 => "log_blocks", Kind::Count { min: 2, max: 1 << 16 }, Value::Count(16),
            "More log blocks put merges off and leave less for data.";
        /// Sequential log blocks of each chip: 1 as published, or 0.
        sequential_log_blocks: u32 => "sequential_log_blocks", Kind::Count { min: 0, max: 1 }, Value::Count(1),
            "One merges streams cheaply, and is merged at every page 0 of random writes.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "fast",
    summary: "log blocks that every data block may use, one of them for sequential writes",
    details: "One FTL a chip. Random log blocks are filled one after the other and merged oldest first.",
    source: "Lee et al., ACM Transactions on Embedded Computing Systems 6(3), 2007",
    example: "ftl.mapping=fast ftl.fast.log_blocks=32 buffer.order=block-lru",
    instead: "One merge can involve as many data blocks as a log block has pages: where the longest wait counts, \
              `kast` bounds it by K. With memory for a page map use `page` or `dftl`.",
    needs: &[],
    offers: &[BLOCK_EXCHANGE, DIE_SUPERBLOCKS, SINGLE_CHIP, Capability::SAVED_STATE],
    params: FastParams::PARAMS,
    statistics: MERGES,
};

pub(super) struct Fast {
    keeps_sequential: bool,
    chips: Vec<Logs>,
}

flashloom_units::state! { Fast { array chips; fixed keeps_sequential; } }

/// The log blocks of one chip.
#[derive(Serialize, Deserialize)]
struct Logs {
    /// The sequential log block and its logical block.
    sequential: Option<(LogSlot, Lbn)>,
    /// Random log blocks in use, oldest first; the last one takes pages.
    random: VecDeque<LogSlot>,
}

impl Fast {
    /// Merges the sequential log block, if there is one.
    fn merge_sequential(&mut self, chip: &mut Chip) -> Result<(), WornOut> {
        match self.chips[chip.group as usize].sequential.take() {
            Some((slot, lbn)) => chip.merge(slot, chip.store.sequential_merge(slot, lbn)),
            None => Ok(()),
        }
    }

    /// Opens a sequential log block. One is always free: random pages leave it.
    fn write_sequential(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        let lbn = chip.store.lbn(write.lpn);
        let slot = chip.take_log_block();
        self.chips[chip.group as usize].sequential = Some((slot, lbn));
        chip.append_to_log(slot, write)
    }

    fn write_random(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        let filling = self.chips[chip.group as usize].random.back().copied();
        let slot = match filling.filter(|&slot| !chip.store.log_is_full(slot)) {
            Some(slot) => slot,
            None => {
                // One log block stays free for the sequential one while there is none.
                let kept = u32::from(self.keeps_sequential && self.chips[chip.group as usize].sequential.is_none());
                let slot = chip.open_log_block(self, kept)?;
                self.chips[chip.group as usize].random.push_back(slot);
                slot
            }
        };
        chip.append_to_log(slot, write)
    }
}

impl Scheme for Fast {
    type Params = FastParams;

    fn in_place_log_blocks(&self) -> u32 {
        u32::from(self.keeps_sequential)
    }

    fn layout(params: &FastParams, site: &Site<'_>) -> Layout {
        let (log_blocks, pages) = (params.log_blocks, site.geometry().pages);
        Layout { width: 1, log_blocks, associativity: pages, pages_a_log_block: pages, besides: (pages, 2) }
    }

    fn new(params: FastParams, _site: &Site<'_>, store: &Store) -> Self {
        let logs = || Logs { sequential: None, random: VecDeque::new() };
        Self {
            keeps_sequential: params.sequential_log_blocks > 0,
            chips: (0..store.groups()).map(|_| logs()).collect(),
        }
    }

    fn write(&mut self, chip: &mut Chip, write: &PageWrite) -> Result<(), WornOut> {
        let offset = chip.store.offset(write.lpn);
        let sequential = self.chips[chip.group as usize].sequential;
        let own = sequential.filter(|(_, lbn)| *lbn == chip.store.lbn(write.lpn));
        let next = own.map(|(slot, _)| chip.store.log_written(slot));
        if next == Some(offset)
            && let Some((slot, _)) = own
        {
            chip.append_to_log(slot, write)
        } else if chip.must_wait() {
            self.write_random(chip, write)
        } else if offset == 0 && self.keeps_sequential {
            self.merge_sequential(chip)?;
            self.write_sequential(chip, write)
        } else {
            if own.is_some() {
                self.merge_sequential(chip)?;
            }
            self.write_random(chip, write)
        }
    }

    fn victim(&mut self, _store: &Store, group: u32, _opened: LogSlot) -> (LogSlot, MergeKind) {
        let oldest = self.chips[group as usize].random.pop_front().expect("all random log blocks are full");
        (oldest, MergeKind::Full)
    }

    fn check_loaded(&self, store: &Store) -> Result<(), Violation> {
        for (group, Logs { sequential, random }) in (0..).zip(&self.chips) {
            let known = random.iter().copied().chain(sequential.iter().map(|&(slot, _)| slot));
            store.check_known(group, known)?;
            let is_of = |&(slot, lbn): &(LogSlot, Lbn)| {
                self.keeps_sequential && lbn.0 < store.logical_blocks() && store.log.is_only_of(slot, lbn)
            };
            if let Some((slot, _)) = sequential.filter(|sequential| !is_of(sequential)) {
                return Err(mistaken(slot));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::log_block::lab::{Cost, Lab, SEQUENCE, setup, space};

    fn lab(sequential: u64) -> Lab<Fast> {
        let values = [("log_blocks", Value::Count(4)), ("sequential_log_blocks", Value::Count(sequential))];
        Lab::filled(&space(1, 6, 4), &setup("fast", &values))
    }

    /// The first six writes are pages of offset 0, which published FAST writes to its sequential log block. The paper
    /// reports no merge and associates L0 with B0 to B3, so its figure is drawn without a sequential one.
    #[test]
    fn kast_figure_1b_no_merge_and_four_data_blocks_to_a_log_block() {
        let mut lab = lab(0);
        assert_eq!(lab.write(SEQUENCE), Cost::default());
        assert_eq!(SEQUENCE.map(|lpn| lab.log_block_of(lpn).unwrap()), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(lab.associativity(), [4, 4, 0, 0]);
    }

    #[test]
    fn kast_figure_1b_merging_l0_takes_16_copies() {
        let mut lab = lab(0);
        lab.write(SEQUENCE);
        // Pages of B4 and B5 fill the other two log blocks, so all pages of L0 stay valid.
        assert_eq!(lab.write([17, 18, 19, 21, 22, 23, 17, 18]), Cost::default());
        assert_eq!(lab.write([19]), Cost { full: 1, copies: 16, erases: 5, ..Cost::default() });
        assert_eq!(lab.log_block_of(19), Some(0));
    }

    #[test]
    fn as_published_every_page_0_merges_the_sequential_log_block_of_the_one_before() {
        let mut lab = lab(1);
        assert_eq!(lab.write(SEQUENCE), Cost { partial: 5, copies: 15, erases: 5, ..Cost::default() });
        assert_eq!([20, 1, 5].map(|lpn| lab.log_block_of(lpn)), [Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn a_complete_sequential_log_block_is_switched_by_the_next_page_0() {
        let mut lab = lab(1);
        assert_eq!(lab.write(0..4), Cost::default());
        assert_eq!(lab.write([4]), Cost { switch: 1, erases: 1, ..Cost::default() });
    }

    #[test]
    fn another_page_of_its_logical_block_merges_the_sequential_log_block_and_goes_to_a_random_one() {
        let mut lab = lab(1);
        lab.write([0, 1, 8]);
        lab.write([9]);
        assert_eq!(lab.write([11]), Cost { partial: 1, copies: 2, erases: 1, ..Cost::default() });
        assert_eq!([8, 9, 11].map(|lpn| lab.log_block_of(lpn)), [None, None, Some(0)]);
    }

    #[test]
    fn the_oldest_random_log_block_is_merged_when_all_are_full() {
        let mut lab = lab(1);
        // Three random log blocks of four pages; the first holds B0 to B3, the others B4 and B5.
        assert_eq!(lab.write([1, 5, 9, 13, 17, 18, 19, 17, 21, 22, 23, 21]), Cost::default());
        assert_eq!(lab.write([18]), Cost { full: 1, copies: 16, erases: 5, ..Cost::default() });
        assert_eq!(lab.report().associativity, [0, 0, 0, 0, 1]);
    }
}
