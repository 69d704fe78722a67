//! Recordings by blktrace, as text for the comparisons, and a simulated block layer to compare them with.

use std::io::{Read, stdin};
use std::process::ExitCode;

use flashloom_host::{AsyncLimits, BlockLayer, Decision, Dispatched, HostParams, Linux, Throttling, scheduler};
use flashloom_units::{KIB, Ns, OrName, ParamSet};
use flashloom_workload::{Op, Request};

/// A request, comparable between recording and simulator: whether it is a read, first sector, length in sectors.
pub type Issued = (bool, u64, u32);

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Submitted to the block layer.
    Queued,
    /// Issued to the device.
    Issued,
    /// Completed by the device.
    Completed,
    /// The run of a hardware queue begins, that of the processor; there is no request.
    Run,
    /// The scheduler is asked in such a run; there is no request.
    Asked,
}

/// An event of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Time since the recording began, ns.
    pub time_ns: Ns,
    /// What happened.
    pub kind: Kind,
    /// The request at that time: parts are queued one by one, and issued as one request after merging.
    pub request: Issued,
    /// Whether a task waits for it, which only writes tell.
    pub is_sync: bool,
    /// The processor that it happened on.
    pub processor: u32,
}

impl Event {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [time, kind, direction, sector, sectors, processor] = words[..] else { return None };
        let kind = match kind {
            "Q" => Kind::Queued,
            "D" => Kind::Issued,
            "C" => Kind::Completed,
            "run" => Kind::Run,
            "ask" => Kind::Asked,
            _ => return None,
        };
        let (is_read, is_sync) = match direction {
            "R" => (true, true),
            "W" => (false, false),
            "WS" => (false, true),
            _ => return None,
        };
        let request = (is_read, sector.parse().ok()?, sectors.parse().ok()?);
        Some(Self { time_ns: time.parse().ok()?, kind, request, is_sync, processor: processor.parse().ok()? })
    }
}

/// Parses events, one per line: time in nanoseconds; `Q` (queued), `D` (issued), `C` (completed), `run` or `ask`; `R`
/// or `W`, or `WS` if a task waits for the write; first sector, sectors, processor. A run and an ask have no sectors.
/// Any other line is an error, and so is a recording in which nothing was issued.
pub fn events(text: &str) -> Result<Vec<Event>, String> {
    let mut events = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = || {
            format!("line {}: expected TIME Q|D|C|run|ask R|W|WS SECTOR SECTORS PROCESSOR, found `{line}`", number + 1)
        };
        events.push(Event::parse(line).ok_or_else(wrong)?);
    }
    if issued(&events).is_empty() {
        return Err("nothing was issued".to_owned());
    }
    Ok(events)
}

/// The recording in standard input.
pub fn text() -> Result<String, String> {
    let mut text = String::new();
    stdin().read_to_string(&mut text).map_err(|error| format!("standard input: {error}"))?;
    Ok(text)
}

/// What a program does with its arguments: prints a line, or says under its name why there is none.
pub fn program(name: &str, run: impl FnOnce(&[String]) -> Result<String, String>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::from(2)
        }
    }
}

/// The issued requests in order of issue.
pub fn issued(events: &[Event]) -> Vec<Issued> {
    events.iter().filter(|event| event.kind == Kind::Issued).map(|event| event.request).collect()
}

/// Converts a recorded request to one of the simulator.
pub fn request((read, lba, sectors): Issued, arrival_ns: Ns) -> Request {
    let op = if read { Op::Read } else { Op::Write };
    Request::new(op, lba, sectors).arriving_at(arrival_ns)
}

/// The version of blk-mq of that series of Linux.
pub fn version(series: &str) -> Result<Linux, String> {
    let versions = [Linux::V6_1, Linux::V6_12];
    versions.into_iter().find(|version| version.name() == series).ok_or_else(|| {
        let names = versions.iter().map(|version| version.name());
        format!("there is no Linux `{series}`; expected one of {}", names.collect::<Vec<_>>().join(", "))
    })
}

/// A block layer with that scheduler at its defaults, as Linux of that series has it, for a device of that queue depth
/// and number of hardware queues, each of which has a processor.
pub fn block_layer(
    scheduler: &str,
    linux: &str,
    (queues, queue_depth): (u32, u32),
    events: &[Event],
) -> Result<BlockLayer, String> {
    // Room for every request that was queued at once.
    let (linux, nr_requests, processors, hardware_queues) = (version(linux)?, OrName::Number(4_096), queues, queues);
    let (async_limits, wbt) = (AsyncLimits::NrRequests, Throttling::Off);
    let defaults = HostParams { async_limits, wbt, ..HostParams::defaults() };
    let host = HostParams { nr_requests, queue_depth, linux, processors, hardware_queues, ..defaults };
    layer_of(scheduler, host, events)
}

/// A block layer with that scheduler at its defaults, in which requests are no larger than null_blk's.
pub fn layer_of(scheduler: &str, host: HostParams, events: &[Event]) -> Result<BlockLayer, String> {
    let host = HostParams { max_request_bytes: OrName::Number(512 * KIB), ..host };
    let end = events.iter().map(|event| event.request.1 + u64::from(event.request.2)).max().unwrap_or(1);
    let setup = BlockLayer::setup(&host, end);
    let chosen = scheduler::builtin().choose(scheduler, &[]).map_err(|refusal| refusal.to_string())?;
    let built = chosen.build(&setup).map_err(|refusal| refusal.to_string())?;
    Ok(BlockLayer::new(&host, built))
}

/// Dispatches the request that the scheduler chooses, if any. A scheduler without work is not asked, as in the kernel
/// (`has_work`): asking would end kyber's batch.
pub fn take(layer: &mut BlockLayer, now: Ns) -> Option<Dispatched> {
    if layer.queued() == 0 {
        return None;
    }
    if let Decision::Dispatch(sent) = layer.dispatch(now) { Some(sent) } else { None }
}

/// The length of the longest common subsequence.
pub fn in_order<T: PartialEq>(a: &[T], b: &[T]) -> u32 {
    let mut row = vec![0; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (at, y) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if x == y { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_event_is_refused_with_its_line() {
        for line in ["", "1 Q R 8 8", "1 Q X 8 8 0", "1 M R 8 8 0", "x Q R 8 8 0", "1 Q R 8 8 0 0"] {
            let message = events(&format!("0 Q R 0 8 0\n{line}\n")).expect_err("the line is refused");
            assert!(message.starts_with("line 2: ") && message.contains(&format!("`{line}`")), "{message}");
        }
        assert_eq!(events("0 Q R 0 8 0\n").expect_err("nothing to compare"), "nothing was issued");
    }

    #[test]
    fn there_is_no_block_layer_with_an_unknown_scheduler() {
        let error = block_layer("banana", "6.12", (1, 1), &[]).err().expect("there is none of that name");
        assert!(error.starts_with("nothing in schedulers is named `banana`; expected one of noop, "), "{error}");
        let error = block_layer("none", "2.6.32", (1, 1), &[]).err().expect("it is not that old");
        assert_eq!(error, "there is no Linux `2.6.32`; expected one of 6.1, 6.12");
    }
}
