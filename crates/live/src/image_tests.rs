//! Drives that are switched off and on again: their data and their account, and what a stranger makes of their files.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use flashloom_config::Experiment;
use flashloom_run::{self, Failure, Prepared, Quiet, switched_off_copy};
use flashloom_units::Prng;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use sha2::{Digest, Sha256};

use crate::frames::SECTOR;
use crate::image::Claim;
use crate::tests::{
    Folder, Pair, assert_same_result, catalog, experiment, mappings, memory, refusal, served_engine, write,
};
use crate::{Command, LiveDrive, Session, SessionError};

fn keep(pair: &mut Pair, experiment: &Experiment, path: &Path) -> Result<(), String> {
    Claim::take(path).expect("there is room").keep(&mut pair.drive, &experiment.variants[0].config)
}

fn load(path: &Path, experiment: &Experiment, limit_bytes: u64) -> Result<LiveDrive, String> {
    let load = || -> Result<LiveDrive, SessionError> {
        let image = Claim::take(path)?.image(&experiment.variants[0].config)?;
        image.expect("it is there").load(experiment, memory(limit_bytes))
    };
    load().map_err(|error| {
        let is_of_file = match &error {
            SessionError::Problems(_) => true,
            SessionError::Failure(failure) => matches!(failure, Failure::Input(_) | Failure::Refused(_)),
            SessionError::Other(_) => false,
        };
        assert!(is_of_file, "{error}");
        error.to_string()
    })
}

/// Why an image is not loaded.
fn unloaded(path: &Path, experiment: &Experiment) -> String {
    load(path, experiment, u64::MAX).map(drop).expect_err("it is refused")
}

/// Asserts that an image is loaded.
fn is_loaded(path: &Path, experiment: &Experiment) {
    load(path, experiment, u64::MAX).map(drop).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
}

/// A drive that was served and has come to rest.
fn served(experiment: &Experiment, seed: u64, commands: u32) -> Pair {
    let mut pair = Pair::new(served_engine(experiment), u64::MAX);
    pair.run(&mut Prng::new(seed), commands);
    pair.flush();
    pair
}

/// Serves a drive three times, with its image between, and compares its data and what it has worn. Each time the log is
/// replayed by a run that begins with the drive as a snapshot has saved it before.
fn goes_on(keys: &str, seed: u64) {
    let folder = tempfile::tempdir().expect("there is room");
    let path = |name: &str| folder.path().join(name);
    let experiment = experiment(keys);
    let config = &experiment.variants[0].config;
    let mut pair = served(&experiment, seed, 3_000);
    for turn in 0..2 {
        // In the midst of things; the drive that is saved has ended them.
        pair.run(&mut Prng::new(seed + turn), 40);
        let state = pair.drive.snapshot().expect("it can be saved");
        let snapshot = switched_off_copy(config, &state).unwrap_or_else(|failure| panic!("{keys}: {failure}"));
        fs::write(path("snapshot"), snapshot.to_file().expect("there is memory")).expect("there is room");
        pair.flush();
        let erases = pair.drive.engine().nand().erase_counts().to_vec();
        keep(&mut pair, &experiment, &path("image")).unwrap_or_else(|reason| panic!("{keys}: {reason}"));
        let loaded = |name| load(&path(name), &experiment, 1 << 20).unwrap_or_else(|why| panic!("{keys}: {why}"));
        let mut untouched = Pair::of(loaded("image"), Vec::new());
        keep(&mut untouched, &experiment, &path("again")).expect("it is at rest");
        let [image, again] = ["image", "again"].map(|name| fs::read(path(name)).expect("it is written"));
        assert!(image == again, "{keys}: a drive that was not used is saved as it was");
        let mut drive = loaded("image");
        assert_eq!(drive.engine().nand().erase_counts(), erases, "{keys}");
        let log = fs::File::create(path("log.csv")).expect("there is room");
        drive.log_to(Box::new(log)).expect("it is written");
        pair = Pair::of(drive, std::mem::take(&mut pair.bytes));
        pair.end().unwrap_or_else(|wrong| panic!("{keys}, seed {seed}, turn {turn}: {wrong}"));
        pair.run(&mut Prng::new(!seed), 2_000);
        pair.end().unwrap_or_else(|wrong| panic!("{keys}, seed {seed}, turn {turn}, after it was used: {wrong}"));
        pair.drive.finish_log().expect("it is written");
        let result = flashloom_run::result(config, pair.drive.engine()).expect("everything adds up");
        assert!(result.ftl.page_copies > 50, "{keys}: {} copies", result.ftl.page_copies);
        let [log, snapshot] = ["log.csv", "snapshot"].map(|name| path(name).display().to_string());
        let own = format!("workload.kind=trace workload.path={log} run.state={snapshot}");
        let replay = crate::tests::experiment(&format!("{keys} {own}"));
        let replayed = Prepared::new(&replay).expect("the log is a trace").run(false, &Quiet, &mut []);
        let replayed = replayed.unwrap_or_else(|failure| panic!("{keys}: {failure}"));
        assert_same_result(&format!("{keys}, seed {seed}, turn {turn}"), &result, &replayed.result);
        pair.flush();
    }
}

#[test]
fn a_drive_goes_on_from_its_image_under_every_mapping() {
    for (seed, keys) in (200..).zip(mappings()) {
        goes_on(&keys, seed);
    }
}

#[test]
fn a_drive_goes_on_from_its_image_whatever_else_it_has() {
    for (seed, keys) in (300..).zip([
        "ftl.slc_cache=static device.slc_read_time=20us device.slc_program_time=100us",
        "ftl.slc_cache=dynamic ftl.mapping=dftl device.slc_read_time=20us device.slc_program_time=100us",
        "device.program_failures=0.0005 device.erase_failures=0.0005",
        "device.reliability=linear device.linear.erases_a_retry=2 ftl.mapping=dftl",
        "ftl.gc=cost-benefit ftl.gc_pace=share ftl.wear_levelling=static ftl.wear_threshold=2",
        "ftl.allocation=slap ftl.hot_cold=multi-hash buffer.order=cflru",
        "device.read_cache=256KiB device.readahead_pages=8",
        "buffer.order=block-lru buffer.block-lru.padding=true ftl.mapping=fast",
        "run.precondition=none",
        "device.page_size=16KiB device.blocks=24",
    ]) {
        goes_on(keys, seed);
    }
}

#[test]
fn what_only_the_buffer_has_is_not_left_behind() {
    let folder = tempfile::tempdir().expect("there is room");
    let experiment = experiment("");
    let mut pair = served(&experiment, 1, 100);
    let write = Command::Write { lba: 0, data: &[7; 8 * SECTOR], fua: false };
    let cookie = pair.drive.submit(write).expect("it is within the drive").expect("there is room");
    let refused = keep(&mut pair, &experiment, &folder.path().join("image")).expect_err("it is at work");
    assert!(refused.contains("one that is at work"), "{refused}");
    while pair.drive.take_ended().is_none() {
        let next_ns = pair.drive.next_event_ns().expect("it is outstanding");
        pair.drive.advance_to(next_ns).expect("time goes on");
    }
    pair.drive.finish(cookie, &mut []);
    let refused = keep(&mut pair, &experiment, &folder.path().join("image")).expect_err("the page is dirty");
    assert!(refused.contains("1 pages that only its buffer has"), "{refused}");
    assert!(!folder.path().join("image").exists());
}

#[test]
fn an_image_of_another_drive_is_refused_by_the_key_that_differs() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("image");
    let own = experiment("");
    keep(&mut served(&own, 1, 300), &own, &path).expect("it is at rest");
    for (set, found) in [
        ("ftl.mapping=fast", "`ftl.mapping` = \"fast\""),
        ("device.pages=32", "`device.pages` = 32"),
        ("run.seed=7", "`run.seed` = 7"),
        ("device.over_provisioning=0.7", "`device.over_provisioning` = 0.7"),
    ] {
        let refused = unloaded(&path, &experiment(set));
        assert!(refused.contains(found) && refused.contains("as the drive in"), "{refused}");
        assert!(!refused.contains("run.state"), "{refused}");
    }
    // Buffer, host and times may be others: they are what the drive is under now.
    for set in ["buffer.capacity=0B", "host.queue_depth=2", "device.link_rate=1MB/s"] {
        is_loaded(&path, &experiment(set));
    }
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("there is room");
    assert!(unloaded(&link, &own).contains("a link"));
}

/// The first line of a file.
fn line(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|_| "none".to_owned()).lines().next().unwrap_or_default().to_owned()
}

/// One server an image from the first moment, by whatever path.
#[test]
fn the_name_of_an_image_is_one_servers_also_before_there_is_one() {
    let folder = tempfile::tempdir().expect("there is room");
    let at = |name: &str| folder.path().join(name);
    let (own, path) = (experiment(""), at("image"));
    std::os::unix::fs::symlink(folder.path(), at("other")).expect("there is room");
    let refused = |path: &Path| Claim::take(path).map(drop).expect_err("it is served").to_string();
    for is_there in [false, true] {
        let mut claim = Claim::take(&path).expect("it is free");
        let found = claim.image(&own.variants[0].config).expect("it is sound");
        assert_eq!(found.is_some(), is_there);
        for other in [&path, &at("other/image"), &at("linked")] {
            if other.ends_with("linked") {
                fs::hard_link(&path, other).expect("there is room");
            }
            assert!(refused(other).contains("another server has"), "{}", refused(other));
        }
        fs::remove_file(at("linked")).expect("it is there");
        // Handed on to another process, and back.
        claim.release();
        drop(Claim::take(&path).expect("it is free"));
        assert_eq!(path.exists(), is_there, "a name without an image goes with the last claim");
        let claim = Claim::take(&path).expect("it is free");
        claim.keep(&mut served(&own, 1, 100).drive, &own.variants[0].config).expect("there is room");
        is_loaded(&path, &own);
    }
    // What a server leaves that is killed before its first end.
    std::mem::forget(Claim::take(&at("left")).expect("it is free"));
    assert_eq!(line(&at("left")), "flashloom-image 0");
    fs::write(at("copy"), fs::read(at("left")).expect("it is there")).expect("there is room");
    let next = Claim::take(&at("copy")).expect("no server has it");
    assert!(next.image(&own.variants[0].config).expect("it is none").is_none());
    for (path, found) in [(Path::new(""), "an empty name"), (&at("none/image"), "there is no folder")] {
        assert!(refused(path).contains(found), "{}", refused(path));
    }
    fs::write(at("empty"), "").expect("there is room");
    let empty = Claim::take(&at("empty")).expect("no server has it");
    assert!(empty.image(&own.variants[0].config).is_err(), "what a machine lost is no drive that was never served");
    drop(empty);
    assert_eq!(fs::read(at("empty")).expect("it stays"), b"");
}

/// The data cannot be computed again: it is written somewhere, and no other file is replaced.
#[test]
fn a_drive_is_kept_whatever_has_become_of_the_name_of_its_image() {
    let folder = tempfile::tempdir().expect("there is room");
    let at = |name: &str| folder.path().join(name);
    let (own, path) = (experiment(""), at("deep/image"));
    fs::create_dir(at("deep")).expect("there is room");
    let end = |change: &dyn Fn()| {
        let claim = Claim::take(&path).expect("it is free");
        change();
        claim.keep(&mut served(&own, 1, 100).drive, &own.variants[0].config)
    };
    end(&|| fs::remove_file(&path).expect("it is there")).expect("the name is still this server's");
    is_loaded(&path, &own);
    let precious = || {
        fs::remove_file(&path).expect("it is there");
        fs::write(&path, "precious").expect("there is room");
    };
    let reason = end(&precious).expect_err("another file is there");
    assert!(reason.contains("something else has come in its place; the drive is in "), "{reason}");
    assert_eq!(line(&path), "precious");
    is_loaded(&at("deep/image.1"), &own);
    fs::remove_file(&path).expect("it is there");
    // The file that keeps the name, written over.
    let reason = end(&|| fs::write(&path, "as precious").expect("there is room")).expect_err("it is another");
    assert!(reason.ends_with("deep/image.2"), "{reason}");
    assert_eq!(line(&path), "as precious");
    fs::remove_file(&path).expect("it is there");
    let long = at(&"x".repeat(255));
    let claim = Claim::take(&long).expect("it is free");
    fs::write(&long, "precious").expect("there is room");
    let reason = claim.keep(&mut served(&own, 1, 100).drive, &own.variants[0].config).expect_err("it is another");
    assert!(reason.ends_with("/flashloom-image.1"), "{reason}");
    let reason = end(&|| fs::remove_dir_all(at("deep")).expect("it is there")).expect_err("there is no folder");
    let (_, kept) = reason.split_once("; the drive is in ").expect("among temporary files");
    is_loaded(Path::new(kept), &own);
    fs::remove_file(kept).expect("it is there");
}

/// Bytes of a file with random damage.
fn damage(prng: &mut Prng, bytes: &mut Vec<u8>) {
    let at = prng.below(bytes.len() as u64) as usize;
    match prng.below(6) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..(at + 1 + prng.below(40) as usize).min(bytes.len()))),
        2 => drop(bytes.splice(at..at, (0..1 + prng.below(40)).map(|_| prng.below(256) as u8).collect::<Vec<_>>())),
        _ => (0..1 + prng.below(3)).for_each(|_| {
            let at = prng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << prng.below(8);
        }),
    }
}

#[test]
fn a_damaged_image_is_refused() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("image");
    let experiment = experiment("ftl.mapping=dftl");
    keep(&mut served(&experiment, 9, 1_000), &experiment, &path).expect("it is at rest");
    let image = fs::read(&path).expect("it is written");
    let start = image.windows(2).position(|pair| pair == b"}\n").expect("two lines") + 2;
    let mut prng = Prng::new(3);
    for number in 0..600 {
        let mut bytes = image.clone();
        if number % 4 == 0 {
            // In the lines, which are few of all the bytes.
            let mut head = bytes[..start].to_vec();
            damage(&mut prng, &mut head);
            bytes.splice(..start, head);
        } else {
            damage(&mut prng, &mut bytes);
        }
        fs::write(&path, &bytes).expect("there is room");
        let loaded = load(&path, &experiment, 1 << 20).map(drop);
        match loaded {
            // Compression has bits that say nothing of the data, such as the size of its window.
            Ok(()) => {
                let is_same = bytes.get(..start) == image.get(..start) && parts(&bytes) == parts(&image);
                assert!(is_same, "damage {number} was not found");
            }
            Err(why) => assert!(why.contains("image") && why.contains("expected"), "damage {number}: {why}"),
        }
    }
}

/// An image taken apart: its drive, and the pages as they are not compressed, without the hash.
fn parts(image: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let start = image.windows(2).position(|pair| pair == b"}\n").expect("two lines") + 2;
    let text = std::str::from_utf8(&image[..start]).expect("lines").lines().nth(1).expect("two");
    let header: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let end = start + header["drive_bytes"].as_u64().expect("a number") as usize;
    let mut pages = zstd::decode_all(&image[end..]).expect("it was compressed");
    pages.truncate(pages.len() - 32);
    (image[start..end].to_vec(), pages)
}

/// An image of these parts with the right hash.
fn assembled(drive: &[u8], pages: &[u8]) -> Vec<u8> {
    let header = format!("{{\"drive_bytes\":{},\"page_bytes\":4096}}", drive.len());
    let hash = Sha256::new().chain_update(&header).chain_update(drive).chain_update(pages).finalize();
    let pages = zstd::encode_all(&[pages, &hash].concat()[..], 1).expect("there is memory");
    [b"flashloom-image 2\n", header.as_bytes(), b"\n", drive, &pages].concat()
}

/// A saved drive with another state, and the right hash.
fn altered(drive: &[u8], alter: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let lines: Vec<&[u8]> = drive.splitn(4, |&byte| byte == b'\n').collect();
    let mut state = Vec::new();
    FrameDecoder::new(lines[3]).read_to_end(&mut state).expect("it was compressed");
    alter(&mut state);
    let hash = format!("{:x}", Sha256::new().chain_update(lines[1]).chain_update(&state).finalize());
    let mut packed = FrameEncoder::new(Vec::new());
    packed.write_all(&state).expect("there is memory");
    let state = packed.finish().expect("there is memory");
    [lines[0], b"\n", lines[1], b"\n", hash.as_bytes(), b"\n", &state].concat()
}

/// Files that somebody made whose hashes are right: never a panic, also when the drive is used, and never more memory
/// than a drive of this experiment has.
#[test]
fn an_image_with_right_hashes_and_other_contents_never_panics() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("image");
    let experiment = experiment("ftl.gc=cost-benefit");
    keep(&mut served(&experiment, 9, 1_000), &experiment, &path).expect("it is at rest");
    let (drive, pages) = parts(&fs::read(&path).expect("it is written"));
    let attempt = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("there is room");
        load(&path, &experiment, u64::MAX)
    };
    attempt(&assembled(&drive, &pages)).map(drop).expect("nothing was changed");
    let page = |number: u32| [&number.to_le_bytes()[..], &[7; 4096]].concat();
    let end = u32::MAX.to_le_bytes();
    let first = page(u32::from_le_bytes(pages[..4].try_into().expect("four bytes")));
    let damaged = [
        ([&first[..], &first, &end].concat(), "out of order"),
        ([&page(40 * 16 * 2), &end[..]].concat(), "which flash lacks"),
        ([&page(u32::MAX - 1), &end[..]].concat(), "which flash lacks"),
        ([&0_u32.to_le_bytes()[..], &[0; 4096], &end].concat(), "page 0 of zeros"),
        // Without the mark of the end, the hash is taken for a page.
        (first.clone(), "the image is damaged"),
        (first[..100].to_vec(), "the image is damaged"),
        (Vec::new(), "the image is damaged"),
        ([&end[..], &[0; 70_000]].concat(), "its hash is another"),
    ];
    let damaged = damaged.map(|(pages, found)| (assembled(&drive, &pages), found));
    let more = [&assembled(&drive, &pages)[..], b"x"].concat();
    let endless = b"flashloom-image 2\n{\"drive_bytes\":18446744073709551615,\"page_bytes\":4096}\n".to_vec();
    let others = [(more, "something comes after its end"), (endless, "are most")];
    for (file, found) in damaged.into_iter().chain(others) {
        let refused = attempt(&file).map(drop).expect_err("no such image is written");
        assert!(refused.contains(found), "{refused}");
    }
    let (mut prng, mut used) = (Prng::new(4), 0);
    for _ in 0..400 {
        let drive = altered(&drive, |state| damage(&mut prng, state));
        if let Ok(drive) = attempt(&assembled(&drive, &pages)) {
            used += 1;
            let bytes = vec![0; drive.capacity_sectors() as usize * SECTOR];
            Pair::of(drive, bytes).run(&mut Prng::new(1), 200);
        }
    }
    assert!(used < 400, "{used} damaged states passed all checks");
}

#[test]
fn a_session_leaves_its_image_and_a_snapshot_and_the_next_one_goes_on() {
    let folder = Folder::new();
    let session = |keys: &str| folder.session("image=image result=result.json", keys);
    let first = session("").expect("it ages");
    write(first.server(), 8, &[9; 16 * SECTOR]).expect("done");
    first.save_snapshot(&folder.path("saved")).expect("it can be saved");
    for (to, found) in [
        ("image", "something else is written to it"),
        ("result.json", "something else is written to it"),
        ("drive.toml", "this is read"),
        ("none/saved", "there is no folder"),
        ("", "this is a directory"),
    ] {
        let refused = first.save_snapshot(&folder.path(to)).expect_err("it is something else");
        assert!(refused.found.contains(found), "{refused}");
    }
    first.end().expect("everything adds up");
    let saved = folder.path("saved");
    let from_snapshot = experiment(&format!("run.state={saved} workload.synthetic.requests=1000"));
    let prepared = Prepared::new(&from_snapshot).expect("the snapshot fits");
    prepared.run(false, &Quiet, &mut []).expect("a run begins with it");
    let second = session("").expect("it is loaded");
    let mut found = vec![1; 16 * SECTOR];
    second.server().execute(Command::Read { lba: 8, sectors: 16 }, &mut found).expect("done");
    assert!(found == [9; 16 * SECTOR]);
    second.end().expect("everything adds up");
    let refused = refusal(session("ftl.mapping=fast"));
    assert!(refused.contains("ftl.mapping") && refused.contains("`--age-anew` puts its data"), "{refused}");
}

/// The data of an image on other drives: of other mappings, larger, with other pages.
#[test]
fn the_data_of_an_image_goes_on_any_newly_aged_drive_that_has_room() {
    let folder = tempfile::tempdir().expect("there is room");
    let (path, own) = (folder.path().join("image"), experiment(""));
    let mut pair = served(&own, 5, 3_000);
    keep(&mut pair, &own, &path).expect("it is at rest");
    let mut bytes = std::mem::take(&mut pair.bytes);
    // As another build would have left it.
    let (drive, pages) = parts(&fs::read(&path).expect("it is written"));
    let (first, rest) = drive.split_at(drive.iter().position(|&byte| byte == b'\n').expect("lines"));
    let first = first.strip_suffix(b"unknown").expect("the build of the tests");
    let drive = [first, b"another", rest].concat();
    fs::write(&path, assembled(&drive, &pages)).expect("there is room");
    let refused = unloaded(&path, &own);
    assert!(refused.contains("a drive of another build") && refused.contains("--age-anew"), "{refused}");
    let put = |keys: &str| -> Result<LiveDrive, SessionError> {
        let (claim, experiment) = (Claim::take(&path)?, experiment(keys));
        let mut drive = LiveDrive::new(served_engine(&experiment), memory(1 << 20)).expect("events are kept");
        claim.pages()?.put_on(&mut drive, &experiment, &path).map(|()| drive)
    };
    let others = ["device.page_size=16KiB", "device.blocks=64 run.seed=3", "run.precondition=none"].map(str::to_owned);
    for keys in mappings().into_iter().chain(others) {
        let drive = put(&keys).unwrap_or_else(|why| panic!("{keys}: {why}"));
        bytes.resize(drive.capacity_sectors() as usize * SECTOR, 0);
        let mut pair = Pair::of(drive, bytes);
        pair.end().unwrap_or_else(|wrong| panic!("{keys}: {wrong}"));
        let config = &experiment(&keys).variants[0].config;
        let result = flashloom_run::result(config, pair.drive.engine()).expect("everything adds up");
        assert_eq!((result.host.writes, result.nand.erases.total), (0, 0), "{keys}: a service begins with its clients");
        bytes = pair.bytes;
    }
    let refused = put("device.blocks=20").map(drop).expect_err("it is too small").to_string();
    assert!(refused.contains("data in byte ") && refused.contains("make the drive larger"), "{refused}");
    let cut = [&pages[..pages.len() - 5000], &[7; 5000][..]].concat();
    fs::write(&path, [&assembled(&drive, &pages)[..400], &cut].concat()).expect("there is room");
    let refused = put("").map(drop).expect_err("it is damaged").to_string();
    assert!(refused.contains("the image is damaged"), "{refused}");
}

#[test]
fn a_session_ages_a_drive_anew_for_the_data_of_an_image_that_is_there() {
    let folder = Folder::new();
    let session = |keys: &str, anew: bool| {
        let mut options = folder.options("image=image", keys);
        if anew {
            options.set("age-anew", "true").expect("an option");
        }
        Session::new(&catalog(), &options)
    };
    let refused = refusal(session("", true));
    assert!(refused.contains("no image yet"), "{refused}");
    let first = session("", false).expect("it ages");
    write(first.server(), 8, &[9; 16 * SECTOR]).expect("done");
    first.end().expect("everything adds up");
    let second = session("ftl.mapping=fast", true).expect("its drive is another");
    second.end().expect("everything adds up");
    let third = session("ftl.mapping=fast", false).expect("it goes on from that");
    let mut found = vec![1; 16 * SECTOR];
    third.server().execute(Command::Read { lba: 8, sectors: 16 }, &mut found).expect("done");
    assert!(found == [9; 16 * SECTOR]);
    for (option, value, expected) in
        [("age-anew", "yes", "expected true"), ("age-anew", "true", "expected image before it")]
    {
        let refused = crate::Options::default().set(option, value).expect_err("it means nothing");
        assert!(refused.contains(expected), "{refused}");
    }
}
