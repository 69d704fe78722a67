//! Random numbers: one seed a run, split into a tree of independent streams by name.
//!
//! A part that draws random numbers asks for its own stream, `seed.branch("precondition")`; adding a part then never
//! changes the draws of another. Xoshiro256++ (Blackman and Vigna 2019), from the published and stable crate.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{Reader, State, StateError, Writer};

/// A deterministic stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prng {
    seed: u64,
    stream: Xoshiro256PlusPlus,
}

impl Prng {
    /// Makes the root of the tree from a run's seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, stream: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Returns an independent stream that depends on the seed and the name alone, not on earlier draws (FNV-1a of the
    /// name, folded into the seed; `seed_from_u64` then mixes it).
    pub fn branch(&self, name: &str) -> Self {
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Self::new(self.seed.rotate_left(17) ^ hash)
    }

    /// Draws 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.stream.next_u64()
    }

    /// Draws a uniform integer in `0..bound`, without bias (Lemire 2019). `bound` must not be zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "an empty range has no element to draw");
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Draws a uniform number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws true with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

impl State for Prng {
    fn save(&self, to: &mut Writer) {
        to.value(&self.seed);
        // Its four words.
        to.value(&self.stream);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.seed = from.value()?;
        let words: [u64; 4] = from.value()?;
        if words == [0; 4] {
            return Err(from.error("four words of xoshiro256++", "zeroes, which no draw leads to"));
        }
        let mut seed = [0; 32];
        seed.chunks_exact_mut(8).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
        self.stream = Xoshiro256PlusPlus::from_seed(seed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load_state, save_state};

    #[test]
    fn branches_do_not_depend_on_what_was_drawn() {
        let mut drawn = Prng::new(7);
        let fresh = Prng::new(7);
        drawn.bits();
        assert_eq!(drawn.branch("a").bits(), fresh.branch("a").bits());
        assert_ne!(fresh.branch("a").bits(), fresh.branch("b").bits());
    }

    #[test]
    fn a_loaded_stream_goes_on_where_the_saved_one_was() {
        let mut prng = Prng::new(7).branch("a");
        prng.bits();
        let bytes = save_state(&prng).unwrap();
        let mut loaded = Prng::new(1);
        load_state(&mut loaded, &bytes).unwrap();
        assert_eq!(loaded, prng);
        assert_eq!(save_state(&loaded).unwrap(), bytes);
        assert_eq!((loaded.bits(), loaded.branch("b")), (prng.bits(), prng.branch("b")));
        assert!(load_state(&mut loaded, &[0; 5]).is_err(), "a generator of zeroes draws nothing but zeroes");
    }

    #[test]
    fn a_bounded_draw_is_uniform_within_five_sigma() {
        let mut prng = Prng::new(1);
        let mut counts = [0u32; 6];
        let draws = 600_000;
        (0..draws).for_each(|_| counts[prng.below(6) as usize] += 1);
        let sigma = (f64::from(draws) / 6.0 * (5.0 / 6.0)).sqrt();
        for count in counts {
            assert!((f64::from(count) - f64::from(draws) / 6.0).abs() < 5.0 * sigma, "{counts:?}");
        }
    }
}
