//! Bad blocks: factory bad blocks, and blocks that go bad in use.
//!
//! ```text
//! factory:  a share `bad_blocks` of each plane's blocks, rounded down, drawn at random
//! in use:   a program fails with probability `program_failures`, an erase with `erase_failures`, whatever the age of
//!           the block; one draw per operation, in order of emission
//! ```
//!
//! The failure is drawn when the operation is emitted, like all changes of the array's state; the operation still takes
//! its full time. The draws use streams "bad-blocks" and "failures" of the run's seed; a probability of zero draws
//! nothing. Memory: one byte per block.

use crate::{BlockId, NandParams, PlaneId};
use flashloom_units::{Prng, Reader, State, StateError, Writer};

/// The bad blocks, and the draws that decide which operations fail.
#[derive(Debug)]
pub(crate) struct Failures {
    prng: Prng,
    /// A program fails if 64 random bits are below this; `erase` likewise.
    program: Threshold,
    erase: Threshold,
    bad: Vec<bool>,
}

// A loaded state must keep all factory bad blocks, and may add others only if operations can fail.
impl State for Failures {
    fn save(&self, to: &mut Writer) {
        let Self { prng, bad, program: _, erase: _ } = self;
        prng.save(to);
        bad.save(to);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.prng.load(from).map_err(|error| error.within("prng"))?;
        let born = self.bad.clone();
        self.bad.load(from).map_err(|error| error.within("bad"))?;
        // Blocks that went bad since are good again.
        if from.rolls_back() {
            return Ok(());
        }
        let (can_grow, mut pairs) = (self.can_grow(), born.iter().zip(&self.bad));
        match pairs.position(|(born, bad)| born != bad && (*born || !can_grow)) {
            Some(block) => {
                let say = |bad| format!("block {block} to be {}", if bad { "bad" } else { "good" });
                Err(from.error(say(born[block]), say(!born[block])).within("bad"))
            }
            None => Ok(()),
        }
    }
}

/// A probability in units of 2^-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Threshold(u128);

impl Threshold {
    fn new(probability: f64) -> Self {
        Self((probability * 2f64.powi(64)) as u128)
    }

    fn is_met(self, prng: &mut Prng) -> bool {
        self.0 > 0 && u128::from(prng.bits()) < self.0
    }
}

impl Failures {
    /// `None` if the drive has no bad blocks and no operation can fail.
    pub(crate) fn new(params: &NandParams, prng: &Prng) -> Option<Self> {
        let born_bad = params.bad_blocks_a_plane();
        let (program, erase) = (Threshold::new(params.program_failures), Threshold::new(params.erase_failures));
        if born_bad == 0 && program.0 == 0 && erase.0 == 0 {
            return None;
        }
        let geometry = params.geometry();
        let mut bad = vec![false; geometry.total_blocks() as usize];
        let mut birth = prng.branch("bad-blocks");
        for plane in 0..geometry.total_planes() {
            let first = geometry.first_block(PlaneId(plane)).at();
            let mut left = born_bad;
            while left > 0 {
                let block = first + birth.below(u64::from(geometry.blocks)) as usize;
                left -= u32::from(!std::mem::replace(&mut bad[block], true));
            }
        }
        Some(Self { prng: prng.branch("failures"), program, erase, bad })
    }

    /// True if blocks can go bad in use.
    pub(crate) fn can_grow(&self) -> bool {
        self.program.0 > 0 || self.erase.0 > 0
    }

    pub(crate) fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.at()]
    }

    /// Draws whether a program emitted now fails; if so, its block becomes bad.
    pub(crate) fn program_fails(&mut self, block: BlockId) -> bool {
        let fails = self.program.is_met(&mut self.prng);
        self.bad[block.at()] |= fails;
        fails
    }

    /// Draws whether an erase emitted now fails; if so, its block becomes bad.
    pub(crate) fn erase_fails(&mut self, block: BlockId) -> bool {
        let fails = self.erase.is_met(&mut self.prng);
        self.bad[block.at()] |= fails;
        fails
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::ParamSet;

    fn device() -> NandParams {
        NandParams { blocks: 100, ..NandParams::defaults() }
    }

    #[test]
    fn every_plane_has_its_share_of_blocks_that_are_bad_from_birth() {
        let failures = Failures::new(&NandParams { bad_blocks: 0.029, ..device() }, &Prng::new(5)).unwrap();
        assert!(failures.bad.chunks(100).all(|plane| plane.iter().filter(|&&bad| bad).count() == 2));
        assert!(!failures.can_grow());
    }

    #[test]
    fn operations_fail_with_their_probability_within_five_sigma_and_the_seed_decides_which() {
        let device = NandParams { program_failures: 0.01, erase_failures: 1.0, ..device() };
        let draws = 200_000;
        let failed = |seed| {
            let mut failures = Failures::new(&device, &Prng::new(seed)).unwrap();
            (0..draws).filter(|_| failures.program_fails(BlockId(1))).collect::<Vec<u32>>()
        };
        let sigma = (f64::from(draws) * 0.01 * 0.99).sqrt();
        assert!((failed(1).len() as f64 - f64::from(draws) * 0.01).abs() < 5.0 * sigma, "{}", failed(1).len());
        assert_eq!(failed(1), failed(1));
        assert_ne!(failed(1), failed(2));
        let mut failures = Failures::new(&device, &Prng::new(1)).unwrap();
        assert!((0..1_000).all(|_| failures.erase_fails(BlockId(2))), "a certain failure happens every time");
        assert!(failures.is_bad(BlockId(2)) && !failures.is_bad(BlockId(1)));
    }

    #[test]
    fn a_drive_whose_parameters_let_nothing_fail_draws_nothing() {
        assert!(Failures::new(&device(), &Prng::new(1)).is_none());
        assert!(Failures::new(&NandParams { bad_blocks: 0.009, ..device() }, &Prng::new(1)).is_none());
    }
}
