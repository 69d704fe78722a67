//! The journal of a fit: what was simulated, so that an interrupted fit goes on where it was.
//!
//! ```text
//! line 1   {"schema": "flashloom/fit-journal/1", "of": "HASH"}   the program, the cells and their drives
//! then     {"cell": 3, "at": "device.read_time=..", "figures": ..}   a simulation, in any order
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

/// Format identifier of the first line.
const SCHEMA: &str = "flashloom/fit-journal/1";

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    of: String,
}

/// A simulation.
#[derive(Serialize, Deserialize)]
struct Entry {
    cell: usize,
    at: String,
    figures: Figures,
}

/// Simulations by cell and point.
pub struct Journal {
    known: Mutex<BTreeMap<(usize, String), Figures>>,
    file: Option<(PathBuf, Mutex<File>)>,
    taken: usize,
}

impl Journal {
    /// A journal that is kept in memory alone.
    pub fn in_memory() -> Self {
        Self { known: Mutex::default(), file: None, taken: 0 }
    }

    /// Opens the journal of a fit, or begins it. `of` is the hash of all that its simulations depend on but their
    /// points.
    ///
    /// # Errors
    /// A file that is no journal, or that of another fit; one that cannot be written.
    pub fn open(path: &Path, of: &str) -> Result<Self, Problem> {
        let expected = "the journal of this fit, or no file";
        let refuse = |found: String| {
            let problem = Problem::file(visible_path(path), found, expected);
            problem.with_help("remove it to begin again, or name another with --journal")
        };
        if path.is_symlink() {
            return Err(refuse("a link, which is not followed".to_owned()));
        }
        let bytes = match read_input(path, RESULT_LIMIT_BYTES) {
            Ok(bytes) => bytes,
            Err(NoInput::Missing) => Vec::new(),
            Err(reason) => return Err(refuse(reason.to_string())),
        };
        let header = Header { schema: SCHEMA.to_owned(), of: of.to_owned() };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole == 0 && !line_of(&header).is_ok_and(|line| line.as_bytes().starts_with(&bytes)) {
            return Err(refuse("no journal of a fit".to_owned()));
        }
        let mut known = BTreeMap::new();
        let mut lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        if let Some(first) = lines.next() {
            let header = serde_json::from_slice::<Header>(first).ok().filter(|header| header.schema == SCHEMA);
            let header = header.ok_or_else(|| refuse("no journal of a fit".to_owned()))?;
            if header.of != of {
                return Err(refuse("the journal of another fit, or of another build of the program".to_owned()));
            }
        }
        for (number, line) in lines.enumerate() {
            let entry: Entry = serde_json::from_slice(line)
                .map_err(|error| refuse(format!("line {} is damaged: {error}", number + 2)))?;
            known.insert((entry.cell, entry.at), entry.figures);
        }
        let cannot = |error: std::io::Error| refuse(format!("the file cannot be written: {error}"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(cannot)?;
        // A file system without locks takes the word of its user.
        if try_lock(&file).is_ok_and(|is_ours| !is_ours) {
            return Err(refuse("another program is writing it".to_owned()));
        }
        file.set_len(whole as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(cannot)?;
        if whole == 0 {
            write_line(&mut file, &header).map_err(cannot)?;
        }
        let taken = known.len();
        Ok(Self { known: Mutex::new(known), file: Some((path.to_owned(), Mutex::new(file))), taken })
    }

    /// Simulations that were there when it was opened.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// The figures of a cell at a point, if they are known.
    pub fn get(&self, cell: usize, at: &str) -> Option<Figures> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(cell, at.to_owned())).cloned()
    }

    /// Keeps the figures of a cell at a point.
    ///
    /// # Errors
    /// Reason why they cannot be written.
    pub fn keep(&self, cell: usize, at: &str, figures: &Figures) -> Result<(), String> {
        if let Some((path, file)) = &self.file {
            let entry = Entry { cell, at: at.to_owned(), figures: figures.clone() };
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let cannot = |error| format!("{} cannot be written: {error}", visible_path(path));
            write_line(&mut file, &entry).map_err(cannot)?;
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert((cell, at.to_owned()), figures.clone());
        Ok(())
    }
}

fn line_of(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|line| line + "\n")
}

fn write_line(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    file.write_all(line_of(value)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::figures::Side;
    use std::fs;

    fn figures(mean_ns: f64) -> Figures {
        let side = Side { rate: Some(0.1 + 0.2), mean_ns, requests: 7, percentiles: [Some(3), None, None, None] };
        Figures([Some(side), None])
    }

    #[test]
    fn what_was_kept_is_there_again_and_a_line_cut_off_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path, "a").unwrap();
        journal.keep(0, "x=1", &figures(1.0 / 3.0)).unwrap();
        journal.keep(2, "x=1", &figures(4.5)).unwrap();
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 4]).unwrap();
        assert!(Journal::open(&path, "a").err().expect("it is locked").to_string().contains("another program"));
        drop(journal);
        let again = Journal::open(&path, "a").unwrap();
        assert_eq!((again.taken(), again.get(0, "x=1"), again.get(2, "x=1")), (1, Some(figures(1.0 / 3.0)), None));
        again.keep(2, "x=1", &figures(4.5)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), text);
    }

    #[test]
    fn a_journal_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        Journal::open(&path, "a").unwrap();
        let refused = |of: &str| Journal::open(&path, of).err().expect("it is refused").to_string();
        assert!(refused("b").contains("the journal of another fit"));
        for text in ["no journal\n", "no journal", "{\"schema\":1}"] {
            fs::write(&path, text).unwrap();
            assert!(refused("a").contains("no journal of a fit"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, format!("{{\"schema\":\"{SCHEMA}\",\"of\":\"a\"}}\n{{}}\n")).unwrap();
        assert!(refused("a").contains("line 2 is damaged"));
    }
}
