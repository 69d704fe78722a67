//! Naive models that the tests compare the policies with.

use flashloom_nand::{BlockId, Geometry, PlaneId, Shape};
use flashloom_units::{Component, Prng};

use super::{Collection, CollectionSetup};

pub(super) const PAGES: u32 = 8;

/// Two planes, because what happens on one must not affect the other.
pub(super) fn geometry() -> Geometry {
    Geometry::new(Shape { channels: 1, ways: 1, dies: 1, planes: 2, blocks: 16, pages: PAGES, page_bytes: 512 })
}

/// A policy for these planes.
pub(super) fn built<T, P>(new: fn(T, &CollectionSetup<'_>) -> P, params: T) -> P {
    new(params, &CollectionSetup { geometry: &geometry(), prng: &Prng::new(7) })
}

/// Gives a policy and its model the same 30,000 random steps: they must choose the same victims.
pub(super) fn compare(mut policy: impl Collection, mut model: impl Collection, seed: u64) {
    let geometry = geometry();
    let mut candidates: Vec<Option<u32>> = vec![None; geometry.total_blocks() as usize];
    let mut prng = Prng::new(seed);
    let mut victims = 0;
    for step in 0..30_000 {
        let block = BlockId(prng.below(geometry.total_blocks()) as u32);
        let candidate = candidates[block.at()];
        match (prng.below(8), candidate) {
            (0..=2, None) => {
                let valid = prng.below(u64::from(PAGES) + 1) as u32;
                candidates[block.at()] = Some(valid);
                both(&mut policy, &mut model, |it| it.closed(block, valid));
            }
            (0..=3, Some(valid)) if valid > 0 => {
                candidates[block.at()] = Some(valid - 1);
                both(&mut policy, &mut model, |it| it.invalidated(block, valid - 1));
            }
            (4, _) => {
                let plane = geometry.plane_of(block);
                let victim = policy.victim(plane);
                assert_eq!(victim, model.victim(plane), "seed {seed}, step {step}: {candidates:?}");
                victims += u32::from(victim.is_some());
                victim.iter().for_each(|victim| candidates[victim.at()] = None);
            }
            (5, Some(_)) if prng.chance(0.2) => {
                candidates[block.at()] = None;
                both(&mut policy, &mut model, |it| it.withdraw(block));
            }
            (6, _) => {
                let pages = prng.below(20) as u32;
                both(&mut policy, &mut model, |it| it.written(pages));
            }
            _ => {}
        }
    }
    assert!(victims > 1_000, "the steps must lead to victims, not to {victims}");
}

fn both(one: &mut dyn Collection, other: &mut dyn Collection, mut act: impl FnMut(&mut dyn Collection)) {
    act(one);
    act(other);
}

/// A candidate of a [`Search`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) block: BlockId,
    pub(super) valid: u32,
    /// Time of its last change, closing or the death of a page: in calls, and in pages written by the host.
    pub(super) changed: u64,
    pub(super) changed_at_page: u64,
}

/// Candidates of each plane in a plain list, in closing order, which is searched for every victim.
pub(super) struct Search<F> {
    planes: [Vec<Candidate>; 2],
    calls: u64,
    written: u64,
    /// Chooses the victim from the list, given the number of pages written by the host. It may reorder the list as the
    /// policy does.
    choose: F,
}

impl<F: FnMut(&mut Vec<Candidate>, u64) -> Option<BlockId> + Send> Search<F> {
    pub(super) fn new(choose: F) -> Self {
        Self { planes: [Vec::new(), Vec::new()], calls: 0, written: 0, choose }
    }

    fn candidate(&mut self, block: BlockId, valid: u32) -> Candidate {
        self.calls += 1;
        Candidate { block, valid, changed: self.calls, changed_at_page: self.written }
    }
}

impl<F: Send> Component for Search<F> {}

impl<F: FnMut(&mut Vec<Candidate>, u64) -> Option<BlockId> + Send> Collection for Search<F> {
    fn written(&mut self, pages: u32) {
        self.written += u64::from(pages);
    }

    fn closed(&mut self, block: BlockId, valid: u32) {
        let candidate = self.candidate(block, valid);
        self.planes[geometry().plane_of(block).at()].push(candidate);
    }

    fn invalidated(&mut self, block: BlockId, valid: u32) {
        let changed = self.candidate(block, valid);
        let candidates = self.planes.iter_mut().flatten();
        candidates.filter(|candidate| candidate.block == block).for_each(|candidate| *candidate = changed);
    }

    fn victim(&mut self, plane: PlaneId) -> Option<BlockId> {
        let victim = (self.choose)(&mut self.planes[plane.at()], self.written)?;
        self.withdraw(victim);
        Some(victim)
    }

    fn withdraw(&mut self, block: BlockId) {
        self.planes.iter_mut().for_each(|candidates| candidates.retain(|candidate| candidate.block != block));
    }
}
