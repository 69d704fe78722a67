//! Blocks of each plane by their number of valid pages, those that have had it longest first.

use flashloom_nand::Geometry;
use flashloom_units::{BlockId, PlaneId};

use super::chains::Chains;

/// One chain for each plane and number of valid pages.
///
/// O(1) a dead page. The fewest valid pages are found in at most one step for each number of them, because `lowest`
/// only has to climb over chains that emptied since.
pub(super) struct ByValid {
    geometry: Geometry,
    chains: Chains,
    /// The number of valid pages that each block is listed under.
    listed: Vec<u16>,
    /// No chain of the plane below this number of valid pages holds anything.
    lowest: Vec<u32>,
}

flashloom_units::state! { ByValid { nested chains, listed, lowest; fixed geometry; } }

impl ByValid {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let (planes, blocks) = (geometry.total_planes() as usize, geometry.total_blocks() as usize);
        Self {
            geometry: *geometry,
            chains: Chains::new(planes * (geometry.pages as usize + 1), blocks),
            listed: vec![0; blocks],
            lowest: vec![geometry.pages; planes],
        }
    }

    fn chain(&self, plane: PlaneId, valid: u32) -> usize {
        plane.at() * (self.geometry.pages as usize + 1) + valid as usize
    }

    pub(super) fn insert(&mut self, block: BlockId, valid: u32) {
        let plane = self.geometry.plane_of(block);
        self.chains.append(self.chain(plane, valid), block);
        self.listed[block.at()] = valid as u16;
        self.lowest[plane.at()] = self.lowest[plane.at()].min(valid);
    }

    pub(super) fn remove(&mut self, block: BlockId) {
        let chain = self.chain(self.geometry.plane_of(block), u32::from(self.listed[block.at()]));
        self.chains.remove(chain, block);
    }

    /// A listed block has another number of valid pages now.
    pub(super) fn relist(&mut self, block: BlockId, valid: u32) {
        self.remove(block);
        self.insert(block, valid);
    }

    /// The fewest valid pages that a block of the plane has; nothing where no block has a dead page.
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

    /// The block of a plane that has had that number of valid pages longest, or none.
    pub(super) fn longest_with(&self, plane: PlaneId, valid: u32) -> BlockId {
        self.chains.head(self.chain(plane, valid))
    }
}
