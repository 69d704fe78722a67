//! A curve of the rate over the bytes written: a sequential fill of a drive, as reviews and fio's logs have it.
//!
//! ```text
//! written_bytes,bytes_per_second    the header; then a line for each stretch, which ends where so many bytes of the
//! 113000000000,4000000000           fill are written, with the mean rate since the line before
//! rate of a stretch                 its bytes over the time between the completions at its two ends
//! plateau                           windows whose rates are within a quarter of the mean of those before them
//! knee                              the end of a plateau: a fiftieth of the fill beyond it has left the mean, too
//! distance                          mean over the bytes of |simulated - recorded|, as a share of the recorded mean
//! ```
//! The fill is simulated as 1 MiB writes, 32 outstanding, in order from the beginning of the drive, as far as it goes.

use std::ops::RangeInclusive;

use flashloom_config::{Config, Experiment, Precondition, Variant};
use flashloom_device::{Interest, Observer, Served, Status};
use flashloom_figures::number::{count, size};
use flashloom_run::{Failure, Prepared, Progress};
use flashloom_units::{Lines, Ns, Problem, Problems, Refusal, SECTOR_BYTES};
use flashloom_workload::Op;

use super::result::{Compared, RateResult, Score, ValidatedInput};

/// The header.
const HEADER: &str = "written_bytes,bytes_per_second";
/// Stretches at most.
const MOST_STRETCHES: usize = 10_000;
/// Rates that a stretch may have, in bytes a second: what is divided by one stays finite.
const RATES: RangeInclusive<f64> = 1.0..=1e15;
/// Bytes of a write, and writes outstanding.
pub(crate) const WRITE_BYTES: u64 = 1 << 20;
const OUTSTANDING: u64 = 32;
/// Windows of the simulated fill among which knees are looked for.
const WINDOWS: u64 = 250;
/// Ratio of rates of two plateaus at least.
const STEP: f64 = 1.25;
/// A knee is one if this share of the fill beyond it has the other rate.
const LASTS: usize = 50;

/// A stretch: the bytes written at its end, and its mean rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    end_bytes: u64,
    rate: f64,
}

/// A recorded curve.
#[derive(Debug)]
pub struct Curve {
    path: String,
    stretches: Vec<Stretch>,
}

/// True if a text begins like a curve.
pub fn is_curve(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(HEADER.as_bytes())
}

impl Curve {
    /// Reads a curve; `name` is that of the file in errors.
    ///
    /// # Errors
    /// A line that is none, stretches out of order, or none at all.
    pub fn read(name: &str, text: &str) -> Result<Self, Problem> {
        let lines = Lines::of(text);
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut start = 0;
        for (number, line) in text.split('\n').enumerate() {
            let span = start..start + line.trim_end().len();
            start += line.len() + 1;
            if number == 0 || line.trim().is_empty() {
                continue;
            }
            let refuse = |found: &str, expected: &str| {
                Problem::in_lines(name, text, &lines, span.clone(), Refusal::new(found.to_owned(), expected))
            };
            let numbers = line.trim().split_once(',');
            let numbers = numbers.and_then(|(end, rate)| Some((end.trim().parse().ok()?, rate.trim().parse().ok()?)));
            let Some((end_bytes, rate)) = numbers.filter(|(_, rate): &(u64, f64)| RATES.contains(rate)) else {
                return Err(refuse(
                    "no stretch of a fill",
                    "whole bytes written and a rate from 1 to 1e15 bytes a second: 113000000000,4e9",
                ));
            };
            if end_bytes <= stretches.last().map_or(0, |last| last.end_bytes) {
                return Err(refuse("bytes that were written before", "more than on the line above"));
            }
            if stretches.len() >= MOST_STRETCHES {
                return Err(refuse("one stretch more", &format!("at most {MOST_STRETCHES}")));
            }
            stretches.push(Stretch { end_bytes, rate });
        }
        if stretches.is_empty() {
            return Err(Refusal::new("a header alone", "at least one stretch below it").in_file(name));
        }
        Ok(Self { path: name.to_owned(), stretches })
    }

    /// The options that make a workload of it.
    pub fn sets(&self) -> Vec<String> {
        vec![
            "workload.kind=synthetic".to_owned(),
            "workload.replay=closed".to_owned(),
            format!("workload.queue_depth={OUTSTANDING}"),
            "workload.synthetic.pattern=sequential".to_owned(),
            "workload.synthetic.read_share=0".to_owned(),
            format!("workload.synthetic.request_size={WRITE_BYTES}B"),
        ]
    }

    /// Makes a run of an experiment a fill as far as the curve and its drive go.
    ///
    /// # Errors
    /// A drive that does not hold the first stretch.
    pub fn laid_out(&self, experiment: &Experiment, of: &Variant) -> Result<Variant, Problems> {
        let capacity = of.config.device.capacity_sectors() * SECTOR_BYTES;
        let first = self.stretches[0].end_bytes;
        if capacity < first {
            let found = format!("a first stretch of {}", size(first as f64));
            let expected = format!("at most the {} that the simulated drive holds", size(capacity as f64));
            return Err(Refusal::new(found, expected).in_file(&self.path).into());
        }
        let requests = capacity.min(self.end_bytes()).div_ceil(WRITE_BYTES).min(capacity / WRITE_BYTES).max(1);
        experiment.replaced(of, &[format!("workload.synthetic.requests={requests}")])
    }

    /// Each stretch in words, with its bytes and its rate.
    pub(crate) fn stretches(&self) -> Vec<(String, f64, f64)> {
        let each = self.stretches.iter().zip(lengths(&self.stretches));
        each.map(|(one, bytes)| (format!("to {}", size(one.end_bytes as f64)), bytes, one.rate)).collect()
    }

    /// Rates at which a simulated fill passed each stretch; nothing of those that it did not reach the end of.
    pub(crate) fn simulated(&self, fill: &Fill) -> Vec<Option<f64>> {
        let starts = std::iter::once(0).chain(self.stretches.iter().map(|one| one.end_bytes));
        let rate = |(one, start): (&Stretch, u64)| {
            (one.end_bytes <= fill.written_bytes()).then(|| fill.rate(start, one.end_bytes))
        };
        self.stretches.iter().zip(starts).map(rate).collect()
    }

    /// The recorded mean rate.
    pub(crate) fn mean_rate(&self) -> f64 {
        mean_rate(&self.stretches)
    }

    /// The load in words.
    pub(crate) fn load() -> String {
        format!("a sequential fill, {} writes, {OUTSTANDING} outstanding", size(WRITE_BYTES as f64))
    }

    /// Reasons to doubt a comparison with a run of this configuration.
    pub(crate) fn doubts(config: &Config) -> Vec<String> {
        if config.run.precondition == Precondition::None {
            return Vec::new();
        }
        vec![format!(
            "the simulated drive is full before the fill begins (`run.precondition` = {:?}): one that was erased takes \
             \"none\"",
            config.run.precondition.name()
        )]
    }

    fn end_bytes(&self) -> u64 {
        self.stretches.last().map_or(0, |last| last.end_bytes)
    }

    /// Runs the fill on the prepared drive.
    ///
    /// # Errors
    /// A check that failed.
    pub fn compare(&self, prepared: &Prepared<'_>, progress: &dyn Progress) -> Result<ValidatedInput, Failure> {
        let mut fill = Fill::default();
        let finished = prepared.run(false, progress, &mut [&mut fill])?;
        let written = fill.written_bytes();
        let held: Vec<Stretch> = self.stretches.iter().copied().take_while(|one| one.end_bytes <= written).collect();
        let rates = self.simulated(&fill).into_iter().flatten();
        let simulated: Vec<Stretch> =
            held.iter().zip(rates).map(|(one, rate)| Stretch { end_bytes: one.end_bytes, rate }).collect();
        let mut rates = Vec::with_capacity(held.len() + 2);
        let mut rate = |quantity: String, recorded: f64, simulated: f64| {
            rates.push(RateResult { quantity, rate: Compared::of(recorded, simulated) });
        };
        let [mean, of_model] = [&held, &simulated].map(|curve| mean_rate(curve));
        rate("bytes/s, whole fill".to_owned(), mean, of_model);
        for (one, model) in held.iter().zip(&simulated) {
            rate(format!("bytes/s, to {}", size(one.end_bytes as f64)), one.rate, model.rate);
        }
        let mut not_compared = vec!["latencies: a curve has rates".to_owned()];
        let [recorded_knees, simulated_knees] = [knees(&held), knees(&fill.windows())];
        for (number, (one, model)) in recorded_knees.iter().zip(&simulated_knees).enumerate() {
            rate(format!("knee {}, GB written", number + 1), *one as f64 / 1e9, *model as f64 / 1e9);
        }
        for (whose, knees, others) in [
            ("recorded", &recorded_knees, simulated_knees.len()),
            ("simulated", &simulated_knees, recorded_knees.len()),
        ] {
            let beyond = knees.iter().skip(others).map(|knee| size(*knee as f64));
            not_compared.extend(beyond.map(|knee| format!("a knee that is {whose} alone, at {knee}")));
        }
        if held.len() < self.stretches.len() {
            not_compared.push(format!(
                "{} stretches beyond the {} that were simulated: the drive holds no more",
                count((self.stretches.len() - held.len()) as u64),
                size(written as f64)
            ));
        }
        let warnings = Self::doubts(&prepared.experiment().variants[0].config);
        let distance = |of: &dyn Fn(&Stretch, &Stretch) -> f64| {
            let lengths = lengths(&held);
            let areas = held.iter().zip(&simulated).zip(&lengths).map(|((one, model), bytes)| of(one, model) * bytes);
            areas.sum::<f64>() / lengths.iter().sum::<f64>() / mean
        };
        let rate_distance = Score {
            simulated: distance(&|one, model| (model.rate - one.rate).abs()),
            null: distance(&|one, _| (mean - one.rate).abs()),
        };
        Ok(ValidatedInput {
            experiment: prepared.experiment().name.clone(),
            input: self.path.clone(),
            job: None,
            kind: "curve of the rate over the bytes written".to_owned(),
            interval: None,
            load: Self::load(),
            requests: finished.host.generated,
            config: finished.result.config.to_json(),
            cells: Vec::new(),
            rates,
            rate_distance: Some(rate_distance),
            not_compared,
            warnings,
        })
    }
}

/// Bytes of each stretch.
fn lengths(curve: &[Stretch]) -> Vec<f64> {
    let starts = std::iter::once(0).chain(curve.iter().map(|one| one.end_bytes));
    curve.iter().zip(starts).map(|(one, start)| (one.end_bytes - start) as f64).collect()
}

/// All bytes over all time.
fn mean_rate(curve: &[Stretch]) -> f64 {
    rate_of(curve, &lengths(curve))
}

/// Bytes written at the end of each plateau but the last.
fn knees(curve: &[Stretch]) -> Vec<u64> {
    let lengths = lengths(curve);
    let lasts = (curve.len() / LASTS).max(1);
    let (mut knees, mut from, mut at) = (Vec::new(), 0, 1);
    while at < curve.len() {
        let plateau = rate_of(&curve[from..at], &lengths[from..at]);
        let beyond = &curve[at..(at + lasts).min(curve.len())];
        let has_left = |one: &Stretch| one.rate > plateau * STEP || one.rate * STEP < plateau;
        if beyond.len() == lasts && beyond.iter().all(has_left) {
            knees.push(curve[at - 1].end_bytes);
            from = at;
        }
        at += 1;
    }
    knees
}

fn rate_of(curve: &[Stretch], lengths: &[f64]) -> f64 {
    let time: f64 = curve.iter().zip(lengths).map(|(one, bytes)| bytes / one.rate).sum();
    lengths.iter().sum::<f64>() / time
}

/// The simulated fill: when so many of its writes had completed.
#[derive(Default)]
pub(crate) struct Fill {
    /// Completion of each write, in order.
    ends_ns: Vec<Ns>,
}

impl Observer for Fill {
    fn interest(&self) -> Interest {
        Interest { served: true, ..Interest::default() }
    }

    fn served(&mut self, served: &Served) {
        if served.request.op == Op::Write && !matches!(served.status, Status::Failed(_)) {
            self.ends_ns.push(served.ended_ns);
        }
    }
}

impl Fill {
    fn written_bytes(&self) -> u64 {
        self.ends_ns.len() as u64 * WRITE_BYTES
    }

    /// Time at which so many bytes were written, between the completions on either side of it.
    fn time_ns(&self, bytes: u64) -> f64 {
        let at = |writes: u64| match writes {
            0 => 0.0,
            _ => self.ends_ns[(writes as usize).min(self.ends_ns.len()) - 1] as f64,
        };
        let (whole, rest) = (bytes / WRITE_BYTES, bytes % WRITE_BYTES);
        let share = rest as f64 / WRITE_BYTES as f64;
        at(whole) * (1.0 - share) + at(whole + u64::from(rest > 0)) * share
    }

    /// Mean rate between two numbers of bytes.
    fn rate(&self, from: u64, to: u64) -> f64 {
        let time_ns = self.time_ns(to) - self.time_ns(from);
        (to - from) as f64 * 1e9 / time_ns.max(1.0)
    }

    /// The fill in windows of equal length.
    fn windows(&self) -> Vec<Stretch> {
        let written = self.written_bytes();
        let windows = WINDOWS.min(self.ends_ns.len() as u64).max(1);
        let end = |window: u64| (u128::from(written) * u128::from(window) / u128::from(windows)) as u64;
        (0..windows).map(|at| Stretch { end_bytes: end(at + 1), rate: self.rate(end(at), end(at + 1)) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(of: &[(u64, f64)]) -> Vec<Stretch> {
        of.iter().map(|&(end_bytes, rate)| Stretch { end_bytes, rate }).collect()
    }

    #[test]
    fn a_curve_is_read_and_what_is_none_is_refused_at_its_place() {
        let read = Curve::read("c.csv", "written_bytes,bytes_per_second\r\n100,4e9\r\n\n250, 2000000000\n").unwrap();
        assert_eq!(read.stretches, curve(&[(100, 4e9), (250, 2e9)]));
        for (lines, place, found) in [
            ("100,4e9\n90,1e9\n", "c.csv:3:1", "bytes that were written before"),
            ("100\n", "c.csv:2:1", "no stretch of a fill"),
            ("100,0\n", "c.csv:2:1", "no stretch of a fill"),
            ("100,NaN\n", "c.csv:2:1", "no stretch of a fill"),
            ("-5,1e9\n", "c.csv:2:1", "no stretch of a fill"),
            ("", "c.csv", "a header alone"),
        ] {
            let problem = Curve::read("c.csv", &format!("{HEADER}\n{lines}")).unwrap_err().to_string();
            assert!(problem.contains(place) && problem.contains(found), "{lines:?}: {problem}");
        }
    }

    #[test]
    fn a_knee_is_where_a_plateau_is_left_for_good() {
        assert_eq!(knees(&curve(&[(100, 4e9), (900, 1e9), (1_000, 0.5e9)])), [100, 900]);
        assert_eq!(knees(&curve(&[(100, 4e9), (900, 3.5e9)])), [0; 0]);
        // Of a hundred windows one alone is no plateau, two are.
        let windows = |slow: std::ops::Range<u64>| {
            let rate = |at: u64| if slow.contains(&at) { 1e9 } else { 4e9 };
            (0..100).map(|at| (at + 1, rate(at))).collect::<Vec<_>>()
        };
        assert_eq!(knees(&curve(&windows(40..41))), [0; 0]);
        assert_eq!(knees(&curve(&windows(40..42))), [40, 42]);
        assert_eq!(knees(&curve(&windows(60..100))), [60]);
    }

    #[test]
    fn the_mean_is_bytes_over_time() {
        assert_eq!(mean_rate(&curve(&[(100, 4.0), (300, 1.0)])), 300.0 / (25.0 + 200.0));
    }

    #[test]
    fn a_rate_is_over_the_time_between_two_completions() {
        let fill = Fill { ends_ns: vec![1_000, 2_000, 4_000, 8_000] };
        assert_eq!(fill.rate(0, 2 * WRITE_BYTES), 2.0 * WRITE_BYTES as f64 * 1e9 / 2_000.0);
        assert_eq!(fill.rate(WRITE_BYTES, 3 * WRITE_BYTES + WRITE_BYTES / 2), {
            2.5 * WRITE_BYTES as f64 * 1e9 / (6_000.0 - 1_000.0)
        });
        assert_eq!(fill.windows().len(), 4);
    }
}
