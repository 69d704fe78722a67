//! Generator of requests from a seed: sequential, random, Zipf, hot and cold, extents of several lengths, or a log
//! beside random overwrites.
//!
//! The footprint is cut into slots, one every `alignment` bytes, at which a request of `request_size` fits; the pattern
//! draws a slot. With `extents` a request is an extent of one of the lengths, aligned to it. With `log` the first
//! `log_size` of the footprint is a circular log written in requests of `append_size`, and the rest has the slots.
//! Operation, address, time and task have streams of random numbers of their own, so that changing one of these does
//! not change the others.

mod extents;
mod scatter;
mod zipf;

use flashloom_units::{GIB, KIB, MIB, Refusal, S, Used};
use flashloom_units::{Kind, Ns, PolicySpec, Prng, Problem, SECTOR_BYTES, Value, choice, format_size, params};

use crate::{Op, Request, Source};
use extents::Extents;
use scatter::Scatter;
use zipf::Zipf;

choice! {
    /// Address pattern of the requests.
    pub enum Pattern {
        /// One slot after another, wrapping around at the end.
        Sequential = "sequential",
        /// Any slot with the same probability.
        Random = "random",
        /// The slot of rank r with probability proportional to 1 / r^theta.
        Zipf = "zipf",
        /// A small share of the slots receives a large share of the requests.
        HotCold = "hot-cold",
        /// Aligned extents of the lengths in `extents`, each accessed as a whole, all of a length with the same
        /// probability.
        Extents = "extents",
        /// Appends to a circular log at the start of the footprint, and accesses to random slots of the rest.
        Log = "log",
    }
}

choice! {
    /// Distribution of the times between arrivals.
    pub enum Arrival {
        /// Every inter-arrival time is the mean.
        Constant = "constant",
        /// Exponential inter-arrival times: arrivals form a Poisson process.
        Exponential = "exponential",
    }
}

params! {
    /// The parameters of a synthetic workload, `[workload.synthetic]`.
    pub struct SyntheticParams {
        /// Number of requests, flushes included.
        requests: u64 => "requests", Kind::Count { min: 1, max: 1 << 48 }, Value::Count(1_000_000),
            "More requests take longer and give steadier figures.";
        /// Address pattern of the requests.
        pattern: Pattern => "pattern", Kind::Choice(Pattern::CHOICES), Value::Name("random"),
            "Random overwrites are the hardest for garbage collection, sequential ones the easiest.";
        /// Share of reads among the requests that are neither discards nor flushes.
        read_share: f64 => "read_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.0),
            "More reads mean less wear and less garbage collection to wait for.";
        /// Share of discards among the requests.
        discard_share: f64 => "discard_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.0),
            "Discards free pages before they are overwritten, which lowers write amplification.";
        /// Size of a request, a multiple of 512 bytes.
        request_size: u64 => "request_size", Kind::Size { min: SECTOR_BYTES, max: GIB }, Value::Size(4 * KIB),
            "Larger requests use more chips at once; those below the size of a flash page cause read-modify-write.",
            Used::without("pattern", &["extents"]);
        /// Alignment of requests, a multiple of 512 bytes; the request size if it is not given.
        alignment: Option<u64> => "alignment", Kind::Size { min: SECTOR_BYTES, max: GIB }, Value::Absent,
            "Below the size of a flash page, requests touch one page more than they need.";
        /// Share of the device that is accessed, from its start.
        footprint: f64 => "footprint", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(1.0),
            "A smaller footprint leaves the rest as it was aged: written space stays written unless run.fill leaves it \
             out too; device.unpartitioned does both.",
            Used::with("footprint_size", &["none"]);
        /// Size of the footprint in bytes, instead of a share of the device.
        footprint_size: Option<u64> => "footprint_size", Kind::Size { min: SECTOR_BYTES, max: u64::MAX }, Value::Absent,
            "Keeps the same addresses on devices of any capacity.";
        /// Exponent of the Zipf pattern.
        zipf_theta: f64 => "zipf_theta", Kind::Ratio { min: 0.0, max: 20.0 }, Value::Ratio(0.99),
            "Larger exponents send more of the requests to fewer slots; 0 is uniform.",
            Used::with("pattern", &["zipf"]);
        /// Share of the slots that are hot in the hot-cold pattern.
        hot_share: f64 => "hot_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.2),
            "A smaller hot part is overwritten more often, so that its blocks are soon empty.",
            Used::with("pattern", &["hot-cold"]);
        /// Share of the requests that go to the hot slots in the hot-cold pattern.
        hot_traffic: f64 => "hot_traffic", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.8),
            "The further it is from the share of the slots, the more a policy gains by telling hot from cold.",
            Used::with("pattern", &["hot-cold"]);
        /// Lengths of the extents, each with its weight by data: `4KiB:75, 32KiB:25`. Every request is one extent.
        extents: Option<String> => "extents", Kind::Text, Value::Absent,
            "Pages of a longer extent become invalid together, which an allocation by streams can use.",
            Used::with("pattern", &["extents"]);
        /// Size of the log, a multiple of `append_size`.
        log_size: u64 => "log_size", Kind::Size { min: SECTOR_BYTES, max: 1 << 50 }, Value::Size(64 * MIB),
            "Pages of a longer log stay valid for longer.", Used::with("pattern", &["log"]);
        /// Size of an append to the log, a multiple of 512 bytes.
        append_size: u64 => "append_size", Kind::Size { min: SECTOR_BYTES, max: GIB }, Value::Size(64 * KIB),
            "Larger appends put fewer random requests between the same amount of log data.",
            Used::with("pattern", &["log"]);
        /// Share of the requests that are appends to the log.
        append_share: f64 => "append_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.5),
            "The other requests go to random slots beside the log, whose pages stay valid for random times.",
            Used::with("pattern", &["log"]);
        /// Scatter Zipf ranks or hot slots over the footprint, instead of keeping them together at its start.
        scatter: bool => "scatter", Kind::Flag, Value::Flag(true),
            "Unscattered, hot pages share flash blocks because their addresses are close.",
            Used::with("pattern", &["zipf", "hot-cold"]);
        /// Mean inter-arrival time; without it, requests have no times and are replayed closed.
        interarrival_ns: Option<Ns> => "interarrival", Kind::Time { min: 1, max: 3_600 * S }, Value::Absent,
            "A shorter time is a higher load; beyond what the device can do, queues grow without bound.",
            Used::without("workload.replay", &["closed"]);
        /// Distribution of the inter-arrival times.
        arrival: Arrival => "arrival", Kind::Choice(Arrival::CHOICES), Value::Name("exponential"),
            "Exponential arrivals make queues at any load, constant ones only near saturation.",
            Used::without("interarrival", &["none"]);
        /// Number of tasks that the requests are spread over, at random; with 0 they carry no task ids.
        tasks: u32 => "tasks", Kind::Count { min: 0, max: 1 << 20 }, Value::Count(0),
            "More tasks give a scheduler that serves tasks in turn more to switch between.";
        /// Share of the writes that are synchronous: a task waits for them.
        sync_share: f64 => "sync_share", Kind::Ratio { min: 0.0, max: 1.0 }, Value::Ratio(0.0),
            "Schedulers serve synchronous writes before the others.";
        /// Number of writes after which a flush follows; 0 means never.
        flush_every: u64 => "flush_every", Kind::Count { min: 0, max: u64::MAX }, Value::Count(0),
            "Frequent flushes keep a write buffer from gathering pages.";
    }
}

impl SyntheticParams {
    /// True if the requests depend on the seed.
    pub(crate) fn draws(&self) -> bool {
        let is_mixed = |share: f64| 0.0 < share && share < 1.0;
        let draws_times = self.interarrival_ns.is_some() && self.arrival == Arrival::Exponential;
        self.pattern != Pattern::Sequential
            || [self.read_share, self.discard_share, self.sync_share].into_iter().any(is_mixed)
            || self.tasks > 1
            || draws_times
    }
}

/// Entry of the table of workloads.
pub(crate) static SPEC: PolicySpec = PolicySpec {
    name: "synthetic",
    summary: "requests made from a seed: sequential, random, Zipf, hot and cold, extents, or a log beside rewrites",
    details: "Each request draws its operation, its slot of the footprint, its task and its time of arrival from \
              streams of their own. Zipf ranks are drawn exactly at constant cost, for any footprint. Without an \
              inter-arrival time, the requests are replayed closed, at the queue depth of the workload.",
    source: "Zipf: Hoermann and Derflinger, ACM TOMACS 6(3), 1996; scattering: Black and Rogaway, CT-RSA 2002",
    example: "workload.kind=synthetic workload.synthetic.pattern=zipf workload.synthetic.read_share=0.7 \
              workload.synthetic.request_size=16KiB",
    instead: "Its requests know nothing of files or of each other: for those of an application use a recording \
              (`trace`) or `filebench`. To run the same load on a real drive, use `fio`.",
    params: SyntheticParams::PARAMS,
    ..PolicySpec::BLANK
};

/// The slots of the footprint, and how one is drawn.
enum Slots {
    Sequential { next: u64 },
    Random,
    Zipf(Zipf),
    HotCold { hot: u64, traffic: f64 },
    Extents { extents: Extents, footprint: u64 },
    Log(Log),
}

/// A circular log, and its next append.
struct Log {
    sectors: u64,
    append: u64,
    share: f64,
    next: u64,
}

impl Log {
    fn new(params: &SyntheticParams) -> Result<Self, Refusal> {
        let sectors = whole_sectors("log_size", params.log_size)?;
        let append = whole_sectors("append_size", params.append_size)?;
        if !sectors.is_multiple_of(append) {
            let (log, append) = (format_size(params.log_size), format_size(params.append_size));
            let found = format!("a log of {log} in appends of {append} (append_size)");
            return Err(refuse("log_size", found, "a multiple of append_size"));
        }
        Ok(Self { sectors, append, share: params.append_share, next: 0 })
    }

    /// Returns the first sector and the sectors of the next append.
    fn append(&mut self) -> (u64, u64) {
        let lba = self.next;
        self.next = if lba + self.append == self.sectors { 0 } else { lba + self.append };
        (lba, self.append)
    }
}

/// A source of generated requests.
pub struct Synthetic {
    params: SyntheticParams,
    slots: Slots,
    slot_count: u64,
    scatter: Option<Scatter>,
    alignment_sectors: u64,
    sectors: u32,
    made: u64,
    writes_since_flush: u64,
    now_ns: Ns,
    ops: Prng,
    addresses: Prng,
    times: Prng,
    tasks: Prng,
}

/// Expected form of the key `extents`.
const EXTENTS: &str = "lengths with their weights, such as 64KiB:84, 256KiB:16";

fn refuse(key: &str, found: String, expected: &str) -> Refusal {
    Refusal::new(found, expected).at([format!("workload.synthetic.{key}")])
}

/// Sectors of a size that must be a multiple of 512 bytes.
fn whole_sectors(key: &str, bytes: u64) -> Result<u64, Refusal> {
    if !bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(refuse(key, format!("{} is not a multiple of 512 bytes", format_size(bytes)), "whole sectors"));
    }
    Ok(bytes / SECTOR_BYTES)
}

impl Synthetic {
    /// A generator for a device of `capacity` sectors. A refusal names the key that does not fit.
    pub fn new(params: &SyntheticParams, capacity: u64, prng: &Prng) -> Result<Self, Refusal> {
        let sectors = whole_sectors("request_size", params.request_size)?;
        let alignment_sectors = whole_sectors("alignment", params.alignment.unwrap_or(params.request_size))?;
        if let (Some(_), Pattern::Extents | Pattern::Log) = (params.alignment, params.pattern) {
            let found = format!("`alignment` with `pattern` = \"{}\"", params.pattern.name());
            return Err(refuse("alignment", found, "a pattern of requests that are all of one size"));
        }
        let (key, footprint) = match params.footprint_size {
            Some(bytes) => ("footprint_size", whole_sectors("footprint_size", bytes)?),
            None => ("footprint", (capacity as f64 * params.footprint) as u64),
        };
        if footprint > capacity {
            let found = format!("the footprint of {footprint} sectors is larger than the device");
            return Err(refuse(key, found, "at most the capacity of the device"));
        }
        let extents = params.extents.as_deref().map(Extents::parse).transpose();
        let extents = extents.map_err(|(found, expected)| refuse("extents", found, &expected))?;
        let log = if params.pattern == Pattern::Log { Some(Log::new(params)?) } else { None };
        let longest = match (params.pattern, &extents, &log) {
            (Pattern::Extents, Some(extents), _) => extents.longest(),
            (_, _, Some(log)) => log.sectors + sectors,
            _ => sectors,
        };
        let Some(room) = footprint.checked_sub(longest) else {
            let what = if log.is_some() { "a log with a request beside it" } else { "a request" };
            let found = format!("{what} of {longest} sectors does not fit in a footprint of {footprint}");
            return Err(refuse(key, found, "room for at least one request"));
        };
        let slot_count = room / alignment_sectors + 1;
        let slots = match params.pattern {
            Pattern::Sequential => Slots::Sequential { next: 0 },
            Pattern::Random => Slots::Random,
            Pattern::Zipf => Slots::Zipf(Zipf::new(slot_count, params.zipf_theta)),
            Pattern::Extents => {
                let missing = || refuse("pattern", "`pattern` = \"extents\" without extents".to_owned(), EXTENTS);
                Slots::Extents { extents: extents.ok_or_else(missing)?, footprint }
            }
            Pattern::Log => Slots::Log(log.expect("made for this pattern")),
            Pattern::HotCold => {
                let hot = (slot_count as f64 * params.hot_share).round() as u64;
                Slots::HotCold { hot: hot.min(slot_count), traffic: params.hot_traffic }
            }
        };
        let skewed = matches!(slots, Slots::Zipf(_) | Slots::HotCold { .. });
        let scatter = (params.scatter && skewed).then(|| Scatter::new(slot_count, &mut prng.branch("scatter")));
        Ok(Self {
            params: params.clone(),
            slots,
            slot_count,
            scatter,
            alignment_sectors,
            sectors: u32::try_from(sectors).expect("a request of at most 1 GiB has fewer than 2^32 sectors"),
            made: 0,
            writes_since_flush: 0,
            now_ns: 0,
            ops: prng.branch("operations"),
            addresses: prng.branch("addresses"),
            times: prng.branch("times"),
            tasks: prng.branch("tasks"),
        })
    }

    /// Draws the first sector and the sectors of the next request; only writes append to a log.
    fn place(&mut self, op: Op) -> (u64, u32) {
        let prng = &mut self.addresses;
        let mut start = 0;
        let rank = match &mut self.slots {
            Slots::Sequential { next } => {
                let slot = *next;
                *next = if slot + 1 == self.slot_count { 0 } else { slot + 1 };
                slot
            }
            Slots::Random => prng.below(self.slot_count),
            Slots::Zipf(zipf) => zipf.draw(prng),
            Slots::HotCold { hot, traffic } => {
                let cold = self.slot_count - *hot;
                // Where one of the parts is empty, the other gets everything.
                let to_hot = prng.chance(*traffic);
                if cold == 0 || (to_hot && *hot > 0) { prng.below(*hot) } else { *hot + prng.below(cold) }
            }
            Slots::Extents { extents, footprint } => {
                let (lba, sectors) = extents.draw(*footprint, prng);
                return (lba, sectors as u32);
            }
            Slots::Log(log) => {
                if op == Op::Write && prng.chance(log.share) {
                    let (lba, sectors) = log.append();
                    return (lba, sectors as u32);
                }
                start = log.sectors;
                prng.below(self.slot_count)
            }
        };
        let slot = self.scatter.as_ref().map_or(rank, |scatter| scatter.of(rank));
        (start + slot * self.alignment_sectors, self.sectors)
    }

    /// Draws the operation and flags of the next request.
    fn operation(&mut self) -> (Op, u8) {
        if self.params.flush_every > 0 && self.writes_since_flush == self.params.flush_every {
            self.writes_since_flush = 0;
            return (Op::Flush, Request::SYNC);
        }
        if self.ops.chance(self.params.discard_share) {
            return (Op::Discard, 0);
        }
        if self.ops.chance(self.params.read_share) {
            return (Op::Read, Request::SYNC);
        }
        self.writes_since_flush += 1;
        (Op::Write, if self.ops.chance(self.params.sync_share) { Request::SYNC } else { 0 })
    }

    fn step_ns(&mut self) -> Ns {
        let Some(mean) = self.params.interarrival_ns else { return 0 };
        match self.params.arrival {
            Arrival::Constant => mean,
            // 1 - unit() is in (0, 1], so that the logarithm is finite.
            Arrival::Exponential => libm::round(-libm::log(1.0 - self.times.unit()) * mean as f64) as Ns,
        }
    }
}

impl Source for Synthetic {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        if self.made == self.params.requests {
            return Ok(None);
        }
        if self.made > 0 {
            self.now_ns += self.step_ns();
        }
        self.made += 1;
        let (op, flags) = self.operation();
        let (lba, sectors) = if op == Op::Flush { (0, 0) } else { self.place(op) };
        let tasks = u64::from(self.params.tasks);
        // Zero stands for "unknown", so tasks are numbered from one.
        let task = if tasks == 0 { 0 } else { 1 + self.tasks.below(tasks) as u32 };
        Ok(Some(Request::new(op, lba, sectors).arriving_at(self.now_ns).of_task(task).with_flags(flags)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::ParamSet;

    const CAPACITY: u64 = 1 << 20;

    /// The requests with changed parameters.
    fn make(change: impl FnOnce(&mut SyntheticParams)) -> Vec<Request> {
        let mut source = Synthetic::new(&params(change), CAPACITY, &Prng::new(7)).expect("valid parameters");
        std::iter::from_fn(|| source.next_request().expect("a generator does not fail")).collect()
    }

    fn params(change: impl FnOnce(&mut SyntheticParams)) -> SyntheticParams {
        let mut params = SyntheticParams { requests: 20_000, ..SyntheticParams::defaults() };
        change(&mut params);
        params
    }

    fn share(requests: &[Request], is: impl Fn(&Request) -> bool) -> f64 {
        requests.iter().filter(|request| is(request)).count() as f64 / requests.len() as f64
    }

    #[test]
    fn a_sequential_workload_begins_again_at_the_end_of_the_footprint() {
        let requests = make(|p| (p.pattern, p.footprint_size, p.requests) = (Pattern::Sequential, Some(12 * KIB), 5));
        assert_eq!(requests.iter().map(|request| request.lba).collect::<Vec<_>>(), [0, 8, 16, 0, 8]);
        assert!(requests.iter().all(|request| request.sectors == 8 && request.op == Op::Write));
    }

    #[test]
    fn requests_lie_within_the_footprint_and_on_the_alignment() {
        for pattern in [Pattern::Random, Pattern::Zipf, Pattern::HotCold] {
            let requests =
                make(|p| (p.pattern, p.footprint, p.request_size, p.alignment) = (pattern, 0.5, 8 * KIB, Some(KIB)));
            assert!(requests.iter().all(|request| request.end() <= CAPACITY / 2 && request.lba % 2 == 0));
            assert!(requests.iter().any(|request| request.lba % 16 != 0), "the alignment is finer than the size");
        }
    }

    #[test]
    fn shares_are_what_was_asked_for_within_five_sigma() {
        let requests = make(|p| (p.read_share, p.discard_share, p.sync_share) = (0.3, 0.1, 0.5));
        let near = |value: f64, wanted: f64, count: f64| {
            let sigma = (wanted * (1.0 - wanted) / count).sqrt();
            assert!((value - wanted).abs() < 5.0 * sigma, "{value}, not {wanted}");
        };
        near(share(&requests, |request| request.op == Op::Discard), 0.1, 20_000.0);
        near(share(&requests, |request| request.op == Op::Read), 0.9 * 0.3, 20_000.0);
        let writes: Vec<_> = requests.into_iter().filter(|request| request.op == Op::Write).collect();
        near(share(&writes, |request| request.has(Request::SYNC)), 0.5, writes.len() as f64);
    }

    #[test]
    fn hot_slots_get_their_share_and_are_scattered_unless_kept_together() {
        for scatter in [false, true] {
            let requests =
                make(|p| (p.pattern, p.scatter, p.hot_share, p.hot_traffic) = (Pattern::HotCold, scatter, 0.1, 0.9));
            let at_start = share(&requests, |request| request.lba < CAPACITY / 10);
            let expected = if scatter { 0.1 } else { 0.9 };
            assert!((at_start - expected).abs() < 0.02, "scatter = {scatter}: {at_start} at the start");
        }
        let all_hot = make(|p| (p.pattern, p.hot_share, p.hot_traffic) = (Pattern::HotCold, 1.0, 0.0));
        let none_hot = make(|p| (p.pattern, p.hot_share, p.hot_traffic) = (Pattern::HotCold, 0.0, 1.0));
        assert_eq!((all_hot.len(), none_hot.len()), (20_000, 20_000));
    }

    #[test]
    fn a_log_goes_round_in_appends_beside_rewrites_of_the_rest() {
        let requests = make(|p| {
            (p.pattern, p.log_size, p.append_size, p.append_share) = (Pattern::Log, 12 * KIB, 4 * KIB, 0.25);
            (p.request_size, p.footprint_size, p.read_share) = (KIB, Some(20 * KIB), 0.2);
        });
        let (log, rest): (Vec<Request>, Vec<Request>) = requests.into_iter().partition(|request| request.lba < 24);
        assert_eq!(log[..4].iter().map(|request| request.lba).collect::<Vec<_>>(), [0, 8, 16, 0]);
        assert!(log.iter().all(|request| request.sectors == 8 && request.op == Op::Write));
        assert!(rest.iter().all(|request| request.sectors == 2 && request.end() <= 40 && request.lba % 2 == 0));
        assert!((log.len() as f64 / 20_000.0 - 0.8 * 0.25).abs() < 0.02);
    }

    #[test]
    fn extents_are_drawn_within_the_footprint() {
        let requests = make(|p| {
            (p.pattern, p.footprint_size) = (Pattern::Extents, Some(100 * KIB));
            p.extents = Some("8KiB:1, 32KiB:1".to_owned());
        });
        assert!(requests.iter().all(|request| [16, 64].contains(&request.sectors) && request.end() <= 200));
        assert!((share(&requests, |request| request.sectors == 16) - 0.8).abs() < 0.02, "as much data of either");
    }

    #[test]
    fn a_flush_follows_every_so_many_writes() {
        let requests = make(|p| (p.flush_every, p.requests) = (3, 9));
        let ops: String = requests.iter().map(|request| if request.op == Op::Flush { 'F' } else { 'W' }).collect();
        assert_eq!(ops, "WWWFWWWFW");
    }

    #[test]
    fn arrivals_have_the_mean_that_was_asked_for_and_begin_at_zero() {
        let constant = make(|p| (p.interarrival_ns, p.arrival) = (Some(500), Arrival::Constant));
        assert!(constant.iter().enumerate().all(|(index, request)| request.arrival_ns == index as u64 * 500));
        let poisson = make(|p| p.interarrival_ns = Some(10_000));
        let mean = poisson.last().unwrap().arrival_ns as f64 / 19_999.0;
        assert_eq!(poisson[0].arrival_ns, 0);
        assert!((mean / 10_000.0 - 1.0).abs() < 5.0 / 20_000f64.sqrt(), "the mean is {mean}");
        assert!(poisson.windows(2).all(|pair| pair[0].arrival_ns <= pair[1].arrival_ns));
    }

    #[test]
    fn tasks_are_numbered_from_one_and_do_not_change_the_addresses() {
        let plain = make(|_| ());
        let tasked = make(|p| p.tasks = 3);
        assert!(plain.iter().all(|request| request.task == 0));
        assert!(tasked.iter().all(|request| (1..=3).contains(&request.task)));
        assert!(plain.iter().zip(&tasked).all(|(a, b)| (a.lba, a.op) == (b.lba, b.op)));
    }

    #[test]
    fn what_does_not_fit_names_its_key() {
        let key = |change: fn(&mut SyntheticParams)| match Synthetic::new(&params(change), CAPACITY, &Prng::new(1)) {
            Ok(_) => panic!("accepted"),
            Err(refusal) => refusal.keys.join(", "),
        };
        assert_eq!(key(|p| p.request_size = 1000), "workload.synthetic.request_size");
        assert_eq!(key(|p| p.alignment = Some(513)), "workload.synthetic.alignment");
        assert_eq!(key(|p| p.footprint_size = Some(1 << 40)), "workload.synthetic.footprint_size");
        assert_eq!(key(|p| p.footprint = 0.0), "workload.synthetic.footprint");
        assert_eq!(key(|p| p.pattern = Pattern::Extents), "workload.synthetic.pattern");
        let aligned = |p: &mut SyntheticParams| (p.pattern, p.alignment) = (Pattern::Log, Some(KIB));
        assert_eq!(key(aligned), "workload.synthetic.alignment");
        assert_eq!(key(|p| p.extents = Some("4KiB".to_owned())), "workload.synthetic.extents");
        assert_eq!(key(|p| (p.pattern, p.log_size) = (Pattern::Log, 65 * KIB)), "workload.synthetic.log_size");
        assert_eq!(key(|p| (p.pattern, p.log_size) = (Pattern::Log, GIB)), "workload.synthetic.footprint");
    }
}
