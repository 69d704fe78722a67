//! u-FTL: a map of extents of any length, in a tree of which each page on flash has a whole path (Lee, Jung, Kang and
//! Kim, "μ-FTL: a memory-efficient flash translation layer supporting multiple mapping granularities", EMSOFT 2008),
//! the μ-Tree (Kang, Jung, Kang and Kim, "μ-Tree: an ordered index structure for NAND flash memory", EMSOFT 2007).
//!
//! ```text
//! extents    consecutive pages on consecutive places are one. A page that is written over divides its extent; one that
//!            goes on with its neighbour extends it (`tree`)
//! a page     of the tree has a leaf and all nodes above it: the leaf takes half of it, the node above half of the
//!            rest, and so on; the root takes as much as the level below it (`layout`)
//! lookup     from the root, which is in memory, down to the leaf: one read for each node that is not cached, but nodes
//!            that lie in the same page are read together
//! update     in memory. A changed leaf is written when it leaves the cache: one program has it and all nodes above, so
//!            that nobody has to follow a page that moved
//! cache      nodes by their own bytes, in an LRU list. A node is used whenever one below it is, so leaves leave first
//! collection a moved page changes its leaf, if that is cached; else its leaf is noted, and read when it is due
//!            (`translation`). A moved page of the tree is written with the nodes above it: those that are not cached
//!            are read before, each once for a victim
//! ```
//!
//! The newest copy of an inner node is in the page of the leaf below it that was written last, and a page is valid as
//! long as its leaf is not written again. So leaves have numbers, a page of the tree is stored under the number of its
//! leaf, and the directory of other maps on flash is not needed: only the place of the root is.
//!
//! Neither paper could be read here beyond its abstract, and what others say of the tree; these are choices of ours:
//!
//! - Consecutive places are those along a plane, as in `sftl`, and an extent ends with its leaf. It takes 12 bytes
//!   (first page, place, length), a child 8 (first page, place), and a cached node 8 besides.
//! - Nodes are at least half full, as in a B+-tree. A leaf that has lost extents is united with its left neighbour (of
//!   the first leaf: the right one), which is read if it is not cached, and divided again if that is too much.
//! - A node that is divided or united is written with a leaf below it. If no changed leaf is below one half of a
//!   divided inner node, its first leaf is read, and written with it.
//! - There is no other write buffer for updates than the cache, and data is placed and collected as `ftl.allocation`
//!   and `ftl.gc` say.
//! - What is read, divided or united for a request may exceed the memory until its end.
//!
//! O(levels log children) a translation and a moved page. Memory beyond the store's: a bit a host page, and 40 bytes a
//! leaf, of which there are at most as many as halves of leaves hold all host pages.

mod evening;
mod layout;
mod tree;

use std::collections::VecDeque;

use flashloom_nand::{BlockId, Data, Lpn, Nand, OpId, Origin, PlaneId, Ppn, Program, Read, Status};
use flashloom_units::{Capability, Figure, KIB, Kind, Lists, PolicySpec, Refusal, Statistic, Value, ensure};
use flashloom_units::{Violation, params, violation};

use super::map::Map;
use super::page_store::{CollectionListener, Own, PageStore};
use super::translation::{self, Frame, Loads, MapReport};
use crate::Space;
use crate::allocation::{AllocationSetup, PagePlace, stripe_of_superpages};
use crate::capability::{PAGE_MAPPING, TRANSLATION_PAGES};
use crate::lane::Lane;
use crate::setup::Context;
use layout::Layout;
use tree::{Node, Tree};

params! {
    /// Parameters of u-FTL.
    pub struct UFtlParams {
        /// Memory for nodes of the tree: 12 bytes an extent, 8 bytes a child, and 8 bytes a node.
        cache_bytes: u64 => "cache", Kind::Size { min: 512, max: 1 << 36 }, Value::Size(512 * KIB),
            "A larger cache reads and writes the map on flash less often.";
    }
}

const STATISTICS: &[Statistic] = &Statistic::joined::<{ translation::STATISTICS.len() + 6 }>(&[
    translation::STATISTICS,
    &[
        Statistic::count("cached_nodes", "Nodes of the tree in the cache at the end, without the root."),
        Statistic::count("extents", "Extents of the whole map at the end."),
        Statistic::count("leaves", "Leaves of the tree at the end, each with a page on flash."),
        Statistic::count("levels", "Levels of the tree at the end, with the root and the leaves."),
        Statistic::count("divisions", "Nodes that were divided because their entries no longer fit."),
        Statistic::count("unions", "Nodes less than half full that were united with a neighbour."),
    ],
]);

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "u-ftl",
    summary: "a map of extents on flash, in a tree of which each page has a whole path",
    details: "LRU of the nodes of a μ-Tree, whose leaves are extents of any length. Takes an allocation \
              (ftl.allocation) and a collection policy (ftl.gc).",
    source: "Lee et al., EMSOFT 2008",
    example: "ftl.mapping=u-ftl ftl.u-ftl.cache=64KiB workload.synthetic.pattern=sequential",
    instead: "Single pages at random are extents of one page, which take three times the bytes of a page map, and a \
              miss reads up to a page for each level: `dftl` then holds more of what is used. For a drive with memory \
              for the whole map use `page`.",
    needs: &[],
    offers: &[PAGE_MAPPING, TRANSLATION_PAGES, Capability::SAVED_STATE],
    params: UFtlParams::PARAMS,
    statistics: STATISTICS,
};

/// A tree of extents on flash, with a part of its nodes cached.
///
/// The nodes above a cached node are cached, and were used after it. A changed leaf that is cached is written when it
/// leaves; one that is not is noted or due.
pub(super) struct ExtentMap {
    tree: Tree,
    /// Bytes for nodes, and those of all cached nodes and the root.
    capacity: u64,
    bytes: u64,
    /// The cached nodes but for the root, least recently used first.
    recency: Lists<Node>,
    /// Whether a leaf is newer than its page on flash.
    is_changed: Vec<bool>,
    /// Cached leaves with too many extents or too few.
    uneven: Vec<Node>,
    /// The reads of pages of the tree, by leaf.
    loads: Loads,
    /// Leaves noted by the collection under way on each plane, and those of collections that have ended.
    noted: Vec<Vec<Node>>,
    due: VecDeque<Node>,
    /// Number of due leaves above which more than one is read at a time.
    due_a_share: usize,
    /// The place of each page that flash knows; kept only on an array that is checked from the start.
    stored: Option<Vec<Ppn>>,
    /// Planes in the order in which pages of the tree are placed, and the next one.
    stripe: Vec<PlaneId>,
    next: usize,
    report: MapReport,
    divisions: u64,
    unions: u64,
    /// Nodes of a path, while it is read; pages that a collection has read.
    path: Vec<Node>,
}

flashloom_units::state! {
    ExtentMap {
        nested tree;
        value bytes;
        nested recency, is_changed, loads;
        array noted;
        value due;
        nested stored;
        below next [stripe.len()];
        value report, divisions, unions;
        scratch uneven, path;
        fixed capacity, due_a_share, stripe;
    }
}

impl CollectionListener for ExtentMap {
    /// Reads what the pages of the tree in a victim are written with.
    fn begins(&mut self, nand: &mut Nand, store: &PageStore, victim: BlockId) {
        let entries = self.tree.layout.entries;
        let mut read = std::mem::take(&mut self.path);
        for leaf in store.valid_pages(victim).filter_map(|lpn| lpn.0.checked_sub(entries)).map(Node) {
            for node in self.tree.path(leaf).filter(|&node| node != leaf && !self.recency.contains(node)) {
                let page = self.tree.page_of(node);
                if page != leaf && !read.contains(&page) {
                    read.push(page);
                }
            }
        }
        read.drain(..).for_each(|page| _ = self.read(store, nand, page, OpId::DONE));
        self.path = read;
    }

    fn moved(&mut self, plane: PlaneId, lpn: Lpn, map: &[Ppn]) {
        if let Some(leaf) = lpn.0.checked_sub(self.tree.layout.entries) {
            self.tree.copy_with(Node(leaf));
        } else if let Some(leaf) = self.change(lpn, map)
            && !std::mem::replace(&mut self.is_changed[leaf.at()], true)
        {
            self.noted[plane.at()].push(leaf);
        }
    }

    fn ended(&mut self, plane: PlaneId) {
        self.due.extend(self.noted[plane.at()].drain(..));
    }
}

impl Map for ExtentMap {
    type Params = UFtlParams;

    const STATISTICS: &'static [Statistic] = STATISTICS;
    const IS_IN_MEMORY: bool = false;

    fn suits(params: &UFtlParams, space: &Space) -> Result<(), Refusal> {
        let (capacity, layout) = (params.cache_bytes, Layout::of(space));
        layout.suits()?;
        let paths = 2 * layout.path_bytes();
        if capacity >= paths {
            return Ok(());
        }
        let expected = format!("room for the paths of two leaves, {paths} bytes");
        let refusal = Refusal::new(format!("`ftl.u-ftl.cache` = {capacity}"), expected);
        let refusal = refusal.at(["ftl.u-ftl.cache", "device.page_size", "device.preset"]);
        Err(refusal.help("raise ftl.u-ftl.cache"))
    }

    fn own(space: &Space) -> Own {
        Own::of_map(Layout::of(space).leaves())
    }

    fn new(params: UFtlParams, on: &Context<'_>, store: &PageStore) -> Self {
        let Context { space, ftl, nand } = *on;
        let geometry = store.geometry();
        let tree = Tree::new(Layout::of(space));
        let AllocationSetup { superpage, .. } = AllocationSetup::new(space, &ftl.params);
        let (leaves, planes) = (tree.layout.leaves(), geometry.total_planes() as usize);
        Self {
            capacity: params.cache_bytes,
            bytes: tree.bytes(tree.root()),
            recency: Lists::new(tree.nodes(), 1),
            is_changed: vec![false; leaves as usize],
            uneven: Vec::new(),
            loads: Loads::new(leaves),
            noted: vec![Vec::with_capacity(geometry.pages as usize); planes],
            due: VecDeque::with_capacity(leaves as usize),
            due_a_share: geometry.pages as usize * planes,
            stored: nand.is_watched().then(|| vec![Ppn::NONE; space.logical_pages as usize]),
            stripe: stripe_of_superpages(geometry, superpage, ftl.params.stripe_order),
            next: 0,
            report: MapReport::default(),
            divisions: 0,
            unions: 0,
            path: Vec::new(),
            tree,
        }
    }

    /// Brings the leaf of a page into the cache. Returns its read until that has ended.
    fn translate(&mut self, store: &mut PageStore, nand: &mut Nand, lpn: Lpn) -> OpId {
        self.loads.follow(nand);
        let leaf = self.tree.find(lpn);
        let is_hit = self.recency.contains(leaf) && self.loads.awaited(Frame(leaf.0), nand).is_some();
        *(if is_hit { &mut self.report.hits } else { &mut self.report.misses }) += 1;
        self.load(store, nand, leaf)
    }

    fn changed(&mut self, store: &PageStore, lpn: Lpn) {
        let uncached = self.change(lpn, store.map());
        debug_assert!(uncached.is_none(), "a page was translated before it changes");
    }

    /// Reads a share of the due leaves, divides and unites what has changed, and evicts what no longer fits.
    fn write_back_due(&mut self, store: &mut PageStore, nand: &mut Nand) {
        let mut share = self.due.len().div_ceil(self.due_a_share);
        while share > 0
            && let Some(leaf) = self.due.pop_front()
        {
            // It may have been read for another reason already.
            if self.is_changed[leaf.at()] && !self.recency.contains(leaf) {
                self.load(store, nand, leaf);
                share -= 1;
            }
        }
        loop {
            while let Some(leaf) = self.uneven.pop() {
                if self.recency.contains(leaf) {
                    self.even_out(store, nand, leaf);
                }
            }
            if self.bytes <= self.capacity || !self.evict(store, nand) {
                return;
            }
        }
    }

    fn rest(&mut self, nand: &mut Nand) {
        self.loads.rest(nand);
    }

    fn figures(&self) -> Vec<Figure> {
        let tree = &self.tree;
        let extents = tree.leaves().map(|leaf| u64::from(tree.count(leaf))).sum();
        let (cached, leaves) = (self.recency.iter(0).count() as u64, tree.leaves().count() as u64);
        let counts = [cached, extents, leaves, tree.levels.into(), self.divisions, self.unions];
        self.report.figures(counts.map(Figure::Count))
    }

    fn writes(&self) -> u64 {
        self.report.writes
    }

    fn unwritten_pages(&self) -> u64 {
        self.is_changed.iter().filter(|&&is_changed| is_changed).count() as u64
    }

    fn memory_bytes(&self, _store: &PageStore) -> u64 {
        self.capacity.min(self.tree.layout.all_bytes())
    }

    fn reset_report(&mut self) {
        (self.report, self.divisions, self.unions) = (MapReport::default(), 0, 0);
    }

    /// Checks a loaded state: besides the invariants, that what changed is due, and that only leaves have pages.
    fn check_loaded(&self, store: &PageStore) -> Result<(), Violation> {
        self.check(store)?;
        let mut is_due = vec![false; self.is_changed.len()];
        for leaf in self.noted.iter().flatten().chain(&self.due) {
            let Some(due) = is_due.get_mut(leaf.at()) else {
                return Err(violation!("extent map: leaf {} is due, of {}", leaf.0, self.is_changed.len()));
            };
            *due = true;
        }
        for (leaf, is_due) in (0..).map(Node).zip(is_due) {
            let (is_used, is_changed) = (self.tree.is_used(leaf), self.is_changed[leaf.at()]);
            let is_lost = is_changed && !is_due && !self.recency.contains(leaf) && !store.is_worn_out();
            if is_lost || (!is_used && (is_changed || store.ppn(self.lpn(leaf)).is_some())) {
                return Err(violation!("extent map: leaf {} is changed and not due, or not in use", leaf.0));
            }
        }
        Ok(())
    }

    /// Checks the tree and the cache. In a verified run also checks that flash knows each page of a leaf that has not
    /// changed.
    fn check(&self, store: &PageStore) -> Result<(), Violation> {
        self.tree.check(store.map())?;
        self.check_cache()?;
        if let Some(stored) = &self.stored {
            for leaf in self.tree.leaves().filter(|leaf| !self.is_changed[leaf.at()]) {
                if let Some(lpn) = self.tree.range(leaf).find(|&lpn| stored[lpn as usize] != store.ppn(Lpn(lpn))) {
                    return Err(violation!("extent map: the place of logical page {lpn} is lost"));
                }
            }
        }
        Ok(())
    }
}

impl ExtentMap {
    /// The address of the page of a leaf in the store.
    fn lpn(&self, leaf: Node) -> Lpn {
        Lpn(self.tree.layout.entries + leaf.0)
    }

    /// Changes the extents of a page's leaf. Returns the leaf if it is not cached.
    fn change(&mut self, lpn: Lpn, map: &[Ppn]) -> Option<Node> {
        let leaf = self.tree.find(lpn);
        let before = self.tree.bytes(leaf);
        self.tree.changed(leaf, lpn, map);
        if !self.recency.contains(leaf) {
            return Some(leaf);
        }
        self.bytes = self.bytes + self.tree.bytes(leaf) - before;
        self.is_changed[leaf.at()] = true;
        if self.tree.is_uneven_leaf(leaf) {
            self.uneven.push(leaf);
        }
        None
    }

    /// Reads the page of a leaf, if it was ever written.
    fn read(&mut self, store: &PageStore, nand: &mut Nand, leaf: Node, after: OpId) -> Option<OpId> {
        let ppn = Some(store.array_ppn(self.lpn(leaf))).filter(|ppn| ppn.is_some())?;
        self.report.reads += 1;
        Some(nand.read(Read { after, ..Read::new(ppn, nand.geometry().full_mask(), Origin::Map) }))
    }

    /// Brings a node, and all nodes above it, into the cache, as those used last. Returns the operation that the node
    /// is read by.
    fn load(&mut self, store: &PageStore, nand: &mut Nand, node: Node) -> OpId {
        let mut path = std::mem::take(&mut self.path);
        path.extend(self.tree.path(node));
        let (mut after, mut read) = (OpId::DONE, Node::NONE);
        for &node in path.iter().rev() {
            let (is_cached, page) = (self.recency.contains(node), self.tree.page_of(node));
            // What could not be read is read again in its place.
            let awaited = if is_cached { self.loads.awaited(Frame(page.0), nand) } else { None };
            if let Some(operation) = awaited {
                after = operation;
            } else if page != read
                && let Some(operation) = self.read(store, nand, page, after)
            {
                self.loads.begin(Frame(page.0), operation, nand);
                (after, read) = (operation, page);
            }
            if !is_cached {
                self.insert(node);
            }
        }
        path.clear();
        self.path = path;
        self.touch(node);
        if self.tree.is_leaf(node) && self.tree.is_uneven_leaf(node) {
            self.uneven.push(node);
        }
        after
    }

    fn insert(&mut self, node: Node) {
        self.bytes += self.tree.bytes(node);
        self.recency.push_back(0, node);
    }

    /// Makes a cached node, and then those above it, the ones used last.
    fn touch(&mut self, node: Node) {
        for node in self.tree.path(node) {
            self.recency.remove(node);
            self.recency.push_back(0, node);
        }
    }

    /// Evicts the node used least recently, and writes it if it is a changed leaf. False if only the root is left.
    fn evict(&mut self, store: &mut PageStore, nand: &mut Nand) -> bool {
        let Some(node) = self.recency.pop_front(0) else { return false };
        self.bytes -= self.tree.bytes(node);
        if self.tree.is_leaf(node) && std::mem::take(&mut self.is_changed[node.at()]) {
            self.write(store, nand, node);
        }
        true
    }

    /// Programs the page of a leaf that has left the cache, with the nodes above it. On a worn-out drive nothing can be
    /// programmed, and the leaf stays in memory.
    fn write(&mut self, store: &mut PageStore, nand: &mut Nand, leaf: Node) {
        let place = PagePlace { plane: self.stripe[self.next], lane: Lane::MAP };
        self.next = (self.next + 1) % self.stripe.len();
        let mut reserved = store.on(nand, self).reserve_for_map(place.plane);
        self.loads.follow(nand);
        let loaded = self.loads.awaited(Frame(leaf.0), nand);
        let is_read = reserved.is_some() && loaded.is_none();
        let read = if is_read { self.read(store, nand, leaf, OpId::DONE) } else { loaded };
        let mut after = read.unwrap_or(OpId::DONE);
        while let Some((block, index)) = reserved {
            let base = if is_read { store.array_ppn(self.lpn(leaf)) } else { Ppn::NONE };
            let program =
                Program { after, ..Program::new(block, index, Data::Map { page: leaf.0, base }, Origin::Map) };
            match store.program(nand, program) {
                Status::Passed => return self.written(store, leaf, (block, index)),
                Status::Failed(failed) => after = failed,
            }
            reserved = store.on(nand, self).reserve_again(place, block);
        }
        self.is_changed[leaf.at()] = true;
    }

    /// Records that the page of a leaf was programmed.
    fn written(&mut self, store: &mut PageStore, leaf: Node, (block, index): (BlockId, u32)) {
        store.bind(self.lpn(leaf), block, index);
        self.report.writes += 1;
        self.tree.copy_with(leaf);
        // The collection that made room may have divided so many extents of the leaf that it is written as it was; it
        // is noted then.
        if self.tree.is_over(leaf, 0) {
            return;
        }
        self.is_changed[leaf.at()] = false;
        if let Some(stored) = &mut self.stored {
            for lpn in self.tree.range(leaf) {
                stored[lpn as usize] = store.ppn(Lpn(lpn));
            }
        }
    }

    /// Checks that what is cached fits, and that the nodes above a cached node are cached, and were used after it.
    fn check_cache(&self) -> Result<(), Violation> {
        let root = self.tree.root();
        let mut used_at = vec![None; self.tree.nodes() as usize];
        let mut bytes = self.tree.bytes(root);
        for (at, node) in self.recency.iter(0).enumerate() {
            ensure!(self.tree.is_used(node) && node != root, "extent map: node {} is cached, and not in use", node.0);
            bytes += self.tree.bytes(node);
            used_at[node.at()] = Some(at);
        }
        for node in self.recency.iter(0) {
            let above = self.tree.parent(node).filter(|&parent| parent != root);
            if above.is_some_and(|above| used_at[above.at()] < used_at[node.at()]) {
                return Err(violation!("extent map: node {} was used after the one above it", node.0));
            }
            if self.tree.is_leaf(node) && self.tree.is_uneven_leaf(node) {
                return Err(violation!("extent map: leaf {} has {} extents", node.0, self.tree.count(node)));
            }
        }
        if bytes != self.bytes || bytes > self.capacity {
            let (counted, most) = (self.bytes, self.capacity);
            return Err(violation!("extent map: {bytes} bytes where {counted} are counted, of {most}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
