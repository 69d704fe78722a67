//! Converting to a format and back loses nothing that both formats hold.

use std::path::Path;

use flashloom_workload::{Op, OutFormat, Priority, Request, TraceOptions, convert_trace, open_trace};
use proptest::prelude::*;

use crate::support::{self, Folder};

impl Folder {
    fn convert(&self, from: &str, to: &str, format: OutFormat) {
        let report = convert_trace(&self.path(from), &TraceOptions::default(), &self.path(to), format, false);
        report.unwrap_or_else(|problem| panic!("{from} to {to}: {problem:?}"));
    }

    fn requests(&self, name: &str) -> Vec<Request> {
        requests(&self.path(name))
    }
}

fn requests(path: &str) -> Vec<Request> {
    support::requests(&mut open_trace(path, &TraceOptions::default()).unwrap_or_else(|problem| panic!("{problem}")))
}

/// Lines of Flashloom's own format with every column, in time order.
fn lines() -> impl Strategy<Value = String> {
    let line = (0u64..1 << 40, 0usize..4, 0u64..1 << 50, 1u32.., 0u8..8, any::<u32>(), 0u32..4, any::<u32>());
    prop::collection::vec(line, 1..50).prop_map(|rows| {
        let mut text = String::from("timestamp_ns,op,lba,sectors,task,sync,flush,fua,ioprio,device,latency_ns\n");
        let mut time = 0;
        for (step, op, lba, sectors, flags, task, device, latency) in rows {
            time += step;
            let extent = if op == 3 { (0, 0) } else { (lba, sectors) };
            let only_write = |bit: u8| u8::from(op == 1 && flags & bit != 0);
            text += &format!(
                "{time},{},{},{},{task},{},{},{},{},{device},{latency}\n",
                ["R", "W", "D", "F"][op],
                extent.0,
                extent.1,
                flags & 1,
                only_write(2),
                only_write(4),
                Priority::NAMES[task as usize % Priority::NAMES.len()]
            );
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn own_to_own_is_the_same_bytes_plain_and_compressed(text in lines()) {
        let folder = Folder::new();
        folder.write("a.csv", &text);
        let written = if cfg!(feature = "zst") { "b.csv.zst" } else { "b.csv" };
        folder.convert("a.csv", written, OutFormat::Flashloom);
        folder.convert(written, "c.csv.gz", OutFormat::Flashloom);
        folder.convert("c.csv.gz", "d.csv", OutFormat::Flashloom);
        prop_assert_eq!(folder.read("d.csv"), text);
    }

    #[test]
    fn ssdsim_to_own_and_back_is_the_same_bytes(
        rows in prop::collection::vec((0u64..1 << 40, 0u32..30, 0u64..1 << 50, 1u32.., 0u8..2), 1..50),
    ) {
        let mut time = 0;
        let text: String = rows
            .iter()
            .map(|(step, device, lba, sectors, read)| {
                time += step;
                format!("{time} {device} {lba} {sectors} {read}\n")
            })
            .collect();
        let folder = Folder::new();
        folder.write("a.trace", &text);
        folder.convert("a.trace", "b.csv", OutFormat::Flashloom);
        folder.convert("b.csv", "c.trace", OutFormat::Ssdsim);
        prop_assert_eq!(folder.read("c.trace"), text);
    }

    #[test]
    fn own_to_fio_and_back_keeps_all_but_nanoseconds_and_marks(text in lines()) {
        let folder = Folder::new();
        folder.write("a.csv", &text);
        let options = TraceOptions::default();
        convert_trace(&folder.path("a.csv"), &options, &folder.path("b.iolog"), OutFormat::Fio, true).unwrap();
        folder.convert("b.iolog", "c.csv", OutFormat::Flashloom);
        let first_ns: u64 = text.lines().nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        let cut = |ns: u64| (ns + first_ns) / 1_000 * 1_000 - first_ns / 1_000 * 1_000;
        let kept = |request: &Request| (cut(request.arrival_ns), request.op, request.lba, request.sectors);
        let before: Vec<_> = folder.requests("a.csv").iter().map(kept).collect();
        let after = folder.requests("c.csv");
        prop_assert!(after.iter().all(|request| request.task == 0 && request.flags == 0));
        let after: Vec<_> = after.iter().map(|r| (r.arrival_ns, r.op, r.lba, r.sectors)).collect();
        prop_assert_eq!(after, before);
        folder.convert("b.iolog", "d.iolog", OutFormat::Fio);
        folder.convert("d.iolog", "e.csv", OutFormat::Flashloom);
        prop_assert_eq!(folder.read("e.csv"), folder.read("c.csv"));
    }
}

#[test]
fn columns_that_are_declared_stay_and_others_come_only_where_needed() {
    let folder = Folder::new();
    folder.write("a.csv", "timestamp_ns,op,lba,sectors,flush,fua\n100,W,8,8,0,0\n");
    folder.convert("a.csv", "b.csv", OutFormat::Flashloom);
    assert_eq!(folder.read("b.csv"), folder.read("a.csv"));
    folder.write("a.msr", "128166391024154329,prxy,0,Write,4096,1024,1514\n128166391024154331,prxy,0,Read,0,512,9\n");
    folder.convert("a.msr", "b.csv", OutFormat::Flashloom);
    let converted = "timestamp_ns,op,lba,sectors,latency_ns\n0,W,8,2,151400\n200,R,0,1,900\n";
    assert_eq!(folder.read("b.csv"), converted);
    assert_eq!(folder.requests("b.csv"), folder.requests("a.msr"), "latencies too");
}

#[test]
fn latencies_beyond_32_bits_are_counted_when_they_are_written() {
    let folder = Folder::new();
    folder.write("a.csv", "timestamp_ns,op,lba,sectors,latency_ns\n0,W,8,2,4294967296\n200,R,0,1,4294967294\n");
    let options = TraceOptions::default();
    let convert = |to: &str, format| convert_trace(&folder.path("a.csv"), &options, &folder.path(to), format, false);
    assert_eq!(convert("b.csv", OutFormat::Flashloom).unwrap().capped_latencies, 1);
    assert!(folder.read("b.csv").contains("0,W,8,2,4294967295\n"), "{}", folder.read("b.csv"));
    assert_eq!(convert("b.ssdsim", OutFormat::Ssdsim).unwrap().capped_latencies, 0, "it holds none");
}

#[test]
fn real_recordings_survive_the_way_to_own_csv_and_to_ssdsim() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !recordings.is_dir() {
        eprintln!("skipped: there are no recordings at {}", recordings.display());
        return;
    }
    let folder = Folder::new();
    let names = [
        "ms-dtrs-100m.ssdsim.trace.zst",
        "websearch-60s.ssdsim.trace.zst",
        "cloudphysics-2h.vscsi.zst",
        "windows-pc-mayun2.diskmon.txt.zst",
        "ycsb-a-rocksdb-nvme.flashloom.csv.zst",
    ];
    for name in names {
        let path = recordings.join(name).to_str().expect("a name in UTF-8").to_owned();
        let options = TraceOptions::default();
        let convert = |to: &str, format| convert_trace(&path, &options, &folder.path(to), format, false);
        convert("own.csv", OutFormat::Flashloom).unwrap();
        let before = requests(&path);
        assert_eq!(folder.requests("own.csv"), before, "{name}");
        if before.iter().all(|request| matches!(request.op, Op::Read | Op::Write)) {
            folder.convert("own.csv", "back.trace", OutFormat::Ssdsim);
            let before: Vec<_> = before.iter().map(|request| request.with_recorded_latency(0)).collect();
            assert_eq!(folder.requests("back.trace"), before, "{name}");
        }
        if name.contains("ssdsim") {
            let original = zstd::decode_all(std::fs::File::open(&path).unwrap()).unwrap();
            let original = String::from_utf8(original).unwrap();
            assert_eq!(folder.read("back.trace"), original.trim_end().to_owned() + "\n", "{name}");
        }
    }
}
