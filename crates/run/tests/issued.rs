//! Requests that one run's scheduler issued, replayed on another drive: how ParDispatcher's authors counted erases.

use crate::support::{CLOSED, prepared, varied};
use flashloom_run::{Prepared, Quiet};
use flashloom_workload::Op;

const REPLAYS: [&str; 4] = ["run.timing=counting", "buffer.capacity=0B", "device.page_size=4KiB", "device.blocks=160"];

/// The runs of two timed schedulers, whose requests are issued, and those of the drive that replays them, without time
/// or buffer.
fn study() -> [Prepared<'static>; 2] {
    let load = ["workload.requests=3000", "workload.queue_depth=64", "workload.synthetic.read_share=0"];
    let varies = ["host.scheduler=noop,pardispatcher"];
    [&[][..], &REPLAYS].map(|sets| prepared(varied(CLOSED, &[&load[..], sets].concat(), &varies)))
}

#[test]
fn a_replay_writes_what_the_other_runs_scheduler_issued_and_in_that_order() {
    let [issuing, replaying] = study();
    let mut sequences = Vec::new();
    for scheduler in 0..2 {
        let issued = issuing.issued_by(scheduler, &Quiet).expect("it runs");
        let by_itself = issuing.run_variant(scheduler, false, &Quiet).expect("it runs");
        let dispatched = by_itself.host.scheduler.as_ref().and_then(|scheduler| scheduler.whole("dispatched"));
        assert_eq!(Some(issued.len() as u64), dispatched, "merged requests are issued once");
        let result = replaying.replay(0, &issued, &Quiet).expect("it replays");
        assert_eq!(result.host.requests, issued.len() as u64);
        let of = |wanted: Op| issued.iter().filter(move |request| request.op == wanted);
        let bytes = |wanted: Op| of(wanted).map(|request| u64::from(request.sectors) * 512).sum::<u64>();
        assert_eq!((result.host.read_bytes, result.host.write_bytes), (bytes(Op::Read), bytes(Op::Write)));
        assert_eq!(result.host.write_bytes, by_itself.host.write_bytes, "a scheduler loses nothing");
        sequences.push(issued.iter().map(|request| (request.op, request.lba)).collect::<Vec<_>>());
    }
    assert_ne!(sequences[0], sequences[1], "pardispatcher has another order");
}

#[test]
fn the_same_requests_replayed_twice_erase_the_same() {
    let [issuing, replaying] = study();
    let issued = issuing.issued_by(1, &Quiet).expect("it runs");
    let erases = |run: usize| replaying.replay(run, &issued, &Quiet).expect("it replays").ftl.block_erases;
    assert!(erases(0) > 0);
    assert_eq!(erases(0), erases(1), "the replaying drive's own scheduler has no part in it");
}
