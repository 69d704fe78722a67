//! Tests that take minutes.

use flashloom::config::registry::Registry;

use crate::clients::logged;
use crate::service::{Service, number};

/// The measure that a drive is trusted by: random writes and trims over 10 GiB, all of it read back and checked.
#[test]
#[ignore = "takes minutes: make test-live"]
fn long_fio_verifies_ten_gibibytes_with_trims() {
    let server = Service::begin(&["--set", "device.preset=mlc-16g", "--set", "device.blocks=256"]);
    let job = "--name=verify --ioengine=nbd --rw=randtrimwrite --bs=16k --iodepth=1 --verify=crc32c --do_verify=1 \
        --verify_fatal=1 --size=10g --minimal";
    let uri = format!("--uri={}", server.uri());
    let arguments: Vec<&str> = job.split_whitespace().chain([&*uri]).collect();
    server.client("fio", &arguments);
    server.finish();
}

/// An hour on the clock of a slow drive, which a client keeps busy with reads, writes, flushes and trims.
#[test]
#[ignore = "takes minutes: make test-live"]
fn long_an_hour_of_mixed_use_replays_to_the_same_account_under_every_mapping() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let times = ["read_time=1ms", "program_time=10ms", "erase_time=50ms"].map(|time| format!("device.{time}"));
    let log_blocks = ["bast", "fast", "last", "sast", "kast", "mcsplit", "superblock-ftl"];
    let log_blocks = log_blocks.map(|mapping| format!("ftl.{mapping}.log_blocks=6"));
    for mapping in Registry::builtin().mappings.specs().map(|spec| spec.name) {
        let mut sets = vec![format!("ftl.mapping={mapping}"), "ftl.last.sequential_log_blocks=2".to_owned()];
        sets.extend(times.iter().chain(&log_blocks).cloned());
        let mut requests = 0;
        let served = logged(&sets, &["--control", "control"], |server| {
            let uri = format!("--uri={}", server.uri());
            let job = "--thread --name=mixed --ioengine=nbd --iodepth=16 --bssplit=4k/60:16k/30:64k/10 --size=40m \
                --norandommap --minimal";
            let turns = ["--rw=randrw --rwmixread=60 --fsync=32 --io_size=256m", "--rw=randtrim --io_size=8m"];
            for seed in 1.. {
                for turn in turns {
                    let seed = format!("--randseed={seed}");
                    let words = job.split_whitespace().chain(turn.split(' '));
                    server.client("fio", &words.chain([&*uri, &*seed]).collect::<Vec<_>>());
                }
                let status = server.status();
                requests = number(&status["commands"]);
                if number(&status["model_ns"]) >= HOUR_NS {
                    break;
                }
            }
        });
        let ftl = &served["ftl"];
        println!("{mapping}: {requests} requests, {} copies, write amplification {}", ftl["page_copies"], ftl["waf"]);
        assert!(number(&ftl["page_copies"]) > 1_000, "{mapping} had little to collect");
    }
}
