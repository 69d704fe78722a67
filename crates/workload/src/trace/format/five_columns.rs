//! Five columns of numbers separated by blanks: DiskSim and SSDsim write time, device, address, size and direction, and
//! so do other programs in units of their own. A file is taken for one of the two without a word only if its units look
//! like that one's.
//!
//! ```text
//! bytes       all addresses and sizes of the sample are multiples of 512: requests of 256 KiB and longer, if sectors
//! time        more decimals than milliseconds have nanoseconds, Unix time, or more requests a second than the drives
//!             have whose recordings are in the format
//! ```

use flashloom_units::{Problem, ProblemPlace, Refusal, SECTOR_BYTES, format_size};

use super::{Format, SAMPLE_BYTES};
use crate::trace::field::{BlankFields, locate};
use crate::trace::input::Chunks;
use crate::trace::units::{TimeUnit, Units};

/// Lines from which on a rate says something.
const LEAST_LINES: usize = 16;
/// Decimals of a time in milliseconds that is given to the nanosecond.
const DECIMALS_OF_MS: usize = 6;

/// Nanoseconds that a sample lasts at least whose times begin like Unix time in coarser units, and are not.
const UNIX_SPAN: f64 = 1e6;

/// True for a time that is of this century in Unix time, in seconds, milliseconds or microseconds.
fn is_unix_time(time: f64) -> bool {
    [1.0, 1e3, 1e6].iter().any(|unit| (1e9..2.2e9).contains(&(time / unit)))
}

/// What the sample of a file shows.
#[derive(Default)]
struct Sample<'a> {
    first: Option<(&'a [u8], u64, u64)>,
    lines: usize,
    has_other_sizes: bool,
    decimals: usize,
    /// First and last time, in the unit of the file.
    times: Option<(f64, f64)>,
}

impl<'a> Sample<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let cut = memchr::memrchr(b'\n', bytes).filter(|_| bytes.len() == SAMPLE_BYTES).unwrap_or(bytes.len());
        let mut sample = Self::default();
        for line in bytes[..cut].split(|&byte| byte == b'\n') {
            sample.add(line.trim_ascii_end());
        }
        sample
    }

    /// Adds a line, unless it is none of five columns.
    fn add(&mut self, line: &'a [u8]) -> Option<()> {
        let mut fields = BlankFields::new(line);
        let time = std::str::from_utf8(fields.word("").ok()?).ok()?;
        let seen: f64 = time.parse().ok()?;
        fields.number("").ok()?;
        let (address, size) = (fields.number("").ok()?, fields.number("").ok()?);
        self.first = self.first.or(Some((line, address, size)));
        self.lines += 1;
        self.has_other_sizes |= !(address.is_multiple_of(SECTOR_BYTES) && size.is_multiple_of(SECTOR_BYTES));
        let decimals = time.split_once('.').map_or(0, |(_, decimals)| decimals.trim_end_matches('0').len());
        self.decimals = self.decimals.max(decimals);
        let (first, last) = self.times.unwrap_or((seen, seen));
        self.times = Some((first.min(seen), last.max(seen)));
        Some(())
    }

    /// True if the times are those of another unit than the format's.
    fn has_other_times(&self, format: Format) -> bool {
        let (unit, most_per_second) = match format {
            Format::Disksim => (TimeUnit::Milliseconds, 200e3),
            _ => (TimeUnit::Nanoseconds, 10e6),
        };
        let (first, last) = self.times.unwrap_or_default();
        let seconds = (last - first) * unit.ns() as f64 / 1e9;
        if is_unix_time(first) && (format == Format::Disksim || last - first < UNIX_SPAN) {
            return true;
        }
        let is_too_fast = self.lines >= LEAST_LINES && seconds > 0.0 && self.lines as f64 / seconds > most_per_second;
        self.decimals > DECIMALS_OF_MS || is_too_fast
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
    let Some((line, address, size)) = sample.first else { return Ok(None) };
    let (reason, column, readings, key) = if units.size.is_none() && !sample.has_other_sizes {
        let sectors = extent(address.saturating_mul(SECTOR_BYTES), size.saturating_mul(SECTOR_BYTES));
        let readings = format!("{sectors}, in sectors; or {}, in bytes", extent(address, size));
        ("all addresses and sizes are multiples of 512, as bytes are", 2, readings, "size_unit")
    } else if units.time.is_none() && sample.has_other_times(format) {
        let per_second = |unit_ns: f64| {
            let (first, last) = sample.times.unwrap_or_default();
            format!("{:.0} requests a second", (sample.lines - 1) as f64 / ((last - first) * unit_ns / 1e9))
        };
        let (unit, unit_ns, other) = match format {
            Format::Disksim => ("milliseconds", 1e6, per_second(1e9) + ", in seconds"),
            _ => ("nanoseconds", 1.0, per_second(1e3) + ", in microseconds"),
        };
        let readings = format!("{}, in {unit}; or {other}", per_second(unit_ns));
        ("the times are not like those of the format", 0, readings, "time_unit")
    } else {
        return Ok(None);
    };
    let span = locate::<b' '>(line, column);
    let source = String::from_utf8_lossy(line).into_owned();
    let name = format.name();
    let found = format!("ambiguous: five columns as those of `{name}`, but {reason}");
    let help = format!(
        "`workload.format = \"{name}\"` takes the file as it is; `workload.{key}` says what the columns are \
         (`--format`, `--{}`)",
        key.replace('_', "-")
    );
    Ok(Some(Problem {
        file: file.to_owned(),
        place: ProblemPlace::Text { line: 1, column: span.start as u64 + 1, width: span.len().max(1) as u64, source },
        refusal: Refusal::new(found, readings).help(help),
    }))
}

/// The size and place of a request, both in bytes.
fn extent(address: u64, size: u64) -> String {
    format!("{} at {}", format_size(size), format_size(address))
}
