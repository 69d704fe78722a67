//! Every reader, with what its users do with what it has read.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use flashloom_config::{Catalog, Experiment, Source as Text};
use flashloom_export::dataset::DataSet;
use flashloom_export::html::{Document, page};
use flashloom_figures::formula::{Formula, Run, Runs};
use flashloom_figures::result::{KeptRun, parse, schema_of};
use flashloom_live::{Claim, Command, LiveDrive, Memory, Pace, Server};
use flashloom_run::{Prepared, served_engine};
use flashloom_study::fit::Journal;
use flashloom_study::validate::curve::Curve;
use flashloom_study::validate::fio_output;
use flashloom_units::Prng;
use flashloom_workload::{FioDrive, FioJobFile, Format, Source, TraceOptions, read_trace};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::seeds;

/// Capacity of the device that fio's jobs run on.
const CAPACITY_BYTES: u64 = 1 << 30;

/// Memory of a data set; what else a target takes is small beside it.
const DATA_SET_BYTES: u64 = 64 << 20;

/// Whether something was read. Why it was not is put into words, as it is for a user.
fn is_told<T>(read: Result<T, impl Display>) -> bool {
    read.map_err(|problem| drop(problem.to_string())).is_ok()
}

/// Reads a recording as it is, with pairs of issue and completion, and sorted and without bad lines.
pub(crate) fn trace(bytes: &[u8], format: Option<Format>) -> bool {
    let options = TraceOptions { format, ..TraceOptions::default() };
    let lenient = TraceOptions { sort: true, skip_bad_lines: true, ..options.clone() };
    let bytes: Arc<[u8]> = bytes.into();
    let read = |options: &TraceOptions| {
        let Ok(mut trace) = read_trace("fuzz", Arc::clone(&bytes), options) else { return false };
        loop {
            match trace.next_request() {
                Ok(Some(_)) => {}
                end => return is_told(end),
            }
        }
    };
    read(&lenient);
    read(&TraceOptions { completions: true, ..lenient });
    read(&TraceOptions { completions: true, ..options.clone() });
    read(&options)
}

/// [`trace`] of the format that is told from the bytes.
pub(crate) fn any_trace(bytes: &[u8]) -> bool {
    trace(bytes, None)
}

fn catalog() -> &'static Arc<Catalog> {
    static CATALOG: OnceLock<Arc<Catalog>> = OnceLock::new();
    CATALOG.get_or_init(Catalog::builtin)
}

/// Reads an experiment and lays out its variants; nothing is opened or run.
pub(crate) fn experiment(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let read = |varies: Option<&[String]>| {
        is_told(Experiment::from_source(catalog(), Text::text("fuzz.toml", &text), &[], varies))
    };
    // As `compare` and as `run` reads it, which differ in what may vary.
    let is_comparison = read(Some(&[]));
    read(None) || is_comparison
}

/// Reads a job file, checks it against a device, and starts its jobs. One that replays an iolog would read other files.
pub(crate) fn fio_job(bytes: &[u8]) -> bool {
    let parsed = FioJobFile::parse("fuzz.fio", bytes);
    let Ok(file) = parsed.map_err(|problems| drop(problems.to_string())) else { return false };
    if bytes.windows(5).any(|word| word.eq_ignore_ascii_case(b"iolog")) {
        return true;
    }
    let drive = FioDrive::of_bytes(CAPACITY_BYTES);
    file.check(&drive).is_ok_and(|()| file.start(&drive, &Prng::new(1)).is_ok())
}

/// Reads the JSON that fio writes of its runs.
pub(crate) fn fio_output(bytes: &[u8]) -> bool {
    let jobs = fio_output::read("fuzz.json", &String::from_utf8_lossy(bytes));
    let Ok(jobs) = jobs.map_err(|problem| drop(problem.to_string())) else { return false };
    jobs.iter().all(|job| job.outstanding_on_average().is_finite())
}

/// Reads a curve of the rate over the bytes written.
pub(crate) fn rate_curve(bytes: &[u8]) -> bool {
    is_told(Curve::read("fuzz.csv", &String::from_utf8_lossy(bytes)))
}

/// Reads a result or a comparison, and writes its page.
pub(crate) fn result(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    Document::read("fuzz.json", &text).map(|document| page("fuzz.json", &document)).is_ok()
}

/// Reads a data set.
pub(crate) fn data_set(bytes: &[u8]) -> bool {
    let path = seeds::written("data.parquet", bytes);
    DataSet::read_limited(&path, &["host.iops", "integrity.verified"], DATA_SET_BYTES).is_ok()
}

/// Writes the file of a saved drive around a line and a state, with their hash, and prepares a run that loads it.
pub(crate) fn state_file(bytes: &[u8]) -> bool {
    let (line, state) = match bytes.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    let hash = format!("{:x}", Sha256::new().chain_update(line).chain_update(state).finalize());
    let mut file = [seeds::STATE_MAGIC, line, b"\n", hash.as_bytes(), b"\n"].concat();
    file.extend(seeds::packed(state));
    let path = seeds::written("drive.state", &file);
    let sets = [format!("run.state={:?}", path.to_string_lossy())];
    let experiment = Experiment::from_source(catalog(), Text::text("fuzz.toml", seeds::STATE_DRIVE), &sets, None);
    let Ok(experiment) = experiment else { return false };
    Prepared::new(&experiment).is_ok_and(|prepared| prepared.bare_engine(0, false).is_ok())
}

/// Opens the journal of a fit of the loads of [`seeds::JOURNAL_CELLS`], and a second time what the first has left.
pub(crate) fn fit_journal(bytes: &[u8]) -> bool {
    let path = seeds::written("fit.journal", bytes);
    let open = || Journal::open(&path, seeds::JOURNAL_OF, &seeds::JOURNAL_CELLS).map(|journal| journal.taken());
    let Ok(taken) = open().map_err(|problem| drop(problem.to_string())) else { return false };
    assert_eq!(open().ok(), Some(taken), "what was read is kept");
    true
}

/// Reads the kept result of a run.
pub(crate) fn kept(bytes: &[u8]) -> bool {
    schema_of(bytes).and_then(|_| parse::<KeptRun>(bytes)).is_ok()
}

/// Reads an image as it is; and one that is made of a line about a drive, the length of its state in four bytes, the
/// state and the pages, with their hashes. Clients then use the drive, and the pages are written to a new one.
pub(crate) fn image(bytes: &[u8]) -> bool {
    let path = seeds::written("image", bytes);
    let is_read = served(&path);
    let Some((line, rest)) = bytes.iter().position(|&byte| byte == b'\n').map(|end| bytes.split_at(end)) else {
        return is_read;
    };
    let Some((length, rest)) = rest[1..].split_at_checked(4) else { return is_read };
    let length = length.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
    let (state, pages) = rest.split_at(length.min(rest.len()));
    fs::write(&path, seeds::image_of(line, state, pages)).expect("a file can be written");
    served(&path) || put_anew(&path) || is_read
}

/// Whether the data of an image is put on a new drive.
fn put_anew(path: &Path) -> bool {
    let experiment = Experiment::from_source(catalog(), Text::text("fuzz.toml", seeds::STATE_DRIVE), &[], None);
    let experiment = experiment.expect("it is sound");
    let Ok(pages) = Claim::take(path).and_then(|claim| claim.pages()) else { return false };
    let memory = Memory { limit_bytes: u64::MAX, folder: std::env::temp_dir() };
    let engine = served_engine(&experiment, None).expect("it ages");
    let mut drive = LiveDrive::new(engine, memory).expect("events are kept");
    pages.put_on(&mut drive, &experiment, path).map_err(|error| drop(error.to_string())).is_ok()
}

/// Whether an image is read. Then its drive is used.
fn served(path: &Path) -> bool {
    let experiment = Experiment::from_source(catalog(), Text::text("fuzz.toml", seeds::STATE_DRIVE), &[], None);
    let experiment = experiment.expect("it is sound");
    let load = || -> Option<LiveDrive> {
        let claim = Claim::take(path).ok()?;
        let image = claim.image(&experiment.variants[0].config).map_err(|problem| drop(problem.to_string())).ok()??;
        let memory = Memory { limit_bytes: u64::MAX, folder: std::env::temp_dir() };
        image.load(&experiment, memory).map_err(|error| drop(error.to_string())).ok()
    };
    let Some(drive) = load() else { return false };
    let (sectors, server) = (drive.capacity_sectors(), Server::new(drive, Pace::Fast { gathers: false }));
    for lba in (0..sectors / 8 * 8).step_by(8) {
        let mut found = [0; 4096];
        let _ = server.execute(Command::Read { lba, sectors: 8 }, &mut found);
        let _ = server.execute(Command::Write { lba, data: &found, fua: lba.is_multiple_of(3) }, &mut []);
    }
    // An image whose hashes are right may hold a state that no drive comes to: its checks may fail, without a panic.
    let _ = server.end(|drive, _| drive.engine().check().map_err(|violation| violation.to_string()));
    true
}

/// Two experiments of two runs.
struct Fixed(Vec<Run>);

impl Runs for Fixed {
    fn runs(&self, experiment: &str) -> Option<&[Run]> {
        ["a", "b"].contains(&experiment).then_some(&self.0[..])
    }
}

/// Parses a formula, and evaluates it.
pub(crate) fn formula(bytes: &[u8]) -> bool {
    let Ok(formula) = Formula::parse(&String::from_utf8_lossy(bytes)) else { return false };
    let run = |iops: f64| Run {
        vary: [("host.scheduler".to_owned(), json!("noop"))].into_iter().collect(),
        result: Arc::new(json!({"host": {"iops": iops, "none": null}})),
    };
    let runs = Fixed(vec![run(1.0), run(2.0)]);
    drop(formula.repeated(&[&runs, &runs], "a"));
    drop(formula.experiments("a"));
    drop(formula.fields());
    let _ = formula.value(&runs, "a");
    true
}
