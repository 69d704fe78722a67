//! How far a scheduler of the simulator issues what the real one issued in a recording: `issue-order SCHEDULER`.
//!
//! Reads events from standard input, one a line: time in nanoseconds, `Q` (queued) or `D` (issued), `R` or `W`, first
//! sector, sectors. What is queued is submitted at its time, and at every issue the simulator is asked for a request.
//! Prints, separated by bars: how many requests were issued, how many of them are the same at the same place of both
//! orders, how many are in the same order (the longest common subsequence), and the share of those.

use std::io::{Read, stdin};
use std::process::ExitCode;

use flashloom_host::{BlockLayer, Decision, HostParams, SLOT, build};
use flashloom_units::{Ns, ParamSet, Value};
use flashloom_workload::{Op, Request};

/// A request as both sides name it.
type Issued = (bool, u64, u32);

struct Event {
    time_ns: Ns,
    issue: bool,
    request: Issued,
}

fn event(line: &str) -> Option<Event> {
    let words: Vec<&str> = line.split(' ').collect();
    let [time, kind, direction, sector, sectors] = words[..] else { return None };
    if !matches!(kind, "Q" | "D") || !matches!(direction, "R" | "W") {
        return None;
    }
    let request = (direction == "R", sector.parse().ok()?, sectors.parse().ok()?);
    Some(Event { time_ns: time.parse().ok()?, issue: kind == "D", request })
}

/// A block layer with that scheduler, every parameter at its default, for the recorded device.
fn block_layer(scheduler: &str, events: &[Event]) -> Result<BlockLayer, String> {
    // As many as ever were queued at once, and requests as large as null_blk takes them.
    let host = HostParams { nr_requests: 4_096, queue_depth: 1, ..HostParams::defaults() };
    let end = events.iter().map(|event| event.request.1 + u64::from(event.request.2)).max().unwrap_or(1);
    let setup = BlockLayer::setup(&host, end);
    let spec = SLOT.find(scheduler).ok_or_else(|| format!("there is no scheduler `{scheduler}`"))?;
    let values: Vec<Value> = spec.params.iter().map(|param| param.default.clone()).collect();
    let built = build(scheduler, &values, &setup).expect("every scheduler that is listed can be built")?;
    Ok(BlockLayer::new(&host, built))
}

/// The next request of a device that completes at once; nothing where none waits.
fn take(layer: &mut BlockLayer, time_ns: Ns) -> Option<Issued> {
    let Decision::Dispatch(sent) = layer.dispatch(time_ns) else { return None };
    layer.complete(time_ns, sent.id, |_| {});
    Some((sent.op == Op::Read, sent.lba, sent.sectors))
}

/// What the simulator issues when the recorded one did; nothing where it has nothing.
///
/// The kernel asks its scheduler for requests until the device has no tag for one; that one waits outside the
/// scheduler for the next tag. So on a device of one tag one request is always chosen ahead: as soon as the one before
/// it was issued, or when it came if none waited then.
fn replay(mut layer: BlockLayer, events: &[Event]) -> Vec<Option<Issued>> {
    let mut issued = Vec::new();
    let mut ahead = None;
    for &Event { time_ns, issue, request: (read, lba, sectors) } in events {
        if issue {
            issued.push(ahead.take());
        } else {
            let op = if read { Op::Read } else { Op::Write };
            let arrival_ns = time_ns;
            let request = Request { arrival_ns, lba, sectors, task: 0, recorded_latency_ns: 0, op, flags: 0 };
            layer.submit(time_ns, &request, 0);
        }
        ahead = ahead.or_else(|| take(&mut layer, time_ns));
    }
    issued
}

/// The length of the longest common subsequence.
fn in_order(a: &[Option<Issued>], b: &[Option<Issued>]) -> u32 {
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

fn compare(scheduler: &str, text: &str) -> Result<String, String> {
    let mut events = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = || format!("line {}: expected TIME Q|D R|W SECTOR SECTORS, found `{line}`", number + 1);
        events.push(event(line).ok_or_else(wrong)?);
    }
    let recorded: Vec<_> = events.iter().filter(|event| event.issue).map(|event| Some(event.request)).collect();
    if recorded.is_empty() {
        return Err("nothing was issued".to_owned());
    }
    let simulated = replay(block_layer(scheduler, &events)?, &events);
    let same_place = recorded.iter().zip(&simulated).filter(|(a, b)| a == b).count();
    let same_order = in_order(&recorded, &simulated);
    let share = 100.0 * f64::from(same_order) / recorded.len() as f64;
    Ok(format!("{} | {same_place} | {same_order} | {share:.2} %", recorded.len()))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scheduler] = &arguments[..] else {
        eprintln!("usage: issue-order SCHEDULER");
        return ExitCode::from(2);
    };
    let mut text = String::new();
    let read = stdin().read_to_string(&mut text).map_err(|error| format!("standard input: {error}"));
    match read.and_then(|_| compare(scheduler, &text)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("issue-order: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_chosen_when_the_one_before_it_is_issued() {
        let lines = "0 Q R 100 8\n1 D R 100 8\n2 Q R 300 8\n3 Q R 200 8\n4 D R 300 8\n5 D R 200 8\n";
        assert_eq!(compare("deadline", lines), Ok("3 | 3 | 3 | 100.00 %".to_owned()), "300 was alone when it came");
    }

    #[test]
    fn what_is_late_costs_its_own_place_in_the_order_and_every_place_before_it() {
        let lines = "0 Q R 100 8\n1 Q R 200 8\n2 Q R 300 8\n3 D R 200 8\n4 D R 300 8\n5 D R 100 8\n";
        assert_eq!(compare("noop", lines), Ok("3 | 0 | 2 | 66.67 %".to_owned()));
    }

    #[test]
    fn what_is_no_event_is_refused_with_its_line() {
        for line in ["", "1 Q R 8", "1 Q X 8 8", "1 C R 8 8", "x Q R 8 8", "1 Q R 8 8 8"] {
            let message = compare("noop", &format!("0 Q R 0 8\n{line}\n")).expect_err("the line is refused");
            assert!(message.starts_with("line 2: ") && message.contains(&format!("`{line}`")), "{message}");
        }
        assert_eq!(compare("noop", "0 Q R 0 8\n"), Err("nothing was issued".to_owned()));
        assert_eq!(compare("banana", "0 D R 0 8\n"), Err("there is no scheduler `banana`".to_owned()));
    }
}
