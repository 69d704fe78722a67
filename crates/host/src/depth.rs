//! Detection of command queueing: cfq decides from the depth of the device's queue whether the device works on many
//! requests at once (`cfq_update_hw_tag`).

use flashloom_units::choice;

/// Number of requests at the device at once that shows command queueing: `CFQ_HW_QUEUE_MIN`.
const DEEP_QUEUE: u32 = 5;
/// Number of completions under load that are sampled before the first verdict.
const SAMPLES: u32 = 50;

choice! {
    /// Kernel version whose detection rule is used. Both rules count the completions at which more than 5 requests wait
    /// or are at the device; at the 51st the device is judged by whether 5 were ever at it at once.
    pub enum HwTag {
        /// Queueing is assumed at first, and judged again after every 51 such completions, by these alone.
        Linux2_6_32 = "2.6.32",
        /// Queueing is assumed at first. From the 51st on, every such completion judges by the maximum since the
        /// beginning, and queueing once detected is kept. While the active queue may be idled for and both it and the
        /// device have fewer than 5 requests, completions are not counted.
        Linux2_6_33 = "2.6.33",
    }
}

/// Detector of a device's command queueing.
pub struct DepthDetector {
    rule: HwTag,
    queues: bool,
    samples: u32,
    peak: u32,
}

flashloom_units::state! { DepthDetector { value queues, samples, peak; fixed rule; } }

impl DepthDetector {
    /// Makes a detector that has seen nothing yet.
    pub fn new(rule: HwTag) -> Self {
        Self { rule, queues: true, samples: 0, peak: 0 }
    }

    /// True if the device is taken to queue commands.
    pub fn queues(&self) -> bool {
        self.queues
    }

    /// Samples the completion of a request, with `waiting` requests queued and `at_device` at the device, itself
    /// included. `idling` is the number that the active queue has waiting and at the device, if that queue may be idled
    /// for.
    pub fn completes(&mut self, waiting: u32, at_device: u32, idling: Option<u32>) {
        self.peak = self.peak.max(at_device);
        let keeps = self.rule == HwTag::Linux2_6_33;
        let is_settled = keeps && self.queues && self.samples > SAMPLES;
        let is_held_back = keeps && at_device < DEEP_QUEUE && idling.is_some_and(|requests| requests < DEEP_QUEUE);
        if is_settled || is_held_back || (waiting <= DEEP_QUEUE && at_device <= DEEP_QUEUE) {
            return;
        }
        self.samples = self.samples.saturating_add(1);
        if self.samples <= SAMPLES {
            return;
        }
        self.queues = self.peak >= DEEP_QUEUE;
        if !keeps {
            self.samples = 0;
            self.peak = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A detector's verdict after each part: a number of completions, with these many requests waiting and at the
    /// device.
    fn after(rule: HwTag, parts: &[(u32, u32, u32)]) -> Vec<bool> {
        let mut detector = DepthDetector::new(rule);
        let mut seen = |&(times, waiting, at_device)| {
            (0..times).for_each(|_| detector.completes(waiting, at_device, None));
            detector.queues()
        };
        parts.iter().map(&mut seen).collect()
    }

    const SHALLOW: (u32, u32, u32) = (51, 6, 1);

    #[test]
    fn under_both_rules_51_loaded_completions_judge_and_unloaded_ones_do_not_count() {
        for rule in [HwTag::Linux2_6_32, HwTag::Linux2_6_33] {
            assert_eq!(after(rule, &[(50, 6, 4), (999, 5, 4), (1, 6, 4)]), [true, true, false], "{}", rule.name());
            assert_eq!(after(rule, &[(51, 6, 5)]), [true], "{}: five at once are enough", rule.name());
        }
    }

    #[test]
    fn hw_tag_of_2_6_32_is_judged_anew_by_every_51_loaded_completions() {
        let parts = [(1, 6, 31), (50, 6, 1), (50, 6, 1), (1, 6, 1), (50, 6, 31), (1, 6, 31)];
        assert_eq!(after(HwTag::Linux2_6_32, &parts), [true, true, true, false, false, true]);
    }

    #[test]
    fn hw_tag_of_2_6_33_is_kept_once_five_requests_were_at_the_device() {
        assert_eq!(after(HwTag::Linux2_6_33, &[(1, 0, 5), SHALLOW, (9_999, 6, 1)]), [true; 3]);
        assert_eq!(after(HwTag::Linux2_6_33, &[SHALLOW, (1, 6, 5), (9_999, 6, 1)]), [false, true, true]);
    }

    #[test]
    fn hw_tag_of_2_6_33_does_not_count_while_cfq_itself_keeps_the_device_shallow() {
        for (rule, queues) in [(HwTag::Linux2_6_33, true), (HwTag::Linux2_6_32, false)] {
            let mut detector = DepthDetector::new(rule);
            (0..99).for_each(|_| detector.completes(9, 4, Some(4)));
            assert_eq!(detector.queues(), queues, "{}", rule.name());
            (0..99).for_each(|_| detector.completes(9, 4, Some(5)));
            assert!(!detector.queues(), "an active queue with five requests could have sent them");
        }
    }
}
