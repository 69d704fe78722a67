//! A folder with the files of a test.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

/// The folder; it is removed at the end of its test.
pub struct Lab(TempDir);

impl Lab {
    /// A folder with this file.
    pub fn with(name: &str, content: &str) -> Self {
        let lab = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        lab.write(name, content);
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), content).expect("a file of the test can be written");
        self
    }

    /// The path of a file as an argument has it.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("its name is UTF-8").to_owned()
    }
}
