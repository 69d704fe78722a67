//! kyber: domains of operations with tokens, of which one that keeps its latency target gives some up while another
//! does not.
//!
//! ```text
//! insert:    at the end of the software queue of its domain: reads, writes, discards
//! merge:     with one of the last 8 of that queue, at either end
//! dispatch:  if the domain's batch has sent fewer than its size: give; else, or if that gave nothing,
//!            begin a batch with the next domain that gives something
//! give:      if the domain has a free token: the first of its dispatch list, which takes in the whole software queue
//!            when it is empty
//! completed: free the token, count total and I/O latency in buckets of a quarter of the target; timer in 100 ms
//! timer:     congested if the 90th percentile of a domain's I/O latency is beyond its target;
//!            if so, or if its 99th percentile of total latency is beyond the target, a domain's tokens
//!            become tokens * (bucket of that percentile + 1) / 4
//! ```
//! Source: Linux 6.1 and 6.12, `block/kyber-iosched.c`, by way of docs/linux-schedulers.md, which has all rules and
//! constants and what is left out. Cost: O(1) each, and O(buckets) for the timer.

use flashloom_units::{
    Capability, Component, Figure, Kind, Lists, MS, Ns, PolicySpec, Refusal, S, Statistic, Value, Violation, params,
    violation,
};
use flashloom_workload::{Op, Request};
use serde::{Deserialize, Serialize};

use super::{Choice, Scheduler, SchedulerSetup};
use crate::id::RequestId;
use crate::requests::{Requests, Stage};
use crate::tags::{Limit, Tags};
use crate::ticks::Ticks;

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "kyber",
    summary: "Latency targets for reads and writes: the one that misses its target takes depth from the other (Linux \
              6.1 and 6.12)",
    details: "Reads, writes and discards are domains, each with a number of requests that it may have at the device. \
              Ten times a second the numbers follow the measured latencies: while one domain misses its target, those \
              that keep theirs get less. Within a domain requests go in the order of arrival. Works without task ids.",
    source: "Linux 6.1 and 6.12, block/kyber-iosched.c; docs/linux-schedulers.md",
    example: "host.scheduler=kyber host.kyber.read_lat=500us workload.queue_depth=64 \
              workload.synthetic.read_share=0.6",
    instead: "It sorts nothing and bounds no wait: `mq-deadline` does. Tokens matter only if fewer than the device's \
              queue depth (`host.queue_depth`); with 31 the numbers that it begins with hold nothing back.",
    needs: &[],
    offers: &[Capability::SAVED_STATE],
    params: KyberParams::PARAMS,
    statistics: &[
        Statistic::count("throttled", "Times that a domain had requests and no free token for them."),
        Statistic::count("resized", "Times that the number of tokens of a domain changed."),
    ],
};

params! {
    /// Parameters of kyber, the attributes of the kernel's scheduler.
    pub struct KyberParams {
        /// Latency target of reads.
        read_lat_ns: Ns => "read_lat", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(2 * MS),
            "A tighter target takes more depth from writes, and also from reads whose target is kept.";
        /// Latency target of writes.
        write_lat_ns: Ns => "write_lat", Kind::Time { min: 0, max: 3_600 * S }, Value::Time(10 * MS),
            "A tighter target takes more depth from reads, and also from writes whose target is kept.";
    }
}

/// Number of domains: reads, writes, discards.
const DOMAINS: usize = 3;
/// Tokens of each domain at first, which are the most that it can have.
const TOKENS: [u32; DOMAINS] = [256, 128, 64];
/// Maximum number of requests in a batch of each domain.
const BATCH: [u32; DOMAINS] = [16, 8, 1];
/// Latency target of discards.
const DISCARD_LAT_NS: Ns = 5 * S;
/// Share of the tags that requests may take that no task waits for, in per cent.
const ASYNC_PERCENT: u32 = 75;
/// Requests of a software queue that a new one may merge with.
const MERGE_CANDIDATES: usize = 8;
/// Latency buckets: as many again as those within the target lie beyond it.
const BUCKETS: usize = 2 * GOOD_BUCKETS;
/// Latency buckets within the target, each a quarter of it wide.
const GOOD_BUCKETS: usize = 4;
/// Samples with which a percentile is taken before its time.
const ENOUGH_SAMPLES: u32 = 500;
/// Times a second that the timer can fire.
const TIMER_HZ: u64 = 10;

const DISPATCH: [usize; DOMAINS] = [0, 1, 2];
const SOFTWARE: [usize; DOMAINS] = [3, 4, 5];

fn domain_of(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Discard => 2,
        _ => 1,
    }
}

/// Latencies by bucket.
type Histogram = [u32; BUCKETS];

/// The tokens, samples and percentile of a domain.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Domain {
    /// Number of tokens.
    depth: u32,
    /// Bit n is set while token n is in use.
    used: [u64; 4],
    total: Histogram,
    io: Histogram,
    /// Tick at which percentiles are taken of fewer than [`ENOUGH_SAMPLES`]; none until one is asked for.
    due: Option<u64>,
    /// Bucket of the last 99th percentile of total latency that congestion has not used.
    p99: Option<u32>,
}

impl Domain {
    fn new(depth: u32) -> Self {
        Self { depth, used: [0; 4], total: [0; BUCKETS], io: [0; BUCKETS], due: None, p99: None }
    }

    /// Takes the lowest free token; none if all are in use.
    fn take_token(&mut self) -> Option<u8> {
        let word = self.used.iter().position(|&word| word != u64::MAX)?;
        let bit = self.used[word].trailing_ones();
        let token = 64 * word as u32 + bit;
        (token < self.depth).then(|| {
            self.used[word] |= 1 << bit;
            token as u8
        })
    }

    fn free_token(&mut self, token: u8) {
        self.used[usize::from(token) / 64] &= !(1 << (token % 64));
    }

    fn tokens_in_use(&self) -> u32 {
        self.used.iter().map(|word| word.count_ones()).sum()
    }

    /// Takes a percentile of a histogram and empties it; none if it is too early for one.
    fn percentile(
        &mut self,
        of: fn(&mut Self) -> &mut Histogram,
        percent: u32,
        tick: u64,
        ticks: Ticks,
    ) -> Option<u32> {
        let samples: u32 = of(self).iter().sum();
        if samples == 0 {
            return None;
        }
        let due = *self.due.get_or_insert(tick + ticks.a_second());
        if samples < ENOUGH_SAMPLES && tick < due {
            return None;
        }
        self.due = None;
        let mut left = (u64::from(samples) * u64::from(percent)).div_ceil(100);
        let buckets = std::mem::take(of(self));
        let reached = buckets[..BUCKETS - 1].iter().position(|&bucket| {
            let is_reached = u64::from(bucket) >= left;
            left = left.saturating_sub(bucket.into());
            is_reached
        });
        Some(reached.unwrap_or(BUCKETS - 1) as u32)
    }
}

fn is_bad(bucket: u32) -> bool {
    bucket >= GOOD_BUCKETS as u32
}

fn bucket_of(latency_ns: Ns, target_ns: Ns) -> usize {
    let width_ns = (target_ns / GOOD_BUCKETS as u64).max(1);
    (latency_ns.saturating_sub(1) / width_ns).min(BUCKETS as u64 - 1) as usize
}

/// State of kyber: the queues, the current batch, and what is known of each domain.
#[derive(Debug)]
pub struct Kyber {
    targets_ns: [Ns; DOMAINS],
    ticks: Ticks,
    tags: Tags,
    lists: Lists<RequestId>,
    /// When each request was queued.
    queued_ns: Vec<Ns>,
    /// The token of each request at the device.
    tokens: Vec<u8>,
    domains: [Domain; DOMAINS],
    current: u32,
    batched: u32,
    /// Tick at which the timer fires.
    timer: Option<u64>,
    throttled: u64,
    resized: u64,
}

flashloom_units::state! {
    Kyber {
        nested lists;
        array queued_ns;
        nested tokens;
        below current [DOMAINS];
        value domains, batched, timer, throttled, resized;
        fixed targets_ns, ticks, tags;
    }
}

impl Kyber {
    /// Makes empty queues, with all tokens.
    pub fn new(params: KyberParams, setup: &SchedulerSetup) -> Result<Self, Refusal> {
        let SchedulerSetup { requests, nr_requests, linux, hz, .. } = *setup;
        let async_writes = Limit::Percent(ASYNC_PERCENT).of(nr_requests, linux);
        Ok(Self {
            targets_ns: [params.read_lat_ns, params.write_lat_ns, DISCARD_LAT_NS],
            ticks: Ticks::new(hz),
            tags: Tags { async_writes, ..Tags::of(nr_requests) },
            lists: Lists::new(requests, 2 * DOMAINS as u32),
            queued_ns: vec![0; requests as usize],
            tokens: vec![0; requests as usize],
            domains: TOKENS.map(Domain::new),
            current: 0,
            batched: 0,
            timer: None,
            throttled: 0,
            resized: 0,
        })
    }

    /// The requests of a domain's software queue that a new one may merge with, the youngest first.
    fn candidates(&self, domain: usize) -> impl Iterator<Item = RequestId> + '_ {
        let youngest = self.lists.back(SOFTWARE[domain]);
        std::iter::successors(youngest, |&id| self.lists.prev(id)).take(MERGE_CANDIDATES)
    }

    /// Takes the next request of the current domain, if it has one and a token for it.
    fn give(&mut self) -> Option<RequestId> {
        let domain = self.current as usize;
        let (dispatch, software) = (DISPATCH[domain], SOFTWARE[domain]);
        if self.lists.is_empty(dispatch) && self.lists.is_empty(software) {
            return None;
        }
        let Some(token) = self.domains[domain].take_token() else {
            self.throttled += 1;
            return None;
        };
        if self.lists.is_empty(dispatch) {
            while let Some(id) = self.lists.pop_front(software) {
                self.lists.push_back(dispatch, id);
            }
        }
        let id = self.lists.pop_front(dispatch)?;
        self.tokens[id.at()] = token;
        self.batched += 1;
        Some(id)
    }

    /// Lets the timer fire if it was to by `now`. Nothing but what follows looks at what it changes, so it need not be
    /// in time.
    fn catch_up(&mut self, now: Ns) {
        if let Some(tick) = self.timer.filter(|&tick| tick <= self.ticks.at(now)) {
            self.timer = None;
            self.adjust(tick);
        }
    }

    /// What the timer does.
    fn adjust(&mut self, tick: u64) {
        let ticks = self.ticks;
        let mut is_congested = false;
        for domain in &mut self.domains {
            is_congested |= domain.percentile(|domain| &mut domain.io, 90, tick, ticks).is_some_and(is_bad);
        }
        for (domain, &most) in self.domains.iter_mut().zip(&TOKENS) {
            let mut p99 = domain.percentile(|domain| &mut domain.total, 99, tick, ticks);
            if is_congested {
                p99 = p99.or(domain.p99);
                domain.p99 = None;
            } else {
                domain.p99 = p99.or(domain.p99);
            }
            if let Some(bucket) = p99.filter(|&bucket| is_congested || is_bad(bucket)) {
                let depth = (domain.depth * (bucket + 1) / GOOD_BUCKETS as u32).clamp(1, most);
                self.resized += u64::from(depth != domain.depth);
                domain.depth = depth;
            }
        }
    }
}

impl Component for Kyber {
    fn figures(&self) -> Vec<Figure> {
        vec![Figure::Count(self.throttled), Figure::Count(self.resized)]
    }

    flashloom_units::stateful!();
}

impl Scheduler for Kyber {
    fn tags(&self) -> Option<Tags> {
        Some(self.tags)
    }

    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        self.lists.push_back(SOFTWARE[domain_of(requests[id].op)], id);
        self.queued_ns[id.at()] = now;
        Ns::MAX
    }

    fn front_merge_candidate(&self, requests: &Requests, incoming: &Request) -> Option<RequestId> {
        self.candidates(domain_of(incoming.op)).find(|&id| requests[id].lba == incoming.end())
    }

    fn allows_merge(&self, _requests: &Requests, id: RequestId, incoming: &Request) -> bool {
        self.candidates(domain_of(incoming.op)).any(|candidate| candidate == id)
    }

    fn dispatch(&mut self, now: Ns, _requests: &Requests) -> Choice {
        self.catch_up(now);
        if self.batched < BATCH[self.current as usize]
            && let Some(id) = self.give()
        {
            return Choice::Request(id);
        }
        self.batched = 0;
        for _ in 0..DOMAINS {
            self.current = (self.current + 1) % DOMAINS as u32;
            if let Some(id) = self.give() {
                return Choice::Request(id);
            }
        }
        Choice::Idle
    }

    fn completed(&mut self, now: Ns, requests: &Requests, id: RequestId) {
        self.catch_up(now);
        let at = domain_of(requests[id].op);
        let (domain, target_ns) = (&mut self.domains[at], self.targets_ns[at]);
        domain.free_token(self.tokens[id.at()]);
        domain.total[bucket_of(now - self.queued_ns[id.at()], target_ns)] += 1;
        domain.io[bucket_of(now - requests[id].dispatched_ns, target_ns)] += 1;
        let latest = self.ticks.at(now) + self.ticks.a_second() / TIMER_HZ;
        self.timer = Some(self.timer.map_or(latest, |timer| timer.min(latest)));
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let [mut queued, mut at_device] = [[0; DOMAINS]; 2];
        for (stage, counts) in [(Stage::Queued, &mut queued), (Stage::InFlight, &mut at_device)] {
            let held = requests.at_stage(stage).map(|id| requests[id].op).filter(|&op| op != Op::Flush);
            held.for_each(|op| counts[domain_of(op)] += 1);
        }
        for (at, domain) in self.domains.iter().enumerate() {
            let listed =
                [DISPATCH[at], SOFTWARE[at]].map(|list| self.lists.iter(list).count() as u32).iter().sum::<u32>();
            let in_use = domain.tokens_in_use();
            if (listed, in_use) != (queued[at], at_device[at]) {
                let (queued, at_device) = (queued[at], at_device[at]);
                return Err(violation!(
                    "kyber: domain {at} has {queued} requests queued and {listed} listed, {at_device} at the device \
                     and {in_use} tokens in use"
                ));
            }
            if !(1..=TOKENS[at]).contains(&domain.depth) {
                return Err(violation!("kyber: domain {at} has {} tokens of 1 to {}", domain.depth, TOKENS[at]));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
