//! A checked job: the meaning of the options of a section.

use std::ops::Range;
use std::sync::Arc;

use flashloom_units::{Ns, Refusal, S, US};

use crate::{Priority, PriorityClass};

use super::job_file::{Entry, Findings, MAX_JOBS, Section, at_most};
use super::law::{Distribution, Zone};
use super::priority::{CommandPriority, Commands, class, level};
use super::report::FioPercentiles;
use super::value::{Expected, flag, integer, integer_within, names, percent, real, sectors, split, time, triple};
use super::{DIRECTIONS, READ, TRIM, WRITE};

/// Directions of a job's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mix {
    /// One direction alone.
    Only(usize),
    /// Reads and writes.
    ReadWrite,
    /// Each block is discarded, then written.
    TrimWrite,
}

/// Request sizes of a job, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sizes {
    /// Any multiple of the minimum up to the maximum, and the maximum.
    Range { min: u64, max: u64 },
    /// Sizes, each with its share in per cent.
    Split(Vec<(u64, f64)>),
}

impl Sizes {
    /// The smallest size.
    pub fn min(&self) -> u64 {
        match self {
            Sizes::Range { min, .. } => *min,
            Sizes::Split(parts) => parts.iter().map(|(size, _)| *size).min().expect("a split has a part"),
        }
    }

    /// The largest size.
    pub fn max(&self) -> u64 {
        match self {
            Sizes::Range { max, .. } => *max,
            Sizes::Split(parts) => parts.iter().map(|(size, _)| *size).max().expect("a split has a part"),
        }
    }
}

/// Rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    /// Bytes per second.
    Bytes(u64),
    /// Requests per second.
    Requests(u64),
}

/// An amount in bytes, or as a share of the file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Bytes(u64),
    Percent(u32),
}

impl Amount {
    /// The amount in bytes, where `whole` is the size of the file or device.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (u128::from(whole) * u128::from(percent) / 100) as u64,
        }
    }
}

/// Order in which a job goes through its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// One after another, each for a number of requests.
    RoundRobin(u64),
    /// Any, each for a number of requests.
    Random(u64),
    /// Each to its end.
    Sequential,
}

/// Iologs to replay.
#[derive(Clone, Debug)]
pub(super) struct Iolog {
    /// Clone n replays the file n modulo their number.
    pub paths: Vec<String>,
    /// The file that all requests go to, whatever file the iolog names.
    pub redirect: Option<String>,
    /// Per cent of the recorded speed; `None` to replay as fast as possible.
    pub time_scale: Option<u64>,
}

/// A job, with the options of its section and of the `[global]` sections above it.
#[derive(Clone, Debug)]
pub(super) struct FioJob {
    pub name: Arc<str>,
    pub section: Arc<Section>,
    pub mix: Mix,
    pub random: bool,
    /// Requests issued at consecutive positions before a new random position is drawn.
    pub run_length: u64,
    /// Bytes added to every position after the first of a sequential job.
    pub skip: i64,
    /// All requests of a run go to one position.
    pub identical: bool,
    pub sizes: [Sizes; DIRECTIONS],
    pub align: [u64; DIRECTIONS],
    pub read_percent: u32,
    pub size: Option<Amount>,
    pub io_size: Option<Amount>,
    pub offset: Amount,
    pub offset_increment: Amount,
    pub offset_align: Option<u64>,
    /// The files that several jobs may share; empty if every clone has its own.
    pub files: Vec<String>,
    /// Number of files that a clone has of its own.
    pub own_files: u32,
    pub service: Service,
    /// True if the engine queues requests.
    pub is_async: bool,
    pub depth: u32,
    pub clones: u32,
    pub loops: u64,
    pub runtime_ns: Option<Ns>,
    pub time_based: bool,
    pub number_ios: u64,
    pub start_delay_ns: (Ns, Ns),
    pub think_ns: Ns,
    pub think_blocks: u64,
    pub rate: [Option<Rate>; DIRECTIONS],
    pub distribution: [Distribution; DIRECTIONS],
    pub random_percent: [u32; DIRECTIONS],
    pub without_map: bool,
    /// True if every pass draws the same numbers as the first.
    pub repeats: bool,
    pub seed: Option<u64>,
    pub flush_every: [u64; 2],
    pub flush_at_end: bool,
    pub durable: bool,
    /// Priority of the job's process.
    pub priority: Priority,
    /// Priorities that some requests have instead.
    pub commands: Commands,
    pub percentiles: Arc<FioPercentiles>,
    pub iolog: Option<Iolog>,
    pub stonewall: bool,
    pub new_group: bool,
    pub reports_as_group: bool,
    /// The options of the section itself, as written.
    pub written: Arc<[(String, String)]>,
}

const SYNC_ENGINES: &[&str] = &["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];
const ASYNC_ENGINES: &[&str] = &["libaio", "io_uring", "posixaio", "windowsaio", "solarisaio"];

/// Engines that give single requests a priority.
const COMMAND_ENGINES: &[&str] = &["libaio", "io_uring"];

/// Number of zones that fio takes at most (`ZONESPLIT_MAX` of its source).
const MAX_ZONES: usize = 256;

/// Number of files of all clones at most: the positions in each take some hundred bytes, and with zones some thousand.
const MOST_FILES: u64 = 1 << 15;

impl FioJob {
    /// True if its requests depend on the run's seed.
    pub fn draws(&self) -> bool {
        let is_mixed = self.mix == Mix::ReadWrite && (1..100).contains(&self.read_percent);
        let of_files = matches!(self.service, Service::Random(_)) && self.files_of_clone() > 1;
        let has = |direction: usize| self.iolog.is_some() || self.has(direction);
        let of_priorities = [READ, WRITE].iter().any(|&direction| has(direction) && self.commands.draws(direction));
        let draws = self.random
            || is_mixed
            || of_files
            || of_priorities
            || (0..DIRECTIONS).any(|at| self.has(at) && self.sizes[at].min() < self.sizes[at].max());
        let draws = (draws && self.iolog.is_none()) || of_priorities;
        self.seed.is_none() && (draws || (self.iolog.is_none() && self.start_delay_ns.0 < self.start_delay_ns.1))
    }

    /// Number of requests of a clone at most, as far as its options tell.
    pub fn most_requests_of_clone(&self) -> u64 {
        let of_size = match self.io_size.or(self.size) {
            Some(Amount::Bytes(bytes)) if !self.time_based && self.iolog.is_none() => {
                (bytes / self.least_bytes()).saturating_add(1).saturating_mul(self.loops)
            }
            _ => u64::MAX,
        };
        if self.mix == Mix::TrimWrite { of_size.saturating_mul(2) } else { of_size.min(self.most_requests()) }
    }

    /// The smallest size of all directions, whether the job has requests of them or not, as fio has it in its sums.
    pub fn least_bytes(&self) -> u64 {
        self.sizes.iter().map(Sizes::min).min().expect("there are three directions")
    }

    /// True if its requests are counted in a random map. fio has none with another `ba` or another distribution.
    pub fn has_map(&self) -> bool {
        self.random && !self.without_map && self.iolog.is_none()
    }

    /// True if no pass repeats the positions of another: those of these distributions have a state of their own.
    pub fn draws_on(&self) -> bool {
        self.distribution.iter().any(|law| !matches!(law, Distribution::Uniform | Distribution::Zoned(_)))
    }

    /// True if its requests have priorities.
    pub fn has_priorities(&self) -> bool {
        let of_requests = [READ, WRITE].iter().any(|&direction| self.commands.of(direction).next().is_some());
        self.priority != Priority::default() || of_requests
    }

    /// True if every pass writes the same blocks in the same random order, as fio does with `randrepeat`, and there
    /// are several: a job without a map has them with an engine that queues requests.
    pub fn repeats_its_order(&self) -> bool {
        let has_passes = match (self.size, self.io_size) {
            (Some(Amount::Bytes(size)), Some(Amount::Bytes(io_size))) => {
                let pass = if self.has_map() { size } else { size.max(io_size) };
                io_size.saturating_mul(self.loops) > pass
            }
            _ => self.loops > 1,
        };
        let is_repeated = self.repeats && !self.draws_on() && (self.has_map() || self.is_async);
        self.random && self.has(WRITE) && is_repeated && has_passes && !self.time_based && self.iolog.is_none()
    }

    /// `number_ios` times `loops`, counted over all loops; no limit if the job ends by time.
    pub fn most_requests(&self) -> u64 {
        if self.time_based { u64::MAX } else { self.number_ios.saturating_mul(self.loops) }
    }

    /// True if `end_fsync` is set and the job can write, as one that replays an iolog always can; fio ignores it in
    /// others.
    pub fn flushes_at_end(&self) -> bool {
        self.flush_at_end && (self.iolog.is_some() || self.has(WRITE))
    }

    /// A job without options.
    fn new() -> Self {
        let sizes = Sizes::Range { min: 4_096, max: 4_096 };
        Self {
            name: Arc::default(),
            section: Arc::default(),
            mix: Mix::Only(READ),
            random: false,
            run_length: 1,
            skip: 0,
            identical: false,
            sizes: [sizes.clone(), sizes.clone(), sizes],
            align: [0; DIRECTIONS],
            read_percent: 50,
            size: None,
            io_size: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            offset_align: None,
            files: Vec::new(),
            own_files: 1,
            service: Service::RoundRobin(1),
            is_async: false,
            depth: 1,
            clones: 1,
            loops: 1,
            runtime_ns: None,
            time_based: false,
            number_ios: u64::MAX,
            start_delay_ns: (0, 0),
            think_ns: 0,
            think_blocks: 1,
            rate: [None; DIRECTIONS],
            distribution: [Distribution::Uniform, Distribution::Uniform, Distribution::Uniform],
            random_percent: [100; DIRECTIONS],
            without_map: false,
            repeats: true,
            seed: None,
            flush_every: [0; 2],
            flush_at_end: false,
            durable: false,
            priority: Priority::default(),
            commands: Commands::default(),
            percentiles: Arc::default(),
            iolog: None,
            stonewall: false,
            new_group: false,
            reports_as_group: false,
            written: Arc::default(),
        }
    }

    /// Where a problem of the job is told: at the first of the named options that it has, or at its name.
    pub fn place(&self, names: &[&str]) -> Range<usize> {
        self.section.place(names)
    }

    /// Adds a problem of the job, told at the first of the named options that it has.
    pub fn refuse(
        &self,
        findings: &mut Findings,
        names: &[&str],
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        findings.refuse(self.place(names), || Refusal::new(found, expected));
    }

    /// Reads sections; every problem is added to `findings`. An option of `[global]` is read once, for all jobs below.
    pub fn read_all(sections: Vec<Section>, findings: &mut Findings) -> Vec<Self> {
        let (mut jobs, mut clones, mut files) = (Vec::with_capacity(sections.len()), 0, 0);
        let (mut above, mut reader, mut read) = (Self::new(), Reader::new(), 0);
        for section in sections {
            above.read(&mut reader, &section.globals()[read..], findings);
            read = section.globals().len();
            let (mut job, mut reader) = (above.clone(), reader.clone());
            job.name = section.name.as_str().into();
            job.read(&mut reader, &section.entries, findings);
            job.written = section.entries.iter().map(Entry::written).collect();
            job.section = Arc::new(section);
            job.check_options(&reader, findings);
            job.complete(reader);
            job.check(findings);
            clones += job.clones;
            if clones > MAX_JOBS {
                job.refuse(findings, &["numjobs"], format!("{clones} jobs so far"), at_most());
                break;
            }
            files += u64::from(job.clones) * job.files_of_clone();
            if files > MOST_FILES {
                let found = format!("{files} files of all clones so far");
                let expected = format!("at most {MOST_FILES}: fewer clones, or fewer files for each");
                job.refuse(findings, &["nrfiles", "filename", "numjobs"], found, expected);
                break;
            }
            jobs.push(job);
        }
        jobs
    }

    /// Sets options in the order in which they were written.
    fn read(&mut self, reader: &mut Reader, entries: &[Entry], findings: &mut Findings) {
        // As in fio, names count after all other options of a section.
        let is_name = |entry: &&Entry| entry.spec.name == "filename";
        for entry in entries.iter().filter(|entry| !is_name(entry)).chain(entries.iter().filter(is_name)) {
            if let Err(expected) = self.set(reader, entry.spec.name, &entry.value) {
                let found = || format!("`{}` is not a value of `{}`", entry.value, entry.spec.name);
                findings.refuse(entry.span.clone(), || Refusal::new(found(), expected));
            }
        }
    }

    fn set(&mut self, reader: &mut Reader, name: &str, value: &str) -> Result<(), Expected> {
        let count = |min: u64, max: u64| integer_within(value, min, max);
        match name {
            "rw" => self.set_rw(value)?,
            "rwmixread" => self.read_percent = percent(value)?,
            "rwmixwrite" => self.read_percent = 100 - percent(value)?,
            "rw_sequencer" => self.identical = one_of(value, &["sequential", "identical"])? == 1,
            "bs" => {
                triple(value, &mut self.sizes, |part| sectors(part).map(|size| Sizes::Range { min: size, max: size }))?
            }
            "ba" => triple(value, &mut self.align, sectors)?,
            "bsrange" => triple(value, &mut self.sizes, range)?,
            "bssplit" => triple(value, &mut self.sizes, |part| split(part, sectors).map(Sizes::Split))?,
            "size" => self.size = if value == "100%" { None } else { Some(amount(value, 1)?) },
            "io_size" => self.io_size = Some(amount(value, 1)?),
            "offset" => self.offset = amount(value, 0)?,
            "offset_increment" => self.offset_increment = amount(value, 0)?,
            "offset_align" => self.offset_align = if value == "0" { None } else { Some(sectors(value)?) },
            "filename" => {
                let names = names(value)?;
                // Files of another `filename`, as of `[global]`, remain.
                reader.used = if reader.filenames.is_empty() { 0 } else { reader.used } + names.len() as u64;
                reader.filenames.extend(names);
            }
            "nrfiles" => {
                self.own_files = count(1, MOST_FILES)? as u32;
                reader.used = self.own_files.into();
            }
            "openfiles" => reader.open_files = count(0, MOST_FILES)?,
            "file_service_type" => self.service = service(value)?,
            "directory" => reader.directories = names(value)?,
            "ioengine" => (reader.is_async, reader.engine) = (engine(value)?, value.to_owned()),
            "iodepth" => reader.depth = count(1, 65_536)? as u32,
            "numjobs" => self.clones = count(1, u64::from(MAX_JOBS))? as u32,
            "loops" => self.loops = count(1, 1 << 32)?,
            "number_ios" => self.number_ios = count(1, u64::MAX)?,
            "thinktime_blocks" => self.think_blocks = count(1, 1 << 32)?,
            "randseed" => self.seed = Some(count(0, u64::MAX)?),
            "fsync" => self.flush_every[0] = count(0, 1 << 32)?,
            "fdatasync" => self.flush_every[1] = count(0, 1 << 32)?,
            "replay_time_scale" => reader.time_scale = count(1, 10_000)?,
            "read_iolog" => reader.iologs = names(value)?,
            "replay_redirect" => reader.redirect = Some(value.to_owned()),
            "runtime" => self.runtime_ns = Some(time(value, S)?).filter(|runtime| *runtime > 0),
            "thinktime" => self.think_ns = time(value, US)?,
            "startdelay" => self.start_delay_ns = delay(value)?,
            "rate" => triple(value, &mut reader.rate_bytes, integer)?,
            "rate_iops" => triple(value, &mut reader.rate_requests, integer)?,
            "random_distribution" => self.set_distribution(value)?,
            "percentage_random" => triple(value, &mut self.random_percent, percent)?,
            "prio" => reader.level = Some(level(value)?),
            "prioclass" => reader.class = Some(class(value)?),
            "cmdprio_percentage" => reader.command.set_percent(value)?,
            "cmdprio_class" => reader.command.set_class(value)?,
            "cmdprio" => reader.command.set_level(value)?,
            "cmdprio_bssplit" => reader.command.set_split(value)?,
            "percentile_list" => Arc::make_mut(&mut self.percentiles).set_list(value)?,
            "clat_percentiles" => Arc::make_mut(&mut self.percentiles).of_completion = flag(value)?,
            "lat_percentiles" => Arc::make_mut(&mut self.percentiles).of_all = flag(value)?,
            "sync" => self.durable = one_of(value, &["0", "none", "1", "sync", "dsync"])? > 1,
            "time_based" => self.time_based = flag(value)?,
            "norandommap" => self.without_map = flag(value)?,
            "randrepeat" => self.repeats = flag(value)?,
            "end_fsync" => self.flush_at_end = flag(value)?,
            "replay_no_stall" => reader.no_stall = flag(value)?,
            "stonewall" => self.stonewall = flag(value)?,
            "new_group" => self.new_group = flag(value)?,
            "group_reporting" => self.reports_as_group = flag(value)?,
            _ => {}
        }
        Ok(())
    }

    fn set_rw(&mut self, value: &str) -> Result<(), Expected> {
        let (kind, modifier) = value.split_once(':').unwrap_or((value, ""));
        let behind_rand = kind.strip_prefix("rand");
        let mix = match behind_rand.unwrap_or(kind) {
            "read" => Mix::Only(READ),
            "write" => Mix::Only(WRITE),
            "trim" => Mix::Only(TRIM),
            "rw" => Mix::ReadWrite,
            "readwrite" if behind_rand.is_none() => Mix::ReadWrite,
            "trimwrite" => Mix::TrimWrite,
            _ => {
                let names = "read, write, trim, rw, randread, randwrite, randtrim, randrw, trimwrite, randtrimwrite";
                return Err(format!("one of {names}"));
            }
        };
        (self.mix, self.random) = (mix, behind_rand.is_some());
        (self.run_length, self.skip) = (1, 0);
        if modifier.is_empty() {
            return Ok(());
        }
        if self.random {
            self.run_length = integer_within(modifier, 1, 1 << 32)?;
            return Ok(());
        }
        let (sign, digits) = modifier.strip_prefix('-').map_or((1, modifier), |digits| (-1, digits));
        let skip = sectors(digits).map_err(|expected| format!("an offset that is {expected}"))?;
        self.skip = sign * skip as i64;
        Ok(())
    }

    fn set_distribution(&mut self, value: &str) -> Result<(), Expected> {
        if let Some(zones) = value.strip_prefix("zoned:") {
            return triple(zones, &mut self.distribution, |part| {
                zoned(part, |zone| if zone.is_empty() { Ok(None) } else { percent(zone).map(Zone::Percent).map(Some) })
            });
        }
        if let Some(zones) = value.strip_prefix("zoned_abs:") {
            return triple(zones, &mut self.distribution, |part| {
                zoned(part, |zone| integer(zone).map(Zone::Bytes).map(Some))
            });
        }
        self.distribution.fill(distribution(value)?);
        Ok(())
    }

    /// Sets the fields that depend on several options.
    fn complete(&mut self, reader: Reader) {
        self.is_async = reader.is_async;
        self.depth = if reader.is_async { reader.depth } else { 1 };
        // As in fio, another seed for each run is also another one for each pass.
        self.repeats &= self.seed.is_none();
        let in_folder = |name: String| match reader.directories.first() {
            Some(directory) if !name.starts_with('/') => format!("{directory}/{name}"),
            _ => name,
        };
        self.files = reader.filenames.into_iter().take(reader.used as usize).map(in_folder).collect();
        for (at, rate) in self.rate.iter_mut().enumerate() {
            let (bytes, requests) = (reader.rate_bytes[at], reader.rate_requests[at]);
            *rate = (bytes > 0).then_some(Rate::Bytes(bytes)).or((requests > 0).then_some(Rate::Requests(requests)));
        }
        self.priority = process_priority(reader.class, reader.level);
        self.commands = reader.command.priorities();
        for (align, sizes) in self.align.iter_mut().zip(&self.sizes) {
            if *align == 0 || !self.random {
                *align = sizes.min();
            }
            self.without_map |= *align != sizes.min();
        }
        self.without_map |= self.distribution.iter().any(|law| *law != Distribution::Uniform);
        let time_scale = (!reader.no_stall).then_some(reader.time_scale);
        let (paths, redirect) = (reader.iologs, reader.redirect);
        self.iolog = (!paths.is_empty()).then_some(Iolog { paths, redirect, time_scale });
    }

    /// Refuses combinations of options that fio refuses, or that the job could not follow.
    fn check_options(&self, reader: &Reader, findings: &mut Findings) {
        const OF_COMMANDS: &[&str] = &["cmdprio_percentage", "cmdprio_bssplit", "cmdprio_class", "cmdprio"];
        if let Some(name) = OF_COMMANDS.iter().find(|name| self.section.entry(name).is_some())
            && !COMMAND_ENGINES.contains(&&*reader.engine)
        {
            let found = format!("`{name}` with the engine `{}`, which does not have it", reader.engine);
            self.refuse(findings, &[name], found, format!("`ioengine` = {}", COMMAND_ENGINES.join(" or ")));
        }
        if reader.command.is_ambiguous() {
            let found = "`cmdprio_percentage` and `cmdprio_bssplit`, which exclude each other";
            self.refuse(findings, &["cmdprio_bssplit"], found, "one of them, as fio takes them");
        }
        if reader.rate_bytes.iter().any(|rate| *rate > 0) && reader.rate_requests.iter().any(|rate| *rate > 0) {
            let found = "`rate` and `rate_iops`, which exclude each other";
            self.refuse(findings, &["rate_iops"], found, "one of them, as in fio");
        }
        let files = if reader.filenames.is_empty() { u64::from(self.own_files) } else { reader.used };
        if reader.open_files > 0 && reader.open_files < files {
            let found = format!("`openfiles` = {} of {files} files, which others wait for", reader.open_files);
            self.refuse(findings, &["openfiles"], found, "all files open, without `openfiles`");
        }
        if !reader.filenames.is_empty() && reader.directories.len() > 1 {
            let found = "`filename` in several folders, which clones take in turn";
            self.refuse(findings, &["directory"], found, "one `directory`, or a job for each");
        }
    }

    /// Refuses combinations of options that make no sense.
    fn check(&self, findings: &mut Findings) {
        if self.time_based && self.runtime_ns.is_none() {
            self.refuse(findings, &["time_based"], "`time_based` without a time", "`runtime` in this job too");
        }
        let anywhere = self.files.iter().any(|name| is_device(name)) || self.iolog.is_some();
        // A size that could not be read has been reported.
        let is_written = || self.section.entry("size").is_some_and(|entry| entry.value != "100%");
        let is_reported = || self.size.is_none() && is_written();
        if !anywhere && !matches!(self.size, Some(Amount::Bytes(_))) && !is_reported() {
            let found = format!("the job `{}` does not say how large its file is", self.name);
            let expected = "`size` in bytes, or a `filename` that is a device, such as /dev/nvme0n1";
            self.refuse(findings, &["size"], found, expected);
        }
        self.check_blocks(findings);
        if self.iolog.is_none() && self.mix == Mix::TrimWrite && self.run_length > 1 {
            self.refuse(findings, &["rw"], "runs of discards and writes in turn", "`randtrimwrite` without a number");
        }
        if self.iolog.is_none() && self.mix == Mix::TrimWrite && self.files_of_clone() > 1 {
            let found = "discards and writes in turn over several files";
            self.refuse(findings, &["filename", "nrfiles"], found, "one file");
        }
    }

    /// Refuses random positions that fio counts in other blocks than those of the requests: it ends such a job where
    /// the first position lies beyond the file, and the rest is never accessed.
    fn check_blocks(&self, findings: &mut Findings) {
        let of_requests = |least: u64| (0..DIRECTIONS).all(|at| !self.has(at) || self.align[at] == least);
        let counted = if self.has_map() {
            self.least_bytes()
        } else if self.draws_on() {
            self.sizes[READ].min().min(self.sizes[WRITE].min())
        } else {
            return;
        };
        if !self.random || self.iolog.is_some() || of_requests(counted) {
            return;
        }
        findings.refuse(self.place(&["ba", "bs", "bsrange", "bssplit"]), || {
            let found = format!("random positions in blocks of {counted} bytes, and requests in others");
            let expected = if self.has_map() {
                "one smallest size for all directions, or `norandommap`"
            } else {
                "one smallest size for all directions, and no other `ba`"
            };
            Refusal::new(found, expected).help("fio 3.33 ends such a job before it has accessed all of its file")
        });
    }

    /// Number of the clone at a place in the order in which fio starts them: the first, then all others from the last.
    pub fn number_of_clone(&self, place: usize) -> u64 {
        if place == 0 { 0 } else { u64::from(self.clones) - place as u64 }
    }

    /// Number of files that a clone works on.
    pub fn files_of_clone(&self) -> u64 {
        if self.files.is_empty() { self.own_files.into() } else { self.files.len() as u64 }
    }

    /// True if the bytes of a direction count towards the size of the job.
    pub fn counts(&self, direction: usize) -> bool {
        match self.mix {
            Mix::Only(only) => direction == only,
            Mix::ReadWrite => direction != TRIM,
            Mix::TrimWrite => direction == WRITE,
        }
    }

    /// True if the job has requests of a direction.
    pub fn has(&self, direction: usize) -> bool {
        self.counts(direction) || (self.mix == Mix::TrimWrite && direction == TRIM)
    }
}

/// True if a file name stands for the device itself.
pub(super) fn is_device(name: &str) -> bool {
    name.starts_with("/dev/")
}

/// Options that take effect only in combination with others.
#[derive(Clone, Default)]
struct Reader {
    is_async: bool,
    depth: u32,
    engine: String,
    filenames: Vec<String>,
    /// Number of these that are used: the last `nrfiles` counts too.
    used: u64,
    open_files: u64,
    rate_bytes: [u64; DIRECTIONS],
    rate_requests: [u64; DIRECTIONS],
    directories: Vec<String>,
    iologs: Vec<String>,
    redirect: Option<String>,
    no_stall: bool,
    time_scale: u64,
    class: Option<PriorityClass>,
    level: Option<u8>,
    command: CommandPriority,
}

impl Reader {
    fn new() -> Self {
        Self { depth: 1, engine: "psync".to_owned(), time_scale: 100, ..Self::default() }
    }
}

/// The priority that fio gives the process of a job: best effort where only a level is given.
fn process_priority(class: Option<PriorityClass>, level: Option<u8>) -> Priority {
    match (class, level) {
        (None, None) => Priority::default(),
        (None | Some(PriorityClass::None), level) => Priority::new(PriorityClass::BestEffort, level.unwrap_or(0)),
        (Some(class), level) => Priority::new(class, level.unwrap_or(0)),
    }
}

fn one_of(value: &str, names: &[&str]) -> Result<usize, Expected> {
    names.iter().position(|name| *name == value).ok_or_else(|| format!("one of {}", names.join(", ")))
}

fn amount(value: &str, least: u64) -> Result<Amount, Expected> {
    let amount = match value.strip_suffix('%') {
        Some(_) => Amount::Percent(percent(value)?),
        None => Amount::Bytes(integer(value)?),
    };
    match amount {
        Amount::Bytes(bytes) if !bytes.is_multiple_of(512) => Err("a multiple of the 512 bytes of a sector".to_owned()),
        Amount::Bytes(bytes) if bytes < least || bytes > 1 << 60 => Err("a size from 512 to 1024p".to_owned()),
        Amount::Percent(percent) if u64::from(percent) < least => Err("from 1% to 100%".to_owned()),
        amount => Ok(amount),
    }
}

fn range(part: &str) -> Result<Sizes, Expected> {
    let (min, max) = part.split_once('-').ok_or("a range, such as 4k-64k")?;
    let (min, max) = (sectors(min)?, sectors(max)?);
    if min <= max { Ok(Sizes::Range { min, max }) } else { Err("a range from the smaller to the larger".to_owned()) }
}

fn delay(value: &str) -> Result<(Ns, Ns), Expected> {
    let (low, high) = value.split_once('-').unwrap_or((value, value));
    let (low, high) = (time(low, S)?, time(high, S)?);
    if low <= high { Ok((low, high)) } else { Err("a range from the shorter to the longer time".to_owned()) }
}

fn engine(value: &str) -> Result<bool, Expected> {
    match (SYNC_ENGINES.contains(&value), ASYNC_ENGINES.contains(&value)) {
        (false, false) => {
            Err(format!("an engine that is simulated: {}, {}", SYNC_ENGINES.join(", "), ASYNC_ENGINES.join(", ")))
        }
        (_, is_async) => Ok(is_async),
    }
}

/// Reads `file_service_type`.
fn service(value: &str) -> Result<Service, Expected> {
    let (kind, requests) = value.split_once(':').unwrap_or((value, "1"));
    let requests = integer_within(requests, 1, 1 << 32)?;
    match kind {
        "roundrobin" => Ok(Service::RoundRobin(requests)),
        "random" => Ok(Service::Random(requests)),
        "sequential" => Ok(Service::Sequential),
        _ => Err("roundrobin, random or sequential; zipf, pareto, normal and gauss are not simulated".to_owned()),
    }
}

/// Reads zones; `size` returns `None` for one that has a part of what the others leave of the file.
fn zoned(part: &str, mut size: impl FnMut(&str) -> Result<Option<Zone>, Expected>) -> Result<Distribution, Expected> {
    let mut zones = Vec::new();
    for zone in part.split(':') {
        if zones.len() == MAX_ZONES {
            return Err(format!("at most {MAX_ZONES} zones, as fio has them"));
        }
        let (share, extent) = zone.split_once('/').ok_or("zones, such as 60/10:40/90")?;
        zones.push((size(extent)?, f64::from(percent(share)?)));
    }
    let shares: f64 = zones.iter().map(|(_, share)| share).sum();
    let in_percent = |zone: &Option<Zone>| if let Some(Zone::Percent(percent)) = zone { *percent } else { 0 };
    let extents: u32 = zones.iter().map(|(zone, _)| in_percent(zone)).sum();
    let open = zones.iter().filter(|(zone, _)| zone.is_none()).count() as u32;
    if shares == 100.0 && extents <= 100 {
        let rest = Zone::Percent((100 - extents) / open.max(1));
        let zones = zones.into_iter().map(|(zone, share)| (zone.unwrap_or(rest), share));
        return Ok(Distribution::Zoned(zones.collect()));
    }
    Err("zones whose shares add up to 100 and that fit in the file".to_owned())
}

fn distribution(value: &str) -> Result<Distribution, Expected> {
    let mut parts = value.split(':');
    let name = parts.next().unwrap_or_default();
    let (input, center) = (parts.next(), parts.next());
    let center = center.map(|text| real(text, 0.0, 1.0)).transpose()?;
    match (name, input, parts.next()) {
        ("random", None, None) => Ok(Distribution::Uniform),
        ("zipf", _, None) => {
            let theta = real(input.unwrap_or("1.1"), 0.001, 20.0)?;
            // The closed form has a pole at 1, and fio refuses it too.
            if theta == 1.0 { Err("a theta other than 1".to_owned()) } else { Ok(Distribution::Zipf { theta, center }) }
        }
        ("pareto", _, None) => {
            Ok(Distribution::Pareto { power: real(input.unwrap_or("0.2"), 0.000_01, 0.999_99)?, center })
        }
        ("normal", _, None) => Ok(Distribution::Normal { deviation: real(input.unwrap_or("0"), 0.0, 100.0)?, center }),
        _ => Err("random, zipf:theta, pareto:power, normal:deviation, zoned:share/size:... or zoned_abs".to_owned()),
    }
}
