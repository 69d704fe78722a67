//! Whether a device takes many requests at once, as cfq finds out from how deep its queue gets (`cfq_update_hw_tag`).

use flashloom_units::choice;

/// How many requests at once on a device counts as one that queues: `CFQ_HW_QUEUE_MIN`.
const DEEP_QUEUE: u32 = 5;
/// How many completions under load are looked at before the first verdict.
const SAMPLES: u32 = 50;

choice! {
    /// The rule. Both count the completions at which more than 5 requests wait or are at the device; the 51st of them
    /// judges by whether 5 were ever at the device at once.
    pub enum HwTag {
        /// Taken for granted at first; judged again after every 51 such completions, by what these have seen.
        Linux2_6_32 = "2.6.32",
        /// Unknown at first, which acts as if it did; from the 51st on every such completion judges, by the most since
        /// the beginning, and once seen it is kept. While the active queue may be idled for and both it and the device
        /// have fewer than 5 requests, none is counted.
        Linux2_6_33 = "2.6.33",
    }
}

/// What was seen of a device.
#[derive(Debug)]
pub struct DepthDetector {
    rule: HwTag,
    queues: bool,
    samples: u32,
    peak: u32,
}

flashloom_units::state! { DepthDetector { value queues, samples, peak; fixed rule; } }

impl DepthDetector {
    /// A device of which nothing is known yet.
    pub fn new(rule: HwTag) -> Self {
        Self { rule, queues: true, samples: 0, peak: 0 }
    }

    /// Whether the device counts as one that queues.
    pub fn queues(&self) -> bool {
        self.queues
    }

    /// A request is completing, with so many waiting and so many at the device, itself included. `idling` is how many
    /// the active queue has waiting and at the device, if it is one that may be idled for.
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

    /// A detector after each part: so many completions with that many waiting and at the device.
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
