//! Published figures of the papers: the data files, read and checked.
//!
//! A file names the experiments of its paper and lists rows in groups of one figure, table or statement. Everything
//! that a reader may want to dispute is there: the figure and its page, the formula of ours, the tolerance band, and
//! the reason where ours is known to differ.

use std::collections::{BTreeMap, BTreeSet};

use flashloom_figures::formula::Formula;
use flashloom_figures::result::{field, plain};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::drive::{OtherDrive, SEEDS, Seeds, on};

mod only;

/// A paper's data file, with the configurations of its experiments.
struct Files {
    name: &'static str,
    data: &'static str,
    experiments: &'static [(&'static str, &'static str)],
}

macro_rules! papers {
    ($($name:literal: [$($experiment:literal),* $(,)?],)+) => {
        /// Short names of all reports, in the order in which they are made.
        pub const PAPERS: &[&str] = &[$($name),+];

        const FILES: &[Files] = &[$(Files {
            name: $name,
            data: include_str!(concat!("../../data/published/", $name, ".toml")),
            experiments: &[$((
                $experiment,
                include_str!(concat!("../../data/experiments/", $name, "/", $experiment)),
            )),*],
        }),+];
    };
}

papers! {
    "pardispatcher": ["figure-3.toml", "table-1.toml", "regions-figure-3.toml"],
    "slap": [
        "figure-5.toml", "figure-6.toml", "proxy.toml", "proxy-collection-bound.toml", "delta.toml", "delta-reads.toml",
    ],
    "kast": ["figure-6-bast-fast.toml", "figure-6-kast.toml", "figure-6-sast.toml", "section-2.toml"],
    "cave": ["figure-4.toml", "figures-5-to-7-conventional.toml", "figures-5-to-7-proposed.toml"],
    "together": [
        "stack.toml", "future-cave.toml", "future-kast.toml", "future-slap.toml",
    ],
    "related": ["stack.toml"],
}

/// One paper: its figures and the experiments that repeat them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Short name, which the command line takes.
    pub paper: String,
    /// Title of the paper.
    pub title: String,
    /// Authors, venue and year; for a report that is about no paper, its subject.
    pub reference: String,
    /// The drive that its configurations describe, in a few words; none if summaries need not name it.
    pub drive: Option<String>,
    /// Remarks that apply to all rows, in Markdown.
    pub notes: String,
    /// The null that takes the place of the paper's policy. It shows which rows depend on the policy at all.
    pub null: Null,
    /// Workloads for which experiments, groups and tables with `each_workload` are repeated.
    #[serde(default, rename = "workload")]
    pub workloads: Vec<Workload>,
    /// Other drives, on which the experiments, groups and tables that name them are repeated.
    #[serde(default, rename = "other_drive")]
    pub other_drives: Vec<OtherDrive>,
    /// The experiments to run.
    #[serde(rename = "experiment")]
    pub experiments: Vec<Study>,
    /// The rows.
    #[serde(rename = "group")]
    pub groups: Vec<Group>,
    /// Tables of figures of ours that no published figures exist for.
    #[serde(default, rename = "table")]
    pub tables: Vec<Table>,
}

/// A workload that several experiments share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Prefix of the names of its experiments.
    pub name: String,
    /// Configuration of the generator, as `--set` takes it.
    pub set: Vec<String>,
    /// Further settings of a quick run.
    pub quick: Vec<String>,
    /// The recording that takes the place of the generator, if the folder of recordings has it.
    pub recording: Option<Recording>,
}

/// An experiment of a report: a configuration file with further settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Name of the experiment in formulas.
    pub name: String,
    /// The configuration file, in the paper's folder of experiments.
    pub file: String,
    /// Further settings, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// Further settings of a quick run.
    #[serde(default)]
    pub quick: Vec<String>,
    /// The recording that takes the place of the generator, if the folder of recordings has it.
    pub recording: Option<Recording>,
    /// True if it is run with each of the paper's workloads.
    #[serde(default)]
    pub each_workload: bool,
    /// Names of the other drives that it is also run on.
    #[serde(default)]
    pub other_drives: Vec<String>,
    /// Its seeds. Those after the second are only run if the first two give different results.
    #[serde(default = "first_seeds")]
    pub seeds: Seeds,
    /// Settings that turn each of its runs into another, whose scheduler issues the requests that the run then replays.
    /// Without them a run serves its workload directly.
    pub issued_by: Option<Vec<String>>,
}

fn first_seeds() -> Seeds {
    SEEDS
}

/// A recording of a workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The file, in the folder of recordings.
    pub file: String,
    /// Settings of a run with the recording, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// Further settings of a quick run with the recording, in place of those of the workload and the experiment.
    #[serde(default)]
    pub quick: Vec<String>,
}

/// Rows of one figure, table or statement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Prefix of the ids of its rows.
    pub id: String,
    /// Title in the report.
    pub title: String,
    /// True to repeat it for each of the paper's workloads, over the experiments with that workload.
    #[serde(default)]
    pub each_workload: bool,
    /// Figure, table or section of the paper, and page.
    pub source: String,
    /// Default experiment of formulas that name none.
    pub experiment: String,
    /// The drive of its experiments in a few words, if it differs from the paper's.
    pub drive: Option<String>,
    /// Names of the other drives that it is repeated on.
    #[serde(default)]
    pub other_drives: Vec<String>,
    /// Name of the other drive that it has been repeated on.
    #[serde(skip)]
    pub on: Option<String>,
    /// Names of the workloads that it is repeated for; all of the paper's if empty.
    #[serde(skip)]
    pub with: Vec<String>,
    /// Unit of the figures.
    #[serde(default)]
    pub unit: String,
    /// Default kind of its rows.
    #[serde(default)]
    pub kind: Kind,
    /// The null of its rows, if it differs from the paper's.
    pub null: Option<Null>,
    /// Default tolerance of its rows: the allowed distance of our effect from the published one.
    pub band: Option<Band>,
    /// Default figure of its rows that stands for no effect, from which effects are measured.
    pub neutral: Option<f64>,
    /// The rows.
    pub rows: Vec<PublishedRow>,
    /// Known reasons why rows are not reproduced.
    #[serde(default)]
    pub why: Vec<Why>,
}

/// A policy that does nothing, in the place of the one that a claim is about. If it shows the same effect, the claim
/// says nothing about the policy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Null {
    /// Description of the policy in a few words.
    pub policy: String,
    /// Condition on the runs that it changes: all of these keys have one of their values.
    #[serde(rename = "where")]
    pub runs: BTreeMap<String, Accepted>,
    /// Settings that put it in place, as `--set` takes them. They are applied before the keys that vary, which keep
    /// their values for formulas.
    pub set: Vec<String>,
}

/// Values of a key that a [`Null`]'s condition accepts, as an effective configuration writes them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Accepted {
    /// One value.
    One(String),
    /// Any of several values.
    Any(Vec<String>),
}

/// Kind of a row. Verdicts are counted for each kind separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A published figure or claim, compared with results of experiments that were not adjusted to it.
    #[default]
    Published,
    /// A published figure on a workload whose parameters were found by trying to reach it.
    Fitted,
    /// A published figure on a drive whose parameters were found by trying to reach it.
    FittedDrive,
    /// A published claim that our code cannot break, because it is asserted or follows from a definition.
    Construction,
    /// A published claim about a method of several parts, of which the null replaces the policy alone. The null shows
    /// the effect of the other parts, so it does not decide the verdict.
    Method,
    /// A published claim about the schemes that the policy is compared with: its runs have no policy for the null to
    /// replace.
    Others,
    /// A claim of our own, published by nobody.
    Own,
}

/// One figure of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Id of the row within the group.
    pub id: String,
    /// The claim in words.
    pub claim: String,
    /// Kind of the row, if it differs from the group's.
    pub kind: Option<Kind>,
    /// The published figure.
    pub published: Published,
    /// Formula that computes our figure from results.
    pub ours: Formula,
    /// The row's figure without the policy, if that was published too; the effect is then the change in percent.
    pub reference: Option<Reference>,
    /// Tolerance of our effect, if it differs from the group's.
    pub band: Option<Band>,
    /// The figure that stands for no effect, if it differs from the group's.
    pub neutral: Option<f64>,
    /// Direction in which its figures are better, if the published effect is a change for the worse. The policy then
    /// has to be better than the null, rather than farther from no effect.
    pub better: Option<Best>,
}

/// A published figure or claim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Published {
    /// One number.
    Value(f64),
    /// A range, from the first number to the second.
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
    /// Strictly less than a bound.
    LessThan {
        /// The bound.
        less_than: f64,
    },
    /// Strictly more than a bound.
    MoreThan {
        /// The bound.
        more_than: f64,
    },
    /// Equal to a figure, within the band.
    SameAs {
        /// The figure.
        same_as: f64,
    },
}

/// A row's figure without the policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The published figure.
    pub published: f64,
    /// Formula that computes ours from results.
    pub ours: Formula,
}

/// Allowed distance of our effect from a published one, at most half of that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Band {
    /// A share of the published effect.
    Share(f64),
    /// A distance in the unit of the figure.
    Absolute(f64),
}

/// Reason why rows of a group are not reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// Ids of the rows within the group; all rows if not given.
    #[serde(default)]
    pub rows: Vec<String>,
    /// Names of the other drives that it applies to; if not given, the paper's own drive.
    #[serde(default)]
    pub drives: Vec<String>,
    /// The reason, as found by investigation.
    pub text: String,
}

/// A table of our figures, with a line for each of several experiments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Title in the report.
    pub title: String,
    /// True to repeat it for each of the paper's workloads, over the experiments with that workload.
    #[serde(default)]
    pub each_workload: bool,
    /// The columns of figures.
    #[serde(default)]
    pub columns: Vec<Column>,
    /// In place of `columns`: a column for each of the paper's workloads, with this figure of the experiments with that
    /// workload.
    pub by_workload: Option<Column>,
    /// In place of a line for each experiment: a line for each of the paper's workloads, with the experiment that is
    /// chosen for it.
    pub choice: Option<Choice>,
    /// Names of the experiments.
    pub experiments: Vec<String>,
    /// Names of the other drives that it is repeated on.
    #[serde(default)]
    pub other_drives: Vec<String>,
    /// Name of the other drive that it has been repeated on.
    #[serde(skip)]
    pub on: Option<String>,
}

/// Rule that chooses one of several experiments: of those that are almost as good as the best, or whose difference to
/// it is not significant, the one of the fewest parts, and of these the one of the least cost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Figure of merit; the largest is the best.
    pub most: Formula,
    /// Distance from the best that counts as almost as good, as a share of the best.
    pub within: f64,
    /// Number of parts of each of the table's experiments.
    pub parts: Vec<u32>,
    /// Cost of an experiment.
    pub cost: Formula,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Heading, with the unit.
    pub name: String,
    /// Formula that computes the figure from results.
    pub ours: Formula,
    /// The figure to mark as the best of the column, if any is to be marked.
    pub best: Option<Best>,
}

/// Direction in which figures are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Best {
    /// The largest is the best.
    Most,
    /// The smallest is the best.
    Least,
}

impl Null {
    /// True if the null changes a run of this effective configuration.
    pub fn changes(&self, config: &Value) -> bool {
        self.runs.iter().all(|(path, accepted)| {
            let found = field(config, path).map(plain);
            found.is_some_and(|found| match accepted {
                Accepted::One(value) => *value == found,
                Accepted::Any(values) => values.contains(&found),
            })
        })
    }
}

impl Kind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 7] =
        [Self::Published, Self::FittedDrive, Self::Fitted, Self::Construction, Self::Method, Self::Others, Self::Own];

    /// The kind as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::FittedDrive => "fitted drive",
            Self::Fitted => "fitted workload",
            Self::Construction => "true by construction",
            Self::Method => "of a method of parts",
            Self::Others => "about other schemes",
            Self::Own => "our own claim",
        }
    }

    /// True if a row of this kind is reproduced only if its effect exceeds that of the null.
    pub fn has_to_beat_the_null(self) -> bool {
        !matches!(self, Self::Construction | Self::Method)
    }
}

impl Published {
    /// The published effect. A range gives its end that is nearer to no effect, or zero if it contains no effect; a
    /// bound, which has a direction but no size, and a claim of no difference give none.
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

/// Reference point of an effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoEffect {
    /// A figure in the unit of the row: the effect is the difference to it.
    Figure(f64),
    /// The figure without the policy: the effect is the change in percent. For counts, which depend on the length of a
    /// run.
    Without(f64),
}

impl NoEffect {
    /// Returns the effect of a figure.
    pub fn effect(&self, figure: f64) -> f64 {
        match self {
            Self::Figure(none) => figure - none,
            Self::Without(without) => 100.0 * (figure / without - 1.0),
        }
    }
}

impl Band {
    /// Allowed distance from an effect, in its unit.
    pub fn around(&self, effect: f64) -> f64 {
        match self {
            Self::Share(share) => share * effect.abs(),
            Self::Absolute(tolerance) => *tolerance,
        }
    }
}

impl PublishedRow {
    /// Names of the experiments whose runs its formulas need; formulas that name none use `default`.
    pub fn experiments(&self, default: &str) -> BTreeSet<String> {
        let formulas = [Some(&self.ours), self.reference.as_ref().map(|reference| &reference.ours)];
        formulas.into_iter().flatten().flat_map(|formula| formula.experiments(default)).collect()
    }
}

impl Study {
    /// The experiment on another drive.
    fn repeated_on(&self, drive: &OtherDrive) -> Self {
        let set = self.set.iter().chain(&drive.set).cloned().collect();
        Self { name: on(Some(&drive.name), &self.name), set, seeds: drive.seeds, ..self.clone() }
    }
}

impl Table {
    /// The table of the experiments on another drive.
    fn repeated_on(&self, drive: &OtherDrive) -> Self {
        let title = format!("{}: {}", self.title, drive.title);
        Self { title, on: Some(drive.name.clone()), ..self.clone() }
    }
}

impl Group {
    /// The rows over the experiments on another drive, with the reasons that are given for it.
    fn repeated_on(&self, drive: &OtherDrive) -> Self {
        let kind = if drive.fitted && self.kind == Kind::Published { Kind::FittedDrive } else { self.kind };
        Self {
            id: on(Some(&drive.name), &self.id),
            title: format!("{}: {}", self.title, drive.title),
            drive: Some(drive.title.clone()),
            on: Some(drive.name.clone()),
            kind,
            why: self.why.iter().filter(|why| why.drives.contains(&drive.name)).cloned().collect(),
            ..self.clone()
        }
    }

    /// Names of the experiments whose runs its rows need, without the prefixes of workloads.
    fn experiments(&self) -> BTreeSet<String> {
        let names = self.rows.iter().flat_map(|row| row.experiments(&self.experiment));
        names.map(|name| on(self.on.as_deref(), &name)).collect()
    }

    /// Allowed distance of our effect from the published one of a row.
    pub fn band(&self, row: &PublishedRow) -> Option<Band> {
        row.band.or(self.band)
    }

    /// Reference point of the published effect of a row.
    pub fn no_effect(&self, row: &PublishedRow) -> Option<NoEffect> {
        let without = row.reference.as_ref().map(|reference| NoEffect::Without(reference.published));
        without.or_else(|| row.neutral.or(self.neutral).map(NoEffect::Figure))
    }

    /// Known reason why a row is not reproduced: the last one that names the row, else the first one for all rows.
    pub fn why(&self, row: &str) -> Option<&str> {
        let naming = self.why.iter().rev().find(|why| why.rows.iter().any(|id| id == row));
        naming.or_else(|| self.why.iter().find(|why| why.rows.is_empty())).map(|why| why.text.trim())
    }
}

/// Name of an experiment, a group or a table with a workload: the workload's name is its prefix.
pub fn scoped(workload: Option<&Workload>, name: &str) -> String {
    workload.map_or(name.to_owned(), |workload| format!("{}-{name}", workload.name))
}

impl Paper {
    /// The paper of that name; none if there is no such paper.
    ///
    /// # Panics
    /// If its data file is malformed, which the tests of this crate rule out.
    pub fn named(name: &str) -> Option<Self> {
        let files = FILES.iter().find(|files| files.name == name)?;
        Some(Self::parse(files.data).unwrap_or_else(|error| panic!("{name}: {error}")))
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let mut paper: Self = toml::from_str(text)?;
        paper.repeat_on_other_drives();
        Ok(paper)
    }

    /// The drive of a group in a few words; none if summaries need not name it.
    pub fn drive_of<'a>(&'a self, group: &'a Group) -> Option<&'a str> {
        group.drive.as_ref().or(self.drive.as_ref()).map(String::as_str)
    }

    /// Appends what is repeated on other drives, drive by drive, after all that is not.
    fn repeat_on_other_drives(&mut self) {
        let (studies, groups, tables) = (self.experiments.clone(), self.groups.clone(), self.tables.clone());
        self.groups.iter_mut().for_each(|group| group.why.retain(|why| why.drives.is_empty()));
        for drive in &self.other_drives {
            let names = |names: &[String]| names.contains(&drive.name);
            self.experiments
                .extend(studies.iter().filter(|it| names(&it.other_drives)).map(|it| it.repeated_on(drive)));
            self.groups.extend(groups.iter().filter(|it| names(&it.other_drives)).map(|it| it.repeated_on(drive)));
            self.tables.extend(tables.iter().filter(|it| names(&it.other_drives)).map(|it| it.repeated_on(drive)));
        }
    }

    /// All nulls: that of the paper first, then those of groups that have their own.
    pub fn nulls(&self) -> Vec<&Null> {
        let mut nulls = vec![&self.null];
        for null in self.groups.iter().filter_map(|group| group.null.as_ref()) {
            if !nulls.contains(&null) {
                nulls.push(null);
            }
        }
        nulls
    }

    /// Text of a configuration file of this paper's folder of experiments.
    pub fn configuration(&self, file: &str) -> Option<&'static str> {
        let files = FILES.iter().find(|files| files.name == self.paper)?;
        files.experiments.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
    }

    /// All experiments, each with its name; those with `each_workload` once for each workload.
    pub fn studies(&self) -> impl Iterator<Item = (String, &Study, Option<&Workload>)> {
        self.experiments.iter().flat_map(|study| {
            self.each(study.each_workload).map(move |workload| (scoped(workload, &study.name), study, workload))
        })
    }

    /// The workloads that a group is repeated for; a single `None` if it is not.
    pub fn each_of<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = Option<&'a Workload>> {
        let is_of = |workload: &Workload| group.with.is_empty() || group.with.contains(&workload.name);
        self.each(group.each_workload).filter(move |workload| workload.is_none_or(is_of))
    }

    /// All workloads if `each_workload`, else a single `None`.
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
                for workload in paper.each_of(group) {
                    for name in formulas().flat_map(|formula| formula.experiments(&group.experiment)) {
                        let name = on(group.on.as_deref(), &name);
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
            drives: Vec::new(),
            text: text.to_owned(),
        };
        let mut group = all().next().expect("there is a paper").groups.remove(0);
        group.why = vec![why(&[], "all"), why(&["a", "b"], "some")];
        assert_eq!(["a", "c"].map(|id| group.why(id)), [Some("some"), Some("all")]);
        group.why.remove(0);
        assert_eq!(group.why("c"), None);
    }

    #[test]
    fn every_other_drive_that_is_named_is_one_of_the_paper_and_has_rows() {
        for (files, paper) in FILES.iter().zip(all()) {
            let as_written: Paper = toml::from_str(files.data).expect("another test reads it");
            let whys = as_written.groups.iter().flat_map(|group| &group.why).flat_map(|why| &why.drives);
            let groups = paper.groups.iter().flat_map(|group| &group.other_drives).chain(whys);
            let studies = paper.experiments.iter().flat_map(|study| &study.other_drives);
            let tables = paper.tables.iter().flat_map(|table| &table.other_drives);
            let is_known = |name: &String| paper.other_drives.iter().any(|drive| drive.name == *name);
            groups.chain(studies).chain(tables).for_each(|name| assert!(is_known(name), "{}: {name}", paper.paper));
            for drive in &paper.other_drives {
                let has_rows = paper.groups.iter().any(|group| group.on.as_ref() == Some(&drive.name));
                assert!(has_rows, "{}: {}", paper.paper, drive.name);
            }
        }
    }

    #[test]
    fn what_is_repeated_has_the_settings_seeds_and_reasons_of_its_drive() {
        let mut paper = all().next().expect("there is a paper");
        let small = || vec!["small".to_owned()];
        paper.other_drives = vec![OtherDrive {
            name: "small".to_owned(),
            title: "a small drive".to_owned(),
            set: vec!["device.blocks=64".to_owned()],
            seeds: [6, 7, 8, 9, 10],
            fitted: true,
        }];
        paper.experiments.truncate(1);
        paper.experiments[0].other_drives = small();
        paper.groups.truncate(1);
        paper.groups[0].other_drives = small();
        let (ours, its) = (paper.groups[0].why[0].clone(), Why { drives: small(), ..paper.groups[0].why[0].clone() });
        paper.groups[0].why = vec![ours, its];
        paper.repeat_on_other_drives();
        let [study, repeated] = &paper.experiments[..] else { panic!("two experiments") };
        assert_eq!(repeated.name, format!("{}-small", study.name));
        assert_eq!((&*repeated.set[0], study.seeds, repeated.seeds), ("device.blocks=64", SEEDS, [6, 7, 8, 9, 10]));
        let [group, repeated] = &paper.groups[..] else { panic!("two groups") };
        assert_eq!([group, repeated].map(|group| group.why[0].drives.len()), [0, 1]);
        assert_eq!([group, repeated].map(|group| group.why.len()), [1, 1]);
        assert_eq!([group.kind, repeated.kind], [Kind::Published, Kind::FittedDrive]);
        assert_eq!(repeated.drive.as_deref(), Some("a small drive"));
    }
}
