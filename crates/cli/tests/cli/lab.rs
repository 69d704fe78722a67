//! A temporary folder in which the real program runs, so that messages name files as a user would.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Outcome of running the program.
#[derive(Debug)]
pub struct Answer {
    /// Exit status.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
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

    /// Names of all files, in order.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder can be listed");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("listed").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The program with these arguments, to be run in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashloom"));
        // A test that wants a folder of aged drives names its own.
        command.current_dir(self.0.path()).args(arguments).stdin(Stdio::null()).env("FLASHLOOM_CACHE", "");
        command
    }

    /// Runs the program.
    pub fn run(&self, arguments: &[&str]) -> Answer {
        let output = self.command(arguments).output().expect("the program can be started");
        Answer {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("output is text"),
            stderr: String::from_utf8(output.stderr).expect("messages are text"),
        }
    }

    /// Runs the program, and asserts that it succeeds.
    pub fn succeed(&self, arguments: &[&str]) -> Answer {
        let answer = self.run(arguments);
        assert_eq!(answer.code, Some(0), "{arguments:?}\n{}", answer.stderr);
        answer
    }
}
