//! Shortest first: the shortest waiting request is dispatched next, unless one has waited for too long.
//!
//! ```text
//! dispatch:  the oldest request, if it has waited for max_wait; else the shortest, the oldest of equals
//! ```

use flashloom::prelude::*;

params! {
    /// The parameters of this scheduler.
    pub struct Params {
        /// Maximum time that a request waits while shorter ones go first.
        max_wait_ns: Ns => "max_wait", Kind::Time { min: 0, max: 60 * S }, Value::Time(50 * MS),
            "A longer wait serves more short requests early and lets long ones starve for longer.";
    }
}

static SPEC: PolicySpec = PolicySpec {
    name: "shortest",
    summary: "the shortest request first",
    details: "A request that has waited for max_wait goes before all others.",
    source: "the shortest job first of any textbook",
    params: Params::PARAMS,
    statistics: &[
        Statistic::count("overdue", "Requests that had waited for too long.").as_column("overdue"),
    ],
    ..PolicySpec::BLANK
};

/// The scheduler as a policy.
pub fn policy() -> Policy<dyn Scheduler> {
    Policy::<dyn Scheduler>::new(&SPEC, |params: Params, _setup| {
        let waiting = Vec::new();
        Ok(Box::new(Shortest {
            params,
            waiting,
            overdue: 0,
        }))
    })
}

struct Shortest {
    params: Params,
    /// Waiting requests in order of arrival.
    waiting: Vec<RequestId>,
    overdue: u64,
}

impl Component for Shortest {
    fn figures(&self) -> Vec<Figure> {
        vec![Figure::Count(self.overdue)]
    }
}

impl Scheduler for Shortest {
    fn insert(&mut self, now: Ns, _requests: &Requests, id: RequestId) -> Ns {
        self.waiting.push(id);
        now + self.params.max_wait_ns
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        let shortest = (0..self.waiting.len()).min_by_key(|&at| requests[self.waiting[at]].sectors);
        let Some(shortest) = shortest else {
            return Choice::Idle;
        };
        let is_overdue = requests[self.waiting[0]].deadline_ns <= now;
        self.overdue += u64::from(is_overdue);
        Choice::Request(self.waiting.remove(if is_overdue { 0 } else { shortest }))
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let (listed, queued) = (self.waiting.len() as u64, requests.count(Stage::Queued));
        let is_sound = listed == queued;
        is_sound
            .then_some(())
            .ok_or_else(|| violation!("{listed} listed, {queued} queued"))
    }
}
