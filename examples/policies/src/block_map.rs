//! A block map: a logical block is one physical block, and what is written again moves with all of it.
//!
//! ```text
//! write page p of block b:  b has not been written up to p:  fill what lies between, program p
//!                           else:  program everything that b holds anew, p among it, to a free block of
//!                                  the plane, and erase the old one
//! ```
//!
//! The map of the oldest flash cards: 4 bytes a block, and up to a block of copies for a page.

use std::collections::VecDeque;

use flashloom::ftl::mapping::{Context, FtlFigures, Mapping, Profile, Site};
use flashloom::ftl::{FtlReport, PageWrite};
use flashloom::nand::{Data, Expect, Geometry, Nand, OpId, Origin, Urgency};
use flashloom::units::{BlockId, Figure, Lpn, Policy, PolicySpec, Refusal, Statistic};

static SPEC: PolicySpec = PolicySpec {
    name: "block-map",
    summary: "one physical block for each logical block",
    details: "A page that is written again is programmed to another block with all of its own.",
    source: "the block mapping that log blocks improve on",
    statistics: &[Statistic::count("moved_blocks", "Logical blocks programmed anew.")],
    ..PolicySpec::BLANK
};

/// The mapping as a policy. Every plane needs a free block to move to.
pub fn policy() -> Policy<dyn Mapping> {
    let policy = Policy::<dyn Mapping>::new(&SPEC, |_values, on| Ok(Box::new(BlockMap::new(on))));
    policy.with_profile(|_values, Site { device, .. }| {
        let planes = u64::from(device.geometry().total_planes());
        let blocks = device.logical_pages().div_ceil(u64::from(device.pages)).div_ceil(planes);
        if blocks < u64::from(device.blocks) {
            return Ok(Profile::default());
        }
        let found = format!("a plane of {} blocks that holds {blocks} of the host's", device.blocks);
        let refusal = Refusal::new(found, "a free block to move to").at(["device.over_provisioning"]);
        Err(refusal.help("raise device.over_provisioning or device.blocks"))
    })
}

struct BlockMap {
    geometry: Geometry,
    /// The physical block of each logical one, and the pages of it that are programmed.
    blocks: Vec<(BlockId, u32)>,
    holds: Vec<bool>,
    free: Vec<VecDeque<BlockId>>,
    erases: Vec<u32>,
    report: FtlReport,
    moved_blocks: u64,
}

impl BlockMap {
    fn new(on: &Context<'_>) -> Self {
        let (geometry, logical_pages) = (*on.nand.geometry(), on.device.logical_pages() as usize);
        let of_plane = |plane| (0..geometry.blocks).map(move |at| BlockId(plane * geometry.blocks + at));
        Self {
            blocks: vec![(BlockId::NONE, 0); logical_pages.div_ceil(geometry.pages as usize)],
            holds: vec![false; logical_pages],
            free: (0..geometry.total_planes()).map(|plane| of_plane(plane).collect()).collect(),
            erases: vec![0; geometry.total_blocks() as usize],
            report: FtlReport::default(),
            moved_blocks: 0,
            geometry,
        }
    }

    /// A logical block, and which of its pages.
    fn split(&self, lpn: Lpn) -> (usize, u32) {
        ((lpn.0 / self.geometry.pages) as usize, lpn.0 % self.geometry.pages)
    }

    fn free_block(&mut self, logical: usize) -> BlockId {
        let planes = self.free.len();
        self.free[logical % planes].pop_front().expect("a plane keeps one block free")
    }

    /// Programs pages that the block held before, or nothing where it held none.
    fn carry(&mut self, nand: &mut Nand, logical: usize, from: BlockId, pages: std::ops::Range<u32>) {
        let to = self.blocks[logical].0;
        for page in pages {
            if from != BlockId::NONE && self.holds[logical * self.geometry.pages as usize + page as usize] {
                nand.copy(self.geometry.page(from, page), to, page, Origin::Merge, Urgency::Needed);
            } else {
                nand.fill(to, page, Origin::Merge, Urgency::Needed);
            }
            self.report.page_copies += 1;
        }
    }

    fn write_page(&mut self, nand: &mut Nand, write: &PageWrite) {
        let (logical, page) = self.split(write.lpn);
        let (old, written) = self.blocks[logical];
        let moves = page < written;
        if moves || old == BlockId::NONE {
            self.blocks[logical].0 = self.free_block(logical);
        }
        let (to, held) = (self.blocks[logical].0, self.holds[write.lpn.at()]);
        self.carry(nand, logical, if moves { old } else { BlockId::NONE }, if moves { 0 } else { written }..page);
        let partial = held && write.mask != self.geometry.full_mask();
        let (mut base, mut after) = (flashloom::units::Ppn::NONE, OpId::DONE);
        if partial {
            base = self.geometry.page(old, page);
            let beneath = self.geometry.full_mask() & !write.mask;
            after = nand.read(base, beneath, Origin::Host, Expect::Anything, Nand::NO_TAG);
            self.report.read_modify_writes += 1;
        }
        let data = Data::Host { payload: write.payload, mask: write.mask, base };
        nand.program(to, page, Origin::Host, data, after, write.tag);
        self.report.host_page_writes += 1;
        self.holds[write.lpn.at()] = true;
        self.blocks[logical].1 = written.max(page + 1);
        if moves {
            self.carry(nand, logical, old, page + 1..written);
            nand.erase(old, Origin::Merge, Urgency::Needed);
            self.erases[old.at()] += 1;
            self.report.block_erases += 1;
            self.moved_blocks += 1;
            let planes = self.free.len();
            self.free[logical % planes].push_back(old);
        }
    }
}

impl Mapping for BlockMap {
    fn write(&mut self, nand: &mut Nand, writes: &[PageWrite]) {
        writes.iter().for_each(|write| self.write_page(nand, write));
    }

    fn prepare(&self, _lpn: Lpn) {}

    fn read(&mut self, nand: &mut Nand, lpn: Lpn, mask: u32, expect: Expect, tag: u32) -> bool {
        if !self.is_mapped(lpn) {
            return false;
        }
        let (logical, page) = self.split(lpn);
        let ppn = self.geometry.page(self.blocks[logical].0, page);
        nand.read(ppn, mask, Origin::Host, expect, tag);
        self.report.host_page_reads += 1;
        true
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.holds[lpn.at()]
    }

    fn trim(&mut self, _nand: &mut Nand, lpn: Lpn) {
        self.report.trimmed_pages += u64::from(std::mem::take(&mut self.holds[lpn.at()]));
    }

    fn idle(&mut self, _nand: &mut Nand) -> bool {
        false
    }

    fn report(&self) -> FtlReport {
        self.report.clone()
    }

    fn reset_report(&mut self) {
        (self.report, self.moved_blocks) = (FtlReport::default(), 0);
    }

    fn figures(&self) -> FtlFigures {
        let mapping = vec![Figure::Count(self.moved_blocks)];
        FtlFigures { mapping, ..FtlFigures::default() }
    }

    fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    fn free_blocks(&self) -> u64 {
        self.free.iter().map(|plane| plane.len() as u64).sum()
    }

    fn check(&self) -> Result<(), String> {
        let lost = (0..self.holds.len() as u32).map(Lpn).find(|&lpn| {
            let (logical, page) = self.split(lpn);
            self.holds[lpn.at()] && page >= self.blocks[logical].1
        });
        lost.map_or(Ok(()), |lpn| Err(format!("page {} is mapped and was never programmed", lpn.0)))
    }
}
