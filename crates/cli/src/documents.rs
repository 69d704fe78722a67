//! Test of the documents' examples: every command can be parsed, every experiment loaded. What commands print is held
//! by [`outputs`].
//!
//! Here nothing is run. A command is parsed, and its experiment checked with what the command sets and varies. A file
//! that is not part of the project stands for the experiment shown last on that page, or else for one without any key.

mod block;
mod outputs;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use clap::error::ErrorKind;
use flashloom::config::{Catalog, Experiment, SECTIONS, Source, Sweep};
use flashloom::explain;

use crate::arguments::{Arguments, Command};
use block::blocks;

/// Names that stand for the reader's own.
const PLACEHOLDERS: [&str; 4] = ["NAME", "KEY", "PRESET", "FORMAT"];

/// Errors of a command within a sentence that leaves something out.
const LEFT_OUT: [ErrorKind; 3] = [
    ErrorKind::MissingRequiredArgument,
    ErrorKind::MissingSubcommand,
    ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every document except the reports and the pages of policies, which are generated.
fn documents() -> Vec<PathBuf> {
    let mut documents = vec![project().join("README.md"), project().join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/decisions", "docs/reproduction"] {
        let files = fs::read_dir(project().join(folder)).expect("the documents are checked in");
        let files = files.map(|file| file.expect("the folder can be read").path());
        documents.extend(files.filter(|file| file.extension().is_some_and(|ending| ending == "md")));
    }
    documents.sort();
    documents
}

/// An example in a document.
#[derive(Debug, PartialEq)]
enum Example {
    /// A block of TOML.
    Toml(String),
    /// A command in a code block.
    Command(String),
    /// A command within a sentence, which may leave out required arguments.
    Mention(String),
}

/// The examples of a text in their order, with their line numbers.
fn examples(text: &str) -> Vec<(usize, Example)> {
    let blocks = blocks(text);
    let is_code = |index: usize| {
        blocks.iter().any(|block| (block.first..=block.first + block.lines.len()).contains(&(index + 1)))
    };
    let prose = text.lines().enumerate().filter(|(index, _)| !is_code(*index));
    let mut examples: Vec<(usize, Example)> =
        prose.flat_map(|(index, line)| mentions(line).map(move |mention| (index + 1, mention))).collect();
    for block in &blocks {
        let commands = block.commands().into_iter().map(Example::Command);
        let toml = (block.language == "toml").then(|| Example::Toml(block.lines.join("\n")));
        examples.extend(commands.chain(toml).map(|example| (block.first + 1, example)));
    }
    examples.sort_by_key(|(line, _)| *line);
    examples
}

/// The commands within a sentence.
fn mentions(line: &str) -> impl Iterator<Item = Example> + '_ {
    let quoted = line.split('`').skip(1).step_by(2).filter(|quoted| quoted.starts_with("flashloom "));
    quoted.map(|command| Example::Mention(format!("{command} ")))
}

/// True if a block of TOML is an experiment or a part of one.
fn is_experiment(text: &str) -> bool {
    let is_key = |line: &str| {
        let key = line.trim_start_matches(['[', '"']);
        SECTIONS.iter().any(|section| key.starts_with(section.name)) || key.starts_with("vary")
    };
    text.lines().any(is_key)
}

/// The experiments of a page, as far as it has been read.
struct Page {
    catalog: Arc<Catalog>,
    shown: String,
}

impl Page {
    fn source(&self, experiment: &str) -> Result<Source, String> {
        let file = project().join(experiment);
        if file.exists() {
            return Source::read(&file.to_string_lossy()).map_err(|problem| problem.to_string());
        }
        Ok(Source::text(experiment, &self.shown))
    }

    fn check_run(&self, experiment: &str, sets: &[String]) -> Result<(), String> {
        let loaded = Experiment::from_source(&self.catalog, self.source(experiment)?, sets, None);
        loaded.map(drop).map_err(|problems| problems.to_string())
    }

    /// Checks an example, and remembers it if it is an experiment.
    fn check(&mut self, example: &Example) -> Result<(), String> {
        match example {
            Example::Toml(text) => self.check_toml(text),
            Example::Command(command) => self.check_command(command).map_err(|(_, fault)| fault),
            Example::Mention(command) => match self.check_command(&command.replace(" N ", " 2 ")) {
                Err((Some(kind), _)) if LEFT_OUT.contains(&kind) => Ok(()),
                checked => checked.map_err(|(_, fault)| fault),
            },
        }
    }

    fn check_toml(&mut self, text: &str) -> Result<(), String> {
        if !is_experiment(text) {
            return Ok(());
        }
        text.clone_into(&mut self.shown);
        self.check_run("shown.toml", &[])
    }

    fn check_command(&self, command: &str) -> Result<(), (Option<ErrorKind>, String)> {
        let parsed = Arguments::try_parse_from(command.split_whitespace());
        let arguments = parsed.map_err(|error| (Some(error.kind()), error.to_string()))?;
        let checked = match arguments.command {
            Command::Run(run) => self.check_run(&run.experiment, &run.set),
            Command::Generate(generate) => self.check_run(&generate.experiment, &generate.set),
            Command::Probe(probe) => self.check_run(&probe.experiment, &probe.set),
            Command::Validate(validate) => {
                validate.experiments.iter().try_for_each(|experiment| self.check_run(experiment, &validate.set))
            }
            Command::Compare(compare) => self.source(&compare.experiment).and_then(|source| {
                let sweep = Sweep {
                    sets: &compare.set,
                    varies: &compare.vary,
                    skip_unfit: compare.skip_unfit,
                    seeds: compare.seeds.and_then(std::num::NonZeroU32::new),
                };
                // One of the reader's own says itself what varies.
                let varies = !compare.vary.is_empty() || sweep.seeds.is_some() || !self.shown.is_empty();
                if source.name == compare.experiment && !varies {
                    return Ok(());
                }
                let loaded = Experiment::comparison_from_source(&self.catalog, source, &sweep);
                loaded.map(drop).map_err(|problems| problems.to_string())
            }),
            Command::Explain { name } if !PLACEHOLDERS.contains(&name[0].as_str()) => {
                explain::explain(&self.catalog, &name.join(" ")).map(drop).map_err(|problem| problem.to_string())
            }
            _ => Ok(()),
        };
        checked.map_err(|fault| (None, fault))
    }
}

#[test]
fn the_commands_and_experiments_of_documents_are_those_of_the_program() {
    let (mut count, mut faults) = (0, Vec::new());
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document is text");
        let mut page = Page { catalog: Catalog::builtin(), shown: String::new() };
        for (line, example) in examples(&text) {
            count += 1;
            if let Err(fault) = page.check(&example) {
                faults.push(format!("{}:{line}: {fault}", document.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 80, "documents have more than {count} examples");
}

#[test]
fn what_a_document_gets_wrong_is_found() {
    let text = "`flashloom lst` and\n```\nflashloom run a.toml \\\n  --set ftl.gd=fifo # why\n```\n\
                ```toml\n[ftl]\ngc = 1\n```";
    let found = examples(text);
    assert_eq!(found[1], (3, Example::Command("flashloom run a.toml    --set ftl.gd=fifo".to_owned())));
    let mut page = Page { catalog: Catalog::builtin(), shown: String::new() };
    let faults: Vec<String> = found.iter().map(|(_, example)| page.check(example).unwrap_err()).collect();
    assert!(faults[0].contains("unrecognized subcommand") && faults[1].contains("gd") && faults[2].contains("`gc`"));
}
