//! Sections of the report on a comparison.

use flashloom_figures::number::{count, factor, percent};
use flashloom_figures::result::{ComparedRun, Comparison, HintResult, RunResult, SliceResult, plain};
use serde_json::{Map, Value};

use super::chart::{Chart, Table, head};
use super::facts;
use super::figure::{FIGURES, Requests, figures};
use super::front::{Candidate, Difference, front};
use super::long::{Cell, Long};
use super::run::{Bars, Curve, anatomy_chart, percentile_chart};
use super::section::{Part, Section};

/// Combinations whose curves and bars are drawn, at most: more cannot be told apart. The tables have all of them.
const MAX_DRAWN: usize = 8;

/// A difference from a figure that is zero.
const FROM_ZERO: &str = "from 0";

/// Figures that the sentence on what differs names, at most.
const MOST_TOLD: usize = 3;

/// The sections, in order.
pub(super) fn sections(comparison: &Comparison) -> Vec<Section> {
    let first = comparison.runs.first();
    let all = combinations(comparison);
    let candidates: Vec<Candidate> = all.iter().map(Combination::candidate).collect();
    let mut sections = vec![
        Section { id: "overview", title: "Runs", parts: overview(comparison, &all, &candidates) },
        Section { id: "latency", title: "Latency", parts: latencies(&all) },
        Section { id: "front", title: "Pareto front", parts: front(&candidates) },
        Section { id: "anatomy", title: "Where the time went", parts: anatomy(&all) },
        Section { id: "checks", title: "What was checked", parts: checks(comparison) },
    ];
    let of_first = first.map(|run| facts::configuration(&run.result.config.to_json()));
    let note = Part::Text("That of the first run; the others differ in what varies.".to_owned());
    let configuration = [note].into_iter().chain(of_first).collect();
    sections.push(Section { id: "configuration", title: "Configuration", parts: configuration });
    let origin = first.map(|run| facts::origin(&run.result)).unwrap_or_default();
    sections.push(Section { id: "origin", title: "Origin", parts: origin });
    sections
}

/// The varied values of a run, after its number.
pub(super) fn label<'a>(number: usize, vary: impl IntoIterator<Item = (&'a String, &'a Value)>) -> String {
    let name = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let values = vary.into_iter().map(|(key, value)| format!("{} {}", name(key), facts::short(value)));
    format!("{number}: {}", values.collect::<Vec<_>>().join(", "))
}

/// Runs that differ in nothing but the seed.
struct Combination<'a> {
    number: usize,
    label: String,
    vary: &'a Map<String, Value>,
    runs: &'a [ComparedRun],
}

fn combinations(comparison: &Comparison) -> Vec<Combination<'_>> {
    let chunks = comparison.runs.chunks(comparison.repetitions().max(1)).enumerate();
    chunks
        .map(|(at, runs)| {
            let vary = comparison.repeated.get(at).map_or(&runs[0].vary, |repeated| &repeated.vary);
            Combination { number: at + 1, label: label(at + 1, vary), vary, runs }
        })
        .collect()
}

fn seed(result: &RunResult) -> String {
    plain(result.config.get("/run/seed"))
}

impl Combination<'_> {
    /// The run that curves and bars are of.
    fn first(&self) -> &RunResult {
        &self.runs[0].result
    }

    /// Mean latency of its reads or writes by cause.
    fn bar(&self, of: Requests) -> Option<(String, &SliceResult)> {
        let anatomy = self.first().host.anatomy.as_ref()?;
        Some((self.label.clone(), &of.among([&anatomy.read, &anatomy.write, &None])?.whole))
    }

    fn candidate(&self) -> Candidate {
        let of_runs: Vec<_> = self.runs.iter().map(|run| figures(&run.result)).collect();
        Candidate {
            label: self.label.clone(),
            seeds: self.runs.iter().map(|run| seed(&run.result)).collect(),
            figures: (0..FIGURES.len()).map(|figure| of_runs.iter().map(|run| run[figure]).collect()).collect(),
        }
    }

    /// Its cells in a table, with a text for each figure.
    fn row(&self, text: impl Fn(usize) -> String) -> Vec<String> {
        let figures = (0..FIGURES.len()).map(text);
        std::iter::once(self.number.to_string()).chain(self.vary.values().map(plain)).chain(figures).collect()
    }
}

/// The head of a table of figures.
fn columns(vary: Option<&Map<String, Value>>) -> Vec<String> {
    let keys = vary.into_iter().flat_map(|vary| vary.keys().map(String::as_str));
    head("run", keys.chain(FIGURES.iter().map(|figure| figure.label)))
}

fn overview(comparison: &Comparison, all: &[Combination<'_>], candidates: &[Candidate]) -> Vec<Part> {
    let rows = all.iter().zip(candidates).map(|(of, candidate)| of.row(|figure| candidate.text(figure)));
    let table = Table { head: columns(all.first().map(|of| of.vary)), rows: rows.collect() };
    let mut parts: Vec<Part> = what_differs(candidates).map(Part::Text).into_iter().collect();
    parts.extend(hints(comparison));
    parts.push(Part::Table(table));
    parts.extend(differences(candidates, all));
    let seeds = comparison.repetitions();
    if seeds > 1 {
        parts.push(Part::Text(format!("Means of {seeds} seeds ± half the width of their 95 % interval.")));
        parts.push(Part::Long(Long {
            caption: format!("All {} runs, one a seed", count(comparison.runs.len() as u64)),
            is_folded: true,
            head: columns(comparison.runs.first().map(|run| &run.vary)),
            rows: (1..).zip(&comparison.runs).map(|(number, run)| row(number, run)).collect(),
        }));
    }
    parts
}

/// A relative difference as a percentage with its sign, or `~` where it cannot be told from chance.
fn relative(difference: Option<Difference>) -> String {
    match difference {
        None => "-".to_owned(),
        Some(Difference { is_told: false, .. }) => "~".to_owned(),
        Some(Difference { relative: Some(relative), .. }) => signed(relative),
        Some(Difference { relative: None, .. }) => FROM_ZERO.to_owned(),
    }
}

fn signed(relative: f64) -> String {
    if relative.is_infinite() {
        return FROM_ZERO.to_owned();
    }
    let sign = if relative < 0.0 { "-" } else { "+" };
    format!("{sign}{}", percent(relative.abs()))
}

/// The differences of each combination from the first.
fn differences(candidates: &[Candidate], all: &[Combination<'_>]) -> Vec<Part> {
    let Some((first, others)) = candidates.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let row = |(other, of): (&Candidate, &Combination<'_>)| of.row(|figure| relative(other.difference(first, figure)));
    let rows = others.iter().zip(&all[1..]).map(row).collect();
    let rule = if first.seeds.len() > 1 { "their 95 % interval has zero in it" } else { "of one run each, below 2 %" };
    vec![
        Part::Text(format!("Differences from run {}; ~ where chance may be all of it: {rule}.", all[0].label)),
        Part::Table(Table { head: columns(Some(all[0].vary)), rows }),
    ]
}

/// A sentence on what differs most from the first combination, and what does not.
fn what_differs(candidates: &[Candidate]) -> Option<String> {
    let (first, others) = candidates.split_first().filter(|(_, others)| !others.is_empty())?;
    let largest = |figure: usize| {
        let told = others.iter().filter_map(|other| {
            let Difference { relative, is_told } = other.difference(first, figure)?;
            is_told.then(|| (relative.unwrap_or(f64::INFINITY), other.label.as_str()))
        });
        told.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
    };
    let has = |figure: &usize| candidates.iter().any(|of| of.figures[*figure].is_some());
    let figures = || (0..FIGURES.len()).filter(has);
    let mut told: Vec<_> = figures().filter_map(|figure| largest(figure).map(|found| (figure, found))).collect();
    told.sort_by(|a, b| b.1.0.abs().total_cmp(&a.1.0.abs()));
    let alike: Vec<&str> =
        figures().filter(|figure| largest(*figure).is_none()).map(|figure| FIGURES[figure].title).collect();
    let alike = if alike.is_empty() { String::new() } else { format!(" No difference is told in {}.", listed(&alike)) };
    if told.is_empty() {
        return Some(format!("In no figure can a run be told from run {}.", first.label));
    }
    let shown = |(figure, (relative, label)): &(usize, (f64, &str))| {
        format!("{} {} in run {label}", FIGURES[*figure].title, signed(*relative))
    };
    let most = told.iter().take(MOST_TOLD).map(shown).collect::<Vec<_>>().join("; ");
    Some(format!("What differs most from run {}: {most}.{alike}", first.label))
}

/// Words in a row, with "and" before the last.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A hint, with the combinations that it holds for and whether all have its figures.
struct Held<'a> {
    hint: &'a HintResult,
    runs: Vec<usize>,
    is_same: bool,
}

/// The hints of all runs, each once, with the combinations that it holds for.
fn hints(comparison: &Comparison) -> Vec<Part> {
    let mut found: Vec<Held<'_>> = Vec::new();
    let combinations = comparison.runs.chunks(comparison.repetitions().max(1));
    let all = combinations.len();
    for (number, run) in (1..).zip(combinations).flat_map(|(number, runs)| runs.iter().map(move |run| (number, run))) {
        for hint in &run.result.hints {
            match found.iter_mut().find(|held| (&held.hint.about, &held.hint.key) == (&hint.about, &hint.key)) {
                Some(held) => {
                    held.is_same &= held.hint.text == hint.text;
                    held.runs.push(number);
                }
                None => found.push(Held { hint, runs: vec![number], is_same: true }),
            }
        }
    }
    found.iter_mut().for_each(|held| held.runs.dedup());
    let of = |runs: &[usize]| match runs {
        [run] => format!("run {run}"),
        runs if runs.len() == all => "all runs".to_owned(),
        runs => format!("runs {}", runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    };
    let of_runs = found.iter().map(|Held { hint, runs, is_same }| {
        let whose = if *is_same { String::new() } else { format!("; figures of run {}", runs[0]) };
        format!("Hint, {}{whose}: {} (key {})", of(runs), hint.text, hint.key)
    });
    let of_all = comparison.hints.iter().map(|hint| {
        let rows: Vec<usize> = hint.rows.iter().map(|&row| row as usize).collect();
        format!("Hint, {}: {} (key {})", of(&rows), hint.text, hint.key)
    });
    of_runs.chain(of_all).map(Part::Text).collect()
}

/// Cells of one run.
fn row(number: usize, run: &ComparedRun) -> Vec<Cell> {
    let figures = FIGURES.iter().zip(figures(&run.result)).map(|(of, value)| Cell::figure(of.format, value));
    let vary = run.vary.values().map(|value| match value.as_f64() {
        Some(number) => Cell::number(number, plain(value)),
        None => Cell::text(plain(value)),
    });
    std::iter::once(Cell::number(number as f64, number.to_string())).chain(vary).chain(figures).collect()
}

/// What is said below pictures that do not show all runs.
fn of_these(all: &[Combination<'_>]) -> Vec<Part> {
    let mut parts = Vec::new();
    if all.len() > MAX_DRAWN {
        let all = all.len();
        let text = format!("The first {MAX_DRAWN} of {all}; `--run N` reports on one of the others.");
        parts.push(Part::Text(text));
    }
    if let Some([first, _, ..]) = all.first().map(|of| of.runs) {
        let seed = seed(&first.result);
        let text = format!("Each is of one run, that of seed {seed}; the table of runs has means over all seeds.");
        parts.push(Part::Text(text));
    }
    parts
}

fn latencies(all: &[Combination<'_>]) -> Vec<Part> {
    let drawn = &all[..all.len().min(MAX_DRAWN)];
    let chart = |of: Requests| -> Option<Chart> {
        let curves: Vec<_> = drawn.iter().filter_map(|one| Curve::of(&one.label, one.first(), of)).collect();
        let title = format!("Latency of {} by percentile", of.title());
        (!curves.is_empty()).then(|| percentile_chart(&title, &curves))
    };
    let charts: Vec<_> = Requests::KINDS.into_iter().filter_map(|of| Some((of.name(), chart(of)?))).collect();
    if charts.is_empty() {
        return vec![Part::Missing("No latency: nothing took time. Set run.timing = \"timed\".".to_owned())];
    }
    let mut parts = vec![Part::choice("Requests", charts)];
    parts.extend(of_these(all));
    if drawn.iter().any(|of| of.first().series.is_none()) {
        let lacks = "No histogram of some runs: their curves go through six percentiles. Set run.series.";
        parts.push(Part::Missing(lacks.to_owned()));
    }
    parts
}

fn anatomy(all: &[Combination<'_>]) -> Vec<Part> {
    let chart = |of: Requests| -> Option<Chart> {
        let bars: Bars<'_> = all.iter().take(MAX_DRAWN).filter_map(|combination| combination.bar(of)).collect();
        (!bars.is_empty()).then(|| anatomy_chart(&format!("Mean latency of {} by cause", of.title()), &bars))
    };
    let charts: Vec<_> = Requests::KINDS.into_iter().filter_map(|of| Some((of.name(), chart(of)?))).collect();
    if charts.is_empty() {
        return vec![Part::Missing("No anatomy: set run.anatomy = true.".to_owned())];
    }
    let mut parts = vec![Part::choice("Requests", charts)];
    parts.extend(of_these(all));
    parts
}

fn checks(comparison: &Comparison) -> Vec<Part> {
    let verified = comparison.runs.iter().filter(|run| run.result.integrity.verified).count();
    let all = comparison.runs.len();
    let mut parts = vec![if verified == all {
        Part::Text(format!("Commands and data of all {all} runs were verified (--verify)."))
    } else {
        Part::Missing(format!("Commands and data of {} runs were not verified: use --verify.", all - verified))
    }];
    let bound = |bound: Option<f64>| bound.map_or_else(String::new, factor);
    let rows: Vec<Vec<String>> = comparison
        .expectations
        .iter()
        .map(|expected| {
            let holds = if expected.holds { "holds" } else { "FAILS" };
            let value = expected.value.map_or_else(|| "-".to_owned(), factor);
            let bounds = [bound(expected.at_least), bound(expected.at_most)];
            [expected.claim.clone(), value].into_iter().chain(bounds).chain([holds.to_owned()]).collect()
        })
        .collect();
    if rows.is_empty() {
        parts.push(Part::Missing("No expectations: the experiment has no [[expect]] tables.".to_owned()));
    } else {
        let columns = ["value", "at least", "at most", ""];
        parts.push(Part::Table(Table { head: head("claim", columns.into_iter()), rows }));
    }
    let left_out = comparison.left_out.len();
    if left_out > 0 {
        parts.push(Part::Text(format!("{left_out} combinations were left out: their values cannot work together.")));
    }
    parts
}
