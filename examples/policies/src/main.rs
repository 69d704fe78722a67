//! Flashloom's command line, with these policies added.

use std::process::ExitCode;

fn main() -> ExitCode {
    match flashloom_example_policies::registry() {
        Ok(registry) => flashloom_cli::main(registry),
        Err(refusal) => {
            eprintln!("error: {refusal}");
            ExitCode::FAILURE
        }
    }
}
