//! Pages: whole, closed in themselves, with a table for every picture, and harmless whatever names they show.

mod dataset;
mod sweep;

use std::fs;
use std::path::PathBuf;

use flashloom_experiment::config::{Catalog, Experiment, Source};
use flashloom_experiment::result::{Comparison, RunResult};
use flashloom_experiment::run::{Prepared, Quiet};
use flashloom_report::html::{Document, page};
use serde_json::Value;
use sha2::{Digest, Sha256};

const SMALL: &str = r#"
[workload.synthetic]
requests = 2000
read_share = 0.5

[device]
channels = 2
ways = 2
blocks = 96
pages = 32
over_provisioning = 0.25

[buffer]
capacity = "1MiB"
"#;

const PICTURES: [&str; 2] = ["run.series=10ms", "run.anatomy=true"];

/// A name that would end the script or open an element if it were not escaped.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&<!--";

fn experiment(sets: &[&str], varies: Option<&[&str]>) -> Experiment {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let varies = varies.map(owned);
    let source = Source::text("small.toml", SMALL);
    Experiment::from_source(&Catalog::builtin(), source, &owned(sets), varies.as_deref())
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn run(sets: &[&str]) -> RunResult {
    run_with(sets, true)
}

fn run_with(sets: &[&str], verify: bool) -> RunResult {
    let experiment = experiment(sets, None);
    let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
    prepared.run_variant(0, verify, &Quiet).unwrap_or_else(|failure| panic!("{failure}"))
}

fn comparison(sets: &[&str]) -> Comparison {
    let experiment = experiment(sets, Some(&["host.scheduler=noop,deadline", "host.queue_depth=2,8"]));
    let prepared = Prepared::new(&experiment).unwrap_or_else(|problems| panic!("{problems}"));
    prepared.compare(false, &Quiet).unwrap_or_else(|failure| panic!("{failure}"))
}

fn page_of(result: RunResult) -> String {
    page("result.json", &Document::Run(Box::new(result)))
}

/// A page without the vendored library, whose text is not ours.
fn own(page: &str) -> String {
    let library = fs::read_to_string(vendor("echarts.min.js")).expect("it is checked in");
    assert!(page.contains(&library), "the library is in the page, unmodified");
    page.replace(&library, "")
}

fn vendor(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vendor/echarts-6.1.0").join(file)
}

/// Elements of a page in order, which it holds to be closed in order; scripts and styles are skipped as browsers do.
fn elements(page: &str) -> Vec<String> {
    let (mut found, mut open, mut rest) = (Vec::new(), Vec::new(), page);
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag ends");
        rest = after;
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "elements are closed in order");
            continue;
        }
        let name = tag.split_whitespace().next().unwrap_or_default().to_owned();
        found.push(tag.to_owned());
        if ["script", "style"].contains(&name.as_str()) {
            rest = rest.split_once(&format!("</{name}>")).expect("it is closed").1;
        } else if !["meta", "img", "br"].contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    found
}

/// Specifications of the pictures of a page.
fn specs(page: &str) -> Vec<Value> {
    let (_, after) =
        page.split_once("<script type=\"application/json\" id=\"charts\">").expect("pictures have numbers");
    let (json, _) = after.split_once("</script>").expect("it is closed");
    serde_json::from_str(json).expect("it is JSON")
}

fn ids(page: &str) -> Vec<String> {
    specs(page).iter().map(|spec| spec["id"].as_str().expect("it has a name").to_owned()).collect()
}

fn lacks(page: &str) -> Vec<String> {
    let after = page.split("<p class=\"missing\">").skip(1);
    after.map(|text| text.split("</p>").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_page_of_a_run_has_every_picture_with_its_table_and_lacks_nothing() {
    let page = page_of(run(&PICTURES));
    let pictures =
        ["latency", "anatomy", "throughput", "latencies", "waf", "free", "queue", "dirty", "channels", "dies", "wear"];
    assert_eq!(ids(&page), pictures.map(|name| format!("chart-{name}")));
    let elements = elements(&page);
    for id in ids(&page) {
        let drawn = elements.iter().any(|tag| {
            tag.contains(&format!("id=\"{id}\"")) && tag.contains("role=\"img\"") && tag.contains("tabindex=\"0\"")
        });
        assert!(drawn, "{id} has an element that the keyboard reaches");
    }
    let count = |name: &str| elements.iter().filter(|tag| tag.split_whitespace().next() == Some(name)).count();
    assert_eq!((count("figure"), count("details")), (11, 11), "each picture is a figure with a table");
    assert!(count("table") >= 14, "tables of overview, wear, configuration and origin, too");
    assert_eq!(lacks(&page), ["Pictures need JavaScript; the tables below hold the same figures."]);
    assert!(page.contains("workload.synthetic.read_share") && page.contains("run.series"), "the configuration");
    assert!(page.contains("sectors against the data last written"), "what was checked");
}

#[test]
fn a_page_loads_nothing() {
    let page = own(&page_of(run(&PICTURES)));
    assert!(page.contains("content=\"default-src 'none'; script-src 'unsafe-inline';"));
    for loads in ["src=", "http:", "https:", "url(", "@import", "import(", "fetch(", "<link", "<iframe"] {
        assert!(!page.contains(loads), "{loads}");
    }
}

#[test]
fn a_name_can_neither_end_a_script_nor_open_an_element() {
    let mut comparison = comparison(&PICTURES);
    let plain = page("plain.json", &Document::Comparison(comparison.clone()));
    for run in &mut comparison.runs {
        run.vary.insert("host.scheduler".to_owned(), HOSTILE.into());
        run.result.config["host"]["scheduler"] = HOSTILE.into();
        let provenance = run.result.provenance.as_mut().expect("it has an origin");
        provenance.inputs[0].name = HOSTILE.to_owned();
    }
    let hostile = page(HOSTILE, &Document::Comparison(comparison));
    let names = |page: &str| -> Vec<String> {
        elements(page).iter().map(|tag| tag.split_whitespace().next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(names(&hostile), names(&plain), "the same elements, whatever the names");
    assert!(!own(&hostile).contains("<img"));
    assert!(specs(&hostile)[0].to_string().contains("onerror"), "the name is there, as text");
}

#[test]
fn what_a_result_lacks_is_named_where_the_picture_would_be() {
    // A verified run keeps an anatomy anyway.
    let bare = page_of(run_with(&[], false));
    assert_eq!(ids(&bare), ["chart-latency"]);
    let lacking = lacks(&bare).join("\n");
    for key in ["run.series, to 100ms", "run.anatomy = true", "six percentiles", "--verify"] {
        assert!(lacking.contains(key), "{key}: {lacking}");
    }
    let counting = page_of(run(&["run.timing=counting"]));
    assert_eq!(ids(&counting), [""; 0]);
    assert!(lacks(&counting).join("\n").contains("run.timing = &quot;timed&quot;"));
    elements(&counting);
}

#[test]
fn a_page_of_a_comparison_has_a_front_and_every_run() {
    let comparison = comparison(&PICTURES);
    let page = page("compare.json", &Document::Comparison(comparison.clone()));
    elements(&page);
    assert_eq!(ids(&page), ["chart-front", "chart-latency", "chart-anatomy"]);
    let points = specs(&page)[0]["spec"]["points"].as_array().expect("it has points").clone();
    assert_eq!(points.len(), 4);
    assert!(points.iter().any(|point| point[3] == true), "some run is on the front");
    for label in ["1: scheduler noop, queue_depth 2", "4: scheduler deadline, queue_depth 8"] {
        assert!(page.contains(label), "{label}");
    }
    assert!(lacks(&page).iter().any(|text| text.contains("No expectations")));
    let only = Document::Comparison(comparison.clone()).only(4).expect("there are four");
    assert!(matches!(only, Document::Run(result) if *result == comparison.runs[3].result));
    let beyond = Document::Comparison(comparison).only(5).expect_err("there are four");
    assert_eq!(beyond.found, "run 5 of 4");
}

#[test]
fn an_empty_comparison_and_an_empty_series_are_pages_too() {
    let mut empty = comparison(&[]);
    empty.runs.clear();
    elements(&page("empty.json", &Document::Comparison(empty)));
    let mut result = run(&PICTURES);
    let series = result.series.as_mut().expect("it has a series");
    series.end_ns.clear();
    elements(&page_of(result.clone()));
    let series = result.series.as_mut().expect("it has a series");
    (series.end_ns, series.die_busy.parts_per_row) = (vec![9, 3, 3], 0);
    result.config["device"]["channels"] = 0.into();
    elements(&page_of(result));
}

#[test]
fn a_document_that_is_none_is_refused_with_its_place() {
    let refused = |text: &str| Document::read("r.json", text).expect_err("it is no result").to_string();
    let broken = refused("{\n  \"schema\": oops\n}");
    assert!(broken.contains("r.json:2:13") && broken.contains("expected JSON"), "{broken}");
    assert!(refused("{}").contains("no `schema`"));
    let other = refused("{\"schema\": \"flashloom/result/9\"}");
    assert!(other.contains("flashloom/result/9") && other.contains("flashloom/result/1"), "{other}");
    let partial = refused("{\"schema\": \"flashloom/result/1\", \"config\": {}}");
    assert!(partial.contains("missing field") && partial.contains("schema/result.json"), "{partial}");
    assert!(refused("").contains("r.json"));
    let text = serde_json::to_string(&run(&PICTURES)).expect("a result is JSON");
    assert!(matches!(Document::read("r.json", &text), Ok(Document::Run(_))));
}

#[test]
fn the_library_is_that_of_its_package_and_small() {
    let sums = fs::read_to_string(vendor("SHA256SUMS")).expect("it is checked in");
    let listed: Vec<_> =
        sums.lines().filter_map(|line| line.split_once("  ").filter(|_| !line.starts_with('#'))).collect();
    let mut files: Vec<_> = listed.iter().map(|(_, file)| *file).collect();
    files.sort_unstable();
    assert_eq!(files, ["LICENSE", "NOTICE", "echarts.min.js"]);
    for (sum, file) in listed {
        let bytes = fs::read(vendor(file)).expect("it is checked in");
        assert_eq!(format!("{:x}", Sha256::digest(&bytes)), sum, "{file} is unmodified");
    }
    let library = fs::read_to_string(vendor("echarts.min.js")).expect("it is text");
    assert!(library.len() < 1_500_000, "{} bytes", library.len());
    for ends in ["</script", "<!--"] {
        assert!(!library.contains(ends), "{ends} would end the script that it stands in");
    }
}
