//! Test of the documents' examples: every command can be parsed, every experiment loaded.
//!
//! Nothing is run. A command is parsed, and its experiment checked with what the command sets and varies. A file that
//! is not part of the project stands for the experiment shown last on that page, or else for one without any key.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use clap::error::ErrorKind;
use flashloom::experiment::config::{Catalog, Experiment, SECTIONS, Source, Sweep};
use flashloom::experiment::reference;

use crate::arguments::{Arguments, Command};

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
    let mut examples = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            let quoted = line.split('`').skip(1).step_by(2).filter(|quoted| quoted.starts_with("flashloom "));
            examples.extend(quoted.map(|command| (index + 1, Example::Mention(format!("{command} ")))));
            continue;
        };
        let block: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !line.trim_start().starts_with("```")).collect();
        match language {
            "toml" => examples.push((index + 2, Example::Toml(block.join("\n")))),
            "" => {
                let whole = block.join("\n").replace("\\\n", " ");
                let commands = whole.lines().filter_map(command);
                examples.extend(commands.map(|command| (index + 2, Example::Command(command))));
            }
            _ => {}
        }
    }
    examples
}

/// The command of a shell line, if it is one of this program without shell variables.
fn command(line: &str) -> Option<String> {
    let line = line.split(" #").next()?.trim();
    let arguments = ["flashloom ", "cargo run --release -- "].iter().find_map(|start| line.strip_prefix(start))?;
    (!arguments.contains('$')).then(|| format!("flashloom {arguments}"))
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
        let is_experiment = |line: &str| {
            let key = line.trim_start_matches(['[', '"']);
            SECTIONS.iter().any(|section| key.starts_with(section.name)) || key.starts_with("vary")
        };
        if !text.lines().any(is_experiment) {
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
                reference::explain(&self.catalog, &name.join(" ")).map(drop).map_err(|problem| problem.to_string())
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
