//! Compares the writes that a device has at a time in a recording with those that the simulator's throttling lets in:
//! `write-back LINUX DEPTH SERVICE_NS normal|background|held-up`.
//!
//! Reads the recording from standard input in the format of [`events`]: any tasks, under `none`, on a device with a
//! volatile cache that takes DEPTH requests at a time. The simulator gets the requests at their recorded times, and
//! serves each in SERVICE_NS. Prints, separated by bars, for the recording and for the simulator: the most writes
//! between issue and completion, and their mean while there is one.

use std::collections::VecDeque;
use std::process::ExitCode;

use flashloom_host::{Admission, BlockLayer, Decision, Dispatched, HostParams, Throttling, WriteCache, Writeback};
use flashloom_kernel_agreement::recording::{Event, Kind, events, layer_of, program, request, text, version};
use flashloom_units::{Ns, ParamSet};
use flashloom_workload::{Op, Request};

/// Writes at a device in the course of time.
#[derive(Debug, Default, PartialEq)]
struct UnderWay {
    now: u64,
    most: u64,
    since_ns: Ns,
    busy_ns: Ns,
    /// Writes times nanoseconds.
    sum: u64,
}

impl UnderWay {
    fn change(&mut self, time_ns: Ns, more: bool) {
        let past_ns = time_ns - self.since_ns;
        self.sum += self.now * past_ns;
        if self.now > 0 {
            self.busy_ns += past_ns;
        }
        self.since_ns = time_ns;
        self.now = if more { self.now + 1 } else { self.now - 1 };
        self.most = self.most.max(self.now);
    }

    fn figures(&self) -> String {
        format!("{} | {:.1}", self.most, self.sum as f64 / self.busy_ns.max(1) as f64)
    }
}

fn recorded(events: &[Event]) -> Result<UnderWay, String> {
    let mut under_way = UnderWay::default();
    for &Event { time_ns, kind, request: (is_read, ..), .. } in events {
        match kind {
            Kind::Issued if !is_read => under_way.change(time_ns, true),
            Kind::Completed if !is_read && under_way.now == 0 => return Err("more writes complete than begin".into()),
            Kind::Completed if !is_read => under_way.change(time_ns, false),
            _ => {}
        }
    }
    Ok(under_way)
}

/// The same requests in the simulator. Those that are refused wait in lines.
fn simulated(mut layer: BlockLayer, events: &[Event], service_ns: Ns) -> Result<UnderWay, String> {
    let mut under_way = UnderWay::default();
    let mut coming = events.iter().filter(|event| event.kind == Kind::Queued).peekable();
    let mut lines: Vec<VecDeque<Request>> = Vec::new();
    // In order of their completion, since each takes as long.
    let mut at_device: VecDeque<(Ns, Dispatched)> = VecDeque::new();
    let mut now = 0;
    loop {
        let wakes_ns = match layer.dispatch(now) {
            Decision::Dispatch(sent) => {
                if sent.op == Op::Write {
                    under_way.change(now, true);
                }
                at_device.push_back((now + service_ns, sent));
                continue;
            }
            Decision::Idle => Ns::MAX,
            Decision::NotBefore(time_ns) => time_ns,
        };
        let arrives_ns = coming.peek().map_or(Ns::MAX, |event| event.time_ns);
        let ends_ns = at_device.front().map_or(Ns::MAX, |&(time_ns, _)| time_ns);
        let next_ns = arrives_ns.min(ends_ns);
        // Windows go on when all is done.
        if next_ns == Ns::MAX && lines.iter().all(VecDeque::is_empty) {
            return Ok(under_way);
        }
        now = next_ns.min(wakes_ns);
        if now == Ns::MAX {
            return Err("requests wait, and nothing will let them in".to_owned());
        }
        if ends_ns == now {
            let (_, sent) = at_device.pop_front().expect("it is there to end");
            layer.complete(now, sent.id, |_| {});
            if sent.op == Op::Write {
                under_way.change(now, false);
            }
        }
        for line in &mut lines {
            while line.front().is_some_and(|first| layer.submit(now, first, 0) != Admission::Full) {
                line.pop_front();
            }
        }
        while let Some(event) = coming.next_if(|event| event.time_ns == now) {
            let flags = if event.is_sync { Request::SYNC } else { 0 };
            let next = request(event.request, now).with_flags(flags);
            let line = layer.line_of(&next) as usize;
            lines.resize_with(lines.len().max(line + 1), VecDeque::new);
            if !lines[line].is_empty() || layer.submit(now, &next, 0) == Admission::Full {
                lines[line].push_back(next);
            }
        }
    }
}

fn compare(linux: &str, depth: u32, service_ns: Ns, writeback: &str, text: &str) -> Result<String, String> {
    let all = [Writeback::Normal, Writeback::Background, Writeback::HeldUp];
    let Some(writeback) = all.into_iter().find(|kind| kind.name() == writeback) else {
        return Err(format!("expected normal, background or held-up, found `{writeback}`"));
    };
    let events = events(text)?;
    let (scheduler, wbt, write_cache) = ("none", Throttling::On, WriteCache::Back);
    let (linux, queue_depth) = (version(linux)?, depth);
    let defaults = HostParams::defaults();
    let host = HostParams { scheduler, linux, queue_depth, wbt, write_cache, writeback, ..defaults };
    let simulated = simulated(layer_of(scheduler, host, &events)?, &events, service_ns)?;
    Ok(format!("{} | {}", recorded(&events)?.figures(), simulated.figures()))
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [linux, depth, service_ns, writeback] = arguments else {
        return Err("usage: write-back LINUX DEPTH SERVICE_NS normal|background|held-up".to_owned());
    };
    let (Some(depth), Some(service_ns)) = (positive(depth), positive(service_ns)) else {
        return Err(format!("expected two numbers above 0, found `{depth}` and `{service_ns}`"));
    };
    compare(linux, depth, Ns::from(service_ns), writeback, &text()?)
}

fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&number| number > 0)
}

fn main() -> ExitCode {
    program("write-back", run)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many writes at one moment, each issued at once, completing after a millisecond.
    fn flood(writes: u32) -> String {
        let all = |time: u64, kind: &str| {
            (0..writes).map(|number| format!("{time} {kind} W {} 8 0\n", number * 1_000)).collect::<String>()
        };
        all(0, "Q") + &all(0, "D") + &all(1_000_000, "C")
    }

    #[test]
    fn a_flood_that_nothing_holds_up_is_more_than_throttling_lets_in() {
        let line = |writeback| compare("6.12", 64, 1_000_000, writeback, &flood(40)).expect("it can be compared");
        assert_eq!(line("background"), "40 | 40.0 | 4 | 4.0");
        assert_eq!(line("normal"), "40 | 40.0 | 8 | 8.0");
        // At 1 ms ten are let in when six of the sixteen are left, and at 2 ms when six of those ten are.
        assert_eq!(line("held-up"), "40 | 40.0 | 16 | 10.0");
    }

    #[test]
    fn what_is_under_way_is_counted_in_time() {
        let lines = "0 Q W 0 8 0\n0 D W 0 8 0\n10 D W 8 8 0\n30 C W 0 8 0\n40 C W 8 8 0\n90 D R 0 8 0\n";
        let found = recorded(&events(lines).expect("they are events")).expect("all began");
        assert_eq!(found.figures(), "2 | 1.5");
        assert_eq!(
            recorded(&events("0 D R 0 8 0\n1 C W 0 8 0\n").expect("they are events")).unwrap_err(),
            "more writes complete than begin"
        );
    }
}
