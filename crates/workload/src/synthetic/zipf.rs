//! Zipf-distributed ranks, exact in law for any number of them, at constant cost per draw.
//!
//! Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996): with h(x) = x^-theta and H its integral, draw u uniformly between H of both
//! ends, invert it to x, round to the rank k, and accept where the step of the histogram lies below the curve. At least
//! four draws in five are accepted, whatever theta and the number of ranks. Logarithms come from a library that gives
//! the same bits on every machine.

use flashloom_units::Prng;

/// Ranks from 0, rank r with probability proportional to `(r + 1)^-theta`.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    ranks: f64,
    theta: f64,
    /// H at the lower end, placed so that the first rank has exactly its share.
    low: f64,
    /// H at the upper end.
    high: f64,
    /// A distance below which a rank is accepted without evaluating H.
    squeeze: f64,
}

impl Zipf {
    /// A distribution over `ranks` ranks (1 to 2^52) with exponent `theta` of at least zero; zero makes it uniform.
    pub fn new(ranks: u64, theta: f64) -> Self {
        debug_assert!(ranks >= 1 && theta >= 0.0, "an empty set or a negative exponent has no law");
        let mut zipf = Self { ranks: ranks as f64, theta, low: 0.0, high: 0.0, squeeze: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.ranks + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// H(x), the integral of the density from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let scaled = (1.0 - self.theta) * log;
        // expm1(s) / s tends to 1 as s does to 0, that is, as theta does to 1.
        if scaled.abs() > 1e-8 { libm::expm1(scaled) / scaled * log } else { log * (1.0 + scaled / 2.0) }
    }

    fn inverse(&self, value: f64) -> f64 {
        let scaled = (value * (1.0 - self.theta)).max(-1.0);
        let log = if scaled.abs() > 1e-8 { libm::log1p(scaled) / scaled * value } else { value * (1.0 - scaled / 2.0) };
        libm::exp(log)
    }

    /// Draws a rank.
    pub fn draw(&self, prng: &mut Prng) -> u64 {
        loop {
            let value = self.high + prng.unit() * (self.low - self.high);
            let x = self.inverse(value);
            let rank = libm::round(x).clamp(1.0, self.ranks);
            if rank - x <= self.squeeze || value >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's chi-squared statistic of `draws` against the exact law; its mean is the degrees of freedom, its
    /// variance twice that.
    fn chi_squared(ranks: u64, theta: f64, draws: u32, seed: u64) -> f64 {
        let (zipf, mut prng) = (Zipf::new(ranks, theta), Prng::new(seed));
        let mut counts = vec![0u32; ranks as usize];
        (0..draws).for_each(|_| counts[zipf.draw(&mut prng) as usize] += 1);
        let weights: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).powf(-theta)).collect();
        let total: f64 = weights.iter().sum();
        let expected = weights.iter().map(|weight| weight / total * f64::from(draws));
        counts.iter().zip(expected).map(|(&count, expected)| (f64::from(count) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn the_law_is_exact_for_every_exponent() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.2, 2.5] {
            for ranks in [1u64, 2, 3, 50] {
                let freedom = (ranks - 1) as f64;
                let bound = freedom + 6.0 * (2.0 * freedom).sqrt() + 1e-9;
                let statistic = chi_squared(ranks, theta, 200_000, 11);
                assert!(statistic <= bound, "theta {theta}, {ranks} ranks: {statistic} > {bound}");
            }
        }
    }

    #[test]
    fn the_first_rank_of_four_billion_has_its_share() {
        let (ranks, theta, draws) = (1u64 << 32, 0.99, 400_000);
        let (zipf, mut prng) = (Zipf::new(ranks, theta), Prng::new(3));
        let hits = (0..draws).filter(|_| zipf.draw(&mut prng) == 0).count() as f64;
        // The harmonic number of order theta: a sum over the first million, and Euler-Maclaurin for the rest.
        let head: f64 = (1..=1_000_000u64).map(|rank| (rank as f64).powf(-theta)).sum();
        let integral = |x: f64| x.powf(1.0 - theta) / (1.0 - theta);
        let total = head + integral(ranks as f64 + 0.5) - integral(1_000_000.5);
        let (mean, share) = (f64::from(draws) / total, 1.0 / total);
        let sigma = (f64::from(draws) * share * (1.0 - share)).sqrt();
        assert!((hits - mean).abs() < 5.0 * sigma, "{hits} hits, {mean} expected");
    }

    #[test]
    fn draws_stay_within_the_ranks() {
        let mut prng = Prng::new(5);
        for (ranks, theta) in [(1, 3.0), (7, 0.0), (7, 20.0), (1 << 52, 1.0), (1 << 52, 0.01)] {
            let zipf = Zipf::new(ranks, theta);
            assert!((0..10_000).all(|_| zipf.draw(&mut prng) < ranks));
        }
    }
}
