//! Checks of the block layer: what it counts is what its pool, its scheduler and its hardware queues hold.

use flashloom_units::{Violation, violation};

use super::BlockLayer;
use crate::requests::{Class, Queued, Requests, Stage};
use crate::stats::SchedulerStats;

/// Stages of requests that the block layer holds and the device does not.
const WAITS: [Stage; 3] = [Stage::Plugged, Stage::Queued, Stage::Taken];

impl BlockLayer {
    /// True if no class holds more than it may, and a set of tags none that it has not.
    fn limits_hold(&self) -> bool {
        let Some(tags) = &self.tags else { return self.held.iter().all(|&n| n <= self.nr_requests) };
        let most = tags.reads.max(tags.sync_writes).max(tags.async_writes);
        match &self.hardware {
            None => self.held[0] + self.held[1] <= most,
            Some(hardware) => hardware.counts().all(|(held, ..)| held <= most),
        }
    }

    /// True if the hardware queues hold together what the block layer holds, and each no more than its depth.
    fn hardware_queues_add_up(&self) -> bool {
        let Some(hardware) = &self.hardware else { return self.in_flight <= self.queue_depth };
        let sums = hardware.counts().fold((0, 0, 0), |sums, (held, in_flight, taken)| {
            (sums.0 + held, sums.1 + in_flight, sums.2 + taken as u64)
        });
        sums == (self.held[0] + self.held[1], self.in_flight, self.requests.count(Stage::Taken))
            && hardware.counts().all(|(_, in_flight, _)| in_flight <= self.queue_depth)
    }

    fn classes_add_up(&self) -> bool {
        let in_pool = |class| self.requests.in_use().filter(|request| request.class() == class).count() as u32;
        Class::BOTH.iter().all(|&class| self.held[class.at()] == in_pool(class))
    }

    fn tokens_add_up(&self) -> bool {
        let Some(throttle) = &self.throttle else { return true };
        let needs = |request: &&Queued| throttle.line_of(request.op, request.flags).is_some();
        self.requests.in_use().filter(needs).count() as u32 + throttle.in_hand() == throttle.taken()
    }

    /// Checks that no request was lost or counted twice.
    ///
    /// # Errors
    /// The first rule that does not hold, with the values of all counters.
    pub fn check(&self) -> Result<(), Violation> {
        let SchedulerStats { inserted, merged, dispatched, completed, .. } = self.stats;
        let (queued, in_flight, flushes) = (self.queued(), u64::from(self.in_flight), self.flushes.len() as u64);
        let sum =
            |count: fn(&Requests, Stage) -> u64| WAITS.map(|stage| count(&self.requests, stage)).iter().sum::<u64>();
        let (listed, waiting) = (sum(Requests::count) + flushes, sum(Requests::count_members) + flushes);
        let held = self.requests.count(Stage::InFlight);
        let members = waiting + self.requests.count_members(Stage::InFlight);
        let counters = violation!(
            "inserted {inserted}, merged {merged}, dispatched {dispatched}, completed {completed}, queued {queued} \
             ({listed} in the pool), in flight {in_flight} ({held} in the pool), original requests held {members}"
        );
        let rules = [
            ("inserted = merged + dispatched + queued", inserted == merged + dispatched + queued),
            ("inserted = completed + original requests held", inserted == completed + members),
            ("queued and in flight are what the pool holds", queued == listed && in_flight == held),
            ("the device holds no more than its queue depth, in each hardware queue", self.hardware_queues_add_up()),
            ("no class holds more than nr_requests, and all no more than their tags", self.limits_hold()),
            ("what the classes hold is what waits and what is in flight", self.classes_add_up()),
            ("every request that is throttled has a token", self.tokens_add_up()),
        ];
        match rules.iter().find(|(_, holds)| !holds) {
            Some((rule, _)) => Err(violation!("host: it does not hold that {rule}: {counters}")),
            None => self.scheduler.check().and_then(|()| self.scheduler.check_queued(&self.requests)),
        }
    }
}
