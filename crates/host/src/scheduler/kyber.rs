//! kyber: domains of operations with tokens, of which one that keeps its latency target gives some up while another
//! does not.
//!
//! ```text
//! insert:    at the end of the software queue of its processor and domain: reads, writes, discards
//! merge:     with one of the last 8 of that queue, at either end
//! dispatch:  for a hardware queue: if its domain's batch has sent fewer than its size: give; else, or if that gave
//!            nothing, begin a batch with the next domain that gives something
//! give:      if the domain has a free token: the first of its dispatch list, which takes in the whole software queues
//!            of all its processors when it is empty
//! completed: free the token, count total and I/O latency in buckets of a quarter of the target; timer in 100 ms
//! timer:     congested if the 90th percentile of a domain's I/O latency is beyond its target;
//!            if so, or if its 99th percentile of total latency is beyond the target, a domain's tokens
//!            become tokens * (bucket of that percentile + 1) / 4
//! ```
//! Source: Linux 6.1 and 6.12, `block/kyber-iosched.c`, by way of docs/linux-schedulers.md, which has all rules and
//! constants and what is left out. Cost: O(1) each, and O(buckets) for the timer.

use super::prelude::*;
use crate::merging::Merging;
use crate::queue_map::QueueMap;
use crate::tags::word_bits;
use crate::ticks::Ticks;

/// Specification of the policy.
pub static SPEC: PolicySpec = PolicySpec {
    name: "kyber",
    summary: "Latency targets for reads and writes: the one that misses its target takes depth from the other (Linux \
              6.1, 6.12, 6.18)",
    details: "Reads, writes and discards are domains, each with a number of requests that it may have at the device. \
              Ten times a second the numbers follow the measured latencies: while one domain misses its target, those \
              that keep theirs get less. Within a domain requests go in the order of arrival. Works without task ids.",
    source: "Linux 6.1 and 6.12, block/kyber-iosched.c; docs/linux-schedulers.md",
    example: "host.scheduler=kyber host.kyber.read_lat=500us workload.queue_depth=64 \
              workload.synthetic.read_share=0.6",
    instead: "It sorts nothing and bounds no wait: `mq-deadline` does. Tokens matter only if fewer than the device's \
              queue depth (`host.queue_depth`); with 31 the numbers that it begins with hold nothing back.",
    offers: &[Capability::SAVED_STATE],
    params: KyberParams::PARAMS,
    statistics: &[
        Statistic::count("token_waits", "Times that a domain had requests and no free token for them."),
        Statistic::count("resized", "Times that the number of tokens of a domain changed."),
    ],
    ..PolicySpec::BLANK
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
/// Maximum number of words that tokens are bits of.
const MAX_WORDS: usize = 4;
/// Latency buckets: as many again as those within the target lie beyond it.
const BUCKETS: usize = 2 * GOOD_BUCKETS;
/// Latency buckets within the target, each a quarter of it wide.
const GOOD_BUCKETS: usize = 4;
/// Samples with which a percentile is taken before its time.
const ENOUGH_SAMPLES: u32 = 500;
/// Times a second that the timer can fire.
const TIMER_HZ: u64 = 10;

fn domain_of(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Discard => 2,
        _ => 1,
    }
}

/// The histograms of a domain: of the latencies from queueing, and from dispatch, to completion.
const TOTAL: usize = 0;
const IO: usize = 1;

/// Latencies by bucket.
type Histogram = [u32; BUCKETS];

/// The tokens of a domain: bits of words, of which the one looked through first is remembered.
///
/// A bit that is freed stays set until its word has no other free one: which bits are in use decides how many there are
/// when the number of tokens has shrunk.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Tokens {
    /// Number of tokens.
    depth: u32,
    /// Bits of a word, as a power of two.
    word_bits_log2: u32,
    /// The token last freed, or behind the last one taken.
    hint: u32,
    set: [u64; MAX_WORDS],
    /// Bits of `set` that are free.
    freed: [u64; MAX_WORDS],
}

impl Tokens {
    fn new(depth: u32) -> Self {
        let word_bits_log2 = word_bits(depth).ilog2();
        Self { depth, word_bits_log2, hint: 0, set: [0; MAX_WORDS], freed: [0; MAX_WORDS] }
    }

    fn words(&self) -> u32 {
        self.depth.div_ceil(1 << self.word_bits_log2)
    }

    /// The bits of a word that are tokens.
    fn mask(&self, word: u32) -> u64 {
        let bits = (self.depth - (word << self.word_bits_log2)).min(1 << self.word_bits_log2);
        u64::MAX >> (64 - bits)
    }

    /// Takes a free token, of the word of the hint or the next one that has any; none if all are in use.
    fn take(&mut self) -> Option<u8> {
        if self.hint >= self.depth {
            self.hint = 0;
        }
        let words = self.words();
        let first = self.hint >> self.word_bits_log2;
        for word in (0..words).map(|step| (first + step) % words) {
            let (at, mask) = (word as usize, self.mask(word));
            if self.set[at] & mask == mask {
                self.set[at] &= !std::mem::take(&mut self.freed[at]);
            }
            let bit = self.set[at].trailing_ones();
            if bit > mask.ilog2() {
                continue;
            }
            self.set[at] |= 1 << bit;
            let token = (word << self.word_bits_log2) + bit;
            if token == self.hint {
                self.hint = if token + 1 >= self.depth - 1 { 0 } else { token + 1 };
            }
            return Some(token as u8);
        }
        self.hint = 0;
        None
    }

    fn free(&mut self, token: u8) {
        let token = u32::from(token);
        let bit = token & ((1 << self.word_bits_log2) - 1);
        self.freed[(token >> self.word_bits_log2) as usize] |= 1 << bit;
        if token < self.depth {
            self.hint = token;
        }
    }

    fn resize(&mut self, depth: u32) {
        for word in 0..self.words() as usize {
            self.set[word] &= !std::mem::take(&mut self.freed[word]);
        }
        self.depth = depth;
    }

    fn in_use(&self) -> u32 {
        self.set.iter().zip(&self.freed).map(|(set, freed)| (set & !freed).count_ones()).sum()
    }
}

/// The tokens, samples and percentile of a domain.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Domain {
    tokens: Tokens,
    /// Of [`TOTAL`] and [`IO`] latencies.
    latencies: [Histogram; 2],
    /// Tick at which percentiles are taken of fewer than [`ENOUGH_SAMPLES`]; none until one is asked for.
    due: Option<u64>,
    /// Bucket of the last 99th percentile of total latency that congestion has not used.
    p99: Option<u32>,
}

impl Domain {
    fn new(depth: u32) -> Self {
        Self { tokens: Tokens::new(depth), latencies: [[0; BUCKETS]; 2], due: None, p99: None }
    }

    /// Takes a percentile of a histogram and empties it; none if it is too early for one.
    fn percentile(&mut self, of: usize, percent: u32, tick: u64, ticks: Ticks) -> Option<u32> {
        let samples: u32 = self.latencies[of].iter().sum();
        if samples == 0 {
            return None;
        }
        let due = *self.due.get_or_insert(tick + ticks.a_second());
        if samples < ENOUGH_SAMPLES && tick < due {
            return None;
        }
        self.due = None;
        let mut left = (u64::from(samples) * u64::from(percent)).div_ceil(100);
        let buckets = std::mem::take(&mut self.latencies[of]);
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

/// The current batch of a hardware queue.
#[derive(Clone, Debug)]
struct Batch {
    domain: u32,
    sent: u32,
}

flashloom_units::state! { Batch { below domain [DOMAINS]; value sent; } }

/// State of kyber: the queues, their batches, and what is known of each domain.
pub struct Kyber {
    targets_ns: [Ns; DOMAINS],
    ticks: Ticks,
    tags: Tags,
    queues: QueueMap,
    /// The dispatch list of each hardware queue and domain, and then the software queue of each processor and domain.
    lists: Lists<RequestId>,
    merging: Merging,
    /// When each request was queued.
    queued_ns: Vec<Ns>,
    /// The token of each request at the device.
    tokens: Vec<u8>,
    domains: [Domain; DOMAINS],
    batches: Vec<Batch>,
    /// Tick at which the timer fires.
    timer: Option<u64>,
    token_waits: u64,
    resized: u64,
}

flashloom_units::state! {
    Kyber {
        nested lists, merging;
        array queued_ns;
        nested tokens;
        value domains, timer, token_waits, resized;
        each batches;
        fixed targets_ns, ticks, tags, queues;
    }
}

impl Kyber {
    /// Makes empty queues, with all tokens.
    pub fn new(params: KyberParams, setup: &SchedulerSetup) -> Result<Self, Refusal> {
        let SchedulerSetup { requests, tags, linux, hz, queues, .. } = *setup;
        let lists = DOMAINS as u32 * (queues.queues() + queues.processors());
        let async_writes = Limit::Percent(ASYNC_PERCENT).of(tags, linux);
        let sync_writes = if linux < Linux::V6_18 { tags.tags } else { async_writes };
        Ok(Self {
            targets_ns: [params.read_lat_ns, params.write_lat_ns, DISCARD_LAT_NS],
            ticks: Ticks::new(hz),
            tags: Tags { reads: tags.tags, sync_writes, async_writes },
            queues,
            lists: Lists::new(requests, lists),
            merging: Merging::new(setup),
            queued_ns: vec![0; requests as usize],
            tokens: vec![0; requests as usize],
            domains: TOKENS.map(Domain::new),
            batches: vec![Batch { domain: 0, sent: 0 }; queues.queues() as usize],
            timer: None,
            token_waits: 0,
            resized: 0,
        })
    }

    /// The software queue of a task's processor and a domain.
    fn software(&self, task: u32, domain: usize) -> usize {
        self.software_of(self.queues.processor_of(task), domain)
    }

    fn software_of(&self, processor: u32, domain: usize) -> usize {
        (self.queues.queues() + processor) as usize * DOMAINS + domain
    }

    /// The requests of a software queue that a new one may merge with, the youngest first.
    fn candidates(&self, software: usize) -> impl Iterator<Item = RequestId> + '_ {
        let youngest = self.lists.back(software);
        std::iter::successors(youngest, |&id| self.lists.prev(id)).take(MERGE_CANDIDATES)
    }

    /// True if a hardware queue has requests of a domain.
    fn has_work(&self, queue: u32, domain: usize) -> bool {
        let mut software = self.queues.processors_of(queue).map(|processor| self.software_of(processor, domain));
        !self.lists.is_empty(queue as usize * DOMAINS + domain) || software.any(|list| !self.lists.is_empty(list))
    }

    /// Takes the next request of a hardware queue's current domain, if it has one and a token for it.
    fn give(&mut self, queue: u32) -> Option<RequestId> {
        let domain = self.batches[queue as usize].domain as usize;
        if !self.has_work(queue, domain) {
            return None;
        }
        let Some(token) = self.domains[domain].tokens.take() else {
            self.token_waits += 1;
            return None;
        };
        let dispatch = queue as usize * DOMAINS + domain;
        if self.lists.is_empty(dispatch) {
            for processor in self.queues.processors_of(queue) {
                let software = self.software_of(processor, domain);
                while let Some(id) = self.lists.pop_front(software) {
                    self.lists.push_back(dispatch, id);
                }
            }
        }
        let id = self.lists.pop_front(dispatch)?;
        self.tokens[id.at()] = token;
        self.batches[queue as usize].sent += 1;
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
            is_congested |= domain.percentile(IO, 90, tick, ticks).is_some_and(is_bad);
        }
        for (domain, &most) in self.domains.iter_mut().zip(&TOKENS) {
            let mut p99 = domain.percentile(TOTAL, 99, tick, ticks);
            let last = p99.or(domain.p99);
            (p99, domain.p99) = if is_congested { (last, None) } else { (p99, last) };
            if let Some(bucket) = p99.filter(|&bucket| is_congested || is_bad(bucket)) {
                let depth = (domain.tokens.depth * (bucket + 1) / GOOD_BUCKETS as u32).clamp(1, most);
                if depth != domain.tokens.depth {
                    self.resized += 1;
                    domain.tokens.resize(depth);
                }
            }
        }
    }
}

flashloom_units::component! { Kyber: token_waits, resized }

impl Scheduler for Kyber {
    fn tags(&self) -> Option<Tags> {
        Some(self.tags)
    }

    fn insert(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        self.merging.open(requests, id);
        self.lists.push_back(self.software(requests[id].task, domain_of(requests[id].op)), id);
        self.queued_ns[id.at()] = now;
        Ns::MAX
    }

    fn merges_itself(&self) -> bool {
        true
    }

    fn merge(&mut self, _now: Ns, requests: &Requests, incoming: &Request) -> Option<Merge> {
        let software = self.software(incoming.task, domain_of(incoming.op));
        let merge = self.candidates(software).find_map(|id| self.merging.touch(requests, id, incoming))?;
        self.merging.fits(requests, merge.into, incoming).then_some(merge)
    }

    fn requeue(&mut self, now: Ns, requests: &Requests, id: RequestId) -> Ns {
        self.catch_up(now);
        let domain = domain_of(requests[id].op);
        self.domains[domain].tokens.free(self.tokens[id.at()]);
        self.lists.push_front(self.software(requests[id].task, domain), id);
        Ns::MAX
    }

    fn reconfigure(&mut self, _requests: &Requests, values: &[Value]) -> Result<(), Refusal> {
        let params = KyberParams::from_values(values);
        self.targets_ns = [params.read_lat_ns, params.write_lat_ns, DISCARD_LAT_NS];
        Ok(())
    }

    fn serves(&self) -> Serves {
        Serves::Each
    }

    fn dispatch(&mut self, now: Ns, requests: &Requests) -> Choice {
        self.dispatch_for(now, requests, 0)
    }

    fn dispatch_for(&mut self, now: Ns, _requests: &Requests, queue: u32) -> Choice {
        self.catch_up(now);
        // The kernel asks no scheduler without work: the batch stays as it is.
        if !(0..DOMAINS).any(|domain| self.has_work(queue, domain)) {
            return Choice::Idle;
        }
        let Batch { domain, sent } = self.batches[queue as usize];
        if sent < BATCH[domain as usize]
            && let Some(id) = self.give(queue)
        {
            return Choice::Request(id);
        }
        self.batches[queue as usize].sent = 0;
        for _ in 0..DOMAINS {
            let batch = &mut self.batches[queue as usize];
            batch.domain = (batch.domain + 1) % DOMAINS as u32;
            if let Some(id) = self.give(queue) {
                return Choice::Request(id);
            }
        }
        Choice::NotBefore(self.ticks.retry(now))
    }

    fn completed(&mut self, now: Ns, requests: &Requests, id: RequestId) {
        self.catch_up(now);
        let at = domain_of(requests[id].op);
        let (domain, target_ns) = (&mut self.domains[at], self.targets_ns[at]);
        domain.tokens.free(self.tokens[id.at()]);
        domain.latencies[TOTAL][bucket_of(now - self.queued_ns[id.at()], target_ns)] += 1;
        domain.latencies[IO][bucket_of(now - requests[id].dispatched_ns, target_ns)] += 1;
        let latest = self.ticks.at(now) + self.ticks.a_second() / TIMER_HZ;
        self.timer = Some(self.timer.map_or(latest, |timer| timer.min(latest)));
    }

    fn check_queued(&self, requests: &Requests) -> Result<(), Violation> {
        let [mut queued, mut at_device] = [[0; DOMAINS]; 2];
        for request in requests.in_scheduler_or_device() {
            let counts = if request.stage == Stage::Queued { &mut queued } else { &mut at_device };
            counts[domain_of(request.op)] += 1;
        }
        let lists = self.batches.len() + self.queues.processors() as usize;
        for (at, domain) in self.domains.iter().enumerate() {
            let listed = (0..lists).map(|list| self.lists.iter(list * DOMAINS + at).count() as u32).sum::<u32>();
            let in_use = domain.tokens.in_use();
            let (queued, at_device) = (queued[at], at_device[at]);
            ensure!(
                (listed, in_use) == (queued, at_device),
                "kyber: domain {at} has {queued} requests queued and {listed} listed, {at_device} with a tag of the \
                 device or taken for one, and {in_use} tokens in use"
            );
            let (tokens, most) = (domain.tokens.depth, TOKENS[at]);
            ensure!((1..=most).contains(&tokens), "kyber: domain {at} has {tokens} tokens of 1 to {most}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
