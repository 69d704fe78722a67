//! The command line of Flashloom, one client of the library.
//!
//! Tables for people go to standard output, progress and problems to standard error, JSON to where it is asked for.
//! Exit status: 0 if everything ran and every check held, 2 if the input is bad and nothing ran, 1 if a check failed.
//! If standard output is closed before everything was written to it, the program ends by the signal PIPE (141 in a
//! shell).

mod arguments;
mod cache;
mod command;
#[cfg(test)]
mod documents;
mod figures;
mod output;
mod progress;
#[cfg(unix)]
mod signals;

use std::backtrace::Backtrace;
use std::ffi::OsString;
use std::process::ExitCode;
use std::{env, panic};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use flashloom::config::registry::Registry;
use flashloom::of_this_build;
use flashloom::units::visible_bytes;

use arguments::{Arguments, Command, TraceCommand};
use output::{Stop, say};

/// Runs the program with the policies of a registry, as its command line arguments say.
///
/// A program with policies of its own adds them to [`Registry::builtin`]; every command, list and page of help then
/// includes them.
pub fn main(registry: Registry) -> ExitCode {
    // A message may hold what came from a file.
    panic::set_hook(Box::new(|failed| say(format_args!("{failed}\n{}", Backtrace::capture()))));
    let catalog = match of_this_build(registry).catalog() {
        Ok(catalog) => catalog,
        Err(refusal) => {
            say(format_args!("error: {refusal}"));
            return ExitCode::from(2);
        }
    };

    let command = parsed().unwrap_or_else(|error| error.exit()).command;
    #[cfg(unix)]
    if !matches!(command, Command::Serve(_)) {
        signals::remove_partial_files();
    }
    let outcome = match command {
        Command::Run(arguments) => command::run::run(&catalog, &arguments),
        Command::Compare(arguments) => command::compare::compare(&catalog, &arguments),
        #[cfg(feature = "study")]
        Command::Probe(arguments) => command::probe::probe(&catalog, &arguments),
        #[cfg(feature = "study")]
        Command::Validate(arguments) => command::validate::validate(&catalog, &arguments),
        #[cfg(feature = "study")]
        Command::Fit(arguments) => command::fit::fit(&catalog, &arguments),
        #[cfg(feature = "study")]
        Command::Reproduce(arguments) => command::reproduce::reproduce(&arguments),
        #[cfg(feature = "live")]
        Command::Serve(arguments) => command::serve::serve(&catalog, &arguments),
        #[cfg(feature = "export")]
        Command::Report(arguments) => command::report::report(&arguments),
        Command::Generate(arguments) => command::generate::generate(&catalog, &arguments),
        Command::Trace { command: TraceCommand::Info(arguments) } => command::trace::info(&arguments),
        Command::Trace { command: TraceCommand::Convert(arguments) } => command::trace::convert(&arguments),
        Command::List { list } => command::help::list(&catalog, list.as_deref()),
        Command::Explain { name } => command::help::explain(&catalog, &name.join(" ")),
        Command::Cache { command } => command::cache::cache(&command),
        #[cfg(feature = "install")]
        Command::Completions(arguments) => command::install::completions(&arguments),
        #[cfg(feature = "install")]
        Command::Man(arguments) => command::install::manual(&arguments),
        #[cfg(not(feature = "full"))]
        absent => command::absent::command(absent.name()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Closed) => {
            #[cfg(unix)]
            signals::end_unread();
            ExitCode::FAILURE
        }
        Err(Stop::BadInput(problems)) => {
            say(problems);
            ExitCode::from(2)
        }
        #[cfg(feature = "live")]
        Err(Stop::Refused(message)) => {
            say(message);
            ExitCode::from(2)
        }
        Err(Stop::Failed(message)) => {
            say(message);
            ExitCode::FAILURE
        }
    }
}

/// The arguments of the program. The message about wrong ones repeats them, and is that of arguments made visible: the
/// name of a file may be one of them.
fn parsed() -> Result<Arguments, clap::Error> {
    let parse = |arguments: Vec<OsString>| {
        let matches = definition().try_get_matches_from(arguments)?;
        Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut definition()))
    };
    parse(env::args_os().collect()).map_err(|error| {
        let visible = |argument: OsString| visible_bytes(argument.as_encoded_bytes()).into();
        let mut error = parse(env::args_os().map(visible).collect()).err().unwrap_or(error);
        if let Some(tip) = of_other_command(&error) {
            // An option that is spelt alike and means something else, also in the line on usage.
            error.remove(ContextKind::SuggestedArg);
            error.remove(ContextKind::Usage);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        error
    })
}

/// The command line as it is; its help marks the commands that this build does not have.
fn definition() -> clap::Command {
    let definition = Arguments::command();
    #[cfg(not(feature = "full"))]
    let definition = definition.mut_subcommands(|command| {
        let about = command.get_about().map(|about| format!("{about} (not part of this build)"));
        match about.filter(|_| command.is_disable_help_flag_set()) {
            Some(about) => command.about(about.clone()).long_about(about).after_help(command::absent::HELP),
            None => command,
        }
    });
    definition
}

/// The tip for an option that only other commands have.
fn of_other_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else { return None };
    let option = found.strip_prefix("--").filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let definition = definition();
    let has = |command: &&clap::Command| command.get_arguments().any(|argument| argument.get_long() == Some(option));
    let named = |command: &clap::Command| format!("`flashloom {}`", command.get_name());
    let others: Vec<String> = definition.get_subcommands().filter(has).map(named).collect();
    (!others.is_empty()).then(|| format!("`--{option}` is an option of {}", others.join(", ")))
}
