//! CLC, cold and largest cluster: evict the largest of the cold clusters (Kang et al., IEEE Transactions on Computers
//! 58(6), 2009).
//!
//! ```text
//! cluster:  the buffered pages of one logical block (or of `cluster` consecutive pages)
//! written:  move the page's cluster to the young end of the size-independent list
//! then:     while that list has more than `hot_share` of all clusters, rounded up, its oldest one is cold: move it to
//!           the young end of the size-sorted list for its number of pages
//! lost:     a cold cluster that loses a page to a discard or FUA moves to the young end of the list for its new number
//! victim:   the oldest cluster of the size-sorted list for the highest number of pages; if none is cold, the oldest of
//!           the size-independent list; its pages in order of address
//! ```
//!
//! A cluster that was written recently may be written again, however large it is, and stays; among the rest a large
//! cluster merges cheaply. A share of 1 is LRU over clusters, a share of 0 picks the largest like `fab`; with any other
//! the cluster that was written last is hot. The share is of the clusters in the buffer at the moment. O(1) an
//! operation; a victim costs the sorting of its pages.

use super::prelude::*;

params! {
    /// Parameters of CLC.
    pub struct ClcParams {
        /// Number of consecutive pages in a cluster; as many as an erase block has if not given.
        cluster_pages: Option<u32> => "cluster", Kind::Count { min: 1, max: 65_536 }, Value::Absent,
            "Larger clusters evict more neighbouring pages together, and keep more cold pages beside a hot one.";
        /// Share of the clusters that count as hot.
        hot_share: f64 => "hot_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.1),
            "A larger share keeps clusters that may be written again, a smaller one evicts those that merge best.";
    }
}

pub(super) static SPEC: PolicySpec = PolicySpec {
    name: "clc",
    summary: "evicts the largest of the cold clusters of pages",
    details: "Clusters that were written recently are hot and stay in a list that ignores their size; at any \
              share above 0 the one that was written last is among them. Among cold clusters with equally many pages \
              the one leaves that cooled, or lost a page, longest ago. The default of the share is a choice made here. \
              Pages leave in order of address.",
    source: "Kang, Park, Jung, Shim and Cha: Performance Trade-Offs in Using NVRAM Write Buffer for Flash Memory-Based \
             Storage Devices, IEEE Transactions on Computers 58(6), 2009",
    example: "buffer.order=clc buffer.clc.hot_share=0.2 ftl.mapping=bast workload.synthetic.pattern=zipf",
    instead: "Where no page is written more often than the rest, `fab` evicts about the same and has no share to set. \
              With a page-level mapping use `page-lru`.",
    offers: &[Capability::SAVED_STATE],
    params: ClcParams::PARAMS,
    ..PolicySpec::BLANK
};

pub(super) struct Clc {
    clusters: Groups,
    /// Number of clusters, and of hot ones among them.
    count: u32,
    hot_count: u32,
    hot_share: f64,
    /// The size-independent list, and its members.
    hot: Lists<u32>,
    is_hot: Vec<bool>,
    /// The size-sorted lists.
    cold: Sizes,
}

flashloom_units::state! { Clc { nested clusters, hot, is_hot, cold; value count, hot_count; fixed hot_share; } }

impl Clc {
    pub(super) fn new(params: ClcParams, on: &OrderSetup) -> Self {
        let OrderSetup { pages, pages_per_block, .. } = *on;
        let cluster_pages = params.cluster_pages.unwrap_or(pages_per_block);
        Self {
            clusters: Groups::new(pages, cluster_pages),
            count: 0,
            hot_count: 0,
            hot_share: params.hot_share,
            hot: Lists::new(pages, 1),
            is_hot: vec![false; pages as usize],
            cold: Sizes::new(pages, cluster_pages.min(pages)),
        }
    }

    /// Removes a cluster from its list.
    fn unlist(&mut self, cluster: u32) {
        if std::mem::take(&mut self.is_hot[cluster as usize]) {
            self.hot.remove(cluster);
            self.hot_count -= 1;
        } else {
            self.cold.remove(cluster);
        }
    }

    fn make_hottest(&mut self, cluster: u32) {
        self.hot.push_back(0, cluster);
        self.is_hot[cluster as usize] = true;
        self.hot_count += 1;
        self.cool();
    }

    /// Moves the oldest hot clusters to the size-sorted lists until the hot ones do not exceed their share.
    fn cool(&mut self) {
        let most = (f64::from(self.count) * self.hot_share).ceil() as u32;
        while self.hot_count > most
            && let Some(oldest) = self.hot.front(0)
        {
            self.unlist(oldest);
            self.cold.push(oldest, self.clusters.pages(oldest));
        }
    }

    fn take_oldest_hot(&mut self) -> Option<u32> {
        let oldest = self.hot.front(0)?;
        self.unlist(oldest);
        Some(oldest)
    }
}

flashloom_units::component! { Clc }

impl Order for Clc {
    fn inserted(&mut self, slot: SlotId, lpn: Lpn) {
        let (cluster, pages) = self.clusters.insert(slot, lpn);
        if pages > 1 {
            self.unlist(cluster);
        } else {
            self.count += 1;
        }
        self.make_hottest(cluster);
    }

    fn touched(&mut self, _slot: SlotId, lpn: Lpn) {
        let (cluster, _) = self.clusters.of(lpn);
        self.unlist(cluster);
        self.make_hottest(cluster);
    }

    fn removed(&mut self, slot: SlotId, _lpn: Lpn) {
        let (cluster, left) = self.clusters.remove(slot);
        if left == 0 {
            self.unlist(cluster);
            self.count -= 1;
            self.cool();
        } else if !self.is_hot[cluster as usize] {
            self.cold.update(cluster, left);
        }
    }

    fn evicts_blocks(&self) -> bool {
        true
    }

    fn victim(&mut self, pages: &mut Vec<SlotId>) {
        if let Some(cluster) = self.cold.take_largest().or_else(|| self.take_oldest_hot()) {
            self.clusters.take(cluster, pages);
            self.count -= 1;
            self.cool();
        }
    }
}

#[cfg(test)]
mod tests {
    use flashloom_units::Value;

    use crate::order::model::{Block, Naive, assert_same_victims, take, take_written};

    /// The hot clusters in order of their last write, the cold ones of when they cooled or lost a page; the oldest
    /// first.
    struct Clusters {
        hot: Vec<Block>,
        cold: Vec<Block>,
        hot_share: f64,
    }

    impl Clusters {
        fn cool(&mut self) {
            while self.hot.len() as f64 > ((self.hot.len() + self.cold.len()) as f64 * self.hot_share).ceil() {
                self.cold.push(self.hot.remove(0));
            }
        }
    }

    impl Naive for Clusters {
        fn written(&mut self, lpn: u32, _is_new: bool) {
            let cold = take(&mut self.cold, lpn);
            self.hot.extend(cold);
            let cluster = take_written(&mut self.hot, lpn);
            self.hot.push(cluster);
            self.cool();
        }

        fn removed(&mut self, lpn: u32) {
            if let Some(mut cluster) = take(&mut self.cold, lpn) {
                cluster.pages.retain(|&page| page != lpn);
                self.cold.extend((!cluster.pages.is_empty()).then_some(cluster));
            }
            self.hot.iter_mut().for_each(|cluster| cluster.pages.retain(|&page| page != lpn));
            self.hot.retain(|cluster| !cluster.pages.is_empty());
            self.cool();
        }

        fn victim(&mut self) -> Vec<u32> {
            let largest = self.cold.iter().map(|cluster| cluster.pages.len()).max();
            let victim = match self.cold.iter().position(|cluster| Some(cluster.pages.len()) == largest) {
                Some(at) => self.cold.remove(at).victim(),
                None if self.hot.is_empty() => Vec::new(),
                None => self.hot.remove(0).victim(),
            };
            self.cool();
            victim
        }
    }

    #[test]
    fn victims_are_those_of_sorted_lists() {
        for hot_share in [0.0, 0.1, 0.3, 0.75, 1.0] {
            let set = [("hot_share", Value::Ratio(hot_share))];
            assert_same_victims("clc", &set, Clusters { hot: Vec::new(), cold: Vec::new(), hot_share });
        }
    }
}
