//! The figures of docs/which-stack.md: the memory of each mapping, from the formula beside it and the pages and blocks
//! that the program gives each drive; and those of its tables and gains, from the reports in docs/reproduction/results.

use std::collections::BTreeMap;

use flashloom::figures::estimate::Estimate;
use serde_json::Value;

use crate::support::{experiment, read};

/// Bytes of a page or block number.
const NUMBER: u64 = 4;

fn document() -> String {
    read("docs/which-stack.md")
}

fn report(name: &str) -> Value {
    serde_json::from_str(&read(&format!("docs/reproduction/results/{name}.json"))).expect("a report is JSON")
}

/// Log blocks of a die in the stacks that the document compares: the same in all of them.
fn log_blocks() -> u64 {
    let stacks = read("crates/study/data/published/together.toml");
    let digits = |after: &str| after.chars().take_while(char::is_ascii_digit).collect::<String>();
    let mut given: Vec<String> = stacks.split(".log_blocks=").skip(1).map(digits).collect();
    given.dedup();
    assert_eq!(given.len(), 1, "{given:?}");
    given[0].parse().expect("it is a number")
}

/// Memory of DFTL's cache on a drive, in KiB.
fn cache_kib(preset: &str) -> u64 {
    let config = experiment(preset, &["ftl.mapping=dftl"]).variants[0].config.to_json();
    let cache = config["ftl"]["dftl"]["cache"].as_str().expect("a size").to_owned();
    cache.strip_suffix("KiB").and_then(|size| size.parse().ok()).unwrap_or_else(|| panic!("{cache} in KiB"))
}

/// Memory for the map of a drive: of a page map, of DFTL and of log blocks.
fn maps(preset: &str) -> [u64; 3] {
    let experiment = experiment(preset, &[]);
    let device = &experiment.variants[0].config.device;
    let (geometry, pages) = (device.geometry(), device.logical_pages());
    let block = u64::from(geometry.pages);
    let entries = u64::from(geometry.page_bytes) / NUMBER;
    let data_blocks = pages.div_ceil(block);
    let log_pages = u64::from(geometry.total_dies()) * log_blocks() * block;
    let cache = cache_kib(preset) << 10;
    [NUMBER * pages, cache + NUMBER * pages.div_ceil(entries), NUMBER * (data_blocks + log_pages)]
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
    let document = document();
    let presets = ["mlc-16g", "kingston-mlc-60g", "nvme-tlc-512g"];
    let drives = presets.map(maps);
    let mut lacking = Vec::new();
    for (mapping, name) in ["`page`", "`dftl`", "log blocks"].iter().enumerate() {
        let [first, second, third] = drives.map(|maps| size(maps[mapping]));
        let expected = format!("| {first} | {second} | {third} |");
        let is_row = |line: &str| line.starts_with(&format!("| {name}")) && line.ends_with(&expected);
        if !document.lines().any(is_row) {
            lacking.push(format!("{name}: {expected}"));
        }
    }
    lacking.extend(lacking_of(&document, [format!("({} a die)", log_blocks())]));
    lacking
        .extend(lacking_of(&document, presets.map(|preset| format!("`ftl.dftl.cache` ({} KiB)", cache_kib(preset)))));
    assert!(lacking.is_empty(), "docs/which-stack.md lacks:\n{}", lacking.join("\n"));
}

/// What a document does not hold.
fn lacking_of(document: &str, expected: impl IntoIterator<Item = String>) -> Vec<String> {
    let words = document.split_whitespace().collect::<Vec<_>>().join(" ");
    expected.into_iter().filter(|text| !words.contains(text.as_str())).collect()
}

/// A mean with half the width of its interval.
type Shown = (f64, f64);

fn interval(value: &Value) -> Shown {
    let of = |key: &str| value[key].as_f64().unwrap_or_else(|| panic!("no {key} in {value}"));
    (of("mean"), of("high") - of("mean"))
}

/// The effect of a row.
fn effect(report: &Value, id: &str) -> Shown {
    let mut rows = report["rows"].as_array().expect("a list").iter();
    interval(&rows.find(|row| row["id"] == id).unwrap_or_else(|| panic!("no row {id}"))["effect"])
}

/// A figure with its interval as the document writes it, with so many digits.
fn shown((mean, half_width): Shown, digits: usize) -> String {
    let number = |value: f64| {
        let text = format!("{value:.digits$}");
        text.strip_prefix('-').filter(|rest| rest.chars().all(|c| "0.".contains(c))).map_or(text.clone(), str::to_owned)
    };
    format!("{} ± {}", number(mean), number(half_width))
}

/// True if a cell says that figure, each part in the digits that it has there.
fn says(cell: &str, figure: Shown) -> bool {
    let parts: Vec<String> = cell.split(" ± ").map(|part| part.replace(',', "")).collect();
    let digits = |part: &str| part.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let [mean, half_width] = &parts[..] else { return false };
    let rounded = |digits| shown(figure, digits);
    rounded(digits(mean)).split(" ± ").next() == Some(mean)
        && rounded(digits(half_width)).split(" ± ").nth(1) == Some(half_width)
}

/// Cells of the table of a section, without its heading.
fn table(document: &str, section: &str) -> Vec<Vec<String>> {
    let (_, rest) = document.split_once(&format!("\n## {section}")).unwrap_or_else(|| panic!("no section {section}"));
    let lines = rest.split("\n## ").next().expect("a part").lines().filter(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    lines.skip(2).map(cells).collect()
}

/// Workloads as the document names them and as the reports do.
const WORKLOADS: [(&str, &str); 13] = [
    ("file server", "fileserver"),
    ("web server", "webserver"),
    ("mail server", "varmail"),
    ("database", "oltp"),
    ("prxy", "prxy"),
    ("dtrs", "dtrs"),
    ("OLTP sample", "financial"),
    ("Keks", "keks"),
    ("cloudphysics", "cloudphysics"),
    ("Windows PC", "windows-pc"),
    ("Linux desktop", "linux-desktop"),
    ("Postmark", "postmark"),
    ("IOzone", "iozone"),
];

fn workload(named: &str) -> &'static str {
    let known = WORKLOADS.iter().find(|(name, _)| named == *name || named.starts_with(&format!("{name} (")));
    known.unwrap_or_else(|| panic!("no workload is named {named}")).1
}

/// A workload, and two stacks.
type Pair<'a> = (&'a str, &'a str, &'a str);

/// Requests a second of every stack with every workload, a figure each seed.
struct Stacks(BTreeMap<String, Vec<f64>>);

impl Stacks {
    fn read() -> Self {
        let text = read("docs/reproduction/results/csv/together-runs.csv");
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let heading = lines.next().expect("it has one");
        let column = heading.iter().position(|name| *name == "host.iops").expect("it has that column");
        let mut of: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        // Those with a null have commas in its name; they are no stacks.
        for cells in lines.filter(|cells| cells.len() == heading.len() && cells[1].is_empty()) {
            of.entry(cells[0].to_owned()).or_default().push(cells[column].parse().expect("a figure"));
        }
        Self(of)
    }

    fn of(&self, workload: &str, stack: &str) -> &[f64] {
        self.0.get(&format!("{workload}-{stack}")).unwrap_or_else(|| panic!("no {stack} with {workload}"))
    }

    fn mean(&self, workload: &str, stack: &str) -> f64 {
        Estimate::of(self.of(workload, stack)).mean
    }

    /// What one stack serves more than another, in percent, by pairs of the same seed.
    fn gain(&self, (workload, one, other): Pair<'_>) -> Estimate {
        let pairs = self.of(workload, one).iter().zip(self.of(workload, other));
        Estimate::of(&pairs.map(|(one, other)| 100.0 * (one / other - 1.0)).collect::<Vec<_>>())
    }

    /// [`Self::gain`] as the document states it.
    fn stated(&self, pair: Pair<'_>) -> Shown {
        let Estimate { mean, half_width } = self.gain(pair);
        (mean, half_width)
    }
}

/// The stacks of the columns of the table of log blocks, with what each is called and how many of CAVE and KAST it has.
const COLUMNS: [(&str, &str, u32); 4] =
    [("fast", "FAST", 0), ("cave-fast", "CAVE, FAST", 1), ("room", "KAST", 1), ("cave-room", "CAVE, KAST", 2)];

#[test]
fn the_table_of_log_blocks_is_that_of_the_report_and_says_what_to_take() {
    let (report, stacks) = (report("together"), Stacks::read());
    let tables = report["tables"].as_array().expect("a list");
    let named = |of: &&Value| of["title"] == "Every stack with every workload: requests a second";
    let figures = tables.iter().find(named).expect("it is there");
    let at =
        |workload: &str| figures["columns"].as_array().and_then(|names| names.iter().position(|it| it == workload));
    let line = |stack: &str| {
        let mut lines = figures["lines"].as_array().expect("a list").iter();
        lines.find(|line| line["experiment"] == stack).unwrap_or_else(|| panic!("no {stack}"))
    };
    let rows = table(&document(), "Log blocks");
    assert_eq!(rows.len(), WORKLOADS.len());
    for row in rows {
        let workload = workload(&row[0]);
        let column = at(workload).expect("it has a column");
        for (cell, (stack, ..)) in row[1..].iter().zip(COLUMNS) {
            let figure = interval(&line(stack)["figures"][column]);
            assert!(says(cell, figure), "{workload}, {stack}: {cell}, where the report has {figure:?}");
        }
        let mean = |stack: &str| stacks.mean(workload, stack);
        let by_mean = |one: &&(&str, &str, u32), other: &&(&str, &str, u32)| mean(one.0).total_cmp(&mean(other.0));
        let (best, ..) = COLUMNS.iter().max_by(by_mean).expect("there are some");
        let will_do = |stack: &str| mean(stack) >= 0.99 * mean(best) || stacks.gain((workload, stack, best)).holds(0.0);
        let taken = COLUMNS.iter().filter(|(stack, ..)| will_do(stack)).min_by_key(|(.., parts)| parts);
        assert_eq!(taken.map(|(_, name, _)| *name), Some(&*row[5]), "{workload}");
    }
}

/// Gains of one stack over another that the text states, with the workload.
const GAINS: [Pair<'_>; 19] = [
    ("webserver", "pd-page", "page"),
    ("keks", "pd-page", "page"),
    ("linux-desktop", "pd-page", "page"),
    ("postmark", "pd-page", "page"),
    ("iozone", "pd-page", "page"),
    ("oltp", "pd-page", "page"),
    ("postmark", "cave-room", "page"),
    ("windows-pc", "cave-page", "page"),
    ("windows-pc", "slap", "page"),
    ("windows-pc", "cave-slap", "page"),
    ("varmail", "slap", "page"),
    ("fileserver", "cave-room", "room"),
    ("financial", "cave-room", "room"),
    ("windows-pc", "kast", "fast"),
    ("cloudphysics", "kast", "fast"),
    ("webserver", "streams", "room"),
    ("webserver", "pd-streams", "room"),
    ("fileserver", "streams", "room"),
    ("financial", "cave-streams", "cave-room"),
];

#[test]
fn the_text_states_gains_that_the_report_has() {
    let stacks = Stacks::read();
    let lacking = lacking_of(&document(), GAINS.map(|pair| shown(stacks.stated(pair), 1)));
    assert!(lacking.is_empty(), "docs/which-stack.md lacks: {lacking:?}");
    for (_, workload) in WORKLOADS {
        let gain = stacks.gain((workload, "bast", "room"));
        assert!(gain.high() < 0.0, "{workload}: BAST beside KAST, {gain:?}");
    }
}

#[test]
fn the_text_states_the_least_and_the_most_that_the_rate_of_cave_takes_off() {
    let report = report("cave");
    let rows = report["rows"].as_array().expect("a list").iter();
    let of = |row: &Value| {
        let (mean, half_width) = interval(&row["effect"]);
        (row["id"].as_str().expect("an id").to_owned(), (-100.0 * mean, 100.0 * half_width))
    };
    let is_alone = |row: &&Value| row["id"].as_str().is_some_and(|id| id.contains("-rate-alone-"));
    let mut taken: Vec<(String, Shown)> = rows.filter(is_alone).map(of).collect();
    taken.sort_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
    let [(least, fewest), .., (most, largest)] = &taken[..] else { panic!("{} rows", taken.len()) };
    let expected = format!(
        "takes {} (`cave#{least}`) to {} % (`cave#{most}`) off the time",
        shown(*fewest, 1),
        shown(*largest, 1)
    );
    assert_eq!(lacking_of(&document(), [expected]), [""; 0]);
}

#[test]
fn the_table_of_the_host_is_that_of_the_report() {
    let report = report("pardispatcher");
    let drives = [
        ("31 requests at once (NCQ)", "figure-3-{}"),
        ("4 at once", "{}-depth-4"),
        ("1 at once (no NCQ)", "figure-3-{}-depth-1"),
        ("1 at once, programs of 325 us", "figure-3-{}-depth-1-325us"),
        ("1 at once, DFTL (found by search)", "figure-3-{}-depth-1-dftl"),
    ];
    let mut group = "";
    let rows = table(&document(), "The host");
    assert!(rows.len() >= 14, "{} rows", rows.len());
    for row in rows {
        if !row[0].is_empty() {
            group = drives.iter().find(|(drive, _)| *drive == row[0]).unwrap_or_else(|| panic!("{row:?}")).1;
        }
        for (cell, over) in row[2..].iter().zip(["noop", "best"]) {
            let id = format!("{}-over-{over}", group.replace("{}", workload(&row[1])));
            let figure = effect(&report, &id);
            assert!(says(cell, figure), "{id}: {cell}, where the report has {figure:?}");
        }
    }
    let named = [("fileserver-regions-1-over-noop", 1), ("map-512MiB-over-one", 1)];
    let named = named.map(|(id, digits)| shown(effect(&report, id), digits));
    assert_eq!(lacking_of(&document(), named), [""; 0]);
}

#[test]
fn the_table_of_the_allocation_is_that_of_the_reports() {
    let (report, stacks) = (report("slap"), Stacks::read());
    let of_slap = [
        "collection-bound-proxy-even",
        "figures-5-6-sequential-best",
        "figures-5-6-proxy-mean",
        "figures-5-6-concat-mean",
    ];
    let of_stacks = [("windows-pc", "slap", "page"), ("windows-pc", "cave-slap", "page"), ("varmail", "slap", "page")];
    let gains = of_stacks.map(|pair| stacks.stated(pair));
    let expected: Vec<Shown> = of_slap.map(|id| effect(&report, id)).into_iter().chain(gains).collect();
    let rows = table(&document(), "Allocation");
    assert_eq!(rows.len(), expected.len());
    for (row, figure) in rows.iter().zip(expected) {
        assert!(says(&row[2], figure), "{row:?}, where the report has {figure:?}");
    }
}
