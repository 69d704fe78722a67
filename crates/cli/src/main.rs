//! The program: the command line over the policies that are built in.

use std::process::ExitCode;

use flashloom::experiment::registry::Registry;

fn main() -> ExitCode {
    flashloom_cli::main(Registry::builtin())
}
