//! Entries of a map on flash that are being read: who waits for them, and what a failed read leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::{
    Run, count, deciding, dftl, finish, link_ns, mapped, plain, plain_nand, plain_with, request, unbuffered,
};
use flashloom_device::{Cause, Engine, Event, Interest, Observer, Served};
use flashloom_nand::{Command, Event as NandEvent, Lpn, NandParams, OperationKind, Origin, Reading};
use flashloom_units::{MS, Ns, Prng, US, Value};
use flashloom_workload::{Op, Pace, Request};

/// Reads of an idle drive: of one page twice at a time, and of two pages whose entries are on one translation page.
#[test]
fn a_hit_on_an_entry_that_is_being_read_waits_for_the_same_read() {
    let device = plain(NandParams { command_ns: 300, ..plain_nand() });
    let page = device.nand.read_ns + 300 + device.nand.timing().transfer_ns(8);
    let link = link_ns(&device);
    let served = |lpns: [u64; 2]| -> Vec<Served> {
        // The cache is full of what the fill has left, and the first victims are dirty: one request goes ahead.
        let before = (0..8).map(|at| request(at * MS, Op::Read, 8 * (800 + at), 8));
        let both = lpns.map(|lpn| request(50 * MS, Op::Read, 8 * lpn, 8));
        let (mut served, outcome) = Run::new(dftl(unbuffered(device.clone()), 8)).served(before.chain(both));
        let misses = if lpns[0] == lpns[1] { 9 } else { 10 };
        // The first victim was dirty, and its page was read to be written back.
        assert_eq!([count(&outcome, "map_misses"), count(&outcome, "map_reads")], [misses, misses + 1]);
        served.split_off(8)
    };
    let [first, second] = served([5, 5])[..] else { panic!("two reads") };
    assert_eq!(first.latency_ns(), page + page + link);
    // Both have the entry at the same time; then the die has the page twice.
    assert_eq!(second.latency_ns(), page + 2 * page + link);
    assert_eq!([first, second].map(|served| served.parts[Cause::Map]), [page; 2]);
    // A miss of another entry of the translation page reads that page for itself.
    let [_, other] = served([5, 6])[..] else { panic!("two reads") };
    assert_eq!(other.latency_ns(), page + page + page + link);
}

/// Three writes at a time, of translation pages A, B and A again, with room for one of them: A is written back as soon
/// as its own read has ended, and read again after that.
#[test]
fn a_whole_translation_page_is_written_back_after_its_own_read() {
    let small = NandParams { channels: 1, ways: 64, planes: 1, blocks: 32, pages: 16, page_bytes: 512, ..plain_nand() };
    let device = plain(NandParams { read_ns: 10 * MS, ..small });
    // Room for a plain page of 128 entries, and no buffer for dirty ones.
    let set = [("cache", Value::Size(540)), ("dirty_buffer", Value::Ratio(0.0))];
    let writes = [20 * 128 + 5, 40 * 128 + 3, 20 * 128 + 7].map(|lpn| request(MS, Op::Write, lpn, 1));
    let (served, _) = Run::new(mapped(unbuffered(device.clone()), "sftl", &set)).served(writes);
    let latencies: Vec<_> = served.iter().map(Served::latency_ns).collect();
    let [program, read] = [device.nand.program_ns, device.nand.read_ns];
    assert!(latencies.iter().any(|&latency| latency > 2 * (read + program)), "{latencies:?}");
    assert!(latencies.iter().all(|&latency| latency < 2 * (read + program) + read / 2), "{latencies:?}");
}

/// Follows by events alone who waits for which read of the map.
#[derive(Default)]
struct Waits {
    /// Reads of the map in flight.
    map_reads: BTreeSet<u32>,
    /// The read that brings the entry of a page, while it is in flight.
    loads: BTreeMap<Lpn, u32>,
    /// For each operation of the host, the read of its entry that was in flight when it was emitted.
    bound: BTreeMap<u32, u32>,
    waited: u64,
    /// The latest read of the map, until an operation of the host waits for it.
    fresh: Option<u32>,
    early: Vec<Command>,
    /// Operations that wait for the read of another entry.
    mistaken: Vec<Command>,
}

impl Observer for Waits {
    fn interest(&self) -> Interest {
        Interest { events: true, ..Interest::default() }
    }

    fn event(&mut self, _: Ns, event: &Event) {
        let Event::Flash(event) = event else { return };
        match *event {
            NandEvent::Issued(command, _) if command.origin == Origin::Map && command.kind == OperationKind::Read => {
                self.map_reads.insert(command.number);
                self.fresh = Some(command.number);
            }
            NandEvent::Issued(command, after) if command.origin == Origin::Host && command.lpn.is_some() => {
                if let Some(after) = after.filter(|after| self.map_reads.contains(after)) {
                    let is_waited = self.loads.insert(command.lpn, after) == Some(after);
                    self.waited += u64::from(is_waited);
                    if !is_waited && self.fresh.take() != Some(after) {
                        self.mistaken.push(command);
                    }
                }
                if let Some(&load) = self.loads.get(&command.lpn) {
                    self.bound.insert(command.number, load);
                }
            }
            NandEvent::Started { command, .. } if self.bound.contains_key(&command.number) => self.early.push(command),
            NandEvent::Ended { command, .. } => {
                if self.map_reads.remove(&command.number) {
                    self.loads.retain(|_, load| *load != command.number);
                    self.bound.retain(|_, load| *load != command.number);
                }
                self.bound.remove(&command.number);
            }
            _ => {}
        }
    }
}

/// Whole pages at random, half of them a few that are asked for again and again, while collections move them.
#[test]
fn who_needs_an_entry_waits_for_its_read_and_for_no_other() {
    let device = plain_with(NandParams { channels: 2, ways: 2, blocks: 32, pages: 16, ..plain_nand() }, 0.5);
    for (seed, entries) in [(1, 1), (2, 8), (3, 64), (4, 300)] {
        let mut prng = Prng::new(seed);
        let pages = device.logical_pages();
        let requests: Vec<Request> = (0..5_000)
            .map(|at| {
                let op = if prng.chance(0.4) { Op::Write } else { Op::Read };
                let lpn = if prng.chance(0.5) { prng.below(8) * 100 } else { prng.below(pages) };
                request(at * 60_000, op, 8 * lpn, 8)
            })
            .collect();
        let mut waits = Waits::default();
        let run = Run { pace: Pace::Closed(24), ..Run::new(dftl(unbuffered(device.clone()), entries)) };
        let outcome = run.observed(requests.clone(), &mut waits);
        assert_eq!((waits.early, waits.mistaken), (vec![], vec![]), "{entries} entries");
        assert!(waits.waited > 5, "{entries} entries: {} others have waited", waits.waited);
        assert!(outcome.ftl.page_copies > 200, "collections have happened");
        // Who waits changes nothing of what is read and written: without time it is the same.
        let one_by_one = Run { pace: Pace::Closed(1), ..Run::new(dftl(unbuffered(device.clone()), entries)) };
        let counting = Run { timed: false, ..Run::new(dftl(unbuffered(device.clone()), entries)) };
        let [timed, counted] = [one_by_one, counting].map(|run| run.run(requests.clone()));
        assert_eq!(timed.counts, counted.counts, "{entries} entries");
    }
}

/// A drive of which as many reads fail as the counter says, of those that the policy is asked about next.
fn failing(entries: u64, timed: bool) -> (Engine, Arc<AtomicU32>) {
    let left = Arc::new(AtomicU32::new(0));
    let fails = Arc::clone(&left);
    let mut setup = dftl(unbuffered(plain(plain_nand())), entries);
    setup.reliability = deciding(move |_| {
        let left = fails.load(Ordering::Relaxed);
        fails.store(left.saturating_sub(1), Ordering::Relaxed);
        if left > 0 { Reading::never(0) } else { Reading::AT_ONCE }
    });
    (Run { timed, ..Run::new(setup) }.started(), left)
}

/// Serves requests whose arrivals count from now on; returns whether each succeeded, in their order.
fn serve(engine: &mut Engine, requests: &[Request]) -> Vec<bool> {
    let from = engine.now_ns();
    for (cookie, request) in (0..).zip(requests) {
        let at = from + request.arrival_ns;
        engine.advance_to(at).unwrap();
        engine.submit(at, &request.arriving_at(at), cookie).unwrap();
    }
    finish(engine);
    let mut done = vec![None; requests.len()];
    engine.completions().for_each(|each| done[each.cookie as usize] = Some(each.status.is_done()));
    done.into_iter().map(|done| done.expect("all have completed")).collect()
}

fn of_map(engine: &Engine) -> [u64; 3] {
    let outcome = engine.outcome();
    ["map_hits", "map_misses", "map_reads"].map(|name| count(&outcome, name))
}

#[test]
fn an_entry_whose_read_failed_is_read_again() {
    let (read, write) = (request(0, Op::Read, 40, 8), request(0, Op::Write, 40, 8));
    for timed in [true, false] {
        let (mut engine, fails) = failing(8, timed);
        for failures in 1..=2 {
            fails.store(1, Ordering::Relaxed);
            assert_eq!(serve(&mut engine, &[read]), [false], "the page of the map");
            assert_eq!(of_map(&engine), [0, failures, failures], "timed: {timed}");
        }
        assert_eq!(serve(&mut engine, &[read]), [true]);
        assert_eq!(serve(&mut engine, &[read]), [true]);
        assert_eq!(of_map(&engine), [1, 3, 3], "what was read is there");
        engine.check().unwrap();
        // A write knows its place.
        let (mut engine, fails) = failing(8, timed);
        fails.store(1, Ordering::Relaxed);
        assert_eq!(serve(&mut engine, &[write]), [true]);
        assert_eq!(serve(&mut engine, &[read]), [true]);
        assert_eq!(of_map(&engine), [1, 1, 1], "timed: {timed}");
        engine.check().unwrap();
    }
}

#[test]
fn all_reads_that_wait_for_a_failed_read_fail_with_it_but_those_of_what_was_written_meanwhile() {
    let (read, write) = (request(0, Op::Read, 40, 8), request(0, Op::Write, 40, 8));
    // The data of a write has to cross the link first.
    let later = |request: Request| request.arriving_at(40 * US);
    let (mut engine, fails) = failing(8, true);
    fails.store(1, Ordering::Relaxed);
    assert_eq!(serve(&mut engine, &[read, read, write, later(read)]), [false, false, true, true]);
    assert_eq!(of_map(&engine), [3, 1, 1]);
    assert_eq!(engine.outcome().reads.unwrap().unreadable, [2, 0, 0, 1, 0, 0]);
    // Half a page that was written, and the other half, whose place only the map knows.
    let (mut engine, fails) = failing(8, true);
    fails.store(1, Ordering::Relaxed);
    let [half, written, other] =
        [(Op::Write, 40), (Op::Read, 40), (Op::Read, 44)].map(|(op, at)| request(0, op, at, 4));
    assert_eq!(serve(&mut engine, &[read, half, later(written), later(other)]), [false, true, true, false]);
    assert_eq!(serve(&mut engine, &[written, other]), [true, true]);
    engine.check().unwrap();
}

/// A snapshot at any moment has the reads that are under way and those that failed.
#[test]
fn a_saved_drive_waits_for_the_same_reads() {
    let (read, near) = (request(0, Op::Read, 40, 8), request(0, Op::Read, 80, 8));
    for at_us in [0, 10, 60, 80, 100, 170, 300] {
        let (mut engine, fails) = failing(8, true);
        serve(&mut engine, &[near]);
        fails.store(2, Ordering::Relaxed);
        let now = engine.now_ns();
        engine.submit(now, &read.arriving_at(now), 0).unwrap();
        let later = now + at_us * US;
        engine.advance_to(later).unwrap();
        fails.store(0, Ordering::Relaxed);
        let (mut loaded, _) = failing(8, true);
        loaded.restore(&engine.snapshot().unwrap()).unwrap();
        let went_on = [&mut engine, &mut loaded].map(|engine| {
            engine.submit(later, &read.arriving_at(later), 1).unwrap();
            engine.advance_to(later + 10 * MS).unwrap();
            let ended = engine.completions().map(|each| (each.cookie, each.time_ns, each.status.is_done()));
            (ended.collect::<Vec<_>>(), of_map(engine), engine.snapshot().unwrap())
        });
        assert_eq!(went_on[0], went_on[1], "after {at_us} us");
    }
}
