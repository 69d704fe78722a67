//! A recording as cells: it is replayed as a whole, and each slice of so many requests is compared by itself.
//!
//! ```text
//! slice k     the requests from k n on, n being the number of requests over that of slices, rounded up; requests that
//!             arrive at the same time are of the same slice
//! recorded    percentiles of the latencies that the recording has of them, by operation
//! simulated   the same of the replay, by the same interval: whole, or in the drive
//! ```
//! One replay, and not one of each slice, because a drive is in the state in which the requests before have left it.
//! There is no rate: a replay at recorded times has the recorded one.

use flashloom_config::Config;
use flashloom_device::{Interest, Observer, Served, Status};
use flashloom_figures::number::count;
use flashloom_units::{Latency, Ns, Problem, Refusal, SECTOR_BYTES};
use flashloom_workload::{LatencySource, Op, Request, Source, open_trace};
use sha2::{Digest, Sha256};

use super::figures::{Figures, Side};
use crate::validate::{Interval, Recording};

/// Where the slices of a recording end, and what a latency of it is.
pub struct Slices {
    source: LatencySource,
    interval: Interval,
    /// Arrival of the last request of each slice but the last.
    ends_ns: Vec<Ns>,
}

/// A slice.
pub struct Slice {
    /// Numbers of its first and its last request, from 1.
    pub requests: [u64; 2],
    /// What was recorded.
    pub recorded: Figures,
}

/// A recording that was cut.
pub struct Cut {
    /// Where it was cut.
    pub slices: Slices,
    /// The slices.
    pub each: Vec<Slice>,
    /// Bytes from address zero of the drive to the end of the last request.
    pub span_bytes: u64,
    /// True if something is written or discarded.
    pub writes: bool,
    /// Hash of the requests.
    pub sha256: String,
}

/// Latencies of reads and of writes.
type Both = [Latency; 2];

fn side(op: Op) -> Option<usize> {
    match op {
        Op::Read => Some(0),
        Op::Write => Some(1),
        Op::Discard | Op::Flush => None,
    }
}

fn figures(of: &Both) -> Figures {
    Figures([0, 1].map(|side| Side::of(&of[side], None)))
}

impl Slices {
    /// Cuts a recording into at most so many slices; `config` is that of its replay.
    ///
    /// # Errors
    /// A recording that cannot be read, or a slice of which nothing can be compared.
    pub fn cut(recording: &Recording, config: &Config, slices: u64) -> Result<Cut, Problem> {
        let length = recording.requests().div_ceil(slices).max(1);
        let mut trace = open_trace(recording.path(), &Recording::options(config))?;
        let source = recording.source();
        let mut ends_ns = Vec::new();
        let mut latencies: Vec<Both> = vec![Both::default()];
        let mut firsts = vec![1];
        let (mut number, mut last_ns, mut end_sector, mut writes) = (0, 0, 0, false);
        let mut hash = Sha256::new();
        while number < recording.requests()
            && let Some(request) = trace.next_request()?
        {
            if number >= length * latencies.len() as u64 && request.arrival_ns > last_ns {
                ends_ns.push(last_ns);
                latencies.push(Both::default());
                firsts.push(number + 1);
            }
            number += 1;
            last_ns = request.arrival_ns;
            end_sector = end_sector.max(request.end());
            writes |= matches!(request.op, Op::Write | Op::Discard);
            let latency_ns = Ns::from(request.recorded_latency_ns);
            if let Some(side) = side(request.op).filter(|_| source.is_known(latency_ns)) {
                let last = latencies.last_mut().expect("there is a first");
                last[side].record(latency_ns);
            }
            for part in [request.arrival_ns, request.lba, u64::from(request.sectors), latency_ns, request.op as u64] {
                hash.update(part.to_le_bytes());
            }
        }
        let lasts = firsts.iter().skip(1).map(|first| first - 1).chain([number]);
        let each: Vec<Slice> = firsts
            .iter()
            .zip(lasts)
            .zip(&latencies)
            .map(|((first, last), of)| Slice { requests: [*first, last], recorded: figures(of) })
            .collect();
        if let Some(index) = each.iter().position(|slice| slice.recorded.count() == 0) {
            let [first, last] = each[index].requests;
            let [reads, writes] = [0, 1].map(|side| count(latencies[index][side].count()));
            let found = format!(
                "requests {} to {}, slice {} of {}, have {reads} latencies of reads and {writes} of writes",
                count(first),
                count(last),
                index + 1,
                each.len()
            );
            let refusal = Refusal::new(found, "slices of at least 20 of either, ten on both sides of a median");
            return Err(refusal.help("`--slices` takes fewer").in_file(recording.path()));
        }
        let slices = Self { source, interval: recording.interval(), ends_ns };
        let sectors = end_sector.saturating_sub(config.workload.first_sector);
        let sha256 = format!("{:x}", hash.finalize());
        Ok(Cut { slices, each, span_bytes: sectors.saturating_mul(SECTOR_BYTES), writes, sha256 })
    }

    /// True if its requests are issued ones, which go to the drive past merging and scheduler.
    pub fn is_issued(&self) -> bool {
        self.interval == Interval::InDrive
    }

    /// An observer of a replay.
    pub fn observer(&self) -> Observed<'_> {
        Observed { slices: self, latencies: vec![Both::default(); self.ends_ns.len() + 1] }
    }

    fn of(&self, request: &Request) -> usize {
        self.ends_ns.partition_point(|end_ns| *end_ns < request.arrival_ns)
    }
}

/// Simulated latencies by slice, of the requests that have a recorded one.
pub struct Observed<'a> {
    slices: &'a Slices,
    latencies: Vec<Both>,
}

impl Observed<'_> {
    /// The figures of each slice.
    pub fn figures(&self) -> Vec<Figures> {
        self.latencies.iter().map(figures).collect()
    }
}

impl Observer for Observed<'_> {
    fn interest(&self) -> Interest {
        Interest { served: true, ..Interest::default() }
    }

    fn served(&mut self, served: &Served) {
        let request = &served.request;
        let is_known = self.slices.source.is_known(request.recorded_latency_ns.into());
        let is_done = !matches!(served.status, Status::Failed(_));
        if let Some(side) = side(request.op).filter(|_| is_known && is_done) {
            // A recorded latency has 32 bits: longer ones count alike on both sides.
            let latency_ns = self.slices.interval.latency_ns(served).min(u32::MAX.into());
            self.latencies[self.slices.of(request)][side].record(latency_ns);
        }
    }
}
