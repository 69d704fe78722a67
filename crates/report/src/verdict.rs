//! Whether our figure reproduces a published one, and whether a policy that does nothing would have done so too.
//!
//! ```text
//! effect            figure - reference, in each run of its own seed; the mean over the seeds with a 95 % interval
//! reproduced        the interval lies on the published side of zero, and the mean within the band
//! direction only    the interval lies on the published side of zero, the mean beyond the band
//! too small to tell the interval holds zero and what was published, or no effect was published and ours holds zero
//! not reproduced    anything else: the other side, no effect beside a published one, no figure
//!
//! of a bound        reproduced if the interval keeps it, a strict one strictly; too small to tell if the interval holds
//!                   the bound and more than it; else not reproduced
//! ```
//!
//! A row is judged twice: as it is, and with the null in the place of the policy that it is about. Where the null comes
//! as far as the policy does, the row says nothing of the policy and is not reproduced, whatever its figure.

use serde::Serialize;

use crate::published::{Band, Published};

/// What our figure says of a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// The published effect, within the stated band.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// An effect in the same direction, beyond the band.
    #[serde(rename = "direction only")]
    DirectionOnly,
    /// No effect can be told from the published one, or none was published.
    #[serde(rename = "too small to tell")]
    TooSmall,
    /// Another effect, none, or one that a policy which does nothing has too.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl Verdict {
    /// All of them, the best first.
    pub const ALL: [Self; 4] = [Self::Reproduced, Self::DirectionOnly, Self::TooSmall, Self::NotReproduced];

    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::DirectionOnly => "direction only",
            Self::TooSmall => "too small to tell",
            Self::NotReproduced => "not reproduced",
        }
    }

    /// The verdict on a row whose null has that one: a row in which the null comes as far tells nothing.
    pub fn beside(self, null: Self) -> Self {
        let shows_an_effect = matches!(self, Self::Reproduced | Self::DirectionOnly);
        if shows_an_effect && null <= self { Self::NotReproduced } else { self }
    }
}

/// Quantiles of Student's t distribution that leave 2.5 % on either side, from one degree of freedom on.
const T_95: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/// The most seeds that an interval is worked out for.
pub const MOST_SEEDS: usize = T_95.len() + 1;

/// A mean over seeds, and how far the true one may be from it at 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; zero for a figure that no seed changes.
    pub half_width: f64,
}

impl Estimate {
    /// The mean of one figure a seed, and its interval.
    ///
    /// # Panics
    /// If there are no figures, or more than [`MOST_SEEDS`].
    pub fn of(figures: &[f64]) -> Self {
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        if figures.iter().all(|figure| *figure == figures[0]) {
            return Self { mean: figures[0], half_width: 0.0 };
        }
        let variance = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Self { mean, half_width: T_95[figures.len() - 2] * (variance / count).sqrt() }
    }

    /// The lower end of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// The upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// Whether the interval holds a value.
    pub fn holds(&self, value: f64) -> bool {
        self.low() <= value && value <= self.high()
    }
}

/// A published figure, and what counts as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// The published figure.
    pub published: Published,
    /// How far our effect may be from the published one.
    pub band: Option<Band>,
    /// The published figure that stands for no effect, if there is one.
    pub reference: Option<f64>,
}

impl Measure {
    /// Our effect, from one figure and one reference a seed. Of a bound, the effect is the distance from the bound; of a
    /// figure without a reference, the figure.
    pub fn effect(&self, ours: &[f64], references: Option<&[f64]>) -> Estimate {
        let from = |seed: usize| match (self.bound(), references) {
            (Some((bound, ..)), _) => bound,
            (None, Some(references)) => references[seed],
            (None, None) => 0.0,
        };
        let effects: Vec<f64> = ours.iter().enumerate().map(|(seed, ours)| ours - from(seed)).collect();
        Estimate::of(&effects)
    }

    /// Holds our effect against the published one; nothing is not reproduced.
    pub fn judge(&self, effect: Option<Estimate>) -> Verdict {
        let Some(effect) = effect else { return Verdict::NotReproduced };
        match self.bound() {
            Some((_, is_lower, is_strict)) => judge_bound(effect, is_lower, is_strict),
            None => self.judge_figure(effect),
        }
    }

    /// The bound, whether it is one from below, and whether it is a strict one.
    fn bound(&self) -> Option<(f64, bool, bool)> {
        match self.published {
            Published::AtMost { at_most } => Some((at_most, false, false)),
            Published::AtLeast { at_least } => Some((at_least, true, false)),
            Published::LessThan { less_than } => Some((less_than, false, true)),
            Published::MoreThan { more_than } => Some((more_than, true, true)),
            Published::Value(_) | Published::Range(_) => None,
        }
    }

    fn judge_figure(&self, effect: Estimate) -> Verdict {
        let reference = self.reference.unwrap_or(0.0);
        let [low, high] = match self.published {
            Published::Range([low, high]) => [low - reference, high - reference],
            Published::Value(value) => [value - reference; 2],
            _ => unreachable!("a bound is judged as a bound"),
        };
        let nearest = self.published.effect(reference).unwrap_or(0.0);
        let tolerance = self.band.map_or(0.0, |band| band.around(nearest));
        let within = low - tolerance <= effect.mean && effect.mean <= high + tolerance;
        let overlaps = effect.low() <= high && low <= effect.high();
        if effect.holds(0.0) {
            return if overlaps { Verdict::TooSmall } else { Verdict::NotReproduced };
        }
        match (nearest * effect.mean > 0.0, within) {
            (true, true) => Verdict::Reproduced,
            (true, false) if self.reference.is_some() => Verdict::DirectionOnly,
            _ => Verdict::NotReproduced,
        }
    }

    /// Ours as a multiple of the published figure, where that is one number other than zero.
    pub fn ratio(&self, ours: f64) -> Option<f64> {
        match self.published {
            Published::Value(value) if value != 0.0 => Some(ours / value),
            _ => None,
        }
    }
}

/// `over` is how far we are above the bound.
fn judge_bound(over: Estimate, is_lower: bool, is_strict: bool) -> Verdict {
    let (nearest, farthest) = if is_lower { (over.low(), over.high()) } else { (-over.high(), -over.low()) };
    if nearest > 0.0 || (nearest == 0.0 && !is_strict) {
        Verdict::Reproduced
    } else if farthest > 0.0 {
        Verdict::TooSmall
    } else {
        Verdict::NotReproduced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{DirectionOnly, NotReproduced, Reproduced, TooSmall};
    use proptest::prelude::*;

    fn gain(published: f64) -> Measure {
        Measure { published: Published::Value(published), band: Some(Band::Share(0.5)), reference: Some(0.0) }
    }

    /// The verdict on figures of several seeds, beside a reference of zero.
    fn judged(measure: &Measure, ours: &[f64]) -> Verdict {
        measure.judge(Some(
            measure.effect(ours, measure.reference.map(|reference| vec![reference; ours.len()]).as_deref()),
        ))
    }

    #[test]
    fn the_interval_is_student_s() {
        // Mean 3, sample variance 2.5, standard error 0.7071, times 2.776.
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(estimate.mean, 3.0);
        assert!((estimate.half_width - 1.9629).abs() < 1e-3, "{estimate:?}");
        assert_eq!(Estimate::of(&[7.5]), Estimate { mean: 7.5, half_width: 0.0 });
        assert_eq!(Estimate::of(&[0.1; 5]), Estimate { mean: 0.1, half_width: 0.0 });
    }

    #[test]
    fn an_effect_is_reproduced_within_the_band_and_outside_of_zero() {
        let verdicts = [[15.0; 5], [30.0; 5], [2.0; 5], [-1.0; 5]].map(|ours| judged(&gain(17.7), &ours));
        assert_eq!(verdicts, [Reproduced, DirectionOnly, DirectionOnly, NotReproduced]);
        assert_eq!(gain(17.7).judge(None), NotReproduced);
    }

    #[test]
    fn nothing_is_not_a_small_effect() {
        assert_eq!(judged(&gain(17.7), &[0.0; 5]), NotReproduced);
        assert_eq!(judged(&gain(0.6), &[0.0; 5]), NotReproduced);
        assert_eq!(judged(&gain(17.7), &[0.1, -0.1, 0.2, -0.2, 0.0]), NotReproduced);
    }

    #[test]
    fn an_effect_within_the_noise_is_too_small_to_tell() {
        assert_eq!(judged(&gain(-0.3), &[-1.2, 0.9, -0.8, 0.7, -0.1]), TooSmall);
        assert_eq!(judged(&gain(20.0), &[-30.0, 40.0, 25.0, -10.0, 10.0]), TooSmall);
    }

    #[test]
    fn no_published_effect_is_too_small_to_tell_and_an_effect_beside_it_is_not_reproduced() {
        let none = Measure { band: Some(Band::Absolute(0.0)), ..gain(0.0) };
        assert_eq!([judged(&none, &[0.0]), judged(&none, &[-7.0])], [TooSmall, NotReproduced]);
    }

    #[test]
    fn the_effect_is_the_difference_to_the_reference_of_the_same_seed() {
        let erases = Measure { published: Published::Value(200.0), reference: Some(100.0), ..gain(0.0) };
        let effect = erases.effect(&[1_100.0, 2_090.0], Some(&[1_000.0, 2_000.0]));
        assert_eq!(effect.mean, 95.0);
        assert!(effect.half_width < 64.0, "the seeds differ by a thousand, the effects by ten");
        assert_eq!(erases.judge(Some(effect)), Reproduced);
    }

    #[test]
    fn a_range_is_widened_by_a_share_of_its_nearer_end() {
        let range = Measure { published: Published::Range([50.0, 90.0]), band: Some(Band::Share(0.2)), ..gain(0.0) };
        let verdicts = [45.0, 95.0, 110.0, 20.0, -3.0].map(|ours| judged(&range, &[ours]));
        assert_eq!(verdicts, [Reproduced, Reproduced, DirectionOnly, DirectionOnly, NotReproduced]);
    }

    #[test]
    fn a_range_on_both_sides_of_zero_has_no_direction() {
        let range = Measure { published: Published::Range([-0.3, 13.5]), band: Some(Band::Absolute(0.0)), ..gain(0.0) };
        assert_eq!([0.0, 5.0].map(|ours| judged(&range, &[ours])), [TooSmall, NotReproduced]);
    }

    #[test]
    fn a_figure_without_a_reference_has_no_direction() {
        let time = Measure { reference: None, band: Some(Band::Share(0.25)), ..gain(548.0) };
        assert_eq!([500.0, 100.0].map(|ours| judged(&time, &[ours])), [Reproduced, NotReproduced]);
    }

    #[test]
    fn a_tie_keeps_a_bound_and_not_a_strict_one() {
        let bound = |published| Measure { published, band: None, reference: None };
        let [most, less] = [Published::AtMost { at_most: 1.0 }, Published::LessThan { less_than: 1.0 }].map(bound);
        let [least, more] = [Published::AtLeast { at_least: 1.0 }, Published::MoreThan { more_than: 1.0 }].map(bound);
        assert_eq!(
            [&most, &less, &least, &more].map(|bound| judged(bound, &[1.0])),
            [Reproduced, NotReproduced, Reproduced, NotReproduced]
        );
        assert_eq!(
            [&most, &less, &least, &more].map(|bound| judged(bound, &[0.9; 5])),
            [Reproduced, Reproduced, NotReproduced, NotReproduced]
        );
        assert_eq!([&less, &more].map(|bound| judged(bound, &[0.9, 1.1, 1.0, 0.95, 1.05])), [TooSmall, TooSmall]);
    }

    #[test]
    fn a_row_in_which_the_null_comes_as_far_is_not_reproduced() {
        assert_eq!(Reproduced.beside(NotReproduced), Reproduced);
        assert_eq!(Reproduced.beside(DirectionOnly), Reproduced);
        assert_eq!(Reproduced.beside(Reproduced), NotReproduced);
        assert_eq!(DirectionOnly.beside(Reproduced), NotReproduced);
        assert_eq!(DirectionOnly.beside(DirectionOnly), NotReproduced);
        assert_eq!(TooSmall.beside(Reproduced), TooSmall);
    }

    proptest! {
        #[test]
        fn the_published_figure_itself_is_reproduced(gain in 0.1f64..1e6, sign in prop::bool::ANY, share in 0.0f64..0.5) {
            let published = if sign { gain } else { -gain };
            let measure = Measure { published: Published::Value(published), band: Some(Band::Share(share)), reference: Some(0.0) };
            prop_assert_eq!(judged(&measure, &[published]), Reproduced);
        }

        #[test]
        fn no_effect_and_the_opposite_one_are_never_reproduced(gain in 0.1f64..1e6, ours in -1e6f64..=0.0, share in 0.0f64..0.5) {
            let measure = Measure { published: Published::Value(gain), band: Some(Band::Share(share)), reference: Some(0.0) };
            prop_assert_eq!(judged(&measure, &[ours]), NotReproduced);
            prop_assert_eq!(judged(&measure, &[0.0]), NotReproduced);
        }
    }
}
