//! The course of a run over simulated time, as CSV: one line for each interval, so that a collection or a burst shows.

use std::io::{self, Write};

use flashloom_device::{Interest, Observer, Sample};
use flashloom_units::{Ns, S};

/// The columns: what happened in the interval that ends at `time_ns`, then the state at its end.
pub const HEADER: &str = "time_ns,completed,iops,read_bytes,write_bytes,latency_ns_mean,programs,erases,outstanding,\
                          dirty_pages,free_blocks";

/// Writes the differences between the cumulative samples of a run.
pub struct Timeline<W> {
    output: W,
    last: Sample,
    error: Option<io::Error>,
}

impl<W: Write> Timeline<W> {
    /// Begins with the header.
    pub fn new(mut output: W) -> Self {
        let error = writeln!(output, "{HEADER}").err();
        Self { output, last: Sample::default(), error }
    }

    /// The output, or what went wrong with it.
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

    /// Adds one line; the last one of a run may end a shorter interval.
    fn sample(&mut self, sample: &Sample) {
        let interval_ns: Ns = sample.time_ns - self.last.time_ns;
        if interval_ns == 0 || self.error.is_some() {
            return;
        }
        let last = std::mem::replace(&mut self.last, *sample);
        let completed = sample.completed - last.completed;
        let iops = completed as f64 * S as f64 / interval_ns as f64;
        let mean = match u128::from(completed) {
            // No request completed, so that there is no latency: the field is empty.
            0 => String::new(),
            count => ((sample.latency_sum_ns - last.latency_sum_ns) / count).to_string(),
        };
        let written = writeln!(
            self.output,
            "{},{completed},{iops:.1},{},{},{mean},{},{},{},{},{}",
            sample.time_ns,
            sample.read_bytes - last.read_bytes,
            sample.write_bytes - last.write_bytes,
            sample.programs - last.programs,
            sample.erases - last.erases,
            sample.outstanding,
            sample.dirty_pages,
            sample.free_blocks
        );
        self.error = written.err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_what_happened_since_the_line_before() {
        let mut timeline = Timeline::new(Vec::new());
        let first = Sample { time_ns: S, completed: 10, latency_sum_ns: 1_000, erases: 2, ..Sample::default() };
        timeline.sample(&first);
        timeline.sample(&Sample { time_ns: 3 * S, erases: 5, outstanding: 4, ..first });
        timeline.sample(&Sample { time_ns: 3 * S, erases: 5, ..first });
        let text = String::from_utf8(timeline.finish().unwrap()).unwrap();
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(lines, ["1000000000,10,10.0,0,0,100,0,2,0,0,0", "3000000000,0,0.0,0,0,,0,3,4,0,0"]);
        assert_eq!(HEADER.split(',').count(), lines[0].split(',').count());
    }
}
