//! Cost-benefit: collect the block with the highest ratio of benefit to cost.
//!
//! ```text
//! u      = share of valid pages of a block
//! age    = pages written by the host since the block was closed or, if later, since a page of it last died
//! ratio  = age (1 - u) / 2u:  the space gained times its expected lifetime (benefit), over the read and the write of
//!          the valid pages (cost); a block without valid pages has the highest ratio
//! victim = the block with the highest ratio
//! ```
//!
//! Kawaguchi, Nishioka and Motoda, USENIX 1995. The paper uses the time since the last modification as the age. Here
//! time is counted in pages written by the host: it stands still while nobody writes, and is the same in counting and
//! timed runs. This is the only difference.
//!
//! Among blocks with equal u the oldest has the highest ratio. Blocks are kept in lists by number of valid pages, in
//! the order of their last change, so only the heads of the lists are compared: O(1) a dead page, and one comparison
//! for each number of valid pages a victim, independent of the number of blocks. The comparison is exact in integers;
//! ties go to the block with fewer valid pages.

use flashloom_nand::{BlockId, PlaneId};
use flashloom_units::{Capability, PolicySpec, Violation};

use super::by_valid::ByValid;
use super::{Collection, CollectionSetup};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "cost-benefit",
    summary: "the block with the most old free space for the fewest copies",
    details: "Worth is age (1 - u) / 2u, the age in pages that the host wrote since a page of the block died last. \
              Cold blocks are collected at a higher utilisation u than hot ones, whose pages will soon die anyway.",
    source: "Kawaguchi et al., USENIX 1995",
    example: "ftl.gc=cost-benefit workload.synthetic.pattern=hot-cold run.precondition=steady run.timing=counting",
    instead: "Under uniform random writes the age of a block says nothing of its future: `greedy` copies fewer pages.",
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct CostBenefit {
    pages: u32,
    candidates: ByValid,
    /// Age clock at each block's last change: pages written by the host.
    changed: Vec<u64>,
    written: u64,
}

flashloom_units::state! { CostBenefit { nested candidates, changed; value written; fixed pages; } }

impl CostBenefit {
    pub(super) fn new((): (), &CollectionSetup { geometry, .. }: &CollectionSetup<'_>) -> Self {
        Self {
            pages: geometry.pages,
            candidates: ByValid::new(geometry),
            changed: vec![0; geometry.total_blocks() as usize],
            written: 0,
        }
    }

    /// Whether one block's ratio is higher than another's, compared as fractions without division. Both must have valid
    /// pages.
    fn is_worth_more(&self, one: (BlockId, u32), other: (BlockId, u32)) -> bool {
        let worth = |(block, valid): (BlockId, u32), other_valid: u32| {
            let age = self.written - self.changed[block.at()];
            u128::from(age) * u128::from(self.pages - valid) * u128::from(other_valid)
        };
        worth(one, other.1) > worth(other, one.1)
    }
}

flashloom_units::component! { CostBenefit }

impl Collection for CostBenefit {
    fn written(&mut self, pages: u32) {
        self.written += u64::from(pages);
    }

    fn closed(&mut self, block: BlockId, valid: u32) {
        self.changed[block.at()] = self.written;
        self.candidates.insert(block, valid);
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        self.changed[block.at()] = self.written;
        self.candidates.relist(block, valid);
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        let fewest = self.candidates.fewest(plane)?;
        let mut best = (self.candidates.longest_with(plane, fewest), fewest);
        if fewest > 0 {
            for valid in fewest + 1..self.pages {
                let head = self.candidates.longest_with(plane, valid);
                if head.is_some() && self.is_worth_more((head, valid), best) {
                    best = (head, valid);
                }
            }
        }
        self.candidates.remove(best.0);
        Some(best.0)
    }

    fn withdraw(&mut self, block: BlockId) {
        self.candidates.remove(block);
    }

    fn check_candidates(&self, candidates: &[Option<u32>]) -> Result<(), Violation> {
        let is_later = self.changed.iter().any(|&changed| changed > self.written);
        if is_later || self.written > u64::MAX / 2 {
            return Err(Violation::new("collection policy: a block changed after all that was written"));
        }
        self.candidates.check(candidates)
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{self, Candidate, Search};
    use super::*;
    use std::cmp::Ordering;

    fn state() -> CostBenefit {
        model::built(CostBenefit::new, ())
    }

    #[test]
    fn an_old_block_goes_before_an_emptier_young_one_and_an_empty_one_before_all() {
        let mut policy = state();
        policy.closed(BlockId(0), 6);
        policy.written(90);
        policy.closed(BlockId(1), 4);
        policy.written(10);
        // 100 x 2/8 / (2 x 6/8) = 16.7 against 10 x 4/8 / (2 x 4/8) = 5.
        assert_eq!(policy.victim(PlaneId(0)), Some(BlockId(0)));
        policy.closed(BlockId(2), 0);
        assert_eq!(policy.victim(PlaneId(0)), Some(BlockId(2)));
    }

    #[test]
    fn a_page_that_dies_makes_its_block_young() {
        let mut policy = state();
        policy.closed(BlockId(0), 5);
        policy.closed(BlockId(1), 6);
        policy.written(1_000);
        policy.invalidated(BlockId(0), 4);
        policy.written(10);
        assert_eq!(policy.victim(PlaneId(0)), Some(BlockId(1)));
    }

    #[test]
    fn victims_are_those_of_a_search_through_all_candidates() {
        let search = Search::new(|candidates: &mut Vec<Candidate>, written| {
            let order = |one: &&Candidate, other: &&Candidate| {
                let benefit = |it: &Candidate| (written - it.changed_at_page) * u64::from(model::PAGES - it.valid);
                let (cost, other_cost) = (2 * u64::from(one.valid), 2 * u64::from(other.valid));
                // A block without valid pages has a ratio of a number over zero: higher than any other.
                let by_worth = match (cost, other_cost) {
                    (0, _) | (_, 0) => Ordering::Equal,
                    _ => (benefit(one) * other_cost).cmp(&(benefit(other) * cost)),
                };
                by_worth.then(other.valid.cmp(&one.valid)).then(other.changed.cmp(&one.changed))
            };
            candidates.iter().filter(|it| it.valid < model::PAGES).max_by(order).map(|it| it.block)
        });
        model::compare(state(), search, 5);
    }
}
