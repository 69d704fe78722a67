use flashloom_device::{Cause, LastOperation, Parts, Reason, Status};
use flashloom_nand::{Lpn, Origin, Ppn, Shape};
use flashloom_units::{MS, S, US};
use flashloom_workload::{Op, Request};

use super::*;

/// Arrival time of the requests in the tests.
const ARRIVAL: Ns = S + 204_518_220;

/// A request of 8 sectors with the given waits, which was a command of its own.
fn served(op: Op, lba: u64, waited: &[(Cause, Ns)]) -> Served {
    let mut parts = Parts::default();
    waited.iter().for_each(|(cause, ns)| parts[*cause] = *ns);
    let sectors = if op == Op::Flush { 0 } else { 8 };
    let request = Request::new(op, lba, sectors).arriving_at(ARRIVAL).of_task(3);
    Served {
        request,
        admitted_ns: ARRIVAL + parts[Cause::NrRequests],
        dispatched_ns: ARRIVAL + parts[Cause::NrRequests] + parts[Cause::Tag] + parts[Cause::Scheduler],
        ended_ns: ARRIVAL + parts.total(),
        status: Status::DONE,
        command: (lba, sectors),
        parts,
        last: None,
    }
}

/// An operation that ended with the request, was issued `issued` before that and started `started` before that.
fn last(of: &Served, is_program: bool, ppn: u32, [issued, started]: [Ns; 2]) -> Option<LastOperation> {
    Some(LastOperation {
        lpn: Lpn(of.request.lba as u32 / 8),
        ppn: Ppn(ppn),
        is_program,
        origin: Origin::Host,
        issued_ns: of.ended_ns - issued,
        started_ns: of.ended_ns - started,
        ended_ns: of.ended_ns,
    })
}

fn behind_a_collection() -> Served {
    let waited = [
        (Cause::Scheduler, 104_300),
        (Cause::Controller, 2 * US),
        (Cause::Collection, 2_104_000),
        (Cause::Channel, 12_500),
        (Cause::Served, 65 * US),
        (Cause::Link, 9_100),
    ];
    let read = served(Op::Read, 81_920, &waited);
    Served { last: last(&read, false, 77_345, [2_181_500, 77_500]), ..read }
}

fn for_slots() -> Served {
    let waited = [(Cause::Controller, 2 * US), (Cause::Link, 12_300), (Cause::Slot, 31 * MS)];
    let write = served(Op::Write, 4_096, &waited);
    let request = Request::new(Op::Write, 4_096, 2_048).arriving_at(ARRIVAL).of_task(3);
    Served { request, command: (4_096, 2_048), ..write }
}

fn merged_for_a_tag() -> Served {
    let waited =
        [(Cause::NrRequests, 870), (Cause::Tag, 3_210_000), (Cause::HostRead, 75 * US), (Cause::Served, 80_000)];
    let read = served(Op::Read, 1_024, &waited);
    Served { command: (1_016, 24), last: last(&read, false, 5, [155 * US, 80 * US]), ..read }
}

fn failed_write() -> Served {
    let write = served(Op::Write, 512, &[(Cause::Tag, 5 * MS), (Cause::Erase, 5 * MS)]);
    let request = write.request.with_flags(Request::FUA | Request::PREFLUSH);
    let erased = last(&write, true, 900, [5 * MS, MS]).map(|last| LastOperation { origin: Origin::Merge, ..last });
    Served { request, status: Status::Failed(Reason::EndOfLife), last: erased, ..write }
}

fn flush() -> Served {
    let flush = served(Op::Flush, 0, &[(Cause::Flush, 640 * US)]);
    let last = last(&flush, true, 64, [900 * US, 600 * US]).map(|last| LastOperation { lpn: Lpn(7), ..last });
    Served { last, ..flush }
}

fn watched(count: usize, all: impl IntoIterator<Item = Served>) -> Slowest {
    let mut slowest = Slowest::new(count);
    all.into_iter().for_each(|served| slowest.served(&served));
    slowest
}

#[test]
fn the_story_says_what_a_request_was_where_its_time_went_and_what_it_waited_for_last() {
    let quick = (0..12_000).map(|lba| served(Op::Read, lba, &[(Cause::Served, 50 * US)]));
    let slow = [behind_a_collection(), for_slots(), merged_for_a_tag(), failed_write(), flush()];
    let shape = Shape { channels: 2, ways: 2, dies: 1, planes: 1, blocks: 400, pages: 64, page_bytes: 4_096 };
    let slowest = watched(5, quick.chain(slow)).on(Geometry::new(shape));
    insta::assert_snapshot!(slowest.story());
}

#[test]
fn a_drive_whose_geometry_is_not_told_has_page_numbers_alone() {
    let story = watched(1, [behind_a_collection()]).story();
    assert!(story.contains("read of logical page 10240 at physical page 77345,\n"), "{story}");
}

#[test]
fn no_more_than_the_slowest_are_kept_whatever_their_order() {
    let latencies = [30, 10, 50, 20, 40];
    let of = |ns: &Ns| served(Op::Read, *ns, &[(Cause::Served, *ns)]);
    for rotation in 0..latencies.len() {
        let mut order = latencies;
        order.rotate_left(rotation);
        let slowest = watched(3, order.iter().map(of));
        assert_eq!(slowest.kept.len(), 3);
        assert_eq!(sectors(&slowest), [50, 40, 30]);
    }
}

#[test]
fn of_equally_slow_requests_those_that_ended_first_are_kept_and_told_first() {
    let of = |(lba, ns): (u64, Ns)| served(Op::Read, lba, &[(Cause::Served, ns)]);
    let slowest = watched(3, [(1, 20), (2, 20), (3, 10), (4, 20), (5, 20), (6, 30)].map(of));
    assert_eq!(sectors(&slowest), [6, 1, 2]);
}

/// First sectors of the requests, in the order of the story.
fn sectors(slowest: &Slowest) -> Vec<u64> {
    let story = slowest.story();
    let first = |line: &str| line.split_once(" sectors at sector ")?.1.split(' ').next()?.parse().ok();
    story.lines().filter_map(first).collect()
}

#[test]
fn equal_parts_are_led_by_the_first_on_the_path_and_a_run_without_requests_says_so() {
    let story = watched(2, [failed_write()]).story();
    assert!(story.starts_with("The only request took 10.0 ms. Largest part: 5.00 ms (50.0 %) held"), "{story}");
    assert_eq!(watched(2, []).story(), "No request has ended.\n");
    let instant = watched(1, [served(Op::Discard, 8, &[])]).story();
    assert!(instant.starts_with("The only request took 0 ns.\n"), "{instant}");
}
