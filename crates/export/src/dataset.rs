//! Data sets of sweeps, as the Python package writes them (`flashloom.sweep`): Parquet files with a row for each run.
//!
//! A folder has one file of a sweep that has ended, and one a batch while it goes on; a run that two files have is read
//! once. Only the columns that a report shows are read, and no more of them than the limit of a data set's memory
//! allows ([`LIMIT_VARIABLE`]).

mod budget;
mod column;
mod compact;
mod guard;
mod metadata;
mod pages;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashloom_files::open_input;
use flashloom_units::{
    Problem, Refusal, choice, parse_energy, parse_power, parse_rate, parse_ratio, parse_size, parse_time, visible_path,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

pub use budget::LIMIT_VARIABLE;

use budget::Budget;
use column::Column;
use guard::guarded;

/// Columns of what became of a run.
const STATUS: [&str; 6] = ["id", "status", "error.type", "error.message", "version", "seed"];

/// Entry of a file's metadata with the paths of the varied keys, a list in JSON.
const VARIED: &str = "flashloom.varied";

const DAMAGED: &str = "damaged Parquet";

/// A data set.
#[derive(Clone, Debug, Default)]
pub struct DataSet {
    /// Paths of the varied keys; `version` is one if the runs are of several.
    pub varied: Vec<String>,
    /// Its runs: by their varied values, then by seed.
    pub runs: Vec<SweptRun>,
    /// Effective configuration of one run that ended; the others differ in what varies.
    pub config: Option<Value>,
}

/// A run: the cells of its row, by column.
#[derive(Clone, Debug, Default)]
pub struct SweptRun {
    /// Names of the columns in order, which all runs share.
    columns: Arc<[String]>,
    /// A cell for each of them; null if it is empty.
    cells: Box<[Value]>,
}

impl SweptRun {
    /// A run of some cells.
    pub fn new(cells: impl IntoIterator<Item = (String, Value)>) -> Self {
        let (columns, cells): (Vec<_>, Vec<_>) = cells.into_iter().collect::<BTreeMap<_, _>>().into_iter().unzip();
        Self { columns: columns.into(), cells: cells.into() }
    }

    /// A cell, if it is not empty.
    pub fn cell(&self, column: &str) -> Option<&Value> {
        let at = self.columns.binary_search_by(|known| known.as_str().cmp(column)).ok()?;
        Some(&self.cells[at]).filter(|cell| !cell.is_null())
    }

    /// A cell with a number.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.cell(column)?.as_f64()
    }

    /// A cell with a text, or nothing.
    pub fn text(&self, column: &str) -> &str {
        self.cell(column).and_then(Value::as_str).unwrap_or_default()
    }

    /// True if the run ended; false if it failed, and has an error in place of figures.
    pub fn has_ended(&self) -> bool {
        self.text("status") == "ok"
    }
}

impl DataSet {
    /// True if a path names a data set: a folder, or a Parquet file by its ending or its first bytes.
    pub fn is_at(path: &Path) -> bool {
        path.is_dir() || path.extension().is_some_and(|ending| ending == "parquet") || begins_as_parquet(path)
    }

    /// The files of a data set in order; those that a sweep has begun to write have hidden names.
    ///
    /// # Errors
    /// A folder that cannot be read, or has none.
    fn files(path: &Path) -> Result<Vec<PathBuf>, Problem> {
        if !path.is_dir() {
            return Ok(vec![path.to_owned()]);
        }
        let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(|error| refused(path, error.to_string()))?;
        let is_part = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".parquet") && !name.starts_with('.')
        };
        let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(is_part).collect();
        files.sort_unstable();
        if files.is_empty() {
            return Err(refused(path, "a folder without files that end in `.parquet`"));
        }
        Ok(files)
    }

    /// Reads the folder of a data set, or one file of it; besides the status and the varied keys of its runs, some
    /// figures by their columns.
    ///
    /// # Errors
    /// A folder without Parquet files, a file that is torn or of something else, no runs; a file that takes more memory
    /// than [`LIMIT_VARIABLE`] says.
    pub fn read(path: &Path, figures: &[&str]) -> Result<Self, Problem> {
        Self::read_within(path, figures, &Budget::of_user()?)
    }

    /// The same with a limit of memory in bytes, whatever the user's environment says.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
    pub fn read_limited(path: &Path, figures: &[&str], limit: u64) -> Result<Self, Problem> {
        Self::read_within(path, figures, &Budget::new(limit))
    }

    fn read_within(path: &Path, figures: &[&str], budget: &Budget) -> Result<Self, Problem> {
        let files = Self::files(path)?;
        let mut data = Self::default();
        for file in &files {
            let varied =
                guarded(|| varied_of(file, &open(file, budget)?.1)).unwrap_or_else(|| Err(refused(file, DAMAGED)))?;
            data.varied.extend(varied);
        }
        data.varied.sort_unstable();
        data.varied.dedup();
        let columns: BTreeSet<&str> = STATUS.iter().chain(figures).copied().collect();
        let columns: BTreeSet<String> =
            columns.into_iter().map(str::to_owned).chain(data.varied.iter().cloned()).collect();
        let columns: Arc<[String]> = columns.into_iter().collect();
        let mut known = BTreeSet::new();
        for file in &files {
            let added = guarded(|| data.add(file, &columns, budget, &mut known));
            added.unwrap_or_else(|| Err(refused(file, DAMAGED)))?;
        }
        if data.runs.is_empty() {
            return Err(refused(path, "a data set without runs"));
        }
        data.order();
        Ok(data)
    }

    /// Adds the runs of a file that are not known.
    fn add(
        &mut self,
        file: &Path,
        columns: &Arc<[String]>,
        budget: &Budget,
        known: &mut BTreeSet<String>,
    ) -> Result<(), Problem> {
        let refuse = |found: String| refused(file, found);
        let (opened, reader) = open(file, budget)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        // The first column of a name, as a list of all for each would take their product.
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, column) in schema.columns().iter().enumerate() {
            if let [name] = column.path().parts() {
                places.entry(name).or_insert(place);
            }
        }
        for at in 0..reader.num_row_groups() {
            let group = reader.get_row_group(at).map_err(|error| refuse(error.to_string()))?;
            let declared = u64::try_from(group.metadata().num_rows()).map_err(|_| refuse(DAMAGED.to_owned()))?;
            // Every row has a cell for each of them, whether the file has the column or not.
            budget.take_rows(declared, columns.len() as u64).map_err(refuse)?;
            let empty = || SweptRun { columns: Arc::clone(columns), cells: vec![Value::Null; columns.len()].into() };
            let mut rows: Vec<SweptRun> = Vec::new();
            let find = |name: &str| match places.get(name) {
                Some(&place) => Column::at(&opened, group.as_ref(), place, budget).map(Some),
                None => Ok(None),
            };
            for (index, name) in columns.iter().enumerate() {
                let Some(column) = find(name).map_err(refuse)? else { continue };
                let values = column.read(usize::MAX).map_err(refuse)?;
                rows.resize_with(values.len().max(rows.len()), empty);
                rows.iter_mut().zip(values).for_each(|(row, value)| row.cells[index] = value);
            }
            if let (None, Some(ended)) = (&self.config, rows.iter().position(SweptRun::has_ended)) {
                let column = find("config").map_err(refuse)?;
                let values = column.map_or_else(|| Ok(Vec::new()), |column| column.read(ended + 1)).map_err(refuse)?;
                let text = values.get(ended).and_then(Value::as_str);
                if let Some(text) = text {
                    budget.take_json(text).map_err(refuse)?;
                    self.config = serde_json::from_str(text).ok();
                }
            }
            for row in rows {
                let (id, status) = (row.text("id"), row.text("status"));
                if id.is_empty() || !["ok", "failed"].contains(&status) {
                    return Err(refuse(format!("a row with `id` = {id:?}, `status` = {status:?}")));
                }
                if known.insert(id.to_owned()) {
                    self.runs.push(row);
                }
            }
        }
        Ok(())
    }

    /// Orders the runs; those of several versions vary in it.
    fn order(&mut self) {
        if self.runs.iter().any(|run| run.text("version") != self.runs[0].text("version")) {
            self.varied.push("version".to_owned());
        }
        let columns: Vec<&str> = self.varied.iter().map(String::as_str).chain(["seed"]).collect();
        self.runs.sort_by_cached_key(|run| columns.iter().map(|column| Rank::of(run.cell(column))).collect::<Vec<_>>());
    }

    /// Runs of the same values, which differ in their seed.
    pub fn points(&self) -> impl Iterator<Item = &[SweptRun]> {
        self.runs.chunk_by(|a, b| self.varied.iter().all(|key| a.cell(key) == b.cell(key)))
    }
}

choice! {
    /// Measure of a varied value, with its name on a page.
    pub enum Measure {
        /// A number without unit, or a share.
        Number = "number",
        /// Bytes.
        Size = "size",
        /// Nanoseconds.
        Time = "time",
        /// Bytes a second.
        Rate = "rate",
        /// Picojoules.
        Energy = "energy",
        /// Nanowatts.
        Power = "power",
    }
}

/// The number that a varied value is or writes, such as 4,096 for `"4KiB"`.
pub fn amount(value: &Value) -> Option<(Measure, f64)> {
    let Value::String(text) = value else { return value.as_f64().map(|number| (Measure::Number, number)) };
    type Parser = fn(&str) -> Result<u64, Refusal>;
    let parsers: [(Measure, Parser); 5] = [
        (Measure::Size, parse_size),
        (Measure::Time, parse_time),
        (Measure::Rate, parse_rate),
        (Measure::Energy, parse_energy),
        (Measure::Power, parse_power),
    ];
    let found = parsers.into_iter().find_map(|(measure, parse)| Some((measure, parse(text).ok()? as f64)));
    found.or_else(|| Some((Measure::Number, parse_ratio(text).ok()?)))
}

/// Order of varied values: nothing, then numbers by their amount, then texts.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// No value.
    Nothing,
    /// A number, or a text that writes one, in bits that are ordered as numbers are.
    Number(i64),
    /// Any other value, as JSON.
    Text(String),
}

impl Rank {
    /// The place of a value in the order.
    pub fn of(value: Option<&Value>) -> Self {
        match value.map(|value| (amount(value), value)) {
            None => Self::Nothing,
            Some((Some((_, number)), _)) => {
                // Of negative numbers all bits but the sign are turned round, as in `f64::total_cmp`.
                let bits = number.to_bits().cast_signed();
                Self::Number(bits ^ ((bits >> 63) & i64::MAX))
            }
            Some((None, value)) => Self::Text(value.to_string()),
        }
    }
}

fn refused(path: &Path, found: impl Into<String>) -> Problem {
    let problem = Problem::file(visible_path(path), found, "the data set of a sweep: a folder of Parquet files");
    problem.with_help("`flashloom.sweep` of the Python package writes one: see docs/sweeps.md")
}

fn begins_as_parquet(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"PAR1"
}

/// Opens a file, for its page headers and for its reader.
fn open(file: &Path, budget: &Budget) -> Result<(File, SerializedFileReader<File>), Problem> {
    let cannot = |error: std::io::Error| refused(file, error.to_string());
    let opened = open_input(file).map_err(|found| refused(file, found.to_string()))?;
    budget.check_metadata(&opened).map_err(cannot)?.map_err(|found| refused(file, found))?;
    let reader = SerializedFileReader::new(opened.try_clone().map_err(cannot)?);
    let reader = reader.map_err(|error| refused(file, error.to_string()))?;
    if overlap(&reader) {
        return Err(refused(file, "columns whose bytes overlap"));
    }
    Ok((opened, reader))
}

/// True if parts of a file lie upon each other: many row groups of the same bytes would be read many times.
fn overlap(reader: &SerializedFileReader<File>) -> bool {
    let columns = reader.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
    let bytes = columns.map(|column| {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        (start, start.saturating_add(column.compressed_size()))
    });
    any_overlap(bytes.filter(|(start, end)| start < end).collect())
}

fn any_overlap(mut ranges: Vec<(i64, i64)>) -> bool {
    ranges.sort_unstable();
    ranges.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

/// Paths of the varied keys of a file; refuses one that is of something else.
fn varied_of(file: &Path, reader: &SerializedFileReader<File>) -> Result<Vec<String>, Problem> {
    let metadata = reader.metadata().file_metadata();
    let has = |name: &str| metadata.schema_descr().columns().iter().any(|column| column.path().parts() == [name]);
    if !(has("id") && has("status")) {
        return Err(refused(file, "Parquet without the columns `id` and `status`"));
    }
    let entries = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
    let Some(entry) = entries.iter().find(|entry| entry.key == VARIED) else { return Ok(Vec::new()) };
    let text = entry.value.as_deref().unwrap_or_default();
    serde_json::from_str(text).map_err(|_| refused(file, format!("metadata `{VARIED}` = {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_of_two_columns_may_touch_but_not_overlap() {
        assert!(!any_overlap(vec![(8, 12), (4, 8)]));
        assert!(any_overlap(vec![(8, 12), (4, 9)]));
        assert!(any_overlap(vec![(4, 8), (4, 8)]), "one page of many row groups");
    }

    #[test]
    fn values_are_ordered_by_what_they_measure() {
        let mut values = [json!("noop"), json!("4MiB"), json!(16), json!("512KiB"), json!(2), json!("deadline")];
        values.sort_by_key(|value| Rank::of(Some(value)));
        let expected = [json!(2), json!(16), json!("512KiB"), json!("4MiB"), json!("deadline"), json!("noop")];
        assert_eq!(values, expected);
        assert!(Rank::of(None) < Rank::of(Some(&json!(1))));
        assert_eq!(amount(&json!("75us")), Some((Measure::Time, 75_000.0)));
        assert_eq!(amount(&json!("7%")), Some((Measure::Number, 0.07)));
        assert_eq!(amount(&json!(true)), None);
    }
}
