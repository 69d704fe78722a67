//! Random positions of a job: fio's distributions over the blocks of a file.
//!
//! Zipf ranks follow the closed form of Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD
//! 1994, which fio uses too; so the popularity of blocks is fio's, approximations included. Ranks are spread over the
//! file by multiplicative hashing and moved by the centre; as in fio, two ranks may meet in one block.

use flashloom_units::Prng;

/// A distribution as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Distribution {
    /// Every block with the same probability.
    Uniform,
    /// Rank r with probability proportional to r^-theta; ranks are moved by `center`, a share of the file, or at
    /// random.
    Zipf { theta: f64, center: Option<f64> },
    /// Rank n u^(log h / log(1 - h)) of a uniform u.
    Pareto { power: f64, center: Option<f64> },
    /// A sum of uniforms around the middle, moved by up to half the deviation, which is in per cent of the file.
    Normal { deviation: f64, center: Option<f64> },
    /// Shares of the requests to consecutive parts of the file.
    Zoned(Vec<(Zone, f64)>),
}

/// Size of a zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Zone {
    /// Per cent of the file.
    Percent(u32),
    /// Bytes.
    Bytes(u64),
}

/// A distribution over the blocks of a file.
#[derive(Clone, Debug)]
pub(super) struct Law {
    blocks: u64,
    shape: Shape,
    /// Blocks added to every hashed rank.
    shift: u64,
}

/// What a draw needs of a distribution.
#[derive(Clone, Debug)]
enum Shape {
    /// Every block.
    Uniform,
    /// The constants of the closed form.
    Zipf { theta: f64, zeta: f64, alpha: f64, eta: f64 },
    /// log h / log(1 - h).
    Pareto { exponent: f64 },
    /// In blocks.
    Normal { deviation: u64 },
    /// First block, number of blocks and cumulative per cent of each zone.
    Zoned(Vec<(u64, u64, f64)>),
}

/// Multiplier of the 64-bit multiplicative hash: 2^64 divided by the square of the golden ratio.
const GOLDEN: u64 = 0x61c8_8646_80b5_83eb;
/// Number of uniform draws summed to a normal deviate.
const NORMAL_TERMS: u64 = 12;

impl Law {
    /// The distribution over `blocks` (at least one) blocks of `block_bytes` bytes.
    pub fn new(distribution: &Distribution, blocks: u64, block_bytes: u64, prng: &mut Prng) -> Self {
        let n = blocks as f64;
        let (shape, center) = match distribution {
            Distribution::Uniform => (Shape::Uniform, None),
            Distribution::Zipf { theta, center } => {
                let zeta = zeta(blocks, *theta);
                let eta = (1.0 - libm::pow(2.0 / n, 1.0 - theta)) / (1.0 - self::zeta(2, *theta) / zeta);
                (Shape::Zipf { theta: *theta, zeta, alpha: 1.0 / (1.0 - theta), eta }, *center)
            }
            Distribution::Pareto { power, center } => {
                (Shape::Pareto { exponent: libm::log(*power) / libm::log(1.0 - power) }, *center)
            }
            Distribution::Normal { deviation, center } => {
                let deviation = libm::ceil(n * deviation / 100.0).min(libm::floor(n / 2.0)) as u64;
                (Shape::Normal { deviation }, *center)
            }
            Distribution::Zoned(zones) => (Shape::Zoned(zones_of(zones, blocks, block_bytes)), None),
        };
        let shift = match (&shape, center) {
            (Shape::Uniform | Shape::Zoned(_), _) => 0,
            (_, Some(center)) => (center * n) as u64,
            (Shape::Normal { .. }, None) => 0,
            _ => prng.below(blocks),
        };
        Self { blocks, shape, shift }
    }

    /// Draws a block.
    pub fn draw(&self, prng: &mut Prng) -> u64 {
        let n = self.blocks;
        let rank = match &self.shape {
            Shape::Uniform => return prng.below(n),
            Shape::Zoned(zones) => return draw_zone(zones, prng),
            Shape::Zipf { theta, zeta, alpha, eta } => zipf(n, *theta, *zeta, *alpha, *eta, prng.unit()),
            Shape::Pareto { exponent } => ((n - 1) as f64 * libm::pow(prng.unit(), *exponent)) as u64,
            Shape::Normal { deviation } => normal(n, *deviation, prng),
        };
        rank.wrapping_mul(GOLDEN).wrapping_add(self.shift) % n
    }
}

fn zipf(blocks: u64, theta: f64, zeta: f64, alpha: f64, eta: f64, uniform: f64) -> u64 {
    let scaled = uniform * zeta;
    let rank = if scaled < 1.0 {
        1
    } else if scaled < 1.0 + libm::pow(0.5, theta) {
        2
    } else {
        1u64.saturating_add((blocks as f64 * libm::pow(eta * uniform - eta + 1.0, alpha)) as u64)
    };
    rank - 1
}

fn normal(blocks: u64, deviation: u64, prng: &mut Prng) -> u64 {
    let sum: u64 = (0..NORMAL_TERMS).map(|_| prng.below(blocks)).sum();
    let middle = sum.div_ceil(NORMAL_TERMS);
    if deviation == 0 {
        return middle;
    }
    let moved = i128::from(middle) + i128::from(prng.below(deviation)) - i128::from(deviation / 2);
    moved.rem_euclid(i128::from(blocks)) as u64
}

fn draw_zone(zones: &[(u64, u64, f64)], prng: &mut Prng) -> u64 {
    let percent = prng.unit() * 100.0;
    let zone = zones.iter().find(|(_, _, cumulative)| percent < *cumulative);
    let &(first, blocks, _) = zone.unwrap_or(&zones[zones.len() - 1]);
    first + prng.below(blocks)
}

/// Zones in blocks; each has at least one block, and none reaches beyond the file.
fn zones_of(zones: &[(Zone, f64)], blocks: u64, block_bytes: u64) -> Vec<(u64, u64, f64)> {
    let (mut first, mut cumulative, mut percent_before) = (0u64, 0.0, 0);
    let mut placed = Vec::with_capacity(zones.len());
    for &(zone, share) in zones {
        let end = match zone {
            Zone::Percent(percent) => {
                percent_before += percent;
                (u128::from(blocks) * u128::from(percent_before) / 100) as u64
            }
            Zone::Bytes(bytes) => first.saturating_add(bytes / block_bytes),
        };
        let first_here = first.min(blocks - 1);
        let end = end.clamp(first_here + 1, blocks);
        cumulative += share;
        placed.push((first_here, end - first_here, cumulative));
        first = end;
    }
    placed
}

/// The sum of r^-theta for r from 1 to n: term by term at first, then by Euler and Maclaurin.
fn zeta(n: u64, theta: f64) -> f64 {
    const EXACT: u64 = 4_096;
    let term = |r: f64| libm::pow(r, -theta);
    let head: f64 = (1..=n.min(EXACT)).map(|r| term(r as f64)).sum();
    if n <= EXACT {
        return head;
    }
    let (low, high) = (EXACT as f64, n as f64);
    // Where the power is all but zero, the integral is all but a logarithm.
    let (power, log) = (1.0 - theta, libm::log(high / low));
    let integral = if power == 0.0 { log } else { libm::pow(low, power) * libm::expm1(power * log) / power };
    head + integral + (term(high) - term(low)) / 2.0 + theta * (term(low) / low - term(high) / high) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_sum_of_powers_is_that_of_its_terms() {
        for theta in [0.3, 0.999_999_999_9, 1.0, 1.2, 3.0] {
            let exact: f64 = (1..=50_000u64).map(|r| libm::pow(r as f64, -theta)).sum();
            assert!((zeta(50_000, theta) / exact - 1.0).abs() < 1e-12, "{theta}");
        }
    }

    #[test]
    fn the_first_rank_of_zipf_has_its_share() {
        let (blocks, theta, draws) = (100_000, 1.2, 200_000);
        let mut prng = Prng::new(3);
        let law = Law::new(&Distribution::Zipf { theta, center: Some(0.0) }, blocks, 4_096, &mut prng);
        let first = (0..draws).filter(|_| law.draw(&mut prng) == 0).count() as f64;
        let mean = f64::from(draws) / zeta(blocks, theta);
        assert!((first - mean).abs() < 5.0 * mean.sqrt(), "{first} of {mean}");
    }

    #[test]
    fn zones_get_their_shares() {
        let zones = vec![(Zone::Percent(10), 60.0), (Zone::Percent(20), 30.0), (Zone::Percent(70), 10.0)];
        let mut prng = Prng::new(3);
        let law = Law::new(&Distribution::Zoned(zones), 1_000, 4_096, &mut prng);
        let mut counts = [0u32; 3];
        (0..100_000).for_each(|_| match law.draw(&mut prng) {
            0..100 => counts[0] += 1,
            100..300 => counts[1] += 1,
            _ => counts[2] += 1,
        });
        for (count, expected) in counts.iter().zip([60_000.0, 30_000.0, 10_000.0f64]) {
            assert!((f64::from(*count) - expected).abs() < 5.0 * expected.sqrt(), "{counts:?}");
        }
    }

    proptest! {
        #[test]
        fn every_draw_is_a_block_of_the_file(
            blocks in 1u64..1 << 40, theta in 0.01f64..5.0, center in proptest::option::of(0.0f64..=1.0),
            percent in 0u32..=100, seed: u64,
        ) {
            let (power, deviation) = (theta / 10.0, f64::from(percent));
            for distribution in [
                Distribution::Uniform,
                Distribution::Zipf { theta: theta + 1e-3, center },
                Distribution::Pareto { power, center },
                Distribution::Normal { deviation, center },
                Distribution::Zoned(vec![(Zone::Percent(percent), 40.0), (Zone::Bytes(blocks), 60.0)]),
            ] {
                let mut prng = Prng::new(seed);
                let law = Law::new(&distribution, blocks, 4_096, &mut prng);
                prop_assert!((0..20).all(|_| law.draw(&mut prng) < blocks), "{distribution:?}");
            }
        }
    }
}
