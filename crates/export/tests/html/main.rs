//! Pages: whole, closed in themselves, with a table for every picture, and harmless whatever names they show.

mod dataset;
mod hostile;
mod palette;
mod sweep;
mod validation;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use data_encoding::BASE64;
use flashloom_config::{Catalog, Experiment, Source};
use flashloom_export::html::{Document, page};
use flashloom_figures::result::{Comparison, RunResult};
use flashloom_run::{Prepared, Quiet};
use html5gum::{DefaultEmitter, Token, Tokenizer};
use serde_json::{Value, json};
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

/// A name that would leave its attribute, its element or its script if it were not escaped, move the cursor of a
/// terminal and turn the order of letters round.
const HOSTILE: &str =
    "\"'><img src=x onerror=alert(1)></title></style></script>&<!--\u{202e}\u{1b}[31m\u{9b}\u{200b}\n";

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

/// An element, as a browser reads it.
#[derive(Debug)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    /// The text in it, without that of elements within it.
    text: String,
}

impl Element {
    fn is(&self, attribute: &str, value: &str) -> bool {
        self.attributes.get(attribute).is_some_and(|found| found == value)
    }
}

/// Elements of a page in order, which it holds to be closed in order; nothing in it may be an error of HTML.
fn elements(page: &str) -> Vec<Element> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_owned()).expect("a page is text");
    let (mut found, mut open): (Vec<Element>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut emitter = DefaultEmitter::default();
    // Scripts, styles and titles have no elements.
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(page, emitter) {
        match token {
            Token::StartTag(tag) => {
                let name = text(&tag.name);
                if name != "meta" {
                    open.push(found.len());
                }
                let attributes = tag.attributes.iter().map(|(name, value)| (text(name), text(value))).collect();
                found.push(Element { name, attributes, text: String::new() });
            }
            Token::EndTag(tag) => {
                let closed = open.pop().map(|at| found[at].name.as_str());
                assert_eq!(closed, Some(text(&tag.name).as_str()), "elements are closed in order");
            }
            Token::String(of) => {
                let element = open.last().map(|&at| &mut found[at]);
                element.into_iter().for_each(|element| element.text.push_str(&text(&of)));
            }
            Token::Doctype(_) => assert!(found.is_empty(), "it comes first"),
            Token::Comment(_) | Token::Error(_) => panic!("{token:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    found
}

/// Texts of the elements of this name.
fn texts(page: &str, name: &str) -> Vec<String> {
    elements(page).into_iter().filter(|element| element.name == name).map(|element| element.text).collect()
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
    let pictures = [
        "Latency by percentile",
        "Mean latency by cause",
        "Throughput",
        "Latency by interval",
        "Write amplification of pages",
        "Free blocks",
        "Outstanding requests",
        "Dirty pages in the write buffer",
        "Busy share of each channel",
        "Busy share of each die",
        "Erases of a block since the drive was new, by plane and place in the plane",
    ];
    assert_eq!(texts(&page, "figcaption"), pictures);
    assert_eq!(ids(&page), (1..=11).map(|number| format!("chart-{number}")).collect::<Vec<_>>());
    let elements = elements(&page);
    for id in ids(&page) {
        let is_drawn = |of: &Element| of.is("id", &id) && of.is("role", "img") && of.is("tabindex", "0");
        assert!(elements.iter().any(is_drawn), "{id} has an element that the keyboard reaches");
    }
    let count = |name: &str| elements.iter().filter(|element| element.name == name).count();
    assert_eq!((count("figure"), count("details")), (11, 11), "each picture is a figure with a table");
    assert!(count("table") >= 14, "tables of overview, wear, configuration and origin, too");
    assert_eq!(lacks(&page), ["Pictures need JavaScript; the tables below hold the same figures."]);
    assert!(page.contains("workload.synthetic.read_share") && page.contains("run.series"), "the configuration");
    assert!(page.contains("sectors against the data last written"), "what was checked");
}

#[test]
fn a_page_loads_nothing_and_runs_its_own_scripts_alone() {
    let whole = page_of(run(&PICTURES));
    let (page, elements) = (own(&whole), elements(&whole));
    let hashes = |name: &str| -> String {
        let of_page = elements.iter().filter(|element| element.name == name && !element.is("type", "application/json"));
        let hash = |of: &Element| format!(" 'sha256-{}'", BASE64.encode(&Sha256::digest(&of.text)));
        of_page.map(hash).collect()
    };
    let policy = format!(
        "default-src 'none'; script-src{}; style-src{}; base-uri 'none'; form-action 'none'",
        hashes("script"),
        hashes("style")
    );
    let head: Vec<&Element> = elements.iter().take_while(|element| element.name != "title").collect();
    assert!(head.iter().any(|meta| meta.is("http-equiv", "Content-Security-Policy") && meta.is("content", &policy)));
    assert!(!whole.contains('\r'), "a browser would read another character, and find another hash");
    for loads in ["src=", "http:", "https:", "url(", "@import", "import(", "fetch(", "<link", "<iframe"] {
        assert!(!page.contains(loads), "{loads}");
    }
}

#[test]
fn what_a_result_lacks_is_named_where_the_picture_would_be() {
    // A verified run keeps an anatomy anyway.
    let bare = page_of(run_with(&[], false));
    assert_eq!(texts(&bare, "figcaption"), ["Latency by percentile"]);
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
    let pictures = [
        "Latency of reads by percentile",
        "Latency of writes by percentile",
        "Latency of all requests by percentile",
        "Combinations that no other beats",
        "Mean latency of reads by cause",
        "Mean latency of writes by cause",
    ];
    assert_eq!(texts(&page, "figcaption"), pictures);
    let choices: Vec<_> = elements(&page).iter().filter_map(|of| of.attributes.get("data-name").cloned()).collect();
    assert_eq!(choices, ["reads", "writes", "all", "reads", "writes"]);
    let front = &specs(&page)[3]["spec"];
    assert_eq!(front["runs"].as_array().map(Vec::len), Some(4));
    assert_eq!(front["fronts"].as_array().map(Vec::len), Some(45), "each two of ten figures");
    let (x, y) = (&front["figures"][6]["name"], &front["figures"][0]["name"]);
    assert_eq!((&front["x"], &front["y"]), (&json!(6), &json!(0)), "as many blocks are erased in all runs");
    assert_eq!((x, y), (&json!("p99.9 of all requests"), &json!("requests a second")));
    assert!(page.contains("of one run each nobody knows what is chance"));
    for label in ["1: scheduler noop, queue_depth 2", "4: scheduler deadline, queue_depth 8"] {
        assert!(page.contains(label), "{label}");
    }
    assert!(lacks(&page).iter().any(|text| text.contains("No expectations")));
    let only = Document::Comparison(comparison.clone()).only(4).expect("there are four");
    assert!(matches!(only, Document::Run(result) if result == comparison.runs[3].result));
    let beyond = Document::Comparison(comparison).only(5).expect_err("there are four");
    assert_eq!(beyond.found, "run 5 of 4");
}

#[test]
fn a_comparison_with_seeds_shows_means_with_intervals_and_a_curve_for_each_combination() {
    let mut repeated = comparison(&PICTURES);
    // Two combinations of two seeds: the figures of one depth stand for those of one seed.
    let kept = |at: usize| json!({ "vary": repeated.runs[at].vary, "seeds": [1, 2], "figures": {} });
    let kept = [kept(0), kept(2)].map(|kept| serde_json::from_value(kept).expect("it is one"));
    repeated.repeated = kept.to_vec();
    for (at, run) in repeated.runs.iter_mut().enumerate() {
        run.result.config.change(|config| config["run"]["seed"] = (1 + at % 2).into());
    }
    let page = page("compare.json", &Document::Comparison(repeated));
    let front = &specs(&page)[3]["spec"];
    assert_eq!(front["runs"].as_array().map(Vec::len), Some(2));
    assert!(front["runs"][0]["texts"][0].as_str().is_some_and(|text| text.contains(" ± ")), "{front}");
    assert!(page.contains("Means of 2 seeds") && page.contains("All 4 runs, one a seed"));
    assert!(page.contains("95 % interval of their difference"));
    let curves = &specs(&page)[0]["spec"]["lines"];
    let names: Vec<_> = (0..2).map(|at| curves[at]["name"].as_str().expect("it has a name")).collect();
    assert_eq!(names, ["1: scheduler noop, queue_depth 2", "2: scheduler deadline, queue_depth 2"]);
    assert!(page.contains("that of seed 1; the table of runs has means"));
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
    result.config.change(|config| config["device"]["channels"] = 0.into());
    elements(&page_of(result));
}

#[test]
fn a_document_that_is_none_is_refused_with_its_place() {
    let refused = |text: &str| Document::read("r.json", text).expect_err("it is no result").to_string();
    let broken = refused("{\n  \"schema\": oops\n}");
    assert!(broken.contains("r.json:2:13") && broken.contains("expected JSON"), "{broken}");
    assert!(refused("{}").contains("no `schema`"));
    let other = refused("{\"schema\": \"flashloom/result/9\"}");
    assert!(other.contains("flashloom/result/9") && other.contains("flashloom/result/2"), "{other}");
    let older = refused("{\"schema\": \"flashloom/result/1\", \"config\": {}}");
    assert!(older.contains("missing field `host`") && older.contains("--> r.json\n"), "{older}");
    let partial = refused("{\"schema\": \"flashloom/result/2\", \"config\": {}}");
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
