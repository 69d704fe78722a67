//! A temporary folder in which the real program runs, so that messages name files as a user would.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Outcome of running the program.
#[derive(Debug)]
pub struct Answer {
    /// What it was given.
    pub arguments: String,
    /// Exit status.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Answer {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the program can be started");
        let text = |bytes| String::from_utf8(bytes).expect("it writes text");
        let arguments = format!("{:?}", command.get_args().collect::<Vec<_>>());
        Self { arguments, code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Asserts that the program has ended with this status and said all of these words on standard error.
    pub fn ended(self, code: i32, words: &[&str]) -> Self {
        let missing: Vec<_> = words.iter().filter(|&&word| !self.stderr.contains(word)).collect();
        let Self { arguments, code: found, stdout, stderr } = &self;
        assert!(*found == Some(code) && missing.is_empty(), "{arguments}: {found:?}, {missing:?}\n{stdout}\n{stderr}");
        self
    }

    /// Asserts that the program has refused its input for a reason with these words, and printed nothing else. Returns
    /// the message.
    pub fn refused(self, words: &[&str]) -> String {
        let Self { arguments, stdout, stderr, .. } = self.ended(2, words);
        assert!(stdout.is_empty(), "{arguments}: {stdout}");
        stderr
    }
}

/// Asserts that a text has all of these parts.
pub fn has(text: &str, parts: &[&str]) {
    let missing: Vec<_> = parts.iter().filter(|&&part| !text.contains(part)).collect();
    assert!(missing.is_empty(), "{missing:?} is not in\n{text}");
}

/// Parses a text as JSON.
pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Options that set these keys, `KEY=VALUE` each, separated by blanks.
pub fn sets(keys: &str) -> String {
    keys.split_whitespace().map(|key| format!(" --set {key}")).collect()
}

/// A temporary folder.
pub struct Lab(TempDir);

impl Lab {
    /// An empty folder.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// Path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, creating its folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder of the test can be made");
        fs::write(path, content).expect("a file of the test can be written");
        self
    }

    /// Reads a file.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Reads a file of JSON.
    pub fn read_json(&self, name: &str) -> Value {
        json(&self.read(name))
    }

    /// Names of all files, in order.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder can be listed");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("listed").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The program with these arguments, to be run in this folder.
    pub fn command(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashloom"));
        // A test that wants a folder of aged drives names its own.
        command.current_dir(self.0.path()).args(arguments).stdin(Stdio::null()).env("FLASHLOOM_CACHE", "");
        command
    }

    /// The program with a line of arguments, none of which has blanks in it.
    pub fn line(&self, arguments: &str) -> Command {
        self.command(arguments.split_whitespace())
    }

    /// Runs the program with a line of arguments.
    pub fn run(&self, arguments: &str) -> Answer {
        Answer::of(&mut self.line(arguments))
    }

    /// Runs the program with variables of the environment.
    pub fn run_with<'a>(&self, variables: impl IntoIterator<Item = (&'a str, &'a str)>, arguments: &str) -> Answer {
        Answer::of(self.line(arguments).envs(variables))
    }

    /// Runs the program, and asserts that it succeeds.
    pub fn succeed(&self, arguments: &str) -> Answer {
        self.run(arguments).ended(0, &[])
    }

    /// Runs the program, and asserts that it succeeds and prints all of these parts. Returns what it prints.
    pub fn shows(&self, arguments: &str, parts: &[&str]) -> String {
        let text = self.succeed(arguments).stdout;
        has(&text, parts);
        text
    }

    /// Runs the program, which prints JSON.
    pub fn json(&self, arguments: &str) -> Value {
        json(&self.succeed(arguments).stdout)
    }

    /// Runs the program, which refuses its input for a reason with these words ([`Answer::refused`]) and leaves no file
    /// behind. Returns the message.
    pub fn refuses(&self, arguments: &str, words: &[&str]) -> String {
        let before = self.files();
        let message = self.run(arguments).refused(words);
        assert_eq!(self.files(), before, "{arguments}");
        message
    }
}
