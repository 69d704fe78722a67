//! Aligned extents of several lengths, each accessed as a whole.

use flashloom_units::{Prng, SECTOR_BYTES, format_size, parse_size};

/// A length of extents.
struct Length {
    sectors: u64,
    /// Cumulative share of the requests up to and including this length.
    upto: f64,
}

/// The lengths of extents, and the probability of each.
pub(super) struct Extents {
    lengths: Vec<Length>,
}

/// Maximum length of an extent, in bytes: that of a request.
const LONGEST: u64 = 1 << 30;

impl Extents {
    /// Parses `LENGTH:WEIGHT, LENGTH:WEIGHT, ...`; a weight is a share of the data, relative to the sum of all weights.
    ///
    /// # Errors
    /// The part that cannot be parsed, as found and as expected.
    pub(super) fn parse(text: &str) -> Result<Self, (String, String)> {
        let mut lengths = Vec::new();
        let mut requests = 0.0;
        for part in text.split(',').map(str::trim) {
            let expected = || format!("LENGTH:WEIGHT, such as 64KiB:3, in place of `{part}`");
            let (length, weight) =
                part.split_once(':').ok_or_else(|| (format!("`{part}` has no colon"), expected()))?;
            let length = length.trim();
            let bytes = parse_size(length).map_err(|_| (format!("the length `{length}`"), expected()))?;
            if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) || bytes > LONGEST {
                let range = format!("whole sectors of 512 bytes, at most {}", format_size(LONGEST));
                return Err((format!("an extent of {}", format_size(bytes)), range));
            }
            let weight = weight.trim();
            let number = weight.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
            let number = number.ok_or_else(|| (format!("the weight `{weight}`"), "a number above 0".to_owned()))?;
            requests += number / bytes as f64;
            lengths.push(Length { sectors: bytes / SECTOR_BYTES, upto: requests });
        }
        lengths.iter_mut().for_each(|length| length.upto /= requests);
        Ok(Self { lengths })
    }

    /// Sectors of the longest extent.
    pub(super) fn longest(&self) -> u64 {
        self.lengths.iter().map(|length| length.sectors).max().expect("a text has at least one part")
    }

    /// Draws an extent: its length by weight, its place in the footprint uniformly. Returns first sector and sectors.
    pub(super) fn draw(&self, footprint: u64, prng: &mut Prng) -> (u64, u64) {
        let at = prng.unit();
        let drawn = self.lengths.iter().find(|length| at < length.upto).or(self.lengths.last());
        let sectors = drawn.expect("a text has at least one part").sectors;
        (prng.below(footprint / sectors) * sectors, sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_of_the_data_and_extents_lie_on_multiples_of_their_length() {
        let extents = Extents::parse("4KiB:75, 32KiB:25").expect("it is sound");
        assert_eq!(extents.longest(), 64);
        let mut prng = Prng::new(3);
        let mut sectors = [0, 0];
        for _ in 0..100_000 {
            let (lba, length) = extents.draw(1_000, &mut prng);
            assert!(lba % length == 0 && lba + length <= 1_000);
            sectors[usize::from(length == 64)] += length;
        }
        let share = f64::from(sectors[0] as u32) / f64::from((sectors[0] + sectors[1]) as u32);
        assert!((share - 0.75).abs() < 0.01, "{share}");
    }

    #[test]
    fn what_is_no_list_of_lengths_and_weights_is_refused_with_the_part() {
        let found = |text: &str| Extents::parse(text).err().expect("it is refused").0;
        assert_eq!(found("4KiB"), "`4KiB` has no colon");
        assert_eq!(found("4KiB:1, "), "`` has no colon");
        assert_eq!(found("4KiB:1, 100:2"), "the length `100`", "a size has a unit");
        assert_eq!(found("700B:1"), "an extent of 700B");
        assert_eq!(found("0B:1"), "an extent of 0B");
        for weight in ["0", "-1", "x", "inf", "NaN", ""] {
            assert_eq!(found(&format!("4KiB:{weight}")), format!("the weight `{weight}`"));
        }
    }
}
