//! Reads of blocks, so that streams that are read a lot can be spread over the chips when they are collected.

use flashloom_nand::{BlockId, Geometry, PlaneId};

/// Reads by block, and where pages were spread to.
pub(super) struct Spreading {
    /// Reads of each block since it was erased.
    reads: Vec<u32>,
    /// Reads that make a block one that is read a lot.
    threshold: u32,
    last: PlaneId,
    pages: u64,
}

flashloom_units::state! { Spreading { nested reads; value last, pages; fixed threshold; } }

impl Spreading {
    pub(super) fn new(geometry: &Geometry, reads_a_page: u32) -> Self {
        let reads = vec![0; geometry.total_blocks() as usize];
        Self { reads, threshold: reads_a_page.saturating_mul(geometry.pages), last: PlaneId(0), pages: 0 }
    }

    /// The plane that a page went to last.
    pub(super) fn last(&self) -> PlaneId {
        self.last
    }

    /// A page of a victim goes to a plane, which may be the victim's own.
    pub(super) fn went(&mut self, to: PlaneId, own: PlaneId) {
        self.last = to;
        self.pages += u64::from(to != own);
    }

    /// The host reads a page of a block.
    pub(super) fn count(&mut self, block: BlockId) {
        self.reads[block.at()] = self.reads[block.at()].saturating_add(1);
    }

    pub(super) fn is_read_hot(&self, block: BlockId) -> bool {
        self.reads[block.at()] >= self.threshold
    }

    /// A block was erased.
    pub(super) fn forget(&mut self, block: BlockId) {
        self.reads[block.at()] = 0;
    }

    /// Pages that went to another plane.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Counts pages anew.
    pub(super) fn reset(&mut self) {
        self.pages = 0;
    }
}
