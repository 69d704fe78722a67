//! Output: standard output, and files that are either written whole or left as they were (`flashloom_files`).

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use flashloom::experiment::run::Failure;
use flashloom::units::{Problem, Problems, visible, visible_message};
use flashloom_files::{Output, conflict};

/// Reason why a command ends without success.
#[derive(Debug)]
pub enum Stop {
    /// The input is bad, and nothing was run.
    BadInput(Problems),
    /// The same, in the words of a program that was started with the input.
    Refused(String),
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
            other @ (Failure::Check(_) | Failure::Unkept(_) | Failure::Unserved(_) | Failure::Interrupted) => {
                Stop::Failed(other.to_string())
            }
        }
    }
}

/// Writes text to standard output; what is hidden in it is made visible.
pub fn print(text: &str) -> Result<(), Stop> {
    let mut output = io::stdout().lock();
    output.write_all(visible(text).as_bytes()).and_then(|()| output.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Stop::Closed,
        _ => Stop::Failed(format!("error: standard output cannot be written: {error}")),
    })
}

/// Refuses outputs that would overwrite an input, or each other.
pub fn keep_apart(inputs: &[PathBuf], outputs: &[Option<&str>]) -> Result<(), Problem> {
    match conflict(inputs, outputs.iter().copied().flatten()) {
        Some((output, found)) => Err(Problem::file(output, found, "another file to write to")),
        None => Ok(()),
    }
}

/// Writes a line to standard error, or several; what is hidden in them is made visible, and none is endless. A failure
/// to do so is ignored.
pub fn say(lines: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{}", visible_message(&lines.to_string()));
}

/// [`say`] in place of a progress bar, which is drawn again below.
pub fn say_over_bar(lines: impl std::fmt::Display) {
    const CLEAR_LINE: &str = "\r\x1b[2K";
    let clear = if io::stderr().is_terminal() { CLEAR_LINE } else { "" };
    let _ = writeln!(io::stderr().lock(), "{clear}{}", visible_message(&lines.to_string()));
}

/// A result file, opened before anything runs.
pub struct OutputFile {
    name: String,
    writer: BufWriter<Output>,
}

impl OutputFile {
    /// Opens an output, before anything runs; a problem if it cannot be written.
    pub fn create(name: &str) -> Result<Self, Problem> {
        if name.is_empty() || name == "-" {
            let found = if name.is_empty() { "an empty name" } else { "standard output, which takes only `--json`" };
            return Err(Problem::file("an output", found, "the name of a file"));
        }
        match Output::create(Path::new(name)) {
            Ok(output) => Ok(Self { name: name.to_owned(), writer: BufWriter::new(output) }),
            Err(reason) => Err(Problem::file(name, reason.to_string(), "a file that can be written")),
        }
    }

    /// Opens the file that an option names, if it was given.
    pub fn optional(name: Option<&str>) -> Result<Option<Self>, Problem> {
        name.map(Self::create).transpose()
    }

    /// Writes the content and moves the file to its place.
    pub fn commit(mut self, content: impl AsRef<[u8]>) -> Result<(), Stop> {
        let name = self.name;
        let failed = |error: io::Error| Stop::Failed(format!("error: {name} cannot be written: {error}"));
        self.writer.write_all(content.as_ref()).map_err(failed)?;
        self.writer.into_inner().map_err(|error| failed(error.into_error()))?.commit().map_err(failed)
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
