//! A workload in a part of the drive and of the time: its addresses count from the beginning of the part, its times
//! from its own beginning.

use flashloom_units::{Figure, Ns, Problem};

use crate::workload::{Report, Running};
use crate::{Arrivals, Op, Request};

/// The part of the drive and of the time that a workload has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Sector of the drive that is the workload's sector 0.
    pub first_sector: u64,
    /// Time of the run that is the workload's time 0.
    pub begin_ns: Ns,
    /// Time of the run from which on it issues no request; `None` if it goes on to its own end.
    pub end_ns: Option<Ns>,
}

/// A workload in its part.
pub struct Placed<'a> {
    workload: Box<dyn Running + 'a>,
    part: Part,
    issued: u64,
    has_ended: bool,
}

impl<'a> Placed<'a> {
    /// Puts a workload that has not begun into its part.
    pub fn new(workload: Box<dyn Running + 'a>, part: Part) -> Self {
        Self { workload, part, issued: 0, has_ended: false }
    }

    fn own(&self, now: Ns) -> Ns {
        now.saturating_sub(self.part.begin_ns)
    }
}

impl Arrivals for Placed<'_> {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        if self.has_ended {
            return Ok(None);
        }
        let own = self.own(now);
        let next = self.workload.next_ns(own)?.map(|at| at.saturating_add(self.part.begin_ns));
        let is_late = |end: Ns| now >= end || next.is_some_and(|next| next.max(now) >= end);
        self.has_ended = self.part.end_ns.is_some_and(is_late);
        Ok(next.filter(|_| !self.has_ended))
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        self.issued += 1;
        let (mut request, cookie) = self.workload.take(self.own(now));
        request.arrival_ns += self.part.begin_ns;
        if request.op != Op::Flush {
            request.lba += self.part.first_sector;
        }
        (request, cookie)
    }

    fn completed(&mut self, now: Ns, cookie: u32) {
        self.workload.completed(self.own(now), cookie);
    }

    fn is_over(&self) -> bool {
        self.has_ended || self.workload.is_over()
    }
}

impl Running for Placed<'_> {
    fn issued(&self) -> Option<u64> {
        if self.part.end_ns.is_some() { Some(self.issued) } else { self.workload.issued() }
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
    use crate::{Pace, Replayed};

    const REQUESTS: [Request; 3] =
        [Request::new(Op::Write, 8, 8), Request::flush().arriving_at(10), Request::new(Op::Read, 0, 8).arriving_at(20)];

    /// These requests in the part.
    fn placed(pace: Pace, part: Part) -> Placed<'static> {
        const SOURCE: &[Request] = &REQUESTS;
        Placed::new(Box::new(Replayed::new(SOURCE, pace)), part)
    }

    #[test]
    fn addresses_and_times_count_from_the_beginning_of_its_part() {
        let part = Part { first_sector: 100, begin_ns: 1_000, end_ns: None };
        let mut workload = placed(Pace::Timestamps(1.0), part);
        for (at, lba) in [(1_000, 108), (1_010, 0), (1_020, 100)] {
            assert_eq!(workload.next_ns(at - 1).unwrap(), Some(at));
            let (request, cookie) = workload.take(at);
            assert_eq!((request.arrival_ns, request.lba), (at, lba), "a flush has no address");
            workload.completed(at, cookie);
        }
        assert_eq!((workload.next_ns(1_020).unwrap(), workload.is_over(), workload.issued()), (None, true, None));
    }

    #[test]
    fn from_its_end_on_it_issues_nothing_and_is_over() {
        let part = Part { end_ns: Some(20), ..Part::default() };
        let mut open = placed(Pace::Timestamps(1.0), part);
        for at in [0, 10] {
            assert_eq!(open.next_ns(at).unwrap(), Some(at));
            open.take(at);
        }
        assert_eq!((open.next_ns(10).unwrap(), open.is_over(), open.issued()), (None, true, Some(2)));
        let mut closed = placed(Pace::Closed(1), part);
        assert_eq!(closed.next_ns(0).unwrap(), Some(0));
        let (_, cookie) = closed.take(0);
        assert_eq!((closed.next_ns(5).unwrap(), closed.is_over()), (None, false), "it waits");
        closed.completed(25, cookie);
        assert_eq!((closed.next_ns(25).unwrap(), closed.is_over(), closed.issued()), (None, true, Some(1)));
    }
}
