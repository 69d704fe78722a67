//! Streams: runs of consecutive pages, from the first page of a logical block, among the pages of one write.

use flashloom_nand::Lpn;

use crate::PageWrite;
use crate::streams::StreamReport;

/// Search for streams. O(1) a page.
pub(super) struct Streams {
    pub(super) report: StreamReport,
    pub(super) threshold: u32,
}

flashloom_units::state! { Streams { nested report; fixed threshold; } }

impl Streams {
    /// A search for streams of at least `threshold` pages, two or more.
    pub(super) fn new(threshold: u32) -> Self {
        Self { report: StreamReport { threshold: u64::from(threshold), ..StreamReport::default() }, threshold }
    }

    /// Resets the counters.
    pub(super) fn reset_report(&mut self) {
        *self = Self::new(self.threshold);
    }

    /// The first page of the stream among pages of one logical block that are written together, sorted by address.
    /// `NONE` if the block's first page is missing or too few pages follow it without a gap.
    pub(super) fn find(&mut self, together: &[PageWrite], pages_a_block: u32) -> Lpn {
        let first = together[0].lpn;
        let run = together.iter().zip(first.0..).take_while(|(write, lpn)| write.lpn.0 == *lpn).count() as u64;
        if !first.0.is_multiple_of(pages_a_block) || run < u64::from(self.threshold) {
            return Lpn::NONE;
        }
        self.report.detected += 1;
        self.report.pages += run;
        first
    }
}

#[cfg(test)]
mod tests {
    use flashloom_nand::{HostPage, Nand};

    use super::*;

    #[test]
    fn a_stream_begins_at_offset_0_and_has_no_gap_before_the_threshold() {
        let mut streams = Streams::new(3);
        let mut find = |lpns: &[u32]| {
            let write = |&lpn: &u32| PageWrite::new(HostPage { lpn: Lpn(lpn), mask: 1, write: 0 }, Nand::NO_TAG);
            let first = streams.find(&lpns.iter().map(write).collect::<Vec<_>>(), 8);
            (first.is_some().then_some(first.0), streams.report.pages)
        };
        assert_eq!(find(&[8, 9, 10]), (Some(8), 3));
        assert_eq!(find(&[8, 9, 10, 11, 13]), (Some(8), 7));
        assert_eq!(find(&[8, 9]), (None, 7), "two pages are no stream of three");
        assert_eq!(find(&[8, 9, 11, 12]), (None, 7), "nor are four with a gap");
        assert_eq!(find(&[9, 10, 11, 12]), (None, 7), "nor do they begin anywhere");
    }
}
