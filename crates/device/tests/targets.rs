//! Targets other than an engine, and workloads that share one: reports, and fairness.

use std::collections::VecDeque;

use crate::support::{
    Kept, Run, buffered, filled_with, pages, plain_device, plain_nand, plain_with, replayed, request, unbuffered, under,
};
use flashloom_device::{
    Cause, Completion, Engine, HostReport, Misuse, Queues, Served, Simulation, Status, Submitted, Target, Tenant,
};
use flashloom_host::HostParams;
use flashloom_nand::NandParams;
use flashloom_units::{
    Interrupt, Latency, MS, Ns, OrName, ParamSet, Prng, Problem, StateError, US, load_with, save_with,
};
use flashloom_workload::{Arrivals, Op, Pace, Request};

/// Random reads and writes of a page, at random times.
fn mixed(seed: u64, count: usize, capacity_sectors: u64) -> Vec<Request> {
    let (mut prng, mut at) = (Prng::new(seed), 0);
    let mut next = || {
        at += prng.below(40 * US);
        let op = if prng.chance(0.5) { Op::Read } else { Op::Write };
        request(at, op, prng.below(capacity_sectors / 8) * 8, 8)
    };
    (0..count).map(|_| next()).collect()
}

fn sums(latency: &Latency) -> (u64, u128, Ns, Ns) {
    (latency.count(), latency.sum(), latency.max(), latency.percentile(99.0))
}

/// An engine of a new drive without a buffer under a block layer, in time.
fn engine_under(host: &HostParams) -> Engine {
    let mut engine = under(host, &unbuffered(plain_device()), MS);
    engine.start_timing(&plain_nand());
    engine
}

/// Engines of such drives, filled.
fn drives<const N: usize>() -> [Engine; N] {
    std::array::from_fn(|_| Run::new(unbuffered(plain_device())).started())
}

/// A report for comparison: all but the part of the latency that only a target knows.
fn seen(report: &HostReport) -> impl PartialEq + std::fmt::Debug + use<> {
    let HostReport { generated, last_arrival_ns, completed, failed, read_bytes, write_bytes, duration_ns, .. } =
        *report;
    let latencies = [&report.read_latency, &report.write_latency, &report.flush_latency, &report.discard_latency];
    let counts = (generated, last_arrival_ns, completed, failed, read_bytes, write_bytes, duration_ns);
    (counts, latencies.map(sums))
}

#[test]
fn a_workload_alone_sees_what_its_engine_reports() {
    let run = Run::new(buffered(plain_device(), 64, "page-lru", "single"));
    let requests = mixed(1, 3_000, run.setup.device.capacity_sectors());
    for pace in [Pace::Timestamps(1.0), Pace::Closed(16)] {
        let alone = Run { pace, ..Run::new(run.setup.clone()) }.run(requests.clone()).host;
        let mut simulation = Simulation::new(run.started());
        let mut arrivals = replayed(requests.clone(), pace);
        let mut tenants = [Tenant::new(&mut arrivals)];
        simulation.run_together(&mut tenants, Ns::MAX, &mut []).unwrap();
        simulation.check().unwrap();
        assert_eq!(seen(tenants[0].report()), seen(&alone), "{pace:?}");
        assert_eq!(seen(&simulation.outcome().host), seen(&alone), "{pace:?}");
    }
}

/// Arrivals that also wake without a request, every 10 us, and that time must not go back for.
struct Waking {
    requests: VecDeque<Request>,
    asked_ns: Ns,
    wakes: u64,
}

impl Arrivals for Waking {
    fn next_ns(&mut self, now: Ns) -> Result<Option<Ns>, Problem> {
        assert!(now >= self.asked_ns, "asked at {now} ns after {} ns", self.asked_ns);
        self.wakes += u64::from(now > self.asked_ns);
        self.asked_ns = now;
        let wake_ns = (now / (10 * US) + 1) * 10 * US;
        Ok(self.requests.front().map(|first| if first.arrival_ns <= now { now } else { wake_ns.min(first.arrival_ns) }))
    }

    fn take(&mut self, now: Ns) -> (Request, u32) {
        let first = self.requests.pop_front().expect("taken when it is due");
        assert!(first.arrival_ns <= now);
        (first, 0)
    }

    fn completed(&mut self, now: Ns, _cookie: u32) {
        assert!(now >= self.asked_ns, "a completion at {now} ns after {} ns", self.asked_ns);
    }

    fn is_over(&self) -> bool {
        self.requests.is_empty()
    }
}

/// A workload may wake at a time at which it turns out to have no request (a task of Filebench that computes). Time
/// passes all the same: what is asked then is asked at that time.
#[test]
fn time_passes_when_a_workload_wakes_without_a_request() {
    let run = Run::new(unbuffered(plain_device()));
    let requests = mixed(7, 300, run.setup.device.capacity_sectors());
    let waking = || Waking { requests: requests.iter().copied().collect(), asked_ns: 0, wakes: 0 };
    let mut woken = waking();
    let mut simulation = Simulation::new(run.started());
    simulation.run(&mut woken, Ns::MAX, &mut []).unwrap();
    assert!(woken.wakes > 600, "it was woken between requests: {}", woken.wakes);
    let alone = run.run(requests.clone()).host;
    assert_eq!(seen(&simulation.outcome().host), seen(&alone));
    let mut woken = waking();
    let mut simulation = Simulation::new(Queues::new(vec![run.started()]));
    let mut tenants = [Tenant::new(&mut woken)];
    simulation.run_together(&mut tenants, Ns::MAX, &mut []).unwrap();
    assert_eq!(seen(tenants[0].report()), seen(&alone));
}

#[test]
fn reports_of_workloads_that_share_an_engine_add_up_to_its_own() {
    let run = Run::new(unbuffered(plain_device()));
    let capacity = run.setup.device.capacity_sectors();
    let requests = [(1, 2_000), (2, 500)].map(|(seed, count)| mixed(seed, count, capacity));
    let (reports, simulation) = run_on(run.started(), &requests, Pace::Closed(4));
    simulation.check().unwrap();
    let all = simulation.outcome().host;
    let [one, other] = [&reports[0], &reports[1]];
    assert_eq!([one, other].map(|report| (report.generated, report.outstanding())), [(2_000, 0), (500, 0)]);
    for op in Op::ALL {
        assert_eq!(one.completed_of(op) + other.completed_of(op), all.completed_of(op), "{op:?}");
    }
    assert_eq!(one.latency_sum_ns() + other.latency_sum_ns(), all.latency_sum_ns());
    assert_eq!(one.duration_ns.max(other.duration_ns), all.duration_ns);
    assert!(other.duration_ns < one.duration_ns / 2, "the short one is over long before");
}

/// Two workloads flood a block layer with room for four requests of a class. While both have a backlog, their requests
/// are admitted in turn: the second does not wait until the first has none left.
#[test]
fn workloads_that_wait_for_room_take_turns() {
    let host = HostParams { queue_depth: 2, nr_requests: OrName::Number(4), merging: false, ..HostParams::defaults() };
    let flood = pages(Op::Write, 0, 0..400);
    let (reports, simulation) = run_on(engine_under(&host), &[flood.clone(), flood], Pace::Timestamps(1.0));
    simulation.check().unwrap();
    let [one, other] = [0, 1].map(|at| reports[at].write_latency.mean());
    assert!((one / other - 1.0).abs() < 0.02, "{one} and {other} ns");
}

/// Forty reads of one moment, downwards. With a plug the drive takes one of the first 32 before the others are known.
#[test]
fn the_drive_takes_from_a_full_plug_before_the_moment_is_over() {
    let first_of = |plug| {
        let nr_requests = OrName::Number(128);
        let defaults = HostParams { scheduler: "mq-deadline", nr_requests, ..HostParams::defaults() };
        let host = HostParams { queue_depth: 1, plug, ..defaults };
        let requests = (0..40).rev().map(|n| request(0, Op::Read, n * 1_000, 8));
        let kept = kept(engine_under(&host), requests);
        kept.served.iter().min_by_key(|served| served.dispatched_ns).expect("they are served").request.lba
    };
    assert_eq!([false, true].map(first_of), [0, 8_000]);
}

/// Task 0 floods the hardware queue of its processor. Task 1 has one of its own, so its reads do not wait in the host
/// behind those that find no tag, alone or behind a queue of a host; with one hardware queue they do.
#[test]
fn what_waits_for_a_hardware_queue_does_not_hold_back_what_goes_through_another() {
    let engine = |hardware_queues| {
        let defaults = HostParams { scheduler: "none", ..HostParams::defaults() };
        engine_under(&HostParams { queue_depth: 1, processors: 2, hardware_queues, ..defaults })
    };
    let requests = || (0..20).map(|n| request(n, Op::Read, n * 1_000, 8).of_task(u32::from(n == 19)));
    let waited = |kept: Kept| {
        let of_task_1 = kept.served.iter().find(|served| served.request.task == 1).expect("it is served");
        of_task_1.admitted_ns - of_task_1.request.arrival_ns
    };
    let alone = |hardware_queues| waited(kept(engine(hardware_queues), requests()));
    let behind = waited(kept(Queues::new(vec![engine(2)]), requests()));
    assert_eq!((alone(2), behind), (0, 0));
    assert!(alone(1) > 10 * US, "{} ns behind 19 reads", alone(1));
}

#[test]
fn drives_behind_queues_of_one_host_serve_as_if_each_were_alone() {
    let runs = [Run::new(unbuffered(plain_device())), Run::new(buffered(plain_device(), 64, "page-lru", "single"))];
    let capacity = runs[0].setup.device.capacity_sectors();
    let requests = [3, 4].map(|seed| mixed(seed, 2_000, capacity));
    let pace = Pace::Closed(8);
    let alone: Vec<HostReport> = runs
        .iter()
        .zip(&requests)
        .map(|(run, requests)| Run { pace, ..Run::new(run.setup.clone()) }.run(requests.clone()).host)
        .collect();
    let mut simulation = Simulation::new(Queues::new(runs.iter().map(Run::started).collect()));
    let [mut first, mut second] = requests.map(|requests| replayed(requests, pace));
    let mut tenants = [Tenant::new(&mut first), Tenant::new(&mut second).on_queue(1)];
    simulation.run_together(&mut tenants, Ns::MAX, &mut []).unwrap();
    for (member, (tenant, alone)) in simulation.target().members().iter().zip(tenants.iter().zip(&alone)) {
        assert_eq!(seen(tenant.report()), seen(alone));
        assert_eq!(seen(member.host_report()), seen(alone));
        assert!(member.is_idle());
        member.check().unwrap();
    }
}

/// Runs workloads together on a target; returns what they saw.
fn run_on<T: Target>(target: T, requests: &[Vec<Request>], pace: Pace) -> (Vec<HostReport>, Simulation<T>) {
    let mut arrivals: Vec<_> = requests.iter().map(|requests| replayed(requests.clone(), pace)).collect();
    let mut tenants: Vec<_> = arrivals.iter_mut().map(|arrivals| Tenant::new(arrivals)).collect();
    let mut simulation = Simulation::new(target);
    simulation.run_together(&mut tenants, Ns::MAX, &mut []).unwrap();
    let reports = tenants.iter().map(|tenant| tenant.report().clone()).collect();
    (reports, simulation)
}

/// Arrivals go before timers and collection of the same time, and a backlog before the scheduler, whether an engine is
/// run itself or behind a queue. With a closed loop and no idle delay every request comes when collection would begin.
#[test]
fn an_engine_behind_a_queue_is_served_to_the_byte_as_alone() {
    let device = plain_with(NandParams { channels: 2, ways: 1, blocks: 24, pages: 16, ..plain_nand() }, 0.4);
    let mut idle = 0;
    for (pages, scheduler, nr_requests, idle_delay_ns, pace, gap, workloads) in [
        (0, "noop", 64, 0, Pace::Closed(1), 1, 1),
        (0, "noop", 64, 0, Pace::Timestamps(1.0), 100, 2),
        (32, "cfq", 64, 20 * US, Pace::Closed(3), 1, 2),
        (32, "deadline", 4, 0, Pace::Closed(16), 1, 2),
        (16, "anticipatory", 4, 0, Pace::Timestamps(1.0), 30, 3),
    ] {
        let mut setup =
            if pages == 0 { unbuffered(device.clone()) } else { buffered(device.clone(), pages, "page-lru", "single") };
        setup.ftl.params.background_threshold = 6;
        let nr_requests = OrName::Number(nr_requests);
        let host = HostParams { queue_depth: 2, nr_requests, scheduler, ..HostParams::defaults() };
        let engine = || {
            let mut engine = under(&host, &setup, idle_delay_ns);
            engine.precondition(&filled_with(device.logical_pages()), &mut |_| {});
            engine.start_timing(&device.nand);
            engine
        };
        let mut requests: Vec<_> = (1..=workloads).map(|seed| mixed(seed, 1_200, device.capacity_sectors())).collect();
        requests.iter_mut().flatten().for_each(|request| request.arrival_ns *= gap);
        let (alone, lone) = run_on(engine(), &requests, pace);
        let (behind, queues) = run_on(Queues::new(vec![engine()]), &requests, pace);
        let (nested, twice) = run_on(Queues::new(vec![Queues::new(vec![engine()])]), &requests, pace);
        for reports in [&behind, &nested] {
            assert!(reports.iter().map(seen).eq(alone.iter().map(seen)), "{scheduler}, {pace:?}");
        }
        lone.check().unwrap();
        let state = lone.target().snapshot().unwrap();
        for member in [&queues.target().members()[0], &twice.target().members()[0].members()[0]] {
            assert!(member.snapshot().unwrap() == state, "{scheduler}, {pace:?}: another state");
        }
        idle += lone.outcome().ftl.background_collections;
    }
    assert!(idle > 50, "{idle} collections in idle time");
}

#[test]
fn a_queue_that_is_not_there_is_named() {
    let mut simulation = Simulation::new(Queues::new(drives::<1>().into()));
    let mut arrivals = replayed(pages(Op::Read, 0, 0..1), Pace::Closed(1));
    let mut tenants = [Tenant::new(&mut arrivals).on_queue(3)];
    let problem = simulation.run_together(&mut tenants, Ns::MAX, &mut []).unwrap_err();
    assert_eq!(problem.refusal.found, Misuse::NoQueue { queue: 3, queues: 1 }.to_string());
    assert!(problem.to_string().contains("there is no queue 3 among the 1 of the target"), "{problem}");
}

/// A queue that has had no requests for a while keeps the host's time.
#[test]
fn drives_behind_queues_share_the_time_of_their_host() {
    let mut queues = Queues::new(drives::<2>().into());
    let read = request(0, Op::Read, 0, 8);
    assert_eq!(queues.submit(100, &read.on_queue(1), 0), Ok(Submitted::Accepted));
    assert_eq!(queues.now_ns(), 100);
    let past = Misuse::Past { now_ns: 50, target_ns: 100 };
    assert_eq!(queues.submit(50, &read, 1), Err(past), "the first drive has not come so far");
    assert_eq!(queues.advance_to(50), Err(past));
    let skipped = Misuse::Skipped { now_ns: 200, due_ns: 100 };
    assert_eq!(queues.submit(200, &read, 1), Err(skipped), "the second drive begins before");
    assert_eq!(queues.advance_to(Ns::MAX), Err(Misuse::TooLate { now_ns: Ns::MAX }));
    assert_eq!(queues.submit(100, &read, 1), Ok(Submitted::Accepted));
    let mut ended = Vec::new();
    while let Some(next_ns) = queues.next_event_ns().filter(|_| ended.len() < 2) {
        queues.advance_to(next_ns).unwrap();
        ended.extend(std::iter::from_fn(|| queues.take_completion()));
    }
    // Of completions at the same time, the first queue's comes first.
    assert_eq!(ended.iter().map(|completion| completion.cookie).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(ended[0].time_ns, ended[1].time_ns, "they read at the same time");
}

#[test]
fn what_interrupts_the_first_drive_interrupts_the_run() {
    let mut engines = drives::<2>();
    let interrupt = Interrupt::default();
    engines[0].interrupted_by(interrupt.clone());
    interrupt.raise();
    let (reports, _) = run_on(Queues::new(engines.into()), &[pages(Op::Read, 0, 0..4)], Pace::Closed(1));
    assert_eq!(reports[0].generated, 0);
}

/// A run of two drives, continued from a state that was saved in its middle.
#[test]
fn queues_that_are_restored_go_on_as_they_were() {
    let queues = || Queues::new(drives::<2>().into());
    let (mut saved, mut restored) = (queues(), queues());
    let requests = mixed(5, 60, saved.capacity_sectors());
    for (cookie, request) in (0..).zip(&requests) {
        let request = request.arriving_at(0).on_queue((cookie % 2) as u8);
        assert_eq!(saved.submit(0, &request, cookie), Ok(Submitted::Accepted));
    }
    saved.advance_to(300 * US).unwrap();
    let state = saved.snapshot().unwrap();
    restored.restore(&state).unwrap();
    let rest = |mut queues: Queues<Engine>| {
        let mut ended: Vec<Completion> = Vec::new();
        while ended.len() < 60 {
            ended.extend(std::iter::from_fn(|| queues.take_completion()));
            let next_ns = queues.next_event_ns().unwrap_or(queues.now_ns());
            queues.advance_to(next_ns).unwrap();
        }
        ended
    };
    let ended = rest(saved);
    assert!(ended.is_sorted_by_key(|completion| completion.time_ns));
    assert_eq!(rest(restored), ended);
    let mut one = Queues::new(drives::<1>().into());
    assert!(one.restore(&state).unwrap_err().to_string().contains("at most 1 entries"));
}

/// A target of another crate: a fixed time per request, and a fixed number of outstanding requests.
struct Fixed {
    now: Ns,
    takes_ns: Ns,
    room: usize,
    held: VecDeque<Completion>,
}

impl Target for Fixed {
    fn capacity_sectors(&self) -> u64 {
        1 << 20
    }

    fn submit(&mut self, now_ns: Ns, _request: &Request, cookie: u32) -> Result<Submitted, Misuse> {
        if self.held.len() == self.room {
            return Ok(Submitted::Full);
        }
        self.held.push_back(Completion::new(cookie, now_ns + self.takes_ns, Status::DONE));
        Ok(Submitted::Accepted)
    }

    fn now_ns(&self) -> Ns {
        self.now
    }

    fn next_event_ns(&mut self) -> Option<Ns> {
        self.held.front().map(|first| first.time_ns)
    }

    fn advance_to(&mut self, to_ns: Ns) -> Result<(), Misuse> {
        self.now = to_ns;
        Ok(())
    }

    fn take_completion(&mut self) -> Option<Completion> {
        let is_due = self.held.front()?.time_ns <= self.now;
        if is_due { self.held.pop_front() } else { None }
    }

    fn snapshot(&self) -> Result<Vec<u8>, StateError> {
        let held: Vec<_> = self.held.iter().map(|held| (held.cookie, held.time_ns, held.status)).collect();
        save_with(|to| to.value(&(self.now, held)))
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let (now, held): (Ns, Vec<(u32, Ns, Status)>) = load_with(state, |from| from.value())?;
        self.now = now;
        self.held =
            held.into_iter().map(|(cookie, time_ns, status)| Completion::new(cookie, time_ns, status)).collect();
        Ok(())
    }
}

#[test]
fn targets_from_outside_are_saved_behind_their_queues() {
    let fixed = |takes_ns| Fixed { now: 0, takes_ns, room: 4, held: VecDeque::new() };
    let queues = || Queues::new(vec![fixed(5 * US), fixed(9 * US)]);
    let (mut saved, mut restored) = (queues(), queues());
    for cookie in 0..6 {
        let now = u64::from(cookie) * US;
        let read = request(now, Op::Read, u64::from(cookie) * 8, 8).on_queue(u8::from(cookie % 2 == 1));
        assert_eq!(saved.submit(now, &read, cookie), Ok(Submitted::Accepted));
    }
    restored.restore(&saved.snapshot().unwrap()).unwrap();
    assert_eq!(restored.now_ns(), saved.now_ns());
    let [of_saved, of_restored] = [saved, restored].map(|mut queues| {
        queues.advance_to(20 * US).unwrap();
        std::iter::from_fn(|| queues.take_completion()).collect::<Vec<_>>()
    });
    assert_eq!(of_saved.len(), 6);
    assert_eq!(of_restored, of_saved);
}

/// What a target tells of a run.
fn kept<T: Target>(target: T, requests: impl IntoIterator<Item = Request>) -> Kept {
    let mut kept = Kept::default();
    let mut arrivals = replayed(requests, Pace::Timestamps(1.0));
    Simulation::new(target).run(&mut arrivals, Ns::MAX, &mut [&mut kept]).unwrap();
    kept
}

/// Six requests arrive at once at a target that takes two, 100 us each.
#[test]
fn a_run_tells_of_a_target_that_tells_nothing_what_it_knows_itself() {
    let mut simulation = Simulation::new(Fixed { now: 0, takes_ns: 100 * US, room: 2, held: VecDeque::new() });
    let mut arrivals = replayed(pages(Op::Read, 0, 0..6), Pace::Timestamps(1.0));
    let mut kept = Kept::default();
    let end_ns = simulation.run(&mut arrivals, 150 * US, &mut [&mut kept]).unwrap();
    assert_eq!(end_ns, 300 * US);
    let held = |served: &Served| (served.parts[Cause::NrRequests], served.parts[Cause::Served], served.latency_ns());
    let expected = [0, 0, 100, 100, 200, 200].map(|held_us| (held_us * US, 100 * US, (held_us + 100) * US));
    assert_eq!(kept.served.iter().map(held).collect::<Vec<_>>(), expected);
    assert!(kept.served.iter().all(|served| served.parts.total() == served.latency_ns()));
    let samples = kept.samples.iter().map(|sample| (sample.time_ns / US, sample.completed, sample.outstanding));
    assert_eq!(samples.collect::<Vec<_>>(), [(150, 2, 4), (300, 4, 2), (300, 6, 0)]);
}

#[test]
fn a_target_that_never_has_room_ends_the_run_with_an_error() {
    let mut simulation = Simulation::new(Fixed { now: 0, takes_ns: 1, room: 0, held: VecDeque::new() });
    let mut arrivals = replayed(pages(Op::Read, 0, 0..2), Pace::Timestamps(1.0));
    let problem = simulation.run(&mut arrivals, Ns::MAX, &mut []).unwrap_err();
    assert!(problem.to_string().contains("2 requests for which its target has no room"), "{problem}");
}
