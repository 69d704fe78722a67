//! Reproduction: which figures of papers come out, which only in direction, and which do not and why.
//!
//! Every paper has a data file ([`published`]) with its figures, the experiments that repeat them, the tolerance band
//! of each, and the null: a policy that does nothing, which takes the place of the paper's policy. [`plan`] runs the
//! experiments with several seeds, as they are and with the null; [`Reproduction`] has our figures by the formula of
//! each row; [`verdict`] compares them with the published ones; [`markdown`] and [`csv`] write the report, whose JSON
//! is [`row::Report`]. No figure is written anywhere but in the data files and in results.

pub mod csv;
pub mod drive;
pub mod markdown;
pub mod plan;
pub mod published;
mod results;
pub mod row;
pub mod verdict;

use std::collections::BTreeSet;

use flashloom_figures::formula::Formula;

use self::published::{Best, Choice, Column, Group, Kind, Paper, Published, PublishedRow, Table, Workload, scoped};
use self::results::{Results, Scope};
use self::row::{FigureLine, FigureTable, Interval, Mark, NullFigure, Report, Row, SCHEMA, Summary};
use self::verdict::{Estimate, Measure, Verdict};

/// The reproduction of one paper.
pub struct Reproduction {
    /// The report of the paper.
    pub report: Report,
    /// The figures of all runs that its formulas use, as CSV.
    pub runs: String,
}

/// Reason that a quick run gives for rows that are not reproduced; those in the data files apply to full runs only.
const REHEARSAL: &str =
    "A quick run: its workload is too short, and its drive too small, for the verdict to mean anything.";

/// Makes the report of a paper.
///
/// # Errors
/// A formula names a run or field that does not exist.
pub(crate) fn reproduction(quick: bool, paper: &Paper, results: &Results) -> Result<Reproduction, String> {
    let (mut rows, mut tables) = (Vec::new(), Vec::new());
    for group in &paper.groups {
        for workload in paper.each_of(group) {
            let scope = results.scope(workload, group.on.as_deref());
            for row in &group.rows {
                let made = Rows { quick, paper, group, scope }.row(row);
                rows.push(made.map_err(|error| format!("{}-{}: {error}", group.id, row.id))?);
            }
        }
    }
    for table in &paper.tables {
        for workload in paper.each(table.each_workload) {
            let scope = results.scope(workload, table.on.as_deref());
            tables.push(match &table.choice {
                Some(choice) => chosen(paper, &scope, table, choice)?,
                None => figures(paper, &scope, table)?,
            });
        }
    }
    let Paper { paper: name, title, reference, notes, null, other_drives, .. } = paper.clone();
    let summary = Summary::of(&rows);
    let null = null.policy;
    let report = Report {
        schema: SCHEMA.to_owned(),
        paper: name,
        title,
        reference,
        null,
        notes,
        quick,
        other_drives,
        summary,
        rows,
        tables,
    };
    let runs = csv::runs(results.all(), &fields(paper), &paper.nulls());
    Ok(Reproduction { report, runs })
}

/// Fields of results that the formulas of a paper use.
fn fields(paper: &Paper) -> BTreeSet<&str> {
    let rows = paper.groups.iter().flat_map(|group| &group.rows);
    let of_rows = rows.flat_map(|row| [Some(&row.ours), row.reference.as_ref().map(|reference| &reference.ours)]);
    let of_choices =
        paper.tables.iter().flat_map(|table| &table.choice).flat_map(|choice| [&choice.most, &choice.cost]);
    let of_columns = paper.tables.iter().flat_map(|table| table.columns.iter().chain(&table.by_workload));
    let of_tables = of_columns.map(|column| &column.ours).chain(of_choices);
    of_rows.flatten().chain(of_tables).flat_map(Formula::fields).collect()
}

/// Context of the rows of a group, with one workload.
struct Rows<'a> {
    quick: bool,
    paper: &'a Paper,
    group: &'a Group,
    scope: Scope<'a>,
}

/// A row's figure in one arm; none where results do not have it.
struct Arm {
    ours: Option<f64>,
    /// Effects, one a seed.
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
        let measure = Measure { published: row.published, band: None, no_effect, better: row.better };
        let is_same = matches!(row.published, Published::SameAs { .. });
        let band = if is_same || measure.published_effect().is_some() { group.band(row) } else { None };
        let measure = Measure { band, ..measure };
        let null = group.null.as_ref().unwrap_or(&self.paper.null);
        let null_arm = 1 + self.paper.nulls().iter().position(|known| *known == null).expect("it is one of them");
        let experiments = row.experiments(&group.experiment);
        let seeds = scope.seeds(&experiments, null_arm);
        let ours = self.arm(row, &measure, 0, seeds)?;
        let is_replaced = scope.is_replaced(&experiments, null_arm);
        let replaced = is_replaced.then(|| self.arm(row, &measure, null_arm, seeds)).transpose()?;
        let kind = match (row.kind.unwrap_or(group.kind), is_replaced) {
            (Kind::Published, false) => Kind::Others,
            (kind, _) => kind,
        };
        let verdict = match replaced.as_ref().filter(|_| kind.has_to_beat_the_null()) {
            Some(null) => measure.judge_beside(ours.effects.as_deref(), null.effects.as_deref()),
            None => measure.judge(ours.effects.as_deref()),
        };
        let why = if self.quick { Some(REHEARSAL) } else { group.why(&row.id) };
        let why = why.filter(|_| verdict != Verdict::Reproduced);
        Ok(Row {
            id: format!("{}-{}", scoped(scope.workload, &group.id), row.id),
            claim: row.claim.clone(),
            kind,
            drive: self.paper.drive_of(group).map(str::to_owned),
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

/// A column of a table: one figure a seed for each experiment that has the figure.
struct Figures {
    of: Vec<Option<Vec<f64>>>,
}

impl Figures {
    /// Computes the figures of all experiments for the same number of seeds, so that any two can be paired.
    fn new(ours: &Formula, scope: &Scope<'_>, experiments: &[String]) -> Result<Self, String> {
        let needed = experiments.iter().flat_map(|experiment| ours.experiments(experiment)).collect();
        let seeds = scope.seeds(&needed, 0);
        let of = experiments.iter().map(|experiment| scope.values(ours, experiment, 0, seeds));
        Ok(Self { of: of.collect::<Result<_, _>>()? })
    }

    /// Means over the seeds, in the order of the experiments.
    fn means(&self) -> Vec<Option<f64>> {
        self.of.iter().map(|values| values.as_ref().map(|values| Estimate::of(values).mean)).collect()
    }

    /// Marks the experiment with the best mean, and those whose difference to it is not significant.
    fn marks(&self, best: Option<Best>) -> Vec<Option<Mark>> {
        let mean = |values: &Vec<f64>| Estimate::of(values).mean;
        let known = || self.of.iter().flatten();
        let by_mean = |one: &&Vec<f64>, other: &&Vec<f64>| mean(one).total_cmp(&mean(other));
        let best = match best {
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
    let of_columns = table.columns.iter().map(|column| (&*column.name, column, *scope));
    let of_workloads = table
        .by_workload
        .iter()
        .flat_map(|column| paper.workloads.iter().map(move |workload| (&*workload.name, column, scope.with(workload))));
    let columns: Vec<_> = of_columns.chain(of_workloads).collect();
    let figures = columns.iter().map(|(_, column, scope)| Figures::new(&column.ours, scope, &table.experiments));
    let figures: Vec<Figures> = figures.collect::<Result<_, String>>()?;
    let marks: Vec<_> = figures.iter().zip(&columns).map(|(of, (_, column, _))| of.marks(column.best)).collect();
    let line = |(at, experiment): (usize, &String)| FigureLine {
        experiment: experiment.clone(),
        figures: figures.iter().map(|column| column.of[at].as_ref().map(|of| Estimate::of(of).into())).collect(),
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
            Some(_) => BY_WORKLOAD.to_owned(),
            None => scope.workloads(&table.experiments.iter().cloned().collect()),
        },
        lines: table.experiments.iter().enumerate().map(line).collect(),
        columns: columns.iter().map(|(name, ..)| (*name).to_owned()).collect(),
    })
}

/// Text in the place of the workload of a table over all workloads.
const BY_WORKLOAD: &str = "The workloads of the tables below";

/// Makes a table with the experiment that is chosen for each workload.
fn chosen(paper: &Paper, scope: &Scope<'_>, table: &Table, choice: &Choice) -> Result<FigureTable, String> {
    let line = |workload: &Workload| -> Result<FigureLine, String> {
        let scope = scope.with(workload);
        let of_all = |formula: &Formula| Figures::new(formula, &scope, &table.experiments);
        let at = choice.of(&of_all(&choice.most)?, &of_all(&choice.cost)?);
        let name = at.map_or("none", |at| &table.experiments[at]);
        let figure = |column: &Column| -> Result<Option<Interval>, String> {
            let Some(at) = at else { return Ok(None) };
            let of = Figures::new(&column.ours, &scope, &table.experiments[at..=at])?;
            Ok(of.of[0].as_ref().map(|of| Estimate::of(of).into()))
        };
        Ok(FigureLine {
            experiment: format!("{}: {name}", workload.name),
            figures: table.columns.iter().map(figure).collect::<Result<_, _>>()?,
            marks: vec![None; table.columns.len()],
        })
    };
    Ok(FigureTable {
        title: table.title.clone(),
        workload: BY_WORKLOAD.to_owned(),
        lines: paper.workloads.iter().map(line).collect::<Result<_, _>>()?,
        columns: table.columns.iter().map(|column| column.name.clone()).collect(),
    })
}

impl Choice {
    /// Index of the chosen experiment; none if no experiment has the figure.
    fn of(&self, figures: &Figures, costs: &Figures) -> Option<usize> {
        let (means, costs, marks) = (figures.means(), costs.means(), figures.marks(Some(Best::Most)));
        let best = means.iter().flatten().copied().max_by(f64::total_cmp)?;
        let will_do = |at: &usize| {
            let is_near = means[*at].is_some_and(|mean| mean >= (1.0 - self.within) * best);
            is_near || marks[*at].is_some()
        };
        let by_parts_and_cost = |one: &usize, other: &usize| {
            let cost = |at: usize| costs[at].unwrap_or(f64::INFINITY);
            let by_parts = self.parts[*one].cmp(&self.parts[*other]);
            by_parts.then(cost(*one).total_cmp(&cost(*other)))
        };
        (0..means.len()).filter(will_do).min_by(by_parts_and_cost)
    }
}

/// Makes the report of a paper from results without any figures, to test its formulas.
#[cfg(test)]
fn tried(planned: &crate::reproduce::plan::PlannedPaper) -> Result<Reproduction, String> {
    reproduction(false, &planned.paper, &Results::of_configurations(planned))
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use self::published::PAPERS;
    use super::*;
    use plan::{Options, Plan};

    fn figures_of(values: &[&[f64]]) -> Figures {
        Figures { of: values.iter().map(|values| Some(values.to_vec())).collect() }
    }

    fn plan(name: &str, options: &Options) -> Plan {
        Plan::new([name], options).unwrap_or_else(|problems| panic!("{name}, {options:?}\n{problems}"))
    }

    fn quick() -> Options {
        Options { quick: true, ..Options::default() }
    }

    fn only(id: &str) -> Options {
        Options { only: vec![id.to_owned()], ..Options::default() }
    }

    #[test]
    fn the_chosen_one_has_fewest_parts_of_those_almost_as_good_and_then_costs_least() {
        let formula = || Formula::parse("host.iops").expect("it is one");
        let choice = |parts: &[u32]| Choice { most: formula(), within: 0.01, parts: parts.to_vec(), cost: formula() };
        let (figures, costs) = (figures_of(&[&[90.0], &[99.5], &[99.2], &[100.0]]), figures_of(&[&[1.0][..]; 4]));
        assert_eq!(choice(&[0, 1, 1, 2]).of(&figures, &costs), Some(1), "the first of those that are alike");
        assert_eq!(choice(&[0, 2, 1, 2]).of(&figures, &costs), Some(2), "0.8 % less, and a part less");
        let costs = figures_of(&[&[1.0], &[7.0], &[6.0], &[9.0]]);
        assert_eq!(choice(&[0, 1, 1, 2]).of(&figures, &costs), Some(2), "it costs less");
        let wide = figures_of(&[&[80.0, 120.0, 90.0], &[101.0, 103.0, 102.0]]);
        assert_eq!(
            choice(&[0, 1]).of(&wide, &figures_of(&[&[1.0][..]; 2])),
            Some(0),
            "it cannot be told from the best"
        );
        assert_eq!(choice(&[0]).of(&Figures { of: vec![None] }, &figures_of(&[&[1.0]])), None);
    }

    #[test]
    fn every_choice_knows_the_parts_of_its_experiments() {
        for paper in PAPERS.iter().filter_map(|name| Paper::named(name)) {
            for table in &paper.tables {
                let parts = table.choice.as_ref().map(|choice| choice.parts.len());
                assert_eq!(parts.unwrap_or(table.experiments.len()), table.experiments.len(), "{}", table.title);
            }
        }
    }

    #[test]
    fn every_experiment_is_sound_in_full_and_in_its_quick_form() {
        for options in [Options::default(), quick()] {
            for paper in PAPERS {
                let plan = plan(paper, &options);
                let ready = plan.prepare().unwrap_or_else(|problems| panic!("{paper}, {options:?}\n{problems}"));
                assert!(ready.runs().count() <= ready.variants().count(), "a configuration runs once");
            }
        }
    }

    #[test]
    fn every_formula_chooses_runs_that_its_experiment_has_in_every_arm() {
        PAPERS.par_iter().for_each(|name| {
            let made = tried(&plan(name, &quick()).papers[0]).unwrap_or_else(|error| panic!("{name}: {error}"));
            // Without a figure nothing is reproduced, whatever is claimed.
            assert!(made.report.rows.iter().all(|row| row.verdict == Verdict::NotReproduced), "{name}");
        });
    }

    #[test]
    fn every_null_changes_some_run_and_leaves_its_label() {
        for name in PAPERS {
            let planned = &plan(name, &quick()).papers[0];
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
        let marks = |best| Figures { of: of.clone() }.marks(best);
        assert_eq!(marks(Some(Best::Most)), [Some(Mark::Best), Some(Mark::Tied), None, None]);
        assert_eq!(marks(Some(Best::Least)), [None, None, Some(Mark::Best), None]);
        assert_eq!(marks(None), [None; 4]);
    }

    #[test]
    fn one_figure_alone_runs_what_its_rows_need_and_has_them_as_the_whole_report_does() {
        let whole = &plan("cave", &Options::default()).papers[0];
        let rows = tried(whole).expect("another test says what is wrong with it").report.rows;
        let mut found = 0;
        for group in &whole.paper.groups {
            let part = &plan("cave", &only(&group.id)).papers[0];
            let made = tried(part).unwrap_or_else(|error| panic!("{}: {error}", group.id)).report;
            let is_known = |row: &Row| rows.iter().any(|known| (&known.id, &known.formula) == (&row.id, &row.formula));
            assert!(made.rows.iter().all(is_known) && made.tables.is_empty(), "{}", group.id);
            assert!(part.studies.len() <= whole.studies.len());
            found += made.rows.len();
        }
        assert_eq!(found, rows.len());
        let unknown = Plan::new(["kast"], &only("figure-5"));
        assert_eq!(unknown.err().map(|problems| problems.0.len()), Some(1), "KAST has no figure 5");
        assert!(plan("cave", &only("figure-5")).papers[0].studies.len() * 2 < whole.studies.len());
    }

    #[test]
    fn one_figure_on_one_other_drive_is_run_with_the_seeds_of_that_drive() {
        let studies = &plan("pardispatcher", &only("figure-3-varmail-depth-1")).papers[0].studies;
        assert!(!studies.is_empty() && studies.iter().all(|study| study.seeds == [4, 5, 6, 7, 8]));
        let study = studies.iter().find(|study| study.name == "varmail-figure-3-depth-1").expect("it is needed");
        let config = study.experiment.variants[0].config.to_json();
        assert_eq!((&config["host"]["queue_depth"], &config["run"]["seed"]), (&1.into(), &4.into()));
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused() {
        let traces = Some("no/such/folder".into());
        assert!(Plan::new(["kast"], &Options { traces, ..quick() }).is_err());
        assert!(Plan::new(["fios"], &Options::default()).is_err());
    }
}
