//! Outputs that would overwrite an input or each other.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::folder_of;
use crate::input::opened;
use crate::system::{FileId, id_of};

/// The first output that would overwrite an input or another output, and what is wrong with it. Files are compared by
/// their identity, so another spelling of a name is found, and a link or a hard link to an input. Two outputs that are
/// links to one file are two files, because an output replaces a link. A device or a pipe may be written by several,
/// and so may `-`, standard output.
pub fn conflict<'a>(inputs: &[PathBuf], outputs: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, &'static str)> {
    let read: Vec<FileId> = inputs.iter().filter_map(|input| id_of(input, &fs::metadata(input).ok()?)).collect();
    find(|id| read.contains(id), outputs)
}

/// [`conflict`] with every file that this process has opened as an input so far: also those that only another input
/// names, such as the per-CPU files of a recording or the iologs of a job.
pub fn conflict_with_opened<'a>(outputs: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, &'static str)> {
    let read = opened();
    find(|id| read.contains(id), outputs)
}

fn find<'a>(
    is_read: impl Fn(&FileId) -> bool,
    outputs: impl IntoIterator<Item = &'a str>,
) -> Option<(&'a str, &'static str)> {
    let is_file = |name: &&str| {
        let metadata = fs::symlink_metadata(name);
        *name != "-" && metadata.map_or(true, |metadata| metadata.is_file() || metadata.is_symlink())
    };
    // One that does not exist yet has its folder and its name alone.
    let place = |path: &Path| {
        let beside = || Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?));
        beside().unwrap_or_else(|| path.to_owned())
    };
    let (mut places, mut files) = (Vec::new(), Vec::new());
    for output in outputs.into_iter().filter(is_file) {
        let path = Path::new(output);
        let id = |known: io::Result<Metadata>| id_of(path, &known.ok()?);
        if id(fs::metadata(path)).as_ref().is_some_and(&is_read) {
            return Some((output, "this is read"));
        }
        let (place, file) = (place(path), id(fs::symlink_metadata(path)));
        if places.contains(&place) || file.as_ref().is_some_and(|file| files.contains(file)) {
            return Some((output, "something else is written to it"));
        }
        places.push(place);
        files.extend(file);
    }
    None
}
