//! Compares what each hardware queue issues in the simulator with a recording: `queue-order SCHEDULER LINUX QUEUES`.
//!
//! Reads the recording from standard input in the format of [`events`]: of a device with that many hardware queues,
//! each of which takes one request at a time, and as many processors. Each queued request is submitted at its time and
//! from its processor, a hardware queue is run when it was, and a request completes in the simulator when one of its
//! hardware queue has in the recording. What a run sends, and to which queue, is for the simulator to say.
//!
//! Prints, separated by bars: requests issued; requests in the same order (longest common subsequence of each hardware
//! queue); the share of these in the hardware queue with the lowest; the share of all; and how often the scheduler was
//! asked, or not asked once more, in both.

use std::collections::VecDeque;
use std::process::ExitCode;

use flashloom_host::{Admission, BlockLayer, Decision, Dispatched, RequestId};
use flashloom_kernel_agreement::recording::{
    Event, Issued, Kind, block_layer, events, in_order, program, request, text,
};
use flashloom_units::Ns;
use flashloom_workload::{Op, Request};

/// Requests that each hardware queue issued, in order.
type Orders = Vec<Vec<Issued>>;

/// True if a request has a part, of the same direction.
fn holds(whole: Issued, part: Issued) -> bool {
    let end = |request: Issued| request.1 + u64::from(request.2);
    whole.0 == part.0 && whole.1 <= part.1 && end(part) <= end(whole)
}

/// The hardware queue of each event, which is that of the processor from which a request's oldest part was queued:
/// whichever queue is run sends what the scheduler gives, so that the processor of an issue says nothing.
fn queues(events: &[Event], queues: u32) -> Result<Vec<usize>, String> {
    let mut waiting: Vec<(Issued, u32)> = Vec::new();
    let mut at_device: Vec<(Issued, u32)> = Vec::new();
    let mut of = Vec::with_capacity(events.len());
    for event in events {
        let lost = || format!("{:?} of {:?} without what comes before it", event.kind, event.request);
        let queue = match event.kind {
            Kind::Run | Kind::Asked => event.processor,
            Kind::Queued => {
                waiting.push((event.request, event.processor));
                event.processor
            }
            Kind::Issued => {
                let oldest = waiting.iter().find(|(part, _)| holds(event.request, *part));
                let queue = oldest.ok_or_else(lost)?.1;
                waiting.retain(|&(part, _)| !holds(event.request, part));
                at_device.push((event.request, queue));
                queue
            }
            Kind::Completed => {
                let at = at_device.iter().position(|&(issued, _)| issued == event.request).ok_or_else(lost)?;
                at_device.remove(at).1
            }
        };
        if queue >= queues {
            return Err(format!("processor {queue} has no hardware queue of {queues}"));
        }
        of.push(queue as usize);
    }
    Ok(of)
}

fn recorded(events: &[Event], of: &[usize], queues: u32) -> Orders {
    let mut orders = vec![Vec::new(); queues as usize];
    for (event, &queue) in events.iter().zip(of) {
        if event.kind == Kind::Issued {
            orders[queue].push(event.request);
        }
    }
    orders
}

/// The same in the simulator.
struct Replay {
    layer: BlockLayer,
    /// True if requests go to the device without a run, as under `none`.
    is_direct: bool,
    /// True if whichever queue is run is given the next request of all, as by `mq-deadline`.
    is_shared: bool,
    orders: Orders,
    at_device: Vec<VecDeque<RequestId>>,
    /// Requests that wait for a tag, by the hardware queue that has it.
    refused: Vec<VecDeque<Request>>,
    /// Hardware queues whose run goes on here, so that the scheduler is asked next.
    goes_on: Vec<bool>,
    /// How often the scheduler was asked in the recording when the run had ended here, or was not when the run went on.
    differs: u32,
}

impl Replay {
    fn new(layer: BlockLayer, scheduler: &str, queues: u32) -> Self {
        let count = queues as usize;
        Self {
            layer,
            is_direct: scheduler == "none",
            is_shared: scheduler == "mq-deadline",
            orders: vec![Vec::new(); count],
            at_device: vec![VecDeque::new(); count],
            refused: vec![VecDeque::new(); count],
            goes_on: vec![false; count],
            differs: 0,
        }
    }

    /// Follows an event of a hardware queue.
    fn follow(&mut self, event: &Event, queue: usize) {
        match event.kind {
            Kind::Queued => {
                self.refused[queue].push_back(request(event.request, event.time_ns).of_task(event.processor));
                self.submit(event.time_ns, queue);
            }
            // A run that was stopped between the failure to get a tag and the wait for one finds it free.
            Kind::Issued if self.at_device[queue].is_empty() => {
                self.differs += 1;
                self.run(event.time_ns, queue, false);
            }
            Kind::Issued => {}
            Kind::Run => {
                self.differs += u32::from(self.goes_on[queue]);
                self.run(event.time_ns, queue, false);
            }
            Kind::Asked => {
                self.differs += u32::from(!self.layer.is_run(event.processor));
                self.run(event.time_ns, queue, true);
            }
            Kind::Completed => {
                if let Some(id) = self.at_device[queue].pop_front() {
                    self.layer.complete(event.time_ns, id, |_| {});
                    self.submit(event.time_ns, queue);
                }
            }
        }
    }

    fn submit(&mut self, now: Ns, queue: usize) {
        while let Some(first) = self.refused[queue].front()
            && self.layer.submit(now, first, 0) != Admission::Full
        {
            self.refused[queue].pop_front();
        }
        if self.is_direct {
            while let Decision::Dispatch(sent) = self.layer.dispatch(now) {
                self.issue(&sent);
            }
        }
    }

    fn issue(&mut self, sent: &Dispatched) {
        // The task is the processor, and that has the hardware queue of its number.
        self.orders[sent.task as usize].push((sent.op == Op::Read, sent.lba, sent.sectors));
        self.at_device[sent.task as usize].push_back(sent.id);
    }

    /// Begins the run of a hardware queue, or asks the scheduler in it.
    fn run(&mut self, now: Ns, queue: usize, asks: bool) {
        while let Some(sent) = self.layer.run_queue(now, queue as u32, asks) {
            self.issue(&sent);
            if asks {
                break;
            }
        }
        // Who gives each queue its own is asked until it has none, and is not asked then.
        let may_be_asked = self.is_shared && self.layer.with_scheduler() > 0;
        self.goes_on[queue] = may_be_asked && self.layer.is_run(queue as u32);
    }
}

fn compare(scheduler: &str, linux: &str, count: u32, text: &str) -> Result<String, String> {
    let events = events(text)?;
    let of = queues(&events, count)?;
    let recorded = recorded(&events, &of, count);
    let mut replay = Replay::new(block_layer(scheduler, linux, (count, 1), &events)?, scheduler, count);
    events.iter().zip(&of).for_each(|(event, &queue)| replay.follow(event, queue));
    let (mut issued, mut same, mut lowest) = (0, 0, f64::INFINITY);
    for (queue, (recorded, simulated)) in recorded.iter().zip(&replay.orders).enumerate() {
        if recorded.is_empty() {
            return Err(format!("hardware queue {queue} has issued nothing"));
        }
        let (longer, in_order) = (recorded.len().max(simulated.len()), in_order(recorded, simulated));
        issued += longer;
        same += in_order;
        lowest = f64::min(lowest, 100.0 * f64::from(in_order) / longer as f64);
    }
    let percent = |part: u32, of: usize| 100.0 * f64::from(part) / of.max(1) as f64;
    let asked = events.iter().filter(|event| event.kind == Kind::Asked).count();
    let alike = 100.0 - percent(replay.differs, asked).min(100.0);
    Ok(format!("{issued} | {same} | {lowest:.2} % | {:.2} % | {alike:.2} %", percent(same, issued)))
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [scheduler, linux, queues] = arguments else {
        return Err("usage: queue-order SCHEDULER LINUX QUEUES".to_owned());
    };
    let count = queues.parse().ok().filter(|&count| count > 0);
    let count = count.ok_or_else(|| format!("expected a number of queues above 0, found `{queues}`"))?;
    compare(scheduler, linux, count, &text()?)
}

fn main() -> ExitCode {
    program("queue-order", run)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two queues of one tag. The run of queue 1 is given 100, which is queue 0's, and 200; then 300 finds no tag.
    /// Queue 0 sends it when 100 has completed.
    const LINES: &str = "0 Q R 100 8 0\n1 Q R 300 8 0\n2 Q R 200 8 1\n3 run R 0 0 1\n4 ask R 0 0 1\n5 D R 100 8 1\n\
        6 ask R 0 0 1\n7 D R 200 8 1\n8 ask R 0 0 1\n20 C R 100 8 1\n21 run R 0 0 0\n22 D R 300 8 0\n";

    #[test]
    fn each_queue_issues_in_the_simulator_what_it_issued() {
        let line = compare("mq-deadline", "6.12", 2, LINES);
        assert_eq!(line, Ok("3 | 3 | 100.00 % | 100.00 % | 100.00 %".to_owned()));
        let kyber = compare("kyber", "6.12", 2, LINES).expect("it can be compared");
        assert!(kyber.starts_with("3 | 1 | 0.00 % | 33.33 %"), "it gives queue 1 its own: {kyber}");
    }

    #[test]
    fn a_direct_request_is_issued_when_its_queue_has_a_tag() {
        let lines = "0 Q R 100 8 0\n1 D R 100 8 0\n2 Q R 300 8 0\n3 Q R 200 8 1\n4 D R 200 8 1\n5 C R 100 8 0\n\
            6 D R 300 8 0\n";
        assert_eq!(compare("none", "6.12", 2, lines), Ok("3 | 3 | 100.00 % | 100.00 % | 100.00 %".to_owned()));
    }

    #[test]
    fn who_is_asked_too_often_or_not_often_enough_shows() {
        let often = LINES.replace("8 ask R 0 0 1\n", "8 ask R 0 0 1\n9 ask R 0 0 0\n");
        assert_eq!(compare("mq-deadline", "6.12", 2, &often).expect("it can").rsplit(" | ").next(), Some("75.00 %"));
        // 300 stays with the scheduler, which the next run of queue 1 finds out.
        let seldom = LINES.replace("8 ask R 0 0 1\n", "8 run R 0 0 1\n");
        let seldom = &seldom[..seldom.find("20 C").expect("it has one")];
        assert_eq!(compare("mq-deadline", "6.12", 2, seldom).expect("it can").rsplit(" | ").next(), Some("50.00 %"));
    }

    #[test]
    fn a_run_that_was_stopped_costs_no_more_than_itself() {
        // Queue 0 finds the tag free that it did not find when its run began.
        let stopped = LINES.replace("20 C R 100 8 1\n21 run R 0 0 0\n", "19 run R 0 0 0\n20 C R 100 8 1\n");
        let line = compare("mq-deadline", "6.12", 2, &stopped);
        assert_eq!(line, Ok("3 | 3 | 100.00 % | 100.00 % | 66.67 %".to_owned()));
    }

    #[test]
    fn a_recording_of_other_queues_is_refused() {
        let refused = |lines, queues| compare("mq-deadline", "6.12", queues, lines).expect_err("it is refused");
        assert_eq!(refused("0 Q R 0 8 2\n1 D R 0 8 0\n", 2), "processor 2 has no hardware queue of 2");
        assert_eq!(refused("0 D R 0 8 0\n", 1), "Issued of (true, 0, 8) without what comes before it");
        assert_eq!(refused("0 Q R 0 8 0\n1 D R 0 8 0\n", 2), "hardware queue 1 has issued nothing");
    }
}
