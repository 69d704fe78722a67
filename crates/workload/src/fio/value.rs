//! Values as fio writes them: `4k`, `0x1000`, `20%`, `10m`, `4k/50:8k/50`, `read,write,trim`.

use flashloom_units::{Ns, S, US};

use super::DIRECTIONS;

/// Description of the expected value, in words that complete "expected ...".
pub(super) type Expected = String;

const INTEGER: &str = "a whole number, such as 4096, 4k or 0x1000 (k, m, g, t, p)";

/// Splits digits, decimal or hexadecimal, from the suffix.
fn digits(text: &str) -> Option<(u64, &str)> {
    let lower = text.trim();
    if let Some(hex) = lower.strip_prefix("0x").or_else(|| lower.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok().map(|value| (value, ""));
    }
    let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    Some((lower[..end].parse().ok()?, &lower[end..]))
}

/// Parses a whole number with a unit suffix: as by default in fio, `k` is 1024 and `ki` is 1000.
pub(super) fn integer(text: &str) -> Result<u64, Expected> {
    let parse = || {
        let (value, suffix) = digits(text)?;
        let suffix = suffix.to_ascii_lowercase();
        let unit = suffix.strip_suffix('b').unwrap_or(&suffix);
        let (letter, base) = match unit.strip_suffix('i') {
            Some(letter) if !letter.is_empty() => (letter, 1_000u64),
            _ => (unit, 1_024),
        };
        let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == letter)?;
        value.checked_mul(base.pow(power as u32))
    };
    parse().ok_or_else(|| INTEGER.to_owned())
}

/// Parses a whole number within a range.
pub(super) fn integer_within(text: &str, min: u64, max: u64) -> Result<u64, Expected> {
    let value = integer(text)?;
    if (min..=max).contains(&value) { Ok(value) } else { Err(format!("a whole number from {min} to {max}")) }
}

/// Parses a number of bytes that must be whole sectors.
pub(super) fn sectors(text: &str) -> Result<u64, Expected> {
    let value = integer(text)?;
    let fits = value > 0 && value <= 1 << 30 && value.is_multiple_of(512);
    if fits { Ok(value) } else { Err("a multiple of the 512 bytes of a sector, up to 1g".to_owned()) }
}

/// Parses a duration; `unit_ns` is the unit of a number without suffix.
pub(super) fn time(text: &str, unit_ns: Ns) -> Result<Ns, Expected> {
    let parse = || {
        let (value, suffix) = digits(text)?;
        let unit = match suffix.to_ascii_lowercase().as_str() {
            "" => unit_ns,
            "d" => 86_400 * S,
            "h" => 3_600 * S,
            "m" => 60 * S,
            "s" => S,
            "ms" | "msec" => 1_000 * US,
            "us" | "usec" => US,
            _ => return None,
        };
        value.checked_mul(unit).filter(|&time| time <= 1 << 60)
    };
    parse().ok_or_else(|| "a time, such as 10, 10s or 500ms (d, h, m, s, ms, us)".to_owned())
}

/// Parses a percentage.
pub(super) fn percent(text: &str) -> Result<u32, Expected> {
    let number = text.trim().trim_end_matches('%');
    let value = number.parse::<u32>().ok().filter(|value| *value <= 100);
    value.ok_or_else(|| "a whole number of per cent, from 0 to 100".to_owned())
}

/// Parses a finite number within a range.
pub(super) fn real(text: &str, min: f64, max: f64) -> Result<f64, Expected> {
    let value = text.trim().parse::<f64>().ok().filter(|value| (min..=max).contains(value));
    value.ok_or_else(|| format!("a number from {min} to {max}"))
}

/// Parses a flag.
pub(super) fn flag(text: &str) -> Result<bool, Expected> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err("0 or 1".to_owned()),
    }
}

/// Parses `all`, `read,write` or `read,write,trim`; the last one given also applies to those after it, an empty one
/// leaves the default.
pub(super) fn triple<T: Clone>(
    text: &str,
    into: &mut [T; DIRECTIONS],
    mut parse: impl FnMut(&str) -> Result<T, Expected>,
) -> Result<(), Expected> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > DIRECTIONS {
        return Err("at most three values: for reads, writes and trims".to_owned());
    }
    for (at, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
        let value = parse(part)?;
        let end = if at + 1 == parts.len() { DIRECTIONS } else { at + 1 };
        into[at..end].fill(value);
    }
    Ok(())
}

/// Parses names separated by colons; `\:` is a colon of a name.
pub(super) fn names(text: &str) -> Result<Vec<String>, Expected> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let last = names.last_mut().expect("there is a name");
        match char {
            '\\' if chars.next_if_eq(&':').is_some() => last.push(':'),
            ':' => names.push(String::new()),
            _ => last.push(char),
        }
    }
    names.retain(|name| !name.is_empty());
    if names.is_empty() { Err("a name, or several separated by colons".to_owned()) } else { Ok(names) }
}

/// Parts of a split that fio takes at most (`BSSPLIT_MAX` of its source).
pub(super) const MAX_PARTS: usize = 64;

/// Parses `value/percent:value/percent:...`; values without a percentage share the remainder to 100. Parts of 0 % are
/// left out.
///
/// # Errors
/// More parts than fio takes, an invalid share or value, or shares that do not add up to 100.
pub(super) fn split<T>(
    text: &str,
    mut parse: impl FnMut(&str) -> Result<T, Expected>,
) -> Result<Vec<(T, f64)>, Expected> {
    let mut parts = Vec::new();
    for part in text.split(':') {
        if parts.len() == MAX_PARTS {
            return Err(format!("at most {MAX_PARTS} parts, as fio has them"));
        }
        let (value, share) = part.split_once('/').unwrap_or((part, ""));
        let share = if share.is_empty() { None } else { Some(percent(share)?) };
        parts.push((parse(value)?, share));
    }
    let given: u32 = parts.iter().filter_map(|(_, share)| *share).sum();
    let open = parts.iter().filter(|(_, share)| share.is_none()).count();
    if given > 100 || (open == 0 && given < 100) {
        return Err(format!("percentages that add up to 100; these add up to {given}"));
    }
    let rest = f64::from(100 - given) / open.max(1) as f64;
    let weighed = parts.into_iter().map(|(value, share)| (value, share.map_or(rest, f64::from)));
    let parts: Vec<_> = weighed.filter(|(_, share)| *share > 0.0).collect();
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_mean_what_fio_means_by_them() {
        for (text, value) in [("4k", 4_096), ("4KB", 4_096), ("1mi", 1_000_000), ("0x200", 512), ("7", 7), ("2b", 2)] {
            assert_eq!(integer(text), Ok(value), "{text}");
        }
        assert!(["", "k", "4x", "-1", "i", "99999999p", "4.5k"].iter().all(|text| integer(text).is_err()));
        assert_eq!((time("10", S), time("3ms", S), time("5", US)), (Ok(10 * S), Ok(3_000 * US), Ok(5 * US)));
    }

    #[test]
    fn the_last_value_of_a_triple_counts_for_those_after_it() {
        let parse = |text: &str| {
            let mut into = [1, 1, 1];
            triple(text, &mut into, integer).map(|()| into)
        };
        assert_eq!(parse("4"), Ok([4, 4, 4]));
        assert_eq!(parse("4,8"), Ok([4, 8, 8]));
        assert_eq!(parse(",8,"), Ok([1, 8, 1]));
        assert!(parse("1,2,3,4").is_err());
    }

    #[test]
    fn a_colon_separates_names_unless_it_is_escaped() {
        assert_eq!(names("/dev/a:/dev/b").unwrap(), ["/dev/a", "/dev/b"]);
        assert_eq!(names("pci-0000\\:00:b:").unwrap(), ["pci-0000:00", "b"]);
        assert!(names(":").is_err() && names("").is_err());
    }

    #[test]
    fn parts_without_a_percentage_share_the_rest() {
        let parse = |text: &str| split(text, integer);
        assert_eq!(parse("4k/50:8k"), Ok(vec![(4_096, 50.0), (8_192, 50.0)]));
        assert_eq!(parse("4k/100:8k/0"), Ok(vec![(4_096, 100.0)]));
        assert!(parse("4k/60:8k/60").is_err() && parse("4k/10").is_err());
    }
}
