//! The requests of one clone of a job, one after another: direction, position and size as fio chooses them.
//!
//! One step: a flush if `fsync` is due, unless nothing is left to do; otherwise draw the direction; then the position,
//! which follows the last one of that direction or is drawn; then a size that fits. A random position of a uniform job
//! is a block not accessed in this pass, or the next such block. A pass ends when the job's number of bytes has been
//! issued; then the next loop begins.

use flashloom_files::limit_of;
use flashloom_units::{Prng, Refusal};

use super::job::{FioJob, Mix, Sizes};
use super::job_file::{Findings, Section};
use super::law::{Distribution, Law};
use super::layout::Region;
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
pub(super) fn check_maps(sections: &[Section], jobs: &[FioJob], regions: &[Vec<Region>], findings: &mut Findings) {
    let limit = limit_of(MAPS_LIMIT_VARIABLE, MAPS_LIMIT_BYTES);
    let mut bytes = 0u64;
    for ((job, section), regions) in jobs.iter().zip(sections).zip(regions) {
        let blocks = regions.iter().filter_map(|&region| map_blocks(job, region));
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
}

impl Streams {
    fn new(seed: &Prng) -> Self {
        Self {
            mix: seed.branch("mix"),
            position: seed.branch("position"),
            size: seed.branch("size"),
            percent: seed.branch("percent"),
        }
    }
}

/// State of a clone's request generator.
pub(super) struct Requests {
    region: Region,
    seed: Prng,
    streams: Streams,
    laws: [Option<Law>; DIRECTIONS],
    map: Option<RandomMap>,
    /// Bytes per block of the random map.
    block_bytes: u64,
    /// Start and end of the last request of each direction, in bytes from the start of the region.
    last_start: [u64; DIRECTIONS],
    last_end: [u64; DIRECTIONS],
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
    /// The generator of a clone in its region, with its own seed.
    pub fn new(job: &FioJob, region: Region, seed: Prng) -> Self {
        let block_bytes = block_bytes(job);
        let map = map_blocks(job, region).map(RandomMap::new);
        let mut placing = seed.branch("place");
        let laws = std::array::from_fn(|at| {
            // The smallest request fits at the last block too.
            let blocks = region.length.saturating_sub(job.sizes[at].min()) / job.align[at] + 1;
            let law = || Law::new(&job.distribution[at], blocks, job.align[at], &mut placing);
            (job.random && job.has(at)).then(law)
        });
        Self {
            streams: Streams::new(&seed),
            region,
            seed,
            laws,
            map,
            block_bytes,
            last_start: [0; DIRECTIONS],
            last_end: [0; DIRECTIONS],
            trimmed: 0,
            run_left: 0,
            pass_bytes: job.io_size.map_or(region.length, |size| size.of(region.length)),
            issued_in_pass: 0,
            passes_left: job.loops,
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
        let placed = self.place(job, direction).or_else(|| {
            self.wrap(job)?;
            self.place(job, direction)
        });
        let Some((at, bytes)) = placed else {
            let is_flushed = self.pass_ends_with_flush(job);
            self.flushed_last |= is_flushed;
            self.issued_in_pass = self.pass_bytes;
            return is_flushed.then_some(Step::Flush);
        };
        self.last_start[direction] = at;
        self.last_end[direction] = at + bytes;
        self.issued[direction] += 1;
        self.issued_bytes[direction] += bytes;
        self.issued_in_pass += if job.counts(direction) { bytes } else { 0 };
        self.flushed_last = false;
        Some(Step::Io { direction, at: self.region.start + at, bytes })
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

    /// Position in the region and size of the next request; `None` if the region is done.
    fn place(&mut self, job: &FioJob, direction: usize) -> Option<(u64, u64)> {
        if job.mix == Mix::TrimWrite && direction == WRITE {
            return Some((self.last_start[TRIM], std::mem::take(&mut self.trimmed)));
        }
        let (at, is_random) = self.position(job, direction)?;
        let room = self.region.length.checked_sub(at).filter(|&room| room >= job.sizes[direction].min())?;
        let mut bytes = draw_size(&job.sizes[direction], room, &mut self.streams.size);
        if is_random {
            bytes = self.mark(at, bytes);
        }
        if job.mix == Mix::TrimWrite {
            self.trimmed = bytes;
        }
        Some((at, bytes))
    }

    /// Position of the next request, and true if it was drawn at random.
    fn position(&mut self, job: &FioJob, direction: usize) -> Option<(u64, bool)> {
        let fresh = self.run_left == 0;
        self.run_left = if fresh { job.run_length } else { self.run_left } - 1;
        if !fresh && job.identical {
            return Some((self.last_start[direction], false));
        }
        let percent = u64::from(job.random_percent[direction]);
        let is_random = job.random && fresh && (percent == 100 || self.streams.percent.below(100) < percent);
        if !is_random {
            if let Some(at) = self.following(job, direction) {
                return Some((at, false));
            }
            if !job.random {
                return None;
            }
        }
        let law = self.laws[direction].as_ref().expect("a random job has a law for its directions");
        let drawn = law.draw(&mut self.streams.position) * job.align[direction];
        let Some(map) = &self.map else { return Some((drawn, true)) };
        let block = drawn / self.block_bytes;
        // The last blocks of the alignment may lie beyond those of the map.
        if block < self.region.length / self.block_bytes && !map.is_done(block) {
            return Some((drawn, true));
        }
        map.next_free(block).map(|free| (free * self.block_bytes, true))
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
    fn mark(&mut self, at: u64, bytes: u64) -> u64 {
        let Some(map) = &mut self.map else { return bytes };
        let (first, wanted) = (at / self.block_bytes, bytes.div_ceil(self.block_bytes));
        let last = (self.region.length / self.block_bytes).min(first + wanted);
        let mut block = first;
        while block < last && !map.is_done(block) {
            map.mark(block);
            block += 1;
        }
        bytes.min((block - first) * self.block_bytes).max(self.block_bytes)
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
        (self.last_start, self.last_end) = ([0; DIRECTIONS], [0; DIRECTIONS]);
        (self.run_left, self.trimmed) = (0, 0);
        if let Some(map) = &mut self.map {
            map.clear();
        }
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
