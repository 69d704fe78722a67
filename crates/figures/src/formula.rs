//! Formulas over the results of experiments, used by `[[expect]]` and by the data files of papers.
//!
//! ```text
//! sum      product { ("+" | "-") product }
//! product  factor { ("*" | "/") factor }
//! factor   NUMBER | "-" factor | "(" sum ")" | FUNCTION "(" sum { "," sum } ")" | figure
//! figure   [ EXPERIMENT ":" ] FIELD [ "{" KEY "=" VALUE { "|" VALUE } { "," ... } "}" ]
//! ```
//!
//! FIELD is the path of a figure in a result, such as `ftl.block_erases`; KEY is a key that the experiment varies, or
//! its last part. A figure stands for the runs that its keys select, in their order, so a formula may work on several
//! numbers at once: a single number is combined with each of several, and several are combined in pairs. `min`, `max`,
//! `mean` and `sum` reduce them to one; `above` counts those that are above the first one. `best` is `max` with one
//! repetition; with several it is the figure whose mean over the other repetitions is the largest, so that it is not
//! large by chance. Names may contain minus signs, so a minus between two names needs blanks around it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::result::{ComparedRun, field, plain};

/// Maximum length of a formula in bytes, and maximum depth of its nesting: parser and evaluation recurse.
const LONGEST: usize = 4_000;
const DEEPEST: usize = 32;

/// A parsed formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Figure(Figure),
    Negative(Box<Node>),
    Operation(char, Box<[Node; 2]>),
    Call(Function, Vec<Node>),
}

/// A field of the selected runs of an experiment.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    experiment: Option<String>,
    field: String,
    /// The keys that select runs, each with its admitted values.
    chosen: Vec<(String, Vec<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Mean,
    Sum,
    Above,
    Best,
}

/// A run as formulas see it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The varied keys with the values of this run.
    pub vary: Map<String, Value>,
    /// Its result as JSON, shared by several views of the same run.
    pub result: Arc<Value>,
}

impl From<&ComparedRun> for Run {
    fn from(run: &ComparedRun) -> Self {
        let result = serde_json::to_value(&run.result).expect("results have text keys and finite numbers");
        Self { vary: run.vary.clone(), result: Arc::new(result) }
    }
}

/// Access to the runs of experiments by name.
pub trait Runs {
    /// The runs of an experiment, in the order of the comparison.
    fn runs(&self, experiment: &str) -> Option<&[Run]>;
}

impl Formula {
    /// Parses a formula.
    ///
    /// # Errors
    /// The text's fault, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("it is longer than {LONGEST} bytes"));
        }
        let mut parser = Parser { rest: text, depth: 0 };
        let root = parser.sum()?;
        match parser.peek() {
            None => Ok(Self { text: text.to_owned(), root }),
            Some(_) => Err(format!("nothing is expected at `{}`", parser.rest)),
        }
    }

    /// The formula as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Names of the experiments whose runs the formula needs; a figure without a name belongs to `default`.
    pub fn experiments(&self, default: &str) -> BTreeSet<String> {
        let mut figures = Vec::new();
        self.root.figures(&mut figures);
        figures.into_iter().map(|figure| figure.experiment.as_deref().unwrap_or(default).to_owned()).collect()
    }

    /// Evaluates the formula; `None` if a result lacks a field or a division has no result.
    ///
    /// # Errors
    /// A figure that selects no run, or several numbers where one is expected.
    pub fn value(&self, runs: &dyn Runs, default: &str) -> Result<Option<f64>, String> {
        match self.root.values(runs, default)?[..] {
            [value] => Ok(value.is_finite().then_some(value)),
            ref values => Err(several(values.len())),
        }
    }

    /// Evaluates the formula in each of several repetitions; `None` if one of them has no value.
    ///
    /// The best of several runs, chosen in each repetition by itself, is better than any of them by chance alone.
    /// Therefore, if the whole formula is a `max` or a `min`, the run is chosen by the mean over the other repetitions.
    ///
    /// # Errors
    /// The errors of [`Self::value`].
    pub fn repeated(&self, repetitions: &[&dyn Runs], default: &str) -> Result<Option<Vec<f64>>, String> {
        let extreme = match &self.root {
            Node::Call(function @ (Function::Max | Function::Min), _) if repetitions.len() > 1 => *function,
            _ => return self.in_each(repetitions, default),
        };
        let candidates = repetitions
            .iter()
            .map(|runs| self.root.candidates(extreme, *runs, default))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(chosen_by_the_others(extreme, &candidates))
    }

    /// Evaluates the formula in each repetition, with what each `best` in it chooses by the others.
    fn in_each(&self, repetitions: &[&dyn Runs], default: &str) -> Result<Option<Vec<f64>>, String> {
        let of_all = self.root.repeated(repetitions, default)?;
        let single = |values: &Vec<f64>| match values[..] {
            [value] => Ok(value.is_finite().then_some(value)),
            _ => Err(several(values.len())),
        };
        of_all.iter().map(single).collect()
    }

    /// Fields of results that the formula reads.
    pub fn fields(&self) -> BTreeSet<&str> {
        let mut figures = Vec::new();
        self.root.figures(&mut figures);
        figures.into_iter().map(|figure| figure.field.as_str()).collect()
    }
}

fn several(numbers: usize) -> String {
    format!("it stands for {numbers} numbers where `max`, `mean` or the like make one")
}

/// In each repetition the candidate whose mean over the others is the extreme one; `None` if they lack a value.
fn chosen_by_the_others(extreme: Function, candidates: &[Vec<f64>]) -> Option<Vec<f64>> {
    let count = candidates[0].len();
    if candidates.iter().any(|of| of.len() != count || of.iter().any(|value| !value.is_finite())) {
        return None;
    }
    let chosen = |left_out: usize| {
        let others = |index: usize| -> f64 {
            let is_other = |repetition: usize| repetition != left_out || candidates.len() == 1;
            let values = candidates.iter().enumerate().filter(|(repetition, _)| is_other(*repetition));
            values.map(|(_, of)| of[index]).sum()
        };
        let order = |one: &usize, other: &usize| {
            let order = others(*one).total_cmp(&others(*other));
            if extreme == Function::Min { order } else { order.reverse() }
        };
        let index = (0..count).min_by(order).expect("a function has arguments");
        candidates[left_out][index]
    };
    Some((0..candidates.len()).map(chosen).collect())
}

impl<'de> Deserialize<'de> for Formula {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl Node {
    fn figures<'n>(&'n self, found: &mut Vec<&'n Figure>) {
        match self {
            Self::Number(_) => {}
            Self::Figure(figure) => found.push(figure),
            Self::Negative(inner) => inner.figures(found),
            Self::Operation(_, sides) => sides.iter().for_each(|side| side.figures(found)),
            Self::Call(_, arguments) => arguments.iter().for_each(|argument| argument.figures(found)),
        }
    }

    fn values(&self, runs: &dyn Runs, default: &str) -> Result<Vec<f64>, String> {
        match self {
            Self::Number(value) => Ok(vec![*value]),
            Self::Figure(figure) => figure.values(runs, default),
            Self::Negative(inner) => Ok(inner.values(runs, default)?.iter().map(|value| -value).collect()),
            Self::Operation(operator, sides) => {
                let [left, right] = [sides[0].values(runs, default)?, sides[1].values(runs, default)?];
                paired(*operator, &left, &right)
            }
            Self::Call(function, arguments) => {
                let mut values = Vec::new();
                for argument in arguments {
                    values.extend(argument.values(runs, default)?);
                }
                Ok(vec![function.of(&values)])
            }
        }
    }
}

impl Node {
    /// The values in each of several repetitions. A `best` is chosen by the other repetitions, and is not a number in
    /// all of them if a candidate is none.
    fn repeated(&self, repetitions: &[&dyn Runs], default: &str) -> Result<Vec<Vec<f64>>, String> {
        let joined = |nodes: &[Node]| {
            let mut joined = vec![Vec::new(); repetitions.len()];
            for node in nodes {
                let of_node = node.repeated(repetitions, default)?;
                joined.iter_mut().zip(of_node).for_each(|(joined, values)| joined.extend(values));
            }
            Ok::<_, String>(joined)
        };
        match self {
            Self::Number(_) | Self::Figure(_) => repetitions.iter().map(|runs| self.values(*runs, default)).collect(),
            Self::Negative(inner) => {
                let negative = |values: Vec<f64>| values.iter().map(|value| -value).collect();
                Ok(inner.repeated(repetitions, default)?.into_iter().map(negative).collect())
            }
            Self::Operation(operator, sides) => {
                let [left, right] = [&sides[0], &sides[1]].map(|side| side.repeated(repetitions, default));
                left?.iter().zip(&right?).map(|(left, right)| paired(*operator, left, right)).collect()
            }
            Self::Call(Function::Best, arguments) => {
                let candidates = joined(arguments)?;
                let chosen = chosen_by_the_others(Function::Best, &candidates);
                let chosen = chosen.unwrap_or_else(|| vec![f64::NAN; repetitions.len()]);
                Ok(chosen.into_iter().map(|value| vec![value]).collect())
            }
            Self::Call(function, arguments) => {
                Ok(joined(arguments)?.iter().map(|values| vec![function.of(values)]).collect())
            }
        }
    }

    /// The values that an extreme is chosen from; nested extremes of the same kind are flattened.
    fn candidates(&self, extreme: Function, runs: &dyn Runs, default: &str) -> Result<Vec<f64>, String> {
        match self {
            Self::Call(function, arguments) if *function == extreme => {
                let parts = arguments.iter().map(|argument| argument.candidates(extreme, runs, default));
                Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
            }
            _ => self.values(runs, default),
        }
    }
}

fn paired(operator: char, left: &[f64], right: &[f64]) -> Result<Vec<f64>, String> {
    let length = left.len().max(right.len());
    if [left, right].iter().any(|side| side.len() != 1 && side.len() != length) {
        return Err(format!("{} numbers {operator} {} numbers", left.len(), right.len()));
    }
    let operation = |index: usize| {
        let (left, right) = (left[index % left.len()], right[index % right.len()]);
        match operator {
            '+' => left + right,
            '-' => left - right,
            '*' => left * right,
            _ => left / right,
        }
    };
    Ok((0..length).map(operation).collect())
}

impl Function {
    fn named(name: &str) -> Option<Self> {
        match name {
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            "mean" => Some(Self::Mean),
            "sum" => Some(Self::Sum),
            "above" => Some(Self::Above),
            "best" => Some(Self::Best),
            _ => None,
        }
    }

    /// Applies the function to numbers; not a number if one of them is none.
    fn of(self, values: &[f64]) -> f64 {
        if values.iter().any(|value| value.is_nan()) {
            return f64::NAN;
        }
        let sum: f64 = values.iter().sum();
        match self {
            Self::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max | Self::Best => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Mean => sum / values.len() as f64,
            Self::Sum => sum,
            Self::Above => values.iter().filter(|value| **value > values[0]).count() as f64,
        }
    }
}

impl Figure {
    fn values(&self, runs: &dyn Runs, default: &str) -> Result<Vec<f64>, String> {
        let name = self.experiment.as_deref().unwrap_or(default);
        let runs = runs.runs(name).ok_or_else(|| format!("there is no experiment `{name}`"))?;
        let mut values = Vec::new();
        for run in runs {
            if self.chooses(run)? {
                values.push(field(&run.result, &self.field).and_then(Value::as_f64).unwrap_or(f64::NAN));
            }
        }
        let of = self.experiment.as_ref().map_or(String::new(), |name| format!(" of `{name}`"));
        let asked = || self.chosen.iter().map(|(key, accepted)| format!("{key}={}", accepted.join("|")));
        if values.is_empty() {
            return Err(format!("no run{of} has {}", asked().collect::<Vec<_>>().join(", ")));
        }
        Ok(values)
    }

    fn chooses(&self, run: &Run) -> Result<bool, String> {
        for (key, accepted) in &self.chosen {
            let is_named = |path: &str| path == key || path.ends_with(&format!(".{key}"));
            let mut varied = run.vary.iter().filter(|(path, _)| is_named(path));
            let (Some((_, value)), None) = (varied.next(), varied.next()) else {
                return Err(format!("`{key}` is not one of the keys that vary"));
            };
            if !accepted.contains(&plain(value)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

struct Parser<'a> {
    rest: &'a str,
    /// Depth of nesting of the next part.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) { Ok(()) } else { Err(format!("`{wanted}` is expected at {}", self.place())) }
    }

    /// Reads the text up to the first character that does not belong to it.
    fn word(&mut self, belongs: fn(char) -> bool) -> Result<&'a str, String> {
        self.peek();
        let end = self.rest.find(|character| !belongs(character)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.is_empty() { Err(format!("a name or a number is expected at {}", self.place())) } else { Ok(word) }
    }

    /// Describes the current position for a message.
    fn place(&self) -> String {
        if self.rest.is_empty() { "the end".to_owned() } else { format!("`{}`", self.rest) }
    }

    fn operations(
        &mut self,
        operators: [char; 2],
        next: fn(&mut Self) -> Result<Node, String>,
    ) -> Result<Node, String> {
        let mut node = next(self)?;
        while let Some(operator) = self.peek().filter(|found| operators.contains(found)) {
            self.take(operator);
            node = Node::Operation(operator, Box::new([node, next(self)?]));
        }
        Ok(node)
    }

    fn sum(&mut self) -> Result<Node, String> {
        self.operations(['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Node, String> {
        self.operations(['*', '/'], Self::factor)
    }

    fn factor(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("its parts lie more than {DEEPEST} deep in one another"));
        }
        let node = self.part();
        self.depth -= 1;
        node
    }

    fn part(&mut self) -> Result<Node, String> {
        if self.take('-') {
            return Ok(Node::Negative(Box::new(self.factor()?)));
        }
        if self.take('(') {
            let inner = self.sum()?;
            return self.expect(')').map(|()| inner);
        }
        if self.peek().is_some_and(|first| first.is_ascii_digit()) {
            let digits = self.word(|character| character.is_ascii_digit() || character == '.')?;
            return digits.parse().map(Node::Number).map_err(|_| format!("`{digits}` is not a number"));
        }
        let name = self.word(|character| character.is_ascii_alphanumeric() || "_.-".contains(character))?;
        if self.take('(') {
            let function = Function::named(name).ok_or_else(|| format!("`{name}` is not a function"))?;
            let mut arguments = vec![self.sum()?];
            while self.take(',') {
                arguments.push(self.sum()?);
            }
            return self.expect(')').map(|()| Node::Call(function, arguments));
        }
        self.figure(name).map(Node::Figure)
    }

    fn figure(&mut self, name: &str) -> Result<Figure, String> {
        let is_field = |character: char| character.is_ascii_alphanumeric() || "_.".contains(character);
        let (experiment, field) =
            if self.take(':') { (Some(name.to_owned()), self.word(is_field)?) } else { (None, name) };
        let mut chosen = Vec::new();
        if self.take('{') {
            loop {
                let key = self.word(|character| character.is_ascii_alphanumeric() || "_.".contains(character))?;
                self.expect('=')?;
                let values = self.word(|character| !",}".contains(character))?;
                chosen.push((key.to_owned(), values.split('|').map(|value| value.trim().to_owned()).collect()));
                if !self.take(',') {
                    break;
                }
            }
            self.expect('}')?;
        }
        Ok(Figure { experiment, field: field.to_owned(), chosen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Block erases of runs, in the usual case those of two schedulers over two mappings.
    struct Erases(Vec<Run>);

    impl Erases {
        fn new() -> Self {
            let run = |mapping: &str, scheduler: &str, erases: u64| {
                let vary = json!({"ftl.mapping": mapping, "host.scheduler": scheduler});
                let vary = vary.as_object().expect("it is an object").clone();
                Run { vary, result: Arc::new(json!({"ftl": {"block_erases": erases}})) }
            };
            let runs = [("page", "noop", 40), ("page", "cfq", 30), ("fast", "noop", 400), ("fast", "cfq", 100)];
            Self(runs.map(|(mapping, scheduler, erases)| run(mapping, scheduler, erases)).to_vec())
        }
    }

    impl Runs for Erases {
        fn runs(&self, experiment: &str) -> Option<&[Run]> {
            (experiment == "table-1").then_some(&self.0[..])
        }
    }

    fn value(text: &str) -> Result<Option<f64>, String> {
        Formula::parse(text)?.value(&Erases::new(), "table-1")
    }

    #[test]
    fn a_formula_has_a_longest_text() {
        let padded = |length: usize| Formula::parse(&format!("{:length$}", 1)).is_ok();
        assert!(padded(LONGEST) && !padded(LONGEST + 1));
    }

    #[test]
    fn the_best_of_several_runs_is_chosen_by_the_other_repetitions() {
        let fixed = |erases: [u64; 2]| {
            let result = |erases: &u64| Arc::new(json!({"ftl": {"block_erases": erases}}));
            Erases(erases.iter().map(|erases| Run { vary: Map::new(), result: result(erases) }).collect())
        };
        let repetitions = [fixed([10, 30]), fixed([40, 5]), fixed([20, 16])];
        let repetitions: Vec<&dyn Runs> = repetitions.iter().map(|runs| runs as &dyn Runs).collect();
        let best = |text: &str| Formula::parse(text).expect("it is one").repeated(&repetitions, "table-1");
        // Left out in turn: sums 60 and 21, 30 and 46, 50 and 35.
        assert_eq!(best("max(ftl.block_erases)"), Ok(Some(vec![10.0, 5.0, 20.0])));
        assert_eq!(best("max(max(ftl.block_erases), 1)"), Ok(Some(vec![10.0, 5.0, 20.0])));
        assert_eq!(best("mean(ftl.block_erases)"), Ok(Some(vec![20.0, 22.5, 18.0])));
        // Within a formula only `best` is chosen by the others.
        assert_eq!(best("best(ftl.block_erases) / 5 - 1"), Ok(Some(vec![1.0, 0.0, 3.0])));
        assert_eq!(best("max(ftl.block_erases) / 5"), Ok(Some(vec![6.0, 8.0, 4.0])));
        let alone = |text: &str| Formula::parse(text).expect("it is one").repeated(&repetitions[..1], "table-1");
        assert_eq!(alone("best(ftl.block_erases)"), Ok(Some(vec![30.0])));
    }

    #[test]
    fn products_bind_closer_than_sums_and_operations_of_one_rank_go_from_left_to_right() {
        for (text, expected) in [("1 + 2 * 3", 7.0), ("8 - 2 - 1", 5.0), ("8 / 2 / 2", 2.0), ("-(1 + 2) * 2", -6.0)] {
            assert_eq!(value(text), Ok(Some(expected)), "{text}");
        }
    }

    #[test]
    fn a_figure_is_of_the_runs_that_its_keys_choose() {
        let text =
            "100 * (1 - ftl.block_erases{mapping=page,scheduler=cfq} / ftl.block_erases{mapping=page,scheduler=noop})";
        assert_eq!(value(text), Ok(Some(25.0)));
        assert_eq!(value("max(table-1:ftl.block_erases{ftl.mapping=page|fast})"), Ok(Some(400.0)));
    }

    #[test]
    fn one_number_goes_with_each_of_several_and_several_go_in_pairs() {
        let text = "mean(ftl.block_erases{scheduler=cfq} / ftl.block_erases{scheduler=noop})";
        assert_eq!(value(text), Ok(Some(0.5)));
        assert_eq!(value("sum(ftl.block_erases{mapping=page} / 10, 1)"), Ok(Some(8.0)));
        assert_eq!(value("above(100, ftl.block_erases)"), Ok(Some(1.0)));
        assert!(value("ftl.block_erases / ftl.block_erases{mapping=page}").is_err());
    }

    #[test]
    fn what_has_no_value_has_none() {
        assert_eq!(value("max(host.iops)"), Ok(None));
        assert_eq!(value("1 / 0"), Ok(None));
    }

    #[test]
    fn what_cannot_be_meant_is_an_error() {
        for text in ["1 +", "(1", "1 2", "median(1)", "host.iops{scheduler}", "host.iops{scheduler=noop"] {
            assert!(Formula::parse(text).is_err(), "{text}");
        }
        for text in ["(".repeat(3_000), "-".repeat(3_000), "max(".repeat(900), "1+".repeat(3_000)] {
            assert!(Formula::parse(&text).is_err());
        }
        assert!(Formula::parse(&format!("1{}", "+1".repeat(1_900))).is_ok());
        for text in
            ["ftl.block_erases", "other:ftl.block_erases", "sum(ftl.block_erases{scheduler=fios})", "sum(ftl.waf{k=1})"]
        {
            assert!(value(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_formula_names_the_experiments_that_it_needs() {
        let formula = Formula::parse("mean(a-1:host.iops, 2 * host.iops) / b:host.iops").expect("it is sound");
        assert_eq!(formula.experiments("c").into_iter().collect::<Vec<_>>(), ["a-1", "b", "c"]);
    }
}
