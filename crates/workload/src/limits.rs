//! Limits of a workload: how many requests a second, bytes a second, and requests at once it may send. What is over
//! them waits before the host, in its order, and its latency counts from when the workload had it ready.
//!
//! A request takes its share of a second of each rate, and the next one may be sent when that has passed: nothing is
//! saved up while the workload is idle, and no burst passes.

use std::collections::VecDeque;

use flashloom_units::{Figure, Ns, Problem, S, SECTOR_BYTES};

use crate::workload::{Report, Running};
use crate::{Arrivals, Request};

/// Limits, each of which may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most requests a second.
    pub requests_per_s: Option<u64>,
    /// Most bytes a second, read, written or discarded.
    pub bytes_per_s: Option<u64>,
    /// Most requests that have been sent and have not completed.
    pub outstanding: Option<u32>,
}

/// Most requests that wait for the limits; while there are so many, the workload waits.
const BACKLOG: usize = 65_536;

/// A workload that keeps to limits.
pub struct Throttled<'a> {
    workload: Box<dyn Running + 'a>,
    limits: Limits,
    /// Requests that were ready, with their cookies.
    waiting: VecDeque<(Request, u32)>,
    outstanding: u32,
    /// When rates allow the next request.
    allowed_ns: Ns,
}

impl<'a> Throttled<'a> {
    /// Holds a workload that has not begun to limits.
    pub fn new(workload: Box<dyn Running + 'a>, limits: Limits) -> Self {
        Self { workload, limits, waiting: VecDeque::new(), outstanding: 0, allowed_ns: 0 }
    }

    /// The time that a request takes of the rates.
    fn share_ns(&self, request: &Request) -> Ns {
        let share = |amount: u64, rate: Option<u64>| {
            let share = rate.map_or(0, |rate| (u128::from(amount) * u128::from(S)).div_ceil(u128::from(rate)));
            Ns::try_from(share).unwrap_or(Ns::MAX)
        };
        let bytes = u64::from(request.sectors) * SECTOR_BYTES;
        share(1, self.limits.requests_per_s).max(share(bytes, self.limits.bytes_per_s))
    }
}

impl Arrivals for Throttled<'_> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        let mut ready_ns = None;
        while self.waiting.len() < BACKLOG {
            ready_ns = self.workload.next_ns(now)?;
            let Some(at) = ready_ns.filter(|&at| at <= now) else { break };
            let (mut request, cookie) = self.workload.take(now);
            request.arrival_ns = request.arrival_ns.min(at);
            self.waiting.push_back((request, cookie));
        }
        let has_room = self.limits.outstanding.is_none_or(|most| self.outstanding < most);
        let ready_ns = if self.waiting.is_empty() { ready_ns } else { Some(now) };
        Ok(ready_ns.filter(|_| has_room).map(|at| at.max(self.allowed_ns)))
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        let first = self.waiting.pop_front();
        let (request, cookie) = first.unwrap_or_else(|| self.workload.take(now));
        self.outstanding += 1;
        self.allowed_ns = self.allowed_ns.max(now).saturating_add(self.share_ns(&request));
        (request, cookie)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        self.outstanding -= 1;
        self.workload.completed(now, cookie);
    }

    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.workload.is_over()
    }
}

impl Running for Throttled<'_> {
    fn issued(&self) -> Option<u64> {
        self.workload.issued()
    }

    fn report(&mut self) -> Result<Report, Problem> {
        self.workload.report()
    }

    fn figures(&self) -> Vec<Figure> {
        self.workload.figures()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, Pace, Replayed};

    const READ: Request = Request::new(Op::Read, 0, 8);
    const REQUESTS: [Request; 4] = [READ, READ, Request::new(Op::Read, 0, 16).arriving_at(500), READ.arriving_at(500)];

    fn limited(pace: Pace, limits: Limits) -> Throttled<'static> {
        const SOURCE: &[Request] = &REQUESTS;
        Throttled::new(Box::new(Replayed::new(SOURCE, pace)), limits)
    }

    /// Takes all requests at the first time at which each may be; returns these times and those of their arrivals.
    fn times(mut workload: Throttled<'_>) -> Vec<(Ns, Ns)> {
        let mut now = 0;
        let next = || {
            now = workload.next_ns(now).unwrap()?.max(now);
            let (request, _) = workload.take(now);
            Some((now, request.arrival_ns))
        };
        std::iter::from_fn(next).collect()
    }

    /// By hand: a request of 4 KiB a microsecond, so that one of 8 KiB takes two.
    #[test]
    fn rates_hold_requests_back_and_latency_counts_from_when_they_were_ready() {
        let bytes = Limits { bytes_per_s: Some(4_096 * 1_000_000), ..Limits::default() };
        let found = times(limited(Pace::Timestamps(1.0), bytes));
        assert_eq!(found, [(0, 0), (1_000, 0), (2_000, 500), (4_000, 500)]);
        let requests = Limits { requests_per_s: Some(2_500_000), ..Limits::default() };
        let found = times(limited(Pace::Timestamps(1.0), requests));
        assert_eq!(found, [(0, 0), (400, 0), (800, 500), (1_200, 500)]);
        let both = Limits { bytes_per_s: Some(4_096 * 1_000_000), ..requests };
        let found = times(limited(Pace::Closed(8), both));
        assert_eq!(
            found,
            [(0, 0), (1_000, 0), (2_000, 0), (4_000, 0)],
            "a closed loop has as many ready as it is deep"
        );
    }

    #[test]
    fn no_more_are_outstanding_than_may_be() {
        let mut workload = limited(Pace::Timestamps(1.0), Limits { outstanding: Some(2), ..Limits::default() });
        for _ in 0..2 {
            assert_eq!(workload.next_ns(0).unwrap(), Some(0));
            workload.take(0);
        }
        assert_eq!((workload.next_ns(900).unwrap(), workload.is_over()), (None, false));
        workload.completed(950, 0);
        assert_eq!(workload.next_ns(950).unwrap(), Some(950));
        assert_eq!(workload.take(950).0.arrival_ns, 500);
    }
}
