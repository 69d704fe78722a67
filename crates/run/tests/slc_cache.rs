//! An SLC cache from the outside: its part of a result, its bounds, its refusals.

use flashloom_figures::result::ComparedRun;
use flashloom_run::Quiet;
use flashloom_run::timeline::Timeline;

use crate::support::{Sound, busy as run, prepared, try_busy, varied};

const CACHE: [&str; 3] = ["ftl.slc_cache=static", "device.slc_read_time=20us", "device.slc_program_time=100us"];

fn with_cache<'a>(sets: &[&'a str]) -> Vec<&'a str> {
    [&CACHE[..], sets].concat()
}

/// A drive of 1,000 logical pages that has to collect.
const DRIVE: &str = r#"
device = { channels = 2, ways = 1, planes = 1, blocks = 48, pages = 16, over_provisioning = 0.5 }
workload.synthetic = { requests = 3_000, read_share = 0.3, request_size = "12KiB", discard_share = 0.03 }
buffer.capacity = "256KiB"
"#;

fn compare(sets: &[&str], varies: &[&str]) -> Vec<ComparedRun> {
    prepared(varied(DRIVE, sets, varies)).with_bounds(true).compare(true, &Quiet).sound().runs
}

/// A run whose figures beat a bound fails; erases of blocks that held fewer pages than others do not.
#[test]
fn no_cache_beats_the_bounds_of_a_comparison() {
    let varies = ["ftl.slc_cache=static,dynamic", "ftl.slc_when_full=beside,fold", "ftl.mapping=page,dftl"];
    let times = &CACHE[1..];
    for precondition in ["run.precondition=none", "run.precondition=fill", "run.precondition=steady"] {
        let runs = compare(&[times, &[precondition]].concat(), &varies);
        assert_eq!(runs.len(), 8);
        for run in &runs {
            let bounds = run.result.bounds.as_ref().expect("they were asked for");
            let ftl = bounds.ftl.as_ref().expect("the record is complete");
            assert!(run.result.ftl.block_erases >= ftl.fewest_block_erases, "{:?}", run.vary);
            let written = run.result.ftl.mapping.whole("slc_writes").expect("it has a cache");
            assert!(written + run.result.ftl.mapping.whole("slc_writes_beside").unwrap() > 0, "{:?}", run.vary);
        }
        assert!(runs.iter().any(|run| run.result.ftl.mapping.whole("slc_folded_pages") > Some(0)));
    }
}

#[test]
fn write_amplification_has_the_folds_and_their_erases_are_counted_apart() {
    let result = run(&with_cache(&[
        "ftl.slc_when_full=fold",
        "ftl.slc_static_share=0.1",
        "run.precondition=none",
        "run.anatomy=true",
    ]));
    let (nand, ftl) = (&result.nand, &result.ftl);
    let [folded_pages, folded_blocks] =
        ["slc_folded_pages", "slc_folded_blocks"].map(|name| ftl.mapping.whole(name).expect("it has a cache"));
    assert_eq!(nand.programs.fold, Some(folded_pages));
    assert_eq!(nand.erases.fold, Some(folded_blocks));
    assert_eq!(nand.programs.total, nand.programs.host + nand.programs.gc + folded_pages);
    let waf = nand.programs.total as f64 / ftl.host_page_writes as f64;
    assert!((ftl.waf.expect("pages were written") - waf).abs() < 1e-9);
    let slc = result.wear.slc_erase_count.as_ref().expect("blocks were folded");
    // 8 planes of 10 blocks each, which all go round.
    assert_eq!(folded_blocks, (slc.mean * 80.0).round() as u64);
    assert!(slc.max - slc.min <= 1, "the blocks set aside are erased in turn: {slc:?}");
    let anatomy = result.host.anatomy.as_ref().expect("time passed");
    let waited = |slice: &flashloom_figures::result::SliceResult| f64::from(slice.parts_ns.fold);
    assert!(waited(&anatomy.read.as_ref().expect("it reads").whole) > 0.0);
    let without = run(&["run.anatomy=true"]);
    assert!(without.wear.slc_erase_count.is_none() && without.ftl.mapping.whole("slc_writes").is_none());
    assert_eq!(waited(&without.host.anatomy.expect("time passed").read.expect("it reads").whole), 0.0);
}

#[test]
fn only_the_timeline_of_a_drive_with_a_cache_has_a_column_for_folds() {
    let lines = |sets: &[&str]| {
        let mut timeline = Timeline::new(Vec::new(), !sets.is_empty());
        let result = try_busy(sets, &mut [&mut timeline]).sound();
        let text = String::from_utf8(timeline.finish().expect("memory has room")).expect("it is text");
        let table: Vec<Vec<String>> = text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
        (table, result)
    };
    let (table, result) = lines(&with_cache(&["ftl.slc_when_full=fold"]));
    let column = table[0].iter().position(|name| name == "programs_fold").expect("it has the column");
    let folded: u64 = table[1..].iter().map(|line| line[column].parse::<u64>().expect("a number")).sum();
    assert_eq!(Some(folded), result.nand.programs.fold);
    assert!(folded > 0);
    let (table, _) = lines(&[]);
    assert!(
        table[0].iter().all(|name| name != "programs_fold") && table.iter().all(|line| line.len() == table[0].len())
    );
}

#[test]
fn what_does_not_go_with_a_cache_is_refused_with_both_keys() {
    let cases: [(&[&str], &[&str]); 9] = [
        (
            &["device.bits_per_cell=1"],
            &["ftl.slc_cache=static", "stores one bit per cell already", "flash of two or more bits"],
        ),
        (&["ftl.hot_cold=multi-hash"], &["`ftl.hot_cold = \"none\"`", "an SLC cache with hot and cold pages apart"]),
        (&["ftl.allocation=slap"], &["an allocation that keeps streams or survivors apart", "`interleave`"]),
        (&["ftl.mapping=kast"], &["ftl.slc_cache", "kast"]),
        (&["device.pages=1"], &["fewer pages than a cell has bits", "at least one page per bit"]),
        (&["ftl.slc_static_share=0.9"], &["over_provisioning"]),
        (&["ftl.slc_static_share=2"], &["ftl.slc_static_share"]),
        (&["ftl.slc_cache=dinamic"], &["dynamic"]),
        (&["ftl.slc_when_full=beneath"], &["beside"]),
    ];
    for (sets, parts) in cases {
        let message = try_busy(&with_cache(sets), &mut []).expect_err("it is refused");
        for part in parts {
            assert!(message.contains(part), "{sets:?}: {part} is not in: {message}");
        }
    }
    for (given, missing) in [(1, "device.slc_read_time"), (2, "device.slc_program_time")] {
        let message = try_busy(&CACHE[..given], &mut []).expect_err("it is refused");
        assert!(message.contains(missing), "{message}");
    }
}
