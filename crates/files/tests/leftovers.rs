//! Partial files: nobody removes one whose writer lives, and everybody one whose writer has ended.
#![cfg(unix)]
#![allow(missing_docs)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use flashloom_files::{Access, Output, Partial, check_own, open_own, own_folder, remove_leftovers, write_whole};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it can be listed").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_partial_file_is_locked_while_its_writer_lives_and_goes_with_it() {
    let folder = tempfile::tempdir().expect("there is room");
    let partial = Partial::create(folder.path(), Access::Own).expect("it can be created");
    let name = &names(folder.path())[0];
    assert!(name.starts_with(".flashloom-") && name.ends_with(".partial"), "{name}");
    assert_eq!(fs::metadata(folder.path().join(name)).expect("it is there").mode() & 0o777, 0o600);
    assert_eq!((remove_leftovers(folder.path()), names(folder.path()).len()), (0, 1), "its writer lives");
    drop(partial);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn leftovers_are_removed_and_nothing_else() {
    let folder = tempfile::tempdir().expect("there is room");
    let ours = [".flashloom-abcDEF012345.partial", ".flashloom-output-aB3dEf.partial"];
    let others = [
        ".flashloom-.partial",
        ".flashloom-a.partial.txt",
        ".flashloom-my notes.partial",
        ".flashloom-abc.partial",
        ".flashloom-Notes2024.partial",
        "vm.partial",
    ];
    for name in ours.iter().chain(&others) {
        fs::write(folder.path().join(name), "half").expect("there is room");
    }
    fs::create_dir(folder.path().join(".flashloom-folder.partial")).expect("there is room");
    symlink("vm.partial", folder.path().join(".flashloom-link.partial")).expect("there is room");
    assert_eq!(remove_leftovers(folder.path()), 2);
    let left = names(folder.path());
    assert_eq!(left.len(), 8, "{left:?}");
    assert!(ours.iter().all(|name| !left.contains(&(*name).to_owned())));
}

#[test]
fn a_file_is_written_although_others_look_for_leftovers() {
    let folder = tempfile::tempdir().expect("there is room");
    let (is_done, path) = (AtomicBool::new(false), folder.path().join("a.json"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for content in 0..200 {
                write_whole(&path, content.to_string().as_bytes()).expect("it can be written");
            }
            is_done.store(true, Ordering::Relaxed);
        });
        while !is_done.load(Ordering::Relaxed) {
            remove_leftovers(folder.path());
        }
    });
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "199");
    assert_eq!(names(folder.path()), ["a.json"]);
}

#[test]
fn an_output_replaces_a_link_wherever_it_leads() {
    let folder = tempfile::tempdir().expect("there is room");
    let precious = folder.path().join("precious");
    fs::write(&precious, "mine").expect("there is room");
    for (name, target) in [("to-file", "precious"), ("to-nowhere", "nowhere"), ("to-device", "/dev/null")] {
        let path = folder.path().join(name);
        symlink(target, &path).expect("there is room");
        let mut output = Output::create(&path).expect("it can be created");
        output.write_all(b"new").expect("there is room");
        assert!(path.is_symlink(), "{name}: until the output is complete");
        output.commit().expect("it can be placed");
        assert!(!path.is_symlink(), "{name}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "new", "{name}");
    }
    assert_eq!(fs::read_to_string(&precious).expect("it is there"), "mine");
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn a_folder_of_ones_own_admits_nobody_else() {
    let folder = tempfile::tempdir().expect("there is room");
    let own = folder.path().join("above/own");
    own_folder(&own).expect("it can be created");
    assert_eq!(fs::metadata(&own).expect("it is there").mode() & 0o777, 0o700);
    for (mode, why) in [(0o777, "mode 777"), (0o720, "mode 720")] {
        fs::set_permissions(&own, fs::Permissions::from_mode(mode)).expect("it is ours");
        let error = check_own(&own).expect_err("others may write");
        assert!(error.to_string().contains(why), "{error}");
    }
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("it is ours");
    assert!(check_own(&own).is_ok(), "others may look");
    let file = own.join("a");
    fs::write(&file, "1").expect("there is room");
    assert!(open_own(&file).is_ok());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("it is ours");
    assert!(open_own(&file).is_err());
    symlink("/etc/hostname", own.join("b")).expect("there is room");
    assert!(open_own(&own.join("b")).is_err());
}

/// What was written is not lost with the name that it had meanwhile.
#[test]
fn a_partial_file_whose_name_was_removed_is_placed_all_the_same() {
    let folder = tempfile::tempdir().expect("there is room");
    let place = folder.path().join("a.json");
    for is_durable in [false, true] {
        let mut output = Output::create(&place).expect("there is room");
        output.write_all(b"hours of work").expect("there is room");
        let partial = names(folder.path()).into_iter().find(|name| name.ends_with(".partial")).expect("it is there");
        fs::remove_file(folder.path().join(partial)).expect("it is there");
        let committed = if is_durable { output.commit_durably() } else { output.commit() };
        committed.expect("there is room");
        assert_eq!(fs::read_to_string(&place).expect("it is written"), "hours of work");
        assert_eq!(names(folder.path()), ["a.json"]);
        assert_eq!(fs::metadata(&place).expect("it is there").mode() & 0o111, 0);
        fs::remove_file(&place).expect("it is there");
    }
}

#[test]
fn a_file_is_made_new_or_not_at_all() {
    let folder = tempfile::tempdir().expect("there is room");
    let place = folder.path().join("a");
    let partial = || {
        let mut partial = Partial::create(folder.path(), Access::Usual).expect("there is room");
        partial.write_all(b"mine").expect("there is room");
        partial
    };
    let file = partial().place_new([place.clone()]).expect("no file has the name");
    let other = fs::File::open(&place).expect("it is there");
    assert!(!flashloom_files::try_lock(&other).expect("there are locks"), "it stays locked");
    let taken = partial().place_new([place.clone()]).expect_err("the name is taken");
    assert_eq!((taken.kind(), names(folder.path()).len()), (std::io::ErrorKind::AlreadyExists, 1));
    drop(file);
    assert!(flashloom_files::try_lock(&other).expect("there are locks"));
    let (_, next) = partial().place_new([place.clone(), folder.path().join("b")]).expect("the second name is free");
    assert_eq!((next, names(folder.path()).len()), (folder.path().join("b"), 2));
}

/// A pipe without a reader is refused, where opening it would wait for one.
#[test]
fn an_output_that_is_to_be_a_file_opens_nothing_else() {
    let folder = tempfile::tempdir().expect("there is room");
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let refused = |path: &Path| Output::file(path).map(drop).expect_err("it is no file").to_string();
    assert_eq!(refused(&pipe), "this is a pipe, no ordinary file");
    assert_eq!(refused(Path::new("/dev/null")), "this is a device, no ordinary file");
    assert_eq!(refused(Path::new("/dev/stdout")), "this is a link of the system, no ordinary file");
    assert_eq!(refused(folder.path()), "this is a directory");
    assert_eq!(refused(Path::new("")), "the file cannot be written: an empty name");
}
