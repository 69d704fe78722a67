//! Write-back throttling: how many writes that nobody waits for may be under way beside reads, as blk-wbt of Linux has
//! it (docs/linux-schedulers.md, "Write-back throttling").
//!
//! ```text
//! admit:    a write or discard gets a token below its limit, and waits for one before it waits for a tag:
//!             discards                                            background
//!             writes that a task waits for, and all while tasks
//!               that write are held up                            most
//!             others, written back for age or memory, or within
//!               a tenth of a second of a read                     background
//!             others                                              normal
//! complete: gives the token back; who waits is let in below the wake limit alone
//! window:   the least latency of its reads beyond the target: a step down. Within it, or writes alone: a step up
//! step:     most = 1 + (15 >> step), from the device's depth if that is less than 16; below zero 1 + (15 << -step),
//!           three quarters of that depth at most; normal is half of it, background a quarter
//! ```
//! A window lasts 100 ms, and 100 ms / sqrt(step + 1) above step 0, in ticks. It begins when a request gets a token and
//! there is no window, and the next one begins at its end if a token is taken or the step is not 0.
//!
//! Cost: O(1) for each request; nothing where it is off.

use flashloom_units::{MS, Ns};
use flashloom_workload::{Op, Request};
use serde::{Deserialize, Serialize};

use crate::id::RequestId;
use crate::params::{HostParams, SyncWrites, WriteCache, Writeback};
use crate::requests::Queued;
use crate::ticks::Ticks;

/// Writes under way at most at step 0.
const DEFAULT_DEPTH: u32 = 16;
/// Length of a window at step 0.
const WINDOW_NS: Ns = 100 * MS;
/// Writes without which a window with reads says nothing.
const LEAST_WRITES: u64 = 3;
/// Windows in a row that say nothing, after which the step goes back towards 0.
const UNKNOWN_WINDOWS: u32 = 5;
/// The part of a second, in ticks, for which a read counts as near.
const NEAR: u64 = 10;

/// A queue of those that wait for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Writes.
    Writes,
    /// Discards.
    Discards,
}

/// Tokens of a line.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Tokens {
    /// Those in use.
    taken: u32,
    /// Of these, those of requests that have not found a tag yet.
    in_hand: u32,
    /// True if somebody was refused and has not been let in since: who comes waits behind.
    is_closed: bool,
}

/// How many may be under way, by the step (`rq_depth`).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Depth {
    /// Depth of the device.
    device: u32,
    step: i32,
    most: u32,
    /// True if a further step up would change nothing.
    is_at_end: bool,
}

impl Depth {
    fn new(device: u32) -> Self {
        let mut depth = Self { device, step: 0, most: 0, is_at_end: false };
        depth.follow_step();
        // The end of steps up is found by a step up.
        depth.is_at_end = false;
        depth
    }

    /// Sets the most by the step; notes whether that is the end of steps up.
    fn follow_step(&mut self) {
        self.is_at_end = false;
        if self.device == 1 {
            self.is_at_end = self.step <= 0;
            self.most = if self.step > 0 { 1 } else { 2 };
            return;
        }
        let depth = DEFAULT_DEPTH.min(self.device);
        self.most = if self.step > 0 {
            1 + ((depth - 1) >> self.step.min(31))
        } else {
            let greatest = 3 * u64::from(self.device) / 4;
            let wanted = 1 + (u64::from(depth - 1) << -self.step);
            self.is_at_end = self.step < 0 && wanted > greatest;
            if self.is_at_end { greatest as u32 } else { wanted as u32 }
        };
    }

    /// A step to more; false if there is none.
    fn up(&mut self) -> bool {
        if self.is_at_end {
            return false;
        }
        self.step -= 1;
        self.follow_step();
        true
    }

    /// A step to fewer, from more than at step 0 to that at once if it is urgent; false if one is the most.
    fn down(&mut self, is_urgent: bool) -> bool {
        if self.most == 1 {
            return false;
        }
        self.step = if self.step < 0 && is_urgent { 0 } else { self.step + 1 };
        self.follow_step();
        self.is_at_end = false;
        true
    }
}

/// What a window has seen.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Window {
    reads: u64,
    least_read_ns: Ns,
    writes: u64,
}

/// What a window says.
enum Verdict {
    Exceeded,
    Fine,
    WritesAlone,
    Unknown,
}

/// State of the throttling.
#[derive(Debug)]
pub struct Throttle {
    latency_ns: Ns,
    ticks: Ticks,
    write_cache: WriteCache,
    sync_writes: SyncWrites,
    writeback: Writeback,
    depth: Depth,
    normal: u32,
    background: u32,
    lines: [Tokens; 2],
    window: Window,
    window_ns: Ns,
    /// Tick at which the window ends.
    timer: Option<u64>,
    unknown: u32,
    /// Requests that were given a token later than when they came.
    waited: u64,
    /// The read at the device that is watched, and when it was sent.
    watched: Option<(RequestId, Ns)>,
    /// Ticks at which the last read was submitted, and completed.
    last_read: [Option<u64>; 2],
}

flashloom_units::state! {
    Throttle {
        value depth, normal, background, lines, window, window_ns, timer, unknown, waited, watched, last_read;
        fixed latency_ns, ticks, write_cache, sync_writes, writeback;
    }
}

impl Throttle {
    /// Throttling for a host's device; none if it is off.
    pub fn new(host: &HostParams) -> Option<Self> {
        let mut throttle = Self {
            latency_ns: host.wbt_latency_ns,
            ticks: Ticks::new(host.hz),
            write_cache: host.write_cache,
            sync_writes: host.sync_writes,
            writeback: host.writeback,
            depth: Depth::new(host.throttled_depth()),
            normal: 0,
            background: 0,
            lines: [Tokens::default(); 2],
            window: Window::default(),
            window_ns: WINDOW_NS,
            timer: None,
            unknown: 0,
            waited: 0,
            watched: None,
            last_read: [None; 2],
        };
        throttle.follow_depth();
        host.throttles().then_some(throttle)
    }

    /// The line that a request waits in for its token; none if it needs none.
    #[inline]
    pub fn line_of(&self, op: Op, flags: u8) -> Option<Line> {
        let is_sync = flags & Request::SYNC != 0;
        match op {
            Op::Write if is_sync && self.sync_writes != SyncWrites::Fsync => None,
            Op::Write => Some(Line::Writes),
            Op::Discard => Some(Line::Discards),
            Op::Read | Op::Flush => None,
        }
    }

    /// Gives a request that is submitted a token, if it needs one; false if it has to wait.
    #[inline]
    pub fn admit(&mut self, now: Ns, request: &Request) -> bool {
        self.catch_up(now);
        let Some(line) = self.line_of(request.op, request.flags) else {
            if request.op == Op::Read {
                self.last_read[0] = Some(self.ticks.at(now));
            }
            return true;
        };
        let limit = self.limit(self.ticks.at(now), line, request.flags);
        let tokens = &mut self.lines[line as usize];
        if tokens.in_hand == 0 {
            if tokens.is_closed || tokens.taken >= limit {
                tokens.is_closed = true;
                return false;
            }
            tokens.taken += 1;
            tokens.in_hand += 1;
            self.waited += u64::from(request.arrival_ns < now);
            if self.timer.is_none() {
                self.begin_window(self.ticks.at(now));
            }
        }
        true
    }

    /// Requests so far that had to wait for their token.
    #[inline]
    pub fn waited(&self) -> u64 {
        self.waited
    }

    /// Follows a request with a token that has found a tag.
    #[inline]
    pub fn entered(&mut self, request: &Request) {
        if let Some(line) = self.line_of(request.op, request.flags) {
            self.lines[line as usize].in_hand -= 1;
        }
    }

    /// Follows a request that found no tag, came again and became part of another one: its token is free.
    pub fn merged(&mut self, request: &Request) {
        if let Some(line) = self.line_of(request.op, request.flags)
            && self.lines[line as usize].in_hand > 0
        {
            self.lines[line as usize].in_hand -= 1;
            self.give_back(line);
        }
    }

    /// Follows a request that goes to the device.
    #[inline]
    pub fn sent(&mut self, now: Ns, id: RequestId, request: &Queued) {
        self.catch_up(now);
        if request.op == Op::Read && self.watched.is_none() {
            self.watched = Some((id, now));
        }
    }

    /// Follows a request that the device has returned unserved.
    pub fn returned(&mut self, id: RequestId) {
        self.watched = self.watched.filter(|(watched, _)| *watched != id);
    }

    /// Follows a request that the device has completed.
    #[inline]
    pub fn completed(&mut self, now: Ns, id: RequestId, request: &Queued) {
        self.catch_up(now);
        if self.timer.is_some() && request.op != Op::Flush {
            let latency_ns = now.saturating_sub(request.dispatched_ns);
            self.window.see(request.op, latency_ns);
        }
        self.left(now, id, request);
    }

    /// Follows a request that is no more: it has completed, or became part of another one.
    #[inline]
    pub fn left(&mut self, now: Ns, id: RequestId, request: &Queued) {
        if let Some(line) = self.line_of(request.op, request.flags) {
            self.give_back(line);
            return;
        }
        self.returned(id);
        if request.op == Op::Read {
            self.last_read[1] = Some(self.ticks.at(now));
        }
    }

    /// When the window ends that is under way at `now`, if somebody waits for that; `Ns::MAX` otherwise.
    pub fn wakes_ns(&mut self, now: Ns) -> Ns {
        self.catch_up(now);
        let waits = self.lines.iter().any(|tokens| tokens.is_closed);
        self.timer.filter(|_| waits).map_or(Ns::MAX, |tick| self.ticks.moment(tick))
    }

    /// The step, and its limits: the most, normal, and the background's.
    pub fn limits(&self) -> (i32, [u32; 3]) {
        (self.depth.step, [self.depth.most, self.normal, self.background])
    }

    /// Requests with a token.
    pub fn taken(&self) -> u32 {
        self.lines.iter().map(|tokens| tokens.taken).sum()
    }

    /// Tokens of requests that wait for a tag.
    pub fn in_hand(&self) -> u32 {
        self.lines.iter().map(|tokens| tokens.in_hand).sum()
    }

    fn give_back(&mut self, line: Line) {
        let tokens = &mut self.lines[line as usize];
        tokens.taken -= 1;
        let limit = match (line, self.write_cache) {
            (Line::Discards, _) => self.background,
            // A volatile cache takes the writes at once: all of them have to be there before more come.
            (Line::Writes, WriteCache::Back) if self.writeback != Writeback::HeldUp => 0,
            (Line::Writes, _) => self.normal,
        };
        let taken = tokens.taken;
        if taken == 0 || (taken < limit && limit - taken >= self.background / 2) {
            tokens.is_closed = false;
        }
    }

    fn limit(&self, tick: u64, line: Line, flags: u8) -> u32 {
        let is_near = |read: &Option<u64>| read.is_some_and(|read| tick < read + self.ticks.a_second() / NEAR);
        match line {
            Line::Discards => self.background,
            Line::Writes if flags & Request::SYNC != 0 || self.writeback == Writeback::HeldUp => self.depth.most,
            Line::Writes if self.writeback == Writeback::Background => self.background,
            Line::Writes if self.last_read.iter().any(is_near) => self.background,
            Line::Writes => self.normal,
        }
    }

    fn follow_depth(&mut self) {
        let most = self.depth.most;
        (self.normal, self.background) = if most <= 2 { (most, 1) } else { (most.div_ceil(2), most.div_ceil(4)) };
    }

    fn begin_window(&mut self, tick: u64) {
        self.window_ns = if self.depth.step > 0 {
            (WINDOW_NS << 4) / ((self.depth.step as u64 + 1) << 8).isqrt()
        } else {
            WINDOW_NS
        };
        self.timer = Some(tick + self.ticks.whole(self.window_ns));
    }

    /// Ends the windows that were over by `now`. What they change is looked at by nothing in between.
    #[inline]
    fn catch_up(&mut self, now: Ns) {
        while let Some(tick) = self.timer.filter(|&tick| self.ticks.moment(tick) <= now) {
            self.end_window(tick);
        }
    }

    fn end_window(&mut self, tick: u64) {
        self.timer = None;
        let seen = std::mem::take(&mut self.window);
        match self.verdict(tick, seen) {
            Verdict::Exceeded => self.step_down(true),
            Verdict::Fine | Verdict::WritesAlone => self.step_up(),
            Verdict::Unknown => {
                self.unknown += 1;
                match self.depth.step {
                    _ if self.unknown < UNKNOWN_WINDOWS => {}
                    1.. => self.step_up(),
                    ..0 => self.step_down(false),
                    0 => {}
                }
            }
        }
        if self.depth.step != 0 || self.taken() > 0 {
            self.begin_window(tick);
        }
    }

    fn verdict(&self, tick: u64, seen: Window) -> Verdict {
        let now = self.ticks.moment(tick);
        let waits_ns = self.watched.map_or(0, |(_, since)| now - since);
        if waits_ns > self.window_ns || (waits_ns > self.latency_ns && seen.reads == 0) {
            return Verdict::Exceeded;
        }
        if seen.reads == 0 || seen.writes < LEAST_WRITES {
            let has_writes = seen.writes > 0 || self.taken() > 0 || self.writeback == Writeback::HeldUp;
            return if has_writes { Verdict::WritesAlone } else { Verdict::Unknown };
        }
        if seen.least_read_ns > self.latency_ns { Verdict::Exceeded } else { Verdict::Fine }
    }

    fn step_up(&mut self) {
        if self.depth.up() {
            self.follow_depth();
            self.unknown = 0;
            self.lines.iter_mut().for_each(|tokens| tokens.is_closed = false);
        }
    }

    fn step_down(&mut self, is_urgent: bool) {
        if self.depth.down(is_urgent) {
            self.follow_depth();
            self.unknown = 0;
        }
    }
}

impl Window {
    fn see(&mut self, op: Op, latency_ns: Ns) {
        if op == Op::Read {
            self.least_read_ns = if self.reads == 0 { latency_ns } else { self.least_read_ns.min(latency_ns) };
            self.reads += 1;
        } else {
            self.writes += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use flashloom_units::{ParamSet, S};

    use super::*;
    use crate::linux::Linux;
    use crate::params::Throttling;
    use crate::requests::Requests;

    /// Throttling operated by hand, and the requests that it has let in.
    struct Hand {
        throttle: Throttle,
        requests: Requests,
        inside: Vec<RequestId>,
    }

    impl Hand {
        fn new(queue_depth: u32, change: impl FnOnce(&mut HostParams)) -> Self {
            let (linux, wbt) = (Linux::V6_12, Throttling::On);
            let mut host = HostParams { linux, wbt, queue_depth, ..HostParams::defaults() };
            change(&mut host);
            let throttle = Throttle::new(&host).expect("it is on");
            Self { throttle, requests: Requests::new(1_000), inside: Vec::new() }
        }

        /// Submits requests until one has to wait; returns how many were let in.
        fn fill(&mut self, now: Ns, op: Op, flags: u8) -> u32 {
            let request = Request::new(op, 0, 8).with_flags(flags);
            let mut number = 0;
            while self.throttle.admit(now, &request) {
                self.throttle.entered(&request);
                let member = self.requests.admit(&request, 0);
                self.inside.push(self.requests.queue(&request, member));
                number += 1;
            }
            number
        }

        /// Sends and completes the request that was let in first.
        fn serve(&mut self, sent: Ns, ended: Ns) {
            let id = self.inside.remove(0);
            self.requests.start(id, sent);
            self.throttle.sent(sent, id, &self.requests[id]);
            self.throttle.completed(ended, id, &self.requests[id]);
            self.requests.finish(id, |_| {});
        }

        fn read(&mut self, sent: Ns, ended: Ns) {
            let request = Request::new(Op::Read, 0, 8);
            assert!(self.throttle.admit(sent, &request), "reads never wait");
            let member = self.requests.admit(&request, 0);
            self.inside.insert(0, self.requests.queue(&request, member));
            self.serve(sent, ended);
        }
    }

    #[test]
    fn eight_writes_are_under_way_four_beside_reads_and_sixteen_that_a_task_waits_for() {
        let fsync = |host: &mut HostParams| host.sync_writes = SyncWrites::Fsync;
        assert_eq!(Hand::new(31, fsync).fill(S, Op::Write, 0), 8);
        assert_eq!(Hand::new(31, fsync).fill(S, Op::Write, Request::SYNC), 16);
        assert_eq!(Hand::new(31, |host| host.writeback = Writeback::Background).fill(S, Op::Write, 0), 4);
        let mut hand = Hand::new(31, fsync);
        hand.read(S, S + MS);
        assert_eq!(hand.fill(S + 99 * MS, Op::Write, 0), 4, "24 ticks after it has completed");
        let mut hand = Hand::new(31, fsync);
        hand.read(S, S + MS);
        assert_eq!(hand.fill(S + 100 * MS, Op::Write, 0), 8, "25 ticks");
        let mut hand = Hand::new(31, fsync);
        assert_eq!((hand.fill(S, Op::Discard, 0), hand.fill(S, Op::Write, 0)), (4, 8), "discards have their own");
    }

    #[test]
    fn direct_writes_never_wait() {
        let hand = Hand::new(31, |_| {});
        assert_eq!(hand.throttle.line_of(Op::Write, Request::SYNC), None);
        assert_eq!(hand.throttle.line_of(Op::Write, 0), Some(Line::Writes));
    }

    #[test]
    fn behind_a_volatile_cache_all_have_completed_before_more_are_let_in() {
        // Of 8, without such a cache: 8 - 2 is the first that leaves room for half of the background's 4.
        for (cache, expected) in [(WriteCache::Back, 8), (WriteCache::Through, 2)] {
            let (mut hand, mut completed) = (Hand::new(31, |host| host.write_cache = cache), 0);
            assert_eq!(hand.fill(S, Op::Write, 0), 8);
            while hand.fill(S, Op::Write, 0) == 0 {
                hand.serve(S, S);
                completed += 1;
            }
            assert_eq!(completed, expected, "{}", cache.name());
        }
    }

    #[test]
    fn a_window_of_slow_reads_halves_the_writes_and_one_of_writes_alone_doubles_them() {
        let mut hand = Hand::new(31, |_| {});
        hand.fill(S, Op::Write, 0);
        (0..3).for_each(|_| hand.serve(S, S + MS));
        hand.read(S, S + 3 * MS);
        hand.throttle.wakes_ns(S + 99 * MS);
        assert_eq!(hand.throttle.limits(), (0, [16, 8, 4]), "the window is not over");
        hand.throttle.wakes_ns(S + 100 * MS);
        assert_eq!(hand.throttle.limits(), (1, [8, 4, 2]), "3 ms are more than 2");
        // 1.6 s / isqrt(512) is 72.7 ms, which are 18 ticks.
        hand.throttle.wakes_ns(S + 172 * MS - 1);
        assert_eq!(hand.throttle.limits().0, 1);
        hand.throttle.wakes_ns(S + 172 * MS);
        assert_eq!(hand.throttle.limits().0, 0, "five writes are still under way, and nothing was read");
        hand.throttle.wakes_ns(S + 272 * MS);
        assert_eq!(hand.throttle.limits(), (-1, [23, 12, 6]), "31 are more than three quarters of 31");
        hand.throttle.wakes_ns(S + 372 * MS);
        assert_eq!(hand.throttle.limits().0, -1, "there is no step beyond");
    }
}
