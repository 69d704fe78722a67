//! Spread of array times: no two blocks and no two pages of a type are alike.
//!
//! ```text
//! time of a read, program = time of its page type * (1 + spread * (b + p) / 2)
//! time of an erase        = tBERS * (1 + spread * b)
//! b, p                    = drawn once for the block, for the page: evenly from -1 to 1
//! ```
//!
//! The draws are hashes of block or page, kind of operation, and a seed of the branch "spread" of the run's seed. So
//! they take no memory, stay for the life of the drive, and do not depend on what the drive does. The mean of all pages
//! is the time of their type; the slowest takes 1 + spread of it at most.

use flashloom_units::{Ns, Prng};

use crate::event::{KINDS, OperationKind};
use crate::id::BlockId;
use crate::params::NandParams;

/// Parts of 1 in which spreads and draws are kept, so that times are those of integers.
const PARTS: i64 = 1_000_000;

/// The spread of each kind of operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    seed: u64,
    read: i64,
    program: i64,
    erase: i64,
}

impl Spread {
    /// Nothing where every page of a type takes the same time.
    pub(crate) fn new(params: &NandParams, prng: &Prng) -> Option<Self> {
        let parts = |share: f64| (share * PARTS as f64).round() as i64;
        let [read, program, erase] = [params.read_spread, params.program_spread, params.erase_spread].map(parts);
        let seed = prng.branch("spread").bits();
        ((read, program, erase) != (0, 0, 0)).then_some(Self { seed, read, program, erase })
    }

    /// The time of an operation on a page, whose times on average are given by kind.
    pub(crate) fn time_ns(&self, means: &[Ns; KINDS], block: BlockId, page: u16, kind: OperationKind) -> Ns {
        let of_page = |kind, spread| {
            let draws = self.draw(block, kind, None) + self.draw(block, kind, Some(page));
            stretched(means[kind as usize], spread * draws / (2 * PARTS))
        };
        let read_ns = || of_page(OperationKind::Read, self.read);
        let program_ns = || of_page(OperationKind::Program, self.program);
        match kind {
            OperationKind::Read => read_ns(),
            OperationKind::Program => program_ns(),
            OperationKind::Copyback => read_ns() + program_ns(),
            OperationKind::Erase | OperationKind::Hold => {
                let draw = self.draw(block, OperationKind::Erase, None);
                stretched(means[kind as usize], self.erase * draw / PARTS)
            }
        }
    }

    /// The draw of a block, or of one of its pages: from -[`PARTS`] to [`PARTS`].
    fn draw(&self, block: BlockId, kind: OperationKind, page: Option<u16>) -> i64 {
        let page = page.map_or(u64::from(u16::MAX) + 1, u64::from);
        let subject = u64::from(block.0) << 20 | page << 2 | kind as u64;
        Prng::new(self.seed ^ subject.wrapping_mul(0x9e37_79b9_7f4a_7c15)).below(2 * PARTS as u64 + 1) as i64 - PARTS
    }
}

fn stretched(ns: Ns, by: i64) -> Ns {
    (ns as i64 + ns as i64 * by / PARTS) as Ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use OperationKind::{Erase, Program, Read};
    use flashloom_units::ParamSet;

    const MEAN_NS: Ns = 100_000;

    fn spread(read_spread: f64, erase_spread: f64, seed: u64) -> Option<Spread> {
        let params = NandParams { read_spread, erase_spread, ..NandParams::defaults() };
        Spread::new(&params, &Prng::new(seed))
    }

    /// The time of an operation that takes [`MEAN_NS`] on average.
    fn time_ns(spread: &Spread, kind: OperationKind, block: u32, page: u16) -> Ns {
        spread.time_ns(&[MEAN_NS; KINDS], BlockId(block), page, kind)
    }

    /// Mean, shortest and longest of times.
    fn summary(times: &[Ns]) -> (f64, Ns, Ns) {
        let mean = times.iter().sum::<Ns>() as f64 / times.len() as f64;
        (mean, *times.iter().min().unwrap(), *times.iter().max().unwrap())
    }

    #[test]
    fn without_a_spread_there_is_nothing_to_ask() {
        assert!(spread(0.0, 0.0, 1).is_none());
    }

    /// The sum of two even draws lies in a triangle: its ends are rare, its mean is that of the type.
    #[test]
    fn pages_keep_their_mean_and_their_bounds() {
        let spread = spread(0.2, 0.5, 1).unwrap();
        let reads: Vec<Ns> = (0..400)
            .flat_map(|block| (0..100).map(move |page| (block, page)))
            .map(|(block, page)| time_ns(&spread, Read, block, page))
            .collect();
        let (mean, shortest, longest) = summary(&reads);
        assert!((mean / MEAN_NS as f64 - 1.0).abs() < 0.01, "mean {mean}");
        assert!((80_000..82_000).contains(&shortest) && (118_000..=120_000).contains(&longest), "{shortest} {longest}");
        let erases: Vec<Ns> = (0..4_000).map(|block| time_ns(&spread, Erase, block, 0)).collect();
        let (mean, shortest, longest) = summary(&erases);
        assert!((mean / MEAN_NS as f64 - 1.0).abs() < 0.02, "mean {mean}");
        assert!((50_000..50_200).contains(&shortest) && (149_800..=150_000).contains(&longest), "{shortest} {longest}");
        assert_eq!(time_ns(&spread, Program, 7, 3), MEAN_NS, "programs have no spread here");
    }

    /// Of the variance of a page's time half is its block's.
    #[test]
    fn pages_of_a_block_are_alike_in_their_blocks_half() {
        let spread = spread(0.2, 0.0, 9).unwrap();
        let means: Vec<Ns> = (0..2_000)
            .map(|block| (0..256).map(|page| time_ns(&spread, Read, block, page)).sum::<Ns>() / 256)
            .collect();
        let (_, shortest, longest) = summary(&means);
        // A block's share alone spreads by 0.1; the mean of 256 pages adds 0.1 / sqrt(3 * 256) of deviation to it.
        assert!((88_000..91_000).contains(&shortest) && (109_000..112_000).contains(&longest), "{shortest} {longest}");
    }

    #[test]
    fn a_page_has_its_time_for_good_and_another_under_another_seed() {
        let times = |seed| {
            let spread = spread(0.3, 0.0, seed).unwrap();
            [0, 1, 2, 3].map(|page| time_ns(&spread, Read, 5, page))
        };
        assert_eq!(times(4), times(4));
        assert_ne!(times(4), times(5));
    }
}
