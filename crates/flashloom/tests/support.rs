//! Shared by tests: the files of the project, and experiments with a preset.

use std::fs;
use std::path::{Path, PathBuf};

use flashloom::config::{Catalog, Experiment, Source};

/// The root of the project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file, by its path in the project.
pub fn read(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files in a folder of the project with that ending, however deep, by their path in the project.
pub fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(project().join(folder)).expect("the folder is checked in") {
        let entry = entry.expect("the folder can be read");
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().expect("it is known").is_dir() {
            found.extend(files(&path, ending));
        } else if path.ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// An experiment of nothing but a preset, with some keys set.
pub fn experiment(preset: &str, sets: &[&str]) -> Experiment {
    let source = Source::text(preset, &format!("[device]\npreset = \"{preset}\"\n"));
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    Experiment::from_source(&Catalog::builtin(), source, &sets, None).unwrap_or_else(|problems| panic!("{problems}"))
}
