//! The command line of Flashloom.
//!
//! Tables for people go to standard output, progress and problems to standard error, JSON to where it is asked for.
//! Exit status: 0 if everything ran and every check held, 2 if the input is bad and nothing ran, 1 if a check failed.

mod arguments;
mod command;
mod figures;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command, TraceCommand};
use output::{Stop, say};

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Run(arguments) => command::run::run(&arguments),
        Command::Compare(arguments) => command::compare::compare(&arguments),
        Command::Probe(arguments) => command::probe::probe(&arguments),
        Command::Reproduce(arguments) => command::reproduce::reproduce(&arguments),
        Command::Generate(arguments) => command::generate::generate(&arguments),
        Command::Trace { command: TraceCommand::Info(arguments) } => command::trace::info(&arguments),
        Command::Trace { command: TraceCommand::Convert(arguments) } => command::trace::convert(&arguments),
        Command::List { list } => command::help::list(list.as_deref()),
        Command::Explain { name } => command::help::explain(&name),
    };
    match outcome {
        // Whoever read the output has seen enough of it.
        Ok(()) | Err(Stop::Closed) => ExitCode::SUCCESS,
        Err(Stop::BadInput(problems)) => {
            say(problems);
            ExitCode::from(2)
        }
        Err(Stop::Failed(message)) => {
            say(message);
            ExitCode::FAILURE
        }
    }
}
