//! A bijection of `0..size` that looks random, so that hot pages are not neighbours.
//!
//! A Feistel network of four rounds permutes the smallest power of four that is not below `size`; a result outside the
//! range is permuted again until it falls inside ("cycle walking": Black and Rogaway, "Ciphers with arbitrary finite
//! domains", CT-RSA 2002). On average at most four rounds of walking; no memory.

use flashloom_units::Prng;

const ROUNDS: usize = 4;

/// A permutation of `0..size`.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    size: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Scatter {
    /// A permutation of `0..size` (at least one, at most 2^62), keyed by the random numbers of `prng`.
    pub fn new(size: u64, prng: &mut Prng) -> Self {
        let bits = u64::BITS - (size - 1).leading_zeros();
        Self { size, half_bits: bits.div_ceil(2), keys: std::array::from_fn(|_| prng.bits()) }
    }

    fn permute(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            // The finaliser of SplitMix64, as a round function.
            let mut mixed = (right ^ key).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (left, right) = (right, left ^ ((mixed ^ mixed >> 31) & mask));
        }
        left << self.half_bits | right
    }

    /// Returns the image of `value`.
    pub fn of(&self, value: u64) -> u64 {
        debug_assert!(value < self.size, "only what lies inside comes back inside");
        let mut value = self.permute(value);
        while value >= self.size {
            value = self.permute(value);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_is_hit_exactly_once(size in 1u64..5_000, seed: u64) {
            let scatter = Scatter::new(size, &mut Prng::new(seed));
            let mut values: Vec<u64> = (0..size).map(|value| scatter.of(value)).collect();
            values.sort_unstable();
            prop_assert!(values.into_iter().eq(0..size));
        }

        #[test]
        fn large_sizes_stay_inside(size in 1u64..1 << 62, value: u64, seed: u64) {
            prop_assert!(Scatter::new(size, &mut Prng::new(seed)).of(value % size) < size);
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let size = 1u64 << 32;
        let scatter = Scatter::new(size, &mut Prng::new(1));
        let near = (0..1_000u64).filter(|&rank| scatter.of(rank).abs_diff(scatter.of(rank + 1)) < size / 1_000).count();
        assert!(near < 20, "{near} of 1000 neighbours lie within a thousandth of the range, of which 2 are expected");
    }
}
