//! Throughput of the text readers (lines per second) and of the generators (requests per second).
//!
//! `cargo bench -p flashloom-workload`; items are lines or requests. `cargo test` runs each benchmark once.

use std::fmt::Write;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use flashloom_units::{ParamSet, Prng};
use flashloom_workload::{Pattern, Source, Synthetic, SyntheticParams, TraceOptions, read_trace};

const LINES: u64 = if cfg!(debug_assertions) { 1_000 } else { 1_000_000 };

fn main() {
    if cfg!(debug_assertions) && std::env::args().any(|argument| argument == "--bench") {
        eprintln!("this is a debug build, whose speed means nothing");
        std::process::exit(2);
    }
    divan::main();
}

/// A recording of random 4 KiB requests, one per line.
fn text(format: &str) -> Arc<[u8]> {
    let mut prng = Prng::new(1);
    let mut text = String::from(if format == "flashloom" { "timestamp_ns,op,lba,sectors,flush,fua\n" } else { "" });
    for line in 0..LINES {
        let (lba, read) = (prng.below(1 << 27) * 8, prng.chance(0.5));
        let written = match format {
            "flashloom" => writeln!(text, "{},{},{lba},8,0,0", line * 15_000, if read { 'R' } else { 'W' }),
            "msr" => {
                let (time, kind) = (128_166_391_024_154_329 + line * 150, if read { "Read" } else { "Write" });
                writeln!(text, "{time},prxy,0,{kind},{},4096,{}", lba * 512, 1_000 + line % 700)
            }
            "ssdsim" => writeln!(text, "{} 0 {lba} 8 {}", line * 15_000, u8::from(read)),
            "disksim" => writeln!(text, "{}.{:03} 0 {lba} 8 {}", line / 60, line % 60 * 16, u8::from(read)),
            "blkparse" => writeln!(
                text,
                "  8,16   3 {line:>8} {:>5}.{:09}  3645  Q  {} {lba} + 8 [java]",
                line / 60_000,
                line % 60_000 * 15_000,
                if read { "R" } else { "WS" },
            ),
            other => panic!("{other} has no generator"),
        };
        written.expect("a string can grow");
    }
    text.into_bytes().into()
}

fn read_all(name: &str, bytes: &Arc<[u8]>) -> u64 {
    let options = TraceOptions::default();
    let mut trace = read_trace(name, Arc::clone(bytes), &options).expect("a good recording");
    let mut hash = 0u64;
    while let Some(request) = trace.next_request().expect("a good recording") {
        hash = hash.rotate_left(5) ^ request.lba ^ request.arrival_ns;
    }
    hash
}

#[divan::bench(args = ["flashloom", "msr", "ssdsim", "disksim", "blkparse"])]
fn lines(bencher: Bencher, format: &str) {
    let bytes = text(format);
    bencher
        .counter(ItemsCount::new(LINES))
        .counter(BytesCount::new(bytes.len()))
        .bench(|| read_all(format, divan::black_box(&bytes)));
}

#[divan::bench]
fn lines_of_zstd(bencher: Bencher) {
    let bytes: Arc<[u8]> = zstd::encode_all(&text("flashloom")[..], 3).expect("memory can be compressed").into();
    bencher.counter(ItemsCount::new(LINES)).bench(|| read_all("flashloom.zst", divan::black_box(&bytes)));
}

#[divan::bench(args = ["sequential", "random", "zipf", "hot-cold"])]
fn requests(bencher: Bencher, pattern: &str) {
    let pattern = Pattern::named(pattern).expect("one of the patterns");
    let params = SyntheticParams { requests: LINES, pattern, ..SyntheticParams::defaults() };
    bencher.counter(ItemsCount::new(LINES)).bench(|| {
        let mut source = Synthetic::new(&params, 1 << 35, &Prng::new(1)).expect("valid parameters");
        let mut hash = 0u64;
        while let Some(request) = source.next_request().expect("a generator does not fail") {
            hash = hash.rotate_left(5) ^ request.lba;
        }
        hash
    });
}
