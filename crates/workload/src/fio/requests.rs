//! The requests of one clone of a job, one after another: direction, position and size as fio chooses them.
//!
//! One step: choose the file, of several; a flush if `fsync` is due; otherwise draw the direction; then the position in
//! the file, which follows the last one of that direction or is drawn; then a size that fits. A random position of a
//! uniform job is a block not accessed in this pass, or the next such block. A file is done when nothing in it is left.
//!
//! A pass ends when all files are done, or when the limit of bytes is reached, which is one for all loops together:
//! `io_size` or `size`, times `loops`. An asynchronous job also ends it after `size` bytes. Another pass follows while
//! `loops` are left; after them, while less than `io_size` of all passes has been issued. A pass without any request is
//! the last.

use flashloom_files::limit_of;
use flashloom_units::Prng;

use super::job::{Amount, FioJob, Mix, Service, Sizes};
use super::job_file::Findings;
use super::law::{Distribution, Law};
use super::layout::{Region, Regions};
use super::random_map::RandomMap;
use super::{DIRECTIONS, READ, TRIM, WRITE};

/// Next action of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A request: direction, byte of the device, bytes.
    Io { direction: usize, at: u64, bytes: u64 },
    /// A flush.
    Flush,
    /// The end of a pass, which all outstanding requests complete before.
    Drain,
}

/// Memory that the random maps of all clones take at most, in bytes: thousands of clones on one device have a map each.
const MAPS_LIMIT_BYTES: u64 = 1 << 30;

/// Variable with another limit, for the user who has the memory.
const MAPS_LIMIT_VARIABLE: &str = "FLASHLOOM_MAPS_LIMIT";

/// Number of blocks of a clone's random map; `None` for a job without one.
fn map_blocks(job: &FioJob, region: Region) -> Option<u64> {
    job.has_map().then(|| (region.length / job.least_bytes()).max(1))
}

/// Refuses jobs whose random maps take more memory than the limit together with those before them.
pub(super) fn check_maps(jobs: &[FioJob], regions: &[Vec<Regions>], findings: &mut Findings) {
    let limit = limit_of(MAPS_LIMIT_VARIABLE, MAPS_LIMIT_BYTES);
    let mut bytes = 0u64;
    for (job, regions) in jobs.iter().zip(regions) {
        let blocks = regions.iter().flatten().filter_map(|&region| map_blocks(job, region));
        bytes = blocks.map(RandomMap::bytes).fold(bytes, u64::saturating_add);
        if limit.as_ref().is_ok_and(|limit| bytes <= *limit) {
            continue;
        }
        let (found, expected) = match &limit {
            Ok(limit) => (
                format!("random maps of {bytes} bytes, up to the job `{}`", job.name),
                format!(
                    "at most {limit}: fewer clones, smaller files, or `norandommap`; {MAPS_LIMIT_VARIABLE} (bytes) \
                     raises the limit"
                ),
            ),
            Err(value) => (format!("{MAPS_LIMIT_VARIABLE} is `{value}`"), "a number of bytes".to_owned()),
        };
        return job.refuse(findings, &["numjobs", "bs", "size"], found, expected);
    }
}

/// Independent streams of random numbers, so that one choice does not change another.
#[derive(Clone, Debug)]
struct Streams {
    mix: Prng,
    position: Prng,
    size: Prng,
    percent: Prng,
    file: Prng,
}

impl Streams {
    fn new(seed: &Prng) -> Self {
        Self {
            mix: seed.branch("mix"),
            position: seed.branch("position"),
            size: seed.branch("size"),
            percent: seed.branch("percent"),
            file: seed.branch("file"),
        }
    }
}

/// Positions of a clone in one of its files.
struct FilePositions {
    region: Region,
    /// Laws of the random positions by direction; `None` also where no block fits.
    laws: [Option<Law>; DIRECTIONS],
    map: Option<RandomMap>,
    /// Start and end of the last request of each direction, in bytes from the start of the region.
    last_start: [u64; DIRECTIONS],
    last_end: [u64; DIRECTIONS],
    /// True if nothing in it is left in this pass.
    is_done: bool,
}

impl FilePositions {
    fn new(job: &FioJob, region: Region, placing: &mut Prng) -> Self {
        let mut law = |at: usize| {
            let (least, align, length) = (job.sizes[at].min(), job.align[at], region.length);
            let blocks = match job.distribution[at] {
                Distribution::Uniform | Distribution::Zoned(_) => {
                    // The smallest request fits at the last block too, unless blocks are larger than it.
                    length.saturating_sub(least.saturating_sub(align)) / align
                }
                _ => length.div_ceil(align),
            };
            (blocks > 0).then(|| Law::new(&job.distribution[at], blocks, align, placing))
        };
        Self {
            region,
            laws: std::array::from_fn(|at| if job.random && job.has(at) { law(at) } else { None }),
            map: map_blocks(job, region).map(RandomMap::new),
            last_start: [0; DIRECTIONS],
            last_end: [0; DIRECTIONS],
            is_done: false,
        }
    }

    fn forget(&mut self) {
        (self.last_start, self.last_end, self.is_done) = ([0; DIRECTIONS], [0; DIRECTIONS], false);
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }

    /// The position after the last request of the direction, moved by the skip; `None` at the end of the file. It may
    /// lie beyond the region. Backwards, fio takes the length of the region for a position in the file, whatever the
    /// offset; forwards, it begins again at the offset, counted from the offset.
    fn following(&mut self, job: &FioJob, direction: usize, is_only_file: bool) -> Option<u64> {
        let Region { offset, length, whole, .. } = self.region;
        let end = &mut self.last_end[direction];
        if job.time_based && is_only_file && *end >= length {
            *end = 0;
        }
        if offset + *end >= whole {
            return None;
        }
        let last = length.min(whole);
        let is_first_backwards = *end == 0 && offset > 0 && job.skip < 0;
        let at = if is_first_backwards { last.wrapping_sub(offset) } else { *end };
        if at == 0 || job.skip == 0 {
            return Some(at);
        }
        let moved = at.wrapping_add_signed(job.skip);
        let wrapped = if job.skip > 0 { offset } else { last.wrapping_add_signed(job.skip) };
        Some(if moved < whole { moved } else { wrapped })
    }

    /// A random position, of a block that the map does not have; `None` if it has all.
    fn draw(&self, job: &FioJob, direction: usize, prng: &mut Prng) -> Option<u64> {
        let drawn = self.laws[direction].as_ref()?.draw(prng) * job.align[direction];
        let Some(map) = &self.map else { return Some(drawn) };
        let block_bytes = job.least_bytes();
        let block = drawn / block_bytes;
        if map.is_done(block) { map.next_free(block).map(|free| free * block_bytes) } else { Some(drawn) }
    }

    /// Adds the blocks of a request to the random map, and cuts it short before one already accessed. Returns its
    /// bytes.
    fn mark(&mut self, at: u64, bytes: u64, block_bytes: u64) -> u64 {
        let Some(map) = &mut self.map else { return bytes };
        let (first, wanted) = (at / block_bytes, bytes.div_ceil(block_bytes));
        let last = (self.region.length / block_bytes).min(first + wanted);
        let mut block = first;
        while block < last && !map.is_done(block) {
            map.mark(block);
            block += 1;
        }
        bytes.min((block - first) * block_bytes).max(block_bytes)
    }
}

/// State of a clone's request generator.
pub(super) struct Requests {
    files: Vec<FilePositions>,
    /// The file of the last request, and requests left before the next file has its turn.
    current: usize,
    turn_left: u64,
    seed: Prng,
    streams: Streams,
    /// Bytes of the last discard, which the write after it repeats.
    trimmed: u64,
    /// Requests up to and with the next at a new random position.
    run_left: u64,
    limits: Limits,
    is_in_pass: bool,
    /// True if a flush of the pass before begins this one.
    flush_left: bool,
    passes: u64,
    /// Bytes issued in this pass, and those of them that the engine queues: it discards at once.
    issued_in_pass: u64,
    queued_in_pass: u64,
    is_over: bool,
    /// Requests issued, by direction.
    pub issued: [u64; DIRECTIONS],
    /// Bytes issued, by direction.
    pub issued_bytes: [u64; DIRECTIONS],
    /// True if the last step of this pass was a flush.
    pub flushed_last: bool,
}

/// Limits of a clone in bytes.
struct Limits {
    /// Of all passes together.
    all: u64,
    /// Of a pass, for an engine that queues requests.
    pass: u64,
    /// A pass that none of `loops` asks for begins below it.
    once: u64,
}

impl Limits {
    fn of(job: &FioJob, regions: &[Region]) -> Self {
        let share = if let Some(Amount::Percent(percent)) = job.io_size { percent } else { 100 };
        let of_file = |region: &Region| Amount::Percent(share).of(region.length);
        let sum = regions.iter().map(of_file).fold(0, u64::saturating_add);
        let size = if let Some(Amount::Bytes(bytes)) = job.size { bytes.min(sum) } else { sum };
        let io_size = if let Some(Amount::Bytes(bytes)) = job.io_size { Some(bytes) } else { None };
        let once = io_size.unwrap_or(size);
        let pass = match job.mix {
            _ if !job.is_async => u64::MAX,
            Mix::TrimWrite => u64::MAX,
            _ if job.random && job.without_map && job.has(WRITE) => size.max(once),
            _ => size,
        };
        Self { all: once.saturating_mul(job.loops), pass, once }
    }
}

impl Requests {
    /// The generator of a clone in its regions, a file each, with its own seed.
    pub fn new(job: &FioJob, regions: &[Region], seed: Prng) -> Self {
        let mut placing = seed.branch("place");
        let files: Vec<_> = regions.iter().map(|&region| FilePositions::new(job, region, &mut placing)).collect();
        Self {
            streams: Streams::new(&seed),
            current: files.len() - 1,
            turn_left: 0,
            files,
            seed,
            trimmed: 0,
            run_left: job.run_length,
            limits: Limits::of(job, regions),
            is_in_pass: false,
            flush_left: false,
            passes: 0,
            issued_in_pass: 0,
            queued_in_pass: 0,
            is_over: false,
            issued: [0; DIRECTIONS],
            issued_bytes: [0; DIRECTIONS],
            flushed_last: false,
        }
    }

    /// Returns the next step, or `None` at the end. `paced` may replace the drawn direction by another.
    pub fn next(&mut self, job: &FioJob, paced: impl Fn(&Self, usize) -> usize) -> Option<Step> {
        if self.passes == 0 && !self.begin_pass(job) {
            return None;
        }
        if std::mem::take(&mut self.flush_left) {
            return Some(Step::Flush);
        }
        if !self.is_in_pass {
            return None;
        }
        let step = self.goes_on(job).then(|| self.next_in_pass(job, paced)).flatten();
        if step.is_none() && self.end_pass(job) {
            // The flush at the end of the last pass is the clone's.
            let is_flushed = std::mem::take(&mut self.flushed_last);
            self.flush_left = job.flushes_at_end() && !is_flushed;
            return Some(Step::Drain);
        }
        step
    }

    /// The next step in this pass; `None` if all files are done.
    fn next_in_pass(&mut self, job: &FioJob, paced: impl Fn(&Self, usize) -> usize) -> Option<Step> {
        while self.choose_file(job) {
            if self.flush_is_due(job) {
                self.flushed_last = true;
                return Some(Step::Flush);
            }
            let drawn = self.draw_direction(job);
            let direction = paced(self, drawn);
            let Some((at, bytes)) = self.place(job, direction) else {
                self.files[self.current].is_done = true;
                continue;
            };
            let file = &mut self.files[self.current];
            file.last_start[direction] = at;
            file.last_end[direction] = at + bytes;
            let at = file.region.start + at;
            self.issued[direction] += 1;
            self.issued_bytes[direction] += bytes;
            self.issued_in_pass += bytes;
            self.queued_in_pass += if direction == TRIM { 0 } else { bytes };
            self.flushed_last = false;
            return Some(Step::Io { direction, at, bytes });
        }
        None
    }

    /// Limit of `number_ios` on the requests of all loops. fio doubles it whenever a pass of discards and writes
    /// begins.
    fn most_requests(&self, job: &FioJob) -> u64 {
        let doubled = if job.mix == Mix::TrimWrite { self.passes.min(63) } else { 0 };
        job.most_requests().saturating_mul(1 << doubled)
    }

    fn has_all_requests(&self, job: &FioJob) -> bool {
        self.issued.iter().sum::<u64>() >= self.most_requests(job)
    }

    /// True unless a limit ends this pass.
    fn goes_on(&self, job: &FioJob) -> bool {
        let counted: u64 = (0..DIRECTIONS).filter(|&at| job.counts(at)).map(|at| self.issued_bytes[at]).sum();
        let is_below = counted < self.limits.all && self.queued_in_pass < self.limits.pass;
        job.time_based || (is_below && !self.has_all_requests(job))
    }

    /// Ends a pass; true if another begins.
    fn end_pass(&mut self, job: &FioJob) -> bool {
        self.is_in_pass = false;
        self.is_over |= self.issued_in_pass == 0;
        self.begin_pass(job)
    }

    /// True if another pass follows those before.
    fn has_pass(&self, job: &FioJob) -> bool {
        if self.is_over || job.time_based || self.passes < job.loops {
            return !self.is_over;
        }
        let left = self.limits.once.saturating_sub(self.issued_bytes.iter().sum());
        let largest = job.sizes.iter().map(Sizes::max).max().unwrap_or(0);
        let is_done = self.files.iter().all(|file| file.is_done) && !matches!(job.io_size, Some(Amount::Bytes(_)));
        !self.has_all_requests(job) && left > 0 && left >= largest && !is_done
    }

    /// Begins the next pass, if there is one.
    fn begin_pass(&mut self, job: &FioJob) -> bool {
        if !self.has_pass(job) {
            return false;
        }
        if self.passes > 0 {
            (self.trimmed, self.turn_left) = (0, 0);
            self.files.iter_mut().for_each(FilePositions::forget);
            if job.repeats {
                let position = self.streams.position.clone();
                self.streams = Streams::new(&self.seed);
                if job.draws_on() {
                    self.streams.position = position;
                }
            }
        }
        (self.issued_in_pass, self.queued_in_pass) = (0, 0);
        (self.is_in_pass, self.passes) = (true, self.passes + 1);
        true
    }

    fn flush_is_due(&self, job: &FioJob) -> bool {
        let writes = self.issued[WRITE];
        let due = |every: u64| every > 0 && writes > 0 && writes.is_multiple_of(every);
        !self.flushed_last && job.flush_every.into_iter().any(due)
    }

    fn draw_direction(&mut self, job: &FioJob) -> usize {
        match job.mix {
            Mix::Only(direction) => direction,
            Mix::ReadWrite => {
                let is_read = self.streams.mix.below(100) < u64::from(job.read_percent);
                if is_read { READ } else { WRITE }
            }
            Mix::TrimWrite if self.trimmed == 0 => TRIM,
            Mix::TrimWrite => WRITE,
        }
    }

    /// Chooses the file of the next request; false if all are done.
    fn choose_file(&mut self, job: &FioJob) -> bool {
        let count = self.files.len();
        if count == 1 || (self.turn_left > 0 && !self.files[self.current].is_done) {
            self.turn_left = self.turn_left.saturating_sub(1);
            return !self.files[self.current].is_done;
        }
        if self.files.iter().all(|file| file.is_done) {
            return false;
        }
        let turn = match job.service {
            Service::Random(turn) => {
                let files = &self.files;
                let mut draws = std::iter::repeat_with(|| self.streams.file.below(count as u64) as usize);
                self.current = draws.find(|&file| !files[file].is_done).expect("one is not done");
                turn
            }
            Service::RoundRobin(_) | Service::Sequential => {
                let mut after = (1..=count).map(|step| (self.current + step) % count);
                self.current = after.find(|&file| !self.files[file].is_done).expect("one is not done");
                if let Service::RoundRobin(turn) = job.service { turn } else { u64::MAX }
            }
        };
        self.turn_left = turn - 1;
        true
    }

    /// Position in the region and size of the next request; `None` if the file is done.
    fn place(&mut self, job: &FioJob, direction: usize) -> Option<(u64, u64)> {
        if job.mix == Mix::TrimWrite && direction == WRITE {
            return Some((self.files[self.current].last_start[TRIM], std::mem::take(&mut self.trimmed)));
        }
        let (at, is_random) = self.position(job, direction)?;
        let file = &mut self.files[self.current];
        let room = file.region.length.checked_sub(at).filter(|&room| room > 0)?;
        let (sizes, least) = (&job.sizes[direction], job.sizes[direction].min());
        // A request of the only size may reach beyond the region, as far as its file goes.
        let bytes = if least == sizes.max() {
            least
        } else if room < least {
            return None;
        } else {
            draw_size(sizes, room, &mut self.streams.size)
        };
        if file.region.offset + at + bytes > file.region.whole {
            return None;
        }
        let bytes = if is_random { file.mark(at, bytes, least) } else { bytes };
        if job.mix == Mix::TrimWrite {
            self.trimmed = bytes;
        }
        Some((at, bytes))
    }

    /// Position of the next request, and true if it was meant to be random.
    fn position(&mut self, job: &FioJob, direction: usize) -> Option<(u64, bool)> {
        let is_only_file = self.files.len() == 1;
        let file = &mut self.files[self.current];
        self.run_left -= 1;
        let fresh = self.run_left == 0;
        if fresh {
            self.run_left = job.run_length;
        } else if job.identical {
            return Some((file.last_start[direction], false));
        }
        let percent = u64::from(job.random_percent[direction]);
        let is_random = job.random && fresh && (percent == 100 || self.streams.percent.below(100) < percent);
        if !is_random {
            if let Some(at) = file.following(job, direction, is_only_file) {
                return Some((at, false));
            }
            if !job.random {
                return None;
            }
        }
        let prng = &mut self.streams.position;
        let drawn = file.draw(job, direction, prng);
        let at = if drawn.is_none() && job.time_based {
            file.forget();
            file.draw(job, direction, prng)
        } else {
            drawn
        };
        Some((at?, is_random))
    }
}

/// Draws a size of at most `room`, which is at least the smallest.
fn draw_size(sizes: &Sizes, room: u64, prng: &mut Prng) -> u64 {
    match sizes {
        // Every multiple has the same share, and a maximum that is none what is left.
        Sizes::Range { min, max } => {
            let shares = if room < *max { room / min * min } else { *max };
            (min * (1 + prng.below(shares) / min)).min(*max)
        }
        Sizes::Split(parts) => {
            let fits = |size: u64| size <= room;
            let total: f64 = parts.iter().filter(|(size, _)| fits(*size)).map(|(_, share)| share).sum();
            let mut drawn = prng.unit() * total;
            let mut chosen = sizes.min();
            for &(size, share) in parts.iter().filter(|(size, _)| fits(*size)) {
                chosen = size;
                drawn -= share;
                if drawn < 0.0 {
                    break;
                }
            }
            chosen
        }
    }
}
