//! The drive of the project's speed target, timed and counting.
//!
//! 16 GiB, 75 % of it written, then uniform random 8 KiB writes at queue depth 16. Prints requests a second, peak
//! memory and a hash of the result, which must not change with the machine.
//! `cargo bench -p flashloom-device --bench drive`, with names behind `--` to choose (direct, buffer, counting, large)
//! and `requests=N` for the length of the timed ones. `cargo test` runs a hundredth of the work with every assertion,
//! so that the benchmark cannot rot. The drive is in its steady state after 2 million requests: the cost of a request
//! there is the difference of two longer runs, divided by the requests between them.
// The only place outside the experiment crate that reads the wall clock: it measures the simulator, not the drive.
#![allow(clippy::disallowed_methods, missing_docs)]

use std::time::Instant;

use flashloom_device::{Ageing, DeviceParams, Drive, DriveSetup, Engine, Outcome, Overwrite, Simulation};
use flashloom_host::{BlockLayer, HostParams, scheduler};
use flashloom_huge_pages::HugePages;
use flashloom_nand::NandParams;
use flashloom_units::{Ns, ParamSet, Prng, Problem, S};
use flashloom_workload::{Op, Pace, Replayed, Request, Source};

/// That of the program.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Uniform random writes of one page.
struct RandomWrites {
    prng: Prng,
    pages: u64,
    left: u64,
}

impl Source for RandomWrites {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let lba = self.prng.below(self.pages) * 16;
        Ok(Some(Request::new(Op::Write, lba, 16)))
    }
}

fn engine(setup: &DriveSetup) -> Engine {
    let host = HostParams { queue_depth: 16, ..HostParams::defaults() };
    let layer = BlockLayer::setup(&host, setup.device.capacity_sectors());
    let noop = scheduler::builtin().choose("noop", &[]).expect("noop exists");
    let layer = BlockLayer::new(&host, noop.build(&layer).expect("noop takes any device"));
    Engine::new(layer, Drive::new(setup).expect("the defaults go together"), 3_600 * S)
}

/// FNV-1a over the figures of a result.
fn hash(outcome: &Outcome) -> u64 {
    let (host, counts) = (&outcome.host, &outcome.counts);
    let erases = outcome.erase_counts.iter().map(|&erases| u64::from(erases));
    let figures = counts.programs.iter().chain(&counts.reads).copied().chain(erases);
    let latency = [host.duration_ns, host.latency().max(), host.latency().percentile(99.0)];
    figures.chain(latency).fold(0xcbf2_9ce4_8422_2325, |hash, figure| {
        figure.to_le_bytes().iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    })
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) >> 10
}

fn report(name: &str, unit: &str, work: u64, started: Instant, hash: u64) {
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{name:<22} {:>8.2} million {unit}/s  peak {:>4} MiB  hash {hash:016x}",
        work as f64 / seconds / 1e6,
        peak_mib()
    );
}

fn timed(requests: u64, buffer_bytes: u64) {
    let mut setup = DriveSetup::with_defaults(DeviceParams::defaults());
    setup.buffer_bytes = buffer_bytes;
    let pages = setup.device.geometry().total_pages() * 3 / 4;
    let mut engine = engine(&setup);
    engine.precondition(&Ageing { fill_pages: pages, fill_streams: true, overwrite: None }, &mut |_| {});
    engine.start_timing(&setup.device.nand);
    let mut simulation = Simulation::new(engine);
    let mut source = RandomWrites { prng: Prng::new(1), pages, left: requests };
    let started = Instant::now();
    simulation
        .run(&mut Replayed::new(&mut source, Pace::Closed(16)), Ns::MAX, &mut [])
        .expect("a generator does not fail");
    let outcome = simulation.outcome();
    simulation.check().expect("everything adds up");
    let name = if buffer_bytes == 0 { "timed, no buffer" } else { "timed, 16 MiB buffer" };
    report(name, "requests", requests, started, hash(&outcome));
}

fn counting(windows: u32) {
    let setup = DriveSetup::with_defaults(DeviceParams::defaults());
    let pages = setup.device.geometry().total_pages() * 3 / 4;
    let mut engine = engine(&setup);
    let overwrite = Overwrite { prng: Prng::new(1), window: 0.1, tolerance: 0.0, max_windows: windows, rest: false };
    let started = Instant::now();
    let aged =
        engine.precondition(&Ageing { fill_pages: pages, fill_streams: true, overwrite: Some(overwrite) }, &mut |_| {});
    report("counting", "page writes", aged.pages, started, aged.waf.unwrap_or(0.0).to_bits());
}

/// A 512 GiB drive of 16 KiB pages, aged to steady state.
fn large() {
    let device = DeviceParams {
        nand: NandParams {
            blocks: 2_048,
            pages: 512,
            page_bytes: 16 << 10,
            channels: 8,
            ways: 2,
            dies: 1,
            planes: 2,
            ..NandParams::defaults()
        },
        ..DeviceParams::defaults()
    };
    let setup = DriveSetup::with_defaults(device);
    let pages = setup.device.logical_pages();
    let mut engine = engine(&setup);
    let overwrite = Overwrite { prng: Prng::new(1), window: 0.25, tolerance: 0.02, max_windows: 40, rest: false };
    let started = Instant::now();
    let aged =
        engine.precondition(&Ageing { fill_pages: pages, fill_streams: true, overwrite: Some(overwrite) }, &mut |_| {});
    println!(
        "512 GiB aged to a write amplification of {:.2} in {:.1} s",
        aged.waf.unwrap_or(0.0),
        started.elapsed().as_secs_f64()
    );
    report("precondition 512 GiB", "page writes", aged.pages, started, aged.waf.unwrap_or(0.0).to_bits());
}

fn main() {
    // `cargo bench` says `--bench`, `cargo test` does not.
    let smoke = !std::env::args().any(|arg| arg == "--bench");
    if cfg!(debug_assertions) && !smoke {
        eprintln!("a debug build measures nothing: use cargo bench");
        std::process::exit(2);
    }
    let (mut names, mut requests) = (Vec::new(), if smoke { 100_000 } else { 10_000_000 });
    for arg in std::env::args().skip(1).filter(|arg| !arg.starts_with("--")) {
        match arg.strip_prefix("requests=").map(str::parse) {
            None => names.push(arg),
            Some(Ok(number)) => requests = number,
            Some(Err(error)) => {
                eprintln!("{arg}: {error}");
                std::process::exit(2);
            }
        }
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|chosen| name.contains(chosen.as_str()));
    if wanted("timed direct") {
        timed(requests, 0);
    }
    if wanted("timed buffer") {
        timed(requests, 16 << 20);
    }
    if wanted("counting") {
        counting(if smoke { 10 } else { 100 });
    }
    if wanted("large") && !smoke {
        large();
    }
}
