//! Runs: consecutive pages of the host that are written together, or came with one request, whatever logical blocks and
//! chips they are on.

use flashloom_nand::Lpn;

use crate::PageWrite;

/// The length of the run that each page of a write is of. O(log n) a page of n; allocates only for a write longer than
/// all before.
#[derive(Default)]
pub(super) struct Runs {
    /// Pages by the address that the log-block FTL uses for them.
    of: Vec<(Lpn, u32)>,
    /// The pages in order of the host's addresses, and the pages of the request that each came with.
    sorted: Vec<(Lpn, u32)>,
}

flashloom_units::state! { Runs { scratch of, sorted; } }

impl Runs {
    /// Finds the runs of a write: a page's is as long as what is written together with it, or as its request if that
    /// was longer. `placed` is the address that the FTL uses for a page.
    pub(super) fn find(&mut self, writes: &[PageWrite], placed: impl Fn(Lpn) -> Lpn) {
        self.sorted.extend(writes.iter().map(|write| (write.lpn, write.hints.request_pages)));
        self.sorted.sort_unstable();
        for run in self.sorted.chunk_by(|(one, _), (other, _)| one.0 + 1 == other.0) {
            let together = run.len() as u32;
            self.of.extend(run.iter().map(|&(lpn, request)| (placed(lpn), together.max(request))));
        }
        self.of.sort_unstable();
        self.sorted.clear();
    }

    /// Forgets the runs, at the end of the write.
    pub(super) fn forget(&mut self) {
        self.of.clear();
    }

    /// The length of the run of a page, by the address that the FTL uses for it.
    pub(super) fn of(&self, lpn: Lpn) -> u32 {
        self.of.binary_search_by_key(&lpn, |&(page, _)| page).map_or(1, |at| self.of[at].1)
    }
}

#[cfg(test)]
mod tests {
    use flashloom_nand::{HostPage, Nand};

    use super::*;
    use crate::PageHints;

    #[test]
    fn a_run_has_no_gap_in_addresses_of_the_host_in_whatever_order_its_pages_come() {
        let write = |lpn| PageWrite::new(HostPage { lpn: Lpn(lpn), mask: 1, write: 0 }, Nand::NO_TAG);
        let mut runs = Runs::default();
        // Pages 3 and 4 are on two blocks; the FTL keeps every page 100 addresses on.
        runs.find(&[4, 3, 5, 9, 7].map(write), |lpn| Lpn(lpn.0 + 100));
        assert_eq!([103, 104, 105, 107, 109].map(|lpn| runs.of(Lpn(lpn))), [3, 3, 3, 1, 1]);
        runs.forget();
        runs.find(&[8, 9].map(write), |lpn| lpn);
        assert_eq!([8, 9].map(|lpn| runs.of(Lpn(lpn))), [2, 2]);
        runs.forget();
        runs.find(&[write(8), write(9).with(PageHints::of_request(6))], |lpn| lpn);
        assert_eq!([8, 9].map(|lpn| runs.of(Lpn(lpn))), [2, 6], "page 9 came with six");
    }
}
