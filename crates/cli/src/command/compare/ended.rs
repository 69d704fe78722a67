//! A line on standard error for each run of a comparison as it ends, long before the table.

use std::sync::{Mutex, PoisonError};

use flashloom::figures::result::{ComparedRun, RunResult, plain};
use flashloom::report::text::Column;
use flashloom::run::Keeper;
use flashloom::units::visible_line;
use serde_json::{Map, Value};

use crate::command::kept::Kept;
use crate::figures::time;
use crate::progress::Bar;

/// A [`Keeper`] that reports every result once it is kept, if it is kept at all.
pub struct Ended<'a> {
    kept: Option<&'a Kept>,
    bar: &'a Bar,
    columns: &'a [Column],
    /// Number of runs, without those whose results were there already.
    runs: usize,
    /// Number of those that have ended.
    ended: Mutex<usize>,
    is_quiet: bool,
}

impl<'a> Ended<'a> {
    /// A keeper for `runs` runs that shows the first of the columns that a run has. Nothing is reported of a single
    /// run, nor if `is_quiet`.
    pub fn new(kept: Option<&'a Kept>, bar: &'a Bar, columns: &'a [Column], runs: usize, is_quiet: bool) -> Self {
        Self { kept, bar, columns, runs, ended: Mutex::new(0), is_quiet: is_quiet || runs < 2 }
    }
}

impl Keeper for Ended<'_> {
    fn kept(&self, index: usize) -> Option<RunResult> {
        self.kept?.kept(index)
    }

    fn keep(&self, index: usize, run: &ComparedRun) -> Result<(), String> {
        self.kept.map_or(Ok(()), |kept| kept.keep(index, run))?;
        if !self.is_quiet {
            // The lock is held until the line is written: the numbers follow one another.
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            *ended += 1;
            self.bar.say(line(*ended, self.runs, run, self.columns));
        }
        Ok(())
    }
}

/// The line of the run that ended as number `ended`: its varied values, and the first of the columns that it has.
fn line(ended: usize, runs: usize, run: &ComparedRun, columns: &[Column]) -> String {
    let result = serde_json::to_value(&run.result).expect("results have text keys and finite numbers");
    let figure = columns.iter().find_map(|column| Some((column, column.value(&result)?)));
    let figure = figure.map_or(String::new(), |(column, value)| format!(": {} {}", column.name, column.show(value)));
    let took = run.result.run.as_ref().map_or(String::new(), |cost| format!(" in {}", time(cost.wall_seconds * 1e9)));
    format!("done {ended} of {runs}{took}: {}{figure}", visible_line(&label(&run.vary)))
}

fn label(vary: &Map<String, Value>) -> String {
    vary.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect::<Vec<_>>().join(", ")
}
