//! Hint about requests that came at times of their own, and faster than the drive served them.

use flashloom_units::S;

use super::{NOTABLE, Run, hint};
use crate::figures::factor;
use crate::result::HintResult;

impl Run<'_> {
    /// Hint if more requests were left when the last one came than the drive holds, and they took a tenth of the time
    /// until then: the queue has grown all along.
    pub(super) fn overload(&self) -> Option<HintResult> {
        let (host, last_ns) = (self.host(), self.last_arrival_ns);
        if !self.config.has_arrival_times() || last_ns == 0 {
            return None;
        }
        let (served, longest_ns) = (host.iops?, self.latency()?.all.as_ref()?.max);
        let behind_ns = host.duration_ns?.saturating_sub(last_ns);
        let left = served * behind_ns as f64 / S as f64;
        // With `run.drain` the drive is at work after the last request has completed.
        let is_drain = longest_ns < behind_ns / 2;
        if (behind_ns as f64) < NOTABLE * last_ns as f64 || left <= f64::from(self.config.host.queue_depth) || is_drain
        {
            return None;
        }
        let offered = host.requests as f64 * S as f64 / last_ns as f64;
        let text = format!(
            "{} requests/s came and {} were served: the queue grew to the end, so that latencies tell how long the run \
             was and rank nothing; offer less, or ask for throughput alone with `workload.replay` = \"closed\".",
            factor(offered),
            factor(served)
        );
        let key = if self.config.synthetic().is_some() { "workload.synthetic.interarrival" } else { "workload.speed" };
        hint("overload", key, text)
    }
}
