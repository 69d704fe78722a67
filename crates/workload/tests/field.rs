//! Recordings as they come from the field: every format with two devices, a header, lines that end in CR LF, blank
//! lines, and columns in another unit; several devices under a volume; requests that are issued again; archives.

use flashloom_workload::{Event, Footprint, Format, Pairs, TraceInfo, TraceOptions, read_trace, scan_trace};

use crate::support::{Folder, blktrace, gzip, requests, vscsi_2};

/// The summary of a recording, or place and content of its problem.
fn scan(bytes: impl AsRef<[u8]>, options: &TraceOptions) -> Result<TraceInfo, [String; 2]> {
    let folder = Folder::new();
    let path = folder.write("t", bytes);
    let info = scan_trace(&path, options, Footprint::Count);
    info.map_err(|problem| [problem.location().replace(&path, ""), problem.refusal.found])
}

/// Options that count issued requests.
fn issued() -> TraceOptions {
    TraceOptions { event: Event::Issue, ..TraceOptions::default() }
}

fn of_device(name: &str) -> TraceOptions {
    TraceOptions { device: Some(name.to_owned()), ..TraceOptions::default() }
}

/// Devices with their requests, or place and content of the problem.
type Seen = Result<Vec<(String, u64)>, [String; 2]>;

fn seen(bytes: impl AsRef<[u8]>) -> Seen {
    let info = scan(bytes, &TraceOptions::default())?;
    Ok(info.devices.into_iter().map(|device| (device.name, device.requests)).collect())
}

fn read(devices: &[(&str, u64)]) -> Seen {
    Ok(devices.iter().map(|(name, requests)| ((*name).to_owned(), *requests)).collect())
}

/// A format in the field.
struct Row {
    /// The format, and the names of two devices.
    of: (Format, [&'static str; 2]),
    /// A line of each.
    lines: [&'static str; 2],
    /// A header, and whether it is read as one; it is refused at its first column otherwise.
    header: (&'static str, bool),
    /// A line in another unit, and where it is refused, with what.
    wrong_unit: (&'static str, &'static str, &'static str),
}

/// Every format of text. The own CSV and an iolog begin with a line of their own.
const ROWS: [Row; 11] = [
    Row {
        of: (Format::Flashloom, ["3", "5"]),
        lines: ["0,R,0,8,3", "5,W,8,8,5"],
        header: ("timestamp_ns,op,lba,sectors,device", true),
        wrong_unit: ("0.000035,R,0,8,3", ":3:1", "`0.000035` is not a number"),
    },
    Row {
        of: (Format::Msr, ["prxy_0", "web_0"]),
        lines: ["128166391024154329,prxy,0,Write,1105182720,1024,1514", "128166391024154330,web,0,Read,4096,512,9"],
        header: ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime", true),
        wrong_unit: ("1281663910.24,prxy,0,Write,4096,1024,15", ":2:1", "`1281663910.24` is not a number"),
    },
    Row {
        of: (Format::Spc, ["0", "1"]),
        lines: ["0,20941264,8192,W,0.551706", "1,20941264,8192,r,0.551707"],
        header: ("ASU,LBA,Size,Opcode,Timestamp", true),
        wrong_unit: ("0,0.5,8192,W,0.5", ":2:3", "`0.5` is not a number"),
    },
    Row {
        of: (Format::Blkparse, ["8,16", "8,32"]),
        lines: [
            "  8,16 3 5 0.000026421 3645 Q R 4938888 + 256 [java]",
            "  8,32 3 6 0.000026421 3645 Q R 4938888 + 8 [j]",
        ],
        header: ("dev cpu seq time pid action rwbs sector", false),
        wrong_unit: ("8,16 3 7 0.1 3645 Q R 4096KiB + 8 [j]", ":2:23", "`4096KiB` is not a number"),
    },
    Row {
        of: (Format::Fio, ["/dev/sda", "/dev/sdb"]),
        lines: ["0 /dev/sda add\n812 /dev/sda write 1048576 4096", "812 /dev/sdb add\n813 /dev/sdb read 1048576 4096"],
        header: ("fio version 3 iolog", true),
        wrong_unit: ("0.812 /dev/sda write 1048576 4096", ":4:1", "`0.812` is not a number"),
    },
    Row {
        of: (Format::Ssdsim, ["0", "4"]),
        lines: ["97900000 0 287641400 128 1", "97900001 4 287641401 128 0"],
        header: ("time device lba size read", false),
        wrong_unit: ("97900000 0 1048576 4096 1", ":1:12", "ambiguous: five columns as those of `ssdsim`"),
    },
    Row {
        of: (Format::Disksim, ["0", "1"]),
        lines: ["5265.313 0 6357144 8 0", "5265.314 1 6357144 8 1"],
        header: ("time device block blocks flags", false),
        wrong_unit: ("0.125000 0 1048576 4096 1", ":1:12", "ambiguous: five columns as those of `disksim`"),
    },
    Row {
        of: (Format::Diskmon, ["0", "1"]),
        lines: ["0\t0.016375\t0.00038147\t0\tWrite\t3271215\t8", "1\t0.016376\t0.00038147\t1\tRead\t3271215\t8"],
        header: ("#\tTime\tDuration\tDisk\tRequest\tSector\tLength", false),
        wrong_unit: ("2\t0,017\t0.0003\t0\tWrite\t3271215\t8", ":2:3", "`0,017` is not a number"),
    },
    Row {
        of: (Format::Systor, ["0", "3"]),
        lines: [
            "1456095145.133076000,0.000806000,R,0,899056122368,131072",
            "1456095145.133077000,0.000806000,W,3,899056122368,131072",
        ],
        header: ("Timestamp,Response,IOType,LUN,Offset,Size", true),
        wrong_unit: ("1456095145.2,0.0008,R,0,8589934592,128K", ":2:36", "`128K` is not a number"),
    },
    Row {
        of: (Format::Alibaba, ["0", "747"]),
        lines: ["0,R,126703644672,4096,1577808000000626", "747,W,126703644672,4096,1577808000000627"],
        header: ("device_id,opcode,offset,length,timestamp", true),
        wrong_unit: ("0,R,126703644672,4096,1577808000.000626", ":2:23", "`1577808000.000626` is not a number"),
    },
    Row {
        of: (Format::Tencent, ["1063", "1064"]),
        lines: ["1538323200,12910952,128,0,1063", "1538323200,12910952,128,1,1064"],
        header: ("Timestamp,Offset,Size,IOType,VolumeID", true),
        wrong_unit: ("1538323200.5,12910952,128,0,1063", ":2:1", "`1538323200.5` is not a number"),
    },
];

#[test]
fn every_format_of_text_is_read_as_the_field_writes_it_and_never_lays_devices_over_one_another() {
    for row in &ROWS {
        let (format, names) = row.of;
        let name = format.name();
        let [first, second] = row.lines;
        let (header, is_read) = row.header;
        let own = [Format::Flashloom, Format::Fio].contains(&format);
        let head = if own { format!("{header}\n") } else { String::new() };
        let expected = read(&[(names[0], 1), (names[1], 1)]);
        let two = format!("{head}{first}\n{second}\n");
        assert_eq!(seen(&two), expected, "{name}: two devices");
        for (device, other) in [(0, 1), (1, 0)] {
            let info = scan(&two, &of_device(names[device])).unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
            assert_eq!(info.requests, 1, "{name}: {} without {}", names[device], names[other]);
        }
        assert_eq!(seen(two.replace('\n', "\r\n")), expected, "{name}: CR LF");
        assert_eq!(seen(two.replace('\n', "\n\n\r\n  \t\n")), expected, "{name}: blank lines");
        if is_read {
            assert_eq!(seen(format!("{header}\n{first}\n{second}")), expected, "{name}: header");
        } else {
            let Err([place, _]) = seen(format!("{header}\n{first}\n{second}\n")) else {
                panic!("{name}: `{header}` is a header");
            };
            assert!(place.starts_with(":1:"), "{name}: {place}");
        }
        let (line, place, found) = row.wrong_unit;
        let alone = found.starts_with("ambiguous");
        let text = if alone { format!("{line}\n") } else { format!("{head}{first}\n{line}\n") };
        let Err([where_, what]) = seen(&text) else { panic!("{name}: `{line}` is read") };
        assert_eq!(where_, place, "{name}: {what}");
        assert!(what.starts_with(found), "{name}: {what}");
    }
}

const SDA: u32 = 8 << 20;
const DM: u32 = 253 << 20;
const WRITE: u32 = 1 << 17;
const QUEUED: u32 = WRITE | 1;
const REMAPPED: u32 = WRITE | 15;

fn vscsi(time_us: u64, bytes: u32) -> Vec<u8> {
    vscsi_2(0x2a, bytes, 4_096, time_us, 300)
}

#[test]
fn binary_formats_are_read_as_the_field_writes_them_or_refused_with_the_record() {
    let two = [blktrace(10, 8, 4096, QUEUED, SDA, &[]), blktrace(11, 8, 512, QUEUED, SDA + 16, &[])].concat();
    let disk = [vscsi(10, 4_096), vscsi(11, 512)].concat();
    let in_sectors = [blktrace(5, 8, 8, QUEUED, SDA, &[]), vscsi(5, 8)];
    // vscsi has no column for a device: a file is one.
    let rows = [("blktrace", two, read(&[("8,0", 1), ("8,16", 1)])), ("vscsi", disk, read(&[("0", 2)]))];
    for ((name, bytes, devices), in_sectors) in rows.into_iter().zip(in_sectors) {
        assert_eq!(seen(&bytes), devices, "{name}: two devices");
        // What a transfer in text mode makes of the byte 10.
        let crlf = bytes.iter().flat_map(|&byte| if byte == b'\n' { vec![b'\r', byte] } else { vec![byte] }).collect();
        for (what, spoilt, found) in [
            ("header", [b"time,lba\n", &bytes[..]].concat(), "no trace format"),
            ("CR LF", crlf, ""),
            ("blank lines", [b"\n\n", &bytes[..]].concat(), "no trace format"),
            ("wrong unit", in_sectors, "the length is 8"),
            ("cut", bytes[..bytes.len() - 7].to_vec(), "the file ends after"),
        ] {
            let Err([place, why]) = seen(&spoilt) else { panic!("{name} with {what} is read") };
            assert!(why.contains(found) && !place.is_empty(), "{name}, {what}: {place}: {why}");
        }
    }
}

/// A volume on a partition of a disk, as blkparse prints it. Two writes; the disk has a read of its own.
const VOLUME: &str = "\
253,0 1 1 0.000000000 811 Q W 1000 + 8 [postgres]
  8,0 1 1 0.000001000 811 A W 3048 + 8 <- (253,0) 1000
  8,0 1 2 0.000001100 811 A W 5096 + 8 <- (8,3) 3048
  8,0 1 3 0.000001500 811 Q W 5096 + 8 [postgres]
  8,0 0 1 0.000001600 900 Q R 5096 + 8 [smartd]
  8,0 1 4 0.000002500 811 D W 5096 + 8 [postgres]
  8,0 1 5 0.000104500 0 C W 5096 + 8 [0]
253,0 1 2 0.000105500 0 C W 1000 + 8 [0]
253,0 1 3 0.000200000 811 Q W 1008 + 8 [postgres]
  8,0 1 6 0.000200100 811 A W 3056 + 8 <- (253,0) 1008
  8,0 1 7 0.000200200 811 A W 5104 + 8 <- (8,3) 3056
  8,0 1 8 0.000200300 811 Q W 5104 + 8 [postgres]
  8,0 1 9 0.000200400 811 D W 5104 + 8 [postgres]
  8,0 1 10 0.000300000 0 C W 5104 + 8 [0]
";

/// Asserts the requests of each device of a recording, and the number of those that devices above it handed down.
fn expect_levels(bytes: impl AsRef<[u8]>, options: &TraceOptions, expected: &[(&str, u64, u64)]) {
    let info = scan(bytes, options).unwrap_or_else(|problem| panic!("{problem:?}"));
    let levels: Vec<_> = info.devices.iter().map(|one| (&*one.name, one.requests, one.handed_down)).collect();
    assert_eq!((info.requests, &*levels), (expected.iter().map(|one| one.1).sum(), expected));
}

#[test]
fn requests_that_a_volume_hands_down_count_once_at_the_level_that_is_chosen() {
    let all = TraceOptions::default();
    expect_levels(VOLUME, &all, &[("253,0", 2, 0), ("8,0", 1, 2)]);
    assert_eq!(scan(VOLUME, &of_device("8,0")).unwrap().requests, 3);
    // A volume of bios issues nothing: the disk's requests are not those of another.
    expect_levels(VOLUME, &issued(), &[("8,0", 2, 0)]);
    let pairs = scan(VOLUME, &issued()).unwrap().pairs;
    assert_eq!(pairs, Some(Pairs { paired: 2, ..Pairs::default() }));
    // Without the volume's own events, the disk's are all there is.
    let disk: String = VOLUME.split_inclusive('\n').filter(|line| line.starts_with("  8,0")).collect();
    assert_eq!(scan(disk, &all).unwrap().requests, 3);
}

#[test]
fn a_mirror_whose_writes_a_thread_submits_counts_once() {
    let text = "\
9,0 1 1 0.000000000 811 Q W 1000 + 8 [x]
8,0 1 2 0.000001000 811 A W 3048 + 8 <- (9,0) 1000
8,16 1 3 0.000001100 811 A W 3048 + 8 <- (9,0) 1000
8,0 0 1 0.000002000 70 Q W 3048 + 8 [md0_raid1]
8,16 0 2 0.000002100 70 Q W 3048 + 8 [md0_raid1]
";
    expect_levels(text, &TraceOptions::default(), &[("9,0", 1, 0), ("8,0", 0, 1), ("8,16", 0, 1)]);
    // Two seconds later it is a request of the disk's own.
    let later = text.replace("0.000002", "2.000002");
    expect_levels(later, &TraceOptions::default(), &[("9,0", 1, 0), ("8,0", 1, 0), ("8,16", 1, 0)]);
}

#[test]
fn flushes_are_handed_down_and_a_recording_may_begin_in_mid_load() {
    let flush = "\
253,0 1 1 0.000000000 811 Q FWS [jbd2]
8,0 1 2 0.000001000 811 A FWS 2048 + 0 <- (253,0) 0
8,0 1 3 0.000001100 811 Q FWS [jbd2]
";
    expect_levels(flush, &TraceOptions::default(), &[("253,0", 1, 0), ("8,0", 0, 1)]);
    let cut = "\
8,0 2 1 0.000000000 811 A W 4096 + 8 <- (253,0) 2048
8,0 2 2 0.000000100 811 Q W 4096 + 8 [x]
253,0 1 1 0.000001000 811 Q W 3000 + 8 [x]
8,0 1 2 0.000001100 811 A W 5048 + 8 <- (253,0) 3000
8,0 1 3 0.000001200 811 Q W 5048 + 8 [x]
";
    expect_levels(cut, &TraceOptions::default(), &[("8,0", 0, 2), ("253,0", 1, 0)]);
}

#[test]
fn volumes_are_told_in_the_order_of_time_and_however_many_there_are() {
    // A text that is not in order: the disk's request stands before the remap, and is later.
    let text = "\
8,0 1 3 0.000001100 811 Q W 5048 + 8 [x]
253,0 1 1 0.000000000 811 Q W 3000 + 8 [x]
8,0 1 2 0.000001000 811 A W 5048 + 8 <- (253,0) 3000
";
    let refused = scan(text, &TraceOptions::default()).unwrap_err();
    assert_eq!(refused, [":2:11", "the time goes back by 1100 ns"]);
    let sorted = TraceOptions { sort: true, ..TraceOptions::default() };
    expect_levels(text, &sorted, &[("8,0", 0, 1), ("253,0", 1, 0)]);
    let one = |volume: u64| {
        let [queued, remapped, below] = [0, 1, 2].map(|step| format!("1 1 0.{:09} 7", volume * 10 + step));
        let sector = volume * 8;
        format!(
            "253,{volume} {queued} Q W 0 + 8 [x]\n8,0 {remapped} A W {sector} + 8 <- (253,{volume}) 0\n\
             8,0 {below} Q W {sector} + 8 [x]\n"
        )
    };
    let info = scan((0..300).map(one).collect::<String>(), &TraceOptions::default()).unwrap();
    assert_eq!((info.requests, info.devices[1].requests, info.devices[1].handed_down), (300, 0, 300));
}

#[test]
fn issued_requests_that_are_not_in_order_are_refused_at_their_time() {
    let text = "8,0 1 1 5.000000000 7 D W 8 + 8 [x]\n8,0 1 2 1.000000000 7 D W 8 + 8 [x]\n";
    for completions in [false, true] {
        let refused = scan(text, &TraceOptions { completions, ..issued() }).unwrap_err();
        assert_eq!(refused, [":2:9", "the time goes back by 4000000000 ns"]);
    }
}

/// What nothing takes is bounded, in memory and in time: remaps of md's stripes, which have no request of their own
/// below, and places whose completions never come.
#[test]
fn a_hundred_thousand_remaps_and_lost_completions_at_one_instant_are_read_in_a_moment() {
    let number = 100_000;
    let remaps: String =
        (0..number).map(|at| format!("8,0 1 1 0.000000001 7 A W {0} + 8 <- (9,0) {0}\n", at * 8)).collect();
    let text = format!("9,0 1 1 0.000000000 7 Q W 0 + 8 [x]\n{remaps}");
    assert_eq!(scan(text.as_bytes(), &TraceOptions::default()).unwrap().requests, 1);
    let events = |event: &str, what: &str| -> String {
        (0..number).map(|at| format!("8,0 1 1 0.000000001 7 {event} {what} {} + 8 [x]\n", at * 8)).collect()
    };
    let pairs = |events: &[String]| scan(events.concat(), &issued()).unwrap().pairs.unwrap();
    assert_eq!(pairs(&[events("D", "W"), events("D", "W")]).reissued, number);
    assert_eq!(pairs(&[events("D", "R"), events("D", "R"), events("C", "R")]).void, 2 * number);
}

#[test]
fn what_is_issued_again_is_one_request_in_a_replay_and_in_pairs_alike() {
    // Microseconds, event, operation and extent of each line.
    let of = |events: &[(u64, &str, &str, &str)]| {
        let line = |(at, event, what, extent): &(u64, &str, &str, &str)| {
            format!("8,0 1 1 {}.{:06} 7 {event} {what} {extent} [0]\n", at / 1_000_000, at % 1_000_000)
        };
        let info = scan(events.iter().map(line).collect::<String>(), &issued()).unwrap();
        let pairs = info.pairs.unwrap();
        (info.requests, info.read_bytes + info.write_bytes, [pairs.paired, pairs.void, pairs.reissued, pairs.strays])
    };
    // Not recorded, so that the second issue is the first one again.
    let again = [(0, "D", "W", "0 + 8"), (9, "D", "W", "0 + 8"), (12, "C", "W", "0 + 8")];
    assert_eq!(of(&again), (1, 4_096, [1, 0, 1, 0]));
    // The rest of a request, a part of which has completed.
    let rest = [
        (0, "D", "W", "0 + 16"),
        (1, "C", "W", "0 + 8"),
        (2, "R", "W", "8 + 8"),
        (3, "D", "W", "8 + 8"),
        (4, "C", "W", "8 + 8"),
    ];
    assert_eq!(of(&rest), (1, 8_192, [1, 0, 0, 0]));
    // Two completions: there were two writes, and one pair is void.
    let two = [(0, "D", "W", "0 + 8"), (1, "D", "W", "0 + 8"), (2, "C", "W", "0 + 8"), (3, "C", "W", "0 + 8")];
    assert_eq!(of(&two).2, [1, 1, 1, 0]);
    // A read whose requeue was not recorded makes a hot place void for half a minute, and no longer.
    let mut hot = vec![(0, "D", "R", "0 + 8"), (1, "D", "R", "0 + 8"), (2, "C", "R", "0 + 8")];
    for at in (1..100).map(|second| second * 1_000_000) {
        hot.extend([(at, "D", "R", "0 + 8"), (at + 9, "C", "R", "0 + 8")]);
    }
    let (_, _, [paired, void, ..]) = of(&hot);
    assert_eq!((void, paired), (32, 69));
}

#[test]
fn an_encrypted_volume_on_a_volume_counts_once() {
    let text = "\
253,1 1 1 0.000000000 811 Q W 8 + 8 [x]
253,0 1 2 0.000001000 811 A W 2056 + 8 <- (253,1) 8
253,0 1 3 0.000001100 811 Q W 2056 + 8 [x]
259,0 1 4 0.000001200 811 A W 4104 + 8 <- (253,0) 2056
259,0 1 5 0.000001300 811 A W 6152 + 8 <- (259,2) 4104
259,0 1 6 0.000001400 811 Q W 6152 + 8 [x]
";
    expect_levels(text, &TraceOptions::default(), &[("253,1", 1, 0), ("253,0", 0, 1), ("259,0", 0, 1)]);
    assert_eq!(scan(text, &of_device("253,0")).unwrap().requests, 1);
}

#[test]
fn a_mirror_in_binary_counts_its_writes_once() {
    let remap = |below: u32| [DM.to_be_bytes(), below.to_be_bytes()].concat().into_iter().chain(1_000u64.to_be_bytes());
    let mut bytes = blktrace(1, 1_000, 4_096, QUEUED, DM, &[]);
    for (time_ns, disk) in [(2, SDA), (4, SDA + 16)] {
        bytes.extend(blktrace(time_ns, 3_048, 4_096, REMAPPED, disk, &remap(disk).collect::<Vec<_>>()));
        bytes.extend(blktrace(time_ns + 1, 3_048, 4_096, QUEUED, disk, &[]));
    }
    expect_levels(bytes, &TraceOptions::default(), &[("253,0", 1, 0), ("8,0", 0, 1), ("8,16", 0, 1)]);
}

#[test]
fn columns_of_other_programs_are_read_in_the_units_that_are_said() {
    use flashloom_workload::{SizeUnit, TimeUnit};
    let text = b"0.000000 0 1048576 4096 1\n0.125000 0 2097152 8192 0\n0.250000 0 1052672 4096 1\n";
    let bytes = TraceOptions { size_unit: Some(SizeUnit::Bytes), ..TraceOptions::default() };
    let units = |size_unit, time_unit| TraceOptions { size_unit, time_unit, ..TraceOptions::default() };
    let of = |options: &TraceOptions| {
        let info = scan(text, options).unwrap();
        (info.read_bytes, info.write_bytes, info.span_bytes, info.duration_ns)
    };
    assert_eq!(of(&bytes), (8_192, 8_192, 2_105_344, 250_000));
    assert_eq!(of(&units(Some(SizeUnit::Bytes), Some(TimeUnit::Seconds))), (8_192, 8_192, 2_105_344, 250_000_000));
    let as_it_is = TraceOptions { format: Some(Format::Disksim), ..TraceOptions::default() };
    assert_eq!(of(&as_it_is), (4 << 20, 4 << 20, 2_105_344 * 512, 250_000));
    // Seconds: more requests in what would be a millisecond than any drive of DiskSim's has.
    let seconds: String = (0..90).map(|line| format!("{}.{:03} 0 {line} 8 1\n", line / 20, line % 20 * 50)).collect();
    let [_, found] = scan(seconds.replace(' ', "  "), &TraceOptions::default()).unwrap_err();
    assert!(found.contains("would be those of 20000 requests a second"), "{found}");
    let lines = |first: u64, step: u64, size: u64, lines: u64| -> String {
        (0..lines).map(|line| format!("{} 0 {} {size} 1\n", first + line * step, line * size)).collect()
    };
    for (text, why, unit) in [
        (lines(1_538_323_200, 1, 8, 2), "Unix time", "s"),
        (lines(1_538_323_200_000, 1_000, 8, 90), "Unix time", "ms"),
        (lines(1_538_323_200_000_000, 10_000, 8, 90), "Unix time", "us"),
        ("1577808000.1 0 8 8 1\n1577808010.1 0 16 8 0\n".to_owned(), "Unix time", "s"),
        (lines(0, 100, 8, 90), "requests a second", "us"),
        ("0.000000000 0 8 8 1\n0.100000001 0 16 8 0\n".to_owned(), "nanoseconds, if they are seconds", "s"),
        (lines(0, 20_000, 4_096, 90).replace(" 0 4096 ", " 0 4100 "), "multiples of 512", "bytes"),
    ] {
        let problem = read_trace("t", text.as_bytes().into(), &TraceOptions::default()).err().expect("it is ambiguous");
        assert!(problem.refusal.found.contains(why), "{text}: {}", problem.refusal.found);
        let help = problem.refusal.help.unwrap_or_default();
        assert!(help.contains(&format!("_unit = \"{unit}\"`")), "{text}: {help}");
    }
    // What those two formats themselves look like.
    for text in [
        lines(1_200_000_000, 20_000, 8, 90),
        lines(4_851_300, 20_000, 1_024, 90),
        "1500000000 0 8 8 1\n".to_owned(),
        "604800000.125 0 8 8 1\n604800005.25 0 16 8 0\n".to_owned(),
        "0.1 0 8 8 1\n4.80000000000000071 0 16 8 0\n".to_owned(),
    ] {
        assert!(scan(&text, &TraceOptions::default()).is_ok(), "{text}");
    }
    // Units of a format that has its own.
    let [_, found] = scan("0,R,126703644672,4096,1577808000000626\n", &bytes).unwrap_err();
    assert!(found.contains("`alibaba`, which has its own"), "{found}");
}

#[test]
fn archives_and_tables_of_other_kinds_are_named() {
    let mut tar = vec![0; 1_024];
    tar[..9].copy_from_slice(b"trace.csv");
    tar[257..262].copy_from_slice(b"ustar");
    tar.extend(b"0,R,126703644672,4096,1577808000000626\n".repeat(40));
    for (bytes, name) in [
        (&tar[..], "a tar archive"),
        (&gzip(&tar), "a tar archive"),
        (b"ARROW1\0\0", "an Arrow file"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"PERFILE2", "a recording of perf"),
        (b"\x17\x08Dtracing6", "a recording of trace-cmd"),
        (b"PK\x05\x06", "a zip archive"),
        (b"{\"timestamp\": 0}\n", "JSON"),
    ] {
        let [_, found] = scan(bytes, &TraceOptions::default()).unwrap_err();
        assert_eq!(found, format!("this is {name}"));
    }
}

#[test]
fn every_device_has_its_own_addresses() {
    let trace = read_trace("t", b"0 0 8 8 1\n1 7 8 8 1\n".as_slice().into(), &TraceOptions::default());
    let requests = requests(&mut trace.expect("a recording"));
    assert_eq!(requests.iter().map(|request| request.lba).collect::<Vec<_>>(), [8, 8]);
}
