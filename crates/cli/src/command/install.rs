//! `flashloom completions` and `flashloom man`: what a package installs beside the program, from the definition of the
//! command line.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use flashloom::units::Problem;

use crate::arguments::Arguments;
use crate::output::{Stop, print};

/// Prints the completions of a shell.
pub fn completions(shell: Shell) -> Result<(), Stop> {
    let mut command = Arguments::command();
    let (name, mut script) = (command.get_name().to_owned(), Vec::new());
    clap_complete::generate(shell, &mut command, name, &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for the program and for each of its commands.
pub fn manual(folder: &Path) -> Result<(), Stop> {
    if !folder.is_dir() {
        return Err(Problem::file(folder.display().to_string(), "there is no such folder", "one to write to").into());
    }
    clap_mangen::generate_to(Arguments::command(), folder)
        .map_err(|error| Stop::Failed(format!("error: {} cannot be written: {error}", folder.display())))
}
