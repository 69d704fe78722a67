//! The page of a sweep.

use flashloom_export::dataset::{DataSet, SweptRun};
use flashloom_export::html::{Document, page};
use serde_json::{Value, json};

use super::{HOSTILE, elements, ids, lacks, own, specs, texts};

/// A run that ended: more channels are faster, and erase more.
fn run(depth: u64, gc: &str, seed: u64) -> SweptRun {
    let tail = 5_000_000 / depth + 1_000 * seed;
    cells(json!({
        "id": format!("{depth}{gc}{seed}"), "status": "ok", "version": "0.1.0", "seed": seed,
        "host.queue_depth": depth, "ftl.gc": gc,
        "host.iops": 1000.0 * depth as f64, "host.throughput_bytes_per_s": 4.096e6 * depth as f64,
        "host.latency_ns.read.p99": tail / 4, "host.latency_ns.write.p99": tail / 2,
        "host.latency_ns.all.p99_9": tail, "ftl.waf": 1.5, "nand.erases.total": 100 * depth + seed,
        "integrity.verified": true, "run.wall_seconds": 0.25,
    }))
}

fn cells(row: Value) -> SweptRun {
    let Value::Object(row) = row else { panic!("a row has columns") };
    SweptRun::new(row)
}

fn failed(message: &str) -> SweptRun {
    cells(json!({
        "id": "f", "status": "failed", "version": "0.1.0", "seed": 1, "host.queue_depth": 64, "ftl.gc": "greedy",
        "error.type": "ConfigError", "error.message": message,
    }))
}

/// A data set of the runs in their order.
fn data(runs: Vec<SweptRun>) -> DataSet {
    let varied = ["ftl.gc", "host.queue_depth"].map(str::to_owned).to_vec();
    DataSet { varied, runs, config: Some(json!({"host": {"queue_depth": 1}})) }
}

fn seeded() -> Vec<SweptRun> {
    let depths = |gc| [1, 2, 4].into_iter().flat_map(move |depth| [1, 2, 3].map(|seed| run(depth, gc, seed)));
    ["fifo", "greedy"].into_iter().flat_map(depths).collect()
}

fn page_of(data: DataSet) -> String {
    page("results", &Document::Sweep(data))
}

#[test]
fn a_page_of_a_sweep_has_means_over_seeds_a_front_and_every_key() {
    let page = page_of(data(seeded()));
    elements(&page);
    assert!(page.contains("<h1>Sweep: results</h1>"));
    // Of the overview: every value once, in order.
    assert_eq!(texts(&page, "td")[..6], ["18", "0", "6", "1, 2, 3", "fifo, greedy", "1, 2, 4"]);
    let by_key = ["ftl.gc", "host.queue_depth"].map(|key| format!("By {key}: p99.9 of all requests"));
    assert_eq!(texts(&page, "figcaption")[1..], by_key);
    let front = &specs(&page)[0]["spec"];
    assert_eq!(front["runs"].as_array().map(Vec::len), Some(6), "a point for each combination, not for each seed");
    let first = &front["runs"][0];
    assert_eq!((&first["name"], &first["means"][6]), (&json!("1: gc fifo, queue_depth 1"), &json!(102.0)));
    assert_eq!(first["texts"][4], "5.00 ms ± 2.48 us");
    // Every depth is better than the others in one figure, and the two policies are alike.
    let over = |x: u64, y: u64| {
        let fronts = front["fronts"].as_array().expect("it has some");
        fronts.iter().find(|of| of["x"] == x && of["y"] == y).expect("it is there")["on"].clone()
    };
    assert_eq!((over(4, 6), over(0, 4)), (json!([0, 1, 2, 3, 4, 5]), json!([2, 5])));
    let by_depth = &specs(&page)[2]["spec"];
    assert_eq!((&by_depth["places"], &by_depth["joined"]), (&json!(["1", "2", "4"]), &json!(true)));
    assert_eq!(by_depth["means"][0], json!([0.0, 5_002_000.0, "1"]));
    assert_eq!(specs(&page)[1]["spec"]["joined"], false, "nothing is between two names");
    // Student's t of 3 seeds that are 1 us apart: 4.303 / sqrt(3).
    assert!(page.contains(">5.00 ms ± 2.48 us<"), "an interval over the seeds");
    assert!(page.contains("All 18 runs, one a seed") && page.contains("<caption>"));
    let missing = lacks(&page);
    assert!(missing.iter().any(|text| text.contains("neither histograms")) && missing.len() == 2, "{missing:?}");
    assert!(page.contains("all 18 runs were verified") && !page.contains("Failed runs"));
}

#[test]
fn failed_runs_stand_with_their_errors_and_count_in_no_mean() {
    let mut runs: Vec<SweptRun> = [1, 2].map(|depth| run(depth, "greedy", 1)).into();
    runs.push(failed(HOSTILE));
    let page = page_of(data(runs));
    let elements = elements(&page);
    assert!(!elements.iter().any(|element| element.name == "img"), "a message opens no element");
    assert!(!own(&page).contains("<img") && page.contains("ConfigError"));
    assert!(page.contains("id=\"failed\"") && page.contains("<td>failed</td>"));
    let front = &specs(&page)[0]["spec"];
    assert_eq!((&front["runs"][2]["means"][6], &front["fronts"][0]["on"]), (&Value::Null, &json!([1])));
    assert!(!page.contains("one a seed") && !page.contains('±'), "a single seed has no interval");
}

#[test]
fn a_sweep_without_figures_names_what_is_missing() {
    let only_failed = page_of(data(vec![failed("no room")]));
    elements(&only_failed);
    assert_eq!(ids(&only_failed), [""; 0]);
    let missing = lacks(&only_failed).join("\n");
    for lack in ["No Pareto front", "No pictures by key"] {
        assert!(missing.contains(lack), "{lack}: {missing}");
    }
    let bare = DataSet { varied: Vec::new(), runs: vec![run(1, "fifo", 1), run(1, "fifo", 1)], config: None };
    let missing = lacks(&page_of(bare)).join("\n");
    for lack in ["No varied keys", "agree in every varied key and the seed", "No configuration"] {
        assert!(missing.contains(lack), "{lack}: {missing}");
    }
}

#[test]
fn many_numbers_are_drawn_to_scale_and_a_long_front_is_listed_alone() {
    let runs = (1..=1000).map(|depth| run(depth, "greedy", 1)).collect();
    let page = page_of(data(runs));
    let specs = specs(&page);
    assert_eq!(specs[1]["spec"]["measure"], "number");
    assert_eq!(specs[1]["spec"]["means"].as_array().map(Vec::len), Some(8));
    let rows = elements(&page).iter().filter(|element| element.name == "tr").count();
    assert!(rows > 1000, "{rows} rows");
    let front = &specs[0]["spec"];
    let fronts = front["fronts"].as_array().expect("it has some");
    let chosen = fronts.iter().find(|of| of["x"] == front["y"] && of["y"] == front["x"]).expect("it is there");
    let on = chosen["on"].as_array().expect("it has some").len();
    assert!(on > 64 && on < 1000, "{on}");
    assert!(page.contains(&format!("{on} of 1,000 combinations are on the front. The table has these.")));
    assert_eq!(page.matches("<td>on the front</td>").count(), on);
}
