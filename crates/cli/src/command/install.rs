//! `flashloom completions` and `flashloom man`: what a package installs beside the program, from the definition of the
//! command line.

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use flashloom::units::{Problem, visible_path};

use crate::arguments::{Arguments, CompletionsArguments, ManArguments};
use crate::output::{OutputFile, Stop, failed, print};

/// Prints the completions of a shell.
pub fn completions(&CompletionsArguments { shell }: &CompletionsArguments) -> Result<(), Stop> {
    let mut command = Arguments::command();
    let (name, mut script) = (command.get_name().to_owned(), Vec::new());
    clap_complete::generate(shell, &mut command, name, &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for the program and for each of its commands.
pub fn manual(ManArguments { folder }: &ManArguments) -> Result<(), Stop> {
    if !folder.is_dir() {
        let found = if folder.exists() { "this is no folder" } else { "there is no such folder" };
        return Err(Problem::file(visible_path(folder), found, "one to write to").into());
    }
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    write_pages(command, folder)
}

/// Writes the pages of a command and of those below it.
fn write_pages(command: Command, folder: &std::path::Path) -> Result<(), Stop> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below.clone(), folder)?;
    }
    let page = Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| failed(format_args!("a page cannot be made: {error}")))?;
    OutputFile::create(&folder.join(page.get_filename()).display().to_string())?.commit(text)
}
