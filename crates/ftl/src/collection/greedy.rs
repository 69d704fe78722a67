//! Greedy: collect the block with the fewest valid pages, the one closed first among equals.
//!
//! ```text
//! candidates of a plane are kept in one list for each number of valid pages
//! victim = head of the first list that is not empty
//! ```
//!
//! Optimal for uniform random writes (Hu et al., SYSTOR 2009); O(1) a dead page, and a victim costs at most one step
//! for each number of valid pages, because `lowest` only has to climb over lists that emptied.

use flashloom_nand::Geometry;
use flashloom_units::{BlockId, NO_INDEX, PlaneId, PolicySpec, Value};

use super::Collection;

pub(super) const SPEC: PolicySpec = PolicySpec {
    name: "greedy",
    summary: "the block with the fewest valid pages",
    details: "Ties go to the block that reached that number of valid pages first.",
    source: "Hu et al., SYSTOR 2009",
    needs: &[],
    params: &[],
    statistics: &[],
};

pub(super) struct State {
    geometry: Geometry,
    /// Head and tail of the list for (plane, valid pages).
    heads: Vec<u32>,
    tails: Vec<u32>,
    /// Neighbours of each candidate in its list, and the number of valid pages it is listed under.
    next: Vec<u32>,
    previous: Vec<u32>,
    listed: Vec<u16>,
    /// No list of the plane below this number of valid pages holds anything.
    lowest: Vec<u32>,
}

impl State {
    pub(super) fn new(_values: &[Value], geometry: &Geometry) -> Self {
        let lists = geometry.total_planes() as usize * (geometry.pages as usize + 1);
        let blocks = geometry.total_blocks() as usize;
        Self {
            geometry: *geometry,
            heads: vec![NO_INDEX; lists],
            tails: vec![NO_INDEX; lists],
            next: vec![NO_INDEX; blocks],
            previous: vec![NO_INDEX; blocks],
            listed: vec![0; blocks],
            lowest: vec![geometry.pages; geometry.total_planes() as usize],
        }
    }

    fn list(&self, plane: PlaneId, valid: u32) -> usize {
        plane.at() * (self.geometry.pages as usize + 1) + valid as usize
    }

    fn append(&mut self, plane: PlaneId, block: BlockId, valid: u32) {
        let list = self.list(plane, valid);
        let tail = std::mem::replace(&mut self.tails[list], block.0);
        self.next[block.at()] = NO_INDEX;
        self.previous[block.at()] = tail;
        self.listed[block.at()] = valid as u16;
        if tail == NO_INDEX {
            self.heads[list] = block.0
        } else {
            self.next[tail as usize] = block.0
        }
        self.lowest[plane.at()] = self.lowest[plane.at()].min(valid);
    }

    fn remove(&mut self, plane: PlaneId, block: BlockId) {
        let list = self.list(plane, u32::from(self.listed[block.at()]));
        let (previous, next) = (self.previous[block.at()], self.next[block.at()]);
        if previous == NO_INDEX {
            self.heads[list] = next
        } else {
            self.next[previous as usize] = next
        }
        if next == NO_INDEX { self.tails[list] = previous } else { self.previous[next as usize] = previous }
    }
}

impl Collection for State {
    fn closed(&mut self, block: BlockId, valid: u32) {
        self.append(self.geometry.plane_of(block), block, valid);
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        let plane = self.geometry.plane_of(block);
        self.remove(plane, block);
        self.append(plane, block, valid);
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        while self.lowest[plane.at()] < self.geometry.pages {
            let head = self.heads[self.list(plane, self.lowest[plane.at()])];
            if head != NO_INDEX {
                self.remove(plane, BlockId(head));
                return Some(BlockId(head));
            }
            self.lowest[plane.at()] += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_nand::Shape;
    use flashloom_units::Prng;

    #[test]
    fn victims_are_those_of_a_sorted_list() {
        let geometry =
            Geometry::new(Shape { channels: 1, ways: 1, dies: 1, planes: 2, blocks: 16, pages: 8, page_bytes: 512 });
        let mut greedy = State::new(&[], &geometry);
        let mut model: Vec<(u32, u64, BlockId)> = Vec::new();
        let mut prng = Prng::new(3);
        for step in 0..20_000u64 {
            let block = BlockId(prng.below(32) as u32);
            let listed = model.iter().position(|entry| entry.2 == block);
            match (prng.below(3), listed) {
                (0, None) => {
                    let valid = prng.below(9) as u32;
                    greedy.closed(block, valid);
                    model.push((valid, step, block));
                }
                (1, Some(at)) if model[at].0 > 0 => {
                    model[at] = (model[at].0 - 1, step, block);
                    greedy.invalidated(block, model[at].0);
                }
                (2, _) => {
                    let plane = geometry.plane_of(block);
                    let candidates = model.iter().filter(|entry| geometry.plane_of(entry.2) == plane && entry.0 < 8);
                    let expected = candidates.min().copied();
                    assert_eq!(greedy.victim(plane), expected.map(|entry| entry.2), "step {step}");
                    model.retain(|entry| Some(*entry) != expected);
                }
                _ => {}
            }
        }
    }
}
