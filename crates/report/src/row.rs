//! A report: rows of published figures with ours beside them.

use serde::Serialize;

use crate::published::{Band, Published};
use crate::verdict::Verdict;

/// The format of [`Report`]; the number changes when a program that reads it would have to.
pub const SCHEMA: &str = "flashloom/reproduction/1";

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
    /// What holds for all rows.
    #[serde(skip)]
    pub notes: String,
    /// Whether workloads were shortened, which makes figures a rehearsal.
    pub quick: bool,
    /// The rows, in the order of the data file.
    pub rows: Vec<Row>,
    /// Figures that nobody published anything to hold against.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<FigureTable>,
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
    pub figures: Vec<Option<f64>>,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its id within the paper.
    pub id: String,
    /// What is claimed.
    pub claim: String,
    /// Figure, table or section, and page.
    pub source: String,
    /// The published figure.
    pub published: Published,
    /// Ours; nothing where the results have no such figure.
    pub ours: Option<f64>,
    /// Ours as a multiple of the published figure, where that is one number other than zero.
    pub ratio: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// Why the figure is not reproduced, or only its direction; nothing where it is, or where nobody has found out.
    pub why: Option<String>,
    /// What the figure of ours is a figure of.
    pub workload: String,
    /// Unit of both figures.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// How far ours may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
    /// How ours was worked out.
    pub formula: String,
    /// The title of the row's group.
    #[serde(skip)]
    pub group: String,
}

impl Row {
    /// Whether it is not reproduced and nobody has found out why.
    pub fn lacks_reason(&self) -> bool {
        self.verdict == Verdict::NotReproduced && self.why.is_none()
    }
}

impl Report {
    /// How many rows have each verdict, in the order of [`Verdict::ALL`].
    pub fn counts(&self) -> [usize; 3] {
        Verdict::ALL.map(|verdict| self.rows.iter().filter(|row| row.verdict == verdict).count())
    }

    /// The report as JSON, with a newline at the end.
    pub fn to_json(&self) -> String {
        let value = serde_json::to_value(self).expect("reports have text keys and finite numbers");
        format!("{value:#}\n")
    }
}
