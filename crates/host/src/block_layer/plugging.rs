//! Plugs: what a task submits at one moment is collected before the scheduler gets it, as blk-mq does
//! (docs/linux-schedulers.md, "Plugging, and `none`"). Only for schedulers that merge by themselves, which are those of
//! blk-mq; `none` keeps its plug itself.
//!
//! ```text
//! submit:  of another task or a later moment: empty the plug first
//!          merge with the last request of the plug, at either end; else as the scheduler merges
//!          without a free tag: empty the plug, because the task goes to sleep
//!          if the plug is full: empty it; then add the request
//! empty:   give all to the scheduler, in the order of submission; then the device takes what it has room for
//! ```

use flashloom_units::Ns;
use flashloom_workload::Request;

use super::{BlockLayer, Dispatched};
use crate::id::RequestId;
use crate::requests::Stage;

impl BlockLayer {
    /// True if a plug was emptied and its moment is not over, so that [`Self::dispatch_unplugged`] has to be called.
    #[inline]
    pub fn is_unplugged(&self) -> bool {
        self.is_unplugged
    }

    /// The next request for the device of those that left a plug before the moment is over. The kernel runs the queue
    /// when it empties a plug, and goes on with the submission then.
    pub fn dispatch_unplugged(&mut self, now: Ns) -> Option<Dispatched> {
        if !self.is_unplugged {
            return None;
        }
        let sent = self.run(now).request();
        self.is_unplugged = sent.is_some();
        sent
    }

    /// Empties a plug whose submission is over, before a request of `task`.
    #[cold] // Few hosts plug.
    pub(super) fn leave_to(&mut self, now: Ns, task: u32) {
        if self.plug.as_ref().is_some_and(|plug| plug.is_of_others(now, &self.requests, task)) {
            self.empty_plug(now);
        }
    }

    /// Merges a request with the last one of its plug, at either end. If that one touches it and has no room for it, it
    /// merges no more.
    #[cold]
    pub(super) fn merge_in_plug(&mut self, request: &Request, cookie: u32) -> bool {
        let Some(id) = self.plug.as_ref().and_then(|plug| plug.last()) else { return false };
        let last = &self.requests[id];
        let is_back = last.end() == request.lba;
        let touches = is_back || last.lba == request.end();
        let is_alike = last.op == request.op && last.goes_with(request.queue, request.handle, request.flags);
        if !touches || !is_alike || last.is_closed || !self.merges(last.op, last.flags) {
            return false;
        }
        if !self.fits(request.op, request.sectors, id) {
            self.requests.close(id);
            return false;
        }
        self.requests.grow(id, !is_back, request, cookie);
        true
    }

    /// Empties the plug of a task that finds no tag, and so goes to sleep. True if the request then finds one, because
    /// others were joined.
    #[cold]
    pub(super) fn makes_room(&mut self, now: Ns, request: &Request) -> bool {
        if self.plug.is_none() {
            return false;
        }
        self.empty_plug(now);
        self.has_room(request)
    }

    /// Adds a request that was admitted to the plug, which is emptied first if it is full.
    #[cold]
    pub(super) fn add_to_plug(&mut self, now: Ns, id: RequestId) {
        if self.plug.as_ref().is_some_and(|plug| plug.is_full(&self.requests)) {
            self.empty_plug(now);
        }
        self.requests.pass(id, Stage::Queued, Stage::Plugged);
        self.plug.iter_mut().for_each(|plug| plug.add(now, id));
    }

    /// Gives the requests of the plug to the scheduler.
    #[cold]
    pub(super) fn empty_plug(&mut self, now: Ns) {
        let Some(mut plug) = self.plug.take_if(|plug| plug.last().is_some()) else { return };
        self.is_unplugged = true;
        plug.requests().iter().for_each(|&id| self.requests.pass(id, Stage::Plugged, Stage::Queued));
        match self.scheduler.insert_list(now, &self.requests, plug.requests()) {
            Some(deadlines) => {
                for (id, deadline_ns) in plug.empty().zip(deadlines) {
                    self.requests.set_deadline(id, deadline_ns);
                    self.hardware.iter_mut().for_each(|hardware| hardware.queued(self.requests[id].task));
                }
                self.join_by_scheduler(now);
            }
            None => plug.empty().for_each(|id| self.insert(now, id)),
        }
        self.plug = Some(plug);
    }
}

#[cfg(test)]
mod tests {
    use flashloom_units::{KIB, OrName};
    use flashloom_workload::Op;

    use crate::lab::Lab;
    use crate::scheduler::{kyber::Kyber, mq_deadline::MqDeadline};
    use crate::{Admission, Decision, HostParams, Linux};

    fn deadline(change: impl FnOnce(&mut HostParams)) -> Lab {
        Lab::of_blk_mq(MqDeadline::new, |_| {}, change)
    }

    fn kyber(change: impl FnOnce(&mut HostParams)) -> Lab {
        Lab::of_blk_mq(Kyber::new, |_| {}, change)
    }

    fn plugged(host: &mut HostParams) {
        host.plug = true;
    }

    /// Sends what a plug that was emptied has for the device before the moment is over.
    fn sent_early(lab: &mut Lab) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(dispatched) = lab.layer.dispatch_unplugged(lab.now) {
            lab.held.push((dispatched.lba, dispatched.id));
            sent.push(dispatched.lba);
        }
        lab.layer.check().expect("the block layer adds up");
        sent
    }

    /// First sectors and lengths of all requests, in the order in which they are sent.
    fn sent(lab: &mut Lab) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| lab.start().request()).map(|sent| (sent.lba, sent.sectors)).collect()
    }

    #[test]
    fn the_device_takes_of_32_requests_before_the_33rd_is_known() {
        for is_plugged in [false, true] {
            let mut lab = deadline(|host| (host.plug, host.queue_depth) = (is_plugged, 4));
            lab.reads((3..=34).rev().map(|n| 100 * n));
            assert_eq!(sent_early(&mut lab), [0; 0], "32 are one plug");
            lab.reads([200]);
            let early: &[u64] = if is_plugged { &[300, 400, 500, 600] } else { &[] };
            assert_eq!(sent_early(&mut lab), early);
            lab.reads([100]);
            early.iter().for_each(|&lba| drop(lab.finish(lba)));
            let rest = if is_plugged { [700, 800, 900] } else { [100, 200, 300] };
            assert_eq!(lab.serve(3), rest, "the batch goes on upwards");
        }
    }

    #[test]
    fn within_a_plug_only_the_last_request_merges_and_what_mq_deadline_inserts_at_the_back() {
        for (is_plugged, expected) in [(false, vec![(92, 24), (500, 16)]), (true, vec![(92, 8), (100, 16), (500, 16)])]
        {
            let mut lab = deadline(|host| host.plug = is_plugged);
            lab.reads([100, 500]);
            assert_eq!(lab.submit(Op::Read, 0, 0, 508, 8), Admission::Merged, "the last one");
            let others = if is_plugged { Admission::Queued } else { Admission::Merged };
            assert_eq!(lab.submit(Op::Read, 0, 0, 108, 8), others);
            assert_eq!(lab.submit(Op::Read, 0, 0, 92, 8), others);
            assert_eq!(sent(&mut lab), expected);
        }
    }

    #[test]
    fn kyber_inserts_a_plug_without_merging() {
        for (is_plugged, expected) in [(false, vec![(100, 16), (500, 8)]), (true, vec![(100, 8), (500, 8), (108, 8)])] {
            let mut lab = kyber(|host| host.plug = is_plugged);
            lab.reads([100, 500]);
            lab.submit(Op::Read, 0, 0, 108, 8);
            assert_eq!(sent(&mut lab), expected);
        }
    }

    #[test]
    fn what_something_did_not_fit_in_its_plug_merges_no_more() {
        for mut lab in [deadline, kyber].map(|lab| {
            lab(|host: &mut HostParams| {
                (host.plug, host.max_request_bytes, host.queue_depth) = (true, OrName::Number(8 * KIB), 1)
            })
        }) {
            lab.reads([8, 40]);
            assert_eq!(lab.start_one(), 8, "and kyber has 40 where nothing merges");
            lab.now += 1;
            lab.reads([9_000, 100]);
            assert_eq!(lab.submit(Op::Read, 0, 0, 108, 16), Admission::Queued, "12 KiB are too much");
            assert_eq!(lab.start(), Decision::Idle);
            lab.now += 1;
            assert_eq!(lab.submit(Op::Read, 0, 0, 92, 8), Admission::Queued, "8 KiB fit, but 100 is closed");
            assert_eq!(lab.submit(Op::Read, 0, 0, 9_008, 8), Admission::Merged);
        }
    }

    #[test]
    fn another_task_or_a_later_moment_empties_a_plug() {
        let mut lab = deadline(plugged);
        lab.reads([300]);
        lab.reads_of(1, [100]);
        assert_eq!(sent_early(&mut lab), [300]);
        lab.reads_of(0, [200]);
        assert_eq!(sent_early(&mut lab), [100]);
        lab.now += 1;
        assert_eq!(lab.submit(Op::Read, 0, 0, 192, 8), Admission::Merged, "the scheduler has 200");
        assert_eq!(sent(&mut lab), [(192, 16)]);
    }

    #[test]
    fn who_finds_no_tag_empties_the_plug_which_may_free_one() {
        let mut lab = deadline(|host| (host.plug, host.nr_requests) = (true, OrName::Number(3)));
        lab.reads([100, 500, 108]);
        assert_eq!(lab.submit(Op::Read, 0, 0, 700, 8), Admission::Queued, "108 has joined 100");
        assert_eq!(lab.submit(Op::Read, 0, 0, 900, 8), Admission::Full);
        assert_eq!(sent_early(&mut lab), [100, 500, 700]);
    }

    #[test]
    fn a_large_request_ends_a_plug_as_its_last_in_6_1_and_as_its_first_in_6_12() {
        for (linux, early) in [(Linux::V6_1, vec![100, 9_000]), (Linux::V6_12, vec![])] {
            let mut lab = deadline(|host| (host.plug, host.linux) = (true, linux));
            lab.reads([100]);
            lab.submit(Op::Read, 0, 0, 9_000, 256);
            lab.reads([700]);
            assert_eq!(sent_early(&mut lab), early, "{linux:?}");
            lab.start();
            lab.submit(Op::Read, 0, 0, 20_000, 256);
            lab.reads([800]);
            assert!(sent_early(&mut lab).contains(&20_000), "{linux:?}");
        }
    }
}
