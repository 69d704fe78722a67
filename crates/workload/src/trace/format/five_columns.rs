//! Checks of the units of five columns of numbers. DiskSim and SSDsim write time, device, address, size and direction;
//! other programs write the same columns in bytes, or in another unit of time. Detection refuses a file as ambiguous
//! if:
//!
//! ```text
//! bytes   nearly all addresses and sizes are multiples of 512, and a size is 4,096 or more. Read as sectors, requests
//!         would be 256 KiB and longer
//! time    DiskSim: seven to nine decimals, which are nanoseconds of seconds; a clock that begins like Unix time in
//!         seconds, with decimals; or more than 10,000 requests a second
//!         SSDsim: a clock that begins like Unix time in s, ms or us; or more than 2 million requests a second
//! ```

use flashloom_units::{KIB, Problem, Refusal, S, SECTOR_BYTES};

use super::{Format, SAMPLE_BYTES, lines};
use crate::trace::field::{BlankFields, locate};
use crate::trace::input::Chunks;
use crate::trace::text::place;
use crate::trace::units::{TimeUnit, Units};

/// Least number of lines for a rate to be judged.
const LEAST_LINES: u64 = 64;
/// Least share of lines with multiples of 512 for columns that may be bytes.
const MOST_WHOLE: f64 = 0.95;
/// Least size, of the largest request, for columns that may be bytes. Smaller sizes are plausible as sectors, up to
/// 2 MiB, and implausible as bytes.
const PAGE: u64 = 4096;
/// Decimals of seconds given to the nanosecond. A program that prints every digit of a float prints more.
const DECIMALS: std::ops::RangeInclusive<usize> = 7..=9;

/// What the sample of a file shows.
#[derive(Default)]
struct Sample<'a> {
    /// The first line of five columns: its number, itself, address and size.
    first: Option<(u64, &'a [u8], u64, u64)>,
    lines: u64,
    /// Lines whose address and size are multiples of 512.
    whole: u64,
    largest: u64,
    decimals: usize,
    /// First and last time, in the unit of the file.
    times: Option<(f64, f64)>,
}

impl<'a> Sample<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut sample = Self::default();
        for (number, line) in (1..).zip(lines(bytes)) {
            sample.add(number, line);
        }
        sample
    }

    /// Adds a line, unless it is none of five columns.
    fn add(&mut self, number: u64, line: &'a [u8]) -> Option<()> {
        let mut fields = BlankFields::new(line);
        let time = std::str::from_utf8(fields.word("").ok()?).ok()?;
        let seen: f64 = time.parse().ok()?;
        fields.number("").ok()?;
        let (address, size) = (fields.number("").ok()?, fields.number("").ok()?);
        self.first = self.first.or(Some((number, line, address, size)));
        self.lines += 1;
        self.whole += u64::from(address.is_multiple_of(SECTOR_BYTES) && size.is_multiple_of(SECTOR_BYTES));
        self.largest = self.largest.max(size);
        let decimals = time.split_once('.').map_or(0, |(_, decimals)| decimals.trim_end_matches('0').len());
        self.decimals = self.decimals.max(decimals);
        let (first, last) = self.times.unwrap_or((seen, seen));
        self.times = Some((first.min(seen), last.max(seen)));
        Some(())
    }

    /// True if addresses and sizes may be bytes.
    fn may_be_bytes(&self) -> bool {
        self.whole as f64 >= MOST_WHOLE * self.lines as f64 && self.largest >= PAGE
    }

    /// Requests a second, if times are of a unit; none if all have the same.
    fn rate(&self, unit: TimeUnit) -> Option<f64> {
        let (first, last) = self.times.filter(|(first, last)| first < last)?;
        Some((self.lines - 1) as f64 / ((last - first) * unit.ns() as f64 / S as f64))
    }

    /// Why the times may be of another unit than the format's, and of which.
    fn other_unit(&self, format: Format) -> Option<(String, TimeUnit)> {
        let is_unix_in = |unit: f64| self.times.is_some_and(|(first, _)| (1e9..2.2e9).contains(&(first / unit)));
        let is_over = |unit: TimeUnit, most: f64| self.rate(unit).is_some_and(|rate| rate > most);
        let has_lines = self.lines >= LEAST_LINES;
        let of_clock = "its clock begins like Unix time";
        let of_rate = |unit: TimeUnit| {
            let rate = self.rate(unit).unwrap_or_default();
            format!("its times would be those of {rate:.0} requests a second")
        };
        if format == Format::Disksim {
            let reason = if DECIMALS.contains(&self.decimals) {
                "its times have nanoseconds, if they are seconds".to_owned()
            } else if is_unix_in(1.0) {
                of_clock.to_owned()
            } else if has_lines && is_over(TimeUnit::Milliseconds, 10e3) {
                of_rate(TimeUnit::Milliseconds)
            } else {
                return None;
            };
            return Some((reason, TimeUnit::Seconds));
        }
        let of_unit = |unit| Some((of_clock.to_owned(), unit));
        if is_unix_in(1e6) {
            of_unit(TimeUnit::Microseconds)
        } else if is_unix_in(1e3) && is_over(TimeUnit::Nanoseconds, 50e3) {
            of_unit(TimeUnit::Milliseconds)
        } else if is_unix_in(1.0) && is_over(TimeUnit::Nanoseconds, 2e6) {
            of_unit(TimeUnit::Seconds)
        } else if has_lines && is_over(TimeUnit::Nanoseconds, 2e6) {
            Some((of_rate(TimeUnit::Nanoseconds), TimeUnit::Microseconds))
        } else {
            None
        }
    }
}

/// The problem of a file whose columns may be in other units than those of the format that it looks like. `units` are
/// those that were said.
pub(crate) fn ambiguous(
    file: &str,
    chunks: &mut Chunks,
    format: Format,
    units: Units,
) -> Result<Option<Problem>, Problem> {
    let sample = Sample::of(chunks.peek(SAMPLE_BYTES)?);
    let Some((number, line, address, size)) = sample.first else { return Ok(None) };
    let (reason, column, readings, key, example) = if units.size.is_none() && sample.may_be_bytes() {
        let sectors = extent(address.saturating_mul(SECTOR_BYTES), size.saturating_mul(SECTOR_BYTES));
        let readings = format!("{sectors}, in sectors; or {}, in bytes", extent(address, size));
        ("addresses and sizes are multiples of 512, as bytes are".to_owned(), 2, readings, "size_unit", "bytes")
    } else if units.time.is_none()
        && let Some((reason, other)) = sample.other_unit(format)
    {
        let own = if format == Format::Disksim { TimeUnit::Milliseconds } else { TimeUnit::Nanoseconds };
        (reason, 0, format!("times in {}, or in {}", own.name(), other.name()), "time_unit", other.name())
    } else {
        return Ok(None);
    };
    let name = format.name();
    let found = format!("ambiguous: five columns as those of `{name}`, but {reason}");
    let said = format!("`workload.{key} = \"{example}\"` (`--{}`) says what its columns are", key.replace('_', "-"));
    let help = format!("`workload.format = \"{name}\"` (`--format`) takes the file as it is; {said}");
    Ok(Some(Problem {
        file: file.to_owned(),
        place: place(number, line, locate::<b' '>(line, column)),
        refusal: Refusal::new(found, readings).help(help),
    }))
}

/// The size and place of a request, of which both are given in bytes.
fn extent(address: u64, size: u64) -> String {
    format!("{} KiB at byte {address}", size as f64 / KIB as f64)
}
