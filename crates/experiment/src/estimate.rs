//! Mean over seeds with its 95 % confidence interval, by Student's t distribution.

/// Mean over seeds with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; 0 for a figure that no seed changes.
    pub half_width: f64,
}

impl Estimate {
    /// Computes the mean and interval of figures, one per seed; a single figure has an interval of zero width.
    ///
    /// # Panics
    /// If there are no figures.
    pub fn of(figures: &[f64]) -> Self {
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        if figures.iter().all(|figure| *figure == figures[0]) {
            return Self { mean: figures[0], half_width: 0.0 };
        }
        let variance = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Self { mean, half_width: t_95(figures.len() - 1) * (variance / count).sqrt() }
    }

    /// Lower end of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// Upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// True if the interval contains a value.
    pub fn holds(&self, value: f64) -> bool {
        self.low() <= value && value <= self.high()
    }
}

/// Quantile of Student's t distribution with 2.5 % on either side, to the three decimals of printed tables, so that it
/// is equal on every machine.
pub fn t_95(degrees: usize) -> f64 {
    // The largest, of one degree of freedom, is 12.706.
    let (mut low, mut high) = (1.0, 16.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        *(if within(middle, degrees) < 0.95 { &mut low } else { &mut high }) = middle;
    }
    (high * 1_000.0).round() / 1_000.0
}

/// Probability of a value between -t and t: the finite series for whole degrees of freedom (Abramowitz and Stegun,
/// Handbook of Mathematical Functions, 26.7.3 and 26.7.4).
fn within(t: f64, degrees: usize) -> f64 {
    let freedom = degrees as f64;
    let sine = t / (t * t + freedom).sqrt();
    let cosine_squared = freedom / (t * t + freedom);
    // Even: 1 + 1/2 c^2 + (1*3)/(2*4) c^4 + ..; odd: 1 + 2/3 c^2 + (2*4)/(3*5) c^4 + .., both to c^(degrees - 2) or so.
    let is_odd = degrees % 2 == 1;
    let (mut term, mut sum) = (1.0, if degrees == 1 { 0.0 } else { 1.0 });
    let mut divisor = if is_odd { 3 } else { 2 };
    while divisor + 2 <= degrees {
        term *= cosine_squared * (divisor - 1) as f64 / divisor as f64;
        sum += term;
        divisor += 2;
    }
    if !is_odd {
        return sine * sum;
    }
    let angle = libm::atan(t / freedom.sqrt());
    std::f64::consts::FRAC_2_PI * (angle + sine * cosine_squared.sqrt() * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_printed_tables() {
        let printed = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (6, 2.447),
            (7, 2.365),
            (8, 2.306),
            (9, 2.262),
            (10, 2.228),
            (19, 2.093),
            (20, 2.086),
            (29, 2.045),
            (30, 2.042),
            (40, 2.021),
            (60, 2.000),
            (120, 1.980),
        ];
        for (degrees, quantile) in printed {
            assert_eq!(t_95(degrees), quantile, "{degrees}");
        }
        assert_eq!(t_95(100_000), 1.96);
    }

    #[test]
    fn the_interval_is_student_s() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(estimate.mean, 3.0);
        assert!((estimate.half_width - 2.776 * 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(Estimate::of(&[7.5]), Estimate { mean: 7.5, half_width: 0.0 });
        assert_eq!(Estimate::of(&[0.1; 5]), Estimate { mean: 0.1, half_width: 0.0 });
    }
}
