//! Belady: the fewest pages that any order and rate of eviction sends to flash for a sequence of page writes.
//!
//! ```text
//! a stay:     a page that is written stays in the buffer until it is written again, or is discarded, and is not
//!             programmed in between; no stay outlasts a flush, and a durable write (FUA) begins none
//! at a write: a stay that ends here is saved, as at a discard; then, while the other stays and the page written need
//!             more than the capacity, give up the stay that ends last
//! at the end: all stays that are left are saved
//! pages sent to flash = page writes - stays saved
//! ```
//!
//! Belady, IBM Systems Journal 5(2), 1966: evict what is used farthest in the future. Each stay saves one program,
//! whatever page it is of, so the most are saved by giving up the one that ends last: an exchange with any other
//! choice loses nothing. A real buffer is more constrained than this one: a page on its way to flash keeps its slot, a
//! clean page takes one, victims leave as blocks or before a write needs their room. So the figures are bounds for
//! every order and every rate, and exact for one that evicts single pages on demand, in counting mode.
//!
//! It needs the future, so it is a function of a recorded sequence, and no policy in the table: a policy in
//! a drive cannot know what the host will ask. O(log capacity) an access, after a sort of the sequence.

use std::collections::BTreeSet;

/// An access to the write buffer that matters to what it sends to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A page is written, whole or in part.
    Write {
        /// Which page.
        lpn: u32,
        /// Whether it is to be in flash when its write completes (FUA).
        is_durable: bool,
    },
    /// A whole page is discarded: what the buffer holds of it is never programmed.
    Discard {
        /// Which page.
        lpn: u32,
    },
    /// Everything dirty is programmed.
    Flush,
}

impl Access {
    fn page(self) -> Option<u32> {
        match self {
            Self::Write { lpn, .. } | Self::Discard { lpn } => Some(lpn),
            Self::Flush => None,
        }
    }

    fn is_write(self) -> bool {
        matches!(self, Self::Write { .. })
    }
}

/// The best that any buffer of a capacity does with a sequence of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// Page writes of the sequence.
    pub page_writes: u64,
    /// The most page writes that find their page dirty in the buffer.
    pub write_hits: u64,
    /// The fewest pages that are sent to flash by the end, when dirty pages may stay. A sequence that ends with a
    /// flush sends these too.
    pub evicted_pages: u64,
}

/// The best that a buffer of `capacity` pages, which is empty at first, can do.
///
/// The most hits and the fewest evictions are two optima: the first gains nothing by keeping a page until it is
/// discarded or the sequence ends, the second does.
pub fn best(accesses: &[Access], capacity: u32) -> Best {
    assert!(capacity > 0, "a drive without a buffer has no order of eviction");
    assert!(accesses.len() < u32::MAX as usize / 2, "the places of accesses and the ends of stays are 32-bit numbers");
    let ends = Stays::of(accesses);
    let page_writes = accesses.iter().filter(|access| access.is_write()).count() as u64;
    let is_rewritten = |end: u32| accesses.get(end as usize).is_some_and(|access| access.is_write());
    let write_hits = most_saved(accesses, capacity, |at| ends.of_write(at).filter(|&end| is_rewritten(end)));
    let saved = most_saved(accesses, capacity, |at| ends.of_write(at));
    Best { page_writes, write_hits, evicted_pages: page_writes - saved }
}

/// Where the stay that begins at each access ends: at a later access, or beyond the last one.
struct Stays(Vec<u32>);

impl Stays {
    const NONE: u32 = u32::MAX;

    fn of(accesses: &[Access]) -> Self {
        let all = accesses.len() as u32;
        let flushes: Vec<u32> = (0..all).filter(|&at| accesses[at as usize] == Access::Flush).collect();
        let flush_after = |at: u32| flushes.get(flushes.partition_point(|&flush| flush < at)).copied().unwrap_or(all);
        let mut by_page: Vec<u32> = (0..all).filter(|&at| accesses[at as usize].page().is_some()).collect();
        by_page.sort_unstable_by_key(|&at| (accesses[at as usize].page(), at));
        let mut ends = vec![Self::NONE; accesses.len()];
        for (place, &at) in by_page.iter().enumerate() {
            let page = accesses[at as usize].page();
            let next = by_page.get(place + 1).filter(|&&next| accesses[next as usize].page() == page);
            let stays = matches!(accesses[at as usize], Access::Write { is_durable: false, .. });
            match next {
                Some(&next) if stays && next < flush_after(at) => ends[at as usize] = next,
                // Each stay that outlasts the sequence has an end of its own, behind every other.
                None if stays && flush_after(at) == all => ends[at as usize] = all + at,
                _ => {}
            }
        }
        Self(ends)
    }

    fn of_write(&self, at: usize) -> Option<u32> {
        Some(self.0[at]).filter(|&end| end != Self::NONE)
    }
}

/// The most stays that a buffer has room for; `end` says where the one that begins at an access ends.
fn most_saved(accesses: &[Access], capacity: u32, end: impl Fn(usize) -> Option<u32>) -> u64 {
    let (mut kept, mut saved) = (BTreeSet::new(), 0);
    for (at, access) in accesses.iter().enumerate() {
        saved += u64::from(kept.remove(&(at as u32)));
        if access.is_write() {
            while kept.len() >= capacity as usize {
                kept.pop_last();
            }
            kept.extend(end(at));
        }
    }
    saved + kept.len() as u64
}

#[cfg(test)]
mod tests {
    use flashloom_units::Prng;

    use super::*;

    fn write(lpn: u32) -> Access {
        Access::Write { lpn, is_durable: false }
    }

    fn writes(lpns: &[u32]) -> Vec<Access> {
        lpns.iter().map(|&lpn| write(lpn)).collect()
    }

    /// Of all ways to evict: the most hits, and the fewest pages sent to flash.
    fn of_all(accesses: &[Access], capacity: usize, dirty: &BTreeSet<u32>) -> (u64, u64) {
        let Some((&access, later)) = accesses.split_first() else { return (0, 0) };
        let add = |(hits, evicted): (u64, u64), hit: bool, sent: usize| (hits + u64::from(hit), evicted + sent as u64);
        match access {
            Access::Flush => add(of_all(later, capacity, &BTreeSet::new()), false, dirty.len()),
            Access::Discard { lpn } => {
                let rest: BTreeSet<u32> = dirty.iter().copied().filter(|&other| other != lpn).collect();
                of_all(later, capacity, &rest)
            }
            Access::Write { lpn, is_durable } => {
                let (mut hits, mut evicted) = (0, u64::MAX);
                // Any set of the other pages may leave before the write, as far as there is room for the page then.
                let others: Vec<u32> = dirty.iter().copied().filter(|&other| other != lpn).collect();
                let is_hit = dirty.contains(&lpn);
                for leaving in 0u32..1 << others.len() {
                    let stays = |place: &usize| leaving & 1 << place == 0;
                    let mut left: BTreeSet<u32> = (0..others.len()).filter(stays).map(|place| others[place]).collect();
                    if left.len() >= capacity {
                        continue;
                    }
                    left.extend((!is_durable).then_some(lpn));
                    let sent = leaving.count_ones() as usize + usize::from(is_durable);
                    let found = add(of_all(later, capacity, &left), is_hit, sent);
                    (hits, evicted) = (hits.max(found.0), evicted.min(found.1));
                }
                (hits, evicted)
            }
        }
    }

    #[test]
    fn no_way_to_evict_beats_it_and_one_reaches_it() {
        let mut prng = Prng::new(7).branch("belady");
        for case in 0..400 {
            let length = 1 + prng.below(9);
            let access = |prng: &mut Prng| match prng.below(12) {
                0 => Access::Flush,
                1 | 2 => Access::Discard { lpn: prng.below(5) as u32 },
                3 => Access::Write { lpn: prng.below(5) as u32, is_durable: true },
                _ => write(prng.below(5) as u32),
            };
            let accesses: Vec<Access> = (0..length).map(|_| access(&mut prng)).collect();
            for capacity in 1..4 {
                let (write_hits, evicted_pages) = of_all(&accesses, capacity as usize, &BTreeSet::new());
                let page_writes = accesses.iter().filter(|access| access.is_write()).count() as u64;
                let expected = Best { page_writes, write_hits, evicted_pages };
                assert_eq!(best(&accesses, capacity), expected, "case {case}, {capacity} pages: {accesses:?}");
            }
        }
    }

    #[test]
    fn the_page_that_is_written_farthest_in_the_future_leaves() {
        // LRU would evict 1 for 3, and miss it right after.
        let Best { page_writes, write_hits, evicted_pages } = best(&writes(&[1, 2, 3, 1, 3, 2]), 2);
        assert_eq!((page_writes, write_hits, evicted_pages), (6, 2, 2));
    }
}
