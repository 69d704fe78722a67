//! The series of a result (`run.series`) adds up to its totals, is bounded, and changes nothing else.

use crate::support::{busy as run, try_busy};
use flashloom_figures::result::{HistogramResult, RunResult, SeriesResult};

fn series(result: &RunResult) -> &SeriesResult {
    result.series.as_ref().expect("the run was asked for a series")
}

#[test]
fn every_list_has_an_entry_for_each_interval_and_adds_up_to_the_total() {
    for sets in [vec![], vec!["device.cache_program=true", "device.suspend=program-erase"], vec!["run.drain=true"]] {
        let result = run(&[&["run.series=20ms"], &sets[..]].concat());
        let (series, nand, host) = (series(&result), &result.nand, &result.host);
        let intervals = series.end_ns.len();
        assert!(intervals > 20, "{intervals} intervals");
        assert!(series.end_ns.windows(2).all(|pair| pair[0] < pair[1]));
        let sum = |list: &[u64]| {
            assert_eq!(list.len(), intervals);
            list.iter().sum::<u64>()
        };
        assert_eq!(sum(&series.completed), host.completed);
        assert_eq!((sum(&series.read_bytes), sum(&series.write_bytes)), (host.read_bytes, host.write_bytes));
        assert_eq!((sum(&series.programs), sum(&series.erases)), (nand.programs.total, nand.erases.total));
        assert_eq!(sum(&series.host_page_writes), result.ftl.host_page_writes);
        assert_eq!(series.outstanding.last(), Some(&0));
        assert_eq!((series.free_blocks.len(), series.dirty_pages.len()), (intervals, intervals));
        let end_ns = *series.end_ns.last().expect("it has intervals");
        for (busy, parts, utilization) in
            [(&series.die_busy, 4, nand.die_utilization), (&series.channel_busy, 2, nand.channel_utilization)]
        {
            assert_eq!((busy.rows.len(), busy.parts_per_row), (parts, 1));
            let busy_ns: u64 = busy.rows.iter().map(|row| sum(row)).sum();
            let share = busy_ns as f64 / (end_ns as f64 * parts as f64);
            assert!((share - utilization.expect("time passes")).abs() < 1e-12, "{share} and {utilization:?}");
            let within = |row: &Vec<u64>| row.iter().all(|&busy_ns| busy_ns <= series.interval_ns);
            assert!(busy.rows.iter().all(within), "a part is not busy for longer than an interval");
        }
        let erases: u64 = series.erase_map.rows.iter().flatten().sum();
        let blocks = 4.0 * 2.0 * 96.0;
        assert!((erases as f64 / blocks - result.wear.erase_count.mean).abs() < 1e-9);
    }
}

#[test]
fn histograms_hold_every_latency_and_have_its_percentiles() {
    let result = run(&["run.series=20ms"]);
    let latency = result.host.latency_ns.as_ref().expect("time passes");
    let histograms = &series(&result).histograms;
    let kinds =
        [(&histograms.read, &latency.read), (&histograms.write, &latency.write), (&histograms.all, &latency.all)];
    for (histogram, distribution) in kinds {
        let HistogramResult { from_ns, counts } = histogram.as_ref().expect("there are such requests");
        let distribution = distribution.as_ref().expect("there are such requests");
        assert_eq!(counts.iter().sum::<u64>(), distribution.count);
        let mut left = (distribution.count as f64 * 0.99).ceil() as u64;
        let bucket = counts.iter().position(|&count| {
            left = left.saturating_sub(count);
            left == 0
        });
        let found = from_ns[bucket.expect("the percentile is in a bucket")] as f64;
        assert!((distribution.p99 as f64 / found - 1.0).abs() < 0.01, "{found} and {}", distribution.p99);
    }
}

#[test]
fn a_long_run_has_longer_intervals_which_are_those_of_a_coarser_series() {
    let [fine, coarse] = [run(&["run.series=1ms"]), run(&["run.series=4ms"])];
    let [fine, coarse] = [&fine, &coarse].map(series);
    assert!(fine.interval_ns > 1_000_000 && fine.interval_ns.is_multiple_of(1_000_000));
    assert!((200..=512).contains(&fine.end_ns.len()), "{} intervals", fine.end_ns.len());
    if fine.interval_ns == coarse.interval_ns {
        assert_eq!(fine, coarse, "joined intervals are exact");
    }
}

#[test]
fn a_series_changes_nothing_else() {
    let bare = |mut result: RunResult| {
        (result.run, result.provenance, result.series) = (None, None, None);
        result.config.change(|config| drop(config["run"].as_object_mut().expect("a section").remove("series")));
        result
    };
    let without = run(&[]);
    let text = serde_json::to_string(&without).expect("a result is JSON");
    assert!(!text.contains("\"series\""), "not even the key is in a result that did not ask for it");
    assert_eq!(bare(run(&["run.series=3ms"])), bare(without));
}

#[test]
fn a_series_without_time_is_refused() {
    let message = try_busy(&["run.series=20ms", "run.timing=counting"], &mut []).expect_err("nothing takes time");
    assert!(message.contains("a series is over time") && message.contains("--set:1:12"), "{message}");
}
