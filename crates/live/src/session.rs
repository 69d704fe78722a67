//! A session: the drive of an experiment is served, and leaves a result.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use flashloom_config::{Catalog, Config, Experiment};
use flashloom_device::Outcome;
use flashloom_figures::result::RunResult;
use flashloom_files::{Output, conflict, folder_of, own_folder};
use flashloom_nand::Geometry;
use flashloom_run::{Failure, SERVED_HOST, served_engine};
use flashloom_units::{Ns, Problem, Problems, Refusal, SECTOR_BYTES, parse_ratio, parse_size, visible_path};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::control;
use crate::drive::{Command, LiveDrive};
use crate::frames::Memory;
use crate::image::Claim;
use crate::locked;
use crate::server::{Fault, Pace, Server};
use crate::status::Looked;
use crate::web;

/// Names of the options, each `NAME=VALUE`; `experiment` is needed, `set` may come several times.
pub const OPTIONS: &str = "experiment=FILE.toml [set=KEY=VALUE ...] [pace=fast [gather=true]|pace=real [speed=FACTOR]] \
    [memory=SIZE] \
    [folder=FOLDER] [aged=FILE] [log=FILE.csv] [result=FILE.json] [control=SOCKET] [web=ADDRESS:PORT] [image=FILE \
    [age-anew=true]] [lifeline=true]";

/// Ending of the file beside that of a result, which has [`Failures`] as JSON, if there are any. It is empty if the
/// session has ended and cannot write what it leaves.
pub const FAILURE: &str = "failure";

/// What has failed, for the program that has started the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Failures {
    /// Problems of the inputs, because of which the drive was not served.
    pub inputs: Option<String>,
    /// Why there is no result.
    pub result: Option<String>,
    /// Why there is no log.
    pub log: Option<String>,
    /// Why the image was not written.
    pub image: Option<String>,
}

impl Failures {
    /// Success if nothing has failed.
    ///
    /// # Errors
    /// The reasons, joined by semicolons.
    pub fn outcome(&self) -> Result<(), String> {
        let Self { inputs, result, log, image } = self;
        let all: Vec<&str> = [inputs, result, log, image].into_iter().flatten().map(String::as_str).collect();
        if all.is_empty() { Ok(()) } else { Err(all.join("; ")) }
    }

    /// Leaves them beside a result.
    fn leave(&self, result: &Path) -> Result<(), String> {
        leave(&result.with_extension(FAILURE), &serde_json::to_vec(self).expect("texts are JSON"))
    }
}

/// What is to be served, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The experiment, a TOML file.
    pub experiment: Option<String>,
    /// Keys with other values than the file's, `KEY=VALUE`.
    pub set: Vec<String>,
    /// How time passes.
    pub pace: Pace,
    /// Memory for data.
    pub memory: Memory,
    /// A file with the aged drive.
    pub aged: Option<PathBuf>,
    /// File for the log of requests.
    pub log: Option<PathBuf>,
    /// File for the result, as JSON.
    pub result: Option<PathBuf>,
    /// The control socket.
    pub control: Option<PathBuf>,
    /// Where a page shows the drive: an address of this machine alone.
    pub web: Option<SocketAddr>,
    /// A file with drive and data, which is there or is made at the end.
    pub image: Option<PathBuf>,
    /// Whether a new drive is aged, and the data of the image written to it. The image must exist.
    pub ages_anew: bool,
    /// Whether the session ends when standard input does, whatever clients are there.
    pub has_lifeline: bool,
}

/// Memory for data, if nothing is said of it.
pub const DEFAULT_MEMORY_BYTES: u64 = 2 << 30;

impl Default for Memory {
    fn default() -> Self {
        Self { limit_bytes: DEFAULT_MEMORY_BYTES, folder: std::env::temp_dir() }
    }
}

impl Options {
    /// Sets the option of that name.
    ///
    /// # Errors
    /// An unknown option, or a value that it does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        // The folder of the process may be another when a file is written.
        let path = || std::path::absolute(value).map_err(|_| format!("{name}={value}: expected the name of a file"));
        match name {
            "experiment" => self.experiment = Some(value.to_owned()),
            "set" => self.set.push(value.to_owned()),
            "pace" => {
                self.pace = match value {
                    "fast" => Pace::default(),
                    "real" => Pace::Real { speed: 1.0 },
                    _ => return Err(format!("pace={value}: expected fast or real")),
                }
            }
            "gather" => match (value, self.pace) {
                ("true", Pace::Fast { .. }) => self.pace = Pace::Fast { gathers: true },
                ("true", _) => return Err("gather=true: expected pace=fast before it".to_owned()),
                _ => return Err(format!("gather={value}: expected true")),
            },
            "speed" => {
                let speed = parse_ratio(value).ok().filter(|&speed| (MIN_SPEED..=MAX_SPEED).contains(&speed));
                let Some(speed) = speed else {
                    return Err(format!("speed={value}: expected a factor from {MIN_SPEED} to {MAX_SPEED}"));
                };
                if self.pace != (Pace::Real { speed: 1.0 }) {
                    return Err("speed: expected pace=real before it".to_owned());
                }
                self.pace = Pace::Real { speed };
            }
            "memory" => {
                let bytes = parse_size(value);
                self.memory.limit_bytes = bytes.map_err(|refusal| format!("memory={value}: {refusal}"))?;
            }
            "folder" => self.memory.folder = path()?,
            "aged" => self.aged = Some(path()?),
            "log" => self.log = Some(path()?),
            "result" => self.result = Some(path()?),
            "control" => self.control = Some(PathBuf::from(value)),
            "web" => {
                let address = value.parse::<SocketAddr>().ok().filter(|address| address.ip().is_loopback());
                let Some(address) = address else {
                    return Err(format!("web={value}: expected an address of this machine alone, and a port"));
                };
                self.web = Some(address);
            }
            "image" => self.image = Some(path()?),
            "age-anew" => match (value, &self.image) {
                ("true", Some(_)) => self.ages_anew = true,
                ("true", None) => return Err("age-anew=true: expected image before it".to_owned()),
                _ => return Err(format!("age-anew={value}: expected true")),
            },
            "lifeline" if value == "true" => self.has_lifeline = true,
            "lifeline" => return Err(format!("lifeline={value}: expected true")),
            _ => return Err(format!("unknown option {name}: expected {OPTIONS}")),
        }
        Ok(())
    }
}

/// Smallest factor between the clocks.
pub const MIN_SPEED: f64 = 0.001;
/// Largest factor between the clocks.
pub const MAX_SPEED: f64 = 1_000.0;

/// A result without the hints on the workload of the experiment, which is not used.
fn of_clients(mut result: RunResult) -> RunResult {
    result.hints.retain(|hint| !hint.key.starts_with("workload."));
    result
}

/// A drive that is being served.
pub struct Session {
    server: Server,
    config: Config,
    log_file: LogFile,
    result: Option<PathBuf>,
    control: Option<PathBuf>,
    web: Option<SocketAddr>,
    /// What a page says of the drive before it does anything.
    facts: Value,
    image: Mutex<Option<Claim>>,
    /// Files that a snapshot must not replace: what was read, and what is written.
    inputs: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
    snapshots: Mutex<()>,
    policies: Result<(), Problem>,
    memory_limit_bytes: u64,
    page_bytes: u32,
    bytes: u64,
    /// Standard input, as it was when the session was made: nbdkit closes it before it serves.
    lifeline: Mutex<Option<File>>,
    is_ended: Mutex<bool>,
}

impl Session {
    /// Reads the experiment that the options name, ages its drive and prepares to serve it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn new(catalog: &Arc<Catalog>, options: &Options) -> Result<Self, SessionError> {
        let Some(path) = &options.experiment else { return Err(format!("no experiment: expected {OPTIONS}").into()) };
        let sets = options.set.iter().map(String::as_str).chain(SERVED_HOST);
        let sets: Vec<String> = sets.map(str::to_owned).collect();
        Self::of(&Experiment::load_run(catalog, path, &sets)?, options)
    }

    /// Ages the drive of an experiment, which was read with [`SERVED_HOST`], and prepares to serve it. `experiment` and
    /// `set` of the options are not used.
    ///
    /// # Errors
    /// What is wrong.
    pub fn of(experiment: &Experiment, options: &Options) -> Result<Self, SessionError> {
        flashloom_run::check_served(experiment)?;
        let inputs = experiment.inputs();
        let outputs: Vec<_> = [&options.log, &options.image, &options.result].into_iter().flatten().cloned().collect();
        if let Some((output, found)) = conflict(&inputs, outputs.iter().filter_map(|path| path.to_str())) {
            return Err(Problem::file(output, found, "another file to write to").into());
        }
        let config = experiment.variants[0].config.clone();
        let (mut drive, image) = match &options.image {
            Some(path) => kept_drive(path, experiment, options).map(|(drive, claim)| (drive, Some(claim)))?,
            None => (new_drive(experiment, options)?, None),
        };
        let cannot = |error: io::Error| format!("standard input cannot be kept: {error}");
        let input = options.has_lifeline.then(|| io::stdin().as_fd().try_clone_to_owned());
        let lifeline = input.transpose().map_err(cannot)?.map(File::from);
        let log_file = LogFile::default();
        if options.web.is_some() {
            drive.keep_picture(config.host.queue_depth);
        }
        if let Some(log) = &options.log {
            let named = |found: String| Problem::file(log.display().to_string(), found, "a file that can be written");
            let output = Output::file(log).map_err(|no_output| named(no_output.to_string()))?;
            *locked(&log_file.0) = Some(output);
            let begun = drive.log_to(Box::new(log_file.clone()));
            begun.map_err(|error| format!("{} cannot be written: {error}", log.display()))?;
        }
        Ok(Self {
            page_bytes: config.device.geometry().page_bytes,
            bytes: drive.capacity_sectors() * SECTOR_BYTES,
            lifeline: Mutex::new(lifeline),
            is_ended: Mutex::default(),
            result: options.result.clone(),
            control: options.control.clone(),
            web: options.web,
            facts: facts(&experiment.name, &config, drive.capacity_sectors() * SECTOR_BYTES),
            image: Mutex::new(image),
            inputs,
            outputs,
            snapshots: Mutex::default(),
            policies: flashloom_run::check_kept(experiment),
            memory_limit_bytes: options.memory.limit_bytes,
            log_file,
            server: Server::new(drive, options.pace),
            config,
        })
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Capacity of the drive in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes in a page of the drive.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Commands that the drive takes at once.
    pub fn queue_depth(&self) -> u32 {
        self.config.host.queue_depth
    }

    /// How time passes.
    pub fn pace(&self) -> Pace {
        self.server.pace()
    }

    /// Most bytes of data in memory.
    pub(crate) fn memory_limit_bytes(&self) -> u64 {
        self.memory_limit_bytes
    }

    /// What a page says of the drive.
    pub(crate) fn facts(&self) -> &Value {
        &self.facts
    }

    /// The shape of the array.
    pub(crate) fn geometry(&self) -> Geometry {
        self.config.device.geometry()
    }

    /// Whether [`Self::end`] was called.
    pub fn is_ended(&self) -> bool {
        *locked(&self.is_ended)
    }

    /// Calls `act`, unless the session has ended or is about to; it does not end meanwhile.
    pub(crate) fn while_served<T>(&self, act: impl FnOnce(&Server) -> T) -> Option<T> {
        let is_ended = locked(&self.is_ended);
        (!*is_ended).then(|| act(&self.server))
    }

    /// The figures of the drive now.
    pub(crate) fn look(&self) -> Looked {
        self.server.look(|drive, counts| Looked::at(drive, counts))
    }

    /// The result so far, of a drive that goes on: requests that have not ended count as arrived alone, and pages in
    /// the buffer are not programmed.
    pub fn result_so_far(&self) -> RunResult {
        let Looked { outcome, model_ns, .. } = self.look();
        self.result_of(&outcome, model_ns)
    }

    /// The result of these figures.
    pub(crate) fn result_of(&self, outcome: &Outcome, now_ns: Ns) -> RunResult {
        of_clients(flashloom_run::result_so_far(&self.config, outcome, now_ns))
    }

    /// Saves the drive as it would be switched off now, to a file of this name. The drive goes on meanwhile.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn save_snapshot(&self, to: &str) -> Result<(), Refusal> {
        let named = |found: String, expected: &str| Refusal::new(format!("{to}: {found}"), expected);
        self.policies.clone().map_err(Problem::into_refusal)?;
        if let Some(reason) = self.server.broken() {
            return Err(named(reason, "a drive that is served"));
        }
        let outputs = self.outputs.iter().filter_map(|path| path.to_str()).chain([to]);
        if let Some((_, found)) = conflict(&self.inputs, outputs) {
            return Err(named(found.to_owned(), "another file to write to"));
        }
        let mut output = Output::file(Path::new(to)).map_err(|no_output| named(no_output.to_string(), "a file"))?;
        // One copy of the drive at a time, for the sake of memory.
        let _alone = locked(&self.snapshots);
        let saved = "a drive that can be saved";
        let state = self.server.look(|drive, _| drive.snapshot());
        let state = state.map_err(|error| named(error.to_string(), saved))?;
        let drive = flashloom_run::switched_off_copy(&self.config, &state)
            .map_err(|failure| named(failure.to_string(), saved))?;
        let file = drive.to_file().map_err(|error| named(error, saved))?;
        let written = output.write_all(&file).and_then(|()| output.commit_durably());
        written.map_err(|error| named(format!("the file cannot be written: {error}"), "room for it"))
    }

    /// Answers the clients of the control socket for as long as the process lives, if there is one. `shut_down` is
    /// called once a client has ended the session.
    ///
    /// # Errors
    /// Why there can be no such socket, in words.
    pub fn answer_control(&'static self, shut_down: fn()) -> Result<(), String> {
        let Some(path) = &self.control else { return Ok(()) };
        let listener = control::listen(path)?;
        let answer = move || control::answer(self, listener, shut_down);
        let thread = thread::Builder::new().name("control".to_owned()).spawn(answer);
        thread.map(drop).map_err(|error| format!("a thread cannot be made: {error}"))
    }

    /// Shows the drive on a page for as long as the process lives, if one was asked for.
    ///
    /// # Errors
    /// Why that is not possible, in words.
    pub fn show_page(&'static self) -> Result<(), String> {
        let Some(address) = self.web else { return Ok(()) };
        web::show(self, web::listen(address)?)
    }

    /// Discards sectors; with `fua` that is durable when it returns.
    ///
    /// # Errors
    /// The drive has failed it.
    pub fn discard(&self, lba: u64, sectors: u32, fua: bool) -> Result<(), Fault> {
        self.server.execute(Command::Discard { lba, sectors }, &mut [])?;
        if fua { self.server.execute(Command::Flush, &mut []) } else { Ok(()) }
    }

    /// Writes zeros. If the space may be given up, whole pages are discarded, which then hold zeros, and only the parts
    /// of pages at both ends are written.
    ///
    /// # Errors
    /// The drive has failed it.
    pub fn write_zeros(&self, lba: u64, sectors: u32, may_discard: bool, fua: bool) -> Result<(), Fault> {
        let write = |from: u64, to: u64| match (to - from) as u32 {
            0 => Ok(()),
            sectors => self.server.execute(Command::WriteZeros { lba: from, sectors, fua }, &mut []),
        };
        let page_sectors = u64::from(self.page_bytes) / SECTOR_BYTES;
        let end = lba.checked_add(sectors.into()).ok_or(Fault::Invalid)?;
        let (first, last) = (lba.next_multiple_of(page_sectors), end / page_sectors * page_sectors);
        if !may_discard || first >= last {
            return write(lba, end);
        }
        write(lba, first)?;
        write(last, end)?;
        self.discard(first, (last - first) as u32, fua)
    }

    /// Waits until standard input ends, if the session ends with it, and then ends the session. Returns at once if it
    /// does not.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn hold_lifeline(&self) -> Result<(), String> {
        let Some(mut lifeline) = locked(&self.lifeline).take() else { return Ok(()) };
        let _ = io::copy(&mut lifeline, &mut io::sink());
        self.end()
    }

    /// Ends the session, once: lets the drive finish its work, checks its accounts, and writes log, image and the file
    /// of the result. Clients that are left are served no more.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn end(&self) -> Result<(), String> {
        let mut is_ended = locked(&self.is_ended);
        if std::mem::replace(&mut *is_ended, true) {
            return Ok(());
        }
        let (result, mut failures) = self.settle();
        if let Err(error) = &result {
            failures.result = Some(error.to_string());
        }
        let outcome = failures.outcome();
        let Some(path) = &self.result else { return outcome };
        let left = || {
            // The failures are written before the result: once the result is there, both are complete.
            if failures != Failures::default() {
                failures.leave(path)?;
            }
            let Ok(result) = result else { return Ok(()) };
            leave(path, &serde_json::to_vec(&result).expect("results have text keys and finite numbers"))
        };
        left().map_err(|error: String| {
            // Without it the program would wait for a result that does not come. An empty file needs no room on a disk.
            let _ = File::create(path.with_extension(FAILURE));
            let reason = outcome.as_ref().map_or_else(|reason| format!("{reason}; {error}"), |()| error.clone());
            // A session that a client of the control socket ends has no other way to report it.
            let _ = writeln!(io::stderr(), "{reason}");
            reason
        })?;
        outcome
    }

    /// [`Self::end`] for a caller that takes the result itself; `None` if the session had ended.
    ///
    /// # Errors
    /// What is wrong.
    pub fn finish(&self) -> Result<Option<EndedSession>, SessionError> {
        let mut is_ended = locked(&self.is_ended);
        if std::mem::replace(&mut *is_ended, true) {
            return Ok(None);
        }
        let (result, failures) = self.settle();
        Ok(Some(EndedSession { result: result?, failures }))
    }

    /// The result, and what else has failed. Log and image are written without a result, too: a check of the accounts
    /// that fails says nothing against the data.
    fn settle(&self) -> (Result<RunResult, SessionError>, Failures) {
        let ended = self.server.end(|drive, _| {
            let log = self.keep_log(drive);
            let result =
                flashloom_run::result(&self.config, drive.engine()).map(of_clients).map_err(SessionError::from);
            // Last, because it takes the drive apart.
            let image = locked(&self.image).take().and_then(|claim| claim.keep(drive, &self.config).err());
            (result, Failures { log, image, ..Failures::default() })
        });
        ended.unwrap_or_else(|reason| {
            let log = self.server.look(|drive, _| self.keep_log(drive));
            (Err(reason.into()), Failures { log, ..Failures::default() })
        })
    }

    /// Completes the log. Returns why that is not possible, in words.
    fn keep_log(&self, drive: &mut LiveDrive) -> Option<String> {
        let error = drive.finish_log().and_then(|()| self.log_file.commit()).err()?;
        // An incomplete log is removed.
        self.log_file.give_up();
        Some(format!("the log cannot be written: {error}"))
    }
}

/// What a session leaves.
pub struct EndedSession {
    /// Its result.
    pub result: RunResult,
    /// Why its log or its image could not be written.
    pub failures: Failures,
}

/// Why a drive is not served, or its session has no result.
#[derive(Clone, Debug)]
pub enum SessionError {
    /// The experiment is wrong, or what it names.
    Problems(Problems),
    /// The drive cannot be aged, or a check fails.
    Failure(Failure),
    /// Anything else, in words.
    Other(String),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problems(problems) => problems.fmt(f),
            Self::Failure(failure) => failure.fmt(f),
            Self::Other(words) => words.fmt(f),
        }
    }
}

impl std::error::Error for SessionError {}

impl SessionError {
    /// Writes problems of the inputs to the failure file, for the program that has started the session. Returns false
    /// if there is no such program, or nothing was written: the caller then reports the error.
    pub fn leave(&self, options: &Options) -> bool {
        let inputs = match self {
            Self::Problems(_) | Self::Failure(Failure::Input(_) | Failure::Refused(_)) => self.to_string(),
            Self::Failure(_) | Self::Other(_) => return false,
        };
        let failures = Failures { inputs: Some(inputs), ..Failures::default() };
        options.has_lifeline && options.result.as_ref().is_some_and(|path| failures.leave(path).is_ok())
    }
}

impl From<Problems> for SessionError {
    fn from(problems: Problems) -> Self {
        Self::Problems(problems)
    }
}

impl From<Problem> for SessionError {
    fn from(problem: Problem) -> Self {
        Self::Problems(problem.into())
    }
}

impl From<Failure> for SessionError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<String> for SessionError {
    fn from(words: String) -> Self {
        Self::Other(words)
    }
}

/// What a page says of a drive before it does anything, with the name of the file of its experiment.
fn facts(experiment: &str, config: &Config, capacity_bytes: u64) -> Value {
    let geometry = config.device.geometry();
    json!({
        "experiment": Path::new(experiment).file_name().map_or_else(String::new, |name| visible_path(name.as_ref())),
        "mapping": config.ftl.mapping,
        "capacity_bytes": capacity_bytes,
        "page_bytes": geometry.page_bytes,
        "pages": geometry.pages,
        "blocks": geometry.total_blocks(),
        "channels": geometry.channels,
        "dies": geometry.total_dies(),
    })
}

/// Writes a file for the program that has started the session, in a folder that may have been removed meanwhile.
fn leave(path: &Path, content: &[u8]) -> Result<(), String> {
    let write = || flashloom_files::write_whole(path, content);
    let written = write().or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => own_folder(folder_of(path)).and_then(|()| write()),
        _ => Err(error),
    });
    written.map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// The drive of an experiment, on which no client has written yet.
fn new_drive(experiment: &Experiment, options: &Options) -> Result<LiveDrive, SessionError> {
    let engine = served_engine(experiment, options.aged.as_deref())?;
    LiveDrive::new(engine, options.memory.clone()).map_err(|misuse| misuse.to_string().into())
}

/// The drive of an image, or a new one: if there is none, or for its data; and the claim on its name.
fn kept_drive(path: &Path, experiment: &Experiment, options: &Options) -> Result<(LiveDrive, Claim), SessionError> {
    flashloom_run::check_kept(experiment)?;
    let claim = Claim::take(path)?;
    if options.ages_anew {
        let pages = claim.pages()?;
        let mut drive = new_drive(experiment, options)?;
        pages.put_on(&mut drive, experiment, path)?;
        return Ok((drive, claim));
    }
    let drive = match claim.image(&experiment.variants[0].config)? {
        Some(image) => image.load(experiment, options.memory.clone())?,
        None => new_drive(experiment, options)?,
    };
    Ok((drive, claim))
}

/// The file of a log, which the drive writes and the session moves to its place.
#[derive(Clone, Default)]
struct LogFile(Arc<Mutex<Option<Output>>>);

impl LogFile {
    fn commit(&self) -> io::Result<()> {
        locked(&self.0).take().map_or(Ok(()), Output::commit_durably)
    }

    /// Removes what was written.
    fn give_up(&self) {
        drop(locked(&self.0).take());
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *locked(&self.0) {
            Some(output) => output.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
