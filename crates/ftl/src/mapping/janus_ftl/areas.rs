//! The two areas: which logical blocks are in each, the physical blocks that each has, and the pages in these.
//!
//! A logical block is in the block area, with a home or none, or in the page area. It may have a *stream* in either:
//! a new home that is being written in order. Every physical block in use is a home, a stream, or one of the page
//! area: open for the host, open for survivors, or closed. Physical blocks are superblocks of one block.

use flashloom_nand::{BlockId, Lbn, Lpn, Nand, Origin, PlaneId, Ppn, Urgency};
use flashloom_units::{Lists, Violation, ensure, violation};

use crate::FtlReport;
use crate::mapping::{Context, Site};
use crate::store::{Blocks, Pages, WornOut};

/// Free blocks of a chip before each page of the host: for a defusion, for the page, and for survivors.
pub(super) const KEPT_FREE: u32 = 3;

/// How many logical blocks there are, and their division among chips.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Logical blocks of the drive.
    pub(super) blocks: u32,
    pub(super) chips: u32,
    /// Pages of a block.
    pub(super) pages: u32,
    /// Tables of a chip: no more than it has logical blocks.
    pub(super) tables: u32,
    /// Most streams of a chip.
    pub(super) streams: u32,
    patience: f64,
}

impl Shape {
    pub(super) fn new(site: &Site<'_>, tables: u64, streams: u32, patience: f64) -> Self {
        let geometry = site.geometry();
        let (pages, chips) = (geometry.pages, geometry.total_dies());
        let blocks = site.space.logical_pages.div_ceil(u64::from(pages)) as u32;
        let tables = tables.min(u64::from(blocks.div_ceil(chips))) as u32;
        Self { blocks, chips, pages, tables, streams, patience }
    }

    /// Blocks that each chip needs: those of its data and streams, and others that are free, open or hold dead pages.
    /// A collection begins with one free block less than are kept. Its survivors and the host have an open block each.
    /// The page area then has a block more than its valid pages fill.
    pub(super) fn needed(&self) -> u32 {
        self.blocks.div_ceil(self.chips) + self.streams + (KEPT_FREE - 1) + 2 + 1
    }

    pub(super) fn block_of(&self, lpn: Lpn) -> Lbn {
        Lbn(lpn.0 / self.pages)
    }

    /// The logical block of a page, and the page's offset in it.
    pub(super) fn place_of(&self, lpn: Lpn) -> (Lbn, u32) {
        (self.block_of(lpn), lpn.0 % self.pages)
    }

    pub(super) fn lpn(&self, block: Lbn, offset: u32) -> Lpn {
        Lpn(block.0 * self.pages + offset)
    }

    pub(super) fn chip_of(&self, block: Lbn) -> u32 {
        block.0 % self.chips
    }

    /// The list of closed blocks of a chip with so many valid pages.
    fn list_of(&self, chip: u32, valid: u32) -> usize {
        chip as usize * (self.pages as usize + 1) + valid as usize
    }
}

/// What a physical block is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Home(Lbn),
    Stream(Lbn),
    Page,
}

/// The logical and physical blocks of both areas, and the pages in them.
pub(super) struct Areas {
    pub(super) shape: Shape,
    pub(super) pool: Blocks,
    pub(super) pages: Pages,
    /// The home of each logical block of the block area that has pages, and the stream of each that has one.
    home: Vec<BlockId>,
    stream: Vec<BlockId>,
    /// The logical blocks of each chip with a stream, oldest first, and their number.
    streaming: Lists<Lbn>,
    streams: Vec<u32>,
    /// The logical blocks of each chip's page area, least recently written first, and their number.
    paged: Lists<Lbn>,
    tables: Vec<u32>,
    /// Valid pages of each logical block, and copies of them by collections since its last write.
    valid: Vec<u32>,
    copied: Vec<u32>,
    /// The logical blocks of each chip whose defusion is due, longest first.
    due: Lists<Lbn>,
    /// The open blocks of each chip's page area. `NONE` if there is none; never a full one.
    open: Vec<BlockId>,
    survivors: Vec<BlockId>,
    /// The closed blocks of each chip's page area by their valid pages.
    closed: Lists<BlockId>,
}

flashloom_units::state! {
    Areas {
        nested pool, pages;
        ids home [pool.total()], stream [pool.total()];
        nested streaming, streams, paged, tables, valid, copied, due;
        ids open [pool.total()], survivors [pool.total()];
        nested closed;
        fixed shape;
    }
}

impl Areas {
    pub(super) fn new(shape: &Shape, on: &Context<'_>) -> Self {
        let Context { space, ftl, nand } = *on;
        let mut pool = Blocks::of_groups(nand, &ftl.params, 1);
        pool.needed = shape.needed();
        let (blocks, chips) = (shape.blocks as usize, shape.chips as usize);
        Self {
            shape: *shape,
            pages: Pages::new(&pool.geometry, space.logical_pages, true),
            home: vec![BlockId::NONE; blocks],
            stream: vec![BlockId::NONE; blocks],
            streaming: Lists::new(shape.blocks, shape.chips),
            streams: vec![0; chips],
            paged: Lists::new(shape.blocks, shape.chips),
            tables: vec![0; chips],
            valid: vec![0; blocks],
            copied: vec![0; blocks],
            due: Lists::new(shape.blocks, shape.chips),
            open: vec![BlockId::NONE; chips],
            survivors: vec![BlockId::NONE; chips],
            closed: Lists::new(pool.total(), shape.chips * (shape.pages + 1)),
            pool,
        }
    }

    fn chip(&self, block: Lbn) -> usize {
        self.shape.chip_of(block) as usize
    }

    /// Maps a page to a copy that was just programmed.
    pub(super) fn bind(&mut self, lpn: Lpn, page: Ppn) {
        let to = (self.pool.block_of(page), page);
        let old = self.pages.bind(lpn, to, &mut self.pool);
        self.valid[self.shape.block_of(lpn).at()] += u32::from(old.is_none());
        self.relist(old);
    }

    /// Unmaps a page, if it is mapped.
    pub(super) fn unbind(&mut self, lpn: Lpn) {
        let old = self.pages.unbind(lpn, &mut self.pool);
        self.valid[self.shape.block_of(lpn).at()] -= u32::from(old.is_some());
        self.relist(old);
    }

    /// Lists a block anew in which a page has died, if it is a closed one.
    fn relist(&mut self, died: Option<(BlockId, u32)>) {
        if let Some((block, _)) = died.filter(|&(block, _)| self.closed.contains(block)) {
            self.closed.remove(block);
            self.close(block);
        }
    }

    /// Lists a block as a closed one of the page area.
    fn close(&mut self, block: BlockId) {
        self.closed.push_back(self.shape.list_of(self.pool.plane_of(block).0, self.pool.valid_of(block)), block);
    }

    /// Closes the open blocks on the chip of a logical block that are full.
    pub(super) fn close_full(&mut self, block: Lbn) {
        let chip = self.chip(block);
        for open in [self.open[chip], self.survivors[chip]] {
            if open.is_some() && self.pool.is_full(open) {
                self.close(open);
            }
        }
        for open in [&mut self.open[chip], &mut self.survivors[chip]] {
            if open.is_some() && self.pool.is_full(*open) {
                *open = BlockId::NONE;
            }
        }
    }

    /// Whether a logical block is in the page area.
    pub(super) fn is_paged(&self, block: Lbn) -> bool {
        self.paged.contains(block)
    }

    /// Whether a logical block is in the block area and has no physical block.
    pub(super) fn is_new(&self, block: Lbn) -> bool {
        !self.is_paged(block) && self.home[block.at()].is_none() && self.stream(block).is_none()
    }

    /// Logical blocks in the page area.
    pub(super) fn paged(&self) -> u64 {
        self.tables.iter().map(|&tables| u64::from(tables)).sum()
    }

    /// The new home of a logical block that is being written, or `NONE`.
    pub(super) fn stream(&self, block: Lbn) -> BlockId {
        self.stream[block.at()]
    }

    /// The block that takes a logical block's next page in order, if it has one with room.
    pub(super) fn taking(&self, block: Lbn) -> Option<BlockId> {
        let stream = self.stream(block);
        let taking = if stream.is_some() { stream } else { self.home[block.at()] };
        Some(taking).filter(|&taking| taking.is_some() && !self.pool.is_full(taking))
    }

    /// Notes that the host writes a logical block.
    pub(super) fn touch(&mut self, block: Lbn) {
        let chip = self.chip(block);
        self.forget_copies(block);
        if self.is_paged(block) {
            self.paged.remove(block);
            self.paged.push_back(chip, block);
        }
    }

    fn forget_copies(&mut self, block: Lbn) {
        self.copied[block.at()] = 0;
        if self.due.contains(block) {
            self.due.remove(block);
        }
    }

    /// Pages that the defusion of a logical block would program, with fillers.
    fn price(&self, block: Lbn) -> u32 {
        let stream = self.stream(block);
        let written = if stream.is_some() { self.pool.written(stream) } else { 0 };
        self.end(block).saturating_sub(written)
    }

    /// Counts a copy of a page of the page area by a collection, until the defusion of its logical block is due.
    pub(super) fn note_copy(&mut self, block: Lbn) {
        if self.due.contains(block) {
            return;
        }
        self.copied[block.at()] += 1;
        if f64::from(self.copied[block.at()]) >= self.shape.patience * f64::from(self.price(block)) {
            self.due.push_back(self.chip(block), block);
        }
    }

    /// The logical block of a chip whose defusion has been due longest.
    pub(super) fn due(&self, chip: u32) -> Option<Lbn> {
        self.due.front(chip as usize)
    }

    pub(super) fn open_home(&mut self, block: Lbn) -> BlockId {
        self.home[block.at()] = self.pool.open(PlaneId(self.shape.chip_of(block)));
        self.home[block.at()]
    }

    /// The oldest logical block with a stream on the chip of another, if that may open none beside.
    pub(super) fn stream_too_many(&self, block: Lbn) -> Option<Lbn> {
        let chip = self.chip(block);
        self.streaming.front(chip).filter(|_| self.streams[chip] == self.shape.streams)
    }

    pub(super) fn open_stream(&mut self, block: Lbn) -> BlockId {
        let chip = self.chip(block);
        self.stream[block.at()] = self.pool.open(PlaneId(chip as u32));
        self.streaming.push_back(chip, block);
        self.streams[chip] += 1;
        self.stream[block.at()]
    }

    /// Ends the stream of a logical block, if it has one.
    fn take_stream(&mut self, block: Lbn) -> Option<BlockId> {
        let stream = std::mem::replace(&mut self.stream[block.at()], BlockId::NONE);
        stream.is_some().then(|| {
            self.streaming.remove(block);
            self.streams[self.shape.chip_of(block) as usize] -= 1;
            stream
        })
    }

    /// Makes the stream of a logical block its home, if it is full. Returns the home that it had, now without a valid
    /// page, or `NONE`.
    pub(super) fn finish_stream(&mut self, block: Lbn) -> Option<BlockId> {
        let stream = self.stream(block);
        if stream.is_none() || !self.pool.is_full(stream) {
            return None;
        }
        self.take_stream(block);
        self.leave_page_area(block);
        Some(std::mem::replace(&mut self.home[block.at()], stream))
    }

    fn leave_page_area(&mut self, block: Lbn) {
        self.forget_copies(block);
        if self.is_paged(block) {
            self.paged.remove(block);
            self.tables[self.shape.chip_of(block) as usize] -= 1;
        }
    }

    /// The logical block to be defused so that another of its chip can have a table, if none is free.
    pub(super) fn table_to_free(&self, block: Lbn) -> Option<Lbn> {
        let chip = self.chip(block);
        self.paged.front(chip).filter(|_| self.tables[chip] == self.shape.tables)
    }

    /// Moves a logical block, for which there is a table, and its home and stream to the page area.
    pub(super) fn fuse(&mut self, block: Lbn) {
        let chip = self.chip(block);
        let stream = self.take_stream(block);
        let home = std::mem::replace(&mut self.home[block.at()], BlockId::NONE);
        if home.is_some() {
            self.close(home);
        }
        stream.into_iter().for_each(|stream| self.close(stream));
        if !self.is_paged(block) {
            self.paged.push_back(chip, block);
            self.tables[chip] += 1;
        }
    }

    /// The block that takes the host's pages on the chip of a logical block.
    pub(super) fn open_for_host(&mut self, block: Lbn) -> BlockId {
        let chip = self.chip(block);
        if self.open[chip].is_none() {
            self.open[chip] = self.pool.open(PlaneId(chip as u32));
        }
        self.open[chip]
    }

    /// The block that takes survivors on a chip, and whether it had to be opened.
    pub(super) fn open_for_survivors(&mut self, chip: u32) -> (BlockId, bool) {
        let open = &mut self.survivors[chip as usize];
        let is_new = open.is_none();
        if is_new {
            *open = self.pool.open(PlaneId(chip));
        }
        (*open, is_new)
    }

    /// The closed block of a chip with the fewest valid pages.
    pub(super) fn victim(&self, chip: u32) -> BlockId {
        let with = |valid| self.closed.front(self.shape.list_of(chip, valid));
        // Beside the data, the streams, the open and the free blocks there is one.
        (0..self.shape.pages).find_map(with).expect("the page area has more blocks than its valid pages fill")
    }

    /// One past the offset of the last valid page of a logical block.
    pub(super) fn end(&self, block: Lbn) -> u32 {
        let pages = self.pages.newest_from(self.shape.lpn(block, 0), self.shape.pages);
        pages.iter().rposition(|page| page.is_some()).map_or(0, |last| last as u32 + 1)
    }

    /// Takes a logical block from the page area; returns the home in which its pages up to `end` are to be gathered.
    /// That is its stream, if it has one. `None` if it has neither that nor a valid page.
    pub(super) fn begin_defusion(&mut self, block: Lbn, end: u32) -> Option<BlockId> {
        self.leave_page_area(block);
        let chip = self.shape.chip_of(block);
        let home = self.take_stream(block).or_else(|| (end > 0).then(|| self.pool.open(PlaneId(chip))))?;
        self.home[block.at()] = home;
        Some(home)
    }

    /// Erases a block without valid pages.
    pub(super) fn erase(
        &mut self,
        nand: &mut Nand,
        report: &mut FtlReport,
        block: BlockId,
        by: (Origin, Urgency),
    ) -> Result<(), WornOut> {
        if self.closed.contains(block) {
            self.closed.remove(block);
        }
        self.pool.reclaim(nand, report, block, by)
    }

    /// What each physical block is used for; an error if one is used twice, or on a wrong chip.
    fn uses(&self) -> Result<Vec<Option<Use>>, Violation> {
        let mut uses = vec![None; self.pool.total() as usize];
        let mut note = |block: BlockId, chip: u32, is: Use| {
            let is_free = !self.pool.fits_use(block, true) || self.pool.plane_of(block).0 != chip;
            if is_free || uses[block.at()].replace(is).is_some() {
                return Err(violation!("janus-ftl: block {} is free, used twice, or on another chip", block.0));
            }
            Ok(())
        };
        for block in (0..self.shape.blocks).map(Lbn) {
            let chip = self.shape.chip_of(block);
            for (physical, is) in [(self.home[block.at()], Use::Home(block)), (self.stream(block), Use::Stream(block))]
            {
                if physical.is_some() {
                    note(physical, chip, is)?;
                }
            }
        }
        for chip in 0..self.shape.chips {
            for open in [self.open[chip as usize], self.survivors[chip as usize]] {
                if open.is_some() {
                    note(open, chip, Use::Page)?;
                }
            }
            for valid in 0..=self.shape.pages {
                for block in self.closed.iter(self.shape.list_of(chip, valid)) {
                    note(block, chip, Use::Page)?;
                    if self.pool.valid_of(block) != valid {
                        return Err(violation!("janus-ftl: block {} has not {valid} valid pages", block.0));
                    }
                }
            }
        }
        let is_lost = |&block: &BlockId| !self.pool.fits_use(block, uses[block.at()].is_some());
        match (0..self.pool.total()).map(BlockId).find(is_lost) {
            Some(block) => Err(violation!("janus-ftl: block {} is in use for nothing", block.0)),
            None => Ok(uses),
        }
    }

    /// Checks the lists of logical blocks against what they list.
    fn check_lists(&self) -> Result<(), Violation> {
        let mut listed = [0; 2];
        for chip in 0..self.shape.chips {
            let at = chip as usize;
            let is_own = |block: &Lbn| self.shape.chip_of(*block) == chip;
            let is_wrong = self.streaming.iter(at).any(|block| !is_own(&block) || self.stream(block).is_none())
                || self.paged.iter(at).any(|block| !is_own(&block) || self.home[block.at()].is_some())
                || self.due.iter(at).any(|block| !is_own(&block) || !self.is_paged(block));
            let lengths = [&self.streaming, &self.paged].map(|list| list.iter(at).count());
            let counted = [self.streams[at], self.tables[at]];
            let is_wrong = is_wrong || lengths != counted.map(|count| count as usize);
            if is_wrong || counted[0] > self.shape.streams || counted[1] > self.shape.tables {
                return Err(violation!("janus-ftl: the lists of chip {chip} hold other logical blocks than they say"));
            }
            let is_full = |open: BlockId| open.is_some() && self.pool.is_full(open);
            if is_full(self.open[at]) || is_full(self.survivors[at]) || self.pool.free_in(PlaneId(chip)) == 0 {
                return Err(violation!("janus-ftl: an open block of chip {chip} is full, or no block is free"));
            }
            listed = [listed[0] + lengths[0], listed[1] + lengths[1]];
        }
        let full = self.stream.iter().filter(|stream| stream.is_some() && self.pool.is_full(**stream)).count();
        let streams = self.stream.iter().filter(|stream| stream.is_some()).count();
        let most = self.shape.patience * f64::from(self.shape.pages) + 1.0;
        if full > 0 || streams != listed[0] || self.copied.iter().any(|&copied| f64::from(copied) > most) {
            return Err(Violation::new("janus-ftl: a new home is full or not listed, or a count of copies too high"));
        }
        Ok(())
    }

    /// Checks a loaded state against the loaded array.
    pub(super) fn check_loaded(&self, nand: &Nand) -> Result<(), Violation> {
        self.pool.check_loaded(nand)?;
        if self.pool.is_worn_out() {
            return self.pages.check_loaded(&self.pool);
        }
        let uses = self.uses()?;
        self.check_lists()?;
        self.pages.check_loaded(&self.pool)?;
        for (lpn, &page) in (0..).map(Lpn).zip(self.pages.map()).filter(|(_, page)| page.is_some()) {
            let (block, offset) = self.shape.place_of(lpn);
            let holds = self.pool.block_of(page);
            let is_in_place = match uses[holds.at()] {
                Some(Use::Home(of) | Use::Stream(of)) => of == block && page == self.pool.page(holds, offset),
                Some(Use::Page) => self.is_paged(block) && self.pool.plane_of(holds).0 == self.shape.chip_of(block),
                None => false,
            };
            ensure!(is_in_place, "janus-ftl: page {} is no copy of logical page {}", page.0, lpn.0);
        }
        Ok(())
    }

    /// Checks that map and reverse map agree, and that all counters agree with a recount.
    pub(super) fn check(&self) -> Result<(), Violation> {
        self.pages.check_with(&self.pool)?;
        ensure!(
            self.pages.mapped_of_each(self.shape.pages) == self.valid,
            "janus-ftl: a logical block has not the valid pages that it counts"
        );
        Ok(())
    }
}
