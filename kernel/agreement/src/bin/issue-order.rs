//! Compares the issue order of a simulated scheduler with that of a recording: `issue-order SCHEDULER LINUX`.
//!
//! Reads the recording from standard input in the format of [`events`]. Each queued request is submitted at its time,
//! and at each issue the simulator is asked for a request, which completes when one has in the recording.
//!
//! Prints, separated by bars: requests issued, requests at the same position of both orders, requests in the same order
//! (longest common subsequence), and the share of these.

use std::collections::VecDeque;
use std::process::ExitCode;

use flashloom_host::BlockLayer;
use flashloom_kernel_agreement::recording::{
    Event, Issued, Kind, block_layer, events, in_order, issued, program, request, take, text,
};
use flashloom_workload::Op;

/// Requests at the device, and the one that waits for its tag.
const CHOSEN: u32 = 2;

/// The simulator's request for each recorded issue; `None` where it has none.
///
/// The kernel asks its scheduler for requests until the device has no tag for one, which then waits outside the
/// scheduler. So on a device of one tag the next request is always chosen early: when the one before it is issued, or
/// on arrival if none is queued then.
fn replay(mut layer: BlockLayer, events: &[Event]) -> Vec<Option<Issued>> {
    let mut issued = Vec::new();
    let mut ahead = None;
    let mut chosen = VecDeque::new();
    for event in events {
        match event.kind {
            Kind::Queued => {
                layer.submit(event.time_ns, &request(event.request, event.time_ns), 0);
            }
            Kind::Issued => issued.push(ahead.take()),
            Kind::Run | Kind::Asked => continue,
            // The device serves one at a time.
            Kind::Completed => {
                if let Some(id) = chosen.pop_front() {
                    layer.complete(event.time_ns, id, |_| {});
                }
                continue;
            }
        }
        if ahead.is_none()
            && let Some(sent) = take(&mut layer, event.time_ns)
        {
            chosen.push_back(sent.id);
            ahead = Some((sent.op == Op::Read, sent.lba, sent.sectors));
        }
    }
    issued
}

fn compare(scheduler: &str, linux: &str, text: &str) -> Result<String, String> {
    let events = events(text)?;
    let recorded: Vec<_> = issued(&events).into_iter().map(Some).collect();
    let simulated = replay(block_layer(scheduler, linux, (1, CHOSEN), &events)?, &events);
    let same_place = recorded.iter().zip(&simulated).filter(|(a, b)| a == b).count();
    let same_order = in_order(&recorded, &simulated);
    let share = 100.0 * f64::from(same_order) / recorded.len() as f64;
    Ok(format!("{} | {same_place} | {same_order} | {share:.2} %", recorded.len()))
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [scheduler, linux] = arguments else { return Err("usage: issue-order SCHEDULER LINUX".to_owned()) };
    compare(scheduler, linux, &text()?)
}

fn main() -> ExitCode {
    program("issue-order", run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_chosen_when_the_one_before_it_is_issued() {
        let lines = "0 Q R 100 8 0\n1 D R 100 8 0\n2 Q R 300 8 0\n3 Q R 200 8 0\n\
            4 C R 100 8 0\n5 D R 300 8 0\n6 C R 300 8 0\n7 D R 200 8 0\n";
        assert_eq!(
            compare("deadline", "6.12", lines),
            Ok("3 | 3 | 3 | 100.00 %".to_owned()),
            "300 was alone when it came"
        );
    }

    #[test]
    fn what_is_late_costs_its_own_place_in_the_order_and_every_place_before_it() {
        let lines = "0 Q R 100 8 0\n1 Q R 200 8 0\n2 Q R 300 8 0\n3 D R 200 8 0\n\
            4 C R 200 8 0\n5 D R 300 8 0\n6 C R 300 8 0\n7 D R 100 8 0\n";
        assert_eq!(compare("noop", "6.12", lines), Ok("3 | 0 | 2 | 66.67 %".to_owned()));
    }
}
