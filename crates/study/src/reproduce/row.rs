//! Data of a report: rows of published figures with ours beside them.

use flashloom_units::visible_json;
use serde::{Deserialize, Serialize};

use super::drive::OtherDrive;
use super::published::{Band, Kind, Published};
use super::verdict::{Estimate, Verdict};

/// Name and version of the JSON format of [`Report`]. The version changes when programs that read it have to change.
pub const SCHEMA: &str = "flashloom/reproduction/3";

/// The report on a paper's figures. Read from its JSON, it lacks what that leaves out: the remarks and the titles of
/// groups, which the paper's data file has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Format of this object, [`SCHEMA`].
    pub schema: String,
    /// Short name of the paper.
    pub paper: String,
    /// Title of the paper.
    pub title: String,
    /// Authors, venue and year.
    pub reference: String,
    /// Description of the null: the policy that takes the place of the paper's, to show which rows depend on it at all.
    pub null: String,
    /// Remarks that apply to all rows, in Markdown.
    #[serde(skip)]
    pub notes: String,
    /// True for a quick run: workloads were shortened and drives made smaller, so the verdicts mean nothing.
    pub quick: bool,
    /// Other drives than the one that the configurations of the experiments describe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_drives: Vec<OtherDrive>,
    /// Number of rows with each verdict, by drive and kind.
    pub summary: Vec<Summary>,
    /// The rows, in the order of the data file.
    pub rows: Vec<Row>,
    /// Tables of figures of ours that no published figures exist for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<FigureTable>,
}

/// Verdicts on the rows of one kind on one drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The drive in a few words; none if the paper's data file does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// Kind of the rows.
    pub kind: Kind,
    /// Number of rows of this kind.
    pub rows: usize,
    /// Number of rows with each verdict, in the order of [`Verdict::ALL`].
    pub verdicts: [usize; 4],
    /// Number of rows in which the null shows the published effect, without those that are declared undecidable
    /// ([`Row::null_reproduces`]).
    pub null_reproduces: usize,
}

/// A report's part in the overview of a folder.
#[derive(Clone, Debug, Deserialize)]
pub struct Overview {
    /// Short name of the paper.
    pub paper: String,
    /// Title of the paper.
    pub title: String,
    /// Verdicts on the rows of each drive and kind.
    pub summary: Vec<Summary>,
}

impl Overview {
    /// Returns the part of a report.
    pub fn of(report: &Report) -> Self {
        Self { paper: report.paper.clone(), title: report.title.clone(), summary: report.summary.clone() }
    }
}

/// A table of figures of several experiments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FigureTable {
    /// Title of the table.
    pub title: String,
    /// Workload of the experiments in words.
    pub workload: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// The experiments with their figures.
    pub lines: Vec<FigureLine>,
}

/// The figures of one experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FigureLine {
    /// Name of the experiment.
    pub experiment: String,
    /// The figure of each column; none where the result does not have it.
    pub figures: Vec<Option<Interval>>,
    /// The mark of each column; none where the column has no marks or the figure is worse than the best.
    pub marks: Vec<Option<Mark>>,
}

/// Relation of a figure to the best of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The best mean.
    Best,
    /// Not significantly worse than the best: the 95 % interval of their paired differences contains zero.
    Tied,
}

/// A mean over seeds with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower end of the interval; equal to the mean for a figure that the seed does not change.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        Self { mean: estimate.mean, low: estimate.low(), high: estimate.high() }
    }
}

/// A published figure with ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Id of the row within the paper.
    pub id: String,
    /// The claim in words.
    pub claim: String,
    /// Kind of the row.
    pub kind: Kind,
    /// The drive in a few words; none if the paper's data file does not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// Figure, table or section of the paper, and page.
    pub source: String,
    /// The published figure.
    pub published: Published,
    /// The published effect; none for a bound, which has no size.
    pub published_effect: Option<f64>,
    /// Our figure, the mean over the seeds; none if the results do not have it.
    pub ours: Option<f64>,
    /// Number of seeds that ours is a mean of; one if the seed does not change it.
    pub seeds: usize,
    /// Our effect: the difference to the figure for no effect or to the bound, or the change in percent relative to the
    /// figure without the policy of the same seed.
    pub effect: Option<Interval>,
    /// Ours as a multiple of the published figure, if that is a single number other than zero.
    pub ratio: Option<f64>,
    /// The verdict, after comparison with the null.
    pub verdict: Verdict,
    /// The row with the null in the place of the policy; none if no run of the row has the policy.
    pub null: Option<NullFigure>,
    /// Reason why the figure is not reproduced, or only its direction; none if it is reproduced or no reason is known.
    pub why: Option<String>,
    /// Workload of our figure in words.
    pub workload: String,
    /// Unit of both figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Allowed distance of our effect from the published one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
    /// Formula of our figure.
    pub formula: String,
    /// Title of the row's group.
    #[serde(skip)]
    pub group: String,
}

/// A row's figure with the null in the place of the policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NullFigure {
    /// Description of the null.
    pub policy: String,
    /// The figure, the mean over the seeds; none if the results do not have it.
    pub ours: Option<f64>,
    /// Effect of the figure.
    pub effect: Option<Interval>,
    /// Verdict that it would have as a row of its own.
    pub verdict: Verdict,
}

impl Row {
    /// True if the row is not reproduced and no reason is known.
    pub fn lacks_reason(&self) -> bool {
        self.verdict == Verdict::NotReproduced && self.why.is_none()
    }

    /// True if the null shows the published effect, in a row that is not declared undecidable: neither too small to
    /// tell nor true by construction.
    pub fn null_reproduces(&self) -> bool {
        let says_so = self.verdict == Verdict::TooSmall || self.kind == Kind::Construction;
        self.null.as_ref().is_some_and(|null| null.verdict == Verdict::Reproduced) && !says_so
    }
}

impl Summary {
    /// Counts the verdicts on rows by drive, in the order of the rows, and by kind. Kinds without rows are left out.
    pub fn of(rows: &[Row]) -> Vec<Self> {
        let mut drives: Vec<&Option<String>> = Vec::new();
        for row in rows {
            if !drives.contains(&&row.drive) {
                drives.push(&row.drive);
            }
        }
        let summary = |(drive, kind): (&Option<String>, Kind)| {
            let rows: Vec<&Row> = rows.iter().filter(|row| (&row.drive, row.kind) == (drive, kind)).collect();
            let verdicts = Verdict::ALL.map(|verdict| rows.iter().filter(|row| row.verdict == verdict).count());
            let null_reproduces = rows.iter().filter(|row| row.null_reproduces()).count();
            Self { drive: drive.clone(), kind, rows: rows.len(), verdicts, null_reproduces }
        };
        let lines = drives.into_iter().flat_map(|drive| Kind::ALL.map(|kind| (drive, kind)));
        lines.map(summary).filter(|summary| summary.rows > 0).collect()
    }
}

impl Report {
    /// Returns the report as JSON, with a newline at the end.
    pub fn to_json(&self) -> String {
        let value = serde_json::to_value(self).expect("reports have text keys and finite numbers");
        visible_json(&format!("{value:#}\n")).into_owned()
    }
}
