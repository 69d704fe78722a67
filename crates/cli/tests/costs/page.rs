//! The page: the tables of docs/costs.md, made of the budgets.

use std::fmt::Write as _;

use flashloom::figures::number;

use crate::budget::Budgets;
use crate::case::Case;

/// The lines that the generated part of the page stands between.
const MARKS: [&str; 2] = ["<!-- costs -->\n", "<!-- /costs -->\n"];

/// The page with its tables anew.
///
/// # Errors
/// The page lacks the marks of the generated part.
pub fn renewed(page: &str, budgets: &Budgets, cases: &[Case]) -> Result<String, String> {
    let parts = page.split_once(MARKS[0]).and_then(|(before, rest)| Some((before, rest.split_once(MARKS[1])?.1)));
    let (before, after) = parts.ok_or_else(|| format!("the page lacks the lines {MARKS:?}"))?;
    Ok(format!("{before}{}\n{}\n{}{after}", MARKS[0], tables(budgets, cases), MARKS[1]))
}

/// The build, then a table for each slot: its reference policy first, the others as they are listed.
fn tables(budgets: &Budgets, cases: &[Case]) -> String {
    let mut text = format!("Counted in this build:\n\n```text\n{}\n```\n", budgets.build.join("\n"));
    let mut slots: Vec<_> = cases.iter().map(|case| case.slot).collect();
    slots.dedup();
    for slot in slots {
        let of_slot = || cases.iter().filter(|case| case.slot == slot);
        let (references, others): (Vec<_>, Vec<_>) = of_slot().partition(|case| case.policy == case.reference);
        write!(
            text,
            "\n### {}, `{}`\n\n\
             | policy | instructions a request | of the reference's | mispredicted branches a request | \
             flash operations a request |\n\
             |---|--:|--:|--:|--:|\n",
            capitalized(slot.role),
            slot.key
        )
        .expect("a text can be written to");
        for case in references.iter().chain(&others) {
            let cost = |policy: &str| budgets.cost(slot.name, policy);
            // A policy without a budget fails the test of the budgets.
            let Some((cost, reference)) = cost(case.policy).zip(cost(case.reference)) else { continue };
            let ratio = match case.policy == case.reference {
                true => "reference".to_owned(),
                false => format!("{:.2}", cost.instructions as f64 / reference.instructions as f64),
            };
            writeln!(
                text,
                "| [{name}](reference/{}/{name}.md) | {} | {ratio} | {:.1} | {:.2} |",
                slot.name,
                number::count(cost.instructions),
                cost.mispredictions,
                cost.operations,
                name = case.policy,
            )
            .expect("a text can be written to");
        }
    }
    text
}

/// A role as the first word of a heading.
fn capitalized(role: &str) -> String {
    let (first, rest) = role.split_at(1);
    first.to_uppercase() + rest
}
