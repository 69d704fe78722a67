//! The write buffer in timed mode: its policies on a drive whose times can be computed by hand.

use crate::support::{Run, buffered, channel_ns, link_ns, pages, plain_device, plain_nand, request};
use flashloom_buffer::{Admission, order};
use flashloom_device::{DeviceParams, DriveSetup, InterfaceParams, Outcome};
use flashloom_nand::Origin;
use flashloom_units::{MS, ParamSet, S, US, Value};
use flashloom_workload::Op;

/// A buffer of eight pages with one victim for each page that waits, which admits writes so.
fn admitting(order: &'static str, admission: Admission) -> DriveSetup {
    DriveSetup { admission, ..buffered(plain_device(), 8, order, "single") }
}

fn reads_and_programs(outcome: &Outcome) -> (u64, u64) {
    (outcome.counts.reads[Origin::Host as usize], outcome.counts.programs[Origin::Host as usize])
}

/// A write that finds the buffer full waits until a victim is in flash: page over the channel + tPROG, less what its
/// own data took over the link after the first write's.
#[test]
fn a_write_that_finds_the_buffer_full_waits_for_one_program() {
    let device = plain_device();
    let link = link_ns(&device);
    let latency = 2 * link + channel_ns(&device) + device.nand.program_ns;
    let outcome = Run::new(buffered(device, 1, "page-lru", "single")).run(pages(Op::Write, MS, [0, 1]));
    let report = outcome.buffer.unwrap();
    assert_eq!(outcome.host.write_latency.max(), latency);
    assert_eq!((report.stalled_writes, report.stall_ns), (1, u128::from(latency - 2 * link)));
    assert_eq!((report.held.max_pages, report.dirty.max_pages), (1, 1));
}

/// Three writes to one page find the buffer full: they need one slot, so one victim leaves.
#[test]
fn writes_that_wait_for_the_same_page_have_one_victim_evicted() {
    let writes = [pages(Op::Write, MS, 0..8), pages(Op::Write, S, [9, 9, 9])].concat();
    let outcome = Run::new(buffered(plain_device(), 8, "page-lru", "single")).run(writes);
    let report = outcome.buffer.unwrap();
    assert_eq!((report.evictions, report.stalled_writes, report.write_hits), (1, 3, 2));
}

/// A stalled write needs slots only for pages that no earlier one waits for: two writes that overlap by three pages
/// need five in all.
#[test]
fn writes_that_overlap_have_a_victim_evicted_for_each_page_that_they_need() {
    let overlapping = [request(S, Op::Write, 8 * 20, 32), request(S, Op::Write, 8 * 21, 32)];
    let writes = [pages(Op::Write, MS, 0..8), overlapping.to_vec()].concat();
    let outcome = Run::new(buffered(plain_device(), 8, "page-lru", "single")).run(writes);
    assert_eq!(outcome.buffer.unwrap().evictions, 5);
}

/// Eight writes of four pages each, of a block each, come at once to a buffer for two of them. Whole, six leave as they
/// came, the rest stays; by page the blocks leave in pieces. An order of blocks has them admitted whole.
#[test]
fn what_was_written_together_is_evicted_together_where_writes_get_in_whole() {
    let block = u64::from(plain_nand().pages) * 8;
    let evictions = |order, admission| {
        let writes = (0..8).map(|at| request(MS, Op::Write, at * block, 32));
        let outcome = Run::new(admitting(order, admission)).run(writes);
        let report = outcome.buffer.unwrap();
        (report.evictions, report.evicted_pages, report.stalled_writes)
    };
    assert_eq!(evictions("block-lru", Admission::Whole), (6, 24, 6));
    assert!(evictions("block-lru", Admission::ByPage).0 > 6);
    for order in ["block-lru", "fab", "clc", "bpac"] {
        assert_eq!(evictions(order, Admission::Auto), (6, 24, 6), "{order}");
    }
    for order in ["page-lru", "ref", "cflru", "chip-aware", "region"] {
        assert_eq!(evictions(order, Admission::Auto), evictions(order, Admission::ByPage), "{order}");
    }
}

/// Two blocks of four pages fill the buffer. A write of the older one and a page more waits for one slot: the other
/// block leaves, because what it overwrites was written again.
#[test]
fn a_write_that_waits_keeps_the_pages_that_it_overwrites() {
    let block = u64::from(plain_nand().pages) * 8;
    let [older, newer] = [0, block].map(|lba| request(MS, Op::Write, lba, 32));
    let setup = admitting("block-lru", Admission::Whole);
    let outcome = Run::new(setup).run([older, newer, request(2 * MS, Op::Write, 0, 40)]);
    let report = outcome.buffer.unwrap();
    assert_eq!((report.write_hits, report.evicted_pages, report.stalled_writes), (4, 4, 1));
}

/// Sixteen pages wait for slots of a buffer of eight. By page all eight leave at once, again and again, so that hardly
/// one is dirty; whole four do, and four stay. Nothing happens in the first millisecond.
#[test]
fn half_of_a_buffer_that_admits_writes_whole_stays_while_others_wait() {
    let dirty_ns = |admission| {
        let outcome = Run::new(admitting("page-lru", admission)).run(pages(Op::Write, MS, 0..24));
        let report = outcome.buffer.unwrap();
        assert_eq!((report.evictions, report.stalled_writes), (16, 16));
        report.dirty.page_ns as f64 / (outcome.host.duration_ns - MS) as f64
    };
    let (by_page, whole) = (dirty_ns(Admission::ByPage), dirty_ns(Admission::Whole));
    assert!(by_page < 1.0 && (4.0..5.0).contains(&whole), "{by_page} and {whole} pages");
}

/// A write of 20 pages to a buffer of 8 comes in parts, each when the buffer is empty, and one that overwrites what is
/// there needs no room.
#[test]
fn a_write_larger_than_the_buffer_gets_in_by_buffers() {
    let writes = [request(MS, Op::Write, 0, 160), request(S, Op::Write, 8 * 12, 64), request(2 * S, Op::Write, 0, 8)];
    let outcome = Run::new(admitting("page-lru", Admission::Whole)).run(writes);
    let report = outcome.buffer.unwrap();
    assert_eq!((report.page_writes, report.stalled_writes), (29, 2));
    assert_eq!((report.evicted_pages, report.write_hits), (13, 8));
}

/// A write waits for a program, which takes 600 us or more, until a discard frees a slot.
#[test]
fn a_discard_makes_room_for_a_write_that_waits() {
    let device = plain_device();
    let requests = |discard: Op| {
        let write = pages(Op::Write, S, [8]);
        [pages(Op::Write, MS, 0..8), write, vec![request(S + 100 * US, discard, 8 * 4, 8)]].concat()
    };
    let latency_max = |op| {
        let outcome = Run::new(buffered(device.clone(), 8, "page-lru", "single")).run(requests(op));
        assert_eq!(outcome.buffer.unwrap().stalled_writes, 1);
        outcome.host.write_latency.max()
    };
    assert!(latency_max(Op::Read) > device.nand.program_ns);
    assert_eq!(latency_max(Op::Discard), 100 * US, "the discard comes 100 us after the write");
}

/// CFLRU with a window full of dirty pages: one is evicted, and clean pages behind it are dropped to make room, so that
/// no write waits.
#[test]
fn with_cflru_a_long_write_has_one_page_evicted_and_does_not_wait() {
    let long = vec![request(2 * S, Op::Write, 8 * 16, 8 * 16)];
    let requests = [pages(Op::Write, MS, 0..16), pages(Op::Read, S, 100..148), long].concat();
    let outcome = Run::new(buffered(plain_device(), 64, "cflru", "single")).run(requests);
    let report = outcome.buffer.unwrap();
    assert_eq!((report.evicted_pages, report.dropped_pages), (1, 16), "what was evicted is not free in time");
    assert_eq!((report.stalled_writes, report.stall_ns), (0, 0));
    assert!(outcome.host.write_latency.max() < plain_nand().program_ns);
}

/// When the host is idle, pages above the low mark are evicted, and the rest stays.
#[test]
fn linear_threshold_goes_on_after_a_burst_until_the_low_mark() {
    let outcome =
        Run::new(buffered(plain_device(), 100, "page-lru", "linear-threshold")).run(pages(Op::Write, MS, 0..80));
    let report = outcome.buffer.unwrap();
    assert_eq!((report.evicted_pages, report.stalled_writes), (80 - 50, 0));
}

/// Padding: one page of a block of 64 is written, so 63 are read and 64 programmed; the flush waits only for the one.
#[test]
fn padding_reads_what_the_buffer_lacks_and_writes_the_whole_block() {
    for fill in [true, false] {
        let mut setup = buffered(plain_device(), 16, "block-lru", "single");
        setup.order = order::builtin().choose("block-lru", &[("padding", Value::Flag(true))]).unwrap();
        let requests = [pages(Op::Write, MS, [64 + 7]), vec![request(2 * MS, Op::Flush, 0, 0)]].concat();
        let read_back = pages(Op::Read, S, [64 + 6, 64 + 7, 64 + 8]);
        let outcome = Run { fill, ..Run::new(setup) }.run([requests, read_back].concat());
        let report = outcome.buffer.unwrap();
        let (padding, read_back) = if fill { (63, 3) } else { (0, 1) };
        assert_eq!((report.evicted_pages, report.padding_pages), (1, padding), "what flash lacks pads nothing");
        assert_eq!(reads_and_programs(&outcome), (padding + read_back, 1 + padding));
    }
}

/// The second read of a page is served by the buffer, in controller + page over the link, without a flash read.
#[test]
fn with_cflru_a_page_that_was_read_is_read_from_the_buffer() {
    let device = DeviceParams {
        interface: InterfaceParams { controller_ns: 5 * US, ..InterfaceParams::defaults() },
        ..plain_device()
    };
    let hit = 5 * US + link_ns(&device);
    let requests = [pages(Op::Read, MS, [9]), pages(Op::Read, 2 * MS, [9])].concat();
    for (order, hits) in [("cflru", 1), ("page-lru", 0)] {
        let outcome = Run::new(buffered(device.clone(), 16, order, "single")).run(requests.clone());
        assert_eq!((outcome.buffer.unwrap().read_hits, reads_and_programs(&outcome).0), (hits, 2 - hits));
        assert_eq!(outcome.host.read_latency.min() == hit, hits == 1, "{order}");
    }
}

/// A clean page is written in part: its other sectors need not be read again when it leaves.
#[test]
fn with_cflru_a_page_that_was_read_is_written_whole() {
    let requests = vec![
        request(MS, Op::Read, 8 * 9, 8),
        request(2 * MS, Op::Write, 8 * 9 + 2, 3),
        request(3 * MS, Op::Flush, 0, 0),
        request(S, Op::Read, 8 * 9, 8),
    ];
    for (order, reads) in [("cflru", 2), ("page-lru", 3)] {
        let outcome = Run::new(buffered(plain_device(), 16, order, "single")).run(requests.clone());
        assert_eq!(reads_and_programs(&outcome), (reads, 1), "{order}");
    }
}

/// All slots are dirty: a read is not cached, but causes an eviction so that the next one can be.
#[test]
fn with_cflru_a_read_that_finds_no_room_evicts_a_page_and_does_not_wait() {
    let device = plain_device();
    let miss = device.nand.read_ns + channel_ns(&device) + link_ns(&device);
    let requests = [
        pages(Op::Write, MS, [0, 1]),
        pages(Op::Read, 2 * MS, [9]),
        pages(Op::Read, S, [9]),
        pages(Op::Read, 2 * S, [9]),
    ];
    let outcome = Run::new(buffered(device, 2, "cflru", "single")).run(requests.concat());
    let report = outcome.buffer.unwrap();
    assert_eq!((report.evicted_pages, report.filled_pages, report.read_hits), (1, 1, 1));
    assert_eq!(outcome.host.read_latency.max(), miss);
}
