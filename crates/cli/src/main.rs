//! The program: the command line with the built-in policies.

use std::process::ExitCode;

use flashloom::experiment::registry::Registry;

fn main() -> ExitCode {
    flashloom_cli::main(Registry::builtin())
}
