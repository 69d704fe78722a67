//! Budgets: the costs that are checked in, the build that they were counted in, and the limits of growth.

use std::fmt::Write as _;
use std::process::Command;

use flashloom::figures::number;
use toml::{Table, Value};

use crate::case::Case;
use crate::count::Cost;

/// Maximum growth over the budget, in the build that the budgets were counted in. Counts repeat there to a few
/// instructions a request, so all of it is room for changes: several small ones that are each worth it need not renew
/// the file.
const GROWTH: f64 = 1.05;

/// Maximum growth of mispredicted branches in the same build. The model of a predictor knows branches by their
/// addresses, which a change anywhere in the program moves: what shares an entry with what is chance. One that made
/// every policy's instructions fewer or no more than 1 % more moved the mispredictions of 54 policies by -9 to 20 %.
const MISPREDICTED_GROWTH: f64 = 1.25;

/// Maximum growth of the ratio to the reference policy's instructions, in any other build. A compiler that makes all
/// code better or worse changes no ratio; one that inlines otherwise changes a policy's share of the code.
const RATIO_GROWTH: f64 = 1.10;

/// The file, in the project.
pub const FILE: &str = "crates/cli/tests/costs/budgets.toml";

/// The first lines of the file.
const HEAD: &str = "\
# Instructions, mispredicted branches and flash operations a request of each policy, in the configuration reference.toml
# beside this file. `make budgets` writes it, and the tables of docs/costs.md with it.
";

/// Costs of all policies in one build.
pub struct Budgets {
    /// The build: compiler, target, profile, and flags from the environment.
    pub build: Vec<String>,
    /// The costs, by slot and policy.
    costs: Vec<(String, String, Cost)>,
}

impl Budgets {
    /// The costs of cases in a build.
    pub fn new<'a>(build: Vec<String>, costs: impl IntoIterator<Item = (&'a Case, Cost)>) -> Self {
        let named = |(case, cost): (&Case, Cost)| (case.slot.name.to_owned(), case.policy.to_owned(), cost);
        Self { build, costs: costs.into_iter().map(named).collect() }
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// It is not TOML, or not of this shape.
    pub fn parse(text: &str) -> Result<Self, String> {
        let root: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let mut budgets = Self { build: Vec::new(), costs: Vec::new() };
        for (slot, policies) in root {
            if slot == "build" {
                budgets.build = policies.try_into().map_err(|_| "build is not a list")?;
                continue;
            }
            let Value::Table(policies) = policies else { return Err(format!("{slot} is not a table")) };
            for (policy, cost) in policies {
                let lacks = |_| format!("{slot}.{policy} lacks instructions, mispredictions or operations");
                let cost = cost.try_into().map_err(lacks)?;
                budgets.costs.push((slot.clone(), policy, cost));
            }
        }
        Ok(budgets)
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}build = [\n    \"{}\",\n]\n", self.build.join("\",\n    \""));
        let mut last = "";
        for (slot, policy, Cost { instructions, mispredictions, operations }) in &self.costs {
            if slot != last {
                writeln!(text, "\n[{slot}]").expect("a text can be written to");
                last = slot;
            }
            writeln!(
                text,
                "{policy} = {{ instructions = {instructions}, mispredictions = {mispredictions:.1}, \
                 operations = {operations:.2} }}"
            )
            .expect("a text can be written to");
        }
        text
    }

    /// The cost of a policy; none if it is not in the file.
    pub fn cost(&self, slot: &str, policy: &str) -> Option<Cost> {
        self.costs.iter().find(|(known, name, _)| known == slot && name == policy).map(|(_, _, cost)| *cost)
    }

    /// The slots and policies that the file has and the cases lack, and the other way round.
    pub fn differences(&self, cases: &[Case]) -> Vec<String> {
        let lacks = cases.iter().filter(|case| self.cost(case.slot.name, case.policy).is_none());
        let lacks = lacks.map(|case| format!("{} `{}` has no budget", case.slot.role, case.policy));
        let is_left =
            |slot: &str, policy: &str| !cases.iter().any(|case| case.slot.name == slot && case.policy == policy);
        let left = self.costs.iter().filter(|(slot, policy, _)| is_left(slot, policy));
        lacks.chain(left.map(|(slot, policy, _)| format!("{slot} `{policy}` has a budget and is no policy"))).collect()
    }

    /// What is wrong with a policy's cost among those of all: none if it is within its budget.
    pub fn excess(&self, case: &Case, found: &Self) -> Option<String> {
        let costs = |policy: &str| Some((found.cost(case.slot.name, policy)?, self.cost(case.slot.name, policy)?));
        let (cost, budget) = costs(case.policy)?;
        let excess = if found.build == self.build {
            let most = budget.instructions as f64 * GROWTH;
            let of_instructions = (cost.instructions as f64 > most).then(|| {
                format!(
                    "found {} instructions a request, expected at most {}: its budget of {} and 5 %",
                    number::count(cost.instructions),
                    number::count(most as u64),
                    number::count(budget.instructions),
                )
            });
            let most = budget.mispredictions * MISPREDICTED_GROWTH;
            of_instructions.or_else(|| {
                (cost.mispredictions > most).then(|| {
                    format!(
                        "found {:.1} mispredicted branches a request, expected at most {most:.1}: its budget of \
                         {:.1} and 25 %",
                        cost.mispredictions, budget.mispredictions
                    )
                })
            })
        } else {
            let (of_reference, budget_of_reference) = costs(case.reference)?;
            let ratio = |cost: Cost, reference: Cost| cost.instructions as f64 / reference.instructions as f64;
            let (found, budgeted) = (ratio(cost, of_reference), ratio(budget, budget_of_reference));
            (found > budgeted * RATIO_GROWTH).then(|| {
                format!(
                    "found {found:.3} of the instructions of `{}`, expected at most {:.3}: {budgeted:.3} in the \
                     budgets and 10 %",
                    case.reference,
                    budgeted * RATIO_GROWTH
                )
            })
        }?;
        Some(format!(
            "{} `{}`: {excess}; flash operations a request: {:.2}, {:.2} in its budget",
            case.slot.role, case.policy, cost.operations, budget.operations
        ))
    }
}

/// The build that this test counts: the compiler and its target, the release profile, and what the environment changes
/// of them.
pub fn this_build() -> Vec<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().expect("rustc is there, for it compiled this");
    let version = String::from_utf8(output.stdout).expect("rustc prints UTF-8");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or("an unknown target");
    let manifest = include_str!("../../../../Cargo.toml");
    let profile = manifest.split_once("[profile.release]\n").map_or("", |(_, rest)| rest);
    let profile = profile.lines().take_while(|line| !line.is_empty()).map(|line| line.replace(['"', ' '], ""));
    let changes = std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PROFILE_RELEASE_") || is_flags(name));
    let changes = changes.map(|(name, value)| format!("{name}={}", value.replace(['"', '\\', '\u{1f}'], " ")));
    let parts = [version.lines().next().unwrap_or("an unknown compiler").to_owned(), host.to_owned()];
    parts.into_iter().chain(profile).chain(changes).collect()
}

/// True for the variables that hand flags to rustc.
fn is_flags(name: &str) -> bool {
    name.ends_with("RUSTFLAGS")
}
