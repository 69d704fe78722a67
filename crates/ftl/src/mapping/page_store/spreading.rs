//! Spreading: counts reads by block, so that survivors of often-read streams can be spread over the chips.

use flashloom_nand::{BlockId, Geometry, PlaneId};

/// Reads by block, and where pages were spread to.
pub(super) struct Spreading {
    /// Reads of each block since its erase.
    reads: Vec<u32>,
    /// Reads from which on a block is spread.
    threshold: u32,
    /// The plane that the last page went to.
    pub(super) last: PlaneId,
    /// Pages that went to another plane, since the last reset.
    pub(super) pages: u64,
}

flashloom_units::state! { Spreading { nested reads; value last, pages; fixed threshold; } }

impl Spreading {
    pub(super) fn new(geometry: &Geometry, reads_a_page: u32) -> Self {
        let reads = vec![0; geometry.total_blocks() as usize];
        Self { reads, threshold: reads_a_page.saturating_mul(geometry.pages), last: PlaneId(0), pages: 0 }
    }

    /// Records that a page of a victim goes to a plane, which may be the victim's own.
    pub(super) fn went(&mut self, to: PlaneId, own: PlaneId) {
        self.last = to;
        self.pages += u64::from(to != own);
    }

    /// Counts a read of a block by the host.
    pub(super) fn count(&mut self, block: BlockId) {
        self.reads[block.at()] = self.reads[block.at()].saturating_add(1);
    }

    pub(super) fn is_read_hot(&self, block: BlockId) -> bool {
        self.reads[block.at()] >= self.threshold
    }

    /// Resets the count of an erased block.
    pub(super) fn forget(&mut self, block: BlockId) {
        self.reads[block.at()] = 0;
    }
}
