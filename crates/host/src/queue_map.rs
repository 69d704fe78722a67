//! The map from processors to hardware queues (docs/linux-schedulers.md, "Software and hardware queues").

use crate::linux::Linux;

/// Processors, the hardware queues of a device, and which of those each processor submits to.
#[derive(Clone, Copy, Debug)]
pub struct QueueMap {
    processors: u32,
    queues: u32,
    linux: Linux,
}

impl QueueMap {
    /// Makes the map of a host, which has no more hardware queues than processors.
    pub fn new(processors: u32, queues: u32, linux: Linux) -> Self {
        debug_assert!((1..=processors).contains(&queues), "a rule of the configuration");
        Self { processors, queues, linux }
    }

    /// Number of processors.
    pub fn processors(&self) -> u32 {
        self.processors
    }

    /// Number of hardware queues.
    pub fn queues(&self) -> u32 {
        self.queues
    }

    /// The processor that a task runs on.
    #[inline]
    pub fn processor_of(&self, task: u32) -> u32 {
        task % self.processors
    }

    /// The hardware queue that a task submits to.
    #[inline]
    pub fn queue_of(&self, task: u32) -> u32 {
        let processor = self.processor_of(task);
        if self.linux < Linux::V6_12 {
            return processor % self.queues;
        }
        let (least, longer) = (self.processors / self.queues, self.processors % self.queues);
        let of_longer = longer * (least + 1);
        if processor < of_longer { processor / (least + 1) } else { longer + (processor - of_longer) / least }
    }

    /// The processors of a hardware queue, in order.
    pub fn processors_of(&self, queue: u32) -> impl Iterator<Item = u32> + use<> {
        let (range, step) = if self.linux < Linux::V6_12 {
            (queue..self.processors, self.queues)
        } else {
            let (least, longer) = (self.processors / self.queues, self.processors % self.queues);
            let first = |queue: u32| queue * least + queue.min(longer);
            (first(queue)..first(queue + 1), 1)
        };
        range.step_by(step as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(processors: u32, hardware_queues: u32, linux: Linux) -> QueueMap {
        QueueMap::new(processors, hardware_queues, linux)
    }

    #[test]
    fn linux_6_1_deals_the_queues_out_and_6_12_gives_each_its_neighbours() {
        let queues = |processors, queues, linux| {
            let map = map(processors, queues, linux);
            (0..processors).map(|task| map.queue_of(task)).collect::<Vec<_>>()
        };
        assert_eq!(queues(8, 3, Linux::V6_1), [0, 1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(queues(8, 3, Linux::V6_12), [0, 0, 0, 1, 1, 1, 2, 2]);
        for linux in [Linux::V6_1, Linux::V6_12] {
            assert_eq!(queues(4, 4, linux), [0, 1, 2, 3]);
            assert_eq!(queues(4, 1, linux), [0; 4]);
        }
        assert_eq!(map(8, 3, Linux::V6_12).queue_of(8 + 7), 2, "task 15 runs on processor 7");
    }

    #[test]
    fn every_processor_is_listed_at_its_queue_alone_and_in_order() {
        for linux in [Linux::V6_1, Linux::V6_12] {
            for (processors, queues) in (1..20).flat_map(|processors| (1..=processors).map(move |n| (processors, n))) {
                let map = map(processors, queues, linux);
                for queue in 0..queues {
                    let expected: Vec<u32> = (0..processors).filter(|&task| map.queue_of(task) == queue).collect();
                    assert_eq!(map.processors_of(queue).collect::<Vec<_>>(), expected, "{processors} on {queues}");
                    assert!(!expected.is_empty());
                }
            }
        }
    }
}
