//! Report of a personality's run, as Filebench prints it: operations per second, and the latency of each flow
//! operation.

use flashloom_units::{Latency, Ns};

use super::personality::{Flow, Personality};
use super::thread::Thread;

/// Latencies of one flow operation.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// Name in the published personality.
    pub name: &'static str,
    /// Time from start to end, waiting included; its count is the number of operations that ended.
    pub latency: Latency,
}

/// Operations, time and latencies of a personality's run.
#[derive(Clone, Debug)]
pub struct FilebenchReport {
    /// The personality.
    pub personality: Personality,
    /// Flow operations that ended; waits for other threads do not count.
    pub operations: u64,
    /// Simulated time that the threads ran.
    pub duration_ns: Ns,
    /// Processor time of all threads together; what had begun by the end counts in full.
    pub cpu_ns: Ns,
    /// One entry per flow operation, in the order of the personality.
    pub flows: Vec<FlowReport>,
}

impl FilebenchReport {
    pub(super) fn new(personality: Personality, threads: &[Thread]) -> Self {
        let mut report = Self { personality, operations: 0, duration_ns: 0, cpu_ns: 0, flows: Vec::new() };
        for flow in threads.iter().flat_map(|thread| thread.program).filter(|flow| flow.is_operation()) {
            if report.flows.iter().all(|known| known.name != flow.name) {
                report.flows.push(FlowReport { name: flow.name, latency: Latency::new() });
            }
        }
        report
    }

    pub(super) fn add(&mut self, flow: &Flow, latency_ns: Ns) {
        if let Some(known) = self.flows.iter_mut().find(|known| known.name == flow.name) {
            known.latency.record(latency_ns);
            self.operations += 1;
        }
    }
}
