//! Reads that are repeated or fail: the page condition that a policy of read reliability is given, the cost of its
//! decisions, and the handling of data that cannot be read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{
    Run, buffered, deciding, finish, mapped, pages, plain, plain_device, plain_nand, plain_with, request, unbuffered,
};
use flashloom_device::{Cause, DeviceParams, DriveSetup, Engine, Event, Interest, Observer, Reason, Status, Target};
use flashloom_ftl::mapping;
use flashloom_nand::reliability::builtin;
use flashloom_nand::{
    ByOrigin, Command, Event as NandEvent, Geometry, NandParams, OperationKind, Origin, Ppn, ReadCounts, Reading,
    Reliability,
};
use flashloom_units::{Chosen, Ns, Prng, US, Value};
use flashloom_workload::{Op, Pace, Request};

fn linear(set: &[(&str, Value)]) -> Chosen<dyn Reliability> {
    builtin().choose("linear", set).unwrap()
}

/// A drive of 64 blocks, whose wear grows quickly.
fn small() -> DeviceParams {
    plain_with(NandParams { channels: 2, ways: 1, blocks: 32, pages: 16, ..plain_nand() }, 1.5)
}

/// Whole pages at random: writes, and reads in between.
fn requests(seed: u64, device: &DeviceParams, count: u64, gap: Ns, reads: f64) -> Vec<Request> {
    let mut prng = Prng::new(seed);
    let sectors = u64::from(device.geometry().sectors_per_page());
    let mut next = |at| {
        let op = if prng.chance(reads) { Op::Read } else { Op::Write };
        request(at * gap, op, prng.below(device.logical_pages()) * sectors, sectors as u32)
    };
    (0..count).map(&mut next).collect()
}

/// History of a block and its pages according to the array's events.
#[derive(Clone, Default)]
struct Past {
    /// Erases emitted, and erases ended.
    asked: u32,
    ended: u32,
    reads: u64,
    /// Time of each page's program since the last erase.
    programmed: BTreeMap<Ppn, Ns>,
}

/// A naive model of the policy `linear` as its page describes it. It uses the array's events only, and none of the
/// array's code.
struct Naive {
    geometry: Geometry,
    erases_a_retry: u64,
    age_a_retry_ns: Ns,
    reads_a_retry: u64,
    blocks: Vec<Past>,
    /// Retries of reads that were decided when they were emitted, by the number of the operation.
    asked: BTreeMap<u32, u64>,
    /// Retries expected by the model, and retries reported by the array's events, by origin.
    expected: ByOrigin,
    told: ByOrigin,
    origins: BTreeMap<u32, Origin>,
}

impl Naive {
    fn new(device: &DeviceParams, [erases_a_retry, age_a_retry_ns, reads_a_retry]: [u64; 3]) -> Self {
        Self {
            geometry: device.geometry(),
            erases_a_retry,
            age_a_retry_ns,
            reads_a_retry,
            blocks: Vec::new(),
            asked: BTreeMap::new(),
            expected: [0; 6],
            told: [0; 6],
            origins: BTreeMap::new(),
        }
    }

    fn retries(&self, erases: u32, age_ns: Ns, reads: u64) -> u64 {
        u64::from(erases) / self.erases_a_retry + age_ns / self.age_a_retry_ns + reads / self.reads_a_retry
    }

    fn past(&mut self, ppn: Ppn) -> &mut Past {
        &mut self.blocks[self.geometry.block_of(ppn).at()]
    }

    fn expect(&mut self, origin: Origin, retries: u64) {
        self.expected[origin as usize] += retries;
    }

    /// A read that provides data for a program, or the read within a copyback.
    fn asked_now(&mut self, now: Ns, ppn: Ppn) -> u64 {
        let Past { asked, ended, reads, programmed } = self.past(ppn).clone();
        let (age_ns, reads) = match programmed.get(&ppn) {
            Some(at) if asked == ended => (now - at, reads),
            _ => (0, 0),
        };
        self.retries(asked, age_ns, reads)
    }

    fn issued(&mut self, now: Ns, command: &Command) {
        let Command { kind, number, ppn, from, lpn, origin, .. } = *command;
        self.origins.insert(number, origin);
        match kind {
            OperationKind::Erase => self.past(ppn).asked += 1,
            OperationKind::Copyback => {
                let retries = self.asked_now(now, from);
                assert_eq!(retries, 0, "a page that needs retries goes through the controller");
            }
            OperationKind::Read if lpn.is_none() && origin != Origin::Map => {
                let retries = self.asked_now(now, ppn);
                self.asked.insert(number, retries);
                self.expect(origin, retries);
            }
            _ => {}
        }
    }

    fn started(&mut self, now: Ns, command: &Command) {
        let Command { kind, number, ppn, origin, .. } = *command;
        if kind != OperationKind::Read {
            return;
        }
        if self.asked.remove(&number).is_none() {
            let Past { ended, reads, programmed, .. } = self.past(ppn).clone();
            let retries = self.retries(ended, now - programmed[&ppn], reads);
            self.expect(origin, retries);
        }
        self.past(ppn).reads += 1;
    }

    fn ended(&mut self, now: Ns, command: &Command) {
        let Command { kind, ppn, from, .. } = *command;
        match kind {
            OperationKind::Program => drop(self.past(ppn).programmed.insert(ppn, now)),
            OperationKind::Copyback => {
                self.past(ppn).programmed.insert(ppn, now);
                self.past(from).reads += 1;
            }
            OperationKind::Erase => {
                let past = self.past(ppn);
                *past = Past { asked: past.asked, ended: past.ended + 1, ..Past::default() };
            }
            _ => {}
        }
    }
}

impl Observer for Naive {
    fn interest(&self) -> Interest {
        Interest { events: true, ..Interest::default() }
    }

    fn begin(&mut self, target: &dyn Target) {
        self.blocks = vec![Past::default(); target.engines()[0].nand().erase_counts().len()];
    }

    fn event(&mut self, now: Ns, event: &Event) {
        match event {
            Event::Flash(NandEvent::Issued(command, _)) => self.issued(now, command),
            Event::Flash(NandEvent::Started { command, .. }) => self.started(now, command),
            Event::Flash(NandEvent::Repeated { number, retries, .. }) => {
                self.told[self.origins[number] as usize] += u64::from(*retries);
            }
            Event::Flash(NandEvent::Ended { command, .. }) => self.ended(now, command),
            _ => {}
        }
    }
}

/// Retries expected by the naive model, reported by the array's events, and counted by the array.
fn retries_of(setup: DriveSetup, steps: [u64; 3]) -> [ByOrigin; 3] {
    let device = setup.device.clone();
    // On a new drive, so that the model has seen all.
    let run = Run { pace: Pace::Timestamps(1.0), idle_delay_ns: 200 * US, fill: false, ..Run::new(setup) };
    let mut naive = Naive::new(&device, steps);
    let fill = pages(Op::Write, 0, 0..device.logical_pages());
    let later = requests(5, &device, 6_000, 150 * US, 0.5);
    let outcome = run.observed(fill.into_iter().chain(later), &mut naive);
    [naive.expected, naive.told, outcome.reads.unwrap().retries]
}

/// Wear, age and reads all add retries in this run, of host reads and of copies.
const STEPS: [u64; 3] = [3, 90_000_000, 11];

fn linear_setup(policy: Chosen<dyn Reliability>, mapping: &str, copyback: bool) -> DriveSetup {
    let mut device = small();
    device.nand.copyback = copyback;
    let set = match mapping {
        "dftl" => vec![("cache", Value::Size(256))],
        "superblock-ftl" => vec![("log_blocks", Value::Count(8))],
        _ => Vec::new(),
    };
    DriveSetup { reliability: policy, ..mapped(unbuffered(device), mapping, &set) }
}

fn by_all_causes() -> Chosen<dyn Reliability> {
    let [erases, age, reads] = STEPS;
    let (age, reads) = (Value::Time(age), Value::Count(reads));
    linear(&[("erases_a_retry", Value::Count(erases)), ("age_a_retry", age), ("reads_a_retry", reads)])
}

#[test]
fn retries_are_those_of_a_naive_model_on_the_events_of_the_array() {
    for (mapping, copyback) in [("page", false), ("page", true), ("dftl", false), ("bast", false), ("fast", false)] {
        let [expected, told, counted] = retries_of(linear_setup(by_all_causes(), mapping, copyback), STEPS);
        assert_eq!((told, counted), (expected, expected), "{mapping}");
        assert!(expected[0] > 1_000 && expected[1] + expected[2] > 100, "{mapping}: {expected:?}");
        assert_eq!(expected[3] > 100, mapping == "dftl", "{mapping}: {expected:?}");
    }
}

#[test]
fn the_naive_model_finds_a_policy_that_never_retries() {
    let [expected, told, counted] = retries_of(linear_setup(deciding(|_| Reading::AT_ONCE), "page", false), STEPS);
    assert_eq!((told, counted), ([0; 6], [0; 6]));
    assert!(expected[0] > 1_000, "{expected:?}");
}

#[test]
fn each_retry_takes_one_more_read_of_the_array_and_is_a_cause_of_its_own() {
    let read_ns = plain_nand().read_ns;
    let one = |answer: Reading| {
        let setup = DriveSetup { reliability: deciding(move |_| answer), ..unbuffered(plain(plain_nand())) };
        let (served, _) = Run::new(setup).served(pages(Op::Read, 0, [3]));
        served[0]
    };
    let (at_once, repeated) = (one(Reading::AT_ONCE), one(Reading::after(3)));
    assert_eq!(repeated.latency_ns(), at_once.latency_ns() + 3 * read_ns);
    assert_eq!((at_once.parts[Cause::Retry], repeated.parts[Cause::Retry]), (0, 3 * read_ns));
    let without_retries = repeated.parts.iter().filter(|(cause, _)| *cause != Cause::Retry);
    assert!(without_retries.eq(at_once.parts.iter().filter(|(cause, _)| *cause != Cause::Retry)));
    // A read that is given up takes its retries too; its data crosses the channel, and not the link.
    let failed = one(Reading::never(3));
    assert_eq!(failed.status.name(), "unreadable");
    assert_eq!(failed.parts.total(), failed.latency_ns());
    assert_eq!(failed.parts[Cause::Retry], 3 * read_ns);
    assert_eq!(failed.latency_ns(), repeated.latency_ns() - repeated.parts[Cause::Link]);
}

#[test]
fn planes_that_are_read_together_wait_for_the_one_that_needs_most_retries() {
    let nand = NandParams { channels: 1, ways: 1, planes: 2, ..plain_nand() };
    let read_ns = nand.read_ns;
    let odd = deciding(|page| Reading::after(if page.block.0 >= 64 { 2 } else { 0 }));
    let setup = DriveSetup { reliability: odd, ..unbuffered(plain(nand)) };
    // Both planes of the die, as the fill has placed them.
    let (served, outcome) = Run::new(setup).served(pages(Op::Read, 0, [0, 1]));
    assert_eq!(served.len(), 2);
    assert!(served.iter().all(|served| served.parts[Cause::Retry] == 2 * read_ns), "{served:?}");
    assert_eq!(outcome.reads.unwrap().retries[0], 2, "only one of them was repeated");
}

/// Whether pages can currently be unreadable.
type Switch = Arc<AtomicBool>;

/// A policy under which one page in a given number cannot be read while the switch is on.
fn bad_pages(switch: &Switch, each: u32) -> Chosen<dyn Reliability> {
    let switch = Arc::clone(switch);
    deciding(move |page| {
        let is_bad = switch.load(Ordering::Relaxed) && page.ppn.0.is_multiple_of(each);
        if is_bad { Reading::never(1) } else { Reading::AT_ONCE }
    })
}

/// Serves requests one at a time; returns how each ended.
fn serve(engine: &mut Engine, requests: &[Request]) -> Vec<Status> {
    let mut statuses = Vec::new();
    for request in requests {
        let now = engine.now_ns();
        engine.submit(now, &request.arriving_at(now), 0).unwrap();
        finish(engine);
        statuses.extend(engine.completions().map(|completion| completion.status));
    }
    assert_eq!(statuses.len(), requests.len());
    statuses
}

/// All pages that cannot be read.
fn unreadable(engine: &mut Engine, device: &DeviceParams) -> Vec<u64> {
    let statuses = serve(engine, &pages(Op::Read, 0, 0..device.logical_pages()));
    let failed = (0..).zip(statuses).filter(|(_, status)| !status.is_done());
    failed.map(|(lpn, status)| (lpn, assert_eq!(status, Status::Failed(Reason::Unreadable))).0).collect()
}

#[test]
fn data_that_cannot_be_moved_is_unreadable_until_it_is_written_again() {
    for mapping in mapping::builtin().policies().iter().map(|policy| policy.spec.name) {
        let switch = Switch::default();
        let setup = linear_setup(bad_pages(&switch, 5), mapping, mapping == "page");
        let device = setup.device.clone();
        let mut engine = Run::new(setup).started();
        switch.store(true, Ordering::Relaxed);
        serve(&mut engine, &requests(1, &device, 3_000, 0, 0.0));
        // From now on every page can be read: what fails was lost before.
        switch.store(false, Ordering::Relaxed);
        let lost = unreadable(&mut engine, &device);
        let counts = engine.outcome().reads.unwrap();
        assert!(!lost.is_empty() && counts.lost_pages > 0, "{mapping}: {lost:?} {counts:?}");
        assert_eq!(unreadable(&mut engine, &device), lost, "{mapping}: they stay so");
        if mapping != "dftl" {
            // Half a page that is written is there, and the other half is not.
            serve(&mut engine, &[request(0, Op::Write, 8 * lost[0], 4)]);
            assert!(serve(&mut engine, &[request(0, Op::Read, 8 * lost[0], 4)])[0].is_done(), "{mapping}");
            assert_eq!(unreadable(&mut engine, &device), lost, "{mapping}: the other half is lost still");
        }
        let again = pages(Op::Write, 0, lost.iter().copied());
        serve(&mut engine, &again);
        assert_eq!(unreadable(&mut engine, &device), [0; 0], "{mapping}: all was written again");
        engine.check().unwrap_or_else(|error| panic!("{mapping}: {error}"));
    }
}

/// An order that keeps what is read reads whole pages; of one that is lost in part it must still serve the rest.
#[test]
fn half_a_page_that_is_lost_does_not_fail_reads_of_the_other_half() {
    for order in ["page-lru", "cflru"] {
        let switch = Switch::default();
        let reliability = bad_pages(&switch, 1);
        let setup = DriveSetup { reliability, ..buffered(plain_device(), 64, order, "single") };
        let mut engine = Run::new(setup).started();
        switch.store(true, Ordering::Relaxed);
        // The other half is to be read beneath it, and cannot be.
        serve(&mut engine, &[request(0, Op::Write, 72, 4).with_flags(Request::FUA)]);
        switch.store(false, Ordering::Relaxed);
        let mut is_done = |op, lba, sectors| serve(&mut engine, &[request(0, op, lba, sectors)])[0].is_done();
        for _ in 0..2 {
            assert!(is_done(Op::Read, 72, 4), "{order}: the half that was written");
            assert!(!is_done(Op::Read, 76, 4), "{order}: the half that is lost");
            assert!(!is_done(Op::Read, 72, 8), "{order}: both");
            assert!(is_done(Op::Read, 64, 8), "{order}: the page before");
        }
        assert!(is_done(Op::Write, 76, 4) && is_done(Op::Read, 72, 8), "{order}: all was written again");
        engine.check().unwrap_or_else(|error| panic!("{order}: {error}"));
    }
}

/// The policy has said that nothing of the page can be read: an order that keeps what is read asks it no second time.
#[test]
fn a_page_of_which_nothing_can_be_read_is_read_once() {
    for timed in [true, false] {
        let switch = Switch::default();
        let setup =
            DriveSetup { reliability: bad_pages(&switch, 1), ..buffered(plain_device(), 64, "cflru", "single") };
        let mut engine = Run { timed, ..Run::new(setup) }.started();
        switch.store(true, Ordering::Relaxed);
        let read = request(0, Op::Read, 72, 4);
        assert_eq!(serve(&mut engine, &[read]), [Status::Failed(Reason::Unreadable)]);
        let outcome = engine.outcome();
        assert_eq!((outcome.counts.reads[0], outcome.reads.unwrap().unreadable[0]), (1, 1), "timed: {timed}");
        switch.store(false, Ordering::Relaxed);
        assert!(serve(&mut engine, &[read])[0].is_done());
        engine.check().unwrap();
    }
}

#[test]
fn a_map_page_that_cannot_be_read_fails_the_reads_that_wait_for_it_and_nothing_else() {
    let run = |timed| {
        let switch = Switch::default();
        let mut setup = linear_setup(bad_pages(&switch, 2), "dftl", false);
        // So many that the map has several pages.
        setup.device.nand.blocks = 256;
        let device = setup.device.clone();
        let mut engine = Run { timed, ..Run::new(setup) }.started();
        switch.store(true, Ordering::Relaxed);
        // Reads alone: nothing is moved, so that nothing is lost.
        let failed = unreadable(&mut engine, &device);
        let counts = engine.outcome().reads.unwrap();
        assert_eq!(counts.lost_pages, 0);
        engine.check().unwrap();
        switch.store(false, Ordering::Relaxed);
        assert_eq!(unreadable(&mut engine, &device), [0; 0], "the data was there all the time");
        (failed, counts.unreadable, engine.outcome().counts.reads)
    };
    let (failed, unreadable, reads) = run(true);
    assert_eq!(run(false), (failed.clone(), unreadable, reads), "as in counting mode");
    let [host, _, _, map, ..] = unreadable;
    assert!(map > 0 && host == failed.len() as u64, "{unreadable:?}");
    assert!(failed.windows(2).any(|pair| pair[1] == pair[0] + 1), "all entries of a page of the map: {failed:?}");
}

/// The read counters of a run in which each request is submitted after the previous one has ended.
fn counted(timed: bool, mapping: &str) -> (ReadCounts, Vec<u64>) {
    let policy = linear(&[("erases_a_retry", Value::Count(1)), ("max_retries", Value::Count(2))]);
    let setup = linear_setup(policy, mapping, false);
    let device = setup.device.clone();
    let mut engine = Run { timed, ..Run::new(setup) }.started();
    serve(&mut engine, &requests(9, &device, 2_500, 0, 0.0));
    let lost = unreadable(&mut engine, &device);
    engine.check().unwrap();
    (engine.outcome().reads.unwrap(), lost)
}

/// A policy that depends on wear only: in timed and in counting mode it is called for the same reads in the same state.
/// Not so under dftl: a page of the map that is being moved is read from its old place, whose wear is another.
#[test]
fn with_and_without_time_the_same_reads_are_repeated_and_the_same_data_is_lost() {
    for mapping in ["page", "bast", "fast", "kast"] {
        let (counting, timed) = (counted(false, mapping), counted(true, mapping));
        assert_eq!(counting, timed, "{mapping}");
        let (counts, lost) = counting;
        assert!(counts.retries.iter().sum::<u64>() > 300 && !lost.is_empty(), "{mapping}: {counts:?}");
    }
}

#[test]
fn a_drive_whose_reads_always_succeed_keeps_nothing_for_them() {
    let setup = unbuffered(small());
    let engine = Run::new(setup.clone()).started();
    assert_eq!((engine.nand().read_counts(), engine.nand().out_of_band(Ppn(0))), (None, None));
    let asked = DriveSetup { reliability: linear(&[]), ..setup };
    let [none, linear] = [engine, Run::new(asked).started()].map(|engine| engine.snapshot().unwrap().len());
    assert!(linear > none + 8 * small().geometry().total_pages() as usize, "{none} bytes, and {linear}");
}
