//! From the results of a paper's experiments to its report.

use std::collections::BTreeSet;

use flashloom_experiment::formula::Formula;

use crate::csv;
use crate::published::{Best, Column, Group, Kind, Paper, Published, PublishedRow, Table, Workload, scoped};
use crate::results::{Results, Scope};
use crate::row::{FigureLine, FigureTable, Interval, Mark, NullFigure, Report, Row, SCHEMA, Summary};
use crate::verdict::{Estimate, Measure, Verdict};

/// What came out for one paper.
pub struct Reproduction {
    /// Its report.
    pub report: Report,
    /// The figures of all its runs that its formulas ask for, as CSV.
    pub runs: String,
}

/// Why a row of a quick run is not reproduced; the reasons in the data files were found in full runs.
const REHEARSAL: &str =
    "A quick run: its workload is too short, and its drive too small, for the verdict to mean anything.";

/// The report of a paper.
///
/// # Errors
/// A formula that asks for what no run has.
pub(crate) fn reproduction(quick: bool, paper: &Paper, results: &Results) -> Result<Reproduction, String> {
    let (mut rows, mut tables) = (Vec::new(), Vec::new());
    for group in &paper.groups {
        for workload in paper.each(group.each_workload) {
            let scope = results.scope(workload);
            for row in &group.rows {
                let made = Rows { quick, paper, group, scope }.row(row);
                rows.push(made.map_err(|error| format!("{}-{}: {error}", group.id, row.id))?);
            }
        }
    }
    for table in &paper.tables {
        for workload in paper.each(table.each_workload) {
            tables.push(figures(paper, &results.scope(workload), table)?);
        }
    }
    let Paper { paper: name, title, reference, notes, null, .. } = paper.clone();
    let summary = Summary::of(&rows);
    let null = null.policy;
    let report = Report { schema: SCHEMA, paper: name, title, reference, null, notes, quick, summary, rows, tables };
    let runs = csv::runs(results.all(), &fields(paper), &paper.nulls());
    Ok(Reproduction { report, runs })
}

/// The fields that the formulas of a paper ask for.
fn fields(paper: &Paper) -> BTreeSet<&str> {
    let rows = paper.groups.iter().flat_map(|group| &group.rows);
    let of_rows = rows.flat_map(|row| [Some(&row.ours), row.reference.as_ref().map(|reference| &reference.ours)]);
    let of_tables = paper
        .tables
        .iter()
        .flat_map(|table| table.columns.iter().chain(&table.by_workload))
        .map(|column| Some(&column.ours));
    of_rows.chain(of_tables).flatten().flat_map(Formula::fields).collect()
}

/// The rows of a group, with one workload.
struct Rows<'a> {
    quick: bool,
    paper: &'a Paper,
    group: &'a Group,
    scope: Scope<'a>,
}

/// A row's figure in one arm.
struct Arm {
    ours: Option<f64>,
    /// One a seed.
    effects: Option<Vec<f64>>,
}

impl Arm {
    fn interval(&self) -> Option<Interval> {
        self.effects.as_deref().map(|effects| Estimate::of(effects).into())
    }
}

impl Rows<'_> {
    fn row(&self, row: &PublishedRow) -> Result<Row, String> {
        let Self { group, scope, .. } = self;
        // A group may have figures and bounds, and a bound has no band.
        let no_effect = group.no_effect(row);
        let measure = Measure { published: row.published, band: None, no_effect };
        let is_same = matches!(row.published, Published::SameAs { .. });
        let band = if is_same || measure.published_effect().is_some() { group.band(row) } else { None };
        let measure = Measure { band, ..measure };
        let null = group.null.as_ref().unwrap_or(&self.paper.null);
        let null_arm = 1 + self.paper.nulls().iter().position(|known| *known == null).expect("it is one of them");
        let experiments = self.experiments(row);
        let seeds = scope.seeds(&experiments, null_arm);
        let ours = self.arm(row, &measure, 0, seeds)?;
        let is_replaced = scope.is_replaced(&experiments, null_arm);
        let replaced = is_replaced.then(|| self.arm(row, &measure, null_arm, seeds)).transpose()?;
        let kind = match (row.kind.unwrap_or(group.kind), is_replaced) {
            (Kind::Published, false) => Kind::Others,
            (kind, _) => kind,
        };
        // What cannot fail says nothing of a policy, whoever stands in its place.
        let null_counts = replaced.as_ref().filter(|_| kind != Kind::Construction);
        let verdict = match null_counts {
            Some(null) => measure.judge_beside(ours.effects.as_deref(), null.effects.as_deref()),
            None => measure.judge(ours.effects.as_deref()),
        };
        let why = if self.quick { Some(REHEARSAL) } else { group.why(&row.id) };
        let why = why.filter(|_| verdict != Verdict::Reproduced);
        Ok(Row {
            id: format!("{}-{}", scoped(scope.workload, &group.id), row.id),
            claim: row.claim.clone(),
            kind,
            source: group.source.clone(),
            published: row.published,
            published_effect: measure.published_effect(),
            ours: ours.ours,
            seeds,
            effect: ours.interval(),
            ratio: ours.ours.and_then(|ours| measure.ratio(ours)),
            verdict,
            null: replaced.map(|replaced| NullFigure {
                policy: null.policy.clone(),
                ours: replaced.ours,
                effect: replaced.interval(),
                verdict: measure.judge(replaced.effects.as_deref()),
            }),
            why: why.map(str::to_owned),
            workload: scope.workloads(&row.ours.experiments(&group.experiment)),
            unit: group.unit.clone(),
            band,
            formula: row.ours.text().to_owned(),
            group: group.title.clone(),
        })
    }

    fn experiments(&self, row: &PublishedRow) -> BTreeSet<String> {
        let formulas = [Some(&row.ours), row.reference.as_ref().map(|reference| &reference.ours)];
        formulas.into_iter().flatten().flat_map(|formula| formula.experiments(&self.group.experiment)).collect()
    }

    fn arm(&self, row: &PublishedRow, measure: &Measure, arm: usize, seeds: usize) -> Result<Arm, String> {
        let Self { group, scope, .. } = self;
        let ours = scope.values(&row.ours, &group.experiment, arm, seeds)?;
        // The figure without the policy is what it is: only the policy that the row is about is replaced.
        let without = match &row.reference {
            Some(reference) => scope.values(&reference.ours, &group.experiment, 0, seeds)?,
            None => None,
        };
        let known = ours.as_ref().filter(|_| row.reference.is_none() || without.is_some());
        let effects = known.map(|ours| measure.effects(ours, without.as_deref()));
        let effects = effects.filter(|effects| effects.iter().all(|effect| effect.is_finite()));
        Ok(Arm { ours: ours.map(|ours| Estimate::of(&ours).mean), effects })
    }
}

/// A column of a table: where its figures are looked for, and one figure a seed for each experiment that has any.
struct Figures {
    name: String,
    best: Option<Best>,
    of: Vec<Option<Vec<f64>>>,
}

impl Figures {
    /// The figures of all experiments, for so many seeds that any two can be paired.
    fn new(name: &str, column: &Column, scope: &Scope<'_>, experiments: &[String]) -> Result<Self, String> {
        let needed = experiments.iter().flat_map(|experiment| column.ours.experiments(experiment)).collect();
        let seeds = scope.seeds(&needed, 0);
        let of = experiments.iter().map(|experiment| scope.values(&column.ours, experiment, 0, seeds));
        Ok(Self { name: name.to_owned(), best: column.best, of: of.collect::<Result<_, _>>()? })
    }

    /// Marks the experiment with the best mean, and those that cannot be told from it.
    fn marks(&self) -> Vec<Option<Mark>> {
        let mean = |values: &Vec<f64>| Estimate::of(values).mean;
        let known = || self.of.iter().flatten();
        let by_mean = |one: &&Vec<f64>, other: &&Vec<f64>| mean(one).total_cmp(&mean(other));
        let best = match self.best {
            Some(Best::Most) => known().max_by(by_mean),
            Some(Best::Least) => known().min_by(by_mean),
            None => None,
        };
        let Some(best) = best else { return vec![None; self.of.len()] };
        let mark = |values: &Vec<f64>| {
            let differences: Vec<f64> = values.iter().zip(best).map(|(value, best)| value - best).collect();
            let is_best = mean(values) == mean(best);
            let mark = if is_best { Mark::Best } else { Mark::Tied };
            (is_best || Estimate::of(&differences).holds(0.0)).then_some(mark)
        };
        self.of.iter().map(|values| values.as_ref().and_then(mark)).collect()
    }
}

fn figures(paper: &Paper, scope: &Scope<'_>, table: &Table) -> Result<FigureTable, String> {
    let of_columns = table.columns.iter().map(|column| Figures::new(&column.name, column, scope, &table.experiments));
    let of_workloads = table.by_workload.iter().flat_map(|column| {
        let of = |workload: &Workload| Figures::new(&workload.name, column, &scope.with(workload), &table.experiments);
        paper.workloads.iter().map(of)
    });
    let columns: Vec<Figures> = of_columns.chain(of_workloads).collect::<Result<_, String>>()?;
    let marks: Vec<_> = columns.iter().map(Figures::marks).collect();
    let line = |(at, experiment): (usize, &String)| FigureLine {
        experiment: experiment.clone(),
        figures: columns.iter().map(|column| column.of[at].as_ref().map(|of| Estimate::of(of).into())).collect(),
        marks: marks.iter().map(|marks| marks[at]).collect(),
    };
    let title = match (scope.workload, &table.by_workload) {
        (Some(workload), _) => format!("{}: {}", table.title, workload.name),
        (None, Some(column)) => format!("{}: {}", table.title, column.name),
        (None, None) => table.title.clone(),
    };
    Ok(FigureTable {
        title,
        workload: match &table.by_workload {
            Some(_) => "The workloads of the tables below".to_owned(),
            None => scope.workloads(&table.experiments.iter().cloned().collect()),
        },
        lines: table.experiments.iter().enumerate().map(line).collect(),
        columns: columns.into_iter().map(|column| column.name).collect(),
    })
}

/// The report of a paper whose runs found out nothing, to try its formulas.
#[cfg(test)]
fn tried(planned: &crate::plan::PlannedPaper) -> Result<Reproduction, String> {
    reproduction(false, &planned.paper, &Results::of_configurations(planned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Options, Plan};
    use crate::published::PAPERS;

    #[test]
    fn every_experiment_is_sound_in_full_and_in_its_quick_form() {
        for quick in [false, true] {
            for paper in PAPERS {
                let plan = Plan::new([*paper], &Options { quick, traces: None });
                let plan = plan.unwrap_or_else(|problems| panic!("{paper}, quick: {quick}\n{problems}"));
                let ready = plan.prepare().unwrap_or_else(|problems| panic!("{paper}, quick: {quick}\n{problems}"));
                assert!(ready.runs() <= ready.variants().count(), "a configuration runs once");
            }
        }
    }

    #[test]
    fn every_formula_chooses_runs_that_its_experiment_has_in_every_arm() {
        for name in PAPERS {
            let plan = Plan::new([*name], &Options::default()).expect("another test says what is wrong with it");
            let made = tried(&plan.papers[0]).unwrap_or_else(|error| panic!("{name}: {error}"));
            // Without a figure nothing is reproduced, whatever is claimed.
            assert!(made.report.rows.iter().all(|row| row.verdict == Verdict::NotReproduced), "{name}");
        }
    }

    #[test]
    fn every_null_changes_some_run_and_leaves_its_label() {
        for name in PAPERS {
            let plan = Plan::new([*name], &Options { quick: true, traces: None }).expect("it is sound");
            let planned = &plan.papers[0];
            for (index, null) in planned.paper.nulls().iter().enumerate() {
                let mut changed = 0;
                for study in &planned.studies {
                    for (runs, as_they_are) in study.arms[index + 1].iter().zip(&study.arms[0]) {
                        changed += usize::from(runs != as_they_are);
                        let vary = |run: usize| study.experiment.variants[run].vary_to_json();
                        assert_eq!(vary(runs[0]), vary(as_they_are[0]), "{name}: {}", study.name);
                    }
                }
                assert!(changed > 0, "{name}: `{}` changes nothing", null.policy);
            }
        }
    }

    #[test]
    fn the_best_of_a_column_is_marked_and_what_cannot_be_told_from_it() {
        let of = [vec![100.0, 110.0, 90.0], vec![101.0, 109.0, 89.0], vec![95.0, 104.0, 86.0]].map(Some).to_vec();
        let of = [of, vec![None]].concat();
        let marks = |best| Figures { name: String::new(), best, of: of.clone() }.marks();
        assert_eq!(marks(Some(Best::Most)), [Some(Mark::Best), Some(Mark::Tied), None, None]);
        assert_eq!(marks(Some(Best::Least)), [None, None, Some(Mark::Best), None]);
        assert_eq!(marks(None), [None; 4]);
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused() {
        let traces = Some("no/such/folder".into());
        assert!(Plan::new(["kast"], &Options { quick: true, traces }).is_err());
        assert!(Plan::new(["fios"], &Options::default()).is_err());
    }
}
