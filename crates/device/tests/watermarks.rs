//! Collection between two watermarks: when it begins and ends, and what it takes, against forms on paper.

use crate::support::{Run, channel_ns, link_ns, plain_nand, plain_with, request, unbuffered};
use flashloom_device::{DriveSetup, Outcome};
use flashloom_nand::{NandParams, Origin};
use flashloom_units::{MS, Ns};
use flashloom_workload::{Op, Pace, Request};

const PAGES: u64 = 12;

/// One plane of 30 blocks of 12 pages; the host sees 15 blocks. Collection begins below 6 free blocks and ends with 12.
fn setup() -> DriveSetup {
    let pages = PAGES as u32;
    let nand = NandParams { channels: 1, ways: 1, blocks: 30, pages, program_ns: MS, ..plain_nand() };
    let mut setup = unbuffered(plain_with(nand, 1.0));
    setup.ftl.params.gc_low_watermark = 0.2;
    setup.ftl.params.gc_high_watermark = 0.4;
    setup.ftl.params.background_threshold = 0;
    setup
}

fn writes(at: Ns, pages: std::ops::Range<u64>) -> impl Iterator<Item = Request> {
    pages.map(move |page| request(at, Op::Write, 8 * (page % (15 * PAGES)), 8))
}

/// Fills the drive and then writes that many pages again, in the same order.
fn overwritten(setup: DriveSetup, pages: u64) -> Outcome {
    let run = Run { fill: false, pace: Pace::Closed(1), queue_depth: 1, ..Run::new(setup) };
    run.run(writes(0, 0..15 * PAGES + pages).collect::<Vec<_>>())
}

fn erases(outcome: &Outcome) -> u64 {
    outcome.counts.erases[Origin::Gc as usize]
}

/// After the fill 15 blocks are free, and every block that is written leaves another one without a valid page. The
/// tenth leaves 5 free: collection begins. Each page pays for 2 * 1 / 12 steps, an erase every 6 pages: each block
/// written frees two, so that 12 are free at the end of the fifteenth. Nothing is collected while the next six are
/// written, and with the seventh the next stretch begins.
#[test]
fn collection_begins_at_the_low_watermark_and_ends_at_the_high_one() {
    let erased = |pages| erases(&overwritten(setup(), pages));
    for (pages, expected) in
        [(9 * 12, 0), (9 * 12 + 5, 0), (9 * 12 + 6, 1), (10 * 12, 2), (15 * 12, 12), (21 * 12, 12), (21 * 12 + 5, 12)]
    {
        assert_eq!(erased(pages), expected, "{pages} pages");
    }
    assert_eq!(erased(21 * 12 + 6), 13);
    let mut without = setup();
    without.ftl.params.gc_low_watermark = 0.0;
    assert_eq!(erases(&overwritten(without, 13 * 12)), 0, "two blocks are free");
}

/// Twice the pace needs half of the pages: each block written frees four.
#[test]
fn a_faster_pace_makes_a_shorter_stretch() {
    let mut fast = setup();
    fast.ftl.params.gc_watermark_pace = 4.0;
    let erased = |pages| erases(&overwritten(fast.clone(), pages));
    assert_eq!([9 * 12 + 3, 10 * 12, 11 * 12, 12 * 12].map(erased), [1, 4, 8, 8]);
}

/// Outside a stretch every write takes the time of its program; in it every sixth waits for an erase too.
#[test]
fn writes_are_slow_for_a_stretch_and_fast_between_stretches() {
    let setup = setup();
    let nand = &setup.device.nand;
    let write_ns = link_ns(&setup.device) + channel_ns(&setup.device) + nand.program_ns;
    let took = |pages| overwritten(setup.clone(), pages).host.duration_ns;
    assert_eq!(took(9 * 12), (15 + 9) * PAGES * write_ns);
    assert_eq!(took(15 * 12) - took(9 * 12), 6 * PAGES * write_ns + 12 * nand.erase_ns);
    assert_eq!(took(21 * 12) - took(15 * 12), 6 * PAGES * write_ns);
}

/// A drive that becomes idle in a stretch goes on to the high watermark, and no further.
#[test]
fn an_idle_drive_ends_the_stretch_that_writes_began() {
    for (pages, expected) in [(9 * 12, 0), (9 * 12 + 1, 7)] {
        let run = Run { fill: false, pace: Pace::Timestamps(1.0), idle_delay_ns: MS, ..Run::new(setup()) };
        let later = request(1_000_000 * MS, Op::Read, 0, 8);
        let outcome = run.run(writes(0, 0..15 * PAGES + pages).chain([later]).collect::<Vec<_>>());
        assert_eq!(erases(&outcome), expected, "{pages} pages");
    }
}
