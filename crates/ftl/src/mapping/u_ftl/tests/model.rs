//! A naive model of the map, on the same page store: each level of the tree is a list of where its nodes start, the
//! extents of a leaf are gathered anew for each question, and the newest copy of a node is searched among all leaves
//! below it.

use std::collections::{BTreeMap, BTreeSet};

use flashloom_nand::{HostPage, NandParams};
use flashloom_units::{ParamSet, Parameters, Prng};

use super::*;
use crate::mapping::cached::PageLevel;
use crate::mapping::{Mapping, MappingExtras, builtin};
use crate::{
    CapacityParams, FtlSetup, GcPace, PageWrite, Preemption, Superblock, WearLevelling, allocation, collection,
};

/// A node: where it starts, and a name. A leaf's name is the number of its page.
type Start = (u32, u32);

#[derive(Default)]
struct Model {
    page_bytes: u64,
    entries: u32,
    planes: u32,
    capacity: u64,
    /// Each level below the root, leaves first, in order.
    levels: Vec<Vec<Start>>,
    /// Names given to leaves and to inner nodes, and those of leaves that are free again.
    names: (u32, u32),
    free: Vec<u32>,
    /// Cached leaves to look at, the last first.
    looked_at: Vec<u32>,
    /// Names of cached nodes, least recently used first.
    cached: Vec<u32>,
    changed: BTreeSet<u32>,
    /// When the page of each leaf was written last.
    written: BTreeMap<u32, u64>,
    time: u64,
    noted: Vec<Vec<u32>>,
    due: VecDeque<u32>,
    due_a_share: usize,
    stripe: Vec<PlaneId>,
    next: usize,
    reads: u64,
    writes: u64,
    divisions: u64,
    unions: u64,
}

flashloom_units::state! {
    Model {
        fixed page_bytes, entries, planes, capacity, levels, names, free, looked_at, cached, changed, written, time,
            noted, due, due_a_share, stripe, next, reads, writes, divisions, unions;
    }
}

impl Model {
    fn entry_bytes(level: usize) -> u64 {
        if level == 0 { 12 } else { 8 }
    }

    fn room(&self, level: usize) -> usize {
        (self.page_bytes / 2_u64.pow(level as u32 + 1) / Self::entry_bytes(level)) as usize
    }

    fn root_room(&self) -> usize {
        (self.page_bytes / 2_u64.pow(self.levels.len() as u32) / 8) as usize
    }

    /// Index of the node of a level that has a page.
    fn at(&self, level: usize, lpn: u32) -> usize {
        self.levels[level].iter().rposition(|&(start, _)| start <= lpn).expect("the first starts at 0")
    }

    /// The pages of a node.
    fn range(&self, level: usize, at: usize) -> std::ops::Range<u32> {
        let next = self.levels[level].get(at + 1).map_or(self.entries, |&(start, _)| start);
        self.levels[level][at].0..next
    }

    /// The extents of a leaf by their first page: the page behind each, and the place that would go on with it.
    fn extents(&self, at: usize, map: &[Ppn]) -> BTreeMap<u32, (u32, u32)> {
        let mut extents: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for lpn in self.range(0, at) {
            let Ppn(page) = map[lpn as usize];
            if page == Ppn::NONE.0 {
                continue;
            }
            match extents.values_mut().find(|next| **next == (lpn, page)) {
                Some(next) => *next = (lpn + self.planes, page + 1),
                None => _ = extents.insert(lpn, (lpn + self.planes, page + 1)),
            }
        }
        extents
    }

    fn count(&self, level: usize, at: usize, map: &[Ppn]) -> usize {
        if level == 0 { self.extents(at, map).len() } else { self.below(level, at).len() }
    }

    /// The children of an inner node.
    fn below(&self, level: usize, at: usize) -> Vec<Start> {
        let range = self.range(level, at);
        self.levels[level - 1].iter().filter(|(start, _)| range.contains(start)).copied().collect()
    }

    /// Names of the nodes above a page, from below the root down to the leaf.
    fn path(&self, lpn: u32) -> Vec<(usize, u32)> {
        (0..self.levels.len()).rev().map(|level| (level, self.levels[level][self.at(level, lpn)].1)).collect()
    }

    /// The leaf whose page has the newest copy of a node.
    fn page_of(&self, level: usize, name: u32) -> u32 {
        let at = self.levels[level].iter().position(|&(_, other)| other == name).expect("a node of this level");
        let range = self.range(level, at);
        let leaves = self.levels[0].iter().filter(|(start, _)| range.contains(start));
        leaves.map(|&(_, leaf)| leaf).max_by_key(|leaf| self.written.get(leaf)).expect("a node has leaves")
    }

    fn start_of(&self, leaf: u32) -> Option<u32> {
        self.levels[0].iter().find(|&&(_, name)| name == leaf).map(|&(start, _)| start)
    }

    fn bytes(&self, map: &[Ppn]) -> u64 {
        let mut bytes = 8 + 8 * self.levels[self.levels.len() - 1].len() as u64;
        for (level, nodes) in self.levels.iter().enumerate() {
            for (at, (_, name)) in nodes.iter().enumerate() {
                if self.cached.contains(name) {
                    bytes += 8 + Self::entry_bytes(level) * self.count(level, at, map) as u64;
                }
            }
        }
        bytes
    }

    /// Reads the nodes above a page down to a level, from the root on.
    fn load(&mut self, lpn: u32, down_to: usize) {
        let path: Vec<_> = self.path(lpn).into_iter().filter(|&(level, _)| level >= down_to).collect();
        let mut pages = BTreeSet::new();
        for &(level, name) in &path {
            if !self.cached.contains(&name) {
                pages.extend(Some(self.page_of(level, name)).filter(|page| self.written.contains_key(page)));
            }
        }
        self.reads += pages.len() as u64;
        self.use_path(&path);
        if down_to == 0 {
            self.looked_at.push(path[path.len() - 1].1);
        }
    }

    fn use_path(&mut self, path: &[(usize, u32)]) {
        self.cached.retain(|name| !path.iter().any(|(_, other)| other == name));
        self.cached.extend(path.iter().rev().map(|&(_, name)| name));
    }

    fn touch(&mut self, lpn: u32, down_to: usize) {
        let path: Vec<_> = self.path(lpn).into_iter().filter(|&(level, _)| level >= down_to).collect();
        self.use_path(&path);
    }

    fn new_name(&mut self, level: usize) -> u32 {
        if level > 0 {
            self.names.1 += 1;
            return 1_000_000 + self.names.1;
        }
        self.free.pop().unwrap_or_else(|| {
            self.names.0 += 1;
            self.names.0
        })
    }

    /// Divides a node into as few as have room.
    fn divide(&mut self, level: usize, mut at: usize, map: &[Ppn]) {
        let first = at;
        loop {
            let (count, room) = (self.count(level, at, map), self.room(level));
            if count <= room {
                break;
            }
            let kept = count / count.div_ceil(room);
            let starts: Vec<u32> = if level == 0 {
                self.extents(at, map).into_keys().collect()
            } else {
                self.below(level, at).iter().map(|&(start, _)| start).collect()
            };
            let name = self.new_name(level);
            self.levels[level].insert(at + 1, (starts[kept], name));
            self.cached.push(name);
            self.divisions += 1;
            at += 1;
        }
        for part in first..=at {
            let range = self.range(level, part);
            let is_changed = |leaf: &u32| self.changed.contains(leaf) && self.cached.contains(leaf);
            let is_below = |(start, leaf): &&Start| range.contains(start) && is_changed(leaf);
            let changed = self.levels[0].iter().find(is_below).copied();
            let start = changed.map_or(range.start, |(start, _)| start);
            if changed.is_none() {
                self.load(start, 0);
                let leaf = self.levels[0][self.at(0, start)].1;
                self.changed.insert(leaf);
            }
            self.touch(start, 0);
        }
    }

    /// Corrects the lowest node above a page that has too many or too few entries; false if there is none.
    fn correct(&mut self, store: &mut PageStore, lpn: u32) -> bool {
        for level in 0..self.levels.len() {
            let at = self.at(level, lpn);
            let (count, room) = (self.count(level, at, store.map()), self.room(level));
            if count > room {
                self.divide(level, at, store.map());
                return true;
            }
            let above = match level + 1 == self.levels.len() {
                true => self.levels[level].clone(),
                false => self.below(level + 1, self.at(level + 1, lpn)),
            };
            if count < room.div_ceil(2) && above.len() > 1 {
                let is_first = above[0].1 == self.levels[level][at].1;
                let left = if is_first { at } else { at - 1 };
                let sibling = self.levels[level][if is_first { at + 1 } else { at - 1 }].0;
                self.load(sibling, level);
                let (_, right) = self.levels[level].remove(left + 1);
                self.cached.retain(|&name| name != right);
                self.unions += 1;
                if level == 0 {
                    self.free.push(right);
                    self.changed.remove(&right);
                    self.written.remove(&right);
                    store.forget(Lpn(self.entries + right));
                }
                self.touch(self.levels[level][left].0, level);
                return true;
            }
        }
        let top = self.levels.len() - 1;
        if self.levels[top].len() > self.root_room() {
            let name = self.new_name(top + 1);
            self.levels.push(vec![(0, name)]);
            self.cached.push(name);
            return true;
        }
        if top > 0 && self.levels[top].len() == 1 {
            let (_, name) = self.levels[top][0];
            self.levels.pop();
            self.cached.retain(|&other| other != name);
            return true;
        }
        false
    }

    fn even_out(&mut self, store: &mut PageStore, leaf: u32) {
        let Some(mut lpn) = self.start_of(leaf) else { return };
        while self.correct(store, lpn) {
            lpn = self.range(0, self.at(0, lpn)).start;
            let leaf = self.levels[0][self.at(0, lpn)].1;
            self.changed.insert(leaf);
            self.touch(lpn, 0);
        }
    }

    fn change(&mut self, lpn: u32) -> Option<u32> {
        let leaf = self.levels[0][self.at(0, lpn)].1;
        if !self.cached.contains(&leaf) {
            return Some(leaf);
        }
        self.changed.insert(leaf);
        self.looked_at.push(leaf);
        None
    }
}

impl CollectionListener for Model {
    fn begins(&mut self, _nand: &mut Nand, store: &PageStore, victim: BlockId) {
        let model = self;
        let mut pages = BTreeSet::new();
        for leaf in store.valid_pages(victim).filter(|lpn| lpn.0 >= model.entries).map(|lpn| lpn.0 - model.entries) {
            let start = model.start_of(leaf).expect("only leaves have pages");
            for (level, name) in model.path(start).into_iter().filter(|&(level, _)| level > 0) {
                let page = model.page_of(level, name);
                if !model.cached.contains(&name) && page != leaf {
                    pages.insert(page);
                }
            }
        }
        model.reads += pages.len() as u64;
    }

    fn moved(&mut self, plane: PlaneId, lpn: Lpn, _map: &[Ppn]) {
        if lpn.0 >= self.entries {
            self.time += 1;
            self.written.insert(lpn.0 - self.entries, self.time);
        } else if let Some(leaf) = self.change(lpn.0)
            && self.changed.insert(leaf)
        {
            self.noted[plane.at()].push(leaf);
        }
    }

    fn ended(&mut self, plane: PlaneId) {
        let noted = std::mem::take(&mut self.noted[plane.at()]);
        self.due.extend(noted);
    }
}

impl Map for Model {
    type Params = UFtlParams;

    const IS_IN_MEMORY: bool = false;

    fn suits(params: &UFtlParams, space: &Space) -> Result<(), Refusal> {
        ExtentMap::suits(params, space)
    }

    fn own(space: &Space) -> Own {
        ExtentMap::own(space)
    }

    fn new(params: UFtlParams, on: &Context<'_>, store: &PageStore) -> Self {
        let AllocationSetup { superpage, .. } = AllocationSetup::new(on.space, &on.ftl.params);
        let (geometry, planes) = (store.geometry(), store.geometry().total_planes() as usize);
        Self {
            page_bytes: on.space.page_bytes(),
            entries: on.space.logical_pages as u32,
            planes: on.space.geometry().total_planes(),
            capacity: params.cache_bytes,
            levels: vec![vec![(0, 0)]],
            noted: vec![Vec::new(); planes],
            due_a_share: geometry.pages as usize * planes,
            stripe: stripe_of_superpages(geometry, superpage, on.ftl.params.stripe_order),
            ..Self::default()
        }
    }

    fn translate(&mut self, _store: &mut PageStore, _nand: &mut Nand, lpn: Lpn) -> OpId {
        self.load(lpn.0, 0);
        OpId::DONE
    }

    fn changed(&mut self, _store: &PageStore, lpn: Lpn) {
        assert_eq!(self.change(lpn.0), None);
    }

    fn write_back_due(&mut self, store: &mut PageStore, nand: &mut Nand) {
        let mut share = self.due.len().div_ceil(self.due_a_share);
        while share > 0
            && let Some(leaf) = self.due.pop_front()
        {
            if self.changed.contains(&leaf) && !self.cached.contains(&leaf) {
                self.load(self.start_of(leaf).expect("what has changed is a leaf"), 0);
                share -= 1;
            }
        }
        loop {
            while let Some(leaf) = self.looked_at.pop() {
                if self.cached.contains(&leaf) {
                    self.even_out(store, leaf);
                }
            }
            if self.bytes(store.map()) <= self.capacity {
                return;
            }
            let name = self.cached.remove(0);
            let Some(start) = self.start_of(name) else { continue };
            if !self.changed.remove(&name) {
                continue;
            }
            let place = PagePlace { plane: self.stripe[self.next], lane: Lane::MAP };
            self.next = (self.next + 1) % self.stripe.len();
            let (block, page) = store.on(nand, self).reserve_for_map(place.plane).expect("blocks do not fail");
            let data = Data::Map { page: name, base: Ppn::NONE };
            store.program(nand, Program::new(block, page, data, Origin::Map));
            store.bind(Lpn(self.entries + name), block, page);
            self.writes += 1;
            self.time += 1;
            self.written.insert(name, self.time);
            if self.extents(self.at(0, start), store.map()).len() <= self.room(0) {
                self.changed.remove(&name);
            }
        }
    }

    fn writes(&self) -> u64 {
        self.writes
    }

    fn memory_bytes(&self, _store: &PageStore) -> u64 {
        self.capacity
    }
}

fn pick<T: Copy>(prng: &mut Prng, from: &[T]) -> T {
    from[prng.below(from.len() as u64) as usize]
}

fn random_drive(prng: &mut Prng) -> (Space, FtlSetup) {
    loop {
        let nand = NandParams {
            channels: pick(prng, &[1, 2]),
            ways: 1,
            dies: 1,
            planes: pick(prng, &[1, 1, 2]),
            blocks: pick(prng, &[16, 24, 48, 90]),
            pages: pick(prng, &[4, 8, 13]),
            page_bytes: pick(prng, &[512, 512, 1_024]),
            ..NandParams::defaults()
        };
        let space = Space::new(nand, &CapacityParams::of(pick(prng, &[0.4, 0.7])));
        let cache = 2 * Layout::of(&space).path_bytes() + prng.below(900);
        let mut ftl = FtlSetup::with_defaults();
        ftl.mapping = builtin().choose("u-ftl", &[("cache", Value::Size(cache))]).expect("a parameter");
        let (collections, allocations) = (["greedy", "fifo", "cost-benefit"], ["interleave", "static"]);
        ftl.collection = collection::builtin().choose(pick(prng, &collections), &[]).expect("a policy");
        ftl.allocation = allocation::builtin().choose(pick(prng, &allocations), &[]).expect("a policy");
        ftl.params.gc_pace = pick(prng, &[GcPace::Deadline, GcPace::Share]);
        ftl.params.preemption = pick(prng, &[Preemption::Page, Preemption::None]);
        ftl.params.superblock = pick(prng, &[Superblock::None, Superblock::None, Superblock::Die]);
        ftl.params.wear_levelling = pick(prng, &[WearLevelling::None, WearLevelling::Static]);
        ftl.params.wear_threshold = 2;
        ftl.params.background_threshold = pick(prng, &[0, 4]);
        if ftl.profile(&space).is_ok() {
            return (space, ftl);
        }
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// Drives by the most levels that they had.
    levels: [u32; 6],
    copies: u64,
    reads: u64,
    writes: u64,
    divisions: u64,
    unions: u64,
}

/// The same operations on both maps, over drives of random parameters: places of all pages, copies, erases, reads and
/// programs of the map are the same throughout.
#[test]
fn a_tree_with_a_cache_reads_and_writes_as_a_model_that_searches_everything_anew() {
    let mut seen = Seen::default();
    for seed in 0..1_200 {
        let mut prng = Prng::new(seed).branch("u-ftl");
        let (space, ftl) = random_drive(&mut prng);
        let (mut nand, mut other) = (Nand::new(&space.nand), Nand::new(&space.nand));
        let context = Context { space: &space, ftl: &ftl, nand: &nand };
        let mut tree =
            PageLevel::<ExtentMap>::new(Parameters::of(ftl.mapping.values()), &context).expect("it can be built");
        let mut naive =
            PageLevel::<Model>::new(Parameters::of(ftl.mapping.values()), &context).expect("it can be built");
        let (pages, mask) = (space.logical_pages as u32, nand.geometry().full_mask());
        let stride = 1 + prng.below(u64::from(pages) / 2) as u32;
        let mut levels = 0;
        for step in 0..200 {
            let first = prng.below(pages.into()) as u32;
            let length = if prng.chance(0.3) { 1 + prng.below(30) as u32 } else { 1 };
            let by = if prng.chance(0.5) { 1 } else { stride };
            let lpns = (0..length).map(|at| (first + at * by) % pages);
            let writes: Vec<_> =
                lpns.map(|lpn| PageWrite::new(HostPage { lpn: Lpn(lpn), mask, write: 0 }, Nand::NO_TAG)).collect();
            match prng.unit() {
                draw if draw < 0.7 => {
                    tree.write_apart(&mut nand, &writes);
                    naive.write_apart(&mut other, &writes);
                }
                draw if draw < 0.85 => writes.iter().for_each(|write| {
                    tree.read(&mut nand, write.lpn, mask, Nand::NO_TAG);
                    naive.read(&mut other, write.lpn, mask, Nand::NO_TAG);
                }),
                draw if draw < 0.92 => writes.iter().for_each(|write| {
                    tree.trim(&mut nand, write.lpn);
                    naive.trim(&mut other, write.lpn);
                }),
                _ => {
                    tree.idle(&mut nand);
                    naive.idle(&mut other);
                }
            }
            let (report, model) = (tree.map.report, &naive.map);
            let counted = (report.reads, report.writes, tree.map.divisions, tree.map.unions);
            let expected = (model.reads, model.writes, model.divisions, model.unions);
            assert_eq!(counted, expected, "seed {seed}, step {step}");
            levels = levels.max(tree.map.tree.levels);
            if step % 50 == 49 {
                assert_eq!(tree.store.map(), naive.store.map(), "seed {seed}, step {step}");
                let of = |report: crate::FtlReport| (report.page_copies, report.block_erases, report.map_writes);
                assert_eq!(of(tree.report()), of(naive.report()), "seed {seed}, step {step}");
                let leaves: Vec<u32> =
                    tree.map.recency.iter(0).filter(|&node| tree.map.tree.is_leaf(node)).map(|node| node.0).collect();
                let cached: Vec<u32> = model.cached.iter().copied().filter(|name| *name < 1_000_000).collect();
                assert_eq!(leaves, cached, "seed {seed}, step {step}");
                assert_eq!(tree.check(), Ok(()), "seed {seed}, step {step}");
            }
        }
        seen.levels[levels as usize] += 1;
        seen.copies += tree.report().page_copies;
        seen.reads += tree.map.report.reads;
        seen.writes += tree.map.report.writes;
        seen.divisions += tree.map.divisions;
        seen.unions += tree.map.unions;
    }
    assert!(seen.levels[2] > 30 && seen.levels[3] > 30, "{seen:?}");
    assert!(seen.copies > 100_000 && seen.unions > 10_000, "{seen:?}");
}
