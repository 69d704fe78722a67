//! Sizes, times, rates, energies, powers and shares as people write them: `"4GiB"`, `"75us"`, `"333MB/s"`, `"16uJ"`,
//! `"5mW"`, `"7%"`.
//!
//! A bare number is an error, because it is how 75 us becomes 75 ns; so is a quantity that is not a whole number of
//! the base unit, and one that does not fit in 64 bits. Formatting gives back text that parses to the same value.

use crate::{GIB, KIB, MIB, MS, Ns, Refusal, S, US};

type Units = &'static [(&'static str, u64)];

const TIME_UNITS: Units =
    &[("ns", 1), ("us", US), ("ms", MS), ("s", S), ("min", 60 * S), ("h", 3_600 * S), ("d", 86_400 * S)];
const SIZE_UNITS: Units = &[
    ("B", 1),
    ("KiB", KIB),
    ("MiB", MIB),
    ("GiB", GIB),
    ("TiB", GIB << 10),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];
const RATE_UNITS: Units = &[
    ("B/s", 1),
    ("KiB/s", KIB),
    ("MiB/s", MIB),
    ("GiB/s", GIB),
    ("kB/s", 1_000),
    ("KB/s", 1_000),
    ("MB/s", 1_000_000),
    ("GB/s", 1_000_000_000),
];

const ENERGY_UNITS: Units =
    &[("pJ", 1), ("nJ", 1_000), ("uJ", 1_000_000), ("mJ", 1_000_000_000), ("J", 1_000_000_000_000)];
const POWER_UNITS: Units = &[("nW", 1), ("uW", 1_000), ("mW", 1_000_000), ("W", 1_000_000_000)];

/// Parses a duration such as `"75us"`, `"3.8ms"` or `"5 s"` to nanoseconds; an error says which units there are.
pub fn parse_time(text: &str) -> Result<Ns, Refusal> {
    parse(text, TIME_UNITS, "a time with a unit, such as \"75us\" (ns, us, ms, s, min, h, d)")
}

/// Parses a size such as `"4GiB"` or `"1.5MB"` to bytes.
pub fn parse_size(text: &str) -> Result<u64, Refusal> {
    parse(text, SIZE_UNITS, "a size with a unit, such as \"4GiB\" (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)")
}

/// Parses a rate such as `"333MB/s"` to bytes a second.
pub fn parse_rate(text: &str) -> Result<u64, Refusal> {
    parse(text, RATE_UNITS, "a rate with a unit, such as \"333MB/s\" (B/s, KiB/s, MiB/s, GiB/s, kB/s, MB/s, GB/s)")
}

/// Parses an energy such as `"16.5uJ"` to picojoules.
pub fn parse_energy(text: &str) -> Result<u64, Refusal> {
    parse(text, ENERGY_UNITS, "an energy with a unit, such as \"16uJ\" (pJ, nJ, uJ, mJ, J)")
}

/// Parses a power such as `"5mW"` to nanowatts.
pub fn parse_power(text: &str) -> Result<u64, Refusal> {
    parse(text, POWER_UNITS, "a power with a unit, such as \"5mW\" (nW, uW, mW, W)")
}

/// Parses a share such as `"7%"` or `"0.07"` to a fraction.
pub fn parse_ratio(text: &str) -> Result<f64, Refusal> {
    let trimmed = text.trim();
    let (digits, scale) = trimmed.strip_suffix('%').map_or((trimmed, 1.0), |digits| (digits.trim_end(), 100.0));
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value / scale),
        _ => Err(Refusal::new(format!("`{text}` is not a number"), "a share, such as 0.07 or \"7%\"")),
    }
}

fn parse(text: &str, units: Units, expected: &'static str) -> Result<u64, Refusal> {
    let fail = |found: String| Err(Refusal::new(found, expected));
    let trimmed = text.trim();
    let digits_end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (digits, unit) = (trimmed[..digits_end].replace('_', ""), trimmed[digits_end..].trim_start());
    if digits.is_empty() {
        return fail(match trimmed.strip_prefix('-') {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("`{text}` is negative"),
            _ => format!("`{text}` does not begin with a number"),
        });
    }
    if unit.is_empty() {
        return fail(format!("`{text}` has no unit"));
    }
    let Some(&(_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let refusal = Refusal::new(format!("`{unit}` is not a unit of this quantity"), expected);
        return Err(match meant(unit, units) {
            Some(name) => refusal.help(format!("did you mean `{}{name}`?", &trimmed[..digits_end])),
            None => refusal,
        });
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return fail(format!("`{digits}` is not a number"));
    }
    let too_large = || Refusal::new(format!("`{text}` does not fit in 64 bits"), expected);
    let number = |part: &str| if part.is_empty() { Ok(0) } else { part.parse::<u128>().map_err(|_| too_large()) };
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 18 {
        return fail(format!("`{text}` has too many decimals"));
    }
    let scale = 10u128.pow(fraction.len() as u32);
    let scaled = number(fraction)? * u128::from(factor);
    if scaled % scale != 0 {
        return fail(format!("`{text}` is not a whole number of {}", units[0].0));
    }
    let value = number(whole)?.checked_mul(u128::from(factor)).and_then(|whole| whole.checked_add(scaled / scale));
    value.and_then(|value| u64::try_from(value).ok()).ok_or_else(too_large)
}

/// The unit that was most likely meant: the same in other letters, the first that is longer (`K` is `KiB`, as fio has
/// it), or the longest that a word begins with (`msec` is `ms`). A bit is no byte.
fn meant(unit: &str, units: Units) -> Option<&'static str> {
    let small = unit.to_lowercase().replace(['\u{b5}', '\u{3bc}'], "u");
    let names = || units.iter().map(|(name, _)| (*name, name.to_lowercase()));
    let same = names().find(|(_, name)| *name == small);
    // In times an `m` alone may be a minute or a millisecond.
    let longer = || names().find(|(_, name)| units != TIME_UNITS && name.starts_with(&small));
    let shorter = || names().filter(|(_, name)| small.starts_with(name)).max_by_key(|(name, _)| name.len());
    let meant = same.or_else(longer).or_else(shorter).filter(|_| !small.contains("bit"));
    meant.map(|(name, _)| name)
}

/// Formats a duration in the largest unit up to seconds that divides it; parses back to the same value.
pub fn format_time(value: Ns) -> String {
    format(value, &TIME_UNITS[..4])
}

/// Formats a size in the largest binary unit that divides it, or a decimal one with fewer digits; parses back to the
/// same value.
pub fn format_size(value: u64) -> String {
    let decimal = [SIZE_UNITS[0], SIZE_UNITS[5], SIZE_UNITS[7], SIZE_UNITS[8], SIZE_UNITS[9]];
    let digits = |units| whole(value, units).0.checked_ilog10();
    format(value, if digits(&decimal) < digits(&SIZE_UNITS[..5]) { &decimal } else { &SIZE_UNITS[..5] })
}

/// Formats a rate in the largest decimal unit that divides it; parses back to the same value.
pub fn format_rate(value: u64) -> String {
    format(value, &[RATE_UNITS[0], RATE_UNITS[4], RATE_UNITS[6], RATE_UNITS[7]])
}

/// Formats an energy in the largest unit that divides it; parses back to the same value.
pub fn format_energy(value: u64) -> String {
    format(value, ENERGY_UNITS)
}

/// Formats a power in the largest unit that divides it; parses back to the same value.
pub fn format_power(value: u64) -> String {
    format(value, POWER_UNITS)
}

/// Formats a share as a percentage where that is short, else as a fraction; parses back to the same value.
pub fn format_ratio(value: f64) -> String {
    let percent = format!("{}%", value * 100.0);
    if percent.len() <= 6 && parse_ratio(&percent) == Ok(value) { percent } else { value.to_string() }
}

/// The number and the largest unit that divides a value.
fn whole<'a>(value: u64, units: &[(&'a str, u64)]) -> (u64, &'a str) {
    let (name, factor) =
        units.iter().rev().find(|(_, factor)| value != 0 && value.is_multiple_of(*factor)).unwrap_or(&units[0]);
    (value / factor, name)
}

fn format(value: u64, units: &[(&str, u64)]) -> String {
    let (number, name) = whole(value, units);
    format!("{number}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quantity_needs_its_unit() {
        assert_eq!(parse_time("75us"), Ok(75_000));
        assert_eq!(parse_time("3.8ms"), Ok(3_800_000));
        assert_eq!(parse_size(" 4 GiB "), Ok(4 << 30));
        assert_eq!(parse_rate("190.735MB/s"), Ok(190_735_000));
        assert_eq!((parse_energy("16.5uJ"), parse_power("66 uW")), (Ok(16_500_000), Ok(66_000)));
        assert_eq!(parse_ratio("7%"), Ok(0.07));
        assert_eq!(parse_time("75").unwrap_err().found, "`75` has no unit");
        assert_eq!(parse_size("banana").unwrap_err().found, "`banana` does not begin with a number");
        assert_eq!(parse_size("-4KiB").unwrap_err().found, "`-4KiB` is negative");
        assert_eq!(parse_time("75KiB").unwrap_err().found, "`KiB` is not a unit of this quantity");
        assert_eq!(parse_time("0.5ns").unwrap_err().found, "`0.5ns` is not a whole number of ns");
        assert_eq!(parse_size("99999999TiB").unwrap_err().found, "`99999999TiB` does not fit in 64 bits");
        assert!(parse_ratio("NaN").is_err());
    }

    #[test]
    fn a_unit_of_other_programs_is_told_how_it_is_written_here() {
        let help = |refused: Result<u64, Refusal>| refused.unwrap_err().help;
        for (written, meant) in [
            ("16K", Some("16KiB")),
            ("16k", Some("16KiB")),
            ("1.5 m", Some("1.5MiB")),
            ("4gb", Some("4GB")),
            ("4mib", Some("4MiB")),
            ("512bytes", Some("512B")),
            ("4Mbit", None),
            ("4us", None),
        ] {
            assert_eq!(help(parse_size(written)), meant.map(|meant| format!("did you mean `{meant}`?")), "{written}");
        }
        for (written, meant) in [
            ("10msec", Some("10ms")),
            ("5\u{b5}s", Some("5us")),
            ("5\u{3bc}sec", Some("5us")),
            ("2seconds", Some("2s")),
            ("5MIN", Some("5min")),
            ("5m", None),
            ("5M", None),
        ] {
            assert_eq!(help(parse_time(written)), meant.map(|meant| format!("did you mean `{meant}`?")), "{written}");
        }
        assert_eq!(help(parse_rate("300mb/s")).as_deref(), Some("did you mean `300MB/s`?"));
        assert_eq!(help(parse_rate("300M")).as_deref(), Some("did you mean `300MiB/s`?"));
    }

    #[test]
    fn a_size_is_formatted_in_the_unit_that_was_probably_written() {
        let binary = [(1 << 30, "1GiB"), (512_000, "500KiB"), (0, "0B")];
        let decimal = [(600_000_000_000_000, "600TB"), (300_000, "300kB")];
        for (bytes, text) in [&binary[..], &decimal].concat() {
            assert_eq!(format_size(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_formatted_parses_to_the_same_value(value: u64) {
            prop_assert_eq!(parse_time(&format_time(value)), Ok(value));
            prop_assert_eq!(parse_size(&format_size(value)), Ok(value));
            prop_assert_eq!(parse_rate(&format_rate(value)), Ok(value));
            prop_assert_eq!(parse_energy(&format_energy(value)), Ok(value));
            prop_assert_eq!(parse_power(&format_power(value)), Ok(value));
        }

        #[test]
        fn any_text_is_answered_without_a_panic(text in "\\PC*") {
            let _ = (parse_time(&text), parse_size(&text), parse_rate(&text), parse_ratio(&text));
            let _ = (parse_energy(&text), parse_power(&text));
        }
    }
}
