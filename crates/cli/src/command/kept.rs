//! Results of runs kept in a folder, one file per run: written as each run ends, and reused instead of running again.
//!
//! A file's name consists of the run's varied values and a hash of everything that its result depends on: its effective
//! configuration, the varied values, whether it is verified and has bounds, and the content of the files that it reads.
//! Any other run has another file. The name does not tell the build of the program: a folder holds results of one
//! build, because results of two builds in one table would be compared as if they were of one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use flashloom::config::KeyId;
use flashloom::figures::result::{ComparedRun, EXPERIMENT, KEPT_SCHEMA, KeptRun, RunResult, parse, schema_of};
use flashloom::run::{Keeper, Prepared, program_sha256};
use flashloom::units::{Problem, Problems, Value, visible_path};
use flashloom_files::{NoInput, RESULT_LIMIT_BYTES, read_input, remove_leftovers, write_whole};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::command::json_text;

/// Maximum length of the varied values in a file name, in bytes.
const LABEL: usize = 100;

/// A folder of results.
pub struct Kept {
    folder: PathBuf,
    program_sha256: String,
    /// One file per variant.
    files: Vec<KeptFile>,
}

struct KeptFile {
    name: String,
    /// The result that was there before, until it is taken.
    result: Mutex<Option<RunResult>>,
    was_there: bool,
}

impl Kept {
    /// Opens a folder, creating it if it does not exist, and reads the results that it holds. `issuer` returns the
    /// configuration of the run whose issued requests a variant replays, if it replays any.
    ///
    /// # Errors
    /// A folder that cannot be written to, results of another build of the program, files that hold something else.
    pub fn open(
        folder: &str,
        prepared: &Prepared<'_>,
        verify: bool,
        issuer: &dyn Fn(usize) -> Option<Json>,
    ) -> Result<Self, Problems> {
        let refuse = |found: String| Problem::file(folder, found, "a folder for the results of runs");
        if folder.is_empty() || fs::metadata(folder).is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(refuse("this is not a folder".to_owned()).into());
        }
        let folder = PathBuf::from(folder);
        let usable = fs::create_dir_all(&folder).and_then(|()| tempfile::tempfile_in(&folder));
        usable.map_err(|error| refuse(format!("the folder cannot be written to: {error}")))?;
        remove_leftovers(&folder);
        let program = program_sha256();
        let program_sha256 = program.map_err(|error| refuse(format!("this program cannot be read: {error}")))?;
        let mut kept = Self { folder, program_sha256, files: Vec::with_capacity(prepared.experiment().variants.len()) };
        let (mut problems, mut others) = (Vec::new(), Vec::new());
        for index in 0..prepared.experiment().variants.len() {
            let name = name_of(prepared, index, verify, issuer(index));
            let path = kept.folder.join(&name);
            let found = read(&path).unwrap_or_else(|problem| {
                problems.push(problem);
                None
            });
            let vary = prepared.experiment().variants[index].vary_to_json();
            if found.as_ref().is_some_and(|found| found.vary != vary) {
                let found = "the result of another combination".to_owned();
                let problem = Problem::file(visible_path(&path), found, "the result of the one in its name");
                problems.push(problem.with_help("move the file away to run it again"));
            }
            let result = found.and_then(|found| {
                let is_ours = found.program_sha256 == kept.program_sha256;
                if !is_ours {
                    others.push(found.version);
                }
                is_ours.then_some(found.result)
            });
            kept.files.push(KeptFile { name, was_there: result.is_some(), result: Mutex::new(result) });
        }
        if let Some(version) = others.first() {
            let found = format!("{} of the results were written by another build (version {version})", others.len());
            let problem = Problem::file(visible_path(&kept.folder), found, "results of this program");
            problems.push(problem.with_help("give another --out, or move those results away to run them again"));
        }
        if problems.is_empty() { Ok(kept) } else { Err(Problems(problems)) }
    }

    /// True if the result of a variant was there already.
    pub fn has(&self, index: usize) -> bool {
        self.files[index].was_there
    }

    /// Removes the results, and the folder if nothing else is in it.
    ///
    /// # Errors
    /// A file that cannot be removed.
    #[cfg(feature = "study")]
    pub fn remove(self) -> std::io::Result<()> {
        for KeptFile { name, .. } in &self.files {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        match fs::remove_dir(&self.folder) {
            Err(error) if error.kind() != ErrorKind::DirectoryNotEmpty && error.kind() != ErrorKind::NotFound => {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Number of results that were there already.
    pub fn count(&self) -> usize {
        self.files.iter().filter(|file| file.was_there).count()
    }
}

impl Keeper for Kept {
    fn kept(&self, index: usize) -> Option<RunResult> {
        self.files[index].result.lock().ok()?.take()
    }

    fn keep(&self, index: usize, run: &ComparedRun) -> Result<(), String> {
        let KeptFile { name, .. } = &self.files[index];
        let kept = KeptRun {
            schema: KEPT_SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            program_sha256: self.program_sha256.clone(),
            vary: run.vary.clone(),
            result: (*run.result).clone(),
        };
        let path = self.folder.join(name);
        let write = || write_whole(&path, json_text(&kept).as_bytes());
        // Another command with the same folder may have ended and removed it.
        let written = write().or_else(|error| match error.kind() {
            ErrorKind::NotFound => fs::create_dir_all(&self.folder).and_then(|()| write()),
            _ => Err(error),
        });
        written.map_err(|error| format!("{} cannot be written: {error}", visible_path(&path)))
    }
}

/// Reads a result file; `None` if there is none.
fn read(path: &Path) -> Result<Option<KeptRun>, Problem> {
    let refuse = |found: String| {
        let problem = Problem::file(visible_path(path), found, "the result of a run that `--out` wrote");
        problem.with_help("move the file away to run it again")
    };
    let text = match read_input(path, RESULT_LIMIT_BYTES) {
        Ok(text) => text,
        Err(NoInput::Missing) => return Ok(None),
        Err(reason) => return Err(refuse(reason.to_string())),
    };
    let kept = schema_of(&text).and_then(|_| parse::<KeptRun>(&text));
    let kept = kept.map_err(|unread| refuse(format!("the file is damaged: {unread}")))?;
    if kept.schema != KEPT_SCHEMA {
        return Err(refuse(format!("a file of the format `{}`", kept.schema)));
    }
    Ok(Some(kept))
}

/// File name of a variant: its varied values, for people to find it, and the hash of all that its result depends on.
/// The text of the experiment's file is not part of the hash: it may say more, or in other words, than this run needs.
fn name_of(prepared: &Prepared<'_>, index: usize, verify: bool, issuer: Option<Json>) -> String {
    let variant = &prepared.experiment().variants[index];
    let inputs = prepared.inputs(index).iter().filter(|input| input.role != EXPERIMENT);
    let mut counts = json!({
        "config": variant.config.to_json(),
        "vary": variant.vary_to_json(),
        "verify": verify,
        "state": prepared.state_sha256(index),
        "inputs": inputs.map(|input| &input.sha256).collect::<Vec<_>>(),
    });
    if prepared.has_bounds() {
        counts["bounds"] = true.into();
    }
    if let Some(issuer) = issuer {
        counts["issued_by"] = issuer;
    }
    let hash = format!("{:x}", Sha256::digest(counts.to_string()));
    let short = |(key, value): &(KeyId, Value)| {
        let path = key.path();
        format!("{}={}", path.rsplit_once('.').map_or(path.as_str(), |(_, name)| name), value.show())
    };
    let label: Vec<String> = variant.vary.iter().map(short).collect();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "=,.-_".contains(character);
    let label = label.join(",").replace(|character: char| !is_plain(character), "_");
    let label = label.trim_start_matches('.');
    format!("{}-{}.json", &label[..label.len().min(LABEL)], &hash[..16])
}
