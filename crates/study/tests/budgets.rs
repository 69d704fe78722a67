//! The settings of the report `related` follow from its budgets: each FTL has what fits the budget and the spare
//! blocks, and no more fits; and what the results say of their memory is within it.

use std::collections::BTreeMap;

use flashloom_study::reproduce::published::Paper;
use serde_json::Value;

/// The drive of `experiments/papers/related/stack.toml`: chips, blocks, pages of a block, entries of a map page.
const CHIPS: u64 = 4;
const BLOCKS: u64 = 4_096;
const PAGES: u64 = 128;
const ENTRIES: u64 = 1_024;

/// Logical pages, and the spare blocks of a chip for log blocks, by spare space in percent.
const DRIVES: [(&str, u64, u64); 2] = [("7", 489_988, 65), ("25", 419_430, 203)];

/// A budget by its name: the share of the bytes of a page map.
const BUDGETS: [(&str, u64); 3] = [("64th", 64), ("8th", 8), ("all", 1)];

/// What else an experiment is run with: another buffer, or a drive in steady state.
const CELLS: [&str; 4] = ["", "-none", "-16m", "-steady"];

/// Log blocks of a chip (or of a group of `width` of them) whose tables of `a_page` bytes a page fit; `in_place` of so
/// many have no tables.
fn log_blocks(budget: u64, logical_pages: u64, (width, a_page): (u64, u64), in_place: fn(u64) -> u64) -> u64 {
    let block_map = 4 * logical_pages.div_ceil(PAGES * width);
    let bytes = |count: u64| 4 * count + a_page * PAGES * width * (count - in_place(count));
    let fits = |count: &u64| bytes(*count) * (CHIPS / width) <= budget - block_map;
    (1..).take_while(fits).last().expect("one fits at least")
}

/// Page tables of a chip with superblocks of 32 blocks. Of the 12 bits of a page's number there each of three levels of
/// tables takes four; tables above those in memory are there too.
fn page_tables(budget: u64, logical_pages: u64) -> u64 {
    let areas = CHIPS * logical_pages.div_ceil(PAGES).div_ceil(CHIPS * 32);
    let bytes = |tables: u64| {
        let of_levels = [256, 16, 1].map(|in_an_area| (CHIPS * tables).min(in_an_area * areas));
        4 * BLOCKS + 4 * 16 * of_levels.iter().sum::<u64>()
    };
    (1..=64 * areas).take_while(|&tables| bytes(tables) <= budget).last().expect("at least one table fits")
}

/// Bytes for Janus-FTL's tables of pages, 4 bytes a page and 4 more, the same number for each chip. Beside them the
/// block map is there, and as much for the four blocks of a chip that are being filled in order.
fn janus_tables(budget: u64, logical_pages: u64) -> u64 {
    let (blocks, table) = (logical_pages.div_ceil(PAGES), CHIPS * 4 * (PAGES + 1));
    let fitting = (budget - 4 * (blocks + 4 * CHIPS)) / table;
    fitting.min(blocks.div_ceil(CHIPS)) * table
}

#[test]
fn every_ftl_has_as_much_as_fits_its_budget() {
    let paper = Paper::named("related").expect("it is a report");
    let mut seen = 0;
    for (spare, logical_pages, spare_blocks) in DRIVES {
        for (name, share) in BUDGETS {
            let budget = 4 * logical_pages / share;
            let cache = budget - 4 * logical_pages.div_ceil(ENTRIES);
            for study in &paper.experiments {
                let of_cell = |cell| study.name.strip_suffix(&format!("-{name}-{spare}{cell}"));
                let Some(row) = CELLS.into_iter().find_map(of_cell) else { continue };
                // Two rows are of one mapping: as its paper has it, and as this drive needs it.
                let mapping = row.trim_end_matches("-letter").trim_end_matches("-spread");
                let set: BTreeMap<&str, &str> = study.set.iter().filter_map(|one| one.split_once('=')).collect();
                let log_blocks = |width, a_page, in_place: fn(u64) -> u64| {
                    log_blocks(budget, logical_pages, (width, a_page), in_place).min(spare_blocks)
                };
                let (key, expected) = match mapping {
                    "dftl" | "sftl" | "leaftl" | "lazyftl" => ("cache", if share == 1 { cache } else { cache / 8 * 8 }),
                    "bast" | "sast" | "kast" => ("log_blocks", log_blocks(1, 4, |_| 0)),
                    "fast" => ("log_blocks", log_blocks(1, 4, |_| 1)),
                    "mcsplit" => ("log_blocks", log_blocks(CHIPS, 4, |_| 0)),
                    "last" => ("log_blocks", log_blocks(1, 8, |count| (count / 4).max(1))),
                    "u-ftl" => ("cache", budget / 8 * 8),
                    "janus-ftl" => ("map", janus_tables(budget, logical_pages)),
                    "superblock-ftl" => ("tables", page_tables(budget, logical_pages)),
                    other => panic!("{other}: say here what its memory is"),
                };
                let found = set[format!("ftl.{mapping}.{key}").as_str()].trim_end_matches('B');
                assert_eq!(found, expected.to_string(), "{}", study.name);
                seen += 1;
            }
        }
    }
    let has_mapping = |set: &[String]| set.iter().any(|one| one.starts_with("ftl.mapping="));
    assert_eq!(seen, paper.experiments.iter().filter(|study| has_mapping(&study.set)).count());
}

#[test]
fn no_result_takes_more_memory_than_its_budget() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reproduction/results/related.json");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("it is there")).expect("JSON");
    let mut seen = 0;
    for table in report["tables"].as_array().expect("a list") {
        if table["columns"][0] != "memory, percent of a page map" {
            continue;
        }
        for line in table["lines"].as_array().expect("a list") {
            let (name, percent) = (line["experiment"].as_str().expect("a name"), &line["figures"][0]["mean"]);
            let share = BUDGETS.iter().find(|(budget, _)| name.contains(&format!("-{budget}-")));
            let most = 100.0 / share.map_or(1, |&(_, share)| share) as f64;
            let percent = percent.as_f64().expect("a number");
            assert!(percent > 0.0 && percent <= most * (1.0 + 1e-9), "{name}: {percent} of {most}");
            // Where there are as many spare blocks as memory for log blocks, all have the same within 2 %.
            let is_equal = !name.ends_with("-8th-25") || percent >= 0.98 * most;
            assert!(is_equal, "{name}: {percent} of {most}");
            seen += 1;
        }
    }
    assert!(seen > 0);
}
