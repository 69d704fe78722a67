//! What the page is given: one thread looks at the drive four times a second, and readers get what it has written down.
//!
//! ```text
//! drive --look, microseconds--> Watch: samples (the last 1200), the latest look --text--> readers of /live.json
//! ```
//!
//! So no reader touches the drive, and an answer is a copy of text that is there. A sample is what has happened between
//! two looks, by the drive's clock; while that stands still there is none.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use flashloom_device::{Cause, LastOperation, Parts, Sample, Served};
use flashloom_nand::{Geometry, Origin};
use flashloom_units::{Latency, Ns, visible_json};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::locked;
use crate::picture::{Job, Shown, Window};
use crate::session::Session;
use crate::status::{Looked, status};

/// Time between two looks.
pub(super) const PERIOD: Duration = Duration::from_millis(250);
/// Samples that are kept: five minutes of them.
const SAMPLES: usize = 1_200;
/// Most cells of the map of wear.
const CELLS: u32 = 1_024;
/// Most dies that are told one by one.
const DIES: usize = 256;

/// What was written down.
#[derive(Default)]
pub(crate) struct Watch(Mutex<Book>);

#[derive(Default)]
struct Book {
    /// Number of the first sample that is kept.
    first: u64,
    /// Samples as JSON.
    samples: VecDeque<String>,
    /// The latest look as the inside of a JSON object.
    latest: String,
}

/// What was copied from the drive while it stood still.
struct Copied {
    looked: Looked,
    sample: Sample,
    /// `None` if no time has passed since the last look.
    shown: Option<Shown>,
    channels_ns: Vec<Ns>,
}

/// The drive at the last look after which time has passed.
struct Before {
    sample: Sample,
    dies: Vec<Parts>,
    channels_ns: Vec<Ns>,
}

impl Watch {
    /// The samples after the first `since` ones, as far as they are kept, and the latest look.
    pub(super) fn since(&self, since: u64) -> String {
        let book = self.lock();
        let after = since.saturating_sub(book.first).min(book.samples.len() as u64) as usize;
        let first = book.first + after as u64;
        let length: usize = book.samples.range(after..).map(|sample| sample.len() + 1).sum();
        let mut body = String::with_capacity(length + book.latest.len() + 100);
        let _ = write!(body, "{{{},\"first\":{first},\"samples\":[", book.latest);
        for (at, sample) in book.samples.range(after..).enumerate() {
            body.extend([if at > 0 { "," } else { "" }, sample]);
        }
        body.push_str("]}");
        body
    }

    /// Looks until the session has ended.
    pub(super) fn look(&self, session: &Session) {
        let (mut before, mut busy, mut looks) = (None, Value::Null, 0_u64);
        loop {
            let copied = session.while_served(|server| {
                let passed = before.as_ref().map(|before: &Before| before.sample.time_ns);
                // Of a drive that has failed in the middle of something nothing is certain.
                let is_sound = server.broken().is_none();
                server.look(|drive, counts| {
                    let now_ns = drive.engine().now_ns();
                    let is_new = is_sound && passed != Some(now_ns);
                    let shown = if is_new { drive.show() } else { None };
                    let nand = drive.engine().nand();
                    let channels_ns = nand.channel_busy_ns(now_ns).collect();
                    let sample = drive.engine().sample_at(now_ns);
                    Copied { looked: Looked::at(drive, counts), sample, shown, channels_ns }
                })
            });
            let Some(Copied { looked, sample, shown, channels_ns }) = copied else { break };
            let geometry = session.geometry();
            if let Some(Shown { window, dies, jobs }) = shown {
                let now = Before { sample, dies: dies.iter().map(|&(_, parts)| parts).collect(), channels_ns };
                if let Some(before) = &before {
                    self.keep(sample_json(before, &now.sample, &window, &geometry));
                }
                let executes: Vec<Option<Cause>> = dies.into_iter().map(|(cause, _)| cause).collect();
                busy = busy_json(before.as_ref(), &now, &executes, &jobs, &geometry);
                before = Some(now);
            }
            looks += 1;
            self.write(session, &looked, &busy, looks);
            thread::sleep(PERIOD);
        }
        let mut book = self.lock();
        book.latest = book.latest.replacen("\"is_ended\":false", "\"is_ended\":true", 1);
    }

    fn keep(&self, sample: String) {
        let mut book = self.lock();
        if book.samples.len() == SAMPLES {
            book.samples.pop_front();
            book.first += 1;
        }
        book.samples.push_back(sample);
    }

    fn write(&self, session: &Session, looked: &Looked, busy: &Value, looks: u64) {
        let head = json!({
            "is_ended": false,
            "looks": looks,
            "session": std::process::id(),
            "drive": session.facts(),
            "origins": Origin::ALL.map(Origin::name),
            "busy": busy,
            "wear": Wear::of(&looked.outcome.erase_counts, &looked.outcome.erased_before),
            "status": status(session, looked),
        });
        let text = head.to_string();
        // Without its braces: samples follow.
        let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        self.lock().latest = visible_json(inside).into_owned();
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        locked(&self.0)
    }
}

/// What has happened between two looks.
fn sample_json(before: &Before, now: &Sample, window: &Window, geometry: &Geometry) -> String {
    let old = &before.sample;
    let mut programs = now.programs;
    programs.iter_mut().zip(old.programs).for_each(|(programs, before)| *programs -= before);
    let percentiles = |latency: &Latency| {
        let [p50, p99] = [50.0, 99.0].map(|percent| latency.percentile(percent));
        (latency.count() > 0).then(|| json!({"count": latency.count(), "p50": p50, "p99": p99}))
    };
    let slowest = window.slowest.iter().flatten().map(|served| served_json(served, geometry));
    let sample = json!({
        "from_ns": old.time_ns,
        "to_ns": now.time_ns,
        "read_bytes": now.read_bytes - old.read_bytes,
        "write_bytes": now.write_bytes - old.write_bytes,
        "read_ns": percentiles(&window.reads),
        "write_ns": percentiles(&window.writes),
        // Pages stored for the host, and pages programmed by origin: the quotient is the write amplification. Padding
        // is known later than the pages that it fills.
        "host_pages": now.host_page_writes.saturating_sub(old.host_page_writes),
        "programs": programs,
        "erases": now.erases - old.erases,
        "free_blocks": now.free_blocks,
        "jobs": window.jobs,
        "slowest": slowest.collect::<Vec<Value>>(),
    });
    sample.to_string()
}

/// Times by cause, without those that are zero.
fn parts_json(parts: impl Iterator<Item = (Cause, Ns)>) -> Value {
    let some = parts.filter(|&(_, ns)| ns > 0).map(|(cause, ns)| (cause.name().to_owned(), ns.into()));
    Value::Object(some.collect::<Map<_, _>>())
}

fn served_json(served: &Served, geometry: &Geometry) -> Value {
    let last = served.last.map(|LastOperation { ppn, is_program, origin, .. }| {
        let block = geometry.block_of(ppn);
        let die = geometry.die_of(geometry.plane_of(block)).0;
        let page = geometry.page_in_block(ppn);
        json!({"is_program": is_program, "origin": origin.name(), "die": die, "block": block.0, "page": page})
    });
    json!({
        "op": served.request.op.name(),
        "lba": served.request.lba,
        "sectors": served.request.sectors,
        "arrival_ns": served.request.arrival_ns,
        "latency_ns": served.latency_ns(),
        "is_done": served.status.is_done(),
        "parts_ns": parts_json(served.parts.iter()),
        "last": last,
    })
}

/// What channels and dies have done between two looks, what dies execute now, and the latest jobs.
fn busy_json(
    before: Option<&Before>,
    now: &Before,
    executes: &[Option<Cause>],
    jobs: &[Job],
    geometry: &Geometry,
) -> Value {
    let from_ns = before.map_or(0, |before| before.sample.time_ns);
    let dies = now.dies.iter().zip(executes).take(DIES).enumerate().map(|(at, (parts, cause))| {
        let old = before.map_or(Parts::default(), |before| before.dies[at]);
        let since = parts.iter().map(|(cause, ns)| (cause, ns - old[cause]));
        json!({"now": cause.map(Cause::name), "busy_ns": parts_json(since)})
    });
    let channels = now.channels_ns.iter().enumerate();
    let channels = channels.map(|(at, ns)| ns - before.map_or(0, |before| before.channels_ns[at]));
    let jobs = jobs.iter().map(|job| {
        let die = geometry.die_of(geometry.plane_of(job.block)).0;
        json!({"number": job.number, "origin": job.origin.name(), "block": job.block.0, "die": die,
            "began_ns": job.began_ns, "ended_ns": job.ended_ns})
    });
    json!({
        "from_ns": from_ns,
        "to_ns": now.sample.time_ns,
        "dies": dies.collect::<Vec<_>>(),
        "channels_ns": channels.collect::<Vec<Ns>>(),
        "jobs": jobs.collect::<Vec<_>>(),
    })
}

/// Erases of blocks, in cells of neighbouring ones by their numbers; the last may have fewer.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Wear {
    pub(crate) blocks: u32,
    pub(crate) blocks_a_cell: u32,
    /// Erases since the drive is served, by cell.
    pub(crate) erases: Vec<u64>,
    /// Erases before that, by cell.
    pub(crate) before: Vec<u64>,
    /// Fewest and most erases of a block since it was new.
    pub(crate) least: u32,
    pub(crate) most: u32,
}

impl Wear {
    pub(crate) fn of(erases: &[u32], before: &[u32]) -> Self {
        let blocks = erases.len() as u32;
        let blocks_a_cell = blocks.div_ceil(CELLS).max(1);
        let by_cell = |counts: &[u32]| -> Vec<u64> {
            let cells = counts.chunks(blocks_a_cell as usize);
            cells.map(|cell| cell.iter().copied().map(u64::from).sum()).collect()
        };
        let (all, before) = (by_cell(erases), by_cell(before));
        let since = all.iter().zip(&before).map(|(all, before)| all - before).collect();
        let [least, most] = [erases.iter().min(), erases.iter().max()].map(|erases| erases.copied().unwrap_or(0));
        Self { blocks, blocks_a_cell, erases: since, before, least, most }
    }
}
