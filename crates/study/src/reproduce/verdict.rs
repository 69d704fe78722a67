//! Verdicts: does our figure reproduce a published one, and would a policy that does nothing have done so too?
//!
//! ```text
//! effect            figure - figure for no effect, or its change in percent where the figure without the policy was
//!                   published; in each run of its own seed; the mean over the seeds with a 95 % interval
//! reproduced        the interval lies on the published side of zero, and the mean within the band
//! direction only    the interval lies on the published side of zero, the mean beyond the band
//! too small to tell the interval contains zero and the published effect, which may itself be zero
//! not reproduced    anything else: the other direction, no effect beside a published one, no figure
//!
//! for a bound       reproduced if the whole interval satisfies it; too small to tell if part of the interval lies
//!                   beyond the bound on the claimed side; else not reproduced
//! no difference     reproduced if the whole interval lies within the band; too small to tell if it overlaps it;
//!                   else not reproduced
//! ```
//!
//! A row is judged twice: as it is, and with the null in the place of the policy that it is about. An effect counts
//! only if it exceeds that of the null: the null's verdict is worse, the interval of the paired differences of ours to
//! it lies on the published side of zero, and their mean is at least half of the published effect. Otherwise the row
//! says nothing about the policy and is not reproduced, whatever its figure. Where the published effect is a loss that
//! the policy keeps small, the row names the better direction, and the differences to the null lie on that side. A
//! claim of no difference that also holds for the null is too small to tell, and so is an effect beside a null whose
//! figure is undefined, such as 0/0: nothing says what it would have been without the policy.

pub use flashloom_figures::estimate::Estimate;
use serde::{Deserialize, Serialize};

use super::published::{Band, Best, NoEffect, Published};

/// Result of the comparison of our figure with a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// The published effect, within the stated band.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// An effect in the same direction, beyond the band.
    #[serde(rename = "direction only")]
    DirectionOnly,
    /// The interval of our effect contains both zero and the published effect, or leaves a bound or a claim of
    /// no difference undecided.
    #[serde(rename = "too small to tell")]
    TooSmall,
    /// Another effect, no effect, or one that the null shows too.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl Verdict {
    /// All verdicts, the best first.
    pub const ALL: [Self; 4] = [Self::Reproduced, Self::DirectionOnly, Self::TooSmall, Self::NotReproduced];

    /// The verdict as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::DirectionOnly => "direction only",
            Self::TooSmall => "too small to tell",
            Self::NotReproduced => "not reproduced",
        }
    }
}

/// A published figure with its tolerance and its reference point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// The published figure.
    pub published: Published,
    /// Allowed distance of our effect from the published one.
    pub band: Option<Band>,
    /// Reference point of the published effect; none for a figure that is not an effect.
    pub no_effect: Option<NoEffect>,
    /// Direction in which figures are better; none if it is that of the published effect.
    pub better: Option<Best>,
}

/// A claimed bound of a figure.
struct Bound {
    figure: f64,
    /// True if the figure is at most this, false if it is at least this.
    is_upper: bool,
    /// True if the figure is not this itself.
    is_strict: bool,
}

impl Measure {
    /// Returns our effects, one a seed, from our figures and, if effects are relative to it, the figures without the
    /// policy. For a bound the effect is the distance from it; for a figure without a reference point, the figure
    /// itself.
    pub fn effects(&self, ours: &[f64], without: Option<&[f64]>) -> Vec<f64> {
        let from = |seed: usize| match (self.published, self.no_effect, without) {
            (Published::SameAs { same_as }, ..) => NoEffect::Figure(same_as),
            (_, Some(NoEffect::Without(_)), Some(without)) => NoEffect::Without(without[seed]),
            (_, no_effect, _) => match self.bound() {
                Some(Bound { figure, .. }) => NoEffect::Figure(figure),
                None => no_effect.unwrap_or(NoEffect::Figure(0.0)),
            },
        };
        ours.iter().enumerate().map(|(seed, ours)| from(seed).effect(*ours)).collect()
    }

    /// Compares our effects, one a seed, with the published one. `None`, for results without the figure, is not
    /// reproduced.
    pub fn judge(&self, effects: Option<&[f64]>) -> Verdict {
        let Some(effect) = effects.map(Estimate::of) else { return Verdict::NotReproduced };
        match (self.published, self.bound()) {
            (Published::SameAs { same_as }, _) => self.judge_same(same_as, effect),
            (_, Some(bound)) => judge_bound(effect, &bound),
            (_, None) => self.judge_figure(effect),
        }
    }

    /// Returns the verdict on a row, given its effects and those of the null with the same seeds.
    pub fn judge_beside(&self, ours: Option<&[f64]>, null: Option<&[f64]>) -> Verdict {
        let (verdict, of_null) = (self.judge(ours), self.judge(null));
        let shows_an_effect = matches!(verdict, Verdict::Reproduced | Verdict::DirectionOnly);
        if shows_an_effect && null.is_none() {
            return Verdict::TooSmall;
        }
        let comes_as_far = of_null <= verdict || ours.zip(null).is_some_and(|(ours, null)| !self.adds(ours, null));
        match (shows_an_effect && comes_as_far, self.published) {
            (false, _) => verdict,
            (true, Published::SameAs { .. }) if of_null > verdict => verdict,
            (true, Published::SameAs { .. }) => Verdict::TooSmall,
            (true, _) => Verdict::NotReproduced,
        }
    }

    /// True if the policy's effect exceeds that of the null: the interval of their differences lies on the published
    /// side of zero, or the better one, and their mean is at least half of the published effect, if that has a size.
    fn adds(&self, ours: &[f64], null: &[f64]) -> bool {
        let differences: Vec<f64> = ours.iter().zip(null).map(|(ours, null)| ours - null).collect();
        let difference = Estimate::of(&differences);
        let published = match (self.published_effect(), self.bound()) {
            (Some(effect), _) => effect,
            (None, Some(Bound { is_upper: true, .. })) => -0.0,
            (None, _) => 0.0,
        };
        let towards = match self.better {
            Some(Best::Most) => 1.0,
            Some(Best::Least) => -1.0,
            None => 1.0_f64.copysign(published),
        };
        let least = (difference.low() * towards).min(difference.high() * towards);
        least > 0.0 && (difference.mean * towards) >= published.abs() / 2.0
    }

    /// The published effect; none if the claim states no size.
    pub fn published_effect(&self) -> Option<f64> {
        self.published.effect(&self.no_effect.unwrap_or(NoEffect::Figure(0.0)))
    }

    fn bound(&self) -> Option<Bound> {
        let (figure, is_upper, is_strict) = match self.published {
            Published::AtMost { at_most } => (at_most, true, false),
            Published::AtLeast { at_least } => (at_least, false, false),
            Published::LessThan { less_than } => (less_than, true, true),
            Published::MoreThan { more_than } => (more_than, false, true),
            Published::Value(_) | Published::Range(_) | Published::SameAs { .. } => return None,
        };
        Some(Bound { figure, is_upper, is_strict })
    }

    fn judge_same(&self, figure: f64, difference: Estimate) -> Verdict {
        let tolerance = self.band.map_or(0.0, |band| band.around(figure));
        if -tolerance <= difference.low() && difference.high() <= tolerance {
            Verdict::Reproduced
        } else if difference.low() <= tolerance && -tolerance <= difference.high() {
            Verdict::TooSmall
        } else {
            Verdict::NotReproduced
        }
    }

    fn judge_figure(&self, effect: Estimate) -> Verdict {
        let no_effect = self.no_effect.unwrap_or(NoEffect::Figure(0.0));
        let [low, high] = match self.published {
            Published::Range(range) => range.map(|end| no_effect.effect(end)),
            Published::Value(value) => [no_effect.effect(value); 2],
            _ => unreachable!("a bound is judged as a bound"),
        };
        let nearest = self.published_effect().unwrap_or(0.0);
        let tolerance = self.band.map_or(0.0, |band| band.around(nearest));
        let within = low - tolerance <= effect.mean && effect.mean <= high + tolerance;
        let overlaps = effect.low() <= high && low <= effect.high();
        if effect.holds(0.0) {
            return if overlaps { Verdict::TooSmall } else { Verdict::NotReproduced };
        }
        match (nearest * effect.mean > 0.0, within) {
            (true, true) => Verdict::Reproduced,
            (true, false) if self.no_effect.is_some() => Verdict::DirectionOnly,
            _ => Verdict::NotReproduced,
        }
    }

    /// Our figure as a multiple of the published one, if that is a single number other than zero.
    pub fn ratio(&self, ours: f64) -> Option<f64> {
        match self.published {
            Published::Value(value) if value != 0.0 => Some(ours / value),
            _ => None,
        }
    }
}

/// Returns the verdict on a bound. `over` is the distance of our figure above the bound.
fn judge_bound(over: Estimate, bound: &Bound) -> Verdict {
    let (nearest, farthest) = if bound.is_upper { (-over.high(), -over.low()) } else { (over.low(), over.high()) };
    if nearest > 0.0 || (nearest == 0.0 && !bound.is_strict) {
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
        Measure {
            published: Published::Value(published),
            band: Some(Band::Share(0.5)),
            no_effect: Some(NoEffect::Figure(0.0)),
            better: None,
        }
    }

    /// The verdict on figures of several seeds, where zero is no effect.
    fn judged(measure: &Measure, ours: &[f64]) -> Verdict {
        measure.judge(Some(&measure.effects(ours, None)))
    }

    #[test]
    fn a_figure_is_judged_by_its_direction_and_its_band() {
        let of = |published, band| Measure { published, band, ..gain(0.0) };
        let range = of(Published::Range([50.0, 90.0]), Some(Band::Share(0.2)));
        let both_sides = of(Published::Range([-0.3, 13.5]), Some(Band::Absolute(0.0)));
        let none = of(Published::Value(0.0), Some(Band::Absolute(0.0)));
        let same = of(Published::SameAs { same_as: 1.0 }, Some(Band::Share(0.05)));
        let time = Measure { no_effect: None, ..of(Published::Value(548.0), Some(Band::Share(0.25))) };
        let rows: [(&str, Measure, &[f64], Verdict); 29] = [
            ("within the band", gain(17.7), &[15.0; 5], Reproduced),
            ("above the band", gain(17.7), &[30.0; 5], DirectionOnly),
            ("below the band", gain(17.7), &[2.0; 5], DirectionOnly),
            ("the other direction", gain(17.7), &[-1.0; 5], NotReproduced),
            ("nothing is no small effect", gain(17.7), &[0.0; 5], NotReproduced),
            ("nothing beside a small effect", gain(0.6), &[0.0; 5], NotReproduced),
            ("next to nothing", gain(17.7), &[0.1, -0.1, 0.2, -0.2, 0.0], NotReproduced),
            ("a small effect within the noise", gain(-0.3), &[-1.2, 0.9, -0.8, 0.7, -0.1], TooSmall),
            ("an effect within the noise", gain(20.0), &[-30.0, 40.0, 25.0, -10.0, 10.0], TooSmall),
            ("none beside no published effect", none, &[0.0], TooSmall),
            ("an effect beside no published one", none, &[-7.0], NotReproduced),
            ("no difference: all within the band", same, &[1.02, 1.03, 1.01], Reproduced),
            ("no difference: partly within it", same, &[0.9, 1.0, 1.1], TooSmall),
            ("no difference: partly below it", same, &[0.9, 0.94, 0.98], TooSmall),
            ("no difference: partly above it", same, &[1.02, 1.06, 1.1], TooSmall),
            ("no difference: beyond it", same, &[1.4, 1.45, 1.5], NotReproduced),
            ("a range, widened by a share of its nearer end", range, &[45.0], Reproduced),
            ("a range, widened at its farther end", range, &[95.0], Reproduced),
            ("above a range", range, &[110.0], DirectionOnly),
            ("below a range", range, &[20.0], DirectionOnly),
            ("on the other side of a range", range, &[-3.0], NotReproduced),
            ("a range on both sides of zero has no direction: none", both_sides, &[0.0], TooSmall),
            ("a range on both sides of zero has no direction: some", both_sides, &[5.0], NotReproduced),
            ("a figure without a reference", time, &[500.0], Reproduced),
            ("a figure without a reference has no direction", time, &[100.0], NotReproduced),
            ("a tie with at most", bound(Published::AtMost { at_most: 1.0 }), &[1.0], Reproduced),
            ("a tie with less than", bound(Published::LessThan { less_than: 1.0 }), &[1.0], NotReproduced),
            ("a tie with at least", bound(Published::AtLeast { at_least: 1.0 }), &[1.0], Reproduced),
            ("a tie with more than", bound(Published::MoreThan { more_than: 1.0 }), &[1.0], NotReproduced),
        ];
        for (what, measure, ours, verdict) in rows {
            assert_eq!(judged(&measure, ours), verdict, "{what}");
        }
        assert_eq!(gain(17.7).judge(None), NotReproduced);
    }

    fn bound(published: Published) -> Measure {
        Measure { published, band: None, no_effect: None, better: None }
    }

    #[test]
    fn a_bound_holds_on_one_side_of_it() {
        let [most, less] = [Published::AtMost { at_most: 1.0 }, Published::LessThan { less_than: 1.0 }].map(bound);
        let [least, more] = [Published::AtLeast { at_least: 1.0 }, Published::MoreThan { more_than: 1.0 }].map(bound);
        let verdicts = [most, less, least, more].map(|bound| judged(&bound, &[0.9; 5]));
        assert_eq!(verdicts, [Reproduced, Reproduced, NotReproduced, NotReproduced]);
        assert_eq!([less, more].map(|bound| judged(&bound, &[0.9, 1.1, 1.0, 0.95, 1.05])), [TooSmall, TooSmall]);
    }

    #[test]
    fn the_effect_is_the_change_to_the_figure_without_the_policy_of_the_same_seed() {
        let no_effect = Some(NoEffect::Without(100.0));
        let erases = Measure { published: Published::Value(90.0), no_effect, ..gain(0.0) };
        assert_eq!(erases.published_effect().map(|effect| effect.round()), Some(-10.0));
        let effects = erases.effects(&[900.0, 1_820.0], Some(&[1_000.0, 2_000.0]));
        assert!((effects[0] + 10.0).abs() < 1e-9 && (effects[1] + 9.0).abs() < 1e-9, "{effects:?}");
        let effects = erases.effects(&[900.0, 1_820.0, 1_790.0], Some(&[1_000.0, 2_000.0, 2_000.0]));
        assert_eq!(erases.judge(Some(&effects)), Reproduced);
    }

    #[test]
    fn an_effect_counts_only_as_far_as_it_exceeds_that_of_the_null() {
        let small_loss = Measure { better: Some(Best::Most), ..gain(-0.3) };
        let less = Measure { published: Published::LessThan { less_than: 1.0 }, band: None, ..gain(0.0) };
        let same =
            Measure { published: Published::SameAs { same_as: 1.0 }, band: Some(Band::Share(0.05)), ..gain(0.0) };
        let (loss, near): (&[f64], &[f64]) = (&[-0.36, -0.3, -0.34], &[0.02, 0.03, 0.01]);
        let noisy: [&[f64]; 2] = [&[12.0, 30.0, 10.0, 28.0, 20.0], &[0.0, 28.0, -5.0, 40.0, -13.0]];
        type Row = (&'static str, Measure, &'static [f64], &'static [f64], Verdict);
        let rows: [Row; 15] = [
            ("a null without effect", gain(20.0), &[20.0; 5], &[0.0; 5], Reproduced),
            ("a null that comes as far", gain(20.0), &[20.0; 5], &[20.0; 5], NotReproduced),
            ("a quarter of the effect is not half of it", gain(20.0), &[5.0; 5], &[0.0; 5], NotReproduced),
            ("half of the effect", gain(20.0), &[5.0; 5], &[-6.0; 5], DirectionOnly),
            ("a little more than the null", gain(20.0), &[5.0; 5], &[4.0; 5], NotReproduced),
            ("a hair more than the null", gain(20.0), &[10.1; 5], &[9.9; 5], NotReproduced),
            ("the difference may be none", gain(20.0), noisy[0], noisy[1], NotReproduced),
            ("a bound that the null breaks", less, &[-0.1; 5], &[0.1; 5], Reproduced),
            ("a bound that the null keeps better", less, &[-0.1; 5], &[-0.2; 5], NotReproduced),
            ("no difference beside a null that has one", same, near, &[0.4, 0.5, 0.6], Reproduced),
            ("no difference that the null has not either", same, near, &[0.0; 3], TooSmall),
            ("a small loss beside a null that loses more", small_loss, loss, &[-5.5, -5.4, -5.6], Reproduced),
            ("the null keeps the loss as small", small_loss, loss, loss, NotReproduced),
            ("the null does not lose", small_loss, loss, &[0.4, 0.5, 0.6], NotReproduced),
            ("a fall is to exceed that of the null", gain(-0.3), loss, &[-5.5, -5.4, -5.6], NotReproduced),
        ];
        for (what, measure, ours, null, verdict) in rows {
            assert_eq!(measure.judge_beside(Some(ours), Some(null)), verdict, "{what}");
        }
        // Of an undefined null nobody knows what it would have been without the policy.
        assert_eq!(gain(20.0).judge_beside(Some(&[20.0]), None), TooSmall);
        assert_eq!(gain(20.0).judge_beside(Some(&[-20.0]), None), NotReproduced);
        assert_eq!(gain(20.0).judge_beside(None, None), NotReproduced);
    }

    /// A measure of a published figure, with a band of the given share of it.
    fn banded(published: f64, share: f64) -> Measure {
        Measure { band: Some(Band::Share(share)), ..gain(published) }
    }

    proptest! {
        #[test]
        fn the_published_figure_itself_is_reproduced(gain in 0.1f64..1e6, up in prop::bool::ANY, share in 0.0f64..0.5) {
            let published = if up { gain } else { -gain };
            prop_assert_eq!(judged(&banded(published, share), &[published]), Reproduced);
        }

        #[test]
        fn no_effect_and_the_opposite_one_are_never_reproduced(
            gain in 0.1f64..1e6,
            ours in -1e6f64..=0.0,
            share in 0.0f64..0.5,
        ) {
            prop_assert_eq!(judged(&banded(gain, share), &[ours]), NotReproduced);
            prop_assert_eq!(judged(&banded(gain, share), &[0.0]), NotReproduced);
        }
    }
}
