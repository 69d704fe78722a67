//! Reading data sets: whole, in parts, torn, and of something else. The files are written here, as pyarrow writes them:
//! columns that may be empty, compressed with zstd.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use flashloom_export::dataset::DataSet;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use proptest::option::weighted;
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::sample::Index;
use serde_json::{Map, Value, json};

const FIGURES: [&str; 2] = ["host.iops", "integrity.verified"];

/// Writes rows, whose columns are those of the first; each column has values of one kind.
pub fn write(path: &Path, rows: &[Value], varied: Option<&[&str]>) {
    let rows: Vec<&Map<String, Value>> = rows.iter().map(|row| row.as_object().expect("a row has columns")).collect();
    let names: Vec<&String> = rows.first().map_or_else(Vec::new, |row| row.keys().collect());
    let kind = |name: &str| rows.iter().map(|row| &row[name]).find(|value| !value.is_null()).unwrap_or(&Value::Null);
    let field = |name: &&String| {
        let (physical, logical) = match kind(name) {
            Value::Bool(_) => (Physical::BOOLEAN, None),
            Value::Number(number) if number.is_f64() => (Physical::DOUBLE, None),
            Value::Number(_) => (Physical::INT64, None),
            _ => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        Arc::new(field.with_logical_type(logical).build().expect("a column"))
    };
    let schema = Type::group_type_builder("schema").with_fields(names.iter().map(field).collect()).build();
    let varied = varied.map(|keys| KeyValue::new("flashloom.varied".to_owned(), json!(keys).to_string()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(varied.map(|entry| vec![entry]))
        .build();
    let file = fs::File::create(path).expect("a file can be made");
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema.expect("a schema")), Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    for name in &names {
        let cells: Vec<&Value> = rows.iter().map(|row| &row[*name]).collect();
        match kind(name) {
            Value::Bool(_) => column::<BoolType>(&mut group, &cells, |cell| cell.as_bool().expect("a flag")),
            Value::Number(number) if number.is_f64() => {
                column::<DoubleType>(&mut group, &cells, |cell| cell.as_f64().expect("a number"));
            }
            Value::Number(_) => column::<Int64Type>(&mut group, &cells, |cell| cell.as_i64().expect("a number")),
            _ => column::<ByteArrayType>(&mut group, &cells, |cell| ByteArray::from(cell.as_str().expect("a text"))),
        }
    }
    group.close().expect("a whole row group");
    writer.close().expect("a whole file");
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, fs::File>,
    cells: &[&Value],
    value: impl Fn(&Value) -> T::T,
) {
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(!cell.is_null())).collect();
    let values: Vec<T::T> = cells.iter().filter(|cell| !cell.is_null()).map(|cell| value(cell)).collect();
    let mut writer = group.next_column().expect("it is open").expect("the schema has it");
    writer.typed::<T>().write_batch(&values, Some(&levels), None).expect("they are of the column's kind");
    writer.close().expect("a whole column");
}

/// A run that ended.
fn row(id: &str, depth: u64, seed: u64) -> Value {
    json!({
        "id": id, "status": "ok", "error.type": null, "error.message": null, "version": "0.1.0", "seed": seed,
        "host.queue_depth": depth, "buffer.capacity": if depth > 4 { "4MiB" } else { "512KiB" },
        "host.iops": 1000.5 * depth as f64, "integrity.verified": depth > 4, "host.reads": 77,
        "config": format!("{{\"host\": {{\"queue_depth\": {depth}}}}}"),
    })
}

const VARIED: [&str; 2] = ["buffer.capacity", "host.queue_depth"];

fn refused(path: &Path) -> String {
    DataSet::read(path, &FIGURES).expect_err("it is no data set").to_string()
}

#[test]
fn rows_of_all_files_are_read_once_and_ordered_by_what_varies() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write(&at("data.parquet"), &[row("c", 8, 1), row("a", 2, 2), row("b", 2, 1)], Some(&VARIED));
    // A sweep that was killed after it wrote all rows into one file, and one that goes on.
    write(&at("part-1.parquet"), &[row("a", 2, 2), row("d", 1, 1)], Some(&VARIED));
    fs::write(at(".part-2.parquet.partial"), "torn").expect("written");
    fs::write(at(".part-3.parquet"), "torn").expect("written");
    let data = DataSet::read(folder.path(), &FIGURES).expect("it is one");
    let ids: Vec<&str> = data.runs.iter().map(|run| run.text("id")).collect();
    assert_eq!(ids, ["d", "b", "a", "c"]);
    assert_eq!(data.varied, VARIED);
    assert_eq!(data.points().map(<[_]>::len).collect::<Vec<_>>(), [1, 2, 1]);
    let last = &data.runs[3];
    assert_eq!((last.number("host.iops"), last.cell("integrity.verified")), (Some(8004.0), Some(&json!(true))));
    assert_eq!(last.cell("error.type"), None, "an empty cell");
    assert_eq!(last.cell("host.reads"), None, "a column that nobody asked for");
    assert_eq!(data.config, Some(json!({"host": {"queue_depth": 8}})));
    let one = DataSet::read(&at("part-1.parquet"), &FIGURES).expect("one file of it");
    assert_eq!(one.runs.len(), 2);
}

#[test]
fn runs_of_two_versions_vary_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut old = row("b", 2, 1);
    old["version"] = json!("0.0.9");
    write(&folder.path().join("data.parquet"), &[row("a", 2, 1), old], Some(&VARIED));
    let data = DataSet::read(folder.path(), &FIGURES).expect("it is one");
    assert_eq!((data.varied.last().map(String::as_str), data.points().count()), (Some("version"), 2));
}

#[test]
fn what_is_no_data_set_is_refused_with_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("part-1.parquet");
    assert!(refused(folder.path()).contains("a folder without files that end in `.parquet`"));
    assert!(refused(&folder.path().join("missing.parquet")).contains("missing.parquet"));
    fs::write(&at, "").expect("written");
    assert!(refused(folder.path()).contains("part-1.parquet"), "an empty file");
    fs::write(&at, "{\"schema\": \"flashloom/result/1\"}").expect("written");
    assert!(refused(folder.path()).contains("Parquet"), "JSON by another name");
    for (row, found) in [
        (json!({"a": 1}), "Parquet without the columns `id` and `status`"),
        (json!({"id": 3, "status": "ok"}), "a row with `id` = \"\", `status` = \"ok\""),
        (json!({"id": "x", "status": "lost"}), "`status` = \"lost\""),
    ] {
        write(&at, &[row], None);
        assert!(refused(folder.path()).contains(found), "{found}");
    }
    write(&at, &[row("x", 1, 1)], Some(&VARIED));
    let bytes = fs::read(&at).expect("it is there");
    fs::write(&at, &bytes[..bytes.len() / 2]).expect("written");
    let torn = refused(folder.path());
    assert!(torn.contains("part-1.parquet") && torn.contains("flashloom.sweep"), "{torn}");
}

/// Megabytes that a data set of the tests may take.
const LIMIT: u64 = 64 << 20;

/// Refusal of a file that takes more than it may; it names the variable that allows more.
fn too_much(path: &Path) -> String {
    let text = DataSet::read_limited(path, &FIGURES, LIMIT).expect_err("it takes too much").to_string();
    assert!(text.contains("set FLASHLOOM_DATASET_LIMIT to more"), "{text}");
    text
}

#[test]
fn a_small_file_that_is_large_in_memory_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data.parquet");
    // One cell of 40 MB: the page is too large, whatever its column.
    let mut long = row("a", 1, 1);
    long["error.message"] = json!("x".repeat(40 << 20));
    write(&path, &[long], Some(&VARIED));
    assert!(fs::metadata(&path).expect("it is there").len() < 20_000);
    assert!(too_much(&path).contains("column `error.message`: a page of 4194"), "{}", too_much(&path));
    // One text of 200 kB in each of a thousand cells: the page is a dictionary of one, and numbers.
    let mut same = row("a", 1, 1);
    same["version"] = json!("x".repeat(200_000));
    write(&path, &vec![same; 1_000], Some(&VARIED));
    assert!(too_much(&path).contains("column `version`: texts, more than 64 MiB"), "{}", too_much(&path));
    write(&path, &vec![row("a", 1, 1); 50_000], Some(&VARIED));
    assert!(too_much(&path).contains("50000 rows of 10 cells, more than 64 MiB"), "{}", too_much(&path));
    assert!(DataSet::read(&path, &FIGURES).is_ok(), "within the default limit");
}

#[test]
fn metadata_that_is_too_large_is_not_decoded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data.parquet");
    write(&path, &[row("a", 1, 1)], Some(&["x".repeat(2 << 20).as_str()]));
    assert!(too_much(&path).contains("metadata of 20"), "{}", too_much(&path));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// A damaged file is refused or read, and never ends the program.
    #[test]
    fn damage_is_no_panic(at in any::<Index>(), byte: u8, cut in weighted(0.1, any::<Index>())) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("data.parquet");
        write(&path, &[row("c", 8, 1), row("a", 2, 2), row("b", 2, 1)], Some(&VARIED));
        let mut bytes = fs::read(&path).expect("it is there");
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        fs::write(&path, &bytes).expect("written");
        drop(DataSet::read(folder.path(), &FIGURES));
    }
}
