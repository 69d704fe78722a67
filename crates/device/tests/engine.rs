//! The engine's public calls: refusals, the order of events within a timestamp, and a drive without a block layer.

use crate::support::random::pick;
use crate::support::{
    Run, buffered, dftl, filled_with, finish, plain, plain_device, plain_nand, plain_with, request, serve_all,
    unbuffered,
};
use flashloom_device::{
    Completion, DeviceParams, Drive, DriveSetup, Engine, InterfaceParams, Misuse, Status, Submitted,
};
use flashloom_ftl::CapacityParams;
use flashloom_nand::{NandParams, Suspend};
use flashloom_units::{MS, Ns, ParamSet, Prng, US};
use flashloom_workload::{Op, Request};

fn engine() -> Engine {
    Run::new(unbuffered(plain_device())).started()
}

/// A new drive without a block layer, in time.
fn bare(setup: &DriveSetup, queue_depth: u32) -> Engine {
    let mut engine = Engine::bare(Drive::new(setup).unwrap(), queue_depth, 0);
    engine.start_timing(&setup.device.nand);
    engine
}

/// Submits a request that must be refused, and checks that this changed nothing.
fn refused(engine: &mut Engine, now_ns: Ns, request: &Request, cookie: u32) -> Misuse {
    let state = |engine: &mut Engine| {
        let host = engine.outcome().host;
        (engine.now_ns(), engine.next_event_ns(), engine.outstanding(), host.generated, host.total_completed())
    };
    let before = state(engine);
    let misuse = engine.submit(now_ns, request, cookie).unwrap_err();
    assert_eq!(state(engine), before, "{misuse}");
    misuse
}

#[test]
fn a_submission_in_the_past_or_beyond_what_is_due_is_refused() {
    let mut engine = engine();
    engine.advance_to(10 * US).unwrap();
    let read = |arrival_ns| request(arrival_ns, Op::Read, 0, 8);
    let past = refused(&mut engine, 10 * US - 1, &read(0), 1);
    assert_eq!(past, Misuse::Past { now_ns: 9_999, target_ns: 10_000 });
    assert_eq!(past.to_string(), "9999 ns has passed: the target has come to 10000 ns");
    assert_eq!(engine.submit(10 * US, &read(5 * US), 1), Ok(Submitted::Accepted), "a request may have waited outside");
    let skipped = refused(&mut engine, 10 * US + 1, &read(0), 2);
    assert_eq!(skipped, Misuse::Skipped { now_ns: 10_001, due_ns: 10_000 }, "the scheduler was not asked yet");
    assert!(skipped.to_string().contains("before what is due at 10000 ns has happened"));
    engine.advance_to(10 * US).unwrap();
    let due_ns = engine.next_event_ns().unwrap();
    assert_eq!(refused(&mut engine, due_ns + 1, &read(0), 2), Misuse::Skipped { now_ns: due_ns + 1, due_ns });
    assert_eq!(
        engine.submit(due_ns, &read(0), 2),
        Ok(Submitted::Accepted),
        "between, and at the event itself, is fine"
    );
}

#[test]
fn time_goes_forward_and_not_for_ever() {
    let mut engine = engine();
    engine.advance_to(7).unwrap();
    assert_eq!(engine.advance_to(7), Ok(()));
    assert_eq!(engine.advance_to(6), Err(Misuse::Past { now_ns: 6, target_ns: 7 }));
    for late in [Engine::LAST_NS + 1, Ns::MAX] {
        assert_eq!(engine.advance_to(late), Err(Misuse::TooLate { now_ns: late }));
        assert_eq!(refused(&mut engine, late, &request(0, Op::Read, 0, 8), 0), Misuse::TooLate { now_ns: late });
    }
    assert!(Misuse::TooLate { now_ns: Ns::MAX }.to_string().contains("later than the engine can count"));
    assert_eq!(engine.now_ns(), 7);
    engine.advance_to(Engine::LAST_NS - MS).unwrap();
    let write = request(0, Op::Write, 0, 64);
    assert_eq!(engine.submit(Engine::LAST_NS - MS, &write, 0), Ok(Submitted::Accepted));
    engine.advance_to(Engine::LAST_NS).unwrap();
    assert_eq!(engine.submit(Engine::LAST_NS, &write, 1), Ok(Submitted::Accepted));
    engine.advance_to(Engine::LAST_NS).unwrap();
    assert!(engine.next_event_ns() > Some(Engine::LAST_NS), "what begins at the last moment ends beyond it");
}

#[test]
fn a_request_that_has_not_arrived_or_does_not_fit_the_drive_is_refused() {
    let mut engine = engine();
    let capacity_sectors = engine.capacity_sectors();
    let early = refused(&mut engine, 5, &request(6, Op::Read, 0, 8), 0);
    assert_eq!(early, Misuse::NotArrived { arrival_ns: 6, now_ns: 5 });
    assert!(early.to_string().contains("arrives at 6 ns cannot be submitted at 5 ns"));
    for (lba, sectors) in [(capacity_sectors, 1), (capacity_sectors - 7, 8), (u64::MAX, 1), (0, u32::MAX)] {
        for op in [Op::Read, Op::Write, Op::Discard] {
            let beyond = refused(&mut engine, 0, &request(0, op, lba, sectors), 0);
            assert_eq!(beyond, Misuse::BeyondEnd { lba, sectors, capacity_sectors });
            assert!(beyond.to_string().contains(&format!("end after the {capacity_sectors} of the target")));
        }
    }
    for op in [Op::Read, Op::Write, Op::Discard] {
        let empty = refused(&mut engine, 0, &request(0, op, 0, 0), 0);
        assert_eq!(
            (empty, empty.to_string()),
            (Misuse::NoSectors(op), format!("a request of no sectors cannot be a {op:?}"))
        );
    }
    assert_eq!(engine.submit(0, &request(0, Op::Flush, 0, 0), 0), Ok(Submitted::Accepted));
    assert_eq!(engine.submit(0, &request(0, Op::Read, capacity_sectors - 8, 8), 1), Ok(Submitted::Accepted));
}

#[test]
fn a_cookie_is_in_use_until_its_request_comes_back() {
    let mut engine = engine();
    for cookie in [9, u32::MAX, 0] {
        engine.submit(0, &request(0, Op::Read, 0, 8), cookie).unwrap();
    }
    for cookie in [0, 9, u32::MAX] {
        let used = refused(&mut engine, 0, &request(0, Op::Read, 8, 8), cookie);
        assert_eq!(used, Misuse::CookieInUse(cookie));
        assert!(used.to_string().starts_with(&format!("cookie {cookie} is that of a request")));
    }
    serve_all(&mut engine);
    assert_eq!(engine.completions().count(), 3);
    let now = engine.now_ns();
    assert_eq!(engine.submit(now, &request(0, Op::Read, 0, 8), 9), Ok(Submitted::Accepted));
}

#[test]
fn requests_of_a_moment_are_queued_together_before_the_scheduler_is_asked() {
    let mut engine = Run { merging: true, ..Run::new(unbuffered(plain_device())) }.started();
    for cookie in 0..3 {
        engine.submit(0, &request(0, Op::Read, u64::from(cookie) * 8, 8), cookie).unwrap();
    }
    assert_eq!(engine.next_event_ns(), Some(0), "the scheduler is still to be asked");
    engine.advance_to(0).unwrap();
    engine.submit(0, &request(0, Op::Read, 24, 8), 3).unwrap();
    engine.advance_to(10 * MS).unwrap();
    let scheduler = engine.outcome().scheduler;
    assert_eq!((scheduler.inserted, scheduler.merged, scheduler.dispatched), (4, 2, 2), "the last one comes too late");
}

/// An idle drive that has something to collect, and the time when it begins.
fn about_to_collect() -> (Engine, Ns) {
    let mut setup = unbuffered(plain_with(plain_nand(), 0.3));
    setup.ftl.params.background_threshold = 20;
    let mut engine = Run { idle_delay_ns: MS, ..Run::new(setup) }.started();
    let mut prng = Prng::new(1);
    let pages = engine.capacity_sectors() / 8;
    for cookie in 0..2_000 {
        let now = engine.now_ns();
        engine.submit(now, &request(now, Op::Write, prng.below(pages) * 8, 8), cookie).unwrap();
        serve_all(&mut engine);
    }
    let begins_ns = engine.next_event_ns().unwrap();
    assert!(engine.is_idle());
    engine.advance_to(begins_ns).unwrap();
    assert_eq!(collections(&engine), 0, "it is left to the next call");
    assert_eq!(engine.next_event_ns(), Some(begins_ns));
    (engine, begins_ns)
}

fn collections(engine: &Engine) -> u64 {
    engine.outcome().ftl.background_collections
}

#[test]
fn background_work_of_a_moment_is_done_by_a_second_call_that_finds_nothing_else_due() {
    let (mut engine, begins_ns) = about_to_collect();
    engine.advance_to(begins_ns).unwrap();
    assert_eq!(collections(&engine), 1);
    assert!(engine.next_event_ns() > Some(begins_ns) && !engine.is_idle());
}

#[test]
fn a_request_of_the_same_moment_goes_before_background_work() {
    let (mut engine, begins_ns) = about_to_collect();
    engine.submit(begins_ns, &request(begins_ns, Op::Read, 0, 8), 0).unwrap();
    engine.advance_to(begins_ns).unwrap();
    assert_eq!(collections(&engine), 0, "the drive is busy again");
    engine.advance_to(begins_ns + 10 * MS).unwrap();
    assert!(collections(&engine) > 0);
    assert_eq!(engine.completions().last().map(|completion| completion.cookie), Some(0));
}

#[test]
fn what_ends_at_a_moment_has_ended_before_a_request_of_that_moment_arrives() {
    let mut engine = bare(&unbuffered(plain_device()), 1);
    assert_eq!(engine.submit(0, &request(0, Op::Read, 0, 8), 0), Ok(Submitted::Accepted));
    engine.advance_to(0).unwrap();
    let ends_ns = engine.next_event_ns().unwrap();
    assert_eq!(engine.submit(ends_ns - 1, &request(0, Op::Read, 0, 8), 1), Ok(Submitted::Full));
    assert_eq!(engine.submit(ends_ns, &request(0, Op::Read, 0, 8), 1), Ok(Submitted::Accepted), "there is room now");
    let first = Completion::new(0, ends_ns, Status::DONE);
    assert_eq!(engine.completions().collect::<Vec<_>>(), [first]);
}

#[test]
fn a_drive_alone_gets_every_request_as_it_is_and_in_order() {
    let mut engine = bare(&buffered(plain_device(), 64, "page-lru", "single"), 8);
    for cookie in 0..8 {
        engine.submit(0, &request(0, Op::Write, u64::from(cookie) * 8, 8), cookie).unwrap();
    }
    assert_eq!(engine.submit(0, &request(0, Op::Flush, 0, 0), 8), Ok(Submitted::Full), "a flush takes room too");
    finish(&mut engine);
    let order: Vec<u32> = engine.completions().map(|completion| completion.cookie).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7], "their data crosses one link");
    let outcome = engine.outcome();
    assert_eq!((outcome.scheduler.merged, outcome.scheduler.dispatched, outcome.host.completed), (0, 8, [0, 8, 0, 0]));
    engine.check().unwrap();
}

/// Pages of one die: the first is programmed as soon as its data is there, and the others together after it, so that
/// their commands end in one event.
#[test]
fn commands_that_end_together_come_back_in_the_order_in_which_they_were_sent() {
    let device = plain(NandParams { channels: 1, ways: 1, planes: 4, ..plain_nand() });
    let mut engine = bare(&unbuffered(device), 8);
    for cookie in 0..4 {
        engine.submit(0, &request(0, Op::Write, u64::from(cookie) * 8, 8), cookie).unwrap();
    }
    finish(&mut engine);
    let ended: Vec<Completion> = engine.completions().collect();
    assert_eq!(engine.outcome().utilization.unwrap().programs.commands, 2, "one page, and then three");
    assert_eq!(ended.iter().map(|completion| completion.cookie).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(ended[1..].windows(2).all(|pair| pair[0].time_ns == pair[1].time_ns));
}

#[test]
fn a_drive_without_time_does_everything_at_the_next_advance() {
    let mut engine = Engine::bare(Drive::new(&unbuffered(plain_device())).unwrap(), 4, 0);
    let mut prng = Prng::new(3);
    for cookie in 0..1_000 {
        let lba = prng.below(engine.capacity_sectors() - 32);
        let op = pick(&mut prng, &Op::ALL);
        assert_eq!(engine.submit(0, &request(0, op, lba, 32), cookie), Ok(Submitted::Accepted));
        engine.advance_to(0).unwrap();
        let ended: Vec<Completion> = engine.completions().collect();
        assert_eq!(ended, [Completion::new(cookie, 0, Status::DONE)]);
    }
    assert_eq!((engine.next_event_ns(), engine.is_idle()), (None, true));
    engine.check().unwrap();
}

/// Runs bursts of requests, each after the one before has completed; returns the completions.
fn bursts(mut engine: Engine, seed: u64) -> Vec<Completion> {
    let mut prng = Prng::new(seed);
    let mut ended = Vec::new();
    for burst in 0..60 {
        let now = engine.now_ns();
        for at in 0..8 {
            let op = pick(&mut prng, &[Op::Read, Op::Read, Op::Write, Op::Discard]);
            let lba = prng.below(engine.capacity_sectors() - 64);
            let request = request(now, op, lba, 1 + prng.below(64) as u32);
            assert_eq!(engine.submit(now, &request, burst * 8 + at), Ok(Submitted::Accepted));
        }
        serve_all(&mut engine);
        ended.extend(engine.completions());
    }
    finish(&mut engine);
    engine.check().unwrap();
    ended
}

#[test]
fn a_drive_alone_does_what_it_does_under_a_block_layer_that_does_nothing() {
    for seed in 0..20 {
        let device = DeviceParams {
            nand: NandParams { planes: [1, 2][seed as usize / 2 % 2], channels: 1, ways: 1, ..plain_nand() },
            capacity: CapacityParams::of(0.4),
            interface: InterfaceParams { controller_ns: [0, 3 * US][seed as usize % 2], ..InterfaceParams::defaults() },
            ..plain_device()
        };
        let mut setup = buffered(device, [0, 16][seed as usize / 4 % 2], "page-lru", "single");
        if seed >= 10 {
            // With the map on flash even a discard makes the array work at once.
            setup = dftl(setup, 8);
        }
        let run = Run { queue_depth: 8, ..Run::new(setup) };
        let mut bare = Engine::bare(Drive::new(&run.setup).unwrap(), 8, run.idle_delay_ns);
        bare.precondition(&filled_with(run.setup.device.logical_pages()), &mut |_| {});
        bare.start_timing(&run.setup.device.nand);
        assert_eq!(bursts(bare, seed), bursts(run.started(), seed), "seed {seed}");
    }
}

#[test]
fn it_does_not_matter_how_coarsely_time_is_advanced() {
    let mut collected = 0;
    for seed in 0..12 {
        let nand = NandParams { suspend: Suspend::ProgramErase, cache_program: seed % 2 == 0, ..plain_nand() };
        let device = plain_with(nand, 0.4);
        let mut setup = buffered(device, [0, 16][seed as usize % 2], "page-lru", "single");
        setup.ftl.params.background_threshold = 20;
        let run = Run { idle_delay_ns: 300 * US, scheduler: "anticipatory", ..Run::new(setup) };
        let outcome = |is_fine: bool| {
            let (mut engine, mut prng, mut now) = (run.started(), Prng::new(seed), 0);
            let mut ended: Vec<Completion> = Vec::new();
            for cookie in 0..3_000 {
                now += [0, prng.below(200 * US), prng.below(9 * MS)][prng.below(3) as usize];
                while is_fine && let Some(next_ns) = engine.next_event_ns().filter(|&next_ns| next_ns < now) {
                    engine.advance_to(next_ns).unwrap();
                }
                if now > engine.now_ns() {
                    engine.advance_to(now).unwrap();
                }
                let op = pick(&mut prng, &[Op::Read, Op::Write]);
                let lba = prng.below(engine.capacity_sectors() - 32);
                engine.submit(now, &request(now, op, lba, 1 + prng.below(32) as u32), cookie).unwrap();
                ended.extend(engine.completions());
            }
            engine.advance_to(now + 60_000 * MS).unwrap();
            ended.extend(engine.completions());
            engine.check().unwrap();
            (ended, engine.outcome())
        };
        let ((fine_ended, fine), (coarse_ended, coarse)) = (outcome(true), outcome(false));
        assert_eq!(fine_ended, coarse_ended, "seed {seed}");
        assert_eq!((fine.counts, fine.utilization, fine.buffer), (coarse.counts, coarse.utilization, coarse.buffer));
        collected += fine.ftl.background_collections;
    }
    assert!(collected > 1_000, "{collected} collections in the background");
}
