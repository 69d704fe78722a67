//! Hint about requests that came at times of their own, and faster than the drive served them.

use flashloom_units::S;

use super::{NOTABLE, Run, hint, total_ns};
use flashloom_figures::number::factor;
use flashloom_figures::result::HintResult;

/// Multiples of `host.queue_depth` from which on the mean number of requests is that of a queue.
const CROWD: f64 = 4.0;

impl Run<'_> {
    /// Hint if the queue grew to the end of the run, or held several times what the drive does on average.
    pub(super) fn overload(&self) -> Option<HintResult> {
        let found = if self.config.has_arrival_times() { self.behind().or_else(|| self.queued()) } else { None };
        let text = format!("{}; offer less, or ask for throughput alone with `workload.replay` = \"closed\".", found?);
        let key = self.config.workload_profile().rate_key.unwrap_or("workload.speed");
        hint("overload", key, text)
    }

    /// More requests were left when the last one came than the drive holds, and they took a tenth of the time until
    /// then.
    fn behind(&self) -> Option<String> {
        let (host, last_ns) = (self.host(), self.last_arrival_ns);
        let (served, longest_ns) = (host.iops?, self.latency()?.all.as_ref()?.max);
        let behind_ns = host.duration_ns?.saturating_sub(last_ns);
        let left = served * behind_ns as f64 / S as f64;
        // With `run.drain` the drive is at work after the last request has completed.
        let is_drain = longest_ns < behind_ns / 2;
        let is_little = (behind_ns as f64) < NOTABLE * last_ns as f64 || left <= self.depth();
        if last_ns == 0 || is_little || is_drain {
            return None;
        }
        Some(format!(
            "{} requests/s came and {} were served: the queue grew to the end, so that latencies tell how long the run \
             was and rank nothing",
            factor(host.requests as f64 * S as f64 / last_ns as f64),
            factor(served)
        ))
    }

    /// By Little's law, [`CROWD`] times the commands that the drive holds were there on average.
    fn queued(&self) -> Option<String> {
        let outstanding = total_ns(self.latency()?.all.as_ref()?) / self.host().duration_ns? as f64;
        (outstanding >= CROWD * self.depth()).then(|| {
            format!(
                "{} requests were outstanding on average, and the drive takes {} at once: it fell behind in bursts, so \
                 that latencies tell how long these were more than anything else",
                factor(outstanding),
                factor(self.depth())
            )
        })
    }

    fn depth(&self) -> f64 {
        f64::from(self.config.host.device_depth())
    }
}
