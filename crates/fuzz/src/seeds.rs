//! What fuzzers begin with: an input of every kind, made here. Those of text formats are the lines that the formats
//! themselves give as examples.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use flashloom_config::{Catalog, Experiment, Source};
use flashloom_figures::result::{Comparison, KEPT_SCHEMA, RunResult};
use flashloom_live::{Command, Options, Session};
use flashloom_run::{Prepared, Quiet};
use flashloom_workload::Format;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// First line of the file of a saved drive.
pub(crate) const STATE_MAGIC: &[u8] = concat!("flashloom-state ", env!("CARGO_PKG_VERSION"), " unknown\n").as_bytes();

/// A drive that is saved to a file.
pub(crate) const STATE_DRIVE: &str = "\
[device]
channels = 1
ways = 1
dies = 1
planes = 1
blocks = 24
pages = 8
page_size = \"4KiB\"
over_provisioning = 0.9
[run]
precondition = \"fill\"
";

/// A short run, whose result is small.
const RUN: &str = "\
[workload.synthetic]
requests = 20
[device]
channels = 1
ways = 1
dies = 1
planes = 1
blocks = 24
pages = 8
over_provisioning = 0.9
";

pub(crate) fn traces(format: Format) -> Vec<Vec<u8>> {
    match format {
        Format::Blktrace => vec![blktrace()],
        Format::Vscsi => vec![vscsi()],
        _ => vec![format!("{}\n", format.spec().example).into_bytes()],
    }
}

/// Two requests that were queued: 48 bytes each, and a note of a process, whose name follows its record.
fn blktrace() -> Vec<u8> {
    const QUEUE: u32 = 1 | 1 << 20;
    const READ: u32 = QUEUE | 1 << 16;
    const WRITE: u32 = QUEUE | 1 << 17;
    const NOTE: u32 = 1 << 29;
    let record = |sequence: u32, time: u64, sector: u64, bytes: u32, action: u32, more: u16| {
        let head = [0x6561_7407, sequence].map(u32::to_le_bytes).concat();
        let words = [bytes, action, 7, 8 << 20 | 16, 0].map(u32::to_le_bytes).concat();
        [head, [time, sector].map(u64::to_le_bytes).concat(), words, [0, more].map(u16::to_le_bytes).concat()].concat()
    };
    let name = record(1, 0, 0, 0, NOTE, 4);
    [name, b"fio\0".to_vec(), record(2, 0, 8, 4096, READ, 0), record(3, 500, 64, 8192, WRITE, 0)].concat()
}

/// Two commands of version 1: 32 bytes each.
fn vscsi() -> Vec<u8> {
    let record = |serial: u32, bytes: u32, command: u16, block: u64, time_us: u64| {
        let head = [serial, bytes, 1].map(u32::to_le_bytes).concat();
        let command = [command, 0x0100].map(u16::to_le_bytes).concat();
        [head, command, [block, time_us].map(u64::to_le_bytes).concat()].concat()
    };
    [record(1, 4096, 0x28, 8, 100), record(2, 8192, 0x2a, 64, 140)].concat()
}

/// A few requests of Flashloom's own format.
fn requests() -> Vec<u8> {
    let line = |number: u64| {
        format!("{},{},{},8\n", number * 1_000, if number.is_multiple_of(3) { "R" } else { "W" }, number * 8)
    };
    let lines: String = (0..40).map(line).collect();
    format!("timestamp_ns,op,lba,sectors\n{lines}").into_bytes()
}

pub(crate) fn gz() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&requests()).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

pub(crate) fn zst() -> Vec<u8> {
    zstd::bulk::compress(&requests(), 1).expect("there is memory to compress")
}

pub(crate) fn experiments() -> Vec<Vec<u8>> {
    let varied = "[vary]\n\"host.scheduler\" = [\"noop\", \"cfq\"]\n";
    let expected = "[[expect]]\nclaim = \"more\"\nformula = \"max(host.iops{scheduler=noop})\"\nat_least = 1.0\n";
    [RUN.to_owned(), format!("{RUN}{varied}{expected}")].map(String::into_bytes).to_vec()
}

pub(crate) fn fio_jobs() -> Vec<Vec<u8>> {
    let texts = [
        "[global]\nbs=4k\nsize=16m\nrw=randrw\nrwmixread=70\niodepth=4\n[one]\nnumjobs=2\n[two]\nstonewall\nrw=write\n",
        "[zipf]\nrw=randread\nbs=4k\nrandom_distribution=zipf:1.1\nsize=16m\n",
        "[files]\nioengine=libaio\nfilename=a:b\nrw=randrw\nsize=8m\nprio=3\ncmdprio_bssplit=4k/20/1/0:4k/30\n\
         percentile_list=50:99\nfile_service_type=random:2\nwrite_lat_log=x\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

pub(crate) fn fio_outputs() -> Vec<Vec<u8>> {
    let reads = r#"{"total_ios": 900, "iops": 9000.5, "clat_ns": {"mean": 99000.25, "percentile":
        {"1.000000": 70000, "50.000000": 98000, "99.900000": 180000}}}"#;
    let job = |options: &str, directions: &str| {
        format!(
            r#"{{"fio version": "fio-3.35", "global options": {{"direct": "1", "ioengine": "io_uring", "bs": "4k"}},
            "jobs": [{{"jobname": "one", "error": 0, "job options": {{{options}}}, {directions}}}]}}"#
        )
    };
    let one = job(r#""rw": "randread""#, &format!(r#""read": {reads}, "write": {{"total_ios": 0, "iops": 0.0}}"#));
    let mixed = r#""rw": "randrw", "rwmixread": "50", "iodepth": "4", "numjobs": "2", "group_reporting": "1""#;
    [one, job(mixed, &format!(r#""read": {reads}, "write": {reads}"#))].map(String::into_bytes).to_vec()
}

fn prepared(text: &str, sets: &[&str], is_varied: bool) -> Experiment {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let varies = is_varied.then(|| vec!["host.scheduler=noop,cfq".to_owned()]);
    Experiment::from_source(&Catalog::builtin(), Source::text("seed.toml", text), &sets, varies.as_deref())
        .unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn results() -> Vec<Vec<u8>> {
    let experiment = prepared(RUN, &[], true);
    let runs = Prepared::new(&experiment).expect("it is sound");
    let mut result: RunResult = runs.run_variant(0, true, &Quiet).expect("it runs");
    let mut comparison: Comparison = runs.compare(false, &Quiet).expect("it runs");
    // What depends on the machine and the moment.
    result.run = None;
    result.provenance = None;
    for run in &mut comparison.runs {
        run.result.run = None;
        run.result.provenance = None;
    }
    vec![serde_json::to_vec(&result).expect("it is JSON"), serde_json::to_vec(&comparison).expect("it is JSON")]
}

/// Three runs in columns, as pyarrow writes them: empty cells, dictionaries, zstd.
pub(crate) fn data_set() -> Vec<u8> {
    let texts: [(&str, [Option<&str>; 3]); 7] = [
        ("id", [Some("a"), Some("b"), Some("c")]),
        ("status", [Some("ok"), Some("ok"), Some("failed")]),
        ("error.type", [None, None, Some("CheckError")]),
        ("error.message", [None, None, Some("not steady")]),
        ("version", [Some("0.1.0"); 3]),
        ("buffer.capacity", [Some("1MiB"), Some("4MiB"), Some("1MiB")]),
        ("config", [Some("{\"host\": {\"queue_depth\": 4}}"), Some("{}"), None]),
    ];
    let field = |name: &str, physical: Physical| {
        let logical = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        Arc::new(field.with_logical_type(logical).build().expect("a column"))
    };
    let fields = texts.iter().map(|(name, _)| field(name, Physical::BYTE_ARRAY));
    let fields = fields.chain([field("host.iops", Physical::DOUBLE)]).collect();
    let schema = Type::group_type_builder("schema").with_fields(fields).build().expect("a schema");
    let varied = KeyValue::new("flashloom.varied".to_owned(), "[\"buffer.capacity\"]".to_owned());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![varied]))
        .build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    for (_, cells) in &texts {
        let levels = cells.map(|cell| i16::from(cell.is_some()));
        let values: Vec<ByteArray> = cells.iter().flatten().map(|&cell| cell.into()).collect();
        let mut column = group.next_column().expect("it is open").expect("the schema has it");
        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).expect("they are texts");
        column.close().expect("a whole column");
    }
    let mut column = group.next_column().expect("it is open").expect("the schema has it");
    column.typed::<DoubleType>().write_batch(&[1.5, 2.5], Some(&[1, 1, 0]), None).expect("they are numbers");
    column.close().expect("a whole column");
    group.close().expect("a whole row group");
    writer.close().expect("a whole file");
    bytes
}

/// The line about a drive's origin and its state, out of the file of a saved drive.
pub(crate) fn state_file() -> Vec<u8> {
    let experiment = prepared(STATE_DRIVE, &[], false);
    let mut runs = Prepared::new(&experiment).expect("it is sound");
    let file = runs.age(false, &Quiet).expect("it is filled").to_file().expect("there is memory");
    let mut parts = file.splitn(4, |&byte| byte == b'\n');
    let (magic, line) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    assert_eq!([magic, b"\n"].concat(), STATE_MAGIC, "the format of saved drives");
    let state = unpacked(parts.nth(1).unwrap_or_default());
    [line, b"\n", &state].concat()
}

/// A state as a file has it.
pub(crate) fn packed(state: &[u8]) -> Vec<u8> {
    let mut packed = FrameEncoder::new(Vec::new());
    packed.write_all(state).and_then(|()| Ok(packed.finish()?)).expect("there is memory to compress")
}

/// What a file has of a state.
fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut state = Vec::new();
    FrameDecoder::new(packed).read_to_end(&mut state).expect("it was compressed");
    state
}

/// Hash of the fit that the journal is of, and the number of cells of each of its loads.
pub(crate) const JOURNAL_OF: &str = "a";
pub(crate) const JOURNAL_CELLS: [usize; 2] = [1, 2];

/// The journal of a fit: three simulations of its two loads.
pub(crate) fn fit_journal() -> Vec<u8> {
    let side =
        json!({"rate": 1000.5, "mean_ns": 80_000.0, "requests": 100, "percentiles": [80_000, 90_000, null, null]});
    let entry = |load: usize, at: &str| {
        let figures = vec![json!([side, null]); JOURNAL_CELLS[load]];
        json!({"load": load, "at": at, "figures": figures, "hints": []})
    };
    let header = json!({"schema": "flashloom/fit-journal/3", "of": JOURNAL_OF});
    let lines = [header, entry(0, "device.read_time=50us"), entry(1, "device.read_time=50us"), entry(0, "x=1")];
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

/// The kept result of a run.
pub(crate) fn kept() -> Vec<u8> {
    let result: Value = serde_json::from_slice(&results()[0]).expect("it is JSON");
    let [version, program_sha256] = ["0.1.0", "0"];
    let kept = json!({
        "schema": KEPT_SCHEMA, "version": version, "program_sha256": program_sha256, "vary": {"run.seed": 1},
        "result": result,
    });
    kept.to_string().into_bytes()
}

pub(crate) fn formulas() -> Vec<Vec<u8>> {
    let texts =
        ["host.iops{scheduler=noop|cfq} / b:host.iops", "max(host.iops) - 3.5 * (2 + sum(1, 2)) / -mean(b:host.iops)"];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// An image of a drive that was written to, as a file and as what [`readers::image`](crate::readers::image) takes.
pub(crate) fn images() -> Vec<Vec<u8>> {
    let mut options = Options::default();
    let path = written("kept.image", b"");
    fs::remove_file(&path).expect("it is there");
    for (name, file) in [("experiment", &written("kept.toml", STATE_DRIVE.as_bytes())), ("image", &path)] {
        options.set(name, &file.display().to_string()).expect("an option");
    }
    let session = Session::new(&Catalog::builtin(), &options).expect("it is sound");
    for lba in [0, 8, 64] {
        session.server().execute(Command::Write { lba, data: &[7; 4096], fua: true }, &mut []).expect("it is written");
    }
    session.end().expect("it is written");
    let image = fs::read(&path).expect("it is there");
    let mut lines = image.splitn(3, |&byte| byte == b'\n').skip(1);
    let (header, rest) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let header: serde_json::Value = serde_json::from_slice(header).expect("JSON");
    let (drive, pages) = rest.split_at(header["drive_bytes"].as_u64().expect("a number") as usize);
    let mut parts = drive.splitn(4, |&byte| byte == b'\n').skip(1);
    let line = parts.next().unwrap_or_default();
    let state = unpacked(parts.nth(1).unwrap_or_default());
    let mut pages = zstd::stream::decode_all(pages).expect("they were compressed");
    pages.truncate(pages.len() - 32);
    let inside = [line, b"\n", &(state.len() as u32).to_le_bytes(), &state, &pages].concat();
    vec![image, inside]
}

/// An image of these parts, with their hashes.
pub(crate) fn image_of(line: &[u8], state: &[u8], pages: &[u8]) -> Vec<u8> {
    let hash = format!("{:x}", Sha256::new().chain_update(line).chain_update(state).finalize());
    let state = packed(state);
    let drive = [STATE_MAGIC, line, b"\n", hash.as_bytes(), b"\n", &state].concat();
    let header = format!("{{\"drive_bytes\":{},\"page_bytes\":4096}}", drive.len());
    let hash = Sha256::new().chain_update(&header).chain_update(&drive).chain_update(pages).finalize();
    let pages = zstd::bulk::compress(&[pages, &hash].concat(), 1).expect("there is memory to compress");
    [b"flashloom-image 2\n", header.as_bytes(), b"\n", &drive, &pages].concat()
}

pub(crate) fn control_lines() -> Vec<Vec<u8>> {
    let lines =
        [r#"{"do": "status"}"#, r#"{"do":"result"}"#, r#" {"do": "snapshot", "to": "a\u0062"}"#, r#"{"do": "end"}"#];
    lines.map(|line| format!("{line}\n").into_bytes()).to_vec()
}

pub(crate) fn http_heads() -> Vec<Vec<u8>> {
    let browser = "Origin: http://127.0.0.1:8080\r\nSec-Fetch-Site: same-origin\r\nAccept: */*\r\n";
    let heads = [
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n".to_owned(),
        "HEAD / HTTP/1.0\r\nhost: localhost:8080\r\n\r\n".to_owned(),
        format!("GET /live.json?since=12 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n{browser}\r\n"),
    ];
    heads.map(String::into_bytes).to_vec()
}

/// A file of this process for readers that take no bytes.
pub(crate) fn written(name: &str, bytes: &[u8]) -> PathBuf {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder for files"));
    let id = std::thread::current().id();
    let path = folder.path().join(format!("{id:?}-{name}"));
    fs::write(&path, bytes).expect("a file can be written");
    path
}
