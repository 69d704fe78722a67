//! The layout of RAID-0: chunks of the address space lie on the drives in turn.

use flashloom::workload::{Op, Request};

/// Chunks of `chunk_sectors` sectors on `drives` drives.
pub struct Stripe {
    pub drives: u64,
    pub chunk_sectors: u64,
}

impl Stripe {
    /// The sectors of all drives, of which the smallest has so many.
    pub fn capacity_sectors(&self, smallest: u64) -> u64 {
        smallest / self.chunk_sectors * self.chunk_sectors * self.drives
    }

    /// The parts of a request, at most one per drive, on the queue of that drive. A flush concerns
    /// all drives, also that of a write with preflush.
    pub fn parts(&self, request: &Request) -> impl Iterator<Item = Request> {
        let flushes = request.op == Op::Flush || request.has(Request::PREFLUSH);
        let part = move |drive| {
            let mut part = request.on_queue(drive as u8);
            part.lba = self.sectors_before(request.lba, drive);
            part.sectors = (self.sectors_before(request.end(), drive) - part.lba) as u32;
            if part.sectors == 0 {
                (part.op, part.lba) = (Op::Flush, 0);
            }
            (part.sectors > 0 || flushes).then_some(part)
        };
        (0..self.drives).filter_map(part)
    }

    /// Sectors of a drive before an address: it has every n-th chunk in a row.
    fn sectors_before(&self, lba: u64, drive: u64) -> u64 {
        let (size, row) = (self.chunk_sectors, self.chunk_sectors * self.drives);
        lba / row * size + (lba % row).saturating_sub(drive * size).min(size)
    }
}
