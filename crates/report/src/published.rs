//! What the papers published: the data files, read and checked.
//!
//! A file names the experiments of its paper and lists rows in groups of one figure, table or statement. Everything
//! that a reader would want to dispute is there: the figure and its page, the formula of ours, the band, and the reason
//! where ours is known to differ.

use std::collections::{BTreeMap, BTreeSet};

use flashloom_experiment::formula::Formula;
use flashloom_units::{Problem, nearest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A paper's data file, with the configurations of its experiments.
struct Files {
    name: &'static str,
    data: &'static str,
    experiments: &'static [(&'static str, &'static str)],
}

macro_rules! papers {
    ($($name:literal: [$($experiment:literal),* $(,)?],)+) => {
        /// The reports, in the order in which they are made.
        pub const PAPERS: &[&str] = &[$($name),+];

        const FILES: &[Files] = &[$(Files {
            name: $name,
            data: include_str!(concat!("../data/published/", $name, ".toml")),
            experiments: &[$((
                $experiment,
                include_str!(concat!("../../../experiments/papers/", $name, "/", $experiment)),
            )),*],
        }),+];
    };
}

papers! {
    "pardispatcher": ["figure-3.toml", "table-1.toml", "regions-figure-3.toml"],
    "slap": ["figure-5.toml", "figure-6.toml", "proxy.toml", "delta.toml", "delta-reads.toml"],
    "kast": ["figure-6-bast-fast.toml", "figure-6-kast.toml", "figure-6-sast.toml", "section-2.toml"],
    "cave": ["figure-4.toml", "figures-5-to-7-conventional.toml", "figures-5-to-7-proposed.toml"],
    "together": [
        "stack.toml", "future-cave.toml", "future-kast.toml", "future-slap.toml",
    ],
}

/// One paper: its figures and the experiments that stand for them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its short name.
    pub paper: String,
    /// Its title.
    pub title: String,
    /// Authors, place and year; of a report beyond the papers, what it is about.
    pub reference: String,
    /// What holds for all of its rows.
    pub notes: String,
    /// What stands in the place of its policy to see which rows can tell.
    pub null: Null,
    /// Workloads that experiments, groups and tables with `each_workload` are made for.
    #[serde(default, rename = "workload")]
    pub workloads: Vec<Workload>,
    /// What is run.
    #[serde(rename = "experiment")]
    pub experiments: Vec<Study>,
    /// The rows.
    #[serde(rename = "group")]
    pub groups: Vec<Group>,
    /// Figures that nobody published anything to hold against.
    #[serde(default, rename = "table")]
    pub tables: Vec<Table>,
}

/// A workload that several experiments share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The beginning of the names of its experiments.
    pub name: String,
    /// The generator, as `--set` takes it.
    pub set: Vec<String>,
    /// What is set besides in a quick run.
    pub quick: Vec<String>,
    /// The recording that takes the place of the generator where there is one.
    pub recording: Option<Recording>,
}

/// An experiment as a report runs it: a configuration, with what is set beside it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// As formulas name it.
    pub name: String,
    /// The configuration, in the paper's folder of experiments.
    pub file: String,
    /// What is set besides, as `--set` takes it.
    #[serde(default)]
    pub set: Vec<String>,
    /// What is set besides in a quick run.
    #[serde(default)]
    pub quick: Vec<String>,
    /// The recording that takes the place of the generator where there is one.
    pub recording: Option<Recording>,
    /// Whether it is run with each of the paper's workloads.
    #[serde(default)]
    pub each_workload: bool,
    /// What is set to make, of each of its runs, the run whose scheduler issues the requests that it replays. Without
    /// it a run serves its workload itself.
    pub issued_by: Option<Vec<String>>,
}

/// A recording of a workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The file, in the folder of recordings.
    pub file: String,
    /// What is set with it.
    #[serde(default)]
    pub set: Vec<String>,
    /// What is set besides in a quick run, in place of what is without the recording.
    #[serde(default)]
    pub quick: Vec<String>,
}

/// Rows of one figure, table or statement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The beginning of the ids of its rows.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Whether there is one for each of the paper's workloads, over the experiments with that workload.
    #[serde(default)]
    pub each_workload: bool,
    /// Figure, table or section, and page.
    pub source: String,
    /// The experiment of formulas that name none.
    pub experiment: String,
    /// Unit of the figures.
    #[serde(default)]
    pub unit: String,
    /// What its rows are, where they do not say it themselves.
    #[serde(default)]
    pub kind: Kind,
    /// What stands in the place of the policy that its rows are about, where that is another one than the paper's.
    pub null: Option<Null>,
    /// How far our effect may be from the published one.
    pub band: Option<Band>,
    /// The figure that stands for no effect.
    pub neutral: Option<f64>,
    /// The rows.
    pub rows: Vec<PublishedRow>,
    /// Why rows are not reproduced.
    #[serde(default)]
    pub why: Vec<Why>,
}

/// A policy that does nothing in the place of the one that a claim is about: where it shows the same effect, the claim
/// tells nothing of the policy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Null {
    /// What it is, in a few words.
    pub policy: String,
    /// The runs whose configuration it changes: those in which all of these keys have these values.
    #[serde(rename = "where")]
    pub runs: BTreeMap<String, Accepted>,
    /// What it changes, as `--set` takes it. It goes before the keys that vary, which keep their values for formulas.
    pub set: Vec<String>,
}

/// The values of a key that choose a run, as an effective configuration writes them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Accepted {
    /// This one.
    One(String),
    /// Any of these.
    Any(Vec<String>),
}

/// What a row is, which decides where it is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A published figure or claim, held against results that were not made for it.
    #[default]
    Published,
    /// A published figure on a workload whose parameters were found by trying to reach it.
    Fitted,
    /// A published claim that our code cannot break, because it is asserted or follows from a definition.
    Construction,
    /// A published claim about a method of several parts, of which the null takes away the policy alone: what the null
    /// shows is what the other parts do, and decides nothing.
    Method,
    /// A published claim about what the policy is compared with, in whose runs there is nothing to replace by the null.
    Others,
    /// A claim of ours; nobody published it.
    Own,
}

/// One figure of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Its id within the group.
    pub id: String,
    /// What is claimed.
    pub claim: String,
    /// What it is, where that differs from the group.
    pub kind: Option<Kind>,
    /// The figure.
    pub published: Published,
    /// How ours is worked out from results.
    pub ours: Formula,
    /// The figure without the policy, where that was measured too; the effect is the change in percent.
    pub reference: Option<Reference>,
    /// How far our effect may be, where that differs from the group.
    pub band: Option<Band>,
    /// The figure for no effect, where that differs from the group.
    pub neutral: Option<f64>,
}

/// A published figure or claim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Published {
    /// One number.
    Value(f64),
    /// From the first to the second.
    Range([f64; 2]),
    /// No more than a bound.
    AtMost {
        /// The bound.
        at_most: f64,
    },
    /// No less than a bound.
    AtLeast {
        /// The bound.
        at_least: f64,
    },
    /// Less than a bound, which the bound itself is not.
    LessThan {
        /// The bound.
        less_than: f64,
    },
    /// More than a bound, which the bound itself is not.
    MoreThan {
        /// The bound.
        more_than: f64,
    },
    /// No difference to a figure, give or take the band.
    SameAs {
        /// The figure.
        same_as: f64,
    },
}

/// The same figure without the policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// As published.
    pub published: f64,
    /// How ours is worked out.
    pub ours: Formula,
}

/// How far our effect may be from a published one: at most half of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Band {
    /// As a share of the published effect.
    Share(f64),
    /// In the unit of the figure.
    Absolute(f64),
}

/// Why rows of a group are not reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// The ids of the rows within the group; all of them where not given.
    #[serde(default)]
    pub rows: Vec<String>,
    /// What was found by looking into it.
    pub text: String,
}

/// A line for each of several experiments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What it is about.
    pub title: String,
    /// Whether there is one for each of the paper's workloads, over the experiments with that workload.
    #[serde(default)]
    pub each_workload: bool,
    /// The names of the columns, and how their figures are worked out for an experiment.
    #[serde(default)]
    pub columns: Vec<Column>,
    /// In place of columns: one for each of the paper's workloads, with this figure of the experiments with that
    /// workload.
    pub by_workload: Option<Column>,
    /// In place of a line for each experiment: one for each of the paper's workloads, with the experiment chosen for
    /// it.
    pub choice: Option<Choice>,
    /// The experiments.
    pub experiments: Vec<String>,
}

/// How one of several experiments is chosen: of those that cannot be told from the best, or are almost as good, the one
/// of fewest parts, and of those the one that costs least.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The figure of which the largest is the best.
    pub most: Formula,
    /// Which share of the best counts as almost as good.
    pub within: f64,
    /// How many parts each of the table's experiments has.
    pub parts: Vec<u32>,
    /// What an experiment costs.
    pub cost: Formula,
}

/// A figure of several experiments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name, with the unit.
    pub name: String,
    /// How it is worked out.
    pub ours: Formula,
    /// Which figure is the best of the column, where the table is to mark it.
    pub best: Option<Best>,
}

/// Which of several figures is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Best {
    /// The largest.
    Most,
    /// The smallest.
    Least,
}

impl Null {
    /// Whether it changes a run of this effective configuration.
    pub fn changes(&self, config: &Value) -> bool {
        self.runs.iter().all(|(path, accepted)| {
            let found = path.split('.').try_fold(config, |value, part| value.get(part));
            let found = found.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            found.is_some_and(|found| match accepted {
                Accepted::One(value) => *value == found,
                Accepted::Any(values) => values.contains(&found),
            })
        })
    }
}

impl Kind {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Published, Self::Fitted, Self::Construction, Self::Method, Self::Others, Self::Own];

    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Fitted => "fitted workload",
            Self::Construction => "true by construction",
            Self::Method => "of a method of parts",
            Self::Others => "about other schemes",
            Self::Own => "our own claim",
        }
    }

    /// Whether a row says nothing of its policy if the null comes as far.
    pub fn has_to_beat_the_null(self) -> bool {
        !matches!(self, Self::Construction | Self::Method)
    }
}

impl Published {
    /// The published effect, from the end of a range that is nearer to none; zero where a range holds both directions.
    /// Nothing for a bound, which states a direction and no size, and for a claim of no difference.
    pub fn effect(&self, no_effect: &NoEffect) -> Option<f64> {
        match *self {
            Self::Value(value) => Some(no_effect.effect(value)),
            Self::Range(range) => {
                let [low, high] = range.map(|end| no_effect.effect(end));
                Some(if low > 0.0 { low } else { high.min(0.0) })
            }
            _ => None,
        }
    }
}

/// What an effect is measured from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoEffect {
    /// A figure in the unit of the row: the effect is the difference.
    Figure(f64),
    /// The same figure without the policy: the effect is the change, in percent. Counts depend on the length of a run.
    Without(f64),
}

impl NoEffect {
    /// The effect of a figure.
    pub fn effect(&self, figure: f64) -> f64 {
        match self {
            Self::Figure(none) => figure - none,
            Self::Without(without) => 100.0 * (figure / without - 1.0),
        }
    }
}

impl Band {
    /// The band around an effect, in its unit.
    pub fn around(&self, effect: f64) -> f64 {
        match self {
            Self::Share(share) => share * effect.abs(),
            Self::Absolute(tolerance) => *tolerance,
        }
    }
}

impl PublishedRow {
    /// The experiments whose runs its formulas need, where figures that name none are of `default`.
    pub fn experiments(&self, default: &str) -> BTreeSet<String> {
        let formulas = [Some(&self.ours), self.reference.as_ref().map(|reference| &reference.ours)];
        formulas.into_iter().flatten().flat_map(|formula| formula.experiments(default)).collect()
    }
}

impl Group {
    /// The experiments whose runs its rows need; of a group with each workload, without that.
    fn experiments(&self) -> BTreeSet<String> {
        self.rows.iter().flat_map(|row| row.experiments(&self.experiment)).collect()
    }

    /// How far our effect may be from the published one of a row.
    pub fn band(&self, row: &PublishedRow) -> Option<Band> {
        row.band.or(self.band)
    }

    /// What the published effect of a row is measured from.
    pub fn no_effect(&self, row: &PublishedRow) -> Option<NoEffect> {
        let without = row.reference.as_ref().map(|reference| NoEffect::Without(reference.published));
        without.or_else(|| row.neutral.or(self.neutral).map(NoEffect::Figure))
    }

    /// Why that row is not reproduced, if a reason is known: the last one that names it, else one for all rows.
    pub fn why(&self, row: &str) -> Option<&str> {
        let naming = self.why.iter().rev().find(|why| why.rows.iter().any(|id| id == row));
        naming.or_else(|| self.why.iter().find(|why| why.rows.is_empty())).map(|why| why.text.trim())
    }
}

/// The name of an experiment, a group or a table with a workload.
pub fn scoped(workload: Option<&Workload>, name: &str) -> String {
    workload.map_or(name.to_owned(), |workload| format!("{}-{name}", workload.name))
}

impl Paper {
    /// The paper of that name.
    ///
    /// # Panics
    /// If its data file is malformed, which the tests of this crate rule out.
    pub fn named(name: &str) -> Option<Self> {
        let files = FILES.iter().find(|files| files.name == name)?;
        Some(Self::parse(files.data).unwrap_or_else(|error| panic!("{name}: {error}")))
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// What stands in the place of policies: that of the paper first, then those of groups that have their own.
    pub fn nulls(&self) -> Vec<&Null> {
        let mut nulls = vec![&self.null];
        for null in self.groups.iter().filter_map(|group| group.null.as_ref()) {
            if !nulls.contains(&null) {
                nulls.push(null);
            }
        }
        nulls
    }

    /// The text of a configuration of this paper's folder of experiments.
    pub fn configuration(&self, file: &str) -> Option<&'static str> {
        let files = FILES.iter().find(|files| files.name == self.paper)?;
        files.experiments.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
    }

    /// Leaves of the rows only those of these groups, and of the experiments only those that they are about. Tables are
    /// of all experiments, so there are none then.
    ///
    /// # Errors
    /// The first name that no group has.
    pub fn only(&mut self, groups: &[String]) -> Result<(), Problem> {
        let ids = || self.groups.iter().map(|group| &*group.id);
        if let Some(unknown) = groups.iter().find(|wanted| ids().all(|id| id != *wanted)) {
            let expected = format!("one of {}", ids().collect::<Vec<_>>().join(", "));
            let problem = Problem::file("--only", format!("`{unknown}` is no figure of {}", self.paper), expected);
            return Err(match nearest(unknown, ids()) {
                Some(name) => problem.with_help(format!("did you mean `{name}`?")),
                None => problem,
            });
        }
        self.groups.retain(|group| groups.contains(&group.id));
        self.tables.clear();
        // A formula of a group that is made for each workload means the experiment with that workload, if there is one.
        let with_workloads = |group: &Group| -> BTreeSet<String> {
            let names = group.experiments();
            let scoped = |workload| names.iter().map(move |name| scoped(workload, name));
            self.each(group.each_workload).flat_map(scoped).chain(names.iter().cloned()).collect()
        };
        let needed: BTreeSet<String> = self.groups.iter().flat_map(with_workloads).collect();
        let workloads = &self.workloads;
        let is_needed = |study: &Study| {
            let mut with_workload = workloads.iter().map(|workload| scoped(Some(workload), &study.name));
            needed.contains(&study.name) || study.each_workload && with_workload.any(|name| needed.contains(&name))
        };
        self.experiments.retain(is_needed);
        Ok(())
    }

    /// Every experiment with its name and its workload, if it is run with each.
    pub fn studies(&self) -> impl Iterator<Item = (String, &Study, Option<&Workload>)> {
        self.experiments.iter().flat_map(|study| {
            self.each(study.each_workload).map(move |workload| (scoped(workload, &study.name), study, workload))
        })
    }

    /// Each of the workloads, or once none.
    pub fn each(&self, each_workload: bool) -> impl Iterator<Item = Option<&Workload>> {
        let workloads = if each_workload { &self.workloads[..] } else { &[] };
        workloads.iter().map(Some).chain((!each_workload).then_some(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Paper> {
        PAPERS.iter().map(|name| Paper::named(name).expect("it is in the table"))
    }

    #[test]
    fn every_data_file_reads_and_names_itself() {
        for (paper, name) in all().zip(PAPERS) {
            assert_eq!(paper.paper, *name);
        }
    }

    #[test]
    fn no_two_rows_of_a_paper_have_the_same_id() {
        for paper in all() {
            let ids = || paper.groups.iter().flat_map(|g| g.rows.iter().map(move |row| format!("{}-{}", g.id, row.id)));
            assert_eq!(ids().collect::<BTreeSet<_>>().len(), ids().count(), "{}", paper.paper);
        }
    }

    #[test]
    fn formulas_name_experiments_of_their_paper_and_experiments_name_configurations() {
        for paper in all() {
            let names: BTreeSet<String> = paper.studies().map(|(name, ..)| name).collect();
            assert_eq!(names.len(), paper.studies().count(), "{}: one name twice", paper.paper);
            for study in &paper.experiments {
                assert!(paper.configuration(&study.file).is_some(), "{}: {}", paper.paper, study.file);
            }
            for group in &paper.groups {
                let formulas = || {
                    let references = group.rows.iter().filter_map(|row| row.reference.as_ref());
                    group.rows.iter().map(|row| &row.ours).chain(references.map(|reference| &reference.ours))
                };
                for workload in paper.each(group.each_workload) {
                    for name in formulas().flat_map(|formula| formula.experiments(&group.experiment)) {
                        let known = [scoped(workload, &name), name].iter().any(|name| names.contains(name));
                        assert!(known, "{}: {}", paper.paper, group.id);
                    }
                }
            }
        }
    }

    #[test]
    fn a_figure_has_a_band_of_at_most_half_its_effect_and_reasons_name_rows() {
        for paper in all() {
            for group in &paper.groups {
                for row in &group.rows {
                    let id = format!("{}: {}-{}", paper.paper, group.id, row.id);
                    let band = || group.band(row).unwrap_or_else(|| panic!("{id}: no band"));
                    if let Published::SameAs { same_as } = row.published {
                        assert!(
                            band().around(same_as) <= same_as.abs() / 10.0,
                            "{id}: no difference is a tenth at most"
                        );
                        continue;
                    }
                    let no_effect = group.no_effect(row);
                    let Some(effect) = row.published.effect(&no_effect.unwrap_or(NoEffect::Figure(0.0))) else {
                        assert!(row.band.is_none(), "{id}: a bound holds or does not");
                        continue;
                    };
                    // A figure that is no difference from anything has to be met more closely.
                    let most = effect.abs() * if no_effect.is_some() { 0.5 } else { 0.25 };
                    assert!(band().around(effect) <= most, "{id}: {:?} is too wide for {effect}", band());
                }
                let ids: BTreeSet<_> = group.rows.iter().map(|row| &row.id).collect();
                let explained = group.why.iter().flat_map(|why| &why.rows);
                explained.for_each(|id| assert!(ids.contains(id), "{}: {}: {id}", paper.paper, group.id));
            }
        }
    }

    #[test]
    fn a_reason_that_names_a_row_goes_before_one_for_all() {
        let why = |rows: &[&str], text: &str| Why {
            rows: rows.iter().map(|&id| id.to_owned()).collect(),
            text: text.to_owned(),
        };
        let mut group = all().next().expect("there is a paper").groups.remove(0);
        group.why = vec![why(&[], "all"), why(&["a", "b"], "some")];
        assert_eq!(["a", "c"].map(|id| group.why(id)), [Some("some"), Some("all")]);
        group.why.remove(0);
        assert_eq!(group.why("c"), None);
    }
}
