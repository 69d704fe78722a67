//! The cost of each policy in instructions and mispredicted branches a request, held to a checked-in budget.
//!
//! Both are counted by valgrind in the release build, with one policy at a time exchanged in a reference
//! configuration. That takes a minute, so it is ignored here: `make budget` builds what it needs and runs it, `make
//! budgets` writes the budgets anew instead. That every policy has a budget, and that the page of the documents shows
//! them, is tested always.
#![allow(missing_docs)]

mod budget;
mod case;
mod count;
mod linear;
mod page;

use std::fs;
use std::path::PathBuf;

use flashloom::config::Catalog;
use flashloom::units::SlotSpec;
use rayon::prelude::*;

use budget::{Budgets, FILE};
use case::Case;
use count::{Cost, Counter};

/// The page with the tables, in the project.
const PAGE: &str = "docs/costs.md";

/// The command that writes budgets and page.
const RENEW: &str = "make budgets";

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// True if the tests write what they would otherwise hold.
fn updates() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

fn read(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn write(path: &str, text: &str) {
    fs::write(project().join(path), text).unwrap_or_else(|error| panic!("{path}: {error}"));
}

fn budgets() -> Budgets {
    Budgets::parse(&read(FILE)).unwrap_or_else(|fault| panic!("{FILE}: {fault}"))
}

/// Counts all cases, those with the same settings once.
fn count(cases: &[Case]) -> Budgets {
    let counter = Counter::new().unwrap_or_else(|fault| panic!("{fault}"));
    let mut settings: Vec<&str> = cases.iter().map(|case| case.settings.as_str()).collect();
    settings.sort_unstable();
    settings.dedup();
    // Single cases are handed out, because one of a merging FTL takes as long as ten others.
    let counted = settings.par_iter().with_max_len(1).enumerate();
    let costs: Vec<Cost> = counted.map(|(number, settings)| counter.cost(settings, number)).collect();
    let cost = |case: &Case| costs[settings.binary_search(&case.settings.as_str()).expect("it was counted")];
    Budgets::new(budget::this_build(), cases.iter().map(|case| (case, cost(case))))
}

#[test]
fn every_policy_has_a_budget() {
    let differences = budgets().differences(&case::cases(&Catalog::builtin()));
    assert!(differences.is_empty(), "{FILE}:\n{}\n`{RENEW}` writes it anew", differences.join("\n"));
}

#[test]
fn the_page_shows_the_budgets() {
    let cases = case::cases(&Catalog::builtin());
    let page = page::renewed(&read(PAGE), &budgets(), &cases).unwrap_or_else(|fault| panic!("{PAGE}: {fault}"));
    if updates() {
        write(PAGE, &page);
    }
    assert!(read(PAGE) == page, "{PAGE} is not current: INSTA_UPDATE=always cargo test -p flashloom-cli --test costs");
}

#[test]
#[ignore = "it needs valgrind, a release build and a minute: make budget"]
fn no_policy_exceeds_its_budget() {
    let cases = case::cases(&Catalog::builtin());
    let found = count(&cases);
    if updates() {
        write(FILE, &found.text());
        write(PAGE, &page::renewed(&read(PAGE), &found, &cases).unwrap_or_else(|fault| panic!("{PAGE}: {fault}")));
    }
    let budgets = budgets();
    if found.build != budgets.build {
        eprintln!(
            "compared by the ratio to each slot's reference policy, because the build is another:\n  found    {}\n  \
             expected {}",
            found.build.join(", "),
            budgets.build.join(", ")
        );
    }
    let excess: Vec<String> = cases.iter().filter_map(|case| budgets.excess(case, &found)).collect();
    assert!(
        excess.is_empty(),
        "beyond the budgets of {FILE}:\n{}\nIf the growth is worth it, `{RENEW}` writes the budgets anew",
        excess.join("\n"),
    );
}

/// A slot for the tests of the verdict.
static SLOT: SlotSpec =
    SlotSpec { name: "schedulers", key: "host.scheduler", role: "I/O scheduler", help: "", statistics: &[] };

/// Two policies, of which `noop` is the reference.
fn pair() -> [Case; 2] {
    ["noop", "cfq"].map(|policy| Case { slot: &SLOT, policy, reference: "noop", settings: String::new() })
}

/// Costs of both in a build: instructions and mispredicted branches.
fn costs(build: &str, costs: [(u64, f64); 2]) -> Budgets {
    let cost = |(instructions, mispredictions)| Cost { instructions, mispredictions, operations: 2.5 };
    Budgets::new(vec![build.to_owned()], pair().iter().zip(costs.map(cost)))
}

/// The budgets of both.
fn pair_of_budgets() -> Budgets {
    costs("this", [(1_000, 10.0), (2_000, 20.0)])
}

/// In the same build instructions may grow by 5 % and mispredictions by a quarter; in another one the ratio to the
/// reference may grow by 10 %.
#[test]
fn a_policy_may_grow_so_far_and_no_further() {
    let budgets = pair_of_budgets();
    for (build, found, expected) in [
        ("this", [(1_050, 10.0), (2_100, 24.9)], None),
        (
            "this",
            [(500, 10.0), (2_101, 20.0)],
            Some("found 2,101 instructions a request, expected at most 2,100: its budget of 2,000 and 5 %"),
        ),
        (
            "this",
            [(1_000, 10.0), (2_000, 25.1)],
            Some("found 25.1 mispredicted branches a request, expected at most 25.0: its budget of 20.0 and 25 %"),
        ),
        ("another", [(3_000, 10.0), (6_600, 20.0)], None),
        (
            "another",
            [(1_000, 10.0), (2_201, 20.0)],
            Some("found 2.201 of the instructions of `noop`, expected at most 2.200: 2.000 in the budgets and 10 %"),
        ),
    ] {
        let found = costs(build, found);
        let excess: Vec<String> = pair().iter().filter_map(|case| budgets.excess(case, &found)).collect();
        let whole =
            |words| format!("I/O scheduler `cfq`: {words}; flash operations a request: 2.50, 2.50 in its budget");
        assert_eq!(excess, expected.map(whole).into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn the_file_reads_as_it_was_written() {
    let (cases, budgets) = (pair(), pair_of_budgets());
    let read = Budgets::parse(&budgets.text()).expect("it is TOML");
    assert_eq!(read.text(), budgets.text());
    assert_eq!(read.differences(&cases), [""; 0]);
    assert_eq!(read.differences(&cases[..1]), ["schedulers `cfq` has a budget and is no policy"]);
    assert_eq!(
        Budgets::parse("[schedulers]\nnoop = {}\n").err().as_deref(),
        Some("schedulers.noop lacks instructions, mispredictions or operations")
    );
}
