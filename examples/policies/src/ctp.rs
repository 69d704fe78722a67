//! CTP: a page-level map stored on flash, with a cache of whole translation pages.
//!
//! ```text
//! lookup:      in a cached translation page: a hit, and that page is the most recent one
//!              else the least recent page leaves if the cache is full; a dirty one is programmed
//!              without a read, because all of its entries are in memory; the page is read
//! collection:  before a block is collected, the cached translation pages of what is valid in it
//!              become the most recent ones: they stay until the pages have moved
//! ```
//!
//! The coarse half of CDFTL, without its table of single entries (Wang, Qin, Chen, Shao and Yang, "An Adaptive
//! Demand-Based Caching Mechanism for NAND Flash Memory Storage Systems", ACM TODAES 22(1), 2016: cached translation
//! pages). A miss loads the entries of all neighbours: good for sequential addresses, bad for scattered ones. The rule
//! for collections is ours; `collecting = false` turns it off.
//!
//! O(1) per translation, and O(1) per valid page of a victim. Memory: 10 bytes per translation page.

use flashloom::ftl::mapping::translation::{Frame, MapCache, MapShape, TranslationPage, WriteBack};
use flashloom::ftl::mapping::{cached, translation};
use flashloom::prelude::*;
use flashloom::units::state;

params! {
    /// The parameters of this mapping.
    pub struct Params {
        /// Memory for cached translation pages, 4 bytes per entry.
        cache_bytes: u64 => "cache", Kind::Size { min: 512, max: 1 << 36 }, Value::Size(512 * KIB),
            "A larger cache reads and writes the map on flash less often.";
    }
}

static SPEC: PolicySpec = PolicySpec {
    name: "ctp",
    summary: "a page-level map on flash, of which whole translation pages are cached",
    details: "LRU of translation pages. Takes an allocation (ftl.allocation) and a collection policy (ftl.gc).",
    source: "the cached translation pages of CDFTL (Wang et al., ACM TODAES 2016)",
    offers: &[PAGE_MAPPING, TRANSLATION_PAGES, Capability::SAVED_STATE],
    params: Params::PARAMS,
    statistics: translation::STATISTICS,
    ..PolicySpec::BLANK
};

/// The mapping as a policy.
pub fn policy() -> Policy<dyn Mapping> {
    cached::policy::<Ctp>(&SPEC)
}

const NONE: u32 = u32::MAX;

/// Cached translation pages in a doubly linked ring around a sentinel; the most recently used page is before it.
struct Ctp {
    shape: MapShape,
    capacity: u32,
    cached: u32,
    /// Neighbours of each translation page in the ring; [`NONE`] if it is not cached.
    newer: Vec<u32>,
    older: Vec<u32>,
    is_dirty: Vec<bool>,
}

state! {
    Ctp {
        nested newer, older, is_dirty;
        value cached;
        fixed shape, capacity;
    }
}

impl Ctp {
    /// Index of the sentinel, between the most and the least recently used page.
    fn end(&self) -> u32 {
        self.shape.translation_pages()
    }

    fn holds(&self, page: u32) -> bool {
        self.newer[page as usize] != NONE
    }

    fn unlink(&mut self, page: u32) {
        let newer = std::mem::replace(&mut self.newer[page as usize], NONE);
        let older = std::mem::replace(&mut self.older[page as usize], NONE);
        (self.older[newer as usize], self.newer[older as usize]) = (older, newer);
    }

    fn link(&mut self, page: u32) {
        let (end, older) = (self.end(), self.older[self.end() as usize]);
        (self.newer[page as usize], self.older[page as usize]) = (end, older);
        (self.older[end as usize], self.newer[older as usize]) = (page, page);
    }

    /// Marks a page as most recently used, if it is cached. Returns true if it is.
    fn refresh(&mut self, page: u32) -> bool {
        let is_cached = self.holds(page);
        if is_cached {
            self.unlink(page);
            self.link(page);
        }
        is_cached
    }
}

impl MapCache for Ctp {
    type Params = Params;

    const ENTRIES_SHARE_FRAMES: bool = true;

    fn suits(params: &Params, shape: MapShape) -> Result<(), Refusal> {
        let (cache, page) = (params.cache_bytes, 4 * shape.entries_a_page());
        if cache >= u64::from(page) {
            return Ok(());
        }
        let found = format!("a cache of {cache} bytes (`ftl.ctp.cache`)");
        let expected = format!("room for a translation page of {page} bytes");
        let refusal = Refusal::new(found, expected).at([
            "ftl.ctp.cache",
            "device.page_size",
            "device.preset",
        ]);
        Err(refusal.help("raise ftl.ctp.cache"))
    }

    fn memory_bytes(&self) -> u64 {
        u64::from(self.capacity) * u64::from(4 * self.shape.entries_a_page())
    }

    fn new(params: Params, shape: MapShape) -> Self {
        let pages = shape.translation_pages();
        let capacity = params.cache_bytes / u64::from(4 * shape.entries_a_page());
        let mut ring = vec![NONE; pages as usize + 1];
        ring[pages as usize] = pages;
        Self {
            shape,
            capacity: capacity.min(u64::from(pages)) as u32,
            cached: 0,
            newer: ring.clone(),
            older: ring,
            is_dirty: vec![false; pages as usize],
        }
    }

    fn frames(&self) -> u32 {
        self.shape.translation_pages()
    }

    fn touch(&mut self, lpn: Lpn) -> Option<Frame> {
        let page = self.shape.page_of(lpn).0;
        self.refresh(page).then_some(Frame(page))
    }

    fn make_room(&mut self, _lpn: Lpn, _map: &[Ppn]) -> Option<WriteBack> {
        if self.cached < self.capacity {
            return None;
        }
        let page = self.newer[self.end() as usize];
        self.unlink(page);
        self.cached -= 1;
        let was_dirty = std::mem::take(&mut self.is_dirty[page as usize]);
        was_dirty.then_some(WriteBack {
            page: TranslationPage(page),
            whole: Some(Frame(page)),
        })
    }

    fn insert(&mut self, lpn: Lpn, _map: &[Ppn]) -> Frame {
        let page = self.shape.page_of(lpn).0;
        self.link(page);
        self.cached += 1;
        Frame(page)
    }

    fn mark_dirty(&mut self, lpn: Lpn, _map: &[Ppn]) -> Option<Frame> {
        let page = self.shape.page_of(lpn);
        self.is_dirty[page.at()] |= self.holds(page.0);
        self.holds(page.0).then_some(Frame(page.0))
    }

    fn is_dirty(&self, lpn: Lpn) -> bool {
        self.is_dirty[self.shape.page_of(lpn).at()]
    }

    fn has_dirty(&self, page: TranslationPage) -> bool {
        self.is_dirty[page.at()]
    }

    fn clean(&mut self, page: TranslationPage) {
        self.is_dirty[page.at()] = false;
    }

    fn collecting(&mut self, lpns: impl Iterator<Item = Lpn>) {
        lpns.for_each(|lpn| _ = self.touch(lpn));
    }

    fn check(&self, _map: &[Ppn]) -> Result<(), Violation> {
        let held = (0..self.end()).filter(|&page| self.holds(page)).count() as u32;
        let is_sound = held == self.cached && held <= self.capacity;
        is_sound
            .then_some(())
            .ok_or_else(|| violation!("ctp: {held} pages, {} counted", self.cached))
    }
}
