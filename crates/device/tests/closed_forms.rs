//! The model against formulas: where a configuration is simple enough to be solved on paper, the two must agree.

use crate::support::{
    Run, buffered, channel_ns, link_ns, plain, plain_device, plain_nand, plain_with, request, unbuffered,
};
use flashloom_device::{DeviceParams, DriveSetup, InterfaceParams};
use flashloom_ftl::collection;
use flashloom_nand::NandParams;
use flashloom_units::{MS, ParamSet, Prng, S, US, Value, transfer_ns};
use flashloom_verify::closed_forms::greedy_mean_field;
use flashloom_workload::{Op, Pace};

/// An idle drive reads a page in controller + command + tR + page over the channel + page over the link.
#[test]
fn an_unloaded_read_takes_exactly_the_sum_of_its_parts() {
    let device = DeviceParams {
        nand: NandParams { command_ns: 300, read_ns: 40 * US, ..plain_nand() },
        interface: InterfaceParams { controller_ns: 5 * US, ..InterfaceParams::defaults() },
        ..plain_device()
    };
    let parts = 5 * US + 300 + 40 * US + channel_ns(&device) + link_ns(&device);
    let outcome = Run::new(unbuffered(device)).run([request(MS, Op::Read, 8 * 77, 8)]);
    let latency = &outcome.host.read_latency;
    assert_eq!((latency.min(), latency.max()), (latency.max(), parts));
}

/// Half a page is half the data on channel and link, after the same tR.
#[test]
fn an_unloaded_read_of_part_of_a_page_moves_only_that_part() {
    let device = plain_device();
    let parts =
        device.nand.read_ns + device.nand.timing().transfer_ns(3) + transfer_ns(3 * 512, device.interface.link_rate);
    let outcome = Run::new(unbuffered(device)).run([request(MS, Op::Read, 8 * 77 + 2, 3)]);
    assert_eq!(outcome.host.read_latency.max(), parts);
}

/// Without a buffer a write takes controller + page over the link + command and page over the channel + tPROG.
#[test]
fn an_unloaded_write_takes_exactly_the_sum_of_its_parts() {
    let device = DeviceParams {
        nand: NandParams { command_ns: 300, ..plain_nand() },
        interface: InterfaceParams { controller_ns: 5 * US, ..InterfaceParams::defaults() },
        ..plain_device()
    };
    let parts = 5 * US + link_ns(&device) + 300 + channel_ns(&device) + device.nand.program_ns;
    let outcome = Run { fill: false, ..Run::new(unbuffered(device)) }.run([request(MS, Op::Write, 0, 8)]);
    assert_eq!(outcome.host.write_latency.max(), parts);
}

/// A partial write of a mapped page first reads the other sectors, which adds tR and their time over the channel.
#[test]
fn an_unloaded_partial_write_reads_the_rest_of_its_page_first() {
    let device = plain_device();
    let timing = device.nand.timing();
    let read = device.nand.read_ns + timing.transfer_ns(5);
    let parts =
        transfer_ns(3 * 512, device.interface.link_rate) + read + timing.transfer_ns(8) + device.nand.program_ns;
    let outcome = Run::new(unbuffered(device)).run([request(MS, Op::Write, 8 * 9, 3)]);
    assert_eq!(outcome.host.write_latency.max(), parts);
    assert_eq!(outcome.ftl.read_modify_writes, 1);
}

/// Sequential writes run at min(link, channels, dies x page / tPROG): each of the three made the bottleneck in turn.
/// Cache program hides the transfers behind the programs, so the third term has no transfer in it.
#[test]
fn sequential_writes_run_at_the_rate_of_the_narrowest_part() {
    let slow_link = DeviceParams {
        interface: InterfaceParams { link_rate: 30_000_000, ..InterfaceParams::defaults() },
        ..plain_device()
    };
    let slow_bus = plain(NandParams { bus_rate: 10_000_000, program_ns: 100 * US, ..plain_nand() });
    for device in [plain_device(), slow_link, slow_bus] {
        let device = DeviceParams { nand: NandParams { cache_program: true, ..device.nand }, ..device };
        let programs = device.geometry().total_dies() as f64 * 4_096.0 / device.nand.program_ns as f64 * 1e9;
        let buses = f64::from(device.nand.channels) * device.nand.bus_rate as f64;
        let expected = programs.min(buses).min(device.interface.link_rate as f64);
        let pages = 8_000;
        let requests = (0..pages).map(|page| request(0, Op::Write, page * 8, 8));
        let run = Run { pace: Pace::Closed(256), queue_depth: 256, fill: false, ..Run::new(unbuffered(device)) };
        let outcome = run.run(requests);
        let rate = outcome.host.write_bytes as f64 / outcome.host.duration_ns as f64 * 1e9;
        assert!((rate / expected - 1.0).abs() < 0.01, "{rate:.0} B/s, not {expected:.0}");
    }
}

/// Many outstanding random reads keep n dies busy: each occupies its die for tR and its transfer. Every page is read
/// equally often, in random order, so that all dies have equal work.
#[test]
fn random_reads_run_at_the_rate_of_all_dies() {
    for channels in [1, 4, 16] {
        // One die a channel, so that no transfer waits for another.
        let device = plain(NandParams { channels, ways: 1, ..plain_nand() });
        let each_ns = device.nand.read_ns + channel_ns(&device);
        let pages = device.logical_pages();
        let mut order: Vec<u64> = (0..pages).cycle().take(4 * pages as usize).collect();
        let mut prng = Prng::new(1);
        (1..order.len()).for_each(|at| order.swap(at, prng.below(at as u64 + 1) as usize));
        let depth = 128 * channels;
        let run = Run { pace: Pace::Closed(depth), queue_depth: depth, ..Run::new(unbuffered(device)) };
        let outcome = run.run(order.iter().map(|page| request(0, Op::Read, page * 8, 8)));
        let expected = f64::from(channels) / each_ns as f64 * 1e9;
        let rate = order.len() as f64 / outcome.host.duration_ns as f64 * 1e9;
        assert!((rate / expected - 1.0).abs() < 0.01, "{channels} dies: {rate:.0} reads/s, not {expected:.0}");
    }
}

/// Random reads of a page on 16 dies, many at a time: reads a second.
fn reads_a_second(interface: InterfaceParams) -> f64 {
    let device = DeviceParams { interface, ..plain(NandParams { channels: 16, ways: 1, ..plain_nand() }) };
    let (pages, mut prng) = (device.logical_pages(), Prng::new(1));
    let run = Run { pace: Pace::Closed(512), queue_depth: 512, ..Run::new(unbuffered(device)) };
    let reads: Vec<_> = (0..20_000).map(|_| request(0, Op::Read, prng.below(pages) * 8, 8)).collect();
    20_000.0 / run.run(reads).host.duration_ns as f64 * 1e9
}

/// n processors serve n commands in the time of one, however many the array could serve. Processors without a number
/// only delay.
#[test]
fn the_processors_of_the_controller_bound_commands_a_second() {
    let controller = |controller_processors| {
        let times =
            InterfaceParams { controller_ns: 40 * US, controller_page_ns: 10 * US, ..InterfaceParams::defaults() };
        reads_a_second(InterfaceParams { controller_processors, ..times })
    };
    for processors in [1, 3] {
        let (rate, expected) = (controller(Some(processors)), f64::from(processors) / 50e-6);
        assert!((rate / expected - 1.0).abs() < 0.01, "{processors} processors: {rate:.0}/s, not {expected:.0}");
    }
    assert!(controller(None) > 120_000.0, "the array could serve more: {:.0}/s", controller(None));
}

/// A half-duplex link carries a read in its command time and that of its packets.
#[test]
fn the_link_bounds_small_reads_a_second_by_what_they_take_besides_their_data() {
    let link = |link_packet_overhead, link_command_ns| {
        let link = InterfaceParams { link_rate: 600_000_000, full_duplex: false, ..InterfaceParams::defaults() };
        reads_a_second(InterfaceParams { link_packet_overhead, link_command_ns, link_packet_bytes: 512, ..link })
    };
    for (overhead, command_ns) in [(0, 12 * US), (128, 12 * US), (128, 5 * US)] {
        let each_ns = command_ns + transfer_ns(4_096 + 8 * overhead, 600_000_000);
        let (rate, expected) = (link(overhead, command_ns), 1e9 / each_ns as f64);
        assert!((rate / expected - 1.0).abs() < 0.01, "{overhead} B, {command_ns} ns: {rate:.0}/s, not {expected:.0}");
    }
    assert!(link(0, 0) > 120_000.0, "{:.0}/s without either", link(0, 0));
}

/// With a spread each page has its own tR on an idle drive, within the spread, and the mean of all is that of the type.
#[test]
fn a_spread_of_times_keeps_the_mean_of_an_idle_drive() {
    let latencies = |read_spread| {
        let device = plain(NandParams { read_spread, ..plain_nand() });
        let reads = (0..24_000).map(|page| request(MS * (1 + page), Op::Read, page * 8, 8));
        Run::new(unbuffered(device)).run(reads).host.read_latency
    };
    let (even, spread) = (latencies(0.0), latencies(0.3));
    assert_eq!(even.min(), even.max());
    let by_ns = plain_nand().read_ns * 3 / 10;
    assert!(spread.min() < even.min() - by_ns * 9 / 10 && spread.min() >= even.min() - by_ns, "{}", spread.min());
    assert!(spread.max() > even.max() + by_ns * 9 / 10 && spread.max() <= even.max() + by_ns, "{}", spread.max());
    assert!((spread.mean() / even.mean() - 1.0).abs() < 0.01, "{} and {} ns", spread.mean(), even.mean());
}

/// A drive of one large plane, so that collection chooses among all blocks, as in the mean-field models.
fn one_plane(over_provisioning: f64) -> DeviceParams {
    plain_with(NandParams { channels: 1, ways: 1, blocks: 4_096, pages: 32, ..plain_nand() }, over_provisioning)
}

/// Pages of all blocks but those that collection keeps free and the two open ones, divided by the logical pages.
fn physical_over_logical(device: &DeviceParams, gc_threshold: u32) -> f64 {
    let blocks = f64::from(device.nand.blocks - gc_threshold - 2);
    blocks * f64::from(device.nand.pages) / device.logical_pages() as f64
}

/// Compares the write amplification of a collection policy under uniform random writes with a formula of physical over
/// logical pages, at three over-provisionings.
fn assert_waf(gc: &str, set: &[(&str, Value)], expected: impl Fn(f64, u32) -> f64) {
    for over_provisioning in [0.07, 0.15, 0.28] {
        let device = one_plane(over_provisioning);
        let mut setup = DriveSetup { verify: false, ..unbuffered(device.clone()) };
        setup.ftl.collection = collection::builtin().choose(gc, set).unwrap();
        let expected = expected(physical_over_logical(&device, setup.ftl.params.gc_threshold), device.nand.pages);
        let waf = Run::new(setup).steady_waf();
        println!("{gc} {set:?} at {over_provisioning}: {waf:.4}, by the formula {expected:.4}");
        assert!((waf / expected - 1.0).abs() < 0.02, "{gc} {set:?}: {waf:.4}, not {expected:.4}");
    }
}

#[test]
fn greedy_amplifies_uniform_writes_as_the_mean_field_limit_says() {
    assert_waf("greedy", &[], |alpha, b| greedy_mean_field(alpha, b).expect("there is spare space"));
}

/// Factory bad blocks reduce the spare blocks and change nothing else.
#[test]
fn bad_blocks_amplify_as_so_many_spare_blocks_less_do() {
    let mut setup = DriveSetup { verify: false, ..unbuffered(one_plane(0.28)) };
    setup.device.nand.bad_blocks = 0.05;
    let (nand, gc_threshold) = (&setup.device.nand, setup.ftl.params.gc_threshold);
    let good = f64::from(nand.blocks - nand.bad_blocks_a_plane() - gc_threshold - 2);
    let alpha = good * f64::from(nand.pages) / setup.device.logical_pages() as f64;
    let expected = greedy_mean_field(alpha, nand.pages).expect("there is spare space");
    let waf = Run::new(setup).steady_waf();
    assert!((waf / expected - 1.0).abs() < 0.02, "{waf:.4}, not {expected:.4}");
}

/// Mean-field limit of d-choices collection under uniform random writes (Van Houdt, SIGMETRICS 2013).
///
/// Let S(i) be the share of blocks with at least i valid pages, so that the best of d has at least i with probability
/// S(i)^d, and r the blocks that are filled for each page that the host writes. A block enters at b valid pages, falls
/// from i to i - 1 as pages die, each with rate 1 / (rho N b), and leaves when it is collected. What enters at i or
/// above either leaves from there or falls below i:
///
/// ```text
/// i m(i) = rho b r (1 - S(i)^d)        S(i) = S(i+1) + m(i)        S(b+1) = 0
/// ```
///
/// which gives S(b), S(b-1), ..., S(1) for any r. In equilibrium collections free one page for each page written:
/// r (b - (S(1)^d + ... + S(b)^d)) = 1, because that sum is the mean of the victim's valid pages. Write amplification
/// is b r. With d to infinity this is greedy's limit above; d = 1 collects at random.
///
/// In the model a block without a dead page can be the victim: it is copied whole and frees nothing, which only adds
/// copies. The policy draws again instead, which saves a share S(b)^d of the b r programs per page.
fn d_choices_mean_field(d: i32, alpha: f64, b: u32) -> f64 {
    let rho_b = f64::from(b) / alpha;
    // For blocks filled at rate r: pages freed per page written, less one; and S(b)^d.
    let balance = |r: f64| {
        let (mut share, mut valid_of_victims, mut gaining_nothing) = (0.0, 0.0, 0.0);
        for i in (1..=b).rev() {
            let step = |share: f64| rho_b * r / f64::from(i) * (1.0 - share.powi(d));
            share = bisect(share, 1.0, |candidate| candidate < share + step(candidate));
            valid_of_victims += share.powi(d);
            gaining_nothing = if i == b { share.powi(d) } else { gaining_nothing };
        }
        (r * (f64::from(b) - valid_of_victims) - 1.0, gaining_nothing)
    };
    let r = bisect(1.0 / f64::from(b), 1.0, |r| balance(r).0 < 0.0);
    f64::from(b) * r * (1.0 - balance(r).1)
}

/// The end of the range, from `low` on, in which a condition holds.
fn bisect(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let halve = |(low, high): (f64, f64), _| {
        let middle = (low + high) / 2.0;
        if holds(middle) { (middle, high) } else { (low, middle) }
    };
    (0..60).fold((low, high), halve).0
}

#[test]
fn d_choices_amplify_uniform_writes_as_van_houdts_fixed_point_says() {
    for d in [1, 2, 10] {
        assert_waf("d-choices", &[("d", Value::Count(d))], |alpha, b| d_choices_mean_field(d as i32, alpha, b));
    }
}

/// Lambert's W on its principal branch, for -1/e < x < 0, by Newton's method.
fn lambert_w(x: f64) -> f64 {
    (0..100).fold(-0.5, |w: f64, _| w - (w * w.exp() - x) / (w.exp() * (w + 1.0)))
}

/// Cleaning in order of age (Desnoyers, SYSTOR 2012): a page survives a round with probability exp(-alpha / A), hence
/// A = alpha / (alpha + W(-alpha exp(-alpha))).
#[test]
fn fifo_amplifies_uniform_writes_as_lamberts_w_says() {
    assert_waf("fifo", &[], |alpha, _| alpha / (alpha + lambert_w(-alpha * (-alpha).exp())));
}

/// A window of one block is fifo, and one of all blocks is greedy, with exactly the same copies.
#[test]
fn windowed_greedy_amplifies_as_fifo_and_as_greedy_at_its_limits() {
    let waf = |gc, set: &[(&str, Value)]| {
        let mut setup = unbuffered(one_plane(0.15));
        setup.device.nand.blocks = 512;
        setup.ftl.collection = collection::builtin().choose(gc, set).unwrap();
        Run::new(setup).steady_waf()
    };
    let (fifo, greedy) = (waf("fifo", &[]), waf("greedy", &[]));
    assert_eq!(waf("windowed-greedy", &[("window", Value::Count(1))]), fifo);
    assert_eq!(waf("windowed-greedy", &[("window", Value::Count(512))]), greedy);
    let between = waf("windowed-greedy", &[("window", Value::Count(64))]);
    assert!(greedy < between && between < fifo, "{greedy:.4} < {between:.4} < {fifo:.4}");
}

/// A host read waits for an erase that runs on its die, unless the drive suspends it.
#[test]
fn suspension_shortens_a_read_that_meets_an_erase() {
    let longest_read = |suspend| {
        let device = plain(NandParams { channels: 1, ways: 1, erase_ns: 10 * MS, suspend, ..plain_nand() });
        let pages = device.logical_pages();
        let mut prng = Prng::new(2);
        let requests: Vec<_> = (0..4_000)
            .map(|at| {
                // Reads go to the half that is never written, so that no read waits for the program of its page.
                let half = prng.below(pages / 2);
                if at % 4 == 0 { (Op::Read, half) } else { (Op::Write, pages / 2 + half) }
            })
            .enumerate()
            .map(|(at, (op, page))| request(at as u64 * 3 * MS, op, page * 8, 8))
            .collect();
        Run { idle_delay_ns: S, ..Run::new(unbuffered(device)) }.run(requests).host.read_latency.max()
    };
    let waiting = longest_read(flashloom_nand::Suspend::None);
    let suspending = longest_read(flashloom_nand::Suspend::Erase);
    assert!(waiting > 9 * MS && suspending < 5 * MS, "{waiting} ns without suspension, {suspending} ns with it");
}

/// The link is booked when the controller time of a command is over, not when the command arrives: a finished read does
/// not wait for a write that is still in the controller, even on a half-duplex link.
#[test]
fn a_command_in_the_controller_does_not_hold_the_link() {
    let device = DeviceParams {
        interface: InterfaceParams { controller_ns: MS, full_duplex: false, ..InterfaceParams::defaults() },
        ..plain_device()
    };
    let read = MS + device.nand.read_ns + channel_ns(&device) + link_ns(&device);
    let requests = [request(0, Op::Read, 0, 8), request(50 * US, Op::Write, 8 * 100, 8)];
    let outcome = Run::new(unbuffered(device)).run(requests);
    assert_eq!(outcome.host.read_latency.max(), read);
}

/// A full buffer evicts only for pages that it does not hold.
#[test]
fn a_write_evicts_only_for_pages_that_are_not_in_the_buffer() {
    let page = |at: u64, page: u64, pages: u32| request(at * 10 * MS, Op::Write, page * 8, pages * 8);
    let requests = [page(0, 9, 1), page(1, 1, 1), page(2, 2, 1), page(3, 3, 1), page(4, 0, 4)];
    let buffer = Run::new(buffered(plain_device(), 4, "page-lru", "single")).run(requests).buffer.unwrap();
    assert_eq!((buffer.evictions, buffer.evicted_pages, buffer.write_hits), (1, 1, 3));
}
