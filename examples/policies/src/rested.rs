//! Rested: greedy among the blocks that have been full for a while.
//!
//! ```text
//! rested = the candidates of the plane except the `rest` that were filled last
//! victim = the one of them with the fewest valid pages, the one filled first among equals;
//!          the one of all candidates if none of them has an invalid page
//! ```

use flashloom::prelude::*;

params! {
    /// The parameters of this collection policy.
    pub struct Params {
        /// Number of most recently filled blocks per plane that rest.
        rest: u64 => "rest", Kind::Count { min: 0, max: 1 << 20 }, Value::Count(2),
            "A longer rest lets more pages of young blocks become invalid, and leaves fewer blocks to choose from.";
    }
}

static SPEC: PolicySpec = PolicySpec {
    name: "rested",
    summary: "the block with the fewest valid pages of those that have rested",
    details: "The `rest` blocks of a plane that were filled last are collected only if no other has an invalid page.",
    source: "the example of the tutorial",
    params: Params::PARAMS,
    ..PolicySpec::BLANK
};

/// The collection policy as a policy.
pub fn policy() -> Policy<dyn Collection> {
    Policy::<dyn Collection>::new(&SPEC, |params: Params, on| {
        let filled = vec![Vec::new(); on.geometry.total_planes() as usize];
        let valid = vec![0; on.geometry.total_blocks() as usize];
        let rest = params.rest as usize;
        Ok(Box::new(Rested {
            geometry: *on.geometry,
            rest,
            filled,
            valid,
        }))
    })
}

struct Rested {
    geometry: Geometry,
    rest: usize,
    /// Candidates of each plane, in the order in which they were filled.
    filled: Vec<Vec<BlockId>>,
    /// Number of valid pages of each block.
    valid: Vec<u32>,
}

impl Component for Rested {}

impl Collection for Rested {
    fn closed(&mut self, block: BlockId, valid: u32) {
        self.filled[self.geometry.plane_of(block).at()].push(block);
        self.valid[block.at()] = valid;
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        self.valid[block.at()] = valid;
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        let valid = |block: &BlockId| self.valid[block.at()];
        let best = |of: &[BlockId]| of.iter().copied().min_by_key(valid);
        let has_dead = |block: &BlockId| valid(block) < self.geometry.pages;
        let all = &self.filled[plane.at()];
        let rested = best(&all[..all.len().saturating_sub(self.rest)]).filter(has_dead);
        let victim = rested.or_else(|| best(all).filter(has_dead))?;
        self.withdraw(victim);
        Some(victim)
    }

    fn withdraw(&mut self, block: BlockId) {
        self.filled[self.geometry.plane_of(block).at()].retain(|other| *other != block);
    }
}
