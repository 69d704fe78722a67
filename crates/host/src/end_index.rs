//! Index of queued requests by their end sector, for back merges (Linux's elevator hash).
//!
//! A hash table with chains of request identifiers. There are as many chains as the pool has requests (rounded up to a
//! power of two), so that a look-up is O(1) and nothing is allocated. Within a chain the youngest entry comes first.

use flashloom_units::NO_INDEX;

use crate::id::RequestId;
use crate::requests::Requests;

/// Hash table from end sectors to queued requests.
pub struct EndIndex {
    heads: Vec<u32>,
    next: Vec<u32>,
    shift: u32,
}

flashloom_units::state! { EndIndex { nested heads, next; fixed shift; } }

impl EndIndex {
    /// Makes an empty index over the requests `0..capacity`.
    pub fn new(capacity: u32) -> Self {
        let chains = capacity.max(2).next_power_of_two();
        Self {
            heads: vec![NO_INDEX; chains as usize],
            next: vec![NO_INDEX; capacity as usize],
            shift: 64 - chains.trailing_zeros(),
        }
    }

    /// Multiplicative hashing: the high bits of the product with the golden ratio.
    #[inline]
    fn chain(&self, end: u64) -> usize {
        (end.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Adds a request under its end sector.
    #[inline]
    pub fn insert(&mut self, requests: &Requests, id: RequestId) {
        let chain = self.chain(requests[id].end());
        self.next[id.at()] = std::mem::replace(&mut self.heads[chain], id.0);
    }

    /// Removes a request. Its end must not have changed since it was added.
    #[inline]
    pub fn remove(&mut self, requests: &Requests, id: RequestId) {
        let chain = self.chain(requests[id].end());
        let after = self.next[id.at()];
        let mut link = &mut self.heads[chain];
        while *link != id.0 {
            let at = *link as usize;
            link = &mut self.next[at];
        }
        *link = after;
    }

    /// The requests that end at a sector, the last added first.
    pub fn ending_at<'a>(&'a self, requests: &'a Requests, end: u64) -> impl Iterator<Item = RequestId> + 'a {
        let known = |at: u32| (at != NO_INDEX).then_some(RequestId(at));
        let first = known(self.heads[self.chain(end)]);
        std::iter::successors(first, move |id| known(self.next[id.at()])).filter(move |&id| requests[id].end() == end)
    }
}
