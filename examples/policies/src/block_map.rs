//! A block map: each logical block is stored in one physical block, and overwriting a page moves the whole block.
//!
//! ```text
//! write page p of block b:  b has not been written up to p:  fill what lies between, program p
//!                           else:  program all pages of b, with the new p, to a free block, and
//!                                  erase the old one
//! ```
//!
//! The mapping of the oldest flash cards: 4 bytes of map per block, and up to a block of copies per page written.

use std::collections::VecDeque;

use flashloom::prelude::*;

static SPEC: PolicySpec = PolicySpec {
    name: "block-map",
    summary: "one physical block for each logical block",
    details: "Overwriting a page moves all pages of its block to a free block.",
    source: "the block mapping that log blocks improve on",
    ..PolicySpec::BLANK
};

/// The mapping as a policy. It needs a spare block to move to.
pub fn policy() -> Policy<dyn Mapping> {
    let policy = Policy::<dyn Mapping>::new(&SPEC, |(), on| Ok(Box::new(BlockMap::new(on))));
    policy.with_profile(|(), Site { space, .. }| {
        let geometry = space.geometry();
        let blocks = geometry.total_blocks();
        if space.logical_pages.div_ceil(u64::from(geometry.pages)) < blocks {
            return Ok(Profile::default());
        }
        let found = format!("a drive whose {blocks} blocks all hold data of the host");
        Err(Refusal::new(found, "a free block to move to").at(["device.over_provisioning"]))
    })
}

struct BlockMap {
    geometry: Geometry,
    /// Physical block of each logical block, and the number of its programmed pages.
    blocks: Vec<(BlockId, u32)>,
    /// True for each logical page that holds data.
    holds: Vec<bool>,
    free: VecDeque<BlockId>,
    report: FtlReport,
}

impl BlockMap {
    fn new(on: &Context<'_>) -> Self {
        let (geometry, pages) = (*on.nand.geometry(), on.space.logical_pages as usize);
        let (planes, blocks) = (geometry.total_planes(), geometry.total_blocks() as u32);
        // Neighbours lie on different planes.
        let mut free = (0..blocks).map(|at| BlockId(at % planes * geometry.blocks + at / planes));
        let own = free.by_ref().take(pages.div_ceil(geometry.pages as usize));
        let blocks = own.map(|block| (block, 0)).collect();
        let (free, report) = (free.collect(), FtlReport::default());
        Self {
            geometry,
            blocks,
            holds: vec![false; pages],
            free,
            report,
        }
    }

    fn write_page(&mut self, nand: &mut Nand, write: &PageWrite) {
        let (page, pages) = (write.lpn.0 % self.geometry.pages, self.geometry.pages);
        let (old, written) = self.blocks[(write.lpn.0 / pages) as usize];
        let moves = page < written;
        let free = if moves {
            self.free.pop_front()
        } else {
            Some(old)
        };
        let to = free.expect("one block stays free");
        for at in if moves { 0 } else { written }..written.max(page + 1) {
            let lpn = (write.lpn.0 - page + at) as usize;
            let held = (moves && self.holds[lpn]).then(|| self.geometry.page(old, at));
            if at == page {
                let reads = write.program(nand, to, page, held);
                self.report.read_modify_writes += u64::from(reads);
            } else if let Some(from) = held {
                nand.copy(PageCopy::new(from, to, at, Origin::Merge));
            } else {
                nand.program(Program::new(to, at, Data::Filler, Origin::Merge));
            }
            self.report.page_copies += u64::from(at != page);
        }
        if moves {
            nand.erase(Erase::new(old, Origin::Merge));
            self.report.block_erases += 1;
            self.free.push_back(old);
        }
        self.blocks[(write.lpn.0 / pages) as usize] = (to, written.max(page + 1));
        self.holds[write.lpn.at()] = true;
        self.report.host_page_writes += 1;
    }
}

impl MappingExtras for BlockMap {}

impl Component for BlockMap {
    fn check(&self) -> Result<(), Violation> {
        let pages = self.geometry.pages as usize;
        let programmed = |at: usize| at % pages < self.blocks[at / pages].1 as usize;
        let lost = (0..self.holds.len()).find(|&at| self.holds[at] && !programmed(at));
        lost.map_or(Ok(()), |at| {
            Err(violation!("page {at} was never programmed"))
        })
    }
}

impl Mapping for BlockMap {
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        writes.iter().for_each(|write| self.write_page(nand, write));
    }

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, tag: u32) -> bool {
        let Some(ppn) = self.place_of(lpn) else {
            return false;
        };
        nand.read(Read {
            lpn,
            tag,
            ..Read::new(ppn, mask, Origin::Host)
        });
        self.report.host_page_reads += 1;
        true
    }

    fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        let (block, _) = self.blocks[(lpn.0 / self.geometry.pages) as usize];
        self.holds[lpn.at()].then(|| self.geometry.page(block, lpn.0 % self.geometry.pages))
    }

    fn trim(&mut self, _nand: &mut Nand, lpn: Lpn) {
        self.report.trimmed_pages += u64::from(std::mem::take(&mut self.holds[lpn.at()]));
    }

    fn report(&self) -> FtlReport {
        self.report.clone()
    }

    fn reset_report(&mut self) {
        self.report = FtlReport::default();
    }

    fn free_blocks(&self) -> u64 {
        self.free.len() as u64
    }
}
