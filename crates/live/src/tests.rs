//! Drives with data against a plain array of bytes.
//!
//! Strategy: a drive of some dozen blocks, which collects garbage soon, under every mapping of the registry, with and
//! without a write buffer, and with what else moves data: caches of reads, an SLC cache, programs that fail. Random
//! writes, writes of zeros, discards, flushes and reads, several at once and never two on the same sectors if one of
//! them writes; now and then the drive rests and works in the background. Every read is compared byte for byte, and at
//! the end the whole drive is. The checks of a verified run go along. The seed is in the message of what fails.

use std::fs::{self, File};
use std::ops::Range;
use std::sync::Arc;

use flashloom_config::registry::Registry;
use flashloom_config::{Catalog, Experiment, Source};
use flashloom_device::Engine;
use flashloom_figures::result::RunResult;
use flashloom_run::{self, Prepared, Quiet};
use flashloom_units::{MS, Prng};
use tempfile::TempDir;

use crate::frames::SECTOR;
use crate::{Command, Ended, Fault, LiveDrive, Memory, Options, Server, Session, SessionError};

pub(crate) const DRIVE: &str = "
[workload]
kind = \"synthetic\"

[host]
scheduler = \"noop\"
merging = false
nr_requests = 8
queue_depth = 8

[device]
channels = 2
ways = 1
dies = 1
planes = 1
blocks = 40
pages = 16
page_size = \"4KiB\"
over_provisioning = 0.6

[buffer]
capacity = \"64KiB\"

[ftl]
dftl.cache = \"1KiB\"
sftl.cache = \"8KiB\"
leaftl.cache = \"16KiB\"
lazyftl.cache = \"16KiB\"
u-ftl.cache = \"16KiB\"
bast.log_blocks = 4
fast.log_blocks = 4
last.log_blocks = 4
last.sequential_log_blocks = 1
sast.log_blocks = 4
kast.log_blocks = 4
mcsplit.log_blocks = 4
superblock-ftl.log_blocks = 4

[run]
precondition = \"fill\"
fill = 0.5
";

/// The drive with these keys, `KEY=VALUE` each, separated by blanks.
pub(crate) fn experiment(keys: &str) -> Experiment {
    let sets: Vec<String> = keys.split_whitespace().map(str::to_owned).collect();
    let source = Source::text("drive.toml", DRIVE);
    Experiment::from_source(&Catalog::builtin(), source, &sets, None).unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn engine(experiment: &Experiment) -> Engine {
    Prepared::new(experiment).expect("sound").engine(0, true).expect("it ages")
}

/// [`engine`] without the checks of a verified run, as it is served.
pub(crate) fn served_engine(experiment: &Experiment) -> Engine {
    Prepared::new(experiment).expect("sound").engine(0, false).expect("it ages")
}

pub(crate) fn memory(limit_bytes: u64) -> Memory {
    Memory { limit_bytes, folder: std::env::temp_dir() }
}

/// A drive with room for data in memory.
pub(crate) fn live(engine: Engine) -> LiveDrive {
    LiveDrive::new(engine, memory(u64::MAX)).expect("events are kept")
}

/// Writes data that is not durable.
pub(crate) fn write(server: &Server, lba: u64, data: &[u8]) -> Result<(), Fault> {
    server.execute(Command::Write { lba, data, fua: false }, &mut [])
}

/// Reads a page.
pub(crate) fn read(server: &Server, lba: u64) -> Result<(), Fault> {
    server.execute(Command::Read { lba, sectors: 8 }, &mut [0; 8 * SECTOR])
}

pub(crate) fn catalog() -> Arc<Catalog> {
    Registry::builtin().catalog().expect("the built-in policies")
}

/// A folder with the drive's experiment, and files of sessions.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("there is room"));
        fs::write(folder.path("drive.toml"), DRIVE).expect("there is room");
        folder
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("it is there")
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }

    /// Options of the drive with these keys, which name these files: `NAME=FILE`, separated by blanks.
    pub(crate) fn options(&self, files: &str, keys: &str) -> Options {
        let mut options = Options::default();
        let files = files.split_whitespace().map(|file| file.split_once('=').expect("a name and a file"));
        for (name, file) in [("experiment", "drive.toml")].into_iter().chain(files) {
            options.set(name, &self.path(file)).expect("an option");
        }
        keys.split_whitespace().for_each(|set| options.set("set", set).expect("an option"));
        options
    }

    pub(crate) fn session(&self, files: &str, keys: &str) -> Result<Session, SessionError> {
        Session::new(&catalog(), &self.options(files, keys))
    }
}

/// Why there is no session.
pub(crate) fn refusal(session: Result<Session, SessionError>) -> String {
    session.map(drop).expect_err("it is refused").to_string()
}

/// A command that is outstanding.
struct Running {
    cookie: u32,
    sectors: Range<u64>,
    /// What a read has to find.
    expected: Option<Vec<u8>>,
}

/// A drive beside the array that it has to agree with.
pub(crate) struct Pair {
    pub(crate) drive: LiveDrive,
    pub(crate) bytes: Vec<u8>,
    page_sectors: u64,
    running: Vec<Running>,
    wrong: Option<String>,
    failed: u64,
}

impl Pair {
    pub(crate) fn new(engine: Engine, limit_bytes: u64) -> Self {
        let drive = LiveDrive::new(engine, memory(limit_bytes)).expect("events are kept");
        let bytes = vec![0; drive.capacity_sectors() as usize * SECTOR];
        Self::of(drive, bytes)
    }

    /// A drive that holds these bytes.
    pub(crate) fn of(drive: LiveDrive, bytes: Vec<u8>) -> Self {
        let page_sectors = u64::from(drive.engine().nand().geometry().sectors_per_page());
        let running = Vec::new();
        Self { drive, bytes, page_sectors, running, wrong: None, failed: 0 }
    }

    fn part(&mut self, sectors: &Range<u64>) -> &mut [u8] {
        &mut self.bytes[sectors.start as usize * SECTOR..sectors.end as usize * SECTOR]
    }

    /// Submits a random command on sectors that nothing else is outstanding on.
    fn submit(&mut self, prng: &mut Prng) {
        let capacity = self.drive.capacity_sectors();
        // Half of all commands go to a sixteenth of the drive.
        let span = if prng.chance(0.5) { capacity / 16 } else { capacity };
        let lba = prng.below(span - 64);
        let longest = if prng.chance(0.2) { 64 } else { 12 };
        let sectors = lba..lba + 1 + prng.below(longest);
        let count = (sectors.end - sectors.start) as u32;
        if self.running.iter().any(|other| other.sectors.start < sectors.end && sectors.start < other.sectors.end) {
            return;
        }
        let (mut expected, fua) = (None, prng.chance(0.1));
        let data: Vec<u8>;
        let command = match prng.below(20) {
            0..=8 => {
                let mark = prng.below(255) as u8 + 1;
                data = (0..count as usize * SECTOR).map(|at| mark.wrapping_add((at / SECTOR) as u8)).collect();
                self.part(&sectors).copy_from_slice(&data);
                Command::Write { lba, data: &data, fua }
            }
            9..=10 => {
                self.part(&sectors).fill(0);
                Command::WriteZeros { lba, sectors: count, fua }
            }
            11..=12 => {
                let page = self.page_sectors;
                let whole = lba.next_multiple_of(page)..sectors.end / page * page;
                if !whole.is_empty() {
                    self.part(&whole).fill(0);
                }
                Command::Discard { lba, sectors: count }
            }
            13 => Command::Flush,
            _ => {
                expected = Some(self.part(&sectors).to_vec());
                Command::Read { lba, sectors: count }
            }
        };
        let cookie = self.drive.submit(command).expect("it is within the drive").expect("there is room");
        self.running.push(Running { cookie, sectors, expected });
    }

    fn step(&mut self) {
        let next_ns = self.drive.next_event_ns().expect("commands are outstanding, so an event is pending");
        self.drive.advance_to(next_ns).expect("time goes on");
        self.take_ended();
    }

    fn take_ended(&mut self) {
        while let Some(Ended { cookie, status, .. }) = self.drive.take_ended() {
            let at = self.running.iter().position(|running| running.cookie == cookie).expect("it was outstanding");
            let Running { sectors, expected, .. } = self.running.swap_remove(at);
            let mut data = vec![0xee; if status.is_done() { expected.as_ref().map_or(0, Vec::len) } else { 0 }];
            self.drive.finish(cookie, &mut data);
            self.failed += u64::from(!status.is_done());
            let is_wrong = status.is_done() && expected.is_some_and(|expected| expected != data);
            if is_wrong && self.wrong.is_none() {
                self.wrong = Some(format!("sectors {sectors:?} at {} ns", self.drive.engine().now_ns()));
            }
        }
    }

    /// Waits for all commands.
    fn drain(&mut self) {
        while self.drive.outstanding() > 0 {
            self.step();
        }
    }

    /// Makes everything durable, as the end of a session does.
    pub(crate) fn flush(&mut self) {
        let cookie = self.drive.submit(Command::Flush).expect("it is sound").expect("there is room");
        self.running.push(Running { cookie, sectors: 0..0, expected: None });
        self.drain();
        while !self.drive.engine().is_idle() {
            self.step();
        }
    }

    pub(crate) fn run(&mut self, prng: &mut Prng, commands: u32) {
        for _ in 0..commands {
            while self.running.len() as u64 > prng.below(8) {
                self.step();
            }
            if prng.chance(0.01) {
                self.drain();
                let rest_ns = self.drive.engine().now_ns() + prng.below(300) * MS;
                self.drive.advance_to(rest_ns).expect("time goes on");
            }
            self.submit(prng);
        }
        self.drain();
    }

    /// Reads the whole drive, and lets its work end.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        let capacity = self.drive.capacity_sectors();
        for lba in (0..capacity).step_by(64) {
            let sectors = lba..capacity.min(lba + 64);
            let command = Command::Read { lba, sectors: (sectors.end - lba) as u32 };
            let cookie = self.drive.submit(command).expect("it is within the drive").expect("there is room");
            let expected = Some(self.part(&sectors).to_vec());
            self.running.push(Running { cookie, sectors, expected });
            self.drain();
        }
        while !self.drive.engine().is_idle() {
            self.step();
        }
        self.drive.check_data().map_err(|violation| violation.to_string())?;
        self.wrong.take().map_or(Ok(()), Err)
    }
}

/// Keys of all mappings, each with and without a buffer.
pub(crate) fn mappings() -> Vec<String> {
    let registry = Registry::builtin();
    let names = registry.mappings.specs().map(|spec| spec.name);
    let keys = |name| ["64KiB", "0B"].map(|capacity| format!("ftl.mapping={name} buffer.capacity={capacity}"));
    names.flat_map(keys).collect()
}

/// Random commands on a drive with these keys. Returns the drive, and what was wrong.
fn compare(keys: &str, seed: u64, prepare: impl Fn(&mut Pair)) -> (Pair, Result<(), String>) {
    let mut pair = Pair::new(engine(&experiment(keys)), u64::MAX);
    prepare(&mut pair);
    pair.run(&mut Prng::new(seed), 6_000);
    let outcome = pair.end();
    (pair, outcome)
}

/// Commands on a drive that has to move pages, and to return every byte that was written.
fn agree(keys: &str, seed: u64) {
    let (pair, outcome) = compare(keys, seed, |_| ());
    outcome.unwrap_or_else(|wrong| panic!("{keys}, seed {seed}: {wrong}"));
    let result = result_of(keys, &pair);
    assert!(result.ftl.page_copies > 200 && pair.failed == 0, "{keys}: {} copies", result.ftl.page_copies);
}

fn result_of(keys: &str, pair: &Pair) -> RunResult {
    flashloom_run::result(&experiment(keys).variants[0].config, pair.drive.engine()).expect("everything adds up")
}

#[test]
fn every_mapping_returns_what_was_written_byte_for_byte() {
    for (seed, keys) in (1..).zip(mappings()) {
        agree(&keys, seed);
    }
}

#[test]
fn data_beyond_the_limit_of_memory_is_returned_from_the_file() {
    for limit_bytes in [0, 1 << 20] {
        let mut pair = Pair::new(engine(&experiment("")), limit_bytes);
        pair.run(&mut Prng::new(7), 3_000);
        let (in_memory, in_file) = pair.drive.data_bytes();
        assert!(in_memory <= limit_bytes && in_file > 1 << 20, "{in_memory} bytes in memory, {in_file} in the file");
        pair.end().expect("the same data");
    }
}

#[test]
fn data_goes_wherever_else_pages_go() {
    for (seed, keys) in (100..).zip([
        "buffer.order=cflru buffer.capacity=128KiB",
        "device.read_cache=256KiB device.readahead_pages=8",
        "buffer.order=block-lru buffer.block-lru.padding=true ftl.mapping=fast",
        "ftl.slc_cache=static device.slc_read_time=20us device.slc_program_time=100us",
        "device.copyback=true ftl.gc=fifo buffer.capacity=0B",
        "device.page_size=16KiB device.blocks=24",
        "device.page_size=512B device.multi_plane=aligned device.planes=2",
    ]) {
        agree(keys, seed);
    }
}

#[test]
fn data_survives_programs_that_fail() {
    let (pair, outcome) = compare("device.program_failures=0.0005", 3, |_| ());
    outcome.expect("the same data");
    assert_eq!(pair.failed, 0);
    assert!(pair.drive.engine().outcome().counts.failed_programs.iter().sum::<u64>() > 3);
}

/// A drive that wears out fails commands, and never returns data that nobody wrote; it ends all that it accepted.
#[test]
fn a_worn_out_drive_fails_commands_and_keeps_its_data() {
    let (pair, _) = compare("device.program_failures=0.01 buffer.capacity=0B", 5, |_| ());
    assert!(pair.drive.engine().is_worn_out() && pair.failed > 100, "{} failed", pair.failed);
}

/// The null: contents that leave the data of a copied page behind are found, under every mapping.
#[test]
fn a_drive_that_forgets_the_data_of_copies_is_found() {
    for (seed, keys) in (1..).zip(mappings()) {
        let (_, outcome) = compare(&keys, seed, |pair| pair.drive.forget_copies());
        assert!(outcome.is_err(), "{keys}");
    }
}

#[test]
fn commands_that_are_not_within_the_drive_are_refused_and_leave_nothing_behind() {
    let mut drive = live(engine(&experiment("")));
    let end = drive.capacity_sectors();
    for command in [
        Command::Read { lba: end, sectors: 1 },
        Command::Write { lba: end - 1, data: &[1; 2 * SECTOR], fua: false },
        Command::Discard { lba: u64::MAX, sectors: u32::MAX },
        Command::Write { lba: 0, data: &[], fua: false },
    ] {
        drive.submit(command).expect_err("it is refused");
    }
    assert_eq!(drive.data_bytes(), (0, 0));
    let taken = (0..9).map(|lba| drive.submit(Command::Read { lba, sectors: 1 }).expect("sound"));
    assert_eq!(taken.filter(Option::is_some).count(), 8, "host.nr_requests");
}

/// What a drive served, replayed from its log by a run: the same result, in all that the two can have in common.
fn replayed(keys: &str, seed: u64) {
    let folder = Folder::new();
    let log = File::create(folder.path("log.csv")).expect("there is room");
    let (mut pair, outcome) = compare(keys, seed, |pair| {
        pair.drive.log_to(Box::new(log.try_clone().expect("a file has handles"))).expect("it is written")
    });
    outcome.expect("the same data");
    pair.drive.finish_log().expect("it is written");
    let replay = experiment(&format!("{keys} workload.kind=trace workload.path={}", folder.path("log.csv")));
    let replayed = Prepared::new(&replay).expect("the log is a trace").run(true, &Quiet, &mut []).expect("it runs");
    assert_same_result(&format!("{keys}, seed {seed}"), &result_of(keys, &pair), &replayed.result);
}

/// Compares two results in all that was found out.
pub(crate) fn assert_same_result(place: &str, served: &RunResult, replayed: &RunResult) {
    let json = |result: &RunResult| {
        let mut json = serde_json::to_value(result).expect("numbers and names");
        let parts = json.as_object_mut().expect("a result has parts");
        parts.retain(|part, _| !["config", "run", "provenance", "hints", "precondition"].contains(&&**part));
        format!("{json:#}").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (served, replayed) = (json(served), json(replayed));
    let differs = served.iter().zip(&replayed).find(|(served, replayed)| served != replayed);
    assert!(differs.is_none() && served.len() == replayed.len(), "{place}: {differs:?}");
}

#[test]
fn a_log_that_is_replayed_gives_the_same_account_under_every_mapping() {
    for (seed, keys) in (1..).zip(mappings()) {
        replayed(&keys, seed);
    }
}
