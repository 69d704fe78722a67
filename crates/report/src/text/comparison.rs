//! Tables of a comparison: one row per combination, the best value of each column marked.

use flashloom_config::Bounds;
use flashloom_figures::estimate::{Estimate, Paired};
use flashloom_figures::formula::Run;
use flashloom_figures::number::count;
use flashloom_figures::result::{Comparison, ExpectationResult, plain};
use flashloom_units::{Best, visible_line};
use serde_json::Value;

use super::columns::Column;
use super::{Part, Table};

/// A column with its values: one per seed for each combination, `None` for a run without the figure.
struct Figures<'a> {
    column: &'a Column,
    values: Vec<Option<Vec<f64>>>,
}

impl<'a> Figures<'a> {
    /// The columns that are shown, with the values of all runs.
    fn of(columns: &'a [Column], comparison: &Comparison) -> Vec<Self> {
        let mut figures: Vec<Self> = columns.iter().map(|column| Self { column, values: Vec::new() }).collect();
        // One combination at a time, because a result takes several times its memory as JSON.
        for runs in comparison.runs.chunks(comparison.repetitions()) {
            let runs: Vec<Run> = runs.iter().map(Run::from).collect();
            for Self { column, values } in &mut figures {
                values.push(runs.iter().map(|run| column.value(&run.result)).collect());
            }
        }
        figures.retain(Self::is_shown);
        figures
    }

    fn is_shown(&self) -> bool {
        self.column.is_asked || self.values.iter().any(Option::is_some)
    }

    /// Table cells: with several seeds, the mean and its confidence interval.
    fn shown(&self) -> Vec<String> {
        let show = |values: &Vec<f64>| {
            let Estimate { mean, half_width } = Estimate::of(values);
            let show = |value| self.column.show(value);
            match values.len() {
                1 => show(mean),
                _ => format!("{} ±{}", show(mean), if half_width == 0.0 { "0".to_owned() } else { show(half_width) }),
            }
        };
        self.values.iter().map(|values| values.as_ref().map_or("-".to_owned(), show)).collect()
    }

    /// Index of the row that is better than every other: as displayed or, with several seeds, by more than the interval
    /// of its paired difference. `None` if two are equal.
    fn best(&self, shown: &[String]) -> Option<usize> {
        let given = || self.values.iter().enumerate().filter_map(|(row, values)| Some((row, values.as_ref()?)));
        let order = |(_, one): &(usize, &Vec<f64>), (_, other): &(usize, &Vec<f64>)| {
            Estimate::of(one).mean.total_cmp(&Estimate::of(other).mean)
        };
        let (best, values) = match self.column.best {
            Best::Highest => given().max_by(order),
            Best::Lowest => given().min_by(order),
            Best::Neither => None,
        }?;
        let is_beaten = |(row, others): (usize, &Vec<f64>)| match values.len() {
            1 => shown[row] != shown[best],
            _ => !Paired::of(values, others).difference.holds(0.0),
        };
        let mut others = given().filter(|(row, _)| *row != best).peekable();
        (others.peek().is_some() && others.all(is_beaten)).then_some(best)
    }

    /// Difference of each row to the first, as a share of the first's mean unless that is zero.
    fn differences(&self) -> Vec<String> {
        let first = self.values.first().and_then(Option::as_ref);
        let difference = |values: &Option<Vec<f64>>| {
            let (Some(values), Some(first)) = (values, first) else { return "-".to_owned() };
            let Paired { difference, .. } = Paired::of(values, first);
            let of = Estimate::of(first).mean.abs();
            let sign = if difference.mean < 0.0 { "-" } else { "+" };
            let show = |value: f64| match of {
                0.0 => self.column.show(value),
                _ => format!("{:.1}", value / of * 100.0),
            };
            let unit = if of == 0.0 { "" } else { " %" };
            let tells = if difference.holds(0.0) { " ~" } else { "  " };
            format!("{sign}{} ±{}{unit}{tells}", show(difference.mean.abs()), show(difference.half_width))
        };
        self.values.iter().skip(1).map(difference).collect()
    }

    /// The paired difference of each row to the first, of the rows that have the figure.
    fn pairs(&self) -> impl Iterator<Item = Paired> {
        let first = self.values.first().and_then(Option::as_ref);
        let others = self.values.iter().skip(1).flatten();
        others.filter_map(move |values| Some(Paired::of(values, first?)))
    }

    /// Width of the intervals of the differences as a share of that of runs that are no pairs, over all rows; none if
    /// nothing differs between seeds.
    fn paired_share(&self) -> Option<f64> {
        let of = |width: fn(&Paired) -> f64| self.pairs().map(|paired| width(&paired).powi(2)).sum::<f64>().sqrt();
        let unpaired = of(|paired| paired.unpaired_half_width);
        (unpaired > 0.0).then(|| of(|paired| paired.difference.half_width) / unpaired)
    }

    /// Number of seeds that would tell a difference of [`TOLD`] from each row that cannot be told from the first, the
    /// largest of them, in words; none if all can.
    fn seeds_to_tell(&self) -> Option<String> {
        let of = Estimate::of(self.values.first()?.as_ref()?).mean.abs();
        if of == 0.0 {
            return None;
        }
        let untold = self.pairs().filter(|paired| paired.difference.holds(0.0) && paired.difference.half_width > 0.0);
        let seeds: Vec<Option<u32>> = untold.map(|paired| paired.seeds_to_tell(TOLD * of)).collect();
        let most = seeds.iter().max()?;
        Some(match seeds.contains(&None) {
            true => "more than 1,000".to_owned(),
            false => count(u64::from(most.unwrap_or_default())),
        })
    }
}

/// Difference, as a share of the first row's mean, for which the number of seeds is stated that would tell it.
const TOLD: f64 = 0.02;

/// What pairing gains and how many seeds would tell a difference, below the table of differences.
fn of_pairs(figures: &[Figures<'_>]) -> String {
    let listed = |of: &dyn Fn(&Figures<'_>) -> Option<String>| {
        let judged = figures.iter().filter(|figures| figures.column.best != Best::Neither);
        let parts = judged.filter_map(|figures| Some(format!("{} {}", figures.column.name, of(figures)?)));
        parts.collect::<Vec<String>>().join(", ")
    };
    let mut text = String::new();
    let shares = listed(&|figures| figures.paired_share().map(|share| format!("{:.0} %", share * 100.0)));
    if !shares.is_empty() {
        text.push_str(&format!("Width of these intervals relative to unpaired seeds: {shares}\n"));
    }
    let seeds = listed(&|figures| figures.seeds_to_tell());
    if !seeds.is_empty() {
        text.push_str(&format!(
            "Seeds needed to detect a {} % difference (80 % power), of columns with ~: {seeds}\n",
            TOLD * 100.0
        ));
    }
    text
}

/// A combination's varied keys and their values, without the seed.
type Varied = serde_json::Map<String, Value>;

/// The comparison's table, one row per combination with the varied keys first; then the differences over seeds, the
/// combinations left out, and the expectations.
pub fn comparison(comparison: &Comparison, columns: &[Column]) -> Vec<Part> {
    let seeds = comparison.repetitions();
    let varied: Vec<&Varied> = match comparison.repeated.as_slice() {
        [] => comparison.runs.iter().map(|run| &run.vary).collect(),
        repeated => repeated.iter().map(|repeated| &repeated.vary).collect(),
    };
    let figures = Figures::of(columns, comparison);
    let keys = varied.first().into_iter().flat_map(|vary| vary.keys()).map(|key| last_part(key));
    let names = varied.first().map_or(0, |vary| vary.len());
    let header: Vec<&str> = keys.chain(figures.iter().map(|figures| figures.column.name.as_str())).collect();

    let mut rows: Vec<Vec<String>> = varied.iter().map(|vary| values(vary)).collect();
    let mut notes = "\n".to_owned();
    let mut is_marked = false;
    for figures in &figures {
        let shown = figures.shown();
        let best = figures.best(&shown);
        is_marked |= best.is_some();
        for (index, (row, shown)) in rows.iter_mut().zip(shown).enumerate() {
            row.push(shown + if Some(index) == best { " *" } else { "  " });
        }
    }
    if is_marked {
        let beyond = if seeds > 1 { ", beyond the interval of its paired difference to each other" } else { "" };
        notes.push_str(&format!("* best of its column{beyond}\n"));
    }
    if let Some(repeated) = comparison.repeated.first() {
        let (first, last) = (repeated.seeds.first().unwrap_or(&0), repeated.seeds.last().unwrap_or(&0));
        notes.push_str(&format!(
            "means of {seeds} seeds ({first} to {last}) ± half the width of their 95 % interval (Student's t)\n"
        ));
        if comparison.runs.iter().any(|run| run.result.config.get("/workload/replicate") == true) {
            notes.push_str(
                "each seed is a replicate of the recording: begun at another request, with arrivals or depth that \
                 waver\n",
            );
        }
    }
    let mut parts = vec![Part::Table(Table::new(&header, names, rows)), Part::Lines(notes)];
    if !comparison.repeated.is_empty() && varied.len() > 1 && !figures.is_empty() {
        parts.extend(differences(&varied, &header, &figures));
    }
    parts.push(Part::Lines(checked(comparison) + &left_out(comparison)));
    if !comparison.expectations.is_empty() {
        parts.extend([Part::blank(), Part::Table(expectations(comparison))]);
    }
    parts.retain(|part| *part != Part::Lines(String::new()));
    parts
}

/// The values of the varied keys, as they are shown.
fn values(vary: &Varied) -> Vec<String> {
    vary.values().map(plain).collect()
}

/// The differences over seeds of each combination to the first.
fn differences(varied: &[&Varied], header: &[&str], figures: &[Figures<'_>]) -> [Part; 3] {
    let mut rows: Vec<Vec<String>> = varied.iter().skip(1).map(|vary| values(vary)).collect();
    for figures in figures {
        rows.iter_mut().zip(figures.differences()).for_each(|(row, shown)| row.push(shown));
    }
    let first: Vec<String> = varied[0].iter().map(|(key, value)| format!("{key}={}", plain(value))).collect();
    [
        Part::Lines(format!("\nDifferences to {}, by pairs of the same seed:\n\n", first.join(", "))),
        Part::Table(Table::new(header, varied[0].len(), rows)),
        Part::Lines(format!("\n~ none can be told: the interval holds zero\n{}", of_pairs(figures))),
    ]
}

/// What was verified, if every run was.
fn checked(comparison: &Comparison) -> String {
    let verified: u64 = comparison.runs.iter().filter_map(|run| run.result.integrity.sectors_checked).sum();
    if !comparison.runs.iter().all(|run| run.result.integrity.verified) {
        return String::new();
    }
    format!("verified: every flash command, and {} sectors read\n", count(verified))
}

fn last_part(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, name)| name)
}

/// The combinations left out, grouped by reason: one line per combination with all its values, the offending ones
/// first.
fn left_out(comparison: &Comparison) -> String {
    if comparison.left_out.is_empty() {
        return String::new();
    }
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for left_out in &comparison.left_out {
        let why = left_out.problems.first().and_then(|problem| problem.lines().next()).unwrap_or_default();
        let why = why.trim_start_matches("error: ");
        let vary: Vec<String> = left_out.vary.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect();
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, combinations)) => combinations.push(vary.join(", ")),
            None => reasons.push((why, vec![vary.join(", ")])),
        }
    }
    let lines = |(why, combinations): &(&str, Vec<String>)| match combinations.as_slice() {
        [alone] => format!("  {}: {}\n", visible_line(alone), visible_line(why)),
        several => {
            let several = several.iter().map(|line| format!("    {}\n", visible_line(line)));
            format!("  {}:\n{}", visible_line(why), several.collect::<String>())
        }
    };
    let lines: String = reasons.iter().map(lines).collect();
    format!("\n{} left out, because their values do not go together:\n{lines}", comparison.left_out.len())
}

/// One row per expectation: whether it holds, the number, its bounds.
fn expectations(comparison: &Comparison) -> Table {
    let row = |expected: &ExpectationResult| {
        let bounds = Bounds { at_least: expected.at_least, at_most: expected.at_most };
        let value = expected.value.map_or("no number".to_owned(), significant);
        let verdict = if expected.holds { "holds" } else { "FAILS" };
        vec![expected.claim.clone(), verdict.to_owned(), value, bounds.to_string()]
    };
    let rows = comparison.expectations.iter().map(row).collect();
    Table::new(&["expected", "", "found", "bounds"], 2, rows)
}

/// Formats a number to four significant digits.
fn significant(value: f64) -> String {
    let before = if value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
    format!("{value:.*}", (4 - before).clamp(0, 9) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_figures::number::Format;

    /// Index of the marked row among these values, one per seed.
    fn best(best: Best, values: &[Option<&[f64]>]) -> Option<usize> {
        let column =
            Column { name: "figure".to_owned(), best, format: Format::Factor, paths: Vec::new(), is_asked: true };
        let values = values.iter().map(|values| values.map(<[f64]>::to_vec)).collect();
        let figures = Figures { column: &column, values };
        figures.best(&figures.shown())
    }

    #[test]
    fn the_best_is_marked_unless_it_is_tied() {
        let values = [Some(&[2.0][..]), None, Some(&[1.0]), Some(&[1.0])];
        assert_eq!(best(Best::Lowest, &values), None);
        assert_eq!(best(Best::Highest, &values), Some(0));
        assert_eq!(best(Best::Lowest, &values[..3]), Some(2));
        assert_eq!(best(Best::Neither, &values[..3]), None);
        assert_eq!(best(Best::Lowest, &values[2..3]), None);
    }

    #[test]
    fn of_several_seeds_the_best_is_marked_where_every_pair_tells() {
        let (slow, fast) = ([100.0, 200.0, 300.0], [99.0, 199.1, 298.9]);
        assert_eq!(best(Best::Lowest, &[Some(&slow), Some(&fast)]), Some(1));
        let sometimes = [99.0, 201.0, 298.0];
        assert_eq!(best(Best::Lowest, &[Some(&slow), Some(&sometimes)]), None);
    }
}
