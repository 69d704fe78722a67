//! Whether our figure reproduces a published one.
//!
//! ```text
//! a bound          reproduced if ours keeps it, give or take the band; else not reproduced
//! a number         the direction is the same if ours and the published figure are on the same side of their references
//!                  (the neutral figure, or a figure each), or if the published ones differ by no more than the band,
//!                  which is no direction
//! same direction, within the band       reproduced
//! same direction                        direction only
//! else, and where ours has no value     not reproduced
//! ```
//!
//! A published zero has no shares: the band is then a share of the published reference. A figure without a reference has
//! no direction, so it is reproduced within the band and not reproduced beyond it.

use serde::Serialize;

use crate::published::{Band, Published};

/// What our figure says of a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// The same direction, within the stated band.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The same direction, beyond the band.
    #[serde(rename = "direction only")]
    DirectionOnly,
    /// Another direction, or a claim that does not hold.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl Verdict {
    /// All of them, the best first.
    pub const ALL: [Self; 3] = [Self::Reproduced, Self::DirectionOnly, Self::NotReproduced];

    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::DirectionOnly => "direction only",
            Self::NotReproduced => "not reproduced",
        }
    }
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// The published figure.
    pub published: Published,
    /// How far ours may be from it.
    pub band: Option<Band>,
    /// The published reference and ours.
    pub reference: Option<[f64; 2]>,
}

impl Measure {
    /// Holds our figure against the published one.
    pub fn judge(&self, ours: Option<f64>) -> Verdict {
        let Some(ours) = ours else { return Verdict::NotReproduced };
        let holds = |holds: bool| if holds { Verdict::Reproduced } else { Verdict::NotReproduced };
        match self.published {
            Published::AtMost { at_most } => holds(ours <= at_most + self.tolerance(at_most)),
            Published::AtLeast { at_least } => holds(ours >= at_least - self.tolerance(at_least)),
            Published::Value(value) => self.judge_range(value, value, ours),
            Published::Range([low, high]) => self.judge_range(low, high, ours),
        }
    }

    fn judge_range(&self, low: f64, high: f64, ours: f64) -> Verdict {
        let within = ours >= low - self.tolerance(low) && ours <= high + self.tolerance(high);
        match (self.same_direction(f64::midpoint(low, high), ours), within) {
            (Some(true) | None, true) => Verdict::Reproduced,
            (Some(true), false) => Verdict::DirectionOnly,
            (Some(false), _) | (None, false) => Verdict::NotReproduced,
        }
    }

    /// Nothing where there is no direction to be the same.
    fn same_direction(&self, published: f64, ours: f64) -> Option<bool> {
        let [published_reference, our_reference] = self.reference?;
        let (published_side, our_side) = (published - published_reference, ours - our_reference);
        (published_side.abs() > self.tolerance(published)).then_some(published_side * our_side > 0.0)
    }

    /// The band around a published figure, in its unit.
    fn tolerance(&self, around: f64) -> f64 {
        match self.band {
            None => 0.0,
            Some(Band::Absolute(tolerance)) => tolerance,
            Some(Band::Share(share)) => {
                let scale = if around == 0.0 { self.reference.map_or(0.0, |[published, _]| published) } else { around };
                share * scale.abs()
            }
        }
    }

    /// Ours as a multiple of the published figure, where that is one number other than zero.
    pub fn ratio(&self, ours: Option<f64>) -> Option<f64> {
        match self.published {
            Published::Value(value) if value != 0.0 => ours.map(|ours| ours / value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{DirectionOnly, NotReproduced, Reproduced};
    use proptest::prelude::*;

    fn value(value: f64, band: Band, reference: [f64; 2]) -> Measure {
        Measure { published: Published::Value(value), band: Some(band), reference: Some(reference) }
    }

    #[test]
    fn a_change_in_the_same_direction_is_reproduced_within_the_band_only() {
        let gain = value(17.7, Band::Absolute(5.0), [0.0, 0.0]);
        let verdicts = [15.0, 23.0, 0.5, -1.0].map(|ours| gain.judge(Some(ours)));
        assert_eq!(verdicts, [Reproduced, DirectionOnly, DirectionOnly, NotReproduced]);
        assert_eq!(gain.judge(None), NotReproduced);
    }

    #[test]
    fn a_change_smaller_than_the_band_has_no_direction() {
        let nothing = value(-0.3, Band::Absolute(5.0), [0.0, 0.0]);
        assert_eq!([2.0, -4.0, 9.0].map(|ours| nothing.judge(Some(ours))), [Reproduced, Reproduced, NotReproduced]);
    }

    #[test]
    fn a_count_is_held_against_the_count_that_it_is_compared_with() {
        let erases = value(200.0, Band::Share(0.25), [100.0, 10.0]);
        let verdicts = [210.0, 40.0, 8.0].map(|ours| erases.judge(Some(ours)));
        assert_eq!(verdicts, [Reproduced, DirectionOnly, NotReproduced]);
    }

    #[test]
    fn a_published_zero_takes_its_band_from_the_reference() {
        let copies = value(0.0, Band::Share(0.1), [40_000.0, 30_000.0]);
        let verdicts = [0.0, 3_000.0, 20_000.0, 31_000.0].map(|ours| copies.judge(Some(ours)));
        assert_eq!(verdicts, [Reproduced, Reproduced, DirectionOnly, NotReproduced]);
        assert_eq!(copies.ratio(Some(5.0)), None);
    }

    #[test]
    fn a_range_is_widened_by_the_band() {
        let published = Published::Range([55.5, 97.4]);
        let range = Measure { published, band: Some(Band::Absolute(5.0)), reference: Some([0.0, 0.0]) };
        let verdicts = [51.0, 97.0, 102.0, 20.0, -3.0].map(|ours| range.judge(Some(ours)));
        assert_eq!(verdicts, [Reproduced, Reproduced, Reproduced, DirectionOnly, NotReproduced]);
    }

    #[test]
    fn a_bound_holds_or_does_not() {
        let bound = |published| Measure { published, band: None, reference: None };
        let most = bound(Published::AtMost { at_most: 1.0 });
        assert_eq!([0.2, 1.0, 1.001].map(|ours| most.judge(Some(ours))), [Reproduced, Reproduced, NotReproduced]);
        let least = Measure { band: Some(Band::Share(0.02)), ..bound(Published::AtLeast { at_least: 1.0 }) };
        assert_eq!([0.99, 0.97].map(|ours| least.judge(Some(ours))), [Reproduced, NotReproduced]);
    }

    proptest! {
        #[test]
        fn the_published_figure_itself_is_always_reproduced(published in -1e6f64..1e6, reference in -1e6f64..1e6, share in 0.0f64..1.0) {
            let measure = value(published, Band::Share(share), [reference; 2]);
            prop_assert_eq!(measure.judge(Some(published)), Reproduced);
        }

        #[test]
        fn nothing_on_the_other_side_is_ever_reproduced(gain in 1.0f64..1e6, ours in -1e6f64..0.0, share in 0.0f64..0.9) {
            prop_assert_eq!(value(gain, Band::Share(share), [0.0; 2]).judge(Some(ours)), NotReproduced);
        }
    }
}
