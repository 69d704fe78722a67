//! No fixture, recorded output or document names a path of the machine that it was made on: neither as text nor within
//! a compressed recording or a Parquet file. Code may: scripts of a guest have its folders in them, and tests made-up
//! ones.

use std::env;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;

use crate::support::project;

/// Beginnings of paths that only one machine has, and folders that tracebacks lead through. The first kind counts where
/// a path begins: `docs/home/page` is none.
const ROOTS: [&str; 13] = [
    "/home/",
    "/Users/",
    "\\Users\\",
    "/tmp/",
    "/private/",
    "/var/folders/",
    "/workspace/",
    "/builds/",
    "/mnt/",
    "/opt/",
    "/srv/",
    "/usr/lib/",
    "/usr/local/",
];
const WITHIN: [&str; 4] = ["site-packages/", "dist-packages/", ".cargo/registry/", "/rustc/"];

/// Extensions of code, and folders that are made by tools.
const CODE: [&str; 6] = ["rs", "py", "pyi", "sh", "c", "h"];
const MADE: [&str; 3] = ["target", "node_modules", "__pycache__"];

/// All files below a folder but code and what is hidden or made by tools. Links lead to files that are seen anyway.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let entry = entry.expect("the folder can be read");
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if name.starts_with('.') || MADE.contains(&name.as_str()) {
            continue;
        }
        let kind = entry.file_type().expect("it is known");
        if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_file() && !path.extension().is_some_and(|ending| CODE.iter().any(|code| ending == *code)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The text of a file as somebody sees who opens it: decompressed, and of a Parquet file its cells and metadata. An
/// input of a fuzzer is damaged, and its bytes are all that there is.
fn content(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("it is a file");
    let mut text = Vec::new();
    match bytes.get(..4) {
        _ if path.starts_with(project().join("fuzz/corpus")) => return bytes,
        Some(b"PAR1") => return cells(path),
        Some([0x28, 0xb5, 0x2f, 0xfd]) => {
            zstd::stream::copy_decode(&bytes[..], &mut text).expect("it is zstd");
        }
        Some([0x1f, 0x8b, ..]) => {
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).expect("it is gzip");
        }
        _ => return bytes,
    }
    text
}

/// Everything of a Parquet file that is text, a line each.
fn cells(path: &Path) -> Vec<u8> {
    let file = SerializedFileReader::new(fs::File::open(path).expect("it is a file")).expect("it is Parquet");
    let metadata = file.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let mut texts: Vec<String> = metadata.filter_map(|entry| entry.value.clone()).collect();
    for row in file.get_row_iter(None).expect("it has rows") {
        let row = row.expect("a row can be read");
        texts.extend((0..row.len()).filter_map(|column| row.get_string(column).ok().cloned()));
    }
    texts.join("\n").into_bytes()
}

/// The first path of a machine in a content, to the end of its line or for 80 bytes.
fn path_in(content: &[u8]) -> Option<String> {
    let starts_a_path = |at: usize| {
        let before = content[..at].last().copied().unwrap_or(b' ');
        !before.is_ascii_alphanumeric() && !b"._-~>".contains(&before)
    };
    // A folder has a name, which the list of these folders has not.
    let is_named = |at: usize| content.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"._".contains(byte));
    let found = content.iter().enumerate().filter(|(_, byte)| b"/\\sd.".contains(byte)).find(|&(at, _)| {
        let rest = &content[at..];
        let of =
            |parts: &[&str]| parts.iter().find(|part| rest.starts_with(part.as_bytes())).map(|part| at + part.len());
        of(&WITHIN).is_some_and(is_named)
            || of(&ROOTS).is_some_and(|end| is_named(end) && (starts_a_path(at) || content[at] == b'\\'))
    });
    let (at, _) = found?;
    let line = content[at..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    Some(String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned())
}

/// The folder that the project is in, wherever that is, or the user's own, if a content names one.
fn folder_in(content: &[u8]) -> Option<String> {
    let here = project().canonicalize().expect("the project is there");
    let mut folders: Vec<String> =
        [here].into_iter().chain(env::home_dir()).map(|of| of.display().to_string()).collect();
    // A user without a folder has `/`, which says nothing.
    folders.retain(|folder| folder.len() > 1);
    folders.iter_mut().for_each(|folder| folder.push('/'));
    let named = |folder: &String| content.windows(folder.len()).any(|part| part == folder.as_bytes());
    folders.into_iter().find(named)
}

/// Files below a folder that have such a path, with it.
fn faults(folder: &Path) -> Vec<String> {
    let fault = |path: PathBuf| {
        let content = content(&path);
        let found = path_in(&content).or_else(|| folder_in(&content))?;
        Some(format!("{}: {found}", path.display()))
    };
    files(folder).into_iter().filter_map(fault).collect()
}

#[test]
fn no_fixture_or_recorded_output_names_a_path_of_a_machine() {
    let faults = faults(&project());
    assert!(faults.is_empty(), "paths of a machine:\n{}", faults.join("\n"));
    let files = files(&project());
    for ending in ["parquet", "zst", "snap", "json", "csv", "ipynb", "svg", "md"] {
        assert!(files.iter().any(|path| path.extension().is_some_and(|found| found == ending)), "no .{ending} is seen");
    }
}

#[test]
fn a_planted_path_is_found_in_any_kind_of_file() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let name = |name: &str| folder.path().join(name);
    let planted = b"1,2\nFile \"/home/me/flashloom/make.py\", line 3\n";
    fs::write(name("a.txt"), planted).unwrap();
    fs::write(name("b.csv.zst"), zstd::encode_all(&planted[..], 1).unwrap()).unwrap();
    let mut gzip = flate2::read::GzEncoder::new(&planted[..], flate2::Compression::fast());
    let mut packed = Vec::new();
    gzip.read_to_end(&mut packed).unwrap();
    fs::write(name("c.csv.gz"), packed).unwrap();
    write_parquet(&name("d.parquet"), "File \"/home/me/flashloom/make.py\", line 3");
    fs::write(name("e.rs"), planted).unwrap();
    fs::write(name("f.md"), "docs/home/page, /home/, `~/.cache`, /dev/sda and https://a.org/opt/x").unwrap();
    fs::write(name("g.json"), r#""C:\Users\me""#).unwrap();
    fs::write(name("h.txt"), "lib/python3/site-packages/x.py").unwrap();
    let mut own = vec![project().canonicalize().unwrap()];
    own.extend(env::home_dir().filter(|home| home.components().count() > 1));
    for (at, folder) in own.iter().enumerate() {
        fs::write(name(&format!("own-{at}.txt")), format!("see {}/x", folder.display())).unwrap();
    }
    let mut found = faults(folder.path());
    assert_eq!(found.extract_if(.., |fault| fault.contains("own-")).count(), own.len(), "the project's and the user's");
    let found: Vec<&str> = found.iter().map(|fault| &fault[folder.path().to_string_lossy().len() + 1..]).collect();
    let line = "/home/me/flashloom/make.py\", line 3";
    assert_eq!(
        found,
        [
            format!("a.txt: {line}").as_str(),
            &format!("b.csv.zst: {line}"),
            &format!("c.csv.gz: {line}"),
            &format!("d.parquet: {line}"),
            r#"g.json: \Users\me""#,
            "h.txt: site-packages/x.py",
        ]
    );
}

/// Writes a Parquet file with one compressed cell.
fn write_parquet(path: &Path, text: &str) {
    use parquet::basic::{Compression, LogicalType, Type as Physical, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;

    let field = Type::primitive_type_builder("error.traceback", Physical::BYTE_ARRAY);
    let field = field.with_logical_type(Some(LogicalType::String)).build().expect("a column");
    let schema = Type::group_type_builder("schema").with_fields(vec![field.into()]).build().expect("a schema");
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let file = fs::File::create(path).expect("a file can be made");
    let mut writer = SerializedFileWriter::new(file, schema.into(), properties.into()).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    let mut column = group.next_column().expect("a column").expect("there is one");
    // Twice, so that it is in a dictionary page as well, and not only in the statistics.
    let cells = [ByteArray::from(text), ByteArray::from(text)];
    column.typed::<ByteArrayType>().write_batch(&cells, Some(&[1, 1]), None).expect("cells can be written");
    column.close().expect("a whole column");
    group.close().expect("a whole row group");
    writer.close().expect("a whole file");
}
