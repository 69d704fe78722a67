//! Mean over seeds with its 95 % confidence interval, by Student's t distribution; differences of two series by pairs
//! of the same seed, what pairing gains, and how many seeds would tell a difference.

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
        Self { mean, half_width: t_95(figures.len() - 1) * (variance(figures) / count).sqrt() }
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

/// Difference of two series of figures, in which the figures of one seed belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Mean of the differences of each seed, with its interval.
    pub difference: Estimate,
    /// Half the width that the interval would have if the two series had drawn different random numbers.
    pub unpaired_half_width: f64,
    /// Standard deviation of the differences.
    deviation: f64,
}

/// Maximum number of seeds that [`Paired::seeds_to_tell`] considers: as many as a comparison takes.
const MOST_SEEDS: u32 = 1_000;

impl Paired {
    /// Computes the difference of `own` to `others`, which have a figure for each of the same seeds.
    ///
    /// # Panics
    /// If there are no figures.
    pub fn of(own: &[f64], others: &[f64]) -> Self {
        let differences: Vec<f64> = own.iter().zip(others).map(|(own, other)| own - other).collect();
        let count = own.len() as f64;
        let unpaired = match own.len() {
            1 => 0.0,
            seeds => t_95(2 * (seeds - 1)) * ((variance(own) + variance(others)) / count).sqrt(),
        };
        Self {
            difference: Estimate::of(&differences),
            unpaired_half_width: unpaired,
            deviation: variance(&differences).sqrt(),
        }
    }

    /// Approximate number of seeds whose interval would exclude zero in four of five comparisons, if the true
    /// difference had this size; `None` if it is more than a comparison takes.
    ///
    /// The fewest n with `size >= (t(n - 1, 97.5 %) + t(n - 1, 80 %)) * deviation / sqrt(n)`.
    pub fn seeds_to_tell(&self, size: f64) -> Option<u32> {
        let tells = |seeds: u32| {
            let degrees = seeds as usize - 1;
            size >= (t_95(degrees) + t(degrees, 0.6)) * self.deviation / f64::from(seeds).sqrt()
        };
        let (mut too_few, mut enough) = (1, MOST_SEEDS);
        if !tells(enough) {
            return None;
        }
        while enough - too_few > 1 {
            let middle = (too_few + enough) / 2;
            *(if tells(middle) { &mut enough } else { &mut too_few }) = middle;
        }
        Some(enough)
    }
}

/// Sample variance; 0 of a single figure, and of figures that are all equal.
fn variance(figures: &[f64]) -> f64 {
    if figures.iter().all(|figure| *figure == figures[0]) {
        return 0.0;
    }
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (count - 1.0)
}

/// Quantile of Student's t distribution with 2.5 % on either side, to the three decimals of printed tables, so that it
/// is equal on every machine.
pub fn t_95(degrees: usize) -> f64 {
    t(degrees, 0.95)
}

/// Value t for which a share `inside` of Student's t distribution lies between -t and t, to three decimals.
fn t(degrees: usize, inside: f64) -> f64 {
    // The largest that is asked for, of one degree of freedom and 95 %, is 12.706.
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        *(if within(middle, degrees) < inside { &mut low } else { &mut high }) = middle;
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

    #[test]
    fn pairs_lose_what_their_seeds_have_in_common() {
        let [one, other] = [[10.0, 20.0, 30.0], [11.0, 21.5, 30.5]];
        let paired = Paired::of(&other, &one);
        assert_eq!(paired.difference, Estimate::of(&[1.0, 1.5, 0.5]));
        // Variances of 100 and 95.25; t of four degrees of freedom.
        assert!((paired.unpaired_half_width - 2.776 * (195.25f64 / 3.0).sqrt()).abs() < 1e-9);
        let alone = Paired::of(&[1.0], &[3.0]);
        assert_eq!((alone.difference.mean, alone.unpaired_half_width), (-2.0, 0.0));
    }

    #[test]
    fn the_seeds_that_it_takes_grow_with_the_square_of_the_noise() {
        let of = |size: f64| Paired::of(&[101.0, 99.0, 102.0, 98.0], &[100.0; 4]).seeds_to_tell(size);
        // The deviation is 1.826; by the normal distribution it takes (1.960 + 0.842)^2 * (1.826 / size)^2.
        assert_eq!([of(20.0), of(3.0), of(1.0), of(0.5)], [Some(2), Some(6), Some(29), Some(107)]);
        assert_eq!(of(0.01), None);
        assert_eq!(Paired::of(&[1.0; 4], &[2.0; 4]).seeds_to_tell(0.5), Some(2), "nothing is chance");
    }
}
