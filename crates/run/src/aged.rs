//! Aged drives that several runs use: in memory by the runs of a comparison, in a file by any run, and in the user's
//! [`Cache`](super::Cache) by all later ones.
//!
//! ```text
//! line 1   flashloom-state VERSION REVISION [REVISION]: the build that saved it, which alone reads it; the second
//!          revision is that of a program which states its own
//! line 2   what the drive was aged with, as JSON: {"settings": {KEY: VALUE, ..}, "verified": .., "aged": {..}}, and
//!          "served": true if it has served requests since and was switched off
//! line 3   SHA-256 of line 2 and of the state, in hexadecimal
//! then     the state, compressed by LZ4
//! ```
//!
//! The state of an aged drive depends only on the device, the FTL and its policies, the seed, and how it is aged: not
//! on the host, the write buffer or the workload. A run that differs in a key that ageing depends on, as its
//! declaration says ([`Ageing`](flashloom_units::Ageing)), has another drive. Verification counts too, because checks
//! follow a drive from its first page on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashloom_device::{Drive, Engine, Filled, Preconditioned};
use flashloom_files::open_input;
use flashloom_ftl::PAGE_MAPPING;
use flashloom_units::{Capability, Problem, Problems, Refusal, SlotSpec, StateError, Value, violation};
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::engines::{Build, Preparation, check_aged, expected_pages, precondition};
use super::spent::{Keys, Spent, flash_keys};
use super::{Cache, Failure};
use flashloom_config::registry::{Registry, UNKNOWN_REVISION};
use flashloom_config::{Config, Experiment, KeyId, Precondition, SECTIONS, Variant, json_value};

/// Beginning of the first line of a file; the build follows that saved it.
const MAGIC: &str = "flashloom-state ";

/// Key that says whether the drive was left idle after ageing.
const REST: &str = "run.rest";

/// Maximum length of a line of the header in bytes: several times that of one with every key.
const LINE_BYTES: u64 = 1 << 20;
/// Maximum size of a state: a part that any drive has, and one for each page, if its sectors are not followed or are.
const FIXED_BYTES: u64 = 4 << 20;
const PAGE_BYTES: u64 = 128;
const VERIFIED_PAGE_BYTES: u64 = 512;

/// What a drive that is to be saved or shared was found to be before.
const IS_AGED: &str = "a drive that is not aged is not saved";

/// Message if one of the two configurations has a key that the other does not.
const OTHER_KEYS: &str = "the drive was aged under other policies: save it again";

/// First line of the file of a drive that this build saves.
fn first_line(config: &Config) -> String {
    let Registry { revision, sources, .. } = *config.catalog().registry();
    let own = if [sources, UNKNOWN_REVISION].contains(&revision) { String::new() } else { format!(" {revision}") };
    format!("{MAGIC}{} {sources}{own}", env!("CARGO_PKG_VERSION"))
}

/// Whether the drive under the line `other` is one of the build of `own`. Programs with policies of their own and their
/// plugins need not both state a revision.
fn is_of_build(own: &str, other: &str) -> bool {
    let split = |line: &'_ str| line.splitn(4, ' ').map(str::to_owned).collect::<Vec<_>>();
    let (own, other) = (split(own), split(other));
    own[..3] == other[..other.len().min(3)] && own.get(3).zip(other.get(3)).is_none_or(|(own, other)| own == other)
}

/// The slots of the policies that take part in ageing.
fn slots() -> impl Iterator<Item = &'static SlotSpec> {
    SECTIONS.iter().filter(|section| section.is_of_drive).flat_map(|section| section.slots().map(|(_, slot)| slot))
}

/// Conditions under which a drive was aged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Every key that counts, with its value.
    settings: Map<String, Json>,
    /// True if every command and sector was checked.
    verified: bool,
}

impl Origin {
    pub(super) fn of(config: &Config, verified: bool) -> Self {
        let (is_built_in, merges) = (has_built_in_policies(config), !config.mapping_offers(PAGE_MAPPING));
        let counts = |key: &KeyId| key.ages(is_built_in, merges, config.has_slc_cache());
        let counted = config.values().filter(|(key, _)| counts(key)).map(|(key, value)| (key.path(), value));
        let mut settings: Map<_, _> =
            counted.map(|(path, value)| (path, json_value(value).unwrap_or(Json::Null))).collect();
        // What it comes to, because that may depend on the workload.
        settings.insert(REST.to_owned(), if config.rests() { "always" } else { "never" }.into());
        Self { settings, verified }
    }
}

/// The different drives that configurations age, numbered as they come.
pub(super) struct AgedDrives {
    verified: bool,
    origins: Vec<Origin>,
    /// Of the configuration before: what its drive is aged with, and more, and the drive's number.
    last: Option<(Keys, bool, usize)>,
}

impl AgedDrives {
    pub(super) fn new(verified: bool) -> Self {
        Self { verified, origins: Vec::new(), last: None }
    }

    pub(super) fn count(&self) -> usize {
        self.origins.len()
    }

    /// The number of the drive that a configuration ages: [`Self::count`] before the call for a new one.
    pub(super) fn number_of(&mut self, config: &Config) -> usize {
        // Most variants of a sweep differ in nothing that an origin has, whose text takes long.
        let (keys, rests) = (Keys::of(config, &["device", "ftl", "run"]), config.rests());
        if let Some((_, _, number)) = self.last.as_ref().filter(|last| (&last.0, last.1) == (&keys, rests)) {
            return *number;
        }
        let origin = Origin::of(config, self.verified);
        let number = self.origins.iter().position(|known| *known == origin).unwrap_or_else(|| {
            self.origins.push(origin);
            self.origins.len() - 1
        });
        self.last = Some((keys, rests, number));
        number
    }
}

/// True if all policies that take part in ageing are built in: others may depend on the device's times in unknown ways.
pub(super) fn has_built_in_policies(config: &Config) -> bool {
    let registry = Registry::builtin();
    let built_in = registry.slots();
    slots().all(|slot| {
        let chosen = config.policy(slot.key).0;
        built_in.iter().any(|(of, specs)| of.key == slot.key && specs.iter().any(|spec| std::ptr::eq(*spec, chosen)))
    })
}

/// A drive after ageing.
#[derive(Debug)]
pub struct AgedDrive {
    /// First line of its file.
    first_line: String,
    origin: Origin,
    aged: Preconditioned,
    /// Whether it has served requests since it was aged: `aged` counts what they wrote.
    served: bool,
    /// The state: all of it, or without what [`Spent`] flash rolls back itself.
    state: Vec<u8>,
    is_whole: bool,
    /// Hash on the third line of its file, for a drive that is kept in one.
    hash: Option<String>,
    /// Whether the state was loaded once, and all of its parts agreed.
    is_checked: AtomicBool,
    /// Flash of runs that have ended.
    spent: Spent,
}

/// Content of the second line of a file.
#[derive(Serialize, Deserialize)]
struct Header {
    #[serde(flatten)]
    origin: Origin,
    aged: Preconditioned,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    served: bool,
}

impl AgedDrive {
    /// Ages the drive of a configuration all of whose policies can be saved, or takes it from the cache.
    ///
    /// # Errors
    /// A policy that cannot be built, or a drive that never became steady.
    pub(super) fn age(with: Preparation<'_>) -> Result<Self, Failure> {
        Self::age_to_share(with, 0, true)
    }

    /// [`Self::age`] for a number of runs that may hand its flash on. It keeps the whole state, unless one runs at a
    /// time and all have the flash of this configuration: then the map is in memory once.
    ///
    /// # Errors
    /// The errors of [`Self::age`].
    pub(super) fn age_to_share(with: Preparation<'_>, runs: usize, is_whole: bool) -> Result<Self, Failure> {
        let Preparation { config, verify, .. } = with;
        let is_whole = is_whole || verify || runs == 0;
        // Loaded once here, because the runs that share it cannot age it anew.
        let Brought { engine, aged, drive } = bring(with, &|drive| Ok(Engine::bare(drive, 1, 0)))?;
        let aged = aged.expect(IS_AGED);
        let drive = match drive {
            Some(drive) => drive,
            None if is_whole => Self::of_engine(config, verify, &engine, aged)?,
            None => Self::saved(config, verify, (Vec::new(), aged), false),
        };
        drive.sharing(config, engine, runs, is_whole)
    }

    /// The drive, which leaves the flash of an engine in its state to the first run, if some are expected. Only then it
    /// need not keep the whole state.
    fn sharing(mut self, config: &Config, mut engine: Engine, runs: usize, is_whole: bool) -> Result<Self, Failure> {
        let keys = flash_keys(config).filter(|_| runs > 0 && !self.origin.verified);
        let Some(keys) = keys else { return Ok(self) };
        self.spent.expect(runs);
        engine.keep_for_rollback().map_err(Failure::Check)?;
        if !is_whole {
            self.state = engine.save_for_rollback().map_err(|error| Failure::Check(violation!("{error}")))?;
            self.is_whole = false;
        }
        self.spent.leave(keys, engine.into_spent_flash());
        Ok(self)
    }

    /// The drive of an engine that was aged so.
    fn of_engine(config: &Config, verify: bool, engine: &Engine, aged: Preconditioned) -> Result<Self, Failure> {
        let state = engine.save_aged().map_err(|error| Failure::Check(violation!("{error}")))?;
        Ok(Self::saved(config, verify, (state, aged), false))
    }

    fn saved(config: &Config, verify: bool, (state, aged): (Vec<u8>, Preconditioned), served: bool) -> Self {
        Self::of_state(config, Header { origin: Origin::of(config, verify), aged, served }, state)
    }

    fn of_state(config: &Config, Header { origin, aged, served }: Header, state: Vec<u8>) -> Self {
        let (first_line, is_checked, spent) = (first_line(config), AtomicBool::new(false), Spent::default());
        Self { first_line, origin, aged, served, state, is_whole: true, hash: None, is_checked, spent }
    }

    /// The drive of an engine at rest that was driven by hand, switched off. The engine is to be dropped.
    ///
    /// # Errors
    /// The obstacle, in words.
    pub fn switched_off(config: &Config, engine: &mut Engine) -> Result<Self, String> {
        let saved = engine.switch_off().map_err(|error| error.to_string())?;
        Ok(Self::saved(config, false, saved, true))
    }

    /// Conditions under which a configuration's drive is aged, as the start of the second line of a file.
    pub(super) fn origin_text(config: &Config, verify: bool) -> String {
        serde_json::to_string(&Origin::of(config, verify)).expect("settings are JSON")
    }

    /// An engine over the drive: `build` puts it under its host.
    ///
    /// # Errors
    /// An engine that cannot be built, or a state that does not fit.
    pub(super) fn engine(&self, with: Preparation<'_>, build: Build<'_>) -> Result<Engine, Failure> {
        if !self.is_whole {
            // Whoever had its flash has failed, and left none.
            return Ok(bring(with, build)?.engine);
        }
        let mut engine = build(with.drive()?)?;
        self.load(&mut engine).map_err(unfit)?;
        Ok(engine)
    }

    /// [`Self::engine`] for a run that leaves its flash to the next ([`Self::leave`]) and takes what another has left.
    ///
    /// # Errors
    /// The errors of [`Self::engine`].
    pub(super) fn engine_to_leave(&self, with: Preparation<'_>, build: Build<'_>) -> Result<Engine, Failure> {
        let keys = if with.verify { None } else { flash_keys(with.config) };
        if let Some(flash) = self.spent.take(keys.as_ref()) {
            let mut engine = build(Drive::over(&with.config.drive_setup(with.verify), flash)?)?;
            engine.roll_back(&self.state, self.aged).map_err(unfit)?;
            return Ok(engine);
        }
        let mut engine = self.engine(with, build)?;
        if keys.is_some() && self.spent.is_expecting() {
            engine.keep_for_rollback().map_err(Failure::Check)?;
        }
        Ok(engine)
    }

    /// Leaves the flash of an engine of [`Self::engine_to_leave`] to the next run with the same flash.
    pub(super) fn leave(&self, config: &Config, verify: bool, engine: Engine) {
        if !verify
            && self.spent.is_expecting()
            && let Some(keys) = flash_keys(config)
        {
            self.spent.leave(keys, engine.into_spent_flash());
        }
    }

    fn load(&self, engine: &mut Engine) -> Result<(), StateError> {
        if self.is_checked.load(Ordering::Relaxed) {
            return engine.load_aged_again(&self.state, self.aged);
        }
        engine.load_aged(&self.state, self.aged)?;
        self.is_checked.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Hash of a drive that is kept in a file.
    pub(super) fn hash(&self) -> Option<&str> {
        self.hash.as_deref()
    }

    /// Encodes the drive as a file.
    ///
    /// # Errors
    /// A failed compression, for want of memory.
    pub fn to_file(&self) -> Result<Vec<u8>, String> {
        let header = self.header();
        let hash = hash_of(header.as_bytes(), &self.state);
        let file = format!("{}\n{header}\n{hash}\n", self.first_line).into_bytes();
        let mut encoder = FrameEncoder::new(file);
        encoder.write_all(&self.state).map_err(|error| error.to_string())?;
        encoder.finish().map_err(|error| error.to_string())
    }

    /// Second line of a file.
    fn header(&self) -> String {
        let header = Header { origin: self.origin.clone(), aged: self.aged, served: self.served };
        serde_json::to_string(&header).expect("settings are JSON")
    }

    /// Reads the drive of a configuration from a file of the user.
    ///
    /// # Errors
    /// The file holds no drive, or another one.
    pub(super) fn read(path: &str, config: &Config) -> Result<Self, Refusal> {
        let named = |refusal: Refusal| Refusal { found: format!("{path}: {}", refusal.found), ..refusal };
        let file = open_input(Path::new(path)).map_err(|reason| named(unread(reason.to_string())))?;
        let opened = Opened::open(file, config).map_err(named)?;
        check_fit(&opened.header.origin, config, path)?;
        opened.state(config).map_err(named)
    }

    /// Reads the drive of a configuration from bytes of the file at `path`. They may come from anybody.
    ///
    /// # Errors
    /// They hold no drive, or another one.
    pub fn of_bytes(bytes: &[u8], config: &Config, path: &str) -> Result<Self, Refusal> {
        let opened = Opened::open(Cursor::new(bytes), config)?;
        check_fit(&opened.header.origin, config, path)?;
        opened.state(config)
    }

    /// Most bytes that [`Self::to_file`] returns for a drive of this configuration.
    pub fn most_bytes(config: &Config) -> u64 {
        // What cannot be compressed grows by less than a hundredth.
        let state_bytes = state_limit_bytes(config, false);
        3 * LINE_BYTES + state_bytes + state_bytes / 64
    }

    /// Reads the drive of a configuration from a file of the cache, as if the run had aged it itself. An error says in
    /// words why it cannot.
    pub(super) fn of_cache(file: File, config: &Config, verify: bool) -> Result<Self, String> {
        let opened = Opened::open(file, config).map_err(|refusal| refusal.found)?;
        if opened.header.origin != Origin::of(config, verify) || opened.header.served {
            return Err("it holds another drive".to_owned());
        }
        opened.state(config).map(|drive| Self { hash: None, ..drive }).map_err(|refusal| refusal.found)
    }

    /// True if it is the aged drive of an unverified run with this configuration.
    pub fn is_of(&self, config: &Config) -> bool {
        self.origin == Origin::of(config, false)
    }

    /// Refusal if the run is verified and the drive was not, or the reverse.
    pub(super) fn unlike(&self, verify: bool) -> Option<Refusal> {
        let said = |verified| if verified { "with --verify" } else { "without --verify" };
        let (found, expected) = (format!("a drive that was aged {}", said(!verify)), format!("one {}", said(verify)));
        let help = format!("run it {}, or save the drive of a run {}", said(!verify), said(verify));
        (self.origin.verified != verify).then(|| Refusal::new(found, expected).at(["run.state"]).help(help))
    }
}

/// A file whose first lines were read.
struct Opened<F> {
    header: Header,
    /// The second and the third line.
    lines: [Vec<u8>; 2],
    rest: BufReader<F>,
}

impl<F: Read + Seek> Opened<F> {
    fn open(file: F, config: &Config) -> Result<Self, Refusal> {
        let mut rest = BufReader::new(file);
        let mut line = || {
            let mut line = Vec::new();
            let read = (&mut rest).take(LINE_BYTES).read_until(b'\n', &mut line);
            read.map_err(|error| unread(format!("the file cannot be read: {error}")))?;
            Ok(line.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(line))
        };
        let (first, own) = (line()?, first_line(config));
        if !is_of_build(&own, &String::from_utf8_lossy(&first)) {
            let of_build = |build: &[u8]| format!("a drive of another build: {}", build.escape_ascii());
            let build = first.strip_prefix(MAGIC.as_bytes()).filter(|build| build.len() < 100);
            let refusal = unread(build.map_or("no saved drive".to_owned(), of_build));
            return Err(refusal.help(format!("this build is {}; save the drive again", &own[MAGIC.len()..])));
        }
        let lines = [line()?, line()?];
        let header = serde_json::from_slice(&lines[0])
            .map_err(|_| unread("the drive is damaged: its second line does not say how it was aged".to_owned()))?;
        Ok(Self { header, lines, rest })
    }

    /// Reads the state of a drive of that configuration, because a few bytes can be many once they are decompressed:
    /// first only to count and to hash it, without memory, as far as such a drive's can go.
    fn state(self, config: &Config) -> Result<AgedDrive, Refusal> {
        let Self { header, lines: [line, hash], mut rest } = self;
        // What the decompressor says is of its own making.
        let damaged = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => unread("the state is cut off".to_owned()),
            io::ErrorKind::InvalidData | io::ErrorKind::Other => {
                unread("the state is damaged: what is compressed cannot be read".to_owned())
            }
            _ => unread(format!("the state cannot be read: {error}")),
        };
        let limit = state_limit_bytes(config, header.origin.verified);
        let start = rest.stream_position().map_err(damaged)?;
        let mut sha256 = Sha256::new().chain_update(&line);
        let length = io::copy(&mut FrameDecoder::new(&mut rest).take(limit + 1), &mut sha256).map_err(damaged)?;
        if length > limit {
            let found = format!("the state is damaged: it is longer than {limit} bytes, as that of no such drive is");
            return Err(unread(found));
        }
        let sha256 = format!("{:x}", sha256.finalize());
        if hash != sha256.as_bytes() {
            return Err(unread("the drive is damaged: its hash is another".to_owned()));
        }
        let no_drive = |found| unread(format!("the drive is damaged: none is aged with {found}"));
        if !header.served {
            check_aged(config, &header.aged).map_err(no_drive)?;
        }
        rest.seek(SeekFrom::Start(start)).map_err(damaged)?;
        let mut state = Vec::with_capacity(length as usize);
        FrameDecoder::new(&mut rest).take(length).read_to_end(&mut state).map_err(damaged)?;
        Ok(AgedDrive { hash: Some(sha256), ..AgedDrive::of_state(config, header, state) })
    }
}

/// Failure to load a state.
fn unfit(error: StateError) -> Failure {
    let refusal = Refusal::new(error.to_string(), "a drive that the configuration builds");
    Failure::Refused(refusal.at(["run.state"]))
}

/// Refusal of a file that holds no drive.
fn unread(found: String) -> Refusal {
    Refusal::new(found, "a drive that `flashloom run --save-state` wrote").at(["run.state"])
}

/// Maximum size in bytes of the state of a configuration's drive: several times what any mapping needs.
fn state_limit_bytes(config: &Config, verified: bool) -> u64 {
    let per_page = if verified { VERIFIED_PAGE_BYTES } else { PAGE_BYTES };
    FIXED_BYTES.saturating_add(config.device.geometry().total_pages().saturating_mul(per_page))
}

/// Refuses a configuration with another key than the one that a drive was aged with, by its name.
fn check_fit(origin: &Origin, config: &Config, path: &str) -> Result<(), Refusal> {
    let wanted = Origin::of(config, origin.verified);
    // Some keys are left out where they have their defaults.
    let default = |key: &str| config.left_out(key).map(|value| json_value(value).unwrap_or(Json::Null));
    let value = |of: &Origin, key: &str| of.settings.get(key).cloned().or_else(|| default(key));
    let shown = |of: &Origin, key: &str| match value(of, key) {
        None => "nothing".to_owned(),
        Some(Json::Null) => Value::Absent.show(),
        Some(value) => value.to_string(),
    };
    let keys = || wanted.settings.keys().chain(origin.settings.keys());
    let differs = |key: &&String| wanted.settings.get(*key) != origin.settings.get(*key);
    // A policy decides which keys there are, so that the one of the policy says more than those.
    let is_of_both = |key: &&String| wanted.settings.contains_key(*key) && origin.settings.contains_key(*key);
    let Some(key) = keys().filter(differs).find(is_of_both).or_else(|| keys().find(differs)) else { return Ok(()) };
    let (found, aged) = (shown(&wanted, key), shown(origin, key));
    let expected = format!("{aged}, as the drive in {path} was aged with");
    let refusal = Refusal::new(format!("`{key}` = {found}"), expected).at([key.as_str(), "run.state"]);
    let is_known = [&wanted, origin].iter().all(|of| value(of, key).is_some());
    let help = if is_known { format!("set {key} to that, or leave run.state out") } else { OTHER_KEYS.to_owned() };
    Err(refusal.help(help))
}

/// A new engine in the state after ageing.
pub(super) struct Brought {
    pub(super) engine: Engine,
    /// How its drive was aged; `None` if it is new.
    aged: Option<Preconditioned>,
    /// The drive that the cache has.
    drive: Option<AgedDrive>,
}

/// A new engine in the state after ageing: its drive is from the cache, or it is aged and then stored in the cache.
///
/// # Errors
/// An engine that cannot be built, or a drive that never became steady.
pub(super) fn bring(with: Preparation<'_>, build: Build<'_>) -> Result<Brought, Failure> {
    let Preparation { config, verify, .. } = with;
    let place = with.aged.cache.and_then(|cache| Some((cache, cache.place(config, verify)?)));
    if let Some((cache, path)) = &place
        && let Some((drive, engine)) = taken(with, cache, path, build)?
    {
        with.progress.ageing_ended(0, expected_pages(config));
        return Ok(Brought { engine, aged: Some(drive.aged), drive: Some(drive) });
    }
    let mut engine = build(with.drive()?)?;
    if let Some((cache, _)) = &place {
        cache.tell_of_ageing(config);
    }
    let aged = precondition(with, &mut engine)?;
    let Some((cache, path)) = place.filter(|_| is_worth_keeping(config, &engine)) else {
        return Ok(Brought { engine, aged, drive: None });
    };
    let drive = AgedDrive::of_engine(config, verify, &engine, aged.expect(IS_AGED))?;
    cache.keep(&path, &drive);
    Ok(Brought { engine, aged, drive: Some(drive) })
}

/// Whether ageing the drive of an engine took longer than reading it from a file: overwrites, or a fill page by page.
fn is_worth_keeping(config: &Config, engine: &Engine) -> bool {
    config.run.precondition == Precondition::Steady || engine.filled() == Some(Filled::PageByPage)
}

/// The drive that the cache has for a configuration, and an engine that it was loaded into. One that cannot be loaded
/// is removed from the cache, with the engine that part of it was loaded into.
fn taken(
    with: Preparation<'_>,
    cache: &Cache,
    path: &Path,
    build: Build<'_>,
) -> Result<Option<(AgedDrive, Engine)>, Failure> {
    let Some(drive) = cache.take(path, with.config, with.verify) else { return Ok(None) };
    let mut engine = build(with.drive()?)?;
    match drive.load(&mut engine) {
        Ok(()) => {
            cache.tell_of_use(path);
            Ok(Some((drive, engine)))
        }
        Err(error) => {
            cache.refuse(path, error.to_string());
            Ok(None)
        }
    }
}

/// SHA-256 of two texts, one after the other, in hexadecimal.
pub(super) fn hash_of(header: &[u8], state: &[u8]) -> String {
    format!("{:x}", Sha256::new().chain_update(header).chain_update(state).finalize())
}

/// Refuses to save a drive that is not aged, or a policy whose state cannot be saved, before anything runs.
///
/// # Errors
/// The obstacle, with the key that causes it.
pub(super) fn check_saving(experiment: &Experiment, config: &Config) -> Result<(), Problem> {
    let (key, found, expected) = if config.run.state.is_some() {
        ("run.state", "a drive that a file holds already", "a drive that the run ages itself")
    } else if config.run.precondition == Precondition::None {
        ("run.precondition", "a drive that is not aged", "`precondition` = \"fill\" or \"steady\" in [run]")
    } else {
        return check_policies(experiment, config);
    };
    Err(experiment.problem(config, Refusal::new(format!("{found}, to be saved"), expected).at([key])))
}

/// Refuses a policy of the drive whose state cannot be saved.
///
/// # Errors
/// The first of them.
pub(super) fn check_policies(experiment: &Experiment, config: &Config) -> Result<(), Problem> {
    let Some(key) = unsaved_policy(config) else { return Ok(()) };
    let found = format!("`{key}` = \"{}\", whose state cannot be saved", config.policy(key).0.name);
    Err(experiment.problem(config, Refusal::new(found, Capability::SAVED_STATE.in_words()).at([key])))
}

/// Key of a policy of the drive whose state cannot be saved, if there is one.
pub(super) fn unsaved_policy(config: &Config) -> Option<&'static str> {
    slots().map(|slot| slot.key).find(|key| !config.policy(key).0.offers.contains(&Capability::SAVED_STATE))
}

/// Reads the drives that variants name (`run.state`), each file once.
///
/// # Errors
/// Files that hold no drive, or not the one that the configuration describes.
pub(super) fn read_all(experiment: &Experiment) -> Result<Vec<Option<Arc<AgedDrive>>>, Problems> {
    let mut files: BTreeMap<String, Result<Arc<AgedDrive>, Refusal>> = BTreeMap::new();
    let mut read = |config: &Config, path: &str| {
        let path = experiment.located(config, "run.state", path).to_string_lossy().into_owned();
        let drive =
            files.entry(path.clone()).or_insert_with(|| AgedDrive::read(&path, config).map(Arc::new)).clone()?;
        check_fit(&drive.origin, config, &path)?;
        // A single run hands nothing on.
        drive.spent.expect(usize::from(experiment.variants.len() > 1));
        Ok(drive)
    };
    let (mut drives, mut problems) = (Vec::new(), Problems::default());
    for Variant { config, .. } in &experiment.variants {
        match config.run.state.as_deref().map(|path| read(config, path)).transpose() {
            Ok(drive) => drives.push(drive),
            Err(refusal) => problems.add(experiment.problem(config, refusal)),
        }
    }
    problems.or(drives)
}

/// The aged drive of a configuration, to be saved to a file.
///
/// # Errors
/// The errors of ageing it.
pub(super) fn to_be_saved(with: Preparation<'_>) -> Result<AgedDrive, Failure> {
    let mut drive = AgedDrive::age(with)?;
    drive.hash = Some(hash_of(drive.header().as_bytes(), &drive.state));
    Ok(drive)
}

/// Approximate number of pages needed to age the drives of these variants; a drive shared by several counts once.
pub(super) fn pages_to_age<'a>(
    experiment: &Experiment,
    verify: bool,
    variants: impl Iterator<Item = &'a Variant>,
) -> u64 {
    let mut drives = AgedDrives::new(verify);
    let mut pages = 0;
    for Variant { config, .. } in variants.filter(|variant| variant.config.run.state.is_none()) {
        let known = drives.count();
        if check_saving(experiment, config).is_err() || drives.number_of(config) == known {
            pages += expected_pages(config);
        }
    }
    pages
}

#[cfg(test)]
mod tests;
