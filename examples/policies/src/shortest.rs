//! Shortest first: the shortest waiting request goes next, unless one has waited for too long.
//!
//! ```text
//! dispatch:  the oldest request, if it has waited for max_wait; else the shortest, the oldest of equals
//! ```

use flashloom::host::scheduler::Choice;
use flashloom::host::{RequestId, Requests, Scheduler, Stage};
use flashloom::units::{
    Figure, Kind, MS, Ns, ParamSet, Policy, PolicySpec, S, Statistic, Value, params,
};
use flashloom::workload::Request;

params! {
    /// The parameters of this scheduler.
    pub struct Params {
        /// How long a request waits at most while shorter ones go first.
        max_wait_ns: Ns => "max_wait", Kind::Time { min: 0, max: 60 * S }, Value::Time(50 * MS),
            "A longer wait serves more short requests early and lets long ones starve for longer.";
    }
}

static SPEC: PolicySpec = PolicySpec {
    name: "shortest",
    summary: "the shortest request first",
    details: "A request that has waited for max_wait goes first. Nothing is sorted, so nothing merges.",
    source: "the shortest job first of any textbook",
    params: Params::PARAMS,
    statistics: &[Statistic::count("overdue", "Requests that went because they had waited for too long.")],
    ..PolicySpec::BLANK
};

/// The scheduler as a policy.
pub fn policy() -> Policy<dyn Scheduler> {
    Policy::<dyn Scheduler>::new(&SPEC, |values, _setup| {
        let params = Params::from_values(values);
        Ok(Box::new(Shortest { params, waiting: Vec::new(), overdue: 0 }))
    })
}

struct Shortest {
    params: Params,
    /// In order of arrival, each with the time of that.
    waiting: Vec<(RequestId, Ns)>,
    overdue: u64,
}

impl Scheduler for Shortest {
    fn insert(&mut self, now: Ns, _requests: &Requests, id: RequestId) -> Ns {
        self.waiting.push((id, now));
        now + self.params.max_wait_ns
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        let Some(&(_, arrived)) = self.waiting.first() else { return Choice::Idle };
        let is_overdue = now - arrived >= self.params.max_wait_ns;
        let length = |&at: &usize| requests[self.waiting[at].0].sectors;
        let shortest = || (0..self.waiting.len()).min_by_key(length).unwrap_or(0);
        let at = if is_overdue { 0 } else { shortest() };
        self.overdue += u64::from(is_overdue);
        Choice::Request(self.waiting.remove(at).0)
    }

    fn absorb(&mut self, _requests: &Requests, _kept: RequestId, gone: RequestId) {
        self.waiting.retain(|(id, _)| *id != gone);
    }

    fn front_merge_candidate(&self, _requests: &Requests, _: &Request) -> Option<RequestId> {
        None
    }

    fn former(&self, _requests: &Requests, _id: RequestId) -> Option<RequestId> {
        None
    }

    fn latter(&self, _requests: &Requests, _id: RequestId) -> Option<RequestId> {
        None
    }

    fn moved(&mut self, _requests: &Requests, _id: RequestId) {}

    fn figures(&self) -> Vec<Figure> {
        vec![Figure::Count(self.overdue)]
    }

    fn check(&self, requests: &Requests) -> Result<(), String> {
        let (listed, queued) = (self.waiting.len() as u64, requests.count(Stage::Queued));
        if listed == queued { Ok(()) } else { Err(format!("{listed} listed, {queued} queued")) }
    }
}
