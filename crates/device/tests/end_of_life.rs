//! A drive whose life ends: what it was at fails, what comes later is read or refused, nothing stays in it for ever.
//!
//! Strategy of the random runs: a small drive whose operations fail often, over each mapping that can wear out, with
//! and without buffer; random requests with flush, FUA and discard; the same requests once until its life ends and once
//! beyond. The checks of a verified run watch what is read, before and after.

use crate::support::random::{pick, with_random_values};
use crate::support::{Run, buffered, dftl, finish, plain_nand, plain_with, request, unbuffered};
use flashloom_device::{Completion, DeviceParams, DriveSetup, Engine, Outcome, Reason, Status, Submitted};
use flashloom_ftl::{BLOCK_EXCHANGE, WearLevelling, mapping};
use flashloom_nand::NandParams;
use flashloom_units::{Ns, Prng, US};
use flashloom_workload::{Op, Pace, Request};

/// Two dies of a plane, 64 blocks of 8 pages each; the host sees half of them.
fn device(program_failures: f64, erase_failures: f64) -> DeviceParams {
    let nand = NandParams { channels: 2, ways: 1, pages: 8, program_failures, erase_failures, ..plain_nand() };
    plain_with(nand, 1.0)
}

fn random_requests(prng: &mut Prng, capacity: u64, count: u64) -> Vec<Request> {
    (0..count)
        .map(|at| {
            let op = pick(prng, &[Op::Write, Op::Write, Op::Write, Op::Read, Op::Read, Op::Discard, Op::Flush]);
            let sectors = 1 + prng.below(40);
            let mut request = request(at * 100 * US, op, prng.below(capacity - sectors), sectors as u32);
            if op == Op::Flush {
                (request.lba, request.sectors) = (0, 0);
            }
            if op == Op::Write {
                request.flags = pick(prng, &[0, 0, 0, Request::FUA, Request::PREFLUSH]);
            }
            request
        })
        .collect()
}

/// The figures of a run up to the end of the drive's life, which are the same in both modes.
fn until_the_end(outcome: &Outcome) -> (Option<Ns>, u64, u64) {
    let end = outcome.end_of_life;
    (end.map(|end| end.time_ns), end.map_or(0, |end| end.host_page_writes), outcome.ftl.host_page_writes)
}

#[test]
fn every_request_completes_or_fails_when_a_drive_wears_out_whatever_it_is_at() {
    // Reads do not fail on this drive.
    let (mut ended, mut failed, mut served_after) = (0, [0; Reason::COUNT - 1], 0);
    for seed in 0..120 {
        let mut prng = Prng::new(seed);
        let program_failures = pick(&mut prng, &[0.0, 0.01, 0.05]);
        let device = device(program_failures, pick(&mut prng, &[0.05, 0.3]));
        let pages = pick(&mut prng, &[0, 4, 64]);
        let order = pick(&mut prng, &["page-lru", "block-lru", "cflru"]);
        let mut setup = buffered(device, pages, order, pick(&mut prng, &["single", "cave"]));
        setup.ftl.prng = prng.branch("failures");
        if prng.chance(0.5) {
            setup = dftl(setup, 8);
        }
        let mut of_mapping = prng.branch("mapping");
        if of_mapping.chance(0.5) {
            let mappings = mapping::builtin();
            let replacing = mappings.policies().iter().filter(|policy| policy.spec.offers.contains(&BLOCK_EXCHANGE));
            let policy = pick(&mut of_mapping, &replacing.collect::<Vec<_>>());
            let before = std::mem::replace(&mut setup.ftl.mapping, with_random_values(&mut of_mapping, policy));
            if setup.ftl.profile(&setup.device.space()).is_err() {
                setup.ftl.mapping = before;
            }
            setup.ftl.params.wear_levelling = pick(&mut of_mapping, &[WearLevelling::Dynamic, WearLevelling::Static]);
            setup.ftl.params.wear_threshold = 1;
        }
        let requests = random_requests(&mut prng, setup.device.capacity_sectors(), 1_500);
        let mut run = Run {
            pace: pick(&mut prng, &[Pace::Closed(8), Pace::Timestamps(1.0)]),
            idle_delay_ns: 50 * US,
            timed: prng.chance(0.8),
            drain: prng.chance(0.5),
            fill: prng.chance(0.5),
            ..Run::new(setup)
        };
        let stopped = run.run(requests.clone());
        run.read_only = true;
        let beyond = run.run(requests);
        assert_eq!(until_the_end(&stopped), until_the_end(&beyond), "seed {seed}");
        for outcome in [&stopped, &beyond] {
            let host = &outcome.host;
            assert_eq!(host.generated, host.total_completed() + host.total_failed(), "seed {seed}");
            assert_eq!(outcome.end_of_life.map_or(0, |end| end.unserved_requests), host.total_failed(), "seed {seed}");
        }
        assert_eq!(beyond.host.generated, 1_500, "seed {seed}: the workload comes to its end");
        let Some(end) = beyond.end_of_life else { continue };
        println!("seed {seed}: {end:?}, failed {:?}", beyond.host.failed);
        ended += 1;
        failed.iter_mut().zip(beyond.host.failed).for_each(|(all, failed)| *all += failed);
        served_after += beyond.host.completed_of(Op::Read) - stopped.host.completed_of(Op::Read);
        assert!(beyond.sectors_checked >= stopped.sectors_checked, "seed {seed}");
    }
    assert!(
        ended > 60 && failed.iter().all(|&failed| failed > 60) && served_after > 1_000,
        "{ended} ended, {failed:?}"
    );
}

/// An engine to which a test submits single requests.
struct Lab {
    engine: Engine,
    cookie: u32,
}

impl Lab {
    /// A drive on which every program fails, optionally filled before.
    fn new(setup: DriveSetup) -> Self {
        Self { engine: Run { fill: false, ..Run::new(setup) }.started(), cookie: 0 }
    }

    fn submit(&mut self, op: Op, flags: u8, lba: u64, sectors: u32) -> u32 {
        let now = self.engine.now_ns();
        self.cookie += 1;
        let request = request(now, op, lba, sectors).with_flags(flags);
        assert_eq!(self.engine.submit(now, &request, self.cookie), Ok(Submitted::Accepted));
        self.cookie
    }

    /// Processes all events; returns the status of each request by cookie.
    fn finish(&mut self) -> Vec<(u32, Status)> {
        finish(&mut self.engine);
        let mut ended: Vec<Completion> = self.engine.completions().collect();
        ended.sort_by_key(|completion| completion.cookie);
        self.engine.check().unwrap();
        ended.iter().map(|completion| (completion.cookie, completion.status)).collect()
    }

    fn one(&mut self, op: Op, flags: u8, lba: u64, sectors: u32) -> Status {
        let cookie = self.submit(op, flags, lba, sectors);
        let ended = self.finish();
        assert_eq!((ended.len(), ended[0].0), (1, cookie));
        ended[0].1
    }
}

const END: Status = Status::Failed(Reason::EndOfLife);
const READ_ONLY: Status = Status::Failed(Reason::ReadOnly);

#[test]
fn the_write_that_cannot_be_stored_fails_and_the_drive_can_only_be_read_from_then_on() {
    let mut lab = Lab::new(unbuffered(device(1.0, 0.0)));
    assert_eq!(lab.one(Op::Read, 0, 0, 8), Status::DONE);
    assert!(!lab.engine.is_worn_out());
    assert_eq!(lab.one(Op::Write, 0, 0, 20), END);
    assert!(lab.engine.is_worn_out());
    assert_eq!(lab.one(Op::Read, 0, 0, 64), Status::DONE);
    assert_eq!(lab.one(Op::Write, 0, 8, 8), READ_ONLY);
    assert_eq!(lab.one(Op::Discard, 0, 8, 8), READ_ONLY);
    assert_eq!(lab.one(Op::Flush, 0, 0, 0), Status::DONE, "there is nothing that it would have to store");
    let host = lab.engine.outcome().host;
    assert_eq!((host.failed, host.total_completed()), ([1, 2, 0], 3));
}

#[test]
fn what_the_buffer_holds_is_read_when_it_cannot_be_stored_and_no_flush_completes() {
    let mut lab = Lab::new(buffered(device(1.0, 0.0), 16, "page-lru", "single"));
    assert_eq!(lab.one(Op::Write, 0, 0, 32), Status::DONE, "the buffer has it");
    let cookies = [lab.submit(Op::Flush, 0, 0, 0), lab.submit(Op::Write, Request::FUA, 64, 8)];
    assert_eq!(lab.finish(), [(cookies[0], END), (cookies[1], READ_ONLY)], "the data of the write came later");
    assert_eq!(lab.one(Op::Flush, 0, 0, 0), READ_ONLY);
    assert_eq!(lab.one(Op::Read, 0, 0, 32), Status::DONE);
    let outcome = lab.engine.outcome();
    assert_eq!(outcome.end_of_life.map(|end| end.unwritten_pages), Some(4));
    assert_eq!(outcome.buffer.map(|buffer| buffer.read_hits), Some(4));
}

#[test]
fn durable_writes_and_writes_that_wait_for_room_fail_with_the_life_of_the_drive() {
    let mut lab = Lab::new(buffered(device(1.0, 0.0), 4, "page-lru", "single"));
    let cookies = [
        lab.submit(Op::Write, 0, 0, 32),
        lab.submit(Op::Write, 0, 64, 64),
        lab.submit(Op::Write, Request::PREFLUSH, 256, 8),
        lab.submit(Op::Write, Request::FUA, 320, 8),
    ];
    let ended = lab.finish();
    assert_eq!(ended.iter().map(|&(cookie, _)| cookie).collect::<Vec<_>>(), cookies);
    assert_eq!((ended[0].1, ended[1].1), (Status::DONE, END), "the second one waits for room");
    assert!(ended[2..].iter().all(|(_, status)| *status == READ_ONLY), "{ended:?}");
}

#[test]
fn a_durable_write_fails_if_one_of_its_pages_cannot_be_stored_and_is_read_from_the_buffer() {
    let mut lab = Lab::new(buffered(device(1.0, 0.0), 16, "page-lru", "single"));
    assert_eq!(lab.one(Op::Write, Request::FUA, 4, 24), END);
    assert_eq!(lab.one(Op::Read, 0, 0, 32), Status::DONE);
    assert_eq!(lab.engine.outcome().end_of_life.map(|end| end.unwritten_pages), Some(4));
}

#[test]
fn every_part_of_a_merged_request_fails_with_it() {
    let run = Run { fill: false, merging: true, ..Run::new(unbuffered(device(1.0, 0.0))) };
    let mut engine = run.started();
    for cookie in 0..4 {
        engine.submit(0, &request(0, Op::Write, u64::from(cookie) * 8, 8), cookie).unwrap();
    }
    let mut lab = Lab { engine, cookie: 4 };
    assert_eq!(lab.finish(), [(0, END), (1, END), (2, END), (3, END)]);
    assert_eq!(lab.engine.outcome().scheduler.merged, 3);
}
