//! An engine that is saved at a random moment and restored into one that is built anew goes on as if nothing had
//! happened, and what ageing made of a drive goes under any host and write buffer.
//!
//! Strategy: a random drive under a random combination of policies, as in `random_operations.rs`, below a block layer
//! with a random scheduler, few requests and merging, or alone. It is aged at random and then serves some hundred
//! random requests, timed or only counted, with background work between them; a drive whose life ends goes on and
//! fails requests. On the way it is saved at random moments. Each state is restored into an engine of its own, which
//! then gets what is left of the requests: it must be due at the same times, do the same then, and come to the same
//! outcome and the same state, to the byte. For aged drives, one engine is aged and another, with a host and a buffer
//! of its own, takes over what that made of the flash: it must be what it would be had it been aged itself. The checks
//! of a verified run are on in all of them. Every policy of every slot and every kind of moment must have taken part.

use std::collections::{BTreeSet, VecDeque};

use crate::support::plan::{HostPlan, Plan};
use crate::support::random::{pick, seeds_asked_for};
use crate::support::{self, Run, filled_with, pages, replayed};
use flashloom_buffer::{order, rate};
use flashloom_device::{
    Ageing, Completion, Drive, DriveSetup, Engine, Misuse, Outcome, Overwrite, Preconditioned, Reason, Simulation,
    Submitted,
};
use flashloom_ftl::{SlcCacheKind, allocation, collection, mapping, placement};
use flashloom_host::{HostParams, scheduler};
use flashloom_nand::{NandParams, reliability};
use flashloom_units::{Figure, Latency, Ns, OrName, ParamSet, Prng, Role, Slot, StateError};
use flashloom_workload::{Op, Pace};

/// Coverage of the random cases: for each slot, the policies that were used.
type Tried = BTreeSet<(&'static str, &'static str)>;

/// An engine with the source of its requests.
struct Stack {
    engine: Engine,
    driver: Driver,
    log: Vec<Event>,
}

/// State of an engine's driver.
#[derive(Clone, Default)]
struct Driver {
    /// The next request to arrive, and the requests that found no room.
    next: usize,
    backlog: VecDeque<usize>,
    advances: u64,
    accepted: u64,
    collected: u64,
    /// Whether the engine accepted a request since time was advanced.
    is_amid: bool,
}

/// A moment of a run.
struct Saved {
    state: Vec<u8>,
    driver: Driver,
    /// Whether the engine was in the mode of the run already.
    is_started: bool,
    /// What was done before.
    events: usize,
}

impl Saved {
    /// A stack that goes on from where it was self.
    fn restore(&self, plan: &Plan) -> Stack {
        let mut engine = plan.build();
        if self.is_started {
            plan.start(&mut engine);
        }
        engine.restore(&self.state).unwrap();
        assert!(engine.snapshot().unwrap() == self.state, "what was restored is saved as it was");
        if !self.is_started {
            plan.start(&mut engine);
        }
        Stack { driver: self.driver.clone(), ..Stack::new(engine) }
    }
}

#[derive(Debug, PartialEq)]
enum Event {
    Due(Option<Ns>),
    /// Another request has its cookie.
    Refused(usize),
    Submitted(Ns, usize, Submitted),
    Advanced(Ns),
    Completed(Completion),
}

/// What a run comes to.
#[derive(PartialEq)]
struct End {
    report: String,
    state: Vec<u8>,
}

impl Stack {
    fn new(engine: Engine) -> Self {
        Self { engine, driver: Driver::default(), log: Vec::new() }
    }

    /// Does what is due next; false once all is served.
    fn step(&mut self, plan: &Plan) -> bool {
        let now = self.engine.now_ns();
        let arrives = plan.requests.get(self.driver.next).map_or(Ns::MAX, |request| request.arrival_ns.max(now));
        let due = self.engine.next_event_ns();
        if arrives.min(due.unwrap_or(Ns::MAX)) == Ns::MAX {
            return false;
        }
        self.log.push(Event::Due(due));
        let due = due.unwrap_or(Ns::MAX);
        if arrives <= due {
            self.driver.backlog.push_back(self.driver.next);
            self.driver.next += 1;
            if self.driver.backlog.len() == 1 {
                self.submit(plan, arrives);
            }
            return true;
        }
        let to = (due + plan.overshoot_ns).min(arrives);
        self.engine.advance_to(to).unwrap();
        self.log.push(Event::Advanced(to));
        self.driver.is_amid = false;
        self.driver.advances += 1;
        if self.driver.advances.is_multiple_of(plan.collected_after) {
            self.collect();
        }
        while !self.driver.backlog.is_empty() && self.submit(plan, to) {}
        true
    }

    /// Submits the first request that waits. Its cookie is one that others have as well, unless one of them is in use.
    fn submit(&mut self, plan: &Plan, at: Ns) -> bool {
        let index = self.driver.backlog[0];
        let cookies = [index as u32 % 8, 8 + index as u32];
        let request = &plan.requests[index];
        let mut submitted = self.engine.submit(at, request, cookies[0]);
        if submitted == Err(Misuse::CookieInUse(cookies[0])) {
            self.log.push(Event::Refused(index));
            submitted = self.engine.submit(at, request, cookies[1]);
        }
        let submitted = submitted.unwrap();
        self.log.push(Event::Submitted(at, index, submitted));
        let is_accepted = submitted == Submitted::Accepted;
        if is_accepted {
            self.driver.backlog.pop_front();
            self.driver.accepted += 1;
            self.driver.is_amid = true;
        }
        is_accepted
    }

    fn collect(&mut self) {
        let before = self.log.len();
        self.log.extend(self.engine.completions().map(Event::Completed));
        self.driver.collected += (self.log.len() - before) as u64;
    }

    fn save(&self, is_started: bool) -> Saved {
        let state = self.engine.snapshot().unwrap();
        Saved { state, driver: self.driver.clone(), is_started, events: self.log.len() }
    }

    /// What kinds of moments this is one of.
    fn moments(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (driver, outstanding) = (&self.driver, self.engine.outstanding());
        let kinds = [
            ("after some of the requests of a moment", driver.is_amid),
            ("before completions are collected", driver.accepted > outstanding + driver.collected),
            ("while requests wait for room", !driver.backlog.is_empty()),
            ("while the drive works for nobody", outstanding == 0 && !self.engine.is_idle()),
            ("after the life of the drive", self.engine.is_worn_out() && driver.next > 0),
        ];
        kinds.into_iter().filter(|(_, is_one)| *is_one).map(|(kind, _)| ("moment", kind))
    }

    /// Serves what is left; what was done, and what it came to.
    fn finish(mut self, plan: &Plan, tried: &mut Tried) -> (Vec<Event>, End) {
        while self.step(plan) {}
        self.collect();
        assert_eq!((self.engine.outstanding(), self.driver.backlog.len()), (0, 0), "all is served or has failed");
        assert_eq!(self.driver.collected, plan.requests.len() as u64, "and has come back");
        self.engine.check().unwrap();
        let (outcome, state) = (self.engine.outcome(), self.engine.snapshot().unwrap());
        let seen = [
            ("folds of an SLC cache", outcome.ftl.slc_cache.is_some_and(|cache| cache.folded_pages > 0)),
            ("background collections", outcome.ftl.background_collections > 0),
            ("merges of requests", outcome.scheduler.merged > 0),
            ("requests that failed at the end of a life and after", outcome.host.failed[..2].iter().all(|&it| it > 0)),
            ("requests whose data could not be read", outcome.host.failed[Reason::Unreadable.at()] > 0),
        ];
        tried.extend(seen.into_iter().filter(|(_, is_seen)| *is_seen).map(|(what, _)| ("seen", what)));
        (self.log, End { report: shown(outcome), state })
    }
}

/// An outcome in words, its distributions by their moments: their buckets are in the state. How the drive was filled
/// is not in it, because that is about the work of an engine.
fn shown(mut outcome: Outcome) -> String {
    let of = |latency: &Latency| (latency.count(), latency.sum(), latency.percentile(90.0), latency.stddev());
    let host = &mut outcome.host;
    let of_host = [&mut host.read_latency, &mut host.write_latency, &mut host.flush_latency, &mut host.discard_latency];
    let others = [&mut host.device_latency, &mut host.fua_latency, &mut host.preflush_latency];
    let latencies = of_host.into_iter().chain(others).chain(&mut outcome.scheduler.wait);
    let latencies: Vec<_> = latencies.map(|latency| of(&std::mem::take(latency))).collect();
    let figures = std::mem::take(&mut outcome.figures);
    let figures = figures.iter().flat_map(|(_, values)| values).map(|value| match value {
        Figure::Times(latency) => format!("{:?}", of(latency)),
        other => format!("{other:?}"),
    });
    let figures: Vec<_> = figures.collect();
    outcome.filled = None;
    format!("{latencies:?} {figures:?} {outcome:?}")
}

/// What a stack did from some moment on is what another did that was built there, and it came to the same.
fn assert_same(place: &str, own: (&[Event], &End), other: (&[Event], &End)) {
    for (own, other) in own.0.iter().zip(other.0) {
        assert_eq!(own, other, "{place}");
    }
    assert_eq!(own.0.len(), other.0.len(), "{place}");
    assert_eq!(own.1.report, other.1.report, "{place}");
    assert!(own.1.state == other.1.state, "{place}: the states in the end differ");
}

/// Saves a stack at some random moments and lets each state go on; returns at how many.
fn run(seed: u64, requests: usize, moments: u64, tried: &mut Tried) -> u64 {
    let mut prng = Prng::new(seed);
    let Some(plan) = Plan::new(&mut prng, requests) else { return 0 };
    tried.extend(plan.policies());
    let mut stack = Stack::new(plan.aged().0);
    // Steps at which a state is saved: the first one before time is started.
    let mut at: Vec<u64> = (1..moments).map(|_| prng.below(3 * plan.requests.len() as u64)).collect();
    at.sort_unstable();
    let mut saved = vec![stack.save(false)];
    plan.start(&mut stack.engine);
    let mut at = at.into_iter().peekable();
    for step in 0.. {
        while at.next_if_eq(&step).is_some() {
            tried.extend(stack.moments());
            saved.push(stack.save(true));
        }
        if at.peek().is_none() || !stack.step(&plan) {
            break;
        }
    }
    let (log, end) = stack.finish(&plan, tried);
    for (index, saved) in saved.iter().enumerate() {
        let place = format!("seed {seed}, state {index} after {} events of {:?}", saved.events, plan.policies());
        let (its_log, its_end) = saved.restore(&plan).finish(&plan, tried);
        assert_same(&place, (&log[saved.events..], &end), (&its_log, &its_end));
    }
    saved.len() as u64
}

#[test]
fn a_restored_engine_goes_on_as_the_saved_one_at_1000_random_moments() {
    fn named<P: Role + ?Sized>(kind: &'static str, slot: &Slot<P>) -> Vec<(&'static str, &'static str)> {
        slot.specs().map(|spec| (kind, spec.name)).collect()
    }
    let slots = [
        named("scheduler", &scheduler::builtin()),
        named("order", &order::builtin()),
        named("rate", &rate::builtin()),
        named("mapping", &mapping::builtin()),
        named("allocation", &allocation::builtin()),
        named("collection", &collection::builtin()),
        named("placement", &placement::builtin()),
        named("reliability", &reliability::builtin()),
    ];
    let others = [
        ("host", "bare"),
        ("mode", "timed"),
        ("mode", "counting"),
        ("moment", "after some of the requests of a moment"),
        ("moment", "before completions are collected"),
        ("moment", "while requests wait for room"),
        ("moment", "while the drive works for nobody"),
        ("moment", "after the life of the drive"),
        ("seen", "background collections"),
        ("seen", "folds of an SLC cache"),
        ("seen", "merges of requests"),
        ("seen", "requests that failed at the end of a life and after"),
        ("seen", "requests whose data could not be read"),
    ];
    let (mut moments, mut tried) = (0, Tried::new());
    for seed in 0.. {
        moments += run(seed, 200, 5, &mut tried);
        if moments >= 1_000 {
            break;
        }
    }
    let all: Tried = slots.into_iter().flatten().chain(others).collect();
    assert_eq!(all.difference(&tried).collect::<Vec<_>>(), Vec::<&(&str, &str)>::new(), "not tried");
}

/// Ages a drive under one host and goes on under another, which must be as if it had been aged under that; returns what
/// ageing did.
fn run_aged(seed: u64, requests: usize) -> Option<Preconditioned> {
    let mut prng = Prng::new(seed);
    let plan = Plan::new(&mut prng, requests)?;
    let other = plan.with_another_host(&mut prng)?;
    let (engine, aged) = plan.aged();
    let state = engine.save_aged().unwrap();
    let (mut own, its_aged) = other.aged();
    assert_eq!(aged, its_aged, "seed {seed}");
    let mut loaded = other.build();
    loaded.load_aged(&state, aged).unwrap();
    assert!(loaded.save_aged().unwrap() == state, "seed {seed}: what was loaded is saved as it was");
    assert!(loaded.snapshot() == own.snapshot(), "seed {seed}: the whole states differ before the first request");
    let mut again = other.build();
    again.load_aged_again(&state, aged).unwrap();
    assert!(again.snapshot() == own.snapshot(), "seed {seed}: what is not checked is loaded all the same");
    for engine in [&mut own, &mut loaded] {
        other.start(engine);
    }
    let [own, loaded] = [own, loaded].map(|engine| Stack::new(engine).finish(&other, &mut Tried::new()));
    let place = format!("seed {seed}, {:?} aged under {:?}", other.policies(), plan.policies());
    assert_same(&place, (&own.0, &own.1), (&loaded.0, &loaded.1));
    Some(aged)
}

#[test]
fn an_aged_drive_goes_under_any_host_and_write_buffer() {
    let aged: Vec<Preconditioned> = (0..600).filter_map(|seed| run_aged(seed, 200)).collect();
    let count = |is_one: fn(&&Preconditioned) -> bool| aged.iter().filter(is_one).count();
    let (overwritten, worn_out) = (count(|aged| aged.waf.is_some()), count(|aged| aged.is_worn_out));
    let enough = aged.len() > 200 && overwritten > 60 && worn_out > 3;
    assert!(enough, "{} aged, {overwritten} overwritten, {worn_out} worn out", aged.len());
}

/// Whether the owners of pages that are not valid are put back, too: nothing reads them.
const SEES_ALL: bool = cfg!(debug_assertions);

/// Ages a drive, lets it serve some of a run, and rolls it back under another host: there it must be what it is when it
/// is loaded, and do the same. Returns its policies, and whether it was at work when it was taken away.
fn run_rolled_back(seed: u64, requests: usize) -> Option<(Plan, bool)> {
    let mut prng = Prng::new(seed);
    let mut plan = Plan::new(&mut prng, requests)?;
    plan.drive.verify = false;
    let other = plan.with_another_host(&mut prng)?;
    let (mut engine, aged) = plan.aged();
    engine.keep_for_rollback().unwrap();
    let states = [engine.save_aged().unwrap(), engine.save_for_rollback().unwrap()];
    let mut loaded = other.build();
    loaded.load_aged(&states[0], aged).unwrap();
    loaded.keep_for_rollback().unwrap();
    let place = format!("seed {seed}, {:?} under {:?}", other.policies(), plan.policies());
    let mut was_at_work = false;
    // What has been rolled back is rolled back again, each time from more or less of a run.
    for state in [&states[1], &states[0], &states[1]] {
        plan.start(&mut engine);
        let mut stack = Stack::new(engine);
        let steps = prng.below(2 * plan.requests.len() as u64);
        (0..steps).all(|_| stack.step(&plan));
        was_at_work |= stack.engine.outstanding() > 0;
        let mut again = other.build_over(stack.engine.into_spent_flash());
        again.roll_back(state, aged).unwrap();
        assert!(!SEES_ALL || again.snapshot() == loaded.snapshot(), "{place}: not what it was");
        assert_eq!(again.check(), Ok(()), "{place}");
        engine = plan.build_over(again.into_spent_flash());
        engine.roll_back(state, aged).unwrap();
    }
    let mut again = other.build_over(engine.into_spent_flash());
    again.roll_back(&states[0], aged).unwrap();
    for engine in [&mut again, &mut loaded] {
        other.start(engine);
    }
    let [mut again, mut loaded] = [again, loaded].map(|engine| Stack::new(engine).finish(&other, &mut Tried::new()));
    if !SEES_ALL {
        again.1.state.clear();
        loaded.1.state.clear();
    }
    assert_same(&place, (&again.0, &again.1), (&loaded.0, &loaded.1));
    Some((plan, was_at_work))
}

#[test]
fn a_drive_that_is_rolled_back_is_what_it_is_when_it_is_loaded_on_500_random_drives() {
    let mut plans = Vec::new();
    for seed in 0.. {
        plans.extend(run_rolled_back(seed, 200));
        if plans.len() == 500 {
            break;
        }
    }
    let count = |is_one: &dyn Fn(&(Plan, bool)) -> bool| plans.iter().filter(|plan| is_one(plan)).count();
    let mappings: BTreeSet<&str> = plans.iter().map(|(plan, _)| plan.drive.ftl.mapping.name()).collect();
    assert_eq!(mappings, mapping::builtin().specs().map(|spec| spec.name).collect(), "every mapping");
    let page_maps = count(&|(plan, _)| ["page", "dftl", "sftl"].contains(&plan.drive.ftl.mapping.name()));
    let (at_work, timed) = (count(&|(_, was_at_work)| *was_at_work), count(&|(plan, _)| plan.timed));
    let of_cache = count(&|(plan, _)| plan.drive.ftl.params.slc_cache != SlcCacheKind::None);
    let judged = count(&|(plan, _)| plan.drive.reliability.name() != "none");
    let failing = count(&|(plan, _)| plan.drive.device.nand.program_failures > 0.0);
    let kinds = ["map pages", "at work", "timed", "with an SLC cache", "with reads that fail", "with blocks that fail"];
    for (what, count) in kinds.into_iter().zip([page_maps, at_work, timed, of_cache, judged, failing]) {
        assert!(count >= 15, "{count} of 500 are {what}");
    }
}

#[test]
fn only_flash_that_keeps_what_it_was_is_rolled_back() {
    let run = Run::new(DriveSetup { verify: false, ..support::unbuffered(support::plain_device()) });
    let mut engine = run.engine();
    let ageing = filled_with(100);
    let aged = engine.precondition(&ageing, &mut |_| {});
    let rest = engine.save_for_rollback().unwrap();
    assert!(run.engine().load_aged(&rest, aged).is_err(), "a new drive needs all of the state");
    let drive = Drive::over(&run.setup, engine.into_spent_flash()).unwrap();
    let found = Engine::bare(drive, 1, 0).roll_back(&rest, aged).unwrap_err().to_string();
    assert!(found.contains("expected an array that keeps what it was, found one that does not"), "{found}");
    let mut checked = Run::new(DriveSetup { verify: true, ..run.setup.clone() }).engine();
    checked.precondition(&ageing, &mut |_| {});
    assert!(checked.save_for_rollback().is_err(), "what is verified is not handed on");
}

/// What a file says of the ageing of its drive is held against the drive.
#[test]
fn figures_of_ageing_that_the_drive_does_not_bear_out_are_refused() {
    let run = Run::new(support::unbuffered(support::plain_device()));
    let overwrite = Overwrite { prng: Prng::new(1), window: 1.0, tolerance: 0.5, max_windows: 9, rest: false };
    let mut engine = run.engine();
    let aged = engine.precondition(&Ageing { overwrite: Some(overwrite), ..filled_with(100) }, &mut |_| ());
    let state = engine.save_aged().unwrap();
    let load = |aged| run.engine().load_aged(&state, aged).map_err(|error| error.to_string());
    assert_eq!(load(aged), Ok(()));
    for waf in [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e12] {
        let found = load(Preconditioned { waf: Some(waf), ..aged }).unwrap_err();
        assert!(found.contains("a write amplification of") && found.contains("programs at most"), "{found}");
    }
    for pages in [0, 99, 1 << 40, u64::MAX] {
        let found = load(Preconditioned { pages, ..aged }).unwrap_err();
        assert!(found.contains(&format!("{pages} pages that it was aged with: 100 are stored")), "{found}");
    }
    assert!(load(Preconditioned { is_worn_out: true, ..aged }).unwrap_err().contains("worn out: true"));
}

/// The long form: many drives rather than many moments of each, because what goes wrong goes wrong on a rare drive.
#[test]
fn as_many_runs_as_are_asked_for() {
    for seed in seeds_asked_for() {
        println!("seed {seed}");
        run(seed, 800, 4, &mut Tried::new());
        run_aged(seed, 800);
        run_rolled_back(seed, 800);
    }
}

/// A drive that ageing wore out, however an engine came by it: a run that ends with the drive's life ends at once, and
/// one that goes on beyond it fails what it writes.
#[test]
fn a_worn_out_drive_ends_a_run_or_fails_its_writes_whether_it_was_aged_or_loaded() {
    let nand = NandParams { program_failures: 1.0, ..support::plain_nand() };
    let run = Run::new(support::unbuffered(support::plain(nand)));
    let ageing = filled_with(1);
    let mut old = run.engine();
    let aged = old.precondition(&ageing, &mut |_| {});
    let (whole, flash) = (old.snapshot().unwrap(), old.save_aged().unwrap());
    let age = |engine: &mut Engine| assert_eq!(engine.precondition(&ageing, &mut |_| {}), aged);
    let restore = |engine: &mut Engine| engine.restore(&whole).unwrap();
    let load = |engine: &mut Engine| engine.load_aged(&flash, aged).unwrap();
    for (goes_on, served) in [(false, (0, [0, 0, 0])), (true, (4, [0, 4, 0]))] {
        let ends = [&age as &dyn Fn(&mut Engine), &restore, &load].map(|wear_out| {
            let mut engine = run.engine();
            wear_out(&mut engine);
            assert!(engine.is_worn_out());
            engine.start_timing(&run.setup.device.nand);
            let mut simulation = Simulation::new(engine);
            if goes_on {
                simulation = simulation.beyond_end_of_life();
            }
            let requests = [pages(Op::Read, 0, 0..4), pages(Op::Write, 0, 0..4)].concat();
            simulation.run(&mut replayed(requests, Pace::Timestamps(1.0)), Ns::MAX, &mut []).unwrap();
            simulation.check().unwrap();
            let outcome = simulation.outcome();
            assert_eq!((outcome.host.total_completed(), outcome.host.failed), served);
            shown(outcome)
        });
        assert!(ends.iter().all(|end| *end == ends[0]), "{ends:#?}");
    }
}

/// States of a few hundred to a few thousand bytes, taken in the midst of a run, with what they were saved from.
fn small_states() -> impl Iterator<Item = (Plan, Vec<u8>)> {
    (0..).filter_map(|seed| {
        let mut prng = Prng::new(seed);
        let plan = Plan { timed: true, ..Plan::new(&mut prng, 160)? };
        let mut stack = Stack::new(plan.aged().0);
        plan.start(&mut stack.engine);
        (0..prng.below(200)).all(|_| stack.step(&plan)).then_some(())?;
        let bytes = stack.engine.snapshot().unwrap();
        (bytes.len() < 6_000).then_some((plan, bytes))
    })
}

#[test]
fn a_state_that_ends_early_is_refused_wherever_it_ends() {
    for (plan, bytes) in small_states().take(4) {
        let refused_early = |bytes: &[u8], load: &mut dyn FnMut(&[u8]) -> Result<(), StateError>| {
            for length in 0..bytes.len() {
                let error = load(&bytes[..length]).unwrap_err();
                assert!(error.at <= length && !error.field.is_empty(), "{error}");
            }
            load(bytes).unwrap();
        };
        let (mut engine, mut aged) = (plan.build(), plan.build());
        plan.start(&mut engine);
        refused_early(&bytes, &mut |bytes| engine.restore(bytes));
        let (old, preconditioned) = plan.aged();
        refused_early(&old.save_aged().unwrap(), &mut |bytes| aged.load_aged(bytes, preconditioned));
    }
}

/// What it is may be wrong, which only a checksum can tell; but loading it never panics.
#[test]
fn a_damaged_state_is_refused_or_loaded() {
    let (mut refused, mut loaded) = (0, 0);
    for (seed, (plan, bytes)) in small_states().take(12).enumerate() {
        let mut prng = Prng::new(seed as u64);
        let mut engine = plan.build();
        plan.start(&mut engine);
        let (aged, preconditioned) = plan.aged();
        let flash = aged.save_aged().unwrap();
        for _ in 0..400 {
            let damaged = [damage(&mut prng, &bytes), damage(&mut prng, &flash)];
            let results = [engine.restore(&damaged[0]), plan.build().load_aged(&damaged[1], preconditioned)];
            loaded += results.iter().filter(|result| result.is_ok()).count();
            refused += results.iter().filter(|result| result.is_err()).count();
        }
    }
    assert!(refused > 200 && loaded > 200, "{refused} refused, {loaded} loaded");
}

fn damage(prng: &mut Prng, bytes: &[u8]) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    for _ in 0..=prng.below(3) {
        let at = prng.below(bytes.len() as u64) as usize;
        damaged[at] = pick(prng, &[0, 0x7f, 0x80, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x40]);
    }
    damaged
}

/// A plan of nothing but a plain drive, changed in one place.
fn plain(change: fn(&mut Plan)) -> Plan {
    let mut drive = DriveSetup::with_defaults(support::plain_device());
    drive.verify = true;
    let params = HostParams::defaults();
    let scheduler = scheduler::builtin().choose(params.scheduler, &[]).unwrap();
    let mut plan = Plan {
        drive,
        host: HostPlan { params, scheduler, is_bare: false, idle_delay_ns: 0 },
        ageing: filled_with(9),
        timed: true,
        requests: Vec::new(),
        overshoot_ns: 0,
        collected_after: 1,
    };
    change(&mut plan);
    plan
}

fn assert_refused(text: &str, result: Result<(), StateError>) {
    let message = result.expect_err(text).to_string();
    assert!(message.contains(text), "{message}");
}

#[test]
fn a_state_of_another_configuration_is_refused_with_the_field_that_does_not_fit() {
    let bytes = plain(|_| {}).build().snapshot().unwrap();
    let restored = |change| plain(change).build().restore(&bytes);
    assert_refused("`drive.nand.written`", restored(|plan| plan.drive.device.nand.blocks += 1));
    assert_refused("`looking.verifier`", restored(|plan| plan.drive.verify = false));
    assert_refused("`drive.buffer.slots`", restored(|plan| plan.drive.buffer_bytes -= 1 << 20));
    assert_refused("`host.requests.slots`", restored(|plan| plan.host.params.nr_requests = OrName::Number(65)));
    assert_refused("`host`, byte 1: expected a drive without", restored(|plan| plan.host.is_bare = true));
    let mut timed = plain(|_| {}).build();
    timed.start_timing(&support::plain_nand());
    assert_refused("`drive.nand.timed`", timed.restore(&bytes));
    assert_refused(
        "`drive.nand.timed`",
        restored(|_| {}).and(plain(|_| {}).build().restore(&timed.snapshot().unwrap())),
    );
}

#[test]
fn what_ageing_made_is_neither_saved_nor_loaded_once_an_engine_has_begun() {
    let plan = plain(|_| {});
    let (old, aged) = plan.aged();
    let flash = old.save_aged().unwrap();
    let (mut timed, mut used) = (plan.build(), plan.build());
    plan.start(&mut timed);
    used.submit(0, &support::request(0, Op::Write, 0, 8), 0).unwrap();
    assert_refused("found one that was aged already", plan.aged().0.load_aged(&flash, aged));
    for (mut engine, found) in [(timed, "found one that takes time"), (used, "found one that was given 1 requests")] {
        assert_refused(found, engine.save_aged().map(|_| ()));
        assert_refused(found, engine.load_aged(&flash, aged));
    }
}
