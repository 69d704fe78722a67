//! The cache of aged drives: a run with one gives the same result as a run without, to the byte; and nothing that
//! happens to the folder changes a result.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::support::{Sound, lasting, prepared, steady};
use flashloom_config::Catalog;
use flashloom_run::{Cache, Prepared, Quiet};
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use sha2::{Digest, Sha256};

/// More than the file of one such drive, and less than two of them.
const ONE_FILE: u64 = 2_500_000;

fn steady_of(sets: &[&str], varies: &[&str]) -> Prepared<'static> {
    prepared(steady(&Catalog::builtin(), sets, varies))
}

/// The notices so far, one word each.
type Said = Arc<Mutex<Vec<String>>>;

fn cache(folder: &Path, limit_bytes: u64) -> (Cache, Said) {
    let said = Said::default();
    let to = Arc::clone(&said);
    let first_word = |text: String| text.split_whitespace().next().unwrap_or_default().to_owned();
    let word = move |notice: String| {
        if notice.contains("will be replaced") { "unusable".to_owned() } else { first_word(notice) }
    };
    let tell = move |notice: &flashloom_run::Notice<'_>| {
        to.lock().expect("nobody panics").push(word(notice.to_string()));
    };
    (Cache::new(folder.to_owned(), limit_bytes, tell), said)
}

/// A result without its cost, as JSON, and the notices of the run.
fn run(folder: &Path, limit_bytes: u64, sets: &[&str], verify: bool) -> (String, Vec<String>) {
    let (cache, said) = cache(folder, limit_bytes);
    let result = steady_of(sets, &[]).with_cache(Some(cache)).run_variant(0, verify, &Quiet).sound();
    let said = said.lock().expect("nobody panics").clone();
    (lasting(result), said)
}

fn fresh(sets: &[&str], verify: bool) -> String {
    lasting(steady_of(sets, &[]).run_variant(0, verify, &Quiet).expect("it runs"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map_or(Vec::new(), |entries| entries.map(|entry| entry.expect("it can be listed").path()).collect());
    files.sort();
    files
}

#[test]
fn a_drive_from_the_cache_gives_what_a_fresh_one_gives() {
    let folder = tempfile::tempdir().expect("there is room");
    for (sets, verify) in [(&[][..], false), (&["ftl.mapping=dftl"][..], false), (&[][..], true)] {
        let expected = fresh(sets, verify);
        for said in ["ageing", "the"] {
            let (result, heard) = run(folder.path(), u64::MAX, sets, verify);
            assert_eq!(result, expected, "{sets:?}");
            assert_eq!(heard, [said], "{sets:?}, verified: {verify}");
        }
        // What ageing does not depend on may differ.
        let later = ["host.scheduler=deadline", "buffer.capacity=0B", "device.link_rate=1GB/s", "device.read_time=9us"];
        let other = [sets, &later].concat();
        assert_eq!(run(folder.path(), u64::MAX, &other, verify), (fresh(&other, verify), vec!["the".to_owned()]));
    }
    assert_eq!(files(folder.path()).len(), 3);
}

#[test]
fn a_comparison_takes_and_keeps_each_drive_once() {
    let folder = tempfile::tempdir().expect("there is room");
    let compare = |cache: Option<Cache>| {
        let prepared = steady_of(&[], &["ftl.gc=greedy,fifo", "host.scheduler=noop,cfq"]).with_cache(cache);
        let comparison = prepared.compare(false, &Quiet).expect("it runs");
        comparison.runs.into_iter().map(|run| lasting(*run.result)).collect::<Vec<_>>()
    };
    let expected = compare(None);
    for said in ["ageing", "the"] {
        let (cache, heard) = cache(folder.path(), u64::MAX);
        assert_eq!(compare(Some(cache)), expected);
        assert_eq!(*heard.lock().expect("nobody panics"), [said, said]);
    }
}

#[test]
fn a_file_that_is_damaged_is_ignored_and_replaced() {
    let folder = tempfile::tempdir().expect("there is room");
    let (expected, _) = run(folder.path(), u64::MAX, &[], false);
    let path = files(folder.path()).remove(0);
    let whole = fs::read(&path).expect("it was written");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&whole[..whole.len() / 2], &flipped, b"", b"flashloom-state 0\n"] {
        is_replaced(&path, damaged, &whole, &expected);
    }
    assert_eq!(files(folder.path()), [path]);
}

/// A damaged file is made anew as it was, and the run gives the same.
fn is_replaced(path: &Path, damaged: &[u8], whole: &[u8], expected: &str) {
    fs::write(path, damaged).expect("there is room");
    let (result, said) = run(path.parent().expect("it is in a folder"), u64::MAX, &[], false);
    assert_eq!((&result[..], &said[..]), (expected, &["unusable".to_owned(), "ageing".to_owned()][..]));
    assert!(fs::read(path).expect("it was replaced") == whole);
}

/// The file of a drive with its state changed, and its hash as it has to be.
fn forged(file: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut lines = file.splitn(4, |&byte| byte == b'\n');
    let [magic, header, _, state] = [(); 4].map(|()| lines.next().expect("a file has four parts"));
    let (packed, mut state) = (state, Vec::new());
    FrameDecoder::new(packed).read_to_end(&mut state).expect("it is whole");
    change(&mut state);
    let hash = format!("{:x}", Sha256::new().chain_update(header).chain_update(&state).finalize());
    let mut packed = FrameEncoder::new(Vec::new());
    packed.write_all(&state).expect("there is room");
    let state = packed.finish().expect("there is room");
    [magic, b"\n", header, b"\n", hash.as_bytes(), b"\n", &state].concat()
}

#[test]
fn a_drive_that_cannot_be_loaded_costs_time_and_no_run_though_its_hash_is_right() {
    let folder = tempfile::tempdir().expect("there is room");
    let (expected, _) = run(folder.path(), u64::MAX, &[], false);
    let path = files(folder.path()).remove(0);
    let whole = fs::read(&path).expect("it was written");
    let short = forged(&whole, |state| state.truncate(state.len() / 2));
    let long = forged(&whole, |state| state.extend([0; 9]));
    let bomb = forged(&whole, |state| *state = vec![0; 300 << 20]);
    assert!(bomb.len() < 2 << 20);
    for damaged in [&short, &long, &bomb] {
        is_replaced(&path, damaged, &whole, &expected);
    }
    fs::write(&path, short).expect("there is room");
    let (cache, said) = cache(folder.path(), u64::MAX);
    let prepared = steady_of(&[], &["host.scheduler=noop,cfq"]).with_cache(Some(cache));
    prepared.compare(false, &Quiet).expect("runs that share a drive age it anew");
    assert_eq!(*said.lock().expect("nobody panics"), ["unusable", "ageing"]);
}

#[cfg(unix)]
#[test]
fn a_link_at_the_name_of_a_drive_is_neither_read_nor_written_through() {
    let folder = tempfile::tempdir().expect("there is room");
    let (expected, _) = run(folder.path(), u64::MAX, &[], false);
    let path = files(folder.path()).remove(0);
    let elsewhere = tempfile::tempdir().expect("there is room");
    let target = elsewhere.path().join("target");
    fs::rename(&path, &target).expect("it can be moved");
    let before = fs::read(&target).expect("it is there");
    std::os::unix::fs::symlink(&target, &path).expect("there is room");
    let (result, said) = run(folder.path(), u64::MAX, &[], false);
    assert_eq!((result, said), (expected, vec!["unusable".to_owned(), "ageing".to_owned()]));
    assert!(!path.is_symlink() && fs::read(&path).expect("it was written") == before);
    assert_eq!(fs::read(&target).expect("it is there"), before);
}

#[test]
fn the_files_that_were_used_longest_ago_make_room() {
    let folder = tempfile::tempdir().expect("there is room");
    run(folder.path(), u64::MAX, &[], false);
    let first = files(folder.path());
    let bytes = fs::metadata(&first[0]).expect("it was written").len();
    assert!(bytes < ONE_FILE && 2 * bytes > ONE_FILE, "a file of {bytes} bytes");
    fs::write(folder.path().join("notes.txt"), "mine").expect("there is room");
    fs::write(folder.path().join("my-vm.state"), vec![0; 1 << 20]).expect("there is room");
    fs::write(folder.path().join(".flashloom-abcdefABCDEF.partial"), "of a run that was killed")
        .expect("there is room");
    run(folder.path(), ONE_FILE, &["run.seed=2"], false);
    assert!(!first[0].exists(), "the older of two");
    let not_ours = ["notes.txt", "my-vm.state"];
    assert!(not_ours.iter().all(|name| folder.path().join(name).exists()), "what is not ours stays");
    assert!(!folder.path().join(".flashloom-abcdefABCDEF.partial").exists());
    let is_drive = |path: &PathBuf| path.extension().is_some_and(|it| it == "state") && !path.ends_with("my-vm.state");
    let second = files(folder.path()).into_iter().find(is_drive);
    let (_, said) = run(folder.path(), 1_000, &["run.seed=3"], false);
    assert_eq!(said, ["ageing", "the"], "what does not fit is not kept, and that is said");
    assert!(second.is_some_and(|path| path.exists()), "and nothing has to go for it");
}

#[test]
fn a_folder_that_cannot_be_written_costs_nothing_but_time() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("a file");
    fs::write(&file, "").expect("there is room");
    let (result, said) = run(&file.join("drives"), u64::MAX, &[], false);
    assert_eq!((result, said), (fresh(&[], false), vec!["the".to_owned(), "ageing".to_owned()]));
    let (cache, heard) = cache(&file.join("drives"), u64::MAX);
    let prepared = steady_of(&[], &["ftl.gc=greedy,fifo", "host.scheduler=noop,cfq"]).with_cache(Some(cache));
    prepared.compare(false, &Quiet).expect("it runs");
    assert_eq!(*heard.lock().expect("nobody panics"), ["the", "ageing", "ageing"], "two drives, and it is said once");
}

#[test]
fn a_drive_that_is_filled_page_by_page_is_filled_once() {
    let folder = tempfile::tempdir().expect("there is room");
    let sets = &["run.precondition=fill", "ftl.mapping=dftl"][..];
    let (filled, said) = run(folder.path(), u64::MAX, sets, false);
    assert_eq!((&filled, said), (&fresh(sets, false), Vec::new()), "nobody knows before how it is filled");
    assert_eq!(files(folder.path()).len(), 1);
    let (taken, said) = run(folder.path(), u64::MAX, sets, false);
    assert_eq!((taken, said), (filled, vec!["the".to_owned()]));
}

#[test]
fn small_drives_and_those_that_are_filled_in_closed_form_are_not_kept() {
    let folder = tempfile::tempdir().expect("there is room");
    for sets in [&["device.blocks=31"][..], &["run.precondition=fill"], &["run.precondition=none"]] {
        assert_eq!(run(folder.path(), u64::MAX, sets, false), (fresh(sets, false), Vec::new()));
    }
    assert!(files(folder.path()).is_empty());
}
