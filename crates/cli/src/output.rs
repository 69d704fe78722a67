//! Output: standard output, and files that are either written whole or left as they were (`flashloom_files`).

use std::env;
use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IntoInnerError, IsTerminal, Write};
use std::path::{Path, PathBuf};

use flashloom::run::Failure;
use flashloom::units::{Problem, Problems, visible, visible_message, visible_path};
use flashloom_files::{Output, conflict, conflict_with_opened};

/// Reason why a command ends without success.
#[derive(Debug)]
pub enum Stop {
    /// The input is bad, and nothing was run.
    BadInput(Problems),
    /// The same, in the words of a program that was started with the input.
    #[cfg(feature = "live")]
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

/// The end of a command by a failure, which is told as an error.
pub fn failed(message: impl Display) -> Stop {
    Stop::Failed(format!("error: {message}"))
}

/// Writes text to standard output; what is hidden in it is made visible. If that is not possible, the text is kept
/// aside, unless the reader has closed standard output.
pub fn print(text: &str) -> Result<(), Stop> {
    let mut output = io::stdout().lock();
    let text = visible(text);
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Stop::Closed,
        _ => unwritten("standard output", &error, text.as_bytes()),
    })
}

/// Most characters of an output's name in the name of the file that keeps its content.
const NAME: usize = 40;

/// The error of an output that cannot be written when its content is complete, which may have taken hours: the content
/// is kept in a new file in the folder for temporary files, and the error names it.
fn unwritten(name: &str, error: &io::Error, content: &[u8]) -> Stop {
    let keep = || {
        let own_name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
        let own_name: String = own_name.chars().skip(own_name.chars().count().saturating_sub(NAME)).collect();
        let mut named = tempfile::Builder::new();
        let mut file = named.prefix("flashloom-kept-").suffix(&format!("-{own_name}")).tempfile()?;
        file.write_all(content)?;
        Ok::<_, io::Error>(file.keep()?.1)
    };
    let kept = match keep() {
        Ok(path) => format!("the content is in {}", visible_path(&path)),
        Err(error) => format!("and the content cannot be kept in {} either: {error}", visible_path(&env::temp_dir())),
    };
    failed(format_args!("{name} cannot be written: {error}; {kept}"))
}

/// The outcome of steps that are all taken, whether others fail or not: every failure is reported.
pub fn all(steps: impl IntoIterator<Item = Result<(), Stop>>) -> Result<(), Stop> {
    let mut stop: Option<Stop> = None;
    for next in steps.into_iter().filter_map(Result::err) {
        stop = Some(match (stop, next) {
            (Some(Stop::Failed(one)), Stop::Failed(other)) => Stop::Failed(format!("{one}\n{other}")),
            (Some(before @ Stop::Failed(_)), _) => before,
            (_, next) => next,
        });
    }
    stop.map_or(Ok(()), Err)
}

/// Refuses outputs that would overwrite an input, or each other. To be called once every input has been opened, because
/// inputs name others; those that are opened later are listed.
pub fn keep_apart(opened_later: &[PathBuf], outputs: &[Option<&str>]) -> Result<(), Problem> {
    let names = || outputs.iter().copied().flatten();
    match conflict(opened_later, names()).or_else(|| conflict_with_opened(names())) {
        Some((output, found)) => Err(Problem::file(output, found, "another file to write to")),
        None => Ok(()),
    }
}

/// Writes a line to standard error, or several; what is hidden in them is made visible, and none is endless. A failure
/// to do so is ignored.
pub fn say(lines: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", visible_message(&lines.to_string()));
}

/// [`say`] in place of a progress bar, which is drawn again below.
pub fn say_over_bar(lines: impl Display) {
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
            let found = if name.is_empty() { "an empty name" } else { "`-`, which only `--json` takes" };
            return Err(Problem::file("an output", found, "the name of a file"));
        }
        match Output::create(Path::new(name)) {
            Ok(output) => Ok(Self { name: name.to_owned(), writer: BufWriter::new(output) }),
            Err(reason) => Err(Problem::file(name, reason.to_string(), "a file that can be written")),
        }
    }

    /// Its name, as it was given.
    #[cfg(feature = "study")]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens the file that an option names, if it was given.
    pub fn optional(name: Option<&str>) -> Result<Option<Self>, Problem> {
        name.map(Self::create).transpose()
    }

    /// Writes the content and moves the file to its place. If that is not possible, the content is kept aside.
    pub fn commit(self, content: impl AsRef<[u8]>) -> Result<(), Stop> {
        let (Self { name, mut writer }, content) = (self, content.as_ref());
        let written = writer.write_all(content).and_then(|()| writer.into_inner().map_err(IntoInnerError::into_error));
        written.and_then(Output::commit).map_err(|error| unwritten(&name, &error, content))
    }

    /// Moves a file, whose content was written during the run, to its place.
    pub fn finish(self) -> Result<(), Stop> {
        let Self { name, writer } = self;
        let written = writer.into_inner().map_err(IntoInnerError::into_error);
        written.and_then(Output::commit).map_err(|error| failed(format_args!("{name} cannot be written: {error}")))
    }
}

/// [`OutputFile::commit`] of the file that an option names, if it was given.
pub fn commit(file: Option<OutputFile>, content: impl FnOnce() -> String) -> Result<(), Stop> {
    file.map_or(Ok(()), |file| file.commit(content()))
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
