//! Throughput of the readers of recordings (lines or records per second) and of the generators (requests per second).
//!
//! `cargo bench -p flashloom-workload`, with names behind `--` to choose; `FLASHLOOM_BENCH_LINES` sets the length of a
//! recording, for a profile. `cargo test` runs each benchmark once.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use flashloom_units::{ParamSet, Prng};
use flashloom_workload::{Pattern, Source, Synthetic, SyntheticParams, Trace, TraceOptions, open_trace, read_trace};

/// All formats, text and binary.
const FORMATS: [&str; 13] = [
    "flashloom",
    "msr",
    "spc",
    "blktrace",
    "blkparse",
    "fio",
    "ssdsim",
    "disksim",
    "vscsi",
    "diskmon",
    "systor",
    "alibaba",
    "tencent",
];

fn main() {
    if cfg!(debug_assertions) && std::env::args().any(|argument| argument == "--bench") {
        eprintln!("this is a debug build, whose speed means nothing");
        std::process::exit(2);
    }
    divan::main();
}

/// Number of lines or records of a recording, and of requests of a generator.
fn lines() -> u64 {
    let standard = if cfg!(debug_assertions) { 1_000 } else { 1_000_000 };
    std::env::var("FLASHLOOM_BENCH_LINES").map_or(standard, |lines| lines.parse().expect("a number of lines"))
}

/// A recording of random 4 KiB requests, one per line or record.
fn recording(format: &str) -> Vec<u8> {
    let mut prng = Prng::new(1);
    let mut requests = (0..lines()).map(|line| (line, prng.below(1 << 27) * 8, prng.chance(0.5)));
    match format {
        "blktrace" => requests.flat_map(|(line, lba, read)| blktrace(line, lba, read)).collect(),
        "vscsi" => requests.flat_map(|(line, lba, read)| vscsi(line, lba, read)).collect(),
        _ => {
            let mut text = String::from(match format {
                "flashloom" => "timestamp_ns,op,lba,sectors,flush,fua\n",
                "fio" => "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n",
                _ => "",
            });
            requests.try_for_each(|request| line(format, &mut text, request)).expect("a string can grow");
            text.into_bytes()
        }
    }
}

fn line(format: &str, text: &mut String, (line, lba, read): (u64, u64, bool)) -> std::fmt::Result {
    let (letter, word) = if read { ('R', "Read") } else { ('W', "Write") };
    let (offset, bit) = (lba * 512, u8::from(read));
    let (seconds, nanoseconds) = (line / 60_000, line % 60_000 * 15_000);
    match format {
        "flashloom" => writeln!(text, "{},{letter},{lba},8,0,0", line * 15_000),
        "msr" => {
            let (time, response) = (128_166_391_024_154_329 + line * 150, 1_000 + line % 700);
            writeln!(text, "{time},prxy,0,{word},{offset},4096,{response}")
        }
        "spc" => writeln!(text, "0,{lba},4096,{letter},{seconds}.{:06}", nanoseconds / 1_000),
        "ssdsim" => writeln!(text, "{} 0 {lba} 8 {bit}", line * 15_000),
        "disksim" => writeln!(text, "{}.{:03} 0 {lba} 8 {bit}", line / 6, line % 6 * 160),
        "fio" => writeln!(text, "{} /dev/sda {} {offset} 4096", line * 15, if read { "read" } else { "write" }),
        "diskmon" => writeln!(text, "{line}\t{seconds}.{nanoseconds:09}\t0.00038147\t0\t{word}\t{lba}\t8\r"),
        "systor" => writeln!(text, "{}.{nanoseconds:09},0.000806000,{letter},0,{offset},4096", 1_456_095_145 + seconds),
        "alibaba" => writeln!(text, "0,{letter},{offset},4096,{}", 1_577_808_000_000_626 + line * 15),
        "tencent" => writeln!(text, "{},{lba},8,{bit},1063", 1_538_323_200 + seconds),
        "blkparse" => writeln!(
            text,
            "  8,16   3 {line:>8} {seconds:>5}.{nanoseconds:09}  3645  Q  {} {lba} + 8 [java]",
            if read { "R" } else { "WS" },
        ),
        other => panic!("{other} has no generator"),
    }
}

/// A record of binary blktrace: queued, synchronous if it is a write.
fn blktrace(line: u64, lba: u64, read: bool) -> Vec<u8> {
    let action = if read { 1u32 << 16 } else { 1 << 17 | 1 << 19 } | 1;
    let words = [0x6561_7407, line as u32];
    let wide = [line * 15_000, lba];
    let mut record: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    record.extend(wide.into_iter().flat_map(u64::to_le_bytes));
    record.extend([4096, action, 3645, 0x0080_0010, 3, 0].into_iter().flat_map(u32::to_le_bytes));
    record
}

/// A record of vscsi, version 1.
fn vscsi(line: u64, lba: u64, read: bool) -> Vec<u8> {
    let command = if read { 0x28u32 } else { 0x2a };
    let mut record: Vec<u8> =
        [line as u32, 4096, 1, 1 << 24 | command].into_iter().flat_map(u32::to_le_bytes).collect();
    record.extend([lba, line * 15].into_iter().flat_map(u64::to_le_bytes));
    record
}

/// Reads to the end; a hash of what was read. A function of its own, so that a profile can be limited to it.
#[inline(never)]
fn exhaust(mut trace: Trace) -> u64 {
    let mut hash = 0u64;
    while let Some(request) = trace.next_request().expect("a good recording") {
        hash = hash.rotate_left(5) ^ request.lba ^ request.arrival_ns;
    }
    hash
}

fn read_all(bytes: &Arc<[u8]>) -> u64 {
    exhaust(read_trace("recording", Arc::clone(bytes), &TraceOptions::default()).expect("a good recording"))
}

#[divan::bench(args = FORMATS)]
fn plain(bencher: Bencher, format: &str) {
    let bytes: Arc<[u8]> = recording(format).into();
    let counted = bencher.counter(ItemsCount::new(lines())).counter(BytesCount::new(bytes.len()));
    counted.bench(|| read_all(divan::black_box(&bytes)));
}

#[divan::bench(args = FORMATS)]
fn zstd(bencher: Bencher, format: &str) {
    let bytes: Arc<[u8]> = zstd::encode_all(&recording(format)[..], 3).expect("memory can be compressed").into();
    bencher.counter(ItemsCount::new(lines())).bench(|| read_all(divan::black_box(&bytes)));
}

#[divan::bench(args = ["flashloom", "blkparse"])]
fn gzip(bencher: Bencher, format: &str) {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &recording(format)).expect("memory can be compressed");
    let bytes: Arc<[u8]> = encoder.finish().expect("memory can be compressed").into();
    bencher.counter(ItemsCount::new(lines())).bench(|| read_all(divan::black_box(&bytes)));
}

/// Files of several CPUs, merged by time.
#[divan::bench(args = [2, 8])]
fn blktrace_of_cpus(bencher: Bencher, cpus: usize) {
    let folder = tempfile::tempdir().expect("a folder for a recording");
    let path = |cpu: usize| folder.path().join(format!("recording.blktrace.{cpu}"));
    let records = recording("blktrace");
    for cpu in 0..cpus {
        // Four requests in a row are of the same CPU.
        let own = records.chunks(48).enumerate().filter(|(line, _)| line / 4 % cpus == cpu);
        let bytes: Vec<u8> = own.flat_map(|(_, record)| record.iter().copied()).collect();
        std::fs::write(path(cpu), bytes).expect("a file of a recording");
    }
    let name = |path: &Path| path.to_str().expect("a name in UTF-8").to_owned();
    let first = name(&path(0));
    bencher
        .counter(ItemsCount::new(lines()))
        .bench(|| exhaust(open_trace(&first, &TraceOptions::default()).expect("a good recording")));
}

#[divan::bench(args = ["sequential", "random", "zipf", "hot-cold"])]
fn requests(bencher: Bencher, pattern: &str) {
    let pattern = Pattern::named(pattern).expect("one of the patterns");
    let params = SyntheticParams { requests: lines(), pattern, ..SyntheticParams::defaults() };
    bencher.counter(ItemsCount::new(lines())).bench(|| {
        let mut source = Synthetic::new(&params, 1 << 35, &Prng::new(1)).expect("valid parameters");
        let mut hash = 0u64;
        while let Some(request) = source.next_request().expect("a generator does not fail") {
            hash = hash.rotate_left(5) ^ request.lba;
        }
        hash
    });
}
