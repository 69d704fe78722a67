//! What `--bounds` could not work out, below a comparison.

use flashloom::experiment::config::Experiment;
use flashloom::experiment::result::Comparison;

use crate::figures::rows;

/// The bounds that are missing: a line a part of the stack and reason, with the rows that it holds for.
pub fn left_out(experiment: &Experiment, comparison: &Comparison) -> String {
    let seeds = experiment.repetitions();
    let mut reasons: Vec<(&str, &str, Vec<usize>)> = Vec::new();
    for (run, compared) in comparison.runs.iter().enumerate() {
        let row = run / seeds;
        for (part, why) in compared.result.bounds.iter().flat_map(|bounds| &bounds.left_out) {
            match reasons.iter_mut().find(|(known, reason, _)| known == part && reason == why) {
                Some((_, _, rows)) if rows.last() == Some(&row) => {}
                Some((_, _, rows)) => rows.push(row),
                None => reasons.push((part, why, vec![row])),
            }
        }
    }
    let all = comparison.runs.len() / seeds;
    let line = |(part, why, of): &(&str, &str, Vec<usize>)| match all {
        1 => format!("note: no bound of the {}: {why}\n", name(part)),
        _ => format!("note: no bound of the {}: {why} ({})\n", name(part), rows(of, all)),
    };
    reasons.iter().map(line).collect()
}

/// A part of the stack, in words.
fn name(part: &str) -> &str {
    match part {
        "buffer" => "write buffer",
        "ftl" => "FTL",
        other => other,
    }
}
