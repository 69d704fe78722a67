//! What a run of a personality reports, as Filebench does: operations a second, and the latency of each flow operation.

use flashloom_units::{Latency, Ns};

use super::personality::{Flow, Personality};
use super::thread::Thread;

/// One flow operation.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// As in the published personality.
    pub name: &'static str,
    /// From its start to its end, waiting included; the count is that of operations that ended.
    pub latency: Latency,
}

/// What the threads did.
#[derive(Clone, Debug)]
pub struct FilebenchReport {
    /// The personality.
    pub personality: Personality,
    /// Flow operations that ended; waits between threads are none.
    pub operations: u64,
    /// How long the threads ran.
    pub duration_ns: Ns,
    /// Processor time that the threads took, all of them together; what they had begun by the end counts in full.
    pub cpu_ns: Ns,
    /// Every flow operation, in the order of the personality.
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
