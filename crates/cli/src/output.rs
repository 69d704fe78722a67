//! Output: standard output, and files that are either written whole or left as they were.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use flashloom::experiment::run::Failure;
use flashloom::units::{Problem, Problems};
use tempfile::{NamedTempFile, TempPath};

/// Reason why a command ends without success.
#[derive(Debug)]
pub enum Stop {
    /// The input is bad, and nothing was run.
    BadInput(Problems),
    /// A check failed, or a result could not be written.
    Failed(String),
    /// The reader of standard output has closed it.
    Closed,
}

impl From<Problems> for Stop {
    fn from(problems: Problems) -> Self {
        Stop::BadInput(problems)
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Stop::BadInput(problem.into())
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Input(problem) => problem.into(),
            Failure::Refused(refusal) => Problem::from(refusal).into(),
            other @ (Failure::Check(_) | Failure::Unkept(_) | Failure::Interrupted) => Stop::Failed(other.to_string()),
        }
    }
}

/// Writes text to standard output.
pub fn print(text: &str) -> Result<(), Stop> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Stop::Closed,
        _ => Stop::Failed(format!("error: standard output cannot be written: {error}")),
    })
}

/// Refuses outputs that would overwrite an input, or each other.
pub fn keep_apart(inputs: &[PathBuf], outputs: &[Option<&str>]) -> Result<(), Problem> {
    // A device or a pipe takes whatever comes, and `-` is standard output.
    let is_file = |name: &&str| *name != "-" && fs::metadata(name).map_or(true, |metadata| metadata.is_file());
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
        fs::canonicalize(path).ok().or_else(beside).unwrap_or_else(|| path.to_owned())
    };
    let mut taken: Vec<PathBuf> = inputs.iter().map(|input| place(input)).collect();
    for output in outputs.iter().flatten().filter(|name| is_file(name)) {
        let target = place(Path::new(output));
        if let Some(at) = taken.iter().position(|other| *other == target) {
            let found = if at < inputs.len() { "this is read" } else { "something else is written to it" };
            return Err(Problem::file(*output, found, "another file to write to"));
        }
        taken.push(target);
    }
    Ok(())
}

/// Writes a line to standard error; a failure to do so is ignored.
pub fn say(line: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// A result file, opened before anything runs.
pub struct OutputFile {
    name: String,
    writer: BufWriter<File>,
    /// The temporary file beside it that replaces it at the end; `None` for a device such as /dev/null.
    temporary: Option<(TempPath, PathBuf)>,
}

impl OutputFile {
    /// Opens an output, before anything runs; a problem if it cannot be written.
    pub fn create(name: &str) -> Result<Self, Problem> {
        if name.is_empty() || name == "-" {
            let found = if name.is_empty() { "an empty name" } else { "standard output, which takes only `--json`" };
            return Err(Problem::file("an output", found, "the name of a file"));
        }
        let refuse = |found: String| Problem::file(name, found, "a file that can be written");
        let path = Path::new(name);
        let metadata = fs::metadata(path).ok();
        if metadata.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(refuse("this is a directory".to_owned()));
        }
        let cannot = |error: io::Error| refuse(format!("the file cannot be written: {error}"));
        if metadata.is_some_and(|metadata| !metadata.is_file()) {
            let file = OpenOptions::new().write(true).open(path).map_err(cannot)?;
            return Ok(Self { name: name.to_owned(), writer: BufWriter::new(file), temporary: None });
        }
        // A link stays a link: what it points at is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(refuse(format!("there is no folder `{}`", folder.display())));
        }
        let (file, temporary) = neighbour(folder, OUTPUT_PREFIX).map_err(cannot)?.into_parts();
        Ok(Self { name: name.to_owned(), writer: BufWriter::new(file), temporary: Some((temporary, target)) })
    }

    /// Opens the file that an option names, if it was given.
    pub fn optional(name: Option<&str>) -> Result<Option<Self>, Problem> {
        name.map(Self::create).transpose()
    }

    /// Writes the content and moves the file to its place.
    pub fn commit(mut self, content: impl AsRef<[u8]>) -> Result<(), Stop> {
        let name = std::mem::take(&mut self.name);
        let failed = |error: io::Error| Stop::Failed(format!("error: {name} cannot be written: {error}"));
        self.writer.write_all(content.as_ref()).and_then(|()| self.writer.flush()).map_err(failed)?;
        match self.temporary.take() {
            Some((temporary, target)) => temporary.persist(target).map_err(|error| failed(error.error)),
            None => Ok(()),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Prefix and suffix of the temporary files of [`write_whole`].
const PARTIAL: (&str, &str) = (".flashloom-", ".partial");
/// Prefix of the temporary files of an [`OutputFile`]. They are written only once, so other processes must not remove
/// them as leftovers.
const OUTPUT_PREFIX: &str = ".flashloom-output-";
/// Number of times that other processes may remove a temporary file before that is an error.
const RETRIES: u32 = 10;

/// Writes a file atomically and durably: after a crash of the program or the machine it is either complete or as
/// before.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut retries = RETRIES;
    loop {
        let mut file = neighbour(folder, PARTIAL.0)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        match file.persist(path) {
            // Another process has taken it for one that was left behind.
            Err(error) if error.error.kind() == ErrorKind::NotFound && retries > 0 => retries -= 1,
            placed => return placed.map(drop).map_err(|error| error.error),
        }
    }
}

/// Removes leftover temporary files of [`write_whole`] of killed processes. A process that still writes one of them
/// writes it again. Files that cannot be removed stay: nothing reads them.
pub fn remove_partials(folder: &Path) {
    let is_partial = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_named = name.starts_with(PARTIAL.0) && name.ends_with(PARTIAL.1) && !name.starts_with(OUTPUT_PREFIX);
        is_named && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
    };
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| is_partial(path)).for_each(|path| drop(fs::remove_file(path)));
}

/// Creates a temporary file with our prefix, with the permissions of an ordinary new file.
fn neighbour(folder: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    let mut named = tempfile::Builder::new();
    named.prefix(prefix).suffix(PARTIAL.1);
    #[cfg(unix)]
    named.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    named.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn the_name_of_an_output_that_is_not_complete_says_whose_it_is_and_nobody_removes_it() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("a.csv");
        let output = OutputFile::create(path.to_str().expect("it is UTF-8"));
        let output = output.unwrap_or_else(|problem| panic!("{problem}"));
        let names = || {
            let entries = fs::read_dir(folder.path()).expect("it can be listed").flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let is_ours = |name: &String| name.starts_with(".flashloom-") && name.ends_with(".partial");
        assert!(names().len() == 1 && names().iter().all(is_ours), "{:?}", names());
        remove_partials(folder.path());
        assert!(output.commit("1").is_ok());
        assert_eq!(
            (names(), fs::read_to_string(&path).expect("it is there")),
            (vec!["a.csv".to_owned()], "1".to_owned())
        );
    }

    #[test]
    fn a_file_is_written_although_another_process_removes_what_looks_left_behind() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let (is_done, path) = (AtomicBool::new(false), folder.path().join("a.json"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for content in 0..50 {
                    write_whole(&path, content.to_string().as_bytes()).expect("it can be written");
                }
                is_done.store(true, Ordering::Relaxed);
            });
            while !is_done.load(Ordering::Relaxed) {
                remove_partials(folder.path());
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "49");
    }
}
