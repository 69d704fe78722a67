//! The memory of each mapping in docs/which-stack.md, from the formula beside it and the pages and blocks that the
//! program gives each drive.

use std::fs;
use std::path::{Path, PathBuf};

use flashloom_experiment::config::{Catalog, Experiment, Source};

/// Bytes of a page or block number.
const NUMBER: u64 = 4;

/// What `ftl.dftl.cache` is on each drive of the table.
const CACHE: u64 = 512 << 10;

/// Log blocks of a die, as in the stacks that the document compares.
const LOG_BLOCKS: u64 = 8;

/// Memory for the map of a drive: of a page map, of DFTL and of log blocks.
fn maps(preset: &str) -> [u64; 3] {
    let text = format!("[device]\npreset = \"{preset}\"\n");
    let source = Source { name: preset.to_owned(), text, folder: PathBuf::new() };
    let experiment =
        Experiment::from_source(&Catalog::builtin(), source, &[], None).unwrap_or_else(|problems| panic!("{problems}"));
    let device = &experiment.variants[0].config.device;
    let (geometry, pages) = (device.geometry(), device.logical_pages());
    let block = u64::from(geometry.pages);
    let entries = u64::from(geometry.page_bytes) / NUMBER;
    let data_blocks = pages.div_ceil(block);
    let log_pages = u64::from(geometry.total_dies()) * LOG_BLOCKS * block;
    [NUMBER * pages, CACHE + NUMBER * pages.div_ceil(entries), NUMBER * (data_blocks + log_pages)]
}

/// A size as the table writes it, in KiB or MiB of three digits.
fn size(bytes: u64) -> String {
    let (value, unit) = match bytes as f64 / 1024.0 {
        kib if kib < 1000.0 => (kib, "KiB"),
        kib => (kib / 1024.0, "MiB"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[test]
fn the_document_states_the_memory_of_each_mapping() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/which-stack.md");
    let document = fs::read_to_string(path).expect("it is checked in");
    let drives = ["mlc-16g", "kingston-mlc-60g", "nvme-tlc-512g"].map(maps);
    let mut lacking = Vec::new();
    for (mapping, name) in ["`page`", "`dftl`", "log blocks"].iter().enumerate() {
        let [first, second, third] = drives.map(|maps| size(maps[mapping]));
        let expected = format!("| {first} | {second} | {third} |");
        let is_row = |line: &str| line.starts_with(&format!("| {name}")) && line.ends_with(&expected);
        if !document.lines().any(is_row) {
            lacking.push(format!("{name}: {expected}"));
        }
    }
    assert!(lacking.is_empty(), "docs/which-stack.md lacks rows:\n{}", lacking.join("\n"));
}
