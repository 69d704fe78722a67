//! Sections of the report on the data set of a sweep.

use std::collections::{BTreeMap, BTreeSet};

use flashloom_figures::core_figure::CoreFigure;
use flashloom_figures::estimate::Estimate;
use flashloom_figures::number::{count, time};
use flashloom_figures::result::plain;
use serde_json::Value;

use super::chart::Table;
use super::comparison::label;
use super::facts;
use super::figure::{FIGURES, P99_9, WAF, estimated};
use super::front::{Candidate, front};
use super::long::{Cell, Long};
use super::section::{Part, Section};
use super::values;
use crate::dataset::{DataSet, Rank, SweptRun, amount};

const VERIFIED: &str = "integrity.verified";
const SECONDS: &str = "run.wall_seconds";

/// Columns that are read besides the status and the varied keys of a run.
pub(super) fn figure_columns() -> Vec<&'static str> {
    FIGURES.iter().map(|figure| figure.path).chain([VERIFIED, SECONDS]).collect()
}

/// Keys whose pictures are drawn, at most.
const MAX_KEYS: usize = 8;
/// Values of a key that are listed, at most.
const MAX_LISTED: usize = 8;

/// Runs of the same values.
struct Point<'a> {
    number: usize,
    label: String,
    runs: &'a [SweptRun],
    ended: Vec<&'a SweptRun>,
}

impl Point<'_> {
    /// A figure of the runs that ended; nothing if one has no such figure.
    fn values(&self, figure: &CoreFigure) -> Option<Vec<f64>> {
        let values: Option<Vec<f64>> = self.ended.iter().map(|run| run.number(figure.path)).collect();
        values.filter(|values| !values.is_empty())
    }

    fn candidate(&self) -> Candidate {
        Candidate {
            label: self.label.clone(),
            seeds: self.ended.iter().map(|run| run.cell("seed").map_or_else(String::new, Value::to_string)).collect(),
            figures: FIGURES.iter().map(|figure| self.values(figure)).collect(),
        }
    }

    fn status(&self) -> String {
        match (self.runs.len() - self.ended.len(), self.runs.len()) {
            (0, _) => "ok".to_owned(),
            (failed, all) if failed == all => "failed".to_owned(),
            (failed, all) => format!("{failed} of {all} failed"),
        }
    }
}

/// The sections, in order.
pub(super) fn sections(data: &DataSet) -> Vec<Section> {
    let points: Vec<Point<'_>> = (1..).zip(data.points()).map(|(number, runs)| point(number, runs, data)).collect();
    let is_timed = points.iter().any(|point| point.values(&FIGURES[P99_9]).is_some());
    let drawn = &FIGURES[if is_timed { P99_9 } else { WAF }];
    let candidates: Vec<Candidate> = points.iter().map(Point::candidate).collect();
    let mut sections = vec![
        Section { id: "overview", title: "Sweep", parts: overview(data, &points) },
        Section { id: "runs", title: "Runs", parts: runs(data, &points) },
        Section { id: "front", title: "Pareto front", parts: front(&candidates) },
        Section { id: "keys", title: "By key", parts: by_key(data, &points, drawn) },
        Section { id: "lacks", title: "Not in a data set", parts: vec![lacks()] },
        Section { id: "checks", title: "What was checked", parts: checks(data) },
        Section { id: "configuration", title: "Configuration", parts: configuration(data) },
    ];
    if !data.runs.iter().all(SweptRun::has_ended) {
        sections.insert(2, Section { id: "failed", title: "Failed runs", parts: vec![failures(data, &points)] });
    }
    sections
}

fn point<'a>(number: usize, runs: &'a [SweptRun], data: &DataSet) -> Point<'a> {
    let vary = data.varied.iter().filter_map(|key| Some((key, runs[0].cell(key)?)));
    Point { number, label: label(number, vary), runs, ended: runs.iter().filter(|run| run.has_ended()).collect() }
}

/// Values of a column in their order, each once.
fn distinct<'a>(data: &'a DataSet, column: &str) -> Vec<&'a Value> {
    let mut values: Vec<&Value> = data.runs.iter().filter_map(|run| run.cell(column)).collect();
    values.sort_by_cached_key(|value| Rank::of(Some(value)));
    values.dedup();
    values
}

fn overview(data: &DataSet, points: &[Point<'_>]) -> Vec<Part> {
    let failed = data.runs.iter().filter(|run| !run.has_ended()).count();
    let number = |number: usize| count(number as u64);
    let mut rows = vec![
        ("runs", number(data.runs.len())),
        ("failed", number(failed)),
        ("combinations", number(points.len())),
        ("seeds", listed(&distinct(data, "seed"))),
    ];
    rows.extend(data.varied.iter().map(|key| (key.as_str(), listed(&distinct(data, key)))));
    if !data.varied.iter().any(|key| key == "version") {
        rows.push(("flashloom", data.runs[0].text("version").to_owned()));
    }
    let seconds: f64 = data.runs.iter().filter_map(|run| run.number(SECONDS)).sum();
    rows.push(("time of all runs", time(seconds * 1e9)));
    let mut parts = vec![Part::Table(Table::pairs(rows))];
    if data.varied.is_empty() {
        let lacks = "No varied keys: the files do not name any, as those that flashloom.sweep writes do.";
        parts.push(Part::Missing(lacks.to_owned()));
    }
    let is_mixed = |point: &&Point<'_>| {
        let seeds: BTreeSet<String> =
            point.runs.iter().map(|run| run.cell("seed").map_or_else(String::new, Value::to_string)).collect();
        seeds.len() < point.runs.len()
    };
    let mixed = points.iter().filter(is_mixed).count();
    if mixed > 0 {
        parts.push(Part::Missing(format!(
            "{mixed} combinations have runs that agree in every varied key and the seed, but not in the rest: in the \
             experiment, its inputs, or the source of a policy. Their means are over all of these. Give each \
             experiment a folder of its own."
        )));
    }
    parts
}

/// Values one by one if they are few, else their number and range.
fn listed(values: &[&Value]) -> String {
    match values {
        [first, .., last] if values.len() > MAX_LISTED => {
            let range = format!("{} to {}", facts::short(first), facts::short(last));
            let is_range = amount(first).is_some() && amount(last).is_some();
            let texts = || values[..MAX_LISTED].iter().map(|value| facts::short(value)).collect::<Vec<_>>().join(", ");
            format!("{} values: {}", count(values.len() as u64), if is_range { range } else { texts() + ", ..." })
        }
        few => few.iter().map(|value| facts::short(value)).collect::<Vec<_>>().join(", "),
    }
}

/// Cells of the varied values of a run.
fn varied(data: &DataSet, run: &SweptRun) -> Vec<Cell> {
    let cell = |value: &Value| match amount(value) {
        Some((_, number)) => Cell::number(number, facts::short(value)),
        None => Cell::text(plain(value)),
    };
    data.varied.iter().map(|key| run.cell(key).map_or_else(Cell::default, cell)).collect()
}

fn whole(number: usize) -> Cell {
    Cell::number(number as f64, count(number as u64))
}

fn seed(run: &SweptRun) -> Cell {
    run.cell("seed").map_or_else(Cell::default, |seed| Cell::number(seed.as_f64().unwrap_or(0.0), seed.to_string()))
}

fn columns(data: &DataSet, first: &str, last: &[&str]) -> Vec<String> {
    let keys = data.varied.iter().map(String::as_str);
    std::iter::once(first).chain(keys).chain(last.iter().copied()).map(str::to_owned).collect()
}

fn runs(data: &DataSet, points: &[Point<'_>]) -> Vec<Part> {
    let figures: Vec<&str> = FIGURES.iter().map(|figure| figure.label).collect();
    let has_seeds = points.iter().any(|point| point.runs.len() > 1);
    let row = |point: &Point<'_>| {
        let estimate = |figure: &CoreFigure| match point.values(figure).map(|values| Estimate::of(&values)) {
            Some(estimate) => Cell::number(estimate.mean, estimated(estimate, point.ended.len(), figure.format)),
            None => Cell::text("-"),
        };
        let status = [whole(point.ended.len()), Cell::text(point.status())];
        let shown = status.into_iter().skip(usize::from(!has_seeds));
        let head = std::iter::once(whole(point.number)).chain(varied(data, &point.runs[0]));
        head.chain(shown).chain(FIGURES.iter().map(estimate)).collect()
    };
    let caption = if has_seeds { "Combinations: means over seeds ± half their 95 % interval" } else { "Combinations" };
    let status: &[&str] = if has_seeds { &["seeds", "status"] } else { &["status"] };
    let mut parts = vec![Part::Long(Long {
        caption: caption.to_owned(),
        is_folded: false,
        head: columns(data, "run", &[status, &figures].concat()),
        rows: points.iter().map(row).collect(),
    })];
    if has_seeds {
        let row = |number: usize, run: &SweptRun| {
            let figure = |of: &CoreFigure| Cell::figure(of.format, run.number(of.path));
            let status = [seed(run), Cell::text(run.text("status"))];
            let head = std::iter::once(whole(number)).chain(varied(data, run));
            head.chain(status).chain(FIGURES.iter().map(figure)).collect()
        };
        let rows = points.iter().flat_map(|point| point.runs.iter().map(|run| row(point.number, run)));
        parts.push(Part::Long(Long {
            caption: format!("All {} runs, one a seed", count(data.runs.len() as u64)),
            is_folded: true,
            head: columns(data, "run", &[&["seed", "status"][..], &figures].concat()),
            rows: rows.collect(),
        }));
    }
    parts
}

/// A row for each combination and error, with the seeds that have it.
fn failures(data: &DataSet, points: &[Point<'_>]) -> Part {
    let error = |run: &SweptRun| ["error.type", "error.message"].map(|column| run.text(column).to_owned());
    let rows = points.iter().flat_map(|point| {
        let mut by_error: BTreeMap<_, Vec<&SweptRun>> = BTreeMap::new();
        let failed = point.runs.iter().filter(|run| !run.has_ended());
        failed.for_each(|run| by_error.entry(error(run)).or_default().push(run));
        by_error.into_iter().map(|(error, runs)| {
            let seeds: Vec<&Value> = runs.iter().filter_map(|run| run.cell("seed")).collect();
            let head = std::iter::once(whole(point.number)).chain(varied(data, runs[0]));
            head.chain([Cell::text(listed(&seeds))]).chain(error.map(Cell::text)).collect()
        })
    });
    Part::Long(Long {
        caption: "Runs without a result; column error.traceback of the data set says where".to_owned(),
        is_folded: false,
        head: columns(data, "run", &["seeds", "error", "message"]),
        rows: rows.collect(),
    })
}

fn by_key(data: &DataSet, points: &[Point<'_>], figure: &CoreFigure) -> Vec<Part> {
    let mean = |point: &Point<'_>| point.values(figure).map(|values| Estimate::of(&values).mean);
    let chart = |key: &String| {
        let combination = |point: &'_ Point<'_>| Some((point.runs[0].cell(key)?.clone(), mean(point)?));
        let found: Vec<_> = points.iter().filter_map(|point| Some((combination(point)?, &point.label))).collect();
        let found = found.iter().map(|((value, figure), label)| (value, *figure, label.as_str())).collect();
        values::chart(key, found, figure)
    };
    let (mut drawn, mut all) = (Vec::new(), 0);
    for chart in data.varied.iter().filter_map(chart) {
        all += 1;
        // One at a time: each has all combinations.
        if drawn.len() < MAX_KEYS {
            drawn.push(Part::Chart(chart));
        }
    }
    if drawn.is_empty() {
        let name = figure.title;
        return vec![Part::Missing(format!("No pictures by key: no key has two values of runs that have {name}."))];
    }
    if all > MAX_KEYS {
        drawn.push(Part::Text(format!("The first {MAX_KEYS} of {all} keys.")));
    }
    drawn
}

fn lacks() -> Part {
    let text = "A row of a data set has figures, and neither histograms, nor causes of latency, nor the run over time. \
                The page of one run has them: make it from its configuration (column config; in Python, \
                flashloom.Experiment.from_dict(json.loads(config))) with run.series = \"100ms\" and run.anatomy = \
                true.";
    Part::Missing(text.to_owned())
}

fn checks(data: &DataSet) -> Vec<Part> {
    let ended = || data.runs.iter().filter(|run| run.has_ended());
    // Of a failed run a file may say whatever it likes.
    let verified = ended().filter(|run| run.cell(VERIFIED) == Some(&Value::Bool(true))).count();
    let ended = ended().count();
    vec![if verified == ended {
        Part::Text(format!("Commands and data of all {} runs were verified.", count(ended as u64)))
    } else {
        let others = count((ended - verified) as u64);
        Part::Missing(format!("Commands and data of {others} runs were not verified: sweep with verify=True."))
    }]
}

fn configuration(data: &DataSet) -> Vec<Part> {
    let Some(config) = &data.config else {
        return vec![Part::Missing("No configuration: no run ended, or the files have no column config.".to_owned())];
    };
    let note = Part::Text("That of one run; the others differ in what varies.".to_owned());
    vec![note, facts::configuration(config)]
}
