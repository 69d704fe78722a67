//! BPAC, block-page adaptive cache: a page list for temporal locality and a block list for spatial locality, with a
//! border that follows what hits tell (Wu, Eckart and He, MSST 2010; ACM Transactions on Storage 8(1), 2012).
//!
//! ```text
//! page list:     pages that were written again, the last written youngest; at most `border` of them
//! block list:    all others in clusters, one a logical block; a cluster is idle if no page came to it during as many
//!                page writes as `idle` of the buffer's room
//! written:       a page that was not there goes to its cluster; if its block is among those of the last pages evicted,
//!                as many as the buffer has room for, the block list was too short: border - step, once a block
//! written again: to the young end of the page list; if it had come back from there, the list was too short: border +
//!                step
//! border:        while the page list has more pages, its oldest one goes back to its cluster
//! victim:        the largest idle cluster; if none is idle, the one that grew longest ago; if there is none, the
//!                oldest page of the page list; pages in order of address
//! ```
//!
//! A hot page in an otherwise cold block would keep that block in `block-lru`; here it stays alone, and the cold pages
//! leave once no more come. In `page-lru` these would leave one by one, and each could open a log block.
//!
//! Only the abstracts could be read here: two lists, an adaptive border, and clusters of low spatial locality that are
//! found while the drive runs. Choices of ours are that a hit moves the border as ghosts do in ARC (Megiddo and Modha,
//! FAST 2003), but without their quotient; that a page enters by the block list; what an idle cluster is, that idle
//! ones are sorted by size, as in `clc`, and those of equal size by their last change; and the defaults. A page that
//! comes back does not make its cluster grow, but a cluster of its own is new. Reads change nothing, because the buffer
//! holds writes. O(1) an operation, over many; a victim costs the sorting of its pages.

use super::prelude::*;

params! {
    /// Parameters of BPAC.
    pub struct BpacParams {
        /// Share of the buffer that the page list may take at first.
        page_share: f64 => "page_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.5),
            "Hits move the border from there; the nearer it is to where they move it, the fewer it takes.";
        /// Number of pages by which a hit moves the border.
        step: u32 => "step", Kind::Count { min: 0, max: 1 << 20 }, Value::Count(1),
            "A larger step follows a change sooner and swings more; with 0 the border stays.";
        /// Page writes without a new page after which a cluster is idle, as a share of the buffer's pages.
        idle: f64 => "idle", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.25),
            "A smaller share evicts large clusters sooner, a larger one lets pages that come late still join theirs.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "bpac",
    summary: "keeps pages that are written again apart from clusters of a block, and evicts clusters",
    details: "A page that is written again goes to a page list, whose size follows what hits tell; every other page is \
              in the cluster of its logical block. A victim is the largest cluster to which no page came lately, in \
              order of address. How the border moves and when a cluster is idle are choices made here.",
    source: "Wu, Eckart and He: BPAC, MSST 2010; ACM Transactions on Storage 8(1), 2012, which ParDispatcher cites as \
             [21]",
    example: "buffer.order=bpac buffer.bpac.idle=0.5 ftl.mapping=bast workload.synthetic.pattern=zipf",
    instead: "With a page-level mapping clusters save no merges: use `page-lru`. Where whole blocks are written again, \
              `block-lru` keeps them together.",
    offers: &[Capability::SAVED_STATE],
    params: BpacParams::PARAMS,
    statistics: &[
        Statistic::count("page_hits", "Writes of pages that the page list held."),
        Statistic::count("block_hits", "Writes of pages that the block list held."),
        Statistic::count("idle_victims", "Victims that were idle clusters."),
        Statistic::count("border", "Number of pages that the page list may hold at the end."),
    ],
    ..PolicySpec::BLANK
};

pub(super) struct Bpac {
    step: u32,
    capacity: u32,
    idle_writes: u32,
    /// The page list, the number of its pages, and the most that it may have.
    pages: Lists<SlotId>,
    listed: u32,
    border: u32,
    lpns: Vec<Lpn>,
    /// Pages of the block list that have come back from the page list.
    came_back: Vec<bool>,
    /// The block list: its clusters, those that are not idle by age, and the others by size.
    clusters: Groups,
    growing: Lists<u32>,
    idle: Sizes,
    is_idle: Vec<bool>,
    /// Number of page writes when a cluster grew last.
    grown_at: Vec<u32>,
    /// Page writes so far; it may wrap, because only recent differences count.
    writes: u32,
    evicted: Evicted,
    page_hits: u64,
    block_hits: u64,
    idle_victims: u64,
}

flashloom_units::state! {
    Bpac {
        nested pages, lpns, came_back, clusters, growing, idle, is_idle, grown_at, evicted;
        value listed, writes, page_hits, block_hits, idle_victims;
        below border [*capacity + 1];
        fixed step, capacity, idle_writes;
    }
}

impl Bpac {
    pub(super) fn new(params: BpacParams, on: &OrderSetup) -> Self {
        let OrderSetup { pages, pages_per_block, .. } = *on;
        let BpacParams { page_share, step, idle } = params;
        let share = |share: f64| (f64::from(pages) * share).ceil() as u32;
        Self {
            step,
            capacity: pages,
            idle_writes: share(idle),
            pages: Lists::new(pages, 1),
            listed: 0,
            border: share(page_share),
            lpns: vec![Lpn::NONE; pages as usize],
            came_back: vec![false; pages as usize],
            clusters: Groups::new(pages, pages_per_block),
            growing: Lists::new(pages, 1),
            idle: Sizes::new(pages, pages_per_block.min(pages)),
            is_idle: vec![false; pages as usize],
            grown_at: vec![0; pages as usize],
            writes: 0,
            evicted: Evicted::new(pages),
            page_hits: 0,
            block_hits: 0,
            idle_victims: 0,
        }
    }

    /// Puts a cluster that has grown at the young end.
    fn grow(&mut self, cluster: u32) {
        self.growing.push_back(0, cluster);
        self.grown_at[cluster as usize] = self.writes;
    }

    /// Removes a cluster from the clusters of its kind.
    fn unlist(&mut self, cluster: u32) {
        if std::mem::take(&mut self.is_idle[cluster as usize]) {
            self.idle.remove(cluster);
        } else {
            self.growing.remove(cluster);
        }
    }

    /// Sorts a cluster anew whose number of pages has changed though it did not grow.
    fn resize(&mut self, cluster: u32, pages: u32) {
        if self.is_idle[cluster as usize] {
            self.idle.update(cluster, pages);
        }
    }

    /// Removes a page from its cluster.
    fn leave_cluster(&mut self, slot: SlotId) {
        match self.clusters.remove(slot) {
            (cluster, 0) => self.unlist(cluster),
            (cluster, left) => self.resize(cluster, left),
        }
    }

    /// Moves the oldest page of the page list back to its cluster.
    fn bring_back(&mut self) {
        let Some(oldest) = self.pages.pop_front(0) else { return };
        self.listed -= 1;
        self.came_back[oldest.at()] = true;
        match self.clusters.insert(oldest, self.lpns[oldest.at()]) {
            (cluster, 1) => self.grow(cluster),
            (cluster, pages) => self.resize(cluster, pages),
        }
    }

    /// After a page write: the page list keeps to its border, and clusters become idle.
    fn settle(&mut self) {
        while self.listed > self.border {
            self.bring_back();
        }
        while let Some(oldest) = self.growing.front(0)
            && self.writes.wrapping_sub(self.grown_at[oldest as usize]) >= self.idle_writes
        {
            self.growing.remove(oldest);
            self.is_idle[oldest as usize] = true;
            self.idle.push(oldest, self.clusters.pages(oldest));
        }
    }

    /// Removes the next victim from the clusters of its kind.
    fn take_victim(&mut self) -> Option<u32> {
        if let Some(largest) = self.idle.take_largest() {
            self.is_idle[largest as usize] = false;
            self.idle_victims += 1;
            return Some(largest);
        }
        if self.growing.is_empty(0) {
            self.bring_back();
        }
        self.growing.pop_front(0)
    }
}

flashloom_units::component! { Bpac: page_hits, block_hits, idle_victims, border }

impl Order for Bpac {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        self.writes = self.writes.wrapping_add(1);
        self.lpns[slot.at()] = lpn;
        self.came_back[slot.at()] = false;
        if self.evicted.forget(self.clusters.block_of(lpn)) {
            self.border = self.border.saturating_sub(self.step);
        }
        let (cluster, pages) = self.clusters.insert(slot, lpn);
        if pages > 1 {
            self.unlist(cluster);
        }
        self.grow(cluster);
        self.settle();
    }

    fn touched(&mut self, slot: SlotId, _lpn: Lpn) {
        self.writes = self.writes.wrapping_add(1);
        if self.pages.contains(slot) {
            self.page_hits += 1;
            self.pages.remove(slot);
        } else {
            self.block_hits += 1;
            if self.came_back[slot.at()] {
                self.border = self.border.saturating_add(self.step).min(self.capacity);
            }
            self.leave_cluster(slot);
            self.listed += 1;
        }
        self.pages.push_back(0, slot);
        self.settle();
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        if self.pages.contains(slot) {
            self.pages.remove(slot);
            self.listed -= 1;
        } else {
            self.leave_cluster(slot);
        }
    }

    fn evicts_blocks(&self) -> bool {
        true
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        if let Some(cluster) = self.take_victim() {
            self.evicted.add(self.clusters.block(cluster), self.clusters.pages(cluster));
            self.clusters.take(cluster, pages);
        }
    }

    fn check_dirty(&self, dirty: u32) -> Result<(), Violation> {
        let listed = self.pages.iter(0).count() as u32;
        let (counted, border) = (self.listed, self.border);
        let is_sound = listed == counted && listed <= border;
        ensure!(is_sound, "bpac: {listed} pages in the page list, counted {counted}, border {border}");
        let ages = self.growing.iter(0).map(|cluster| self.writes.wrapping_sub(self.grown_at[cluster as usize]));
        let is_sorted = ages.is_sorted_by(|older, younger| older >= younger);
        ensure!(is_sorted, "bpac: clusters are not sorted by when they grew");
        let is_cluster = |&cluster: &u32| self.is_idle[cluster as usize] || self.growing.contains(cluster);
        let in_clusters: u32 = (0..self.capacity).filter(is_cluster).map(|cluster| self.clusters.pages(cluster)).sum();
        let is_all = listed + in_clusters == dirty;
        ensure!(is_all, "bpac: {listed} pages in the page list, {in_clusters} in clusters, but {dirty} are dirty");
        Ok(())
    }
}

/// The blocks of the pages that were evicted last.
struct Evicted {
    /// A ring of the blocks, one entry a page, and the place of the next one.
    blocks: Vec<Lbn>,
    next: usize,
    /// Last place of each block that is not forgotten.
    index: Index,
}

flashloom_units::state! { Evicted { nested blocks, index; below next [blocks.len()]; } }

impl Evicted {
    fn new(pages: u32) -> Self {
        Self { blocks: vec![Lbn::NONE; pages as usize], next: 0, index: Index::new(pages) }
    }

    fn add(&mut self, block: Lbn, pages: u32) {
        for _ in 0..pages {
            let place = self.next as u32;
            let oldest = std::mem::replace(&mut self.blocks[self.next], block);
            if oldest != Lbn::NONE {
                self.index.remove_from(oldest.0, place);
            }
            self.index.set(block.0, place);
            self.next = (self.next + 1) % self.blocks.len();
        }
    }

    /// True if the block is among them; it then is no longer.
    fn forget(&mut self, block: Lbn) -> bool {
        let is_known = self.index.get(block.0).is_some();
        self.index.remove(block.0);
        is_known
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use flashloom_units::Value;

    use crate::order::model::{Naive, PAGES_PER_BLOCK, ROOM, assert_same_victims};

    /// A page of a cluster, and whether it has come back from the page list.
    type Member = (u32, bool);

    struct Cluster {
        block: u32,
        members: Vec<Member>,
        grown_at: u32,
        /// Time of the last change of an idle cluster.
        changed_at: Option<u32>,
    }

    /// The page list, the oldest first, and all clusters in any order.
    struct Lists {
        list: Vec<u32>,
        border: usize,
        step: usize,
        idle: u32,
        clusters: Vec<Cluster>,
        evicted: VecDeque<Option<u32>>,
        writes: u32,
        changes: u32,
        /// Writes of pages in the list and in clusters, and idle clusters evicted.
        counts: [u64; 3],
    }

    impl Lists {
        fn new(page_share: f64, step: usize, idle: f64) -> Self {
            let share = |share: f64| (ROOM as f64 * share).ceil() as usize;
            let (border, idle) = (share(page_share), share(idle) as u32);
            let (list, clusters, evicted) = (Vec::new(), Vec::new(), VecDeque::from(vec![None; ROOM]));
            Self { list, border, step, idle, clusters, evicted, writes: 0, changes: 0, counts: [0; 3] }
        }

        fn cluster(&mut self, block: u32) -> Option<&mut Cluster> {
            self.clusters.iter_mut().find(|cluster| cluster.block == block)
        }

        /// Adds a page; `grows` if it comes from the host.
        fn add(&mut self, member: Member, grows: bool) {
            let (block, writes) = (member.0 / PAGES_PER_BLOCK, self.writes);
            self.changes += 1;
            let changes = self.changes;
            let Some(cluster) = self.cluster(block) else {
                let (members, grown_at) = (vec![member], writes);
                return self.clusters.push(Cluster { block, members, grown_at, changed_at: None });
            };
            cluster.members.push(member);
            if grows {
                (cluster.grown_at, cluster.changed_at) = (writes, None);
                // Of two that grew at one time the last comes last.
                let at = self.clusters.iter().position(|cluster| cluster.block == block).unwrap();
                let cluster = self.clusters.remove(at);
                self.clusters.push(cluster);
            } else if cluster.changed_at.is_some() {
                cluster.changed_at = Some(changes);
            }
        }

        /// Removes a page from its cluster; returns it as it was, if it was there.
        fn take(&mut self, lpn: u32) -> Option<Member> {
            self.changes += 1;
            let changes = self.changes;
            let cluster = self.cluster(lpn / PAGES_PER_BLOCK)?;
            let at = cluster.members.iter().position(|member| member.0 == lpn)?;
            let member = cluster.members.remove(at);
            cluster.changed_at = cluster.changed_at.map(|_| changes);
            self.clusters.retain(|cluster| !cluster.members.is_empty());
            Some(member)
        }

        fn settle(&mut self) {
            while self.list.len() > self.border {
                let oldest = self.list.remove(0);
                self.add((oldest, true), false);
            }
            for cluster in &mut self.clusters {
                if self.writes - cluster.grown_at >= self.idle && cluster.changed_at.is_none() {
                    self.changes += 1;
                    cluster.changed_at = Some(self.changes);
                }
            }
        }
    }

    impl Naive for Lists {
        fn written(&mut self, lpn: u32, is_new: bool) {
            self.writes += 1;
            if is_new {
                let block = Some(lpn / PAGES_PER_BLOCK);
                if self.evicted.contains(&block) {
                    self.border = self.border.saturating_sub(self.step);
                    self.evicted.iter_mut().filter(|known| **known == block).for_each(|known| *known = None);
                }
                self.add((lpn, false), true);
            } else {
                let from_list = self.list.iter().position(|&page| page == lpn).map(|at| self.list.remove(at));
                self.counts[usize::from(from_list.is_none())] += 1;
                if from_list.is_none() && self.take(lpn).unwrap().1 {
                    self.border = (self.border + self.step).min(ROOM);
                }
                self.list.push(lpn);
            }
            self.settle();
        }

        fn removed(&mut self, lpn: u32) {
            self.list.retain(|&page| page != lpn);
            self.take(lpn);
        }

        fn victim(&mut self) -> Vec<u32> {
            let idle = self.clusters.iter().filter(|cluster| cluster.changed_at.is_some());
            let largest = idle.max_by_key(|cluster| (cluster.members.len(), std::cmp::Reverse(cluster.changed_at)));
            self.counts[2] += u64::from(largest.is_some());
            let oldest = self.clusters.iter().min_by_key(|cluster| cluster.grown_at);
            let Some(block) = largest.or(oldest).map(|cluster| cluster.block) else {
                if self.list.is_empty() {
                    return Vec::new();
                }
                let oldest = self.list.remove(0);
                self.add((oldest, true), false);
                return self.victim();
            };
            let at = self.clusters.iter().position(|cluster| cluster.block == block).unwrap();
            let mut pages: Vec<u32> = self.clusters.remove(at).members.iter().map(|member| member.0).collect();
            pages.sort();
            for _ in &pages {
                self.evicted.pop_front();
                self.evicted.push_back(Some(block));
            }
            pages
        }

        fn counts(&self) -> Vec<u64> {
            [&self.counts[..], &[self.border as u64]].concat()
        }
    }

    #[test]
    fn victims_are_those_of_plain_lists() {
        for (page_share, step, idle) in
            [(0.5, 1, 0.25), (0.0, 0, 1.0), (0.5, 0, 0.5), (1.0, 0, 0.0), (0.1, 5, 0.1), (1.0, 100, 0.4)]
        {
            let set =
                [("page_share", Value::Ratio(page_share)), ("step", Value::Count(step)), ("idle", Value::Ratio(idle))];
            assert_same_victims("bpac", &set, Lists::new(page_share, step as usize, idle));
        }
    }
}
