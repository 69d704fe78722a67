//! The read cache: what a sequential stream takes, against forms on paper, and that no read returns old data.

use crate::support::random::pick;
use crate::support::{Run, channel_ns, link_ns, pages, plain_nand, plain_with, request, unbuffered};
use flashloom_device::{DeviceParams, DriveSetup, Outcome, ReadCacheReport};
use flashloom_nand::NandParams;
use flashloom_units::{MS, Ns, Prng, US};
use flashloom_workload::{Op, Pace, Request};

/// Eight dies of pages of 4 KiB, which are read in 100 us.
fn setup(cache_pages: u64, ahead: u32) -> DriveSetup {
    let nand = NandParams { channels: 8, ways: 1, blocks: 16, pages: 16, read_ns: 100 * US, ..plain_nand() };
    let mut setup = unbuffered(plain_with(nand, 1.0));
    setup.device.read_cache.capacity_bytes = 4_096 * cache_pages;
    setup.device.read_cache.pages = ahead;
    setup
}

fn closed(setup: DriveSetup, depth: u32, requests: Vec<Request>) -> Outcome {
    Run { pace: Pace::Closed(depth), queue_depth: depth, ..Run::new(setup) }.run(requests)
}

fn cached(outcome: &Outcome) -> ReadCacheReport {
    outcome.read_cache.expect("the drive has a read cache")
}

/// Time of a page from the array to the host.
fn flash_ns(device: &DeviceParams) -> Ns {
    100 * US + channel_ns(device) + link_ns(device)
}

/// One at a time, far apart in time: the first two reads of a stream take tR and the transfers; the pages behind the
/// second are read ahead, and each read from then on crosses the link alone.
#[test]
fn the_third_read_of_a_stream_and_later_ones_cross_the_link_alone() {
    let setup = setup(32, 8);
    let (flash_ns, link_ns) = (flash_ns(&setup.device), link_ns(&setup.device));
    let apart: Vec<_> = (0..20).map(|page| request(page * 10 * MS, Op::Read, 8 * page, 8)).collect();
    let outcome = Run::new(setup.clone()).run(apart.clone());
    let latency = &outcome.host.read_latency;
    assert_eq!((latency.max(), latency.min()), (flash_ns, link_ns));
    assert_eq!(latency.sum(), u128::from(2 * flash_ns + 18 * link_ns));
    assert_eq!(cached(&outcome), ReadCacheReport { hits: 18, late_hits: 0, pages_read: 26 });
    let without = Run::new(unbuffered(plain_with(setup.device.nand, 1.0))).run(apart);
    assert_eq!((without.host.read_latency.min(), without.read_cache), (flash_ns, None));
}

/// Two outstanding on eight dies: without a cache two dies read, 2 pages in tR; with 16 pages ahead all eight do: of
/// every eight reads two wait for their pages, and the median read crosses the link alone.
#[test]
fn at_depth_two_a_stream_has_all_dies_read() {
    let [without, with] = [0, 64].map(|cached| closed(setup(cached, 16), 2, pages(Op::Read, 0, 0..240)));
    let (flash_ns, link_ns) = (flash_ns(&setup(0, 8).device), link_ns(&setup(0, 8).device));
    assert!(without.host.read_latency.percentile(50.0) >= flash_ns);
    assert!(with.host.read_latency.percentile(50.0) <= 2 * link_ns + US);
    assert!(without.host.duration_ns >= 120 * 100 * US);
    // 240 pages on 8 dies: 30 rounds of tR at least.
    assert!(with.host.duration_ns >= 30 * 100 * US && with.host.duration_ns < 35 * flash_ns);
}

/// A page that is still being read is waited for, and is not read twice.
#[test]
fn a_read_of_a_page_under_way_waits_for_it() {
    let setup = setup(32, 4);
    let at = |at: Ns, page: u64| request(at, Op::Read, 8 * page, 8);
    // The second read arrives at 1 ms and has page 2 read ahead at once, on another die; the third comes 40 us later.
    let outcome = Run::new(setup.clone()).run(vec![at(0, 0), at(MS, 1), at(MS + 40 * US, 2)]);
    assert_eq!(cached(&outcome), ReadCacheReport { hits: 1, late_hits: 1, pages_read: 5 });
    assert_eq!(outcome.ftl.host_page_reads, 2 + 5);
    // Page 1 arrives at the same time, and crosses the link first.
    assert_eq!(outcome.host.read_latency.min(), flash_ns(&setup.device) - 40 * US + link_ns(&setup.device));
}

/// Pages 2 to 9 are read ahead. Page 3 is read again, written or discarded, and then read: only in the first case it is
/// still in the cache. The oracle holds the last read against what was written.
#[test]
fn what_was_read_ahead_is_dropped_when_it_changes() {
    for (op, hits) in [(Op::Read, 2), (Op::Write, 0), (Op::Discard, 0)] {
        for buffer_pages in [0, 4] {
            let mut setup = setup(32, 8);
            setup.verify = true;
            setup.buffer_bytes = 4_096 * buffer_pages;
            let at = |at: Ns, op: Op, page: u64| request(at, op, 8 * page, 8);
            let outcome = Run::new(setup).run(vec![
                at(0, Op::Read, 0),
                at(10 * MS, Op::Read, 1),
                at(20 * MS, op, 3),
                at(30 * MS, Op::Read, 3),
            ]);
            assert_eq!(cached(&outcome).hits, hits, "{op:?}, {buffer_pages} pages of buffer");
        }
    }
}

/// Streams and random reads, writes and discards over few pages, at every depth, with every check on.
#[test]
fn no_read_returns_old_data() {
    let mut late = 0;
    for seed in 0..60 {
        let mut prng = Prng::new(seed);
        let mut setup = setup(pick(&mut prng, &[2, 8, 64]), 2);
        setup.device.read_cache.streams = pick(&mut prng, &[1, 4]);
        setup.verify = true;
        setup.buffer_bytes = 4_096 * pick(&mut prng, &[0, 2, 16]);
        let mut next = 0;
        let requests: Vec<_> = (0..2_000)
            .map(|_| {
                let sectors = pick(&mut prng, &[1, 4, 8, 20]);
                let op = pick(&mut prng, &[Op::Read, Op::Read, Op::Read, Op::Write, Op::Discard]);
                if op != Op::Read || prng.chance(0.1) {
                    return request(0, op, prng.below(400), sectors);
                }
                let lba = next;
                next = (lba + u64::from(sectors)) % 400;
                request(0, op, lba, sectors)
            })
            .collect();
        let depth = pick(&mut prng, &[1, 2, 16]);
        let outcome = closed(setup, depth, requests);
        assert!(cached(&outcome).hits > 0, "seed {seed}");
        late += cached(&outcome).late_hits;
    }
    assert!(late > 0, "some pages were under way");
}
