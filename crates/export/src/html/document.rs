//! What is reported, as it is read from a file.

use std::borrow::Cow;
use std::path::Path;

use flashloom_figures::result::{
    COMPARE_SCHEMA, Comparison, KEPT_SCHEMA, KeptRun, RESULT_SCHEMA, RunResult, Unread, of_today, parse,
};
use flashloom_files::{BYTE_ORDER_MARK, RESULT_LIMIT_BYTES, read_input};
use flashloom_study::validate::{VALIDATION_SCHEMA, ValidationResult};
use flashloom_units::{Problem, ProblemPlace, Refusal};
use serde::de::DeserializeOwned;

use super::sweep;
use crate::dataset::DataSet;

/// A result, a comparison, a validation, or a data set.
#[derive(Clone, Debug)]
pub enum Document {
    /// One run.
    Run(Box<RunResult>),
    /// The runs of a comparison.
    Comparison(Comparison),
    /// Drives beside measurements of real ones.
    Validation(Box<ValidationResult>),
    /// The runs of a sweep.
    Sweep(DataSet),
}

impl Document {
    /// Reads a file as [`Document::read`] does, or the data set of a sweep, which is a folder or a Parquet file.
    ///
    /// # Errors
    /// A file that is missing, torn, or of something else.
    pub fn open(name: &str) -> Result<Self, Problem> {
        let path = Path::new(name);
        // What is neither waits for its other end when it is opened, or can be read only once.
        if (path.is_dir() || path.is_file()) && DataSet::is_at(path) {
            return DataSet::read(path, &sweep::figure_columns()).map(Self::Sweep);
        }
        let expected = "the JSON of a result, a comparison or a validation, or the data set of a sweep";
        let refuse = |found: String| Problem::file(name, found, expected);
        let bytes = read_input(path, RESULT_LIMIT_BYTES).map_err(|reason| refuse(reason.to_string()))?;
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let text = str::from_utf8(bytes).map_err(|_| refuse("this is not UTF-8 text".to_owned()))?;
        Self::read(name, text)
    }

    /// Reads what `run --json`, `compare --json`, `compare --out` or `validate --json` wrote; `name` is the file's.
    ///
    /// # Errors
    /// No JSON, with line and column; or JSON of something else, or of another version.
    pub fn read(name: &str, text: &str) -> Result<Self, Problem> {
        let (schema, today) = of_today(text.as_bytes()).map_err(|unread| refused(name, text, unread))?;
        // A place in what was converted is none in the file.
        let written = if matches!(today, Cow::Borrowed(_)) { text } else { "" };
        let text = (str::from_utf8(&today).expect("it was text before"), written);
        match schema.as_str() {
            RESULT_SCHEMA => Ok(Self::Run(parsed(name, text)?)),
            COMPARE_SCHEMA => Ok(Self::Comparison(*parsed(name, text)?)),
            KEPT_SCHEMA => Ok(Self::Run(Box::new(parsed::<KeptRun>(name, text)?.result))),
            VALIDATION_SCHEMA => Ok(Self::Validation(parsed(name, text)?)),
            other => {
                let found = if other.is_empty() { "no `schema`".to_owned() } else { format!("`schema` = {other:?}") };
                let known = [RESULT_SCHEMA, COMPARE_SCHEMA, KEPT_SCHEMA].map(|schema| format!("{schema:?}"));
                let expected = format!("`schema` = {} or {VALIDATION_SCHEMA:?}", known.join(", "));
                let problem = Problem::file(name, found, expected);
                Err(problem.with_help("write a result with `flashloom run --json` or `flashloom compare --json`"))
            }
        }
    }

    /// One run of a comparison, by its number from 1.
    ///
    /// # Errors
    /// A number that no run has, or a document of one run.
    pub fn only(self, number: usize) -> Result<Self, Refusal> {
        let comparison = match self {
            Self::Comparison(comparison) => comparison,
            Self::Run(_) => return Err(Refusal::new("`--run` with the result of one run", "a comparison")),
            Self::Validation(_) => return Err(Refusal::new("`--run` with a validation", "a comparison")),
            Self::Sweep(_) => {
                let refusal = Refusal::new("`--run` with the data set of a sweep", "a comparison");
                return Err(refusal.help("a row has the figures of a run, not its whole result"));
            }
        };
        let count = comparison.runs.len();
        let run = number.checked_sub(1).and_then(|at| comparison.runs.into_iter().nth(at));
        let refuse = || Refusal::new(format!("run {number} of {count}"), format!("a number from 1 to {count}"));
        Ok(Self::Run(run.ok_or_else(refuse)?.result))
    }
}

/// Parses a text, whose errors are shown where they are in the text as it was written.
fn parsed<T: DeserializeOwned>(name: &str, (text, written): (&str, &str)) -> Result<Box<T>, Problem> {
    parse(text.as_bytes()).map(Box::new).map_err(|unread| refused(name, written, unread))
}

fn refused(name: &str, text: &str, Unread { found, place, is_syntax }: Unread) -> Problem {
    let refusal = if is_syntax {
        Refusal::new(format!("this is not JSON: {found}"), "JSON, as `flashloom run --json` writes it")
    } else {
        let refusal = Refusal::new(found, "a result as this version writes it");
        refusal.help("schema/result.json, schema/compare.json and schema/validation.json describe every field")
    };
    let problem = refusal.in_file(name);
    let (line, column) = place.unwrap_or((0, 0));
    let source = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    if line == 0 || source.is_empty() {
        return problem;
    }
    // A file of one long line would fill the screen.
    let source: String = source.chars().take(200).collect();
    let column = (column as u64).clamp(1, source.chars().count() as u64);
    Problem { place: ProblemPlace::Text { line: line as u64, column, width: 1, source }, ..problem }
}
