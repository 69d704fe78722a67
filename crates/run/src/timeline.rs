//! The timeline of a run as CSV: one line per interval of simulated time, or in counting mode of pages written, so that
//! a collection or a burst shows.

mod column;

use std::io::{self, Write};

use flashloom_device::{Interest, Observer, Sample};

pub use column::{COLUMNS, Column, columns};

/// Observer that writes a line for each sample.
pub struct Timeline<W> {
    output: W,
    columns: &'static [Column],
    lines: Lines,
    error: Option<io::Error>,
}

/// The lines of a timeline, made of the differences between the cumulative samples of a run.
#[derive(Default)]
pub struct Lines {
    last: Sample,
}

impl Lines {
    /// The line that ends with a sample, as the text of each of the [`COLUMNS`]: `None` for an empty field. No line if
    /// nothing has happened since the sample before; the last one of a run may end a shorter interval.
    pub fn next(&mut self, sample: &Sample) -> Option<[Option<String>; COLUMNS.len()]> {
        if is_nothing(&self.last, sample) {
            return None;
        }
        let last = std::mem::replace(&mut self.last, *sample);
        Some(COLUMNS.map(|column| (column.value)(&last, sample)))
    }
}

impl<W: Write> Timeline<W> {
    /// Starts a timeline with the names of the [`columns`].
    pub fn new(mut output: W, has_cache: bool) -> Self {
        let columns = columns(has_cache);
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let error = writeln!(output, "{}", names.join(",")).err();
        Self { output, columns, lines: Lines::default(), error }
    }

    /// Returns the output.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<W> {
        self.error.map_or(Ok(self.output), Err)
    }
}

impl<W: Write> Observer for Timeline<W> {
    fn interest(&self) -> Interest {
        Interest { samples: true, ..Interest::default() }
    }

    fn sample(&mut self, sample: &Sample) {
        if self.error.is_some() {
            return;
        }
        let Some(line) = self.lines.next(sample) else { return };
        let fields = line.map(Option::unwrap_or_default);
        self.error = writeln!(self.output, "{}", fields[..self.columns.len()].join(",")).err();
    }
}

/// True if the run ended at the time of the previous sample, and nothing has happened since.
fn is_nothing(last: &Sample, sample: &Sample) -> bool {
    let is_longer = sample.is_timed && sample.time_ns > last.time_ns;
    let counts = |sample: &Sample| (sample.completed, sample.programs, sample.erases);
    !is_longer && counts(sample) == counts(last)
}

#[cfg(test)]
mod tests {
    use flashloom_device::SampledLatency;
    use flashloom_units::S;

    use super::*;

    /// Lines of some samples, each as its columns.
    fn lines(samples: &[Sample]) -> Vec<Vec<(&'static str, String)>> {
        let mut timeline = Timeline::new(Vec::new(), true);
        samples.iter().for_each(|sample| timeline.sample(sample));
        let text = String::from_utf8(timeline.finish().unwrap()).unwrap();
        let mut lines = text.lines();
        assert!(lines.next().unwrap().split(',').eq(COLUMNS.map(|column| column.name)));
        let of =
            |line: &str| COLUMNS.iter().map(|column| column.name).zip(line.split(',').map(str::to_owned)).collect();
        lines.map(of).collect()
    }

    /// Columns of a line that are neither empty nor zero, as text.
    fn shown(line: &[(&'static str, String)]) -> String {
        let some = line.iter().filter(|(_, value)| !["", "0", "0.0"].contains(&value.as_str()));
        some.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_line_holds_what_happened_since_the_line_before() {
        let latency = SampledLatency { p50_ns: 90, p99_ns: 180, max_ns: 190, wait_max_ns: 20 };
        let first =
            Sample { is_timed: true, time_ns: S, completed: 10, latency_sum_ns: 1_000, erases: 2, ..Sample::default() };
        let first = Sample { latency: Some(latency), host_page_writes: 8, programs: [8, 4, 0, 0, 0, 0], ..first };
        let second = Sample { time_ns: 3 * S, latency: None, erases: 5, outstanding: 4, ..first };
        let lines = lines(&[first, second, Sample { outstanding: 0, ..second }]);
        assert_eq!(
            lines.iter().map(|line| shown(line)).collect::<Vec<_>>(),
            [
                "time_ns=1000000000 pages_written=8 completed=10 iops=10.0 latency_ns_mean=100 latency_ns_p50=90 \
                 latency_ns_p99=180 latency_ns_max=190 wait_ns_max=20 waf=1.500 programs=12 programs_host=8 \
                 programs_gc=4 erases=2",
                "time_ns=3000000000 pages_written=8 erases=3 outstanding=4",
            ]
        );
        let empty = |name| lines[1].iter().any(|(column, value)| *column == name && value.is_empty());
        assert!(empty("waf") && empty("latency_ns_mean") && empty("latency_ns_max") && !empty("iops"));
    }

    #[test]
    fn what_happens_at_the_very_end_of_an_interval_is_not_lost() {
        let first = Sample { is_timed: true, time_ns: S, completed: 10, ..Sample::default() };
        let lines = lines(&[first, Sample { completed: 11, ..first }]);
        assert_eq!(shown(&lines[1]), "time_ns=1000000000 completed=1");
    }

    #[test]
    fn lines_of_a_run_without_time_have_no_times() {
        let first = Sample { time_ns: 7, host_page_writes: 10, programs: [10, 0, 0, 5, 0, 0], ..Sample::default() };
        let lines = lines(&[first, first]);
        assert_eq!(
            lines.iter().map(|line| shown(line)).collect::<Vec<_>>(),
            ["pages_written=10 waf=1.500 programs=15 programs_host=10 programs_map=5"]
        );
    }
}
