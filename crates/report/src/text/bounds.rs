//! Notes below a comparison on bounds that could not be computed.

use flashloom_figures::result::Comparison;
use flashloom_units::visible_line;

use super::table::rows;

/// The missing bounds: one line per part of the stack and reason, with the rows that it holds for.
pub fn missing_bounds(comparison: &Comparison) -> String {
    let seeds = comparison.repetitions();
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
    let line = |(part, why, of): &(&str, &str, Vec<usize>)| {
        let (part, why) = (visible_line(name(part)), visible_line(why));
        match all {
            1 => format!("note: no bound of the {part}: {why}\n"),
            _ => format!("note: no bound of the {part}: {why} ({})\n", rows(of, all)),
        }
    };
    reasons.iter().map(line).collect()
}

/// Name of a part of the stack, for people.
fn name(part: &str) -> &str {
    match part {
        "buffer" => "write buffer",
        "ftl" => "FTL",
        other => other,
    }
}
