//! The program: the command line with the built-in policies.

use std::process::ExitCode;

use flashloom::config::registry::Registry;
use flashloom_huge_pages::HugePages;

/// For the maps of drives. A program of a user's own chooses for itself.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn main() -> ExitCode {
    flashloom_cli::main(Registry::builtin())
}
