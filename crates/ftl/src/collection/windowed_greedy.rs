//! Windowed greedy: greedy among the blocks that were closed first.
//!
//! ```text
//! candidates of a plane are kept in one queue in the order in which they closed; the first `window` form the window
//! victim = the block of the window with the fewest valid pages; of equals, the one that has had that number longest
//! if no block of the window has a dead page, its first goes to the end of the queue, and the next one enters
//! ```
//!
//! Hu et al., SYSTOR 2009, who limit the search to the oldest blocks. With a window of one block it equals `fifo`, with
//! a window of all blocks `greedy`, victim for victim. O(1) a dead page; a victim costs at most one step for each
//! number of valid pages, and one for each block skipped.

use flashloom_nand::{BlockId, Geometry, PlaneId};
use flashloom_units::{Capability, Kind, Lists, PolicySpec, Value, Violation, params, violation};

use super::by_valid::ByValid;
use super::held::check_held;
use super::{Collection, CollectionSetup};

params! {
    /// Parameters of the windowed greedy collection.
    pub struct WindowedGreedyParams {
        /// Number of blocks of a plane in the window: those closed first.
        window: u32 => "window", Kind::Count { min: 1, max: 1 << 24 }, Value::Count(32),
            "Larger windows come nearer to greedy, smaller ones to fifo.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "windowed-greedy",
    summary: "the block with the fewest valid pages among those closed first",
    details: "Only the oldest blocks of a plane compete; if none of them has a dead page, the oldest goes to the end.",
    source: "Hu et al., SYSTOR 2009",
    example: "ftl.gc=windowed-greedy ftl.windowed-greedy.window=16 run.precondition=steady run.timing=counting",
    instead: "It bounds the search of a controller. A window of all blocks is `greedy`, which copies fewer pages under \
              uniform random writes; a window of one is `fifo`.",
    offers: &[Capability::SAVED_STATE],
    params: WindowedGreedyParams::PARAMS,
    ..PolicySpec::BLANK
};

pub(super) struct WindowedGreedy {
    geometry: Geometry,
    window: u32,
    /// All candidates of each plane, in the order in which they closed.
    queues: Lists<BlockId>,
    /// Candidates in the window.
    inside: ByValid,
    is_inside: Vec<bool>,
    /// Number of blocks in the window of each plane, and the first block behind it.
    held: Vec<u32>,
    behind: Vec<BlockId>,
    valid: Vec<u16>,
}

flashloom_units::state! {
    WindowedGreedy {
        nested queues, inside, is_inside, held;
        ids behind [geometry.total_blocks()];
        nested valid;
        fixed geometry, window;
    }
}

impl WindowedGreedy {
    pub(super) fn new(params: WindowedGreedyParams, &CollectionSetup { geometry, .. }: &CollectionSetup<'_>) -> Self {
        let (planes, blocks) = (geometry.total_planes() as usize, geometry.total_blocks() as usize);
        Self {
            geometry: *geometry,
            window: params.window,
            queues: Lists::new(blocks as u32, planes as u32),
            inside: ByValid::new(geometry),
            is_inside: vec![false; blocks],
            held: vec![0; planes],
            behind: vec![BlockId::NONE; planes],
            valid: vec![0; blocks],
        }
    }

    fn append(&mut self, plane: PlaneId, block: BlockId) {
        self.queues.push_back(plane.at(), block);
        if self.behind[plane.at()].is_none() {
            self.behind[plane.at()] = block;
        }
        self.fill(plane);
    }

    /// Moves the next blocks of the queue into the window until it is full.
    fn fill(&mut self, plane: PlaneId) {
        let next = self.behind[plane.at()];
        if next.is_some() && self.held[plane.at()] < self.window {
            self.inside.insert(next, u32::from(self.valid[next.at()]));
            self.is_inside[next.at()] = true;
            self.held[plane.at()] += 1;
            self.behind[plane.at()] = self.queues.next(next).unwrap_or(BlockId::NONE);
        }
    }

    fn remove(&mut self, plane: PlaneId, block: BlockId) {
        if std::mem::replace(&mut self.is_inside[block.at()], false) {
            self.inside.remove(block);
            self.held[plane.at()] -= 1;
        } else if self.behind[plane.at()] == block {
            self.behind[plane.at()] = self.queues.next(block).unwrap_or(BlockId::NONE);
        }
        self.queues.remove(block);
        self.fill(plane);
    }
}

flashloom_units::component! { WindowedGreedy }

impl Collection for WindowedGreedy {
    fn closed(&mut self, block: BlockId, valid: u32) {
        self.valid[block.at()] = valid as u16;
        self.append(self.geometry.plane_of(block), block);
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        self.valid[block.at()] = valid as u16;
        if self.is_inside[block.at()] {
            self.inside.relist(block, valid);
        }
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        // If every block has been skipped, the first is at the head again.
        let first = self.queues.front(plane.at())?;
        loop {
            if let Some(valid) = self.inside.fewest(plane) {
                let victim = self.inside.longest_with(plane, valid);
                self.remove(plane, victim);
                return Some(victim);
            }
            if self.behind[plane.at()].is_none() {
                return None;
            }
            let passed_over = self.queues.front(plane.at())?;
            self.remove(plane, passed_over);
            self.append(plane, passed_over);
            if self.queues.front(plane.at()) == Some(first) {
                return None;
            }
        }
    }

    fn withdraw(&mut self, block: BlockId) {
        self.remove(self.geometry.plane_of(block), block);
    }

    fn check_candidates(&self, candidates: &[Option<u32>]) -> Result<(), Violation> {
        let planes = || (0..self.held.len()).map(|plane| PlaneId(plane as u32));
        let valid = |block: BlockId| u32::from(self.valid[block.at()]);
        check_held(candidates, planes().flat_map(|plane| self.queues.iter(plane.at())), valid)?;
        // The window is the head of the queue; the other candidates follow.
        let mut inside: Vec<Option<u32>> = vec![None; self.valid.len()];
        for plane in planes() {
            let mut queue = self.queues.iter(plane.at());
            for block in queue.by_ref().take(self.held[plane.at()] as usize) {
                inside[block.at()] = Some(valid(block));
            }
            let mut all = self.queues.iter(plane.at());
            let is_short = queue.next().unwrap_or(BlockId::NONE) != self.behind[plane.at()];
            if is_short
                || self.held[plane.at()] > self.window
                || all.any(|block| self.geometry.plane_of(block) != plane)
            {
                return Err(violation!(
                    "collection policy: the window of plane {} is not the first of its queue",
                    plane.0
                ));
            }
        }
        if self.is_inside.iter().zip(&inside).any(|(&is_inside, valid)| is_inside != valid.is_some()) {
            return Err(Violation::new("collection policy: a block is in no window and counts as in one"));
        }
        self.inside.check(&inside)
    }
}

#[cfg(test)]
mod tests {
    use super::super::model;
    use super::super::{fifo, greedy};
    use super::*;

    fn state(window: u32) -> WindowedGreedy {
        model::built(WindowedGreedy::new, WindowedGreedyParams { window })
    }

    #[test]
    fn a_block_behind_the_window_waits_however_empty_it_is() {
        let mut policy = state(2);
        [(0, 7), (1, 6), (2, 0)].into_iter().for_each(|(block, valid)| policy.closed(BlockId(block), valid));
        assert_eq!(policy.victim(PlaneId(0)), Some(BlockId(1)));
        assert_eq!(policy.victim(PlaneId(0)), Some(BlockId(2)));
    }

    #[test]
    fn a_window_of_one_block_is_fifo_and_one_of_all_blocks_is_greedy() {
        model::compare(state(1), model::built(fifo::Fifo::new, ()), 8);
        model::compare(state(16), model::built(greedy::Greedy::new, ()), 9);
    }

    /// For each plane a list, oldest first, of (block, valid pages, time of its last change or its entry into the
    /// window).
    struct Queues {
        window: usize,
        planes: [Vec<(BlockId, u32, Option<u64>)>; 2],
        calls: u64,
    }

    impl Queues {
        fn look(&mut self) {
            self.calls += 1;
            for queue in &mut self.planes {
                queue.iter_mut().take(self.window).for_each(|it| it.2 = it.2.or(Some(self.calls)));
                queue.iter_mut().skip(self.window).for_each(|it| it.2 = None);
            }
        }
    }

    impl flashloom_units::Component for Queues {}

    impl Collection for Queues {
        fn closed(&mut self, block: BlockId, valid: u32) {
            self.planes[model::geometry().plane_of(block).at()].push((block, valid, None));
            self.look();
        }

        fn invalidated(&mut self, block: BlockId, valid: u32) {
            let found = self.planes.iter_mut().flatten().find(|it| it.0 == block).unwrap();
            (found.1, found.2) = (valid, None);
            self.look();
        }

        fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
            for _ in 0..self.planes[plane.at()].len() {
                let inside = self.planes[plane.at()].iter().take(self.window);
                let dead = inside.filter(|it| it.1 < model::PAGES).min_by_key(|it| (it.1, it.2));
                if let Some(&(victim, ..)) = dead {
                    self.withdraw(victim);
                    return Some(victim);
                }
                self.planes[plane.at()].rotate_left(1);
                self.look();
            }
            None
        }

        fn withdraw(&mut self, block: BlockId) {
            self.planes.iter_mut().for_each(|queue| queue.retain(|it| it.0 != block));
            self.look();
        }
    }

    #[test]
    fn victims_are_those_of_a_search_through_the_window() {
        for window in [2, 3, 5] {
            let queues = Queues { window, planes: [Vec::new(), Vec::new()], calls: 0 };
            model::compare(state(window as u32), queues, 10 + window as u64);
        }
    }
}
