//! Names that several files of one program would have.

use std::fs;
use std::path::{Path, PathBuf};

use crate::folder_of;

/// The first output that would overwrite an input or another output, and what has its name already. An output replaces
/// what has its name, a link too; an input that is a link has two names. A device or a pipe takes whatever comes, and
/// so does `-`, standard output.
pub fn conflict<'a>(inputs: &[PathBuf], outputs: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, &'static str)> {
    let is_file = |name: &&str| {
        let metadata = fs::symlink_metadata(name);
        *name != "-" && metadata.map_or(true, |metadata| metadata.is_file() || metadata.is_symlink())
    };
    let place = |path: &Path| {
        let beside = || Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?));
        beside().unwrap_or_else(|| path.to_owned())
    };
    let names = |input: &PathBuf| [Some(place(input)), fs::canonicalize(input).ok()];
    let read: Vec<PathBuf> = inputs.iter().flat_map(names).flatten().collect();
    let mut written = Vec::new();
    for output in outputs.into_iter().filter(is_file) {
        let target = place(Path::new(output));
        match () {
            () if read.contains(&target) => return Some((output, "this is read")),
            () if written.contains(&target) => return Some((output, "something else is written to it")),
            () => written.push(target),
        }
    }
    None
}
