//! Figures formatted for people: three significant digits, a unit of fitting size, thousands separated.

/// How the values of a figure are written, which follows from what it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A whole number, of which a mean over seeds need not be one.
    Count,
    /// A factor, an average or a rate of events.
    Factor,
    /// A share, as a percentage.
    Share,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Size,
    /// Bytes a second.
    Rate,
    /// Joules.
    Energy,
}

impl Format {
    /// Formats a value.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Count if value.fract() == 0.0 => count(value as u64),
            Self::Count | Self::Factor => factor(value),
            Self::Share => percent(value),
            Self::Time => time(value),
            Self::Size => size(value),
            Self::Rate => rate(value),
            Self::Energy => energy(value),
        }
    }
}

/// Formats a value in the largest unit that keeps it at least one.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let (name, factor) = units.iter().rev().find(|(_, factor)| value >= *factor).unwrap_or(&units[0]);
    format!("{} {name}", significant(value / factor))
}

/// Formats three significant digits; more only before the decimal point.
fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Formats a duration in nanoseconds.
pub fn time(ns: f64) -> String {
    scaled(ns, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)])
}

/// Formats a size in bytes.
pub fn size(bytes: f64) -> String {
    scaled(bytes, &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)])
}

/// Formats a throughput in bytes per second.
pub fn rate(bytes_per_s: f64) -> String {
    format!("{}/s", size(bytes_per_s))
}

/// Formats an energy in joules.
pub fn energy(joules: f64) -> String {
    scaled(joules * 1e9, &[("nJ", 1.0), ("uJ", 1e3), ("mJ", 1e6), ("J", 1e9), ("kJ", 1e12), ("MJ", 1e15)])
}

/// Formats a count with its thousands separated.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// Formats a factor or an average.
pub fn factor(value: f64) -> String {
    if value >= 1000.0 { count(value.round() as u64) } else { significant(value) }
}

/// Formats a factor that may be far below one: three significant digits in any case.
pub fn small(value: f64) -> String {
    if value <= 0.0 || value >= 0.9995 {
        return factor(value);
    }
    let zeros = -value.log10().floor() as usize - 1;
    format!("{value:.*}", zeros + 3)
}

/// Formats a share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit_of_fitting_size() {
        assert_eq!(time(1_420_000.0), "1.42 ms");
        assert_eq!(time(0.0), "0 ns");
        assert_eq!(rate(12_345_678.0), "12.3 MB/s");
        assert_eq!(size(999_600.0), "1000 kB");
        assert_eq!((energy(0.0425), energy(1_250.0)), ("42.5 mJ".to_owned(), "1.25 kJ".to_owned()));
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
        assert_eq!(factor(1.7349), "1.73");
        assert_eq!(percent(0.125), "12.5 %");
        assert_eq!(
            [0.054_71, 0.999_4, 0.999_6, 0.001, 17.3].map(small),
            ["0.0547", "0.999", "1.00", "0.00100", "17.3"]
        );
    }
}
