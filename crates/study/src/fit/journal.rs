//! The journal of a fit: what was simulated, so that an interrupted fit goes on where it was.
//!
//! ```text
//! line 1   {"schema": "flashloom/fit-journal/3", "of": "HASH"}   the program, the loads and their drives
//! then     {"load": 3, "at": "device.read_time=..", "figures": [..], "hints": [..]}   a simulation, in any order
//! ```
//! A search is the same each time it is made, so it asks for the same points, and finds them here. A last line that was
//! cut off is simulated once more.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flashloom_files::{NoInput, RESULT_LIMIT_BYTES, read_input, try_lock};
use flashloom_units::{Problem, visible_path};
use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::load::Simulated;

/// Format identifier of the first line.
const SCHEMA: &str = "flashloom/fit-journal/3";

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    of: String,
}

/// A simulation.
#[derive(Serialize, Deserialize)]
struct Entry {
    load: usize,
    at: String,
    #[serde(flatten)]
    simulated: Simulated,
}

/// Simulations by load and point.
pub struct Journal {
    known: Mutex<BTreeMap<(usize, String), Simulated>>,
    file: Option<(PathBuf, Mutex<File>)>,
    taken: usize,
}

impl Journal {
    /// A journal that is kept in memory alone.
    pub fn in_memory() -> Self {
        Self { known: Mutex::default(), file: None, taken: 0 }
    }

    /// Opens the journal of a fit, or begins it. `of` is the hash of all that its simulations depend on but their
    /// points, and `cells` the number of cells of each load.
    ///
    /// # Errors
    /// A file that is no journal, or that of another fit; one that cannot be written.
    pub fn open(path: &Path, of: &str, cells: &[usize]) -> Result<Self, Problem> {
        let expected = "the journal of this fit, or no file";
        let problem = |found: String| Problem::file(visible_path(path), found, expected);
        // The help does not suggest removing a file that is not a journal.
        let refuse = |found: String| problem(found).with_help("name another file with --journal");
        let refuse_journal =
            |found: String| problem(found).with_help("remove it to begin again, or name another with --journal");
        if path.is_symlink() {
            return Err(refuse("a link, which is not followed".to_owned()));
        }
        let bytes = match read_input(path, RESULT_LIMIT_BYTES) {
            Ok(bytes) => bytes,
            Err(NoInput::Missing) => Vec::new(),
            Err(reason) => return Err(refuse(reason.to_string())),
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let header = line_of(&Header { schema: SCHEMA.to_owned(), of: of.to_owned() });
        if whole == 0 && !header.as_bytes().starts_with(&bytes) {
            return Err(refuse("no journal of a fit".to_owned()));
        }
        let mut known = BTreeMap::new();
        let mut lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        if let Some(first) = lines.next() {
            let header = serde_json::from_slice::<Header>(first).ok().filter(|header| header.schema == SCHEMA);
            let header = header.ok_or_else(|| refuse("no journal of a fit".to_owned()))?;
            if header.of != of {
                return Err(refuse_journal(
                    "the journal of another fit, or of another build of the program".to_owned(),
                ));
            }
        }
        for (number, line) in lines.enumerate() {
            let damaged = |column: usize| refuse_journal(format!("line {} is damaged, at column {column}", number + 2));
            let entry: Entry = serde_json::from_slice(line).map_err(|error| damaged(error.column()))?;
            let Entry { load, at, simulated } = entry;
            if cells.get(load) != Some(&simulated.figures.len()) || !simulated.figures.iter().all(Figures::is_sound) {
                return Err(damaged(1));
            }
            if known.insert((load, at), simulated.clone()).is_some_and(|before| before != simulated) {
                return Err(refuse_journal(format!("line {} contradicts one above it", number + 2)));
            }
        }
        let cannot = |error: std::io::Error| refuse(format!("the file cannot be written: {error}"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(cannot)?;
        // Without file locks, the user has to make sure that one fit runs at a time.
        let is_locked = try_lock(&file).is_ok_and(|is_ours| !is_ours);
        if is_locked || file.metadata().is_ok_and(|now| now.len() != bytes.len() as u64) {
            let problem =
                Problem::file(visible_path(path), "another fit runs with this journal", "a journal of its own");
            return Err(problem.with_help("wait until that fit has ended, or name another file with --journal"));
        }
        file.set_len(whole as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(cannot)?;
        if whole == 0 {
            file.write_all(header.as_bytes()).map_err(cannot)?;
        }
        let taken = known.len();
        Ok(Self { known: Mutex::new(known), file: Some((path.to_owned(), Mutex::new(file))), taken })
    }

    /// Simulations that were there when it was opened.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// What is known of a load at a point.
    pub(super) fn get(&self, load: usize, at: &str) -> Option<Simulated> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(load, at.to_owned())).cloned()
    }

    /// Keeps what came of a load at a point.
    ///
    /// # Errors
    /// Reason why it cannot be written.
    pub(super) fn keep(&self, load: usize, at: &str, simulated: &Simulated) -> Result<(), String> {
        if let Some((path, file)) = &self.file {
            let entry = Entry { load, at: at.to_owned(), simulated: simulated.clone() };
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let cannot = |error| format!("{} cannot be written: {error}", visible_path(path));
            file.write_all(line_of(&entry).as_bytes()).map_err(cannot)?;
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert((load, at.to_owned()), simulated.clone());
        Ok(())
    }
}

fn line_of(value: &impl Serialize) -> String {
    let line = serde_json::to_string(value).expect("a journal has text keys and finite numbers");
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::figures::Side;
    use flashloom_figures::result::HintResult;
    use std::fs;

    fn simulated(mean_ns: f64) -> Simulated {
        let side = Side { rate: Some(0.1 + 0.2), mean_ns, requests: 7, percentiles: [Some(3), None, None, None] };
        let [about, text, key] = ["buffered", "All of it.", "run.drain"].map(str::to_owned);
        let figures = vec![Figures([Some(side), None]), Figures([None, None])];
        Simulated { figures, hints: vec![HintResult { about, text, key }] }
    }

    #[test]
    fn what_was_kept_is_there_again_and_a_line_cut_off_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path, "a", &[2; 3]).unwrap();
        journal.keep(0, "x=1", &simulated(1.0 / 3.0)).unwrap();
        journal.keep(2, "x=1", &simulated(4.5)).unwrap();
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 4]).unwrap();
        let locked = Journal::open(&path, "a", &[2; 3]).err().expect("it is locked").to_string();
        assert!(locked.contains("another fit runs with this journal") && !locked.contains("remove it"), "{locked}");
        drop(journal);
        let again = Journal::open(&path, "a", &[2; 3]).unwrap();
        assert_eq!((again.taken(), again.get(0, "x=1"), again.get(2, "x=1")), (1, Some(simulated(1.0 / 3.0)), None));
        again.keep(2, "x=1", &simulated(4.5)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), text);
    }

    #[test]
    fn a_journal_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        Journal::open(&path, "a", &[2; 3]).unwrap();
        let refused = |of: &str| Journal::open(&path, of, &[2; 3]).err().expect("it is refused").to_string();
        let other = refused("b");
        assert!(other.contains("the journal of another fit") && other.contains("remove it"), "{other}");
        fs::write(&path, "no journal\n").unwrap();
        let none = refused("a");
        assert!(none.contains("no journal of a fit") && !none.contains("remove it"), "{none}");
        // A file of one line without an end is no header that was cut off, and stays; an empty one may be begun.
        for text in ["my only copy", "{\"jobs\":[1,2,3]}"] {
            fs::write(&path, text).unwrap();
            assert!(refused("a").contains("no journal of a fit"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, "{\"schema\":\"flash").unwrap();
        Journal::open(&path, "a", &[2; 3]).unwrap();
        fs::write(&path, format!("{{\"schema\":\"{SCHEMA}\",\"of\":\"a\"}}\n{{}}\n")).unwrap();
        assert!(refused("a").contains("line 2 is damaged, at column 2"));
        // Figures that no simulation has: another number of cells, a negative rate, two answers to one question.
        let line = |load: usize, simulated: Simulated| line_of(&Entry { load, at: "x=1".to_owned(), simulated });
        let header = line_of(&Header { schema: SCHEMA.to_owned(), of: "a".to_owned() });
        let mut negative = simulated(2.0);
        negative.figures[0].0[0].as_mut().expect("it has reads").rate = Some(-5.0);
        for (lines, found) in [
            (
                line(0, Simulated { figures: simulated(1.0).figures[..1].to_vec(), hints: Vec::new() }),
                "line 2 is damaged",
            ),
            (line(3, simulated(1.0)), "line 2 is damaged"),
            (line(0, negative), "line 2 is damaged"),
            (line(0, simulated(1.0)) + &line(0, simulated(2.0)), "line 3 contradicts one above it"),
        ] {
            fs::write(&path, header.clone() + &lines).unwrap();
            assert!(refused("a").contains(found), "{lines}");
        }
    }
}
