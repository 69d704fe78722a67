//! Errors of a bad recording: the place, what was found, what was expected, and the help.

use std::sync::Arc;

use flashloom_units::{Problem, ProblemPlace};
use flashloom_workload::{
    Addresses, Event, Footprint, Format, OutFormat, Request, Source, Trace, TraceOptions, Unconverted, convert_trace,
    fit, read_trace, scan_trace,
};

use crate::support::{Folder, blktrace, requests, vscsi, vscsi_2};

fn open(bytes: impl AsRef<[u8]>, options: &TraceOptions) -> Trace {
    read_trace("t", bytes.as_ref().into(), options).unwrap_or_else(|problem| panic!("{problem}"))
}

/// The first request of a recording.
fn first(bytes: impl AsRef<[u8]>) -> Request {
    requests(&mut open(bytes, &TraceOptions::default()))[0]
}

fn read(bytes: impl AsRef<[u8]>, options: &TraceOptions) -> Result<u64, Problem> {
    let mut trace = read_trace("t", bytes.as_ref().into(), options)?;
    let mut requests = 0;
    while trace.next_request()?.is_some() {
        requests += 1;
    }
    Ok(requests)
}

fn problem(bytes: impl AsRef<[u8]>) -> Problem {
    read(bytes, &TraceOptions::default()).expect_err("the recording is bad")
}

/// Location, and what was found.
fn said(bytes: impl AsRef<[u8]>) -> [String; 2] {
    let problem = problem(bytes);
    [problem.location(), problem.refusal.found]
}

fn skipping() -> TraceOptions {
    TraceOptions { skip_bad_lines: true, ..TraceOptions::default() }
}

#[test]
fn a_bad_field_is_pointed_at_by_line_and_column() {
    for (line, location, found, expected) in [
        ("2 0 99999999999999999999 8 1", "t:3:5", "`99999999999999999999` is too large", "the first sector"),
        ("2 0 8 8", "t:3:8", "the line ends too early", "1 for a read or 0 for a write"),
        ("2 0 8 8 1 7", "t:3:11", "`7` is more than the line should hold", "the end of the line"),
    ] {
        let problem = problem(format!("0 0 8 8 1\n1 0 16 8 0\n{line}\n"));
        let said = [problem.location(), problem.refusal.found, problem.refusal.expected];
        assert_eq!(said, [location, found, expected], "{line}");
    }
}

#[test]
fn columns_count_characters_and_the_line_is_shown() {
    let problem = problem("0 0 8 8 1\n1 ä 8 8 1\n1 0 ü8 8 1\n");
    let ProblemPlace::Text { line, column, width, source } = problem.place else { panic!("a place in a text") };
    assert_eq!((line, column, width, source.as_str()), (2, 3, 1, "1 ä 8 8 1"));
}

#[test]
fn sorted_requests_count_from_the_first_in_time() {
    let options = TraceOptions { sort: true, ..TraceOptions::default() };
    let sorted = requests(&mut open("5 0 8 8 1\n9 0 16 8 0\n7 0 24 8 1\n", &options));
    let seen: Vec<_> = sorted.iter().map(|request| (request.arrival_ns, request.lba)).collect();
    assert_eq!(seen, [(0, 8), (2, 24), (4, 16)]);
}

#[test]
fn requests_of_the_same_time_keep_their_order_when_sorted() {
    let options = TraceOptions { format: Some(Format::Ssdsim), sort: true, ..TraceOptions::default() };
    let text: String = (0..100).map(|line| format!("{} 0 {line} 8 1\n", 9 - line % 10)).collect();
    let sorted = requests(&mut open(text, &options));
    assert!(sorted.windows(2).all(|w| (w[0].arrival_ns, w[0].lba) < (w[1].arrival_ns, w[1].lba)));
}

#[test]
fn skipped_lines_are_counted_and_the_first_are_kept() {
    let mut trace = open(format!("0 0 8 8 1\n{}1 0 8 8 1\n", "bad\n".repeat(20)), &skipping());
    let read_lines = requests(&mut trace).len();
    assert_eq!((read_lines, trace.skipped().count, trace.skipped().first.len()), (2, 20, 8));
    assert_eq!(trace.skipped().first[7].location(), "t:9:1");
    let options = TraceOptions { format: Some(Format::Ssdsim), ..skipping() };
    let problem = read("bad\nworse\n", &options).unwrap_err();
    assert_eq!(problem.refusal.found, "holds no request");
    assert!(problem.refusal.help.unwrap().starts_with("2 bad lines were skipped, the first at t:1:1"));
}

#[test]
fn an_empty_recording_is_an_error_whatever_its_emptiness() {
    assert_eq!(problem("fio version 3 iolog\n0 a add\n").refusal.found, "holds no request");
    assert_eq!(problem(zstd::encode_all(&b""[..], 1).unwrap()).refusal.found, "is empty");
    assert_eq!(problem("\n\n\n").refusal.found, "this is no trace format that is known");
}

#[test]
fn a_recording_of_another_format_than_named_fails_on_its_first_line_and_says_which_it_looks_like() {
    for format in [Format::Vscsi, Format::Blktrace] {
        let options = TraceOptions { format: Some(format), ..TraceOptions::default() };
        let problem = read("0 0 8 8 1\n1 0 8 8 1\n".repeat(20), &options).unwrap_err();
        let help = Some("the content looks like the format `ssdsim`");
        let said = (problem.location(), problem.refusal.help.as_deref());
        assert_eq!(said, ("t: record 1, byte 0".to_owned(), help), "{}", format.name());
    }
}

#[test]
fn content_of_no_known_format_lists_those_that_are() {
    let problem = problem("hello world\n");
    assert_eq!(problem.location(), "t:1:1");
    assert!(problem.refusal.expected.contains("flashloom, msr, spc, blktrace"));
}

#[test]
fn a_line_that_does_not_end_is_refused_and_not_shown_whole() {
    let text = format!("0 0 8 8 1\n1 0 {}\n", "8".repeat(1 << 20));
    let problem = problem(&text);
    assert_eq!((&*problem.location(), &*problem.refusal.found), ("t:2:1", "a line of more than 8192 bytes"));
    assert!(problem.to_string().len() < 1_000);
}

#[test]
fn an_address_beyond_the_device_names_line_and_column_of_the_request() {
    let text = "timestamp_ns,op,lba,sectors\n0,R,0,8\n1,W,  96,8\n";
    for sort in [false, true] {
        let options = TraceOptions { sort, ..TraceOptions::default() };
        let mut source = fit(open(text, &options), 100, Addresses::Error, 104);
        assert!(source.next_request().is_ok());
        let problem = source.next_request().unwrap_err();
        assert_eq!(problem.location(), "t:3:7");
        assert_eq!(problem.refusal.found, "sectors 96 to 103 do not fit on the device of 50KiB (100 sectors)");
    }
}

#[test]
fn a_binary_recording_that_breaks_off_or_is_bad_names_record_and_byte() {
    let good = [vscsi(0x2a, 4096, 8, 10), vscsi(0x28, 512, 9, 20)].concat();
    assert_eq!(read(&good, &TraceOptions::default()), Ok(2));
    for (bad, found) in [
        (good[..20].to_vec(), "the file ends after 20 bytes of a record"),
        (vscsi(0x12, 36, 0, 30), "SCSI command 0x12"),
        (vscsi(0x2a, 0, 0, 30), "the length is zero"),
        (vscsi(0x2a, 512, u64::MAX, 30), "the block is 18446744073709551615"),
        (vscsi(0x2a, 512, 0, u64::MAX), "the time is 18446744073709551615 us"),
        (vscsi(0x2a, 512, 0, 5), "the time goes back by 15000 ns"),
    ] {
        assert_eq!(said([&good[..], &bad].concat()), ["t: record 3, byte 64", found]);
    }
    assert_eq!(read([&good[..], &good[..20]].concat(), &skipping()), Ok(2));
}

#[test]
fn latencies_are_kept_up_to_what_32_bits_hold() {
    let request = first(vscsi_2(0x28, 8192, 64, 1_000, 250));
    assert_eq!((request.lba, request.sectors, request.recorded_latency_ns), (64, 16, 250_000));
    let latency = |text: &str| first(text).recorded_latency_ns;
    assert_eq!(latency("128166391024154329,prxy,0,Write,1105182720,1024,1514\n"), 151_400);
    assert_eq!(latency("128166391024154329,prxy,0,Write,1105182720,1024,99999999999\n"), u32::MAX);
    assert_eq!(latency("0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8\r\n"), 381_470);
    assert_eq!(latency("1456095145.133076000,0.000806000,R,0,899056122368,131072\n"), 806_000);
}

#[test]
fn a_systor_request_without_a_type_is_an_error_that_can_be_skipped() {
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n1.0,0.1,R,0,0,512\n2.0,,,0,0,512\n3.0,,W,0,0,512\n";
    assert_eq!(said(text), ["t:3:6", "the field is empty"]);
    assert_eq!(read(text, &skipping()), Ok(2));
}

#[test]
fn blktrace_files_are_found_by_prefix_and_a_cpu_that_is_there_twice_is_refused() {
    let folder = Folder::new();
    let record = |time: u64| blktrace(time, 8, 4096, 1, 0, &[]);
    folder.write("a.blktrace.0", b"");
    folder.write("a.blktrace.1", record(5));
    folder.write("a.blktrace.10.zst", zstd::encode_all(&record(3)[..], 1).unwrap());
    let scan = |file: &str| scan_trace(&folder.path(file), &TraceOptions::default(), Footprint::Count);
    for path in ["a", "a.blktrace", "a.blktrace.0", "a.blktrace.10.zst"] {
        let info = scan(path).unwrap_or_else(|problem| panic!("{path}: {problem}"));
        assert_eq!((info.requests, info.duration_ns, info.event), (2, 2, Some("queue")));
    }
    folder.write("a.blktrace.1.zst", b"");
    assert!(scan("a.blktrace").unwrap_err().refusal.found.starts_with("CPU 1 is there twice"));
}

#[test]
fn an_output_that_cannot_hold_the_requests_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    let text = "timestamp_ns,op,lba,sectors,task,sync\n0,R,0,8,0,0\n5,D,8,8,0,0\n6,F,0,0,0,1\n1500,W,8,8,7,1\n";
    let input = folder.write("in.csv", text);
    let options = TraceOptions::default();
    let convert = |to, drop| convert_trace(&input, &options, &folder.path("out"), to, drop);
    let files = || std::fs::read_dir(folder.path("")).unwrap().count();
    let Err(Unconverted::Refused(problem)) = convert(OutFormat::Ssdsim, false) else { panic!("it is written") };
    assert_eq!(problem.refusal.found, "holds 1 discards, 1 flushes, task ids, sync marks");
    assert!(problem.refusal.help.unwrap().contains("--drop-unsupported"));
    assert_eq!(files(), 1, "nothing beside the input");
    let report = convert(OutFormat::Ssdsim, true).unwrap();
    assert_eq!((report.requests, report.dropped_requests, report.stripped_requests), (2, 2, 1));
    assert_eq!(folder.read("out"), "0 0 0 8 1\n1500 0 8 8 0\n");
    let report = convert(OutFormat::Fio, true).unwrap();
    assert_eq!((report.requests, report.stripped_requests, report.rounded_times), (4, 2, 3));
    folder.write("in.csv", format!("{text}9999,W,x,8,7,1\n"));
    assert!(convert(OutFormat::Flashloom, false).is_err());
    assert!(folder.read("out").starts_with("fio"), "a failure leaves the old output alone");
    assert_eq!(files(), 2, "no temporary file is left");
}

#[test]
fn events_that_are_not_there_are_missed_with_either_choice() {
    let text = "8,0 1 1 0.5 7 Q WS 8 + 16 [a]\n8,0 1 2 0.6 7 Q R 8 + 16 [a]\n";
    assert_eq!(read(text, &TraceOptions::default()), Ok(2));
    for (event, completions) in [(Event::Issue, false), (Event::Queue, true)] {
        let options = TraceOptions { event, completions, ..TraceOptions::default() };
        let found = read(text, &options).unwrap_err().refusal.found;
        assert_eq!(found, "holds queued requests (Q), and none that was issued (D)");
    }
}

#[test]
fn memory_is_shared_not_copied_when_a_recording_is_read_again() {
    let bytes: Arc<[u8]> = b"0 0 8 8 1\n"[..].into();
    let trace = read_trace("t", Arc::clone(&bytes), &TraceOptions::default()).unwrap();
    assert!(Arc::strong_count(&bytes) > 1);
    drop(trace);
    assert_eq!(Arc::strong_count(&bytes), 1);
}
