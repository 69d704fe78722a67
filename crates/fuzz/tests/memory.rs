//! Memory in proportion: what readers take of files that are made to take much, in bytes allocated at once.
//!
//! Each of these files took gigabytes, or hundreds of bytes for one of its own. The allocator counts each thread
//! separately, because tests run beside each other.
#![allow(missing_docs)]
// An allocator is unsafe by its signature; this one hands everything on to the system's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Display;
use std::fs;
use std::num::NonZeroU32;
use std::sync::Arc;

use flashloom_config::{Catalog, Experiment, Source, Sweep};
use flashloom_export::dataset::DataSet;
use flashloom_export::html::{Document, page};
use flashloom_fuzz::Target;
use flashloom_units::{Prng, Problems};
use flashloom_workload::{Arrivals, FioDrive, FioJobFile, FioJobs};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

const MIB: usize = 1 << 20;

struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let live = LIVE.get() + bytes;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a closure returns, and the bytes that it had allocated at once, at most.
fn peak_of<T>(read: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let made = read();
    (made, (PEAK.get() - before).max(0) as usize)
}

/// The refusal of an experiment, as it is printed, and the memory that it took.
fn refused(text: &str, sweep: &Sweep<'_>) -> (String, usize) {
    let catalog = Catalog::builtin();
    let (read, peak) = peak_of(|| {
        let source = Source::text("a.toml", text);
        Experiment::comparison_from_source(&catalog, source, sweep).map_err(|problems| problems.to_string())
    });
    (read.expect_err("it takes too much"), peak)
}

fn assert_at_most(peak: usize, most: usize, what: impl Display) {
    assert!(peak <= most, "{what}: {:.1} MiB of at most {}", peak as f64 / MIB as f64, most / MIB);
}

#[test]
fn an_experiment_has_as_many_words_as_the_parser_has_memory_for() {
    let none = Sweep::default();
    for text in ["=\n".repeat(2 * MIB), "a=[".to_owned() + &"1,".repeat(2 * MIB) + "1]", "[a]\n".repeat(MIB)] {
        let (message, peak) = refused(&text, &none);
        assert!(message.contains("more than 524288 keys, values and marks, the limit on texts"), "{message}");
        assert!(message.contains("FLASHLOOM_TEXT_LIMIT") && message.len() < 2_000, "{message}");
        assert_at_most(peak, 16 * text.len(), "words");
    }
    // Within the limit each takes what it is said to.
    let (_, peak) = refused(&"=\n".repeat(20_000), &none);
    assert_at_most(peak, 40_000 * 512, "errors");
}

#[test]
fn a_list_of_ranges_has_no_more_values_than_a_comparison_has_runs() {
    let ranges = vec!["\"1..10000\""; 10_000].join(",");
    let (message, peak) = refused(&format!("vary.host.queue_depth = [{ranges}]"), &Sweep::default());
    assert!(message.contains("more than 100000 values for `host.queue_depth`"), "{message}");
    assert_at_most(peak, 40 * MIB, "ranges");
}

#[test]
fn runs_share_what_they_have_in_common() {
    let catalog = Catalog::builtin();
    let vary = ["run.seed=1..100".to_owned(), "host.queue_depth=1..40".to_owned()];
    let sweep = Sweep { varies: &vary, ..Sweep::default() };
    let load = || Experiment::comparison_from_source(&catalog, Source::text("a.toml", ""), &sweep);
    let (experiment, peak) = peak_of(load);
    assert_eq!(experiment.expect("it is sound").variants.len(), 4_000);
    assert_at_most(peak, 4_000 * 6_000, "runs");
}

#[test]
fn the_texts_of_all_runs_together_are_limited() {
    let text = format!("[workload]\nkind = \"trace\"\npath = \"{}\"\n", "x".repeat(MIB));
    let sweep = Sweep { seeds: NonZeroU32::new(1_000), ..Sweep::default() };
    let (message, peak) = refused(&text, &sweep);
    assert!(message.contains("texts of 1048576000 bytes in 1000 runs together"), "{message}");
    assert!(message.contains("FLASHLOOM_TEXT_LIMIT") && message.len() < 8_000, "{message}");
    assert_at_most(peak, 16 * MIB, "texts");
}

#[test]
fn values_of_json_take_no_more_than_they_are_counted_as() {
    let mut seeds = Target::Result.seeds();
    let result = String::from_utf8(seeds.remove(0)).expect("it is text");
    let around = result.strip_suffix('}').expect("it is an object");
    let (_, of_result) = peak_of(|| Document::read("a.json", &result).map(drop));
    let parts = [("[],", 160), ("{},", 160), ("[[0]],", 1_120), ("{\"a\":0},", 1_041), ("\"\",", 160), ("0,", 160)];
    for (part, counted) in parts {
        let list = part.repeat(20_000);
        for text in [
            format!("{around},\"unknown\":[{list}0]}}"),
            result.replacen("\"config\":{", &format!("\"config\":{{\"more\":[{list}0],"), 1),
        ] {
            let (read, peak) = peak_of(|| Document::read("a.json", &text).map(drop));
            read.unwrap_or_else(|problem| panic!("{problem}"));
            assert_at_most(peak, of_result + 20_000 * counted + MIB, part);
        }
    }
}

#[test]
fn a_series_is_no_longer_than_one_that_a_run_writes() {
    let result = String::from_utf8(Target::Result.seeds().remove(0)).expect("it is text");
    let around = result.strip_suffix('}').expect("it is an object");
    let text = format!("{around},\"series\":{{\"end_ns\":[{}0]}}}}", "0,".repeat(MIB));
    let (read, peak) = peak_of(|| Document::read("a.json", &text).map(drop));
    let message = read.expect_err("no run writes it").to_string();
    assert!(message.contains("a series of more than 262144 numbers, which no run writes"), "{message}");
    assert_at_most(peak, MIB, "a series");
}

fn start(job: &str) -> Result<FioJobs, Problems> {
    let file = FioJobFile::parse("a.fio", job.as_bytes())?;
    let drive = FioDrive::of_bytes(1 << 30);
    file.check(&drive)?;
    file.start(&drive, &Prng::new(1))
}

/// Runs jobs whose requests take another time each.
fn run(jobs: &mut FioJobs) {
    let (mut now, mut prng, mut issued) = (0, Prng::new(3), Vec::new());
    while let Some(at) = jobs.next_ns(now).expect("there is no input to go wrong") {
        now = now.max(at);
        issued.push(jobs.take(now).1);
        if issued.len() == 1_024 {
            now += prng.below(1 << 24);
            issued.drain(..).for_each(|cookie| jobs.completed(now, cookie));
        }
    }
    issued.drain(..).for_each(|cookie| jobs.completed(now, cookie));
}

#[test]
fn the_latencies_of_thousands_of_clones_take_what_is_recorded() {
    let job = "[a]\nrw=randrw\nsize=64k\nbs=4k\nnorandommap\nnumjobs=1024\nfilename=a\n";
    let (jobs, peak) = peak_of(|| {
        let mut jobs = start(job).unwrap_or_else(|problems| panic!("{problems}"));
        run(&mut jobs);
        jobs
    });
    let requests: u64 = jobs.reports().iter().flat_map(|report| &report.directions).map(|of| of.latency.count()).sum();
    assert_eq!(requests, 1_024 * 16);
    assert_at_most(peak, 8 * MIB, "clones");
}

#[test]
fn what_a_job_is_given_is_kept_once_and_what_fio_repeats_is_limited() {
    let options: String = (0..100).map(|_| format!("description={}\n", "x".repeat(8_000))).collect();
    let job = |numjobs: u32| format!("[a]\nsize=1m\nnumber_ios=1\nnumjobs={numjobs}\n{options}");
    let (jobs, peak) = peak_of(|| start(&job(1_000)));
    assert_eq!(jobs.unwrap_or_else(|problems| panic!("{problems}")).reports().len(), 1_000);
    assert_at_most(peak, 20 * MIB, "options");
    let names =
        "description mem cpumask nice cpus_allowed write_iolog exec_prerun exec_postrun ioscheduler buffer_pattern";
    let options: String = names.split(' ').map(|name| format!("{name}={}\n", "x".repeat(8_000))).collect();
    let refused = |job: &str| start(job).err().expect("it is too much").to_string();
    let problems = refused(&format!("[a]\nsize=64k\nnumjobs=4096\n{options}"));
    assert!(problems.contains("bytes in the reports of all clones") && problems.contains("a.fio:3:9"), "{problems}");
    assert!(problems.contains("FLASHLOOM_TEXT_LIMIT"), "{problems}");
    let long = format!("[global]\ndescription={}\n[a]\nsize=1m\n", "x".repeat(9_000));
    let problems = refused(&long);
    assert!(problems.contains("a line of 9012 bytes") && problems.contains("at most 8190, as fio reads"), "{problems}");
}

fn texts<'a>(group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>, cells: impl Iterator<Item = &'a str>) {
    column::<ByteArrayType>(group, &cells.map(ByteArray::from).collect::<Vec<_>>());
}

fn column<T: DataType>(group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>, cells: &[T::T]) {
    let mut column = group.next_column().expect("it is open").expect("the schema has it");
    column.typed::<T>().write_batch(cells, None, None).expect("they are of its kind");
    column.close().expect("a whole column");
}

/// A data set of so many runs with so many varied keys, each with a text of eight letters.
fn data_set(rows: usize, keys: usize) -> Vec<u8> {
    let varied: Vec<String> = (0..keys).map(|key| format!("section.key_with_a_long_name_{key}")).collect();
    let field = |name: &str, physical: Physical| {
        let logical = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        Arc::new(field.with_logical_type(logical).build().expect("a column"))
    };
    let names = ["id", "status"].into_iter().chain(varied.iter().map(String::as_str));
    let fields = names.map(|name| field(name, Physical::BYTE_ARRAY)).chain([field("host.iops", Physical::DOUBLE)]);
    let schema = Type::group_type_builder("schema").with_fields(fields.collect()).build().expect("a schema");
    let entry = KeyValue::new("flashloom.varied".to_owned(), serde_json::to_string(&varied).expect("it is JSON"));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![entry])).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    let ids: Vec<String> = (0..rows).map(|row| format!("{row:032x}")).collect();
    texts(&mut group, ids.iter().map(String::as_str));
    texts(&mut group, std::iter::repeat_n("ok", rows));
    for key in 0..keys {
        let values: Vec<String> = (0..rows).map(|row| format!("{:08}", row * 7 % (key + 2))).collect();
        texts(&mut group, values.iter().map(String::as_str));
    }
    column::<DoubleType>(&mut group, &(0..rows).map(|row| row as f64).collect::<Vec<_>>());
    group.close().expect("a whole row group");
    writer.close().expect("a whole file");
    bytes
}

#[test]
fn a_data_set_and_its_page_take_no_more_than_its_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data.parquet");
    for (rows, keys) in [(4_000, 1), (4_000, 8), (200, 400)] {
        fs::write(&path, data_set(rows, keys)).expect("written");
        let read = |limit: u64| DataSet::read_limited(&path, &["host.iops"], limit);
        // The least limit that it is read within is what it was counted as.
        let (mut least, mut most) = (0, 1 << 30);
        while least + MIB as u64 / 8 < most {
            let middle = u64::midpoint(least, most);
            match read(middle) {
                Ok(_) => most = middle,
                Err(_) => least = middle,
            }
        }
        let (pages, peak) = peak_of(|| {
            let data = read(most).unwrap_or_else(|problem| panic!("{problem}"));
            page("data.parquet", &Document::Sweep(data)).len()
        });
        println!("{rows} rows of {keys} keys: {peak} of {most}");
        assert_at_most(peak, most as usize + MIB, format_args!("{rows} rows of {keys} keys, {pages} bytes of a page"));
    }
}
