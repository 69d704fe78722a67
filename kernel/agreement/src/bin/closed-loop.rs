//! Compares a closed loop in the simulator's block layer with the same loop in a recording:
//! `closed-loop SCHEDULER LINUX DEPTH SERVICE_NS`.
//!
//! Reads the recording from standard input in the format of [`events`]: a process that keeps DEPTH requests
//! outstanding, on a device that takes one at a time. The simulator gets the requests in the same order but not their
//! times: it submits one when one completes, and each is served in SERVICE_NS. Prints, separated by bars, for the
//! recording and for the simulator: requests per second and mean latency in microseconds; then the share of requests
//! that both issued in the same order.

use std::collections::VecDeque;
use std::process::ExitCode;

use flashloom_host::BlockLayer;
use flashloom_kernel_agreement::recording::{
    Event, Issued, Kind, block_layer, events, in_order, issued, program, request, take, text,
};
use flashloom_units::Ns;
use flashloom_workload::Op;

/// The result of a closed loop.
#[derive(Debug, PartialEq)]
struct Run {
    served: u64,
    latency_ns: u64,
    duration_ns: Ns,
    issued: Vec<Issued>,
}

impl Run {
    fn figures(&self) -> String {
        let rate = self.served as f64 * 1e9 / self.duration_ns as f64;
        format!("{rate:.1} | {:.0}", self.latency_ns as f64 / self.served as f64 / 1e3)
    }
}

/// The recorded run. A completed request consists of the queued ones within its sectors, the oldest first.
fn recorded(events: &[Event]) -> Result<Run, String> {
    let mut outstanding: Vec<(Issued, Ns)> = Vec::new();
    let mut run = Run { served: 0, latency_ns: 0, duration_ns: 0, issued: issued(events) };
    for &Event { time_ns, kind, request, .. } in events {
        match kind {
            Kind::Queued => outstanding.push((request, time_ns)),
            Kind::Issued | Kind::Run | Kind::Asked => {}
            Kind::Completed => {
                let (read, lba, sectors) = request;
                let mut left = sectors;
                outstanding.retain(|&(part, since)| {
                    let within =
                        part.0 == read && part.1 >= lba && part.1 + u64::from(part.2) <= lba + u64::from(sectors);
                    if !within || part.2 > left {
                        return true;
                    }
                    left -= part.2;
                    run.served += 1;
                    run.latency_ns += time_ns - since;
                    false
                });
                run.duration_ns = time_ns - events[0].time_ns;
            }
        }
    }
    match run.served {
        0 => Err("nothing has completed".to_owned()),
        _ if outstanding.is_empty() => Ok(run),
        _ => Err(format!("{} requests have not completed", outstanding.len())),
    }
}

/// The same requests in the simulator. The device has two tags, of which the first is served, because the kernel
/// chooses the next request as soon as the one before it is issued.
fn simulated(mut layer: BlockLayer, requests: &[Issued], depth: usize, service_ns: Ns) -> Run {
    let mut run = Run { served: 0, latency_ns: 0, duration_ns: 0, issued: Vec::new() };
    let mut coming = requests.iter();
    let mut room = depth;
    let mut now = 0;
    let mut chosen = VecDeque::new();
    loop {
        for &next in coming.by_ref().take(room) {
            layer.submit(now, &request(next, now), 0);
            while let Some(sent) = take(&mut layer, now) {
                chosen.push_back(sent);
            }
        }
        room = 0;
        let Some(sent) = chosen.pop_front() else { return run };
        run.issued.push((sent.op == Op::Read, sent.lba, sent.sectors));
        now += service_ns;
        layer.complete(now, sent.id, |part| {
            room += 1;
            run.latency_ns += now - part.arrival_ns;
        });
        run.served += room as u64;
        run.duration_ns = now;
        // Before the process sees the completion and submits.
        while let Some(sent) = take(&mut layer, now) {
            chosen.push_back(sent);
        }
    }
}

fn compare(scheduler: &str, linux: &str, depth: usize, service_ns: Ns, text: &str) -> Result<String, String> {
    let events = events(text)?;
    let recorded = recorded(&events)?;
    let queued = events.iter().filter(|event| event.kind == Kind::Queued);
    let requests: Vec<Issued> = queued.map(|event| event.request).collect();
    let simulated = simulated(block_layer(scheduler, linux, (1, 2), &events)?, &requests, depth, service_ns);
    let same_order = in_order(&recorded.issued, &simulated.issued);
    let share = 100.0 * f64::from(same_order) / recorded.issued.len().max(simulated.issued.len()) as f64;
    Ok(format!("{} | {} | {share:.2} %", recorded.figures(), simulated.figures()))
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [scheduler, linux, depth, service_ns] = arguments else {
        return Err("usage: closed-loop SCHEDULER LINUX DEPTH SERVICE_NS".to_owned());
    };
    let number = |text: &String| text.parse().ok().filter(|&number| number > 0);
    let (Some(depth), Some(service_ns)) = (number(depth), number(service_ns)) else {
        return Err(format!("expected two numbers above 0, found `{depth}` and `{service_ns}`"));
    };
    compare(scheduler, linux, depth as usize, service_ns, &text()?)
}

fn main() -> ExitCode {
    program("closed-loop", run)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four reads of 1 ms by a process that keeps two outstanding.
    const LINES: &str = "0 Q R 300 8 0\n0 D R 300 8 0\n0 Q R 100 8 0\n1000000 C R 300 8 0\n1000000 D R 100 8 0\n\
        1000000 Q R 200 8 0\n2000000 C R 100 8 0\n2000000 D R 200 8 0\n2000000 Q R 50 8 0\n\
        3000000 C R 200 8 0\n3000000 D R 50 8 0\n4000000 C R 50 8 0\n";

    #[test]
    fn the_loop_gives_in_the_simulator_what_it_gave_on_an_ideal_device() {
        let figures = "1000.0 | 1750 | 1000.0 | 1750 | 100.00 %";
        assert_eq!(compare("noop", "6.12", 2, 1_000_000, LINES), Ok(figures.to_owned()));
    }

    #[test]
    fn a_slower_device_and_a_deeper_loop_show() {
        let line = compare("noop", "6.12", 2, 2_000_000, LINES).expect("it can be compared");
        assert_eq!(line, "1000.0 | 1750 | 500.0 | 3500 | 100.00 %");
        let line = compare("noop", "6.12", 1, 1_000_000, LINES).expect("it can be compared");
        assert_eq!(line, "1000.0 | 1750 | 1000.0 | 1000 | 100.00 %");
    }

    #[test]
    fn a_merged_request_completes_all_of_its_parts() {
        let lines = "0 Q W 0 8 0\n0 Q W 8 8 0\n0 D W 0 16 0\n1000 C W 0 16 0\n";
        let run = recorded(&events(lines).expect("they are events")).expect("all completes");
        assert_eq!(run, Run { served: 2, latency_ns: 2000, duration_ns: 1000, issued: vec![(false, 0, 16)] });
    }

    #[test]
    fn a_recording_that_breaks_off_is_refused() {
        let broken = |lines| compare("noop", "6.12", 1, 1, lines).expect_err("it breaks off");
        assert_eq!(broken("0 Q R 0 8 0\n0 D R 0 8 0\n"), "nothing has completed");
        assert_eq!(broken("0 Q R 0 8 0\n0 Q R 8 8 0\n0 D R 0 8 0\n9 C R 0 8 0\n"), "1 requests have not completed");
    }
}
