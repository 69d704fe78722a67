//! Reports as Markdown, for people.

use std::fmt::Write as _;

use flashloom_units::visible_whole_line;

use super::drive::OtherDrive;
use super::published::{Band, Kind, Published};
use super::row::{FigureTable, Interval, Mark, Overview, Report, Row, Summary};
use super::verdict::Verdict;

/// Returns the report of a paper. `command` is the command line that made it, which the report quotes.
pub fn report(report: &Report, command: &str) -> String {
    let mut text = format!("# {}\n\n{}\n\n", report.title, report.reference);
    let _ = writeln!(text, "Made by `{command}`; nothing in it was typed by hand.");
    if report.quick {
        text.push_str(
            "A quick run: workloads are shortened and drives are smaller, so the verdicts are a rehearsal.\n",
        );
    }
    let _ = write!(text, "\n{}\n", tally(&report.summary));
    let _ = write!(text, "The null, in the place of the policy that a row is about: {}.\n\n", report.null);
    let _ = writeln!(text, "{}", report.notes.trim_end());
    other_drives(&report.other_drives, &mut text);
    text.push_str(&rows(report));
    report.tables.iter().for_each(|table| figures(table, &mut text));
    text
}

/// Returns the rows of a report alone, a table for each group.
pub fn rows(report: &Report) -> String {
    let mut text = String::new();
    let mut rest = &report.rows[..];
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|row| row.group == first.group).count();
        let (rows, others) = rest.split_at(length);
        group(report, rows, &mut text);
        rest = others;
    }
    text
}

/// Appends how the other drives differ from that of the configurations; nothing if there are none.
fn other_drives(drives: &[OtherDrive], text: &mut String) {
    if drives.is_empty() {
        return;
    }
    text.push_str("\n| other drive | suffix of its rows | settings | seeds |\n|---|---|---|---|\n");
    for OtherDrive { name, title, set, seeds, .. } in drives {
        let seeds = seeds.map(|seed| seed.to_string()).join(", ");
        let _ = writeln!(text, "| {title} | `{name}` | `{}` | {seeds} |", set.join(" "));
    }
}

/// First line of [`overview`], by which the program recognises such a file.
pub const OVERVIEW: &str = "# Published figures beside ours\n";

/// Returns the overview of a folder: the summaries of all reports, with links to them.
pub fn overview(reports: &[Overview]) -> String {
    let mut text = format!("{OVERVIEW}\nMade by `flashloom reproduce`; each report names its command.\n\n");
    let verdicts = Verdict::ALL.map(Verdict::name).join(" | ");
    let _ = writeln!(text, "| report | drive | what | rows | {verdicts} | of which the null reproduces |");
    text.push_str("|---|---|---|---:|---:|---:|---:|---:|---:|\n");
    for report in reports {
        // Those of earlier runs are read from the folder, which somebody may have sent.
        let (paper, title) = (cell(&report.paper), cell(&report.title));
        let mut link = format!("[{paper}]({paper}.md): {title}");
        for line in counts(&report.summary) {
            let _ = writeln!(text, "| {} {line}", std::mem::take(&mut link));
        }
    }
    text
}

/// A text within a cell: made visible, and without a sign that would end the cell, link or open an element.
fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for character in visible_whole_line(text).chars() {
        if matches!(character, '\\' | '|' | '<' | '>' | '[' | ']') {
            cell.push('\\');
        }
        cell.push(character);
    }
    cell
}

/// Lines of the cells of summaries, each from its drive to the end. A drive is named in its first line.
fn counts(summaries: &[Summary]) -> Vec<String> {
    let line = |(at, summary): (usize, &Summary)| {
        let is_first = at == 0 || summaries[at - 1].drive != summary.drive;
        let drive = summary.drive.as_deref().filter(|_| is_first).map(cell).unwrap_or_default();
        let verdicts = summary.verdicts.map(|count| count.to_string()).join(" | ");
        let Summary { kind, rows, null_reproduces, .. } = summary;
        format!("| {drive} | {} | {rows} | {verdicts} | {null_reproduces} |", kind.name())
    };
    summaries.iter().enumerate().map(line).collect()
}

fn tally(summaries: &[Summary]) -> String {
    let verdicts = Verdict::ALL.map(Verdict::name).join(" | ");
    let mut text = format!("| drive | what | rows | {verdicts} | of which the null reproduces |\n");
    text.push_str("|---|---|---:|---:|---:|---:|---:|---:|\n");
    counts(summaries).into_iter().for_each(|line| text.push_str(&(line + "\n")));
    text
}

fn group(report: &Report, rows: &[Row], text: &mut String) {
    let first = &rows[0];
    let unit = if first.unit.is_empty() { String::new() } else { format!(", in {}", first.unit) };
    let _ = writeln!(text, "\n## {}\n\n{}{unit}.\n", first.group, first.source);
    if let Some(null) = rows.iter().find_map(|row| row.null.as_ref()).filter(|null| null.policy != report.null) {
        let _ = writeln!(text, "The null of these rows: {}.\n", null.policy);
    }
    text.push_str(
        "| row | claim | published | ours | our effect, 95 % | band | with the null | verdict | workload |\n",
    );
    text.push_str("|---|---|---:|---:|---:|---:|---:|---|---|\n");
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {}{} | {} | {} | {} | {} | {} | {} | {} |",
            row.id,
            row.claim,
            marked(row.kind),
            published(row),
            optional(row.ours),
            row.effect.as_ref().map_or("-".to_owned(), |effect| interval(effect, row.seeds)),
            row.band.as_ref().map_or("-".to_owned(), band),
            null(row),
            emphasised(row.verdict),
            row.workload
        );
    }
    reasons(rows, text);
}

/// The kind of a claim in parentheses; empty for the ordinary kind, [`Kind::Published`].
fn marked(kind: Kind) -> String {
    if kind == Kind::Published { String::new() } else { format!(" ({})", kind.name()) }
}

fn interval(of: &Interval, seeds: usize) -> String {
    if seeds == 1 { number(of.mean) } else { format!("{} ± {}", number(of.mean), number(of.high - of.mean)) }
}

/// The null's figure, with a mark if it reproduces the published effect.
fn null(row: &Row) -> String {
    let mark = if row.null_reproduces() { ", **reproduces it**" } else { "" };
    format!("{}{mark}", optional(row.null.as_ref().and_then(|null| null.ours)))
}

fn figures(table: &FigureTable, text: &mut String) {
    let _ = writeln!(text, "\n## {}\n\n{}.\n", table.title, table.workload);
    let _ = writeln!(text, "| experiment | {} |", table.columns.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(table.columns.len()));
    for line in &table.lines {
        let figure = |(figure, mark): (&Option<Interval>, &Option<Mark>)| {
            let Some(of) = figure else { return "-".to_owned() };
            let shown = if of.low == of.high { number(of.mean) } else { interval(of, 0) };
            match mark {
                Some(Mark::Best) => format!("**{shown}**"),
                Some(Mark::Tied) => format!("{shown} ≈"),
                None => shown,
            }
        };
        let figures: Vec<String> = line.figures.iter().zip(&line.marks).map(figure).collect();
        let _ = writeln!(text, "| {} | {} |", line.experiment, figures.join(" | "));
    }
    if table.lines.iter().flat_map(|line| &line.marks).any(Option::is_some) {
        text.push_str(
            "\n**bold**: the best of its column; ≈: the interval of its paired difference to the best holds zero.\n",
        );
    }
}

/// Appends each reason once, with the rows that it is given for.
fn reasons(rows: &[Row], text: &mut String) {
    let mut given: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        let Some(why) = row.why.as_deref() else { continue };
        match given.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, ids)) => ids.push(&row.id),
            None => given.push((why, vec![&row.id])),
        }
    }
    for (why, ids) in given {
        let _ = write!(text, "\n**Why not** ({}): {}\n", ids.join(", "), why.replace('\n', " "));
    }
    let lacking: Vec<&str> = rows.iter().filter(|row| row.lacks_reason()).map(|row| row.id.as_str()).collect();
    if !lacking.is_empty() {
        let _ = write!(text, "\n**NO REASON IS KNOWN** for what is not reproduced of: {}\n", lacking.join(", "));
    }
}

fn emphasised(verdict: Verdict) -> String {
    if verdict == Verdict::NotReproduced { format!("**{}**", verdict.name()) } else { verdict.name().to_owned() }
}

fn published(row: &Row) -> String {
    match row.published {
        Published::Value(value) => number(value),
        Published::Range([low, high]) => format!("{} to {}", number(low), number(high)),
        Published::AtMost { at_most } => format!("at most {}", number(at_most)),
        Published::AtLeast { at_least } => format!("at least {}", number(at_least)),
        Published::LessThan { less_than } => format!("less than {}", number(less_than)),
        Published::MoreThan { more_than } => format!("more than {}", number(more_than)),
        Published::SameAs { same_as } => format!("the same as {}", number(same_as)),
    }
}

fn band(band: &Band) -> String {
    match band {
        Band::Share(share) => format!("{} %", number(share * 100.0)),
        Band::Absolute(tolerance) => number(*tolerance),
    }
}

fn optional(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), number)
}

/// A number in three significant digits; a whole number in full.
fn number(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e15 {
        return format!("{value:.0}");
    }
    match size {
        _ if size >= 99.95 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.9995 => format!("{value:.2}"),
        _ if size >= 0.09995 => format!("{value:.3}"),
        _ if size >= 0.01 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::row::SCHEMA;
    use serde_json::json;

    fn row(id: &str, verdict: Verdict, why: Option<&str>) -> Row {
        let interval = |mean: f64, by: f64| json!({"mean": mean, "low": mean - by, "high": mean + by});
        let of_null = json!({"policy": "noop", "ours": 0.0, "effect": interval(0.0, 0.0), "verdict": "not reproduced"});
        let row = json!({
            "id": id, "claim": "fewer erases", "kind": "published", "source": "Table I", "published": [9.9, 17.7],
            "published_effect": 9.9, "ours": 12.345, "seeds": 5, "effect": interval(12.345, 1.0), "verdict": verdict,
            "null": of_null, "why": why, "workload": "generated", "band": {"share": 0.25}, "formula": "1",
        });
        serde_json::from_value(row).expect("it is a row")
    }

    fn of(rows: Vec<Row>) -> String {
        let made = json!({
            "schema": SCHEMA, "paper": "", "title": "", "reference": "", "null": "noop", "quick": true,
            "summary": Summary::of(&rows), "rows": rows,
        });
        report(&serde_json::from_value(made).expect("it is a report"), "run")
    }

    #[test]
    fn a_row_that_is_not_reproduced_without_a_reason_is_told_loudly() {
        assert!(of(vec![row("a", Verdict::NotReproduced, None)]).contains("**NO REASON IS KNOWN** for"));
        assert!(!of(vec![row("a", Verdict::DirectionOnly, None)]).contains("NO REASON"));
    }

    #[test]
    fn an_overview_shows_what_a_file_says_and_nothing_of_it_acts() {
        let title = "a\u{202e}\n|<img src=x>[b](javascript:c)".to_owned();
        let summary = Summary::of(&[row("a", Verdict::Reproduced, None)]);
        let text = overview(&[Overview { paper: "p".to_owned(), title, summary }]);
        assert!(text.contains(r"| [p](p.md): a\\u{202e}\\n\|\<img src=x\>\[b\](javascript:c) |"), "{text}");
    }

    #[test]
    fn a_reason_stands_once_with_all_the_rows_that_it_is_given_for() {
        let reason = Some("another trace");
        let text = of(vec![row("a", Verdict::NotReproduced, reason), row("b", Verdict::NotReproduced, reason)]);
        assert!(text.contains("**Why not** (a, b): another trace"), "{text}");
        assert_eq!(text.matches("another trace").count(), 1);
    }

    #[test]
    fn figures_have_three_digits_and_whole_ones_all_of_theirs() {
        let shown = [32_102.0, 12.345, 2.5, 0.9868, 0.0345, 0.0012, 1234.5].map(number);
        assert_eq!(shown, ["32102", "12.3", "2.50", "0.987", "0.0345", "1.20e-3", "1234"]);
        let text = of(vec![row("a", Verdict::Reproduced, None)]);
        assert!(text.contains("| 9.90 to 17.7 | 12.3 | 12.3 ± 1 | 25 % | 0 | reproduced |"), "{text}");
    }

    #[test]
    fn a_null_that_shows_the_effect_and_a_row_that_nobody_published_are_marked() {
        let mut claim = row("a", Verdict::NotReproduced, Some("so"));
        claim.kind = Kind::Own;
        claim.null.as_mut().expect("it has one").verdict = Verdict::Reproduced;
        let text = of(vec![claim]);
        assert!(text.contains("fewer erases (our own claim)") && text.contains("0, **reproduces it**"), "{text}");
        assert!(text.contains("|  | our own claim | 1 | 0 | 0 | 0 | 1 | 1 |"), "{text}");
    }

    #[test]
    fn rows_of_different_drives_are_counted_apart() {
        let on = |drive: &str, verdict| Row { drive: Some(drive.to_owned()), ..row("a", verdict, Some("so")) };
        let [first, other] = ["a drive", "another"];
        let text = of(vec![on(first, Verdict::Reproduced), on(other, Verdict::NotReproduced)]);
        assert!(text.contains("| a drive | published | 1 | 1 | 0 | 0 | 0 | 0 |"), "{text}");
        assert!(text.contains("| another | published | 1 | 0 | 0 | 0 | 1 | 0 |"), "{text}");
    }
}
