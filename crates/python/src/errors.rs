//! Exceptions: those of `flashloom.errors`, with every problem that the program would print.

use flashloom::run::Failure;
use flashloom::units::{Problem, ProblemPlace, Problems, visible_line};
use pyo3::prelude::*;

/// Options of the program that problems speak of. Python calls them by [`name_of`], and so are texts that it hands in.
const OPTIONS: &str = "--set --vary --columns --seeds --bounds --verify --skip-unfit --against --start --hold-out \
                       --requests --slices --journal";

fn is_option(name: &str) -> bool {
    OPTIONS.split(' ').any(|option| option == name)
}

/// What Python calls an option.
fn name_of(option: &str) -> String {
    option.trim_start_matches('-').replace('-', "_")
}

/// A text about options in Python's words: `--seeds` is `seeds`, and `--set KEY=VALUE` a dictionary.
fn in_python(text: &str) -> String {
    let mut said = String::new();
    for (at, part) in text.split('`').enumerate() {
        // Every other part stands in backquotes.
        let is_code = at % 2 == 1;
        if at > 0 {
            said.push('`');
        }
        let option =
            OPTIONS.split(' ').find_map(|option| Some((option, part.strip_prefix(option)?.strip_prefix(' ')?)));
        match option.and_then(|(option, rest)| Some((name_of(option), rest.split_once('=')?))) {
            Some((new, (key, values))) if is_code => said.push_str(&format!("{new}={{\"{key}\": \"{values}\"}}")),
            _ => {
                let quote = if is_code { "" } else { "`" };
                let plain =
                    |text: String, option: &str| text.replace(option, &format!("{quote}{}{quote}", name_of(option)));
                said.push_str(&OPTIONS.split(' ').fold(part.to_owned(), plain));
            }
        }
    }
    said
}

/// Reason why something that Python asked for has no answer.
pub(crate) enum Fault {
    /// Problems of the configuration.
    Config(Problems),
    /// Problems of an input file: a recording, a job file, a saved drive.
    Input(Problems),
    /// A run that failed.
    Run(Failure),
    /// Anything else, in a sentence.
    Other(String),
}

impl Fault {
    /// Problems of a configuration and of the inputs that it names: of the configuration, if any is.
    pub(crate) fn of_experiment(name: &str, problems: Problems) -> Self {
        let is_of_text = |problem: &Problem| problem.file == name || is_option(&problem.file);
        if problems.0.iter().any(is_of_text) { Self::Config(problems) } else { Self::Input(problems) }
    }

    /// The exception of this fault.
    fn into_exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Config(problems) => problem_error(py, "ConfigError", problems),
            Self::Input(problems) => problem_error(py, "InputError", problems),
            Self::Run(Failure::Input(problem)) => problem_error(py, "InputError", problem.into()),
            Self::Run(Failure::Refused(refusal)) => problem_error(py, "ConfigError", refusal.into()),
            Self::Run(Failure::Check(message)) => error(py, "CheckError", message.to_string()),
            Self::Run(failure @ Failure::Interrupted) => error(py, "InterruptedRun", failure.to_string()),
            Self::Run(failure @ (Failure::Unkept(_) | Failure::Unserved(_))) => error(py, "Error", failure.to_string()),
            Self::Other(message) => error(py, "Error", message),
        }
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        Python::attach(|py| fault.into_exception(py))
    }
}

/// An exception of `flashloom.errors`, by name.
pub(crate) fn error(py: Python<'_>, name: &str, message: impl Into<String>) -> PyErr {
    raised(py, name, (message.into(),))
}

/// An exception with its problems: what was found, and where.
fn problem_error(py: Python<'_>, name: &str, Problems(mut problems): Problems) -> PyErr {
    for problem in &mut problems {
        if is_option(&problem.file) {
            problem.file = name_of(&problem.file);
        }
        let refusal = &mut problem.refusal;
        refusal.expected = in_python(&refusal.expected);
        refusal.help = refusal.help.as_deref().map(in_python);
    }
    let text = Problems(problems.clone()).to_string();
    let parts: Vec<_> = problems.iter().map(parts).collect();
    raised(py, name, (text, parts))
}

/// The fields of `flashloom.Problem`: file, line, column, found, expected, help, and the text that the program prints.
type Parts = (String, Option<u64>, Option<u64>, String, String, Option<String>, String);

fn parts(problem: &Problem) -> Parts {
    let (line, column) = match problem.place {
        ProblemPlace::Text { line, column, .. } => (Some(line), Some(column)),
        ProblemPlace::File | ProblemPlace::Record { .. } => (None, None),
    };
    let refusal = &problem.refusal;
    // The file is a name to be opened, and is left as it is.
    let [found, expected] = [&refusal.found, &refusal.expected].map(|text| visible_line(text).into_owned());
    let help = refusal.help.as_deref().map(|help| visible_line(help).into_owned());
    (problem.file.clone(), line, column, found, expected, help, problem.to_string())
}

fn raised<'py>(py: Python<'py>, name: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = py.import("flashloom.errors").and_then(|module| module.getattr(name)?.call1(arguments));
    made.map_or_else(|error| error, PyErr::from_value)
}
