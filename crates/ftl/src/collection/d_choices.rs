//! d-choices: draw d blocks at random and collect the one among them with the fewest valid pages.
//!
//! ```text
//! victim = the candidate with the fewest valid pages among d drawn uniformly with replacement; of equals the
//!          first drawn
//! if none of them has a dead page, draw again
//! ```
//!
//! Van Houdt, SIGMETRICS 2013. The paper shows that d-choices is close to greedy from about d = 10, and gives its write
//! amplification under uniform random writes as the solution of a fixed-point equation, which the test of closed forms
//! solves. d = 1 collects at random.
//!
//! The paper also collects victims without a dead page, which copies a whole block and gains nothing. This is not done
//! here, so write amplification is lower by the share of such draws; this matters only for d = 1. O(1) a dead page. A
//! victim takes d draws, times the ratio of all candidates to those with a dead page in the worst case. Draws come from
//! the run's seed, stream "d-choices".

use flashloom_nand::{BlockId, Geometry, PlaneId};
use flashloom_units::{Capability, Kind, NO_INDEX, PolicySpec, Prng, Value, Violation, params, violation};

use super::held::check_held;
use super::{Collection, CollectionSetup};
use crate::RANDOM_CHOICES;

params! {
    /// Parameters of the d-choices collection.
    pub struct DChoicesParams {
        /// Number of candidates drawn for each victim.
        d: u32 => "d", Kind::Count { min: 1, max: 1_000 }, Value::Count(10),
            "More draws come nearer to greedy, fewer to random.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "d-choices",
    summary: "the block with the fewest valid pages of d drawn at random",
    details: "Draws with replacement, and again where no block drawn has a dead page; the first drawn wins a tie.",
    source: "Van Houdt, SIGMETRICS 2013",
    example: "ftl.gc=d-choices ftl.d-choices.d=4 run.precondition=steady run.timing=counting",
    instead: "It models a controller that keeps no order of its blocks. Where that is not the question, `greedy` \
              copies fewer pages under uniform random writes.",
    offers: &[Capability::SAVED_STATE, RANDOM_CHOICES],
    params: DChoicesParams::PARAMS,
    ..PolicySpec::BLANK
};

pub(super) struct DChoices {
    geometry: Geometry,
    d: u32,
    prng: Prng,
    valid: Vec<u16>,
    /// Candidates of each plane, unordered, at the start of the plane's range.
    candidates: Vec<BlockId>,
    /// Number of candidates of each plane, and of those with a dead page.
    lengths: Vec<u32>,
    with_dead: Vec<u32>,
    /// Position of each block in `candidates`.
    positions: Vec<u32>,
}

flashloom_units::state! {
    DChoices {
        nested prng, valid;
        ids candidates [geometry.total_blocks()];
        nested lengths, with_dead, positions;
        fixed geometry, d;
    }
}

impl DChoices {
    pub(super) fn new(params: DChoicesParams, &CollectionSetup { geometry, prng }: &CollectionSetup<'_>) -> Self {
        let (planes, blocks) = (geometry.total_planes() as usize, geometry.total_blocks() as usize);
        Self {
            geometry: *geometry,
            d: params.d,
            prng: prng.branch("d-choices"),
            valid: vec![0; blocks],
            candidates: vec![BlockId::NONE; blocks],
            lengths: vec![0; planes],
            with_dead: vec![0; planes],
            positions: vec![NO_INDEX; blocks],
        }
    }

    fn has_dead(&self, block: BlockId) -> bool {
        u32::from(self.valid[block.at()]) < self.geometry.pages
    }
}

flashloom_units::component! { DChoices }

impl Collection for DChoices {
    fn closed(&mut self, block: BlockId, valid: u32) {
        let plane = self.geometry.plane_of(block);
        let position = self.geometry.first_block(plane).0 + self.lengths[plane.at()];
        self.candidates[position as usize] = block;
        self.positions[block.at()] = position;
        self.lengths[plane.at()] += 1;
        self.valid[block.at()] = valid as u16;
        self.with_dead[plane.at()] += u32::from(self.has_dead(block));
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        self.with_dead[self.geometry.plane_of(block).at()] += u32::from(!self.has_dead(block));
        self.valid[block.at()] = valid as u16;
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        let length = u64::from(self.lengths[plane.at()]);
        let first = u64::from(self.geometry.first_block(plane).0);
        while self.with_dead[plane.at()] > 0 {
            let drawn = (0..self.d).map(|_| self.candidates[(first + self.prng.below(length)) as usize]);
            let best = drawn.min_by_key(|block| self.valid[block.at()])?;
            if self.has_dead(best) {
                self.withdraw(best);
                return Some(best);
            }
        }
        None
    }

    /// Removes a candidate; the plane's last candidate takes its position.
    fn withdraw(&mut self, block: BlockId) {
        let plane = self.geometry.plane_of(block);
        self.lengths[plane.at()] -= 1;
        self.with_dead[plane.at()] -= u32::from(self.has_dead(block));
        let last = self.candidates[(self.geometry.first_block(plane).0 + self.lengths[plane.at()]) as usize];
        let position = self.positions[block.at()];
        self.candidates[position as usize] = last;
        self.positions[last.at()] = position;
    }

    fn check_candidates(&self, candidates: &[Option<u32>]) -> Result<(), Violation> {
        let mut held = Vec::new();
        for (plane, (&length, &with_dead)) in (0..).map(PlaneId).zip(self.lengths.iter().zip(&self.with_dead)) {
            let first = self.geometry.first_block(plane).0;
            let is_one = |position: u32| {
                let block = self.candidates[position as usize];
                block.is_some() && self.geometry.plane_of(block) == plane && self.positions[block.at()] == position
            };
            if length > self.geometry.blocks || !(first..first + length).all(is_one) {
                return Err(violation!(
                    "collection policy: the candidates of plane {} are not where they are",
                    plane.0
                ));
            }
            let of_plane = &self.candidates[first as usize..(first + length) as usize];
            if of_plane.iter().filter(|&&block| self.has_dead(block)).count() != with_dead as usize {
                return Err(violation!("collection policy: {with_dead} blocks of plane {} have no dead page", plane.0));
            }
            held.extend_from_slice(of_plane);
        }
        check_held(candidates, held.into_iter(), |block| u32::from(self.valid[block.at()]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::model;
    use super::*;

    fn state(d: u32) -> DChoices {
        model::built(DChoices::new, DChoicesParams { d })
    }

    /// Candidates of each plane with their valid pages; the last one fills the gap of a removed one.
    struct Lists {
        d: u64,
        prng: Prng,
        planes: [Vec<(BlockId, u32)>; 2],
    }

    impl Lists {
        fn of(&mut self, block: BlockId) -> &mut Vec<(BlockId, u32)> {
            &mut self.planes[model::geometry().plane_of(block).at()]
        }
    }

    impl flashloom_units::Component for Lists {}

    impl Collection for Lists {
        fn closed(&mut self, block: BlockId, valid: u32) {
            self.of(block).push((block, valid));
        }

        fn invalidated(&mut self, block: BlockId, valid: u32) {
            self.of(block).iter_mut().filter(|it| it.0 == block).for_each(|it| it.1 = valid);
        }

        fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
            let list = &mut self.planes[plane.at()];
            while list.iter().any(|it| it.1 < model::PAGES) {
                let mut best = self.prng.below(list.len() as u64) as usize;
                for _ in 1..self.d {
                    let drawn = self.prng.below(list.len() as u64) as usize;
                    best = if list[drawn].1 < list[best].1 { drawn } else { best };
                }
                if list[best].1 < model::PAGES {
                    return Some(list.swap_remove(best).0);
                }
            }
            None
        }

        fn withdraw(&mut self, block: BlockId) {
            let list = self.of(block);
            list.iter().position(|it| it.0 == block).map(|at| list.swap_remove(at));
        }
    }

    #[test]
    fn victims_are_those_of_the_same_draws_from_plain_lists() {
        for d in [1, 3, 10] {
            let lists = Lists { d, prng: Prng::new(7).branch("d-choices"), planes: [Vec::new(), Vec::new()] };
            model::compare(state(d as u32), lists, 6 + d);
        }
    }

    #[test]
    fn a_block_without_a_dead_page_is_never_the_victim() {
        let mut policy = state(1);
        policy.closed(BlockId(0), model::PAGES);
        assert_eq!(policy.victim(PlaneId(0)), None);
        policy.closed(BlockId(1), model::PAGES);
        policy.invalidated(BlockId(1), model::PAGES - 1);
        assert_eq!(policy.victim(PlaneId(0)), Some(BlockId(1)));
    }
}
