//! Every scheduler on its ideal workload: it must reach the result that its source promises there, and another
//! scheduler must not.
//!
//! Two imagined drives: a disk that serves one request at a time and takes long to move its head, and a flash drive
//! that serves many at once and reads slowly while it writes. Tasks are closed loops with a think time.

use crate::support;
use flashloom_host::{Admission, AsyncLimits, BlockLayer, Decision, Dispatched, HostParams, RequestId};
use flashloom_units::{GIB, MS, Ns, OrName, ParamSet, Prng, S, US, Value};
use flashloom_workload::{Op, Priority, PriorityClass, Request};

const CAPACITY: u64 = 64 * GIB / 512;
const SECTORS: u32 = 8;

/// A task that keeps `depth` requests outstanding, each of which begins `stride` sectors after the one before.
struct Task {
    op: Op,
    flags: u8,
    depth: u32,
    think_ns: Ns,
    lba: u64,
    stride: u64,
    latencies: Vec<Ns>,
}

impl Task {
    fn reader(depth: u32, think_ns: Ns, lba: u64, stride: u64) -> Self {
        Self { op: Op::Read, flags: 0, depth, think_ns, lba, stride, latencies: Vec::new() }
    }

    fn writer(depth: u32, lba: u64, stride: u64) -> Self {
        Self { op: Op::Write, flags: 0, depth, think_ns: 0, lba, stride, latencies: Vec::new() }
    }

    fn median_ns(&self) -> Ns {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    }

    fn mean_ns(&self) -> Ns {
        self.latencies.iter().sum::<Ns>() / self.latencies.len() as u64
    }
}

/// Service time of a request, given the position of the drive's head and the number of writes at the drive.
type Service = fn(&Dispatched, head: u64, writes_held: usize) -> Ns;

/// 8 ms to move the head and 100 us to transfer.
const DISK: Service = |request, head, _| if request.lba == head { 100 * US } else { 8_100 * US };
/// Reads take 100 us and ten times that beside writes, writes 1 ms.
const FLASH: Service = |request, _, writes_held| match request.op {
    Op::Read if writes_held == 0 => 100 * US,
    _ => MS,
};

fn layer(name: &str, queue_depth: u32, set: &[(&str, Value)]) -> BlockLayer {
    let (nr_requests, async_limits) = (OrName::Number(128), AsyncLimits::NrRequests);
    let host = HostParams { queue_depth, nr_requests, async_limits, ..HostParams::defaults() };
    support::layer(&host, CAPACITY, name, set)
}

/// Runs tasks concurrently until a given time; returns the first sectors in the order of dispatch.
fn run(layer: &mut BlockLayer, service: Service, until_ns: Ns, tasks: &mut [Task]) -> Vec<u64> {
    let mut due: Vec<(Ns, usize)> = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        due.extend((0..task.depth).map(|_| (0, index)));
    }
    let mut held: Vec<(Ns, Dispatched)> = Vec::new();
    let (mut now, mut head, mut order) = (0, 0, Vec::new());
    while now < until_ns {
        due.sort_unstable();
        while due.first().is_some_and(|(at, _)| *at <= now) {
            let index = due[0].1;
            let task = &mut tasks[index];
            let request = Request::new(task.op, task.lba, SECTORS).with_flags(task.flags);
            let request = request.arriving_at(now).of_task(index as u32 + 1);
            assert_ne!(layer.submit(now, &request, index as u32), Admission::Full, "the tasks fit in the queue");
            task.lba = (task.lba + task.stride) % (CAPACITY - u64::from(SECTORS));
            due.remove(0);
        }
        let decision = layer.dispatch(now);
        if let Decision::Dispatch(dispatched) = decision {
            let writes_held = held.iter().filter(|(_, held)| held.op == Op::Write).count();
            held.push((now + service(&dispatched, head, writes_held), dispatched));
            head = dispatched.lba + u64::from(dispatched.sectors);
            order.push(dispatched.lba);
            continue;
        }
        let wake = if let Decision::NotBefore(time) = decision { Some(time) } else { None };
        let next = held.iter().map(|(at, _)| *at).chain(due.first().map(|(at, _)| *at)).chain(wake).min();
        now = next.expect("something happens as long as tasks have requests");
        let done: Vec<RequestId> = held.iter().filter(|(at, _)| *at <= now).map(|(_, held)| held.id).collect();
        held.retain(|(at, _)| *at > now);
        for id in done {
            layer.complete(now, id, |completed| {
                let task = &mut tasks[completed.cookie as usize];
                task.latencies.push(now - completed.arrival_ns);
                due.push((now + task.think_ns, completed.cookie as usize));
            });
        }
    }
    layer.check().expect("the block layer adds up");
    order
}

fn submit_all(layer: &mut BlockLayer, op: Op, sectors: impl IntoIterator<Item = u64>) {
    for lba in sectors {
        let request = Request::new(op, lba, SECTORS);
        assert_ne!(layer.submit(0, &request, 0), Admission::Full);
    }
}

/// Requests dispatched to a drive that completes at once, as first sectors and lengths.
fn serve(layer: &mut BlockLayer) -> Vec<(u64, u32)> {
    let mut order = Vec::new();
    while let Decision::Dispatch(dispatched) = layer.dispatch(0) {
        layer.complete(0, dispatched.id, |_| {});
        order.push((dispatched.lba, dispatched.sectors));
    }
    order
}

#[test]
fn noop_sends_sequential_streams_as_the_largest_requests_in_the_order_of_arrival() {
    let mut layer = layer("noop", 1, &[]);
    // Three streams of a mebibyte each, interleaved: two requests of 512 KiB a stream, whichever stream came first.
    let (step, streams) = (u64::from(SECTORS), [9_000_000, 0, 4_000_000]);
    submit_all(&mut layer, Op::Write, (0..256).flat_map(|n| streams.map(|base| base + n * step)));
    let halves = |half: u64| streams.map(|base| (base + half * 1_024, 1_024));
    assert_eq!(serve(&mut layer), [halves(0), halves(1)].concat());
}

#[test]
fn deadline_serves_scattered_reads_in_one_sweep() {
    let mut random = Prng::new(1);
    let sectors: Vec<u64> = std::iter::once(0).chain((1..128).map(|_| random.below(CAPACITY / 16) * 16)).collect();
    let descents = |name| {
        let mut layer = layer(name, 1, &[]);
        submit_all(&mut layer, Op::Read, sectors.iter().copied());
        let order = serve(&mut layer);
        assert_eq!(order.len(), 128);
        order.windows(2).filter(|pair| pair[1].0 < pair[0].0).count()
    };
    assert_eq!(descents("deadline"), 0, "eight batches that go on where the last one stopped");
    assert!(descents("noop") > 50);
}

/// Reads a second of a sequential reader with a think time of 1 ms, alone and beside a flood of writes.
fn reader_on_disk(name: &str) -> (usize, usize) {
    let reader = || Task::reader(1, MS, 0, SECTORS.into());
    let reads = |tasks: &mut [Task]| {
        run(&mut layer(name, 1, &[]), DISK, 10 * S, tasks);
        tasks[0].latencies.len() / 10
    };
    (reads(&mut [reader()]), reads(&mut [reader(), Task::writer(64, CAPACITY / 2, 999_992)]))
}

#[test]
fn anticipatory_keeps_the_disk_for_a_reader_with_short_think_time() {
    let (alone, beside) = reader_on_disk("anticipatory");
    assert!((890..=910).contains(&alone), "1.1 ms a read: {alone} a second");
    // A read batch of 500 ms and one of 125 ms for writes: four fifths of the disk, and a write at each end.
    assert!(beside * 10 > alone * 7, "{beside} of {alone} reads a second");
    let (_, deadline) = reader_on_disk("deadline");
    assert!(deadline * 10 < alone, "a scheduler that never waits moves the head for each: {deadline} of {alone}");
}

#[test]
fn cfq_gives_every_reader_an_equal_slice_of_time_whatever_the_cost_of_its_requests() {
    let run_with = |name: &str, set: &[(&str, Value)]| {
        let mut tasks: Vec<Task> =
            (0..3).map(|n| Task::reader(1, 200 * US, n * CAPACITY / 4, SECTORS.into())).collect();
        tasks.push(Task::reader(1, 200 * US, 3 * CAPACITY / 4, 999_992));
        let order = run(&mut layer(name, 1, set), DISK, 20 * S, &mut tasks);
        let switches = order.windows(2).filter(|pair| pair[0] * 4 / CAPACITY != pair[1] * 4 / CAPACITY).count();
        (tasks.iter().map(|task| task.latencies.len()).collect::<Vec<_>>(), switches)
    };
    let (reads, switches) = run_with("cfq", &[("rotational", Value::Flag(true))]);
    // 50 slices of 100 ms each, at 0.3 ms a sequential read and at 8.3 ms a scattered one.
    for &sequential in &reads[..3] {
        assert!((15_000..=17_500).contains(&sequential), "{reads:?}");
    }
    assert!((450..=680).contains(&reads[3]), "{reads:?}");
    assert!(switches < 260, "{switches} changes between tasks in 200 slices");
    let (reads, _) = run_with("noop", &[]);
    assert!(reads[0] < 1_000, "without slices every request costs a seek: {reads:?}");
}

/// A closed-loop reader beside a writer that keeps 30 requests outstanding, for ten seconds on flash.
fn reader_and_writer_on_flash(name: &str, set: &[(&str, Value)]) -> [Task; 2] {
    let mut tasks = [Task::reader(1, 10 * US, 0, 8_000), Task::writer(30, CAPACITY / 2, 8_000)];
    run(&mut layer(name, 31, set), FLASH, 10 * S, &mut tasks);
    tasks
}

/// Requests a second that each task would complete alone.
const READS_ALONE: f64 = 1e9 / 110e3;
const WRITES_ALONE: f64 = 30.0 * 1e9 / 1e6;

#[test]
fn fios_reads_as_fast_as_alone_beside_a_flood_of_writes_and_gives_each_its_half() {
    for timeslice_ms in [10, 100] {
        let set = [("timeslice", Value::Time(timeslice_ms * MS))];
        let [reader, writer] = reader_and_writer_on_flash("fios", &set);
        assert_eq!(reader.median_ns(), 100 * US, "as alone");
        let [reads, writes] = [&reader, &writer].map(|task| task.latencies.len() as f64 / 10.0);
        assert!(reads > 0.4 * READS_ALONE && reads < 0.56 * READS_ALONE, "{timeslice_ms} ms: {reads} reads a second");
        assert!(writes > 0.4 * WRITES_ALONE && writes < 0.56 * WRITES_ALONE, "{timeslice_ms} ms: {writes} writes");
    }
    let [reader, _] = reader_and_writer_on_flash("noop", &[]);
    assert_eq!(reader.median_ns(), MS, "always beside writes");
}

#[test]
fn fios_keeps_a_reader_that_needs_less_than_its_share_from_waiting_for_writes() {
    // A read, then as long a think time: with alpha at one half the reader is awaited, and its timeslice lasts.
    let mut tasks = [Task::reader(1, 90 * US, 0, 8_000), Task::writer(30, CAPACITY / 2, 8_000)];
    let mut layer = layer("fios", 31, &[("timeslice", Value::Time(100 * MS))]);
    run(&mut layer, FLASH, 100 * MS, &mut tasks);
    assert_eq!(tasks[0].median_ns(), 100 * US);
    assert!(tasks[0].mean_ns() < 110 * US, "{} ns on average", tasks[0].mean_ns());
}

#[test]
fn fios_charges_a_reader_of_many_requests_for_all_of_them() {
    let mut tasks = [1, 1, 29].map(|depth| Task::reader(depth, 0, u64::from(depth) * 80_000, 8_000));
    run(&mut layer("fios", 31, &[]), FLASH, 10 * S, &mut tasks);
    let shares = tasks.map(|task| task.latencies.len() as f64 * 100e3 / (f64::from(task.depth) * 10e9));
    // The two with one request each go side by side, all the time; the third is out of time for two thirds of it.
    assert!(shares[0] > 0.98 && shares[1] > 0.98, "{shares:?}");
    assert!((0.31..0.37).contains(&shares[2]), "{shares:?}");
}

#[test]
fn none_sends_what_a_task_submits_together_as_one_and_streams_between_one_another_apart() {
    let mut together = layer("none", 31, &[]);
    submit_all(&mut together, Op::Write, (0..256).map(|n| n * u64::from(SECTORS)));
    assert_eq!(serve(&mut together), [(0, 1_024), (1_024, 1_024)]);
    for (name, requests) in [("none", 30), ("noop", 2)] {
        let mut layer = layer(name, 31, &[]);
        submit_all(
            &mut layer,
            Op::Write,
            (0..15).flat_map(|n| [0, 4_000_000].map(|base| base + n * u64::from(SECTORS))),
        );
        assert_eq!(serve(&mut layer).len(), requests, "{name}");
    }
}

#[test]
fn mq_deadline_keeps_the_drive_for_a_higher_class_until_the_lower_one_has_aged() {
    let of = |class| Request::new(Op::Write, 0, 8).with_priority(Priority::new(class, 0)).flags;
    let (urgent, idle) = (of(PriorityClass::RealTime), of(PriorityClass::Idle));
    let served = |name: &str, set: &[(&str, Value)], flags: [u8; 2]| {
        let reader = Task { flags: flags[0], ..Task::reader(2, 0, 0, 8_000) };
        let writer = Task { flags: flags[1], ..Task::writer(30, CAPACITY / 2, 8_000) };
        let mut tasks = [reader, writer];
        run(&mut layer(name, 1, set), FLASH, 5 * S, &mut tasks);
        tasks.map(|task| task.latencies.len())
    };
    // The drive takes one request at a time, so 100 us a read; there is always a second one.
    assert_eq!(served("mq-deadline", &[], [urgent, idle]), [50_000, 0]);
    let [_, aged] = served("mq-deadline", &[("prio_aging_expire", Value::Time(S))], [urgent, idle]);
    // All 30 a second, from the first to the fourth.
    assert!((90..=120).contains(&aged), "{aged} writes");
    for (name, flags) in [("mq-deadline", [0, 0]), ("deadline", [urgent, idle])] {
        let [_, writes] = served(name, &[], flags);
        assert!(writes > 500, "{name} lets {writes} writes pass where there is one class");
    }
}

/// A read takes 50 us for each request at the drive, a write 1 ms.
const CONGESTED: Service = |request, _, writes_held| match request.op {
    Op::Read => 50 * US * (1 + writes_held as Ns),
    _ => MS,
};

#[test]
fn kyber_takes_depth_from_writes_until_reads_meet_their_target() {
    let median_ns = |name: &str, set: &[(&str, Value)]| {
        let mut tasks = [Task::reader(1, 10 * US, 0, 8_000), Task::writer(90, CAPACITY / 2, 8_000)];
        run(&mut layer(name, 1_024, set), CONGESTED, 10 * S, &mut tasks);
        tasks[0].median_ns()
    };
    // Writes in a quarter of their target go from 128 tokens to 32: 33 * 50 us.
    assert_eq!(median_ns("kyber", &[]), 1_650 * US);
    // 90 writes are always at the drive, or all but the few that complete with the read.
    for (name, set) in [("none", vec![]), ("kyber", vec![("read_lat", Value::Time(S))])] {
        assert!(median_ns(name, &set) > 4_400 * US, "{name} holds nothing back");
    }
}
