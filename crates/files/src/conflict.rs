//! Outputs that would overwrite an input or each other.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::folder_of;
use crate::input::opened;
use crate::system::{FileId, id_of};

/// The first output that would overwrite an input or another output, and what is wrong with it. Files are compared by
/// their identity, so another spelling of a name is found, and a link or a hard link to an input; files that do not
/// exist yet, by their folders and names. Two outputs that are links to one file are two files, because an output
/// replaces a link. A device or a pipe may be written by several, and so may `-`, standard output.
pub fn conflict<'a>(inputs: &[PathBuf], outputs: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, &'static str)> {
    let places: Vec<PathBuf> = inputs.iter().map(|input| place(input)).collect();
    let files: Vec<FileId> = inputs.iter().filter_map(|input| id(input, fs::metadata(input))).collect();
    find(|path, file| places.contains(&place(path)) || file.is_some_and(|file| files.contains(file)), outputs)
}

/// [`conflict`] with every file that this process has opened as an input so far: also those that only another input
/// names, such as the per-CPU files of a recording or the iologs of a job.
pub fn conflict_with_opened<'a>(outputs: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, &'static str)> {
    let files = opened();
    find(|_, file| file.is_some_and(|file| files.contains(file)), outputs)
}

fn find<'a>(
    is_read: impl Fn(&Path, Option<&FileId>) -> bool,
    outputs: impl IntoIterator<Item = &'a str>,
) -> Option<(&'a str, &'static str)> {
    let is_file = |name: &&str| {
        let metadata = fs::symlink_metadata(name);
        *name != "-" && metadata.map_or(true, |metadata| metadata.is_file() || metadata.is_symlink())
    };
    let (mut places, mut files) = (Vec::new(), Vec::new());
    for output in outputs.into_iter().filter(is_file) {
        let path = Path::new(output);
        if is_read(path, id(path, fs::metadata(path)).as_ref()) {
            return Some((output, "this is read"));
        }
        // A file of that name that exists is found above, because the recording was opened with it.
        if is_named_as_part(path) && fs::symlink_metadata(path).is_err() {
            return Some((output, "a file of this name is read as a part of the recording of blktrace beside it"));
        }
        let (place, file) = (place(path), id(path, fs::symlink_metadata(path)));
        if places.contains(&place) || file.as_ref().is_some_and(|file| files.contains(file)) {
            return Some((output, "something else is written to it"));
        }
        places.push(place);
        files.extend(file);
    }
    None
}

/// True for the name of a file of a processor, `NAME.blktrace.3`, which belongs to every recording NAME.
fn is_named_as_part(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(&name);
    name.rsplit_once(".blktrace.")
        .is_some_and(|(_, cpu)| !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The folder of a file without links, with the file's own name.
fn place(path: &Path) -> PathBuf {
    let beside = || Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?));
    beside().unwrap_or_else(|| path.to_owned())
}

fn id(path: &Path, known: io::Result<Metadata>) -> Option<FileId> {
    id_of(path, &known.ok()?)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_every_name_and_before_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(at("read"), "").unwrap();
        fs::create_dir(at("sub")).unwrap();
        fs::hard_link(at("read"), at("hard")).unwrap();
        std::os::unix::fs::symlink(at("read"), at("soft")).unwrap();
        let inputs = [at("read"), at("later")].map(PathBuf::from);
        for name in ["read", "sub/../read", "hard", "soft", "later", "sub/../later"] {
            let output = at(name);
            assert_eq!(conflict(&inputs, [&*output]), Some((&*output, "this is read")), "{name}");
        }
        let (one, other) = (at("new"), at("sub/../new"));
        assert_eq!(conflict(&inputs, [&*one, &*other]), Some((&*other, "something else is written to it")));
        assert_eq!(conflict(&inputs, ["-", "-", "/dev/null", "/dev/null", &*one]), None);
        for (name, is_part) in
            [("r.blktrace.2", true), ("r.blktrace.12.zst", true), ("r.blktrace", false), ("r.2", false)]
        {
            let output = at(name);
            assert_eq!(conflict(&[], [&*output]).is_some(), is_part, "{name}");
        }
    }
}
