//! A report: rows of published figures with ours beside them.

use serde::{Deserialize, Serialize};

use crate::published::{Band, Kind, Published};
use crate::verdict::{Estimate, Verdict};

/// The format of [`Report`]; the number changes when a program that reads it would have to.
pub const SCHEMA: &str = "flashloom/reproduction/2";

/// What became of a paper's figures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The format of this object.
    pub schema: &'static str,
    /// The paper's short name.
    pub paper: String,
    /// Its title.
    pub title: String,
    /// Authors, place and year.
    pub reference: String,
    /// What stands in the place of the paper's policy to see which rows can tell.
    pub null: String,
    /// What holds for all rows.
    #[serde(skip)]
    pub notes: String,
    /// Whether workloads were shortened, which makes figures a rehearsal.
    pub quick: bool,
    /// How many rows have each verdict, by kind.
    pub summary: Vec<Summary>,
    /// The rows, in the order of the data file.
    pub rows: Vec<Row>,
    /// Figures that nobody published anything to hold against.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<FigureTable>,
}

/// What became of the rows of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Which rows.
    pub kind: Kind,
    /// How many there are.
    pub rows: usize,
    /// How many have each verdict, in the order of [`Verdict::ALL`].
    pub verdicts: [usize; 4],
    /// In how many the null shows the published effect, those left out that say that they cannot tell.
    pub null_reproduces: usize,
}

/// What the overview of a folder has of a report.
#[derive(Clone, Debug, Deserialize)]
pub struct Overview {
    /// The short name of the paper.
    pub paper: String,
    /// Its title.
    pub title: String,
    /// The rows by kind, and what became of them.
    pub summary: Vec<Summary>,
}

impl Overview {
    /// That of a report.
    pub fn of(report: &Report) -> Self {
        Self { paper: report.paper.clone(), title: report.title.clone(), summary: report.summary.clone() }
    }
}

/// Figures of several experiments.
#[derive(Clone, Debug, Serialize)]
pub struct FigureTable {
    /// What it is about.
    pub title: String,
    /// What the experiments were given to do.
    pub workload: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The experiments with their figures; nothing where a result has none.
    pub lines: Vec<FigureLine>,
}

/// The figures of one experiment.
#[derive(Clone, Debug, Serialize)]
pub struct FigureLine {
    /// The experiment.
    pub experiment: String,
    /// One for each column.
    pub figures: Vec<Option<Interval>>,
    /// Whether it is the best of each column; nothing where the column marks none, or it is not.
    pub marks: Vec<Option<Mark>>,
}

/// How a figure stands to the best of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Its mean is the best.
    Best,
    /// It cannot be told from the best: the 95 % interval of their paired difference holds zero.
    Tied,
}

/// A mean over seeds, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower end of the interval; the mean itself for a figure that no seed changes.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        Self { mean: estimate.mean, low: estimate.low(), high: estimate.high() }
    }
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its id within the paper.
    pub id: String,
    /// What is claimed.
    pub claim: String,
    /// What the row is.
    pub kind: Kind,
    /// Figure, table or section, and page.
    pub source: String,
    /// The published figure.
    pub published: Published,
    /// The published effect; nothing for a bound, which has no size.
    pub published_effect: Option<f64>,
    /// Ours, the mean over the seeds; nothing where the results have no such figure.
    pub ours: Option<f64>,
    /// How many seeds ours is a mean of; one where no seed changes it.
    pub seeds: usize,
    /// Our effect: the difference to the figure for no effect or to the bound, or the change in percent to the figure
    /// without the policy and of the same seed.
    pub effect: Option<Interval>,
    /// Ours as a multiple of the published figure, where that is one number other than zero.
    pub ratio: Option<f64>,
    /// What follows, the null considered.
    pub verdict: Verdict,
    /// The row with a policy that does nothing; nothing where no run of the row has the policy.
    pub null: Option<NullFigure>,
    /// Why the figure is not reproduced, or only its direction; nothing where it is, or where nobody has found out.
    pub why: Option<String>,
    /// What the figure of ours is a figure of.
    pub workload: String,
    /// Unit of both figures.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// How far our effect may be from the published one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
    /// How ours was worked out.
    pub formula: String,
    /// The title of the row's group.
    #[serde(skip)]
    pub group: String,
}

/// What a row gives when the policy that it is about is replaced.
#[derive(Clone, Debug, Serialize)]
pub struct NullFigure {
    /// By what.
    pub policy: String,
    /// The figure, the mean over the seeds; nothing where the results have no such figure.
    pub ours: Option<f64>,
    /// Its effect.
    pub effect: Option<Interval>,
    /// The verdict that it would have as a row of its own.
    pub verdict: Verdict,
}

impl Row {
    /// Whether it is not reproduced and nobody has found out why.
    pub fn lacks_reason(&self) -> bool {
        self.verdict == Verdict::NotReproduced && self.why.is_none()
    }

    /// Whether a policy that does nothing shows the published effect, in a row that does not say that it cannot tell.
    pub fn null_reproduces(&self) -> bool {
        let says_so = self.verdict == Verdict::TooSmall || self.kind == Kind::Construction;
        self.null.as_ref().is_some_and(|null| null.verdict == Verdict::Reproduced) && !says_so
    }
}

impl Summary {
    /// What became of these rows, by kind; kinds without rows are left out.
    pub fn of(rows: &[Row]) -> Vec<Self> {
        let summary = |kind: Kind| {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.kind == kind).collect();
            let verdicts = Verdict::ALL.map(|verdict| rows.iter().filter(|row| row.verdict == verdict).count());
            let null_reproduces = rows.iter().filter(|row| row.null_reproduces()).count();
            Self { kind, rows: rows.len(), verdicts, null_reproduces }
        };
        Kind::ALL.into_iter().map(summary).filter(|summary| summary.rows > 0).collect()
    }
}

impl Report {
    /// The report as JSON, with a newline at the end.
    pub fn to_json(&self) -> String {
        let value = serde_json::to_value(self).expect("reports have text keys and finite numbers");
        format!("{value:#}\n")
    }
}
