//! Expectations of an experiment about its results: `[[expect]]`, a claim with a formula and its bounds.
//!
//! A formula is checked when it is read: its grammar, and the fields that it reads.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use flashloom_units::Refusal;

use super::source::Origin;
use super::value::shown;
use crate::catalog::{Catalog, EXPECT};
use crate::statistics::{no_number, numbers};
use flashloom_figures::formula::{Formula, Run, Runs};

/// Keys of an expectation, each with its description.
pub const KEYS: [(&str, &str); 4] = [
    ("claim", "the expectation, in a sentence"),
    ("formula", "a number computed from the results"),
    ("at_least", "the minimum of the number"),
    ("at_most", "the maximum of the number"),
];

/// Bounds of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Minimum.
    pub at_least: Option<f64>,
    /// Maximum.
    pub at_most: Option<f64>,
}

impl Bounds {
    /// True if a number is within the bounds; false without a number.
    pub fn hold(self, value: Option<f64>) -> bool {
        value.is_some_and(|value| {
            self.at_least.is_none_or(|bound| value >= bound) && self.at_most.is_none_or(|bound| value <= bound)
        })
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => Ok(()),
        }
    }
}

/// One expectation.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The claim, in a sentence.
    pub claim: String,
    /// Formula of the number that the claim is about.
    pub formula: Formula,
    /// Bounds of that number.
    pub bounds: Bounds,
    /// Place where the formula was written.
    pub(crate) origin: Origin,
}

/// Runs of this experiment, the only ones that an expectation can be about.
#[derive(Debug)]
pub struct OfThisExperiment<'a>(pub &'a [Run]);

impl Runs for OfThisExperiment<'_> {
    fn runs(&self, experiment: &str) -> Option<&[Run]> {
        experiment.is_empty().then_some(self.0)
    }
}

impl Expectation {
    /// Evaluates the formula; `None` if a result lacks a field.
    ///
    /// # Errors
    /// A run that does not exist, or several numbers where one is expected.
    pub fn value(&self, runs: &[Run]) -> Result<Option<f64>, String> {
        self.formula.value(&OfThisExperiment(runs), "")
    }
}

/// Paths of the numbers that a result may have, which formulas read.
#[derive(Clone, Debug)]
pub(super) struct Numbers(Arc<BTreeSet<String>>, Arc<[String]>);

impl Numbers {
    /// Those of the policies of a catalog.
    pub(super) fn of(catalog: &Catalog) -> Self {
        let all = numbers(catalog);
        Self(Arc::new(all.iter().cloned().collect()), all.into())
    }
}

/// Takes the place of a problem, and makes its refusal if it will be told.
type Told<'a> = dyn FnMut(Range<usize>, &dyn Fn() -> Refusal) + 'a;

/// Reads one table of the list, and reports its problems.
pub(super) fn read(
    known: &Numbers,
    source: usize,
    table: &Spanned<DeValue<'_>>,
    report: &mut Told<'_>,
) -> Option<Expectation> {
    let DeValue::Table(content) = table.get_ref() else {
        let found = || format!("`{}`", shown(table.get_ref()));
        report(table.span(), &|| Refusal::new(found(), format!("a table, [[{EXPECT}]]")));
        return None;
    };
    for key in content.keys().filter(|key| KEYS.iter().all(|(known, _)| *known != key.get_ref().as_ref())) {
        let names = || KEYS.iter().map(|(known, _)| *known);
        report(key.span(), &|| {
            let expected = format!("one of {}", names().collect::<Vec<_>>().join(", "));
            let refusal = Refusal::new(format!("unknown key `{}` in [[{EXPECT}]]", key.get_ref()), expected);
            refusal.suggesting(key.get_ref(), names())
        });
    }
    let claim = text(table.span(), content, "claim", report);
    let formula = text(table.span(), content, "formula", report);
    let [at_least, at_most] = ["at_least", "at_most"].map(|key| number(content, key, report));
    let bounds = Bounds { at_least: at_least.ok()?, at_most: at_most.ok()? };
    match (bounds.at_least, bounds.at_most) {
        (None, None) => {
            let found = "an expectation without a bound";
            report(table.span(), &|| Refusal::new(found, "`at_least`, `at_most`, or both"));
            return None;
        }
        (Some(least), Some(most)) if least > most => {
            let found = || format!("nothing is at least {least} and at most {most}");
            report(table.span(), &|| Refusal::new(found(), "`at_least` no more than `at_most`"));
            return None;
        }
        _ => {}
    }
    let (claim, (written, span)) = (claim?.0, formula?);
    let formula = checked(known, &written, &mut |refusal| report(span.clone(), refusal))?;
    Some(Expectation { claim, formula, bounds, origin: Origin { source, span } })
}

/// Parses a formula and checks that its fields exist and that it names no other experiment.
fn checked(known: &Numbers, written: &str, report: &mut dyn FnMut(&dyn Fn() -> Refusal)) -> Option<Formula> {
    let formula = match Formula::parse(written) {
        Ok(formula) => formula,
        Err(error) => {
            report(&|| Refusal::new(error.as_str(), "a formula: `flashloom explain expect`"));
            return None;
        }
    };
    if let Some(other) = formula.experiments("").into_iter().find(|name| !name.is_empty()) {
        let found = || format!("`{other}:` is another experiment");
        report(&|| Refusal::new(found(), "figures of this experiment alone"));
        return None;
    }
    let Numbers(known, in_order) = known;
    if let Some(field) = formula.fields().into_iter().find(|field| !known.contains(*field)) {
        report(&|| no_number(field, in_order));
        return None;
    }
    Some(formula)
}

fn text(
    table: Range<usize>,
    content: &DeTable<'_>,
    key: &str,
    report: &mut Told<'_>,
) -> Option<(String, Range<usize>)> {
    match content.get(key) {
        None => {
            let found = || format!("an expectation without `{key}`");
            report(table, &|| Refusal::new(found(), format!("`{key} = \"...\"`")));
        }
        Some(value) => match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => return Some((text.to_string(), value.span())),
            other => {
                let found = || format!("`{}`", shown(other));
                report(value.span(), &|| Refusal::new(found(), format!("a text for `{key}`")));
            }
        },
    }
    None
}

fn number(content: &DeTable<'_>, key: &str, report: &mut Told<'_>) -> Result<Option<f64>, ()> {
    let Some(value) = content.get(key) else { return Ok(None) };
    let number = match value.get_ref() {
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().map(|whole| whole as f64),
        DeValue::Float(number) => number.as_str().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    };
    if number.is_none() {
        let found = || format!("`{}`", shown(value.get_ref()));
        report(value.span(), &|| Refusal::new(found(), format!("a number for `{key}`")));
    }
    number.map(Some).ok_or(())
}
