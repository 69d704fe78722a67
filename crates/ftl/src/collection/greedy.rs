//! Greedy: collect the block with the fewest valid pages; of equals, the one that has had that number longest.
//!
//! ```text
//! candidates of a plane are kept in one list for each number of valid pages
//! victim = head of the first non-empty list
//! ```
//!
//! Optimal for uniform random writes (Hu et al., SYSTOR 2009). O(1) a dead page; a victim costs at most one step for
//! each number of valid pages.

use flashloom_nand::{BlockId, PlaneId};
use flashloom_units::{Capability, PolicySpec, Violation};

use super::by_valid::ByValid;
use super::{Collection, CollectionSetup};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "greedy",
    summary: "the block with the fewest valid pages",
    details: "Ties go to the block that reached that number of valid pages first.",
    source: "Hu et al., SYSTOR 2009",
    example: "ftl.gc=greedy run.precondition=steady run.timing=counting",
    instead: "Where a part of the pages is written far more often than the rest, `cost-benefit` leaves hot blocks \
              until they are nearly empty. See `ftl.hot_cold` too.",
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct Greedy {
    candidates: ByValid,
}

flashloom_units::state! { Greedy { nested candidates; } }

impl Greedy {
    pub(super) fn new((): (), &CollectionSetup { geometry, .. }: &CollectionSetup<'_>) -> Self {
        Self { candidates: ByValid::new(geometry) }
    }
}

flashloom_units::component! { Greedy }

impl Collection for Greedy {
    fn closed(&mut self, block: BlockId, valid: u32) {
        self.candidates.insert(block, valid);
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        self.candidates.relist(block, valid);
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        let valid = self.candidates.fewest(plane)?;
        let victim = self.candidates.longest_with(plane, valid);
        self.candidates.remove(victim);
        Some(victim)
    }

    fn withdraw(&mut self, block: BlockId) {
        self.candidates.remove(block);
    }

    fn check_candidates(&self, candidates: &[Option<u32>]) -> Result<(), Violation> {
        self.candidates.check(candidates)
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{self, Candidate, Search};
    use super::*;

    #[test]
    fn victims_have_the_fewest_valid_pages_and_have_had_them_longest() {
        let search = Search::new(|candidates: &mut Vec<Candidate>, _| {
            let dead = candidates.iter().filter(|it| it.valid < model::PAGES);
            dead.min_by_key(|it| (it.valid, it.changed)).map(|it| it.block)
        });
        model::compare(model::built(Greedy::new, ()), search, 3);
    }
}
