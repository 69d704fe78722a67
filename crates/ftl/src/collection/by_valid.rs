//! Blocks of each plane in lists by number of valid pages.

use flashloom_nand::{BlockId, Geometry, PlaneId};
use flashloom_units::{Lists, Violation};

use super::held::mistaken;

/// One list for each plane and number of valid pages, with the block that has had that number longest at its head.
///
/// O(1) a dead page. The fewest valid pages are found in at most one step for each number of valid pages, because
/// `lowest` only advances over lists that have become empty.
pub(super) struct ByValid {
    geometry: Geometry,
    lists: Lists<BlockId>,
    /// For each plane, a lower bound of the fewest valid pages: all lists below it are empty.
    lowest: Vec<u32>,
}

flashloom_units::state! { ByValid { nested lists, lowest; fixed geometry; } }

impl ByValid {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let (planes, blocks) = (geometry.total_planes() as usize, geometry.total_blocks() as usize);
        Self {
            geometry: *geometry,
            lists: Lists::new(blocks as u32, (planes * (geometry.pages as usize + 1)) as u32),
            lowest: vec![geometry.pages; planes],
        }
    }

    #[inline]
    fn list_of(&self, plane: PlaneId, valid: u32) -> usize {
        plane.at() * (self.geometry.pages as usize + 1) + valid as usize
    }

    #[inline]
    pub(super) fn insert(&mut self, block: BlockId, valid: u32) {
        let plane = self.geometry.plane_of(block);
        self.lists.push_back(self.list_of(plane, valid), block);
        self.lowest[plane.at()] = self.lowest[plane.at()].min(valid);
    }

    #[inline]
    pub(super) fn remove(&mut self, block: BlockId) {
        self.lists.remove(block);
    }

    /// Moves a listed block to the list of its new number of valid pages.
    #[inline]
    pub(super) fn relist(&mut self, block: BlockId, valid: u32) {
        self.remove(block);
        self.insert(block, valid);
    }

    /// The fewest valid pages of a block of the plane; `None` if no block has a dead page.
    pub(super) fn fewest(&mut self, plane: PlaneId) -> Option<u32> {
        while self.lowest[plane.at()] < self.geometry.pages {
            let valid = self.lowest[plane.at()];
            if self.longest_with(plane, valid).is_some() {
                return Some(valid);
            }
            self.lowest[plane.at()] += 1;
        }
        None
    }

    /// All listed blocks with their plane and number of valid pages.
    pub(super) fn listed(&self) -> impl Iterator<Item = (BlockId, PlaneId, u32)> + '_ {
        let pages = self.geometry.pages;
        let lists = (0..self.geometry.total_planes())
            .flat_map(move |plane| (0..=pages).map(move |valid| (PlaneId(plane), valid)));
        lists.flat_map(move |(plane, valid)| {
            self.lists.iter(self.list_of(plane, valid)).map(move |block| (block, plane, valid))
        })
    }

    /// Checks that the lists hold exactly the candidates, each in the list of its plane and number of valid pages.
    pub(super) fn check(&self, candidates: &[Option<u32>]) -> Result<(), Violation> {
        let mut count = 0;
        for (block, plane, valid) in self.listed() {
            count += 1;
            let is_one = candidates.get(block.at()) == Some(&Some(valid));
            if !is_one || self.geometry.plane_of(block) != plane || self.lowest[plane.at()] > valid {
                return Err(mistaken(Some(block)));
            }
        }
        if candidates.iter().flatten().count() == count { Ok(()) } else { Err(mistaken(None)) }
    }

    /// The block of a plane that has had this number of valid pages longest, or `NONE`.
    pub(super) fn longest_with(&self, plane: PlaneId, valid: u32) -> BlockId {
        self.lists.front(self.list_of(plane, valid)).unwrap_or(BlockId::NONE)
    }
}
