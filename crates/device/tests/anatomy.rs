//! The anatomy of requests against times computed by hand; each test has one cause of waiting.

use crate::support::{
    Kept, Run, buffered, channel_ns, link_ns, pages, plain, plain_device, plain_nand, replayed, request, unbuffered,
    under,
};
use flashloom_device::{Cause, DeviceParams, Interest, InterfaceParams, Misuse, Parts, Served, Simulation, Submitted};
use flashloom_host::HostParams;
use flashloom_nand::NandParams;
use flashloom_units::{MS, Ns, OrName, ParamSet, US, transfer_ns};
use flashloom_workload::{Op, Request};

/// Page 0 and this one are on two dies of a channel.
const SAME_CHANNEL: u64 = 4;

/// The requests of a run, in order of completion.
fn served(run: &Run, requests: impl IntoIterator<Item = Request>) -> Vec<Served> {
    run.served(requests).0
}

fn parts(of: &[(Cause, Ns)]) -> Parts {
    let mut parts = Parts::default();
    of.iter().for_each(|&(cause, ns)| parts[cause] += ns);
    parts
}

fn read(page: u64) -> Request {
    request(MS, Op::Read, 8 * page, 8)
}

fn write(at: Ns, page: u64, flags: u8) -> Request {
    request(at, Op::Write, 8 * page, 8).with_flags(flags)
}

#[test]
fn an_unloaded_read_is_in_the_controller_served_and_on_the_link() {
    let device = DeviceParams {
        nand: NandParams { command_ns: 300, ..plain_nand() },
        interface: InterfaceParams { controller_ns: 5 * US, ..InterfaceParams::defaults() },
        ..plain_device()
    };
    let expected = [
        (Cause::Controller, 5 * US),
        (Cause::Served, 300 + device.nand.read_ns + channel_ns(&device)),
        (Cause::Link, link_ns(&device)),
    ];
    let [served] = served(&Run::new(unbuffered(device)), [read(77)])[..] else { panic!("one request") };
    assert_eq!(served.parts, parts(&expected));
    let last = served.last.expect("it was read from flash");
    assert_eq!((last.lpn.0, last.is_program, last.issued_ns), (77, false, MS + 5 * US));
    assert_eq!((served.dispatched_ns, served.latency_ns()), (MS, parts(&expected).total()));
}

#[test]
fn a_partial_write_waits_for_the_read_beneath_it() {
    let device = plain_device();
    let expected = parts(&[
        (Cause::Link, transfer_ns(3 * 512, device.interface.link_rate)),
        (Cause::HostRead, device.nand.read_ns + device.nand.timing().transfer_ns(5)),
        (Cause::Served, channel_ns(&device) + device.nand.program_ns),
    ]);
    let served = served(&Run::new(unbuffered(device)), [request(MS, Op::Write, 8 * 9, 3)]);
    assert_eq!(served[0].parts, expected);
}

/// The data of the second page comes over the channel behind that of the first, and then over the link alone.
#[test]
fn the_path_of_a_request_is_that_of_the_page_that_ended_last() {
    let device = plain(NandParams { bus_rate: 20_000_000, ..plain_nand() });
    let one = [(Cause::Served, device.nand.read_ns + channel_ns(&device)), (Cause::Link, link_ns(&device))];
    let late = [(Cause::Channel, channel_ns(&device)), one[0], one[1]];
    let served = served(&Run::new(unbuffered(device)), [read(0), read(SAME_CHANNEL)]);
    assert_eq!([served[0].parts, served[1].parts], [parts(&one), parts(&late)]);
}

#[test]
fn a_full_drive_holds_requests_for_a_tag() {
    let device = plain_device();
    let own = [(Cause::Served, device.nand.read_ns + channel_ns(&device)), (Cause::Link, link_ns(&device))];
    let run = Run { queue_depth: 1, ..Run::new(unbuffered(device)) };
    let served = served(&run, [read(0), read(1), read(2)]);
    for (nth, served) in served.iter().enumerate() {
        let tag = (Cause::Tag, nth as Ns * parts(&own).total());
        assert_eq!(served.parts, parts(&[tag, own[0], own[1]]));
    }
}

#[test]
fn a_scheduler_that_waits_is_told_from_a_drive_that_is_full() {
    let run = Run { scheduler: "anticipatory", queue_depth: 1, ..Run::new(unbuffered(plain_device())) };
    // A task that reads page after page, each a little later than the one before: anticipation waits for its next read.
    let sequence = (0..8).map(|page| read(page).arriving_at(MS + page * 300 * US).of_task(1));
    let last_ns = MS + 7 * 300 * US;
    let far = read(20_000).arriving_at(last_ns).of_task(2);
    let served = served(&run, sequence.chain([far]));
    let device_ns = served[7].latency_ns();
    let held_ns = served[8].dispatched_ns - last_ns;
    assert!(held_ns > device_ns, "it is held for longer than the drive is full");
    let [tag, scheduler] = [Cause::Tag, Cause::Scheduler].map(|cause| served[8].parts[cause]);
    assert_eq!((tag, scheduler), (device_ns, held_ns - device_ns));
}

#[test]
fn a_request_that_finds_its_class_full_is_held_before_the_block_layer() {
    let host = HostParams { nr_requests: OrName::Number(4), queue_depth: 1, merging: false, ..HostParams::defaults() };
    let run = Run::new(unbuffered(plain_device()));
    let mut engine = under(&host, &run.setup, MS);
    engine.start_timing(&run.setup.device.nand);
    let mut kept = Kept::default();
    let mut writes = replayed(pages(Op::Write, MS, 0..6), run.pace);
    Simulation::new(engine).run(&mut writes, Ns::MAX, &mut [&mut kept]).unwrap();
    // Each is dispatched when the one before it has ended; the fifth is admitted when the first has ended, the sixth
    // when the second has.
    let each = kept.served[0].latency_ns();
    for (nth, served) in kept.served.iter().enumerate() {
        let nr_requests = (nth as Ns).saturating_sub(3) * each;
        assert_eq!(served.parts[Cause::NrRequests], nr_requests, "request {nth}");
        assert_eq!(served.parts[Cause::Tag], nth as Ns * each - nr_requests, "request {nth}");
    }
}

#[test]
fn a_merged_request_has_its_own_time_before_the_dispatch_and_that_of_its_command_after() {
    let run = Run { queue_depth: 1, merging: true, ..Run::new(unbuffered(plain_device())) };
    let served = served(&run, [read(40), read(0), request(MS + US, Op::Read, 8, 8)]);
    let (first, second) = (served[1], served[2]);
    assert_eq!((first.command, second.command), ((0, 16), (0, 16)));
    assert_eq!(first.parts[Cause::Tag], second.parts[Cause::Tag] + US);
    let at_drive = |served: &Served| served.parts.total() - served.parts[Cause::Tag];
    assert_eq!(at_drive(&first), at_drive(&second));
}

#[test]
fn a_write_that_finds_the_buffer_full_waits_for_a_slot() {
    let device = plain_device();
    let (link, flash) = (link_ns(&device), channel_ns(&device) + device.nand.program_ns);
    let served = served(&Run::new(buffered(device, 1, "page-lru", "single")), [write(MS, 0, 0), write(20 * MS, 9, 0)]);
    assert_eq!(served[0].parts, parts(&[(Cause::Link, link)]));
    assert_eq!(served[1].parts, parts(&[(Cause::Link, link), (Cause::Slot, flash)]));
}

#[test]
fn a_flush_a_write_behind_one_and_a_durable_write() {
    let device = plain_device();
    let (link, flash) = (link_ns(&device), channel_ns(&device) + device.nand.program_ns);
    let setup = buffered(device, 8, "page-lru", "single");
    let requests = [
        write(MS, 0, 0),
        request(20 * MS, Op::Flush, 0, 0),
        write(40 * MS, 1, 0),
        write(60 * MS, 2, Request::PREFLUSH),
        write(80 * MS, 3, Request::FUA),
    ];
    let served = served(&Run::new(setup), requests);
    assert_eq!(served[1].parts, parts(&[(Cause::Flush, flash)]));
    assert_eq!(served[3].parts, parts(&[(Cause::Link, link), (Cause::Flush, flash)]));
    assert_eq!(served[4].parts, parts(&[(Cause::Link, link), (Cause::Served, flash)]));
}

#[test]
fn an_anatomy_needs_time_and_every_request() {
    let run = Run::new(unbuffered(plain_device()));
    let mut counting = Run { timed: false, ..Run::new(unbuffered(plain_device())) }.started();
    assert_eq!(counting.keep_anatomy(), Err(Misuse::Untimed));
    let mut begun = run.engine();
    begun.start_timing(&run.setup.device.nand);
    assert_eq!(begun.submit(0, &request(0, Op::Read, 0, 8), 1), Ok(Submitted::Accepted));
    let everything = Interest { events: true, served: true, ..Interest::default() };
    assert_eq!(begun.watch(everything), Err(Misuse::Begun));
    assert_eq!(begun.events().count(), 0, "what is refused changes nothing");
}
