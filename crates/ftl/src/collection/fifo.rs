//! FIFO: collect the block that was closed first, as a log that is cleaned at its tail.
//!
//! ```text
//! candidates of a plane are kept in one queue in the order in which they closed
//! victim = head of the queue; a block without a dead page is passed over and goes to the end
//! ```
//!
//! Its write amplification under uniform random writes has a closed form in Lambert's W (Desnoyers, SYSTOR 2012, "LRU"
//! cleaning), which makes it the yardstick of the tests. O(1) a dead page; a victim costs a step for each block passed
//! over, and each of them was written whole since.

use std::collections::VecDeque;

use flashloom_nand::Geometry;
use flashloom_units::{BlockId, PlaneId, PolicySpec, Value};

use super::Collection;

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "fifo",
    summary: "the block that was closed first",
    details: "A block without a dead page is passed over, because collecting it would gain nothing.",
    source: "Desnoyers, SYSTOR 2012 (LRU cleaning)",
    needs: &[],
    params: &[],
    statistics: &[],
};

pub(super) struct State {
    geometry: Geometry,
    queues: Vec<VecDeque<BlockId>>,
    valid: Vec<u16>,
}

impl State {
    pub(super) fn new(_values: &[Value], geometry: &Geometry) -> Self {
        Self {
            geometry: *geometry,
            queues: vec![VecDeque::with_capacity(geometry.blocks as usize); geometry.total_planes() as usize],
            valid: vec![0; geometry.total_blocks() as usize],
        }
    }
}

impl Collection for State {
    fn closed(&mut self, block: BlockId, valid: u32) {
        self.valid[block.at()] = valid as u16;
        self.queues[self.geometry.plane_of(block).at()].push_back(block);
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        self.valid[block.at()] = valid as u16;
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        let queue = &mut self.queues[plane.at()];
        for _ in 0..queue.len() {
            let block = queue.pop_front()?;
            if u32::from(self.valid[block.at()]) < self.geometry.pages {
                return Some(block);
            }
            queue.push_back(block);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_nand::Shape;

    #[test]
    fn the_oldest_block_goes_first_and_a_block_without_dead_pages_is_passed_over() {
        let geometry =
            Geometry::new(Shape { channels: 1, ways: 1, dies: 1, planes: 1, blocks: 4, pages: 8, page_bytes: 512 });
        let mut fifo = State::new(&[], &geometry);
        [(0, 8), (1, 8), (2, 1)].into_iter().for_each(|(block, valid)| fifo.closed(BlockId(block), valid));
        fifo.invalidated(BlockId(1), 7);
        assert_eq!(fifo.victim(PlaneId(0)), Some(BlockId(1)));
        assert_eq!(fifo.victim(PlaneId(0)), Some(BlockId(2)));
        assert_eq!(fifo.victim(PlaneId(0)), None);
        fifo.invalidated(BlockId(0), 7);
        assert_eq!(fifo.victim(PlaneId(0)), Some(BlockId(0)));
    }
}
