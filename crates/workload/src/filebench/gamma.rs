//! File sizes drawn from a gamma distribution, by the method of Marsaglia and Tsang, "A Simple Method for Generating
//! Gamma Variables", ACM TOMS 26(3), 2000.
//!
//! Logarithms and cosines come from `libm`, which gives the same bits on every machine.

use flashloom_units::Prng;

/// Draws from the gamma distribution of that shape and mean. Shape 0 always draws the mean, as in Filebench.
pub fn draw(shape: f64, mean: f64, prng: &mut Prng) -> f64 {
    if shape == 0.0 {
        return mean;
    }
    // A shape below one is drawn at one more and scaled down by a power of a uniform number.
    let boost = if shape < 1.0 { libm::pow(1.0 - prng.unit(), 1.0 / shape) } else { 1.0 };
    let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(prng);
        let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
        let u = 1.0 - prng.unit();
        if v > 0.0 && libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return boost * d * v * mean / shape;
        }
    }
}

/// Draws a standard normal number (Box and Muller).
fn normal(prng: &mut Prng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - prng.unit()));
    radius * libm::cos(std::f64::consts::TAU * prng.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn mean_and_variance_are_those_of_the_distribution_within_five_sigma(shape in 0.3f64..8.0, seed: u64) {
            let (mut prng, count) = (Prng::new(seed), 100_000);
            let values: Vec<f64> = (0..count).map(|_| draw(shape, 3.0, &mut prng)).collect();
            let mean = values.iter().sum::<f64>() / f64::from(count);
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / f64::from(count);
            let expected = 9.0 / shape;
            // The variance of the sample variance follows from the excess kurtosis, which is 6 / shape.
            let sigma = expected * ((2.0 + 6.0 / shape) / f64::from(count)).sqrt();
            prop_assert!((mean - 3.0).abs() < 5.0 * (expected / f64::from(count)).sqrt(), "mean {}", mean);
            prop_assert!((variance - expected).abs() < 5.0 * sigma, "variance {}, not {}", variance, expected);
        }
    }

    #[test]
    fn a_shape_of_zero_is_the_mean_itself() {
        assert_eq!(draw(0.0, 4096.0, &mut Prng::new(1)), 4096.0);
    }
}
