//! FIFO: collect the block that was closed first, like a log cleaned at its tail.
//!
//! ```text
//! candidates of a plane are kept in one queue in the order in which they closed
//! victim = head of the queue; a block without a dead page is skipped and goes to the end
//! ```
//!
//! Its write amplification under uniform random writes has a closed form in Lambert's W (Desnoyers, SYSTOR 2012, "LRU"
//! cleaning), against which the tests check the simulator. O(1) a dead page. A victim costs one step for each block
//! skipped; a skipped block was fully rewritten since it last was the head.

use flashloom_nand::{BlockId, Geometry, PlaneId};
use flashloom_units::{Capability, Lists, PolicySpec, Violation, violation};

use super::held::check_held;
use super::{Collection, CollectionSetup};

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "fifo",
    summary: "the block that was closed first",
    details: "A block without a dead page is passed over, because collecting it would gain nothing.",
    source: "Desnoyers, SYSTOR 2012 (LRU cleaning)",
    example: "ftl.gc=fifo run.precondition=steady run.timing=counting",
    instead: "A yardstick, because its write amplification has a closed form; under uniform random writes `greedy` \
              copies fewer pages, under skewed ones `cost-benefit` does.",
    offers: &[Capability::SAVED_STATE],
    ..PolicySpec::BLANK
};

pub(super) struct Fifo {
    geometry: Geometry,
    queues: Lists<BlockId>,
    /// Number of candidates of each plane.
    lengths: Vec<u32>,
    valid: Vec<u16>,
}

flashloom_units::state! { Fifo { nested queues, lengths, valid; fixed geometry; } }

impl Fifo {
    pub(super) fn new((): (), &CollectionSetup { geometry, .. }: &CollectionSetup<'_>) -> Self {
        let (planes, blocks) = (geometry.total_planes() as usize, geometry.total_blocks() as usize);
        Self {
            geometry: *geometry,
            queues: Lists::new(blocks as u32, planes as u32),
            lengths: vec![0; planes],
            valid: vec![0; blocks],
        }
    }
}

flashloom_units::component! { Fifo }

impl Collection for Fifo {
    fn closed(&mut self, block: BlockId, valid: u32) {
        let plane = self.geometry.plane_of(block);
        self.valid[block.at()] = valid as u16;
        self.lengths[plane.at()] += 1;
        self.queues.push_back(plane.at(), block);
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        self.valid[block.at()] = valid as u16;
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        for _ in 0..self.lengths[plane.at()] {
            let block = self.queues.front(plane.at())?;
            self.queues.remove(block);
            if u32::from(self.valid[block.at()]) < self.geometry.pages {
                self.lengths[plane.at()] -= 1;
                return Some(block);
            }
            self.queues.push_back(plane.at(), block);
        }
        None
    }

    fn withdraw(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of(block);
        self.lengths[plane.at()] -= 1;
        self.queues.remove(block);
    }

    fn check_candidates(&self, candidates: &[Option<u32>]) -> Result<(), Violation> {
        let planes = || 0..self.lengths.len();
        let is_wrong = |&plane: &usize| {
            let is_other = |block| self.geometry.plane_of(block) != PlaneId(plane as u32);
            self.queues.iter(plane).count() != self.lengths[plane] as usize || self.queues.iter(plane).any(is_other)
        };
        if let Some(plane) = planes().find(is_wrong) {
            return Err(violation!(
                "collection policy: the queue of plane {plane} has other blocks than its length says"
            ));
        }
        check_held(candidates, planes().flat_map(|plane| self.queues.iter(plane)), |block| {
            u32::from(self.valid[block.at()])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{self, Candidate, Search};
    use super::*;

    #[test]
    fn the_oldest_block_goes_first_and_a_block_without_dead_pages_is_passed_over() {
        let mut fifo = model::built(Fifo::new, ());
        [(0, 8), (1, 8), (2, 1)].into_iter().for_each(|(block, valid)| fifo.closed(BlockId(block), valid));
        fifo.invalidated(BlockId(1), 7);
        assert_eq!(fifo.victim(PlaneId(0)), Some(BlockId(1)));
        assert_eq!(fifo.victim(PlaneId(0)), Some(BlockId(2)));
        assert_eq!(fifo.victim(PlaneId(0)), None);
        fifo.invalidated(BlockId(0), 7);
        assert_eq!(fifo.victim(PlaneId(0)), Some(BlockId(0)));
    }

    #[test]
    fn victims_are_those_of_a_queue_that_turns_past_blocks_without_a_dead_page() {
        let turning = Search::new(|candidates: &mut Vec<Candidate>, _| {
            let passed_over = candidates.iter().position(|it| it.valid < model::PAGES)?;
            candidates.rotate_left(passed_over);
            Some(candidates[0].block)
        });
        model::compare(model::built(Fifo::new, ()), turning, 4);
    }
}
