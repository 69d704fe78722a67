//! All schedulers under random requests and a random device: no request is lost or stuck, all counters add up, and with
//! schedulers that have deadlines no request exceeds its own by more than the bound that the source file states.

use crate::support::{self, complete};
use flashloom_host::scheduler::builtin;
use flashloom_host::{Admission, BlockLayer, Decision, HostParams, RequestId};
use flashloom_units::{MIB, MS, Ns, OrName, ParamSet, US, Value};
use flashloom_workload::{Op, Priority, Request};
use proptest::prelude::*;

const CAPACITY: u64 = 64 * MIB / 512;

fn layer(scheduler: &str, host: &HostParams, set: &[(&str, Value)]) -> BlockLayer {
    support::layer(host, CAPACITY, scheduler, set)
}

fn request() -> impl Strategy<Value = Request> {
    let op = prop_oneof![5 => Just(Op::Read), 5 => Just(Op::Write), 1 => Just(Op::Discard), 1 => Just(Op::Flush)];
    let lba = prop_oneof![3 => 0..600u64, 1 => 0..CAPACITY - 64];
    (op, lba, 1..64u32, 0..6u32, 0..8u8, 0..3 * MS).prop_map(|(op, lba, sectors, task, flags, gap_ns)| {
        let request = if op == Op::Flush { Request::flush() } else { Request::new(op, lba, sectors) };
        let request = request.of_task(task).with_flags(if op == Op::Write { flags } else { 0 });
        // The gap to the request before, until the trace is put together.
        request.arriving_at(gap_ns)
    })
}

fn trace() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec(request(), 1..200).prop_map(|mut requests| {
        let mut now = 0;
        for request in &mut requests {
            now += request.arrival_ns;
            request.arrival_ns = now;
        }
        requests
    })
}

/// Replays a trace on a device that takes `service_ns` a request and completes in any order. Returns the number of
/// completions of each request.
fn replay(layer: &mut BlockLayer, trace: &[Request], service_ns: Ns, mut pick: u64) -> Result<Vec<u32>, String> {
    let mut completions = vec![0; trace.len()];
    let mut held: Vec<(Ns, RequestId)> = Vec::new();
    let (mut now, mut next) = (0, 0);
    loop {
        while next < trace.len() && trace[next].arrival_ns <= now {
            match layer.submit(now, &trace[next], next as u32) {
                Admission::Full => break,
                Admission::Queued | Admission::Merged => next += 1,
            }
        }
        let decision = layer.dispatch(now);
        layer.check()?;
        if let Decision::Dispatch(dispatched) = decision {
            held.push((now + service_ns, dispatched.id));
            continue;
        }
        let arrival = trace.get(next).map(|request| request.arrival_ns).filter(|&arrival_ns| arrival_ns > now);
        let wake = if let Decision::NotBefore(time) = decision { Some(time) } else { None };
        let completion = held.iter().map(|(time, _)| *time).min();
        let Some(time) = arrival.into_iter().chain(wake).chain(completion).min() else {
            if next < trace.len() || layer.queued() > 0 {
                return Err(format!("stuck at {now} ns with {} queued and {next} submitted", layer.queued()));
            }
            return Ok(completions);
        };
        now = time;
        let due: Vec<usize> = (0..held.len()).filter(|&at| held[at].0 <= now).collect();
        if !due.is_empty() {
            pick = pick.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ now;
            let (_, id) = held.swap_remove(due[(pick % due.len() as u64) as usize]);
            layer.complete(now, id, |completed| completions[completed.cookie as usize] += 1);
            layer.check()?;
        }
    }
}

proptest! {
    #[test]
    fn every_request_of_any_priority_completes_once_and_the_counters_add_up(
        trace in trace(),
        priorities in prop::collection::vec(prop_oneof![Just(0), 0..32u8], 200),
        service_ns in US..20 * MS,
        queue_depth in 1..33u32,
        nr_requests in 1..40u32,
        merging: bool,
        pick: u64,
    ) {
        // Three bits above the flags for the level, two for the class.
        let with = |(request, priority): (&Request, u8)| request.with_priority(Priority::of_flags(priority << 3));
        let trace: Vec<Request> = trace.iter().zip(priorities).map(with).collect();
        let nr_requests = OrName::Number(nr_requests);
        let host = HostParams { queue_depth, nr_requests, merging, ..HostParams::defaults() };
        for spec in builtin().specs() {
            for rotational in [false, true] {
                let mut set = vec![("rotational", Value::Flag(rotational)), ("region_size", Value::Size(MIB))];
                set.retain(|(name, _)| spec.params.iter().any(|param| param.name == *name));
                let mut layer = layer(spec.name, &host, &set);
                let completions = replay(&mut layer, &trace, service_ns, pick)
                    .map_err(|error| TestCaseError::fail(format!("{}: {error}", spec.name)))?;
                prop_assert!(completions.iter().all(|&times| times == 1), "{}: {completions:?}", spec.name);
                let stats = layer.stats();
                prop_assert_eq!(stats.inserted, trace.len() as u64);
                prop_assert_eq!((stats.inserted, stats.completed), (stats.merged + stats.dispatched, stats.inserted));
                prop_assert_eq!(stats.merged == 0 || merging, true);
            }
        }
    }
}

/// A waiting request.
struct Waiting {
    cookie: u32,
    is_read: bool,
    deadline_ns: Ns,
    /// Number of dispatches when it was first seen expired, and the number of requests that were due before it then.
    expired: Option<(u64, u64)>,
}

/// Keeps the queue full and the device accepting, and checks every expired request against its bound. `due_before` is
/// true if the first request is due before the second; `bound` returns the number of dispatches within which a request
/// must be sent.
fn check_waits(
    layer: &mut BlockLayer,
    requests: &[Request],
    expire_ns: [Ns; 2],
    service_ns: Ns,
    due_before: impl Fn(&Waiting, &Waiting) -> bool,
    bound: impl Fn(u64) -> u64,
) -> Result<u64, TestCaseError> {
    let mut waiting: Vec<Waiting> = Vec::new();
    let (mut now, mut next, mut dispatches, mut late) = (0, 0, 0u64, 0);
    loop {
        while let Some(request) = requests.get(next).filter(|request| layer.has_room(request)) {
            prop_assert_eq!(layer.submit(now, request, next as u32), Admission::Queued);
            let is_read = request.op == Op::Read;
            let deadline_ns = now + expire_ns[usize::from(!is_read)];
            waiting.push(Waiting { cookie: next as u32, is_read, deadline_ns, expired: None });
            next += 1;
        }
        for at in 0..waiting.len() {
            if waiting[at].expired.is_none() && now > waiting[at].deadline_ns {
                let before = waiting.iter().filter(|other| due_before(other, &waiting[at])).count() as u64;
                waiting[at].expired = Some((dispatches, before));
            }
        }
        let Decision::Dispatch(dispatched) = layer.dispatch(now) else { return Ok(late) };
        dispatches += 1;
        let cookies = complete(layer, now, dispatched.id);
        let at = waiting.iter().position(|waiting| [waiting.cookie] == cookies[..]).expect("it waited");
        if let Some((since, before)) = waiting.remove(at).expired {
            let after = dispatches - since;
            prop_assert!(after <= bound(before), "{after} dispatches past its deadline, {before} due before it");
            late += 1;
        }
        now += service_ns;
    }
}

fn reads_and_writes() -> impl Strategy<Value = Vec<Request>> {
    let request = (any::<bool>(), 0..CAPACITY - 8).prop_map(|(read, lba)| {
        let op = if read { Op::Read } else { Op::Write };
        Request::new(op, lba, 8)
    });
    prop::collection::vec(request, 200..600)
}

fn saturating_host() -> HostParams {
    HostParams { nr_requests: OrName::Number(40), merging: false, ..HostParams::defaults() }
}

proptest! {
    #[test]
    fn deadline_keeps_its_bound_past_the_deadline(
        requests in reads_and_writes(),
        batch in 1..6u32,
        starved in 1..4u32,
        expire_ms in [1..30u64, 1..30u64],
    ) {
        let host = saturating_host();
        let expire_ns = expire_ms.map(|ms| ms * MS);
        let mut layer = layer("deadline", &host, &[
            ("read_expire", Value::Time(expire_ns[0])),
            ("write_expire", Value::Time(expire_ns[1])),
            ("fifo_batch", Value::Count(batch.into())),
            ("writes_starved", Value::Count(starved.into())),
        ]);
        let due_before = |other: &Waiting, this: &Waiting| other.is_read == this.is_read && other.cookie < this.cookie;
        let bound = |before| (before + 1) * u64::from(starved + 1) * u64::from(batch);
        check_waits(&mut layer, &requests, expire_ns, MS, due_before, bound)?;
    }

    /// Every waiting task sends a request in each epoch, and the others use up their timeslices. Each request before
    /// another in its own line takes a turn; an expired write is in the line of the reads.
    #[test]
    fn fios_starves_nobody(
        requests in reads_and_writes(),
        tasks in 1..5u32,
        timeslice_ms in 1..20u64,
        expire_ms in 1..30u64,
    ) {
        let host = saturating_host();
        let requests: Vec<Request> = requests
            .into_iter()
            .enumerate()
            .map(|(at, request)| request.of_task(at as u32 % tasks))
            .collect();
        let mut layer = layer("fios", &host, &[
            ("timeslice", Value::Time(timeslice_ms * MS)),
            ("cost", Value::Name("linear")),
            ("read_cost", Value::Time(MS)),
            ("write_cost", Value::Time(MS)),
            ("read_cost_4k", Value::Time(0)),
            ("write_cost_4k", Value::Time(0)),
            ("write_expire", Value::Time(expire_ms * MS)),
        ]);
        let (by_task, expire_ns) = (|cookie: u32| cookie % tasks, [expire_ms * MS; 2]);
        let due_before = |other: &Waiting, this: &Waiting| by_task(other.cookie) == by_task(this.cookie);
        // A turn of the own task is at most an epoch of the others away, and an epoch has timeslice_ms turns a task.
        let bound = |before| (before + 1) * u64::from(tasks) + u64::from(tasks) * timeslice_ms * 2;
        let late = check_waits(&mut layer, &requests, expire_ns, MS, due_before, bound)?;
        prop_assert!(late > 0, "80 requests at 1 ms each cannot all make deadlines of 30 ms");
    }

    #[test]
    fn pardispatcher_keeps_its_bound_past_the_deadline(
        requests in reads_and_writes(),
        batch in [1..6u32, 1..6u32],
        expire_ms in [1..30u64, 1..30u64],
    ) {
        let host = saturating_host();
        let expire_ns = expire_ms.map(|ms| ms * MS);
        let mut layer = layer("pardispatcher", &host, &[
            ("region_size", Value::Size(MIB)),
            ("read_batch", Value::Count(batch[0].into())),
            ("write_batch", Value::Count(batch[1].into())),
            ("read_expire", Value::Time(expire_ns[0])),
            ("write_expire", Value::Time(expire_ns[1])),
        ]);
        let key = |waiting: &Waiting| (waiting.deadline_ns, !waiting.is_read, waiting.cookie);
        let due_before = |other: &Waiting, this: &Waiting| key(other) < key(this);
        let bound = |before| 2 * (before + 1) * u64::from(batch[0].max(batch[1]));
        let late = check_waits(&mut layer, &requests, expire_ns, MS, due_before, bound)?;
        prop_assert!(late > 0, "80 requests at 1 ms each cannot all make deadlines of 30 ms");
    }
}
