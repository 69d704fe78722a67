//! The one-way elevator with short back seeks that anticipatory and cfq share.
//!
//! Of two requests ahead of the head the nearer one goes first. The distance of one behind the head is multiplied by
//! `back_penalty`; one that lies more than `back_seek_max` behind waits until the head has come round, and of two such
//! the lower goes first. Source: Linux 2.6.32, `as_choose_req` and `cfq_choose_req`.

use std::cmp::Reverse;

use crate::id::RequestId;
use crate::sorted::Forest;

/// Limit and penalty of back seeks.
#[derive(Clone, Copy, Debug)]
pub struct Elevator {
    /// Longest back seek, in sectors.
    pub back_seek_max_sectors: u64,
    /// Factor by which the distance of a back seek is multiplied.
    pub back_penalty: u64,
}

impl Elevator {
    /// Sorting key, smaller is better: reached only after a wrap-around or not, then distance; at equal distance, the
    /// higher address.
    fn rank(&self, head: u64, lba: u64) -> (bool, u64, Reverse<u64>) {
        if lba >= head {
            (false, lba - head, Reverse(lba))
        } else if head - lba <= self.back_seek_max_sectors {
            (false, (head - lba).saturating_mul(self.back_penalty), Reverse(lba))
        } else {
            (true, lba, Reverse(0))
        }
    }

    /// Returns the better of two requests for a head at sector `head`; the first if they are equal.
    pub fn better(
        &self,
        forest: &Forest<RequestId>,
        head: u64,
        first: Option<RequestId>,
        second: Option<RequestId>,
    ) -> Option<RequestId> {
        first.into_iter().chain(second).min_by_key(|&id| self.rank(head, forest.key(id)))
    }

    /// Returns the request to serve after another of the same tree: the better of the next one (after the last, the
    /// first) and the previous one.
    pub fn following(&self, forest: &Forest<RequestId>, tree: usize, head: u64, id: RequestId) -> Option<RequestId> {
        let after = forest.next(tree, id).or_else(|| forest.first(tree).filter(|&first| first != id));
        self.better(forest, head, after, forest.prev(tree, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ahead_counts_once_behind_twice_and_far_behind_comes_last() {
        let elevator = Elevator { back_seek_max_sectors: 100, back_penalty: 2 };
        let mut forest = Forest::new(6, 1);
        let sectors = [1_060, 970, 1_061, 10, 20, 1_000];
        sectors.iter().enumerate().for_each(|(id, &lba)| forest.insert(0, RequestId(id as u32), lba));
        let better =
            |a: u32, b: u32| elevator.better(&forest, 1_000, Some(RequestId(a)), Some(RequestId(b))).unwrap().0;
        assert_eq!(better(0, 1), 0, "60 ahead is as far as 30 behind, and the higher wins");
        assert_eq!(better(1, 2), 1, "30 behind is nearer than 61 ahead");
        assert_eq!(better(3, 2), 2, "what is behind by more than the limit waits");
        assert_eq!(better(4, 3), 3, "of two far behind the lower comes first");
        assert_eq!(elevator.following(&forest, 0, 1_061, RequestId(2)), Some(RequestId(0)), "a short back seek");
        assert_eq!(elevator.following(&forest, 0, 5_000, RequestId(2)), Some(RequestId(3)), "round the end");
    }
}
