//! The requests of one clone of a job, one after another: direction, position and size as fio chooses them.
//!
//! One step: a flush if `fsync` is due, unless nothing is left to do; otherwise draw the direction; then choose the
//! file, of several; then the position in it, which follows the last one of that direction or is drawn; then a size
//! that fits. A random position of a uniform job is a block not accessed in this pass, or the next such block. A file
//! is done when nothing in it is left. A pass ends when the job's number of bytes has been issued, or all files are
//! done; then the next loop begins. Random positions without a map are never done, so that all loops are one pass, as
//! in fio.

use flashloom_files::limit_of;
use flashloom_units::{Prng, Refusal};

use super::job::{FioJob, Mix, Service, Sizes};
use super::job_file::{Findings, Section};
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
}

/// Memory that the random maps of all clones take at most, in bytes: thousands of clones on one device have a map each.
const MAPS_LIMIT_BYTES: u64 = 1 << 30;

/// Variable with another limit, for the user who has the memory.
const MAPS_LIMIT_VARIABLE: &str = "FLASHLOOM_MAPS_LIMIT";

/// Smallest request of a job, in bytes.
fn block_bytes(job: &FioJob) -> u64 {
    let used = (0..DIRECTIONS).filter(|&at| job.has(at));
    used.map(|at| job.sizes[at].min()).min().expect("a job has a direction")
}

/// Number of blocks of a clone's random map; `None` for a job without one.
fn map_blocks(job: &FioJob, region: Region) -> Option<u64> {
    let is_uniform = (0..DIRECTIONS).all(|at| !job.has(at) || job.distribution[at] == Distribution::Uniform);
    (job.random && is_uniform && !job.without_map && job.iolog.is_none())
        .then(|| (region.length / block_bytes(job)).max(1))
}

/// Refuses jobs whose random maps take more memory than the limit together with those before them.
pub(super) fn check_maps(sections: &[Section], jobs: &[FioJob], regions: &[Vec<Regions>], findings: &mut Findings) {
    let limit = limit_of(MAPS_LIMIT_VARIABLE, MAPS_LIMIT_BYTES);
    let mut bytes = 0u64;
    for ((job, section), regions) in jobs.iter().zip(sections).zip(regions) {
        let blocks = regions.iter().flatten().filter_map(|&region| map_blocks(job, region));
        bytes = blocks.map(RandomMap::bytes).fold(bytes, u64::saturating_add);
        if limit.as_ref().is_ok_and(|limit| bytes <= *limit) {
            continue;
        }
        findings.refuse(section.place(&["numjobs", "bs", "size"]), || match &limit {
            Ok(limit) => Refusal::new(
                format!("random maps of {bytes} bytes, up to the job `{}`", job.name),
                format!(
                    "at most {limit}: fewer clones, smaller files, or `norandommap`; {MAPS_LIMIT_VARIABLE} (bytes) \
                     raises the limit"
                ),
            ),
            Err(value) => Refusal::new(format!("{MAPS_LIMIT_VARIABLE} is `{value}`"), "a number of bytes"),
        });
        return;
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
            // The smallest request fits at the last block too.
            let blocks = region.length.saturating_sub(job.sizes[at].min()) / job.align[at] + 1;
            Law::new(&job.distribution[at], blocks, job.align[at], placing)
        };
        Self {
            region,
            laws: std::array::from_fn(|at| (job.random && job.has(at)).then(|| law(at))),
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

    /// End of the last request of the direction, plus the skip.
    fn following(&self, job: &FioJob, direction: usize) -> Option<u64> {
        let end = self.last_end[direction];
        // Backwards beyond the start it wraps to the end.
        let from_end = || self.region.length.saturating_add_signed(job.skip);
        let skipped =
            if end > 0 && !job.random { end.checked_add_signed(job.skip).unwrap_or_else(from_end) } else { end };
        let wrapped = if job.skip != 0 && skipped >= self.region.length { 0 } else { skipped };
        (self.region.length - wrapped.min(self.region.length) >= job.sizes[direction].min()).then_some(wrapped)
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
    /// Bytes per block of the random map.
    block_bytes: u64,
    /// Bytes of the last discard, which the write after it repeats.
    trimmed: u64,
    run_left: u64,
    /// Bytes to issue per pass, and bytes issued in this pass.
    pass_bytes: u64,
    issued_in_pass: u64,
    passes_left: u64,
    /// Requests issued, by direction.
    pub issued: [u64; DIRECTIONS],
    /// Bytes issued, by direction.
    pub issued_bytes: [u64; DIRECTIONS],
    flushed_last: bool,
}

impl Requests {
    /// The generator of a clone in its regions, a file each, with its own seed.
    pub fn new(job: &FioJob, regions: &[Region], seed: Prng) -> Self {
        let mut placing = seed.branch("place");
        let files: Vec<_> = regions.iter().map(|&region| FilePositions::new(job, region, &mut placing)).collect();
        let bytes = regions.iter().map(|region| region.length).fold(0, u64::saturating_add);
        let pass_bytes = job.io_size.map_or(bytes, |size| size.of(bytes));
        let is_one_pass = job.random && files.iter().all(|file| file.map.is_none());
        let (passes, loops) = if is_one_pass { (1, job.loops) } else { (job.loops, 1) };
        Self {
            streams: Streams::new(&seed),
            current: files.len() - 1,
            turn_left: 0,
            files,
            seed,
            block_bytes: block_bytes(job),
            trimmed: 0,
            run_left: 0,
            pass_bytes: pass_bytes.saturating_mul(loops),
            issued_in_pass: 0,
            passes_left: passes,
            issued: [0; DIRECTIONS],
            issued_bytes: [0; DIRECTIONS],
            flushed_last: true,
        }
    }

    /// Returns the next step, or `None` at the end. `paced` may replace the drawn direction by another.
    pub fn next(&mut self, job: &FioJob, paced: impl FnOnce(&Self, usize) -> usize) -> Option<Step> {
        if self.issued.iter().sum::<u64>() >= job.most_requests() {
            return None;
        }
        if self.issued_in_pass >= self.pass_bytes {
            if self.pass_ends_with_flush(job) {
                self.flushed_last = true;
                return Some(Step::Flush);
            }
            if !self.next_pass(job) {
                return None;
            }
        }
        if self.flush_is_due(job) {
            self.flushed_last = true;
            return Some(Step::Flush);
        }
        let drawn = self.draw_direction(job);
        let direction = paced(self, drawn);
        let placed = self.place_in_any(job, direction).or_else(|| {
            self.wrap(job)?;
            self.place_in_any(job, direction)
        });
        let Some((at, bytes)) = placed else {
            let is_flushed = self.pass_ends_with_flush(job);
            self.flushed_last |= is_flushed;
            self.issued_in_pass = self.pass_bytes;
            return is_flushed.then_some(Step::Flush);
        };
        let file = &mut self.files[self.current];
        file.last_start[direction] = at;
        file.last_end[direction] = at + bytes;
        let at = file.region.start + at;
        self.issued[direction] += 1;
        self.issued_bytes[direction] += bytes;
        self.issued_in_pass += if job.counts(direction) { bytes } else { 0 };
        self.flushed_last = false;
        Some(Step::Io { direction, at, bytes })
    }

    /// True if the pass is followed by another, and by a flush before it. The flush after the last pass is the clone's.
    fn pass_ends_with_flush(&self, job: &FioJob) -> bool {
        job.flushes_at_end() && !job.time_based && self.passes_left > 1 && !self.flushed_last
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

    /// Position and size of the next request, in the file whose turn it is; `None` if all files are done.
    fn place_in_any(&mut self, job: &FioJob, direction: usize) -> Option<(u64, u64)> {
        while self.choose_file(job) {
            let placed = self.place(job, direction);
            if placed.is_some() {
                return placed;
            }
            self.files[self.current].is_done = true;
        }
        None
    }

    /// Position in the region and size of the next request; `None` if the region is done.
    fn place(&mut self, job: &FioJob, direction: usize) -> Option<(u64, u64)> {
        if job.mix == Mix::TrimWrite && direction == WRITE {
            return Some((self.files[self.current].last_start[TRIM], std::mem::take(&mut self.trimmed)));
        }
        let (at, is_random) = self.position(job, direction)?;
        let file = &mut self.files[self.current];
        let room = file.region.length.checked_sub(at).filter(|&room| room >= job.sizes[direction].min())?;
        let mut bytes = draw_size(&job.sizes[direction], room, &mut self.streams.size);
        if is_random {
            bytes = file.mark(at, bytes, self.block_bytes);
        }
        if job.mix == Mix::TrimWrite {
            self.trimmed = bytes;
        }
        Some((at, bytes))
    }

    /// Position of the next request, and true if it was drawn at random.
    fn position(&mut self, job: &FioJob, direction: usize) -> Option<(u64, bool)> {
        let file = &self.files[self.current];
        let fresh = self.run_left == 0;
        self.run_left = if fresh { job.run_length } else { self.run_left } - 1;
        if !fresh && job.identical {
            return Some((file.last_start[direction], false));
        }
        let percent = u64::from(job.random_percent[direction]);
        let is_random = job.random && fresh && (percent == 100 || self.streams.percent.below(100) < percent);
        if !is_random {
            if let Some(at) = file.following(job, direction) {
                return Some((at, false));
            }
            if !job.random {
                return None;
            }
        }
        let law = file.laws[direction].as_ref().expect("a random job has a law for its directions");
        let drawn = law.draw(&mut self.streams.position) * job.align[direction];
        let Some(map) = &file.map else { return Some((drawn, true)) };
        let block = drawn / self.block_bytes;
        // The last blocks of the alignment may lie beyond those of the map.
        if block < file.region.length / self.block_bytes && !map.is_done(block) {
            return Some((drawn, true));
        }
        map.next_free(block).map(|free| (free * self.block_bytes, true))
    }

    /// Restarts at the beginning of the region, if the job goes on without a flush; `None` if not.
    fn wrap(&mut self, job: &FioJob) -> Option<()> {
        let largest = (0..DIRECTIONS).filter(|&at| job.has(at)).map(|at| job.sizes[at].max()).max().unwrap_or(0);
        let rest = self.pass_bytes.saturating_sub(self.issued_in_pass);
        let goes_on = job.io_size.is_some() && rest >= largest;
        if goes_on {
            self.forget_positions();
            return Some(());
        }
        if self.pass_ends_with_flush(job) {
            return None;
        }
        self.next_pass(job).then_some(())
    }

    fn forget_positions(&mut self) {
        (self.run_left, self.trimmed) = (0, 0);
        (self.current, self.turn_left) = (self.files.len() - 1, 0);
        self.files.iter_mut().for_each(FilePositions::forget);
    }

    /// Begins the next loop, if there is one; a job that ends by time has as many as it takes.
    fn next_pass(&mut self, job: &FioJob) -> bool {
        self.passes_left -= u64::from(!job.time_based);
        if self.passes_left == 0 {
            return false;
        }
        self.issued_in_pass = 0;
        self.forget_positions();
        if job.repeats && !job.time_based {
            self.streams = Streams::new(&self.seed);
        }
        true
    }
}

/// Draws a size of at most `room`, which is at least the smallest.
fn draw_size(sizes: &Sizes, room: u64, prng: &mut Prng) -> u64 {
    match sizes {
        Sizes::Range { min, max } if min == max => *min,
        Sizes::Range { min, max } => min * (1 + prng.below(room.min(*max) / min)),
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
